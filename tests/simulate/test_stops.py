"""Runs that end where an expression passes through zero, and all zeros of an expression along a motion."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Piecewise, floor, sin, sqrt

import appell as ap

x, y = ap.coordinates("x y")
g, e, u = ap.parameters("g e u")
THROW = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=g * y, name="throw")
FLOOR = ap.Unilateral(y, "floor", restitution=e)
WALLED = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=g * y, constraints=[FLOOR])
START = {x.d: 1.0, y.d: 5.0}


def thrown(stop, until=10.0, **options):
    return ap.simulate(THROW, START, until, {g: 10.0}, stop=stop, backend="vm", **options)


def test_the_message_names_the_condition_that_was_met():
    motion = thrown({"top": ap.falling(y.d), "far": x - 3})
    assert motion.status is ap.Status.STOPPED
    assert motion.ok
    assert motion.t[-1] == pytest.approx(0.5, abs=1e-14)
    assert motion.message == "stopped at t = 0.5, before 10: 'top', y.d, passed through zero, falling"
    assert abs(motion.final[y.d]) < 1e-14
    assert motion.at(0.25)[y][0] == pytest.approx(1.25 - 0.3125, abs=1e-12)


def test_a_bare_expression_is_met_either_way_and_a_direction_one_way():
    assert thrown(y - 0.8).t[-1] == pytest.approx(0.2, abs=1e-13)
    assert thrown(ap.falling(y - 0.8)).t[-1] == pytest.approx(0.8, abs=1e-13)


@pytest.mark.parametrize("stop", [y - 5 * ap.t + 5 * ap.t**2, x.d - 1, (x - 2) ** 2, x.d**2 + y**2])
def test_what_is_zero_all_along_or_touches_zero_does_not_stop(stop):
    assert thrown(stop).status is ap.Status.OK


def test_a_zero_at_the_start_is_no_stop_and_its_return_is():
    assert thrown(y).t[-1] == pytest.approx(1.0, abs=1e-13)
    assert thrown(ap.rising(y)).status is ap.Status.OK


def test_requested_times_end_with_the_stop():
    motion = thrown(x - 2.5, times=[0.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(motion.t, [0, 1, 2, 2.5])
    np.testing.assert_allclose(motion[x], motion.t)


def test_two_zeros_in_one_step():
    """A peg that a step of metres would pass."""
    motion = thrown(sqrt((x - 4) ** 2 + (y - 5 * x + 5 * x**2) ** 2) - 1e-4, max_step=10.0)
    assert motion.t[-1] == pytest.approx(4 - 1e-4, abs=1e-12)


@pytest.mark.parametrize("backend", ["vm", "c"])
def test_stops_beside_a_wall(backend):
    """A fall of 0.8 m takes 0.4 s; the velocity jumps over zero, the distance reaches it, the state is that after the blow."""
    run = lambda stop: ap.simulate(WALLED, {y: 0.8, x.d: 1.0}, 9.0, {g: 10.0, e: 0.2}, stop=stop, backend=backend)
    for stop, how in ((ap.rising(y.d), "jumped over zero"), (y, "reached zero in an impact")):
        motion = run(stop)
        assert how in motion.message
        assert motion.t[-1] == pytest.approx(0.4, abs=1e-12)
        assert motion.final[y.d] == pytest.approx(0.8, abs=1e-11)
        assert len(motion.impacts) == 1
    later = run(x - 8)  # at rest since 0.6 s
    assert later.t[-1] == pytest.approx(8.0, abs=1e-12)
    assert later.contacts[-1][1] == (0,)


def test_what_reaches_zero_where_a_reset_takes_it_back_ends_the_run():
    s = ap.states("s")
    fires = ap.System([x], x.d**2 / 2, rates={s: 1}, constraints=[ap.Reset(1 - s, {s: 0}, name="fire")])
    for stop, end in ((ap.rising(s - 1), 1.0), (ap.falling(s - 1), 3.5), (ap.falling(s - 0.5), 1.0)):
        motion = ap.simulate(fires, {}, 3.5, stop=stop, backend="vm")
        assert motion.t[-1] == pytest.approx(end, abs=1e-12) and len(motion.resets) == (1 if end == 1 else 3)


def test_a_stop_at_a_reading_of_a_control():
    """Zero is met at the very time of a reading; the control is not asked again."""
    asked = []
    pushed = ap.System([x], kinetic=x.d**2 / 2, forces={x: u})
    push = lambda t, q, v: asked.append(t) or {u: 1.0}
    motion = ap.simulate(pushed, {}, 9.0, control=push, rate=2, stop=ap.t - 2, backend="vm")
    assert motion.t[-1] == 2.0
    assert asked[-1] <= 2.0


def test_stops_in_an_ensemble_are_those_of_single_runs():
    speeds = np.array([1.0, 3.0, 7.0])
    many = ap.simulate_many(THROW, {x.d: 1.0, y.d: speeds}, 1.0, {g: 10.0}, stop={"down": ap.falling(y)}, backend="vm")
    np.testing.assert_allclose(many["t"], np.minimum(speeds / 5, 1), atol=1e-13)
    assert list(many["status"].values) == [ap.Status.STOPPED, ap.Status.STOPPED, ap.Status.OK]
    assert many.ok
    assert "'down'" in many["message"].values[0]
    top = ap.simulate_many(
        THROW, {x.d: 1.0, y.d: speeds}, 1.0, {g: 10.0}, stop=x - 0.2, keep={"top": ap.reduce.max(y)}, backend="vm"
    )
    np.testing.assert_allclose(top["top"], [0.05, 0.4, 1.2], atol=1e-12)


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        (g, "contains neither the time nor coordinates"),
        (x.dd, "x.dd, an acceleration"),
        (x > 3, "ap.rising\\(x - 3\\)"),
        ({}, "no condition"),
        ([x], "by name"),
        (ap.parameters("other"), "other, unknown to 'throw'"),
    ],
)
def test_a_stop_that_cannot_be_is_refused(stop, said):
    with pytest.raises(ap.ModelError, match=said):
        thrown(stop)


def test_all_crossings_of_an_expression_that_turns_in_a_step():
    motion = ap.simulate(THROW, START, 10.0, {g: 10.0}, backend="vm")
    np.testing.assert_allclose(motion.crossings(sin(70 * x)), np.arange(1, 223) * np.pi / 70, atol=1e-11)
    np.testing.assert_allclose(motion.crossings(ap.falling(y - 0.8)), [0.8], atol=1e-13)
    np.testing.assert_allclose(motion.crossings(y.dd + 5 + x), [5.0], atol=1e-12)
    assert not len(motion.crossings((x - 3) ** 2))
    assert not len(motion.crossings(floor(x) - 2.5))  # jumps over zero
    backwards = ap.simulate(THROW, START, -3.0, {g: 10.0}, backend="vm")
    np.testing.assert_allclose(backwards.crossings(x + 2), [-2.0], atol=1e-12)


def test_crossings_around_impacts_and_between_requested_times():
    times = [0.0, 2.0, 3.9]  # at 4 s y.d passes zero: rounding would decide whether it is counted
    motion = ap.simulate(WALLED, {y: 0.8, x.d: 1.0}, 3.9, {g: 10.0, e: 1.0}, times=times, backend="vm")
    np.testing.assert_allclose(motion.crossings(y.d), 0.8 * np.arange(1, 5), atol=1e-9)
    np.testing.assert_allclose(motion.crossings(ap.rising(y - 0.6)), 0.4 + 0.2 + 0.8 * np.arange(0, 5), atol=1e-9)


def test_what_cannot_be_bounded_says_so():
    motion = ap.simulate(THROW, START, 4.0, {g: 10.0}, backend="vm")
    with pytest.warns(ap.AppellWarning, match="could not be bounded"):
        motion.crossings(sin(1e9 * x))


def test_piecewise_stops_are_met_where_they_jump():
    motion = thrown(Piecewise((-1, x < 2), (1, True)))
    assert motion.t[-1] == pytest.approx(2.0, abs=1e-12)
    assert "jumped" in motion.message
