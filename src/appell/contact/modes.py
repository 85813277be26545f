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
    CORNER,
    HIT,
    IMPACT,
    INSTANT,
    LANDING,
    LEAVING,
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
from appell.contact.resolution import unresolved, warn_of
from appell.errors import ConstraintError, SingularConfiguration, Status
from appell.normal_form.flow import Flow
from appell.normal_form.manifold import project, residuals
from appell.simulate.loop.in_python import Leg, Loop, Statistics, Task
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

    def run(self, task: Task) -> Iterator[Leg]:
        """See `in_python.Loop.run`."""
        if task.t_end < task.t0:
            raise ConstraintError("with unilateral constraints time runs forward: an impact forgets where it came from")
        yield from _Journey(self, task).legs()


class _Journey:
    """The state of one run: where it stands, in which mode, and everything so far."""

    def __init__(self, loop: ModeLoop, task: Task):
        self.loop, self.task = loop, with_limits(task)
        self.t, self.z, self.h = task.t0, task.z0.copy(), task.first_step
        self.contacts: tuple[int, ...] = ()
        self.asleep: tuple[int, ...] = ()
        self.touching: set[int] = set()
        self.events: list[Array] = []
        self.t_pieces, self.z_pieces = [np.array([task.t0])], [task.z0[None]]
        self.z_times: list[Array] = []
        self.passed = 0  # requested times
        self.changes: list[tuple[float, tuple[int, ...]]] = []
        self.past = Statistics(0, 0, 0, 0.0)
        self.stalled = 0
        self.jammed = -np.inf  # when it was last freed
        self.unseen = np.zeros(len(loop.run_.system.unilateral), dtype=int)  # fixed steps that do not follow a distance

    def legs(self) -> Iterator[Leg]:
        status = self._guarded(self._arrive)
        while status is Status.OK and self.t != self.task.t_end:
            leg = None
            for leg in self._run_mode():
                if leg.status is Status.BUFFER_FULL:
                    yield self._leg(Status.BUFFER_FULL, leg)
            assert leg is not None
            self._keep(leg)
            status = leg.status
            if status is Status.SWITCH:
                status = self._guarded(self._switch, *(leg.switch or (0, 0)))
            if status is Status.STEP_TOO_SMALL:
                status = self._guarded(self._jam)
        if status in (Status.SINGULAR, Status.STEP_TOO_SMALL, Status.NOT_FINITE):
            self._explain()
        if self.task.fixed_step and self.unseen.any():
            warn_of(self.loop.run_, self.task.fixed_step, self.unseen, self.past.accepted)
        yield self._leg(status, None)

    def _guarded(self, action: Any, *arguments: Any) -> Status:
        try:
            return action(*arguments)
        except SingularConfiguration:
            return Status.SINGULAR

    # -- one mode -------------------------------------------------------------------------------------------------------

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(i for i in range(len(self.loop.run_.system.unilateral)) if i not in self.held)

    @property
    def held(self) -> tuple[int, ...]:
        """The faces on which it rests, with a reaction or asleep."""
        return (*self.contacts, *self.asleep)

    def _run_mode(self) -> Iterator[Leg]:
        task = replace(
            self.task, t0=self.t, z0=self.z, times=self.task.times[self.passed :], first_step=self.h,
            touching=tuple(i in self.touching for i in self.free), max_steps=self.task.max_steps - self.past.accepted,
        )  # fmt: skip
        return self.loop.mode(self.contacts, self.asleep)[1].run(task)

    def _keep(self, leg: Leg) -> None:
        """A finished mode becomes part of the past."""
        if self.task.fixed_step and leg.t > self.t:
            self.unseen += unresolved(self.loop.run_, self.contacts, leg.t_steps, leg.z_steps)
        self.t_pieces += [piece if k else piece[1:] for k, piece in enumerate(leg.t_pieces)]
        self.z_pieces += [piece if k else piece[1:] for k, piece in enumerate(leg.z_pieces)]
        self.z_times.append(leg.z_times)
        self.passed += len(leg.z_times)
        self.events.append(self._numbered(leg.events))
        self.touching = {i for i, on in zip(self.free, leg.touching, strict=False) if on}
        self.past = _sum(self.past, leg.statistics)
        self.stalled = self.stalled + 1 if leg.t == self.t else 0
        self.t, self.z, self.h = leg.t, leg.z.copy(), leg.next_step or None

    def _numbered(self, events: Array) -> Array:
        """Events with the numbers of the system's faces instead of the mode's."""
        events = events.copy()
        if len(events):
            order = np.array((*self.free, *self.contacts), dtype=float)
            events[:, 1] = order[events[:, 1].astype(int)]
        return events

    def _leg(self, status: Status, current: Leg | None) -> Leg:
        """Everything so far, with the mode that is running."""
        more = current is not None
        past_z = np.concatenate([np.zeros((0, len(self.z))), *self.z_times, *([current.z_times] if more else [])])
        events = np.concatenate([np.zeros((0, 6)), *self.events, *([self._numbered(current.events)] if more else [])])
        return Leg(
            status=status, t=current.t if more else self.t, z=current.z if more else self.z.copy(), next_step=self.h or 0.0,
            z_times=past_z, statistics=_sum(self.past, current.statistics) if more else self.past,
            t_pieces=tuple(self.t_pieces), z_pieces=tuple(self.z_pieces),
            events=events[np.argsort(events[:, 0], kind="stable")],  # the end of bouncing is foreseen
            contacts=tuple(self.changes),
        )  # fmt: skip

    # -- from one mode to the next -------------------------------------------------------------------------------------

    def _instant(self) -> Instant:
        form = self.loop.run_.form
        return Instant.at(form, self.t, self.z[: form.nq], self.z[form.nq : form.nq + form.nv], self.task.p)

    def _arrive(self) -> Status:
        """The mode of the start: blows first where it moves into a face, then the contacts that hold."""
        at = self._instant()
        if at.approaching:
            status = self._strike(at, at.approaching)
            if status is not Status.OK:
                return status
        return self._settle()

    def _switch(self, number: int, kind: int) -> Status:
        if self.stalled > STALLED:
            return Status.STEP_TOO_SMALL
        at = self._instant()
        face = (*self.free, *self.contacts)[number]
        if kind == LEAVING:
            return self._settle(leaving=face)
        if kind == LANDING:
            return self._land(at, face)
        near = self.touching if kind == CORNER else {face, *at.approaching}
        hits = [i for i in sorted(near) if at.g_d[i] < 0]
        status = self._strike(at, hits) if hits else Status.OK
        return status if status is not Status.OK else self._settle(holding=None if hits else face)

    def _land(self, at: Instant, face: int) -> Status:
        """Bouncing ends. Its last flights, each e times the one before, would have lasted 2 ġ/|g̈|/(1 − e) more."""
        last = blow(at, {face: 0.0}, self.held)
        e, rate = float(at.restitution[face]), float(at.g_d[face])
        more = 2 * rate / at.pressing(face) / (1 - e) if e < 1 and rate > 0 else 0.0
        self._record(face, LANDING, rate, 0.0, max(last.impulses[face], 0.0), min(self.t + more, self.task.t_end))
        self._move(at, last.dv)
        return self._settle(holding=face)

    def _jam(self) -> Status:
        """Bouncing between several faces accumulates: no time passes any more, and all of them come to rest."""
        at = self._instant()
        faces = at.on()
        slow = np.abs(at.g_d[faces]) <= JAMMED * (1 + np.abs(at.v).max(initial=0.0))
        if self.jammed == self.t or len(faces) < 2 or not slow.all():
            return Status.STEP_TOO_SMALL
        self.jammed, self.stalled = self.t, 0
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
                    f"at t = {self.t:.9g} the bilateral constraints drive the motion into '{name}', and no impulse can stop it"
                )

    def _strike(self, at: Instant, faces: list[int]) -> Status:
        """Blows on one or several faces; several at once only where that has a meaning."""
        resting, rule = [j for j in self.held if j not in faces], self.loop.corner
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
                self._record(i, IMPACT, float(at.g_d[i]), float(after.g_d[i]), one.impulses[i])
            self._move(at, one.dv)
            at = after
        return Status.CORNER if blows is None else Status.OK

    def _move(self, at: Instant, dv: Array) -> None:
        """v += Δv; the impulses M Δv = W λ + n P do the work (v + Δv/2)·MΔv."""
        form = self.loop.run_.form
        self.z = self.z.copy()
        self.z[form.nq : form.nq + form.nv] += dv
        self.z[-1] += float((at.v + dv / 2) @ at.M @ dv)
        if self.task.keep_steps:
            self.t_pieces.append(np.array([self.t]))
            self.z_pieces.append(self.z[None].copy())
        now = self.passed - int(np.searchsorted(self.task.times[: self.passed], self.t))
        if now:  # requested at the impact: what is after it
            self.z_times = [np.concatenate(self.z_times)]
            self.z_times[0][-now:] = self.z

    def _settle(self, leaving: int | None = None, holding: int | None = None) -> Status:
        """The contacts that hold from here on, and those that lie there asleep."""
        at, was = self._instant(), self.held
        contacts = contact_set(at, [i for i in at.resting if i != leaving], holding)
        shared = bearing(at, contacts, at.resting)
        if shared != contacts and self._hold_together(at, shared):
            contacts = shared
        self.contacts = contacts
        self.asleep = tuple(i for i in at.resting if i not in contacts and self._implied(contacts, i))
        for face in was:
            if face not in self.held:
                self._record(face, LEAVING, 0.0, float(at.g_d[face]), 0.0)
        for face in self.held:
            if face not in was and not _just_landed(self.events, self.t, face):
                self._record(face, LANDING, float(at.g_d[face]), 0.0, 0.0)
        if not self.changes or contacts != self.changes[-1][1]:
            self.changes.append((self.t, contacts))
        self.touching = {i for i in at.on(EXACTLY_ON) if i not in self.held}
        return Status.OK

    def _hold_together(self, at: Instant, faces: tuple[int, ...]) -> bool:
        """Whether those of the faces that depend on the others here do so wherever the others hold."""
        first = independent(at, faces)
        return all(self._implied(first, i) for i in faces if i not in first)

    def _implied(self, contacts: tuple[int, ...], face: int) -> bool:
        q, v = np.split(self.z[:-1], [self.loop.run_.form.nq])
        return self.loop.implied(contacts, face, self.t, q, v)

    def _record(
        self, face: int, kind: int, before: float, after: float, impulse: float, time: float | None = None
    ) -> None:
        self.events.append(np.array([[self.t if time is None else time, face, kind, before, after, impulse]]))


def _just_landed(events: list[Array], t: float, face: int) -> bool:
    """Whether a landing on the face from this time on is recorded already."""
    return any(e[0] >= t and e[1] == face and e[2] == LANDING for block in events[-3:] for e in block)


def _sum(a: Statistics, b: Statistics) -> Statistics:
    return Statistics(
        a.evaluations + b.evaluations, a.accepted + b.accepted, a.rejected + b.rejected,
        max(a.largest_defect, b.largest_defect),
    )  # fmt: skip


__all__ = ["HIT", "ModeLoop"]
