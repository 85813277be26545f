"""Items of a scene, attached to expressions in the coordinates, to bodies or to frames of a tree.

    Link([0, 0], [l*sin(theta), -l*cos(theta)])        Box(body, [0.4, 0.1])        Wheel("left_wheel", 0.1)

A place is one of: two or three expressions (m) in time, jets and parameters; a `Particle` or `RigidBody`; the name of a body or
of a frame of a tree; a frame, `tree.frame(name).at(…)`. Places with two components make a flat scene. A size that is not given
follows from the extent of the scene.

An item lists the expressions it needs (`parts`), and returns what to draw for their values (`shapes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import sympy

from appell.errors import ModelError
from appell.model.attitudes import attitude
from appell.reading import shown
from appell.scene import shapes as draw
from appell.scene.shapes import INK, Array, Shape, still

Parts = dict[str, Any]
"""Name → expression, or list (of lists) of them."""


@dataclass(frozen=True, eq=False)
class Attached:
    """A place in symbols: position (3,), rotation (3, 3) or None, and whether two components were given."""

    position: tuple[Any, ...]
    rotation: Any = None
    flat: bool = False


Resolve = Callable[[Any, str], Attached]


@dataclass(frozen=True)
class Numbers:
    """Values of the parts of an item, (k, …); the extent of the scene, m; whether it is flat; the corners of all moving items.

    reaction: constraint → Λ (k,); surface: expressions (3,) and values (n,) of their symbols → points (n, 3).
    """

    values: Mapping[str, Array]
    size: float
    flat: bool
    reach: Array  # (2, 3) corners of all moving items
    reaction: Callable[[Any], Array]
    surface: Callable[[Sequence[Any], Mapping[Any, Array]], Array]

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def length(self, name: str, share: float) -> float:
        """A constant size; where it is not given, a fraction of the extent."""
        return float(self.values[name].ravel()[0]) if name in self.values else share * self.size


@dataclass(frozen=True, eq=False)
class Item:
    """Base class of everything that a scene can draw."""

    def parts(self, resolve: Resolve) -> Parts:
        """The expressions it needs."""
        raise NotImplementedError

    def shapes(self, n: Numbers) -> list[Shape]:
        """The shapes to draw for these values."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """Its name in error messages."""
        return f"{type(self).__name__}({', '.join(shown(getattr(self, f.name)) for f in fields(self)[:1])})"


def _pose_parts(resolve: Resolve, where: Any, turned: Any = None, prefix: str = "") -> Parts:
    """Position and rotation of a place; `turned` is an angle about z, a rotation matrix or an attitude of the model."""
    place = resolve(where, "position")
    rotation = place.rotation if turned is None else resolve_rotation(turned)
    parts: Parts = {f"{prefix}p": list(place.position)}
    if rotation is not None:
        parts[f"{prefix}R"] = sympy.Matrix(rotation).tolist()
    return parts


def resolve_rotation(turned: Any) -> Any:
    """The rotation matrix (body → space) of what `RigidBody(orientation=…)` accepts."""
    return attitude(turned).rotation


def _present(**values: Any) -> Parts:
    """The given values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _turns(n: Numbers) -> Array:
    return still(n["R"]) if "R" in n.values else np.eye(3)[None]


def _solid(n: Numbers, mesh: draw.Mesh, colour: str, opacity: float, name: str, before: Array | None = None) -> draw.Solid:
    """The mesh at the place of the item; `before` (3, 3) rotates it on its own axes first."""
    R = _turns(n) if before is None else _turns(n) @ before
    return draw.Solid(mesh, still(n["p"]), R, np.ones(1), colour, opacity, name)


# -- points and lines --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Point(Item):
    """A mass point; `radius` in m, otherwise a dot of a fixed size. `hinge` draws it open."""

    at: Any
    radius: Any = None
    colour: str = ""
    hinge: bool = False
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        return {"p": list(resolve(self.at, "position").position), **_present(radius=self.radius)}

    def shapes(self, n: Numbers) -> list[Shape]:
        if self.hinge or ("radius" not in n.values and n.flat):
            return [draw.Dot(still(n["p"]), self.colour or INK, 4.0 if self.hinge else 6.5, self.hinge, self.name)]
        ball = draw.sphere(n.length("radius", 0.025))
        return [_solid(n, ball, self.colour or draw.PALETTE[0], 1.0, self.name)]


