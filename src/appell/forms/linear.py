"""K x = b with numbers of any kind, the rank found on the way.

Full pivoting on rows and columns scaled to a largest entry of 1 gives R x_P + S x_F = c with P the pivot columns and F
those that no pivot is left for. Each null vector e_F − R⁻¹S e_F of K may move multipliers only: accelerations are unique
or the configuration is singular. Of all Λ then, the one of least norm is taken:

    x = x0 + Z y,        y = −(ZᵀZ)⁻¹ Zᵀ x0        Z the null vectors (redundant rows; empty for independent ones)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = list[Any]


class Undetermined(Exception):
    """The linear equations do not determine what they should, or contradict each other."""


def solve_linear(K: Sequence[Row], b: Row, unique: Sequence[bool], tolerance: float, names: Sequence[str]) -> Row:
    """x with K x = b, K (m, n) with m >= n or less. `unique[j]` demands that x_j be determined."""
    return solve_with_nullity(K, b, unique, tolerance, names)[0]


def solve_with_nullity(
    K: Sequence[Row], b: Row, unique: Sequence[bool], tolerance: float, names: Sequence[str]
) -> tuple[Row, int]:
    """x as in `solve_linear`, and the number of null vectors of K."""
    n = len(unique)
    rows = [[*row, rhs] for row, rhs in zip(K, b, strict=True)]
    if not all(_finite(x) for row in rows for x in row):
        raise Undetermined("the equations have a coefficient that is not finite at this state")
    size = [max((abs(row[j]) for row in rows), default=0) or 1 for j in range(n)]
    rows = [_scaled([x / s for x, s in zip(row, [*size, 1], strict=True)]) for row in rows]
    pivots = _eliminate(rows, n, tolerance)
    _check_consistent(rows, len(pivots), tolerance)
    x = [0] * n
    for i, j in enumerate(pivots):
        x[j] = rows[i][n]
    null = _null_vectors(rows, pivots, n)
    lost = [names[j] for j in range(n) if unique[j] and any(abs(z[j]) > math.sqrt(tolerance) for z in null)]
    if lost:
        raise Undetermined(
            f"{', '.join(lost)} not determined here: the constraint rows, or the inertia on their kernel, lose rank"
        )
    x = [value / s for value, s in zip(x, size, strict=True)]
    return _shortest(x, [[value / s for value, s in zip(z, size, strict=True)] for z in null]), len(null)


def _finite(x: Any) -> bool:
    return x - x == 0


def _scaled(row: Row) -> Row:
    size = max(abs(x) for x in row[:-1]) if len(row) > 1 else 0
    return [x / size for x in row] if size else row


def _eliminate(rows: list[Row], n: int, tolerance: float) -> list[int]:
    """Gauss–Jordan in place with full pivoting; the pivot column of each of the first rows."""
    pivots: list[int] = []
    while len(pivots) < min(len(rows), n):
        k = len(pivots)
        candidates = ((abs(rows[i][j]), i, j) for i in range(k, len(rows)) for j in range(n) if j not in pivots)
        size, best, column = max(candidates, key=lambda c: c[0])
        if not size > tolerance:
            break
        rows[k], rows[best] = rows[best], rows[k]
        pivot = rows[k][column]
        rows[k] = [x / pivot for x in rows[k]]
        for i, row in enumerate(rows):
            if i != k and row[column]:
                factor = row[column]
                rows[i] = [x - factor * y for x, y in zip(row, rows[k], strict=True)]
        pivots.append(column)
    return pivots


def _check_consistent(rows: list[Row], rank: int, tolerance: float) -> None:
    scale = 1 + max((abs(row[-1]) for row in rows[:rank]), default=0)
    if any(abs(row[-1]) > math.sqrt(tolerance) * scale for row in rows[rank:]):
        raise Undetermined("redundant constraint rows contradict each other at this state")


def _null_vectors(rows: list[Row], pivots: list[int], n: int) -> list[Row]:
    vectors = []
    for free in (j for j in range(n) if j not in pivots):
        z = [0] * n
        z[free] = 1
        for i, j in enumerate(pivots):
            z[j] = -rows[i][free]
        vectors.append(z)
    return vectors


def _shortest(x: Row, null: list[Row]) -> Row:
    """x + Z y of least norm, one null vector after another made orthogonal (Gram–Schmidt)."""
    basis: list[Row] = []
    for z in null:
        for e in basis:
            part = _dot(z, e) / _dot(e, e)
            z = [a - part * c for a, c in zip(z, e, strict=True)]
        basis.append(z)
    for e in basis:
        part = _dot(x, e) / _dot(e, e)
        x = [a - part * c for a, c in zip(x, e, strict=True)]
    return x


def _dot(a: Row, b: Row) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0)
