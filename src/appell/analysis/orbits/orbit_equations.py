"""The equations of a branch of periodic orbits in x = (z, T, p), and its special orbits.

    F(z, T, p) = z(T; z, p) − z = 0            t·(x − x_predicted) = 0

F and its Jacobian come from shots along the orbit (`shooting`). Special orbits are refined where a test changes sign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.forcing import driving_period, explicit_time, period_law, refuse_other_period
from appell.analysis.orbits.arclength import BranchEnd, length, tangent_of
from appell.analysis.orbits.axis_crossings import Structure
from appell.analysis.orbits.grazing import (
    clearance,
    grazing_between,
    grazing_by_slow_impact,
    grazing_without_contact,
    impact_count,
    orbit_at_onset,
    orbit_at_vanishing,
    slowest_impact,
    why_grazing,
)
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.orbit_tests import RESIDUALS, SMOOTH, changes, clear, multiplier_change, structure
from appell.analysis.orbits.phase_of_section import roomy_instant
from appell.analysis.orbits.refining import FAILURES, Change, CurvePoint, SpecialPoint, Test, between_modes
from appell.analysis.orbits.shooting import Shooting, closing_options, has_rows
from appell.analysis.orbits.sliding import SHORTEST_PHASE, SLIDING, lasting, phase_words, vanishing
from appell.analysis.orbits.sliding_margin import phase_margin
from appell.analysis.orbits.turn_symmetry import refuse_unless_turns
from appell.analysis.orbits.variations import variations
from appell.compiled.compiling import compile
from appell.errors import AppellError, ModelError
from appell.model import System
from appell.motion.motion import Motion
from appell.rows import VARIED_LOST, least_squares

Array = NDArray[np.float64]

ORBIT_CORRECTIONS = 8
"""Newton steps in which an orbit must converge from its prediction."""
PERIODS_CHECKED = 3
"""Orbits of a branch at which T(p), a single expression, is checked to be a period of the forcing."""
ONE_SHOT = 1e4
"""Largest multiplier with which an orbit is closed in one shot: beyond it an error of 1e-11 grows to more than 1e-7."""
GROWTH_OF_A_SHOT = 1e2
"""Largest growth of perturbations in one of several shots."""
SHRUNK = 5e-3
"""An orbit of an autonomous system below this fraction of the extent of the first one has shrunk to an equilibrium."""
ONE_OF_MANY = 1e-7
"""With a multiplier this close to 1 an orbit is one of a family: which of them begins to stick first says nothing about the
branch beyond."""
HOMOCLINIC = 3.0
"""A lost branch whose period has grown by this factor is assumed to end in a homoclinic orbit."""


class OrbitEquations:
    """The equations of a branch of orbits in x = (z, T, p), in units of `scale`."""

    def __init__(
        self, system: System, parameter: str, orbit: Orbit, to: float, period: Any, modulo: Any, tolerance: float, options: Any,
        period_of: Callable[[float], float] | None = None,
    ):  # fmt: skip
        self.system, self.parameter, self.orbit, self.to = system, parameter, orbit, to
        self.values = {str(k): float(v) for k, v in orbit.parameters.items()}
        self.p0 = self.values[parameter]
        self.span = length(self.p0, to)
        self.options, self.modulo, self.tolerance = closing_options(orbit, options), modulo, tolerance
        self.since = float(orbit.motion.t[0])
        self.forced = explicit_time(orbit.motion.run)
        self.period_law = self._period(period) if period_of is None else period_of
        self.unchecked = PERIODS_CHECKED
        self.symmetry = orbit.symmetry
        self.nz = orbit.system.nq + orbit.system.nv
        self.units, self.period, self.shots = orbit.scale, orbit.period, 1
        self.extent = self.units[: orbit.system.nq]
        self.structure: Structure | None = None  # of the multipliers in the current step

    def _period(self, period: Any) -> Callable[[float], float] | None:
        """T as a function of the parameter, if prescribed."""
        if not self.forced:
            return None
        if period is None:
            try:
                period = driving_period(self.system)
            except ModelError:
                period = None
        if period is None:
            return lambda p: self.orbit.period
        law = period_law(self.system, period)
        of = lambda p: law({**self.values, self.parameter: p})
        factor = self.orbit.period / of(self.p0)
        if abs(factor - round(factor)) > 1e-6 or round(factor) < 1:
            raise ModelError(f"period = {period} is {of(self.p0):g} s here; {self.orbit.period:g} s is no multiple of it")
        return lambda p: round(factor) * of(p)

    @property
    def scale(self) -> Array:
        """Scales of x: of the points of all shots, of T and of the parameter."""
        return np.concatenate([np.tile(self.units, self.shots), [self.period, self.span]])

    # -- one point -----------------------------------------------------------------------------------------------------

    def points(self, x: Array) -> list[Array]:
        """The start states of the shots."""
        return [z * self.units for z in x[:-2].reshape(self.shots, self.nz)]

    def _unknowns(self, motion: Motion, T: float, p: float) -> Array:
        """x of an orbit, starting at the current instant of the section, which must be in the motion."""
        begin = float(motion.t[0])
        intervals = self.shots * (1 if self.symmetry is None else self.symmetry.order)
        times = begin + (self.since - begin + T * np.arange(self.shots) / intervals) % T
        states = motion.at(times)
        return np.concatenate([(np.hstack([states.q, states.v]) / self.units).ravel(), [T / self.period, p / self.span]])

    def _needed(self, orbit: Orbit) -> int:
        """The number of shots that keeps the growth of perturbations in each moderate."""
        largest = float(np.abs(orbit.multipliers).max(initial=0.0))
        if not largest > ONE_SHOT:
            return self.shots
        return max(self.shots, int(np.ceil(np.log(largest) / np.log(GROWTH_OF_A_SHOT))))

    def shooting_at(self, p: float) -> Shooting:
        """One shot at a value of the parameter."""
        run = compile(self.system, {**self.values, self.parameter: p}, ready=False, backend=self.options.get("backend", "auto"))
        options = {k: v for k, v in self.options.items() if k != "backend"}
        rtol, atol = options.pop("rtol"), options.pop("atol")
        shooting = Shooting.of(run, since=self.since, modulo=self.modulo, rtol=rtol, atol=atol, by=(self.parameter,),
                               symmetry=self.symmetry, segments=self.shots, **options)  # fmt: skip
        shooting.sought = self.units
        return shooting

    def _equations(self, x: Array) -> tuple[Array, Array, Shooting]:
        """F, its Jacobian by x in units of scale, followed by the rows that fix phase and constraints."""
        T, p = x[-2] * self.period, x[-1] * self.span
        shooting, points, n = self.shooting_at(p), self.points(x), self.nz * self.shots
        T = self.period_law(p) if self.period_law else T
        rows = shooting.rows(points, T)
        S = self.units
        closing = shooting.closing_rows(rows, S)
        by_T, by_p = closing[:, -1], np.concatenate([slope[:, 0] / S for slope in rows.slopes]) * self.span
        if self.period_law:
            e = 1e-6 * self.span
            by_p = by_p + by_T * (self.period_law(p + e) - self.period_law(p - e)) / (2 * e) * self.span
            by_T = np.zeros(n)
        upper = np.column_stack([closing[:, :-1], by_T * self.period, by_p])
        admitted = np.zeros((n, n + 2))
        for k, (P, _) in enumerate(rows.matrices):
            block = slice(k * self.nz, (k + 1) * self.nz)
            admitted[block, block] = (np.eye(self.nz) - P) * S / S[:, None]
            admitted[block, -1] = -rows.begins[k][:, 0] / S * self.span  # constraints may move with the parameter
        phase_row = np.zeros(n + 2)
        if self.period_law:
            phase_row[-2] = 1.0
        else:
            begin = shooting.rate(self.since, points[0])
            phase_row[: self.nz] = begin * S / max(np.linalg.norm(begin * S), 1e-300)
        return np.concatenate([gap / S for gap in rows.gaps]), np.vstack([upper, admitted, phase_row]), shooting

    def first(self) -> CurvePoint:
        """The first orbit of the branch, with its section in a wide interval between impacts."""
        motion, T = self.orbit.motion, self.orbit.period
        since = roomy_instant(motion, T)
        self.since = self.since if since is None else since
        self.shots = self._needed(self.orbit)
        x0 = self._unknowns(motion, T, self.p0)
        towards = np.zeros(len(x0))
        towards[-1] = np.sign(self.to - self.p0)
        return self.correct(x0, tangent_of(self._equations(x0)[1], towards))

    def first_with_jacobian(self) -> tuple[Array, Array]:
        """x of the first orbit, and the Jacobian there."""
        self.shots = self._needed(self.orbit)
        x0 = self._unknowns(self.orbit.motion, self.orbit.period, self.p0)
        return x0, self._equations(x0)[1]

    def moved(self, point: CurvePoint) -> CurvePoint:
        """The same orbit with another start, if an impact has come near the current one, or with more shots."""
        motion, T = point.record.motion, point.record.period
        since, shots = roomy_instant(motion, T), self._needed(point.record)
        if since is None and shots == self.shots:
            return point
        begin, since_and_shots = float(motion.t[0]), (self.since, self.shots)
        dz = point.tangent[: self.nz] * self.units
        try:
            if since is not None:
                derivatives = variations(motion, by=(self.parameter,), times=[begin, since])
                if not derivatives.complete:
                    return point
                dz = derivatives.state[-1] @ dz + derivatives.parameters[-1][:, 0] * point.tangent[-1] * self.span
                self.since = since
            self.shots = shots
            x = self._unknowns(motion, T, float(point.x[-1] * self.span))
            old_tangent = np.concatenate([dz / self.units, np.zeros(self.nz * (shots - 1)), point.tangent[-2:]])
            tangent = tangent_of(self._equations(x)[1], old_tangent)
        except FAILURES:
            self.since, self.shots = since_and_shots
            return point
        return CurvePoint(x, tangent, point.record, point.steps)

    def correct(self, predicted: Array, tangent: Array) -> CurvePoint:
        """The point of the branch in the plane through the prediction."""
        x = predicted.copy()
        last_size = np.inf
        for k in range(1, ORBIT_CORRECTIONS + 1):
            x = self._on_rows(x)
            F, J, shooting = self._equations(x)
            plane = tangent @ (x - predicted)
            size = float(np.abs(F).max(initial=0.0))
            # converged: well below the tolerance, or below it and no longer falling
            if size <= self.tolerance and abs(plane) < 1e-9 and (size <= 1e-2 * self.tolerance or size > 0.3 * last_size):
                return CurvePoint(x, tangent_of(J, tangent), self._record(x, shooting, size), k)
            if size > 10 * last_size:
                break
            last_size = size
            full = np.vstack([J, tangent])
            right = np.concatenate([F, np.zeros(len(J) - len(F)), [plane]])
            x = x + least_squares(full, -right, VARIED_LOST)
        raise AppellError("Newton's method does not come back to the branch")

    def _on_rows(self, x: Array) -> Array:
        """The nearest x with all start states on the constraints at its value of the parameter."""
        if not has_rows(self.system):
            return x
        p = float(x[-1] * self.span)
        points = self.shooting_at(p).on_rows(
            self.points(x), self.period_law(p) if self.period_law else float(x[-2] * self.period)
        )
        return np.concatenate([np.concatenate(points) / np.tile(self.units, self.shots), x[-2:]])

    def _record(self, x: Array, shooting: Shooting, size: float) -> Orbit:
        """The orbit at a converged point; raises if it is not one."""
        p, points = float(x[-1] * self.span), self.points(x)
        T = self.period_law(p) if self.period_law else float(x[-2] * self.period)
        refuse_unless_turns(shooting.run, shooting.turns, points[0], self.since, T)
        if self.forced and self.unchecked > 0:
            self.unchecked -= 1
            refuse_other_period(shooting.run, points[0], self.since, T)
        orbit = shooting.orbit(points, T, size, True, "", autonomous=not self.forced)
        if not self.forced and max(np.ptp(orbit.motion.q, axis=0) / self.extent, default=1.0) < SHRUNK:
            raise BranchEnd("the orbit shrinks to a rest: a Hopf point")
        return orbit

    # -- special orbits ------------------------------------------------------------------------------------------------

    smooth: Mapping[str, Test] = SMOOTH

    def enter_step(self, here: CurvePoint, there: CurvePoint) -> None:
        """Finds the multipliers that are always 1, or come with their reciprocals, in a step along the branch."""
        self.structure = structure(here, there)

    def clear(self, here: CurvePoint, there: CurvePoint) -> bool:
        """Whether at most one special orbit lies between two; where impacts or phases change, that change comes first."""
        if impact_count(here) != impact_count(there) or vanishing(here, there) is not None:
            return True
        return clear(here, there, self.structure)

    def between(self, here: CurvePoint, there: CurvePoint) -> list[Change]:
        """Tests that change sign between two orbits."""
        if impact_count(here) != impact_count(there):
            return [Change("grazing", lambda point: 1.0 if impact_count(point) == impact_count(here) else -1.0)]
        if (phase := vanishing(here, there)) is not None:
            return [Change(phase.kind, lambda point: 1.0 if phase_words(point) == phase_words(here) else -1.0)]
        return changes(here, there, self.structure)

    def residual(self, kind: str, point: CurvePoint) -> float:
        """The residual of the defining equation of a kind."""
        return RESIDUALS[kind](point) if kind in RESIDUALS else np.nan

    def test_change(self, here: CurvePoint, there: CurvePoint) -> float:
        """The change of the multipliers, or of an orbit that may shrink to an equilibrium; 1 is too much."""
        if not self.forced:
            distance = float(np.linalg.norm((there.x - here.x)[: self.nz]))
            motion = there.record.motion
            size = np.concatenate([np.ptp(motion.q, axis=0), np.ptp(motion.v, axis=0)]) / self.units
            if distance > 0.5 * float(np.linalg.norm(size)):  # past the equilibrium, to the same orbit half a period later
                return np.inf
        return (
            multiplier_change(here, there)
            if impact_count(here) == impact_count(there) and phase_words(here) == phase_words(there)
            else 0.0
        )

    def special(self, kind: str, here: CurvePoint, there: CurvePoint) -> SpecialPoint | None:
        """Specific refinement of a grazing orbit, which has no derivatives, and of one at which a phase of stick or slip
        vanishes."""
        if kind == "grazing":
            return grazing_between(self.correct, here, there)
        phase = vanishing(here, there) if kind in SLIDING else None
        if phase is None:
            return None
        last, sign = (here, 1.0) if phase.first else (there, -1.0)
        without = there if phase.first else here
        isolated = np.abs(without.record.nontrivial - 1).min(initial=np.inf) > ONE_OF_MANY
        limit = orbit_at_onset(self.correct, without, kind, phase_margin(without, phase), -sign) if isolated else None
        if limit is not None:
            return limit
        limit = orbit_at_vanishing(self.correct, [last], kind, lambda point: lasting(point, phase), sign, SHORTEST_PHASE)
        return None if limit is None else between_modes(limit)

    def trend(self, points: list[CurvePoint]) -> str:
        """Where a branch with a growing period seems to go."""
        periods = [point.record.period for point in points]
        grows = periods[-1] > HOMOCLINIC * min(periods) and periods[-1] == max(periods)
        return "the period grows without bound: a homoclinic orbit" if grows and points[-1].record.autonomous else ""

    def lost(self, points: list[CurvePoint], here: CurvePoint, error: Exception) -> tuple[str, SpecialPoint | None]:
        """Why the branch goes no further, and the grazing orbit at which it ends, if it does."""
        last = points[-1].record
        if trend := self.trend(points):
            return trend, None
        if not (self.system.unilateral or self.system.resets) or (reason := why_grazing(last.motion)) is None:
            return str(error), None
        if slowest_impact(last.motion)[1] > clearance(last.motion).share:
            return reason, grazing_without_contact(self.correct, here, 1.0)
        same_section = [point for point in points[:-1] if float(point.record.motion.t[0]) == self.since]
        return reason, grazing_by_slow_impact(self.correct, [*same_section, here])


__all__ = ["OrbitEquations"]
