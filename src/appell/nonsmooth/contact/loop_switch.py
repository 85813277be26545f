"""The Python twin of `switch.c.in`: steps of the plain loop, split where a face is met.

It tries a step of the plain loop, bounds the distances g and samples the reactions Λ inside it, and keeps all of it or the part
up to the first crossing. It is not written for speed: states inside a step are found by stepping to them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from appell.errors import SingularConfiguration, Status
from appell.loop.in_python import PyLoop
from appell.loop.task import Task
from appell.loop.trace import Trace
from appell.modes.contact_thresholds import (
    ACCUMULATION_AHEAD,
    ACCUMULATION_DOUBLINGS,
    ACCUMULATION_FROM,
    CROSSINGS_STALLED,
    CUBIC_STEP_SAFETY,
    DIP_SAMPLES,
    REACTION_ROUNDING,
    STEP_GROWTH,
)
from appell.modes.endings import Ending
from appell.modes.events import Kind
from appell.modes.gap_floor import floor_of
from appell.modes.mode import FLIGHT, FREE, Mode
from appell.nonsmooth.contact.contact import Instant, newton_impact
from appell.nonsmooth.contact.contact_functions import gap_functions, reaction_guards
from appell.nonsmooth.contact.contact_loop import contact_loop
from appell.nonsmooth.contact.step_guards import (
    REACTION_SAMPLES,
    Guards,
    ReactionSamples,
    StepCrossing,
    face_root,
    lowest_point,
    root_of,
)
from appell.nonsmooth.criteria import (
    flight_unseen,
    gap_touch,
    just_below,
    lifts_off,
    met_together,
    rate_is_rounding,
    reaction_may_end,
    reaction_may_vary,
    sooner_and_faster,
    unaffected_rate,
    usual_step,
)
from appell.normal_form import NormalForm
from appell.roots.guard import GuardAlong, GuardRoot, StepPolynomial
from appell.roots.solved_guards import isolating_times
from appell.rows import Policy

Array = NDArray[np.float64]


class _StatesMissing(Exception):
    """Raised when a state inside a step cannot be projected onto the constraints; status: why."""

    def __init__(self, status: Status):
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, eq=False)
class PySwitchLoop:
    """Steps of `loop`, split where a face is crossed. Impacts happen here; other changes of mode return SWITCH."""

    loop: PyLoop
    form: NormalForm
    policy: Policy
    mode: Mode = FLIGHT
    blows_outside: bool = False  # whether impacts are left to the caller

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        yield from _Flight(self, task, trace or task.trace()).traces()


class _Flight:
    """One run of a `PySwitchLoop`, from the current state (t, z) of its trace; h: size of the next step.

    states: the guard of each face, see `modes.mode`; free: the open faces. touching: whether the state lies on each face.
    level: what counts as zero of each guard in this step, as rounding may start it below. reaction_samples: of the step
    just tried. standing: crossings since time last moved on. switch: why it stops.
    """

    def __init__(self, owner: PySwitchLoop, task: Task, trace: Trace):
        self.owner, self.task, self.trace = owner, task, trace
        self.floor = floor_of(np.asarray(task.atol), owner.form.nq)
        if len(task.z0) > owner.form.nq + owner.form.nv:
            self.task = replace(task, atol=owner.mode.weights(np.asarray(task.atol)))
        self.loop = contact_loop(owner.loop, owner.form, owner.mode.closed, self.floor)
        self.t, self.z, self.h = trace.t, trace.z.copy(), trace.next_step
        self.n = owner.form["g"].numel()
        self.states = owner.mode.states(self.n)[: self.n]
        self.free = [i for i in range(self.n) if self.states[i] == FREE]
        self.touching = [i in trace.touching for i in range(self.n)]
        self.switch: tuple[int, Ending] | None = None
        self.standing, self.longest_recent_step = 0, 0.0
        self.reaction_samples: dict[int, ReactionSamples] = {}
        self.level = np.zeros(self.n)

    def traces(self) -> Iterator[Trace]:
        """The trace at the end of the run, or where its mode ends."""
        status, trace = Status.OK, self.trace
        while status is Status.OK and self.t != self.task.t_end:
            status = Status.MAX_STEPS if trace.statistics.accepted >= self.task.max_steps else self._step()
        trace.next_step = self.h
        trace.touching = {i for i in self.free if self.touching[i]}
        trace.switch = self.switch if status is Status.SWITCH else None
        yield trace.ended(status)

    # -- guards --------------------------------------------------------------------------------------------------------

    def _instant(self, t: float, z: Array) -> Instant:
        """A state with its faces."""
        form = self.owner.form
        return Instant.at(form, t, z[: form.nq].copy(), z[form.nq : form.nq + form.nv].copy(), self.task.p, self.floor)

    def guards(self, t: float, z: Array) -> Guards:
        """The guards of all faces at a state."""
        at, closed = self._instant(t, z), list(self.owner.mode.closed)
        a, lam = at.solve(closed, at.force, -at.a0, -at.g_dd0[closed])
        g, noise = np.where(self.states == FREE, at.g, np.inf), at.noise.copy()
        if closed:
            g[closed] = lam
            noise[closed] = REACTION_ROUNDING * at.bends[closed] / np.diag(at.compliance(closed))
        return Guards(g, at.g_d, at.g_v @ a + at.g_dd0, noise)

    def _guard(self, i: int, t: float, end: float) -> float:
        """The value of one guard at a time inside the step just tried."""
        z = self._states_at(np.array([t]), end)[0]
        at = self._instant(t, z)
        if self.states[i] == FREE:
            return float(at.g[i]) - self.level[i]
        closed = self.owner.mode.closed
        lam = at.solve(closed, at.force, -at.a0, -at.g_dd0[list(closed)])[1]
        return float(lam[closed.index(i)]) - self.level[i]

    def _states_at(self, times: Array, end: float) -> Array:
        """States inside the step just tried, at times that exceed its end by rounding at most."""
        times = np.minimum(times, end)
        task = replace(
            self.task, t0=self.t, z0=self.z, t_end=end, first_step=end - self.t, times=times, keep_steps=False,
            max_steps=self.task.max_steps, row_size=None,
        )  # fmt: skip
        *_, trace = self.loop.run(task)
        if len(trace.z_times) < len(times):
            raise _StatesMissing(trace.status)
        return trace.z_times

    # -- one step ------------------------------------------------------------------------------------------------------

    def _step(self) -> Status:
        """One step of the plain loop, kept as a whole or up to the first crossing."""
        task = self.task
        trial = replace(task, t0=self.t, z0=self.z, first_step=self.h, max_steps=1, keep_steps=True, times=np.zeros(0))
        tried = trial.trace()
        tried.sigma = self.trace.sigma
        *_, tried = self.loop.run(trial, tried)
        self.trace.sigma = tried.sigma
        if tried.status not in (Status.OK, Status.MAX_STEPS) or tried.t == self.t:
            return tried.status
        h = tried.t - self.t
        try:
            return self._examine(trial, tried, h)
        except _StatesMissing as error:
            if task.fixed_step is not None or h < 40 * np.spacing(self.t):  # a quarter of it would be rounding
                return error.status
            self.h = 0.25 * h
            return Status.OK

    def _examine(self, trial: Task, tried: Trace, h: float) -> Status:
        """Keeps the step just tried as a whole or up to the first crossing, or asks for a shorter one."""
        task = self.task
        start, end = self.guards(self.t, self.z), self.guards(tried.t, tried.z)
        lowered = (self.states == FREE) | just_below(start.g, start.noise)
        self.level = np.where(lowered, np.minimum(start.g, 0.0), 0.0)
        growth, self.reaction_samples = STEP_GROWTH, self._reaction_samples(tried.t)
        if reaction_may_vary(h, self.longest_recent_step):
            growth = min(*(s.step_factor(end.noise[i]) for i, s in self.reaction_samples.items()), STEP_GROWTH, STEP_GROWTH)
        roots = self._roots(tried.t, start, end) if growth >= CUBIC_STEP_SAFETY or task.fixed_step is not None else {}
        if any(root.lost for root in roots.values()):
            growth = 0.5 * CUBIC_STEP_SAFETY
        if growth < CUBIC_STEP_SAFETY and task.fixed_step is None:
            self.h = h * max(growth, 0.2)  # a reaction that jumps asks for less; then the step is shortened gradually
            return Status.OK if self.h > 10 * np.spacing(self.t) else Status.STEP_TOO_SMALL
        hit = self._first_crossing(tried.t, start, end, roots)
        if hit is None:
            self._advance(tried.t, tried)
            self.h, self.longest_recent_step = min(self.h or h, h * growth), float(usual_step(h, self.longest_recent_step))
            self.touching = [False] * self.n
            return Status.OK
        return self._cross(hit, trial)

    def _cross(self, hit: StepCrossing, trial: Task) -> Status:
        """Repeats the step up to the crossing; an impact on a single face follows here, all else is left to the caller."""
        self.standing = 0 if hit.time > self.t else self.standing + 1
        if self.standing > CROSSINGS_STALLED:
            return Status.STEP_TOO_SMALL
        if hit.time > self.t:
            *_, repeated = self.loop.run(replace(trial, t_end=hit.time, max_steps=self.task.max_steps, row_size=None))
            if repeated.status is not Status.OK:
                return repeated.status
            self._advance(hit.time, repeated, keep_h=True)
        self.touching = [self.states[i] == FREE and (i == hit.number or i in hit.together) for i in range(self.n)]
        self.switch = (hit.number, hit.kind)
        impact_inside = hit.kind is Ending.HIT and not self.owner.blows_outside
        return self._impact(hit.number) if impact_inside else Status.SWITCH

    def _roots(self, end: float, at_start: Guards, at_end: Guards) -> dict[int, GuardRoot]:
        """The first roots of the distances of open faces inside the step just tried."""
        if not self.free:
            return {}
        h, nq = end - self.t, self.owner.form.nq
        step = StepPolynomial(self._powers(end)[:, :nq], self.t, h)
        gaps, roots = gap_functions(self.owner.form), {}
        rtol = self.task.rtol if self.task.fixed_step is None else None
        changes = self.trace.stalled if self.t == self.trace.switched else 0
        for i in self.free:
            guard, zero = GuardAlong(*gaps[i], step, self.task.p), float(self.level[i])
            roots[i] = face_root(guard, i, zero, at_start, at_end, touching=self.touching[i], changes=changes, rtol=rtol)
            touch = gap_touch(at_start.noise[i], at_end.noise[i])
            if roots[i].theta is None and roots[i].graze is not None and touch < min(at_start.g[i], at_end.g[i]) - zero:
                self.trace.record(i, Kind.GRAZE, time=self.t + float(roots[i].graze or 0.0) * h)
        return roots

    def _powers(self, end: float) -> Array:
        """The dense output of the step just tried in powers of θ, (degree + 1, nz)."""
        degree, h = self.loop.method.degree, end - self.t
        theta = (1 - np.cos(np.pi * np.arange(degree + 1) / degree)) / 2
        times = np.append(self.t + h * theta[:-1], end)
        return StepPolynomial.through(theta, self._states_at(times, end), self.t, h).c

    def _isolating_times(self, end: float, at_start: Guards, at_end: Guards) -> Array:
        """Times inside the step between which, by interval bounds, no reaction changes sign twice; empty without bounds."""
        form, closed = self.owner.form, list(self.owner.mode.closed)
        bounded = reaction_guards(form, self.owner.policy) if closed else None
        if bounded is None:
            return np.zeros(0)
        offset = form.nv + form.m
        acts = [*range(offset), *(offset + i for i in closed)]
        noise = np.full((self.n, 1), np.inf)
        noise[closed, 0] = at_end.noise[closed]
        c, t, h = self._powers(end)[:, : form.nq + form.nv, None], np.array([self.t]), np.array([end - self.t])
        preload, policy = None, self.owner.policy
        if self.owner.mode.rank < len(closed) or policy.rank < form.m:
            start_values = np.zeros((bounded.n, 1))
            start_values[[offset + i for i in closed], 0] = at_start.g[closed]
            preload = bounded.preload(StepPolynomial(c, 0.0, 1.0), t, h, self.task.p, start_values, acts)
        return isolating_times(bounded, c, t, h, self.task.p, self.level, noise, acts, preload)

    def _first_crossing(self, end: float, at_start: Guards, at_end: Guards, roots: dict[int, GuardRoot]) -> StepCrossing | None:
        """The earliest crossing in the step just tried."""
        h = end - self.t
        crossings = [(self.t + root.theta * h, i) for i, root in roots.items() if root.theta is not None]
        times = self._isolating_times(end, at_start, at_end)
        for i in self.owner.mode.closed:
            noise = float(at_end.noise[i])
            below = (time for time in times if time > self.t and self._guard(i, time, end) < -noise)
            if (time := next(below, None)) is not None:
                crossings.append((self._crossing_before(i, time, end, at_start, noise), i))
            elif at_end.g[i] - self.level[i] < -noise:
                crossings.append((self._crossing_before(i, end, end, at_start, noise), i))
            elif self._may_vanish(i, at_start.g[i], at_end.g[i]) and (time := self._dip(i, end, at_start, noise)) is not None:
                crossings.append((time, i))
        if not crossings:
            return None
        time, i = min(crossings)
        simultaneous = lambda j: j == i or met_together(self._guard(j, time, end), max(at_start.noise[j], at_end.noise[j]))
        together = tuple(j for _, j in crossings if j in roots and simultaneous(j))
        kind = Ending.LEAVE if i not in roots else Ending.HIT if together == (i,) else Ending.CORNER
        return StepCrossing(time, i, kind, together)

    def _may_vanish(self, i: int, g0: float, g1: float) -> bool:
        """Whether a reaction may vanish inside the step."""
        return bool(
            reaction_may_end(self.reaction_samples[i].least - self.level[i], self.reaction_samples[i].misfit, min(g0, g1))
        )

    def _reaction_samples(self, end: float) -> dict[int, ReactionSamples]:
        """Samples of the reactions inside the step just tried, by face."""
        closed = list(self.owner.mode.closed)
        if not closed:
            return {}
        x = np.array(REACTION_SAMPLES)
        times = self.t + (end - self.t) * x
        states = [self._instant(t, z) for t, z in zip(times, self._states_at(times, end), strict=True)]
        values = np.array([at.solve(closed, at.force, -at.a0, -at.g_dd0[closed])[1] for at in states])
        return {i: ReactionSamples.of(x, values[:, k]) for k, i in enumerate(closed)}

    def _crossing_before(self, i: int, high: float, end: float, at_start: Guards, noise: float) -> float:
        """The crossing before `high`, where the reaction is negative.

        If the step does not start clearly above zero, the search starts where the reaction has risen above rounding; if it
        never does, the crossing is the start of the step.
        """
        if at_start.g[i] - self.level[i] > noise:
            return root_of(lambda t: self._guard(i, t, end), self.t, high)
        nearest = high
        for fraction in 0.5 ** np.arange(1, 41):
            low = self.t + fraction * (high - self.t)
            g = self._guard(i, low, end)
            if g > noise:
                return root_of(lambda t: self._guard(i, t, end), low, nearest)
            nearest = low if g < 0 else nearest
        return self.t

    def _dip(self, i: int, end: float, at_start: Guards, noise: float) -> float | None:
        """The first zero of a reaction that is positive again at the end of the step."""
        times = self.t + (end - self.t) * np.arange(DIP_SAMPLES + 1) / DIP_SAMPLES
        g = [float(at_start.g[i] - self.level[i])]
        for k in range(1, DIP_SAMPLES + 1):
            g.append(self._guard(i, times[k], end))
            if g[k] < -noise:
                return self._crossing_before(i, times[k], end, at_start, noise)
            if k > 1 and g[k - 1] <= g[k - 2] and g[k - 1] <= g[k]:
                time, value = lowest_point(lambda t: self._guard(i, t, end), times[k - 2], times[k])
                if value < -noise:
                    return self._crossing_before(i, time, end, at_start, noise)
        return None

    # -- moving on -----------------------------------------------------------------------------------------------------

    def _advance(self, t: float, tried: Trace, keep_h: bool = False) -> None:
        """Advances to the end of a step of the plain loop."""
        times = self.task.times[self.trace.passed :]
        requested = times[(times >= self.t) & (times <= t)]
        if len(requested):
            self.trace.pass_times(self._states_at(requested, t))
        self.t, self.z = t, tried.z.copy()
        self.h = self.h if keep_h else tried.next_step or self.h
        self.trace.move(self.t, self.z)
        self.trace.statistics += tried.statistics

    def _impact(self, i: int) -> Status:
        """Newton's impact on face i at the current state; OK if the flight goes on."""
        at, mode, form = self._instant(self.t, self.z), self.owner.mode, self.owner.form
        resting = sorted(mode.resting)
        rate_before = rate_after = 0.0 if rate_is_rounding(at.g_d[i], at.speeds[i]) else float(at.g_d[i])
        self.switch = (i, Ending.LAND)
        if not rate_before < 0 and self.standing:  # neither impact nor flight: the face comes into contact
            return Status.SWITCH
        lifted, impulse = False, 0.0
        if rate_before < 0:
            try:
                impact = newton_impact(at, {i: float(at.restitution[i])}, resting)
            except (SingularConfiguration, np.linalg.LinAlgError):
                return Status.SINGULAR
            end = form.nq + form.nv
            self.z = self.z.copy()
            self.z[form.nq : end] += impact.dv
            if len(self.z) > end:
                self.z[-1] += float((at.v + impact.dv / 2) @ at.M @ impact.dv)
            moved = at.moved(impact.dv)
            rate_after, impulse = float(moved.g_d[i]), impact.impulses[i]
            G, change = at.compliance([i, *resting]), (1 + at.restitution[i]) * abs(rate_before)
            unaffected = dict(zip(resting, unaffected_rate(change, np.sqrt(np.diag(G)[1:] / G[0, 0])), strict=True))
            lifted = any(j not in impact.impulses and lifts_off(moved.g_d[j], unaffected[j]) for j in resting)
        self.trace.move(self.t, self.z)
        self.trace.change_times(self.task.times)
        self.trace.record(i, Kind.IMPACT if rate_before < 0 else Kind.GRAZE, rate_before, rate_after, impulse)
        if self._accumulates(-rate_before):
            return Status.ACCUMULATION
        if lifted:  # the contacts have to be determined anew
            self.switch = (i, Ending.LIFT)
        return Status.SWITCH if lifted or self._flight_unresolved(i, rate_after) else Status.OK

    def _accumulates(self, speed: float) -> bool:
        """Twin of `loop_accumulates`."""
        initial = (0, ACCUMULATION_FROM, 0, self.task.t0, np.inf, 0.0)
        impacts, mark, doublings, time, lasted, fastest = self.trace.counting or initial
        if (impacts := impacts + 1) >= mark:
            duration = self.t - time
            doublings = doublings + 1 if sooner_and_faster(duration, lasted, speed, fastest) else 0
            mark, time, lasted, fastest = 2 * impacts, self.t, duration, speed
        self.trace.counting = (impacts, mark, doublings, time, lasted, fastest)
        return doublings >= ACCUMULATION_DOUBLINGS and self.t + ACCUMULATION_AHEAD * lasted < self.task.t_end

    def _flight_unresolved(self, i: int, rate: float) -> bool:
        """Whether the flight after an impact is too short or too low to be resolved."""
        at = self.guards(self.t, self.z)
        return bool(flight_unseen(rate, -at.dd[i], at.noise[i], np.spacing(abs(self.t))))
