"""From one reading of a control to the next in one compiled call, over memory that is made once.

A hold keeps to one mode, free flight or a set of contacts, and starts where that is certain: no free face is near, and under
the new inputs every contact bears a load that rounding cannot hide. Everything else is left to `Loop.run`: landing, leaving,
corners, failures, and more steps than progress can wait for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.contact.contact import LANDING, LEAVING, Instant, certain
from appell.contact.modes import ModeLoop, with_limits
from appell.errors import Status
from appell.simulate.loop.in_c import FIRST_TRIALS, LARGEST_BUFFER, CLoop, Hold
from appell.simulate.loop.in_python import SECONDS_PER_LEG, Leg, Loop, Statistics, Task

Array = NDArray[np.float64]


class Ledger:
    """Everything so far of a run under a control: where it stands, its steps, requested times, events, contacts and work.

    Steps and events of holds are written by compiled code behind the first `rows` and `told` of a page; once they are
    entered, they are pieces like those of any leg. `interval` is the time between two readings, s.
    """

    def __init__(self, task: Task, interval: float):
        self.task, self.interval, self.nz = task, interval, len(task.z0)
        self.t, self.z, self.h = task.t0, task.z0.copy(), task.first_step
        self.statistics = Statistics(0, 0, 0, 0.0)
        start = ([], []) if task.keep_steps else ([np.array([task.t0])], [task.z0[None]])
        self.t_pieces: list[Array] = start[0]
        self.z_pieces: list[Array] = start[1]
        self.z_times, self.passed = np.empty((len(task.times), self.nz)), 0
        self.events: list[Array] = [np.zeros((0, 6))]
        self.contacts: list[tuple[float, tuple[int, ...]]] = []
        self.landed: set[int] = set()  # faces on which it rests, those without a load among them
        self.turn_page()

    def turn_page(self) -> None:
        """Fresh memory for steps and events."""
        self.capacity = max(4 * FIRST_TRIALS, LARGEST_BUFFER // (8 * (self.nz + 1)))
        self.t_page, self.z_page, self.rows = np.empty(self.capacity), np.empty((self.capacity, self.nz)), 0
        self.event_page, self.told = np.empty((self.capacity, 6)), 0

    def enter(self, rows: int, told: int, faces: tuple[int, ...]) -> None:
        """Steps and events on the page until there become part of the past; `faces` are the numbers of the mode's."""
        if rows > self.rows:
            self.t_pieces.append(self.t_page[self.rows : rows])
            self.z_pieces.append(self.z_page[self.rows : rows])
        if told > self.told:
            events = self.event_page[self.told : told]
            events[:, 1] = np.array(faces, dtype=float)[events[:, 1].astype(int)]
            self.events.append(events[np.argsort(events[:, 0], kind="stable")])
        self.rows, self.told = rows, told

    def keep(self, leg: Leg, asked: int) -> None:
        """A leg to the next reading, until which so many times are requested, becomes part of the past."""
        if self.task.keep_steps:
            self.t_pieces += leg.t_pieces
            self.z_pieces += leg.z_pieces
        passed = self.passed + len(leg.z_times[:asked])
        self.z_times[self.passed : passed], self.passed = leg.z_times[:asked], passed
        if len(leg.events) or leg.contacts or self.contacts:
            self._keep_contacts(leg)
        a, b = self.statistics, leg.statistics
        self.statistics = Statistics(
            a.evaluations + b.evaluations, a.accepted + b.accepted, a.rejected + b.rejected,
            max(a.largest_defect, b.largest_defect),
        )  # fmt: skip
        self.h = min(leg.next_step, self.interval) if leg.next_step > 0 else None
        self.t, self.z[:] = leg.t, leg.z

    def _keep_contacts(self, leg: Leg) -> None:
        """A loop finds the contacts of its start anew: those that go on have not landed, those that are missing have left."""
        again = {int(event[1]) for event in leg.events if event[0] == self.t and event[2] == LANDING}
        found = again.union(leg.contacts[0][1] if leg.contacts else ())
        left = [[self.t, face, LEAVING, 0.0, 0.0, 0.0] for face in sorted(self.landed - found)]
        news = [event for event in leg.events if not (event[0] == self.t and event[2] == LANDING and event[1] in self.landed)]
        if left or news:
            self.events.append(np.array([*left, *news]))
        for event in (*left, *news):
            (self.landed.add if event[2] == LANDING else self.landed.discard)(int(event[1]))
        for time, contacts in leg.contacts:
            if not self.contacts or self.contacts[-1][1] != contacts:
                self.contacts.append((time, contacts))


