"""When a guard falls through zero inside a step: roots and minima of a function that is expensive to evaluate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from appell.nonsmooth.contact.loop_switch import lowest_point
from appell.nonsmooth.friction.guards import GuardCrossing

Array = NDArray[np.float64]


Many = Callable[[Array], tuple[Array, Array]]

CHEBYSHEV_NODES = (1 - np.cos(np.pi * np.arange(9) / 8)) / 2
"""Chebyshev's points of an interval."""
WEIGHTS = np.array([0.5, -1, 1, -1, 1, -1, 1, -1, 0.5])
"""Of the polynomial through them in its barycentric form (Berrut and Trefethen 2004)."""
NEAR_ROOT = (1e-4, 1e-8)
"""Parts of an interval, around what is known of a root, at which it is looked at again."""


def located(many: Many, one: GuardCrossing, y: Array, noise: Array, t: Array) -> float | None:
    """When a guard falls through zero; None where a dip does not reach it. many: times → the guard and its noise there."""
    value = lambda time: float(many(np.array([time]))[0][0])
    low, high = float(t[one.low]), float(t[one.high])
    if one.inside:
        time, least = lowest_point(value, low, high, 0.0)
        return None if least >= 0 else _root(many, low, time)
    if y[one.low] > noise[one.low]:
        return _root(many, low, high)
    nearest = high
    for share in 0.5 ** np.arange(1, 41):  # it starts at zero: it must have risen, or falls at once
        time = low + share * (high - low)
        here, eps = (float(x[0]) for x in many(np.array([time])))
        if here > eps:
            return _root(many, time, nearest)
        nearest = time if here < 0 else nearest
    return low


def _root(many: Many, a: float, b: float) -> float:
    """The zero between a, where a guard is above it, and b: a polynomial through samples, then lines, in three calls."""
    value = lambda time: float(many(np.array([time]))[0][0])
    t, size = a + (b - a) * CHEBYSHEV_NODES, b - a
    y = many(t)[0]
    if y[0] <= 0:
        return a
    if not (y <= 0).any():  # another path to the same state differs by rounding: it falls to zero, or as near as it comes
        b, least = lowest_point(value, a, b, 0.0)
        return b if least > 0 else _bracketed(value, a, b)
    k = int(np.argmax(y <= 0))
    a, b, guess = t[k - 1], t[k], _polynomial(t, y, k)
    for part in NEAR_ROOT:
        t = np.unique([a, *np.clip(guess + part * size * np.array([-1.0, -0.3, 0.3, 1.0]), a, b), b])
        y = many(t)[0]
        if not (y[0] > 0 >= y[-1]):
            return _bracketed(value, a, b)
        k = int(np.argmax(y <= 0))
        a, b, guess = t[k - 1], t[k], t[k - 1] + (t[k] - t[k - 1]) * y[k - 1] / (y[k - 1] - y[k])
    return float(guess) if b - a <= NEAR_ROOT[-1] * size else _bracketed(value, a, b)


def _polynomial(t: Array, y: Array, k: int) -> float:
    """Where the polynomial through all samples falls to zero between those numbered k − 1 and k."""

    def value(x: float) -> float:
        away = x - t
        if (hit := np.flatnonzero(away == 0)).size:
            return float(y[hit[0]])
        share = WEIGHTS / away
        return float(share @ y / share.sum())

    return _bracketed(value, float(t[k - 1]), float(t[k]))


def _bracketed(value: Callable[[float], float], a: float, b: float) -> float:
    """Brent's method, where the values at the ends still differ in sign."""
    if value(a) <= 0:
        return float(a)
    if value(b) > 0:
        return float(b)
    return float(brentq(value, a, b, xtol=4e-16 * max(abs(b), 1e-300), rtol=8.9e-16))  # type: ignore[arg-type]


__all__ = ["located"]
