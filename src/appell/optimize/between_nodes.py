"""Bounds and relations between the nodes of a mesh, where they are not enforced.

A polynomial whose values at the nodes keep a bound may exceed it between them: by O(h²) where a coordinate meets its bound, by
O(h) where a velocity does as an input jumps, and by a fraction of the jump where the input itself is bounded. Violations by
states are removed by finer meshes; violations by inputs, accelerations and multipliers, in the few intervals with a switch, are
reported.

Violations are measured at points inside the intervals. These may miss a short one (a wall of millimetres), so a plan that
passes them is checked again with rigorous bounds of each relation along the polynomials (`Motion.crossings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import silence
from appell.errors import AppellError
from appell.jets import t as time
from appell.model.stops import falling, rising
from appell.motion.motion import Motion
from appell.optimize.on_mesh import MeshSolution
from appell.optimize.plan_model import PhaseFunctions
from appell.optimize.replay import states_at
from appell.optimize.steering_request import BoundedExpression
from appell.optimize.transcription import PlannedMotion, PlannedPhase

Array = NDArray[np.float64]

INSIDE = np.linspace(0.0, 1.0, 13)[1:-1]
"""Fractions of an interval at which bounds are checked."""


@dataclass(frozen=True, eq=False)
class Excess:
    """One bound or relation: its largest violation, the time of it, and the violation in each interval relative to its size.

    The size is the largest of its values and bounds and, for a relation, of its gradient at the nodes times the sizes of the
    variables: a relation that holds as an equality has no other scale.
    violations: (N,) for each phase; of_states: whether it contains only time, coordinates, velocities and parameters.
    """

    text: str
    amount: float
    t: float
    violations: tuple[Array, ...]
    of_states: bool
    size: float

    @property
    def largest(self) -> float:
        return max(float(share.max(initial=0.0)) for share in self.violations)

    def message(self, durations: Sequence[Array], tolerance: float) -> str:
        """A message; durations: of the intervals of each phase, s."""
        length = sum(float(h[e > tolerance].sum()) for h, e in zip(durations, self.violations, strict=True))
        where = f"near t = {self.t:.6g} s, in intervals of {length:.2g} s"
        return f"between nodes {self.text} is exceeded by up to {self.amount:.3g}, {where}"


def excesses(found: MeshSolution) -> list[Excess]:
    """Violations between the nodes of a plan, the largest first."""
    return sorted((excess for excess in _all_excesses(found) if excess.amount > 0), key=lambda excess: -excess.largest)


def messages_between_nodes(found: MeshSolution, over: Sequence[Excess], tolerance: float) -> tuple[str, ...]:
    """A message on each of some violations of a plan."""
    durations = [np.diff(phase.breaks) * phase.duration for phase in found.planned.phases]
    return tuple(excess.message(durations, tolerance) for excess in over)


def _all_excesses(solution: MeshSolution) -> list[Excess]:
    """All bounds and relations of a plan between its nodes."""
    model, planned = solution.transcription.model, solution.planned
    shared = np.concatenate([[phase.duration for phase in planned.phases], planned.unknown, planned.integrals])
    tables: list[dict[tuple[str, bool], tuple[Array, Array, float, Array]]] = []
    t0 = solution.since
    for k, (functions, phase) in enumerate(zip(model.phases, planned.phases, strict=True)):
        tau = (phase.breaks[:-1, None] + np.diff(phase.breaks)[:, None] * INSIDE).ravel()
        w = np.hstack([phase.states_at(tau), phase.rest_at(tau)])
        scales = solution.program.row_scales[solution.transcription.rows[0][k]]
        values = {
            **_bounded_values(model.request, functions, w),
            **_relation_values(functions, phase, tau, w, shared, solution.numbers, scales),
        }
        tables.append({key: (*pair, t0 + tau * phase.duration) for key, pair in values.items()})
        t0 += phase.duration
    keys = dict.fromkeys(key for table in tables for key in table)
    return [_excess(key, tables, [len(phase.breaks) - 1 for phase in planned.phases]) for key in keys]


def _bounded_values(request: Any, functions: PhaseFunctions, w: Array) -> dict[tuple[str, bool], tuple[Array, Array, float]]:
    """(text, whether of states) → values, (lower, upper) and size of what has bounds of its own."""
    graph = functions.graph
    names = [*request.states, *request.system.accelerations]
    names += [graph.form.rows[i].constraint.multiplier for i in graph.independent_rows] + list(graph.inputs)
    bounded = {}
    for s, pair in request.bounds.items():
        if s in names:
            k = names.index(s)
            bounded[f"the bound of {s}", k < graph.nz] = w[:, k], np.array(pair, dtype=float), 0.0
    return bounded


def _relation_values(
    functions: PhaseFunctions, phase: PlannedPhase, tau: Array, w: Array, shared: Array, numbers: Array, scales: Array
) -> dict[tuple[str, bool], tuple[Array, Array, float]]:
    """(text, whether of states) → values, (lower, upper) and size of the relations along the motion."""
    if not functions.path_rows:
        return {}
    h = np.repeat(np.diff(phase.breaks), len(INSIDE))
    d = np.stack([tau, h, np.ones(len(tau))])
    repeated = lambda x: np.repeat(x[:, None], len(tau), axis=1)
    g = np.array(functions.node.values.map(len(tau))(w.T, repeated(shared), d, repeated(numbers))[0])
    first_row = len(g) - functions.integrals - len(functions.path_rows)
    return {
        (f"{row.text}", row.of_states): (
            g[first_row + k],
            functions.node_rows[first_row + k],
            float(np.median(1 / scales[:, first_row + k])),
        )
        for k, row in enumerate(functions.path_rows)
        if functions.node_rows[first_row + k][0] < functions.node_rows[first_row + k][1]
    }


def _excess(key: tuple[str, bool], tables: Sequence[dict[Any, Any]], counts: Sequence[int]) -> Excess:
    entries = [table[key] for table in tables if key in table]
    finite = [x for values, pair, size, _ in entries for x in (np.abs(values).max(initial=0.0), *np.abs(pair), size)]
    finite = [float(x) for x in finite if np.isfinite(x)]
    size = max(finite, default=0.0) or 1.0
    amount, instant, shares = 0.0, 0.0, []
    for table, count in zip(tables, counts, strict=True):
        if key not in table:
            shares.append(np.zeros(count))
            continue
        values, (low, high), _, t = table[key]
        violation = np.maximum(np.maximum(low - values, values - high), 0.0)
        violation = np.where(np.isfinite(violation), violation, 0.0)
        k = int(np.argmax(violation))
        if violation[k] > amount:
            amount, instant = float(violation[k]), float(t[k])
        shares.append(violation.reshape(count, -1).max(axis=1) / size)
    return Excess(key[0], amount, instant, tuple(shares), key[1], size)


# -- by bounds ---------------------------------------------------------------------------------------------------------


def stepped_over(found: MeshSolution, motion: Motion, tolerance: float) -> list[Excess]:
    """Bounds and relations of states that are violated by more than the tolerance between the points of `excesses`.

    motion: of the plan. Its polynomials are checked as they are, without projection onto the rows.
    """
    request, planned, nq = found.transcription.model.request, found.planned, motion.system.nq

    def polynomials(times: Array) -> tuple[Array, Array, Array]:
        z = states_at(planned, found.since, times)
        return z[:, :nq], z[:, nq:], np.zeros(len(times))

    rows = [BoundedExpression(s, *pair, f"the bound of {s}") for s, pair in request.bounds.items()]
    rows_by_text = {row.text: row for row in (*rows, *request.path_relations)}
    allowed, motion = {time, *request.states, *motion.system.parameters}, replace(motion, sampler=polynomials)
    thin = []
    for excess in _all_excesses(found):
        row = rows_by_text.get(excess.text)
        if row is None or not excess.of_states or not row.expression.free_symbols <= allowed:
            continue
        stretches = [*_violated_stretches(row, motion, tolerance * excess.size)]
        if stretches:
            times, violation = (np.concatenate(x) for x in zip(*stretches, strict=True))
            k = int(violation.argmax())
            shares = _by_interval(planned, times - found.since, violation / excess.size)
            thin.append(replace(excess, amount=float(violation[k]), t=float(times[k]), violations=shares))
    return thin


def _violated_stretches(row: BoundedExpression, motion: Motion, slack: float) -> Iterator[tuple[Array, Array]]:
    """(times, violation there) for each interval of a motion on which a relation is violated by more than `slack`."""
    for bound, sign in ((row.lower, 1.0), (row.upper, -1.0)):
        if not np.isfinite(bound):
            continue
        inside = sign * (row.expression - bound) + slack
        try:
            with silence():
                exits, returns = motion.crossings(falling(inside)), motion.crossings(rising(inside))
        except AppellError:  # an expression without interval bounds
            continue
        for begin in exits:
            times = np.linspace(begin, returns[returns > begin].min(initial=float(motion.t[-1])), 33)[1:-1]
            yield times, sign * (bound - np.asarray(motion.at(times)[row.expression], float))


def _by_interval(planned: PlannedMotion, times: Array, values: Array) -> tuple[Array, ...]:
    """The largest of some values in each interval of each phase, (N,); times since the start, s."""
    tables, t0 = [], 0.0
    for phase in planned.phases:
        table = np.zeros(len(phase.breaks) - 1)
        inside = (times >= t0) & (times <= t0 + phase.duration)
        interval = np.searchsorted(phase.breaks, (times[inside] - t0) / phase.duration, side="right") - 1
        np.maximum.at(table, np.clip(interval, 0, len(table) - 1), values[inside])
        tables.append(table)
        t0 += phase.duration
    return tuple(tables)


__all__ = ["Excess", "excesses", "messages_between_nodes", "stepped_over"]
