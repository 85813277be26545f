"""Formulas in textbook notation: one line of Unicode, or LaTeX.

Factors are in the order Λ, parameters, motion: Λ m r² φ̇ cos(θ).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import cached_property, lru_cache
from typing import Any

import sympy
from sympy import Symbol
from sympy.printing.conventions import split_super_sub
from sympy.printing.latex import LatexPrinter
from sympy.printing.pretty.pretty_symbology import pretty_symbol
from sympy.printing.str import StrPrinter

from appell import typeset
from appell.jets import Jet, Parameter
from appell.line import SORTED_LATER, Letter, Levels, LineWriter, book_order, superscript


class _Shown(Symbol):
    """A symbol that prints as another one. SymPy orders factors by class name: Λ, parameters, then jets."""

    __slots__ = ("original",)
    original: Symbol

    def __new__(cls, original: Symbol):
        assumptions = {key: value for key, value in original._assumptions_orig.items() if value is not None}
        self = Symbol.__xnew__(cls, original.name, **assumptions)
        self.original = original
        return self

    def sort_key(self, order: Any = None) -> Any:
        """The order of symbols: by class, masses and moments of inertia before other parameters, then by name: m g l, m l²."""
        return self.class_key(), (1, (_sort_key(type(self), self.original),)), sympy.S.One.sort_key(), sympy.S.One

    def __str__(self) -> str:
        """The text by which SymPy orders its powers and multiples. A printer writes the letter."""
        return _sort_key(type(self), self.original) + SORTED_LATER

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


_HEAVY = re.compile(r"[mMJI](\d.*|_.*)?")
_HEAVY_LETTERS = frozenset("mMJI")
_DIGITS = re.compile(r"\d+")


def _sort_key(kind: type[_Shown], s: Symbol) -> str:
    """The sort key of a name within its class: masses and moments of inertia before other parameters, coordinates before
    velocities and these before accelerations; m₂ before m₁₀."""
    name = s.name
    if kind is _BParameter:
        first = "0" if name in _HEAVY_LETTERS or (not name.isalpha() and _HEAVY.fullmatch(name)) else "1"
    else:
        first = str(s.level) if isinstance(s, Jet) else "1"
    return first + (name if name.isalpha() else _DIGITS.sub(lambda number: number[0].zfill(6), name))


def _kind(s: Symbol, motion: Collection[Symbol]) -> type[_Shown]:
    moves = isinstance(s, Jet) or s in motion
    return _CJet if moves else _AMultiplier if hasattr(s, "label") else _BParameter


def _ordered(expr: Any, motion: Collection[Symbol]) -> Any:
    """The expression in symbols that print in textbook order: Λ m r² φ̇ cos θ."""
    return expr.xreplace({s: _kind(s, motion)(s) for s in expr.free_symbols})


@lru_cache(maxsize=4096)
def letter(symbol: Symbol) -> str:
    """A symbol in Unicode: φ̈, q₁, p_θ, Λ_blade. Unicode lacks most subscript letters, so only digits become subscripts."""
    label = getattr(symbol, "label", None)  # of a multiplier
    if label is not None:
        return f"Λ_{label}"
    if isinstance(symbol, Jet):
        return typeset.text(symbol.letter, symbol.order)
    if isinstance(symbol, Parameter):
        return typeset.text(symbol.name)
    name, supers, subs = split_super_sub(symbol.name)  # SymPy's convention: "Omegadot_1" has a dot
    head = "__".join([str(name), *supers])
    if all(s.isdigit() for s in subs):
        return str(pretty_symbol("_".join([head, *subs])))
    return "_".join(str(pretty_symbol(part)) for part in (head, *subs))


class _PositiveFirst:
    """Sums in textbook order, beginning with a positive term if there is one: sin(φ₂ − φ₁)."""

    _levels: Levels

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        if "_levels" not in self.__dict__:
            self._levels = Levels()
        terms = list(super()._as_ordered_terms(expr, order=order))  # type: ignore[misc]
        return book_order(terms, self._levels, lambda term: term.could_extract_minus_sign())


class _TextPrinter(_PositiveFirst, StrPrinter):
    def _print_Pi(self, expr: Any) -> str:
        return "π"

    def _print_Abs(self, expr: Any) -> str:
        return f"|{self._print(expr.args[0])}|"

    def _print_Piecewise(self, expr: Any) -> str:
        """{x if x > 0, 2 x otherwise}"""
        condition = lambda when: "otherwise" if when == True else f"if {self._print(when)}"  # noqa: E712
        return "{" + ", ".join(f"{self._print(value)} {condition(when)}" for value, when in expr.args) + "}"


class Printer(_PositiveFirst, LatexPrinter):
    """LaTeX printer that prints shared parts once."""

    def __init__(self):
        super().__init__()
        self._printed: dict[Any, str] = {}

    def _print(self, expr: Any, **kwargs: Any) -> str:
        if kwargs or not isinstance(expr, sympy.Expr):
            return str(super()._print(expr, **kwargs))
        if expr not in self._printed:
            self._printed[expr] = str(super()._print(expr))
        return self._printed[expr]


@lru_cache(maxsize=4096)
def _as_letter(s: Symbol, kind: type[_Shown] | None = None) -> Letter:
    """A symbol as a letter; by default jets count as motion."""
    kind = kind or _kind(s, ())
    text = letter(s)
    shown = text if text.isalnum() else _in_unicode(text)
    return Letter(shown, kind.__name__, _sort_key(kind, s))


_WHOLE_POWER = re.compile(r"\*\*(?:(\d+)|\((-\d+)\))")


def _in_unicode(line: str) -> str:
    """The output of SymPy's printer with superscript exponents, spaces between factors, and letters with dots as one
    character."""
    if "**" in line:
        line = _WHOLE_POWER.sub(lambda power: superscript(int(power[1] or power[2])), line).replace("**", "^")
    return unicodedata.normalize("NFC", line.replace("sqrt(", "√(").replace("*", " ").replace("-", "−"))


def latex(expr: Any, motion: Collection[Symbol] = ()) -> str:
    """LaTeX of an expression; `motion`: symbols besides jets that come after the parameters."""
    return Printer().doprint(_ordered(expr, motion))


class MeasuredLatex:
    """LaTeX of an expression with its width (pt), and the same in `parts` between which a row may break, if there are any.

    Sums break before a + or −, products before a sum in brackets and inside it.
    """

    def __init__(self, expr: Any, printer: Printer, before: str = "", after: str = ""):
        self._expr, self._printer, self._prefix, self._suffix = expr, printer, before, after

    @staticmethod
    def of(expr: Any, motion: Collection[Symbol] = (), printer: Printer | None = None) -> MeasuredLatex:
        """Creates it from an expression in textbook order; those with the same printer share its cache."""
        return MeasuredLatex(_ordered(expr, motion), printer or Printer())

    @cached_property
    def latex(self) -> str:
        return self._prefix + self._printer.doprint(self._expr) + self._suffix

    @cached_property
    def width(self) -> float:
        return typeset.width(self.latex)

    @cached_property
    def parts(self) -> tuple[MeasuredLatex, ...]:
        pieces = self._terms() or self._factors()
        if not pieces:
            return ()
        return pieces[0].enclosed(self._prefix), *pieces[1:-1], pieces[-1].enclosed("", self._suffix)

    def _terms(self) -> list[MeasuredLatex]:
        """The terms of a sum with their signs."""
        terms = []
        for k, term in enumerate(self._printer._as_ordered_terms(self._expr) if self._expr.is_Add else ()):
            minus = term.could_extract_minus_sign()
            terms.append(self._of(-term if minus else term, "- " if minus else "+ " if k else ""))
        return terms

    def _factors(self) -> list[MeasuredLatex]:
        """The parts of a product or power: the factors before the brackets, then the parts of each bracket."""
        factors: tuple[Any, ...] = sympy.Mul.make_args(self._expr)
        brackets = [x for x in factors if self._is_bracket(x)]
        outside = sympy.Mul(*(x for x in factors if x not in brackets))
        pieces = [self._of(outside)] if brackets and outside != 1 else []
        for x in brackets:
            base, power = (x.base, x.exp) if x.is_Pow else (x, sympy.S.One)
            parts = self._arguments(base) if base.is_Function else list(self._of(base).parts)
            opening, closing = _brackets(base)
            pieces += [parts[0].enclosed(opening), *parts[1:-1]]
            pieces.append(parts[-1].enclosed("", closing if power == 1 else f"{closing}^{{{self._printer.doprint(power)}}}"))
        return pieces

    def _arguments(self, function: Any) -> list[MeasuredLatex]:
        """The parts of the arguments, with commas between these."""
        pieces: list[MeasuredLatex] = []
        for x in function.args:
            parts = self._of(x).parts or (self._of(x),)
            pieces += [parts[0].enclosed(r",\ " if pieces else ""), *parts[1:]]
        return pieces

    def enclosed(self, before: str, after: str = "") -> MeasuredLatex:
        """The same formula with text before and after it."""
        return self._of(self._expr, before + self._prefix, self._suffix + after)

    def _of(self, expr: Any, before: str = "", after: str = "") -> MeasuredLatex:
        return MeasuredLatex(expr, self._printer, before, after)

    def _is_bracket(self, x: Any) -> bool:
        """A factor that is a sum, or a positive power of one; if long also a denominator, a root or a function."""
        base, power = (x.base, x.exp) if x.is_Pow else (x, sympy.S.One)
        if base.is_Add and power.is_Integer and power > 0:
            return True
        if not power.is_Rational or self._of(base).width <= typeset.ROW_WIDTH / 2 or base.is_Piecewise:
            return False
        if base == self._expr and not base.is_Function:  # a long number or name
            return False
        return len(self._arguments(base) if base.is_Function else self._of(base).parts) > 1


_BRACKETS = {
    sympy.Abs: (r"\bigl|", r"\bigr|"),
    sympy.exp: (r"\exp\bigl(", r"\bigr)"),
    sympy.floor: (r"\bigl\lfloor", r"\bigr\rfloor"),
    sympy.ceiling: (r"\bigl\lceil", r"\bigr\rceil"),
}


def _brackets(base: Any) -> tuple[str, str]:
    """The opening and closing text of a sum in brackets, or of a function with its name."""
    if not base.is_Function or base.func in _BRACKETS:
        return _BRACKETS.get(base.func, (r"\bigl(", r"\bigr)"))
    name = sympy.latex(base.func(*(Symbol(c) for c in "xyzuvw"[: len(base.args)]))).partition(r"\left")[0]
    return name.rstrip("{") + r"\bigl(", r"\bigr)"


def text(expr: Any, motion: Collection[Symbol] = ()) -> str:
    """One line of Unicode: m r² φ̇ cos(θ)/2."""
    line = LineWriter((lambda s: _as_letter(s, _kind(s, motion))) if motion else _as_letter).written(expr)
    return _by_sympy(expr, motion) if line is None else line


def _by_sympy(expr: Any, motion: Collection[Symbol]) -> str:
    return _in_unicode(_TextPrinter({"order": None, "full_prec": False}).doprint(_ordered(expr, motion)))
