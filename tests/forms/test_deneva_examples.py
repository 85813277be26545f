"""Deneva (1989), sections 3 and 4: the body at constant speed (36)–(58), and generalized Grioli precession (59)–(75)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy
from sympy import Rational, cos, cot, sin, sqrt
from tests.forms.judging import close, disagreement, integrate, judged, value, zero

from appell import zoo
from appell.errors import SingularConfiguration
from appell.forms import appell, chaplygin, lagrange, maggi
from appell.jets import coordinates, parameters, total_derivative
from appell.model import RigidBody, System
from appell.zoo.euler import body_rates

x, y, z = coordinates("x y z")
psi, theta, phi = coordinates("psi theta phi")
A, B, C, m, g, v = parameters("A B C m g v", positive=True)
xi, eta, zeta, mu = parameters("xi eta zeta mu")
p, q, r = body_rates(psi, theta, phi)

# -- section 3 -----------------------------------------------------------------------------------------------------------

SPEED = {m: 1.5, g: 9.81, v: 3.0}
TIMES = np.linspace(0, 1.2, 13)


@cache
def full_body() -> System:
    return System(
        [x, y, z, psi, theta, phi],
        bodies=[RigidBody(m, [A, B, C], [x, y, z], [psi, theta, phi])],
        potential=m * g * z,
        constraints=[m / 2 * (x.d**2 + y.d**2 + z.d**2) - m / 2 * v**2],
    )


@cache
def flight(eps: int = 1):
    """(q, q̇, λ) of a start that rises (eps = 1) or falls, with C1, C3 and C5 of the closed form."""
    system = zoo.constant_speed().system
    start = {x.d: 1.2, y.d: -0.8, z.d: eps * np.sqrt(9 - 1.44 - 0.64)}
    q_, v_, lam = integrate(appell(system), start, SPEED, TIMES)
    C1 = -0.8 / 1.2
    C3 = (3.0 + abs(start[z.d])) / 1.2
    return q_, v_, lam[:, 0], C1, C3


def closed(eps: int):
    _, _, _, C1, C3 = flight(eps)
    K, decay = 1 + C1**2, np.exp(-eps * 9.81 * TIMES / 3.0)
    return C1, C3, K, decay


def test_deneva_36_37_38():
    """(36)–(38): T = ½ m ṙ² + ½ (A p² + B q² + C r²), the constraint m/2 (ṙ² − v²), U = −m g z."""
    T = m / 2 * (x.d**2 + y.d**2 + z.d**2) + (A * p**2 + B * q**2 + C * r**2) / 2
    assert zero(full_body().kinetic - T)
    assert not full_body().constraints[0].linear


def test_deneva_39_40():
    """(39), (40): r̈ = g + λ ṙ, and Euler's equations A ṗ − (B − C) q r = 0 (printed g r) for the rotation."""
    values = {A: 2.0, B: 1.7, C: 1.1, **SPEED}
    p_d, q_d, r_d = (total_derivative(e) for e in (p, q, r))
    euler = [A * p_d - (B - C) * q * r, B * q_d - (C - A) * r * p, C * r_d - (A - B) * p * q]
    for form in (lagrange, appell, maggi):
        assert disagreement(form(full_body()), values) < 1e-10
    for state in judged(full_body(), values):
        n, lam = state.values, state.lam[0]
        assert close(state.a[:3], [lam * n[x.d], lam * n[y.d], -9.81 + lam * n[z.d]])
        assert close(value(euler, n), np.zeros(3))
        assert abs(value(A * p_d - (B - C) * g * r, n)) > 1e-3, "the printed g r for q r fails"


def test_deneva_41_42_43():
    """(41)–(43): ẍ/ẋ = ÿ/ẏ = λ with λ ż in the third (printed λ z), so ẏ = C1 ẋ and y = C1 x + C2."""
    q_, v_, lam, C1, _ = flight()
    form = appell(zoo.constant_speed().system)
    for i, time in enumerate(TIMES):
        a, _ = form.acceleration(time, q_[i], v_[i], SPEED)
        assert close(a, [lam[i] * v_[i, 0], lam[i] * v_[i, 1], -9.81 + lam[i] * v_[i, 2]])
    assert not close(-9.81 + lam * q_[:, 2], -9.81 + lam * v_[:, 2], 1e-2)
    assert close(v_[:, 1], C1 * v_[:, 0], 1e-9) and close(q_[:, 1], C1 * q_[:, 0], 1e-9)


