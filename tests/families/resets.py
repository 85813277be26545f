"""Resets: motions against SciPy from event to event, derivatives against differences of sixth order, on every kind of system.

The reference knows accelerations and expressions alone: it looks for zeros of the guard on its own dense output and maps the
state by SymPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sympy
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from sympy import cos, sin
from tests.families.family import family

import appell as ap

x, y, w = ap.coordinates("x y w")
k, c, g, e = ap.parameters("k c g e", positive=True)
charge = ap.states("charge")
u1, u2, u3 = ap.speeds("u1 u2 u3")
phi = ap.coordinates("phi")


class Case(NamedTuple):
    """A system with resets, and a run of it."""

    system: ap.System
    start: dict[Any, float]
    until: float
    parameters: dict[Any, float]


def walker(rng: np.random.Generator) -> Case:
    example = ap.zoo.simplest_walker()
    start = {s: value * (1 + 0.01 * rng.uniform(-1, 1)) for s, value in example.start.items()}
    theta, gap = list(start)[:2]
    start[gap] = 2 * start[theta] + 0.02
    return Case(example.system, start, 9.0, example.parameters)


def thrown_back(rng: np.random.Generator) -> Case:
    """A ball between a racket that throws it up and another that sends it down, with a push that grows with time."""
    system = ap.System(
        [x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=g * y + k * x**2 / 2,
        constraints=[
            ap.Reset(y, {y.d: 3 - e * y.d, x.d: x.d + y.d / 10}, name="racket"),
            ap.Reset(2 - y - x / 10, {y.d: -e * y.d}, name="lid"),
        ],
    )  # fmt: skip
    start = {x: rng.uniform(-1, 1), y: 1.0, x.d: rng.uniform(-1, 1), y.d: rng.uniform(0, 3)}
    return Case(system, start, 4.0, {g: rng.uniform(2, 5), k: rng.uniform(1, 9), e: rng.uniform(0.5, 0.9)})


def forced(rng: np.random.Generator) -> Case:
    """An oscillator whose guard and map contain time."""
    system = ap.System(
        [x], kinetic=x.d**2 / 2, potential=k * x**2 / 2, forces={x: -c * x.d + cos(2 * ap.t)},
        constraints=[ap.Reset(x - sin(ap.t) / 2, {x.d: e * x.d + sin(ap.t), x: x + 1}, name="kick")],
    )  # fmt: skip
    return Case(system, {x: 1.0, x.d: rng.uniform(-1, 1)}, 8.0, {k: rng.uniform(1, 4), c: 0.1, e: rng.uniform(0.2, 0.8)})


def on_a_row(rng: np.random.Generator) -> Case:
    """A pendulum in Cartesian coordinates that is turned over where it crosses a line: the map keeps the row."""
    system = ap.System(
        [x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=g * y,
        constraints=[
            ap.Constraint(x**2 + y**2 - 1, "rod"),
            ap.Reset(x + k, {x: -x, x.d: -e * x.d, y.d: e * y.d}, name="turn"),
        ],
    )  # fmt: skip
    angle, speed = rng.uniform(-0.3, 0.3), rng.uniform(2, 3)
    start = {x: np.sin(angle), y: -np.cos(angle), x.d: -speed * np.cos(angle), y.d: -speed * np.sin(angle)}
    return Case(system, start, 3.0, {g: 3.0, k: rng.uniform(0.4, 0.6), e: rng.uniform(0.9, 1.1)})


def with_speeds(rng: np.random.Generator) -> Case:
    """A disc in the speeds of its own axes that is turned and slowed where it leaves a circle."""
    system = ap.System(
        [x, y, phi], kinetic=(u1**2 + u2**2 + u3**2 / 2) / 2, speeds=[u1, u2, u3],
        kinematics={x: u1 * cos(phi) - u2 * sin(phi), y: u1 * sin(phi) + u2 * cos(phi), phi: u3}, forces={u1: -c * u1},
        constraints=[ap.Reset(k - x**2 - y**2, {phi: phi + 3, u3: e * u3 + u1 / 3}, name="edge")],
    )  # fmt: skip
    start = {x: rng.uniform(-0.3, 0.3), phi: rng.uniform(0, 6), u1: rng.uniform(1, 2), u3: rng.uniform(0.2, 0.6)}
    return Case(system, start, 4.0, {c: 0.2, k: 1.0, e: rng.uniform(0.5, 0.9)})


def charged(rng: np.random.Generator) -> Case:
    """A state of first order fills until it empties at once and kicks a mass."""
    system = ap.System(
        [x], kinetic=x.d**2 / 2, potential=k * x**2 / 2, rates={charge: 1 - c * charge + x / 5},
        constraints=[ap.Reset(1 - charge, {charge: 0.1, x.d: x.d + e}, name="spark")],
    )  # fmt: skip
    return Case(system, {x: rng.uniform(-1, 1)}, 5.0, {k: rng.uniform(1, 5), c: 0.3, e: rng.uniform(0.3, 0.9)})


def two_at_once(rng: np.random.Generator) -> Case:
    """A map that brings the guard of another reset below zero: both follow at one instant."""
    system = ap.System(
        [x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=k * (x**2 + 2 * y**2) / 2,
        constraints=[
            ap.Reset(x, {x: x - y**2 - 1, x.d: x.d / 2}, name="first"),
            ap.Reset(x + 1, {x: x + 2 + e, y.d: y.d + x.d / 4}, name="second"),
        ],
    )  # fmt: skip
    start = {x: 1.0, y: rng.uniform(0.5, 1), x.d: rng.uniform(-1, 0), y.d: rng.uniform(-1, 1)}
    return Case(system, start, 4.0, {k: rng.uniform(1, 4), e: rng.uniform(0.3, 0.9)})


def beside_a_wall(rng: np.random.Generator) -> Case:
    """Bounces on a wall between resets."""
    system = ap.System(
        [x], kinetic=x.d**2 / 2, potential=k * x**2 / 2,
        constraints=[ap.Unilateral(x + c, "wall", restitution=e), ap.Reset(x - c / 2, {x.d: x.d * 1.3}, name="push")],
    )  # fmt: skip
    return Case(system, {x: 1.0, x.d: rng.uniform(0, 1)}, 5.0, {k: rng.uniform(1, 4), c: 0.5, e: rng.uniform(0.6, 0.9)})


KINDS = [walker, thrown_back, forced, on_a_row, with_speeds, charged, two_at_once, beside_a_wall]


def reference(case: Case) -> tuple[list[float], np.ndarray]:
    """Times of the resets and the last state, (nq + nv,), by SciPy."""
    run = ap.compile(case.system, case.parameters, backend="vm")
    system, p = run.system, dict(run.parameters)
    symbols = [*system.positions, *system.velocities]
    rate = sympy.lambdify([ap.t, *symbols], [system.rates[q].xreplace(p) for q in system.positions])
    number = lambda expr: sympy.lambdify([ap.t, *symbols], expr.xreplace(p))
    guards = [number(system.in_velocities(one.guard)) for one in system.resets]
    maps = [number(sympy.Matrix([one.map.get(s, s) for s in symbols])) for one in system.resets]
    nq = len(system.positions)
    f = lambda t, z: np.concatenate([rate(t, *z), run.acceleration(t, z[:nq], z[nq:])[0]])
    t, z, found = 0.0, np.array([float(case.start.get(s, 0.0)) for s in symbols]), []
    while t < case.until:
        part = solve_ivp(f, (t, case.until), z, method="DOP853", rtol=1e-12, atol=1e-14, dense_output=True, max_step=0.2)
        fine = np.linspace(t, case.until, 1001)
        along = part.sol(fine)
        hits = []
        for i, guard in enumerate(guards):
            values = np.broadcast_to(guard(fine, *along), fine.shape)
            fell = np.flatnonzero((values[:-1] > 1e-12) & (values[1:] <= 0))
            if len(fell):
                at = brentq(lambda s, h=guard, z=part.sol: float(h(s, *z(s))), fine[fell[0]], fine[fell[0] + 1], xtol=1e-14)
                hits.append((at, i))
        if not hits:
            return found, part.y[:, -1]
        t, i = min(hits)
        z = part.sol(t)
        while i is not None:
            found.append(t)
            above = [float(guard(t, *z)) > 1e-9 for guard in guards]
            z = np.array(maps[i](t, *z), dtype=float).ravel()
            i = next((j for j, guard in enumerate(guards) if j != i and above[j] and float(guard(t, *z)) < -1e-9), None)
    return found, z


@family(count=24, sample=(0,))
def resets_against_scipy(seed: int) -> None:
    """Times of resets and the last state."""
    rng = np.random.default_rng(seed)
    case = KINDS[seed % 7](rng)
    backend = ("c", "vm")[seed // 7 % 2]
    options = {"rtol": 1e-11, "atol": 1e-13, "backend": backend}
    motion = ap.simulate(case.system, case.start, case.until, case.parameters, **options)
    times, last = reference(case)
    assert motion.ok, motion.message
    assert len(motion.resets) == len(times) and len(times) > 0
    assert np.allclose([event.time for event in motion.resets], times, atol=1e-8)
    assert np.allclose(np.concatenate([motion.q[-1], motion.v[-1]]), last, atol=2e-7 * np.abs(last).max())
    assert np.abs(motion.energy_error).max() < 1e-9
    asked = np.linspace(0, case.until, 7)
    beside = ap.simulate(case.system, case.start, case.until, case.parameters, times=asked, **options)
    assert np.allclose(beside.q, motion.at(asked).q, atol=1e-7)


SIXTH = np.array([-1, 9, -45, 45, -9, 1]) / 60
"""Weights of f(−3h), f(−2h), f(−h), f(h), f(2h), f(3h) in h f'."""


