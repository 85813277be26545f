"""Where a motion is at a time does not depend on how long it goes on: no threshold, step or rule hangs on `until`."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap

RTOL = 1e-8


def states(system, start, until, time, parameters=None):
    """(q, v) at a time of a motion that goes on until another."""
    motion = ap.simulate(system, start, until, parameters, rtol=RTOL, atol=RTOL / 100, times=[time])
    assert motion.ok, (motion.message, motion.doubts)
    return np.concatenate([motion.q[0], motion.v[0]])


@pytest.mark.parametrize("name", sorted(ap.zoo.ALL))
def test_a_motion_of_the_zoo_is_where_it_is(name):
    example = ap.zoo.ALL[name]()
    time = min(example.until, 1.5)
    short, long = (states(example.system, example.start, k * time, time, example.parameters) for k in (1.0, 1.37))
    assert np.abs(long - short).max() <= 1e3 * RTOL * (1 + np.abs(short).max())


def test_random_oscillators_between_walls_are_where_they_are():
    """Two masses on springs, one with a wall of any restitution; until up to a hundred times as long."""
    x, y = ap.coordinates("x y")
    k, c, w, e = ap.parameters("k c w e")
    potential = k * (x**2 + (x - y) ** 2) / 2 + y**4 / 20
    wall = ap.Unilateral(x - w, restitution=e)
    system = ap.System([x, y], kinetic=x.d**2 / 2 + y.d**2, potential=potential, forces={x: -c * x.d}, constraints=[wall])
    rng = np.random.default_rng(11)
    for until in (2.3, 200.0):
        values = {k: rng.uniform(1, 4), c: rng.uniform(0, 0.2), w: -rng.uniform(0.1, 0.4), e: rng.choice([0.0, 0.6, 1.0])}
        start = {x: 0.3, y: rng.uniform(-0.3, 0.3), x.d: -1.0}
        short, long = (states(system, start, end, 2.0, values) for end in (2.0, until))
        assert np.abs(long - short).max() <= 1e3 * RTOL
