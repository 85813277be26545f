"""Variational equations: the flow with the derivatives of its state with respect to starts and parameters.

    ż = f(t, z, p),  z = (q, v)            Φ̇ = f_z Φ + f_p Π            Φ = ∂z/∂(directions), Π = ∂p/∂(directions), constant

v̇ = a solves the rows R(t, q, v, p, a, Λ) = (M a + h − Q − W Λ, A a + a0) = 0, so that its derivative along (δq, δv, δp) solves
the same linear equations with the derivative of the rows at constant a, Λ on the right,

    M δa − W δΛ = −δ(M a + h − Q − W Λ),        A δa = −δ(A a + a0),

one factorisation for all of them. At an impact, n Δv = −(1 + e) ġ⁻ with M Δv = W λ + n P and A Δv = 0, `impact_slopes` gives
the derivatives needed for the change of the time of impact.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from appell.errors import FormNotApplicable
from appell.graph import Fn, make_fn
from appell.graph.algebra import (
    Value,
    apply,
    as_matrix,
    block_matrix,
    column,
    derivative_along,
    general_solve,
    jacobian,
    row_major,
    substitute_all,
    symbols,
    symmetric_solve,
    take,
    zeros,
)
from appell.normal_form.flow import Flow, flow
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.policy import Policies
from appell.normal_form.solved import Solved
from appell.remember import remembered
from appell.rows import LU


@dataclass(frozen=True, eq=False)
class VariedFlow(Flow):
    """A flow whose state continues after (q, v) with Φ, (nq + nv, columns), row by row."""

    columns: int

    @property
    def nz(self) -> int:
        return (self.nq + self.nu) * (1 + self.columns)


@remembered
def varied_flow(
    form: NormalForm, policies: Policies, rows: tuple[int, ...], starts: int, parameters: tuple[int, ...]
) -> VariedFlow:
    """The flow with Φ of `starts` directions of the state and of the numbered `parameters`.

    `rows`: independent rows of A, equivalent to all of them near the motion.
    """
    if form.gauss:
        raise FormNotApplicable("variations with rows nonlinear in the accelerations are not taken: a is a minimum there")
    form.require_known_forces("variations")
    base = flow(form, policies, work=False)
    nz, columns = form.nq + form.nv, starts + len(parameters)
    t, p = form.inputs["t"], form.inputs["p"]
    z = symbols("zz", nz * (1 + columns))
    q, v = take(z, range(form.nq)), take(z, range(form.nq, nz))
    Phi = as_matrix(take(z, range(nz, nz * (1 + columns))), nz, columns)
    inputs = {"t": (t, ()), "z": (z, (z.numel(),)), "p": (p, (p.numel(),))}
    outputs = _rates(form, policies, rows, Phi, _directions(form, starts, parameters))
    qd, a, Phi_d = substitute_all(outputs, [form.inputs["q"], form.inputs["v"]], [q, v])
    rhs = make_fn("flow", inputs, {"zd": (column(qd, a, row_major(Phi_d)), (z.numel(),)), "margin": (Value(1), ())})
    lifted = {"rhs": rhs, "columns": columns, "has_work": False, "implicit": _no_implicit, "guarded": None}
    lifted |= {name: _lifted(getattr(base, name), nz, z.numel()) for name in ("expand", "position", "velocity")}
    unchanged = {f.name: getattr(base, f.name) for f in fields(Flow) if f.name not in lifted}
    return VariedFlow(**unchanged, **lifted)


def _no_implicit() -> Fn:
    raise FormNotApplicable("variations run with explicit methods, not with 'idas'")


def _directions(form: NormalForm, starts: int, parameters: tuple[int, ...]) -> Value:
    """Π, (parameters, columns): a column of zeros for each direction of the start, then a one for each parameter."""
    Pi = zeros(form.inputs["p"].numel(), starts + len(parameters))
    for j, i in enumerate(parameters):
        Pi[i, starts + j] = 1
    return Pi


def _rates(form: NormalForm, policies: Policies, rows: tuple[int, ...], Phi: Value, Pi: Value) -> list[Value]:
    """[q̇, a, Φ̇] in t, q, v, p and Φ."""
    q, v, p = (form.inputs[name] for name in ("q", "v", "p"))
    directions = [[Phi[: form.nq, k], Phi[form.nq :, k], Pi[:, k]] for k in range(Phi.shape[1])]
    along_directions = lambda y: (
        block_matrix([[derivative_along(y, [q, v, p], direction) for direction in directions]])
        if directions
        else zeros(y.numel(), 0)
    )
    if form.free is not None and not form.rows:
        a, a_varied = form.free, along_directions(form.free)
    else:
        a, a_varied = _accelerations(form, policies, rows, along_directions)
    return [form["qd"], a, block_matrix([[along_directions(form["qd"])], [a_varied]])]


def _accelerations(form: NormalForm, policies: Policies, rows: tuple[int, ...], along_directions) -> tuple[Value, Value]:
    nv, m, gamma = form.nv, len(rows), policies.acceleration.gamma
    M, A, a0, W = form["M"], _chosen(form["A"], rows), take(form["a0"], rows), _chosen(form["W"].T, rows).T
    a, lam = form.inputs["a"], symbols("lam_chosen", m)

    def solve(r: Value, s: Value) -> tuple[Value, Value]:
        """x, λ of M x − W λ = r, A x = s."""
        if policies.acceleration.kind == LU:
            x = general_solve(block_matrix([[M, -W], [A, zeros(m, m)]]), block_matrix([[r], [s]]))
            return x[:nv, :], x[nv:, :]
        K = block_matrix([[M + gamma * (A.T @ A), A.T], [A, zeros(m, m)]])
        x = symmetric_solve(K, block_matrix([[r + gamma * (A.T @ s)], [s]]))[0]
        return x[:nv, :], -x[nv:, :]

    a_now, lam_now = solve(form["Q"] - form["h"], -a0)
    residuals = column(M @ a + form["h"] - form["Q"] - W @ lam, A @ a + a0)
    varied_rows = -along_directions(residuals)
    (varied_rows,) = substitute_all([varied_rows], [a, lam], [a_now, lam_now])
    return a_now, solve(varied_rows[:nv, :], varied_rows[nv:, :])[0]


def _chosen(matrix: Value, rows: tuple[int, ...]) -> Value:
    return matrix[list(rows), :] if rows else zeros(0, matrix.shape[1])


def _lifted(fn: Fn | Solved | None, nz: int, size: int):
    """A function of (t, z, p) as one of the longer state; corrections of z do not change the rest."""
    if fn is None:
        return None
    if isinstance(fn, Solved):
        return Solved(fn.name, _on_longer_state(fn.head, nz, size), _on_longer_state(fn.tail, nz, size), fn.policy)
    return _on_longer_state(fn, nz, size)


def _on_longer_state(fn: Fn, nz: int, size: int) -> Fn:
    inputs = {port.name: symbols(port.name, size if port.name == "z" else port.size) for port in fn.inputs}
    values = apply(fn, *(take(x, range(nz)) if name == "z" else x for name, x in inputs.items()))
    ports = {port.name: port.shape for port in fn.outputs}
    if "dz" in values:
        values["dz"], ports["dz"] = column(values["dz"], zeros(size - nz)), (size,)
    shapes = {port.name: (size,) if port.name == "z" else port.shape for port in fn.inputs}
    return make_fn(fn.name, {n: (x, shapes[n]) for n, x in inputs.items()}, {n: (x, ports[n]) for n, x in values.items()})


@remembered
def impact_slopes(form: NormalForm, policies: Policies, rows: tuple[int, ...], face: int, plastic: bool = False) -> Fn:
    """(t, q, v, p) → g, g_d, dv of an impact on a face, and derivatives by (t, q, v, p): g_x (1, …), dv_x (nv, …).

    `plastic`: without restitution, ignoring that of the face.
    """
    nv, m = form.nv, len(rows)
    A, W = _chosen(form["A"], rows), _chosen(form["W"].T, rows).T
    n, rate = form["g_v"][face, :], form["g_d"][face]
    e = Value(0) if plastic else form["restitution"][face]
    gamma = policies.acceleration.gamma
    rows_all, forces = block_matrix([[A], [n]]), block_matrix([[W, n.T]])
    s = column(zeros(m), -(1 + e) * rate)
    if policies.acceleration.kind == LU:
        x = general_solve(block_matrix([[form["M"], -forces], [rows_all, zeros(m + 1, m + 1)]]), column(zeros(nv), s))
    else:
        K = block_matrix([[form["M"] + gamma * (rows_all.T @ rows_all), rows_all.T], [rows_all, zeros(m + 1, m + 1)]])
        x = symmetric_solve(K, column(gamma * (rows_all.T @ s), s))[0]
    dv, g = take(x, range(nv)), form["g"][face]
    x_all = column(*(form.inputs[name] for name in ("t", "q", "v", "p")))
    vectors = {name: (form.inputs[name], (form.inputs[name].numel(),)) for name in ("q", "v", "p")}
    size = x_all.numel()
    return make_fn(
        "impact_slopes",
        {"t": (form.inputs["t"], ()), **vectors},
        {
            "g": (g, ()),
            "g_d": (rate, ()),
            "dv": (dv, (nv,)),
            "g_x": (jacobian(g, x_all), (1, size)),
            "dv_x": (jacobian(dv, x_all), (nv, size)),
        },
    )


@remembered
def start_slopes(form: NormalForm) -> Fn:
    """(t, q, v, p) → M, N, A0, A1, f0_q, f0_p, f1_q, f1_p: the admissible variations of a start on the constraints."""
    q, v, p = (form.inputs[name] for name in ("q", "v", "p"))
    nq, nv, np_ = form.nq, form.nv, p.numel()
    m0, m1 = form["f0"].numel(), form["f1"].numel()
    inputs = {"t": (form.inputs["t"], ()), "q": (q, (nq,)), "v": (v, (nv,)), "p": (p, (np_,))}
    outputs = {
        "M": (form["M"], (nv, nv)),
        "N": (form["N"], (nq, nv)),
        "A": (form["A"], (form.m, nv)),
        "A0": (form["A0"], (m0, nv)),
        "A1": (form["A1"], (m1, nv)),
        "f0_q": (jacobian(form["f0"], q), (m0, nq)),
        "f0_p": (jacobian(form["f0"], p), (m0, np_)),
        "f1_q": (jacobian(form["f1"], q), (m1, nq)),
        "f1_p": (jacobian(form["f1"], p), (m1, np_)),
    }
    return make_fn("start_slopes", inputs, outputs)
