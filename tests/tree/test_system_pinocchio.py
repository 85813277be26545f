"""A quadruped standing on its feet, against the constrained dynamics solved with Pinocchio's matrices."""

import numpy as np
import pinocchio as pin
import pytest
from tests.tree.pinocchio_peer import error, load

import appell as ap
from appell.tree import contact_point

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")


@pytest.mark.parametrize("seed", range(3))
def test_accelerations_and_foot_forces(seed: int):
    """[M −Jᵀ; J 0] [a; λ] = [τ − b; −J̇ v]."""
    peer = load("anymal_b_simple_description/robots/anymal.urdf", True, "vm")
    tree, model, data = peer.tree, peer.model, peer.data
    system = tree.system([contact_point(tree.frame(foot)) for foot in FEET], forces={tree.joint("LF_HAA"): 1.5})
    q, v, _ = peer.state(np.random.default_rng(seed))
    a, lam = ap.compile(system, backend="vm").acceleration(0.0, q, v)

    q = peer.configuration(q)
    tau = np.array([1.5 * (str(s) == "LF_HAA.d") for s in system.velocities])
    frames = [model.getFrameId(foot) for foot in FEET]
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    J = np.vstack([pin.computeFrameJacobian(model, data, q, i, world)[:3] for i in frames])
    pin.forwardKinematics(model, data, q, v, 0 * v)
    pin.updateFramePlacements(model, data)
    drift = np.concatenate([pin.getFrameClassicalAcceleration(model, data, i, world).linear for i in frames])
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    K = np.block([[M, -J.T], [J, np.zeros((12, 12))]])
    x = np.linalg.solve(K, np.concatenate([tau - pin.nonLinearEffects(model, data, q, v), -drift]))
    forces = x[model.nv :].reshape(4, 3)[:, [2, 0, 1]].ravel()  # rows are height, x, y
    assert error(a, x[: model.nv]) < 1e-10
    assert error(lam, forces) < 1e-10
