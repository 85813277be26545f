"""One plan on one mesh: bounds and scales of its variables, and IPOPT."""

from __future__ import annotations

from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.graph.node_program import NodeProgram, NodeSolution
from appell.graph.stopped_by_hand import SolverWatch
from appell.optimize.end_states import EndState
from appell.optimize.state_sizes import StateSizes
from appell.optimize.steering_request import SteeringRequest
from appell.optimize.transcription import PlannedMotion, Transcription
from appell.optimize.variable_sizes import variable_sizes

Array = NDArray[np.float64]

OPTIONS: dict[str, Any] = {
    "tol": 1e-11,  # of the scaled program: the remaining barrier changes an objective by about a hundred times this
    "constr_viol_tol": 1e-12,
    "dual_inf_tol": 1e-6,
    "compl_inf_tol": 1e-10,
    "acceptable_tol": 1e-8,
    "acceptable_constr_viol_tol": 1e-10,
    "acceptable_iter": 12,
    "bound_relax_factor": 0.0,  # bounds are exact
    "max_iter": 1500,
    "nlp_scaling_method": "none",  # rows and variables are scaled here
    "mu_strategy": "adaptive",
}

WARM: dict[str, Any] = {
    "mu_strategy": "monotone",
    "mu_init": 1e-6,  # bounds that were active on the coarser mesh are active again
    "warm_start_init_point": "yes",
    "warm_start_bound_push": 1e-8,
    "warm_start_bound_frac": 1e-8,
    "warm_start_slack_bound_push": 1e-8,
    "warm_start_slack_bound_frac": 1e-8,
    "warm_start_mult_bound_push": 1e-8,
}
"""Further options for a warm start from the plan on another mesh."""

QUIET = 1e-4
"""Weight of the roughness of inputs relative to the cost: where inputs jump, the objective changes by its square."""

REACHED = {"Solve_Succeeded", "Solved_To_Acceptable_Level"}

OUTCOMES = {
    "Solve_Succeeded": "a local minimum was found",
    "Solved_To_Acceptable_Level": "a local minimum was found, to fewer digits than asked for",
    "Infeasible_Problem_Detected": "no motion satisfies all conditions near this guess",
    "Maximum_Iterations_Exceeded": "the search did not settle",
    "Restoration_Failed": "no motion that satisfies all conditions was found from this guess",
    "User_Requested_Stop": "interrupted",
    "Not_Enough_Degrees_Of_Freedom": "there are more conditions than controls and unknowns can satisfy",
    "Invalid_Number_Detected": "a force, constraint or goal has no finite value along the guess",
    "Search_Direction_Becomes_Too_Small": "the search stalled",
    "Error_In_Step_Computation": "the search broke off: are goal, forces and constraints smooth? (Abs, Max and sign are not)",
    "Diverging_Iterates": "the search diverged: is the goal bounded from below?",
}
"""IPOPT's exit status → a message."""

STALLED_STATUSES = {
    "Search_Direction_Becomes_Too_Small",
    "Error_In_Step_Computation",
    "Maximum_Iterations_Exceeded",
    "Restoration_Failed",
}
"""IPOPT's exit statuses with which it may be at a minimum without reaching the last digits."""
UNBOUNDED_GOAL = 1e15
"""An objective below minus this, times its size near the guess, without convergence is taken as unbounded."""
POLE = 1e6
"""The size of the cost near a guess counts up to this multiple of that at the guess: there may be a pole nearby."""
VANISHING_SLOPE = 1e-14
"""The size of the cost at a guess is rounding below this fraction of that near the guess."""
GOOD_ENOUGH = 1e-5
"""Accepted gradient of the scaled Lagrangian; the error of the objective is its square."""
FLAT_GOAL = 1e-9
"""Derivatives of a scaled cost, whose size near a guess is `SCALED_COST`, that are zero."""


LEAST_PLANNED_PHASE = 1e-4
"""The shortest phase, as a fraction of the mean one."""


@dataclass(frozen=True, eq=False)
class SolutionSizes:
    """Roots of the inertias of the states, (nz,), and the size of the cost."""

    roots: Array
    cost: float


