"""The same machine with friction in other units of mass, length and time: the same motion, modes, impacts and notes.

The scales are parameters of one system, so that its derivation and its compiled code are shared: q = L q', t = T t', energies
times M L²/T², distances times L, slips times L/T, limits of friction times M L/T².
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sympy import cos, sin, sympify
from tests.families.family import family

import appell as ap

M, L, T = SCALES = ap.parameters("mass_unit length_unit time_unit", positive=True)


@dataclass(frozen=True)
class Machine:
    """Coordinates and which of them are lengths, energies, start and end in units of 1, and `made`: units → constraints."""

    coordinates: Sequence[Any]
    lengths: Sequence[Any]
    kinetic: Any
    potential: Any
    made: Callable[[Callable[[Any, Any], Any]], list[Any]]
    start: dict[Any, float]
    until: float

    @property
    def sizes(self) -> Any:
        """The symbol of the unit of each coordinate, or 1."""
        return [L if q in self.lengths else sympify(1) for q in self.coordinates]

    @property
    def system(self) -> ap.System:
        """The machine in units that are parameters."""
        sizes = list(zip(self.coordinates, self.sizes, strict=True))
        here = {q: q / size for q, size in sizes} | {q.d: q.d * T / size for q, size in sizes} | {ap.t: ap.t / T}
        in_units = lambda e, unit: unit * sympify(e).xreplace(here)
        energy = M * L**2 / T**2
        return ap.System(
            self.coordinates, in_units(self.kinetic, energy), in_units(self.potential, energy), constraints=self.made(in_units)
        )


SPEED, FORCE = L / T, M * L / T**2


def belt() -> Machine:
    """A block on a belt, held by a spring: stick and slip."""
    x, y = ap.coordinates("x y")

    def made(u):
        ground = ap.Constraint(u(y, L), name="belt")
        return [ground, ap.Friction(u(x.d - 0.2, SPEED), normal=ground, coefficient=0.2, static=0.4, name="friction")]

    return Machine([x, y], [x, y], (x.d**2 + y.d**2) / 2, 5 * x**2 + 9.81 * y, made, {x.d: 0.2}, 12.0)


def block(restitution: float) -> Machine:
    """A block that falls on two corners and comes to rest on both, where its reactions are not unique."""
    x, y, turn = ap.coordinates("x y turn")

    def made(u):
        found = []
        for k, (a, b) in enumerate([(-0.5, -0.3), (0.5, -0.3)]):
            along, up = x + a * cos(turn) - b * sin(turn), y + a * sin(turn) + b * cos(turn)
            floor = ap.Unilateral(u(up, L), name=f"floor {k}", restitution=restitution)
            rub = ap.Friction(u(ap.total_derivative(along), SPEED), normal=floor, coefficient=0.3, name=f"rub {k}")
            found += [floor, rub]
        return found

    kinetic = (x.d**2 + y.d**2 + 0.2 * turn.d**2) / 2
    return Machine([x, y, turn], [x, y], kinetic, 9.81 * y, made, {y: 0.8, turn: 0.2, x.d: 1.0, turn.d: 0.3}, 1.5)


def puck() -> Machine:
    """A puck on a slope, pushed across: a pair of slips that turns and stops."""
    x, y, z = ap.coordinates("x y z")

    def made(u):
        plane = ap.Constraint(u(z, L), name="plane")
        return [plane, ap.Friction([u(x.d, SPEED), u(y.d, SPEED)], normal=plane, coefficient=0.5, name="sole")]

    kinetic = (x.d**2 + y.d**2 + z.d**2) / 2
    return Machine([x, y, z], [x, y, z], kinetic, 9 * z + 2.5 * x, made, {y.d: 2.0, x.d: 0.3}, 1.2)


def brake() -> Machine:
    """A wheel with a brake that drags a mass by a spring: a limit in place of a normal, an angle beside a length."""
    x, turn = ap.coordinates("x turn")

    def made(u):
        return [
            ap.Friction(u(turn.d, 1 / T), limit=0.4 * FORCE * L, name="brake"),
            ap.Friction(u(x.d, SPEED), limit=0.1 * FORCE, name="track"),
        ]

    kinetic, potential = (x.d**2 + 0.3 * turn.d**2) / 2, 4 * (x - 0.5 * turn) ** 2
    return Machine([x, turn], [x], kinetic, potential, made, {x: 0.9, turn.d: 4.0}, 6.0)


def ladder() -> Machine:
    """A ladder between floor and wall that begins to slide at both ends, one of which it leaves."""
    x, y, turn = ap.coordinates("x y turn")

    def made(u):
        floor = ap.Unilateral(u(y - sin(turn), L), "floor", restitution=0)
        wall = ap.Unilateral(u(x - cos(turn), L), "wall", restitution=0)
        foot, head = x.d - sin(turn) * turn.d, y.d + cos(turn) * turn.d
        return [
            floor, wall, ap.Friction(u(foot, SPEED), normal=floor, coefficient=0.3, name="foot"),
            ap.Friction(u(head, SPEED), normal=wall, coefficient=0.2, name="head"),
        ]  # fmt: skip

    kinetic = (x.d**2 + y.d**2) / 2 + turn.d**2 / 6
    start = {x: float(np.cos(0.9)), y: float(np.sin(0.9)), turn: 0.9}
    return Machine([x, y, turn], [x, y], kinetic, 9.81 * y, made, start, 0.6)


MACHINES = (belt, lambda: block(0.0), puck, brake, ladder, lambda: block(0.4))


@cache
def prepared(kind: int) -> tuple[Machine, ap.System]:
    """A machine and its system, made once."""
    machine = MACHINES[kind]()
    return machine, machine.system


def motion(kind: int, units: tuple[float, float, float], backend: str) -> ap.Motion:
    """The motion of a machine in units (mass, length, time)."""
    machine, system = prepared(kind)
    _, length, time = units
    value = lambda size: length if size is L else 1.0
    sizes = dict(zip(machine.coordinates, map(value, machine.sizes), strict=True))
    start = {}
    for q, size in sizes.items():
        start |= {key: machine.start[key] * factor for key, factor in ((q, size), (q.d, size / time)) if key in machine.start}
    atol = 1e-12 * np.concatenate([list(sizes.values()), np.array(list(sizes.values())) / time])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ap.simulate(
            system, start, machine.until * time, dict(zip(SCALES, units, strict=True)), atol=atol,
            times=np.linspace(0, machine.until * time, 40), max_steps=20_000, backend=backend,
        )  # fmt: skip


UNITS = ((1e12, 1.0, 1.0), (1e-15, 1e-6, 1.0), (1.0, 1.0, 1e9), (1e-15, 1.0, 1.0), (1.0, 1e15, 1.0), (1.0, 1.0, 1e-15),
         (1e-12, 1e-6, 1e-3), (1e15, 1e9, 1e6), (1e-9, 1e-15, 1e-9), (1e3, 1e-3, 1e12))  # fmt: skip
BACKENDS = ("auto", "vm")


@family(count=60, sample=(0, 1))
def units_do_not_matter(seed: int) -> None:
    """Member 0: the belt at 1e12 times its mass; 1: the block in micrometres that stopped where it landed."""
    kind, units = seed % len(MACHINES), UNITS[(seed + seed // len(UNITS)) % len(UNITS)]
    backend = BACKENDS[seed // len(MACHINES) % 2]
    machine, _ = prepared(kind)
    known, found = motion(kind, (1.0, 1.0, 1.0), backend), motion(kind, units, backend)
    assert known.status is ap.Status.OK and found.status is ap.Status.OK, (known.message, found.message)
    sizes = np.array([units[1] if q in machine.lengths else 1.0 for q in machine.coordinates])
    assert np.abs(found.q / sizes - known.q).max() <= 1e-8 * np.abs(known.q).max()
    assert np.abs(found.v / sizes * units[2] - known.v).max() <= 1e-7 * np.abs(known.v).max()
    assert [(p.friction, p.state) for p in found.phases] == [(p.friction, p.state) for p in known.phases]
    ends = [np.array([p.end for p in one.phases]) for one in (found, known)]
    assert np.abs(ends[0] / units[2] - ends[1]).max() <= 1e-8 * machine.until
    assert [i.kind for i in found.impacts] == [i.kind for i in known.impacts]
    assert [n.kind for n in found.notes] == [n.kind for n in known.notes]
    assert found.doubts == known.doubts == ()
