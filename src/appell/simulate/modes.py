"""Motion under unilateral constraints: a compiled loop for each set of contacts, and the table that leads from one to the next.

    free flight    impacts inside the compiled loop; it stops where bouncing has come to rest (landing) or at a corner
    contact        the faces in contact are rows g = 0 with Λ >= 0; it stops where a Λ reaches 0 (leaving) or a face is hit

The signs of x in Zhuravlev's s = |x| are such modes: never evaluated inside a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, SingularConfiguration, Status
from appell.normal_form.flow import Flow
from appell.simulate.contact import CORNER, HIT, IMPACT, LANDING, LEAVING, ORTHOGONAL, Instant, blow, contact_set
from appell.simulate.loop_c import CLoop, Repeated
from appell.simulate.loop_py import Leg, Loop, Statistics, Task
from appell.simulate.run import Run

Array = NDArray[np.float64]

STALLED = 100
"""So many changes of mode at one instant do not lead anywhere."""

SEQUENCE = 1000
"""So many blows at one corner neither."""

EXACTLY_ON = 1e-13
"""|g|/(1 + Σ|∂g/∂q·q|) below which a flight starts on a face."""


class Ends(NamedTuple):
    """Ends of many runs: status, time, state (n, nz) and count of events of each."""

    status: NDArray[np.int_]
    t: Array
    z: Array
    events: NDArray[np.int_]


def _with_limits(task: Task) -> Task:
    """The task with what counts as rest, as one instant and as a touch."""
    span = abs(task.t_end - task.t0)
    return replace(task, rest=1e-12 * span, simultaneous=1e-12 * span, graze=1e-11)


@dataclass(frozen=True, eq=False)
class ModeLoop:
    """`Loop` of a system with unilateral constraints. `make` builds the loop of a mode; `corner` is the rule for corners."""

    run_: Run
    make: Any  # contacts → (Flow, Loop)
    corner: str
    modes: dict[tuple[int, ...], tuple[Flow, Loop]] = field(default_factory=dict)

    def mode(self, contacts: tuple[int, ...]) -> tuple[Flow, Loop]:
        """The flow and the loop of a mode, built when it is first entered."""
        if contacts not in self.modes:
            self.modes[contacts] = self.make(contacts)
        return self.modes[contacts]

    def ends(self, task: Task, starts: Array) -> Ends:
        """Where many runs end, (n, nz) starts one after another. Flights stay in compiled code as long as they meet nothing but
        impacts; a run that lands or meets a corner is made again with its modes."""
        flight = self.mode(())[1]
        once = Repeated(flight, _with_limits(task)) if isinstance(flight, CLoop) else None
        found = Ends(np.empty(len(starts), dtype=int), np.empty(len(starts)), np.empty_like(starts), np.empty(len(starts), int))
        for k, start in enumerate(starts):
            status, count = once(start) if once else (Status.SWITCH, 0)
            if status is not Status.SWITCH and once is not None:
                found.status[k], found.t[k], found.z[k], found.events[k] = status, once.t, once.z, count
                continue
            *_, leg = self.run(replace(task, z0=start, keep_steps=False))
            found.status[k], found.t[k], found.z[k], found.events[k] = leg.status, leg.t, leg.z, len(leg.events)
        return found

    def run(self, task: Task) -> Iterator[Leg]:
        """See `loop_py.Loop.run`."""
        if task.t_end < task.t0:
            raise ConstraintError("with unilateral constraints time runs forward: an impact forgets where it came from")
        yield from _Journey(self, task).legs()


class _Journey:
    """The state of one run: where it stands, in which mode, and everything so far."""

    def __init__(self, loop: ModeLoop, task: Task):
        self.loop, self.task = loop, _with_limits(task)
        self.t, self.z, self.h = task.t0, task.z0.copy(), task.first_step
        self.contacts: tuple[int, ...] = ()
        self.touching: set[int] = set()
        self.events: list[Array] = []
        self.t_pieces, self.z_pieces = [np.array([task.t0])], [task.z0[None]]
        self.z_times: list[Array] = []
        self.passed = 0  # requested times
        self.changes: list[tuple[float, tuple[int, ...]]] = []
        self.past = Statistics(0, 0, 0, 0.0)
        self.stalled = 0

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
        yield self._leg(status, None)

    def _guarded(self, action: Any, *arguments: Any) -> Status:
        try:
            return action(*arguments)
        except SingularConfiguration:
            return Status.SINGULAR

    # -- one mode -------------------------------------------------------------------------------------------------------

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(i for i in range(len(self.loop.run_.system.unilateral)) if i not in self.contacts)

    def _run_mode(self) -> Iterator[Leg]:
        task = replace(
            self.task, t0=self.t, z0=self.z, times=self.task.times[self.passed :], first_step=self.h,
            touching=tuple(i in self.touching for i in self.free), max_steps=self.task.max_steps - self.past.accepted,
        )  # fmt: skip
        return self.loop.mode(self.contacts)[1].run(task)

    def _keep(self, leg: Leg) -> None:
        """A finished mode becomes part of the past."""
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
        events = [np.zeros((0, 6)), *self.events, *([self._numbered(current.events)] if more else [])]
        return Leg(
            status=status, t=current.t if more else self.t, z=current.z if more else self.z.copy(), next_step=self.h or 0.0,
            z_times=past_z, statistics=_sum(self.past, current.statistics) if more else self.past,
            t_pieces=tuple(self.t_pieces), z_pieces=tuple(self.z_pieces), events=np.concatenate(events),
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
            self._record(face, LEAVING, 0.0, 0.0, 0.0)
            return self._settle(leaving=face)
        if kind == LANDING:
            return self._land(at, face)
        together = self.touching if kind == CORNER else {face, *at.approaching}
        hits = [i for i in sorted(together) if at.g_d[i] < 0]
        status = self._strike(at, hits) if hits else Status.OK
        return status if status is not Status.OK else self._settle(holding=None if hits else face)

    def _land(self, at: Instant, face: int) -> Status:
        """Bouncing ends. Its last flights, each e times the one before, would have lasted 2 ġ/|g̈|/(1 − e) more."""
        dv, impulses = blow(at, {face: 0.0}, self.contacts)
        e, rate = float(at.restitution[face]), float(at.g_d[face])
        more = 2 * rate / at.pressing(face) / (1 - e) if e < 1 and rate > 0 else 0.0
        self._record(face, LANDING, rate, 0.0, max(impulses[face], 0.0), min(self.t + more, self.task.t_end))
        self._move(at, dv, impulses)
        return self._settle(holding=face)

    def _strike(self, at: Instant, faces: list[int]) -> Status:
        """Blows on one or several faces; several at once only where that has a meaning."""
        resting = [j for j in self.contacts if j not in faces]
        pairs = [(i, j) for k, i in enumerate(faces) for j in faces[k + 1 :]]
        if all(abs(at.metric(i, j)) <= ORTHOGONAL for i, j in pairs):
            self._blow(at, faces, resting)
            return Status.OK
        if self.loop.corner == "raise" and not (len(faces) == 2 and at.closes_up(*faces)):
            return Status.CORNER
        order = faces[::-1] if self.loop.corner == "last" else faces
        for _ in range(SEQUENCE):
            at = self._instant()
            approaching = [i for i in order if at.g_d[i] < -at.slow]
            if not approaching:
                return Status.OK
            self._blow(at, approaching[:1], resting)
        return Status.CORNER

    def _blow(self, at: Instant, faces: list[int], resting: list[int]) -> None:
        dv, impulses = blow(at, {i: float(at.restitution[i]) for i in faces}, resting)
        after = at.g_d + at.g_v @ dv
        for i in faces:
            self._record(i, IMPACT, float(at.g_d[i]), float(after[i]), impulses[i])
        self._move(at, dv, impulses)

    def _move(self, at: Instant, dv: Array, impulses: dict[int, float]) -> None:
        """v += Δv; the impulses do the work P n·(v + Δv/2)."""
        form = self.loop.run_.form
        self.z = self.z.copy()
        self.z[form.nq : form.nq + form.nv] += dv
        middle = at.v + dv / 2
        self.z[-1] += sum(P * float(at.g_v[i] @ middle) for i, P in impulses.items())
        if self.task.keep_steps:
            self.t_pieces.append(np.array([self.t]))
            self.z_pieces.append(self.z[None].copy())
        now = self.passed - int(np.searchsorted(self.task.times[: self.passed], self.t))
        if now:  # requested at the impact: what is after it
            self.z_times = [np.concatenate(self.z_times)]
            self.z_times[0][-now:] = self.z

    def _settle(self, leaving: int | None = None, holding: int | None = None) -> Status:
        """The contacts that hold from here on."""
        at = self._instant()
        candidates = [i for i in at.resting if i != leaving]
        contacts = contact_set(at, candidates, holding)
        for face in contacts:
            if face not in self.contacts and not _just_landed(self.events, self.t, face):
                self._record(face, LANDING, float(at.g_d[face]), 0.0, 0.0)
        if contacts != self.contacts or not self.changes:
            self.changes.append((self.t, contacts))
        self.contacts = contacts
        self.touching = {i for i in at.on(EXACTLY_ON) if i not in contacts}
        return Status.OK

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
