"""The adaptive time loop in Python, the twin of `loop.c.in`: any method, step by step, with the same decisions.

    for trace in loop.run(task):
        progress(trace.t)

After each accepted step, and at each requested time, the state is projected onto the constraints. If a right-hand side or a
projection fails inside a trial step, a shorter one is tried. Once the step is tiny, that failure becomes the status of the run,
which ends at the last good state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import copysign
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.errors import ConstraintError, SingularConfiguration, Status
from appell.loop.header import LAST_STEP_STRETCH, LEAST_ERROR_BEFORE, PROJECTION_MOVED, STEP_SPACINGS
from appell.loop.methods.gauss_legendre import GaussLegendre
from appell.loop.methods.radau import Radau
from appell.loop.methods.tableaux import Array, Tableau
from appell.loop.methods.taylor import Taylor
from appell.loop.rank import RankGuard
from appell.loop.task import Task, TrialFailed
from appell.loop.trace import Statistics, Trace
from appell.normal_form.flow import GuardedRows

SECONDS_PER_YIELD = 0.05  # between two yields of a running loop, for progress and Ctrl-C

STATUS_OF: dict[type[Exception], Status] = {
    SingularConfiguration: Status.SINGULAR,
    np.linalg.LinAlgError: Status.SINGULAR,
    ConstraintError: Status.PROJECTION_FAILED,
    ArithmeticError: Status.NOT_FINITE,
}
"""Statuses for exceptions of a right-hand side or a projection; any other exception is a bug and is not caught."""

FAILURES = (*STATUS_OF, TrialFailed)


def _status_of(error: Exception) -> Status:
    """The status that stands for an exception of `FAILURES`."""
    if isinstance(error, TrialFailed):
        return error.status
    return next(status for kind, status in STATUS_OF.items() if isinstance(error, kind))


@dataclass(frozen=True)
class PyLoop:
    """The loop for any method, with f(t, z, p) and project(t, z, p) -> (z, largest residual before)."""

    method: Tableau | Taylor | Radau | GaussLegendre
    rhs: Callable[[float, Array, Array], ArrayLike]
    project: Callable[[float, Array, Array], tuple[Array, float]] | None = None
    guarded: GuardedRows | None = None

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        trace = trace or task.trace()
        steps = _Steps(self, task, trace)
        answered = perf_counter()
        status = steps.guarded(steps.start)
        while status is Status.OK and trace.t != task.t_end:
            if perf_counter() - answered > SECONDS_PER_YIELD:
                yield steps.report(Status.BUFFER_FULL)
                answered = perf_counter()
            status = steps.guarded(steps.trial)
        yield steps.report(status)


class _Steps:
    """The state of one run: the counterpart of `appell_run` and `LoopStep` in C, with the same names."""

    def __init__(self, loop: PyLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace, self.before = loop, task, trace, trace.statistics
        self.evaluations = self.accepted = self.rejections = 0
        self.defect = 0.0
        self.adaptive = task.fixed_step is None
        self.h_max = min(task.fixed_step or task.max_step, task.max_step)
        self.h = (trace.next_step or 0.0) if self.adaptive else self.h_max
        self.error, self.rejected, self.started = LEAST_ERROR_BEFORE, False, False
        self.slope = np.zeros_like(trace.z)
        self.guard: RankGuard | None = None
        method = loop.method
        self.method: Any = method.steps(self)

    @property
    def t(self) -> float:
        return self.trace.t

    @property
    def z(self) -> Array:
        return self.trace.z

    def guarded(self, action: Callable[[], Status]) -> Status:
        """The result of an action, or the status of its failure."""
        try:
            with np.errstate(all="ignore"):  # non-finite values are detected and reported
                return action()
        except FAILURES as error:
            return _status_of(error)

    def evaluate(self, t: float, z: Array) -> Array:
        """f(t, z)."""
        if not np.isfinite(z).all():
            raise TrialFailed(Status.NOT_FINITE)
        self.evaluations += 1
        slope = np.asarray(self.loop.rhs(t, z, self.task.p), dtype=float)
        if not np.isfinite(slope).all():
            raise TrialFailed(Status.NOT_FINITE)
        return slope

    def start(self) -> Status:
        """Sets the slope, the first step, and the states requested at the start."""
        task, trace = self.task, self.trace
        self.slope = self.evaluate(trace.t, trace.z.copy())
        trace.pass_times([trace.z] * int(np.sum(task.times[trace.passed :] == trace.t)))
        if self.adaptive and not self.h > 0 and trace.t != task.t_end:
            self.h = self.method.first_size()
        self.h = min(self.h, self.h_max)
        if task.row_size is not None and self.loop.guarded is not None and self.adaptive:
            self.guard = RankGuard(self.loop.guarded, task.p, task.row_size)
            self.guard.reference, self.guard.quiet = trace.sigma, task.rank_quiet
            self.guard.start(trace.t, trace.z)
        return Status.OK

    def trial(self) -> Status:
        """One trial step. A failure inside it leads to a shorter step; the failure of a tiny one is the status of the run."""
        if self.before.accepted + self.accepted >= self.task.max_steps:
            return Status.MAX_STEPS
        self.method.propose()
        remaining, planned, shrink = self.task.t_end - self.t, self.h, self.loop.method.shrink
        final = abs(remaining) <= planned * LAST_STEP_STRETCH
        t1 = self.task.t_end if final else self.t + copysign(planned, remaining)
        h = t1 - self.t
        if h == 0:
            return Status.STEP_TOO_SMALL
        try:
            z1 = self.method.stages(h)
            error = self.method.error_norm(z1, h) if self.adaptive else 0.0
            if not np.isfinite(error):
                return self._reject(abs(h), Status.NOT_FINITE, shrink)
            if error > 1:
                method = self.loop.method
                return self._reject(abs(h), Status.OK, method.safety * error ** (-1 / (method.error_order + 1)))
            z1, slope, defect = self._projected_end(t1, z1)
            if self.guard is not None:
                state_inside = lambda t, z1=z1, slope=slope: self.method.dense(z1, slope, h)((t - self.t) / h)
                if self.guard.alarms(self.t, t1, z1, state_inside):
                    return Status.RANK
            at_times = self._requested(t1, z1, slope, h)
        except FAILURES as failure:
            return self._reject(abs(h), _status_of(failure), shrink)
        self._move(t1, z1, slope, defect, at_times)
        if self.adaptive:
            self.h = min(max(self.method.next_size(abs(h), error), planned if final else 0.0), self.h_max)
        self.rejected = False
        return Status.OK

    def _reject(self, size: float, status: Status, factor: float) -> Status:
        """Asks for a shorter step; the status of the failure if the step is already tiny."""
        self.rejections += 1
        self.rejected = True
        self.h = size * max(factor, self.loop.method.shrink)
        if self.adaptive and self.h >= STEP_SPACINGS * abs(np.nextafter(self.t, self.task.t_end) - self.t):
            return Status.OK
        return status or Status.STEP_TOO_SMALL

    def _projected_end(self, t1: float, z1: Array) -> tuple[Array, Array, float]:
        """The end state projected onto the constraints, its slope, and the residual before projection."""
        slope, projected, defect = self.method.end_slope, z1, 0.0
        if self.loop.project is not None:
            projected, defect = self.loop.project(t1, z1, self.task.p)
            if (abs(projected - z1) > PROJECTION_MOVED * self.method.weight).any():
                slope = None
        return projected, self.evaluate(t1, projected) if slope is None else slope, defect

    def _requested(self, t1: float, z1: Array, slope: Array, h: float) -> list[Array]:
        """The states at the requested times inside the step, projected onto the constraints."""
        task, trace, states = self.task, self.trace, []
        times = task.times[trace.passed :]
        dense = None
        for time in times[(times - t1) * task.direction <= 0].tolist():
            if time == t1:
                states.append(z1)
                continue
            dense = dense or self.method.dense(z1, slope, h)
            z = dense((time - self.t) / h)
            states.append(z if self.loop.project is None else self.loop.project(time, z, task.p)[0])
            if not np.isfinite(states[-1]).all():
                raise TrialFailed(Status.NOT_FINITE)
        return states

    def _move(self, t1: float, z1: Array, slope: Array, defect: float, at_times: list[Array]) -> None:
        """Accepts a step."""
        self.trace.move(t1, z1)
        self.trace.pass_times(at_times)
        self.slope, self.started = slope, True
        self.accepted, self.defect = self.accepted + 1, max(self.defect, defect)
        self.method.forget()

    def report(self, status: Status) -> Trace:
        """The trace with its status and statistics."""
        trace = self.trace
        trace.statistics = self.before + Statistics(self.evaluations, self.accepted, self.rejections, self.defect)
        trace.next_step = float(self.h) if self.h > 0 else None
        trace.sigma = trace.sigma if self.guard is None else self.guard.reference
        return trace.ended(status)
