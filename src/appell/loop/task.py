"""The request to a time loop, and the interface of every loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError, ModelError, Status
from appell.loop.trace import Trace

Array = NDArray[np.float64]


class TrialFailed(AppellError):
    """Raised by a right-hand side or a projection; its status is that of a run that cannot step past the failure."""

    def __init__(self, status: Status):
        super().__init__(status.name)
        self.status = status

MOST_STEPS = 10_000_000
"""Most steps of a run where no other number is given: minutes of a small system."""
DEFAULT_ATOL = 1e-12
"""atol where none is given."""
DEFAULT_RTOL = 1e-9
"""rtol where none is given; with fixed steps also that of events and reductions inside them."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """The request to a loop: integrate ż = f(t, z, p) from t0 to t_end, in either direction.

    A step is accepted when its error is below `atol + rtol |z|` in the mean square; with `fixed_step` the error is not
    controlled. `times` lie between t0 and t_end, ends included, in the order in which they are passed.
    """

    t0: float
    z0: Array  # (nz,)
    t_end: float
    p: Array = field(default_factory=lambda: np.zeros(0))  # (np,)
    rtol: float = DEFAULT_RTOL
    atol: float | Array = DEFAULT_ATOL  # scalar or (nz,)
    times: Array = field(default_factory=lambda: np.zeros(0))
    first_step: float | None = None
    max_step: float = np.inf
    max_steps: int = MOST_STEPS
    fixed_step: float | None = None
    keep_steps: bool = True
    row_size: Array | None = None  # (rows,) scales for the rank guard; None: no guard
    rank_quiet: float = np.inf  # σ at the last alarm of the rank guard

    def __post_init__(self) -> None:
        for name in ("z0", "p", "times"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=float, ndmin=1))
        atol = np.empty_like(self.z0)
        atol[:] = self.atol
        object.__setattr__(self, "atol", atol)
        if not (isfinite(self.t0) and isfinite(self.t_end)):
            raise ModelError(f"t0 = {self.t0} and t_end = {self.t_end} must be finite")
        if not (self.rtol > 0 and np.all(atol > 0)):
            raise ModelError(f"rtol = {self.rtol} and atol = {self.atol} must be positive (a zero has no relative error)")
        for name in ("first_step", "max_step", "fixed_step"):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise ModelError(f"{name} = {value} must be positive, whatever the direction")
        if len(self.times):
            ordered = np.concatenate(([self.t0], self.times, [self.t_end])) * self.direction
            if not np.all(ordered[1:] >= ordered[:-1]):
                raise ModelError(f"times must run in order from t0 = {self.t0} to t_end = {self.t_end}")

    def counted_from(self, origin: float) -> Task:
        """The same task with all times counted from `origin`."""
        return replace(self, t0=self.t0 - origin, t_end=self.t_end - origin, times=self.times - origin) if origin else self

    def watching(self, row_size: Array, quiet: float = np.inf) -> Task:
        """The same task with a rank guard."""
        return self.adjusted(row_size=row_size, rank_quiet=quiet)

    def adjusted(self, **fields: Any) -> Task:
        """The same task with other values of some fields, of the same shapes; nothing is checked again."""
        task = object.__new__(Task)
        task.__dict__.update(self.__dict__, **fields)
        return task

    @property
    def direction(self) -> float:
        """+1 forward, −1 backward in time."""
        return 1.0 if self.t_end >= self.t0 else -1.0

    def trace(self) -> Trace:
        """An empty trace for a run that is about to start."""
        return Trace(self.t0, self.z0, self.first_step, times=len(self.times), keep_steps=self.keep_steps)


class Loop(Protocol):
    """A time loop with its right-hand side inside."""

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """Runs the task; continues the given trace, or starts a new one.

        Yields the trace with the status BUFFER_FULL from time to time, for progress and Ctrl-C, and once more at the end with
        the final status.
        """
        ...
