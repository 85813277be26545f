"""A scene along a motion: shapes over frames at equal intervals, ready for any renderer.

    symbols of the scene  ←  values of the motion at the frames  →  all expressions at once  →  shapes of the items
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from appell.errors import AppellError, ModelError
from appell.jets import t as time
from appell.numeric_functions import numeric_function
from appell.reading import finite, shown, symbolic
from appell.scene.items import Numbers
from appell.scene.scene import Scene
from appell.scene.shapes import Array, Dot, Polyline, Shaft, Shape, Solid, TextLabel, Track
from appell.scene.solids import Wall
from appell.tree.kinematics import poses
from appell.tree.symbols.frame_symbols import AXES, FrameJet, FrameRate
from appell.tree.tree_system import TreeSystem

USUAL_FRAMES = 1200
"""Largest number of frames of a film, unless more are requested."""
FRAMES_PER_SECOND = 60.0
"""Frames per second."""

TURNS = {
    "flat": np.eye(3),
    "xz": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]),
    "yz": np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    "space": np.eye(3),
}
"""Rotation from world to picture: in flat views the picture is the plane of the first two components."""


@dataclass(frozen=True, eq=False)
class Film:
    """Shapes over the times t (k,), s; `low`, `high` (3,) enclose them, m; `notes`: differences from the motion."""

    name: str
    t: Array
    shapes: tuple[Shape, ...]
    flat: bool
    low: Array
    high: Array
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.t)


def film(scene: Scene, motion: Any, *, fps: float | None = None, frames: int | None = None) -> Film:
    """The scene along a motion, computed or loaded, at `fps` frames per second (or with `frames` in total)."""
    _refuse_other(scene, motion)
    times, notes = frame_times(motion, fps, frames)
    sampled, remarks = _sampled(motion, times)
    values = _values(scene, sampled)
    invalid = ~np.isfinite(np.column_stack([np.ones(len(times)), *(_flat_columns(v, len(times)) for v in values)])).all(axis=1)
    if invalid.any():
        cut = int(np.argmax(invalid))
        if not cut:
            raise ModelError(f"{motion.name} cannot be drawn: its values are not finite from the beginning")
        remarks += (f"values are not finite from t = {times[cut]:.6g} s on: the film ends before",)
        times, values = times[:cut], [{n: v[:cut] for n, v in numbers.items()} for numbers in values]
        sampled = sampled.first_frames(cut)
    return _assembled(scene, motion.name, times, values, sampled, (*scene.notes, *notes, *remarks))


def _refuse_other(scene: Scene, motion: Any) -> None:
    missing = [str(q) for q in scene.system.coordinates if str(q) not in motion.coordinate_names]
    if missing:
        name = scene.system.name
        raise ModelError(f"the scene shows {name}, whose coordinate {missing[0]} the motion of {motion.name} lacks")
    coordinates = {str(q) for q in scene.system.positions}
    unknown = [str(q) for q in motion.coordinate_names if str(q) not in coordinates]
    if unknown:
        raise ModelError(f"the scene shows {scene.system.name}, which has no {unknown[0]} as the motion of {motion.name} has")


MOST_FRAMES = 1_000_000
"""Largest number of frames that can be requested: nine hours at 30 per second."""


def frame_times(motion: Any, fps: float | None, frames: int | None) -> tuple[Array, tuple[str, ...]]:
    """Equally spaced times over the motion, and a note where they are fewer than the default rate needs."""
    if not len(motion):
        raise ModelError(f"the motion of {motion.name} has no samples: there is nothing to draw")
    fps = None if fps is None else finite(fps, "fps=")
    if fps is not None and not fps > 0:
        raise ModelError(f"fps is a positive number of frames a second, not {shown(fps)}")
    finite_times = motion.t[np.isfinite(motion.t)]
    if not len(finite_times):
        raise ModelError(f"{motion.name} cannot be drawn: none of its times is finite")
    begin, end = float(finite_times[0]), float(finite_times[-1])
    required = frames or round(abs(end - begin) * (fps or FRAMES_PER_SECOND)) + 1
    if end == begin:
        return np.array([begin]), ("the motion is one instant: there is nothing to play",)
    count = max(required, 2) if fps or frames else min(max(required, 240), USUAL_FRAMES)
    if count > MOST_FRAMES:
        raise ModelError(f"fps= asks for {count:.3g} frames, over {MOST_FRAMES}; ask for fewer a second")
    thinned = count < required and not frames
    note = (f"{count} frames, one every {abs(end - begin) / (count - 1):.3g} s",) if thinned else ()
    return np.linspace(begin, end, count), note


# -- values of the symbols ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _FilmMotion:
    """A motion at the frames: evaluated there, or interpolated from the columns of a loaded one; parameters by name."""

    motion: Any
    times: Array
    is_sampled: bool  # whether `motion` is sampled at `times`

    def first_frames(self, count: int) -> _FilmMotion:
        return replace(self, times=self.times[:count])

    def __getitem__(self, key: Any) -> Array:
        """(k,)"""
        return self._at_frames(self.motion[key])

    def reaction(self, constraint: Any) -> Array:
        return self._at_frames(self.motion.reaction(constraint))

    def _at_frames(self, values: Array) -> Array:
        if self.is_sampled:
            return values[: len(self.times)]
        order = np.argsort(self.motion.t, kind="stable")
        interpolated = lambda column: np.interp(self.times, self.motion.t[order], column[order])
        return interpolated(values) if values.ndim == 1 else np.stack([interpolated(column) for column in values.T], axis=1)

    @property
    def parameters(self) -> dict[str, float]:
        return {str(key): float(value) for key, value in self.motion.parameters.items()}


def _sampled(motion: Any, times: Array) -> tuple[_FilmMotion, tuple[str, ...]]:
    if getattr(motion, "sampler", None) is not None:
        try:
            return _FilmMotion(motion.at(times), times, True), ()
        except AppellError as error:  # the last step of a failed run may not be reproducible
            return _FilmMotion(motion, times, False), (f"drawn through the samples by straight lines ({error})",)
    note = ("drawn through its samples by straight lines",)
    return _FilmMotion(motion, times, False), note if len(motion) > 1 else ()


def _symbol_values(scene: Scene, sampled: _FilmMotion, symbols: Sequence[Any]) -> dict[Any, Any]:
    values: dict[Any, Any] = {}
    parameters = sampled.parameters
    frames = [s for s in symbols if isinstance(s, FrameJet) and not isinstance(s, FrameRate) and s.order == 0]
    values.update(_frame_values(scene.system, sampled, frames) if frames else {})
    for s in symbols:
        if s in values:
            continue
        if s == time:
            values[s] = sampled.times
        elif str(s) in parameters:
            values[s] = parameters[str(s)]
        else:
            values[s] = sampled[s if sampled.is_sampled else str(s)]
    return values


def _frame_values(system: Any, sampled: _FilmMotion, symbols: Sequence[FrameJet]) -> dict[Any, Array]:
    """Entries of positions and rotations of the frames of a tree, from one pass over its joints."""
    assert isinstance(system, TreeSystem)
    tree, k = system.tree, len(sampled.times)
    q = [sampled[c if sampled.is_sampled else str(c)] for c in system.coordinates]
    bodies = poses(tree.layout, q)
    values: dict[Any, Array] = {}
    for s in symbols:
        frame = tree.frames[s.frame]
        pose = bodies[frame.node].at(tree.layout.links[frame.node].frame.inverse @ frame.placement)
        row = AXES.index(s.entry) if len(s.entry) == 1 else None
        entry = pose.p[row] if row is not None else pose.R[AXES.index(s.entry[-2])][AXES.index(s.entry[-1])]
        values[s] = np.broadcast_to(np.asarray(entry, dtype=float), (k,))
    return values


def _values(scene: Scene, sampled: _FilmMotion) -> list[dict[str, Array]]:
    """Every part of every item as numbers, (k, …)."""
    flat = [e for parts in scene.parts for value in parts.values() for e in _leaves(value)]
    symbols = _symbol_values(scene, sampled, sorted(set().union(*(e.free_symbols for e in flat)) if flat else (), key=str))
    function = evaluator(scene, tuple(symbols))
    with np.errstate(all="ignore"):
        columns = iter(function(*symbols.values()))
    k = len(sampled.times)
    values = []
    for parts in scene.parts:
        numbers = {}
        for name, value in parts.items():
            leaves = [np.broadcast_to(np.asarray(next(columns), dtype=float), (k,)) for _ in _leaves(value)]
            numbers[name] = np.stack(leaves, axis=-1).reshape(k, *_shape(value))
        values.append(numbers)
    return values


def evaluator(scene: Scene, symbols: tuple[Any, ...]) -> Any:
    """All expressions of a scene as one function of arrays, built once for a scene."""
    evaluators = scene.__dict__.setdefault("_evaluators", {})
    if symbols not in evaluators:
        flat = [e for parts in scene.parts for value in parts.values() for e in _leaves(value)]
        evaluators[symbols] = numeric_function(symbols, flat, cse=True)
    return evaluators[symbols]


def _leaves(value: Any) -> list[Any]:
    return [leaf for entry in value for leaf in _leaves(entry)] if isinstance(value, list) else [value]


def _shape(value: Any) -> tuple[int, ...]:
    return (len(value), *_shape(value[0])) if isinstance(value, list) else ()


def _flat_columns(numbers: Mapping[str, Array], k: int) -> Array:
    return np.column_stack([v.reshape(k, -1) for v in numbers.values()]) if numbers else np.zeros((k, 0))


# -- shapes ------------------------------------------------------------------------------------------------------------


POSITIONS = ("p", "a", "b")
VECTORS = ("v", "e", "e_1", "e_2")


def _assembled(scene: Scene, name: str, times: Array, values: list[Any], sampled: _FilmMotion, notes: tuple[str, ...]) -> Film:
    turn, flat = TURNS[scene.view], scene.view != "space"
    turned = [{n: _turned(n, v, turn) for n, v in numbers.items()} for numbers in values]
    reach, size = _extent(scene, turned)
    surface = lambda position, ranges: _surface(scene, sampled, position, ranges) @ turn.T
    shapes: list[Shape] = []
    for item, numbers in zip(scene.items, turned, strict=True):
        shapes += item.shapes(Numbers(numbers, size, flat, reach, sampled.reaction, surface))
    if flat:
        shapes = [_silhouette(s) if isinstance(s, Solid) else s for s in shapes]
    shapes = _in_proportion(shapes, size)
    shapes.sort(key=lambda s: 0 if isinstance(s, Track) else 2 if isinstance(s, TextLabel) else 1)
    framed, left_out = _shapes_to_frame(shapes)
    low, high = bounds(framed)
    notes = (*notes, f"{', '.join(left_out)} leaves the picture, which keeps to the rest") if left_out else notes
    return Film(name, times, tuple(shapes), flat, low, high, tuple(dict.fromkeys(notes)))


FAR_AWAY = 5.0
"""A part of a scene is left out of the picture beyond this multiple of the extent of all others."""
MOST_OF_ALL = 0.6
"""Fraction of the shapes that must stay together before the others are left out."""


def _shapes_to_frame(shapes: list[Shape]) -> tuple[list[Shape], list[str]]:
    """The shapes that the picture is framed for, and the names of those that move far away from all others: a finger that flies
    off would make the robot a speck."""
    points = [np.vstack(p) if (p := _points(s)) else None for s in shapes]
    placed = [(s, p) for s, p in zip(shapes, points, strict=True) if p is not None and len(p)]
    if len(placed) < 5:
        return shapes, []
    middle = np.median([p[0] for _, p in placed], axis=0)  # at the first frame
    reach = np.array([float(np.linalg.norm(p - middle, axis=1).max()) for _, p in placed])
    order = np.argsort(reach)
    fewest = int(np.ceil(MOST_OF_ALL * len(order)))
    jumps = [k for k in range(fewest, len(order)) if reach[order[k]] > FAR_AWAY * reach[order[k - 1]] > 0]
    if not jumps:
        return shapes, []
    far_away = {id(placed[k][0]) for k in order[jumps[0] :]}
    names = [str(name) for s in shapes if id(s) in far_away and (name := getattr(s, "name", ""))]
    return [s for s in shapes if id(s) not in far_away], list(dict.fromkeys(names)) or ["what flies off"]


PICTURE_PIXELS = 400.0
"""Approximate size of the largest side of a scene in a picture, pixels."""


def _in_proportion(shapes: list[Shape], size: float) -> list[Shape]:
    """Dots and bars, whose sizes are in pixels, made small enough that even short links between them stay visible."""
    links = [s for s in shapes if isinstance(s, Polyline) and s.points.shape[1] == 2 and not s.dashed]
    if not links or not size > 0:
        return shapes
    lengths = [float(np.linalg.norm(s.points[0, 1] - s.points[0, 0])) for s in links]
    pixels = PICTURE_PIXELS * float(np.median(lengths)) / size
    radius, width = max(1.8, 0.3 * pixels), max(1.2, 0.35 * pixels)
    small = lambda s: (
        replace(s, radius=min(s.radius, radius)) if isinstance(s, Dot)
        else replace(s, width=min(s.width, width)) if isinstance(s, Polyline) and s.cased else s
    )  # fmt: skip
    return [small(s) for s in shapes]


def _silhouette(solid: Solid) -> Solid:
    """In a flat scene, the solid with the front outline of its convex hull, if it only rotates in the plane."""
    if not solid.mesh.outlines or not np.allclose(np.abs(solid.R[:, 2, 2]), np.abs(solid.R[0, 2, 2])):
        return solid
    R = solid.R[0]
    rotated = solid.mesh.vertices @ R.T
    hull = rotated[ConvexHull(rotated[:, :2]).vertices] * [1, 1, 0]
    return replace(solid, mesh=replace(solid.mesh, outlines=(hull @ R,)))


def _turned(name: str, v: Array, turn: Array) -> Array:
    if name in POSITIONS or name in VECTORS:
        return v @ turn.T
    return turn @ v if name == "R" else v


def _surface(scene: Scene, sampled: _FilmMotion, position: Sequence[Any], values: Mapping[Any, Array]) -> Array:
    entries = [symbolic(x, "a point of a surface") for x in position]
    table = {**values, time: float(sampled.times[0]), **{p: sampled.parameters[str(p)] for p in scene.system.parameters}}
    symbols = sorted(set().union(*(e.free_symbols for e in entries)), key=str)
    columns = numeric_function(symbols, entries)(*(table[s] for s in symbols))
    count = len(next(iter(values.values())))
    points = [np.broadcast_to(np.asarray(c, dtype=float), (count,)) for c in columns]
    return np.stack([*points, *[np.zeros(count)] * (3 - len(points))], axis=1)


def _extent(scene: Scene, values: list[Any]) -> tuple[Array, float]:
    """Corners (2, 3) of the places of all items, walls only near the other items; and the largest side, m."""
    walls = [isinstance(item, Wall) for item in scene.items]
    standing = [numbers for numbers, wall in zip(values, walls, strict=True) if not wall]
    positions = [numbers[n].reshape(-1, 3) for numbers in standing for n in POSITIONS if n in numbers]
    points = np.vstack(positions) if positions else np.zeros((1, 3))
    corners = np.stack([points.min(axis=0), points.max(axis=0)])
    radii = [
        float(numbers[n].max())
        for numbers in values
        for n in ("radius", "sizes", "length")
        if n in numbers and numbers[n].size
    ]
    size = max(float(np.ptp(corners, axis=0).max()), 2 * max(radii, default=0.0))
    for numbers, wall in zip(values, walls, strict=True):
        if wall:
            p, e = numbers["p"][0], numbers["e"][0] / max(float(np.linalg.norm(numbers["e"][0])), 1e-300)
            foot = corners.mean(axis=0) + ((p - corners.mean(axis=0)) @ e) * e
            plate = np.vstack([foot, numbers["p"] - p + foot]) if len(numbers["p"]) > 1 else foot[None]
            corners = np.stack([np.minimum(corners[0], plate.min(axis=0)), np.maximum(corners[1], plate.max(axis=0))])
            size = max(size, float(np.ptp(corners, axis=0).max()))
    return corners, size or 1.0


def bounds(shapes: Sequence[Shape]) -> tuple[Array, Array]:
    """Corners of a box that contains all shapes at all frames, except faint plates."""
    points = [p for shape in shapes for p in _points(shape)]
    if not points:
        return -np.ones(3), np.ones(3)
    stacked = np.vstack(points)
    return stacked.min(axis=0), stacked.max(axis=0)


def _points(shape: Shape) -> list[Array]:
    if isinstance(shape, Solid):
        if shape.opacity < 0.2 and len(shape.mesh.triangles) == 2:  # the ground is unbounded
            return []
        k = max(len(shape.p), len(shape.R), len(shape.stretch))
        pick = np.unique(np.linspace(0, k - 1, min(k, 120)).astype(int))
        low, high = shape.mesh.vertices.min(axis=0), shape.mesh.vertices.max(axis=0)
        corner = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
        picked = lambda a: a[np.minimum(pick, len(a) - 1)]
        scaled = corner[None] * np.stack([np.ones(len(pick)), np.ones(len(pick)), picked(shape.stretch)], axis=1)[:, None]
        return [(np.einsum("kij,knj->kni", picked(shape.R), scaled) + picked(shape.p)[:, None]).reshape(-1, 3)]
    if isinstance(shape, Polyline):
        return [shape.points.reshape(-1, 3)]
    if isinstance(shape, Shaft):
        return [shape.p, shape.p + shape.v]
    if isinstance(shape, Dot | Track | TextLabel):
        return [shape.p]
    return []


__all__ = ["Film", "film", "frame_times"]
