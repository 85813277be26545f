"""Bounds of solutions of linear equations contain the solutions; guards that read them are isolated wherever they fall."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from appell.roots.enclosure import Interval
from appell.roots.solved_guards import SolvedGuards, isolating_times, solution_over


@pytest.mark.parametrize("seed", range(8))
def test_solutions_and_their_rates_stay_inside(seed):
    rng, n = np.random.default_rng(seed), 4
    size = 10.0 ** rng.uniform(-6, 6, n)  # no number has a unit: rows and unknowns of any size
    units = np.concatenate([np.outer(size, 1 / size[::-1]).ravel(), size])
    middle = np.concatenate([(np.eye(n) + 0.3 * rng.normal(size=(n, n))).ravel(), rng.normal(size=n)]) * units
    rate, off = rng.normal(size=n * n + n) * units, 0.02 * np.abs(rng.normal(size=n * n + n)) * units
    values, rates = Interval((middle - off)[:, None], (middle + off)[:, None]), Interval(rate[:, None], rate[:, None])
    y, yd = solution_over(values, rates, n)
    assert np.isfinite([*y, *yd]).all()
    for _ in range(100):
        at = middle + off * rng.uniform(-1, 1, len(off))
        K, b = at[: n * n].reshape(n, n), at[n * n :]
        x = np.linalg.solve(K, b)
        xd = np.linalg.solve(K, rate[n * n :] - rate[: n * n].reshape(n, n) @ x)
        assert (y.lo[:, 0] <= x).all() and (x <= y.hi[:, 0]).all()
        assert (yd.lo[:, 0] <= xd).all() and (xd <= yd.hi[:, 0]).all()


def test_singular_equations_have_no_bound():
    values = Interval(np.array([-1.0, 1.0])[:, None], np.array([1.0, 1.0])[:, None])
    y, _ = solution_over(values, Interval(0 * values.lo, 0 * values.hi), 1)
    assert np.isinf(y.lo).all() and np.isinf(y.hi).all()


@pytest.mark.parametrize("width", [1e-1, 1e-3, 1e-6])
def test_a_short_fall_is_isolated(width):
    """2 y = 1 − 3 exp(−((t − t₀)/w)²): y falls below zero for an instant, in a step without any other trace of it."""
    t, z, p, y = (ca.SX.sym(name, n) for name, n in (("t", 1), ("z", 1), ("p", 2), ("y", 1)))
    pulse = ca.exp(-(((t - p[0]) / p[1]) ** 2))
    guards = SolvedGuards.of(t, z, p, ca.SX(2), 1 + 0 * z - 3 * pulse, y, y, 1)
    c, one, none = np.ones((1, 1, 1)), np.ones(1), np.zeros(1)
    times = isolating_times(guards, c, none, one, np.array([0.37, width]), none, np.full((1, 1), 1e-12))
    values = 0.5 - 1.5 * np.exp(-(((times - 0.37) / width) ** 2))
    edge = width * np.sqrt(np.log(3.0))
    first, last = np.flatnonzero(values < 0)[[0, -1]]
    assert times[first - 1] <= 0.37 - edge <= times[first] and times[last] <= 0.37 + edge
