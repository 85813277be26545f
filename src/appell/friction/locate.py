"""When a guard falls through zero inside a step: roots and lowest points of a function that is costly to evaluate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from appell.contact.loop_switch import lowest_point
from appell.friction.guards import Crossing

Array = NDArray[np.float64]


def located(
    both: Callable[[float], tuple[float, float]], one: Crossing, y: Array, noise: Array, t: Array
) -> float | None:
    """When a guard falls through zero; None where a dip does not reach it. both: time → the guard and its noise."""
    value = lambda time: both(time)[0]
    low, high = float(t[one.low]), float(t[one.high])
    if one.inside:
        time, least = lowest_point(value, low, high, 0.0)
        return None if least >= 0 else _root(value, low, time)
    if y[one.low] > noise[one.low]:
        return _root(value, low, high)
    nearest = high
    for share in 0.5 ** np.arange(1, 41):  # it starts at zero: it must have risen, or falls at once
        time = low + share * (high - low)
        here, eps = both(time)
        if here > eps:
            return _root(value, time, nearest)
        nearest = time if here < 0 else nearest
    return low


def _root(value: Callable[[float], float], a: float, b: float) -> float:
    if value(a) <= 0:
        return a
    if value(b) > 0:  # another path to the same state differs by rounding: it falls to zero between, or as near as it comes
        b, least = lowest_point(value, a, b, 0.0)
        if least > 0:
            return b
    return float(brentq(value, a, b, xtol=4e-16 * max(abs(b), 1e-300), rtol=8.9e-16))  # type: ignore[arg-type]


__all__ = ["located"]
