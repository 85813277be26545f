"""Walls in lanes: graph functions of the distances of faces, and of the impact on each of them."""

from __future__ import annotations

from dataclasses import replace

from appell.compiled.run import Run
from appell.ensembles.lane_program import WallFunctions
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, block_matrix, column, derivative_along, row_major, substitute, symbols, take, zeros
from appell.graph.elimination import eliminated
from appell.graph.ranges import ranges
from appell.model import System
from appell.modes.contact_thresholds import REACTION_ROUNDING
from appell.nonsmooth.contact.contact_functions import bends_with_speed, reaction_guards
from appell.nonsmooth.contact.contact_text import gap_shapes
from appell.normal_form import NormalForm
from appell.normal_form.face_table import face_table
from appell.normal_form.flow import Flow, FlowState, inputs_of, short_blocks
from appell.remember import remembered
from appell.rows import CHOLESKY, Policy

MOST_FACES = 8
"""Most faces in lanes, since the code of an impact is repeated for every face."""


def no_walls(run: Run) -> str | None:
    """None if lanes can compute the impacts of a system, otherwise the reason why not."""
    policy = run.policies.acceleration
    if len(run.system.unilateral) > MOST_FACES:
        return f"there are more than {MOST_FACES} faces"
    if bends_with_speed(run.form):
        return "constraints bend during an impact"
    if policy.kind != CHOLESKY or policy.gamma or not run.form.ideal:
        return "an impact has no metric of full rank"
    return None


def wall_functions(run: Run, motion: Flow) -> WallFunctions | None:
    """The wall functions of a system; None if it has no walls."""
    return _functions(run.numeric_form, run.system, motion, run.policies.acceleration) if run.system.unilateral else None


@remembered
def _functions(form: NormalForm, system: System, motion: Flow, policy: Policy) -> WallFunctions:
    """The wall functions, made once and remembered."""
    state = FlowState.full(form, motion.has_work)
    shapes = gap_shapes(face_table(system, form, state.size))
    guards, impacts, hold = _guards(form, state), _impacts(form, state), _contact(form, state)
    reactions = reaction_guards(form, policy)
    settle, bounds = _corrections(form, state), _bounds(form, state)
    return WallFunctions(guards, impacts, hold, settle, bounds, _lowest(form), shapes, reactions, form.nq + form.nv)


def _bounds(form: NormalForm, state: FlowState) -> Fn:
    """Ranges of g and ġ of all faces, (2 faces,), over boxes of t, q and their rates ṫ, q̇."""
    t, q, p = (form.inputs[x] for x in "tqp")
    td, qd = symbols("td", 1), symbols("qd", form.nq)
    y = column(form["g"], derivative_along(form["g"], [t, q], [td, qd]))
    ports = {"t": (t, ()), "q": (q, (form.nq,)), "td": (td, ()), "qd": (qd, (form.nq,)), "p": (p, (p.numel(),))}
    box_bounds = ranges(make_fn("gaps", ports, {"y": (y, (y.numel(),))}), ("td", "p"))
    return replace(box_bounds, name="bounds")


def _lowest(form: NormalForm) -> Fn:
    """Lower bounds of g of all faces, (faces,), over boxes of t and q."""
    t, q, p, g = form.inputs["t"], form.inputs["q"], form.inputs["p"], form["g"]
    ports = {"t": (t, ()), "q": (q, (form.nq,)), "p": (p, (p.numel(),))}
    return replace(ranges(make_fn("gaps", ports, {"y": (g, (g.numel(),))}), ("p",), ("lo",)), name="lowest")


def _guards(form: NormalForm, state: FlowState) -> Fn:
    """g, ġ, g̈ = g̈|_{a=0} + n a with a from ż; the size of the terms of g, and the length Σ|n_i| of its normal."""
    n = form["g"].numel()
    zd = symbols("zd", state.size)
    a = take(zd, range(form.nq, form.nq + form.nv))
    length = form["g_v"].fabs() @ Value.ones(form.nv, 1)
    inputs = {**inputs_of(form, state), "zd": (zd, (state.size,))}
    values = {
        "g": form["g"],
        "d": form["g_d"],
        "dd": form["g_dd0"] + form["g_v"] @ a,
        "terms": form["g_scale"],
        "length": length,
    }
    return make_fn("guards", inputs, {name: (value, (n,)) for name, value in values.items()})


