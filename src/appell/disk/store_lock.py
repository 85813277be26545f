"""A lock that lets one process at a time work on a store or folder; the file names the process."""

from __future__ import annotations

import os
import platform
import stat
from pathlib import Path
from typing import Any

from appell.errors import ModelError


class StoreLock:
    """Held by one process (and one thread) at a time; the system releases it when that process dies.

    what: a description of what is locked; option: the argument with which a call can choose another one.
    """

    def __init__(self, file: Path, what: str, option: str):
        self.file, self.guarded, self.option, self.handle = file, what, option, None

    def take(self) -> None:
        """Takes the lock; raises `ModelError` if another process has it."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        number = os.open(self.file, flags, 0o666)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise ModelError(f"{self.file} is no file; give another {self.option}")
        handle = os.fdopen(number, "r+", encoding="utf-8", errors="replace")
        if not _locked(handle):
            owner = handle.read(200).strip() or "another process"
            handle.close()
            raise ModelError(f"{self.guarded} is being worked on by {owner}; wait for it, or give another {self.option}")
        handle.truncate(0)
        handle.write(f"process {os.getpid()} on {platform.node() or 'this machine'}")
        handle.flush()
        self.handle = handle

    def give_back(self) -> None:
        """Releases the lock."""
        if self.handle is not None:
            self.handle.close()
            self.handle = None


def _locked(handle: Any) -> bool:
    """Whether this process now has the lock."""
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


__all__ = ["StoreLock"]
