"""A function of a number, run in processes that are ended where it takes too long.

A process that dies or is ended counts as a failure of the number it had, and another one takes its place.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

START = 120.0
"""Seconds that a process may take in addition for its first number, in which modules are read and built."""


class Failed(str):
    """Why a number has no result."""


class Late(Failed):
    """It took too long."""


def results(work: Callable[[int], Any], numbers: Iterable[int], workers: int, limit: float) -> Iterator[tuple[int, Any]]:
    """(number, work(number)) as they come, or (number, Failed); limit: seconds that one number may take."""
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(threads, "1")
    waiting = iter(numbers)
    crew: dict[Connection, _Worker] = {}
    for _ in range(workers):
        _hire(crew, work, waiting, limit)
    while crew:
        late = min(one.until for one in crew.values()) - time.monotonic()
        for pipe in wait(list(crew), timeout=max(late, 0.0)):
            one = crew.pop(pipe)
            try:
                found = pipe.recv()
            except (EOFError, ConnectionResetError):
                one.process.join()
                yield one.number, Failed(f"the process ended with {one.process.exitcode}")
                _hire(crew, work, waiting, limit)
                continue
            yield one.number, found
            one.give(crew, waiting, limit)
        for pipe, one in list(crew.items()):
            if time.monotonic() > one.until:
                one.process.kill()
                del crew[pipe]
                yield one.number, Late(f"took longer than {one.limit:g} s")
                _hire(crew, work, waiting, limit)


class _Worker:
    def __init__(self, work: Callable[[int], Any]):
        fresh = multiprocessing.get_context("spawn")  # nothing of this process's threads
        self.pipe, theirs = fresh.Pipe()
        self.process = fresh.Process(target=_serve, args=(work, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, crew: dict[Connection, _Worker], waiting: Iterator[int], limit: float) -> None:
        """The next number, or the end of its work."""
        number = next(waiting, None)
        self.pipe.send(number)
        if number is None:
            self.process.join()
            return
        self.number, self.limit, self.until = number, limit, time.monotonic() + limit
        crew[self.pipe] = self


def _hire(crew: dict[Connection, _Worker], work: Callable[[int], Any], waiting: Iterator[int], limit: float) -> None:
    _Worker(work).give(crew, waiting, START + limit)


def _serve(work: Callable[[int], Any], pipe: Connection) -> None:
    while (number := pipe.recv()) is not None:
        try:
            found = work(number)
        except Exception:
            found = Failed(traceback.format_exc(limit=-3))
        pipe.send(found)


__all__ = ["Failed", "Late", "results"]
