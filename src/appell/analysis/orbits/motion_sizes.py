"""Sizes of coordinates and velocities along a motion, as `natural_scales`, of which rounding has no part.

A body that spins uniformly has velocities that change by rounding only, 1e-31 of them at times. Taken as their size, this would
be the unit in which derivatives are required to be exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.analysis.natural_scales import LEAST_SIZE, alike, kinetic_weights, scales
from appell.compiled.run import Run

Array = NDArray[np.float64]

ROUNDING_OF_A_RUN = 1e-14
"""Change of a coordinate or velocity, as a fraction of its size, that rounding may cause in a run."""


def motion_weights(run: Run, t: float, z: Array) -> Array:
    """Kinetic weights at a state, (nz,). The four of a quaternion are equal: along itself it has no inertia, and which of its
    components that concerns depends on the attitude."""
    weights = kinetic_weights(run, t, z)
    for group in run.form.quaternions:
        weights[list(group)] = weights[list(group)].max()
    return weights


def known_ranges(states: Array, weights: Array, nq: int) -> Array:
    """Ranges of coordinates and velocities of states, (k, nz) → (nz,), 0 where rounding may have caused them. Velocities act on
    each other: their rounding is that of the largest in the kinetic metric."""
    size, largest = np.ptp(states, axis=0), np.abs(states).max(axis=0)
    rounding = ROUNDING_OF_A_RUN * np.concatenate([largest[:nq], alike(largest[nq:], weights[nq:])])
    return np.where(size > rounding, size, 0.0)


def motion_extents(run: Run, t: float, states: Array, duration: float, share: float = LEAST_SIZE) -> Array:
    """Scales of z from states along a motion, (k, nz) → (nz,)."""
    weights, nq = motion_weights(run, t, states[0]), run.form.nq
    return scales(known_ranges(states, weights, nq), weights, nq, duration, share)


__all__ = ["known_ranges", "motion_extents", "motion_weights"]
