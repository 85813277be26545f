"""Digital control: a callable reads the state at a fixed rate, and what it answers is held until the next reading.

    p_u(t) = control(t_k, q(t_k), v(t_k))        t_k <= t < t_k+1 = t_k + 1/rate                (zero-order hold)

The inputs u are parameters of the system, named in its forces; the motion between two readings is that of any other system.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import AppellWarning
from appell.errors import STATUS_TEXT, ModelError, Status
from appell.model import System
from appell.simulate.contact import KINDS, Impact
from appell.simulate.loop_py import Leg, Task
from appell.simulate.loops import METHODS, prepare
from appell.simulate.motion import Motion, State
from appell.simulate.run import Run, bind, compile
from appell.simulate.start import check, read

Array = NDArray[np.float64]
Control = Callable[[float, Array, Array], Mapping[Any, float]]


class _HeldRun(Run):
    """A run with parameters of its own at each state of a batch: p is (batch, parameters)."""

    @cached_property
    def acceleration(self) -> Callable[[ArrayLike, ArrayLike, ArrayLike], tuple[Array, Array]]:
        """(a, Λ) of a batch; NaN where a state is singular."""

        def solve(t: ArrayLike, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
            a, lam, margin = self._call.batch(t, q, v, self.p)
            a[~(margin > 0)], lam[~(margin > 0)] = np.nan, np.nan
            return a, lam

        return solve


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HeldMotion(Motion):
    """A motion under held inputs; `held` (k, parameters): the values of all parameters at each sample."""

    held: Array

    def _run_at(self, contacts: tuple[int, ...] = (), here: Any = slice(None)) -> Run:
        run = self.run.in_contact(contacts)
        return _HeldRun(run.system, run.form, run.parameters, self.held[here], run.backend, run.policies)

    @cached_property
    def _energies(self) -> Mapping[str, Array]:
        out = self._evaluate("T", "V", "H")
        return {name: np.append(values[:1], values) for name, values in out.items()}


def simulate_sampled(
    system: System,
    control: Control,
    rate: float,
    start: Mapping[Any, Any] | None = None,
    until: float = 1.0,
    parameters: Mapping[Any, Any] | None = None,
    *,
    since: float = 0.0,
    times: ArrayLike | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-12,
    method: str = "dop853",
    backend: str = "auto",
    corner: str = "raise",
) -> HeldMotion:
    """Integrate a system whose inputs come from a callable at a fixed rate.

    Parameters
    ----------
    control: (t, q (nq,), v (nv,)) → {input: value}: parameters of the system, by symbol or name; the same ones each time.
    rate: readings per second, Hz; the first at `since`.
    parameters: the parameters that the control does not give.
    times: times to return, (k,), s, rising; the steps by default (both sides of each reading).

    The others are those of `ap.simulate`. `motion[u]` reads the held inputs; energy balance, reactions and accelerations are
    those under them.
    """
    if method not in METHODS:
        raise ModelError(f"there is no method {method!r}; choose one of {', '.join(METHODS)}")
    if not (np.isfinite(rate) and rate > 0):
        raise ModelError(f"rate= must be a positive number of readings per second, not {rate!r}")
    if not until > since:
        raise ModelError(f"a control runs forwards: until = {until:g} must be after since = {since:g}")
    q, v = read(system, start or {})
    first = _Reader(system, control).ask(float(since), q, v)
    both = [str(key) for key in first if str(key) in {str(other) for other in parameters or {}}]
    if both:
        raise ModelError(f"parameter '{both[0]}' is given by parameters= and by the control; leave it to one of them")
    run = compile(system, {**(parameters or {}), **first}, backend=backend, ready=False)
    q, v, moved = check(system, run.form, run.p, since, q, v)
    asked = None if times is None else np.atleast_1d(np.asarray(times, dtype=float))
    session = _Session(run, _Reader(system, control, tuple(map(str, first))), float(rate), float(since), float(until), asked)
    clock = time.perf_counter()
    pieces = list(session.pieces(*prepare(run, None, method, corner), q, v, rtol, atol))
    statistics = {"start_moved": moved, "seconds": time.perf_counter() - clock, "readings": len(pieces)}
    return _joined(session, pieces, State(since, q, v), statistics, method, rtol, atol)


@dataclass(frozen=True)
class _Reader:
    """The control with its answers checked; `names` are the inputs that every answer must have."""

    system: System
    control: Control
    names: tuple[str, ...] | None = None

    def ask(self, t: float, q: Array, v: Array) -> dict[str, float]:
        answer = self.control(t, q.copy(), v.copy())
        if not isinstance(answer, Mapping):
            raise ModelError(f"the control answered {type(answer).__name__} at t = {t:g}; it must map inputs to values")
        values = {str(key): float(value) for key, value in answer.items()}
        known = {str(p) for p in self.system.parameters}
        wrong = [name for name in values if name not in known]
        if wrong:
            raise ModelError(f"the control gives '{wrong[0]}', which is not a parameter of {self.system.name}")
        if self.names is not None and set(values) != set(self.names):
            raise ModelError(f"the control answered {sorted(values)} at t = {t:g}, but {sorted(self.names)} at the start")
        if not np.isfinite(list(values.values())).all():
            raise ModelError(f"the control answered {values} at t = {t:g}: not finite")
        return values


@dataclass(frozen=True)
class _Piece:
    """The states between two readings, under one p."""

    leg: Leg
    p: Array
    t: Array
    z: Array


@dataclass(frozen=True)
class _Session:
    run: Run
    reader: _Reader
    rate: float
    since: float
    until: float
    times: Array | None

    def p(self, t: float, q: Array, v: Array) -> Array:
        """All parameters with the inputs that the control gives now."""
        values = bind(self.run.system, {str(k): x for k, x in self.run.parameters.items()} | self.reader.ask(t, q, v))
        return np.array([values[s] for s in self.run.system.parameters], dtype=float)

    def pieces(self, flow: Any, loop: Any, q: Array, v: Array, rtol: float, atol: float) -> Iterator[_Piece]:
        """One piece for each reading, until the end or a failure."""
        count = max(1, int(np.ceil((self.until - self.since) * self.rate - 1e-9)))
        z, step, p = np.concatenate([q, v, np.zeros(int(flow.has_work))]), None, self.run.p
        for k in range(count):
            t0 = self.since + k / self.rate
            t1 = self.until if k == count - 1 else self.since + (k + 1) / self.rate
            p = self.p(t0, z[: flow.nq], z[flow.nq : flow.nq + flow.nu]) if k else p
            wanted = self._wanted(t0, t1, k == count - 1)
            task = Task(
                t0=t0, z0=z, t_end=t1, p=p, rtol=rtol, atol=atol, times=wanted, keep_steps=self.times is None, first_step=step
            )
            *_, leg = loop.run(task)
            t, states = (leg.t_steps, leg.z_steps) if self.times is None else (wanted[: len(leg.z_times)], leg.z_times)
            yield _Piece(leg, p, t, states)
            if leg.status is not Status.OK:
                return
            z, step = leg.z, min(leg.next_step, 1 / self.rate) if leg.next_step > 0 else None

    def _wanted(self, t0: float, t1: float, last: bool) -> Array:
        """The requested times of one piece; a reading itself belongs to the piece that it begins."""
        if self.times is None:
            return np.zeros(0)
        return self.times[(self.times >= t0) & ((self.times <= t1) if last else (self.times < t1))]


def _joined(
    session: _Session, pieces: list[_Piece], origin: State, statistics: dict[str, Any], method: str, rtol: float, atol: float
) -> HeldMotion:
    """The pieces as one motion."""
    run, last = session.run, pieces[-1].leg
    message = STATUS_TEXT[last.status]
    if last.status is not Status.OK:
        message = f"stopped at t = {last.t:.9g}, before {session.until:g}: {message}"
        warnings.warn(message, AppellWarning, stacklevel=3)
    z, nq, nv = np.concatenate([piece.z for piece in pieces]), run.form.nq, run.form.nv
    legs = [piece.leg for piece in pieces]
    statistics |= {
        "steps": sum(leg.statistics.accepted for leg in legs),
        "rejected": sum(leg.statistics.rejected for leg in legs),
        "evaluations": sum(leg.statistics.evaluations for leg in legs),
        "largest_defect": max(leg.statistics.largest_defect for leg in legs),
    }
    return HeldMotion(
        run=run, t=np.concatenate([piece.t for piece in pieces]), q=z[:, :nq], v=z[:, nq : nq + nv],
        work=z[:, nq + nv] if z.shape[1] > nq + nv else np.zeros(len(z)),
        held=np.concatenate([np.tile(piece.p, (len(piece.t), 1)) for piece in pieces]),
        status=last.status, message=message, method=method, statistics=statistics,
        tolerances={"rtol": rtol, "atol": atol}, origin=origin, span=(session.since, last.t),
        impacts=tuple(_impact(run, event) for leg in legs for event in leg.events),
        contacts=tuple(change for leg in legs for change in leg.contacts),
    )  # fmt: skip


def _impact(run: Run, event: Array) -> Impact:
    t, face, kind, before, after, impulse = map(float, event)
    return Impact(t, run.system.unilateral[int(face)].name, before, after, impulse, KINDS[int(kind)])


__all__ = ["HeldMotion", "simulate_sampled"]
