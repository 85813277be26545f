"""Motion under unilateral constraints: a compiled loop for each set of contacts, and the table that leads from one to the next.

    free flight    impacts inside the compiled loop; it stops where bouncing has come to rest (landing) or at a corner
    contact        the faces in contact are rows g = 0 with Λ >= 0; it stops where a Λ reaches 0 (leaving) or a face is hit

A face that lies on g = 0 wherever the contacts hold (a redundant one) bears its part of the load, Λ >= 0 of least norm; when
that part is zero it is neither a row nor watched, and is said to be asleep.

The signs of x in Zhuravlev's s = |x| are such modes: never evaluated inside a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import warn
from appell.contact.contact import (
    INSTANT,
    ON_FACE,
    Blow,
    Instant,
    bearing,
    blow,
    contact_set,
    independent,
    sequence,
    together,
    well_posed,
)  # fmt: skip
from appell.contact.events import Kind
from appell.contact.resolution import unresolved, warn_of
from appell.errors import ConstraintError, SingularConfiguration, Status
from appell.normal_form.flow import Flow
from appell.normal_form.manifold import project, residuals
from appell.simulate.loop.task import Loop, Task
from appell.simulate.loop.trace import Trace
from appell.simulate.run import Run

Array = NDArray[np.float64]

STALLED = 100
"""So many changes of mode at one instant do not lead anywhere."""

JAMMED = 1e-5
"""|ġ|/(1 + max |v|) below which bouncing between several faces that takes no time any more has come to rest."""

EXACTLY_ON = 1e-13
"""|g|/(1 + Σ|∂g/∂q·q|) below which a flight starts on a face."""


def with_limits(task: Task) -> Task:
    """The task with what counts as rest, as one instant and as a touch."""
    instant = INSTANT * abs(task.t_end - task.t0)
    return replace(task, rest=instant, simultaneous=instant, graze=1e-11)


@dataclass(frozen=True, eq=False)
class ModeLoop:
    """`Loop` of a system with unilateral constraints. `make` builds the loop of a mode; `corner` is the rule for corners."""

    run_: Run
    make: Any  # contacts, asleep → (Flow, Loop)
    corner: str
    modes: dict[Any, tuple[Flow, Loop]] = field(default_factory=dict)
    redundant: dict[Any, bool] = field(default_factory=dict)

    def mode(self, contacts: tuple[int, ...], asleep: tuple[int, ...] = ()) -> tuple[Flow, Loop]:
        """The flow and the loop of a mode, built when it is first entered."""
        if (contacts, asleep) not in self.modes:
            self.modes[contacts, asleep] = self.make(contacts, asleep)
        return self.modes[contacts, asleep]

    def implied(self, contacts: tuple[int, ...], face: int, t: float, q: Array, v: Array) -> bool:
        """Whether g of a face is zero wherever the contacts hold: at random states near this one."""
        if contacts and (contacts, face) not in self.redundant:
            form, p, rng = self.run_.in_contact(contacts).form, self.run_.p, np.random.default_rng(1)
            distance, found = form.select("g", "g_scale"), []
            for _ in range(3):
                time = t + rng.uniform(0.1, 1)
                near, _ = project(form, time, q + rng.uniform(-0.3, 0.3, len(q)), v, p)
                out = distance(time, near, v, p)
                arrived = residuals(form, time, near, v, p).f0
                found.append(abs(out["g"][face]) <= ON_FACE * (1 + out["g_scale"][face] + np.abs(arrived).max(initial=0.0)))
            self.redundant[contacts, face] = all(found)
        return bool(contacts) and self.redundant[contacts, face]

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        if task.t_end < task.t0:
            raise ConstraintError("with unilateral constraints time runs forward: an impact forgets where it came from")
        yield from _Journey(self, task, trace or task.trace()).traces()


class _Journey:
    """One run: the mode that it is in, and the trace that the loops of all modes append to."""

    def __init__(self, loop: ModeLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace = loop, with_limits(task), trace
        self.landings: dict[int, float] = {}  # face → time of its last landing
        self.stalled = 0
        self.jammed = -np.inf  # when it was last freed
        self.unseen = np.zeros(len(loop.run_.system.unilateral), dtype=int)  # fixed steps that do not follow a distance

    def traces(self) -> Iterator[Trace]:
        trace = self.trace
        status = self._guarded(self._arrive)
        while status is Status.OK and trace.t != self.task.t_end:
            began, first = trace.t, len(trace.steps) - 1
            for _ in self._run_mode():
                if trace.status is Status.BUFFER_FULL:
                    yield trace
            self.stalled = self.stalled + 1 if trace.t == began else 0
            if self.task.fixed_step and trace.t > began:
                rows = trace.steps.joined(first)
                self.unseen += unresolved(self.loop.run_, self.contacts, rows[:, 0], rows[:, 1:])
            status = trace.status
            if status is Status.SWITCH:
                assert trace.switch is not None
                status = self._guarded(self._switch, *trace.switch)
            if status is Status.STEP_TOO_SMALL:
                status = self._guarded(self._jam)
        if status in (Status.SINGULAR, Status.STEP_TOO_SMALL, Status.NOT_FINITE):
            self._explain()
        if self.task.fixed_step and self.unseen.any():
            warn_of(self.loop.run_, self.task.fixed_step, self.unseen, trace.statistics.accepted)
        yield trace.ended(status)

    def _guarded(self, action: Any, *arguments: Any) -> Status:
        try:
            return action(*arguments)
        except SingularConfiguration:
            return Status.SINGULAR

    # -- one mode -------------------------------------------------------------------------------------------------------

    @property
    def contacts(self) -> tuple[int, ...]:
        """The faces in contact that bear a load."""
        return self.trace.contacts[-1][1] if self.trace.contacts else ()

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(i for i in range(len(self.loop.run_.system.unilateral)) if i not in self.trace.resting)

    def _run_mode(self) -> Iterator[Trace]:
        task = replace(self.task, faces=(*self.free, *self.contacts))
        return self.loop.mode(self.contacts, self.trace.asleep)[1].run(task, self.trace)

    # -- from one mode to the next -------------------------------------------------------------------------------------

    def _instant(self) -> Instant:
        form = self.loop.run_.form
        z = self.trace.z
        return Instant.at(form, self.trace.t, z[: form.nq].copy(), z[form.nq : form.nq + form.nv].copy(), self.task.p)

    def _arrive(self) -> Status:
        """The mode of the start: blows first where it moves into a face, then the contacts that hold."""
        at = self._instant()
        if at.approaching:
            status = self._strike(at, at.approaching)
            if status is not Status.OK:
                return status
        return self._settle()

    def _switch(self, face: int, kind: Kind) -> Status:
        if self.stalled > STALLED:
            return Status.STEP_TOO_SMALL
        at = self._instant()
        if kind is Kind.LEAVING:
            return self._settle(leaving=face)
        if kind is Kind.LANDING:
            return self._land(at, face)
        near = self.trace.touching if kind is Kind.CORNER else {face, *at.approaching}
        hits = [i for i in sorted(near) if at.g_d[i] < 0]
        status = self._strike(at, hits) if hits else Status.OK
        return status if status is not Status.OK else self._settle(holding=None if hits else face)

    def _land(self, at: Instant, face: int) -> Status:
        """Bouncing ends. Its last flights, each e times the one before, would have lasted 2 ġ/|g̈|/(1 − e) more."""
        last = blow(at, {face: 0.0}, self.trace.resting)
        e, rate = float(at.restitution[face]), float(at.g_d[face])
        more = 2 * rate / at.pressing(face) / (1 - e) if e < 1 and rate > 0 else 0.0
        self._landed(face, rate, max(last.impulses[face], 0.0), min(self.trace.t + more, self.task.t_end))
        self._move(at, last.dv)
        return self._settle(holding=face)

    def _jam(self) -> Status:
        """Bouncing between several faces accumulates: no time passes any more, and all of them come to rest."""
        at = self._instant()
        faces = at.on()
        slow = np.abs(at.g_d[faces]) <= JAMMED * (1 + np.abs(at.v).max(initial=0.0))
        if self.jammed == self.trace.t or len(faces) < 2 or not slow.all():
            return Status.STEP_TOO_SMALL
        self.jammed, self.stalled = self.trace.t, 0
        self._move(at, together(at, dict.fromkeys(faces, 0.0), ()).dv)
        return self._settle()

    def _explain(self) -> None:
        """Warns of faces that no impulse can answer for, because bilateral constraints move it there."""
        at, nv = self._instant(), self.loop.run_.form.nv
        free = replace(at, A=np.zeros((0, nv)), W=np.zeros((nv, 0)), a0=np.zeros(0))
        for face in at.approaching:
            if at.compliance([face])[0, 0] <= 1e-9 * free.compliance([face])[0, 0]:
                name = self.loop.run_.system.unilateral[face].name
                warn(
                    f"at t = {self.trace.t:.9g} the bilateral constraints drive the motion into '{name}', and no impulse can"
                    " stop it"
                )

    def _strike(self, at: Instant, faces: list[int]) -> Status:
        """Blows on one or several faces; several at once only where that has a meaning."""
        resting, rule = [j for j in self.trace.resting if j not in faces], self.loop.corner
        each = {i: float(at.restitution[i]) for i in faces}
        if at.orthogonal(faces):
            blows: list[Blow] | None = [blow(at, each, resting)]
        elif rule == "together":
            blows = [together(at, each, resting)]
        elif rule == "raise" and not well_posed(at, faces, resting):
            return Status.CORNER
        else:
            blows = sequence(at, faces[::-1] if rule == "last" else faces, resting)
        for one in blows or []:
            after = at.moved(one.dv)
            for i in one.hits:
                self.trace.record(i, Kind.IMPACT, float(at.g_d[i]), float(after.g_d[i]), one.impulses[i])
            self._move(at, one.dv)
            at = after
        return Status.CORNER if blows is None else Status.OK

    def _move(self, at: Instant, dv: Array) -> None:
        """v += Δv; the impulses M Δv = W λ + n P do the work (v + Δv/2)·MΔv."""
        form, trace = self.loop.run_.form, self.trace
        trace.z[form.nq : form.nq + form.nv] += dv
        trace.z[-1] += float((at.v + dv / 2) @ at.M @ dv)
        trace.keep()
        trace.change_times(self.task.times)

    def _settle(self, leaving: int | None = None, holding: int | None = None) -> Status:
        """The contacts that hold from here on, and those that lie there asleep."""
        at, trace = self._instant(), self.trace
        was = trace.resting
        contacts = contact_set(at, [i for i in at.resting if i != leaving], holding)
        shared = bearing(at, contacts, at.resting)
        if shared != contacts and self._hold_together(at, shared):
            contacts = shared
        if not trace.contacts or contacts != self.contacts:
            trace.contacts.append((trace.t, contacts))
        trace.asleep = tuple(i for i in at.resting if i not in contacts and self._implied(contacts, i))
        for face in was:
            if face not in trace.resting:
                trace.record(face, Kind.LEAVING, 0.0, float(at.g_d[face]), 0.0)
        for face in trace.resting:
            if face not in was and self.landings.get(face, -np.inf) < trace.t:
                self._landed(face, float(at.g_d[face]), 0.0, trace.t)
        trace.touching = {i for i in at.on(EXACTLY_ON) if i not in trace.resting}
        return Status.OK

    def _landed(self, face: int, rate: float, impulse: float, time: float) -> None:
        self.landings[face] = time
        self.trace.record(face, Kind.LANDING, rate, 0.0, impulse, time)

    def _hold_together(self, at: Instant, faces: tuple[int, ...]) -> bool:
        """Whether those of the faces that depend on the others here do so wherever the others hold."""
        first = independent(at, faces)
        return all(self._implied(first, i) for i in faces if i not in first)

    def _implied(self, contacts: tuple[int, ...], face: int) -> bool:
        q, v = np.split(self.trace.z[:-1].copy(), [self.loop.run_.form.nq])
        return self.loop.implied(contacts, face, self.trace.t, q, v)


__all__ = ["ModeLoop"]
