"""The walk of a run through the rooms of the library: which ones it visits, and how often it goes from one to another.

    python docs/walk.py

Every call of a Python function of the library is seen by the profiler of the interpreter. A room is a folder or module right
below `appell`; a change is a call, or the return from one, that leads into another room than the one before. A climb is a call
into a room above the caller's in the layers of `pyproject.toml`: a hook, a callback or a delegate, for no import leads there.
Each run is made once beforehand, so that what is loaded, derived and compiled once in a process is no part of its walk.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from sympy import cos, sin

import appell as ap


class Walk(NamedTuple):
    """Room → calls in it, in the order of the first visit; changes of room; climbs, (from, to) → calls; calls in all."""

    rooms: Counter[str]
    changes: int
    climbs: Counter[tuple[str, str]]
    calls: int


def heights() -> dict[str, int]:
    """Room → its layer, 0 the highest."""
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (c["layers"] for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    return {room: k for k, layer in enumerate(layers) for room in re.findall(r"\w+", layer)}


def walked(action: Callable[[], Any]) -> Walk:
    """The walk of one call of `action`."""
    rooms: Counter[str] = Counter()
    climbs: Counter[tuple[str, str]] = Counter()
    layer, changes, last = heights(), 0, ""

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal changes, last
        if event not in ("call", "return"):
            return
        caller = _room(frame.f_back)
        room = _room(frame, itself=True) if event == "call" else caller
        if not room:
            return
        changes, last = changes + (room != last), room
        if event == "call":
            rooms[room] += 1
            climbs[caller, room] += bool(caller) and layer[room] < layer[caller]

    sys.setprofile(look)
    try:
        action()
    finally:
        sys.setprofile(None)
    return Walk(rooms, changes, +climbs, rooms.total())


def _room(frame: FrameType | None, *, itself: bool = False) -> str:
    """The room of a frame, or of the nearest one of the library that it came from; "" for none."""
    while frame is not None:
        package, *rest = str(frame.f_globals.get("__name__", "")).split(".")
        if package == "appell" and rest:
            return rest[0]
        frame = None if itself else frame.f_back
    return ""


def smooth() -> Callable[[], Any]:
    """A skate on an inclined plane: one nonholonomic constraint."""
    x, y, phi = ap.coordinates("x y phi")
    l, g = ap.parameters("l g", positive=True)
    blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
    skate = ap.System([x, y, phi], x.d**2 + y.d**2 + l**2 / 4 * phi.d**2, 2 * g * y, constraints=[blade])
    return lambda: ap.simulate(skate, {x.d: 1, phi.d: 1}, 1.0, parameters={l: 1, g: 9.81})


def impact() -> Callable[[], Any]:
    """A ball that hits the floor once."""
    x = ap.coordinates("x")
    floor = ap.Unilateral(x, name="floor", restitution=0.5)
    ball = ap.System([x], x.d**2 / 2, 10 * x, constraints=[floor])
    return lambda: ap.simulate(ball, {x: 1.0}, 0.6)


def stick_slip() -> Callable[[], Any]:
    """A block on a belt, held by a spring: it sticks, slides and sticks again."""
    x = ap.coordinates("x")
    table = ap.Unilateral(y := ap.coordinates("y"), name="table", restitution=0)
    rub = ap.Friction(x.d - 1, normal=table, coefficient=0.3, static=0.5, name="belt")
    block = ap.System([x, y], (x.d**2 + y.d**2) / 2, 2 * x**2 + 9.81 * y, constraints=[table, rub])
    return lambda: ap.simulate(block, {x.d: 1.0}, 8.0)


def ensemble() -> Callable[[], Any]:
    """A thousand pendulums."""
    phi = ap.coordinates("phi")
    pendulum = ap.System([phi], phi.d**2 / 2, -9.81 * cos(phi))
    starts = np.linspace(0.1, 3.0, 1000)
    return lambda: ap.simulate_many(pendulum, {phi: starts}, 1.0, step=0.01)


RUNS = {"one smooth run": smooth, "one impact": impact, "one stick–slip": stick_slip, "one ensemble": ensemble}


def walks() -> dict[str, Walk]:
    """The walk of each run, warm."""
    found = {}
    for name, made in RUNS.items():
        action = made()
        action()
        found[name] = walked(action)
    return found


def main() -> None:
    """Prints a table: calls, changes of room, the rooms in the order of the first visit, and calls that lead upwards."""
    for name, walk in walks().items():
        rooms = ", ".join(f"{room} {count}" for room, count in walk.rooms.items())
        print(f"{name:<16} {walk.calls:>6} calls  {walk.changes:>5} changes of room  {len(walk.rooms):>2} rooms: {rooms}")
        up = ", ".join(f"{low} → {high} {count}" for (low, high), count in walk.climbs.items())
        print(f"{'':<16} {walk.climbs.total():>6} climbs: {up or 'none'}")


if __name__ == "__main__":
    main()
