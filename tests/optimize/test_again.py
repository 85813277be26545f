"""The same plan again, and its derivatives: closed forms, and a loop in which the model is wrong."""

import pickle

import numpy as np
import pytest
from sympy import Eq, cos, sin

import appell as ap

PI = float(np.pi)


@pytest.fixture(scope="module")
def pushed():
    """m x″ = F from rest at 0 to rest at 3 in 2 s: J = 12 m² d²/T³, F = 6 m d/T² (1 − 2 t/T)."""
    x = ap.coordinates("x")
    F, m = ap.parameters("F m")
    block = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="block")
    return ap.optimize(block, ap.integral(F**2), [F], {x: 0, x.d: 0}, 2.0, {m: 1.5}, end={x: 3, x.d: 0}, backend="vm"), x, F, m


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
    plan = ap.optimize(bead, "time", [theta], {}, (0.1, 3), {g: 9.81}, end={x: 1, y: 0.6}, backend="vm")
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
    plan = ap.optimize(cart, ap.integral(F**2), [F], {}, 2.0, values, end=end, bounds=bounds, tolerance=3e-3, backend="vm")
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
    plan = ap.optimize(pendulum, ap.integral(u**2), [u], {y: -1}, 1.0, {g: 9.81}, end=end, bounds=bounds, backend="vm")
    assert plan.again({x: 0.1, y: -(0.99**0.5)}).ok
    with pytest.raises(ap.ConstraintError, match="constraints make it"):
        plan.again({x: 0.1, y: -0.5})
    with pytest.raises(ap.ModelError, match="exclude the start"):
        plan.again({x: -0.6, y: -0.8})


def test_of_bang_and_bang_the_objective_has_derivatives():
    x = ap.coordinates("x")
    F, m = ap.parameters("F m")
    block = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="block")
    plan = ap.optimize(block, "time", [F], {}, (0.1, 10), {m: 1.5}, end={x: 1, x.d: 0}, bounds={F: (-1, 1)}, backend="vm")
    found = plan.sensitivity([m, x])  # T = 2 √(m d/F)
    assert found.objective[m] == pytest.approx(plan.objective / 3, rel=1e-5)
    assert found.objective[x] == pytest.approx(-plan.objective / 2, rel=1e-5)


def test_a_switch_that_falls_on_the_mesh_does_not_falsify_the_derivatives():
    """A block on a rubbing floor: a = F/m ∓ μ g, T = v/a₁ + v/a₂ with v² = 2/(1/a₁ + 1/a₂); the switch is at 5/8 T."""
    x, y = ap.coordinates("x y")
    F, m, mu, g = ap.parameters("F m mu g")
    floor = ap.Unilateral(y, name="floor", restitution=0)
    sole = ap.Friction(x.d, normal=floor, coefficient=mu, name="sole")
    block = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, {x: F}, [floor, sole], name="block")
    plan = ap.optimize(
        block, "time", [F], {}, (0.3, 6), {mu: 0.1, g: 10, m: 2}, end={x: -1, y: 0, x.d: 0}, bounds={F: (-8, 8)},
        phases=[("floor", "sole-")], tolerance=1e-5, backend="vm",
    )  # fmt: skip

    def duration(mu):
        up, down = 4 - 10 * mu, 4 + 10 * mu
        return np.sqrt(2 / (1 / up + 1 / down)) * (1 / up + 1 / down)

    assert plan.objective == pytest.approx(duration(0.1), rel=1e-8)
    slope = (duration(0.1 + 1e-5) - duration(0.1 - 1e-5)) / 2e-5
    assert plan.sensitivity(mu).objective[mu] == pytest.approx(slope, rel=1e-4)


