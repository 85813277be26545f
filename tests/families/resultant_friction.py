"""Friction on a resultant reaction, √(Λ₁² + Λ₂²): beads on wires in space, journals, sleeves; against own references."""

from __future__ import annotations

import numpy as np
import sympy
from sympy import cos, sin, sqrt
from tests.families.family import family
from tests.reference.one_way import OneWay

import appell as ap

G = 9.81


def _curve(kind: int, u):
    """Wires r(u) in space, m: helix, spiral on a cone, tilted ellipse, Viviani's curve, a knot, a straight rod."""
    return [
        (0.7 * cos(u), 0.7 * sin(u), 0.25 * u),
        ((0.4 + 0.1 * u) * cos(u), (0.4 + 0.1 * u) * sin(u), 0.3 * u),
        (0.9 * cos(u), 0.5 * sin(u), 0.4 * cos(u) + 0.1 * sin(u)),
        (0.5 * (1 + cos(u)), 0.5 * sin(u), sin(u / 2)),
        (sin(u) + 2 * sin(2 * u), cos(u) - 2 * cos(2 * u), -sin(3 * u)),
        (0.8 * u, 0.1 + 0 * u, 0.3 * u),
    ][kind]


def _wire(kind: int, mass: float, size: float, spin: float, mu: float, static: float):
    """A bead on a wire that turns about the vertical with `spin`: position r(u) + n₁ e₁ + n₂ e₂ with rows n = 0."""
    u, n1, n2 = ap.coordinates("u n1 n2")
    r = size * sympy.Matrix(_curve(kind, u))
    d = r.diff(u)
    speed = sqrt(d.dot(d))
    up = sympy.Matrix([0, 0, 1])
    e1 = up.cross(d)
    e1 = e1 / sqrt(e1.dot(e1))
    e2 = d.cross(e1) / speed
    place, turn = r + n1 * e1 + n2 * e2, spin * ap.t
    about = sympy.Matrix([[cos(turn), -sin(turn), 0], [sin(turn), cos(turn), 0], [0, 0, 1]])
    bead = ap.Particle(mass, about * place)
    rows = [ap.Constraint(n1, name="across"), ap.Constraint(n2, name="over")]
    rub = ap.Friction(speed * u.d, normal=rows, coefficient=mu, static=static, name="rub")
    system = ap.System(coordinates=[u, n1, n2], bodies=[bead], potential=mass * G * size * place[2] / size,
                       constraints=[*rows, rub])  # fmt: skip
    return system, u, rub


def _wire_reference(kind: int, size: float, spin: float, mu: float, static: float) -> tuple[OneWay, object]:
    """The same bead by Newton's law in the frame of the wire, along its tangent and at right angles to it."""
    x = sympy.Symbol("x")
    r = size * sympy.Matrix(_curve(kind, x))
    fn = sympy.lambdify(x, [list(r), list(r.diff(x)), list(r.diff(x, 2))])
    omega = np.array([0, 0, spin])

    def parts(u: float, ud: float):
        place, d, dd = (np.array(one, dtype=float) for one in fn(u))
        speed = np.linalg.norm(d)
        tangent, v = d / speed, d * ud
        field = np.array([0, 0, -G]) + spin**2 * np.array([place[0], place[1], 0]) - 2 * np.cross(omega, v)
        bend = dd * ud**2  # acceleration at ü = 0
        normal = (bend - field) - tangent * (tangent @ (bend - field))
        return speed, field @ tangent - bend @ tangent, float(np.linalg.norm(normal))

    def slide(t: float, u: float, ud: float, way: int) -> float:
        speed, along, normal = parts(u, ud)
        return (along - mu * normal * way) / speed

    def hold(t: float, u: float) -> float:
        _, along, normal = parts(u, 0.0)
        return static * normal - abs(along)

    return OneWay(slide, hold, lambda t, u: parts(u, 0.0)[1]), parts


