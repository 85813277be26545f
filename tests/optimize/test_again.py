"""The same plan again, and its derivatives: closed forms, and a loop in which the model is wrong."""

import numpy as np
import pytest
from sympy import cos, sin

import appell as ap

PI = float(np.pi)


@pytest.fixture(scope="module")
def pushed():
    """m x″ = F from rest at 0 to rest at 3 in 2 s: J = 12 m² d²/T³, F = 6 m d/T² (1 − 2 t/T)."""
    x = ap.coordinates("x")
    F, m = ap.parameters("F m")
    block = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="block")
    return ap.optimize(block, ap.integral(F**2), [F], {x: 0, x.d: 0}, {x: 3, x.d: 0}, 2.0, {m: 1.5}, backend="vm"), x, F, m


def test_the_optimum_is_differentiated(pushed):
    plan, x, F, m = pushed
    found, shape = plan.sensitivity([m, x, x.d]), 1 - plan.t
    assert found.objective[m] == pytest.approx(24 * 1.5 * 9 / 8, rel=1e-9)
    assert found.objective[x] == pytest.approx(-24 * 1.5**2 * 3 / 8, rel=1e-9)
    assert found.objective[x.d] == pytest.approx(-12 * 1.5**2 * 3 / 4, rel=1e-9)
    assert np.allclose(found.controls[m][F], 4.5 * shape, atol=1e-9) and np.abs(found.states[m]).max() < 1e-9
    assert np.allclose(found.controls[x][F], -1.5 * 1.5 * shape, atol=1e-9) and found.states[x][0] == pytest.approx([1, 0])


def test_a_plan_goes_on_from_elsewhere(pushed):
    plan, x, _, m = pushed
    other = plan.again({x: 0.5}, {m: 2.0}, judge=True)
    assert other.ok and other.error < 1e-8 and other.objective == pytest.approx(12 * 4 * 2.5**2 / 8, rel=1e-7)
    later = plan.again({x: 0.5}, since=0.5)
    assert later.ok and later.motion is None and "not simulated" in later.message
    assert later.t[[0, -1]] == pytest.approx([0.5, 2.0]) and later.objective == pytest.approx(12 * 1.5**2 * 2.5**2 / 1.5**3)
    with pytest.raises(ap.ModelError, match="no given parameter"):
        plan.again(parameters={"F": 1})
    with pytest.raises(ap.ModelError, match="not a state"):
        plan.again({"y": 1})
    with pytest.raises(ap.ModelError, match="neither a given parameter"):
        plan.sensitivity("F")


def test_the_time_of_a_brachistochrone_goes_with_the_root_of_gravity():
    x, y = ap.coordinates("x y")
    theta, g = ap.parameters("theta g")
    tangent = ap.Constraint(x.d * sin(theta) - y.d * cos(theta), name="tangent")
    bead = ap.System([x, y], (x.d**2 + y.d**2) / 2, -g * y, constraints=[tangent], name="bead")
    plan = ap.optimize(bead, "time", [theta], {}, {x: 1, y: 0.6}, (0.1, 3), {g: 9.81}, backend="vm")
    found = plan.sensitivity(g)
    want = -plan.objective / (2 * 9.81)
    assert found.objective[g] == pytest.approx(want, rel=1e-6) and found.duration[g] == pytest.approx(want, rel=1e-4)


def test_a_swing_up_in_a_loop_with_other_masses():
    x, theta = ap.coordinates("x theta")
    F, m1, m2, l, g = ap.parameters("F m1 m2 l g")
    pole = (x.d + l * cos(theta) * theta.d) ** 2 + (l * sin(theta) * theta.d) ** 2
    cart = ap.System([x, theta], m1 * x.d**2 / 2 + m2 * pole / 2, -m2 * g * l * cos(theta), {x: F}, name="cart pole")
    end, values = {x: 1, theta: PI, x.d: 0, theta.d: 0}, {m1: 1, m2: 0.3, l: 0.5, g: 9.81}
    bounds, state = {F: (-20, 20), x: (-2, 2)}, {x: 0.0, theta: 0.0, x.d: 0.0, theta.d: 0.0}
    plan = ap.optimize(cart, ap.integral(F**2), [F], {}, end, 2.0, values, bounds=bounds, tolerance=3e-3, backend="vm")
    real, found = {m1: 1.05, m2: 0.31, l: 0.51, g: 9.81}, []
    for k in range(90):  # 50 Hz, up to 1.8 s
        plan = plan.again(state, since=0.02 * k) if k else plan
        found.append(plan.ok)
        push = float(plan.control_at([0.02 * k + 0.01])[F][0])
        motion = ap.simulate(cart, state, 0.02, {**real, F: push}, backend="vm", rtol=1e-8)
        state = {s: float(motion[s][-1]) for s in state}
    assert np.mean(found) > 0.95 and abs(state[theta] - PI) < 0.35 and abs(state[x] - 1) < 0.2


def test_a_start_off_the_rows_is_refused_and_one_on_them_taken():
    x, y = ap.coordinates("x y")
    u, g = ap.parameters("u g")
    rod = ap.Constraint(x**2 + y**2 - 1, name="rod")
    pendulum = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, {x: -u * y, y: u * x}, [rod], name="pendulum")
    end, bounds = {x: 0.8, y: -0.6, x.d: 0, y.d: 0}, {x: (-0.5, 1)}
    plan = ap.optimize(pendulum, ap.integral(u**2), [u], {y: -1}, end, 1.0, {g: 9.81}, bounds=bounds, backend="vm")
    assert plan.again({x: 0.1, y: -(0.99**0.5)}).ok
    with pytest.raises(ap.ConstraintError, match="constraints make it"):
        plan.again({x: 0.1, y: -0.5})
    with pytest.raises(ap.ModelError, match="exclude the start"):
        plan.again({x: -0.6, y: -0.8})


def test_of_bang_and_bang_the_objective_has_derivatives():
    x = ap.coordinates("x")
    F, m = ap.parameters("F m")
    block = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="block")
    plan = ap.optimize(block, "time", [F], {}, {x: 1, x.d: 0}, (0.1, 10), {m: 1.5}, bounds={F: (-1, 1)}, backend="vm")
    found = plan.sensitivity([m, x])  # T = 2 √(m d/F)
    assert found.objective[m] == pytest.approx(plan.objective / 3, rel=1e-5)
    assert found.objective[x] == pytest.approx(-plan.objective / 2, rel=1e-5)
