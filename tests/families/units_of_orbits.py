"""Orbits, branches, sections, sweeps and diagnoses of one machine written in other units: the same answers.

The scales are parameters of one system, so that its derivation and its compiled code are shared. No tolerance, period or step
is given beyond what the question needs: the defaults come from the model.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sympy import cos, sin
from tests.families.family import family

import appell as ap

L, T, M = ap.parameters("length_unit time_unit mass_unit", positive=True)
UNITS = (
    (1e-9, 1.0, 1.0), (1.5e11, 3e7, 2e30), (1e-6, 1e-6, 1e-9), (1.0, 1e6, 1.0), (1.0, 1e-6, 1.0), (1e6, 1.0, 1.0),
    (3e-9, 2e-4, 1e-17), (1e3, 1e-9, 1e12), (1e-12, 1e-12, 1e-27), (2e-7, 5e3, 1e-3), (1.0, 1.0, 1e12), (1e-3, 60.0, 1e-12),
)  # fmt: skip
ONE = (1.0, 1.0, 1.0)


def in_units(units: tuple[float, float, float]) -> dict[Any, float]:
    return dict(zip((L, T, M), units, strict=True))


@cache
def duffing() -> tuple[ap.System, Any, Any]:
    x, A = ap.coordinates("x"), ap.parameters("A")
    force = -0.2 * M / T * x.d + A * cos(1.6 * ap.t / T)
    return ap.System([x], M * x.d**2 / 2, M / T**2 * (x**2 / 2 + x**4 / (4 * L**2)), forces={x: force}), x, A


@cache
def cycle() -> tuple[ap.System, Any]:
    x = ap.coordinates("x")
    return ap.System([x], M * x.d**2 / 2, M / T**2 * x**2 / 2, forces={x: M / T * (1 - x**2 / L**2) * x.d}), x


@cache
def cart() -> tuple[ap.System, Any, Any]:
    """A length beside an angle: a cart on a spring with a pendulum."""
    x, a = ap.coordinates("x a")
    kinetic = M * (2 * x.d**2 + L**2 * a.d**2 + 2 * L * x.d * a.d * cos(a)) / 2
    return ap.System([x, a], kinetic, M / T**2 * (x**2 / 2 + L**2 * (1 - cos(a)))), x, a


@cache
def wells() -> tuple[ap.System, Any, Any]:
    x, push = ap.coordinates("x"), ap.parameters("push")
    potential = M / T**2 * (-(x**2) / 2 + x**4 / (4 * L**2))
    force = -0.25 * M / T * x.d + push * M * L / T**2 * cos(ap.t / T)
    return ap.System([x], M * x.d**2 / 2, potential, forces={x: force}), x, push


@cache
def hammer() -> tuple[ap.System, Any, Any]:
    x, w = ap.coordinates("x"), ap.parameters("w")
    wall = ap.Unilateral(x + L / 10, restitution=0.7, name="wall")
    force = 0.8 * M * L / T**2 * cos(w * ap.t)
    return ap.System([x], M * x.d**2 / 2, M / T**2 * x**2 / 2, forces={x: force}, constraints=[wall]), x, w


def sorted_(multipliers: Any) -> Any:
    return np.sort_complex(np.round(np.asarray(multipliers), 7))


@family(sample=(0, 1))
def free_orbits(seed: int) -> None:
    """A limit cycle from a guess without a period, and the fast mode of a cart with a pendulum."""

    def found(units: tuple[float, float, float]) -> list[Any]:
        (system, x), (l, t, _) = cycle(), units
        orbit = ap.periodic_orbit(system, guess={x: 2 * l}, parameters=in_units(units))
        (pair, y, a) = cart()
        mode = ap.periodic_orbit(pair, guess={y: -0.062 * l, a: 0.1}, period_guess=3.9 * t, parameters=in_units(units))
        assert orbit.ok and mode.ok, (orbit.message, mode.message)
        return [orbit.period / t, orbit.stable, mode.period / t, *mode.multipliers.real]

    one, other = found(ONE), found(UNITS[seed])
    assert abs(one[0] - 6.6632868593) < 1e-8  # van der Pol's, to ten digits
    assert np.allclose(one, other, rtol=1e-8, atol=2e-5), (one, other)


@family(sample=(1, 6))
def branches_of_orbits(seed: int) -> None:
    """The folds of the resonance curve of a hardening spring over the amplitude of its forcing."""
    system, x, A = duffing()

    def folds(units: tuple[float, float, float]) -> list[float]:
        (l, t, m), p = units, in_units(units)
        F, period = m * l / t**2, 2 * np.pi / 1.6 * t
        orbit = ap.periodic_orbit(system, guess={x: -0.3 * l}, period=period, parameters={**p, A: 0.3 * F})
        branch = ap.continue_orbit(system, A, orbit, 1.2 * F, period=period, max_step=0.4 if seed % 2 else 0.3)
        assert orbit.ok and branch.ok, (orbit.message, branch.message)
        return [one.value / F for one in branch.special if one.kind == "fold"]

    one, other = folds(ONE), folds(UNITS[seed])
    assert len(one) == 2 and np.allclose(one, other, rtol=1e-6), (one, other)


@family(sample=(3, 4))
def sections(seed: int) -> None:
    """Crossings of a plane by a cart with a pendulum: as many as asked for, without an end of the search."""
    system, x, a = cart()

    def crossings(units: tuple[float, float, float]) -> Any:
        l, t, _ = units
        found = ap.poincare(system, sin(a), {x: 0.4 * l, a: 0.9}, parameters=in_units(units), count=6)
        assert found.ok, found.message
        return np.concatenate([found.t / t, found[x] / l, found[a.d] * t])

    assert np.allclose(crossings(ONE), crossings(UNITS[seed]), rtol=1e-6, atol=1e-8)


@family(sample=(0, 7))
def sweeps(seed: int) -> None:
    """Late states of a hammer over its frequency, with the default tolerances, and its periodic orbit."""
    system, x, w = hammer()

    def late(units: tuple[float, float, float]) -> Any:
        (l, t, _), p = units, in_units(units)
        values = np.array([2.0, 2.6]) / t
        found = ap.bifurcation_diagram(system, {w: values}, {x: 0.2 * l}, parameters=p, skip=300, keep=6, period=2 * np.pi / w)
        assert found.ok, found.message
        guess = {x: float(found[x][0, -1]), x.d: float(found[x.d][0, -1])}
        orbit = ap.periodic_orbit(system, guess=guess, period=np.pi * t, parameters={**p, w: 2.0 / t})
        assert orbit.ok and orbit.stable, orbit.message
        return np.concatenate([np.sort(found[x], axis=1).ravel() / l, sorted_(orbit.multipliers)])

    assert np.allclose(late(ONE), late(UNITS[seed]), rtol=0, atol=1e-5)


@family(sample=(0, 5))
def basins(seed: int) -> None:
    """The wells of a double potential: with forcing closed orbits, without it two rests."""
    system, x, push = wells()

    def reached(units: tuple[float, float, float]) -> list[Any]:
        l, t, _ = units
        grid = {x: np.array([-1.2, 0.3, 1.4]) * l, x.d: np.array([-0.7, 0.1, 0.8]) * l / t}
        options: dict[str, Any] = {"period": 2 * np.pi * t} if seed % 2 == 0 else {}
        at = {**in_units(units), push: 0.0 if seed % 2 else 0.1}
        found = ap.basin(system, grid, parameters=at, most=150, **options)
        return [found.ok, [one.kind for one in found.attractors], found.labels.tolist()]

    one, other = reached(ONE), reached(UNITS[seed])
    assert one == other and one[0], (one, other)


@family(sample=(0, 3))
def responses_and_exponents(seed: int) -> None:
    """Amplitudes over a frequency, and the sum of the Lyapunov exponents, which is the damping."""
    system, x, w = hammer()
    ring = ap.System(system.coordinates, system.kinetic, system.potential, forces={x: system.forces[0] - 0.4 * M / T * x.d})
    double, y, push = wells()

    def found(units: tuple[float, float, float]) -> Any:
        (l, t, _), p = units, in_units(units)
        values = np.array([0.6, 1.3]) / t
        response = ap.frequency_response(ring, x, {w: values}, {}, parameters=p, skip=30, samples=64, period=2 * np.pi / w)
        assert response.ok, response.message
        growth = ap.lyapunov(double, {y: 0.1 * l}, 40 * t, parameters={**p, push: 0.3}, every=t)
        return np.append(response.amplitude / l, growth.exponents.sum() * t)

    one, other = found(ONE), found(UNITS[seed])
    assert abs(one[-1] + 0.25) < 1e-6
    assert np.allclose(one, other, rtol=1e-5), (one, other)


@family(sample=(6, 9))
def diagnoses(seed: int) -> None:
    """What `ap.diagnose` says of a damped oscillator, of two bodies on a spring and of a rolling disc."""
    x, y, turn, roll = ap.coordinates("x y turn roll")
    l, t, m = UNITS[seed]
    damped = ap.System([x], m * x.d**2 / 2, m / t**2 * x**2 / 2, forces={x: -0.2 * m / t * x.d})
    pair = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m / t**2 * (x - y) ** 2 / 2)
    kinetic = m * (x.d**2 + y.d**2 + l**2 * turn.d**2 + l**2 * roll.d**2 / 2) / 2
    rolling = [x.d - l * cos(turn) * roll.d, y.d - l * sin(turn) * roll.d]
    disc = ap.System([x, y, turn, roll], kinetic, constraints=rolling)
    said = [" ".join(map(str, ap.diagnose(system).findings)) for system in (damped, pair, disc)]
    assert "the energy is not conserved: the forces do work" in said[0], said[0]
    assert "(a shift of x with a shift of y)" in said[1] and "the energy T + V is conserved" in said[1], said[1]
    assert "2 degrees of freedom" in said[2] and "redundant" not in said[2], said[2]
    assert "(a shift of turn)" in said[2] and "(a shift of roll)" in said[2], said[2]


@family(sample=(0, 3))
def times_of_exponents(seed: int) -> None:
    """The intervals between renormalisations come from the model: as many in any units, and their sum is the damping."""
    double, y, push = wells()

    def found(units: tuple[float, float, float], **options: Any) -> Any:
        l, t, _ = units
        growth = ap.lyapunov(double, {y: 0.4 * l}, 20 * t, parameters={**in_units(units), push: 0.2}, **options)
        return [len(growth.t), *growth.exponents * t]

    one, other = found(ONE), found(UNITS[seed])
    assert one[0] == other[0] and abs(sum(one[1:]) + 0.25) < 1e-6, (one, other)
    assert np.allclose(one, other, rtol=1e-5, atol=1e-6), (one, other)
