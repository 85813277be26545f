"""How many rows are independent at a state, and how far from dependent they are.

With S_ij the size of the terms in A_ij (`graph.sizes`: rounding takes A_ij by ε S_ij) and M = L Lᵀ,

    |Y_i| = √(A_i M⁻¹ A_iᵀ)      s_i = √(Σ_j S_ij² (M⁻¹)_jj)      Y = L⁻¹ Aᵀ / w,      σ_1 ≥ σ_2 ≥ …  its singular values

with w_i the length |Y_i| of a row, and s_i where rounding is all there is to a row. They are free of units: lengths, masses,
times, factors of rows and shifts of coordinates drop out. Rounding takes σ by ε s/w; rows are dependent where σ is less than
that or `DEPENDENT`, independent where it is more than `INDEPENDENT` and ten times that. What is between is neither, and no
acceleration computed from it has digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.normal_form.saddle import eliminate

Array = NDArray[np.float64]

INDEPENDENT = 1e-6
"""σ above which rows are independent: accelerations keep 4 digits, since they lose ε/σ²."""

DEPENDENT = 1e-10
"""σ below which rows are dependent, rounding apart."""

SEEN = 1e-2
"""Pivots above which rows are independent without a singular value decomposition."""

EMPTY = 1e-12
"""A row below this share of its terms is what rounding leaves of them."""

ROUNDINGS = 30 * float(np.finfo(float).eps)
"""What the many roundings of an evaluation may leave of a value, relative to its size."""


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows at one state: K = L⁻¹ of M = L Lᵀ, w (m,) called s, Y = K Aᵀ/w (n, m); noise: what rounding leaves of a σ.

    definite: whether M is; otherwise K is that of M with a little added.
    """

    K: Array
    s: Array
    Y: Array
    noise: float = 0.0
    definite: bool = True

    @staticmethod
    def of(M: Array, A: Array, size: Array, gamma: float = 0.0) -> RowSpace:
        """In the metric of M + γAᵀA."""
        K, definite = _inverse_root(M + gamma * A.T @ A if gamma else M)
        Y = K @ A.T
        terms, length = np.sqrt(size * size @ np.add.reduce(K * K)), np.sqrt(np.add.reduce(Y * Y))
        w = np.where(length > EMPTY * terms, length, terms)
        w[~(w > 0)] = 1.0
        return RowSpace(K, w, Y / w, ROUNDINGS * float((terms / w).max(initial=0.0)), definite)

    @staticmethod
    def scaled(M: Array, A: Array, s: Array) -> RowSpace:
        """With sizes of rows that are known."""
        K, definite = _inverse_root(M)
        return RowSpace(K, s, K @ (A.T / s), definite=definite)

    @cached_property
    def svd(self) -> tuple[Array, Array, Array]:
        """U (n, k), σ (k,), Vᵀ (k, m) with k = min(n, m)."""
        U, sigma, Vt = np.linalg.svd(self.Y, full_matrices=False)
        return U, sigma, Vt

    @property
    def sigma(self) -> Array:
        """σ_1 ≥ σ_2 ≥ …, (m,); zeros beyond n."""
        return np.append(self.svd[1], np.zeros(max(0, self.Y.shape[1] - self.Y.shape[0])))

    @property
    def independent(self) -> float:
        """σ above which rows are independent here."""
        return max(INDEPENDENT, 10 * self.noise)

    @property
    def rank(self) -> int:
        return int((self.sigma > self.independent).sum())

    @property
    def unclear(self) -> Array:
        """The σ between dependent and independent."""
        return self.sigma[(self.sigma <= self.independent) & (self.sigma > max(DEPENDENT, self.noise))]

    @property
    def clear(self) -> bool:
        """Whether there are none of those."""
        return len(self.unclear) == 0

    def full_step(self, f: Array) -> Array | None:
        """Δ with A Δ = −f, least in the metric, where all rows are far from dependent; None where that is not seen at once."""
        G = self.Y.T @ self.Y
        try:
            L = np.linalg.cholesky(G)
        except np.linalg.LinAlgError:
            return None
        if not np.diag(L).min(initial=1.0) > SEEN:
            return None
        return -self.K.T @ (self.Y @ np.linalg.solve(G, f / self.s))

    def step(self, f: Array, rank: int) -> Array:
        """Δ with A Δ = −f on the `rank` strongest combinations of rows, least in the metric."""
        U, sigma, Vt = self.svd
        y = U[:, :rank] @ ((Vt[:rank] @ (f / self.s)) / sigma[:rank])
        return -self.K.T @ y

    def kernel(self, y: Array, rank: int) -> Array:
        """A velocity with A v = 0 from any y (n,)."""
        U = self.svd[0][:, :rank]
        return self.K.T @ (y - U @ (U.T @ y))

    def dependent(self, rank: int) -> list[int]:
        """The rows that are left when `rank` independent ones have been chosen."""
        if self.Y.size == 0 or rank == self.Y.shape[1]:
            return []
        order: Any = scipy.linalg.qr(self.Y, mode="r", pivoting=True)[-1]
        return sorted(int(i) for i in order[rank:])


