"""The hulls of few operations by which lanes pass steps far from all walls: no step leaves them."""

from __future__ import annotations

from math import comb

import numpy as np

from appell.loop.methods.runge_kutta import sketch_of
from appell.loop.methods.tableaux import dop853
from appell.loop.methods.taylor import quartic_misses

P, THETA = np.polynomial.Polynomial, np.linspace(0, 1, 2001)


def test_a_series_stays_near_the_quartic_of_its_first_powers_and_its_end():
    draw, missed = np.random.default_rng(0), quartic_misses(20)
    more, steep = missed["MISSED"] * missed["MORE"], missed["STEEP"]
    weights = np.array([0.0] * 5 + [missed["MISSED"]] + [more * steep ** (k - 6) for k in range(6, 21)])
    for _ in range(200):
        c = draw.normal(size=21) * draw.uniform(0.1, 1.2) ** np.arange(21)
        p = P(c)
        a, b = c[1] / 4, c[2] / 6
        points = [c[0], c[0] + a, c[0] + 2 * a + b, p(1) - p.deriv()(1) / 4, p(1)]
        quartic = sum(comb(4, k) * THETA**k * (1 - THETA) ** (4 - k) * one for k, one in enumerate(points))
        assert np.abs(p(THETA) - quartic).max() <= weights @ np.abs(c) + 1e-12
    for k in range(5, 21):
        most = (THETA**3 * (1 - THETA) ** 2 * sum((j + 1) * THETA ** (k - 5 - j) for j in range(k - 4))).max()
        assert weights[k] >= most
        assert k > 8 or weights[k] <= 1.3 * most


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