@dataclass(frozen=True, eq=False)
class MeshSolution:
    """The solution on a mesh: the plan in numbers, objective, IPOPT's exit status, relative violation of the rows.

    numbers: p of the program: parameters, t_0, mobilities, weights. unsure: whether IPOPT took no step, or its last step needed
    a Hessian that was made convex: it may have ended at a maximum or a saddle.
    """

    transcription: Transcription
    program: NodeProgram
    planned: PlannedMotion
    output: NodeSolution
    objective: float
    residual: float
    numbers: Array
    sizes: SolutionSizes
    unsure: bool = False

    @property
    def ok(self) -> bool:
        stalled_at_minimum = (
            self.output.status in STALLED_STATUSES and self.output.last_residual <= GOOD_ENOUGH and self.residual <= 1e-10
        )
        return self.output.status in REACHED or stalled_at_minimum

    @property
    def since(self) -> float:
        """The time of the start, s; `plan.again` may have moved it."""
        return float(self.numbers[len(self.transcription.model.shared.names)])

    @property
    def unbounded(self) -> bool:
        """Whether the goal seems to have no lower bound."""
        return not self.ok and self.objective < -UNBOUNDED_GOAL * self.sizes.cost

    @property
    def outcome(self) -> str:
        """How the search ended, as text."""
        status = self.output.status
        if self.unbounded:
            status = "Diverging_Iterates"
        return OUTCOMES.get("Solved_To_Acceptable_Level" if self.ok and status not in REACHED else status, status)

    @property
    def flat(self) -> bool:
        """Whether the first and second derivatives of the objective by all variables vanish."""
        unweighted, y, program = (
            _without_weights(self.transcription, self.numbers), self.output.x / self.program.scales, self.program,
        )  # fmt: skip
        small = lambda values: float(np.abs(np.array(values)).max(initial=0.0)) <= FLAT_GOAL
        return small(program.gradient(y, unweighted)[1]) and small(
            program.curvature(y, unweighted, 1.0, np.zeros(program.m)).nz[:]
        )

    @property
    def states(self) -> StateSizes:
        """The data for the sizes of the states."""
        least = 1e-5 * self.program.scales[self.transcription.start_places(0)]  # smaller states are solver noise
        return StateSizes(self.transcription.model.phases[0].graph.form.nq, least, self.sizes.roots)

    @property
    def state_sizes(self) -> Array:
        """Sizes of the states along the plan, (nz,)."""
        return self.states.over([phase.states.reshape(-1, phase.nz) for phase in self.planned.phases])


def shortest_phase(request: SteeringRequest, count: int) -> float:
    """The shortest duration of one of several phases, s: a phase of zero duration has no rates."""
    return LEAST_PLANNED_PHASE * request.duration[1] / count


def phase_durations(request: SteeringRequest, count: int) -> Array:
    """Bounds of the durations of phases, (count, 2), s."""
    if count == 1:
        return np.array([request.duration])
    limits = np.tile([shortest_phase(request, count), request.duration[1]], (count, 1))
    for k, (shortest, longest) in enumerate(request.phase_durations):
        limits[k] = max(limits[k, 0], shortest), min(limits[k, 1], longest)
    return limits


def variable_bounds(transcription: Transcription, ends: tuple[EndState, EndState]) -> tuple[Array, Array]:
    """Bounds of x."""
    model, request = transcription.model, transcription.model.request
    low, high = np.full(transcription.n, -np.inf), np.full(transcription.n, np.inf)
    count = len(model.phases)
    low[:count], high[:count] = phase_durations(request, count).T
    for k, s in enumerate(request.unknown):
        low[count + k], high[count + k] = request.bounds.get(s, (-np.inf, np.inf))
    for phase, functions in enumerate(model.phases):
        graph = functions.graph
        symbols = [*request.states, *request.system.accelerations]
        symbols += [graph.form.rows[i].constraint.multiplier for i in graph.independent_rows] + list(graph.inputs)
        places = transcription.node_places(phase)
        for s, pair in request.bounds.items():
            if s in symbols:
                at = places[:, symbols.index(s)]
                low[at], high[at] = pair
                if symbols.index(s) < graph.nz and phase == 0:
                    at = transcription.start_places(0)[symbols.index(s)]
                    low[at], high[at] = pair
    for name, places, conditions, end in (
        ("start", transcription.start_places(0), request.start, ends[0]),
        ("end", transcription.node_places(count - 1)[-1][: model.phases[-1].graph.nz], request.end, ends[1]),
    ):
        independent = ~end.implied
        low[places] = np.maximum(low[places], np.where(independent, conditions.lower, -np.inf))
        high[places] = np.minimum(high[places], np.where(independent, conditions.upper, np.inf))
        if (low[places] > high[places]).any():
            s = request.states[int(np.argmax(low[places] > high[places]))]
            raise ModelError(f"bounds= exclude the {name}: nothing is left for {s}")
    return low, high


