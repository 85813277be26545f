"""`ap.averaged`: Zhuravlev (17) to (20), and the same for other free motions, against means taken numerically by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import sympy
from scipy.integrate import quad
from sympy import cos, pi, sin

import appell as ap
from appell import zoo

h, Omega, epsilon, omega = ap.parameters("h Omega epsilon omega", positive=True)
Delta = ap.parameters("Delta")
m, g, k, d, c, F, mu = ap.parameters("m g k d c F mu", positive=True)
x = ap.coordinates("x")
SMALL = [h, epsilon, Delta]


def same(one, two) -> bool:
    return sympy.simplify(one - two) == 0


@pytest.mark.parametrize("K", [1, 2, 3])
def test_20_the_oscillator_with_a_wall(K):
    """ṙ = −b r + a cos θ, θ̇ = χ + c/r − (a/r) sin θ with b = h/2, a = −4kε(−1)ᵏ/(πΩ(4k² − 1)), c = 4kΩΔ/π, χ = ω − 2kΩ."""
    found = ap.averaged(zoo.oscillator_with_wall().system, SMALL, (K, 1))
    r, theta = found.r, found.theta
    a = -4 * K * epsilon * (-1) ** K / (pi * Omega * (4 * K**2 - 1))
    b, c, chi = h / 2, 4 * K * Omega * Delta / pi, omega - 2 * K * Omega
    r_d, theta_d = (e.rhs for e in found.equations)
    assert same(r_d, -b * r + a * cos(theta))
    assert same(theta_d, chi + c / r - a / r * sin(theta))
    assert [e.lhs for e in found.equations] == [r.d, theta.d]
    assert "align" in found.latex() and "averaged near" in str(found)


def test_restitution_near_one_damps():
    """b = h/2 + (1 − e)Ω/π."""
    s = ap.coordinates("s")
    wall = ap.Unilateral(Delta - s, "wall", restitution=1 - mu)
    system = ap.System([s], s.d**2 / 2, Omega**2 * s**2 / 2, {s: -h * s.d + epsilon * sin(omega * ap.t)}, [wall])
    found = ap.averaged(system, [*SMALL, mu], (1, 1))
    damping = -sympy.diff(found.r_rate, found.r)
    assert same(damping, h / 2 + mu * Omega / pi)


def test_far_from_resonances():
    """The wall at Δ shifts the frequency by −2ΩΔ/(πr); forcing does nothing."""
    found = ap.averaged(zoo.oscillator_with_wall().system, SMALL)
    assert found.resonance is None
    assert same(found.r_rate, -h * found.r / 2)
    assert same(found.theta_rate, Omega - 2 * Omega * Delta / (pi * found.r))


def mean(rate, breaks):
    """The mean of rate(φ) over φ, by quadrature between the impacts."""
    total = sum(quad(rate, *piece, epsabs=1e-13, epsrel=1e-12)[0] for piece in pairwise(breaks))
    return total / (breaks[-1] - breaks[0])


HALF = np.pi / 2
BREAKS = [-HALF, HALF, 3 * HALF]


@pytest.mark.parametrize("potential", [x**2 / 2, x])
def test_numbers_average_as_letters_do(potential):
    """An oscillator with a wall at its rest, and a ball on a floor, of stiffness or weight 1.3: SymPy's 0.0 is not 0."""
    system = lambda size: ap.System([x], x.d**2 / 2, size * potential, {x: -h * x.d}, [ap.Unilateral(x, "wall")])
    letters, numbers = ap.averaged(system(k), [h]), ap.averaged(system(1.3), [h])
    for r in (0.4, 1.7):
        np.testing.assert_allclose(numbers.rates(r, 0.3, {h: 0.01}), letters.rates(r, 0.3, {h: 0.01, k: 1.3}), rtol=1e-12)


