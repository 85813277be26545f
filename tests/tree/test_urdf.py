"""What is refused, each time naming the element; and what URDF leaves open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy

import appell.model.bodies as bodies
from appell.errors import ModelError
from appell.tree import Chain, ChainLink, Inertia, Joint, Tree

INERTIAL = "<inertial><mass value='{m}'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"


def link(name: str, mass: str = "1", inertial: str = INERTIAL) -> str:
    return f"<link name='{name}'>{inertial.format(m=mass)}</link>"


def joint(name: str, parent: str, child: str, kind: str = "revolute", inner: str = "<axis xyz='0 0 1'/>") -> str:
    return f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{inner}</joint>"


def robot(tmp_path: Path, *parts: str, head: str = "") -> Path:
    path = tmp_path / "robot.urdf"
    path.write_text(f"<?xml version='1.0'?>{head}<robot name='r'>{''.join(parts)}</robot>", encoding="utf-8")
    return path


BAD = {
    "two parents": ((link("a"), link("b"), joint("j", "a", "b"), joint("k", "a", "b")), "'b'.*'j'.*'k'.*loop"),
    "cycle": ((link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")), "joints 'k', 'j' form .* ap.tree.loop"),
    "cycle beside a root": (
        (link("r"), link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
        "joints 'k', 'j' form a closed loop",
    ),
    "something on a cycle": (
        (*map(link, "abc"), joint("arm", "b", "c"), joint("j", "a", "b"), joint("k", "b", "a")),
        "joints 'k', 'j' form a closed loop",
    ),
    "a link on itself": ((link("a"), joint("j", "a", "a")), "joint 'j' joins link 'a' to itself"),
    "two origins": (
        (link("a"), link("b"), joint("j", "a", "b", inner="<origin xyz='0 0 1'/><origin xyz='0 0 2'/>")),
        "joint 'j' has 2 <origin>",
    ),
    "two inertials": ((link("a", inertial=INERTIAL + INERTIAL),), "link 'a' has 2 <inertial>"),
    "digits apart": ((link("a", "1_000"),), "link 'a': <mass value='1_000'>"),
    "digits of another script": ((link("a", "\N{ARABIC-INDIC DIGIT ONE}"),), "link 'a': <mass"),
    "two roots": ((link("a"), link("b")), "'a', 'b' are not connected"),
    "negative mass": ((link("a", "-1"),), "link 'a' is -1.0"),
    "mass not a number": ((link("a", "heavy"),), "link 'a': <mass value='heavy'>"),
    "infinite mass": ((link("a", "inf"),), "link 'a': <mass"),
    "no inertia": ((link("a", inertial="<inertial><mass value='1'/></inertial>"),), "link 'a': .*no <inertia>"),
    "unknown type": ((link("a"), link("b"), joint("j", "a", "b", "screw")), "joint 'j' is of the unknown type 'screw'"),
    "zero axis": (
        (link("a"), link("b"), joint("j", "a", "b", inner="<axis xyz='0 0 0'/>")),
        "axis of joint 'j' has length 0",
    ),
    "axis of two numbers": (
        (link("a"), link("b"), joint("j", "a", "b", inner="<axis xyz='0 1'/>")),
        "joint 'j': <axis xyz='0 1'>",
    ),
    "missing link": ((link("a"), joint("j", "a", "b")), "joint 'j': its child link 'b'"),
    "no child": ((link("a"), "<joint name='j' type='fixed'><parent link='a'/></joint>"), "joint 'j' has no <child"),
    "one name twice": ((link("a"), link("a")), "two links have the name 'a'"),
    "one joint name twice": (
        (link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "b", "c")),
        "two joints have the name 'j'",
    ),
    "bad origin": (
        (link("a"), link("b"), joint("j", "a", "b", inner="<origin xyz='0 nan 0'/>")),
        "joint 'j': <origin xyz='0 nan 0'>",
    ),
    "xacro": (("<xacro:include filename='x'/>",), "macro file"),
    "nothing": ((), "no <link>"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path: Path, case: str):
    parts, message = BAD[case]
    with pytest.raises(ModelError, match=message):
        Tree.from_urdf(robot(tmp_path, *parts))


def test_bombs_and_entities(tmp_path: Path):
    """No document type at all: nothing expands, nothing is fetched."""
    laughs = "<!DOCTYPE x [<!ENTITY a 'ha'>" + "".join(f"<!ENTITY a{k} '{'&a;' * 10}'>" for k in range(9)) + "]>"
    external = "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>"
    for head in (laughs, external, "<!DOCTYPE robot SYSTEM 'http://example.org/r.dtd'>"):
        with pytest.raises(ModelError, match="document type"):
            Tree.from_urdf(robot(tmp_path, link("a"), head=head))
    path = tmp_path / "deep.urdf"
    path.write_text("<robot>" + "<a>" * 100_000)
    with pytest.raises(ModelError, match="nested"):
        Tree.from_urdf(path)
    path.write_text("<robot><link></robot>")
    with pytest.raises(ModelError, match="not well-formed"):
        Tree.from_urdf(path)
    with pytest.raises(ModelError, match="no file"):
        Tree.from_urdf(tmp_path / "none.urdf")


def test_axes_are_made_unit(tmp_path: Path):
    parts = [link("a"), link("b"), joint("j", "a", "b", inner="<axis xyz='0 3 4'/>")]
    assert np.allclose(Tree.from_urdf(robot(tmp_path, *parts)).nodes[0].axis, [0, 0.6, 0.8], atol=1e-16)


def test_order_is_depth_first_by_joint_name(tmp_path: Path):
    names = [("k", "a", "b"), ("B", "a", "c"), ("z", "c", "d"), ("a10", "c", "e"), ("a9", "c", "f")]
    tree = Tree.from_urdf(robot(tmp_path, *map(link, "abcdef"), *(joint(*row) for row in names)))
    assert [node.name for node in tree.nodes] == ["B", "a10", "a9", "z", "k"]


def test_missing_inertia_is_named_when_it_matters(tmp_path: Path):
    """Inverse dynamics needs no inertia behind a joint, forward dynamics does."""
    tree = Tree.from_urdf(robot(tmp_path, link("a"), "<link name='b'/>", joint("elbow", "a", "b")), backend="vm")
    assert tree.inverse_dynamics([0.0], [0.0], [1.0]) == 0
    with pytest.raises(ModelError, match="joint 'elbow' moves nothing"):
        tree.forward_dynamics([0.0], [0.0], [1.0])


def test_what_is_not_used_is_told(tmp_path: Path):
    inner = "<axis xyz='0 0 1'/><dynamics damping='2' friction='1'/><mimic joint='k'/>"
    path = robot(tmp_path, link("a"), link("b"), joint("j", "a", "b", inner=inner))
    tree = Tree.from_urdf(path, backend="vm")
    assert len(tree.notes) == 3 and "<mimic joint='k'> is not applied" in tree.notes[0]
    assert all("in motions" in note and " j " in note for note in tree.notes[1:])
    assert tree.bias([0.0], [1.0]) == pytest.approx(0)
    assert Tree.from_urdf(path, damping=True, backend="vm").bias([0.0], [1.0]) == pytest.approx(2)


def test_misspelt_elements_are_told(tmp_path: Path):
    heavy = link("b", inertial=INERTIAL.replace("</inertial>", "<density value='3'/></inertial>"))
    tree = Tree.from_urdf(robot(tmp_path, link("a"), heavy, joint("j", "a", "b", inner="<Axis xyz='0 1 0'/>")))
    density, axis = tree.notes
    assert "link 'b': <density>" in density and "joint 'j': <Axis>" in axis


@pytest.mark.parametrize("floating", [False, True])
def test_a_joint_may_have_the_name_of_the_base(tmp_path: Path, floating: bool):
    parts = [link("a"), link("b"), joint("root_joint", "a", "b")]
    tree = Tree.from_urdf(robot(tmp_path, *parts), floating=floating)
    assert [node.name for node in tree.nodes] == ["root_joint_"] * floating + ["root_joint"]


def test_quarter_turns_on_request(tmp_path: Path):
    inner = "<origin rpy='1.5708 0 0' xyz='0 0 0.3'/><axis xyz='0 0 1'/>"
    parts = [*map(link, "abc"), joint("j", "a", "b", inner=inner), joint("k", "b", "c", inner=inner)]
    path = robot(tmp_path, *parts)
    literal, meant = Tree.from_urdf(path, floating=True), Tree.from_urdf(path, floating=True, quarter_turns=1e-5)
    count = lambda tree: tree.function("forward_dynamics").operations
    assert count(meant) < count(literal)
    assert np.allclose(meant.placement("c", meant.neutral)[0], np.diag([1, -1, -1]), atol=1e-15)


def test_lengths_and_names():
    tree = Tree([Joint("a", body=Inertia.at_centre(1, (1, 0, 0), np.eye(3)))], backend="vm")
    for call in (
        lambda: tree.forward_dynamics([0.0, 0.0], [0.0], [0.0]),
        lambda: tree.inverse_dynamics([0.0], [[0.0, 1.0]], [0.0]),
        lambda: tree.mass_matrix(np.zeros((2, 3))),
    ):
        with pytest.raises(ModelError, match="shape"):
            call()
    with pytest.raises(ModelError, match="no frame 'hand'"):
        tree.jacobian("hand", [0.0])
    with pytest.raises(ModelError, match="reference"):
        tree.jacobian("a", [0.0], reference="elsewhere")
    with pytest.raises(ModelError, match="no function"):
        tree.function("dance")


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ([Joint("a", "hinge")], "unknown kind 'hinge'"),
        ([Joint("a"), Joint("a")], "two joints"),
        ([Joint("a", parent="b")], "mounted on 'b'"),
        ([Joint("a", armature=-1.0)], "armature of joint 'a'"),
        ([Joint("a", axis=(0, 0))], "axis of joint 'a'"),
        ([Joint("a", body=bodies.RigidBody(sympy.Symbol("m"), [1, 1, 1], [0, 0, 0], 0))], "joint 'a'"),
    ],
)
def test_bad_joints(joints: list[Joint], message: str):
    with pytest.raises(ModelError, match=message):
        Tree(joints)


def test_one_rigid_body_class():
    """A `RigidBody` with numbers serves a tree: here a physical pendulum, a = −m g l/(J + m l²) sin φ."""
    rod = bodies.RigidBody(2.0, [0.1, 0.3, 0.3], [0.5, 0, 0], 0)
    tree = Tree([Joint("hinge", axis=(0, 1, 0), body=rod)], backend="vm")
    a = tree.forward_dynamics([np.pi / 2], [0.0], [0.0])
    assert a == pytest.approx(0, abs=1e-12)
    assert tree.forward_dynamics([0.0], [0.0], [0.0])[0] == pytest.approx(2 * 9.81 * 0.5 / (0.3 + 2 * 0.25), rel=1e-14)


def test_bad_chains():
    good = ChainLink(1.0, (0, 0, 0.5), (1, 1, 0.1), (0, 0, 1), (1, 0, 0))
    for links, options, message in (
        ([], {}, "at least one link"),
        ([good], {"base": "flying"}, "base='flying'"),
        ([ChainLink(-1.0, (0, 0, 0), (1, 1, 1))], {}, "mass of link 1"),
        ([good, ChainLink(1.0, (0, 0, 2), (1, 1, 1))], {}, "link 2 has an inertia.* taken about the hinge"),
        ([good], {"gravity": (0, 0)}, "gravity"),
    ):
        with pytest.raises(ModelError, match=message):
            Chain(links, **options)
