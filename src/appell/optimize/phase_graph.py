"""One instant of a plan on the graph: the equations that hold there on any mesh.

The unknowns at a node are q, v, a, Λ, the inputs u, and two slacks μ, ν. With the time t = t_0 + τ T the states satisfy

    q̇ = N v + n0 + N B A0ᵀμ        v̇ = a + B A1ᵀν                      joined over an interval by collocation
    M a + h = Q + W Λ               A a + a0 = 0                        the normal form
    f(t, q) = 0                     ḟ = 0, f(t, q, v) = 0               positions and velocities on the rows

Without μ and ν the system would be overdetermined: the last line follows from the others, and a polynomial cannot satisfy both
exactly. The slacks, as those of Gear, Gupta and Leimkuhler (1985), take up the difference and vanish with it as the mesh is
refined, while the rows hold at the nodes of every mesh and Λ is the multiplier of the normal form (Bordalba, Schoels, Ros,
Porta and Diehl, 2023, compare such methods). B, the inverse of typical inertias, makes their directions independent of units.
A unit quaternion is a row with a slack along itself. On a coarse mesh the optimizer could use slacks instead of forces, so
their squares are added to the goal with a weight; the effect on the goal is of that order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Dummy, Integer

from appell.graph.algebra import Value, column, depends, substitute_all, symbols, take, zeros
from appell.graph.node_program import NodeFunction
from appell.model import System
from appell.normal_form import NormalForm
from appell.optimize.contact_phases import ContactPhase
from appell.optimize.steering_request import BoundedExpression

Array = NDArray[np.float64]

PARTS = ("q", "v", "a", "lam", "u", "mu", "nu")
"""The unknowns of a node, in order."""


@dataclass(frozen=True, eq=False)
class SharedUnknowns:
    """The unknowns common to all nodes: θ = (durations of the phases, unknown parameters, integrals), and the numbers p =
    (parameters, t_0, mobilities of v, weights of the slacks of q and v, and of inputs)."""

    theta: Value
    p: Value
    phases: int
    unknown: tuple[Any, ...]
    weights: Value
    mobility: Value
    t0: Value
    names: tuple[Any, ...]  # of the parameters in p

    @staticmethod
    def of(system: System, phases: int, unknown: Sequence[Any], inputs: int, integrals: int) -> SharedUnknowns:
        theta = symbols("theta", phases + len(unknown) + integrals)
        count = len(system.parameters)
        p = symbols("p", count + 1 + system.nv + system.nq + system.nv + inputs)
        mobility, weights = p[count + 1 : count + 1 + system.nv], p[count + 1 + system.nv :]
        return SharedUnknowns(theta, p, phases, tuple(unknown), weights, mobility, p[count], tuple(system.parameters))

    def time(self, phase: int, tau: Value) -> Value:
        """t at the fraction τ of a phase."""
        before = sum((self.theta[i] for i in range(phase)), Value(0))
        return self.t0 + before + tau * self.theta[phase]

    def parameters(self, system: System, inputs: Sequence[Any], u: Value) -> Value:
        """All parameters of the system in order: inputs, unknowns and numbers."""
        entries = [self.value(s, inputs, u) for s in system.parameters]
        return column(*entries) if entries else zeros(0)

    def value(self, s: Any, inputs: Sequence[Any], u: Value) -> Value:
        """One parameter."""
        if s in inputs:
            return u[list(inputs).index(s)]
        if s in self.unknown:
            return self.theta[self.phases + self.unknown.index(s)]
        return self.p[self.names.index(s)]


@dataclass(frozen=True, eq=False)
class PhaseGraph:
    """The graph of a node in one phase of a plan.

    parts: name in `PARTS` → its symbols, all of them the column w. d: (τ, h, b): fraction of the phase, length of the interval
    and weight of the node. independent_rows: their indices. reactions: multiplier without a row → its value, and
    parameter that the system of the phase does not have → its name on the graph.
    """

    number: int
    system: System
    form: NormalForm
    independent_rows: tuple[int, ...]
    inputs: tuple[Any, ...]
    shared: SharedUnknowns
    parts: dict[str, Value]
    d: Value
    reactions: Mapping[Any, Any]

    @staticmethod
    def of(
        number: int, phase: ContactPhase, kept: tuple[int, ...], given: System, inputs: tuple[Any, ...], shared: SharedUnknowns
    ) -> PhaseGraph:
        form, system = phase.form, phase.system
        form_inputs = form.inputs
        level = [form.rows[i].level for i in kept if form.rows[i].linear]
        slacks = sum(k == 0 for k in level) + len(form.quaternions), sum(k < 2 for k in level)
        parts = {
            "q": form_inputs["q"],
            "v": form_inputs["v"],
            "a": form_inputs["a"],
            "lam": symbols("lam", len(kept)),
            "u": symbols("u", len(inputs)),
        }
        parts |= {"mu": symbols("mu", slacks[0]), "nu": symbols("nu", slacks[1])}
        acting = {row.constraint.multiplier for row in form.rows}
        idle = {face.multiplier: Integer(0) for face in given.unilateral if face.multiplier not in acting}
        absent = {s: Dummy(str(s), real=True) for s in given.parameters if s not in system.parameters}  # μ of stuck ones
        form.lower.bind({name: shared.value(s, inputs, parts["u"]) for s, name in absent.items()})
        sliding = {x: e.xreplace(absent) for x, e in phase.reactions.items()}
        return PhaseGraph(number, system, form, kept, inputs, shared, parts, symbols("d", 3), idle | sliding | absent)

    @property
    def w(self) -> Value:
        return column(*(self.parts[name] for name in PARTS))

    @property
    def state(self) -> Value:
        return column(self.parts["q"], self.parts["v"])

    @property
    def nw(self) -> int:
        return self.w.numel()

    @property
    def nz(self) -> int:
        return self.form.nq + self.form.nv

    def indices(self, part: str) -> range:
        """The indices of a part in w."""
        sizes = [self.parts[name].numel() for name in PARTS]
        i = PARTS.index(part)
        return range(sum(sizes[:i]), sum(sizes[: i + 1]))

    def in_unknowns(self, values: Sequence[Value]) -> list[Value]:
        """Graphs of the normal form with time, parameters and multipliers replaced by the unknowns of the plan."""
        form_inputs, lam = self.form.inputs, zeros(len(self.form.rows))
        for k, i in enumerate(self.independent_rows):
            lam[i] = self.parts["lam"][k]
        p = self.shared.parameters(self.system, self.inputs, self.parts["u"])
        replaced, replacements = [form_inputs["t"]], [self.shared.time(self.number, self.d[0])]
        for name, value in (("p", p), ("lam", lam)):
            if form_inputs[name].numel():
                replaced.append(form_inputs[name])
                replacements.append(value)
        return substitute_all(values, replaced, replacements)

    def lowered(self, expr: Any) -> Value:
        """The graph of an expression along the motion; multipliers of rows that do not act are 0."""
        return self.in_unknowns([self.form.lower(self.system.in_velocities(expr.xreplace(self.reactions)))])[0]

    def is_state_only(self, value: Value) -> bool:
        """Whether a graph depends only on time, states and shared unknowns."""
        return not depends(value, column(*(self.parts[name] for name in PARTS[2:])))

    # -- equations -----------------------------------------------------------------------------------------------------

    def _rows(self) -> dict[str, Value]:
        """The independent rows of the normal form: A, a0, A0, A1, f0, f1, r and the unit quaternions."""
        form = self.form
        linear = [row.index for row in form.rows if row.linear]
        linear_places = [linear.index(i) for i in self.independent_rows if i in linear]
        position_rows = [i for i in linear if form.rows[i].level == 0]
        velocity_rows = [i for i in linear if form.rows[i].level < 2]
        f0_places = [position_rows.index(i) for i in self.independent_rows if i in position_rows]
        f1_places = [velocity_rows.index(i) for i in self.independent_rows if i in velocity_rows]
        q = form.inputs["q"]
        unit = [sum((q[i] * q[i] for i in group), Value(-1)) for group in form.quaternions]
        return {
            "A": form["A"][linear_places, :], "a0": take(form["a0"], linear_places),
            "A0": form["A0"][f0_places, :], "A1": form["A1"][f1_places, :],
            "f0": take(form["f0"], f0_places), "f1": take(form["f1"], f1_places), "r": form["r"],
            "unit": column(*unit) if unit else zeros(0),
        }  # fmt: skip

    def _slack_rates(self, rows: dict[str, Value]) -> tuple[Value, Value]:
        """N B A0ᵀμ, with slacks of quaternions along themselves, and B A1ᵀν; B: mobilities on a diagonal."""
        mu, m0, B = self.parts["mu"], rows["f0"].numel(), self.shared.mobility
        along_q = self.form["N"] @ (B * (rows["A0"].T @ take(mu, range(m0))))
        for k, group in enumerate(self.form.quaternions):
            for i in group:
                along_q[i] += self.form.inputs["q"][i] * mu[m0 + k]
        return along_q, B * (rows["A1"].T @ self.parts["nu"])

    def equations(self) -> dict[str, Value]:
        """Name → graph: rates of q and v, and the residuals at a node."""
        form, rows, a, lam = self.form, self._rows(), self.form.inputs["a"], self.form.inputs["lam"]
        linear = [row.index for row in form.rows if row.linear]
        nonlinear = [row.index for row in form.rows if not row.linear]
        forces = form["W"] @ take(lam, linear) + form["r_a"].T @ take(lam, nonlinear)
        if form.law is not None and not form.law.affine:
            forces += form.law.matrix @ form.law.F
        along_q, along_v = self._slack_rates(rows)
        equations = {
            "q rate": form["qd"] + along_q, "v rate": a + along_v, "slacks": column(along_q, along_v),
            "dynamics": form["M"] @ a + form["h"] - form["Q"] - forces,
            "accelerations": rows["A"] @ a + rows["a0"], "second order": rows["r"],
            "positions": rows["f0"], "quaternions": rows["unit"], "velocities": rows["f1"],
        }  # fmt: skip
        return dict(zip(equations, self.in_unknowns(list(equations.values())), strict=True))

    def node(self, along: Sequence[Value], integrands: Sequence[Value], cost: Value) -> NodeFunction:
        """All rows of a node: defects, equations, relations along the motion, contributions to integrals; and to the cost."""
        e, h, T = self.equations(), self.d[1], self.shared.theta[self.number]
        share = h * self.d[2] * T
        g = column(
            -h * T * e["q rate"], -h * T * e["v rate"], *(e[name] for name in HOLD), *along, *(share * F for F in integrands)
        )
        slack = sum((self.shared.weights[i] * e["slacks"][i] ** 2 for i in range(self.nz)), Value(0))
        return NodeFunction(self.w, self.shared.theta, self.d, self.shared.p, g, share * (cost + slack))

    def start(self, along: Sequence[Value]) -> NodeFunction:
        """The equations at the start, where only the state is unknown."""
        e = self.equations()
        g = column(e["positions"], e["quaternions"], e["velocities"], *along)
        return NodeFunction(self.state, self.shared.theta, self.d, self.shared.p, g, Value(0))


def roughness(graph: PhaseGraph, highest: Array) -> NodeFunction:
    """The cost of rough inputs: h T Σ weight (Σ_i l_i u_i)² with l (s,) of the highest Legendre coefficient.

    Where a goal does not depend on an input at all (the direction of a body at rest), nothing else determines it. A smooth
    input has no such coefficient, so the objective, computed without this term, is not affected. d: h.
    """
    s, count = len(highest), len(graph.inputs)
    u, d = symbols("u", s * count), symbols("d", 1)
    offset = graph.nz
    coefficients = [sum((highest[i] * u[i * count + k] for i in range(s)), Value(0)) for k in range(count)]
    cost = sum((graph.shared.weights[offset + k] * coefficient**2 for k, coefficient in enumerate(coefficients)), Value(0))
    theta = graph.shared.theta
    return NodeFunction(u, theta, d, graph.shared.p, zeros(0), d[0] * theta[graph.number] * cost)


HOLD = ("dynamics", "accelerations", "second order", "positions", "quaternions", "velocities")
"""Names of the residuals at a node, in the order of its rows."""


def bounded_rows(graph: PhaseGraph, rows: Sequence[BoundedExpression]) -> list[Value]:
    """The graphs of rows along the motion."""
    return [graph.lowered(row.expression) for row in rows]


__all__ = ["HOLD", "PARTS", "PhaseGraph", "SharedUnknowns", "bounded_rows", "roughness"]
