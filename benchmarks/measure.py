"""Clocks, repeats and agreement."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


class Disagreement(AssertionError):
    """Two codes that should compute the same do not."""


def agree(what: str, ours: ArrayLike, theirs: ArrayLike, tolerance: float) -> float:
    """max |ours − theirs| / (1 + max |theirs|), refused above `tolerance`."""
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    error = float(np.abs(a - b).max() / (1 + np.abs(b).max()))
    if not error <= tolerance:
        raise Disagreement(f"{what}: the two sides differ by {error:.1e}, more than {tolerance:.0e}")
    return error


def interleaved(calls: Mapping[str, Callable[[], Any]], *, seconds: float, least: int = 3) -> dict[str, float]:
    """Least time of each call, s. They take turns, so that a noisy moment hits all; each gets about `seconds`.

    A call that returns a float is its own clock: what it returns counts, not the time that it took.
    """
    best = dict.fromkeys(calls, float("inf"))
    spent, rounds = dict.fromkeys(calls, 0.0), dict.fromkeys(calls, 0)
    waiting = set(calls)
    while waiting:
        for name in [name for name in calls if name in waiting]:
            start = time.perf_counter()
            own = calls[name]()
            passed = time.perf_counter() - start
            best[name] = min(best[name], own if isinstance(own, float) else passed)
            spent[name] += passed
            rounds[name] += 1
            if spent[name] > seconds and rounds[name] >= least:
                waiting.discard(name)
    return best


def many(call: Callable[[], Any], count: int) -> Callable[[], float]:
    """A clocked loop over a short call: the time of one, s."""

    def clocked() -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count

    return clocked


def cpu_seconds() -> tuple[float, float]:
    """CPU time so far of this process and of the children it waited for, s."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), children.ru_utime + children.ru_stime


def peak_memory() -> float:
    """High-water mark of this process, MB (0 where the system does not tell)."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0.0
