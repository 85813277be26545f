"""Curves in two parameters of orbits at which a feature begins and beyond which nothing is smooth: a phase of stick or slip, or
grazing of a face that also has impacts.

At each point of the curve one parameter is fixed, and the orbit is followed over the other from the side before the change up
to it (`grazing.orbit_at_onset`). The fixed parameter is the one along which the curve runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.codimension_two import CurveStep
from appell.analysis.orbits.continuation import Special
from appell.analysis.orbits.curve_walk import SHORTEST_CURVE_STEP, Walked, ranges_of
from appell.analysis.orbits.grazing import clearance, impact_count, orbit_at_onset
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.orbit_curve import response_of
from appell.analysis.orbits.orbit_equations import OrbitEquations
from appell.analysis.orbits.refining import FAILURES, CurvePoint
from appell.analysis.orbits.sliding import Vanishing, phase_words
from appell.analysis.orbits.sliding_margin import phase_margin
from appell.errors import AppellError

Array = NDArray[np.float64]

FIRST_ASIDE = 0.01
"""Distance from the curve at which the approach to it starts, as a fraction of the range of a parameter."""
FARTHER = 4
"""How often that distance is doubled if the start is not on the right side."""



@dataclass
class OneSidedCurve:
    """The curve through a special orbit.

    side: the direction of the first parameter before the change, +1 or −1.
    """

    special: Special
    names: tuple[str, str]
    to: float
    period: Any
    modulo: Any
    options: dict[str, Any]
    side: Array = field(init=False)

    def __post_init__(self) -> None:
        orbit = self.special.orbit
        self.system, self.kind = orbit.system, self.special.kind
        self.values = {str(k): float(v) for k, v in orbit.parameters.items()}
        self.event_pattern = impact_count(_as_point(orbit)), phase_words(_as_point(orbit))
        a, b = (self.values[name] for name in self.names)
        self.scale = np.array(ranges_of(a, b, self.to, self.names[1], response_of(orbit, self.names)))
        self.vanishing_phase = self._phase(orbit) if self.kind != "grazing" else None
        self.side = np.array(self._free_side(orbit), dtype=float)

    def _phase(self, orbit: Orbit) -> Vanishing:
        """The phase that begins: of the friction whose measure is zero on the orbit."""
        letter = "+" if self.kind == "multi-sliding" else "s"
        candidates = [Vanishing(friction.name, self.kind, False, letter) for friction in self.system.frictions]
        return min(candidates, key=lambda phase: abs(phase_margin(_as_point(orbit), phase)(_as_point(orbit))))

    def measure(self, point: CurvePoint) -> float:
        """The distance of an orbit from the change; −1 beyond it."""
        if (impact_count(point), phase_words(point)) != self.event_pattern:
            return -1.0
        if self.vanishing_phase is None:
            return clearance(point.record.motion).share
        return phase_margin(point, self.vanishing_phase)(point)

    # -- one point -----------------------------------------------------------------------------------------------------

    def _orbit(self, at: Array, guess: Orbit) -> CurvePoint:
        """The orbit at two parameters nearest to a guess, and its equations over the first of them."""
        equations = self._equations(at, 0, guess, at[0] + self.scale[0])
        shooting = equations.shooting_at(at[0])
        z0 = np.array([guess.start[s] for s in shooting.symbols])
        shooting.since = float(guess.motion.t[0])
        T = equations.period_law(at[0]) if equations.period_law else guess.period
        fixed = equations.period_law is not None
        orbit = shooting.solve(z0, T, fixed=fixed, autonomous=not equations.forced, tolerance=equations.tolerance)
        if not orbit.ok:
            raise AppellError(orbit.message)
        return _as_point(orbit)

    def _equations(self, at: Array, over: int, orbit: Orbit, to: float) -> OrbitEquations:
        """The equations of the orbits over one of the parameters, with the other fixed."""
        equations = OrbitEquations(
            self.system, self.names[over], orbit, to, self.period, self.modulo, 1e-9, self.options
        )
        equations.values |= dict(zip(self.names, map(float, at), strict=True))
        return equations

    def _free_side(self, orbit: Orbit) -> list[float]:
        """For each parameter the direction before the change, 0 if not known."""
        at = np.array([self.values[name] for name in self.names])
        directions = []
        for k in range(2):
            best = (0.0, 0.0)
            for sign in (1.0, -1.0):
                shifted = at.copy()
                shifted[k] += sign * FIRST_ASIDE * self.scale[k] / 4
                try:
                    share = self.measure(self._orbit(shifted, orbit))
                except FAILURES:
                    continue
                best = max(best, (share, sign))
            directions.append(best[1])
        return directions

    def point_near(self, near: Array, over: int, guess: Orbit) -> CurveStep:
        """The point of the curve near one, varying the parameter `over` with the other fixed."""
        reason: Exception = AppellError(f"nothing is known beside the curve over {self.names[over]}")
        for distance in FIRST_ASIDE * 2.0 ** np.arange(FARTHER):
            shifted = near.copy()
            shifted[over] += self.side[over] * distance * self.scale[over]
            try:
                neighbour = self._orbit(shifted, guess)
                if self.side[over] == 0 or not 0 < self.measure(neighbour) < np.inf:
                    continue
                to = near[over] - self.side[over] * distance * self.scale[over]
                equations = self._equations(shifted, over, neighbour.record, float(to))
                change = orbit_at_onset(equations.correct, equations.first(), self.kind, self.measure, 1.0)
            except FAILURES as error:
                reason = error
                continue
            if change is not None:
                x = near.copy()
                x[over] = change.value * equations.span
                return CurveStep(x, np.zeros(2), change.record, change.residual)
        raise AppellError(f"no {self.kind} was found near it: {reason}")

    # -- the walk ------------------------------------------------------------------------------------------------------

    def follow(self, step: float, max_step: float, most: int) -> Walked:
        """The curve to the end of the range of the second parameter."""
        start = np.array([self.values[name] for name in self.names])
        point = CurveStep(start, np.zeros(2), self.special.orbit, self.special.residual)
        walked = Walked([point], [], False, f"{most} points were found")
        ahead = np.array([0.0, np.sign(self.to - start[1])])
        while len(walked.steps) < most:
            predicted = point.x / self.scale + step * ahead
            last = bool((predicted[1] * self.scale[1] - self.to) * np.sign(self.to - start[1]) >= 0)
            if last:
                predicted = predicted + (self.to / self.scale[1] - predicted[1]) * (
                    ahead / ahead[1] if ahead[1] else np.array([0.0, 1.0])
                )
            over = 0 if last or abs(ahead[0]) <= abs(ahead[1]) else 1
            try:
                next_point = self.point_near(predicted * self.scale, over, point.record)
                direction = (next_point.x - point.x) / self.scale
                direction = direction / np.linalg.norm(direction)
                if len(walked.steps) > 1 and float(direction @ ahead) < 0.8:
                    raise AppellError("the curve turns too sharply")
            except FAILURES as error:
                step /= 2
                if step < SHORTEST_CURVE_STEP:
                    return walked._replace(message=f"the curve goes no further: {error}")
                continue
            point, ahead = next_point, direction
            walked.steps.append(point)
            if last:
                return walked._replace(ok=True, message="complete")
            step = min(1.4 * step, max_step)
        return walked


def _as_point(orbit: Orbit) -> CurvePoint:
    """An orbit as a point without other data."""
    return CurvePoint(np.zeros(0), np.zeros(0), orbit, 0)


__all__ = ["OneSidedCurve"]
