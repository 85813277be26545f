"""A mode as data: which faces are held, which lie there without a load, and which are free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.nonsmooth.contact.contact_thresholds import FLOOR

FREE, HELD, ASLEEP = range(3)
"""What guards a face: its distance g, its reaction Λ, nothing (it lies on g = 0 wherever the held ones do)."""


@dataclass(frozen=True)
class ContactMode:
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

    def weights(self, atol: NDArray[np.float64]) -> NDArray[np.float64]:
        """atol of a state whose last entry is the work of all forces, (nz,): infinite for that in contact.

        Reactions do no work on faces at rest. What is left of their power inside a step is rounding, or an error of the
        velocities times a reaction, which no tolerance of an energy near zero could meet.
        """
        if not self.held:
            return atol
        found = atol.copy()
        found[-1] = np.inf
        return found


FLIGHT = ContactMode()


def floor_of(atol: NDArray[np.float64], nq: int) -> float:
    """No distance is meant to be finer, per unit of its normal: a share of the atol of the coordinates, atol (nz,)."""
    return FLOOR * float(atol[:nq].min(initial=np.inf)) if nq else FLOOR * float(atol.min())
