"""The search for a plan: guesses, mesh refinement, and the check by simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.graph.stopped_by_hand import SolverWatch
from appell.optimize.between_nodes import Excess, excesses, messages_between_nodes, stepped_over
from appell.optimize.first_guess import GuessedMotion, input_limits, shaken
from appell.optimize.goals import at
from appell.optimize.lost_inertia import lost_inertia, negative_inertia
from appell.optimize.mesh_refinement import MOST_INTERVALS, MeshErrors, mesh_errors, refined
from appell.optimize.missed_relations import worst_relation
from appell.optimize.on_mesh import MeshSolution, shortest_phase, solve_on_mesh, variable_bounds
from appell.optimize.optimality_system import downward
from appell.optimize.plan import Attempt, ControlTable, MeshStep, MotionPlan
from appell.optimize.plan_setting import MESH_NODES, PlanSetting
from appell.optimize.replanning import PlanSession, missed_end
from appell.optimize.replay import Replay, node_times, replay
from appell.optimize.state_sizes import StateSizes, by_inertia
from appell.optimize.steering_request import EndConditions
from appell.optimize.transcription import PlannedMotion, Transcription

Array = NDArray[np.float64]

MORE_GUESSES = 2
"""Further guesses tried in any case if the first one fails: it may lie on a symmetry that no gradient leaves."""
MOST_MESHES, BOUND_MESHES = 9, 3
"""Meshes of an attempt, and further ones if only bounds of states between nodes are exceeded: few intervals are cut."""

FINER_FIRST = 5
"""Parts into which the intervals of the first mesh are cut if it fails from a given guess."""

LOST = {"Infeasible_Problem_Detected", "Restoration_Failed", "Invalid_Number_Detected", "Error_In_Step_Computation"}
"""IPOPT's exit statuses after which another guess is worth a try."""

MOST_SADDLES, STEP_ASIDE = 3, 0.3
"""Maxima and saddles that an attempt leaves, and the step from them, as a fraction of the sizes of variables."""

TORN, TORN_MESHES = 0.5, 3
"""Relative error of a mesh above which the motion jumps between branches of the rows; finer meshes do not help."""
FALLING = 0.3
"""On a new mesh the error of a motion without jumps falls to this fraction at most."""
STIFFER = 1e3
"""Factor of the weight of slacks after a motion with jumps: the goal was larger than its gradient at the guess suggested."""


@dataclass(frozen=True, eq=False)
class AttemptedPlan:
    """The result of one guess: the last mesh with its plan, all meshes, the replay, how it ended, whether it succeeded.

    massless: whether unknowns take the inertia away, so that nothing can be simulated.
    """

    guess: GuessedMotion
    solution: MeshSolution
    steps: list[MeshStep]
    replayed: Replay | None
    message: str
    ok: bool
    doubts: tuple[str, ...] = ()
    massless: bool = False

    @property
    def calls_for_another_guess(self) -> bool:
        """Whether another guess is worth a try."""
        if self.massless:
            return False
        return self.steps[-1].error > TORN if self.solution.ok else self.solution.output.status in LOST

    @property
    def infeasibility(self) -> float:
        """The distance from a valid plan: the error of the replay or, where rows are violated, their violation."""
        return (0.0 if self.replayed is None else self.replayed.error) if self.solution.ok else 1e3 + self.solution.residual


