"""Python twin of `switch.c.in`: a loop with unilateral constraints on SciPy's steppers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from appell.errors import Status
from appell.normal_form.impacts import Switching
from appell.normal_form.solved import status_of
from appell.simulate.contact import CORNER, GRAZE, HIT, IMPACT, LANDING, LEAVING
from appell.simulate.loop_py import Leg, PyLoop, Statistics, Task

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PySwitchLoop:
    """Steps of `loop`, split where a face is crossed; impacts in free flight are done here, other changes of mode are answered
    with SWITCH."""

    loop: Any  # PyLoop
    faces: Switching
    p: Array

    def run(self, task: Task) -> Iterator[Leg]:
        """See `loop_py.Loop.run`."""
        yield from _Flight(self, task).legs()


class _Flight:
    def __init__(self, owner: PySwitchLoop, task: Task):
        assert isinstance(owner.loop, PyLoop)
        self.owner, self.task, self.loop = owner, task, owner.loop
        self.t, self.z, self.h = task.t0, task.z0.copy(), task.first_step
        n = len(owner.faces.free)
        self.touching = list(task.touching) + [False] * (n - len(task.touching))
        self.t_steps, self.z_steps, self.z_times = [self.t], [self.z], []
        self.events: list[list[float]] = []
        self.statistics = Statistics(0, 0, 0, 0.0)
        self.switch: tuple[int, int] | None = None

    def legs(self) -> Iterator[Leg]:
        status = Status.OK
        while status is Status.OK and self.t != self.task.t_end:
            status = self._step()
        yield self._leg(status)

    # -- guards --------------------------------------------------------------------------------------------------------

    def guards(self, t: float, z: Array) -> tuple[Array, Array]:
        """g of the free faces and Λ of the contacts, (faces,); ġ of the free faces."""
        out = self.owner.faces.faces(t, z, self.task.p)
        if self.owner.faces.reactions is None:
            return out["g"], out["g_d"]
        return np.concatenate([out["g"], self.owner.faces.reactions(t, z, self.task.p)["lam"]]), out["g_d"]

    def _step(self) -> Status:
        """One step of the plain loop, kept as a whole or up to the first crossing."""
        task = self.task
        trial = replace(task, t0=self.t, z0=self.z, first_step=self.h, max_steps=1, keep_steps=True, times=np.zeros(0))
        *_, leg = self.loop.run(trial)
        if leg.status not in (Status.OK, Status.MAX_STEPS) or leg.t == self.t:
            return leg.status
        hit = self._first_crossing(leg)
        if hit is None:
            self._advance(leg.t, leg)
            self.touching = [False] * len(self.touching)
            return Status.OK
        theta, number, kind = hit
        if theta > self.t:
            *_, leg = self.loop.run(replace(trial, t_end=theta, max_steps=task.max_steps))
            if leg.status is not Status.OK:
                return leg.status
            self._advance(theta, leg, keep_h=True)
        self.touching = [False] * len(self.touching)
        self.switch = (number, kind)
        return self._impact(number) if kind == HIT and not self.owner.faces.contacts else Status.SWITCH

    def _between(self, times: Array, end: float) -> Array:
        """States of the plain loop at times inside the step that has just been tried."""
        task = replace(
            self.task, t0=self.t, z0=self.z, t_end=end, first_step=end - self.t, times=times, keep_steps=False,
            max_steps=self.task.max_steps,
        )  # fmt: skip
        *_, leg = self.loop.run(task)
        return leg.z_times

    def _first_crossing(self, leg: Leg) -> tuple[float, int, int] | None:
        """(time, number, kind) of the earliest crossing in the step that has just been tried."""
        g0, d0 = self.guards(self.t, self.z)
        g1, d1 = self.guards(leg.t, leg.z)
        n, found = len(d0), []
        for i in range(len(g1)):
            dips = i < n and g1[i] >= 0 and d0[i] < 0 < d1[i]
            if g1[i] < 0 or dips:
                time = self._root(i, leg.t, g0[i], d0[i] if i < n else 0.0, dips)
                if time is not None:
                    found.append((time, i))
        if not found:
            return None
        found.sort()
        time, i = found[0]
        tie = any(other - time <= self.task.simultaneous for other, _ in found[1:])
        return time, i, CORNER if tie else HIT if i < n else LEAVING

    def _root(self, i: int, end: float, g0: float, d0: float, dips: bool) -> float | None:
        value = lambda t: float(self.guards(t, self._between(np.array([t]), end)[0])[0][i])
        rate = lambda t: float(self.guards(t, self._between(np.array([t]), end)[0])[1][i])
        begin, touching = self.t, i < len(self.touching) and self.touching[i]
        if dips:
            end = _root_of(rate, begin, end)
            low = value(end)
            if low >= 0:
                if low <= self.task.graze * (1 + abs(g0)):
                    self.events.append([end, i, GRAZE, 0.0, 0.0, 0.0])
                return None
        if touching or not g0 > 0:
            begin = self.t + 1e-3 * (end - self.t)
            while value(begin) <= 0 and begin - self.t > 1e-12 * (end - self.t):
                begin = self.t + 0.1 * (begin - self.t)
            if value(begin) <= 0:
                return self.t
        return _root_of(value, begin, end)

    # -- moving on -----------------------------------------------------------------------------------------------------

    def _advance(self, t: float, leg: Leg, keep_h: bool = False) -> None:
        passed = len(self.z_times)
        times = self.task.times[passed:]
        inside = times[(times >= self.t) & (times <= t)]
        if len(inside):
            self.z_times += list(self._between(inside, t))
        self.t, self.z = t, leg.z.copy()
        self.h = self.h if keep_h else leg.next_step or self.h
        self._keep()
        a, b = self.statistics, leg.statistics
        self.statistics = Statistics(
            a.evaluations + b.evaluations, a.accepted + b.accepted, a.rejected + b.rejected,
            max(a.largest_defect, b.largest_defect),
        )  # fmt: skip

    def _keep(self) -> None:
        if self.task.keep_steps:
            self.t_steps.append(self.t)
            self.z_steps.append(self.z.copy())

    def _impact(self, i: int) -> Status:
        faces, p = self.owner.faces, self.task.p
        out = faces.impacts[i](self.t, self.z, p)
        if not out["margin"] > 0:
            return status_of(float(out["margin"]))
        before, after = float(out["before"]), float(out["after"])
        blow = before < 0
        if blow:
            self.z = self.z + out["dz"]
            self._keep()
        else:
            after = before
        zd = self.loop.rhs(self.t, self.z, p)
        pressing = faces.face_acceleration(self.t, self.z, zd, p)
        g_dd = float(pressing["g_dd"][i])
        self.events.append([self.t, i, IMPACT if blow else GRAZE, before, after, float(out["impulse"]) if blow else 0.0])
        self.touching[i] = True
        e = after / -before if blow else 0.0
        if g_dd < 0:
            flight = 2 * after / -g_dd
            if flight <= self.task.rest * (1 - e if e < 1 else 1) or 0.25 * flight * after <= pressing["noise"][i]:
                self.switch = (i, LANDING)
                return Status.SWITCH
        return Status.OK

    def _leg(self, status: Status) -> Leg:
        nz = len(self.z)
        return Leg(
            status=status, t=self.t, z=self.z.copy(), next_step=self.h or 0.0, z_times=np.array(self.z_times).reshape(-1, nz),
            statistics=self.statistics, t_pieces=(np.array(self.t_steps),), z_pieces=(np.array(self.z_steps).reshape(-1, nz),),
            events=np.array(self.events).reshape(-1, 6), switch=self.switch if status is Status.SWITCH else None,
            touching=tuple(self.touching),
        )  # fmt: skip


def _root_of(f: Any, a: float, b: float) -> float:
    """A root between a and b to the last digit."""
    root: Any = brentq(f, a, b, xtol=4e-16 * max(abs(b), 1e-300), rtol=8.9e-16)  # type: ignore[arg-type]
    return float(root)
