"""Pieces of LaTeX for a handout: prose with formulas, and equations that fit the page, with any engine.

A word of prose with a mathematical sign (∂, Λ, q̇, =, …) is set in math mode, and so is a single letter. Equations are aligned
at their equals signs where that fits the line; others are set alone, scaled down if they are wider than the line, and left out
with a remark if they would become too small to read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from appell.typeset import GREEK
from appell.typeset import width as size

LINE_WIDTH = 405.0
"""Width of a line in a handout (160 mm at 11 pt), in points at 10 pt."""
SMALLEST_SCALE = 0.5
"""Scale below which text is not legible."""
ROWS_PER_EQUATION = 40
"""Largest number of rows of an equation on a page."""

_MARKS = {
    "∂": r"\partial ", "∇": r"\nabla ", "·": r"\cdot ", "×": r"\times ", "½": r"\tfrac12 ", "−": "-", "≥": r"\geq ",
    "≤": r"\leq ", "≠": r"\neq ", "≈": r"\approx ", "→": r"\to ", "∈": r"\in ", "∞": r"\infty ", "√": r"\surd ", "∑": r"\sum ",
    "∫": r"\int ", "±": r"\pm ", "°": r"^\circ ", "ᵀ": r"^{T}", "⁺": "^{+}", "⁻": "^{-}", "′": "'", "|": "|", "=": "=",
    "+": "+", "<": "<", ">": ">", "∧": r"\wedge ", "‖": r"\|", "⟨": r"\langle ", "⟩": r"\rangle ",
}  # fmt: skip
_GREEK = {letter: rf"\{'lambda' if name == 'lamda' else name} " for name, letter in GREEK.items()}
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_DOTS = {"\u0307": r"\dot", "\u0308": r"\ddot", "\u0302": r"\hat", "\u0303": r"\tilde", "\u0304": r"\bar"}
_PROSE = {
    "–": "--", "—": "---", "…": r"\dots{}", "«": r"\guillemotleft{}", "»": r"\guillemotright{}", "“": "``", "”": "''", "‘": "`",
    "’": "'", "№": r"No.\,", "§": r"\S{}", "\u00a0": "~", "\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}",
    **{c: "\\" + c for c in "_#$%&{}"},
}  # fmt: skip
_SIGNS = {*_MARKS, *_GREEK, *_RAISED, *_LOWERED} - {"+", "-"}
_TIMES = {"d/dt": r"\mathrm{d}/\mathrm{d}t\;"}


def prose_as_latex(text: str) -> str:
    """Plain text as LaTeX: escaped, with formulas in math mode."""
    words: list[str] = []
    for word in text.split():
        core, joined = word.rstrip(",.;:"), bool(words) and words[-1].endswith("$")
        if _is_formula(core) or (core in ("-", "+") and joined):
            words[-1:] = [f"{words[-1][:-1]} {_formula(core)}$"] if joined else [*words[-1:], f"${_formula(core)}$"]
            if word != core:
                words[-1] += word[len(core) :]
        else:
            words.append(_prose(word))
    return re.sub(" +", " ", " ".join(words))


def _is_formula(word: str) -> bool:
    decomposed = unicodedata.normalize("NFD", word)
    dotted = re.search(r"[a-zA-ZΑ-ω][\u0307\u0308]", decomposed) and not re.search(r"[a-z]{3}", decomposed)
    alone = len(word) == 1 and word.isalpha() and word not in "aAI"
    indexed = re.fullmatch(r"[^\W\d_]\*?_\w{1,2}", word)  # F_r, F*_r
    return bool(dotted or indexed) or alone or word in _TIMES or any(c in _SIGNS for c in word)


def _formula(word: str) -> str:
    if word in _TIMES:
        return _TIMES[word]
    pieces: list[str] = []
    for piece in re.findall(r"[a-zA-Z]{2,}(?![\u0302-\u0308])|.", unicodedata.normalize("NFD", word), re.DOTALL):
        if piece in _DOTS and pieces:
            pieces[-1] = f"{_DOTS[piece]}{{{pieces[-1].strip()}}}"
        elif piece in _RAISED or piece in _LOWERED:
            pieces.append(f"^{{{_RAISED[piece]}}}" if piece in _RAISED else f"_{{{_LOWERED[piece]}}}")
        elif len(piece) > 1:
            pieces.append(_letters(piece))
        elif piece == "*":
            pieces.append("^{*}")
        else:
            pieces.append(_MARKS.get(piece) or _GREEK.get(piece) or (piece if piece in "_^-" else _prose(piece)))
    return re.sub(r"([_^])(?!\{)(\\\w+ |.)", r"\1{\2}", "".join(pieces))


def _letters(piece: str) -> str:
    """Adjacent letters: a product of two (mr), or a word."""
    word = len(piece) > 2 or piece in ("ap", "by", "if", "in", "is", "of", "on", "or", "to")
    return rf"\mathrm{{{piece}}}" if word else piece


def _prose(word: str) -> str:
    return "".join(_PROSE.get(c) or _letter(c) for c in unicodedata.normalize("NFC", word))


def _letter(c: str) -> str:
    """A character for pdflatex in T1; Greek and signs in math mode; the code point of any other character."""
    if c in _GREEK or (c in _MARKS and not c.isascii()):
        return f"${(_GREEK.get(c) or _MARKS[c]).strip()}$"
    if c in "|<>":
        return f"${c}$"
    return c if ord(c) < 0x180 else f"[U+{ord(c):04X}]"


# -- equations ---------------------------------------------------------------------------------------------------------


def equations(lines: Sequence[str]) -> str:
    """Lines of an `aligned` environment, with &, as displayed equations that fit the page."""
    groups: list[list[str]] = []
    for line in lines:
        if groups and line.startswith(r"&\quad"):
            groups[-1].append(line)
        else:
            groups.append([line])
    if width(lines) <= LINE_WIDTH and max(map(len, groups), default=0) <= ROWS_PER_EQUATION:
        return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"
    return "\n".join(_displayed(group) for group in groups)


def width(lines: Sequence[str]) -> float:
    """The width of lines aligned at their &, in points at 10 pt."""
    sides = [(size(left), size(right)) for left, _, right in (line.partition("&") for line in lines)]
    return max((left for left, _ in sides), default=0.0) + max((right for _, right in sides), default=0.0)


def _displayed(group: Sequence[str]) -> str:
    if width(group) > LINE_WIDTH:  # put the right side below the left one
        left, _, right = group[0].partition("&")
        group = [f"& {left}", rf"&\quad {right}", *group[1:]]
    if width(group) > LINE_WIDTH / SMALLEST_SCALE or len(group) > ROWS_PER_EQUATION:
        characters = f"{sum(map(len, group)):,}"
        return rf"\par\noindent\textit{{One equation, {characters} characters of \LaTeX, is too long for a page.}}\par"
    body = "\\begin{aligned}" + " \\\\ ".join(group) + "\\end{aligned}"
    return rf"\[\fit{{{body}}}\]"


FIT = r"""\newsavebox{\fitted}
\newcommand{\fit}[1]{\sbox{\fitted}{$\displaystyle #1$}%
  \ifdim\wd\fitted>\linewidth\resizebox{\linewidth}{!}{\usebox{\fitted}}\else\usebox{\fitted}\fi}"""
"""A LaTeX macro that scales a formula down to the width of the line if it is wider."""


__all__ = ["FIT", "equations", "prose_as_latex"]
