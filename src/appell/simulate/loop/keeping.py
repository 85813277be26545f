"""What is kept of the steps of a long run: every k-th, in memory or in a folder on disk from which an interrupted run goes on.

    folder/  state.json      digest of the run, where it stands, the work done, how many rows it has kept, whether it has ended
             rows-000000.npy, rows-000001.npy, …    (n, 1 + nz): t and z of kept steps

Rows are written first, then the state, each under another name that is then changed: what a state speaks of is there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends.text.c_source import emit_function
from appell.errors import FileError, ModelError, Status
from appell.normal_form.flow import Flow
from appell.reading import path_of, shown
from appell.simulate.loop.task import Loop, Task
from appell.simulate.loop.trace import Statistics, Trace

Array = NDArray[np.float64]

ROWS = 1 << 16
"""Rows that are held in memory before they are written."""
SECONDS = 5.0
"""Between two writings: what an interruption loses at most."""
FORMAT = 1
"""Of the folder; raised when an older reader would misread it."""
HOW = "keep= is a whole number k (every k-th step), a folder, or both, (folder, k)"


@dataclass(frozen=True)
class Keeping:
    """Every k-th step, in a folder if one is given."""

    every: int = 1
    folder: Path | None = None


def read_keeping(keep: Any) -> Keeping | None:
    """`keep=` of `simulate`."""
    if keep is None:
        return None
    folder, every = keep if isinstance(keep, tuple | list) and len(keep) == 2 else (None, keep)
    if isinstance(every, str | os.PathLike):
        folder, every = every, 1
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise ModelError(f"{HOW}, not {shown(keep)}")
    return Keeping(int(every), None if folder is None else path_of(folder, "keep="))


def digest_of(flow: Flow, task: Task, method: str) -> str:
    """Of all that decides the steps of a run: equations, projections, parameters, start, end, method, tolerances."""
    text = hashlib.sha256()
    for function in (flow.rhs, flow.position, flow.velocity, flow.energy):
        text.update(b"-" if function is None else emit_function(function).encode())
    for array in (task.p, task.z0, np.asarray(task.atol), np.array([task.t0, task.t_end, task.rtol, task.max_step])):
        text.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    text.update(f"{method} {task.fixed_step} {FORMAT}".encode())
    return text.hexdigest()


class Folder:
    """The folder of one run."""

    def __init__(self, path: Path, digest: str, every: int):
        self.path, self.digest, self.every = path, digest, every
        self.state: Mapping[str, Any] | None = None
        self.written = 0
        try:
            path.mkdir(parents=True, exist_ok=True)
            known = path / "state.json"
            if known.exists():
                self.state = json.loads(known.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FileError(f"{path} cannot be used as a folder for keep=: {error}") from error
        if self.state is None and any(path.iterdir()):
            raise ModelError(f"{path} is a folder with other things in it; keep= takes an empty one, or makes it")
        if self.state is not None and (self.state.get("digest"), self.state.get("every")) != (digest, every):
            raise ModelError(f"{path} holds the steps of another run; give keep= another folder, or remove this one")
        self.written = 0 if self.state is None else int(self.state["chunks"])

    def add(self, rows: Array, trace: Trace, count: int) -> None:
        """Rows, and where the run stands."""
        if len(rows):
            self._write(f"rows-{self.written:06d}.npy", lambda file: np.save(file, rows))
            self.written += 1
        state = {
            "digest": self.digest, "every": self.every, "chunks": self.written, "count": count, "t": trace.t.hex(),
            "z": [float(x).hex() for x in trace.z], "next_step": trace.next_step and float(trace.next_step).hex(),
            "sigma": float(trace.sigma), "statistics": asdict(trace.statistics), "ended": int(trace.status),
        }  # fmt: skip
        self._write("state.json", lambda file: file.write(json.dumps(state).encode()))

    def _write(self, name: str, write: Any) -> None:
        draft = self.path / f".{name}.draft"
        try:
            with draft.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path / name)
        except OSError as error:
            raise FileError(f"{self.path / name} cannot be written: {error.strerror}") from error
        finally:
            with suppress(FileNotFoundError):
                draft.unlink()

    def rows(self) -> list[Array]:
        """All that was written, in order."""
        names = [self.path / f"rows-{k:06d}.npy" for k in range(self.written)]
        try:
            return [np.load(name, allow_pickle=False) for name in names]
        except (OSError, ValueError) as error:
            raise FileError(f"{self.path} is not whole: {error}") from error


@dataclass(frozen=True, eq=False)
class KeepLoop:
    """`Loop` of which every k-th step is kept, in memory or in a folder."""

    loop: Loop
    keeping: Keeping
    flow: Flow
    method: str

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        yield from _Kept(self, task, trace or task.trace()).traces()


class _Kept:
    """One run, its rows on their way."""

    def __init__(self, loop: KeepLoop, task: Task, trace: Trace):
        self.inner, self.task, self.trace, self.every = loop.loop, task, trace, loop.keeping.every
        digest = "" if loop.keeping.folder is None else digest_of(loop.flow, task, loop.method)
        self.folder = None if loop.keeping.folder is None else Folder(loop.keeping.folder, digest, self.every)
        self.waiting: list[Array] = []
        self.count, self.carried, self.wrote_at = 0, False, perf_counter()
        self.before: list[Array] = []  # rows of the folder, from an earlier run
        if self.folder is not None and self.folder.state is not None:
            self._go_on(self.folder.state)

    def _go_on(self, state: Mapping[str, Any]) -> None:
        """From where an earlier run was when it was interrupted."""
        assert self.folder is not None
        trace = self.trace
        trace.t, trace.z[:] = float.fromhex(state["t"]), [float.fromhex(x) for x in state["z"]]
        trace.next_step = None if state["next_step"] is None else float.fromhex(state["next_step"])
        trace.sigma, trace.statistics = float(state["sigma"]), Statistics(**state["statistics"])
        self.before, self.count, self.carried = self.folder.rows(), int(state["count"]), True
        trace.steps.cut(np.append(trace.t, trace.z)[None])

    def traces(self) -> Iterator[Trace]:
        trace = self.trace
        try:
            if trace.t != self.task.t_end or not self.carried:
                for _ in self.inner.run(self.task, trace):
                    self._take()
                    if trace.status is Status.BUFFER_FULL:
                        self._write(now=False)
                        yield trace
            else:
                trace.ended(Status.OK)
        finally:
            self._take()
            self._write(now=True)
        trace.steps.cut(self._all())
        yield trace

    def _take(self) -> None:
        """The new rows of the trace, every k-th of them; the last one stays there."""
        rows = self.trace.steps.joined()
        new = rows[1:] if self.carried else rows
        here = self.count + np.arange(len(new))
        chosen = new[here % self.every == 0]
        if len(chosen):
            self.waiting.append(chosen.copy())
        self.count, self.carried = self.count + len(new), True
        self.trace.steps.cut(rows[-1:].copy())

    def _write(self, *, now: bool) -> None:
        if self.folder is None:
            return
        due = perf_counter() - self.wrote_at > SECONDS or sum(map(len, self.waiting)) > ROWS
        if not (now or due):
            return
        rows = np.concatenate(self.waiting) if self.waiting else np.zeros((0, 1 + len(self.trace.z)))
        self.folder.add(rows, self.trace, self.count)
        self.waiting, self.wrote_at = [], perf_counter()

    def _all(self) -> Array:
        """All kept rows, the last state among them."""
        kept = [*(self.before if self.folder is None else self.folder.rows()), *self.waiting]
        last = np.append(self.trace.t, self.trace.z)[None]
        rows = np.concatenate([*kept, last]) if kept else last
        return rows[:-1] if len(rows) > 1 and rows[-2, 0] == rows[-1, 0] else rows


__all__ = ["KeepLoop", "Keeping", "read_keeping"]
