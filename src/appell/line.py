"""An expression as one line of Unicode, as SymPy's printer writes it, in a fraction of the time: m r² φ̇ cos(θ)/2.

Sums, products, integer powers and plain functions are written here, each part once and in the order of `sort_key`; for anything
else the result is None, and SymPy's printer writes the whole. Letters and the order of symbols are given by the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import sympy
from sympy.core.function import Application
from sympy.printing.precedence import PRECEDENCE

ADD, MUL, POW, ATOM = (PRECEDENCE[name] for name in ("Add", "Mul", "Pow", "Atom"))
ODD_OR_EVEN = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.Abs)
WRITTEN_FUNCTIONS = (*ODD_OR_EVEN, sympy.sign)
"""Functions written as name(argument); |x| for Abs."""
ONE = sympy.S.One
SORTED_LATER = " "
"""Suffix of a name in its sort key, so that b − a is written and not −(a − b)."""


class Letter(NamedTuple):
    """A symbol as shown; its class and its name in that class, which determine the order."""

    shown: str
    kind: str
    name: str


_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def superscript(n: int) -> str:
    """An integer as an exponent."""
    return "²" if n == 2 else str(n).translate(_SUPERSCRIPT)


class Levels(dict[Any, int]):
    """Rank in a sum: 3 for reactions, 2 for accelerations, 1 for velocities, 0 for the rest; for an expression the highest of
    its symbols."""

    def __missing__(self, e: Any) -> int:
        level = self[e] = max([self[x] for x in e.args]) if e.args else _level(getattr(e, "original", e))
        return level


def _level(symbol: Any) -> int:
    if hasattr(symbol, "label"):
        return 3
    if type(symbol) is sympy.Symbol:
        return int(symbol.name.partition("_")[0].endswith("dot"))  # SymPy's "Omegadot_1" is Ω̇₁
    return getattr(symbol, "level", 0)


def book_order(terms: list[Any], levels: Levels, is_subtracted: Callable[[Any], bool]) -> list[Any]:
    """Terms ordered with reactions, accelerations, velocities before others, beginning with a positive one: ÿ + 2 Ω ẋ − Ω²
    y."""
    terms = sorted(terms, key=lambda term: -levels[term])
    first = next((i for i, term in enumerate(terms) if not is_subtracted(term)), 0)
    return [terms[first], *terms[:first], *terms[first + 1 :]]


class Unusual(Exception):
    """A node that is left to SymPy's printer."""


