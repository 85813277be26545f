"""A plan on a mesh: variables, rows and the program that IPOPT solves.

    x = (θ;  for each phase: the state at its start, then w of each node)

Interval k of length h_k (a fraction of the phase) with the nodes c_1 … c_s and the state z_0 at its left end:

    Σ_j D_ij z_j − h_k T ż(w_i) = 0,        i = 1 … s        D of the Radau points, j = 0 … s
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from appell.graph.node_program import NodeFamily, NodeFunction, NodeProgram
from appell.optimize.phase_graph import PARTS, roughness
from appell.optimize.plan_model import PhaseFunctions, PlanModel
from appell.optimize.radau_points import RadauTable, radau
from appell.remember import remembered

Array = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PlannedPhase:
    """A phase of a plan in numbers: breaks (N + 1,) from 0 to 1, first state (nz,), nodes (N, s, nw), duration, s."""

    breaks: Array
    first: Array
    nodes: Array
    duration: float
    table: RadauTable

    @property
    def nz(self) -> int:
        return len(self.first)

    @property
    def states(self) -> Array:
        """States at the left end and the nodes of each interval, (N, s + 1, nz)."""
        z = self.nodes[:, :, : self.nz]
        left = np.concatenate([self.first[None], z[:-1, -1]])
        return np.concatenate([left[:, None], z], axis=1)

    @property
    def tau(self) -> Array:
        """Fractions of the phase at the nodes, (N, s)."""
        return self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * self.table.nodes

    def _within(self, tau: Array) -> tuple[Places, Array]:
        k = np.clip(np.searchsorted(self.breaks, tau, side="left") - 1, 0, len(self.breaks) - 2)
        return k, (tau - self.breaks[k]) / np.diff(self.breaks)[k]

    def states_at(self, tau: Array) -> Array:
        """z at fractions of the phase, (k, nz)."""
        k, x = self._within(np.asarray(tau, dtype=float))
        return np.einsum("ij,ijz->iz", self.table.states(x), self.states[k])

    def rates_at(self, tau: Array) -> Array:
        """dz/dt of the polynomials, (k, nz)."""
        k, x = self._within(np.asarray(tau, dtype=float))
        per_time = 1 / (np.diff(self.breaks)[k] * self.duration)
        return np.einsum("ij,ijz->iz", self.table.rates(x), self.states[k]) * per_time[:, None]

    def rest_at(self, tau: Array) -> Array:
        """The rest of w after the state, by the polynomials through the nodes, (k, nw − nz)."""
        k, x = self._within(np.asarray(tau, dtype=float))
        return np.einsum("ij,ijz->iz", self.table.controls(x), self.nodes[k][:, :, self.nz :])

    def on(self, breaks: Array, s: int) -> PlannedPhase:
        """The same phase on another mesh."""
        table = radau(s)
        tau = (breaks[:-1, None] + np.diff(breaks)[:, None] * table.nodes).ravel()
        inside = np.minimum(tau, 1.0)
        nodes = np.hstack([self.states_at(inside), self.rest_at(inside)]).reshape(len(breaks) - 1, s, -1)
        return PlannedPhase(breaks, self.first, nodes, self.duration, table)


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A plan in numbers: its phases, the values of the unknown parameters and of the integrals."""

    phases: tuple[PlannedPhase, ...]
    unknown: Array
    integrals: Array
    impulses: tuple[Array, ...] = ()  # where phases meet

    @property
    def duration(self) -> float:
        return sum(phase.duration for phase in self.phases)


