"""The fundamental matrix along a motion: smooth intervals in the compiled loop, and saltation at the events between them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.analysis.natural_scales import extents
from appell.analysis.orbits.chatter import Chatter, NoLimit
from appell.analysis.orbits.force_jumps import jumps_between, sides, surface_slopes, surfaces
from appell.analysis.orbits.motion_instants import ONE_INSTANT, Ended, MotionInstants
from appell.analysis.orbits.reset_saltation import ON_CONTACT, NoSlope, reset_saltation
from appell.analysis.orbits.tangency import approach_to
from appell.analysis.orbits.varied_rows import independent_rows, kinetic_answer
from appell.compiled.run import Run
from appell.errors import AS_ASKED, STATUS_TEXT, ModelError, Status
from appell.loop.methods.stiff import STIFF
from appell.loop.task import Task
from appell.motion.motion import Motion
from appell.normal_form.variation import impact_slopes, start_slopes, varied_flow
from appell.rows import left_inverse
from appell.simulate.loop.prepare import plain_loop
from appell.simulate.loop.reset_maps import ResetState

Array = NDArray[np.float64]

COMPILED = 60_000
"""Operations of the varied flow beyond which it runs on the evaluator, because compiling would take too long."""

STEPS_OF_VARIATIONS, LEAST_STEPS_OF_VARIATIONS = 100, 50_000
"""Most steps of the varied flow: so many for each step of the motion, and at least; not after a stiff method, whose steps are
far longer."""

FORCE_JUMPS = 1e-9
"""A force jumps where an acceleration differs on both sides by more than this fraction of its size."""

FACE_LEFT = 1e-9
"""A face in contact is left by an impact if its rate exceeds this fraction of that of the impact."""


class FundamentalMatrix(MotionInstants):
    """One pass along a motion with its own steps: Φ and Ψ side by side, columns (start, parameters).

    parameters: indices of those by which to differentiate; times: (k,) requested, in the order of the run.
    """

    def __init__(self, motion: Motion, parameters: tuple[int, ...], times: ArrayLike, rtol: Any, atol: Any):
        super().__init__(motion)
        self.numbers = parameters
        form = motion.run.form
        self.nq, self.nv, self.nz = form.nq, form.nv, form.nq + form.nv
        self.columns = self.nz + len(parameters)
        self.rtol = float(motion.tolerances.get("rtol", 1e-9) if rtol is None else rtol)
        self.atol = float(np.max(motion.tolerances.get("atol", 1e-12)) if atol is None else atol)
        self.t = np.array(np.atleast_1d(np.asarray(times, float)))
        first, last = self.begin, self.end
        if not np.all(np.isfinite(self.t)) or (np.diff(self.t) * np.sign(last - first) < 0).any():
            raise ModelError("times= must be finite and in the order of the run")
        slack = ONE_INSTANT * 1e2 * max(abs(first), abs(last))
        if len(self.t) and (min(self.t) < min(first, last) - slack or max(self.t) > max(first, last) + slack):
            raise ModelError(f"times= must lie within the run from {first:g} to {last:g} s")
        duration = abs(last - first) or 1.0
        self.scale = extents(motion.run, first, np.hstack([motion.q, motion.v]), duration)
        self.size = np.append(duration, self.scale)  # of (t, z)
        self.varied_p = self.p[list(parameters)]
        self.results: list[Array] = []
        self.previous_event = self.begin  # time of the previous event, s
        self.stuck = 0  # directions of the start in which friction sticks
        self.flows: dict[tuple[int, ...], Any] = {}
        self.surfaces = surfaces(motion.system)

    # -- the walk ------------------------------------------------------------------------------------------------------

    def run(self) -> tuple[Array, str]:
        """(Φ, Ψ) at the requested times that were reached, (k, nz, columns), and why not at all of them."""
        message = ""
        q, v = self._states(self.begin, after=True)
        Phi = self._at_start(q, v)
        time, stored = self.begin, 0
        try:
            self._off_surfaces(q, v, Phi)
            for events in self._instants():
                until, self.previous_event = events[0].time, time
                Phi, stored = self._between_events(time, until, q, v, Phi, stored, last=False)
                if isinstance(events[0], ResetState):
                    Phi, (q, v) = self._reset(events, Phi)
                else:
                    q, v = self._states(until, after=False)
                    Phi, (q, v) = self._after_events(until, events, q, v, Phi)
                time = events[-1].time
            Phi, stored = self._between_events(time, self.end, q, v, Phi, stored, last=True)
        except Ended as ended:
            message = str(ended)
        if self.motion.status not in AS_ASKED and not message:
            message = f"the motion itself ended early: {self.motion.message}"
        return np.concatenate([np.zeros((0, self.nz, self.columns)), *self.results]), message

    def _reset(self, states: list[ResetState], Phi: Array) -> tuple[Array, tuple[Array, Array]]:
        """Φ and the state after the resets of an instant."""
        t, nq, name = states[0].time, self.nq, self.motion.system.resets[states[0].number].name
        contacts = [self._contacts(time) for time in (np.nextafter(t, -np.inf), t)]
        runs = [self.run_of.in_contact(faces) for faces in contacts]
        flows = tuple(lambda at, z, run=run: self._flow_at(run, at, z[:nq], z[nq:]) for run in runs)
        try:
            approach = approach_to(self.motion, self.previous_event, t)
            Phi_after, _ = reset_saltation(self.run_of, states, self.p, Phi, self._Pi, (flows[0], flows[1]), approach)
        except NoSlope as reason:
            raise Ended(str(reason)) from None
        q, v = states[-1].after[:nq], states[-1].after[nq:]
        self._refuse_landing(contacts[1], t, q, v, Phi_after, name)
        for surface in self.surfaces:
            slopes = surface_slopes(self.run_of.form, self.motion.system, surface)(t, q, v, self.p)
            if abs(float(slopes["s"])) <= 1e-14 * np.abs(slopes["s_x"][0][1 : 1 + self.nz] @ Phi_after[:, : self.nz]).max(
                initial=0.0
            ):
                raise Ended(f"reset '{name}' leads onto {surface} = 0 at t = {t:.6g}, where a force jumps: no derivative")
        return Phi_after, (q, v)

    def _refuse_landing(self, contacts: tuple[int, ...], t: float, q: Array, v: Array, Phi: Array, name: str) -> None:
        """Raises for a map whose neighbouring images are not on the faces in contact after it."""
        if not contacts:
            return
        out = start_slopes(self.run_of.in_contact(contacts).form)(t, q, v, self.p)
        columns = np.zeros((len(out["f0_p"]), self.columns))
        columns[:, self.nz :] = out["f0_p"][:, list(self.numbers)]
        f0_columns = out["f0_q"] @ Phi[: self.nq] + columns
        size = float((np.abs(out["f0_q"]) @ np.abs(Phi[: self.nq])).max(initial=0.0))
        if np.abs(f0_columns).max(initial=0.0) > ON_CONTACT * size:
            raise Ended(f"reset '{name}' leads into contact at t = {t:.6g}, and its neighbours do not: there is no derivative")

    # -- between events ------------------------------------------------------------------------------------------------

    def _between_events(
        self, t0: float, t1: float, q: Array, v: Array, Phi: Array, stored: int, last: bool
    ) -> tuple[Array, int]:  # fmt: skip
        """Φ from one event at faces to the next, through jumps of forces, and how many requested times are done."""
        jumps = jumps_between(self.motion, self.surfaces, t0, t1)
        while jumps:
            until = jumps[0].time
            together = [jump for jump in jumps if abs(jump.time - until) <= 1e-12 * abs(self.end - self.begin)]
            jumps = jumps[len(together) :]
            Phi, stored = self._in_one_mode(t0, until, q, v, Phi, stored, last=False)
            q, v = self._states(until, after=True)
            Phi = self._after_surfaces(until, [jump.surface for jump in together], q, v, Phi)
            t0 = until
        return self._in_one_mode(t0, t1, q, v, Phi, stored, last)

    def _in_one_mode(
        self, t0: float, t1: float, q: Array, v: Array, Phi: Array, stored: int, last: bool
    ) -> tuple[Array, int]:  # fmt: skip
        """Φ from t0 to t1 in one mode; results at requested times in between are kept. If t1 is requested twice, the first of
        the two is the value before the event."""
        stop = int(np.searchsorted(self.direction * self.t, self.direction * t1, side="right" if last else "left"))
        stop = max(stop, stored)
        if not last and stop < len(self.t) and self.t[stop] == t1 and np.sum(self.t == t1) > 1:
            stop += 1  # the first sample at an impact is the one before it
        requested = self.t[stored:stop]
        if t1 == t0:
            self.results.append(np.repeat(Phi[None], len(requested), axis=0))
            return Phi, stop
        loop = self._loop(self._contacts(t0), t0, q, v)
        z0 = np.concatenate([q, v, Phi.ravel()])
        task = Task(
            t0=t0, z0=z0, t_end=t1, p=self._parameters(t0), rtol=self.rtol, atol=self._tolerances(z0),
            times=np.clip(requested, min(t0, t1), max(t0, t1)), keep_steps=False, max_steps=self._most_steps,
        )  # fmt: skip
        *_, trace = loop.run(task)
        self.results.append(trace.z_times[:, self.nz :].reshape(-1, self.nz, self.columns).copy())
        if trace.status is not Status.OK:
            raise Ended(f"the variations end at t = {trace.t:.6g}: {STATUS_TEXT[trace.status]}")
        return trace.z[self.nz :].reshape(self.nz, self.columns).copy(), stop

    @property
    def _most_steps(self) -> int:
        steps = self.motion.statistics.get("steps")
        if steps is None or self.motion.method in STIFF:
            return Task.max_steps
        return max(LEAST_STEPS_OF_VARIATIONS, STEPS_OF_VARIATIONS * int(steps))

    def _parameters(self, t: float) -> Array:
        """The parameters of the flow from an instant on."""
        return self.p

    def _tolerances(self, z0: Array) -> Array:
        """atol of the state; for ∂z_i/∂z_j, ∂z_i/∂p_j the fraction rtol of the scale of z_i over that of z_j or |p_j|."""
        by = np.concatenate([self.scale, np.where(self.varied_p != 0, np.abs(self.varied_p), 1.0)])
        return np.concatenate([np.full(self.nz, self.atol), (self.rtol * self.scale[:, None] / by).ravel()])

    def _loop(self, contacts: tuple[int, ...], t: float, q: Array, v: Array) -> Any:
        if contacts not in self.flows:
            run = self.run_of.in_contact(contacts)
            rows = independent_rows(run.form, t, q, v, self.p)
            flow = varied_flow(run.form, run.policies, rows, self.nz, self.numbers)
            light = flow.rhs.operations <= COMPILED  # type: ignore[union-attr]
            self.flows[contacts] = plain_loop(run if light else replace(run, backend="vm"), flow, "dop853")
        return self.flows[contacts]

    # -- at events -----------------------------------------------------------------------------------------------------

    def _after_events(self, t: float, events: list[Any], q: Array, v: Array, Phi: Array) -> tuple[Array, tuple[Array, Array]]:
        """Φ and the state after the events of an instant."""
        impacts = [event for event in events if event.kind in ("impact", "landing")]
        grazing = [event for event in events if event.kind == "graze"]
        if grazing:
            raise Ended(f"the motion grazes '{grazing[0].constraint}' at t = {t:.6g}: it has no derivative there")
        t_last = events[-1].time
        state_after = self._states(t_last, after=True)
        if not impacts:
            return Phi, state_after
        names = sorted({event.constraint for event in impacts})
        if len(names) > 1 or sum(event.kind == "impact" for event in impacts) > 1:
            faces = ", ".join(names)
            raise Ended(f"several blows coincide at t = {t:.6g} (on {faces}): the derivative is not unique there")
        face = self._face(names[0])
        for chatter in self.chatters:
            if t in chatter.times:
                Phi_after = self._saltation(
                    t, chatter.end, face, q, v, Phi, self._states(t, after=True), plastic=True
                )
                chatter.record(abs(float(impacts[0].before)), Phi, Phi_after)
            if t_last == chatter.end:
                return self._after_chatter(chatter, names[0]), state_after
        return self._saltation(t, t_last, face, q, v, Phi, state_after), state_after

    def _after_chatter(self, chatter: Chatter, name: str) -> Array:
        """Φ after infinitely many impacts, along the face."""
        try:
            if chatter.face not in self._contacts(chatter.end):
                raise NoLimit("the face is left at once")
            Phi = chatter.limit()
        except NoLimit as reason:
            raise Ended(f"infinitely many impacts on '{name}' end at t = {chatter.end:.6g}: {reason}") from None
        t, Pi = chatter.end, self._Pi
        out = start_slopes(self.run_of.in_contact(self._contacts(t)).form)(t, *self._states(t, after=True), self.p)
        G0, G1 = (kinetic_answer(out["M"], out[rows], out["A"]) for rows in ("A0", "A1"))
        Phi[: self.nq] -= out["N"] @ G0 @ (out["f0_q"] @ Phi[: self.nq] + out["f0_p"] @ Pi)
        Phi[self.nq :] -= G1 @ (out["f1_q"] @ Phi[: self.nq] + out["A1"] @ Phi[self.nq :] + out["f1_p"] @ Pi)
        return Phi

    def _after_surfaces(self, t: float, numbers: list[int], q: Array, v: Array, Phi: Array) -> Array:
        """Φ after a surface at which accelerations jump."""
        run = self.run_of.in_contact(self._contacts(t))
        z = np.concatenate([q, v])
        flow = lambda at, y: self._flow_at(run, at, y[: self.nq], y[self.nq :])
        changes = []
        for k in numbers:
            s_x = surface_slopes(self.run_of.form, self.motion.system, self.surfaces[k])(t, q, v, self.p)["s_x"][0]
            low, high = sides(flow, s_x[: 1 + self.nz], t, z, self.size)
            if (np.abs(high - low) <= FORCE_JUMPS * (np.abs(low) + np.abs(high) + self.scale / self.size[0])).all():
                continue  # nothing jumps here
            rates = [float(s_x[0] + s_x[1 : 1 + self.nz] @ f) for f in (low, high)]
            if not rates[0] * rates[1] > 0:
                raise Ended(
                    f"the motion does not pass {self.surfaces[k]} = 0 at t = {t:.6g}, where a force jumps, but stays there"
                )
            f_before, f_after = (low, high) if rates[0] * (self.end - self.begin) > 0 else (high, low)
            dt = -(s_x[1 : 1 + self.nz] @ Phi + s_x[1 + self.nz :] @ self._Pi) / (rates[0] if f_before is low else rates[1])
            changes.append(np.outer(f_before - f_after, dt))
        for further in changes[1:]:
            if not np.allclose(further, changes[0], rtol=1e-6, atol=1e-9 * np.abs(changes[0]).max()):
                raise Ended(f"forces jump twice at t = {t:.6g}: the derivative is not unique there")
        return Phi + changes[0] if changes else Phi

    def _off_surfaces(self, q: Array, v: Array, Phi: Array) -> None:
        """Raises for a start on a surface at which a force jumps, since it has neighbours on both sides."""
        for k, surface in enumerate(self.surfaces):
            out = surface_slopes(self.run_of.form, self.motion.system, surface)(self.begin, q, v, self.p)
            s_columns = out["s_x"][0][1 : 1 + self.nz] @ Phi[:, : self.nz]
            if abs(float(out["s"])) > 1e-14 * np.abs(s_columns).max(initial=0.0) or not s_columns.any():
                continue
            Phi_through = self._after_surfaces(self.begin, [k], q, v, Phi)
            if not np.array_equal(Phi_through, Phi):
                raise Ended(f"the start lies on {surface} = 0, where a force jumps: it has no derivative")

    @property
    def _Pi(self) -> Array:
        """∂p/∂(columns), (np, columns)."""
        Pi = np.zeros((len(self.p), self.columns))
        Pi[list(self.numbers), self.nz + np.arange(len(self.numbers))] = 1
        return Pi

    def _saltation(
        self, t: float, t_last: float, face: int, q: Array, v: Array, Phi: Array, state_after: Any, plastic: bool = False
    ) -> Array:  # fmt: skip
        """δz⁺ of all columns, from the mode before t to the one after `t_last`; `plastic`: as without restitution.

        δz⁺ = S δz⁻ + Σ δp. Backwards in time, where impacts are elastic, δz⁻ = S⁻¹(δz⁺ − Σ δp).
        """
        if self.direction < 0:
            (q, v), state_after = state_after, (q, v)
        contacts_before = tuple(i for i in self._contacts(np.nextafter(t, -np.inf)) if i != face)
        run, nz, Pi = self.run_of.in_contact(self._lasting(contacts_before, face, t, q, v, state_after)), self.nz, self._Pi
        rows = independent_rows(run.form, t, q, v, self.p)
        out = impact_slopes(run.form, run.policies, rows, face, plastic)(t, q, v, self.p)
        g_x, dv_x = out["g_x"][0], out["dv_x"]
        rate = float(out["g_d"])
        R_z, R_t = np.eye(nz), np.zeros(nz)
        R_z[self.nq :, :] += dv_x[:, 1 : 1 + nz]
        R_t[self.nq :] = dv_x[:, 0]
        R_p = np.zeros((nz, len(self.p)))
        R_p[self.nq :] = dv_x[:, 1 + nz :]
        f_before = self._beside_wall(contacts_before, t, q, v, g_x)
        q_after, v_after = (q, v + out["dv"]) if plastic else state_after
        f_after = self._beside_wall(self._contacts(t_last), t_last, q_after, v_after, g_x)
        jump = R_z @ f_before + R_t - f_after
        if self.direction < 0:
            S, by_p = R_z - np.outer(jump, g_x[1 : 1 + nz] / rate), R_p - np.outer(jump, g_x[1 + nz :] / rate)
            return np.asarray(np.linalg.solve(S, Phi - by_p @ Pi), float)
        dt = -(g_x[1 : 1 + nz] @ Phi + g_x[1 + nz :] @ Pi) / rate
        return np.asarray(R_z @ Phi + R_p @ Pi + np.outer(jump, dt), float)

    def _lasting(self, contacts: tuple[int, ...], face: int, t: float, q: Array, v: Array, state_after: Any) -> tuple[int, ...]:
        """The contacts that persist through an impact on a face; the others are left and transmit no impulse."""
        if not contacts:
            return ()
        rates = self.run_of.form.select("g_d")
        approach = abs(float(rates(t, q, v, self.p)["g_d"][face]))
        rates_after = rates(t, *state_after, self.p)["g_d"]
        return tuple(i for i in contacts if abs(float(rates_after[i])) <= FACE_LEFT * approach)

    def _beside_wall(self, contacts: tuple[int, ...], t: float, q: Array, v: Array, g_x: Array) -> Array:
        """The flow at a wall; where forces may jump at the wall itself, its limit from the side of the motion."""
        run = self.run_of.in_contact(contacts)
        if not self.surfaces:
            return self._flow_at(run, t, q, v)
        flow = lambda at, y: self._flow_at(run, at, y[: self.nq], y[self.nq :])
        return sides(flow, g_x[: 1 + self.nz], t, np.concatenate([q, v]), self.size)[1]

    def _flow_at(self, run: Run, t: float, q: Array, v: Array) -> Array:
        qd = run.form.select("qd")(t, q, v, self.p)["qd"]
        return np.concatenate([qd, run.acceleration(t, q, v)[0]])

    # -- at the start --------------------------------------------------------------------------------------------------

    def _at_start(self, q: Array, v: Array) -> Array:
        """(Φ, Ψ) at the start, (nz, columns): along the constraints of the mode there."""
        run = self.run_of.in_contact(self._contacts(self.begin))
        out = start_slopes(run.form)(self.begin, q, v, self.p)
        p_columns = list(self.numbers)
        N = out["N"]
        N_inverse = left_inverse(N)
        G0, G1 = (kinetic_answer(out["M"], out[name], out["A"]) for name in ("A0", "A1"))
        dq = np.zeros((self.nq, self.columns))
        dq[:, : self.nq] = N @ N_inverse
        pi = N_inverse @ dq
        states = np.zeros((self.nq, self.columns))
        first_order = range(self.nq - run.form.states, self.nq)
        states[first_order, first_order] = 1.0  # states of first order are free; coordinates satisfy the rows
        pi -= G0 @ (out["A0"] @ pi + out["f0_q"] @ states)
        pi[:, self.nz :] -= G0 @ out["f0_p"][:, p_columns]
        dq = N @ pi + states
        dv = np.zeros((self.nv, self.columns))
        dv[:, self.nq : self.nz] = np.eye(self.nv)
        f1_columns = out["A1"] @ dv + out["f1_q"] @ dq
        f1_columns[:, self.nz :] += out["f1_p"][:, p_columns]
        return np.vstack([dq, dv - G1 @ f1_columns])


__all__ = ["COMPILED", "FundamentalMatrix"]
