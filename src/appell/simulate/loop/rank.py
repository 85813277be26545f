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
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.graph import Fn
from appell.normal_form.rank import RowSpace

Array = NDArray[np.float64]

PATIENCE = 5
"""Rows are looked at once in so many steps and one, at least."""

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
        self.still = False
        self.t, self.span, self.steps = 0.0, 0.0, 0  # when rows were looked at, for how long that is enough, steps since then

    def look(self, t: float, z: Array) -> _Look:
        out = self.rows(t, z, self.p)
        Y = RowSpace.scaled(out["M"], out["A"], self.size).Y
        factors: Any = scipy.linalg.qr(Y, mode="economic", pivoting=True)
        Q, R, order = factors
        pivots, r = np.abs(np.diag(R)), self.rank
        rest = float(pivots[r]) if r < len(pivots) else 0.0
        return _Look(Y, Q[:, :r], R[:r, :r], order[:r], float(pivots[r - 1]), rest)

    def start(self, t: float, z: Array) -> None:
        """The guard stands at (t, z)."""
        self.at, self.t = self.look(t, z), t
        self.reference = max(self.reference, self.at.sigma)

    def alarms(self, t: float, t1: float, z1: Array, dense: Callable[[float], Array]) -> bool:
        """Whether the step from t to (t1, z1) is not to be taken. Rows that turn slowly are looked at every few steps."""
        if abs(t1 - self.t) < self.span and self.steps < (10 * PATIENCE if self.still else PATIENCE):
            self.steps += 1
            return False
        at, end, passed, h = self.at, self.look(t1, z1), abs(t1 - self.t), abs(t1 - t)
        assert at is not None
        change, ends = float(np.linalg.norm(end.Y - at.Y)), min(at.sigma, end.sigma)
        self.reference = max(self.reference, end.sigma)
        if end.rest > RISEN or end.sigma < LOST * self.reference:
            return True
        if end.sigma < 0.5 * min(self.reference, self.quiet) and 6 * (at.sigma - end.sigma) * h > passed * end.sigma:
            return True
        between: list[float] = []
        if change > ends or self._turned(at, end):
            between = [self.look(s, dense(s)).sigma for s in t + np.arange(1, 6) / 6 * (t1 - t)]
            if min(between) < 0.4 * ends:
                return True
        calm = bool(between) and min(*between, ends) > 0.9 * max(between)  # rows that turn and keep their distance
        self.still = calm and min(*between, ends) > (1 - 1e-9) * max(between)  # that cannot do otherwise: a blade on a plane
        span = (10 if self.still else 1) * PATIENCE * h if calm else 0.25 * end.sigma * passed / (change + 1e-300)
        self.span = 0.0 if end.sigma < 0.3 * self.reference else span
        self.at, self.t, self.steps = end, t1, 0
        return False

    @staticmethod
    def _turned(at: _Look, end: _Look) -> bool:
        C = at.Q.T @ np.linalg.solve(at.R.T, end.Y[:, at.order].T).T
        return bool(np.linalg.eigvalsh((C + C.T) / 2).min() < 0.2)
