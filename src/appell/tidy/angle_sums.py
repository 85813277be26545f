"""Sines and cosines of sums and multiples of angles in terms of those of the angles, and the number of terms of an expression
after that."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from typing import Any

import sympy

from appell.tidy.sums import Sum, Term, as_factor, is_single, like_terms_joined, multiplied, raised_term, wave

TRIGONOMETRIC = (sympy.sin, sympy.cos, sympy.tan, sympy.cot)


@lru_cache(maxsize=4096)
def opened_wave(e: Any) -> Sum:
    """A sine or cosine of a sum or multiple of angles in terms of those of the angles; anything else unchanged."""
    if e.is_Add or (isinstance(e, sympy.sin | sympy.cos) and is_single(e.args[0])):
        return Sum.of(e)
    s, c = _single(e.args[0])
    if isinstance(e, sympy.sin | sympy.cos):
        return Sum(s if isinstance(e, sympy.sin) else c)
    numerator, denominator = (s, c) if isinstance(e, sympy.tan) else (c, s)
    return Sum([multiplied(as_factor(numerator), raised_term(as_factor(denominator), -1))])


def _single(angle: Any) -> tuple[list[Term], list[Term]]:
    """(sin, cos) of a sum of integer multiples of angles in terms of those of the angles."""
    s: list[Term] = []
    c: list[Term] = [(1, {})]
    for term in angle.args if angle.is_Add else (angle,):
        n, a = term.as_coeff_Mul()
        if not n.is_Integer or abs(n) > 4:
            n, a = sympy.Integer(1), term
        sign, sine, cosine = (1 if n > 0 else -1), Sum.of(wave(sympy.sin, a)).terms, Sum.of(wave(sympy.cos, a)).terms
        for _ in range(abs(int(n))):  # sin(x ± a) = sin x cos a ± cos x sin a
            s, c = (
                _sum_of_products((s, cosine, 1), (c, sine, sign)),
                _sum_of_products((c, cosine, 1), (s, sine, -sign)),
            )
    return s, c


def _sum_of_products(*products: tuple[Sequence[Term], Sequence[Term], int]) -> list[Term]:
    terms = [multiplied((sign * c, x), y) for xs, ys, sign in products for c, x in xs for y in ys]
    return like_terms_joined(terms)


def terms_expanded(expr: Any, limit: int, single: bool = False) -> int:
    """The number of terms of the expanded expression, without collecting like terms; counting stops above `limit`.

    `single` as in `Polynomial.of`.
    """
    if expr.is_Add or expr.is_Mul:
        count = 0 if expr.is_Add else 1
        for x in expr.args:
            n = terms_expanded(x, limit, single)
            count = count + n if expr.is_Add else count * n
            if count > limit:
                break
        return count
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 1:
        return comb(terms_expanded(expr.base, limit, single) + int(expr.exp) - 1, int(expr.exp))
    if single and isinstance(expr, TRIGONOMETRIC):
        return len(opened_wave(expr).terms)
    return 1
