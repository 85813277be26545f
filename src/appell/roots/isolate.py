"""Isolation of the zeros of a guard along many steps at once, by interval bounds: no pair of zeros is missed between samples.

    excluded        the interval of g, or g(c) ± sup|ġ| w, does not contain zero
    isolated        ġ has one sign on [a, b]: one zero at most, between values at a and b
    otherwise       both halves, down to `NARROWEST_PAIR` of a step

Steps are polynomials in s, from −1 at the beginning of a step to 1 at its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn
from appell.roots.enclosure import Interval, enclosure
from appell.roots.guard import StepPolynomial

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

NARROWEST_PAIR = 1e-9
"""Half the width in s below which an interval is not halved further: a pair of zeros that close counts as a touch."""
ISOLATED_INTERVALS = 400_000
"""Most intervals in one round; beyond them nothing is halved further."""
MOST_OF_A_STEP = 4000
"""The same for one step: a function that stays near zero would use up all of them."""


class Isolated(NamedTuple):
    """Parts [a, b] of steps in which a guard may vanish, (k,) each. bounded: whether its values at a and b reveal all of its
    changes of sign; where it is False, the bounds were inconclusive."""

    step: NDArray[np.intp]
    a: Array
    b: Array
    bounded: Bools

    def in_order(self) -> Isolated:
        """The same parts in the order of time."""
        order = np.lexsort((self.a, self.step))
        return Isolated(self.step[order], self.a[order], self.b[order], self.bounded[order])


def isolated(
    fn: Fn, c: Array, t: Array, h: Array, p: Array, steps: NDArray[np.intp] | None = None, *,
    noise: float = 0.0, below: bool = False,
) -> Isolated:  # fmt: skip
    """The parts of steps in which a guard may vanish; fn of `guard_function`.

    c (degree + 1, n, steps): the steps in powers of s; t, h (steps,): their middles and half their lengths, so that the time is
    t + h s; p (np,) or (np, steps). steps: those that are examined, all by default. noise: what the guard may change by in a
    part that is not halved any more. below: with parts in which it is below zero all along.
    """
    step = np.arange(len(t)) if steps is None else steps
    a, b = -np.ones(len(step)), np.ones(len(step))
    parts: list[Isolated] = []
    while len(step):
        p_here = p[:, step] if p.ndim == 2 else p[:, None]
        g, rate, middle, smooth = _bounds_over(fn, c[:, :, step], t[step], h[step], p_here, a, b)
        w = (b - a) / 2
        slope = np.maximum(np.abs(rate.lo), np.abs(rate.hi))
        positive = (g.lo > 0) | (smooth & (middle > slope * w))
        negative = (g.hi < 0) | (smooth & (-middle > slope * w))
        single = smooth & ((rate.lo > 0) | (rate.hi < 0) | (slope * w <= noise))
        halved = ~positive & ~negative & ~single & (w > NARROWEST_PAIR)
        if halved.any():
            crowd = np.bincount(step[halved], minlength=len(t))[step] > MOST_OF_A_STEP
            halved &= ~crowd & (np.count_nonzero(halved) <= ISOLATED_INTERVALS)
        reported = ~positive & ~halved & (below | ~negative)
        parts.append(Isolated(step[reported], a[reported], b[reported], (single | negative | (w <= NARROWEST_PAIR))[reported]))
        m = ((a + b) / 2)[halved]
        step, a, b = np.tile(step[halved], 2), np.concatenate([a[halved], m]), np.concatenate([m, b[halved]])
    if not parts:
        return Isolated(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool))
    return Isolated(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _bounds_over(fn: Fn, c: Array, t: Array, h: Array, p: Array, a: Array, b: Array) -> tuple[Interval, Interval, Array, Bools]:
    """Intervals of g and of its rate in s, g in the middle, and whether it does not jump, (k,) each."""
    z, zd = StepPolynomial(c, 0.0, 1.0).over(a, b)
    m = (a + b) / 2
    z_m = np.zeros_like(c[0])
    for row in c[::-1]:
        z_m = z_m * m + row
    times, t_m, td, zero = np.array([t + h * a, t + h * b]), (t + h * m)[None], h[None], np.zeros_like(z_m)
    still = Interval(p, p)
    boxes = Interval(times.min(axis=0)[None], times.max(axis=0)[None])
    y, jumps = enclosure(fn)(boxes, z, still, Interval(td, td), zd)
    middle, _ = enclosure(fn)(Interval(t_m, t_m), Interval(z_m, z_m), still, Interval(0 * td, 0 * td), Interval(zero, zero))
    value = (middle.lo[0] + middle.hi[0]) / 2
    return Interval(y.lo[0], y.hi[0]), Interval(y.lo[1], y.hi[1]), value, jumps.hi[0] <= 0


__all__ = ["Isolated", "isolated"]
