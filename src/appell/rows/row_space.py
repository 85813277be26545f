"""The row space at a state: how many rows are independent, and how far they are from being dependent.

With S_ij the size of the terms in A_ij (`graph.sizes`: rounding takes A_ij by ε S_ij) and M = L Lᵀ,

    |Y_i| = √(A_i M⁻¹ A_iᵀ)      s_i = √(Σ_j S_ij² (M⁻¹)_jj)      Y = L⁻¹ Aᵀ / w,      σ_1 ≥ σ_2 ≥ …  its singular values

with w_i the length |Y_i| of a row, or s_i if the row is only rounding. They are free of units: lengths, masses, times, factors
of rows and shifts of coordinates drop out. The rounding error of σ is ε s/w. Rows are dependent if σ is below that or below
`RANK_DEPENDENT`, and independent if it is above ten times that and above `RANK_INDEPENDENT`. In between, the rank is undecided,
and accelerations have no correct digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.rows.decompositions import Singular, singular
from appell.rows.tolerances import (
    COLUMNS_FULL,
    CONDITION_SAFE,
    EMPTY,
    PIVOT_INDEPENDENT,
    RANK_DEPENDENT,
    RANK_INDEPENDENT,
    ROUNDINGS,
)

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows at one state: K = L⁻¹ of M = L Lᵀ, w (m,) called s, Y = K Aᵀ/w (n, m); noise: rounding error of σ.

    If M is not positive definite, K belongs to M with a small multiple of its diagonal added.
    """

    K: Array
    s: Array
    Y: Array
    noise: float = 0.0

    @staticmethod
    def of(M: Array, A: Array, size: Array, gamma: float = 0.0) -> RowSpace:
        """The row space in the metric M + γAᵀA."""
        K = _inverse_root(M + gamma * A.T @ A if gamma else M)
        Y = K @ A.T
        terms, length = np.sqrt(size * size @ np.add.reduce(K * K)), np.sqrt(np.add.reduce(Y * Y))
        w = np.where(length > EMPTY * terms, length, terms)
        w[~(w > 0)] = 1.0
        return RowSpace(K, w, Y / w, ROUNDINGS * float((terms / w).max(initial=0.0)))

    @staticmethod
    def scaled(M: Array, A: Array, s: Array) -> RowSpace:
        """The row space with known scales of the rows."""
        K = _inverse_root(M)
        return RowSpace(K, s, K @ (A.T / s))

    @cached_property
    def svd(self) -> Singular:
        """U (n, k), σ (k,), Vᵀ (k, m) with k = min(n, m)."""
        return singular(self.Y, economical=True)

    @property
    def sigma(self) -> Array:
        """σ_1 ≥ σ_2 ≥ …, (m,); zeros beyond n."""
        return np.append(self.svd[1], np.zeros(max(0, self.Y.shape[1] - self.Y.shape[0])))

    @property
    def independent(self) -> float:
        """σ above which rows are independent here."""
        return max(RANK_INDEPENDENT, 10 * self.noise)

    @property
    def rank(self) -> int:
        return int((self.sigma > self.independent).sum())

    @property
    def unclear(self) -> Array:
        """The σ that are neither clearly dependent nor clearly independent."""
        return self.sigma[(self.sigma <= self.independent) & (self.sigma > max(RANK_DEPENDENT, self.noise))]

    @property
    def clear(self) -> bool:
        """Whether there are no unclear σ."""
        return len(self.unclear) == 0

    def full_step(self, f: Array) -> Array | None:
        """Δ with A Δ = −f, smallest in the metric, if all rows are clearly far from dependent; otherwise None."""
        G = self.Y.T @ self.Y
        try:
            L = np.linalg.cholesky(G)
        except np.linalg.LinAlgError:
            return None
        if not np.diag(L).min(initial=1.0) > PIVOT_INDEPENDENT:
            return None
        return -self.K.T @ (self.Y @ np.linalg.solve(G, f / self.s))

    def step(self, f: Array, rank: int) -> Array:
        """Δ with A Δ = −f on the `rank` strongest combinations of rows, smallest in the metric."""
        U, sigma, Vt = self.svd
        y = U[:, :rank] @ ((Vt[:rank] @ (f / self.s)) / sigma[:rank])
        return -self.K.T @ y

    def kernel(self, y: Array, rank: int) -> Array:
        """A velocity with A v = 0, from any y (n,)."""
        U = self.svd[0][:, :rank]
        return self.K.T @ (y - U @ (U.T @ y))

    def dependent(self, rank: int) -> list[int]:
        """The remaining rows after `rank` independent ones have been chosen."""
        if self.Y.size == 0 or rank == self.Y.shape[1]:
            return []
        order: Any = scipy.linalg.qr(self.Y, mode="r", pivoting=True)[-1]
        return sorted(int(i) for i in order[rank:])


