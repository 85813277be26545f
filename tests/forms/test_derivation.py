"""Derivatives with a memory against SymPy's, on random expressions."""

from __future__ import annotations

import random

import pytest
import sympy
from sympy import Abs, Piecewise, Rational, atan2, cos, exp, log, sin, sqrt
from tests.forms.test_nielsen_tsenov import values_at_random

import appell as ap
from appell.forms.engine.derivation import gradient, time_derivation
from appell.jets import partial as held

x, y = ap.coordinates("x y")
m = ap.parameters("m", positive=True)
SYMBOLS = (x, y, x.d, y.d, m, ap.t)


def random_expression(rng, depth):
    if depth == 0:
        return rng.choice([*SYMBOLS, Rational(rng.randint(1, 9), 4)])
    a, b = (random_expression(rng, depth - 1) for _ in range(2))
    makers = [
        lambda: a + b, lambda: a * b, lambda: (a + b + y) ** 2, lambda: sin(a), lambda: b * cos(a), lambda: sqrt(1 + a**2),
        lambda: a / (1 + b**2), lambda: exp(sin(a)) * b, lambda: log(2 + a**2), lambda: atan2(a, 2 + b**2),
        lambda: (2 + a**2) ** b, lambda: Piecewise((a, b > 0), (a * b, True)), lambda: a * Abs(b),
    ]  # fmt: skip
    return rng.choice(makers)()


@pytest.mark.parametrize("seed", range(25))
def test_every_derivative_is_sympys(seed):
    rng = random.Random(seed)
    e = random_expression(rng, 4)
    rates = {x: y * x.d} if seed % 2 else {}
    gaps = [mine - held(e, s) for mine, s in zip(gradient(e, SYMBOLS), SYMBOLS, strict=True)]
    gaps.append(time_derivation(rates)(e) - ap.total_derivative(e, rates))
    assert max(abs(v) for v in values_at_random([sympy.sympify(gap) for gap in gaps])) < 1e-20


def test_numbers_common_to_a_sum_are_taken_out():
    """d/dt ½ m (ẋ² + ẏ²) = m (ẋ ẍ + ẏ ÿ), with nothing expanded."""
    power = time_derivation({})(m * (x.d**2 + y.d**2) / 2)
    assert power == m * (x.d * x.dd + y.d * y.dd)
    assert time_derivation({})(m * (x**2 / 3 + y**2 / 7)) == m * (2 * x * x.d / 3 + 2 * y * y.d / 7)  # no denominators


@pytest.mark.parametrize("a, b", [(3 * x, 2), (x * y, m), (x, 2 + cos(y))])
def test_a_remainder_grows_like_its_dividend_less_the_whole_multiples(a, b):
    """Between jumps, d(a mod b) = da − floor(a/b) db, and d frac(a) = da: against differences."""
    at = {x: 0.83, y: 1.21, m: 0.37}
    for expr in (sympy.Mod(a, b), sympy.frac(a), Abs(sympy.Mod(a, b) - Rational(1, 2))):
        for s, slope in zip((x, y, m), gradient(expr, (x, y, m)), strict=True):
            beside = [float(expr.xreplace({**at, s: at[s] + h})) for h in (-1e-6, 1e-6)]
            assert float(slope.xreplace(at)) == pytest.approx((beside[1] - beside[0]) / 2e-6, abs=1e-7)
