"""Frequency response by simulation and finite-time Lyapunov exponents: closed forms, harmonic balance, `ap.variations`."""

from typing import Any

import numpy as np
import pytest
import sympy
from scipy.optimize import fsolve
from sympy import cos, tanh

import appell as ap

x, y = ap.coordinates("x y")
F, w, c, k = ap.parameters("F omega c k", positive=True)
LINEAR = ap.System([x], x.d**2 / 2, x**2 / 2, {x: F * cos(w * ap.t) - c * x.d}, name="linear")
DUFFING = ap.System([x], x.d**2 / 2, x**2 / 2 + k * x**4 / 4, {x: F * cos(w * ap.t) - c * x.d}, name="Duffing")


def test_a_linear_oscillator_responds_as_in_closed_form():
    """c₁ = F/(1 − ω² + i c ω), and of the velocity iω c₁; nothing at other multiples."""
    omega = np.linspace(0.3, 2.5, 12)
    exact = 0.7 / (1 - omega**2 + 0.3j * omega)
    found = ap.frequency_response(LINEAR, x, {w: omega}, {x: 0.3}, {F: 0.7, c: 0.3}, skip=60)
    assert found.ok and found.settled.all() and found.period == pytest.approx(2 * np.pi / omega)
    assert found.amplitude == pytest.approx(np.abs(exact), abs=1e-9) and found.phase == pytest.approx(np.angle(exact), abs=1e-8)
    assert np.abs(found.harmonics[:, [0, 2, 3, 4, 5]]).max() < 1e-9
    again = ap.frequency_response(LINEAR, x.d + 2, {w: omega[:2]}, None, {F: 0.7, c: 0.3}, skip=60, since=1.0)
    assert again.harmonics[:, 1] == pytest.approx((1j * omega * exact)[:2], abs=1e-9) and again.mean == pytest.approx([2, 2])
    assert again.dataset.phase.dims == ("omega",) and len(again.plot().axes) == 2


def balanced(omega, guess):
    """Harmonic balance of the Duffing oscillator with 1, 3, 5, 7: (c₁, c₃, …) of x = Re Σ c_k e^{ikωt}."""
    ks, t = np.arange(1, 8, 2), 2 * np.pi * np.arange(64) / 64

    def residual(ab):
        z = ab[:4] + 1j * ab[4:]
        cubes = (z @ np.exp(1j * np.outer(ks, t))).real ** 3
        cubes = 2 * (cubes * np.exp(-1j * np.outer(ks, t))).mean(axis=1)
        r = (1 - (ks * omega) ** 2 + 0.1j * ks * omega) * z + 0.4 * cubes - 0.1 * (ks == 1)
        return np.append(r.real, r.imag)

    z: Any = fsolve(residual, [guess.real, 0, 0, 0, guess.imag, 0, 0, 0], xtol=1e-13)
    return z[:4] + 1j * z[4:]


def test_duffings_oscillator_responds_as_harmonic_balance_says():
    """Up and down: two branches between the folds, each with its harmonics and phases."""
    omega, given = np.linspace(0.95, 1.25, 5), {F: 0.1, c: 0.1, k: 0.4}
    up = ap.frequency_response(DUFFING, "x", {w: omega}, None, given, skip=100, follow=True, harmonics=7)
    down = ap.frequency_response(DUFFING, "x", {w: omega[::-1]}, None, given, skip=100, follow=True, harmonics=7)
    assert up.ok and down.ok
    for found in (up, down):
        for value, harmonics in zip(found.values, found.harmonics, strict=True):
            assert harmonics[[1, 3, 5]] == pytest.approx(balanced(value, harmonics[1])[:3], abs=2e-7)


def test_what_does_not_repeat_itself_is_marked():
    found = ap.frequency_response(LINEAR, x, {w: [0.8, 1.1]}, {x: 1.0}, {F: 0.7, c: 0.01}, skip=3, backend="vm")
    assert not found.ok and not found.settled.any() and "2 of 2 motions still change after a period" in found.message
    found.plot()
    free = ap.System([x], x.d**2 / 2, w * x**2 / 2)
    with pytest.raises(ap.ModelError, match="autonomous"):
        ap.frequency_response(free, x, {w: [1.0]}, backend="vm")
    with pytest.raises(ap.ModelError, match="of= contains y"):
        ap.frequency_response(LINEAR, x + y, {w: [1.0]}, None, {F: 1.0, c: 0.1})
    with pytest.raises(ap.ModelError, match="expression in them"):
        ap.frequency_response(LINEAR, F, {w: [1.0]}, None, {F: 1.0, c: 0.1})


