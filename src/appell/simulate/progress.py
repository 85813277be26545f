"""A progress bar over the time of a run; nothing prints unless asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Bar:
    """A bar on the terminal from t0 to t1; call it with the time reached."""

    def __init__(self, t0: float, t1: float):
        from rich.progress import Progress

        self.t0, self.t1 = t0, t1
        self.progress = Progress()
        self.task = self.progress.add_task("simulating", total=abs(t1 - t0) or 1.0)
        self.progress.start()

    def __call__(self, t: float) -> None:
        self.progress.update(self.task, completed=abs(t - self.t0))

    def close(self) -> None:
        self.progress.stop()


def reporter(progress: bool | Callable[[float], Any], t0: float, t1: float) -> Callable[[float], Any] | None:
    """What a run calls with the time reached: a bar for True, the function itself, nothing for False."""
    if callable(progress):
        return progress
    return Bar(t0, t1) if progress else None