@dataclass(frozen=True, eq=False)
class Transcription:
    """The program of a plan on a mesh: breaks (N + 1,) for each phase, s nodes in each interval."""

    model: PlanModel
    breaks: tuple[Array, ...]
    s: int

    @property
    def table(self) -> RadauTable:
        return radau(self.s)

    @cached_property
    def _sizes(self) -> list[int]:
        """Variables of each phase."""
        pairs = zip(self.model.phases, self.breaks, strict=True)
        return [phase.graph.nz + (len(b) - 1) * self.s * phase.graph.nw for phase, b in pairs]

    @property
    def shared(self) -> int:
        return self.model.shared.theta.numel()

    @property
    def n(self) -> int:
        return self.shared + sum(self._sizes) + sum(junction.impulses for junction in self.model.junctions)

    def impulse_places(self, k: int) -> Places:
        """Indices in x of the impulses between phases k and k + 1."""
        counts = [junction.impulses for junction in self.model.junctions]
        at = self.shared + sum(self._sizes) + sum(counts[:k])
        return np.arange(at, at + counts[k])

    def first_place(self, phase: int) -> int:
        return self.shared + sum(self._sizes[:phase])

    def start_places(self, phase: int) -> Places:
        """Indices in x of the state at the start of a phase."""
        at = self.first_place(phase)
        return np.arange(at, at + self.model.phases[phase].graph.nz)

    def node_places(self, phase: int) -> Places:
        """Indices in x of the nodes of a phase, (N s, nw)."""
        graph, at = self.model.phases[phase].graph, self.first_place(phase)
        count = (len(self.breaks[phase]) - 1) * self.s
        return at + graph.nz + np.arange(count * graph.nw).reshape(count, graph.nw)

    # -- the program ---------------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> tuple[list[Places], list[Places], Places, Places]:
        """Rows of the nodes of each phase (N s, ng), of each start, of the coupling, and those of the integrals."""
        m, nodes, starts = 0, [], []
        integrals = np.arange(len(self.model.integrals))
        m += len(integrals)
        for phase, breaks in zip(self.model.phases, self.breaks, strict=True):
            count, per_node = (len(breaks) - 1) * self.s, phase.node.g.numel() - phase.integrals
            block = m + np.arange(count * per_node).reshape(count, per_node)
            nodes.append(np.hstack([block, np.tile(integrals, (count, 1))]))
            m += count * per_node
            is_first = self.model.phases[0] is phase
            starts.append(m + np.arange(phase.start.g.numel()) if is_first else np.zeros(0, dtype=np.intp))
            m += len(starts[-1])
        return nodes, starts, m + np.arange(self.model.coupling.function.g.numel()), integrals

    @cached_property
    def junction_rows(self) -> list[Places]:
        """Rows of each junction of two phases, after all others; the row of the whole duration follows."""
        at, rows = int(self.rows[2][-1]) + 1 if len(self.rows[2]) else self._before_coupling, []
        for junction in self.model.junctions:
            rows.append(at + np.arange(junction.function.g.numel()))
            at += len(rows[-1])
        return rows

    @property
    def _before_coupling(self) -> int:
        nodes, starts, _, integrals = self.rows
        node_rows = sum(n.shape[0] * (n.shape[1] - len(integrals)) for n in nodes)
        return node_rows + sum(map(len, starts)) + len(integrals)

    @property
    def m(self) -> int:
        junctions = sum(map(len, self.junction_rows)) + (1 if self.junction_rows else 0)
        return self._before_coupling + len(self.rows[2]) + junctions

    def node_data(self, phase: int) -> Array:
        """(τ, h, b) of the nodes, (N s, 3)."""
        breaks, table = self.breaks[phase], self.table
        h = np.diff(breaks)
        tau = breaks[:-1, None] + h[:, None] * table.nodes
        columns = (tau, np.repeat(h[:, None], self.s, axis=1), np.tile(table.weights, (len(h), 1)))
        return np.stack([column.ravel() for column in columns], axis=1)

    def _defects(self, phase: int) -> tuple[Places, Places, Array]:
        """The linear part of the collocation of one phase."""
        nz, count = self.model.phases[phase].graph.nz, len(self.breaks[phase]) - 1
        z = self.node_places(phase)[:, :nz].reshape(count, self.s, nz)
        left = np.concatenate([self.start_places(phase)[None], z[:-1, -1]])
        knots = np.concatenate([left[:, None], z], axis=1)  # (N, s + 1, nz)
        rows = self.rows[0][phase][:, :nz].reshape(count, self.s, nz)
        shape = (count, self.s, self.s + 1, nz)
        i = np.broadcast_to(rows[:, :, None, :], shape)
        j = np.broadcast_to(knots[:, None, :, :], shape)
        values = np.broadcast_to(self.table.D[None, :, :, None], shape)
        return i.ravel(), j.ravel(), values.ravel().astype(float)

    @cached_property
    def families(self) -> list[NodeFamily]:
        nodes, starts, coupled, _ = self.rows
        families = []
        for k, functions in enumerate(self.model.phases):
            families.append(NodeFamily(functions.node, self.node_places(k), nodes[k], self.node_data(k)))
            if functions.graph.inputs:
                count = len(self.breaks[k]) - 1
                u = self.part(k, "u").reshape(count, -1)
                h = np.diff(self.breaks[k])[:, None]
                families.append(NodeFamily(_roughness(functions, self.s), u, np.zeros((count, 0), dtype=np.intp), h))
        first = self.model.phases[0]
        if first.start.g.numel():
            families.append(NodeFamily(first.start, self.start_places(0)[None], starts[0][None], np.zeros((1, 3))))
        for k, functions in enumerate(self.model.junctions):
            places = np.concatenate([self.node_places(k)[-1], self.start_places(k + 1), self.impulse_places(k)])
            families.append(NodeFamily(functions.function, places[None], self.junction_rows[k][None], np.zeros((1, 1))))
        coupling = self.model.coupling
        places = (
            np.concatenate([self._instant(x) for x in coupling.instants]) if coupling.instants else np.zeros(0, dtype=np.intp)
        )
        d = np.array([[self._share(x) for x in coupling.instants] or [0.0]])
        return [*families, NodeFamily(coupling.function, places[None].astype(np.intp), coupled[None], d)]

    def _share(self, instant: str | float) -> float:
        """τ of an instant in its phase."""
        if isinstance(instant, str):
            return {"start": 0.0, "end": 1.0}[instant]
        request = self.model.request
        return (instant - request.since) / request.duration[0]

    def _instant(self, instant: str | float) -> Places:
        if instant == "start":
            return self.start_places(0)
        nodes = self.node_places(len(self.breaks) - 1)
        if instant == "end":
            return nodes[-1]
        k = int(np.argmin(np.abs(self.breaks[-1][1:] - self._share(instant))))
        return nodes[(k + 1) * self.s - 1]

    def program(self, scales: Array) -> NodeProgram:
        blocks = [self._defects(k) for k in range(len(self.breaks))]
        totals = self.rows[3]
        at = self.shared - len(totals) + np.arange(len(totals))
        blocks.append((totals, at, -np.ones(len(totals))))
        if self.model.junctions:
            count = len(self.breaks)
            blocks.append((np.full(count, self.m - 1), np.arange(count), np.ones(count)))
        linear = tuple(np.concatenate([block[k] for block in blocks]) for k in range(3))
        return NodeProgram(
            self.n, self.m, self.families, linear, np.arange(self.shared), self.model.shared.p.numel(), scales,  # type: ignore[arg-type]
        )  # fmt: skip

    def row_bounds(self) -> tuple[Array, Array]:
        nodes, starts, coupled, _ = self.rows
        limits = np.zeros((self.m, 2))
        for k, functions in enumerate(self.model.phases):
            node_rows = functions.node.g.numel() - functions.integrals
            limits[nodes[k][:, :node_rows]] = functions.node_rows[:node_rows]
            limits[nodes[k][-1, list(functions.released)]] = [-np.inf, np.inf]
        limits[starts[0]] = self.model.phases[0].start_rows
        limits[coupled] = self.model.coupling.rows
        for rows, functions in zip(self.junction_rows, self.model.junctions, strict=True):
            limits[rows] = functions.rows
        if self.model.junctions:
            limits[-1] = self.model.request.duration
        return limits[:, 0], limits[:, 1]

    # -- numbers -------------------------------------------------------------------------------------------------------

    def packed(self, planned: PlannedMotion) -> Array:
        """x of a plan on this mesh."""
        x = np.zeros(self.n)
        durations = [phase.duration for phase in planned.phases]
        x[: self.shared] = np.concatenate([durations, planned.unknown, planned.integrals])
        for k, phase in enumerate(planned.phases):
            x[self.start_places(k)] = phase.first
            x[self.node_places(k)] = phase.nodes.reshape(-1, phase.nodes.shape[-1])
        for k, impulses in enumerate(planned.impulses):
            x[self.impulse_places(k)] = impulses
        return x

    def unpacked(self, x: Array) -> PlannedMotion:
        count, unknown = len(self.breaks), len(self.model.shared.unknown)
        phases = []
        for k, breaks in enumerate(self.breaks):
            nodes = x[self.node_places(k)].reshape(len(breaks) - 1, self.s, -1)
            phases.append(PlannedPhase(breaks, x[self.start_places(k)], nodes, float(x[k]), self.table))
        impulses = tuple(x[self.impulse_places(k)] for k in range(len(self.model.junctions)))
        return PlannedMotion(tuple(phases), x[count : count + unknown], x[count + unknown : self.shared], impulses)

    def dual_on(self, other: Transcription, dual: tuple[Array, Array]) -> tuple[Array, Array]:
        """Multipliers (of rows, of bounds) of this mesh as a guess for those of another one.

        Those of defects are b_i times a function of time, all others h_k b_i times a function of time; these functions are
        interpolated.
        """
        rows, bounds = np.zeros(other.m), np.zeros(other.n)
        bounds[: self.shared] = dual[1][: self.shared]
        for k, phase in enumerate(self.model.phases):
            per_node = phase.node.g.numel() - phase.integrals
            defects = np.arange(per_node + phase.graph.nw) < phase.graph.nz
            mine = np.hstack([dual[0][self.rows[0][k][:, :per_node]], dual[1][self.node_places(k)]]) / self._dual_weights(
                k, defects
            )
            theirs = self._interpolated(k, mine, other) * other._dual_weights(k, defects)
            rows[other.rows[0][k][:, :per_node]] = theirs[:, :per_node]
            bounds[other.node_places(k)] = theirs[:, per_node:]
            bounds[other.start_places(k)] = dual[1][self.start_places(k)]
            rows[other.rows[1][k]] = dual[0][self.rows[1][k]]
        for group in (2, 3):
            rows[other.rows[group]] = dual[0][self.rows[group]]
        for k, mine in enumerate(self.junction_rows):
            rows[other.junction_rows[k]] = dual[0][mine]
            bounds[other.impulse_places(k)] = dual[1][self.impulse_places(k)]
        if self.junction_rows:
            rows[-1] = dual[0][-1]
        return rows, bounds

    def _dual_weights(self, phase: int, defects: NDArray[np.bool_]) -> Array:
        """b_i of defects, h_k b_i of others, (N s, rows)."""
        _, h, b = self.node_data(phase).T
        return np.where(defects, b[:, None], (h * b)[:, None])

    def _interpolated(self, phase: int, values: Array, other: Transcription) -> Array:
        """Values at the nodes (N s, k), interpolated to those of another mesh."""
        tau, breaks = np.minimum(other.node_data(phase)[:, 0], 1.0), self.breaks[phase]
        k = np.clip(np.searchsorted(breaks, tau, side="left") - 1, 0, len(breaks) - 2)
        basis = self.table.controls((tau - breaks[k]) / np.diff(breaks)[k])
        return np.einsum("ij,ijk->ik", basis, values.reshape(len(breaks) - 1, self.s, -1)[k])

    def part(self, phase: int, name: str) -> Places:
        """Indices of one part of w at the nodes of a phase, (N s, size)."""
        return self.node_places(phase)[:, list(self.model.phases[phase].graph.indices(name))]


@remembered
def _roughness(phase: PhaseFunctions, s: int) -> NodeFunction:
    return roughness(phase.graph, radau(s).legendre[-1])


def with_knots(breaks: Array, wanted: Sequence[float]) -> Array:
    """Breaks that include the wanted fractions: the nearest inner break is moved there, or a new one is inserted."""
    knots = np.unique(np.concatenate([breaks, [x for x in wanted if 0 < x < 1]]))
    distinct = [0]
    for k in range(1, len(knots)):
        coincident = knots[k] - knots[distinct[-1]] < 1e-6
        if not coincident:
            distinct.append(k)
    knots = knots[distinct]
    knots[-1] = 1.0
    return knots


__all__ = ["PARTS", "PlannedMotion", "PlannedPhase", "Transcription", "with_knots"]
