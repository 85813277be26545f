"""SDF files to joints: one <model>, its links, joints and frames with poses that may be relative to each other.

Poses are resolved to the model's frame first. A link that is the child of a second joint closes a loop: that joint becomes
exact rows (`ap.tree.loop`). Links without an inbound joint are free, as in a simulator; a joint with the parent "world", or
<static>, fixes them. At q = 0 a robot is where the file puts it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

import numpy as np

from appell.errors import ModelError
from appell.reading import shown
from appell.spelling import checked_keywords
from appell.tree.description import Joint, Limits, unit_axis
from appell.tree.fittings import Coupling
from appell.tree.frames import basis
from appell.tree.inertia import HERE, Inertia, Placement
from appell.tree.readers.document import Document
from appell.tree.readers.file_rotations import rpy_of
from appell.tree.readers.joint_fittings import StatedJoint, joint_fittings
from appell.tree.readers.robot import Robot
from appell.tree.readers.sdf_poses import WORLD, Poses, numbers, only, value
from appell.tree.readers.sdf_shapes import link_shapes
from appell.tree.readers.xml import parse_xml
from appell.tree.tendons import JoinedFrames

KINDS: dict[str, tuple[str, ...]] = {
    "revolute": ("revolute",), "continuous": ("continuous",), "prismatic": ("prismatic",), "ball": ("spherical",),
    "fixed": ("fixed",), "universal": ("revolute", "revolute"), "revolute2": ("revolute", "revolute"),
}  # fmt: skip
"""Type of a joint → the joints it is made of; screw and gearbox raise."""

LOOPS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "spherical", "fixed": "fixed"}
"""Type of a joint that closes a loop → the kind of the loop."""

BOUNDLESS = 1e16
"""Limits this large mean no limit in SDF."""

LATEST_VERSION = "1.12"
"""The version of the format that a file without version= is read as."""

AXES_IN_MODEL_BEFORE = (1, 5)
"""In earlier versions axes are on the axes of the model, since then on those of the joint."""

UNREAD = {"model": "nested models", "include": "included models", "gripper": "grippers"}
"""Elements of a model whose bodies or forces would be missing."""


@dataclass(frozen=True, eq=False)
class SdfJoint:
    """A <joint>: its ends, its pose in the model's frame, and the properties of each axis."""

    name: str
    type: str
    parent: str
    child: str
    pose: Placement
    axes: tuple[StatedJoint, ...]


@checked_keywords()
def read_sdf(
    document: Document, *, model: str | None = None, limits: bool = True, damping: bool = True, friction: bool = True,
    mimic: bool = True,
) -> Robot:  # fmt: skip
    """The model of a file; options as those of `Tree.from_sdf`."""
    root = parse_xml(document.data, document.where, "utf-8" if document.decoded else None)
    if root.tag != "sdf":
        raise ModelError(f"{document.where}: the root element is <{root.tag}>, expected <sdf>")
    chosen, gravity = _model(root, model, document.where)
    name = chosen.get("name") or "robot"
    for tag, content in UNREAD.items():
        if chosen.find(tag) is not None:
            raise ModelError(f"model '{name}' has <{tag}>: {content} are not read; write their links into the model")
    notes: list[str] = []
    poses = Poses.of(chosen)
    names = {element.get("name") or "": _part_names(element) for element in chosen.findall("joint")}
    joints = [_joint(element, poses, _version(root), names) for element in chosen.findall("joint")]
    built = _Builder(chosen, poses, joints, notes)
    built.run()
    rows = [row for joint in joints if joint not in built.loops and not built.is_static for row in joint.axes]
    _note_unread(chosen, notes)
    stated = {"limits": limits, "damping": damping, "friction": friction, "mimic": mimic, "notes": notes}
    loops = [] if built.is_static else built.loops
    fittings = [*joint_fittings(rows, **stated), *(_loop(joint, poses) for joint in loops)]
    for joint in loops:
        notes.append(f"joint '{joint.name}' closes a loop: it is made of exact rows, without limits and losses")
    return Robot(name, built.tree_joints, notes, tuple(link_shapes(chosen, poses)), gravity, fittings)


UNUSED = ("plugin", "velocity_decay", "kinematic", "enable_wind")
"""Elements of a model and of its links that act in a simulator, but not here."""


