"""Colours for terminals, not for pipes. `NO_COLOR` in the environment turns them off (no-color.org)."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

RED, GREEN, YELLOW, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream is a terminal."""
    return bool(getattr(stream, "isatty", lambda: False)())


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """The text in a colour if the stream is a terminal that supports it, else unchanged."""
    plain = not is_terminal(stream) or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"{colour}{text}{PLAIN}"


def say(*lines: str) -> None:
    """Writes to the terminal or the pipe; characters that it cannot encode are replaced, so that φ̈ does not crash a
    command."""
    stream: Any = sys.stdout
    try:
        print(*lines, sep="\n")
    except UnicodeEncodeError:
        kind = getattr(stream, "encoding", None) or "ascii"
        print(*(line.encode(kind, "backslashreplace").decode(kind) for line in lines), sep="\n")


__all__ = ["GREEN", "RED", "YELLOW", "coloured", "is_terminal", "say"]
