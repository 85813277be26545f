"""Robots from SDF and URDF files of later versions, joints with odd names, and what a robot is asked to reach: far away, in
small units, within limits of several coordinates. The reference is kinematics written here, with SciPy's rotations."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.families.family import family

import appell as ap
from appell.errors import AppellError
from appell.tree import Inertia, Joint, Limits, place
from appell.tree.fittings import JointStops

BODY = Inertia.at_centre(1.0, (0.1, 0.0, 0.2), np.diag([0.1, 0.2, 0.25]))
VERSIONS = ("1.12", "1.10", "1.11", "1.4", "1.3", "1.5", "1.6", "1.7", "1.8", "1.9", "2.0", "1.100", "1")
OLD = ("1", "1.3", "1.4")
"""Versions in which the axis of a joint is on the axes of the model."""


def said(*numbers: Any) -> str:
    return " ".join(repr(float(x)) for part in numbers for x in np.ravel(part))


@family(count=len(VERSIONS), sample=(0, 1, 3))
def versions_of_sdf(seed: int) -> None:
    rng, version = np.random.default_rng([21, seed]), VERSIONS[seed]
    turns, axis = rng.normal(size=(2, 3)), rng.normal(size=3)
    text = (
        f'<sdf version="{version}"><model name="m"><link name="a"><pose>0 0 0 {said(turns[0])}</pose></link><joint name="j"'
        f' type="revolute"><pose>0 0 0 {said(turns[1])}</pose><parent>world</parent><child>a</child><axis><xyz>{said(axis)}'
        "</xyz></axis></joint></model></sdf>"
    )
    link, own = (Rotation.from_euler("xyz", turn) for turn in turns)
    e = (Rotation.identity() if version in OLD else link * own).apply(axis / np.linalg.norm(axis))
    R, _ = ap.Tree.from_sdf(text, backend="vm").placement("a", [0.7])
    assert np.allclose(R, (Rotation.from_rotvec(0.7 * e) * link).as_matrix(), atol=1e-12), version


@family(count=12, sample=(0,))
def rotations_as_quaternions_in_urdf(seed: int) -> None:
    """As roll, pitch and yaw they give the same robot and the same pictures; two rotations and other lengths are refused."""
    rng = np.random.default_rng([22, seed])
    turns = Rotation.from_rotvec(rng.normal(size=(3, 3)) * (0.1, 1.0, 3.0)[seed % 3])

    def robot(rotations: list[str]) -> str:
        joint, body, box = (f'<origin xyz="1 2 3" {rotation}/>' for rotation in rotations)
        inertia = '<mass value="1"/><inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0" iyz="0.2"/>'
        link = f'<visual>{box}<geometry><box size="1 1 1"/></geometry></visual><inertial>{body}{inertia}</inertial>'
        hinge = f'<parent link="w"/><child link="a"/>{joint}<axis xyz="0 0 1"/>'
        links = f'<link name="w"/><link name="a">{link}</link>'
        return f'<robot name="r">{links}<joint name="j" type="revolute">{hinge}</joint></robot>'

    four = [f'quat_xyzw="{said(turn.as_quat())}"' for turn in turns]
    three = [f'rpy="{said(turn.as_euler("xyz"))}"' for turn in turns]
    one, other = (ap.Tree.from_urdf(robot(texts), backend="vm") for texts in (four, three))
    for mine, wanted in zip(one.placement("a", [0.3]), other.placement("a", [0.3]), strict=True):
        assert np.allclose(mine, wanted, atol=1e-12)
    assert np.allclose(one.dynamic_parameters, other.dynamic_parameters, atol=1e-12)
    assert np.allclose(one.shapes[0].placement.R, other.shapes[0].placement.R, atol=1e-12)
    for wrong, why in (
        (f'{four[0]} {three[0]}', "has rpy= and quat_xyzw="), ('quat_xyzw="0 0 0 2"', "has the length 2, not 1"),
        ('quat_xyzw="0 0 1"', "must be four finite numbers"),
    ):  # fmt: skip
        with pytest.raises(AppellError, match=re.escape(why)):
            ap.Tree.from_urdf(robot([wrong, *four[1:]]))
        drawn = ap.Tree.from_urdf(robot([*four[:2], wrong]), backend="vm").shapes[0]  # a picture does not stop the reader
        assert why.replace("four", "4") in drawn.problem


ATTRIBUTES = ("axis xyz", "limit effort", "dynamics damping", "mimic joint", "origin xyz")


@family(count=3 * len(ATTRIBUTES), sample=(0, 2))
def unknown_attributes_in_urdf(seed: int) -> None:
    """Each is in the notes."""
    tag, known = ATTRIBUTES[seed % len(ATTRIBUTES)].split()
    strange = ("stiffness", "Xyz", "joint_axis")[seed // len(ATTRIBUTES)]
    value = {"axis": "0 0 1", "origin": "0 0 1", "mimic": "k"}.get(tag, "1")
    links = "".join(f'<link name="{name}"/>' for name in "wab")
    joints = "".join(
        f'<joint name="{name}" type="revolute"><parent link="{up}"/><child link="{down}"/>{more}</joint>'
        for name, up, down, more in (("j", "w", "a", f'<{tag} {known}="{value}" {strange}="3"/>'), ("k", "a", "b", ""))
    )
    tree = ap.Tree.from_urdf(f'<robot name="r">{links}{joints}</robot>', backend="vm")
    assert f"joint 'j': <{tag} {strange}=…> is not known in URDF, and is not used" in tree.notes, tree.notes


@family(count=12, sample=(2,))
def free_joints_called_like_axes(seed: int) -> None:
    """Two free bodies: x_x is the place of joint "x" and a part of its quaternion, unless one of them gets another name."""
    names = ("x", "y", "z", "x_", "w", "base")[seed % 6], ("root", "z", "y", "x_x", "z_z", "x")[seed // 2]
    if names[0] == names[1]:
        return
    rng = np.random.default_rng([23, seed])
    trees = [
        ap.Tree([Joint(a, "floating", body=BODY), Joint(b, "floating", a, body=BODY)], backend="vm")
        for a, b in (names, ("one", "two"))
    ]
    q, v = trees[0].integrate(trees[0].neutral, rng.normal(size=12)), rng.normal(size=12)
    a, wanted = (ap.compile(tree.system(), backend="vm").acceleration(0.0, q, v)[0] for tree in trees)
    assert np.allclose(a, wanted, rtol=1e-12, atol=1e-12)


def carriage(kind: int, size: float) -> ap.Tree:
    """A gantry with a hand, a body on the plane with two hinges, or a free body with two hinges; lengths of this size."""
    hand = {"body": BODY, "placement": place([0.1 * size, 0, 0])}
    if kind == 0:
        way = Limits(0, 2 * size)
        slide = lambda name, up, axis: Joint(name, "prismatic", up, axis=axis, limits=way)
        joints = [slide("a", None, (1, 0, 0)), slide("b", "a", (0, 1, 0)), slide("c", "b", (0, 0, 1)),
                  Joint("hand", "revolute", "c", **hand)]  # fmt: skip
        return ap.Tree(joints, fittings=[JointStops()], backend="vm")
    base = Joint("base", ("planar", "floating")[kind - 1], body=BODY)
    return ap.Tree([base, Joint("arm", "revolute", "base", **hand), Joint("hand", "revolute", "arm", **hand)], backend="vm")


@family(count=18, sample=(0, 1, 5))
def ways_longer_than_a_metre(seed: int) -> None:
    """A gantry in millimetres and in other units of length, and vehicles whose target is far away."""
    rng, kind, step = np.random.default_rng([24, seed]), seed % 3, seed // 3
    size = (1e3, 1.0, 1e6, 1e-3, 1e-6, 30.0)[step] if kind == 0 else 1.0
    tree = carriage(kind, size)
    far = np.array([150.0, 10.0, 200.0, 1000.0, 3e4, 1e5])[step] * rng.normal(size=3)
    there = rng.uniform([0.2, 0.1, 0.1], [2.0, 1.9, 1.9]) * size if kind == 0 else far * (1, 1, kind - 1)
    found = tree.reach({"hand": there})
    assert found.ok, found.message
    off = np.linalg.norm(tree.placement("hand", found.q)[1] - there)
    assert off <= max(1e-9, 1e-13 * (size + np.linalg.norm(there))), off
    if kind == 0:
        assert np.allclose(found.q[:3], there - np.array([0.1 * size, 0, 0]), rtol=0, atol=1e-9 * max(size, 1.0))


def shoulder(rng: np.random.Generator) -> tuple[ap.Tree, float, float]:
    """A ball joint, a hinge, a second hinge; the limits of the ball's rotation and of the tendon along both hinges."""
    angle, most = rng.uniform(0.3, 2.0), rng.uniform(0.2, 1.0)
    hinge = '<joint name="{}" axis="0 {} 1"/><geom size=".05" pos=".3 0 0" mass="1"/>'
    text = (
        f'<mujoco><compiler angle="radian"/><worldbody><body name="a"><joint name="ball" type="ball" limited="true"'
        f' range="0 {angle}"/><geom size=".05" pos=".3 0 0" mass="1"/><body name="b" pos=".3 0 0">{hinge.format("h", 1)}'
        f'<body name="c" pos=".3 0 0">{hinge.format("k", 0)}<site name="tip" pos=".3 0 0"/></body></body></body></worldbody>'
        f'<tendon><fixed name="t" limited="true" range="-{most} {most}"><joint joint="h" coef="1"/><joint joint="k" coef="1"/>'
        "</fixed></tendon></mujoco>"
    )
    return ap.Tree.from_mjcf(text, backend="vm"), angle, most


