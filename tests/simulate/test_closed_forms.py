"""Motions that are known in closed form, with their reactions.

At rtol the error after a few characteristic times is a small multiple of rtol times the size of the state; the bounds are
a hundred times that, and where an instability amplifies the error the test says so.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ellipj, ellipk
from sympy import cos, sin

from appell import zoo
from appell.jets import coordinates, parameters, t
from appell.model import Constraint, System
from appell.simulate.simulate import simulate

METHODS = ["dop853", "dopri5"]


def run(example, *, rtol=1e-11, times=None, until=None, start=None, method="auto", **parameters):
    values = example.parameters | {s: parameters[str(s)] for s in example.parameters if str(s) in parameters}
    return simulate(
        example.system, start or example.start, until or example.until, values, rtol=rtol, atol=1e-13, times=times,
        method=method,
    )  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_skate(method):
    """Gantmacher §10, example 1, with the corrected sign of y; Λ = −2 (2 g cos φ + α γ)."""
    example = zoo.skate()
    times = np.linspace(0, 10, 101)
    motion = run(example, times=times, method=method)
    g, alpha = 9.81, 1.0
    gamma = 1 - g / alpha
    phi = alpha * times
    bracket = gamma / alpha + g * np.cos(phi) / (2 * alpha**2)
    delta, epsilon = 0.0, gamma / alpha + g / (2 * alpha**2)
    assert motion["phi"] == pytest.approx(phi, abs=1e-10)
    assert motion["x"] == pytest.approx(g * phi / (2 * alpha**2) + bracket * np.sin(phi) + delta, abs=1e-8)
    assert motion["y"] == pytest.approx(-bracket * np.cos(phi) + epsilon, abs=1e-8)
    assert motion.reaction("blade") == pytest.approx(-2 * (2 * g * np.cos(phi) + alpha * gamma), abs=1e-8)
    assert np.abs(motion.energy_error).max() < 1e-9


@pytest.mark.parametrize("turn", [1.0, -0.7])
def test_sleigh(turn):
    """u = c tanh τ, k ω = ± c sech τ with τ = a c (t − t0)/k²; every motion ends straight ahead."""
    example = zoo.sleigh()
    x, _, phi = example.system.coordinates
    m, J, a = 1.0, 0.5, 0.5
    times = np.linspace(0, 10, 51)
    motion = run(example, times=times, start={x.d: -1.0, phi.d: turn})
    k = math.sqrt(a**2 + J / m)
    c = math.hypot(-1.0, k * turn)
    tau = math.atanh(-1.0 / c) + a * c * times / k**2
    u, omega = c * np.tanh(tau), math.copysign(1, turn) * c / k / np.cosh(tau)
    assert motion[x.d * cos(phi) + motion.system.coordinates[1].d * sin(phi)] == pytest.approx(u, abs=1e-9)
    assert motion[phi.d] == pytest.approx(omega, abs=1e-9)
    heading = np.sign(turn) * k / a * (np.arctan(np.sinh(tau)) - np.arctan(np.sinh(tau[0])))  # ∫ sech = gd
    assert motion["phi"] == pytest.approx(heading, abs=1e-9)
    assert motion.reaction("blade") == pytest.approx(-m * (-a * a * u * omega / k**2 + u * omega), abs=1e-9)
    assert u[-1] > 0.99 * c


def test_inclined_plane_with_its_pressure():
    example = zoo.inclined_plane()
    motion = run(example)
    m, g, alpha = 2.0, 9.81, 0.5
    s, c = math.sin(alpha), math.cos(alpha)
    assert motion["x"] == pytest.approx(g * s * c * motion.t**2 / 2, abs=1e-11)  # a polynomial: rounding only
    assert motion["y"] == pytest.approx(motion.t, abs=1e-11)
    assert motion["z"] == pytest.approx(-g * s**2 * motion.t**2 / 2, abs=1e-11)
    assert motion.reaction("plane") == pytest.approx(np.full(len(motion), m * g * c), rel=1e-12)


@pytest.mark.parametrize("angle", [0.1, 1.0, 3.0])
def test_pendulum(angle):
    """θ = 2 arcsin(k cd(ω t, k)), k = sin(θ0/2), from rest. At θ0 = 3 the motion passes close to the saddle: e^(2ωT) is
    cut off by the half period, and the error stays below 1e-8."""
    example = zoo.pendulum()
    theta = example.system.coordinates[0]
    times = np.linspace(0, 10, 101)
    motion = run(example, start={theta: angle}, times=times, rtol=1e-12)
    k, omega = math.sin(angle / 2), math.sqrt(9.81)
    _, cn, dn, _ = ellipj(omega * times, k**2)
    assert motion[theta] == pytest.approx(2 * np.arcsin(k * cn / dn), abs=1e-8)
    period = 4 * ellipk(k**2) / omega
    back = run(example, start={theta: angle}, until=period, rtol=1e-12)
    assert back[theta][-1] == pytest.approx(angle, abs=1e-8)


def symmetric_top(precession: float, nutation: float):
    """A = B: the spin rate r that makes a precession regular, (C r − A ψ̇ cos θ) ψ̇ = m g ζ."""
    example = zoo.heavy_top()
    A, C, m, g, zeta = 2.0, 1.0, 1.0, 9.81, 0.4
    r = (m * g * zeta / precession + A * precession * math.cos(nutation)) / C
    psi, theta, phi = example.system.coordinates
    start = {theta: nutation, psi.d: precession, phi.d: r - precession * math.cos(nutation)}
    return example, start


@pytest.mark.parametrize(("precession", "nutation"), [(0.5, 0.6), (2.0, 1.2)])
def test_regular_precession_of_a_heavy_top(precession, nutation):
    example, start = symmetric_top(precession, nutation)
    psi, theta, phi = example.system.coordinates
    motion = run(example, start=start, A=2.0, B=2.0, xi=0.0, eta=0.0)
    assert motion[theta] == pytest.approx(np.full(len(motion), nutation), abs=1e-9)
    assert motion[psi] == pytest.approx(precession * motion.t, abs=1e-8)
    assert motion[phi] == pytest.approx(start[phi.d] * motion.t, abs=1e-8)


def test_constant_speed_through_the_apex():
    """Deneva, section 3 with its corrections: ż = −v tanh τ, horizontal v sech τ, Λ = g ż/v², power m g ż."""
    example = zoo.constant_speed()
    x, y, z = example.system.coordinates
    motion = run(example)
    g, v = 9.81, 3.0
    tau = g * motion.t / v - math.atanh(2.0 / v)
    horizontal = v / np.cosh(tau)
    assert motion[z.d] == pytest.approx(-v * np.tanh(tau), abs=1e-9)
    assert motion[x.d] == pytest.approx(horizontal / math.sqrt(5), abs=1e-9)
    assert motion[y.d] == pytest.approx(2 * horizontal / math.sqrt(5), abs=1e-9)
    height = -(v**2) / g * (np.log(np.cosh(tau)) - np.log(np.cosh(tau[0])))
    assert motion[z] == pytest.approx(height, abs=1e-9)
    assert motion.reaction("speed") == pytest.approx(g * motion[z.d] / v**2, abs=1e-9)
    assert motion.work == pytest.approx(g * motion[z], abs=1e-9)  # m = 1
    assert np.abs(motion.balance).max() < 1e-9


def test_second_order_constraint():
    """The acceleration orthogonal to (0, x/a, 1): logarithm and arctangent."""
    example = zoo.orthogonal_acceleration()
    _x, y, z = example.system.coordinates
    motion = run(example)
    g = 9.81
    X = -1.0 + motion.t
    assert motion.reaction("orthogonal") == pytest.approx(g / (1 + X**2), abs=1e-9)
    assert motion[y.d] == pytest.approx(g / 2 * np.log((1 + X**2) / 2), abs=1e-9)
    assert motion[z.d] == pytest.approx(2 - g * motion.t + g * (np.arctan(X) + math.pi / 4), abs=1e-9)


def test_rod_between_wall_and_floor():
    """θ̇² = (3g/l)(cos θ0 − cos θ), Λ_wall = ¾ m g sin θ (3 cos θ − 2 cos θ0); it lets go where cos θ = ⅔ cos θ0."""
    example = zoo.sliding_rod()
    theta = example.system.coordinates[2]
    motion = run(example, until=1.0)
    g, l, theta0 = 9.81, 2.0, 0.3
    angle = motion[theta]
    assert motion[theta.d] ** 2 == pytest.approx(3 * g / l * (math.cos(theta0) - np.cos(angle)), abs=1e-8)
    wall = 0.75 * g * np.sin(angle) * (3 * np.cos(angle) - 2 * math.cos(theta0))
    assert motion.reaction("wall") == pytest.approx(wall, abs=1e-8)
    release = motion.release("wall")
    assert math.cos(motion.at(release[:1])[theta][0]) == pytest.approx(2 / 3 * math.cos(theta0), abs=1e-9)


def test_ball_on_a_turntable():
    """Earnshaw: the centre goes round a circle at 2/7 of the rate of the table."""
    example = zoo.rolling_ball_on_turntable()
    x, y = example.system.coordinates[:2]
    motion = run(example)
    rate, speed = 2 / 7 * 2.0, 0.5
    radius = speed / rate
    assert motion[x] == pytest.approx(1 - radius * (1 - np.cos(rate * motion.t)), abs=1e-9)
    assert motion[y] == pytest.approx(radius * np.sin(rate * motion.t), abs=1e-9)
    assert np.ptp(motion.energy) > 1e-3  # the table does work …
    assert np.abs(motion.balance).max() < 1e-9  # … and the balance counts it


def test_driven_pendulum_point_as_rheonomic_constraint():
    """A bead on a wire that turns at Ω in a horizontal plane: r = r0 cosh Ωt, Λ = 2 m Ω ṙ per unit of arc."""
    x, y = coordinates("x y")
    m, Omega = parameters("m Omega", positive=True)
    wire = Constraint(y * cos(Omega * t) - x * sin(Omega * t), name="wire")
    system = System([x, y], m * (x.d**2 + y.d**2) / 2, constraints=[wire])
    rate = 1.5
    motion = simulate(system, {x: 0.2, y.d: 0.2 * rate}, 2.0, {m: 2.0, Omega: rate}, rtol=1e-11, atol=1e-13)
    r, r_d = 0.2 * np.cosh(rate * motion.t), 0.2 * rate * np.sinh(rate * motion.t)
    assert np.hypot(motion[x], motion[y]) == pytest.approx(r, abs=1e-9)
    assert motion.reaction("wire") == pytest.approx(2 * 2.0 * rate * r_d, abs=1e-8)
    assert motion.energy == pytest.approx(2.0 / 2 * (r_d**2 + rate**2 * r**2), abs=1e-8)
    assert np.abs(motion.balance).max() < 1e-8


def test_error_follows_the_tolerance():
    """A hundredth of the tolerance gives at least a tenth of the error, down to rounding."""
    example = zoo.skate()
    phi = example.system.coordinates[2]
    errors = []
    for rtol in (1e-5, 1e-7, 1e-9, 1e-11):
        motion = run(example, rtol=rtol, method="dop853")
        g = 9.81
        x = g * motion[phi] / 2 + (1 - g + g * np.cos(motion[phi]) / 2) * np.sin(motion[phi])
        errors.append(np.abs(motion["x"] - x).max())
    assert all(fine < coarse / 10 for coarse, fine in itertools.pairwise(errors)), errors
