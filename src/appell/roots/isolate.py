"""Where a guard may change its sign along many steps at once: isolated by a bound, no pair of roots is passed between samples.

    excluded        the interval of g, or g(c) ± sup|ġ| w, does not contain zero
    isolated        ġ has one sign on [a, b]: one root at most, between values at a and b
    otherwise       both halves, down to `NARROWEST` of a step
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn
from appell.roots.enclosure import Interval, enclosure
from appell.roots.guard import Polynomial

Array = NDArray[np.float64]

NARROWEST = 1e-9
"""Part of a step below which an interval is not halved any more."""
MOST = 100_000
"""Intervals that are looked at in one round; beyond them nothing is halved any more."""


def isolating(fn: Fn, c: Array, t: Array, h: Array, p: Array) -> Array:
    """Times between which each change of sign is one root at most, in order; fn of `guard_function`.

    c (degree + 1, n, steps): the steps in powers of θ = (time − t)/h; t, h (steps,).
    """
    step, a, b = np.arange(len(t)), np.zeros(len(t)), np.ones(len(t))
    found: list[Array] = []
    while len(step):
        g, rate, middle, smooth = _over(fn, c[:, :, step], t[step], h[step], p, a, b)
        w = (b - a) / 2
        slope = np.maximum(np.abs(rate.lo), np.abs(rate.hi))
        excluded = (g.lo > 0) | (g.hi < 0) | (smooth & (np.abs(middle) > slope * w))
        single = smooth & ((rate.lo > 0) | (rate.hi < 0))
        open_ = ~excluded & ~single & (w > NARROWEST)
        open_ &= np.count_nonzero(open_) <= MOST
        kept = ~excluded & ~open_
        found += [t[step[kept]] + h[step[kept]] * x[kept] for x in (a, b)]
        c_ = ((a + b) / 2)[open_]
        step, a, b = np.tile(step[open_], 2), np.concatenate([a[open_], c_]), np.concatenate([c_, b[open_]])
    return np.unique(np.concatenate(found)) if found else np.zeros(0)


def _over(
    fn: Fn, c: Array, t: Array, h: Array, p: Array, a: Array, b: Array
) -> tuple[Interval, Interval, Array, NDArray[np.bool_]]:
    """Intervals of g and of its rate in θ, g in the middle, and whether it does not jump, (k,) each."""
    z, zd = Polynomial(c, 0.0, 1.0).over(a, b)
    m = (a + b) / 2
    at = np.zeros_like(c[0])
    for row in c[::-1]:
        at = at * m + row
    times, here, td, zero = np.array([t + h * a, t + h * b]), (t + h * m)[None], h[None], np.zeros_like(at)
    still = Interval(p[:, None], p[:, None])
    boxes = Interval(times.min(axis=0)[None], times.max(axis=0)[None])
    y, jumps = enclosure(fn)(boxes, z, still, Interval(td, td), zd)
    middle, _ = enclosure(fn)(Interval(here, here), Interval(at, at), still, Interval(0 * td, 0 * td), Interval(zero, zero))
    value = (middle.lo[0] + middle.hi[0]) / 2
    return Interval(y.lo[0], y.hi[0]), Interval(y.lo[1], y.hi[1]), value, jumps.hi[0] <= 0


__all__ = ["isolating"]
