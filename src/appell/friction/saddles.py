"""Saddle points of small problems in NumPy, with rows that may depend on each other: M x = r + W λ, A x = s."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DEPENDENT = 1e-11
"""Share of the largest singular value below which rows depend on each other."""


def _scaled(M: Array, A: Array, W: Array) -> tuple[Array, Array, Array]:
    """The matrix of the saddle point with velocities measured by their inertia and rows by the longest; D, L."""
    n, m = len(M), len(A)
    inertia = np.diag(M)
    D = 1 / np.sqrt(np.where(inertia > 0, inertia, np.mean(inertia[inertia > 0]) if (inertia > 0).any() else 1.0))
    length = np.linalg.norm(A * D, axis=1)
    L = 1 / np.where(length > 1e-9 * length.max(initial=0.0), length, 1.0)
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[:n, n:], K[n:, :n] = M * np.outer(D, D), -(W * np.outer(D, L)), A * np.outer(L, D)
    return K, D, L


def solved(M: Array, A: Array, W: Array, r: Array, s: Array) -> tuple[Array, Array]:
    """(x, λ) of M x = r + W λ, A x = s, each (…, k), of least norm."""
    n = len(M)
    K, D, L = _scaled(M, A, W)
    x = np.linalg.lstsq(K, np.vstack([r * D[:, None], s * L[:, None]]), rcond=1e-13)[0]
    return x[:n] * D[:, None], x[n:] * L[:, None]


def response(M: Array, A: Array, W: Array, r: Array, s: Array | None = None) -> Array:
    """x of M x = r + W λ, A x = s (or 0), (…, k)."""
    return solved(M, A, W, r, np.zeros((len(A), r.shape[1])) if s is None else s[:, None])[0]


def solved_freely(M: Array, A: Array, W: Array, r: Array, s: Array) -> tuple[Array, Array, Array, bool]:
    """(x, λ, directions in which λ is free, whether x is determined)."""
    n = len(M)
    K, D, L = _scaled(M, A, W)
    right = np.concatenate([r * D, s * L])
    U, S, Vt = np.linalg.svd(K)
    rank = int((DEPENDENT * S[0] < S).sum())
    y = Vt[:rank].T @ ((U[:, :rank].T @ right) / S[:rank])
    y += Vt[:rank].T @ ((U[:, :rank].T @ (right - K @ y)) / S[:rank])
    null = Vt[rank:].T
    missed = np.abs(right - K @ y).max(initial=0.0)
    solvable = missed <= 1e-9 * (np.abs(right).max(initial=0.0) + np.abs(K) @ np.abs(y)).max(initial=0.0) + 1e-300
    solvable = bool(solvable) and np.abs(null[:n]).max(initial=0.0) <= 1e-7
    return y[:n] * D, y[n:] * L, null[n:] * L[:, None], solvable


__all__ = ["response", "solved", "solved_freely"]
