"""Maggi's two groups on the zoo, Λ independent of the choice of pseudo-velocities."""

from __future__ import annotations

import pytest
from sympy import cos, sin
from tests.forms.judging import close, disagreement, judged, value

from appell import zoo
from appell.errors import FormNotApplicable
from appell.forms import maggi
from appell.jets import coordinates, parameters, t
from appell.model import Constraint, System

x, y, z = coordinates("x y z")
k = parameters("k", positive=True)
SPEEDS = ("heavy_top_quaternion", "rolling_ball_on_turntable")
NAMES = [name for name in zoo.ALL if name not in ("constant_acceleration", *SPEEDS)]


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_judge(name):
    example = zoo.ALL[name]()
    for pseudo in (example.pseudo, None):
        assert disagreement(maggi(example.system, pseudo), example.parameters) < 1e-9


def test_reactions_are_formulas():
    """Λ of the skate as a formula in q̈ without unknown multipliers, equal for two choices of pseudo-velocities."""
    example = zoo.skate()
    x, y, phi = example.system.coordinates
    one, two = maggi(example.system, example.pseudo), maggi(example.system, {"u": x.d + 2 * phi.d, "w": phi.d - y.d})
    for state in judged(example.system, example.parameters):
        for form in (one, two):
            assert close(value(form.multipliers[0], state.values), state.lam[0], 1e-9)
    assert set(one.unknowns) == set(example.system.accelerations)


def test_rheonomic_mixed_orders():
    """A holonomic, a nonlinear first-order and a second-order constraint together."""
    w = coordinates("w")
    system = System(
        [x, y, z, w],
        (1 + y**2) * x.d**2 / 2 + y.d**2 + z.d**2 / 2 + w.d**2 + t * x * w.d + x.d * w.d * sin(z) / 3,
        potential=k * x * z,
        constraints=[
            Constraint(z - sin(t) * y, name="surface"),
            Constraint(x.d**2 + w.d * (2 + cos(y)) - y.d + t, name="nonlinear"),
            Constraint(x.dd * (1 + w**2) + w.dd + y.d, name="second"),
        ],
    )
    assert disagreement(maggi(system, {"u": y.d + x.d}), {k: 0.7}) < 1e-9


def test_refusals():
    with pytest.raises(FormNotApplicable, match=r"nonlinear in the accelerations; use ap\.forms\.gauss"):
        maggi(zoo.constant_acceleration().system)
    with pytest.raises(FormNotApplicable, match="speeds"):
        maggi(zoo.rolling_ball_on_turntable().system)
