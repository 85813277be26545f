"""Whether the velocities that a form is written in determine all others at a state.

A form in pseudo-velocities π̇ inverts Φ = ∂(π̇, f)/∂q̇, one in independent velocities ∂f/∂q̇_μ. Where such a matrix is singular
the form has no answer, although the motion has one: ẋ = ẏ/tan φ says nothing at φ = π. In floating point tan π is −1.2e-16,
not zero; the formula then gives a finite number made of rounding errors. So singular values are looked at, in the units of the
entries at other states with the same parameters: an answer keeps about as many of its sixteen digits as the least of them has.
The rows ∂f/∂q̇ themselves are looked at in the same way.
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
"""Of the usual size of the entries: below it the answer would have fewer than eight digits."""


class SolvedBlock:
    """A matrix of t, q, v, (m, n) with m <= n, that has to have rank m for a form to have an answer, and its usual sizes."""

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
        """Whether it changes with the state; a constant matrix was looked at when the form was derived."""
        return bool(self.matrix.free_symbols & {*self.system.positions, *self.system.velocities})

    def lost(self, values: Mapping[Symbol, Any]) -> int:
        """How many singular values are next to nothing at a state."""
        if not len(self.matrix) or not self.varies:
            return 0
        rows, columns = self._usual(values)
        return int((singular(self._at(values) * rows[:, None] * columns)[1] <= ALMOST_SINGULAR).sum())

    def require_regular(self, values: Mapping[Symbol, Any]) -> None:
        """Raise `Undetermined` where the matrix is singular but for rounding."""
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
                near = {s: x + rng.uniform(-1, 1) * (1 + abs(x)) if s in moved else x for s, x in values.items()}
                try:
                    sizes = np.maximum(sizes, np.abs(self._at(near)))
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
