"""What it costs to look for a touch by a bound: runs with a wall that is never met against the same runs without it.

Runs are so long that the start of a run with walls, a millisecond, is no part of the ratio. Both keep the work of forces.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sympy import cos, sin, sqrt

import appell as ap
from benchmarks.measure import Disagreement
from benchmarks.report import Table, ratio, seconds

x, y, phi, psi = ap.coordinates("x y phi psi")
DOUBLE = (2 * phi.d**2 + psi.d**2 + 2 * phi.d * psi.d * cos(phi - psi)) / 2
MODELS: dict[str, tuple[Any, Any, Any, Any]] = {
    "oscillator, x + 2": ([x], x.d**2 / 2, x**2 / 2, x + 2),
    "double pendulum, sin φ + sin ψ + 1.9": ([phi, psi], DOUBLE, -9.81 * (2 * cos(phi) + cos(psi)), sin(phi) + sin(psi) + 1.9),
    "plane oscillator, a peg": ([x, y], (x.d**2 + y.d**2) / 2, x**2 / 2 + y**2, sqrt((x - 4) ** 2 + y**2) - 1),
}
ROUNDS = 9


def tables(quick: bool) -> list[Table]:
    until, rows, records = 20.0 if quick else 20_000.0, [], []
    for name, (q, T, V, gap) in MODELS.items():
        free = ap.System(q, T, V, {q[0]: -1e-30 * q[0].d}, name="free")
        start = {q[0]: 1.0, **({q[1]: 0.5} if len(q) > 1 else {})}
        runs = [ap.compile(s, {}, backend="c") for s in (free, free.replace(constraints=[ap.Unilateral(gap, "far")]))]
        ends = np.array([0.0, until])
        best = _interleaved([partial(ap.simulate, run, start, until, times=ends) for run in runs])
        records.append({"model": name, "free": best[0], "walled": best[1]})
        rows.append((name, seconds(best[0]), seconds(best[1]), ratio(best[1] / best[0])))
    return [
        Table(
            title="The cost of a wall that is never met",
            columns=("model and gap", "without", "with the wall", "ratio"),
            rows=tuple(rows),
            notes=(f"{until:,.0f} s, CPU time, the best of {ROUNDS} of each in turns; guards at the ends of steps included",),
            records=tuple(records),
        )
    ]


def _interleaved(calls: list[Callable[[], Any]]) -> list[float]:
    """The best CPU time of each, in turns, s; all must take the same steps."""
    best, ends = [np.inf] * len(calls), []
    for k in range(ROUNDS + 1):
        for i, call in enumerate(calls):
            begin = time.process_time()
            motion = call()
            if k:
                best[i] = min(best[i], time.process_time() - begin)
            ends.append(motion.q[-1])
    if np.ptp(np.array(ends), axis=0).max() > 1e-4:
        raise Disagreement("a wall that is never met changes the motion")
    return best
