"""A tree of rigid bodies, immutable: joints in an order in which predecessors come first, and named frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from appell.errors import ModelError
from appell.model.bodies import RigidBody
from appell.tree.frames import Node
from appell.tree.inertia import HERE, Inertia, Placement, real_vector
from appell.tree.joints import JOINTS, JointKind

WORLD = "world"


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint and the body behind it.

    Parameters
    ----------
    name: of the joint; also the name of the frame it carries.
    kind: one of "revolute", "continuous", "prismatic", "planar", "spherical", "fixed", "floating".
    parent: the name of the joint whose body this one is mounted on; None for the ground.
    placement: of the joint on the predecessor's frame (`place(xyz, rpy)`); the successor's frame at q = 0.
    axis: of hinges and slides, the normal of planar joints; on the joint's axes, made unit.
    body: a `RigidBody` with constant numbers, its position and orientation in the joint's frame, or an `Inertia`.
    armature: rotor inertia as the joint sees it, kg m² (kg for slides): adds to the diagonal of M.
    damping: N m s/rad (N s/m): the joint is loaded with −damping·v.
    link: the name of the body; also a frame.
    """

    name: str
    kind: str = "revolute"
    parent: str | None = None
    placement: Placement = HERE
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    body: RigidBody | Inertia | None = None
    armature: float = 0.0
    damping: float = 0.0
    link: str | None = None


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed to a body: `node` is the index of the movable joint that carries it, −1 the ground."""

    name: str
    node: int
    placement: Placement


@dataclass(frozen=True, eq=False)
class Skeleton:
    """What a tree is: movable joints, frames, and the body fixed to the ground."""

    nodes: tuple[Node, ...]
    frames: Mapping[str, Frame]
    ground: Inertia

    @property
    def nq(self) -> int:
        return sum(node.kind.nq for node in self.nodes)

    @property
    def nv(self) -> int:
        return sum(node.kind.nv for node in self.nodes)


def unit_axis(axis: Any, where: str) -> np.ndarray:
    """`axis` made unit; one of length 0 or with entries that are not finite is refused."""
    vector = real_vector(axis, f"the axis of {where}")
    length = float(np.linalg.norm(vector))
    if length < 1e-9:
        raise ModelError(f"the axis of {where} has length {length:g}; give a direction such as (0, 0, 1)")
    return vector / length if abs(length - 1) > 1e-15 else vector


def inertia_of(body: RigidBody | Inertia | None, where: str) -> Inertia:
    """The ten numbers of a body given in its joint's frame."""
    if body is None:
        return Inertia.zero()
    if isinstance(body, Inertia):
        return body
    names = sorted(map(str, sympy.Matrix([body.mass, *body.inertia, *body.position]).free_symbols))
    if names or body.orientation.rotation.free_symbols:
        raise ModelError(f"the body of {where} contains {', '.join(names) or 'an angle'}; a tree needs numbers")
    R = np.array(body.orientation.rotation.tolist(), dtype=float)
    J = np.array(body.inertia.tolist(), dtype=float)
    return Inertia.at_centre(
        float(body.mass), np.array(body.position.tolist(), dtype=float).ravel(), R @ J @ R.T, where
    )


def skeleton(joints: Sequence[Joint]) -> Skeleton:
    """Movable joints numbered in the given order; what hangs on fixed joints becomes part of the predecessor."""
    nodes: list[Node] = []
    inertia: dict[int, Inertia] = {-1: Inertia.zero()}
    carried: dict[str, tuple[int, Placement]] = {}
    frames: dict[str, Frame] = {}
    iq = iv = 0
    for joint in joints:
        kind, where = _checked(joint, carried)
        at, on = (-1, HERE) if joint.parent is None else carried[joint.parent]
        placement, body = on @ joint.placement, inertia_of(joint.body, where)
        if kind.name == "fixed":
            inertia[at] = inertia[at] + body.seen_from(placement)
            carried[joint.name] = (at, placement)
        else:
            axis = unit_axis(joint.axis, where) if kind.axial else np.array([0.0, 0.0, 1.0])
            rotor, damping = (joint.armature,) * kind.nv, (joint.damping,) * kind.nv
            n = len(nodes)
            nodes.append(Node(joint.name, kind, at, placement, axis, body, rotor, damping, iq, iv))
            inertia[n], carried[joint.name] = body, (n, HERE)
            iq, iv = iq + kind.nq, iv + kind.nv
        for name in (joint.name, joint.link):
            if name is not None:
                frames.setdefault(name, Frame(name, *carried[joint.name]))
    whole = tuple(_with_inertia(node, inertia[n]) for n, node in enumerate(nodes))
    return Skeleton(whole, frames, inertia[-1])


def _with_inertia(node: Node, inertia: Inertia) -> Node:
    return Node(
        node.name,
        node.kind,
        node.parent,
        node.placement,
        node.axis,
        inertia,
        node.armature,
        node.damping,
        node.iq,
        node.iv,
    )


def _checked(joint: Joint, known: Mapping[str, Any]) -> tuple[JointKind, str]:
    where = f"joint '{joint.name}'"
    if joint.kind not in JOINTS:
        raise ModelError(f"{where} is of the unknown kind {joint.kind!r}; choose one of {', '.join(JOINTS)}")
    if joint.name in known:
        raise ModelError(f"two joints have the name '{joint.name}'")
    if joint.parent is not None and joint.parent not in known:
        raise ModelError(f"{where} is mounted on '{joint.parent}', which no earlier joint has as its name")
    for what, value in (("armature", joint.armature), ("damping", joint.damping)):
        if not (np.isfinite(value) and value >= 0):
            raise ModelError(f"the {what} of {where} is {value}; it must be a finite number >= 0")
    return JOINTS[joint.kind], where
