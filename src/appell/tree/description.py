"""A tree of rigid bodies, immutable: joints in an order in which predecessors come first, and named frames."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import sympy

from appell.errors import ModelError
from appell.model.bodies import RigidBody
from appell.reading import finite, name_in, shown
from appell.tree.frames import Node
from appell.tree.inertia import DUST, HERE, Inertia, Placement, entries, entry, has_symbols
from appell.tree.joints import JOINTS, JointKind

WORLD = "world"


@dataclass(frozen=True)
class Limits:
    """The design limits of a joint: lower <= q <= upper (rad or m), |v| <= velocity (rad/s or m/s), |τ| <= effort (N m or N),
    or least_effort <= τ <= effort where that is given.

    Infinite where not given. They are not enforced by themselves: `tree.stops()` gives the constraints.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    least_effort: float | None = None

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "velocity", "effort"):
            object.__setattr__(self, name, finite(getattr(self, name), f"{name} of a joint's limits", infinite=True))
        for name in ("velocity", "effort")[: 2 if self.least_effort is None else 1]:
            if getattr(self, name) < 0:
                raise ModelError(f"{name} of a joint's limits is {getattr(self, name):g}; it must not be negative")
        if self.least_effort is not None:
            least = finite(self.least_effort, "least_effort of a joint's limits", infinite=True)
            object.__setattr__(self, "least_effort", least)
            if least > self.effort:
                raise ModelError(f"least_effort of a joint's limits is {least:g}, above its effort, {self.effort:g}")

    @property
    def efforts(self) -> tuple[float, float]:
        """The least and the largest τ."""
        return (-self.effort if self.least_effort is None else self.least_effort), self.effort


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint and the body behind it. Numbers may be expressions in `ap.parameters`; such a tree gives equations, not numbers.

    Parameters
    ----------
    name: of the joint; also the name of the frame it carries.
    kind: "revolute", "continuous", "prismatic", "planar", "spherical", "fixed", "floating", or one made by `register`.
    parent: the name of the joint whose body this one is mounted on; None for the ground.
    placement: of the joint on the predecessor's frame (`place(xyz, rpy)`); the successor's frame at q = 0.
    axis: of hinges and slides, or the normal of planar joints, on the joint's axes; it is normalized.
    body: a `RigidBody` without coordinates, its position and orientation in the joint's frame, or an `Inertia`.
    armature: rotor inertia as seen at the joint, kg m² (kg for slides); it adds to the diagonal of M.
    damping: N m s/rad (N s/m): the joint is loaded with −damping·v.
    link: the name of the body; also a frame.
    limits: the design limits of the joint, or None; `tree.stops()` turns them into stops.
    """

    name: str
    kind: str = "revolute"
    parent: str | None = None
    placement: Placement = HERE
    axis: Sequence[Any] = (0.0, 0.0, 1.0)
    body: RigidBody | Inertia | None = None
    armature: Any = 0.0
    damping: Any = 0.0
    link: str | None = None
    limits: Limits | None = None


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed to a body: `node` is the index of the movable joint that carries it, −1 the ground."""

    name: str
    node: int
    placement: Placement


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The structure of a tree: movable joints, frames, and the body fixed to the ground."""

    nodes: tuple[Node, ...]
    frames: Mapping[str, Frame]
    ground: Inertia

    def frame(self, name: str) -> Frame:
        """A frame by its name; "world" is the ground, unless a joint or a link has that name."""
        known = {WORLD: Frame(WORLD, -1, HERE), **self.frames}
        if not isinstance(name, str) or name not in known:
            name = name_in(name)
            alternatives = [f"'{candidate}'" for candidate in (f"joint {name}", f"link {name}") if candidate in known]
            reason = f"a joint and a link elsewhere have this name: say {' or '.join(alternatives)}"
            close = get_close_matches(str(name), known, n=1)
            opening = f"did you mean '{close[0]}'? Frames" if close else "frames"
            listed = ", ".join(list(known)[:12]) + (" …" if len(known) > 12 else "")
            raise ModelError(
                f"there is no frame '{name}'; {reason if alternatives else f'{opening} are the joints and links: {listed}'}"
            )
        return known[name]


def unit_axis(axis: Any, where: str) -> np.ndarray:
    """`axis` normalized; an axis of length 0 or with entries that are not finite raises."""
    vector = entries(axis, f"the axis of {where}")
    if has_symbols(vector):
        square = sympy.simplify(sympy.Add(*(x**2 for x in vector)))
        return vector if square == 1 else np.array([x / sympy.sqrt(square) for x in vector], dtype=object)
    largest = abs(vector).max()
    if largest < 1e-9:
        raise ModelError(f"the axis of {where} has length {largest:g}; give a direction such as (0, 0, 1)")
    vector = np.where(abs(vector) < DUST * largest, 0.0, vector)
    vector = vector / largest if largest > 1e9 else vector  # so that the squares do not overflow
    length = float(np.linalg.norm(vector))
    return vector / length if abs(length - 1) > 1e-15 else vector


def inertia_of(body: RigidBody | Inertia | None, where: str) -> Inertia:
    """The inertia of a body given in its joint's frame."""
    if body is None:
        return Inertia.zero()
    if isinstance(body, Inertia):
        return body.checked(f"the body of {where}")
    if not isinstance(body, RigidBody):
        raise ModelError(f"the body of {where} must be an ap.RigidBody or an ap.tree.Inertia, not {shown(body)}")
    R, J = (np.array(matrix.tolist(), dtype=object) for matrix in (body.orientation.rotation, body.inertia))
    return Inertia.at_centre(body.mass, body.position.flat(), R @ J @ R.T, where)


