"""Rows that couple very different masses: the ratio of these masses, and a metric in which they are comparable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.rows.row_space import far_from_dependent, plainly_definite
from appell.rows.tolerances import CHANCE, DISPARATE, RANK_DEPENDENT, TERMS_SAFE

Array = NDArray[np.float64]


def lengths(A: Array, size: Array) -> Array:
    """|A_ij|, zero where it is only rounding of its terms, or negligible beside its row and its column."""
    entries = np.where(np.abs(A) > RANK_DEPENDENT * size, np.abs(A), 0.0)
    scaled = entries.copy()
    for _ in range(4):
        for axis in (1, 0):
            largest = scaled.max(axis=axis, initial=0.0, keepdims=True)
            scaled /= np.where(largest > 0, largest, 1.0)
    return np.where(scaled > CHANCE, entries, 0.0)


def disparity(M: Array, entries: Array) -> float:
    """The largest ratio of A_ij²/M_jj within a row: how different the masses that a row couples are. Free of units.

    entries: |A_ij| at a state, or the largest of several states, since entries may vanish by chance.
    """
    mass = np.diag(M)
    tied = (entries > 0) & (mass > 0)
    weight = entries**2 / np.where(mass > 0, mass, 1.0)
    smallest = np.where(tied, weight, np.inf).min(axis=1, initial=np.inf)
    return float((np.where(tied, weight, 0.0).max(axis=1, initial=0.0) / smallest).max(initial=1.0))


def clearly_full(M: Array, A: Array, size: Array) -> Array | None:
    """w (m,) if M is far from singular, the coupled masses are comparable, and the rows are far from dependent; otherwise None.

    It uses bounds instead of singular values (`plainly_definite`, `far_from_dependent`), in a fifth of the time. None only
    means that the bounds are inconclusive.
    """
    if (definite := plainly_definite(M)) is None:
        return None
    K, inverse = definite
    if (rows := far_from_dependent(K, A)) is None:
        return None
    w, tied = rows[1], (A * A / M.diagonal())[A != 0]
    if not (size * size @ inverse <= TERMS_SAFE**2 * w * w).all():
        return None
    return w if tied.max() <= DISPARATE * tied.min() or disparity(M, np.abs(A)) <= DISPARATE else None


def balanced(size: Array) -> Array:
    """Weights (n,) of a diagonal metric in which every row and column of S has entries of order 1, whatever the masses."""
    c = np.ones(size.shape[1])
    for _ in range(4):
        w = (size * c).max(axis=1, initial=0.0)
        scaled = size / np.where(w > 0, w, 1.0)[:, None]
        largest, smallest = scaled.max(axis=0, initial=0.0), np.where(scaled > 0, scaled, np.inf).min(axis=0, initial=np.inf)
        used = largest > 0
        c = np.where(used, 1 / np.sqrt(np.where(used, largest, 1.0) * np.where(used, smallest, 1.0)), 1.0)
    return c**-2.0
