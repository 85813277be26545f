"""Formulas as MathML, written when the documentation is built: pages need no script and no network.

`latex2mathml` translates; browsers draw. Wide displays scroll inside their own box.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

import latex2mathml.converter
from docutils import nodes

TEX = (
    (r"\\tag\{([^}]*)\}", r"\\qquad\\text{(\1)}"),
    (r"\\displaystyle", ""),
    (r"\{aligned\}|\{split\}", "{align*}"),
    (r"\\mathsf", r"\\mathrm"),
)
"""LaTeX that latex2mathml does not know: pattern → what says the same."""

ALIGNED = re.compile(r"\\begin\{align\*\}.*?\\end\{align\*\}", re.DOTALL)
"""Equations one below the other: set flush left, not aligned at their signs, since left sides are often the long ones."""

NAMES = "sin|cos|tan|cot|sec|csc|asin|acos|atan|arctan|exp|log|ln|max|min"

MATHML = (
    (r'<mtd columnalign="(?:right|left)">', '<mtd style="text-align:left;padding:0.4ex 0">'),  # one column, as a book's list
    (r"<mo>(?:/|&#x0002F;)</mo>", '<mo lspace="0" rspace="0">/</mo>'),
    (rf"<mi>({NAMES})</mi>", r'<mrow><mspace width="0.17em"/><mi>\1</mi></mrow>'),
    (r"<mo>sign</mo>", r'<mrow><mspace width="0.17em"/><mi>sign</mi></mrow>'),
    (r"<mo>sgn</mo>", r'<mrow><mspace width="0.17em"/><mi>sgn</mi><mspace width="0.17em"/></mrow>'),
    (r'fence="true"', 'fence="true" lspace="0" rspace="0"'),
    (r"<mi>&</mi>", "<mi>&amp;</mi>"),
)
"""What makes MathML look as the book sets it."""


def mathml(source: str, *, block: bool) -> str:
    """A formula as a <math> element."""
    for pattern, replacement in TEX:
        source = re.sub(pattern, replacement, source)
    source = ALIGNED.sub(lambda lines: re.sub(r"(?<!\\)&", "", lines[0]), source.strip())
    if block and r"\\" in source and r"\begin" not in source:
        source = rf"\begin{{align*}}{source}\end{{align*}}"
    result = latex2mathml.converter.convert(source, display="block" if block else "inline")
    for pattern, replacement in MATHML:
        result = re.sub(pattern, replacement, result)
    return result


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    number = f'<span class="eqno">({escape(str(node["number"]))})</span>' if node.get("number") else ""
    identity = "".join(f' id="{name}"' for name in node.get("ids", [])[:1])
    formulas = "".join(mathml(part, block=True) for part in re.split(r"\\\]\s*\\\[", node.astext()))
    self.body.append(f'<div class="formula"{identity}>{number}{formulas}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
