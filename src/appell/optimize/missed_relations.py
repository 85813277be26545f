"""Relations along a motion that cannot hold or are violated: which one, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy

from appell.errors import ModelError
from appell.jets import t as time
from appell.optimize.goals import InstantValue, TimeIntegral
from appell.optimize.plan_model import PlanModel
from appell.optimize.steering_request import BoundedExpression, EndConditions, SteeringRequest
from appell.optimize.transcription import PlannedMotion

RELATION_SLACK = 1e-6
"""A relation may be violated by this fraction of its largest term: solvers and given values are less accurate."""


def refuse_excluded_end(request: SteeringRequest, conditions: EndConditions, which: str) -> None:
    """Raises if the given values of a start or end contradict a relation along the motion."""
    values = {s: x for s, x, f in zip(request.states, conditions.lower, conditions.fixed, strict=True) if f}
    values |= {s: x for s, x in request.parameters.items() if s not in request.unknown}
    if which == "start" or request.duration[0] == request.duration[1]:
        values[time] = request.since + (0.0 if which == "start" else request.duration[1])
    for row in request.path_relations:
        value = _value(row, values)
        if value is not None and _violation(row, value) > RELATION_SLACK * _size(row, values):
            raise ModelError(
                f"{row.text} does not hold at the {which}, where all that it names is given; change the {which}, or leave a"
                " value of it to the plan with ap.free"
            )


def worst_relation(model: PlanModel, planned: PlannedMotion) -> str:
    """A message on the relation with the largest violation at the nodes; empty where all hold."""
    request, worst = model.request, (RELATION_SLACK, "")
    for t, values in _nodes(model, planned):
        for row in request.path_relations:
            value = _value(row, values)
            if value is None:
                continue
            share = _violation(row, value) / _size(row, values)
            if share > worst[0]:
                worst = share, f"; {row.text} is missed by {_violation(row, value):.3g} at t = {t:.4g} s"
    parameters = {**request.parameters, **dict(zip(request.unknown, map(float, planned.unknown), strict=True))}
    for row in request.instant_relations:  # those of unknowns alone
        value = _value(row, parameters)
        if value is not None and not row.expression.has(InstantValue, TimeIntegral):
            share = _violation(row, value) / _size(row, parameters)
            worst = (share, f"; {row.text} is missed by {_violation(row, value):.3g}") if share > worst[0] else worst
    return worst[1]


def _nodes(model: PlanModel, planned: PlannedMotion) -> Iterator[tuple[float, dict[Any, float]]]:
    """Time, and the value of every symbol, at each node."""
    request, t0 = model.request, model.request.since
    parameters = {**request.parameters, **dict(zip(request.unknown, map(float, planned.unknown), strict=True))}
    for functions, phase in zip(model.phases, planned.phases, strict=True):
        graph = functions.graph
        symbols = [*request.states, *request.system.accelerations]
        symbols += [graph.form.rows[i].constraint.multiplier for i in graph.independent_rows] + list(graph.inputs)
        nodes = phase.nodes.reshape(-1, phase.nodes.shape[-1])
        for share, node in zip(phase.tau.ravel(), nodes, strict=True):
            t = t0 + float(share) * phase.duration
            yield t, {**parameters, **dict(zip(symbols, map(float, node), strict=False)), time: t}
        t0 += phase.duration


def _value(row: BoundedExpression, table: Mapping[Any, float]) -> float | None:
    """The value of a relation's expression; None where one of its symbols has no value, or the result is not a number."""
    if not row.expression.free_symbols <= set(table):
        return None
    value = row.expression.xreplace({s: sympy.Float(float(table[s])) for s in row.expression.free_symbols}).evalf()
    return float(value) if value.is_comparable and value.is_finite else None  # DiracDelta(0.0) is real, and no number


def _size(row: BoundedExpression, table: Mapping[Any, float]) -> float:
    """The largest of a relation's finite bounds and of the terms of its expression; 1 where all of them vanish."""
    terms = [replace(row, expression=term) for term in sympy.Add.make_args(row.expression)]
    sizes = [abs(_value(term, table) or 0.0) for term in terms]
    return max([*sizes, *(abs(x) for x in (row.lower, row.upper) if abs(x) < float("inf"))]) or 1.0


def _violation(row: BoundedExpression, value: float) -> float:
    return max(row.lower - value, value - row.upper, 0.0)


__all__ = ["refuse_excluded_end", "worst_relation"]
