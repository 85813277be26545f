"""Lengths that are linear in joint coordinates, and forces along them: fixed tendons, gears, springs, drives.

L = Σ c_k q_k + L₀        force F along L:  τ_k = c_k F
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import acos, atan2, inf, isfinite, pi, sin, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval
from sympy import Add, Integer, Matrix, Max, Min

from appell.errors import ModelError
from appell.model.constraint import Constraint
from appell.model.friction import Friction
from appell.model.unilateral import Between, Unilateral
from appell.tree.closures import loop_closure
from appell.tree.fittings import Array, Closure, Fitting
from appell.tree.frames import size_of
from appell.tree.loops import loop
from appell.tree.symbols.frame_symbols import FrameSymbols

if TYPE_CHECKING:
    from appell.tree.tree import Tree


@dataclass(frozen=True)
class Length:
    """Σ c q + offset over joints with one coordinate; terms: (joint, c)."""

    terms: tuple[tuple[str, float], ...]
    offset: float = 0.0

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(joint for joint, _ in self.terms)

    def value(self, tree: Tree) -> Any:
        """L in symbols."""
        return Add(*(c * tree.joint(joint) for joint, c in self.terms), self.offset or Integer(0))

    def rate(self, tree: Tree) -> Any:
        """L̇ in symbols."""
        return Add(*(c * tree.speeds(joint)[0] for joint, c in self.terms))

    def forces(self, tree: Tree, F: Any) -> dict[Any, Any]:
        """Velocity → c F."""
        forces: dict[Any, Any] = {}
        for joint, c in self.terms:
            (v,) = tree.speeds(joint)
            forces[v] = forces.get(v, 0) + c * F
        return forces

    def measured(self, tree: Any) -> Callable[[Array], tuple[float, Array]]:
        """q (nq,) → L and ∂L/∂v (nv,)."""
        factors, slope = np.zeros(tree.nq), np.zeros(tree.nv)
        for joint, c in self.terms:
            at, speed = tree.indices(joint)
            factors[at] += c
            slope[speed] += c
        return lambda q: (self.offset + float(factors @ q), slope)

    def locked(self, values: Mapping[str, float]) -> Length:
        fixed = sum(c * values[joint] for joint, c in self.terms if joint in values)
        return Length(tuple((joint, c) for joint, c in self.terms if joint not in values), self.offset + fixed)


@dataclass(frozen=True)
class Tendon(Fitting):
    """Forces along a length: a spring that is slack between two rest lengths, a damper, dry friction, stops.

    F = −k (L − rest) − d L̇        |friction| <= limit        lower <= L <= upper
    """

    name: str
    length: Length
    stiffness: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    damping: float = 0.0
    friction: float = 0.0
    lower: float = -inf
    upper: float = inf

    @property
    def joints(self) -> tuple[str, ...]:
        return self.length.joints

    def potential(self, tree: Tree) -> Any:
        """½ k (L − rest)²; a spring with slack is among the forces instead."""
        slack = self.rest[0] != self.rest[1]
        return Integer(0) if slack or not self.stiffness else self.stiffness * (self.length.value(tree) - self.rest[0]) ** 2 / 2

    def forces(self, tree: Tree) -> dict[Any, Any]:
        F: Any = -self.damping * self.length.rate(tree) if self.damping else Integer(0)
        if self.stiffness and self.rest[0] != self.rest[1]:
            L = self.length.value(tree)
            F += self.stiffness * (Max(self.rest[0] - L, 0) - Max(L - self.rest[1], 0))
        return self.length.forces(tree, F) if F != 0 else {}

    def constraints(self, tree: Tree) -> list[Any]:
        L, constraints = self.length.value(tree), []
        if isfinite(self.lower) and isfinite(self.upper):
            constraints.append(Between(self.lower, L, self.upper, self.name, 0))
        elif isfinite(self.lower) or isfinite(self.upper):
            constraints.append(Unilateral(L - self.lower if isfinite(self.lower) else self.upper - L, self.name, 0))
        if self.friction:
            constraints.append(Friction(self.length.rate(tree), limit=self.friction, name=f"{self.name}: friction"))
        return constraints

    def excess(self, tree: Any) -> Closure | None:
        if not (isfinite(self.lower) or isfinite(self.upper)):
            return None
        measured, finite = self.length.measured(tree), [isfinite(self.lower), isfinite(self.upper)]

        def beyond(q: Array) -> tuple[Array, Array]:
            L, slope = measured(q)
            return np.array([self.lower - L, L - self.upper])[finite], np.stack([-slope, slope])[finite]

        return beyond

    def locked(self, values: Mapping[str, float]) -> Fitting | None:
        remaining = self.length.locked(values)
        return replace(self, length=remaining) if remaining.terms else None


@dataclass(frozen=True)
class LengthCoupling(Fitting):
    """L = Σ c_k L'^k, exactly: gears, cams, tendons that are tied together; without L' the length is fixed at c_0."""

    name: str
    length: Length
    coefficients: tuple[float, ...]
    other: Length = Length(())

    @property
    def joints(self) -> tuple[str, ...]:
        return *self.length.joints, *self.other.joints

    def _residual(self, L: Any, other: Any) -> Any:
        power: Any = Integer(0)
        for c in reversed(self.coefficients):
            power = power * other + c
        return L - power

    def constraints(self, tree: Tree) -> list[Any]:
        return [Constraint(self._residual(self.length.value(tree), self.other.value(tree)), self.name)]

    def closure(self, tree: Any) -> Closure:
        length, other_length = self.length.measured(tree), self.other.measured(tree)
        rates = polyder(self.coefficients) if len(self.coefficients) > 1 else (0.0,)

        def residual(q: Array) -> tuple[Array, Array]:
            (L, L_v), (other, other_v) = length(q), other_length(q)
            error = np.array([L - polyval(other, self.coefficients)], dtype=np.float64)
            return error, (L_v - polyval(other, rates) * other_v)[None]

        return residual

    def locked(self, values: Mapping[str, float]) -> Fitting | None:
        length, other = self.length.locked(values), self.other.locked(values)
        if length.terms or other.terms:
            return replace(self, length=length, other=other)
        if abs(misfit := float(self._residual(length.offset, other.offset))) > 1e-9 * (1 + abs(length.offset)):
            raise ModelError(f"with these joints locked '{self.name}' does not hold: it misses by {misfit:.3g}")
        return None


@dataclass(frozen=True)
class BallLimit(Fitting):
    """A ball joint rotates by at most `angle` (rad) from its neutral position: w² >= cos²(angle/2)."""

    joint: str
    least: float

    @property
    def joints(self) -> tuple[str, ...]:
        return (self.joint,)

    def constraints(self, tree: Tree) -> list[Any]:
        return [Unilateral(tree.joint(self.joint)[3] ** 2 - self.least, self.joint, 0)]

    @property
    def angle(self) -> float:
        """The largest rotation, rad."""
        return 2 * acos(sqrt(self.least))

    def excess(self, tree: Any) -> Closure:
        """θ − angle; θ grows by n·ω with the axis n of the rotation."""
        at, speeds = tree.indices(self.joint)

        def beyond(q: Array) -> tuple[Array, Array]:
            *vector, w = q[at] if q[at][3] >= 0 else -q[at]
            length, slope = float(np.linalg.norm(vector)), np.zeros((1, tree.nv))
            if length:
                slope[0, speeds] = np.array(vector) / length
            return np.array([2 * atan2(length, w) - self.angle]), slope

        return beyond

    def within(self, tree: Any, q: Array) -> Array:
        """The same axes, with smaller angles: (θ − sin θ)/π of uniformly drawn rotations is uniform, and stays so."""
        at, _ = tree.indices(self.joint)
        quaternion = q[..., at] * np.where(q[..., at][..., 3:] < 0, -1.0, 1.0)
        length = np.linalg.norm(quaternion[..., :3], axis=-1, keepdims=True)
        angle = 2 * np.arctan2(length, quaternion[..., 3:])
        table = np.linspace(0, self.angle, 4001)
        share = (angle - np.sin(angle)) / pi
        smaller = np.interp(share, (table - np.sin(table)) / (self.angle - sin(self.angle)), table)
        q = q.copy()
        q[..., at] = np.concatenate(
            [quaternion[..., :3] * np.sin(smaller / 2) / np.where(length > 0, length, 1.0), np.cos(smaller / 2)], axis=-1
        )
        return q


@dataclass(frozen=True)
class JoinedFrames(Fitting):
    """Two frames joined by a loop (`ap.tree.loop`): each a name, with a point (m) and a rotation (rpy, rad) in it."""

    name: str
    a: tuple[str, tuple[float, ...], tuple[float, ...]]
    b: tuple[str, tuple[float, ...], tuple[float, ...]]
    kind: str

    def _ends(self, tree: Any) -> Any:
        return (link_frame(tree, frame).at(xyz, rpy) for frame, xyz, rpy in (self.a, self.b))

    def constraints(self, tree: Tree) -> list[Any]:
        a, b = self._ends(tree)
        return [*loop(a, b, self.kind, name=self.name)]

    def closure(self, tree: Any) -> Closure:
        (a, b), size = self._ends(tree), size_of(tree.nodes)
        return lambda q: loop_closure(tree.pose(a, q), tree.pose(b, q), self.kind, size)


@dataclass(frozen=True)
class ConstantForce(Fitting):
    """A constant force at a point of a frame, N on the world's axes; and −m g, which compensates the weight of a mass `carried`
    (kg) in whatever gravity the tree has."""

    frame: str
    point: tuple[float, ...]
    force: tuple[float, ...] = (0.0, 0.0, 0.0)
    carried: float = 0.0

    def potential(self, tree: Tree) -> Any:
        p = link_frame(tree, self.frame).at(self.point).position
        total = [F - self.carried * g if self.carried else F for F, g in zip(self.force, tree.gravity, strict=True)]
        return -Add(*(F * x for F, x in zip(total, p.flat(), strict=True) if F))


@dataclass(frozen=True)
class Drive(Fitting):
    """An actuator along a length: F = gain(L, L̇) u + bias(L, L̇) with the input u, the parameter `tree.actuators[name]`.

    gain, bias: (c, c_L, c_v) of c + c_L L + c_v L̇. control, force: the ranges to which u and F are clipped.
    """

    name: str
    length: Length
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control: tuple[float, float] = (-inf, inf)
    force: tuple[float, float] = (-inf, inf)

    @property
    def joints(self) -> tuple[str, ...]:
        return self.length.joints

    def scalar(self, tree: Tree) -> Any:
        """F in symbols."""
        L, rate = self.length.value(tree), self.length.rate(tree)
        affine = lambda c: Add(*(x * y for x, y in zip(c, (Integer(1), L, rate), strict=True) if x))
        return clip_to(affine(self.gain) * clip_to(tree.actuators[self.name], self.control) + affine(self.bias), self.force)

    def forces(self, tree: Tree) -> dict[Any, Any]:
        return self.length.forces(tree, self.scalar(tree))

    def locked(self, values: Mapping[str, float]) -> Fitting | None:
        remaining = self.length.locked(values)
        return replace(self, length=remaining) if remaining.terms else None


@dataclass(frozen=True)
class Thruster(Fitting):
    """An actuator that applies a wrench to a frame along its own axes: wrench = gear · (gain u + bias) with the input u, the
    parameter `tree.actuators[name]`.

    frame, with a point (m) and a rotation (rpy, rad) in it; gear: [force | moment], (6,).
    """

    name: str
    frame: tuple[str, tuple[float, ...], tuple[float, ...]]
    gear: tuple[float, ...]
    gain: float = 1.0
    bias: float = 0.0
    control: tuple[float, float] = (-inf, inf)
    force: tuple[float, float] = (-inf, inf)

    def loads(self, tree: Tree) -> list[Any]:
        name, xyz, rpy = self.frame
        frame = link_frame(tree, name).at(xyz, rpy)
        F = clip_to(self.gain * clip_to(tree.actuators[self.name], self.control) + self.bias, self.force)
        on_axes = lambda part: [F * x for x in frame.rotation * Matrix([*part])]
        pairs = ((self.gear[:3], frame.velocity.flat()), (self.gear[3:], frame.angular_velocity.flat()))
        return [(on_axes(part), u) for part, u in pairs if any(part) and any(u)]  # u = 0: no joint moves the frame


def link_frame(tree: Tree, link: str) -> FrameSymbols:
    """The frame of a link, also where another joint has the same name."""
    return tree.frame(f"link {link}" if f"link {link}" in tree.frames and link not in tree.frames else link)


def clip_to(x: Any, limits: tuple[float, float]) -> Any:
    """x clipped to limits, where these are finite."""
    x = Min(x, limits[1]) if isfinite(limits[1]) else x
    return Max(x, limits[0]) if isfinite(limits[0]) else x


__all__ = ["BallLimit", "ConstantForce", "Drive", "JoinedFrames", "Length", "LengthCoupling", "Tendon", "Thruster", "clip_to"]
