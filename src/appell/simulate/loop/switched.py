"""The time loop of a system whose forces depend on conditions (`appell.model.sides`): any other loop from surface to surface.

    stretch     some steps of the loop of the system with sides; everything is smooth while no side changes
    look        interval bounds on the polynomials of the steps find the first surface that is crossed (`surfaces`)
    crossing    the stretch is repeated up to it, its side changes, and positions and velocities continue unchanged
    no way on   if both sides push the motion onto a surface, it leaves it to neither: the run ends there, and says so

A crossing is an ordinary end of a step, so every method, back end and mode supports it, forwards and backwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.errors import Status
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.modes.events import Kind
from appell.normal_form.flow import Flow
from appell.simulate.loop.jump_sentence import jumped_sentence
from appell.simulate.loop.stretched_run import in_stretches
from appell.simulate.loop.surfaces import NODES_AT, ON_SURFACE, CrossedSurface, SideRun, StepPolynomials, both_push, unresolved
from appell.simulate.loop.wall_edges import edge_sentence

Array = NDArray[np.float64]

STEPS_OF_STRETCH = 256
"""Most steps of a stretch; after each crossing it grows from one."""
STRETCH_CORRECTIONS = 4
"""Newton iterations, each of which repeats the stretch, to end it on a surface."""
END_CORRECTION = 0.1
"""Fraction of a stretch by which the Newton iteration may move its end."""
NOT_ON_SURFACE = 0.1
"""Fraction of a guard before a stretch that was to end on its surface, above which the end is not on the surface."""
MUCH_SHORTER = 1e-6
"""Fraction of a fixed step with which a motion leaves a surface on the right side even if the step resolves nothing."""
STEP_AFTER_CROSSING = 10.0
"""Longest step after a crossing, as a multiple of the time since the previous one: rounding of a long polynomial would hide
early events."""
CROSSINGS_AT_ONE_TIME = 64
"""Successive crossings without progress in time after which the run is stuck."""
NO_TIME_PASSED = 64.0
"""Rounding units of the time between two crossings below which no time has passed."""


@dataclass(frozen=True, eq=False)
class SwitchLoop:
    """`Loop` of a system with surfaces: `loop`, of the system with sides and its `flow`, from each surface to the next."""

    loop: Loop
    sides: SideRun
    flow: Flow

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        yield from _SwitchedRun(self, task, trace or task.trace()).traces()


class _StuckOnSurface(Exception):
    """Raised where the motion cannot be continued from a surface."""


class _SidedStep(NamedTuple):
    """A step with some sides that leads to them. leaves: for each surface on which it begins 1, or 0 if it stays on it;
    begins_on: the surfaces on which it begins, (n,)."""

    sides: Array
    leaves: Array
    steps: StepPolynomials | None
    begins_on: NDArray[np.bool_]

    @property
    def least(self) -> float:
        return float(self.leaves.min(initial=1.0))


class _SwitchedRun:
    """One run, from surface to surface."""

    def __init__(self, loop: SwitchLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace, self.sides = loop, task, trace, loop.sides
        self.guards, self.surfaces = self.sides.guards, self.sides.surfaces
        form = self.sides.run.form
        self.n = form.nq + form.nv
        self.atol = np.resize(np.asarray(task.atol)[: self.n], self.n)
        self.level = np.zeros(len(self.surfaces))
        self.count, self.standing, self.crossed = 1, 0, -np.inf
        self.standing_on: set[int] = set()

    # -- the run ---------------------------------------------------------------------------------------------------------

    def traces(self) -> Iterator[Trace]:
        return in_stretches(self.trace, self.task.t_end, self._advance, _StuckOnSurface, self._arrive)

    def _advance(self) -> Status:
        """Advances by a stretch, as a whole or up to the first surface that is crossed."""
        trace, task = self.trace, self.task
        work = self._stretch(self.count)
        steps = self._polynomials(work)
        hit = None if steps is None else self.guards.first_crossed(steps, self.p, self.level, self.atol)
        if hit is None:
            self._join(work)
            self.count, self.level[:] = min(2 * self.count, STEPS_OF_STRETCH), 0.0
            if work.status is Status.MAX_STEPS and trace.statistics.accepted < task.max_steps:
                return Status.OK
            return work.status
        if not hit.beyond:
            return self._cross(hit)
        if hit.step:  # velocities jump at the end of a step before it
            self.count = min(hit.step, max(1, self.count - 1))
        else:
            self._no_time_passed(hit.surface)
            self._arrive()
        return Status.OK

    def _stretch(self, count: int, end: float | None = None, p: Array | None = None, task: Task | None = None) -> Trace:
        """A fork of the trace after `count` steps, or at an end."""
        trace, task = self.trace, task or self.task
        work = trace.fork()
        if end is None:
            task = replace(task, p=self.p if p is None else p, max_steps=min(task.max_steps, trace.statistics.accepted + count))
        else:
            passed = int((task.direction * task.times).searchsorted(task.direction * end, side="right"))
            times = task.times if end == task.t_end else task.times[: max(passed, trace.passed)]
            task = replace(task, p=self.p if p is None else p, t_end=end, times=times)
        for _ in self.loop.loop.run(task, work):
            pass
        return work

    def _join(self, work: Trace) -> None:
        """Joins a fork, or only its part up to an impact on an edge, where the run ends."""
        trace, rows = self.trace, work.steps.view()
        for event in work.events.joined() if self.sides.has_edges else ():
            if event["kind"] != Kind.IMPACT:
                continue
            time = float(event["time"])
            z = rows[np.argmin(np.abs(rows[:, 0] - time)), 1:]
            state = self._states(np.array([[time]]), z[None, None], self.p)[0, 0]
            assert trace.sides is not None
            edge = edge_sentence(self.sides, time, state, self.task.p, trace.sides, int(event["face"]), self.atol)
            if edge is not None:
                if time != trace.t:
                    trace.join(self._stretch(0, time))
                raise _StuckOnSurface(edge)
        trace.join(work)

    def _polynomials(self, work: Trace, p: Array | None = None, task: Task | None = None) -> StepPolynomials | None:
        """The polynomials of the steps of a fork, from its states and those inside the steps, which are repeated."""
        p, rows = self.p if p is None else p, work.steps.view()
        begins = np.flatnonzero(rows[1:, 0] != rows[:-1, 0])
        if not len(begins):
            return None
        begin, end = rows[begins, 0], rows[begins + 1, 0]
        node_times = begin[:, None] + (end - begin)[:, None] * (1 + NODES_AT) / 2
        times = node_times[:, 1:-1]
        repeat = self.trace.without_past(times.size)
        task = replace(task or self.task, p=p, t_end=float(rows[-1, 0]), times=times.ravel(), keep_steps=False)
        for _ in self.loop.loop.run(task, repeat):
            pass
        complete = repeat.passed // (len(NODES_AT) - 2)
        if not complete:
            return None
        inner = repeat.z_times[: complete * (len(NODES_AT) - 2)].reshape(complete, len(NODES_AT) - 2, -1)
        z = np.concatenate([rows[begins[:complete], None, 1:], inner, rows[begins[:complete] + 1, None, 1:]], axis=1)
        return StepPolynomials.through(self._states(node_times[:complete], z, p), begin[:complete], end[:complete])

    def _states(self, t: Array, z: Array, p: Array) -> Array:
        """(q, v) of states z of the loop, (k, m, nz)."""
        flow = self.loop.flow
        if not flow.minimal:
            return z[:, :, : self.n]
        flat = z.reshape(-1, z.shape[-1])
        return np.hstack(vm_function(flow.expand).batch(t.ravel(), flat, p)).reshape(*z.shape[:2], -1)

    # -- surfaces --------------------------------------------------------------------------------------------------------

    @property
    def p(self) -> Array:
        assert self.trace.sides is not None
        return self.sides.parameters(self.task.p, self.trace.sides)

    def _state(self) -> Array:
        """The current (q, v), (1, nq + nv)."""
        return self._states(np.array([[self.trace.t]]), self.trace.z[None, None], self.p)[0]

    def _noise(self, t: float, z: Array, p: Array, rate: Array) -> Array:
        """Noise of the guards at one state, (n,); rate: ż of (q, v)."""
        return self.guards.noise(np.array([t]), z[None], p, self.atol, np.abs(rate)[None])[0]

    def _arrive(self) -> None:
        """Finds the sides on which the run starts, unless they are known."""
        trace, count = self.trace, len(self.sides.places)
        if trace.sides is None:
            trace.sides = np.ones(count)
        edges = {surface.side: surface.edge for surface in self.surfaces}
        edge = np.array([edges[side] or 1.0 for side in self.sides.places])
        stepwise = np.array([any(s.step for s in self.surfaces if s.side == side) for side in self.sides.places])
        z, t = self._state(), np.array([trace.t])
        nq = self.guards.nq
        for _ in range(count):  # a condition may be made of others, which come before it
            values = vm_function(self.guards.first).batch(t, z[:, :nq], z[:, nq:], self.p[None])[0][0]
            trace.sides = np.where((values == 0) & ~stepwise, edge, values)
        noise = self.guards.noise(t, z, self.p, self.atol, np.zeros_like(z))[0]
        near = np.abs(self.guards.values(t, z, self.p[None])[0]) <= ON_SURFACE * noise
        # by a break in time, which knows no sides
        if trace.p_before_jump is not None and len(trace.p_before_jump) == len(self.task.p):
            trace.p_before_jump = self.sides.parameters(trace.p_before_jump, trace.sides)
        if near.any() and trace.t != self.task.t_end:
            self._settle({int(i) for i in np.flatnonzero(near)}, arrived=False)

    def _cross(self, hit: CrossedSurface) -> Status:
        """Moves onto the surface and to its other side."""
        trace, guard_before = self.trace, self._guard(hit.surface)
        status = self._reach_surface(hit)
        if status is not Status.OK or trace.t == self.task.t_end:
            return status
        if (step := self.task.fixed_step) is not None:
            self._confirm_on_surface(hit.surface, guard_before, step)
        duration, at_once = abs(trace.t - self.crossed), self._no_time_passed(hit.surface)
        if trace.next_step is not None and not at_once:
            trace.next_step = min(trace.next_step, STEP_AFTER_CROSSING * duration)
        on = {*self.standing_on, hit.surface} if at_once else {hit.surface}
        p, surface = self.p, self.surfaces[hit.surface]
        k = int(self.sides.number[hit.surface])
        assert trace.sides is not None
        trace.sides = trace.sides.copy()
        trace.sides[k] = surface.after(float(trace.sides[k]))
        trace.keep()
        self._settle(on, arrived=True)
        origin, z = {"since": self.task.t0, "where": surface.text}, self._state()[0]
        if (jump := jumped_sentence(self.sides.run, trace.t, z, p, self.p, **origin)) is not None:
            raise _StuckOnSurface(jump)
        trace.p_before_jump, self.count = p, 1
        return Status.OK

    def _guard(self, surface: int) -> float:
        """A guard above its level at the current state."""
        value = self.guards.values(np.array([self.trace.t]), self._state(), self.p[None])[0][surface]
        return float(value - self.level[surface])

    def _confirm_on_surface(self, surface: int, guard_before: float, step: float) -> None:
        """Raises if the state is not on the surface: the polynomial of a fixed step that does not resolve the motion shows
        crossings that shorter steps do not meet. guard_before: its value before the stretch."""
        z, t = self._state()[0], self.trace.t
        noise = ON_SURFACE * self._noise(t, z, self.p, np.zeros(len(z)))[surface]
        if not abs(self._guard(surface)) <= max(noise, NOT_ON_SURFACE * abs(guard_before)):
            raise _StuckOnSurface(unresolved(step, self.surfaces[surface].text))

    def _no_time_passed(self, surface: int) -> bool:
        """Whether no time has passed since the last change of sides; raises if that happens too often."""
        at_once = abs(self.trace.t - self.crossed) <= NO_TIME_PASSED * np.spacing(abs(self.trace.t))
        self.standing, self.crossed = (self.standing + 1 if at_once else 0), self.trace.t
        if self.standing > CROSSINGS_AT_ONE_TIME:
            raise _StuckOnSurface(both_push(self.surfaces[surface].text))
        return at_once

    def _reach_surface(self, hit: CrossedSurface) -> Status:
        """Advances the trace onto the surface that is crossed: to its time on the polynomial, then by Newton's iteration."""
        trace, direction, time = self.trace, self.task.direction, hit.time
        begin, end = direction * trace.t, direction * self.task.t_end
        for _ in range(STRETCH_CORRECTIONS):
            if not begin < direction * time < end:
                break
            work = self._stretch(0, time)
            if work.status is not Status.OK:
                self._join(work)
                return work.status
            z = self._states(np.array([[work.t]]), work.z[None, None], self.p)[0]
            c = float(self.guards.values(np.array([work.t]), z, self.p[None])[0][hit.surface]) - self.level[hit.surface]
            dt = -c / hit.rate if hit.rate else 0.0
            if time + dt == time or abs(dt) > END_CORRECTION * abs(time - trace.t):
                break
            time += dt
        else:
            work = self._stretch(0, time) if begin < direction * time < end else work
        if begin < direction * time < end:
            self._join(work)
        elif direction * time >= end:  # beyond the end by rounding
            work = self._stretch(0, self.task.t_end)
            self._join(work)
            return work.status
        return Status.OK

    def _settle(self, on: set[int], *, arrived: bool) -> None:
        """The sides from here on, for the surfaces on which the state lies: those to which a step taken with them leads."""
        trace = self.trace
        ways: list[_SidedStep] = []
        for sides, numbers in self._choices(on):
            way = self._step_with_sides(sides, numbers)
            if way is not None:
                ways.append(way)
                if arrived and (way.leaves > 0).all():
                    break
        if not ways:
            raise _StuckOnSurface(self._why_stuck(on))
        best = max(ways, key=lambda candidate: candidate.least)
        rivals = [candidate for candidate in ways if candidate is not best and candidate.least == best.least]
        if rivals and not arrived and self._diverge(best.steps, rivals[0].steps) and not all(self.surfaces[i].edge for i in on):
            raise _StuckOnSurface(self._ambiguous_start(min(on)))
        trace.sides = best.sides
        z, t = self._state(), np.array([trace.t])
        self.level = np.where(best.begins_on, np.minimum(self.guards.values(t, z, self.p[None])[0], 0.0), 0.0)
        self.standing_on = on

    def _why_stuck(self, on: set[int]) -> str:
        """Why no side leads on: both push onto the surface, unless a much shorter step leaves it."""
        step, text = self.task.fixed_step, self.surfaces[min(on)].text
        if step is None:
            return both_push(text)
        short_task = replace(self.task, fixed_step=MUCH_SHORTER * step)
        leads = any(self._step_with_sides(sides, numbers, short_task) is not None for sides, numbers in self._choices(on))
        return unresolved(step, text) if leads else both_push(text)

    def _choices(self, on: set[int]) -> list[tuple[Array, list[int]]]:
        """All sides that may hold at the state, the current ones first, each with the numbers of those that were chosen.

        Both values of a side are possible on its surface. A side that is made of others, as of floor(x) in Mod(x, L) < a,
        follows from theirs: where floor(x) changes, Mod(x, L) jumps, and its condition may change far from its surface.
        """
        current = self.trace.sides
        assert current is not None
        numbers = sorted({int(self.sides.number[i]) for i in on})
        free = [k for k in numbers if k not in self.sides.made_of_others]
        choices = []
        for values in product(*(self._options(k, float(current[k]), on) for k in free)):
            sides = current.copy()
            sides[free] = values
            choices.append((sides, free))
        for k in self.sides.made_of_others:
            choices = [(followed, [*chosen, k]) for sides, chosen in choices for followed in self._dependent_sides(k, sides)]
        return choices

    def _dependent_sides(self, k: int, sides: Array) -> list[Array]:
        """The sides with number k as it follows from those before it; both of its values if the state lies on its surface."""
        t, z = np.array([self.trace.t]), self._state()
        p = self.sides.parameters(self.task.p, sides)[None]
        followed, own_surfaces = sides.copy(), np.flatnonzero(self.sides.number == k)
        value = float(vm_function(self.guards.first).batch(t, z[:, : self.guards.nq], z[:, self.guards.nq :], p)[0][0, k])
        surface = self.surfaces[own_surfaces[0]]
        followed[k] = value if surface.step else value or surface.edge or 1.0
        p = self.sides.parameters(self.task.p, followed)
        noise = self.guards.noise(t, z, p, self.atol, np.zeros_like(z))[0]
        near = {int(i) for i in own_surfaces if abs(self.guards.values(t, z, p[None])[0][i]) <= ON_SURFACE * noise[i]}
        results = []
        for option in self._options(k, float(followed[k]), near):
            results.append(followed.copy())
            results[-1][k] = option
        return results

    def _options(self, k: int, value: float, on: set[int]) -> list[float]:
        """The values of a side that meet at the state, with the current one first."""
        return [value, *dict.fromkeys(self.surfaces[i].after(value) for i in on if self.sides.number[i] == k)]

    def _step_with_sides(self, sides: Array, numbers: list[int], task: Task | None = None) -> _SidedStep | None:
        """A step with some sides; None if it leads to others. task: that of the run, by default."""
        p = self.sides.parameters(self.task.p, sides)
        work = self._stretch(1, p=p, task=task)
        steps = self._polynomials(work, p, task)
        chosen = np.isin(self.sides.number, numbers)
        t, z = np.array([self.trace.t]), self._state()
        c = self.guards.values(t, z, p[None])[0]
        if steps is None:
            return _SidedStep(sides, np.zeros(1), None, np.ones(len(c), dtype=bool)) if work.status is not Status.OK else None
        begin = steps.inside(np.zeros(1, dtype=np.intp), -np.ones(1))
        noise = self._noise(self.trace.t, z[0], p, begin.speed[0])
        near = np.abs(c) <= 2 * ON_SURFACE * noise
        if (chosen & (c < 0) & ~near).any():
            return None
        leaves = self.guards.leaving(steps, p, noise)[chosen & near]
        return None if (leaves < 0).any() else _SidedStep(sides, leaves, steps, near)

    def _diverge(self, first: StepPolynomials | None, other: StepPolynomials | None) -> bool:
        """Whether steps on the two sides lead to different states."""
        if first is None or other is None:
            return first is not other
        h = 2 * min(abs(first.h[0]), abs(other.h[0]))
        states_at = (steps.inside(np.zeros(1, dtype=np.intp), np.array([h / abs(steps.h[0]) - 1])) for steps in (first, other))
        a, b = (states.z[0] for states in states_at)
        return bool((np.abs(a - b) > self.atol + self.task.rtol * np.maximum(np.abs(a), np.abs(b))).any())

    def _ambiguous_start(self, surface: int) -> str:
        """Why a start on a surface is refused: the motion may leave it on either side."""
        return (
            f"the start is on {self.surfaces[surface].text} = 0, where a force jumps, and the motion can leave it on either"
            " side: which one is not determined; start off it"
        )


__all__ = ["SwitchLoop"]
