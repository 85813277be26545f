"""The flow of a conserving method: z = (q, v, w_I, w) with w the energy that the state should have, and w_I its momenta.

    ẇ = power,  w(0) = H(0)        ẇ_I = İ,  w_I(0) = I(0)        enforced after each step:  f = 0,  ḟ = 0,  I = w_I,  H = w

H = T2 − T0 + V; the momenta are those that no force changes (`kept_momenta`), enforced together with the velocity rows by the
smallest change of velocities in the kinetic metric. H is enforced by scaling velocities, v ← (1 − ε) v with dH = −ε v·Mv, which
keeps rows that are homogeneous in them; and where 2T2 is small compared with H − w, by a change of positions along N M⁻¹Nᵀ∂H/∂q
on the rows. The weight of the first is 2T2/(D + 2T2) with D = `RESERVE` |H − w|: the relative change of velocities is below
1/RESERVE. Where there are momenta, v is replaced by its part d that changes none of them (I_v d = 0, A1 d = 0, nearest to v in
the kinetic metric), and positions move along the gradient of the energy at given momenta, ∂(H − μ·I)/∂q, with the velocities
that keep these.
"""

from __future__ import annotations

from dataclasses import replace

from appell.errors import FormNotApplicable, Status
from appell.graph import Fn, make_fn
from appell.graph.algebra import (
    Value,
    block_matrix,
    column,
    general_solve,
    gradient,
    is_zero,
    jacobian,
    largest,
    substitute,
    take,
    where_finite,
    zeros,
)
from appell.normal_form.flow import RESIDUAL_FLOOR, Flow, FlowState, flow_of, inputs_of, short_blocks
from appell.normal_form.kept_momenta import Coefficients, momenta_of
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.policy import Policies
from appell.normal_form.solved import Blocks, Shaped, Solved, solved
from appell.remember import remembered

NO_MOMENTUM = 1e-200
"""Added so that a momentum whose gradient vanishes at a state (angular momentum about the body's own position) is not
corrected."""
FLAT_SHARE = 1e-6
"""The gradient of the energy at given momenta counts as zero below this fraction of its forces: a steady motion, whose energy
cannot be corrected."""
RESERVE = 1e3
"""Energies are corrected by velocities while 2 T2 is more than this multiple of the error."""


@remembered
def conserving_flow(form: NormalForm, policies: Policies, coefficients: Coefficients = ()) -> Flow:
    """The flow with enforced energy, and momenta with given coefficients (`kept_momenta`); raises where scaling all velocities
    violates a row."""
    at_rest = substitute(form["f1"], [form.inputs["v"]], [zeros(form.nv)])
    for k, row in enumerate(row for row in form.rows if row.level < 2 and row.linear):
        if not is_zero(at_rest[k]) or (row.level == 1 and not row.constraint.linear):
            raise FormNotApplicable(
                f"a conserving method takes constraints that are homogeneous in the velocities and do not depend on time, and"
                f" '{row.constraint.name}' is none; use method='dop853', which projects onto it"
            )
    if form.gauss:
        raise FormNotApplicable("a conserving method takes no constraint that is nonlinear in the accelerations; use 'dop853'")
    state = FlowState.full(form, True, momenta_of(form, coefficients))
    with_energy = replace(flow_of(form, policies, state, minimal=False), energy=_energy(form, policies, state))
    return replace(with_energy, velocity=_velocity(form, state), momenta=coefficients) if coefficients else with_energy


def _nearest(form: NormalForm, state: FlowState, v: Value, right: Value) -> tuple[Value, Value]:
    """x nearest to v in the kinetic metric with [A1; I_v] x = right, and the multipliers of the momenta."""
    M, B, n = short_blocks(form).M, column(form["A1"], jacobian(state.momenta, form.inputs["v"])), form.nv
    K = block_matrix([[M, B.T], [B, -NO_MOMENTUM * Value.eye(B.shape[0])]])
    solution = general_solve(K, column(M @ v, right))
    return take(solution, range(n)), take(solution, range(n + form["A1"].shape[0], solution.numel()))


def _velocity(form: NormalForm, state: FlowState) -> Fn:
    """(t, z, p) → dz, size, residual, margin: Newton's correction of velocities towards ḟ = 0, I = w_I."""
    v, count = form.inputs["v"], state.momenta.numel()
    momentum_error = take(state.w, range(count)) - state.momenta
    x, _ = _nearest(form, state, zeros(form.nv), column(-form["f1"], momentum_error))
    terms = abs(jacobian(state.momenta, v)) @ abs(v) + abs(take(state.w, range(count)))
    sizes = abs(momentum_error) / (terms + RESIDUAL_FLOOR)
    if form["f1"].numel():
        sizes = column(sizes, abs(form["f1"]) / (form["f1_scale"] + RESIDUAL_FLOOR))
    outputs = {
        "dz": (column(zeros(form.nq), x, zeros(state.w.numel())), (state.size,)),
        "size": (largest(sizes), ()),
        "residual": (largest(form["f1"]) if form["f1"].numel() else Value(0), ()),
        "margin": (where_finite(x, Value(1), -float(Status.SINGULAR)), ()),
    }
    return make_fn("velocity", inputs_of(form, state), outputs)


def _energy(form: NormalForm, policies: Policies, state: FlowState) -> Fn | Solved:
    """(t, z, p) → dz, size, residual: Newton's correction towards H = w."""
    M, v, N, w = short_blocks(form).M, form.inputs["v"], form["N"], state.w[state.w.numel() - 1]
    energy_error = form["H"] - w
    slope = N.T @ gradient(form["H"], form.inputs["q"])
    terms, d, I_q = abs(slope), v, None
    if state.momenta.numel():
        rows = form["A1"].shape[0]
        d, mu = _nearest(form, state, v, zeros(rows + state.momenta.numel()))
        I_q = jacobian(state.momenta, form.inputs["q"]) @ N  # change of the momenta with a displacement
        slope, terms = slope - I_q.T @ mu, terms + abs(I_q.T @ mu)
    moving = d.T @ M @ d  # 2 T2 of the part that changes no momentum
    reserve = RESERVE * abs(energy_error)
    size = abs(energy_error) / (abs(v.T @ M @ v) + abs(form["V"]) + abs(w) + RESIDUAL_FLOOR)
    shares = (terms[i] ** 2 / (abs(M[i, i]) + RESIDUAL_FLOOR) for i in range(form.nv))
    least = FLAT_SHARE**2 * sum(shares, Value(RESIDUAL_FLOOR))

    def finish(x: Value, _: Value) -> dict[str, Shaped]:
        weight = reserve + moving + RESIDUAL_FLOOR
        s = -energy_error * reserve / weight / (slope.T @ x + (least if I_q is not None else RESIDUAL_FLOOR))
        dv = -energy_error / weight * d
        if I_q is not None:
            dv += _nearest(form, state, zeros(form.nv), column(zeros(form["A1"].shape[0]), -s * I_q @ x))[0]
        dz = column(s * (N @ x), dv, zeros(state.w.numel()))
        return {"dz": (dz, (state.size,)), "size": (size, ()), "residual": (Value(0), ())}

    A0 = form["A0"]
    return solved("energy", inputs_of(form, state), Blocks(M, A0, A0.T, slope, zeros(A0.shape[0])), finish, policies.position)


__all__ = ["conserving_flow"]