def rotated_by(q: np.ndarray) -> Any:
    return 2 * np.arccos(np.clip(np.abs(q[..., 3]), 0, 1))


@family(count=24, sample=(0, 1))
def limits_of_several_coordinates(seed: int) -> None:
    """`reach` stays within limits of balls and tendons, and finds most of what can be reached so; `random` draws within those
    of balls, uniformly; `lock` refuses to leave them."""
    pytest.importorskip("mujoco")
    rng = np.random.default_rng([25, seed])
    tree, angle, most = shoulder(rng)
    q = tree.random(seed, 4000)
    turned = rotated_by(q)
    assert turned.max() <= angle + 1e-9
    shares = np.sort((turned - np.sin(turned)) / (angle - np.sin(angle)))  # uniform for uniform rotations up to the angle
    assert np.abs(shares - np.linspace(0, 1, 4000)).max() < 2.2 / np.sqrt(4000)  # Kolmogorov's bound at 1e-4
    inside = q[np.abs(q[:, 4] + q[:, 5]) < 0.9 * most][:4]
    for one in inside:
        found = tree.reach({"tip": tree.placement("tip", one)[1]})
        assert found.ok, found.message
        assert rotated_by(found.q) <= angle + 1e-8 and abs(found.q[4] + found.q[5]) <= most + 1e-8
    away = tree.reach({"tip": tree.placement("tip", [0, 0, 1, 0, 0, 0])[1], "b": np.diag([-1.0, -1.0, 1.0])})
    assert rotated_by(away.q) <= angle + 1e-4 or not away.ok
    free = tree.reach({"b": Rotation.from_rotvec([0, 0, min(angle + 0.4, 3.0)]).as_matrix()}, limits=False)
    assert free.ok
    with pytest.raises(AppellError, match="would be beyond their limits by"):
        tree.lock({"ball": [0, 0, np.sin(angle / 2 + 0.01), np.cos(angle / 2 + 0.01)]})
    with pytest.raises(AppellError, match="would be beyond their limits by"):
        tree.lock({"h": most, "k": 0.1})
