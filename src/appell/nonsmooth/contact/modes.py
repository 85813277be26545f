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
from appell.errors import ModelError, SingularConfiguration, Status
from appell.nonsmooth.contact.contact import (
    Blow,
    Instant,
    bearing,
    blow,
    contact_set,
    independent,
    mode_of,
    sequence,
    together,
    well_posed,
)  # fmt: skip
from appell.nonsmooth.contact.contact_thresholds import JAMMED, JUST_LEFT, LEFT, NEGLIGIBLE, SEQUENCE, SHARP, STALLED
from appell.nonsmooth.contact.events import Kind
from appell.nonsmooth.contact.instant import floor_of
from appell.nonsmooth.contact.nonlinear_blow import nonlinear_blow
from appell.nonsmooth.contact.redundant import on_faces
from appell.nonsmooth.mode import Mode
from appell.simulate.loop.in_c import CLoop
from appell.simulate.loop.task import Loop, Task
from appell.simulate.loop.trace import Trace
from appell.simulate.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModeLoop:
    """`Loop` of a system with unilateral constraints.

    Parameters
    ----------
    flight: steps and impacts with all faces free; held: with some of them in contact, the same loop or another method's.
    corner: the rule for corners. backwards: for tasks that end before they begin.
    bends: whether rows are nonlinear in the velocities, so that impacts are followed here.
    """

    compiled: Run
    flight: Any  # CLoop or PySwitchLoop
    held: Any
    corner: str
    bends: bool = False
    redundant: dict[Any, bool] = field(default_factory=dict)
    backwards: Any = None  # `Backwards`, for tasks that end before they begin

    @property
    def inside(self) -> bool:
        """Whether compiled code changes modes itself, and hands over only what it does not decide: see `transition.c.in`."""
        return isinstance(self.flight, CLoop) and isinstance(self.held, CLoop)

    def in_mode(self, mode: Mode) -> Loop:
        """The loop of a mode."""
        loop = self.held if mode.closed else self.flight
        if self.inside and self.flight is not self.held:
            return replace(loop, mode=mode, blows_outside=self.bends, legs=(self.flight.leg, self.held.leg))
        return replace(loop, mode=mode, blows_outside=self.bends) if mode != loop.mode or self.bends else loop

    def implied(self, contacts: tuple[int, ...], face: int, t: float, q: Array, v: Array) -> bool:
        """Whether g of a face is zero wherever the contacts hold: at random states near this one."""
        if contacts and (contacts, face) not in self.redundant:
            rng, run = np.random.default_rng(1), self.compiled
            near = (on_faces(run.form, run.p, contacts, t + rng.uniform(0.1, 1), q, v, rng) for _ in range(3))
            self.redundant[contacts, face] = all(abs(g[face]) <= 1e-9 * size[face] for g, size in near)
        return bool(contacts) and self.redundant[contacts, face]

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        if task.t_end < task.t0 and self.backwards is not None:
            yield from self.backwards.run(task, trace or task.trace())
            return
        yield from WallCourse(self, task, trace or task.trace()).traces()


