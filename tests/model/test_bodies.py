"""Bodies give the T and S of the textbooks, loads their Q."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from sympy import Matrix, cos, sin, symbols

import appell as ap
from appell.jets import coordinates, parameters, t, total_derivative
from appell.model import Force, Particle, RigidBody, System, Torque, euler, quaternion
from appell.normal_form import normal_form

x, y, z, phi = coordinates("x y z phi")
psi, theta, chi = coordinates("psi theta chi")
m, l, g = parameters("m l g", positive=True)
A, B, C = parameters("A B C", positive=True)


def same(one, other) -> bool:
    """Equal at three random states, to 30 of 50 digits."""
    difference = sympy.sympify(one - other)
    rng = np.random.default_rng(1)
    for _ in range(3):
        state = {s: sympy.Rational(int(rng.integers(1, 997)), 331) for s in sorted(difference.free_symbols, key=str)}
        if abs(difference.subs(state).evalf(50)) > sympy.Float("1e-30"):
            return False
    return True


def test_particle():
    assert same(Particle(m, [x, y, z]).kinetic({}), m * (x.d**2 + y.d**2 + z.d**2) / 2)
    assert same(Particle(m, x**2).kinetic({}), 2 * m * x**2 * x.d**2)
    pendulum = Particle(m, [l * sin(phi), -l * cos(phi)])
    assert same(pendulum.kinetic({}), m * l**2 * phi.d**2 / 2)
    driven = Particle(m, [x + t**2])
    assert same(driven.kinetic({}), m * (x.d + 2 * t) ** 2 / 2)
    assert same(pendulum.appell({}), m * l**2 * (phi.dd**2 + phi.d**4) / 2)


def test_planar_body():
    rod = RigidBody(m, m * l**2 / 12, [l / 2 * cos(phi), l / 2 * sin(phi)], phi)
    assert same(rod.kinetic({}), m * l**2 / 3 * phi.d**2 / 2)
    assert rod.omega({}) == Matrix([0, 0, phi.d])


def euler_rates():
    """Whittaker, ch. I: ω on body axes for z, x', z''."""
    p = psi.d * sin(theta) * sin(chi) + theta.d * cos(chi)
    q = psi.d * sin(theta) * cos(chi) - theta.d * sin(chi)
    return p, q, psi.d * cos(theta) + chi.d


def test_euler_body():
    p, q, r = euler_rates()
    expected = (A * p**2 + B * q**2 + C * r**2) / 2
    rows = euler([psi, theta, chi]).rotation.tolist()
    for orientation in ([psi, theta, chi], euler([psi, theta, chi]), euler([psi, theta, chi], "zxz"), rows):
        assert same(RigidBody(m, [A, B, C], [0, 0, 0], orientation).kinetic({}), expected)


@pytest.mark.parametrize("axes", ["zxz", "zyx", "xyz", "zyz", "yxy"])
def test_omega_of_any_euler_axes_is_that_of_the_matrix(axes):
    """ω from the turns = vec(RᵀṘ), at a random state to 1e-13."""
    attitude = euler([psi, theta, chi], axes)
    by_turns = RigidBody(1, [1, 1, 1], [0, 0, 0], attitude).omega({})
    by_matrix = RigidBody(1, [1, 1, 1], [0, 0, 0], attitude.rotation).omega({})
    state = {psi: 0.3, theta: 0.7, chi: -0.4, psi.d: 1.1, theta.d: -0.6, chi.d: 0.8}
    assert np.array((by_turns - by_matrix).subs(state), float) == pytest.approx(np.zeros((3, 1)), abs=1e-13)
    R = np.array(attitude.rotation.subs(state), float)
    assert pytest.approx(np.eye(3), abs=1e-14) == R @ R.T and np.linalg.det(R) == pytest.approx(1)


def test_zyx_is_yaw_pitch_roll():
    attitude = euler([psi, theta, chi], "zyx").omega({})
    expected = Matrix([
        chi.d - psi.d * sin(theta),
        theta.d * cos(chi) + psi.d * cos(theta) * sin(chi),
        -theta.d * sin(chi) + psi.d * cos(theta) * cos(chi),
    ])  # fmt: skip
    assert all(same(a, b) for a, b in zip(attitude, expected, strict=True))


def test_matrix_body_is_the_euler_body():
    R = euler([psi, theta, chi]).rotation
    one = RigidBody(m, [A, B, C], [x, y, z], R).kinetic({})
    other = RigidBody(m, [A, B, C], [x, y, z], [psi, theta, chi]).kinetic({})
    state = {s: k / 7 for k, s in enumerate((psi, theta, chi, x.d, y.d, z.d, psi.d, theta.d, chi.d), start=1)}
    values = {m: 1.0, A: 2.0, B: 1.5, C: 1.2}
    assert float((one - other).subs(state | values)) == pytest.approx(0, abs=1e-14)


