"""Two-dimensional slips (pairs): how they stop and how they begin, where s/|s| is undefined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from appell.errors import Status
from appell.modes.mode import STICK, Mode
from appell.nonsmooth.friction.decide import UndeterminedFriction
from appell.nonsmooth.friction.directions import with_frictions
from appell.nonsmooth.friction.directions_in_space import tangents, turned
from appell.nonsmooth.friction.friction_course import (
    FrictionInstant,
    answer_here,
    friction_instant,
    slopes,
    step_of,
    stop_slips,
)
from appell.nonsmooth.friction.problem import Problem
from appell.nonsmooth.friction.thresholds import STOPPED_PAIR
from appell.nonsmooth.mode_course import ModeCourse
from appell.rows import NEWTON_LOST, least_squares, response

Array = NDArray[np.float64]

FIRST_DIRECTION_KEPT = 1e-6
"""Fraction of a step in which a pair that begins to slide keeps its direction."""
SLIDING_BEGINS, BEGINNING_INTERVALS = 2e-2, 25
"""Fraction of a step with given directions after a pair breaks away without a jump of its acceleration, and its pieces."""
AT_ONCE_SLIDES = 1e-5
"""Fraction of its scale above which the acceleration of a slip that begins is a jump: one interval then is enough."""
DIRECTION_SETTLED = 1e-12
"""Correction of a direction, rad, below which no further one is made."""
DIRECTION_CONVERGED = 1e-6
"""Correction of a direction, rad, below which the iteration has converged."""
NO_DIRECTION = "a two-dimensional slip has no direction in which it can begin"


def pair_stops(course: ModeCourse, i: int) -> bool:
    """Whether a slow pair stops: it does if sticking would hold. The run is then advanced to where the slip is zero,
    t* = t − s·s/(s·ṡ). Otherwise the slip passes zero without stopping."""
    instant, layout, mode, trace = friction_instant(course), course.layout, course.mode, course.trace
    problem, s, columns = instant.problem, instant.slip[layout.columns(i)], layout.columns(i)
    moving = mode.directed(layout, instant.slip)
    sticking = with_frictions(moving, {i: moving.frictions[i]._replace(state=STICK, u=())})
    answer = replace_mu(problem).checked(replace_mu(problem).solve(sticking), [], mode.closed)
    if not answer.consistent:
        return bool(np.linalg.norm(s) <= 2 * STOPPED_PAIR * course.friction.speed[columns].max())
    rate = (problem.J @ problem.solve(moving).x + problem.c)[layout.own_rows(i)]
    if s @ rate < 0:
        dt = float(-(s @ s) / (s @ rate))
        time = min(trace.t + dt, course.task.t_end)
        zd = slopes(course, trace.t, trace.z, mode)
        trace.pass_times(np.array([trace.z + (t - trace.t) * zd for t in course.task.times[trace.passed :] if t <= time])
                         .reshape(-1, len(trace.z)))  # fmt: skip
        trace.z[:] += (time - trace.t) * zd
        trace.t = time
        resting = [k for k, friction in enumerate(mode.frictions) if friction.state == STICK or k == i]
        if not stop_slips(course, resting, list(mode.closed)):
            course.keep()
    return True


def begin_to_slide(course: ModeCourse) -> None:
    """Starts the sliding of pairs, where u = s/|s| is undefined, with the direction of the mean slip of each short interval.

    One interval is enough where slip accelerates at once; a pair that breaks away smoothly needs several.
    """
    pairs = [i for i, friction in enumerate(course.mode.frictions) if friction.fixed]
    problem = friction_instant(course).problem
    rates = problem.J @ answer_here(course).x + problem.c
    sizes = problem.scale[1]
    rows = [course.layout.own_rows(i) for i in pairs]
    at_once = all(np.linalg.norm(rates[of_pair]) > AT_ONCE_SLIDES * sizes[of_pair[0]] for of_pair in rows)
    h = step_of(course, course.mode)
    fraction, intervals = (FIRST_DIRECTION_KEPT, 1) if at_once else (SLIDING_BEGINS, BEGINNING_INTERVALS)
    for _ in range(intervals):
        end = min(course.trace.t + fraction * h / intervals, course.task.t_end)
        if end > course.trace.t:
            _slide_interval(course, pairs, end)
    frictions = tuple(friction._replace(fixed=False) for friction in course.mode.frictions)
    course.trace.modes.append((course.trace.t, replace(course.mode, frictions=frictions)))


def _slide_interval(course: ModeCourse, pairs: list[int], end: float) -> None:
    """One interval with fixed directions u, parallel to the sum of the slips at its ends; they are found by iteration."""
    trace, layout, mode = course.trace, course.layout, course.mode
    slip_before = friction_instant(course).slip
    for _ in range(50):
        task = replace(course.task, t0=trace.t, z0=trace.z, t_end=end, p=np.append(course.p, mode.data(layout)),
                       times=np.zeros(0), first_step=end - trace.t, keep_steps=False)  # fmt: skip
        *_, trial = course.loop.plain.run(task)
        if trial.status is not Status.OK:
            raise UndeterminedFriction(NO_DIRECTION)
        mean = slip_before + friction_instant(course, end, trial.z).slip
        turns = _direction_corrections(course, pairs, mode, mean, end - trace.t)
        frictions = list(mode.frictions)
        for i, turn in zip(pairs, turns, strict=True):
            frictions[i] = frictions[i]._replace(u=tuple(turned(np.array(frictions[i].u), turn).tolist()))
        mode = replace(mode, frictions=tuple(frictions))
        largest = max(float(np.abs(turn).max()) for turn in turns)
        if largest < DIRECTION_SETTLED:
            break
    if largest > DIRECTION_CONVERGED:
        raise UndeterminedFriction(NO_DIRECTION)
    trace.modes.append((trace.t, mode))
    if len(course.task.times) > trace.passed:
        requested = course.task.times[trace.passed :]
        requested = requested[requested <= end]
        *_, trial = course.loop.plain.run(replace(task, times=requested))
        trace.pass_times(trial.z_times)
    trace.move(end, trial.z)


def _direction_corrections(course: ModeCourse, pairs: list[int], mode: Mode, mean: Array, dt: float) -> list[Array]:
    """Newton's correction of the directions, along their tangents, towards those of the slips `mean`; forces turn as well."""
    instant, layout = friction_instant(course), course.layout
    problem = instant.problem
    rows = [row for i in pairs for row in layout.own_rows(i)]
    acting = mode.acting(layout)
    slip_response = problem.J[rows] @ response(problem.M, problem.J[acting], problem.W[:, acting], problem.W[:, rows])
    u, slip = [np.array(mode.frictions[i].u) for i in pairs], [mean[layout.columns(i)] for i in pairs]
    axes = [tangents(direction) for direction in u]
    of_each = [T.shape[1] for T in axes]
    bound = np.repeat([max(_sliding_bound(course, instant, i, mode), 0.0) for i in pairs], of_each)
    along = np.repeat([max(float(a @ b), 0.0) for a, b in zip(u, slip, strict=True)], of_each)
    across: Array = np.asarray(block_diag(*axes), dtype=float)
    stiff = dt * across.T @ slip_response @ across * bound + np.diag(along)
    turn = np.clip(least_squares(stiff, across.T @ np.concatenate(slip), NEWTON_LOST), -0.5, 0.5)
    return np.split(turn, np.cumsum(of_each)[:-1])


def _sliding_bound(course: ModeCourse, instant: FrictionInstant, i: int, mode: Mode) -> float:
    """μ|Λ_N| or F of a sliding friction."""
    lam = instant.problem.solve(mode.directed(course.layout, instant.slip)).lam
    return instant.problem.bound(i, lam, float(mode.frictions[i].sign), static=False)


def replace_mu(problem: Problem) -> Problem:
    """The problem with the sliding coefficients in place of the static ones."""
    return replace(problem, mu_static=problem.mu)


__all__ = ["begin_to_slide", "pair_stops"]
