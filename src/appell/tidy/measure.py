"""The length of an expression, as text and as a structure."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import sympy

MEASURES_REMEMBERED = 100_000
"""Largest number of cached results."""


def of_object(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """make(expression), cached by object identity: comparing two equal expressions as deep as the solution of n equations takes
    4ⁿ steps, unless they share their parts."""
    memo: dict[int, tuple[Any, Any]] = {}  # keeps the object alive, so that its id stays unique

    @wraps(make)
    def measured(expr: Any) -> Any:
        stored = memo.get(id(expr))
        if stored is not None:
            return stored[1]
        value = make(expr)
        if len(memo) > MEASURES_REMEMBERED:
            memo.clear()
        memo[id(expr)] = expr, value
        return value

    return measured


@of_object
def length(expr: Any) -> int:
    """Symbols, numbers and functions, as printed: cheaper than `count_ops`."""
    return (not (expr.is_Add or expr.is_Mul)) + sum(map(length, expr.args))


def parts(expr: Any) -> set[Any]:
    """The distinct subexpressions. SymPy's `atoms` visits a shared one as often as it is used: 4ⁿ times after n pivots."""
    seen: set[Any] = set()
    stack = [expr]
    while stack:
        e = stack.pop()
        if e not in seen:
            seen.add(e)
            stack.extend(e.args)
    return seen


def nodes(expr: Any) -> int:
    """The number of distinct subexpressions: the cost of a traversal."""
    return len(parts(expr))


def characters(expr: Any) -> int:
    """Approximate number of characters of the expression as text, without printing it."""
    return _measured(expr)


@of_object
def _measured(e: Any) -> int:
    kind: Callable[[Any], int] | None = next((f for test, f in _KINDS if test(e)), None)
    return len(str(e)) if kind is None else kind(e)


def _of_sum(e: Any) -> int:
    terms = [(_measured(x), x.is_Mul and x.args[0].is_Number and bool(x.args[0] < 0)) for x in e.args]
    minuses = sum(minus for _, minus in terms)
    return sum(size for size, _ in terms) + 3 * (len(terms) - 1) - minuses + (minuses == len(terms))


def _of_product(e: Any) -> int:
    numerator, denominator, minus = [], [], 0
    for x in e.args:
        if x.is_Rational:
            minus = int(x.p < 0)
            numerator += [len(str(abs(x.p)))] if abs(x.p) != 1 else []
            denominator += [len(str(x.q))] if x.q != 1 else []
        elif x.is_Pow and x.exp.is_Rational and x.exp < 0:
            denominator.append(_of_power(x.base, -x.exp))
        else:
            numerator.append(_measured(x) + 2 * x.is_Add)
    size = max(1, sum(numerator) + len(numerator) - 1) + minus
    return size + (sum(denominator) + len(denominator) + 2 * (len(denominator) > 1) if denominator else 0)


def _of_power(base: Any, exp: Any) -> int:
    base_length = _measured(base)
    if exp == sympy.S.Half:
        return base_length + 6
    brackets = 2 if base.is_Add or base.is_Mul or base.is_Pow else 0
    return base_length + brackets + (0 if exp == 1 else 2 + _measured(exp) + (0 if exp.is_Integer and exp > 0 else 2))


def _of_pow(e: Any) -> int:
    is_denominator = e.exp.is_Rational and e.exp < 0
    return 2 + _of_power(e.base, -e.exp) if is_denominator else _of_power(e.base, e.exp)


_KINDS: list[tuple[Callable[[Any], bool], Callable[[Any], int]]] = [
    (lambda e: e.is_Symbol, lambda e: len(str(e))),
    (lambda e: e.is_Add, _of_sum),
    (lambda e: e.is_Mul, _of_product),
    (lambda e: e.is_Pow, _of_pow),
    (
        lambda e: isinstance(e, sympy.Function) and not isinstance(e, sympy.Piecewise),
        lambda e: len(type(e).__name__) + 2 * len(e.args) + sum(map(_measured, e.args)),
    ),
]
"""Kinds of expressions, and their lengths as text."""
