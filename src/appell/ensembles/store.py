"""The store of a sweep: a Zarr group of arrays over `run`, with a lock, a manifest and marks of the finished chunks.

    STORE/appell/manifest.json      digests of the model and of the question, versions, values, checksums of Zarr's own files
    STORE/appell/lock               held by the process that works on it; released by the operating system if that process dies
    STORE/appell/done/000017        chunk 17 is complete: checksums of its arrays, counts of its statuses, messages of runs

A chunk of runs is one chunk of every array, written completely and synced to disk; its mark follows atomically. If the process
is killed in between, the chunk is written again. A marked chunk is accepted if every array in it matches its checksum; damaged
or lost chunks are made again, and reported.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.disk.sealed import checksum, is_plain, read_plain, remove_plain, seal, sync, unseal, write_whole
from appell.disk.store_lock import StoreLock
from appell.disk.versions import different
from appell.ensembles.free_memory import missing_memory
from appell.errors import BackendUnavailable, ModelError, SimulationError, Status
from appell.model.fingerprint import fingerprint

MANIFEST, LOCK, DONE = "appell/manifest.json", "appell/lock", "appell/done"
STORE_FORMAT = 2
"""Version of the store format. Version 1, before checksums, had no entry `format` in its manifest."""


def zarr_module() -> Any:
    """The package zarr, imported on demand."""
    try:
        import zarr
    except ImportError:
        raise BackendUnavailable("ap.sweep needs zarr: pip install 'appell[distributed]'") from None
    if int(zarr.__version__.split(".")[0]) < 3:
        raise BackendUnavailable(f"ap.sweep needs zarr 3, not {zarr.__version__}: pip install 'appell[distributed]'")
    return zarr


class StoredArray(NamedTuple):
    """An array over the runs: type and shape of one run's entry, and the names of the dimensions, runs first."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    dims: tuple[str, ...]

    @property
    def fill(self) -> Any:
        """The value of a run that has not been made."""
        return np.nan if self.dtype.kind == "f" else 0


