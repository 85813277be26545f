"""Random flights past pegs, pulses and regions in which a force acts, by the thousand, against closed forms on every path.

    python -m tests.families.random_events [COUNT [PATH …]] [--share k/N]        paths: lanes, c, vm, cuda (not by default)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sympy import Piecewise, lambdify
from tests.families.unseen_walls import ROUND, Flight, G, X, Y, clear, flights, r
from tests.reference.sweeps import Outcome, long_run, sweep

import appell as ap

x, y = ap.coordinates("x y")
begins, lasts, push = ap.parameters("begins lasts push", positive=True)
t = ap.t

Made = Callable[[ap.System, dict[Any, Any], Any, dict[Any, Any]], dict[str, np.ndarray]]


def in_lanes(
    system: ap.System, start: dict[Any, Any], until: Any, values: dict[Any, Any], backend: str = "auto"
) -> dict[str, np.ndarray]:
    """Ends of all runs by the ensemble."""
    keep = {"n": ap.reduce.impacts()} if system.unilateral else "final"
    found = ap.simulate_many(system, start, until, values, keep=keep, backend=backend)
    names = ("n",) if system.unilateral else ("x", "x_d")
    return {**{name: np.asarray(found[name]) for name in names}, "ok": np.asarray(found["status"]) == 0}


def one_by_one(backend: str) -> Made:
    """Ends of all runs, each by itself."""

    def made(system: ap.System, start: dict[Any, Any], until: Any, values: dict[Any, Any]) -> dict[str, np.ndarray]:
        rows = []
        for k in range(len(until)):
            at = lambda table, k=k: {key: float(value[k]) for key, value in table.items()}
            motion = ap.simulate(system, at(start), float(until[k]), at(values), backend=backend)
            hits = sum(impact.kind == "impact" for impact in motion.impacts)
            rows.append((hits, motion[x][-1], motion[x.d][-1], motion.ok))
        n, q, v, ok = np.array(rows, dtype=float).T
        return {"n": n, "x": q, "x_d": v, "ok": ok > 0}

    return made


PATHS: dict[str, Made] = {
    "lanes": in_lanes, "c": one_by_one("c"), "vm": one_by_one("vm"), "cuda": partial(in_lanes, backend="cuda"),
}  # fmt: skip
EVERYWHERE = ("lanes", "c", "vm")
"""Paths that need no GPU."""


def missed_flights(count: int, made: Made, seed: int) -> int:
    """Pegs that are met or passed against the closed form."""
    flight = Flight("root")
    values, until, first = flights(seed, flight, count)
    sure = clear(flight, values, first, lambdify((t, x, y, X, Y, r), ROUND["root"], "numpy"))
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, constraints=[ap.Unilateral(ROUND["root"], "peg", 1)], name="peg")
    start = {key: np.full(count, value) for key, value in {x: 0.0, y: 0.0, x.d: 1.0, y.d: 0.0}.items()}
    found = made(system, start, until, values)
    return int(np.sum(~found["ok"] | (sure & ((found["n"] > 0) != np.isfinite(first)))))


def missed_pulses(count: int, made: Made, seed: int) -> int:
    """Pushes after which x or ẋ is not that of the closed form."""
    draw = np.random.default_rng(seed)
    start, length, size = (10 ** draw.uniform(low, high, count) for low, high in ((-1, 3), (-4, 1), (-2, 4)))
    ends = start + length + draw.uniform(0.1, 5, count)
    force = Piecewise((push, (t >= begins) & (t < begins + lasts)), (0, True))
    system = ap.System([x], x.d**2 / 2, forces={x: force})
    found = made(system, {x: np.zeros(count)}, ends, {begins: start, lasts: length, push: size})
    v = size * length
    q = v * length / 2 + v * (ends - start - length)
    scale = np.abs(q) + v + 1e-7 * size * start * (1 + ends - start)
    return int(np.sum(~found["ok"] | (np.abs(found["x"] - q) > 2e-8 * scale) | (np.abs(found["x_d"] - v) > 2e-8 * scale)))


def missed_jumps(count: int, made: Made, seed: int) -> int:
    """Regions after which v² is not v₀² + 2 F w."""
    draw = np.random.default_rng(seed)
    far, wide = 10 ** draw.uniform(-1, 2, count), 10 ** draw.uniform(-4, 0, count)
    size = draw.uniform(0.01, 3, count) / wide
    force = Piecewise((push, (x > begins) & (x < begins + lasts)), (0, True))
    system = ap.System([x], x.d**2 / 2, forces={x: force})
    found = made(
        system, {x.d: np.ones(count), x: np.zeros(count)}, 3 * (far + wide), {begins: far, lasts: wide, push: size}
    )
    wanted = 1 + 2 * size * wide
    return int(np.sum(~found["ok"] | (np.abs(found["x_d"] ** 2 - wanted) > 2e-8 * (1 + size * (wide + 1e-7 * far)))))


KINDS = {"flights": missed_flights, "pulses": missed_pulses, "jumps": missed_jumps}


TOGETHER = 500
"""Events of one kind on one path that are drawn together, with a seed of their own."""


def member(k: int, paths: tuple[str, ...], size: int) -> Outcome:
    """Batch number k: paths and kinds in turn."""
    (path, kind), seed = list(product(paths, KINDS))[k % (len(paths) * len(KINDS))], 1 + k // (len(paths) * len(KINDS))
    missed = KINDS[kind](size, PATHS[path], seed)
    return Outcome(members=size, wrong=missed, said=f"{path}: {size} {kind} of seed {seed}, {missed} missed")


def main() -> int:
    parser = long_run(__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000, help="events of each kind on each path")
    parser.add_argument("paths", nargs="*", choices=[*PATHS, []])
    given = parser.parse_args()
    paths, size = tuple(given.paths) or EVERYWHERE, min(TOGETHER, given.count)
    return sweep(partial(member, paths=paths, size=size), -(-given.count // size) * len(paths) * len(KINDS), given)


if __name__ == "__main__":
    sys.exit(main())
