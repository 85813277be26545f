"""Notes on results: sentences with the time and the constraints they refer to."""

from __future__ import annotations

from typing import Any


class Note(str):
    """A sentence about a run.

    Parameters
    ----------
    text: the sentence.
    time: when it holds, s; None: at all times.
    kind: one word, for programs: "redundant", "rank", "bifurcation", ….
    constraints: names of the constraints concerned.
    """

    time: float | None
    kind: str
    constraints: tuple[str, ...]

    def __new__(cls, text: str, *, time: float | None = None, kind: str = "", constraints: Any = ()) -> Note:
        note = super().__new__(cls, text)
        note.time, note.kind, note.constraints = time, kind, tuple(constraints)
        return note

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (str(self),), self.record()

    def record(self) -> dict[str, Any]:
        """Time, kind and constraints, for files."""
        return {"time": self.time, "kind": self.kind, "constraints": self.constraints}


__all__ = ["Note"]