def _checked(motion, rows, rub, mu: float, static: float) -> None:
    """Cones, the sign of the friction and the balance of energy."""
    assert motion.ok, (motion.message, motion.doubts)
    pressed = sqrt_of_squares([motion.reaction(row) for row in rows])
    force = np.asarray(motion.reaction(rub)).reshape(len(motion.t), -1)
    largest = max(float(pressed.max()), 1e-300)
    size = np.linalg.norm(force, axis=1)
    assert (size <= max(mu, static) * pressed + 1e-9 * largest).all()
    sliding = [p for p in motion.phases if p.state == "slip"]
    inside = np.array([any(p.start < x < p.end for p in sliding) for x in motion.t])
    assert np.abs(size - mu * pressed)[inside].max(initial=0.0) <= 1e-8 * largest
    assert motion.dissipated[-1] >= 0


def sqrt_of_squares(parts: list) -> np.ndarray:
    return np.sqrt(sum(np.asarray(one) ** 2 for one in parts))


WIRES = [  # kind, mass, size, spin, μ, μ_s, u, u̇ at the start, until
    (0, 1.3, 1.0, 0.0, 0.2, 0.2, 0.0, 3.0, 2.5),
    (0, 1.0, 1.0, 0.0, 0.6, 0.6, 0.0, -4.0, 2.0),  # stops and stays
    (1, 0.4, 1.0, 3.0, 0.15, 0.2, 1.0, 0.0, 1.0),  # a spiral that turns: thrown outwards
    (2, 2.0, 1.0, 0.0, 0.1, 0.1, 0.3, 0.0, 3.0),  # a hoop: there and back until it sticks
    (3, 1.0, 1e-4, 0.0, 0.05, 0.08, 0.2, 0.0, 0.02),  # a tenth of a millimetre
    (4, 5.0, 10.0, 0.7, 0.1, 0.1, 0.0, 0.5, 2.0),
    (5, 1e-6, 1.0, 4.0, 0.3, 0.4, 0.1, 0.0, 0.8),  # a rod that turns: Coriolis' force presses sideways
    (2, 1e6, 3.0, 1.5, 0.2, 0.3, 1.4, 2.0, 3.0),
]


@family(count=16, sample=(0,))
def resultant_of_two_rows(seed: int) -> None:
    """Beads on wires (0 to 7), journals with an unbalance (8 to 11), two journals on one shaft, a sleeve that turns and slides,
    a rotor driven through a spring, `in_mode` of a bead: motions, reactions, cones and energy against own references."""
    if seed < len(WIRES):
        _bead(seed)
    else:
        (_journal, _journal, _journal, _journal, _two_journals, _sleeve, _driven, _ensemble)[seed - len(WIRES)](seed)


def _bead(seed: int) -> None:
    kind, mass, size, spin, mu, static, u0, ud0, until = WIRES[seed]
    system, u, rub = _wire(kind, mass, size, spin, mu, static)
    motion = ap.simulate(system, {u: u0, u.d: ud0}, until, rtol=1e-10, atol=1e-13, backend="c" if seed % 3 == 1 else "vm")
    reference, _ = _wire_reference(kind, size, spin, mu, static)
    s, v, events = reference.run(u0, ud0, until)
    assert abs(motion.final[u] - s) < 1e-8 * max(1, abs(s)) and abs(motion.final[u.d] - v) < 1e-7 * max(1, abs(v)), (
        motion.final[u] - s, motion.final[u.d] - v, events, motion.phases)  # fmt: skip
    found = [p.end for p in motion.phases[:-1]]
    moments = [time for time, _ in events]
    assert len(found) == len(moments) and np.allclose(found, moments, rtol=0, atol=1e-7 * until), (found, events)
    _checked(motion, ["across", "over"], rub, mu, static)


def _journal_system(m: float, inertia: float, e: float, radius: float, mu: float, g: float, torque=0, static=None):
    x, y, phi = ap.coordinates("x y phi")
    rows = [ap.Constraint(x, name="sideways"), ap.Constraint(y, name="upright")]
    place = (x + e * cos(phi), y + e * sin(phi))
    rate = [ap.total_derivative(one) for one in place]
    rub = ap.Friction(radius * phi.d, normal=rows, coefficient=mu, static=static, name="journal")
    system = ap.System(
        coordinates=[x, y, phi], kinetic=m / 2 * (rate[0] ** 2 + rate[1] ** 2) + inertia / 2 * phi.d**2,
        potential=m * g * place[1], forces={phi: torque}, constraints=[*rows, rub],
    )  # fmt: skip
    return system, phi, rub


