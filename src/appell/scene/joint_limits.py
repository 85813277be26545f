"""Joint limits in a scene: the range as an arc about a hinge or a rail along a slide, red where the joint is at its stop.

    q = bound(t)  of a face ±(q − bound) >= 0        hinge: p + r R Rot(axis, φ − q) d        slide: p + R axis (s − q)

The arc is fixed to the predecessor; R and p are those of the body behind the joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sympy

from appell.model.unilateral import Face
from appell.scene import shapes as draw
from appell.scene.items import Item, Numbers, Parts, Resolve, _pose_parts
from appell.scene.shapes import GREY, Array, Shape
from appell.tree import Tree
from appell.tree.tree_system import TreeSystem

STOP = "#d62828"
FEW_JOINTS = 8
"""Every range is drawn for up to this many limited joints; for more, only those that reach a stop in the motion."""
RADIUS = 0.13
"""Radius of an arc, as a fraction of the reach of the robot."""
AT_THE_STOP = 1e-6
"""Without a reaction, a joint within this fraction of its range from a stop is at the stop."""
BEYOND = 0.6
"""Radians, or radii, for which a one-sided range is drawn."""


class JointStop(NamedTuple):
    """One end of a range: the name of the face, its bound in symbols, and +1 where the joint moves above it, −1 below."""

    face: str
    bound: Any
    side: int


@dataclass(frozen=True, eq=False)
class JointRange(Item):
    """The range of one joint; `hand`: a direction perpendicular to the axis of a hinge on the body's axes, None for a slide."""

    joint: str
    frame: str
    q: Any
    axis: Array
    hand: Array | None
    ends: tuple[JointStop, ...]
    radius: float
    always: bool

    @property
    def title(self) -> str:
        return f"the range of joint '{self.joint}'"

    def parts(self, resolve: Resolve) -> Parts:
        return {**_pose_parts(resolve, self.frame), "q": self.q, **{f"bound{k}": end.bound for k, end in enumerate(self.ends)}}

    def shapes(self, n: Numbers) -> list[Shape]:
        q, frames = n["q"], len(n["q"])
        bounds = np.stack([np.broadcast_to(n[f"bound{k}"], (frames,)) for k in range(len(self.ends))])
        width = np.ptp(bounds, axis=0)
        pressed = [self._pressed(n, end, q, bound, width) for end, bound in zip(self.ends, bounds, strict=True)]
        if not self.always and not np.any(pressed):
            return []
        low, high = bounds.min(axis=0), bounds.max(axis=0)
        if len(self.ends) == 1:
            (side,), extent = {end.side for end in self.ends}, BEYOND * (1.0 if self.hand is not None else self.radius)
            low, high = (low, np.maximum(low + extent, q)) if side > 0 else (np.minimum(high - extent, q), high)
        point = self._point_on_arc if self.hand is not None else self._point_on_rail
        arc_points = [
            point(n, low + share * (high - low), 1.0) for share in np.linspace(0, 1, 49 if self.hand is not None else 2)
        ]
        arc = np.stack(arc_points, axis=1)
        lines: list[Shape] = [draw.Polyline(draw.still(arc), GREY, 1.5, name=self.title)]
        for bound, hit in zip(bounds, pressed, strict=True):
            tick = np.stack([point(n, bound, share) for share in (0.75, 1.25)], axis=1)
            lines.append(draw.Polyline(draw.still(tick), GREY, 2.5, name=self.title))
            lines += [self._line_at_stop(arc, hit, 3.0), self._line_at_stop(tick, hit, 6.0)] if np.any(hit) else []
        if self.hand is not None:
            lines.append(draw.Polyline(np.stack([point(n, q, 0.0), point(n, q, 1.0)], axis=1), GREY, 1.2, name=self.title))
        return lines

    def _line_at_stop(self, line: Array, hit: Array, width: float) -> Shape:
        """The line while the joint is at its stop; otherwise it shrinks to a point."""
        return draw.Polyline(np.where(hit[:, None, None], line, line[:, :1]), STOP, width, name=f"{self.joint} at its stop")

    def _pressed(self, n: Numbers, end: JointStop, q: Array, bound: Array, width: Array) -> Array:
        """Frames at which the joint is at this end, (k,)."""
        at_bound = np.abs(q - bound) <= AT_THE_STOP * (width + np.abs(bound))
        return at_bound | (np.asarray(n.reaction(end.face), dtype=float).reshape(len(q)) != 0)

    def _point_on_arc(self, n: Numbers, angle: Array, share: float) -> Array:
        """(k, 3): the point of the arc at a joint angle, at a fraction of the radius."""
        assert self.hand is not None
        turned = angle - n["q"]
        e, d = self.axis, self.hand
        local = np.cos(turned)[:, None] * d + np.sin(turned)[:, None] * np.cross(e, d)  # d is perpendicular to e
        return n["p"] + share * self.radius * np.einsum("kij,kj->ki", np.broadcast_to(n["R"], (len(local), 3, 3)), local)

    def _point_on_rail(self, n: Numbers, position: Array, share: float) -> Array:
        """(k, 3): the point of the rail where the joint is at `position`; ticks cross it from −share to share."""
        across = (share - 1.0) * self.radius * _across(self.axis)
        local = (position - n["q"])[:, None] * self.axis + across
        return n["p"] + np.einsum("kij,kj->ki", np.broadcast_to(n["R"], (len(local), 3, 3)), local)


