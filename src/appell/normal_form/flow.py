"""A system as the ordinary differential equation integrated by a time loop.

    z = (q, v, w)        ż = (N v + n0, a, power)

with a from the normal form and w the work that changes H = T2 − T0 + V, present only if something can do work (then H − w is
constant along the motion: the energy balance). With pseudo-velocities π = F(t, q) v + π0(t, q) the state is the minimal one, z
= (q, π, w): the velocities follow from the rows and the π,

    [A1; F] v = [−f1|_{v=0}; π − π0],        π̇ = F a + (F v + π0)˙|_{a=0},

so that velocity constraints hold exactly and only positions are projected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from appell.errors import FormNotApplicable, ModelError, Status
from appell.graph import Fn, make_fn
from appell.graph.algebra import (
    Value,
    alarm,
    column,
    derivative_along,
    general_solve,
    is_zero,
    jacobian,
    largest,
    substitute,
    substitute_all,
    symbols,
    take,
    where_finite,
    zeros,
)
from appell.graph.shorter import shorter
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.policy import Policies
from appell.normal_form.solved import Blocks, Function, GaussSolved, Shaped, Solved, law_solved, solved
from appell.normal_form.sparse_rows import SparseRows
from appell.remember import remembered
from appell.rows import CHOLESKY, ELIMINATE, GRAM_PLAIN


@dataclass(frozen=True, eq=False)
class GuardedRows:
    """Rows whose rank is monitored by a time loop.

    rows: (t, z, p) → M, A, dense where some of them are redundant; else their entries at the positions of `sparse`.
    """

    rows: Fn
    n: int
    m: int
    rank: int
    sparse: SparseRows | None

    def matrices(self, out: Mapping[str, Any]) -> tuple[Any, Any]:
        """(M, A) in the order of the positions, from the outputs of `rows`."""
        if self.sparse is None:
            return out["M"], out["A"]
        M, A = np.zeros((self.n, self.n)), np.zeros((self.m, self.n))
        for full, rows, entries in ((M, self.sparse.L, out["M"]), (A, self.sparse.Y, out["A"])):
            full[[i for i, row in enumerate(rows) for _ in row], [j for row in rows for j in row]] = entries
        return M + np.tril(M, -1).T, A


@dataclass(frozen=True, eq=False)
class Flow:
    """ż = rhs(t, z, p) with its projections: `expand` gives q, v of a state, a correction Δz and the size of the residual."""

    rhs: Function
    expand: Fn
    position: Fn | Solved | None
    velocity: Fn | Solved | None
    quaternions: tuple[tuple[int, ...], ...]
    nq: int
    nu: int  # velocities, or pseudo-velocities
    has_work: bool
    minimal: bool  # whether u is π
    guarded: GuardedRows | None  # monitored by a time loop
    implicit: Callable[[], Fn]  # (t, z, p, y) → zd, residual with y = (a, λ): 0 = M a + h − Q − W λ, 0 = A a + a0
    energy: Fn | Solved | None = field(default=None, kw_only=True)  # a correction towards H = w, of conserving methods
    extra: int = field(default=0, kw_only=True)  # entries between u and w: energy dissipated by friction, target momenta
    momenta: tuple[tuple[float, ...], ...] = field(default=(), kw_only=True)  # of conserving methods, see `kept_momenta`

    @property
    def nz(self) -> int:
        return self.nq + self.nu + self.extra + self.has_work

    @property
    def projects(self) -> bool:
        """Whether there is a projection after a step."""
        return bool(self.position or self.velocity or self.quaternions or self.energy)


@remembered
def short_blocks(form: NormalForm) -> Blocks:
    """M, A, W, r = Q − h, s = −a0 in the inputs of the normal form, with as few operations as `shorter` finds.

    For functions evaluated in a time loop; finding them takes longer than the rest of a derivation.
    """
    if form.short is not None:
        return form.short
    ideal = form.ideal and form.law is None
    plain = _plain_blocks(form)
    values = [plain.M, plain.A, plain.r, plain.s, *([] if ideal else [plain.W])]
    M, A, r, s, *W = shorter(values, list(form.inputs.values()), [name == "p" for name in form.inputs])
    return Blocks(M, A, A.T if ideal else W[0], r, s)


def _plain_blocks(form: NormalForm) -> Blocks:
    return Blocks(form["M"], form["A"], form["W"], form["Q"] - form["h"], -form["a0"])


@remembered
def acceleration(form: NormalForm, policies: Policies) -> Function:
    """(t, q, v, p) → a, lam, margin; made once."""
    inputs, state = _inputs(form, ("q", "v", "p")), column(*(form.inputs[x] for x in ("t", "q", "v")))
    finish = lambda x, lam: {"a": (x, (form.nv,)), "lam": (lam, (len(form.rows),))}
    if form.free is not None and not form.rows:
        a = form.free + alarm([form.free], state)
        margin = where_finite(a, Value(1), -float(Status.NOT_FINITE))
        return make_fn("acceleration", inputs, {**finish(a, zeros(0)), "margin": (margin, ())})
    plain = form.short or _plain_blocks(form)
    checks = alarm([*plain, form["r"]], state)
    blocks = plain._replace(r=plain.r + checks)
    if form.gauss:
        return _gauss("acceleration", form, inputs, blocks, (form["r"], form["r_a"], form["r_aa"]), finish)
    if form.law is not None:
        return law_solved("acceleration", inputs, blocks, form.law, finish, policies.acceleration)
    return solved("acceleration", inputs, blocks, finish, policies.acceleration, pivot=GRAM_PLAIN)


def flow(form: NormalForm, policies: Policies, pseudo: Mapping[str, Value] | None = None, *, work: bool | None = None) -> Flow:
    """The flow of a normal form, in (q, v), made once, or in (q, π); w is present where something does work, or as given by
    `work`."""
    if pseudo is not None:
        return flow_of(form, policies, FlowState.minimal(form, pseudo, work), minimal=True)
    return _full_flow(form, policies, work)


@remembered
def _full_flow(form: NormalForm, policies: Policies, work: bool | None) -> Flow:
    return flow_of(form, policies, FlowState.full(form, work), minimal=False)


def flow_of(form: NormalForm, policies: Policies, state: FlowState, *, minimal: bool) -> Flow:
    """The flow in the variables of a state: right side, expansion and projections."""
    rhs = _rhs(form, policies, state)
    return Flow(
        rhs=rhs,
        expand=make_fn("expand", inputs_of(form, state), {"q": (state.q, (form.nq,)), "v": (state.v, (form.nv,))}),
        position=_position(form, policies, state),
        velocity=None if minimal else _velocity(form, policies, state),
        quaternions=form.quaternions,
        nq=form.nq,
        nu=state.u.numel(),
        has_work=state.has_work,
        minimal=minimal,
        guarded=None if minimal else _guarded(form, policies, state),
        implicit=lambda: _implicit(form, state),
        extra=state.momenta.numel(),
    )


@dataclass(frozen=True, eq=False)
class FlowState:
    """z = (q, u, w) with u = v or u = π; v as an expression of t, q, u, p; u̇ as a function of a."""

    q: Value
    u: Value
    w: Value
    v: Value
    u_free: Value  # u̇ at a = 0, in v
    u_a: Value  # ∂u̇/∂a
    momenta: Value = field(default_factory=lambda: zeros(0))  # their balances are in w, before the work

    @property
    def has_work(self) -> bool:
        return self.w.numel() > 0

    @property
    def z(self) -> Value:
        return column(self.q, self.u, self.w)

    @property
    def size(self) -> int:
        return self.z.numel()

    def restrict(self, form: NormalForm, *values: Value) -> list[Value]:
        """Values of the normal form with v replaced by its expression in the state."""
        if self.u is self.v:
            return list(values)
        return substitute_all(values, [form.inputs["v"]], [self.v])

    @staticmethod
    def full(form: NormalForm, work: bool | None = None, momenta: Value | None = None) -> FlowState:
        v, I = form.inputs["v"], zeros(0) if momenta is None else momenta
        w = column(symbols("I", I.numel()), _work(form, work)) if I.numel() else _work(form, work)
        return FlowState(form.inputs["q"], v, w, v, zeros(form.nv), Value.eye(form.nv), I)

    def balances(self, form: NormalForm) -> Value:
        """ẇ in t, q, v, a: rates of the momenta, and the power."""
        t, q = form.inputs["t"], form.inputs["q"]
        if not self.momenta.numel():
            return form["power"]
        explicit = derivative_along(self.momenta, [t, q], [1, form["qd"]])
        rates = explicit + jacobian(self.momenta, form.inputs["v"]) @ form.inputs["a"]
        return column(rates, form["power"])

    @staticmethod
    def minimal(form: NormalForm, pseudo: Mapping[str, Value], work: bool | None = None) -> FlowState:
        t, q, v = (form.inputs[x] for x in ("t", "q", "v"))
        expressions = column(*pseudo.values())
        A1, F, zero = form["A1"], jacobian(expressions, v), zeros(form.nv)
        _check_pseudo(form, A1, F)
        u = symbols("pi", expressions.numel())
        right = column(-substitute(form["f1"], [v], [zero]), u - substitute(expressions, [v], [zero]))
        v_of_u = general_solve(column(A1, F), right)
        return FlowState(q, u, _work(form, work), v_of_u, derivative_along(expressions, [t, q], [1, form["qd"]]), F)


def _check_pseudo(form: NormalForm, A1: Value, F: Value) -> None:
    if not is_zero(jacobian(A1, form.inputs["v"])) or not is_zero(jacobian(F, form.inputs["v"])):
        raise FormNotApplicable(
            "pseudo= needs constraints and pseudo-velocities linear in the velocities; simulate without pseudo="
            " (multipliers and projection), which takes nonlinear ones"
        )
    rows, needed = A1.shape[0] + F.shape[0], form.nv
    if rows != needed:
        raise ModelError(
            f"{A1.shape[0]} velocity constraints and {F.shape[0]} pseudo-velocities do not fix {needed} velocities;"
            f" give {needed - A1.shape[0]} pseudo-velocities (and no redundant constraint)"
        )


def _work(form: NormalForm, present: bool | None = None) -> Value:
    return symbols("w", int(not is_zero(form["power"]) if present is None else present))


def _vector(form: NormalForm, name: str) -> Shaped:
    return form.inputs[name], (form.inputs[name].numel(),)


def inputs_of(form: NormalForm, state: FlowState) -> dict[str, Shaped]:
    """The inputs t, z, p of functions of a state."""
    return {"t": (form.inputs["t"], ()), "z": (state.z, (state.size,)), "p": _vector(form, "p")}


def _inputs(form: NormalForm, names: tuple[str, ...]) -> dict[str, Shaped]:
    return {"t": (form.inputs["t"], ()), **{name: _vector(form, name) for name in names}}


RANK_WATCHED = 6 * 10**6
"""Multiplications per rank check of the rows up to which a loop monitors the rank; beyond, it is checked afterwards."""


def _guarded(form: NormalForm, policies: Policies, state: FlowState) -> GuardedRows | None:
    policy = policies.acceleration
    rank, n, m = form.m if policy.kind == CHOLESKY else policy.rank, form.nv, form.m
    if form.gauss or not form.ideal or policy.gamma or policy.kind == ELIMINATE or not rank:
        return None
    M, A, sparse = short_blocks(form).M, short_blocks(form).A, None
    outputs: dict[str, Shaped] = {"M": (M, (n, n)), "A": (A, (m, n))}
    if rank == m:
        sparse = SparseRows.of(M, A)
        L, Y = sparse.entries(M, A)
        outputs = {"M": (column(*L), (len(L),)), "A": (column(*Y), (len(Y),))}
    if (sparse.cost if sparse is not None else n * n * (n + 2 * m)) > RANK_WATCHED:
        return None
    return GuardedRows(make_fn("rank_rows", inputs_of(form, state), outputs), n, m, rank, sparse)


def _implicit(form: NormalForm, state: FlowState) -> Fn:
    """The same flow with a and λ as algebraic unknowns."""
    a, lam = form.inputs["a"], form.inputs["lam"]
    nonlinear = [row.index for row in form.rows if not row.linear]
    linear = [row.index for row in form.rows if row.linear]
    forces = form["W"] @ take(lam, linear) + form["r_a"].T @ take(lam, nonlinear)
    if form.law is not None and not form.law.affine:
        forces += form.law.matrix @ form.law.F
    residual = column(form["M"] @ a + form["h"] - form["Q"] - forces, form["A"] @ a + form["a0"], form["r"])
    work = state.balances(form) if state.has_work else zeros(0)
    zd, residual = state.restrict(form, column(form["qd"], state.u_free + state.u_a @ a, work), residual)
    y = column(a, lam)
    inputs = {**inputs_of(form, state), "y": (y, (y.numel(),))}
    return make_fn("implicit", inputs, {"zd": (zd, (state.size,)), "residual": (residual, (y.numel(),))})


def _rhs(form: NormalForm, policies: Policies, state: FlowState) -> Function:
    a, lam = form.inputs["a"], form.inputs["lam"]
    qd, power, free, slope = state.restrict(form, form["qd"], state.balances(form), state.u_free, state.u_a)

    def finish(x: Value, multipliers: Value) -> dict[str, Shaped]:
        work = substitute(power, [a, lam], [x, multipliers]) if state.has_work else zeros(0)
        return {"zd": (column(qd, free + slope @ x, work), (state.size,))}

    if form.free is not None and not form.rows:
        (a_free,) = state.restrict(form, form.free)
        return make_fn("flow", inputs_of(form, state), {**finish(a_free, zeros(0)), "margin": (Value(1), ())})
    short = short_blocks(form)
    blocks = Blocks(*state.restrict(form, short.M, short.A, short.W, short.r, short.s))
    if form.gauss:
        rows = tuple(state.restrict(form, form["r"], form["r_a"], form["r_aa"]))
        return _gauss("flow", form, inputs_of(form, state), blocks, rows, finish)
    if form.law is not None:
        law = form.law.restricted(lambda *values: state.restrict(form, *values))
        return law_solved("flow", inputs_of(form, state), blocks, law, finish, policies.acceleration, checked=False)
    return solved("flow", inputs_of(form, state), blocks, finish, policies.acceleration, checked=False)


def _gauss(
    name: str,
    form: NormalForm,
    inputs: dict[str, Shaped],
    blocks: Blocks,
    rows: tuple[Value, ...],
    finish: Callable[[Value, Value], Mapping[str, Shaped]],
) -> GaussSolved:
    """The function with Gauss's minimum in place of the saddle point."""
    nv, m, m2 = form.nv, form.m, rows[0].numel()
    a, lam = symbols("x", nv), symbols("lam", len(form.rows))
    head_outputs = {"M": (blocks.M, (nv, nv)), "b": (blocks.r, (nv,)), "A": (blocks.A, (m, nv)), "a0": (-blocks.s, (m,))}
    r, r_a, r_aa = substitute_all(rows, [form.inputs["a"]], [a])
    row_outputs = {"r": (r, (m2,)), "r_a": (r_a, (m2, nv)), "r_aa": (r_aa, (m2, nv * nv))}
    linear = [row.index for row in form.rows if row.linear]
    nonlinear = [row.index for row in form.rows if not row.linear]
    order = tuple([*linear, *nonlinear].index(i) for i in range(len(form.rows)))
    with_a = {**inputs, "x": (a, (nv,))}
    return GaussSolved(
        name=name,
        head=make_fn(f"{name}_head", inputs, head_outputs),
        rows=make_fn(f"{name}_rows", with_a, row_outputs),
        tail=make_fn(f"{name}_tail", {**with_a, "lam": (lam, (lam.numel(),))}, finish(a, lam)),
        order=order,
    )


