"""Crossings where they are hard to see: at the very start of a long step, in the last part of it, between fixed steps; and
bouncing between two faces at once. Against closed forms; a located time is a root to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from sympy import Rational, sign, sin

import appell as ap
from appell.backends import AppellWarning, reason_against_c

x, y = ap.coordinates("x y")
BACKENDS = ["vm"] if reason_against_c() else ["c", "vm"]
both = pytest.mark.parametrize("backend", BACKENDS)


a = ap.parameters("a")
THROWN = ap.System([x], x.d**2 / 2, -a * x, constraints=[ap.Unilateral(x, "wall", Rational(1, 2))])  # ẍ = a over x >= 0


@both
@pytest.mark.parametrize("force, start, speed", [(1e4, 1e-7, -0.1), (1e6, 1e-7, -1.0)])
def test_a_dip_at_the_beginning_of_a_long_step(force, start, speed, backend):
    """In and out again within 2e-5 s, the step is 0.01 s: the wall is hit where x + v t + a t²/2 = 0 for the first time."""
    motion = ap.simulate(THROWN, {x: start, x.d: speed}, 0.05, {a: force}, backend=backend, step=0.01)
    first = (-speed - np.sqrt(speed**2 - 2 * force * start)) / force
    assert motion.impacts[0].time == pytest.approx(first, rel=1e-9)
    assert motion.impacts[0].before == pytest.approx(speed + force * first, rel=1e-9)


@both
def test_a_dip_at_the_end_of_a_long_step(backend):
    """The mirror image in time: the parabola goes below zero in the last 1/300 of the step only."""
    step, force, depth = 0.01, 1e4, 1e-9
    lowest = step * (1 - 1 / 900)
    start, speed = force * lowest**2 / 2 - depth, -force * lowest
    motion = ap.simulate(THROWN, {x: start, x.d: speed}, 0.03, {a: force}, backend=backend, step=step)
    assert motion.impacts[0].time == pytest.approx(lowest - np.sqrt(2 * depth / force), rel=1e-7)


@both
@pytest.mark.parametrize("force, start", [(-300.0, 3e-9), (-1e4, 1e-8)])
def test_a_crossing_far_shorter_than_the_step(force, start, backend):
    """The way to the wall takes 1e-5 of the step, beyond which x falls by 1e9 times the height that is left."""
    motion = ap.simulate(THROWN, {x: start}, 0.1, {a: force}, backend=backend, step=0.1)
    assert motion.impacts[0].time == pytest.approx(np.sqrt(-2 * start / force), rel=1e-9)
    assert motion[x].min() > -1e-15


@both
@pytest.mark.parametrize("step", [0.25, 7.0])
def test_long_fixed_steps_see_every_touch(backend, step):
    """A wall that oscillates three times in a step: its first touch is found all the same."""
    moving = ap.System([x], x.d**2 / 2, constraints=[ap.Unilateral(x - sin(3 * ap.t), "wall")])
    motion = ap.simulate(moving, {x: 0.95}, 20.0, backend=backend, step=step)
    assert motion.impacts[0].time == pytest.approx(np.arcsin(0.95) / 3, abs=1e-9)
    t = np.linspace(0, 20, 4001)
    assert (motion.at(t)[x] - np.sin(3 * t)).min() > -1e-9


def test_bouncing_between_two_faces_ends_in_their_corner():
    """A bead in a wedge of 20° with e = 0.8 under gravity: its blows on both sides accumulate, and it stays in the corner."""
    leaning = {"right": -1.2, "left": 1.2 + np.radians(20)}
    sides = [ap.Unilateral(y * np.cos(side) + x * np.sin(side), name, 0.8) for name, side in leaning.items()]
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=sides)
    motion = ap.simulate(system, {x: 0.02, y: 1.0}, 30.0, corner="first", rtol=1e-10)
    assert motion.ok and motion.t[-1] == 30.0
    assert np.abs(motion.q[-1]).max() < 1e-8 and np.abs(motion.v[-1]).max() < 1e-8
    assert np.abs(motion.balance).max() < 1e-8
    times = [i.time for i in motion.impacts]
    assert times == sorted(times)
    normals = np.array([[np.sin(s), np.cos(s)] for s in leaning.values()])
    expected = np.linalg.solve(normals.T, [0, 9.81])
    assert [motion.reaction(name)[-1] for name in ("right", "left")] == pytest.approx(expected, rel=1e-9)


@both
def test_impulses_of_bilateral_constraints_do_work(backend):
    """ẋ = 1 + ẏ/2 is kept by an impulse that does work where x moves: in a blow at the start as in a landing."""
    driven = ap.Constraint(x.d - 1 - y.d / 2, name="driven")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, {x: -x.d}, [driven, ap.Unilateral(y, "floor", Rational(1, 2))])
    motion = ap.simulate(system, {x.d: 0.0, y.d: -2.0}, 2.0, backend=backend, rtol=1e-11, atol=1e-13)
    assert motion.impacts[0].time == 0 and motion.impacts[-1].kind == "landing"
    assert np.abs(motion.balance).max() < 1e-9
    first = motion.impacts[0]
    assert first.after == pytest.approx(1.0) and first.impulse == pytest.approx(3 * (1 + 1 / 4))


@both
def test_constraints_that_drive_it_into_a_face_are_named(backend):
    lift = ap.Constraint(y - 1 + ap.t, name="lift")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[lift, ap.Unilateral(y, "floor")])
    with pytest.warns(AppellWarning, match="at t = 1 the bilateral constraints drive the motion into 'floor'"):
        motion = ap.simulate(system, {y: 1.0, y.d: -1.0}, 3.0, backend=backend)
    assert not motion.ok and motion.t[-1] == pytest.approx(1.0) and motion[y].min() > -1e-12


def test_an_impact_that_lifts_off_another_face_is_told():
    """Sliding on the floor into a wall that leans over: the floor is left at the impact."""
    system = ap.System(
        [x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[ap.Unilateral(y, "floor", 0), ap.Unilateral(x + y / 2, "wall")]
    )
    motion = ap.simulate(system, {x: 1.0, x.d: -2.0}, 0.6)
    assert [(i.constraint, i.kind) for i in motion.impacts] == [("floor", "landing"), ("wall", "impact"), ("floor", "leaving")]
    assert motion.impacts[1].time == motion.impacts[2].time == pytest.approx(0.5)
    assert motion.impacts[2].after == pytest.approx(8 / 5)


def test_a_very_long_rest_and_a_late_leaving():
    """Bounces into rest within 2 s, rests for an hour, is pulled off where 20 sin ωt = 10."""
    omega = 2 * np.pi / 4e4
    system = ap.System([y], y.d**2 / 2, 10 * y, {y: 20 * sin(omega * ap.t)}, [ap.Unilateral(y, "floor", Rational(1, 2))])
    motion = ap.simulate(system, {y: 1.0}, 4000.0, rtol=1e-10)
    assert [i.kind for i in motion.impacts[-2:]] == ["landing", "leaving"]
    assert motion.impacts[-1].time == pytest.approx(np.arcsin(0.5) / omega, rel=1e-9)
    assert motion[y][-1] > 1


# -- loads on what rests -----------------------------------------------------------------------------------------------


def flights(A, w, phase, until):
    """Times at which A sin(ωt + φ) lifts a ball of unit mass off its floor (e = 0), in closed form."""
    load, found, t, grid = lambda s: 10 - A * np.sin(w * s + phase), [], 0.0, 0.02 / w
    while True:
        while load(t) > 0 and t < until:
            t += grid
        if t >= until:
            return found
        t = t0 = brentq(load, t - grid, t, xtol=1e-15)
        found.append(t0)
        rise = lambda s, t0=t0: (
            -5 * (s - t0) ** 2 - A * (np.sin(w * s + phase) - np.sin(w * t0 + phase)) / w**2
            + A / w * np.cos(w * t0 + phase) * (s - t0)
        )  # fmt: skip
        t += 3 * grid
        while rise(t) > 0:
            t += grid
        t = brentq(rise, t - grid, t, xtol=1e-15)


def test_steps_at_rest_do_not_pass_over_a_load():
    """Nothing but the reaction changes while it rests, and no error of the state keeps steps short."""
    rng, (A, w, f) = np.random.default_rng(0), ap.parameters("A w f")
    force, floor = A * sin(w * ap.t + f), ap.Unilateral(x, "floor", 0)
    system = ap.System([x], x.d**2 / 2, 10 * x, {x: force}, [floor])
    for _ in range(30):
        values = {A: 10 * rng.uniform(1.02, 2.5), w: 10 ** rng.uniform(-1, 2.5), f: rng.uniform(-3, 0.3)}
        until = 6.3 * np.pi / values[w]
        motion = ap.simulate(system, {}, until, values, rtol=10 ** rng.uniform(-10, -5))
        leaves = [i.time for i in motion.impacts if i.kind == "leaving"]
        assert motion.ok
        np.testing.assert_allclose(leaves, flights(*(values[s] for s in (A, w, f)), until), atol=1e-3 / values[w])


def test_a_load_that_jumps_is_passed():
    """No step is short enough for a cubic to follow it: it presses, and nothing happens."""
    system = ap.System([x], x.d**2 / 2, 10 * x, {x: -5 * sign(sin(3 * ap.t) + 0.2)}, [ap.Unilateral(x, "floor", 0)])
    motion = ap.simulate(system, {}, 5.0)
    assert motion.ok and [i.kind for i in motion.impacts] == ["landing"]
