"""Best motions: closed forms, published values, rows at the nodes and between them, and what wrong requests are told."""

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are
from scipy.optimize import brentq, fsolve
from sympy import Eq, Matrix, cos, log, sin

import appell as ap

PI = float(np.pi)


def block():
    x = ap.coordinates("x")
    F, m = ap.parameters("F m")
    return ap.System([x], m * x.d**2 / 2, forces={x: F}, name="block"), x, F, m


def cycloid_time(x, y, g):
    """Of the quickest descent from rest at the origin to (x, y), y downwards."""
    angle = brentq(lambda a: (a - np.sin(a)) / (1 - np.cos(a)) - x / y, 1e-3, 2 * PI - 1e-3)
    return angle * np.sqrt(y / (1 - np.cos(angle)) / g)


def test_least_effort_of_a_block_is_twelve_d_squared_over_t_cubed():
    system, x, F, m = block()
    plan = ap.optimize(system, ap.integral(F**2), [F], {}, 2.0, {m: 1}, end={x: 3, x.d: 0}, backend="vm")
    assert plan.ok and plan.error < 1e-10
    assert plan.objective == pytest.approx(12 * 9 / 8, rel=1e-10)
    times = np.linspace(0, 2, 7)
    assert np.allclose(plan.control_at(times)[F], 6 * 3 / 4 * (1 - times), atol=1e-9)
    assert np.allclose(plan.motion[x], 3 * (3 * (plan.t / 2) ** 2 - 2 * (plan.t / 2) ** 3), atol=1e-10)
    assert {"x", "x_d", "F"} <= set(plan.dataset)


def test_least_time_of_a_block_is_twice_the_root_of_the_distance():
    system, x, F, m = block()
    plan = ap.optimize(system, "time", [F], {}, (0.1, 10), {m: 1}, end={x: 1, x.d: 0}, bounds={F: (-1, 1)}, backend="vm")
    assert plan.ok and plan.objective == pytest.approx(2, abs=1e-8)
    assert (np.abs(plan.controls[F]) <= 1 + 1e-12).all()


def test_brachistochrone_by_its_tangency_row():
    x, y = ap.coordinates("x y")
    theta, g = ap.parameters("theta g")
    tangent = ap.Constraint(x.d * sin(theta) - y.d * cos(theta), name="tangent")
    bead = ap.System([x, y], (x.d**2 + y.d**2) / 2, -g * y, constraints=[tangent], name="bead")
    plan = ap.optimize(bead, "time", [theta], {}, (0.1, 3), {g: 9.81}, end={x: 1, y: 0.6}, backend="vm")
    assert plan.ok and plan.objective == pytest.approx(cycloid_time(1, 0.6, 9.81), abs=1e-8)
    assert plan.motion.drift.velocity < 1e-12 and plan.motion.fine(200).drift.velocity < 1e-10


def pendulum(*more):
    """In x and y, with its rod as a constraint, a torque, and what else is said about it."""
    x, y = ap.coordinates("x y")
    u, m, g, l = ap.parameters("u m g l")
    rod = ap.Constraint(x**2 + y**2 - l**2, name="rod")
    rows = [rod, *(row(x, y, l) for row in more)]
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, {x: -u * y, y: u * x}, rows, name="pendulum")
    return system, (x, y), u, rod, {m: 1, g: 9.81, l: 1}


def swing_up(system, q, u, values, guess=None, **options):
    x, y = q
    end = {x: 0, y: 1, x.d: 0, y.d: 0}
    return ap.optimize(system, ap.integral(u**2), [u], {y: -1}, 2.0, values, end=end, guess=guess, backend="vm", **options)


def angle_swing_up():
    phi = ap.coordinates("phi")
    u, m, g, l = ap.parameters("u m g l")
    system = ap.System([phi], m * l**2 * phi.d**2 / 2, -m * g * l * cos(phi), {phi: u}, name="pendulum by its angle")
    end = {phi: PI, phi.d: 0}
    return ap.optimize(system, ap.integral(u**2), [u], {}, 2.0, {m: 1, g: 9.81, l: 1}, end=end, backend="vm")


