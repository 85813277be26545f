"""Pseudo-arclength continuation: the walk along a curve F(x) = 0, x = (unknowns, p), whatever F is.

    F(x) = 0,        t·(x − x_predicted) = 0,        x_predicted = x + s t,        t the kernel of F_x

At a fold only p turns back. Special points lie where a test function changes its sign between two points; they are refined
along the step. What F is, and which tests there are, say `continuation` (orbits) and `rests`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError, ModelError
from appell.reading import finite, whole
from appell.rows import singular
from appell.simulate.progress import reporter

Array = NDArray[np.float64]

EASY = 3
"""So many steps of Newton's method or fewer, and the next step along the branch may be longer."""
REFINED = 1e-9
"""Share of the range of the parameter to which special points are refined by halving."""
LOST = 1e-7
"""Share of the range below which a step along the branch is not shortened any more."""
SHARP = 0.7
"""Cosine of the angle between two tangents below which the step is shortened."""


class Point(NamedTuple):
    """One corrected point x in units of the scale, x[-1] the parameter; its tangent; what stands there; Newton's steps."""

    x: Array
    tangent: Array
    what: Any
    steps: int


class Found(NamedTuple):
    """A special point: its kind, the value of the parameter, and what stands there."""

    kind: str
    value: float
    what: Any
    point: Point


class Ends(AppellError):
    """The branch ends here for good; the text says why, and `point` is the last one."""

    def __init__(self, message: str, point: Point | None = None):
        super().__init__(message)
        self.point = point


@dataclass
class Walk:
    """Where a walk begins and ends: p from p0 to `to`, one unit of x[-1] being `span`.

    correct: (prediction, tangent) → `Point`; raises where it does not come back to the branch, `Ends` where there is no more.
    between: (here, there) → kinds that change between two points, each with its test, a function of a point.
    lost: what is special about the last point of a branch that is lost.
    """

    parameter: str
    p0: float
    to: float
    span: float
    correct: Callable[[Array, Array], Point]
    between: Callable[[Point, Point], list[tuple[str, Callable[[Point], float]]]]
    lost: Callable[[Point], str | None] = lambda point: None

    def value(self, point: Point) -> float:
        """p at a point."""
        return float(point.x[-1] * self.span)

    def along(
        self, first: Point, step: float | None, most: int, back: float | None, progress: Any, what: str
    ) -> tuple[list[Point], list[Found], bool, str]:  # fmt: skip
        """(points, special ones, whether `to` was reached, message)."""
        most = whole(most, "most=", 1)
        points, special, message = [first], [], ""
        ds = 0.02 if step is None else finite(step, "step=")
        low, high = sorted((self.p0 if back is None else finite(back, "back="), self.to))
        report = reporter(progress, self.p0, self.to)
        try:
            while len(points) < most and not message:
                here = points[-1]
                try:
                    there = self.correct(here.x + ds * here.tangent, here.tangent)
                    if here.tangent @ there.tangent < SHARP and ds > 1e-3:
                        raise AppellError("the branch turns too sharply")
                except AppellError as error:
                    ds /= 2
                    if ds < LOST:
                        message = f"the branch {'ends' if isinstance(error, Ends) else 'is lost'} at {self._at(here)}: {error}"
                        kind = self.lost(here)
                        special += [Found(kind, self.value(here), here.what, here)] if kind else []
                    continue
                there, ended = self._cut(here, there, ds, low, high)
                special += [self._refined(kind, here, there, ds, test) for kind, test in self.between(here, there)]
                points.append(there)
                if report is not None:
                    report(self.value(there))
                if ended:
                    break
                ds = min(1.5 * ds, 0.1) if there.steps <= EASY else ds
        except KeyboardInterrupt:
            message = f"interrupted at {self._at(points[-1])}"
        finally:
            if report is not None:
                report.close()
        reached = abs(self.value(points[-1]) - self.to) <= 1e-9 * self.span
        if not message and not reached:
            message = f"the branch came back to {self._at(points[-1])}" if len(points) < most else f"{most} {what} were found"
        return points, special, reached, message or "complete"

    def _at(self, point: Point) -> str:
        return f"{self.parameter} = {self.value(point):.9g}"

    def _cut(self, here: Point, there: Point, ds: float, low: float, high: float) -> tuple[Point, bool]:
        """The last point lies on the end of the range."""
        p = self.value(there)
        if low <= p <= high:
            return there, abs(p - self.to) <= 1e-12 * self.span
        end = low if p < low else high
        a, b = 0.0, ds
        pa, pb = self.value(here) - end, p - end
        for _ in range(30):
            middle = np.clip(b - pb * (b - a) / (pb - pa), min(a, b), max(a, b)) if pb != pa else b
            there = self.correct(here.x + middle * here.tangent, here.tangent)
            f = self.value(there) - end
            if abs(f) <= 1e-10 * self.span:
                break
            if np.sign(f) == np.sign(pa):
                a, pa, pb = middle, f, pb / 2
            else:
                b, pb, pa = middle, f, pa / 2
        return there, True

    def _refined(self, kind: str, here: Point, there: Point, ds: float, test: Callable[[Point], float]) -> Found:
        """The point at which a test changes its sign: false position with halved ends, and halving."""
        a, b, fa, fb, best = 0.0, ds, test(here), test(there), there
        for k in range(60):
            if b - a < 1e-3 * REFINED:
                break
            secant = b - fb * (b - a) / (fb - fa) if fb != fa else a
            middle = secant if k % 3 and a < secant < b else (a + b) / 2
            try:
                best = self.correct(here.x + middle * here.tangent, here.tangent)
            except AppellError:
                break
            f = test(best)
            if f == 0:
                break
            if f * fa > 0:
                a, fa = middle, f
            else:
                b, fb = middle, f
        return Found(kind, self.value(best), best.what, best)


