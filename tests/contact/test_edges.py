"""Impacts on an edge of a gap, where its normal jumps: the run ends there. Beside it, the impact is that of one side."""

import numpy as np
import pytest
from sympy import Abs, Max, Min, Piecewise, sqrt

import appell as ap

x, y = ap.coordinates("x y")
DOWN = {x: -1.0, y: 1.0, x.d: 1.0, y.d: -1.0}
EDGES = {
    "roof": (y + Abs(x), {y: 1.0, y.d: -1.0}, "on an edge"),
    "two slopes": (Max(y + x, y - x), {y: 1.0, y.d: -1.0}, "on an edge"),
    "root": (y + sqrt(x**2), DOWN, "on an edge"),
    "uneven roof": (y + Piecewise((-x, x < 0), (x / 2, True)), DOWN, "on an edge"),
    "box": (Max(Abs(x), Abs(y)) - 1, {x: 2.0, y: 2.0, x.d: -1.0, y.d: -1.0}, "on an edge"),
    "diamond": (Abs(x) + Abs(y) - 1, {x: 2.0, x.d: -1.0}, "on an edge"),
    "gutter": (y - Abs(x), {x: -0.3, y: 1.0, x.d: 0.3, y.d: -1.0}, "in a corner"),
    "flat gutter": (Min(y - x / 2, y + x / 3), {x: -0.3, y: 1.0, x.d: 0.3, y.d: -1.0}, "in a corner"),
}


def flight(gap):
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=[ap.Unilateral(gap, "wall", 1)])


@pytest.mark.filterwarnings("ignore::appell.AppellWarning")
@pytest.mark.parametrize("name", EDGES)
def test_an_impact_on_an_edge_ends_the_run(name):
    gap, start, where = EDGES[name]
    motion = ap.simulate(flight(gap), start, 3.0)
    assert motion.status is ap.Status.JUMP and not motion.ok
    assert abs(motion.t[-1] - 1) < 1e-12 and where in motion.message and "'wall'" in motion.message
    assert np.allclose(motion.q[-1], [start.get(x, 0) + start.get(x.d, 0), start.get(y, 0) + start.get(y.d, 0)], atol=1e-12)


@pytest.mark.parametrize("name", ["roof", "root", "box", "diamond"])
def test_an_impact_beside_an_edge_is_that_of_its_side(name):
    """Elastic: v⁺ = v − 2 (n·v) n/|n|², with the normal of the side on which it is hit, here that of larger x or y."""
    gap, start, _ = EDGES[name]
    shifted = start | {(y if name == "diamond" else x): start.get(y if name == "diamond" else x, 0.0) + 1e-6}
    n = np.array({"box": [1.0, 0.0]}.get(name, [1.0, 1.0]))
    v = np.array([start.get(x.d, 0.0), start.get(y.d, 0.0)])
    motion = ap.simulate(flight(gap), shifted, 1.5)
    hits = [event for event in motion.impacts if event.kind == "impact"]
    assert motion.ok and np.allclose(motion.v[-1], v - 2 * (n @ v) * n / (n @ n) if hits else v, atol=1e-12)
    assert len(hits) == (0 if name == "root" else 1)  # along the other slope of the roof it flies by


def test_a_gap_with_a_smooth_piece_has_no_edge():
    """Max(0, x)² has one tangent at x = 0."""
    motion = ap.simulate(flight(y + Max(0, x) ** 2), {y: 1.0, y.d: -1.0}, 2.0)
    assert motion.ok and np.allclose(motion.final[y.d], 1.0, atol=1e-12)


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_the_tip_of_a_cone_has_no_normal(backend):
    """A start on it is refused; a fall onto it, along a line on which the distance has no slope, ends there."""
    cone = flight(y + sqrt(x**2 + ap.parameters("w") ** 2))
    with pytest.raises(ap.ConstraintError, match="has no normal"):
        ap.simulate(cone, {}, 1.0, {"w": 0.0}, backend=backend)
    motion = ap.simulate(cone, {y: 1.0, y.d: -1.0}, 3.0, {"w": 0.0}, backend=backend)
    assert not motion.ok and "has no normal" in motion.message and motion.t[-1] == pytest.approx(1.0)
