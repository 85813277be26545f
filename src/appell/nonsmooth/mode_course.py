"""The course of a run with faces and frictions: its trace, the mode that it is in, and what is remembered on the way.

Functions lead it on: `journey` from its start to its end, `transitions` from the end of one mode to the next. What a blow does
and which mode holds at an instant are complementarity problems, and the `Laws` of its loop solve them: convex ones without
friction (`contact.face_laws`), others with it (`friction.friction_laws`).
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
from appell.modes.endings import Ending
from appell.modes.mode import Mode
from appell.nonsmooth.contact.instant import Instant

if TYPE_CHECKING:
    from appell.nonsmooth.friction.friction_course import FrictionMemory
    from appell.nonsmooth.friction.friction_layout import FrictionLayout

Array = NDArray[np.float64]


class RunEnded(AppellError):
    """Raised by a transition that leads nowhere, with the status that the run has then."""

    def __init__(self, status: Status):
        super().__init__(status.name)
        self.status = status


class Happened(NamedTuple):
    """What `settle` is told of an instant.

    leaving: a face whose reaction has vanished. holding: faces that stay in contact if they can, whatever is left of their
    rates; met: faces that were just hit. stopped: a friction whose slip has vanished. struck: whether blows were given.
    """

    leaving: int | None = None
    holding: frozenset[int] = frozenset()
    met: frozenset[int] = frozenset()
    stopped: int | None = None
    struck: bool = False


@dataclass(frozen=True)
class Laws:
    """What is done at an instant, and between two of them.

    arrive: the mode where a run starts or goes on. stretch: some steps in its mode, and what has ended it.
    pass_on: by some spacings of the time, where a reaction falls too steeply for the nearest time to find it at its bound.
    strike: blows on faces; those on which it stays. settle: the mode from here on.
    stall: where nothing leads on any more. explain: what else there is to say of a status that ends a run.
    """

    arrive: Callable[[ModeCourse], None]
    stretch: Callable[[ModeCourse], Generator[Trace, None, tuple[Status, tuple[Ending, int] | None]]]
    pass_on: Callable[[ModeCourse, Ending, int], None]
    strike: Callable[[ModeCourse, Instant, list[int]], set[int]]
    settle: Callable[[ModeCourse, Happened], None]
    stall: Callable[[ModeCourse, Ending], Happened]
    explain: Callable[[ModeCourse, Status], None]


class ModeCourse:
    """One run.

    floor: no distance is finer, per unit of its normal. own: the rows of faces and frictions; names: of the frictions.
    landings: (faces,) when each face was last landed on, s. jammed: when bouncing between several faces was last ended, s.
    kept: steps that were kept before the last ending: of what follows at its instant the last state is kept; None: all are.
    """

    def __init__(
        self, loop: Any, task: Task, trace: Trace, floor: float, own: FrictionLayout, friction: FrictionMemory | None = None
    ):
        self.loop, self.task, self.trace, self.floor, self.own = loop, task, trace, floor, own
        self.form, self.p = loop.form, task.p
        self.names = [friction.name for friction in loop.system.frictions]
        self.landings = np.full(own.faces, -np.inf)
        self.jammed = -np.inf
        self.kept: int | None = None
        self.memory = friction
        self._last: tuple[tuple[float, bytes, bytes], Instant] | None = None

    @property
    def laws(self) -> Laws:
        return self.loop.laws

    @property
    def friction(self) -> FrictionMemory:
        """What is remembered of the frictions."""
        assert self.memory is not None
        return self.memory

    @property
    def mode(self) -> Mode:
        return self.trace.mode

    def faces(self) -> Instant:
        """The current state with its faces; the last one is remembered."""
        nq, nv, z = self.form.nq, self.form.nv, self.trace.z
        key = (self.trace.t, z[: nq + nv].tobytes(), self.p.tobytes())
        if self._last is None or self._last[0] != key:
            at = Instant.at(self.form, self.trace.t, z[:nq].copy(), z[nq : nq + nv].copy(), self.p, self.floor)
            self._last = key, at
        return self._last[1]

    def move(self, M: Array, dv: Array, lost: float = 0.0) -> None:
        """v += Δv; the impulses M Δv do the work (v + Δv/2)·MΔv, and friction takes `lost` of it."""
        nq, nv, trace = self.form.nq, self.form.nv, self.trace
        v = trace.z[nq : nq + nv].copy()
        trace.z[nq : nq + nv] += dv
        trace.z[-1] += float((v + dv / 2) @ M @ dv)
        if lost:
            trace.z[-2] += lost
        self.keep()
        trace.change_times(self.task.times)

    def keep(self) -> None:
        """The state after an ending."""
        trace = self.trace
        if self.kept is not None and trace.keep_steps and len(trace.steps) > max(self.kept, 1):
            trace.steps.page[trace.steps.used - 1] = np.append(trace.t, trace.z)
        else:
            trace.keep()


__all__ = ["Happened", "Laws", "ModeCourse", "RunEnded"]