def test_deneva_44_45_46():
    """(44)–(46) on the rising branch only: ε is the sign of ż and flips at the apex, where a fixed ε fails."""
    q_, v_, _, C1, _ = flight()
    root = np.sqrt(np.maximum(9 - (C1**2 + 1) * v_[:, 0] ** 2, 0))
    rising = v_[:, 2] > 0.1
    assert rising.any() and (v_[:, 2] < -0.1).any(), "the flight passes the apex"
    assert close(v_[rising, 2], root[rising], 1e-9) and not close(v_[:, 2], root, 1e-2)
    form = appell(zoo.constant_speed().system)
    a = np.array([form.acceleration(*state, SPEED)[0] for state in zip(TIMES, q_, v_, strict=True)])
    slope = -(C1**2 + 1) * v_[:, 0] * a[:, 0] / root
    assert close(slope[rising], a[rising, 2], 1e-7)
    assert close((9 * a[:, 0] / (v_[:, 0] * root))[rising], np.full(rising.sum(), 9.81), 1e-7)


@pytest.mark.parametrize("eps", [1, -1])
def test_deneva_47_48_49(eps):
    """(47)–(49): ẋ, x and y, to 1e-9 through the apex; ε for the printed δ, and the missing arctangent in y."""
    q_, v_, _, _, _ = flight(eps)
    C1, C3, K, decay = closed(eps)
    assert close(v_[:, 0], 2 * C3 * 3.0 * decay / (K + C3**2 * decay**2), 1e-9)
    arc = np.arctan(C3 * decay / np.sqrt(K))
    path = -2 * eps * 9 / (9.81 * np.sqrt(K)) * (arc - arc[0])
    assert close(q_[:, 0], path, 1e-9) and close(q_[:, 1], C1 * path, 1e-9)
    assert np.ptp(q_[:, 1]) > 0.1, "printed without the arctangent y would be constant"


@pytest.mark.parametrize("eps", [1, -1])
def test_deneva_50(eps):
    """(50) corrected: z = C5 − ε v t − (v²/g) ln[…]; with the printed signs it fails. Every flight ends straight down."""
    q_, v_, _, _, _ = flight(eps)
    _, C3, K, decay = closed(eps)
    log = np.log(K + C3**2 * decay**2)
    right = -eps * 3.0 * TIMES - 9 / 9.81 * (log - log[0])
    assert close(q_[:, 2], right, 1e-9) and not close(q_[:, 2], -right, 1e-2)
    assert -3.0 <= v_[-1, 2] < -2.9 and np.hypot(v_[-1, 0], v_[-1, 1]) < 0.6


@pytest.mark.parametrize("eps", [1, -1])
def test_deneva_51_to_55(eps):
    """(51)–(55): λ = (εg/v)(C3²e² − K)/(C3²e² + K) = g ż/v² to 1e-8 (printed with equal numerator); R = m λ v, R·δv = 0."""
    _, v_, lam, _, _ = flight(eps)
    _, C3, K, decay = closed(eps)
    e2 = C3**2 * decay**2
    assert close(lam, eps * 9.81 / 3 * (e2 - K) / (e2 + K), 1e-8) and close(lam, 9.81 * v_[:, 2] / 9, 1e-8)
    assert not close(lam, np.full(len(lam), eps * 9.81 / 3), 1e-2)
    state = judged(zoo.constant_speed().system, SPEED)[0]
    R = value(m, SPEED) * state.lam[0] * state.v
    assert close(R, 1.5 * (state.a + np.array([0, 0, 9.81])), 1e-9)
    assert np.abs(np.linalg.svd(state.v[None])[2][1:] @ R).max() < 1e-12


def test_deneva_56_57_58():
    """(56)–(58): ẋ, ẏ independent; (58) on the rising branch, and an error at the apex, where det f_ż = 0."""
    system = zoo.constant_speed().system
    root = sqrt(v**2 - x.d**2 - y.d**2)
    form = chaplygin(system, independent=[x, y], solved={z.d: root})
    for e, s in zip(form.equations, (x, y), strict=True):
        printed = s.dd - z.dd * s.d / root - g * s.d / root
        assert zero((e.lhs - e.rhs) / m - printed)
    free = chaplygin(system, independent=[x, y])
    state = [0.3, 0.2, 0.1], [1.2, -0.8, -np.sqrt(9 - 1.44 - 0.64)]
    assert close(free.acceleration(0, *state, SPEED)[0], lagrange(system).acceleration(0, *state, SPEED)[0], 1e-9)
    assert not close(form.acceleration(0, *state, SPEED)[0], lagrange(system).acceleration(0, *state, SPEED)[0], 1e-3)
    with pytest.raises(SingularConfiguration):
        free.acceleration(0, [0, 0, 0], [3.0, 0, 0], SPEED)


