"""Records near a loss of rank: states with their rows, steps with their slopes, the losses of rank that were found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate._ivp import dop853_coefficients as dop

from appell.rows import RowSpace

Array = NDArray[np.float64]

EPS = float(np.finfo(float).eps)

STAGES = 12
"""Stages of a step of order 8; its dense output needs four more slopes."""

BRANCHES_MEET = 30
"""Multiple of the rounding error up to which saddle values mean that the branches meet."""


class NoPassage(Exception):
    """Raised where the motion cannot be continued; the text says why."""


@dataclass(frozen=True)
class ChangePoint:
    """A change point: its time, its rows, the distance of the branches; on_velocities: rows that vanish with the velocities."""

    time: float
    rows: tuple[str, ...]
    meets: bool
    gap: float
    on_velocities: bool = False


@dataclass(frozen=True, eq=False)
class RankState:
    """A state with its rows and accelerations."""

    t: float
    z: Array
    blocks: dict[str, Array]
    rows: RowSpace
    a: Array
    zd: Array

    @property
    def sigma(self) -> Array:
        return self.rows.svd[1]


@dataclass(frozen=True, eq=False)
class AcceptedStep:
    """An accepted step with its slopes, for states between its ends."""

    start: RankState
    end: RankState
    K: Array

    def at(self, t: float) -> Array:
        """z(t) by the dense output of order 7."""
        h = self.end.t - self.start.t
        x, delta = (t - self.start.t) / h, self.end.z - self.start.z
        F = [delta, h * self.K[0] - delta, 2 * delta - h * (self.K[STAGES] + self.K[0]), *(h * dop.D @ self.K)]
        z = np.zeros_like(delta)
        for i, f in enumerate(reversed(F)):
            z = (z + f) * (x if i % 2 == 0 else 1 - x)
        return self.start.z + z


@dataclass(frozen=True)
class RankLoss:
    """A loss of rank inside a step: t*, combinations of rows that vanish, |c|, its rounding, the rows, σ there."""

    time: float
    vanishing: int
    gap: float
    noise: float
    rows: tuple[str, ...]
    sigma: float

    @property
    def meets(self) -> bool:
        """Whether branches meet: |c| is rounding."""
        return self.gap <= BRANCHES_MEET * self.noise
