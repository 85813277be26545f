"""Base parameters in letters and numbers, and bodies from measured forces, against Pinocchio and motions that agree."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError
from appell.tree import Inertia, Joint, place
from appell.tree.base_parameters import _by_rank, _stacked
from appell.tree.identified import _plain_least_squares

pin = pytest.importorskip("pinocchio")
peer = pytest.importorskip("tests.tree.pinocchio_peer")

TEN_ROBOTS = {
    "ur_description/urdf/ur5_robot.urdf": False,
    "panda_description/urdf/panda.urdf": False,
    "double_pendulum_description/urdf/double_pendulum.urdf": False,
    "talos_data/robots/talos_left_arm.urdf": False,
    "tiago_description/robots/tiago_no_hand.urdf": False,
    "baxter_description/urdf/baxter.urdf": False,
    "iris_description/robots/iris_simple.urdf": True,
    "anymal_b_simple_description/robots/anymal-kinova.urdf": True,
    "solo_description/robots/solo12.urdf": True,
    "hyq_description/robots/hyq_no_sensors.urdf": True,
}


@pytest.mark.parametrize("name", TEN_ROBOTS)
def test_exact_base_parameters_are_those_of_pinocchios_regressor(name):
    twin = peer.load(name, TEN_ROBOTS[name], backend="vm")
    base = twin.tree.base_parameters()
    Y, rank = peer.torque_regressor(twin)
    assert base.exact and base.rank == rank
    other = np.random.default_rng(6).normal(size=Y.shape[1])  # whatever the bodies are
    wanted = Y @ other
    assert np.abs(Y[:, list(base.independent)] @ (base.matrix @ other) - wanted).max() < 1e-12 * np.abs(wanted).max()


def test_regroupings_in_letters():
    """Khalil and Dombre's plane arm: of the outer body the mass goes inwards with l and l²."""
    l, m1, m2, c = ap.parameters("l m1 m2 c", positive=True)
    first, second = Inertia.at_centre(m1, (c, 0, 0), np.eye(3)), Inertia.at_centre(m2, (0.3, 0, 0), np.eye(3))
    arm = ap.Tree([
        Joint("shoulder", "revolute", axis=(0, 1, 0), body=first),
        Joint("elbow", "revolute", axis=(0, 1, 0), placement=place((l, 0, 0)), parent="shoulder", body=second),
    ])  # fmt: skip
    base = arm.base_parameters()
    assert base.exact and base.names == (
        "shoulder.h_x + l elbow.m", "shoulder.h_z", "shoulder.J_yy + l**2 elbow.m", "elbow.h_x", "elbow.h_z", "elbow.J_yy",
    )  # fmt: skip
    assert base.values[0] == c * m1 + l * m2
    numbers = arm.with_parameters({l: 0.7, m1: 2, m2: 3, c: 0.2})
    rank = _by_rank(numbers, _stacked(numbers, 0))
    assert rank.independent == base.independent and np.allclose(rank.matrix, numbers.base_parameters().matrix, atol=1e-12)


def bars(bodies):
    """A plane four-bar linkage, cut at the joint of coupler and rocker."""
    tree = ap.Tree([
        Joint("crank", "revolute", axis=(0, 1, 0), body=bodies[0]),
        Joint("coupler", "revolute", axis=(0, 1, 0), placement=place((0.4, 0, 0)), parent="crank", body=bodies[1]),
        Joint("rocker", "revolute", axis=(0, 1, 0), placement=place((1.0, 0, 0)), body=bodies[2]),
    ], backend="vm")  # fmt: skip
    ends = tree.frame("coupler").at((1.1, 0, 0), (np.pi / 2, 0, 0)), tree.frame("rocker").at((0.8, 0, 0), (np.pi / 2, 0, 0))
    return tree, ap.tree.loop(*ends, "pin", name="pin")


def test_a_loop_takes_one_more_mass():
    """Point masses of the coupler at both its joints belong to its neighbours: 8 combinations, 9 of the open tree."""
    bodies = [Inertia.at_centre(1.0 + k, (0.2, 0.02, 0.05), np.diag([0.1, 0.12, 0.15])) for k in range(3)]
    tree, loop = bars(bodies)
    base = tree.base_parameters(loop)
    assert not base.exact and base.rank == 8 and tree.base_parameters().rank == 9
    point = Inertia.at_centre(0.5, (1.1, 0, 0), np.zeros((3, 3))), Inertia.at_centre(0.5, (0.8, 0, 0), np.zeros((3, 3)))
    other, other_loop = bars([bodies[0], bodies[1] + point[0], bodies[2]])
    same, same_loop = bars([bodies[0], bodies[1], bodies[2] + point[1]])
    assert np.allclose(base.matrix @ other.dynamic_parameters, base.matrix @ same.dynamic_parameters, atol=1e-9)
    start = ap.consistent(other.system(other_loop), {"crank": 0.7, "coupler": -1.0, "rocker": -1.7, "crank.d": 3.0})
    a, b = (ap.simulate(t.system(c), start, 1.0, backend="vm") for t, c in ((other, other_loop), (same, same_loop)))
    assert np.allclose(a.q[-1], b.q[-1], atol=1e-7)