# -- section 4 -----------------------------------------------------------------------------------------------------------


def precession(rates=(p, q, r)):
    p_, q_, r_ = rates
    swing = p_**2 + q_**2
    return p_ * total_derivative(q_) - q_ * total_derivative(p_) + r_ * swing - mu * swing ** Rational(3, 2)


def test_deneva_59_60():
    """(59), (60): with ψ̈ θ̇ sin θ; as printed, without θ̇, it is another function. μ = sign(ψ̇) cot θ for a regular precession."""
    s, c = sin(theta), cos(theta)
    rest = 2 * psi.d * theta.d**2 * c + psi.d**3 * s**2 * c - mu * (psi.d**2 * s**2 + theta.d**2) ** Rational(3, 2)
    f60 = psi.dd * theta.d * s - theta.dd * psi.d * s + rest
    printed = psi.dd * s - theta.dd * psi.d * s + rest
    values = {psi: 0.2, theta: 1.1, phi: -0.4, psi.d: 0.7, theta.d: -0.3, phi.d: 0.9, mu: 0.8}
    values |= {psi.dd: 0.5, theta.dd: 1.2, phi.dd: 0.1}
    assert close(value(precession(), values), value(f60, values))
    assert not close(value(precession(), values), value(printed, values), 1e-3)
    assert close(value(zoo.grioli().system.residuals[0], values), value(f60, values))
    for turn in (0.7, -0.7):
        steady = {**values, theta.d: 0.0, theta.dd: 0.0, psi.dd: 0.0, psi.d: turn}
        assert close(value(f60, {**steady, mu: np.sign(turn) / np.tan(1.1)}), 0.0)
    assert not close(value(f60, {**steady, mu: 1 / np.tan(1.1)}), 0.0, 1e-3)


def test_deneva_61_62():
    """(61), (62): T and U = −m g z_G of a body with a fixed point, against a RigidBody."""
    body = RigidBody(m, [A, B, C], [0, 0, 0], [psi, theta, phi])
    assert zero(body.kinetic({}) - zoo.grioli().system.kinetic)
    height = (body.orientation.rotation * sympy.Matrix([xi, eta, zeta]))[2]
    assert zero(zoo.grioli().system.potential - m * g * height)


def test_deneva_63_64_65_66():
    """(63)–(66), with the dots restored: ∂T/∂φ̇ = C r (printed r), ∂f/∂ψ̈ = θ̇ sin θ, ∂f/∂θ̈ = −ψ̇ sin θ."""
    system = zoo.grioli().system
    T, s, c = system.kinetic, sin(theta), cos(theta)
    assert zero(sympy.diff(T, phi.d) - C * r) and not zero(sympy.diff(T, phi.d) - r)
    assert zero(sympy.diff(T, phi) - (A - B) * p * q)
    assert zero(sympy.diff(T, psi.d) - (A * p * s * sin(phi) + B * q * s * cos(phi) + C * r * c))
    assert zero(sympy.diff(T, theta.d) - (A * p * cos(phi) - B * q * sin(phi)))
    U = -system.potential
    assert zero(sympy.diff(U, phi) - m * g * (eta * s * sin(phi) - xi * s * cos(phi)))
    assert zero(sympy.diff(U, theta) + m * g * (xi * c * sin(phi) + eta * c * cos(phi) - zeta * s))
    f = system.residuals[0]
    assert [zero(sympy.diff(f, e) - w) for e, w in ((phi.dd, 0), (psi.dd, theta.d * s), (theta.dd, -psi.d * s))] == [True] * 3
    example = zoo.grioli()
    for state in judged(system, example.parameters):
        n = state.values
        p_d, r_d = value(total_derivative(p), n), value(total_derivative(r), n)
        left = value(C, n) * r_d - value((A - B) * p * q, n)
        assert close(left, value(m * g * (eta * s * sin(phi) - xi * s * cos(phi)), n), 1e-9)
        assert np.isfinite(p_d)
        dT = value([total_derivative(sympy.diff(T, e.d)) - sympy.diff(T, e) - sympy.diff(U, e) for e in (psi, theta)], n)
        assert close(dT, state.lam[0] * value([theta.d * s, -psi.d * s], n), 1e-9)


@pytest.mark.parametrize("form", [appell, maggi, chaplygin, lagrange])
def test_deneva_63_forms_agree(form):
    """Every form that takes second-order constraints gives the motion of (63)."""
    assert disagreement(form(zoo.grioli().system), zoo.grioli().parameters) < 1e-10