def test_cubic_damping_and_two_harmonics():
    """m ẍ + h ẋ³ + k x = F cos ωt + F sin 3ωt, x >= 0: the sign of the sheet is that of cos φ."""
    force = {x: F * cos(omega * ap.t) + F * sin(3 * omega * ap.t) - h * x.d**3}
    system = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, force, [ap.Unilateral(x, "wall", restitution=1 - mu)])
    found = ap.averaged(system, [F, h, mu], (1, 1))
    assert found.harmonics is None
    values = {m: 1.3, k: 2.1, F: 0.11, h: 0.07, mu: 0.013, omega: 2.6}
    M, K, force0, damping, loss, w = (values[p] for p in (m, k, F, h, mu, omega))
    O, r, theta = np.sqrt(K / M), 0.83, 0.7
    sign = lambda phi: np.sign(np.cos(phi))

    def f(phi):
        psi, v = 2 * phi + theta, -r * O * np.sin(phi)
        return (sign(phi) * force0 * (np.cos(psi) + np.sin(3 * psi)) - damping * v**3) / M

    r_rate = mean(lambda phi: -np.sin(phi) * f(phi) / O, BREAKS) - loss * r * O / np.pi
    theta_rate = w - 2 * O - 2 * mean(lambda phi: -np.cos(phi) * f(phi) / (r * O), BREAKS)
    assert found.rates(r, theta, values) == pytest.approx((r_rate, theta_rate), abs=1e-12)


def test_ball_on_a_vibrating_table():
    """z̈ = −g above c sin ωt: in the frame of the table s̈ = −g + c ω² sin ωt; between impacts x = ± r (1 − 4φ²/π²)."""
    z = ap.coordinates("z")
    table = ap.Unilateral(z - c * sin(omega * ap.t), "table", restitution=1 - mu)
    found = ap.averaged(ap.System([z], m * z.d**2 / 2, m * g * z, {}, [table]), [c, mu], (1, 1))
    values = {m: 2.0, g: 9.81, c: 0.003, mu: 0.02, omega: 25.0}
    r, theta, w, O0 = 0.1, 0.4, 25.0, lambda r: np.pi * np.sqrt(9.81 / (8 * r))
    X = lambda phi, r: np.where(phi < HALF, r * (1 - 4 * phi**2 / np.pi**2), -r * (1 - 4 * (phi - np.pi) ** 2 / np.pi**2))
    V = lambda phi, r: O0(r) * (np.where(phi < HALF, -8 * r * phi / np.pi**2, 8 * r * (phi - np.pi) / np.pi**2))
    e = 1e-5 * r
    sigma = lambda phi: 1.0 if phi < HALF else -1.0

    def pieces(phi):
        X_r, V_r = (X(phi, r + e) - X(phi, r - e)) / (2 * e), (V(phi, r + e) - V(phi, r - e)) / (2 * e)
        X_phi, V_phi = V(phi, r) / O0(r), -sigma(phi) * 9.81 / O0(r)
        D = X_r * V_phi - X_phi * V_r
        f = sigma(phi) * 0.003 * w**2 * np.sin(2 * phi + theta)
        return -X_phi * f / D, X_r * f / D

    flight = 2 * np.sqrt(2 * r / 9.81)  # and each impact takes 2μ of the height
    r_rate = mean(lambda phi: pieces(phi)[0], BREAKS) - 2 * 0.02 * r / flight
    theta_rate = w - 2 * O0(r) - 2 * mean(lambda phi: pieces(phi)[1], BREAKS)
    assert found.rates(r, theta, values) == pytest.approx((r_rate, theta_rate), rel=1e-7)


@pytest.mark.parametrize("spring", [0, k], ids=["free", "spring"])
def test_between_two_stops(spring):
    """Means over the free motion between stops at ±d, in s = πx/2d: a flight at a constant rate, or arcs of a spring."""
    stops = ap.Between(-d, x, d, name="stops", restitution=1 - mu)
    force = {x: F * cos(omega * ap.t) - h * x.d}
    system = ap.System([x], m * x.d**2 / 2, spring * x**2 / 2, force, [stops])
    found = ap.averaged(system, [F, h, mu], (1, 1))
    values = {m: 1.4, d: 0.6, F: 0.09, h: 0.03, mu: 0.01, omega: 1.9} | ({k: 1.7} if spring else {})
    r, theta, gap = 2.3, 0.5, np.pi / 1.2
    O0 = np.sqrt(1.7 / 1.4)
    kappa = lambda r: 2 / np.pi * np.arcsin(HALF / r)
    O = (lambda r: O0 / kappa(r)) if spring else (lambda r: r)
    arc = (lambda phi, r: r * np.sin(kappa(r) * phi)) if spring else (lambda phi, r: phi + 0 * r)
    X = lambda phi, r: arc(phi, r) if phi < HALF else np.pi + arc(phi - np.pi, r)
    slope = lambda fn, z, e=1e-5: (fn(z + e) - fn(z - e)) / (2 * e)
    X_phi = lambda phi, r: r * kappa(r) * np.cos(kappa(r) * (phi if phi < HALF else phi - np.pi)) if spring else 1.0
    V = lambda phi, r: O(r) * X_phi(phi, r)

    def pieces(phi, impulse=None):
        base = phi if phi < HALF else phi - np.pi
        V_phi = -O(r) * r * kappa(r) ** 2 * np.sin(kappa(r) * base) if spring else 0.0
        X_r, V_r = slope(lambda z: X(phi, z), r), slope(lambda z: V(phi, z), r)
        D = X_r * V_phi - X_phi(phi, r) * V_r
        sigma = 1 if phi < HALF else -1
        f = sigma * gap * 0.09 / 1.4 * np.cos(phi + theta) - 0.03 / 1.4 * V(phi, r)
        f = -impulse * V(phi, r) if impulse else f
        return np.array([-X_phi(phi, r) * f / D, X_r * f / D])

    jumps = O(r) / (2 * np.pi) * sum(pieces(phi - 1e-9, impulse=0.01) for phi in BREAKS[1:])
    means = [mean(lambda phi, i=i: pieces(phi)[i], BREAKS) for i in range(2)] + jumps
    assert found.rates(r, theta, values) == pytest.approx((means[0], 1.9 - O(r) - means[1]), rel=2e-6)


