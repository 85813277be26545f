"""Location of the zero of a guard inside a step: roots and minima of a function that is expensive to evaluate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from appell.nonsmooth.contact.step_guards import lowest_point, root_of
from appell.nonsmooth.friction.guards import GuardCrossing
from appell.nonsmooth.friction.thresholds import RISING_HALVINGS

Array = NDArray[np.float64]


GuardValues = Callable[[Array], tuple[Array, Array]]

CHEBYSHEV_NODES = (1 - np.cos(np.pi * np.arange(9) / 8)) / 2
"""Chebyshev points of an interval."""
CHEBYSHEV_WEIGHTS = np.array([0.5, -1, 1, -1, 1, -1, 1, -1, 0.5])
"""Barycentric weights of the polynomial through them (Berrut and Trefethen 2004)."""
NEAR_ROOT = (1e-4, 1e-8)
"""Fractions of an interval, around an estimate of a root, at which the guard is sampled again."""


def located(values_at: GuardValues, crossing: GuardCrossing, y: Array, noise: Array, t: Array) -> float | None:
    """The time at which a guard falls through zero; None if a dip does not reach it. values_at: times → guard and its noise."""
    value = lambda time: float(values_at(np.array([time]))[0][0])
    low, high = float(t[crossing.low]), float(t[crossing.high])
    if crossing.inside:
        time, minimum = lowest_point(value, low, high, 0.0)
        return None if minimum >= 0 else _root(values_at, low, time)
    if y[crossing.low] > noise[crossing.low]:
        return _root(values_at, low, high)
    nearest = high
    for fraction in 0.5 ** np.arange(1, RISING_HALVINGS + 1):  # starts at zero: either it rises first, or it falls at once
        time = low + fraction * (high - low)
        y_there, eps = (float(x[0]) for x in values_at(np.array([time])))
        if y_there > eps:
            return _root(values_at, time, nearest)
        nearest = time if y_there < 0 else nearest
    return low


def _root(values_at: GuardValues, a: float, b: float) -> float:
    """The zero between a, where the guard is positive, and b: by a polynomial through samples, then secants, in three calls."""
    value = lambda time: float(values_at(np.array([time]))[0][0])
    t, size = a + (b - a) * CHEBYSHEV_NODES, b - a
    y = values_at(t)[0]
    if y[0] <= 0:
        return a
    if not (y <= 0).any():  # rounding: steps to the same time differ; take the smallest value
        b, minimum = lowest_point(value, a, b, 0.0)
        return b if minimum > 0 else _bracketed(value, a, b)
    k = int(np.argmax(y <= 0))
    a, b, guess = t[k - 1], t[k], _polynomial(t, y, k)
    for fraction in NEAR_ROOT:
        t = np.unique([a, *np.clip(guess + fraction * size * np.array([-1.0, -0.3, 0.3, 1.0]), a, b), b])
        y = values_at(t)[0]
        if not (y[0] > 0 >= y[-1]):
            return _bracketed(value, a, b)
        k = int(np.argmax(y <= 0))
        a, b, guess = t[k - 1], t[k], t[k - 1] + (t[k] - t[k - 1]) * y[k - 1] / (y[k - 1] - y[k])
    return float(guess) if b - a <= NEAR_ROOT[-1] * size else _bracketed(value, a, b)


def _polynomial(t: Array, y: Array, k: int) -> float:
    """Where the polynomial through all samples falls to zero between samples k − 1 and k."""

    def value(x: float) -> float:
        distances = x - t
        if (hit := np.flatnonzero(distances == 0)).size:
            return float(y[hit[0]])
        weights = CHEBYSHEV_WEIGHTS / distances
        return float(weights @ y / weights.sum())

    return _bracketed(value, float(t[k - 1]), float(t[k]))


def _bracketed(value: Callable[[float], float], a: float, b: float) -> float:
    """Brent's method, if the values at the ends still differ in sign."""
    if value(a) <= 0:
        return float(a)
    if value(b) > 0:
        return float(b)
    return root_of(value, a, b)


__all__ = ["located"]
