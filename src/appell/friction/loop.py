"""The time loop of a system with friction: stretches of the compiled loop in one mode, cut where a guard falls through zero.

    stretch      some steps of the plain loop, the mode being data among its parameters; guards are read at samples inside them
    event        the first crossing is located on the dense output, and the step is taken again up to it: the order is kept
    transition   slip that has vanished is set to zero in the kinetic metric, blows are given, and `decide` finds the next mode

A step that overruns an event is still smooth, since nothing in a mode depends on the sign of a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.contact.contact import RESTS, SHORT, Instant
from appell.contact.events import Kind
from appell.errors import AppellError, ConstraintError, ModelError, Status
from appell.friction.decide import Undetermined, decide, dependent
from appell.friction.functions import FrictionFunctions
from appell.friction.guards import BREAK, HIT, HOLD, JAM, KINK, LEAVE, SIGN, STOP, Guard, Watch, crossings
from appell.friction.impact import Blow, Impact
from appell.friction.locate import located
from appell.friction.mode import SLIP, STICK, Mode
from appell.friction.problem import TOLERANCE, Answer, Problem
from appell.friction.programme import matters
from appell.friction.saddles import response
from appell.notes import Note
from appell.simulate.loop.task import Loop, Task
from appell.simulate.loop.trace import Trace

Array = NDArray[np.float64]

SAMPLES = 8
"""Places in a step at which guards are read."""
FIRST_STRETCH, LONGEST_STRETCH = 8, 64
"""Steps between two looks at the guards."""
STALLED = 40
"""So many changes of mode at one instant do not lead anywhere."""
SLOW = 1e-9
"""Share of its terms at which it is looked at whether the slip of a pair stops."""
GONE = 1e-13
"""Share of its terms at which it has stopped in any case."""
FIRST_WAY = 1e-6
"""Part of a step in which a pair that begins to slide keeps its direction."""
BEGINNING, PIECES = 2e-2, 25
"""Part of a step in which a pair that breaks away without a jump of its acceleration is led, and in how many pieces."""
SMALL = 1e-2
"""Share of the largest accelerations so far that is the size of those at an instant where they vanish."""
AT_REST = 1e-11
"""Share of its terms below which a slip is none."""


@dataclass(frozen=True, eq=False)
class FrictionLoop:
    """`Loop` of a system with friction.

    Parameters
    ----------
    plain: the loop of `functions.flow`. look: (t (k,), z (k, nz), p (k, …)) → outputs of `functions.look` by name.
    """

    system: Any
    form: Any
    functions: FrictionFunctions
    plain: Loop
    look: Callable[[Array, Array, Array], dict[str, Array]]
    corner: str = "raise"

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        if task.t_end < task.t0:
            raise ConstraintError("with friction time runs forward: what sticks forgets how it slid")
        yield from Journey(self, task, trace or task.trace()).traces()


class Journey:
    """One run: the mode that it is in, and the trace of all modes."""

    def __init__(self, loop: FrictionLoop, task: Task, trace: Trace):
        self.loop, self.task, self.trace = loop, task, trace
        self.own, self.form = loop.functions.layout, loop.form
        self.names = [fr.name for fr in loop.system.frictions]
        self.p = task.p
        self.atol = float(np.min(task.atol))
        self.speed = np.zeros(sum(self.own.parts))  # the largest terms of each slip so far
        self.stalled, self.stretch = 0, FIRST_STRETCH
        self.before = 0  # steps kept before the last event: of what follows at its instant the last state is kept
        self.largest = 0.0  # square of the largest acceleration so far, in the kinetic metric
        self.answer: Answer
        self.touching: frozenset[int] = frozenset()  # faces that were just left or hit

    # -- the run -------------------------------------------------------------------------------------------------------

    def traces(self) -> Iterator[Trace]:
        trace = self.trace
        status = self._guarded(self._arrive)
        while status is Status.OK and trace.t < self.task.t_end:
            if trace.statistics.accepted >= self.task.max_steps:
                status = Status.MAX_STEPS
                break
            began, event = trace.t, None
            try:
                status, event = self._run_stretch()
            except (Undetermined, np.linalg.LinAlgError) as error:
                status = self._failed(error)
            if event is not None:
                self.stalled = self.stalled + 1 if trace.t == began else 0
                self.stretch, trace.next_step, self.before = FIRST_STRETCH, None, len(trace.steps)
                status = self._guarded(self._change, event)
            else:
                self.stretch = min(2 * self.stretch, LONGEST_STRETCH)
            trace.status = Status.BUFFER_FULL
            yield trace
        yield trace.ended(status)

    def _guarded(self, action: Callable[..., None], *arguments: Any) -> Status:
        try:
            if self.stalled > STALLED:
                raise Undetermined(f"modes of friction change without end at one instant ({', '.join(self.names)})")
            action(*arguments)
        except (Undetermined, np.linalg.LinAlgError) as error:
            return self._failed(error)
        return Status.OK

    def _failed(self, error: Exception) -> Status:
        if not isinstance(error, Undetermined):
            return Status.SINGULAR
        self.trace.failure = ModelError(str(error))
        return Status.FRICTION

    @property
    def mode(self) -> Mode:
        return self.trace.modes[-1][1]

    # -- a stretch in one mode -----------------------------------------------------------------------------------------

    def _run_stretch(self) -> tuple[Status, Guard | None]:
        """Some steps, or as many as there are before an event."""
        trace, task, mode = self.trace, self.task, self.mode
        plain = replace(
            task, t0=trace.t, z0=trace.z, p=np.append(self.p, mode.data(self.own)), first_step=trace.next_step,
            times=np.zeros(0), max_steps=self.stretch, keep_steps=True,
        )  # fmt: skip
        *_, there = self.loop.plain.run(plain)
        t, z = there.t_steps, there.z_steps
        status = Status.OK if there.status is Status.MAX_STEPS else there.status
        if len(t) < 2:
            return (status if status is not Status.OK else Status.STEP_TOO_SMALL), None
        first = float(t[1] - t[0])
        wanted = task.times[trace.passed :]
        wanted = wanted[wanted <= t[-1]]
        samples = np.union1d(_subdivided(t, SAMPLES), wanted)
        again = replace(plain, first_step=first, t_end=float(t[-1]), times=samples, max_steps=task.max_steps, keep_steps=False)
        *_, finely = self.loop.plain.run(again)
        samples, states = samples[: finely.passed], finely.z_times
        watch, out = self._watch(mode), self._look(samples, states, mode)
        values, noise = watch.values(samples, states, out)
        event = self._first(watch, values, noise, samples, (t, z), plain)
        self.speed = np.maximum(
            self.speed, out["s_size"][samples <= (t[-1] if event is None else event[0])].max(axis=0, initial=0.0)
        )
        trace.statistics += there.statistics
        if event is not None:
            return self._cut(event, (t, z), plain, wanted)
        for k in range(1, len(t)):
            trace.move(float(t[k]), z[k])
        trace.pass_times(states[np.searchsorted(samples, wanted)])
        trace.next_step = there.next_step
        self.touching = frozenset()
        return status, None

    def _look(self, t: Array, z: Array, mode: Mode) -> dict[str, Array]:
        p = np.append(self.p, mode.data(self.own))
        return self.loop.look(t, z, np.broadcast_to(p, (len(t), len(p))))

    def _watch(self, mode: Mode) -> Watch:
        problem = self._problem()
        self.speed = np.maximum(self.speed, self.sizes)
        several = self.answer.free.shape[1] and matters(problem, self.answer)
        slides = [i for i, rub in enumerate(mode.rubs) if rub.state == SLIP and self.own.normals[i] is not None]
        return Watch.of(
            self.own, mode, problem.scale[0], self.atol, self.speed, self._levels(), self._margins if several else None,
            self._jams if slides else None,
        )  # fmt: skip

    def _levels(self) -> Array:
        """The slip of each pair below which it may have stopped: less than it has now."""
        found = np.zeros(self.own.count)
        for i in range(self.own.count):
            part = self.own.columns(i)
            size = float(self.speed[part].max())
            found[i] = max(min(SLOW * size, 0.1 * float(np.linalg.norm(self.slip[part]))), GONE * size)
        return found

    def _margins(self, t: Array, z: Array) -> Array:
        """The slack of the mode where reactions are not unique."""
        found, guess = [], self.answer.lam
        for time, state in zip(t, z, strict=True):
            problem = self._problem(float(time), state)
            answer = problem.checked(problem.solve(self.mode), [], list(self.mode.closed), guess)
            inside = answer.solvable and answer.slack > TOLERANCE
            found.append(1.0 if inside else answer.slack if answer.solvable else -1.0)
            guess = answer.lam if inside else guess
        self._problem()
        return np.array(found)

    def _jams(self, t: Array, z: Array) -> Array:
        """det of the saddle point with what slides over that without friction: falls to 0 in a configuration of Painlevé."""
        own, mode, form = self.own, self.mode, self.form
        names = [port.name for port in self.loop.functions.blocks.outputs]
        q, v = z[:, : form.nq], z[:, form.nq : form.nq + form.nv]
        out = dict(zip(names, vm_function(self.loop.functions.blocks).batch(t, q, v, self.p), strict=True))
        rows, W = mode.acting(own), np.array(out["W"])
        for i, rub in enumerate(mode.rubs):
            if rub.state != SLIP or own.normals[i] is None:
                continue
            s = out["s"][:, own.columns(i)]
            turns = own.parts[i] == 2 and not rub.fixed
            u = s / np.maximum(np.linalg.norm(s, axis=1), 1e-300)[:, None] if turns else np.broadcast_to(rub.u, s.shape)
            push = np.einsum("kvp,kp->kv", out["W"][:, :, own.own_rows(i)], u)
            W[:, :, own.normals[i]] -= rub.sign * out["mu"][:, i, None] * push
        J = out["J"][:, rows]
        return _determinants(out["M"], J, W[:, :, rows]) / _determinants(out["M"], J, out["W"][:, :, rows])

    def _directed(self, mode: Mode) -> Mode:
        """The mode with the directions in which its pairs slide now."""
        rubs = []
        for i, rub in enumerate(mode.rubs):
            s = self.slip[self.own.columns(i)]
            turns = rub.state == SLIP and len(s) == 2 and not rub.fixed and np.linalg.norm(s) > 0
            rubs.append(rub._replace(u=tuple(s / np.linalg.norm(s))) if turns else rub)
        return replace(mode, rubs=tuple(rubs))

    # -- events --------------------------------------------------------------------------------------------------------

    def _state(self, time: float, steps: tuple[Array, Array], plain: Task) -> Array:
        """The state at a time inside one of the steps."""
        t, z = steps
        k = int(np.clip(np.searchsorted(t, time, side="right") - 1, 0, len(t) - 2))
        if time == t[k]:
            return z[k]
        h = float(t[k + 1] - t[k])
        task = replace(plain, t0=float(t[k]), z0=z[k], t_end=float(t[k + 1]), first_step=h, times=np.array([time]),
                       max_steps=10_000, keep_steps=False)  # fmt: skip
        *_, there = self.loop.plain.run(task)
        return there.z_times[0]

    def _first(
        self, watch: Watch, values: Array, noise: Array, samples: Array, steps: tuple[Array, Array], plain: Task
    ) -> tuple[float, Guard] | None:
        """The earliest event: its time and its guard."""
        found: list[tuple[float, Guard]] = []
        for one in sorted(crossings(watch.guards, values, noise), key=lambda c: c.low):
            if found and samples[one.low] > min(found)[0]:
                break
            one_guard = replace(watch, guards=(watch.guards[one.guard],))

            def value(time: float, one_guard: Watch = one_guard) -> tuple[float, float]:
                z, t = self._state(time, steps, plain)[None], np.array([time])
                y, eps = one_guard.values(t, z, self._look(t, z, watch.mode))
                return float(y[0, 0]), float(eps[0, 0])

            time = located(value, one, values[:, one.guard], noise[:, one.guard], samples)
            if time is not None:
                found.append((time, watch.guards[one.guard]))
        return min(found, key=lambda pair: pair[0]) if found else None

    def _cut(
        self, event: tuple[float, Guard], steps: tuple[Array, Array], plain: Task, wanted: Array
    ) -> tuple[Status, Guard | None]:
        """The steps up to the event; the last one is taken again up to it."""
        (time, guard), (t, z), trace = event, steps, self.trace
        for k in range(1, len(t)):
            if t[k] < time:
                trace.move(float(t[k]), z[k])
        inside = wanted[wanted <= time]
        early = inside[inside <= trace.t]
        if len(early):
            trace.pass_times(np.array([self._state(float(x), steps, plain) for x in early]))
        if time > trace.t:
            late = inside[inside > trace.t] if len(early) < len(inside) else np.zeros(0)
            task = replace(plain, t0=trace.t, z0=trace.z, t_end=time, first_step=time - trace.t, times=late,
                           max_steps=self.task.max_steps)  # fmt: skip
            *_, there = self.loop.plain.run(task)
            if there.status is not Status.OK:
                return there.status, None
            trace.pass_times(there.z_times)
            trace.move(*self._onto(guard, time, there.z, time - trace.t))
        return Status.OK, guard

    def _onto(self, guard: Guard, t: float, z: Array, h: float) -> tuple[float, Array]:
        """The end of a step of h, moved along its slope onto the zero of a distance or of a slip."""
        out = self._look(np.array([t]), z[None], self.mode)
        if guard.kind == HIT:
            value, rate = out["g"][0, guard.number], out["g_d"][0, guard.number]
        elif guard.kind == STOP and self.own.parts[guard.number] == 1:
            k = self.own.columns(guard.number).start
            value, rate = out["s"][0, k], out["s_d"][0, k]
        else:
            return t, z
        dt = -value / rate if rate else 0.0
        if not abs(dt) <= 1e-4 * h or t + dt > self.task.t_end:
            return t, z
        return float(t + dt), z + dt * self._slopes(t, z, self.mode)

    # -- transitions ---------------------------------------------------------------------------------------------------

    def _problem(self, t: float | None = None, z: Array | None = None) -> Problem:
        """Of accelerations, here or elsewhere; keeps the slip and its sizes in `slip` and `sizes`."""
        t, z = (self.trace.t if t is None else t), (self.trace.z if z is None else z)
        nq, nv = self.form.nq, self.form.nv
        q, v = z[:nq].copy(), z[nq : nq + nv].copy()
        problem, out = self.loop.functions.problem(t, q, v, self.p, SMALL**2 * self.largest)
        if not all(np.isfinite(x).all() for x in out.values()):
            raise Undetermined("a force or a coefficient of friction is not finite")
        self.slip, self.sizes = out["s"], out["s_size"]
        self._check(out)
        if t == self.trace.t:
            self.largest = max(self.largest, problem.scale[2])
        return problem

    def _check(self, out: dict[str, Array]) -> None:
        for i, name in enumerate(self.names):
            if out["mu"][i] < 0 or out["mu_static"][i] < 0:
                raise Undetermined(
                    f"the coefficient or limit of friction '{name}' is negative: {min(out['mu'][i], out['mu_static'][i]):.6g}"
                )
            if out["mu_static"][i] < out["mu"][i] * (1 - 1e-12) and np.linalg.norm(self.slip[self.own.columns(i)]) == 0:
                raise Undetermined(
                    f"the static coefficient of friction '{name}', {out['mu_static'][i]:.6g}, is below that of sliding,"
                    f" {out['mu'][i]:.6g}"
                )

    def _instant(self) -> Instant:
        nq, nv, z = self.form.nq, self.form.nv, self.trace.z
        return Instant.at(self.form, self.trace.t, z[:nq].copy(), z[nq : nq + nv].copy(), self.p, 1e-4 * self.atol)

    def _arrive(self) -> None:
        """The mode of the start, unless it is known."""
        if self.trace.modes and self.trace.decided_with is not None and not np.array_equal(self.p, self.trace.decided_with):
            self._settle(set(self.mode.closed), stopped=None)  # under other parameters: what a control gives has changed
            return
        if self.trace.modes:
            problem = self._problem()
            self.answer = problem.checked(problem.solve(self.mode), (), self.mode.closed)
            return
        at = self._instant()
        if at.approaching:
            self._strike(at, at.approaching)
        self._settle(set(), stopped=None)

    def arrive_without_blows(self) -> None:
        """The mode of a state as it is."""
        self._settle(set(), stopped=None)

    def _change(self, event: Guard) -> None:
        """The mode after an event."""
        if event.kind == SIGN:
            raise Undetermined(f"the coefficient or limit of friction '{self.names[event.number]}' becomes negative")
        if event.kind == HIT:
            self._hit(event.number)
            return
        if event.kind == STOP and self.own.parts[event.number] == 2 and not self._stops(event.number):
            return
        self._settle(set(self.mode.closed), stopped=event.number if event.kind == STOP else None)

    def _stops(self, i: int) -> bool:
        """Whether a pair that is slow stops, as what sticks holds; then it is moved to where its slip is zero,
        t* = t − s·s/(s·ṡ). Else it passes zero by."""
        problem, own, mode, trace = self._problem(), self.own, self.mode, self.trace
        s, part = self.slip[own.columns(i)], own.columns(i)
        rubs = tuple(rub._replace(state=STICK, u=()) if k == i else rub for k, rub in enumerate(self._directed(mode).rubs))
        held = replace(mode, rubs=rubs)
        answer = replace_mu(problem).checked(replace_mu(problem).solve(held), [], mode.closed)
        if not answer.consistent:
            return bool(np.linalg.norm(s) <= 2 * GONE * self.speed[part].max())
        rate = (problem.J @ problem.solve(self._directed(mode)).x + problem.c)[own.own_rows(i)]
        if s @ rate < 0:
            dt = float(-(s @ s) / (s @ rate))
            time = min(trace.t + dt, self.task.t_end)
            out = self._slopes(trace.t, trace.z, mode)
            trace.pass_times(np.array([trace.z + (x - trace.t) * out for x in self.task.times[trace.passed :] if x <= time])
                             .reshape(-1, len(trace.z)))  # fmt: skip
            trace.z[:] += (time - trace.t) * out
            trace.t = time
            resting = [k for k, rub in enumerate(mode.rubs) if rub.state == STICK or k == i]
            if not self._stop(self._problem(), resting, list(mode.closed)):
                self._keep()
        return True

    def _slopes(self, t: float, z: Array, mode: Mode) -> Array:
        """ż of q and v; the rest stays."""
        nq, nv = self.form.nq, self.form.nv
        out = self._look(np.array([t]), z[None], mode)
        qd = self.form.select("qd")(t, z[:nq].copy(), z[nq : nq + nv].copy(), self.p)["qd"]
        return np.concatenate([qd, out["a"][0], np.zeros(len(z) - nq - nv)])

    # -- pairs that begin to slide ---------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Where pairs begin to slide, u = s/|s| has no value: they are led along directions that are those of the slip in the
        middle of each piece of the way. One short piece where slip accelerates at once, many where it breaks away."""
        begun = [i for i, rub in enumerate(self.mode.rubs) if rub.fixed]
        problem = self._problem()
        rates = problem.J @ self.answer.x + problem.c
        sizes = problem.scale[1]
        at_once = all(np.linalg.norm(rates[self.own.own_rows(i)]) > 1e-5 * sizes[self.own.own_rows(i)[0]] for i in begun)
        h = self._step_of(self.mode)
        part, pieces = (FIRST_WAY, 1) if at_once else (BEGINNING, PIECES)
        for _ in range(pieces):
            end = min(self.trace.t + part * h / pieces, self.task.t_end)
            if end > self.trace.t:
                self._lead(begun, end)
        rubs = tuple(rub._replace(fixed=False) for rub in self.mode.rubs)
        self.trace.modes.append((self.trace.t, replace(self.mode, rubs=rubs)))

    def _step_of(self, mode: Mode) -> float:
        """The first step in a mode."""
        trace = self.trace
        task = replace(self.task, t0=trace.t, z0=trace.z, p=np.append(self.p, mode.data(self.own)), first_step=None,
                       times=np.zeros(0), max_steps=3, keep_steps=True)  # fmt: skip
        *_, there = self.loop.plain.run(task)
        return float(np.diff(there.t_steps).max(initial=0.0))

    def _lead(self, begun: list[int], end: float) -> None:
        """A piece of the way with fixed directions, u ∥ s before + s after."""
        trace, own, mode = self.trace, self.own, self.mode
        self._problem()
        before = self.slip.copy()
        for _ in range(50):
            task = replace(self.task, t0=trace.t, z0=trace.z, t_end=end, p=np.append(self.p, mode.data(own)), times=np.zeros(0),
                           first_step=end - trace.t, keep_steps=False)  # fmt: skip
            *_, there = self.loop.plain.run(task)
            if there.status is not Status.OK:
                raise Undetermined("a pair of slips does not begin to slide in any direction")
            self._problem(end, there.z)
            after, turned, rubs = self.slip.copy(), 0.0, list(mode.rubs)
            for i in begun:
                mean = (before + after)[own.columns(i)]
                u = np.array(mode.rubs[i].u)
                across = float(u[0] * mean[1] - u[1] * mean[0])
                turn = self._turn(i, mode, across, u, end - trace.t, float(u @ mean))
                turned = max(turned, abs(turn))
                angle = float(np.arctan2(u[1], u[0])) + turn
                rubs[i] = rubs[i]._replace(u=(float(np.cos(angle)), float(np.sin(angle))))
            mode = replace(mode, rubs=tuple(rubs))
            if turned < 1e-12:
                break
        trace.modes.append((trace.t, mode))
        if len(self.task.times) > trace.passed:
            inside = self.task.times[trace.passed :]
            inside = inside[inside <= end]
            *_, there = self.loop.plain.run(replace(task, times=inside))
            trace.pass_times(there.z_times)
        trace.move(end, there.z)

    def _turn(self, i: int, mode: Mode, across: float, u: Array, dt: float, along: float) -> float:
        """By how much a direction turns so that it is that of the slip: Newton's step, the force turning with it."""
        at, rows = self._problem(), self.own.own_rows(i)
        x = response(at.M, at.J[mode.acting(self.own)], at.W[:, mode.acting(self.own)], at.W[:, rows])
        bound = max(self.answer_bound(at, i, mode), 0.0)
        normal = np.array([-u[1], u[0]])
        stiff = dt * bound * float(normal @ (at.J[rows] @ x) @ normal) + max(along, 0.0)
        return float(np.clip(across / stiff, -0.5, 0.5)) if stiff > 0 else 0.0

    def answer_bound(self, at: Problem, i: int, mode: Mode) -> float:
        """μ|Λ_N| or F of a friction that slides."""
        return at.bound(i, at.solve(mode).lam, float(mode.rubs[i].sign), static=False)

    def _hit(self, face: int) -> None:
        at = self._instant()
        near = [i for i in at.on() if i not in self.mode.closed and at.g_d[i] < -at.slow[i]]
        hits = sorted({face, *near}) if at.g_d[face] < 0 else near
        landed = self._strike(at, hits) if hits else {face}
        now = self._instant()
        kept = {i for i in self.mode.closed if now.g_d[i] <= 2 * now.slow[i]}  # the blow may have lifted others
        self._settle({*kept, *landed}, stopped=None, struck=bool(hits))

    def _strike(self, at: Instant, hits: list[int]) -> set[int]:
        """Blows on the faces that are hit; those on which it stays."""
        closed = self.mode.closed if self.trace.modes else ()
        before = at.g_d.copy()
        one = self._blow(at, hits, closed, at.restitution)
        now = at.moved(one.dv)
        after = now.g_d
        rests = [i for i in hits if after[i] <= 2 * now.slow[i] or self._rests(at, i, float(after[i]))]
        if any(after[i] > 0 for i in rests):
            one = self._blow(at, hits, closed, np.where([i in rests for i in range(len(before))], 0.0, at.restitution))
            after = at.moved(one.dv).g_d
        for i in hits:
            self.trace.record(i, Kind.IMPACT, float(before[i]), float(after[i]), float(one.impulses[self.own.m + i]))
        self._move(at.M, one.dv, one.lost)
        return set(rests)

    def _blow(self, at: Instant, hits: list[int], closed: Sequence[int], e: Array) -> Blow:
        problem, own = self._problem(), self.own
        if problem.law is not None:
            raise Undetermined("a blow: forces that are not affine in the multipliers do not tell what they do to its impulses")
        laws = {self.loop.system.frictions[i].law for i in range(own.count) if own.face_of(i) in hits}
        rates = np.concatenate([np.zeros(own.m), at.g_d, self.slip])
        impact = Impact(problem, rates, e, self.names)
        others = [f for f in closed if f not in hits]
        if len(laws) > 1:
            raise Undetermined(f"one blow with several laws ({', '.join(sorted(laws))}): give its frictions one of them")
        if laws <= {"newton"}:
            return impact.by_newton(hits, others)
        rubbing = [i for i in range(own.count) if own.face_of(i) == hits[0]]
        bound = [i for i in range(own.count) if own.normals[i] is not None and own.face_of(i) is None]
        several = len(hits) > 1 or others or len(rubbing) > 1 or bound
        if not (several or own.parts[rubbing[0]] > 1 or own.smooth[rubbing[0]]):
            return impact.by_process(hits[0], rubbing[0], *laws)
        if laws == {"poisson"}:
            return impact.by_phases(hits, others)
        raise Undetermined(
            "law='stronge' is a law of one contact with one friction of one part: in a blow of several the result depends on"
            " their stiffnesses, which restitution does not tell (Liu, Zhao and Brogliato 2008); use law='poisson' or 'newton'"
        )

    def _rests(self, at: Instant, face: int, after: float) -> bool:
        """A flight of 2 ġ/|g̈|, and a quarter of that times ġ high: whether it does not show in t or in g."""
        pressing = at.pressing(face)
        if not pressing > 0:
            return False
        flight = 2 * after / pressing
        return bool(flight <= SHORT * np.spacing(abs(self.trace.t)) or 0.25 * flight * after <= RESTS * at.noise[face])

    def _settle(self, closed: set[int], stopped: int | None, *, struck: bool = False) -> None:
        """Slip that has vanished is set to zero, and the next mode is found. After a blow what stuck may slide."""
        trace, own = self.trace, self.own
        at = self._instant()
        faces = sorted({i for i in (*closed, *at.on()) if abs(at.g_d[i]) <= at.slow[i] or i in closed})
        problem = self._problem()
        was = trace.modes[-1][1].rubs if trace.modes and not struck else None
        resting = [
            i for i in range(own.count) if not own.smooth[i]
            and (i == stopped or (was is not None and was[i].state == STICK) or self._still(i))
        ]  # fmt: skip
        self._stop(problem, resting, faces if not closed else sorted(closed))
        problem = self._problem()
        slipping = {i: self._direction(i) for i in range(own.count) if i not in resting}
        ahead = lambda mode, part: self._ahead(mode, part, resting, faces)
        self.answer = decide(problem, faces, resting, slipping, ahead, self.names)
        trace.decided_with = self.p
        mode = self.answer.mode
        before = trace.modes[-1][1].closed if trace.modes else ()
        if not trace.modes or mode != trace.modes[-1][1]:
            trace.modes.append((trace.t, mode))
        if not trace.contacts or mode.closed != trace.contacts[-1][1]:
            trace.contacts.append((trace.t, mode.closed))
        for face in sorted(set(before) - set(mode.closed)):
            trace.record(face, Kind.LEAVING, 0.0, float(at.g_d[face]), 0.0)
        for face in sorted(set(mode.closed) - set(before)):
            trace.record(face, Kind.LANDING, float(at.g_d[face]), 0.0, 0.0)
        self._note(problem)
        if any(rub.fixed for rub in mode.rubs):
            self._begin()

    def _note(self, problem: Problem) -> None:
        """Says once where forces of friction are not unique."""
        free = self.answer.free
        if not free.shape[1] or not matters(problem, self.answer):
            return
        own, system = self.own, self.loop.system
        normals = [c.name for c in (*system.constraints, *system.unilateral)]
        rows = [(row, normals[row]) for row in range(own.m + own.faces)]
        rows += [(row, name) for i, name in enumerate(self.names) for row in own.own_rows(i)]
        names = tuple(dict.fromkeys(name for row, name in rows if np.abs(free[row]).max() > 1e-9 * np.abs(free).max()))
        if any(note.kind == "indeterminate" and note.constraints == names for note in self.trace.notes):
            return
        text = "reactions are not unique; whether they hold is decided by a linear programme over the cones"
        listed = ", ".join(f"'{name}'" for name in names)
        self.trace.notes.append(Note(f"{listed}: {text}", time=self.trace.t, kind="indeterminate", constraints=names))

    def _still(self, i: int) -> bool:
        """Whether a slip is none."""
        part = self.own.columns(i)
        size = max(float(self.sizes[part].max()), float(self.speed[part].max()) if self.trace.modes else 0.0)
        return bool(np.linalg.norm(self.slip[part]) <= AT_REST * size)

    def _direction(self, i: int) -> tuple[float, ...]:
        s = self.slip[self.own.columns(i)]
        return tuple((s / (np.linalg.norm(s) or 1.0)).tolist())

    def _stop(self, problem: Problem, resting: list[int], faces: list[int]) -> bool:
        """v += Δv, the least in the kinetic metric with which the resting frictions have no slip at all; whether there was."""
        own = self.own
        rows = [row for i in resting for row in own.own_rows(i)]
        slip = self.slip[[row - own.m - own.faces for row in rows]]
        if not np.any(slip):
            return False
        held = [*range(own.m), *(own.m + f for f in faces), *rows]
        wanted = np.concatenate([np.zeros(len(held) - len(rows)), -slip])
        J = problem.J[held]
        root = np.linalg.lstsq(problem.M, J.T, rcond=1e-13)[0]
        dv = root @ np.linalg.lstsq(J @ root, wanted, rcond=1e-11)[0]
        self._move(problem.M, dv)
        return True

    def _move(self, M: Array, dv: Array, lost: float = 0.0) -> None:
        """v += Δv and the work of the impulses."""
        nq, nv, trace = self.form.nq, self.form.nv, self.trace
        v = trace.z[nq : nq + nv].copy()
        trace.z[nq : nq + nv] += dv
        trace.z[-1] += float((v + dv / 2) @ M @ dv)
        trace.z[-2] += lost
        self._keep()
        trace.change_times(self.task.times)

    def _keep(self) -> None:
        """The state after an event, once."""
        trace = self.trace
        if trace.keep_steps and len(trace.steps) > max(self.before, 1):
            trace.steps.page[trace.steps.used - 1] = np.append(trace.t, trace.z)
        else:
            trace.keep()

    # -- looking ahead ---------------------------------------------------------------------------------------------------

    def _ahead(self, mode: Mode, part: float, resting: list[int], faces: list[int]) -> float:
        """The slack of a mode after a part of its first step."""
        trace = self.trace
        mode = replace(mode, idle=dependent(self._problem(), mode))
        task = replace(self.task, t0=trace.t, z0=trace.z, p=np.append(self.p, mode.data(self.own)), first_step=None,
                       times=np.zeros(0), max_steps=1, keep_steps=True)  # fmt: skip
        *_, there = self.loop.plain.run(task)
        if len(there.t_steps) < 2:
            return -np.inf
        time = trace.t + part * float(there.t_steps[1] - trace.t)
        z = self._state(time, (there.t_steps, there.z_steps), task)
        return self._slack(mode, time, z, resting, faces)

    def _slack(self, mode: Mode, t: float, z: Array, resting: list[int] | None = None, faces: list[int] | None = None) -> float:
        try:
            problem = self._problem(t, z)
            answer = problem.checked(problem.solve(mode), resting or [], list(mode.closed) if faces is None else faces)
        except (AppellError, np.linalg.LinAlgError):
            return -np.inf
        finally:
            self._problem()
        return answer.slack if answer.solvable else -np.inf


def replace_mu(problem: Problem) -> Problem:
    """The problem with the coefficients of sliding at rest too."""
    return replace(problem, mu_static=problem.mu)


def _subdivided(t: Array, parts: int) -> Array:
    """The times t with `parts` − 1 more in each interval."""
    inside = t[:-1, None] + np.diff(t)[:, None] * (np.arange(parts) / parts)
    return np.append(inside.ravel(), t[-1])


def _determinants(M: Array, J: Array, W: Array) -> Array:
    """det of [[M, −W], [J, 0]] at each state, (k,)."""
    n, m = M.shape[1], J.shape[1]
    K = np.zeros((len(M), n + m, n + m))
    K[:, :n, :n], K[:, :n, n:], K[:, n:, :n] = M, -W, J
    return np.linalg.det(K)


__all__ = ["BREAK", "HOLD", "JAM", "KINK", "LEAVE", "RESTS", "SHORT", "FrictionLoop"]