@pytest.mark.parametrize("more", [(), (lambda x, y, l: 2 * x**2 + 2 * y**2 - 2 * l**2,)], ids=["plain", "redundant"])
def test_rows_hold_and_coordinates_do_not_matter(more):
    system, q, u, _, values = pendulum(*more)
    other = angle_swing_up()
    phi, rate = other.motion["phi"], other.motion["phi.d"]
    guess = {"t": other.t, q[0]: np.sin(phi), q[1]: -np.cos(phi), u: other.controls[u]}
    guess |= {q[0].d: np.cos(phi) * rate, q[1].d: np.sin(phi) * rate}
    plan = swing_up(system, q, u, values, guess)  # of the same of several local minima
    assert plan.ok and plan.objective == pytest.approx(other.objective, rel=1e-6)
    fine = plan.motion.fine(300)
    assert plan.motion.drift.position < 1e-12 and plan.motion.drift.velocity < 1e-12
    assert fine.drift.position < 1e-10 and fine.drift.velocity < 1e-10


def test_a_reaction_can_be_bounded():
    system, q, u, rod, values = pendulum()
    free = swing_up(system, q, u, values)
    hardest = np.abs(free.motion.reaction(rod)).max()
    held = swing_up(system, q, u, values, bounds={rod: (-0.9 * hardest, 0.9 * hardest)}, guess=free)
    assert held.ok and held.objective > free.objective
    assert np.abs(held.motion.reaction(rod)).max() <= 0.9 * hardest * (1 + 1e-3)  # nodes of another equation: between, too


def test_a_reaction_that_is_not_determined_cannot_be_bounded():
    """Of the rod, which is there twice; that of the table, which is no part of the dependency, can be."""
    x, y, z, u = *ap.coordinates("x y z"), ap.parameters("u")
    rows = [ap.Constraint(x**2 + y**2 - 1, name="rod"), ap.Constraint(3 * (x**2 + y**2) - 3, name="again")]
    table = ap.Constraint(z, name="table")
    system = ap.System([x, y, z], (x.d**2 + y.d**2 + z.d**2) / 2, y, {x: u * y, y: -u * x, z: u}, [*rows, table], name="bead")
    given = {"start": {y: -1}, "end": {x: 1, y: 0}, "until": 1.0, "tolerance": 1e-3, "backend": "vm"}
    for row in rows:
        with pytest.raises(ap.ModelError, match=f"the multiplier of '{row.name}' is asked for, and the"):
            ap.optimize(system, ap.integral(u**2), [u], bounds={row.multiplier: (-99, 99)}, **given)
    assert ap.optimize(system, ap.integral(u**2), [u], bounds={table.multiplier: (-99, 99)}, **given).ok


def test_cart_pole_of_kelly():
    """M. Kelly, SIAM Review 59 (2017), 849: the swing-up with the objective 58.8."""
    x, theta = ap.coordinates("x theta")
    F, m1, m2, l, g = ap.parameters("F m1 m2 l g")
    pole = (x.d + l * cos(theta) * theta.d) ** 2 + (l * sin(theta) * theta.d) ** 2
    system = ap.System([x, theta], m1 * x.d**2 / 2 + m2 * pole / 2, -m2 * g * l * cos(theta), {x: F}, name="cart pole")
    end, values = {x: 1, theta: PI, x.d: 0, theta.d: 0}, {m1: 1, m2: 0.3, l: 0.5, g: 9.81}
    plan = ap.optimize(system, ap.integral(F**2), [F], {}, 2.0, values, end=end, bounds={F: (-20, 20), x: (-2, 2)})
    assert plan.ok and plan.objective == pytest.approx(58.8, abs=0.05)
    assert plan.meshes[-1].objective == pytest.approx(plan.meshes[-2].objective, rel=1e-6)


