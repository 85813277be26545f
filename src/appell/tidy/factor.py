"""What the terms of a sum share, taken out of it where it stands: nothing is multiplied out."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from operator import is_
from typing import Any

import sympy

from appell.tidy.measure import characters
from appell.tidy.polynomial import base_and_power, content

Factors = tuple[Any, dict[Any, int]]
"""A number, and base → power, of a product."""


def factored_out(expr: Any) -> Any:
    """The expression as it is nested, with what terms of a sum share taken out of them, innermost first."""
    return _factored_out(expr, False) if expr.args else expr


@lru_cache(maxsize=4096)
def _factored_out(e: Any, inside: bool) -> Any:
    """`inside` a product a sum costs its brackets."""
    if not (e.is_Add or e.is_Mul or (e.is_Pow and e.exp.is_Integer)):
        return e
    parts = [_factored_out(x, not e.is_Add) if x.args else x for x in e.args]
    same = all(map(is_, parts, e.args)) and not any(x.is_Add for x in parts)
    made = e if same else e.func(*parts)
    if not made.is_Add:
        return made
    terms = [_factors(x) for x in made.args]
    grouped = _by_common_sums(terms)
    ways = [made, *([] if grouped is None else [grouped]), *_before_all(terms)]
    if grouped is not None and grouped.is_Add:
        ways += _before_all([_factors(x) for x in grouped.args])
    return min(ways, key=lambda way: characters(way) + (2 if inside and way.is_Add else 0))


def _before_all(terms: list[Factors]) -> list[Any]:
    """A sum with what all terms share before it, and with their least common denominator below it."""
    bases = dict.fromkeys(x for _, powers in terms for x in powers)
    columns = {x: [powers.get(x, 0) for _, powers in terms] for x in bases}
    lowest = {x: low for x, column in columns.items() if (low := min(column))}
    shared = {x: p for x, p in ((x, low if low > 0 else min(0, max(columns[x]))) for x, low in lowest.items()) if p}
    ways = [shared] if shared == lowest else [shared, lowest]
    return [_taken_out(terms, common) for common in ways if common]


def _taken_out(terms: list[Factors], common: dict[Any, int]) -> Any:
    exact = [c for c, _ in terms if isinstance(c, Fraction)]
    number = content(exact) if len(exact) == len(terms) else Fraction(1)
    inside = [(_over(c, number), {x: powers.get(x, 0) - common.get(x, 0) for x in {**powers, **common}}) for c, powers in terms]
    return sympy.Mul(_product((number, common)), sympy.Add(*map(_product, inside)))


def _by_common_sums(terms: list[Factors]) -> Any:
    """Terms that are multiples of one sum, as one term: a S + b S is (a + b) S. None where there are none."""
    count = Counter(x for _, powers in terms for x, p in powers.items() if x.is_Add and p > 0)
    shared = [x for x, n in count.items() if n > 1]
    if not shared:
        return None
    for x in shared:
        those = [term for term in terms if term[1].get(x, 0) > 0]
        if len(those) > 1:
            rest = [term for term in terms if term[1].get(x, 0) <= 0]
            inside = sympy.Add(*(_product((c, {**powers, x: powers[x] - 1})) for c, powers in those))
            terms = [*rest, _factors(x * _factored_out(inside, True))]
    return sympy.Add(*map(_product, terms))


def _factors(term: Any) -> Factors:
    number, powers = Fraction(1), {}
    factors: tuple[Any, ...] = sympy.Mul.make_args(term)
    for x in factors:
        if x.is_Rational:
            number = Fraction(int(x.p), int(x.q))
        elif x.is_Float:
            number = x
        else:
            base, power = base_and_power(x)
            if base.is_Add and base.could_extract_minus_sign():
                base, number = -base, -number if power % 2 else number
            powers[base] = powers.get(base, 0) + power
    return number, powers


def _product(factors: Factors) -> Any:
    c, powers = factors
    number = sympy.Rational(c.numerator, c.denominator) if isinstance(c, Fraction) else c
    return sympy.Mul(number, *(x**p for x, p in powers.items() if p))


def _over(c: Any, number: Fraction) -> Any:
    return c / number if isinstance(c, Fraction) else c
