"""Solves K x = b with numbers of any kind, and finds its rank, independent of the units of rows and columns.

Rows and columns are scaled by powers of two so that a largest product of entries, one in each row and column, becomes a product
of ones, and no entry is larger than one (Duff and Koster 2001): masses of 1e-27 kg with lengths of 1 m then cause no loss of
rank. Full pivoting gives R x_P + S x_F = c with P the pivot columns and F the free ones. Each null vector e_F − R⁻¹S e_F of K
may change only multipliers: otherwise the configuration is singular. Of all Λ, the one of least norm is taken:

    x = x0 + Z y,        y = −(ZᵀZ)⁻¹ Zᵀ x0        Z the null vectors (redundant rows; empty for independent ones)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

Row = list[Any]


class Undetermined(Exception):
    """The linear equations do not determine what they should, or contradict each other."""


def solve_linear(K: Sequence[Row], b: Row, unique: Sequence[bool], tolerance: float, names: Sequence[str]) -> Row:
    """x with K x = b, K (m, n) of any shape. `unique[j]` demands that x_j be determined."""
    return solve_with_nullity(K, b, unique, tolerance, names)[0]


def solve_with_nullity(
    K: Sequence[Row], b: Row, unique: Sequence[bool], tolerance: float, names: Sequence[str]
) -> tuple[Row, int]:
    """x as in `solve_linear`, and the number of null vectors of K."""
    n = len(unique)
    rows = [[*row, rhs] for row, rhs in zip(K, b, strict=True)]
    if not all(_finite(x) for row in rows for x in row):
        raise Undetermined("the equations have a coefficient that is not finite at this state")
    row_powers, column_powers = _balance([row[:n] for row in rows], unique)
    rows = [[_shifted(x, r + c) for x, c in zip(row, [*column_powers, 0], strict=True)]
            for r, row in zip(row_powers, rows, strict=True)]  # fmt: skip
    rows = [[*row, abs(row[n])] for row in rows]  # the last entry: size of the terms of the right side
    pivots = _eliminate(rows, n, tolerance)
    _check_consistent(rows, len(pivots), tolerance)
    x = [0] * n
    for i, j in enumerate(pivots):
        x[j] = rows[i][n]
    null = _null_vectors(rows, pivots, n)
    undetermined = [names[j] for j in range(n) if unique[j] and any(abs(z[j]) > math.sqrt(tolerance) for z in null)]
    if undetermined:
        raise Undetermined(
            f"{', '.join(undetermined)} not determined here: the constraint rows, or the inertia on their kernel, lose rank"
        )
    unscaled = lambda vector: [_shifted(value, c) for value, c in zip(vector, column_powers, strict=True)]
    return _shortest(unscaled(x), [unscaled(z) for z in null]), len(null)


def _finite(x: Any) -> bool:
    return x - x == 0


def _power(x: Any) -> int:
    """The k with 2^(k−1) <= |x| < 2^k."""
    return math.frexp(x)[1] if isinstance(x, float | int) else int(x.context.mag(x))


def _shifted(x: Any, power: int) -> Any:
    """x 2^power."""
    if not power or not x:
        return x
    try:
        return math.ldexp(x, power) if isinstance(x, float | int) else x.context.ldexp(x, power)
    except OverflowError:
        return math.copysign(math.inf, x)


POWER_OF_ZERO = -(10**7)
"""The power of an entry that is zero."""


def _balance(K: Sequence[Row], unique: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Powers r, c of two with |K_ij| 2^(r_i + c_j) <= 1 for all entries, and about 1 for one in each row and column.

    The remaining freedom of uncoupled equations (r + s, c − s) is used to keep the size of the unique unknowns.
    """
    m, n = len(K), len(unique)
    e = np.array([[_power(x) if x else POWER_OF_ZERO for x in row] for row in K], dtype=np.int64).reshape(m, n)
    matched = [(i, j) for i, j in zip(*linear_sum_assignment(e, maximize=True), strict=True) if e[i, j] > POWER_OF_ZERO]
    r, c = np.zeros(m, dtype=np.int64), np.zeros(n, dtype=np.int64)
    if matched:
        I, J = (np.array(indices) for indices in zip(*matched, strict=True))
        block, matched_powers, best = e[np.ix_(I, J)], e[I, J], np.zeros(len(I), dtype=np.int64)
        for _ in range(len(I)):  # longest paths: r_k >= r_i + e_ij − e_kj with k the row that is matched with column j
            best = np.maximum(best, (best[:, None] + block).max(axis=0) - matched_powers)
        r[I], c[J] = best, -matched_powers - best
    columns = sorted({j for _, j in matched})
    for i in sorted(set(range(m)) - {i for i, _ in matched}):
        present = [j for j in columns if e[i, j] > POWER_OF_ZERO]
        r[i] = -max((e[i, j] + c[j] for j in present), default=0)
    for j in sorted(set(range(n)) - set(columns)):
        present = [i for i in range(m) if e[i, j] > POWER_OF_ZERO]
        c[j] = -max((e[i, j] + r[i] for i in present), default=0)
    links = np.block([[np.zeros((m, m)), e > POWER_OF_ZERO], [np.zeros((n, m)), np.zeros((n, n))]])
    component = connected_components(links, directed=False)[1]
    for label in set(component[m:][np.array(unique, dtype=bool)].tolist()):
        shift = max(c[j] for j in range(n) if unique[j] and component[m + j] == label)
        r[component[:m] == label] += shift
        c[component[m:] == label] -= shift
    return r.tolist(), c.tolist()


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
                changed = [x - factor * y for x, y in zip(row[:-1], rows[k][:-1], strict=True)]
                rows[i] = [*changed, row[-1] + abs(factor) * abs(rows[k][-1])]
        pivots.append(column)
    return pivots


def _check_consistent(rows: list[Row], rank: int, tolerance: float) -> None:
    """Raises unless the remainder of a dependent row is negligible compared with its terms and with rounding of a0."""
    if any(abs(row[-2]) > math.sqrt(tolerance) * row[-1] + tolerance**1.3 for row in rows[rank:]):
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
            share = _dot(z, e) / _dot(e, e)
            z = [a - share * c for a, c in zip(z, e, strict=True)]
        basis.append(z)
    for e in basis:
        share = _dot(x, e) / _dot(e, e)
        x = [a - share * c for a, c in zip(x, e, strict=True)]
    return x


def _dot(a: Row, b: Row) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0)
