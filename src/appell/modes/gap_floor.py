"""The smallest distance that a run distinguishes from zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.modes.contact_thresholds import GAP_FLOOR

Array = NDArray[np.float64]


def floor_of(atol: Array, nq: int) -> float:
    """The finest distance that matters, per unit of its normal: a fraction of the atol of the coordinates; atol (nz,)."""
    return GAP_FLOOR * float(atol[:nq].min(initial=np.inf)) if nq else GAP_FLOOR * float(atol.min())


__all__ = ["floor_of"]
