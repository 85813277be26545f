"""Speeds with kinematics of their own: q̇ = N u + n0 with nq ≠ nv."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from sympy import cos, sin
from tests.reference.random_systems import few

from appell import zoo
from appell.compiled.compiling import compile
from appell.errors import ModelError
from appell.jets import coordinates, parameters, speeds, t
from appell.model import Constraint, Particle, RigidBody, System, quaternion
from appell.normal_form import normal_form
from appell.simulate.simulate import simulate

number = st.floats(-2, 2, allow_nan=False)
moment = st.floats(0.5, 3)


@few(25)
@given(st.tuples(moment, moment, moment), st.tuples(number, number, number), st.tuples(number, number, number, number))
def test_gyroscopic_term_of_a_quaternion_body_is_omega_cross_J_omega(J, omega, direction):
    ball = quaternion("ball")
    system = System([ball], (np.array(J) * np.array(ball.rates) ** 2).sum() / 2)
    e = np.array(direction) + np.array([0, 0, 0, 3.0])
    out = normal_form(system).select("M", "h")(0.0, e / np.linalg.norm(e), omega, np.zeros(0))
    assert out["M"] == pytest.approx(np.diag(J), abs=1e-14)
    assert out["h"] == pytest.approx(np.cross(omega, np.array(J) * omega), abs=1e-13)  # products of numbers below 12


@few(15)
@given(st.tuples(number, number, number), st.tuples(number, number, number))
def test_quaternion_kinematics_turn_the_body(omega, direction):
    """Ṙ = R [ω]× and |e|² stays 1 along q̇ = N u."""
    ball = quaternion("ball")
    e = np.array([*direction, 3.0])
    e /= np.linalg.norm(e)
    numbers = dict(zip((*ball.coordinates, *ball.rates), (*e, *omega), strict=True))
    system = System([ball], bodies=[RigidBody(1, [1, 1, 1], [0, 0, 0], ball)])
    R = np.array(ball.rotation.subs(numbers), float)
    R_dot = np.array(system.total_derivative(ball.rotation).subs(numbers), float)
    p, q, r = omega
    assert R_dot == pytest.approx(R @ np.array([[0, -r, q], [r, 0, -p], [-q, p, 0]]), abs=1e-13)
    assert pytest.approx(np.eye(3), abs=1e-14) == R @ R.T
    rate = system.total_derivative(sum(x**2 for x in ball.coordinates))
    assert sympy.expand(rate) == 0


def test_quaternion_top_is_the_euler_angle_top():
    """The same motion in two charts: heights of the body axes agree. 1e-8 after 10 s at rtol 1e-11 (spin 12 rad/s)."""
    angles, turns = zoo.heavy_top(), zoo.heavy_top_quaternion()
    times = np.linspace(0, 10, 41)
    one, two = (
        simulate(e.system, e.start, 10.0, e.parameters, rtol=1e-12, atol=1e-13, times=times) for e in (angles, turns)
    )
    psi, theta, phi = angles.system.coordinates
    ball = turns.system.quaternions[0]
    up = [sin(theta) * sin(phi), sin(theta) * cos(phi), cos(theta)]
    for a, b in zip(up, ball.rotation.row(2), strict=True):
        assert one[a] == pytest.approx(two[b], abs=1e-8)
    assert one.energy == pytest.approx(two.energy, rel=1e-9)
    p, q, r = zoo.euler.body_rates(psi, theta, phi)
    for a, b in zip((p, q, r), ball.rates, strict=True):
        assert one[a] == pytest.approx(two[b], abs=1e-7)


def test_kinematics_that_change_with_time_alone():
    """T = ẋ²/2 + ẏ²/2 + ẋẏ/3 in speeds on axes that turn and stretch: the accelerations of the same T in q̇, and dH/dt."""
    x, y = coordinates("x y")
    u, w = speeds("u w")
    k = parameters("k", positive=True)
    rates = {x: cos(t) * u - sin(2 * t) * w + sin(t), y: sin(t) * u + (1 + t) * w - k * t}
    T, V = x.d**2 / 2 + y.d**2 / 2 + x.d * y.d / 3, k * x**2 / 2 + x * y**2
    plain = compile(System([x, y], T, V), {k: 1.3}, backend="vm")
    turning = System([x, y], T.subs({x.d: rates[x], y.d: rates[y]}), V, speeds=[u, w], kinematics=rates)
    run = compile(turning, {k: 1.3}, backend="vm")
    at, q, v = 0.4, np.array([0.3, -0.7]), np.array([1.1, 0.6])
    numbers = {t: at, x: q[0], y: q[1], u: v[0], w: v[1], k: 1.3}
    qd = [float(e.subs(numbers)) for e in rates.values()]
    a = run.acceleration(at, q, v)[0]
    whole = [turning.total_derivative(e).subs({u.d: a[0], w.d: a[1]}).subs(numbers) for e in rates.values()]
    assert np.array(whole, float) == pytest.approx(plain.acceleration(at, q, qd)[0], rel=1e-12)
    motion = simulate(turning, {x: 0.3, u: 1.0}, 1.0, {k: 1.3})
    assert np.abs(motion.energy_error).max() < 1e-7


def sleigh_with_speeds():
    """Chaplygin's sleigh in u (forward) and ω alone: the kinematics contain the blade."""
    x, y, phi = coordinates("x y phi")
    u1, u2 = speeds("u1 u2")
    m, J, a = parameters("m J a", positive=True)
    body = RigidBody(m, J, [x + a * cos(phi), y + a * sin(phi)], phi)
    kinematics = {x: u1 * cos(phi), y: u1 * sin(phi), phi: u2}
    return System([x, y, phi], bodies=[body], speeds=[u1, u2], kinematics=kinematics, name="sleigh in speeds"), body


