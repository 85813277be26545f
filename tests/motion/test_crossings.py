"""Sign changes of a fast quantity between samples that nearly coincide with the grid."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

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
