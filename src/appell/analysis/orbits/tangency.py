"""Whether a guard passes zero, or only touches it as far as the motion tells.

    g(t* − τ) ≈ −ġ τ + g̈ τ²/2,        δġ = g̈ δg/ġ            g̈ ~ max|g|/(t* − t₀)²

A motion whose guard is off by δg has a rate ġ at the zero that is off by δġ. Where that is as large as ġ itself, the rate has
no digit, and a derivative, which divides by it, does not exist or cannot be told from one that does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.motion.motion import Motion

Array = NDArray[np.float64]

GUARD_LOOKS = 7
"""Instants of the motion before an event at which its guard is read."""
GUARD_ROUNDING = 1e-13
"""Share of its largest value by which a guard is off at least."""
RATE_DIGITS = 10.0
"""A rate is one where it is so many times what it may be off by."""


class Way(NamedTuple):
    """The motion before an event: times (k,), states (k, nz), the time of the event and the relative accuracy."""

    t: Array
    z: Array
    end: float
    accuracy: float


def way_to(motion: Motion, since: float, until: float) -> Way:
    """From the event before to this one, without its ends."""
    times = since + (until - since) * (np.arange(GUARD_LOOKS) + 0.5) / GUARD_LOOKS
    seen = motion.at(times)
    rtol = float(motion.tolerances.get("rtol", 1e-9))
    return Way(times, np.hstack([seen.q, seen.v]), until, max(rtol, GUARD_ROUNDING))


def touches(rate: float, guard: Array, way: Way) -> bool:
    """Whether the rate with which a guard comes to zero, below zero, is none; guard: (k,) along the way."""
    largest, lasted = float(np.abs(guard).max(initial=0.0)), way.end - float(way.t[0])
    if not rate < 0 or not lasted > 0:
        return True
    mean = largest / lasted
    return rate**2 <= RATE_DIGITS * way.accuracy * mean**2


__all__ = ["Way", "touches", "way_to"]
