"""Terms of a polynomial {powers of the atoms: coefficient}: their arithmetic, and numbers in it and in SymPy."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from math import gcd, isfinite, lcm
from operator import add
from typing import Any

import sympy
from sympy import Expr

Powers = tuple[int, ...]
Number = int | Fraction
Terms = dict[Powers, Number]


def raised(powers: Powers, i: int, by: int) -> Powers:
    """A monomial times x_i^by."""
    return (*powers[:i], powers[i] + by, *powers[i + 1 :])


def accumulate(terms: Terms, powers: Powers, c: Number) -> None:
    """terms + c × monomial, in place."""
    now = terms.get(powers)
    if now is None:
        terms[powers] = c
    elif now + c:
        terms[powers] = now + c
    else:
        del terms[powers]


def total(parts: Iterable[Terms]) -> Terms:
    """The sum."""
    out: Terms = {}
    for part in parts:
        for powers, c in part.items():
            out[powers] = out.get(powers, 0) + c
    return {powers: c for powers, c in out.items() if c}


def product(a: Terms, b: Terms) -> Terms:
    """The product, multiplied out."""
    out: Terms = {}
    for p, c in a.items():
        for q, d in b.items():
            powers = tuple(map(add, p, q))
            out[powers] = out.get(powers, 0) + c * d
    return {powers: c for powers, c in out.items() if c}


def content(numbers: Collection[Number]) -> Fraction:
    """The largest number that leaves integers; negative where all are."""
    sign = -1 if all(c.numerator < 0 for c in numbers) else 1
    return Fraction(sign * gcd(*(c.numerator for c in numbers)), lcm(*(c.denominator for c in numbers)))


def quotient(c: Number, number: Fraction) -> Number:
    """c/number, whole where it can be: arithmetic of whole numbers is quick."""
    made = c / number
    return made.numerator if made.denominator == 1 else made


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
    return Fraction(int(e.p), int(e.q)) if e.is_Rational else Fraction(float(e))


def base_and_power(e: Any) -> tuple[Any, int]:
    """(b, n) of bⁿ with a whole n; (e, 1) of anything else."""
    return (e.base, int(e.exp)) if e.is_Pow and e.exp.is_Integer else (e, 1)
