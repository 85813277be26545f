"""The walk of a run through the rooms of the library: which ones it visits, and how often it goes from one to another.

    python docs/walk.py

Every call of a Python function of the library is seen by the profiler of the interpreter. A room is a folder or module right
below `appell`; a change is a call, or the return from one, that leads into another room than the one before. Each run is made
once beforehand, so that what is loaded, derived and compiled once in a process is no part of its walk.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from sympy import cos, sin

import appell as ap


class Walk(NamedTuple):
    """Room → calls in it, in the order of the first visit; changes of room; calls in all."""

    rooms: Counter[str]
    changes: int
    calls: int


def walked(action: Callable[[], Any]) -> Walk:
    """The walk of one call of `action`."""
    rooms: Counter[str] = Counter()
    changes, last = 0, ""

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal changes, last
        if event not in ("call", "return"):
            return
        if event == "return":
            back = frame.f_back
            while back is not None and not _module(back).startswith("appell."):
                back = back.f_back
            if back is None:
                return
            frame = back
        module = _module(frame)
        if not module.startswith("appell."):
            return
        room = module.split(".")[1]
        changes, last = changes + (room != last), room
        rooms[room] += event == "call"

    sys.setprofile(look)
    try:
        action()
    finally:
        sys.setprofile(None)
    return Walk(rooms, changes, rooms.total())


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


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
    """Prints a table: calls, changes of room, and the rooms in the order of the first visit."""
    for name, walk in walks().items():
        rooms = ", ".join(f"{room} {count}" for room, count in walk.rooms.items())
        print(f"{name:<16} {walk.calls:>6} calls  {walk.changes:>5} changes of room  {len(walk.rooms):>2} rooms: {rooms}")


if __name__ == "__main__":
    main()
