"""Inspection of motion files before anything in them is decoded: they may come from anywhere.

A motion consists of numeric arrays over t with attributes; nothing else is read. Objects (whose codecs may execute code), links
to other files, nested groups, filters other than common compressors, and sizes beyond `largest` are refused. A compressed chunk
larger than its array declares is refused by its header, or by decompressing no more than that, so that memory stays bounded.
"""

from __future__ import annotations

import json
import math
import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.reading import shown

FOREIGN_FILE_BYTES = 4 * 2**30  # bytes of all arrays of a file, decoded: ten million samples of fifty quantities
METADATA_BYTES = 64 * 2**20  # bytes of the metadata of one array, or of the attributes of a file
CHUNKS_OF_ARRAY = 1_000_000  # most chunks of one array
NUMERIC_KINDS = "iufb"  # NumPy kinds of types that an array of a motion may have
COMPRESSED = ("zstd", "gzip", "zlib", "blosc")


def refuse_strange(path: Path, largest: int = FOREIGN_FILE_BYTES) -> None:
    """Raises `ModelError`, naming whatever in the file is not part of a motion; nothing is decoded."""
    if path.suffix == ".zarr":
        _check_zarr(path, largest)
    else:
        _check_hdf5(path, largest)


class _Budget:
    """The bytes that the arrays of a file may still occupy."""

    def __init__(self, path: Path, largest: int):
        self.path, self.largest, self.used = path, largest, 0

    def take(self, name: str, shape: Sequence[int], chunk: Sequence[int], size: int) -> int:
        """The bytes of one chunk; refused where the array, the chunk or their number is too large."""
        if not all(isinstance(n, int) and 0 <= n < 2**62 for n in (*shape, *chunk)) or len(shape) != len(chunk):
            raise self.refusal(name, f"has the shape {shown(list(shape))} in chunks of {shown(list(chunk))}")
        array_bytes, chunk_bytes = math.prod(shape) * size, math.prod(max(n, 1) for n in chunk) * size
        self.used += array_bytes
        if max(self.used, chunk_bytes) > self.largest:
            raise self.refusal(
                name, f"has {shown(list(shape))} numbers: with it the file has over {self.largest / 2**30:.3g} GiB; if that is"
                " meant, load(path, largest=bytes) takes more",
            )  # fmt: skip
        if math.prod(-(-n // max(c, 1)) for n, c in zip(shape, chunk, strict=True)) > CHUNKS_OF_ARRAY:
            raise self.refusal(name, f"is cut into over {CHUNKS_OF_ARRAY} chunks")
        return chunk_bytes

    def refusal(self, name: str, why: str) -> ModelError:
        return ModelError(f"{self.path} is not read: '{shown(name)[1:-1]}' {why}")


# -- Zarr --------------------------------------------------------------------------------------------------------------


def _check_zarr(path: Path, largest: int) -> None:
    """Checks a Zarr store of version 2 or 3: a group of numeric arrays."""
    budget = _Budget(path, largest)
    if path.is_symlink() or not path.is_dir():
        raise ModelError(f"{path} is not a folder, and a Zarr store is one")
    for entry in os.scandir(path):
        _refuse_links(budget, entry)
        if entry.is_dir(follow_symlinks=False):
            _check_zarr_array(budget, entry.name, Path(entry.path))
        elif entry.stat(follow_symlinks=False).st_size > METADATA_BYTES:
            raise budget.refusal(entry.name, f"has over {METADATA_BYTES // 2**20} MB of attributes")


def _refuse_links(budget: _Budget, entry: os.DirEntry[str]) -> None:
    mode = entry.stat(follow_symlinks=False).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise budget.refusal(entry.name, "is a link or a special file; a store holds ordinary files only")


def _check_zarr_array(budget: _Budget, name: str, folder: Path) -> None:
    metadata = _metadata(budget, folder, name)
    if metadata.get("zarr_format") == 3:
        if metadata.get("node_type") != "array":
            raise budget.refusal(name, "is a group inside the group; a motion has none")
        kind, codecs = metadata.get("data_type"), _codecs(metadata)
        grid = metadata.get("chunk_grid")
        chunk = grid.get("configuration", {}).get("chunk_shape") if isinstance(grid, Mapping) else None
    else:
        kind, chunk = metadata.get("dtype"), metadata.get("chunks")
        filters = [*(metadata.get("filters") or ()), metadata.get("compressor")]
        codecs = ["bytes", *(c.get("id") if isinstance(c, Mapping) else c for c in filters if c is not None)]
    size = _size_of(kind)
    if size is None:
        raise budget.refusal(name, f"has the type {shown(kind)}; objects and text are not read, arrays of a motion are numbers")
    compressors = [c for c in codecs[1:] if c != "crc32c"]
    if codecs[:1] != ["bytes"] or len(compressors) > 1 or any(c not in COMPRESSED for c in compressors):
        readable = ", ".join(COMPRESSED)
        raise budget.refusal(name, f"is written with the codecs {shown(codecs)}; numbers are read, with one of {readable}")
    if not isinstance(shape := metadata.get("shape"), list) or not isinstance(chunk, list):
        raise budget.refusal(name, f"has the shape {shown(metadata.get('shape'))} in chunks of {shown(chunk)}")
    limit = budget.take(name, shape, chunk, size)
    for file in _files(budget, folder):
        _check_chunk(budget, name, file, compressors[0] if compressors else None, limit)


def _metadata(budget: _Budget, folder: Path, name: str) -> Mapping[str, Any]:
    for file in ("zarr.json", ".zarray"):
        file_path = folder / file
        if file_path.is_symlink() or not file_path.is_file():
            continue
        if file_path.stat().st_size > METADATA_BYTES:
            raise budget.refusal(name, f"has over {METADATA_BYTES // 2**20} MB of attributes")
        try:
            metadata = json.loads(file_path.read_bytes())
        except (ValueError, RecursionError, OSError) as error:
            raise budget.refusal(name, f"has invalid metadata, {file}: {shown(str(error))}") from None
        if isinstance(metadata, Mapping):
            return metadata
    raise budget.refusal(name, "is not an array: it has neither a zarr.json nor a .zarray")


def _codecs(metadata: Mapping[str, Any]) -> list[Any]:
    if metadata.get("storage_transformers"):
        return ["storage_transformers"]
    codecs = metadata.get("codecs")
    return [c.get("name") if isinstance(c, Mapping) else c for c in codecs] if isinstance(codecs, list) else [codecs]


def _size_of(kind: Any) -> int | None:
    """Bytes of one number of this type; None for anything that is not a number."""
    try:
        dtype = np.dtype(kind) if isinstance(kind, str) else None
    except TypeError:
        dtype = None
    return dtype.itemsize if dtype is not None and dtype.kind in NUMERIC_KINDS else None


def _files(budget: _Budget, folder: Path) -> Iterator[Path]:
    """The chunk files of an array: ordinary files, in numbered folders, one level for each dimension."""
    waiting, count = [(folder, 0)], 0
    while waiting:
        current, depth = waiting.pop()
        for entry in os.scandir(current):
            count += 1
            _refuse_links(budget, entry)
            if count > CHUNKS_OF_ARRAY or depth > 34:  # NumPy's 32 dimensions, and the folder c
                raise budget.refusal(folder.name, "has too many files or folders")
            if entry.is_dir(follow_symlinks=False):
                waiting.append((Path(entry.path), depth + 1))
            elif entry.name not in ("zarr.json", ".zarray", ".zattrs"):
                yield Path(entry.path)


def _check_chunk(budget: _Budget, name: str, file: Path, compressor: str | None, limit: int) -> None:
    size = file.stat().st_size
    if compressor is None:
        unfolded = size - 8  # a checksum at most
    elif compressor in ("zstd", "blosc"):
        with file.open("rb") as stream:
            unfolded = UNFOLDED[compressor](stream.read(18))
    else:
        unfolded = unfolded_deflate(file.read_bytes(), limit) if size <= limit + 2**16 else size
    if unfolded > limit:
        raise budget.refusal(name, f"has a chunk, {file.name}, that unfolds to more than the {limit} bytes of its array")


def unfolded_zstd(head: bytes) -> float:
    """Decompressed size in the header of a Zstandard frame (RFC 8878, 3.1.1.1); infinite if there is none."""
    if len(head) < 6 or head[:4] != b"\x28\xb5\x2f\xfd":
        return math.inf
    flag, single, dictionary = head[4] >> 6, head[4] >> 5 & 1, head[4] & 3
    start, width = 5 + (not single) + (0, 1, 2, 4)[dictionary], (single, 2, 4, 8)[flag]
    if width == 0 or len(head) < start + width:
        return math.inf
    return int.from_bytes(head[start : start + width], "little") + 256 * (width == 2)


def unfolded_blosc(head: bytes) -> float:
    """Decompressed size in the header of a Blosc buffer."""
    return struct.unpack("<I", head[4:8])[0] if len(head) >= 16 else math.inf


def unfolded_deflate(data: bytes, limit: int) -> int:
    """Decompressed size of deflate data (zlib or gzip); decompresses at most `limit` + 1 bytes."""
    try:
        return len(zlib.decompressobj(wbits=47).decompress(data, limit + 1))
    except zlib.error:
        return 0  # not deflate: the reader will say so


UNFOLDED: Mapping[str, Callable[[bytes], float]] = {"zstd": unfolded_zstd, "blosc": unfolded_blosc}


# -- NetCDF ------------------------------------------------------------------------------------------------------------


def _check_hdf5(path: Path, largest: int) -> None:
    """Checks a NetCDF-4 file: an HDF5 group of numeric datasets."""
    import h5py

    budget = _Budget(path, largest)
    with path.open("rb") as stream:
        if stream.read(8) != b"\x89HDF\r\n\x1a\n":
            raise ModelError(f"{path} cannot be read as .nc: it is not a NetCDF-4 file, which is what motion.save writes")
    with h5py.File(path, "r") as file:
        _check_attributes(budget, "the file", file)
        for name in map(str, file):
            if not isinstance(file.get(name, getlink=True), h5py.HardLink):
                raise budget.refusal(name, "is a link, to another place or another file; a motion has none")
            if file.get(name, getclass=True) is not h5py.Dataset:
                raise budget.refusal(name, "is a group inside the group, or no array; a motion has none")
            _check_dataset(budget, name, file[name])


def _check_attributes(budget: _Budget, name: str, node: Any) -> None:
    from h5py import h5a  # type: ignore[attr-defined]

    for i in range(h5a.get_num_attrs(node.id)):
        attribute = h5a.open(node.id, index=i)
        if attribute.get_storage_size() > METADATA_BYTES or math.prod(attribute.shape or (0,)) > 2**16:
            raise budget.refusal(name, f"has an attribute of over {METADATA_BYTES // 2**20} MB")


def _check_dataset(budget: _Budget, name: str, dataset: Any) -> None:
    from h5py import h5z  # type: ignore[attr-defined]

    _check_attributes(budget, name, dataset)
    if dataset.shape is None or dataset.dtype.kind not in NUMERIC_KINDS or dataset.dtype.hasobject:
        raise budget.refusal(name, f"has the type {dataset.dtype}; arrays of a motion are numbers")
    if dataset.external or dataset.is_virtual:
        raise budget.refusal(name, "lies in another file; a motion is a single file")
    limit = budget.take(name, dataset.shape, dataset.chunks or dataset.shape, dataset.dtype.itemsize)
    plist = dataset.id.get_create_plist()
    filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    readable = {h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32}
    if set(filters) - readable or filters.count(h5z.FILTER_DEFLATE) > 1:
        raise budget.refusal(name, f"is written with the HDF5 filters {filters}; deflate, shuffle and checksums are read")
    for i in range(dataset.id.get_num_chunks() if filters else 0):
        chunk = dataset.id.get_chunk_info(i)
        if chunk.size > limit + 2**16:
            raise budget.refusal(name, f"has a chunk of {chunk.size} bytes, more than the {limit} of its array")
        if h5z.FILTER_DEFLATE in filters:
            _, data = dataset.id.read_direct_chunk(chunk.chunk_offset)
            if unfolded_deflate(data, limit + 4) > limit + 4:  # a checksum of four bytes may be inside
                raise budget.refusal(name, f"has a chunk that unfolds to more than the {limit} bytes of its array")


__all__ = ["FOREIGN_FILE_BYTES", "refuse_strange"]
