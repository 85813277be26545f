"""Thin obstacles in long steps: what flies straight, or nearly so, meets them, on every path and however the gap is written.

A step of a flight spans metres, an obstacle has a ten-thousandth of that. The reference samples the gap along the closed form
of the flight around the place of the obstacle alone, and brackets the first root there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy
from scipy.optimize import brentq
from sympy import Abs, Max, Min, cos, lambdify, sin, sqrt
from tests.families.family import family

import appell as ap

x, y, z, u, w = ap.coordinates("x y z u w")
X, Y, r, G = ap.parameters("X Y r G")
t = ap.t
PEG = sqrt((x - X) ** 2 + (y - Y) ** 2) - r
ROUND = {
    "root": PEG,
    "square": (x - X) ** 2 + (y - Y) ** 2 - r**2,
    "diamond": Abs(x - X) + Abs(y - Y) - r,
    "box": Max(Abs(x - X), Abs(y - Y)) - r,
    "two": Min(PEG, sqrt((x - X - 3 * r) ** 2 + (y - Y) ** 2) - r),
    "moving": sqrt((x - X - sin(t)) ** 2 + (y - Y - cos(t)) ** 2) - r,
    "exponential": sympy.exp(sympy.Rational(1, 2)) - sympy.exp(r**2 / ((x - X) ** 2 + (y - Y) ** 2) / 2),
    "angle": sympy.Piecewise((PEG, y >= Y), (PEG + (Y - y) / 2, True)),
}
"""Gaps of small obstacles at (X, Y), of the size r."""


@dataclass(frozen=True)
class Flight:
    """A gap, what is different from a straight flight of a point by the compiled pair, and the size of the obstacle."""

    gap: str
    options: dict[str, Any] = field(default_factory=dict)
    gravity: float = 0.0
    small: float = 1e-3
    unit: float = 1.0
    lanes: bool = False


FLIGHTS = (
    Flight("root"),
    Flight("root", lanes=True),
    Flight("root", gravity=1e-3, small=1e-2),
    Flight("square", {"method": "taylor"}),
    Flight("diamond", {"backend": "vm"}),
    Flight("box", small=3e-4),
    Flight("two", gravity=1e-2, lanes=True),
    Flight("moving", small=1e-2),
    Flight("exponential", small=1e-2),
    Flight("angle", {"backend": "vm"}, small=1e-2),
    Flight("root", {"method": "taylor"}, lanes=True),
    Flight("root", unit=1e-7),
    Flight("root", {"backend": "vm"}, gravity=1e-3, unit=1e5),
    Flight("square", {"step": 30.0}),
    Flight("moving", {"step": 30.0}, small=1e-2, lanes=True),
    Flight("box", {"backend": "vm", "method": "taylor"}),
)


def flights(seed: int, flight: Flight, count: int) -> tuple[dict[Any, Any], np.ndarray, np.ndarray]:
    """Parameters, times of the ends and of the first touches (NaN: none) of flights from (0, 0) with the velocity (1, 0)."""
    rng = np.random.default_rng(seed)
    D = 10 ** rng.uniform(0.5, 2, count)
    size = flight.small * D * rng.uniform(0.5, 1, count)
    drop = -flight.gravity / 2 * D**2
    place = np.array([D, drop + rng.uniform(-1.2, 1.2, count) * size])
    if flight.gap == "moving":  # where the obstacle is when it is passed
        place -= np.array([np.sin(D), np.cos(D)])
    g = lambdify((t, x, y, X, Y, r), ROUND[flight.gap], "numpy")
    first = np.full(count, np.nan)
    for k in range(count):
        at = lambda s, k=k: g(s, s, -flight.gravity / 2 * s**2, *place[:, k], size[k])
        times = np.linspace(D[k] - 6 * size[k], D[k] + 6 * size[k], 24001)
        below = np.flatnonzero(np.asarray(at(times), float) < 0)
        if len(below) and below[0]:
            first[k] = brentq(at, times[below[0] - 1], times[below[0]], xtol=1e-14)
    values = {X: place[0], Y: place[1], r: size, G: np.full(count, flight.gravity)}
    return {key: value * (1 if key is G else flight.unit) for key, value in values.items()}, 2 * D, first


def clear(flight: Flight, values: dict[Any, Any], first: np.ndarray, g: Callable[..., Any]) -> np.ndarray:
    """Flights whose fate does not hang on rounding: what is met is met by more than a millionth of its size."""
    D = values[X] / flight.unit + (np.sin(first) if flight.gap == "moving" else 0)
    size = values[r] / flight.unit
    deepest = np.full(len(size), -1.0)
    for k in range(len(size)):
        centre = first[k] if np.isfinite(first[k]) else (D[k] if flight.gap != "moving" else np.nan)
        if np.isnan(centre):
            continue
        s = np.linspace(centre - 3 * size[k], centre + 5 * size[k], 8001)
        X_, Y_ = values[X][k] / flight.unit, values[Y][k] / flight.unit
        deepest[k] = abs(np.min(g(s, s, -flight.gravity / 2 * s**2, X_, Y_, size[k]))) / size[k]
    return deepest > 1e-4


@family(count=len(FLIGHTS), sample=(0, 1))
def thin_obstacles_are_met(seed: int) -> None:
    """No obstacle is missed in silence, none is met that is not there, and impacts are when the closed form says."""
    flight = FLIGHTS[seed]
    count = 60 if flight.lanes else 3 if flight.options.get("backend") == "vm" else 15
    values, until, first = flights(seed, flight, count)
    sure = clear(flight, values, first, lambdify((t, x, y, X, Y, r), ROUND[flight.gap], "numpy"))
    size, gap = flight.unit, ROUND[flight.gap]
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, G * size * y, constraints=[ap.Unilateral(gap, "peg", 1)], name="peg")
    start = {x: 0.0, y: 0.0, x.d: size, y.d: 0.0}
    options = flight.options if "step" in flight.options else {"atol": 1e-12 * size, **flight.options}
    if flight.lanes:
        starts = {key: np.full(count, value) for key, value in start.items()}
        found = ap.simulate_many(system, starts, until, values, keep={"n": ap.reduce.impacts()}, **options).dataset
        assert (found.status == 0).all()
        met = found.n.values > 0
        assert (met[sure] == np.isfinite(first[sure])).all()
        return
    for k in np.flatnonzero(sure):
        motion = ap.simulate(system, start, until[k], {key: float(v[k]) for key, v in values.items()}, **options)
        impacts = [event.time for event in motion.impacts if event.kind == "impact"]
        assert motion.ok, motion.message
        assert bool(impacts) == bool(np.isfinite(first[k])), (k, impacts, first[k])
        if impacts:
            assert abs(impacts[0] - first[k]) <= 1e-7 * until[k]


def _discs() -> ap.System:
    """Two discs that fly past each other."""
    gap = sqrt((x - u) ** 2 + (y - w) ** 2) - r
    return ap.System([x, y, u, w], (x.d**2 + y.d**2 + u.d**2 + w.d**2) / 2, constraints=[ap.Unilateral(gap, "discs", 1)])


@family(count=12, sample=(0,))
def pairs_of_discs_collide(seed: int) -> None:
    """First collisions of two discs in straight flight: |Δr + Δv t|² = r², in C, in lanes, in Python, by Taylor's series."""
    rng, n = np.random.default_rng(seed), 8
    D, size = 10 ** rng.uniform(0.5, 2, n), 10 ** rng.uniform(-3.5, -1, n)
    offset = rng.uniform(-0.9, 0.9, n) * size * D
    start = {x: np.zeros(n), y: np.zeros(n), u: D, w: offset, x.d: np.full(n, 0.6), y.d: np.zeros(n), u.d: np.full(n, -0.4),
             w.d: np.zeros(n)}  # fmt: skip
    radius, until, system = size * D, 2 * D, _discs()
    first = D - np.sqrt(radius**2 - offset**2)
    if seed % 3 == 0:
        found = ap.simulate_many(system, start, until, {r: radius}, keep={"n": ap.reduce.impacts()}).dataset
        assert (found.n == 1).all() and (found.status == 0).all()
        return
    options = [{"backend": "vm"}, {"method": "taylor"}, {}, {"step": 5.0}][seed % 4]
    for k in range(2 if seed % 4 == 0 else n):
        motion = ap.simulate(system, {key: float(v[k]) for key, v in start.items()}, until[k], {r: float(radius[k])}, **options)
        impacts = [event.time for event in motion.impacts if event.kind == "impact"]
        assert len(impacts) == 1 and abs(impacts[0] - first[k]) <= 1e-9 * until[k]


