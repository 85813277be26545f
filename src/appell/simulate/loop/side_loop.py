"""The time loop of a system whose forces depend on conditions on positions (`appell.model.sides`): each is located and passed.

flight      the loop of the system with its sides as faces, located as walls are, on one side of each surface
crossing    the side changes its sign; positions and velocities go on as they are
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.errors import ModelError, Status
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.model.sides import sided, with_sides_as_faces
from appell.modes.endings import Ending
from appell.modes.gap_floor import floor_of
from appell.nonsmooth.contact.instant import Instant
from appell.nonsmooth.criteria import on_face
from appell.normal_form import normal_form
from appell.simulate.loop.surfaces import both_push, unresolved

Array = NDArray[np.float64]

CROSSINGS_ACCUMULATE = 100
"""Successive crossings, each in less than half the time of the one before, after which the run is stuck."""


@dataclass(frozen=True, eq=False)
class Sides:
    """`run`: that of the system with sides, which are at `places` among its parameters, in the order of its faces."""

    run: Run
    places: tuple[int, ...]

    def parameters(self, p: Array, sides: Array) -> Array:
        """Parameters of the system with sides, (np + n,)."""
        p_with_sides = np.empty(len(p) + len(self.places))
        of_sides = np.zeros(len(p_with_sides), dtype=bool)
        of_sides[list(self.places)] = True
        p_with_sides[~of_sides] = p
        p_with_sides[list(self.places)] = sides
        return p_with_sides


def sides_of(run: Run) -> Sides | None:
    """The sides of a run; None if it has no condition on positions that can be located."""
    surfaces, system = sided(run.system), with_sides_as_faces(run.system)
    if surfaces is None or system is None:
        return None
    places = tuple(system.parameters.index(surface.side) for surface in surfaces.surfaces)
    sides = Sides(run, places)
    p = sides.parameters(run.p, np.ones(len(places)))
    values = dict(zip(system.parameters, map(float, p), strict=True))
    others = [i for i in range(len(p)) if i not in places]
    fold = tuple(others[i] for i in run.fold)
    return Sides(Run(system, normal_form(system), values, p, run.backend, run.policies, fold=fold), places)


@dataclass(frozen=True, eq=False)
class SideLoop:
    """`Loop` that passes the surfaces of a system one by one. flight: of the system with sides; plain: of the system as it is,
    for runs backwards in time."""

    flight: Any  # CLoop or PySwitchLoop
    plain: Callable[[], Loop]
    sides: Sides

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        trace = trace or task.trace()
        if task.t_end < task.t0:
            yield from self.plain().run(task, trace)
        else:
            yield from _Passage(self, task, trace).traces()


class _Passage:
    """One run, from surface to surface."""

    def __init__(self, loop: SideLoop, task: Task, trace: Trace):
        self.trace, self.sides = trace, loop.sides
        self.p = self.sides.parameters(task.p, np.ones(len(self.sides.places)))
        self.task = replace(task, p=self.p)
        self.loop = replace(loop.flight, blows_outside=True)
        self.sides_now, self.crossed, self.halvings, self.last_duration = np.ones(len(self.sides.places)), trace.t, 0, np.inf
        for _ in self.sides_now:  # a condition may be made of others, which come before it
            self.sides_now = self._sides_here()
        self._enter(set())

    def _instant(self) -> Instant:
        """The current state with the surfaces as faces, on the current sides."""
        form, z, p = self.sides.run.form, self.trace.z, self.p.copy()
        p[list(self.sides.places)] = self.sides_now
        q, v = z[: form.nq].copy(), z[form.nq : form.nq + form.nv].copy()
        return Instant.at(form, self.trace.t, q, v, p, floor_of(np.asarray(self.task.atol), form.nq))

    def _sides_here(self) -> Array:
        """The sides of the state; for a surface on which it lies, the side into which it moves."""
        state = self._instant()
        signs = np.where(state.g >= 0, 1.0, -1.0)
        for i in at_surface(state):
            rate = state.g_d[i] if abs(state.g_d[i]) > state.slow[i] else state.g_v[i] @ state.flight + state.g_dd0[i]
            signs[i] = signs[i] if rate == 0 else np.sign(rate)
        return self.sides_now * signs

    def _enter(self, touching: set[int]) -> None:
        """Continues with the current sides; touching: surfaces on which the state lies."""
        self.p[list(self.sides.places)] = self.sides_now
        self.task = replace(self.task, p=self.p)
        self.trace.touching = touching

    def _rests_on(self) -> int | None:
        """A surface on which the state rests, with both sides pushing onto it, so that the motion leaves it to neither."""
        state = self._instant()
        for i in at_surface(state):
            if abs(state.g_d[i]) > state.slow[i]:
                continue
            current, pushes = self.sides_now[i], []
            for side in (current, -current):
                self.sides_now[i] = side
                moved = self._instant()
                pushes.append(float(moved.g_v[i] @ moved.flight + moved.g_dd0[i]))  # of the distance into this side
            self.sides_now[i] = current
            if max(pushes) < 0:
                return i
        return None

    def traces(self) -> Iterator[Trace]:
        trace = self.trace
        if (face := self._rests_on()) is not None and trace.t != self.task.t_end:
            trace.failure = ModelError(self._stays_sentence(face))
            yield trace.ended(Status.JUMP)
            return
        while True:
            for _ in self.loop.run(self.task, trace):
                trace.events.clear()  # crossings are not impacts
                if trace.status is Status.BUFFER_FULL:
                    yield trace
            if trace.status is not Status.SWITCH:
                break
            status = self._cross()
            if status is not Status.OK:
                trace.ended(status)
                break
        trace.touching = set()
        yield trace

    def _cross(self) -> Status:
        """Continues on the other side of the surfaces that are met."""
        trace = self.trace
        assert trace.switch is not None
        face, kind = trace.switch
        met = {face} if kind is not Ending.CORNER else {face, *trace.touching}
        duration, self.crossed = trace.t - self.crossed, trace.t
        self.halvings = self.halvings + 1 if duration <= 0.5 * self.last_duration else 0
        self.last_duration = max(duration, 0.0)
        if self.halvings > CROSSINGS_ACCUMULATE or (duration == 0 and self.halvings > len(self.sides_now) + 2):
            trace.failure = ModelError(self._stays_sentence(face))
            return Status.JUMP
        for i in met:
            self.sides_now[i] *= -1
        trace.keep()
        self._enter(met)
        return Status.OK

    def _stays_sentence(self, face: int) -> str:
        """Why the motion does not leave a surface: both sides push onto it, if a fixed step has met it at all."""
        surface, step = self.sides.run.system.unilateral[face].name.removeprefix("side of "), self.task.fixed_step
        return both_push(surface) if step is None or face in at_surface(self._instant()) else unresolved(step, surface)


def at_surface(at: Instant) -> list[int]:
    """The surfaces on which a state lies."""
    return [int(i) for i in np.flatnonzero(on_face(np.abs(at.g), at.noise))]


__all__ = ["SideLoop", "Sides", "sides_of"]