class PlanSearch:
    """One request, from its first guess to a plan."""

    def __init__(
        self, setting: PlanSetting, seed: int, progress: bool | Callable[[int, float], None], options: Mapping[str, Any]
    ):
        self.setting, self.request, self.tolerance, self.options = setting, setting.request, setting.tolerance, dict(options)
        self.rng = np.random.default_rng(seed)
        self.prints_progress = progress is True
        self.watch = SolverWatch(progress if callable(progress) else None)

    # -- one attempt ---------------------------------------------------------------------------------------------------

    def attempt(self, guess: GuessedMotion, stiffness: float = 1.0) -> AttemptedPlan:
        """One attempt: from a guess through successively finer meshes."""
        planned, steps, judged, coarser, meshes = self.setting.begin(guess), [], None, None, []
        while True:
            breaks = tuple(phase.breaks for phase in planned.phases)
            transcription = Transcription(self.setting.model, breaks, MESH_NODES)
            solution = solve_on_mesh(transcription, planned, self.setting.ends, self.setting.p, self.watch, coarser, stiffness)
            if coarser is None:
                solution = self._downhill(solution, stiffness)
            meshes.append((solution.planned, solution.objective))
            massless = lost_inertia(self.setting, meshes)
            if massless:
                steps.append(_step(solution, np.inf))
                message = f"{solution.outcome}, but {massless}" if solution.ok else f"{solution.outcome}; {massless}"
                return AttemptedPlan(guess, solution, steps, judged, message, False, massless=True)
            if not solution.ok:
                steps.append(_step(solution, np.inf))
                retry = guess is self.setting.line and len(steps) == 1 and not solution.unbounded
                if retry and not self.watch.interrupted:
                    planned = self.setting.begin(guess, FINER_FIRST)  # the path may be too complex for the first mesh
                    continue
                return AttemptedPlan(guess, solution, steps, judged, solution.outcome, False)
            numbers = self._with_unknown(solution.planned)
            errors = mesh_errors(transcription, solution.planned, numbers, self.request.since, solution.states)
            steps.append(_step(solution, errors.largest))
            self._report(steps[-1])
            violations = [excess for excess in excesses(solution) if excess.largest > self.tolerance]
            state_violation = next((violation for violation in violations if violation.of_states), None)
            settled = coarser is not None and abs(solution.objective - coarser.objective) <= self._objective_tolerance(solution)
            current = None
            if errors.remaining <= self.tolerance and settled:
                current = replay(self.setting.model, solution.planned, self.tolerance, self.options, solution.states)
                judged = current if errors.largest <= self.tolerance else judged
                thin = stepped_over(solution, current.motion, self.tolerance) if state_violation is None else []
                violations, state_violation = [*thin, *violations], thin[0] if thin else state_violation
                if current.error <= self.tolerance and state_violation is None:
                    return self._with_ends_checked(
                        AttemptedPlan(
                            guess, solution, steps, current, solution.outcome, True, self._doubts(solution, violations)
                        )
                    )
            torn = len(steps) >= TORN_MESHES and errors.remaining > max(TORN, FALLING * steps[-2].error)
            within_tolerance = current is not None and current.error <= self.tolerance  # bounds between nodes alone are missed
            most_meshes = MOST_MESHES + BOUND_MESHES * within_tolerance
            if torn or len(steps) >= most_meshes or sum(map(len, breaks)) > MOST_INTERVALS or self.watch.interrupted:
                judged = current or replay(self.setting.model, solution.planned, self.tolerance, self.options, solution.states)
                reason = judged.against(self.tolerance)
                if state_violation is not None and not judged.error > self.tolerance:
                    reason = self._doubts(solution, [state_violation])[0]
                return AttemptedPlan(
                    guess,
                    solution,
                    steps,
                    judged,
                    f"{solution.outcome}, but {reason}",
                    False,
                    self._doubts(solution, violations),
                )
            retry = judged is not None and judged.error > self.tolerance
            mesh_tolerance = self.tolerance * (0.1 if retry else 1.0) ** len(
                [step for step in steps if step.error <= self.tolerance]
            )
            planned = _on_finer_mesh(solution, breaks, errors, violations, mesh_tolerance, unsettled=not settled or retry)
            coarser = solution

    def _downhill(self, solution: MeshSolution, stiffness: float) -> MeshSolution:
        """A solution on the same mesh with a lower objective, if this one is a maximum or a saddle; otherwise the same one."""
        for _ in range(MOST_SADDLES):
            if not solution.ok or self.watch.interrupted or not (solution.unsure or solution.flat):
                break
            candidates = (
                solve_on_mesh(solution.transcription, guess, self.setting.ends, self.setting.p, self.watch, None, stiffness)
                for guess in self._guesses_near(solution)
            )
            target = solution.objective - self._objective_tolerance(solution)
            better = next((candidate for candidate in candidates if candidate.ok and candidate.objective < target), None)
            if better is None:
                break
            solution = better
        return solution

    def _guesses_near(self, solution: MeshSolution) -> Iterator[PlannedMotion]:
        """Guesses near a stationary point, where the goal may be lower: in a direction of negative curvature, or anywhere if
        the goal has neither slopes nor curvatures, as −x⁴ at x = 0."""
        transcription, x = solution.transcription, solution.output.x
        bounds = variable_bounds(transcription, self.setting.ends)
        direction = downward(solution, bounds) if solution.unsure else None
        if direction is not None:
            for sign in (1.0, -1.0):
                yield transcription.unpacked(np.clip(x + sign * STEP_ASIDE * direction, *bounds))
        elif solution.flat:
            perturbed = self.setting.begin(self._shaken(solution))
            phases = zip(perturbed.phases, transcription.breaks, strict=True)
            yield replace(perturbed, phases=tuple(phase.on(b, MESH_NODES) for phase, b in phases))

    def _doubts(self, solution: MeshSolution, violations: list[Excess]) -> tuple[str, ...]:
        return messages_between_nodes(solution, violations, self.tolerance)

    def _objective_tolerance(self, solution: MeshSolution) -> float:
        """The change of the objective that counts as none, relative to it, or to the size of the cost where it is near zero."""
        return self.tolerance * max(abs(solution.objective), 1e-9 * solution.sizes.cost)

    def _with_unknown(self, planned: PlannedMotion) -> Array:
        numbers = self.setting.numbers.copy()
        for s, value in zip(self.request.unknown, planned.unknown, strict=True):
            numbers[self.request.system.parameters.index(s)] = value
        return numbers

    def _report(self, step: MeshStep) -> None:
        if self.prints_progress:
            from rich import print as show

            summary = f"objective {step.objective:.9g}, error {step.error:.1e}, {step.iterations} iterations"
            show(f"{step.intervals} intervals: {summary}")

    # -- all attempts --------------------------------------------------------------------------------------------------

    def plan(self, attempts: int) -> MotionPlan:
        """The best of some attempts."""
        tried: list[AttemptedPlan] = []
        with self.watch:
            while not self.watch.interrupted:
                first = not tried
                guess = self.setting.line if first else self._shaken(tried[0].solution)
                torn = [attempt for attempt in tried if attempt.solution.ok and attempt.calls_for_another_guess]
                tried.append(self.attempt(guess, STIFFER ** len(torn)))
                lost = not any(attempt.ok for attempt in tried) and tried[-1].calls_for_another_guess
                if len(tried) >= max(attempts, 1 + MORE_GUESSES if lost else 1):
                    break
            best = min(
                tried,
                key=lambda attempt: (not attempt.ok, 0.0 if attempt.ok else attempt.infeasibility, attempt.solution.objective),
            )
            return self._motion_plan(
                best, [Attempt(attempt.ok, attempt.solution.objective, attempt.message) for attempt in tried]
            )

    def _shaken(self, solution: MeshSolution) -> GuessedMotion:
        """A perturbed guess; solution: that from the first guess, which gives the sizes of the variables."""
        line, transcription, scales = self.setting.line, solution.transcription, solution.program.scales
        natural = by_inertia(np.abs(line.states).max(axis=0), solution.sizes.roots, self.setting.nq)
        states = np.where(natural > 0, natural, scales[transcription.start_places(0)])
        inputs = scales[transcription.part(0, "u")[0]]
        return shaken(line, self.rng, self.request.duration, input_limits(self.request), (states, inputs))

    def _with_ends_checked(self, attempt: AttemptedPlan) -> AttemptedPlan:
        """Rejects a plan if an end value that was left to the rows, because they imply it, differs from the given one."""
        reason = missed_end(self.request, attempt.solution)
        return replace(attempt, ok=False, message=f"{attempt.message}, but {reason}") if reason else attempt

    def _nearest_end(self, guess: GuessedMotion, states: StateSizes) -> str:
        """A message on the nearest end that can be reached, where the requested one was not."""
        request = self.request
        fixed = [i for i in range(len(request.states)) if request.end.fixed[i]]
        if not fixed or self.watch.interrupted:
            return ""
        sizes = states.over([end.z[None] for end in self.setting.ends])
        misses = [(at(request.states[i], "end") - float(request.end.lower[i])) / float(sizes[i]) for i in fixed]
        low, high = request.end.lower.copy(), request.end.upper.copy()
        low[fixed], high[fixed] = -np.inf, np.inf
        objective = sympy.Add(*(miss**2 for miss in misses))
        relaxed = replace(request, objective=objective, end=EndConditions(low, high))
        setting = replace(self.setting, request=relaxed, tolerance=1e-3)
        planned = setting.begin(guess)
        transcription = Transcription(setting.model, tuple(phase.breaks for phase in planned.phases), MESH_NODES)
        solution = solve_on_mesh(transcription, planned, setting.ends, setting.p, self.watch)
        final = solution.planned.phases[-1].nodes[-1, -1]
        distances = [(abs(final[i] - request.end.lower[i]) / sizes[i], i) for i in fixed]
        share, i = max(distances)
        if not solution.ok or not share > 1e-4:  # so near, the end is not what the search failed at
            return ""
        s, target = request.states[i], request.end.lower[i]
        return f"; {s} comes to {final[i]:.4g}, not {target:g}, in what was found nearest to the end"

    def _needless_phases(self, solution: MeshSolution) -> str:
        """A message on phases that shrink to nothing in the plan."""
        phases = solution.planned.phases
        shortest = shortest_phase(self.request, len(phases))
        short = [k for k, phase in enumerate(phases) if len(phases) > 1 and phase.duration < 1.01 * shortest]
        numbers = ", ".join(f"{k + 1} {self.setting.phases[k].text}" for k in short)
        if not short:
            return ""
        noun, verb = ("phase", "it lasts") if len(short) == 1 else ("phases", "they last")
        return f"; a plan without {noun} {numbers} may be better: {verb} {shortest:.2g} s, as short as a phase can be"

    def _motion_plan(self, best: AttemptedPlan, tried: list[Attempt]) -> MotionPlan:
        solution, judged, message, ok = best.solution, best.replayed, best.message, best.ok
        if judged is None and not best.massless:
            try:
                judged = replay(self.setting.model, solution.planned, self.tolerance, self.options, solution.states)
            except AppellError as error:  # an unfinished plan may be impossible to simulate
                message = f"{message}; it cannot be simulated: {error}"
        if not solution.ok and not best.massless and solution.output.status != "Not_Enough_Degrees_Of_Freedom":
            nearest = self._nearest_end(best.guess, solution.states)
            message = f"{message}{nearest or worst_relation(self.setting.model, solution.planned)}"
        message = f"{message}{self._needless_phases(solution)}"
        negative = "" if ok else negative_inertia(self.setting, solution.planned)
        message = f"{message}; {negative}" if negative and not best.massless else message
        session = PlanSession(self.setting, solution, self.options)
        t = node_times(solution.planned, self.request.since)
        controls = ControlTable(session.controls_at(t))
        values = dict(zip(self.request.unknown, map(float, solution.planned.unknown), strict=True))
        if self.watch.interrupted:
            message, ok = message if "interrupted" in message else f"interrupted; {message}", False
        return MotionPlan(
            self.request.original, ok, message, solution.objective, solution.planned.duration,
            None if judged is None else judged.motion, None if judged is None else judged.simulated, controls, values,
            np.inf if judged is None else judged.error, tuple(best.steps), tuple(tried), t, session, best.doubts,
        )  # fmt: skip


def _on_finer_mesh(
    solution: MeshSolution, breaks: Sequence[Array], errors: MeshErrors, violations: Sequence[Excess], tolerance: float,
    *, unsettled: bool,
) -> PlannedMotion:  # fmt: skip
    """A solution on a mesh that is finer where it misses equations or bounds of states; unsettled: its objective changes."""
    exceeded = [
        np.max([violation.violations[k] for violation in violations if violation.of_states] or [np.zeros(len(b) - 1)], axis=0)
        for k, b in enumerate(breaks)
    ]
    finer = [
        refined(b, e, r, tolerance, MESH_NODES, unsettled=unsettled, exceeded=x)
        for b, e, r, x in zip(breaks, errors.errors, errors.rough, exceeded, strict=True)
    ]
    planned = solution.planned
    phases = tuple(phase.on(b, MESH_NODES) for phase, b in zip(planned.phases, finer, strict=True))
    return PlannedMotion(phases, planned.unknown, planned.integrals, planned.impulses)


def _step(solution: MeshSolution, error: float) -> MeshStep:
    count = sum(len(breaks) - 1 for breaks in solution.transcription.breaks)
    return MeshStep(count, solution.objective, error, solution.output.iterations, solution.output.status)


__all__ = ["PlanSearch"]