def test_bodies_with_nonholonomic_kinematics_move_as_with_the_multiplier():
    example = zoo.sleigh()
    reduced, _ = sleigh_with_speeds()
    full = compile(example.system, example.parameters, backend="vm")
    run = compile(reduced, {str(s): v for s, v in example.parameters.items()}, backend="vm")
    assert run.form.route == "bodies"
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, (u, w) = rng.uniform(-2, 2, 3), rng.uniform(-2, 2, 2)
        c, s = math.cos(q[2]), math.sin(q[2])
        a_full, _ = full.acceleration(0.0, q, [u * c, u * s, w])
        a, lam = run.acceleration(0.0, q, [u, w])
        assert lam.shape == (0,)
        forward = a_full[0] * c + a_full[1] * s  # u̇ = ẍ cos φ + ÿ sin φ, the turning terms cancel on the blade
        assert a == pytest.approx([forward, a_full[2]], abs=1e-13)


def test_energy_balance_of_nonholonomic_kinematics():
    reduced, _ = sleigh_with_speeds()
    u1, u2 = reduced.velocities
    values = {"m": 1.0, "J": 0.5, "a": 0.5}
    motion = simulate(reduced, {u1: -1.0, u2: 1.0}, 10.0, values, rtol=1e-11)
    assert np.ptp(motion.energy) < 1e-9 * motion.energy[0]
    reference = zoo.sleigh()
    other = simulate(reference.system, reference.start, 10.0, reference.parameters, rtol=1e-11, times=motion.t)
    for name in ("x", "y", "phi"):
        assert motion[name] == pytest.approx(other[name], abs=1e-8)  # 10 s at 1e-11


def test_kinetic_energy_in_nonholonomic_speeds_is_refused():
    x, y, phi = coordinates("x y phi")
    u1, u2 = speeds("u1 u2")
    m, J, a = parameters("m J a", positive=True)
    kinematics = {x: u1 * cos(phi), y: u1 * sin(phi), phi: u2}
    with pytest.raises(ModelError, match=r"hide a nonholonomic constraint.*bodies="):
        System([x, y, phi], m * u1**2 / 2 + (J + m * a**2) * u2**2 / 2, speeds=[u1, u2], kinematics=kinematics)


