"""Body frames that make the dynamics of a tree cheap, and inertias assigned to the bodies where they cost least.

A successor of a hinge may have its origin anywhere on the axis and its x axis anywhere around it. The choice makes as many
Denavit–Hartenberg parameters vanish as possible for all successors of a body; then mass, and whatever else a joint does not
move (`JointKind.passed`), is assigned to the predecessor. Forces, motions and joint velocities do not
change: only the body frames are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from appell.tree.inertia import Array, Inertia, Placement
from appell.tree.joints import JointKind, turn_z
from appell.tree.placement_steps import DECIMAL_ROUNDING, common_normal, elementary_steps, quarter, turn
from appell.tree.spatial import Scalar, Six, Steps, scaled


@dataclass(frozen=True, eq=False)
class Node:
    """A movable joint in a tree: placement on the predecessor (−1: the ground), axis, body behind it."""

    name: str
    kind: JointKind
    parent: int
    placement: Placement
    axis: Array
    inertia: Inertia
    armature: tuple[float, ...]
    damping: tuple[float, ...]
    iq: int
    iv: int


@dataclass(frozen=True, eq=False)
class FramedLink:
    """A body in the frame chosen for it (`frame`, in the given one): `fixed` steps, then those of the joint.

    `offset` (rad) is a constant turn about z before that of a hinge.
    """

    node: Node
    frame: Placement
    fixed: Steps
    offset: float
    inertia: Inertia

    def steps(self, q: Sequence[Scalar]) -> Steps:
        """The steps from the predecessor's chosen frame to this one; q is the tree's whole configuration."""
        entries = self.coordinates(q)
        return (*self.fixed, *(self.node.kind.steps(entries) if not self.offset else (turn_z(entries[0], self.offset),)))

    def coordinates(self, q: Sequence[Scalar]) -> Sequence[Scalar]:
        """The joint's entries of q."""
        return q[self.node.iq : self.node.iq + self.node.kind.nq]

    def columns(self, q: Sequence[Scalar]) -> tuple[Six, ...]:
        """S on the axes of this link, column by column."""
        return self.node.kind.columns(self.coordinates(q))

    def spread(self, columns: Sequence[Six], values: Sequence[Scalar]) -> Six:
        """S x of the joint's entries x of velocities or accelerations."""
        x: Six = [0.0] * 6
        for S, k in zip(columns, self.velocities, strict=True):
            x = [y if isinstance(s, float) and s == 0.0 else s + y for s, y in zip(scaled(S, values[k]), x, strict=True)]
        return x

    def drift(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Six | None:
        """Ṡ v; None where S is constant."""
        rate = self.node.kind.subspace.drift
        return None if rate is None else rate(self.coordinates(q), [v[k] for k in self.velocities])

    @property
    def velocities(self) -> range:
        return range(self.node.iv, self.node.iv + self.node.kind.nv)


@dataclass(frozen=True, eq=False)
class FrameLayout:
    """The links in the order of the joints, and the inertia assigned to the ground (on the world's axes)."""

    links: tuple[FramedLink, ...]
    ground: Inertia


def lay_out(nodes: Sequence[Node], *, booked: bool = True) -> FrameLayout:
    """Chosen frames Z (in the given joint frames), constant steps between them, inertias passed inwards if `booked`."""
    successors: list[list[int]] = [[] for _ in nodes]
    for n, node in enumerate(nodes):
        if node.parent >= 0:
            successors[node.parent].append(n)
    chosen = [Placement(basis(node.axis), np.zeros(3)) if node.kind.axial else _identity() for node in nodes]
    for n, node in enumerate(nodes):
        if node.kind.slide:
            chosen[n] = _at_predecessor(chosen, nodes, n)
        elif node.kind.hinge:
            chosen[n] = _shifted_along_axis(chosen, nodes, n, successors[n])
            chosen[n] = _turned(chosen, nodes, n, successors[n])
    return _assigned(nodes, chosen, booked)


def size_of(nodes: Sequence[Node]) -> float:
    """The size of a tree, m: the largest distance between moving joints, else the smallest radius of gyration of a body about
    its joint, else 1."""
    distance = max((float(abs(node.placement.p).max()) for node in nodes if node.parent >= 0), default=0.0)
    radius = lambda body: float(np.sqrt(abs(body.P).max()) / np.sqrt(body.m))
    radii = [radius(node.inertia) for node in nodes if node.inertia.m > 0]
    return distance or min((x for x in radii if x > 0), default=1.0)


def velocity_units(nodes: Sequence[Node], length: float) -> Array:
    """1 for angular velocities, and this length for the others, (nv,)."""
    return np.array([1.0 if turns else length for node in nodes for turns in node.kind.turning])


def _extent(chosen: Sequence[Placement], nodes: Sequence[Node], n: int) -> float:
    """The scale of the lengths in the placement of n on its predecessor: a length at their rounding level is zero."""
    around = [nodes[n].placement, chosen[n], *([chosen[nodes[n].parent]] if nodes[n].parent >= 0 else [])]
    return max(float(abs(X.p).max()) for X in around)


def _assigned(nodes: Sequence[Node], chosen: Sequence[Placement], booked: bool) -> FrameLayout:
    """Assigns the inertia that a joint does not move to its predecessor, from the tips inwards."""
    inertias = [node.inertia.seen_from(Z.inverse) for node, Z in zip(nodes, chosen, strict=True)]
    ground, links = Inertia.zero(), []
    for n in reversed(range(len(nodes))):
        node, X = nodes[n], _between(chosen, nodes, n)
        elementary = elementary_steps(X, _extent(chosen, nodes, n))
        passed = node.kind.passed(inertias[n]) if booked else Inertia.zero()
        if booked:
            inertias[n] = cleaned(inertias[n] + Inertia(-passed.m, -passed.h, -passed.P), inertias[n])
        in_parent = passed.seen_from(X)
        if node.parent >= 0:
            inertias[node.parent] = inertias[node.parent] + in_parent
        else:
            ground = ground + in_parent
        merged = node.kind.hinge
        fixed = elementary.steps if merged else (*elementary.steps, *turn(2, elementary.gamma))
        links.append(FramedLink(node, chosen[n], fixed, elementary.gamma if merged else 0.0, inertias[n]))
    return FrameLayout(tuple(reversed(links)), ground)


def cleaned(body: Inertia, whole: Inertia) -> Inertia:
    """A body, or the remainder of a `whole` one, with first and second moments at the rounding level of the whole set to
    zero."""
    P = float(abs(whole.P).max())
    zeroed = lambda x, size: np.where(abs(x) > 1e-15 * size, x, 0.0)
    return Inertia(body.m, zeroed(body.h, float(np.sqrt(abs(whole.m) * P)) + abs(body.h).max()), zeroed(body.P, P))


def _identity() -> Placement:
    return Placement(np.eye(3), np.zeros(3))


def basis(axis: Array) -> Array:
    """Columns x, y, z with z the axis; coordinate axes stay coordinate axes."""
    k = int(np.argmax(abs(axis)))
    x = np.eye(3)[(k + 1) % 3]
    x = x - (x @ axis) * axis
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(axis, x), axis], dtype=float).T


