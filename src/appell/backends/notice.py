"""Warnings, reported at the user's line that caused them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_HERE = str(Path(__file__).parents[1])
_heard: set[str] = set()
_silent: ContextVar[bool] = ContextVar("_silent", default=False)


class AppellWarning(UserWarning):
    """The library uses a fallback; the message says which and why."""


def warn(message: str) -> None:
    """Warns with `message` at the innermost line outside the library."""
    if _silent.get():
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, AppellWarning, stacklevel=level)


@contextmanager
def silence() -> Iterator[None]:
    """Suppresses warnings of the library in this context. Unlike Python's own filters, it is not shared between threads."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def notice(topic: str, message: str) -> None:
    """Warns with `message` the first time `topic` occurs in this process."""
    if topic not in _heard:
        _heard.add(topic)
        warn(message)
