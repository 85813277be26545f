"""From an event to the mode after it: slip that has vanished is set to zero, blows are given, and `decide` finds the mode."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.nonsmooth.contact.contact_thresholds import LEFT
from appell.nonsmooth.contact.events import Kind
from appell.nonsmooth.friction.decide import UndeterminedFriction, decide, dependent
from appell.nonsmooth.friction.directions import refined
from appell.nonsmooth.friction.friction_course import FrictionCourse
from appell.nonsmooth.friction.guards import BREAK, DRIFT, HIT, HOLD, JAM, KINK, LEAVE, SIGN, STOP, ZERO, ModeGuard
from appell.nonsmooth.friction.nonunique_reactions import matters
from appell.nonsmooth.friction.pairs import begin_to_slide, pair_stops
from appell.nonsmooth.friction.problem import Answer, Problem
from appell.nonsmooth.friction.strikes import strike
from appell.nonsmooth.friction.thresholds import AT_REST, VANISHING
from appell.nonsmooth.mode import SLIP, STICK, Mode
from appell.notes import Note
from appell.rows import saddle_point

Array = NDArray[np.float64]


def arrive(course: FrictionCourse) -> None:
    """The mode of the start, unless it is known."""
    if course.trace.modes and course.trace.broken is not None:
        _reread(course, course.trace.broken)
        return
    if course.trace.modes and course.trace.decided_with is not None and not np.array_equal(course.p, course.trace.decided_with):
        settle(course, set(course.mode.closed), stopped=None)  # under other parameters: what a control gives has changed
        return
    if course.trace.modes:
        return
    at = course.contact_instant()
    if at.approaching:
        strike(course, at, at.approaching)
    settle(course, set(), stopped=None)


def _reread(course: FrictionCourse, before: Array) -> None:
    """The mode after a break, before which parameters were others: faces whose rate has jumped are struck or let go, and
    what stuck slides from here on where the jump is one of its slip."""
    at, nq, nv = course.contact_instant(), course.form.nq, course.form.nv
    here = course.instant()
    slip, sizes, q, v = here.slip, here.sizes, course.trace.z[:nq].copy(), course.trace.z[nq : nq + nv].copy()
    _, out = course.loop.functions.problem(course.trace.t, q, v, before, VANISHING**2 * course.largest)
    moved = np.abs(slip - out["s"]) > AT_REST * (sizes + out["s_size"])
    jumped = {i for i in range(course.own.count) if moved[course.own.columns(i)].any()}
    landed = strike(course, at, at.approaching) if at.approaching else set()
    now, struck = course.contact_instant(), bool(at.approaching)
    kept = {i for i in course.mode.closed if i in now.on() and now.g_d[i] <= 2 * now.slow[i]}
    course.trace.broken = None
    settle(course, {*kept, *landed}, stopped=None, struck=struck, jumped=jumped)


def arrive_without_blows(course: FrictionCourse) -> None:
    """The mode of a state as it is."""
    settle(course, set(), stopped=None)


def change(course: FrictionCourse, event: ModeGuard) -> None:
    """The mode after an event."""
    TRANSITIONS[event.kind](course, event.number)


def _settle_again(course: FrictionCourse, _: int) -> None:
    settle(course, set(course.mode.closed), stopped=None)


def _refuse(course: FrictionCourse, i: int) -> None:
    raise UndeterminedFriction(f"the coefficient or limit of friction '{course.names[i]}' becomes negative")


def _stopped(course: FrictionCourse, i: int) -> None:
    """A slip has vanished, unless that of a pair passes zero by."""
    if course.own.parts[i] > 1 and not pair_stops(course, i):
        course.level[i] = 0.0
    else:
        settle(course, set(course.mode.closed), stopped=i)


def _hit(course: FrictionCourse, face: int) -> None:
    """A blow, on all faces that are met there."""
    at = course.contact_instant()
    near = [i for i in at.on() if i not in course.mode.closed and at.g_d[i] < -at.slow[i]]
    hits = sorted({face, *near}) if at.g_d[face] < 0 else near
    landed = strike(course, at, hits) if hits else {face}
    now = course.contact_instant()
    kept = {i for i in course.mode.closed if now.g_d[i] <= 2 * now.slow[i]}  # the blow may have lifted others
    settle(course, {*kept, *landed}, stopped=None, struck=bool(hits))


TRANSITIONS: dict[str, Callable[[FrictionCourse, int], None]] = {
    HIT: _hit,  # g of an open face reaches 0: strike, settle
    LEAVE: _settle_again,  # Λ of a closed face falls through 0
    STOP: _stopped,  # u·s of what slides, or |s| of a pair, falls to 0: still, settle
    BREAK: _settle_again,  # |λ| of what sticks reaches its bound
    KINK: _settle_again,  # Λ of a constraint that presses on what slides changes its sign
    ZERO: _settle_again,  # the same of one among several that press together
    JAM: _settle_again,  # a configuration of Painlevé
    HOLD: _settle_again,  # reactions that are not unique no longer hold
    DRIFT: _settle_again,  # a row that held because of others does not any more
    SIGN: _refuse,  # μ or F falls through 0
}
"""From what ends a mode to the mode after it: a guard's kind → what is done, with the number of its face, friction or row."""


