"""Formulas as MathML for pages without scripts and without the network. `latex2mathml` translates; browsers draw."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from importlib.util import find_spec

TEX = (
    (r"\\tag\{([^}]*)\}", r"\\qquad\\text{(\1)}"),
    (r"\\displaystyle", ""),
    (r"\{aligned\}|\{split\}", "{align*}"),
    (r"\\mathsf", r"\\mathrm"),
    (r"\\boldsymbol", r"\\mathbf"),
)
"""LaTeX that latex2mathml does not support: pattern → equivalent."""

ALIGNED = re.compile(r"\\begin\{align\*\}.*?\\end\{align\*\}", re.DOTALL)
"""Stacked equations: set flush left, not aligned at the equals signs, since left sides are often long."""

NAMES = "sin|cos|tan|cot|sec|csc|asin|acos|atan|arctan|exp|log|ln|max|min"

MATHML = (
    (r'<mtd columnalign="(?:right|left)">', '<mtd class="left">'),  # one column, as a book's list
    (r"<mo>(?:/|&#x0002F;)</mo>", '<mo lspace="0" rspace="0">/</mo>'),
    (rf"<mi>({NAMES})</mi>", r'<mrow><mspace width="0.17em"/><mi>\1</mi></mrow>'),
    (r"<mo>sign</mo>", r'<mrow><mspace width="0.17em"/><mi>sign</mi></mrow>'),
    (r"<mo>sgn</mo>", r'<mrow><mspace width="0.17em"/><mi>sgn</mi><mspace width="0.17em"/></mrow>'),
    (r'fence="true"', 'fence="true" lspace="0" rspace="0"'),
    (r"<mi>&</mi>", "<mi>&amp;</mi>"),
    (r'(?:<mi mathvariant="(?:italic|normal)">[\w.]</mi>){2,}', lambda found: _identifier(found[0])),
)
"""Substitutions that make MathML look like print."""

TAG = re.compile(r'</?([a-z]+)((?:\s+[\w:-]+="[^"<>]*")*)\s*/?>')
ATTRIBUTE = re.compile(r'([\w:-]+)="')
ELEMENTS = set(
    "math mrow mi mo mn mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd mpadded"
    " mphantom menclose mstyle mmultiscripts mprescripts none mfenced".split()
)
ATTRIBUTES = set(
    "xmlns display class lspace rspace width height depth voffset fence stretchy symmetric minsize maxsize form separator"
    " mathvariant accent accentunder movablelimits largeop linethickness columnalign rowspacing columnspacing displaystyle"
    " scriptlevel notation rowlines columnlines open close separators columnspan rowspan bevelled mathcolor mathsize".split()
)
"""Allowed elements and attributes of MathML; links, styles and scripts are not among them."""


def _identifier(letters: str) -> str:
    """The letters of a name as one identifier; separate letters would look like a product."""
    return f"<mi>{''.join(re.findall(r'>([^<])<', letters))}</mi>"


def available() -> bool:
    """Whether formulas can be translated."""
    return find_spec("latex2mathml") is not None


@lru_cache(maxsize=4096)  # the same formulas recur with every curve, and at each move of a slider
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
    try:
        result = latex2mathml.converter.convert(source, display="block" if block else "inline")
    except Exception:  # LaTeX that the translator does not support
        return f"<code>{escape(source)}</code>"
    for pattern, replacement in MATHML:
        result = re.sub(pattern, replacement, result)
    return result if is_plain(result) else f"<code>{escape(source)}</code>"


def is_plain(result: str) -> bool:
    """Whether all elements and attributes are allowed ones: \\href, \\style and \\class would add others."""
    tags, remainder = TAG.findall(result), TAG.sub("", result)
    attributes = (name for _, inside in tags for name in ATTRIBUTE.findall(inside))
    allowed = all(name in ELEMENTS for name, _ in tags) and all(name in ATTRIBUTES for name in attributes)
    return allowed and "<" not in remainder and ">" not in remainder


__all__ = ["available", "mathml"]