def _between(chosen: Sequence[Placement], nodes: Sequence[Node], n: int) -> Placement:
    """The chosen frame of n at zero, in the chosen frame of its predecessor."""
    to_parent = chosen[nodes[n].parent].inverse if nodes[n].parent >= 0 else _identity()
    return to_parent @ nodes[n].placement @ chosen[n]


def _at_predecessor(chosen: Sequence[Placement], nodes: Sequence[Node], n: int) -> Placement:
    """A prismatic joint: its origin is that of the predecessor, so that q is the only distance. Not on the ground, which may be
    far away, and where lengths cost nothing."""
    X = _between(chosen, nodes, n)
    Z = chosen[n] @ Placement(np.eye(3), -X.R.T @ X.p if nodes[n].parent >= 0 else np.zeros(3))
    gamma = elementary_steps(_between([*chosen[:n], Z, *chosen[n + 1 :]], nodes, n), 0.0).gamma
    return Z @ Placement(_turn_matrix(-gamma), np.zeros(3))


def _shifted_along_axis(chosen: list[Placement], nodes: Sequence[Node], n: int, successors: Sequence[int]) -> Placement:
    """The origin at the point of the axis where most of the lengths b (of successors) and d (its own, unless from the ground)
    vanish."""
    X = _between(chosen, nodes, n)
    normal = common_normal(X)
    candidates = [-float(X.p @ X.R[:, 2]) if normal is None else -normal.d] if nodes[n].parent >= 0 else []
    for m in successors:
        outward = common_normal(nodes_between(chosen, nodes, n, m)) if nodes[m].kind.axial else None
        if outward is not None:
            candidates.append(outward.b)
    candidates = candidates or [0.0]
    size = max(_extent(chosen, nodes, m) for m in (n, *successors))
    score = [sum(abs(s - t) <= DECIMAL_ROUNDING * (size + abs(s)) for t in candidates) for s in candidates]
    s = candidates[int(np.argmax(score))]
    return chosen[n] @ Placement(np.eye(3), np.array([0.0, 0.0, s]))


