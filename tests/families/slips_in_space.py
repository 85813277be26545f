"""Slips of three parts: balls in dry sockets, tops with friction against ω, bodies in a dry medium; own references."""

from __future__ import annotations

import numpy as np
import sympy
from tests.families.family import family
from tests.reference.slip_in_space import InSpace

import appell as ap

G = 9.81


@family(count=14, sample=(0,))
def slip_of_three_parts(seed: int) -> None:
    """A ball in a socket (0), particles in a dry medium (1 to 5), tops (6 to 8), ball joints that bear (9, 10), two bodies at
    once (11), a landing disc that slides and spins (12), a body that has only two of the parts (13)."""
    checks = (_ball, *[_medium] * 5, *[_top] * 3, _joint, _joint, _two, _landing, _plane)
    checks[seed](seed)


def _backend(seed: int) -> str:
    return "c" if seed % 4 == 2 else "vm"


def _ball(seed: int) -> None:
    """ω falls by M/I along its own direction: a stop after I|ω|/M, a turn of I|ω|²/(2M)."""
    ball, inertia, torque = ap.quaternion("ball"), 0.4, 0.7
    w = ball.rates
    rub = ap.Friction(list(w), limit=torque, name="socket")
    body = ap.RigidBody(1, [inertia] * 3, [0, 0, 0], ball)
    system = ap.System(coordinates=[ball], bodies=[body], constraints=[rub])
    start = np.array([2.0, -1.0, 2.0])
    motion = ap.simulate(system, dict(zip(w, start, strict=True)), 3.0, rtol=1e-10, backend=_backend(seed))
    stop = inertia * 3.0 / torque
    assert motion.ok and abs(motion.phases[0].end - stop) < 1e-9 and motion.phases[-1].state == "stick"
    angle = 3.0 * stop / 2
    half = np.array([*(np.sin(angle / 2) * start / 3), np.cos(angle / 2)])
    found = np.array([motion.final[x] for x in ball.coordinates])
    assert min(np.abs(found * sign - half).max() for sign in (1, -1)) < 1e-8
    force = motion.reaction(rub)
    assert force.shape == (len(motion.t), 3) and np.allclose(force[0], -torque * start / 3, atol=1e-9)


def _medium(seed: int) -> None:
    """A particle with springs and a drive in a dry medium: it slides, stops, sticks and breaks away along curved ways."""
    rng = np.random.default_rng(seed)
    m, k, L = 10.0 ** rng.uniform(-1, 1), rng.uniform(2, 6, 3), rng.uniform(1.0, 2.0)
    a, omega, more = rng.uniform(0.5, 2.5, 3), rng.uniform(0.5, 1.5), (0.0, 0.0, 0.3, 0.0, 0.3, 0.0)[seed]
    scale = (1.0, 1.0, 1.0, 1e-5, 1.0, 1e4)[seed]  # of all forces and the mass
    x = ap.coordinates("x y z")
    drive = [scale * a[j] * f for j, f in enumerate((sympy.sin(omega * ap.t), sympy.cos(omega * ap.t), 1))]
    limit = (lambda s: scale * L * (1 + more * sympy.exp(-s))) if more else scale * L
    rub = ap.Friction([q.d for q in x], limit=limit, name="medium")
    system = ap.System(coordinates=x, kinetic=scale * m / 2 * sum(q.d**2 for q in x),
                       potential=scale * sum(k[j] * q**2 / 2 for j, q in enumerate(x)),
                       forces=dict(zip(x, drive, strict=True)), constraints=[rub])  # fmt: skip
    v = rng.uniform(-1.5, 1.5, 3) if seed != 2 else np.zeros(3)
    motion = ap.simulate(system, {q.d: v[j] for j, q in enumerate(x)}, 6.0, rtol=1e-10, backend="c" if seed > 1 else "vm")
    reference = InSpace(
        np.full(3, m), lambda t, q, v: a * np.array([np.sin(omega * t), np.cos(omega * t), 1.0]) - k * q,
        lambda t, v: L * (1 + more * np.exp(-np.linalg.norm(v))), lambda t: L * (1 + more),
    )  # fmt: skip
    q, v, events = reference.run(np.zeros(3), v, 6.0)
    assert motion.ok, (motion.message, motion.doubts)
    found = [p.end for p in motion.phases[:-1]]
    assert len(found) == len(events) and np.allclose(found, events, atol=2e-6), (found, events)
    assert np.abs([motion.final[one] for one in x] - q).max() < 3e-7
    assert np.abs([motion.final[one.d] for one in x] - v).max() < 3e-6
    force = np.linalg.norm(motion.reaction(rub), axis=1)
    assert (force <= scale * L * (1 + more) * (1 + 1e-9)).all() and (np.diff(motion.dissipated) >= -1e-12 * scale).all()


