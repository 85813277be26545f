"""Reactions inside a step, in Python: twin of a part of `step_guards.c.in`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from appell.modes.contact_thresholds import GROWTH, SECTIONS
from appell.modes.endings import Ending
from appell.nonsmooth.criteria import reaction_followed, reaction_stretch

Array = NDArray[np.float64]

SEEN_AT = (0.0, 0.06, 0.13, 0.27, 0.35, 0.48, 0.62, 0.71, 0.86, 1.0)
"""Fractions of a step at which reactions are sampled; compiled code samples them at the stages of its method."""


class Guards(NamedTuple):
    """g of open faces and Λ of closed ones (infinite for those asleep), ġ and g̈ of open ones, and the noise of g and Λ."""

    g: Array
    d: Array
    dd: Array
    noise: Array


class Seen(NamedTuple):
    """Samples of a reaction inside a step: the smallest, the largest, and by how much a cubic misses them."""

    least: float
    size: float
    missed: float

    @staticmethod
    def of(x: Array, values: Array) -> Seen:
        fit = np.polynomial.Polynomial.fit(x, values, 3)
        return Seen(float(values.min()), float(np.abs(values).max()), float(np.abs(fit(x) - values).max()))

    def allowed(self, noise: float) -> float:
        """Factor by which to scale the step for a cubic to represent the reaction."""
        followed = reaction_followed(self.missed, self.size, noise)
        return GROWTH if followed else float(reaction_stretch(self.missed, self.size))


class StepCrossing(NamedTuple):
    time: float
    number: int
    kind: Ending
    together: tuple[int, ...] = ()


def root_of(f: Any, a: float, b: float) -> float:
    """A root of f between a and b, to the last digit."""
    root: Any = brentq(f, a, b, xtol=4e-16 * max(abs(b), 1e-300), rtol=8.9e-16)  # type: ignore[arg-type]
    return float(root)


def lowest_point(f: Any, a: float, b: float, enough: float = -np.inf) -> tuple[float, float]:
    """The minimum of f between a and b by golden section, or the first point found below `enough`, and its value."""
    part = (5**0.5 - 1) / 2
    x, y = b - part * (b - a), a + part * (b - a)
    fx, fy = f(x), f(y)
    for _ in range(SECTIONS):
        if min(fx, fy) < enough:
            break
        if fx < fy:
            b, y, fy = y, x, fx
            x = b - part * (b - a)
            fx = f(x)
        else:
            a, x, fx = x, y, fy
            y = a + part * (b - a)
            fy = f(y)
    return (x, fx) if fx < fy else (y, fy)
