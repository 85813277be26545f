"""Compiled objects on disk, loaded only when nobody else can have written them and every byte is as it was built.

    FOLDER/KEY-CHECKSUM.so        KEY: digest of all that determines the object; CHECKSUM: SHA-256 of the file
    FOLDER/KEY-CHECKSUM.note      a short text that took long to find out, kept in the same way

One name carries both, so an entry appears by a single atomic rename: processes that build the same object at the same
time are both right, whoever comes last. The folder is ours alone (0700); failing that, a temporary one serves.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from appell.backends.notice import notice

LIMIT = 512 * 2**20  # bytes
STALE = 86400.0  # seconds after which the working folder of a process that died is swept up
OBJECT, NOTE = ".so", ".note"
WORKING = ".building-"


def cache_folder() -> Path:
    """A folder with mode 0700 that belongs to us: `$APPELL_CACHE`, else the user's cache, else a temporary one."""
    wanted = _wanted_folder()
    obstacle = _make_private(wanted)
    if obstacle is None:
        return wanted
    notice(
        "cache",
        f"compiled code is kept for this process only: {wanted} {obstacle}; set APPELL_CACHE to a folder of yours",
    )
    return _temporary_folder(os.getpid())


def digest(*parts: str) -> str:
    """SHA-256 of the parts and their borders."""
    text = hashlib.sha256()
    for part in parts:
        text.update(f"{len(part)}:{part}".encode())
    return text.hexdigest()


def find(key: str, suffix: str = OBJECT) -> Path | None:
    """The intact object (or note) for `key`, marked as just used. Damaged ones are removed."""
    for path in _entries(cache_folder(), suffix, key):
        if _intact(path):
            _touch(path)
            return path
        _drop(path)
    return None


@contextmanager
def workshop() -> Iterator[Path]:
    """A folder on the cache's file system to build in, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=WORKING, dir=cache_folder()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def store(key: str, built: Path) -> Path:
    """Moves `built` (from a `workshop`) to its place: synced to disk first, then renamed, then old entries dropped."""
    folder = built.parent.parent
    _sync(built)
    target = folder / f"{key}-{_checksum(built)}{built.suffix}"
    os.replace(built, target)
    _sync(folder)
    prune(folder, keep=target)
    return target


def recall(key: str) -> str | None:
    """The note for `key`."""
    path = find(key, NOTE)
    try:
        return None if path is None else path.read_text(encoding="utf-8")
    except OSError:  # dropped this instant
        return None


def remember(key: str, text: str) -> None:
    """Keeps a note in place of any older one. Without a place to keep it, it has to be found out again."""
    with suppress(OSError), workshop() as folder:
        (folder / f"text{NOTE}").write_text(text, encoding="utf-8")
        kept = store(key, folder / f"text{NOTE}")
        for path in _entries(kept.parent, NOTE, key):
            if path != kept:
                _drop(path)


def clear_cache() -> None:
    """Removes every compiled object. Those already loaded go on working."""
    for suffix in (OBJECT, NOTE):
        for path in _entries(cache_folder(), suffix):
            _drop(path)


def prune(folder: Path, *, limit: int = LIMIT, keep: Path | None = None) -> None:
    """Drops the objects used longest ago until `limit` bytes suffice, and what dead builds left behind."""
    files = (file for suffix in (OBJECT, NOTE) for file in _stats(folder, f"*{suffix}"))
    entries = sorted(((info.st_mtime, info.st_size, path) for path, info in files), reverse=True)
    total = 0
    for _, size, path in entries:
        total += size
        if total > limit and path != keep:
            _drop(path)
    for path, info in _stats(folder, f"{WORKING}*"):
        if time.time() - info.st_mtime > STALE:
            shutil.rmtree(path, ignore_errors=True)


def _entries(folder: Path, suffix: str, key: str = "") -> list[Path]:
    """In a fixed order. A pattern with the key in it would be compiled for each: half a millisecond."""
    return [folder / name for name in sorted(x for x in os.listdir(folder) if x.startswith(key) and x.endswith(suffix))]


def _wanted_folder() -> Path:
    if folder := os.environ.get("APPELL_CACHE"):
        return Path(folder).expanduser().absolute()
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder) / "appell"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~")).expanduser() / "appell" / "cache"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/appell").expanduser()
    return Path("~/.cache/appell").expanduser()


def _make_private(folder: Path) -> str | None:
    """Makes `folder`, or says why it cannot be trusted or used. A folder others could write to stays as it is."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = folder.stat()
        if os.name == "posix":
            if info.st_uid != os.geteuid():
                return "belongs to another user"
            if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return "can be written by other users"
            if stat.S_IMODE(info.st_mode) != 0o700:
                folder.chmod(0o700)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except (OSError, RuntimeError) as error:
        return f"cannot be used ({error})"


@cache
def _temporary_folder(process: int) -> Path:
    """One for each process (a forked child makes its own), removed when that process ends."""
    folder = Path(tempfile.mkdtemp(prefix="appell-"))
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == process else None)
    return folder


def _stats(folder: Path, pattern: str) -> Iterator[tuple[Path, os.stat_result]]:
    """Entries may vanish under our feet: another process prunes too."""
    for path in folder.glob(pattern):
        try:
            yield path, path.stat()
        except FileNotFoundError:
            continue


def _intact(path: Path) -> bool:
    try:
        return path.stem.rpartition("-")[2] == _checksum(path)
    except OSError:
        return False


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _drop(path: Path) -> None:
    with suppress(OSError):  # gone already, or (on Windows) loaded by someone
        path.unlink()


def _touch(path: Path) -> None:
    with suppress(OSError):  # another process dropped it between our look and now: rebuilt if it cannot be opened
        os.utime(path)


def _sync(path: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
