"""Derivatives through sticking, slipping and their transitions, against differences of sixth order, on random systems."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sympy import cos, sin
from tests.families.family import family

import appell as ap

x, y, w = ap.coordinates("x y w")
m, k, g, c, mu, mu_s, F = ap.parameters("m k g c mu mu_s F", positive=True)


class Case(NamedTuple):
    """A run of a system with friction; free: the states that its start may be moved in."""

    system: ap.System
    start: dict[Any, float]
    until: float
    parameters: dict[Any, float]
    free: list[Any]


def belt(rng: np.random.Generator) -> Case:
    """Stick, break away with a larger coefficient, slide, stick again."""
    example = ap.zoo.block_on_belt()
    a = example.system.coordinates[0]
    start = {a: rng.uniform(0.4, 0.6), a.d: rng.uniform(-0.1, 0.1)}
    values = {s: value * rng.uniform(0.9, 1.1) for s, value in example.parameters.items()}
    return Case(example.system, start, 6.0, values, [a, a.d])


def weakening(rng: np.random.Generator) -> Case:
    """A block on a belt whose friction falls with the speed of its slip."""
    wire = ap.Constraint(y, "belt")
    law = ap.Friction(x.d - c, normal=wire, coefficient=lambda s: mu / (1 + s), name="rub")
    system = ap.System([x, y], kinetic=m * (x.d**2 + y.d**2) / 2, potential=k * x**2 / 2 + m * g * y, constraints=[wire, law])
    values = {m: 1.0, k: rng.uniform(8, 12), g: 10.0, c: 0.3, mu: rng.uniform(0.3, 0.5)}
    return Case(system, {x: rng.uniform(0.6, 0.8), x.d: rng.uniform(-0.1, 0.1)}, 5.0, values, [x, x.d])


def shaken(rng: np.random.Generator) -> Case:
    """A block on a floor that it may leave, shaken by a force: slip either way, crossings and rests."""
    floor = ap.Unilateral(y, "floor", restitution=0)
    system = ap.System(
        [x, y], kinetic=m * (x.d**2 + y.d**2) / 2, potential=m * g * y + k * x**2 / 2,
        forces={x: F * cos(2 * ap.t), y: -c * sin(3 * ap.t)},
        constraints=[floor, ap.Friction(x.d, normal=floor, coefficient=mu, name="rub")],
    )  # fmt: skip
    values = {m: 1.0, g: 10.0, k: rng.uniform(1, 4), F: rng.uniform(3, 6), c: rng.uniform(0.5, 2), mu: rng.uniform(0.1, 0.3)}
    return Case(system, {x: rng.uniform(-1, 1), x.d: rng.uniform(1, 2)}, 5.0, values, [x, x.d])


def two_blocks(rng: np.random.Generator) -> Case:
    """Two masses on a spring, one with a limit of its own, the other on a wire whose reaction presses."""
    wire = ap.Constraint(y, "wire")
    system = ap.System(
        [x, w, y], kinetic=(x.d**2 + m * w.d**2 + y.d**2) / 2, potential=k * (x - w) ** 2 / 2 + k * x**2 / 4 + g * y,
        forces={x: c * sin(2 * ap.t)},
        constraints=[
            wire, ap.Friction(x.d, normal=wire, coefficient=mu, static=mu_s, name="first"),
            ap.Friction(w.d - x.d / 3, limit=F, name="second"),
        ],
    )  # fmt: skip
    values = {m: rng.uniform(1, 2), g: 10.0, k: rng.uniform(2, 6), c: rng.uniform(2, 4), F: rng.uniform(0.3, 0.8)}
    values |= {mu: 0.1, mu_s: rng.uniform(0.12, 0.18)}
    return Case(system, {x: rng.uniform(-1, 1), w: rng.uniform(-1, 1), x.d: 1.0, w.d: -0.5}, 4.0, values, [x, w, x.d, w.d])


def dry_joint(rng: np.random.Generator) -> Case:
    """A pendulum with dry friction in its joint, in Cartesian coordinates."""
    spin = x * y.d - y * x.d
    system = ap.System(
        [x, y], kinetic=m * (x.d**2 + y.d**2) / 2, potential=m * g * y,
        constraints=[ap.Constraint(x**2 + y**2 - 1, "rod"), ap.Friction(spin, limit=F, name="joint")],
    )  # fmt: skip
    angle, rate = rng.uniform(0.8, 1.2), rng.uniform(0.5, 1.5)
    start = {x: np.sin(angle), y: -np.cos(angle), x.d: rate * np.cos(angle), y.d: rate * np.sin(angle)}
    return Case(system, start, 3.0, {m: 1.0, g: 9.81, F: rng.uniform(0.6, 1.2)}, [x, y, x.d, y.d])


def thrown_on(rng: np.random.Generator) -> Case:
    """A block on a wire that a reset throws back while it slides."""
    wire = ap.Constraint(y, "wire")
    system = ap.System(
        [x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=g * y + k * x**2 / 2,
        constraints=[
            wire, ap.Friction(x.d, normal=wire, coefficient=mu, name="rub"),
            ap.Reset(c - x, {x.d: -2 * x.d, x: x - 0.1}, name="back"),
        ],
    )  # fmt: skip
    values = {g: 10.0, k: rng.uniform(1, 3), mu: rng.uniform(0.1, 0.2), c: 1.0}
    return Case(system, {x: 0.2, x.d: rng.uniform(2.5, 3.5)}, 4.0, values, [x, x.d])


KINDS = [belt, shaken, two_blocks, dry_joint, thrown_on, weakening]
SIXTH = np.array([-1, 9, -45, 45, -9, 1]) / 60
"""Weights of f(−3h), f(−2h), f(−h), f(h), f(2h), f(3h) in h f'."""


def slopes_along(
    found: Any, case: Case, rng: np.random.Generator, h: float, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """∂z/∂z(0) and ∂z/∂p along a random direction at the end of a motion: by differences of runs, and by its variations."""
    system = found.motion.system
    symbols = [*system.positions, *system.velocities]
    z0 = np.concatenate([found.motion.q[0], found.motion.v[0]])
    way = np.array([rng.uniform(-1, 1) if s in case.free else 0.0 for s in symbols])
    by = np.array([rng.uniform(-1, 1) * case.parameters[s] for s in system.parameters])

    def end(i: int) -> np.ndarray:
        values = {s: case.parameters[s] + i * h * b for s, b in zip(system.parameters, by, strict=True)}
        start = dict(zip(symbols, map(float, z0 + i * h * way), strict=True))
        motion = ap.simulate(system, ap.consistent(system, start, values), case.until, values, **options)
        return np.concatenate([motion.q[-1], motion.v[-1]])

    return SIXTH @ np.array([end(i) for i in (-3, -2, -1, 1, 2, 3)]) / h, found.monodromy @ way + found.parameters[-1] @ by


@family(count=24, sample=(0,))
def slopes_through_stick_and_slip(seed: int) -> None:
    """∂z/∂z(0) and ∂z/∂p along a random direction, to 1e-8."""
    rng = np.random.default_rng(seed)
    case = KINDS[seed % len(KINDS)](rng)
    options = {"rtol": 1e-13, "atol": 1e-15, "backend": ("c", "vm")[seed // 18]}
    found = ap.variations(case.system, case.start, case.until, case.parameters, **options)
    assert found.ok, found.message
    assert len(found.motion.phases) > 1
    difference, slope = slopes_along(found, case, rng, 2e-5, options)
    assert np.allclose(difference, slope, atol=1e-8 * max(1.0, np.abs(slope).max())), np.abs(difference - slope).max()
