"""Which inertias a tree takes, and rotations that are exact where a person means a right angle."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.tree.pinocchio_peer import ROBOTS
from tests.tree.test_urdf import joint, link, robot

import appell as ap
from appell.errors import ModelError
from appell.tree import ChainLink, Inertia, Joint, Placement, Tree, place
from appell.tree.inertia import cos_sin, from_rpy


def of_points(points: np.ndarray, masses: np.ndarray) -> Inertia:
    """The inertia of point masses, by its definition."""
    return Inertia(masses.sum(), masses @ points, np.einsum("k,ki,kj->ij", masses, points, points))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_every_cloud_of_points_is_a_body(count: int, scale: float):
    """A point, a rod, a plate and bodies, far from their frame's origin too; P − h hᵀ/m has rank count − 1 at most."""
    rng = np.random.default_rng(count)
    for far in (0.0, 1.0, 100.0):
        points, masses = scale * (rng.normal(size=(count, 3)) + far), rng.uniform(0.1, 2.0, count)
        assert of_points(points, masses).impossible() == ""


def test_what_no_body_has_is_refused_with_the_reason():
    centre = lambda J, m=1.0, c=(0, 0, 0): Inertia.at_centre(m, c, np.array(J, float))
    raw = lambda m, h, P: Tree([Joint("a", body=Inertia(m, np.array(h, float), np.array(P, float)))])
    bodies = {
        r"triangle inequality, 3 > 1 \+ 1": lambda: centre(np.diag([1, 1, 3])),
        r"the body has .* triangle inequality, 1 > 0.25 \+ 0.25": lambda: centre(np.diag([0.25, 0.25, 1]), c=(3, 0, 0)),
        "one of them negative": lambda: centre([[1, 5, 0], [5, 1, 0], [0, 0, 1]]),
        r"are -1, 1, 1 kg m²": lambda: centre(np.diag([1, -1, 1])),
        "must be symmetric": lambda: centre([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
        "inertia matrix of the body must be symmetric": lambda: centre(1e-9 * np.array([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])),
        "the mass of the body is -1": lambda: centre(np.eye(3), -1.0),
        r"the body of joint 'a' .* no mass, but a first moment \[0.0, 0.0, 1.0\]": lambda: raw(0, [0, 0, 1], np.eye(3)),
        "body of joint 'a' .* second moment must be symmetric": lambda: raw(1, [0, 0, 0], [[1, 1, 0], [0, 1, 0], [0, 0, 1]]),
        "about the centre of mass .* one of them negative": lambda: raw(1, [2, 0, 0], np.eye(3)),
        "joint 'a' has .* triangle inequality": lambda: Tree([Joint("a", body=ap.RigidBody(1, [1, 1, 3], [0, 0, 0], 0))]),
        "link 1 has .* taken about the hinge": lambda: ap.Chain([ChainLink(1.0, (0, 0, 2), (1, 1, 1))]),
    }
    for message, make in bodies.items():
        with pytest.raises(ModelError, match=message):
            make()


def test_bodies_on_the_border_are_taken():
    """Point, rod, plate, a wheel without mass; what a tenth of a millionth of rounding makes of them."""
    for J in (np.zeros(3), [1, 1, 0], [1, 2, 3], [0.1, 0.1, 0.1]):
        for m, off in itertools.product((1e-9, 1.0, 1e9), (0.0, 1e-10)):
            Inertia.at_centre(m, (1, 2, 3), m * np.diag(np.array(J) * (1 - off * np.arange(3))))
    Inertia.at_centre(0.0, (1, 2, 3), np.eye(3))
    middle = Joint("middle", "revolute", "a", axis=(1, 0, 0))  # without a body: what it carries has one
    tree = Tree([Joint("a"), middle, Joint("tip", "revolute", "middle", place((0, 1, 0)), (0, 1, 0), Inertia.at_centre(
        1.0, (0.1, 0.2, 0.3), np.eye(3)))], backend="vm")  # fmt: skip
    assert np.isfinite(tree.forward_dynamics([0.1, 0.2, 0.3], [1, 2, 3], [0, 0, 0])).all()


def test_a_file_is_taken_as_it_stands_with_a_note(tmp_path: Path):
    odd = "<inertial><mass value='{}'/><inertia ixx='{}' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"
    for mass, xx, said in ((1, 3, r"triangle inequality"), (1, -1, "negative"), (1, 1, "")):
        parts = [link("a"), link("b", inertial=odd.format(mass, xx)), joint("j", "a", "b")]
        notes = [note for note in Tree.from_urdf(robot(tmp_path, *parts)).notes if "not that of a body" in note]
        assert len(notes) == bool(said) and all(said in note and "link 'b'" in note for note in notes)


def test_no_shipped_robot_is_refused_for_its_inertias():
    files = sorted(ROBOTS.rglob("*.urdf"))
    assert len(files) > 20
    for path in files:
        try:
            Tree.from_urdf(path)
        except ModelError as error:
            assert "inertia" not in str(error), path


def test_right_angles_are_exact():
    """cos(π/2) = 6e-17 would be a constraint of its own in a loop."""
    for n in range(-48, 49):
        c, s = cos_sin(n * np.pi / 12)
        assert (c, s) == pytest.approx((np.cos(n * np.pi / 12), np.sin(n * np.pi / 12)), abs=2e-15)
        if n % 6 == 0:
            assert {abs(c), abs(s)} == {0.0, 1.0}
        elif n % 2 == 0:
            assert 0.5 in (abs(c), abs(s))
        elif n % 3 == 0:
            assert abs(c) == abs(s)
    quarters = [0, np.pi / 2, np.pi, -np.pi / 2, 3 * np.pi / 2, 2 * np.pi]
    for rpy in itertools.product(quarters, repeat=3):
        R = place((0, 0, 0), rpy).R
        assert ((R == 0) | (abs(R) == 1)).all() and np.linalg.det(R) == pytest.approx(1, abs=1e-15)
    for angle in (1e-9, 1e-14, np.pi / 2 + 1e-12, 1.5708):  # what is not a right angle stays what it is
        assert cos_sin(angle) == (np.cos(angle), np.sin(angle))


def test_turns_are_those_of_urdf():
    rng = np.random.default_rng(0)
    for rpy in rng.uniform(-4, 4, (50, 3)):
        assert from_rpy(rpy) == pytest.approx(Rotation.from_euler("xyz", rpy).as_matrix(), abs=1e-15)
    third = Placement(from_rpy((np.pi / 6, 0, 0)), np.zeros(3))
    assert (np.unique((third @ third @ third).R) == [-1, 0, 1]).all()
    joint_ = Tree([Joint("a", axis=(np.cos(np.pi / 2), 0, 1))]).nodes[0]
    assert joint_.axis.tolist() == [0, 0, 1]


def test_the_shorthand_of_plane_mechanics():
    """(0, 0, J) is no body's, but what a body that turns about one axis needs: it is taken."""
    for axis in range(3):
        J = np.zeros((3, 3))
        J[axis, axis] = 0.7
        assert Inertia.at_centre(2.0, (0.3, 0.0, 0.0), J).impossible() == ""
