"""One run of an ensemble by itself, with the loops of `simulate`: walls, contact, rank guard, every method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.ensembles.ensemble_result import doubted
from appell.ensembles.inputs import Inputs
from appell.ensembles.order import Order
from appell.errors import AS_ASKED, STATUS_TEXT, AppellError, Status
from appell.loop.trace import Trace
from appell.model.jumps import dry_friction
from appell.motion.motion import Motion
from appell.reductions.course import Course
from appell.reductions.followed import passes
from appell.reductions.following import course_of, doubt_of, followed_along, missed_tolerance, reduced_values
from appell.reductions.kinds import parts_of
from appell.reductions.reduce import Reduction
from appell.simulate.driven_run import driven
from appell.simulate.motion_of_trace import motion_of
from appell.simulate.progress import Reporter
from appell.simulate.second_run import unconfirmed
from appell.simulate.started_run import StartedRun, on_the_clock, started_run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Single:
    """Result of one run: status, message and end; states at requested times or in a section; values of the reductions."""

    status: Status
    message: str
    t: float
    z: Array  # (nq + nv,)
    rows: Array  # (k, nq + nv)
    row_times: Array  # (k,) of a section
    values: dict[str, float]


class Halted(Exception):
    """Raised when the ensemble is stopped during this run."""


class _Halt(Reporter):
    """A progress report that can end a run; a run that has reached its end is kept."""

    def __init__(self, halted: Callable[[], bool]):
        self.halted = halted

    def __call__(self, t: float) -> None:
        if self.halted():
            raise Halted

    def finish(self, t: float) -> None:
        """Nothing to do at the end."""

    close = lambda self: None


def make(run: Run, inputs: Inputs, order: Order, k: int, halted: Callable[[], bool] = lambda: False) -> Single:
    """Makes run k of the ensemble; failures are in its status. Raises `Halted` if it is cancelled."""
    values = {s: float(x) for s, x in zip(run.system.parameters, inputs.p_of(k), strict=True)}
    schedule = run.schedule if inputs.tables is None else inputs.tables.of(k)
    p = np.array(inputs.p_of(k), dtype=float)
    if schedule is not None:
        p[list(schedule.columns)] = np.nan  # NaN exposes any code that ignores the schedule
    run = replace(run, parameters=values, p=p, schedule=schedule)
    start = np.concatenate([inputs.q[k], inputs.v[k]])
    try:
        return _single_run(run, order, k, inputs.q[k].copy(), inputs.v[k].copy(), _Halt(halted))
    except AppellError as error:
        status = Status.REFUSED if isinstance(error, ValueError) else Status.SINGULAR
        return Single(status, str(error), order.t0, start, np.zeros((0, len(start))), np.zeros(0), {})


def _single_run(run: Run, order: Order, k: int, q: Array, v: Array, halt: Reporter) -> Single:
    """The result of run k, started at (q, v)."""
    started = started_run(run, order.request_of(k), q, v)
    trace = driven(started.stopping(started.loop), started.task, halt, dry_friction(run.system.forces))
    n = run.form.nq + run.form.nv
    rows = trace.z_times[:, :n] if order.kept.times is not None else np.zeros((0, n))
    row_times, values, missed = np.zeros(0), dict[str, float](), list[str]()
    if order.kept.all_reductions:
        course = _course(started, trace, halt, order)
        if order.kept.section is not None:
            row_times, rows, missed = _points(course, order.kept.section, started, halt)
        else:
            numbers = followed_along(course, order.kept.reductions, {})
            values = reduced_values(numbers, order.kept.reductions, trace.t - order.t0, order.origin)
            missed = missed_tolerance(numbers, order.kept.reductions, order.rtol, order.atol)
    message = message_of(trace.status, trace.t, order.end_of(k), order, trace)
    single = Single(trace.status, message, trace.t, trace.z[:n], rows, row_times, values)
    if trace.status not in AS_ASKED:
        return single
    doubts = [*([doubt_of(missed)] if missed else []), *unconfirmed(started, trace, report=halt)]
    doubts = _motion(started, trace, doubts).doubts
    return replace(single, message=doubted(message, doubts)) if doubts else single


def _motion(started: StartedRun, trace: Trace, doubts: list[str]) -> Motion:
    """The motion of a finished run, verified as `simulate` does it, with the times of the model."""
    trace.origin, end = started.request.origin, started.request.t_end
    started = on_the_clock(started)
    trace.on_the_clock(started.request.t_end, end)
    return motion_of(started, trace, doubts=doubts)


def message_of(status: Status, t: float, end: float, order: Order, trace: Trace | None = None) -> str:
    """The message of a run: how it ended, and what may help."""
    text = STATUS_TEXT[status]
    if status in (Status.OK, Status.CANCELLED):
        return text
    if trace is not None and trace.stopped:
        text = trace.stopped
    if trace is not None and trace.failure is not None:
        text = str(trace.failure)
    if order.step is not None and status is Status.NOT_FINITE:
        text += f"; with step={order.step:g} the method may be unstable: shorten it, or use rtol="
    return f"stopped at t = {order.origin + t:.9g}, before {order.origin + end:g}: {text}"


def _course(started: StartedRun, trace: Trace, halt: Reporter, order: Order) -> Course:
    """The steps with states inside them: the run is repeated with these as requested times, which changes no step."""
    repeated = replace(started.task, keep_steps=False, t_end=trace.t)
    states_at = lambda times: driven(started.loop, replace(repeated, times=times), halt).z_times
    return course_of(started.run, started.flow, trace, order.method_alone, states_at, (order.rtol, order.atol), order.t0)


def _points(course: Course, section: Reduction, started: StartedRun, halt: Reporter) -> tuple[Array, Array, list[str]]:
    """Times (k,) and states (k, nq + nv) of a section, and its name if it missed the tolerance."""
    crossings = passes(course, parts_of(section)[0], np.zeros(3))
    chosen = slice(section.skip, section.skip + section.count)
    t, z = course.at(crossings.step[chosen], crossings.theta[chosen])
    if started.flow.projects and len(t):
        z = driven(started.loop, replace(started.task, times=t, keep_steps=False), halt).z_times
    return t[: len(z)], z[:, : course.run.form.nq + course.run.form.nv], ["section"] if crossings.carried[2] else []


__all__ = ["Single", "make", "message_of"]
