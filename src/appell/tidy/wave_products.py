"""Sums of sines and cosines as products: recovers cos a cos b sin c from its expanded form.

    Σ c_n e^{i n·θ}  =  e^{i k·θ} P(w),   w_j = e^{2iθ_j}        cos(θ₁ − θ₂) ~ w₁ + w₂,   sin(θ₁ − θ₂) ~ w₁ − w₂

A sum of only cosines has real coefficients c_n, a sum of only sines imaginary ones. A sine or cosine of one angle, or of the
sum or difference of two, is tried as a factor if P vanishes numerically at its zeros; P is divided by it exactly, and the
quotient, symmetric up to sign, is again a sum of cosines or sines.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, product
from math import comb
from operator import add
from typing import Any, NamedTuple

import sympy
from sympy import Expr

from appell.tidy.angle_sums import terms_expanded
from appell.tidy.measure import characters

MOST_WAVES = 120
"""Largest number of terms e^{i n·θ} of a sum to be factored."""
MOST_TERMS = 40
"""Largest number of expanded terms of the sum."""
MOST_ANGLES = 6
"""Largest number of angles."""

Frequencies = tuple[int, ...]
Series = dict[Frequencies, Expr]
"""n → c_n of Σ c_n e^{i n·θ}."""


def with_wave_products(expr: Any) -> Any:
    """The expression with every sum as a product of sines and cosines where that is shorter, inner sums first."""
    memo: dict[Any, Any] = {}

    def short(e: Any) -> Any:
        if e in memo or not e.args or not e.has(sympy.sin, sympy.cos) or isinstance(e, sympy.sin | sympy.cos):
            return memo.get(e, e)
        args = [short(x) for x in e.args]
        rebuilt = e if all(new is old for new, old in zip(args, e.args, strict=True)) else e.func(*args)
        memo[e] = min(rebuilt, as_wave_product(rebuilt), key=characters) if rebuilt.is_Add else rebuilt
        return memo[e]

    return short(expr)


@lru_cache(maxsize=4096)
def as_wave_product(expr: Any) -> Any:
    """The expression, a sum of products of sines and cosines with coefficients free of angles, as one product; otherwise
    unchanged."""
    if not expr.is_Add or terms_expanded(expr, MOST_TERMS) > MOST_TERMS:
        return expr
    common, terms = _common(expr)
    angles = sorted({s for e in terms.atoms(sympy.sin, sympy.cos) for s in e.args[0].free_symbols}, key=str)
    if not 0 < len(angles) <= MOST_ANGLES:
        return common * terms
    try:
        series = _series(terms, angles)
    except ValueError:
        return expr
    if not series:
        return sympy.Integer(0)
    if set(series) == {(0,) * len(angles)}:
        return common * next(iter(series.values()))
    for parity, phase in ((1, sympy.Integer(1)), (-1, sympy.I)):
        rotated = {n: phase * c for n, c in series.items()}
        if all(not c.has(sympy.I) and _same(rotated.get(tuple(-k for k in n), 0), parity * c) for n, c in rotated.items()):
            factored = _factored(rotated, angles)
            return expr if factored is None else _real(common * (factored if parity == 1 else factored / sympy.I), expr)
    return expr


def _real(expr: Any, otherwise: Any) -> Any:
    """A product without i: factors of i are removed from imaginary sums, and combine to ±1."""
    phase, factors = sympy.Integer(1), []
    for factor in sympy.Mul.make_args(expr):
        if isinstance(factor, sympy.Add) and factor.has(sympy.I):
            factor, phase = sympy.Add(*(term / sympy.I for term in factor.args)), phase * sympy.I
        factors.append(factor)
    result = sympy.Mul(phase, *factors)
    return otherwise if result.has(sympy.I) else result


def _common(expr: Any) -> tuple[Any, Any]:
    """Common factors of all terms, and the remaining sum. Powers such as xⁿ and e^x have no order, and are not compared."""
    powers = [{x: p for x, p in term.as_powers_dict().items() if p.is_Rational} for term in expr.args]
    shared = {x: min(p[x] for p in powers) for x in powers[0] if not x.is_Number and all(x in p for p in powers)}
    shared = {x: p for x, p in shared.items() if p.is_Integer and p > 0}
    common = sympy.Mul(*(x**p for x, p in shared.items()))
    return (common, sympy.Add(*(term / common for term in expr.args))) if shared else (common, expr)


def _same(a: Any, b: Any) -> bool:
    return sympy.expand(a - b) == 0


def _series(expr: Expr, angles: list[Any]) -> Series:
    """Coefficients of the expression; raises ValueError if it is not such a sum, or too long."""
    total: dict[Frequencies, list[Any]] = {}
    variables, constant = set(angles), (0,) * len(angles)
    terms = sympy.Add.make_args(sympy.expand(expr))
    for term in terms:
        numbers: list[Any] = []
        waves: GaussianSeries = {constant: (1, 0)}
        halves = 0
        for factor in sympy.Mul.make_args(term):
            base, power = factor.as_base_exp()
            if isinstance(base, sympy.sin | sympy.cos) and power.is_Integer and power > 0:
                waves, halves = _times(waves, _power(base, int(power), angles)), halves + int(power)
            elif factor.free_symbols & variables:
                raise ValueError
            else:
                numbers.append(factor)
        for n, (re, im) in waves.items():
            number = sympy.Rational(re, 2**halves) if not im else (re + sympy.I * im) / 2**halves
            total.setdefault(n, []).append(sympy.Mul(number, *numbers))
        if len(total) > MOST_WAVES:
            raise ValueError
    coefficients = {n: sympy.expand(sympy.Add(*terms)) for n, terms in total.items()}
    return {n: c for n, c in coefficients.items() if c != 0}


GaussianSeries = dict[Frequencies, tuple[int, int]]
"""n → (re, im) as integers, times a power of ½."""
UNITS = ((1, 0), (0, -1), (-1, 0), (0, 1))
"""(−i)^p."""


def _power(wave: Any, power: int, angles: list[Any]) -> GaussianSeries:
    """(e^{ia} ± e^{−ia})^p, over i^p for a sine."""
    slopes = _slopes(wave.args[0], tuple(angles))
    odd = isinstance(wave, sympy.sin)
    re, im = UNITS[power % 4] if odd else (1, 0)
    times = lambda k: comb(power, k) * (-1 if odd and k % 2 else 1)
    return {tuple(c * (power - 2 * k) for c in slopes): (times(k) * re, times(k) * im) for k in range(power + 1)}


@lru_cache(maxsize=4096)
def _slopes(angle: Any, angles: tuple[Any, ...]) -> tuple[int, ...]:
    """Integers n of the angle n·θ; raises ValueError otherwise."""
    slopes = [angle.coeff(s) for s in angles]
    if sympy.expand(angle - sympy.Add(*(c * s for c, s in zip(slopes, angles, strict=True)))) != 0:
        raise ValueError
    if not all(c.is_Integer for c in slopes):
        raise ValueError
    return tuple(map(int, slopes))


def _times(a: GaussianSeries, b: GaussianSeries) -> GaussianSeries:
    total: GaussianSeries = {}
    for (n, (x, y)), (k, (u, v)) in product(a.items(), b.items()):
        frequencies = tuple(map(add, n, k))
        re, im = total.get(frequencies, (0, 0))
        total[frequencies] = (re + x * u - y * v, im + x * v + y * u)
    return total


class Factor(NamedTuple):
    """A sine or cosine that may divide P: w_i + a w_j^b with a = ±1, b = 1, 0 for i alone; w_i w_j + a for a sum of angles."""

    i: int
    j: int | None
    a: int
    summed: bool = False

    def of(self, angles: list[Any]) -> Any:
        """The factor of P over its middle power: 2 cos of the angle, or 2i sin."""
        second = 0 if self.j is None else angles[self.j]
        angle = angles[self.i] + second if self.summed else angles[self.i] - second
        return 2 * sympy.cos(angle) if self.a == 1 else 2 * sympy.I * sympy.sin(angle)

    def root(self, w: list[complex]) -> list[complex]:
        """The point with w_i changed so that the factor vanishes."""
        second = 1 if self.j is None else w[self.j]
        return [(-self.a / second if self.summed else -self.a * second) if k == self.i else x for k, x in enumerate(w)]


def _candidates(n: int) -> Iterator[Factor]:
    for i in range(n):
        yield from (Factor(i, None, a) for a in (1, -1))
    for i, j in combinations(range(n), 2):
        yield from (Factor(i, j, a, summed) for summed in (False, True) for a in (1, -1))


def _factored(series: Series, angles: list[Any]) -> Any:
    """A real series as a product of sines and cosines; None if none divides it, or the remainder is not real."""
    lowest = tuple(map(min, zip(*series, strict=True)))
    if any((k - low) % 2 for n in series for k, low in zip(n, lowest, strict=True)):
        return None
    P: Series = {tuple((k - low) // 2 for k, low in zip(n, lowest, strict=True)): c for n, c in series.items()}
    factors, count, points = sympy.Integer(1), 0, _random_points(P)
    for factor in _candidates(len(angles)):
        while len(P) > 1 and _divides(factor, points) and (quotient := _divided(P, factor)) is not None:
            P, factors, count, points = quotient, factors * factor.of(angles), count + 1, _random_points(quotient)
    if not count:
        return None
    remainder = next(iter(P.values())) if len(P) == 1 else _as_wave(P, angles)
    return None if remainder is None else factors * remainder


def _random_points(P: Series) -> list[tuple[list[complex], dict[Frequencies, complex]]]:
    """Two random points: w, and the coefficients in numbers."""
    symbols = sorted(set().union(*(c.free_symbols for c in P.values())), key=str)
    points = []
    for k in (1, 2):
        values = {x: sympy.Float(0.3 + ((7 * i + 5 * k) % 11) / 9.7) for i, x in enumerate(symbols)}
        w = [cmath.exp(1j * (0.4 + 1.1 * k * (i + 1))) for i in range(len(next(iter(P))))]
        points.append((w, {n: complex(sympy.N(c.xreplace(values))) for n, c in P.items()}))
    return points


def _divides(factor: Factor, points: list[tuple[list[complex], dict[Frequencies, complex]]]) -> bool:
    """Whether P vanishes with a factor, at two random points."""
    for w0, numbers in points:
        w = factor.root(w0)
        total = sum(c * math.prod(x**p for x, p in zip(w, n, strict=True)) for n, c in numbers.items())
        if abs(total) > 1e-9 * sum(map(abs, numbers.values())):
            return False
    return True


def _divided(P: Series, factor: Factor) -> Series | None:
    """P over a factor, power by power of w_i; None if there is a remainder."""
    i, j = factor.i, factor.j
    top = max(n[i] for n in P)
    by_power: list[Series] = [{} for _ in range(top + 1)]
    for n, c in P.items():
        by_power[n[i]][(*n[:i], 0, *n[i + 1 :])] = c
    moved = lambda part: {(*n[:j], n[j] + 1, *n[j + 1 :]): c for n, c in part.items()} if j is not None else part
    quotient: dict[int, Series] = {}
    if factor.summed:  # (w_i w_j + a) Q = P from the lowest power: a Q_k = P_k − w_j Q_{k−1}
        for k in range(top):
            quotient[k] = _sum(by_power[k], moved(quotient.get(k - 1, {})), -1, factor.a)
        remainder = _sum(by_power[top], moved(quotient.get(top - 1, {})), -1, 1)
    else:  # (w_i + a w_j) Q = P from the highest: Q_{k−1} = P_k − a w_j Q_k
        for k in range(top, 0, -1):
            quotient[k - 1] = _sum(by_power[k], moved(quotient.get(k, {})), -factor.a, 1)
        remainder = _sum(by_power[0], moved(quotient.get(0, {})), -factor.a, 1)
    if remainder:
        return None
    return {(*n[:i], k, *n[i + 1 :]): c for k, part in quotient.items() for n, c in part.items()}


def _sum(first: Series, second: Series, sign: int, times: int) -> Series:
    """times × (first + sign × second), without zeros."""
    total = dict(first)
    for n, c in second.items():
        total[n] = total.get(n, sympy.Integer(0)) + sign * c
    scaled = {n: sympy.expand(times * c) for n, c in total.items()}
    return {n: c for n, c in scaled.items() if c != 0}


def _as_wave(terms: Series, angles: list[Any]) -> Any:
    """A polynomial in e^{2iθ}, over its middle power, as a sum of cosines, or of sines times i; None if it is neither."""
    mirror = tuple(a + b for a, b in zip(map(max, *terms), map(min, *terms), strict=True))  # n has the image mirror − n
    mirrored = {n: terms.get(tuple(h - k for h, k in zip(mirror, n, strict=True)), sympy.Integer(0)) for n in terms}
    for parity, wave in ((1, sympy.cos), (-1, lambda a: sympy.I * sympy.sin(a))):
        if all(_same(c, parity * mirrored[n]) for n, c in terms.items()):
            angle_of = {n: sympy.Add(*((2 * k - h) * s for k, h, s in zip(n, mirror, angles, strict=True))) for n in terms}
            return sympy.expand(sympy.Add(*(c * wave(angle_of[n]) for n, c in terms.items())))
    return None


__all__ = ["as_wave_product", "with_wave_products"]
