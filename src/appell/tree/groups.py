"""Joint motions as Lie groups: exp of a constant velocity over unit time, and its inverse, log.

    moved(q, w) = q exp(w)            between(q0, q1) = log(q0⁻¹ q1)

w is on the axes of the successor, as v is: [linear, angular] for SE(3), body rates for SO(3), (x, y, angle) for SE(2).
Arrays have any number of leading axes; small angles use series, so that nothing divides by zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALL_ANGLE = 1e-4
"""rad; below it the series of (1 − cos θ)/θ² and the like, cut after θ², are exact to rounding (θ⁴/720 < 2e-19)."""


def add(q: Array, w: Array) -> Array:
    """A line: q + w."""
    return q + w


def subtract(q0: Array, q1: Array) -> Array:
    """A line: q1 − q0."""
    return q1 - q0


def around(q0: Array, q1: Array) -> Array:
    """A circle: the shorter difference of two angles, in (−π, π]."""
    return -((q0 - q1 + np.pi) % (2 * np.pi) - np.pi)


def product(a: Array, b: Array) -> Array:
    """The product of quaternions (x, y, z, w)."""
    u, s, v, c = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    return np.concatenate([s * v + c * u + np.cross(u, v), s * c - (u * v).sum(-1, keepdims=True)], axis=-1)


def conjugate(a: Array) -> Array:
    """The inverse of a unit quaternion."""
    return a * np.array([-1.0, -1.0, -1.0, 1.0])


def rotated(a: Array, x: Array) -> Array:
    """R(a) x."""
    u, s = a[..., :3], a[..., 3:]
    twice = 2 * np.cross(u, x)
    return x + s * twice + np.cross(u, twice)


def _angle(w: Array) -> Array:
    return np.linalg.norm(w, axis=-1, keepdims=True)


def exp_turn(w: Array) -> Array:
    """The quaternion of a rotation by |w| about w."""
    theta = _angle(w)
    small = theta < SMALL_ANGLE
    safe = np.where(small, 1.0, theta)
    half = np.where(small, 0.5 - theta**2 / 48, np.sin(safe / 2) / safe)
    return np.concatenate([half * w, np.cos(theta / 2)], axis=-1)


def log_turn(a: Array) -> Array:
    """The rotation vector w of a unit quaternion, |w| <= π."""
    a = np.where(a[..., 3:] < 0, -a, a)  # a and −a are the same rotation
    sine = _angle(a[..., :3])
    small = sine < SMALL_ANGLE
    theta = 2 * np.arctan2(sine, a[..., 3:])
    return np.where(small, 2 + sine**2 / 3, theta / np.where(small, 1.0, sine)) * a[..., :3]


def turn(q: Array, w: Array) -> Array:
    """SO(3)."""
    return unit(product(q, exp_turn(w)))


def turn_between(q0: Array, q1: Array) -> Array:
    """SO(3)."""
    return log_turn(product(conjugate(q0), q1))


def unit(a: Array) -> Array:
    """A quaternion normalized."""
    return a / np.linalg.norm(a, axis=-1, keepdims=True)


def _screw(w: Array, x: Array) -> Array:
    """(I + (1 − cos θ)/θ² [w×] + (θ − sin θ)/θ³ [w×]²) x: how far a constant twist carries its origin."""
    theta = _angle(w)
    small = theta < SMALL_ANGLE
    safe = np.where(small, 1.0, theta)
    b = np.where(small, 0.5 - theta**2 / 24, 2 * np.sin(safe / 2) ** 2 / safe**2)
    c = np.where(small, 1 / 6 - theta**2 / 120, (safe - np.sin(safe)) / safe**3)
    turned = np.cross(w, x)
    return x + b * turned + c * np.cross(w, turned)


def _unscrew(w: Array, x: Array) -> Array:
    """The inverse of `_screw`: I − ½ [w×] + (1 − θ/2 · cot θ/2)/θ² [w×]²."""
    theta = _angle(w)
    small = theta < SMALL_ANGLE
    safe = np.where(small, 1.0, theta)
    half = safe / 2
    c = np.where(small, 1 / 12 + theta**2 / 720, (1 - half * np.cos(half) / np.sin(half)) / safe**2)
    turned = np.cross(w, x)
    return x - 0.5 * turned + c * np.cross(w, turned)


def move(q: Array, twist: Array) -> Array:
    """SE(3): q = [x y z | quaternion], twist = [linear, angular]."""
    p, a, v, w = q[..., :3], q[..., 3:], twist[..., :3], twist[..., 3:]
    return np.concatenate([p + rotated(a, _screw(w, v)), turn(a, w)], axis=-1)


def move_between(q0: Array, q1: Array) -> Array:
    """SE(3)."""
    w = turn_between(q0[..., 3:], q1[..., 3:])
    shift = rotated(conjugate(q0[..., 3:]), q1[..., :3] - q0[..., :3])
    return np.concatenate([_unscrew(w, shift), w], axis=-1)


def move_in_plane(q: Array, twist: Array) -> Array:
    """SE(2): q = (x, y, angle)."""
    zero = np.zeros_like(twist[..., :2])
    shift = _screw(np.concatenate([zero, twist[..., 2:]], axis=-1), np.concatenate([twist[..., :2], zero[..., :1]], axis=-1))
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    x, y = shift[..., 0], shift[..., 1]
    return np.stack([q[..., 0] + c * x - s * y, q[..., 1] + s * x + c * y, q[..., 2] + twist[..., 2]], axis=-1)


def plane_between(q0: Array, q1: Array) -> Array:
    """SE(2), by the shorter rotation."""
    angle, shift = around(q0[..., 2], q1[..., 2]), q1 - q0
    c, s = np.cos(q0[..., 2]), np.sin(q0[..., 2])
    local = np.stack(
        [c * shift[..., 0] + s * shift[..., 1], -s * shift[..., 0] + c * shift[..., 1], np.zeros_like(angle)], axis=-1
    )
    axis = np.stack([np.zeros_like(angle), np.zeros_like(angle), angle], axis=-1)
    twist = _unscrew(axis, local)
    return np.stack([twist[..., 0], twist[..., 1], angle], axis=-1)


__all__ = ["add", "around", "move", "move_between", "move_in_plane", "plane_between", "subtract", "turn", "turn_between"]
