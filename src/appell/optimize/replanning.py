"""Replanning from another start, with other parameters or another horizon: one warm solve on the same mesh.

Program, derivatives and solver are built once; the next plan is a few Newton steps away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, ModelError
from appell.graph.stopped_by_hand import SolverWatch
from appell.model.values import as_table, checked
from appell.normal_form.manifold import residuals
from appell.optimize.on_mesh import OPTIONS, WARM, MeshSolution, solution_of, solved, variable_bounds
from appell.optimize.phase_junctions import absorbs
from appell.optimize.plan_setting import PlanSetting
from appell.optimize.replay import states_at
from appell.optimize.steering_request import LEAST_DURATION, SteeringRequest, refuse_duration
from appell.optimize.transcription import PlannedMotion, PlannedPhase
from appell.reading import finite, name_in, shown, table_of
from appell.spelling import did_you_mean

Array = NDArray[np.float64]

REPLAN: dict[str, Any] = {
    "tol": 1e-7,
    "constr_viol_tol": 1e-8,  # of the scaled rows: far below the measurement noise of a feedback loop
    "compl_inf_tol": 1e-6,
    "mu_init": 1e-6,
    "max_iter": 200,
    "acceptable_iter": 3,
    "acceptable_tol": 1e-6,
}
"""IPOPT options in addition to those of a warm start: in a feedback loop a plan has to be ready in time."""


GIVEN = 1e-7
"""A value implied by the rows may differ from the given one by this fraction of its size."""
GIVEN_AGAIN = 1e-5
"""Relative distance of a measured start from the rows: far above the drift of a loop that projects after each step."""


@dataclass(frozen=True, eq=False)
class ReadySolver:
    """A solver for one mesh with all data that do not change between two plans."""

    solver: Any
    bounds: tuple[Array, Array]
    rows: tuple[Array, Array]
    watch: SolverWatch


@dataclass(frozen=True, eq=False)
class PlanSession:
    """A plan in numbers with its program: evaluates controls between nodes, and plans again."""

    setting: PlanSetting
    solution: MeshSolution
    options: Mapping[str, Any]
    ready_solver: ReadySolver | None = None

    @property
    def model(self) -> Any:
        return self.setting.model

    @cached_property
    def solver(self) -> ReadySolver:
        if self.ready_solver is not None:
            return self.ready_solver
        watch, solution = SolverWatch(), self.solution
        bounds = variable_bounds(solution.transcription, self.setting.ends)
        return ReadySolver(solution.program.solver(OPTIONS | WARM | REPLAN), bounds, solution.transcription.row_bounds(), watch)

    def controls_at(self, times: Array) -> dict[Any, Array]:
        """Control → values at times, (k,)."""
        request, planned = self.model.request, self.solution.planned
        ends = self.since + np.cumsum([0.0, *(phase.duration for phase in planned.phases)])
        phase_index = np.clip(np.searchsorted(ends, times, side="left") - 1, 0, len(planned.phases) - 1)
        controls = {c: np.zeros(len(times)) for c in request.steered.controls}
        for k, (functions, phase) in enumerate(zip(self.model.phases, planned.phases, strict=True)):
            inside = phase_index == k
            tau = np.clip((times[inside] - ends[k]) / phase.duration, 0.0, 1.0)
            w = np.hstack([phase.states_at(tau), phase.rest_at(tau)]) if inside.any() else np.zeros((0, functions.graph.nw))
            for c, s in zip(request.steered.controls, request.steered.inputs, strict=True):
                value = request.steered.values[c]
                column = (
                    request.states.index(value)
                    if value is not c
                    else functions.graph.indices("u")[request.steered.inputs.index(s)]
                )
                controls[c][inside] = w[:, column]
        return controls

    def states_at(self, times: Array) -> Array:
        """States at times, (k, nz), by the polynomials of the mesh."""
        return states_at(self.solution.planned, self.since, times)

    @property
    def since(self) -> float:
        return self.solution.since

    def again(self, start: Any, parameters: Any, since: Any, until: Any) -> PlanSession:
        """The plan from another start; see `MotionPlan.again`."""
        transcription, ready = self.solution.transcription, self.solver
        low, high = (bound.copy() for bound in ready.bounds)
        numbers = self._numbers(parameters)
        t0 = self.since if since is None else finite(since, "since=")
        numbers[len(self.model.shared.names)] = t0
        guess = _remainder(self.solution.planned, (t0 - self.since) / self.solution.planned.duration)
        if until is not None or since is not None:
            low[0], high[0] = self._horizon(t0, until, (float(low[0]), float(high[0])))
        places = transcription.start_places(0)
        start_values, implied = self._start(start), self.setting.ends[0].implied
        for i, value in start_values.items():
            if not implied[i]:
                low[places[i]] = high[places[i]] = value
        x = np.clip(transcription.packed(guess), low, high)
        previous = self.solution
        dual = previous.output.rows, previous.output.bounds
        result = solved(previous.program, ready.solver, x, numbers, (low, high), ready.rows, dual)
        solution = solution_of(transcription, previous.program, result, numbers, previous.sizes)
        if solution.ok:
            previous_start = self.solution.planned.phases[0].first
            start_values = start_values or {int(i): float(previous_start[i]) for i in np.flatnonzero(implied)}
            self._refuse_off_rows(start_values, solution)
            self._refuse_left_out(solution)
        return PlanSession(
            self.setting, solution, self.options, ReadySolver(ready.solver, (low, high), ready.rows, ready.watch)
        )

    def _horizon(self, t0: float, until: Any, allowed: tuple[float, float]) -> tuple[float, float]:
        """Bounds of the duration of a plan that begins at t0 and ends as before, or at `until`."""
        if len(self.solution.planned.phases) > 1:
            raise ModelError("since= and until= of plan.again are for plans of one phase")
        if self.model.instants:
            instant = f"ap.at(…, {self.model.instants[0]:g})"
            raise ModelError(f"{instant} in this plan is bound to its mesh, which since= and until= move; call ap.optimize")
        earliest, latest = (self.since + x for x in allowed)
        if isinstance(until, tuple | list):
            if len(until) != 2 or self._fixed:
                kind = "a time" if self._fixed else "(earliest, latest)"
                raise ModelError(f"until= of plan.again is {kind}, not {shown(until)}")
            earliest, latest = t0 if until[0] is None else finite(until[0], "until="), finite(until[1], "until=")
        elif until is not None:
            latest = finite(until, "until=")
            earliest = latest if self._fixed else min(earliest, latest)
        if not latest > t0:
            raise ModelError(f"until = {latest:g} s is not after since = {t0:g} s")
        refuse_duration(t0, latest)
        return (latest - t0 if self._fixed else max(earliest - t0, LEAST_DURATION * (latest - t0))), latest - t0

    @property
    def _fixed(self) -> bool:
        """Whether the end was a time, not an interval."""
        return self.model.request.duration[0] == self.model.request.duration[1]

    def _refuse_off_rows(self, start_values: Mapping[int, float], solution: MeshSolution) -> None:
        """Raises for start values, given or kept, and end values that contradict the rows."""
        first, sizes = solution.planned.phases[0].first, solution.state_sizes
        for i, value in start_values.items():
            if abs(first[i] - value) > GIVEN_AGAIN * max(sizes[i], abs(value)):
                s = self.model.request.states[i]
                raise ConstraintError(
                    f"start has {s} = {value:g}, and the constraints make it {first[i]:g} beside the other values; take"
                    " start=ap.consistent(system, …)"
                )
        reason = missed_end(self.model.request, solution, ("end",), GIVEN_AGAIN)
        if reason:
            raise ConstraintError(f"with these parameters {reason}; call ap.optimize with another end")

    def _refuse_left_out(self, solution: MeshSolution) -> None:
        """Raises for rows that were left out because they followed from others, and do not with these parameters."""
        planned, names = solution.planned, self.model.shared.names
        values = dict(zip(names, map(float, solution.numbers), strict=False))
        values |= dict(zip(self.model.request.unknown, map(float, planned.unknown), strict=True))
        t = solution.since
        for contact, kept, phase in zip(self.setting.phases, self.setting.independent_rows, planned.phases, strict=True):
            form, nq, t = contact.form, contact.form.nq, t + phase.duration
            if len(kept) == len(form.rows):
                continue
            p, z = np.array([values[s] for s in contact.system.parameters]), phase.states[-1, -1]
            if residuals(form, t, z[:nq], z[nq:], p).relative > GIVEN_AGAIN:
                left_out = [form.rows[k].constraint.name for k in range(len(form.rows)) if k not in kept]
                raise ConstraintError(
                    f"plan.again(parameters=): '{left_out[0]}' followed from the other constraints, and with these parameters"
                    " it contradicts them"
                )

    def _numbers(self, parameters: Any) -> Array:
        numbers, names = self.solution.numbers.copy(), self.model.shared.names
        index = {str(s): i for i, s in enumerate(names)}
        for key, value in as_table(names, parameters).items():
            name = name_in(key)
            if name not in index or name in {str(s) for s in (*self.model.request.steered.inputs, *self.model.request.unknown)}:
                raise ModelError(
                    f"plan.again(parameters=): {name} is no given parameter of this plan{did_you_mean(name, index)}"
                )
            numbers[index[name]] = checked(names[index[name]], value)
        self._refuse_other_impacts(numbers)
        return numbers

    def _refuse_other_impacts(self, numbers: Array) -> None:
        """Raises for parameters with which a face that closes bounces, where it lost its velocity before, or the reverse."""
        request, phases = self.model.request, self.setting.phases
        parameters = [
            (s, k) for k, s in enumerate(self.model.shared.names) if s not in (*request.unknown, *request.steered.inputs)
        ]
        before, after = ({s: float(p[k]) for s, k in parameters} for p in (self.solution.numbers, numbers))
        fresh = {name for phase, following in pairwise(phases) for name in following.closed if name not in phase.closed}
        for face in request.system.unilateral:
            if face.name in fresh and absorbs(face, before) != absorbs(face, after):
                laws = "loses its velocity", "bounces"
                now, then = laws if absorbs(face, after) else laws[::-1]
                raise ModelError(
                    f"plan.again(parameters=): with these parameters '{face.name}' {now} where it closes, and in this plan it"
                    f" {then}; call ap.optimize"
                )

    def _start(self, start: Any) -> dict[int, float]:
        request = self.model.request
        names = {str(s): i for i, s in enumerate(request.states)}
        names |= {str(c): names[str(s)] for c, s in request.steered.values.items() if str(s) in names}
        values = {}
        for key, value in table_of({} if start is None else start, "start=").items():
            name = name_in(key)
            if name not in names:
                raise ModelError(f"start names {name}, which is not a state of this plan{did_you_mean(name, names)}")
            i = names[name]
            values[i] = finite(value, f"the start value of {name}")
            low, high = request.bounds.get(request.states[i], (-np.inf, np.inf))
            if not low <= values[i] <= high:
                raise ModelError(f"bounds= exclude the start: {name} = {values[i]:g} lies outside of {low:g} … {high:g}")
        return values


def missed_end(
    request: SteeringRequest, solution: MeshSolution, ends: Sequence[str] = ("start", "end"), least: float = GIVEN
) -> str:
    """A message on an end value that was left to the rows, because they imply it, but differs from the given one."""
    planned, sizes = solution.planned, solution.state_sizes
    table = {"start": (request.start, planned.phases[0].first), "end": (request.end, planned.phases[-1].states[-1, -1])}
    for end in ends:
        conditions, z = table[end]
        missed = np.where(conditions.fixed, np.abs(z - conditions.lower), 0.0) / sizes
        i = int(missed.argmax())
        if missed[i] > least:
            target = conditions.lower[i]
            return f"the constraints make {request.states[i]} = {z[i]:.6g} at the {end}, where {target:.6g} is given"
    return ""


def _remainder(planned: PlannedMotion, share: float) -> PlannedMotion:
    """The rest of a one-phase plan after a fraction of it, on the same mesh."""
    phases = list(planned.phases)
    if not share > 0 or len(phases) > 1:
        return planned
    share, phase = min(share, 0.99), phases[0]
    tau = np.minimum(share + phase.tau.ravel() * (1 - share), 1.0)
    nodes = np.hstack([phase.states_at(tau), phase.rest_at(tau)]).reshape(phase.nodes.shape)
    state = phase.states_at(np.array([share]))[0]
    remainder = PlannedPhase(phase.breaks, state, nodes, phase.duration * (1 - share), phase.table)
    return replace(planned, phases=(remainder,))


__all__ = ["PlanSession", "missed_end"]
