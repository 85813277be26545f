"""Special points of a branch: where a test function passes through zero between two points, refined until its defining equation
holds, or reported as not refined.

    φ(x(s)) = 0        s between two points of the branch; predictions are on the chord of the two nearest known points

A test that dips towards zero between two points and returns (a narrow tongue) is followed to its minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError

Array = NDArray[np.float64]

FAILURES = (AppellError, ArithmeticError, np.linalg.LinAlgError)
"""Exceptions of a correction that finds no point."""
SPECIAL_POINT_RESIDUAL = 1e-6
"""Dimensionless residual of its defining equation up to which a special point counts as located."""
BRACKET_CLOSED = 1e-12
"""Width of a bracket, as a fraction of the range, at which bisection stops."""
SMOOTH_TEST = 1e-8
"""Polynomials of two degrees may differ by this fraction of the range where a test is smooth."""
BRANCH_POINT_DISTANCE = 1e-3
"""Distance of the points used for a branch point from it, as a fraction of the range."""
SIDE_TOLD = 1e-7
"""Within this fraction of the range of a change of mode, a motion does not show on which side of it the point is."""
REFINING_LOOKS = 60
ONE_SPECIAL_PLACE = 1e-6
"""Special points closer than this fraction of the range are at one place."""
NEAR_ZERO = 0.5
"""A dip is followed if the parabola through three values falls below this fraction of the lowest."""
DEEP = 0.1
"""So is a dip whose lowest value is below this fraction of its neighbours: a parabola through these says little about it."""
NOTHING_LOWER = 0.9
"""Above this fraction no lower value is expected."""


class CurvePoint(NamedTuple):
    """One corrected point: scaled x, with x[-1] the parameter; its tangent; its record; number of Newton steps."""

    x: Array
    tangent: Array
    record: Any
    steps: int


Test = Callable[[CurvePoint], float]
Correct = Callable[[Array, Array], CurvePoint]


class SpecialPoint(NamedTuple):
    """A special point: its kind, the value of the parameter (in units of the range until the branch is done), its record;
    the residual of its defining equation, whether it counts as located, how many of its kind there are at once, and the
    imaginary part of the exponent that passes the axis, as far as it is known."""

    kind: str
    value: float
    record: Any
    point: CurvePoint
    residual: float = 0.0
    ok: bool = True
    multiplicity: int = 1
    frequency: float = np.nan


class Change(NamedTuple):
    """What changes between two points: a kind of special point, its test, and how many of them there are at once. Without a
    kind it has no name, and `text` says what happens. frequency: the imaginary part of what passes, nearby."""

    kind: str
    test: Test
    multiplicity: int = 1
    text: str = ""
    frequency: float = np.nan


def between(correct: Correct, one: CurvePoint, two: CurvePoint, share: float) -> CurvePoint:
    """The point of the branch at a fraction of the way between two points."""
    chord = two.x - one.x
    return correct(one.x + share * chord, chord / np.linalg.norm(chord))


def refined(
    correct: Correct, kind: str, here: CurvePoint, there: CurvePoint, test: Test, residual: Callable[[str, CurvePoint], float]
) -> SpecialPoint:  # fmt: skip
    """The point at which a test changes sign, by false position and bisection; a branch point is approached from nearby
    points."""
    a, b = here, there
    if test(a) * test(b) > 0:  # it begins at one of the two points, at which rounding decides its side
        point = min(a, b, key=lambda end: abs(test(end)))
        error = residual(kind, point)
        return SpecialPoint(kind, float(point.x[-1]), point.record, point, error, error <= SPECIAL_POINT_RESIDUAL)
    if kind == "branch point":
        distance = min(BRANCH_POINT_DISTANCE, float(np.linalg.norm(b.x - a.x)) / 8)
        a, b, fa, fb = _bracket(correct, a, b, test, distance)
        limit = _zero_from_beside(correct, a, b, fa, fb, test, distance)
        if limit is not None and limit.difference <= SMOOTH_TEST:
            point = limit.at or (b if abs(fb) < abs(fa) else a)
            error = limit.difference if limit.at is None else min(limit.difference, residual(kind, point))
            return SpecialPoint(kind, limit.value, point.record, point, error, error <= SPECIAL_POINT_RESIDUAL)
    a, b, fa, fb = _bracket(correct, a, b, test, BRACKET_CLOSED)
    nearest = (b if abs(fb) < abs(fa) else a)
    value, error = float(nearest.x[-1]), residual(kind, nearest)
    if not np.isfinite(error):  # the test only tells the side
        error = float(np.linalg.norm(b.x - a.x))
        return between_modes(SpecialPoint(kind, value, nearest.record, nearest, error))
    return SpecialPoint(kind, value, nearest.record, nearest, error, error <= SPECIAL_POINT_RESIDUAL)


def between_modes(point: SpecialPoint) -> SpecialPoint:
    """A point at a change of mode, with the uncertainty of the decision between two modes."""
    missed = point.residual + SIDE_TOLD
    return point._replace(residual=missed, ok=missed <= SPECIAL_POINT_RESIDUAL)


def _bracket(
    correct: Correct, a: CurvePoint, b: CurvePoint, test: Test, narrow: float
) -> tuple[CurvePoint, CurvePoint, float, float]:  # fmt: skip
    """Two close points between which a test changes sign, and its values there."""
    fa, fb = test(a), test(b)
    ga, gb = fa, fb  # weights of the secant
    for k in range(REFINING_LOOKS):
        if np.linalg.norm(b.x - a.x) < narrow:
            break
        share = ga / (ga - gb) if k % 3 and ga != gb else 0.5
        middle = _point_between(correct, a, b, float(np.clip(share, 0.02, 0.98)))
        if middle is None:
            break
        f = test(middle)
        if f == 0:
            return middle, middle, 0.0, 0.0
        if f * fa > 0:
            gb, (a, fa, ga) = (gb / 2 if k % 3 else fb), (middle, f, f)
        else:
            ga, (b, fb, gb) = (ga / 2 if k % 3 else fa), (middle, f, f)
    return a, b, fa, fb


class Limit(NamedTuple):
    """A value of the parameter, the difference of polynomials of two degrees there, and the point itself if available."""

    value: float
    difference: float
    at: CurvePoint | None


def _zero_from_beside(
    correct: Correct, a: CurvePoint, b: CurvePoint, fa: float, fb: float, test: Test, spacing: float
) -> Limit | None:  # fmt: skip
    """The parameter where a test vanishes, by polynomials through points at some distance: at a branch point the equations are
    singular, and an error ε of the residual becomes ε/δ at a distance δ."""
    if fa == fb:
        return None
    long, share = float(np.linalg.norm(b.x - a.x)), fa / (fa - fb)
    d, middle = (b.x - a.x) / long, a.x + share * (b.x - a.x)
    bounds = -share * long / spacing, (1 - share) * long / spacing
    shares, f, p = [], [], []
    for k in (-3, -2, -1, 1, 2, 3):
        try:
            point = correct(middle + k * spacing * d, d)
        except FAILURES:
            continue
        shares, f, p = [*shares, k], [*f, test(point)], [*p, float(point.x[-1])]
    if len(shares) < 5:
        return None
    samples = np.array([shares, f, p])
    values = [_zero_and_value(samples[:, keep], bounds) for keep in (slice(None), slice(1, -1))]
    if any(zero is None for zero in values):
        return None
    (s, value), (_, coarse_value) = values  # pyright: ignore[reportGeneralTypeIssues]
    try:
        at = correct(middle + s * spacing * d, d)
    except FAILURES:
        at = None
    if at is not None and abs(at.x[-1] - value) > 1e-6:
        at = None  # off the branch
    return Limit(value, abs(value - coarse_value), at)


def _zero_and_value(samples: Array, inside: tuple[float, float]) -> tuple[float, float] | None:
    """The zero of the polynomial through f in an interval, and the polynomial through p there; samples: rows s, f, p."""
    s, f, p = samples
    roots = np.roots(np.polyfit(s, f, len(s) - 1))
    real = roots[np.abs(roots.imag) < 1e-6].real
    real = real[(real >= inside[0] - 1e-9) & (real <= inside[1] + 1e-9)]
    if not len(real):
        return None
    at = float(real[int(np.argmin(np.abs(real)))])
    return at, float(np.polyval(np.polyfit(s, p, len(s) - 1), at))


def _point_between(correct: Correct, a: CurvePoint, b: CurvePoint, share: float) -> CurvePoint | None:
    """A point between two, at a fraction of the way if possible, else elsewhere: near a branch point some corrections fail."""
    for at in (share, 0.5, 0.3, 0.7, 0.1, 0.9):
        try:
            point = between(correct, a, b, at)
        except FAILURES:
            continue
        inside = (point.x - a.x) @ (b.x - a.x) / max((b.x - a.x) @ (b.x - a.x), 1e-300)
        if 0 < inside < 1 and np.linalg.norm(point.x - a.x) < 2 * np.linalg.norm(b.x - a.x):
            return point
    return None


def clear_intervals(
    correct: Correct, here: CurvePoint, there: CurvePoint, clear: Callable[[CurvePoint, CurvePoint], bool]
) -> list[tuple[CurvePoint, CurvePoint]]:  # fmt: skip
    """Intervals between two points, in order, each `clear` (with at most one special point) or too narrow to be halved."""
    pending, intervals = [(here, there)], []
    while pending:
        a, b = pending.pop()
        indivisible = np.linalg.norm(b.x - a.x) < ONE_SPECIAL_PLACE or clear(a, b)
        middle = None if indivisible else _point_between(correct, a, b, 0.5)
        if middle is None:
            intervals.append((a, b))
        else:
            pending += [(middle, b), (a, middle)]
    return intervals


def turns_back(here: CurvePoint, there: CurvePoint) -> bool:
    """Whether the parameter seems to go back and on again between two points: two folds more than the signs of dp/ds tell.

    By the parabola of p'(σ), 0 ≤ σ ≤ 1, with its values a, b at the two points and the change Δp between them,

        p' = a + (b − a) σ + c σ(1 − σ),        c = 6 (Δp − (a + b)/2)
    """
    step = there.x - here.x
    sign, long = np.sign(here.tangent[-1]), float(np.linalg.norm(step))
    a, b = (sign * long * float(point.tangent[-1]) for point in (here, there))
    c = 6 * (sign * float(step[-1]) - (a + b) / 2)
    if not (a > 0 and abs(c) > abs(b - a)):  # p' has no extremum inside
        return False
    extremum = a + (b - a + c) ** 2 / (4 * c)
    return b < 0 or extremum < NEAR_ZERO * min(a, b)


class Dip(NamedTuple):
    """Points between which a test dips to zero and returns."""

    left: CurvePoint
    lowest: CurvePoint
    right: CurvePoint


def lowest_between(
    correct: Correct, test: Test, a: CurvePoint, m: CurvePoint, b: CurvePoint,
    differs: Callable[[CurvePoint, CurvePoint], bool],
) -> Dip | None:  # fmt: skip
    """Whether a test with one sign at three neighbours changes sign between them: its minimum is followed by parabolas. Where
    two factors change sign at once, only `differs` tells it."""
    fa, fm, fb = test(a), test(m), test(b)
    sign = np.sign(fm)
    if not (sign != 0 and sign == np.sign(fa) == np.sign(fb)):
        return None
    fa, fm, fb = sign * fa, sign * fm, sign * fb
    settled = 0  # successive steps without a lower value in sight
    for k in range(REFINING_LOOKS // 3):
        if not (fm <= fa and fm <= fb):
            return None
        to_left, to_right = float(np.linalg.norm(m.x - a.x)), float(np.linalg.norm(b.x - m.x))
        if to_left + to_right < 1e-8:
            return None
        slope, bend = _parabola(to_left, to_right, fa, fm, fb)
        lowest = fm - slope**2 / (4 * bend) if bend > 0 else fm
        settled = settled + 1 if lowest > NOTHING_LOWER * fm else 0
        if not bend > 0 or settled > 1 or (k == 0 and lowest > NEAR_ZERO * fm and fm > DEEP * min(fa, fb)):
            return None
        shift = float(np.clip(-slope / (2 * bend), -0.9 * to_left, 0.9 * to_right))
        if abs(shift) < 0.05 * min(to_left, to_right):
            shift = 0.1 * to_right if to_right >= to_left else -0.1 * to_left
        interval = (a, m, 1 + shift / to_left) if shift < 0 else (m, b, shift / to_right)
        new = _point_between(correct, interval[0], interval[1], interval[2])
        if new is None:
            return None
        f = sign * test(new)
        if f < 0 or differs(m, new):
            return Dip(a if shift < 0 else m, new, m if shift < 0 else b)
        if shift < 0:
            a, fa, m, fm, b, fb = (a, fa, new, f, m, fm) if f < fm else (new, f, m, fm, b, fb)
        else:
            a, fa, m, fm, b, fb = (m, fm, new, f, b, fb) if f < fm else (a, fa, m, fm, new, f)
    return None


def _parabola(left: float, right: float, fa: float, fm: float, fb: float) -> tuple[float, float]:
    """Slope and half the second derivative at the middle of three values."""
    slope_left, slope_right = (fm - fa) / left, (fb - fm) / right
    bend = (slope_right - slope_left) / (left + right)
    return slope_left + bend * left, bend


__all__ = [
    "FAILURES",
    "ONE_SPECIAL_PLACE",
    "SPECIAL_POINT_RESIDUAL",
    "Change",
    "Correct",
    "CurvePoint",
    "Dip",
    "SpecialPoint",
    "Test",
    "between",
    "between_modes",
    "clear_intervals",
    "lowest_between",
    "refined",
    "turns_back",
]  # fmt: skip
