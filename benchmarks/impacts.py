"""Impacts: one long trajectory and ten thousand starts against SciPy's events with restarts; a ball against penalty contacts."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from sympy import cos

import appell as ap
from appell.simulate.loop_py import Task
from appell.simulate.loops import Prepared, prepare
from benchmarks.measure import Disagreement
from benchmarks.penalty import exudyn_ball, mujoco_ball
from benchmarks.report import Table, ratio, seconds

Array = NDArray[np.float64]
WALL, FLIGHT = 0.5, float(np.arccos(0.5))  # from x = 1 at rest to the wall
PERIODS, OMEGA, DRIVE, DAMPING, STOP, RESTITUTION = 200, 2.0, 1.0, 0.1, -0.3, 0.9
x = ap.coordinates("x")


def tables(quick: bool) -> list[Table]:
    return [
        _one(40 if quick else 10_000),
        _starts(100 if quick else 10_000, 2 if quick else 20, 10 if quick else PERIODS),
        _ball(1.0 if quick else 4.0, quick),
    ]


# -- SciPy: terminal events and restarts -------------------------------------------------------------------------------


def scipy_events(rhs: Callable, wall: float, e: float, z: Array, until: float, tolerance: float) -> tuple[Array, Array]:
    """Final state and impact times of one coordinate with z[0] >= wall, by `solve_ivp` from impact to impact."""

    def hit(t: float, z: Array) -> float:
        return z[0] - wall

    hit.terminal, hit.direction = True, -1  # type: ignore[attr-defined]
    t, times = 0.0, []
    while t < until:
        part = solve_ivp(rhs, (t, until), z, method="DOP853", events=hit, rtol=tolerance, atol=tolerance / 100)
        t, z = float(part.t[-1]), part.y[:, -1].copy()
        if part.status == 1:
            z = np.array([wall, -e * z[1]])
            times.append(t)
    return z, np.array(times)


# -- (a) one trajectory ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """One code: its tolerance, its largest error, seconds."""

    code: str
    tolerance: float
    error: float
    seconds: float


def _oscillator(impacts: int) -> tuple[Callable, Callable, float]:
    """ẍ = −x, x >= 1/2, e = 1, from rest at 1: impact k is at (2k + 1) arccos ½. (ours, SciPy's, end) by tolerance."""
    system = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[ap.Unilateral(x - WALL, "wall")], name="oscillator")
    run = ap.compile(system, {}, backend="c")
    until = 2 * impacts * FLIGHT

    def ours(tolerance: float, share: float = 1.0) -> tuple[Array, float]:
        motion = ap.simulate(run, {x: 1.0}, until * share, rtol=tolerance, atol=tolerance / 100)
        return np.array([impact.time for impact in motion.impacts]), motion.statistics["seconds"]

    def scipys(tolerance: float, share: float = 1.0) -> tuple[Array, float]:
        start = time.perf_counter()
        times = scipy_events(lambda t, z: (z[1], -z[0]), WALL, 1.0, np.array([1.0, 0.0]), until * share, tolerance)[1]
        return times, time.perf_counter() - start

    return ours, scipys, until


def _late(times: Array) -> float:
    return float(np.abs(times - FLIGHT * (1 + 2 * np.arange(len(times)))).max(initial=0.0))


def _settled(code: Callable, share: float, target: float) -> float:
    """The loosest tolerance whose error over a share of the run, extrapolated to all of it, is below the target."""
    for digits in np.arange(5.0, 13.1, 0.5):
        if _late(code(10.0**-digits, share)[0]) < share * target:
            return 10.0**-digits
    raise Disagreement(f"no tolerance brings the impact times within {target:.0e}")


def _one(impacts: int, target: float = 1e-6) -> Table:
    ours, scipys, until = _oscillator(impacts)
    results = []
    for name, code in (("appell", ours), ("SciPy DOP853, events and restarts", scipys)):
        tolerance = _settled(code, min(1.0, 40 / impacts), target)
        times, spent = code(tolerance)
        spent = min(spent, *(code(tolerance)[1] for _ in range(2))) if code is ours else spent
        if len(times) != impacts:
            raise Disagreement(f"{name} has {len(times)} impacts, not {impacts}")
        results.append(Result(name, tolerance, _late(times), spent))
    fast, slow = results
    rows = [(r.code, f"{r.tolerance:.1e}", f"{r.error:.1e}", seconds(r.seconds), seconds(r.seconds / impacts)) for r in results]
    return Table(
        title=f"One trajectory of {impacts:,} impacts: appell is {ratio(slow.seconds / fast.seconds)} faster",
        columns=("code", "tolerance", "latest impact off by, s", "time", "per impact"),
        rows=tuple(rows),
        notes=(
            f"x'' = −x above a wall, elastic, {until:,.0f} s; impact times against their closed form",
            "each code at its loosest tolerance (two a decade) that keeps a first part below the target",
        ),
        records=tuple(asdict(r) for r in results),
    )


# -- (b) many starts ---------------------------------------------------------------------------------------------------


