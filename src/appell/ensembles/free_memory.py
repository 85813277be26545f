"""The free memory of the machine, in bytes, and whether something fits into it."""

from __future__ import annotations

import os

MEMORY_SHARE = 0.9
"""Fraction of the free memory that results may take: other programs need some, too."""


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


def missing_memory(needed: float) -> str | None:
    """ "about 12 GB, and 8 GB are free" where `needed` bytes do not fit into the memory; None where they do."""
    free = free_memory()
    if free is None or needed <= MEMORY_SHARE * free:
        return None
    return f"about {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free"


__all__ = ["free_memory", "missing_memory"]
