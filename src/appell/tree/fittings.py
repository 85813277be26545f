"""Fittings of the joints of a robot: stops, dampers, brakes, springs, couplings.

The fittings of a tree act in every motion: `tree.system(…)` adds their rows, forces and potentials to those it is given. The
functions of a tree, `forward_dynamics` and the like, are those of the bodies alone.

A fitting is a record of names and numbers; its methods return rows and forces in the symbols of a given tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval
from numpy.typing import NDArray
from sympy import Integer

from appell.errors import ModelError
from appell.model.constraint import Constraint
from appell.model.friction import Friction

if TYPE_CHECKING:
    from appell.tree.tree import Tree

Array = NDArray[np.float64]
Closure = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Fitting:
    """Something that acts on joints in motions. A new kind of fitting overrides one or more of these methods."""

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints it acts on."""
        return ()

    def constraints(self, tree: Tree) -> list[Any]:
        """Rows, faces and frictions, as `tree.system(constraints=…)` takes them."""
        return []

    def forces(self, tree: Tree) -> dict[Any, Any]:
        """Velocity → generalized force, N or N m."""
        return {}

    def potential(self, tree: Tree) -> Any:
        """Potential energy, J."""
        return Integer(0)

    def loads(self, tree: Tree) -> list[Any]:
        """Pairs (F, u) of a force and the velocity of its point, as `tree.system(loads=…)` takes them."""
        return []

    def closure(self, tree: Any) -> Closure | None:
        """q (nq,) → the error of the constraint it imposes, (k,), rad or in sizes of the tree, and its Jacobian, (k, nv)."""
        return None

    def excess(self, tree: Any) -> Closure | None:
        """q (nq,) → how far it is beyond limits that are not those of a single coordinate, (k,), negative within them, and the
        Jacobian of that, (k, nv)."""
        return None

    def within(self, tree: Any, q: Array) -> Array:
        """Uniformly drawn q, (nq,) or (batch, nq), brought within such limits where these are those of one joint."""
        return q

    def locked(self, values: Mapping[str, float]) -> Fitting | None:
        """The same fitting with some joints locked; None where it no longer has an effect."""
        return None if set(self.joints) & set(values) else self


@dataclass(frozen=True)
class JointStops(Fitting):
    """lower <= q <= upper of every joint that has `limits`, with this restitution; see `Tree.stops`."""

    restitution: float = 0.0

    def constraints(self, tree: Tree) -> list[Any]:
        return [*tree.stops(restitution=self.restitution)]


@dataclass(frozen=True)
class JointDamping(Fitting):
    """−d v on every velocity of a joint: d in N m s/rad or N s/m, one for each velocity or one for all."""

    joint: str
    damping: tuple[float, ...]

    @property
    def joints(self) -> tuple[str, ...]:
        return (self.joint,)

    def forces(self, tree: Tree) -> dict[Any, Any]:
        return {v: -d * v for v, d in _with_coefficients(tree, self.joint, self.damping)}


@dataclass(frozen=True)
class JointFriction(Fitting):
    """Dry friction in a joint: |τ| <= limit (N m or N) while it sticks, = limit against v while it moves."""

    joint: str
    limit: tuple[float, ...]

    @property
    def joints(self) -> tuple[str, ...]:
        return (self.joint,)

    def constraints(self, tree: Tree) -> list[Any]:
        pairs = _with_coefficients(tree, self.joint, self.limit)
        name = lambda v: f"{self.joint}: friction" if len(pairs) == 1 else f"{v}: friction"
        return [Friction(v, limit=limit, name=name(v)) for v, limit in pairs]


def _with_coefficients(tree: Tree, joint: str, values: tuple[float, ...]) -> list[tuple[Any, float]]:
    """Velocities of a joint with their coefficients, where those are not zero."""
    speeds = tree.speeds(joint)
    coefficients = values * len(speeds) if len(values) == 1 else values
    return [(v, x) for v, x in zip(speeds, coefficients, strict=True) if x]


@dataclass(frozen=True)
class JointSpring(Fitting):
    """½ k (q − rest)² of a joint with one coordinate; N m/rad or N/m."""

    joint: str
    stiffness: float
    rest: float = 0.0

    @property
    def joints(self) -> tuple[str, ...]:
        return (self.joint,)

    def potential(self, tree: Tree) -> Any:
        return self.stiffness * (tree.joint(self.joint) - self.rest) ** 2 / 2


