"""Theorems on random trees with every kind of joint; no stored numbers. And Pinocchio on the same trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from tests.tree.chains import random_tree
from tests.tree.pinocchio_peer import Peer, error, random_state

from appell.graph import algebra
from appell.graph.fn import make_fn
from appell.tree import Chain, ChainLink, Joint, Tree
from appell.tree.algorithms import aba, crba, rnea
from appell.tree.frames import basis

TREES = [pytest.param(seed, id=f"tree{seed}") for seed in range(8)]


def rate_along(tree: Tree, question: str, q, v, tau) -> np.ndarray:
    """d/dt of a function of (q, v) along the motion, by one forward sweep in the graph."""
    fn = tree.function(question)
    qs, vs, qd, vd = (
        algebra.symbols(name, n) for name, n in (("q", tree.nq), ("v", tree.nv), ("qd", tree.nq), ("vd", tree.nv))
    )
    outputs = fn.function(qs, vs)
    total = algebra.column(*outputs) if isinstance(outputs, tuple) else outputs
    value = algebra.derivative_along(total, [qs, vs], [qd, vd])
    rate = make_fn("along", {"q": qs, "v": vs, "qd": (qd, (tree.nq,)), "vd": (vd, (tree.nv,))}, {"y": value})
    return rate(q, v, tree.rate(q, v), tree.forward_dynamics(q, v, tau))["y"]


@pytest.mark.parametrize("count", [0, 3, 1100])
def test_mass_triangle_is_the_lower_triangle(count: int):
    """Row by row; one state, a few, and enough for vectors."""
    tree, rng = random_tree(8, 3), np.random.default_rng(3)
    q = np.array([random_state(tree, rng)[0] for _ in range(max(count, 1))])
    q = q if count else q[0]
    M, rows = tree.mass_matrix(q), np.tril_indices(tree.nv)
    assert error(tree.mass_triangle(q), M[..., rows[0], rows[1]]) < 1e-14


@pytest.mark.parametrize("seed", TREES)
def test_mass_matrix_is_kinetic_energy(seed: int):
    """½ vᵀ M v = T, M symmetric and positive definite."""
    tree = random_tree(8, seed)
    q, v, _ = random_state(tree, np.random.default_rng(seed))
    M = tree.mass_matrix(q)
    assert np.array_equal(M, M.T) and np.linalg.eigvalsh(M)[0] > 0
    assert v @ M @ v / 2 == pytest.approx(float(tree.kinetic_energy(q, v)), rel=1e-12)


@pytest.mark.parametrize("seed", TREES)
def test_forward_after_inverse(seed: int):
    """forward∘inverse = id, and τ = M a + h."""
    tree = random_tree(8, seed)
    q, v, a = random_state(tree, np.random.default_rng(seed))
    tau = tree.inverse_dynamics(q, v, a)
    assert error(tree.forward_dynamics(q, v, tau), a) < 1e-10
    assert error(tree.mass_matrix(q) @ a + tree.bias(q, v), tau) < 1e-12


@pytest.mark.parametrize("seed", TREES)
def test_power_is_the_rate_of_energy(seed: int):
    """τ·v = d(T + V)/dt."""
    tree = random_tree(8, seed)
    q, v, tau = random_state(tree, np.random.default_rng(seed))
    T, V = rate_along(tree, "energy", q, v, tau)
    assert pytest.approx(tau @ v, abs=1e-10 * (abs(T) + abs(V) + 1)) == T + V


@pytest.mark.parametrize("seed", TREES)
def test_a_free_tree_keeps_its_momentum(seed: int):
    """Without gravity and with joint forces only, momentum and kinetic moment about the centre of mass stay."""
    tree = random_tree(8, seed, root="floating", gravity=(0, 0, 0))
    q, v, tau = random_state(tree, np.random.default_rng(seed))
    tau[:6] = 0.0
    scale = np.max(abs(tree.mass_matrix(q))) * (1 + np.max(abs(tree.forward_dynamics(q, v, tau))) + v @ v)
    assert np.max(abs(rate_along(tree, "momentum", q, v, tau))) < 1e-12 * scale


def test_damping_takes_energy():
    """d(T + V)/dt = τ·v − Σ d v²."""
    joints = [Joint(j.name, j.kind, j.parent, j.placement, j.axis, j.body, 0.2, 0.7) for j in random_tree(5, 3).joints]
    tree = Tree(joints, backend="vm")
    q, v, tau = random_state(tree, np.random.default_rng(0))
    T, V = rate_along(tree, "energy", q, v, tau)
    assert pytest.approx(tau @ v - 0.7 * v @ v, rel=1e-9) == T + V


@pytest.mark.parametrize("seed", TREES)
def test_numbers_batches_and_graph_agree(seed: int):
    """The same text on floats, on NumPy arrays (a batch in each scalar) and as a graph."""
    tree = random_tree(7, seed)
    states = [random_state(tree, np.random.default_rng(k)) for k in range(3)]
    q, v, x = (np.array(part) for part in zip(*states, strict=True))
    for algorithm, method in ((aba, tree.forward_dynamics), (rnea, tree.inverse_dynamics)):
        graph = method(q, v, x)
        numbers = algorithm(tree.layout, tree.gravity, *([float(c) for c in part[0]] for part in (q, v, x)))
        batch = algorithm(tree.layout, tree.gravity, *(list(part.T) for part in (q, v, x)))
        assert error(np.array(numbers), graph[0]) < 1e-11
        assert error(np.array([np.broadcast_to(y, 3) for y in batch]).T, graph) < 1e-11
    numbers = crba(tree.layout, [float(c) for c in q[0]])
    assert error(np.array(numbers, dtype=float), tree.mass_matrix(q)[0]) < 1e-12


def pinocchio_twin(tree: Tree) -> pin.Model:
    """Joint by joint, with Pinocchio's spherical, planar (normal z: turned to ours) and floating joints; a frame for each."""
    make = {
        "revolute": lambda e: pin.JointModelRevoluteUnaligned(e),
        "continuous": lambda e: pin.JointModelRevoluteUnaligned(e),  # the unbounded one takes no axis from Python
        "prismatic": lambda e: pin.JointModelPrismaticUnaligned(e),
        "planar": lambda e: pin.JointModelPlanar(),
        "spherical": lambda e: pin.JointModelSpherical(),
        "floating": lambda e: pin.JointModelFreeFlyer(),
    }
    model = pin.Model()
    model.gravity.linear = np.array(tree.gravity)
    given = {-1: pin.SE3.Identity()}  # our frame of a body in Pinocchio's
    for n, node in enumerate(tree.nodes):
        turn = pin.SE3(basis(node.axis) if node.kind.name == "planar" else np.eye(3), np.zeros(3))
        place = given[node.parent] * pin.SE3(node.placement.R, node.placement.p) * turn
        index = model.addJoint(node.parent + 1, make[node.kind.name](node.axis), place, node.name)
        m, given[n] = node.inertia.m, turn.inverse()
        c = node.inertia.h / m if m else np.zeros(3)
        J = node.inertia.J - m * (c @ c * np.eye(3) - np.outer(c, c))
        model.appendBodyToJoint(index, pin.Inertia(m, c, J), given[n])
        model.addFrame(pin.Frame(f"frame {node.name}", index, 0, given[n], pin.FrameType.OP_FRAME))
    model.armature = np.array([x for node in tree.nodes for x in node.armature])
    return model


