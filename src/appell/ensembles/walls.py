"""Walls in lanes: distances of the faces, and what a blow on each of them does, as functions of the graph."""

from __future__ import annotations

from appell.contact.functions import bends_with_speed
from appell.contact.numbers import ROUNDING
from appell.ensembles.program import WallFunctions
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, block_matrix, column, row_major, substitute, symbols, take, zeros
from appell.graph.elimination import eliminated
from appell.normal_form import NormalForm
from appell.normal_form.flow import Flow, State, inputs_of
from appell.normal_form.saddle import CHOLESKY
from appell.remember import remembered
from appell.simulate.run import Run

MOST_FACES = 8
"""Faces in lanes: every blow is written out for every face."""


def no_walls(run: Run) -> str | None:
    """None if blows on the faces of a system are struck in lanes, else why not."""
    policy = run.policies.acceleration
    if len(run.system.unilateral) > MOST_FACES:
        return f"there are more than {MOST_FACES} faces"
    if bends_with_speed(run.form):
        return "constraints bend during an impact"
    if policy.kind != CHOLESKY or policy.gamma or not run.form.ideal:
        return "an impact has no metric of full rank"
    return None


def wall_functions(run: Run, motion: Flow) -> WallFunctions | None:
    """Those of the faces of a system; None where there are none."""
    return _made(run.form, motion) if run.system.unilateral else None


@remembered
def _made(form: NormalForm, motion: Flow) -> WallFunctions:
    state = State.full(form, motion.has_work)
    return WallFunctions(_guards(form, state), _blows(form, state))


def _guards(form: NormalForm, state: State) -> Fn:
    """g, ġ, g̈ = g̈|_{a=0} + n a with a out of ż; what rounding leaves of g, and the length Σ|n_i| of its normal."""
    n, t = form["g"].numel(), form.inputs["t"]
    zd = symbols("zd", state.size)
    a = take(zd, range(form.nq, form.nq + form.nv))
    size = form["g_scale"] + (t * form["g_d"]).fabs()
    length = form["g_v"].fabs() @ Value.ones(form.nv, 1)
    inputs = {**inputs_of(form, state), "zd": (zd, (state.size,))}
    values = {
        "g": form["g"],
        "d": form["g_d"],
        "dd": form["g_dd0"] + form["g_v"] @ a,
        "noise": ROUNDING * size,
        "length": length,
    }
    return make_fn("guards", inputs, {name: (value, (n,)) for name, value in values.items()})


def _blows(form: NormalForm, state: State) -> Fn:
    """Δv_i = −(1 + e_i) ġ_i / (n_i K n_iᵀ) K n_iᵀ with K r = x: M x = r + Aᵀμ, A x = 0; the work is the jump of H."""
    n, nv, m = form["g"].numel(), form.nv, form.m
    M, A, normals = form["M"], form["A"], form["g_v"]
    block = block_matrix([[M, A.T], [A, zeros(m, m)]])
    answers, _ = eliminated(block, column(normals.T, zeros(m, n)), range(nv))
    rows = []
    for i in range(n):
        answer = answers[:nv, i]
        dv = -(1 + form["restitution"][i]) * form["g_d"][i] / (normals[i, :] @ answer) * answer
        parts = [zeros(form.nq), dv]
        if state.has_work:
            parts.append(substitute(form["H"], [form.inputs["v"]], [form.inputs["v"] + dv]) - form["H"])
        rows.append(column(*parts))
    dz = row_major(block_matrix([[row.T] for row in rows]))
    return make_fn("blows", inputs_of(form, state), {"dz": (dz, (n, state.size))})


__all__ = ["no_walls", "wall_functions"]