@pytest.mark.parametrize("follow", [False, True])  # in lanes and one by one
def test_what_creeps_towards_its_limit_is_marked(follow):
    """A free vibration at 2ω comes back after a period and is none; at resonance 0.35 % are missing after 200 periods."""
    slow = ap.frequency_response(LINEAR, x, {w: [0.5]}, None, {F: 1.0, c: 1e-6}, follow=follow)
    assert abs(slow.harmonics[0, 2]) > 1.0 and slow.change[0] < 1e-5 and slow.to_come[0] > 0.2 and not slow.ok
    late = ap.frequency_response(LINEAR, x, {w: [1.0]}, None, {F: 1.0, c: 0.009}, follow=follow)
    missing = 1 - late.amplitude[0] * 0.009
    assert late.change[0] < 1e-4 and 2 * late.to_come[0] == pytest.approx(missing, rel=0.1) and "to come" in late.message
    assert ap.frequency_response(LINEAR, x, {w: [1.0]}, None, {F: 1.0, c: 0.009}, skip=600, follow=follow).ok


def test_harmonics_of_a_velocity_through_impacts():
    """ikω times those of the coordinate, in which an impact is only a corner; the mean is zero."""
    stop = ap.Unilateral(0.3 - x, name="stop", restitution=0.7)
    impact = ap.System([x], x.d**2 / 2, x**2 / 2, {x: cos(w * ap.t) - 0.2 * x.d}, [stop])
    q, v = (ap.frequency_response(impact, one, {w: [1.4]}) for one in (x, x.d))
    assert v.ok and v.harmonics[0] == pytest.approx(1.4j * np.arange(6) * q.harmonics[0], abs=1e-8)


def test_harmonics_of_a_sign():
    """4/πk, odd k: jumps of the expression itself, also where a step ends beside one."""
    found = ap.frequency_response(LINEAR, sympy.sign(x.d), {w: [0.7, 1.4, 2.0]}, None, {F: 1.0, c: 0.2})
    assert found.ok and np.abs(found.harmonics) == pytest.approx(
        np.tile(4 / np.pi * np.array([0, 1, 0, 1 / 3, 0, 1 / 5]), (3, 1)), abs=2e-6
    )


def test_no_response_is_a_steady_one():
    hill = ap.System([x], x.d**2 / 2, (1 + k * cos(w * ap.t)) * x**2 / 2, {x: -0.2 * x.d})
    found = ap.frequency_response(hill, x, {k: [0.05, 0.15]}, {x: 1.0}, {w: 2.0})
    assert found.ok and (found.amplitude < 1e-10).all()


def test_exponents_of_a_saddle_and_of_a_pendulum():
    """ẍ = x: σ = e^t at every start. A pendulum beside `ap.variations`; backwards, too."""
    saddle = ap.System([x], x.d**2 / 2, -(x**2) / 2, name="saddle")
    found = ap.lyapunov_field(saddle, {x: np.linspace(-1, 1, 4), x.d: np.linspace(-2, 2, 3)}, until=3.0)
    assert found.ok and found.exponent == pytest.approx(np.ones((4, 3)), abs=1e-8)
    pendulum = ap.System([x], x.d**2 / 2, -cos(x), name="pendulum")
    for until in (4.0, -4.0):
        found = ap.lyapunov_field(pendulum, {x: [0.3, 3.0, 3.3], x.d: [0.0, 1.0]}, until=until)
        beside = ap.variations(pendulum, {x: 3.0, x.d: 1.0}, until, rtol=1e-12, atol=1e-14)
        assert found.exponent[1, 1] == pytest.approx(np.log(np.linalg.norm(beside.monodromy, 2)) / 4, abs=1e-7)
    assert found.dataset.exponent.dims == ("x", "x_d")
    found.plot()


def test_starts_without_an_exponent_are_marked():
    """A ball above a table: of a start on it a neighbour lies below. At a force |x| the derivative has two sides."""
    table = ap.Unilateral(x, "table", restitution=0.7)
    ball = ap.System([x], x.d**2 / 2, 9.81 * x, {}, [table], name="ball")
    found = ap.lyapunov_field(ball, {x: [0.0, 0.5, 1.0], x.d: [0.0, 0.2]}, until=0.5)
    assert not found.ok and np.isnan(found.exponent[0]).all() and np.isfinite(found.exponent[1:]).all()
    beside = ap.variations(ball, {x: 1.0}, 0.5)
    assert found.exponent[2, 0] == pytest.approx(np.log(np.linalg.norm(beside.monodromy, 2)) / 0.5, abs=1e-6)
    slope = ap.System([x], x.d**2 / 2, 0, {x: -abs(x)}, name="slope")
    kink = ap.lyapunov_field(slope, {x: [0.0, 0.5], x.d: [0.0, 0.1]}, until=1.0)
    assert np.isnan(kink.exponent[0, 0]) and "disagree" in kink.message
    steep = ap.System([x], x.d**2 / 2, tanh(1e7 * x) / 2, name="step that is jumped over")
    doubtful = ap.lyapunov_field(steep, {x: [-1.0, -0.9], x.d: [0.5, 1.2]}, until=3.0)
    assert not doubtful.ok and np.isnan(doubtful.exponent).all() and "energy" in doubtful.message
    rod = ap.System([x, y], (x.d**2 + y.d**2) / 2, y, {}, [ap.Constraint(x**2 + y**2 - 1, "rod")])
    with pytest.raises(ap.ModelError, match="cannot be moved freely"):
        ap.lyapunov_field(rod, {x: [0.0], y: [1.0]}, until=1.0)
