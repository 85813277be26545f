"""A plan before its mesh: the functions of its nodes, its start and its couplings between instants, with the bounds of their
rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.graph.algebra import Value, column, depends, substitute, symbols, zeros
from appell.graph.node_program import NodeFunction
from appell.optimize.contact_phases import ContactPhase
from appell.optimize.goals import InstantValue, TimeIntegral
from appell.optimize.phase_graph import PhaseGraph, SharedUnknowns, bounded_rows
from appell.optimize.phase_junctions import PhaseJunction, phase_junction
from appell.optimize.steering_request import BoundedExpression, SteeringRequest

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PathRow:
    """A relation along the motion: its text, and whether it contains only time, states and parameters."""

    text: str
    of_states: bool


@dataclass(frozen=True, eq=False)
class PhaseFunctions:
    """The functions of one phase, and the bounds of their rows: `node_rows` (ng, 2), `start_rows` (n, 2)."""

    graph: PhaseGraph
    node: NodeFunction
    node_rows: Array
    start: NodeFunction
    start_rows: Array
    integrals: int  # the last rows of a node, summed over all nodes
    released: tuple[int, ...] = ()  # rows of the last node that are implied by the junction to the next phase
    path_rows: tuple[PathRow, ...] = ()  # rows of a node before those of integrals

    @property
    def labels(self) -> list[str]:
        """The text of each row of a node."""
        form, system = self.graph.form, self.graph.system
        names = [form.rows[i].constraint.name for i in self.graph.independent_rows]
        linear = [n for i, n in zip(self.graph.independent_rows, names, strict=True) if form.rows[i].linear]
        velocity_rows = [n for i, n in zip(self.graph.independent_rows, names, strict=True) if form.rows[i].level < 2]
        position_rows = [n for i, n in zip(self.graph.independent_rows, names, strict=True) if form.rows[i].level == 0]
        labels = [f"the rate of {s}" for s in (*system.positions, *system.velocities)]
        labels += [f"the equation of {v}" for v in system.velocities] + [f"'{n}' (accelerations)" for n in linear]
        labels += [f"'{n}'" for i, n in zip(self.graph.independent_rows, names, strict=True) if not form.rows[i].linear]
        labels += (
            [f"'{n}'" for n in position_rows]
            + [f"the unit quaternion '{b.name}'" for b in system.quaternions]
            + [f"'{n}' (velocities)" for n in velocity_rows]
        )
        return labels


@dataclass(frozen=True, eq=False)
class InstantCoupling:
    """A coupling between instants: a function of the state at the start, and of the nodes at the end and at some times, with
    its rows.

    instants: in the order of their variables in w. d contains τ of each.
    """

    function: NodeFunction
    instants: tuple[str | float, ...]
    rows: Array


@dataclass(frozen=True, eq=False)
class PlanModel:
    """The part of a plan that does not depend on its mesh."""

    request: SteeringRequest
    phases: tuple[PhaseFunctions, ...]
    shared: SharedUnknowns
    coupling: InstantCoupling
    integrals: tuple[Any, ...]
    between: tuple[BoundedExpression, ...]
    junctions: tuple[PhaseJunction, ...] = ()

    @property
    def instants(self) -> tuple[float, ...]:
        """Times that must be nodes, s."""
        return tuple(x for x in self.coupling.instants if isinstance(x, float))


def plan_model(request: SteeringRequest, phases: Sequence[tuple[ContactPhase, tuple[int, ...]]], margins: Array) -> PlanModel:
    """The functions of a plan through phases, each with the indices of its independent rows.

    margins: (faces,) lower bounds of the functions of walls.
    """
    direct, rest, totals = _split(request)
    system, inputs = request.system, request.steered.inputs
    shared = SharedUnknowns.of(system, len(phases), request.unknown, len(inputs), len(totals))
    graphs = [PhaseGraph.of(k, phase, kept, system, inputs, shared) for k, (phase, kept) in enumerate(phases)]
    following = [*(phase for phase, _ in phases[1:]), None]
    functions = [
        _phase(graph, phase, after, request, direct, totals, margins)
        for graph, (phase, _), after in zip(graphs, phases, following, strict=True)
    ]
    _refuse_idle(request, functions, shared)
    coupling = _coupling(request, functions, shared, rest, totals)
    pairs = zip(phases[:-1], phases[1:], graphs[:-1], graphs[1:], strict=True)
    junctions = tuple(phase_junction(request, earlier[0], later[0], old, new) for earlier, later, old, new in pairs)
    return PlanModel(request, tuple(functions), shared, coupling, totals, request.instant_relations, junctions)


def _split(request: SteeringRequest) -> tuple[Any, Any, tuple[Any, ...]]:
    """(integrand of the cost, the rest of the cost, integrals that need a value of their own).

    A cost that is affine in its integrals, with constant coefficients, is summed node by node; otherwise, and in relations,
    an integral is an unknown with a row of its own.
    """
    between = {node for row in request.instant_relations for node in row.expression.atoms(TimeIntegral)}
    integrals = sorted(request.objective.atoms(TimeIntegral), key=str)
    names = {node: sympy.Dummy(f"I{k}", real=True) for k, node in enumerate(integrals)}
    objective = request.objective.xreplace(names)
    slopes = [sympy.diff(objective, s) for s in names.values()]
    if any(slope.has(InstantValue, *names.values()) for slope in slopes):
        return sympy.Integer(0), request.objective, tuple(sorted(between | set(integrals), key=str))
    direct = sympy.Add(*(slope * node.args[0] for slope, node in zip(slopes, integrals, strict=True)))
    rest = objective.xreplace({s: sympy.Integer(0) for s in names.values()})
    return direct, rest, tuple(sorted(between, key=str))


def _phase(
    graph: PhaseGraph, phase: ContactPhase, after: ContactPhase | None, request: SteeringRequest, direct: Any,
    totals: Sequence[Any], margins: Array,
) -> PhaseFunctions:  # fmt: skip
    faces = request.system.unilateral
    walls = [(face, float(margins[i])) for i, face in enumerate(faces) if face.name not in phase.closed]
    rows = [*request.path_relations, *(_open_face(face, margin) for face, margin in walls), *phase.rows]
    along, limits = bounded_rows(graph, rows), np.array([(r.lower, r.upper) for r in rows]).reshape(-1, 2)
    integrands = [graph.lowered(node.args[0]) for node in totals]
    node = graph.node(along, integrands, graph.lowered(direct))
    equal = node.g.numel() - len(rows) - len(totals)
    node_rows = np.vstack([np.zeros((equal, 2)), limits, np.zeros((len(totals), 2))])
    state_rows = [k for k, value in enumerate(along) if graph.is_state_only(value)]
    start = graph.start([along[k] for k in state_rows])
    start_rows = np.vstack([np.zeros((start.g.numel() - len(state_rows), 2)), limits[state_rows]])
    released = tuple(equal + k for k, row in enumerate(rows) if row.text in _reached_bounds(phase, after))
    relations = tuple(PathRow(row.text, k in state_rows) for k, row in enumerate(rows))
    return PhaseFunctions(graph, node, node_rows, start, start_rows, len(totals), released, relations)


def _reached_bounds(phase: ContactPhase, after: ContactPhase | None) -> set[str]:
    """Texts of the rows whose bounds are reached at the end of a phase, because that starts the next one."""
    if after is None:
        return set()
    met = {f"'{name}'" for name in (*after.closed, phase.struck) if name is not None}
    return met | {f"'{name}' slides" for name, state in after.states.items() if state == "stick"}


def _open_face(face: Any, margin: float) -> BoundedExpression:
    return BoundedExpression(face.function, margin, np.inf, f"'{face.name}'")


def _refuse_idle(request: SteeringRequest, phases: Sequence[PhaseFunctions], shared: SharedUnknowns) -> None:
    """Raises for controls and unknowns on which no function of a node depends."""
    functions = column(*(column(phase.node.g, phase.node.c) for phase in phases))
    for k, s in enumerate(request.steered.inputs):
        if not any(depends(functions, phase.graph.parts["u"][k]) for phase in phases):
            raise ModelError(
                f"nothing depends on the control {request.steered.controls[k]} ({s}): no force, constraint or goal contains it"
            )
    for k, s in enumerate(shared.unknown):
        goals = [request.objective, *(row.expression for row in request.instant_relations)]
        if not depends(functions, shared.theta[shared.phases + k]) and not any(s in e.free_symbols for e in goals):
            raise ModelError(
                f"nothing depends on the unknown {s}: it stands in no force, constraint, inertia or goal that acts"
            )


def _coupling(
    request: SteeringRequest, phases: Sequence[PhaseFunctions], shared: SharedUnknowns, rest: Any, totals: Sequence[Any]
) -> InstantCoupling:
    rows = request.instant_relations
    expressions = [rest, *(row.expression for row in rows)]
    nodes = sorted({node for e in expressions for node in e.atoms(InstantValue)}, key=str)
    instants = tuple(sorted({node.instant for node in nodes}, key=str))
    if any(isinstance(x, float) for x in instants) and request.duration[0] != request.duration[1]:
        raise ModelError("ap.at(…, time) needs a plan whose end is fixed: until= is a time, not an interval")
    if any(isinstance(x, float) for x in instants) and len(phases) > 1:
        raise ModelError("ap.at(…, time) in a plan with phases= is not known before the phases have their durations")
    d = symbols("d", max(len(instants), 1))
    unknowns, values = [], {}
    for k, instant in enumerate(instants):
        graph = (phases[0] if instant == "start" else phases[-1]).graph
        variables = graph.state if instant == "start" else graph.w
        fresh = symbols(f"w{k}", variables.numel())
        unknowns.append(fresh)
        for node in nodes:
            if node.instant == instant:
                values[node] = _at_instant(graph, node, variables, fresh, d[k])
    names: dict[Any, Any] = {node: sympy.Dummy(real=True) for node in (*nodes, *totals)}
    lower = phases[0].graph.form.lower
    first_integral = shared.phases + len(shared.unknown)
    lower.bind(
        {names[node]: values[node] for node in nodes}
        | {names[node]: shared.theta[first_integral + k] for k, node in enumerate(totals)}
    )
    lowered = phases[0].graph.in_unknowns([lower(e.xreplace(names)) for e in expressions])
    w = column(*unknowns) if unknowns else zeros(0)
    g = column(*lowered[1:]) if rows else zeros(0)
    limits = np.array([(r.lower, r.upper) for r in rows]).reshape(-1, 2)
    return InstantCoupling(NodeFunction(w, shared.theta, d, shared.p, g, lowered[0]), instants, limits)


def _at_instant(graph: PhaseGraph, node: InstantValue, variables: Value, fresh: Value, tau: Value) -> Value:
    value = graph.lowered(node.args[0])
    if node.instant == "start" and not graph.is_state_only(value):
        raise ModelError(
            f"{node}: at the start a plan knows coordinates, velocities and time; accelerations, controls and multipliers"
            " have values after it"
        )
    return substitute(value, [variables, graph.d[0]], [fresh, tau])


__all__ = ["InstantCoupling", "PhaseFunctions", "PlanModel", "plan_model"]
