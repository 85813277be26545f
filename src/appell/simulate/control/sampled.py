"""Digital control: a callable reads the state at a fixed rate, and what it answers is held until the next reading.

    p_u(t) = control(t_k, q(t_k), v(t_k))        t_k <= t < t_k+1 = t_k + 1/rate                (zero-order hold)

The inputs u are parameters of the system, named in its forces; the motion between two readings is that of any other system.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from math import ceil
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError, Status
from appell.motion.sampler import velocities
from appell.normal_form.flow import Flow
from appell.simulate.control.held import HeldRun, Readings
from appell.simulate.control.holds import Holds, Ledger
from appell.simulate.control.reader import Reader
from appell.simulate.loop.in_python import SECONDS_PER_LEG, Leg, Loop, Task
from appell.simulate.loop.prepare import evaluator
from appell.simulate.methods.stiff import StiffLoop
from appell.simulate.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SampledLeg(Leg):
    """A leg with what the control answered, and why it did not where the status is CONTROL."""

    readings: Readings | None = None
    failure: Exception | None = None


@dataclass(frozen=True, eq=False)
class SampledLoop:
    """`Loop` under a control: `loop` from one reading to the next."""

    loop: Loop
    run_: Run
    flow: Flow
    reader: Reader

    def run(self, task: Task) -> Iterator[SampledLeg]:
        """See `in_python.Loop.run`."""
        if task.t_end < task.t0:
            raise ModelError(f"a control runs forwards: until = {task.t_end:g} must not be before since = {task.t0:g}")
        yield from _Journey(self, task).legs()


class _Journey:
    """The state of one run: what it has done is in the ledger, what it has read is here."""

    def __init__(self, loop: SampledLoop, task: Task):
        self.loop, self.task, self.p = loop, task, task.p.copy()
        self.ledger, flow = Ledger(task, 1 / loop.reader.rate), loop.flow
        self.q, self.u = self.ledger.z[: flow.nq], self.ledger.z[flow.nq : flow.nq + flow.nu]
        self.velocities = evaluator(flow.expand) if flow.minimal else None
        self.holds = Holds(loop.loop, self.ledger, self.p)
        self.columns = np.array(loop.reader.columns, dtype=int)
        samples = (task.t_end - task.t0) * loop.reader.rate
        self.readings = task.t0 + np.arange(max(1, ceil(samples * (1 - 1e-12) - 1e-9))) / loop.reader.rate
        self.ends = [*self.readings[1:].tolist(), task.t_end]
        passed = np.searchsorted(task.times, self.readings)  # a reading belongs to what it begins
        self.asked = [*passed.tolist(), len(task.times)]
        self.known_z = np.empty((len(self.readings), len(task.z0)))
        self.answers: list[list[float]] = [self.p[self.columns].tolist()]
        self.done = 0  # readings
        self.failure: Exception | None = None

    def legs(self) -> Iterator[SampledLeg]:
        status, answered = Status.OK, perf_counter()
        for k, end in enumerate(self.ends):
            if k and not self._read():
                status = Status.CONTROL
                break
            self.known_z[k], self.done = self.ledger.z, k + 1
            if not self.holds.reach(end, self.asked[k + 1]):
                status = yield from self._run(k)
                if status is not Status.OK:
                    break
            if perf_counter() - answered > SECONDS_PER_LEG:
                yield self._on_the_way(self.ledger.t)
                answered = perf_counter()
        yield self._leg(status)

    def _read(self) -> bool:
        """The inputs from here on; False where the control has none."""
        t = self.ledger.t
        v = self.u.copy() if self.velocities is None else self.velocities(t, self.ledger.z, self.p)["v"]
        try:
            values = self.loop.reader.ask(t, self.q.copy(), v)
        except Exception as failure:  # whatever a user's function does: the motion until then is kept
            self.failure = failure
            return False
        self.p[self.columns] = values
        self.answers.append(values)
        return True

    def _run(self, k: int) -> Generator[SampledLeg, None, Status]:
        """From the k-th reading to the next by the loop itself: legs on the way, and the status there."""
        leg, before = None, perf_counter()
        for leg in self.loop.loop.run(self._piece(k)):
            if leg.status is Status.BUFFER_FULL:
                yield self._on_the_way(leg.t)
        assert leg is not None
        self.ledger.keep(leg, self.asked[k + 1] - self.asked[k])
        self.holds.took(perf_counter() - before)
        return leg.status

    def _piece(self, k: int) -> Task:
        """The task from the k-th reading to the next."""
        ledger, end = self.ledger, self.ends[k]
        times = self.task.times[self.asked[k] : self.asked[k + 1]]
        if isinstance(self.loop.loop, StiffLoop):  # which makes a fine grid of its own where nothing is asked
            times = np.append(times, end)
        return replace(
            self.task, t0=ledger.t, z0=ledger.z, t_end=end, p=self.p, times=times, first_step=ledger.h,
            max_steps=self.task.max_steps - ledger.statistics.accepted,
        )  # fmt: skip

    def _on_the_way(self, t: float) -> SampledLeg:
        """Where it stands. What it has until there is joined once, at the end."""
        self.holds.leave()
        ledger, none = self.ledger, np.zeros((0, len(self.task.z0)))
        return SampledLeg(
            status=Status.BUFFER_FULL, t=t, z=ledger.z.copy(), next_step=ledger.h or 0.0, z_times=none,
            statistics=ledger.statistics, t_pieces=(none[:, 0],), z_pieces=(none,),
        )  # fmt: skip

    def _leg(self, status: Status) -> SampledLeg:
        """Everything."""
        self.holds.leave()
        ledger = self.ledger
        return SampledLeg(
            status=status, t=ledger.t, z=ledger.z.copy(), next_step=ledger.h or 0.0, statistics=ledger.statistics,
            z_times=ledger.z_times[: ledger.passed], t_pieces=tuple(ledger.t_pieces), z_pieces=tuple(ledger.z_pieces),
            events=np.concatenate(ledger.events), contacts=tuple(ledger.contacts), failure=self.failure,
            readings=self._readings(),
        )  # fmt: skip

    def _readings(self) -> Readings:
        loop, n = self.loop, self.done
        values = np.array(self.answers[:n]).reshape(n, len(self.columns))
        made = Readings(
            inputs=loop.reader.inputs, t=self.readings[:n], z=self.known_z[:n], values=values, p=self.task.p,
            columns=loop.reader.columns, work=np.zeros(n),
        )  # fmt: skip
        if not loop.run_.system.potential.free_symbols & set(loop.reader.inputs):
            return made
        return replace(made, work=_work_of_jumps(loop.run_, loop.flow, made))


def _work_of_jumps(run: Run, flow: Flow, readings: Readings) -> Array:
    """Σ H(t_k, q, v; u_k) − H(t_k, q, v; u_k−1), (n,), J."""
    q, v = readings.z[:, : flow.nq], velocities(run, flow, readings.t, readings.z)
    n = np.arange(len(readings))
    after, before = (
        HeldRun.of(run, readings.parameters_of(which)).evaluate(readings.t, q, v, ("H",))["H"]
        for which in (n, np.maximum(n - 1, 0))
    )
    return np.cumsum(after - before)


__all__ = ["SampledLeg", "SampledLoop"]
