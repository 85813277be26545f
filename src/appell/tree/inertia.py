"""Placements, and the ten inertial parameters of a rigid body.

    m = Σ dm        h = Σ r dm = m c        P = Σ r rᵀ dm

J = tr(P) 1 − P is the inertia matrix about the origin of the body's frame. Moments add, and transform simply under rotations
and shifts.

Entries are finite numbers (float64), or expressions in parameters (dtype object) for a symbolic tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from appell.errors import ModelError
from appell.jets import Parameter
from appell.reading import finite, reals, refuse_large, shown, symbolic
from appell.spelling import checked_keywords

Array = NDArray[np.float64]
IDENTITY = np.eye(3, dtype=int)


def real_vector(values: Any, what: str, size: int = 3) -> Array:
    """`values` as finite float64, (size,)."""
    array = reals(values.flat() if isinstance(values, sympy.MatrixBase) else values, what)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise ModelError(f"{what} must be {size} finite numbers, not {shown(values)}")
    return array


def has_symbols(values: Any) -> bool:
    """Whether a number or any entry of an array is an expression with symbols."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return False
    return any(isinstance(x, sympy.Expr) and bool(x.free_symbols) for x in leaves(values))


def leaves(values: Any) -> Iterator[Any]:
    """The scalars in lists, tuples, arrays or matrices, nested at most as deep as a matrix."""
    refuse_large(values, "an array")
    if isinstance(values, np.ndarray | sympy.MatrixBase):
        yield from np.ravel(np.array(values, dtype=object))
    elif isinstance(values, list | tuple):
        for row in values:
            yield from row if isinstance(row, list | tuple) else (row,) if isinstance(row, np.ndarray) else leaves(row)
    else:
        yield values


def exact(value: Any, what: str) -> Any:
    """An expression in parameters, with 1.0 and 0.0 written as 1 and 0."""
    x: Any = symbolic(value, what)
    foreign = sorted(str(s) for s in x.free_symbols if not isinstance(s, Parameter))
    if foreign:
        raise ModelError(f"{what} contains '{foreign[0]}'; a tree takes numbers and symbols made by ap.parameters")
    if not x.free_symbols and x.is_finite is False:
        raise ModelError(f"{what} contains {value}, which is not finite")
    return x.xreplace({number: sympy.Integer(number) for number in x.atoms(sympy.Float) if float(number).is_integer()})


def entries(values: Any, what: str, shape: tuple[int, ...] = (3,)) -> Any:
    """`values` of this shape as finite float64, or as expressions where one of them contains symbols."""
    if has_symbols(values):
        array = objects(values, what)
        array = array.ravel() if array.shape == (*shape, 1) else array  # a SymPy column
        if array.shape != shape:
            raise ModelError(f"{what} must have the shape {shape}, not {array.shape}")
        return np.array([exact(x, what) for x in array.ravel()], dtype=object).reshape(shape)
    if shape == (3,):
        return real_vector(values, what)
    array = reals(values.tolist() if isinstance(values, sympy.MatrixBase) else values, what)
    if array.shape != shape or not np.isfinite(array).all():
        raise ModelError(f"{what} must be finite numbers of the shape {shape}, not {shown(array)}")
    return array


def objects(values: Any, what: str) -> Any:
    """`values` as an array of objects, rows of equal length."""
    for x in leaves(values):
        refuse_large(x, what)
    try:
        return np.array(values, dtype=object)
    except Exception:  # rows of unequal length, or an arbitrary __array__
        raise ModelError(f"{what} must be an array of numbers or expressions, not {shown(values)}") from None


def entry(value: Any, what: str) -> Any:
    """A nonnegative number, or an expression in parameters."""
    if has_symbols(value):
        value = exact(value, what)
        if value.is_negative:
            raise ModelError(f"{what} is {value}, which is negative")
        return value
    number = finite(value, what)
    if not number >= 0:
        raise ModelError(f"{what} is {shown(value)}; it must be a finite number >= 0")
    return number


