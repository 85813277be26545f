"""The time loop of a run with stops: any other loop, whose steps are looked at by a bound before they count.

    ahead       the loop goes on as without stops
    looking     the same steps once more with states inside them, which changes no step; on their polynomials all zeros of the
                expressions are found (`appell.motion.zeros`)
    stop        at the first of them the run ends: what lies behind it is taken back

So every method, back end and mode has the same stops, and a run without one that is met is the run without stops. Blocks of
steps that are looked at together grow with the run: it is made twice, and goes ahead of its stop by a share of its steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.errors import AppellError, Status
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.model.stops import WAYS, Stop
from appell.motion.zeros import CROSSED, JUMPED, REBOUND
from appell.normal_form.flow import Flow
from appell.simulate.loop.repeated import repeated
from appell.simulate.loop.stretched_run import note_unbounded
from appell.simulate.loop.watched import WatchedExpressions

Array = NDArray[np.float64]

FIRST_STEPS_TOGETHER = 128
"""Steps that are looked at together at first; then as many as were looked at before."""


HOW = {CROSSED: "passed through zero", JUMPED: "jumped over zero", REBOUND: "reached zero in an impact or a reset"}


class Met(NamedTuple):
    """A stop that is met: when, s (as the loop counts), which, in which direction, and of which kind its zero is."""

    time: float
    name: str
    direction: float
    kind: str


@dataclass(frozen=True, eq=False)
class StopLoop:
    """`loop` of a run and its flow, ended by the first of some stops. noise: see `dense_steps`."""

    loop: Loop
    compiled: Run
    flow: Flow
    stops: Mapping[str, Stop]
    noise: float = 0.0

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        yield from _Watch(self, task, trace or task.trace()).traces()


class _Watch:
    """One run from where its trace stands; its steps must be kept."""

    def __init__(self, loop: StopLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace = loop, task, trace
        self.start = trace.beside(0)
        self.first = len(trace.steps) - 1 if len(trace.steps) else 0  # the row of the start
        self.rows = max(self.first, 0)  # the first row behind which nothing was looked at
        expressions = {name: stop.expression for name, stop in loop.stops.items()}
        self.watched = WatchedExpressions(loop.compiled, loop.flow, expressions, loop.noise)
        self.told: set[str] = set()

    def traces(self) -> Iterator[Trace]:
        trace, failure = self.trace, None
        try:
            for _ in self.loop.loop.run(self.task, trace):
                if trace.status is not Status.BUFFER_FULL:
                    break
                met = self._look(whole=False)
                if met is not None:
                    yield self._end(met)
                    return
                yield trace.ended(Status.BUFFER_FULL)
        except AppellError as error:  # it went ahead, and may have met its stop before
            failure = error
        met = self._look(whole=True)
        if met is not None:
            yield self._end(met)
            return
        if failure is not None:
            raise failure
        yield trace

    # -- looking -------------------------------------------------------------------------------------------------------

    def _look(self, *, whole: bool) -> Met | None:
        """The first stop among the steps that were not looked at, block by block; `whole`: to the last of them."""
        block = max(FIRST_STEPS_TOGETHER, self.rows - self.first)
        while True:
            last = len(self.trace.steps) - 1
            if last <= self.rows or not (whole or last - self.rows >= block):
                return None
            end = min(self.rows + block, last)
            met, signs, pending = self._first(self.trace.steps.seen(self.rows)[: end - self.rows + 1, 0])
            if met is not None:
                return met
            if pending and not (whole and end == last):  # what follows decides
                block *= 2
                continue
            self.trace.signs.update(signs)
            self.rows, block = end, max(FIRST_STEPS_TOGETHER, end - self.first)

    def _first(self, times: Array) -> tuple[Met | None, dict[str, float], bool]:
        """The first stop between the first and the last of the times of steps; the signs at the end, and whether an expression
        comes to zero there."""
        way, signs, pending, met = self.task.direction, dict[str, float](), False, list[Met]()
        looked = self.watched.along_steps(self.task, times, self._states)
        for name in self.loop.stops:
            zeros = looked.zeros(name, self.trace.signs.get(name, 0.0))
            signs[name], pending = zeros.sign, pending or zeros.pending
            wanted = self.loop.stops[name].direction
            met += [
                Met(float(zeros.time[i]), name, float(zeros.direction[i]), str(zeros.kind[i]))
                for i in range(len(zeros.time))
                if wanted in (0, zeros.direction[i])
            ]
            if len(zeros.unbounded) and name not in self.told:
                self._tell(name, float(zeros.unbounded[0]))
        return min(met, key=lambda one: way * one.time, default=None), signs, pending

    def _states(self, times: Array) -> Array:
        """The run once more with other requested times: (k, nz)."""
        most = self.task.max_steps if self.loop.noise else self.trace.statistics.accepted + 2
        return repeated(self.loop.loop, self.task, self.start, times, most)

    def _tell(self, name: str, time: float) -> None:
        self.told.add(name)
        note_unbounded(self.trace, f"stop '{name}'", time, "stop")

    # -- the end -------------------------------------------------------------------------------------------------------

    def _end(self, met: Met) -> Trace:
        """The run ends at a stop."""
        task, trace, way = self.task, self.trace, self.task.direction
        times = trace.steps.seen()[:, 0]
        rows = int(np.searchsorted(way * times, way * met.time, side="right"))  # of two at an impact both
        on_a_step = rows > 0 and times[rows - 1] == met.time
        state = trace.steps.seen()[rows - 1, 1:].copy() if on_a_step else self._states(np.array([met.time]))[0]
        trace.cut(met.time, rows, int(np.searchsorted(way * task.times, way * met.time, side="right")), way)
        if on_a_step:
            trace.t, trace.z[:] = met.time, state
        else:
            trace.move(met.time, state)
        stop, how = self.loop.stops[met.name], HOW[met.kind]
        trace.stopped = f"'{met.name}', {stop.expression}, {how}, {WAYS[int(met.direction)]}"
        return trace.ended(Status.STOPPED)


__all__ = ["StopLoop"]
