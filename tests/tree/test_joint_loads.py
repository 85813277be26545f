"""Wrenches, regressor, Coriolis matrix, centroidal map, J̇ v and external wrenches: identities, and Pinocchio as the judge."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tree.chains import random_tree

import appell as ap

pin = pytest.importorskip("pinocchio")
peer = pytest.importorskip("tests.tree.pinocchio_peer")
FILES = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "panda": ("panda_description/urdf/panda.urdf", True),
}
KINDS = ("revolute", "prismatic", "spherical", "continuous")


@pytest.fixture(scope="module", params=FILES)
def twin(request):
    name, floating = FILES[request.param]
    return peer.load(name, floating, backend="vm")


def state(twin, seed=0):
    q, v, a = twin.state(np.random.default_rng(seed))
    return q, v, a, twin.configuration(q)


def test_wrenches_are_those_of_pinocchio(twin):
    q, v, a, there = state(twin)
    pin.rnea(twin.model, twin.data, there, v, a)
    theirs = np.array([twin.data.f[k + 1].vector for k in range(twin.model.njoints - 1)])
    assert peer.error(twin.tree.wrenches(q, v, a), theirs) < 1e-12


def test_the_regressor_is_that_of_pinocchio_and_gives_inverse_dynamics(twin):
    q, v, a, there = state(twin)
    Y = twin.tree.regressor(q, v, a)
    assert peer.error(Y, pin.computeJointTorqueRegressor(twin.model, twin.data, there, v, a)) < 1e-12
    pi = twin.tree.dynamic_parameters
    theirs = np.concatenate([twin.model.inertias[k].toDynamicParameters() for k in range(1, twin.model.njoints)])
    assert peer.error(pi, theirs) < 1e-12
    assert peer.error(Y @ pi, pin.rnea(twin.model, twin.data, there, v, a)) < 1e-11


def test_the_coriolis_matrix_is_that_of_pinocchio(twin):
    q, v, _, there = state(twin)
    assert peer.error(twin.tree.coriolis(q, v), pin.computeCoriolisMatrix(twin.model, twin.data, there, v)) < 1e-11


def test_the_centroidal_map_and_its_rate_are_those_of_pinocchio(twin):
    q, v, _, there = state(twin)
    assert peer.error(twin.tree.centroidal(q), pin.computeCentroidalMap(twin.model, twin.data, there)) < 1e-12
    assert peer.error(twin.tree.centroidal(q) @ v, twin.tree.momentum(q, v)) < 1e-12
    pin.computeCentroidalMapTimeVariation(twin.model, twin.data, there, v)
    assert peer.error(twin.tree.centroidal_bias(q, v), twin.data.dAg @ v) < 1e-11
    assert peer.error(twin.tree.centre_of_mass_jacobian(q), pin.jacobianCenterOfMass(twin.model, twin.data, there)) < 1e-12


def test_the_bias_acceleration_is_the_acceleration_without_v_dot(twin):
    q, v, _, there = state(twin)
    pin.forwardKinematics(twin.model, twin.data, there, v, 0 * v)
    name = twin.model.names[twin.model.njoints - 1]
    frame = twin.model.getFrameId(name)
    pin.updateFramePlacements(twin.model, twin.data)
    theirs = pin.getFrameClassicalAcceleration(twin.model, twin.data, frame, pin.LOCAL_WORLD_ALIGNED).vector
    assert peer.error(twin.tree.bias_acceleration(name, q, v), theirs) < 1e-11


@pytest.mark.parametrize("seed", range(4))
def test_m_dot_is_c_plus_its_transpose(seed):
    """On random trees with floating base, slides and ball joints; C v + g = h."""
    tree = random_tree(5, seed, root="floating", kinds=KINDS)
    rng = np.random.default_rng(seed)
    q, v = tree.random(rng), rng.normal(size=tree.nv)
    C, h = tree.coriolis(q, v), 1e-5
    M = [tree.mass_matrix(tree.integrate(q, s * h * v)) for s in (1, -1)]
    np.testing.assert_allclose(C + C.T, (M[0] - M[1]) / (2 * h), atol=1e-7 * abs(C).max())
    damping = np.concatenate([node.damping for node in tree.nodes])
    np.testing.assert_allclose(C @ v, tree.bias(q, v) - tree.bias(q, 0 * v) - damping * v, atol=1e-11 * abs(C).max())


@pytest.mark.parametrize("seed", range(3))
def test_joints_carry_what_a_twin_of_free_bodies_receives(seed):
    """Cut all joints: each body, floating alone, needs the wrench of its joint less those of the joints that it carries."""
    tree = random_tree(5, seed, kinds=KINDS)
    rng = np.random.default_rng(seed)
    q, v, a = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    f = tree.wrenches(q, v, a)
    for n, node in enumerate(tree.nodes):
        R, p = tree.placement(node.name, q)
        J, bias = tree.jacobian(node.name, q), tree.bias_acceleration(node.name, q, v)
        velocity, acceleration = J @ v, J @ a + bias
        omega, alpha = R.T @ velocity[3:], R.T @ acceleration[3:]
        a0 = R.T @ (acceleration[:3] - np.array(tree.gravity))
        body = node.inertia
        force = body.m * a0 + np.cross(alpha, body.h) + np.cross(omega, np.cross(omega, body.h))
        moment = np.cross(body.h, a0) + body.J @ alpha + np.cross(omega, body.J @ omega)
        for m, child in enumerate(tree.nodes):
            if child.parent == n:
                R_child, p_child = tree.placement(child.name, q)
                B, r = R.T @ R_child, R.T @ (p_child - p)
                force, moment = force + B @ f[m, :3], moment + B @ f[m, 3:] + np.cross(r, B @ f[m, :3])
        np.testing.assert_allclose(f[n], [*force, *moment], atol=1e-10 * (1 + abs(f).max()))


def test_external_wrenches_and_batches():
    tree = random_tree(4, 7, kinds=KINDS)
    rng = np.random.default_rng(1)
    q, v, tau = tree.random(rng, count=3), rng.normal(size=(3, tree.nv)), rng.normal(size=(3, tree.nv))
    frame, w = tree.nodes[-1].name, rng.normal(size=6)
    a = tree.forward_dynamics(q, v, tau, external={frame: w})
    np.testing.assert_allclose(tree.inverse_dynamics(q, v, a, external={frame: w}), tau, atol=1e-9 * abs(tau).max())
    one = tree.forward_dynamics(q[1], v[1], tau[1], external={frame: w})
    np.testing.assert_allclose(one, a[1], rtol=1e-12, atol=1e-12)
    power = w @ tree.jacobian(frame, q[1]) @ v[1]
    free = tree.forward_dynamics(q[1], v[1], tau[1])
    assert v[1] @ tree.mass_matrix(q[1]) @ (one - free) == pytest.approx(power, rel=1e-8)
    f = tree.wrenches(q, v, a, external={frame: w})
    for n, node in enumerate(tree.nodes):  # along its own axes a joint gives tau, but for rotors and damping
        if node.kind.name in ("revolute", "continuous", "prismatic"):
            axis = np.concatenate([np.zeros(3), node.axis] if node.kind.name != "prismatic" else [node.axis, np.zeros(3)])
            k = node.iv
            own = f[:, n] @ axis + node.armature[0] * a[:, k] + node.damping[0] * v[:, k]
            np.testing.assert_allclose(own, tau[:, k], atol=1e-8)
    for question in (tree.wrenches, tree.regressor):
        np.testing.assert_allclose(question(q, v, a)[2], question(q[2], v[2], a[2]), rtol=1e-12, atol=1e-12)
    with pytest.raises(ap.ModelError, match="six finite numbers"):
        tree.forward_dynamics(q[0], v[0], tau[0], external={frame: [1.0]})
    with pytest.raises(ap.ModelError, match="there is no frame 'tol'"):
        tree.forward_dynamics(q[0], v[0], tau[0], external={"tol": w})
