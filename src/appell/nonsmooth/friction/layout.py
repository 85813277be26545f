"""Rows of a system with friction, and the numbers that say a mode."""

from __future__ import annotations

from dataclasses import dataclass

from appell.model import System
from appell.normal_form import NormalForm


@dataclass(frozen=True)
class Layout:
    """Rows: `m` constraints, `faces`, then the parts of the frictions; and where the frictions stand among them."""

    m: int
    faces: int
    parts: tuple[int, ...]  # 1 or 2 of each friction
    normals: tuple[int | None, ...]  # row that presses on it
    smooth: tuple[bool, ...]  # regularised

    @staticmethod
    def of(system: System, form: NormalForm) -> Layout:
        first = {"constraint": 0, "face": form.m}
        return Layout(
            form.m,
            len(system.unilateral),
            tuple(fr.parts for fr in system.frictions),
            tuple(None if n is None else first[n[0]] + n[1] for n in system.normals),
            tuple(fr.regularise is not None for fr in system.frictions),
        )

    @property
    def count(self) -> int:
        """Number of frictions."""
        return len(self.parts)

    @property
    def rows(self) -> int:
        return self.m + self.faces + sum(self.parts)

    def columns(self, i: int) -> slice:
        """The parts of friction i among all parts."""
        first = sum(self.parts[:i])
        return slice(first, first + self.parts[i])

    def own_rows(self, i: int) -> list[int]:
        """The rows of friction i."""
        return [self.m + self.faces + k for k in range(*self.columns(i).indices(sum(self.parts)))]

    def face_of(self, i: int) -> int | None:
        """The face that presses on friction i, if it is one."""
        row = self.normals[i]
        return None if row is None or row < self.m else row - self.m

    @property
    def data(self) -> int:
        """Numbers that say a mode: act (rows), slide, sign, fixed (frictions), direction (parts)."""
        return self.rows + 3 * self.count + sum(self.parts)


__all__ = ["Layout"]
