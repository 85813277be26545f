"""Attitudes of rigid bodies: Euler angles, unit quaternions, rotation matrices, an angle in the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Matrix, Symbol, cos, sin

from appell.errors import ModelError
from appell.jets import QuaternionComponent, Speed, expression, speeds, total_derivative
from appell.reading import TEXT, items_of, name_in, refuse_large, shown
from appell.spelling import checked_keywords

Rates = Mapping[Symbol, Expr]

_AXES = {"x": Matrix([1, 0, 0]), "y": Matrix([0, 1, 0]), "z": Matrix([0, 0, 1])}


def vector(values: Any, where: str) -> Matrix:
    """A 3-vector of expressions; one or two entries mean motion on a line or in a plane."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        values = values.item()
    if not isinstance(values, Sequence | sympy.MatrixBase | np.ndarray) or isinstance(values, TEXT):
        values = [values]
    values = items_of(values, where)
    entries = [expression(value, f"an entry of {where}") for value in values]
    if not 1 <= len(entries) <= 3:
        raise ModelError(f"{where} must have 1, 2 or 3 entries, not {len(entries)}")
    return Matrix(entries + [sympy.Integer(0)] * (3 - len(entries)))


def _elementary(axis: str, angle: Expr) -> Matrix:
    c, s = cos(angle), sin(angle)
    return {
        "x": Matrix([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "y": Matrix([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "z": Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]


@dataclass(frozen=True)
class Euler:
    """Attitude by rotations about axes of the moving body, R = R_a(α) R_b(β) R_c(γ): 'zxz' is the classical ψ, θ, φ.

    ω on the body axes is γ̇ e_c + R_cᵀ (β̇ e_b + R_bᵀ α̇ e_a).
    """

    angles: tuple[Expr, ...]
    axes: str = "zxz"

    def __post_init__(self):
        angles = tuple(expression(a, "an Euler angle") for a in self.angles)
        if not 1 <= len(angles) <= 3 or len(self.axes) != len(angles) or set(self.axes) - set("xyz"):
            raise ModelError(
                f"Euler angles are up to three, each about an axis, as in 'zxz'; got {len(angles)} for {shown(self.axes)}"
            )
        if any(a == b for a, b in zip(self.axes, self.axes[1:], strict=False)):
            raise ModelError(f"Euler axes {shown(self.axes)}: two turns in a row about one axis are one turn")
        object.__setattr__(self, "angles", angles)

    @property
    def rotation(self) -> Matrix:
        """R, body → space, (3, 3)."""
        R = sympy.eye(3)
        for axis, angle in zip(self.axes, self.angles, strict=True):
            R = R * _elementary(axis, angle)
        return R

    def omega(self, rates: Rates) -> Matrix:
        """Angular velocity on the body axes, (3,), rad/s."""
        w = sympy.zeros(3, 1)
        for axis, angle in zip(self.axes, self.angles, strict=True):
            R, turn = _elementary(axis, angle), _AXES[axis] * total_derivative(angle, rates)
            terms = lambda i, R=R, w=w: (R[k, i] * w[k] for k in range(3) if R[k, i] != 0 and w[k] != 0)
            w = Matrix([sympy.Add(*terms(i), turn[i]) for i in range(3)])
        return w


@dataclass(frozen=True)
class Quaternion:
    """A unit quaternion (x, y, z | w) with the three body rates that drive it:

        ẇ = −½ ω·(x, y, z)         (x, y, z)˙ = ½ (w ω + (x, y, z) × ω)          ω on the body axes, rad/s.

    Use it in `System(coordinates=[…, ball, …])`: its four components become coordinates, its rates quasi-velocities.
    It starts at the identity (0, 0, 0 | 1) and stays normalized. Unpacks as `components, rates = ap.quaternion("ball")`.

    axes: where the rates are not on the body axes, the unit vectors that they belong to, on inertial axes, as columns, (3, 3);
    then ω = Σ rate_i e_i in space, and ẇ = −½ ω·(x, y, z), (x, y, z)˙ = ½ (w ω + ω × (x, y, z)).
    letters: names of the rates.
    """

    name: str
    axes: sympy.ImmutableMatrix | None = None
    letters: tuple[str, ...] | None = None

    @property
    def coordinates(self) -> tuple[QuaternionComponent, ...]:
        """(x, y, z, w), the scalar part last, as in Pinocchio."""
        return tuple(QuaternionComponent(f"{self.name}_{i}") for i in "xyzw")

    @property
    def rates(self) -> tuple[Speed, ...]:
        """Angular velocity on the body axes, or on `axes`, rad/s."""
        return tuple(Speed(letter) for letter in self.letters or [f"omega_{self.name}_{i}" for i in "xyz"])

    def __iter__(self):
        return iter((self.coordinates, self.rates))

    @property
    def kinematics(self) -> dict[Symbol, Expr]:
        """Component → its rate."""
        x, y, z, w = self.coordinates
        half = sympy.Rational(1, 2)
        if self.axes is not None:
            a, b, c = self.space_omega()
            return {
                x: half * (w * a + b * z - c * y),
                y: half * (w * b + c * x - a * z),
                z: half * (w * c + a * y - b * x),
                w: -half * (x * a + y * b + z * c),
            }
        a, b, c = self.rates
        return {
            x: half * (w * a + y * c - z * b),
            y: half * (w * b + z * a - x * c),
            z: half * (w * c + x * b - y * a),
            w: -half * (x * a + y * b + z * c),
        }

    @property
    def rotation(self) -> Matrix:
        """R, body → space, (3, 3), for a unit quaternion."""
        x, y, z, w = self.coordinates
        return Matrix(
            [
                [1 - 2 * (y**2 + z**2), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x**2 + z**2), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x**2 + y**2)],
            ]
        )

    def omega(self, rates: Rates) -> Matrix:
        """Angular velocity on the body axes, (3,): the rates themselves, unless they have other axes."""
        return Matrix(self.rates) if self.axes is None else self.rotation.T * self.space_omega()

    def space_omega(self) -> Matrix:
        """Angular velocity on inertial axes, (3,), rad/s."""
        return (self.rotation if self.axes is None else Matrix(self.axes)) * Matrix(self.rates)


@dataclass(frozen=True)
class RotationMatrix:
    """Attitude by a rotation matrix of coordinates; ω on the body axes is the vector of RᵀṘ."""

    rotation: Matrix

    def omega(self, rates: Rates) -> Matrix:
        R, Rd = self.rotation, total_derivative(self.rotation, rates)
        W = lambda i, j: sympy.Add(*(R[k, i] * Rd[k, j] for k in range(3)))  # (RᵀṘ)_ij
        return Matrix([W(2, 1), W(0, 2), W(1, 0)])


@dataclass(frozen=True)
class PlaneAngle:
    """Attitude of a plane motion: a rotation by `angle` about z."""

    angle: Expr

    @property
    def rotation(self) -> Matrix:
        return _elementary("z", self.angle)

    def omega(self, rates: Rates) -> Matrix:
        return Matrix([0, 0, total_derivative(self.angle, rates)])


@checked_keywords()
def euler(angles: Sequence[Any], axes: str | None = None) -> Euler:
    """Orientation by Euler angles: `ap.euler([psi, theta, phi])`, `ap.euler([yaw, pitch], "zy")`.

    Up to three rotations, each about an axis of the body after the previous ones; by default "zxz", as far as there are angles.
    """
    several = isinstance(angles, Sequence | sympy.MatrixBase) and not isinstance(angles, TEXT)
    turns: tuple[Any, ...] = tuple(items_of(angles, "Euler angles")) if several else (angles,)
    return Euler(turns, "zxz"[: len(turns)] if axes is None else axes)


@checked_keywords()
def quaternion(name: str, *, axes: Any = "body", rates: str | Sequence[str] | None = None) -> Quaternion:
    """Orientation without singular positions: four coordinates `name_x … name_w` and three body rates `omega_name_x …`.

    Parameters
    ----------
    axes: of the rates: "body", "space" (inertial axes), or three unit vectors at right angles on inertial axes, which may
        depend on coordinates and time: `[[cos(phi), sin(phi), 0], [-sin(phi), cos(phi), 0], [0, 0, 1]]` rotate with a ball
        in a cylinder. Equations of homogeneous balls are short in them: the quaternion then occurs only in its own rates.
    rates: names of the rates, "omega_n omega_e omega_z", in place of `omega_name_x …`.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ModelError(f"'{name_in(name)}' cannot be the name of a quaternion; use letters, digits and underscores")
    letters = None if rates is None else tuple(s.letter for s in _three_speeds(rates))
    if isinstance(axes, str):
        if axes not in ("body", "space"):
            raise ModelError(f"axes= of quaternion '{name}' are 'body', 'space' or three unit vectors, not {shown(axes)}")
        return Quaternion(name, None if axes == "body" else sympy.ImmutableMatrix.eye(3), letters)
    columns = [vector(e, f"an axis of quaternion '{name}'") for e in items_of(axes, f"axes= of quaternion '{name}'")]
    if len(columns) != 3:
        raise ModelError(f"axes= of quaternion '{name}' are three unit vectors, not {len(columns)}")
    E = Matrix.hstack(*columns)
    deviation = (E.T * E - sympy.eye(3)).applyfunc(sympy.simplify)
    if not deviation.is_zero_matrix or sympy.simplify(E.det() - 1) != 0:
        raise ModelError(
            f"axes= of quaternion '{name}' are unit vectors at right angles, the third being the first × the second"
        )
    return Quaternion(name, sympy.ImmutableMatrix(E), letters)


def _three_speeds(names: Any) -> tuple[Speed, ...]:
    rates = speeds(names)
    if not isinstance(rates, tuple) or len(rates) != 3 or len(set(rates)) < 3:
        raise ModelError(f"rates= of a quaternion are three different names, not {shown(names)}")
    return rates


Attitude = Euler | Quaternion | RotationMatrix | PlaneAngle


def attitude(value: Any) -> Attitude:
    """The attitude that `orientation=` of a body gives: an angle about z, three Euler angles (zxz), a rotation matrix, a
    quaternion."""
    if isinstance(value, Attitude):
        return value
    refuse_large(value, "orientation")
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if _is_rows(value):
        value = Matrix([[expression(e, "an entry of an orientation matrix") for e in row] for row in value])
    if isinstance(value, sympy.MatrixBase):
        if value.shape != (3, 3):
            raise ModelError(f"an orientation matrix is 3 by 3, not {value.shape[0]} by {value.shape[1]}")
        return RotationMatrix(Matrix(value))
    if isinstance(value, Sequence) and not isinstance(value, TEXT):
        return Euler(tuple(items_of(value, "orientation")))
    return PlaneAngle(expression(value, "orientation"))


def _is_rows(value: Any) -> bool:
    """Whether it is a matrix by rows of equal length."""
    rows = value if isinstance(value, list | tuple) else ()
    return bool(rows) and all(isinstance(row, list | tuple) and len(row) == len(rows[0]) for row in rows)