@dataclass(frozen=True, eq=False, init=False)
class Link(Item):
    """A bar through two or more places; `width` in m (spatial scenes) or pixels (flat ones)."""

    places: tuple[Any, ...]
    width: Any
    colour: str
    name: str

    def __init__(self, *places: Any, width: Any = None, colour: str = "", name: str = ""):
        if len(places) < 2:
            raise ModelError("a Link goes through two places or more: Link([0, 0], [x, y])")
        for key, value in (("places", places), ("width", width), ("colour", colour), ("name", name)):
            object.__setattr__(self, key, value)

    def parts(self, resolve: Resolve) -> Parts:
        return {"p": [list(resolve(place, "position").position) for place in self.places], **_present(width=self.width)}

    def shapes(self, n: Numbers) -> list[Shape]:
        points, colour = still(n["p"]), self.colour or draw.PALETTE[0]
        if n.flat:
            return [draw.Polyline(points, colour, n.length("width", 0) or 8.0, cased=True, name=self.name)]
        mesh = draw.rod(n.length("width", 0.024) / 2)
        solids: list[Shape] = []
        for a, b in zip(range(points.shape[1] - 1), range(1, points.shape[1]), strict=True):
            R, length = draw.rotation_along(points[:, b] - points[:, a])
            solids.append(draw.Solid(mesh, still(points[:, a]), R, length, colour, 1.0, self.name))
        return solids


@dataclass(frozen=True, eq=False, init=False)
class Curve(Item):
    """A thin line through places; `closed` joins the ends, `fill` is the colour of the enclosed area."""

    places: tuple[Any, ...]
    colour: str
    dashed: bool
    closed: bool
    fill: str
    width: float
    name: str

    def __init__(self, *places: Any, colour: str = INK, dashed: bool = False, closed: bool = False, fill: str = "",
                 width: float = 1.5, name: str = ""):  # fmt: skip
        if len(places) < 2:
            raise ModelError("a Curve goes through two places or more")
        values = (places, colour, dashed, closed, fill, width, name)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def parts(self, resolve: Resolve) -> Parts:
        return {"p": [list(resolve(place, "position").position) for place in self.places]}

    def shapes(self, n: Numbers) -> list[Shape]:
        points = still(n["p"])
        points = np.concatenate([points, points[:, :1]], axis=1) if self.closed or self.fill else points
        return [draw.Polyline(points, self.colour, self.width, self.dashed, self.fill, name=self.name)]


@dataclass(frozen=True, eq=False)
class Spring(Item):
    """A coil spring between two places; `width` in m."""

    a: Any
    b: Any
    coils: int = 9
    width: Any = None
    colour: str = INK
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        ends = {key: list(resolve(place, "position").position) for key, place in (("a", self.a), ("b", self.b))}
        return {**ends, **_present(width=self.width)}

    def shapes(self, n: Numbers) -> list[Shape]:
        a, b = np.broadcast_arrays(n["a"], n["b"])
        half = n.length("width", 0.05) / 2
        share = np.linspace(0.1, 0.9, 2 * self.coils + 1) if n.flat else np.linspace(0.1, 0.9, 16 * self.coils + 1)
        R, _ = draw.rotation_along(b - a)
        if n.flat:
            across = np.stack([-(b - a)[:, 1], (b - a)[:, 0], 0 * a[:, 0]], axis=1)
            across /= np.maximum(np.linalg.norm(across, axis=1), 1e-300)[:, None]
            swing = np.where(np.arange(len(share)) % 2, -1.0, 1.0)
            swing[[0, -1]] = 0
            turn = half * swing[None, :, None] * across[:, None]
        else:
            angle = np.linspace(0, 2 * np.pi * self.coils, len(share))
            turn = half * (np.cos(angle)[None, :, None] * R[:, None, :, 0] + np.sin(angle)[None, :, None] * R[:, None, :, 1])
        inner = a[:, None] + share[None, :, None] * (b - a)[:, None] + turn
        points = np.concatenate([a[:, None], inner, b[:, None]], axis=1)
        return [draw.Polyline(still(points), self.colour, 1.6, name=self.name)]


