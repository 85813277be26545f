"""Directions in which pairs begin to slide: u ∥ y = D x + c with u·y >= 0.

A pair is a friction with a two-dimensional slip. With the rest of the mode fixed, normal reactions and rates are affine in the
friction forces of the pairs,

    N = a + A λ,     y = b + B λ,     λ_i = −μ_i σ_i N_i u_i   (N_i = 1 and μ_i = F_i with a limit)

so that each trial direction costs a small linear system instead of a saddle point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from appell.modes.mode import SLIP, STICK, FrictionState, Mode
from appell.nonsmooth.friction.directions_in_space import DIRECTION_NOISE, SLIP_BACKWARDS, DirectionSearch
from appell.rows import DIFFERENCED_LOST, least_squares, saddle_point

if TYPE_CHECKING:
    from appell.nonsmooth.friction.problem import Problem

Array = NDArray[np.float64]

ANGLES_SOUGHT = np.linspace(-np.pi, np.pi, 65) + 0.0371
"""Angles between which a direction is sought. None lies along an axis: a zero at an end of an interval could be missed."""
ANGLE_SETTLED, ANGLE_ACCEPTED = 1e-13, 1e-9
"""Newton steps, rad, at which the iteration ends, and up to which its last angles are a solution."""
ANGLES_AGREE = 1e-6
"""Change of all angles, rad, in a round pair by pair, after which Newton's method can begin."""


@dataclass(frozen=True, eq=False)
class Beginning:
    """k pairs that begin to slide: a (k,), A (k, 2k), b (2k,), B (2k, 2k), and μσ, (k,)."""

    a: Array
    A: Array
    b: Array
    B: Array
    mu: Array

    @staticmethod
    def of(problem: Problem, mode: Mode, begin: Sequence[int]) -> Beginning:
        layout = problem.layout
        undirected = with_frictions(mode, {i: mode.frictions[i]._replace(u=(0.0, 0.0)) for i in begin})
        W, r = problem.columns(undirected)
        mode_rows, rows = mode.rows(layout), [row for i in begin for row in layout.own_rows(i)]
        right = np.column_stack([r, problem.W[:, rows]])
        targets = np.zeros((len(mode_rows), right.shape[1]))
        targets[:, 0] = -problem.c[mode_rows]
        x, lam, *_ = saddle_point(problem.M, problem.J[mode_rows], W[:, mode_rows], right, targets)
        y = problem.J[rows] @ x
        y[:, 0] += problem.c[rows]
        N = np.zeros((len(begin), right.shape[1]))
        for k, i in enumerate(begin):
            if (row := layout.normals[i]) is None:
                N[k, 0] = 1.0
            else:
                N[k] = lam[mode_rows.index(row)]
        signs = np.array([float(mode.frictions[i].sign) for i in begin])
        return Beginning(N[:, 0], N[:, 1:], y[:, 0], y[:, 1:], problem.mu[list(begin)] * signs)

    def rates(self, angles: Array) -> Array:
        """y of all pairs, (…, k, 2), if they begin to slide at the angles (…, k)."""
        k = len(self.a)
        u = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        push = np.zeros((*angles.shape[:-1], 2 * k, k))  # λ = −push N
        for i in range(k):
            push[..., 2 * i : 2 * i + 2, i] = self.mu[i] * u[..., i, :]
        N = np.linalg.solve(np.eye(k) + self.A @ push, np.broadcast_to(self.a, angles.shape)[..., None])
        y = self.b - (self.B @ (push @ N))[..., 0]
        return y.reshape(*angles.shape, 2)

    def across(self, angles: Array) -> Array:
        """The components of y perpendicular to the directions, (…, k)."""
        y = self.rates(angles)
        return np.cos(angles) * y[..., 1] - np.sin(angles) * y[..., 0]

    def forward(self, angles: Array, sizes: Array) -> bool:
        """Whether every pair begins to slide along its direction and not against it."""
        y = self.rates(angles)
        return bool((np.cos(angles) * y[..., 0] + np.sin(angles) * y[..., 1] >= -SLIP_BACKWARDS * sizes).all())

    def parallel(self, i: int, angles: Array) -> list[float]:
        """All angles of pair i for which y_i is parallel to its direction, with the other angles given."""
        trials = np.tile(angles, (len(ANGLES_SOUGHT), 1))
        trials[:, i] = ANGLES_SOUGHT
        try:
            values = self.across(trials)[:, i]
        except np.linalg.LinAlgError:
            return []

        def value(theta: float) -> float:
            shifted = angles.copy()
            shifted[i] = theta
            return float(self.across(shifted)[i])

        fall = np.isfinite(values[:-1]) & np.isfinite(values[1:]) & ((values[:-1] > 0) != (values[1:] > 0))
        return [float(brentq(value, ANGLES_SOUGHT[k], ANGLES_SOUGHT[k + 1], xtol=1e-15, rtol=1e-14))  # type: ignore[arg-type]
                for k in np.flatnonzero(fall)]  # fmt: skip

    def together(self, angles: Array) -> Array | None:
        """The solution for all angles near given ones, by Newton's method, or pair by pair."""
        for start in (angles, self._in_turn(angles)):
            if start is not None and (solution := self._newton(start)) is not None:
                return solution
        return None

    def _newton(self, angles: Array) -> Array | None:
        """Newton's method for all angles at once; None where it does not converge."""
        step = 1e-7  # rad, over which slopes are differenced
        rounding = DIRECTION_NOISE * (np.abs(self.b) + np.abs(self.B) @ np.repeat(np.abs(self.mu * self.a), 2)).max()
        for _ in range(40):
            value = self.across(angles)
            if np.abs(value).max() <= rounding:  # sticking frictions may leave one direction only, where slopes are rounding
                return angles
            varied = self.across(angles + step * np.eye(len(angles)))
            try:  # feet that begin to turn about a common point leave one combination of the angles free at first
                turn = least_squares((varied - value).T / step, -value, DIFFERENCED_LOST)
            except np.linalg.LinAlgError:
                return None
            if not np.isfinite(turn).all():
                return None
            angles = angles + np.clip(turn, -0.5, 0.5)
            if np.abs(turn).max() < ANGLE_SETTLED:
                return angles
        return angles if np.abs(turn).max() < ANGLE_ACCEPTED else None

    def _in_turn(self, angles: Array) -> Array | None:
        """Each angle in turn from the others, until none changes: a start for Newton's method."""
        angles = angles.copy()
        for _ in range(60):
            previous = angles.copy()
            for i in range(len(angles)):
                roots = self.parallel(i, angles)
                if not roots:
                    return None
                angles[i] = min(roots, key=lambda theta, i=i: abs(_turn(theta - previous[i])))
            if np.abs(_turn(angles - previous)).max() < ANGLES_AGREE:
                return angles
        return angles


