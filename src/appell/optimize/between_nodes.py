"""Bounds and relations between the nodes of a mesh, where nothing enforces them.

A polynomial whose values at the nodes keep a bound may exceed it between them: by O(h²) where a coordinate meets its bound, by
O(h) where a velocity does as an input jumps, and by a part of the jump where the input itself is bounded. What states exceed
is mended by finer meshes; what inputs, accelerations and multipliers exceed, in the few intervals with a switch, is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.optimize.on_mesh import MeshSolution
from appell.optimize.plan_model import PhaseFunctions
from appell.optimize.transcription import PlannedPhase

Array = NDArray[np.float64]

INSIDE = np.linspace(0.0, 1.0, 13)[1:-1]
"""Shares of an interval at which bounds are read."""


@dataclass(frozen=True, eq=False)
class Excess:
    """One bound or relation: by how much it is exceeded at most, at which time, and as shares of its size in each interval.

    Its size is the largest of its values and bounds and, of a relation, what its slopes at the nodes make of the sizes of the
    variables: a relation that holds as an equality has no other.
    shares: (N,) for each phase; of_states: whether it names nothing but time, coordinates, velocities and parameters.
    """

    text: str
    amount: float
    t: float
    shares: tuple[Array, ...]
    of_states: bool

    @property
    def largest(self) -> float:
        return max(float(one.max(initial=0.0)) for one in self.shares)

    def said(self, durations: Sequence[Array], tolerance: float) -> str:
        """A sentence; durations: of the intervals of each phase, s."""
        long = sum(float(h[e > tolerance].sum()) for h, e in zip(durations, self.shares, strict=True))
        where = f"near t = {self.t:.6g} s, in intervals of {long:.2g} s"
        return f"between nodes {self.text} is exceeded by up to {self.amount:.3g}, {where}"


def excesses(found: MeshSolution) -> list[Excess]:
    """What is exceeded between the nodes of a plan, the largest first."""
    model, planned = found.transcription.model, found.planned
    shared = np.concatenate([[one.duration for one in planned.phases], planned.unknown, planned.integrals])
    tables: list[dict[tuple[str, bool], tuple[Array, Array, float, Array]]] = []
    t0 = model.request.since
    for k, (one, phase) in enumerate(zip(model.phases, planned.phases, strict=True)):
        tau = (phase.breaks[:-1, None] + np.diff(phase.breaks)[:, None] * INSIDE).ravel()
        w = np.hstack([phase.states_at(tau), phase.rest_at(tau)])
        scales = found.program.row_scales[found.transcription.rows[0][k]]
        read = {**_named(model.request, one, w), **_along(one, phase, tau, w, shared, found.numbers, scales)}
        tables.append({key: (*pair, t0 + tau * phase.duration) for key, pair in read.items()})
        t0 += phase.duration
    keys = dict.fromkeys(key for table in tables for key in table)
    every = [_excess(key, tables, [len(phase.breaks) - 1 for phase in planned.phases]) for key in keys]
    return sorted((one for one in every if one.amount > 0), key=lambda one: -one.largest)


def _named(request: Any, one: PhaseFunctions, w: Array) -> dict[tuple[str, bool], tuple[Array, Array, float]]:
    """(text, whether of states) → values, (lower, upper) and size of what has bounds of its own."""
    graph = one.graph
    names = [*request.states, *request.system.accelerations]
    names += [graph.form.rows[i].constraint.multiplier for i in graph.kept] + list(graph.inputs)
    found = {}
    for s, pair in request.bounds.items():
        if s in names:
            k = names.index(s)
            found[f"the bound of {s}", k < graph.nz] = w[:, k], np.array(pair, dtype=float), 0.0
    return found


def _along(
    one: PhaseFunctions, phase: PlannedPhase, tau: Array, w: Array, shared: Array, numbers: Array, scales: Array
) -> dict[tuple[str, bool], tuple[Array, Array, float]]:
    """(text, whether of states) → values, (lower, upper) and size of the relations along the motion."""
    if not one.along:
        return {}
    h = np.repeat(np.diff(phase.breaks), len(INSIDE))
    d = np.stack([tau, h, np.ones(len(tau))])
    many = lambda x: np.repeat(x[:, None], len(tau), axis=1)
    g = np.array(one.node.values.map(len(tau))(w.T, many(shared), d, many(numbers))[0])
    first = len(g) - one.integrals - len(one.along)
    return {
        (f"{row.text}", row.of_states): (g[first + k], one.node_rows[first + k], float(np.median(1 / scales[:, first + k])))
        for k, row in enumerate(one.along)
        if one.node_rows[first + k][0] < one.node_rows[first + k][1]
    }


def _excess(key: tuple[str, bool], tables: Sequence[dict[Any, Any]], counts: Sequence[int]) -> Excess:
    there = [table[key] for table in tables if key in table]
    finite = [x for values, pair, size, _ in there for x in (np.abs(values).max(initial=0.0), *np.abs(pair), size)]
    finite = [float(x) for x in finite if np.isfinite(x)]
    size = max(finite, default=0.0) or 1.0
    amount, at, shares = 0.0, 0.0, []
    for table, count in zip(tables, counts, strict=True):
        if key not in table:
            shares.append(np.zeros(count))
            continue
        values, (low, high), _, t = table[key]
        over = np.maximum(np.maximum(low - values, values - high), 0.0)
        over = np.where(np.isfinite(over), over, 0.0)
        k = int(np.argmax(over))
        if over[k] > amount:
            amount, at = float(over[k]), float(t[k])
        shares.append(over.reshape(count, -1).max(axis=1) / size)
    return Excess(key[0], amount, at, tuple(shares), key[1])


__all__ = ["Excess", "excesses"]
