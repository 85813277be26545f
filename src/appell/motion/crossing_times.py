"""Times of a motion: requested ones, and those at which expressions and reactions pass through zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import warn
from appell.errors import AS_ASKED, ModelError, Status
from appell.model.stops import condition
from appell.motion.crossings import crossings
from appell.motion.zeros import CROSSED, edges_of, motion_zeros
from appell.reading import reals

if TYPE_CHECKING:
    from appell.motion.motion import Motion

Array = NDArray[np.float64]

REACTION_SIGN_LOST = 1e-12
"""Fraction of the largest |Λ| of a motion below which the sign of a reaction counts as zero."""


TIME_SLACK = 1e-12
"""Fraction of the end times of a run by which a requested time may lie outside, for rounding."""


def times_within(times: Any, first: float, last: float, status: Status) -> Array:
    """The given times, (k,), s; refused outside the run from `first` to `last`; status: how the run ended."""
    low, high = min(first, last), max(first, last)
    requested = np.atleast_1d(reals(times, "times of a motion"))
    if requested.ndim != 1:
        raise ModelError(f"times of a motion are one number or a list of them, not an array of shape {requested.shape}")
    slack = TIME_SLACK * max(abs(low), abs(high))
    outside = ~((requested >= low - slack) & (requested <= high + slack))
    if outside.any():
        ended = "" if status in AS_ASKED else f", where it ended with {status.name}"
        raise ModelError(f"t = {requested[outside][0]:.17g} is outside the run from {first:.17g} to {last:.17g} s{ended}")
    return np.clip(requested, low, high)


def crossing_times(motion: Motion, expression: Any) -> Array:
    """See `Motion.crossings`."""
    stop = condition(expression, "an expression of crossings")
    if len(motion.t) < 2 or motion._ends[0] == motion._ends[1]:
        return np.zeros(0)
    zeros = motion_zeros(motion, stop.expression, edges_of(motion))
    if len(zeros.unbounded):
        warn(f"{stop.expression} could not be bounded near t = {zeros.unbounded[0]:.6g}: a crossing may be missing there")
    return zeros.time[(zeros.kind == CROSSED) & ((zeros.direction == stop.direction) | (stop.direction == 0))]


def release_times(motion: Motion, constraint: Any) -> Array:
    """See `Motion.release`."""
    if len(motion.t) < 2:
        return np.zeros(0)
    sign = 1.0 if motion.t[-1] >= motion.t[0] else -1.0
    finite_lam = motion.multipliers[np.isfinite(motion.multipliers)]
    # of all reactions: the rounding of an unloaded one must not count
    noise = REACTION_SIGN_LOST * np.abs(finite_lam).max(initial=0.0)

    def reaction(x: Array) -> Array:
        lam = motion.at(sign * x).reaction(constraint)
        return np.where(np.abs(lam) <= noise, 0.0, lam)

    return sign * crossings(reaction, sign * motion.t)


__all__ = ["crossing_times", "release_times", "times_within"]