def test_full_inertia_matrix():
    J = Matrix([[3, 1, 0], [1, 2, 0], [0, 0, 4]])
    p, q, r = euler_rates()
    w = Matrix([p, q, r])
    assert same(RigidBody(m, J, [0, 0, 0], [psi, theta, chi]).kinetic({}), w.dot(J * w) / 2)
    nested = RigidBody(m, [[3, 1, 0], [1, 2, 0], [0, 0, 4]], [0, 0, 0], [psi, theta, chi])
    assert nested.inertia == J


def test_quaternion_body():
    ball = quaternion("ball")
    components, rates = ball
    assert [str(s) for s in (*components, *rates)] == [
        "ball_x", "ball_y", "ball_z", "ball_w", "omega_ball_x", "omega_ball_y", "omega_ball_z",
    ]  # fmt: skip
    system = System([x, y, z, ball], bodies=[RigidBody(m, [A, B, C], [x, y, z], ball)])
    p, q, r = rates
    assert same(system.kinetic, m * (x.d**2 + y.d**2 + z.d**2) / 2 + (A * p**2 + B * q**2 + C * r**2) / 2)
    assert system.nq == 7 and system.nv == 6
    assert system.velocities == (x.d, y.d, z.d, *rates)


def test_appell_function_of_a_body():
    """Golubev 1.4 / Gantmacher example 2: S = ½ Σ A ṗ² + Σ (C − B) q r ṗ, and ∂S/∂a = M a + h."""
    ball = quaternion("ball")
    body = RigidBody(m, [A, B, C], [0, 0, 0], ball)
    p, q, r = ball.rates
    S = body.appell(ball.kinematics)
    expected = (A * p.d**2 + B * q.d**2 + C * r.d**2) / 2
    expected += (C - B) * q * r * p.d + (A - C) * r * p * q.d + (B - A) * p * q * r.d
    assert same(S, expected)


def test_appell_function_gives_the_equations_in_euler_angles():
    body = RigidBody(m, [A, B, C], [x, y, z * cos(psi)], [psi, theta, chi])
    system = System([x, y, z, psi, theta, chi], bodies=[body])
    S = body.appell(system.rates)
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(0.2, 1, (3, 6))
    p = [2.0, 1.5, 1.2, 0.7]  # A B C m
    state = dict(zip((*system.coordinates, *system.velocities, *system.accelerations), (*q, *v, *a), strict=True))
    state |= dict(zip((A, B, C, m), p, strict=True))
    out = normal_form(system).select("M", "h")(0.0, q, v, p)
    expected = [float(S.diff(s).subs(state)) for s in system.accelerations]
    assert out["M"] @ a + out["h"] == pytest.approx(expected, abs=1e-12)


def test_bodies_add_to_kinetic():
    system = System([x, y], m * y.d**2 / 2, bodies=[Particle(m, [x])])
    assert same(system.kinetic, m * (x.d**2 + y.d**2) / 2)


# --- loads ------------------------------------------------------------------------------------------------------------

pendulum = Particle(m, [l * sin(phi), -l * cos(phi)])


def test_force_on_a_pendulum():
    system = System([phi], bodies=[pendulum], loads=[Force([0, -m * g], at=pendulum)])
    assert same(system.forces[0], -m * g * l * sin(phi))
    same_force = System([phi], bodies=[pendulum], loads=[Force([0, -m * g], at=pendulum.position)])
    assert same_force.forces == system.forces


def test_force_at_a_point_of_a_body_makes_a_torque():
    """F along y at distance l ahead of the centre: Q_y = F, Q_φ = F l cos φ."""
    F = parameters("F")
    body = RigidBody(m, m * l**2, [x, y], phi)
    tip = [x + l * cos(phi), y + l * sin(phi)]
    Q = System([x, y, phi], bodies=[body], loads=[Force([0, F], at=tip)], forces={x: -x.d}).forces
    assert Q[0] == -x.d and same(Q[1], F) and same(Q[2], F * l * cos(phi))


def test_torques():
    body = RigidBody(m, 1, [x, y], phi)
    M = parameters("M")
    assert System([x, y, phi], bodies=[body], loads=[Torque(M, on=body)]).forces == (0, 0, M)
    top = RigidBody(m, [A, B, C], [0, 0, 0], [psi, theta, chi])
    in_space = System([psi, theta, chi], bodies=[top], loads=[Torque([0, 0, M], on=top)]).forces
    assert same(in_space[0], M) and same(in_space[1], 0) and same(in_space[2], M * cos(theta))
    on_body = System([psi, theta, chi], bodies=[top], loads=[Torque([0, 0, M], on=top, frame="body")]).forces
    assert same(on_body[0], M * cos(theta)) and same(on_body[1], 0) and same(on_body[2], M)


def test_torque_on_a_quaternion_body():
    ball = quaternion("ball")
    body = RigidBody(m, [A, B, C], [0, 0, 0], ball)
    a, b, c = symbols("a b c")
    system = System([ball], bodies=[body], loads=[Torque(parameters("a b c"), on=body, frame="body")])
    assert [str(q) for q in system.forces] == [str(s) for s in (a, b, c)]
    space = System([ball], bodies=[body], loads=[Torque([0, 0, 1], on=body)]).forces
    assert all(same(f, e) for f, e in zip(space, ball.rotation.row(2), strict=True))


