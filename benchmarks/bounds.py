"""What it costs to look for a touch by a bound: runs with a wall that is never met against the same runs without it, alone and
in lanes, and what a bounce costs in steps.

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
LANES = 512
LANE_ROUNDS = 6
LANE_SECONDS = {"dop853": 2_000.0, "taylor": 10_000.0}
"""A run in lanes, s; a tenth of it for the double pendulum, whose steps cost more."""


def _pair(name: str) -> tuple[list[ap.System], dict[Any, float]]:
    """The system without and with its wall, and a start."""
    q, T, V, gap = MODELS[name]
    free = ap.System(q, T, V, {q[0]: -1e-30 * q[0].d}, name="free")
    start = {q[0]: 1.0, **({q[1]: 0.5} if len(q) > 1 else {})}
    return [free, free.replace(constraints=[ap.Unilateral(gap, "far")])], start


def tables(quick: bool) -> list[Table]:
    return [_never_met(quick), _in_lanes(quick), _bounces(quick)]


def _never_met(quick: bool) -> Table:
    until, rows, records = 20.0 if quick else 20_000.0, [], []
    for name in MODELS:
        systems, start = _pair(name)
        runs = [ap.compile(system, {}, backend="c") for system in systems]
        ends = np.array([0.0, until])
        motions, best = _interleaved([partial(ap.simulate, run, start, until, times=ends) for run in runs], ROUNDS)
        _same([motion.q[-1] for motion in motions])
        records.append({"model": name, "free": best[0], "walled": best[1]})
        rows.append((name, seconds(best[0]), seconds(best[1]), ratio(best[1] / best[0])))
    return Table(
        title="The cost of a wall that is never met",
        columns=("model and gap", "without", "with the wall", "ratio"),
        rows=tuple(rows),
        notes=(f"{until:,.0f} s, CPU time, the best of {ROUNDS} of each in turns; guards at the ends of steps included",),
        records=tuple(records),
    )


def _in_lanes(quick: bool) -> Table:
    rows, records = [], []
    for name in MODELS:
        for method, long in LANE_SECONDS.items():
            systems, start = _pair(name)
            until = 2.0 if quick else long / 10 if phi in systems[0].coordinates else long
            starts = {key: value * np.linspace(0.9, 1.0, LANES) for key, value in start.items()}
            keep = {"end": ap.reduce.final(systems[0].coordinates[0])}
            options: dict[str, Any] = {"keep": keep, "method": method, "threads": 1}
            calls = [partial(ap.simulate_many, system, starts, until, {}, **options) for system in systems]
            runs, best = _interleaved(calls, LANE_ROUNDS)
            if any((run.dataset.status != 0).any() for run in runs):
                raise Disagreement("a wall that is never met ends runs")
            records.append({"model": name, "method": method, "seconds": until, "free": best[0], "walled": best[1]})
            rows.append((name, method, f"{until:,.0f} s", seconds(best[0]), seconds(best[1]), f"{best[1] / best[0]:.2f} ×"))
    return Table(
        title="The same in lanes",
        columns=("model and gap", "method", "a run", "without", "with the wall", "ratio"),
        rows=tuple(rows),
        notes=(f"{LANES} runs in one thread, CPU time, the best of {LANE_ROUNDS} of each in turns",),
        records=tuple(records),
    )


def _bounces(quick: bool) -> Table:
    """Elastic bounces of an oscillator and of a falling ball, and what one costs in steps of the same motion without a wall."""
    rows, records = [], []
    oscillator, ball = MODELS["oscillator, x + 2"][:3], ([y], y.d**2 / 2, 9.81 * y)
    for name, (q, T, V), gap, start in (
        ("oscillator, x + 1/2", oscillator, x + 0.5, {x: 1.0}),
        ("falling ball, a bounce in each step", ball, y, {y: 1.0}),
    ):
        free = ap.System(q, T, V, {q[0]: -1e-30 * q[0].d}, name="free")
        walled = free.replace(constraints=[ap.Unilateral(gap, "wall", 1)])
        until = 5.0 if quick else 5_000.0
        runs = [ap.compile(system, {}, backend="c") for system in (free, walled)]
        options = {"times": np.array([0.0, until]), "step": 0.05}
        calls = [partial(ap.simulate, runs[0], start, until, **options)]
        calls += [partial(ap.simulate, runs[1], start, until, times=options["times"])]
        motions, best = _interleaved(calls, ROUNDS)
        step = best[0] / motions[0].statistics["steps"]
        bounces, steps = len(motions[1].impacts), motions[1].statistics["steps"]
        cost = (best[1] - steps * step) / bounces / step
        records.append({"model": name, "bounces": bounces, "steps": steps, "walled": best[1], "in_steps": cost})
        rows.append((name, f"{bounces:,}", f"{steps:,}", seconds(best[1]), f"{cost:.1f}"))
    return Table(
        title="What a bounce costs",
        columns=("model and gap", "bounces", "steps", "the run", "a bounce, in steps without walls"),
        rows=tuple(rows),
        notes=(f"CPU time, the best of {ROUNDS}: found, taken again up to the wall, reflected, begun anew, recorded",),
        records=tuple(records),
    )


def _interleaved(calls: list[Callable[[], Any]], rounds: int) -> tuple[list[Any], list[float]]:
    """The last result and the best CPU time of each, in turns, s; the first round is not counted."""
    best, results = [np.inf] * len(calls), [None] * len(calls)
    for k in range(rounds + 1):
        for i, call in enumerate(calls):
            begin = time.process_time()
            results[i] = call()
            if k:
                best[i] = min(best[i], time.process_time() - begin)
    return results, best


def _same(ends: list[Any]) -> None:
    if np.ptp(np.array(ends), axis=0).max() > 1e-4:
        raise Disagreement("a wall that is never met changes the motion")