def depth_first(joints: tuple[Joint, ...]) -> list[Joint]:
    """Pinocchio's derivatives assume that the joints behind a joint are numbered without gaps."""
    ordered, stack = [], [joint for joint in joints if joint.parent is None]
    while stack:
        ordered.append(stack.pop())
        stack += [joint for joint in joints if joint.parent == ordered[-1].name]
    return ordered


class Twin(Peer):
    def configuration(self, q: np.ndarray) -> np.ndarray:
        parts = []
        for node in self.tree.nodes:
            own = q[node.iq : node.iq + node.kind.nq]
            parts.append([*own[:2], np.cos(own[2]), np.sin(own[2])] if node.kind.name == "planar" else own)
        return np.concatenate(parts)


def twin_of(seed: int) -> Twin:
    """A random tree with damping, the links of some hinges and slides massless but for their rotors, and Pinocchio's of it."""
    rng, joints = np.random.default_rng(seed), depth_first(random_tree(8, seed).joints)
    carriers = {joint.parent for joint in joints}
    for k, joint in enumerate(joints):
        if joint.name in carriers and joint.kind in ("revolute", "continuous", "prismatic") and rng.random() < 0.4:
            joint = replace(joint, body=None, armature=0.2)
        joints[k] = replace(joint, damping=float(rng.choice([0.0, 0.3])))
    tree = Tree(joints, gravity=(1, 2, -9.81), backend="vm")
    return Twin(tree, pinocchio_twin(tree))


