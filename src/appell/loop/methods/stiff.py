"""Stiff systems: the loop on CasADi's CVODES (implicit differential equation) and IDAS (with the multipliers as unknowns).

The integrator runs from one output time to the next, in one call or in several, after each of which the state is projected onto
the constraints as in every other loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from math import copysign

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError, Status
from appell.graph.fn import Fn
from appell.graph.sundials import make_stiff
from appell.loop.task import Task, TrialFailed
from appell.loop.trace import Statistics, Trace
from appell.normal_form.flow import Flow

Array = NDArray[np.float64]

Project = Callable[[float, Array, Array], tuple[Array, float]]

STIFF = ("cvodes", "idas")

DEFAULT_OUTPUTS = 201
"""Number of output times if none are requested."""
CALL_STRETCH = 1.001
"""Factor by which a call may exceed its planned length, for rounding of output times."""
CALL_GROWTH = 10.0
"""Largest growth of a call from one to the next; it is planned for half of the steps that it may make."""


@dataclass(frozen=True, eq=False)
class StiffLoop:
    """`Loop` on SUNDIALS."""

    flow: Flow
    method: str
    project: Project | None
    unknowns: Callable[[float, Array], Array]  # (t, z) → (a, λ)
    points: int = DEFAULT_OUTPUTS

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`; yields after every call of SUNDIALS, at least once for every output time."""
        trace = trace or task.trace()
        calls = _Calls(self, task, trace)
        times = task.times[trace.passed :]
        grid = times if len(times) else np.linspace(trace.t, task.t_end, self.points)
        for end in [*grid.tolist(), *([task.t_end] if grid[-1] != task.t_end else [])]:
            status = Status.OK if end == trace.t else (yield from calls.reach(end))
            if status is not Status.OK:
                yield trace.ended(status)
                return
            if trace.passed < len(task.times) and end == task.times[trace.passed]:
                trace.pass_times(trace.z[None])
            if trace.t != task.t_end:
                yield trace.ended(Status.BUFFER_FULL)
        yield trace.ended(Status.OK)


class _Calls:
    """The calls of one run: as many between two output times as the number of steps requires."""

    def __init__(self, loop: StiffLoop, task: Task, trace: Trace):
        problem = loop.flow.implicit() if loop.method == "idas" else loop.flow.rhs
        assert isinstance(problem, Fn)
        self.step = make_stiff(problem, loop.method, task.rtol, float(np.min(task.atol)), task.max_steps)
        self.loop, self.task, self.trace = loop, task, trace
        self.part = abs(task.t_end - trace.t) / (loop.points - 1)  # s, of the next call

    def reach(self, end: float) -> Generator[Trace, None, Status]:
        """Moves the trace to `end`, if nothing is in the way."""
        trace = self.trace
        t, z = trace.t, trace.z.copy()
        while t != end:
            remaining = abs(end - t)  # two halves rather than a short remainder, in which IDAS fails to start
            size = remaining if remaining <= self.part * CALL_STRETCH else min(self.part, 0.5 * remaining)
            following = end if size == remaining else t + copysign(size, end - t)
            if following == t:
                return Status.STEP_TOO_SMALL
            if trace.statistics.accepted >= self.task.max_steps:
                return Status.MAX_STEPS
            status, used, z = self._call(t, following, z)
            if status is Status.OK:
                self.part = max(self.part, abs(following - t) * min(CALL_GROWTH, 0.5 * self.step.steps / max(1, used)))
                t = following
            elif status is Status.BUFFER_FULL:
                self.part = 0.25 * abs(following - t)
            else:
                return status
            if t != end:
                yield trace.ended(Status.BUFFER_FULL)
        trace.move(end, z)
        return Status.OK

    def _call(self, t: float, end: float, z: Array) -> tuple[Status, int, Array]:
        """One call: its status, its steps, and the state at its end."""
        y = self.loop.unknowns(t, z) if self.loop.method == "idas" else np.zeros(0)
        z, status, work = self.step(t, end, z, y, self.task.p)
        defect = 0.0
        if status is Status.OK and self.loop.project is not None:
            try:
                z, defect = self.loop.project(end, z, self.task.p)
            except TrialFailed as failure:
                status = failure.status
        self.trace.statistics += Statistics(*work, defect)
        return status, work[1], z


def stiff_loop(
    flow: Flow, method: str, project: Project | None, unknowns: Callable[[float, Array], Array], redundant: Sequence[str] = ()
) -> StiffLoop:
    """The loop for "cvodes" or "idas"; refused where the constraints do not allow it. redundant: names of redundant rows."""
    if method == "idas" and redundant:
        raise ModelError(
            f"method='idas' finds the multipliers of independent rows, and those of redundant ones ({', '.join(redundant)}) are"
            " not unique; drop those, or use method='dop853'"
        )
    if method == "cvodes" and not isinstance(flow.rhs, Fn):
        raise ModelError(
            "method='cvodes' needs the accelerations as one expression, which large systems, redundant rows and given"
            " reaction directions do not have; use method='idas' (independent rows) or 'dop853'"
        )
    return StiffLoop(flow, method, project, unknowns)