def test_what_would_move_in_silence_is_refused(pushed):
    plan, x, F, m = pushed
    block = plan.system
    mid = ap.optimize(
        block, ap.integral(F**2), [F], {}, 2.0, {m: 1}, end={x: 1, x.d: 0}, subject_to=[Eq(ap.at(x, 1.0), 0.8)], backend="vm"
    )  # fmt: skip
    assert mid.again({x: 0.1}).ok
    with pytest.raises(ap.ModelError, match="bound to its mesh"):
        mid.again({x: 0.1}, since=0.5)
    y = ap.coordinates("y")
    u = ap.parameters("u")
    L, g = ap.parameters("L g", positive=True)
    rod = ap.Constraint(x**2 + y**2 - L**2, name="rod")
    pendulum = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, {x: -u * y, y: u * x}, [rod], name="pendulum")
    start, end = {x: 0.6, y: -0.8}, {x: -0.6, y: -0.8, x.d: 0, y.d: 0}
    swing = ap.optimize(pendulum, ap.integral(u**2), [u], start, 1.0, {g: 9.81, L: 1}, end=end, backend="vm")
    with pytest.raises(ap.ConstraintError, match=r"start has y = -0\.8"):
        swing.again(parameters={L: 1.1})
    with pytest.raises(ap.ConstraintError, match=r"y = -0\.9219.* at the end, where -0\.8 is given"):
        swing.again({x: 0.66, y: -0.88}, {L: 1.1})
    with pytest.raises(ap.ModelError, match="declared positive"):
        swing.again(parameters={g: -1})
    with pytest.raises(ap.ModelError, match="follows from the others"):
        swing.sensitivity(y)


def test_a_free_end_stays_free():
    x = ap.coordinates("x")
    F = ap.parameters("F")
    block = ap.System([x], x.d**2 / 2, 0, {x: F}, name="block")
    plan = ap.optimize(block, "time", [F], {}, (0.1, 10), end={x: 1, x.d: 0}, bounds={F: (-1, 1)}, backend="vm")
    late = plan.again({x: 0.5}, since=1.2)  # 1.2 s later only half of the way is done
    assert late.ok and late.objective == pytest.approx(2**0.5, rel=1e-4)
    assert not plan.again({x: 0.5}, since=1.0, until=2.0).ok and plan.again({x: 0.5}, since=1.0, until=(1.5, 3)).ok
    assert plan.again({x: 0.5}, since=1.0, until=(None, 3)).ok
    off = plan.again({x: 0.5, x.d: 0.7}, judge=True)
    assert off.ok or "more than tolerance" in off.message


def test_a_phase_that_is_not_wanted_is_told():
    x = ap.coordinates("x")
    F, g = ap.parameters("F g")
    ball = ap.System([x], x.d**2 / 2, g * x, {x: F}, [ap.Unilateral(x, name="floor", restitution=0)], name="ball")
    plan = ap.optimize(
        ball, ap.integral(F**2) + ap.at(ap.t, "end") / 10, [F], {x: 1}, (0.2, 3), {g: 3}, end={x: 0, x.d: 0},
        phases=[(), ("floor",)], backend="vm",
    )  # fmt: skip
    assert plan.ok and "without phase 2 ('floor',)" in plan.message


def test_a_next_plan_is_looked_at_between_its_nodes():
    """Bryson and Denham's block, ten times as fast as the one for which the mesh was made."""
    x, u = ap.coordinates("x"), ap.parameters("u")
    cart = ap.System([x], x.d**2 / 2, 0, {x: u}, name="cart")
    options = {"end": {x: 0, x.d: -0.1}, "bounds": {x: (-10, 0.1)}, "backend": "vm"}
    plan = ap.optimize(cart, ap.integral(u**2), [u], {x.d: 0.1}, 1.0, **options)
    far = plan.again({x.d: 1.0}, judge=True)
    assert not far.ok and "the bound of x is exceeded" in far.message and "ap.optimize refines its mesh" in far.message
    late = plan.again({x.d: 1.0}, since=5.0, until=6.0, judge=True)  # the same, five seconds later
    assert "near t = 5.2" in late.doubts[0]
    assert plan.again({x.d: 0.11}, judge=True).ok