class Equations(Protocol):
    """What a branch is a branch of: orbits or rests; see `Walk`."""

    p0: float
    span: float

    def first(self) -> Point: ...
    def correct(self, predicted: Array, tangent: Array) -> Point: ...
    def between(self, here: Point, there: Point) -> list[tuple[str, Callable[[Point], float]]]: ...
    def lost(self, point: Point) -> str | None: ...


class Followed(NamedTuple):
    """A branch: what stands at its points, the values of the parameter there, special points, and whether it was finished."""

    whats: tuple[Any, ...]
    values: Array
    special: tuple[Found, ...]
    reached: bool
    message: str


def follow(
    equations: Equations, parameter: str, to: float, step: float | None, most: int, back: float | None, progress: Any, what: str
) -> Followed:  # fmt: skip
    """The branch of some equations from where they begin to the value `to` of the parameter."""
    walk = Walk(parameter, equations.p0, to, equations.span, equations.correct, equations.between, equations.lost)
    points, special, reached, message = walk.along(equations.first(), step, most, back, progress, what)
    values = np.array([walk.value(point) for point in points])
    return Followed(tuple(point.what for point in points), values, tuple(special), reached, message)


def length(p0: float, to: float) -> float:
    """|to − p0|, one unit of the parameter."""
    if not abs(to - p0) > 0 or not np.isfinite(to):
        raise ModelError(f"to = {to:g} is where the branch begins")
    return abs(to - p0)


def tangent_of(J: Array, like: Array) -> Array:
    """The unit vector in the kernel of J nearest to a direction; in the kernel of nearly dependent rows too."""
    _, s, Vt = singular(J)
    s = np.append(s, np.zeros(Vt.shape[0] - len(s)))
    flat = Vt[s <= max(1e-7 * s[0], 30 * s[-1] if len(s) and s[-1] < 1e-6 else 0)]
    candidates = flat if len(flat) else Vt[-1:]
    tangent = candidates.T @ (candidates @ like)
    if np.linalg.norm(tangent) < 1e-9:
        tangent = candidates[-1]
    tangent = tangent / np.linalg.norm(tangent)
    return tangent if tangent @ like >= 0 else -tangent


__all__ = ["Ends", "Found", "Point", "follow", "length", "tangent_of"]
