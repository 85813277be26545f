"""The setting of a plan before its mesh: phases, guess, states at the ends, ranks of rows, and the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.graph.algebra import depends
from appell.model import System
from appell.motion.motion import Motion
from appell.normal_form import NormalForm, normal_form
from appell.optimize.contact_phases import ContactPhase
from appell.optimize.end_states import EndState, RowsAtEnd, end_states, independent_rows, nearest_end, undetermined_rows
from appell.optimize.first_guess import GuessedMotion, guessed, guessed_phase, input_limits, inside, near_rows, resolving
from appell.optimize.missed_relations import refuse_excluded_end
from appell.optimize.plan_model import PlanModel, plan_model
from appell.optimize.state_sizes import inertia_roots
from appell.optimize.steering_request import SteeringRequest
from appell.optimize.transcription import PlannedMotion, Transcription, with_knots

Array = NDArray[np.float64]

MESH_NODES = 4
"""Nodes of an interval: order 7 at its ends, 5 between them, and polynomials of degree 3 for controls."""
FIRST_MESH = 8
"""Intervals of the first mesh; half as many for each of several phases."""
RANK_SHARES = (0.0, 0.23, 0.5, 0.81, 1.0)
"""Fractions of a guess at which the rank of the rows is computed: its ends, and generic instants in between."""


@dataclass(frozen=True, eq=False)
class PlanSetting:
    """A request with its guess and its phases.

    ends_of_phases: fractions of the guess at which phases end; equally spaced if the guess has none.
    """

    request: SteeringRequest
    guess: Any
    tolerance: float
    phases: tuple[ContactPhase, ...]
    ends_of_phases: tuple[float, ...] = ()

    @cached_property
    def numbers(self) -> Array:
        """All parameters of the system, inputs at their first guess."""
        request = self.request
        table, limits = dict(request.parameters), input_limits(request)
        table |= dict(zip(request.steered.inputs, inside(*limits.T), strict=True)) if len(limits) else {}
        return np.array([table[s] for s in request.system.parameters], dtype=float)

    def numbers_of(self, system: System) -> Array:
        """The numbers of the parameters of a phase's system, in its order."""
        names = self.request.system.parameters
        return self.numbers[[names.index(s) for s in system.parameters]]

    @property
    def p(self) -> Array:
        """Parameters, the time of the start, and mobilities."""
        return np.concatenate([self.numbers, [self.request.since], self.mobility])

    @cached_property
    def mobility(self) -> Array:
        """1/inertia of each velocity along the guess, (nv,); the smallest one for those without inertia."""
        states = [(t, np.concatenate([q, v])) for t, q, v in self.sampled(0)]
        m = inertia_roots(self.form, states, self.numbers_of(self._first.system))[self.nq :] ** 2
        return 1 / np.where(m > 0, m, m.max(initial=0.0) or 1.0)

    @property
    def nq(self) -> int:
        return self.request.system.nq

    @cached_property
    def _planned(self) -> PlannedMotion | None:
        """The plan given as a guess, if it has the same number of phases."""
        session = getattr(self.guess, "session", None)
        planned = None if session is None else session.solution.planned
        return planned if planned is not None and len(planned.phases) == len(self.phases) else None

    @property
    def _first(self) -> ContactPhase:
        return self.phases[0]

    @property
    def spans(self) -> list[tuple[float, float]]:
        """Fractions of the guess at which each phase begins and ends."""
        count, planned = len(self.phases), self._planned
        ends = self.ends_of_phases or tuple((k + 1) / count for k in range(count))
        if planned is not None:
            ends = tuple(np.cumsum([phase.duration for phase in planned.phases]) / planned.duration)
        return list(zip((0.0, *ends[:-1]), ends, strict=True))

    @cached_property
    def form(self) -> NormalForm:
        """The normal form of the system without contacts, for the guess."""
        return self._first.form if len(self.phases) == 1 else normal_form(self._first.system)

    @cached_property
    def line(self) -> GuessedMotion:
        """The given guess, or the straight line from start to end."""
        return guessed(self.request, self.guess, *self.first_ends, self.form, self.numbers_of(self._first.system))

    def sampled(self, k: int) -> list[tuple[float, Array, Array]]:
        """States of the guess in a phase, projected onto its rows, at which ranks are computed: (t, q, v)."""
        phase, (begin, end) = self.phases[k], self.spans[k]
        shares = begin + np.array(RANK_SHARES) * (end - begin)
        states = []
        for share, z in zip(shares, self.line.at(shares)[0], strict=True):
            t = self.request.since + share * self.line.duration
            z = near_rows(phase.form, z, t, self.numbers_of(phase.system))
            states.append((t, z[: self.nq], z[self.nq :]))
        return states

    @cached_property
    def independent_rows(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the independent rows of each phase."""
        return tuple(
            independent_rows(phase.form, self.sampled(k), self.numbers_of(phase.system)) if phase.form.rows else ()
            for k, phase in enumerate(self.phases)
        )

    @cached_property
    def model(self) -> PlanModel:
        for k in range(len(self.phases)):
            self._refuse_undetermined(k)
        self._refuse_open()
        return plan_model(self.request, list(zip(self.phases, self.independent_rows, strict=True)), self.margins)

    def _refuse_undetermined(self, k: int) -> None:
        """Raises if a goal or bound uses multipliers of linearly dependent rows."""
        phase, kept = self.phases[k], self.independent_rows[k]
        if len(kept) == len(phase.form.rows):
            return
        constraints = {row.index: row.constraint for row in phase.form.rows}
        undetermined = undetermined_rows(phase.form, kept, self.sampled(k), self.numbers_of(phase.system))
        used = self.request.symbols | {s for row in phase.rows for s in row.expression.free_symbols}
        affected = sorted((constraints[i].name for i in undetermined if constraints[i].multiplier in used), key=str)
        if affected:
            raise ModelError(
                f"the multiplier of '{affected[0]}' is asked for, and the constraint is redundant beside others: its"
                " reaction is not determined. Drop one of the redundant constraints"
            )

    def _refuse_open(self) -> None:
        """Raises for a bound of the reaction of a face that no phase closes, where 0 lies outside of it."""
        closed = {name for phase in self.phases for name in phase.closed}
        for face in self.request.system.unilateral:
            low, high = self.request.bounds.get(face.multiplier, (-np.inf, np.inf))
            if face.name not in closed and not low <= 0 <= high:
                raise ModelError(
                    f"bounds= of the reaction of '{face.name}' exclude 0, and no phase of the plan is in contact with it; name"
                    " one in phases="
                )

    @cached_property
    def first_ends(self) -> tuple[Array, Array]:
        """States with the values given for the start and the end, on the rows where possible."""
        request, parameters_known = self.request, not self.request.unknown
        zero = np.array([s.start for s in request.states], dtype=float)
        low, high = request.start.lower, request.start.upper
        bounded = np.isfinite(low) & np.isfinite(high)
        middle = np.where(bounded, np.where(bounded, low, 0) / 2 + np.where(bounded, high, 0) / 2, zero)
        rows = self._rows_at_ends(None)
        z_last = None
        if self.guess is not None:
            motion = guessed(request, self.guess, middle, middle, self.form, self.numbers_of(self._first.system))
            middle, z_last = motion.states[0], motion.states[-1]
        for end, conditions in (("start", request.start), ("end", request.end)):
            refuse_excluded_end(request, conditions, end)
        z_first = nearest_end(request, rows[0], "start", middle, sure=parameters_known)
        fixed_time = request.duration[0] == request.duration[1]
        sure = parameters_known and (fixed_time or not _rheonomic(rows[1].form))
        return z_first, nearest_end(request, rows[1], "end", z_first if z_last is None else z_last, sure=sure)

    def _rows_at_ends(self, kept: tuple[tuple[int, ...], ...] | None) -> tuple[RowsAtEnd, RowsAtEnd]:
        rows: list[RowsAtEnd] = []
        for k, t in ((0, self.request.since), (-1, self.request.since + self.request.duration[1])):
            phase = self.phases[k]
            rows.append(RowsAtEnd(phase.form, () if kept is None else kept[k], t, phase.system, self.numbers_of(phase.system)))
        at_start, at_end = rows
        return at_start, at_end

    @cached_property
    def ends(self) -> tuple[EndState, EndState]:
        return end_states(self.request, self._rows_at_ends(self.independent_rows), self.first_ends)

    @cached_property
    def margins(self) -> Array:
        """Margins kept from walls, (faces,): a fraction of the distance at the nearer end, so that a plan that passes one
        closely does not touch it between two nodes. Zero with several phases, which include contact."""
        faces = len(self.request.system.unilateral)
        if not faces or len(self.phases) > 1 or self._first.closed:
            return np.zeros(faces)
        times = (self.request.since, self.request.since + self.request.duration[1])
        distance, p = self.form.select("g"), self.numbers_of(self._first.system)
        pairs = zip(times, self.ends, strict=True)
        distances = [distance(t, end.z[: self.nq], end.z[self.nq :], p)["g"] for t, end in pairs]
        return self.tolerance * np.maximum(np.min(distances, axis=0), 0.0)

    def begin(self, guess: GuessedMotion, parts: int = 1) -> PlannedMotion:
        """A guess on the first mesh, which follows a motion, or with intervals cut in parts; a plan keeps its own mesh."""
        request, model = self.request, self.model
        T, t0, phases = float(np.clip(guess.duration, *request.duration)), request.since, []
        knots = [(x - request.since) / request.duration[0] for x in model.instants]
        intervals = parts * (FIRST_MESH if len(self.phases) == 1 else FIRST_MESH // 2)
        for k, (functions, phase, (begin, end)) in enumerate(zip(model.phases, self.phases, self.spans, strict=True)):
            reuse = self._planned is not None and parts == 1
            mesh = self._planned.phases[k].breaks if reuse else np.linspace(0, 1, intervals + 1)  # type: ignore[union-attr]
            if isinstance(self.guess, Motion) and not reuse:  # arrays are a sketch, whose corners mean nothing
                mesh = resolving(mesh, guess, (begin, end), MESH_NODES)
            breaks = with_knots(mesh, knots)
            duration, p = (end - begin) * T, self.numbers_of(phase.system)
            phases.append(guessed_phase(functions.graph, guess, breaks, MESH_NODES, duration, (begin, end), p, t0))
            t0 += duration
        values = getattr(self.guess, "values", {}) if self._planned is not None else {}
        unknown = np.array([values.get(s, request.parameters[s]) for s in request.unknown])
        impulses = tuple(np.zeros(junction.impulses) for junction in model.junctions)
        no_integrals = np.zeros(len(model.integrals))
        return self._with_integrals(PlannedMotion(tuple(phases), unknown, no_integrals, impulses))

    def _with_integrals(self, planned: PlannedMotion) -> PlannedMotion:
        """The same with the integrals of the guess; 0 where they have no finite value."""
        if not len(planned.integrals):
            return planned
        transcription = Transcription(self.model, tuple(phase.breaks for phase in planned.phases), MESH_NODES)
        program, p = transcription.program(np.ones(transcription.n)), np.zeros(self.model.shared.p.numel())
        p[: len(self.p)] = self.p
        integrals = program.residuals(transcription.packed(planned), p)[transcription.rows[3]]
        return replace(planned, integrals=np.where(np.isfinite(integrals), integrals, 0.0))


def _rheonomic(form: NormalForm) -> bool:
    return any(depends(form[name], form.inputs["t"]) for name in ("f0", "f1"))


__all__ = ["MESH_NODES", "PlanSetting"]
