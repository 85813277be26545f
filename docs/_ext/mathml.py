"""Formulas as MathML, written when the documentation is built: pages need no script and no network."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes

from appell.show.mathml import mathml


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
