"""Orbits beside a state that a motion has reached, and whether volumes shrink along a motion: the evidence for an attractor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.analysis.forcing import explicit_time
from appell.analysis.orbits.first_return import first_return
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.shooting import Shooting
from appell.analysis.orbits.variations import variations
from appell.compiled.run import Run
from appell.errors import AppellError
from appell.rows import VARIED_LOST, least_squares, range_of_projection
from appell.simulate.simulate import simulate

Array = NDArray[np.float64]

ORBIT_CLOSING_STEPS, CLOSED = 8, 1e-10
"""Steps of Newton's method, and the fraction of the extent to which it closes an orbit."""
ORBIT_IS_ANOTHER = 0.1
"""Fraction of the extent by which the start may move meanwhile: the orbit there is not the one that the motion approaches."""
SAME_ATTRACTOR = 1e-6
"""Two points of attractors are the same within this fraction of the extent."""
PERIODS_OF_VOLUME = 16
"""Periods along which the change of a volume is followed."""
SHRINKS = 1e-3
"""If the logarithm of the volume falls by more than this over these periods, it is an attractor and not a conservative sea."""


def closed_orbit(run: Run, z: Array, period: float, since: float, extent: Array, atol: float) -> Orbit | None:
    """The orbit or equilibrium near a state; None where Newton's method does not converge to it."""
    shooting = Shooting.of(run, since=since, modulo=None, rtol=1e-11, atol=1e-3 * atol, by=())
    begin = z
    try:
        for _ in range(ORBIT_CLOSING_STEPS):
            rows = shooting.rows([z], period)
            P, Phi = rows.matrices[0]
            size = float(np.abs(rows.gaps[0] / extent).max())
            if size <= CLOSED:
                return shooting.orbit([z], period, size, True, "", autonomous=False)
            step = least_squares((Phi - P) * extent / extent[:, None], -rows.gaps[0] / extent, VARIED_LOST)
            z = shooting.projected(z + extent * step)
            if not (np.abs(z - begin) <= ORBIT_IS_ANOTHER * extent).all():
                return None
    except AppellError:
        return None
    return None


def limit_cycle(run: Run, z: Array, since: float, atol: float) -> Orbit | None:
    """The limit cycle of an autonomous system near a state; None where it does not close or does not attract."""
    if explicit_time(run):
        return None
    shooting = Shooting.of(run, since=since, modulo=None, rtol=1e-10, atol=1e-2 * atol, by=())
    try:
        orbit = shooting.solve(z, first_return(shooting, z), fixed=False, autonomous=True, tolerance=1e-8)
    except AppellError:
        return None
    return orbit if orbit.ok and orbit.stable else None


def least_count(points: Array) -> int:
    """The smallest number of points, (m, …) in units of the extent, after which an orbit repeats."""
    m = len(points)
    deviation = lambda d: np.abs(np.roll(points, -d, axis=0) - points).max()
    return next(d for d in range(1, m + 1) if m % d == 0 and (d == m or deviation(d) < SAME_ATTRACTOR))


def volume_shrinks(run: Run, z: Array, t: float, T: float, atol: float) -> bool:
    """Whether volumes shrink along the motion from a state at time t; T: the period, s."""
    symbols = (*run.system.positions, *run.system.velocities)
    start, growth = dict(zip(symbols, map(float, z), strict=True)), 0.0
    try:
        for k in range(PERIODS_OF_VOLUME):
            motion = simulate(run, start, t + (k + 1) * T, since=t + k * T, atol=1e-2 * atol)
            derivatives = variations(motion, by=[], times=[t + k * T, t + (k + 1) * T])
            if not derivatives.complete:
                return "infinitely many" in derivatives.message
            R = np.linalg.qr(derivatives.monodromy @ range_of_projection(derivatives.state[0]))[1]
            growth += float(np.log(np.maximum(np.abs(np.diag(R)), 1e-300)).sum())
            start = motion.final
    except AppellError:
        return False
    return growth < -SHRINKS


__all__ = ["SAME_ATTRACTOR", "closed_orbit", "least_count", "limit_cycle", "volume_shrinks"]
