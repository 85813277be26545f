"""Derivatives of shared expressions, each distinct subexpression once.

    D(x + y) = Dx + Dy,        D(x y) = x Dy + y Dx,        D f(x) = f′(x) Dx

A derivation D is given by its values on the symbols: ∂/∂s has D s = 1 and 0 elsewhere; d/dt has D t = 1 and D s = ṡ on
jets. SymPy's `diff` visits a shared subexpression as often as it is used and pays for its bookkeeping at every node; here
results are cached, nothing is expanded, and nested sums stay nested (d/dt ∂T/∂q̇ − ∂T/∂q of an 8-link pendulum: 0.03 s against
3.6 s).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import sympy
from sympy import Add, Expr, Integer, Mul, Pow, Symbol

from appell.jets import Jet, Prescribed, t
from appell.jets import partial as held

ZERO, ONE = Integer(0), Integer(1)

STEP_FUNCTIONS = (sympy.sign, sympy.Heaviside, sympy.floor, sympy.ceiling)
"""Functions that are constant between their jumps. A system whose energies or constraints jump with them raises
(`model.jumps`), so that the term omitted by the derivative is multiplied by zero."""


class Derivation:
    """D with its cache. `value(symbol)` is D on symbols."""

    def __init__(self, value: Callable[[Symbol], Expr]):
        self._value = value
        self._derivatives: dict[Any, Expr] = {}

    def __call__(self, expr: Any) -> Expr:
        if expr not in self._derivatives:
            self._derivatives[expr] = self._derive(expr)
        return self._derivatives[expr]

    def matrix(self, entries: sympy.Matrix) -> sympy.Matrix:
        """D of every entry."""
        return entries.applyfunc(self)

    def _derive(self, expr: Any) -> Expr:
        if expr.is_Symbol:
            return self._value(expr)
        if not expr.args:
            return ZERO
        if expr.is_Add:
            return _sum([self(x) for x in expr.args], nested=any(x.is_Add for x in expr.args))
        if expr.is_Mul:
            slopes = [self(x) for x in expr.args]
            return _sum([_times(d, *expr.args[:i], *expr.args[i + 1 :]) for i, d in enumerate(slopes) if d is not ZERO])
        if expr.is_Pow and not expr.exp.free_symbols:
            d = self(expr.base)
            return ZERO if d is ZERO else _times(d, expr.exp, Pow(expr.base, expr.exp - 1))
        if expr.is_Piecewise:
            slopes = [self(value) for value, _ in expr.args]
            return sympy.Piecewise(*((d, when) for d, (_, when) in zip(slopes, expr.args, strict=True)))
        if isinstance(expr, STEP_FUNCTIONS):
            return ZERO
        if isinstance(expr, sympy.Mod):  # a mod b = a − b floor(a/b)
            a, b = cast(tuple[Expr, Expr], expr.args)
            return _sum([self(a), -sympy.floor(a / b) * self(b)])
        if isinstance(expr, sympy.frac):
            return self(expr.args[0])
        if isinstance(expr, sympy.Function):
            terms = [(i, self(x)) for i, x in enumerate(expr.args)]
            return _sum([expr.fdiff(i + 1) * d for i, d in terms if d is not ZERO])
        return _sum([held(expr, s) * self(s) for s in sorted(expr.free_symbols, key=str)])


def _times(slope: Any, *factors: Any) -> Expr:
    """factors × D, a number common to the terms of D taken out: m (2xẋ + 2yẏ)/2 is m (xẋ + yẏ)."""
    if slope.is_Add:
        common, primitive = slope.primitive()
        number = next((x for x in factors if x.is_Rational), ONE)
        if (number * common).q <= number.q:  # no new denominators
            return Mul(common, primitive, *factors)
    return Mul(*factors, slope)


def _sum(terms: list[Expr], nested: bool = False) -> Expr:
    terms = [x for x in terms if x is not ZERO]
    if nested and len(terms) > 1:
        return Add(*terms, evaluate=False)
    return Add(*terms) if terms else ZERO


class Replacement:
    """Replacement of symbols, each distinct subexpression once; nothing is expanded.

    SymPy's `xreplace` visits a shared subexpression as often as it is used, which is practically endless for a closed chain of
    12 links.
    """

    def __init__(self, table: Mapping[Any, Any], evaluate: bool = True):
        """`evaluate`: whether sums and products are reordered, for which SymPy compares long ones in full."""
        self._derivatives: dict[Any, Any] = {s: value for s, value in table.items() if s != value}
        self._evaluate = evaluate

    def __call__(self, expr: Any) -> Any:
        if expr not in self._derivatives:
            args = [self(x) for x in expr.args]
            is_unchanged = all(x is y for x, y in zip(args, expr.args, strict=True))
            plain = {} if self._evaluate or not (expr.is_Add or expr.is_Mul) else {"evaluate": False}
            self._derivatives[expr] = expr if is_unchanged else expr.func(*args, **plain)
        return self._derivatives[expr]


def restricted(expr: Any, table: Mapping[Any, Any]) -> Any:
    """The expression with symbols replaced; nothing is expanded or re-evaluated."""
    return Replacement(table)(expr)


def partial(s: Symbol) -> Derivation:
    """∂/∂s; ∂/∂t also differentiates prescribed functions."""
    if s == t:
        return Derivation(lambda x: ONE if x == t else x.d if isinstance(x, Prescribed) else ZERO)
    return Derivation(lambda x: ONE if x == s else ZERO)


def time_derivation(rates: Mapping[Symbol, Expr]) -> Derivation:
    """d/dt along the motion: ṡ is s.d, or `rates[s]` where given."""

    def value(s: Symbol) -> Expr:
        if s == t:
            return ONE
        return rates.get(s, s.d) if isinstance(s, Jet) else ZERO

    return Derivation(value)


def gradient(expr: Expr, symbols: Any) -> list[Expr]:
    """∂/∂s for each of the symbols."""
    return [partial(s)(expr) for s in symbols]
