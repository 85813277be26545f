"""Points fixed to frames, `tree.frame(name).at(xyz, rpy)`: placement, Jacobian, velocity, acceleration, J̇ v, as Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError

pin = pytest.importorskip("pinocchio")
peer = pytest.importorskip("tests.tree.pinocchio_peer")
FILES = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True),
}
REFERENCES = {"local": pin.LOCAL, "aligned": pin.LOCAL_WORLD_ALIGNED, "world": pin.WORLD}
XYZ, RPY = (0.1, -0.2, 0.3), (0.4, 0.5, -0.6)


@pytest.fixture(scope="module", params=FILES)
def twin(request):
    name, floating = FILES[request.param]
    found = peer.load(name, floating, backend="vm")
    joint = found.model.njoints - 1
    place = pin.SE3(pin.rpy.rpyToMatrix(*RPY), np.array(XYZ))
    found.point = found.model.addFrame(pin.Frame("point", joint, place, pin.FrameType.OP_FRAME))
    found.data, found.carrier = found.model.createData(), found.model.names[joint]
    return found


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_point_moves_as_in_pinocchio(twin, reference):
    tree, axes = twin.tree, REFERENCES[reference]
    q, v, a = twin.state(np.random.default_rng(3))
    there = twin.configuration(q)
    pin.forwardKinematics(twin.model, twin.data, there, v, a)
    pin.updateFramePlacements(twin.model, twin.data)
    pin.computeJointJacobians(twin.model, twin.data, there)
    point, named = tree.frame(twin.carrier).at(XYZ, RPY), tree.frame(twin.carrier)
    R, p = tree.placement(point, q)
    assert peer.error(R, twin.data.oMf[twin.point].rotation) < 1e-12
    assert peer.error(p, twin.data.oMf[twin.point].translation) < 1e-12
    theirs = pin.getFrameJacobian(twin.model, twin.data, twin.point, axes)
    assert peer.error(tree.jacobian(point, q, reference=reference), theirs) < 1e-12
    theirs = pin.getFrameVelocity(twin.model, twin.data, twin.point, axes).vector
    assert peer.error(tree.velocity(point, q, v, reference=reference), theirs) < 1e-12
    how = pin.getFrameClassicalAcceleration if reference == "aligned" else pin.getFrameAcceleration
    theirs = how(twin.model, twin.data, twin.point, axes).vector
    assert peer.error(tree.acceleration(point, q, v, a, reference=reference), theirs) < 1e-11
    assert (tree.jacobian(named, q) == tree.jacobian(twin.carrier, q)).all()
    further = tree.placement(named.at(XYZ, RPY).at((1.0, 0, 0)), q)[1]
    assert further == pytest.approx(p + R[:, 0], abs=1e-12)


def test_batches_are_single_states(twin):
    tree, rng = twin.tree, np.random.default_rng(4)
    states = [twin.state(rng) for _ in range(3)]
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    point = tree.frame(twin.carrier).at(XYZ, RPY)
    for reference in REFERENCES:
        asked = {tree.jacobian: (q,), tree.velocity: (q, v), tree.bias_acceleration: (q, v), tree.acceleration: (q, v, a)}
        for ask, given in asked.items():
            for frame in (point, twin.carrier):
                many = ask(frame, *given, reference=reference)
                one = np.array([ask(frame, *(x[k] for x in given), reference=reference) for k in range(3)])
                np.testing.assert_allclose(many, one, atol=1e-12 * np.abs(one).max())
    R, p = tree.placement(point, q)
    assert R.shape == (3, 3, 3) and p[1] == pytest.approx(tree.placement(point, q[1])[1], abs=1e-13)


def test_wrenches_act_at_points(twin):
    """A force at a point is that force and its moment at the frame."""
    tree, rng = twin.tree, np.random.default_rng(5)
    q, v, tau = twin.state(rng)
    w, point = rng.normal(size=6), tree.frame(twin.carrier).at(XYZ)
    arm = tree.placement(point, q)[1] - tree.placement(twin.carrier, q)[1]
    moved = np.concatenate([w[:3], w[3:] + np.cross(arm, w[:3])])
    one = tree.forward_dynamics(q, v, tau, external={point: w})
    assert peer.error(one, tree.forward_dynamics(q, v, tau, external={twin.carrier: moved})) < 1e-11


def test_a_point_in_symbols_is_refused():
    body = ap.tree.Inertia.at_centre(1, (1, 0, 0), np.eye(3))
    hinge = ap.Tree([ap.tree.Joint("hinge", "revolute", body=body)], backend="vm")
    l = ap.parameters("l")
    with pytest.raises(ModelError, match="contains l; numbers need a point in numbers"):
        hinge.placement(hinge.frame("hinge").at((l, 0, 0)), [0.1])
    assert hinge.placement(hinge.frame("world").at((1, 2, 3)), [0.1])[1] == pytest.approx([1, 2, 3])
    assert hinge.velocity(hinge.frame("hinge").at((2, 0, 0)), [0.0], [3.0]) == pytest.approx([0, 6, 0, 0, 0, 3])