def test_the_motion_is_put_together_again():
    """s = Δ − r |cos((ωt − θ)/2k)|."""
    found = ap.averaged(zoo.oscillator_with_wall().system, SMALL, (2, 1))
    values = {"h": 0.1, "Omega": 1.0, "epsilon": 0.2, "Delta": 0.3, "omega": 4.1}
    t = np.linspace(0, 20, 101)
    assert found.coordinate(t, 0.7, 0.4, values) == pytest.approx(0.3 - 0.7 * np.abs(np.cos((4.1 * t - 0.4) / 4)))


def walled(potential=None, restitution=1, force=None, kinetic=None):
    wall = ap.Unilateral(x, "wall", restitution=restitution)
    return ap.System([x], kinetic or x.d**2 / 2, k * x**2 / 2 if potential is None else potential, force or {}, [wall])


@pytest.mark.parametrize(
    ("make", "small", "pair", "says"),
    [
        (lambda: walled(force={x: -h * x.d}), [], (1, 1), "name the small parameters"),
        (lambda: walled(force={x: -h * x.d}), "h", (1, 1), "name the small parameters"),
        (lambda: walled(force={x: -h * x.d}), ["w"], (1, 1), "no parameter"),
        (lambda: walled(force={x: -h * x.d}), [h], (1, 1), "nothing of the first order .* depends on time"),
        (lambda: walled(force={x: F * cos(omega * ap.t)}), [F], (1, 2), "no resonance 2 ω = 1 ν"),
        (lambda: walled(force={x: F * cos(omega * ap.t)}), [F], (2, 2), "common factor"),
        (lambda: walled(force={x: F * cos(omega * ap.t)}), [F], (1.5, 1), "two positive whole numbers"),
        (lambda: walled(force={x: F * cos(omega * ap.t)}), [F], 1, "two positive whole numbers"),
        (lambda: walled(force={x: F * cos(omega * ap.t**2)}), [F], (1, 1), "multiples of one frequency"),
        (lambda: walled(force={x: F * cos(omega * ap.t) + F * cos(g * ap.t)}), [F], (1, 1), "several frequencies"),
        (lambda: walled(restitution=sympy.Rational(9, 10), force={x: -h * x.d}), [h], None, "elastic impacts"),
        (lambda: walled(potential=k * (x - d) ** 2 / 2, force={x: -h * x.d}), [h], None, "not at the wall"),
        (lambda: walled(potential=k * x**4, force={x: -h * x.d}), [h], None, "name every other term in small="),
        (lambda: walled(potential=0, force={x: -h * x.d}), [h], None, "nothing brings it back"),
        (lambda: walled(potential=-k * x, force={x: -h * x.d}), [h], None, "driven away"),
        (lambda: walled(force={x: -h * x.d / (1 + x**2)}), [h], None, "closed form"),
        (lambda: zoo.thread_pendulum().system, ["g"], None, "one degree of freedom"),
    ],
)  # fmt: skip
def test_what_cannot_be_averaged_says_why(make, small, pair, says):
    with pytest.raises(ap.AppellError, match=says):
        ap.averaged(make(), small, pair)
