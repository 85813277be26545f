"""The search behind `tree.reach`: Gauss–Newton steps that stay within bounds and near a configuration.

e stacks p − p* (in units of the size of the tree) and the rotation log(R R*ᵀ) of each target, and the errors of couplings and
loops of the robot itself. A step d of q solves

    min |d − n|²   with   J d = −e,   lower − q <= d <= upper − q        n = difference(q, near)

first by the normal equations d = n + Jᵀ (J Jᵀ)⁻¹ (−e − J n), where joints that would pass a bound are held there; if such a
step does not help, as a bounded least-squares problem in which the rows of J have the weight `WEIGHT`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from appell.rows import least_squares
from appell.tree import groups
from appell.tree.closures import turn_between
from appell.tree.frames import size_of, velocity_units
from appell.tree.symbols.frame_symbols import FrameSymbols

if TYPE_CHECKING:
    from appell.tree.dynamics import TreeDynamics

Array = NDArray[np.float64]

WEIGHT = 1e6  # of targets against nearness: both are met to 1e-12 of their size, and ten digits remain
SEARCH_STEPS = 200  # per search; a regular target takes about five
FIRST_TRUST_RADIUS = 0.7  # rad, or spans: where a linearised pose is still useful
ALL_COUNT = 1e-15  # of the largest singular value: below any row of weight 1 beside those of WEIGHT
TARGET_SETTLED = 1e-8  # rad, or spans: a step along met targets; the remaining gain in nearness is its square
STUCK = 1e-12  # smaller steps or trust radii make no progress
DAMPING_SHARE = 1e-14  # of each diagonal entry of J Jᵀ: keeps it regular where rows are dependent
ROWLESS = 1e-30  # of its trace: keeps rows regular that no joint moves; their multipliers have no effect
SLOW_PROGRESS = 0.9  # a step along met targets below this fraction of the last one is good; else nearness decides
MET = 1e-9  # of the size of the tree, or rad: smaller errors are rounding, and nearness decides
CLOSURE_WEIGHT = 1e3  # weight of the robot's own loops against targets: out of reach they open by a millionth of the miss
LONG_WAY = 10.0  # m, and sizes of the tree: beyond, metres and radians are of very different size
END_STEPS = 3  # Newton steps at the end; each squares the error
ROUNDED_PLACE = 64 * 2.2e-16  # of |p*| and the size of the tree: a frame is not brought nearer to its target
HELD_ROUNDS = 4  # rounds of holding joints at bounds before the bounded least-squares problem is solved


@dataclass(frozen=True)
class Target:
    """The target of a frame: p (3,) or R (3, 3) or both."""

    frame: str | FrameSymbols
    p: Array | None
    R: Array | None


class ReachSearch:
    """One inverse problem: errors, Jacobians and bounds at a configuration.

    closures: the robot's own couplings and loops; limit_functions: limits of more than one coordinate.
    """

    def __init__(self, tree: TreeDynamics, targets: Sequence[Target], home: Array, *, limits: bool):
        self.tree, self.targets, self.home = tree, targets, home
        self.size = size_of(tree.nodes)
        self.low, self.high = np.full(tree.nv, -np.inf), np.full(tree.nv, np.inf)
        coordinates = np.full(tree.nv, -1)
        ranges = tree.ranges if limits else {}
        for node in tree.nodes:
            if node.name in ranges and node.kind.nq == node.kind.nv == 1:
                (self.low[node.iv], self.high[node.iv]), coordinates[node.iv] = ranges[node.name], node.iq
        self.limited = np.flatnonzero(coordinates >= 0)
        self.limited_coordinates = coordinates[self.limited]
        self.closures = [tie for fitting in tree.fittings if (tie := fitting.closure(tree)) is not None]
        self.limit_functions = [side for fitting in tree.fittings if limits and (side := fitting.excess(tree)) is not None]
        self.units = velocity_units(tree.nodes, self.span)

    @cached_property
    def span(self) -> float:
        """The length of the way: the size of the tree, or the distance of the farthest target, m."""
        pairs = [(self.tree.pose(target.frame, self.home)[1], target.p) for target in self.targets if target.p is not None]
        return max(self.size, *(float(np.linalg.norm(p - goal)) for p, goal in pairs), 0.0)

    @property
    def is_far(self) -> bool:
        """Whether the tree has lengths among its coordinates, and a long way to go."""
        return self.span > max(LONG_WAY, LONG_WAY * self.size) and bool((self.units == self.span).any())

    @cached_property
    def is_linear(self) -> bool:
        """Whether the configuration space is linear: every joint has one coordinate, a length or an angle."""
        return all(node.kind.group[0] is groups.add and node.kind.nq == 1 for node in self.tree.nodes)

    @cached_property
    def angles(self) -> list[int]:
        return [node.iq for node in self.tree.nodes if node.kind.group[1] is groups.around]

    def after_step(self, q: Array, d: Array) -> Array:
        return self.clipped(q + d if self.is_linear else self.tree.integrate(q, d))

    def way_home(self, q: Array) -> Array:
        if not self.is_linear:
            return self.tree.difference(q, self.home)
        n = self.home - q
        if self.angles:
            n[self.angles] = groups.around(q[self.angles], self.home[self.angles])
        return n

    def clipped(self, q: Array) -> Array:
        q = q.copy()
        q[self.limited_coordinates] = np.clip(q[self.limited_coordinates], self.low[self.limited], self.high[self.limited])
        return q

    # --- errors ------------------------------------------------------------------------------------------------------

    def errors(self, q: Array) -> tuple[Array, Array]:
        """(e, J). The rate of the logarithm is replaced by the angular velocity, which is exact where the error vanishes."""
        e, rows = [], []
        for target in self.targets:
            R, p, J = self.tree.pose(target.frame, q)
            if target.p is not None:
                e.append((p - target.p) / self.size)
                rows.append(J[:3] / self.size)
            if target.R is not None:
                e.append(turn_between(R, target.R))
                rows.append(J[3:])
        for tie in self.closures:
            gap, slope = tie(q)
            e.append(CLOSURE_WEIGHT * gap)
            rows.append(CLOSURE_WEIGHT * slope)
        if self.limit_functions:
            beyond, slope = self.limit_excess(q)
            e.append(CLOSURE_WEIGHT * beyond[beyond > 0])
            rows.append(CLOSURE_WEIGHT * slope[beyond > 0])
        return np.concatenate(e), np.concatenate(rows)

    def limit_excess(self, q: Array) -> tuple[Array, Array]:
        """How far q is beyond `limit_functions`, (k,), and the Jacobian, (k, nv)."""
        excesses = [side(q) for side in self.limit_functions]
        empty = (np.zeros(0), np.zeros((0, self.tree.nv)))
        e, slope = (np.concatenate(column) for column in zip(empty, *excesses, strict=True))
        return e, slope

    def distances(self, q: Array) -> list[tuple[float, float]]:
        """|p − p*|, m, and |log(R R*ᵀ)|, rad, of each target; NaN for parts without a target."""
        pairs = []
        for target in self.targets:
            R, p, _ = self.tree.pose(target.frame, q)
            distance = math.nan if target.p is None else float(np.linalg.norm(p - target.p))
            turn = math.nan if target.R is None else float(np.linalg.norm(turn_between(R, target.R)))
            pairs.append((distance, turn))
        return pairs

    def closure_error(self, q: Array) -> float:
        """The largest error of the robot's own couplings, loops and limits."""
        ties = (float(np.abs(tie(q)[0]).max()) for tie in self.closures)
        return max(float(self.limit_excess(q)[0].max(initial=0.0)), *ties, 0.0)

    def largest_error(self, q: Array) -> float:
        """The largest remaining distance (m), angle (rad) or coupling error."""
        return max(self.closure_error(q), *(x for pair in self.distances(q) for x in pair if x == x))

    def targets_met(self, q: Array, tolerance: float) -> bool:
        """Whether all errors are within the tolerance (m, rad), or distances are rounding."""
        rounded = [
            0.0 if target.p is None else ROUNDED_PLACE * (self.size + float(np.linalg.norm(target.p)))
            for target in self.targets
        ]
        missed = [
            distance > max(tolerance, rounding) or turn > tolerance
            for (distance, turn), rounding in zip(self.distances(q), rounded, strict=True)
        ]
        return self.closure_error(q) <= tolerance and not any(missed)

    # --- steps -------------------------------------------------------------------------------------------------------

    def run(self, q: Array, *, far: bool = False) -> Array:
        """Steps from q until the targets are met and no configuration nearby is nearer to `near`, or no step helps; far: see
        `step`."""
        q, radius, careful, last_length = self.tree.followed(self.clipped(q)), FIRST_TRUST_RADIUS, False, math.inf
        e, J = self.errors(q)
        merit = math.sqrt(e @ e)
        for _ in range(SEARCH_STEPS):
            n = self.way_home(q)
            d = self.bounded_step(q, e, J, n, radius) if careful else self.step(q, e, J, n, radius, far=far and merit >= MET)
            q_new, length = self.after_step(q, d), float(np.linalg.norm(d / self.units))
            e_new, J_new = self.errors(q_new)
            merit_new = math.sqrt(e_new @ e_new)
            exact = max(merit, merit_new) < MET  # both met: the step only moves nearer to `near`
            if exact:
                accepted = length < SLOW_PROGRESS * last_length or merit_new < 0.1 * merit or self.nearer(q_new, n)
            else:
                accepted = merit_new < merit * (1 - 1e-4)
            if accepted:
                q, e, J, merit, radius = q_new, e_new, J_new, merit_new, min(2 * radius, FIRST_TRUST_RADIUS)
                last_length = length if exact else math.inf
            elif careful or (exact and not self.at_bounds(q)):
                radius = min(radius, length) / 4
            if radius < STUCK or length < (TARGET_SETTLED if exact else STUCK):
                if careful or not self.at_bounds(q):
                    break
                accepted = False  # at bounds only the bounded step finds which are active
            careful = not accepted and not (exact and not self.at_bounds(q))
        return self.tree.followed(self.corrected(q, e, J))

    def corrected(self, q: Array, e: Array, J: Array) -> Array:
        """q after steps to the targets alone, as long as they help: steps that stay near allow errors up to `MET`."""
        for _ in range(END_STEPS):
            q_new = self.after_step(q, _least(J, -e))
            e_new, J_new = self.errors(q_new)
            if not e_new @ e_new < e @ e:
                break
            q, e, J = q_new, e_new, J_new
        return q

    def nearer(self, q: Array, n: Array) -> bool:
        """Whether q is nearer to `near` than a configuration whose difference from it is n."""
        m = self.way_home(q)
        return math.sqrt(m @ m) < math.sqrt(n @ n) - STUCK

    def at_bounds(self, q: Array) -> bool:
        at = q[self.limited_coordinates]
        return bool(((at <= self.low[self.limited]) | (at >= self.high[self.limited])).any())

    def step_bounds(self, q: Array, radius: float) -> tuple[Array, Array]:
        """The bounds of a step in each velocity, lower and upper."""
        high, limited_q = radius * self.units, q[self.limited_coordinates]
        low, most = -high, high[self.limited]
        low[self.limited] = np.maximum(-most, np.minimum(self.low[self.limited] - limited_q, 0.0))
        high[self.limited] = np.minimum(most, np.maximum(self.high[self.limited] - limited_q, 0.0))
        return low, high

    def step(self, q: Array, e: Array, J: Array, n: Array, radius: float, *, far: bool) -> Array:
        """A step by the normal equations; joints that would pass their bounds are held there, round by round.

        far: the least step is that in rad and spans, in which a way of 1 km is no reason to turn.
        """
        units = self.units if far else np.ones_like(self.units)
        shortest = lambda J, b: units * _least(J * units, b)
        d = n + shortest(J, -e - J @ n)
        if self.limit_functions:
            J, e = self.with_passed_limits(q, d, J, e)
            d = n + shortest(J, -e - J @ n)
        longest = np.abs(d / self.units).max()
        if not len(self.limited_coordinates):
            return d if longest <= radius else d * (radius / longest)
        low, high = self.step_bounds(q, radius)
        at_bound = (d < low) | (d > high)
        for _ in range(HELD_ROUNDS):
            if not at_bound.any():
                break
            d_held = np.where(at_bound, np.clip(d, low, high), n)
            d = d_held + shortest(J * ~at_bound, -e - J @ d_held)
            passed = ((d < low) | (d > high)) & ~at_bound
            if not passed.any():
                break
            at_bound |= passed
        return np.clip(d, low, high)

    def with_passed_limits(self, q: Array, d: Array, J: Array, e: Array) -> tuple[Array, Array]:
        """J and e with rows for the limits that a step d would pass."""
        beyond, slope = self.limit_excess(q)
        passed = (beyond <= 0) & (beyond + slope @ d > 0)
        return np.concatenate([J, CLOSURE_WEIGHT * slope[passed]]), np.concatenate([e, CLOSURE_WEIGHT * beyond[passed]])

    def bounded_step(self, q: Array, e: Array, J: Array, n: Array, radius: float) -> Array:
        """A step by least squares within the bounds and the trust radius."""
        low, high = self.step_bounds(q, radius)
        closed = high - low < STUCK
        low, high = np.where(closed, low - STUCK, low), np.where(closed, high + STUCK, high)
        weight = WEIGHT * max(1.0, self.span)  # errors are in sizes of the tree, nearness is in metres
        if self.limit_functions:
            J, e = self.with_passed_limits(q, np.clip(n + _least(J, -e - J @ n), low, high), J, e)
        A, b = np.vstack([weight * J, np.eye(self.tree.nv)]), np.concatenate([-weight * e, n])
        unbounded = least_squares(A, b, ALL_COUNT)
        if (unbounded >= low).all() and (unbounded <= high).all():  # no bound is active: the solution is the same
            return unbounded
        return lsq_linear(A, b, (low, high), method="bvls", tol=1e-14).x


def _least(J: Array, b: Array) -> Array:
    """Jᵀ (J Jᵀ)⁻¹ b: the shortest d with J d = b, up to the damping `DAMPING_SHARE`."""
    A = J @ J.T
    diagonal = A.diagonal()
    A.flat[:: len(A) + 1] = (1 + DAMPING_SHARE) * diagonal + (ROWLESS * diagonal.sum() + 1e-300)
    return np.linalg.solve(A, b) @ J


__all__ = ["ReachSearch", "Target"]
