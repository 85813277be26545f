"""Compiled objects on disk, loaded only if no other user can have written them and the checksum is right.

    FOLDER/KEY-CHECKSUM.so        KEY: digest of everything that determines the object; CHECKSUM: SHA-256 of the file
    FOLDER/KEY-CHECKSUM.note      a short text that took long to compute, kept in the same way

One name carries both, so an entry appears by a single atomic rename: if processes build the same object at the same time,
the last one wins, and all are right. The folder is private (0700); failing that, a temporary one is used.

Only regular files with such names are removed, and folders `.building-…` that contain nothing but our own files: any other
content is kept, and links are not followed.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
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
from appell.errors import BackendUnavailable

CACHE_BYTES = 512 * 2**20  # bytes
STALE_SECONDS = 86400.0  # seconds after which the working folder of a dead process is removed
OBJECT, NOTE = ".so", ".note"
WORKING = ".building-"
CACHE_ENTRY = re.compile(r"[0-9a-f]{64}-[0-9a-f]{64}\.(so|note)")
SCRATCH = re.compile(r"\.building-\w+")
SCRATCH_FILES = frozenset({"source.c", "object.so", "text.note"})
"""The only files in a working folder."""


def cache_folder() -> Path:
    """A folder with mode 0700 that belongs to us: `$APPELL_CACHE`, else the user's cache, else a temporary one."""
    try:
        folder = _wanted_folder()
        obstacle = _make_private(folder)
        if obstacle is None:
            return folder
        reason = f"{folder} {obstacle}"
    except RuntimeError as error:  # ~ without a home
        reason = str(error)
    notice("cache", f"compiled code is kept for this process only: {reason}; set APPELL_CACHE to a folder of yours")
    return _temporary_folder(os.getpid())


def digest(*parts: str) -> str:
    """SHA-256 of the parts and their boundaries."""
    text = hashlib.sha256()
    for part in parts:
        text.update(f"{len(part)}:{part}".encode("utf-8", "surrogateescape"))
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
    """A temporary folder on the cache's file system to build in."""
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
    """The note for `key`; None also if there is no cache."""
    try:
        path = find(key, NOTE)
        return None if path is None else path.read_text(encoding="utf-8")
    except (OSError, BackendUnavailable):  # just removed
        return None


def remember(key: str, text: str) -> None:
    """Stores a note, replacing an older one. Without a cache it has to be computed again."""
    with suppress(OSError, BackendUnavailable), workshop() as folder:
        (folder / f"text{NOTE}").write_text(text, encoding="utf-8")
        stored = store(key, folder / f"text{NOTE}")
        for path in _entries(stored.parent, NOTE, key):
            if path != stored:
                _drop(path)


def clear_cache() -> None:
    """Removes every compiled object and note, and nothing else. Loaded ones keep working."""
    folder = cache_folder()
    for suffix in (OBJECT, NOTE):
        for path in _entries(folder, suffix):
            _drop(path)


def prune(folder: Path, *, limit: int = CACHE_BYTES, keep: Path | None = None) -> None:
    """Removes the least recently used objects down to `limit` bytes, and the remains of dead builds."""
    paths = [path for suffix in (OBJECT, NOTE) for path in _entries(folder, suffix)]
    entries = sorted(((info.st_mtime, info.st_size, path) for path, info in _stats(paths)), reverse=True)
    total = 0
    for _, size, path in entries:
        total += size
        if total > limit and path != keep:
            _drop(path)
    for path, info in _stats([path for path in folder.iterdir() if SCRATCH.fullmatch(path.name)]):
        if stat.S_ISDIR(info.st_mode) and time.time() - info.st_mtime > STALE_SECONDS:
            _drop_scratch(path)


def _entries(folder: Path, suffix: str, key: str = "") -> list[Path]:
    """Files that this module has written, in a fixed order."""
    try:
        names = sorted(x for x in os.listdir(folder) if x.startswith(key) and x.endswith(suffix) and CACHE_ENTRY.fullmatch(x))
    except OSError:  # the folder was removed
        return []
    return [folder / name for name in names if _is_file(folder / name)]


def _is_file(path: Path) -> bool:
    """Whether it is a regular file; links and pipes are not followed."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _drop_scratch(folder: Path) -> None:
    """Removes the working folder of a dead process, if it contains only our own files."""
    with suppress(OSError):
        if all(path.name in SCRATCH_FILES and _is_file(path) for path in folder.iterdir()):
            shutil.rmtree(folder)


def _wanted_folder() -> Path:
    """`RuntimeError` where the user has no folder."""
    if folder := os.environ.get("APPELL_CACHE", "").strip():
        return _expanded(folder).absolute()
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(folder):  # by its specification, a relative one is ignored
        return Path(folder) / "appell"
    if sys.platform == "win32":
        return _expanded(os.environ.get("LOCALAPPDATA", "~")) / "appell" / "cache"
    return _home() / ("Library/Caches/appell" if sys.platform == "darwin" else ".cache/appell")


def _expanded(folder: str) -> Path:
    """The path with ~ expanded."""
    parts = Path(folder).parts
    return Path(_home(), *parts[1:]) if parts[:1] == ("~",) else Path(folder).expanduser()


def _home() -> Path:
    """The user's home: `$HOME` if it is a path, else from the system."""
    if os.name != "posix" or os.path.isabs(os.environ.get("HOME", "")):
        return Path.home()
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise RuntimeError("this user has no home") from None


def _make_private(folder: Path) -> str | None:
    """Creates `folder`, or returns why it cannot be trusted or used. A folder that others can write to is not changed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = folder.stat()
        if os.name == "posix":
            if info.st_uid != os.geteuid():
                return "belongs to another user"
            if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return "can be written by other users"
            if stat.S_IMODE(info.st_mode) != 0o700 and all(CACHE_ENTRY.fullmatch(name) for name in os.listdir(folder)):
                folder.chmod(0o700)  # not if it contains other files
        with tempfile.TemporaryFile(dir=folder):
            return None
    except (OSError, RuntimeError, ValueError) as error:
        return f"cannot be used ({error})"


@cache
def _temporary_folder(process: int) -> Path:
    """A temporary folder for each process (a forked child creates its own), removed when the process ends."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="appell-"))
    except OSError as error:
        raise BackendUnavailable(
            f"there is no place for compiled code, not even a temporary one ({error}); set APPELL_CACHE or TMPDIR to a folder"
            " of yours, or use backend='vm'"
        ) from error
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == process else None)
    return folder


def _stats(paths: list[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Entries with their stat; some may vanish meanwhile, since other processes prune too."""
    for path in paths:
        try:
            yield path, path.lstat()
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
    with suppress(OSError):  # already gone, or (on Windows) loaded by a process
        path.unlink()


def _touch(path: Path) -> None:
    with suppress(OSError):  # just removed by another process: rebuilt if it cannot be opened
        os.utime(path)


def _sync(path: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
