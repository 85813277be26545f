"""What an ensemble is asked: times, tolerances or a step, a method, what to keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.ensembles.kept import Kept

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Order:
    """From t0 to ends, (runs,) or (1,), by steps of `step`, or with error control where that is None."""

    t0: float
    ends: Array
    rtol: float
    atol: float
    step: float | None
    method: str
    max_step: float
    max_steps: int
    corner: str
    kept: Kept
    scalar: str  # "double" or "float"
    gpu: bool = False

    def end_of(self, run: int) -> float:
        return float(self.ends[run if len(self.ends) > 1 else 0])

    def times_of(self, run: int) -> Array:
        """Requested times of a run, (k,)."""
        times = self.kept.times
        return np.zeros(0) if times is None else times[run] if times.ndim == 2 else times