class LineWriter:
    """Writes expressions. `letter` gives the text and order of a symbol."""

    def __init__(self, letter: Callable[[Any], Letter]):
        self._letter = letter
        self._keys: dict[Any, Any] = {}
        self._orders: dict[Any, list[Any]] = {}
        self._levels = Levels()

    def written(self, expr: Any) -> str | None:
        """The line, or None if the expression contains an unusual node."""
        try:
            return self._text(self._in_symbol_order(expr))[0]
        except Unusual:
            return None

    def _in_symbol_order(self, expr: Any) -> Any:
        """The expression with −sin(b − a) for sin(a − b), and the like, where b comes first, as SymPy orders symbols."""
        table = {}
        for wave in _waves(expr):
            angle = wave.args[0]
            if angle.is_Symbol:
                continue
            if angle.atoms(*WRITTEN_FUNCTIONS) or (angle.is_Add and isinstance(wave, sympy.Abs)):
                raise Unusual
            if angle.is_Add and len(angle.args) % 2 == 0 and self._is_out_of_order(angle):
                table[wave] = type(wave)(-angle, evaluate=False) * (1 if isinstance(wave, sympy.cos) else -1)
        return expr.xreplace(table) if table else expr

    def _is_out_of_order(self, angle: Any) -> bool:
        """Whether there are as many positive as negative terms, and a negative one comes first."""
        minuses = sum(x.could_extract_minus_sign() for x in angle.args)
        return 2 * minuses == len(angle.args) and self._key(angle) < self._key(-angle)

    # -- text and precedence ------------------------------------------------------------------------------------------

    def _text(self, e: Any) -> tuple[str, int]:
        if e.is_Symbol:
            return self._letter(e).shown, ATOM
        if e.is_Add:
            return self._sum(e), ADD
        if e.is_Mul:
            return self._product(e)
        if e.is_Integer:
            return (f"−{-e.p}", ADD) if e.p < 0 else (str(e.p), ATOM)
        if e.is_Pow:
            base, exp = _power(e)
            inner = self._within(base, POW)
            return (f"1/{inner}" if exp == -1 else inner + superscript(exp)), POW
        if isinstance(e, WRITTEN_FUNCTIONS):
            inner = self._text(e.args[0])[0]
            return (f"|{inner}|" if isinstance(e, sympy.Abs) else f"{type(e).__name__}({inner})"), ATOM
        if e.is_Rational:
            return (f"−{-e.p}/{e.q}", ADD) if e.p < 0 else (f"{e.p}/{e.q}", MUL)
        raise Unusual

    def _within(self, e: Any, level: int) -> str:
        """The text, in brackets if it binds no stronger than `level`."""
        text, precedence = self._text(e)
        return f"({text})" if precedence <= level else text

    def _sum(self, e: Any) -> str:
        pieces: list[str] = []
        for term in self.terms(e):
            text = self._text(term)[0]
            if term.is_Add:
                sign, text = "+", f"({text})"
            else:
                sign, text = ("−", text[1:]) if text[0] == "−" else ("+", text)
            pieces += [f" {sign} " if pieces else "" if sign == "+" else sign, text]
        return "".join(pieces)

    def _product(self, e: Any) -> tuple[str, int]:
        number, factors = _coefficient(e)
        minus = number.p < 0
        ordered = sorted(factors, key=self._key) if len(factors) > 1 else factors
        numerator, denominator = [], []
        if number.p != 1 and number.p != -1:
            numerator.append(str(abs(number.p)))
        if number.q != 1:
            denominator.append(str(number.q))
        for x in ordered:
            if x.is_Pow and x.exp.is_Integer and x.exp.p < 0:
                base, exp = _power(x)
                denominator.append(self._within(base, MUL) if exp == -1 else self._within(base, POW) + superscript(-exp))
            else:
                numerator.append(self._within(x, MUL))
        text = " ".join(numerator) or "1"
        if denominator:
            text += "/" + (denominator[0] if len(denominator) == 1 else f"({' '.join(denominator)})")
        return ("−" + text, ADD) if minus else (text, MUL)

    # -- order ---------------------------------------------------------------------------------------------------------

    def terms(self, e: Any) -> list[Any]:
        """The terms of a sum, the highest powers of the first symbols before others, then by `book_order`."""
        if e not in self._orders:
            self._orders[e] = book_order(self._ordered(e), self._levels, _is_subtracted)
        return self._orders[e]

    def _ordered(self, e: Any) -> list[Any]:
        """The terms in the order of SymPy's `as_ordered_terms`."""
        if len(e.args) == 2:
            number, product = sorted(e.args, key=lambda x: not x.is_Number)
            of_two = product.is_Mul and len(product.args) == 2
            if number.is_Number and number > 0 and of_two and product.args[0].is_Number and product.args[0] < 0:
                return [number, product]
        entries = []
        for term in e.args:
            number, factors = _coefficient(term)
            entries.append((number.p / number.q, dict(map(_base_and_exponent, factors)), term))
        bases = sorted({base for _, powers, _ in entries for base in powers}, key=self._key)
        order = lambda entry: ([-entry[1].get(base, 0) for base in bases], entry[0])
        return [term for *_, term in sorted(entries, key=order)]

    def _key(self, e: Any) -> Any:
        if e not in self._keys:
            self._keys[e] = self._made_key(e)
        return self._keys[e]

    def _made_key(self, e: Any) -> Any:
        """The key of SymPy's `sort_key`: class, arguments, exponent, coefficient."""
        if e.is_Symbol:
            letter = self._letter(e)
            return (2, 0, letter.kind), (1, (letter.name,)), _ONE_KEY, ONE
        if e.is_Number:
            return _number_key(e)
        number, factors = _coefficient(e)
        base, exp = (factors[0], ONE) if len(factors) == 1 else (None, ONE)
        if base is not None and base.is_Pow:
            base, exp = base.args
        if base is None:
            head, arguments = (3, 0, "Mul"), tuple(sorted(map(self._key, factors)))
        elif base.is_Symbol:
            letter = self._letter(base)
            head, arguments = (2, 0, letter.kind), (letter.name + SORTED_LATER,)
        elif base.is_Add:
            head, arguments = (3, 1, "Add"), tuple(map(self._key, self._ordered(base)))
        elif isinstance(base, WRITTEN_FUNCTIONS):
            head, arguments = _class_key(type(base)), tuple(map(self._key, base.args))
        else:
            raise Unusual
        return head, (len(arguments), arguments), _number_key(exp), number


def _waves(expr: Any) -> set[Any]:
    """The outermost functions that may change sign."""
    waves, stack = set(), [expr]
    while stack:
        e = stack.pop()
        if isinstance(e, ODD_OR_EVEN):
            waves.add(e)
        elif e.args:
            stack.extend(e.args)
    return waves


def _is_subtracted(term: Any) -> bool:
    """The answer of SymPy's `could_extract_minus_sign`, which queries assumptions of numbers."""
    if term.is_Add:
        return term.could_extract_minus_sign()
    number = _coefficient(term)[0]
    return number.p < 0


def _coefficient(e: Any) -> tuple[Any, tuple[Any, ...]]:
    """(number, factors) of a product."""
    if e.is_Number:
        if not e.is_Rational:
            raise Unusual
        return e, ()
    if not e.is_Mul:
        return ONE, (e,)
    first, *rest = e.args
    number, factors = (first, tuple(rest)) if first.is_Number else (ONE, e.args)
    if not number.is_Rational or first is ONE or any(x.is_number or x.is_Mul for x in factors):
        raise Unusual
    return number, factors


def _power(e: Any) -> tuple[Any, int]:
    if not e.exp.is_Integer or e.base.is_number or e.base.is_Mul or e.base.is_Pow:
        raise Unusual
    return e.base, int(e.exp)


def _base_and_exponent(x: Any) -> tuple[Any, int]:
    return _power(x) if x.is_Pow else (x, 1)


def _number_key(x: Any) -> Any:
    if not x.is_Rational:
        raise Unusual
    return (1, 0, "Number"), (0, ()), (), x


_ONE_KEY = _number_key(ONE)


@cache
def _class_key(kind: type[Application]) -> Any:
    return kind.class_key()  # type: ignore[attr-defined]
