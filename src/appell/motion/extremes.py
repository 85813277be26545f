"""Extreme values of an expression along a motion, from the dense output and not from the samples.

In each step the values of the expression at Chebyshev points give a polynomial (`motion.dense`); the extremes are the zeros of
its derivative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.motion.dense import DENSE_POINTS, DenseSteps, dense_steps
from appell.motion.zeros import edges_of
from appell.reading import name_in

if TYPE_CHECKING:
    from appell.motion.motion import Motion

Array = NDArray[np.float64]

SLOPE_SAMPLES = np.linspace(-1, 1, 3 * DENSE_POINTS + 1)
"""Where the derivative of a polynomial of degree `DENSE_POINTS` − 1 is sampled: three times as often as it can change sign."""
EXTREME_HALVINGS = 50


class Extremes(NamedTuple):
    """Times, s, and values of the local extremes of an expression, (k,) each, with the sign of its second derivative; and its
    global minimum and maximum."""

    time: Array
    value: Array
    bend: Array
    least: float
    largest: float


def extremes(motion: Motion, expression: Any) -> Extremes:
    """The extreme values of an expression along a motion."""
    samples = np.asarray(motion[expression], float)
    if not np.isfinite(samples).all():
        when = float(motion.t[~np.isfinite(samples)][0])
        raise ModelError(f"{name_in(expression)} has no finite value at t = {when:.6g} s, so that it has no extremes")
    if len(motion.t) < 2 or motion.sampler is None:
        return Extremes(np.zeros(0), np.zeros(0), np.zeros(0), float(samples.min()), float(samples.max()))
    steps = dense_steps(edges_of(motion), lambda times: np.asarray(motion.at(times)[expression], float)[:, None])
    c = steps.powers[:, 0]
    rate = lambda k, s: _horner((np.arange(1, DENSE_POINTS)[:, None] * c[1:])[:, k], s)
    n = len(steps.begin)
    sign = np.sign(rate(np.repeat(np.arange(n), len(SLOPE_SAMPLES)), np.tile(SLOPE_SAMPLES, n))).reshape(n, len(SLOPE_SAMPLES))
    k, j = np.nonzero(sign[:, :-1] * sign[:, 1:] < 0)
    a, b, begin = SLOPE_SAMPLES[j], SLOPE_SAMPLES[j + 1], sign[k, j]
    for _ in range(EXTREME_HALVINGS):
        m = (a + b) / 2
        same_sign = np.sign(rate(k, m)) == begin
        a, b = np.where(same_sign, m, a), np.where(same_sign, b, m)
    at = (a + b) / 2
    value = steps.at(k, at)[:, 0]
    at_ends = _at_ends(steps)
    all_values = np.concatenate([samples, value, at_ends])
    return Extremes(steps.time(k, at), value, -begin, float(all_values.min()), float(all_values.max()))


def _at_ends(steps: DenseSteps) -> Array:
    k = np.arange(len(steps.begin))
    return np.concatenate([steps.at(k, np.full(len(k), s))[:, 0] for s in (-1.0, 1.0)])


def _horner(c: Array, s: Array) -> Array:
    total = np.zeros_like(s)
    for row in c[::-1]:
        total = total * s + row
    return total


__all__ = ["Extremes", "extremes"]
