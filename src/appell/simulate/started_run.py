"""A run at its start: the state on the constraints, the ranks of the rows, the loop and its task."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.loop.methods.stiff import STIFF
from appell.loop.task import Loop, Task
from appell.motion.record import State
from appell.motion.zeros import NOISE_OF_STIFF
from appell.normal_form.flow import Flow
from appell.simulate.arguments import fitting
from appell.simulate.loop.prepare import prepare
from appell.simulate.loop.rank_watch import can_watch_ranks, watching_ranks
from appell.simulate.loop.stopped import StopLoop
from appell.simulate.run_request import RunRequest
from appell.simulate.start import check, packed, refuse_dependent
from appell.simulate.work_tolerance import with_work

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StartedRun:
    """A request at an initial state: a run that is ready to start.

    run: with the ranks of its rows there. loop: without stops. start: on the constraints, `moved` from the given state.
    sizes: scales of the rows, (m,). guarded: whether the loop notices every loss of rank on the way.
    """

    request: RunRequest
    run: Run
    flow: Flow
    loop: Loop
    task: Task
    start: State
    moved: float
    sizes: Array
    guarded: bool

    def stopping(self, loop: Loop) -> Loop:
        """A loop for this run that ends where the first stop of the request occurs."""
        if not (stops := self.request.stops):
            return loop
        noise = NOISE_OF_STIFF * self.request.rtol if self.request.method in STIFF else 0.0
        return StopLoop(loop, self.run, self.flow, stops, noise)


def started_run(run: Run, request: RunRequest, q: Array, v: Array) -> StartedRun:
    """The run at its initial state (q, v); `ConstraintError` where that is not on the constraints."""
    clock = request.origin + request.t0
    q, v, moved = check(run.system, run.form, run.p_at(clock), clock, q, v, float(np.min(request.atol)))
    run, sizes = run.judged(clock, q, v)
    flow, loop = prepare(run, request.pseudo, request.method, request.corner)
    if watching := can_watch_ranks(flow, request.method):
        loop = watching_ranks(loop, run.form, flow, sizes)
    guarded = watching and request.step is None  # a fixed step may jump over a loss of rank
    if request.pseudo is not None:
        refuse_dependent(run, clock, q, v, request.pseudo)
    z0 = packed(run, flow, clock, q, v, request.pseudo)
    atol = with_work(fitting(request.atol, len(z0), flow.nq + flow.nu), flow, run.form, clock, q, v, run.p_at(clock))
    surveyed = run.form.m > 0 and not (guarded and not run.system.unilateral)  # ranks are examined after the run
    task = Task(
        t0=request.t0, z0=z0, t_end=request.t_end, p=run.p, rtol=request.rtol, atol=atol,
        times=np.zeros(0) if request.times is None else request.times,
        max_step=request.max_step, max_steps=request.max_steps, fixed_step=request.step,
        keep_steps=request.keep_steps or request.times is None or bool(request.stops) or surveyed,
    )  # fmt: skip
    return StartedRun(request, run, flow, loop, task, State(clock, q, v), moved, sizes, guarded)


def on_the_clock(begun: StartedRun) -> StartedRun:
    """The same run with the times of the model, not counted from an origin."""
    request = begun.request
    if not request.origin:
        return begun
    times = None if request.times is None else request.times + request.origin
    shifted = replace(request, t0=begun.start.t, t_end=request.t_end + request.origin, times=times, origin=0.0)
    return replace(begun, request=shifted, task=begun.task.counted_from(-request.origin))


__all__ = ["StartedRun", "on_the_clock", "started_run"]
