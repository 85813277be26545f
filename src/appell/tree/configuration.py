"""The configuration space of a tree: random configurations, interpolation, distances, names, and other libraries' conventions.

    integrate(q, w) = q exp(w)        difference(q0, q1) = log(q0⁻¹ q1)        integrate(q0, difference(q0, q1)) = q1

joint by joint (`JointKind.group`): angles and lengths add, unit quaternions and floating bases move along constant twists, as
in Pinocchio. Every function takes one configuration (nq,) or a batch with the batch first.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike, NDArray

from appell.errors import ModelError
from appell.reading import name_in, reals, refuse_many, shown, whole
from appell.spelling import did_you_mean
from appell.tree.fittings import Coupling, Fitting, leaders_first
from appell.tree.frames import Node, size_of
from appell.tree.groups import conjugate, rotated

Array = NDArray[np.float64]


class ConfigurationSpace:
    """The part of a tree that needs only q and v, without dynamics."""

    name: str

    @property
    @abstractmethod
    def nodes(self) -> tuple[Node, ...]:
        """The joints that move, in the order of q and v: `name`, `kind`, and `iq`, `iv`, where its entries begin."""

    @property
    @abstractmethod
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Joint → (lower, upper), of joints with stops; see `Tree.ranges`."""

    fittings: tuple[Fitting, ...]

    @property
    @abstractmethod
    def couplings(self) -> tuple[Coupling, ...]:
        """Joints that follow others."""

    def followed(self, q: ArrayLike) -> Array:
        """q with every joint that follows another one (`<mimic>`, gears) where that one puts it; (nq,) or (batch, nq)."""
        q = self._states(q, "q", self.nq).copy()
        for coupling in leaders_first(self.couplings):
            fixed = dict(coupling.fixed)
            value = lambda joint, fixed=fixed: fixed[joint] if joint in fixed else q[..., self._node(joint).iq]
            if coupling.joint not in fixed:
                q[..., self._node(coupling.joint).iq] = polyval(value(coupling.of), coupling.coefficients)
            elif coupling.of not in fixed and coupling.ratio:  # the follower is locked, and fixes its leader
                q[..., self._node(coupling.of).iq] = (fixed[coupling.joint] - coupling.coefficients[0]) / coupling.ratio
        return q

    @cached_property
    def nq(self) -> int:
        """Length of q."""
        return sum(node.kind.nq for node in self.nodes)

    @cached_property
    def nv(self) -> int:
        """Length of v, tau and a."""
        return sum(node.kind.nv for node in self.nodes)

    @cached_property
    def neutral(self) -> Array:
        """q at which the two frames of every joint coincide, (nq,)."""
        return np.array([x for node in self.nodes for x in node.kind.neutral])

    # --- names -------------------------------------------------------------------------------------------------------

    def indices(self, joint: str) -> tuple[slice, slice]:
        """The entries of a joint in q and in v."""
        node = self._node(joint)
        return slice(node.iq, node.iq + node.kind.nq), slice(node.iv, node.iv + node.kind.nv)

    def configuration(self, values: Mapping[str, Any]) -> Array:
        """q (nq,) from joint → value, or values where the joint has several coordinates.

        Joints that are not named are neutral; joints that follow others are placed by those.
        """
        if not isinstance(values, Mapping):
            raise ModelError(f"a configuration is given as {{joint: value, …}}, not as {shown(values)}")
        q = self.neutral.copy()
        for joint, value in values.items():
            node = self._node(joint)
            entries = np.atleast_1d(reals(value, f"the value of joint '{joint}'"))
            if entries.shape != (node.kind.nq,) or not np.isfinite(entries).all():
                raise ModelError(f"joint '{joint}' has {node.kind.nq} coordinates, finite numbers; not {shown(value)}")
            q[node.iq : node.iq + node.kind.nq] = entries
        stated, followed = {k for joint in values for k in _coordinate_indices(self._node(joint))}, self.followed(q)
        return np.array([q[k] if k in stated else followed[k] for k in range(self.nq)])

    def named(self, q: ArrayLike) -> dict[str, Any]:
        """joint → value, or (n,) where the joint has several coordinates, of one configuration."""
        q = self._states(q, "q", self.nq)
        if q.ndim != 1:
            raise ModelError("named takes one configuration, (nq,)")
        entries = {node.name: q[node.iq : node.iq + node.kind.nq] for node in self.nodes}
        return {name: float(entry[0]) if len(entry) == 1 else entry.copy() for name, entry in entries.items()}

    def _node(self, joint: Any) -> Node:
        matches = [node for node in self.nodes if isinstance(joint, str) and node.name == joint]
        if not matches:
            names = [node.name for node in self.nodes]
            hint = did_you_mean(name_in(joint), names)
            raise ModelError(f"{self.name} has no joint {shown(joint)} that moves; it has {', '.join(names)}{hint}")
        return matches[0]

    def _states(self, values: ArrayLike, what: str, length: int) -> Array:
        array = reals(values, what)
        if array.ndim < 1 or array.shape[-1] != length:
            raise ModelError(f"{what} of {self.name} has the shape ({length},) or (batch, {length}), not {array.shape}")
        return array

    # --- the space ---------------------------------------------------------------------------------------------------

    def random(self, rng: Any = None, count: int | None = None) -> Array:
        """Random configurations within the limits of the joints, (nq,) or (count, nq).

        Angles without limits are drawn from (−π, π), lengths without limits within the size of the tree, unit quaternions
        uniformly over all rotations, or over those that a limit allows; joints that follow others are placed by those (loops
        are not closed). rng: a `numpy.random.Generator`, or a seed.
        """
        return self.followed(self._drawn(rng, count))

    def _drawn(self, rng: Any, count: int | None) -> Array:
        """Random configurations, each joint drawn independently."""
        if not isinstance(rng, np.random.Generator):
            rng = np.random.default_rng(None if rng is None else whole(rng, "rng=", 0))
        batch = () if count is None else (whole(count, "count=", 0),)
        refuse_many(math.prod(batch) * self.nq, f"{math.prod(batch)} configurations")
        q = np.empty((*batch, self.nq))
        size, ranges = size_of(self.nodes), self.ranges
        for node in self.nodes:
            entries = slice(node.iq, node.iq + node.kind.nq)
            scalars = node.kind.nq - 4 * node.kind.names_or_default.quaternion
            for k in range(scalars):
                reach = size if k in node.kind.lengths else np.pi
                low, high = ranges.get(node.name, (-np.inf, np.inf)) if node.kind.nq == 1 else (-np.inf, np.inf)
                low = low if np.isfinite(low) else min(-reach, high - reach)
                high = high if np.isfinite(high) else max(reach, low + reach)
                if low > high:
                    raise ModelError(f"joint '{node.name}' has the limits {low:g} and {high:g}, which leave it no place")
                q[..., node.iq + k] = rng.uniform(low, high, batch)
            if node.kind.names_or_default.quaternion:
                four = rng.normal(size=(*batch, 4))
                q[..., entries][..., scalars:] = four / np.linalg.norm(four, axis=-1, keepdims=True)
        for fitting in self.fittings:
            q = fitting.within(self, q)
        return q

    def integrate(self, q: ArrayLike, w: ArrayLike) -> Array:
        """The configuration reached from q in unit time at the constant velocity w (nv,), (nq,)."""
        q, w = self._states(q, "q", self.nq), self._states(w, "the velocity", self.nv)
        moved = [node.kind.group[0](*self._joint_entries(node, q, w)) for node in self.nodes]
        return _joined(moved, np.broadcast_shapes(q.shape[:-1], w.shape[:-1]))

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The velocity (nv,) that leads from q0 to q1 in unit time; by the shorter rotation where there are two."""
        q0, q1 = self._states(q0, "q0", self.nq), self._states(q1, "q1", self.nq)
        steps = [node.kind.group[1](*(q[..., node.iq : node.iq + node.kind.nq] for q in (q0, q1))) for node in self.nodes]
        return _joined(steps, np.broadcast_shapes(q0.shape[:-1], q1.shape[:-1]))

    def distance(self, q0: ArrayLike, q1: ArrayLike) -> Any:
        """The length of `difference`: radians and metres together, as in Pinocchio."""
        return np.linalg.norm(self.difference(q0, q1), axis=-1)[()]

    def interpolate(self, q0: ArrayLike, q1: ArrayLike, s: ArrayLike) -> Array:
        """Configuration between q0 (s = 0) and q1 (s = 1) at a constant velocity; s a number, or (n,) for a path (n, nq)."""
        share = reals(s, "s")
        return self.integrate(q0, share[..., None] * self.difference(q0, q1))

    def _joint_entries(self, node: Node, q: Array, v: Array) -> tuple[Array, Array]:
        return q[..., node.iq : node.iq + node.kind.nq], v[..., node.iv : node.iv + node.kind.nv]

    # --- other libraries ---------------------------------------------------------------------------------------------

    def to_pinocchio(self, q: ArrayLike) -> Array:
        """q as Pinocchio stores it: continuous joints as (cos, sin), planar ones as (x, y, cos, sin)."""
        q, blocks = self._states(q, "q", self.nq), []
        for node in self.nodes:
            entries = q[..., node.iq : node.iq + node.kind.nq]
            if node.kind.name in CIRCULAR:
                entries = np.concatenate([entries[..., :-1], np.cos(entries[..., -1:]), np.sin(entries[..., -1:])], axis=-1)
            blocks.append(entries)
        return _joined(blocks, q.shape[:-1])

    def from_pinocchio(self, q: ArrayLike) -> Array:
        """q (nq,) from Pinocchio's; angles of continuous and planar joints in (−π, π]."""
        n_circular = sum(node.kind.name in CIRCULAR for node in self.nodes)
        q, blocks, k = self._states(q, "Pinocchio's q", self.nq + n_circular), [], 0
        for node in self.nodes:
            circular = node.kind.name in CIRCULAR
            entries = q[..., k : k + node.kind.nq + circular]
            k += node.kind.nq + circular
            if circular:
                entries = np.concatenate([entries[..., :-2], np.arctan2(entries[..., -1:], entries[..., -2:-1])], axis=-1)
            blocks.append(entries)
        return _joined(blocks, q.shape[:-1])

    def to_mujoco(self, q: ArrayLike, v: ArrayLike | None = None) -> Any:
        """q as MuJoCo stores it, quaternions (w, x, y, z); with v also v, linear of free bodies on the world's axes."""
        q = self._states(q, "q", self.nq)
        converted = _joined([_wxyz(node, q, back=False) for node in self.nodes], q.shape[:-1])
        return converted if v is None else (converted, self._linear(q, self._states(v, "v", self.nv), back=False))

    def from_mujoco(self, q: ArrayLike, v: ArrayLike | None = None) -> Any:
        """q, or (q, v), from MuJoCo's."""
        q = self._states(q, "MuJoCo's q", self.nq)
        converted = _joined([_wxyz(node, q, back=True) for node in self.nodes], q.shape[:-1])
        return converted if v is None else (converted, self._linear(converted, self._states(v, "v", self.nv), back=True))

    def _linear(self, q: Array, v: Array, *, back: bool) -> Array:
        """v with the linear velocities of floating joints turned from the body's axes to the world's, or back."""
        v = v.copy()
        for node in self.nodes:
            if node.kind.free:
                turn = q[..., node.iq + 3 : node.iq + 7]
                linear = slice(node.iv, node.iv + 3)
                v[..., linear] = rotated(conjugate(turn) if back else turn, v[..., linear])
        return v


CIRCULAR = ("continuous", "planar")
"""Kinds whose last coordinate is an angle that Pinocchio stores as its cosine and sine."""


def _wxyz(node: Node, q: Array, *, back: bool) -> Array:
    entries = q[..., node.iq : node.iq + node.kind.nq]
    if not node.kind.names_or_default.quaternion:
        return entries
    four = entries[..., -4:]
    rolled = np.roll(four, -1 if back else 1, axis=-1)
    return np.concatenate([entries[..., :-4], rolled], axis=-1)


def _coordinate_indices(node: Node) -> range:
    """The indices of a joint's entries in q."""
    return range(node.iq, node.iq + node.kind.nq)


def _joined(blocks: list[Array], batch: tuple[int, ...]) -> Array:
    broadcast = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in blocks]
    return np.concatenate(broadcast, axis=-1) if broadcast else np.zeros((*batch, 0))


__all__ = ["ConfigurationSpace"]
