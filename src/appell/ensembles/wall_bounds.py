"""C source of bounds inside the steps of lanes: of distances from walls, and of the reactions of closed faces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.roots.interval_text import finder_text, interval_text, isolate_text

if TYPE_CHECKING:
    from appell.ensembles.lane_program import WallFunctions

LANE_HALVINGS = 64
"""Most bisections for a reaction in one step before the run is handed over: kernels have little memory."""


def wall_bounds_text(walls: WallFunctions, nz: int, degree: int, *, holds: bool) -> list[str]:
    """The source for states of nz numbers and steps of a degree; holds: whether lanes handle contact."""
    reactions = walls.reactions if holds else None
    sources = [interval_text(), finder_text(walls.shapes, nz, degree, range(walls.followed) if reactions else ())]
    sizes = {"BOUND_PARTS": 4 * LANE_HALVINGS, "LANE_HALVINGS": LANE_HALVINGS, "LANE_BOUNDS": int(reactions is not None)}
    sources += [f"#define {name} {value}" for name, value in sizes.items()]
    return [*sources, isolate_text(reactions)] if reactions else sources


__all__ = ["wall_bounds_text"]
