"""Regions of rest positions under dry friction: which states are at rest, and which of them belong to one region.

    v = 0,   a(t, q, 0) = 0  for all t of a period            everything sticks within its cone

Two rest positions are in one region if the states on the straight line between them are at rest as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.analysis.forcing import explicit_time
from appell.compiled.run import Run
from appell.errors import AppellError
from appell.simulate.simulate import simulate

Array = NDArray[np.float64]

BETWEEN = np.linspace(0, 1, 9)[1:-1]
"""Points checked on the line between two rest positions."""


class RestingRegions:
    """The known regions of rest of a run, each represented by one state."""

    def __init__(self, run: Run, period: float, atol: float):
        self.run, self.period, self.atol, self.nq = run, period, 1e-2 * atol, run.system.nq
        self.forced = explicit_time(run)
        self.representatives: list[Array] = []  # a state of each region
        self.negligible_speeds = np.zeros(run.system.nv)  # lower speeds count as rest

    def rests(self, time: float, z: Array) -> bool:
        """Whether a state with zero velocities stays at rest."""
        q, v = z[: self.nq].copy(), np.zeros(len(z) - self.nq)
        try:
            if self.forced:
                symbols = (*self.run.system.positions, *self.run.system.velocities)
                start = dict(zip(symbols, map(float, [*q, *v]), strict=True))
                motion = simulate(self.run, start, time + self.period, since=time, atol=self.atol)
                return motion.ok and bool((np.abs(motion.v) <= self.negligible_speeds).all())
            a = np.abs(self.run.acceleration(time, q, v)[0])
        except AppellError:
            return False
        return bool((a * self.period <= self.negligible_speeds).all())

    def index_of(self, time: float, z: Array) -> int:
        """The index of the region of a rest position; a new one if it belongs to none."""
        for k, representative in enumerate(self.representatives):
            if all(self.rests(time, representative + share * (z - representative)) for share in BETWEEN):
                return k
        self.representatives.append(z)
        return len(self.representatives) - 1


__all__ = ["RestingRegions"]
