"""What inputs reach, by brackets, against what is known of each system; the numeric part of the diagnosis of large trees."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin

import appell as ap
from appell.errors import ModelError
from appell.tree import Inertia, Joint, place

x, y, phi = ap.coordinates("x y phi")
u, w = ap.parameters("u w")
blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
PUSH = {x: u * cos(phi), y: u * sin(phi), phi: w}
sleigh = ap.System([x, y, phi], (x.d**2 + y.d**2 + phi.d**2) / 2, 0, PUSH, [blade], name="sleigh")


def spans(system, inputs):
    """The dimensions that the sentence tells, and the whole."""
    (finding,) = ap.diagnose(system, inputs=inputs).of("inputs")
    growth, _, rest = str(finding).partition("span ")[2].partition(" of ")
    return [int(n) for n in growth.split(",")], int(rest.split()[0]), str(finding)


@pytest.mark.parametrize(("inputs", "reached"), [([u, w], 5), ([u], 3), ([w], 4)], ids=["both", "push", "turn"])
def test_a_sleigh(inputs, reached):
    """Both inputs reach all five dimensions; a push alone leaves φ and its rate as they go, a torque alone leaves the speed."""
    growth, whole, said = spans(sleigh, inputs)
    assert (growth[0], growth[-1], whole) == (len(inputs), reached, 5)
    assert ("strong accessibility" in said) == (reached == 5)


def test_oscillators_under_one_force():
    """Unequal ones are all reached, by brackets with the drift alone; of twins the difference is not."""
    for mass, wanted in ((1, [1, 2]), (2, [1, 2, 3, 4])):
        pair = ap.System([x, y], x.d**2 / 2 + mass * y.d**2 / 2, (x**2 + y**2) / 2, {x: u, y: u})
        assert spans(pair, [u])[:2] == (wanted, 4)


def test_what_is_no_input_is_refused():
    with pytest.raises(ModelError, match="inputs= names k"):
        ap.diagnose(sleigh, inputs=["k"])


def test_a_large_tree_is_diagnosed_in_numbers():
    """Thirteen links and a row twice: ranks, freedom and energy are told without symbols."""
    body = Inertia.at_centre(1.0, (0.5, 0, 0), np.eye(3) / 10)
    joints = [Joint(f"j{i}", "revolute", f"j{i - 1}" if i else None, place((1, 0, 0)), (0, 1, 0), body) for i in range(13)]
    tree = ap.Tree(joints, backend="vm")
    tip = tree.frame("j12")
    rows = [ap.Constraint(tip.position[0] - 9, name="tip"), ap.Constraint(2 * tip.position[0] - 18, name="again")]
    found = ap.diagnose(tree.system(rows))
    assert "13 velocities are more than are written" in str(found.of("size")[0])
    assert "'again' is redundant: it follows from 'tip'" in str(found.of("redundancy")[0])
    assert str(found.of("freedom")[0]).startswith("12 degrees of freedom")
    assert "is conserved" in str(found.of("conserved")[0])