class Holds:
    """The compiled modes of a loop, in which a run goes on from one reading to the next. p (parameters,) changes in place."""

    def __init__(self, loop: Loop, ledger: Ledger, p: Array):
        self.loop, self.ledger, self.p = loop, ledger, p
        self.modes: dict[tuple[int, ...], Hold] = {}
        self.current: Hold | None = None
        self.trials, self.too_few = FIRST_TRIALS, False
        unseen = self._walled is not None and ledger.task.fixed_step is not None  # touches, which the loop itself counts
        self.open = isinstance(self._loop(()), CLoop) and not unseen

    def reach(self, t_end: float, passed: int) -> bool:
        """Whether t_end was reached, until which so many of the requested times are passed; else it stands where it stood."""
        if self.current is None:
            self.current = self._enter()
        if self.current is None:
            return False
        status = self.current(t_end, passed, self.trials)
        if status == Status.OK:
            self.ledger.t = t_end
            return True
        full = status == Status.BUFFER_FULL and self._short_of_memory(self.current)
        self.leave()
        if full:
            self.ledger.turn_page()
            return self.reach(t_end, passed)
        self.too_few = status == Status.BUFFER_FULL
        return False

    def took(self, seconds: float) -> None:
        """How long it took without a hold: whether the next one may try more steps, or is not worth while."""
        if self.too_few:
            self.trials, self.too_few = min(4 * self.trials, self.ledger.capacity // 2 - 2), False
            self.open = seconds < SECONDS_PER_LEG / 4

    def leave(self) -> None:
        """What the holds have done is entered in the ledger."""
        if self.current is None:
            return
        run, ledger = self.current.struct, self.ledger
        ledger.h, ledger.passed = min(run.h, ledger.interval) or None, run.i_time
        ledger.statistics = Statistics(run.evaluations, run.accepted, run.rejections, run.defect)
        ledger.enter(run.n_steps, run.n_events, self.current.faces)
        self.current = None

    @property
    def _walled(self) -> ModeLoop | None:
        return self.loop if isinstance(self.loop, ModeLoop) else None

    def _loop(self, contacts: tuple[int, ...]) -> Loop:
        return self.loop if self._walled is None else self._walled.mode(contacts)[1]

    def _enter(self) -> Hold | None:
        """The hold of the mode in which the run stands, from there on; None where there is none."""
        contacts = self._contacts()
        if contacts is None:
            return None
        if contacts not in self.modes:
            self.modes[contacts] = self._make(contacts)
        hold, ledger = self.modes[contacts], self.ledger
        if contacts:
            hold.least[:] = certain(self._instant(), contacts)
        run, done = hold.struct, ledger.statistics
        run.t, run.h, run.i_time = ledger.t, ledger.h or 0.0, ledger.passed
        run.evaluations, run.accepted, run.rejections = done.evaluations, done.accepted, done.rejected
        run.defect = done.largest_defect
        run.n_steps, run.n_events = ledger.rows, ledger.told
        hold.write_to(ledger.t_page, ledger.z_page, ledger.event_page)
        return hold

    def _contacts(self) -> tuple[int, ...] | None:
        """The faces in contact, if it rests on no others; None before the first leg has found them."""
        if not self.open:
            return None
        if self._walled is None:
            return ()
        known = self.ledger.contacts[-1][1] if self.ledger.contacts else None
        return known if known is not None and set(known) == self.ledger.landed else None

    def _make(self, contacts: tuple[int, ...]) -> Hold:
        loop, ledger = self._loop(contacts), self.ledger
        assert isinstance(loop, CLoop)
        task, faces = ledger.task, ()
        if self._walled is not None:
            free = (i for i in range(len(self._walled.run_.system.unilateral)) if i not in contacts)
            task, faces = with_limits(task), (*free, *contacts)
        return Hold(loop, task, self.p, ledger.z, ledger.z_times, ledger.interval, faces)

    def _instant(self) -> Instant:
        assert self._walled is not None
        form, ledger = self._walled.run_.form, self.ledger
        q, v = ledger.z[: form.nq], ledger.z[form.nq : form.nq + form.nv]
        return Instant.at(form, ledger.t, q, v, self.p)

    def _short_of_memory(self, hold: Hold) -> bool:
        """Whether so many trials may have filled what is left of the page; a fresh one is not changed for another."""
        rows, told = hold.struct.n_steps, hold.struct.n_events
        left = self.ledger.capacity - max(rows, told)
        return rows + told > 0 and left < 2 * self.trials + hold.free + 3


__all__ = ["Holds", "Ledger"]
