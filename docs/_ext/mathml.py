"""Formulas as MathML, written when the documentation is built: pages need no script and no network.

`latex2mathml` translates; browsers draw. Wide displays scroll inside their own box.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

import latex2mathml.converter
from docutils import nodes

REPLACEMENTS = (
    (r"\\(?:text|mathrm)\{-\}", "-"),
    (r"\\mathring", r"\\dot"),
)
"""What latex2mathml does not know: pattern → what says the same."""


def mathml(source: str, *, block: bool) -> str:
    """A formula as a <math> element."""
    for pattern, replacement in REPLACEMENTS:
        source = re.sub(pattern, replacement, source)
    source = source.replace(r"\displaystyle", "").strip()
    if block and r"\\" in source and r"\begin" not in source:
        source = rf"\begin{{aligned}}{source}\end{{aligned}}"
    return latex2mathml.converter.convert(source, display="block" if block else "inline")


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    number = f'<span class="eqno">({escape(str(node["number"]))})</span>' if node.get("number") else ""
    identity = "".join(f' id="{name}"' for name in node.get("ids", [])[:1])
    self.body.append(f'<div class="formula"{identity}>{number}{mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