def test_power_of_a_load_is_force_times_velocity():
    """Q·v = F·ṙ for any coordinates."""
    position = Matrix([x * cos(phi), x * sin(phi), x**2])
    load = Force([y, t, x.d], at=position)
    system = System([x, y, phi], (x.d**2 + y.d**2 + phi.d**2) / 2, loads=[load])
    power = sum(q * v for q, v in zip(system.forces, system.velocities, strict=True))
    assert same(power, Matrix([y, t, x.d]).dot(total_derivative(position)))


# -- points of bodies, fewer angles ------------------------------------------------------------------------------------------


def test_velocities_without_arguments():
    """A wheel that rolls along x: the velocity of the lowest point, v + ω × ρ, vanishes for ẋ = r φ̇."""
    x, phi, psi, theta = ap.coordinates("x phi psi theta")
    r = ap.parameters("r", positive=True)
    wheel = ap.RigidBody(1, [1, 1, 2], [x, r, 0], phi)
    assert wheel.omega() == sympy.Matrix([0, 0, phi.d]) and wheel.velocity() == sympy.Matrix([x.d, 0, 0])
    slip = wheel.point_velocity([0, -r, 0], frame="space")
    assert slip == sympy.Matrix([x.d + r * phi.d, 0, 0])
    fixed = wheel.point([0, -r, 0])
    moving = wheel.point_velocity([0, -r, 0])
    assert sympy.simplify(ap.total_derivative(fixed) - moving) == sympy.zeros(3, 1)
    rod = ap.RigidBody(1, [1, 1, 0], [0, 0, 0], ap.euler([psi, theta], "zx"))
    rates = sympy.Matrix([theta.d, psi.d * sympy.sin(theta), psi.d * sympy.cos(theta)])
    assert sympy.simplify(rod.omega() - rates) == sympy.zeros(3, 1)
    assert ap.euler([psi, theta]).axes == "zx" and ap.euler([psi]).rotation == ap.euler([psi], "z").rotation
    with pytest.raises(ap.ModelError, match="up to three"):
        ap.euler([psi, theta], "zxz")
    with pytest.raises(ap.ModelError, match="two turns in a row"):
        ap.euler([psi, theta], "xx")


def test_a_disc_rolls_by_the_velocity_of_its_lowest_point():
    """Rows of rolling from `point_velocity` give the disc of the zoo."""
    x, y, z, psi, theta, phi = ap.coordinates("x y z psi theta phi")
    example = ap.zoo.rolling_disc()
    m, g, r = (next(s for s in example.system.parameters if str(s) == name) for name in "mgr")
    carrier = ap.euler([psi, theta], "zx")  # heading about z, lean about the heading
    disc = ap.RigidBody(m, [m * r**2 / 4, m * r**2 / 2, m * r**2 / 4], [x, y, z], ap.euler([psi, theta, phi], "zxy"))
    down = -r * carrier.rotation.col(2)  # from the centre to the lowest point, on inertial axes
    slip = disc.point_velocity(down, frame="space")
    rows = [ap.Constraint(z - r * sympy.cos(theta), "height"), ap.Constraint(slip[0], "x"), ap.Constraint(slip[1], "y")]
    system = ap.System([x, y, z, psi, theta, phi], 0, m * g * z, constraints=rows, bodies=[disc], name="disc")
    values = example.parameters
    start = {x: 0, theta: 0.2, z: 0.5 * math.cos(0.2), psi.d: 0.5, phi.d: 8.0}
    ours, theirs = (
        ap.simulate(s, ap.consistent(s, start, values, hold=[theta, psi.d, phi.d, theta.d]), 1.0, values)
        for s in (system, example.system)
    )
    assert ours[theta][-1] == pytest.approx(theirs[theta][-1], abs=1e-7)
    assert ours[psi][-1] == pytest.approx(theirs[psi][-1], abs=1e-7)


@pytest.mark.parametrize("inertia", ["I", [1, "psi", 2], [[1, 0, 0], [0, "2", 0], [0, 0, 3]], [1, 2], [[1, 2], [3]], None])
def test_an_inertia_is_made_of_numbers_and_expressions(inertia):
    """Text is not read as a formula, and what has another shape is refused by name; arrays of NumPy serve."""
    x, y, z, psi, theta, phi = ap.coordinates("x y z psi theta phi")
    with pytest.raises(ap.ModelError, match="inertia of stone"):
        ap.RigidBody(1, inertia, [x, y, z], [psi, theta, phi], name="stone")
    body = ap.RigidBody(1, np.diag([1.0, 2.0, 2.5]), np.array([x, y, z]), [psi, theta, phi])
    assert body.inertia[2, 2] == 2.5 and body.velocity()[1] == y.d
