"""Random mechanisms with friction, and what must hold along their motions."""

from __future__ import annotations

import sys
import warnings
from functools import cache, partial

import numpy as np
from sympy import cos, sin
from tests.reference.sweeps import long_run, refused, right, sweep, wrong

import appell as ap


class Numbers:
    """Random numbers as parameters of a system: systems of one shape share their derivation and their compiled code."""

    def __init__(self, rng):
        self.rng, self.values = rng, {}

    def __call__(self, low, high):
        symbol = ap.parameters(f"c{len(self.values)}", real=True)
        self.values[symbol] = round(float(self.rng.uniform(low, high)), 3)
        return symbol

    def not_negative(self, low, high):
        symbol = ap.parameters(f"d{len(self.values)}", nonnegative=True)
        self.values[symbol] = round(float(self.rng.uniform(low, high)), 3) if high else 0.0
        return symbol


def made(q, kinetic, potential, constraints, name):
    """A system, one and the same for equal arguments."""
    return _system(tuple(q), kinetic, potential, tuple(constraints), name)


@cache
def _system(q, kinetic, potential, constraints, name):
    return ap.System(q, kinetic, potential, constraints=constraints, name=name)


def draw(seed):
    """(system, start, parameters): springs, gravity, a random mass matrix with a part that turns, frictions of every kind."""
    rng = np.random.default_rng(seed)
    number = Numbers(rng)
    n, kind = int(rng.integers(1, 4)), int(rng.integers(4))
    *q, h = ap.coordinates(" ".join(["a", "b", "c"][:n]) + " h")
    pick = lambda: q[int(rng.integers(n))]
    row = lambda: sum(number(-1, 1) * x.d for x in q) + pick().d
    kinetic = sum(number(0.5, 2) * x.d**2 for x in q) / 2
    kinetic += sum(sum(number(-0.4, 0.4) * x.d for x in q) ** 2 for _ in range(n)) / 2
    if n > 1 and rng.random() < 0.5:
        kinetic += number(0.1, 0.5) * q[0].d * q[1].d * cos(q[0] - q[1]) / 2
    potential = sum(number(0.5, 8) * x**2 for x in q) / 2 + sum(number(-3, 3) * x for x in q)
    start = {x: float(rng.normal()) for x in q} | {x.d: float(rng.normal()) * (rng.random() < 0.8) for x in q}
    if kind < 2:
        constraints = [ap.Friction(row(), limit=number.not_negative(0.05, 1.5), name="brake")]
        if kind == 1:
            constraints.append(ap.Friction(q[-1].d, limit=number.not_negative(0.05, 1), name="pad"))
        return made(q, kinetic, potential, constraints, "mechanism"), start, number.values
    wall = h + number(-0.3, 0.3) * sum(q) if rng.random() < 0.5 else h + number(0, 0.2) * sin(q[0])
    floor = ap.Constraint(wall, name="floor")
    if kind == 2:
        e = number.not_negative(*((0, 0) if rng.random() < 0.4 else (0.1, 0.9)))
        floor = ap.Unilateral(wall, name="floor", restitution=e)
    mu = number.not_negative(0.05, 0.5)
    static = mu + number.not_negative(0, 0.2) if rng.random() < 0.5 else None
    slip = row() if n == 1 or rng.random() < 0.7 else (q[0].d, q[1].d)
    constraints = [floor, ap.Friction(slip, normal=floor, coefficient=mu, static=static, name="sole")]
    if rng.random() < 0.3:
        constraints.append(ap.Friction(q[0].d, limit=number.not_negative(0.05, 0.5), name="brake"))
    kinetic += number(0.5, 2) * h.d**2 / 2
    system = made([*q, h], kinetic, potential + number(3, 12) * h, constraints, "mechanism")
    lift = float(rng.uniform(0, 0.5)) if kind == 2 and rng.random() < 0.7 else 0.0
    at = {**number.values, **start}
    start[h] = lift - float((wall - h).xreplace(at))
    if not lift:
        start[h.d] = -float(sum(wall.diff(x).xreplace(at) * start[x.d] for x in q))
    return system, start, number.values


def draw_body(seed):
    """(system, start, parameters): a plane body with two or three corners over a rough floor, perhaps a rough wall, dropped."""
    rng = np.random.default_rng(seed)
    number = Numbers(rng)
    x, y, turn = ap.coordinates("x y turn")
    low = lambda: number(-0.6, -0.2)
    corners = [(number(-1, -0.3), low()), (number(0.3, 1), low())]
    if rng.random() < 0.5:
        corners.append((number(-0.4, 0.4), number(0.3, 0.8)))
    e = number.not_negative(*((0, 0) if rng.random() < 0.6 else (0.1, 0.7)))
    mu = number.not_negative(0.05, 0.6)
    constraints = []
    for k, (a, b) in enumerate(corners):
        place = (x + a * cos(turn) - b * sin(turn), y + a * sin(turn) + b * cos(turn))
        rate = [ap.total_derivative(c) for c in place]
        floor = ap.Unilateral(place[1], name=f"floor {k}", restitution=e)
        constraints += [floor, ap.Friction(rate[0], normal=floor, coefficient=mu, name=f"rub {k}")]
        if k == 0 and rng.random() < 0.3:
            wall = ap.Unilateral(place[0] + 2, name="wall", restitution=e)
            constraints += [wall, ap.Friction(rate[1], normal=wall, coefficient=mu, name="wall rub")]
    kinetic = (x.d**2 + y.d**2 + number(0.1, 0.5) * turn.d**2) / 2
    angle, values = float(rng.uniform(-0.5, 0.5)), number.values
    low = min(values[a] * np.sin(angle) + values[b] * np.cos(angle) for a, b in corners)
    start = {turn: angle, y: -low + float(rng.uniform(0.01, 0.5)), x.d: float(rng.normal()) * 2, turn.d: float(rng.normal())}
    return made([x, y, turn], kinetic, 10 * y, constraints, "body"), start, values


def run(seed, until=5.0, draw=draw, **options):
    """The motion of a random system; warnings of runs that stop are kept in its message."""
    system, start, parameters = draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ap.simulate(system, start, until, parameters, **options)


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


def judged(seed, backend="auto"):
    """A seed: even ones are mechanisms, odd ones falling bodies. A run that stops with a reason counts as refused."""
    motion = run(seed, until=3.0, draw=(draw, draw_body)[seed % 2], backend=backend)
    if bad := [*broken(motion), *motion.doubts]:
        return wrong(f"{bad}")
    return right() if motion.status is ap.Status.OK else refused(motion.message)


def member(k, first, backend):
    return judged(first + k, backend)


def main():
    """`python -m tests.friction.random_systems 10000 --workers 16 --out summary.json`"""
    parser = long_run("Random mechanisms with friction: energy, cones, chatter.")
    parser.add_argument("count", type=int, nargs="?", default=100, help="number of runs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--backend", default="auto", help="of the runs, as in ap.simulate")
    given = parser.parse_args()
    return sweep(partial(member, first=given.seed, backend=given.backend), given.count, given)


__all__ = ["broken", "draw", "draw_body", "judged", "run"]

if __name__ == "__main__":
    sys.exit(main())