def _journal_reference(m: float, inertia: float, e: float, radius: float, mu: float, g: float, torque=lambda t, phi: 0.0,
                       static=None):  # fmt: skip
    """φ̈ = α: N = m e (α (−s, c) − φ̇² (c, s)) + (0, m g);  (I + m e²) α = −m g e c + M − way μ r |N|: a quadratic equation."""
    J = inertia + m * e**2

    def slide(t: float, phi: float, w: float, way: int) -> float:
        c, s = np.cos(phi), np.sin(phi)
        a, b = m * e * np.array([-s, c]), np.array([-m * e * w**2 * c, -m * e * w**2 * s + m * g])
        drive, f = torque(t, phi) - m * g * e * c, mu * radius  # J α − drive = −way f |a α + b|
        A, B, C = J**2 - f**2 * (a @ a), -2 * J * drive - 2 * f**2 * (a @ b), drive**2 - f**2 * (b @ b)
        roots = np.roots([A, B, C]).real
        return float(next(x for x in roots if way * (J * x - drive) <= 1e-12 * abs(drive)))

    def hold(t: float, phi: float) -> float:
        return (static or mu) * radius * m * g - abs(torque(t, phi) - m * g * e * np.cos(phi))

    return OneWay(slide, hold, lambda t, phi: torque(t, phi) - m * g * e * np.cos(phi))


def _journal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, e, radius = 10.0 ** rng.uniform(-3, 3), rng.uniform(0.01, 0.1), rng.uniform(0.02, 0.08)
    inertia, mu, g, w = m * rng.uniform(0.01, 0.05), rng.uniform(0.1, 0.5), G, rng.uniform(5, 12)
    system, phi, rub = _journal_system(m, inertia, e, radius, mu, g)
    motion = ap.simulate(system, {phi.d: w}, 6.0, rtol=1e-10, atol=1e-13, backend="vm" if seed % 2 else "c")
    angle, speed, events = _journal_reference(m, inertia, e, radius, mu, g).run(0.0, w, 6.0)
    assert abs(motion.final[phi] - angle) < 1e-7 * max(1, abs(angle)) and abs(motion.final[phi.d] - speed) < 1e-6
    found = [p.end for p in motion.phases[:-1]]
    assert len(found) == len(events) and np.allclose(found, [time for time, _ in events], rtol=0, atol=1e-6), (found, events)
    _checked(motion, ["sideways", "upright"], rub, mu, mu)


def _driven(seed: int) -> None:
    """A balanced rotor turned through a spring at a constant rate: it sticks and slips for ever."""
    m, inertia, radius, mu, stiffness, rate, static = 2.0, 0.01, 0.05, 0.3, 4.0, 0.4, 0.6
    torque = lambda t, phi: stiffness * (rate * t - phi)
    spring = stiffness * (rate * ap.t - ap.coordinates("phi"))
    system, phi, rub = _journal_system(m, inertia, 0.02, radius, mu, G, spring, static)
    motion = ap.simulate(system, {}, 6.0, rtol=1e-10, atol=1e-13)
    angle, speed, events = _journal_reference(m, inertia, 0.02, radius, mu, G, torque, static).run(0.0, 0.0, 6.0)
    assert len(events) > 3 and abs(motion.final[phi] - angle) < 1e-7 and abs(motion.final[phi.d] - speed) < 1e-6
    found = [p.end for p in motion.phases[:-1]]
    assert len(found) == len(events) and np.allclose(found, [time for time, _ in events], rtol=0, atol=1e-6)
    _checked(motion, ["sideways", "upright"], rub, mu, static)


