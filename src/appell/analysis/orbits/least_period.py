"""The least period of an orbit: a closed curve that is traversed several times also closes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.analysis.natural_scales import extents
from appell.analysis.orbits.orbit import ORBIT_VANISHED, Orbit

Array = NDArray[np.float64]

MOST_TURNS = 12
"""Turns of an orbit that are looked for."""
TURN_SAMPLES = 9
"""Times at which the state is compared with that of a turn later."""
SAME_TURN = 1e-6
"""Largest difference of two turns that are the same, as a fraction of the size of the orbit."""


def with_least_period(orbit: Orbit, difference: Callable[[Array], Array]) -> Orbit:
    """The orbit, with its least period in the message where it was passed several times; difference: reduces z by whole turns.

    z(t + T/n) = z(t)        the largest n
    """
    turns = _turns(orbit, difference) if orbit.ok else 1
    if turns == 1:
        return orbit
    message = f"{orbit.message}; passed {turns} times in this period: the least one is {orbit.period / turns:.9g} s"
    return replace(orbit, message=message)


def is_rest(orbit: Orbit) -> bool:
    """Whether no coordinate or velocity moves along the orbit: it has shrunk to an equilibrium."""
    states = np.hstack([orbit.motion.q, orbit.motion.v])
    return not (np.ptp(states, axis=0) > ORBIT_VANISHED * orbit.scale).any()


def _turns(orbit: Orbit, difference: Callable[[Array], Array]) -> int:
    motion, T = orbit.motion, orbit.period
    states = np.hstack([motion.q, motion.v])
    if is_rest(orbit):
        return 1
    size = extents(motion.run, float(motion.t[0]), states, T, 1.0)
    state = lambda times: (lambda at: np.hstack([at.q, at.v]))(motion.at(times))
    for n in range(MOST_TURNS, 1, -1):
        times = motion.t[0] + T * (1 - 1 / n) * (np.arange(TURN_SAMPLES) + 0.382) / TURN_SAMPLES
        gaps = np.array([difference(gap) for gap in state(times + T / n) - state(times)])
        if (np.abs(gaps) <= SAME_TURN * size).all():
            return n
    return 1


__all__ = ["with_least_period"]