def _note_unread(model: Element, notes: list[str]) -> None:
    for tag in UNUSED:
        for owner in (model, *model.findall("link")):
            element = owner.find(tag)
            if element is not None and (element.text or "").strip().lower() not in ("0", "false"):
                notes.append(f"{owner.tag} '{owner.get('name')}' has <{tag}>, which is not read")


def _version(root: Element) -> tuple[int, ...]:
    """1.12 → (1, 12), which is later than (1, 5)."""
    stated = root.get("version") or LATEST_VERSION
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4})*", stated.strip()):
        raise ModelError(f"<sdf version={shown(stated)}> must be a version such as {LATEST_VERSION}")
    return tuple(map(int, stated.strip().split(".")))


def _model(root: Element, wanted_name: str | None, where: str) -> tuple[Element, tuple[float, float, float] | None]:
    """The one <model>, or the one of this name, and the gravity of its <world>."""
    worlds = {m: world for world in root.findall("world") for m in world.findall("model")}
    models = [*root.findall("model"), *worlds]
    if wanted_name is not None:
        models = [m for m in models if m.get("name") == wanted_name]
    if len(models) != 1:
        names = ", ".join(repr(m.get("name")) for m in root.iter("model")) or "none"
        raise ModelError(f"{where}: a robot is one <model>; there are {names}: choose by model='…'")
    stated = worlds[models[0]].find("gravity") if models[0] in worlds else None
    gravity = None if stated is None else numbers(stated, 3, "<gravity>")
    return models[0], None if gravity is None else (gravity[0], gravity[1], gravity[2])


def _part_names(element: Element) -> tuple[str, ...]:
    """Names of the joints that a <joint> is made of: its own, or NAME_1 and NAME_2."""
    name, count = element.get("name") or "", len(KINDS.get(element.get("type") or "", ("",)))
    return (name,) if count == 1 else tuple(f"{name}_{k + 1}" for k in range(count))


def _joint(element: Element, poses: Poses, version: tuple[int, ...], names: Mapping[str, tuple[str, ...]]) -> SdfJoint:
    name, kind = element.get("name") or "", element.get("type") or ""
    where = f"joint '{name}'"
    if kind not in KINDS:
        raise ModelError(f"{where} is of the type {shown(kind)}, which is not read; {', '.join(KINDS)} are")
    ends = [(only(element, tag, where), tag) for tag in ("parent", "child")]
    for end, tag in ends:
        if end is None or not (end.text or "").strip():
            raise ModelError(f"{where} has no <{tag}>")
    parent, child = (poses.link_of((end.text or "").strip(), where) for end, _ in ends if end is not None)
    if child == WORLD:
        raise ModelError(f"{where}: the world is the child; make it the parent")
    if child == parent:
        raise ModelError(f"{where} joins link '{child}' to itself")
    pose, axes = poses[name], []
    for part_name, part_kind, tag in zip(names[name], KINDS[kind], ("axis", "axis2"), strict=False):
        axis = only(element, tag, where)
        direction = (
            _direction(axis, pose, poses, version, where) if part_kind not in ("fixed", "spherical") else (0.0, 0.0, 1.0)
        )
        axes.append(_stated_joint(part_name, part_kind, direction, axis, where, names))
    return SdfJoint(name, kind, parent, child, pose, tuple(axes))


def _direction(axis: Element | None, pose: Placement, poses: Poses, version: tuple[int, ...], where: str) -> tuple[float, ...]:
    """The unit axis in the joint's frame."""
    stated = None if axis is None else only(axis, "xyz", where)
    xyz = np.array([0.0, 0.0, 1.0] if stated is None else numbers(stated, 3, f"<xyz> of {where}"))
    frame = "" if stated is None else stated.get("expressed_in") or ""
    flagged = axis is not None and value(axis, "use_parent_model_frame", where, "false").lower() in ("1", "true")
    in_model_frame = flagged or (axis is not None and version < AXES_IN_MODEL_BEFORE)
    R = poses[frame].R if frame else np.eye(3) if in_model_frame else pose.R
    return tuple(unit_axis(pose.R.T @ R @ xyz, where).tolist())


