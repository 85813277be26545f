"""MJCF robots whose parts change what others do: names that become equal symbols, flags, margins, gravity that is replaced,
uneven ranges. The reference is MuJoCo's acceleration, or where it comes to rest; what is not read is refused by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.families.family import family

import appell as ap
from appell.errors import AppellError

BOX = '<geom type="box" size=".1 .2 .3" pos=".2 .1 .3" mass="1"/>'
ARM = (
    f'<body name="a" {{a}}><joint name="{{first}}" axis="0 1 0" {{h1}}/>{BOX}'
    f'<body name="b" pos="0 0 .5" {{b}}><joint name="{{second}}" axis="1 0 0" {{h2}}/>{BOX}</body></body>'
)
PARTS = {"a": "", "b": "", "h1": "", "h2": "", "first": "h1", "second": "h2"}
OUT_OF_CONTACT = '<flag contact="disable"/>'


def written(more: str = "", option: str = OUT_OF_CONTACT, **parts: str) -> str:
    """An arm of two hinges with these attributes of its bodies (a, b) and joints (h1, h2; first, second are their names)."""
    world = ARM.format(**{**PARTS, **parts})
    return f'<mujoco><compiler angle="radian"/><option>{option}</option><worldbody>{world}</worldbody>{more}</mujoco>'


def accelerations(
    text: str, seed: int, controls: Mapping[str, float] | None = None, gravity: Any = None, *, still: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """v̇ here and in MuJoCo at a random state; still: both joints turn alike from zero, which an equality of them admits."""
    mujoco = pytest.importorskip("mujoco")
    rng, controls = np.random.default_rng([6, seed]), controls or {}
    model = mujoco.MjModel.from_xml_string(text)
    tree = ap.Tree.from_mjcf(text, backend="vm") if gravity is None else ap.Tree.from_mjcf(text, gravity=gravity, backend="vm")
    if gravity is not None:
        model.opt.gravity[:] = gravity
    data, q, v = mujoco.MjData(model), rng.normal(size=2) * (not still), rng.normal(size=2)
    v = v[[0, 0]] if still else v
    data.qpos[:], data.qvel[:] = q, v
    for k, value in enumerate(controls.values()):
        data.ctrl[k] = value
    mujoco.mj_forward(model, data)
    inputs = {tree.actuators[name]: value for name, value in controls.items()}
    a, _ = ap.compile(tree.system(), parameters=inputs, backend="vm").acceleration(0.0, q, v)
    return a, np.array(data.qacc)


ALIKE = [
    ("a-b", "a_b"), ("left arm", "left_arm"), ("m.1", "m_1"), ("m/1", "m-1"), ("x:1", "x_1"), ("hip+", "hip_"), ("1", "_1"),
    ("t", "t_"), ("lambda", "lambda_"), ("a(b", "a)b"), ("a b", "a-b"), ("è-1", "è_1"),
]  # fmt: skip


@family(count=3 * len(ALIKE), sample=(0, 1))
def actuators_with_names_alike(seed: int) -> None:
    """On joints called otherwise; called as one of the inputs; and both."""
    one, two = ALIKE[seed % len(ALIKE)]
    word = re.sub(r"\W", "_", one)
    joints = ({}, {"first": f"u_{word}"}, {"first": f"u_{word}_", "second": f"u_{word}"})[seed // len(ALIKE)]
    first, second = (joints.get(key, PARTS[key]) for key in ("first", "second"))
    motors = f'<actuator><motor name="{one}" joint="{first}"/><motor name="{two}" joint="{second}"/></actuator>'
    u = np.random.default_rng([7, seed]).normal(size=2) * 3
    a, wanted = accelerations(written(motors, **joints), seed, {one: float(u[0]), two: float(u[1])})
    assert np.allclose(a, wanted, rtol=1e-9, atol=1e-9), (one, two, a, wanted)


@family(count=12, sample=(0, 1))
def weights_carried_in_another_gravity(seed: int) -> None:
    rng = np.random.default_rng([8, seed])
    g, (one, two) = rng.normal(size=3) * 5, rng.uniform(0, 1.5, 2)
    passive = ("", 'spring="disable"', 'spring="disable" damper="disable"')[seed % 3]
    option = f'<flag contact="disable" {passive}/>'
    text = written(a=f'gravcomp="{one}"', b=f'gravcomp="{two}"', option=option)
    a, wanted = accelerations(text, seed, gravity=g.tolist() if seed % 4 < 3 else None)
    assert np.allclose(a, wanted, rtol=1e-9, atol=1e-9), (a, wanted)


SOLVED_PARTS = (
    {"h1": 'frictionloss="{}"', "h2": 'frictionloss="{}"'}, {"h1": 'limited="true" range="-{} -.1"'},
    {"more": '<equality><joint joint1="h1" joint2="h2"/></equality>'},
    {"more": '<tendon><fixed frictionloss="{}"><joint joint="h1" coef="1"/></fixed></tendon>'},
    {"more": '<tendon><fixed limited="true" range="-{} -.1"><joint joint="h1" coef="1"/></fixed></tendon>'},
    {"more": '<equality><connect body1="b" anchor=".1 .1 {}"/></equality>'},
)  # fmt: skip


@family(count=2 * len(SOLVED_PARTS), sample=(0, 2))
def constraints_that_a_flag_switches_off(seed: int) -> None:
    size = np.random.default_rng([9, seed]).uniform(0.5, 4)
    parts = {key: text.format(size) for key, text in SOLVED_PARTS[seed % len(SOLVED_PARTS)].items()}
    text = written(option='<flag contact="disable" constraint="disable"/>', **parts)
    a, wanted = accelerations(text, seed, still=True)
    assert np.allclose(a, wanted, rtol=1e-9, atol=1e-9), (parts, a, wanted)


@family(count=12, sample=(0, 2))
def limits_with_margins(seed: int) -> None:
    """A body falls to its limit and rests there; MuJoCo's limits are as hard as it allows."""
    mujoco = pytest.importorskip("mujoco")
    rng, kind = np.random.default_rng([10, seed]), ("hinge", "slide", "ball", "tendon")[seed % 4]
    margin, upper = rng.uniform(0.05, 0.3), rng.uniform(0.4, 1.0)
    limit = f'limited="true" range="{0 if kind == "ball" else -upper} {upper}" margin="{margin}" solimplimit=".9999 .9999 .001"'
    axis = {"hinge": 'axis="0 1 0"', "ball": "", "slide": 'axis="0 0 -1"', "tendon": 'axis="0 0 1"'}[kind]
    joint = f'type="{"slide" if kind == "tendon" else kind}" {axis} {limit if kind != "tendon" else ""}'
    tendon = f'<tendon><fixed {limit}><joint joint="h" coef="1"/></fixed></tendon>' if kind == "tendon" else ""
    text = (
        f'<mujoco><compiler angle="radian"/><option timestep="1e-3">{OUT_OF_CONTACT}</option><worldbody><body name="a">'
        f'<joint name="h" damping="2" {joint}/><geom size=".05" pos=".3 0 0" mass="1"/></body></worldbody>{tendon}</mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for _ in range(8000):
        mujoco.mj_step(model, data)
    tree = ap.Tree.from_mjcf(text, backend="vm")
    end = np.array([ap.simulate(tree, {}, until=8.0, backend="vm")[str(x)][-1] for x in np.ravel(tree.joint("h"))], dtype=float)
    there = np.roll(data.qpos, -1) * np.sign(data.qpos[0]) * np.sign(end[-1]) if kind == "ball" else data.qpos
    assert np.allclose(end, there, atol=2e-3), (kind, end, there)  # of what MuJoCo's soft limit gives way


@family(count=12, sample=(0, 1))
def forces_that_are_limited_unevenly(seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    least, most = (-1.0, 5.0) if seed == 0 else np.sort(rng.normal(size=2) * 4 + (seed % 3 - 1)).tolist()
    tree = ap.Tree.from_mjcf(written(h1=f'actuatorfrcrange="{least} {most}" actuatorfrclimited="true"'), backend="vm")
    tau = rng.normal(size=(20, 2)) * 8
    wanted = np.column_stack([np.minimum(np.maximum(tau[:, 0], least), most), tau[:, 1]])
    assert np.array_equal(tree.clipped(tau), wanted)
    (v, u), *_ = tree.inputs().items()
    clipped = tree.clipped({v: u})[v]
    assert np.allclose([float(clipped.subs(u, x)) for x in tau[:, 0]], wanted[:, 0], atol=1e-14)


MOTOR = '<actuator><motor name="m" joint="h1" {}/></actuator>'
FREE = '<mujoco><worldbody><body name="f"><joint name="f" type="free" {}/>' + BOX + "</body></worldbody></mujoco>"
UNREAD = {
    "the delay of actuator 'm'": written(MOTOR.format('delay=".{}" nsample="500"')),
    "polynomial damping of actuator 'm'": written(MOTOR.format('damping="0 .{}"')),
    "frictionloss of the translations of free joint 'f'": FREE.format('frictionloss=".{}"'),
    "the margin of joint 'h1' leaves it no way": written(h1='limited="true" range="-.1 .1" margin="1.{}"'),
    "the margin of tendon 't' leaves it no way": written(
        '<tendon><fixed name="t" limited="true" range="-.1 .1" margin="1.{}"><joint joint="h1" coef="1"/></fixed></tendon>'
    ),
    "the armature of free joint 'f'": FREE.format('armature=".{}"'),
}


@family(count=2 * len(UNREAD), sample=(0, 2))
def parts_that_are_not_read(seed: int) -> None:
    pytest.importorskip("mujoco")
    said = list(UNREAD)[seed % len(UNREAD)]
    with pytest.raises(AppellError, match=re.escape(said)):
        ap.Tree.from_mjcf(UNREAD[said].format(seed + 1), backend="vm")


NAMED = ("world", "world_", "body a", "body b", "site s", "a", "b", "s", "link b", "joint b", "h1_", "base")


def tied(name: str) -> str:
    """The first joint, a tendon and an equality have this name; the equality ties a point of b to the ground."""
    ties = (
        f'<tendon><fixed name="{name}" limited="true" range="-9 9"><joint joint="{name}" coef="1"/></fixed></tendon>'
        f'<equality><connect name="{name}" body1="b" body2="world" anchor=".1 .2 0"/></equality>'
    )
    text = written(ties, first=name, h1='limited="true" range="-8 8" pos=".1 0 0"')
    return text.replace(BOX, f'{BOX}<site name="s" pos=".1 .2 .3"/>', 1)


@family(count=len(NAMED), sample=(0, 2))
def joints_called_like_other_parts(seed: int) -> None:
    """A joint with the name of the ground, of a body, of a site or of what the reader adds moves like one with its own name."""
    pytest.importorskip("mujoco")
    systems = (ap.Tree.from_mjcf(tied(name), backend="vm").system() for name in (NAMED[seed], "plain"))
    a, wanted = (ap.compile(one, backend="vm").acceleration(0.0, np.zeros(2), np.zeros(2))[0] for one in systems)
    assert np.allclose(a, wanted, rtol=1e-12, atol=1e-12), (NAMED[seed], a, wanted)
