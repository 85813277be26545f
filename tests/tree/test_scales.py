"""Similar trees move alike: lengths × L, masses × m, gravity × L leave angular accelerations as they are, at every scale."""

from dataclasses import replace

import numpy as np
import pytest
from tests.tree.chains import random_tree
from tests.tree.pinocchio_peer import random_state

from appell.tree import Inertia, Joint, Placement, Tree

SLIDES = {"prismatic": 1, "planar": 2, "floating": 3}  # entries of q and v that are lengths, first


def scaled(tree: Tree, m: float, L: float) -> Tree:
    joints = []
    for joint in tree.joints:
        body = joint.body if isinstance(joint.body, Inertia) else Inertia.zero()
        turns = joint.kind not in SLIDES
        joints.append(
            replace(
                joint,
                placement=Placement(joint.placement.R, joint.placement.p * L),
                body=Inertia(body.m * m, body.h * m * L, body.P * m * L**2),
                armature=joint.armature * m * L**2 if turns else 0.0,
                damping=0.0,
            )
        )
    return Tree(joints, gravity=tuple(g * L for g in tree.gravity), backend="vm")


@pytest.mark.parametrize("root", ["revolute", "floating"])
@pytest.mark.parametrize("seed", range(2))
def test_similar_trees_move_alike(seed: int, root: str):
    """Lengths that are rounding are those of the tree, not of a metre: nanometres and millions of kilometres included."""
    tree = scaled(random_tree(4, seed, root=root), 1.0, 1.0)
    q, v, x = random_state(tree, np.random.default_rng(seed))
    a, tau = tree.forward_dynamics(q, v, x), tree.inverse_dynamics(q, v, x)
    for m, L in ((1e-9, 1e-9), (1e9, 1e-9), (1.0, 1e-5), (1.0, 1e9), (1e9, 1e9), (1e-9, 1e9)):
        similar = scaled(tree, m, L)
        long_q, long_v, force = np.ones(tree.nq), np.ones(tree.nv), np.full(tree.nv, m * L**2)
        for node in tree.nodes:
            count = SLIDES.get(node.kind.name, 0)
            long_q[node.iq : node.iq + count] = L
            long_v[node.iv : node.iv + count] = L
            force[node.iv : node.iv + count] = m * L
        found = similar.forward_dynamics(q * long_q, v * long_v, x * force) / long_v
        assert found == pytest.approx(a, rel=1e-9, abs=1e-9 * abs(a).max()), (m, L)
        found = similar.inverse_dynamics(q * long_q, v * long_v, x * long_v) / force
        assert found == pytest.approx(tau, rel=1e-11, abs=1e-11 * abs(tau).max()), (m, L)
        assert similar.system().nv == tree.nv


@pytest.mark.parametrize("root", ["revolute", "prismatic"])
def test_a_tree_far_from_the_origin_moves_as_one_near_it(root: str):
    """The frames of its bodies stay with the bodies: a million kilometres away no digit of an inertia is lost."""
    tree = random_tree(4, 2, root=root)
    q, v, x = random_state(tree, np.random.default_rng(0))
    far = 1e9 * np.array([0.3, -0.5, 0.8])
    move = lambda joint: replace(joint, placement=Placement(joint.placement.R, joint.placement.p + far))
    moved = Tree([move(j) if j.parent is None else j for j in tree.joints], gravity=tree.gravity, backend="vm")
    a = tree.forward_dynamics(q, v, x)
    assert moved.forward_dynamics(q, v, x) == pytest.approx(a, rel=1e-11, abs=1e-11 * abs(a).max())


def test_a_light_flywheel_does_not_hide_short_lengths():
    """Lengths are rounding of lengths, not of the radius of a wheel of 1e-14 kg with 1 kg m²."""
    wheel = Joint("w", body=Inertia.at_centre(1e-14, (0, 0, 0), np.eye(3)))
    small = Inertia.at_centre(1.0, (1e-7, 0, 0), 1e-14 * np.eye(3))
    arm = Joint("p", "revolute", "w", Placement(np.eye(3), np.array([1e-5, 0, 0])), (0, 1, 0), small)
    tip = Joint("r", "revolute", "p", Placement(np.eye(3), np.array([0, 0, 2e-5])), (1, 0, 0), small)
    tree = Tree([wheel, arm, tip], backend="vm")
    expected = [1e-5 + 2e-5 * np.sin(0.1), 0, 2e-5 * np.cos(0.1)]
    assert tree.placement("r", [0.0, 0.1, 0.0])[1] == pytest.approx(expected, rel=1e-14)
    assert tree.mass_matrix([0.0, 0.0, 0.0])[1, 1] == pytest.approx(1e-14 + 1e-14 + (2e-5) ** 2 + 2e-14, rel=1e-9)
