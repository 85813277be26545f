"""The store of a sweep: a Zarr group of arrays over `run`, and beside them who works on it, what it is for, what is done.

    STORE/appell/manifest.json      digests of the model and of the question, versions, values, numbers of runs and chunks
    STORE/appell/lock               held by the process that works on it; the system lets go of it when that process dies
    STORE/appell/done/000017        chunk 17 is complete: its statuses counted, messages of runs that failed

A chunk of runs is one chunk of every array, written as a whole; its mark comes after it, in one piece. Whatever is killed in
between is written again, whatever has its mark never.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import BackendUnavailable, ModelError, SimulationError, Status

MANIFEST, LOCK, DONE = "appell/manifest.json", "appell/lock", "appell/done"


def zarr_module() -> Any:
    """The package zarr."""
    try:
        import zarr
    except ImportError:
        raise BackendUnavailable("ap.sweep needs zarr: pip install 'appell[distributed]'") from None
    return zarr


class Store:
    """A folder with one sweep in it, opened for work: `with Store(path, manifest) as store`; dims: of its arrays."""

    def __init__(self, path: str | Path, manifest: Mapping[str, Any], dims: Mapping[str, tuple[str, ...]] | None = None):
        self.zarr, self.dims = zarr_module(), dims or {}
        self.path, self.manifest = Path(path), dict(manifest)
        if self.path.exists() and not (self.path / LOCK).exists() and any(self.path.iterdir()):
            raise ModelError(f"the folder {self.path} holds something else; give a new one as store=")
        (self.path / DONE).mkdir(parents=True, exist_ok=True)
        self.lock = _Lock(self.path / LOCK)
        self.group: Any = None

    def __enter__(self) -> Store:
        self.lock.take()
        try:
            self._agree()
            self.group = self.zarr.open_group(str(self.path), mode="a")
        except BaseException:
            self.lock.give_back()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.lock.give_back()

    def _agree(self) -> None:
        """The manifest is written, or found to be that of the same sweep."""
        file = self.path / MANIFEST
        if not file.exists():
            write_whole(file, json.dumps(self.manifest, indent=1))
            return
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            raise ModelError(f"{file} is no manifest of a sweep; give another store=") from None
        for key, what in (("model", "model"), ("question", "question (values, starts, tolerances, keep= or chunk=)")):
            if known.get(key) != self.manifest[key]:
                whose = f"another {what}: {known.get('title', '?')}"
                raise ModelError(f"the store {self.path} belongs to {whose}; give a new folder as store=")

    def done(self) -> set[int]:
        """Chunks that are complete."""
        return {int(p.name) for p in (self.path / DONE).iterdir() if p.name.isdigit()}

    def write(self, chunk: int, first: int, arrays: Mapping[str, NDArray[Any]], messages: Mapping[int, str]) -> None:
        """The runs from `first` on; then the mark."""
        try:
            for name, values in arrays.items():
                self._array(name, values)[first : first + len(values)] = values
            kinds, numbers = np.unique(arrays["status"], return_counts=True)
            counts = {Status(int(s)).name: int(n) for s, n in zip(kinds, numbers, strict=True)}
            said = {str(k): text for k, text in messages.items()}
            mark = {"chunk": chunk, "first": first, "status": counts, "messages": said}
            write_whole(self.path / DONE / f"{chunk:06d}", json.dumps(mark))
        except OSError as error:
            raise SimulationError(
                f"chunk {chunk} could not be stored ({error}); {len(self.done())} of {self.manifest['chunks']} chunks are safe"
                f" in {self.path}: make room and call ap.sweep again, it goes on from there"
            ) from error

    def _array(self, name: str, values: NDArray[Any]) -> Any:
        if name not in self.group:
            shape = (self.manifest["runs"], *values.shape[1:])
            fill = int(Status.CANCELLED) if name == "status" else np.nan if values.dtype.kind == "f" else 0
            self.group.create_array(
                name, shape=shape, chunks=(self.manifest["chunk"], *values.shape[1:]), dtype=values.dtype, fill_value=fill,
                dimension_names=self.dims.get(name),
            )  # fmt: skip
        return self.group[name]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays over `run`; what is not done has the status CANCELLED, and NaN."""
        names = [p.name for p in self.path.iterdir() if (p / "zarr.json").exists() or (p / ".zarray").exists()]
        return {name: self.group[name][...] for name in sorted(names)}

    def messages(self) -> dict[int, str]:
        """Run → message, of those that failed."""
        found: dict[int, str] = {}
        for mark in sorted((self.path / DONE).iterdir()):
            if mark.name.isdigit():
                found |= {int(k): text for k, text in json.loads(mark.read_text(encoding="utf-8"))["messages"].items()}
        return found


def write_whole(file: Path, text: str) -> None:
    """A file that is there as a whole or not at all."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(draft, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, file)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


class _Lock:
    """One process at a time; the file says which."""

    def __init__(self, file: Path):
        self.file, self.handle = file, None

    def take(self) -> None:
        handle = open(self.file, "a+", encoding="utf-8")  # noqa: SIM115  # it stays open: closing it lets go
        if not _locked(handle):
            handle.seek(0)
            owner = handle.read().strip() or "another process"
            handle.close()
            store = self.file.parents[1]
            raise ModelError(f"the store {store} is being worked on by {owner}; wait for it, or give another store=")
        handle.truncate(0)
        handle.write(f"process {os.getpid()} on {platform.node() or 'this machine'}")
        handle.flush()
        self.handle = handle

    def give_back(self) -> None:
        if self.handle is not None:
            self.handle.close()
            self.handle = None


def _locked(handle: Any) -> bool:
    """Whether this process has the file for itself now."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            return True
        except OSError:
            return False
    try:
        fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False


__all__ = ["Store", "write_whole"]
