"""A check that the velocities of a form determine all others at a state.

A form in pseudo-velocities π̇ inverts Φ = ∂(π̇, f)/∂q̇, one in independent velocities ∂f/∂q̇_μ. Where such a matrix is singular
the form has no solution, although the motion exists: ẋ = ẏ/tan φ is undefined at φ = π. In floating point tan π is −1.2e-16,
not zero, and the formula gives a finite number that is only rounding error. So singular values are checked, scaled by the
entries at other states with the same parameters: a result loses as many of its sixteen digits as the smallest singular value
indicates. The rows ∂f/∂q̇ themselves are checked in the same way.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from appell.errors import SingularConfiguration
from appell.forms.engine.evaluation import FLOAT, Tape
from appell.forms.engine.linear_solve import Undetermined
from appell.model import System
from appell.rows import singular

ALMOST_SINGULAR = 1e-8
"""Threshold relative to the usual size of the entries: below it the result would have fewer than eight digits."""


class SolvedBlock:
    """A matrix of t, q, v, (m, n) with m <= n, that must have rank m for a form to have a solution, and its usual sizes."""

    def __init__(self, system: System, matrix: Any, remedy: str = ""):
        self.system, self.matrix, self.remedy = system, matrix, remedy
        self._scales: dict[tuple[float, ...], tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"system": self.system, "matrix": self.matrix, "remedy": self.remedy, "_scales": {}}

    @cached_property
    def _tape(self) -> Tape:
        return Tape(list(self.matrix))

    @cached_property
    def varies(self) -> bool:
        """Whether it depends on the state; a constant matrix was checked when the form was derived."""
        return bool(self.matrix.free_symbols & {*self.system.positions, *self.system.velocities})

    def lost(self, values: Mapping[Symbol, Any]) -> int:
        """The number of negligible singular values at a state."""
        if not len(self.matrix) or not self.varies:
            return 0
        rows, columns = self._usual(values)
        return int((singular(self._at(values) * rows[:, None] * columns)[1] <= ALMOST_SINGULAR).sum())

    def require_regular(self, values: Mapping[Symbol, Any]) -> None:
        """Raises `Undetermined` where the matrix is singular up to rounding."""
        if self.lost(values):
            raise Undetermined(f"the velocities that it is written in do not determine the others here; {self.remedy}")

    def _at(self, values: Mapping[Symbol, Any]) -> NDArray[np.float64]:
        flat = np.array(self._tape(dict(values), FLOAT), dtype=np.float64)
        if not np.isfinite(flat).all():
            raise Undetermined("the velocities have coefficients that are not finite here")
        return flat.reshape(self.matrix.shape)

    def _usual(self, values: Mapping[Symbol, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Factors of rows and columns that bring the entries at other states to a size of about one."""
        key = tuple(float(values[p]) for p in self.system.parameters)
        if key not in self._scales:
            rng, moved = random.Random(0), {*self.system.positions, *self.system.velocities}
            sizes = np.abs(self._at(values))
            for _ in range(4):
                nearby = {s: x + rng.uniform(-1, 1) * (1 + abs(x)) if s in moved else x for s, x in values.items()}
                try:
                    sizes = np.maximum(sizes, np.abs(self._at(nearby)))
                except (Undetermined, SingularConfiguration, ArithmeticError, ValueError):
                    continue
            self._scales[key] = _equilibrated(sizes)
        return self._scales[key]


def _equilibrated(sizes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Factors that bring the largest entry of every row and column to about one; one for rows and columns of zeros."""
    rows, columns = np.ones(len(sizes)), np.ones(sizes.shape[1])
    for _ in range(4):
        for axis, factors in ((1, rows), (0, columns)):
            largest = (sizes * rows[:, None] * columns).max(axis=axis)
            factors /= np.sqrt(np.where(largest > 0, largest, 1.0))
    return rows, columns
