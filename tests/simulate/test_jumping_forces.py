"""Forces that jump with a velocity: followed while the body slides, stopped and named where it sticks."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Heaviside, Piecewise, sign, tanh

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
