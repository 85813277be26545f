"""The fundamental matrix along a motion with friction: through sticking, slipping and their transitions.

At each change of mode the guard that crossed zero is found, and its saltation matrix applied (`mode_variation`). Where two
guards cross together, where one only touches zero (grazing–sliding), and at impacts there is no unique derivative: the
computation ends, and says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.fundamental_matrix import COMPILED, FundamentalMatrix
from appell.analysis.orbits.motion_instants import Ended
from appell.analysis.orbits.reset_saltation import NoSlope, reset_saltation
from appell.analysis.orbits.tangency import approach_to, touches
from appell.analysis.orbits.varied_rows import kinetic_answer
from appell.modes.mode import SLIP, STICK, Mode
from appell.nonsmooth.friction.guards import BREAK, HIT, KINK, LEAVE, STOP, GuardWatch, ModeGuard
from appell.nonsmooth.friction.mode_variation import mode_variation
from appell.normal_form.variation import start_slopes
from appell.rows import rank
from appell.simulate.loop.prepare import plain_loop
from appell.simulate.loop.reset_maps import ResetState

Array = NDArray[np.float64]

FALLEN = 1e-6
"""A second guard crosses at the same instant within this fraction of its terms, or of the duration of a mode."""
FROM_REST = 1e-13
"""A slip below this fraction of its terms is zero."""
STILL_STICKS = 1e-7
"""After a map, the slip of a sticking friction may be this fraction of its terms."""
WORDS = {STOP: "the slip of '{}' comes to zero", BREAK: "'{}' breaks away", KINK: "the load of '{}' changes its sign",
         HIT: "'{}' is hit", LEAVE: "'{}' is left"}  # fmt: skip


class ModeChange(NamedTuple):
    """The instant at which one mode ends and another begins."""

    time: float
    before: Mode
    after: Mode


class StickSlipMatrix(FundamentalMatrix):
    """One pass along a motion of a system with friction."""

    def __init__(self, motion: Any, parameters: tuple[int, ...], times: Any, rtol: Any, atol: Any):
        super().__init__(motion, parameters, times, rtol, atol)
        self.varied = mode_variation(motion.system, motion.run.form, self.nz, parameters)
        self.layout = self.varied.layout
        self.varied_loop: Any = None

    def run(self) -> tuple[Array, str]:
        if self.surfaces:
            nothing = np.zeros((0, self.nz, self.columns))
            return (
                nothing,
                f"forces jump or bend at {self.surfaces[0]} = 0 beside friction: variations are not taken through both",
            )
        if self.end < self.begin:
            return np.zeros((0, self.nz, self.columns)), "with friction time runs forward"
        return super().run()

    # -- modes -----------------------------------------------------------------------------------------------------------

    def _mode(self, time: float, *, before: bool = False) -> Mode:
        """The mode after an instant, or before it."""
        modes = self.motion.modes
        latest = modes[0][1]
        for since, mode in modes:
            if since < time or (since == time and not before):
                latest = mode
        return latest

    def _numbers(self, mode: Mode) -> Array:
        return np.append(self.p, mode.data(self.layout))

    def _instants(self) -> list[list[Any]]:
        impacts = [event for event in self.motion.impacts if event.kind in ("impact", "graze")]
        resets = [events for events in super()._instants() if isinstance(events[0], ResetState)]
        reset_times = {events[0].time for events in resets}
        times = sorted({time for time, _ in self.motion.modes if time > self.begin} - reset_times)
        mode_changes: list[list[Any]] = [[ModeChange(t, self._mode(t, before=True), self._mode(t))] for t in times]
        first_impact = min((event.time for event in impacts), default=np.inf)
        self.first_impact = next((event for event in impacts if event.time == first_impact), None)
        instants = sorted([*mode_changes, *resets], key=lambda events: events[0].time)
        return [
            *(events for events in instants if events[0].time < first_impact),
            *([[self.first_impact]] if self.first_impact is not None else []),
        ]

    def _loop(self, contacts: tuple[int, ...], t: float, q: Array, v: Array) -> Any:
        if self.varied_loop is None:
            flow = self.varied.flow
            light = flow.rhs.operations <= COMPILED  # type: ignore[union-attr]
            self.varied_loop = plain_loop(self.run_of if light else replace(self.run_of, backend="vm"), flow, "dop853")
        return self.varied_loop

    def _parameters(self, t: float) -> Array:
        mode = self._mode(t)
        several = [i for i in mode.sliding if self.layout.parts[i] > 1 and mode.frictions[i].fixed]
        if several:
            name = self.motion.system.frictions[several[0]].name
            raise Ended(f"'{name}' is a slip of several parts, and begins to slide at t = {t:.6g}: no derivative is taken")
        return self._numbers(mode)

    def _between_events(
        self, t0: float, t1: float, q: Array, v: Array, Phi: Array, stored: int, last: bool
    ) -> tuple[Array, int]:  # fmt: skip
        try:
            return super()._between_events(t0, t1, q, v, Phi, stored, last)
        except Ended:
            if not last:
                self._refuse_pairs(ModeChange(t1, self._mode(t1, before=True), self._mode(t1)))
            raise

    # -- transitions -----------------------------------------------------------------------------------------------------

    def _after_events(self, t: float, events: list[Any], q: Array, v: Array, Phi: Array) -> tuple[Array, tuple[Array, Array]]:
        change = events[0]
        if not isinstance(change, ModeChange):
            raise Ended(f"a blow on '{change.constraint}' beside friction at t = {t:.6g}: its derivative is not taken")
        state_after = self._states(t, after=True)
        if change.before == change.after:
            return Phi, state_after
        self._refuse_pairs(change)
        return self._after_mode_change(change, q, v, Phi), state_after

    def _refuse_pairs(self, change: ModeChange) -> None:
        for i, (a, b) in enumerate(zip(change.before.frictions, change.after.frictions, strict=True)):
            if self.layout.parts[i] > 1 and a.state != b.state:
                name = self.motion.system.frictions[i].name
                raise Ended(f"'{name}' is a slip of several parts, and changes at t = {change.time:.6g}: none is taken")

    def _after_mode_change(self, change: ModeChange, q: Array, v: Array, Phi: Array) -> Array:
        """Φ after a change of mode."""
        t, nz = change.time, self.nz
        out = self.varied.slopes(t, q, v, self._numbers(change.before))
        f_before = out["f"]
        f_after = self.varied.slopes(t, q, v, self._numbers(change.after))["f"]
        g_x, rate = self._guard_of_change(change, out, f_before)
        dt = -(g_x[1 : 1 + nz] @ Phi + g_x[1 + nz :] @ self._Pi) / rate
        return np.asarray(Phi + np.outer(f_before - f_after, dt), float)

    def _guard_of_change(self, change: ModeChange, out: Any, f: Array) -> tuple[Array, float]:
        """The gradient and the rate of the guard that ends a mode."""
        zeros, layout = np.zeros(self.layout.count), self.layout
        watch = GuardWatch.of(layout, change.before, np.ones(layout.rows), 1.0, zeros, zeros, None, None)
        since = max(time for time, mode in self.motion.modes if time < change.time)
        duration = change.time - since
        crossed: list[tuple[float, ModeGuard, Array, float, float]] = []
        for guard in watch.guards:
            index = guard.bound_index(layout)
            if index is None:
                continue
            g_x = out["g_x"][index]
            terms = np.concatenate([[g_x[0]], g_x[1 : 1 + self.nz] * f])
            rate, size = float(terms.sum()), float(np.abs(terms).sum())
            value = float(out["g"][index])
            if abs(value) <= FALLEN * max(size * duration, 1e-300):
                crossed.append((abs(value) / max(size * duration, 1e-300), guard, g_x, rate, size))
        falling = [
            candidate
            for candidate in crossed
            if candidate[3] < 0 and not self._only_touches(change, since, candidate[1], candidate[3])
        ]
        if not crossed:
            raise Ended(f"friction changes its mode at t = {change.time:.6g} for a reason that has no derivative")
        if not falling:
            words = self._guard_text(crossed[0][1])
            raise Ended(f"{words} at t = {change.time:.6g} without a rate (grazing): the derivative is not unique there")
        if len(falling) > 1:
            words = " and ".join(self._guard_text(candidate[1]) for candidate in falling[:2])
            raise Ended(f"{words} at one instant, t = {change.time:.6g}: the derivative is not unique there")
        return falling[0][2], falling[0][3]

    def _only_touches(self, change: ModeChange, since: float, guard: ModeGuard, rate: float) -> bool:
        """Whether a guard that crossed zero with a rate cannot be distinguished from one that only touches it."""
        approach, index, numbers = (
            approach_to(self.motion, since, change.time), guard.bound_index(self.layout), self._numbers(change.before)
        )  # fmt: skip
        states = zip(approach.t, approach.z[:, : self.nq], approach.z[:, self.nq :], strict=True)
        guards = np.array([self.varied.slopes(t, q.copy(), v.copy(), numbers)["g"][index] for t, q, v in states])
        return touches(rate, guards, approach)

    def _guard_text(self, guard: ModeGuard) -> str:
        system = self.motion.system
        name = (system.unilateral if guard.kind in (HIT, LEAVE) else system.frictions)[guard.number].name
        return WORDS.get(guard.kind, "'{}' changes").format(name)

    def _reset(self, states: list[ResetState], Phi: Array) -> tuple[Array, tuple[Array, Array]]:
        t, nq = states[0].time, self.nq
        modes = [self._mode(t, before=True), self._mode(t)]
        flows = [lambda at, z, m=m: self.varied.slopes(at, z[:nq], z[nq:], self._numbers(m))["f"] for m in modes]
        try:
            approach = approach_to(self.motion, self.previous_event, t)
            Phi_after, dt = reset_saltation(self.run_of, states, self.p, Phi, self._Pi, (flows[0], flows[1]), approach)
        except NoSlope as reason:
            raise Ended(str(reason)) from None
        q, v = states[-1].after[:nq].copy(), states[-1].after[nq:].copy()
        name = self.motion.system.resets[states[0].number].name
        self._refuse_landing(modes[1].closed, t, q, v, Phi_after, name)
        slopes = self.varied.slopes(t, q, v, self._numbers(modes[1]))
        for i, friction in enumerate(modes[1].frictions):
            s_x = slopes["s_x"][self.layout.columns(i)]
            slip_columns = s_x[:, 1 : 1 + self.nz] @ Phi_after + s_x[:, 1 + self.nz :] @ self._Pi
            size = float((np.abs(s_x[:, 1 : 1 + self.nz]) @ np.abs(Phi_after)).max(initial=0.0))
            if friction.state == STICK and np.abs(slip_columns).max(initial=0.0) > STILL_STICKS * size:
                friction = self.motion.system.frictions[i].name
                raise Ended(f"reset '{name}' brings '{friction}' to rest at t = {t:.6g}, and not its neighbours: no derivative")
        self._refuse_slip_from_rest(t, q, v, Phi_after, dt, f"after reset '{name}'")
        return Phi_after, (q, v)

    # -- at the start ----------------------------------------------------------------------------------------------------

    def _off_surfaces(self, q: Array, v: Array, Phi: Array) -> None:
        self._refuse_slip_from_rest(self.begin, q, v, Phi, np.zeros(self.columns), "at the start")

    def _refuse_slip_from_rest(self, t: float, q: Array, v: Array, Phi: Array, dt: Array, when: str) -> None:
        """Raises where a slip begins at zero, but those of neighbouring motions, each at its own instant t + δt, do not: they
        begin to slide in either direction, and those against it come to rest first. dt: δt of all columns, (columns,)."""
        mode, nz = self._mode(t), self.nz
        slopes = self.varied.slopes(t, q, v, self._numbers(mode))
        for i, friction in enumerate(mode.frictions):
            if friction.state != SLIP or self.layout.smooth[i]:
                continue
            s_x = slopes["s_x"][self.layout.columns(i)]
            Phi_at_event = Phi + np.outer(slopes["f"], dt)
            slip_columns = s_x[:, 1 : 1 + nz] @ Phi_at_event + s_x[:, 1 + nz :] @ self._Pi + np.outer(s_x[:, 0], dt)
            terms = np.abs(s_x[:, 1 : 1 + nz]) @ np.abs(np.concatenate([q, v])) + np.abs(s_x[:, 1 + nz :]) @ np.abs(self.p)
            size = float(terms.max(initial=0.0))
            at_rest = np.linalg.norm(slopes["s"][self.layout.columns(i)]) <= FROM_REST * size
            if at_rest and np.abs(slip_columns).max(initial=0.0) > STILL_STICKS * np.abs(s_x).max():
                name = self.motion.system.frictions[i].name
                raise Ended(f"'{name}' begins to slide from rest {when}, t = {t:.6g}: neighbours slide to either side, and the"
                            " derivatives of both sides differ")  # fmt: skip

    def _at_start(self, q: Array, v: Array) -> Array:
        """Φ at the start, along the constraints and sticking frictions, in the kinetic metric."""
        Phi = super()._at_start(q, v)
        mode = self._mode(self.begin)
        rows = [k for i in mode.sticking for k in range(*self.layout.columns(i).indices(10**6))]
        if not rows:
            return Phi
        slopes = self.varied.slopes(self.begin, q, v, self._numbers(mode))
        s_x, nz = slopes["s_x"][rows], self.nz
        rows_there = start_slopes(self.run_of.in_contact(mode.closed).form)(self.begin, q, v, self.p)
        D = s_x[:, 1 + self.nq : 1 + nz]
        slip_columns = s_x[:, 1 : 1 + nz] @ Phi + s_x[:, 1 + nz :] @ self._Pi
        A1 = rows_there["A1"]
        all_rows = kinetic_answer(rows_there["M"], np.vstack([A1, D]), np.vstack([rows_there["A"], D]))
        correction = all_rows[:, len(A1) :]
        free = Phi[self.nq :, self.nq : nz]
        Phi = Phi.copy()
        Phi[self.nq :] -= correction @ slip_columns
        self.stuck = rank(free) - rank(Phi[self.nq :, self.nq : nz])
        return Phi


__all__ = ["StickSlipMatrix"]
