"""Python twin of `switch.c.in`: a loop with unilateral constraints on SciPy's steppers.

A step of the plain loop is tried, looked at through its distances g and reactions Λ at both ends, and kept as a whole or up to
the first crossing. It is not written for speed: states inside a step are taken by stepping to them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from appell.contact.events import Kind
from appell.errors import Status
from appell.normal_form.impacts import Switching
from appell.normal_form.solved import status_of
from appell.simulate.loop.in_python import PyLoop
from appell.simulate.loop.task import Task
from appell.simulate.loop.trace import Trace

Array = NDArray[np.float64]

RESOLVED, CAUTION, STANDING, SAMPLES = 0.1, 0.9, 200, 16  # as in switch.c.in


@dataclass(frozen=True, eq=False)
class PySwitchLoop:
    """Steps of `loop`, split where a face is crossed; impacts in free flight are done here, other changes of mode are answered
    with SWITCH."""

    loop: Any  # PyLoop
    faces: Switching
    p: Array

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        yield from _Flight(self, task, trace or task.trace()).traces()


class _Guards(NamedTuple):
    """g of the free faces and Λ of the contacts; ġ, g̈ and what rounding leaves of g, of the free faces."""

    g: Array
    d: Array
    dd: Array
    noise: Array


class _Crossing(NamedTuple):
    time: float
    number: int
    kind: Kind
    together: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Shape:
    """A distance inside a step of size h: the cubic through both ends, and how far the quintic is from it."""

    g0: float
    d0: float
    g1: float
    a: float
    b: float
    m0: float
    m1: float

    @staticmethod
    def of(one: _Guards, two: _Guards, i: int, h: float) -> _Shape:
        level = min(one.g[i], 0.0)  # zero of the distance: where the step starts slightly below it, that is as good
        g0, g1, d0, d1 = one.g[i] - level, two.g[i] - level, h * one.d[i], h * two.d[i]
        a, b = d0 + d1 - 2 * (g1 - g0), 3 * (g1 - g0) - 2 * d0 - d1
        return _Shape(g0, d0, g1, a, b, h * h * one.dd[i] / 2 - b, h * h * two.dd[i] / 2 - b - 3 * a)

    def cubic(self, x: Array) -> Array:
        return self.g0 + x * (self.d0 + x * (self.b + x * self.a))

    @cached_property
    def least(self) -> float:
        """The least that it may be inside the step."""
        extremes = np.roots([3 * self.a, 2 * self.b, self.d0])
        extremes = extremes[np.isreal(extremes)].real
        x = np.concatenate([np.linspace(0, 1, 65)[1:-1], extremes[(extremes > 0) & (extremes < 1)]])
        return float(np.min(self.cubic(x.astype(float)) - 2 * (x * (1 - x)) ** 2 * np.abs(self.m0 * (1 - x) + self.m1 * x)))

    def allowed(self, noise: float) -> float:
        """By which factor the step may change so that the cubic follows the distance."""
        size = max(abs(self.g0), abs(self.g1), abs(float(self.cubic(np.array(0.5))))) + 1e4 * noise
        missed = (abs(self.m0) + abs(self.m1)) / 32
        return CAUTION * (RESOLVED * size / missed) ** 0.25 if missed > 0 else 1e3


class _Flight:
    def __init__(self, owner: PySwitchLoop, task: Task, trace: Trace):
        assert isinstance(owner.loop, PyLoop)
        self.owner, self.task, self.loop, self.trace = owner, task, owner.loop, trace
        self.t, self.z, self.h = trace.t, trace.z.copy(), trace.next_step
        self.n = len(owner.faces.free)
        self.names = task.faces or tuple(range(self.n))
        self.touching = [name in trace.touching for name in self.names[: self.n]]
        self.switch: tuple[int, Kind] | None = None
        self.standing = 0
        self.level = np.zeros(self.n)

    def traces(self) -> Iterator[Trace]:
        status, trace = Status.OK, self.trace
        while status is Status.OK and self.t != self.task.t_end:
            status = Status.MAX_STEPS if trace.statistics.accepted >= self.task.max_steps else self._step()
        trace.next_step = self.h
        trace.touching = {name for name, on in zip(self.names, self.touching, strict=False) if on}
        trace.switch = (self.names[self.switch[0]], self.switch[1]) if self.switch and status is Status.SWITCH else None
        yield trace.ended(status)

    # -- guards --------------------------------------------------------------------------------------------------------

    def guards(self, t: float, z: Array) -> _Guards:
        faces, p = self.owner.faces, self.task.p
        out, second = faces.faces(t, z, p), faces.face_acceleration(t, z, self.loop.rhs(t, z, p), p)
        g = out["g"]
        if faces.reactions is not None:
            g = np.concatenate([g, faces.reactions(t, z, p)["lam"]])
        return _Guards(g, out["g_d"], second["g_dd"], second["noise"])

    def _guard(self, i: int, t: float, end: float) -> float:
        """One guard at a time inside the step that has just been tried."""
        z = self._between(np.array([t]), end)[0]
        if i < self.n:
            return float(self.owner.faces.faces(t, z, self.task.p)["g"][i]) - self.level[i]
        assert self.owner.faces.reactions is not None
        return float(self.owner.faces.reactions(t, z, self.task.p)["lam"][i - self.n])

    def _between(self, times: Array, end: float) -> Array:
        task = replace(
            self.task, t0=self.t, z0=self.z, t_end=end, first_step=end - self.t, times=times, keep_steps=False,
            max_steps=self.task.max_steps,
        )  # fmt: skip
        *_, there = self.loop.run(task)
        return there.z_times

    # -- one step ------------------------------------------------------------------------------------------------------

    def _step(self) -> Status:
        """One step of the plain loop, kept as a whole or up to the first crossing."""
        task = self.task
        trial = replace(task, t0=self.t, z0=self.z, first_step=self.h, max_steps=1, keep_steps=True, times=np.zeros(0))
        *_, there = self.loop.run(trial)
        if there.status not in (Status.OK, Status.MAX_STEPS) or there.t == self.t:
            return there.status
        start, end, h = self.guards(self.t, self.z), self.guards(there.t, there.z), there.t - self.t
        self.level = np.minimum(start.g[: self.n], 0.0)
        shapes = [_Shape.of(start, end, i, h) for i in range(self.n)]
        stretch = min((s.allowed(noise) for s, noise in zip(shapes, end.noise, strict=True)), default=1e3)
        if stretch < CAUTION and task.fixed_step is None:
            self.h = h * max(stretch, 0.2)
            return Status.OK if self.h > 10 * np.spacing(self.t) else Status.STEP_TOO_SMALL
        hit = self._first_crossing(there.t, start, end, shapes)
        if hit is None:
            self._advance(there.t, there)
            self.h = min(self.h or h, h * stretch)
            self.touching = [False] * self.n
            return Status.OK
        return self._cross(hit, trial)

    def _cross(self, hit: _Crossing, trial: Task) -> Status:
        self.standing = 0 if hit.time > self.t else self.standing + 1
        if self.standing > STANDING:
            return Status.STEP_TOO_SMALL
        if hit.time > self.t:
            *_, there = self.loop.run(replace(trial, t_end=hit.time, max_steps=self.task.max_steps))
            if there.status is not Status.OK:
                return there.status
            self._advance(hit.time, there, keep_h=True)
        self.touching = [i == hit.number or i in hit.together for i in range(self.n)]
        self.switch = (hit.number, hit.kind)
        return self._impact(hit.number) if hit.kind is Kind.HIT and not self.owner.faces.contacts else Status.SWITCH

    def _first_crossing(self, end: float, one: _Guards, two: _Guards, shapes: list[_Shape]) -> _Crossing | None:
        """The earliest crossing in the step that has just been tried."""
        found = []
        for i in range(len(two.g)):
            free = i < self.n
            noise = float(two.noise[i]) if free else 0.0
            near = shapes[i].least <= self._touch(one, i) if free else self._low(i, end, one.g[i], two.g[i])
            if (shapes[i].g1 if free else two.g[i]) < -noise:
                found.append((self._before(i, end, end, one, noise), i))
            elif near and (time := self._dip(i, end, one, two, noise)) is not None:
                found.append((time, i))
        if not found:
            return None
        time, i = min(found)
        together = tuple(j for other, j in found if j < self.n and other - time <= self.task.simultaneous)
        kind = Kind.LEAVING if i >= self.n else Kind.HIT if together == (i,) else Kind.CORNER
        return _Crossing(time, i, kind, together)

    def _touch(self, one: _Guards, i: int) -> float:
        """A distance below which a face is touched."""
        return self.task.graze * (1 + abs(float(one.g[i])))

    def _low(self, i: int, end: float, g0: float, g1: float) -> bool:
        """Whether a reaction may be zero inside the step."""
        return self._guard(i, (self.t + end) / 2, end) < 0.6 * min(g0, g1)

    def _before(self, i: int, high: float, end: float, one: _Guards, noise: float) -> float:
        """The crossing before `high`, where the guard is negative; where the step does not start clearly above zero, after it
        has risen above rounding; the start of the step if it never does."""
        touching = i < self.n and self.touching[i]
        if touching and (end - self.t) * one.d[i] > noise:
            rise = lambda t: self._guard(i, t, end) / (t - self.t) if t > self.t else float(one.d[i])
            return _root_of(rise, self.t, high)
        if one.g[i] > noise and not touching:
            return _root_of(lambda t: self._guard(i, t, end), self.t, high)
        nearest = high
        for share in 0.5 ** np.arange(1, 41):
            low = self.t + share * (high - self.t)
            g = self._guard(i, low, end)
            if g > noise:
                return _root_of(lambda t: self._guard(i, t, end), low, nearest)
            nearest = low if g < 0 else nearest
        return self.t

    def _dip(self, i: int, end: float, one: _Guards, two: _Guards, noise: float) -> float | None:
        """The crossing of a guard that is positive at the end of the step again."""
        times = self.t + (end - self.t) * np.arange(SAMPLES + 1) / SAMPLES
        touching = i < self.n and self.touching[i]
        g, low = [-np.inf if touching else float(one.g[i])], self._touch(one, i)
        for k in range(1, SAMPLES + 1):
            g.append(self._guard(i, times[k], end))
            if g[k] < -noise:
                return self._before(i, times[k], end, one, noise)
            first = k == 1 and i < self.n and not touching and one.d[i] < 0 and g[1] >= g[0]
            last = k == SAMPLES and i < self.n and two.d[i] > 0 and g[k] <= g[k - 1]
            inside = k > 1 and g[k - 1] <= g[k - 2] and g[k - 1] <= g[k]
            if not (first or last or inside):
                continue  # the outermost parts have their rates at the ends
            lowest, least = _lowest(lambda t: self._guard(i, t, end), times[k - 1 - inside], times[k])
            if least < -noise:
                return self._before(i, lowest, end, one, noise)
            if i < self.n and least <= low < min(one.g[i], two.g[i]):
                self.trace.record(self.names[i], Kind.GRAZE, time=lowest)
        return None

    # -- moving on -----------------------------------------------------------------------------------------------------

    def _advance(self, t: float, there: Trace, keep_h: bool = False) -> None:
        """Moves to where a step of the plain loop has come."""
        times = self.task.times[self.trace.passed :]
        inside = times[(times >= self.t) & (times <= t)]
        if len(inside):
            self.trace.pass_times(self._between(inside, t))
        self.t, self.z = t, there.z.copy()
        self.h = self.h if keep_h else there.next_step or self.h
        self.trace.move(self.t, self.z)
        self.trace.statistics += there.statistics

    def _impact(self, i: int) -> Status:
        faces, p = self.owner.faces, self.task.p
        out = faces.impacts[i](self.t, self.z, p)
        if not out["margin"] > 0:
            return status_of(float(out["margin"]))
        before, after, impulse = (float(out[name]) for name in ("before", "after", "impulse"))
        self.switch = (i, Kind.LANDING)
        if not before < 0 and self.standing:  # no blow and no flight: it begins to press on the face
            return Status.SWITCH
        if before < 0:
            self.z = self.z + out["dz"]
        else:
            after, impulse = before, 0.0
        self.trace.move(self.t, self.z)
        self.trace.change_times(self.task.times)
        self.trace.record(self.names[i], Kind.IMPACT if before < 0 else Kind.GRAZE, before, after, impulse)
        return Status.SWITCH if self._rests(i, before, after) else Status.OK

    def _rests(self, i: int, before: float, after: float) -> bool:
        """Flights of 2 ġ/|g̈|, each e times the one before: whether their sum is short, or they do not show in t or in g."""
        at = self.guards(self.t, self.z)
        pressing, e = -float(at.dd[i]), after / -before if before < 0 else 0.0
        if not pressing > 0:
            return False
        flight = 2 * after / pressing
        ends = flight <= self.task.rest * (1 - e if e < 1 else 1) or flight <= 8 * np.spacing(abs(self.t))
        return bool(ends or 0.25 * flight * after <= at.noise[i])


def _root_of(f: Any, a: float, b: float) -> float:
    """A root between a and b to the last digit."""
    root: Any = brentq(f, a, b, xtol=4e-16 * max(abs(b), 1e-300), rtol=8.9e-16)  # type: ignore[arg-type]
    return float(root)


def _lowest(f: Any, a: float, b: float) -> tuple[float, float]:
    """The lowest point between a and b by golden section, and its value."""
    part = (5**0.5 - 1) / 2
    x, y = b - part * (b - a), a + part * (b - a)
    fx, fy = f(x), f(y)
    for _ in range(40):
        if fx < fy:
            b, y, fy = y, x, fx
            x = b - part * (b - a)
            fx = f(x)
        else:
            a, x, fx = x, y, fy
            y = a + part * (b - a)
            fy = f(y)
    return (x, fx) if fx < fy else (y, fy)
