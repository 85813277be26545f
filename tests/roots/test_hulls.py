"""The hulls of few operations by which lanes pass steps far from all walls: no step leaves them."""

from __future__ import annotations

from math import comb

import numpy as np

from appell.loop.methods.runge_kutta import sketch_of
from appell.loop.methods.tableaux import dop853
from appell.loop.methods.taylor import quintic_misses

P, THETA = np.polynomial.Polynomial, np.linspace(0, 1, 2001)


def test_a_series_stays_near_the_quintic_of_its_first_powers_and_its_end():
    draw, weights = np.random.default_rng(0), np.array(quintic_misses(20))
    for _ in range(200):
        c = draw.normal(size=21) * draw.uniform(0.1, 1.2) ** np.arange(21)
        p = P(c)
        a, b, third = c[1] / 5, c[2] / 10, c[3] / 10
        points = [c[0], c[0] + a, c[0] + 2 * a + b, c[0] + 3 * (a + b) + third, p(1) - p.deriv()(1) / 5, p(1)]
        quintic = sum(comb(5, k) * THETA**k * (1 - THETA) ** (5 - k) * one for k, one in enumerate(points))
        assert np.abs(p(THETA) - quintic).max() <= weights @ np.abs(c) + 1e-12
    for k in range(6, 21):
        missed = THETA**4 * (1 - THETA) ** 2 * sum((j + 1) * THETA ** (k - 6 - j) for j in range(k - 5))
        assert 1 <= weights[k] / missed.max() <= 1.02


def test_a_step_stays_near_the_line_between_its_ends():
    """The dense output is a cubic and θ²(1 − θ)² times a polynomial; stages tell its slope within a factor of two."""
    draw, sketch = np.random.default_rng(1), sketch_of(dop853)
    assert sketch is not None
    at = np.array([0.0, 1.0, *dop853.C[list(sketch.stages)]])
    for _ in range(200):
        size = 10 ** draw.uniform(-2, 2)
        p = P(draw.normal(size=4)) + P([0, 0, 1]) * P([1, -1]) ** 2 * P(size * draw.normal(size=4))
        rise = p(1) - p(0)
        off = sketch.line(dop853) * np.abs(p.deriv()(at) - rise).max()
        assert np.abs(p(THETA) - p(0) - rise * THETA).max() <= off + 1e-12
