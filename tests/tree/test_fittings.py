"""What a robot file says of its joints acts in motions: stops, damping, dry friction, joints that follow others."""

import io
import pickle
from math import exp, log

import numpy as np
import pytest
from tests.tree.test_urdf import joint, link, robot

import appell as ap
from appell.errors import ConstraintError, ModelError
from appell.tree import Tree

HEAVY, LIGHT, D, G = 2.0, 0.25, 0.5, 9.81
UP = "<axis xyz='0 0 1'/>"
LIFT = f"{UP}<limit lower='0' upper='1' effort='7' velocity='2'/><dynamics damping='{D}' friction='3'/>"
FOLLOW = (
    f"{UP}<limit lower='-1.9' upper='0.1' effort='5'/><dynamics friction='1'/>"
    "<mimic joint='lift' multiplier='-2' offset='0.1'/>"
)
PAIR = (
    "<robot name='pair'>" + link("base") + link("a", str(HEAVY)) + link("b", str(LIGHT))
    + joint("lift", "base", "a", "prismatic", LIFT) + joint("rope", "base", "b", "prismatic", FOLLOW) + "</robot>"
)  # fmt: skip


def pair(**options) -> Tree:
    return Tree.from_urdf(PAIR, backend="vm", **options)


def test_a_lift_with_all_of_them_moves_as_the_closed_form_says():
    """With y = 0.1 − 2 x: M = m + 4 m', weight W = (m − 2 m') g, friction F = 3 + 2·1 N, damping d on ẋ, M ẍ = −W ∓ F − d ẋ."""
    tree = pair()
    M, W, F, v0 = HEAVY + 4 * LIGHT, (HEAVY - 2 * LIGHT) * G, 5.0, 2.0
    x = tree.joint("lift")
    motion = ap.simulate(tree, {x: 0.2, "rope": -0.3, x.d: v0, "rope.d": -2 * v0}, until=1.0, backend="vm")
    turn = M / D * log(1 + D * v0 / (W + F))
    up = lambda t: (v0 + (W + F) / D) * exp(-D * t / M) - (W + F) / D
    down = lambda t: -(W - F) / D * (1 - exp(-D * (t - turn) / M))
    assert motion.at(0.6 * turn)[x.d] == pytest.approx(up(0.6 * turn), rel=1e-8)
    assert motion.at(1.3 * turn)[x.d] == pytest.approx(down(1.3 * turn), rel=1e-7)
    assert motion[x][-1] == pytest.approx(0, abs=1e-9) and motion[tree.joint("rope")][-1] == pytest.approx(0.1, abs=1e-9)
    assert motion[x].min() > -1e-9


def test_functions_of_the_tree_are_those_of_the_bodies_alone():
    state = [0.3, -0.5], [1.0, 2.0], [0.2, 0.4]
    bare = pair(limits=False, damping=False, friction=False, mimic=False)
    assert bare.fittings == () and len(bare.system().constraints) == len(bare.system().unilateral) == 0
    assert np.array_equal(pair().forward_dynamics(*state), bare.forward_dynamics(*state))
    assert pair(damping=True).bias(*state[:2])[0] == pytest.approx(bare.bias(*state[:2])[0] + D)
    assert pair(damping=True).system().forces == pair().system().forces  # once, wherever it is
    assert bare.system().forces == (0, 0)


def test_each_is_told_of_and_can_be_left_out():
    notes = "; ".join(pair().notes)
    for said in ("limits of lift, rope are stops (limits=", "damping of lift (damping=", "rope follows lift (mimic="):
        assert said in notes
    assert "dry friction of lift (friction=False" in notes
    assert [len(pair(limits=on).system().unilateral) for on in (False, True)] == [0, 2]
    assert len(pair(mimic=False).system().unilateral) == 4  # those of the one that leads stand for both
    assert any("joint 'rope': <mimic> is not applied" in note for note in pair(mimic=False).notes)
    assert [len(pair(friction=on).system().frictions) for on in (False, True)] == [0, 1]


def test_a_stop_of_ones_own_takes_the_place_of_the_stated_one():
    tree = pair(friction=False)
    for given in (tree.stops(restitution=0.5), [ap.Between(0.1, tree.joint("lift"), 0.5, "lift")]):
        system = tree.system(given)
        assert {face.source for face in system.unilateral} == set(given)


def test_a_start_outside_is_refused_with_the_joint_and_its_limits():
    with pytest.raises(ConstraintError, match=r"lift starts at 1.5, outside its limits 0 … 1"):
        ap.simulate(pair(), {"lift": 1.5, "rope": -2.9}, until=0.1, backend="vm")


def test_forces_beyond_the_effort_are_clipped_on_request():
    tree = pair(friction=False, mimic=False, limits=False)
    np.testing.assert_array_equal(tree.clipped([[9.0, -9.0], [1.0, 2.0]]), [[7, -5], [1, 2]])
    run = ap.compile(tree.system(forces=tree.clipped(tree.inputs())), {"tau_lift": 100.0, "tau_rope": 2.0}, backend="vm")
    a, _ = run.acceleration(0.0, [0.5, 0.0], [0.0, 0.0])
    assert a == pytest.approx([7 / HEAVY - G, 2 / LIGHT - G])
    with pytest.raises(ModelError, match=r"has the shape \(2,\)"):
        tree.clipped([1.0])
    with pytest.raises(ModelError, match="has no velocity z"):
        tree.clipped({"z": 1.0})


def test_fittings_travel_and_know_joints_that_are_locked():
    tree = pickle.loads(pickle.dumps(pair()))
    assert tree.fittings == pair().fittings
    held = tree.lock({"lift": 0.2}).system()
    assert "locked: lift" in tree.lock({"lift": 0.2}).notes[-1] and not any("locked" in note for note in tree.notes)
    assert [str(c.residual) for c in held.constraints] == ["rope + 0.3"] and not held.forces[0] and not held.frictions
    assert tree.lock({"lift": 0.2, "rope": -0.3}).fittings == (tree.fittings[0],)
    with pytest.raises(ModelError, match=r"with it locked it is at -0.3, not at 0"):
        tree.lock({"lift": 0.2, "rope": 0.0})


BAD = {
    "<limit lower='1' upper='0'/>": "joint 'j': <limit lower='1' upper='0'> leaves it no way",
    "<dynamics damping='-1'/>": "joint 'j': <dynamics damping='-1'> must not be negative",
    "<mimic joint='j'/>": "the joints 'j' follow each other in a circle",
    "<mimic joint='j' multiplier='x'/>": "joint 'j': <mimic multiplier='x'>",
}


@pytest.mark.parametrize("inner", BAD)
def test_what_cannot_be_meant_is_refused(tmp_path, inner: str):
    path = robot(tmp_path, link("a"), link("b"), joint("j", "a", "b", inner=inner))
    with pytest.raises(ModelError, match=BAD[inner]):
        Tree.from_urdf(path)


def test_limits_that_are_equal_and_names_that_lead_nowhere_are_noted(tmp_path):
    """Exporters write the defaults, 0 and 0; robots are shipped with followers of joints that were cut off."""
    inner = "<limit lower='0' upper='0'/><mimic joint='k'/>"
    tree = Tree.from_urdf(io.StringIO(robot(tmp_path, link("a"), link("b"), joint("j", "a", "b", inner=inner)).read_text()))
    assert tree.fittings == () and len(tree.notes) == 2
    assert "tree.lock({'j': 0})" in tree.notes[1] and "<mimic joint='k'> is not applied" in tree.notes[0]
    with pytest.raises(ModelError, match="fittings= takes"):
        Tree([], fittings=["stops"])  # type: ignore[list-item]
