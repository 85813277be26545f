"""Stability of fixed steps: a step that is too long for its method is refused.

A mode e^{λt} of the linearised motion becomes R(hλ)ⁿ, with the stability function R(z) = 1 + z bᵀ(I − zA)⁻¹1 of the method.
A of an explicit method is strictly lower triangular, and R is a polynomial: R(z) = 1 + Σ_k zᵏ bᵀA^{k−1}1, k = 1 … s.
"""

from __future__ import annotations

from typing import Any

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

STARTS_EXAMINED = 8
"""Number of initial states at which the modes are examined."""
STABLE_GROWTH = 1.05
"""Largest |R| that is accepted for a mode that does not grow by itself."""


def refuse_unstable(run: Run, inputs: Inputs, order: Order, todo: NDArray[np.int64]) -> None:
    """Raises `ModelError` if the method makes a mode grow that does not grow by itself."""
    slopes = flow(run.form, run.policies, work=False).rhs if not run.form.gauss else None
    if not isinstance(slopes, Fn) or order.step is None or order.method in CONSERVING:  # Gauss's methods are A-stable
        return
    tableau, chosen = tableau_named(order.method), todo[:: max(1, len(todo) // STARTS_EXAMINED)][:STARTS_EXAMINED]
    p = inputs.p if inputs.p.ndim == 1 else inputs.p[chosen]
    jacobians = run._evaluate(_jacobian(slopes), [np.full(len(chosen), order.t0), inputs.states[chosen], p])["J"]
    finite = np.isfinite(jacobians).all(axis=(1, 2))
    for k, modes in zip(chosen[finite], np.linalg.eigvals(jacobians[finite]), strict=True):
        steady = modes[modes.real <= 0.1 * np.abs(modes.imag)]
        growth = np.abs(stability(tableau, order.step * steady))
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
    arguments = [value for value, _ in inputs.values()]
    n = arguments[1].numel()
    return make_fn("slopes", inputs, {"J": (row_major(jacobian(apply(rhs, *arguments)["zd"], arguments[1])), (n, n))})


def stability(tableau: Tableau, z: NDArray[Any]) -> NDArray[np.complex128]:
    """The stability function R at complex numbers z."""
    with np.errstate(all="ignore"):
        R = np.polynomial.polynomial.polyval(np.asarray(z, complex), _coefficients(tableau))
    return np.where(np.isfinite(R), R, np.inf)  # powers of so large z overflow, and so does |R|


@remembered
def _coefficients(tableau: Tableau) -> Array:
    """(s + 1,) of R, from z⁰ on."""
    power, coefficients = np.ones(tableau.stages), [1.0]
    for _ in range(tableau.stages):
        coefficients.append(float(tableau.B @ power))
        power = tableau.A @ power
    return np.array(coefficients)


def _limit(tableau: Tableau) -> float:
    """Slightly less than the smallest |z| at which an oscillating or decaying mode is no longer damped."""
    sizes = np.arange(0.25, 20, 0.25)
    worst = np.maximum(*(np.abs(stability(tableau, sizes * d)) for d in (1j, -1.0)))
    return float(sizes[np.flatnonzero(worst > 1 + 1e-3)[0]] - 0.25)


__all__ = ["refuse_unstable", "stability"]