def skeleton(joints: Sequence[Joint]) -> Skeleton:
    """Movable joints numbered in the given order; bodies on fixed joints are merged into the predecessor."""
    nodes: list[Node] = []
    inertia: dict[int, Inertia] = {-1: Inertia.zero()}
    carried: dict[str, tuple[int, Placement]] = {}
    iq = iv = 0
    for joint in joints:
        kind, where = _checked(joint, carried)
        carrier, base = (-1, HERE) if joint.parent is None else carried[joint.parent]
        placement, body = base @ joint.placement, inertia_of(joint.body, where)
        if kind.nv == 0:
            inertia[carrier] = inertia[carrier] + body.seen_from(placement)
            carried[joint.name] = (carrier, placement)
        else:
            axis = unit_axis(joint.axis, where) if kind.axial else np.array([0.0, 0.0, 1.0])
            rotor, damping = (joint.armature,) * kind.nv, (joint.damping,) * kind.nv
            n = len(nodes)
            nodes.append(Node(joint.name, kind, carrier, placement, axis, body, rotor, damping, iq, iv))
            inertia[n], carried[joint.name] = body, (n, HERE)
            iq, iv = iq + kind.nq, iv + kind.nv
    merged = tuple(_with_inertia(node, inertia[n]) for n, node in enumerate(nodes))
    return Skeleton(merged, _frames(joints, carried), inertia[-1])


def _frames(joints: Sequence[Joint], carried: Mapping[str, tuple[int, Placement]]) -> dict[str, Frame]:
    """Every joint and link by its name; where a joint and another's link share a name, they are "joint NAME" and "link
    NAME"."""
    frames = {name: Frame(name, *carrier) for name, carrier in carried.items()}
    owners: dict[str, str] = {}
    for joint in joints:
        link = joint.link
        if link is None:
            continue
        if link in owners:
            raise ModelError(f"joints '{owners[link]}' and '{joint.name}' both carry a link of the name '{link}'")
        owners[link] = joint.name
        frame = Frame(link, *carried[joint.name])
        if link not in frames:
            frames[link] = frame
        elif not _same(frame, frames[link]):
            for label, renamed in ((f"joint {link}", frames.pop(link)), (f"link {link}", frame)):
                if label in frames:
                    raise ModelError(
                        f"a joint and a link elsewhere are called '{link}', and another is called '{label}'; rename one"
                    )
                frames[label] = Frame(label, renamed.node, renamed.placement)
    return frames


def _same(a: Frame, b: Frame) -> bool:
    X, Y = a.placement, b.placement
    return a.node == b.node and bool((X.R == Y.R).all() and (X.p == Y.p).all())


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
    if not isinstance(joint, Joint):
        raise ModelError(f"a tree is made of ap.tree.Joint, not of {shown(joint)}")
    if not (isinstance(joint.name, str) and joint.name):
        raise ModelError(f"the name of a joint must be a text, not {shown(joint.name)}")
    where = f"joint '{name_in(joint.name)}'"
    if not isinstance(joint.kind, str) or joint.kind not in JOINTS:
        raise ModelError(f"{where} is of the unknown kind {shown(joint.kind)}; choose one of {', '.join(JOINTS)}")
    if not isinstance(joint.placement, Placement):
        raise ModelError(f"the placement of {where} must be made by ap.tree.place(xyz, rpy), not {shown(joint.placement)}")
    if joint.name in known:
        raise ModelError(f"two joints have the name '{joint.name}'")
    for field, name in (("parent", joint.parent), ("link", joint.link)):
        if name is not None and not (isinstance(name, str) and name):
            mistake = f"a joint: give parent='{name.name}'" if isinstance(name, Joint) else shown(name)
            raise ModelError(f"the {field} of {where} must be a name, not {mistake}")
    if joint.parent is not None and joint.parent not in known:
        raise ModelError(f"{where} is mounted on '{name_in(joint.parent)}', which no earlier joint has as its name")
    if joint.limits is not None and not isinstance(joint.limits, Limits):
        raise ModelError(f"the limits of {where} must be ap.tree.Limits(lower, upper, …), not {shown(joint.limits)}")
    for field, value in (("armature", joint.armature), ("damping", joint.damping)):
        entry(value, f"the {field} of {where}")
    return JOINTS[joint.kind], where
