"""Rows of a system with friction, and the numbers that encode a mode.

The slip of a friction has one to three components, called parts; a friction with two is called a pair.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.model import System
from appell.model.friction_load import homogeneous, load_of, multipliers_in
from appell.normal_form import NormalForm
from appell.remember import remembered


@dataclass(frozen=True)
class FrictionLayout:
    """The order of rows: `m` constraints, `faces`, then the parts of the frictions."""

    m: int
    faces: int
    parts: tuple[int, ...]  # 1 to 3 of each friction
    normals: tuple[int | None, ...]  # row whose reaction loads it; None for a limit or a load of several rows
    smooth: tuple[bool, ...]  # regularised
    loads: tuple[tuple[int, ...], ...]  # rows that load it together, see `model.friction_load`; () for a single one
    impulsive: tuple[bool, ...]  # whether its load bounds impulses too

    @property
    def count(self) -> int:
        """Number of frictions."""
        return len(self.parts)

    @property
    def rows(self) -> int:
        return self.m + self.faces + sum(self.parts)

    def columns(self, i: int) -> slice:
        """The parts of friction i among all parts."""
        start = sum(self.parts[:i])
        return slice(start, start + self.parts[i])

    def own_rows(self, i: int) -> list[int]:
        """The rows of friction i."""
        return [self.m + self.faces + k for k in range(*self.columns(i).indices(sum(self.parts)))]

    @property
    def loaded(self) -> bool:
        """Whether some friction is loaded by several reactions."""
        return any(self.loads)

    def limited(self, i: int) -> bool:
        """Whether friction i has a limit independent of reactions."""
        return self.normals[i] is None and not self.loads[i]

    def face_of(self, i: int) -> int | None:
        """The face that loads friction i, or None."""
        row = self.normals[i]
        return None if row is None or row < self.m else row - self.m

    @property
    def data(self) -> int:
        """The count of the numbers that encode a mode: act (rows), slide, sign, fixed (frictions), direction (parts)."""
        return self.rows + 3 * self.count + sum(self.parts)


@remembered
def friction_layout(system: System, form: NormalForm) -> FrictionLayout:
    """The layout of a system; made once and remembered."""
    offsets = {"constraint": 0, "face": form.m}
    loads = [load_of(system, i) for i in range(len(system.frictions))]
    rows = {c.multiplier: row for row, c in enumerate(system.constraints)}
    return FrictionLayout(
        form.m,
        len(system.unilateral),
        tuple(fr.parts for fr in system.frictions),
        tuple(None if n is None or n[0] not in offsets else offsets[n[0]] + n[1] for n in system.normals),
        tuple(fr.regularise is not None for fr in system.frictions),
        tuple(tuple(rows[x] for x in multipliers_in(load)) for load in loads),
        tuple(load is not None and homogeneous(load) for load in loads),
    )


__all__ = ["FrictionLayout", "friction_layout"]
