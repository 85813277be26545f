"""A time that is asked for is answered by the state after an event there, whatever other times are asked for with it.

Every quantity of row i of `motion.at(times)` is that of `motion.at(times[i])`, in which nothing is repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import Heaviside

import appell as ap
from appell.motion.loaded_motion import LoadedMotion

QUANTITIES = ("q", "v", "work", "acceleration", "multipliers", "energy", "balance", "dissipated")

x, y = ap.coordinates("x y")
u = ap.parameters("u")


def rubbing_block() -> tuple[Any, float]:
    """A block on a rough floor that meets a wall."""
    floor = ap.Constraint(y, name="floor")
    sole = ap.Friction(x.d, normal=floor, coefficient=0.3, name="sole")
    wall = ap.Unilateral(1 - x, restitution=0.5, name="wall")
    motion = ap.simulate(ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[floor, sole, wall]), {x.d: 4.0}, 2.0)
    return motion, float(motion.impacts[0].time)


def landing_ball() -> tuple[Any, float]:
    """A ball that falls on the ground and stays there."""
    ball = ap.System([y], y.d**2 / 2, 9.81 * y, constraints=[ap.Unilateral(y, name="ground")])
    motion = ap.simulate(ball, {y: 1.0}, 1.0)
    return motion, float(motion.impacts[0].time)


def switched_force() -> tuple[Any, float]:
    """A force that jumps at t = 1."""
    return ap.simulate(ap.System([x], x.d**2 / 2, forces={x: Heaviside(ap.t - 1)}), {}, 2.0), 1.0


def measured_force() -> tuple[Any, float]:
    """A recorded force that jumps at t = 1."""
    record = ap.sampled([0.0, 1.0, 2.0], [0.0, 3.0, 1.0], hold="zero")
    return ap.simulate(ap.System([x], x.d**2 / 2, forces={x: u}), {}, 2.0, {u: record}), 1.0


def held_input() -> tuple[Any, float]:
    """An input inside the potential that a control sets anew at t = 0.5."""
    system = ap.System([x], x.d**2 / 2, (x - u) ** 2 / 2)
    return ap.simulate(system, {x: 1.0}, 1.0, control=lambda t, q, v: {u: 1.0 + t}, rate=4), 0.5


@pytest.mark.parametrize("example", [rubbing_block, landing_ball, switched_force, measured_force, held_input])
def test_a_row_does_not_depend_on_the_other_times(example: Any) -> None:
    motion, event = example()
    times = [event, event, 0.1, event, event, event, float(motion.t[-1]), float(motion.t[-1])]
    together = motion.at(times)
    for i, time in enumerate(times):
        alone = motion.at(time)
        for name in QUANTITIES:
            value, expected = getattr(together, name)[i], getattr(alone, name)[0]
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12, err_msg=name)
        for face in (*motion.system.unilateral, *motion.system.frictions):
            np.testing.assert_allclose(together.reaction(face)[i], alone.reaction(face)[0], rtol=1e-12, atol=1e-12)


def test_a_run_keeps_the_samples_on_both_sides_of_an_event() -> None:
    motion, event = rubbing_block()
    for samples in (motion, motion.fine(200)):
        before, after = np.flatnonzero(samples.t == event)
        assert samples.v[before, 0] > 0 > samples.v[after, 0]
        assert samples.reaction("sole")[[before, after]] == pytest.approx([-2.943, 2.943])


def test_a_file_that_ends_at_an_event_is_read_after_it() -> None:
    motion, event = rubbing_block()
    last = int(np.flatnonzero(motion.t == event)[-1])
    ends_there = LoadedMotion(motion.dataset.isel(t=slice(0, last + 1), impact=slice(0, 1)))
    assert ends_there.at([event, event])[x.d] == pytest.approx(motion.v[last, 0])
