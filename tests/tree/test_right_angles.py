"""A parallelogram closed by spatial joints whose frames are turned by right angles: what is rounding is no row."""

import numpy as np
import pytest

import appell as ap
from appell.tree import Inertia, Joint, Tree, loop, place

RIGHT, ALPHA, G = np.pi / 2, 0.4, 9.81
CRANK = Inertia.at_centre(1.0, (0, 0.5, 0), np.diag([1, 0, 1]) / 12)
COUPLER = Inertia.at_centre(2.0, (0, 1, 0), 8 * np.diag([1, 0, 1]) / 12)


def parallelogram(mount: tuple[float, ...]) -> Tree:
    """Cranks of length 1 two metres apart in the plane of y and z of the mount, hinges about its x, weight along its −z."""
    at = place((0, 0, 0), mount)
    joints = [
        Joint("a", placement=at, axis=(1, 0, 0), body=CRANK),
        Joint("b", "revolute", "a", place((0, 1, 0)), (1, 0, 0), COUPLER),
        Joint("c", placement=at @ place((0, 2, 0)), axis=(1, 0, 0), body=CRANK),
    ]
    return Tree(joints, gravity=(at.R @ [0, 0, -G]).tolist(), backend="vm")


CLOSED = [
    ("revolute", (0, RIGHT, 0)), ("revolute", (0, -RIGHT, 0)), ("revolute", (RIGHT, 0, RIGHT)), ("cylindrical", (0, RIGHT, 0)),
    ("universal", (0, RIGHT, 0)), ("universal", (0, 0, 0)), ("spherical", (0, 0, 0)), ("pin", (0, RIGHT, 0)),
]  # fmt: skip


@pytest.mark.parametrize("mount", [(0, 0, 0), (0, RIGHT, 0), (0.2, 0.7, 0.3)])
@pytest.mark.parametrize(("kind", "rpy"), CLOSED)
def test_a_parallelogram_falls_like_one_body(kind: str, rpy: tuple[float, ...], mount: tuple[float, ...]):
    """(2/3 + 2) α̈ = −3 g cos α: two rods about their ends, and the coupler without turning."""
    tree = parallelogram(mount)
    rows = loop(tree.frame("b").at((0, 2, 0), rpy), tree.frame("c").at((0, 1, 0), rpy), kind)
    a, _ = ap.compile(tree.system(rows), backend="vm").acceleration(0.0, [ALPHA, -ALPHA, ALPHA], np.zeros(3))
    expected = -3 * G * np.cos(ALPHA) / (2 / 3 + 2)
    assert a == pytest.approx([expected, -expected, expected], rel=1e-9)


@pytest.mark.parametrize("mount", [(0, RIGHT, 0), (0.2, 0.7, 0.3)])
def test_rows_that_the_joints_keep_by_themselves_change_nothing(mount: tuple[float, ...]):
    """A plane joint in the plane of the mechanism: all of its rows are rounding."""
    tree = parallelogram(mount)
    turned = (0, RIGHT, 0)
    rows = loop(tree.frame("b").at((0, 2, 0), turned), tree.frame("c").at((0, 1, 0), turned), "planar")
    q, v = np.array([0.4, 0.3, -0.2]), np.array([0.5, 0.3, 0.1])
    a, lam = ap.compile(tree.system(rows), backend="vm").acceleration(0.0, q, v)
    assert a == pytest.approx(tree.forward_dynamics(q, v, np.zeros(3)), rel=1e-12)
    assert abs(lam).max() < 1e-9
