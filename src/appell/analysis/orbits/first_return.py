"""The first return of a guess to itself: the period with which the search for a closed orbit begins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.shooting import CLOSING_ATOL, Shooting
from appell.analysis.requests import simulated
from appell.backends import silence
from appell.errors import ModelError, SimulationError, Status
from appell.motion.motion import Motion

Array = NDArray[np.float64]

COMES_BACK = 0.2
"""Along a guess, the state after a reset may differ from the one it returns to by this fraction of its size."""
RETURNS = 4000
"""Samples of the guess searched for its first return."""
STEPS_OF_RETURN, MOST_STEPS_OF_RETURN = 1000, 300_000
"""Steps of the guess in the first search for its return, and in the last."""
MOST_HORIZONS = 60
"""Searches for a return, each over three times as long as the one before it."""


def first_return(shooting: Shooting, z0: Array) -> float:
    """The time of the first return of the guess, crossing the plane through its start in the same direction."""
    direction = shooting.rate(shooting.since, z0)
    speed = np.linalg.norm(direction)
    if not speed > 0:
        raise ModelError("the guess is an equilibrium: it has no period; give another one, or period_guess=")
    horizon = 20 * float(np.linalg.norm(z0) or 1.0) / float(speed)  # a first try: its unit is no time
    steps = STEPS_OF_RETURN
    if shooting.natural:
        sizes = [np.abs(block).max(initial=0.0) for block in (z0[: shooting.nq], z0[shooting.nq :])]
        shooting.options["atol"] = CLOSING_ATOL * float(min((size for size in sizes if size > 0), default=1.0))
    for _ in range(MOST_HORIZONS):
        run_so_far = _limited_run(shooting, z0, horizon, steps)
        horizon, cut = float(run_so_far.t[-1] - shooting.since), run_so_far.status is not Status.OK
        times = shooting.since + np.linspace(0, horizon, RETURNS)
        if (T := _between_resets(shooting, run_so_far, z0)) is not None:
            return T
        motion = run_so_far.at(times)
        z = np.hstack([motion.q, motion.v])
        offset = np.array([shooting.difference(row - z0) for row in z])
        scale = np.abs(offset).max(axis=0)
        scale[scale == 0] = 1
        distance = np.linalg.norm(offset / scale, axis=1)
        side = offset @ direction
        has_left = np.maximum.accumulate(distance) > 0.5 * distance.max()
        # a return crosses the plane upwards near the start, after the motion has been far from it
        hits = np.flatnonzero((side[:-1] < 0) & (side[1:] >= 0) & has_left[1:] & (distance[1:] < 0.3 * distance.max()))
        if len(hits):
            return float(times[hits[0] + 1] - shooting.since)
        horizon, steps = 3 * horizon, 3 * steps if cut else steps
        if steps > MOST_STEPS_OF_RETURN:
            break
    raise ModelError("the guess does not come back to itself; give period_guess=, or a guess nearer to the orbit")


def _limited_run(shooting: Shooting, z0: Array, horizon: float, steps: int) -> Motion:
    """The motion from a guess, up to a number of steps."""
    start = dict(zip(shooting.symbols, map(float, z0), strict=True))
    with silence():
        options = {**shooting.options, "max_steps": steps}
        motion = simulated(shooting.run, start, shooting.since + horizon, since=shooting.since, **options)
    if motion.status not in (Status.OK, Status.MAX_STEPS) or motion.t[-1] == shooting.since:
        raise SimulationError(f"a shot from t = {shooting.since:g} ended early: {motion.message}", motion=motion)
    return motion


def _between_resets(shooting: Shooting, motion: Motion, z0: Array) -> float | None:
    """The time after which a reset leads back to the guess, or between two resets that lead to the same state."""
    if not motion.resets:
        return None
    states = np.array([z0, *(state.after for state in motion.reset_states)])
    times = np.array([shooting.since, *(state.time for state in motion.reset_states)])
    size = np.maximum(np.abs(states).max(axis=0), 1e-300)
    for begin in (0, 1):
        returns = [np.abs(shooting.difference(z - states[begin]) / size).max() < COMES_BACK for z in states[begin + 1 :]]
        if any(returns):
            return float(times[begin + 1 + returns.index(True)] - times[begin])
    return None


__all__ = ["first_return"]