_LAPACK: Any = scipy.linalg.get_lapack_funcs(("potrf", "trtri"), dtype=np.float64)
_POTRF, _TRTRI = _LAPACK


def _inverse_root(M: Array) -> tuple[Array, bool]:
    """L⁻¹ of M = L Lᵀ and True; where M is singular, that of M with a little added to its diagonal, and False."""
    if (inverse := _inverse_cholesky(M)) is not None:
        return inverse, True
    size = np.where(np.diag(M) > 0, np.diag(M), np.abs(M).max(initial=0.0) or 1.0)
    for share in (1e-12, 1e-9, 1e-6):
        if (inverse := _inverse_cholesky(M + share * np.diag(size))) is not None:
            return inverse, False
    return np.diag(1 / np.sqrt(size)), False


def _inverse_cholesky(M: Array) -> Array | None:
    """L⁻¹ of M = L Lᵀ; None where M is not positive definite. LAPACK itself: NumPy's checks take longer than small matrices."""
    if not M.size:
        return np.zeros(M.shape)
    L, failed = _POTRF(M, lower=1, clean=1)
    if failed:
        return None
    inverse, failed = _TRTRI(L, lower=1)
    return None if failed else inverse


DISPARATE = 1e7
"""Ratio of A_ij²/M_jj within a row beyond which A M⁻¹Aᵀ loses half of its digits."""


CHANCE = 1e-8
"""Of an entry, where every row and every column has been scaled to a largest entry of 1: below it nothing is tied, as in a
direction that is square to another but for the rounding of the numbers that were given."""


def lengths(A: Array, size: Array) -> Array:
    """|A_ij|, zero where it is no more than rounding of its terms, or nothing beside what its row and its column hold."""
    entries = np.where(np.abs(A) > DEPENDENT * size, np.abs(A), 0.0)
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


SAFE = 1e8
"""Condition of M, scaled to a diagonal of 1, that is far from singular."""

SURE = 1e10
"""Size of the terms of a row against its length up to which rounding is far from taking the row."""


def clearly_full(M: Array, A: Array, size: Array) -> Array | None:
    """w (m,) where M is far from singular, what the rows tie alike in mass, and the rows far from dependent; else None.

    1/λ_min(D⁻¹MD⁻¹) ≤ tr(D M⁻¹ D) with D² the diagonal of M, and σ_m ≥ 1/|L⁻¹| with YᵀY = L Lᵀ: bounds instead of singular
    values, in a fifth of the time. None says no more than that this is not seen at once.
    """
    mass, K = np.diag(M), _inverse_cholesky(M)
    if K is None or not (inverse := np.add.reduce(K * K)) @ mass < SAFE:
        return None
    Y, tied = K @ A.T, (A * A / mass)[A != 0]
    w = np.sqrt(np.add.reduce(Y * Y))
    if not (size * size @ inverse <= SURE**2 * w * w).all() or not w.all():
        return None
    root = _inverse_cholesky((Y / w).T @ (Y / w))
    if root is None or not SEEN**2 * np.vdot(root, root) < 1:
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


BROKEN = 1e-6
"""A residual A a + a0 above this share of its terms: the rows contradict each other."""


def broken(A: Array, a0: Array, a: Array, terms: Array | None = None) -> Array:
    """Which rows an acceleration breaks, (…, m): |A a + a0| against the terms in it; batches of A (…, m, n) are allowed.

    `terms`: the sizes of the terms in A; where all rows are rounding of them, none is broken.
    """
    size = np.einsum("...ij,...j->...i", np.abs(A), np.abs(a)) + np.abs(a0)
    largest = size.max(axis=-1, initial=0.0, keepdims=True)
    dust = 0.0 if terms is None else 1e-13 * np.einsum("...ij,...j->...i", terms, np.abs(a))
    return np.abs(np.einsum("...ij,...j->...i", A, a) + a0) > BROKEN * (size + 1e-3 * largest) + dust


def accelerations(
    M: Array, A: Array, size: Array, r: Array, a0: Array, metric: Array | None = None
) -> tuple[Array, Array, RowSpace]:
    """(a, λ of least norm, the rows) of M a = r + Aᵀλ, A a + a0 = 0 with the rank that the rows have here."""
    space = RowSpace.of(M if metric is None else np.diag(metric), A, size)
    a, lam, _ = eliminate(M, A, r, -a0, space.rank)
    return a, lam, space