@family(count=24, sample=(0,))
def slopes_through_resets(seed: int) -> None:
    """∂z/∂z(0) and ∂z/∂p against differences of sixth order, to 1e-8."""
    rng = np.random.default_rng(seed)
    case = KINDS[seed % 8](rng)
    options = {"rtol": 1e-13, "atol": 1e-15, "backend": ("c", "vm")[seed // 16]}
    found = ap.variations(case.system, case.start, case.until, case.parameters, **options)
    assert found.ok and found.motion.resets
    system = found.motion.system
    symbols = [*system.positions, *system.velocities]
    z0 = np.concatenate([found.motion.q[0], found.motion.v[0]])
    h = 1e-4

    def end(dz: np.ndarray, dp: dict[Any, float]) -> np.ndarray:
        moved = {s: value + dp.get(s, 0.0) for s, value in case.parameters.items()}
        start = ap.consistent(system, dict(zip(symbols, map(float, z0 + dz), strict=True)), moved)
        motion = ap.simulate(system, start, case.until, moved, **options)
        return np.concatenate([motion.q[-1], motion.v[-1]])

    for _ in range(2):  # along random directions, in which every entry stands
        way, by = rng.uniform(-1, 1, len(z0)), rng.uniform(-1, 1, len(system.parameters))
        ends = [end(i * h * way, dict(zip(system.parameters, i * h * by, strict=True))) for i in (-3, -2, -1, 1, 2, 3)]
        difference = SIXTH @ np.array(ends) / h
        slope = found.monodromy @ way + found.parameters[-1] @ by
        assert np.allclose(difference, slope, atol=1e-8 * max(1.0, np.abs(slope).max()))