def test_a_car_parks_by_its_steering_angle():
    x, y, theta = ap.coordinates("x y theta")
    delta, F, L, m, J = ap.parameters("delta F L m J")
    rear = ap.Constraint(y.d * cos(theta) - x.d * sin(theta), name="rear")
    front = ap.Constraint(y.d * cos(theta + delta) - x.d * sin(theta + delta) + L * theta.d * cos(delta), name="front")
    push = {x: F * cos(theta), y: F * sin(theta)}
    car = ap.System([x, y, theta], m * (x.d**2 + y.d**2) / 2 + J * theta.d**2 / 2, 0, push, [rear, front], name="car")
    end = {x: 0, y: 2, theta: 0, x.d: 0, y.d: 0, theta.d: 0}
    bounds = {delta: (-0.6, 0.6), F: (-1, 1)}
    plan = ap.optimize(
        car,
        "time",
        [delta, F],
        {},
        (1, 60),
        {L: 2.5, m: 1, J: 1},
        end=end,
        bounds=bounds,
        rates={delta: (-1, 1)},
        tolerance=1e-5,
    )
    assert plan.ok and (np.abs(plan.controls[delta]) <= 0.6 + 1e-12).all()
    assert plan.motion.drift.velocity < 1e-12 and plan.motion.fine(300).drift.velocity < 1e-10


def test_instants_are_coupled():
    """A damped block that goes on as it began, and one further: least effort drives it at a constant speed."""
    x = ap.coordinates("x")
    F, c = ap.parameters("F c")
    sled = ap.System([x], x.d**2 / 2, forces={x: F - c * x.d}, name="sled")
    gait = [Eq(ap.at(x.d, "end"), ap.at(x.d, "start")), ap.at(x, "end") - ap.at(x, "start") >= 1]
    plan = ap.optimize(
        sled, ap.integral(F**2), [F], {x.d: ap.free}, 2.0, {c: 3}, subject_to=gait, backend="vm"
    )  # fmt: skip
    assert plan.ok and plan.objective == pytest.approx(9 / 2, rel=1e-8)
    assert plan.motion[x.d] == pytest.approx(0.5, rel=1e-6)


def test_a_parameter_is_found():
    """The stiffness with which a mass passes its rest after 1 s."""
    x = ap.coordinates("x")
    k = ap.parameters("k", positive=True)
    spring = ap.System([x], x.d**2 / 2, k * x**2 / 2, name="spring")
    plan = ap.optimize(spring, ap.at(x, 1.0) ** 2, [], {x: 1}, 2.0, {k: 2}, unknown=[k], backend="vm")
    assert plan.ok and plan.values[k] == pytest.approx((PI / 2) ** 2, rel=1e-5)