def test_doubts_of_a_plan_are_not_those_of_the_next():
    x, u = ap.coordinates("x"), ap.parameters("u")
    cart = ap.System([x], x.d**2 / 2, 0, {x: u}, name="cart")
    plan = ap.optimize(cart, ap.integral(u**2), [u], {}, 1.0, end={x: 1, x.d: 0}, bounds={u: (-5.9, 5.9)}, backend="vm")
    assert plan.doubts and not plan.again({x: 0.5}, judge=True).doubts and not plan.again({x: 0.5}).doubts


@pytest.mark.parametrize("first, then, said", [(0.0, 0.5, "'floor' bounces where it closes"), (0.5, 0.0, "loses its velocity")])
def test_another_restitution_is_another_plan(first, then, said):
    x = ap.coordinates("x")
    u, e = ap.parameters("u e")
    ball = ap.System([x], x.d**2 / 2, 9.81 * x, {x: u}, [ap.Unilateral(x, name="floor", restitution=e)], name="ball")
    options = {"phases": [(), ("floor",)], "end": {x: 0, x.d: 0}, "backend": "vm"}
    plan = ap.optimize(ball, ap.integral(u**2), [u], {x: 1.0}, (0.2, 1.0), {e: first}, **options)
    with pytest.raises(ap.ModelError, match=said):
        plan.again(parameters={e: then})


def test_a_row_that_followed_from_others_and_does_not_any_more():
    """A platform on three parallel rods, the third of which becomes longer than the others."""
    x, y, theta = ap.coordinates("x y theta")
    u, r = ap.parameters("u r")
    rods = [
        ap.Constraint((x + c * cos(theta) - c) ** 2 + (y + c * sin(theta)) ** 2 - l**2, name=f"rod{c}")
        for c, l in ((-1, 1), (0, 1), (1, r))
    ]
    swing = ap.System([x, y, theta], (x.d**2 + y.d**2 + theta.d**2 / 3) / 2, 9.81 * y, {x: u}, rods, name="swing")
    end = {x: 0.6, y: -0.8, theta: 0, x.d: 0, y.d: 0, theta.d: 0}
    plan = ap.optimize(swing, ap.integral(u**2), [u], {y: -1}, 1.0, {r: 1}, end=end, tolerance=1e-4, backend="vm")
    assert plan.ok and plan.again({x: 0.28, y: -0.96}).ok
    with pytest.raises(ap.ConstraintError, match="followed from the other constraints"):
        plan.again(parameters={r: 1.1})


def test_a_plan_that_was_not_simulated_is_drawn_and_is_a_guess(pushed):
    plan, x, F, m = pushed
    other = plan.again({x: 0.5})
    assert len(other.plot().axes) == 2 and len(other.plot(x.d).axes) == 1
    with pytest.raises(ap.ModelError, match="was not simulated"):
        other.plot(x.dd)
    problem, given = (plan.system, ap.integral(F**2), [F]), {"end": {x: 3, x.d: 0}, "backend": "vm"}
    found = ap.optimize(*problem, {x: 0.5}, 2.0, {m: 1.5}, guess=other, **given)
    assert found.ok and found.objective == pytest.approx(other.objective, rel=1e-7)
    assert found.meshes[0].intervals == other.meshes[0].intervals
    with pytest.raises(ap.ModelError, match="not simulated"):
        ap.optimize(*problem, {}, 2.0, {m: 1.5}, guess=other, phases="auto", **given)
    stored, unjudged = pickle.loads(pickle.dumps(plan)), pickle.loads(pickle.dumps(other))
    assert len(stored.plot().axes) == 2 and len(unjudged.plot().axes) == 1
    with pytest.raises(ap.ModelError, match="without a motion or a mesh"):
        ap.optimize(*problem, {}, 2.0, {m: 1.5}, guess=unjudged, **given)