def limit_items(system: TreeSystem, reach: float) -> list[Item]:
    """The ranges of hinges and slides with stops in this system, from the file or given to it."""
    tree, by_name = system.tree, {}
    for node in tree.nodes:
        if node.kind.hinge or node.kind.name == "prismatic":
            by_name[tree.joint(node.name)] = node
    ends: dict[Any, list[JointStop]] = {}
    for face in system.unilateral:
        stop = _stop(system, face, by_name)
        if stop is not None:
            ends.setdefault(stop[0], []).append(stop[1])
    all_drawn = len(ends) <= FEW_JOINTS
    return [_range(tree, by_name[q], q, stops, reach, all_drawn) for q, stops in ends.items() if len(stops) <= 2]


def _stop(system: TreeSystem, face: Face, joints: Any) -> tuple[Any, JointStop] | None:
    """The coordinate and the end of a face that bounds a single joint; else None."""
    f, coordinates = face.function, face.function.free_symbols & set(system.positions)
    if len(coordinates) != 1 or not coordinates <= set(joints):
        return None
    (q,) = coordinates
    slope = sympy.diff(f, q)
    if not slope.is_number or not slope.is_real or slope == 0:
        return None
    bound = (q - f / slope).expand()
    return None if q in bound.free_symbols else (q, JointStop(face.name, bound, 1 if slope > 0 else -1))


def _range(tree: Tree, node: Any, q: Any, ends: Sequence[JointStop], reach: float, always: bool) -> Item:
    axis = np.asarray(node.axis, dtype=float)
    hand = _pointing_direction(tree, node, axis) if node.kind.hinge else None
    size = RADIUS * reach if hand is not None else RADIUS / 2 * reach
    return JointRange(node.name, tree.joint_frame(node.name), q, axis, hand, tuple(ends), size, always)


def _pointing_direction(tree: Tree, node: Any, axis: Array) -> Array:
    """The direction in which the body of a hinge points, perpendicular to the axis: to its first joint or centre of mass."""
    n = tree.nodes.index(node)
    directions = [np.asarray(child.placement.p, dtype=float) for child in tree.nodes if child.parent == n]
    directions += [np.asarray(node.inertia.h, dtype=float) / float(node.inertia.m)] if node.inertia.m else []
    for direction in directions:
        flat = direction - (direction @ axis) * axis
        if np.linalg.norm(flat) > 1e-3 * np.linalg.norm(direction):
            return flat / np.linalg.norm(flat)
    return _across(axis)


def _across(axis: Array) -> Array:
    """A direction perpendicular to an axis."""
    return draw.rotation_along(axis[None])[0][0, :, 0]


__all__ = ["limit_items"]
