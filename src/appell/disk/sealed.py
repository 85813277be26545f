"""Files that exist as a whole or not at all, are synced to disk, and are trusted only with their checksum.

Links in place of files are not followed, and pipes are not read.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from appell.errors import ModelError

LARGEST_RECORD = 2**28
"""Largest size of a record, bytes: a mark has a line for each of at most some ten thousand runs."""
SEAL = "sha256"
"""Key of the digest of all other entries of a sealed record."""


def seal(record: Mapping[str, Any]) -> str:
    """JSON of a record with its checksum."""
    body = {key: value for key, value in record.items() if key != SEAL}
    return json.dumps({**body, SEAL: _digest(body)}, indent=1)


def unseal(text: bytes) -> dict[str, Any] | None:
    """The record, or None if its checksum is wrong."""
    try:
        record = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    stored = record.pop(SEAL, None)
    return record if stored == _digest(record) else None


def _digest(body: Mapping[str, Any]) -> str:
    return checksum(json.dumps(body, sort_keys=True).encode())


def checksum(data: bytes | memoryview) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def is_plain(path: Path) -> bool:
    """Whether it is a regular file: not a link, pipe, folder or device."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def read_plain(path: Path, *, largest: int = LARGEST_RECORD) -> bytes | None:
    """The contents of a file; None if it does not exist, is not a regular file, or has more than `largest` bytes."""
    if not is_plain(path):
        return None
    try:
        with open(path, "rb") as stream:
            data = stream.read(largest + 1)
    except OSError:
        return None
    return data if len(data) <= largest else None


def remove_plain(path: Path) -> None:
    """Removes a file (a link, a pipe) and syncs the folder; raises for a folder."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError) as error:
        raise ModelError(f"{path} is in the way ({error.strerror}); move it, or give another folder") from error
    sync(path.parent)


def write_whole(file: Path, text: str | bytes) -> None:
    """Writes a file atomically; it is on disk when this returns."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        draft.unlink()
    try:
        with open(draft, "xb") as stream:
            stream.write(text.encode("utf-8") if isinstance(text, str) else text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, file)
        sync(file.parent)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def sync(path: Path) -> None:
    """Syncs a file's bytes, or a folder's entries, to disk; Windows has no such call for folders."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


__all__ = ["checksum", "is_plain", "read_plain", "remove_plain", "seal", "sync", "unseal", "write_whole"]
