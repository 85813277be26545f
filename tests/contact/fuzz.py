"""Random bodies falling on floors, into corners and wedges, and on each other: what must hold of every motion, many times.

    python -m tests.contact.fuzz --count 1000 [--seed 0] [--family boxes] [--references 100] [--share k/N]

Each start is judged: the run ends where it should and says nothing against itself, no face is crossed, no reaction pulls or
acts at a distance, energy is never gained. A part of them is compared with `tests.reference.bodies_on_planes`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from sympy import sqrt
from tests.contact.bodies import (
    GRAVITY,
    in_space,
    phi,
    planar_start,
    polygon,
    polygons,
    polyhedra,
    polyhedron,
    spatial_start,
    x,
    y,
)
from tests.reference.bodies_on_planes import GaveUp, fall
from tests.reference.sweeps import Outcome, left_out, long_run, right, sweep, wrong

import appell as ap

FLOOR = (((0.0, 1.0), 0.0),)
FLOOR_3 = (((0.0, 0.0, 1.0), 0.0),)


def slope(degrees, distance):
    """A plane that leans by an angle from the floor, through a point at a distance."""
    a = np.radians(degrees)
    return (-float(np.sin(a)), float(np.cos(a))), -distance * float(np.sin(a))


@dataclass
class Case:
    """A system with its start and parameters, how long it runs, and the reference with its state, if there is one."""

    system: ap.System
    start: dict
    until: float
    values: dict
    reference: object = None
    state: object = None
    symbols: tuple = ()


@cache
def _polygons(corners, planes):
    return polygons(corners, planes)


@cache
def _polyhedra(corners, planes):
    return polyhedra(corners, planes)


def flat(rng, planes, height=1.3, corners=None):
    corners = int(rng.integers(2, 6)) if corners is None else corners
    body, values = polygon(rng, corners, planes, regular=bool(rng.random() < 0.3))
    start, state = planar_start(rng, height)
    return Case(_polygons(corners, len(planes)), start, 3.0, values, body, state, (x, y, phi, x.d, y.d, phi.d))


def on_floor(rng, corners=None):
    return flat(rng, FLOOR, corners=corners)


def in_wedge(rng, corners=None):
    walls = (slope(-rng.uniform(10, 60), -0.3), slope(rng.uniform(10, 60), 0.3))
    return flat(rng, walls, height=3.0, corners=corners)


def in_corner(rng, corners=None):
    degrees = rng.uniform(60, 120)
    return flat(rng, (*FLOOR, slope(degrees, rng.uniform(1.4, 2.2) + (1.4 if degrees > 90 else 0.0))), corners=corners)


def spatial(rng, corners, planes):
    body, values = polyhedron(rng, corners, planes=planes)
    start, state = spatial_start(rng)
    return Case(_polyhedra(corners, len(planes)), start, 2.5, values, body, state, in_space)


def boxes(rng):
    return spatial(rng, 8, FLOOR_3)


def hulls(rng):
    return spatial(rng, int(rng.integers(3, 7)), FLOOR_3)


def boxes_in_corners(rng):
    a, b = np.radians(rng.uniform(50, 90, 2))
    walls = (((-np.sin(a), 0.0, np.cos(a)), -1.2), ((0.0, -np.sin(b), np.cos(b)), -1.3))
    return spatial(rng, int(rng.choice([4, 8])), (*FLOOR_3, *(((float(n[0]), float(n[1]), float(n[2])), d) for n, d in walls)))


@cache
def _pile(n):
    """n discs of unit mass in a box under gravity, radii and restitution as parameters."""
    qs, rs, e = [ap.coordinates(f"x{i} y{i}") for i in range(n)], [ap.parameters(f"r{i}") for i in range(n)], ap.parameters("e")
    faces = []
    for i, ((a, b), r) in enumerate(zip(qs, rs, strict=True)):
        walls = {"left": a - r, "right": 2 - r - a, "floor": b - r}
        faces += [ap.Unilateral(f, f"{name}{i}", e) for name, f in walls.items()]
        for j in range(i):
            (c, d), s = qs[j], rs[j]
            faces.append(ap.Unilateral(sqrt((a - c) ** 2 + (b - d) ** 2) - r - s, f"{i}.{j}", e))
    T = sum(a.d**2 + b.d**2 for a, b in qs) / 2
    return ap.System([s for q in qs for s in q], T, GRAVITY * sum(b for _, b in qs), constraints=faces, name="pile"), qs, rs, e


def piles(rng, n=None):
    """Discs that fall on each other in a box and come to rest there."""
    n = int(rng.integers(2, 4)) if n is None else n
    system, qs, rs, e = _pile(n)
    radii = rng.uniform(0.25, 0.4, n)
    values = {e: float(rng.choice([0.0, 0.3, 0.6])), **{r: float(v) for r, v in zip(rs, radii, strict=True)}}
    start = {}
    for i, (a, b) in enumerate(qs):
        start |= {a: float(rng.uniform(0.5, 1.5)), b: 0.5 + 0.9 * i, a.d: float(rng.normal() * 0.5)}
    return Case(system, start, 3.0, values)


FAMILIES: dict[str, Callable] = {
    f.__name__: f for f in (on_floor, in_wedge, in_corner, boxes, hulls, boxes_in_corners, piles)
}  # fmt: skip


class Failure(AssertionError):
    """What a motion must not do."""


def judge(case: Case, motion) -> None:
    """Raises `Failure` where something does not hold."""
    if not motion.ok:
        raise Failure(f"not ok: {motion.message} {motion.doubts}")
    if abs(motion.t[-1] - case.until) > 1e-12:
        raise Failure(f"ended at {motion.t[-1]}")
    faces = case.system.unilateral
    g = np.array([motion[face.function] for face in faces])
    if g.min() < -1e-9:
        raise Failure(f"'{faces[int(np.argmin(g.min(axis=1)))].name}' crossed by {-g.min():.1e}")
    scale = motion.energy_scale
    if np.abs(motion.balance).max() > 1e-8 * scale:
        raise Failure(f"balance {np.abs(motion.balance).max():.1e}")
    gained = np.diff(motion.energy).max(initial=0.0)
    if gained > 1e-9 * scale:
        raise Failure(f"energy gained {gained:.1e} at {motion.t[int(np.argmax(np.diff(motion.energy)))]:.6g}")
    if any(i.impulse < -1e-12 for i in motion.impacts):
        raise Failure("an impulse pulls")
    lam = np.array([motion.reaction(face.name) for face in faces])
    if lam.min() < -1e-6 * GRAVITY:
        raise Failure(f"a reaction pulls: {lam.min():.1e}")
    if np.abs(lam * g).max() > 1e-8 * GRAVITY:
        raise Failure(f"a reaction acts at a distance: {np.abs(lam * g).max():.1e}")


def compare(case: Case, *, until: float = 1.0) -> float:
    """The largest difference from the reference at a time."""
    reference = fall(case.reference, case.state, until, most=1000)
    motion = ap.simulate(case.system, case.start, until, case.values, rtol=1e-11, atol=1e-13)
    ours = np.array([float(motion.final[s]) for s in case.symbols])
    theirs = np.asarray(reference.z)
    return float(np.abs(ours - theirs).max())


def member(k: int, names: tuple[str, ...], first: int, references: int) -> Outcome:
    """Start number k, families in turn."""
    name, seed = names[k % len(names)], first + k // len(names)
    case = FAMILIES[name](np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            judge(case, ap.simulate(case.system, case.start, case.until, case.values, max_steps=200_000))
            difference = compare(case) if k < references and case.reference is not None else 0.0
        except GaveUp as error:
            return left_out(f"{name} {seed}: sound, but the reference gives up: {error}")
        except Exception as error:
            return wrong(f"{name} {seed}: {type(error).__name__}: {str(error)[:300]}")
    return wrong(f"{name} {seed}: differs from the reference by {difference:.1e}") if difference > 1e-5 else right()


def main() -> int:
    parser = long_run(__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=list(FAMILIES))
    parser.add_argument("--references", type=int, default=0, help="so many are compared with the reference, too")
    given = parser.parse_args()
    names = (given.family,) if given.family else tuple(FAMILIES)
    return sweep(partial(member, names=names, first=given.seed, references=given.references), given.count, given)


if __name__ == "__main__":
    sys.exit(main())
