"""The saddle point of rows that may be dependent at this state: M x = r + W λ, A x = s, of any rank.

    [ M  −W ] [x]   [r]         in units   D_j = M_jj^(−1/2)  of the velocities and  1/|A_i D|  of the rows,
    [ A   0 ] [λ] = [s]         where its singular values are those of M, and about σ² of the rows (`GRAM_LOST`)

Policies (`saddle_points`) fix a rank once for a whole motion. Here it is determined at each call, for the few states at which
contacts and frictions begin and end. Among all λ with the same W λ there are two choices: `lam`, the smallest in units of the
rows, independent of how a constraint was written, for decisions; and `least`, of least norm |λ|, for reported reactions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.rows.decompositions import singular
from appell.rows.row_space import far_from_dependent, plainly_definite
from appell.rows.tolerances import GRAM_LOST, NOT_BORNE, ROW_LOST, UNDETERMINED

Array = NDArray[np.float64]


class SaddlePoint(NamedTuple):
    """x (n, k) and λ (m, k), smallest in units of the rows, for k right-hand sides; free (m, f): the λ with W λ = 0.

    determined: whether x is unique, and dependent rows are consistent.
    """

    x: Array
    lam: Array
    free: Array
    determined: bool

    @property
    def least(self) -> Array:
        """λ of least norm in the units of the caller."""
        if not self.free.size:
            return self.lam
        basis = np.linalg.qr(self.free)[0]
        return self.lam - basis @ (basis.T @ self.lam)


def saddle_point(M: Array, A: Array, W: Array, r: Array, s: Array) -> SaddlePoint:
    """M x = r + W λ, A x = s with M symmetric, r (n, k), s (m, k), or (n,), (m,) for one right-hand side."""
    if r.ndim == 1:
        solution = saddle_point(M, A, W, r[:, None], s[:, None])
        return solution._replace(x=solution.x[:, 0], lam=solution.lam[:, 0])
    n = len(M)
    if (solution := _plain(M, A, W, r, s)) is not None:
        return solution
    K, D, L = _scaled(M, A, W)
    right = np.vstack([r * D[:, None], s * L[:, None]])
    U, sigma, Vt = singular(K)
    rank = int((sigma > GRAM_LOST * sigma[:1]).sum())
    U, sigma, span, null = U[:, :rank].T, sigma[:rank, None], Vt[:rank].T, Vt[rank:].T
    y = span @ (U @ right / sigma)
    y += span @ (U @ (right - K @ y) / sigma)  # Vᵀ is orthogonal to ε only, and λ may be far larger than r
    missed = np.abs(right - K @ y).max(axis=0, initial=0.0)
    terms = (np.abs(right) + np.abs(K) @ np.abs(y)).max(axis=0, initial=0.0)
    fixed = bool(np.abs(null[:n]).max(initial=0.0) <= UNDETERMINED)
    free = null[n:] if fixed else _spanned(null[n:])
    determined = fixed and bool((missed <= NOT_BORNE * terms).all())
    return SaddlePoint(y[:n] * D[:, None], y[n:] * L[:, None], free * L[:, None], determined)


def _plain(M: Array, A: Array, W: Array, r: Array, s: Array) -> SaddlePoint | None:
    """The saddle point of ideal rows, W = Aᵀ, if it is clearly far from singular; otherwise None."""
    if not (A.T == W).all() or (metric := plainly_definite(M)) is None:
        return None
    K = metric[0]
    if not len(A):
        x = K.T @ (K @ r)
        x += K.T @ (K @ (r - M @ x))
        return SaddlePoint(x, np.zeros((0, r.shape[1])), np.zeros((0, 0)), bool(np.isfinite(x).all()))
    if (rows := far_from_dependent(K, A)) is None:
        return None
    Y, w, root = rows[0], rows[1][:, None], rows[2]

    def solved(r: Array, s: Array) -> tuple[Array, Array]:
        f = K @ r
        lam = root.T @ (root @ (s / w - Y.T @ f))
        return K.T @ (f + Y @ lam), lam / w

    x, lam = solved(r, s)
    dx, dlam = solved(r - M @ x + W @ lam, s - A @ x)
    x, lam = x + dx, lam + dlam
    return SaddlePoint(x, lam, np.zeros((len(A), 0)), bool(np.isfinite(x).all() and np.isfinite(lam).all()))


def _spanned(part: Array) -> Array:
    """An orthonormal basis of the columns of one part of unit vectors; those that lie in the other part contribute nothing."""
    svd = singular(part, economical=True)
    return svd.U[:, svd.sigma > UNDETERMINED]


def response(M: Array, A: Array, W: Array, r: Array, s: Array | None = None) -> Array:
    """x of M x = r + W λ, A x = s (or 0), (n, k)."""
    return saddle_point(M, A, W, r, np.zeros((len(A), r.shape[1])) if s is None else s[:, None]).x


def least_change(M: Array, A: Array, s: Array) -> Array:
    """Δ (n,) with A Δ = s, smallest in the metric M; for dependent rows in the sense of least squares."""
    return saddle_point(M, A, A.T, np.zeros(len(M)), s).x


def _scaled(M: Array, A: Array, W: Array) -> tuple[Array, Array, Array]:
    """K with velocities scaled by their inertia, D (n,), and rows by their lengths, L (m,)."""
    n, m = len(M), len(A)
    inertia = M.diagonal()
    if not (heavy := inertia > 0).all():
        inertia = np.where(heavy, inertia, np.mean(inertia[heavy]) if heavy.any() else 1.0)
    D = 1 / np.sqrt(inertia)
    length = np.linalg.norm(A * D, axis=1)
    longest = length.max(initial=0.0) or 1.0
    L = 1 / np.where(length > ROW_LOST * longest, length, longest)
    K = np.zeros((n + m, n + m))
    column = D[:, None]
    K[:n, :n], K[:n, n:], K[n:, :n] = M * (column * D), -(W * (column * L)), A * (L[:, None] * D)
    return K, D, L
