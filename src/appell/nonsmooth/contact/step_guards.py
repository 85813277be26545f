"""Distances and reactions inside a step, in Python: twin of a part of `step_guards.c.in`."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from appell.modes.contact_thresholds import CROSSING_LOCATED, GOLDEN_SECTIONS, STEP_GROWTH
from appell.modes.endings import Ending
from appell.nonsmooth.criteria import (
    gap_fine,
    gap_touch,
    leaves_face,
    reaction_followed,
    reaction_stretch,
    sinks_from_start,
)
from appell.roots.guard import GUARD_INTERVALS, GuardAlong, GuardRoot, Terms

Array = NDArray[np.float64]

REACTION_SAMPLES = (0.0, 0.06, 0.13, 0.27, 0.35, 0.48, 0.62, 0.71, 0.86, 1.0)
"""Fractions of a step at which reactions are sampled; compiled code samples them at the stages of its method."""
LEAST_RTOL_OF_BRENTQ = 8.9e-16
"""SciPy refuses less than 4 ε."""


class Guards(NamedTuple):
    """g of open faces and Λ of closed ones (infinite for those asleep), ġ and g̈ of open ones, and the noise of g and Λ."""

    g: Array
    d: Array
    dd: Array
    noise: Array


def face_root(
    guard: GuardAlong, i: int, zero: float, one: Guards, two: Guards, *, touching: bool, changes: int, rtol: float | None
) -> GuardRoot:  # fmt: skip
    """The first root of the distance of open face i, minus `zero`, inside a step with the guards `one` and `two` at its ends.

    guard: that distance along the step. touching: whether the step starts on the face. changes: of mode at its start so far.
    rtol: None with fixed steps, which are searched however long it takes.
    """
    noise, touch = float(two.noise[i]), float(gap_touch(one.noise[i], two.noise[i]))
    start, end = float(one.g[i] - zero), float(two.g[i] - zero)
    rate = guard.step.h * float(one.d[i]) if touching else None
    leaves = touching and bool(leaves_face(one.d[i], one.dd[i], touch))
    risen = (start if rate is None else rate) > noise
    evaluations, fine = (sys.maxsize, 0.0) if rtol is None else (GUARD_INTERVALS, float(gap_fine(rtol, noise)))
    root = guard.first_root(Terms(zero, noise, touch, risen, leaves, evaluations, start, end, rate if risen else None, fine))
    if root.theta is None and end < -noise:
        return GuardRoot(theta=0.0 if sinks_from_start(touching, risen, changes) else 1.0)
    return root


class ReactionSamples(NamedTuple):
    """Samples of a reaction inside a step: the smallest, the largest, and by how much a cubic misses them."""

    least: float
    size: float
    misfit: float

    @staticmethod
    def of(x: Array, values: Array) -> ReactionSamples:
        fit = np.polynomial.Polynomial.fit(x, values, 3)
        return ReactionSamples(float(values.min()), float(np.abs(values).max()), float(np.abs(fit(x) - values).max()))

    def step_factor(self, noise: float) -> float:
        """Factor by which to scale the step for a cubic to represent the reaction."""
        followed = reaction_followed(self.misfit, self.size, noise)
        return STEP_GROWTH if followed else float(reaction_stretch(self.misfit, self.size))


class StepCrossing(NamedTuple):
    time: float
    number: int
    kind: Ending
    together: tuple[int, ...] = ()


def root_of(f: Any, a: float, b: float) -> float:
    """A root of f between a and b, to the last digit."""
    root: Any = brentq(f, a, b, xtol=CROSSING_LOCATED * max(abs(b), 1e-300), rtol=LEAST_RTOL_OF_BRENTQ)  # type: ignore[arg-type]
    return float(root)


def lowest_point(f: Any, a: float, b: float, enough: float = -np.inf) -> tuple[float, float]:
    """The minimum of f between a and b by golden section, or the first point found below `enough`, and its value."""
    golden = (5**0.5 - 1) / 2
    x, y = b - golden * (b - a), a + golden * (b - a)
    fx, fy = f(x), f(y)
    for _ in range(GOLDEN_SECTIONS):
        if min(fx, fy) < enough:
            break
        if fx < fy:
            b, y, fy = y, x, fx
            x = b - golden * (b - a)
            fx = f(x)
        else:
            a, x, fx = x, y, fy
            y = a + golden * (b - a)
            fy = f(y)
    return (x, fx) if fx < fy else (y, fy)
