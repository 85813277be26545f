"""A run with faces and frictions in progress: its trace, its current mode, and what it remembers.

Functions advance it: `journey` from start to end, `transitions` from the end of one mode to the next. The outcome of an impact
and the mode that holds at an instant are complementarity problems, solved by the `Laws` of the loop. The problems are convex
without friction (`contact.face_laws`), and in general not with it (`friction.friction_laws`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError, Status
from appell.loop.task import Task
from appell.loop.trace import Trace
from appell.modes.contact_thresholds import CORNER_IMPACTS
from appell.modes.endings import Ending
from appell.modes.mode import Mode
from appell.nonsmooth.contact.instant import Instant

if TYPE_CHECKING:
    from appell.nonsmooth.friction.friction_course import FrictionMemory
    from appell.nonsmooth.friction.friction_layout import FrictionLayout

Array = NDArray[np.float64]


class RunEnded(AppellError):
    """Raised by a transition that cannot be completed; carries the status with which the run ends."""

    def __init__(self, status: Status):
        super().__init__(status.name)
        self.status = status


class InstantEvents(NamedTuple):
    """What happened at an instant, as input for `settle`.

    leaving: a face whose reaction has vanished. holding: faces that stay in contact if they can, whatever their remaining
    rates. met: faces that were just hit. stopped: a friction whose slip has vanished. struck: whether there was an impact.
    """

    leaving: int | None = None
    holding: frozenset[int] = frozenset()
    met: frozenset[int] = frozenset()
    stopped: int | None = None
    struck: bool = False


@dataclass(frozen=True)
class Laws:
    """How a system behaves at an instant, and between two of them.

    arrive: finds the mode where a run starts or resumes. stretch: takes steps in a mode, and returns what ended it.
    pass_on: moves on by a few spacings of the time, where a reaction falls too steeply to be located at its bound.
    strike: applies impacts, and returns the faces on which the system stays. settle: finds the mode from here on.
    stall: what to do when the changes of mode at one instant do not end. explain: adds a warning to the status of a failed run.
    """

    arrive: Callable[[ModeCourse], None]
    stretch: Callable[[ModeCourse], Generator[Trace, None, tuple[Status, tuple[Ending, int] | None]]]
    pass_on: Callable[[ModeCourse, Ending, int], None]
    strike: Callable[[ModeCourse, Instant, list[int]], set[int]]
    settle: Callable[[ModeCourse, InstantEvents], None]
    stall: Callable[[ModeCourse, Ending], InstantEvents]
    explain: Callable[[ModeCourse, Status], None]


class ModeCourse:
    """One run in progress.

    floor: the finest distance that matters, per unit of its normal. layout: the rows of faces and frictions. names: of the
    frictions. landings: time of the last landing on each face, (faces,), s. struck_at, strikes: time of the last impacts, and
    how many transitions with impacts there were at that time. bouncing_ended_at: time at which bouncing between several faces
    was last ended, s. independent_at: time at which redundant faces were last found to be independent, s.
    steps_before_ending: number of steps stored before the last ending; of the states at that instant only the last one is
    stored. None: all are stored.
    """

    def __init__(
        self, loop: Any, task: Task, trace: Trace, floor: float, layout: FrictionLayout, friction: FrictionMemory | None = None
    ):
        self.loop, self.task, self.trace, self.floor, self.layout = loop, task, trace, floor, layout
        self.form, self.p = loop.form, task.p
        self.names = [friction.name for friction in loop.system.frictions]
        self.landings = np.full(layout.faces, -np.inf)
        self.bouncing_ended_at = self.independent_at = self.struck_at = -np.inf
        self.strikes = 0
        self.steps_before_ending: int | None = None
        self.memory = friction
        self._last: tuple[tuple[float, bytes, bytes], Instant] | None = None

    @property
    def laws(self) -> Laws:
        return self.loop.laws

    @property
    def friction(self) -> FrictionMemory:
        """The memory of the run about its frictions."""
        assert self.memory is not None
        return self.memory

    @property
    def mode(self) -> Mode:
        return self.trace.mode

    def faces(self) -> Instant:
        """The current state with its faces; the last one is cached."""
        nq, nv, z = self.form.nq, self.form.nv, self.trace.z
        key = (self.trace.t, z[: nq + nv].tobytes(), self.p.tobytes())
        if self._last is None or self._last[0] != key:
            at = Instant.at(self.form, self.trace.t, z[:nq].copy(), z[nq : nq + nv].copy(), self.p, self.floor)
            self._last = key, at
        return self._last[1]

    def move(self, M: Array, dv: Array, dissipated: float = 0.0) -> None:
        """v += Δv. The impulses M Δv do the work (v + Δv/2)·MΔv; friction has `dissipated` part of it."""
        nq, nv, trace = self.form.nq, self.form.nv, self.trace
        v = trace.z[nq : nq + nv].copy()
        trace.z[nq : nq + nv] += dv
        trace.z[-1] += float((v + dv / 2) @ M @ dv)
        if dissipated:
            trace.z[-2] += dissipated
        self.keep()
        trace.change_times(self.task.times)

    def strikes_on(self) -> bool:
        """Counts one more transition with impacts; whether there have not been too many of them at this instant."""
        self.strikes = self.strikes + 1 if self.trace.t == self.struck_at else 1
        self.struck_at = self.trace.t
        return self.strikes <= CORNER_IMPACTS

    def keep(self) -> None:
        """Stores the state after an ending."""
        trace = self.trace
        if self.steps_before_ending is not None and trace.keep_steps and len(trace.steps) > max(self.steps_before_ending, 1):
            trace.steps.page[trace.steps.used - 1] = np.append(trace.t, trace.z)
        else:
            trace.keep()


__all__ = ["InstantEvents", "Laws", "ModeCourse", "RunEnded"]
