"""The time loop of a system with breaks (`appell.model.breaks`): any other loop from each break to the next.

    stretch     the loop runs to the next break, or to the end, as to any end; branches are selected inside the stretch
    break       a potential that jumps does work, walls and rows are checked, and the mode is determined again

A break is an ordinary end of a step, so every method, back end and mode supports it; no step evaluates both sides of one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from appell.compiled.branching import TimeBranches, inside
from appell.errors import ModelError, Status
from appell.loop.in_c import CLoop
from appell.loop.in_python import SECONDS_PER_YIELD
from appell.loop.methods.stiff import StiffLoop
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.normal_form.flow import Flow
from appell.simulate.control.holds import Holds
from appell.simulate.loop.guarded import RankedLoop
from appell.simulate.loop.jump_sentence import jumped_sentence

Array = NDArray[np.float64]

@dataclass(frozen=True, eq=False)
class BreakLoop:
    """`Loop` of a system with breaks: `loop`, of the branched system and its `flow`, from each break to the next."""

    loop: Loop
    branches: TimeBranches
    flow: Flow

    def ranked(self, size: Array) -> BreakLoop:
        """The same with a rank guard; size: scales of the rows at the start of the run, (m,)."""
        return replace(self, loop=RankedLoop(self.loop, self.branches.run.form, self.flow, size))

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        yield from _BrokenRun(self, task, trace or task.trace()).traces()


class _BrokenRun:
    """One run, from stretch to stretch."""

    def __init__(self, loop: BreakLoop, task: Task, trace: Trace):
        self.loop, self.branches, self.trace = loop, loop.branches, trace
        self.p_given, self.p = task.p, np.array(self.branches.parameters(task.p, task.t0))
        self.task, self.times = replace(task, p=self.p), task.direction * task.times
        inner = loop.loop
        self.smooth = isinstance(inner.loop if isinstance(inner, RankedLoop) else inner, CLoop)  # neither walls nor friction
        self.works = self.branches.depends("V") and loop.flow.has_work
        self.watched = [name for name in ("g", "f0", "f1") if self.branches.depends(name)]
        self.holds: Holds | None = None
        self.located = self.branches.located(task.t0, task.t_end, self.p)

    def traces(self) -> Iterator[Trace]:
        task, trace, answered = self.task, self.trace, perf_counter()
        began, crossed = trace.branch_time, Status.OK
        end = self._enter()
        if began is not None and self._following(began) != self._following(trace.t):
            # the previous part of the run ended at a break
            crossed = self._cross(self.branches.parameters(self.p_given, began))
        status = crossed if crossed is not Status.OK else (yield from self._run(end))
        while status is Status.OK and trace.t != task.t_end:
            p_before = self.p.copy()
            end = self._enter()
            status = self._cross(p_before)
            if status is not Status.OK:
                break
            if not self._holds(end):
                status = yield from self._run(end, kept=True)
            if perf_counter() - answered > SECONDS_PER_YIELD:
                self._leave_holds()
                yield trace.ended(Status.BUFFER_FULL)
                answered = perf_counter()
        self._leave_holds()
        yield trace.ended(status)

    def _enter(self) -> float:
        """Selects the branches of the stretch that begins here, and returns its end."""
        task, t = self.task, self.trace.t
        following = self._following(t)
        end = following if task.direction * (following - task.t_end) < 0 else task.t_end
        time: float = inside(t, end)
        self.trace.branch_time = time
        self.branches.decide(self.p, time)
        return end

    def _following(self, t: float) -> float:
        """The next break after t, in the direction of the run."""
        nearest, direction = self.branches.following(t, self.p, self.task.direction), self.task.direction
        if len(self.located):
            k = int((direction * self.located).searchsorted(direction * t, side="right"))
            nearest = (
                direction * min(direction * nearest, direction * float(self.located[k])) if k < len(self.located) else nearest
            )
        return nearest

    def _times_passed(self, end: float) -> int:
        """Requested times before the end of a stretch; those at a break belong to the stretch after it."""
        direction, side = self.task.direction, "right" if end == self.task.t_end else "left"
        return int(self.times.searchsorted(direction * end, side=side))

    def _run(self, end: float, *, kept: bool = False) -> Generator[Trace, None, Status]:
        """Runs to the end of a stretch by the loop itself, yielding on the way; kept: whether its start is stored as a step."""
        task, trace, loop = self.task, self.trace, self.loop.loop
        self._leave_holds()
        if kept and self.branches.jumping:
            trace.keep()
        if isinstance(loop, StiffLoop):
            fraction = abs(end - trace.t) / abs(task.t_end - task.t0) if task.t_end != task.t0 else 1.0
            loop = replace(loop, points=2 + int(fraction * loop.points))
        passed = self._times_passed(end)
        times = task.times if end == task.t_end else task.times[:passed]
        for _ in loop.run(replace(task, t_end=end, times=times, p=self.p), trace):
            if trace.status is Status.BUFFER_FULL:
                yield trace
        return trace.status

    def _holds(self, end: float) -> bool:
        """Whether the end of a stretch was reached in one compiled call with memory allocated once."""
        if not self.smooth:
            return False
        if self.holds is None:
            loop, task = self.loop.loop, self.task
            if isinstance(loop, RankedLoop):
                loop, task = loop.loop, task.watching(loop.size)
            self.holds = Holds(loop, task, self.trace, self.p, np.inf)
        return self.holds.reach(end, self._times_passed(end))

    def _leave_holds(self) -> None:
        """Ends the compiled calls with memory allocated once, and appends what they did to the trace."""
        if self.holds is not None:
            self.holds.leave()

    # -- at a break ----------------------------------------------------------------------------------------------------

    def _cross(self, p_before: Array) -> Status:
        """Passes a break, from the branches with the parameters before it to those after it; JUMP if no motion can follow."""
        trace, form = self.trace, self.branches.run.form
        if not self.branches.jumping:
            return Status.OK
        trace.breaks.append(trace.t)
        trace.p_before_jump = p_before
        if not self.works and not self.watched:
            return Status.OK
        q, v = self._state(p_before)
        if self.works:
            potential = form.select("V")
            V_after, V_before = (float(potential(trace.t, q, v, p)["V"]) for p in (self.p, p_before))
            trace.z[-1] += V_after - V_before
        z = np.concatenate([q, v])
        run, since = self.branches.run, self.task.t0
        if (jump := jumped_sentence(run, trace.t, z, p_before, self.p, since=since, watched=self.watched)) is not None:
            trace.failure = ModelError(jump)
            return Status.JUMP
        return Status.OK

    def _state(self, p: Array) -> tuple[Array, Array]:
        """The current (q, v)."""
        flow, trace = self.loop.flow, self.trace
        if flow.minimal:
            state = flow.expand(trace.t, trace.z, p)
            return state["q"], state["v"]
        return trace.z[: flow.nq].copy(), trace.z[flow.nq : flow.nq + flow.nu].copy()


__all__ = ["BreakLoop"]
