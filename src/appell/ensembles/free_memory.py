"""The free memory of the machine, in bytes."""

from __future__ import annotations

import os


def free_memory() -> int | None:
    """Bytes available without swapping; None if the operating system does not report them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
