"""What a person may get wrong with trees: each thing is refused by name, with what to do instead."""

import copy
import pickle
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.tree.test_urdf import joint, link, robot

import appell as ap
import appell.tree as trees
from appell.errors import AppellError, ModelError
from appell.tree import ChainLink, Inertia, Joint, Tree, contact_point, loop, place, rolling

BODY = Inertia.at_centre(1, (0.1, 0, 0.2), np.eye(3))


def arm(**options) -> Tree:
    return Tree(
        [Joint("a", axis=(0, 1, 0), body=BODY), Joint("b", "revolute", "a", place((0, 0, 1)), (1, 0, 0), BODY, link="tip")],
        **{"backend": "vm", **options},
    )


JOINTS = {
    "a tree is made of ap.tree.Joint": [1],
    "name of a joint must be a text": [Joint("")],
    "unknown kind \\['revolute'\\]": [Joint("a", ["revolute"])],  # type: ignore[arg-type]
    "placement of joint 'a' must be made by ap.tree.place": [Joint("a", placement=(0, 0, 1))],  # type: ignore[arg-type]
    "body of joint 'a' must be": [Joint("a", body={"mass": 1})],  # type: ignore[arg-type]
    "mass of the body of joint 'a' is -1": [Joint("a", body=Inertia(-1, np.zeros(3), np.eye(3)))],
    "first moment h of the body of joint 'a'": [Joint("a", body=Inertia(1, np.zeros(2), np.eye(3)))],
    "parent of joint 'b' must be a name, .* give parent='a'": [Joint("a"), Joint("b", parent=Joint("a"))],  # type: ignore[arg-type]
    "link of joint 'a' must be a name, not 3": [Joint("a", link=3)],  # type: ignore[arg-type]
    "'a' and 'b' both carry a link of the name 'x'": [Joint("a", link="x"), Joint("b", link="x")],
}


@pytest.mark.parametrize("message", JOINTS)
def test_joints(message: str):
    with pytest.raises(ModelError, match=message):
        Tree(JOINTS[message])  # type: ignore[arg-type]


CALLS = {
    "list of ap.tree.Joint": lambda: Tree(Joint("a")),  # type: ignore[arg-type]
    "no back end 'gpu'": lambda: arm(backend="gpu"),
    "rows of different lengths": lambda: arm().forward_dynamics([[1], [2, 3]], [0, 0], [0, 0]),  # type: ignore[list-item]
    r"no frame '\['b'\]'": lambda: arm().placement(["b"], [0, 0]),  # type: ignore[arg-type]
    "takes {symbol: number": lambda: arm().with_parameters([1]),  # type: ignore[arg-type]
    "nothing that moves has mass": lambda: Tree([Joint("a")], backend="vm").centre_of_mass([0.0]),
    "rpy .* must be 3": lambda: place((0, 0, 0), (0, 1)),
    "link 1 of a chain": lambda: ap.Chain([3]),  # type: ignore[list-item]
    "read by ap.Tree.from_urdf": lambda: ap.Chain.from_urdf("robot.urdf"),
    "takes the path of a file, .* not None": lambda: Tree.from_urdf(None),
    "the robot has no <link>": lambda: Tree.from_urdf("<robot name='r'/>"),
    "n{99} cannot be read: File name too long": lambda: Tree.from_urdf("n" * 5000),
    "read\\(\\) of .* gives 3": lambda: Tree.from_urdf(SimpleNamespace(read=lambda size: 3)),
    "no reader of robots knows <svg>; there are urdf": lambda: Tree.from_file("<svg/>"),
    "there is no reader of robots 'arms'": lambda: Tree.from_file("<robot/>", kind="arms"),
    "did you mean 'tip'": lambda: arm().placement("tips", [0, 0]),
    "takes frames in symbols": lambda: loop("a", "b"),  # type: ignore[arg-type]
    "radius of wheel 'tip' is -1": lambda: rolling(arm().frame("tip"), -1),
    "radius of wheel 'tip' is nan": lambda: rolling(arm().frame("tip"), np.nan),
    "height of the plane under wheel 'tip' is inf": lambda: rolling(arm().frame("tip"), 1, height=np.inf),
    "height of the plane under contact 'tip'": lambda: contact_point(arm().frame("tip"), height="low"),
    "axis of wheel 'tip' has length 0": lambda: rolling(arm().frame("tip"), 1, axis=(0, 0, 0)),
    "restitution= is for one_sided": lambda: contact_point(arm().frame("tip"), restitution=0.5),
    "distance of loop": lambda: loop(arm().frame("a"), arm().frame("b"), "distance", distance="x"),
    "distance of loop 'a-b' is -1": lambda: loop(arm().frame("a"), arm().frame("b"), "distance", distance=-1),
    "does not change": lambda: setattr(arm(), "gravity", (0, 0, 0)),
}


@pytest.mark.parametrize("message", CALLS)
def test_calls(message: str):
    with pytest.raises(AppellError, match=message):
        CALLS[message]()


