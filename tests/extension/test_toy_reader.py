"""A reader of robots registered from outside the package: lists of arms, `name length mass`, one line each."""

import io
import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError, ModelError
from appell.spelling import checked_keywords
from appell.tree import Document, Inertia, Joint, LinkShape, Robot, RobotReader, Tree, place, register_reader
from appell.tree.readers.robot_readers import READERS

TEXT = "upper 1.0 2.0\nlower 0.5 1.0\n"


@checked_keywords()
def read_arms(document: Document, *, axis: str = "y") -> Robot:
    """A chain of hinges, each arm a point mass at its end, hanging down."""
    joints, shapes, at = [], [], 0.0
    for k, line in enumerate(document.data.decode().splitlines(), start=1):
        if len(line.split()) != 3:
            raise ModelError(f"{document.where}, line {k}: an arm is NAME LENGTH MASS, not {line!r}")
        name, length, mass = line.split()[0], *map(float, line.split()[1:])
        body = Inertia.at_centre(mass, (0, 0, -length), np.zeros((3, 3)))
        parent = joints[-1].name if joints else None
        direction = {"x": (1, 0, 0), "y": (0, 1, 0)}[axis]
        joints.append(Joint(name, "revolute", parent, place((0, 0, at)), direction, body, link=f"{name} arm"))
        shapes.append(LinkShape(f"{name} arm", "capsule", (0.05, length), place((0, 0, -length / 2))))
        at = -length
    return Robot("arms", joints, shapes=shapes, gravity=(0.0, 0.0, -1.62))


@pytest.fixture(scope="module", autouse=True)
def reader() -> Iterator[RobotReader]:
    yield register_reader(RobotReader("arms", read_arms, endings=(".arm",)))
    del READERS["arms"]


def test_a_path_an_open_file_and_text_give_the_same_robot(tmp_path):
    path = tmp_path / "robot.arm"
    path.write_text(TEXT)
    with path.open() as text, path.open("rb") as data:
        trees = [Tree.from_file(source, backend="vm") for source in (path, str(path), text, data)]
    trees += [Tree.from_file(source, kind="arms", backend="vm") for source in (io.StringIO(TEXT), TEXT.encode())]
    state = [0.3, 0.4], [0.1, -0.2]
    for tree in trees:
        assert tree.gravity == (0, 0, -1.62) and tree.name == "arms"
        np.testing.assert_array_equal(tree.bias(*state), trees[0].bias(*state))
    assert Tree.from_file(path, gravity=(0, 0, -9.81), backend="vm").gravity[2] == -9.81
    assert Tree.from_file(path, axis="x", backend="vm").nodes[0].axis[0] == 1


def test_its_shapes_are_drawn_and_travel_to_other_processes(tmp_path):
    tree = Tree.from_file(TEXT.encode(), kind="arms", backend="vm")
    for one in (tree, pickle.loads(pickle.dumps(tree)), tree.lock({"lower": 0.2})):
        scene = ap.Scene(one)
        assert len(scene.items) == 2 and not scene.notes


def test_what_is_wrong_is_named(reader: RobotReader):
    with pytest.raises(ModelError, match="line 1: an arm is NAME LENGTH MASS"):
        Tree.from_file(b"upper 1.0", kind="arms")
    with pytest.raises(ArgumentError, match="has no argument floating="):
        Tree.from_file(TEXT.encode(), kind="arms", floating=True)
    with pytest.raises(ModelError, match=r"no reader of robots knows text; .*arms"):
        Tree.from_file(io.StringIO(TEXT))
    assert register_reader(reader) is reader
    for other, message in {
        RobotReader("arms", read_arms): "reads kind 'arms' already",
        RobotReader("b", read_arms, (".urdf",)): "'urdf' reads .urdf",
        RobotReader("c", read_arms, element="robot"): "'urdf' reads <robot>", RobotReader("", read_arms): "has a name",
    }.items():  # fmt: skip
        with pytest.raises(ModelError, match=message):
            register_reader(other)
    with pytest.raises(ModelError, match=r"not an ap.tree.Robot"):
        register_reader(RobotReader("empty", lambda document: None))  # type: ignore[arg-type]
        try:
            Tree.from_file(b"", kind="empty")
        finally:
            del READERS["empty"]
