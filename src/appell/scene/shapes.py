"""A scene in numbers: a few kinds of shapes over k frames, which every renderer can draw.

Arrays have the frames first, (k, …), or (1, …) if constant. Lengths in m, widths of lines and dots in pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

INK = "ink"
"""The colour of text: dark on a light page, light on a dark one."""
GREY = "grey"
"""The colour of the background: ground, walls, frames."""
PALETTE = ("#3b82c4", "#e08a3c", "#4aa37b", "#b9688f", "#c9a227", "#6f7fd1", "#8a8f98")


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles of a solid on its own axes, with edges and outlines for line drawings.

    vertices: (n, 3), m; triangles: (m, 3) indices of vertices; edges: (e, 2) sharp edges;
    outlines: closed polygons (n, 3) that represent the solid in a flat picture, marks: open lines on them;
    smooth: whether neighbouring triangles are shaded as one surface.
    """

    vertices: Array
    triangles: NDArray[np.int_]
    edges: NDArray[np.int_] = field(default_factory=lambda: np.zeros((0, 2), int))
    outlines: tuple[Array, ...] = ()
    marks: tuple[Array, ...] = ()
    smooth: bool = False


@dataclass(frozen=True, eq=False)
class Solid:
    """A mesh at p (k, 3), rotated by R (k, 3, 3); its z axis is stretched by `stretch` (k,)."""

    mesh: Mesh
    p: Array
    R: Array
    stretch: Array
    colour: str
    opacity: float = 1.0
    name: str = ""


@dataclass(frozen=True, eq=False)
class Polyline:
    """A polyline (k, n, 3), `width` pixels; closed and filled where `fill` is a colour."""

    points: Array
    colour: str = INK
    width: float = 1.5
    dashed: bool = False
    fill: str = ""
    cased: bool = False  # a bar: a wide line with a dark rim
    name: str = ""


@dataclass(frozen=True, eq=False)
class Dot:
    """A disc of `radius` pixels at p (k, 3), independent of the scale; open ones are hinges."""

    p: Array
    colour: str = INK
    radius: float = 5.0
    open: bool = False
    name: str = ""


@dataclass(frozen=True, eq=False)
class Shaft:
    """An arrow from p (k, 3) along v (k, 3), m."""

    p: Array
    v: Array
    colour: str = INK
    name: str = ""


@dataclass(frozen=True, eq=False)
class Track:
    """The path of p (k, 3) so far."""

    p: Array
    colour: str = INK
    name: str = ""


@dataclass(frozen=True, eq=False)
class TextLabel:
    """A text beside p (k, 3)."""

    p: Array
    text: str
    colour: str = INK


Shape = Solid | Polyline | Dot | Shaft | Track | TextLabel


def still(array: Any) -> Array:
    """The array with a single frame, if all frames are equal."""
    array = np.asarray(array, dtype=float)
    return array[:1] if len(array) > 1 and (array == array[:1]).all() else array


# -- meshes of the simple solids ---------------------------------------------------------------------------------------


def circle(radius: float, count: int = 40) -> Array:
    """A closed polygon in the plane z = 0, (count, 3)."""
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return radius * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)


def box(sizes: Any) -> Mesh:
    """A box about the origin with these edges (3,), m."""
    half = np.asarray(sizes, dtype=float) / 2
    corner = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float) * half
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    edges = [(i, j) for i in range(8) for j in range(i) if bin(i ^ j).count("1") == 1]
    faces = tuple(corner[list(quad)] for quad in quads)
    return Mesh(corner, np.array(triangles), np.array(edges), outlines=faces)


def cylinder(radius: float, length: float, *, sides: int = 28, spokes: int = 0) -> Mesh:
    """A cylinder about z, from −length/2 to length/2; `spokes` are marked on its ends."""
    ring = circle(radius, sides)
    axis = np.array([0.0, 0.0, length / 2])
    vertices = np.vstack([ring - axis, ring + axis, [-axis, axis]])
    n, low, high = sides, 2 * sides, 2 * sides + 1
    i = np.arange(n)
    j = (i + 1) % n
    wall = [np.stack([i, j, n + j], 1), np.stack([i, n + j, n + i], 1)]
    ends = [np.stack([np.full(n, low), j, i], 1), np.stack([np.full(n, high), n + i, n + j], 1)]
    edges = np.vstack([np.stack([i, j], 1), np.stack([n + i, n + j], 1)])
    starts = [k * n // spokes for k in range(spokes)]
    radial = [pair for k in starts for pair in ((low, k), (high, n + k))]
    radii = [np.array([[0, 0, 0], ring[k]]) for k in starts]
    edges = np.vstack([edges, np.array(radial, dtype=int).reshape(-1, 2)])
    return Mesh(vertices, np.vstack([*wall, *ends]), edges, outlines=(ring,), marks=tuple(radii), smooth=False)


def sphere(radius: float, *, marks: bool = False) -> Mesh:
    """A ball about the origin; `marks` are two great circles that make its rotation visible."""
    rows, columns = 12, 24
    theta, phi = np.meshgrid(np.linspace(0, np.pi, rows + 1), np.linspace(0, 2 * np.pi, columns + 1), indexing="ij")
    grid = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    index = np.arange(grid.shape[0] * grid.shape[1]).reshape(grid.shape[:2])
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    triangles = np.vstack([np.stack(x, -1).reshape(-1, 3) for x in ((a, b, c), (a, c, d))])
    middle = index[rows // 2]
    meridian = [*index[:, 0], *index[::-1, columns // 2]]
    edges = np.vstack([np.stack([line[:-1], line[1:]], 1) for line in (middle, np.array(meridian))])
    return Mesh(
        radius * grid.reshape(-1, 3), triangles, edges if marks else np.zeros((0, 2), int),
        outlines=(circle(radius),), marks=(np.array([[0, 0, 0], [radius, 0, 0]]),) if marks else (), smooth=True,
    )  # fmt: skip


def rod(radius: float) -> Mesh:
    """A cylinder from 0 to 1 along z, to be stretched between two points."""
    mesh = cylinder(radius, 1.0, sides=14)
    return replace(mesh, vertices=mesh.vertices + np.array([0, 0, 0.5]), edges=np.zeros((0, 2), int), smooth=True)


def rotation_along(v: Array) -> tuple[Array, Array]:
    """(R, length): rotations (k, 3, 3) whose z axis points along v (k, 3), and |v| (k,)."""
    length = np.linalg.norm(v, axis=1)
    z = v / np.where(length > 0, length, 1)[:, None]
    z[length == 0] = [0, 0, 1]
    helper: Array = np.where(np.abs(z[:, 2:]) < 0.9, [0.0, 0.0, 1.0], [1.0, 0.0, 0.0])
    x: Array = np.cross(helper, z)
    x /= np.linalg.norm(x, axis=1)[:, None]
    return np.stack([x, np.cross(z, x), z], axis=-1), length
