"""Inverse kinematics: targets are met, limits kept, no other configuration that meets them is nearer, misses are measured."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap

pytest.importorskip("pinocchio")
peer = pytest.importorskip("tests.tree.pinocchio_peer")


@pytest.fixture(scope="module")
def panda():
    return peer.load("panda_description/urdf/panda.urdf", floating=False, backend="vm").tree


@pytest.fixture(scope="module")
def anymal():
    return peer.load("anymal_b_simple_description/robots/anymal.urdf", floating=True, backend="vm").tree


def inside(tree, q):
    return all(l.lower - 1e-12 <= q[tree.indices(j)[0]][0] <= l.upper + 1e-12 for j, l in tree.limits.items())


@pytest.mark.parametrize("seed", range(5))
def test_poses_of_an_arm(panda, seed):
    goal, near = panda.random(seed), panda.random(seed + 50)
    found = panda.reach({"panda_hand": panda.placement("panda_hand", goal)}, near=near)
    R, p = panda.placement("panda_hand", found.q)
    assert found.ok and found.error < 1e-9 and inside(panda, found.q)
    for ours, wanted in zip((R, p), panda.placement("panda_hand", goal), strict=True):
        np.testing.assert_allclose(ours, wanted, atol=1e-8)


def test_the_way_is_the_shortest_nearby(panda):
    """Seven joints and six conditions leave a family: moving along it leads away from `near`."""
    near = panda.random(3)
    R, p = panda.placement("panda_hand", near)
    found = panda.reach({"panda_hand": (R, p + np.array([0.05, -0.03, 0.04]))}, near=near)
    way = panda.difference(found.q, near)
    J = panda.jacobian("panda_hand", found.q)
    free = [k for k in range(panda.nv) if np.abs(J[:, k]).max() > 1e-12]
    kernel = np.linalg.svd(J[:, free])[2][6:]
    assert found.ok and np.abs(kernel @ way[free]).max() < 1e-6


def test_feet_of_a_floating_robot(anymal):
    """Four feet stand while the base moves: several targets, a quaternion among the unknowns."""
    q = anymal.random(1)
    q[:7] = [0, 0, 0.5, 0, 0, 0, 1]
    feet = {foot: anymal.placement(foot, q)[1] for foot in ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")}
    moved = anymal.integrate(q, [0.03, -0.02, 0.02, 0.05, -0.04, 0.1, *np.zeros(12)])
    base = {"base": anymal.placement("base", moved)}
    found = anymal.reach({**feet, **base}, near=q)
    assert found.ok and len(found.errors) == 5 and np.isnan(found.errors["LF_FOOT"][1])
    np.testing.assert_allclose(anymal.placement("RH_FOOT", found.q)[1], feet["RH_FOOT"], atol=1e-9)


def test_what_is_out_of_reach_is_measured(panda):
    found = panda.reach({"panda_link8": [5.0, 0.0, 0.3]}, attempts=3)
    reach = np.linalg.norm(panda.placement("panda_link8", found.q)[1] - [5.0, 0.0, 0.3])
    assert not found.ok and found.error == pytest.approx(reach) and "misses its target by" in found.message
    assert inside(panda, found.q)
    others = [np.linalg.norm(panda.placement("panda_link8", q)[1] - [5.0, 0.0, 0.3]) for q in panda.random(0, count=300)]
    assert reach < min(others)


def test_wrong_requests(panda):
    wrong = {
        "there is no frame 'hand'": ({"hand": [0, 0, 0]}, {}),
        "a position \\(3,\\)": ({"panda_hand": [0, 0]}, {}),
        "no rotation": ({"panda_hand": 2 * np.eye(3)}, {}),
        "near= is a configuration": ({"panda_hand": [0, 0, 1]}, {"near": [0.0]}),
        "reach takes": ({}, {}),
    }
    for words, (targets, options) in wrong.items():
        with pytest.raises(ap.ModelError, match=words):
            panda.reach(targets, **options)


def test_batches_are_as_if_asked_alone(panda):
    """Poses, positions and rotations with the batch first, from one start or one each; points fixed to frames, too."""
    goals, near = panda.random(7, 3), panda.random(8, 3)
    R, p = panda.placement("panda_hand", goals)
    found = panda.reach({"panda_hand": (R, p)}, near=near)
    assert found.ok.all() and found.q.shape == (3, panda.nq) and found.errors["panda_hand"].shape == (3, 2) and len(found) == 3
    for k in range(3):
        assert (found.q[k] == panda.reach({"panda_hand": (R[k], p[k])}, near=near[k]).q).all()
    tip = panda.frame("panda_hand").at((0, 0, 0.1), name="tip")
    places = panda.placement(tip, goals)[1]
    tips = panda.reach({tip: (None, places)}, near=near[0])
    assert tips.ok.all() and panda.placement(tip, tips.q)[1] == pytest.approx(places, abs=1e-8) and "tip" in tips.errors
    far = panda.reach({"panda_hand": np.array([p[0], [9.0, 0, 0]])}, near=goals[0], attempts=1)
    assert list(far.ok) == [True, False] and "out of reach" in far.message[1]
    with pytest.raises(ap.ModelError, match="different lengths"):
        panda.reach({"panda_hand": p[:2]}, near=near)


def test_what_the_robot_holds_by_itself_is_held():
    """A finger that follows another one, a gear, and a loop that a file closes: targets are met on what they allow."""
    from appell.tree import Inertia, Joint, Tree, place
    from appell.tree.fittings import Coupling
    from appell.tree.loops import WITHOUT_TURN
    from appell.tree.tendons import JoinedFrames, Length, LengthCoupling

    body = Inertia.at_centre(1.0, (0.2, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]))
    bar = lambda name, parent: Joint(name, "revolute", parent, place((0.5 if parent else 0.0, 0, 0)), (0, 0, 1), body)
    arm = [bar("a", None), bar("b", "a"), bar("c", "b"), bar("d", "c")]
    held = [Coupling("c", "b", (0.1, -0.5, 0.2)), LengthCoupling("gear", Length((("a", 1.0), ("d", 0.5))), (0.3,))]
    tree = Tree(arm, fittings=held, backend="vm")
    goal = tree.placement("d", tree.followed([0.5, 0.7, 0.0, -0.4]))[1]
    found = tree.reach({"d": goal}, near=[0.3, 0.5, 0.1, 0.0])
    a, b, c, d = found.q
    assert found.ok and a + 0.5 * d == pytest.approx(0.3, abs=1e-9)
    assert c == pytest.approx(0.1 - 0.5 * b + 0.2 * b * b, abs=1e-9)
    for kind in ("spherical", "revolute", "prismatic", "fixed", "cylindrical"):
        free = kind in ("prismatic", "cylindrical")
        shut = JoinedFrames("shut", ("d", (0.4, 0, 0), (0.0, 0, 0)), ("world", (0.9, 0.3, 0), (np.pi / 2 * free, 0, 0.4)), kind)
        closed = Tree(arm, fittings=[shut], backend="vm")
        left = shut.closure(closed)
        q, w, h = np.array([0.3, 0.6, -0.8, 0.4]), np.array([0.3, -0.4, 0.7, 0.2]), 1e-6
        slope = (left(q + h * w)[0] - left(q - h * w)[0]) / (2 * h)
        np.testing.assert_allclose(left(q)[1] @ w, slope, atol=1.0 if kind in WITHOUT_TURN else 1e-8)  # log's own slope is out
        if kind == "spherical":
            found = closed.reach({"b": [0.5 * np.cos(1.0), 0.5 * np.sin(1.0), 0.0]}, near=q)
            tip = closed.placement(closed.frame("d").at((0.4, 0, 0)), found.q)[1]
            assert found.ok and tip == pytest.approx([0.9, 0.3, 0.0], abs=1e-8)