@family(count=12, sample=(0,))
def sections_of_small_sets_are_crossed(seed: int) -> None:
    """A straight flight through a circle of a millionth of its length crosses it twice, on any of its ways to be written."""
    rng = np.random.default_rng(seed)
    D = float(rng.uniform(2, 9))
    size = D * 10 ** float(rng.uniform(-5 if seed % 2 else -7, -3))  # a square below 1e-12 of the largest counts as zero
    offset = float(rng.uniform(-0.9, 0.9)) * size
    gap = ROUND[("root", "square")[seed % 2]].subs({X: D, Y: offset, r: size})
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, name="free")
    found = ap.poincare(system, gap, {x: 0.0, y: 0.0, x.d: 1.0, y.d: 0.0}, 12.0, count=5, direction=0)
    half = np.sqrt(size**2 - offset**2)
    assert len(found) == 2 and np.abs(found.t - [D - half, D + half]).max() <= 1e-3 * size + 1e-13 * D


TABLED = (
    ("callable", {}), ("short", {"backend": "vm"}), ("table", {}), ("record", {}), ("short", {"method": "taylor"}),
    ("table", {"lanes": True}), ("callable", {"lanes": True}), ("record", {"backend": "vm"}), ("table", {"method": "radau"}),
    ("callable", {"backend": "vm"}), ("record", {"lanes": True}), ("callable", {"method": "dopri5"}),
)  # fmt: skip