class WallCourse:
    """One run: the mode that it is in, and the trace that the loops of all modes append to."""

    def __init__(self, loop: ModeLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace = loop, task, trace
        self.floor = floor_of(np.asarray(task.atol), loop.compiled.form.nq)
        faces = len(loop.compiled.system.unilateral)
        self.landings = np.full(faces, -np.inf)  # when each face was last landed on
        self.trace.landings = self.landings if loop.inside else None
        self.jammed = -np.inf  # when it was last freed

    def traces(self) -> Iterator[Trace]:
        trace = self.trace
        status = self._guarded(self._arrive)
        while status is Status.OK and trace.t != self.task.t_end:
            for _ in self._run_mode():
                if trace.status is Status.BUFFER_FULL:
                    yield trace
            status = trace.status
            if status is Status.SWITCH:
                assert trace.switch is not None
                status = self._guarded(self._switch, *trace.switch)
            if status is Status.STEP_TOO_SMALL:
                status = self._guarded(self._jam)
        if status in (Status.SINGULAR, Status.STEP_TOO_SMALL, Status.NOT_FINITE, Status.ACCUMULATION):
            self._explain()
        yield trace.ended(status)

    def _guarded(self, action: Any, *arguments: Any) -> Status:
        try:
            return action(*arguments)
        except SingularConfiguration as reason:
            self.trace.failure = ModelError(str(reason))
            return Status.SINGULAR

    # -- one mode -------------------------------------------------------------------------------------------------------

    @property
    def contacts(self) -> tuple[int, ...]:
        """The faces in contact that bear a load."""
        return self.trace.mode.closed

    def _run_mode(self) -> Iterator[Trace]:
        return self.loop.in_mode(self.trace.mode).run(self.task, self.trace)

    # -- from one mode to the next -------------------------------------------------------------------------------------

    def _instant(self) -> Instant:
        form = self.loop.compiled.form
        z = self.trace.z
        q, v = z[: form.nq].copy(), z[form.nq : form.nq + form.nv].copy()
        return Instant.at(form, self.trace.t, q, v, self.task.p, self.floor)

    def _arrive(self) -> Status:
        """The mode of the start: blows first where it moves into a face, then the contacts that hold."""
        at = self._instant()
        if self.trace.broken is not None:
            self._let_go(at, [i for i in self.trace.mode.resting if i not in at.on()])
            self.trace.broken = None
        status = self._strike_all(at, at.approaching)
        return self._settle() if status is Status.OK else status

    def _let_go(self, at: Instant, faces: list[int]) -> None:
        """Faces that have jumped away at a break."""
        trace = self.trace
        if not faces:
            return
        kept = tuple(i for i in self.contacts if i not in faces)
        trace.enter(mode_of(at, kept, [i for i in trace.mode.asleep if i not in faces]))
        for face in faces:
            trace.record(face, Kind.LEAVING, 0.0, float(at.g_d[face]), 0.0)

    def _switch(self, face: int, kind: Kind) -> Status:
        trace = self.trace
        trace.stalled, trace.switched = trace.stalled + 1 if trace.t == trace.switched else 0, trace.t
        if trace.stalled > STALLED:
            return Status.STEP_TOO_SMALL
        at = self._instant()
        if kind is Kind.IMPACT:  # the blow is done; a contact has lifted off
            return self._settle(rest={face})
        if kind is Kind.LEAVING:
            return self._settle(leaving=face)
        if kind is Kind.LANDING:
            return self._land(at, face)
        near = self.trace.touching if kind is Kind.CORNER else {face, *at.approaching}
        hits = [i for i in sorted(near) if at.g_d[i] < 0]
        status = self._strike_all(at, hits)
        if status is not Status.OK:
            return status
        return self._settle(holding=None if hits else face, rest=set(hits))

    def _strike_all(self, at: Instant, hits: list[int]) -> Status:
        """Blows on some faces, then on those into which they have pushed it, until there is none."""
        for _ in range(SEQUENCE):
            status = self._strike(at, hits) if hits else Status.OK
            if status is not Status.OK or not hits:
                return status
            at = self._instant()
            hits = [i for i in at.approaching if i not in self.contacts]
        faces = sorted({*at.on(), *self.trace.mode.resting})  # with e < 1 they accumulate: all of them come to rest
        if (at.restitution[faces] == 1).any():
            return Status.CORNER
        self._move(at, together(at, dict.fromkeys(faces, 0.0), ()).dv)
        return Status.OK

    def _land(self, at: Instant, face: int) -> Status:
        """Bouncing ends. Its last flights, each e times the one before, would have lasted 2 ġ/|g̈|/(1 − e) more."""
        resting = [i for i in self.trace.mode.resting if i != face]
        last = blow(at, {face: 0.0}, resting)
        e, rate = float(at.restitution[face]), float(at.g_d[face])
        pressing = at.pressing(face, self.contacts)
        more = 2 * rate / pressing / (1 - e) if e < 1 and rate > 0 and pressing > 0 else 0.0
        self._landed(face, rate, max(last.impulses[face], 0.0), min(self.trace.t + more, self.task.t_end))
        self._move(at, last.dv)
        return self._settle(holding=face, rest={face})

    def _jam(self) -> Status:
        """Bouncing between several faces accumulates: no time passes any more, and all of them come to rest."""
        at = self._instant()
        faces = sorted({*at.on(), *self.trace.mode.resting, *self.trace.touching})
        slow = (np.abs(at.g_d) <= JAMMED * at.slow)[faces]
        if self.jammed == self.trace.t or len(faces) < 2 or not slow.all():
            return Status.ACCUMULATION if len(faces) > 1 else Status.STEP_TOO_SMALL
        self.jammed, self.trace.stalled = self.trace.t, 0
        self._move(at, together(at, dict.fromkeys(faces, 0.0), ()).dv)
        return self._settle(rest=set(faces))

    def _explain(self) -> None:
        """Warns of faces that no impulse can answer for, because bilateral constraints move it there."""
        at, nv = self._instant(), self.loop.compiled.form.nv
        free = replace(at, A=np.zeros((0, nv)), W=np.zeros((nv, 0)), a0=np.zeros(0))
        for face in at.approaching:
            if at.compliance([face])[0, 0] <= 1e-9 * free.compliance([face])[0, 0]:
                name = self.loop.compiled.system.unilateral[face].name
                warn(
                    f"at t = {self.trace.clock:.9g} the bilateral constraints drive the motion into '{name}', and no impulse"
                    " can stop it"
                )

    def _strike(self, at: Instant, faces: list[int]) -> Status:
        """Blows on one or several faces; several at once only where that has a meaning."""
        resting, rule = [j for j in self.trace.mode.resting if j not in faces], self.loop.corner
        each = {i: float(at.restitution[i]) for i in faces}
        if self.loop.bends and len(faces) == 1:
            blows: list[Blow] | None = [self._nonlinear_blow(at, faces[0], resting)]
        elif (apart := self._apart(at, each, resting)) is not None:
            blows = [apart]
        elif rule == "together" or (rule == "raise" and self._bound(at, faces) and not well_posed(at, faces, resting)):
            blows = [together(at, each, resting)]
        elif rule == "raise" and self._sharp(at, faces) and not well_posed(at, faces, resting):
            return Status.CORNER
        else:
            order = sorted(faces, key=lambda i: at.g[i]) if rule == "raise" else faces
            blows = sequence(at, order[::-1] if rule == "last" else order, resting)
        for one in blows or []:
            after = at.moved(one.dv)
            for i in one.hits:
                self.trace.record(i, Kind.IMPACT, float(at.g_d[i]), float(after.g_d[i]), one.impulses[i])
            self._move(at, one.dv)
            at = after
        return Status.CORNER if blows is None else Status.OK

    @staticmethod
    def _apart(at: Instant, each: dict[int, float], resting: list[int]) -> Blow | None:
        """One blow on faces that do not feel each other, not even through those that it rests on: None where they do."""
        if not at.orthogonal(list(each)):
            return None
        one = blow(at, each, resting)
        return one if all(one.impulses[i] >= 0 for i in each) else None

    def _move(self, at: Instant, dv: Array) -> None:
        """v += Δv; the impulses M Δv = W λ + n P do the work (v + Δv/2)·MΔv."""
        form, trace = self.loop.compiled.form, self.trace
        trace.z[form.nq : form.nq + form.nv] += dv
        trace.z[-1] += float((at.v + dv / 2) @ at.M @ dv)
        trace.keep()
        trace.change_times(self.task.times)

    def _settle(
        self, leaving: int | None = None, holding: int | None = None, rest: frozenset[int] | set[int] = frozenset()
    ) -> Status:
        """The contacts that hold from here on, and those that lie there asleep; `rest`: faces that were just met."""
        if leaving is not None and self.trace.mode.rank < len(self.contacts):
            self._pass_on(leaving)
        at, trace = self._instant(), self.trace
        was = trace.mode.resting
        near = {*at.on(), *was, *rest}
        resting = sorted(i for i in near if abs(at.g_d[i]) <= at.slow[i] or i == holding)
        contacts = contact_set(at, [i for i in resting if i != leaving], holding)
        shared = bearing(at, contacts, resting)
        if shared != contacts and self._hold_together(at, shared):
            contacts = shared
        mode = mode_of(at, contacts, [i for i in resting if i not in contacts and self._implied(contacts, i)])
        if contacts:
            at = self._stop(at, contacts)
        trace.enter(mode)
        for face in was:
            if face not in mode.resting:
                trace.record(face, Kind.LEAVING, 0.0, float(at.g_d[face]), 0.0)
        for face in mode.resting:
            if face not in was and self.landings[face] < trace.t:
                self._landed(face, float(at.g_d[face]), 0.0, trace.t)
        trace.touching = near - set(mode.resting)
        return Status.OK

    def _pass_on(self, leaving: int) -> None:
        """On by some spacings of the time to where the reaction of a face that is left is below zero: one that falls steeply is
        above it still at the nearest time before, and faces that depend on each other would take up its load."""
        trace, contacts = self.trace, list(self.contacts)
        start, left = trace.t, abs(self.task.t_end - trace.t)
        wanted = self.task.times[trace.passed :]
        room = min(left, abs(wanted[0] - start)) if len(wanted) else left
        for spacings in (0, 1, 2, 4, 8, 16, 32):
            dt = spacings * np.spacing(abs(start))
            if dt >= room and spacings:
                break
            trace.t = float(start + np.copysign(dt, self.task.t_end - start))
            at = self._instant()
            lam = at.solve(contacts, at.force, -at.a0, -at.g_dd0[contacts])[1]
            if lam[contacts.index(leaving)] < 0:
                if spacings:
                    trace.keep()
                return
        trace.t = start

    def _stop(self, at: Instant, contacts: tuple[int, ...]) -> Instant:
        """What is left of the rates of the contacts is taken away."""
        rates = at.g_d[list(contacts)]
        if not np.any(np.abs(rates) > LEFT * at.slow[list(contacts)]):
            return at  # the projection after the next step does it
        dv = at.solve(contacts, np.zeros(len(at.M)), np.zeros(len(at.A)), -rates)[0]
        self._move(at, dv)
        return at.moved(dv)

    @staticmethod
    def _sharp(at: Instant, faces: list[int]) -> bool:
        """Whether it cannot be told which face is met first, and that matters."""
        return bool((at.g <= SHARP * at.noise)[faces].all() and (np.abs(at.g_d) > NEGLIGIBLE * at.slow)[faces].any())

    def _bound(self, at: Instant, faces: list[int]) -> bool:
        """Whether the faces are met at one instant because of others: of contacts (a box that turns about an edge falls on the
        opposite one), or of a third face that is only just left (a box that comes to rest). No start nearby meets one of them
        long before the other, so one blow on all of them is no choice among several."""
        near = set(np.flatnonzero(at.g <= JUST_LEFT * at.noise).tolist())
        if near - set(faces) - set(self.trace.mode.resting):
            return True
        first = (*self.contacts, faces[0])
        return bool(self.contacts) and all(self._implied(first, i) for i in faces[1:])

    def _nonlinear_blow(self, at: Instant, face: int, resting: list[int]) -> Blow:
        """A blow under rows that are nonlinear in the velocities: see `nonlinear_blow`."""
        form, trace, p = self.loop.compiled.form, self.trace, self.task.p
        instant = lambda v: Instant.at(form, trace.t, trace.z[: form.nq].copy(), v, p, self.floor)
        return nonlinear_blow(instant, at, face, resting)

    def _landed(self, face: int, rate: float, impulse: float, time: float) -> None:
        self.landings[face] = time
        self.trace.record(face, Kind.LANDING, rate, 0.0, impulse, time)

    def _hold_together(self, at: Instant, faces: tuple[int, ...]) -> bool:
        """Whether those of the faces that depend on the others here do so wherever the others hold."""
        first = independent(at, faces)
        return all(self._implied(first, i) for i in faces if i not in first)

    def _implied(self, contacts: tuple[int, ...], face: int) -> bool:
        q, v = np.split(self.trace.z[:-1].copy(), [self.loop.compiled.form.nq])
        return self.loop.implied(contacts, face, self.trace.t, q, v)


__all__ = ["ModeLoop"]
