"""The guard of rank: rows that are about to lose rank, or have lost it inside a step, hand the run over to `passage`.

With Y = L⁻¹Aᵀ/s (`normal_form.rank`, s frozen at the start) at both ends of a step and σ the last pivot of Y = Q R, a step is
not taken, and the status is RANK, where

    σ falls so fast that it would vanish within six steps, below half of what it was
    Y turned by more than σ, or by more than a right angle, and σ dips inside the step (its dense output is looked at)
    σ is gone, or a combination of rows that was dependent is not any more.

`rank.c.in` is the same in C; `Guard` is its twin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.graph import Fn
from appell.normal_form.rank import RowSpace

Array = NDArray[np.float64]

LOST = 6e-6
"""Share of the largest σ below which accelerations have no digits left."""

RISEN = 1e-7
"""σ of a dependent combination of rows above which it is not dependent any more."""


@dataclass(frozen=True, eq=False)
class _Look:
    Y: Array  # (n, m)
    Q: Array  # (n, r)
    R: Array  # (r, r), Y[:, order] = Q R
    order: NDArray[np.intp]
    sigma: float
    rest: float


class Guard:
    """One run's guard. rows: (t, z, p) → M, A; size: s (m,); rank: r."""

    def __init__(self, rows: Fn, p: Array, size: Array, rank: int):
        self.rows, self.p, self.size, self.rank = rows, p, size, rank
        self.reference, self.quiet = 0.0, np.inf
        self.at: _Look | None = None

    def look(self, t: float, z: Array) -> _Look:
        out = self.rows(t, z, self.p)
        Y = RowSpace.scaled(out["M"], out["A"], self.size).Y
        Q, R, order = scipy.linalg.qr(Y, mode="economic", pivoting=True)
        pivots, r = np.abs(np.diag(R)), self.rank
        rest = float(pivots[r]) if r < len(pivots) else 0.0
        return _Look(Y, Q[:, :r], R[:r, :r], order[:r], float(pivots[r - 1]), rest)

    def start(self, t: float, z: Array) -> None:
        """The guard stands at (t, z)."""
        self.at = self.look(t, z)
        self.reference = max(self.reference, self.at.sigma)

    def alarms(self, t: float, t1: float, z1: Array, dense: Callable[[float], Array]) -> bool:
        """Whether the step from t to (t1, z1) is not to be taken; else the guard stands there."""
        at, end = self.at, self.look(t1, z1)
        assert at is not None
        self.reference = max(self.reference, end.sigma)
        if end.rest > RISEN or end.sigma < LOST * self.reference:
            return True
        if end.sigma < 0.5 * min(self.reference, self.quiet) and 6 * (at.sigma - end.sigma) > end.sigma:
            return True
        if self._turned(at, end):
            ends = min(at.sigma, end.sigma)
            if any(self.look(s, dense(s)).sigma < 0.25 * ends for s in t + np.arange(1, 6) / 6 * (t1 - t)):
                return True
        self.at = end
        return False

    @staticmethod
    def _turned(at: _Look, end: _Look) -> bool:
        if np.linalg.norm(end.Y - at.Y) > min(at.sigma, end.sigma):
            return True
        C = at.Q.T @ np.linalg.solve(at.R.T, end.Y[:, at.order].T).T
        return bool(np.linalg.eigvalsh((C + C.T) / 2).min() < 0.2)