@family(count=len(TABLED), sample=(1,))
def walls_moved_by_tables_are_met(seed: int) -> None:
    """What rests in space is hit by a wall, or by a peg, that data move to it and back, when the closed form says."""
    kind, options = TABLED[seed]
    rng = np.random.default_rng(seed)
    c, width, f = float(rng.uniform(3, 6)), float(rng.uniform(0.9, 1.4)), ap.prescribed("f")
    bump = lambda s: 2 - 1.5 * np.exp(-(((s - c) / width) ** 2))
    quartic = lambda s: 2 - 1.5 * (1 - ((s - c) / 6) ** 2) ** 2  # a spline of degree five is exact
    law, times = quartic if kind == "short" else bump, np.linspace(0, 10, 7 if kind == "short" else 41)
    table = (times, law(times))
    given = {"callable": law, "table": table, "short": table, "record": ap.sampled(*table, hold="cubic")}[kind]
    gap = f - y if seed % 2 else sqrt(x**2 + (y - f - 1) ** 2) - 1  # from y = 1, both are met at f = 1
    q = [y] if seed % 2 else [x, y]
    system = ap.System(q, sum(s.d**2 for s in q) / 2, constraints=[ap.Unilateral(gap, "wall", 1)], name="a wall in a table")
    first = brentq(lambda s: law(s) - 1, 0, c, xtol=1e-14)
    speed = 2 * (law(first + 1e-6) - law(first - 1e-6)) / 2e-6  # e = 1: twice that of the wall
    start = {s: float(s is y) for s in q}
    if options.get("lanes"):
        runs = {key: np.full(3, value) for key, value in start.items()}
        keep = {"end": ap.reduce.final(y), "n": ap.reduce.impacts()}
        found = ap.simulate_many(system, runs, 10.0, {f: given}, keep=keep).dataset
        ends, number = found.end.values, found.n.values
        assert (found.status == 0).all()
    else:
        motion = ap.simulate(system, start, 10.0, {f: given}, **options)
        assert motion.ok, motion.message
        ends, number = np.array([motion.final[y]]), np.array([len(motion.impacts)])
    allowed = {"callable": 1e-7, "short": 1e-7, "table": 3e-3, "record": 0.1}[kind]  # splines of degree five and three
    assert (number == 1).all() and np.abs(ends - (1 + speed * (10 - first))).max() <= allowed
