"""`ap.poincare`: crossings where closed forms put them."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin

import appell as ap
from appell import zoo

x, y = ap.coordinates("x y")
omega = ap.parameters("omega", positive=True)
SPRING = ap.System([x], x.d**2 / 2, x**2 / 2)


@pytest.mark.parametrize(("direction", "phases"), [(1, [3]), (-1, [1]), (0, [1, 3])])
def test_directions(direction, phases):
    """cos t = 0 downwards at π/2, upwards at 3π/2."""
    found = ap.poincare(SPRING, x, {x: 1.0}, count=6, direction=direction, rtol=1e-11)
    exact = np.sort(np.concatenate([np.array(phases) * np.pi / 2 + 2 * np.pi * k for k in range(6)]))[:6]
    assert found.ok and found.t == pytest.approx(exact, abs=1e-9)
    assert np.abs(found[x]) == pytest.approx(np.zeros(6), abs=1e-13)
    assert found[x.d] == pytest.approx(-np.sin(exact), abs=1e-9)


def test_stroboscope_and_what_is_skipped():
    example = zoo.oscillator_with_wall()
    w = next(p for p in example.system.parameters if str(p) == "omega")
    found = ap.poincare(example.system, sin(w * ap.t), example.start, count=20, skip=5, parameters=example.parameters)
    period = 2 * np.pi / 2.1
    assert found.t == pytest.approx(period * np.arange(6, 26), abs=1e-10) and found.skipped == 5
    motion = ap.simulate(example.system, example.start, 80.0, example.parameters, times=found.t[:3])
    assert found.q[:3] == pytest.approx(motion.q, abs=1e-7)
    assert found.dataset.sizes == {"crossing": 20}
    found.plot()


def test_impacts_are_a_section():
    """A ball from the height h hits at (2k + 1) √(2h/g) and leaves with √(2gh)."""
    ball = zoo.bouncing_ball()
    (z,) = ball.system.coordinates
    found = ap.poincare(ball.system, "floor", ball.start, count=7, parameters=ball.parameters)
    assert found.t == pytest.approx((2 * np.arange(7) + 1) * np.sqrt(2 / 9.81), abs=1e-8)
    assert found[z.d] == pytest.approx(np.full(7, np.sqrt(2 * 9.81)), abs=1e-8)
    same = ap.poincare(ball.system, ap.Unilateral(z, "floor"), ball.start, count=2, parameters=ball.parameters)
    assert same.t == pytest.approx(found.t[:2])


def test_fast_crossings_inside_long_steps():
    """A free particle takes one step over a section that turns round many times."""
    free = ap.System([x, y], (x.d**2 + y.d**2) / 2)
    found = ap.poincare(free, cos(3 * x), {x.d: 1.0}, count=12, direction=0, max_step=0.2)
    assert found.t == pytest.approx((2 * np.arange(12) + 1) * np.pi / 6, abs=1e-10)
    faster = ap.poincare(free, sin(500 * ap.t + 0.1), {x.d: 1.0}, count=30)
    assert faster.t == pytest.approx((2 * np.pi * np.arange(1, 31) - 0.1) / 500, abs=1e-10)


def test_an_ambiguous_corner_keeps_what_was_found():
    walls = [ap.Unilateral(x, "wall"), ap.Unilateral(y + 0.3 * x, "slope")]
    room = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {}, walls, name="corner")
    start = {x: 1.0, y: 1.0, x.d: -1.0, y.d: -1.0}
    found = ap.poincare(room, x - 0.5, start, count=5, direction=0)
    assert not found.ok and len(found) == 1 and "corner is not well posed" in found.message
    beside = ap.variations(room, start, 3.0)
    assert not beside.ok and len(beside.t) and "corner is not well posed" in beside.message
    spectrum = ap.lyapunov(room, start, 3.0, every=0.4)
    assert not spectrum.ok and "corner is not well posed" in spectrum.message


def test_what_is_not_crossed_says_so():
    ended = ap.poincare(SPRING, x - 2, {x: 1.0}, count=3, until=50.0)
    assert not ended.ok and "0 of 3" in ended.message and "50" in ended.message
    never = ap.poincare(SPRING, x - 2, {x: 1.0}, count=3)
    assert not never.ok and "nothing is crossed" in never.message
    with pytest.raises(ap.ModelError, match="no unilateral constraint"):
        ap.poincare(SPRING, "wall", {x: 1.0})
    with pytest.raises(ap.ModelError, match="direction"):
        ap.poincare(SPRING, x, {x: 1.0}, direction=2)
    with pytest.raises(ap.ModelError, match="at least 1"):
        ap.poincare(SPRING, x, {x: 1.0}, count=0)
    with pytest.raises(ap.ModelError, match="two faces"):
        stops = ap.Between(-1, x, 1, name="stops")
        ap.poincare(ap.System([x], x.d**2 / 2, 0, {}, [stops]), stops, {x.d: 1.0})
    with pytest.raises(ap.AppellError, match="y"):
        ap.poincare(SPRING, y, {x: 1.0})
