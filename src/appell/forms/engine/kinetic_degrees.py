"""T = T2 + T1 + T0 by degree in the velocities: T2 = ½ v·Mv, T1 = b·v, T0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.forms.engine.derivation import gradient, restricted
from appell.forms.engine.matrices import Table, inverse, largest_block, row_times, samples
from appell.rows import regular
from appell.tidy import characters, collected

INVERTED_BLOCK_ROWS = 3
"""Largest block of a matrix whose inverse is written out."""
INVERSE_CHARACTERS = 400
"""Longest inverse used in equations, in characters."""
MATRIX_CHARACTERS = 10 * INVERSE_CHARACTERS
"""Longest matrix, in characters, for which the determinants of its blocks are written out."""


def is_short(inverse: Table | None) -> bool:
    """Whether an inverse is short enough to be used in equations, instead of names for its results."""
    return inverse is not None and sum(map(characters, inverse)) <= INVERSE_CHARACTERS


@dataclass(frozen=True, eq=False)
class Quadratic:
    """M (n, n), b (n, 1) and T0 of a function of degree two in n velocities."""

    M: Table
    b: Table
    T0: Expr

    @staticmethod
    def of(T: Expr, velocities: tuple[Symbol, ...]) -> Quadratic:
        """The parts of T by degree, by differentiation at rest."""
        at_rest = dict.fromkeys(velocities, sympy.Integer(0))
        p: list[Any] = gradient(T, velocities)
        n = len(velocities)
        entries: list[Any] = [collected(restricted(slope, at_rest)) for p_i in p for slope in gradient(p_i, velocities)]
        free: list[Any] = [collected(restricted(p_i, at_rest)) for p_i in p]
        return Quadratic(Matrix(n, n, entries), Matrix(n, 1, free), collected(restricted(T, at_rest)))

    def regular(self) -> bool:
        """Whether det M ≠ 0, at random states."""
        if not self.M.shape[0]:
            return True
        return any(regular(m) for m in samples(self.M, count=4))

    def inverse(self) -> Table:
        """M⁻¹, (n, n); nothing is expanded."""
        return inverse(self.M) if self.M.shape[0] else self.M

    def written_inverse(self) -> Table | None:
        """M⁻¹ where it comes from single entries or from blocks of at most three rows that are not too long. Else None."""
        rows = largest_block(self.M)
        long = rows > 1 and sum(map(characters, self.M)) > MATRIX_CHARACTERS
        return self.inverse() if rows <= INVERTED_BLOCK_ROWS and not long else None

    def times(self, v: Sequence[Expr]) -> list[Expr]:
        """M v + b, (n,)."""
        column = Matrix(list(v))
        return [row_times(self.M, i, column) + self.b[i] for i in range(len(v))]
