"""Masses, centres, inertias and lengths at run time, and base parameters: against trees rebuilt, and Pinocchio's regressor."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tree.chains import random_tree

import appell as ap
from appell.errors import ModelError
from appell.tree import Inertia, Joint, place

pin = pytest.importorskip("pinocchio")
peer = pytest.importorskip("tests.tree.pinocchio_peer")
ROBOTS = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True),
}
ASKED = {"forward_dynamics": "qva", "inverse_dynamics": "qva", "mass_matrix": "q", "bias": "qv", "centre_of_mass": "q"}


@pytest.fixture(scope="module", params=ROBOTS)
def twin(request):
    name, floating = ROBOTS[request.param]
    return peer.load(name, floating, backend="vm")


def changed(values, seed, share=0.1):
    """Values of the same signs: bodies stay bodies."""
    return values * (1 + share * np.random.default_rng(seed).uniform(-1, 1, values.shape))


def compare(tree, given, values, seed=1):
    rng = np.random.default_rng(seed)
    state = dict(zip("qva", peer.random_state(tree, rng), strict=True))
    numeric = given.with_values(values)
    for name, args in ASKED.items():
        mine = getattr(given, name)(*(state[x] for x in args), values)
        assert peer.error(mine, getattr(numeric, name)(*(state[x] for x in args))) < 1e-10, name
    frame = tree.nodes[-1].name
    assert peer.error(given.placement(frame, state["q"], values)[1], numeric.placement(frame, state["q"])[1]) < 1e-12
    assert peer.error(given.jacobian(frame, state["q"], values), numeric.jacobian(frame, state["q"])) < 1e-12


def test_robots_with_other_bodies_and_lengths(twin):
    given = twin.tree.parametrized("mass", "centre", "inertia", "length")
    assert len(given.names) == 13 * len(twin.tree.nodes) == len(given.values)
    compare(twin.tree, given, given.values)
    compare(twin.tree, given, changed(given.values, 2))


@pytest.mark.parametrize("seed", range(3))
def test_trees_of_all_joints(seed):
    tree = random_tree(5, seed, root="floating" if seed else None)
    given = tree.parametrized({tree.nodes[1].name: "mass centre length", tree.nodes[3].name: ("inertia", "length")})
    compare(tree, given, changed(given.values, seed, 0.05), seed)


def test_values_by_name_and_in_batches(twin):
    tree = twin.tree
    joint = tree.nodes[-1].name
    given = tree.parametrized({joint: "mass"})
    q, v, a = (np.array(x) for x in zip(*(twin.state(np.random.default_rng(k)) for k in range(3)), strict=True))
    masses = np.array([1.0, 2.0, 3.0])
    many = given.inverse_dynamics(q, v, a, {f"{joint}.mass": masses})
    one = [given.inverse_dynamics(q[k], v[k], a[k], [masses[k]]) for k in range(3)]
    assert peer.error(many, np.array(one)) < 1e-13
    same = given.inverse_dynamics(q, v, a)
    assert peer.error(same, tree.inverse_dynamics(q, v, a)) < 1e-12
    named = given.inverse_dynamics(q[0], v[0], a[0], {f"{joint}.mass": 2.0})
    assert peer.error(named, given.with_values([2.0]).inverse_dynamics(q[0], v[0], a[0])) < 1e-12


def test_a_large_robot_compiles_once():
    """The humanoid g1 with all its bodies at run time is no larger than what is compiled without a word."""
    from appell.tree.compiled_methods import OPERATIONS_NOT_WAITED_FOR

    tree = peer.load("g1_description/urdf/g1_29dof_rev_1_0.urdf", True, backend="vm").tree
    assert tree.parametrized().function("forward_dynamics").operations < OPERATIONS_NOT_WAITED_FOR


def test_the_count_of_base_parameters_is_the_rank_of_pinocchios_regressor(twin):
    base = twin.tree.base_parameters()
    Y, rank = peer.torque_regressor(twin)
    assert base.rank == rank
    assert peer.error(Y[:, list(base.independent)] @ base.values, Y @ twin.tree.dynamic_parameters) < 1e-12
    other = np.random.default_rng(6).normal(size=Y.shape[1])  # whatever the bodies are
    assert peer.error(Y[:, list(base.independent)] @ (base.matrix @ other), Y @ other) < 1e-9


def test_the_base_parameters_of_a_pendulum():
    """A hinge across gravity feels its first moments and one moment of inertia; a vertical one that alone."""
    body = Inertia.at_centre(2.0, (0.3, 0.2, 0.1), np.diag([1.0, 1.2, 1.4]))
    for axis, wanted in (((0, 1, 0), {"h_x", "h_z", "J_yy"}), ((0, 0, 1), {"J_zz"})):
        base = ap.Tree([Joint("hinge", "revolute", axis=axis, body=body)], backend="vm").base_parameters()
        assert {name.removeprefix("hinge.") for name in base.names} == wanted
        assert base.rank + len(base.unidentifiable) == 10


def test_what_is_not_there_is_refused():
    body = Inertia.at_centre(2.0, (0.3, 0.2, 0.1), np.eye(3))
    tree = ap.Tree([Joint("hinge", "revolute", placement=place((1, 0, 0)), axis=(0, 1, 0), body=body)], backend="vm")
    for wanted, why in (("weight", "weight"), ({"elbow": "mass"}, "elbow"), ({"hinge": "mass mass"}, "twice"), (3, "mass")):
        with pytest.raises(ModelError, match=why):
            tree.parametrized(wanted)
    given = tree.parametrized("mass")
    for values, why in (([1.0, 2.0], r"\(1,\)"), ({"hinge.size": 1.0}, "hinge.size"), ([np.nan], "finite")):
        with pytest.raises(ModelError, match=why):
            given.bias([0.1], [0.2], values)
