"""`ap.rolling(body, on=surface, friction=)`: balls and discs that roll or slide on curved surfaces."""

from __future__ import annotations

import numpy as np
from sympy import cos, sin, sqrt
from tests.families.family import family

import appell as ap

G, M, RADIUS = 9.81, 0.8, 0.1


def _ball(surface, mu, coordinates=(), r=RADIUS, m=M):
    x, y, z = ap.coordinates("x y z")
    turn = ap.quaternion("b")
    ball = ap.RigidBody(m, [0.4 * m * r**2] * 3, [x, y, z], turn, name="ball")
    rows = ap.rolling(ball, r, axis=None, on=surface, **({} if mu is None else {"friction": mu}))
    return ap.System([x, y, z, turn, *coordinates], potential=m * G * z, bodies=[ball], constraints=rows), (x, y, z), turn


@family(count=12, sample=(0,))
def rough_curved_surface(seed: int) -> None:
    """Member 0: a ball inside a cylinder that slides first and rolls then; others: rough bowls and cylinders as if there were
    rows of rolling, smooth ones as a point, inclines by their distance, surfaces by their points, small and large ones."""
    checks = (_slides_then_rolls, *[_rough] * 4, *[_smooth] * 3, _incline, _points, _small, _cone)
    checks[seed](seed)


def _bowl(R):
    return lambda x, y, z: R - sqrt(x**2 + y**2 + z**2)


def _pipe(R):
    return lambda x, y, z: R - sqrt(x**2 + z**2)


def _slides_then_rolls(seed: int) -> None:
    """Along the bottom of a horizontal pipe: v = 5 v₀/7 from t = 2 v₀/(7 μ g) on."""
    system, (_, y, z), _ = _ball(_pipe(0.6), 0.2)
    motion = ap.simulate(system, {z: -0.5, y.d: 1.3}, 0.6, rtol=1e-10)
    stick = next(p for p in motion.phases if p.state == "stick")
    assert motion.ok and abs(stick.start - 2 * 1.3 / (7 * 0.2 * G)) < 1e-7 and abs(motion.final[y.d] - 5 * 1.3 / 7) < 1e-8


def _rough(seed: int) -> None:
    """μ = 3 holds: the motion is that of the rows of rolling, and friction is their force."""
    surface = (_bowl(0.6), _pipe(0.6), _bowl(1.1), _pipe(0.9))[seed - 1]
    R = (0.5, 0.5, 1.0, 0.8)[seed - 1]
    rough, (x, y, z), turn = _ball(surface, 3.0)
    rolls, *_ = _ball(surface, None)
    a = 0.5
    start = {x: R * np.sin(a), z: -R * np.cos(a), y.d: 0.4 if seed % 2 == 0 else 0.0}
    start = ap.consistent(rolls, start, hold=[x, z])
    times = np.linspace(0, 0.5, 6)
    known, found = (ap.simulate(one, start, 0.5, times=times, rtol=1e-9) for one in (rolls, rough))
    assert found.ok and {p.state for p in found.phases} == {"stick"}, found.phases
    assert max(np.abs(found[q] - known[q]).max() for q in (x, y, z, *turn.coordinates)) < 1e-7


def _smooth(seed: int) -> None:
    """μ = 0 is a point that slides on the surface of the centres: a pendulum of R − r."""
    system, (x, _, z), _ = _ball(_bowl(0.6) if seed % 2 else _pipe(0.6), 0)
    a = 0.3 + 0.1 * seed
    motion = ap.simulate(system, {x: 0.5 * np.sin(a), z: -0.5 * np.cos(a)}, 0.7, rtol=1e-10)
    phi = ap.coordinates("phi")
    pendulum = ap.System([phi], 0.25 * phi.d**2 / 2, -G * 0.5 * cos(phi))
    known = ap.simulate(pendulum, {phi: a}, 0.7, rtol=1e-11)
    assert motion.ok and abs(motion.final[x] - 0.5 * np.sin(known.final[phi])) < 1e-8


def _incline(seed: int) -> None:
    """A ball on an incline given by its distance: 5/7 g sin α where it rolls, g (sin α − μ cos α) where it slides."""
    a = 0.5
    for mu, rate in ((0.3, 5 / 7 * G * np.sin(a)), (0.1, G * (np.sin(a) - 0.1 * np.cos(a)))):
        system, (x, _, z), _ = _ball(lambda x, y, z: x * np.sin(a) + z * np.cos(a), mu)
        motion = ap.simulate(system, {x: RADIUS * np.sin(a), z: RADIUS * np.cos(a)}, 0.8, rtol=1e-10)
        way = np.hypot(motion.final[x] - RADIUS * np.sin(a), motion.final[z] - RADIUS * np.cos(a))
        assert motion.ok and abs(way - rate * 0.8**2 / 2) < 1e-7


def _points(seed: int) -> None:
    """The pipe by its points: three rows of contact press with their resultant, and the motion is that by its distance."""
    u, w = ap.coordinates("u w")
    R = 0.6
    wall = ((u, w), [R * sin(u), w, -R * cos(u)])  # ∂/∂u × ∂/∂w points inwards
    one, (x, y, z), _ = _ball(wall, 0.15, (u, w))
    other, *_ = _ball(_pipe(R), 0.15)
    a = 0.9
    start = {x: 0.5 * np.sin(a), z: -0.5 * np.cos(a), y.d: 0.5}
    first = ap.simulate(other, start, 0.4, rtol=1e-10)
    second = ap.simulate(one, ap.consistent(one, {**start, u: a, w: 0.0, w.d: 0.5}), 0.4, rtol=1e-10)
    assert first.ok and second.ok and max(abs(first.final[q] - second.final[q]) for q in (x, y, z)) < 1e-7
    pressed = np.sqrt(sum(second.reaction(f"ball: contact {axis}") ** 2 for axis in "xyz"))
    assert abs(pressed[0] - first.reaction("ball: height")[0]) < 1e-7


def _small(seed: int) -> None:
    """A ball of 10 µm in a pipe of 60 µm, as the large one."""
    s = 1e-4
    system, (_, y, z), _ = _ball(_pipe(0.6 * s), 0.2, r=RADIUS * s, m=1e-9)
    motion = ap.simulate(system, {z: -0.5 * s, y.d: 1.3e-2}, 0.006, rtol=1e-10, atol=1e-16)
    stick = next(p for p in motion.phases if p.state == "stick")
    assert abs(stick.start - 2 * 1.3e-2 / (7 * 0.2 * G)) < 1e-9 and abs(motion.final[y.d] - 5 * 1.3e-2 / 7) < 1e-10


def _cone(seed: int) -> None:
    """A rough cone: energy is lost while it slides, cones are kept, and what is lost is what friction took."""
    a = 0.6
    system, (x, y, z), _ = _ball(lambda x, y, z: z * np.cos(a) - np.sin(a) * sqrt(x**2 + y**2), 0.1)
    rho = 0.6
    start = {x: rho, z: (RADIUS + np.sin(a) * rho) / np.cos(a), y.d: 1.5}
    motion = ap.simulate(system, start, 0.5, rtol=1e-10)
    assert motion.ok and motion.dissipated[-1] > 0 and np.abs(motion.energy + motion.dissipated - motion.energy[0]).max() < 1e-8
    force = np.linalg.norm(motion.reaction("ball: friction"), axis=1)
    assert (force <= 0.1 * np.abs(motion.reaction("ball: height")) * (1 + 1e-8)).all()