@pytest.fixture(scope="module")
def measured():
    twin = peer.load("ur_description/urdf/ur5_robot.urdf", False, backend="vm")
    rng = np.random.default_rng(0)
    q, v, a = (np.array(x) for x in zip(*(twin.state(rng) for _ in range(300)), strict=True))
    tau = [pin.rnea(twin.model, twin.data, twin.configuration(q[k]), v[k], a[k]) for k in range(300)]
    return twin.tree, q, v, a, np.array(tau), rng


@pytest.mark.parametrize(("noise", "factor"), [(0.5, 1.0), (5.0, 0.5)])
def test_bodies_are_found_that_bodies_can_have(measured, noise, factor):
    tree, q, v, a, tau, rng = measured
    masses = tree.parametrized("mass")
    guess = masses.with_values(masses.values * factor)
    found = guess.identify(q, v, a, tau + noise * rng.normal(size=tau.shape))
    true = found.base.matrix @ tree.dynamic_parameters
    share = (found.estimates - true) / found.errors
    assert found.ok and not found.doubts and np.sqrt(np.mean(share**2)) < 1.4 and np.abs(share).max() < 4.5
    assert found.noise == pytest.approx(noise, rel=0.2)
    assert not any(node.inertia.impossible() for node in found.tree.nodes)
    assert np.allclose(found.tree.dynamic_parameters, found.values, atol=1e-12)


def test_without_noise_the_base_parameters_come_back(measured):
    tree, q, v, a, tau, _ = measured
    masses = tree.parametrized("mass")
    found = masses.with_values(masses.values * 1.3).identify(q, v, a, tau)
    true = found.base.matrix @ tree.dynamic_parameters
    assert found.ok and not found.doubts and np.allclose(found.estimates, true, atol=1e-7 * np.abs(true).max())


def test_what_a_motion_does_not_tell_is_named(measured):
    tree, q, v, a, tau, _ = measured
    still = np.zeros_like(v)
    forces = tree.inverse_dynamics(q, still, still)
    found = tree.identify(q, still, still, forces + 1e-3)
    assert not found.ok and "does not tell" in found.message and np.isinf(found.errors).any()
    with pytest.raises(ModelError, match="samples"):
        tree.identify(q, v[:10], a, tau)
    with pytest.raises(ModelError, match="too few"):
        tree.identify(q[:2], v[:2], a[:2], tau[:2])
    with pytest.raises(ModelError, match=r"table \(samples, 6\)"):
        tree.identify(q[:, :3], v, a, tau)
    gap = tau.copy()
    gap[7, 1] = np.nan
    with pytest.raises(ModelError, match="sample 7, column 1, of tau of identify is nan"):
        tree.identify(q, v, a, gap)


def test_forces_that_no_bodies_need_are_doubted(measured):
    tree, q, v, a, tau, _ = measured
    found = tree.identify(q, v, a, -tau)
    assert not found.ok and "no bodies have what plain least squares finds" in found.message == found.doubts[0]


def test_errors_are_right_with_few_samples_and_unequal_noise():
    """Deviations from the truth, in units of the stated errors, have the size 1 (1.07 for Student's t of about 12 samples)."""
    rods = [Inertia.at_centre(m, (c, 0, 0.02), np.eye(3) * j) for m, c, j in ((2, 0.3, 0.1), (1, 0.3, 0.05), (0.5, 0.1, 0.01))]
    hinge = lambda name, k, **where: Joint(name, "revolute", axis=(0, 1, 0), body=rods[k], **where)
    elbow, wrist = {"placement": place((0.7, 0, 0)), "parent": "shoulder"}, {"placement": place((0.5, 0, 0)), "parent": "elbow"}
    arm = ap.Tree([hinge("shoulder", 0), hinge("elbow", 1, **elbow), hinge("wrist", 2, **wrist)], backend="vm")
    base, rng, shares = arm.base_parameters(), np.random.default_rng(1), []
    for _ in range(100):
        q, v, a = arm.random(rng, 15), 2 * rng.normal(size=(15, 3)), 5 * rng.normal(size=(15, 3))
        tau = arm.inverse_dynamics(q, v, a) + 0.1 * 10 ** rng.uniform(-1, 1, 3) * rng.normal(size=(15, 3))
        _, beta, errors, _ = _plain_least_squares(arm.regressor(q, v, a)[:, :, list(base.independent)], tau, None)
        shares.append((beta - base.matrix @ arm.dynamic_parameters) / errors)
    assert np.sqrt(np.mean(np.square(shares))) < 1.16, np.sqrt(np.mean(np.square(shares)))
