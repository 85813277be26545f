"""Contact: impacts while a contact is held, changes of mode, a million impacts, discs in a box from 5 to 50."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from sympy import sin, sqrt

import appell as ap
from benchmarks.impacts import clocked, scipy_events
from benchmarks.measure import Disagreement, agree
from benchmarks.report import Table, ratio, seconds

Array = NDArray[np.float64]
x, y = ap.coordinates("x y")
WALL, FLIGHT = 0.5, float(np.arccos(0.5))  # from x = 1 at rest to the wall


def tables(quick: bool) -> list[Table]:
    return [
        _in_contact(30 if quick else 3_000),
        _on_a_table(10 if quick else 1_000),
        _many((100,) if quick else (10_000, 100_000, 1_000_000)),
        _discs((3,) if quick else (5, 10, 20, 30, 40, 50), 10 if quick else 2_000),
    ]


# -- impacts in contact ------------------------------------------------------------------------------------------------


def _beads() -> dict[str, tuple[ap.Run, dict[Any, float]]]:
    """A bead on a spring against a wall: in free flight, on a floor that holds it, and landing on the floor once a period."""
    wall, floor = ap.Unilateral(x - WALL, "wall"), ap.Unilateral(y, "floor", 0)
    T, spring = (x.d**2 + y.d**2) / 2, x**2 / 2
    free = ap.System([x, y], T, spring, constraints=[wall], name="free")
    held = ap.System([x, y], T, spring + 10 * y, constraints=[wall, floor], name="held")
    lifted = ap.System([x, y], T, spring, {y: 10 * (x - 0.9)}, [wall, floor], name="lifted")
    return {
        "in free flight": (ap.compile(free, {}, backend="c"), {x: 1.0, y: 1.0}),
        "on a floor": (ap.compile(held, {}, backend="c"), {x: 1.0}),
        "on a floor that it leaves and meets again between two impacts": (ap.compile(lifted, {}, backend="c"), {x: 1.0}),
    }


def _in_contact(impacts: int, tolerance: float = 1e-9) -> Table:
    until = 2 * impacts * FLIGHT
    wanted = FLIGHT * (1 + 2 * np.arange(impacts))
    rhs = lambda t, z: (z[1], -z[0])
    (_, times), slow = clocked(lambda: scipy_events(rhs, WALL, 1.0, np.array([1.0, 0.0]), until, tolerance))
    agree("SciPy's impacts", times, wanted, 1e-3)
    rows, records = [], []
    for name, (run, start) in _beads().items():
        call = lambda run=run, start=start: ap.simulate(run, start, until, rtol=tolerance, atol=tolerance / 100)
        call()  # builds the loop
        motion, fast = clocked(call)
        on_wall = [i for i in motion.impacts if i.constraint == "wall" and i.kind == "impact"]
        changes = max(len(motion.contacts) - 1, 0)
        if "leaves" not in name:
            agree(f"impacts {name}", [i.time for i in on_wall], wanted, 1e-6)
        each = fast / len(on_wall)
        ahead = ratio(slow / impacts / each)
        rows.append((f"appell, {name}", f"{len(on_wall):,}", f"{changes:,}", seconds(fast), seconds(each), ahead))
        records.append({"code": name, "impacts": len(on_wall), "changes": changes, "seconds": fast})
    rows.append(("SciPy DOP853, events and restarts", f"{impacts:,}", "0", seconds(slow), seconds(slow / impacts), ""))
    records.append({"code": "SciPy", "impacts": impacts, "changes": 0, "seconds": slow})
    cost = records[1]["seconds"] / records[0]["seconds"]
    return Table(
        title=f"Impacts in contact: {ratio(cost)} the time of impacts in free flight",
        columns=("code", "impacts", "changes of mode", "CPU time", "per impact", "appell is faster by"),
        rows=tuple(rows),
        notes=(
            f"x'' = −x above a wall, elastic, rtol {tolerance:.0e} on both sides; impact times against their closed form",
            "whole simulate(), the doubts about a motion included; SciPy has one coordinate and no floor",
        ),
        records=tuple(records),
    )


# -- changes of mode ---------------------------------------------------------------------------------------------------

AMPLITUDE, FREQUENCY, GRAVITY = 0.02, 25.0, 9.81


def _scipy_table(periods: int, tolerance: float) -> tuple[list[float], list[float]]:
    """Times at which a bead leaves the table and lands on it (e = 0), by `solve_ivp` from one to the next."""
    table = lambda t: AMPLITUDE * np.sin(FREQUENCY * t)
    load = lambda t, z: GRAVITY - AMPLITUDE * FREQUENCY**2 * np.sin(FREQUENCY * t)
    gap = lambda t, z: z[0] - table(t)
    for event in (load, gap):
        event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
    ride, fly = (lambda t, z: (z[1], load(t, z) - GRAVITY)), (lambda t, z: (z[1], -GRAVITY))
    t, z, until, times = 0.0, np.array([0.0, AMPLITUDE * FREQUENCY]), 2 * np.pi * periods / FREQUENCY, ([], [])
    while t < until:
        riding = len(times[0]) == len(times[1])
        flow, event = (ride, load) if riding else (fly, gap)
        part = solve_ivp(flow, (t, until), z, method="DOP853", events=event, rtol=tolerance, atol=tolerance / 100)
        t = float(part.t[-1])
        if part.status == 1:
            z = np.array([table(t), AMPLITUDE * FREQUENCY * np.cos(FREQUENCY * t)])
            times[not riding].append(t)
    return times


def _on_a_table(periods: int, tolerance: float = 1e-9) -> Table:
    """A bead on a vibrating table leaves it and lands on it once a period."""
    face = ap.Unilateral(y - AMPLITUDE * sin(FREQUENCY * ap.t), "table", 0)
    run = ap.compile(ap.System([y], y.d**2 / 2, GRAVITY * y, constraints=[face], name="bead"), {}, backend="c")
    until = 2 * np.pi * periods / FREQUENCY
    call = lambda: ap.simulate(run, {y.d: AMPLITUDE * FREQUENCY}, until, rtol=tolerance, atol=tolerance / 100)
    call()  # builds the loop
    motion, fast = clocked(call)
    (leaves, lands), slow = clocked(lambda: _scipy_table(periods, tolerance))
    for kind, theirs in (("leaving", leaves), ("landing", lands)):
        ours = [i.time for i in motion.impacts if i.kind == kind][-len(theirs) :]
        agree(kind, ours, theirs, 1e-6)
    changes = len(leaves) + len(lands)
    rows = [
        ("appell", f"{changes:,}", seconds(fast), seconds(fast / changes), ratio(slow / fast)),
        ("SciPy DOP853, events and restarts", f"{changes:,}", seconds(slow), seconds(slow / changes), ""),
    ]
    return Table(
        title=f"A bead that leaves a vibrating table and lands on it {periods:,} times: {ratio(slow / fast)} SciPy's speed",
        columns=("code", "changes of mode", "CPU time", "per change", "appell is faster by"),
        rows=tuple(rows),
        notes=(
            f"y >= A sin ωt, e = 0, rtol {tolerance:.0e} on both sides; times of leaving and landing compared",
            "whole simulate(), the steps between two changes and the doubts about the motion included",
        ),
        records=tuple({"code": name, "changes": changes, "seconds": s} for name, s in (("appell", fast), ("SciPy", slow))),
    )


# -- a million impacts -------------------------------------------------------------------------------------------------


def _many(counts: tuple[int, ...]) -> Table:
    system = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[ap.Unilateral(x - WALL, "wall")], name="oscillator")
    run = ap.compile(system, {}, backend="c")
    call = lambda n: ap.simulate(run, {x: 1.0}, 2 * n * FLIGHT, rtol=1e-9, atol=1e-11, times=[0.0, 2 * n * FLIGHT])
    call(10)
    rows, records = [], []
    for n in counts:
        motion, spent = clocked(lambda n=n: call(n))
        if len(motion.impacts) != n:
            raise Disagreement(f"{len(motion.impacts)} impacts, not {n}")
        off = abs(motion.impacts[-1].time - FLIGHT * (2 * n - 1))
        rows.append((f"{n:,}", seconds(spent), seconds(spent / n), f"{off:.1e}"))
        records.append({"impacts": n, "seconds": spent, "off": off})
    growth = records[-1]["seconds"] / records[-1]["impacts"] / (records[0]["seconds"] / records[0]["impacts"])
    return Table(
        title=f"{counts[-1]:,} impacts: {ratio(growth)} the time of one of {counts[0]:,}",
        columns=("impacts", "CPU time", "per impact", "last impact off by, s"),
        rows=tuple(rows),
        notes=("x'' = −x above a wall, elastic, rtol 1e-9; whole simulate(), impacts as a list included",),
        records=tuple(records),
    )


# -- discs in a box ----------------------------------------------------------------------------------------------------


def discs(n: int) -> tuple[ap.System, Array, Array]:
    """n elastic discs of radius 1/5 in a square box, with positions and velocities (n, 2): 4 n + n (n − 1)/2 faces."""
    side, radius = int(np.ceil(np.sqrt(n))), 0.2
    q = [ap.coordinates(f"x{i} y{i}") for i in range(n)]
    faces = [
        ap.Unilateral(f, f"{name}{i}.{s}")
        for i, place in enumerate(q)
        for s, name in zip(place, "xy", strict=True)
        for name, f in ((f"low {name}", s - radius), (f"high {name}", side - radius - s))
    ]
    for (i, (a, b)), (j, (c, d)) in itertools.combinations(enumerate(q), 2):
        faces.append(ap.Unilateral(sqrt((a - c) ** 2 + (b - d) ** 2) - 2 * radius, f"{i}.{j}"))
    T = sum(s.d**2 for place in q for s in place) / 2
    system = ap.System([s for place in q for s in place], T, constraints=faces, name=f"{n} discs")
    rng = np.random.default_rng(0)
    r = np.array([[0.5 + i % side, 0.5 + i // side] for i in range(n)]) + rng.uniform(-0.05, 0.05, (n, 2))
    return system, r, rng.normal(size=(n, 2))


def _scipy_discs(r: Array, v: Array, impacts: int) -> list[float]:
    """Times of the first impacts by `solve_ivp` with an event for each face, looked at after each step: they must be short."""
    n, radius = len(r), 0.2
    side, half = int(np.ceil(np.sqrt(n))), 2 * n
    events: list[Callable[[float, Array], float]] = []
    for k in range(half):
        events += [lambda t, z, k=k: z[k] - radius, lambda t, z, k=k: side - radius - z[k]]
    pairs = list(itertools.combinations(range(n), 2))
    for i, j in pairs:
        events.append(lambda t, z, i=i, j=j: np.hypot(z[2 * i] - z[2 * j], z[2 * i + 1] - z[2 * j + 1]) - 2 * radius)
    for event in events:
        event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
    rhs = lambda t, z: np.concatenate([z[half:], np.zeros(half)])
    t, z, times = 0.0, np.concatenate([r.ravel(), v.ravel()]), []
    while len(times) < impacts:
        part = solve_ivp(rhs, (t, t + 10), z, method="DOP853", events=events, rtol=1e-9, atol=1e-11, max_step=0.02)
        t, z = float(part.t[-1]), part.y[:, -1].copy()
        face = next(k for k, found in enumerate(part.t_events) if len(found))
        if face < 2 * half:
            z[half + face // 2] *= -1
        else:
            i, j = pairs[face - 2 * half]
            a, b = slice(half + 2 * i, half + 2 * i + 2), slice(half + 2 * j, half + 2 * j + 2)
            n_ij = z[2 * i : 2 * i + 2] - z[2 * j : 2 * j + 2]
            n_ij /= np.linalg.norm(n_ij)
            rate = (z[a] - z[b]) @ n_ij
            z[a], z[b] = z[a] - rate * n_ij, z[b] + rate * n_ij
        times.append(t)
    return times


def _discs(sizes: tuple[int, ...], impacts: int) -> Table:
    rows, records = [], []
    for n in sizes:
        (system, r, v), building = clocked(lambda n=n: discs(n))
        start = {s: a for q, place in zip(system.coordinates, r.ravel().tolist(), strict=True) for s, a in ((q, place),)}
        start |= {q.d: rate for q, rate in zip(system.coordinates, v.ravel().tolist(), strict=True)}
        run, compiling = clocked(lambda system=system: ap.compile(system, {}, backend="c"))
        first, looping = clocked(lambda run=run, start=start: ap.simulate(run, start, 2.0))
        until = 2.0 * impacts / max(len(first.impacts), 1)
        motion, spent = clocked(lambda run=run, start=start, until=until: ap.simulate(run, start, until))
        few = 6 if n <= 5 else 3
        theirs, slow = clocked(lambda r=r, v=v, few=few: _scipy_discs(r, v, few))
        agree(f"impacts of {n} discs", [i.time for i in motion.impacts[:few]], theirs, 1e-7)
        each, faces = spent / len(motion.impacts), len(system.unilateral)
        rows.append((
            str(n), f"{faces:,}", seconds(building), seconds(compiling + looping), f"{len(motion.impacts):,}", seconds(each),
            seconds(each / faces), ratio(slow / few / each),
        ))  # fmt: skip
        records.append({
            "discs": n, "faces": faces, "building": building, "compiling": compiling + looping,
            "impacts": len(motion.impacts), "seconds": spent, "scipy": slow / few,
        })  # fmt: skip
    return Table(
        title=f"Discs in a box: {sizes[-1]} of them have {records[-1]['faces']:,} faces",
        columns=(
            "discs", "faces", "System()", "compile, first run", "impacts", "per impact", "per impact and face", "faster by",
        ),
        rows=tuple(rows),
        notes=(
            "elastic discs of radius 1/5, one a unit of area, rtol 1e-9; CPU time without that of the C compiler",
            "the last column: SciPy's DOP853 with an event for each face, steps of at most 0.02 s, restarts; the same impacts",
        ),
        records=tuple(records),
    )  # fmt: skip
