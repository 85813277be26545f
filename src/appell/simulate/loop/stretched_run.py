"""Common parts of loops that advance in stretches, from one located event (surface, reset, stop) to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

from appell.errors import ModelError, Status
from appell.loop.in_python import SECONDS_PER_YIELD
from appell.loop.trace import Trace
from appell.notes import Note


def in_stretches(
    trace: Trace, t_end: float, onward: Callable[[], Status], no_way: type[Exception], begin: Callable[[], None] | None = None
) -> Iterator[Trace]:
    """The run: `begin`, then `onward` for each stretch until the end, or until it returns a failure.

    no_way: the exception that `begin` and `onward` raise if the motion cannot be continued.
    """
    answered, status = perf_counter(), Status.OK
    try:
        if begin is not None:
            begin()
        while status is Status.OK and trace.t != t_end:
            status = onward()
            if perf_counter() - answered > SECONDS_PER_YIELD and status is Status.OK:
                yield trace.ended(Status.BUFFER_FULL)
                answered = perf_counter()
    except no_way as reason:
        trace.failure, status = ModelError(str(reason)), Status.JUMP
    yield trace.ended(status)


def note_unbounded(trace: Trace, what: str, time: float, kind: str) -> None:
    """Adds a note that an event was searched by sampling, because no bound was available; time: as the loop counts."""
    time += trace.origin
    text = (
        f"{what} could not be bounded near t = {time:.6g} (no finite bound, or too many turns): its zeros were looked for by"
        " sampling there"
    )
    trace.notes.append(Note(text, time=time, kind=kind))


__all__ = ["in_stretches", "note_unbounded"]
