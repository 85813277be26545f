"""Random plane mechanisms with friction for `friction` and `moreau`, and the same ones for appell.

All numbers are parameters, so that mechanisms of one kind share their derivation and their compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from sympy import Symbol, cos, sin
from tests.reference.friction import TIME, Contact, Mechanism

G = 9.81
FAMILIES: dict[str, Callable[[Draw], Mechanism]] = {}


class Draw:
    """Random numbers: of parameters, which are remembered, and of states."""

    def __init__(self, seed: int):
        self.rng, self.values = np.random.default_rng(seed), {}

    def __call__(self, name: str, low: float, high: float) -> Any:
        symbol = Symbol(name, real=True)
        self.values[symbol] = self.plain(low, high)
        return symbol

    def fixed(self, name: str, value: float) -> Any:
        symbol = Symbol(name, real=True)
        self.values[symbol] = float(value)
        return symbol

    def plain(self, low: float, high: float) -> float:
        return round(float(self.rng.uniform(low, high)), 3)

    def either(self, *options: float) -> float:
        return round(float(self.rng.choice(options)), 3)

    def value(self, e: Any) -> float:
        return float(sympy.sympify(e).xreplace(self.values))


def family(make: Callable[[Draw], Mechanism]) -> Callable[[Draw], Mechanism]:
    FAMILIES[make.__name__] = make
    return make


def mechanism(name: str, seed: int) -> Mechanism:
    """A random one of a family."""
    return FAMILIES[name](Draw(seed))


def letters(names: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    q = tuple(Symbol(name, real=True) for name in names.split())
    return q, tuple(Symbol(f"{x}_d", real=True) for x in q)


def along(f: Any, q: Any, v: Any) -> Any:
    return sum(sympy.diff(f, x) * y for x, y in zip(q, v, strict=True))


@family
def blocks_on_belts(draw: Draw) -> Mechanism:
    """Blocks in a row with springs between them, on belts, driven; floors that hold from both sides, or from below."""
    n = int(draw.rng.integers(1, 4))
    q, v = letters(" ".join([*(f"x{i}" for i in range(n)), *(f"y{i}" for i in range(n))]))
    x, y = q[:n], q[n:]
    m, k = [draw(f"m{i}", 0.5, 2) for i in range(n)], [draw(f"k{i}", 20, 80) for i in range(n)]
    V = sum(m[i] * G * y[i] for i in range(n)) + sum(k[i] * (x[i] - (x[i - 1] if i else 0)) ** 2 / 2 for i in range(n))
    drive = [draw(f"F{i}", 0, 6) * cos(draw(f"w{i}", 2, 9) * TIME) for i in range(n)]
    T = sum(m[i] * (v[i] ** 2 + v[n + i] ** 2) for i in range(n)) / 2
    two_sided = bool(draw.rng.integers(2))
    belts = [draw.fixed(f"belt{i}", draw.either(0, draw.plain(-0.7, 0.7))) for i in range(n)]
    contacts = tuple(Contact(y[i], v[i] - belts[i], draw(f"mu{i}", 0.1, 0.7), 0.0, two_sided) for i in range(n))
    start = (*(draw.plain(-0.3, 0.3) for _ in x), *np.zeros(n), *(draw.plain(-0.8, 0.8) for _ in x), *np.zeros(n))
    return Mechanism(q, v, T, V, (*drive, *[0] * n), contacts, start=start, values=draw.values)


@family
def disc(draw: Draw) -> Mechanism:
    """A disc thrown on a rough incline with spin; it may fall first."""
    q, v = letters("x y phi")
    R, m, slope = draw("R", 0.1, 0.4), draw("m", 0.5, 2), draw("slope", -0.5, 0.5)
    J = draw("j", 0.4, 1) * m * R**2
    T = m * (v[0] ** 2 + v[1] ** 2) / 2 + J * v[2] ** 2 / 2
    contact = Contact(q[1] - R, v[0] + R * v[2], draw("mu", 0.1, 0.8), draw.fixed("e", draw.either(0.0, 0.4)))
    start = (0.0, draw.value(R) + draw.either(0.0, 0.05), 0.0, draw.plain(-2, 2), 0.0, draw.plain(-15, 15))
    V = m * G * (q[1] * cos(slope) - q[0] * sin(slope))
    return Mechanism(q, v, T, V, (0, 0, 0), (contact,), start=start, values=draw.values)


@family
def rod(draw: Draw) -> Mechanism:
    """A rod that slides on one end and may fall on the other; small friction, no paradox."""
    q, v = letters("x y phi")
    l, m, mu = draw("l", 0.3, 0.8), draw("m", 0.5, 2), draw("mu", 0.1, 0.6)
    T = m * (v[0] ** 2 + v[1] ** 2) / 2 + m * l**2 / 6 * v[2] ** 2
    ends = [Contact(q[1] - sign * l * sin(q[2]), v[0] + sign * l * sin(q[2]) * v[2], mu, 0.0) for sign in (1, -1)]
    angle, turn, length = draw.plain(0.5, 1.3), draw.plain(-1, 1), draw.value(l)
    start = (0.0, length * np.sin(angle), angle, draw.plain(-1, 1), length * np.cos(angle) * turn, turn)
    return Mechanism(q, v, T, m * G * q[1], (0, 0, 0), tuple(ends), start=start, values=draw.values)


@family
def dragging_pendulum(draw: Draw) -> Mechanism:
    """A double pendulum whose end drags over a floor."""
    q, v = letters("a b")
    l1, l2, m1, m2 = draw("l1", 0.4, 0.8), draw("l2", 0.4, 0.8), draw("m1", 0.5, 2), draw("m2", 0.5, 2)
    x1, y1 = l1 * sin(q[0]), -l1 * cos(q[0])
    x2, y2 = x1 + l2 * sin(q[1]), y1 - l2 * cos(q[1])
    T = sum(m * along(x, q, v) ** 2 / 2 for m, x in ((m1, x1), (m1, y1), (m2, x2), (m2, y2)))
    at = {q[0]: draw.plain(0.2, 0.9), q[1]: draw.plain(-1.2, -0.5)}
    depth = draw.fixed("depth", draw.value((-y2).xreplace(at)))
    slopes, speed = [draw.value(sympy.diff(y2, x).xreplace(at)) for x in q], draw.plain(-1, 1)
    contact = Contact(y2 + depth, along(x2, q, v), draw("mu", 0.1, 0.6))
    start = (*at.values(), speed, -slopes[0] * speed / slopes[1])
    return Mechanism(q, v, T, G * (m1 * y1 + m2 * y2), (0, 0), (contact,), start=start, values=draw.values)


@family
def ladder(draw: Draw) -> Mechanism:
    """A ladder at a wall: friction at both ends, at rest or sliding down."""
    q, v = letters("x y phi")
    l, m = draw("l", 0.5, 1.5), draw("m", 0.5, 2)
    T = m * (v[0] ** 2 + v[1] ** 2) / 2 + m * l**2 / 6 * v[2] ** 2
    foot = Contact(q[1] - l * sin(q[2]), v[0] - l * sin(q[2]) * v[2], draw("mu", 0.05, 0.6))
    head = Contact(q[0] - l * cos(q[2]), v[1] + l * cos(q[2]) * v[2], draw("nu", 0.05, 0.6))
    angle, turn = draw.plain(0.6, 1.2), -draw.either(0.0, draw.plain(0.05, 0.5))
    c, s = draw.value(l) * np.cos(angle), draw.value(l) * np.sin(angle)
    start = (c, s, angle, -s * turn, c * turn, turn)
    return Mechanism(q, v, T, m * G * q[1], (0, 0, 0), (foot, head), start=start, values=draw.values)


@family
def cart(draw: Draw) -> Mechanism:
    """A cart on a rough rail that holds it from both sides, with a fast pendulum: Λ may change its sign."""
    q, v = letters("x y a")
    M, m, l = draw("M", 0.4, 1.5), draw("m", 0.4, 1.5), draw("l", 0.4, 1.5)
    px, py = q[0] + l * sin(q[2]), q[1] - l * cos(q[2])
    T = M * (v[0] ** 2 + v[1] ** 2) / 2 + m * (along(px, q, v) ** 2 + along(py, q, v) ** 2) / 2
    contact = Contact(q[1], v[0], draw("mu", 0.05, 0.5), 0.0, True)
    start = (0.0, 0.0, draw.plain(-1, 1), draw.plain(-1, 1), 0.0, draw.plain(-8, 8))
    return Mechanism(q, v, T, G * (M * q[1] + m * py), (0, 0, 0), (contact,), start=start, values=draw.values)


@family
def chain(draw: Draw) -> Mechanism:
    """Two rods hinged to each other (a joint as a constraint), dragged over a floor by a force at the first."""
    q, v = letters("x1 y1 a x2 y2 b")
    l, m1, m2, F = draw("l", 0.2, 0.5), draw("m1", 0.5, 2), draw("m2", 0.5, 2), draw("F", -6, 6)
    T = sum(m * (v[i] ** 2 + v[i + 1] ** 2 + l**2 / 3 * v[i + 2] ** 2) / 2 for m, i in ((m1, 0), (m2, 3)))
    tip = lambda i, sign: (q[i] + sign * l * cos(q[i + 2]), q[i + 1] + sign * l * sin(q[i + 2]))
    joint = tuple(a - b for a, b in zip(tip(0, 1), tip(3, -1), strict=True))
    ends = [tip(0, -1), tip(3, 1)]
    contacts = tuple(Contact(y, along(x, q, v), draw(f"mu{i}", 0.1, 0.6)) for i, (x, y) in enumerate(ends))
    angle, length, pace = draw.plain(0.5, 1.0), draw.value(l), draw.plain(-1, 1)
    c, s = length * np.cos(angle), length * np.sin(angle)
    start = (0.0, s, angle, 2 * c, s, -angle, pace, 0.0, 0.0, pace, 0.0, 0.0)
    V = G * (m1 * q[1] + m2 * q[4])
    return Mechanism(q, v, T, V, (F, 0, 0, 0, 0, 0), contacts, joint, start=start, values=draw.values)


@lru_cache(maxsize=64)
def _system(m: Mechanism) -> Any:
    import appell as ap

    many = lambda found: found if isinstance(found, tuple) else (found,)
    q, p = many(ap.coordinates(" ".join(map(str, m.q)))), many(ap.parameters(" ".join(map(str, m.values))))
    table = {TIME: ap.t, **dict(zip(m.q, q, strict=True)), **{v: x.d for v, x in zip(m.v, q, strict=True)}}
    table |= dict(zip(m.values, p, strict=True))
    said = lambda e: sympy.sympify(e).xreplace(table)
    rows: list[Any] = [ap.Constraint(said(f), name=f"joint{i}") for i, f in enumerate(m.joints)]
    for i, c in enumerate(m.contacts):
        given = (said(c.gap), f"normal{i}")
        normal = ap.Constraint(*given) if c.two_sided else ap.Unilateral(*given, restitution=said(c.e))
        rows += [normal, ap.Friction(said(c.slip), normal=normal, coefficient=said(c.mu), name=f"friction{i}")]
    forces = {x: said(Q) for x, Q in zip(q, m.Q, strict=True)}
    return ap.System(q, said(m.T), said(m.V), forces, rows, name="mechanism")


def for_appell(m: Mechanism) -> tuple[Any, dict[Any, float], dict[str, float]]:
    """(system, start, parameters) of a mechanism."""
    system = _system(m)
    names = [*system.coordinates, *system.velocities]
    return system, dict(zip(names, map(float, m.start), strict=True)), {str(s): x for s, x in m.values.items()}
