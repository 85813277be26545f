"""Runs of stiff methods: within their tolerance, or doubted; against the matrix exponential."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import expm
from sympy import sin
from tests.families.family import family

import appell as ap

MOUNTS = [(10.0, 1e4, 1.0), (1e3, 1e3, 1.0), (1e4, 1e3, 1e-2), (1e3, 1e4, 1.0), (1e5, 1e6, 1.0), (100.0, 200.0, 1.0)]
"""Stiffness N/m, damping N s/m, mass kg of overdamped mounts."""


@family(sample=(0, 2))
def overdamped_mounts(seed: int) -> None:
    """m ẍ + c ẋ + k x = k sin 3t or 0, struck at the start: an error above 2000 rtol does not come with `ok`."""
    (k, c, m), forced, method = MOUNTS[seed % 6], seed in (0, 3, 4, 7, 11), ("idas", "cvodes")[seed // 6]
    x = ap.coordinates("x")
    system = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: -c * x.d + (k * sin(3 * ap.t) if forced else 0)})
    times, rtol = np.linspace(0, 20, 21), 1e-6
    # (x, ẋ, sin 3t, cos 3t)
    A = np.array([[0, 1, 0, 0], [-k / m, -c / m, forced * k / m, 0], [0, 0, 0, 3], [0, 0, -3, 0]])
    exact = np.array([(expm(A * s) @ [0, 1, 0, 1])[0] for s in times])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, {x.d: 1.0}, 20.0, method=method, rtol=rtol, times=times)
    off = np.abs(motion[x] - exact).max() / np.abs(exact).max()
    assert motion.status == 0 and (off < 2000 * rtol or not motion.ok), (off, motion.doubts)
    if not motion.ok:
        assert "two runs of" in motion.doubts[0]


@family(sample=(0, 7))
def radau_keeps_its_tolerance(seed: int) -> None:
    """Chains of masses with dampers of very different strength, against the matrix exponential, at rtol from 1e-4 to 1e-9."""
    rng = np.random.default_rng(seed)
    n, rtol = 1 + seed % 5, 10.0 ** -(4 + seed % 6)
    q = ap.coordinates([f"q{i}" for i in range(n)])
    q = q if isinstance(q, tuple) else (q,)
    m, k, c = 10.0 ** rng.uniform(-2, 1, n), 10.0 ** rng.uniform(0, 3, n), 10.0 ** rng.uniform(2, 5, n)
    ends = [(q[0], q[0].d), *((q[i] - q[i - 1], q[i].d - q[i - 1].d) for i in range(1, n))]
    force = dict.fromkeys(q, 0)
    for i, (_, speed) in enumerate(ends):
        force[q[i]] -= c[i] * speed
        if i:
            force[q[i - 1]] += c[i] * speed
    system = ap.System(q, sum(a * x.d**2 for a, x in zip(m, q, strict=True)) / 2,
                       sum(a * way**2 for a, (way, _) in zip(k, ends, strict=True)) / 2, force)  # fmt: skip
    B = np.eye(n) - np.eye(n, k=-1)  # extensions
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-(B.T * k) @ B / m[:, None], -(B.T * c) @ B / m[:, None]]])
    start = rng.uniform(-1, 1, 2 * n)
    times = np.linspace(0, 5, 6)
    exact = np.array([(expm(A * s) @ start)[:n] for s in times])
    begin = dict(zip((*q, *(x.d for x in q)), start, strict=True))
    backend = ("auto", "vm")[seed % 4 == 3]
    motion = ap.simulate(system, begin, 5.0, method="radau", rtol=rtol, atol=1e-3 * rtol, times=times, backend=backend)
    off = np.abs(np.array([motion[x] for x in q]).T - exact).max()
    assert motion.ok and off < 100 * rtol and motion.statistics["steps"] < 3000, (off / rtol, motion.statistics, motion.doubts)