def _top(seed: int) -> None:
    """Euler's equations with a torque −M ω/|ω|: about one axis a closed form, else by SciPy in the body frame."""
    rng = np.random.default_rng(seed)
    J, torque = np.array([0.2, 0.35, 0.5]) * (1.0, 1e3, 1e-6)[seed - 6], 0.3 * (1.0, 1e3, 1e-6)[seed - 6]
    ball = ap.quaternion("top")
    w = ball.rates
    rub = ap.Friction(list(w), limit=torque, name="socket")
    body = ap.System(coordinates=[ball], bodies=[ap.RigidBody(1, list(J), [0, 0, 0], ball)], constraints=[rub])
    start = rng.uniform(-3, 3, 3)
    motion = ap.simulate(body, dict(zip(w, start, strict=True)), 8.0, rtol=1e-10, backend=_backend(seed))
    reference = InSpace(J, lambda t, q, v: -np.cross(v, J * v), lambda t, v: torque, lambda t: torque)
    _, _, events = reference.run(np.zeros(3), start, 8.0)
    assert motion.ok and len(events) == 1 and abs(motion.phases[0].end - events[0]) < 1e-7
    early = ap.simulate(body, dict(zip(w, start, strict=True)), events[0] / 2, rtol=1e-10)
    _, v, _ = reference.run(np.zeros(3), start, events[0] / 2)
    assert np.abs([early.final[x] for x in w] - v).max() < 1e-8


def _joint(seed: int) -> None:
    """A heavy bob on a ball joint that rubs: μ r |Λ| of three rows against ω; in a plane it is a journal's closed form."""
    m, inertia, length, radius, mu = 1.5, 0.02, 0.4, 0.03, (0.2, 0.8)[seed - 9]
    x, y, z = ap.coordinates("x y z")
    ball = ap.quaternion("bob")
    rows = [ap.Constraint(q, name=f"hold {q}") for q in (x, y, z)]
    place = sympy.Matrix([x, y, z]) - length * ball.rotation[:, 2]
    body = ap.RigidBody(m, [inertia] * 3, list(place), ball)
    rub = ap.Friction([radius * w for w in ball.rates], normal=rows, coefficient=mu, name="joint")
    system = ap.System(coordinates=[x, y, z, ball], bodies=[body], potential=m * G * place[2], constraints=[*rows, rub])
    start = {ball.rates[0]: 3.0}
    motion = ap.simulate(system, start, 2.0, rtol=1e-10, backend="vm")
    assert motion.ok, (motion.message, motion.doubts)
    pressed = np.sqrt(sum(motion.reaction(row) ** 2 for row in rows))
    force = np.linalg.norm(motion.reaction(rub), axis=1)
    assert (force <= mu * pressed * (1 + 1e-9)).all()
    angle, rate = _pendulum(m, inertia + m * length**2, length, mu * radius, 3.0, 2.0)
    assert abs(motion.final[ball.rates[0]] - rate) < 1e-7
    tilt = 2 * np.arctan2(motion.final[ball.coordinates[0]], motion.final[ball.coordinates[3]])
    assert abs(tilt - angle) < 1e-7


def _pendulum(m: float, J: float, length: float, f: float, w: float, until: float) -> tuple[float, float]:
    """A pendulum on a journal, J α + m g l sin = −way f |N|: N = m (g + l φ̇² …) in the directions of the rod."""
    from tests.reference.one_way import OneWay

    def slide(t: float, phi: float, rate: float, way: int) -> float:
        drive, c = -m * G * length * np.sin(phi), m * length * rate**2 + m * G * np.cos(phi)
        b = m * G * np.sin(phi)  # N = (m l α + b, c)
        A, B, C = J**2 - f**2 * (m * length) ** 2, -2 * J * drive - 2 * f**2 * m * length * b, drive**2 - f**2 * (b**2 + c**2)
        roots = np.roots([A, B, C]).real
        return float(next(x for x in roots if way * (J * x - drive) <= 1e-12 * abs(drive)))

    hold = lambda t, phi: f * m * G - abs(m * G * length * np.sin(phi))
    s, v, _ = OneWay(slide, hold, lambda t, phi: -m * G * length * np.sin(phi)).run(0.0, w, until)
    return s, v


