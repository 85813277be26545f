"""Robots from outside: files with parts missing, wrong names, impossible limits, unreachable targets, records with gaps.
Each is refused, or noted where the file can be used without it, by its element, joint, frame or sample."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.families.family import family

import appell as ap
from appell.errors import AppellError

LINK = (
    '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
SECOND = '<joint name="k" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
FIRST = '<joint name="j" type="{}"><parent link="{}"/><child link="a"/>{}</joint>'


def written(first: str, more: str = "") -> str:
    """A robot of two links on the ground "w": this joint, then SECOND."""
    return f'<robot name="r"><link name="w"/>{LINK.format("a")}{LINK.format("b")}{first}{SECOND}{more}</robot>'


def limited(**said: Any) -> str:
    said = {"lower": -1, "upper": 1, "effort": 5, "velocity": 2} | said
    parts = " ".join(f'{key}="{value}"' for key, value in said.items())
    return FIRST.format("revolute", "w", f"<limit {parts}/>")


REFUSED_FILES = {
    "joint 'j' has no <child": written('<joint name="j" type="revolute"><parent link="w"/></joint>'),
    "joint 'j' has no <parent": written('<joint name="j" type="revolute"><child link="a"/></joint>'),
    "joint 'j': its parent link 'zz'": written(FIRST.format("revolute", "zz", "")),
    "joint 'j' is of the unknown type ''": written('<joint name="j"><parent link="w"/><child link="a"/></joint>'),
    "joint 'j' is of the unknown type 'hinge'": written(FIRST.format("hinge", "w", "")),
    "a <joint> has no name": written('<joint type="revolute"><parent link="w"/><child link="a"/></joint>'),
    "two joints have the name 'k'": written(limited(), '<link name="c"/>' + SECOND.replace('"b"', '"c"')),
    "joint 'j': <limit lower='1' upper='-1'> leaves it no way": written(limited(lower=1, upper=-1)),
    "the axis of joint 'j' has length 0": written(FIRST.format("revolute", "w", '<axis xyz="0 0 0"/>')),
    "joint 'j': <axis xyz='0 1'>": written(FIRST.format("revolute", "w", '<axis xyz="0 1"/>')),
    "joint 'j': <dynamics damping='-1'>": written(FIRST.format("revolute", "w", '<dynamics damping="-1"/>')),
    "joint 'j': <dynamics friction='-1'>": written(FIRST.format("revolute", "w", '<dynamics friction="-1"/>')),
    "the mass of link 'a' is -1.0": written(limited()).replace('mass value="1"', 'mass value="-1"', 1),
    "the joints 'j' follow each other": written(FIRST.format("revolute", "w", '<mimic joint="j"/>')),
    "the robot has no <link>": '<robot name="x"></robot>',
    "not well-formed XML": '<robot name="x"><link',
    "there is no file 'robot.urdf'": "/nowhere/robot.urdf",
}
NOTED_FILES = {
    "joint 'j': <limit lower='nan'> is not a number": limited(lower="nan"),
    "joint 'j': <limit upper='one'> is not a number": limited(upper="one"),
    "joint 'j': <limit effort='-5'> is negative": limited(effort=-5),
    "joint 'j': <limit velocity='-2'> is negative": limited(velocity=-2),
    "joint 'j': <mimic joint='qq'> is not applied": FIRST.format("revolute", "w", '<mimic joint="qq"/>'),
}
TIMES, VALUES = np.linspace(0, 1, 11), np.sin(np.linspace(0, 1, 11))


def spoilt(array: np.ndarray, value: float) -> np.ndarray:
    """With another fifth sample."""
    return np.where(np.arange(len(array)) == 4, value, array)


def asked(tree: ap.Tree) -> dict[str, Callable[[], Any]]:
    """Requests that cannot be met, by what is said of them."""
    record = ap.sampled(TIMES, VALUES, name="m")
    return {
        "j starts at 2, outside its limits -1 … 1": lambda: ap.simulate(tree, {tree.joint("j"): 2.0}, until=0.1),
        "joint 'j' is locked at 5, outside its limits -1 … 1": lambda: tree.lock({"j": 5.0}),
        "has no joint 'zz' that moves; it has j, k": lambda: tree.lock({"zz": 1.0}),
        "has no joint 'q' that moves": lambda: tree.configuration({"q": 1.0}),
        "there is no frame 'tol'": lambda: tree.reach({"tol": [0, 0, 0]}),
        "target of frame 'b' must be finite": lambda: tree.reach({"b": [np.nan, 0, 0]}),
        "target of frame 'b' is a position": lambda: tree.reach({"b": [1, 2]}),
        "target of frame 'b' has a matrix that is no rotation": lambda: tree.reach({"b": np.ones((3, 3))}),
        "there is no frame 'zz'": lambda: tree.placement("zz", [0, 0]),
        "the wrench at frame 'b' is": lambda: tree.inverse_dynamics([0, 0], [0, 0], [0, 0], external={"b": [np.nan] * 6}),
        "movable joint 'zz'": lambda: tree.stops("zz"),
        "sample 4 of the record 'record' is a gap among its values": lambda: ap.sampled(TIMES, spoilt(VALUES, np.nan)),
        "sample 4 of the record 'masked' is a gap": lambda: ap.sampled(
            TIMES, np.ma.masked_array(VALUES, mask=np.arange(11) == 4), name="masked"
        ),
        "sample 4 of the record 'record' is a gap among its times": lambda: ap.sampled(spoilt(TIMES, np.nan), VALUES),
        "sample 4 (t = 0.3) repeats the time of sample 3": lambda: ap.sampled(spoilt(TIMES, TIMES[3]), VALUES),
        "sample 1 (t = 0.9) comes before sample 0": lambda: ap.sampled(TIMES[::-1], VALUES),
        "has 11 times and 10 values": lambda: ap.sampled(TIMES, VALUES[:-1]),
        "over 0 … 1 s, hold='linear'; the run needs t = 3": lambda: ap.simulate(
            tree.system(forces={tree.joint("j").d: record}), until=3.0
        ),
        "effort of a joint's limits is -1": lambda: ap.tree.Limits(effort=-1),
    }


@family(count=len(REFUSED_FILES), sample=(7, 12))
def files_that_are_refused(seed: int) -> None:
    said = list(REFUSED_FILES)[seed]
    with pytest.raises(AppellError, match=re.escape(said)):
        ap.Tree.from_urdf(REFUSED_FILES[said])


@family(count=3 * len(NOTED_FILES), sample=(2,))
def files_that_are_used_without_a_part(seed: int) -> None:
    """Of hinges, slides, and hinges of a floating robot."""
    said, kind = list(NOTED_FILES)[seed // 3], seed % 3
    text = written(NOTED_FILES[said].replace("revolute", "prismatic") if kind == 1 else NOTED_FILES[said])
    tree = ap.Tree.from_urdf(text, floating=kind == 2)
    assert any(note.startswith(said) for note in tree.notes), tree.notes
    assert all(limit.effort >= 0 and limit.velocity >= 0 for limit in tree.limits.values())


@family(count=19, sample=(1, 12))
def requests_that_cannot_be_met(seed: int) -> None:
    tree = ap.Tree.from_urdf(written(limited()), backend="vm")
    requests = asked(tree)
    assert len(requests) == 19
    said = list(requests)[seed]
    with pytest.raises(AppellError, match=re.escape(said)):
        requests[said]()


@family(count=12, sample=(0,))
def targets_out_of_reach(seed: int) -> None:
    """The best configuration, and by how much it misses: the frame stands at the origin, whatever the joints do."""
    tree = ap.Tree.from_urdf(written(limited()), backend="vm")
    far = np.array([3.0, 0, 0]) if seed == 0 else 10 ** (seed / 4 - 1) * np.random.default_rng(seed).normal(size=3)
    found = tree.reach({"b": far})
    miss = re.search(r"frame 'b' misses its target by (\S+) m", found.message)
    assert not found.ok and miss and float(miss[1]) == pytest.approx(np.linalg.norm(far), rel=0.01)
