"""Constraints between frames of a tree: closed loops, rolling wheels, points in contact.

A loop joins frame b to frame a. With d = p_b − p_a, axes x, y, z of each frame and the joint's axis along z of a,

    distance        d·d − l²                                        1 row
    pin             d·x_a, d·y_a                                    2     a hinge of a mechanism that is plane anyway
    planar          d·z_a, z_a·x_b, z_a·y_b                         3
    spherical       d                                               3
    universal       d, z_a·x_b                                      4     a cross: z_a and x_b stay at right angles
    cylindrical     d·x_a, d·y_a, z_a·x_b, z_a·y_b                  4
    revolute        d, z_a·x_b, z_a·y_b                             5     the spatial hinge
    prismatic       d·x_a, d·y_a, z_a·x_b, z_a·y_b, x_a·y_b         5
    fixed           d, z_a·x_b, z_a·y_b, x_a·y_b                    6

Every row is a `Constraint` called "name: row", so that its reaction is read by that name: for d the force on b from a on
the world's axes, for an angle row the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sympy import Expr, Matrix, nan, oo, sqrt, zoo

from appell.errors import ModelError
from appell.jets import expression
from appell.model.constraint import Constraint
from appell.model.unilateral import Unilateral
from appell.tree.frame_symbols import FrameSymbols, vector

Axes = tuple[Matrix, Matrix, Matrix]
Row = Callable[[Matrix, Axes, Axes], Any]

ROWS: dict[str, Row] = {
    "x": lambda d, a, b: d[0],
    "y": lambda d, a, b: d[1],
    "z": lambda d, a, b: d[2],
    "d·x": lambda d, a, b: d.dot(a[0]),
    "d·y": lambda d, a, b: d.dot(a[1]),
    "d·z": lambda d, a, b: d.dot(a[2]),
    "z·x": lambda d, a, b: a[2].dot(b[0]),
    "z·y": lambda d, a, b: a[2].dot(b[1]),
    "x·y": lambda d, a, b: a[0].dot(b[1]),
}

LOOPS: dict[str, str] = {
    "pin": "d·x d·y",
    "planar": "d·z z·x z·y",
    "spherical": "x y z",
    "universal": "x y z z·x",
    "cylindrical": "d·x d·y z·x z·y",
    "revolute": "x y z z·x z·y",
    "prismatic": "d·x d·y z·x z·y x·y",
    "fixed": "x y z z·x z·y x·y",
}
"""Kind of joint → its rows."""


def loop(
    a: FrameSymbols, b: FrameSymbols, kind: str = "spherical", *, name: str | None = None, distance: Any = None
) -> list[Constraint]:
    """The rows that join frame b to frame a by a joint of this kind; see the table of this module.

    name: before the rows' names; "a-b" by default. distance: l of kind "distance", m.
    """
    if kind != "distance" and kind not in LOOPS:
        raise ModelError(f"there is no loop of kind {kind!r}; choose one of distance, {', '.join(LOOPS)}")
    if (kind == "distance") != (distance is not None):
        raise ModelError("loop(…, kind='distance', distance=l) needs l, and only that kind takes it")
    _refuse_names(a, b)
    name = name or f"{a.name}-{b.name}"
    d = Matrix(b.position - a.position)
    if kind == "distance":
        length = _finite(distance, f"the distance of loop '{name}'")
        if length.is_negative:
            raise ModelError(f"the distance of loop '{name}' is {length}; it must not be negative")
        return [Constraint(d.dot(d) - length**2, f"{name}: distance")]
    axes_a, axes_b = _axes(a), _axes(b)
    rows = {row: ROWS[row](d, axes_a, axes_b) for row in LOOPS[kind].split()}
    return [Constraint(f, f"{name}: {row}") for row, f in rows.items()]


def _refuse_names(*frames: Any) -> None:
    for frame in frames:
        if not isinstance(frame, FrameSymbols):
            raise ModelError(f"a constraint takes frames in symbols, tree.frame(name), not {frame!r}")


def _finite(value: Any, what: str) -> Expr:
    """A number or an expression, without nan and infinities."""
    result = expression(value, what)
    if result.has(nan, oo, -oo, zoo):
        raise ModelError(f"{what} is {value}; it must be finite")
    return result


def _axes(frame: FrameSymbols) -> Axes:
    x, y, z = (Matrix(frame.rotation[:, k]) for k in range(3))
    return x, y, z


def rolling(
    wheel: FrameSymbols,
    radius: Any,
    *,
    axis: Sequence[Any] | str | None = "y",
    height: Any = 0,
    sideways: bool = True,
    name: str | None = None,
) -> list[Constraint]:
    """A thin wheel, or a ball, rolls without slipping on the plane z = height.

        contact point  c = p − r u,   u = (n − (n·e) e)/s,   s = |n − (n·e) e|,       n = (0, 0, 1), e the wheel's axis
        height   n·p − r s = height                                               (holonomic)
        along    (e × n)/s · (ṗ + ω × (c − p)) = 0,      across   n × (e × n)/s · (ṗ + ω × (c − p)) = 0

    A ball has u = n and rows along the world's x and y.

    Parameters
    ----------
    wheel: frame with its origin at the wheel's centre.
    radius: r, m, a number or parameter.
    axis: e in the wheel's frame; None for a ball.
    height: of the plane, m; None where the mechanism keeps the height by itself: no such row then.
    sideways: whether slipping across is excluded too; one of two wheels on one axle is enough.
    name: before the rows' names: "name: height", "name: along", "name: across".
    """
    _refuse_names(wheel)
    name, n = name or wheel.name, Matrix([0, 0, 1])
    radius = _finite(radius, f"the radius of wheel '{name}'")
    if radius.is_nonpositive:
        raise ModelError(f"the radius of wheel '{name}' is {radius}; it must be positive")
    if axis is not None and all(x == 0 for x in vector(axis, "the axis of a wheel")):
        raise ModelError(f"the axis of wheel '{name}' has length 0; axis=None is for a ball")
    if axis is None:
        s: Any = 1
        u, along, across = n, Matrix([1, 0, 0]), Matrix([0, 1, 0])
    else:
        e = wheel.axis(vector(axis, "the axis of a wheel").normalized())
        x, y, _ = e.flat()
        s = sqrt(x * x + y * y)  # |e × n|
        u, along = (n - e[2] * e) / s, e.cross(n) / s
        across = n.cross(along)
    v = wheel.velocity - radius * wheel.angular_velocity.cross(u)
    rows: dict[str, Expr] = {}
    if height is not None:
        rows["height"] = wheel.position[2] - radius * s - _finite(height, f"the height of the plane under wheel '{name}'")
    rows["along"] = along.dot(v)
    if sideways:
        rows["across"] = across.dot(v)
    return [Constraint(f, f"{name}: {row}") for row, f in rows.items()]


def contact_point(
    frame: FrameSymbols,
    point: Sequence[Any] = (0, 0, 0),
    *,
    height: Any = 0,
    slips: bool = False,
    one_sided: bool = False,
    restitution: Any = 0,
    name: str | None = None,
) -> list[Constraint | Unilateral]:
    """A point of a body is held on the plane z = height: z = height, and ẋ = ẏ = 0 unless it slips.

    point: in the frame, m. one_sided: z >= height instead, with this restitution; such a point slips.
    """
    _refuse_names(frame)
    name, place = name or frame.name, frame.at(point)
    gap = place.position[2] - _finite(height, f"the height of the plane under contact '{name}'")
    if one_sided:
        return [Unilateral(gap, name, restitution)]
    if restitution != 0:
        raise ModelError(f"contact '{name}' is held, so nothing rebounds; restitution= is for one_sided=True")
    rows = [Constraint(gap, f"{name}: height")]
    if not slips:
        rows += [Constraint(place.velocity[k], f"{name}: {'xy'[k]}") for k in range(2)]
    return [*rows]


__all__ = ["LOOPS", "contact_point", "loop", "rolling"]
