"""A test for tangency: whether a guard crosses zero, or cannot be distinguished from one that only touches it.

    g(t* − τ) ≈ −ġ τ + g̈ τ²/2,        δġ = g̈ δg/ġ            g̈ ~ max|g|/(t* − t₀)²

If a guard has an error δg, its rate ġ at the zero has an error δġ. Where that is as large as ġ itself, the rate has no correct
digit, and a derivative, which divides by it, does not exist or cannot be distinguished from one that does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.motion.motion import Motion

Array = NDArray[np.float64]

GUARD_LOOKS = 7
"""Instants before an event at which its guard is sampled."""
GUARD_ROUNDING = 1e-13
"""Smallest error of a guard, as a fraction of its largest value."""
RATE_DIGITS = 10.0
"""A rate is significant if it exceeds its error by this factor."""


class Approach(NamedTuple):
    """The motion before an event: times (k,), states (k, nz), the time of the event and the relative accuracy."""

    t: Array
    z: Array
    end: float
    accuracy: float


def approach_to(motion: Motion, since: float, until: float) -> Approach:
    """The motion between the previous event and this one, without its ends."""
    times = since + (until - since) * (np.arange(GUARD_LOOKS) + 0.5) / GUARD_LOOKS
    states = motion.at(times)
    rtol = float(motion.tolerances.get("rtol", 1e-9))
    return Approach(times, np.hstack([states.q, states.v]), until, max(rtol, GUARD_ROUNDING))


def touches(rate: float, guard: Array, approach: Approach) -> bool:
    """Whether the rate (negative) with which a guard reaches zero is not significant; guard: (k,) along the approach."""
    largest, duration = float(np.abs(guard).max(initial=0.0)), approach.end - float(approach.t[0])
    if not rate < 0 or not duration > 0:
        return True
    mean = largest / duration
    return rate**2 <= RATE_DIGITS * approach.accuracy * mean**2


__all__ = ["Approach", "approach_to", "touches"]
