"""The flow of a system with friction, one function for all modes (the mode is data among the parameters), and its guards.

    M a + h = Q + Σ_b w_b Λ_b + Σ_f n_f Λ_f + Σ_i D_iᵀ λ_i           rows that act:  J a + γ = 0,     J = (A; n; D)
    stick   λ_i is a multiplier of the row D_i a + γ_i = 0
    slip    λ_i = −μ_i σ_i Λ_N u_i, so that the column of Λ_N becomes n − μ σ Dᵀu; with a limit, λ_i = −F_i u_i;
            λ_i = −μ_i L_i(λ) u_i under a load of several reactions, which is solved by Newton's method

An inactive row stays in the saddle point as a dummy: (1 − act) y = 0 with y = (1 − act) λ. Its multiplier is then zero, and one
compiled function serves all modes. σ is the sign of Λ_N and u the direction of slip: a sign for one component, s/|s| for a
pair, or a given direction where slip begins.

Besides v̇, the flow integrates the quantities that guards read, so that step control resolves them even where nothing moves (a
block that sticks while its load grows). These are g̈ of open faces, and reactions and bounds scaled to the accelerations that
they would give to their own rows, λ Σ J²/M. All of them are rates and take the `atol` of velocities, whatever the units.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from appell.errors import FormNotApplicable
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, block_matrix, column, diagonal, largest, substitute, symbols, take, where, zeros
from appell.graph.sizes import sizes
from appell.model import System
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.friction_terms import SPEED_OFFSET, CoulombTerms, ModeNumbers, ReactionForces, Slips
from appell.normal_form import NormalForm
from appell.normal_form.flow import Flow, FlowState
from appell.normal_form.solved import Blocks, Function, Shaped, law_solved, solved
from appell.roots.solved_guards import SolvedGuards
from appell.rows import LU, Policy


class Saddle(NamedTuple):
    """K (n, n) and b (n,) of K y = b, the symbols y = (a, λ), (n,), and the guards of modes as functions of y."""

    K: Value
    b: Value
    y: Value
    guards: Value


class FrictionFlow:
    """The flow of z = (q, v, watched, dissipated, work) with p = (parameters, mode)."""

    def __init__(self, system: System, form: NormalForm, layout: FrictionLayout, slips: Slips):
        self.form, self.layout, self.slips, self.mode = form, layout, slips, ModeNumbers(layout)
        self.base = FlowState.full(form)
        extra = symbols("w", self.watched + 2)
        self.state = FlowState(self.base.q, self.base.u, extra, self.base.v, self.base.u_free, self.base.u_a)
        self.forces = ReactionForces.of(form, slips)
        self.terms = [CoulombTerms.of(system, form, layout, slips, self.mode, i) for i in range(layout.count)]

    @property
    def watched(self) -> int:
        """Number of integrated quantities that guards read: one for each row, and the bound of each friction."""
        return self.layout.rows + self.layout.count

    @cached_property
    def inputs(self) -> dict[str, Shaped]:
        p = column(self.form.inputs["p"], self.mode.all)
        return {"t": (self.form.inputs["t"], ()), "z": (self.state.z, (self.state.size,)), "p": (p, (p.numel(),))}

    @cached_property
    def columns(self) -> tuple[Value, Value]:
        """W with the columns of sliding frictions, and r with the forces of those that have limits."""
        layout, mode, W, r = self.layout, self.mode, Value(self.forces.W), self.forces.r
        for i, terms in enumerate(self.terms):
            push = self.forces.W[:, layout.own_rows(i)] @ terms.u
            if layout.loads[i]:
                continue  # not affine in λ: see `pushed`
            if (row := layout.normals[i]) is None:
                r = r - mode.slide[i] * terms.moving * push
            else:
                W[:, row] -= mode.slide[i] * mode.sign[i] * terms.moving * push
        return W, r

    @property
    def _gamma(self) -> Value:
        """γ of J a + γ, (rows,)."""
        return column(self.form["a0"], self.form["g_dd0"], self.slips.gamma)

    @cached_property
    def blocks(self) -> Blocks:
        """The saddle point of all modes."""
        W, r = self.columns
        return _with_dummies(self.form["M"], self._rows, W, r, -self._gamma, self.mode.act)

    def guards(self) -> SolvedGuards | None:
        """All guards that may end a mode, ordered by `ModeGuard.bound_index`: functions of (t, (q, v), p) and the solution of

            M a − W act λ = r,        act (J a + γ) + (1 − act) λ = 0

        None where forces or loads contain multipliers nonlinearly."""
        form = self.form
        if (saddle := self.saddle()) is None:
            return None
        z = column(form.inputs["q"], form.inputs["v"])
        K, b, y, guards = saddle
        return SolvedGuards.of(form.inputs["t"], z, self.inputs["p"][0], K, b, y, guards, form.nv)

    def saddle(self) -> Saddle | None:
        """K y = b and the guards as functions of y; None where forces or loads contain multipliers nonlinearly."""
        form, layout, act = self.form, self.layout, self.mode.act
        if self.forces.F is not None or layout.loaded:
            return None
        W, r = self.columns
        y = symbols("y", form.nv + layout.rows)
        lam = take(y, range(form.nv, y.numel()))
        K = block_matrix([[form["M"], -W @ diagonal(act)], [diagonal(act) @ self._rows, diagonal(1 - act)]])
        faces, frictions = column(form["g"], take(lam, range(layout.m, layout.m + layout.faces))), range(layout.count)
        guards = column(faces, *(self._friction_guards(i, lam)[k] for k in range(4) for i in frictions))
        return Saddle(K, column(r, -act * self._gamma), y, guards)

    def _friction_guards(self, i: int, lam: Value) -> tuple[Value, Value, Value, Value]:
        """Guards of one friction: σΛ of the constraint that loads it, μ or F, μ_s|Λ_N| − |λ|, and u·s, or |s| of a pair."""
        layout, terms, s = self.layout, self.terms[i], self.slips.s[self.layout.columns(i)]
        row = layout.normals[i]
        presses = self.mode.sign[i] * lam[row] if row is not None and row < layout.m else Value(1)
        holds = terms.bound(lam, static=True) - _length(take(lam, layout.own_rows(i)))
        slides = self.mode.direction[layout.columns(i)] * s if layout.parts[i] == 1 else _length(s)
        return presses, terms.moving, holds, slides

    @cached_property
    def given_by_unit_force(self) -> Value:
        """Σ J²/M of each row, (rows,): its acceleration under a unit force. Massless velocities get the mean inertia."""
        M, J = self.form["M"], self._rows
        inertia = [M[i, i] for i in range(self.form.nv)]
        mean = sum(inertia, Value(0)) / self.form.nv
        mobility = column(*(1 / where(m > 0, m, mean) for m in inertia))
        return (J * J) @ mobility

    @property
    def _rows(self) -> Value:
        """J = (A; n; D), (rows, nv)."""
        return column(self.form["A"], self.form["g_v"], self.slips.D)

    def friction_forces(self, lam: Value) -> Value:
        """λ of the frictions, (parts,)."""
        layout, mode = self.layout, self.mode
        return column(*(
            take(lam, layout.own_rows(i)) - mode.slide[i] * terms.bound(lam) * terms.u for i, terms in enumerate(self.terms)
        ))  # fmt: skip

    def pushed(self, lam: Value) -> Value:
        """Forces (nv,) of sliding frictions under loads of several reactions."""
        layout, forces = self.layout, zeros(self.form.nv)
        for i, terms in enumerate(self.terms):
            if layout.loads[i]:
                forces -= self.mode.slide[i] * terms.bound(lam) * (self.forces.W[:, layout.own_rows(i)] @ terms.u)
        return forces

    def function(self, name: str, finish: Any) -> Function:
        """`finish` applied to the solution of the saddle point, or of the law where forces are nonlinear in the multipliers."""
        law = self.forces.law(self.layout, self.form.nv + self.layout.rows, self.friction_forces, self.pushed)
        if law is None:
            return solved(name, self.inputs, self.blocks, finish, Policy(LU))
        return law_solved(name, self.inputs, self.blocks, law, finish, Policy(LU))

    def rates(self, x: Value, lam: Value) -> dict[str, Shaped]:
        """ż."""
        form, layout, mode, v = self.form, self.layout, self.mode, self.base.v
        a, friction = take(x, range(form.nv)), self.friction_forces(lam)
        power = substitute(form["power"], [form.inputs["a"], form.inputs["lam"]], [a, take(lam, range(layout.m))])
        rows = column(take(lam, range(layout.m + layout.faces)), friction)
        power += take(rows, range(layout.m, layout.rows)).T @ (self.forces.W[:, layout.m :].T @ v)
        power += self.forces.power(form, rows, v)
        columns = [layout.columns(i) for i in range(layout.count)]
        dissipated = sum((-mode.slide[i] * friction[k].T @ self.slips.s[k] for i, k in enumerate(columns)), Value(0))
        open_faces = column(zeros(layout.m), form["g_v"] @ a + form["g_dd0"], zeros(sum(layout.parts)))
        unit_response = self.given_by_unit_force
        holds = (unit_response[layout.own_rows(i)[0]] * terms.bound(lam, static=True) for i, terms in enumerate(self.terms))
        watch = column(unit_response * lam + (1 - mode.act) * open_faces, *holds)
        return {"zd": (column(form["qd"], a, watch, dissipated, power), (self.state.size,))}

    def guard_data(self, x: Value, lam: Value) -> dict[str, Shaped]:
        """Everything that guards read."""
        form, layout, slips = self.form, self.layout, self.slips
        a, K, F, count = take(x, range(form.nv)), sum(layout.parts), layout.faces, layout.count
        return {
            "a": (a, (form.nv,)),
            "reactions": (lam, (layout.rows,)),
            "force": (self.friction_forces(lam), (K,)),
            "mu": (column(*(terms.moving if terms.loads is None else terms.bound(lam) for terms in self.terms)), (count,)),
            "hold": (column(*(terms.bound(lam, static=True) for terms in self.terms)), (count,)),
            "s": (slips.s, (K,)),
            "s_size": (slips.size, (K,)),
            "s_d": (slips.D @ a + slips.gamma, (K,)),
            **{name: (form[name], (F,)) for name in ("g", "g_scale", "g_d")},
            "g_dd": (form["g_v"] @ a + form["g_dd0"], (F,)),
        }

    def flow(self) -> Flow:
        form, layout, mode, state = self.form, self.layout, self.mode, self.state
        return Flow(
            rhs=self.function("flow", self.rates),
            expand=make_fn("expand", self.inputs, {"q": (state.q, (form.nq,)), "v": (state.v, (form.nv,))}),
            position=_position(form, layout, mode, state, self.inputs),
            velocity=_velocity(form, layout, mode, state, self.inputs, self.slips),
            quaternions=form.quaternions,
            nq=form.nq,
            nu=form.nv,
            has_work=True,
            minimal=False,
            guarded=None,
            implicit=_no_implicit,
            extra=self.watched + 1,
        )


def _length(x: Value) -> Value:
    """|x|, without a square root for one component."""
    return abs(x) if x.numel() == 1 else (x.T @ x) ** 0.5


def _no_implicit() -> Fn:
    raise FormNotApplicable("a flow with modes has no implicit form")


def _with_dummies(M: Value, J: Value, W: Value, r: Value, s: Value, act: Value) -> Blocks:
    """The saddle point with the inactive rows as dummies."""
    n, m = M.shape[0], J.shape[0]
    active, inactive, eye = diagonal(act), diagonal(1 - act), Value.eye(m)
    return Blocks(
        block_matrix([[M, zeros(n, m)], [zeros(m, n), eye]]),
        block_matrix([[active @ J, inactive]]),
        column(W @ active, inactive),
        column(r, zeros(m)),
        act * s,
    )


def _onto(form: NormalForm, state: FlowState, inputs: dict[str, Shaped], name: str, rows: tuple[Value, Value, Value, Value]):
    """A correction of positions or velocities onto the active rows (J, f, size, act)."""
    J, f, scale, act = rows
    defect = largest(act * f / (scale + SPEED_OFFSET))
    blocks = _with_dummies(form["M"], J, J.T, zeros(form.nv), -f, act)

    def finish(x: Value, _: Value) -> dict[str, Shaped]:
        x = take(x, range(form.nv))
        step = (form["N"] @ x, zeros(form.nv)) if name == "position" else (zeros(form.nq), x)
        others = zeros(state.size - form.nq - form.nv)
        return {"dz": (column(*step, others), (state.size,)), "size": (defect, ()), "residual": (largest(act * f), ())}

    return solved(name, inputs, blocks, finish, Policy(LU))


def _position(form: NormalForm, layout: FrictionLayout, mode: ModeNumbers, state: FlowState, inputs: dict[str, Shaped]):
    level = [i for i, k in enumerate(form.levels) if k == 0]
    if not level and not layout.faces:
        return None
    act = take(mode.act, [*level, *range(layout.m, layout.m + layout.faces)])
    J, f = column(form["A0"], form["g_v"]), column(form["f0"], form["g"])
    return _onto(form, state, inputs, "position", (J, f, column(form["f0_scale"], form["g_scale"]), act))


def _velocity(
    form: NormalForm, layout: FrictionLayout, mode: ModeNumbers, state: FlowState, inputs: dict[str, Shaped], slips: Slips
):
    level = [i for i, k in enumerate(form.levels) if k < 2]
    act = take(mode.act, [*level, *range(layout.m, layout.rows)])
    J, f = column(form["A1"], form["g_v"], slips.D), column(form["f1"], form["g_d"], slips.s)
    v = form.inputs["v"]
    rates = sizes([form["g_d"]], [form.inputs[x] for x in "tqvp"])[0] + abs(form["g_v"]) @ abs(v)
    return _onto(form, state, inputs, "velocity", (J, f, column(form["f1_scale"], rates, slips.size), act))


__all__ = ["FrictionFlow"]
