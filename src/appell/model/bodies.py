"""Particles and rigid bodies: positions and attitudes as expressions of the coordinates.

    T = ½ m ṙ·ṙ + ½ ω·Jω            S = ½ m r̈·r̈ + ½ ω̇·Jω̇ + ω̇·(ω × Jω)        (Golubev 1.4, at the centre of mass)

with ω and J on axes fixed in the body. Velocities are taken along the motion with the kinematics of the system,
q̇ = N u + n0, so every function here takes `rates`. With m(t), J(t) (`model.carried`) the energies of acceleration are
those of the momenta, S = … + ṁ ṙ·r̈ + ω̇·J̇ω: ∂S/∂r̈ = (m ṙ)˙ as d/dt ∂T/∂ṙ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Matrix

from appell.errors import ModelError
from appell.jets import expression, total_derivative
from appell.model.attitudes import Attitude, Quaternion, Rates, RotationMatrix, attitude, vector
from appell.model.carried import check_carried
from appell.reading import TEXT, items_of, refuse_large, shown
from appell.spelling import checked_keywords


@checked_keywords()
@dataclass(frozen=True, init=False)
class Particle:
    """A point mass: T = ½ m ṙ·ṙ. `position` has 1 to 3 expressions (m) in t and the coordinates, on inertial axes.

    carried: where the mass depends on time, the velocity u of the mass gained or lost, on inertial axes, m/s, in t, q, q̇:
    m r̈ = F + ṁ (u − ṙ) (Meshchersky). A rocket has u = ṙ − c, with c the exhaust velocity; sand falling on a belt has u = 0.
    """

    mass: Expr
    position: Matrix
    name: str
    carried: Matrix | None

    def __init__(self, mass: Any, position: Any, name: str = "particle", *, carried: Any = None):
        object.__setattr__(self, "mass", expression(mass, f"the mass of {name}"))
        object.__setattr__(self, "position", vector(position, f"the position of {name}"))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "carried", None if carried is None else vector(carried, f"carried= of {name}"))
        check_carried(self.mass, carried, f"the mass of {name}", "carried")

    def velocity(self, rates: Rates | None = None) -> Matrix:
        """ṙ on inertial axes, (3,), m/s; in q.d, or along `rates` (coordinate → its rate)."""
        return total_derivative(self.position, rates)

    def kinetic(self, rates: Rates) -> Expr:
        """T = ½ m ṙ·ṙ, J."""
        v = self.velocity(rates)
        return self.mass * v.dot(v) / 2

    def appell(self, rates: Rates) -> Expr:
        """S = ½ m r̈·r̈ + ṁ ṙ·r̈."""
        v = self.velocity(rates)
        w = total_derivative(v, rates)
        return self.mass * w.dot(w) / 2 + total_derivative(self.mass) * v.dot(w)


@checked_keywords()
@dataclass(frozen=True, init=False)
class RigidBody:
    """A rigid body: T = ½ m ṙ·ṙ + ½ ω·Jω with r the centre of mass, ω and J on body axes through it.

    Parameters
    ----------
    mass: kg.
    inertia: about the centre of mass on body axes, kg m²: a 3 by 3 matrix, three principal moments, or one number for
        plane motion.
    position: of the centre of mass on inertial axes, 1 to 3 expressions, m.
    orientation: an angle about z; three Euler angles (z, x', z''), or `ap.euler(angles, axes)`; a rotation matrix
        body → space; or `ap.quaternion(name)`.
    carried: where the mass depends on time, the velocity u of the mass gained or lost, on inertial axes, m/s:
    m r̈ = F + ṁ (u − ṙ); the centre of mass is fixed in the body.
    carried_omega: where the inertia depends on time, the angular velocity w of that mass on body axes, rad/s:
        J ω̇ + ω × Jω = M + J̇ (w − ω). `body.omega()` for mass that leaves with the body's own rotation.
    """

    mass: Expr
    inertia: Matrix
    position: Matrix
    orientation: Attitude
    name: str
    carried: Matrix | None
    carried_omega: Matrix | None

    def __init__(
        self, mass: Any, inertia: Any, position: Any, orientation: Any, name: str = "body", *,
        carried: Any = None, carried_omega: Any = None,
    ):  # fmt: skip
        set_ = object.__setattr__
        set_(self, "mass", expression(mass, f"the mass of {name}"))
        set_(self, "inertia", _inertia(inertia, name))
        set_(self, "position", vector(position, f"the position of {name}"))
        set_(self, "orientation", attitude(orientation))
        set_(self, "name", name)
        set_(self, "carried", None if carried is None else vector(carried, f"carried= of {name}"))
        set_(self, "carried_omega", None if carried_omega is None else _spin(carried_omega, name))
        check_carried(self.mass, carried, f"the mass of {name}", "carried")
        check_carried(self.inertia, carried_omega, f"the inertia of {name}", "carried_omega")

    def velocity(self, rates: Rates | None = None) -> Matrix:
        """ṙ of the centre of mass on inertial axes, (3,), m/s; in q.d, or along `rates` (coordinate → its rate)."""
        return total_derivative(self.position, rates)

    @checked_keywords()
    def omega(self, rates: Rates | None = None, *, frame: str = "body") -> Matrix:
        """Angular velocity on the body axes, or on inertial ones (frame="space"), (3,), rad/s; in q.d, or along `rates`."""
        if frame not in ("body", "space"):
            raise ModelError(f"the frame of an angular velocity is 'body' or 'space', not {shown(frame)}")
        if frame == "body":
            return self.orientation.omega(rates or {})
        turned = self.orientation
        return turned.space_omega() if isinstance(turned, Quaternion) else turned.rotation * turned.omega(rates or {})

    def turning(self, rates: Rates | None = None) -> Matrix:
        """Angular velocity on axes on which the inertia is constant, (3,): those of the body; inertial ones for a ball with
        equal moments whose rates are on other axes, so that the attitude does not enter."""
        own_axes = isinstance(self.orientation, Quaternion) and self.orientation.axes is not None
        return self.omega(rates, frame="space" if own_axes and self.spherical else "body")

    @property
    def spherical(self) -> bool:
        """Whether all moments of inertia about the centre of mass are equal."""
        return bool(self.inertia == self.inertia[0, 0] * sympy.eye(3))

    def point(self, xyz: Any) -> Matrix:
        """The position of the point at `xyz` from the centre of mass on the body axes, on inertial axes, (3,), m."""
        return self.position + self.orientation.rotation * vector(xyz, f"a point of {self.name}")

    @checked_keywords()
    def point_velocity(self, xyz: Any, *, frame: str = "body") -> Matrix:
        """v + ω × ρ of the point of the body at ρ from its centre of mass, on inertial axes, (3,), m/s.

        xyz: ρ on the body axes, or on inertial ones with frame="space": the contact point of a wheel is a different point of
        the wheel at every moment, and rolling makes its velocity zero.
        """
        if frame not in ("body", "space"):
            raise ModelError(f"the frame of a point is 'body' or 'space', not {shown(frame)}")
        R, rho = self.orientation.rotation, vector(xyz, f"a point of {self.name}")
        rho = R * rho if frame == "body" else rho
        return self.velocity() + self.omega(frame="space").cross(rho)

    def kinetic(self, rates: Rates) -> Expr:
        """T = ½ m ṙ·ṙ + ½ ω·Jω, J."""
        v, w = self.velocity(rates), self.turning(rates)
        if isinstance(self.orientation, Quaternion) and self.spherical:
            w = Matrix(self.orientation.rates)  # on orthogonal axes of any kind
        return self.mass * v.dot(v) / 2 + w.dot(self.inertia * w) / 2

    def appell(self, rates: Rates) -> Expr:
        """S = ½ m r̈·r̈ + ½ ω̇·Jω̇ + ω̇·(ω × Jω) (Golubev 1.4) + ṁ ṙ·r̈ + ω̇·J̇ω, terms free of accelerations dropped."""
        v, w, J = self.velocity(rates), self.turning(rates), self.inertia
        r_dd, w_d = total_derivative(v, rates), total_derivative(w, rates)
        S = self.mass * r_dd.dot(r_dd) / 2 + w_d.dot(J * w_d) / 2 + w_d.dot(w.cross(J * w))
        return S + total_derivative(self.mass) * v.dot(r_dd) + w_d.dot(total_derivative(J) * w)


def _spin(value: Any, name: str) -> Matrix:
    """An angular velocity on body axes; one number is a rotation about z."""
    plane = not isinstance(value, Sequence | sympy.MatrixBase | np.ndarray)
    return vector([0, 0, value] if plane else value, f"carried_omega= of {name}")


def _inertia(value: Any, name: str) -> Matrix:
    refuse_large(value, f"the inertia of {name}")
    value = value.tolist() if isinstance(value, np.ndarray | sympy.MatrixBase) else value
    if isinstance(value, TEXT):
        raise ModelError(f"the inertia of {name} is a number, three principal moments or a 3 by 3 matrix, not {shown(value)}")
    if isinstance(value, Sequence):
        value = items_of(value, f"the inertia of {name}")
    if isinstance(value, list) and any(isinstance(row, list | tuple) for row in value):
        rows = [items_of(row, f"a row of the inertia of {name}") for row in value]
        if [len(row) for row in rows] != [3, 3, 3]:
            raise ModelError(f"the inertia of {name} is a number, three principal moments or a 3 by 3 matrix")
        J = Matrix([[expression(e, f"an entry of the inertia of {name}") for e in row] for row in rows])
    elif isinstance(value, Sequence):
        J = sympy.diag(*(expression(e, f"a moment of inertia of {name}") for e in value))
    else:
        J = sympy.diag(0, 0, expression(value, f"the inertia of {name}"))
    if J.shape != (3, 3):
        raise ModelError(f"the inertia of {name} is a number, three principal moments or a 3 by 3 matrix")
    return _symmetric(J, name)


def _symmetric(J: Matrix, name: str) -> Matrix:
    """J with J_ij for J_ji. They may differ by rounding, or in how they are written: 1 and 1.0, a sum and its expansion."""
    rows: list[list[Any]] = J.tolist()
    size = max((abs(float(e)) for row in rows for e in row if e.is_number and e.is_real), default=0.0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        asymmetry = sympy.S.Zero if rows[i][j] == rows[j][i] else sympy.simplify(rows[i][j] - rows[j][i])
        if asymmetry != 0 and not (asymmetry.is_number and asymmetry.is_real and abs(float(asymmetry)) <= BODY_ROUNDING * size):
            raise ModelError(f"the inertia matrix of {name} is not symmetric")
        rows[j][i] = rows[i][j]
    return Matrix(rows)


BODY_ROUNDING = 1e-9


def impossible(body: Particle | RigidBody) -> str:
    """Why a rigid body is not physical, "" if it may be; checked where its inertia and orientation are numbers.

    Principal moments J₁ <= J₂ <= J₃ about the centre of mass are not negative, and J₃ <= J₁ + J₂; (0, 0, J) is the notation of
    plane mechanics, and a body of negative mass is a hole in another one. A rotation has RᵀR = 1 and det R = 1.
    """
    if type(body) is not RigidBody:  # a particle, or a body of a tree, which was checked with it
        return ""
    J, R = body.inertia, body.orientation.rotation
    if not J.free_symbols:
        hole = -1.0 if body.mass.is_negative else 1.0
        moments = np.linalg.eigvalsh(hole * np.array(J.tolist(), dtype=float))
        allowed, shown = BODY_ROUNDING * abs(moments).max(), ", ".join(f"{x:.6g}" for x in moments)
        if moments[0] < -allowed:
            return f"its principal moments are {shown} kg m², one of them negative"
        if moments[2] > moments[0] + moments[1] + allowed and moments[1] > allowed:
            return f"its principal moments, {shown} kg m², break the triangle inequality (a thin plate has an equality)"
    if isinstance(body.orientation, RotationMatrix) and len(R.free_symbols) <= 1:
        at = dict.fromkeys(R.free_symbols, sympy.Float(0.7123))
        turn = np.array(R.xreplace(at).tolist(), dtype=complex)
        if np.isfinite(turn).all() and (abs(turn.T @ turn - np.eye(3)).max() > BODY_ROUNDING or np.linalg.det(turn).real < 0):
            return "its orientation is a matrix that is not a rotation, RᵀR = 1 with det R = 1"
    return ""