def test_deneva_67_68():
    """(67), (68): A p² + B q² + C r² + 2 m g (…) is conserved; with m g (…), as printed, it is not."""
    example = zoo.grioli()
    q_, v_, _ = integrate(maggi(example.system), example.start, example.parameters, np.linspace(0, 2, 5))
    spin = A * p**2 + B * q**2 + C * r**2
    symbols = (*example.system.coordinates, *example.system.velocities)
    states = [{**example.parameters, **dict(zip(symbols, row, strict=True))} for row in np.hstack([q_, v_])]
    at = lambda e: [value(e, state) for state in states]
    right, printed = at(spin + 2 * example.system.potential), at(spin + example.system.potential)
    assert np.ptp(right) < 1e-9 and np.ptp(printed) > 1e-3


@cache
def ball():
    example = zoo.homogeneous_ball()
    times = np.linspace(0, 3, 13)
    q_, v_, lam = integrate(appell(example.system), example.start, example.parameters, times)
    h = value(p**2 + q**2, {**dict.fromkeys((psi, phi), 0.0), **example.start})
    u = v_[:, 0] * np.sin(q_[:, 1])
    C2 = u[0] * np.sin(q_[0, 1]) + 0.5 * np.sqrt(h) * np.cos(q_[0, 1])
    return times, q_, v_, lam[:, 0], h, u, C2


def test_deneva_69_70():
    """(69), (70): r and p² + q² = ψ̇² sin² θ + θ̇² are constant; ψ̇ = √(h − θ̇²)/sin θ for the positive root."""
    _, q_, v_, _, h, u, _ = ball()
    spin = v_[:, 0] * np.cos(q_[:, 1]) + v_[:, 2]
    assert np.ptp(spin) < 1e-10
    assert close(u**2 + v_[:, 1] ** 2, np.full(len(u), h), 1e-10)
    positive = u > 0
    assert close(v_[positive, 0], (np.sqrt(h - v_[:, 1] ** 2) / np.sin(q_[:, 1]))[positive], 1e-8)


def test_deneva_71_72_73():
    """(71)–(73): θ̈ sin θ − cos θ (h − θ̇²) + μ √h u sin θ = 0 with the signed u = ψ̇ sin θ; du/dθ + u cot θ = μ √h."""
    _, q_, v_, _, h, u, _ = ball()
    example = zoo.homogeneous_ball()
    form = appell(example.system)
    for i in range(len(q_)):
        a, _ = form.acceleration(0, q_[i], v_[i], example.parameters)
        s, c = np.sin(q_[i, 1]), np.cos(q_[i, 1])
        assert close(a[1] * s - c * (h - v_[i, 1] ** 2) + 0.5 * np.sqrt(h) * u[i] * s, 0.0, 1e-9)
        u_d = a[0] * s + v_[i, 0] * v_[i, 1] * c
        assert close(u_d + u[i] * c / s * v_[i, 1], 0.5 * np.sqrt(h) * v_[i, 1], 1e-9)
    th, k, h_ = sympy.symbols("theta k h", positive=True)
    const = sympy.symbols("C2")
    general = (const - k * sqrt(h_) * cos(th)) / sin(th)
    assert zero(sympy.diff(general, th) + cot(th) * general - k * sqrt(h_))  # (74) solves (73)


def test_deneva_74_75():
    """(74), (75): u = (C2 − μ √h cos θ)/sin θ, and the quadrature in elementary form; λ = J (μ √h − r) is constant."""
    times, q_, v_, lam, h, u, C2 = ball()
    mu_, J = 0.5, 0.4
    assert close(u, (C2 - mu_ * np.sqrt(h) * np.cos(q_[:, 1])) / np.sin(q_[:, 1]), 1e-9)
    W = np.sqrt(h * (1 + mu_**2))
    middle = C2 * mu_ / (np.sqrt(h) * (1 + mu_**2))
    size = np.sqrt(h * (1 + mu_**2) - C2**2) / (np.sqrt(h) * (1 + mu_**2))
    start = (np.cos(q_[0, 1]) - middle) / size
    phase = np.arccos(start) * np.sign(v_[0, 1])
    assert close(np.cos(q_[:, 1]), middle + size * np.cos(W * times + phase), 1e-9)
    spin = v_[0, 0] * np.cos(q_[0, 1]) + v_[0, 2]
    assert close(lam, np.full(len(lam), J * (mu_ * np.sqrt(h) - spin)), 1e-8)