def _impacts(form: NormalForm, state: FlowState) -> Fn:
    """Δv_i = −(1 + e_i) ġ_i / (n_i K n_iᵀ) K n_iᵀ with K r = x: M x = r + Aᵀμ, A x = 0; the work is the jump of H."""
    e, rate = form["restitution"], form["g_d"]
    rows = [_jump_of_state(form, state, -(1 + e[i]) * rate[i] * u) for i, u in enumerate(_responses(form))]
    return make_fn("blows", inputs_of(form, state), {"dz": _stacked(rows, state)})


def _responses(form: NormalForm) -> list[Value]:
    """K n_iᵀ / (n_i K n_iᵀ) of each face, (nv,): the change of v in an impact that raises ġ_i by one."""
    n, nv, m = form["g"].numel(), form.nv, form.m
    M, A, normals = short_blocks(form).M, short_blocks(form).A, form["g_v"]
    block = block_matrix([[M, A.T], [A, zeros(m, m)]])
    responses, _ = eliminated(block, column(normals.T, zeros(m, n)), range(nv))
    return [responses[:nv, i] / (normals[i, :] @ responses[:nv, i]) for i in range(n)]


def _jump_of_state(form: NormalForm, state: FlowState, dv: Value) -> Value:
    """Δz of a jump of the velocities; its work is the jump of H."""
    blocks = [zeros(form.nq), dv]
    if state.has_work:
        blocks.append(substitute(form["H"], [form.inputs["v"]], [form.inputs["v"] + dv]) - form["H"])
    return column(*blocks)


def _stacked(rows: list[Value], state: FlowState) -> tuple[Value, tuple[int, int]]:
    """One row for each face, with the shape, (faces, nz)."""
    return row_major(block_matrix([[row.T] for row in rows])), (len(rows), state.size)


def _contact(form: NormalForm, state: FlowState) -> Fn:
    """Contact with one face: the term to add to ż for g̈_i = 0, the reaction Λ_i, and its rounding noise.

        Δa = −g̈_i u_i,   u_i = K n_iᵀ / (n_i K n_iᵀ)            Λ_i = −g̈_i / (n_i K n_iᵀ), which does the work Λ_i n_i v
    """
    n = form["g"].numel()
    zd = symbols("zd", state.size)
    a = take(zd, range(form.nq, form.nq + form.nv))
    bends, normals = form["g_dd0"] + form["g_v"] @ a, form["g_v"]
    terms = form["g_dd0"].fabs() + normals.fabs() @ a.fabs()
    rows, pushes, hidden = [], [], []
    for i, u in enumerate(_responses(form)):
        inertia = u.T @ (short_blocks(form).M @ u)  # 1/(n_i K n_iᵀ)
        pushes.append(-bends[i] * inertia)
        hidden.append(REACTION_ROUNDING * terms[i] * inertia)
        work = [pushes[-1] * (normals[i, :] @ form.inputs["v"])] if state.has_work else []
        rows.append(column(zeros(form.nq), -bends[i] * u, *work))
    inputs = {**inputs_of(form, state), "zd": (zd, (state.size,))}
    outputs = {"dzd": _stacked(rows, state), "push": (column(*pushes), (n,)), "hidden": (column(*hidden), (n,))}
    return make_fn("hold", inputs, outputs)


def _corrections(form: NormalForm, state: FlowState) -> Fn:
    """Newton's corrections onto one face: of positions, Δq = −g_i N u_i, and of velocities, Δv = −ġ_i u_i with its work."""
    responses = _responses(form)
    others = zeros(state.size - form.nq)
    positions = [column(-form["g"][i] * (form["N"] @ u), others) for i, u in enumerate(responses)]
    velocities = [_jump_of_state(form, state, -form["g_d"][i] * u) for i, u in enumerate(responses)]
    outputs = {"position": _stacked(positions, state), "velocity": _stacked(velocities, state)}
    return make_fn("settle", inputs_of(form, state), outputs)


__all__ = ["no_walls", "wall_functions"]
