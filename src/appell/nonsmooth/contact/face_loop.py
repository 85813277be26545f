"""The time loop of a system with faces but no friction: one loop for all modes, which are data.

    free flight    impacts happen inside the loop; it stops where bouncing ends (landing) or at a corner
    contact        the faces in contact are rows g = 0 with Λ >= 0; it stops where a Λ reaches 0 (leaving) or a face is hit

A redundant face, with g = 0 wherever the contacts are closed, bears its part of the load, Λ >= 0 of least norm. When that part
is zero, the face is asleep: it is neither a row nor watched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.loop.in_c import CLoop
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.modes.gap_floor import floor_of
from appell.modes.mode import FLIGHT, Mode
from appell.nonsmooth.contact.face_laws import FACE_LAWS
from appell.nonsmooth.contact.redundant import on_faces
from appell.nonsmooth.friction.friction_layout import friction_layout
from appell.nonsmooth.journey import journey
from appell.nonsmooth.mode_course import Laws, ModeCourse

Array = NDArray[np.float64]

IMPLIED_FACE = 1e-9
"""Distance of a face, as a fraction of its terms, that is zero wherever the contacts are closed."""


@dataclass(frozen=True, eq=False)
class FaceLoop:
    """`Loop` of a system with unilateral constraints.

    Parameters
    ----------
    flight: steps and impacts with all faces free; contact_loop: with some of them in contact, of the same or another method.
    corner: the rule for corners. backwards: the loop for tasks with t_end < t_start.
    bends: whether constraints are nonlinear in the velocities, so that impacts are integrated in Python.
    """

    compiled: Run
    flight: Any  # CLoop or PySwitchLoop
    contact_loop: Any
    corner: str
    bends: bool = False
    redundant: dict[Any, bool] = field(default_factory=dict)
    backwards: Any = None  # `Backwards`, for tasks with t_end < t_start

    @property
    def laws(self) -> Laws:
        return FACE_LAWS

    @property
    def form(self) -> Any:
        return self.compiled.form

    @property
    def system(self) -> Any:
        return self.compiled.system

    @property
    def inside(self) -> bool:
        """Whether compiled code changes modes itself and returns only for doubtful transitions: see `transition.c.in`."""
        return isinstance(self.flight, CLoop) and isinstance(self.contact_loop, CLoop)

    def in_mode(self, mode: Mode) -> Loop:
        """The loop of a mode."""
        loop = self.contact_loop if mode.closed else self.flight
        if self.inside and self.flight is not self.contact_loop:
            return replace(loop, mode=mode, blows_outside=self.bends, legs=(self.flight.leg, self.contact_loop.leg))
        return replace(loop, mode=mode, blows_outside=self.bends) if mode != loop.mode or self.bends else loop

    def implied(self, contacts: tuple[int, ...], face: int, t: float, q: Array, v: Array) -> bool:
        """Whether g of a face is zero wherever the contacts are closed, tested at random states near this one."""
        if contacts and (contacts, face) not in self.redundant:
            rng, run = np.random.default_rng(1), self.compiled
            nearby = (on_faces(run.form, run.p, contacts, t + rng.uniform(0.1, 1), q, v, rng) for _ in range(3))
            self.redundant[contacts, face] = all(abs(g[face]) <= IMPLIED_FACE * size[face] for g, size in nearby)
        return bool(contacts) and self.redundant[contacts, face]

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        trace = trace or task.trace()
        if task.t_end < task.t0 and self.backwards is not None:
            yield from self.backwards.run(task, trace)
            return
        layout = friction_layout(self.system, self.form)
        course = ModeCourse(self, task, trace, floor_of(np.asarray(task.atol), self.form.nq), layout)
        trace.landings = course.landings if self.inside else None
        yield from journey(course)

    def fly(self, task: Task) -> Trace:
        """A run from a state known to be in flight, as far as compiled code or one stretch takes it."""
        trace = task.trace()
        trace.landings = np.full(friction_layout(self.system, self.form).faces, -np.inf) if self.inside else None
        *_, trace = self.in_mode(FLIGHT).run(task, trace)
        return trace


__all__ = ["FaceLoop"]
