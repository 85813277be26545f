"""Trees and their systems as people give and keep them: names of joints, links, points, pickles, bodies without inertia."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sympy import Matrix

import appell as ap
from appell.errors import ModelError
from appell.tree import ChainLink, Inertia, Joint, Tree

LINK = ChainLink(1.0, [0, 0, -0.25], [0.1, 0.1, 0.01], [0, 0, -0.5], [0, 1, 0])
BODY = Inertia.at_centre(1.0, (0.1, 0.0, 0.0), np.eye(3))
CHAIN = ap.Chain([LINK] * 2, backend="vm")


def test_the_name_of_a_joint_stands_for_its_velocity():
    arm = Tree([Joint("left-hip", "revolute", axis=(0, 1, 0), body=BODY), Joint("rail", "prismatic", "left-hip", body=BODY)])
    hip, rail = arm.joint("left-hip"), arm.joint("rail")
    named = arm.system(forces={"left-hip": 3 * rail, "rail": 2}).forces
    assert named == arm.system(forces={hip: 3 * rail, rail: 2}).forces == (3 * rail, 2)
    assert arm.system(forces={"rail.d": 2}).forces == (0, 2)


def test_names_that_stand_for_no_velocity():
    free = Tree([Joint("body", "floating", body=BODY), Joint("rail", "prismatic", "body", body=BODY)])
    with pytest.raises(ModelError, match=r"joint 'body' with several velocities; name one of them: v_base_x, .*omega_base_z"):
        free.system(forces={"body": 1})
    with pytest.raises(ModelError, match=r"forces= names elbow, which is not a coordinate.*joint_1\.d, joint_2\.d"):
        CHAIN.system(forces={"elbow": 1})


def test_inputs_are_not_needed_for_a_consistent_start():
    q1, q2 = CHAIN.joint("joint_1"), CHAIN.joint("joint_2")
    found = ap.consistent(CHAIN.system([q1 + q2 - 1], forces=CHAIN.inputs()), {})
    assert found[q1] + found[q2] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("given", [LINK, {"mass": 1, "c": (0, 0, 1), "J": (1, 1, 1)}, 3, None, "links"])
def test_a_chain_is_made_of_a_list(given):
    with pytest.raises(ModelError, match=r"a chain is made of a list of ap\.tree\.ChainLink, Chain\(\[link, …\]\), not of"):
        ap.Chain(given)


def test_links_in_whatever_holds_them():
    array: Any = np.array([LINK, LINK])
    some: Any = iter([LINK, LINK])
    none: list[Any] = [[], (), iter([])]
    assert ap.Chain(array).links == ap.Chain(some).links == (LINK, LINK)
    for empty in none:
        with pytest.raises(ModelError, match="a chain needs at least one link"):
            ap.Chain(empty)


WRONG = {
    r"a point of frame 'link_1' is not finite: \[0, 0, nan\]": lambda at: at.at([0, 0, np.nan]),
    r"a point of frame 'link_1' is not finite: \[0, inf, 0\]": lambda at: at.at([0, np.inf, 0]),
    r"a point of frame 'link_1' has three components, \[x, y, z\]; it is 5": lambda at: at.at(5),
    r"a point of frame 'link_1' has three components, \[x, y, z\]; it is None": lambda at: at.at(None),
    "a point of frame 'link_1' has 2 components": lambda at: at.at([0, 0]),
    "a direction of frame 'link_1' has 2 components": lambda at: at.axis([0, 0]),
    "a direction of frame 'link_1' is not finite": lambda at: at.axis([0, 0, np.nan]),
    r"rpy .* not \[0, 0\]": lambda at: at.at([0, 0, 0], [0, 0]),
    "rpy .* not 5": lambda at: at.at([0, 0, 0], 5),
}


@pytest.mark.parametrize("message", WRONG)
def test_points_and_directions_that_are_none(message: str):
    with pytest.raises(ModelError, match=message):
        WRONG[message](CHAIN.frame("link_1"))


def test_points_in_whatever_holds_them():
    frame, l = CHAIN.frame("link_1"), ap.parameters("l")
    points: list[Any] = [[0, 0, l], (0, 0, l), Matrix([0, 0, l])]
    for point in points:
        assert frame.at(point).position == frame.position + l * frame.rotation[:, 2]


@pytest.mark.parametrize(
    "tree", [ap.Chain([LINK] * 2, backend="vm", name="arm"), Tree(CHAIN.joints, notes=["n"], backend="vm")]
)
def test_a_system_comes_back_from_a_pickle_with_its_tree_as_it_was(tree):
    system = tree.system([tree.joint("joint_1") - tree.joint("joint_2")], forces=tree.inputs(), name="held")
    back = pickle.loads(pickle.dumps(system))
    assert type(back.tree) is type(tree) and back.tree.__reduce__()[1][2:] == tree.__reduce__()[1][2:]
    assert (back.tree._backend, back.tree.notes, back.tree.name, back.name) == ("vm", tree.notes, tree.name, "held")
    assert back.forces == system.forces and back.residuals == system.residuals
    q, v = [0.3, -0.2], [1.0, 2.0]
    assert np.array_equal(back.tree.bias(q, v), tree.bias(q, v))


def floating(J: Any, centre: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Tree:
    return Tree([Joint("body", "floating", body=Inertia.at_centre(1.0, centre, J))], backend="vm")


def test_a_thin_rod_is_called_so_with_its_axis():
    a = np.array([1.0, 2.0, 2.0]) / 3
    rod = 0.1 * (np.eye(3) - np.outer(a, a))
    for centre in ((0.0, 0.0, 0.0), (0.3, -0.1, 0.2)):
        with pytest.raises(ModelError, match=r"'body' moves a thin rod: .* about \[0\.3333, 0\.6667, 0\.6667\] of its frame"):
            floating(rod, centre).forward_dynamics(np.zeros(7), np.zeros(6), np.zeros(6))
    with pytest.raises(ModelError, match=r"moves a thin rod: .* about \[0\.0, 0\.0, 1\.0\] of its frame"):
        floating(np.diag([0.1, 0.1, 0.0])).system()
    with pytest.raises(ModelError, match=r"moves point masses: .* about 3 axes"):
        floating(np.zeros((3, 3))).system()
    for idle in (Inertia.zero(), Inertia.at_centre(0.0, (0, 0, 0), np.eye(3))):
        with pytest.raises(ModelError, match="moves nothing"):
            Tree([Joint("body", "floating", body=idle)], backend="vm").system()


@pytest.mark.parametrize("moment", [-1e-16, 0.0, 1e-18])
def test_rounding_is_no_negative_inertia(moment):
    rod = ap.Chain([ChainLink(1.0, (0, 0, 0), (0.1, moment, 0.1), e=(0, 1, 0))], backend="vm")
    with pytest.raises(ModelError, match="joint 'joint_1' moves nothing"):
        rod.forward_dynamics([0.0], [0.0], [0.0])
