"""Bodies that roll without slipping: thin discs and balls of a `System` on planes and on curved surfaces.

With p and ω of the body, n the unit normal of the surface at the point of contact c, e the axis of a disc and a = n·e,

    disc   c = p − r u,   u = (n − a e)/s,   s² = 1 − a²
           along    v_p·(e × n)/s − r ω·e = 0              across    v_p·(e − a n)/s + r s ω·(e × n)/s = 0
    ball   c = p − r n        τ·(v_p − r ω × n) = 0 along every tangent τ

the components of v_p + ω × (c − p) = 0, since u × (e × n)/s = e. A surface is a plane; or F(x, y, z), the distance from it, for
balls: n = ∂F/∂p and F(p) = r; or a point s(u, w) in two further coordinates, which follow the contact: p − r u = s(u, w). A
moving surface is given by its points; v_p is relative to their velocity at constant u and w.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Matrix

from appell.errors import ModelError
from appell.jets import Coordinate, Jet, Prescribed, expression, t, total_derivative
from appell.model.attitudes import PlaneAngle, vector
from appell.model.bodies import RigidBody
from appell.model.constraint import Constraint
from appell.numeric_functions import numeric_function
from appell.reading import answered_by, items_of, shown
from appell.tidy import collected

TIDIED_ROW_TERMS = 300
"""Largest number of terms of a row that is expanded and simplified."""


def roll(
    body: RigidBody,
    radius: Any,
    *,
    axis: Any = "z",
    on: Any = None,
    up: Any = None,
    height: Any = 0,
    sideways: bool = True,
    belt: Sequence[Any] = (0, 0),
    name: str | None = None,
) -> list[Constraint]:
    """The rows of a rolling body; see `ap.rolling` for the arguments. Rows that hold identically are left out."""
    name = name or body.name
    r = _finite(expression(radius, f"the radius of '{name}'"), f"the radius of '{name}'")
    if r.is_nonpositive:
        raise ModelError(f"the radius of '{name}' is {r}; it must be positive")
    if on is not None and up is not None:
        raise ModelError(f"up= is the normal of a plane, and on= the surface under '{name}'; give one of them")
    if axis is None and not sideways:
        raise ModelError(f"sideways=False is for discs and wheels; '{name}' is a ball (axis=None)")
    plane_motion = isinstance(body.orientation, PlaneAngle)
    contact = _contact(body, r, on, up if up is not None else "y" if plane_motion else "z", height, belt, name)
    e = None if axis is None else _unit(axis, f"the axis of '{name}'", entries=(3,))
    rows = contact.rows(e, sideways and (e is None or not plane_motion))  # no sideways slip in plane motion
    rows = {key: _tidy(row) for key, row in rows.items()}
    constraints = [Constraint(row, f"{name}: {key}") for key, row in rows.items() if row != 0]
    if not constraints:
        raise ModelError(f"'{name}' rolls by itself: every row of its contact is satisfied identically")
    return constraints


def slide(body: RigidBody, radius: Any, *, axis: Any, on: Any, name: str | None = None) -> tuple[list[Constraint], list[Expr]]:
    """A body on a curved surface that may slide: the rows whose resultant is the normal force, and its slip along two
    orthogonal unit tangents."""
    name = name or body.name
    roll(body, radius, axis=axis, on=on, name=name)  # for its checks
    contact = _contact(body, expression(radius, f"the radius of '{name}'"), on, None, 0, (0, 0), name)
    e = None if axis is None else _unit(axis, f"the axis of '{name}'", entries=(3,))
    rows = [Constraint(_tidy(row), f"{name}: {key}") for key, row in contact.holonomic(e).items()]
    slip = contact.v - contact.r * (contact.R * contact.omega).cross(contact.arm(e))
    first = contact.tangent()
    first = first / _root(_tidy(first.dot(first)))
    return rows, [_tidy(tangent.dot(slip)) for tangent in (first, contact.n.cross(first))]


class _Contact:
    """A body on a surface with the normal n (inertial axes, unit) at the point of contact."""

    def __init__(self, body: RigidBody, r: Expr, n: Matrix, tangents: dict[str, Matrix], moves: Matrix):
        self.body, self.r, self.n, self.tangents, self.surface_velocity = body, r, n, tangents, moves
        self.v = body.velocity() - moves
        self.R, self.omega = body.orientation.rotation, body.omega()
        self.spin = body.omega(frame="space")

    def rows(self, e: Matrix | None, sideways: bool) -> dict[str, Expr]:
        rows = self.holonomic(e)
        if e is None:
            w = self.v - self.r * self.spin.cross(self.n)
            return rows | {key: t.dot(w) for key, t in self.tangents.items()}
        a, s, heading, heading_body = self.disc(e)
        rows["along"] = self.v.dot(heading) - self.r * self.omega.dot(e)
        if sideways:
            across = (self.R * e - a * self.n) / s
            rows["across"] = self.v.dot(across) + self.r * s * self.omega.dot(heading_body)
        return rows

    def disc(self, e: Matrix) -> tuple[Expr, Expr, Matrix, Matrix]:
        """a = n·e, s, the heading (e × n)/s on inertial axes and on those of the body."""
        n_body = (self.R.T * self.n).applyfunc(_tidy)
        a = _tidy(n_body.dot(e))
        s = _root(_tidy(1 - a**2))
        heading_body = (e.cross(n_body) / s).applyfunc(sympy.cancel if not s.has(sympy.Pow) else lambda x: x)
        heading = ((self.R * e).cross(self.n) / s).applyfunc(_tidy)
        return a, s, heading, heading_body

    def holonomic(self, e: Matrix | None) -> dict[str, Expr]:
        raise NotImplementedError

    def tangent(self) -> Matrix:
        """A tangent of the surface, of any length."""
        return next(iter(self.tangents.values()))

    def arm(self, e: Matrix | None) -> Matrix:
        """u: from the point of contact to the centre, over r."""
        if e is None:
            return self.n
        a, s, *_ = self.disc(e)
        return (self.n - a * (self.R * e)) / s


class _OnPlane(_Contact):
    """n·p = height."""

    def __init__(self, body: RigidBody, r: Expr, up: Any, height: Any, belt: Any):
        tangent = Matrix([1, 0, 0]) if up[0] == 0 else Matrix([-up[1], up[0], 0]) if up[1] != 0 else Matrix([0, 1, 0])
        tangent = tangent.normalized()
        self.height = height
        tangents = {"x": tangent, "y": up.cross(tangent)}
        super().__init__(body, r, up, tangents, belt[0] * tangent + belt[1] * up.cross(tangent))

    def holonomic(self, e: Matrix | None) -> dict[str, Expr]:
        if self.height is None:
            return {}
        s = 1 if e is None else self.disc(e)[1]
        return {"height": self.n.dot(self.body.position) - self.height - self.r * s}


class _OnDistance(_Contact):
    """F(p) = r for a ball, F the distance from the surface."""

    def __init__(self, body: RigidBody, r: Expr, function: Callable[..., Any], name: str):
        x, y, z = p = sympy.symbols("x y z", real=True)
        distance = answered_by(function, f"on= under '{name}', a function of (x, y, z),", x, y, z)
        F = expression(distance, f"the surface under '{name}'")
        _refuse_moving(F, f"the surface under '{name}'")
        n = Matrix([sympy.diff(F, c) for c in p])
        _refuse_no_distance(F, n, p, name)
        position: Any = body.position
        at_centre: Any = dict(zip(p, position, strict=True))
        self.F = F.subs(at_centre, simultaneous=True)
        n = n.applyfunc(lambda c: c.subs(at_centre, simultaneous=True))
        axes = {"x": Matrix([1, 0, 0]), "y": Matrix([0, 1, 0]), "z": Matrix([0, 0, 1])}
        super().__init__(body, r, n, axes, sympy.zeros(3, 1))

    def rows(self, e: Matrix | None, sideways: bool) -> dict[str, Expr]:
        if e is not None:
            raise ModelError("a disc on a curved surface needs the surface as on=((u, w), [x, y, z]); F(x, y, z) is for balls")
        return super().rows(None, sideways)  # three rows, one redundant with F = r: no singular tangent frame

    def holonomic(self, e: Matrix | None) -> dict[str, Expr]:
        return {"height": self.F - self.r}

    def tangent(self) -> Matrix:
        """The axis of a cylinder; else orthogonal to the normal and y, which is singular where the normal is along y."""
        axis = next((a for a in self.tangents.values() if self.n.dot(a) == 0), None)
        return self.tangents["y"].cross(self.n) if axis is None else axis


class _OnPoints(_Contact):
    """p − r u = s(u, w): the coordinates u, w follow the point of contact."""

    def __init__(self, body: RigidBody, r: Expr, place: Any, u: Any, w: Any):
        s_u, s_w = place.diff(u), place.diff(w)
        self.surface_point = place
        normal = s_u.cross(s_w).applyfunc(_tidy)
        size = _root(_tidy(normal.dot(normal)))
        moves = total_derivative(place) - s_u * u.d - s_w * w.d
        super().__init__(body, r, normal / size, {str(u): s_u, str(w): s_w}, moves)

    def rows(self, e: Matrix | None, sideways: bool) -> dict[str, Expr]:
        if not sideways:
            raise ModelError("on a curved surface nothing slips: sideways=False is for planes")
        u = self.arm(e)
        slip = self.v - self.r * self.spin.cross(u)
        return self.holonomic(e) | {key: t.dot(slip) for key, t in self.tangents.items()}

    def holonomic(self, e: Matrix | None) -> dict[str, Expr]:
        gap = self.body.position - self.r * self.arm(e) - self.surface_point
        return {f"contact {axis}": gap[i] for i, axis in enumerate("xyz")}


def _contact(body: RigidBody, r: Expr, on: Any, up: Any, height: Any, belt: Sequence[Any], name: str) -> _Contact:
    if on is None:
        place = None if height is None else expression(height, f"the height of the plane under '{name}'")
        listed = isinstance(belt, Sequence | sympy.MatrixBase) and not isinstance(belt, str)
        belt = items_of(belt, f"belt= under '{name}'") if listed else ()
        if len(belt) != 2:
            raise ModelError(f"belt= under '{name}' has two components, along the plane: belt=(vx, vy)")
        velocities = [_finite(expression(b, f"belt= under '{name}'"), f"belt= under '{name}'") for b in belt]
        n = _unit(up, f"up= of the plane under '{name}'")
        _refuse_moving(n, f"up= of the plane under '{name}'")
        return _OnPlane(body, r, n, place, Matrix([*velocities]))
    level = height is not None and expression(height, f"the height of the plane under '{name}'") == 0
    if not level or any(expression(b, f"belt= under '{name}'") != 0 for b in items_of(belt, f"belt= under '{name}'")):
        raise ModelError(f"height= and belt= under '{name}' are for planes; write them into the surface on=")
    if callable(on) and not isinstance(on, sympy.Basic):
        return _OnDistance(body, r, on, name)
    try:
        pair: Any = on
        (u, w), place = pair
    except Exception:  # the argument cannot be unpacked
        raise ModelError(f"on= under '{name}' is a function of (x, y, z), or ((u, w), [x, y, z]); not {shown(on)}") from None
    if not all(isinstance(c, Coordinate) and not c.order for c in (u, w)):
        raise ModelError(f"the surface under '{name}' needs two ap.coordinates that follow the contact, not {u}, {w}")
    return _OnPoints(body, r, vector(place, f"the surface under '{name}'"), u, w)


def _unit(value: Any, description: str, entries: Sequence[int] = (2, 3)) -> Matrix:
    if isinstance(value, str):
        if value not in ("x", "y", "z"):
            raise ModelError(f"{description} is {shown(value)}; write 'x', 'y', 'z' or three components")
        return Matrix([int(value == i) for i in "xyz"])
    if not isinstance(value, Sequence | sympy.MatrixBase) or len(items_of(value, description)) not in entries:
        raise ModelError(f"{description} is {shown(value)}; write 'x', 'y', 'z' or three components")
    e = _finite(vector(value, description), description)
    if all(c == 0 for c in e):
        raise ModelError(f"{description} has length 0; axis=None is for a ball")
    size = _root(_tidy(e.dot(e)))
    return e if size == 1 else e / size


def _finite(value: Any, description: str) -> Any:
    if value.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo):
        raise ModelError(f"{description} is {value}; it must be finite")
    return value


def _refuse_moving(value: Any, description: str) -> None:
    """Raises for a normal or distance that depends on time: the tangential motion of the surface is then not known."""
    varying = sorted((s for s in value.free_symbols if s == t or isinstance(s, Jet | Prescribed)), key=str)
    if varying:
        raise ModelError(
            f"{description} contains {varying[0]}, so it moves, but it does not say how its points move; give the points,"
            " on=((u, w), [x, y, z]), which move with u and w held"
        )


def _refuse_no_distance(F: Expr, n: Matrix, p: Sequence[Any], name: str) -> None:
    """Raises unless |∂F/∂p| = 1 at random points: otherwise F is not a distance, and p − r n is not on the surface."""
    symbols = [*p, *sorted(F.free_symbols - set(p), key=str)]
    value = numeric_function(symbols, n.dot(n), "numpy")
    rng = np.random.default_rng(2)
    with np.errstate(all="ignore"):
        sizes = [float(value(*rng.uniform(0.3, 1.7, len(symbols)))) for _ in range(6)]
    # |∂F/∂p|² = 1 up to rounding, wherever it is defined
    if not all(abs(size - 1) < 1e-9 for size in sizes if np.isfinite(size)) or not np.isfinite(sizes).any():
        raise ModelError(
            f"the surface under '{name}' must be given by its distance, |∂F/∂(x, y, z)| = 1: sqrt(x**2 + y**2 + z**2) - R for a"
            " sphere. Give any other one by its points, on=((u, w), [x, y, z])"
        )


def _root(square: Expr) -> Expr:
    """√ of a square, without the absolute value where it is one: sin θ of a disc that stands on its rim for 0 < θ < π."""
    root = sympy.sqrt(square)
    return root.args[0] if isinstance(root, sympy.Abs) else root.replace(sympy.Abs, lambda x: x)  # type: ignore[return-value]


def _tidy(expr: Any) -> Any:
    return collected(expr, limit=TIDIED_ROW_TERMS, unit=True)
