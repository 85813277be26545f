"""Sign changes of a fast quantity between samples that nearly coincide with the grid."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sympy import Heaviside, Mod

import appell as ap
from appell.motion.crossings import crossings


@pytest.mark.parametrize("first", [0.0, 10.0, 1e3])
def test_samples_that_differ_from_the_grid_by_rounding(first):
    """Readings every 1/20 s and 200 intervals meet but for the last digit: nothing is foretold from such a pair."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        w, phase, T = rng.uniform(1, 400), rng.uniform(0, 6), rng.uniform(0.5, 3)
        times = np.unique(np.concatenate([first + np.arange(1 + int(T * 20)) / 20, first + rng.uniform(0, T, 7)]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = crossings(lambda t, w=w, phase=phase: np.sin(w * (t - first) + phase), times)
        ends = (w * (times[[0, -1]] - first) + phase) / np.pi
        wanted = first + (np.arange(np.ceil(ends[0]), np.floor(ends[1]) + 1) * np.pi - phase) / w
        np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_a_jump_at_a_break_of_the_forces_is_no_crossing():
    """The forces have breaks where the expression jumps, so that it jumps between two steps and not within one."""
    x = ap.coordinates("x")
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: Heaviside(Mod(ap.t, 0.9) - 0.2)})
    motion = ap.simulate(system, {x: 0.3}, 3.0)
    np.testing.assert_allclose(motion.crossings(Mod(ap.t, 0.9) - 0.2), [0.2, 1.1, 2.0, 2.9], atol=1e-12)
    np.testing.assert_allclose(motion.crossings(Mod(ap.t, 0.9) - 0.5), [0.5, 1.4, 2.3], atol=1e-12)
