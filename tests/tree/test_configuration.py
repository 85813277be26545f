"""Configurations of trees: identities of the groups, and Pinocchio as the judge."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tree.chains import random_tree

import appell as ap

pin = pytest.importorskip("pinocchio")
peer = pytest.importorskip("tests.tree.pinocchio_peer")
FILES = {
    "ur5": "ur_description/urdf/ur5_robot.urdf", "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "double pendulum": "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_ways_lead_from_one_configuration_to_another(seed):
    """q exp(log(q⁻¹ q')) = q', s ↦ interpolate is a path of constant velocity, and d/ds at 0 is q̇ = N(q) w."""
    tree = random_tree(6, seed, root="floating")
    q0, q1 = tree.random(seed), tree.random(seed + 100)
    w = tree.difference(q0, q1)
    np.testing.assert_allclose(tree.difference(tree.integrate(q0, w), q1), 0, atol=1e-12)
    path = tree.interpolate(q0, q1, np.linspace(0, 1, 5))
    steps = tree.difference(path[:-1], path[1:])
    np.testing.assert_allclose(steps, np.broadcast_to(w / 4, steps.shape), atol=1e-12)
    h = 1e-6
    slope = (tree.integrate(q0, h * w) - tree.integrate(q0, -h * w)) / (2 * h)
    np.testing.assert_allclose(slope, tree.rate(q0, w), atol=1e-8)
    assert tree.distance(q0, q1) == pytest.approx(np.linalg.norm(w))


@pytest.mark.parametrize("size", [1e-9, 1e-5, 1e-4, 1.0, 3.0])
def test_small_and_large_turns(size):
    """The series and the closed forms of the screw meet."""
    tree = ap.Tree([ap.tree.Joint("base", "floating", body=ap.tree.Inertia.at_centre(1.0, (0, 0, 0), np.eye(3)))])
    w = size * np.array([0.3, -0.2, 0.5, 0.4, 0.6, -0.5])
    np.testing.assert_allclose(tree.difference(tree.neutral, tree.integrate(tree.neutral, w)), w, rtol=1e-12, atol=1e-15 * size)


@pytest.mark.parametrize("robot", FILES)
def test_the_ways_are_those_of_pinocchio(robot):
    twin = peer.load(FILES[robot], floating=robot == "anymal", backend="vm")
    tree, model = twin.tree, twin.model
    q = tree.random(np.random.default_rng(3), count=4)
    to = tree.to_pinocchio(q)
    assert to.shape == (4, model.nq)
    np.testing.assert_allclose(tree.difference(q, tree.from_pinocchio(to)), 0, atol=1e-12)
    w = np.random.default_rng(4).normal(size=(4, tree.nv))
    for k in range(4):
        np.testing.assert_allclose(tree.to_pinocchio(tree.integrate(q[k], w[k])), pin.integrate(model, to[k], w[k]), atol=1e-12)
        ours = tree.difference(q[k], q[(k + 1) % 4])
        np.testing.assert_allclose(ours, pin.difference(model, to[k], to[(k + 1) % 4]), atol=1e-11)
        middle = pin.interpolate(model, to[k], to[(k + 1) % 4], 0.3)
        np.testing.assert_allclose(tree.to_pinocchio(tree.interpolate(q[k], q[(k + 1) % 4], 0.3)), middle, atol=1e-11)


def test_random_configurations_keep_the_limits():
    tree = peer.load("panda_description/urdf/panda.urdf", floating=False, backend="vm").tree
    q = tree.random(0, count=1000)
    for joint, limit in tree.limits.items():
        own = q[:, tree.indices(joint)[0]]
        assert (own >= limit.lower).all() and (own <= limit.upper).all() and np.ptp(own) > 0.9 * (limit.upper - limit.lower)


def test_names_and_values():
    tree = random_tree(3, 1, root="floating")
    first = tree.nodes[1].name
    q = tree.configuration({first: tree.nodes[1].kind.neutral if tree.nodes[1].kind.nq > 1 else 0.3})
    assert np.array_equal(tree.configuration(tree.named(q)), q)
    with pytest.raises(ap.ModelError, match="has no joint 'elbov'"):
        tree.configuration({"elbov": 1.0})
    with pytest.raises(ap.ModelError, match="coordinates, finite numbers"):
        tree.configuration({first: [1.0] * 9})
    with pytest.raises(ap.ModelError, match=r"has the shape \("):
        tree.integrate([0.0], [0.0])


def test_states_of_mujoco_and_back():
    """Quaternions w first; a free body's linear velocity on the world's axes."""
    tree = random_tree(3, 2, root="floating")
    q, v = tree.random(5, count=3), np.random.default_rng(6).normal(size=(3, tree.nv))
    there = tree.to_mujoco(q, v)
    np.testing.assert_allclose(there[0][:, 3:7], q[:, [6, 3, 4, 5]])
    R, _ = tree.placement(tree.nodes[0].name, q[0])
    on_the_world = R @ v[0, :3] if np.allclose(tree.nodes[0].placement.R, np.eye(3)) else there[1][0, :3]
    np.testing.assert_allclose(there[1][0, :3], on_the_world, atol=1e-12)
    for ours, again in zip((q, v), tree.from_mujoco(*there), strict=True):
        np.testing.assert_allclose(again, ours, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_locked_joints_stay_where_they_are(seed):
    """Frames are where they were, and M is the block of the joints that are left (rotors of locked joints do not turn)."""
    tree = random_tree(5, seed, kinds=("revolute", "prismatic", "spherical", "planar"))
    rng = np.random.default_rng(seed)
    q = tree.random(rng)
    chosen = [node.name for node in tree.nodes[1:4:2]]
    rest = tree.lock({name: q[tree.indices(name)[0]] for name in chosen})
    left = [node for node in tree.nodes if node.name not in chosen]
    assert [node.name for node in rest.nodes] == [node.name for node in left]
    own = np.concatenate([q[tree.indices(node.name)[0]] for node in left])
    rows = np.concatenate([np.arange(tree.nv)[tree.indices(node.name)[1]] for node in left])
    for name in tree.frames:
        for ours, theirs in zip(rest.placement(name, own), tree.placement(name, q), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
    M = tree.mass_matrix(q)[np.ix_(rows, rows)]
    np.testing.assert_allclose(rest.mass_matrix(own), M, atol=1e-11 * abs(M).max())


def test_print_shows_the_tree():
    tree = peer.load(FILES["ur5"], floating=False, backend="vm").tree
    lines = str(tree).splitlines()
    assert lines[0].startswith("ur5") and any("elbow_joint (revolute, " in line for line in lines)
    depth = {line.split()[0]: len(line) - len(line.lstrip()) for line in lines[1:] if "(" in line}
    assert depth["wrist_1_joint"] > depth["elbow_joint"] > depth["shoulder_lift_joint"]
