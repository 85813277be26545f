"""Polynomials for quantities along the steps of a motion, from their values at points inside each step.

    z(s) = Σ_j w_j z_j/(s − s_j) / Σ_j w_j/(s − s_j),        s_j = −cos((2j + 1)π/2m),  w_j = (−1)^j sin((2j + 1)π/2m)

with s from −1 at the beginning of a step to 1 at its end; Berrut and Trefethen, SIAM Review 46 (2004) 501, (4.2), (5.3). The
dense output of a method is a polynomial, and is reproduced exactly. This is checked in each step; a step where it fails (a long
series, projected states, several steps of the integrator between two samples) is halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

DENSE_POINTS = 12
"""Points per step: enough for Runge–Kutta pairs, of degree 7 at most, and few enough for accurate powers of s."""
CHEBYSHEV_ANGLES = (2 * np.arange(DENSE_POINTS) + 1) * np.pi / (2 * DENSE_POINTS)
DENSE_NODES, BARYCENTRIC_WEIGHTS = -np.cos(CHEBYSHEV_ANGLES), (-1.0) ** np.arange(DENSE_POINTS) * np.sin(CHEBYSHEV_ANGLES)
CHECKED_AT = np.array([-0.4564, 0.9513])
"""Points in a step, away from the nodes, at which the polynomial is compared with the motion."""
DENSE_MISFIT = 1e-11
"""Relative accuracy to which the polynomials must reproduce values that were not used to build them."""
DENSE_HALVINGS = 14
"""Most successive halvings of a step."""
FEW_HALVINGS = 3
"""The same where values are noisy and cost a call of the integrator each."""
LAST_DIGITS_OF_TIMES = 4.0
"""Rounding of times in a step, in units of their last digit: of its ends, of its nodes, and of where it is evaluated."""
STEP_WITHOUT_INTERIOR = 256
"""Steps shorter than this many spacings of their times are left out: they have no resolvable interior."""


@dataclass(frozen=True, eq=False)
class DenseSteps:
    """n steps in the order of a run: begin, end (n,), s; values (n, points, m) at `DENSE_NODES`; exact (n,): whether the
    polynomials reproduce the motion."""

    begin: Array
    end: Array
    values: Array
    exact: Bools

    @property
    def middle(self) -> Array:
        return (self.begin + self.end) / 2

    @property
    def half(self) -> Array:
        """Half the length of each step, with its sign."""
        return (self.end - self.begin) / 2

    def time(self, step: Ints, s: Array) -> Array:
        """Times of positions s in some steps, (k,), s; exact at the ends of a step."""
        inside = self.middle[step] + s * self.half[step]
        return np.where(s == -1, self.begin[step], np.where(s == 1, self.end[step], inside))

    def at(self, step: Ints, s: Array) -> Array:
        """The quantities at positions s inside some steps, (k, m)."""
        return np.einsum("kj,kjm->km", _shares(s), self.values[step])

    @cached_property
    def powers(self) -> Array:
        """The polynomials in powers of s, (`DENSE_POINTS`, m, n)."""
        n, _, m = self.values.shape
        powers = np.vander(DENSE_NODES, increasing=True)
        coefficients: Any = np.linalg.solve(powers, self.values.transpose(1, 2, 0).reshape(DENSE_POINTS, -1))
        return coefficients.reshape(DENSE_POINTS, m, n)

    @cached_property
    def moved(self) -> Array:
        """How much the quantities may change within the rounding of the times, (n, m)."""
        order = np.arange(1, DENSE_POINTS)[:, None, None]
        late = LAST_DIGITS_OF_TIMES * np.spacing(np.maximum(np.abs(self.begin), np.abs(self.end)))
        return (late / np.abs(self.half) * (order * np.abs(self.powers[1:])).sum(axis=0)).T


def _shares(s: Array) -> Array:
    differences = s[:, None] - DENSE_NODES
    on = differences == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = BARYCENTRIC_WEIGHTS / differences
        share = share / share.sum(axis=1, keepdims=True)
    return np.where(on.any(axis=1, keepdims=True), on, share)


def dense_steps(edges: Array, values: Callable[[Array], Array], noise: float = 0.0) -> DenseSteps:
    """The steps between edges (k,), in the order of the run; values: times in that order → quantities there, (times, m).

    noise: relative deviation of the values from a smooth motion, for methods that restart at each output time.
    """
    exactly, halvings = max(DENSE_MISFIT, noise), DENSE_HALVINGS if noise < DENSE_MISFIT else FEW_HALVINGS
    spacing = np.spacing(np.abs(edges).max(initial=0.0))
    long = np.flatnonzero(np.abs(np.diff(edges)) > STEP_WITHOUT_INTERIOR * spacing)
    begin, end = edges[long], edges[long + 1]
    parts_done: list[DenseSteps] = []
    size = np.zeros(0)
    for halving in range(halvings + 1):
        if not len(begin):
            break
        middle, half = (begin + end)[:, None] / 2, (end - begin)[:, None] / 2
        positions = np.concatenate([DENSE_NODES, CHECKED_AT])
        order = np.argsort(positions)
        samples = values((middle + half * positions[order]).ravel()).reshape(len(begin), len(positions), -1)[
            :, np.argsort(order)
        ]
        steps = DenseSteps(begin, end, samples[:, :DENSE_POINTS], np.ones(len(begin), dtype=bool))
        size = size if halving else np.abs(samples).max(axis=(0, 1), initial=0.0)
        predicted = np.einsum("bj,njm->nbm", _shares(CHECKED_AT), steps.values)
        misfit, allowed = np.abs(predicted - samples[:, DENSE_POINTS:]), exactly * size
        if (misfit > allowed).any():  # late times are too coarse for some of the steps to be told exactly
            allowed = allowed + steps.moved[:, None]
        exact = (misfit <= allowed).all(axis=(1, 2))
        finished = exact | (halving == halvings) | (half[:, 0] ** 2 <= (STEP_WITHOUT_INTERIOR * spacing) ** 2)
        parts_done.append(DenseSteps(begin[finished], end[finished], steps.values[finished], exact[finished]))
        begin, end, middle = begin[~finished], end[~finished], middle[~finished, 0]
        begin, end = np.stack([begin, middle], axis=1).ravel(), np.stack([middle, end], axis=1).ravel()
    if not parts_done:
        empty = np.zeros(0)
        return DenseSteps(empty, empty, np.zeros((0, DENSE_POINTS, values(empty).shape[1])), np.zeros(0, dtype=bool))
    columns = [
        np.concatenate(arrays) for arrays in zip(*((x.begin, x.end, x.values, x.exact) for x in parts_done), strict=True)
    ]
    sign = 1.0 if edges[-1] >= edges[0] else -1.0
    order = np.argsort(sign * columns[0], kind="stable")
    return DenseSteps(*(column[order] for column in columns))


__all__ = ["DENSE_POINTS", "DenseSteps", "dense_steps"]
