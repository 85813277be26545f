"""`ap.averaged` without walls: springs with small terms, second order, fast forcing; published frequencies and thresholds."""

import mpmath
import numpy as np
import pytest
import sympy
from sympy import Rational, cos, sin

import appell as ap
from appell.errors import ModelError

x, a, b = ap.coordinates("x a b")
e, w, W, h, F, g, m, l, A, delta = ap.parameters("e w W h F g m l A delta", positive=True)
t = ap.t


def spring(force, potential=0) -> ap.System:
    return ap.System([x], x.d**2 / 2, w**2 * x**2 / 2 + potential, {x: force}, name="spring")


def same(one, two) -> bool:
    return sympy.simplify(one - two) == 0


CASES = {  # Bogoliubov and Mitropolsky, §§ 1, 4
    "Duffing": (spring(-e * x**3), lambda r: 0, lambda r: w + 3 * e * r**2 / (8 * w), 1),
    "van der Pol": (spring(e * (1 - x**2) * x.d), lambda r: e * r * (1 - r**2 / 4) / 2, lambda r: w, 1),
    "cubic damping": (spring(-e * x.d**3), lambda r: -3 * e * w**2 * r**3 / 8, lambda r: w, 1),
    "quadratic spring": (spring(0, e * x**3 / 3), lambda r: 0, lambda r: w - 5 * e**2 * r**2 / (12 * w**3), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_springs_with_small_terms(name):
    system, r_rate, phase, order = CASES[name]
    slow = ap.averaged(system, [e])
    assert slow.order == order and same(slow.r_rate, r_rate(slow.r)) and same(slow.theta_rate, phase(slow.r))


def test_forced_duffing_near_its_resonance():
    """(h r/2)² + ((ω − w) r − 3 e r³/(8 w))² = (F/2w)²; Nayfeh and Mook 1979, (4.1.19)."""
    slow = ap.averaged(spring(-e * x**3 - h * x.d + F * cos(W * t)), [e, h, F], (1, 1))
    values = {e: 0.1, w: 1.0, W: 1.05, h: 0.02, F: 0.03}
    for r, _, _ in (found := slow.regimes(values)):
        assert (0.01 * r) ** 2 + (0.05 * r - 3 * 0.1 * r**3 / 8) ** 2 == pytest.approx(0.015**2, rel=1e-9)
    assert len(found) == 3


@pytest.mark.parametrize("phase", [0.0, 0.4, 2.0])
def test_every_regime_of_weak_damping_and_forcing(phase):
    """The regimes of (h r/2m)² + ((ω − w) r − 3 e r³/(8 m w))² = (F/2mw)², with h, e, F and ω − w of 1e-1 to 1e-8 of w, where
    Newton's last steps are rounding of ω − w; the phase of the force turns θ only."""
    rng = np.random.default_rng(int(10 * phase))
    system = ap.System([x], m * x.d**2 / 2, m * w**2 * x**2 / 2, {x: -e * x**3 - h * x.d + F * cos(W * t + phase)})
    slow = ap.averaged(system, [e, h, F], (1, 1))
    for small in 10.0 ** -np.arange(1, 9):
        for _ in range(6):
            mass, frequency, cubic, drag, force, off = rng.uniform([1, 1, 0.5, 0.05, 0.5, -1], [3, 3, 1.5, 0.5, 1.5, 2])
            p = {m: mass, w: frequency, e: small * cubic, h: small * drag, F: small * force, W: frequency + small * off}
            with mpmath.workdps(50):
                M, v, E, H, G, V = (mpmath.mpf(float(p[s])) for s in (m, w, e, h, F, W))
                B, C = 3 * E / (8 * M * v), V - v
                cubic_in_squares = [B**2, -2 * B * C, (H / 2 / M) ** 2 + C**2, -((G / 2 / M / v) ** 2)]
                squares = mpmath.polyroots(cubic_in_squares, 200, extraprec=200)
            wanted = sorted((float(z.real) ** 0.5 for z in squares if abs(z.imag) < 1e-20 * abs(z)), reverse=True)
            found = [r for r, _, _ in slow.regimes(p)]
            assert found == pytest.approx(wanted, rel=1e-12 + 1e-15 / small * 100), (small, found, wanted)


def test_the_second_tongue_of_mathieu_is_of_the_second_order():
    """Between ω − w = −5 e²/(24 w³) and e²/(24 w³): a = 4 + 5 q²/12 and 4 − q²/12 (Abramowitz and Stegun 20.2.25)."""
    first, second = (ap.averaged(spring(e * x * cos(W * t)), [e], pair) for pair in ((2, 1), (1, 1)))
    assert (first.order, second.order) == (1, 2)
    edges = lambda slow, angles: [sympy.simplify(slow.theta_rate.subs(slow.theta, at)) for at in angles]
    near, far = edges(first, (0, sympy.pi))
    assert same(near, W - 2 * w + e / (2 * w)) and same(far, W - 2 * w - e / (2 * w))
    low, high = edges(second, (0, sympy.pi / 2))
    assert same(low, W - w + 5 * e**2 / (24 * W * w**2)) and same(high, W - w - e**2 / (24 * W * w**2))


def test_time_of_the_second_order_alone():
    """−e x² + e² x cos Wt: its mean far from resonances, and a tongue of the second order near W = 2w."""
    slow = spring(-e * x**2 + e**2 * x * cos(W * t))
    far, near = ap.averaged(slow, [e]), ap.averaged(slow, [e], (2, 1))
    assert far.order == near.order == 2 and far.r_rate == 0
    assert same(far.theta_rate, w - 5 * e**2 * far.r**2 / (12 * w**3))
    assert same(near.r_rate, e**2 * near.r * sin(near.theta) / (4 * w))
    expected = W - 2 * w + e**2 * cos(near.theta) / (2 * w) + 5 * e**2 * near.r**2 / (6 * w**3)
    assert same((near.theta_rate - expected).subs(W, 2 * w), 0)
    assert far.rates(0.5, 0.1, {e: 0.1, w: 1.0, W: 2.7})[1] == pytest.approx(1 - 5 * 0.01 * 0.25 / 12)


def kapitza() -> ap.System:
    height = -l * cos(a) + A * cos(W * t)
    kinetic = m * ((l * cos(a) * a.d) ** 2 + ap.total_derivative(height) ** 2) / 2
    return ap.System([a], kinetic, m * g * height, {a: -delta * a.d}, name="Kapitza")


def test_kapitza_s_pendulum_stands_upright_above_its_threshold():
    slow = ap.averaged(kapitza(), [A], fast=W)
    assert same(slow.effective_potential, -m * g * l * cos(a) + m * A**2 * W**2 * sin(a) ** 2 / 4)
    assert same(slow.quick[a], -A / l * sin(a) * cos(W * t)) and slow.system.forces == (-delta * a.d,)
    for share in (0.999, 1.001):
        values = {m: 1.0, g: 9.81, l: 1.0, delta: 1e-12, W: 1.0, A: share * np.sqrt(2 * 9.81)}
        stable = np.abs(ap.linearize(slow.system, at={a: np.pi}, parameters=values).eigenvalues.real).max() < 1e-9
        assert stable == (share > 1)


def test_the_slow_motion_is_that_of_the_whole_to_the_first_order():
    slow, off = ap.averaged(kapitza(), [A], fast=W), []
    for scale in (100.0, 200.0):
        values = {m: 1.0, g: 9.81, l: 1.0, delta: 0.1, W: scale, A: 6.0 / scale}
        whole = ap.simulate(kapitza(), {a: 2.5, a.d: 0.0}, 3.0, values, times=np.linspace(0, 3, 301), backend="vm", rtol=1e-8)
        quick = 6.0 / scale * np.sin(2.5)  # ξ at the start: the slow motion begins beside it
        mean = ap.simulate(slow.system, {a: 2.5 + quick}, 3.0, values, times=whole.t, backend="vm")
        put_back = mean[a] - 6.0 / scale * np.sin(mean[a]) * np.cos(scale * whole.t)
        off.append(np.abs(whole[a] - put_back).max())
    assert off[0] < 0.02 and off[0] / off[1] > 1.7


def test_a_double_pendulum_upside_down():
    """Stable for A W > √2 g/ω_min, ω_min² = (2 − √2) g/l the slower hanging frequency (Acheson, Proc. R. Soc. A 443, 1993)."""
    y1 = -l * cos(a) + A * cos(W * t)
    place = (l * sin(a), y1, l * sin(a) + l * sin(b), y1 - l * cos(b))
    kinetic = sympy.expand(Rational(1, 2) * sum(ap.total_derivative(one) ** 2 for one in place))
    slow = ap.averaged(ap.System([a, b], kinetic, g * (place[1] + place[3]), name="two"), [A], fast=W)
    for share in (0.999, 1.001):
        values = {g: 9.81, l: 1.0, W: 1.0, A: share * np.sqrt(2) * 9.81 / np.sqrt((2 - np.sqrt(2)) * 9.81)}
        found = ap.linearize(slow.system, at={a: np.pi, b: np.pi}, parameters=values)
        assert (np.abs(found.eigenvalues.real).max() < 1e-9) == (share > 1)


def shaken(force, q=(x,)) -> ap.System:
    return ap.System(q, sum(one.d**2 for one in q) / 2, 0, {q[0]: A * W**2 * force})


REFUSED = {
    "averaging starts from a spring": (ap.System([x], x.d**2 / 2, -cos(x), {x: -e * x.d}), [e], None, None),
    "driven away from rest": (ap.System([x], x.d**2 / 2, -(x**2), {x: -e * x.d}), [e], None, None),
    "takes one degree of freedom": (ap.System([a, b], a.d**2 + b.d**2, a**2 + e * b**2), [e], None, None),
    "has no resonance": (spring(-e * x.d), [e], (1, 1), None),
    "to the second order": (spring(-e * x**2), [e], (1, 1), None),
    "nothing of the first order": (spring(-e * x.d + e**2 * cos(W * t)), [e], (1, 1), None),
    "not in e\\*\\*2\\*t\\*x": (spring(e * x * cos(W * t) + e**2 * x * t), [e], (1, 1), None),
    "no parameter": (kapitza(), [A], None, m * W),
    "larger than of the order": (kapitza(), [delta], None, W),
    "has a mean": (shaken(cos(W * t) ** 2), [A], None, W),
    "depends on velocities": (shaken(x.d * cos(W * t)), [A], None, W),
    "no potential": (shaken(b * cos(W * t), (a, b)), [A], None, W),
    "is not known in closed form": (shaken(t * cos(W * t)), [A], None, W),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_averaged_is_refused_by_name(said):
    system, small, resonance, fast = REFUSED[said]
    with pytest.raises(ModelError, match=said):
        ap.averaged(system, small, resonance, fast=fast)
