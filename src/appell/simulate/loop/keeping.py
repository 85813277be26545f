"""Storage of a long run: every k-th step, or reductions, in memory or in a folder from which it resumes (`kept_folder`).

A run with a folder, with stops or with reductions, which need all of its steps, is made in legs of `STEPS_OF_LEG` steps. Each
leg starts only from the data in `kept_modes` and `StoredState`: the state, the size of the next step, its method, the mode, the
numbers of reductions. These are written at the ends of legs only, so an interrupted run resumes, bit for bit, as if it had
never stopped. Impacts, modes and resets are always stored, whatever k is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends.text.c_source import emit_function
from appell.compiled.run import Run
from appell.errors import ModelError, Status
from appell.loop.methods.tableaux import TABLEAUX
from appell.loop.methods.taylor import SERIES
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.model.fingerprint import fingerprint
from appell.normal_form.flow import Flow
from appell.reading import path_of, shown
from appell.reductions.following import course_of, followed_along
from appell.reductions.kinds import meaning, parts_of
from appell.reductions.named import named_reductions
from appell.reductions.reduce import Reduction
from appell.simulate.loop.kept_folder import FOLDER_FORMAT, KeptFolder, StoredState
from appell.simulate.loop.kept_modes import WrittenSoFar
from appell.simulate.loop.repeated import repeated

Array = NDArray[np.float64]

ROWS_IN_MEMORY = 1 << 16
"""Rows held in memory before they are written."""
SECONDS_BETWEEN_WRITINGS = 5.0
"""Seconds between two writes: the most that an interruption loses."""
STEPS_OF_LEG = 1000
"""Steps after which a method discards its memory, so that another process can resume from there."""
NO_STEPS = 2**62
"""k for storing only the first and the last step."""
KEEP_USAGE = "keep= is a whole number k (every k-th step), a folder, {name: ap.reduce.…}, or several of these, (folder, k)"


@dataclass(frozen=True)
class Keeping:
    """Every k-th step, in a folder if one is given; reductions by name."""

    every: int = 1
    folder: Path | None = None
    reductions: Mapping[str, Reduction] = field(default_factory=dict)

    @property
    def expressions(self) -> list[Any]:
        """The expressions of the reductions."""
        parts = [part for reduction in self.reductions.values() for part in parts_of(reduction)]
        return [part.expression for part in parts if part.expression is not None]


def read_keeping(keep: Any) -> Keeping | None:
    """`keep=` of `simulate`."""
    if keep is None:
        return None
    options: dict[str, Any] = {}
    for item in keep if isinstance(keep, tuple | list) else (keep,):
        if isinstance(item, str | os.PathLike):
            name, value = "folder", path_of(item, "keep=")
        elif isinstance(item, Mapping):
            name, value = "reductions", named_reductions(item, KEEP_USAGE)
        elif isinstance(item, Reduction):
            sections = "sections are those of ap.simulate_many and ap.poincare"
            raise ModelError(f"{KEEP_USAGE}, not a reduction without a name; {sections}")
        elif isinstance(item, int | np.integer) and not isinstance(item, bool | np.timedelta64) and 1 <= item < NO_STEPS:
            name, value = "every", int(item)
        else:
            raise ModelError(f"{KEEP_USAGE}, not {shown(keep)}")
        if name in options:
            raise ModelError(f"{KEEP_USAGE}, each of them once, not {shown(keep)}")
        options[name] = value
    if not options:
        raise ModelError(f"{KEEP_USAGE}, not {shown(keep)}")
    if "reductions" in options:  # in place of steps, unless both are asked for
        options.setdefault("every", NO_STEPS)
    return Keeping(**options)


def digest_of(flow: Flow, task: Task, method: str, beyond_flow: tuple[Any, ...]) -> str:
    """Digest of all that determines the steps of a run: equations, projections, parameters, start, end, method, tolerances.

    beyond_flow: what else determines them and is not in the flow: walls, frictions, resets, stops, the rule for corners.
    """
    text = hashlib.sha256(fingerprint(*beyond_flow).encode())
    for function in (flow.rhs, flow.position, flow.velocity, flow.energy):
        text.update(b"-" if function is None else emit_function(function).encode())
    for array in (task.p, task.z0, np.asarray(task.atol), np.array([task.t0, task.t_end, task.rtol, task.max_step])):
        text.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    text.update(f"{method} {task.fixed_step} {FOLDER_FORMAT}".encode())
    if (row := TABLEAUX.get(method, SERIES.get(method))) is not None:  # a pair of this name may have been registered
        for entry in fields(row):
            value = getattr(row, entry.name)
            text.update(np.ascontiguousarray(value, "<f8").tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return text.hexdigest()


@dataclass(frozen=True, eq=False)
class KeepLoop:
    """`Loop` that stores every k-th step, in memory or in a folder.

    compiled: the system with its parameters. steps: the loop without stops, with the same steps. beyond_flow: as in
    `digest_of`. legs: whether the run is made in legs even without a folder and reductions.
    """

    loop: Loop
    keeping: Keeping
    compiled: Run
    flow: Flow
    method: str
    steps: Loop
    beyond_flow: tuple[Any, ...] = ()
    legs: bool = False

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        yield from _KeptRun(self, task, trace or task.trace()).traces()


class _KeptRun:
    """One run, with rows waiting to be written."""

    def __init__(self, loop: KeepLoop, task: Task, trace: Trace):
        self.loop, self.inner, self.task, self.trace, self.every = loop, loop.loop, task, trace, loop.keeping.every
        self.folder, self.written, self.reductions = None, WrittenSoFar(), loop.keeping.reductions
        self.in_legs = loop.legs or bool(self.reductions)
        if (path := loop.keeping.folder) is not None:
            reductions = tuple((name, meaning(reduction)) for name, reduction in self.reductions.items())
            digest = digest_of(loop.flow, task, loop.method, (*loop.beyond_flow, *reductions))
            self.folder, self.in_legs = KeptFolder(path, digest, self.every, 1 + len(trace.z)), True
        self.waiting: list[Array] = []
        self.count, self.first_row_taken, self.wrote_at = 0, False, perf_counter()
        if self.folder is not None and self.folder.last is not None:
            self._resume(self.folder, self.folder.last)

    def _resume(self, folder: KeptFolder, state: StoredState) -> None:
        """Resumes where an earlier run was interrupted."""
        trace = self.trace
        folder.restore(trace)
        self.written = WrittenSoFar.of(trace)
        trace.t, trace.z[:], trace.next_step = state.t, state.z, state.next_step
        trace.sigma, trace.statistics = state.sigma, state.statistics
        trace.notes = [*state.notes, *trace.notes]
        trace.implicit, trace.next_look = state.implicit, state.next_look
        self.count, self.first_row_taken = state.count, True
        trace.steps.cut(np.append(trace.t, trace.z)[None])

    def traces(self) -> Iterator[Trace]:
        """See `task.Loop.run`; the folder is released at the end in any case."""
        try:
            yield from self._traces()
        finally:
            if self.folder is not None:
                self.folder.give_back()

    def _traces(self) -> Iterator[Trace]:
        """The run as a whole, or in legs; one that was stored to its end is not made again."""
        trace, resumed_from = self.trace, None if self.folder is None else self.folder.last
        if not self.in_legs:
            for _ in self.inner.run(self.task, trace):
                self._take_rows()
                if trace.status is Status.BUFFER_FULL:
                    yield trace
        elif resumed_from is not None and resumed_from.status is Status.STOPPED:
            trace.ended(Status.STOPPED)
        elif trace.t == self.task.t_end and self.first_row_taken:
            trace.ended(Status.OK)
        else:
            yield from self._legs()
        trace.steps.cut(self._all_rows())
        yield trace

    def _legs(self) -> Iterator[Trace]:
        """From leg to leg; an unfinished leg does not count."""
        trace, max_steps = self.trace, self.task.max_steps
        if not self.first_row_taken:  # the start, and whether the folder can be written to
            self._take_rows()
            self._write()
        while True:
            end, start = min(max_steps, STEPS_OF_LEG * (trace.statistics.accepted // STEPS_OF_LEG + 1)), trace.without_past(0)
            for _ in self.inner.run(replace(self.task, max_steps=end), trace):
                if trace.status is Status.BUFFER_FULL:
                    yield trace
            self._reduce(start, end)
            self._take_rows()
            unfinished = trace.status is Status.MAX_STEPS and end < max_steps
            due = perf_counter() - self.wrote_at > SECONDS_BETWEEN_WRITINGS or sum(map(len, self.waiting)) > ROWS_IN_MEMORY
            if due or not unfinished:
                self._write()
            if not unfinished:
                return

    def _reduce(self, start: Trace, end: int) -> None:
        """Accumulates the reductions along the leg that began at `start`, up to step number `end` of the run."""
        if not self.reductions:
            return
        loop, task, trace = self.loop, self.task, self.trace
        states_at = lambda times: repeated(loop.steps, task, start, times, end + 2)
        tolerances = task.rtol, float(np.min(task.atol))
        course = course_of(loop.compiled, loop.flow, trace, loop.method, states_at, tolerances, task.t0)
        trace.reduced = followed_along(course, self.reductions, trace.reduced)

    def _take_rows(self) -> None:
        """Takes every k-th of the new rows from the trace; the last one stays there."""
        rows = self.trace.steps.joined()
        new_rows = rows[1:] if self.first_row_taken else rows
        numbers = self.count + np.arange(len(new_rows))
        chosen = new_rows[numbers % self.every == 0]
        if len(chosen):
            self.waiting.append(chosen.copy())
        self.count, self.first_row_taken = self.count + len(new_rows), True
        self.trace.steps.cut(rows[-1:].copy())

    def _write(self) -> None:
        """Writes the waiting rows and the current state to the folder, if there is one."""
        if self.folder is None:
            return
        rows = np.concatenate(self.waiting) if self.waiting else np.zeros((0, 1 + len(self.trace.z)))
        self.folder.add(rows, self.trace, self.count, self.written)
        self.waiting, self.wrote_at, self.written = [], perf_counter(), WrittenSoFar.of(self.trace)

    def _all_rows(self) -> Array:
        """All stored rows, including the last state."""
        stored = [*([] if self.folder is None else self.folder.rows()), *self.waiting]
        last_row = np.append(self.trace.t, self.trace.z)[None]
        rows = np.concatenate([*stored, last_row]) if stored else last_row
        return rows[:-1] if len(rows) > 1 and rows[-2, 0] == rows[-1, 0] else rows


__all__ = ["KeepLoop", "Keeping", "read_keeping"]
