"""Sensitivity of the optimum to parameters and start values, from the differentiated KKT system.

    (H  Aᵀ) (dx)     (∂²L/∂x∂p)
    (A  0 ) (dλ) = − (∂g/∂p   ) dp            dJ*/dp = ∂L/∂p,    dJ*/dz_0 = − multiplier of z_0

x are the variables not at a bound, A the rows that are equations or at their bound; L = J + λᵀg. Derivatives are
exact for the plan on its mesh, as long as no bound is about to be reached or left. Where an input switches, the mesh is refined
first: on a coarse mesh the multipliers are not unique, since any with a sign change within the interval of the switch will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bmat, csc_matrix
from scipy.sparse.linalg import splu

from appell.errors import ModelError
from appell.graph.stopped_by_hand import SolverWatch
from appell.optimize.mesh_refinement import MOST_INTERVALS, beside_switches
from appell.optimize.on_mesh import MeshSolution, solve_on_mesh, variable_bounds
from appell.optimize.optimality_system import optimality_system
from appell.optimize.plan import MotionPlan
from appell.optimize.replanning import PlanSession
from appell.optimize.replay import node_times
from appell.optimize.transcription import PlannedPhase, Transcription
from appell.reading import items_of, name_in
from appell.spelling import did_you_mean

Array = NDArray[np.float64]

SWITCH_ROUNDS, SWITCH_PARTS = 6, 4
"""Rounds of refinement beside a switch, and parts per cut: 4⁶ leave about 1e-4 of the error of a coarse mesh."""


@dataclass(frozen=True, eq=False)
class PlanSensitivity:
    """Derivatives of the optimum with respect to parameters and start values, by symbol.

    objective: symbol → dJ*/dp. duration: symbol → dT/dp. values: symbol → (unknown → derivative).
    states: symbol → (k, nq + nv) at the times t (k,), at fixed fractions of the duration. Where inputs switch, t has more nodes
    than the plan.
    controls: symbol → (control → (k,)). Where bounds decide everything (bang–bang), only the objective has derivatives on a
    mesh: all others are NaN.
    """

    t: Array
    objective: Mapping[Any, float]
    duration: Mapping[Any, float]
    values: Mapping[Any, Mapping[Any, float]]
    states: Mapping[Any, Array]
    controls: Mapping[Any, Mapping[Any, Array]]


def plan_sensitivity(plan: MotionPlan, by: Any) -> PlanSensitivity:
    """See `MotionPlan.sensitivity`."""
    if not plan.ok:
        raise ModelError(f"the plan is not at a minimum, which has no derivatives: {plan.message}")
    session = plan.session
    names, request = session.model.shared.names, session.model.request
    keys = [by] if isinstance(by, str) or hasattr(by, "free_symbols") else items_of(by, "by=")
    places = {str(s): ("p", i) for i, s in enumerate(names) if s not in (*request.steered.inputs, *request.unknown)}
    places |= {str(s): ("z", i) for i, s in enumerate(request.states) if request.start.fixed[i]}
    implied = {str(request.states[i]) for i in np.flatnonzero(session.setting.ends[0].implied)}
    solver = _Linearised(session, *_at_switches(session))
    tables: list[dict[Any, Any]] = [{} for _ in range(5)]
    for key in keys:
        name = name_in(key)
        if name not in places:
            raise ModelError(
                f"by= names {name}, which is neither a given parameter nor a given start value{did_you_mean(name, places)}"
            )
        if name in implied:
            raise ModelError(f"by= names {name}, whose start value follows from the others by the constraints; it cannot vary")
        for table, value in zip(tables, solver.by(*places[name]), strict=True):
            table[key] = value
    return PlanSensitivity(node_times(solver.solution.planned, session.since), *tables)


def _at_switches(session: PlanSession) -> tuple[MeshSolution, tuple[Array, Array]]:
    """The plan on a mesh refined where inputs switch, with the bounds of its variables."""
    solution, bounds = session.solution, session.solver.bounds
    model, start, watch = session.model, solution.transcription.start_places(0), SolverWatch()
    p = solution.numbers[: len(model.shared.names) + 1 + model.shared.mobility.numel()]
    fixed_bounds = [bounds[0][start], bounds[1][start]], [float(bounds[0][0]), float(bounds[1][0])]
    for _ in range(SWITCH_ROUNDS):
        phases = solution.planned.phases
        finer = [_cut(phase, list(functions.graph.indices("u"))) for functions, phase in zip(model.phases, phases, strict=True)]
        count = sum(map(len, finer))
        if count == sum(len(phase.breaks) for phase in phases) or count > MOST_INTERVALS:
            break
        s = solution.transcription.s
        planned = replace(solution.planned, phases=tuple(phase.on(b, s) for phase, b in zip(phases, finer, strict=True)))
        transcription = Transcription(model, tuple(finer), s)
        limits = variable_bounds(transcription, session.setting.ends)
        for bound, at_start, duration in zip(limits, *fixed_bounds, strict=True):
            bound[transcription.start_places(0)], bound[0] = at_start, duration
        finer_solution = solve_on_mesh(transcription, planned, session.setting.ends, p, watch, solution, bounds=limits)
        if not finer_solution.ok:
            break
        solution, bounds = finer_solution, limits
    return solution, bounds


def _cut(phase: PlannedPhase, places: list[int]) -> Array:
    """Breaks of a mesh refined beside switches."""
    parts = np.where(beside_switches(phase, places), SWITCH_PARTS, 1)
    pairs = zip(phase.breaks[:-1], phase.breaks[1:], parts, strict=True)
    return np.append(np.concatenate([np.linspace(a, b, n, endpoint=False) for a, b, n in pairs]), 1.0)


class _Linearised:
    """The system of a plan at its optimum, factored."""

    def __init__(self, session: PlanSession, solution: MeshSolution, bounds: tuple[Array, Array]):
        self.session, self.solution, self.transcription = session, solution, solution.transcription
        system = optimality_system(solution, bounds)
        self.y, self.lam, self.A, self.H, self.free, self.active_rows = (
            system.y, system.lam, system.A, system.H, system.free, system.active_rows,
        )  # fmt: skip
        A = self.A[self.active_rows][:, self.free]
        self.solve = _factored(csc_matrix(bmat([[self.H[self.free][:, self.free], A.T], [A, None]])))

    def by(self, kind: str, i: int) -> tuple[Any, ...]:
        """dJ*, dT, values, states, controls for one parameter or start value."""
        program, n = self.solution.program, self.solution.program.n
        dy = np.zeros(n)
        if kind == "p":
            lagrangian, rows, cost = program.slopes_by(self.y, self.solution.numbers, self.lam, i)
            rate = cost + float(self.lam @ rows)
        else:
            index = self.transcription.start_places(0)[i]
            dy[index] = 1 / program.scales[index]
            lagrangian, rows = self.H @ dy, self.A @ dy
            gradient = np.array(program.gradient(self.y, self.solution.numbers)[1]).ravel() + self.A.T @ self.lam
            rate = float(gradient @ dy)
        right_side = -np.concatenate([lagrangian[self.free], rows[self.active_rows]])
        dy[self.free] += self.solve(right_side)[: len(self.free)]
        return self._read(rate / program.cost_scale, self.transcription, dy * program.scales)

    def _read(self, rate: float, transcription: Transcription, dx: Array) -> tuple[Any, ...]:
        request, changed = self.session.model.request, transcription.unpacked(dx)
        count = len(changed.phases)
        states = np.vstack(
            [changed.phases[0].first, *(phase.nodes[:, :, : phase.nz].reshape(-1, phase.nz) for phase in changed.phases)]
        )
        controls = {}
        for k, c in enumerate(request.steered.controls):
            value = request.steered.values[c]
            if value is not c:
                controls[c] = states[:, request.states.index(value)]
                continue
            places = [functions.graph.indices("u")[k] for functions in self.session.model.phases]
            nodes = [phase.nodes[:, :, at].ravel() for phase, at in zip(changed.phases, places, strict=True)]
            at_start = changed.phases[0].table.controls(np.zeros(1))[0] @ changed.phases[0].nodes[0, :, places[0]]
            controls[c] = np.concatenate([[at_start], *nodes])
        values = dict(zip(request.unknown, map(float, changed.unknown), strict=True))
        return rate, float(dx[:count].sum()), values, states, controls


def _factored(K: csc_matrix) -> Callable[[Array], Array]:
    """b → K⁻¹ b; NaN where K is singular, as at an optimum where every control is at a bound."""
    try:
        return splu(K).solve
    except RuntimeError:
        return lambda b: np.full(len(b), np.nan)


__all__ = ["PlanSensitivity", "plan_sensitivity"]