class Store:
    """A folder with one sweep, opened for work: `with Store(path, manifest, layout) as store`.

    values: name → (runs, …), the finished runs; messages: run → text, if it differs from that of its status.
    repaired: descriptions of what was damaged or lost.
    """

    def __init__(self, path: str | Path, manifest: Mapping[str, Any], layout: Mapping[str, StoredArray]):
        self.zarr, self.layout = zarr_module(), layout
        self.path, self.manifest = _expanded(path), {**manifest, "format": STORE_FORMAT}
        runs = self.manifest["runs"]
        _refuse_too_large(runs, layout)
        self.values = {name: np.full((runs, *array.shape), array.fill, array.dtype) for name, array in layout.items()}
        if "status" in self.values:
            self.values["status"][:] = int(Status.CANCELLED)
        self.messages: dict[int, str] = {}
        self.repaired: list[str] = []
        self.finished: set[int] = set()
        self.synced: set[Path] = set()  # arrays whose folders are synced to disk
        _make_folder(self.path)
        self.lock = StoreLock(self.path / LOCK, f"the store {self.path}", "store=")
        self.group: Any = None

    def __enter__(self) -> Store:
        try:
            self.lock.take()
        except OSError as error:
            raise ModelError(f"the store {self.path} cannot be locked ({error}); give another store=") from error
        try:
            self._check_manifest()
            self.group = self.zarr.open_group(str(self.path), mode="r+")
            self._read()
        except OSError as error:
            self.lock.give_back()
            raise ModelError(f"the store {self.path} cannot be used ({error}); fix that, or give another store=") from error
        except BaseException:
            self.lock.give_back()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.lock.give_back()

    # -- ownership ---------------------------------------------------------------------------------------------------------

    def _check_manifest(self) -> None:
        """Checks that the manifest and Zarr's own files belong to this sweep; damaged ones are written again."""
        file, expected = self.path / MANIFEST, self._documents()
        text = read_plain(file)
        manifest = None if text is None else unseal(text)
        if text is not None and manifest is None:
            manifest = _refuse_earlier(self.path, text)
        if manifest is None:
            if text is not None or self._marks():
                self.repaired.append("the manifest")
                self._refuse_strange_marks()
            manifest = {**self.manifest, "files": {name: checksum(data) for name, data in expected.items()}}
            write_whole(file, seal(manifest))
        _refuse_other_sweep(self.path, manifest, self.manifest)
        for name, data in expected.items():
            on_disk = read_plain(self.path / name)
            if on_disk is None or checksum(on_disk) not in (checksum(data), manifest["files"].get(name)):
                if on_disk is not None or self._marks():
                    self.repaired.append(name)
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                write_whole(self.path / name, data)

    def _refuse_strange_marks(self) -> None:
        """Without a manifest, the marks tell to which sweep the store belongs."""
        marks = [unseal(read_plain(self._mark(chunk)) or b"") for chunk in self._marks()]
        if any(mark is not None and mark.get("sweep") != self._sweep for mark in marks):
            raise ModelError(
                f"the manifest of the store {self.path} is damaged, and its chunks belong to another model or question; give a"
                " new folder as store="
            )

    def _documents(self) -> dict[str, bytes]:
        """What Zarr writes about a group with these arrays: file → text."""
        runs, chunk = self.manifest["runs"], self.manifest["chunk"]
        with tempfile.TemporaryDirectory(prefix="appell-store-") as folder:
            group = self.zarr.open_group(folder, mode="w")
            for name, array in self.layout.items():
                fill = int(Status.CANCELLED) if name == "status" else array.fill
                group.create_array(
                    name, shape=(runs, *array.shape), chunks=(min(chunk, runs), *(max(1, n) for n in array.shape)),
                    dtype=array.dtype, fill_value=fill, dimension_names=array.dims,
                )  # fmt: skip
            files = [p for p in Path(folder).rglob("zarr.json") if p.is_file()]
            return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(files)}

    # -- chunks ------------------------------------------------------------------------------------------------------------

    def done(self) -> set[int]:
        """Chunks that are complete and undamaged."""
        return set(self.finished)

    def _marks(self) -> list[int]:
        """The chunks that have marks."""
        names = (p.name for p in (self.path / DONE).iterdir() if p.name.isascii() and p.name.isdecimal())
        return sorted(k for name in names if (k := int(name)) < self.manifest["chunks"] and name == self._mark(k).name)

    def _read(self) -> None:
        """Reads the marked chunks that are undamaged."""
        bad = []
        for chunk in self._marks():
            if self._take_chunk(chunk):
                self.finished.add(chunk)
            else:
                remove_plain(self._mark(chunk))
                bad.append(str(chunk))
        if bad:
            listed = ", ".join(bad[:10]) + " …" * (len(bad) > 10)
            self.repaired.append(f"chunk{'s' * (len(bad) > 1)} {listed}")

    def _take_chunk(self, chunk: int) -> bool:
        """Whether a chunk agrees with its mark; if so, it is added to the values."""
        text = read_plain(self._mark(chunk))
        mark = None if text is None else unseal(text)
        if mark is None or mark.get("sweep") != self._sweep or mark.get("chunk") != chunk:
            return False
        runs, arrays = self._runs_of(chunk), {}
        for name in self.layout:
            if os.path.lexists(file := self._file(name, chunk)) and not is_plain(file):
                return False
            try:
                arrays[name] = np.asarray(self.group[name][runs])
            except Exception:  # Zarr and its codecs raise all kinds of errors on damaged bytes
                return False
            if _checksum(arrays[name]) != mark["arrays"].get(name):
                return False
        for name, values in arrays.items():
            self.values[name][runs] = values
        self.messages |= {int(k): text for k, text in mark["messages"].items()}
        return True

    def write(self, chunk: int, arrays: Mapping[str, NDArray[Any]], messages: Mapping[int, str]) -> None:
        """Writes the runs of a chunk to disk, then its mark."""
        runs = self._runs_of(chunk)
        try:
            remove_plain(self._mark(chunk))
            for name in self.layout:
                values = _plain_nan(arrays[name])
                remove_plain(self._file(name, chunk))  # a leftover of a killed process
                self.group[name][runs] = values
                self.values[name][runs] = values
            self._sync(chunk)
            kinds, numbers = np.unique(arrays["status"], return_counts=True)
            mark = {
                "chunk": chunk, "first": runs.start, "sweep": self._sweep,
                "status": {Status(int(s)).name: int(n) for s, n in zip(kinds, numbers, strict=True)},
                "messages": {str(k): text for k, text in messages.items()},
                "arrays": {name: _checksum(self.values[name][runs]) for name in self.layout},
            }  # fmt: skip
            write_whole(self._mark(chunk), seal(mark))
        except OSError as error:
            safe = f"{len(self.finished)} of {self.manifest['chunks']} chunks are safe in {self.path}"
            raise SimulationError(
                f"chunk {chunk} could not be stored ({error}); {safe}: make room and call ap.sweep again, it goes on from there"
            ) from error
        self.finished.add(chunk)
        self.messages |= messages

    @property
    def _sweep(self) -> str:
        """The part that all marks of this sweep share."""
        return fingerprint([self.manifest[key] for key in ("model", "question", "versions")])

    def _runs_of(self, chunk: int) -> slice:
        """The runs of a chunk."""
        size = self.manifest["chunk"]
        return slice(chunk * size, min((chunk + 1) * size, self.manifest["runs"]))

    def _mark(self, chunk: int) -> Path:
        """The path of the mark of a chunk."""
        return self.path / DONE / f"{chunk:06d}"

    def _file(self, name: str, chunk: int) -> Path:
        """The path of a chunk of a Zarr array."""
        key = self.group[name].metadata.encode_chunk_key((chunk, *(0 for _ in self.layout[name].shape)))
        return self.path / name / key

    def _sync(self, chunk: int) -> None:
        """Syncs a chunk of every array and its folders to disk; Zarr does not write chunks that are all fill values."""
        for name in self.layout:
            file, top = self._file(name, chunk), self.path / name
            if is_plain(file):
                sync(file)
            inner = [folder for folder in file.parents if top in folder.parents]
            for folder in inner if top in self.synced else (*inner, top, self.path):
                if folder.is_dir():
                    sync(folder)
            self.synced.add(top)


