"""Poses in SDF: x y z and three angles, relative to links, joints and frames, resolved to the model's frame."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

import numpy as np

from appell.errors import ModelError
from appell.tree.inertia import HERE, Placement, place
from appell.tree.readers.file_rotations import rotation

WORLD, MODEL = "world", "__model__"


def only(element: Element, tag: str, where: str) -> Element | None:
    """The one <tag> of an element, if there is one."""
    children = element.findall(tag)
    if len(children) > 1:
        raise ModelError(f"{where} has {len(children)} <{tag}>; keep the one that is meant")
    return children[0] if children else None


def value(element: Element, tag: str, where: str, default: str) -> str:
    """The text of <tag>, stripped."""
    child = only(element, tag, where)
    return default if child is None else (child.text or "").strip()


def numbers(element: Element, count: int, where: str) -> tuple[float, ...]:
    """The numbers in the text of an element."""
    text = element.text or ""
    try:
        values = tuple(float(word) for word in text.split() if word.isascii() and "_" not in word)
    except ValueError:
        values = ()
    if len(values) != count or len(values) != len(text.split()) or not all(map(math.isfinite, values)):
        raise ModelError(f"{where}: <{element.tag}>{text.strip()[:80]}</{element.tag}> must be {count} finite numbers")
    return values


@dataclass(frozen=True, eq=False)
class _StatedPose:
    """A pose and the frame that it is relative to."""

    pose: Placement
    relative: str


@dataclass(eq=False)
class Poses:
    """Placements in the model's frame by name of a link, joint or frame; model: the placement of the model in the world.

    frames: <frame> → the link it is attached to. first: the link that the model's own frame is attached to.
    """

    model: Placement
    stated: dict[str, _StatedPose]
    links: tuple[str, ...]
    children: dict[str, str]
    frames: dict[str, str] = field(default_factory=dict)
    placements: dict[str, Placement] = field(default_factory=dict)
    first: str = MODEL

    @staticmethod
    def of(model: Element) -> Poses:
        model_pose = only(model, "pose", "the model")
        if model.get("placement_frame") or (model_pose is not None and model_pose.get("relative_to")):
            raise ModelError("placement_frame and relative_to of a <model> are not read; write its pose in the world")
        stated: dict[str, _StatedPose] = {}
        links = tuple(link.get("name") or "" for link in model.findall("link"))
        children = {j.get("name") or "": value(j, "child", f"joint '{j.get('name')}'", "") for j in model.findall("joint")}
        attached = {f.get("name") or "": f.get("attached_to") or MODEL for f in model.findall("frame")}
        for tag, default in (("link", {}), ("joint", children), ("frame", attached)):
            for element in model.findall(tag):
                name, where = element.get("name") or "", f"{tag} '{element.get('name')}'"
                if not name:
                    raise ModelError(f"a <{tag}> has no name")
                if name in stated or name in (WORLD, MODEL):
                    raise ModelError(f"two elements have the name '{name}', or it is reserved; rename {where}")
                pose = only(element, "pose", where)
                relative = (pose.get("relative_to") if pose is not None else "") or default.get(name, MODEL)
                stated[name] = _StatedPose(Poses.stated_pose(pose, where), relative)
        if (canonical := model.get("canonical_link")) and canonical not in links:
            raise ModelError(f"canonical_link '{canonical}' is no link of the model")
        poses = Poses(Poses.stated_pose(model_pose, "the model"), stated, links, children)
        poses.first = model.get("canonical_link") or next(iter(links), MODEL)
        poses.frames = {name: poses._home(name, attached) for name in attached}
        return poses

    @staticmethod
    def stated_pose(pose: Element | None, where: str) -> Placement:
        """The placement of a <pose>: x y z roll pitch yaw, angles in rad or degrees, or x y z and a quaternion x y z w."""
        if pose is not None and pose.get("frame"):
            reason = f"frame='{pose.get('frame')}' of SDF 1.5 and 1.6 is not read; write relative_to= instead"
            raise ModelError(f"the pose of {where}: {reason}")
        if pose is None or not (pose.text or "").strip():
            return HERE
        if pose.get("rotation_format", "euler_rpy") == "quat_xyzw":
            x, y, z, qx, qy, qz, qw = numbers(pose, 7, f"the pose of {where}")
            length = float(np.linalg.norm((qw, qx, qy, qz)))
            if abs(length - 1) > 1e-3:  # 1e-3 allows for truncated digits; readers disagree on other lengths
                raise ModelError(f"the pose of {where}: its quaternion has the length {length:.4g}, not 1")
            return Placement(rotation((qw, qx, qy, qz)), np.array([x, y, z]))
        six = numbers(pose, 6, f"the pose of {where}")
        degrees = (pose.get("degrees") or "false").lower() in ("1", "true")
        return place(six[:3], [math.radians(x) for x in six[3:]] if degrees else six[3:])

    @staticmethod
    def local_pose(pose: Element | None, where: str) -> Placement:
        """`stated_pose` of an element whose pose can only be relative to its link."""
        if pose is not None and pose.get("relative_to"):
            raise ModelError(f"relative_to of the pose of {where} is not read")
        return Poses.stated_pose(pose, where)

    def __getitem__(self, name: str) -> Placement:
        return self._resolved(name, ())

    def _resolved(self, name: str, path: tuple[str, ...]) -> Placement:
        if name == MODEL:
            return HERE
        if name == WORLD:
            return self.model.inverse
        if name in path:
            raise ModelError(f"the poses of {', '.join(map(repr, path))} are relative to each other in a circle")
        if name not in self.stated:
            source = f"'{path[-1]}' names" if path else "there is named"
            raise ModelError(f"{source} the frame '{name}', which the model does not have")
        if name not in self.placements:
            stated = self.stated[name]
            self.placements[name] = self._resolved(stated.relative, (*path, name)) @ stated.pose
        return self.placements[name]

    def link_of(self, name: str, where: str) -> str:
        """The link that a name refers to: itself, the child of a joint, or the link that a frame is attached to."""
        if name in self.links or name == WORLD:
            return name
        if name in self.frames:
            return self.frames[name]
        if name in self.children and self.children[name] != name:
            return self.link_of(self.children[name], where)
        raise ModelError(f"{where} names '{name}', which is no link of the model")

    def _home(self, name: str, attached: dict[str, str]) -> str:
        visited = [name]
        while True:
            name = attached.get(name, self.children.get(name, name))
            if name in self.links:
                return name
            if name == MODEL:
                return self.first
            if name in visited or (name not in attached and name not in self.children):
                raise ModelError(f"frame '{visited[0]}' is attached to '{name}', which leads to no link")
            visited.append(name)


__all__ = ["MODEL", "WORLD", "Poses", "numbers", "only", "value"]
