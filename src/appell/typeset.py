"""Typesetting of symbol names: Greek letters, subscripts, dots; a name of several letters is one name, never a product.

    phi → φ, \\phi      q_1, q1 → q₁, q_{1}      eta_top_w → η_top_w, \\eta_{\\mathrm{top\\,w}}      mass → mass, \\mathit{mass}

Words such as `xdot` and `xhat` are names too: the dots of a velocity come only from its order, so that x.d and xdot differ.
"""

from __future__ import annotations

import re

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ", "iota": "ι",
    "kappa": "κ", "lamda": "λ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ",
    "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
"""Names of Greek letters, without capital ones that look Latin."""

_DOTS = {1: "\u0307", 2: "\u0308"}
_COMMANDS = {1: r"\dot", 2: r"\ddot", 3: r"\dddot"}
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_NUMBERED = re.compile(r"([^\W\d_]+)(\d+)")


def parts(name: str) -> tuple[str, list[str]]:
    """(letter or word, subscripts): "omega_ball_x" → ("omega", ["ball", "x"]), "q12" → ("q", ["12"])."""
    if name.isalpha():
        return name, []
    head, *subs = [part for part in name.split("_") if part] or [name]
    digits = _NUMBERED.fullmatch(head)
    return (digits[1], [digits[2], *subs]) if digits else (head, subs)


def _of_numbered_letter(subs: list[str]) -> bool:
    """Whether subscripts are a letter and its index: p_theta_1 belongs to θ₁."""
    return len(subs) == 2 and subs[1].isdigit() and (subs[0] in GREEK or len(subs[0]) == 1)


def latex(name: str, order: int = 0) -> str:
    """A symbol in LaTeX with `order` dots."""
    head, subs = parts(name)
    letter = _latex_letter(head)
    if order:
        letter = f"{_COMMANDS[order]}{{{letter}}}" if order in _COMMANDS else f"{letter}^{{({order})}}"
    if not subs:
        return letter
    if len(subs) == 1:
        sub = subs[0] if subs[0].isdigit() else _latex_letter(subs[0], upright=True)
        return f"{letter}_{{{sub}}}"
    if _of_numbered_letter(subs):
        return rf"{letter}_{{{_latex_letter(subs[0])}_{{{subs[1]}}}}}"
    joined = r"\,".join(s if len(s) == 1 or s.isdigit() or s not in GREEK else _latex_letter(s) for s in subs)
    return rf"{letter}_{{\mathrm{{{joined}}}}}"


def _latex_letter(name: str, upright: bool = False) -> str:
    if name in GREEK:
        return rf"\{'lambda' if name == 'lamda' else name}"
    if len(name) == 1:
        return name
    return rf"\mathrm{{{name}}}" if upright else rf"\mathit{{{name}}}"


def text(name: str, order: int = 0) -> str:
    """A symbol in Unicode with `order` dots: φ̈, q̇₁; after a word, whose letters would hide them, as word˙."""
    head, subs = parts(name)
    letter = GREEK.get(head, head)
    number = len(subs) == 1 and subs[0].isdigit()
    tail = subs[0].translate(_SUBSCRIPT) if number else "".join(f"_{GREEK.get(s, s)}" for s in subs)
    if _of_numbered_letter(subs):
        tail = f"_{GREEK.get(subs[0], subs[0])}{subs[1].translate(_SUBSCRIPT)}"
    if not order:
        return letter + tail
    if len(letter) == 1 and order in _DOTS:
        return letter + _DOTS[order] + tail
    return letter + tail + {1: "˙", 2: "¨"}.get(order, f"^({order})")


def latex_text(text: str) -> str:
    """Plain text inside LaTeX mathematics: special characters escaped, spaces kept."""
    return "".join("\\" + c if c in "_#$%&{} " else "\\ " if c in "\\^~" else c for c in text)


_HARMLESS = {
    *GREEK, *"dot ddot dddot mathrm mathit mathbf mathsf text tfrac frac sqrt left right quad ldots infty int".split()
}  # fmt: skip
_CONTROL = re.compile(r"\\([a-zA-Z]+)")


def harmless(source: str, name: str) -> str:
    """LaTeX from a file, if it is safe: short, and only with commands that typeset letters; else the name as text."""
    commands = _CONTROL.findall(source)
    plain = len(source) <= 400 and all(word in _HARMLESS for word in commands) and source.count("{") == source.count("}")
    return source if plain and source.strip() and "$" not in source else rf"\text{{{latex_text(name[:80])}}}"


# -- widths -----------------------------------------------------------------------------------------------------------------

ROW_WIDTH = 330.0
"""Width of a row in points: text on an A4 page is 345 pt wide in LaTeX's article, and `width` may be 4 % too small."""

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\{|[^\\{]")
_TOKEN_WIDTHS = {
    **dict.fromkeys("ABCDEFGHKNOPQRTUVXYZ", 8.0), **dict.fromkeys("mMwW", 9.0), **dict.fromkeys("+-", 12.5),
    **dict.fromkeys("=<>", 13.5), **dict.fromkeys(" }", 0.0), **dict.fromkeys("().,|!", 4.0),
    **dict.fromkeys((r"\sin", r"\cos", r"\tan", r"\log", r"\exp"), 15.0), r"\operatorname": 2.0, r"\quad": 10.0, r"\sqrt": 9.0,
    **dict.fromkeys((r"\left", r"\right", r"\bigl", r"\bigr"), 0.7), r"\,": 1.7, r"\ ": 3.4,
    **dict.fromkeys((r"\dot", r"\ddot", r"\dddot", r"\mathrm", r"\mathit", r"\text", r"\displaystyle"), 0.0),
}  # fmt: skip
"""Width of a token in points at 10 pt, if it differs from that of a letter."""
_LETTER_WIDTH = 5.5


def width(latex: str) -> float:
    """Approximate width of a formula in points at 10 pt; scripts are 0.75 as large, fractions as wide as their longer part."""
    return _width(latex, 0)[0]


def _width(latex: str, at: int) -> tuple[float, int]:
    """(width, end) of a formula from `at` to its end or to the bracket } that closes it."""
    total = 0.0
    while at < len(latex) and latex[at] != "}":
        match = _TOKEN.match(latex, at)
        token = match[0] if match else latex[at]
        at += len(token)
        if token == "{":
            inner, at = _width(latex, at)
            total, at = total + inner, at + 1
        elif token in ("^", "_"):
            inner, at = _argument(latex, at)
            total += 0.75 * inner
        elif token == r"\frac":
            numerator, at = _argument(latex, at)
            denominator, at = _argument(latex, at)
            total += 3.0 + max(numerator, denominator)
        else:
            total += _TOKEN_WIDTHS.get(token, _LETTER_WIDTH)
    return total, at


def _argument(latex: str, at: int) -> tuple[float, int]:
    """(width, end) of the contents of {…}, or of one token."""
    if latex[at : at + 1] != "{":
        return _LETTER_WIDTH, at + 1
    inner, end = _width(latex, at + 1)
    return inner, end + 1
