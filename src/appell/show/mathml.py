"""Formulas as MathML for pages without scripts and without the network. `latex2mathml` translates; browsers draw."""

from __future__ import annotations

import re
from html import escape
from importlib.util import find_spec

TEX = (
    (r"\\tag\{([^}]*)\}", r"\\qquad\\text{(\1)}"),
    (r"\\displaystyle", ""),
    (r"\{aligned\}|\{split\}", "{align*}"),
    (r"\\mathsf", r"\\mathrm"),
    (r"\\boldsymbol", r"\\mathbf"),
)
"""LaTeX that latex2mathml does not know: pattern → what says the same."""

ALIGNED = re.compile(r"\\begin\{align\*\}.*?\\end\{align\*\}", re.DOTALL)
"""Equations one below the other: set flush left, not aligned at their signs, since left sides are often the long ones."""

NAMES = "sin|cos|tan|cot|sec|csc|asin|acos|atan|arctan|exp|log|ln|max|min"

MATHML = (
    (r'<mtd columnalign="(?:right|left)">', '<mtd class="left">'),  # one column, as a book's list
    (r"<mo>(?:/|&#x0002F;)</mo>", '<mo lspace="0" rspace="0">/</mo>'),
    (rf"<mi>({NAMES})</mi>", r'<mrow><mspace width="0.17em"/><mi>\1</mi></mrow>'),
    (r"<mo>sign</mo>", r'<mrow><mspace width="0.17em"/><mi>sign</mi></mrow>'),
    (r"<mo>sgn</mo>", r'<mrow><mspace width="0.17em"/><mi>sgn</mi><mspace width="0.17em"/></mrow>'),
    (r'fence="true"', 'fence="true" lspace="0" rspace="0"'),
    (r"<mi>&</mi>", "<mi>&amp;</mi>"),
)
"""What makes MathML look as the book sets it."""


def available() -> bool:
    """Whether formulas can be translated."""
    return find_spec("latex2mathml") is not None


def mathml(source: str, *, block: bool) -> str:
    """A formula as a <math> element; without latex2mathml its LaTeX as text."""
    if not available():
        return f"<code>{escape(source)}</code>"
    import latex2mathml.converter

    for pattern, replacement in TEX:
        source = re.sub(pattern, replacement, source)
    source = ALIGNED.sub(lambda lines: re.sub(r"(?<!\\)&", "", lines[0]), source.strip())
    if block and r"\\" in source and r"\begin" not in source:
        source = rf"\begin{{align*}}{source}\end{{align*}}"
    result = latex2mathml.converter.convert(source, display="block" if block else "inline")
    for pattern, replacement in MATHML:
        result = re.sub(pattern, replacement, result)
    return result


__all__ = ["available", "mathml"]
