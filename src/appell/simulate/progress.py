"""A progress bar over the time of a run; nothing prints unless asked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.reading import shown


class Bar:
    """A progress bar on the terminal from t0 to t1, with the remaining time; call it with the time reached."""

    def __init__(self, t0: float, t1: float):
        from rich.console import Console
        from rich.progress import Progress

        self.t0, self.t1 = t0, t1
        self.progress = Progress(console=Console(stderr=True))  # beside what a program writes, which may go into a pipe
        self.task = self.progress.add_task("simulating", total=abs(t1 - t0) or 1.0)
        self.progress.start()

    def __call__(self, t: float) -> None:
        self.progress.update(self.task, completed=abs(t - self.t0))

    def close(self) -> None:
        self.progress.stop()


class NotebookBar(Bar):
    """A progress bar in a notebook: a line of HTML that is rewritten in place; no widgets are needed."""

    def __init__(self, t0: float, t1: float):
        from IPython.display import HTML, display  # type: ignore[import-not-found] # a notebook has it

        self.t0, self.t1, self.html, self.began = t0, t1, HTML, perf_counter()
        self.first: float | None = None  # the share that was done when it began: a run may go on from where it was
        self.handle: Any = display(HTML(self._text(t0)), display_id=True)

    def __call__(self, t: float) -> None:
        self.handle.update(self.html(self._text(t)))

    def close(self) -> None:
        """Leaves the last line of the bar on the terminal."""

    def _text(self, t: float) -> str:
        fraction = abs(t - self.t0) / (abs(self.t1 - self.t0) or 1.0)
        if self.first is None and fraction > 0:
            self.first, self.began = fraction, perf_counter()
        gained = 0.0 if self.first is None else fraction - self.first
        remaining = (
            f", {_duration((perf_counter() - self.began) * (1 - fraction) / gained)} left"
            if gained > 0 and fraction < 1 else ""
        )
        return f'<progress max="1" value="{fraction:.4f}"></progress> simulating {100 * fraction:.0f} %{remaining}'


def _duration(seconds: float) -> str:
    """A time to wait, in the largest unit that is not finer than needed."""
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this program."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and getattr(running, "kernel", None) is not None


class Reporter:
    """Calls a function with the time reached, but spends at most half of the time on that."""

    def __init__(self, function: Callable[[float], Any]):
        self.function, self.due, self.reported = function, -inf, None

    def __call__(self, t: float) -> None:
        now = perf_counter()
        if now >= self.due:
            self.finish(t)
            self.due = 2 * perf_counter() - now

    def finish(self, t: float) -> None:
        """Reports a time at once, unless it was the last one reported."""
        if t != self.reported:
            self.reported = t
            self.function(t)

    def end(self, t: float) -> None:
        """The last report of many runs; an interrupt raised here by the function has nothing left to stop."""
        with suppress(KeyboardInterrupt):
            self.finish(t)
        self.close()

    def close(self) -> None:
        if isinstance(self.function, Bar):
            self.function.close()


def reporter(progress: bool | Callable[[float], Any], t0: float, t1: float) -> Reporter | None:
    """The function that a run calls with the time reached: a bar for True, the given function, or None for False."""
    if callable(progress):
        return Reporter(progress)
    if not isinstance(progress, bool | np.bool_ | int | None):
        raise ModelError(f"progress= is True, False or a function, not {shown(progress)}")
    if not progress:
        return None
    return Reporter(NotebookBar(t0, t1) if in_notebook() else Bar(t0, t1))
