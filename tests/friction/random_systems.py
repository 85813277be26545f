"""Random mechanisms with friction, and what must hold along their motions."""

from __future__ import annotations

import sys
import warnings
from collections import Counter

import numpy as np
from sympy import Rational, cos, sin

import appell as ap

LETTERS = "a b c d"


def draw(seed):
    """(system, start): springs, gravity, a random mass matrix with a part that turns, and frictions of every kind."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    q = list(ap.coordinates(" ".join(LETTERS.split()[:n]) + " ")) if n > 1 else [ap.coordinates("a")]
    number = lambda low, high: Rational(int(rng.uniform(low, high) * 1000), 1000)
    root = [[number(-0.4, 0.4) for _ in range(n)] for _ in range(n)]
    masses = [number(0.5, 2) for _ in range(n)]
    kinetic = sum(m * x.d**2 for m, x in zip(masses, q, strict=True)) / 2
    kinetic += sum(sum(r * x.d for r, x in zip(row, q, strict=True)) ** 2 for row in root) / 2
    if n > 1 and rng.random() < 0.5:
        kinetic += number(0.1, 0.5) * q[0].d * q[1].d * cos(q[0] - q[1]) / 2
    potential = sum(number(0.5, 8) * x**2 for x in q) / 2 + sum(number(-3, 3) * x for x in q)
    constraints, moving, start = [], [], {}
    extra = ap.coordinates("h")
    kind = rng.integers(4)
    row = lambda: sum(number(-1, 1) * x.d for x in q) + q[int(rng.integers(n))].d
    if kind == 0:
        constraints.append(ap.Friction(row(), limit=number(0.05, 1.5), name="brake"))
    elif kind == 1:
        constraints.append(ap.Friction(row(), limit=number(0.05, 1), name="brake"))
        constraints.append(ap.Friction(q[-1].d, limit=number(0.05, 1), name="pad"))
    else:
        wall = extra + number(-0.3, 0.3) * sum(q) if rng.random() < 0.5 else extra + number(0, 0.2) * sin(q[0])
        e = Rational(0) if rng.random() < 0.4 else number(0.1, 0.9)
        floor = ap.Unilateral(wall, name="floor", restitution=e) if kind == 2 else ap.Constraint(wall, name="floor")
        mu = number(0.05, 0.5)
        static = mu + number(0, 0.2) if rng.random() < 0.5 else None
        slip = row() if n == 1 or rng.random() < 0.7 else (q[0].d, q[1].d)
        constraints += [floor, ap.Friction(slip, normal=floor, coefficient=mu, static=static, name="sole")]
        if rng.random() < 0.3:
            constraints.append(ap.Friction(q[0].d, limit=number(0.05, 0.5), name="brake"))
        kinetic += number(0.5, 2) * extra.d**2 / 2
        potential += number(3, 12) * extra
        moving.append(extra)
    system = ap.System([*q, *moving], kinetic, potential, constraints=constraints, name=f"random {seed}")
    for x in q:
        start[x], start[x.d] = float(rng.normal()), float(rng.normal()) if rng.random() < 0.8 else 0.0
    if moving:
        f = wall.subs({x: start[x] for x in q}).subs({extra: 0})
        lift = float(rng.uniform(0, 0.5)) if kind == 2 and rng.random() < 0.7 else 0.0
        start[extra] = lift - float(f)
        if kind == 3 or lift == 0.0:
            start = dict(ap.consistent(system, start)) if kind == 3 else start
            if kind == 2:
                rate = ap.total_derivative(wall).subs({**{x: start[x] for x in q}, **{x.d: start[x.d] for x in q}, extra.d: 0})
                start[extra.d] = -float(rate.subs(extra, start[extra]))
    return system, start


def draw_body(seed):
    """(system, start): a plane body with two or three corners over a rough floor, perhaps a rough wall, dropped at random."""
    rng = np.random.default_rng(seed)
    number = lambda low, high: Rational(int(rng.uniform(low, high) * 1000), 1000)
    x, y, turn = ap.coordinates("x y turn")
    low = lambda: number(-0.6, -0.2)
    corners = [(number(-1, -0.3), low()), (number(0.3, 1), low()), (number(-0.4, 0.4), number(0.3, 0.8))]
    e = Rational(0) if rng.random() < 0.6 else number(0.1, 0.7)
    mu = number(0.05, 0.6)
    constraints = []
    for k, (a, b) in enumerate(corners[: int(rng.integers(2, 4))]):
        place = (x + a * cos(turn) - b * sin(turn), y + a * sin(turn) + b * cos(turn))
        rate = [ap.total_derivative(c) for c in place]
        floor = ap.Unilateral(place[1], name=f"floor {k}", restitution=e)
        constraints += [floor, ap.Friction(rate[0], normal=floor, coefficient=mu, name=f"rub {k}")]
        if k == 0 and rng.random() < 0.3:
            wall = ap.Unilateral(place[0] + 2, name="wall", restitution=e)
            constraints += [wall, ap.Friction(rate[1], normal=wall, coefficient=mu, name="wall rub")]
    kinetic = (x.d**2 + y.d**2 + number(0.1, 0.5) * turn.d**2) / 2
    system = ap.System([x, y, turn], kinetic, 10 * y, constraints=constraints, name=f"body {seed}")
    angle = float(rng.uniform(-0.5, 0.5))
    low = min(float(a) * np.sin(angle) + float(b) * np.cos(angle) for a, b in corners)
    start = {turn: angle, y: -low + float(rng.uniform(0.01, 0.5)), x.d: float(rng.normal()) * 2, turn.d: float(rng.normal())}
    return system, start


def run(seed, until=5.0, draw=draw, **options):
    """The motion of a random system; warnings of runs that stop are kept in its message."""
    system, start = draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ap.simulate(system, start, until=until, **options)


def broken(motion):
    """What does not hold along a motion: sentences."""
    found = []
    scale = motion.energy_scale
    lost = motion.dissipated
    if (np.diff(lost) < -1e-9 * scale).any():
        found.append(f"friction gives back {np.diff(lost).min():.1e} J")
    if (np.diff(motion.energy) > 1e-7 * scale).any():
        found.append(f"energy is gained: {np.diff(motion.energy).max():.1e} of {scale:.1e} J")
    if np.abs(motion.balance).max() > 1e-6 * scale:
        found.append(f"energy balance {np.abs(motion.balance).max():.1e} of {scale:.1e} J")
    p = motion.parameters
    size = 1.0
    for fr, normal in zip(motion.system.frictions, motion.system.normals, strict=True):
        force = motion.reaction(fr).reshape(len(motion.t), -1)
        slip = np.stack([motion[s] for s in fr.slip], axis=1)
        bound = np.full(len(motion.t), float(fr.limit.subs(p))) if fr.limit is not None else None
        if bound is None:
            mu = float((fr.static if fr.static is not None else fr.coefficient).subs(p))
            bound = mu * np.abs(motion.reaction(fr.normal))
        size = max(size, float(bound.max(initial=0.0)))
        over = (np.linalg.norm(force, axis=1) - bound).max(initial=0.0)
        if over > 1e-7 * size:
            found.append(f"cone of '{fr.name}' is broken by {over:.1e}")
        power = (force * slip).sum(axis=1).max(initial=0.0)
        if power > 1e-7 * size * max(1.0, np.abs(slip).max(initial=0.0)):
            found.append(f"friction '{fr.name}' drives: {power:.1e} W")
        if normal is not None and normal[0] == "face" and (motion.reaction(fr.normal) < -1e-7 * size).any():
            found.append("a floor pulls")
        for phase in motion.phases:
            if phase.friction == fr.name and phase.state == "stick":
                inside = (motion.t > phase.start) & (motion.t < phase.end)
                if np.abs(slip[inside]).max(initial=0.0) > 1e-7:
                    found.append(f"'{fr.name}' slips by {np.abs(slip[inside]).max():.1e} while it sticks")
    if len(motion.phases) > 400:
        found.append(f"{len(motion.phases)} phases: chatter")
    return found


def sweep(count):
    """Many runs, half of them mechanisms and half of them falling bodies; prints what is broken, and how many ended how."""
    ends = Counter()
    for seed in range(count):
        motion = run(seed, until=3.0, draw=(draw, draw_body)[seed % 2], backend="vm")
        ends[motion.status.name] += 1
        if found := [*broken(motion), *motion.doubts]:
            ends["broken"] += 1
            print(f"{motion.name}: {found}", flush=True)
    print(dict(ends))
    return ends["broken"]


__all__ = ["broken", "draw", "draw_body", "run", "sweep"]

if __name__ == "__main__":
    sys.exit(bool(sweep(int(sys.argv[1]) if len(sys.argv) > 1 else 100)))
