"""Whether a fixed step is too long for the method to be stable where the system is.

A mode e^{λt} of the linearised motion becomes R(hλ)ⁿ, with the stability function R(z) = 1 + z bᵀ(I − zA)⁻¹1 of the method.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.ensembles.inputs import Inputs
from appell.ensembles.methods import tableau_named
from appell.ensembles.order import Order
from appell.errors import ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import apply, jacobian, row_major, symbols
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.loop.methods.tableaux import Tableau
from appell.normal_form.flow import flow
from appell.remember import remembered

Array = NDArray[np.float64]

LOOKED_AT = 8
"""Starts at which the modes are looked at."""
STABLE_GROWTH = 1.05
"""Largest |R| that is let pass for a mode that does not grow."""


def refuse_unstable(run: Run, inputs: Inputs, order: Order, todo: NDArray[np.int64]) -> None:
    """`ModelError` where a mode that does not grow by itself grows by the step."""
    slopes = flow(run.form, run.policies, work=False).rhs if not run.form.gauss else None
    if not isinstance(slopes, Fn) or order.step is None or order.method in CONSERVING:  # Gauss's methods are A-stable
        return
    fn, tableau = _jacobian(slopes), tableau_named(order.method)
    for k in todo[:: max(1, len(todo) // LOOKED_AT)][:LOOKED_AT]:
        J = fn(order.t0, np.concatenate([inputs.q[k], inputs.v[k]]), inputs.p_of(k))["J"]
        if not np.isfinite(J).all():
            continue
        modes = np.linalg.eigvals(J)
        steady = modes[modes.real <= 0.1 * np.abs(modes.imag)]
        growth = np.array([abs(stability(tableau, order.step * mode)) for mode in steady])
        if len(growth) and growth.max() > STABLE_GROWTH:
            fastest = float(np.abs(steady[np.argmax(growth)]))
            raise ModelError(
                f"step={order.step:g} is unstable with {order.method}: at the start of run {k} a mode that does not grow has"
                f" the rate |λ| = {fastest:.4g} 1/s, and each step multiplies it by {growth.max():.3g}; take a step below"
                f" {_limit(tableau) / fastest:.2g} s, or rtol= instead"
            )


@remembered
def _jacobian(rhs: Fn) -> Fn:
    inputs = {port.name: (symbols(port.name, port.size), port.shape) for port in rhs.inputs}
    at = [value for value, _ in inputs.values()]
    n = at[1].numel()
    return make_fn("slopes", inputs, {"J": (row_major(jacobian(apply(rhs, *at)["zd"], at[1])), (n, n))})


def stability(tableau: Tableau, z: complex) -> complex:
    """The stability function R(z)."""
    s = tableau.stages
    try:
        return complex(1 + z * tableau.B @ np.linalg.solve(np.eye(s) - z * tableau.A, np.ones(s)))
    except np.linalg.LinAlgError:  # so large that the matrix overflows, where |R| does too
        return complex(np.inf)


def _limit(tableau: Tableau) -> float:
    """The least |z| at which a mode that oscillates or decays is no longer damped, less a little."""
    sizes = np.arange(0.25, 20, 0.25)
    worst = [max(abs(stability(tableau, x * d)) for d in (1j, -1.0)) for x in sizes]
    return float(sizes[np.flatnonzero(np.array(worst) > 1 + 1e-3)[0]] - 0.25)


__all__ = ["refuse_unstable", "stability"]
