"""Momenta kept by a conserving method: combinations of linear and angular momenta that no force changes.

    I_k = Σ c_i p_i + Σ c_ij (q_i p_j − q_j p_i),        p = ∂T/∂v,        İ_k = I_t + I_q q̇ + I_v a = 0

The c are found numerically: İ vanishes at random states, with the accelerations that include reactions, so that the symmetry is
compatible with the constraints. States on and off the constraints are used, since the stages of a method are off them: if İ
vanishes only on the constraints, its integral has the error of the method, and enforcing the momentum would contradict the
energy. Correctness does not depend on the random states: a method enforces I_k(t) = I_k(0) + ∫ İ_k dt, which holds for any
forces.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, derivative_along, gradient, is_zero, jacobian, zeros
from appell.normal_form.flow import acceleration
from appell.normal_form.nearest import states_on
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.policy import Policies
from appell.remember import kept_in, remembered
from appell.rows import null_space, rank

Array = NDArray[np.float64]
Coefficients = tuple[tuple[float, ...], ...]

ZERO_RATE = 1e-9
"""Fraction of the size of a momentum, and of the terms of its rate, below which the rate is zero."""
VELOCITY_BESIDE = 0.1
"""Relative distance of velocities from the constraints at which rates are checked: large enough for `ZERO_RATE`."""
WRITTEN_OUT = 12
"""Number of velocities, constraints and momenta together up to which the equations of a correction are unrolled."""
COEFFICIENT_DENOMINATOR = 60.0
"""Coefficients are rounded to multiples of 1/60 where they differ only by rounding."""


def candidates(form: NormalForm) -> Value:
    """p_i of every velocity, and q_i p_j − q_j p_i of coordinates whose velocities are their derivatives, (k,)."""
    q, p = form.inputs["q"], gradient(form["T"], form.inputs["v"])
    N, n0 = form["N"], form["qd"] - form["N"] @ form.inputs["v"]
    pairs = [
        (i, j)
        for i in range(form.nq)
        for j in range(form.nv)
        if is_zero(N[i, j] - 1) and is_zero(n0[i]) and all(is_zero(N[i, k]) for k in range(form.nv) if k != j)
    ]
    turns = [q[i] * p[l] - q[k] * p[j] for (i, j), (k, l) in combinations(pairs, 2)]
    return column(p, *turns) if turns else p


def momenta_of(form: NormalForm, coefficients: Coefficients) -> Value:
    """I, (momenta,), in t, q, v, p."""
    return Value(coefficients) @ candidates(form) if coefficients else zeros(0)


@remembered
def momenta_function(form: NormalForm, coefficients: Coefficients) -> Fn:
    """(t, q, v, p) → I."""
    inputs = {"t": (form.inputs["t"], ()), **{name: (form.inputs[name], (form.inputs[name].numel(),)) for name in "qvp"}}
    return make_fn("momenta", inputs, {"I": (momenta_of(form, coefficients), (len(coefficients),))})


def kept_momenta(form: NormalForm, policies: Policies, p: Array) -> Coefficients:
    """Coefficients of the candidates, one row for each momentum kept with these parameters, independent of each other and of
    the constraints. Empty where there are too many equations."""
    if form.gauss or form.law is not None or form.nv + form.m > WRITTEN_OUT or policies.velocity.rank < form["f1"].numel():
        return ()
    stored = kept_in(form, "kept momenta")
    key = p.tobytes()
    if key not in stored:
        try:
            stored[key] = _conserved(form, policies, p)
        except AppellError:  # no state has determined accelerations
            stored[key] = ()
    return stored[key]


def _conserved(form: NormalForm, policies: Policies, p: Array) -> Coefficients:
    """See `kept_momenta`."""
    I, a = candidates(form), form.inputs["a"]
    t, q, v = (form.inputs[name] for name in ("t", "q", "v"))
    I_v = jacobian(I, v)
    rate = derivative_along(I, [t, q], [1, form["qd"]]) + I_v @ a
    inputs = {"t": (t, ()), **{name: (form.inputs[name], (form.inputs[name].numel(),)) for name in ("q", "v", "a", "p")}}
    k = I.numel()
    outputs = {"I": (I, (k,)), "rate": (rate, (k,)), "I_v": (I_v, (k, form.nv)), "A1": (form["A1"], form["A1"].shape)}
    evaluate, accelerate = make_fn("momenta", inputs, outputs), acceleration(form, policies)
    samples = []
    rng = np.random.default_rng(4)
    for t0, q0, v0 in states_on(form, p, k + 8, 3):
        for velocity in (v0, v0 + VELOCITY_BESIDE * (1 + np.abs(v0)) * rng.uniform(-1, 1, len(v0))) if form.m else (v0,):
            solved = accelerate(t0, q0, velocity, p)
            if solved["margin"] > 0:
                samples.append(evaluate(t0, q0, velocity, solved["a"], p))
    if len(samples) < k + 2:
        return ()
    values, rates = (np.array([sample[name] for sample in samples]) for name in ("I", "rate"))
    size = np.abs(values).max(axis=0) + np.abs(rates).max(axis=0)
    nonzero = np.flatnonzero(size > 0)
    vectors = _echelon(null_space(rates[:, nonzero] / size[nonzero], ZERO_RATE, as_given=True).T / size[nonzero])
    momenta: list[Array] = []
    for vector in vectors:
        coefficients = np.zeros(k)
        coefficients[nonzero] = _with_simple_fractions(vector)
        conserved = np.abs(rates @ coefficients).max() <= ZERO_RATE * (np.abs(values) @ np.abs(coefficients)).max()
        if conserved and _independent([*momenta, coefficients], samples) and form.nv + form.m + len(momenta) < WRITTEN_OUT:
            momenta.append(coefficients)
    return tuple(tuple(float(c) + 0.0 for c in momentum) for momentum in momenta)  # no −0.0: it would change the generated text


def _echelon(rows: Array) -> Array:
    """Rows with leading ones that span the same space, the simplest first."""
    rows, leading = rows.copy(), 0
    for j in range(rows.shape[1]):
        if leading == len(rows):
            break
        best = leading + int(np.argmax(np.abs(rows[leading:, j])))
        if abs(rows[best, j]) <= ZERO_RATE * np.abs(rows[leading:]).max(initial=0.0):
            continue
        rows[[leading, best]] = rows[[best, leading]]
        rows[leading] /= rows[leading, j]
        other_rows = np.arange(len(rows)) != leading
        rows[other_rows] -= np.outer(rows[other_rows, j], rows[leading])
        leading += 1
    return rows[np.argsort((np.abs(rows) > ZERO_RATE).sum(axis=1), kind="stable")]


def _with_simple_fractions(vector: Array) -> Array:
    simple = np.round(vector * COEFFICIENT_DENOMINATOR) / COEFFICIENT_DENOMINATOR
    return np.where(np.abs(vector - simple) < 1e-7 * (1 + np.abs(vector)), simple, vector)


def _independent(momenta: list[Array], samples: list[dict[str, Array]]) -> bool:
    """Whether momenta and rows have independent directions at most states."""
    full = [
        rank(np.vstack([sample["A1"], np.array(momenta) @ sample["I_v"]])) == len(sample["A1"]) + len(momenta)
        for sample in samples
    ]
    return sum(full) > len(samples) / 2


__all__ = ["Coefficients", "candidates", "kept_momenta", "momenta_function", "momenta_of"]
