"""Impacts: a long trajectory and ten thousand starts against SciPy's events with restarts; a ball against penalty contacts."""

from __future__ import annotations

import gc
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from sympy import cos

import appell as ap
from appell.loop.task import Task
from benchmarks.ends import Ends, ends
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


EQUAL = "appell at its loosest tolerance (two a decade) whose measured error is not above the other's; CPU time, one run each"


def clocked(call: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns and its CPU time, s: both sides use one thread, and another load on the machine does not count."""
    gc.collect()  # what others have left behind is not its work
    begin = time.process_time()
    value = call()
    return value, time.process_time() - begin


def loosest(error: Callable[[float], float], target: float) -> float:
    """The loosest tolerance, two a decade, with an error not above the target."""
    for tolerance in 10.0 ** -np.arange(4, 13.5, 0.5):
        if error(tolerance) <= target:
            return float(tolerance)
    raise Disagreement(f"no tolerance brings the error below {target:.1e}")


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

    def ours(tolerance: float) -> Array:
        motion = ap.simulate(run, {x: 1.0}, until, rtol=tolerance, atol=tolerance / 100)
        return np.array([impact.time for impact in motion.impacts])

    def scipys(tolerance: float) -> Array:
        return scipy_events(lambda t, z: (z[1], -z[0]), WALL, 1.0, np.array([1.0, 0.0]), until, tolerance)[1]

    return ours, scipys, until


def _late(times: Array, impacts: int) -> float:
    if len(times) != impacts:
        return np.inf
    return float(np.abs(times - FLIGHT * (1 + 2 * np.arange(impacts))).max())


def _one(impacts: int, theirs: float = 1e-11) -> Table:
    """SciPy once; appell at the loosest tolerance whose error over the whole run is not above SciPy's, once."""
    ours, scipys, until = _oscillator(impacts)
    times, slow = clocked(lambda: scipys(theirs))
    results = [Result("SciPy DOP853, events and restarts", theirs, _late(times, impacts), slow)]
    if not results[0].error < 1:
        raise Disagreement(f"SciPy has {len(times)} impacts, not {impacts}, or misses them by a second")
    tolerance = loosest(lambda rtol: _late(ours(rtol), impacts), results[0].error)
    times, fast = clocked(lambda: ours(tolerance))
    results.insert(0, Result("appell, whole simulate()", tolerance, _late(times, impacts), fast))
    rows = [(r.code, f"{r.tolerance:.1e}", f"{r.error:.1e}", seconds(r.seconds), seconds(r.seconds / impacts)) for r in results]
    return Table(
        title=f"One trajectory of {impacts:,} impacts: appell is {ratio(slow / fast)} faster",
        columns=("code", "tolerance", "worst impact time off by, s", "CPU time", "per impact"),
        rows=tuple(rows),
        notes=(
            f"x'' = −x above a wall, elastic, {until:,.0f} s; all impact times against their closed form",
            EQUAL,
        ),
        records=tuple(asdict(r) for r in results),
    )


# -- (b) many starts ---------------------------------------------------------------------------------------------------


def driven() -> ap.Run:
    """ẍ + h ẋ + x = F cos ωt, x >= −0.3, e = 0.9."""
    force = -DAMPING * x.d + DRIVE * cos(OMEGA * ap.t)
    wall = ap.Unilateral(x - STOP, "wall", RESTITUTION)
    return ap.compile(ap.System([x], x.d**2 / 2, x**2 / 2, {x: force}, [wall], name="driven"), {}, backend="c")


def _drive(t: float, z: Array) -> tuple[float, float]:
    return z[1], -DAMPING * z[1] - z[0] + DRIVE * math.cos(OMEGA * t)


def _starts(count: int, sample: int, periods: int, theirs: float = 1e-8) -> Table:
    run, until = driven(), periods * 2 * np.pi / OMEGA
    rng = np.random.default_rng(1)
    starts = np.stack([rng.uniform(STOP, 1.0, count), rng.uniform(-1, 1, count)], axis=1)
    few = starts[:sample]

    def ours(method: str, rtol: float, z: Array) -> Ends:
        return ends(run, Task(t0=0.0, z0=z[0], t_end=until, p=run.p, rtol=rtol, atol=rtol / 100), z, method=method)

    exact = ours("dop853", 1e-13, few).z
    off = lambda z: float(np.abs(z[:sample] - exact).max())
    loop_over = lambda: np.array([scipy_events(_drive, STOP, RESTITUTION, z, until, theirs)[0] for z in few])
    final, part = clocked(loop_over)
    if off(final) > 1e-4:
        raise Disagreement(f"final states differ by {off(final):.1e}")
    slow = Result(f"SciPy DOP853, extrapolated from {sample} starts", theirs, off(final), part * count / sample)
    results = []
    for method in ("taylor", "dop853"):
        tolerance = loosest(lambda rtol, m=method: off(ours(m, rtol, few).z), slow.error)
        found, fast = clocked(lambda m=method, rtol=tolerance: ours(m, rtol, starts))
        results.append(Result(f"appell, method='{method}', one core", tolerance, off(found.z), fast))
    results.append(slow)
    return Table(
        title=f"{count:,} starts of a driven oscillator with a wall, {periods} periods: "
        f"{ratio(slow.seconds / results[0].seconds)} faster",
        columns=("code", "tolerance", "error at the end", "CPU time", "per start", "appell is faster by"),
        rows=tuple(
            (r.code, f"{r.tolerance:.1e}", f"{r.error:.1e}", seconds(r.seconds), seconds(r.seconds / count),
             "" if r is slow else ratio(slow.seconds / r.seconds))
            for r in results
        ),
        notes=(
            f"{found.events.mean():.0f} impacts a start; errors on {sample} starts, against dop853 at 1e-13",
            "one start after another in compiled code; only where each ends is kept; no code integrates the work of the forces",
            EQUAL,
        ),
        records=tuple(asdict(r) for r in results),
    )  # fmt: skip


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
        motion, spent = clocked(lambda: ap.simulate(run, {z: 1.0}, until, rtol=1e-6, atol=1e-8))
        return np.array([motion[z][-1], motion[z.d][-1]]), spent

    ours()  # builds the loop; models of the others are built before their clock starts
    codes: list[tuple[str, Callable[[], tuple[Array, float]]]] = [("appell, whole simulate(), rtol 1e-6", ours)]
    settings = ((1e-3, 1e5), (1e-4, 1e7)) if quick else ((1e-3, 1e5), (1e-4, 1e7), (1e-5, 1e8), (1e-5, 1e9))
    for name, peer in (("MuJoCo", mujoco_ball), ("Exudyn", exudyn_ball)):
        codes += [(f"{name}, step {h:.0e}, k = {k:.0e}", lambda p=peer, h=h, k=k: p(until, h, k)) for h, k in settings]
    for name, code in codes:
        try:
            state, spent = code()
        except Exception as reason:  # not installed, or its solver gave up: said in the table
            rows.append((name, type(reason).__name__, "", ""))
            continue
        records.append({"code": name, "error": float(np.abs(state - exact).max()), "seconds": spent})
        ahead = ratio(spent / records[0]["seconds"]) if len(records) > 1 else ""
        rows.append((name, f"{records[-1]['error']:.1e}", seconds(spent), ahead))
    return Table(
        title=f"An elastic ball for {until:g} s against penalty contacts",
        columns=("code", "error at the end", "CPU time", "appell is faster by"),
        rows=tuple(rows),
        notes=(
            "soft contacts of stiffness k (N/m), no damping; error of height (m) and speed (m/s) against the closed form",
            "not at equal error: the soft contacts do not come nearer, and the flight of the ball is exact for appell's method",
        ),
        records=tuple(records),
    )


warnings.filterwarnings("ignore", category=DeprecationWarning, module="exudyn")
