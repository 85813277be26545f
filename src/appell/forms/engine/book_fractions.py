"""Quotients in ordinary notation: like terms collected, signs before the fraction, no divisor repeated in the numerator."""

from __future__ import annotations

from typing import Any

import sympy

from appell import tidy


def like_terms_joined(expr: Any) -> Any:
    """−2 m + m as −m: terms that became equal when a denominator was shortened."""
    alike = lambda e: len({term.as_coeff_Mul()[1] for term in e.args}) < len(e.args)
    table = {e: sympy.Add(*e.args) for e in tidy.parts(expr) if e.is_Add and alike(e)}
    return expr.xreplace(table) if table else expr


def divided_by_terms(expr: Any) -> Any:
    """a/tan θ + b for (a + b tan θ)/tan θ, whose value at π/2 is ∞/∞: sums are divided term by term by the trigonometric
    functions in the denominator."""
    args: list[Any] = [divided_by_terms(e) for e in expr.args]
    if not expr.is_Mul:
        return expr.func(*args) if args else expr
    waves = [e for e in args if e.is_Pow and e.exp.is_negative and isinstance(e.base, sympy.sin | sympy.cos | sympy.tan)]
    sums = [e for e in args if e.is_Add and any(e.has(wave.base) for wave in waves)]
    if not sums:
        return sympy.Mul(*args)
    factor = sympy.Mul(*(e for e in args if e not in waves and e is not sums[0]))
    return factor * sympy.Add(*(sympy.Mul(term, *waves) for term in sums[0].args))


def upright(expr: Any) -> Any:
    """−a/(b + c) for a/(−b − c): a denominator with only negative terms passes its sign to the product."""
    if expr.is_Add:
        terms = [upright(term) for term in expr.args]
        return expr if all(new is old for new, old in zip(terms, expr.args, strict=True)) else sympy.Add(*terms)
    divisors = [x for x in expr.args if x.is_Pow and x.base.is_Add and x.exp.is_Integer and x.exp < 0] if expr.is_Mul else []
    flipped = {x: (-x.base) ** x.exp for x in divisors if all(_negative(term) for term in x.base.args)}
    sign = (-1) ** sum(int(x.exp) % 2 for x in flipped)
    return sympy.Mul(sign, *(flipped.get(x, x) for x in expr.args)) if flipped else expr


def _negative(term: Any) -> bool:
    number = term.args[0] if term.is_Mul else term
    return bool(number.is_Number and number < 0)