def _stated_joint(
    name: str, kind: str, axis: Sequence[float], element: Element | None, where: str, names: Mapping[str, tuple[str, ...]]
) -> StatedJoint:
    """Limits, damping, friction, spring and mimic of one axis; names: of the joints that each <joint> is made of."""
    if element is None or kind in ("fixed", "spherical"):
        return StatedJoint(Joint(name, kind, axis=axis))
    number = lambda element_read, tag, default: float(numbers_of(element_read, tag, where, default))
    limit, dynamics, mimic = (only(element, tag, where) for tag in ("limit", "dynamics", "mimic"))
    bound = lambda x, otherwise: otherwise if abs(x) >= BOUNDLESS else x
    ends = {"lower": -math.inf, "upper": math.inf, "velocity": math.inf, "effort": math.inf}
    if limit is not None:
        lower, upper = (number(limit, key, sign * math.inf) for key, sign in (("lower", -1), ("upper", 1)))
        caps = {key: x if (x := number(limit, key, math.inf)) >= 0 else math.inf for key in ("velocity", "effort")}
        ends = {"lower": bound(lower, -math.inf), "upper": bound(upper, math.inf), **caps}
    if kind == "continuous":
        ends |= {"lower": -math.inf, "upper": math.inf}
    losses = {"damping": 0.0, "friction": 0.0, "spring_stiffness": 0.0, "spring_reference": 0.0}
    if dynamics is not None:
        losses = {key: number(dynamics, key, 0.0) for key in losses}
        if min(losses["damping"], losses["friction"]) < 0:
            raise ModelError(f"{where}: <dynamics> must not be negative")
    follows = None
    if mimic is not None:
        factor, offset, reference = (
            number(mimic, key, float(key == "multiplier")) for key in ("multiplier", "offset", "reference")
        )
        follows = Coupling(name, _leader(mimic, names), (offset - factor * reference, factor))
    joint = Joint(name, kind, axis=axis, limits=Limits(**ends) if limit is not None else None)
    viscous, dry, stiffness, rest = losses.values()
    return StatedJoint(joint, viscous, dry, follows, stiffness, rest)


def _leader(mimic: Element, names: Mapping[str, tuple[str, ...]]) -> str:
    """The leader; for a joint with two axes the one named by axis=, by default the first."""
    stated = mimic.get("joint") or ""
    joints = names.get(stated, (stated,))
    return joints[-1 if mimic.get("axis") == "axis2" else 0]


def numbers_of(element: Element, tag: str, where: str, default: float) -> float:
    text = value(element, tag, where, "")
    if not text:
        return default
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ModelError(f"{where}: <{tag}>{text}</{tag}> is not a number")
    return number


class _Builder:
    """Joints with parents first, depth first in the order of the file."""

    def __init__(self, model: Element, poses: Poses, joints: Sequence[SdfJoint], notes: list[str]):
        self.poses, self.joints, self.notes, self.model = poses, joints, notes, model
        self.bodies = {link.get("name") or "": _body(link, notes) for link in model.findall("link")}
        self.tree_joints: list[Joint] = []
        self.carrier: dict[str, tuple[str, Placement]] = {}
        self.loops: list[SdfJoint] = []
        self.used_names = {row.joint.name for joint in joints for row in joint.axes}
        self.is_static = value(model, "static", "the model", "false").lower() in ("1", "true")  # no part of it moves

    def run(self) -> None:
        if not self.bodies:
            raise ModelError(f"model '{self.model.get('name')}' has no <link>")
        self.carrier[WORLD] = (self._add(Joint(self._fresh("world"), "fixed")), self.poses.model.inverse)
        self._grow(WORLD)
        children = {joint.child for joint in self.joints}
        roots = [link for link in self.bodies if link not in children and link not in self.carrier]
        for link in [*roots, *self.bodies]:  # links not reached from the roots are on cycles of joints
            if link in self.carrier:
                continue
            kind, name = ("fixed", f"{link} (static)") if self.is_static else ("floating", self._base())
            pose = self.poses.model @ self.poses[link]
            self._add(Joint(self._fresh(name), kind, None, pose, body=self.bodies[link], link=link))
            self.carrier[link] = (self.tree_joints[-1].name, self.poses[link])
            self._grow(link)
        self._frames()

    def _base(self) -> str:
        return "root_joint" if not any(joint.kind == "floating" for joint in self.tree_joints) else "root_joint_2"

    def _fresh(self, name: str) -> str:
        while name in self.used_names:
            name += "_"
        self.used_names.add(name)
        return name

    def _add(self, joint: Joint) -> str:
        self.tree_joints.append(joint)
        return joint.name

    def _grow(self, link: str) -> None:
        stack = [joint for joint in reversed(self.joints) if joint.parent == link]
        while stack:
            joint = stack.pop()
            if joint.child in self.carrier:
                if joint not in self.loops:
                    self.loops.append(joint)
                continue
            self._mount(joint)
            stack.extend(next_joint for next_joint in reversed(self.joints) if next_joint.parent == joint.child)

    def _mount(self, joint: SdfJoint) -> None:
        """The joints of `joint` on the carrier of its parent, and its child's body and frame behind them."""
        carrier, home = self.carrier[joint.parent]
        placement = home.inverse @ joint.pose
        for row in joint.axes:
            stated = row.joint
            self._add(
                Joint(
                    stated.name,
                    "fixed" if self.is_static else stated.kind,
                    carrier,
                    placement,
                    stated.axis,
                    limits=stated.limits,
                )
            )
            carrier, placement = stated.name, HERE
        offset = joint.pose.inverse @ self.poses[joint.child]
        body = {"body": self.bodies[joint.child], "link": joint.child}
        if (np.eye(3) == offset.R).all() and not offset.p.any():
            self.tree_joints[-1] = replace(self.tree_joints[-1], **body)
        else:
            self._add(Joint(self._fresh(f"link {joint.child}"), "fixed", carrier, offset, **body))
        self.carrier[joint.child] = (self.tree_joints[-1].name, self.poses[joint.child])

    def _frames(self) -> None:
        """Frames of the file, fixed to the links that they are attached to."""
        links = {joint.link for joint in self.tree_joints} | {joint.name for joint in self.tree_joints}
        for name, link in self.poses.frames.items():
            carrier, home = self.carrier[link]
            link_name = None if name in links else name
            self._add(Joint(self._fresh(f"frame {name}"), "fixed", carrier, home.inverse @ self.poses[name], link=link_name))