def mistakes():
    system, x, F, m = block()
    y = ap.coordinates("y")
    idle = ap.parameters("idle")
    two = ap.System([x, y], (x.d**2 + y.d**2) / 2, idle, {x: F}, name="two blocks")
    effort, values = ap.integral(F**2), {m: 1}
    pair, q, u, _, rod_values = pendulum()
    plain = lambda end, **more: ap.optimize(system, effort, [F], {}, 1.0, values, end=end, **more)
    return {
        "fixed end": (lambda: ap.optimize(system, "time", [F], {}, 1.0, values, end={x: 1}), r"until=\(earliest, latest\)"),
        "start": (lambda: ap.optimize(system, effort, [F], {x: 3}, 1.0, values, bounds={x: (0, 1)}), "exclude the start"),
        "crossed": (lambda: ap.optimize(system, effort, [F], {}, 1.0, values, end={x: (1, 0)}), "crossed"),
        "idle": (lambda: ap.optimize(two, effort, [F], {}, 1.0, {idle: 1}, end={x: 1}, unknown=[idle]), "nothing depends"),
        "along": (lambda: ap.optimize(system, F**2, [F], {}, 1.0, values, end={x: 1}), r"write ap.integral"),
        "unknown name": (lambda: ap.optimize(system, effort, ["G"], {}, 1.0, values, end={x: 1}), "no parameter of block"),
        "acceleration": (lambda: plain({x: 1, x.dd: 0}), r"subject_to=\[Eq\(ap.at\(x.dd, 'end'\)"),
        "control": (lambda: plain({x: 1, F: 0}), r"subject_to=\[Eq\(ap.at\(F, 'end'\)"),
        "no number": (lambda: plain({x: 1}, bounds={F: (np.inf, np.inf)}), "no number lies between"),
        "relation": (lambda: plain({x: 1}, subject_to=[x <= -1]), "x <= -1 does not hold at the start"),
        "relation at the end": (lambda: plain({x: 3}, bounds={x**2: (0, 1)}), "does not hold at the end"),
        "off the rod": (lambda: swing_up(pair, q, u, {key: 2 * value for key, value in rod_values.items()}), "rod"),
        "bounded number": (lambda: plain({x: 1}, bounds={3.0: (0, 1)}), "which is a number"),
        "mixture": (lambda: plain({x: 1}, bounds={ap.at(x, "end") - x: (0, 1)}), "x, which changes along the motion"),
        "forever": (lambda: ap.optimize(system, effort, [F], {}, 1e300, values, end={x: 1}), "a plan lasts between"),
        "latest of all": (lambda: ap.optimize(system, "time", [F], {}, (1, 1e40), values, end={x: 1}), "a plan lasts between"),
        "no time": (lambda: ap.optimize(system, effort, [F], {}, 1e-200, values, end={x: 1}), "a plan lasts between"),
        "late": (lambda: ap.optimize(system, effort, [F], {}, 1e15 + 2, values, end={x: 1}, since=1e15), "cannot be told"),
        "given": (lambda: plain({x: 1}, bounds={m: (2, 3)}), "m is given, and nothing can be chosen there; name m in unknown="),
        "given in a relation": (lambda: plain({x: 1}, subject_to=[m >= 2]), "m is given"),
        "progress": (lambda: plain({x: 1}, progress="yes"), "progress= is True, False or a function"),
        "no such phases": (lambda: plain({x: 1}, guess={"t": [0, 1], "phases": [0.5]}), "there are 1 phases"),
        "nothing": (lambda: ap.optimize(system, ap.at(x, "end"), [], {}, 1.0, {**values, F: 1}), "nothing can be chosen"),
    }  # fmt: skip


@pytest.mark.parametrize("name", mistakes())
def test_wrong_requests_name_the_culprit(name):
    write, words = mistakes()[name]
    with pytest.raises(ap.ModelError, match=words):
        write()


def test_relations_that_exclude_each_other_are_named():
    system, x, F, m = block()
    plan = ap.optimize(system, ap.integral(F**2), [F], {}, 1.0, {m: 1}, end={x: 1}, subject_to=[F >= 1, F <= -1], backend="vm")
    assert not plan.ok and "is missed by" in plan.message and ("F >= 1" in plan.message or "F <= -1" in plan.message)


def test_an_instant_can_be_bounded():
    """bounds= of ap.at is a relation between instants; half of the way at half of the time is free, 0.6 is not."""
    system, x, F, m = block()
    ask = lambda **more: ap.optimize(
        system, ap.integral(F**2), [F], {}, 1.0, {m: 1}, end={x: 1, x.d: 0}, backend="vm", tolerance=1e-4, **more
    )
    bounded, related = ask(bounds={ap.at(x, 0.5): (0.6, None)}), ask(subject_to=[ap.at(x, 0.5) >= 0.6])
    assert bounded.ok and bounded.objective == pytest.approx(related.objective, rel=1e-9)
    assert bounded.objective > 12 + 1e-3


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_goal_without_a_lower_bound_is_said():
    system, x, F, m = block()
    plan = ap.optimize(system, ap.at(x, "end"), [F], {}, 1.0, {m: 1}, backend="vm")
    assert not plan.ok and "bounded from below" in plan.message


def test_an_end_out_of_reach_is_named_and_what_was_reached_is_kept():
    x, y = ap.coordinates("x y")
    F = ap.parameters("F")
    two = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: F}, name="two blocks")
    plan = ap.optimize(two, ap.integral(F**2), [F], {}, 1.0, end={x: 1, y: 0.5}, backend="vm")
    assert not plan.ok and "y comes to" in plan.message and plan.t[-1] == 1


