"""The adaptive time loop in Python, on SciPy's steppers.

    for trace in loop.run(task):
        progress(trace.t)

After each accepted step, and at each requested time, the state is projected onto the constraints. A right-hand side or
a projection that fails inside a trial step only shrinks the step; when the step has become tiny, that failure is the
status of the run, which stands at the last good state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.errors import ConstraintError, SingularConfiguration, Status
from appell.simulate.loop.task import Task, TrialFailed
from appell.simulate.loop.trace import Statistics, Trace
from appell.simulate.methods.tableaux import Array, Tableau
from appell.simulate.methods.taylor import Taylor

SECONDS_PER_YIELD = 0.05  # between two answers of a running loop: progress moves, Ctrl-C is heard
STRETCH = 1 + 1e-6  # the last step may be so much longer than wanted, rather than leave a remainder of rounding


STATUS_OF: dict[type[Exception], Status] = {
    SingularConfiguration: Status.SINGULAR,
    np.linalg.LinAlgError: Status.SINGULAR,
    ConstraintError: Status.PROJECTION_FAILED,
    ArithmeticError: Status.NOT_FINITE,
}
"""What an exception of a right-hand side or a projection means; any other one is a bug and is not caught."""

FAILURES = (*STATUS_OF, TrialFailed)


def _status_of(error: Exception) -> Status:
    if isinstance(error, TrialFailed):
        return error.status
    return next(status for kind, status in STATUS_OF.items() if isinstance(error, kind))


class _Guarded:
    """f(t, z) for SciPy: a failure becomes NaN, which rejects the trial step, and is remembered until f succeeds."""

    def __init__(self, rhs: Callable[[float, Array, Array], ArrayLike], p: Array):
        self.rhs, self.p = rhs, p
        self.evaluations = 0
        self.failure: Status | None = None

    def __call__(self, t: float, z: Array) -> Array:
        if not np.all(np.isfinite(z)):
            self.failure = self.failure or Status.NOT_FINITE
            return np.full_like(z, np.nan)
        self.evaluations += 1
        try:
            zd = np.asarray(self.rhs(t, z, self.p), dtype=float)
        except FAILURES as error:
            self.failure = _status_of(error)
            return np.full_like(z, np.nan)
        self.failure = None if np.all(np.isfinite(zd)) else Status.NOT_FINITE
        return zd


@dataclass(frozen=True)
class PyLoop:
    """The loop on SciPy's `DOP853` or `RK45`, or on Taylor's series, with f(t, z, p) and
    project(t, z, p) -> (z, largest residual before)."""

    method: Tableau | Taylor
    rhs: Callable[[float, Array, Array], ArrayLike]
    project: Callable[[float, Array, Array], tuple[Array, float]] | None = None

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `Loop.run`."""
        trace = trace or task.trace()
        stepper = _Stepper(self, task, trace)
        answered = perf_counter()
        status = stepper.start()
        while status is Status.OK and trace.t != task.t_end:
            if perf_counter() - answered > SECONDS_PER_YIELD:
                yield stepper.report(Status.BUFFER_FULL)
                answered = perf_counter()
            status = stepper.step()
        yield stepper.report(status)


class _Stepper:
    """The state of one run of `PyLoop`."""

    def __init__(self, loop: PyLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace, self.before = loop, task, trace, trace.statistics
        self.f = _Guarded(loop.rhs, task.p)
        self.accepted = self.rejected = 0
        self.defect = 0.0
        self.largest = min(task.fixed_step or task.max_step, task.max_step)
        self.solver: Any = None

    def start(self) -> Status:
        """The stepper with its first slope and step size, and the requested times at the start."""
        task, trace = self.task, self.trace
        self.f(trace.t, trace.z)
        if self.f.failure:
            return self.f.failure
        now = int(np.sum(task.times[trace.passed :] == trace.t))
        trace.pass_times([trace.z] * now)
        if task.t_end == trace.t:
            return Status.OK
        fixed = task.fixed_step
        first = fixed or trace.next_step
        self.solver = self.loop.method.scipy_class(
            self.f,
            trace.t,
            trace.z.copy(),
            task.t_end,
            max_step=self.largest,
            first_step=None if first is None else min(first, self.largest, abs(task.t_end - trace.t)),
            rtol=max(task.rtol, 100 * np.finfo(float).eps),  # SciPy's lower bound, without its warning
            atol=np.inf if fixed else task.atol,  # pyright: ignore[reportArgumentType]
        )
        return Status.OK

    def step(self) -> Status:
        """One accepted step with its projection and requested times; or the reason why there is none."""
        if self.before.accepted + self.accepted >= self.task.max_steps:
            return Status.MAX_STEPS
        solver, f_old = self.solver, self.solver.f
        while True:
            wanted, before = min(solver.h_abs, self.largest), self.f.evaluations
            left = abs(self.task.t_end - self.trace.t)
            if left <= wanted * STRETCH:
                solver.h_abs = solver.max_step = left
            solver.step()
            solver.max_step = self.largest
            self.rejected += max(0, -(-(self.f.evaluations - before) // self.loop.method.stages) - 1)
            if solver.status == "failed":
                return self.f.failure or Status.STEP_TOO_SMALL
            failure = self._finish()
            if failure is None:
                solver.h_abs = max(solver.h_abs, wanted) if solver.t == self.task.t_end else solver.h_abs
                return Status.OK
            shrunk = 0.2 * abs(solver.t - self.trace.t)
            self.rejected += 1
            solver.t, solver.y, solver.f = self.trace.t, self.trace.z.copy(), f_old
            solver.h_abs, solver.status = shrunk, "running"
            if self.task.fixed_step or shrunk < 10 * abs(np.nextafter(self.trace.t, self.task.t_end) - self.trace.t):
                return failure

    def _finish(self) -> Status | None:
        """Projects the end of the step and the requested times inside it, and moves there; or says what failed."""
        solver, task, trace = self.solver, self.task, self.trace
        if task.fixed_step and abs(solver.t - trace.t) < 0.999 * min(task.fixed_step, abs(task.t_end - trace.t)):
            return self.f.failure or Status.NOT_FINITE
        passed = trace.passed
        way = (task.times[passed:] - solver.t) * task.direction
        inside, at_end = task.times[passed:][way < 0], int(np.sum(way == 0))
        try:
            between = np.atleast_2d(solver.dense_output()(inside).T) if len(inside) else []
            if self.f.failure:
                return self.f.failure
            z, defect = self._project(solver.t, solver.y)
            z_times = [self._project(time, state)[0] for time, state in zip(inside, between, strict=True)]
        except FAILURES as error:
            return _status_of(error)
        if not np.array_equal(z, solver.y):
            solver.y, solver.f = z, self.f(solver.t, z)
            if self.f.failure:
                return self.f.failure
        self.accepted, self.defect = self.accepted + 1, max(self.defect, defect)
        trace.move(solver.t, z)
        trace.pass_times(z_times + [z] * at_end)
        return None

    def _project(self, t: float, z: Array) -> tuple[Array, float]:
        return (z, 0.0) if self.loop.project is None else self.loop.project(t, z, self.task.p)

    def report(self, status: Status) -> Trace:
        """The trace with what was done."""
        trace = self.trace
        trace.statistics = self.before + Statistics(self.f.evaluations, self.accepted, self.rejected, self.defect)
        trace.next_step = float(min(self.solver.h_abs, self.largest)) if self.solver else None
        return trace.ended(status)
