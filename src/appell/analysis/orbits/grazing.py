"""Grazing orbits on a branch: where an orbit begins to touch a wall or the guard of a reset, approached from either side.

    without contact       the smallest distance of the orbit, a smooth function along the branch, goes to zero
    with contact          the speed v of the slowest impact goes to zero; orbit and parameter are smooth functions of v, and
                          their limit at v = 0 is extrapolated from slower and slower impacts

The derivative with respect to the start does not exist at grazing, so orbits beyond it are not used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.chatter import separate_impacts
from appell.analysis.orbits.refining import FAILURES, SPECIAL_POINT_RESIDUAL, Correct, CurvePoint, SpecialPoint
from appell.motion.extremes import extremes
from appell.motion.motion import Motion

Array = NDArray[np.float64]

TOUCHES = 1e-11
"""The smallest distance is zero below this fraction of the largest one."""
GRAZING_LOOKS = 40
BARELY_APART = 1e-9
"""Orbits before and after a change are not separated further within this fraction of the range."""
NEAR_TOUCH = 0.05
"""A lost branch is assumed to end in grazing below this fraction of the largest distance, or of the speeds on the orbit."""
SLOWEST = 1e-4
"""The extrapolation ends at this fraction of its first speed, because rounding of orbits acts as 1/v."""
LAST_SHARE = 0.97
"""Steps that reduce the remaining distance by less than 1 minus this are not made."""
ORDER, FEWEST_SLOW_BLOWS = 6, 4
"""Largest and smallest number of points of an extrapolation."""


class Clearance(NamedTuple):
    """The smallest distance in flight and its face, as a fraction of the largest distance of that face."""

    face: str
    share: float


def impact_count(point: CurvePoint) -> int:
    """Impacts and resets in a period; infinitely many impacts that end in contact are not counted."""
    motion = point.record.motion
    return len(separate_impacts(motion)) + len(motion.resets)


def clearance(motion: Motion) -> Clearance:
    """The smallest distance of an orbit from a face without contact, or of a reset's guard from zero, between impacts."""
    best = Clearance("", np.inf)
    for reset in motion.system.resets:
        distances = extremes(motion, reset.guard)
        low = distances.value[(distances.bend > 0) & (distances.value > 0)]
        share = float(low.min(initial=np.inf) / max(distances.largest, 1e-300))
        best = min(best, Clearance(reset.name, share), key=lambda either: either.share)
    for i, face in enumerate(motion.system.unilateral):
        if any(i in contacts for _, contacts in motion.contacts):
            continue
        distances = extremes(motion, face.function)
        low = distances.value[distances.bend > 0]
        share = float(low.min(initial=np.inf) / max(distances.largest, 1e-300))
        best = min(best, Clearance(face.name, share), key=lambda either: either.share)
    return best


def slowest_impact(motion: Motion) -> tuple[str, float]:
    """The face of the slowest impact, and its speed as a fraction of the largest rate of that distance, or of the impacts."""
    events = separate_impacts(motion)
    if not events:
        return "", np.inf
    event = min(events, key=lambda impact: abs(impact.before))
    face = next(face for face in motion.system.unilateral if face.name == event.constraint)
    rate = motion.run.evaluate(motion.t, motion.q, motion.v, ("g_d",))["g_d"][:, motion.system.unilateral.index(face)]
    return event.constraint, abs(event.before) / max(float(np.abs(rate).max()), 1e-300)


def grazing_without_contact(correct: Correct, start: CurvePoint, way: float) -> SpecialPoint | None:
    """The grazing orbit approached by a branch of orbits without contact, from one of them along its tangent (way 1) or against
    it (−1)."""
    count = impact_count(start)
    measure = lambda point: clearance(point.record.motion).share if impact_count(point) == count else -1.0
    return orbit_at_onset(correct, start, "grazing", measure, way)


def orbit_at_onset(
    correct: Correct, start: CurvePoint, kind: str, measure: Callable[[CurvePoint], float], way: float
) -> SpecialPoint | None:
    """The orbit at which a change begins, approached from an orbit before it: its measure, a fraction that is negative after
    the change, goes to zero. Orbits beyond it are not used. Where the sign can no longer be decided, the zero is
    extrapolated."""
    direction = way * start.tangent
    measured, s, s_beyond = measure(start), 0.0, np.inf
    if not 0 <= measured < np.inf:
        return None
    best, last, ds, samples = start, None, 1e-3, [(measured, start)]
    for _ in range(GRAZING_LOOKS):
        if measured <= TOUCHES or s_beyond - s < BARELY_APART:
            break
        if last is not None and last[1] != measured:
            ds = measured * (s - last[0]) / (last[1] - measured)
            if not ds > 0:
                return None  # it recedes
        ahead = min(s + ds, (s + s_beyond) / 2 if s + ds >= s_beyond else np.inf)
        if not ahead > s or ahead - s < 1e-15:
            break
        try:
            point = correct(start.x + ahead * direction, direction)
            share = measure(point)
        except FAILURES:
            share, point = -1.0, best
        if not share >= 0:
            s_beyond, ds = ahead, (ahead - s) / 2
            continue
        last, best, s, measured = (s, measured), point, ahead, share
        samples.append((measured, point))
    if measured > SPECIAL_POINT_RESIDUAL:
        return None
    value, error = float(best.x[-1]), measured
    if measured > TOUCHES and len(samples) > 2:
        value, coarse_value = (float(_limit(points, 0.0)[-1]) for points in (samples[-3:], samples[-2:]))
        error = abs(value - coarse_value)
    return SpecialPoint(kind, value, best.record, best, error, True)


