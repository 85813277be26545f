"""The adaptive time loop in Python, on SciPy's steppers; and the records that every time loop takes and gives.

A loop answers a `Task`, ż = f(t, z, p) from (t0, z0) to t_end, with a sequence of `Leg`s, each holding everything so
far; the last one has a status other than BUFFER_FULL:

    for leg in loop.run(task):
        progress(leg.t)

After each accepted step, and at each requested time, the state is projected onto the constraints. A right-hand side or
a projection that fails inside a trial step only shrinks the step; when the step has become tiny, that failure is the
status of the leg, whose t, z are the last good state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from appell.errors import AppellError, ConstraintError, SingularConfiguration, Status
from appell.simulate.methods.tableaux import Array, Tableau
from appell.simulate.methods.taylor import Taylor

SECONDS_PER_LEG = 0.05  # between two answers of a running loop: progress moves, Ctrl-C is heard
STRETCH = 1 + 1e-6  # the last step may be so much longer than wanted, rather than leave a remainder of rounding


class TrialFailed(AppellError):
    """Raised by a right-hand side or a projection to name the status of a leg that cannot step past it."""

    def __init__(self, status: Status):
        super().__init__(status.name)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a loop is asked: ż = f(t, z, p) from t0 to t_end (either direction).

    A step is accepted when its error is below `atol + rtol |z|` in the mean square; with `fixed_step` there is no error
    control. `times` are on the way from t0 to t_end, ends included, in the order in which they are passed.
    """

    t0: float
    z0: Array  # (nz,)
    t_end: float
    p: Array = field(default_factory=lambda: np.zeros(0))  # (np,)
    rtol: float = 1e-9
    atol: float | Array = 1e-12  # scalar or (nz,)
    times: Array = field(default_factory=lambda: np.zeros(0))
    first_step: float | None = None
    max_step: float = np.inf
    max_steps: int = 10_000_000
    fixed_step: float | None = None
    keep_steps: bool = True
    rest: float = 0.0  # bouncing that would end within this time, s, has ended
    simultaneous: float = 0.0  # two hits within this time, s, are one
    graze: float = 0.0  # a face passed at less than this height was touched
    touching: tuple[bool, ...] = ()  # free faces on which the state stands

    def __post_init__(self) -> None:
        for name in ("z0", "p", "times"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=float, ndmin=1))
        atol = np.empty_like(self.z0)
        atol[:] = self.atol
        object.__setattr__(self, "atol", atol)
        if not (isfinite(self.t0) and isfinite(self.t_end)):
            raise ValueError(f"t0 = {self.t0} and t_end = {self.t_end} must be finite")
        if not (self.rtol > 0 and np.all(atol > 0)):
            raise ValueError(f"rtol = {self.rtol} and atol = {self.atol} must be positive (a zero has no relative error)")
        for name in ("first_step", "max_step", "fixed_step"):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise ValueError(f"{name} = {value} must be positive, whatever the direction")
        if len(self.times):
            way = np.concatenate(([self.t0], self.times, [self.t_end])) * self.direction
            if not np.all(way[1:] >= way[:-1]):
                raise ValueError(f"times must run in order from t0 = {self.t0} to t_end = {self.t_end}")

    @property
    def direction(self) -> float:
        """+1 forward, −1 backward in time."""
        return 1.0 if self.t_end >= self.t0 else -1.0


@dataclass(frozen=True)
class Statistics:
    """Work done: right-hand sides, accepted and rejected steps, the largest constraint residual before projection."""

    evaluations: int
    accepted: int
    rejected: int
    largest_defect: float


