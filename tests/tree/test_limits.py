"""Limits of joints: read from files, given in code, made into stops."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.tree.test_urdf import joint, link, robot

import appell as ap
from appell.errors import ModelError
from appell.motion.record import ReactionName
from appell.tree import Inertia, Joint, Limits, Tree

BODY = Inertia.at_centre(1.0, (0.0, 0.0, -0.5), np.diag([0.1, 0.1, 0.01]))


def test_limits_of_a_file(tmp_path: Path):
    limits = {
        "both": "<limit lower='-1' upper='2.5' effort='10' velocity='3'/>",
        "effort": "<limit effort='10' velocity='3'/>",
        "odd": "<limit lower='low' upper='inf' effort='1'/>",
        "none": "",
    }
    links = [link("base"), *(link(name) for name in limits), link("round")]
    parts = [joint(f"j_{name}", "base", name, inner=text) for name, text in limits.items()]
    parts.append(joint("j_round", "base", "round", "continuous", inner="<limit lower='-1' upper='1' effort='5' velocity='2'/>"))
    tree = Tree.from_urdf(robot(tmp_path, *links, *parts))
    assert tree.limits == {
        "j_both": Limits(-1, 2.5, 3, 10), "j_effort": Limits(velocity=3, effort=10), "j_odd": Limits(effort=1),
        "j_round": Limits(velocity=2, effort=5),
    }  # fmt: skip
    assert any("j_odd" in note and "'low'" in note for note in tree.notes)
    (stop,) = tree.stops(restitution=0.5)
    assert (stop.name, float(stop.lower), float(stop.upper), float(stop.restitution)) == ("j_both", -1, 2.5, 0.5)
    assert pickle.loads(pickle.dumps(tree)).limits == tree.limits


def test_a_pendulum_rebounds_from_its_stops():
    """T at the stop is m g l (cos φ1 − cos φ0) less what the stops took: e² of it is left after each."""
    e, start, upper = 0.6, -1.0, 0.3
    arm = Joint("swing", axis=(0, 1, 0), body=BODY, limits=Limits(upper=upper))
    tree = Tree([arm], backend="vm")
    (wall,) = tree.stops(restitution=e)
    assert wall.name == "swing"
    motion = ap.simulate(tree.system([wall]), {"swing": start}, until=2.0, backend="vm")
    hit = motion.impacts[0]
    drop = 9.81 * 0.5 * (np.cos(upper) - np.cos(start))
    assert motion[tree.joint("swing")].max() < upper + 1e-9 and len(motion.impacts) >= 1
    after = motion.at(float(hit.time) + 1e-9)
    assert after[tree.joint("swing").d] == pytest.approx(-e * np.sqrt(2 * drop / (0.1 + 0.25)), rel=1e-5)


def test_limits_that_cannot_be_meant_are_refused():
    make = lambda limits, kind="revolute": Tree([Joint("a", kind, axis=(0, 1, 0), body=BODY, limits=limits)])
    for message, call in {
        "limits of joint 'a' must be ap.tree.Limits": lambda: make((0, 1)),
        "lower of a joint's limits must be a number": lambda: Limits("0"),  # type: ignore[arg-type]
        "upper of a joint's limits must be a number": lambda: Limits(0, np.nan),
        "leave it no way": lambda: make(Limits(1, 0)).stops(),
        "joint 'a' states no limits": lambda: make(None).stops("a"),
        "no movable joint 'b'": lambda: make(None).stops("b"),
        "has 7 coordinates": lambda: make(Limits(0, 1), "floating").stops(),
    }.items():
        with pytest.raises(ModelError, match=message):
            call()
    assert make(Limits(0, 0)).stops() == []  # the default of both in files
    assert make(None).stops() == [] and make(Limits(effort=1)).stops() == []


def test_a_method_is_pickled_after_its_first_use():
    """The crossing into machine code stands for the method of the tree."""
    tree = Tree([Joint("a", axis=(0, 1, 0), body=BODY)])
    q, v, tau = np.array([0.1]), np.array([0.2]), np.array([0.3])
    for name in ("forward_dynamics", "mass_matrix", "energy", "kinetic_energy", "inverse_dynamics_derivatives"):
        method = lambda: getattr(tree, name)  # noqa: B023
        arguments = {"mass_matrix": (q,), "energy": (q, v), "kinetic_energy": (q, v)}.get(name, (q, v, tau))
        before = method()(*arguments)
        assert np.all(np.asarray(pickle.loads(pickle.dumps(method()))(*arguments)) == np.asarray(before))


FOLLOWER = "<mimic joint='j_a' multiplier='-0.5' offset='0.1'/>"


def test_configurations_of_a_robot_keep_what_its_file_says(tmp_path: Path):
    """One limit alone has 0 as the other (URDF), two equal ones are none, a joint that follows another one follows it."""
    limits = {
        "a": "<limit lower='-1' upper='1' effort='1' velocity='1'/>", "half": "<limit upper='1.5' effort='1' velocity='1'/>",
        "none": "<limit lower='0' upper='0' effort='1' velocity='1'/>",
        "b": f"<limit lower='-0.2' upper='9' effort='1' velocity='1'/>{FOLLOWER}",
    }  # fmt: skip
    parts = [joint(f"j_{name}", "base", name, inner=text) for name, text in limits.items()]
    tree = Tree.from_urdf(robot(tmp_path, link("base"), *(link(name) for name in limits), *parts))
    assert (tree.limits["j_half"].lower, tree.limits["j_half"].upper) == (0.0, 1.5) and "0 … 1.5" in str(tree)
    assert tree.ranges == {"j_a": (-1.0, pytest.approx(0.6)), "j_half": (0.0, 1.5)}
    drawn = tree.random(0, 400)
    q = {name: drawn[:, tree.indices(f"j_{name}")[0]][:, 0] for name in limits}
    assert q["b"] == pytest.approx(0.1 - 0.5 * q["a"]) and q["a"].min() >= -1 and 0.5 < q["a"].max() <= 0.6
    assert q["half"].min() >= 0 and q["none"].min() < -2 and q["none"].max() > 2
    assert tree.named(tree.configuration({"j_a": 0.4}))["j_b"] == pytest.approx(-0.1)
    locked = tree.lock({"j_b": 0.3})
    assert locked.named(locked.random(1))["j_a"] == pytest.approx(-0.4)
    assert tree.base_parameters().rank == Tree.from_urdf(str(tree.source), mimic=False).base_parameters().rank


def test_the_reaction_of_a_stop_is_not_the_joint_of_its_name(tmp_path):
    """Stops of robot files are called as their joints: data, panels and files tell the force, not the angle."""
    link = "<link name='a'><inertial><origin xyz='0 0 -0.5'/><mass value='2'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link>"  # noqa: E501
    limit = "<axis xyz='0 1 0'/><limit lower='-1' upper='-0.2' effort='20' velocity='2'/>"
    joint = f"<joint name='arm' type='revolute'><parent link='w'/><child link='a'/>{limit}</joint>"
    tree = Tree.from_urdf(f"<robot name='r'><link name='w'/>{link}{joint}</robot>", backend="vm")
    motion = ap.simulate(tree, {"arm": -0.9}, until=1.5, backend="vm")
    held = -2 * 9.81 * 0.5 * np.sin(0.2)
    loaded = ap.load(motion.save(tmp_path / "arm.nc"))
    for one in (motion, loaded):
        assert one.contact_names == ("arm",) and one.dataset["reaction_arm"].values[-1] == pytest.approx(held)
        assert one.series(ReactionName("arm")).values[-1] == pytest.approx(held)
        assert one.series("arm").values[-1] == pytest.approx(-0.2)
