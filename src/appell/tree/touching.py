"""Contact with the ground of points, spheres, capsules and boxes; and contact of spheres and capsules with each other.

A simple shape touches a plane at a few points known in closed form. Each is a unilateral constraint (or a bilateral row) whose
function is a length, so that its reaction is the normal force:

    point p         gap(p)                         sphere      gap(c) − r, touching at c − r n
    box             its eight corners              capsule     the two spheres at its ends
    two spheres     |c₂ − c₁| − r₁ − r₂            sphere, capsule |c − b − t v| − r₁ − r₂, t the nearest on the axis
    two capsules    |b + t v − a − s u| − r₁ − r₂  s and t the nearest on both axes

Contacts between meshes and between edges are not supported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sympy import Expr, Float, Integer, Matrix, Max, Min, sqrt

from appell.errors import ArgumentError, ModelError
from appell.model.constraint import Constraint
from appell.model.friction import Friction
from appell.model.unilateral import Unilateral
from appell.reading import items_of
from appell.spelling import checked_keywords
from appell.tree.ground import Axes, DrawnTouch, FloorPlane, Hills, finite_length, put_on, refuse_names, sliding
from appell.tree.symbols.frame_symbols import FrameSymbols, vector

Touch = list[Constraint | Unilateral | Friction]


@checked_keywords()
def contact_point(
    frame: FrameSymbols,
    point: Sequence[Any] = (0, 0, 0),
    *,
    height: Any = 0,
    ground: Any = None,
    slips: bool = False,
    one_sided: bool = False,
    restitution: Any = 0,
    floor: FrameSymbols | None = None,
    belt: Sequence[Any] = (0, 0),
    friction: Any = None,
    static: Any = None,
    name: str | None = None,
) -> Touch:
    """A point of a body is held on the ground, z = height of the world or of the frame `floor`; it does not slip on it.

        height   n·(p − p_floor) = height,        x, y   x_floor·w = 0, y_floor·w = 0,      w = ṗ − (velocity of the floor at p)

    point: in the frame, m. slips: only the height is held. one_sided: n·(p − p_floor) >= height instead, with this restitution;
    such a point slips. height, floor, belt: as in `rolling`. ground: a function h(x, y) in place of the height, hills z = h in
    the floor's frame, C², which may contain `ap.t` (it then rises and falls) and parameters. friction: μ of an `ap.Friction`
    along the ground, named "name: friction"; static: a larger coefficient at rest.
    """
    refuse_names(frame)
    name, contact = name or frame.name, frame.at(point)
    plane = _surface(height, ground, floor, belt, f"contact '{name}'")
    gap = plane.height_of(contact.position)
    w = plane.slip(contact.position, contact.velocity)
    axes = plane.axes_at(contact.position)
    slip_rates = tuple(axis.dot(w) for axis in axes[:2])
    touch = _touch_to_draw(Matrix(contact.position), axes, slip_rates, name)
    friction_on = lambda normal: [] if friction is None else [sliding(slip_rates, normal, friction, static, name)]
    if one_sided:
        face = put_on(Unilateral(gap, name, restitution), plane, touch)
        return [face, *friction_on(face)]
    if restitution != 0:
        raise ModelError(f"contact '{name}' is held, so nothing rebounds; restitution= is for one_sided=True")
    rows = [put_on(Constraint(gap, f"{name}: height"), plane, touch)]
    if friction is not None:
        return [*rows, *friction_on(rows[0])]
    if not slips:
        rows += [Constraint(slip_rate, f"{name}: {'xy'[k]}") for k, slip_rate in enumerate(slip_rates)]
    return [*rows]


def _touch_to_draw(point: Matrix, axes: Axes, slip_rates: tuple[Expr, ...], name: str) -> DrawnTouch:
    """The arrow of a contact force, for drawing; its friction has the nonzero components, as in `sliding`."""
    directions = tuple(axis for axis, slip_rate in zip(axes[:2], slip_rates, strict=True) if slip_rate != 0)
    return DrawnTouch(point, axes[2], directions, f"{name}: friction")


def _surface(height: Any, ground: Any, floor: FrameSymbols | None, belt: Sequence[Any], what: str) -> FloorPlane:
    if ground is not None:
        if height is None or height != 0:
            raise ModelError(f"height= and ground= under {what} say the same: add the height to the function")
        return Hills.over(ground, floor, belt, what)
    if height is None:
        raise ModelError(f"the height of the plane under {what} is None; it must be a number or an expression")
    return FloorPlane.of(floor, height, belt, what)


@checked_keywords()
def contact_sphere(
    frame: FrameSymbols,
    radius: Any,
    *,
    centre: Sequence[Any] = (0, 0, 0),
    height: Any = 0,
    restitution: Any = 0,
    floor: FrameSymbols | None = None,
    belt: Sequence[Any] = (0, 0),
    friction: Any = None,
    static: Any = None,
    name: str | None = None,
) -> Touch:
    """A sphere of a body above a plane: n·(c − p_floor) − height − r >= 0; it touches, rolls, slides and rebounds.

    radius: m. centre: in the frame, m. The other arguments are those of `contact_point`.
    """
    refuse_names(frame)
    name = name or frame.name
    r, ball = _radius(radius, name), frame.at(centre)
    plane = _surface(height, None, floor, belt, f"sphere '{name}'")
    arm = -r * plane.axes[2]
    w = plane.slip(ball.position + arm, ball.velocity + ball.angular_velocity.cross(arm))
    slip_rates = tuple(axis.dot(w) for axis in plane.axes[:2])
    touch = _touch_to_draw(Matrix(ball.position + arm), plane.axes, slip_rates, name)
    face = put_on(Unilateral(plane.height_of(ball.position) - r, name, restitution), plane, touch)
    return [face] if friction is None else [face, sliding(slip_rates, face, friction, static, name)]


def _refuse_option(options: Mapping[str, Any], key: str, reason: str) -> None:
    """Raises for an option of a shape that the shape sets by itself."""
    if key in options:
        raise ArgumentError(f"{key}= is not an option here: {reason}")


@checked_keywords()
def contact_capsule(
    frame: FrameSymbols, radius: Any, length: Any, *, axis: Sequence[Any] | str = "z", name: str | None = None, **options: Any
) -> Touch:
    """A capsule above a plane: the spheres at both ends of its axis, "name: 1" and "name: 2".

    length: between the centres of the spheres, m, about the frame's origin. axis: in the frame. options: of `contact_sphere`.
    """
    refuse_names(frame)
    name = name or frame.name
    _refuse_option(options, "centre", f"capsule '{name}' lies about the origin of its frame")
    half, e = _half_length(length, name), _unit_axis(axis, name)
    ends = [[sign * half * x for x in e] for sign in (-1, 1)]
    return [
        item for k, centre in enumerate(ends, start=1)
        for item in contact_sphere(frame, radius, centre=centre, name=f"{name}: {k}", **options)
    ]  # fmt: skip


@checked_keywords()
def contact_box(
    frame: FrameSymbols, sizes: Sequence[Any], *, centre: Sequence[Any] = (0, 0, 0), name: str | None = None, **options: Any
) -> Touch:
    """A box above the ground: its eight corners, "name: 1" … "name: 8".

    sizes: along x, y and z of the frame, m; centre: in the frame. options: of `contact_point(one_sided=True)`, ground= too.
    """
    refuse_names(frame)
    name = name or frame.name
    _refuse_option(options, "one_sided", f"corners of box '{name}' press on the ground, and are never held by it")
    lengths = [finite_length(x, f"a side of box '{name}'") for x in items_of(sizes, f"the sizes of box '{name}'")]
    if len(lengths) != 3 or any(x.is_nonpositive for x in lengths):
        raise ModelError(f"box '{name}' has three positive sides, not {sizes}")
    corners = product(*((-x / 2, x / 2) for x in lengths))
    middle = [finite_length(x, f"the centre of box '{name}'") for x in items_of(centre, f"the centre of box '{name}'")]
    if len(middle) != 3:
        raise ModelError(f"the centre of box '{name}' has three parts, not {len(middle)}")
    shifted = [[a + b for a, b in zip(corner, middle, strict=True)] for corner in corners]
    return [
        item for k, corner in enumerate(shifted, start=1)
        for item in contact_point(frame, corner, one_sided=True, name=f"{name}: {k}", **options)
    ]  # fmt: skip


@checked_keywords()
def spheres_touch(
    a: FrameSymbols,
    radius_a: Any,
    b: FrameSymbols,
    radius_b: Any,
    *,
    restitution: Any = 0,
    friction: Any = None,
    static: Any = None,
    name: str | None = None,
) -> Touch:
    """Two spheres about the origins of two frames do not overlap: d − r_a − r_b >= 0, d = |p_b − p_a|.

    `frame.at(centre)` puts a centre elsewhere. friction: μ at the contact, "name: friction".
    """
    refuse_names(a, b)
    name = name or f"{a.name}-{b.name}"
    touched = lambda frame, radius: _TouchedBody(frame, _radius(radius, name), Matrix([0, 0, 0]))
    return _bodies_touch(touched(a, radius_a), touched(b, radius_b), restitution, friction, static, name)


@checked_keywords()
def sphere_and_capsule_touch(
    ball: FrameSymbols,
    radius: Any,
    bar: FrameSymbols,
    bar_radius: Any,
    length: Any,
    *,
    axis: Sequence[Any] | str = "z",
    restitution: Any = 0,
    friction: Any = None,
    static: Any = None,
    name: str | None = None,
) -> Touch:
    """A sphere and a capsule, each about the origin of a frame, do not overlap: |c − b − t v| − r − r_b >= 0.

        t = (c − b)·v kept between −l/2 and l/2        c the centre of the sphere, b that of the capsule, v its axis

    The second derivatives of the gap jump where the nearest point reaches an end of the axis.
    length: l, between the centres of the spheres at the capsule's ends, m. axis: in the capsule's frame. friction: μ at the
    contact, "name: friction".
    """
    refuse_names(ball, bar)
    name = name or f"{ball.name}-{bar.name}"
    half, v = _half_length(length, name), Matrix(bar.rotation * _unit_axis(axis, name))
    projection = Matrix(ball.position - bar.position).dot(v)
    t = _clipped(projection, half)
    on_bar = _TouchedBody(bar, _radius(bar_radius, name), Matrix(t * v))
    on_ball = _TouchedBody(ball, _radius(radius, name), Matrix([0, 0, 0]))
    return _bodies_touch(on_bar, on_ball, restitution, friction, static, name)


@checked_keywords()
def capsules_touch(
    a: FrameSymbols,
    radius_a: Any,
    length_a: Any,
    b: FrameSymbols,
    radius_b: Any,
    length_b: Any,
    *,
    axis_a: Sequence[Any] | str = "z",
    axis_b: Sequence[Any] | str = "z",
    restitution: Any = 0,
    friction: Any = None,
    static: Any = None,
    name: str | None = None,
) -> Touch:
    """Two capsules, each about the origin of a frame, do not overlap: |w + t v − s u| − r_a − r_b >= 0, w = b − a.

        s₀ = (w·u − (u·v)(w·v))/|u × v|²        t = (u·v) s₀ − w·v        s = (u·v) t + w·u

    u, v the axes, s and t from the middle of each along it; each of s₀, t, s is clipped to ∓l/2 before the next is computed
    (Ericson 2005, 5.1.9). lengths, axes, friction: as in `sphere_and_capsule_touch`.

    There is one contact point, at the shortest distance; second derivatives jump where it reaches an end of an axis. Parallel
    capsules touch along a line: describe that by the ends of the shorter one, `sphere_and_capsule_touch` of `frame.at(…)`.
    """
    refuse_names(a, b)
    name = name or f"{a.name}-{b.name}"
    half_a, half_b = _half_length(length_a, name), _half_length(length_b, name)
    u, v = Matrix(a.rotation * _unit_axis(axis_a, name)), Matrix(b.rotation * _unit_axis(axis_b, name))
    w, c, across = Matrix(b.position - a.position), u.dot(v), u.cross(v)
    s0 = _clipped((w.dot(u) - c * w.dot(v)) / (across.dot(across) + PARALLEL), half_a)
    t = _clipped(c * s0 - w.dot(v), half_b)
    s = _clipped(c * t + w.dot(u), half_a)
    ends = _TouchedBody(a, _radius(radius_a, name), Matrix(s * u)), _TouchedBody(b, _radius(radius_b, name), Matrix(t * v))
    return _bodies_touch(*ends, restitution, friction, static, name)


PARALLEL = Float(1e-14)
"""Added to sin² of the angle between two axes. It matters only at angles of about 1e-7, where all pairs of nearest points have
the same distance to 1e-12 of the lengths."""


def _clipped(x: Any, half: Expr) -> Any:
    """x clipped to [−half, half], written so that SymPy need not compare the bounds, which can be slow."""
    return Max(-half, Min(half, x, evaluate=False), evaluate=False) if half else Integer(0)


@dataclass(frozen=True)
class _TouchedBody:
    """The sphere nearest to the other body: radius r, centre at `arm` from the origin of a frame, on the world's axes."""

    frame: FrameSymbols
    radius: Expr
    arm: Matrix

    @property
    def centre(self) -> Matrix:
        return Matrix(self.frame.position + self.arm)

    def velocity(self, way: Matrix) -> Matrix:
        """The velocity of the point of the body at `way` from the centre."""
        return Matrix(self.frame.velocity + self.frame.angular_velocity.cross(self.arm + way))


