"""Digital control: a function reads the state at a fixed rate, and its outputs are held until the next reading.

    p_u(t) = control(t_k, q(t_k), v(t_k))        t_k <= t < t_k+1 = t_k + 1/rate                (zero-order hold)

The inputs u are parameters in the forces of the system; between two readings the motion is that of any other system.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from math import ceil
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from appell.backends import backend_named
from appell.compiled.run import Run
from appell.errors import ModelError, Status
from appell.loop.held_inputs import HeldRun, Readings
from appell.loop.in_python import SECONDS_PER_YIELD
from appell.loop.methods.stiff import StiffLoop
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.motion.state_velocities import velocities
from appell.normal_form.flow import Flow
from appell.reading import refuse_many
from appell.simulate.control.control_values import Reader
from appell.simulate.control.holds import Holds
from appell.simulate.loop.guarded import RankedLoop
from appell.simulate.loop.prepare import evaluator

Array = NDArray[np.float64]

STEPS_TO_COMPARE = 2000
"""Fewer steps between two readings than this say nothing about stability."""
OUT_OF_PROPORTION = 100
"""Factors over the usual number of steps between two readings, and over the usual speed, that indicate an unstable control."""


@dataclass(frozen=True, eq=False)
class SampledLoop:
    """`Loop` under a control: `loop` from one reading to the next."""

    loop: Loop
    compiled: Run
    flow: Flow
    reader: Reader

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        if task.t_end < task.t0:
            raise ModelError(f"a control runs forwards: until = {task.t_end:g} must not be before since = {task.t0:g}")
        yield from _SampledRun(self, task, trace or task.trace()).traces()


class _SampledRun:
    """One run: its readings are here, everything else is in the trace."""

    def __init__(self, loop: SampledLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace, self.p, flow = loop, task, trace, task.p.copy(), loop.flow
        self.inner = replace(loop.loop, points=2) if isinstance(loop.loop, StiffLoop) else loop.loop  # ends of intervals
        self.q, self.u = trace.z[: flow.nq], trace.z[flow.nq : flow.nq + flow.nu]
        self.velocities = evaluator(flow.expand, backend_named("vm")) if flow.minimal else None
        compiled, watched = loop.loop, task
        if isinstance(compiled, RankedLoop):
            compiled, watched = compiled.loop, task.watching(compiled.size)
        self.holds = Holds(compiled, watched, trace, self.p, 1 / loop.reader.rate)
        if task.keep_steps:
            trace.steps.clear()  # the state at each reading is stored, the first one too
        self.columns = np.array(loop.reader.columns, dtype=int)
        samples = (task.t_end - task.t0) * loop.reader.rate
        refuse_many(int(min(samples, 1e300)), f"{samples:.3g} readings of the control", width=8 * (len(self.columns) + 1))
        self.readings = task.t0 + np.arange(max(1, ceil(samples * (1 - 1e-12) - 1e-9))) / loop.reader.rate
        self.ends = [*self.readings[1:].tolist(), task.t_end]
        passed = np.searchsorted(task.times, self.readings)  # a requested time at a reading belongs to the interval after it
        self.times_before = [*passed.tolist(), len(task.times)]
        self.z_read = np.empty((len(self.readings), len(task.z0)))
        self.steps = np.zeros(len(self.readings), dtype=np.int64)  # accepted until each reading
        self.controls: list[list[float]] = [self.p[self.columns].tolist()]
        self.readings_taken = 0  # readings

    def traces(self) -> Iterator[Trace]:
        status, answered = Status.OK, perf_counter()
        for k, end in enumerate(self.ends):
            if k and not self._read_control():
                status = Status.CONTROL
                break
            self.z_read[k], self.steps[k], self.readings_taken = self.trace.z, self._steps_now(), k + 1
            if not self.holds.reach(end, self.times_before[k + 1]):
                status = yield from self._run(k)
                if status is not Status.OK:
                    break
            elif self._steps_now() - self.steps[k] > STEPS_TO_COMPARE and self._runs_away(k):
                status = Status.CONTROL
                break
            if perf_counter() - answered > SECONDS_PER_YIELD:
                self.holds.leave()
                yield self.trace.ended(Status.BUFFER_FULL)
                answered = perf_counter()
        self.holds.leave()
        self.trace.readings = self._readings()
        yield self.trace.ended(status)

    def _read_control(self) -> bool:
        """Sets the inputs from here on; False if the control returned none."""
        t = self.trace.t
        v = self.u.copy() if self.velocities is None else self.velocities(t, self.trace.z, self.p)["v"]
        try:
            values = self.loop.reader.values_at(t, self.q.copy(), v)
        except Exception as failure:  # any error of the user's function: the motion so far is kept
            self.trace.failure = failure
            return False
        self.p[self.columns] = values
        self.controls.append(values)
        return True

    def _run(self, k: int) -> Generator[Trace, None, Status]:
        """From the k-th reading to the next by the loop itself, yielding on the way; returns the status there."""
        seconds, began = 0.0, perf_counter()
        self.trace.keep()
        for task in self._tasks(k):
            for trace in self.inner.run(task, self.trace):
                if trace.status is Status.BUFFER_FULL:
                    seconds += perf_counter() - began
                    yield trace
                    began = perf_counter()
        self.holds.bound_step()
        self.holds.adapt(seconds + perf_counter() - began)
        return self.trace.status

    def _tasks(self, k: int) -> Iterator[Task]:
        """The task from the k-th reading to the next, interrupted after many steps to check whether to go on."""
        full = replace(self.task, t_end=self.ends[k], p=self.p, times=self.task.times[: self.times_before[k + 1]])
        limit = self.steps[k] + max(STEPS_TO_COMPARE, int(OUT_OF_PROPORTION * self._usual_steps(k)))
        if limit < full.max_steps:
            yield replace(full, max_steps=limit)
            if self.trace.status is not Status.MAX_STEPS or self._runs_away(k):
                return
        yield full

    def _steps_now(self) -> int:
        """Number of steps accepted so far."""
        hold = self.holds.current
        return self.trace.statistics.accepted if hold is None else hold.struct.accepted

    def _usual_steps(self, k: int) -> float:
        """Steps between two of the readings until the k-th: the median."""
        return float(np.median(np.diff(self.steps[: k + 1]))) if k else 0.0

    def _runs_away(self, k: int) -> bool:
        """Whether steps and speed after the k-th reading are out of proportion to earlier ones; the run then ends here."""
        steps, usual, flow = self._steps_now() - self.steps[k], self._usual_steps(k), self.loop.flow
        if k < 3 or steps < max(STEPS_TO_COMPARE, OUT_OF_PROPORTION * usual):
            return False
        speeds = np.abs(self.z_read[: k + 1, flow.nq : flow.nq + flow.nu]).max(axis=1, initial=0.0)
        if not speeds[k] > OUT_OF_PROPORTION * np.median(speeds):
            return False
        self.trace.failure = ModelError(
            f"the motion runs away under its control: the reading at t = {self.readings[k]:.6g} was followed by {steps} steps"
            f" where {usual:.3g} were usual, at {speeds[k] / np.median(speeds):.0f} times the usual velocity;"
            " check the signs and gains of the control, or raise rate="
        )
        self.trace.ended(Status.CONTROL)
        return True

    def _readings(self) -> Readings:
        """The readings so far, with the work done by jumps of inputs inside a potential."""
        loop, n = self.loop, self.readings_taken
        values = np.array(self.controls[:n]).reshape(n, len(self.columns))
        readings = Readings(
            inputs=loop.reader.inputs, t=self.readings[:n], z=self.z_read[:n], values=values, p=self.task.p,
            columns=loop.reader.columns, work=np.zeros(n),
        )  # fmt: skip
        if not loop.compiled.system.potential.free_symbols & set(loop.reader.inputs):
            return readings
        return replace(readings, work=_work_of_jumps(loop.compiled, loop.flow, readings))


def _work_of_jumps(run: Run, flow: Flow, readings: Readings) -> Array:
    """Σ H(t_k, q, v; u_k) − H(t_k, q, v; u_k−1), (n,), J."""
    q, v = readings.z[:, : flow.nq], velocities(run, flow, readings.t, readings.z)
    n = np.arange(len(readings))
    H_after, H_before = (
        HeldRun.of(run, readings.parameters_of(numbers)).evaluate(readings.t, q, v, ("H",))["H"]
        for numbers in (n, np.maximum(n - 1, 0))
    )
    return np.cumsum(H_after - H_before)


__all__ = ["SampledLoop"]
