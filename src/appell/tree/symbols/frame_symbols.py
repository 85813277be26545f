"""Frames of a tree as symbols, for residuals, forces and evaluation along motions.

    position p, rotation R (frame → world), velocity ṗ, angular velocity ω with Ṙ = [ω×] R, all on the world's axes

Nothing is expanded: each entry is one symbol, and only the graph has its value (`appell.tree.symbols.lowering`). A point r
fixed to a frame is at p + R r, and its velocity is ṗ + ω × R r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sympy import ImmutableMatrix, Integer, Matrix, nan, oo, zeros, zoo

from appell.errors import ModelError
from appell.jets import DerivedJet, expression
from appell.reading import items_of, reals, shown
from appell.spelling import checked_keywords
from appell.tree.inertia import from_rpy

AXES = "xyz"


class FrameJet(DerivedJet):
    """An entry of p or R of a frame: its name is `frame.x` or `frame.R_xy`. Dots are derivatives along the motion."""

    __slots__ = ()
    base_level = 0

    @property
    def frame(self) -> str:
        """The name of the frame."""
        return self.letter.rsplit(".", 1)[0]

    @property
    def entry(self) -> str:
        """Which entry: x, R_xy, omega_x."""
        return self.letter.rsplit(".", 1)[1]


class FrameRate(FrameJet):
    """An entry of ω of a frame, `frame.omega_x`."""

    __slots__ = ()
    base_level = 1


@dataclass(frozen=True)
class FrameSymbols:
    """A frame of a tree in symbols; `tree.frame(name)` makes it.

    position: p, (3, 1), m; rotation: R, (3, 3); velocity: ṗ, (3, 1), m/s; angular_velocity: ω, (3, 1), rad/s; on the
    world's axes. base: the named frame that it is fixed to; offset: (R, p) on it in numbers, None where it is that frame;
    in_symbols: the symbols in its point, if any.
    """

    name: str
    position: ImmutableMatrix
    rotation: ImmutableMatrix
    velocity: ImmutableMatrix
    angular_velocity: ImmutableMatrix
    base: str = ""
    offset: tuple[Any, Any] | None = field(default=None, compare=False)
    in_symbols: str = ""

    @staticmethod
    def of(name: str) -> FrameSymbols:
        """The symbols of a frame that moves."""
        p = [FrameJet(f"{name}.{i}") for i in AXES]
        R = [[FrameJet(f"{name}.R_{i}{j}") for j in AXES] for i in AXES]
        omega = [FrameRate(f"{name}.omega_{i}") for i in AXES]
        return FrameSymbols(name, *map(ImmutableMatrix, (p, R, [x.d for x in p], omega)), base=name)

    @staticmethod
    def ground(name: str, R: Any, p: Any) -> FrameSymbols:
        """A frame that does not move: numbers."""
        columns = [Matrix(np.asarray(x).tolist()) for x in (p, R)]
        return FrameSymbols(name, *map(ImmutableMatrix, (*columns, zeros(3, 1), zeros(3, 1))), base=name)

    def axis(self, direction: Sequence[Any] | str) -> Matrix:
        """R e, (3, 1): a direction fixed in the frame, by its components or as "x", "y", "z"."""
        return self.rotation * vector(direction, f"a direction of frame '{self.name}'")

    @checked_keywords()
    def at(self, xyz: Sequence[Any] = (0, 0, 0), rpy: Sequence[float] = (0, 0, 0), *, name: str | None = None) -> FrameSymbols:
        """The frame fixed to this one at xyz (m; numbers or parameters), turned by roll, pitch, yaw (rad)."""
        point, turn = vector(xyz, f"a point of frame '{self.name}'"), from_rpy(rpy)
        arm = self.rotation * point
        R, p = (np.eye(3), np.zeros(3)) if self.offset is None else self.offset
        symbols = self.in_symbols or ", ".join(sorted(map(str, point.free_symbols)))
        offset = None if symbols else (R @ turn, p + R @ reals(point.flat(), f"a point of frame '{self.name}'"))
        turned = Matrix([[int(x) if x == int(x) else x for x in row] for row in turn.tolist()])
        return FrameSymbols(
            name or self.name,
            ImmutableMatrix(self.position + arm),
            ImmutableMatrix(self.rotation * turned).applyfunc(lambda x: Integer(0) if x.is_Float and abs(x) < 1e-15 else x),
            ImmutableMatrix(self.velocity + self.angular_velocity.cross(arm)),
            self.angular_velocity,
            self.base,
            offset,
            symbols,
        )


def vector(given: Sequence[Any] | str, what: str) -> Matrix:
    """Three scalars as a column; "x", "y", "z" are unit vectors."""
    if isinstance(given, str):
        if given not in ("x", "y", "z"):
            raise ModelError(f"{what} is {shown(given)}; write 'x', 'y', 'z' or three components")
        return Matrix([int(given == i) for i in AXES])
    try:
        entries = items_of(given, what)
    except ModelError:
        raise ModelError(f"{what} has three components, [x, y, z]; it is {shown(given)}") from None
    if len(entries) != 3:
        raise ModelError(f"{what} has {len(entries)} components, not 3")
    column = Matrix([expression(x, what) for x in entries])
    if column.has(nan, oo, -oo, zoo):
        raise ModelError(f"{what} is not finite: {shown(entries)}")
    return column
