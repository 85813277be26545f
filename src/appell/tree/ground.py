"""Ground surfaces: planes and hills fixed to a frame, which may move; the gap to them and the slip on them.

    plane   z = height            gap  (p − p_floor)·z − height
    hills   z = h(x, y)           gap  (z − h)/√(1 + h_x² + h_y²)        near the surface, the distance along the normal

x, y, z of the frame `floor`. Where h contains t the ground moves up and down; a belt carries its surface along x and y.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Dummy, Expr, Matrix, Symbol, diff, nan, oo, sqrt, zoo

from appell.errors import ModelError
from appell.jets import expression, jets_of, t
from appell.model.constraint import Constraint
from appell.model.friction import Friction
from appell.model.unilateral import Unilateral
from appell.reading import answered_by, items_of, shown
from appell.remember import kept_in
from appell.tree.symbols.frame_symbols import FrameSymbols, vector

Axes = tuple[Matrix, Matrix, Matrix]


def refuse_names(*frames: Any) -> None:
    for frame in frames:
        if not isinstance(frame, FrameSymbols):
            raise ModelError(f"a constraint takes frames in symbols, tree.frame(name), not {shown(frame)}")


def finite_length(value: Any, what: str) -> Expr:
    """A number or an expression, without nan and infinities."""
    result = expression(value, what)
    if result.has(nan, oo, -oo, zoo):
        raise ModelError(f"{what} is {value}; it must be finite")
    return result


def axes_of(frame: FrameSymbols) -> Axes:
    x, y, z = (Matrix(frame.rotation[:, k]) for k in range(3))
    return x, y, z


def sliding(ways: tuple[Expr, ...], normal: Constraint | Unilateral, mu: Any, static: Any, name: str) -> Friction:
    """Friction along the directions in which a point can slip, named "NAME: friction"."""
    slip: tuple[Any, ...] = tuple(rate for rate in ways if rate != 0)
    slips: Any = slip if len(slip) > 1 else next(iter(slip))
    return Friction(slips, normal=normal, coefficient=mu, static=static, name=f"{name}: friction")


@dataclass(frozen=True)
class DrawnGround:
    """A surface to draw: its points over x and y of a frame, z = height or h(x, y)."""

    floor: FrameSymbols
    x: Symbol
    y: Symbol
    z: Expr

    @property
    def even(self) -> bool:
        """Whether it is a plane normal to z."""
        return not self.z.free_symbols & {self.x, self.y}

    @property
    def position(self) -> Matrix:
        """The point of the surface over x and y, (3, 1), on the world's axes."""
        return Matrix(self.floor.position + self.floor.rotation * Matrix([self.x, self.y, self.z]))


GROUND_X, GROUND_Y = Symbol("x_ground", real=True), Symbol("y_ground", real=True)


@dataclass(frozen=True)
class DrawnTouch:
    """A contact force to draw: point, normal and directions of friction, on the world's axes."""

    place: Matrix
    normal: Matrix
    ways: tuple[Matrix, ...]
    friction: str


def put_on(thing: Any, plane: FloorPlane, touch: DrawnTouch | None = None) -> Any:
    """Attaches to a constraint its surface and point of contact, for drawing."""
    kept_in(thing, "ground").update(drawn=plane.drawn, touch=touch)
    return thing


def drawn_touch(thing: Any) -> DrawnTouch | None:
    """The point where a constraint acts, if it is a contact."""
    return kept_in(thing, "ground").get("touch")


def drawn_ground(thing: Any) -> DrawnGround | None:
    """The surface of a constraint, if it has one."""
    return kept_in(thing, "ground").get("drawn")


