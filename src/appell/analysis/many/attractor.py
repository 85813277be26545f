"""An attractor: what a motion approaches, as `basin` finds it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.orbit import Orbit

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Attractor:
    """An attractor of a system: an equilibrium, a closed orbit, a chaotic set, or a region in which friction holds every state.

    Attributes
    ----------
    points: (m, nq + nv), its states once a period, SI; samples for a limit cycle, an attractor without a period, and a region
    in which friction holds every state.
    period: m T, or that of the cycle, s; None if it has none.
    orbit: the closed orbit with its multipliers, None if there is none (chaos, or rest in contact).
    share: fraction of all starts that end there. still: whether it is at rest.
    """

    points: Array
    period: float | None
    orbit: Orbit | None
    share: float = 0.0
    still: bool = False

    @property
    def kind(self) -> str:
        """ "rest", "period 3" and the like, "limit cycle" (of an autonomous system), or "not periodic"."""
        if self.still:
            return "rest"
        if self.orbit is not None and self.orbit.autonomous:
            return "limit cycle"
        return "not periodic" if self.period is None else f"period {len(self.points)}"

    def __str__(self) -> str:
        return f"{self.kind}, {100 * self.share:.3g} % of the starts"


__all__ = ["Attractor"]
