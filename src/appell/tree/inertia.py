"""Placements and the ten numbers of a rigid body.

    m = Σ dm        h = Σ r dm = m c        P = Σ r rᵀ dm

J = tr(P) 1 − P is the inertia matrix about the origin of the body's frame. Moments simply add, turn and shift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.errors import ModelError

Array = NDArray[np.float64]


def real_vector(values: Any, what: str, size: int = 3) -> Array:
    """`values` as finite float64, (size,)."""
    try:
        array = np.array([float(value) for value in values])
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what} must be {size} numbers, not {values!r}") from error
    if array.shape != (size,) or not np.isfinite(array).all():
        raise ModelError(f"{what} must be {size} finite numbers, not {values!r}")
    return array


def hat(r: ArrayLike) -> Array:
    """[r×]."""
    x, y, z = np.asarray(r, float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def turn_about(axis: ArrayLike, angle: float) -> Array:
    """Rodrigues' rotation matrix about a unit axis."""
    K = hat(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def from_rpy(rpy: ArrayLike) -> Array:
    """URDF: turns about the fixed axes x, y, z; R = Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = np.asarray(rpy, float)
    x, y, z = np.eye(3)
    return turn_about(z, yaw) @ turn_about(y, pitch) @ turn_about(x, roll)


@dataclass(frozen=True, eq=False)
class Placement:
    """A frame in another one: x_old = R x_new + p. R (3, 3), p (3,) in m."""

    R: Array
    p: Array

    def __post_init__(self) -> None:
        R, p = np.array(self.R, float), np.array(self.p, float)
        if R.shape != (3, 3) or p.shape != (3,) or not (np.isfinite(R).all() and np.isfinite(p).all()):
            raise ModelError("a placement has a finite rotation matrix (3, 3) and a finite position (3,)")
        if abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0:
            raise ModelError(f"the matrix of a placement is not a rotation:\n{R}")
        R.flags.writeable = p.flags.writeable = False
        object.__setattr__(self, "R", R)
        object.__setattr__(self, "p", p)

    def __matmul__(self, other: Placement) -> Placement:
        return Placement(self.R @ other.R, self.R @ other.p + self.p)

    @property
    def inverse(self) -> Placement:
        return Placement(self.R.T, -self.R.T @ self.p)


HERE = Placement(np.eye(3), np.zeros(3))


def place(xyz: ArrayLike = (0, 0, 0), rpy: ArrayLike = (0, 0, 0)) -> Placement:
    """A placement by position (m) and roll, pitch, yaw (rad), as URDF writes it."""
    return Placement(from_rpy(rpy), np.asarray(xyz, float))


@dataclass(frozen=True, eq=False)
class Inertia:
    """m (kg), h (3,) (kg m) and P (3, 3) (kg m²) about the origin and on the axes of a frame."""

    m: float
    h: Array
    P: Array

    @staticmethod
    def at_centre(mass: float, centre: ArrayLike, J: ArrayLike, what: str = "the body") -> Inertia:
        """From the mass, the centre of mass (3,) and the inertia matrix (3, 3) about it."""
        mass, c, J = float(mass), real_vector(centre, f"the centre of mass of {what}"), np.array(J, float)
        if not np.isfinite(mass) or mass < 0:
            raise ModelError(f"the mass of {what} is {mass}; it must be a finite number >= 0 (kg)")
        if J.shape != (3, 3) or not np.isfinite(J).all() or abs(J - J.T).max() > 1e-12 * (1 + abs(J).max()):
            raise ModelError(f"the inertia matrix of {what} must be 3 by 3, finite and symmetric, not {J.tolist()}")
        if (np.diag(J) < -1e-15).any():  # files hold -5e-20 where zero is meant
            raise ModelError(f"the inertia matrix of {what} has a negative moment on its diagonal: {np.diag(J)}")
        return Inertia(mass, mass * c, np.trace(J) / 2 * np.eye(3) - J + mass * np.outer(c, c))

    @staticmethod
    def zero() -> Inertia:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @property
    def J(self) -> Array:
        """The inertia matrix about the origin, (3, 3), kg m²."""
        return np.trace(self.P) * np.eye(3) - self.P

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.m + other.m, self.h + other.h, self.P + other.P)

    def seen_from(self, X: Placement) -> Inertia:
        """This body given in a frame with placement X, on the outer frame."""
        h, P, r = X.R @ self.h, X.R @ self.P @ X.R.T, X.p
        return Inertia(self.m, h + self.m * r, P + np.outer(h, r) + np.outer(r, h) + self.m * np.outer(r, r))

    def spatial(self) -> Array:
        """[[J, h×], [−h×, m]], (6, 6), [angular | linear]."""
        return np.block([[self.J, hat(self.h)], [-hat(self.h), self.m * np.eye(3)]])