@dataclass(frozen=True)
class FloorPlane:
    """The plane z = height of a frame, whose surface moves along x and y of the frame with the velocity `belt`."""

    floor: FrameSymbols
    height: Expr | None
    belt: Matrix

    @staticmethod
    def of(floor: FrameSymbols | None, height: Any, belt: Sequence[Any], what: str) -> FloorPlane:
        floor = FrameSymbols.ground("world", np.eye(3, dtype=int), np.zeros(3, dtype=int)) if floor is None else floor
        refuse_names(floor)
        speeds = vector([*items_of(belt, f"belt= under {what}"), 0], f"belt= under {what}, with a third 0,")
        level = None if height is None else finite_length(height, f"the height of the plane under {what}")
        return FloorPlane(floor, level, speeds)

    @property
    def axes(self) -> Axes:
        return axes_of(self.floor)

    @property
    def drawn(self) -> DrawnGround:
        return DrawnGround(self.floor, GROUND_X, GROUND_Y, expression(self.height or 0, "the height of a plane"))

    def axes_at(self, place: Any) -> Axes:
        """Two tangents and the normal below a point, on the world's axes."""
        return self.axes

    def height_of(self, place: Any) -> Any:
        """(place − p)·z − height."""
        return (place - self.floor.position).dot(self.axes[2]) - (self.height or 0)

    def slip(self, place: Any, velocity: Any) -> Any:
        """The velocity of a point at `place` relative to the surface there."""
        moved = self.floor.velocity + self.floor.angular_velocity.cross(place - self.floor.position)
        return velocity - moved - self.floor.rotation * self.belt


@dataclass(frozen=True)
class Hills(FloorPlane):
    """The surface z = h(x, y) of a frame; h is C² in x and y, and may contain t."""

    shape: Callable[[Any, Any], Any]

    @staticmethod
    def over(ground: Any, floor: FrameSymbols | None, belt: Sequence[Any], what: str) -> Hills:
        base_plane = FloorPlane.of(floor, 0, belt, what)
        if not callable(ground) or _arguments(ground) not in (2, None):
            raise ModelError(f"ground= under {what} is a function of x and y, lambda x, y: 0.1*sin(x), not {shown(ground)}")
        hills = Hills(base_plane.floor, None, base_plane.belt, ground)
        x, y = Dummy("x", real=True), Dummy("y", real=True)
        height = answered_by(ground, f"ground= under {what}, a function of (x, y),", x, y)
        foreign = [s for s in jets_of(finite_length(height, f"the ground under {what}")) if s not in (x, y)]
        if foreign:
            raise ModelError(f"ground= under {what} contains {foreign[0]}; it is a function of x, y, ap.t and parameters")
        return hills

    @property
    def drawn(self) -> DrawnGround:
        return DrawnGround(self.floor, GROUND_X, GROUND_Y, expression(self.shape(GROUND_X, GROUND_Y), "ground="))

    def _surface_at(self, point: Any) -> tuple[Any, Any, Any, Any, Any]:
        """z, h, h_x, h_y and h_t at a place."""
        x, y, z = self.floor.rotation.T * (point - self.floor.position)
        a, b = Dummy("x", real=True), Dummy("y", real=True)
        h = expression(self.shape(a, b), "ground=")
        at_point = lambda e: expression(e, "ground=").xreplace({a: x, b: y})
        return (z, *map(at_point, (h, diff(h, a), diff(h, b), diff(h, t))))

    def axes_at(self, place: Any) -> Axes:
        """(1, 0, h_x), the tangent perpendicular to it, and the normal (−h_x, −h_y, 1), all normalized."""
        _, _, h_x, h_y, _ = self._surface_at(place)
        R, long, steep = self.floor.rotation, sqrt(1 + h_x**2), sqrt(1 + h_x**2 + h_y**2)
        tangent, normal = Matrix([1, 0, h_x]) / long, Matrix([-h_x, -h_y, 1]) / steep
        return Matrix(R * tangent), Matrix(R * normal.cross(tangent)), Matrix(R * normal)

    def height_of(self, place: Any) -> Any:
        z, h, h_x, h_y, _ = self._surface_at(place)
        return (z - h) / sqrt(1 + h_x**2 + h_y**2)

    def slip(self, place: Any, velocity: Any) -> Any:
        """The velocity relative to a surface that a belt carries along itself and that rises with h_t."""
        _, _, h_x, h_y, h_t = self._surface_at(place)
        rise = Matrix([0, 0, h_t + h_x * self.belt[0] + h_y * self.belt[1]])
        return super().slip(place, velocity) - self.floor.rotation * rise


def _arguments(function: Any) -> int | None:
    """The number of arguments of a function; None where it is not known."""
    try:
        return len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None


__all__ = [
    "Axes",
    "DrawnGround",
    "DrawnTouch",
    "FloorPlane",
    "Hills",
    "axes_of",
    "drawn_ground",
    "drawn_touch",
    "finite_length",
    "put_on",
    "refuse_names",
    "sliding",
]  # fmt: skip