def directed(problem: Problem, mode: Mode, begin: Sequence[int]) -> list[Mode]:
    """The mode with the directions in which the pairs `begin` to slide: all solutions for one pair, one for several."""
    if _beyond_angles(problem, mode, begin):
        return DirectionSearch(problem, mode, tuple(begin)).admissible_modes()
    beginning = Beginning.of(problem, mode, begin)
    sizes = problem.scale[1][[problem.layout.own_rows(i)[0] for i in begin]]
    if len(begin) == 1:
        angles = [np.array([theta]) for theta in beginning.parallel(0, np.zeros(1))]
    else:
        solution = beginning.together(_against_stick(problem, mode, begin))
        angles = [] if solution is None else [solution]
    return [_towards(mode, begin, choice) for choice in angles if beginning.forward(choice, sizes)]


def refined(problem: Problem, mode: Mode) -> Mode | None:
    """A mode with approximate initial directions, with these made exact; None where there is no solution nearby."""
    begin = [i for i, friction in enumerate(mode.frictions) if friction.fixed]
    if not begin:
        return mode
    if _beyond_angles(problem, mode, begin):
        search = DirectionSearch(problem, mode, tuple(begin))
        u = search.solution_near([np.array(mode.frictions[i].u) for i in begin])
        return None if u is None else search.with_directions(u)
    guess = np.array([np.arctan2(mode.frictions[i].u[1], mode.frictions[i].u[0]) for i in begin])
    angles = Beginning.of(problem, mode, begin).together(guess)
    return None if angles is None else _towards(mode, begin, angles)


def _beyond_angles(problem: Problem, mode: Mode, begin: Sequence[int]) -> bool:
    """Whether a three-dimensional slip begins, or reactions are not affine in the forces of the pairs."""
    loaded = any(problem.layout.loads[i] for i, friction in enumerate(mode.frictions) if friction.state == SLIP)
    return loaded or problem.law is not None or any(problem.layout.parts[i] > 2 for i in begin)


def _against_stick(problem: Problem, mode: Mode, begin: Sequence[int]) -> Array:
    """Angles opposite to the forces that would make them stick."""
    force = problem.solve(with_frictions(mode, {i: FrictionState(STICK) for i in begin})).force
    forces = [force[problem.layout.columns(i)] for i in begin]
    return np.array([np.arctan2(-y, -x) for x, y in forces])


def with_frictions(mode: Mode, frictions: dict[int, FrictionState]) -> Mode:
    """The mode with some frictions changed."""
    return replace(mode, frictions=tuple(frictions.get(i, friction) for i, friction in enumerate(mode.frictions)))


def _towards(mode: Mode, begin: Sequence[int], angles: Array) -> Mode:
    u = [(float(np.cos(x)), float(np.sin(x))) for x in angles]
    return with_frictions(mode, {i: mode.frictions[i]._replace(u=direction) for i, direction in zip(begin, u, strict=True)})


def _turn(angle: Array) -> Array:
    """An angle between −π and π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


__all__ = ["Beginning", "directed", "refined", "with_frictions"]
