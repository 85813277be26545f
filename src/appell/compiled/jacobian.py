"""Derivatives of the accelerations, by the implicit function theorem.

With y = (a, Λ) and R(t, q, v, p, y) = (M a + h − Q − W Λ, A a + a0) = 0,

    R_y y_x = −R_x,        x = t, q, v, p,

where R_x comes from the graph. No factorisation is differentiated, however y itself was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import backend_named
from appell.errors import FormNotApplicable, ModelError, SingularConfiguration
from appell.graph import Fn, make_fn
from appell.graph.algebra import apply, jacobian, row_major, symbols
from appell.normal_form.flow import flow
from appell.remember import remembered

if TYPE_CHECKING:
    from appell.compiled.run import Run

Array = NDArray[np.float64]


class Jacobian(NamedTuple):
    """∂a/∂q (nv, nq), ∂a/∂v (nv, nv), ∂a/∂p (nv, np) with p in the order of `system.parameters`; batches come first."""

    a_q: Array
    a_v: Array
    a_p: Array


class Slopes(NamedTuple):
    """ż = (q̇, a) of z = (q, v), (batch, nz), and its derivatives by z, p and t."""

    zd: Array
    z: Array  # (batch, nz, nz)
    p: Array  # (batch, nz, np)
    t: Array  # (batch, nz)


def jacobian_of(run: Run) -> Callable[[ArrayLike, ArrayLike, ArrayLike], Jacobian]:
    """See `Run.jacobian`."""
    nq, slopes = run.form.nq, slopes_of(run)

    def answer(t: ArrayLike, q: ArrayLike, v: ArrayLike) -> Jacobian:
        single = np.ndim(q) < 2 and np.ndim(v) < 2 and np.ndim(t) < 1
        values = slopes(t, q, v, run.p_at(t))
        derivatives = Jacobian(values.z[:, nq:, :nq], values.z[:, nq:, nq:], values.p[:, nq:])
        return Jacobian(*(x[0] for x in derivatives)) if single else derivatives

    return answer


def slopes_of(run: Run) -> Callable[[ArrayLike, ArrayLike, ArrayLike, ArrayLike], Slopes]:
    """(t, q, v, p) → `Slopes`, for one state or a batch of states and parameters, none of them folded in."""
    refuse_kinks(run)
    run = replace(run, fold=())
    call = backend_named(run.backend).load(_derivatives(flow(run.form, run.policies, work=False)))
    names = [port.name for port in call.fn.outputs]

    def slopes(t: ArrayLike, q: ArrayLike, v: ArrayLike, p: ArrayLike) -> Slopes:
        t, q, v, p = _rows(run, t, q, v, p)
        y = np.hstack(_accelerations(run, t, q, v, p))
        J = dict(zip(names, call.batch(t, np.hstack([q, v]), p, y), strict=True))
        try:
            y_x = -np.linalg.solve(J["R_y"], np.concatenate([J["R_z"], J["R_p"], J["R_t"][..., None]], axis=2))
        except np.linalg.LinAlgError:
            raise SingularConfiguration("accelerations have no derivatives here: their equations are singular") from None
        nz, k = J["zd"].shape[1], J["zd_p"].shape[2]
        chain = J["zd_y"] @ y_x
        return Slopes(
            J["zd"], J["zd_z"] + chain[..., :nz], J["zd_p"] + chain[..., nz : nz + k], J["zd_t"] + chain[..., -1]
        )

    return slopes


def refuse_kinks(run: Run) -> None:
    if run.system.frictions:
        raise FormNotApplicable("accelerations with friction depend on its mode and have no derivatives at its borders")
    if run.policies.redundant:
        names = ", ".join(f"'{name}'" for name in run.policies.redundant)
        raise FormNotApplicable(f"redundant constraints ({names}) have no derivatives beside the constraints; drop them")


def _rows(run: Run, *values: Any) -> tuple[Array, ...]:
    """t (batch,), q (batch, nq), v (batch, nv), p (batch, np)."""
    widths = (None, run.form.nq, run.form.nv, len(run.p))
    arrays = [np.asarray(x, dtype=float) for x in values]
    batch = max((len(x) for x, n in zip(arrays, widths, strict=True) if x.ndim > (n is not None)), default=1)
    rows = []
    for name, x, n in zip("tqvp", arrays, widths, strict=True):
        shape = (batch,) if n is None else (batch, n)
        try:
            rows.append(np.ascontiguousarray(np.broadcast_to(x, shape)))
        except ValueError:
            raise ModelError(f"'{name}' has shape {x.shape}, expected {shape[1:]} or {shape}") from None
    return tuple(rows)


def _accelerations(run: Run, t: Array, q: Array, v: Array, p: Array) -> tuple[Array, Array]:
    """(a, Λ) of each row, with its own parameters."""
    if (p == p[0]).all():
        return run.with_parameters(p[0]).acceleration(t, q, v)
    solutions = [run.with_parameters(p[k]).acceleration(t[k : k + 1], q[k : k + 1], v[k : k + 1]) for k in range(len(p))]
    a, lam = zip(*solutions, strict=True)
    return np.concatenate(a), np.concatenate(lam)


@remembered
def _derivatives(motion: Any) -> Fn:
    """(t, z, p, y) → zd and R with their derivatives."""
    implicit = motion.implicit()
    inputs = {port.name: (symbols(port.name, port.size), port.shape) for port in implicit.inputs}
    by_name = {name: value for name, (value, _) in inputs.items()}
    expressions = apply(implicit, *by_name.values())
    outputs: dict[str, Any] = {"zd": (expressions["zd"], (motion.nz,))}
    for name, value in (("zd", expressions["zd"]), ("R", expressions["residual"])):
        for x in ("z", "p", "y", "t"):
            shape = (value.numel(), by_name[x].numel()) if x != "t" else (value.numel(),)
            outputs[f"{name}_{x}"] = (row_major(jacobian(value, by_name[x])), shape)
    return make_fn("derivatives", inputs, outputs)


__all__ = ["Jacobian", "Slopes", "jacobian_of", "refuse_kinks", "slopes_of"]