def test_a_satellite_turns_with_unit_quaternions():
    ball = ap.quaternion("b")
    T = ap.parameters("T1 T2 T3")
    energy = sum(j * w**2 for j, w in zip((1, 2, 3), ball.rates, strict=True)) / 2
    satellite = ap.System([ball], energy, forces=dict(zip(ball.rates, T, strict=True)), name="satellite")
    end = dict(zip(ball.coordinates, (0.6, 0, 0.48, 0.64), strict=True)) | {w: 0 for w in ball.rates}
    plan = ap.optimize(satellite, ap.integral(sum(x**2 for x in T)), T, {}, 4.0, end=end, backend="vm")
    assert plan.ok and plan.motion.drift.position < 1e-12 and plan.motion.fine(200).drift.position < 1e-10


def test_robot_arm_of_cops():
    """The robot arm of the COPS collection: 9.14093 on its finest mesh; finer ones here settle at 9.140915."""
    rho, theta, phi = ap.coordinates("rho theta phi")
    u = ap.parameters("u1 u2 u3")
    J = ((5 - rho) ** 3 + rho**3) / 3
    push = {rho: u[0] / 5, theta: u[1] / (J * sin(phi) ** 2), phi: u[2] / J}
    arm = ap.System([rho, theta, phi], (rho.d**2 + theta.d**2 + phi.d**2) / 2, forces=push, name="arm")
    end = {rho: 4.5, theta: 2 * PI / 3, phi: PI / 4, rho.d: 0, theta.d: 0, phi.d: 0}
    plan = ap.optimize(
        arm, "time", u, {rho: 4.5, phi: PI / 4}, (1, 60), end=end, bounds={x: (-1, 1) for x in u}, backend="vm"
    )  # fmt: skip
    assert plan.ok and plan.objective == pytest.approx(9.14093, abs=5e-5)


def test_a_plan_keeps_clear_of_walls():
    x, y = ap.coordinates("x y")
    u, w = ap.parameters("u w")
    post = ap.Unilateral((x - 1) ** 2 + y**2 - 0.25, name="post")
    puck = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: u, y: w}, constraints=[post], name="puck")
    end = {x: 2, y: 0, x.d: 0, y.d: 0}
    plan = ap.optimize(puck, ap.integral(u**2 + w**2), [u, w], {y: 0.01}, 2.0, end=end, backend="vm")
    assert plan.ok and not plan.simulated.impacts
    assert ((plan.motion[x] - 1) ** 2 + plan.motion[y] ** 2 >= 0.25).all()


def test_an_end_that_rows_leave_two_ways_is_found():
    """From (1, 0) nothing tells whether x = 0 is above or below: Newton's steps on the rod have no slope there."""
    system, (x, y), u, _, values = pendulum()
    below = ap.optimize(system, ap.integral(u**2), [u], {x: 1}, 3.0, values, end={x: 0, x.d: 0, y: (None, 0)}, backend="vm")
    assert below.ok and below.objective == pytest.approx(12.8738850, rel=1e-6)  # Betts, Practical methods (2010), 10.103


def test_a_control_in_a_row_of_positions_drives_a_crane():
    x, phi = ap.coordinates("x phi")
    c, l, g = ap.parameters("c l g")
    load = (x.d + l * cos(phi) * phi.d) ** 2 + (l * sin(phi) * phi.d) ** 2
    drive = ap.Constraint(x - c, name="drive")
    crane = ap.System([x, phi], (x.d**2 + load) / 2, -g * l * cos(phi), constraints=[drive], name="crane")
    end = {x: 1, phi: 0, x.d: 0, phi.d: 0}
    plan = ap.optimize(crane, ap.integral(x.dd**2), [c], {}, 2.0, {l: 1, g: 9.81}, end=end, backend="vm")
    assert plan.ok and np.allclose(plan.controls[c], plan.motion[x], atol=1e-12)
    assert plan.motion.fine(200).drift.position < 1e-10


@pytest.mark.parametrize("limit", [1 / 9, 0.2])
def test_bryson_and_denham(limit):
    """Bryson, Denham, Dreyfus, AIAA J. 1 (1963), 2544: ∫ F²/2 dt is 4/(9 l) for l <= 1/6, 2 + 6 (1 − 4 l)² up to l = 1/4."""
    system, x, F, m = block()
    bounds = {x: (None, limit)}
    plan = ap.optimize(
        system, ap.integral(F**2) / 2, [F], {x.d: 1}, 1.0, {m: 1}, end={x: 0, x.d: -1}, bounds=bounds, backend="vm"
    )
    want = 4 / (9 * limit) if limit <= 1 / 6 else 2 + 6 * (1 - 4 * limit) ** 2
    assert plan.ok and plan.objective == pytest.approx(want, rel=1e-6)


