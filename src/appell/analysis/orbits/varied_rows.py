"""Rows of constraints at a state for variations: independent rows, and the smallest correction onto them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.normal_form import NormalForm
from appell.rows import inverse_on_range, regular

Array = NDArray[np.float64]

INDEPENDENT_PIVOT = 1e-9
"""A row with a pivot below this fraction of the largest is dependent."""


def kinetic_answer(M: Array, A: Array, rows: Array) -> Array:
    """M⁻¹Aᵀ(A M⁻¹Aᵀ)⁺: the smallest correction, in the kinetic metric, of a residual of the rows A."""
    if not len(A):
        return np.zeros((M.shape[0], 0))
    weight = np.trace(M) / max(np.sum(rows**2), np.finfo(float).tiny) if not regular(M) else 0.0
    X = np.linalg.solve(M + weight * rows.T @ rows, A.T)
    return X @ inverse_on_range(A @ X)


def independent_rows(form: NormalForm, t: float, q: Array, v: Array, p: Array) -> tuple[int, ...]:
    """Independent rows of A, equivalent to all of them at a state."""
    A = form.select("A")(t, q, v, p)["A"]
    if not len(A):
        return ()
    size = np.linalg.norm(A, axis=1)
    factors: Any = scipy.linalg.qr((A / np.where(size > 0, size, 1)[:, None]).T, mode="economic", pivoting=True)
    _, R, order = factors
    pivots = np.abs(np.diag(R))
    return tuple(sorted(int(i) for i in order[: int((pivots > INDEPENDENT_PIVOT * pivots[0]).sum())]))


__all__ = ["independent_rows", "kinetic_answer"]
