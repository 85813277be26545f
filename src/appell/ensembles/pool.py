"""Threads over the runs of an ensemble: progress, and an interrupt (Ctrl-C) that keeps every finished run."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any

from appell.simulate.progress import Reporter

THREAD_POLL_SECONDS = 0.05
"""Seconds between two progress reports."""


def cores() -> int:
    """Number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def drive(
    work: Callable[[], Any], threads: int, done: Callable[[], int], stop: Callable[[], Any], report: Reporter | None
) -> bool:
    """Calls `work()` in each thread and waits; False if it was ended early by Ctrl-C, or by a report that raises it."""
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(copy_context().run, work) for _ in range(threads)]
        try:
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, timeout=THREAD_POLL_SECONDS, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                if report is not None:
                    report(done())
        except KeyboardInterrupt:
            stop()
            wait(futures)
            return False
        except BaseException:
            stop()
            raise
    return True


__all__ = ["cores", "drive"]
