"""The record of a run so far: one trace, to which every loop appends."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.modes.endings import Ending
from appell.modes.events import EVENT, Kind
from appell.modes.mode import FLIGHT, Mode
from appell.notes import Note

if TYPE_CHECKING:
    from appell.loop.held_inputs import Readings

Array = NDArray[np.float64]

FIRST_PAGE_ROWS = 1024  # rows
LARGEST_PAGE = 4 << 20  # bytes
ROWS_MOVED = 256  # at most this many are moved to the start of the next page


@dataclass(frozen=True)
class Statistics:
    """Work done: right-hand sides, accepted and rejected steps, the largest constraint residual before projection."""

    evaluations: int = 0
    accepted: int = 0
    rejected: int = 0
    largest_defect: float = 0.0

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.evaluations + other.evaluations,
            self.accepted + other.accepted,
            self.rejected + other.rejected,
            max(self.largest_defect, other.largest_defect),
        )


class Pages:
    """A growing table of rows, in pages of memory into which compiled code may write.

    Each page is twice as long as the one before, up to `LARGEST_PAGE` bytes, so that n rows cost a time proportional to n.
    """

    def __init__(self, dtype: Any, width: int | None = None):
        self.dtype, self.shape = np.dtype(dtype), () if width is None else (width,)
        self.longest = max(FIRST_PAGE_ROWS, LARGEST_PAGE // (self.dtype.itemsize * (width or 1)))
        self.full: list[NDArray[Any]] = []
        self.page, self.used = self._blank(0), 0
        self.rows_before_page = 0  # rows in full pages

    def __len__(self) -> int:
        return self.rows_before_page + self.used

    def _blank(self, rows: int) -> NDArray[Any]:
        return np.empty((rows, *self.shape), self.dtype)

    def room(self, rows: int) -> NDArray[Any]:
        """Free memory after the last row, for at least `rows` rows."""
        if len(self.page) - self.used < rows:
            written, moved = self.page[: self.used], self.used <= ROWS_MOVED
            page = self._blank(max(rows + moved * self.used, min(self.longest, max(FIRST_PAGE_ROWS, 2 * len(self.page)))))
            if moved:  # cheaper than joining a page of a few rows later
                page[: self.used] = written
            else:
                self.full.append(written)
                self.rows_before_page, self.used = self.rows_before_page + self.used, 0
            self.page = page
        return self.page[self.used :]

    def add_written(self, rows: int) -> None:
        """Adds the first `rows` rows of the last `room` to the table."""
        self.used += rows

    def append(self, row: Any) -> None:
        """Appends one row."""
        self.room(1)[0] = row
        self.used += 1

    def clear(self) -> None:
        """Removes all rows."""
        self.full, self.rows_before_page, self.used = [], 0, 0

    def cut(self, kept: NDArray[Any]) -> None:
        """Keeps only the given rows."""
        self.full, self.rows_before_page, self.page, self.used = [kept], len(kept), self._blank(0), 0

    def joined(self, since: int = 0) -> NDArray[Any]:
        """All rows from number `since` on, in one array."""
        return self.view(since).copy() if since >= self.rows_before_page else self.view(since)

    def view(self, since: int = 0) -> NDArray[Any]:
        """Like `joined`, for immediate use: a view of the current page if all rows are in it."""
        if since >= self.rows_before_page:
            return self.page[since - self.rows_before_page : self.used]
        return np.concatenate([*self.full, self.page[: self.used]])[since:]


class Trace:
    """The current state of a run and everything that it has done.

    Attributes
    ----------
    status: BUFFER_FULL while it is running; then how it ended.
    origin: the time from which t and all other times here, except those of notes, are counted during the run, s.
    t, z (nz,): the current state. `z` is overwritten in place: copy what you keep.
    next_step: the step that the step control would take next, s; None: unknown.
    statistics: the work done.
    passed: how many of the requested times have been passed.
    modes: (time, mode of faces and frictions from then on).
    landings: (faces,) time of the last landing on each face, s, −∞: never; None where compiled code changes no modes.
    stalled, switched: number of changes of mode at one time, and that time, s.
    touching: open faces on which the state lies. switch: (face, ending of the mode) behind the status SWITCH.
    breaks: times at which the model jumped; p_before_jump: the parameters before a jump that no loop has handled yet;
        branch_time: a time inside the current interval between two breaks.
    notes: remarks for the reader of the motion.
    readings, failure: what a control returned, or why it failed.
    implicit, next_look: whether an implicit method has taken over, and after how many steps stiffness is examined again
        (`appell.simulate.loop.stiffness`).
    resets: a `ResetState` for each; modes_before_reset: how many of the modes precede the last reset.
    signs: signs of the expressions of stops and guards at their last evaluation, by name; reached: from which side those of
        stops have just come to zero at a rate; stopped: which of them ended the run, in words.
    reduced: numbers accumulated by reductions, by name and part.
    """

    def __init__(self, t: float, z: Array, next_step: float | None = None, *, times: int = 0, keep_steps: bool = True):
        self.status = Status.BUFFER_FULL
        self.t, self.z, self.next_step = t, np.array(z, dtype=float), next_step
        self.origin = 0.0
        self.statistics = Statistics()
        self.keep_steps = keep_steps
        self.steps = Pages(float, 1 + len(self.z))  # t, z
        self.events = Pages(EVENT)
        self.memory_of_times, self.passed = np.empty((times, len(self.z))), 0
        self.landings: Array | None = None
        self.stalled, self.switched = 0, t
        self.modes: list[tuple[float, Mode]] = []
        self.decided_with: Array | None = None  # parameters under which the last mode was found
        self.touching: set[int] = set()
        self.switch: tuple[int, Ending] | None = None
        self.counting: tuple[Any, ...] = ()  # number and spacing of impacts: see `switch.c.in`
        self.breaks: list[float] = []
        self.p_before_jump: Array | None = None
        self.branch_time: float | None = None
        self.sides: Array | None = None  # sides of the surfaces of a system (`appell.model.sides`) on which the state lies
        self.notes: list[Note] = []
        self.sigma = 0.0  # the largest σ that the rank guard has seen
        self.readings: Readings | None = None
        self.failure: Exception | None = None
        self.implicit, self.next_look = False, 0
        self.signs: dict[str, float] = {}
        self.reached: dict[str, float] = {}
        self.resets: list[Any] = []
        self.modes_before_reset = 0
        self.stopped = ""
        self.reduced: dict[str, list[Array]] = {}
        row = self.steps.room(1)[0]
        row[0], row[1:] = t, self.z
        self.steps.add_written(1)

    def without_past(self, times: int) -> Trace:
        """A new trace from the current state, without the past, for other requested times."""
        trace = copy(self)
        trace.z, trace.keep_steps = self.z.copy(), False
        trace.steps, trace.events = Pages(float, 1 + len(self.z)), Pages(EVENT)
        trace.memory_of_times, trace.passed = np.empty((times, len(self.z))), 0
        trace.landings = None if self.landings is None else self.landings.copy()
        for name in ("modes", "breaks", "notes", "touching", "signs", "reached", "resets"):
            setattr(trace, name, copy(getattr(self, name)))
        return trace

    def fork(self) -> Trace:
        """A trace that continues separately over the same requested times, to be joined or discarded."""
        fork = self.without_past(0)
        fork.memory_of_times, fork.passed, fork.keep_steps = self.memory_of_times, self.passed, True
        fork.steps.append(np.append(self.t, self.z))
        return fork

    def join(self, fork: Trace) -> None:
        """Appends what a fork has done."""
        unchanged = {name: self.__dict__[name] for name in ("z", "steps", "events", "keep_steps")}
        steps, events = fork.steps.joined(1), fork.events.joined()
        self.__dict__.update(fork.__dict__)
        self.__dict__.update(unchanged)
        self.z[:] = fork.z
        for row in steps if self.keep_steps else ():
            self.steps.append(row)
        for row in events:
            self.events.append(row)

    def cut(self, t: float, rows: int, passed: int, way: float) -> None:
        """Discards what came after a time, in the direction `way` of the run; keeps `rows` rows and `passed` of the times."""
        not_after = lambda time: way * time <= way * t
        removed = len(self.steps) - rows
        self.steps.cut(self.steps.joined()[:rows])
        events = self.events.joined()
        self.events.cut(events[not_after(events["time"])])
        self.passed = min(self.passed, passed)
        self.modes = [entry for entry in self.modes if not_after(entry[0])]
        self.breaks = [time for time in self.breaks if not_after(time)]
        self.resets = [entry for entry in self.resets if not_after(entry.time)]
        self.notes = [note for note in self.notes if note.time is None or not_after(note.time - self.origin)]
        self.failure = None
        accepted = self.statistics.accepted  # rows of earlier legs may be gone, and impacts have rows, too
        accepted = min(accepted, max(rows - 1, accepted - removed, 0))  # evaluations are not reduced
        self.statistics = replace(self.statistics, accepted=accepted)

    def restart(self) -> None:
        """Forgets the mode after a jump of the state, so that the run continues as from a start."""
        for face in self.mode.closed:
            self.record(face, Kind.LEAVING)
        if self.modes and not self.mode.frictions:
            self.enter(FLIGHT)
        self.modes_before_reset = len(self.modes)
        self.landings, self.touching, self.switch = None, set(), None
        self.stalled, self.switched, self.counting = 0, self.t, ()
        self.decided_with = self.p_before_jump = self.branch_time = self.sides = None
        self.next_step, self.sigma = None, 0.0

    def move(self, t: float, z: Array) -> None:
        """Moves to (t, z), and stores it as a step if steps are stored."""
        self.t, self.z[:] = t, z
        self.keep()

    def keep(self) -> None:
        """Stores the current state as a step, if steps are stored."""
        if self.keep_steps:
            row = self.steps.room(1)[0]
            row[0], row[1:] = self.t, self.z
            self.steps.add_written(1)

    def pass_times(self, states: Any) -> None:
        """Stores the states at the next requested times, (n, nz)."""
        if len(states):
            self.memory_of_times[self.passed : self.passed + len(states)] = states
            self.passed += len(states)

    def change_times(self, times: Array) -> None:
        """Replaces the states stored for the current time by the state after an impact."""
        count = self.passed - int(np.searchsorted(times[: self.passed], self.t))
        self.memory_of_times[self.passed - count : self.passed] = self.z

    def record(
        self, face: int, kind: Kind, before: float = 0.0, after: float = 0.0, impulse: float = 0.0, time: float | None = None
    ) -> None:
        """Records an event on a face, now unless another time is given."""
        self.events.append((self.t if time is None else time, face, kind, before, after, impulse))

    def change_faces(self, changes: NDArray[Any]) -> None:
        """Adds the changes of contacts made by compiled code, (n,) of dtype `CHANGE`, as modes.

        The faces that it closes are independent, and it leaves none asleep.
        """
        closed, closed_after, modes = self.mode.closed, dict[Any, tuple[int, ...]](), dict[tuple[int, ...], Mode]()
        for time, face, in_contact, last in changes.tolist():  # a few changes again and again: each is made once
            change = closed, face, in_contact
            if change not in closed_after:
                closed_after[change] = tuple(sorted({*closed, face} if in_contact else {*closed} - {face}))
            closed = closed_after[change]
            if last:
                if closed not in modes:
                    modes[closed] = Mode(closed)
                self.modes.append((time, modes[closed]))

    def enter(self, mode: Mode, time: float | None = None) -> None:
        """Enters a mode, now or at the given time, unless it is the current one."""
        if not self.modes or mode != self.modes[-1][1]:
            self.modes.append((self.t if time is None else time, mode))

    @property
    def mode(self) -> Mode:
        """The current mode."""
        return self.modes[-1][1] if self.modes else FLIGHT

    @property
    def contacts(self) -> list[tuple[float, tuple[int, ...]]]:
        """(time, faces in contact from then on)."""
        contacts: list[tuple[float, tuple[int, ...]]] = []
        for time, mode in self.modes:
            if not contacts or mode.closed != contacts[-1][1]:
                contacts.append((time, mode.closed))
        return contacts

    @property
    def clock(self) -> float:
        """The current time, whatever the loop counts from, s."""
        return self.origin + self.t

    def on_the_clock(self, end: float, counted_end: float) -> None:
        """Replaces all times counted from `origin` by absolute ones; the loop's `counted_end` becomes exactly `end`."""
        if not self.origin:
            return
        absolute = lambda time: end if time == counted_end else self.origin + time
        for page in (*self.steps.full, self.steps.page[: self.steps.used]):
            page[:, 0] = np.where(page[:, 0] == counted_end, end, page[:, 0] + self.origin)
        for page in (*self.events.full, self.events.page[: self.events.used]):
            page["time"] += self.origin
        self.modes = [(absolute(time), mode) for time, mode in self.modes]
        self.breaks = [absolute(time) for time in self.breaks]
        self.resets = [reset._replace(time=absolute(reset.time)) for reset in self.resets]
        self.t, self.switched, self.origin = absolute(self.t), absolute(self.switched), 0.0

    def ended(self, status: Status) -> Trace:
        """The same trace with a status."""
        self.status = status
        return self

    @property
    def z_times(self) -> Array:
        """States at the requested times passed so far, (passed, nz)."""
        return self.memory_of_times[: self.passed]

    @property
    def t_steps(self) -> Array:
        """Times of the start and of the steps, (1 + accepted,); only the start, (1,), where steps are not stored."""
        return self.steps.view()[:, 0].copy()

    @property
    def z_steps(self) -> Array:
        """States of the start and of the steps, (1 + accepted, nz), as `t_steps`."""
        return self.steps.view()[:, 1:].copy()

    def sorted_events(self) -> NDArray[Any]:
        """All events in the order of time, (n,) of dtype `EVENT`; the end of bouncing is recorded ahead of its time."""
        events = self.events.joined()
        time = events["time"]
        return events if (time[1:] >= time[:-1]).all() else events[np.argsort(time, kind="stable")]


__all__ = ["Pages", "Statistics", "Trace"]
