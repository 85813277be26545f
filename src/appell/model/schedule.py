"""Values of parameters that change at given times: the numbers of measured records and inputs during a run."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError

Array = NDArray[np.float64]

RECORD_SLACK = 1e-9
"""A time may be outside a record by this fraction of its length: rounding of sums of steps."""

KNOT_SPACINGS = 16
"""Spacings of the times of a schedule within which a knot is at the time itself; …"""
KNOT_ROUNDING = KNOT_SPACINGS * float(np.finfo(float).eps)
"""… as a fraction of them."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """Values of some parameters from each knot to the next.

        p[columns] = rows[k]        knots[k] <= t < knots[k + 1]

    knots: (k + 1,) s. rows: (k, r). columns: (r,) indices among the parameters.
    """

    knots: Array
    rows: Array
    columns: tuple[int, ...]

    @cached_property
    def _times(self) -> list[float]:
        return self.knots.tolist()

    @cached_property
    def _slack(self) -> float:
        return RECORD_SLACK * float(self.knots[-1] - self.knots[0])

    def following(self, time: float, direction: float, far: float) -> float:
        """The first knot after a time in a direction, ±far where there is none; a knot within rounding of the time does not
        count."""
        rounding = KNOT_ROUNDING * (abs(time) + abs(self._times[0]) + abs(self._times[-1]))
        if direction > 0:
            k = bisect_right(self._times, time + rounding)
            return self._times[k] if k < len(self._times) else far
        k = bisect_left(self._times, time - rounding)
        return self._times[k - 1] if k else -far

    def row(self, time: Any) -> Array:
        """Values at a time, (r,), or at several, (m, r); NaN outside the record."""
        time = np.asarray(time, dtype=float)
        k = np.clip(np.searchsorted(self.knots, time, side="right") - 1, 0, len(self.rows) - 1)
        values = self.rows[k]
        outside = ~((time >= self.knots[0] - self._slack) & (time <= self.knots[-1] + self._slack))
        return np.where(outside[..., None], np.nan, values) if outside.any() else values

    @cached_property
    def _columns(self) -> NDArray[np.intp]:
        return np.array(self.columns, dtype=np.intp)

    def put_into(self, p: Array, time: float) -> None:
        """Writes the values at one time into parameters, (np,)."""
        times, slack = self._times, self._slack
        if not times[0] - slack <= time <= times[-1] + slack:
            p[self._columns] = np.nan
            return
        p[self._columns] = self.rows[min(max(bisect_right(times, time) - 1, 0), len(times) - 2)]

    def put(self, p: Array, time: Any) -> Array:
        """A copy of parameters, (np,) or (m, np), with the values at a time, or at m times, substituted."""
        if np.ndim(time) and np.ndim(p) == 1:
            p = np.broadcast_to(p, (len(time), len(p)))
        p = np.array(p, dtype=float)
        p[..., list(self.columns)] = self.row(time)
        return p

    @property
    def middle(self) -> float:
        """A time inside, s."""
        return float(self.knots[0] + 0.382 * (self.knots[-1] - self.knots[0]))

    def shifted(self, place: int | None) -> Schedule:
        """The schedule after inserting one more parameter at an index."""
        if place is None:
            return self
        return Schedule(self.knots, self.rows, tuple(i + (i >= place) for i in self.columns))

    def combined_with(self, other: Schedule | None) -> Schedule:
        """Both combined: the knots of both, where both are defined."""
        if other is None:
            return self
        knots, rows = over_common_knots([(self.knots, self.rows), (other.knots, other.rows)])
        return Schedule(knots, rows, (*self.columns, *other.columns))


def over_common_knots(tables: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """(knots, rows) of several tables over the union of their knots, where all are defined."""
    if len(tables) == 1:
        return tables[0]
    first, last = max(knots[0] for knots, _ in tables), min(knots[-1] for knots, _ in tables)
    if not last > first:
        raise ModelError(f"the records have no time in common: one begins at {first:g} s, another one ends at {last:g} s")
    knots = np.unique(np.concatenate([knots for knots, _ in tables]))
    knots = knots[(knots >= first) & (knots <= last)]
    middle = (knots[:-1] + knots[1:]) / 2
    return knots, np.hstack([rows[np.searchsorted(own_knots, middle) - 1] for own_knots, rows in tables])


__all__ = ["KNOT_SPACINGS", "RECORD_SLACK", "Schedule", "over_common_knots"]
