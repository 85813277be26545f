"""What a time loop needs of a system with friction: its flow in every mode, the mode being data among the parameters.

    M a + h = Q + Σ_b w_b Λ_b + Σ_f n_f Λ_f + Σ_i D_iᵀ λ_i           rows that act:  J a + γ = 0,     J = (A; n; D)
    stick   λ_i is a multiplier of the row D_i a + γ_i = 0
    slip    λ_i = −μ_i σ_i Λ_N u_i, so that the column of Λ_N becomes n − μ σ Dᵀu; with a limit, λ_i = −F_i u_i

A row that does not act is kept in the saddle point as a dummy: (1 − act) y = 0 with y = (1 − act) λ, so that its multiplier is
zero and one compiled function serves all modes. σ is the sign of Λ_N and u the direction of slip: of one part a sign, of a pair
s/|s|, or a given direction where slip begins. Besides v̇ the flow integrates what guards read, reactions, bounds and rates of
distances, so that the step control follows them where nothing moves: a block that sticks while its load grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Dummy, Integer

from appell.graph import Fn, make_fn
from appell.graph.algebra import (
    Value,
    along,
    block_matrix,
    column,
    diagonal,
    jacobian,
    largest,
    substitute,
    symbols,
    take,
    zeros,
)
from appell.graph.sizes import sizes
from appell.model import System
from appell.model.friction import SPEED, Friction
from appell.normal_form import NormalForm
from appell.normal_form.flow import Flow, State
from appell.normal_form.saddle import LU, Policy
from appell.normal_form.solved import Blocks, Function, Shaped, solved
from appell.remember import remembered

Array = NDArray[np.float64]

TINY = 1e-140


@dataclass(frozen=True)
class Layout:
    """Rows: `m` constraints, `faces`, then the parts of the frictions; and where the frictions stand among them."""

    m: int
    faces: int
    parts: tuple[int, ...]  # 1 or 2 of each friction
    normals: tuple[int | None, ...]  # row that presses on it
    smooth: tuple[bool, ...]  # regularised

    @staticmethod
    def of(system: System, form: NormalForm) -> Layout:
        first = {"constraint": 0, "face": form.m}
        return Layout(
            form.m,
            len(system.unilateral),
            tuple(fr.parts for fr in system.frictions),
            tuple(None if n is None else first[n[0]] + n[1] for n in system.normals),
            tuple(fr.regularise is not None for fr in system.frictions),
        )

    @property
    def count(self) -> int:
        """Number of frictions."""
        return len(self.parts)

    @property
    def rows(self) -> int:
        return self.m + self.faces + sum(self.parts)

    def columns(self, i: int) -> slice:
        """The parts of friction i among all parts."""
        first = sum(self.parts[:i])
        return slice(first, first + self.parts[i])

    def own_rows(self, i: int) -> list[int]:
        """The rows of friction i."""
        return [self.m + self.faces + k for k in range(*self.columns(i).indices(sum(self.parts)))]

    def face_of(self, i: int) -> int | None:
        """The face that presses on friction i, if it is one."""
        row = self.normals[i]
        return None if row is None or row < self.m else row - self.m

    @property
    def data(self) -> int:
        """Numbers that say a mode: act (rows), slide, sign, fixed (frictions), direction (parts)."""
        return self.rows + 3 * self.count + sum(self.parts)


@dataclass(frozen=True, eq=False)
class FrictionFunctions:
    """`flow`: of z = (q, v, watched, dissipated, work) with p = (parameters, mode).
    `look`: (t, z, p) → everything that guards read.
    `blocks`: (t, q, v, parameters) → what decides about a mode."""

    layout: Layout
    flow: Flow
    look: Function
    blocks: Fn


@dataclass(frozen=True, eq=False)
class _Graph:
    """Slip and sizes of all frictions on the graph, (parts,) and (frictions,)."""

    s: Value
    D: Value
    gamma: Value
    size: Value

    @staticmethod
    def of(system: System, form: NormalForm) -> _Graph:
        t, q, v, qd = form.inputs["t"], form.inputs["q"], form.inputs["v"], form["qd"]
        s = column(*(form.lower(e) for fr in system.frictions for e in fr.slip))
        return _Graph(
            s, jacobian(s, v), along(s, [t, q], [1, qd]), sizes([s], [form.inputs[x] for x in "tqvp"])[0]
        )  # fmt: skip


def _directions(form: NormalForm, graph: _Graph) -> Value:
    """The directions of the forces of friction, (nv, parts): Dᵀ, with ∂Q/∂λ of forces that contain them."""
    return graph.D.T if form.friction_law is None else graph.D.T + form.friction_law.slope


def _at_speed(form: NormalForm, e: Any, speed: Value) -> Value:
    """An expression in which the speed of slip stands for itself."""
    if SPEED not in e.free_symbols:
        return form.lower(e)
    letter = Dummy(nonnegative=True)
    form.lower.bind({letter: speed})
    return form.lower(e.xreplace({SPEED: letter}))


def _bounds(form: NormalForm, fr: Friction, speed: Value) -> tuple[Value, Value]:
    """μ or F while it slides, and at rest."""
    moving: Any = fr.coefficient if fr.limit is None else fr.limit
    rest: Any = moving if fr.static is None else fr.static
    return _at_speed(form, moving, speed), _at_speed(form, rest.xreplace({SPEED: Integer(0)}), speed)


@remembered
def friction_functions(system: System, form: NormalForm) -> FrictionFunctions:
    """Made once."""
    own, graph = Layout.of(system, form), _Graph.of(system, form)
    return FrictionFunctions(own, *_flow(system, form, own, graph), _blocks(system, form, own, graph))


def _blocks(system: System, form: NormalForm, own: Layout, graph: _Graph) -> Fn:
    mu, rest = [], []
    for i, fr in enumerate(system.frictions):
        s = graph.s[own.columns(i)]
        speed = abs(s) if own.parts[i] == 1 else (s.T @ s) ** 0.5
        moving, static = _bounds(form, fr, speed)
        mu.append(moving)
        rest.append(static)
    R, nv, K, nf = own.rows, form.nv, sum(own.parts), own.count
    outputs = {
        "M": (form["M"], (nv, nv)),
        "r": (form["Q"] - form["h"], (nv,)),
        "J": (column(form["A"], form["g_v"], graph.D), (R, nv)),
        "W": (block_matrix([[form["W"], form["g_w"], _directions(form, graph)]]), (nv, R)),
        "gamma": (column(form["a0"], form["g_dd0"], graph.gamma), (R,)),
        "s": (graph.s, (K,)),
        "s_size": (graph.size, (K,)),
        "mu": (column(*mu), (nf,)),
        "mu_static": (column(*rest), (nf,)),
    }
    inputs = {"t": (form.inputs["t"], ()), **{x: (form.inputs[x], (form.inputs[x].numel(),)) for x in "qvp"}}
    return make_fn("friction_blocks", inputs, outputs)


class _Mode:
    """The numbers of a mode on the graph."""

    def __init__(self, own: Layout):
        self.all = symbols("mode", own.data)
        places = np.cumsum([0, own.rows, own.count, own.count, own.count, sum(own.parts)])
        part = lambda k: self.all[int(places[k]) : int(places[k + 1])]
        self.act, self.slide, self.sign, self.fixed, self.direction = (part(k) for k in range(5))


def _flow(system: System, form: NormalForm, own: Layout, graph: _Graph) -> tuple[Flow, Function]:
    mode, nv, R = _Mode(own), form.nv, own.rows
    base = State.full(form)
    watched = own.rows + own.count
    state = State(base.q, base.u, symbols("w", watched + 2), base.v, base.u_free, base.u_a)
    p = column(form.inputs["p"], mode.all)
    inputs: dict[str, Shaped] = {"t": (form.inputs["t"], ()), "z": (state.z, (state.size,)), "p": (p, (p.numel(),))}
    J = column(form["A"], form["g_v"], graph.D)
    W = block_matrix([[form["W"], form["g_w"], _directions(form, graph)]])
    gamma = column(form["a0"], form["g_dd0"], graph.gamma)
    force = form["Q"] - form["h"]
    law = [_Law.of(system, form, own, graph, mode, i) for i in range(own.count)]
    for i, one in enumerate(law):
        push = _directions(form, graph)[:, own.columns(i)] @ one.u
        if (row := own.normals[i]) is None:
            force = force - mode.slide[i] * one.moving * push
        else:
            W[:, row] -= mode.slide[i] * mode.sign[i] * one.moving * push
    blocks = _with_dummies(form["M"], J, W, force, -gamma, mode.act)

    def forces(lam: Value) -> Value:
        """λ of the frictions, (parts,)."""
        found = []
        for i, one in enumerate(law):
            bound = one.bound(lam)
            found.append(take(lam, own.own_rows(i)) - mode.slide[i] * bound * one.u)
        return column(*found)

    def finish(x: Value, lam: Value) -> dict[str, Shaped]:
        a, rub = take(x, range(nv)), forces(lam)
        multipliers = take(lam, range(own.m))
        power = substitute(form["power"], [form.inputs["a"], form.inputs["lam"]], [a, multipliers])
        power += take(lam, range(own.m, own.m + own.faces)).T @ (form["g_w"].T @ base.v)
        power += rub.T @ (_directions(form, graph).T @ base.v)
        lost = sum((-mode.slide[i] * rub[own.columns(i)].T @ graph.s[own.columns(i)] for i in range(own.count)), Value(0))
        rates = column(zeros(own.m), form["g_d"], zeros(sum(own.parts)))
        watch = column(lam + (1 - mode.act) * rates, *(one.bound(lam, static=True) for one in law))
        return {"zd": (column(form["qd"], a, watch, lost, power), (state.size,))}

    def seen(x: Value, lam: Value) -> dict[str, Shaped]:
        a, K, F = take(x, range(nv)), sum(own.parts), own.faces
        return {
            "a": (a, (nv,)),
            "reactions": (lam, (R,)),
            "force": (forces(lam), (K,)),
            "mu": (column(*(one.moving for one in law)), (own.count,)),
            "hold": (column(*(one.bound(lam, static=True) for one in law)), (own.count,)),
            "s": (graph.s, (K,)),
            "s_size": (graph.size, (K,)),
            "s_d": (graph.D @ a + graph.gamma, (K,)),
            **{name: (form[name], (F,)) for name in ("g", "g_scale", "g_d")},
            "g_dd": (form["g_v"] @ a + form["g_dd0"], (F,)),
        }

    policy = Policy(LU)
    flow = Flow(
        rhs=solved("flow", inputs, blocks, finish, policy),
        expand=make_fn("expand", inputs, {"q": (state.q, (form.nq,)), "v": (state.v, (nv,))}),
        position=_position(form, own, mode, state, inputs),
        velocity=_velocity(form, own, mode, state, inputs, graph),
        quaternions=form.quaternions,
        nq=form.nq,
        nu=nv,
        has_work=True,
        minimal=False,
        guarded=None,
        implicit=_no_implicit,
        extra=watched + 1,
    )
    return flow, solved("look", inputs, blocks, seen, policy)


def _no_implicit() -> Fn:
    raise NotImplementedError("a flow with modes has no implicit form")


@dataclass(frozen=True, eq=False)
class _Law:
    """u and μ (or F) of a friction, while it slides and at rest."""

    u: Value
    moving: Value
    static: Value
    normal: int | None
    sign: Value

    @staticmethod
    def of(system: System, form: NormalForm, own: Layout, graph: _Graph, mode: _Mode, i: int) -> _Law:
        fr, s, given = system.frictions[i], graph.s[own.columns(i)], mode.direction[own.columns(i)]
        if fr.regularise is not None:
            width = form.lower(fr.regularise)
            u, speed = s / (s.T @ s + width**2) ** 0.5, (s.T @ s + TINY**2) ** 0.5
        elif own.parts[i] == 1:
            u, speed = given, given * s
        else:
            speed = (s.T @ s + TINY**2) ** 0.5
            u = mode.fixed[i] * given + (1 - mode.fixed[i]) * s / speed
        return _Law(u, *_bounds(form, fr, speed), own.normals[i], mode.sign[i])

    def bound(self, lam: Value, *, static: bool = False) -> Value:
        """μ σ Λ_N or F."""
        size = self.static if static else self.moving
        return size if self.normal is None else size * self.sign * lam[self.normal]


def _with_dummies(M: Value, J: Value, W: Value, r: Value, s: Value, act: Value) -> Blocks:
    """The saddle point in which the rows that do not act are dummies."""
    n, m = M.shape[0], J.shape[0]
    on, off, eye = diagonal(act), diagonal(1 - act), Value.eye(m)
    return Blocks(
        block_matrix([[M, zeros(n, m)], [zeros(m, n), eye]]),
        block_matrix([[on @ J, off]]),
        column(W @ on, off),
        column(r, zeros(m)),
        act * s,
    )


def _mend(form: NormalForm, state: State, inputs: dict[str, Shaped], name: str, rows: tuple[Value, Value, Value, Value]):
    """A correction of positions or velocities by rows (J, f, size, act) that hold."""
    J, f, scale, act = rows
    left = largest(act * f / (scale + TINY))
    blocks = _with_dummies(form["M"], J, J.T, zeros(form.nv), -f, act)

    def finish(x: Value, _: Value) -> dict[str, Shaped]:
        x = take(x, range(form.nv))
        moved = (form["N"] @ x, zeros(form.nv)) if name == "position" else (zeros(form.nq), x)
        rest = zeros(state.size - form.nq - form.nv)
        return {"dz": (column(*moved, rest), (state.size,)), "size": (left, ())}

    return solved(name, inputs, blocks, finish, Policy(LU))


def _position(form: NormalForm, own: Layout, mode: _Mode, state: State, inputs: dict[str, Shaped]):
    level = [i for i, k in enumerate(form.levels) if k == 0]
    if not level and not own.faces:
        return None
    act = take(mode.act, [*level, *range(own.m, own.m + own.faces)])
    J, f = column(form["A0"], form["g_v"]), column(form["f0"], form["g"])
    return _mend(form, state, inputs, "position", (J, f, column(form["f0_scale"], form["g_scale"]), act))


def _velocity(form: NormalForm, own: Layout, mode: _Mode, state: State, inputs: dict[str, Shaped], graph: _Graph):
    level = [i for i, k in enumerate(form.levels) if k < 2]
    act = take(mode.act, [*level, *range(own.m, own.rows)])
    J, f = column(form["A1"], form["g_v"], graph.D), column(form["f1"], form["g_d"], graph.s)
    v = form.inputs["v"]
    rates = sizes([form["g_d"]], [form.inputs[x] for x in "tqvp"])[0] + abs(form["g_v"]) @ abs(v)
    return _mend(form, state, inputs, "velocity", (J, f, column(form["f1_scale"], rates, graph.size), act))


__all__ = ["FrictionFunctions", "Layout", "friction_functions"]
