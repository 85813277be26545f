"""Chaplygin's form on the zoo: every order, every solvable choice of velocities."""

from __future__ import annotations

from itertools import combinations

import pytest
from tests.forms.judging import disagreement

from appell import zoo
from appell.errors import FormNotApplicable, ModelError
from appell.forms import chaplygin
from appell.jets import coordinates
from appell.model import Constraint, System

SPEEDS = ("heavy_top_quaternion", "rolling_ball_on_turntable")
NAMES = [name for name in zoo.ALL if name not in ("constant_acceleration", *SPEEDS)]
x, y, z = coordinates("x y z")


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_judge(name):
    example = zoo.ALL[name]()
    assert disagreement(chaplygin(example.system), example.parameters) < 1e-9


def test_every_choice_for_the_rolling_coin():
    """Six pairs of velocities: those that can be independent agree, the others say which can."""
    example = zoo.rolling_coin()
    good, bad = 0, 0
    for pair in combinations(example.system.coordinates, 2):
        try:
            form = chaplygin(example.system, independent=pair)
        except FormNotApplicable as error:
            assert "works" in str(error)
            bad += 1
        else:
            good += 1
            assert disagreement(form, example.parameters) < 1e-8
    assert (good, bad) == (3, 3)


def test_redundant_rows():
    system = System(
        [x, y, z],
        (x.d**2 + y.d**2 + 2 * z.d**2) / 2,
        forces={x: 1},
        constraints=[Constraint(x.d - z * y.d, name="one"), Constraint(3 * x.d - 3 * z * y.d, name="two")],
    )
    assert disagreement(chaplygin(system, independent=[y, z]), {}) < 1e-10


def test_solved_must_name_the_dependent_velocities():
    example = zoo.skate()
    _, y, phi = example.system.coordinates
    with pytest.raises(ModelError, match=r"exactly the dependent velocities.*x\.d"):
        chaplygin(example.system, independent=[y, phi], solved={phi.d: 0})
    with pytest.raises(ModelError, match="twice"):
        chaplygin(example.system, independent=[y, y.d])
