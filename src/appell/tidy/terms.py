"""Terms of a polynomial {powers of the atoms: coefficient}: their arithmetic, and numbers in it and in SymPy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from heapq import heapify, heappop, heappush
from math import gcd, isfinite, lcm
from operator import add, neg, sub
from typing import Any

import sympy
from sympy import Expr
from sympy.external.gmpy import MPQ

Powers = tuple[int, ...]
Number = int | MPQ
"""SymPy's own rationals: `fractions.Fraction` checks types at each step, which is slow."""
Terms = dict[Powers, Number]


def raised(powers: Powers, i: int, by: int) -> Powers:
    """A monomial times x_i^by."""
    return (*powers[:i], powers[i] + by, *powers[i + 1 :])


def accumulate(terms: Terms, powers: Powers, c: Number) -> None:
    """terms + c × monomial, in place."""
    present = terms.get(powers)
    if present is None:
        terms[powers] = c
    elif present + c:
        terms[powers] = present + c
    else:
        del terms[powers]


def total(parts: Iterable[Terms]) -> Terms:
    """The sum."""
    sum_: Terms = {}
    for terms in parts:
        for powers, c in terms.items():
            sum_[powers] = sum_.get(powers, 0) + c
    return {powers: c for powers, c in sum_.items() if c}


def product(a: Terms, b: Terms) -> Terms:
    """The product, expanded."""
    expanded: Terms = {}
    for p, c in a.items():
        for q, d in b.items():
            powers = tuple(map(add, p, q))
            expanded[powers] = expanded.get(powers, 0) + c * d
    return {powers: c for powers, c in expanded.items() if c}


def content(numbers: Collection[Number]) -> Number:
    """The largest common divisor that leaves integers; negative if all are negative."""
    numerators, denominator = [c.numerator for c in numbers], lcm(*[c.denominator for c in numbers])
    number = -gcd(*numerators) if max(numerators) < 0 else gcd(*numerators)
    return number if denominator == 1 else MPQ(number, denominator)


def quotient(c: Number, number: Number) -> Number:
    """c/number, as an integer if possible, since integer arithmetic is fast."""
    if number == 1:
        return c
    numerator, denominator = c.numerator * number.denominator, c.denominator * number.numerator
    return MPQ(numerator, denominator) if numerator % denominator else numerator // denominator


def scaled(terms: Terms, number: Number) -> Terms:
    """terms/number."""
    return terms if number == 1 else {powers: quotient(c, number) for powers, c in terms.items()}


def without_denominators(terms: Terms) -> tuple[Terms, int]:
    """(n × terms, n) with integer coefficients, since integer arithmetic is fast."""
    if all(type(c) is int for c in terms.values()):
        return terms, 1
    n = lcm(*(c.denominator for c in terms.values()))
    return {powers: int(c * n) for powers, c in terms.items()}, n


def quotient_of(terms: Terms, by: Mapping[Powers, Number], reduced: Callable[[Terms], Terms]) -> Terms | None:
    """terms/by by division of leading monomials, with subtracted terms `reduced`; None if there is a remainder."""
    lead, remaining, result = max(by), dict(terms), {}
    order = [tuple(map(neg, powers)) for powers in remaining]  # the largest first
    heapify(order)
    for _ in range(4 * len(remaining) + 16):
        while order and tuple(map(neg, order[0])) not in remaining:
            heappop(order)  # cancelled terms
        if not order:
            return result
        top = tuple(map(neg, order[0]))
        step = tuple(map(sub, top, lead))
        if min(step) < 0:
            return None
        c = quotient(remaining[top], by[lead])
        accumulate(result, step, c)
        for powers, d in reduced({tuple(map(add, step, powers)): -c * d for powers, d in by.items()}).items():
            if powers not in remaining:
                heappush(order, tuple(map(neg, powers)))
            accumulate(remaining, powers, d)
    return None


# -- products of sines and cosines as sums ---------------------------------------------------------------------------------

_HALF = MPQ(1, 2)
Wave = tuple[Powers, Powers, bool]
"""Powers of atoms other than sines and cosines, multiples n_i of the angles, whether it is a sine."""


def times_wave(terms: Mapping[Any, Number], n: int, sine: bool) -> dict[Any, Number]:
    """Σ value · (cos or sin)(Σ n_i x_i), times cos or sin of x_n."""
    waves: dict[Any, Number] = {}
    for (multiples, is_sine), value in terms.items():
        higher, lower = (raised(multiples, n, step) for step in (1, -1))
        # cos a cos b = ½ (cos(a+b) + cos(a−b))    sin a cos b = ½ (sin(a+b) + sin(a−b))
        # cos a sin b = ½ (sin(a+b) − sin(a−b))    sin a sin b = ½ (cos(a−b) − cos(a+b))
        sign = (-1 if is_sine else 1, 1 if is_sine else -1) if sine else (1, 1)
        for key, factor in ((higher, sign[0]), (lower, sign[1])):
            key, factor = _normal(key, is_sine != sine, factor)
            waves[key] = waves.get(key, 0) + factor * value * _HALF
    return {key: value for key, value in waves.items() if value}


def _normal(multiples: Powers, sine: bool, factor: int) -> tuple[tuple[Powers, bool], int]:
    """The first multiple positive; sin 0 = 0."""
    first = next((k for k in multiples if k), 0)
    if first < 0:
        multiples, factor = tuple(-k for k in multiples), -factor if sine else factor
    return (multiples, sine), 0 if sine and not first else factor


# -- numbers ----------------------------------------------------------------------------------------------------------------


def is_number(e: Any) -> bool:
    """Whether it is a coefficient: a rational or a finite float of ordinary length."""
    return e.is_Rational or (e.is_Float and e._prec <= 53 and isfinite(e))


def rational(c: Number) -> Expr:
    """A coefficient in SymPy."""
    return sympy.Integer(c.numerator) if c.denominator == 1 else sympy.Rational(c.numerator, c.denominator)


def long_as_float(c: Number) -> Expr:
    """A coefficient in SymPy, a float where it is long."""
    return sympy.Float(float(c)) if max(abs(c.numerator), c.denominator) > 1000 else rational(c)


def number_of(e: Any) -> Number:
    """A coefficient, exactly."""
    if e.is_Integer:
        return int(e.p)
    return MPQ(int(e.p), int(e.q)) if e.is_Rational else MPQ(*float(e).as_integer_ratio())


def base_and_power(e: Any) -> tuple[Any, int]:
    """(b, n) of bⁿ with a whole n, (√b, n) of its root, so that √b and 1/√b cancel; (e, 1) for anything else."""
    if not e.is_Pow or not e.exp.is_Rational:
        return e, 1
    n = e.exp
    return (e.base, int(n)) if n.q == 1 else (e if n.p == 1 else e.base ** sympy.Rational(1, n.q), int(n.p))
