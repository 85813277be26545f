"""Plans: values given for ends hold in the plan, whatever rows, unknowns and durations have to do with them."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Eq, cos, sin
from tests.families.family import family

import appell as ap


def _kept(plan: ap.MotionPlan, start: dict, end: dict, tolerance: float = 1e-7) -> None:
    """A plan that is ok has the values that were given for its ends; rows hold at its nodes and between them."""
    assert plan.ok, plan.message
    for given, k in ((start, 0), (end, -1)):
        for s, value in given.items():
            assert abs(plan.motion[s][k] - value) < tolerance, (s, value, plan.motion[s][k])
    fine, largest = plan.motion.fine(150), lambda drift: max(drift.position, drift.velocity)
    assert largest(plan.motion.drift) < 1e-12 and largest(fine.drift) < 1e-10


@family(sample=(2,))
def ends_tell_what_rows_do_not(seed: int) -> None:
    """A value at an end that the rows would imply, were it not for a free duration or an unknown parameter in them."""
    rng = np.random.default_rng(seed)
    x, y = ap.coordinates("x y")
    u, l = ap.parameters("u l")
    rate, height = rng.uniform(0.3, 0.8), rng.uniform(0.6, 1.5)
    rows = {
        0: y - rate * ap.t,  # the time at which a lift has come so far
        1: y - rate * ap.t - 0.3 * x**2,
        2: y.d - rate * (1 + 0.2 * sin(ap.t)),
        3: y - l * x**2,  # the slope of a valley through a point
    }
    kind = seed % 4
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {x: u}, [ap.Constraint(rows[kind], name="row")], name=f"lift {kind}")
    end = {x: 1.0, y: height, x.d: 0.0}
    start = {y.d: rate} if kind != 3 else {x: 0.0, y: 0.0}
    given = {} if kind != 3 else {l: 0.4}
    until = (0.3, 9.0) if kind != 3 else 2.0
    unknown = [l] if kind == 3 else []
    plan = ap.optimize(system, ap.integral(u**2), [u], start, until, given, end=end, unknown=unknown, backend="vm")
    _kept(plan, start, end)
    if kind == 0:
        T = height / rate
        assert abs(plan.duration - T) < 1e-6 and abs(plan.objective - 12 / T**3) < 1e-6 * plan.objective
    if kind == 3:
        assert abs(plan.values[l] - height) < 1e-7


@family(sample=(0,))
def instants_by_time_and_by_name(seed: int) -> None:
    """`ap.at` of the first and last time is that of the start and the end; of one in between, a node; outside, refused."""
    rng = np.random.default_rng(seed)
    x = ap.coordinates("x")
    F = ap.parameters("F")
    since, T, d = rng.uniform(-2, 3), rng.uniform(0.5, 4), rng.uniform(0.2, 3)
    block = ap.System([x], x.d**2 / 2, 0, {x: F}, name="block")
    rows = [Eq(ap.at(x, since), 0.3), Eq(ap.at(x, since + T), 0.3 + d)]
    through = since + rng.uniform(0.2, 0.8) * T
    more = [Eq(ap.at(x, through), 0.3 + d * ((through - since) / T) ** 2 * (3 - 2 * (through - since) / T))]
    options = {"since": since, "backend": "vm", "subject_to": rows + (more if seed % 2 else [])}
    plan = ap.optimize(block, ap.integral(F**2), [F], {x: ap.free}, since + T, end={x.d: 0}, **options)
    assert plan.ok and abs(plan.objective - 12 * d**2 / T**3) < 1e-7 * plan.objective
    assert abs(plan.motion[x][0] - 0.3) < 1e-9
    try:
        ap.optimize(block, ap.at(x, since + 1.2 * T), [F], {}, since + T, since=since)
    except ap.ModelError as error:
        assert "the plan lasts" in str(error)
    else:
        raise AssertionError("an instant after the end was taken")


@family(sample=(2,))
def redundant_mechanisms(seed: int) -> None:
    """A platform on three parallel rods, whose third row follows from two only along its motion: as a pendulum of one rod."""
    rng = np.random.default_rng(seed)
    x, y, theta, phi = ap.coordinates("x y theta phi")
    u, g = ap.parameters("u g")
    places = sorted(rng.uniform(-1.5, 1.5, 3)) if seed else (-1, 0, 1)
    rods = [
        ap.Constraint((x + c * cos(theta) - c) ** 2 + (y + c * sin(theta)) ** 2 - 1, name=f"rod{k}")
        for k, c in enumerate(places)
    ]
    swing = ap.System([x, y, theta], (x.d**2 + y.d**2 + theta.d**2 / 3) / 2, g * y, {x: u}, rods, name="swing")
    angle = rng.uniform(0.4, 0.9)
    end = {x: np.sin(angle), y: -np.cos(angle), theta: 0, x.d: 0, y.d: 0, theta.d: 0}
    goal, values = ap.integral(u**2), {g: 9.81}
    plan = ap.optimize(swing, goal, [u], {y: -1}, 1.0, values, end=end, backend="vm")
    one = ap.System([phi], phi.d**2 / 2, -g * cos(phi), {phi: u * cos(phi)}, name="one rod")
    want = ap.optimize(one, goal, [u], {}, 1.0, values, end={phi: angle, phi.d: 0}, backend="vm")
    _kept(plan, {}, end)
    assert abs(plan.objective - want.objective) < 1e-6 * want.objective
    try:
        ap.optimize(swing, ap.integral(u**2 + rods[0].multiplier ** 2), [u], {y: -1}, 1.0, values, end=end)
    except ap.ModelError as error:
        assert "redundant" in str(error)
    else:
        raise AssertionError("a reaction that is not determined was planned with")


@family(sample=(0, 1))
def ends_behind_walls(seed: int) -> None:
    """A start or an end behind a wall is refused with its name, with phases and without; one beside the wall is not."""
    rng, (x, y), (u, w) = np.random.default_rng(seed), ap.coordinates("x y"), ap.parameters("u w")
    n, d = rng.normal(size=2), float(rng.uniform(-1, 1))
    wall = ap.Unilateral(float(n[0]) * x + float(n[1]) * y - d, name="slope", restitution=0.5)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {x: u, y: w}, [wall])
    on = d * n / (n @ n)
    places = (1.0, 0.1, -(10 ** rng.uniform(-6, 0)))
    before, near, behind = ({x: float(on[0] + k * n[0]), y: float(on[1] + k * n[1])} for k in places)
    phases = [None, [(), "slope", ()]][seed % 2]
    cases = (behind, before, "start"), (before, behind, "end")
    for start, end, which in cases:
        with pytest.raises(ap.ConstraintError, match=f"the {which} lies behind 'slope'"):
            ap.optimize(system, ap.integral(u**2 + w**2), [u, w], start, 1.0, end=end, phases=phases, backend="vm")
    plan = ap.optimize(system, ap.integral(u**2 + w**2), [u, w], before, 1.0, end=near, backend="vm")
    assert plan.ok, plan.message
    assert plan.objective == pytest.approx(3 * 0.81 * n @ n, rel=1e-6)  # least effort to a place: 3 d²/T³
