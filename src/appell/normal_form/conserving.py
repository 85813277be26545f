"""The flow that a conserving method runs: z = (q, v, w) with w the energy that the state should have.

    ẇ = power,  w(0) = H(0)                H = T2 − T0 + V                enforced after each step:  f = 0,  ḟ = 0,  H = w

H is met by a change of velocities along themselves, v ← (1 − ε) v with dH = −ε v·Mv, which keeps rows that are homogeneous in
them; and where the body is nearly at rest, against H − w, by one of positions along N M⁻¹Nᵀ∂H/∂q on the rows. The share of the
first is 2T2/(D + 2T2) with D = `RESERVE` |H − w|: velocities change by less than 1/RESERVE of themselves.
"""

from __future__ import annotations

from dataclasses import replace

from appell.errors import FormNotApplicable
from appell.graph import Fn
from appell.graph.algebra import Value, column, gradient, is_zero, substitute, zeros
from appell.normal_form.flow import TINY, Flow, FlowState, flow, inputs_of, short_blocks
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.policy import Policies
from appell.normal_form.solved import Blocks, Shaped, Solved, solved
from appell.remember import remembered

RESERVE = 1e3
"""Energies are corrected by velocities while 2 T2 is so many times what is missing."""


@remembered
def conserving_flow(form: NormalForm, policies: Policies) -> Flow:
    """The flow with its energy among what is enforced; refused where a change of all velocities by one factor breaks a row."""
    at_rest = substitute(form["f1"], [form.inputs["v"]], [zeros(form.nv)])
    for k, row in enumerate(row for row in form.rows if row.level < 2 and row.linear):
        if not is_zero(at_rest[k]) or (row.level == 1 and not row.constraint.linear):
            raise FormNotApplicable(
                f"a conserving method takes constraints that are homogeneous in the velocities and do not depend on time, and"
                f" '{row.constraint.name}' is none; use method='dop853', which projects onto it"
            )
    if form.gauss:
        raise FormNotApplicable("a conserving method takes no constraint that is nonlinear in the accelerations; use 'dop853'")
    return replace(flow(form, policies, work=True), energy=_energy(form, policies, FlowState.full(form, work=True)))


def _energy(form: NormalForm, policies: Policies, state: FlowState) -> Fn | Solved:
    """(t, z, p) → dz, size, residual: Newton's correction towards H = w."""
    M, v, N = short_blocks(form).M, form.inputs["v"], form["N"]
    H, missing = form["H"], form["H"] - state.w
    H_q = N.T @ gradient(H, form.inputs["q"])
    moving = v.T @ M @ v  # 2 T2
    reserve = RESERVE * abs(missing)
    size = abs(missing) / (abs(moving) + abs(form["V"]) + abs(state.w) + TINY)

    def finish(x: Value, _: Value) -> dict[str, Shaped]:
        whole = reserve + moving + TINY
        places = -missing * reserve / whole / (H_q.T @ x + TINY) * (N @ x)
        dz = column(places, -missing / whole * v, Value(0))
        return {"dz": (dz, (state.size,)), "size": (size, ()), "residual": (Value(0), ())}

    A0 = form["A0"]
    return solved("energy", inputs_of(form, state), Blocks(M, A0, A0.T, H_q, zeros(A0.shape[0])), finish, policies.position)


__all__ = ["conserving_flow"]
