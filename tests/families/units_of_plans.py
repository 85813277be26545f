"""Plans of one model in other units of length, time and mass: objectives, durations and derivatives convert as they must."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from sympy import cos, sin
from tests.families.family import family

import appell as ap

UNITS = ((1e-6, 1.0, 1e-10), (1.0, 1e-6, 1.0), (1e-9, 1e-6, 1e-17), (1e9, 1e6, 1e-3), (1.5e11, 3e7, 2e30), (1.0, 1e8, 1e30))
"""A metre, a second and a kilogram in these units."""

Numbers = tuple[float, float, float]


def _least_time(L: float, T: float, M: float) -> tuple[ap.MotionPlan, float]:
    x = ap.coordinates("x")
    F, m = ap.parameters("F m")
    block = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="block")
    f = M * L / T**2
    plan = ap.optimize(block, "time", [F], {}, (0.1 * T, 10 * T), {m: M}, end={x: L, x.d: 0}, bounds={F: (-f, f)}, backend="vm")
    return plan, plan.objective / (2 * T)


def _bryson_and_denham(L: float, T: float, M: float) -> tuple[ap.MotionPlan, float]:
    x = ap.coordinates("x")
    F, m = ap.parameters("F m")
    block = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="block")
    plan = ap.optimize(
        block,
        ap.integral(F**2 / 2),
        [F],
        {x.d: L / T},
        T,
        {m: M},
        end={x: 0, x.d: -L / T},
        bounds={x: (None, L / 9)},
        backend="vm",
    )
    return plan, plan.objective / (4 * (M * L / T**2) ** 2 * T)


def _brachistochrone(L: float, T: float, M: float) -> tuple[ap.MotionPlan, float]:
    x, y = ap.coordinates("x y")
    theta, g, m = ap.parameters("theta g m")
    row = ap.Constraint(x.d * sin(theta) - y.d * cos(theta), name="tangent")
    bead = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, -m * g * y, {}, [row], name="bead")
    plan = ap.optimize(bead, "time", [theta], {}, (0.1 * T, 5 * T), {g: 9.81 * L / T**2, m: M}, end={x: L, y: L}, backend="vm")
    angle = brentq(lambda a: a - np.sin(a) - 1 + np.cos(a), 1, 4)
    return plan, plan.objective / (angle * np.sqrt(1 / 9.81 / (1 - np.cos(angle))) * T)


def _crane(L: float, T: float, M: float) -> tuple[ap.MotionPlan, float]:
    """The angle begins and ends at 0, as the straight line between the ends does: only its inertia tells its size."""
    x, a = ap.coordinates("x a")
    F, m, l, g = ap.parameters("F m l g")
    load = (x.d + l * cos(a) * a.d) ** 2 + (l * sin(a) * a.d) ** 2
    crane = ap.System([x, a], m * x.d**2 + m * load / 2, -m * g * l * cos(a), {x: F}, name="crane")
    end = {x: L, a: 0, x.d: 0, a.d: 0}
    plan = ap.optimize(crane, ap.integral(F**2), [F], {}, 3 * T, {m: M, l: L / 2, g: 9.81 * L / T**2}, end=end, backend="vm")
    return plan, plan.objective / (M * L / T**2) ** 2 / T


def _linkage(L: float, T: float, M: float) -> tuple[ap.MotionPlan, float]:
    """Rows in lengths and an angle, which are parallel by their numbers where lengths are large."""
    x, y, a = ap.coordinates("x y a")
    u, l, g, m = ap.parameters("u l g m")
    rows = [ap.Constraint(x - l * sin(a), name="along"), ap.Constraint(y + l * cos(a), name="down")]
    rod = ap.System([x, y, a], m * (x.d**2 + y.d**2) / 2 + m * l**2 * a.d**2 / 24, m * g * y, {a: u}, rows, name="rod")
    start, end = {y: -L}, {a: 0.8, x.d: 0, y.d: 0, a.d: 0}
    values = {l: L, g: 9.81 * L / T**2, m: M}
    plan = ap.optimize(rod, ap.integral(u**2), [u], start, T, values, end=end, backend="vm")
    return plan, plan.objective / (M * L**2 / T**2) ** 2 / T


def _landing(L: float, T: float, M: float) -> tuple[ap.MotionPlan, float]:
    x = ap.coordinates("x")
    F, g, m = ap.parameters("F g m")
    floor = ap.Unilateral(x, name="floor", restitution=0)
    ball = ap.System([x], m * x.d**2 / 2, m * g * x, {x: F}, [floor], name="ball")
    goal = ap.integral(F**2) / (M * L / T**2) ** 2 + ap.at(ap.t, "end") / 10
    plan = ap.optimize(
        ball,
        goal,
        [F],
        {x: L},
        (0.2 * T, 3 * T),
        {g: 3 * L / T**2, m: M},
        end={x: 0, x.d: 0},
        phases=[(), ("floor",)],
        backend="vm",
    )
    return plan, plan.objective / T


PROBLEMS: tuple[tuple[Callable[..., tuple[ap.MotionPlan, float]], float | None], ...] = (
    (_least_time, 1.0), (_bryson_and_denham, 1.0), (_brachistochrone, 1.0), (_crane, None), (_linkage, None), (_landing, None),
)  # fmt: skip
"""Problem → its objective in units of the closed form, where there is one; the others are compared with metre and second."""


@family(count=36, sample=(0, 9))
def objectives_in_any_units(seed: int) -> None:
    """Objectives are those of closed forms, or of the same plan in metres, seconds and kilograms."""
    (problem, value), unit = PROBLEMS[seed % 6], UNITS[seed // 6]
    plan, found = problem(*unit)
    assert plan.ok, plan.message
    want = problem(1.0, 1.0, 1.0)[1] if value is None else value
    assert found == pytest.approx(want, rel=2e-7)  # Bryson and Denham's bound is met to 1e-8 between nodes


@family(sample=(2, 4))
def next_plans_in_any_units(seed: int) -> None:
    """Plans from another start, and derivatives of the optimum: 12 m² d²/T³ for the least effort over a distance d."""
    (L, T, M), rng = UNITS[seed % 6], np.random.default_rng(seed)
    x = ap.coordinates("x")
    F, m = ap.parameters("F m")
    block = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="block")
    plan = ap.optimize(block, ap.integral(F**2), [F], {}, T, {m: M}, end={x: L, x.d: 0}, backend="vm")
    one = (M * L / T**2) ** 2 * T
    found: Any = plan.sensitivity([m, x]).objective
    assert found[m] * M == pytest.approx(24 * one, rel=1e-7) and found[x] * L == pytest.approx(-24 * one, rel=1e-7)
    d = float(rng.uniform(-2, 0.9))
    other = plan.again({x: d * L}, judge=True)
    assert other.ok and other.objective == pytest.approx(12 * (1 - d) ** 2 * one, rel=1e-6)


@cache
def _bouncing() -> tuple[ap.System, Any]:
    """A ball over a floor; its scales are parameters, so that its compiled code is shared."""
    x, y = ap.coordinates("x y")
    p, m, g = ap.parameters("p m g")
    floor = ap.Unilateral(y, name="floor", restitution=0.6)
    return ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, {x: p}, [floor], name="ball"), (x, y, p, m, g)


@family(sample=(2, 4))
def designs_in_any_units(seed: int) -> None:
    """A ball that bounces while a constant push, first guess 0, takes it to a place: p = 2 m (d − V τ)/τ²."""
    (L, T, M), rng = UNITS[seed % 6], np.random.default_rng(seed)
    ball, (x, y, p, m, g) = _bouncing()
    d, V, tau = rng.uniform(1, 2), rng.uniform(-0.5, 0.5), rng.uniform(2.0, 3.5)
    found = ap.optimize(
        ball, p**2, start={x.d: V * L / T, y: L}, until=tau * T, parameters={p: 0.0, m: M, g: L / T**2}, unknown=[p],
        end={x: d * L}, phases="any",
    )  # fmt: skip
    assert found.ok, found.message
    assert found.values[p] / (M * L / T**2) == pytest.approx(2 * (d - V * tau) / tau**2, rel=1e-6)
    assert len(found.motion.impacts) > 0
