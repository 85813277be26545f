"""`method="auto"` on a system that turns out to be stiff: explicit steps until their size is bounded by stability alone.

An explicit method damps a mode e^{λt} only while h|λ| stays below some number; a mode that has died long ago then decides the
size of all steps. Where a run has far to go, the eigenvalues of ∂f/∂z at its state are looked at; if a damped one holds steps
back, the implicit method goes on from there, and a note says so. Looks are after fixed numbers of steps, so that a run that is
made again is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from appell.backends import backend_named
from appell.errors import Status
from appell.graph.fn import Fn
from appell.loop.methods.radau import jacobian_of
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.normal_form.flow import Flow
from appell.normal_form.slopes import flow_slopes
from appell.notes import Note

Array = NDArray[np.float64]

STEPS_BEFORE_LOOK = 1000
"""Steps before the first look; after another one so many times as many (`PATIENCE`)."""
WORTH_A_LOOK = 20_000
"""Steps that are still to be taken at least for a look, which takes some milliseconds to a second, to be worth its time."""
BOUND = 2.0
"""h|Re λ| from which stability decides: explicit pairs end between 3 (order 5) and 6 (order 8), and hover there."""
DAMPED = 0.5
"""Share of |λ| that −Re λ has at least: an undamped fast oscillation is followed, not skipped, by any method."""
PATIENCE = 4
EIGENVALUE_ENTRIES = 200
"""Entries of the state up to which eigenvalues are looked at."""


@dataclass(frozen=True, eq=False)
class AutoLoop:
    """`Loop` by `explicit`, and by the loop that `implicit()` makes from where the steps are held back by a damped mode."""

    explicit: Loop
    implicit: Callable[[], Loop]
    flow: Flow

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        trace = trace or task.trace()
        trace.next_look = trace.next_look or STEPS_BEFORE_LOOK
        while not trace.implicit:
            part = replace(task, max_steps=min(trace.next_look, task.max_steps))
            for _ in self.explicit.run(part, trace):
                if trace.status is not Status.MAX_STEPS or part.max_steps == task.max_steps:
                    yield trace
            if trace.status is not Status.MAX_STEPS or part.max_steps == task.max_steps:
                return
            trace.next_look *= PATIENCE
            if held_back := self._held_back(task, trace):
                trace.notes.append(_note(trace, held_back))
                trace.implicit, trace.next_step = True, None
        yield from self.implicit().run(task, trace)

    def _held_back(self, task: Task, trace: Trace) -> float:
        """−Re λ of the damped mode that decides the size of steps, 1/s; 0 where none does."""
        far = trace.next_step is not None and abs(task.t_end - trace.t) > WORTH_A_LOOK * trace.next_step
        slopes = flow_slopes(self.flow) if far and self.flow.nz <= EIGENVALUE_ENTRIES else None
        if slopes is None or trace.next_step is None:
            return 0.0
        vm = backend_named("vm")

        def evaluator(fn: Fn) -> Callable[..., dict[str, Array]]:
            single, names = vm.load(fn).single, [port.name for port in fn.outputs]
            return lambda *arrays: dict(zip(names, single(*arrays), strict=True))

        with np.errstate(all="ignore"):
            J = jacobian_of(slopes, evaluator)(trace.t, trace.z.copy(), task.p)
        if not np.isfinite(J).all():
            return 0.0
        values = np.linalg.eigvals(J)
        damped = -values.real[-values.real > DAMPED * np.abs(values)]
        fastest = float(damped.max(initial=0.0))
        return fastest if fastest * trace.next_step > BOUND else 0.0


def _note(trace: Trace, held_back: float) -> Note:
    t = trace.t + trace.origin
    return Note(
        f"the system is stiff: from t = {t:.6g} s on method='radau' takes the steps (an explicit one would be held at"
        f" {trace.next_step:.1e} s by a mode that decays in {1 / held_back:.1e} s)",
        time=t,
        kind="stiff",
    )


__all__ = ["AutoLoop"]
