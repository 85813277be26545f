"""The result of a robot reader: joints, shapes of links, and notes on what is not used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.tree.description import Joint
from appell.tree.fittings import Fitting
from appell.tree.inertia import HERE, Placement


@dataclass(frozen=True, eq=False)
class LinkShape:
    """A shape fixed to a link, for drawing.

    Parameters
    ----------
    link: the link to whose frame it is fixed.
    kind: "box" (three sides), "sphere" (radius), "cylinder" (radius, length along z), "capsule" (radius, length of its
        cylinder along z), "ellipsoid" (three half axes), "mesh" (a file, with three scales) or "triangles"; m.
    size: the numbers of the kind.
    placement: in the frame of the link.
    colour: #rrggbb, or None.
    file: of a mesh, as the description writes it.
    vertices, triangles: (n, 3), m, and indices (k, 3), of triangles contained in the description.
    collision: whether it replaces a shape of the link that cannot be drawn.
    problem: why it cannot be drawn, "" where it can.
    """

    link: str
    kind: str
    size: tuple[float, ...] = ()
    placement: Placement = HERE
    colour: str | None = None
    file: str = ""
    vertices: NDArray[np.float64] | None = None
    triangles: NDArray[np.int_] | None = None
    collision: bool = False
    problem: str = ""


@dataclass(frozen=True, eq=False)
class Robot:
    """The joints of a description, parents first.

    shapes: of links, in the order of the description. notes: on what is not used. gravity: m/s², where the description gives
    it.
    fittings: stops, damping, friction and so on that act in motions.
    """

    name: str
    joints: Sequence[Joint]
    notes: Sequence[str] = ()
    shapes: Sequence[LinkShape] = ()
    gravity: tuple[float, float, float] | None = None
    fittings: Sequence[Fitting] = ()


__all__ = ["LinkShape", "Robot"]