@dataclass(frozen=True)
class Coupling(Fitting):
    """q_joint = Σ c_k q_of^k: `<mimic>` with c = (offset, multiplier), gears, cams.

    fixed: values of locked joints.
    """

    joint: str
    of: str
    coefficients: tuple[float, ...]
    fixed: tuple[tuple[str, float], ...] = field(default=())

    @property
    def joints(self) -> tuple[str, ...]:
        return self.joint, self.of

    @property
    def name(self) -> str:
        return f"{self.joint} follows {self.of}"

    @property
    def ratio(self) -> float:
        """dq_joint/dq_of where it is constant, else 0."""
        return self.coefficients[1] if len(self.coefficients) == 2 else 0.0

    def value(self, q: Any) -> Any:
        """Σ c_k q^k by Horner's rule."""
        result: Any = Integer(0)
        for c in reversed(self.coefficients):
            result = result * q + _as_integer(c)
        return result

    def constraints(self, tree: Tree) -> list[Any]:
        known = dict(self.fixed)
        q, p = (known[joint] if joint in known else tree.joint(joint) for joint in self.joints)
        return [Constraint(q - self.value(p), self.name)]

    def closure(self, tree: Any) -> Closure:
        fixed, nv, rates = dict(self.fixed), tree.nv, polyder(self.coefficients)
        places = [None if joint in fixed else tuple(x.start for x in tree.indices(joint)) for joint in self.joints]

        def residual(q: Array) -> tuple[Array, Array]:
            follower, leader = (
                fixed[joint] if place is None else q[place[0]] for joint, place in zip(self.joints, places, strict=True)
            )
            slope = np.zeros((1, nv))
            for place, factor in zip(places, (1.0, -polyval(leader, rates)), strict=True):
                if place is not None:
                    slope[0, place[1]] += factor
            return np.array([follower - polyval(leader, self.coefficients)], dtype=np.float64), slope

        return residual

    def locked(self, values: Mapping[str, float]) -> Fitting | None:
        known = {**dict(self.fixed), **{joint: values[joint] for joint in self.joints if joint in values}}
        if not all(joint in known for joint in self.joints):
            return replace(self, fixed=tuple(known.items()))
        q, p = (known[joint] for joint in self.joints)
        if abs(q - self.value(p)) > 1e-9 * (1 + abs(q)):  # allows for values typed by hand, and for rounding
            expected = f"{float(self.value(p)):.9g}"
            raise ModelError(f"joint '{self.joint}' follows '{self.of}': with it locked it is at {expected}, not at {q:.9g}")
        return None


def _as_integer(x: float) -> Any:
    """1.0 → 1, so that residuals read well."""
    return Integer(int(x)) if x == int(x) and abs(x) < 1e9 else x


def stop_ranges(tree: Tree) -> dict[str, tuple[float, float]]:
    """Joint → (lower, upper), where one of them is finite; a leader also takes the limits of its followers, in its own units.

    A coupling and the stops of both its joints would be three rows on two coordinates. Equal limits make no stop.
    """
    ranges = {name: (limit.lower, limit.upper) for name, limit in tree.limits.items() if _is_range(limit.lower, limit.upper)}
    leaders = {c.joint: c for c in tree.fittings if isinstance(c, Coupling) and len(c.coefficients) == 2 and not c.fixed}
    for follower in _last_first(leaders):
        if follower not in ranges:
            continue
        offset, factor = leaders[follower].coefficients
        if not factor:
            continue
        lower, upper = sorted((x - offset) / factor for x in ranges.pop(follower))
        leader = leaders[follower].of
        low, high = ranges.get(leader, (float("-inf"), float("inf")))
        ranges[leader] = max(low, lower), min(high, upper)
        if not ranges[leader][0] < ranges[leader][1]:
            raise ModelError(
                f"the limits of joint '{follower}', which follows '{leader}', and those of '{leader}' leave no way: mend them,"
                " or read the robot with limits=False"
            )
    return ranges


def gathered_friction(limits: Mapping[str, float], couplings: Sequence[Coupling]) -> list[JointFriction]:
    """Dry friction of joints; that of a joint which follows another by a fixed ratio is added to its leader: both act on one
    velocity."""
    total, leaders = dict(limits), {c.joint: c for c in couplings if len(c.coefficients) == 2 and not c.fixed}
    for follower in _last_first(leaders):
        if follower in total:
            leader, factor = leaders[follower].of, leaders[follower].coefficients[1]
            total[leader] = total.get(leader, 0.0) + abs(factor) * total.pop(follower)
    return [JointFriction(joint, (limit,)) for joint, limit in total.items() if limit]


def _is_range(lower: float, upper: float) -> bool:
    """Whether the limits bound a nonempty range; crossed limits are reported where stops are made of them."""
    return (isfinite(lower) or isfinite(upper)) and lower != upper


def leaders_first(couplings: Sequence[Coupling]) -> list[Coupling]:
    """Couplings in an order that places a leader before its followers; the last coupling of each joint counts."""
    followers = {c.joint: c for c in couplings}
    return [followers[joint] for joint in reversed(_last_first(followers))]


def _last_first(leaders: Mapping[str, Coupling]) -> list[str]:
    """Followers, each before its leader; those on a cycle in any order."""

    def depth(joint: str) -> int:
        chain: list[str] = []
        while joint in leaders and joint not in chain:
            chain.append(joint)
            joint = leaders[joint].of
        return len(chain)

    return sorted(leaders, key=depth, reverse=True)


__all__ = [
    "Coupling", "Fitting", "JointDamping", "JointFriction", "JointSpring", "JointStops", "gathered_friction",
    "leaders_first", "stop_ranges",
]  # fmt: skip
