"""Derivatives of a motion by its start and by parameters, right through impacts.

    Φ(t) = ∂z(t)/∂z(0),        Ψ(t) = ∂z(t)/∂p,        z = (q, v)

Between events both run with the motion in the compiled loop (`normal_form.variation`). At an event on a face, g(t*, z) = 0 and
z⁺ = R(t*, z⁻), the time moves too, δt* = −(g_z δz + g_p δp)/ġ, and

    δz⁺ = R_z δz⁻ + R_p δp + (R_z f⁻ + R_t − f⁺) δt*                                   (saltation; f± the flow before and after)

An impact has R = (q, v + Δv); a landing without restitution ends on the face, ġ⁺ = 0, and goes on in contact; leaving a face
changes nothing, since accelerations are continuous there. A start may only be moved along the constraints: Φ(0) projects
onto what they allow, in the kinetic metric, as `ap.consistent` does, and Ψ(0) follows constraints that contain p.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from appell.errors import STATUS_TEXT, ModelError, Status
from appell.model import System
from appell.model.friction import refuse_friction
from appell.motion.motion import Motion
from appell.normal_form import NormalForm
from appell.normal_form.variation import impact_slopes, start_slopes, varied_flow
from appell.simulate.loop.prepare import plain_loop
from appell.simulate.loop.task import Task
from appell.simulate.run import Run
from appell.simulate.simulate import simulate
from appell.tree import Tree

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

INDEPENDENT = 1e-9
"""Share of the largest pivot below which a row follows from the others."""

ONE_INSTANT = 1e-14
"""Share of the times within which events are one: a blow without restitution and the contact that follows it."""

COMPILED = 60_000
"""Operations of the varied flow beyond which it runs on the evaluator rather than wait for a compiler."""


@dataclass(frozen=True, eq=False)
class Variations:
    """Φ = ∂z(t)/∂z(0) and Ψ = ∂z(t)/∂p along a motion; `ap.variations` makes it.

    Attributes
    ----------
    motion: the motion; t: (k,) times, s; at an impact the derivatives before and after it stand one behind the other.
    state: Φ, (k, nz, nz) with z = (q, v) in the order of `names`: state[i, a, b] = ∂z_a(t_i)/∂z_b(0), SI.
    parameters: Ψ, (k, nz, np) in the order of `parameter_names`.
    ok, message: whether the end of the motion was reached, and if not, why; the arrays then end before it.
    """

    motion: Motion
    t: Array
    state: Array
    parameters: Array
    names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    ok: bool = True
    message: str = ""

    @property
    def monodromy(self) -> Array:
        """Φ at the end, (nz, nz)."""
        return self.state[-1]

    @cached_property
    def dataset(self) -> xr.Dataset:
        """`state` over (t, of, by), `parameters` over (t, of, parameter)."""
        import xarray as xr

        t = ("t", self.t, {"units": "s", "long_name": "time"})
        return xr.Dataset(
            {
                "state": (("t", "of", "by"), self.state, {"units": "SI", "long_name": "derivative by the start"}),
                "parameters": (("t", "of", "parameter"), self.parameters, {"units": "SI", "long_name": "by parameters"}),
            },
            coords={"t": t, "of": list(self.names), "by": list(self.names), "parameter": list(self.parameter_names)},
            attrs={"system": self.motion.name, "message": self.message},
        )  # fmt: skip

    def plot(self, ax: Any = None) -> Any:
        """The singular values of Φ over time, on a logarithmic scale; the figure."""
        from appell.show.lab import growth

        return growth(self, ax)

    def __str__(self) -> str:
        return f"variations of '{self.motion.name}' at {len(self.t)} times" + (f"; {self.message}" if self.message else "")


def variations(
    motion: Motion | System | Tree | Run,
    start: Mapping[Any, Any] | None = None,
    until: float = 1.0,
    parameters: Mapping[Any, Any] | None = None,
    *,
    by: Iterable[Any] | None = None,
    times: ArrayLike | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **options: Any,
) -> Variations:
    """The fundamental matrix ∂z(t)/∂z(0) and ∂z(t)/∂p along a motion, through impacts, contact and release.

    Parameters
    ----------
    motion: a `Motion`, or a system with `start`, `until`, `parameters` and other options of `ap.simulate`.
    by: the parameters by which to differentiate, symbols or names; all of them by default.
    times: times to return, (k,), s; those of the motion by default.
    rtol, atol: tolerances of the variations; those of the motion by default.

    Where a derivative does not exist (grazing, infinitely many impacts, blows on several faces at once) the result ends there
    and `message` says why.
    """
    refuse_friction(motion, "ap.variations")
    if not isinstance(motion, Motion):
        asked = {} if rtol is None else {"rtol": rtol}
        asked |= {} if atol is None else {"atol": atol}
        motion = simulate(motion, start, until, parameters, **asked, **options)
    elif start is not None or parameters is not None or options:
        raise ModelError("a Motion has its start and parameters; variations(motion) takes by=, times=, rtol=, atol= only")
    if motion.readings is not None:
        raise ModelError("variations of a motion under sampled control are not taken: how the control answers is not known")
    if motion.sampler is None and len(motion.impacts):
        raise ModelError("this motion cannot be continued between its samples; simulate it again to take its variations")
    return _Along(motion, _chosen(motion, by), times, rtol, atol).run()


def _chosen(motion: Motion, by: Iterable[Any] | None) -> tuple[int, ...]:
    names = [str(p) for p in motion.system.parameters]
    if by is None:
        return tuple(range(len(names)))
    asked = [str(p) for p in ([by] if isinstance(by, str) else by)]
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise ModelError(f"by= names {unknown[0]}, which is no parameter of {motion.name}; it has {', '.join(names) or 'none'}")
    return tuple(names.index(name) for name in asked)


class _Ended(Exception):
    """No derivative beyond this point; the text says why."""


class _Along:
    """One walk along a motion: the state of Φ and Ψ side by side, columns (start, parameters)."""

    def __init__(self, motion: Motion, parameters: tuple[int, ...], times: ArrayLike | None, rtol: Any, atol: Any):
        self.motion, self.run_of, self.numbers = motion, motion.run, parameters
        form = motion.run.form
        self.nq, self.nv, self.nz = form.nq, form.nv, form.nq + form.nv
        self.columns = self.nz + len(parameters)
        self.p = motion.run.p
        self.rtol = float(motion.tolerances.get("rtol", 1e-9) if rtol is None else rtol)
        self.atol = float(np.max(motion.tolerances.get("atol", 1e-12)) if atol is None else atol)
        self.t = np.array(motion.t if times is None else np.atleast_1d(np.asarray(times, float)))
        first, last = motion.span or (float(motion.t[0]), float(motion.t[-1]))
        self.begin, self.end = first, last
        if not np.all(np.isfinite(self.t)) or (np.diff(self.t) * np.sign(last - first) < 0).any():
            raise ModelError("times= must be finite and in the order of the run")
        if len(self.t) and (min(self.t) < min(first, last) - 1e-12 or max(self.t) > max(first, last) + 1e-12):
            raise ModelError(f"times= must lie within the run from {first:g} to {last:g} s")
        self.kept: list[Array] = []
        self.flows: dict[tuple[int, ...], Any] = {}

    # -- the walk ------------------------------------------------------------------------------------------------------

    def run(self) -> Variations:
        motion, message = self.motion, ""
        q, v = self._states(self.begin, after=True)
        Phi = self._first(q, v)
        time, passed = self.begin, 0
        try:
            for events in self._events():
                until = events[0].time
                Phi, passed = self._smooth(time, until, q, v, Phi, passed, last=False)
                q, v = self._states(until, after=False)
                Phi, (q, v) = self._through(until, events, q, v, Phi)
                time = events[-1].time
            Phi, passed = self._smooth(time, self.end, q, v, Phi, passed, last=True)
        except _Ended as ended:
            message = str(ended)
        if motion.status is not Status.OK and not message:
            message = f"the motion itself ended early: {motion.message}"
        found = np.concatenate([np.zeros((0, self.nz, self.columns)), *self.kept])
        system = motion.system
        return Variations(
            motion, self.t[: len(found)], found[:, :, : self.nz], found[:, :, self.nz :],
            tuple(str(s) for s in (*system.coordinates, *system.velocities)),
            tuple(str(system.parameters[i]) for i in self.numbers), not message, message,
        )  # fmt: skip

    def _events(self) -> list[list[Any]]:
        """Impacts, landings and leavings by instant."""
        groups: list[list[Any]] = []
        for event in self.motion.impacts:
            if event.time == self.begin and event.kind != "impact":
                continue  # the contacts of the start, which nothing hits
            if groups and event.time - groups[-1][0].time <= ONE_INSTANT * max(abs(self.begin), abs(self.end)):
                groups[-1].append(event)
            else:
                groups.append([event])
        return groups

    def _states(self, time: float, after: bool) -> tuple[Array, Array]:
        """(q, v) of the motion at an instant; `after` or before what happens there."""
        motion = self.motion
        here = np.flatnonzero(motion.t == time)
        if len(here):
            k = int(here[-1] if after else here[0])
            return motion.q[k], motion.v[k]
        state = motion.at(time)
        return state.q[0], state.v[0]

    def _contacts(self, time: float) -> tuple[int, ...]:
        """The faces in contact from this instant on."""
        found: tuple[int, ...] = ()
        for since, faces in self.motion.contacts:
            if since <= time:
                found = faces
        return found

    # -- between events ------------------------------------------------------------------------------------------------

    def _smooth(
        self, t0: float, t1: float, q: Array, v: Array, Phi: Array, passed: int, last: bool
    ) -> tuple[Array, int]:  # fmt: skip
        """Φ from t0 to t1 in one mode; what is asked on the way is kept. Asked at t1: what is before the event, once."""
        way = np.sign(self.end - self.begin) or 1.0
        stop = int(np.searchsorted(way * self.t, way * t1, side="right" if last else "left"))
        stop = max(stop, passed)
        if not last and stop < len(self.t) and self.t[stop] == t1 and np.sum(self.t == t1) > 1:
            stop += 1  # the first of the samples at an impact is the one before it
        asked = self.t[passed:stop]
        if t1 == t0:
            self.kept.append(np.repeat(Phi[None], len(asked), axis=0))
            return Phi, stop
        contacts = self._contacts(t0)
        there = self.run_of.in_contact(contacts)
        loop = self._loop(there, contacts, t0, q, v)
        z0 = np.concatenate([q, v, Phi.ravel()])
        task = Task(
            t0=t0, z0=z0, t_end=t1, p=self.p, rtol=self.rtol, atol=self._tolerances(z0),
            times=np.clip(asked, min(t0, t1), max(t0, t1)), keep_steps=False,
        )  # fmt: skip
        *_, trace = loop.run(task)
        self.kept.append(trace.z_times[:, self.nz :].reshape(-1, self.nz, self.columns).copy())
        if trace.status is not Status.OK:
            raise _Ended(f"the variations end at t = {trace.t:.6g}: {STATUS_TEXT[trace.status]}")
        return trace.z[self.nz :].reshape(self.nz, self.columns).copy(), stop

    def _tolerances(self, z0: Array) -> Array:
        """atol of the state; of Φ the same share of its size."""
        atol = np.full(len(z0), self.atol)
        atol[self.nz :] = max(self.rtol, self.atol)
        return atol

    def _loop(self, there: Run, contacts: tuple[int, ...], t: float, q: Array, v: Array) -> Any:
        if contacts not in self.flows:
            rows = independent_rows(there.form, t, q, v, self.p)
            flow = varied_flow(there.form, there.policies, rows, self.nz, self.numbers)
            light = flow.rhs.operations <= COMPILED  # type: ignore[union-attr]
            self.flows[contacts] = plain_loop(there if light else replace(there, backend="vm"), flow, "dop853")
        return self.flows[contacts]

    # -- at events -----------------------------------------------------------------------------------------------------

    def _through(self, t: float, events: list[Any], q: Array, v: Array, Phi: Array) -> tuple[Array, tuple[Array, Array]]:
        """Φ and the state behind an instant."""
        blows = [event for event in events if event.kind in ("impact", "landing")]
        grazing = [event for event in events if event.kind == "graze"]
        if grazing:
            raise _Ended(f"the motion grazes '{grazing[0].constraint}' at t = {t:.6g}: it has no derivative by the start there")
        late = events[-1].time
        after = self._states(late, after=True)
        if not blows:
            return Phi, after
        names = sorted({event.constraint for event in blows})
        if len(names) > 1 or sum(event.kind == "impact" for event in blows) > 1:
            where = ", ".join(names)
            raise _Ended(f"several blows fall together at t = {t:.6g} (on {where}): there is no one derivative there")
        face = next(i for i, one in enumerate(self.motion.system.unilateral) if one.name == names[0])
        landed = any(event.kind == "landing" for event in blows)
        if landed and self.run_of.form.select("restitution")(t, q, v, self.p)["restitution"][face] > 0:
            raise _Ended(
                f"infinitely many impacts on '{names[0]}' end at t = {late:.6g}: variations are not taken through them all"
            )
        return self._saltation(t, late, face, q, v, Phi, after), after

    def _saltation(self, t: float, late: float, face: int, q: Array, v: Array, Phi: Array, after: Any) -> Array:
        """δz⁺ of all columns, from the mode before t to the one after `late`."""
        before = tuple(i for i in self._contacts(np.nextafter(t, -np.inf)) if i != face)
        there = self.run_of.in_contact(before)
        rows = independent_rows(there.form, t, q, v, self.p)
        out = impact_slopes(there.form, there.policies, rows, face)(t, q, v, self.p)
        nz = self.nz
        g_x, dv_x = out["g_x"][0], out["dv_x"]
        rate = float(out["g_d"])
        Pi = np.zeros((len(self.p), self.columns))
        for j, i in enumerate(self.numbers):
            Pi[i, nz + j] = 1
        R_z, R_t = np.eye(nz), np.zeros(nz)
        R_z[self.nq :, :] += dv_x[:, 1 : 1 + nz]
        R_t[self.nq :] = dv_x[:, 0]
        R_p = np.zeros((nz, len(self.p)))
        R_p[self.nq :] = dv_x[:, 1 + nz :]
        dt = -(g_x[1 : 1 + nz] @ Phi + g_x[1 + nz :] @ Pi) / rate
        f_before = self._flow_at(there, t, q, v)
        f_after = self._flow_at(self.run_of.in_contact(self._contacts(late)), late, *after)
        return np.asarray(R_z @ Phi + R_p @ Pi + np.outer(R_z @ f_before + R_t - f_after, dt), float)

    def _flow_at(self, run: Run, t: float, q: Array, v: Array) -> Array:
        qd = run.form.select("qd")(t, q, v, self.p)["qd"]
        return np.concatenate([qd, run.acceleration(t, q, v)[0]])

    # -- at the start --------------------------------------------------------------------------------------------------

    def _first(self, q: Array, v: Array) -> Array:
        """(Φ, Ψ) at the start, (nz, columns): moved along the constraints of the mode there."""
        there = self.run_of.in_contact(self._contacts(self.begin))
        out = start_slopes(there.form)(self.begin, q, v, self.p)
        p_columns = list(self.numbers)
        N = out["N"]
        back = np.linalg.pinv(N) if N.size else N.T
        G0, G1 = (_answer(out["M"], out[name], out["A"]) for name in ("A0", "A1"))
        dq = np.zeros((self.nq, self.columns))
        dq[:, : self.nq] = N @ back
        pi = back @ dq
        pi -= G0 @ (out["A0"] @ pi)
        pi[:, self.nz :] -= G0 @ out["f0_p"][:, p_columns]
        dq = N @ pi
        dv = np.zeros((self.nv, self.columns))
        dv[:, self.nq : self.nz] = np.eye(self.nv)
        moved = out["A1"] @ dv + out["f1_q"] @ dq
        moved[:, self.nz :] += out["f1_p"][:, p_columns]
        return np.vstack([dq, dv - G1 @ moved])


def _answer(M: Array, A: Array, rows: Array) -> Array:
    """M⁻¹Aᵀ(A M⁻¹Aᵀ)⁺: the smallest answer in the kinetic metric to a residual of the rows A."""
    if not len(A):
        return np.zeros((M.shape[0], 0))
    weight = np.trace(M) / max(np.sum(rows**2), np.finfo(float).tiny) if np.linalg.matrix_rank(M) < len(M) else 0.0
    X = np.linalg.solve(M + weight * rows.T @ rows, A.T)
    return X @ np.linalg.pinv(A @ X, rcond=INDEPENDENT, hermitian=True)


def independent_rows(form: NormalForm, t: float, q: Array, v: Array, p: Array) -> tuple[int, ...]:
    """Rows of A that say as much as all of them at a state."""
    A = form.select("A")(t, q, v, p)["A"]
    if not len(A):
        return ()
    size = np.linalg.norm(A, axis=1)
    found: Any = scipy.linalg.qr((A / np.where(size > 0, size, 1)[:, None]).T, mode="economic", pivoting=True)
    _, R, order = found
    pivots = np.abs(np.diag(R))
    return tuple(sorted(int(i) for i in order[: int((pivots > INDEPENDENT * pivots[0]).sum())]))


__all__ = ["Variations", "variations"]