def _bodies_touch(a: _TouchedBody, b: _TouchedBody, restitution: Any, friction: Any, static: Any, name: str) -> Touch:
    separation = Matrix(b.centre - a.centre)
    d = sqrt(separation.dot(separation))
    face = Unilateral(d - a.radius - b.radius, name, restitution)
    if friction is None:
        return [face]
    n = separation / d
    slip = b.velocity(-b.radius * n) - a.velocity(a.radius * n)
    return [face, sliding(tuple(e.dot(slip) for e in _tangents(n)), face, friction, static, name)]


def _half_length(length: Any, name: str) -> Expr:
    half = finite_length(length, f"the length of capsule '{name}'") / 2
    if half.is_negative:
        raise ModelError(f"the length of capsule '{name}' is {2 * half}; it must not be negative")
    return half


def _unit_axis(axis: Any, name: str) -> Matrix:
    e = vector(axis, f"the axis of capsule '{name}'")
    if e.is_zero_matrix:
        raise ModelError(f"the axis of capsule '{name}' has length 0")
    return Matrix(e.normalized())


def _tangents(n: Matrix) -> tuple[Matrix, Matrix]:
    """Two unit vectors orthogonal to n and to each other: the rotation that takes u to n, applied to two orthogonal to u.

        e ↦ e − (e·n)/(1 + u·n) (u + n)        for e·u = 0

    The map is singular at n = −u; u is away from the coordinate axes, along which balls are often stacked.
    """
    u, first, second = (Matrix(row) / 7 for row in ((2, 3, 6), (3, -6, 2), (6, 2, -3)))
    turned = lambda e: e - e.dot(n) / (1 + u.dot(n)) * (u + n)
    return turned(first), turned(second)


def _radius(radius: Any, name: str) -> Expr:
    r = finite_length(radius, f"the radius of sphere '{name}'")
    if r.is_nonpositive:
        raise ModelError(f"the radius of sphere '{name}' is {r}; it must be positive")
    return r


__all__ = [
    "capsules_touch", "contact_box", "contact_capsule", "contact_point", "contact_sphere", "sphere_and_capsule_touch",
    "spheres_touch",
]  # fmt: skip
