"""Stiff systems: the loop on CasADi's CVODES (implicit differential equation) and IDAS (with the multipliers as unknowns).

The integrator runs from one output time to the next, where the state is projected onto the constraints as in every other loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError, Status
from appell.graph.fn import Fn
from appell.graph.stiff import Stiff, make_stiff
from appell.normal_form.flow import Flow
from appell.simulate.loop.task import Task, TrialFailed
from appell.simulate.loop.trace import Statistics, Trace

Array = NDArray[np.float64]

Project = Callable[[float, Array, Array], tuple[Array, float]]

STIFF = ("cvodes", "idas")

POINTS = 201
"""Output times where none are requested."""


@dataclass(frozen=True, eq=False)
class StiffLoop:
    """`Loop` on SUNDIALS."""

    flow: Flow
    method: str
    project: Project | None
    unknowns: Callable[[float, Array], Array]  # (t, z) → (a, λ)
    points: int = POINTS

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`; a yield for every output time."""
        trace = trace or task.trace()
        problem = self.flow.implicit() if self.method == "idas" else self.flow.rhs
        assert isinstance(problem, Fn)
        step = make_stiff(problem, self.method, task.rtol, float(np.min(task.atol)), task.max_steps)
        times = task.times[trace.passed :]
        grid = times if len(times) else np.linspace(trace.t, task.t_end, self.points)
        for end in [*grid.tolist(), *([task.t_end] if grid[-1] != task.t_end else [])]:
            status = Status.OK if end == trace.t else self._reach(end, step, task, trace)
            if status is not Status.OK:
                yield trace.ended(status)
                return
            if trace.passed < len(task.times) and end == task.times[trace.passed]:
                trace.pass_times(trace.z[None])
            if trace.t != task.t_end:
                yield trace.ended(Status.BUFFER_FULL)
        yield trace.ended(Status.OK)

    def _reach(self, end: float, step: Stiff, task: Task, trace: Trace) -> Status:
        """From one output time to the next."""
        y = self.unknowns(trace.t, trace.z) if self.method == "idas" else np.zeros(0)
        z, status = step(trace.t, end, trace.z, y, task.p)
        defect = 0.0
        if status is Status.OK and self.project is not None:
            try:
                z, defect = self.project(end, z, task.p)
            except TrialFailed as failure:
                status = failure.status
        trace.statistics += Statistics(*step.work, defect)
        if status is Status.OK:
            trace.move(end, z)
        return status


def stiff_loop(
    flow: Flow, method: str, project: Project | None, unknowns: Callable[[float, Array], Array], redundant: Sequence[str] = ()
) -> StiffLoop:
    """The loop for "cvodes" or "idas"; refused where the rows do not allow it. redundant: names of rows."""
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
