"""Stiff systems: the loop on CasADi's CVODES (implicit differential equation) and IDAS (with the multipliers as unknowns).

The integrator runs from one output time to the next, where the state is projected onto the constraints as in every other loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError, Status
from appell.graph.fn import Fn
from appell.graph.stiff import make_stiff
from appell.normal_form.flow import Flow
from appell.simulate.loop.in_python import Leg, Statistics, Task, TrialFailed

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

    def run(self, task: Task) -> Iterator[Leg]:
        """A leg for every output time."""
        problem = self.flow.implicit() if self.method == "idas" else self.flow.rhs
        assert isinstance(problem, Fn)
        step = make_stiff(problem, self.method, task.rtol, float(np.min(task.atol)), task.max_steps)
        grid = task.times if len(task.times) else np.linspace(task.t0, task.t_end, POINTS)
        t, z = task.t0, task.z0
        kept_t, kept_z, at_times, defect, status = [t], [z], [], 0.0, Status.BUFFER_FULL
        work = np.zeros(3, dtype=int)
        for end in [*grid, *([task.t_end] if grid[-1] != task.t_end else [])]:
            if end != t:
                y = self.unknowns(t, z) if self.method == "idas" else np.zeros(0)
                z_new, status = step(t, float(end), z, y, task.p)
                work += step.work
                if status is Status.OK and self.project is not None:
                    try:
                        z_new, size = self.project(float(end), z_new, task.p)
                        defect = max(defect, size)
                    except TrialFailed as failure:
                        status = failure.status
                if status is not Status.OK:
                    break
                t, z = float(end), z_new
                kept_t.append(t)
                kept_z.append(z)
            if len(at_times) < len(task.times) and end == task.times[len(at_times)]:
                at_times.append(z)
            status = Status.OK
            if t != task.t_end:
                yield self._leg(Status.BUFFER_FULL, kept_t, kept_z, at_times, defect, work)
        yield self._leg(status, kept_t, kept_z, at_times, defect, work)

    def _leg(self, status: Status, t: list[float], z: list[Array], at_times: list[Array], defect: float, work: Array) -> Leg:
        evaluations, steps, rejected = (int(n) for n in work)
        return Leg(
            status=status, t=t[-1], z=z[-1], next_step=0.0, z_times=np.array(at_times).reshape(-1, self.flow.nz),
            statistics=Statistics(evaluations, steps, rejected, defect), t_pieces=(np.array(t),), z_pieces=(np.array(z),),
        )  # fmt: skip


def stiff_loop(
    flow: Flow, method: str, project: Project | None, unknowns: Callable[[float, Array], Array]
) -> StiffLoop:
    """The loop for "cvodes" or "idas"; refused where the rows do not allow it."""
    if method == "cvodes" and not isinstance(flow.rhs, Fn):
        raise ModelError(
            "method='cvodes' needs the accelerations as one expression, which large systems, redundant rows and given"
            " reaction directions do not have; use method='idas' (independent rows) or 'dop853'"
        )
    return StiffLoop(flow, method, project, unknowns)