def grazing_by_slow_impact(correct: Correct, points: list[CurvePoint]) -> SpecialPoint | None:
    """The grazing orbit approached by a branch of orbits with a slower and slower impact, beyond the last of some points."""
    count = impact_count(points[-1])
    measure = lambda point: slowest_impact(point.record.motion)[1] if impact_count(point) == count else np.inf
    return orbit_at_vanishing(correct, points, "grazing", measure, 1.0, SLOWEST)


def orbit_at_vanishing(
    correct: Correct, points: list[CurvePoint], kind: str, measure: Callable[[CurvePoint], float], way: float,
    least: float,
) -> SpecialPoint | None:  # fmt: skip
    """The orbit at which a feature vanishes, beyond the last of some points along the tangent (way 1) or against it (−1): its
    measure goes to zero, and orbits and parameters are smooth functions of it. The measure is infinite where the feature is
    absent. It is followed to the fraction `least` of its first value; the smaller it is, the more errors of motions matter."""
    samples = [(measure(point), point) for point in points[-ORDER:]]
    samples = [sample for k, sample in enumerate(samples) if k == len(samples) - 1 or np.inf > sample[0] > samples[k + 1][0]]
    if len(samples) < 2:  # one more, beyond the only one
        last = points[-1]
        try:
            neighbour = correct(last.x - way * 1e-3 * last.tangent, last.tangent)
        except FAILURES:
            return None
        samples.insert(0, (measure(neighbour), neighbour))
        if not np.inf > samples[0][0] > samples[1][0]:
            return None
    first_measure, share = samples[-1][0], 0.5  # of the remainder, at the next step; two points alone may overshoot
    while samples[-1][0] > least * min(first_measure, 1.0) and len(samples) < GRAZING_LOOKS and share < LAST_SHARE:
        x = _limit(samples[-ORDER:], share * samples[-1][0])
        direction = x - samples[-1][1].x
        try:
            point = correct(x, direction / np.linalg.norm(direction))
            measured = measure(point)
        except FAILURES:
            measured = np.inf
        if measured < samples[-1][0]:
            samples.append((measured, point))
            share = max(0.5, 2 * share - 1)
        else:
            share = (1 + share) / 2
    if len(samples) < FEWEST_SLOW_BLOWS:
        return None
    samples = samples[-ORDER:]
    value, coarse_value = (float(_limit(nearest, 0.0)[-1]) for nearest in (samples, samples[1:]))
    error = abs(value - coarse_value)
    last = samples[-1][1]
    return SpecialPoint(kind, value, last.record, last, error, error <= SPECIAL_POINT_RESIDUAL)


def _limit(samples: list[tuple[float, CurvePoint]], speed: float) -> Array:
    """x at a speed, by the polynomial through points with others (Neville)."""
    speeds, rows = [v for v, _ in samples], [point.x for _, point in samples]
    for k in range(1, len(rows)):
        for i in range(len(rows) - k):
            a, b = speeds[i], speeds[i + k]
            rows[i] = ((speed - b) * rows[i] + (a - speed) * rows[i + 1]) / (a - b)
    return rows[0]


def why_grazing(motion: Motion) -> str | None:
    """Why a branch is lost near an orbit: the face that it begins to graze; None if it does not."""
    clear, slow = clearance(motion), slowest_impact(motion)
    if slow[1] < NEAR_TOUCH:
        return f"the blow on '{slow[0]}' becomes a touch: the orbit begins to graze it"
    return f"the orbit begins to graze '{clear.face}'" if clear.share < NEAR_TOUCH else None


def grazing_between(correct: Correct, here: CurvePoint, there: CurvePoint) -> SpecialPoint | None:
    """The grazing orbit between two orbits with different numbers of impacts, approached from the side with fewer."""
    return (
        grazing_without_contact(correct, here, 1.0)
        if impact_count(here) < impact_count(there)
        else grazing_without_contact(correct, there, -1.0)
    )


__all__ = [
    "clearance",
    "grazing_between",
    "grazing_by_slow_impact",
    "grazing_without_contact",
    "impact_count",
    "orbit_at_onset",
    "orbit_at_vanishing",
    "slowest_impact",
    "why_grazing",
]