def driven() -> tuple[ap.Run, Prepared]:
    """ẍ + h ẋ + x = F cos ωt, x >= −0.3, e = 0.9."""
    force = -DAMPING * x.d + DRIVE * cos(OMEGA * ap.t)
    wall = ap.Unilateral(x - STOP, "wall", RESTITUTION)
    run = ap.compile(ap.System([x], x.d**2 / 2, x**2 / 2, {x: force}, [wall], name="driven"), {}, backend="c")
    return run, prepare(run, None, "dop853", "raise")


def _drive(t: float, z: Array) -> tuple[float, float]:
    return z[1], -DAMPING * z[1] - z[0] + DRIVE * math.cos(OMEGA * t)


def _starts(count: int, sample: int, periods: int, theirs: float = 1e-8) -> Table:
    run, (flow, loop) = driven()
    until = periods * 2 * np.pi / OMEGA
    rng = np.random.default_rng(1)
    starts = np.zeros((count, flow.nz))
    starts[:, 0], starts[:, 1] = rng.uniform(STOP, 1.0, count), rng.uniform(-1, 1, count)
    ends = lambda rtol, z: loop.ends(  # type: ignore[attr-defined]
        Task(t0=0.0, z0=starts[0], t_end=until, p=run.p, rtol=rtol, atol=rtol / 100), z
    )
    few, exact = starts[:sample], ends(1e-13, starts[:sample]).z[:, :2]
    begin = time.perf_counter()
    final = np.array([scipy_events(_drive, STOP, RESTITUTION, z[:2], until, theirs)[0] for z in few])
    slow = (time.perf_counter() - begin) * count / sample
    off = lambda z: float(np.abs(z[:sample, :2] - exact).max())
    ours = next(rtol for rtol in 10.0 ** -np.arange(4, 12.5, 0.5) if off(ends(rtol, few).z) <= off(final))
    begin = time.perf_counter()
    found = ends(ours, starts)
    fast = time.perf_counter() - begin
    if off(final) > 1e-4:
        raise Disagreement(f"final states differ by {off(final):.1e}")
    results = [
        Result("appell, compiled, one core", ours, off(found.z), fast),
        Result(f"SciPy DOP853, extrapolated from {sample} starts", theirs, off(final), slow),
    ]
    return Table(
        title=f"{count:,} starts of a driven oscillator with a wall, {periods} periods: {ratio(slow / fast)} faster",
        columns=("code", "tolerance", "error at the end", "time", "per start"),
        rows=tuple(
            (r.code, f"{r.tolerance:.1e}", f"{r.error:.1e}", seconds(r.seconds), seconds(r.seconds / count)) for r in results
        ),
        notes=(
            f"{found.events.mean():.0f} impacts a start; errors on {sample} starts; appell at its loosest tolerance (two a decade)"
            " whose error is not above SciPy's",
        ),
        records=tuple(asdict(r) for r in results),
    )


# -- (c) penalty contacts ----------------------------------------------------------------------------------------------


def _ball(until: float, quick: bool) -> Table:
    """An elastic ball from 1 m, against what codes with soft contacts reach."""
    z = ap.coordinates("z")
    system = ap.System([z], z.d**2 / 2, 9.81 * z, constraints=[ap.Unilateral(z, "floor")], name="ball")
    run = ap.compile(system, {}, backend="c")
    first = np.sqrt(2 / 9.81)
    phase = (until + first) % (2 * first) - first
    exact = np.array([1 - 9.81 * phase**2 / 2, -9.81 * phase])
    rows, records = [], []

    def ours() -> tuple[Array, float]:
        motion = ap.simulate(run, {z: 1.0}, until, rtol=1e-6, atol=1e-8)
        return np.array([motion[z][-1], motion[z.d][-1]]), motion.statistics["seconds"]

    codes: list[tuple[str, Callable[[], tuple[Array, float]]]] = [("appell, rtol 1e-6", ours)] * 3
    settings = ((1e-3, 1e5), (1e-4, 1e7)) if quick else ((1e-3, 1e5), (1e-4, 1e7), (1e-5, 1e8), (1e-5, 1e9))
    for name, peer in (("MuJoCo", mujoco_ball), ("Exudyn", exudyn_ball)):
        codes += [(f"{name}, step {h:.0e}, k = {k:.0e}", lambda p=peer, h=h, k=k: p(until, h, k)) for h, k in settings]
    best: dict[str, tuple[float, float]] = {}
    for name, code in codes:
        try:
            state, spent = code()
        except Exception as reason:
            rows.append((name, type(reason).__name__, "", ""))
            continue
        best[name] = min(best.get(name, (np.inf, np.inf)), (float(np.abs(state - exact).max()), spent), key=lambda r: r[1])
    for name, (error, spent) in best.items():
        ahead = "" if name.startswith("appell") else ratio(spent / next(iter(best.values()))[1])
        rows.insert(len(records), (name, f"{error:.1e}", seconds(spent), ahead))
        records.append({"code": name, "error": error, "seconds": spent})
    return Table(
        title=f"An elastic ball for {until:g} s against penalty contacts",
        columns=("code", "error at the end", "time", "appell is faster by"),
        rows=tuple(rows),
        notes=("soft contacts of stiffness k (N/m) without damping; error of height (m) and speed (m/s) against the closed form",),
        records=tuple(records),
    )


warnings.filterwarnings("ignore", category=DeprecationWarning, module="exudyn")
