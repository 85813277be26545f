"""A stretch of motion in one mode: guards are sampled along it, the first crossing is located, and the last step ends there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.errors import Status
from appell.loop.task import Task
from appell.loop.trace import Statistics, Trace
from appell.modes.mode import SLIP, Mode
from appell.nonsmooth.criteria import moved_onto, pair_level
from appell.nonsmooth.friction.friction_course import (
    STEPS_MADE_AGAIN,
    FrictionInstant,
    answer_here,
    friction_instant,
    guard_data_in_mode,
    numbers_of,
    slopes,
    states_inside,
)
from appell.nonsmooth.friction.guards import HIT, STEP_PARTS, STOP, GuardWatch, ModeGuard, crossings
from appell.nonsmooth.friction.locate import located
from appell.nonsmooth.friction.nonunique_reactions import affects_contacts
from appell.nonsmooth.friction.thresholds import GUARD_UNRISEN, TIE
from appell.nonsmooth.mode_course import ModeCourse, RunEnded
from appell.roots.enclosure import Interval, enclosure
from appell.roots.followed_data import following_times
from appell.roots.guard import StepPolynomial
from appell.roots.limits import FALL_FROM_ZERO
from appell.roots.solved_guards import isolating_times

Array = NDArray[np.float64]

BOUNDED_DATA = (0, 1, 2, 3, 4, 7, 8)
"""M, r, J, W, γ, μ and μ at rest among the outputs of `FrictionFunctions.blocks`."""
NEAR_TIE = 1e-3
"""Slack of non-unique reactions below which it is tracked as a guard; above it, they hold safely."""


def run_stretch(course: ModeCourse) -> tuple[Status, ModeGuard | None]:
    """Takes some steps of the plain loop, up to the first event if there is one."""
    trace, task, mode = course.trace, course.task, course.mode
    steps = min(course.friction.stretch, task.max_steps - trace.statistics.accepted)
    plain = replace(
        task, t0=trace.t, z0=trace.z, p=numbers_of(course, mode), first_step=trace.next_step,
        times=np.zeros(0), max_steps=steps, keep_steps=True,
    )  # fmt: skip
    *_, tried = course.loop.plain.run(plain)  # as if the mode lasted
    t, z = tried.t_steps, tried.z_steps
    status = Status.OK if tried.status is Status.MAX_STEPS else tried.status
    if len(t) < 2:
        return (status if status is not Status.OK else Status.STEP_TOO_SMALL), None
    first_step = float(t[1] - t[0])
    requested = task.times[trace.passed :]
    requested = requested[requested <= t[-1]]
    # repeat the steps with samples inside them, and evaluate the guards there
    points = _subdivided(t, STEP_PARTS)
    repeat = replace(plain, first_step=first_step, t_end=float(t[-1]), max_steps=STEPS_MADE_AGAIN, keep_steps=False)
    samples, states = _sampled_states(course, repeat, np.union1d(points, requested))
    outputs = guard_data_in_mode(course, samples, states, mode)
    watch = _watch(course, mode).signed(outputs["reactions"])
    values, noise = watch.values(samples, states, outputs)
    grid = np.searchsorted(samples, points)[_indices_by_step(points)]
    # add samples until no guard can fall through zero and rise again between two of them
    bounded = course.loop.functions.bounded is not None
    if bounded:
        separators = _isolating(course, watch, values[grid], noise[grid], samples[grid], states[grid])
    else:
        separators = _following(course, samples[grid], states[grid])
    if len(np.setdiff1d(separators, samples)):
        samples, states = _sampled_states(course, repeat, np.union1d(samples, separators[separators <= samples[-1]]))
        outputs = guard_data_in_mode(course, samples, states, mode)
        values, noise = watch.values(samples, states, outputs)
    grid = grid[:0] if bounded else np.searchsorted(samples, points)[_indices_by_step(points)]
    # keep all steps, or those up to the first event
    event = _first_event(course, watch, (values, noise, samples, grid), (t, z), plain)
    course.friction.speed = np.maximum(
        course.friction.speed, outputs["s_size"][samples <= (t[-1] if event is None else event[0])].max(axis=0, initial=0.0)
    )
    trace.statistics += (
        tried.statistics if event is None else _statistics_up_to(course, plain, tried, int((t[1:] < event[0]).sum()))
    )
    if event is not None:
        return _end_at_event(course, event, (t, z), plain, requested)
    for k in range(1, len(t)):
        trace.move(float(t[k]), z[k])
    trace.pass_times(states[np.searchsorted(samples, requested)])
    trace.next_step = tried.next_step
    return status, None


def _sampled_states(course: ModeCourse, repeat: Task, times: Array) -> tuple[Array, Array]:
    """The times at which guards are sampled inside the steps, and the states there."""
    *_, sampled = course.loop.plain.run(replace(repeat, times=times))
    if sampled.passed < len(times):  # steps in which no guard was evaluated must not count
        raise RunEnded(sampled.status)
    return times, sampled.z_times


def _isolating(course: ModeCourse, watch: GuardWatch, values: Array, noise: Array, times: Array, states: Array) -> Array:
    """Times between which no guard with an interval bound falls through zero twice.

    times: (steps, STEP_PARTS + 1); states, values and noise of the guards are given there.
    """
    bounded, layout, n = course.loop.functions.bounded, course.layout, course.form.nq + course.form.nv
    assert bounded is not None
    k = bounded.guards.outputs[0].size
    zero, blur = np.zeros(k), np.full((k, len(times)), np.inf)
    for j, guard in enumerate(watch.guards):
        if (index := guard.bound_index(layout)) is not None:
            y, eps = values[:, :, j], noise[:, :, j].max(axis=1)
            blur[index] = np.where(y[:, 0] > eps, eps, np.maximum(GUARD_UNRISEN * eps, FALL_FROM_ZERO * np.abs(y).max(axis=1)))
            zero[index] = watch.zero(guard)
    h, c = times[:, -1] - times[:, 0], _powers(states[:, :, :n])
    p, preload = numbers_of(course, watch.mode), None
    if watch.margin is not None:  # non-unique reactions must not reach a bound unnoticed
        p = numbers_of(course, replace(watch.mode, idle=()))
        for index, eps in watch.shared():
            blur[index] = eps
        start_values = np.concatenate([np.zeros(course.form.nv), answer_here(course).lam])[:, None] * np.ones(len(times))
        preload = bounded.preload(StepPolynomial(c, 0.0, 1.0), times[:, 0], h, p, start_values)
    return isolating_times(bounded, c, times[:, 0], h, p, zero, blur, preload=preload)


def _indices_by_step(points: Array) -> NDArray[np.intp]:
    """Indices of the points in each step, both ends included, (steps, STEP_PARTS + 1)."""
    return np.arange((len(points) - 1) // STEP_PARTS)[:, None] * STEP_PARTS + np.arange(STEP_PARTS + 1)


def _powers(states: Array) -> Array:
    """Steps through states (steps, STEP_PARTS + 1, n) in powers of θ, (STEP_PARTS + 1, n, steps)."""
    theta = np.arange(STEP_PARTS + 1) / STEP_PARTS
    return np.moveaxis(np.array([StepPolynomial.through(theta, z, 0.0, 1.0).c for z in states]), 0, 2)


def _following(course: ModeCourse, times: Array, states: Array) -> Array:
    """Times between which the terms of accelerations and reactions change little, for guards without interval bounds."""
    functions, nq, n = course.loop.functions, course.form.nq, course.form.nq + course.form.nv
    point = lambda x: Interval(x[:, None], x[:, None])
    terms = [(functions.blocks, BOUNDED_DATA, ())]
    terms += [(fn, (0, 2), (point(answer_here(course).lam),)) for fn in (functions.law, functions.loads) if fn is not None]

    def data(step: StepPolynomial, t: Array, h: Array, a: Array, b: Array) -> Interval:
        z, _ = step.over(a, b)
        ends = np.array([t + h * a, t + h * b])
        q, v = (Interval(z.lo[k], z.hi[k]) for k in (slice(nq), slice(nq, n)))
        state = [Interval(ends.min(axis=0)[None], ends.max(axis=0)[None]), q, v]
        intervals = []
        for fn, outputs, multipliers in terms:
            enclosed = enclosure(fn)(*state, point(course.p), *multipliers)
            intervals += [enclosed[k] for k in outputs if k < len(fn.outputs)]
        hull = [
            np.vstack([np.broadcast_to(getattr(x, end), (x.lo.shape[0], len(t))) for x in intervals]) for end in ("lo", "hi")
        ]
        return Interval(*hull)

    return following_times(data, _powers(states[:, :, :n]), times[:, 0], times[:, -1] - times[:, 0])


def _statistics_up_to(course: ModeCourse, plain: Task, tried: Trace, count: int) -> Statistics:
    """Statistics of a stretch of which only the first steps are kept; those beyond an event do not count."""
    statistics = Statistics()
    if count:
        *_, trace = course.loop.plain.run(replace(plain, max_steps=count, keep_steps=False))
        statistics = trace.statistics
    return replace(tried.statistics, accepted=count, largest_defect=statistics.largest_defect)


def _watch(course: ModeCourse, mode: Mode) -> GuardWatch:
    """The guards of the current mode, with the scales of this instant."""
    instant = friction_instant(course)
    problem = instant.problem
    course.friction.speed = np.maximum(course.friction.speed, instant.sizes)
    answer = answer_here(course)
    nonunique = answer.free.shape[1] and affects_contacts(problem, answer)
    slides = [i for i, friction in enumerate(mode.frictions) if friction.state == SLIP and course.layout.normals[i] is not None]
    margin, jam = partial(_margins, course) if nonunique else None, partial(_jams, course) if slides else None
    memory, level = course.friction, _levels(course, instant)
    return GuardWatch.of(course.layout, mode, problem.scale[0], memory.atol, memory.speed, level, margin, jam)


def _levels(course: ModeCourse, instant: FrictionInstant) -> Array:
    """The slip of each pair below which it may have stopped.

    It is set below the slip at the time it is first determined, since a slip that stops falls by less from step to step.
    """
    levels = course.friction.level.copy()
    for i in range(course.layout.count):
        columns = course.layout.columns(i)
        size = float(course.friction.speed[columns].max())
        levels[i] = pair_level(levels[i], size, np.linalg.norm(instant.slip[columns]))
    course.friction.level = levels
    return levels


def _margins(course: ModeCourse, t: Array, z: Array) -> Array:
    """The slack of the mode at each state, where reactions are not unique."""
    margins, guess = [], answer_here(course).lam
    for time, state in zip(t, z, strict=True):
        instant = friction_instant(course, float(time), state)
        mode = course.mode.directed(course.layout, instant.slip)
        answer = instant.problem.checked(instant.problem.solve(mode), [], list(mode.closed), guess)
        safe = answer.solvable and answer.slack > TIE
        margins.append(-1.0 if not answer.solvable else 1.0 if answer.slack > NEAR_TIE else answer.slack)
        guess = answer.lam if safe else guess
    return np.array(margins)


def _jams(course: ModeCourse, t: Array, z: Array) -> Array:
    """Determinant of the saddle point with sliding friction over that without: zero in a Painlevé configuration."""
    layout, mode, form = course.layout, course.mode, course.form
    names = [port.name for port in course.loop.functions.blocks.outputs]
    q, v = z[:, : form.nq], z[:, form.nq : form.nq + form.nv]
    outputs = dict(zip(names, vm_function(course.loop.functions.blocks).batch(t, q, v, course.p), strict=True))
    rows, W = mode.acting(layout), np.array(outputs["W"])
    for i, friction in enumerate(mode.frictions):
        if friction.state != SLIP or layout.normals[i] is None:
            continue
        s = outputs["s"][:, layout.columns(i)]
        turns = layout.parts[i] > 1 and not friction.fixed
        u = s / np.maximum(np.linalg.norm(s, axis=1), 1e-300)[:, None] if turns else np.broadcast_to(friction.u, s.shape)
        push = np.einsum("kvp,kp->kv", outputs["W"][:, :, layout.own_rows(i)], u)
        W[:, :, layout.normals[i]] -= friction.sign * outputs["mu"][:, i, None] * push
    J = outputs["J"][:, rows]
    return _determinants(outputs["M"], J, W[:, :, rows]) / _determinants(outputs["M"], J, outputs["W"][:, :, rows])


def _first_event(
    course: ModeCourse, watch: GuardWatch, sampled: tuple[Array, Array, Array, Any], steps: tuple[Array, Array], plain: Task
) -> tuple[float, ModeGuard] | None:
    """The time and the guard of the earliest event.

    sampled: values of the guards, their noise, times, `grid` of `crossings`.
    """
    events: list[tuple[float, ModeGuard]] = []
    values, noise, samples, grid = sampled
    for crossing in sorted(crossings(watch, values, noise, grid), key=lambda c: c.low):
        if events and samples[crossing.low] > min(events)[0]:
            break
        one_guard = replace(watch, guards=(watch.guards[crossing.guard],))

        def evaluate(times: Array, one_guard: GuardWatch = one_guard) -> tuple[Array, Array]:
            z = states_inside(course, times, steps, plain)
            y, eps = one_guard.values(times, z, guard_data_in_mode(course, times, z, watch.mode))
            return y[:, 0], eps[:, 0]

        time = located(evaluate, crossing, values[:, crossing.guard], noise[:, crossing.guard], samples)
        if time is not None:
            events.append((time, watch.guards[crossing.guard]))
    return min(events, key=lambda pair: pair[0]) if events else None


def _end_at_event(
    course: ModeCourse, event: tuple[float, ModeGuard], steps: tuple[Array, Array], plain: Task, requested: Array
) -> tuple[Status, ModeGuard | None]:
    """Keeps the steps up to the event; the last one is repeated so that it ends there."""
    (time, guard), (t, z), trace = event, steps, course.trace
    for k in range(1, len(t)):
        if t[k] < time:
            trace.move(float(t[k]), z[k])
    reached = requested[requested <= time]
    early = reached[reached <= trace.t]
    if len(early):
        trace.pass_times(states_inside(course, early, steps, plain))
    if time > trace.t:
        late = reached[reached > trace.t] if len(early) < len(reached) else np.zeros(0)
        task = replace(plain, t0=trace.t, z0=trace.z, t_end=time, first_step=time - trace.t, times=late,
                       max_steps=STEPS_MADE_AGAIN)  # fmt: skip
        *_, last = course.loop.plain.run(task)
        if last.status is not Status.OK:
            return last.status, None
        trace.statistics += last.statistics
        trace.pass_times(last.z_times)
        trace.move(*_corrected_end(course, guard, time, last.z, time - trace.t))
    return Status.OK, guard


def _corrected_end(course: ModeCourse, guard: ModeGuard, t: float, z: Array, h: float) -> tuple[float, Array]:
    """The end of a step of length h, moved along its slope onto the zero of a distance or a slip."""
    outputs = guard_data_in_mode(course, np.array([t]), z[None], course.mode)
    if guard.kind == HIT:
        value, rate = outputs["g"][0, guard.number], outputs["g_d"][0, guard.number]
    elif guard.kind == STOP and course.layout.parts[guard.number] == 1:
        k = course.layout.columns(guard.number).start
        value, rate = outputs["s"][0, k], outputs["s_d"][0, k]
    else:
        return t, z
    dt = -value / rate if rate else 0.0
    if not moved_onto(dt, h) or t + dt > course.task.t_end:
        return t, z
    return float(t + dt), z + dt * slopes(course, t, z, course.mode)


def _subdivided(t: Array, parts: int) -> Array:
    """The times t with `parts` − 1 more inside each interval."""
    points = t[:-1, None] + np.diff(t)[:, None] * (np.arange(parts) / parts)
    return np.append(points.ravel(), t[-1])


def _determinants(M: Array, J: Array, W: Array) -> Array:
    """det of [[M, −W], [J, 0]] at each state, (k,)."""
    n, m = M.shape[1], J.shape[1]
    K = np.zeros((len(M), n + m, n + m))
    K[:, :n, :n], K[:, :n, n:], K[:, n:, :n] = M, -W, J
    return np.linalg.det(K)


__all__ = ["run_stretch"]
