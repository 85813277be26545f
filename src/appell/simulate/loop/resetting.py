"""The time loop of a system with resets: any other loop from each reset to the next.

    stretch     the loop takes some steps; interval bounds on their polynomials find the zeros of the guards
    reset       the stretch is repeated up to where the first guard falls through zero, and the state is mapped
    onward      as from a start: the mode is determined again

A guard triggers where it changes from positive to negative; its sign is carried over from stretch to stretch and through maps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.errors import AppellError, ModelError, Status
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.motion.zeros import JUMPED, REBOUND, Zeros, sign_before
from appell.normal_form.flow import Flow
from appell.simulate.loop.break_loop import BreakLoop
from appell.simulate.loop.guarded import RankedLoop
from appell.simulate.loop.reset_maps import MapRefused, mapped_state
from appell.simulate.loop.stretched_run import in_stretches, note_unbounded
from appell.simulate.loop.watched import WatchedExpressions, WatchedSteps

Array = NDArray[np.float64]

FIRST_STEPS_EXAMINED, MOST_STEPS_EXAMINED = 8, 4096
"""Number of steps examined together at first, and at most; it doubles each time. After a reset it is somewhat more than the
number of steps before it."""
GUARD_CORRECTIONS = 6
"""Newton iterations, each of which repeats the stretch, to end it on the zero of a guard."""
END_MOVED = 0.1
"""Fraction of a stretch by which the Newton iteration may move its end."""
RESETS_STALLED = 32
"""Successive resets without progress in time after which the run is stuck."""
RESETS_AT_ONE_TIME = 64.0
"""Spacings of the time between two resets below which no time has passed."""
SPACINGS_PAST_IMPACT = tuple(8.0**k for k in range(1, 9))
"""Spacings of the time by which a stretch may end after an impact in which a guard jumps over zero."""


class FallenGuard(NamedTuple):
    """A guard that falls through zero: its number, time and rate, 1/s; and whether it jumps over zero, in an impact."""

    number: int
    time: float
    rate: float
    jumps: bool


class _NoContinuation(Exception):
    """Raised where the motion cannot be continued from a reset."""


@dataclass(frozen=True, eq=False)
class ResetLoop:
    """`Loop` of a system with resets: `loop`, of the system without them and its `flow`, from each to the next."""

    loop: Loop
    compiled: Run
    flow: Flow

    def ranked(self, size: Array) -> ResetLoop:
        """The same with a rank guard; size: scales of the rows at the start of the run, (m,)."""
        inner = self.loop
        ranked = inner.ranked(size) if isinstance(inner, BreakLoop) else RankedLoop(inner, self.compiled.form, self.flow, size)
        return replace(self, loop=ranked)

    @cached_property
    def watched(self) -> WatchedExpressions:
        """The guards, by the names of their resets."""
        return WatchedExpressions(self.compiled, self.flow, {reset.name: reset.guard for reset in self.compiled.system.resets})

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        if task.t_end < task.t0:
            name = self.compiled.system.resets[0].name
            raise ModelError(
                f"with resets, time must run forward: the map of '{name}' gives the state after the event, not the one before"
            )
        yield from _ResetCourse(self, task, trace or task.trace()).traces()


def without_resets(loop: Loop) -> Loop:
    """The loop between two resets."""
    return loop.loop if isinstance(loop, ResetLoop) else loop


class _ResetCourse:
    """One run, from reset to reset."""

    def __init__(self, loop: ResetLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace, self.watched = loop, task, trace, loop.watched
        self.names = [reset.name for reset in loop.compiled.system.resets]
        self.count, self.chain, self.accepted = FIRST_STEPS_EXAMINED, 0, trace.statistics.accepted  # steps up to the last reset
        self.zero_at_begin: str | None = None  # the reset whose own guard is zero where the stretch begins
        self.reported: set[str] = set()
        self.rounding: float | Array = 0.0  # of the quantities in the guards, before and since the last reset
        self.rounding_since: float | Array = 0.0

    def traces(self) -> Iterator[Trace]:
        return in_stretches(self.trace, self.task.t_end, self._advance, _NoContinuation)

    # -- between resets --------------------------------------------------------------------------------------------------

    def _advance(self) -> Status:
        """Advances by a stretch, as a whole or up to the first guard that falls."""
        trace, task = self.trace, self.task
        work, failure = self._stretch(self.count)
        ends_here = failure is not None or work.status is not Status.MAX_STEPS or trace.statistics.accepted >= task.max_steps
        fallen, signs, pending = self._first_fallen(work)
        if fallen is not None:
            return self._reset_at(fallen, signs)
        if pending and not ends_here:  # the next stretch decides
            self.count *= 2
            return Status.OK
        if failure is not None:
            raise failure
        advanced = work.t != trace.t
        self._join(work)
        trace.signs.update(signs)
        self.zero_at_begin, self.chain = None if advanced else self.zero_at_begin, 0 if advanced else self.chain
        self.count = min(2 * self.count, MOST_STEPS_EXAMINED)
        if work.status is Status.MAX_STEPS and trace.statistics.accepted < task.max_steps:
            return Status.OK
        return work.status

    def _stretch(self, count: int, end: float | None = None) -> tuple[Trace, AppellError | None]:
        """A fork of the trace after `count` steps, or at an end; and the error that the loop raised, if any."""
        trace, task = self.trace, self.task
        work = trace.fork()
        work.modes = trace.modes[trace.modes_before_reset :]
        if end is None:
            task = replace(task, max_steps=min(task.max_steps, trace.statistics.accepted + count))
        else:
            passed = int(task.times.searchsorted(end, side="right"))
            times = task.times if end == task.t_end else task.times[: max(passed, trace.passed)]
            task = replace(task, t_end=end, times=times)
        try:
            for _ in self.loop.loop.run(task, work):
                pass
        except AppellError as error:  # a guard may have triggered before the error
            return work, error
        return work, None

    def _join(self, work: Trace) -> None:
        trace = self.trace
        work.modes = trace.modes[: trace.modes_before_reset] + work.modes
        trace.join(work)

    def _first_fallen(self, work: Trace) -> tuple[FallenGuard | None, dict[str, float], bool]:
        """The first guard that falls along a fork; the signs before it falls, or at the end of the fork; and whether a guard is
        zero at the end."""
        times = work.steps.view()[:, 0]
        watched = self.watched.along_steps(self.task, times, lambda t: self._states(t, float(times[-1])), self.rounding)
        zeros_of, fallen = dict[str, Zeros](), list[FallenGuard]()
        if not len(watched.steps.begin):
            return None, dict(self.trace.signs), False
        self._refuse_return(watched)
        self.rounding_since = np.maximum(self.rounding_since, watched.rounding)
        for k, name in enumerate(self.names):
            zeros = zeros_of[name] = watched.zeros(name, self.trace.signs.get(name, 0.0))
            if len(zeros.unbounded) and name not in self.reported:
                self._note_unbounded_guard(name, float(zeros.unbounded[0]))
            for i in np.flatnonzero((zeros.direction < 0) & (zeros.kind != REBOUND))[:1]:
                rate = watched.rate(name, int(zeros.step[i]), float(zeros.s[i])).value
                fallen.append(FallenGuard(k, float(zeros.time[i]), rate, str(zeros.kind[i]) == JUMPED))
        first = min(fallen, key=lambda guard: guard.time, default=None)
        signs = {name: zeros.sign if first is None else sign_before(zeros, first.time) for name, zeros in zeros_of.items()}
        return first, signs, any(zeros.pending for zeros in zeros_of.values())

    def _states(self, times: Array, end: float) -> Array:
        """States of the stretch at other times, by repeating it: (k, nz)."""
        run_trace = self.trace
        if not len(times):
            return np.zeros((0, self.loop.flow.nz))
        repeat = run_trace.without_past(len(times))
        repeat.modes = run_trace.modes[run_trace.modes_before_reset :]
        task = replace(self.task, t_end=end, times=times, keep_steps=False)
        for _ in self.loop.loop.run(task, repeat):
            if repeat.passed == len(times):
                break
        if repeat.passed < len(times):  # cannot happen: the steps are the same
            raise AppellError(f"the run could not be repeated between t = {times[0]:.6g} and {times[-1]:.6g}")
        return repeat.z_times

    def _refuse_return(self, watched: WatchedSteps) -> None:
        """Refuses a guard that is zero after its own map and falls again without having been positive: infinitely many resets
        would follow each other."""
        name = self.zero_at_begin
        if name is None:
            return
        self.zero_at_begin = None
        rate = watched.rate(name, 0, -1.0)
        if rate.value < -rate.noise:
            return
        falls = lambda sign: int((watched.zeros(name, sign).direction < 0).sum())
        if falls(1.0) > falls(0.0):
            raise _NoContinuation(
                f"reset '{name}' triggers again at once at t = {self.trace.clock:.9g}: after its map the guard is zero and"
                " falls again without having been positive, so infinitely many resets would follow; for a body that comes to"
                " rest on another use ap.Unilateral"
            )

    def _note_unbounded_guard(self, name: str, time: float) -> None:
        self.reported.add(name)
        note_unbounded(self.trace, f"the guard of reset '{name}'", time, "reset")

    # -- at a reset ------------------------------------------------------------------------------------------------------

    def _reset_at(self, fallen: FallenGuard, signs: dict[str, float]) -> Status:
        """Advances to the zero of a guard, and applies its map and those of the guards that it makes negative.

        signs: of all guards before it. Another guard may be zero at the same instant, where its sign cannot be read.
        """
        trace, name = self.trace, self.names[fallen.number]
        status = self._reach_guard(fallen)
        if status is not Status.OK:
            return status
        self.rounding, self.rounding_since = np.maximum(self.rounding_since, 0.0), 0.0
        signs_here = self.watched.signs_at(self.task, trace.t, trace.z, self.rounding)
        if trace.t == self.task.t_end and signs_here[name] > 0:
            return Status.OK  # it falls beyond the end
        elapsed = trace.t - (trace.resets[-1].time if trace.resets else -np.inf)
        self.chain = self.chain if elapsed <= RESETS_AT_ONE_TIME * np.spacing(abs(trace.t)) else 0
        trace.signs.update(signs)
        self._store_signs(signs_here)
        number: int | None = fallen.number
        while number is not None:
            self.chain += 1
            if self.chain > RESETS_STALLED:
                raise _NoContinuation(
                    f"resets trigger each other without end at t = {trace.clock:.9g}: '{self.names[number]}' is the last of"
                    f" {RESETS_STALLED} at one instant"
                )
            number = self._apply_map(number)
        return Status.OK

    def _store_signs(self, signs_here: dict[str, float], just_reset: str = "") -> None:
        """Stores the signs of the guards from here on; a guard that jumped from positive to negative still has to trigger.

        just_reset: the name of the reset whose map was applied; its guard starts anew with any sign."""
        signs = self.trace.signs
        for name, sign in signs_here.items():
            if name == just_reset or (sign and not (sign < 0 < signs.get(name, 0.0))):
                signs[name] = sign

    def _reach_guard(self, fallen: FallenGuard) -> Status:
        """Advances the trace to the zero of a guard: to its time on the polynomial, then by Newton's iteration."""
        trace, task, name, time = self.trace, self.task, self.names[fallen.number], fallen.time
        if fallen.jumps:
            return self._pass_jump(name, max(time, trace.t))
        if time <= trace.t:
            return Status.OK
        for _ in range(GUARD_CORRECTIONS):
            work, failure = self._stretch(0, min(time, task.t_end))
            if failure is not None or work.status is not Status.OK or not fallen.rate < 0:
                break
            g = self.watched.value_at(name, task, work.t, work.z)
            up = self.watched.signs_at(task, work.t, work.z, self.rounding_since)[name] > 0
            dt = -g / fallen.rate if not up else max(-g / fallen.rate, 2 * np.spacing(abs(time)))
            if (time + dt == time or abs(dt) <= np.spacing(abs(time))) and not up:
                break
            if abs(dt) > END_MOVED * abs(time - trace.t) or not trace.t < time + dt <= task.t_end:
                break
            time += dt
        return self._end_at(min(time, task.t_end))

    def _pass_jump(self, name: str, time: float) -> Status:
        """Advances the trace past the impact in which a guard jumps over zero. An impact within the rounding of the gap before
        the end of a stretch is left to the next one, so the end moves on until the guard has jumped."""
        for spacings in SPACINGS_PAST_IMPACT:
            end = min(time + spacings * np.spacing(abs(time)), self.task.t_end)
            work, failure = self._stretch(0, end)
            final = failure is not None or work.status is not Status.OK or end == self.task.t_end
            if final or not self.watched.signs_at(self.task, work.t, work.z, self.rounding_since)[name] > 0:
                break
        return self._end_at(end)

    def _end_at(self, time: float) -> Status:
        work, failure = self._stretch(0, time)
        if failure is not None:
            raise failure
        self._join(work)
        return work.status

    def _apply_map(self, number: int) -> int | None:
        """Applies a reset to the trace, which continues as from a start; returns the next reset, if it triggers one."""
        trace, run, name = self.trace, self.loop.compiled, self.names[number]
        try:
            finest = float(np.min(self.task.atol))
            event = mapped_state(run, number, trace.t, trace.z, finest, has_work=self.loop.flow.has_work)
        except MapRefused as reason:
            raise _NoContinuation(f"{reason} (t = {trace.clock:.9g})") from None
        trace.resets.append(event)
        trace.z[:] = event.loop_state
        trace.keep()
        trace.change_times(self.task.times)
        trace.restart()
        signs_here = self.watched.signs_at(self.task, trace.t, trace.z, self.rounding)
        self._store_signs(signs_here, name)
        self.zero_at_begin = name if signs_here[name] == 0 else None
        self.count = min(FIRST_STEPS_EXAMINED + (trace.statistics.accepted - self.accepted) * 5 // 4, MOST_STEPS_EXAMINED)
        self.accepted = trace.statistics.accepted
        down = (k for k, guard in enumerate(self.names) if signs_here[guard] < 0 < trace.signs.get(guard, 0.0))
        return next(down, None)


__all__ = ["ResetLoop", "without_resets"]
