"""Laws for faces without friction: which impulses act at an instant, and which faces press afterwards.

Both are convex complementarity problems, solved in `contact.contact`. This module selects the faces that take part, and records
the events in the trace. Compiled code does the same for independent faces: `transition.c.in`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.backends import warn
from appell.errors import ModelError, Status
from appell.loop.trace import Trace
from appell.modes.contact_thresholds import (
    CORNER_IMPACTS,
    CORNER_RATE_AT_REST,
    CORNER_RATE_NEGLIGIBLE,
    FACE_JUST_LEFT,
    HIT_ORDER_UNSEEN,
)
from appell.modes.endings import Ending
from appell.modes.events import Kind
from appell.nonsmooth.contact.contact import (
    ImpactOutcome,
    Instant,
    bearing,
    complementary,
    contact_set,
    converge,
    independent,
    mode_of,
    newton_impact,
    sequence,
    together,
    well_posed,
)  # fmt: skip
from appell.nonsmooth.contact.nonlinear_impact import nonlinear_impact
from appell.nonsmooth.criteria import bouncing_time, rate_is_left
from appell.nonsmooth.mode_course import InstantEvents, Laws, ModeCourse, RunEnded

Array = NDArray[np.float64]

NO_NORMAL_RESPONSE = 1e-9
"""Fraction of the compliance without bilateral constraints below which an impulse on a face has no effect."""


def arrive(course: ModeCourse) -> None:
    """The mode at the start: impacts first where the state moves into a face, then the contacts that hold."""
    at, trace = course.faces(), course.trace
    if trace.p_before_jump is not None:
        _open_faces(course, at, [i for i in course.mode.resting if i not in at.on()])
        trace.p_before_jump = None
    strike(course, at, at.approaching)
    settle(course, InstantEvents())


def stretch(course: ModeCourse) -> Generator[Trace, None, tuple[Status, tuple[Ending, int] | None]]:
    """Steps in the current mode until it ends; compiled code makes the clear changes of mode itself and goes on."""
    trace = course.trace
    for _ in course.loop.in_mode(course.mode).run(course.task, trace):
        if trace.status is Status.BUFFER_FULL:
            yield trace
    if trace.status is Status.PROJECTION_FAILED and course.mode.redundant and course.independent_at != trace.t:
        _end_redundancy(course)
        return Status.OK, (Ending.DRIFT, course.mode.closed[0])
    if trace.status is not Status.SWITCH:
        return trace.status, None
    assert trace.switch is not None
    face, kind = trace.switch
    return Status.OK, (kind, face)


def _end_redundancy(course: ModeCourse) -> None:
    """Makes a state consistent where redundant faces have ceased to be so, by the least changes to g >= 0 and ġ >= 0.

    A bench on three feet slides onto a bump. Which of its feet stay in contact is decided by `settle`."""
    trace, nq, faces = course.trace, course.form.nq, list(course.mode.resting)
    course.independent_at, at = trace.t, course.faces()
    lifts = complementary(at.compliance(faces), at.g[faces], at.noise[faces])
    N = course.form.select("N")(trace.t, trace.z[:nq], at.v, course.p)["N"]
    trace.z[:nq] += N @ (at.responses(faces).T @ lifts)
    at = course.faces()
    course.move(at.M, together(at, dict.fromkeys(faces, 0.0), ()).dv)


def pass_on(course: ModeCourse, ending: Ending, face: int) -> None:
    """Moves on by a few spacings of the time to where the reaction of a leaving face is negative.

    Needed only for dependent faces: at Λ = 0 to rounding, another one would take up the load.
    """
    trace, contacts = course.trace, list(course.mode.closed)
    if ending is not Ending.LEAVE or course.mode.rank == len(contacts):
        return
    start, remaining = trace.t, abs(course.task.t_end - trace.t)
    requested = course.task.times[trace.passed :]
    room = min(remaining, abs(requested[0] - start)) if len(requested) else remaining
    for spacings in (0, 1, 2, 4, 8, 16, 32):
        dt = spacings * np.spacing(abs(start))
        if dt >= room and spacings:
            break
        trace.t = float(start + np.copysign(dt, course.task.t_end - start))
        at = course.faces()
        lam = at.solve(contacts, at.force, -at.a0, -at.g_dd0[contacts])[1]
        if lam[contacts.index(face)] < 0:
            if spacings:
                trace.keep()
            return
    trace.t = start


# -- impacts -----------------------------------------------------------------------------------------------------------


def strike(course: ModeCourse, at: Instant, hits: list[int]) -> set[int]:
    """Impacts on some faces, then on those that are approached after them, until none is. `settle` finds where it stays."""
    for _ in range(CORNER_IMPACTS):
        if not hits:
            return set()
        _strike(course, at, hits)
        at = course.faces()
        hits = [i for i in at.approaching if i not in course.mode.closed]
    faces = sorted({*at.on(), *course.mode.resting})
    if not converge(at, [i for i in faces if i not in course.mode.resting], course.mode.resting):
        raise RunEnded(Status.CORNER)
    course.move(at.M, together(at, dict.fromkeys(faces, 0.0), ()).dv)
    return set()


def _strike(course: ModeCourse, at: Instant, faces: list[int]) -> None:
    """Impacts on one or several faces, by the rule for corners; on several at once only where the result is unique."""
    resting, rule = [j for j in course.mode.resting if j not in faces], course.loop.corner
    restitution = {i: float(at.restitution[i]) for i in faces}
    if course.loop.bends and len(faces) == 1:
        impacts: list[ImpactOutcome] | None = [_nonlinear_impact(course, at, faces[0], resting)]
    elif (decoupled := _decoupled_impact(at, restitution, resting)) is not None:
        impacts = [decoupled]
    elif rule == "together" or (rule == "raise" and _meet_anyway(course, at, faces) and not well_posed(at, faces, resting)):
        impacts = [together(at, restitution, resting)]
    elif rule == "raise" and _order_is_hidden(at, faces) and not well_posed(at, faces, resting):
        raise RunEnded(Status.CORNER)
    else:
        order = sorted(faces, key=lambda i: at.g[i]) if rule == "raise" else faces
        impacts = sequence(at, order[::-1] if rule == "last" else order, resting)
    if impacts is None:
        raise RunEnded(Status.CORNER)
    for impact in impacts:
        after = at.moved(impact.dv)
        for i in impact.hits:
            course.trace.record(i, Kind.IMPACT, float(at.g_d[i]), float(after.g_d[i]), impact.impulses[i])
        course.move(at.M, impact.dv)
        at = after


def _decoupled_impact(at: Instant, restitution: dict[int, float], resting: list[int]) -> ImpactOutcome | None:
    """One impact on faces that are decoupled, also through the contacts; None where they are not."""
    if not at.orthogonal(list(restitution)):
        return None
    impact = newton_impact(at, restitution, resting)
    return impact if all(impact.impulses[i] >= 0 for i in restitution) else None


def _order_is_hidden(at: Instant, faces: list[int]) -> bool:
    """Whether it matters which face is met first, and rounding hides it."""
    met = (at.g <= HIT_ORDER_UNSEEN * at.noise)[faces]
    return bool(met.all() and (np.abs(at.g_d) > CORNER_RATE_NEGLIGIBLE * at.slow)[faces].any())


def _meet_anyway(course: ModeCourse, at: Instant, faces: list[int]) -> bool:
    """Whether the geometry makes the faces meet at one instant.

    The cause is a contact (a box that turns about one edge falls onto the opposite one) or a third face that was left just now
    (a box that comes to rest). No nearby initial state meets one face long before the other, so a simultaneous impact is not an
    arbitrary choice.
    """
    near, closed = set(np.flatnonzero(at.g <= FACE_JUST_LEFT * at.noise).tolist()), course.mode.closed
    if near - set(faces) - set(course.mode.resting):
        return True
    return bool(closed) and all(_implied(course, (*closed, faces[0]), i) for i in faces[1:])


def _nonlinear_impact(course: ModeCourse, at: Instant, face: int, resting: list[int]) -> ImpactOutcome:
    """An impact under constraints that are nonlinear in the velocities: see `nonlinear_impact`."""
    form, trace, p = course.form, course.trace, course.p
    instant = lambda v: Instant.at(form, trace.t, trace.z[: form.nq].copy(), v, p, course.floor)
    return nonlinear_impact(instant, at, face, resting)


def land(course: ModeCourse, face: int) -> None:
    """Ends bouncing on a face. The flights that are left out, each e times the one before, last 2 ġ/|g̈|/(1 − e)."""
    at, trace = course.faces(), course.trace
    impact = newton_impact(at, {face: 0.0}, [i for i in course.mode.resting if i != face])
    e, rate = float(at.restitution[face]), float(at.g_d[face])
    duration = bouncing_time(rate, at.pressing(face, course.mode.closed), e)
    _landed(course, face, rate, max(impact.impulses[face], 0.0), min(trace.t + duration, course.task.t_end))
    course.move(at.M, impact.dv)


def _landed(course: ModeCourse, face: int, rate: float, impulse: float, time: float) -> None:
    """Records a landing, at the time at which the bouncing would have ended."""
    course.landings[face] = time
    course.trace.record(face, Kind.LANDING, rate, 0.0, impulse, time)


def stall(course: ModeCourse, _: Ending) -> InstantEvents:
    """Brings all faces to rest where bouncing between several of them accumulates and takes no more time."""
    at, trace = course.faces(), course.trace
    faces = sorted({*at.on(), *course.mode.resting, *trace.touching})
    if course.bouncing_ended_at == trace.t or len(faces) < 2:
        raise RunEnded(Status.ACCUMULATION if len(faces) > 1 else Status.STEP_TOO_SMALL)
    slow = (np.abs(at.g_d) <= CORNER_RATE_AT_REST * at.slow)[faces]
    impacts = [together(at, dict.fromkeys(faces, 0.0), ())] if slow.all() else _impacts_in_turn(at, faces, course.mode.resting)
    if impacts is None:
        raise RunEnded(Status.ACCUMULATION)
    course.bouncing_ended_at, trace.stalled = trace.t, 0
    course.move(at.M, sum((impact.dv for impact in impacts), np.zeros(len(at.v))))
    return InstantEvents(met=frozenset(faces))


def _impacts_in_turn(at: Instant, faces: list[int], resting: Sequence[int]) -> list[ImpactOutcome] | None:
    """All impacts that are still to come at this instant; None where they are in doubt."""
    hits = [i for i in faces if i not in resting]
    all_independent = len(independent(at, faces)) == len(faces)  # not so for walls that close on each other
    return sequence(at, hits, resting) if all_independent and (len(hits) <= 2 or well_posed(at, hits, resting)) else None


# -- the next mode -----------------------------------------------------------------------------------------------------


def settle(course: ModeCourse, events: InstantEvents) -> None:
    """Enters the next mode: the contacts that hold from here on, and the redundant faces without load (asleep)."""
    at, trace = course.faces(), course.trace
    previous, holding = course.mode.resting, events.holding
    candidates = {*at.on(), *previous, *events.met}
    resting = sorted(i for i in candidates if abs(at.g_d[i]) <= at.slow[i] or i in holding)
    contacts = contact_set(at, [i for i in resting if i != events.leaving], holding)
    shared = bearing(at, contacts, resting)
    if shared != contacts and _lastingly_redundant(course, at, shared):
        contacts = shared
    mode = mode_of(at, contacts, [i for i in resting if i not in contacts and _implied(course, contacts, i)])
    if contacts:
        at = _remove_rates(course, at, contacts)
    trace.enter(mode)
    for face in previous:
        if face not in mode.resting:
            trace.record(face, Kind.LEAVING, 0.0, float(at.g_d[face]), 0.0)
    for face in mode.resting:
        if face not in previous and course.landings[face] < trace.t:
            _landed(course, face, float(at.g_d[face]), 0.0, trace.t)
    trace.touching = candidates - set(mode.resting)


def _remove_rates(course: ModeCourse, at: Instant, contacts: tuple[int, ...]) -> Instant:
    """Removes the remaining rates of the contacts."""
    rates = at.g_d[list(contacts)]
    if not np.any(rate_is_left(rates, at.slow[list(contacts)])):
        return at  # small enough for the projection after the next step
    dv = at.solve(contacts, np.zeros(len(at.M)), np.zeros(len(at.A)), -rates)[0]
    course.move(at.M, dv)
    return at.moved(dv)


def _open_faces(course: ModeCourse, at: Instant, faces: list[int]) -> None:
    """Opens faces whose distance has jumped at a discontinuity in time."""
    mode = course.mode
    if not faces:
        return
    closed = [i for i in mode.closed if i not in faces]
    course.trace.enter(mode_of(at, closed, [i for i in mode.asleep if i not in faces]))
    for face in faces:
        course.trace.record(face, Kind.LEAVING, 0.0, float(at.g_d[face]), 0.0)


def _lastingly_redundant(course: ModeCourse, at: Instant, faces: tuple[int, ...]) -> bool:
    """Whether the faces that depend on the others at this state do so wherever the others are closed."""
    basis = independent(at, faces)
    return all(_implied(course, basis, i) for i in faces if i not in basis)


def _implied(course: ModeCourse, contacts: tuple[int, ...], face: int) -> bool:
    """Whether g of a face is zero wherever the contacts are closed; not right after redundant faces have ceased to be so."""
    if course.independent_at == course.trace.t:
        return False
    q, v = np.split(course.trace.z[:-1].copy(), [course.form.nq])
    return course.loop.implied(contacts, face, course.trace.t, q, v)


def explain(course: ModeCourse, status: Status) -> None:
    """Names faces that are met where they have no normal; warns of those into which the bilateral constraints drive the system,
    so that no impulse can stop it."""
    if status not in (Status.SINGULAR, Status.STEP_TOO_SMALL, Status.NOT_FINITE, Status.ACCUMULATION):
        return
    at, nv = course.faces(), course.form.nv
    for face in np.flatnonzero((at.g <= FACE_JUST_LEFT * at.noise) & ~np.isfinite(at.g_v).all(axis=1)):
        name = course.loop.system.unilateral[face].name
        course.trace.failure = ModelError(f"'{name}' is met where it has no normal: a derivative of it is not finite there")
        return
    free = replace(at, A=np.zeros((0, nv)), W=np.zeros((nv, 0)), a0=np.zeros(0))
    for face in at.approaching:
        if at.compliance([face])[0, 0] <= NO_NORMAL_RESPONSE * free.compliance([face])[0, 0]:
            name = course.loop.system.unilateral[face].name
            warn(
                f"at t = {course.trace.clock:.9g} the bilateral constraints drive the motion into '{name}', and no impulse"
                " can stop it"
            )


FACE_LAWS = Laws(arrive, stretch, pass_on, strike, settle, stall, explain)

__all__ = ["FACE_LAWS", "land"]