@dataclass(frozen=True)
class Leg:
    """What a loop has so far: where it stands, the accepted steps after the start, the requested times passed."""

    status: Status  # BUFFER_FULL: still running
    t: float
    z: Array  # (nz,)
    next_step: float  # the size that the step control would take from here, for the leg that follows
    z_times: Array  # (times passed, nz)
    statistics: Statistics
    t_pieces: tuple[Array, ...]
    z_pieces: tuple[Array, ...]
    events: Array = field(default_factory=lambda: np.zeros((0, 6)))  # t, face, kind, rate before, after, impulse
    switch: tuple[int, int] | None = None  # (face, kind) behind the status SWITCH
    touching: tuple[bool, ...] = ()
    contacts: tuple[tuple[float, tuple[int, ...]], ...] = ()  # (time, faces in contact from then on)

    @cached_property
    def t_steps(self) -> Array:
        """(1 + accepted,) or, when steps are not kept, (1,): the start."""
        return np.concatenate(self.t_pieces)

    @cached_property
    def z_steps(self) -> Array:
        """(1 + accepted, nz), as `t_steps`."""
        return np.concatenate(self.z_pieces)


class Loop(Protocol):
    """A time loop with its right-hand side inside: `CLoop` or `PyLoop`."""

    def run(self, task: Task) -> Iterator[Leg]:
        """Legs that hold everything so far, every `SECONDS_PER_LEG`; the last one is finished or failed."""
        ...


STATUS_OF: dict[type[Exception], Status] = {
    SingularConfiguration: Status.SINGULAR,
    np.linalg.LinAlgError: Status.SINGULAR,
    ConstraintError: Status.PROJECTION_FAILED,
    ArithmeticError: Status.NOT_FINITE,
}
"""What an exception of a right-hand side or a projection means; any other one is a bug and is not caught."""

FAILURES = (*STATUS_OF, TrialFailed)


def _status_of(error: Exception) -> Status:
    if isinstance(error, TrialFailed):
        return error.status
    return next(status for kind, status in STATUS_OF.items() if isinstance(error, kind))


class _Guarded:
    """f(t, z) for SciPy: a failure becomes NaN, which rejects the trial step, and is remembered until f succeeds."""

    def __init__(self, rhs: Callable[[float, Array, Array], ArrayLike], p: Array):
        self.rhs, self.p = rhs, p
        self.evaluations = 0
        self.failure: Status | None = None

    def __call__(self, t: float, z: Array) -> Array:
        if not np.all(np.isfinite(z)):
            self.failure = self.failure or Status.NOT_FINITE
            return np.full_like(z, np.nan)
        self.evaluations += 1
        try:
            zd = np.asarray(self.rhs(t, z, self.p), dtype=float)
        except FAILURES as error:
            self.failure = _status_of(error)
            return np.full_like(z, np.nan)
        self.failure = None if np.all(np.isfinite(zd)) else Status.NOT_FINITE
        return zd


@dataclass(frozen=True)
class PyLoop:
    """The loop on SciPy's `DOP853` or `RK45`, or on Taylor's series, with f(t, z, p) and
    project(t, z, p) -> (z, largest residual before)."""

    method: Tableau | Taylor
    rhs: Callable[[float, Array, Array], ArrayLike]
    project: Callable[[float, Array, Array], tuple[Array, float]] | None = None

    def run(self, task: Task) -> Iterator[Leg]:
        """See `Loop.run`."""
        progress = _Progress(self, task)
        answered = perf_counter()
        status = progress.start()
        while status is Status.OK and progress.t != task.t_end:
            if perf_counter() - answered > SECONDS_PER_LEG:
                yield progress.leg(Status.BUFFER_FULL)
                answered = perf_counter()
            status = progress.step()
        yield progress.leg(status)


