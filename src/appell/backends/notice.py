"""Things a user should hear once."""

from __future__ import annotations

import warnings

_heard: set[str] = set()


class AppellWarning(UserWarning):
    """The library goes on by other means than it would have liked; the message says which and why."""


def notice(topic: str, message: str) -> None:
    """Warns with `message` the first time `topic` comes up in this process."""
    if topic not in _heard:
        _heard.add(topic)
        warnings.warn(message, AppellWarning, stacklevel=3)
