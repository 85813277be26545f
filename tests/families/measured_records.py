"""Measured records: kinks and jumps at every sample, of random spacing, length, scale and hold, on every path."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm
from tests.families.family import family

import appell as ap

x = ap.coordinates("x")
k, c, m = ap.parameters("k c m", positive=True)
f = ap.prescribed("f")
oscillator = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: f - c * x.d}, name="oscillator")

PATHS = (("c", "dop853"), ("c", "dopri5"), ("vm", "dop853"), ("c", "taylor"), ("lanes", "auto"))


def propagated(times: np.ndarray, values: np.ndarray, hold: str, z: np.ndarray, given: dict) -> tuple[np.ndarray, float]:
    """The state at the end, and the largest size on the way, by the exponential of each piece."""
    from scipy.interpolate import CubicSpline

    rows = {"zero": values[None, :-1], "linear": np.array([values[:-1], np.diff(values) / np.diff(times)])}
    found = CubicSpline(times, values).c[::-1] if hold == "cubic" else rows[hold]
    d, size = len(found), np.abs(z).max()
    A = np.zeros((2 + d, 2 + d))
    A[:2, :3] = [[0, 1, 0], [-given[k] / given[m], -given[c] / given[m], 1 / given[m]]]
    A[2:, 2:] = np.eye(d, k=1)
    for h, row in zip(np.diff(times), found.T, strict=True):
        z = (expm(A * h) @ np.concatenate([z, row * np.array([1.0, 1.0, 2.0, 6.0])[:d]]))[:2]
        size = max(size, np.abs(z).max())
    return z, float(size)


@family(count=30, sample=(0, 7))
def noise_through_an_oscillator(seed: int) -> None:
    """The motion under a noisy record is that of the exact propagation; member 0 is longer than what tables allowed."""
    draw = np.random.default_rng(seed)
    hold = ("linear", "zero", "cubic")[seed % 3]
    samples = 401 if seed == 0 else int(draw.integers(2 if hold != "cubic" else 4, 300))
    scale, begin = 10 ** draw.uniform(-3, 2), draw.choice([0.0, -5.0, 1e3])
    gaps = np.full(samples - 1, scale / samples) if seed % 2 else scale * draw.dirichlet(np.full(samples - 1, 5.0))
    times = begin + np.concatenate([[0.0], np.cumsum(gaps)])
    values = 10 ** draw.uniform(-3, 3) * draw.standard_normal(samples)
    given = {m: 1.3, k: 1.3 * (draw.uniform(1, 20) / scale) ** 2, c: draw.uniform(0, 1) / scale}
    start = np.array([1e-3, 0.0])
    end, size = propagated(times, values, hold, start, given)
    backend, method = PATHS[seed % len(PATHS)]
    given |= {f: ap.sampled(times, values, hold=hold)}
    span = {"until": times[-1], "since": times[0]}
    if backend == "lanes":
        many = ap.simulate_many(oscillator, {x: [1e-3, 0.0]}, **span, parameters=given)
        found = np.array([many["x"].values[0], many["x_d"].values[0]])
        assert many.attrs["path"] == "lanes" and many.ok
    else:
        motion = ap.simulate(oscillator, {x: 1e-3}, **span, parameters=given, backend=backend, method=method)
        found = np.array([motion[x][-1], motion[x.d][-1]])
        assert motion.ok, motion.message
    # a time of 1e3 s has 1e-13 of its digits left in a step of a record of milliseconds
    loose = 1e-7 + 1e-12 * abs(begin) / (scale / samples)
    assert np.abs(found - end).max() <= loose * size, (found, end, size)
