"""The search for a plan: guesses, meshes that are refined, and the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.graph.algebra import depends
from appell.graph.stopped_by_hand import SolverWatch
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.manifold import find
from appell.optimize.end_states import EndState, end_state, independent_rows
from appell.optimize.first_guess import GuessedMotion, guessed, guessed_phase, input_limits, inside, shaken
from appell.optimize.goals import at
from appell.optimize.mesh_refinement import MOST_INTERVALS, mesh_errors, refined, state_sizes
from appell.optimize.on_mesh import MeshSolution, solve_on_mesh
from appell.optimize.plan import Attempt, ControlTable, MeshStep, MotionPlan
from appell.optimize.plan_model import PlanModel, plan_model
from appell.optimize.replay import Replay, node_times, replay
from appell.optimize.steering_request import EndConditions, SteeringRequest
from appell.optimize.transcription import PlannedMotion, Transcription, with_knots

Array = NDArray[np.float64]

NODES = 4
"""Nodes of an interval: order 7 at its ends, 5 between them, and polynomials of degree 3 for controls."""
FIRST_MESH = 8
MOST_MESHES = 9

WORDS = {
    "Solve_Succeeded": "a local minimum was found",
    "Solved_To_Acceptable_Level": "a local minimum was found, to fewer digits than asked for",
    "Infeasible_Problem_Detected": "no motion satisfies all conditions near this guess",
    "Maximum_Iterations_Exceeded": "the search did not settle",
    "Restoration_Failed": "no motion that satisfies all conditions was found from this guess",
    "User_Requested_Stop": "interrupted",
    "Not_Enough_Degrees_Of_Freedom": "there are more conditions than controls and unknowns can satisfy",
    "Invalid_Number_Detected": "a force, constraint or goal has no finite value along the guess",
    "Search_Direction_Becomes_Too_Small": "the search stalled",
    "Diverging_Iterates": "the search diverged: is the goal bounded from below?",
}
"""IPOPT's word → a sentence."""


@dataclass(frozen=True, eq=False)
class PlanSession:
    """A plan in numbers with its model: what reads controls between nodes."""

    model: PlanModel
    solution: MeshSolution

    def controls_at(self, times: Array) -> dict[Any, Array]:
        """Control → values at times, (k,)."""
        request, planned = self.model.request, self.solution.planned
        ends = request.since + np.cumsum([0.0, *(phase.duration for phase in planned.phases)])
        which = np.clip(np.searchsorted(ends, times, side="left") - 1, 0, len(planned.phases) - 1)
        found = {c: np.zeros(len(times)) for c in request.steered.controls}
        for k, (one, phase) in enumerate(zip(self.model.phases, planned.phases, strict=True)):
            here = which == k
            tau = np.clip((times[here] - ends[k]) / phase.duration, 0.0, 1.0)
            w = np.hstack([phase.states_at(tau), phase.rest_at(tau)]) if here.any() else np.zeros((0, one.graph.nw))
            for c, s in zip(request.steered.controls, request.steered.inputs, strict=True):
                value = request.steered.values[c]
                at = request.states.index(value) if value is not c else one.graph.place("u")[request.steered.inputs.index(s)]
                found[c][here] = w[:, at]
        return found