def _position(form: NormalForm, policies: Policies, state: FlowState) -> Fn | Solved | None:
    if form["f0"].numel() == 0:
        return None
    row_values = (form[name] for name in ("A0", "f0", "f0_scale", "N"))
    M, A0, f0, scale, N = state.restrict(form, short_blocks(form).M, *row_values)
    size = _relative(f0, scale, A0)

    def finish(x: Value, _: Value) -> dict[str, Shaped]:
        unchanged = zeros(state.size - form.nq)
        return {"dz": (column(N @ x, unchanged), (state.size,)), "size": (size, ()), "residual": (largest(f0), ())}

    blocks = Blocks(M, A0, A0.T, zeros(form.nv), -f0)
    return solved("position", inputs_of(form, state), blocks, finish, policies.position)


def _velocity(form: NormalForm, policies: Policies, state: FlowState) -> Fn | Solved | None:
    if form["f1"].numel() == 0:
        return None
    size = _relative(form["f1"], form["f1_scale"], form["A1"])

    def finish(x: Value, _: Value) -> dict[str, Shaped]:
        dz = column(zeros(form.nq), x, zeros(state.w.numel()))
        return {"dz": (dz, (state.size,)), "size": (size, ()), "residual": (largest(form["f1"]), ())}

    blocks = Blocks(short_blocks(form).M, form["A1"], form["A1"].T, zeros(form.nv), -form["f1"])
    return solved("velocity", inputs_of(form, state), blocks, finish, policies.velocity)


def _relative(f: Value, size: Value, A: Value) -> Value:
    """max |f| / size of its terms over the rows with a nonzero gradient."""
    moves = [i for i in range(f.numel()) if not is_zero(A[i, :])]
    return largest(take(f, moves) / (take(size, moves) + RESIDUAL_FLOOR))


RESIDUAL_FLOOR = 1e-140
"""Floor of the size, so that 0/0 is 0: a residual is never larger than the size of its terms."""