class _Progress:
    """The state of one run of `PyLoop`."""

    def __init__(self, loop: PyLoop, task: Task):
        self.loop, self.task = loop, task
        self.f = _Guarded(loop.rhs, task.p)
        self.t, self.z = task.t0, task.z0
        self.t_steps, self.z_steps, self.z_times = [task.t0], [task.z0], []
        self.accepted = self.rejected = 0
        self.defect = 0.0
        self.largest = min(task.fixed_step or task.max_step, task.max_step)
        self.solver: Any = None

    def start(self) -> Status:
        """The stepper with its first slope and step size, and the requested times at the start."""
        task = self.task
        self.f(task.t0, task.z0)
        if self.f.failure:
            return self.f.failure
        self.z_times += [task.z0] * int(np.sum(task.times == task.t0))
        if task.t_end == task.t0:
            return Status.OK
        fixed = task.fixed_step
        first = fixed or task.first_step
        self.solver = self.loop.method.scipy_class(
            self.f,
            task.t0,
            task.z0,
            task.t_end,
            max_step=self.largest,
            first_step=None if first is None else min(first, self.largest, abs(task.t_end - task.t0)),
            rtol=max(task.rtol, 100 * np.finfo(float).eps),  # SciPy's lower bound, without its warning
            atol=np.inf if fixed else task.atol,  # pyright: ignore[reportArgumentType]
        )
        return Status.OK

    def step(self) -> Status:
        """One accepted step with its projection and requested times; or the reason why there is none."""
        if self.accepted >= self.task.max_steps:
            return Status.MAX_STEPS
        solver, f_old = self.solver, self.solver.f
        while True:
            wanted, before = min(solver.h_abs, self.largest), self.f.evaluations
            left = abs(self.task.t_end - self.t)
            if left <= wanted * STRETCH:
                solver.h_abs = solver.max_step = left
            solver.step()
            solver.max_step = self.largest
            self.rejected += max(0, -(-(self.f.evaluations - before) // self.loop.method.stages) - 1)
            if solver.status == "failed":
                return self.f.failure or Status.STEP_TOO_SMALL
            failure = self._finish()
            if failure is None:
                solver.h_abs = max(solver.h_abs, wanted) if solver.t == self.task.t_end else solver.h_abs
                return Status.OK
            shrunk = 0.2 * abs(solver.t - self.t)
            self.rejected += 1
            solver.t, solver.y, solver.f, solver.h_abs, solver.status = self.t, self.z, f_old, shrunk, "running"
            if self.task.fixed_step or shrunk < 10 * abs(np.nextafter(self.t, self.task.t_end) - self.t):
                return failure

    def _finish(self) -> Status | None:
        """Projects the end of the step and the requested times inside it, and moves there; or says what failed."""
        solver, task = self.solver, self.task
        if task.fixed_step and abs(solver.t - self.t) < 0.999 * min(task.fixed_step, abs(task.t_end - self.t)):
            return self.f.failure or Status.NOT_FINITE
        passed = len(self.z_times)
        way = (task.times[passed:] - solver.t) * task.direction
        inside, at_end = task.times[passed:][way < 0], int(np.sum(way == 0))
        try:
            between = np.atleast_2d(solver.dense_output()(inside).T) if len(inside) else []
            if self.f.failure:
                return self.f.failure
            z, defect = self._project(solver.t, solver.y)
            z_times = [self._project(time, state)[0] for time, state in zip(inside, between, strict=True)]
        except FAILURES as error:
            return _status_of(error)
        if not np.array_equal(z, solver.y):
            solver.y, solver.f = z, self.f(solver.t, z)
            if self.f.failure:
                return self.f.failure
        self.t, self.z, self.accepted, self.defect = solver.t, z, self.accepted + 1, max(self.defect, defect)
        self.z_times += z_times + [z] * at_end
        if task.keep_steps:
            self.t_steps.append(self.t)
            self.z_steps.append(z)
        return None

    def _project(self, t: float, z: Array) -> tuple[Array, float]:
        return (z, 0.0) if self.loop.project is None else self.loop.project(t, z, self.task.p)

    def leg(self, status: Status) -> Leg:
        """Everything so far."""
        nz = len(self.task.z0)
        return Leg(
            status=status,
            t=self.t,
            z=self.z.copy(),
            next_step=float(min(self.solver.h_abs, self.largest)) if self.solver else 0.0,
            z_times=np.array(self.z_times).reshape(-1, nz),
            statistics=Statistics(self.f.evaluations, self.accepted, self.rejected, self.defect),
            t_pieces=(np.array(self.t_steps),),
            z_pieces=(np.array(self.z_steps).reshape(-1, nz),),
        )
