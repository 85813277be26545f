"""Constraints between frames of a tree: closed loops, rolling wheels, points in contact.

A loop joins frame b to frame a. With d = p_b − p_a, axes x, y, z of each frame and the joint's axis along z of a,

    distance        d·d − l²                                        1 row
    pin             d·x_a, d·y_a                                    2     a hinge of a plane mechanism
    planar          d·z_a, z_a·x_b, z_a·y_b                         3
    spherical       d                                               3
    universal       d, z_a·x_b                                      4     a cross: z_a and x_b stay at right angles
    cylindrical     d·x_a, d·y_a, z_a·x_b, z_a·y_b                  4
    revolute        d, z_a·x_b, z_a·y_b                             5     the spatial hinge
    prismatic       d·x_a, d·y_a, and the rotation from a to b      5
    fixed           d, and the rotation from a to b                 6

An axis is a line: z_b along z_a or against it. Where the axes of both frames must agree, three scalar products would also allow
b to be rotated by half a turn. The rows are therefore twice the tangent of half the angle, named after the products that they
equal for small angles:

    z·x   2 (z_a·x_b − x_a·z_b)/(1 + s)        z·y   2 (z_a·y_b − y_a·z_b)/(1 + s)        x·y   2 (x_a·y_b − y_a·x_b)/(1 + s)
    s = x_a·x_b + y_a·y_b + z_a·z_b

Every row is a `Constraint` named "name: row", which is also the name of its reaction: for d the force of a on b on the world's
axes, for an angle the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Add, Expr, Matrix, sqrt

from appell.errors import ModelError
from appell.model.bodies import RigidBody
from appell.model.constraint import Constraint
from appell.model.friction import Friction
from appell.model.rolling import roll, slide
from appell.reading import one_of
from appell.rows import ROUNDINGS
from appell.spelling import checked_keywords
from appell.tree.ground import Axes, FloorPlane, axes_of, finite_length, put_on, refuse_names, sliding
from appell.tree.symbols.frame_symbols import FrameSymbols, vector

Row = Callable[[Matrix, Axes, Axes], Any]

ROWS: dict[str, Row] = {
    "x": lambda d, a, b: d[0],
    "y": lambda d, a, b: d[1],
    "z": lambda d, a, b: d[2],
    "d·x": lambda d, a, b: d.dot(a[0]),
    "d·y": lambda d, a, b: d.dot(a[1]),
    "d·z": lambda d, a, b: d.dot(a[2]),
    "z·x": lambda d, a, b: _unrounded(a[2].dot(b[0])),
    "z·y": lambda d, a, b: _unrounded(a[2].dot(b[1])),
    "x·y": lambda d, a, b: _unrounded(a[0].dot(b[1])),
}

TURNS: dict[str, tuple[int, int]] = {"z·x": (2, 0), "z·y": (2, 1), "x·y": (0, 1)}
"""Rows of the rotation between frames whose axes must agree → axes i of a and j of b."""

WITHOUT_TURN = ("prismatic", "fixed")

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


@checked_keywords()
def loop(
    a: FrameSymbols, b: FrameSymbols, kind: str = "spherical", *, name: str | None = None, distance: Any = None
) -> list[Constraint]:
    """The rows that join frame b to frame a by a joint of this kind; see the table of this module.

    name: prefix of the rows' names; "a-b" by default. distance: l of kind "distance", m.
    """
    one_of(kind, ("distance", *LOOPS), "there is no loop of kind ")
    if (kind == "distance") != (distance is not None):
        raise ModelError("loop(…, kind='distance', distance=l) needs l, and only that kind takes it")
    refuse_names(a, b)
    name = name or f"{a.name}-{b.name}"
    d = Matrix(b.position - a.position)
    if kind == "distance":
        length = finite_length(distance, f"the distance of loop '{name}'")
        if length.is_negative:
            raise ModelError(f"the distance of loop '{name}' is {length}; it must not be negative")
        return [Constraint(d.dot(d) - length**2, f"{name}: distance")]
    axes_a, axes_b = axes_of(a), axes_of(b)
    row_of = lambda row: _turn(row, axes_a, axes_b) if kind in WITHOUT_TURN and row in TURNS else ROWS[row](d, axes_a, axes_b)
    rows = {row: row_of(row) for row in LOOPS[kind].split()}
    return [Constraint(f, f"{name}: {row}") for row, f in rows.items()]


def _unrounded(product: Expr) -> Expr:
    """A product of directions without terms that are only rounding. Where the other terms vanish in a mechanism (a plane ring),
    these would make a row of their own that contradicts the rest. Coefficients of unit vectors are of size 1.
    """
    small = lambda term: (number := term.as_coeff_Mul()[0]).is_Float and abs(number) <= ROUNDINGS
    return Add(*(term for term in Add.make_args(product) if not small(term)))


def _turn(row: str, a: Axes, b: Axes) -> Any:
    """A component of 2 tan(θ/2) n for the rotation from a to b by θ about n: zero only where the frames agree, infinite at half
    a turn."""
    i, j = TURNS[row]
    return 2 * _unrounded(a[i].dot(b[j]) - a[j].dot(b[i])) / (1 + sum(a[k].dot(b[k]) for k in range(3)))


@checked_keywords()
def rolling(
    wheel: FrameSymbols | RigidBody,
    radius: Any,
    *,
    axis: Sequence[Any] | str | None = "own",
    on: Any = None,
    up: Any = None,
    height: Any = 0,
    sideways: bool = True,
    floor: FrameSymbols | None = None,
    belt: Sequence[Any] = (0, 0),
    friction: Any = None,
    static: Any = None,
    name: str | None = None,
) -> list[Constraint | Friction]:
    """A thin wheel or disc, or a ball, rolls without slipping: a frame of a tree, or a `RigidBody` of a plain `System`.

        contact point  c = p − r u,   u = (n − (n·e) e)/s,   s = |n − (n·e) e|,       n = z of the floor, e the wheel's axis
        height   n·(p − p_floor) − r s = height                                   (holonomic)
        along    (e × n)/s · w = 0,      across   n × (e × n)/s · w = 0,      w = ṗ + ω × (c − p) − (velocity of the floor at c)

    A ball has u = n and rows along the floor's x and y. Rows are constraints for `System(constraints=[*ap.rolling(…), …])`.

    Parameters
    ----------
    wheel: frame with its origin at the wheel's centre, or a body with its centre of mass there.
    radius: r, m, a number or parameter.
    axis: e in the wheel's frame, by default y of a frame and z of a body; None for a ball.
    on: for bodies, a curved surface instead of the plane: a function F(x, y, z), the distance of a point from it, for balls
        (lambda x, y, z: R - sqrt(x**2 + y**2 + z**2) is the inside of a sphere); or ((u, w), [x, y, z]), its points in two
        further coordinates of the system, which follow the contact; ∂/∂u × ∂/∂w points to the body. If the points contain other
        coordinates or t, the surface moves: its velocity is theirs at constant u and w. sin θ of a disc in
        Euler's angles is taken positive: it stands on its rim for 0 < θ < π.
    up: for bodies, the normal of the plane: z by default, y for plane motions, whose axis is z.
    height: of the plane, m, which may depend on time; None where the mechanism itself keeps the height, and no row is needed.
    sideways: whether sideways slip is excluded too; for two wheels on one axle, one is enough.
    floor: a frame of the tree that carries the plane; the world by default.
    belt: velocity of the floor's surface along x and y of the floor, m/s, numbers or expressions in t.
    friction: μ; an `ap.Friction` replaces the rows along and across, with the reaction of the height as its normal force (on a
    curved surface, that of the contact rows): the wheel rolls while it sticks, and may slide. static: a larger coefficient at
    rest. On F(x, y, z) its slip has components along y × n and n × (y × n), which are undefined where n is along y.
    name: prefix of the rows' names: "name: height", "name: along", "name: across", "name: friction".
    """
    if isinstance(wheel, RigidBody):
        if floor is not None:
            raise ModelError("floor= is a frame of a tree; the plane under a body is given by up=, height= and belt=")
        wheel_axis = "z" if isinstance(axis, str) and axis == "own" else axis
        if on is not None and friction is not None:
            return _body_on_a_surface(wheel, radius, wheel_axis, on, friction, static, name or wheel.name)
        rows = roll(wheel, radius, axis=wheel_axis, on=on, up=up, height=height, sideways=sideways, belt=belt, name=name)
        if friction is None and static is None:
            return [*rows]
        return _body_that_slides(rows, friction, static, name or wheel.name)
    if on is not None or up is not None:
        raise ModelError("on= and up= are for bodies of a System; the plane under a wheel of a tree is that of floor=")
    refuse_names(wheel)
    name = name or wheel.name
    disc = _Wheel.of(wheel, radius, "y" if isinstance(axis, str) and axis == "own" else axis, name)
    plane = FloorPlane.of(floor, height, belt, f"wheel '{name}'")
    height_above, slip = disc.on(plane)
    rows = {} if plane.height is None else {"height": height_above}
    slips = slip if sideways else {"along": slip["along"]}
    if friction is None:
        return [put_on(Constraint(f, f"{name}: {row}"), plane) for row, f in {**rows, **slips}.items()]
    if not rows:
        raise ModelError(f"friction= of wheel '{name}' needs its height, which presses it onto the floor; it is None")
    normal = put_on(Constraint(height_above, f"{name}: height"), plane)
    return [normal, sliding(tuple(slips.values()), normal, friction, static, name)]


def _body_on_a_surface(
    body: RigidBody, radius: Any, axis: Any, on: Any, friction: Any, static: Any, name: str
) -> list[Constraint | Friction]:
    """The rows that hold a body on a curved surface, and friction along it with their resultant as the normal force."""
    rows, slip = slide(body, radius, axis=axis, on=on, name=name)
    return [*rows, Friction(slip, normal=rows, coefficient=friction, static=static, name=f"{name}: friction")]


def _body_that_slides(rows: list[Constraint], friction: Any, static: Any, name: str) -> list[Constraint | Friction]:
    """The height of a body on a plane, and friction along the other contact rows with its reaction as the normal force."""
    if friction is None:
        raise ModelError(f"static= of '{name}' is the coefficient at rest beside friction=; give both")
    normal = next((row for row in rows if row.name == f"{name}: height"), None)
    if normal is None:
        raise ModelError(
            f"friction= of '{name}' needs its height, which presses it onto the plane; height= is None, or holds by itself"
        )
    return [normal, sliding(tuple(row.residual for row in rows if row is not normal), normal, friction, static, name)]


@dataclass(frozen=True)
class _Wheel:
    """A thin wheel about `axis` of a frame, or a ball, whose axis is None; radius in m."""

    frame: FrameSymbols
    radius: Expr
    axis: Any

    @staticmethod
    def of(frame: FrameSymbols, radius: Any, axis: Any, name: str) -> _Wheel:
        r = finite_length(radius, f"the radius of wheel '{name}'")
        if r.is_nonpositive:
            raise ModelError(f"the radius of wheel '{name}' is {r}; it must be positive")
        if axis is not None and all(x == 0 for x in vector(axis, "the axis of a wheel")):
            raise ModelError(f"the axis of wheel '{name}' has length 0; axis=None is for a ball")
        return _Wheel(frame, r, axis)

    def on(self, plane: FloorPlane) -> tuple[Expr, dict[str, Expr]]:
        """(height of the lowest point above a plane, its slip on it along and across); see `rolling`."""
        frame, r = self.frame, self.radius
        along, across, n = plane.axes
        s, u = 1, n
        if self.axis is not None:
            e = frame.axis(vector(self.axis, "the axis of a wheel").normalized())
            tangent = e.cross(n)
            s = sqrt(tangent.dot(tangent))
            u, along = (n - n.dot(e) * e) / s, tangent / s
            across = n.cross(along)
        w = plane.slip(frame.position - r * u, frame.velocity - r * frame.angular_velocity.cross(u))
        return plane.height_of(frame.position) - r * s, {"along": along.dot(w), "across": across.dot(w)}


__all__ = ["LOOPS", "WITHOUT_TURN", "loop", "rolling"]
