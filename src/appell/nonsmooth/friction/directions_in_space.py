"""Directions of incipient slip that are not plane angles, or whose bounds are not affine in the forces: u ∥ y(u), u·y >= 0.

    y(u) = D x(u) + c, x the solution of the whole problem with the directions u            Newton's method on spheres:
    Tᵀ y(u exp(T τ)) = 0, T the directions perpendicular to u                               u ← cos|τ| u + sin|τ| T τ/|τ|
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from appell.modes.mode import STICK, FrictionState, Mode
from appell.rows import DIFFERENCED_LOST, least_squares

if TYPE_CHECKING:
    from appell.nonsmooth.friction.problem import Problem

Array = NDArray[np.float64]

DIRECTION_NOISE = 1e-14
"""Rounding of the rates, as a fraction of their terms or of the scales of their rows."""
SLIP_BACKWARDS = 1e-9
"""Fraction of the rates, or of the scales of their rows, by which rounding may make an incipient slip point backwards."""
TURN_DIFFERENCED, TURN_STEPS = 1e-7, 40
"""Angle over which slopes are differenced, rad, and most Newton iterations."""
TURN_SETTLED, TURN_ACCEPTED = 1e-12, 1e-8
"""Newton steps, rad, at which the iteration ends, and up to which its last direction is a solution."""
LONGEST_TURN = 0.5
"""Largest rotation of a direction in one step, rad."""
SAME_DIRECTION = 1e-6
"""Directions that differ by less count as equal."""


def tangents(u: Array) -> Array:
    """Directions perpendicular to u, (parts, parts − 1); (−u₂, u₁) in a plane."""
    if len(u) == 2:
        return np.array([[-u[1]], [u[0]]])
    k = int(np.abs(u).argmin())
    first: Array = np.cross(u, np.eye(3)[k]).astype(float)
    first = first / np.linalg.norm(first)
    second: Array = np.cross(u, first).astype(float)
    return np.column_stack([first, second])


def turned(u: Array, turn: Array) -> Array:
    """u rotated by `turn` (parts − 1,) along its tangents, rad."""
    angle = float(np.linalg.norm(turn))
    if angle == 0.0:
        return u
    return np.cos(angle) * u + np.sin(angle) * (tangents(u) @ turn) / angle


@dataclass(frozen=True, eq=False)
class DirectionSearch:
    """The search for the directions in which the frictions `begin` of a mode begin to slide."""

    problem: Problem
    mode: Mode
    begin: tuple[int, ...]

    def with_directions(self, u: Sequence[Array]) -> Mode:
        """The mode with these directions."""
        changed = {i: self.mode.frictions[i]._replace(u=tuple(map(float, x))) for i, x in zip(self.begin, u, strict=True)}
        return replace(self.mode, frictions=tuple(changed.get(i, friction) for i, friction in enumerate(self.mode.frictions)))

    def rates(self, u: Sequence[Array]) -> list[Array] | None:
        """y of each friction, or None where the problem has no solution."""
        answer = self.problem.solve(self.with_directions(u))
        if not answer.solvable:
            return None
        y = self.problem.J @ answer.x + self.problem.c
        return [y[self.problem.layout.own_rows(i)] for i in self.begin]

    def across(self, u: Sequence[Array], axes: Sequence[Array]) -> Array | None:
        """Components of y along given axes of each friction, concatenated."""
        y = self.rates(u)
        return None if y is None else np.concatenate([T.T @ rate for T, rate in zip(axes, y, strict=True)])

    def solution_near(self, u: Sequence[Array]) -> list[Array] | None:
        """The solution near given directions."""
        rounding = DIRECTION_NOISE * max(self.sizes)
        for _ in range(TURN_STEPS):
            axes = [tangents(direction) for direction in u]
            value = self.across(u, axes)
            if value is None:
                return None
            if np.abs(value).max() <= rounding:
                return list(u)
            slopes = np.zeros((len(value), len(value)))
            for k in range(len(value)):
                varied = self.across(self._turned(u, TURN_DIFFERENCED * np.eye(len(value))[k]), axes)
                if varied is None:
                    return None
                slopes[:, k] = (varied - value) / TURN_DIFFERENCED
            turn = least_squares(slopes, -value, DIFFERENCED_LOST)
            if not np.isfinite(turn).all():
                return None
            u = self._turned(u, turn * min(1.0, LONGEST_TURN / max(float(np.abs(turn).max()), 1e-300)))
            if np.abs(turn).max() < TURN_SETTLED:
                return list(u)
        return list(u) if np.abs(turn).max() < TURN_ACCEPTED else None

    def forward(self, u: Sequence[Array]) -> bool:
        """Whether every slip begins along its direction and not against it."""
        y = self.rates(u)
        return y is not None and all(a @ b >= -SLIP_BACKWARDS * size for a, b, size in zip(u, y, self.sizes, strict=True))

    @property
    def sizes(self) -> list[float]:
        rows = [self.problem.layout.own_rows(i)[0] for i in self.begin]
        return self.problem.scale[1][rows].tolist()

    def _turned(self, u: Sequence[Array], turn: Array) -> list[Array]:
        ends = np.cumsum([len(direction) - 1 for direction in u])[:-1]
        return [turned(direction, angles) for direction, angles in zip(u, np.split(turn, ends), strict=True)]

    def against_stick(self) -> list[Array]:
        """Directions opposite to the forces that would make the frictions stick; along an axis where there are none."""
        stuck = replace(
            self.mode, frictions=tuple(
                FrictionState(STICK) if i in self.begin else friction for i, friction in enumerate(self.mode.frictions)
            ),
        )  # fmt: skip
        force = self.problem.solve(stuck).force
        directions = []
        for i in self.begin:
            opposite = -force[self.problem.layout.columns(i)]
            size = float(np.linalg.norm(opposite))
            directions.append(opposite / size if size > 0 and np.isfinite(size) else np.eye(len(opposite))[0])
        return directions

    def admissible_modes(self) -> list[Mode]:
        """The modes with admissible directions: all that are found for one friction, one for several."""
        opposite = self.against_stick()
        starts = [opposite]
        if len(opposite) == 1:
            starts += [[sign * axis] for axis in np.eye(len(opposite[0])) for sign in (1.0, -1.0)]
        solutions: list[list[Array]] = []
        for start in starts:
            u = self.solution_near(start)
            if u is not None and self.forward(u) and not any(_alike(u, solution) for solution in solutions):
                solutions.append(u)
        return [self.with_directions(u) for u in solutions]


def _alike(a: Sequence[Array], b: Sequence[Array]) -> bool:
    return all(float(np.abs(x - y).max()) < SAME_DIRECTION for x, y in zip(a, b, strict=True))


__all__ = ["DirectionSearch", "tangents", "turned"]