def test_least_time_with_a_bounded_rate():
    """A triple integrator from rest to rest: four switches, T³ = 32 d/j."""
    system, x, F, m = block()
    end = {x: 1, x.d: 0, F: 0}
    plan = ap.optimize(system, "time", [F], {F: 0}, (0.5, 20), {m: 1}, end=end, rates={F: (-1, 1)}, backend="vm")
    assert plan.ok and plan.objective == pytest.approx(32 ** (1 / 3), abs=1e-8)


def test_a_fast_decay_needs_no_fine_mesh():
    """A light follower on a damper forgets its defects within 0.1 ms: a mesh for the cart, which needs 2 √m s, is enough."""
    x, y = ap.coordinates("x y")
    F = ap.parameters("F")
    pull = y.d - x.d + 5 * (y - x)
    cart = ap.System([x, y], x.d**2 / 2 + 1e-4 * y.d**2 / 2, 0, {x: F + pull, y: -pull}, name="cart with a light follower")
    plan = ap.optimize(cart, "time", [F], {}, (0.5, 8), end={x: 1, x.d: 0}, bounds={F: (-1, 1)}, tolerance=1e-4)
    assert plan.ok and plan.objective == pytest.approx(2 * np.sqrt(1.0001), rel=1e-4)
    assert plan.error < 1e-4 and len(plan.meshes) <= 3


def test_linear_tangent_steering():
    """COPS 3.0, problem 9: tan u falls linearly, tan u = τ (1 − 2 t/T), which leaves two equations for τ and T."""
    x, y = ap.coordinates("x y")
    u = ap.parameters("u")
    rocket = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {x: 100 * cos(u), y: 100 * sin(u)}, name="rocket")
    end = {y: 5, x.d: 45, y.d: 0}
    plan = ap.optimize(rocket, "time", [u], {}, (0.1, 2), end=end, bounds={u: (-PI / 2, PI / 2)}, backend="vm")
    s, weights = np.polynomial.legendre.leggauss(60)

    def missed(z):
        root = np.sqrt(1 + (z[0] * s) ** 2)
        rise = 25 * z[1] ** 2 * np.sum(weights * (1 - s) * (-z[0] * s) / root)
        return [50 * z[1] * np.sum(weights / root) - 45, rise - 5]

    found = fsolve(missed, (1.0, 0.55), xtol=1e-14)
    assert plan.ok and plan.objective == pytest.approx(found[1], abs=1e-8)


def test_a_block_comes_back_from_a_wall():
    """A rubbing block is pushed against a wall and slides back to where it was, in least time: pushed as hard as can be."""
    x = ap.coordinates("x")
    F = ap.parameters("F")
    rub, wall = ap.Friction(x.d, limit=5.886, name="floor"), ap.Unilateral(1 - x, name="wall", restitution=0.8)
    block = ap.System([x], x.d**2 / 2, 0, {x: F}, [wall, rub], name="block")
    plan = ap.optimize(
        block, "time", [F], {}, (0.1, 5), end={x: 0}, bounds={F: (0, 160)}, phases=[("floor+",), "wall", ("floor-",)],
        tolerance=1e-5, backend="vm",
    )  # fmt: skip
    there = np.sqrt(2 / (160 - 5.886))
    v = 0.8 * (160 - 5.886) * there
    assert plan.ok and plan.objective == pytest.approx(there + (v - np.sqrt(v**2 - 2 * 5.886)) / 5.886, rel=1e-7)


