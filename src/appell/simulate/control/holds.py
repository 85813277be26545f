"""Runs from one reading of a control to the next in a single compiled call, with memory that is allocated once.

A hold stays in one mode, free flight or a set of contacts, and starts only where that is certain: no open face is near, and
under the new inputs every contact bears a load above rounding. Everything else is left to `Loop.run`: landing, leaving,
corners, failures, and intervals with too many steps between progress reports.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.loop.in_c import FIRST_TRIALS, CLoop, Hold
from appell.loop.in_python import SECONDS_PER_YIELD
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.modes.mode import FLIGHT
from appell.nonsmooth.contact.contact import Instant, certain, mode_of
from appell.nonsmooth.contact.face_loop import FaceLoop

Array = NDArray[np.float64]


class Holds:
    """The compiled modes of a loop, in which a run goes on from one reading to the next.

    Parameters
    ----------
    p: (parameters,) current values, changed in place. interval: the time between two readings, s.
    """

    def __init__(self, loop: Loop, task: Task, trace: Trace, p: Array, interval: float):
        self.loop, self.task, self.trace, self.p, self.interval = loop, task, trace, p, interval
        self.modes: dict[tuple[int, ...], Hold] = {}
        self.current: Hold | None = None
        self.trials, self.trials_too_few = FIRST_TRIALS, False
        self.worthwhile = isinstance(self._loop(()), CLoop)

    def reach(self, t_end: float, passed: int) -> bool:
        """Whether t_end was reached; otherwise the state is unchanged. passed: how many requested times lie before t_end."""
        if self.current is None:
            self.current = self._enter()
        if self.current is None:
            return False
        status = self.current(t_end, passed, self.trials)
        if status == Status.OK:
            self.trace.t = t_end
            return True
        out_of_memory = status == Status.BUFFER_FULL and self._short_of_memory(self.current)
        self.leave()
        if out_of_memory:
            return self.reach(t_end, passed)
        self.trials_too_few = status == Status.BUFFER_FULL
        return False

    def adapt(self, seconds: float) -> None:
        """Adapts to an interval without a hold: whether the next hold may try more steps, or is not worth it."""
        if self.trials_too_few:
            self.trials, self.trials_too_few = min(4 * self.trials, self.trace.steps.longest // 2 - 2), False
            self.worthwhile = seconds < SECONDS_PER_YIELD / 4

    def leave(self) -> None:
        """Appends the results of the holds to the trace."""
        if self.current is not None:
            self.current.call.take()
            self.bound_step()
            self.current = None

    def bound_step(self) -> None:
        """Limits the first step after a reading to the time between two readings."""
        if self.trace.next_step is not None:
            self.trace.next_step = min(self.trace.next_step, self.interval)

    @property
    def _face_loop(self) -> FaceLoop | None:
        return self.loop if isinstance(self.loop, FaceLoop) else None

    def _loop(self, contacts: tuple[int, ...]) -> Loop:
        """The loop with some faces in contact."""
        if self._face_loop is None:
            return self.loop
        return self._face_loop.in_mode(mode_of(self._instant(), contacts) if contacts else FLIGHT)

    def _enter(self) -> Hold | None:
        """The hold for the current mode, from the current state; None if there is none."""
        contacts = self._contacts()
        if contacts is None:
            return None
        if contacts not in self.modes:
            self.modes[contacts] = self._make(contacts)
        hold = self.modes[contacts]
        if contacts:
            hold.least[: len(contacts)] = certain(self._instant(), contacts)
        hold.call.resume()
        hold.call.give_room(self._rows)
        return hold

    @property
    def _rows(self) -> int:
        """Memory for holds, in trials: enough for many of them without interruption."""
        return max(2 * FIRST_TRIALS, self.trace.steps.longest // 2 - 2)

    def _contacts(self) -> tuple[int, ...] | None:
        """The faces in contact, if it rests on no others; None before the first interval has determined them."""
        if not self.worthwhile:
            return None
        if self._face_loop is None:
            return ()
        return self.trace.mode.closed if self.trace.modes and not self.trace.mode.asleep else None

    def _make(self, contacts: tuple[int, ...]) -> Hold:
        """A hold with some faces in contact."""
        loop, task = self._loop(contacts), self.task
        assert isinstance(loop, CLoop)
        return Hold(loop, task, self.trace, self.p, self.interval)

    def _instant(self) -> Instant:
        assert self._face_loop is not None
        form, trace = self._face_loop.compiled.form, self.trace
        q, v = trace.z[: form.nq].copy(), trace.z[form.nq : form.nq + form.nv].copy()
        return Instant.at(form, trace.t, q, v, self.p)

    def _short_of_memory(self, hold: Hold) -> bool:
        """Whether the trials may have filled the remaining memory; unused memory is not replaced."""
        run = hold.struct
        free = min(run.capacity - run.n_steps, run.event_capacity - run.n_events if hold.faces else run.capacity)
        return run.n_steps + run.n_events > 0 and free < 2 * self.trials + hold.faces + 3


__all__ = ["Holds"]