def _two_journals(seed: int) -> None:
    """A rigid shaft in two bearings, its weight at a quarter of it: each bears its share."""
    m, length, radius, mu, inertia = 3.0, 1.2, 0.04, 0.25, 0.02
    x1, y1, x2, y2, phi = ap.coordinates("x1 y1 x2 y2 phi")
    share, across = 0.25, m * length**2 / 12
    cx, cy = ((1 - share) * a + share * b for a, b in ((x1, x2), (y1, y2)))
    tilt = [(b.d - a.d) / length for a, b in ((x1, x2), (y1, y2))]
    first = [ap.Constraint(x1, name="x1"), ap.Constraint(y1, name="y1")]
    second = [ap.Constraint(x2, name="x2"), ap.Constraint(y2, name="y2")]
    rubs = [ap.Friction(radius * phi.d, normal=rows, coefficient=mu, name=name)
            for rows, name in ((first, "left"), (second, "right"))]  # fmt: skip
    rate = [ap.total_derivative(one) for one in (cx, cy)]
    kinetic = m / 2 * (rate[0] ** 2 + rate[1] ** 2) + across / 2 * (tilt[0] ** 2 + tilt[1] ** 2) + inertia / 2 * phi.d**2
    system = ap.System(coordinates=[x1, y1, x2, y2, phi], kinetic=kinetic, potential=m * G * cy,
                       constraints=[*first, *second, *rubs])  # fmt: skip
    motion = ap.simulate(system, {phi.d: 30.0}, 5.0, rtol=1e-10)
    stop = 30.0 / (mu * radius * m * G / inertia)
    assert abs(motion.phases[0].end - stop) < 1e-9 * stop and abs(motion.final[phi] - 15.0 * stop) < 1e-9 * stop * 15
    left, right = np.abs(motion.reaction("left")), np.abs(motion.reaction("right"))
    assert np.allclose(left[:2], mu * 0.75 * m * G, rtol=1e-10) and np.allclose(right[:2], mu * 0.25 * m * G, rtol=1e-10)
    assert motion.ok


def _sleeve(seed: int) -> None:
    """A thin sleeve on a horizontal shaft, turning and sliding: its slip is slowed by μ g along a line."""
    m, radius, mu = 0.7, 0.05, 0.2
    x, y, z, phi = ap.coordinates("x y z phi")
    inertia = m * radius**2  # both parts of the slip are slowed alike, and its direction stays
    rows = [ap.Constraint(x, name="x"), ap.Constraint(y, name="y")]
    rub = ap.Friction([radius * phi.d, z.d], normal=rows, coefficient=mu, name="bore")
    system = ap.System(coordinates=[x, y, z, phi], kinetic=m / 2 * (x.d**2 + y.d**2 + z.d**2) + inertia / 2 * phi.d**2,
                       potential=m * G * y, constraints=[*rows, rub])  # fmt: skip
    slip = np.array([2.0, 1.5])
    motion = ap.simulate(system, {phi.d: slip[0] / radius, z.d: slip[1]}, 3.0, rtol=1e-10, backend="c" if seed % 2 else "vm")
    stop = np.linalg.norm(slip) / (mu * G)
    assert abs(motion.phases[0].end - stop) < 1e-9 and motion.phases[-1].state == "stick"
    assert abs(motion.final[z] - slip[1] * stop / 2) < 1e-8 and abs(motion.final[phi] - slip[0] / radius * stop / 2) < 1e-7
    _checked(motion, rows, rub, mu, mu)


def _ensemble(seed: int) -> None:
    """Many beads, each as it is alone; and a bead in its mode of sliding as an ordinary system."""
    kind, mass, size, spin, mu, static, *_ = WIRES[2]
    system, u, _ = _wire(kind, mass, size, spin, mu, static)
    starts = np.array([0.5, 1.0, 1.5])
    many = ap.simulate_many(system, {u: starts, u.d: np.array([0.0, 0.4, -0.5])}, 0.6, rtol=1e-9)
    for k, (at, rate) in enumerate(zip(starts, (0.0, 0.4, -0.5), strict=True)):
        one = ap.simulate(system, {u: at, u.d: rate}, 0.6, rtol=1e-9)
        assert abs(float(many["u"][k]) - one.final[u]) < 1e-12
    sliding = ap.simulate(system.in_mode({"rub": "slip-"}), {u: 1.5, u.d: -0.5}, 0.6, rtol=1e-10)
    assert abs(sliding.final[u] - float(many["u"][2])) < 1e-7
