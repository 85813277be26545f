"""Pseudo-arclength continuation along a curve F(x) = 0, x = (unknowns, p), for any F.

    F(x) = 0,        t·(x − x_predicted) = 0,        x_predicted = x + s t,        t the kernel of F_x

At a fold only p turns back. Special points are where a test function changes sign between two points (`refining`). Steps are
shortened where the tangent turns, and where test functions change much in one step. F and the tests are defined in
`continuation` (orbits) and `rests`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.refining import (
    FAILURES,
    ONE_SPECIAL_PLACE,
    Change,
    CurvePoint,
    SpecialPoint,
    Test,
    between,
    clear_intervals,
    lowest_between,
    refined,
)
from appell.errors import AppellError, ModelError
from appell.reading import finite, shown, whole
from appell.rows import singular
from appell.simulate.progress import reporter

Array = NDArray[np.float64]

EASY = 3
"""With at most this many Newton steps, the next step along the branch may be longer."""
LONGEST_STEP = 0.1
"""Default longest step along the branch, as a fraction of the range."""
SHORTEST_STEP = 1e-7
"""Shortest step along the branch, as a fraction of the range."""
SHARP_TURN = 0.7
"""Cosine of the angle between two tangents below which the step is shortened."""
MOST_ASIDE = 0.5
"""Distance from a prediction, as a fraction of the step, beyond which a point may be on another part of the branch, where the
tangent may be the same: an arc that turns by α is tan(α/2) aside, 0.42 with the sharpest turn."""
UNSHORTENED_STEP = 1e-3
"""Steps below this fraction of the range are not shortened because of turns or test functions."""

LOCATED_AGAIN = 1e-8
"""Special points of one kind within this fraction of the range are one, which was located twice."""


class BranchEnd(AppellError):
    """The branch ends here; the text says why."""


class BranchEquations(Protocol):
    """The equations of a branch: of orbits or equilibria.

    correct: (prediction, tangent) → `CurvePoint`; raises where it fails, `BranchEnd` where the branch ends.
    between: what changes between two points, each with its test. clear: whether there is at most one special point between two
    points, so that the tests find it; if not, the interval is halved. enter_step: called for each step along the branch before
    its intervals are examined. smooth: tests that may dip below zero and return.
    residual: of the defining equation of a kind. test_change: of the tests in a step, 1 being too much.
    special: a specific refinement for a kind; None: the common one. moved: the same point in more suitable unknowns.
    trend: where a branch seems to go, as text.
    lost: why a branch is lost after its last points, the last of them in the current unknowns, and any special point there.
    """

    p0: float
    span: float
    smooth: Mapping[str, Test]

    def first(self) -> CurvePoint: ...
    def correct(self, predicted: Array, tangent: Array) -> CurvePoint: ...
    def between(self, here: CurvePoint, there: CurvePoint) -> list[Change]: ...
    def clear(self, here: CurvePoint, there: CurvePoint) -> bool: ...
    def enter_step(self, here: CurvePoint, there: CurvePoint) -> None: ...
    def residual(self, kind: str, point: CurvePoint) -> float: ...
    def test_change(self, here: CurvePoint, there: CurvePoint) -> float: ...
    def special(self, kind: str, here: CurvePoint, there: CurvePoint) -> SpecialPoint | None: ...
    def moved(self, point: CurvePoint) -> CurvePoint: ...
    def lost(self, points: list[CurvePoint], here: CurvePoint, error: Exception) -> tuple[str, SpecialPoint | None]: ...
    def trend(self, points: list[CurvePoint]) -> str: ...


@dataclass
class Walk:
    """Follows a branch from p0 to `to`; one unit of x[-1] is `equations.span`."""

    equations: BranchEquations
    parameter: str
    to: float
    longest: float = LONGEST_STEP

    def __post_init__(self) -> None:
        self.points: list[CurvePoint] = []
        self.special: list[SpecialPoint] = []
        self.turned = 0.0  # the largest angle between two tangents, rad
        self.ends: list[float] = []  # of the range
        self.notes: list[str] = []  # changes that have no name
        self.last_kinds: set[str] = set()  # kinds that changed in the last step
        self.previous: CurvePoint | None = None  # the point before the last one, if both have the same unknowns

    def value(self, point: CurvePoint) -> float:
        """p at a point."""
        return float(point.x[-1] * self.equations.span)

    def follow(self, step: float | None, most: int, back: float | None, progress: Any, what: str) -> tuple[bool, str]:
        """Follows the branch; returns (whether an end of the range was reached, message). Points and special ones are kept."""
        equations, most = self.equations, whole(most, "most=", 1)
        ds = min(0.02 if step is None else finite(step, "step="), self.longest)
        low, high = self.ends = sorted((equations.p0 if back is None else finite(back, "back="), self.to))
        self.points = [equations.first()]
        here, message, ended = equations.moved(self.points[0]), "", False
        report = reporter(progress, equations.p0, self.to)
        try:
            while len(self.points) < most and not ended:
                try:
                    there = self._step(here, ds)
                    there, ended = self._cut(here, there, ds, low, high)
                    if (start_again := self._start_again(here, there)) is not None:
                        there, ended, message = start_again, True, "the branch is closed: it came back to its start"
                except FAILURES as error:
                    ds /= 2
                    if ds < SHORTEST_STEP:
                        message = self._loss_message(here, error)
                        break
                    continue
                count = len(self.special)
                self._locate_special(here, there, ended)
                chord = there.x - here.x
                self.special[count:] = sorted(self.special[count:], key=lambda special: float(special.point.x @ chord))
                self.turned = max(self.turned, float(np.arccos(np.clip(here.tangent @ there.tangent, -1, 1))))
                self.points.append(there)
                following = equations.moved(there)
                self.previous, here = (here if following is there else None), following
                if report is not None:
                    report(self.value(there))
                ds = min(1.5 * ds, self.longest) if there.steps <= EASY else ds
        except KeyboardInterrupt:
            message = f"interrupted at {self._value_text(self.points[-1])}"
        finally:
            if report is not None:
                report.close()
        return ended, "; ".join([message or self._end_message(most, what), *self.notes])

    def _end_message(self, most: int, noun: str) -> str:
        last = self.value(self.points[-1])
        if abs(last - self.to) <= 1e-9 * self.equations.span:
            return "complete"
        if len(self.points) < most:
            return f"the branch came back to {self._value_text(self.points[-1])}"
        trend = self.equations.trend(self.points)
        return f"{most} {noun} were found{f'; {trend}' if trend else ''}"

    def _loss_message(self, here: CurvePoint, error: Exception) -> str:
        """Why the branch goes no further; a special point there is kept."""
        try:
            reason, special = self.equations.lost(self.points, here, error)
        except FAILURES:
            reason, special = str(error), None
        self.special += [special] if special is not None else []
        verb = "ends" if isinstance(error, BranchEnd) or special is not None else "is lost"
        return f"the branch {verb} at {self._value_text(self.points[-1])}: {reason}"

    def _value_text(self, point: CurvePoint) -> str:
        value = self.value(point)
        ends = [end for end in self.ends if abs(value - end) <= 1e-9 * self.equations.span]
        return f"{self.parameter} = {ends[0] if ends else value:.9g}"

    def _step(self, here: CurvePoint, ds: float) -> CurvePoint:
        predicted = here.x + ds * here.tangent
        there = self.equations.correct(predicted, here.tangent)
        if ds > UNSHORTENED_STEP and float(np.linalg.norm(there.x - predicted)) > MOST_ASIDE * ds:
            raise AppellError("Newton's method goes to another part of the branch")
        if ds > UNSHORTENED_STEP and (here.tangent @ there.tangent < SHARP_TURN or self.equations.test_change(here, there) > 1):
            raise AppellError("the branch turns too sharply")
        return there

    def _start_again(self, here: CurvePoint, there: CurvePoint) -> CurvePoint | None:
        """The first point, if it lies between two later ones on the same part of the branch: then this is a closed curve."""
        x, ahead, *_ = self.points[0]
        if len(self.points) < 3 or len(there.x) != len(x):
            return None
        from_here, to_there = float((x - here.x) @ ahead), float((there.x - x) @ ahead)
        step = there.x - here.x
        on_chord = here.x + step * from_here / (from_here + to_there) if from_here > 0 and to_there >= 0 else None
        if on_chord is None or float(np.linalg.norm(on_chord - x)) > MOST_ASIDE * float(np.linalg.norm(step)):
            return None
        first_again = self.equations.correct(on_chord, ahead)
        closed = (
            float(np.linalg.norm(first_again.x - x)) < ONE_SPECIAL_PLACE and first_again.tangent @ ahead > 1 - ONE_SPECIAL_PLACE
        )
        return first_again if closed else None

    def _locate_special(self, here: CurvePoint, there: CurvePoint, last: bool) -> None:
        """Looks for special points between two points, and where a test function comes near zero at the first of them; in the
        first and the last step, which have a neighbour on one side only, also at their middle."""
        self.equations.enter_step(here, there)
        seen_before, self.last_kinds = self.last_kinds, self._locate_between(here, there)
        dipped = set() if self.previous is None else self._find_dips(self.previous, here, there, self.last_kinds | seen_before)
        if (last or len(self.points) == 1) and self.equations.smooth:
            with suppress(*FAILURES):
                self._find_dips(here, between(self.equations.correct, here, there, 0.5), there, self.last_kinds | dipped)

    def _find_dips(self, a: CurvePoint, m: CurvePoint, b: CurvePoint, seen: set[str]) -> set[str]:
        """Keeps special points where a test, of a kind not seen yet, dips to zero near the second of three points and returns;
        returns their kinds."""
        kinds = set()
        for kind, test in self.equations.smooth.items():
            if kind in seen:
                continue
            differs = lambda a, b, kind=kind: kind in (change.kind for change in self.equations.between(a, b))
            dip = lowest_between(self.equations.correct, test, a, m, b, differs)
            for pair in () if dip is None else ((dip.left, dip.lowest), (dip.lowest, dip.right)):
                kinds |= self._locate_between(*pair)
        return kinds

    def _locate_between(self, here: CurvePoint, there: CurvePoint) -> set[str]:
        """Keeps what changes between two points; returns its kinds."""
        kinds = set()
        for a, b in clear_intervals(self.equations.correct, here, there, self.equations.clear):
            for change in self.equations.between(a, b):
                kinds.add(change.kind)
                self._keep(change, a, b)
        return kinds

    def _keep(self, change: Change, here: CurvePoint, there: CurvePoint) -> None:
        if not change.kind:
            self.notes.append(f"between {self._value_text(here)} and {self.value(there):.9g} {change.text}")
            return
        special = None
        with suppress(*FAILURES):
            special = self.equations.special(change.kind, here, there)
        if special is None:
            special = refined(self.equations.correct, change.kind, here, there, change.test, self.equations.residual)
        if not any(self._same(special, known) for known in self.special):  # beside a dip of another test it was found before
            self.special.append(special._replace(multiplicity=change.multiplicity, frequency=change.frequency))

    @staticmethod
    def _same(a: SpecialPoint, b: SpecialPoint) -> bool:
        """Whether two special points are of one kind and at one place."""
        x_a, x_b = a.point.x, b.point.x
        return a.kind == b.kind and len(x_a) == len(x_b) and float(np.linalg.norm(x_a - x_b)) < LOCATED_AGAIN

    def _cut(self, here: CurvePoint, there: CurvePoint, ds: float, low: float, high: float) -> tuple[CurvePoint, bool]:
        """A point moved onto the end of the range if it lies beyond, and whether the branch is at its final value."""
        p, span = self.value(there), self.equations.span
        if low <= p <= high:
            return there, abs(p - self.to) <= 1e-12 * span
        end = low if p < low else high
        if abs(self.value(here) - end) <= 1e-10 * span:
            raise BranchEnd(f"the branch leaves {self.parameter} = {end:.9g}")
        a, b = 0.0, ds
        pa, pb = self.value(here) - end, p - end
        for _ in range(40):
            middle = np.clip(b - pb * (b - a) / (pb - pa), min(a, b), max(a, b)) if pb != pa else b
            there = self.equations.correct(here.x + middle * here.tangent, here.tangent)
            f = self.value(there) - end
            if abs(f) <= 1e-10 * span:
                break
            if np.sign(f) == np.sign(pa):
                a, pa, pb = middle, f, pb / 2
            else:
                b, pb, pa = middle, f, pa / 2
        return there, True


class Followed(NamedTuple):
    """A branch: the records at its points, the values of the parameter there, special points, whether it is complete, and the
    largest angle between two neighbouring tangents, rad."""

    records: tuple[Any, ...]
    values: Array
    special: tuple[SpecialPoint, ...]
    ended: bool
    message: str
    turned: float


def follow(
    equations: BranchEquations, parameter: str, to: float, step: float | None, most: int, back: float | None, progress: Any,
    what: str, max_step: float | None = None,
) -> Followed:  # fmt: skip
    """The branch of some equations from their first point to the value `to` of the parameter."""
    walk = Walk(equations, parameter, to, _longest_step(max_step))
    ended, message = walk.follow(step, most, back, progress, what)
    values = np.array([walk.value(point) for point in walk.points])
    special = tuple(point._replace(value=point.value * equations.span) for point in walk.special)
    return Followed(tuple(point.record for point in walk.points), values, special, ended, message, walk.turned)


def _longest_step(max_step: Any) -> float:
    if max_step is None:
        return LONGEST_STEP
    if not isinstance(max_step, int | float | np.number) or isinstance(max_step, bool) or not 0 < max_step <= 1:
        raise ModelError(
            f"max_step= is the longest step along the branch as a share of its range, above 0, at most 1, not {shown(max_step)}"
        )
    return float(max_step)


def length(p0: float, to: float) -> float:
    """|to − p0|, one unit of the parameter."""
    if not abs(to - p0) > 0 or not np.isfinite(to):
        raise ModelError(f"to = {to:g} is where the branch begins")
    return abs(to - p0)


def tangent_of(J: Array, like: Array) -> Array:
    """The unit vector in the kernel of J nearest to a direction; also for nearly dependent rows."""
    _, s, Vt = singular(J)
    s = np.append(s, np.zeros(Vt.shape[0] - len(s)))
    # where two branches cross, two singular values are small: of their plane the direction nearest to `like` is taken
    flat = Vt[s <= max(1e-7 * s[0], 30 * s[-1] if len(s) and s[-1] < 1e-6 else 0)]
    candidates = flat if len(flat) else Vt[-1:]
    tangent = candidates.T @ (candidates @ like)
    if np.linalg.norm(tangent) < 1e-9:
        tangent = candidates[-1]
    tangent = tangent / np.linalg.norm(tangent)
    return tangent if tangent @ like >= 0 else -tangent


__all__ = ["BranchEnd", "BranchEquations", "follow", "length", "tangent_of"]