def test_files(tmp_path: Path):
    two = link("a") + link("b")
    for inner, message in (("<axis/>", "joint 'j': <axis xyz=''>"), ("<origin rpy='0 x 0'/>", "joint 'j': <origin rpy")):
        with pytest.raises(ModelError, match=message):
            Tree.from_urdf(robot(tmp_path, two, joint("j", "a", "b", inner=inner)), quarter_turns=1e-4)
    with pytest.raises(ModelError, match="quarter_turns"):
        Tree.from_urdf(robot(tmp_path, link("a")), quarter_turns=-1)
    with pytest.raises(ModelError, match=r"'l0', .* … are not connected"):
        Tree.from_urdf(robot(tmp_path, *(link(f"l{n}") for n in range(20))))
    (tmp_path / "strange.urdf").write_bytes(b"<?xml version='1.0' encoding='foo-8'?><robot/>")
    with pytest.raises(ModelError, match="unknown encoding"):
        Tree.from_urdf(tmp_path / "strange.urdf")
    long = robot(tmp_path, two, joint("j", "a", "b", inner="<axis xyz='3e200 4e200 0'/>"))
    assert Tree.from_urdf(long).nodes[0].axis == pytest.approx([0.6, 0.8, 0], abs=1e-15)


def test_an_impossible_inertia_is_noted_and_named_where_it_matters(tmp_path: Path):
    """Robots are shipped with such files, and Pinocchio takes them; a joint that would move it backwards is refused."""
    odd = "<inertial><mass value='1'/><inertia ixx='1' ixy='5' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"
    parts = [link("a"), link("b", inertial=odd), joint("j", "a", "b", inner="<axis xyz='1 -1 0'/>")]
    tree = Tree.from_urdf(robot(tmp_path, *parts), backend="vm")
    assert any("link 'b'" in note and "-4" in note for note in tree.notes)
    with pytest.raises(ModelError, match="joint 'j' moves a negative inertia"):
        tree.forward_dynamics([0.0], [0.0], [0.0])


def test_parameters_with_impossible_values():
    m = ap.parameters("m")
    heavy = Tree([Joint("a", body=Inertia.at_centre(m - 1, (0, 0, 0), np.eye(3)))])
    with pytest.raises(ModelError, match=r"mass of the body of joint 'a' is -0\.5"):
        heavy.with_parameters({m: 0.5})
    with pytest.raises(ModelError, match="not a finite number"):
        Tree([Joint("a", body=BODY, placement=place((1 / (m - 1), 0, 0)))]).with_parameters({m: 1})


def test_a_name_of_two_frames_is_ambiguous_until_it_is_said_which():
    """Joint b and the link b of joint a are in different places; a joint and its own link of one name are not."""
    tree = Tree(
        [
            Joint("a", body=BODY, link="b"),
            Joint("b", "revolute", "a", place((1, 0, 0)), body=BODY),
            Joint("c", link="c", body=BODY),
        ],
        backend="vm",
    )
    with pytest.raises(ModelError, match="say 'joint b' or 'link b'"):
        tree.placement("b", [0, 0, 0])
    assert tree.placement("joint b", [0, 0, 0])[1][0] == 1 and tree.placement("link b", [0, 0, 0])[1][0] == 0
    assert tree.placement("c", [0, 0, 0])[1][0] == 0
    assert str(tree.frame("joint b").position[0]) == "joint b.x"


def test_the_world_is_a_frame():
    """In numbers as in symbols; a link of that name goes first."""
    R, p = arm().placement("world", [0.3, 0.2])
    assert np.array_equal(R, np.eye(3)) and not p.any() and not arm().jacobian("world", [0.3, 0.2]).any()
    taken = Tree([Joint("a", placement=place((1, 0, 0)), body=BODY, link="world")], backend="vm")
    assert taken.placement("world", [0.0])[1][0] == 1 and "world" not in arm().frames


def test_names_in_any_script():
    hand, arm_ = Joint("手", axis=(0, 1, 0), body=BODY), Joint("腕", "revolute", "手", axis=(1, 0, 0), body=BODY)
    tree = Tree([hand, arm_], backend="vm")
    assert [str(q) for q in tree.system().coordinates] == ["手", "腕"]


def test_trees_travel_to_other_processes_and_copies():
    state = [0.3, 0.2], [0.1, 0.4], [0.0, 0.0]
    chain = ap.Chain([ChainLink(1.0, (0, 0, -0.5), (1, 1, 0.1), (0, 0, -1), (0, 1, 0))] * 2, base="fixed", backend="vm")
    for tree in (arm(), chain):
        a = tree.forward_dynamics(*state)
        for other in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
            assert type(other) is type(tree) and np.array_equal(other.forward_dynamics(*state), a)


def test_a_tree_is_simulated_and_compiled_as_it_stands():
    tree = arm()
    motion = ap.simulate(tree, {tree.joint("a"): 0.3}, until=0.5, backend="vm")
    assert motion.ok and motion[tree.joint("a")][0] == 0.3
    a, _ = ap.compile(tree, backend="vm").acceleration(0.0, [0.3, 0.2], [0.1, 0.4])
    assert a == pytest.approx(tree.forward_dynamics([0.3, 0.2], [0.1, 0.4], [0, 0]), rel=1e-12)


def test_every_public_name_of_trees_is_documented():
    api = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    documented = {name.rsplit(".", 1)[-1] for name in re.findall(r"^(appell\.[\w.]+)", api, re.MULTILINE)}
    assert not set(trees.__all__) - documented
    public = [name for name in vars(Tree) if not name.startswith("_")]
    assert all(getattr(Tree, name).__doc__ for name in public)


def test_forces_and_loads_of_a_wrong_kind_are_named():
    arm = ap.Chain([{"mass": 1.0, "c": [0, 0, -0.5], "J": [0.4, 0.4, 0.01], "e": [0, 1, 0]}])
    with pytest.raises(ap.ModelError, match="forces= maps joint coordinates"):
        arm.system(forces=[1.0])  # type: ignore[arg-type]
    for load in (1, (1, 2, 3), (1, 2)):
        with pytest.raises(ap.ModelError, match="loads= takes pairs"):
            arm.system(loads=[load])