def nodes_between(chosen: Sequence[Placement], nodes: Sequence[Node], n: int, m: int) -> Placement:
    """The frame of the successor m in that of n."""
    return chosen[n].inverse @ nodes[m].placement @ chosen[m]


def _turned(chosen: list[Placement], nodes: Sequence[Node], n: int, successors: Sequence[int]) -> Placement:
    """x along the common normal to a successor's axis (the fewest rotations), or towards the centre of mass of a terminal
    body."""
    candidates = [0.0]
    for m in successors:
        X = nodes_between(chosen, nodes, n, m)
        normal = common_normal(X)
        if normal is not None:
            candidates.append(normal.beta)
        elif np.hypot(X.p[0], X.p[1]) > DECIMAL_ROUNDING * _extent(chosen, nodes, m):
            candidates.append(float(np.arctan2(X.p[1], X.p[0])))
    body = nodes[n].inertia.seen_from(chosen[n].inverse)
    if np.hypot(body.h[0], body.h[1]) > 0 and not successors:
        candidates.append(float(np.arctan2(body.h[1], body.h[0])))
    costs = [_cost_of_angle(chosen, nodes, n, successors, phi, body) for phi in candidates]
    return chosen[n] @ Placement(_turn_matrix(candidates[int(np.argmin(costs))]), np.zeros(3))


def _turn_matrix(angle: float) -> Array:
    n = quarter(angle)
    c, s = (np.cos(angle), np.sin(angle)) if n is None else ((1, 0), (0, 1), (-1, 0), (0, -1))[n]
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _cost_of_angle(
    chosen: Sequence[Placement],
    nodes: Sequence[Node],
    n: int,
    successors: Sequence[int],
    phi: float,
    body: Inertia,
) -> float:
    """Approximate operations: a rotation of an articulated inertia about 90, a translation about 45, a nonzero moment 6."""
    Z = Placement(_turn_matrix(phi), np.zeros(3))
    cost = 0.0 if quarter(phi) is not None else 1.0
    for m in successors:
        steps = elementary_steps(Z.inverse @ nodes_between(chosen, nodes, n, m), _extent(chosen, nodes, m)).steps
        cost += sum({"Turn": 90.0, "Slide": 45.0}.get(type(step).__name__, 0.0) for step in steps)
    if not successors:
        turned = body.seen_from(Z.inverse)
        h_zero, P_zero = DECIMAL_ROUNDING * abs(turned.h).max(), DECIMAL_ROUNDING * abs(turned.P).max()
        cost += 6.0 * sum(abs(x) > h_zero for x in turned.h[:2])
        cost += 6.0 * sum(abs(x) > P_zero for x in (turned.P[0, 1], turned.P[0, 2], turned.P[1, 2]))
    return cost
