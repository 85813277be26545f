"""Solids and grounds of a scene; see `appell.scene.items` for places and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from appell.errors import ModelError
from appell.reading import items_of, shown, table_of
from appell.scene import shapes as draw
from appell.scene.items import Item, Numbers, Parts, Resolve, _pose_parts, _present, _solid
from appell.scene.meshes import read_mesh
from appell.scene.shapes import GREY, PALETTE, Array, Shape, still

AXES = {
    "x": np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
    "y": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]),
    "z": np.eye(3),
}
"""Rotations that take the axis of a cylinder, z, to an axis of the body."""


def _axis(axis: str) -> Array:
    if axis not in AXES:
        raise ModelError(f"the axis of a disc, wheel or cylinder is 'x', 'y' or 'z' of its body, not {shown(axis)}")
    return AXES[axis]


@dataclass(frozen=True, eq=False)
class Disc(Item):
    """A flat disc of `radius` (m) about `axis` of its place; a marked radius shows its rotation.

    `turned`: an angle about z, a rotation matrix or an attitude, if the place has no orientation.
    """

    at: Any
    radius: Any = None
    turned: Any = None
    axis: str = "z"
    thickness: Any = None
    colour: str = PALETTE[0]
    name: str = ""
    spokes: int = 1
    relative_thickness: ClassVar[float] = 0.08  # of the radius, where `thickness` is not given
    sides: ClassVar[int] = 48

    def parts(self, resolve: Resolve) -> Parts:
        return {**_pose_parts(resolve, self.at, self.turned), **_present(radius=self.radius, thickness=self.thickness)}

    def shapes(self, n: Numbers) -> list[Shape]:
        radius = n.length("radius", 0.08)
        thickness = n.length("thickness", 0) or self.relative_thickness * radius
        mesh = draw.cylinder(radius, thickness, sides=self.sides, spokes=self.spokes)
        return [_solid(n, mesh, self.colour, 1.0, self.name, _axis(self.axis))]


@dataclass(frozen=True, eq=False)
class Wheel(Disc):
    """A wheel: a disc with a rim and spokes."""

    thickness: Any = None
    colour: str = "#5b6470"
    spokes: int = 4
    relative_thickness: ClassVar[float] = 0.3
    sides: ClassVar[int] = 36


@dataclass(frozen=True, eq=False)
class Cylinder(Item):
    """A cylinder of `radius` and `length` (m) about `axis` of its place."""

    at: Any
    radius: Any
    length: Any
    turned: Any = None
    axis: str = "z"
    colour: str = PALETTE[0]
    opacity: float = 1.0
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        return {**_pose_parts(resolve, self.at, self.turned), "radius": self.radius, "length": self.length}

    def shapes(self, n: Numbers) -> list[Shape]:
        mesh = draw.cylinder(n.length("radius", 0), n.length("length", 0))
        return [_solid(n, mesh, self.colour, self.opacity, self.name, _axis(self.axis))]


@dataclass(frozen=True, eq=False)
class Sphere(Item):
    """A ball of `radius` (m); if its place rotates, two great circles show it."""

    at: Any
    radius: Any = None
    turned: Any = None
    colour: str = PALETTE[0]
    opacity: float = 1.0
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        return {**_pose_parts(resolve, self.at, self.turned), **_present(radius=self.radius)}

    def shapes(self, n: Numbers) -> list[Shape]:
        mesh = draw.sphere(n.length("radius", 0.06), marks="R" in n.values)
        return [_solid(n, mesh, self.colour, self.opacity, self.name)]


@dataclass(frozen=True, eq=False)
class Ellipsoid(Item):
    """An ellipsoid with semi-axes `radii` (m) along the axes of its place; two great ellipses show its rotation."""

    at: Any
    radii: Sequence[Any]
    turned: Any = None
    colour: str = PALETTE[0]
    opacity: float = 1.0
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        radii = items_of(self.radii, "radii=")
        if len(radii) != 3:
            raise ModelError(f"an Ellipsoid has three semi-axes, not {len(radii)}")
        return {**_pose_parts(resolve, self.at, self.turned), "radii": radii}

    def shapes(self, n: Numbers) -> list[Shape]:
        ball = draw.sphere(1.0, marks=True)
        mesh = draw.Mesh(ball.vertices * n["radii"][0], ball.triangles, ball.edges, smooth=ball.smooth)
        return [_solid(n, mesh, self.colour, self.opacity, self.name)]


@dataclass(frozen=True, eq=False)
class Box(Item):
    """A box with edges `sizes` (m) along the axes of its place: two of them in a plane, three in space."""

    at: Any
    sizes: Sequence[Any] | None = None
    turned: Any = None
    colour: str = PALETTE[0]
    opacity: float = 1.0
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        sizes = None if self.sizes is None else items_of(self.sizes, "sizes=")
        if sizes is not None and len(sizes) not in (2, 3):
            raise ModelError(f"a Box has two edges in a plane and three in space, not {len(sizes)}")
        return {**_pose_parts(resolve, self.at, self.turned), **_present(sizes=sizes)}

    def shapes(self, n: Numbers) -> list[Shape]:
        sizes = n["sizes"][0] if "sizes" in n.values else n.size * np.array([0.16, 0.1, 0.1])
        sizes = np.append(sizes, 0.1 * n.size) if len(sizes) == 2 else sizes
        return [_solid(n, draw.box(sizes), self.colour, self.opacity, self.name)]


@dataclass(frozen=True, eq=False)
class MeshFile(Item):
    """The mesh in an STL, OBJ or DAE file, at a place; `scale` multiplies its lengths."""

    at: Any
    path: str | Path
    turned: Any = None
    scale: Sequence[float] = (1.0, 1.0, 1.0)
    offset: tuple[Array, Array] | None = None
    colour: str = PALETTE[6]
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        read_mesh(self.path)  # a missing mesh raises when the scene is built
        return _pose_parts(resolve, self.at, self.turned)

    def shapes(self, n: Numbers) -> list[Shape]:
        mesh = read_mesh(self.path)
        vertices = mesh.vertices * np.asarray(self.scale, dtype=float)
        if self.offset is not None:
            vertices = vertices @ self.offset[0].T + self.offset[1]
        return [_solid(n, draw.Mesh(vertices, mesh.triangles, mesh.edges, smooth=False), self.colour, 1.0, self.name)]


@dataclass(frozen=True, eq=False)
class Surface(Item):
    """A surface r(u, v) over ranges of two symbols: `Surface([u, v, u**2 + v**2], {u: (-1, 1), v: (-1, 1)})`.

    It may depend on parameters, not on time. In a flat scene with one symbol it is a line.
    """

    position: Sequence[Any]
    over: Mapping[Any, tuple[float, float]]
    colour: str = "#9aa3ad"
    opacity: float = 0.45
    points: int = 25
    name: str = ""

    def __post_init__(self) -> None:
        count = len(table_of(self.over, "over="))  # none for None
        if count not in (1, 2):
            raise ModelError(f"a Surface has one symbol (a line) or two with their ranges, not {count}")

    def parts(self, resolve: Resolve) -> Parts:
        resolve((self.position, tuple(self.over)), "surface")  # checks its symbols
        return {}

    def shapes(self, n: Numbers) -> list[Shape]:
        count = 8 * self.points if len(self.over) == 1 else self.points
        ranges = [np.linspace(float(pair[0]), float(pair[1]), count) for pair in self.over.values()]
        grid = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(ranges))
        points = n.surface(self.position, dict(zip(self.over, grid.T, strict=True)))[None]
        if len(self.over) == 1:
            return [draw.Polyline(still(points), self.colour, 2.5, name=self.name)]
        index = np.arange(points.shape[1]).reshape(self.points, self.points)
        a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
        triangles = np.vstack([np.stack(x, -1).reshape(-1, 3) for x in ((a, b, c), (a, c, d))])
        lines = [*index[::4], *index.T[::4]]
        edges = np.vstack([np.stack([line[:-1], line[1:]], 1) for line in lines])
        mesh = draw.Mesh(points[0], triangles, edges, smooth=True)
        return [draw.Solid(mesh, np.zeros((1, 3)), np.eye(3)[None], np.ones(1), self.colour, self.opacity, self.name)]


@dataclass(frozen=True, eq=False)
class Wall(Item):
    """A wall through a place with its free side along `normal`: hatched in a flat scene, a plate in space.

    `length`: of the drawn part, m; by default a little more than the scene.
    """

    at: Any
    normal: Sequence[Any] = (-1, 0)
    length: Any = None
    colour: str = GREY
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        normal = resolve(self.normal, "vector")
        return {"p": list(resolve(self.at, "position").position), "e": list(normal.position), **_present(length=self.length)}

    def shapes(self, n: Numbers) -> list[Shape]:
        p, e = np.broadcast_arrays(n["p"], n["e"])
        e = e / np.maximum(np.linalg.norm(e, axis=1), 1e-300)[:, None]
        return _hatched(n, p, e, self) if n.flat else _plate(n, p, e, self)


def _hatched(n: Numbers, p: Array, e: Array, wall: Wall) -> list[Shape]:
    """A line with short strokes behind it."""
    tangent = np.stack([e[:, 1], -e[:, 0], 0 * e[:, 0]], axis=1)
    half_length, centre = n.length("length", 0) / 2, p
    if not half_length:
        middle = n.reach.mean(axis=0)
        half_length = 0.62 * float(np.abs(tangent[0]) @ np.ptp(n.reach, axis=0)) + 0.08 * n.size
        centre = p + ((middle - p) * tangent).sum(axis=1)[:, None] * tangent
    stroke = 0.032 * n.size
    count = max(4, min(60, round(2 * half_length / stroke / 1.1)))
    s = np.linspace(-half_length, half_length, count + 1)[None, :, None]
    top = centre[:, None] + s * tangent[:, None]
    foot = top - stroke * (e + tangent)[:, None]
    strokes = np.stack([top, foot, top], axis=2).reshape(len(p), -1, 3)
    edge = draw.Polyline(still(top[:, [0, -1]]), wall.colour, 2.2, name=wall.name)
    return [draw.Polyline(still(strokes), wall.colour, 1.0), edge]


def _plate(n: Numbers, p: Array, e: Array, wall: Wall) -> list[Shape]:
    """A square with a grid."""
    R, _ = draw.rotation_along(e)
    length = n.length("length", 0)
    middle = n.reach.mean(axis=0)
    centre = p if length else p + (middle - p) - ((middle - p) * e).sum(axis=1)[:, None] * e
    half_length = length / 2 or 0.62 * float(np.ptp(n.reach, axis=0).max()) + 0.05 * n.size
    step = 10 ** np.floor(np.log10(half_length)) * (1.0 if half_length / 10 ** np.floor(np.log10(half_length)) > 3 else 0.25)
    count = max(2, min(40, int(np.ceil(half_length / step))))
    s = np.linspace(-half_length, half_length, 2 * count + 1)
    corner = np.array([[x, y, 0.0] for y in s for x in s])
    index = np.arange(len(corner)).reshape(len(s), len(s))
    edges = np.vstack([np.stack([line[[0]], line[[-1]]], 1) for line in (*index, *index.T)])
    a, b, c, d = index[0, 0], index[0, -1], index[-1, -1], index[-1, 0]
    mesh = draw.Mesh(corner, np.array([[a, b, c], [a, c, d]]), edges)
    return [draw.Solid(mesh, still(centre), still(R), np.ones(1), wall.colour, 0.18, wall.name)]


@dataclass(frozen=True, eq=False)
class Floor(Wall):
    """The ground: a wall facing up. `at` is a place on it; `normal` (0, 1) in a plane, (0, 0, 1) in space."""

    at: Any = (0, 0)
    normal: Sequence[Any] = (0, 1)
