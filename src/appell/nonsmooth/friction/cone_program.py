"""The point deepest inside half-spaces and round cones: max τ over k, by cutting planes, then by Newton's method.

    slope·k + value >= τ          slope·k + value − |F k + f| >= τ          (a second-order cone programme in few unknowns)

Tangent planes of the cones bound τ from above (Kelley 1960); its value at k bounds it from below. Where both bounds are close
to each other and to zero, so that the sign of τ decides, the optimality conditions are solved to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from appell.rows import NEWTON_LOST, least_squares

Array = NDArray[np.float64]

MARGIN_CLEAR = 1e-4
"""Beyond this, τ is certainly not zero and need not be known any better."""
CONE_NOISE = 1e-13
"""Violation that is rounding."""
WEIGHT_INACTIVE = 1e-9
"""Weight below which a bound counts as inactive."""
CONE_CUTS, CONE_NEWTON_STEPS = 60, 30
"""Most tangent planes per cone, and most Newton iterations."""


class LinearBound(NamedTuple):
    """slope·k + value >= τ."""

    slope: Array
    value: float

    def at(self, k: Array) -> LinearBound:
        return self

    def depth(self, k: Array) -> float:
        return float(self.slope @ k + self.value)

    def curvature(self, k: Array) -> Array:
        return np.zeros((len(k), len(k)))


class ConeBound(NamedTuple):
    """slope·k + value − |F k + f| >= τ, F (parts, d)."""

    slope: Array
    value: float
    F: Array
    f: Array

    def tangent_at(self, u: Array) -> LinearBound:
        """The tangent plane where F k + f is along u."""
        u = u / (np.linalg.norm(u) or 1.0)
        return LinearBound(self.slope - u @ self.F, float(self.value - u @ self.f))

    def at(self, k: Array) -> LinearBound:
        return self.tangent_at(self.F @ k + self.f)

    def depth(self, k: Array) -> float:
        return float(self.slope @ k + self.value - np.linalg.norm(self.F @ k + self.f))

    def curvature(self, k: Array) -> Array:
        """Second derivatives of the depth with respect to k, (d, d)."""
        force = self.F @ k + self.f
        size = float(np.linalg.norm(force)) or 1.0
        perpendicular = self.F - np.outer(force / size, force @ self.F / size)  # perpendicular to the force
        return -(perpendicular.T @ perpendicular) / size


class ConeOptimum(NamedTuple):
    """τ, k (d,), and the dual weight y of each bound: Σ y ∇g = 0 and Σ y = 1, with y > 0 only on active bounds."""

    tau: float
    k: Array
    weights: Array


def largest_margin(bounds: Sequence[LinearBound | ConeBound], d: int) -> ConeOptimum | None:
    """The deepest point in d unknowns, or None where there is no finite one."""
    lines = [(i, bound) for i, bound in enumerate(bounds) if isinstance(bound, LinearBound)]
    cones = [(i, bound) for i, bound in enumerate(bounds) if isinstance(bound, ConeBound)]
    lines += [(i, cone.tangent_at(u)) for i, cone in cones for u in _spanning_directions(len(cone.f))]
    best: ConeOptimum | None = None
    for _ in range(CONE_CUTS):
        optimum = _linear([line for _, line in lines], d)
        if optimum is None:
            return best
        tau, k, of_lines = optimum
        weights = np.zeros(len(bounds))
        np.add.at(weights, [i for i, _ in lines], of_lines)
        reached = min([tau, *(cone.depth(k) for _, cone in cones)])
        if best is None or reached > best.tau:
            best = ConeOptimum(reached, k, weights)
        if reached > MARGIN_CLEAR or tau < -MARGIN_CLEAR or tau - best.tau <= CONE_NOISE:
            return best
        if tau - best.tau < MARGIN_CLEAR and (exact := _polished(bounds, ConeOptimum(tau, k, weights))) is not None:
            return exact
        lines += [(i, cone.at(k)) for i, cone in cones if cone.depth(k) < tau - CONE_NOISE]
    return best


def _spanning_directions(parts: int) -> list[Array]:
    """Directions in a plane or in space: to the sides, edges and corners of a square or cube."""
    return [np.array(u, dtype=float) for u in product((-1, 0, 1), repeat=parts) if any(u)]


def _linear(lines: Sequence[LinearBound], d: int) -> tuple[float, Array, Array] | None:
    """τ, k and the weight of each plane, for max τ below all planes: a linear programme."""
    left = np.array([np.append(-line.slope, 1.0) for line in lines])
    solution = linprog(np.append(np.zeros(d), -1.0), A_ub=left, b_ub=[line.value for line in lines],
                       bounds=[(None, None)] * d + [(None, 1e3)], method="highs")  # fmt: skip
    return (float(solution.x[-1]), solution.x[:-1], -solution.ineqlin.marginals) if solution.status == 0 else None


def _polished(bounds: Sequence[LinearBound | ConeBound], start: ConeOptimum) -> ConeOptimum | None:
    """The deepest point, started from one nearby: Σ y ∇g = 0, Σ y = 1 and g = τ for the depths g of all active bounds."""
    (tau, k, weights), d = start, len(start.k)
    bearing: list[int] = np.flatnonzero(weights > WEIGHT_INACTIVE).tolist()
    y = weights[bearing]
    for _ in range(CONE_NEWTON_STEPS):
        touching = [bounds[i].at(k) for i in bearing]
        slopes = np.array([line.slope for line in touching])
        bend = np.sum([weight * bounds[i].curvature(k) for weight, i in zip(y, bearing, strict=True)], axis=0)
        left = np.zeros((d + 1 + len(y), d + 1 + len(y)))
        left[:d, :d], left[:d, d + 1 :], left[d, d + 1 :], left[d + 1 :, :d], left[d + 1 :, d] = bend, slopes.T, 1, slopes, -1
        residual = np.concatenate([y @ slopes, [y.sum() - 1], [line.depth(k) - tau for line in touching]])
        step = least_squares(left, -residual, NEWTON_LOST)
        k, tau, y = k + step[:d], tau + float(step[d]), y + step[d + 1 :]
        if np.abs(residual).max() <= CONE_NOISE:
            break
    noise = 10 * CONE_NOISE
    if np.abs(residual).max() > noise or (y < -WEIGHT_INACTIVE).any() or any(bound.depth(k) < tau - noise for bound in bounds):
        return None
    dual = np.zeros(len(bounds))
    dual[bearing] = y
    return ConeOptimum(tau, k, dual)


__all__ = ["WEIGHT_INACTIVE", "ConeBound", "ConeOptimum", "LinearBound", "largest_margin"]
