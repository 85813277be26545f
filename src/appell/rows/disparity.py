"""Rows that tie what is differently heavy: how far apart the masses are, and a metric in which they are alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.rows.row_space import far_from_dependent, plainly_definite
from appell.rows.tolerances import CHANCE, DISPARATE, RANK_DEPENDENT, TERMS_SAFE

Array = NDArray[np.float64]


def lengths(A: Array, size: Array) -> Array:
    """|A_ij|, zero where it is no more than rounding of its terms, or nothing beside what its row and its column hold."""
    entries = np.where(np.abs(A) > RANK_DEPENDENT * size, np.abs(A), 0.0)
    scaled = entries.copy()
    for _ in range(4):
        for axis in (1, 0):
            largest = scaled.max(axis=axis, initial=0.0, keepdims=True)
            scaled /= np.where(largest > 0, largest, 1.0)
    return np.where(scaled > CHANCE, entries, 0.0)


def disparity(M: Array, entries: Array) -> float:
    """The largest ratio of A_ij²/M_jj within a row: how differently heavy what a row ties together is. Free of units.

    entries: |A_ij|, at the state or the largest of several, as those that vanish by chance say nothing.
    """
    mass = np.diag(M)
    tied = (entries > 0) & (mass > 0)
    weight = entries**2 / np.where(mass > 0, mass, 1.0)
    least = np.where(tied, weight, np.inf).min(axis=1, initial=np.inf)
    return float((np.where(tied, weight, 0.0).max(axis=1, initial=0.0) / least).max(initial=1.0))


def clearly_full(M: Array, A: Array, size: Array) -> Array | None:
    """w (m,) where M is far from singular, what the rows tie alike in mass, and the rows far from dependent; else None.

    By bounds instead of singular values (`plainly_definite`, `far_from_dependent`), in a fifth of the time. None says no more
    than that this is not seen at once.
    """
    if (found := plainly_definite(M)) is None:
        return None
    K, inverse = found
    if (rows := far_from_dependent(K, A)) is None:
        return None
    w, tied = rows[1], (A * A / M.diagonal())[A != 0]
    if not (size * size @ inverse <= TERMS_SAFE**2 * w * w).all():
        return None
    return w if tied.max() <= DISPARATE * tied.min() or disparity(M, np.abs(A)) <= DISPARATE else None


def balanced(size: Array) -> Array:
    """Weights (n,), a diagonal metric in which every row and every column of S has entries of order 1, whatever the masses."""
    c = np.ones(size.shape[1])
    for _ in range(4):
        w = (size * c).max(axis=1, initial=0.0)
        scaled = size / np.where(w > 0, w, 1.0)[:, None]
        largest, least = scaled.max(axis=0, initial=0.0), np.where(scaled > 0, scaled, np.inf).min(axis=0, initial=np.inf)
        used = largest > 0
        c = np.where(used, 1 / np.sqrt(np.where(used, largest, 1.0) * np.where(used, least, 1.0)), 1.0)
    return c**-2.0