@few(10)
@given(st.lists(number, min_size=6, max_size=6), st.floats(0.2, 1.0))
def test_speeds_on_body_axes_are_the_velocities_in_other_letters(values, omega):
    """A regular change of velocities u = F(q) q̇ with a rheonomic part: accelerations agree after u̇ = F q̈ + Ḟ q̇."""
    x, y, phi = coordinates("x y phi")
    u, w, r = speeds("u w r")
    m, J, Omega = parameters("m J Omega", positive=True)
    T = m * (x.d**2 + y.d**2) / 2 + m * x * x.d * phi.d / 3 + J * phi.d**2
    V, Q = m * sin(x + y) + phi**2, {phi: -0.1 * phi.d}
    plain = System([x, y, phi], T, V, Q)
    kinematics = {x: u * cos(phi) - w * sin(phi) - Omega * y, y: u * sin(phi) + w * cos(phi) + Omega * x, phi: r}
    moved = System([x, y, phi], T, V, {r: -0.1 * r}, speeds=[u, w, r], kinematics=kinematics)
    data = {m: 1.3, J: 0.7, Omega: omega}
    q, v = np.array(values[:3]), np.array(values[3:])
    one = compile(plain, {m: 1.3, J: 0.7}, backend="vm")
    two = compile(moved, data, backend="vm")
    out = two.form.select("N", "n0", "qd")(0.0, q, v, two.p)
    qd = out["N"] @ v + out["n0"]
    a_plain, _ = one.acceleration(0.0, q, qd)
    a, _ = two.acceleration(0.0, q, v)
    numbers = dict(zip((x, y, phi, u, w, r, u.d, w.d, r.d), (*q, *v, *a), strict=True)) | data
    second = [moved.total_derivative(rate) for rate in moved.rates.values()]
    qdd = [float(e.subs(numbers)) for e in second]
    assert qdd == pytest.approx(a_plain, rel=1e-11, abs=1e-11)


def test_constraint_on_a_quaternion_body_is_the_one_in_euler_angles():
    """A sphere that rolls: body rates through R give the same accelerations of the centre as plane speeds."""
    example = zoo.rolling_ball_on_turntable()
    run = compile(example.system, example.parameters, backend="vm")
    rng = np.random.default_rng(5)
    for _ in range(4):
        e = rng.normal(size=4)
        x, y, omega = *rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 3)
        q = np.concatenate([[x, y], e / np.linalg.norm(e)])
        R = np.array(example.system.quaternions[0].rotation.subs(
            dict(zip(example.system.quaternions[0].coordinates, q[2:], strict=True))), float)  # fmt: skip
        turn, radius = 2.0, 0.5
        w = R @ omega
        v = np.concatenate([[radius * w[1] - turn * y, -radius * w[0] + turn * x], omega])
        a, _ = run.acceleration(0.0, q, v)
        assert a[:2] == pytest.approx(2 / 7 * turn * np.array([-v[1], v[0]]), abs=1e-12)


def test_particles_by_bodies_and_by_energy_agree_when_both_apply():
    x, y = coordinates("x y")
    m, l = parameters("m l", positive=True)
    rows = [Constraint(x**2 + y**2 - l**2, name="rod")]
    by_body = System([x, y], potential=m * y, bodies=[Particle(m, [x, y])], constraints=rows)
    by_energy = System([x, y], m * (x.d**2 + y.d**2) / 2, m * y, constraints=rows)
    runs = [compile(s, {m: 2.0, l: 1.0}, backend="vm") for s in (by_body, by_energy)]
    state = 0.0, [0.6, -0.8], [0.8, 0.6]
    (a, lam), (b, mu) = (run.acceleration(*state) for run in runs)
    assert a == pytest.approx(b, abs=1e-14) and lam == pytest.approx(mu, abs=1e-14)
