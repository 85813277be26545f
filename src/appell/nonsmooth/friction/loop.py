"""The time loop of a system with friction: stretches of the compiled loop in one mode, cut where a guard falls through zero.

    stretch      some steps of the plain loop, the mode being data among its parameters; guards are read at samples inside them
    event        the first crossing is located on the dense output, and the step is taken again up to it: the order is kept
    transition   slip that has vanished is set to zero in the kinetic metric, blows are given, and `decide` finds the next mode

A step that overruns an event is still smooth, since nothing in a mode depends on the sign of a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, ModelError, Status
from appell.nonsmooth.friction.decide import Undetermined
from appell.nonsmooth.friction.functions import FrictionFunctions
from appell.nonsmooth.friction.guards import Guard
from appell.nonsmooth.friction.place import FIRST_STRETCH, LONGEST_STRETCH
from appell.nonsmooth.friction.steps import Steps
from appell.nonsmooth.friction.stretches import Stretches
from appell.simulate.loop.in_c import CLoop
from appell.simulate.loop.task import Loop, Task
from appell.simulate.loop.trace import Trace

Array = NDArray[np.float64]

CLOSER = 3
"""Steps that are looked at closer where compiled ones stop before an event that is not clear."""
STALLED = 40
"""So many changes of mode at one instant do not lead anywhere."""


@dataclass(frozen=True, eq=False)
class FrictionLoop:
    """`Loop` of a system with friction.

    Parameters
    ----------
    plain: the loop of `functions.flow`. compiled: the same with `steps.c.in`, or None.
    look: (t (k,), z (k, nz), p (k, …)) → outputs of `functions.look` by name.
    """

    system: Any
    form: Any
    functions: FrictionFunctions
    plain: Loop
    compiled: CLoop | None
    look: Callable[[Array, Array, Array], dict[str, Array]]
    corner: str = "raise"

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        if task.t_end < task.t0:
            raise ConstraintError("with friction time runs forward: what sticks forgets how it slid")
        yield from Journey(self, task, trace or task.trace()).traces()


class Journey(Stretches):
    """One run from its start to its end."""

    def traces(self) -> Iterator[Trace]:
        trace = self.trace
        self.steps = None if self.loop.compiled is None else Steps(self)
        known = self.steps is not None and not trace.modes and not self.own.faces and self.steps.arrive()
        status = Status.OK if known else self._guarded(self._arrive)
        while status is Status.OK and trace.t < self.task.t_end:
            if trace.statistics.accepted >= self.task.max_steps:
                status = Status.MAX_STEPS
                break
            began, event = trace.t, None
            try:
                status, event = self._onward()
            except (Undetermined, np.linalg.LinAlgError) as error:
                status = self._failed(error)
            if event is not None:
                self.stalled = self.stalled + 1 if trace.t == began else 0
                self.stretch, trace.next_step, self.before = FIRST_STRETCH, None, len(trace.steps)
                status = self._guarded(self._change, event)
            else:
                self.stretch = min(2 * self.stretch, LONGEST_STRETCH)
            trace.status = Status.BUFFER_FULL
            yield trace
        yield trace.ended(status)

    def _onward(self) -> tuple[Status, Guard | None]:
        """Compiled steps as far as they go, else a stretch."""
        if self.steps is not None and self.steps.takes():
            if (gone := self.steps.go()) is not None:
                return gone
            self.stretch = CLOSER
        return self._run_stretch()

    def _guarded(self, action: Callable[..., None], *arguments: Any) -> Status:
        try:
            if self.stalled > STALLED:
                raise Undetermined(f"modes of friction change without end at one instant ({', '.join(self.names)})")
            action(*arguments)
        except (Undetermined, np.linalg.LinAlgError) as error:
            return self._failed(error)
        return Status.OK

    def _failed(self, error: Exception) -> Status:
        if not isinstance(error, Undetermined):
            return Status.SINGULAR
        self.trace.failure = ModelError(str(error))
        return Status.FRICTION


__all__ = ["FrictionLoop", "Journey"]
