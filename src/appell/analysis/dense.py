"""A motion between its steps as polynomials, to be read at many times at once.

On each step the dense output of a method is a polynomial in time: its values at Chebyshev's points give it back,

    z(t) = Σ_j w_j z_j/(t − t_j) / Σ_j w_j/(t − t_j),        w_j = (−1)^j sin((2j + 1)π/2m)

Berrut and Trefethen, SIAM Review 46 (2004) 501, (4.2), (5.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.motion.motion import Motion

Array = NDArray[np.float64]

POINTS = (12, 48)
"""Points a step: enough for the pairs of Runge and Kutta, and for long series."""
EXACT = 1e-10
"""Share of the size of the states to which the polynomials must give back a state that they were not made from."""


class Dense:
    """States of a motion at any of its times, by polynomials on its steps.

    again: times in the order of the run → the motion there.
    """

    def __init__(self, motion: Motion, again: Callable[[Array], Motion]):
        self.motion = motion
        self.way = 1.0 if motion.t[-1] >= motion.t[0] else -1.0
        self.breaks = np.unique(self.way * motion.t)
        for count in POINTS:
            self._read(again, count)
            if self._exact(again):
                break

    def _read(self, again: Callable[[Array], Motion], count: int) -> None:
        angle = (2 * np.arange(count) + 1) * np.pi / (2 * count)
        self.weights = (-1.0) ** np.arange(count) * np.sin(angle)
        low, high = self.breaks[:-1, None], self.breaks[1:, None]
        self.nodes = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
        found = again(self.way * self.nodes.ravel())
        self.z = np.hstack([found.q, found.v]).reshape(*self.nodes.shape, -1)

    def _exact(self, again: Callable[[Array], Motion]) -> bool:
        """Whether a state in each step, where no point is, comes out."""
        times = self.breaks[:-1] + 0.2718 * np.diff(self.breaks)
        found = again(self.way * times)
        off = np.abs(np.hstack([found.q, found.v]) - self._states(times))
        return bool((off <= EXACT * np.abs(self.z).max(axis=(0, 1))).all())

    def _states(self, times: Array) -> Array:
        k = np.clip(np.searchsorted(self.breaks, times, side="right") - 1, 0, len(self.breaks) - 2)
        away = times[:, None] - self.nodes[k]
        on = away == 0
        with np.errstate(divide="ignore", invalid="ignore"):
            share = self.weights / away
            share = share / share.sum(axis=1, keepdims=True)
        share = np.where(on.any(axis=1, keepdims=True), on, share)
        return np.einsum("tj,tjz->tz", share, self.z[k])

    def powers(self) -> Array | None:
        """The steps in powers of the share of each that has passed, (degree + 1, nz, steps); None where polynomials of a high
        degree have no digits in powers."""
        count = len(self.weights)
        if count > POINTS[0]:
            return None
        share = (1 - np.cos((2 * np.arange(count) + 1) * np.pi / (2 * count))) / 2
        found: Any = np.linalg.solve(np.vander(share, increasing=True), self.z.transpose(1, 2, 0).reshape(count, -1))
        return found.reshape(count, self.z.shape[2], self.z.shape[0])

    def __call__(self, times: Array) -> Motion:
        """The motion at times within the run, in any order."""
        motion, nq = self.motion, self.motion.q.shape[1]
        z = self._states(self.way * times)
        span = motion.span or (float(motion.t[0]), float(motion.t[-1]))
        return replace(motion, t=times, q=z[:, :nq], v=z[:, nq:], work=np.zeros(len(times)), lost=None, span=span)


__all__ = ["Dense"]
