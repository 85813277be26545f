"""From metres to pixels: a camera around a target, or a plane seen from the front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from appell.scene.film import Film

Array = NDArray[np.float64]

ANGLE = 0.6
"""Vertical field of view of the camera, rad."""
AZIMUTH, ELEVATION = -0.95, 0.42
"""Default position of the camera, rad: to the right of the y axis, slightly above."""
PICTURE_MARGIN = 0.08
"""Margin at each side of a flat picture, as a fraction."""


@dataclass(frozen=True, eq=False)
class Camera:
    """Looks from `target` + distance (cos ε cos α, cos ε sin α, sin ε) at the target; z is up. Angles in rad, lengths in m."""

    target: Array
    distance: float
    azimuth: float = AZIMUTH
    elevation: float = ELEVATION
    angle: float = ANGLE

    @staticmethod
    def on(film: Film, aspect: float) -> Camera:
        """The default camera, as near as possible with the whole film in a picture of this width/height."""
        middle, size = (film.low + film.high) / 2, float(np.linalg.norm(film.high - film.low)) or 1.0
        corner = np.array([[x, y, z] for x in (film.low[0], film.high[0]) for y in (film.low[1], film.high[1])
                           for z in (film.low[2], film.high[2])])  # fmt: skip
        camera = Camera(middle, 2 * size)
        projected = (corner - middle) @ camera.axes.T  # right, up, towards the camera
        distances = np.maximum(np.abs(projected[:, 0]) / aspect, np.abs(projected[:, 1])) / np.tan(ANGLE / 2) + projected[:, 2]
        return Camera(middle, 1.08 * float(distances.max()))

    @property
    def axes(self) -> Array:
        """Rows: right, up, towards the camera."""
        a, e = self.azimuth, self.elevation
        towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        return np.array([right, np.cross(towards, right), towards])

    def pixels(self, points: Array, width: int, height: int) -> Array:
        """(n, 3): pixels from the left, pixels from the top, distance from the camera in m."""
        projected = (points - self.target) @ self.axes.T
        depth = np.maximum(self.distance - projected[:, 2], 1e-9 * self.distance)
        scale = height / (2 * np.tan(self.angle / 2)) / depth
        return np.column_stack([width / 2 + scale * projected[:, 0], height / 2 - scale * projected[:, 1], depth])


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane of the picture, `scale` pixels per metre about `middle`."""

    middle: Array
    scale: float

    @staticmethod
    def on(film: Film, width: int, height: int) -> Plane:
        """The plane at the largest scale that shows the whole film."""
        extent = np.maximum(film.high - film.low, 1e-9 * max(float(np.abs(film.high).max()), 1.0))
        usable = 1 - 2 * PICTURE_MARGIN
        return Plane((film.low + film.high) / 2, float(min(usable * width / extent[0], usable * height / extent[1])))

    def pixels(self, points: Array, width: int, height: int) -> Array:
        """(n, 3): pixels from the left, pixels from the top, 0."""
        projected = (points - self.middle) * self.scale
        return np.column_stack([width / 2 + projected[:, 0], height / 2 - projected[:, 1], np.zeros(len(points))])


__all__ = ["Camera", "Plane"]
