"""Symbols of joints: hinges keep their names, and joints that make names for themselves yield to them."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError
from appell.tree import Inertia, Joint, Tree, place

BODY = Inertia.at_centre(1.0, (0.1, -0.2, 0.3), np.diag([0.5, 0.4, 0.6]))


def robot(*joints: tuple[str, str], root: str = "root") -> Tree:
    """A floating base with one joint after the other on it: (name, kind)."""
    made, parent = [Joint(root, "floating", body=BODY)], root
    for name, kind in joints:
        made.append(Joint(name, kind, parent, place((0.3, 0.2, 0.1), (0.1, 0.2, 0.3)), (1, 2, 3), BODY))
        parent = name
    return Tree(made, backend="vm")


def names(tree: Tree, joint: str) -> str:
    q, v = tree.joint(joint), tree.speeds(joint)
    return " ".join(map(str, (*(q if isinstance(q, tuple) else (q,)), *v)))


SHORT = "x y z base_x base_y base_z base_w v_base_x v_base_y v_base_z omega_base_x omega_base_y omega_base_z"
LONG = SHORT.replace("x y z", "x_base y_base z_base", 1)


@pytest.mark.parametrize("root", ["root", "base"])
def test_names_without_a_conflict(root: str):
    tree = robot(("arm", "revolute"), ("ball", "spherical"), root=root)
    assert names(tree, root) == SHORT and names(tree, "arm") == "arm arm.d"
    assert names(tree, "ball") == "ball_x ball_y ball_z ball_w omega_ball_x omega_ball_y omega_ball_z"


@pytest.mark.parametrize("root", ["root", "base", "x_base"])
@pytest.mark.parametrize("hinge", ["x", "z"])
def test_a_hinge_called_as_a_coordinate_of_the_base_keeps_its_name(hinge: str, root: str):
    tree = robot((hinge, "revolute"), ("arm", "prismatic"), root=root)
    assert names(tree, hinge) == f"{hinge} {hinge}.d" and names(tree, root) == LONG
    assert [str(q) for q in tree.system().coordinates] == [*LONG.split()[:7], hinge, "arm"]


CONFLICTS = {
    "v_base_x": LONG.replace("base", "base_"),
    "omega_base_z": LONG.replace("base", "base_"),
    "base_w": LONG.replace("base", "base_"),
}


@pytest.mark.parametrize("hinge", CONFLICTS)
def test_other_names_of_the_base(hinge: str):
    tree = robot((hinge, "revolute"))
    assert names(tree, "root") == CONFLICTS[hinge] and names(tree, hinge) == f"{hinge} {hinge}.d"


def test_one_underscore_more_where_that_is_taken_as_well():
    tree = robot(("x", "revolute"), ("x_base", "prismatic"), ("base__w", "revolute"))
    assert names(tree, "root") == LONG.replace("base", "base__") and names(tree, "x_base") == "x_base x_base.d"


def test_balls_tables_and_several_floating_joints_yield_too():
    tree = robot(("ball", "spherical"), ("ball_x", "revolute"), ("table", "planar"), ("y_table", "prismatic"))
    assert names(tree, "ball").split()[:4] == ["ball__x", "ball__y", "ball__z", "ball__w"]
    assert names(tree, "table") == "x_table_ y_table_ table_ v_table__x v_table__y table_.d"
    twins = Tree([Joint(name, "floating", body=BODY) for name in ("a", "b")] + [Joint("x_b", body=BODY)], backend="vm")
    assert names(twins, "a").startswith("x_a y_a z_a a_x") and names(twins, "b").startswith("x_b_ y_b_ z_b_ b__x")


def test_two_joints_of_one_name_are_refused():
    for kinds in (("revolute", "revolute"), ("spherical", "spherical"), ("planar", "revolute")):
        tree = robot(("a-b", kinds[0]), ("a_b", kinds[1]))
        with pytest.raises(ModelError, match=r"joints 'a.b' and 'a.b' both want the symbol 'a_b"):
            tree.system()


def test_the_same_robot_under_other_names_moves_alike():
    """A motion, and the symbols written out, with x and base_x as names of hinges."""
    plain, odd = robot(("p", "revolute"), ("r", "prismatic")), robot(("x", "revolute"), ("base_x", "prismatic"))
    one = ap.simulate(plain, {"p.d": 1.0, "v_base_y": 0.5}, until=0.5, backend="vm")
    two = ap.simulate(odd, {"x.d": 1.0, "v_base__y": 0.5}, until=0.5, backend="vm")
    assert np.array_equal(one.q, two.q) and np.array_equal(one["x"], two["x_base_"])
    tau = odd.inputs("root", "x")
    assert [str(p) for p in tau.values()][:3] == ["tau_v_base__x", "tau_v_base__y", "tau_v_base__z"]
    written = robot(("x", "revolute")).system().symbolic()
    assert {"x", "x_base", "base_x"} <= {str(q) for q in written.coordinates}