def test_a_motion_that_tells_most():
    """Excitation: log det ∫ YᵀY dt of the three base parameters of an arm, larger than that of any sine within the limits."""
    q = ap.coordinates("q")
    T = ap.parameters("T")
    arm = ap.System([q], q.d**2 / 2, 7.8 * sin(q), {q: T}, name="arm")
    Y = Matrix([q.dd, cos(q), -sin(q)])
    W = Matrix(3, 3, lambda i, j: ap.integral(Y[i] * Y[j]))
    t = np.linspace(0, 2, 21)
    guess = {"t": t, q: 0.5 * np.sin(4 * t), q.d: 2 * np.cos(4 * t)}
    limits = {T: (-15, 15), q: (-1, 1), q.d: (-4, 4)}
    plan = ap.optimize(
        arm, -log(W.det()), [T], {}, 2.0, end={q: 0, q.d: 0}, bounds=limits, guess=guess, tolerance=1e-2, backend="vm"
    )
    assert plan.motion is not None
    found, best = plan.motion.fine(800), -np.inf

    def information(t, q, a):
        Y = np.stack([a, np.cos(q), -np.sin(q)], axis=1)
        return np.linalg.slogdet(np.trapezoid(Y[:, :, None] * Y[:, None, :], t, axis=0))[1]

    t = np.linspace(0, 2, 4001)
    for w in np.linspace(1, 8, 29):
        for size in np.linspace(0.1, 1, 19):
            angle, a = size * np.sin(w * t), -size * w**2 * np.sin(w * t)
            if size * w <= 4 and np.abs(a + 7.8 * np.cos(angle)).max() <= 15:
                best = max(best, information(t, angle, a))
    assert plan.ok and -plan.objective > best + 1
    assert information(found.t, found[q], found[q.dd]) == pytest.approx(-plan.objective, abs=0.1)


def test_an_error_of_the_progress_function_is_its_own(capfd):
    system, x, F, m = block()
    with pytest.raises(ZeroDivisionError):
        ap.optimize(system, ap.integral(F**2), [F], {}, 1.0, {m: 1}, end={x: 1}, progress=lambda *_: 1 / 0, backend="vm")
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_quadratic_goal_gives_riccatis_value_and_gain():
    """With the end costing zᵀPz, P of the algebraic Riccati equation, every horizon costs z₀ᵀPz₀, with u₀ = −R⁻¹BᵀPz₀."""
    x, y = ap.coordinates("x y")
    F = ap.parameters("F")
    pair = ap.System([x, y], (x.d**2 + 2 * y.d**2) / 2, 3 * (x - y) ** 2 / 2, {x: F - 0.1 * x.d, y: -0.2 * y.d}, name="pair")
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-3, 3, -0.1, 0], [1.5, -1.5, 0, -0.1]])
    B, Q, R, z0 = np.array([[0.0], [0], [1], [0]]), np.diag([2, 1, 0.5, 0.3]), np.array([[0.7]]), np.array([1, -0.5, 0.2, 0.4])
    P, z = solve_continuous_are(A, B, Q, R), (x, y, x.d, y.d)
    along = sum(Q[i, i] * s**2 for i, s in enumerate(z)) + 0.7 * F**2
    last = sum(P[i, j] * z[i] * z[j] for i in range(4) for j in range(4))
    plan = ap.optimize(pair, ap.integral(along) + ap.at(last, "end"), [F], dict(zip(z, z0, strict=True)), 4.0, backend="vm")
    assert plan.ok and plan.objective == pytest.approx(z0 @ P @ z0, rel=1e-9)
    assert plan.controls[F][0] == pytest.approx(float(-(B.T @ P @ z0)[0] / 0.7), rel=1e-6)


def test_the_best_of_several_attempts_is_returned():
    """Two wells at the end, the deeper one on the other side; rounding in the check by simulation does not choose."""
    system, x, F, m = block()
    goal = 0.002 * ap.integral(F**2) + (ap.at(x, "end") ** 2 - 1.69) ** 2 + 0.4 * ap.at(x, "end")
    options = {"bounds": {F: (-30, 30)}, "attempts": 6, "tolerance": 1e-5, "backend": "vm"}
    plan = ap.optimize(system, goal, [F], {x: 0.05}, 1.0, {m: 1}, **options)
    found = [one.objective for one in plan.attempts if one.ok]
    assert plan.objective == min(found) < -0.5 < 0.5 < max(found)


