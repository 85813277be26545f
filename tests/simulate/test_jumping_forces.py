"""Forces that jump with a velocity: followed while the body slides, stopped and named where it sticks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma
from sympy import Heaviside, Max, Piecewise, Rational, sign, tanh

import appell as ap

x, y = ap.coordinates("x y")
LAWS = {
    "sign": -sign(x.d) / 2,
    "step": 0.5 - Heaviside(x.d),
    "pieces": Piecewise((-0.5, x.d > 0), (0.5, True)),
    "product": -sign(x.d) * (1 + x**2) / 2,
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.filterwarnings("ignore::appell.backends.AppellWarning")
def test_a_body_that_sticks_ends_the_run_with_a_sentence(name):
    system = ap.System([x], x.d**2 / 2, x**2 / 2, forces={x: LAWS[name]})
    motion = ap.simulate(system, {x: 1.2}, 60.0, backend="vm")
    assert not motion.ok and len(motion.t) < 30_000 and motion.t[-1] < 30
    assert "dry friction" in motion.message and "tanh" in motion.message and "max_steps" not in motion.message
    assert [note.kind for note in motion.notes] == ["jump"] and abs(motion[x.d][-1]) < 1e-4


def test_a_body_that_slides_is_followed():
    """|x| falls by 2f each half period of x″ + x = −f sign ẋ: closed form, as long as it slides."""
    system = ap.System([x], x.d**2 / 2, x**2 / 2, forces={x: -sign(x.d) / 10})
    motion = ap.simulate(system, {x: 3}, 5 * np.pi, backend="vm")
    assert motion.status == 0 and motion[x][-1] == pytest.approx(-(3 - 5 * 0.2), abs=1e-6)


def test_smooth_forces_and_jumps_in_positions_have_no_note():
    for force in (-tanh(x.d / 1e-3), -sign(x), 3 * y.d):
        system = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: force})
        assert ap.compile(system, backend="vm").notes == ()


@pytest.mark.parametrize("law", ["Max", "cases"])
def test_powers_that_are_real_on_one_side(law):
    """Hertz's spring, k (−x)^(3/2) for x < 0, throws a body back after (4√π/5)(Γ(2/5)/Γ(9/10)) d/v, d = (5v²/(4k))^(2/5)."""
    half, k, v = Rational(3, 2), 50, 1.3
    forces = {"Max": k * Max(-x, 0) ** half, "cases": Piecewise((k * (-x) ** half, x < 0), (0, True))}
    system = ap.System([x], x.d**2 / 2, forces={x: forces[law]}, name="Hertz")
    motion = ap.simulate(system, {x: 0.3, x.d: -v}, 1.0, backend="vm", times=[1.0])
    touch = 4 * np.sqrt(np.pi) / 5 * gamma(0.4) / gamma(0.9) * (5 * v**2 / (4 * k)) ** 0.4 / v
    assert motion.ok, motion.message
    np.testing.assert_allclose([motion[x][-1], motion[x.d][-1]], [v * (1 - 0.3 / v - touch), v], atol=1e-7)


@pytest.mark.parametrize("n", [3, 5])
def test_powers_that_are_flat_where_their_base_vanishes(n):
    """V = rⁿ, n odd, from r = 0: its slope is zero there. r(t) by quadrature of the energy, ∫ dr/√(1 − 2 rⁿ)."""
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, (x**2 + y**2) ** Rational(n, 2), name="flat")
    motion = ap.simulate(system, {x.d: 0.6, y.d: 0.8}, 1.0, backend="vm", times=[0.5])
    assert motion.ok, motion.message
    r = np.hypot(motion[x][0], motion[y][0])
    assert quad(lambda s: 1 / np.sqrt(1 - 2 * s**n), 0, r)[0] == pytest.approx(0.5, abs=1e-7)
    assert ap.simulate(system, {}, 1.0, backend="vm").final[x] == 0