def solve_on_mesh(
    transcription: Transcription, guess: PlannedMotion, ends: tuple[EndState, EndState], p: Array, watch: SolverWatch,
    coarser: MeshSolution | None = None, stiffness: float = 1.0, bounds: tuple[Array, Array] | None = None,
) -> MeshSolution:  # fmt: skip
    """The plan on a mesh from a guess.

    p: parameters, t_0 and mobilities; coarser: the plan on another mesh, from which the guess comes; stiffness: factor of the
    weight of slacks; bounds: of x, where they differ from those of the request.
    """
    bounds = variable_bounds(transcription, ends) if bounds is None else bounds
    x = np.clip(transcription.packed(guess), *bounds)
    graph = transcription.model.phases[0].graph
    unweighted = np.append(p, np.zeros(graph.nz + len(graph.inputs)))
    variables = variable_sizes(transcription, guess, bounds, unweighted)
    x[transcription.shared - len(variables.integrals) : transcription.shared], scales = variables.integrals, variables.scales
    program = transcription.program(scales)
    sizes, T = scales[transcription.start_places(0)], guess.duration
    size = cost_size(program, x, unweighted)
    inputs = scales[transcription.part(0, "u")[0]]
    numbers = np.concatenate([p, stiffness * size * T / sizes**2, QUIET * size / T / inputs**2])
    program = program.balanced(x, numbers, size)
    dual = (
        None if coarser is None else coarser.transcription.dual_on(transcription, (coarser.output.rows, coarser.output.bounds))
    )
    for warm in (False,) if dual is None else (True, False):  # if a warm start fails, a cold one follows
        solver = program.solver(OPTIONS | (WARM if warm else {}), watch)
        output = solved(program, solver, x, numbers, bounds, transcription.row_bounds(), dual if warm else None)
        solution = solution_of(transcription, program, output, numbers, SolutionSizes(variables.roots, size))
        solution = replace(solution, unsure=_unsure(solver))
        if solution.ok or watch.interrupted:
            break
    return solution


def solved(
    program: NodeProgram, solver: Any, x: Array, numbers: Array, bounds: tuple[Array, Array], rows: tuple[Array, Array],
    dual: tuple[Array, Array] | None = None,
) -> NodeSolution:  # fmt: skip
    """`NodeProgram.solve` without the warning that CasADi prints if there are more equations than variables: those that hold at
    given ends are no mistake, and IPOPT's exit status reports the others."""
    crowded = sum(int((low == high).sum()) for low, high in (rows, bounds)) > program.n
    with redirect_stderr(StringIO()) if crowded else nullcontext():
        return program.solve(solver, x, numbers, bounds, rows, dual)


def _unsure(solver: Any) -> bool:
    """Whether IPOPT took no step, or had to make the Hessian of its last step convex."""
    regularization = (solver.stats().get("iterations") or {}).get("regularization_size") or [0.0]
    return len(regularization) == 1 or regularization[-1] > 0


def solution_of(
    transcription: Transcription, program: NodeProgram, found: NodeSolution, numbers: Array, sizes: SolutionSizes
) -> MeshSolution:
    """The solution from the solver's output; the objective is computed without the terms for slacks and rough inputs."""
    unweighted = _without_weights(transcription, numbers)
    violation, objective = _violation(transcription, program, found.x, unweighted), program.objective(found.x, unweighted)
    return MeshSolution(transcription, program, transcription.unpacked(found.x), found, objective, violation, numbers, sizes)


def _without_weights(transcription: Transcription, numbers: Array) -> Array:
    """p of a program without the weights of slacks and rough inputs."""
    graph, p = transcription.model.phases[0].graph, numbers.copy()
    p[len(numbers) - graph.nz - len(graph.inputs) :] = 0.0
    return p


def cost_size(program: NodeProgram, x: Array, p: Array) -> float:
    """The size of the cost: Σ|∂J/∂y| near a guess, y of size 1; 1 where that is not available.

    At the guess itself it may vanish; near it, it may be far too large (a pole). The median over a few points is taken.
    """
    rng, sizes = np.random.default_rng(0), []
    for shift in (0.0, 0.3, 0.3, 0.3):
        y = x / program.scales + shift * rng.uniform(-1, 1, program.n)
        sizes.append(float(np.abs(np.array(program.gradient(y, p)[1])).sum()))
    usable = [size for size in sizes if np.isfinite(size) and size > 0]
    if not usable:
        return 1.0
    nearby = float(np.median([size for size in sizes[1:] if np.isfinite(size) and size > 0] or usable))
    vanishes = usable[0] != sizes[0] or usable[0] < VANISHING_SLOPE * nearby
    return nearby if vanishes else max(usable[0], min(nearby, POLE * usable[0]))


def _violation(transcription: Transcription, program: NodeProgram, x: Array, p: Array) -> float:
    """The largest violation of a row, relative to the row's largest derivative times the size of its variables."""
    g, (low, high) = program.residuals(x, p), transcription.row_bounds()
    return float((np.maximum(np.maximum(low - g, g - high), 0.0) * program.row_scales).max(initial=0.0))


__all__ = [
    "MeshSolution", "SolutionSizes", "phase_durations", "shortest_phase", "solution_of", "solve_on_mesh", "solved",
    "variable_bounds",
]  # fmt: skip
