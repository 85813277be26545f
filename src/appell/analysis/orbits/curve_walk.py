"""Continuation of a special orbit or equilibrium along a curve in two parameters.

    F(x) = 0,  ψ(x) = 0,  t·(x − x_predicted) = 0            x = (unknowns, a, b),  t the kernel of (F_x, ψ_x)

F are the equations of an orbit or equilibrium, ψ its special condition: one function, or two with one more unknown in x. The
derivatives of F are exact, those of ψ are differences. Points of codimension two are where a second condition changes sign
between two points (`codimension_two`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.arclength import MOST_ASIDE, tangent_of
from appell.analysis.orbits.codimension_two import CodimensionTwo, CurveStep, SecondTest, second_between
from appell.analysis.orbits.refining import FAILURES
from appell.errors import AppellError, ModelError
from appell.rows import VARIED_LOST, least_squares

Array = NDArray[np.float64]

STEP_OF_TESTS = 1e-5
"""Step of the differences of ψ, in units of the unknowns and of the ranges: ψ has about ten digits."""
OTHER_UNITS, NO_VALUE = 1e-4, 1e-8
"""Fractions of the range of the second parameter below which the first one is scaled by itself, and below which it is zero."""
FARTHEST_UNIT = 1e3
"""Largest unit of a parameter, as a multiple of its value."""
CURVE_NEWTON = 10
CURVE_CLOSED = 1e-9
"""Residuals of F and of ψ that count as zero."""
SHORTEST_CURVE_STEP = 1e-4
CURVE_TURN = 0.8
"""Cosine of the angle between two tangents below which the step is shortened."""


class CurveState(NamedTuple):
    """F, its Jacobian (rows of F first, then those that fix what F leaves undetermined), ψ, and the record they belong to."""

    F: Array
    J: Array
    psi: Array
    source: Any


class CurveEquations(Protocol):
    """The equations of a curve.

    x0: the first point in units of `scale`, the parameters last; to: the value of the second one at which the curve ends.
    passive: unknowns on which ψ does not depend. record: the orbit or equilibrium at a point. back: x projected onto the
    constraints.
    tests: second conditions, starting from a point with a tangent. is_genuine: whether a zero of one is a true special point.
    ended: why the curve ends at a point with a second condition, or at any point; empty where it continues. lost: what happens
    to the orbit or equilibrium where Newton's method fails beyond it; empty if not known.
    """

    x0: Array
    scale: Array
    to: float
    passive: tuple[int, ...]

    def evaluate(self, x: Array) -> CurveState: ...
    def record(self, x: Array, state: CurveState) -> Any: ...
    def projected(self, x: Array) -> Array: ...
    def tests(self, tangent: Array) -> Mapping[str, SecondTest]: ...
    def is_genuine(self, name: str, step: CurveStep) -> bool: ...
    def ended(self, step: CurveStep, second: str) -> str: ...
    def lost(self, step: CurveStep) -> str: ...


class Walked(NamedTuple):
    """The points of a curve, those of codimension two, whether it reached its own end or that of the range, and why."""

    steps: list[CurveStep]
    second: list[CodimensionTwo]
    ok: bool
    message: str


def ranges_of(a: float, b: float, to: float, name: str, response: Array | None = None) -> list[float]:
    """Units of the two parameters. response: the effect of a unit of each, (2,); the unit of a then has about the effect of a
    tenth of the range of b. Without a response, units follow from the values of the parameters."""
    if not abs(to - b) > 0:
        raise ModelError(f"to = {to:g} is where the curve begins; give another value of {name}")
    span, size = abs(to - b), abs(a)
    if response is not None and np.isfinite(response).all() and response.all():
        alike = float(0.1 * span * response[1] / response[0])
        return [min(max(size, alike), FARTHEST_UNIT * size) if size > 0 else alike, span]
    by_itself = NO_VALUE * span < size < OTHER_UNITS * span  # the two have different units
    return [size if by_itself else max(size, 0.1 * span), span]


class CurveWalk:
    """Follows a curve from the first point of some equations."""

    def __init__(self, equations: CurveEquations):
        self.equations = equations

    def _slopes(self, x: Array, psi: Array) -> Array:
        """∂ψ/∂x by differences, (k, n)."""
        slopes = np.zeros((len(psi), len(x)))
        for k in range(len(x)):
            if k not in self.equations.passive:
                varied = x.copy()
                varied[k] += STEP_OF_TESTS
                slopes[:, k] = (self.equations.evaluate(self.equations.projected(varied)).psi - psi) / STEP_OF_TESTS
        return slopes

    def correct(self, predicted: Array, tangent: Array) -> CurveStep:
        """The point on the curve in the plane through a prediction."""
        x, slopes, equations, last_worst = predicted.copy(), None, self.equations, np.inf
        for k in range(CURVE_NEWTON):
            x = equations.projected(x)
            state = equations.evaluate(x)
            F, J, psi, _ = state
            plane, size = float(tangent @ (x - predicted)), float(np.abs(F).max(initial=0.0))
            slopes = self._slopes(x, psi) if slopes is None or k < 3 else slopes
            gradients = np.maximum(np.linalg.norm(slopes, axis=1), 1e-12)
            worst = max(size, float((np.abs(psi) / np.maximum(1.0, gradients)).max()))
            settled = worst <= 1e-3 * CURVE_CLOSED or worst > 0.3 * last_worst  # far below it, or no longer falling
            last_worst = worst
            if worst <= CURVE_CLOSED and settled and abs(plane) < 1e-8:
                ahead = tangent_of(np.vstack([J, slopes / gradients[:, None]]), tangent)
                return CurveStep(x, ahead, equations.record(x, state), float(np.abs(psi).max()))
            full = np.vstack([J, slopes / gradients[:, None], tangent])
            right = np.concatenate([F, np.zeros(len(J) - len(F)), psi / gradients, [plane]])
            x = x + least_squares(full, -right, VARIED_LOST)
        raise AppellError("Newton's method does not come back to the curve")

    def follow(self, step: float, max_step: float, most: int) -> Walked:
        """The curve from its first point to the end of the range."""
        equations = self.equations
        towards = np.zeros(len(equations.x0))
        towards[-1] = np.sign(equations.to - equations.x0[-1] * equations.scale[-1])
        state = equations.evaluate(equations.x0)
        slopes = self._slopes(equations.x0, state.psi)
        slopes = slopes / np.maximum(np.linalg.norm(slopes, axis=1), 1e-12)[:, None]
        point = self.correct(equations.x0, tangent_of(np.vstack([state.J, slopes]), towards))
        walked = Walked([point], [], False, f"{most} points were found")
        while len(walked.steps) < most:
            try:
                next_point, last, message, crossed = self._step(point, step, max_step, towards)
            except FAILURES as error:
                step /= 2
                if step < SHORTEST_CURVE_STEP:
                    return walked._replace(message=f"the curve goes no further: {equations.lost(point) or error}")
                continue
            walked.second.extend(crossed)
            point = next_point
            walked.steps.append(point)
            if last:
                return walked._replace(ok=True, message=message)
            step = min(1.4 * step, max_step)
        return walked

    def _step(
        self, point: CurveStep, step: float, max_step: float, towards: Array
    ) -> tuple[CurveStep, bool, str, list[CodimensionTwo]]:  # fmt: skip
        """The next point, whether it is the last one and why, and the codimension-two points crossed."""
        equations = self.equations
        predicted = point.x + step * point.tangent
        next_point = self.correct(predicted, point.tangent)
        if float(np.linalg.norm(next_point.x - predicted)) > MOST_ASIDE * step:
            raise AppellError("Newton's method goes to another part of the curve")
        if float(next_point.tangent @ point.tangent) < CURVE_TURN:
            raise AppellError("the curve turns too sharply")
        last = bool((next_point.x[-1] * equations.scale[-1] - equations.to) * towards[-1] >= 0)
        if last:
            next_point = self._end(point.x, next_point.x, towards)
        second = second_between(
            equations.tests(point.tangent), equations.is_genuine, self.correct, point, next_point, equations.scale[-2:]
        )
        crossed = []
        for codimension_two, at in second:
            crossed.append(codimension_two)
            if reason := equations.ended(at, codimension_two.kind):
                return at, True, reason, crossed
        reason = equations.ended(next_point, "")
        return next_point, last or bool(reason), reason or "complete", crossed

    def _end(self, x_before: Array, x_behind: Array, towards: Array) -> CurveStep:
        """The point at which the second parameter has its last value, between two points of the curve."""
        share = (self.equations.to / self.equations.scale[-1] - x_before[-1]) / (x_behind[-1] - x_before[-1])
        end = self.correct(x_before + share * (x_behind - x_before), np.abs(towards))
        ahead = end.tangent if float(end.tangent @ (x_behind - x_before)) >= 0 else -end.tangent
        return end._replace(tangent=ahead)


__all__ = ["CurveEquations", "CurveState", "CurveWalk", "Walked", "ranges_of"]
