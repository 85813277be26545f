"""Laws of faces and frictions: vanished slip is set to zero, impacts are applied, and `decide` finds the mode.

Compiled code makes the clear decisions itself: `steps.c.in`, `settle.c.in`.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import replace
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError, Status
from appell.loop.trace import Trace
from appell.modes.endings import Ending
from appell.modes.events import Kind
from appell.modes.mode import STICK, Mode
from appell.nonsmooth.criteria import face_stays, rate_is_left
from appell.nonsmooth.friction.decide import UndeterminedFriction, decide, dependent
from appell.nonsmooth.friction.directions import refined
from appell.nonsmooth.friction.friction_course import (
    FIRST_STRETCH,
    LONGEST_STRETCH,
    at_rest,
    enter,
    friction_instant,
    numbers_of,
    slopes,
    states_inside,
    stop_slips,
)
from appell.nonsmooth.friction.guards import OF_REACTIONS, ModeGuard
from appell.nonsmooth.friction.nonunique_reactions import affects_contacts, involved
from appell.nonsmooth.friction.pairs import begin_to_slide, pair_stops
from appell.nonsmooth.friction.problem import Answer, Problem
from appell.nonsmooth.friction.stretches import run_stretch
from appell.nonsmooth.friction.strikes import strike
from appell.nonsmooth.friction.thresholds import ACCELERATIONS_VANISHING, SLIP_AT_REST
from appell.nonsmooth.mode_course import InstantEvents, Laws, ModeCourse, RunEnded
from appell.notes import Note
from appell.rows import least_change, saddle_point

Array = NDArray[np.float64]

STEPS_BEFORE_DOUBT = 3
"""Steps that Python takes after compiled code has stopped before a doubtful event."""


def arrive(course: ModeCourse) -> None:
    """Finds the mode at the start unless it is known; compiled steps find it where it is clear."""
    trace, steps = course.trace, course.friction.steps
    if not trace.modes and steps is not None and not course.layout.faces and steps.arrive():
        return
    if trace.modes and trace.p_before_jump is not None:
        _after_jump(course, trace.p_before_jump)
    elif trace.modes and trace.decided_with is not None and not np.array_equal(course.p, trace.decided_with):
        settle(course, InstantEvents())  # a control has changed parameters
    elif not trace.modes:
        at = course.faces()
        if at.approaching:
            strike(course, at, at.approaching)
        settle(course, InstantEvents())


def _after_jump(course: ModeCourse, p0: Array) -> None:
    """The mode after a discontinuity in time or a change of parameters, which were p0 before it.

    Faces whose rate has jumped are hit or opened; a sticking friction whose slip has jumped slides from here on.
    """
    at, nq, nv = course.faces(), course.form.nq, course.form.nv
    instant = friction_instant(course)
    slip, sizes, q, v = instant.slip, instant.sizes, course.trace.z[:nq].copy(), course.trace.z[nq : nq + nv].copy()
    _, blocks = course.loop.functions.problem(course.trace.t, q, v, p0, ACCELERATIONS_VANISHING**2 * course.friction.largest)
    jumps = np.abs(slip - blocks["s"]) > SLIP_AT_REST * (sizes + blocks["s_size"])
    jumped = {i for i in range(course.layout.count) if jumps[course.layout.columns(i)].any()}
    landed = strike(course, at, at.approaching) if at.approaching else set()
    after, struck = course.faces(), bool(at.approaching)
    closed = {i for i in course.mode.closed if i in after.on() and face_stays(after.g_d[i], after.slow[i])}
    course.trace.p_before_jump = None
    _settle(course, {*closed, *landed}, stopped=None, struck=struck, jumped=jumped)


def stretch(course: ModeCourse) -> Generator[Trace, None, tuple[Status, tuple[Ending, int] | None]]:
    """Compiled steps as far as they go, otherwise steps of the plain loop: only a few after a doubtful event."""
    memory, trace = course.friction, course.trace
    yield from ()
    if trace.statistics.accepted >= course.task.max_steps:
        return Status.MAX_STEPS, None
    status, ending = _advance(course)
    if ending is None:
        memory.stretch = min(2 * memory.stretch, LONGEST_STRETCH)
    else:
        memory.stretch, trace.next_step, course.steps_before_ending = FIRST_STRETCH, None, len(trace.steps)
    return status, ending


def _advance(course: ModeCourse) -> tuple[Status, ModeGuard | None]:
    """Compiled steps where they handle the mode; steps in Python otherwise, and where compiled code leaves a step to them."""
    memory = course.friction
    if memory.steps is not None and memory.steps.takes():
        if (outcome := memory.steps.go()) is not None:
            return outcome
        if course.trace.t == course.task.t_end:
            return Status.OK, None  # the last step was taken; it was the next one that Python had to examine
        memory.stretch = STEPS_BEFORE_DOUBT
    return run_stretch(course)


def pass_on(course: ModeCourse, ending: Ending, _: int) -> None:
    """Moves on in time, by more spacings each time the mode that a reaction has just ended is found again."""
    trace, requested = course.trace, course.task.times[course.trace.passed :]
    dt = 2.0**trace.stalled * np.spacing(trace.t)
    free = trace.t + dt < course.task.t_end and not (len(requested) and requested[0] <= trace.t + dt)
    if trace.stalled and ending in OF_REACTIONS and free:
        trace.move(trace.t + dt, trace.z + dt * slopes(course, trace.t, trace.z, course.mode))


def stop(course: ModeCourse, i: int) -> bool:
    """Whether a slip has vanished; the slip of a pair may pass zero without stopping."""
    if course.layout.parts[i] == 1 or pair_stops(course, i):
        return True
    course.friction.level[i] = 0.0
    return False


def refuse(course: ModeCourse, i: int) -> NoReturn:
    """Ends the run where a coefficient of friction becomes negative: friction would drive the system."""
    raise UndeterminedFriction(f"the coefficient or limit of friction '{course.names[i]}' becomes negative")


def stall(course: ModeCourse, ending: Ending) -> NoReturn:
    """Ends the run where modes keep changing at one instant."""
    if ending is Ending.STANDSTILL:
        raise RunEnded(Status.STEP_TOO_SMALL)
    raise UndeterminedFriction(f"friction modes keep changing at one instant ({', '.join(course.names)})")


def settle(course: ModeCourse, events: InstantEvents) -> None:
    """Finds the mode from here on. Where a face is met, closed ones may have lifted off."""
    closed = set(course.mode.closed)
    if events.struck or events.holding:
        at = course.faces()
        closed = {i for i in closed if face_stays(at.g_d[i], at.slow[i])}
    _settle(course, {*closed, *events.holding}, stopped=events.stopped, struck=events.struck)


def _settle(
    course: ModeCourse, closed: set[int], stopped: int | None, *, struck: bool = False, jumped: Collection[int] = ()
) -> None:
    """Sets vanished slip to zero and finds the next mode.

    closed: faces that stay in contact if they can; stopped: a friction whose slip has vanished. After an impact (struck)
    sticking frictions may slide, and so may those whose slip has `jumped`.
    """
    trace, layout = course.trace, course.layout
    at = course.faces()
    faces = sorted({i for i in (*closed, *at.on()) if abs(at.g_d[i]) <= at.slow[i] or i in closed})
    instant = friction_instant(course)
    last = trace.modes[-1][1].frictions if trace.modes and not struck else None
    resting = [
        i for i in range(layout.count) if not layout.smooth[i]
        and (i == stopped or (last is not None and last[i].state == STICK and i not in jumped) or at_rest(course, instant, i))
    ]  # fmt: skip
    stop_slips(course, resting, faces if not closed else sorted(closed))
    instant = friction_instant(course)
    slipping = {i: instant.direction(layout, i) for i in range(layout.count) if i not in resting}
    slack_ahead = lambda mode, fraction: _slack_later(course, mode, fraction, resting, faces)
    answer = decide(instant.problem, faces, resting, slipping, slack_ahead, course.names)
    mode, closed_before = answer.mode, trace.modes[-1][1].closed if trace.modes else ()
    enter(course, trace.t, mode)
    course.friction.answer = answer
    for face in sorted(set(closed_before) - set(mode.closed)):
        trace.record(face, Kind.LEAVING, 0.0, float(at.g_d[face]), 0.0)
    for face in sorted(set(mode.closed) - set(closed_before)):
        trace.record(face, Kind.LANDING, float(at.g_d[face]), 0.0, 0.0, course.friction.bounced.get(face))
    course.friction.bounced.clear()
    _note(course, instant.problem, answer)
    _remove_rates(course)
    if any(friction.fixed for friction in mode.frictions):
        begin_to_slide(course)


def _remove_rates(course: ModeCourse) -> None:
    """Removes the remaining rates of closed faces by impulses in the directions of the mode, Coulomb's law included.

    These are the impulses of the bounces that are no longer simulated, in addition to the reactions of the contact.
    """
    at, layout, instant = course.faces(), course.layout, friction_instant(course)
    problem, mode = instant.problem, course.mode.directed(layout, instant.slip)
    if not any(rate_is_left(at.g_d[f], at.slow[f]) for f in mode.closed):
        return
    rates = np.concatenate([np.zeros(layout.m), at.g_d, instant.slip])
    rows, sliding = mode.acting(layout), [i for i in mode.sliding if not layout.smooth[i]]
    for W in (problem.columns(mode)[0], problem.J.T):  # ideal impulses where friction would push a slip beyond zero
        dv = saddle_point(problem.M, problem.J[rows], W[:, rows], np.zeros(len(at.v)), -rates[rows]).x
        rates_after = rates + problem.J @ dv
        if all(rates_after[layout.own_rows(i)] @ mode.frictions[i].u >= 0 for i in sliding):
            break
    else:  # impulses of either kind would turn a slip against the direction of its mode: the slips stay as they are
        slips = [row for i in sliding for row in layout.own_rows(i)]
        dv = least_change(problem.M, problem.J[[*rows, *slips]], np.concatenate([-rates[rows], np.zeros(len(slips))]))
    course.move(problem.M, dv)
    course.friction.answer = None


def _note(course: ModeCourse, problem: Problem, answer: Answer) -> None:
    """Adds a note, once, where friction forces are not unique."""
    free = answer.free
    if not free.shape[1] or not affects_contacts(problem, answer):
        return
    layout, system = course.layout, course.loop.system
    normals = [c.name for c in (*system.constraints, *system.unilateral)]
    rows = [(row, normals[row]) for row in range(layout.m + layout.faces)]
    rows += [(row, name) for i, name in enumerate(course.names) for row in layout.own_rows(i)]
    names = tuple(dict.fromkeys(name for row, name in rows if involved(free, [row])))
    if any(note.kind == "indeterminate" and note.constraints == names for note in course.trace.notes):
        return
    text = "reactions are not unique; whether they hold is decided by a linear programme over the cones"
    listed = ", ".join(f"'{name}'" for name in names)
    course.trace.notes.append(Note(f"{listed}: {text}", time=course.trace.clock, kind="indeterminate", constraints=names))


def _slack_later(course: ModeCourse, mode: Mode, fraction: float, resting: list[int], faces: list[int]) -> float:
    """The slack of a mode after a part of its first step."""
    trace = course.trace
    mode = replace(mode, idle=dependent(friction_instant(course).problem, mode))
    task = replace(course.task, t0=trace.t, z0=trace.z, p=numbers_of(course, mode), first_step=None,
                   times=np.zeros(0), max_steps=1, keep_steps=True)  # fmt: skip
    *_, trial = course.loop.plain.run(task)
    if len(trial.t_steps) < 2:
        return -np.inf
    time = trace.t + fraction * float(trial.t_steps[1] - trace.t)
    z = states_inside(course, np.array([time]), (trial.t_steps, trial.z_steps), task)[0]
    return _slack(course, mode, time, z, resting, faces)


def _slack(course: ModeCourse, mode: Mode, t: float, z: Array, resting: list[int], faces: list[int]) -> float:
    """The slack of a mode at a state; −∞ where it has no solution."""
    try:
        instant = friction_instant(course, t, z)
        problem, mode = instant.problem, mode.directed(course.layout, instant.slip)
        mode = refined(problem, mode) or mode  # pairs that begin to slide take the directions of that time
        answer = problem.checked(problem.solve(mode), resting, faces)
    except (AppellError, np.linalg.LinAlgError):
        return -np.inf
    return answer.slack if answer.solvable else -np.inf


FRICTION_LAWS = Laws(arrive, stretch, pass_on, strike, settle, stall, explain=lambda course, status: None)

__all__ = ["FRICTION_LAWS", "refuse", "settle", "stop"]