@pytest.mark.parametrize("seed", TREES)
def test_every_joint_against_pinocchio(seed: int):
    """Pinocchio's algorithms know no damping: theirs is the τ that is left of ours."""
    twin = twin_of(seed)
    tree, model, data = twin.tree, twin.model, twin.data
    q, v, x = random_state(tree, np.random.default_rng(seed))
    q_, D = twin.configuration(q), np.diag([d for node in tree.nodes for d in node.damping])
    assert error(tree.inverse_dynamics(q, v, x), pin.rnea(model, data, q_, v, x) + D @ v) < 1e-11
    assert error(tree.forward_dynamics(q, v, x), pin.aba(model, data, q_, v, x - D @ v)) < 1e-10
    tau_q, tau_v, _ = pin.computeRNEADerivatives(model, data, q_, v, x)
    mine = tree.inverse_dynamics_derivatives(q, v, x)
    assert max(error(a, b) for a, b in zip(mine, (tau_q, tau_v + D, tree.mass_matrix(q)), strict=True)) < 1e-10
    a_q, a_v, a_tau = pin.computeABADerivatives(model, data, q_, v, x - D @ v)
    a_tau = np.triu(a_tau) + np.triu(a_tau, 1).T
    mine = tree.forward_dynamics_derivatives(q, v, x)
    assert max(error(a, b) for a, b in zip(mine, (a_q, a_v - a_tau @ D, a_tau), strict=True)) < 1e-10


@pytest.mark.parametrize("seed", TREES)
def test_every_frame_against_pinocchio(seed: int):
    twin = twin_of(seed)
    tree, model, data = twin.tree, twin.model, twin.data
    q, v, _ = random_state(tree, np.random.default_rng(seed))
    q_ = twin.configuration(q)
    pin.computeJointJacobians(model, data, q_)
    pin.framesForwardKinematics(model, data, q_)
    references = {"local": pin.LOCAL, "aligned": pin.LOCAL_WORLD_ALIGNED, "world": pin.WORLD}
    for node in tree.nodes:
        index = model.getFrameId(f"frame {node.name}")
        R, p = tree.placement(node.name, q)
        assert max(error(R, data.oMf[index].rotation), error(p, data.oMf[index].translation)) < 1e-12
        for reference, theirs in references.items():
            J = pin.getFrameJacobian(model, data, index, theirs)
            assert error(tree.jacobian(node.name, q, reference=reference), J) < 1e-12
    total = pin.computeCentroidalMomentum(model, data, q_, v)
    assert error(tree.momentum(q, v), np.concatenate([total.linear, total.angular])) < 1e-12
    assert error(tree.centre_of_mass(q), pin.centerOfMass(model, data, q_)) < 1e-12


@pytest.mark.parametrize("n", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_long_chains(n: int):
    """Operations grow linearly: each further link costs the same."""
    links = [ChainLink(1.0, (0.1, 0.02, 0.05), (0.3, 0.2, 0.25), (0.3, 0.1, 0.0), e) for e in ((0, 0.6, 0.8), (1, 0, 0))]
    chains = {k: Chain(links * (k // 2), backend="vm") for k in (20, 40, n)}
    count = {k: chain.function("forward_dynamics").operations for k, chain in chains.items()}
    each = (count[40] - count[20]) / 20
    assert count[n] == pytest.approx(count[20] + (n - 20) * each, rel=1e-3)
    q, v, tau = (0.01 * np.random.default_rng(k).normal(size=n) for k in range(3))
    a = chains[n].forward_dynamics(q, v, tau)
    assert error(chains[n].inverse_dynamics(q, v, a), tau) < 1e-3  # the condition of M grows like n⁴
