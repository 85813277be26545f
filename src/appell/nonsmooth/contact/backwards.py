"""Runs backwards in time under unilateral constraints: the time-reversed system is run forward, and its trace is reversed.

This requires elastic impacts. With bouncing that ends, or with a body at rest on a wall, the past is not unique: the state does
not determine when the body landed there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.errors import ConstraintError, Status
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.model.time_reversed import time_reversed
from appell.modes.events import Kind
from appell.normal_form import normal_form
from appell.notes import Note

Array = NDArray[np.float64]


def reversed_run(run: Run) -> Run:
    """The run of the system with time reversed, with the same parameters."""
    system, form = run.system, run.form
    e = form.select("restitution")(0.0, np.zeros(form.nq), np.zeros(form.nv), run.p)["restitution"]
    for face, value in zip(system.unilateral, e, strict=True):
        if value != 1:
            raise ConstraintError(
                f"time runs backwards through elastic impacts only, and the restitution of '{face.name}' is {value:g}: an"
                " impact that loses energy cannot be reversed"
            )
    backward_system = time_reversed(system)
    assert backward_system.parameters == system.parameters
    return Run(backward_system, normal_form(backward_system), run.parameters, run.p, run.backend, run.policies, fold=run.fold)


@dataclass(frozen=True, eq=False)
class Backwards:
    """`Loop` for tasks with t_end < t_start; forward: the loop of the time-reversed system."""

    run_forward: Callable[[], Loop]
    names: tuple[str, ...]
    velocities: slice  # where they are in z

    def run(self, task: Task, trace: Trace) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        mirrored = replace(
            task, t0=-trace.t, z0=self._turned(trace.z), t_end=-task.t_end, times=-task.times[trace.passed :],
            first_step=trace.next_step,
        )  # fmt: skip
        forward_start = mirrored.trace()
        # rows and events of the forward trace that have been appended; what the trace had passed and done before
        rows, events, passed, work = 1, 0, trace.passed, trace.statistics
        for forward in self.run_forward().run(mirrored, forward_start):
            self._refuse_contacts(forward)
            rows, events = self._append(trace, forward, rows, events)
            trace.passed, trace.statistics = passed, work + forward.statistics
            trace.pass_times(self._turned(forward.memory_of_times[: forward.passed]))
            if forward.status is not Status.BUFFER_FULL:
                trace.notes += [self._note(note, trace.origin) for note in forward.notes]
            yield trace

    def _turned(self, z: Array) -> Array:
        z = z.copy()
        z[..., self.velocities] *= -1
        return z

    def _note(self, note: Note, origin: float) -> Note:
        time = None if note.time is None else origin - note.time
        return Note(str(note), time=time, kind=note.kind, constraints=note.constraints)

    def _append(self, trace: Trace, forward: Trace, rows: int, events: int) -> tuple[int, int]:
        steps, hits = forward.steps.joined(), forward.events.joined()
        if trace.keep_steps:
            for row in steps[rows:]:
                trace.move(-row[0], self._turned(row[1:]))
        trace.t, trace.z[:] = -forward.t, self._turned(forward.z)
        for hit in hits[events:]:  # rates before and after, in the order of time as it runs
            trace.record(int(hit["face"]), Kind(int(hit["kind"])), -float(hit["after"]), -float(hit["before"]),
                         float(hit["impulse"]), -float(hit["time"]))  # fmt: skip
        trace.status, trace.next_step, trace.failure = forward.status, forward.next_step, forward.failure
        return len(steps), len(hits)

    def _refuse_contacts(self, forward: Trace) -> None:
        contacts = [(time, faces) for time, faces in forward.contacts if faces]
        if contacts:
            (time, faces), *_ = contacts
            raise ConstraintError(
                f"backwards in time it rests on '{self.names[faces[0]]}' at t = {-time:.6g}: the past of a body at rest"
                " on a wall is not unique; start in flight"
            )


__all__ = ["Backwards", "reversed_run"]
