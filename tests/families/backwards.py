"""Runs backwards in time through elastic impacts: forward and back is the start again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from sympy import Heaviside, Matrix, Piecewise, cos, sin, sqrt
from tests.families.family import family

import appell as ap

G = 9.81


@family(count=14, sample=(0,))
def forward_and_back(seed: int) -> None:
    """Member 0: a ball between a floor and a wall; others: see each check."""
    checks = (_ball, _pendulum, _moving_wall, _stops, _body, _bead, _sleigh, _damped, _pulse, _many, _refused, _methods,
              _magnet, _motor)  # fmt: skip
    checks[seed](seed)


def _there_and_back(system, start, until: float, close: float = 1e-8, **options) -> None:
    options = {"rtol": 1e-11, "backend": "vm"} | options
    there = ap.simulate(system, start, until, **options)
    back = ap.simulate(system, there.final, 0.0, since=until, **options)
    assert there.ok and back.ok and back.t[0] == until and back.t[-1] == 0.0
    assert len([one for one in there.impacts if one.kind == "impact"]) > 0
    for symbol in (*system.positions, *system.velocities):
        size = max(1.0, float(np.abs(there[symbol]).max()))
        assert abs(back.final[symbol] - there[symbol][0]) < close * size, (symbol, back.final[symbol] - there[symbol][0])
    assert len(back.impacts) == len(there.impacts)
    for one, other in zip(sorted(back.impacts), sorted(there.impacts), strict=True):
        assert one.constraint == other.constraint and abs(one.time - other.time) < close * max(1.0, until)
        assert np.allclose([one.before, one.after, one.impulse], [other.before, other.after, other.impulse], 1e-6, 1e-7)
    inside = np.linspace(0.9, 0.1, 5) * until
    again = ap.simulate(system, there.final, 0.0, since=until, times=inside, **options)
    q = system.coordinates[0]
    assert np.abs(again[q] - there.at(inside[::-1])[q][::-1]).max() < close * max(1.0, float(np.abs(there[q]).max()))


def _ball(seed: int) -> None:
    x, y = ap.coordinates("x y")
    walls = [ap.Unilateral(y, name="floor"), ap.Unilateral(1 - x, name="wall")]
    system = ap.System(coordinates=[x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=G * y, constraints=walls)
    for backend in ("vm", "c"):
        _there_and_back(system, {y: 1.0, x.d: 1.3}, 3.0, backend=backend)


def _pendulum(seed: int) -> None:
    a, b = ap.coordinates("a b")
    x, y = sin(a) + sin(b), -cos(a) - cos(b)
    v = [ap.total_derivative(e) for e in (sin(a), -cos(a), x, y)]
    system = ap.System(coordinates=[a, b], kinetic=sum(e**2 for e in v) / 2, potential=G * (y - cos(a)),
                       constraints=[ap.Unilateral(x + 0.8, name="wall")])  # fmt: skip
    _there_and_back(system, {a: 0.9, b: 0.4}, 2.0, 1e-6)


def _moving_wall(seed: int) -> None:
    """A plate that shakes (Pustylnikov): the blow is elastic as seen from the plate."""
    y = ap.coordinates("y")
    system = ap.System(coordinates=[y], kinetic=y.d**2 / 2, potential=G * y,
                       constraints=[ap.Unilateral(y - 0.1 * sin(7 * ap.t), name="plate")])  # fmt: skip
    _there_and_back(system, {y: 0.7, y.d: 0.3}, 3.0, 1e-7)


def _stops(seed: int) -> None:
    x = ap.coordinates("x")
    k, w = ap.parameters("k w", positive=True)
    system = ap.System(coordinates=[x], kinetic=x.d**2 / 2, potential=k * x**2 / 2, forces={x: cos(w * ap.t)},
                       constraints=[ap.Between(-0.5, x, 0.7, name="stops")])  # fmt: skip
    _there_and_back(system, {x.d: 2.0}, 5.0, 1e-7, parameters={k: 3.0, w: 2.2})


def _body(seed: int) -> None:
    """A rigid body with three inertias, tumbling; its tip strikes a ceiling and a floor."""
    z, spin = ap.coordinates("z"), ap.quaternion("b")
    tip = z + (spin.rotation * Matrix([0.3, 0.1, 0.2]))[2]
    system = ap.System(coordinates=[z, spin], bodies=[ap.RigidBody(1.0, [0.1, 0.15, 0.2], [0, 0, z], spin)],
                       potential=G * z, constraints=[ap.Unilateral(tip + 0.5, name="floor")])  # fmt: skip
    start = {z: 0.5, **dict(zip(spin.rates, (2.0, -1.0, 0.5), strict=True))}
    _there_and_back(system, start, 1.2, 1e-6)


def _bead(seed: int) -> None:
    """A bead on a hoop by a constraint, between stops."""
    x, y = ap.coordinates("x y")
    rows = [ap.Constraint(sqrt(x**2 + y**2) - 1, name="hoop"), ap.Unilateral(x + 0.6, name="stop")]
    system = ap.System(coordinates=[x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=G * y, constraints=rows)
    _there_and_back(system, {x: np.sin(1.0), y: -np.cos(1.0)}, 3.0, 1e-7)


def _sleigh(seed: int) -> None:
    """A skate on an incline against a wall: a constraint of first order."""
    x, y, phi = ap.coordinates("x y phi")
    blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
    system = ap.System(coordinates=[x, y, phi], kinetic=(x.d**2 + y.d**2 + 0.2 * phi.d**2) / 2, potential=-2 * x,
                       constraints=[blade, ap.Unilateral(0.4 - x, name="wall")])  # fmt: skip
    _there_and_back(system, {phi: 0.4, x.d: cos(0.4), y.d: sin(0.4)}, 1.0, 1e-7)


def _damped(seed: int) -> None:
    """Forces that depend on the velocity lose forward and gain back."""
    y = ap.coordinates("y")
    system = ap.System(coordinates=[y], kinetic=y.d**2 / 2, potential=G * y, forces={y: -0.3 * y.d},
                       constraints=[ap.Unilateral(y, name="floor")])  # fmt: skip
    _there_and_back(system, {y: 1.0}, 1.8, 1e-7)


def _pulse(seed: int) -> None:
    """A force that jumps in time."""
    y = ap.coordinates("y")
    push = Piecewise((3.0, (ap.t > 0.6) & (ap.t < 0.75)), (0, True))
    system = ap.System(coordinates=[y], kinetic=y.d**2 / 2, potential=G * y, forces={y: push},
                       constraints=[ap.Unilateral(y, name="floor")])  # fmt: skip
    _there_and_back(system, {y: 1.0}, 1.7, 1e-7)


def _many(seed: int) -> None:
    y = ap.coordinates("y")
    system = ap.System(coordinates=[y], kinetic=y.d**2 / 2, potential=G * y, constraints=[ap.Unilateral(y, name="floor")])
    heights = np.array([0.5, 1.0, 1.7])
    there = ap.simulate_many(system, {y: heights}, 2.0, rtol=1e-11)
    back = ap.simulate_many(system, {y: there["y"].values, y.d: there["y_d"].values}, 0.0, since=2.0, rtol=1e-11)
    assert np.abs(back["y"].values - heights).max() < 1e-9


def _refused(seed: int) -> None:
    y, x = ap.coordinates("y x")
    make = lambda *walls: ap.System(coordinates=[x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=G * y, constraints=walls)
    with pytest.raises(ap.ConstraintError, match=r"restitution of 'floor' is 0\.7"):
        ap.simulate(make(ap.Unilateral(y, name="floor", restitution=0.7)), {y: 1.0}, -1.0)
    with pytest.raises(ap.ConstraintError, match=r"rests on 'floor'"):
        ap.simulate(make(ap.Unilateral(y, name="floor")), {}, -1.0)
    floor = ap.Unilateral(y, name="floor")
    with pytest.raises(ap.ConstraintError, match="with friction, time must run forward"):
        ap.simulate(make(floor, ap.Friction(x.d, normal=floor, coefficient=0.1)), {y: 1.0}, -1.0)


def _methods(seed: int) -> None:
    y = ap.coordinates("y")
    system = ap.System(coordinates=[y], kinetic=y.d**2 / 2, potential=G * y + 0.1 * sin(y),
                       constraints=[ap.Unilateral(y, name="floor")])  # fmt: skip
    for method in ("dopri5", "taylor"):
        _there_and_back(system, {y: 1.0}, 1.7, 1e-6, method=method)
    _there_and_back(system, {y: 1.0}, 1.7, 1e-6, step=1e-3)


def _magnet(seed: int) -> None:
    """A charge in a box in a magnetic field: T has a part linear in the velocities, which changes its sign with time."""
    x, y = ap.coordinates("x y")
    box = [ap.Between(-1, x, 1, name="sides"), ap.Between(-1, y, 1, name="ends")]
    system = ap.System(coordinates=[x, y], kinetic=(x.d**2 + y.d**2) / 2 + 0.9 * (x * y.d - y * x.d), constraints=box)
    _there_and_back(system, {x: 0.2, x.d: 1.4, y.d: 0.8}, 4.0, 1e-7)


def _motor(seed: int) -> None:
    """A state of first order beside a wall: the current of a coil that pushes a plunger."""
    x, i = ap.coordinates("x"), ap.states("i")
    system = ap.System(coordinates=[x], kinetic=x.d**2 / 2, potential=2 * x**2, forces={x: i}, rates={i: (1 - i) / 2 - x.d},
                       constraints=[ap.Unilateral(x + 0.1, name="seat")])  # fmt: skip
    _there_and_back(system, {x: 0.5, i: 0.2}, 3.0, 1e-6)


def _past_of_a_ball(z: np.ndarray, since: float, until: float, w: float, e: float) -> tuple[np.ndarray, list[float]]:
    """y, ẏ at an earlier time over the plate sin(w t)/10, and the times of the impacts on the way: ġ⁻ = −ġ⁺/e."""
    plate, rate = lambda t: 0.1 * np.sin(w * t), lambda t: 0.1 * w * np.cos(w * t)
    (y, v), t, hits = z, since, []
    while True:
        gap = lambda s, t=t, y=y, v=v: y + v * (s - t) - G * (s - t) ** 2 / 2 - plate(s)
        grid = np.arange(t - 1e-9, until, -1e-4)
        below = np.flatnonzero(gap(grid) <= 0)
        if not len(below):
            return np.array([y + v * (until - t) - G * (until - t) ** 2 / 2, v - G * (until - t)]), hits
        at: Any = brentq(gap, grid[below[0] - 1], grid[below[0]], xtol=1e-15)
        v, y, t = v - G * (at - t), plate(at), at
        v = rate(at) - (v - rate(at)) / e
        hits.append(at)


@family(count=12)
def slopes_of_the_past(seed: int) -> None:
    """Derivatives through several impacts backwards in time, by the restitution, too; sections take the first impacts first.

    A ball over a plate that shakes against differences of closed forms; others: the inverse of the derivatives forward.
    """
    rng = np.random.default_rng(seed)
    e, w = ap.parameters("e w", positive=True)
    x, y, i = *ap.coordinates("x y"), ap.states("i")
    W = 2.0 if not seed else float(rng.uniform(1, 3))
    plate = ap.Unilateral(y - sin(w * ap.t) / 10, name="plate", restitution=e)
    if seed % 3 == 0:
        ball = ap.System([y], y.d**2 / 2, G * y, constraints=[plate])
        z, until = (np.array([1.0, 0.0]), -2.0) if not seed else (rng.uniform([0.7, -1], [1.5, 1]), float(rng.uniform(-3, -2)))
        found = ap.variations(ball, {y: z[0], y.d: z[1]}, until, {e: 1, w: W}, rtol=1e-11)
        past = lambda h: _past_of_a_ball(z + h[:2], 0.0, until, W + h[2], 1 + h[3])[0]
        wanted = np.stack([(past(h) - past(-h)) / 2e-6 for h in 1e-6 * np.eye(4)], axis=1)
        by = [found.parameter_names.index(name) for name in "we"]
        slopes = np.hstack([found.monodromy, found.parameters[-1][:, by]])
        hits = _past_of_a_ball(z, 0.0, until, W, 1)[1]
        assert len(hits) > 1 and np.abs(slopes - wanted).max() < 1e-6 * np.abs(wanted).max(), (slopes, wanted)
        points = ap.poincare(ball, "plate", {y: z[0], y.d: z[1]}, until, {e: 1, w: W}, count=2)
        assert np.abs(points.t - hits[:2]).max() < 1e-9, (points.t, hits)
        return
    if seed % 3 == 1:
        T = (x.d**2 + y.d**2) / 2 + (0.5 + w / 5) * (x * y.d - y * x.d)
        box = [ap.Between(-1, x, 1, restitution=e, name="sides"), ap.Between(-1, y, 1, restitution=e, name="ends")]
        system, start = ap.System([x, y], T, constraints=box), {x: 0.2, x.d: rng.uniform(1, 2), y.d: rng.uniform(0.5, 1)}
    else:
        push = Heaviside(sin(2 * w * ap.t))
        system = ap.System([y], y.d**2 / 2, G * y, {y: push + i}, [plate], rates={i: -i / 2 - y.d})
        start = {y: rng.uniform(0.7, 1.3), i: 0.3}
    back = ap.variations(system, start, -3.0, {e: 1, w: W}, rtol=1e-11)
    forth = ap.variations(system, back.motion.final, 0.0, {e: 1, w: W}, since=-3.0, rtol=1e-11)
    assert back.ok and forth.ok and len(back.motion.impacts) > 1
    size = np.abs(back.monodromy).max() * np.abs(forth.monodromy).max()
    assert np.abs(forth.monodromy @ back.monodromy - np.eye(len(back.names))).max() < 1e-8 * size
    assert np.abs(back.parameters[-1] + back.monodromy @ forth.parameters[-1]).max() < 1e-8 * size
