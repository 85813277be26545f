"""A mode as data: which faces are held, which lie there without a load, and which are free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FREE, HELD, ASLEEP = range(3)
"""What guards a face: its distance g, its reaction Λ, nothing (it lies on g = 0 wherever the held ones do)."""


@dataclass(frozen=True)
class Mode:
    """Faces in contact that bear a load, `rank` of them independent; faces asleep; whether impacts are done by the caller."""

    held: tuple[int, ...] = ()
    asleep: tuple[int, ...] = ()
    rank: int = 0
    blows_outside: bool = False

    def states(self, faces: int) -> NDArray[np.intc]:
        """FREE, HELD or ASLEEP of each face, (faces + 1,)."""
        found = np.zeros(faces + 1, dtype=np.intc)
        if self.held or self.asleep:
            found[list(self.held)], found[list(self.asleep)] = HELD, ASLEEP
        return found


FLIGHT = Mode()