@dataclass(frozen=True, eq=False)
class Thread(Item):
    """A thread between two places; with a `length` (m) it hangs slack where they are closer together."""

    a: Any
    b: Any
    length: Any = None
    colour: str = INK
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        ends = {key: list(resolve(place, "position").position) for key, place in (("a", self.a), ("b", self.b))}
        return {**ends, **_present(length=self.length)}

    def shapes(self, n: Numbers) -> list[Shape]:
        a, b = np.broadcast_arrays(n["a"], n["b"])
        if "length" not in n.values:
            return [draw.Polyline(still(np.stack([a, b], axis=1)), self.colour, 1.5, name=self.name)]
        chord = np.linalg.norm(b - a, axis=1)
        excess = np.maximum(n["length"] ** 2 - chord**2, 0)
        sag = np.sqrt(3 / 8 * np.maximum(n["length"] - chord, 0) * chord)  # sag of a shallow parabola of this length
        sag = np.where(n["length"] > 1.3 * chord, np.sqrt(excess) / 2, sag)
        s = np.linspace(0, 1, 17)
        down = np.array([0.0, -1.0, 0.0]) if n.flat else np.array([0.0, 0.0, -1.0])
        bend = (4 * s * (1 - s))[None, :, None] * sag[:, None, None] * down
        return [draw.Polyline(still(a[:, None] + s[None, :, None] * (b - a)[:, None] + bend), self.colour, 1.5, name=self.name)]


@dataclass(frozen=True, eq=False)
class Trail(Item):
    """The path of a place so far."""

    at: Any
    colour: str = "#d1495b"
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        return {"p": list(resolve(self.at, "position").position)}

    def shapes(self, n: Numbers) -> list[Shape]:
        return [draw.Track(n["p"], self.colour, self.name)]


@dataclass(frozen=True, eq=False)
class Label(Item):
    """A text beside a place."""

    at: Any
    text: str
    colour: str = INK

    def parts(self, resolve: Resolve) -> Parts:
        return {"p": list(resolve(self.at, "position").position)}

    def shapes(self, n: Numbers) -> list[Shape]:
        return [draw.TextLabel(still(n["p"]), str(self.text), self.colour)]


# -- arrows ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arrow(Item):
    """A force, velocity or any vector at a place; `scale` in m per unit; by default the longest arrow is a quarter of the
    scene."""

    at: Any
    vector: Sequence[Any]
    scale: Any = None
    colour: str = "#c0392b"
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        vector = resolve(self.vector, "vector")
        return {"p": list(resolve(self.at, "position").position), "v": list(vector.position), **_present(scale=self.scale)}

    def shapes(self, n: Numbers) -> list[Shape]:
        return [draw.Shaft(still(n["p"]), still(_scaled(n, n["v"])), self.colour, self.name)]


def _scaled(n: Numbers, v: Array) -> Array:
    longest = np.linalg.norm(v, axis=1).max(initial=0.0)
    return v * (n.length("scale", 0) or 0.25 * n.size / (longest or 1.0))


@dataclass(frozen=True, eq=False)
class Reaction(Item):
    """The reaction Λ of a constraint as an arrow at a place along `direction` (∂f/∂r of that place, on the world's axes).

    By default the direction is the gradient of the constraint with respect to the coordinates that are the components of the
    place.
    """

    constraint: Any
    at: Any
    direction: Sequence[Any] | None = None
    scale: Any = None
    colour: str = "#7d3c98"
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        place = resolve(self.at, "position")
        direction_given = self.direction if self.direction is not None else resolve((self.constraint, place), "gradient")
        direction = direction_given if isinstance(direction_given, Attached) else resolve(direction_given, "vector")
        return {"p": list(place.position), "e": list(direction.position), **_present(scale=self.scale)}

    def shapes(self, n: Numbers) -> list[Shape]:
        force = n.reaction(self.constraint)[:, None] * n["e"]
        return [draw.Shaft(still(n["p"]), still(_scaled(n, force)), self.colour, self.name)]


@dataclass(frozen=True, eq=False)
class Frame(Item):
    """Three axes at a place: x red, y green, z blue. `turned`: an orientation, if the place has none."""

    at: Any
    size: Any = None
    turned: Any = None
    name: str = ""

    def parts(self, resolve: Resolve) -> Parts:
        return {**_pose_parts(resolve, self.at, self.turned), **_present(size=self.size)}

    def shapes(self, n: Numbers) -> list[Shape]:
        length, R = n.length("size", 0.12), _turns(n)
        axes = ("#c0392b", "#27ae60", "#2c6fbb")[: 2 if n.flat else 3]
        return [draw.Shaft(still(n["p"]), length * R[:, :, i], colour, self.name) for i, colour in enumerate(axes)]