def _body(link: Element, notes: list[str]) -> Inertia:
    """SDF's defaults: 1 kg, 1 kg m² about each axis."""
    where = f"link '{link.get('name')}'"
    if value(link, "gravity", where, "true").lower() in ("0", "false"):
        raise ModelError(f"{where}: <gravity>false</gravity> is not read; gravity acts on all links")
    inertial = only(link, "inertial", where)
    if inertial is None:
        notes.append(f"{where} has no <inertial>: it has SDF's default, 1 kg and 1 kg m²")
        return Inertia.at_centre(1.0, np.zeros(3), np.eye(3), where)
    if inertial.find("fluid_added_mass") is not None or (inertial.get("auto") or "false").lower() in ("1", "true"):
        raise ModelError(f"{where}: <inertial auto=…> and <fluid_added_mass> are not read; write the numbers")
    stated = only(inertial, "inertia", where)
    keys = {"ixx": 1.0, "ixy": 0.0, "ixz": 0.0, "iyy": 1.0, "iyz": 0.0, "izz": 1.0}
    xx, xy, xz, yy, yz, zz = (d if stated is None else numbers_of(stated, key, where, d) for key, d in keys.items())
    pose = Poses.local_pose(only(inertial, "pose", where), f"the <inertial> of {where}")
    J = pose.R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ pose.R.T
    body = Inertia.at_centre(numbers_of(inertial, "mass", where, 1.0), pose.p, (J + J.T) / 2, where, as_stated=True)
    if reason := body.impossible():
        notes.append(f"{where}: <inertial> is not that of a body, {reason}; it is used as it stands")
    return body


def _loop(joint: SdfJoint, poses: Poses) -> JoinedFrames:
    """The rows of a joint that closes a loop: its frame, z along its axis, on the parent and on the child."""
    if joint.type not in LOOPS:
        raise ModelError(f"joint '{joint.name}' of the type {joint.type} closes a loop; {', '.join(LOOPS)} can")
    axis = np.asarray(joint.axes[0].joint.axis, float)
    frame = joint.pose @ Placement(basis(axis) if joint.type not in ("ball", "fixed") else np.eye(3), np.zeros(3))
    parent = poses.model.inverse if joint.parent == WORLD else poses[joint.parent]
    ends = [(link, home.inverse @ frame) for link, home in ((joint.parent, parent), (joint.child, poses[joint.child]))]
    a, b = ((link, tuple(X.p.tolist()), rpy_of(X.R)) for link, X in ends)
    return JoinedFrames(joint.name, a, b, LOOPS[joint.type])


__all__ = ["read_sdf"]
