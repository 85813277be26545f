"""The walk along a branch on curves that are known: nothing is stepped over, what is not found says so, nothing is raised."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import appell as ap
from appell.analysis.orbits.arclength import follow
from appell.analysis.orbits.grazing import _limit
from appell.analysis.orbits.refining import Change, CurvePoint
from appell.errors import AppellError


@dataclass
class Curve:
    """F(u, p) = 0 with F_x, from u = start at p = p0; tests by name are functions of p and u."""

    F: Any
    F_x: Any
    start: float = 0.0
    p0: float = 0.0
    tests: dict[str, Any] = field(default_factory=dict)
    fails: Any = lambda u, p: False
    span: float = 1.0

    def __post_init__(self) -> None:
        self.smooth = {kind: (lambda point, f=f: f(*point.x)) for kind, f in self.tests.items()}

    def first(self) -> CurvePoint:
        x = np.array([self.start, self.p0 / self.span])
        return self.correct(x, np.array([0.0, 1.0]))

    def correct(self, predicted, tangent):
        x = predicted.copy()
        steps = 0
        for _ in range(8):
            steps += 1
            F, slope = self.F(*x), np.array(self.F_x(*x))
            if abs(F) + abs(tangent @ (x - predicted)) < 1e-13:
                break
            x = x - np.linalg.solve(np.array([slope, tangent]), [F, tangent @ (x - predicted)])
        if not abs(self.F(*x)) < 1e-12 or self.fails(*x):
            raise AppellError("no point")
        t = np.array([-slope[1], slope[0]]) / np.hypot(*slope)
        return CurvePoint(x, t if t @ tangent > 0 else -t, x.copy(), steps)

    def between(self, here, there):
        found = [Change(kind, test) for kind, test in self.smooth.items() if test(here) * test(there) < 0]
        turn = lambda point: float(point.tangent[-1])
        return [*found, *([Change("fold", turn)] if turn(here) * turn(there) < 0 else [])]

    residual = lambda self, kind, point: abs(point.tangent[-1] if kind == "fold" else self.smooth[kind](point))
    clear = lambda self, here, there: True
    enter_step = lambda self, here, there: None
    test_change = lambda self, here, there: 0.0
    special = lambda self, kind, here, there: None
    moved = lambda self, point: point
    trend = lambda self, points: ""
    lost = lambda self, points, here, error: (str(error), None)


LINE = {"F": lambda u, p: u, "F_x": lambda u, p: (1.0, 0.0)}


def walk(curve, to=1.0, **options):
    return follow(curve, "p", to, None, 400, options.pop("back", None), False, "points", **options)


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
def test_a_narrow_tongue_is_not_stepped_over(width):
    """A test that is below zero on an interval of this width only."""
    found = walk(Curve(**LINE, tests={"period doubling": lambda u, p: (p - 0.437) ** 2 - width**2 / 4 + (p - 0.437) ** 3}))
    assert [s.kind for s in found.special] == ["period doubling"] * 2
    assert [s.value for s in found.special] == pytest.approx([0.437 - width / 2, 0.437 + width / 2], abs=width**2 + 1e-10)
    assert all(s.ok for s in found.special)


def test_a_touch_is_no_change():
    assert not walk(Curve(**LINE, tests={"period doubling": lambda u, p: (p - 0.437) ** 2 + 1e-9})).special


def test_a_branch_point_near_which_nothing_is_found():
    """Corrections fail within 5e-4 of it: its value comes from beside, and is exact."""
    away = lambda u, p: abs(p - 0.3123) < 5e-4
    found = walk(Curve(**LINE, tests={"branch point": lambda u, p: np.sin(p - 0.3123)}, fails=away))
    (point,) = found.special
    assert point.value == pytest.approx(0.3123, abs=1e-11)
    assert point.ok and point.residual < 1e-8


def test_what_is_not_refined_says_so():
    away = lambda u, p: abs(p - 0.3123) < 5e-3
    (point,) = walk(Curve(**LINE, tests={"period doubling": lambda u, p: np.sin(p - 0.3123)}, fails=away)).special
    assert not point.ok and 1e-3 < point.residual < 1e-1


def test_round_a_fold_and_back():
    """p = 1/2 − (u − √½)² from u = 0: it folds at p = 1/2 and comes back to 0, which is an end of the range."""
    top = np.sqrt(0.5)
    found = walk(Curve(lambda u, p: p - 0.5 + (u - top) ** 2, lambda u, p: (2 * (u - top), 1.0)))
    assert found.ended and "came back to p = 0" in found.message
    assert [s.value for s in found.special] == pytest.approx([0.5], abs=1e-12)
    assert 0 < found.turned < 1


def test_every_range_split_in_two_gives_the_same_points():
    """One unit of x is the range, so that the curve of each part is another one."""
    values = lambda a, b: [
        s.value for s in walk(Curve(**LINE, p0=a, span=b - a, tests={
            "period doubling": lambda u, p: np.sin(9 * p * (b - a)) - 0.2, "branch point": lambda u, p: np.cos(7 * p * (b - a)),
        }), b).special
    ]  # fmt: skip
    assert values(0.0, 1.0) == pytest.approx([*values(0.0, 0.43), *values(0.43, 1.0)], abs=1e-9)


def test_nothing_is_raised_behind_the_first_point():
    """Corrections fail beyond 0.7, in the middle of what would be the last step too."""
    found = walk(Curve(**LINE, fails=lambda u, p: p > 0.7))
    assert not found.ended and "lost at p = 0.69" in found.message and len(found.values) > 3
    found = walk(Curve(**LINE, fails=lambda u, p: 0.95 < p < 1 + 1e-9))
    assert not found.ended and "lost" in found.message


def test_steps_are_not_longer_than_asked_for():
    assert np.diff(walk(Curve(**LINE), max_step=0.03).values).max() <= 0.03 + 1e-12
    with pytest.raises(ap.ModelError, match="max_step"):
        walk(Curve(**LINE), max_step=2.0)


def test_a_limit_of_slower_blows():
    known = [(v, CurvePoint(np.array([1 + v, 2 + v + v**2]), np.zeros(2), None, 1)) for v in (0.4, 0.2, 0.1)]
    assert _limit(known, 0.0) == pytest.approx([1.0, 2.0], abs=1e-12)
