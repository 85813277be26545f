"""Times between which the data of equations change little: for guards without interval bounds of their own.

    K(t, z, p, y) = 0,   g(t, z, p, y)            y not unique, or K nonlinear in it: laws of friction that contain reactions

y changes only as the data of K change. Each datum is bounded along the step, which is halved until none changes by more than
`DATUM_FOLLOWED` of its size over a part. Guards are sampled at the ends of the parts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from appell.roots.enclosure import Interval
from appell.roots.guard import StepPolynomial
from appell.roots.limits import DATUM_FOLLOWED, DATUM_IGNORED, GUARD_HALVINGS, NARROWEST_SOLVED_INTERVAL

Array = NDArray[np.float64]
DataOver = Callable[[StepPolynomial, Array, Array, Array, Array], Interval]
"""(steps, t, h, a, b) → intervals of the data over [a, b] of each step, (data, boxes)."""


def following_times(data: DataOver, c: Array, t: Array, h: Array) -> Array:
    """Ends of parts of steps of h from t on, over which no datum changes much, in order; c (degree + 1, nz, steps)."""
    step, a, b = np.arange(len(t)), np.zeros(len(t)), np.ones(len(t))
    examined, ends, size = np.zeros(len(t), dtype=int), [np.zeros(0)], None
    while len(step):
        examined += np.bincount(step, minlength=len(t))
        box = data(StepPolynomial(c[:, :, step], 0.0, 1.0), t[step], h[step], a, b)
        largest = np.maximum(np.abs(box.lo), np.abs(box.hi))
        size = np.where(np.isfinite(largest), largest, 0.0) if size is None else size
        with np.errstate(all="ignore"):
            width = box.hi - box.lo
        narrow = (width <= DATUM_FOLLOWED * largest) & np.isfinite(largest) | (width <= DATUM_IGNORED * size[:, step])
        halved = ~narrow.all(axis=0) & (b - a > NARROWEST_SOLVED_INTERVAL) & (examined[step] < GUARD_HALVINGS)
        ends += [t[step[~halved]] + h[step[~halved]] * x[~halved] for x in (a, b)]
        m = ((a + b) / 2)[halved]
        step, a, b = np.tile(step[halved], 2), np.concatenate([a[halved], m]), np.concatenate([m, b[halved]])
    return np.unique(np.concatenate(ends))


__all__ = ["DataOver", "following_times"]
