"""The time loop of a run with stops: any other loop, whose steps are examined by interval bounds before they count.

    ahead       the loop advances as without stops
    looking     the same steps are repeated with states inside them, which changes no step; all zeros of the expressions on
                their polynomials are found (`appell.motion.zeros`)
    stop        the run ends at the first of them; what lies beyond is discarded

So every method, back end and mode supports stops, and a run that meets none equals the run without stops. The number of steps
examined together grows with the run: it is made twice, and overshoots its stop by a fraction of its steps.
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
from appell.model.stops import DIRECTIONS, Stop
from appell.motion.zeros import CROSSED, JUMPED, REBOUND
from appell.normal_form.flow import Flow
from appell.simulate.loop.repeated import repeated
from appell.simulate.loop.stretched_run import note_unbounded
from appell.simulate.loop.watched import WatchedExpressions

Array = NDArray[np.float64]

FIRST_STEPS_TOGETHER = 128
"""Number of steps examined together at first; then as many as were examined before."""


STOPPED_WORDS = {
    CROSSED: "passed through zero",
    JUMPED: "jumped over zero",
    REBOUND: "reached zero in an impact, a reset or a change of mode",
}


class MetStop(NamedTuple):
    """A stop that is met: its time, s (as the loop counts), its name, the direction, and the kind of its zero."""

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
    """One run from the current state of its trace; its steps must be stored."""

    def __init__(self, loop: StopLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace = loop, task, trace
        self.start = trace.without_past(0)
        self.start_row = len(trace.steps) - 1 if len(trace.steps) else 0  # the row of the start
        self.rows = max(self.start_row, 0)  # the first row after which nothing was examined
        expressions = {name: stop.expression for name, stop in loop.stops.items()}
        self.watched = WatchedExpressions(loop.compiled, loop.flow, expressions, loop.noise)
        self.reported: set[str] = set()

    def traces(self) -> Iterator[Trace]:
        """The trace after each examination of its steps, and at its end."""
        trace, failure = self.trace, None
        try:
            for _ in self.loop.loop.run(self.task, trace):
                if trace.status is not Status.BUFFER_FULL:
                    break
                met = self._first_met(whole=False)
                if met is not None:
                    yield self._end(met)
                    return
                yield trace.ended(Status.BUFFER_FULL)
        except AppellError as error:  # a stop may have been met before the error
            failure = error
        met = self._first_met(whole=True)
        if met is not None:
            yield self._end(met)
            return
        if failure is not None:
            raise failure
        yield trace

    # -- looking -------------------------------------------------------------------------------------------------------

    def _first_met(self, *, whole: bool) -> MetStop | None:
        """The first stop among the unexamined steps, block by block; whole: up to the last of them."""
        block = max(FIRST_STEPS_TOGETHER, self.rows - self.start_row)
        while True:
            last_row = len(self.trace.steps) - 1
            if last_row <= self.rows or not (whole or last_row - self.rows >= block):
                return None
            end = min(self.rows + block, last_row)
            met, signs, reached, pending = self._first_in_block(self.trace.steps.view(self.rows)[: end - self.rows + 1, 0])
            if met is not None:
                return met
            if pending and not (whole and end == last_row):  # the next step decides
                block *= 2
                continue
            self.trace.signs.update(signs)
            self.trace.reached = reached
            self.rows, block = end, max(FIRST_STEPS_TOGETHER, end - self.start_row)

    def _first_in_block(self, times: Array) -> tuple[MetStop | None, dict[str, float], dict[str, float], bool]:
        """The first stop between the first and the last of these step times; the signs at the end, those from which zero was
        reached there, and whether an expression is zero there."""
        direction, signs, reached, pending, met = (
            self.task.direction, dict[str, float](), dict[str, float](), False, list[MetStop]()
        )  # fmt: skip
        watched = self.watched.along_steps(self.task, times, self._states)
        for name in self.loop.stops:
            zeros = watched.zeros(name, self.trace.signs.get(name, 0.0), self.trace.reached.get(name, 0.0))
            signs[name], reached[name], pending = zeros.sign, zeros.reached, pending or zeros.pending
            stop_direction = self.loop.stops[name].direction
            met += [
                MetStop(float(zeros.time[i]), name, float(zeros.direction[i]), str(zeros.kind[i]))
                for i in range(len(zeros.time))
                if stop_direction in (0, zeros.direction[i])
            ]
            if len(zeros.unbounded) and name not in self.reported:
                self._note_unbounded_stop(name, float(zeros.unbounded[0]))
        return min(met, key=lambda stop: direction * stop.time, default=None), signs, reached, pending

    def _states(self, times: Array) -> Array:
        """States of the run at other times, by repeating it: (k, nz)."""
        max_steps = self.task.max_steps if self.loop.noise else self.trace.statistics.accepted + 2
        return repeated(self.loop.loop, self.task, self.start, times, max_steps)

    def _note_unbounded_stop(self, name: str, time: float) -> None:
        self.reported.add(name)
        note_unbounded(self.trace, f"stop '{name}'", time, "stop")

    # -- the end -------------------------------------------------------------------------------------------------------

    def _end(self, met: MetStop) -> Trace:
        """Ends the run at a stop."""
        task, trace, direction = self.task, self.trace, self.task.direction
        times = trace.steps.view()[:, 0]
        rows = int(np.searchsorted(direction * times, direction * met.time, side="right"))  # of two at an impact both
        on_a_step = rows > 0 and times[rows - 1] == met.time
        state = trace.steps.view()[rows - 1, 1:].copy() if on_a_step else self._states(np.array([met.time]))[0]
        trace.cut(met.time, rows, int(np.searchsorted(direction * task.times, direction * met.time, side="right")), direction)
        if on_a_step:
            trace.t, trace.z[:] = met.time, state
        else:
            trace.move(met.time, state)
        stop, description = self.loop.stops[met.name], STOPPED_WORDS[met.kind]
        trace.stopped = f"'{met.name}', {stop.expression}, {description}, {DIRECTIONS[int(met.direction)]}"
        return trace.ended(Status.STOPPED)


__all__ = ["StopLoop"]
