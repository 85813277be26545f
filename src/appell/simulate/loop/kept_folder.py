"""The folder of `keep=`: steps of a long run on disk, from which it resumes after any interruption.

    folder/  lock                held by the process that writes
             rows-000000.npy     (n, 1 + nz): t and z of kept steps
             events-000000.npy   (n, 6): impacts, landings and leavings, all of them; no file where there are none
             state-000000.json   where the run stood after them, new modes, checksums of both, the digest of the state before

Tables are synced to disk before the state that refers to them is written. A state is accepted if it is sealed, follows the one
before, and its rows match their checksum. Everything after the first state that fails is made again, and reported.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from appell.backends.notice import warn
from appell.disk.sealed import checksum, is_plain, read_plain, remove_plain, seal, unseal, write_whole
from appell.disk.store_lock import StoreLock
from appell.disk.versions import different, numerical_versions
from appell.errors import FileError, ModelError, Status
from appell.loop.trace import Statistics, Trace
from appell.notes import Note
from appell.simulate.loop.kept_modes import EVENT_COLUMNS, WrittenSoFar, add_events, events_since, record_since, restore

Array = NDArray[np.float64]

FOLDER_FORMAT = 5
"""Version of the folder format; increased when an older reader would misread it. 1 had one state.json and no checksums; 2 had
states in the middle of legs; 3 had neither events nor modes; 4 had no reductions."""
OWN_FILES = re.compile(r"lock|((rows|events)-\d{6,}\.npy|state-\d{6,}\.json)|\.(rows|events|state)-\d{6,}\.(npy|json)\.\d+")
"""Names of the files written here, including drafts left by a killed process."""
HEADER_BYTES = 4096
"""Most bytes of a table file before its numbers."""


@dataclass(frozen=True)
class StoredState:
    """The state of a run when rows were written.

    rows, checksum: number of rows in the file, and their checksum; events, events_checksum: likewise. count: steps so far,
    stored or not. implicit, next_look: as in `Trace`. course: modes, breaks, resets and stops (`kept_modes`), as written.
    """

    number: int
    rows: int
    checksum: str
    count: int
    t: float
    z: tuple[float, ...]
    next_step: float | None
    sigma: float
    statistics: Statistics
    notes: tuple[Note, ...]
    status: Status
    implicit: bool
    next_look: int
    events: int
    events_checksum: str
    course: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """For JSON; floats with all their digits."""
        work = {**asdict(self.statistics), "largest_defect": float(self.statistics.largest_defect).hex()}
        return {
            "number": self.number, "rows": self.rows, "checksum": self.checksum, "count": self.count, "t": self.t.hex(),
            "z": [float(x).hex() for x in self.z], "next_step": None if self.next_step is None else float(self.next_step).hex(),
            "sigma": float(self.sigma).hex(), "statistics": work,
            "notes": [[str(note), note.record()] for note in self.notes], "status": int(self.status),
            "implicit": self.implicit, "next_look": self.next_look, "events": self.events,
            "events_checksum": self.events_checksum, "course": self.course,
        }  # fmt: skip

    @staticmethod
    def read(record: Mapping[str, Any]) -> StoredState:
        """The state from a sealed record; `ValueError`, `TypeError` or `KeyError` if the record is invalid."""
        number, work, next_step = float.fromhex, record["statistics"], record["next_step"]
        state = StoredState(
            int(record["number"]), int(record["rows"]), str(record["checksum"]), int(record["count"]), number(record["t"]),
            tuple(map(number, record["z"])), None if next_step is None else number(next_step), number(record["sigma"]),
            Statistics(int(work["evaluations"]), int(work["accepted"]), int(work["rejected"]), number(work["largest_defect"])),
            tuple(_note(*note) for note in record["notes"]), Status(int(record["status"])),
            bool(record["implicit"]), int(record["next_look"]), int(record["events"]), str(record["events_checksum"]),
            dict(record["course"]),
        )  # fmt: skip
        restore(Trace(state.t, np.array(state.z)), state.course)
        if min(state.rows, state.events) < 0 or not all(map(isfinite, (state.t, *state.z))):
            raise ValueError("a state that no run has")
        return state


def _note(text: Any, facts: Mapping[str, Any]) -> Note:
    """A note from its record."""
    time = None if facts["time"] is None else float(facts["time"])
    return Note(str(text), time=time, kind=str(facts["kind"]), constraints=[str(name) for name in facts["constraints"]])


def _npy(table: Array) -> bytes:
    """A table as a file of NumPy."""
    stream = io.BytesIO()
    npy.write_array(stream, np.ascontiguousarray(table, dtype="<f8"), version=(1, 0), allow_pickle=False)
    return stream.getvalue()


class KeptFolder:
    """The folder of one run, locked by this process until `give_back`.

    digest: of everything that determines the steps; every: k, if every k-th step is stored; width: numbers in a row, 1 + nz.
    last: the state from which the run resumes; None: from its start.
    """

    def __init__(self, path: Path, digest: str, every: int, width: int):
        self.path, self.width = path, width
        self.header = {"format": FOLDER_FORMAT, "digest": digest, "every": every, "versions": numerical_versions()}
        self.last: StoredState | None = None
        self.states: list[StoredState] = []
        self.last_checksum = ""  # the checksum of the last state
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._refuse_others()
            self.lock = StoreLock(path / "lock", f"the folder {path}", "keep=")
            self.lock.take()
        except OSError as error:
            raise FileError(f"{path} cannot be used as a folder for keep=: {error.strerror or error}") from error
        try:
            self._read()
        except OSError as error:
            self.give_back()
            raise FileError(f"{path} cannot be used as a folder for keep=: {error.strerror or error}") from error
        except BaseException:
            self.give_back()
            raise

    def give_back(self) -> None:
        """Releases the folder for other processes."""
        self.lock.give_back()

    # -- ownership -----------------------------------------------------------------------------------------------------

    def _refuse_others(self) -> None:
        names = [path.name for path in self.path.iterdir()]
        if "state.json" in names:
            raise ModelError(
                f"{self.path} was written by an earlier appell, whose steps have no checksums; give keep= another folder, or"
                " remove this one"
            )
        if any(OWN_FILES.fullmatch(name) is None for name in names):
            raise ModelError(f"{self.path} is a folder with other contents; keep= needs an empty one, or makes it")

    def _refuse_another_run(self, record: Mapping[str, Any]) -> None:
        if isinstance(number := record.get("format"), int) and number > FOLDER_FORMAT:
            raise ModelError(f"{self.path} was written by a newer appell; update, or give keep= another folder")
        if any(record.get(key) != self.header[key] for key in ("format", "digest", "every")):
            raise ModelError(f"{self.path} holds the steps of another run; give keep= another folder, or remove this one")
        if diffs := different(record.get("versions"), self.header["versions"]):
            raise ModelError(
                f"{self.path} was begun with other versions ({diffs}), whose numbers may differ: go on with those, give keep="
                " another folder, or remove this one"
            )

    # -- reading ---------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Reads the states as long as they are complete and consecutive; the rest is removed, and reported."""
        names = sorted(path.name for path in self.path.glob("state-*.json"))
        records = {name: unseal(read_plain(self.path / name) or b"") for name in names}
        for record in records.values():
            if record is not None:
                self._refuse_another_run(record)
        for number, name in enumerate(names):
            if name != f"state-{number:06d}.json" or not self._take_state(records[name], number):
                break
        bad = names[len(self.states) :]
        if bad:
            whence = "its start" if self.last is None else f"t = {self.last.t:.6g} s"
            warn(
                f"{len(bad)} of {len(names)} pieces of the run in {self.path} are damaged, or come after one that is damaged:"
                f" it goes on from {whence}"
            )
        valid = {f"{kind}-{state.number:06d}" for state in self.states for kind in ("rows", "events", "state")}
        for path in self.path.iterdir():
            if path.name != "lock" and path.stem not in valid:
                remove_plain(path)

    def _take_state(self, record: dict[str, Any] | None, number: int) -> bool:
        """Whether the next state and its rows are undamaged; if so, it becomes the last one."""
        if record is None or record.get("before") != self.last_checksum:
            return False
        try:
            state = StoredState.read(record)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError):
            return False
        if state.number != number or len(state.z) != self.width - 1:
            return False
        if self._rows(state) is None or self._events(state) is None:
            return False
        self._append(state, record)
        return True

    def _append(self, state: StoredState, record: Mapping[str, Any]) -> None:
        """Makes a state the last one."""
        self.last, self.last_checksum = state, checksum(seal(record).encode())
        self.states.append(state)

    def _rows(self, state: StoredState) -> Array | None:
        """The rows of a state; None if they are damaged."""
        return self._table(f"rows-{state.number:06d}.npy", (state.rows, self.width), state.checksum)

    def _events(self, state: StoredState) -> Array | None:
        """The events of a state; None if they are damaged."""
        shape = (state.events, len(EVENT_COLUMNS))
        return self._table(f"events-{state.number:06d}.npy", shape, state.events_checksum) if state.events else np.zeros(shape)

    def _table(self, name: str, shape: tuple[int, int], expected: str) -> Array | None:
        """A table from a file; None if its size, checksum or header is not the expected one."""
        file, size = self.path / name, 8 * shape[0] * shape[1]
        if not is_plain(file) or not 0 <= os.lstat(file).st_size - size <= HEADER_BYTES:
            return None
        data = read_plain(file, largest=size + HEADER_BYTES)
        if data is None or checksum(data) != expected:
            return None
        stream = io.BytesIO(data)
        try:
            npy.read_magic(stream)
            shape_in_file, by_columns, dtype = npy.read_array_header_1_0(stream)
        except ValueError:
            return None
        if shape_in_file != shape or by_columns or dtype != np.dtype("<f8"):
            return None
        return np.frombuffer(data, "<f8", offset=stream.tell()).reshape(shape).astype(float)

    def rows(self) -> list[Array]:
        """All rows that were written, in order."""
        return [self._undamaged(self._rows(state), f"rows-{state.number:06d}.npy") for state in self.states]

    def restore(self, trace: Trace) -> None:
        """Restores all events, modes, breaks, resets and the data of stops into a trace."""
        for state in self.states:
            add_events(trace, self._undamaged(self._events(state), f"events-{state.number:06d}.npy"))
            restore(trace, state.course)

    def _undamaged(self, table: Array | None, name: str) -> Array:
        """The table, which was undamaged when the folder was opened."""
        if table is None:
            raise FileError(f"{name} in {self.path} was damaged during the run; make the same call again")
        return table

    # -- writing ---------------------------------------------------------------------------------------------------------

    def add(self, rows: Array, trace: Trace, count: int, since: WrittenSoFar) -> None:
        """Writes rows and the new events of the trace to disk, then the state that refers to them."""
        number, events = len(self.states), events_since(trace, since)
        texts = [_npy(rows), _npy(events) if len(events) else b""]
        state = StoredState(
            number, len(rows), checksum(texts[0]), count, float(trace.t), tuple(map(float, trace.z)), trace.next_step,
            trace.sigma, trace.statistics, tuple(trace.notes), trace.status, trace.implicit,
            trace.next_look, len(events), checksum(texts[1]), record_since(trace, since),
        )  # fmt: skip
        record = {**self.header, "before": self.last_checksum, **state.record()}
        try:
            for kind, text in zip(("rows", "events"), texts, strict=True):
                if text:
                    write_whole(self.path / f"{kind}-{number:06d}.npy", text)
            write_whole(self.path / f"state-{number:06d}.json", seal(record))
        except OSError as error:
            reason = error.strerror or error
            raise FileError(
                f"steps cannot be written to {self.path} ({reason}); earlier ones are safe: free space, and call again"
            ) from error
        self._append(state, record)

    def __del__(self) -> None:
        with suppress(Exception):
            self.give_back()


__all__ = ["KeptFolder", "StoredState"]
