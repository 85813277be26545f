"""Junctions of two phases of a plan: states are continuous, or jump by an impact.

    q⁺ = q⁻,        M (v⁺ − v⁻) = W P                    P: impulses of rows active afterwards, or of a struck face
    f1(v⁺) = 0      of the rows active afterwards; of a struck face ġ⁺ = −e ġ⁻,  ġ⁻ <= 0
    g = 0           of faces that close or are struck;   P >= 0 of faces, |P_T| <= μ P of frictions that stick afterwards

An impact occurs where a face closes and loses its velocity (e = 0), or is struck. Elsewhere velocities are continuous: a face
with e > 0 is reached at zero speed, a friction begins to stick at rest. W is that of the phase after the impact: the impulse of
a friction that keeps sliding opposes the slip, like its force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.graph.algebra import Value, column, substitute_all, symbols, take, zeros
from appell.graph.node_program import NodeFunction
from appell.model import System
from appell.normal_form import NormalForm, normal_form
from appell.optimize.contact_phases import ContactPhase
from appell.optimize.phase_graph import PhaseGraph
from appell.optimize.steering_request import SteeringRequest
from appell.reading import shown

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PhaseJunction:
    """function: of (w of the last node, the state after it, P), d unused; rows: its bounds (n, 2); impulses: count."""

    function: NodeFunction
    rows: Array
    impulses: int


def phase_junction(
    request: SteeringRequest, before: ContactPhase, after: ContactPhase, old: PhaseGraph, new: PhaseGraph
) -> PhaseJunction:
    """The junction of two phases."""
    struck, system = before.struck, request.system
    closing = [face for face in system.unilateral if face.name in after.closed and face.name not in before.closed]
    known = {s: x for s, x in request.parameters.items() if s not in request.unknown}
    hard = [face for face in closing if absorbs(face, known)]
    if struck is not None:
        _refuse_struck(system, struck, before, after)
        return _impact(system, old, new, struck)
    if hard:
        return _landing(before, after, old, new, [face.name for face in closing], [f.name for f in closing if f not in hard])
    return _smooth(before, after, old, new, [face.name for face in closing])


def absorbs(face: Any, parameters: Mapping[Any, float]) -> bool:
    """Whether a face that closes takes the normal velocity away: its restitution is 0, whatever the plan chooses."""
    return face.restitution.xreplace(dict(parameters)) == 0


def _refuse_struck(system: System, struck: str, before: ContactPhase, after: ContactPhase) -> None:
    acting = [fr.name for fr, n in zip(system.frictions, system.normals, strict=True) if n == ("face", _number(system, struck))]
    if acting:
        raise ModelError(
            f"{shown(struck)} is struck between two phases, and the friction {shown(acting[0])} acts on it:"
            " such blows are not planned"
        )
    if struck in before.closed or struck in after.closed:
        raise ModelError(f"{shown(struck)} is struck between two phases, and it is in contact in one of them")


def _number(system: System, name: str) -> int:
    return [face.name for face in system.unilateral].index(name)


@dataclass(frozen=True, eq=False)
class _JunctionVariables:
    """The variables of a junction: w of the last node before it, the state z after it, and the impulses P.

    old, new: the graphs of the phases before and after it. Evaluates the normal form of the later phase on either side.
    """

    w: Value
    z: Value
    P: Value
    old: PhaseGraph
    new: PhaseGraph

    @staticmethod
    def of(old: PhaseGraph, new: PhaseGraph, impulses: int) -> _JunctionVariables:
        return _JunctionVariables(symbols("wl", old.nw), symbols("zr", new.nz), symbols("P", impulses), old, new)

    @property
    def state_before(self) -> Value:
        """The state before the junction."""
        return take(self.w, range(self.old.nz))

    @property
    def y(self) -> Value:
        return column(self.w, self.z, self.P)

    def at(self, values: list[Value], form: NormalForm, state: Value) -> list[Value]:
        """Graphs of a normal form at q, v, t and the parameters of this instant; inputs are those of the last node."""
        nq, shared = form.nq, self.new.shared
        u = take(self.w, self.old.indices("u"))
        p = shared.parameters(self.new.system, self.new.inputs, u)
        pairs = [
            (form.inputs["q"], state[:nq]),
            (form.inputs["v"], state[nq:]),
            (form.inputs["t"], shared.time(self.new.number, Value(0))),
        ]
        pairs += [(form.inputs["p"], p)] if form.inputs["p"].numel() else []
        pairs = [(a, b) for a, b in pairs if a.numel()]
        return substitute_all(values, [a for a, _ in pairs], [b for _, b in pairs])

    def with_rows(self, parts: list[tuple[Value, float, float]]) -> PhaseJunction:
        g = column(*(value for value, _, _ in parts))
        rows = np.vstack([np.tile([low, high], (value.numel(), 1)) for value, low, high in parts])
        function = NodeFunction(self.y, self.new.shared.theta, symbols("d", 1), self.new.shared.p, g, Value(0))
        return PhaseJunction(function, rows, self.P.numel())


def _row_values(graph: PhaseGraph, names: list[str]) -> tuple[list[int], list[int]]:
    """Indices in f0 and f1 of the named rows, where they are independent."""
    form = graph.form
    linear = [row for row in form.rows if row.linear]
    position_rows, velocity_rows = [r for r in linear if r.level == 0], [r for r in linear if r.level < 2]
    named = lambda r: r.constraint.name in names and r.index in graph.independent_rows
    return [k for k, r in enumerate(position_rows) if named(r)], [k for k, r in enumerate(velocity_rows) if named(r)]


def _new_rows(before: ContactPhase, after: ContactPhase, old: PhaseGraph, new: PhaseGraph) -> list[str]:
    """Names of rows that hold only in the later phase."""
    known = {old.form.rows[i].constraint.name for i in old.independent_rows}
    return [new.form.rows[i].constraint.name for i in new.independent_rows if new.form.rows[i].constraint.name not in known]


def _smooth(before: ContactPhase, after: ContactPhase, old: PhaseGraph, new: PhaseGraph, closing: list[str]) -> PhaseJunction:
    """No impact: the states are continuous, on the rows that begin to hold."""
    junction = _JunctionVariables.of(old, new, 0)
    position_rows, velocity_rows = _row_values(new, _new_rows(before, after, old, new))
    f0, f1 = junction.at([take(new.form["f0"], position_rows), take(new.form["f1"], velocity_rows)], new.form, junction.z)
    return junction.with_rows([(junction.z - junction.state_before, 0.0, 0.0), (f0, 0.0, 0.0), (f1, 0.0, 0.0)])


def _landing(
    before: ContactPhase, after: ContactPhase, old: PhaseGraph, new: PhaseGraph, closing: list[str], gentle: list[str]
) -> PhaseJunction:
    """Faces close and lose their velocity; those in `gentle`, which would bounce, are reached at zero speed."""
    form, nq = new.form, new.form.nq
    linear = [row.index for row in form.rows if row.linear]
    velocity_rows = [i for i in linear if form.rows[i].level < 2]
    acting = [i for i in new.independent_rows if i in velocity_rows]
    junction = _JunctionVariables.of(old, new, len(acting))
    position_rows, _ = _row_values(new, _new_rows(before, after, old, new))
    columns = [linear.index(i) for i in acting]
    values = [
        form["M"],
        form["W"][:, columns],
        take(form["f1"], [velocity_rows.index(i) for i in acting]),
        take(form["f0"], position_rows),
    ]
    M, W, f1, f0 = junction.at(values, form, junction.z)
    jump = M @ (junction.z[nq:] - junction.state_before[nq:]) - W @ junction.P
    blocks = [(junction.z[:nq] - junction.state_before[:nq], 0.0, 0.0), (jump, 0.0, 0.0), (f1, 0.0, 0.0), (f0, 0.0, 0.0)]
    names = {form.rows[i].constraint.multiplier: k for k, i in enumerate(acting)}
    for row in after.rows:  # the same bounds hold for the impulses
        inside = row.expression.free_symbols & set(names)
        if inside and not row.text.endswith("slides"):
            lowered = _impulsive(junction, row.expression, names)
            blocks.append((lowered, row.lower, row.upper))
    gentle_at = [i for i in acting if form.rows[i].constraint.name in gentle]
    if gentle_at:
        f1_before = junction.at([take(form["f1"], [velocity_rows.index(i) for i in gentle_at])], form, junction.state_before)[0]
        blocks.append((f1_before, 0.0, 0.0))
    return junction.with_rows(blocks)


def _impulsive(junction: _JunctionVariables, expr: Any, names: dict[Any, int]) -> Value:
    """A bound on forces as one on impulses: multipliers are replaced by P."""
    lam = zeros(len(junction.new.form.rows))
    for i, row in enumerate(junction.new.form.rows):
        if row.constraint.multiplier in names:
            lam[i] = junction.P[names[row.constraint.multiplier]]
    form = junction.new.form
    value = form.lower(junction.new.system.in_velocities(expr.xreplace(dict(junction.new.reactions))))
    value = substitute_all([value], [form.inputs["lam"]], [lam])
    return junction.at(value, form, junction.z)[0]


def _impact(system: System, old: PhaseGraph, new: PhaseGraph, struck: str) -> PhaseJunction:
    """An impact on a face with rebound: ġ⁺ = −e ġ⁻."""
    faces = [face.name for face in new.system.unilateral]
    closed = tuple(faces.index(r.constraint.name) for r in new.form.rows if r.constraint.name in faces)
    form = normal_form(new.system, (*closed, faces.index(struck)))
    nq, linear = form.nq, [row.index for row in form.rows if row.linear]
    velocity_rows = [i for i in linear if form.rows[i].level < 2]
    names = {new.form.rows[i].constraint.name for i in new.independent_rows} | {struck}
    acting = [i for i in velocity_rows if form.rows[i].constraint.name in names]
    hit = next(i for i in acting if form.rows[i].constraint.name == struck)
    junction = _JunctionVariables.of(old, new, len(acting))
    index = lambda i: velocity_rows.index(i)
    others = [i for i in acting if i != hit]
    position_rows = [i for i in linear if form.rows[i].level == 0]
    e = form.lower(system.unilateral[_number(system, struck)].restitution)
    values = [
        form["M"], form["W"][:, [linear.index(i) for i in acting]], take(form["f1"], [index(i) for i in others]),
        take(form["f1"], [index(hit)]), take(form["f0"], [position_rows.index(hit)]), e,
    ]  # fmt: skip
    M, W, f1_others, rate_after, g, e_ = junction.at(values, form, junction.z)
    rate_before = junction.at([take(form["f1"], [index(hit)])], form, junction.state_before)[0]
    jump = M @ (junction.z[nq:] - junction.state_before[nq:]) - W @ junction.P
    return junction.with_rows([
        (junction.z[:nq] - junction.state_before[:nq], 0.0, 0.0), (jump, 0.0, 0.0), (f1_others, 0.0, 0.0),
        (rate_after + e_ * rate_before, 0.0, 0.0), (g, 0.0, 0.0), (rate_before, -np.inf, 0.0),
    ])  # fmt: skip


__all__ = ["PhaseJunction", "absorbs", "phase_junction"]
