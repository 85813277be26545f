"""Formulas in the letters of the books: one line of Unicode, or LaTeX.

Factors come in the order Λ, parameters, motion: Λ m r² φ̇ cos(θ).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Any

import sympy
from sympy import Symbol
from sympy.printing.conventions import split_super_sub
from sympy.printing.latex import LatexPrinter
from sympy.printing.pretty.pretty_symbology import pretty_symbol
from sympy.printing.str import StrPrinter

from appell import typeset
from appell.jets import Jet, Parameter


class _Shown(Symbol):
    """A symbol that prints as another one. SymPy orders factors by the names of classes: Λ, parameters, then jets."""

    __slots__ = ("original",)
    original: Symbol

    def __new__(cls, original: Symbol):
        assumptions = {key: value for key, value in original._assumptions_orig.items() if value is not None}
        self = Symbol.__xnew__(cls, original.name, **assumptions)
        self.original = original
        return self

    def sort_key(self, order: Any = None) -> Any:
        """By class, masses and moments of inertia before other parameters, then by name: m g l, m l²."""
        heavy = isinstance(self, _BParameter) and re.fullmatch(r"[mMJI](\d.*|_.*)?", self.name)
        return self.class_key(), (1, (("0" if heavy else "1") + self.name,)), sympy.S.One.sort_key(), sympy.S.One

    def _latex(self, printer: Any) -> str:
        return printer._print(self.original)

    def _sympystr(self, printer: Any) -> str:
        return letter(self.original)


class _AMultiplier(_Shown):
    __slots__ = ()


class _BParameter(_Shown):
    __slots__ = ()


class _CJet(_Shown):
    __slots__ = ()


def _ordered(expr: Any, motion: Collection[Symbol]) -> Any:
    """The expression in symbols that print in the order of the books: Λ m r² φ̇ cos θ."""
    table = {}
    for s in expr.free_symbols:
        moves = isinstance(s, Jet) or s in motion
        kind = _CJet if moves else _AMultiplier if hasattr(s, "label") else _BParameter
        table[s] = kind(s)
    return expr.xreplace(table)


def letter(symbol: Symbol) -> str:
    """A symbol in Unicode: φ̈, q₁, p_θ, Λ_blade. Unicode lacks most letters as subscripts, so only digits become such."""
    label = getattr(symbol, "label", None)  # of a multiplier
    if label is not None:
        return f"Λ_{label}"
    if isinstance(symbol, Jet):
        return typeset.text(symbol.letter, symbol.order)
    if isinstance(symbol, Parameter):
        return typeset.text(symbol.name)
    name, supers, subs = split_super_sub(symbol.name)  # SymPy's own: "Omegadot_1" is meant with its dot
    head = "__".join([str(name), *supers])
    if all(s.isdigit() for s in subs):
        return str(pretty_symbol("_".join([head, *subs])))
    return "_".join(str(pretty_symbol(part)) for part in (head, *subs))


class _PositiveFirst:
    """Sums begin with a term that is added, where they have one: sin(φ₂ − φ₁)."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        terms = list(super()._as_ordered_terms(expr, order=order))  # type: ignore[misc]
        first = next((i for i, term in enumerate(terms) if not term.could_extract_minus_sign()), 0)
        return [terms[first], *terms[:first], *terms[first + 1 :]]


class _Text(_PositiveFirst, StrPrinter):
    def _print_Abs(self, expr: Any) -> str:
        return f"|{self._print(expr.args[0])}|"


class _Latex(_PositiveFirst, LatexPrinter):
    pass


_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def latex(expr: Any, motion: Collection[Symbol] = ()) -> str:
    """LaTeX of an expression; `motion` are symbols besides jets that come after the parameters."""
    return _Latex().doprint(_ordered(expr, motion))


def latex_lines(expr: Any, width: int, motion: Collection[Symbol] = ()) -> list[str]:
    """LaTeX of a sum in lines of about `width` characters of text, broken before a + or −; one line where it is no sum."""
    ordered, printer, plain = _ordered(expr, motion), _Latex(), _Text({"order": None, "full_prec": False})
    if not ordered.is_Add or len(plain.doprint(ordered)) <= width:
        return [printer.doprint(ordered)]
    lines, room = [""], width
    for term in printer._as_ordered_terms(ordered):
        size, minus = len(plain.doprint(term)) + 3, term.could_extract_minus_sign()
        if lines[-1] and size > room:
            lines, room = [*lines, "{}"], width
        sign = "- " if minus else "+ " if lines[-1] else ""
        lines[-1] += f" {sign}{printer.doprint(-term if minus else term)}"
        room -= size
    return [line.strip() for line in lines]


def text(expr: Any, motion: Collection[Symbol] = ()) -> str:
    """One line of Unicode: m r² φ̇ cos(θ)/2."""
    line = _Text({"order": None, "full_prec": False}).doprint(_ordered(expr, motion))
    line = re.sub(r"\*\*(\d+)", lambda power: power[1].translate(_SUPERSCRIPT), line)
    line = re.sub(r"\*\*\((-\d+)\)", lambda power: power[1].translate(_SUPERSCRIPT), line)
    line = line.replace("sqrt(", "√(").replace("**", "^")
    return unicodedata.normalize("NFC", line.replace("*", " ").replace("-", "−"))
