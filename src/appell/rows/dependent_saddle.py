"""The saddle point of rows that may depend on each other here and now: M x = r + W λ, A x = s, of any rank.

    [ M  −W ] [x]   [r]         in units   D_j = M_jj^(−1/2)  of the velocities and  1/|A_i D|  of the rows,
    [ A   0 ] [λ] = [s]         where its singular values are those of M, and about σ² of the rows (`GRAM_LOST`)

Policies (`saddle_points`) fix a rank once for a whole motion. Here it is found at each call, for the few states at which
contacts and frictions begin and end. Of all λ with the same W λ the least, |λ| in the units of the caller, is returned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.rows.decompositions import singular
from appell.rows.tolerances import GRAM_LOST, NOT_BORNE, ROW_LOST, UNDETERMINED

Array = NDArray[np.float64]


class SaddlePoint(NamedTuple):
    """x (n, k) and λ (m, k) of least norm for k right-hand sides; free (m, f): the λ that change no force, W free = 0.

    determined: whether x is, and the rows that depend on each other agree.
    """

    x: Array
    lam: Array
    free: Array
    determined: bool


def saddle_point(M: Array, A: Array, W: Array, r: Array, s: Array) -> SaddlePoint:
    """M x = r + W λ, A x = s with r (n, k), s (m, k)."""
    n = len(M)
    K, D, L = _scaled(M, A, W)
    right = np.vstack([r * D[:, None], s * L[:, None]])
    U, sigma, Vt = singular(K)
    rank = int((sigma > GRAM_LOST * sigma[:1]).sum())
    U, sigma, span, null = U[:, :rank].T, sigma[:rank, None], Vt[:rank].T, Vt[rank:].T
    y = span @ (U @ right / sigma)
    y += span @ (U @ (right - K @ y) / sigma)  # Vᵀ is orthogonal to ε only, and λ may be far larger than r
    lam, free = y[n:] * L[:, None], null[n:] * L[:, None]
    missed = np.abs(right - K @ y).max(axis=0, initial=0.0)
    terms = (np.abs(right) + np.abs(K) @ np.abs(y)).max(axis=0, initial=0.0)
    determined = bool((missed <= NOT_BORNE * terms).all()) and np.abs(null[:n]).max(initial=0.0) <= UNDETERMINED
    return SaddlePoint(y[:n] * D[:, None], _least(lam, free), free, determined)


def _scaled(M: Array, A: Array, W: Array) -> tuple[Array, Array, Array]:
    """K with velocities measured by their inertia, D (n,), and rows by their lengths, L (m,)."""
    n, m = len(M), len(A)
    inertia = np.diag(M)
    D = 1 / np.sqrt(np.where(inertia > 0, inertia, np.mean(inertia[inertia > 0]) if (inertia > 0).any() else 1.0))
    length = np.linalg.norm(A * D, axis=1)
    longest = length.max(initial=0.0) or 1.0
    L = 1 / np.where(length > ROW_LOST * longest, length, longest)
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[:n, n:], K[n:, :n] = M * np.outer(D, D), -(W * np.outer(D, L)), A * np.outer(L, D)
    return K, D, L


def _least(lam: Array, free: Array) -> Array:
    """λ without its part along the free directions: least in the units of the caller, not in those of the rows."""
    if not free.size:
        return lam
    basis = np.linalg.qr(free)[0]
    return lam - basis @ (basis.T @ lam)