def hat(r: ArrayLike) -> Array:
    """[r×]."""
    x, y, z = np.asarray(r, float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


DUST = 1e-15
"""Entries of a rotation below this, and distances of an angle (rad) from a multiple of 15°, are rounding."""


def cos_sin(angle: float) -> tuple[float, float]:
    """cos and sin, exact where they are 0, ±½ or ±1, and equal to each other at 45°: cos(π/2) is 0, not 6e-17."""
    if abs(angle) > 1e15:  # rad; beyond it floats cannot resolve the angle
        raise ModelError(f"the angle {angle:g} rad is no direction: give one of a few turns")
    n = round(angle / (np.pi / 12))
    if abs(angle - n * (np.pi / 12)) > DUST * (1 + abs(angle)):
        return float(np.cos(angle)), float(np.sin(angle))
    return _FIFTEENTHS[n % 24], _FIFTEENTHS[(n - 6) % 24]


# cos of 0°, 15°, 30° …; sin is the cos of the angle minus 90°
_QUARTER = [1.0, np.sqrt(2 + np.sqrt(3)) / 2, np.sqrt(3) / 2, np.sqrt(0.5), 0.5, np.sqrt(2 - np.sqrt(3)) / 2, 0.0]
_HALF = [*_QUARTER, *(-x for x in _QUARTER[-2::-1])]
_FIFTEENTHS = [float(x) + 0.0 for x in (*_HALF, *_HALF[-2:0:-1])]


def turn_about(axis: int, angle: float) -> Array:
    """The rotation about the coordinate axis 0, 1 or 2."""
    c, s = cos_sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def from_rpy(rpy: ArrayLike) -> Array:
    """URDF: rotations about the fixed axes x, y, z; R = Rz(yaw) Ry(pitch) Rx(roll). Multiples of 90° are exact."""
    roll, pitch, yaw = real_vector(rpy, "rpy (roll, pitch, yaw in rad)")
    return without_dust(turn_about(2, yaw) @ turn_about(1, pitch) @ turn_about(0, roll))


def without_dust(R: Array) -> Array:
    """A rotation matrix with entries rounded to 0 and ±1 where they are within rounding of these."""
    rounded = np.round(R)
    return np.where(abs(R - rounded) < DUST, rounded + 0.0, R)


@dataclass(frozen=True, eq=False)
class Placement:
    """A frame in another one: x_old = R x_new + p. R (3, 3), p (3,) in m; p may contain parameters."""

    R: Array
    p: Array

    def __post_init__(self) -> None:
        R = np.array(entries(self.R, "the rotation matrix of a placement", (3, 3)))
        p = np.array(entries(self.p, "the position of a placement"))
        if has_symbols(R):
            raise ModelError("the rotation matrix of a placement must be made of numbers; its position may hold parameters")
        if abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0:
            raise ModelError(f"the matrix of a placement is not a rotation:\n{R}")
        R = without_dust(R)
        R.flags.writeable = p.flags.writeable = False
        object.__setattr__(self, "R", R)
        object.__setattr__(self, "p", p)

    def __matmul__(self, other: Placement) -> Placement:
        p = self.R @ other.p + self.p
        if p.dtype != object:  # the rounding left by a sum is not a length
            p = np.where(np.abs(p) < 1e-15 * (np.abs(other.p).max() + np.abs(self.p)), 0.0, p)
        return Placement(self.R @ other.R, p)

    @property
    def inverse(self) -> Placement:
        return Placement(self.R.T, -self.R.T @ self.p)


HERE = Placement(np.eye(3), np.zeros(3))


def place(xyz: Any = (0, 0, 0), rpy: Any = (0, 0, 0)) -> Placement:
    """A placement by position (m; may contain parameters) and roll, pitch, yaw (rad), as URDF writes it."""
    return Placement(from_rpy(rpy), entries(xyz, "the position xyz of a placement"))


@dataclass(frozen=True, eq=False)
class Inertia:
    """m (kg), h (3,) (kg m) and P (3, 3) (kg m²) about the origin and on the axes of a frame.

    `as_stated`: accepted although it is not physical, because a file states it; otherwise a tree raises.
    """

    m: float
    h: Array
    P: Array
    as_stated: bool = False

    @staticmethod
    @checked_keywords()
    def at_centre(mass: Any, centre: Any, J: Any, what: str = "the body", *, as_stated: bool = False) -> Inertia:
        """The inertia with a given mass, centre of mass (3,) and inertia matrix (3, 3) about it."""
        m, c, J = _ten(mass, centre, J, what)
        P = np.trace(J) / 2 * IDENTITY - J
        if not as_stated:
            Inertia(m, 0 * c, P).refuse_impossible(what)
        return Inertia(m, m * c, P + m * np.outer(c, c), as_stated)

    @staticmethod
    @checked_keywords()
    def at_hinge(mass: Any, centre: Any, J: Any, what: str = "the body") -> Inertia:
        """The inertia with a given mass, centre of mass (3,) and inertia matrix (3, 3) about the origin of the frame."""
        m, c, J = _ten(mass, centre, J, what)
        inertia = Inertia(m, m * c, np.trace(J) / 2 * IDENTITY - J)
        inertia.refuse_impossible(what, "; J is taken about the hinge, mass at c included")
        return inertia

    @staticmethod
    def zero() -> Inertia:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @property
    def J(self) -> Array:
        """The inertia matrix about the origin, (3, 3), kg m²."""
        return np.trace(self.P) * IDENTITY - self.P

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.m + other.m, self.h + other.h, self.P + other.P)

    def checked(self, what: str) -> Inertia:
        """This inertia, checked: finite, of the right shapes and, unless a file states it, physically possible."""
        m, h = entry(self.m, f"the mass of {what}"), entries(self.h, f"the first moment h of {what}")
        inertia = Inertia(m, h, entries(self.P, f"the second moment P of {what}", (3, 3)), self.as_stated)
        if not self.as_stated:
            inertia.refuse_impossible(what)
        return inertia

    def impossible(self) -> str:
        """Why these ten numbers are not physical, "" if they are: Σ (r − c)(r − c)ᵀ dm = P − h hᵀ/m has no negative eigenvalue.

        The eigenvalues of P and J are μ and Σμ − μ, so P >= 0 is the triangle inequality for J. Point masses, rods and plates
        are on the boundary; a violation by 1e-9 of the size is rounding. A wheel without mass is accepted, and so is (0, 0, J),
        the shorthand of plane mechanics.
        """
        m, h, P = self.m, self.h, self.P
        if any(map(has_symbols, (m, h, P))):
            return ""
        h, P = np.array(h, dtype=float), np.array(P, dtype=float)  # objects, if the body has parameters elsewhere
        size = float(abs(P).max())
        if not np.isfinite([m, *h, *P.flat, 1e6 * size]).all():
            return "its moments overflow; mend their units"
        if abs(P - P.T).max() > INERTIA_ROUNDING * size:
            return f"its second moment must be symmetric, not {P.tolist()}"
        if m == 0 and abs(h).max() > 0:
            return f"it has no mass, but a first moment {h.tolist()} kg m"
        about_centre = (P + P.T) / 2 - (np.outer(h, h) / m if m else 0)
        if not np.isfinite(about_centre).all():
            return "its moments about the centre of mass overflow; mend their units"
        mu = np.linalg.eigvalsh(about_centre)
        if mu[0] >= -INERTIA_ROUNDING * size:
            return ""
        moments = np.sort(mu.sum() - mu)
        if abs(moments[:2]).max() <= INERTIA_ROUNDING * size:
            return ""  # (0, 0, J): in plane mechanics, a body that turns about one axis only
        listed = ", ".join(f"{x:.6g}" for x in moments)
        if moments[0] < -INERTIA_ROUNDING * size:
            return f"its principal moments about the centre of mass are {listed} kg m², one of them negative"
        broken = f"triangle inequality, {moments[2]:.6g} > {moments[0]:.6g} + {moments[1]:.6g} (a thin plate has an equality)"
        return f"its principal moments about the centre of mass, {listed} kg m², break the {broken}"

    def refuse_impossible(self, what: str, hint: str = "") -> None:
        """Raises `ModelError` with the reason if these numbers are not physical."""
        if reason := self.impossible():
            raise ModelError(f"{what} has an inertia that no body can have: {reason}{hint}")

    def seen_from(self, X: Placement) -> Inertia:
        """This inertia, given in a frame with placement X, in the outer frame."""
        if not isinstance(X, Placement):
            raise ModelError(f"an inertia is seen from a placement, such as ap.tree.place(xyz, rpy), not from {shown(X)}")
        h, P, r = X.R @ self.h, X.R @ self.P @ X.R.T, X.p
        return Inertia(self.m, h + self.m * r, P + np.outer(h, r) + np.outer(r, h) + self.m * np.outer(r, r))

    def spatial(self) -> Array:
        """[[J, h×], [−h×, m]], (6, 6), [angular | linear]."""
        return np.block([[self.J, hat(self.h)], [-hat(self.h), self.m * np.eye(3)]])


INERTIA_ROUNDING = 1e-9
"""Fraction of an inertia's size below which a negative moment or an asymmetry is rounding."""


def _ten(mass: Any, centre: Any, J: Any, what: str) -> tuple[Any, Any, Any]:
    """(m, c, J) checked: m >= 0, J symmetric; numbers, or expressions in parameters."""
    m, c = entry(mass, f"the mass of {what}"), entries(centre, f"the centre of mass of {what}")
    J = entries(J, f"the inertia matrix of {what}", (3, 3))
    if has_symbols(J):
        skew = any(sympy.simplify(x) != 0 for x in (J - J.T).ravel())
        if any(moment.is_negative for moment in np.diag(J)):
            raise ModelError(f"the inertia matrix of {what} has a negative moment on its diagonal: {np.diag(J)}")
    else:
        skew = abs(J - J.T).max() > INERTIA_ROUNDING * abs(J).max()
    if skew:
        raise ModelError(f"the inertia matrix of {what} must be symmetric, not {J.tolist()}")
    return m, c, J