@pytest.mark.parametrize("power", [2, 4])
def test_a_maximum_at_the_first_guess_is_left(power):
    system, x, F, m = block()
    plan = ap.optimize(system, -(ap.at(x, "end") ** power), [F], {}, 1.0, {m: 1}, bounds={F: (-1, 1)}, backend="vm")
    assert plan.ok and plan.objective == pytest.approx(-(0.5**power), rel=1e-6)


def test_a_saddle_to_which_the_search_went_is_left():
    """x stays at 0 by symmetry while y moves: without its end the goal would be 12."""
    x, y = ap.coordinates("x y")
    u, w = ap.parameters("u w")
    point = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {x: u, y: w}, name="point")
    goal = ap.integral(w**2) - ap.at(x, "end") ** 2
    plan = ap.optimize(point, goal, [u, w], {}, 1.0, end={y: 1, y.d: 0}, bounds={u: (-1, 1)}, backend="vm")
    assert plan.ok and plan.objective == pytest.approx(11.75, rel=1e-6)


def test_a_control_keeps_its_sign_as_a_state():
    y, T = ap.coordinates("y"), ap.parameters("T", nonnegative=True)
    lander = ap.System([y], y.d**2 / 2, 9.81 * y, {y: T}, name="lander")
    given = {"end": {y: 0, y.d: 0}, "rates": {T: (-200, 200)}, "tolerance": 1e-4, "backend": "vm"}
    plan = ap.optimize(lander, ap.integral(T), [T], {y: 10}, (1, 4), bounds={T: (None, 30)}, **given)
    assert plan.ok and plan.controls[T].min() > -1e-6
    with pytest.raises(ap.ModelError, match="T was declared nonnegative, and bounds= keeps it between -3 and -1"):
        ap.optimize(lander, ap.integral(T), [T], {y: 10}, (1, 4), bounds={T: (-3, -1)}, **given)


def test_the_name_of_a_rate_is_not_taken_from_others():
    x = ap.coordinates("x")
    u, rate = ap.parameters("u u_rate")
    cart = ap.System([x], x.d**2 / 2, 0, {x: u + rate}, name="cart")
    options = {"end": {x: 1, x.d: 0}, "rates": {u: (-100, 100)}, "tolerance": 1e-3, "backend": "vm"}
    plan = ap.optimize(cart, ap.integral(u**2), [u], {}, 1.0, {rate: 2.0}, **options)
    assert plan.ok and plan.objective == pytest.approx(12 + 4, rel=1e-6)


@pytest.mark.parametrize("kind", ["unknown", "state"])
def test_conditions_that_others_imply_print_nothing(kind, capfd):
    """A relation of unknowns is one row; one of a state also holds at given ends, which is no mistake."""
    system, x, F, m = block()
    more = {"unknown": [m], "bounds": {m: (0.5, 2)}, "subject_to": [Eq(m, 1)]} if kind == "unknown" else {}
    more = more or {"subject_to": [Eq(x, ap.t**2)], "parameters": {m: 1}}
    plan = ap.optimize(system, ap.integral(F**2), [F], {}, 1.0, end={x: 1}, backend="vm", **more)
    assert plan.ok and plan.objective == pytest.approx(3 if kind == "unknown" else 4, rel=1e-6)
    assert "".join(capfd.readouterr()) == ""
    if kind == "unknown":
        more["subject_to"] = [Eq(m, 3)]
        missed = ap.optimize(system, ap.integral(F**2), [F], {}, 1.0, end={x: 1}, backend="vm", **more)
        assert not missed.ok and "Eq(m, 3) is missed by 1" in missed.message


def test_the_reaction_of_a_wall_that_is_never_touched_cannot_be_bounded():
    x, u = ap.coordinates("x"), ap.parameters("u")
    floor = ap.Unilateral(x, name="floor", restitution=0)
    ball = ap.System([x], x.d**2 / 2, 9.81 * x, {x: u}, [floor], name="ball")
    with pytest.raises(ap.ModelError, match="reaction of 'floor' exclude 0, and no phase"):
        ap.optimize(ball, ap.integral(u**2), [u], {x: 1}, 1.0, end={x: 1}, bounds={floor.multiplier: (5, None)})
