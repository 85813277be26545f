"""Forces that are not affine in the reactions of faces, and of constraints that rub: closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq
from sympy import Rational, tanh

import appell as ap

x, y, h = ap.coordinates("x y h")
WEIGHT = Rational(981, 100)
MU = Rational(3, 10)


def block(forces, rows):
    return ap.System([x, y, h], (x.d**2 + y.d**2 + h.d**2) / 2, WEIGHT * y, forces, rows)


@pytest.mark.parametrize("backend", ["vm", "c"])
def test_a_drag_that_grows_with_the_square_of_the_load(backend):
    """ẋ = exp(−N² t/100)."""
    face = ap.Unilateral(y, name="face")
    motion = ap.simulate(block({x: -(face.multiplier**2) * x.d / 100}, [face]), {x.d: 1}, 1.0, backend=backend, rtol=1e-10)
    assert motion.ok and motion.final[x.d] == pytest.approx(np.exp(-(9.81**2) / 100), abs=1e-10)
    assert np.abs(motion.balance).max() < 1e-10


def test_a_lift_that_depends_on_the_load_of_what_rubs():
    """N + N^(3/2)/10 = m g on a rough face: it stops at 1/(μ N)."""
    face = ap.Unilateral(y, name="face")
    rub = ap.Friction(x.d, normal=face, coefficient=MU, name="rub")
    motion = ap.simulate(block({y: face.multiplier ** Rational(3, 2) / 10}, [face, rub]), {x.d: 1}, 1.0, backend="vm")
    N = brentq(lambda N: N + N**1.5 / 10 - 9.81, 0, 10, xtol=1e-15)
    assert [p.state for p in motion.phases] == ["slip", "stick"]
    assert motion.phases[0].end == pytest.approx(1 / (0.3 * N), abs=1e-11)
    assert motion.reaction(face) == pytest.approx(np.full(len(motion.t), N), abs=1e-10) and np.abs(motion.balance).max() < 1e-12


def test_a_force_that_follows_friction_nonlinearly():
    """ḧ = tanh λ while it slides, and nothing after that."""
    floor = ap.Constraint(y, name="floor")
    rub = ap.Friction(x.d, normal=floor, coefficient=MU, name="rub")
    motion = ap.simulate(block({h: tanh(rub.multiplier)}, [floor, rub]), {x.d: 1}, 1.0, backend="vm")
    assert motion.final[h.d] == pytest.approx(-np.tanh(0.3 * 9.81) / (0.3 * 9.81), abs=1e-12)


def test_a_blow_is_not_told_by_such_a_force():
    face = ap.Unilateral(y, name="face")
    with pytest.warns(ap.AppellWarning, match="not affine in the multipliers do not define"):
        motion = ap.simulate(block({x: -(face.multiplier**2) * x.d / 100}, [face]), {y: 1}, 1.0, backend="vm")
    assert motion.t[-1] == pytest.approx(np.sqrt(2 / 9.81))