def turns(before: Singular, after: Array, rank: int) -> Array:
    """Re eig(Y⁺ Y′) on the combinations of rows that are independent at Y, (rank,): one is negative for each combination
    that was reversed between the rows Y, decomposed in `before`, and Y′ = `after`, (n, m)."""
    U, sigma, Vt = before.U[:, :rank], before.sigma[:rank, None], before.Vt[:rank]
    nonzero = sigma > COLUMNS_FULL * max(after.shape) * sigma.max(initial=0.0)
    relative = np.divide(U.T @ after @ Vt.T, sigma, out=np.zeros((len(sigma), len(sigma))), where=nonzero)
    return np.asarray(np.linalg.eigvals(relative).real, dtype=np.float64)


_LAPACK: Any = scipy.linalg.get_lapack_funcs(("potrf", "trtri"), dtype=np.float64)
_POTRF, _TRTRI = _LAPACK


def _inverse_root(M: Array) -> Array:
    """L⁻¹ of M = L Lᵀ; if M is singular, that of M with a slightly larger diagonal."""
    if (inverse := inverse_cholesky(M)) is not None:
        return inverse
    size = np.where(np.diag(M) > 0, np.diag(M), np.abs(M).max(initial=0.0) or 1.0)
    for fraction in (1e-12, 1e-9, 1e-6):
        if (inverse := inverse_cholesky(M + fraction * np.diag(size))) is not None:
            return inverse
    return np.diag(1 / np.sqrt(size))


def inverse_cholesky(M: Array) -> Array | None:
    """L⁻¹ of M = L Lᵀ; None if M is not positive definite. It calls LAPACK: NumPy's checks take longer than small matrices."""
    if not M.size:
        return np.zeros(M.shape)
    L, failed = _POTRF(M, lower=1, clean=1)
    if failed:
        return None
    inverse, failed = _TRTRI(L, lower=1)
    return None if failed else inverse


def plainly_definite(M: Array) -> tuple[Array, Array] | None:
    """L⁻¹ of M = L Lᵀ and the diagonal of M⁻¹, (n,), if M is clearly far from singular; otherwise None.

    1/λ_min(D⁻¹MD⁻¹) ≤ tr(D M⁻¹ D) with D² the diagonal of M: a bound instead of singular values.
    """
    K = inverse_cholesky(M)
    if K is None:
        return None
    inverse = np.add.reduce(K * K)
    return (K, inverse) if inverse @ M.diagonal() < CONDITION_SAFE else None


def far_from_dependent(K: Array, A: Array) -> tuple[Array, Array, Array] | None:
    """Y/w (n, m), w (m,) and L⁻¹ (m, m), where Y = K Aᵀ, w are the lengths of its columns and (Y/w)ᵀ(Y/w) = L Lᵀ; None where it
    is not seen at once that the rows A are independent in the metric M⁻¹ = KᵀK.

    σ_m ≥ 1/|L⁻¹|: a bound instead of singular values.
    """
    Y = K @ A.T
    w = np.sqrt(np.add.reduce(Y * Y))
    if not w.all():
        return None
    Y = Y / w
    root = inverse_cholesky(Y.T @ Y)
    return None if root is None or not PIVOT_INDEPENDENT**2 * np.vdot(root, root) < 1 else (Y, w, root)
