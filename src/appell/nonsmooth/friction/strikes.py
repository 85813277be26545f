"""Impacts with friction during a run: which law applies, to which faces, and whether the system stays on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from appell.model.impact_laws import IMPACT_LAWS, NEWTON_LAW
from appell.modes.events import Kind
from appell.nonsmooth.contact.contact import Instant
from appell.nonsmooth.criteria import bouncing_time, face_stays, flight_unseen
from appell.nonsmooth.friction.decide import UndeterminedFriction
from appell.nonsmooth.friction.friction_course import friction_instant
from appell.nonsmooth.friction.impact import FrictionImpactOutcome, ImpactProblem
from appell.nonsmooth.mode_course import ModeCourse

Array = NDArray[np.float64]


def strike(course: ModeCourse, at: Instant, hits: list[int]) -> set[int]:
    """Applies the impact on the faces that are hit, and returns the faces on which the system stays."""
    closed = course.mode.closed if course.trace.modes else ()
    before = at.g_d.copy()
    impact = _impact(course, at, hits, closed, at.restitution)
    moved = at.moved(impact.dv)
    after = moved.g_d
    # a rebound that would not be resolved is none: the impact is solved again with e = 0 on those faces
    rests = [i for i in hits if face_stays(after[i], moved.slow[i]) or _flight_unresolved(course, at, i, float(after[i]))]
    _end_bouncing(course, at, [i for i in rests if after[i] > 0], after)
    if any(after[i] > 0 for i in rests):
        impact = _impact(course, at, hits, closed, np.where([i in rests for i in range(len(before))], 0.0, at.restitution))
        after = at.moved(impact.dv).g_d
    for i in hits:
        course.trace.record(i, Kind.IMPACT, float(before[i]), float(after[i]), float(impact.impulses[course.layout.m + i]))
    course.move(at.M, impact.dv, impact.dissipated)
    return set(rests)


def _end_bouncing(course: ModeCourse, at: Instant, faces: Sequence[int], rates: Array) -> None:
    """Records a landing on the faces after the bounces that are not simulated, which last 2 ġ/|g̈|/(1 − e)."""
    instant = friction_instant(course)
    problem = instant.problem
    x = problem.solve(course.mode.directed(course.layout, instant.slip)).x if course.trace.modes else at.flight
    for i in faces:
        row, e = course.layout.m + i, float(at.restitution[i])
        pressing = -float(problem.J[row] @ x + problem.c[row])
        duration = bouncing_time(float(rates[i]), pressing, e)
        course.friction.bounced[i] = min(course.trace.t + duration, course.task.t_end)


def _impact(course: ModeCourse, at: Instant, hits: list[int], closed: Sequence[int], e: Array) -> FrictionImpactOutcome:
    """The impact on the faces that are hit, with restitutions e (faces,), by the law that their frictions name."""
    instant, layout = friction_instant(course), course.layout
    problem = instant.problem
    if problem.law is not None:
        raise UndeterminedFriction("an impact: forces that are not affine in the multipliers do not define its impulses")
    laws = {course.loop.system.frictions[i].law for i in range(layout.count) if layout.face_of(i) in hits}
    rates = np.concatenate([np.zeros(layout.m), at.g_d, instant.slip])
    impact = ImpactProblem(problem, rates, e, course.names)
    resting = [f for f in closed if f not in hits]
    if len(laws) > 1:
        raise UndeterminedFriction(f"one impact with several laws ({', '.join(sorted(laws))}): give its frictions the same law")
    law = IMPACT_LAWS[next(iter(laws), NEWTON_LAW)]
    frictions = [i for i in range(layout.count) if layout.face_of(i) == hits[0]]
    bound = [i for i in range(layout.count) if not layout.limited(i) and layout.face_of(i) is None]
    several = len(hits) > 1 or resting or len(frictions) > 1 or bound
    if law.restore is not None and not (several or layout.parts[frictions[0]] > 1 or layout.smooth[frictions[0]]):
        return impact.by_process(hits[0], frictions[0], law.restore)
    if law.several is not None:
        return law.several(impact, hits, resting)
    uncovered = f"law='{law.name}' does not cover an impact on several contacts or with a two-dimensional slip"
    raise UndeterminedFriction(law.silence or uncovered)


def _flight_unresolved(course: ModeCourse, at: Instant, face: int, rate: float) -> bool:
    """Whether the flight after an impact is too short or too low to be resolved."""
    return bool(flight_unseen(rate, at.pressing(face), at.noise[face], np.spacing(abs(course.trace.t))))


__all__ = ["strike"]