def _two(seed: int) -> None:
    """Two equal bodies joined by a spring, thrown against each other: mirror images, as one against a wall in the middle."""
    a, b = ap.coordinates("a1 a2 a3"), ap.coordinates("b1 b2 b3")
    k, L = 3.0, 0.8
    rubs = [ap.Friction([q.d for q in x], limit=L, name=name) for x, name in ((a, "first"), (b, "second"))]
    spring = k / 2 * sum((p - q) ** 2 for p, q in zip(a, b, strict=True))
    system = ap.System(coordinates=[*a, *b], kinetic=sum(q.d**2 for q in (*a, *b)) / 2, potential=spring, constraints=rubs)
    v = np.array([1.2, -0.4, 0.7])
    start = {q.d: v[j] for j, q in enumerate(a)} | {q.d: -v[j] for j, q in enumerate(b)}
    motion = ap.simulate(system, start, 9.0, rtol=1e-10)
    q, _, events = InSpace(np.ones(3), lambda t, q, v: -2 * k * q, lambda t, v: L, lambda t: L).run(np.zeros(3), v, 9.0)
    assert motion.ok and np.abs([motion.final[x] for x in a] - q).max() < 1e-7
    assert np.abs([motion.final[x] + motion.final[y] for x, y in zip(a, b, strict=True)]).max() < 1e-9
    first = [phase for phase in motion.phases if phase.friction == "first"]  # a reversal does not end a phase of a vector slip
    assert [phase.state for phase in first] == ["slip", "stick"] and len(events) > 2
    assert abs(first[1].start - events[-1]) < 1e-6


def _landing(seed: int) -> None:
    """A disc that falls, lands (e = 0) and comes to rest sliding and spinning: (ẋ, ẏ, ρ φ̇) with equal inertias falls by μ g."""
    x, y, z, phi = ap.coordinates("x y z phi")
    mu, rho, drop = 0.3, 0.5, 0.4
    floor = ap.Unilateral(z, name="floor", restitution=0)
    rub = ap.Friction([x.d, y.d, rho * phi.d], normal=floor, coefficient=mu, name="sole")
    system = ap.System(coordinates=[x, y, z, phi], kinetic=(x.d**2 + y.d**2 + z.d**2 + rho**2 * phi.d**2) / 2,
                       potential=G * z, constraints=[floor, rub])  # fmt: skip
    slip = np.array([2.0, 1.0, -2.0])
    start = {z: drop, x.d: slip[0], y.d: slip[1], phi.d: slip[2] / rho}
    motion = ap.simulate(system, start, 3.0, rtol=1e-10)
    down = np.sqrt(2 * drop / G)
    left = 3.0 - mu * G * down  # the blow takes μ P of the slip
    assert motion.ok and abs(motion.impacts[0].time - down) < 1e-10
    stop = down + left / (mu * G)
    assert abs(motion.phases[-1].start - stop) < 1e-8 and motion.phases[-1].state == "stick"
    way = slip / 3.0 * (3.0 * down + left * (stop - down) / 2)
    assert np.abs(np.array([motion.final[x], motion.final[y], rho * motion.final[phi]]) - way).max() < 1e-8


def _plane(seed: int) -> None:
    """A slip of three parts in a body that moves in a plane is one of two."""
    x, y = ap.coordinates("x y")
    make = lambda slip: ap.System(coordinates=[x, y], kinetic=(x.d**2 + 2 * y.d**2) / 2, potential=2 * x**2 + y**2,
                                  constraints=[ap.Friction(slip, limit=0.5, name="rub")])  # fmt: skip
    start = {x.d: 1.0, y.d: -1.5, x: 0.3}
    three = ap.simulate(make([x.d * 0.6, y.d, 0.8 * x.d]), start, 4.0, rtol=1e-10)
    two = ap.simulate(make([x.d, y.d]), start, 4.0, rtol=1e-10)
    assert three.ok and max(abs(three.final[q] - two.final[q]) for q in (x, y)) < 1e-8