def settle(
    course: FrictionCourse, closed: set[int], stopped: int | None, *, struck: bool = False, jumped: Collection[int] = ()
) -> None:
    """Slip that has vanished is set to zero, and the next mode is found. After a blow what stuck may slide, and so may
    the frictions whose slip has `jumped`."""
    trace, own = course.trace, course.own
    at = course.contact_instant()
    faces = sorted({i for i in (*closed, *at.on()) if abs(at.g_d[i]) <= at.slow[i] or i in closed})
    here = course.instant()
    was = trace.modes[-1][1].rubs if trace.modes and not struck else None
    resting = [
        i for i in range(own.count) if not own.smooth[i]
        and (i == stopped or (was is not None and was[i].state == STICK and i not in jumped) or course.still(here, i))
    ]  # fmt: skip
    course.stop(resting, faces if not closed else sorted(closed))
    here = course.instant()
    slipping = {i: here.direction(own, i) for i in range(own.count) if i not in resting}
    ahead = lambda mode, part: _ahead(course, mode, part, resting, faces)
    answer = decide(here.problem, faces, resting, slipping, ahead, course.names)
    mode, before = answer.mode, trace.modes[-1][1].closed if trace.modes else ()
    course.enter(trace.t, mode)
    course.known_answer = answer
    for face in sorted(set(before) - set(mode.closed)):
        trace.record(face, Kind.LEAVING, 0.0, float(at.g_d[face]), 0.0)
    for face in sorted(set(mode.closed) - set(before)):
        trace.record(face, Kind.LANDING, float(at.g_d[face]), 0.0, 0.0, course.bounced.get(face))
    course.bounced.clear()
    _note(course, here.problem, answer)
    _press(course)
    if any(rub.fixed for rub in mode.rubs):
        begin_to_slide(course)


def _press(course: FrictionCourse) -> None:
    """Rates that count as none, of faces that are closed now, become none by impulses as the mode has them, Coulomb's law
    among them: what bouncing that is not followed any more would have given, beside the reactions of the contact."""
    at, own, here = course.contact_instant(), course.own, course.instant()
    problem, mode = here.problem, course.mode.directed(own, here.slip)
    if not any(abs(at.g_d[f]) > LEFT * at.slow[f] for f in mode.closed):
        return
    rates = np.concatenate([np.zeros(own.m), at.g_d, here.slip])
    held, sliding = mode.acting(own), [i for i, rub in enumerate(mode.rubs) if rub.state == SLIP and not own.smooth[i]]
    for W in (problem.columns(mode)[0], problem.J.T):  # by ideal impulses where friction would be pulled through its stop
        dv = saddle_point(problem.M, problem.J[held], W[:, held], np.zeros(len(at.v)), -rates[held]).x
        after = rates + problem.J @ dv
        if all(after[own.own_rows(i)] @ rates[own.own_rows(i)] > 0 for i in sliding):
            break
    course.move(problem.M, dv)
    course.known_answer = None


def _note(course: FrictionCourse, problem: Problem, answer: Answer) -> None:
    """Says once where forces of friction are not unique."""
    free = answer.free
    if not free.shape[1] or not matters(problem, answer):
        return
    own, system = course.own, course.loop.system
    normals = [c.name for c in (*system.constraints, *system.unilateral)]
    rows = [(row, normals[row]) for row in range(own.m + own.faces)]
    rows += [(row, name) for i, name in enumerate(course.names) for row in own.own_rows(i)]
    names = tuple(dict.fromkeys(name for row, name in rows if np.abs(free[row]).max() > 1e-9 * np.abs(free).max()))
    if any(note.kind == "indeterminate" and note.constraints == names for note in course.trace.notes):
        return
    text = "reactions are not unique; whether they hold is decided by a linear programme over the cones"
    listed = ", ".join(f"'{name}'" for name in names)
    course.trace.notes.append(Note(f"{listed}: {text}", time=course.trace.clock, kind="indeterminate", constraints=names))


def _ahead(course: FrictionCourse, mode: Mode, part: float, resting: list[int], faces: list[int]) -> float:
    """The slack of a mode after a part of its first step."""
    trace = course.trace
    mode = replace(mode, idle=dependent(course.instant().problem, mode))
    task = replace(course.task, t0=trace.t, z0=trace.z, p=course.numbers(mode), first_step=None,
                   times=np.zeros(0), max_steps=1, keep_steps=True)  # fmt: skip
    *_, there = course.loop.plain.run(task)
    if len(there.t_steps) < 2:
        return -np.inf
    time = trace.t + part * float(there.t_steps[1] - trace.t)
    z = course.states(np.array([time]), (there.t_steps, there.z_steps), task)[0]
    return _slack(course, mode, time, z, resting, faces)


def _slack(course: FrictionCourse, mode: Mode, t: float, z: Array, resting: list[int], faces: list[int]) -> float:
    try:
        there = course.instant(t, z)
        problem, mode = there.problem, mode.directed(course.own, there.slip)
        mode = refined(problem, mode) or mode  # pairs that begin have the directions of then, too
        answer = problem.checked(problem.solve(mode), resting, faces)
    except (AppellError, np.linalg.LinAlgError):
        return -np.inf
    return answer.slack if answer.solvable else -np.inf


__all__ = ["TRANSITIONS", "arrive", "arrive_without_blows", "change", "settle"]
