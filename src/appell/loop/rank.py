"""The rank guard: where rows are about to lose rank, or lost it inside a step, the run is handed over to `passage`.

Let Y = L⁻¹Aᵀ/s (`rows.row_space`, s frozen at the start) at both ends of a step, and σ the smallest pivot of Y = Q R. A step is
refused with the status RANK if

    σ falls so fast that it would vanish within six steps, and is below half its earlier value;
    Y turned by more than σ, or by more than a right angle, and does so again between states inside the step, or σ dips there;
        at the speed that they had, rows may turn all the way round in a step, so there are enough of these states to see it;
    σ is so small that steps would soon follow the noise of accelerations, ε/σ³;
    σ is zero, or a dependent combination of rows has become independent.

Independent rows are factorised as sparse rows without pivoting (`normal_form.sparse_rows`), redundant ones with pivoting.
Rows count as turned by a right angle where (Y_aᵀY_b + Y_bᵀY_a)/2 − `RIGHT_ANGLE` Y_aᵀY_a is not positive definite.

The inequalities and their numbers are in `rank_criteria`. `rank.c.in` asks the same in C, but examines rows that turn slowly,
or keep their volume, the product of all pivots, while they turn, only every few steps. If they then turn out to have moved
unexpectedly, the run goes back to the last examination. `RankGuard`, its Python twin, examines every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.loop.rank_criteria import (
    MOST_PARTS_OF_STEP,
    PARTS_OF_TURNING_STEP,
    RANK_PROBE,
    RIGHT_ANGLE,
    rank_digits_lost,
    rank_dips,
    rank_fallen,
    rank_may_turn,
    rank_moved_far,
    rank_noted,
    rank_parts,
    rank_risen,
    rank_vanishes_soon,
)
from appell.normal_form.flow import GuardedRows
from appell.rows import RowSpace

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows at a state. sigma: the smallest pivot of the independent ones; largest_other: that of the others."""

    Y: Array  # (n, m)
    independent: NDArray[np.intp]  # (r,) independent rows
    sigma: float
    largest_other: float


class RankGuard:
    """The rank guard of one run. rows: those whose rank is watched; size: s (m,)."""

    def __init__(self, rows: GuardedRows, p: Array, size: Array):
        self.rows, self.p = rows, p
        self.size = size if rows.sparse is None else size[list(rows.sparse.rows)]
        self.reference, self.quiet = 0.0, np.inf
        self.speed: float | None = None  # of the rows, their way per time in the last step
        self.last: RankedRows | None = None

    def rows_at(self, t: float, z: Array) -> RankedRows:
        """The rows at a state."""
        Y = RowSpace.scaled(*self.rows.matrices(self.rows.rows(t, z, self.p)), self.size).Y
        r = self.rows.rank
        if self.rows.sparse is not None:
            pivots = np.abs(np.diag(np.linalg.qr(Y, mode="r")))
            return RankedRows(Y, np.arange(r), float(pivots.min()), 0.0)
        factors: Any = scipy.linalg.qr(Y, mode="r", pivoting=True)
        pivots, order = np.abs(np.diag(factors[0])), factors[1]
        return RankedRows(Y, order[:r], float(pivots[r - 1]), float(pivots[r]) if r < len(pivots) else 0.0)

    def start(self, t: float, z: Array) -> None:
        """Starts the guard at (t, z)."""
        self.last = self.rows_at(t, z)
        self.reference = max(self.reference, self.last.sigma)

    def alarms(self, t: float, t1: float, z1: Array, dense: Callable[[float], Array]) -> bool:
        """Whether the step from t to (t1, z1) must be refused."""
        start, end = self.last, self.rows_at(t1, z1)
        assert start is not None
        change, ends = float(np.linalg.norm(end.Y - start.Y, 2)), min(start.sigma, end.sigma)
        self.reference = max(self.reference, end.sigma)
        if rank_risen(end.largest_other, 0.0) or rank_digits_lost(end.sigma, self.reference):
            return True
        if rank_fallen(end.sigma, min(self.reference, self.quiet)) and (
            rank_vanishes_soon(start.sigma - end.sigma, end.sigma, 1.0, 1.0) or rank_noted(end.sigma, self.reference)
        ):
            return True
        if self.speed is None:
            probe = RANK_PROBE * (t1 - t)
            self.speed = float(np.linalg.norm(self.rows_at(t + probe, dense(t + probe)).Y - start.Y)) / abs(probe)
        path = max(change, self.speed * abs(t1 - t))  # rows that turned all the way round are where they were
        if rank_may_turn(path, ends) and (rank_moved_far(path, ends) or turned(start, end)):
            path_inside = self._path_inside(t, t1, path, end, dense)
            if path_inside is None:
                return True
            change = path_inside
        self.speed = change / abs(t1 - t)
        self.quiet = max(self.quiet, end.sigma)
        self.last = end
        return False

    def _path_inside(self, t: float, t1: float, path: float, end: RankedRows, dense: Callable[[float], Array]) -> float | None:
        """The path length of the rows through states inside a step; None if they turn between two of these, or σ dips there.

        path: at least the length that they are expected to go.
        """
        start = self.last
        assert start is not None
        needed, ends = rank_parts(path, np.linalg.norm(start.Y), self.reference), min(start.sigma, end.sigma)
        if not needed <= MOST_PARTS_OF_STEP:
            return None
        parts = max(PARTS_OF_TURNING_STEP, int(needed))
        rows_along = [start, *(self.rows_at(s, dense(s)) for s in t + np.arange(1, parts) / parts * (t1 - t)), end]
        if rank_dips(min(rows_here.sigma for rows_here in rows_along), ends) or any(map(turned, rows_along, rows_along[1:])):
            return None
        return float(sum(np.linalg.norm(b.Y - a.Y) for a, b in pairwise(rows_along)))


def turned(at: RankedRows, end: RankedRows) -> bool:
    """Whether independent rows turned by about a right angle or more."""
    Y_a, Y_b = at.Y[:, at.independent], end.Y[:, at.independent]
    cross = Y_a.T @ Y_b
    return bool(np.linalg.eigvalsh((cross + cross.T) / 2 - RIGHT_ANGLE * Y_a.T @ Y_a).min() <= 0)