def _refuse_too_large(runs: int, layout: Mapping[str, StoredArray]) -> None:
    if missing := missing_memory(sum(runs * prod(array.shape) * array.dtype.itemsize for array in layout.values())):
        raise ModelError(
            f"the results of {runs} runs take {missing}: keep less of each run (final states, or reductions), or make several"
            " sweeps"
        )


def _expanded(path: str | Path) -> Path:
    """The path with ~ expanded."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # ~ of an unknown user
        raise ModelError(f"the store {path} cannot be made ({error}); give another folder as store=") from error


def _make_folder(path: Path) -> None:
    """Makes the folder of a store, unless it exists; refuses one with other contents."""
    try:
        if os.path.lexists(path) and not path.is_dir():
            raise ModelError(f"{path} is not a folder; give another one as store=")
        if path.is_dir() and not (path / LOCK).exists() and not _is_begun(path):
            raise ModelError(f"the folder {path} holds something else; give a new one as store=")
        (path / DONE).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise ModelError(f"the store {path} cannot be made ({error}); give another folder as store=") from error


def _is_begun(path: Path) -> bool:
    """Whether a folder is empty, or a store whose process was killed before it had a lock."""
    return {p.name for p in path.iterdir()} <= {"appell"} and all(p.name == "done" for p in path.glob("appell/*"))


def _refuse_earlier(path: Path, text: bytes) -> dict[str, Any] | None:
    """Refuses a manifest of an earlier version; None for one that is damaged."""
    try:
        record = json.loads(text)
    except ValueError:
        return None
    if isinstance(record, dict) and "question" in record and "format" not in record and "sha256" not in record:
        raise ModelError(
            f"the store {path} was written by an earlier appell, whose chunks have no checksums: read what is in it with"
            " xarray.open_zarr(store, consolidated=False), and give a new folder as store="
        )
    return None


def _refuse_other_sweep(path: Path, record: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Refuses a store of another model, question or version."""
    if record.get("format", 0) > STORE_FORMAT:
        raise ModelError(f"the store {path} was written by a newer appell ({record.get('versions', {}).get('appell')}); update")
    for key, subject in (("model", "model"), ("question", "question (values, starts, tolerances, keep= or chunk=)")):
        if record.get(key) != expected[key]:
            owner = f"another {subject}: {record.get('title', '?')}"
            raise ModelError(f"the store {path} belongs to {owner}; give a new folder as store=")
    if differences := different(record.get("versions"), expected["versions"]):
        raise ModelError(
            f"the store {path} was begun with other versions ({differences}), whose numbers may differ: go on with those,"
            " or give a new folder as store="
        )


def _plain_nan(values: NDArray[Any]) -> NDArray[Any]:
    """The values with a canonical NaN: the bit patterns of NaN from arithmetic differ without meaning."""
    if values.dtype.kind == "f" and (hole := np.isnan(values)).any():
        values = values.copy()
        values[hole] = np.nan
    return values


def _checksum(values: NDArray[Any]) -> str:
    """Checksum of an array, with its type and shape."""
    plain = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
    return checksum(f"{plain.dtype.str} {plain.shape} ".encode() + plain.tobytes())


__all__ = ["Store", "StoredArray"]
