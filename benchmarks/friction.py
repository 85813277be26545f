"""Dry friction: stick and slip located, against codes that step over them, at equal measured error."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import appell as ap
from appell import zoo
from benchmarks.friction_peers import drake_ball, exudyn_oscillator, mujoco_ball, mujoco_oscillator
from benchmarks.impacts import clocked, loosest
from benchmarks.report import Table, ratio, seconds

Array = NDArray[np.float64]
Peer = Callable[[float, float], tuple[Array, float]]
Ours = Callable[[float], Array]

SPRING, LIMIT, SWINGS = 100.0, 2.0, 3.0


def tables(quick: bool) -> list[Table]:
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="exudyn")
    steps = (1e-2, 1e-3) if quick else (1e-2, 1e-3, 1e-4, 1e-5)
    return [_oscillator(steps), _ball(steps[:-1] if quick else steps)]


def _oscillator(steps: tuple[float, ...]) -> Table:
    """Den Hartog's free oscillator: m ẍ + k x + F sign ẋ = 0, the amplitude 2F/k less at each turn."""
    x = ap.coordinates("x")
    rubbing = ap.Friction(x.d, limit=LIMIT, name="friction")
    system = ap.System([x], x.d**2 / 2, SPRING * x**2 / 2, constraints=[rubbing], name="oscillator with friction")
    run = ap.compile(system, {}, backend="c")

    def ours(tolerance: float) -> Array:
        motion = ap.simulate(run, {x: 1.0}, SWINGS, rtol=tolerance, atol=tolerance / 100)
        return np.array([motion.final[x], motion.final[x.d]])

    peers: dict[str, Peer] = {"MuJoCo": mujoco_oscillator, "Exudyn": exudyn_oscillator}
    title = f"A mass on a spring with dry friction, {SWINGS:g} s"
    return _compared(title, ours, peers, SWINGS, swings(SWINGS), steps)


def swings(until: float) -> Array:
    """(x, ẋ) of the oscillator from half swing to half swing, each a cosine about ±F/k."""
    x, t, omega = 1.0, 0.0, SPRING**0.5
    while abs(x) > LIMIT / SPRING:
        centre = np.sign(x) * LIMIT / SPRING
        if t + np.pi / omega > until:
            angle = omega * (until - t)
            return np.array([centre + (x - centre) * np.cos(angle), -(x - centre) * omega * np.sin(angle)])
        x, t = 2 * centre - x, t + np.pi / omega
    return np.array([x, 0.0])


def _ball(steps: tuple[float, ...]) -> Table:
    """A bowling ball slides, then rolls: 2 v0/(7 μ g), then 5 v0/7."""
    example = zoo.bowling_ball()
    x, _, phi = example.system.coordinates
    run = ap.compile(example.system, example.parameters, backend="c")

    def ours(tolerance: float) -> Array:
        motion = ap.simulate(run, example.start, 3.0, rtol=tolerance, atol=tolerance / 100)
        return np.array([motion.final[s] for s in (x, x.d, phi.d)])

    rolls = 2 * 7 / (7 * 0.12 * 9.81)
    exact = np.array([12 * 49 / (49 * 0.12 * 9.81) + 5 * (3 - rolls), 5.0, 5 / 0.11])
    peers: dict[str, Peer] = {"MuJoCo": mujoco_ball, "Drake": drake_ball}
    return _compared("A bowling ball that slides, then rolls, 3 s", ours, peers, 3.0, exact, steps)


def _compared(
    title: str, ours: Ours, peers: dict[str, Peer], until: float, exact: Array, steps: tuple[float, ...]
) -> Table:
    size = np.maximum(np.abs(exact), 1.0)
    error = lambda state: float((np.abs(state - exact) / size).max())
    ours(1e-6)  # builds the loop; models of the others are built before their clock starts
    rows, records = [], []
    for name, peer in peers.items():
        for step in steps[:3] if name == "Drake" else steps:  # its last one takes half a minute
            try:
                state, spent = peer(until, step)
            except Exception as reason:  # not installed, or its solver gave up: said in the table
                rows.append((f"{name}, step {step:.0e}", type(reason).__name__, "", "", "", ""))
                break
            off = error(state)
            tolerance = loosest(lambda tol: error(ours(tol)), off)
            trials = [clocked(lambda tol=tolerance: ours(tol)) for _ in range(3)]
            mine: tuple[Any, float] = min(trials, key=lambda pair: pair[1])
            record = {"code": name, "step": step, "error": off, "seconds": spent, "rtol": tolerance,
                      "own_error": error(mine[0]), "own_seconds": mine[1]}  # fmt: skip
            records.append(record)
            rows.append((f"{name}, step {step:.0e}", f"{off:.1e}", seconds(spent), f"{record['own_error']:.1e}",
                         seconds(mine[1]), ratio(spent / mine[1])))  # fmt: skip
    return Table(
        title=title,
        columns=("code", "its error", "its CPU time", "appell's error", "appell's CPU time", "appell is faster by"),
        rows=tuple(rows),
        notes=(
            "error at the end against the closed form, relative where above 1; the others as stiff as their steps allow",
            "appell at its loosest tolerance (two a decade) whose error is not above the other's, whole simulate()",
        ),
        records=tuple(records),
    )