class PlanSearch:
    """One request, from its first guess to a plan."""

    def __init__(
        self, request: SteeringRequest, guess: Any, tolerance: float, seed: int, progress: bool | Callable[[int, float], None],
        options: Mapping[str, Any],
    ):  # fmt: skip
        self.request, self.guess, self.tolerance, self.options = request, guess, tolerance, dict(options)
        self.rng = np.random.default_rng(seed)
        self.told = progress is True
        self.watch = SolverWatch(progress if callable(progress) else None)

    # -- what is known before a mesh -----------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> Array:
        """All parameters of the system: inputs at their first guess."""
        request = self.request
        table = dict(request.parameters)
        limits = input_limits(request)
        table |= dict(zip(request.steered.inputs, inside(*limits.T), strict=True)) if len(limits) else {}
        return np.array([table[s] for s in request.system.parameters], dtype=float)

    @cached_property
    def form(self) -> NormalForm:
        return normal_form(self.request.system)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        if not self.form.rows:
            return ()
        states = find(self.form, self.numbers, seed=1, tries=3)
        nq, z = self.form.nq, np.where(self.request.start.fixed, self.request.start.lower, 0.0)
        return independent_rows(self.form, [*states, (self.request.since, z[:nq], z[nq:])], self.numbers)

    @cached_property
    def model(self) -> PlanModel:
        return plan_model(self.request, [(self.form, self.kept)], self.margins)

    @cached_property
    def ends(self) -> tuple[EndState, EndState]:
        request, form = self.request, self.form
        known = not request.unknown
        zero = np.array([s.start for s in request.states], dtype=float)
        low, high = request.start.lower, request.start.upper
        middle = np.where(
            np.isfinite(low) & np.isfinite(high),
            (np.where(np.isfinite(low), low, 0) + np.where(np.isfinite(high), high, 0)) / 2,
            zero,
        )
        first = end_state(request, form, self.kept, "start", middle, request.since, self.numbers, sure=known)
        fixed_time = request.duration[0] == request.duration[1]
        last = end_state(
            request, form, self.kept, "end", first.z, request.since + request.duration[1], self.numbers,
            sure=known and (fixed_time or not _rheonomic(form)),
        )  # fmt: skip
        return first, last

    @cached_property
    def margins(self) -> Array:
        """What walls are kept clear of, (faces,): a share of the distance at the nearer end, so that a plan that passes one
        closely does not touch it between two nodes."""
        if not self.request.system.unilateral:
            return np.zeros(0)
        nq, times = self.form.nq, (self.request.since, self.request.since + self.request.duration[1])
        distance = self.form.select("g")
        found = [distance(t, end.z[:nq], end.z[nq:], self.numbers)["g"] for t, end in zip(times, self.ends, strict=True)]
        return self.tolerance * np.maximum(np.min(found, axis=0), 0.0)

    # -- one attempt ---------------------------------------------------------------------------------------------------

    def begin(self, guess: GuessedMotion) -> PlannedMotion:
        """A guess on the first mesh."""
        request = self.request
        T = float(np.clip(guess.duration, *request.duration))
        wanted = [(x - request.since) / request.duration[0] for x in self.model.instants]
        breaks = with_knots(np.linspace(0, 1, FIRST_MESH + 1), wanted)
        phase = guessed_phase(self.model.phases[0].graph, guess, breaks, NODES, T, (0.0, 1.0), self.numbers, request.since)
        unknown = np.array([request.parameters[s] for s in request.unknown])
        return PlannedMotion((phase,), unknown, np.zeros(len(self.model.integrals)))

    @property
    def p(self) -> Array:
        return np.append(self.numbers, self.request.since)

    def attempt(self, guess: GuessedMotion) -> tuple[MeshSolution, list[MeshStep], Replay | None, str]:
        """From a guess through finer and finer meshes; the last plan, the meshes, its judgement, and what there is to say."""
        planned, steps, judged, coarser = self.begin(guess), [], None, None
        while True:
            breaks = tuple(phase.breaks for phase in planned.phases)
            transcription = Transcription(self.model, breaks, NODES)
            found = solve_on_mesh(transcription, planned, self.ends, self.p, self.watch, coarser)
            if not found.ok:
                steps.append(_step(found, np.inf))
                return found, steps, judged, WORDS.get(found.found.status, found.found.status)
            numbers = self._with_unknown(found.planned)
            missed = mesh_errors(transcription, found.planned, numbers, self.request.since, found.least)
            steps.append(_step(found, missed.largest))
            self._tell(steps[-1])
            settled = coarser is not None and abs(found.objective - coarser.objective) <= self._settled(found.objective)
            if missed.largest <= self.tolerance and settled:
                judged = replay(self.model, found.planned, self.tolerance, self.options, found.least)
                if judged.error <= self.tolerance:
                    return found, steps, judged, WORDS[found.found.status]
            if len(steps) >= MOST_MESHES or sum(map(len, breaks)) > MOST_INTERVALS or self.watch.interrupted:
                judged = judged or replay(self.model, found.planned, self.tolerance, self.options, found.least)
                why = _unsettled(judged, self.tolerance, settled)
                return found, steps, judged, f"{WORDS[found.found.status]}, but {why}" if why else WORDS[found.found.status]
            strict = self.tolerance * (0.1 if judged is not None else 1.0) ** len(
                [s for s in steps if s.error <= self.tolerance]
            )
            finer = [
                refined(b, e, r, strict, NODES, unsettled=not settled or judged is not None)
                for b, e, r in zip(breaks, missed.errors, missed.rough, strict=True)
            ]
            planned = PlannedMotion(
                tuple(phase.on(b, NODES) for phase, b in zip(found.planned.phases, finer, strict=True)),
                found.planned.unknown, found.planned.integrals,
            )  # fmt: skip
            coarser = found

    def _settled(self, objective: float) -> float:
        return self.tolerance * max(abs(objective), 1e-9)

    def _with_unknown(self, planned: PlannedMotion) -> Array:
        numbers = self.numbers.copy()
        for s, value in zip(self.request.unknown, planned.unknown, strict=True):
            numbers[self.request.system.parameters.index(s)] = value
        return numbers

    def _tell(self, step: MeshStep) -> None:
        if self.told:
            from rich import print as show

            found = f"objective {step.objective:.9g}, error {step.error:.1e}, {step.iterations} iterations"
            show(f"{step.intervals} intervals: {found}")

    # -- all attempts --------------------------------------------------------------------------------------------------

    def plan(self, attempts: int) -> MotionPlan:
        """The best of some attempts."""
        first = guessed(self.request, self.guess, self.ends[0].z, self.ends[1].z, self.form, self.numbers)
        best, tried = None, []
        with self.watch:
            for k in range(attempts):
                guess = first if k == 0 else shaken(first, self.rng, self.request.duration, input_limits(self.request))
                found, steps, judged, message = self.attempt(guess)
                ok = found.ok and judged is not None and judged.error <= self.tolerance and not self.watch.interrupted
                tried.append(Attempt(ok, found.objective, message))
                better = best is None or (ok and not best[4]) or (ok == best[4] and found.objective < best[0].objective)
                best = (found, steps, judged, message, ok) if better else best
                if self.watch.interrupted:
                    break
        assert best is not None
        return self._finished(*best, tried)

    def _nearest_end(self) -> str:
        """A sentence about the end that a plan comes nearest to, where the one asked for was not reached."""
        request = self.request
        fixed = [i for i in range(len(request.states)) if request.end.fixed[i]]
        if not fixed or self.watch.interrupted:
            return ""
        sizes = state_sizes([self.ends[0].z[None], self.ends[1].z[None]], self.form.nq)
        misses = [(at(request.states[i], "end") - float(request.end.lower[i])) / float(sizes[i]) for i in fixed]
        low, high = request.end.lower.copy(), request.end.upper.copy()
        low[fixed], high[fixed] = -np.inf, np.inf
        objective = sympy.Add(*(miss**2 for miss in misses))
        other = PlanSearch(
            replace(request, objective=objective, end=EndConditions(low, high)), self.guess, 1e-3, 0, False, self.options
        )
        first = guessed(request, self.guess, self.ends[0].z, self.ends[1].z, self.form, self.numbers)
        planned = other.begin(first)
        transcription = Transcription(other.model, tuple(phase.breaks for phase in planned.phases), NODES)
        found = solve_on_mesh(transcription, planned, other.ends, other.p, self.watch)
        last = found.planned.phases[-1].nodes[-1, -1]
        missed = [(abs(last[i] - request.end.lower[i]) / sizes[i], i) for i in fixed]
        share, i = max(missed)
        if not found.ok or not share > 1e-4:
            return ""
        return f"; the end is out of reach: {request.states[i]} comes to {last[i]:.4g} at best, not {request.end.lower[i]:g}"

    def _finished(
        self, found: MeshSolution, steps: list[MeshStep], judged: Replay | None, message: str, ok: bool, tried: list[Attempt]
    ) -> MotionPlan:
        if judged is None:
            try:
                judged = replay(self.model, found.planned, self.tolerance, self.options, found.least)
            except AppellError as error:  # what was reached may not be simulated at all
                message = f"{message}; it cannot be simulated: {error}"
        if not found.ok and found.found.status != "Not_Enough_Degrees_Of_Freedom":
            message = f"{message}{self._nearest_end()}"
        session = PlanSession(self.model, found)
        t = node_times(found.planned, self.request.since)
        controls = ControlTable(session.controls_at(t))
        values = dict(zip(self.request.unknown, map(float, found.planned.unknown), strict=True))
        if self.watch.interrupted:
            message, ok = message if "interrupted" in message else f"interrupted; {message}", False
        return MotionPlan(
            self.request.given, ok, message, found.objective, found.planned.duration,
            None if judged is None else judged.motion, None if judged is None else judged.simulated, controls, values,
            np.inf if judged is None else judged.error, tuple(steps), tuple(tried), t, session,
        )  # fmt: skip


def _step(found: MeshSolution, error: float) -> MeshStep:
    count = sum(len(breaks) - 1 for breaks in found.transcription.breaks)
    return MeshStep(count, found.objective, error, found.found.iterations, found.found.status)


def _unsettled(judged: Replay, tolerance: float, settled: bool) -> str:
    """What speaks against a plan on the finest mesh."""
    if not judged.error <= tolerance:
        return f"the simulated motion is {judged.error:.2g} from the plan ({judged.worst}), more than tolerance={tolerance:g}"
    return "" if settled else "the objective still changes from mesh to mesh"


def _rheonomic(form: NormalForm) -> bool:
    return any(depends(form[name], form.inputs["t"]) for name in ("f0", "f1"))


__all__ = ["PlanSearch", "PlanSession"]
