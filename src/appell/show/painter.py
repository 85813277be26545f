"""One frame of a film as a picture, drawn by matplotlib's Agg without figures and axes: a few milliseconds per frame.

Flat films are drawn as in a textbook; spatial solids from back to front, lit from above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray

from appell.scene.film import Film
from appell.scene.shapes import Array, Dot, Polyline, Shaft, Solid, TextLabel, Track
from appell.show.camera import Camera, Plane

LIGHT = np.array([0.35, -0.5, 0.8]) / np.linalg.norm([0.35, -0.5, 0.8])
INKS = {"ink": "#1d2430", "grey": "#8a8f98"}
PAPER = "#ffffff"


@dataclass(frozen=True, eq=False)
class Stroke:
    """A polygon or polyline in pixels, at a depth: nearer ones are drawn later."""

    depth: float
    points: Array
    edge: Any = None
    width: float = 1.0
    fill: Any = None
    closed: bool = False
    dashed: bool = False
    alpha: float = 1.0


@dataclass(eq=False)
class Painter:
    """Pictures of a film, width × height pixels; `view` is a `Camera` or `Plane`."""

    film: Film
    width: int = 720
    height: int = 540
    view: Any = None
    trail: bool = True
    clock: bool = True
    _strokes: list[Stroke] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.view is None:
            w, h = self.width, self.height
            self.view = Plane.on(self.film, w, h) if self.film.flat else Camera.on(self.film, w / h)

    def pixels(self, points: Array) -> Array:
        """(n, 2): pixel coordinates of points in space (m), from the upper left corner."""
        return self.view.pixels(np.atleast_2d(points), self.width, self.height)[:, :2]

    def frame(self, k: int) -> NDArray[np.uint8]:
        """The k-th frame as RGB, (height, width, 3)."""
        renderer = RendererAgg(self.width, self.height, 72)
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * [self.width, self.height]
        self._draw(renderer, Stroke(0, corners, fill=to_rgb(PAPER), closed=True))
        self._strokes = []
        labels: list[tuple[TextLabel, Array]] = []
        for shape in self.film.shapes:
            if isinstance(shape, TextLabel):
                labels.append((shape, self._project(_of_frame(shape.p, k))[0]))
            else:
                PAINTERS[type(shape)](self, shape, k)
        for stroke in self._strokes if self.film.flat else sorted(self._strokes, key=lambda s: -s.depth):
            self._draw(renderer, stroke)
        for shape, position in labels:
            self._text(renderer, position[0] + 6, position[1] + 4, shape.text, shape.colour)
        if self.clock:
            self._text(renderer, 12, self.height - 12, f"t = {self.film.t[k]:.2f} s", "grey")
        return np.asarray(renderer.buffer_rgba())[:, :, :3].copy()

    def _project(self, points: Array) -> Array:
        return self.view.pixels(np.atleast_2d(points), self.width, self.height)

    def _draw(self, renderer: RendererAgg, s: Stroke) -> None:
        gc = renderer.new_gc()
        gc.set_linewidth(s.width if s.edge is not None else 0)
        gc.set_capstyle("round")
        gc.set_joinstyle("round")
        gc.set_alpha(s.alpha)
        if s.edge is not None:
            gc.set_foreground(s.edge)
        if s.dashed:
            gc.set_dashes(0, [5, 4])
        path = Path(np.vstack([s.points[:, :2], s.points[:1, :2]]), closed=True) if s.closed else Path(s.points[:, :2])
        flip = Affine2D.from_values(1, 0, 0, -1, 0, self.height)
        fill = (*s.fill, s.alpha) if s.fill is not None else None
        renderer.draw_path(gc, path, flip, fill)
        gc.restore()

    def _text(self, renderer: RendererAgg, x: float, y: float, text: str, colour: str) -> None:
        gc = renderer.new_gc()
        gc.set_foreground(ink(colour))
        renderer.draw_text(gc, x, y, text.replace("$", r"\$"), FontProperties(family="STIXGeneral", size=15), 0, ismath=False)
        gc.restore()

    # -- shapes --------------------------------------------------------------------------------------------------------

    def _line(self, line: Polyline, k: int) -> None:
        projected = self._project(_of_frame(line.points, k))
        colour, fill = ink(line.colour), ink(line.fill) if line.fill else None
        depth = float(projected[:, 2].mean())
        if line.cased:
            self._strokes.append(Stroke(depth, projected, ink("ink"), line.width))
            self._strokes.append(Stroke(depth, projected, colour, max(line.width - 2.4, 1)))
            return
        self._strokes.append(Stroke(depth, projected, colour, line.width, fill, fill is not None, line.dashed))

    def _dot(self, dot: Dot, k: int) -> None:
        x, y, depth = self._project(_of_frame(dot.p, k))[0]
        angle = np.linspace(0, 2 * np.pi, 25)[:-1]
        ring = np.column_stack([x + dot.radius * np.cos(angle), y + dot.radius * np.sin(angle)])
        fill = to_rgb(PAPER) if dot.open else ink(dot.colour)
        self._strokes.append(Stroke(depth - 1e-3, ring, ink("ink") if dot.open else fill, 1.5, fill, closed=True))

    def _shaft(self, shaft: Shaft, k: int) -> None:
        p, v = _of_frame(shaft.p, k), _of_frame(shaft.v, k)
        a, b = self._project(np.stack([p, p + v]))
        d = b[:2] - a[:2]
        length = float(np.hypot(*d))
        if length < 2:
            return
        direction, normal = d / length, np.array([-d[1], d[0]]) / length
        head = min(11.0, 0.6 * length)
        neck = b[:2] - head * direction
        colour, depth = ink(shaft.colour), float(min(a[2], b[2]))
        tip = np.stack([b[:2], neck + 0.4 * head * normal, neck - 0.4 * head * normal])
        self._strokes.append(Stroke(depth, np.stack([a[:2], neck]), colour, 2.2))
        self._strokes.append(Stroke(depth, tip, None, 0, colour, closed=True))

    def _track(self, track: Track, k: int) -> None:
        if self.trail and k > 0:
            projected = self._project(track.p[: k + 1])
            if self.film.flat:
                self._strokes.append(Stroke(0.0, projected, ink(track.colour), 1.3, alpha=0.8))
                return
            # in sections, so that solids hide those behind them
            for section in np.array_split(projected, max(1, len(projected) // 12)):
                i = int(np.flatnonzero((projected == section[0]).all(axis=1))[0]) if len(section) else 0
                piece = projected[i : i + len(section) + 1]
                self._strokes.append(Stroke(float(piece[:, 2].mean()), piece, ink(track.colour), 1.3, alpha=0.8))

    def _solid(self, solid: Solid, k: int) -> None:
        p, R, stretch = _of_frame(solid.p, k), _of_frame(solid.R, k), float(_of_frame(solid.stretch, k))
        world = lambda points: (points * [1, 1, stretch]) @ R.T + p
        colour = ink(solid.colour)
        if self.film.flat and solid.mesh.outlines:
            for outline in solid.mesh.outlines:
                self._strokes.append(Stroke(0.0, self._project(world(outline)), ink("ink"), 1.2, colour, closed=True))
            for mark in solid.mesh.marks:
                self._strokes.append(Stroke(0.0, self._project(world(mark)), ink("ink"), 1.2))
            return
        vertices = world(solid.mesh.vertices)
        projected = self._project(vertices)
        corners = vertices[solid.mesh.triangles]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normal, axis=1)
        normal /= np.where(length > 0, length, 1)[:, None]
        facing = self._facing(corners, normal)
        bright = 0.62 + 0.38 * np.abs(normal @ LIGHT) * np.where(normal @ LIGHT * np.sign(facing) > 0, 1, -0.4)
        flat = np.array(colour)
        for triangle, light, front in zip(solid.mesh.triangles, bright, facing, strict=True):
            if front <= 0 and solid.opacity == 1:
                continue
            points = projected[triangle]
            shade = np.clip(flat * light, 0, 1)
            edge = shade if solid.opacity == 1 else None
            self._strokes.append(Stroke(float(points[:, 2].mean()), points, edge, 0.6, shade, closed=True, alpha=solid.opacity))
        dark = np.clip(flat * 0.45, 0, 1)
        bias = 0.004 * float(np.abs(self.film.high - self.film.low).max())
        for pair in solid.mesh.edges:
            points = projected[pair]
            alpha = min(1.0, solid.opacity + 0.25)
            self._strokes.append(Stroke(float(points[:, 2].mean()) - bias, points, dark, 0.9, alpha=alpha))

    def _facing(self, corners: Array, normal: Array) -> Array:
        """Positive where a triangle faces the viewer."""
        if isinstance(self.view, Plane):
            return normal[:, 2]
        eye = self.view.target + self.view.distance * self.view.axes[2]
        return ((eye - corners[:, 0]) * normal).sum(axis=1)


PAINTERS: dict[type, Callable[[Painter, Any, int], None]] = {
    Polyline: Painter._line, Dot: Painter._dot, Shaft: Painter._shaft, Track: Painter._track, Solid: Painter._solid,
}  # fmt: skip


def _of_frame(array: Array, k: int) -> Array:
    return array[min(k, len(array) - 1)]


def ink(colour: str) -> tuple[float, float, float]:
    """RGB of a colour, including "ink" and "grey"."""
    return to_rgb(INKS.get(colour, colour))


__all__ = ["Painter", "ink"]
