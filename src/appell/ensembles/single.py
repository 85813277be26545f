"""One run of an ensemble by itself, through the loops of `simulate`: with walls, contact, guarded ranks, every method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.contact.events import Kind
from appell.ensembles.inputs import Inputs
from appell.ensembles.order import Order
from appell.ensembles.program import NODES, lobatto
from appell.ensembles.reduce import Reduction
from appell.errors import STATUS_TEXT, AppellError, Status
from appell.model.jumps import dry_friction
from appell.normal_form.flow import Flow
from appell.simulate.loop.broken import BreakLoop
from appell.simulate.loop.guarded import RankedLoop
from appell.simulate.loop.prepare import prepare
from appell.simulate.loop.task import Loop, Task
from appell.simulate.loop.trace import Trace
from appell.simulate.methods.stiff import STIFF
from appell.simulate.progress import Reporter
from appell.simulate.run import Run
from appell.simulate.simulate import driven
from appell.simulate.start import check

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Single:
    """Status, message, where it ended; states at the times asked for or in a section; values of the reductions."""

    status: Status
    message: str
    t: float
    z: Array  # (nq + nv,)
    rows: Array  # (k, nq + nv)
    row_times: Array  # (k,) of a section
    values: dict[str, float]


class Halted(Exception):
    """The ensemble was stopped while this run was on its way."""


class _Halt(Reporter):
    """A report that ends a run on its way; one that has come to its end is not lost."""

    def __init__(self, halted: Callable[[], bool]):
        self.halted = halted

    def __call__(self, t: float) -> None:
        if self.halted():
            raise Halted

    def finish(self, t: float) -> None:
        """Nothing more to stop."""

    close = lambda self: None


def make(run: Run, inputs: Inputs, order: Order, k: int, halted: Callable[[], bool] = lambda: False) -> Single:
    """Run k of the ensemble; whatever goes wrong is in its status. `Halted` where it was to be given up."""
    values = {s: float(x) for s, x in zip(run.system.parameters, inputs.p_of(k), strict=True)}
    run = replace(run, parameters=values, p=np.array(inputs.p_of(k), dtype=float))
    start = np.concatenate([inputs.q[k], inputs.v[k]])
    try:
        return _made(run, order, k, inputs.q[k].copy(), inputs.v[k].copy(), _Halt(halted))
    except AppellError as error:
        status = Status.REFUSED if isinstance(error, ValueError) else Status.SINGULAR
        return Single(status, str(error), order.t0, start, np.zeros((0, len(start))), np.zeros(0), {})


def _made(run: Run, order: Order, k: int, q: Array, v: Array, halt: Reporter) -> Single:
    t0, end = order.t0, order.end_of(k)
    q, v, _ = check(run.system, run.form, run.p, t0, q, v)
    run, sizes = run.judged(t0, q, v)
    method = "dop853" if order.method == "rk4" else order.method
    flow, loop = prepare(run, None, method, order.corner)
    if flow.guarded is not None and method not in STIFF and not run.system.unilateral:
        loop = loop.ranked(sizes) if isinstance(loop, BreakLoop) else RankedLoop(loop, run.form, flow, sizes)
    n, watched = run.form.nq + run.form.nv, bool(order.kept.reductions or order.kept.section)
    task = Task(
        t0=t0, z0=np.concatenate([q, v, np.zeros(flow.nz - n)]), t_end=end, p=run.p, rtol=order.rtol, atol=order.atol,
        times=order.times_of(k), max_step=order.max_step, max_steps=order.max_steps, keep_steps=watched, fixed_step=order.step,
    )  # fmt: skip
    trace = driven(loop, task, halt, dry_friction(run.system.forces))
    rows, row_times, values = trace.z_times[:, :n], np.zeros(0), dict[str, float]()
    if watched:
        path = Path.of(run, flow, loop, task, trace, halt)
        values = {name: path.reduced(each) for name, each in order.kept.reductions.items()}
        if order.kept.section is not None:
            row_times, rows = path.points(order.kept.section)
    message = message_of(trace.status, trace.t, end, order, trace)
    return Single(trace.status, message, trace.t, trace.z[:n], rows, row_times, values)


def message_of(status: Status, t: float, end: float, order: Order, trace: Trace | None = None) -> str:
    """What happened to a run, and what may help."""
    text = STATUS_TEXT[status]
    if status in (Status.OK, Status.CANCELLED):
        return text
    if trace is not None and trace.failure is not None:
        text = str(trace.failure)
    if order.step is not None and status is Status.NOT_FINITE:
        text += f"; with step={order.step:g} the method may be unstable: shorten it, or use rtol="
    return f"stopped at t = {t:.9g}, before {end:g}: {text}"


@dataclass(frozen=True, eq=False)
class Path:
    """The steps of a run with `NODES` states in each, ends included: t (steps, nodes), z (steps, nodes, nz)."""

    run: Run
    trace: Trace
    t: Array
    z: Array
    span: float

    @staticmethod
    def of(run: Run, flow: Flow, loop: Loop, task: Task, trace: Trace, halt: Reporter) -> Path:
        """Made a second time with the nodes as requested times, which changes no step."""
        t, z = trace.t_steps, trace.z_steps
        long = np.flatnonzero(np.diff(t) != 0)
        nodes = t[long, None] + np.diff(t)[long, None] * lobatto(NODES)[0]
        again = replace(task, times=nodes[:, 1:-1].ravel(), keep_steps=False, t_end=float(t[-1]))
        inner = driven(loop, again, halt, "").z_times
        nodes, inner = nodes[: len(inner) // (NODES - 2)], inner[: len(inner) // (NODES - 2) * (NODES - 2)]
        long = long[: len(nodes)]
        inside = inner.reshape(len(long), NODES - 2, z.shape[1])
        states = np.concatenate([z[long, None], inside, z[long + 1, None]], axis=1)
        return Path(run, trace, nodes, states, trace.t - task.t0)

    def values(self, expression: object) -> Array:
        """(steps, nodes)"""
        nq, nv = self.run.form.nq, self.run.form.nv
        flat = self.z.reshape(-1, self.z.shape[2])
        if not len(flat):
            return np.zeros((0, NODES))
        found = self.run.values(expression, self.t.ravel(), flat[:, :nq], flat[:, nq : nq + nv])
        return np.asarray(found, float).reshape(self.t.shape)

    def reduced(self, reduction: Reduction) -> float:
        """The value of a reduction, as `reduce.c.in` has it; between nodes by the polynomial through them."""
        if reduction.kind == "impacts":
            return float((self.trace.events.joined()["kind"] == Kind.IMPACT).sum())
        if reduction.kind == "energy_error":
            return self._energy_error() if len(self.t) else 0.0
        g, h = self.values(reduction.expression), self.t[:, -1] - self.t[:, 0]
        if not len(g):
            return self._at_rest(reduction)
        if reduction.kind in ("max", "min"):
            sign = 1.0 if reduction.kind == "max" else -1.0
            return sign * max(float((sign * g).max()), *(_peak(sign * row) for row in g))
        if reduction.kind in ("mean", "integral"):
            total = float((g @ lobatto(NODES)[1]) @ h)
            return total / self.span if reduction.kind == "mean" else total
        if reduction.kind == "final":
            return float(g[-1, -1])
        found = self._crossings(g, reduction.direction)
        if reduction.kind == "crossings":
            return float(len(found))
        return self.t[found[0][0], 0] + found[0][1] * h[found[0][0]] if found else np.nan

    def _at_rest(self, reduction: Reduction) -> float:
        """Of a run without steps, from its one state."""
        if reduction.kind in ("integral", "crossings", "first_crossing"):
            return np.nan if reduction.kind == "first_crossing" else 0.0
        nq, nv, z = self.run.form.nq, self.run.form.nv, self.trace.z[None]
        return float(self.run.values(reduction.expression, np.array([self.trace.t]), z[:, :nq], z[:, nq : nq + nv])[0])

    def points(self, section: Reduction) -> tuple[Array, Array]:
        """Times (k,) and states (k, nq + nv) of a section."""
        found = self._crossings(self.values(section.expression), section.direction)[section.skip : section.skip + section.count]
        n = self.run.form.nq + self.run.form.nv
        t = np.array([self.t[i, 0] + theta * (self.t[i, -1] - self.t[i, 0]) for i, theta in found])
        z = np.array([_interpolated(self.z[i, :, :n], theta) for i, theta in found]).reshape(len(found), n)
        return t, z

    def _crossings(self, g: Array, direction: int) -> list[tuple[int, float]]:
        """(step, θ) of the zeros in order."""
        a, b = g[:, :-1], g[:, 1:]
        up, down = (a < 0) & (b >= 0), (a > 0) & (b <= 0)
        wanted = up if direction > 0 else down if direction < 0 else up | down
        return [(int(i), _zero(g[i], int(j))) for i, j in zip(*np.nonzero(wanted), strict=True)]

    def _energy_error(self) -> float:
        nq, nv = self.run.form.nq, self.run.form.nv
        z = np.vstack([self.z[:1, 0], self.z[:, -1]])
        t = np.concatenate([self.t[:1, 0], self.t[:, -1]])
        out = self.run.evaluate(t, z[:, :nq], z[:, nq : nq + nv], ("H", "T", "V"))
        work = z[:, -1] if z.shape[1] > nq + nv else np.zeros(len(z))
        scale = (np.abs(out["T"]) + np.abs(out["V"] - out["V"][0]) + np.abs(work)).max()
        scale = max(scale, 1e-6 * (np.abs(out["T"]) + np.abs(out["V"])).max())
        return float(np.abs(out["H"] - out["H"][0] - work).max() / (scale or 1.0))


_THETA = lobatto(NODES)[0]
_COEFFICIENTS = np.linalg.inv(np.vander(_THETA, increasing=True))


def _interpolated(rows: Array, theta: float) -> Array:
    return theta ** np.arange(NODES) @ (_COEFFICIENTS @ rows)


def _peak(g: Array) -> float:
    """The largest value inside a step."""
    polynomial = np.polynomial.Polynomial(_COEFFICIENTS @ g)
    roots = polynomial.deriv().trim(1e-300).roots() if g.max() > min(g[0], g[-1]) else np.zeros(0)
    inside = [x.real for x in roots if abs(x.imag) < 1e-6 and 0 < x.real < 1]
    return max((float(polynomial(x)) for x in inside), default=-np.inf)


def _zero(g: Array, j: int) -> float:
    """θ of the zero between nodes j and j + 1."""
    from scipy.optimize import brentq

    if g[j + 1] == 0:
        return float(_THETA[j + 1])
    coefficients = _COEFFICIENTS @ g
    value = lambda theta: float(theta ** np.arange(NODES) @ coefficients)
    a, b = float(_THETA[j]), float(_THETA[j + 1])
    root: Any = brentq
    return float(root(value, a, b, xtol=1e-15)) if value(a) * value(b) < 0 else b if abs(g[j + 1]) < abs(g[j]) else a


__all__ = ["Single", "make", "message_of"]
