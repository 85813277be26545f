"""The laboratory: a bifurcation diagram and a plane of starts against SciPy's events with restarts, at equal error; a chart in
two parameters. BifurcationKit.jl and AUTO-07p are in no registry of Python packages (PyCoBi needs an AUTO-07p that is there),
and are not compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import cos

import appell as ap
from benchmarks.impacts import DAMPING, DRIVE, EQUAL, OMEGA, RESTITUTION, STOP, Result, clocked, driven, loosest, scipy_events
from benchmarks.measure import Disagreement
from benchmarks.report import Table, ratio, seconds

Array = NDArray[np.float64]
THEIRS = 1e-8


def tables(quick: bool) -> list[Table]:
    return [
        _diagram(20 if quick else 1000, 20 if quick else 400, 10 if quick else 100, 2 if quick else 8),
        _starts(50 if quick else 10_000, 10 if quick else 200, 2 if quick else 8),
        _chart(10 if quick else 320, 20 if quick else 60),
    ]


def _chart(side: int, skip: int) -> Table:
    """The period of the motion in each cell of a plane of two parameters, drive and restitution, on one core."""
    x = ap.coordinates("x")
    drive, e = ap.parameters("F e", positive=True)
    wall = ap.Unilateral(x - STOP, "wall", e)
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -DAMPING * x.d + drive * cos(OMEGA * ap.t)}, [wall], name="chart")
    T = 2 * np.pi / OMEGA
    times = T * np.arange(skip, skip + 9)

    def periods(forces: Array, rebounds: Array) -> NDArray[np.intp]:
        given = {drive: np.repeat(forces, len(rebounds)), e: np.tile(rebounds, len(forces))}
        how = {"threads": 1, "method": "taylor", "rtol": 1e-6, "atol": 1e-8}
        many = ap.simulate_many(system, {x: 0.5}, times[-1], given, keep=times, **how)
        z = np.stack([many.dataset.x.values, many.dataset.x_d.values], axis=-1)
        back = np.abs(z[:, 1:] - z[:, :1]).max(axis=-1) < 1e-3
        return np.where(back.any(axis=1), back.argmax(axis=1) + 1, 0)

    forces, rebounds = np.linspace(0.5, 2.0, side), np.linspace(0.3, 0.95, side)
    periods(forces[:2], rebounds[:2])  # compiled
    found, spent = clocked(lambda: periods(forces, rebounds))
    count, told = side**2, int((found > 0).sum())
    return Table(
        title=f"A chart of {count:,} cells in two parameters: {60 * count / spent:,.3g} cells a minute on one core",
        columns=("cells", "periods each", "CPU time", "cells a minute", "with a period up to 8"),
        rows=((f"{count:,}", f"{skip + 8}", seconds(spent), f"{60 * count / spent:,.3g}", f"{told / count:.0%}"),),
        notes=(f"x'' + {DAMPING} x' + x = F cos {OMEGA:g} t, x >= {STOP}; F 0.5 … 2, e 0.3 … 0.95; rtol 1e-6, compiled before",
               "BifurcationKit.jl and AUTO-07p are in no registry of Python packages: not compared"),
        records=({"cells": count, "seconds": spent},),
    )  # fmt: skip


def _diagram(values: int, skip: int, keep: int, sample: int) -> Table:
    """Late states of the driven oscillator with a wall over ω, the public call as a whole."""
    x = ap.coordinates("x")
    w = ap.parameters("omega", positive=True)
    wall = ap.Unilateral(x - STOP, "wall", RESTITUTION)
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -DAMPING * x.d + DRIVE * cos(w * ap.t)}, [wall], name="driven")
    omegas = np.linspace(2.6, 3.5, values)  # from four points to two and one: no chaos, so that an error means something
    chosen = np.arange(0, values, max(1, values // sample))[:sample]
    few = omegas[chosen]
    run = ap.compile(system, {w: float(omegas[0])}, backend="c")
    ours = lambda over, method, rtol: ap.bifurcation_diagram(
        run, {w: over}, skip=skip, keep=keep, start={x: 0.5}, method=method, rtol=rtol, atol=rtol / 100, threads=1
    ).z[:, -1]  # fmt: skip

    def scipys() -> Array:
        found = []
        for omega in few:
            rhs = lambda t, z, o=omega: (z[1], -DAMPING * z[1] - z[0] + DRIVE * math.cos(o * t))
            until = (skip + keep) * 2 * np.pi / omega
            found.append(scipy_events(rhs, STOP, RESTITUTION, np.array([0.5, 0.0]), until, THEIRS)[0])
        return np.array(found)

    exact = ours(few, "dop853", 1e-13)
    title = f"A bifurcation diagram of {values:,} values × {skip + keep:,} periods"
    return _compared(title, values, chosen, exact, scipys, lambda m, r: ours(few, m, r), lambda m, r: ours(omegas, m, r),
                     "the whole ap.bifurcation_diagram, compiled before")  # fmt: skip


def _starts(count: int, periods: int, sample: int) -> Table:
    """Ends of many starts, as `ap.basin` asks for them."""
    run, until = driven(), periods * 2 * np.pi / OMEGA
    rng = np.random.default_rng(1)
    starts = np.stack([rng.uniform(STOP, 1.0, count), rng.uniform(-1, 1, count)], axis=1)

    def ours(z: Array, method: str, rtol: float) -> Array:
        ends = ap.simulate_many(run, z, until=until, method=method, rtol=rtol, atol=rtol / 100, threads=1).dataset
        return np.stack([ends.x.values, ends.x_d.values], axis=1)

    chosen = np.arange(sample)
    few = starts[chosen]
    drive = lambda t, z: (z[1], -DAMPING * z[1] - z[0] + DRIVE * math.cos(OMEGA * t))
    scipys = lambda: np.array([scipy_events(drive, STOP, RESTITUTION, z, until, THEIRS)[0] for z in few])
    title = f"A plane of {count:,} starts, {periods} periods each"
    return _compared(title, count, chosen, ours(few, "dop853", 1e-13), scipys, lambda m, r: ours(few, m, r),
                     lambda m, r: ours(starts, m, r), "the whole ap.simulate_many, as ap.basin asks for it")  # fmt: skip


def _compared(
    title: str, count: int, chosen: NDArray[np.intp], exact: Array, scipys: Callable[[], Array], few: Any, all_: Any, how: str
) -> Table:  # fmt: skip
    """SciPy on a sample; both our methods at the loosest tolerance that is as exact, on everything."""
    off, sample = lambda z: float(np.abs(z - exact).max()), len(chosen)
    final, spent = clocked(scipys)
    if off(final) > 1e-4:
        raise Disagreement(f"final states differ by {off(final):.1e}")
    slow = Result(f"SciPy DOP853, extrapolated from {sample}", THEIRS, off(final), spent * count / sample)
    results = []
    for method in ("taylor", "dop853"):
        tolerance = loosest(lambda rtol, m=method: off(few(m, rtol)), slow.error)
        all_(method, tolerance)  # compiled
        found, fast = clocked(lambda m=method, rtol=tolerance: all_(m, rtol))
        results.append(Result(f"appell, method='{method}', one core", tolerance, off(found[chosen]), fast))
    best = min(r.seconds for r in results)
    results.append(slow)
    return Table(
        title=f"{title}: {ratio(slow.seconds / best)} faster",
        columns=("code", "tolerance", "error at the end", "CPU time", "trajectories a second", "appell is faster by"),
        rows=tuple(
            (r.code, f"{r.tolerance:.1e}", f"{r.error:.1e}", seconds(r.seconds), f"{count / r.seconds:,.3g}",
             "" if r is slow else ratio(slow.seconds / r.seconds))
            for r in results
        ),
        notes=(f"x'' + {DAMPING} x' + x = {DRIVE:g} cos ωt, x >= {STOP}, e = {RESTITUTION}; errors on {sample}, against dop853"
               f" at 1e-13; {how}", EQUAL),
        records=tuple(asdict(r) for r in results),
    )  # fmt: skip
