"""The one linear problem behind accelerations, projections and impacts:

    M x = r + W λ            A x = s                                                       (saddle point)

    accelerations     r = Q − h,  s = −a0        x = a, λ = Λ
    position drift    r = 0,      s = −f         x = Δπ with Δq = N Δπ, the least ΔπᵀMΔπ that corrects f
    velocity drift    r = 0,      s = −ḟ         x = Δv

Derivation for W = Aᵀ. If M is positive definite, M = L Lᵀ, Y = L⁻¹Aᵀ and w = L⁻¹r turn the problem into

    G λ = s − Yᵀw,   G = YᵀY = A M⁻¹ Aᵀ          x = L⁻ᵀ(w + Y λ),

which is the LDLᵀ factorisation of [[M, Aᵀ], [A, 0]] in its own order: first the pivots of M, then those of −G.
If M is singular but positive definite on ker A (massless coordinates), A x = s lets us add γAᵀA x = γAᵀs:

    (M + γAᵀA) x = r + γAᵀs + Aᵀλ                same x, same λ, and M + γAᵀA is positive definite.

Redundant rows. If rank G = k < m, pivoting finds k independent rows I, and A_J = K A_I for the others. G_II y = b_I gives
the unique x; of all λ with the same Aᵀλ, i.e. Bᵀλ = y with B = [I; K], the one of least norm is λ = B (BᵀB)⁻¹ y.

Masses of any sizes. A M⁻¹ Aᵀ keeps no digits of a heavy body where a light one, of 1e-16 of its mass, stands in the same rows.
There `eliminate` solves the rows for as many accelerations as they have rank, x_d = p − B x_e, the lightest first (the largest
entry of A c, c_j = M_jj^(−1/2), is the pivot, so that B is at most of order 1 in these units), and what is left is

    H x_e = Zᵀ(r − M x_p),   H = ZᵀMZ,   Z = [−B; 1],   x_p = [p; 0]            A_dᵀ λ = (M x − r)_d.

A given reaction W ≠ Aᵀ leaves an unsymmetric matrix: elimination with row exchanges, in units of the system itself (`units`).

Its twins on the graph and in generated code are in `normal_form.saddle`; they agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.errors import Status
from appell.rows.row_space import RowSpace
from appell.rows.tolerances import PIVOT, PIVOT_VANISHED, ROW_VANISHING, ROWS_CONTRADICT

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

CHOLESKY, RANK, LU, ELIMINATE = 0, 1, 2, 3


@dataclass(frozen=True)
class Policy:
    """How a saddle point is solved, from the generic rank of its rows at random states of the constraint manifold."""

    kind: int = CHOLESKY
    rank: int = 0
    gamma: float = 0.0
    scales: tuple[float, ...] = ()  # scales of the rows, if redundant ones differ so much that pivoting needs them
    metric: tuple[float, ...] = ()  # (n,), for ranks, if masses differ too much for M to serve: see `disparity.balanced`

    def for_rows(self, rows: NDArray[np.bool_], rank: int) -> Policy:
        """The policy for a subset of the rows, for projections: always in the kinetic metric."""
        if self.kind == ELIMINATE:
            return Policy(ELIMINATE, rank, metric=self.metric)
        kind = CHOLESKY if rank == rows.sum() else RANK
        scales = tuple(s for s, keep in zip(self.scales, rows, strict=True) if keep) if self.scales and kind == RANK else ()
        return Policy(kind, rank, self.gamma, scales)


def solve(M: Array, A: Array, W: Array, r: Array, s: Array, policy: Policy) -> tuple[Array, Array, Status]:
    """(x, λ, status), shapes (n,), (m,). NumPy twin of `SADDLE_C`."""
    n, m = M.shape[0], A.shape[0]
    failed = np.full(n, np.nan), np.full(m, np.nan)
    if not all(np.isfinite(block).all() for block in (M, A, W, r, s)):
        return *failed, Status.NOT_FINITE
    if policy.kind == LU:
        return _solve_general(M, A, W, r, s)
    if policy.kind == ELIMINATE:
        return eliminate(M, A, r, s, policy.rank)
    if policy.gamma:
        M, r = M + policy.gamma * A.T @ A, r + policy.gamma * A.T @ s
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return *failed, Status.SINGULAR
    if (np.diag(L) ** 2 < PIVOT * np.diag(M)).any():
        return *failed, Status.SINGULAR
    Y = scipy.linalg.solve_triangular(L, A.T, lower=True) if m else np.zeros((n, 0))
    w = scipy.linalg.solve_triangular(L, r, lower=True)
    lam, status = _multipliers(Y.T @ Y, s - Y.T @ w, m if policy.kind == CHOLESKY else policy.rank)
    if status:
        return *failed, status
    return scipy.linalg.solve_triangular(L, w + Y @ lam, lower=True, trans=1), lam, Status.OK


def _multipliers(G: Array, b: Array, rank: int) -> tuple[Array, Status]:
    """λ of least norm with G λ = b on `rank` rows chosen by pivoting; the other rows follow."""
    m = len(b)
    L, order, status = pivoted_cholesky(G, rank)
    if status or m == 0:
        return np.zeros(m), status
    L11, L21 = L[:rank], L[rank:]
    y = scipy.linalg.cho_solve((L11, True), b[order[:rank]])
    K = scipy.linalg.solve_triangular(L11, L21.T, lower=True, trans=1).T  # K L11 = L21
    return _least(K, y, order), Status.OK


def _least(K: Array, y: Array, order: Indices) -> Array:
    """λ of least norm with the same Aᵀλ as y on the first rows of `order`, A_J = K A_I."""
    c = np.linalg.solve(np.eye(len(y)) + K.T @ K, y) if len(K) else y
    lam = np.zeros(len(order))
    lam[order] = np.concatenate([c, K @ c])
    return lam


def eliminate(M: Array, A: Array, r: Array, s: Array, rank: int) -> tuple[Array, Array, Status]:
    """(x, λ of least norm, status) for W = Aᵀ and masses of any sizes, by elimination of `rank` accelerations."""
    n, m = len(M), len(A)
    failed = np.full(n, np.nan), np.full(m, np.nan)
    mass = np.diag(M)  # massless velocities count as far lighter than all others, and are eliminated first
    c = 1 / np.sqrt(np.where(mass > 0, mass, mass[mass > 0].min(initial=np.inf) * 2.0**-100))
    w = np.abs(A * c).max(axis=1, initial=0.0)
    w[~(w > 0)] = 1.0
    T = A * c / w[:, None]
    E, L, rows, cols = np.abs(T), np.zeros((m, rank)), np.arange(m), np.arange(n)
    for k in range(rank):
        size = np.where(np.abs(T[k:, k:]) > PIVOT_VANISHED * E[k:, k:], np.abs(T[k:, k:]), 0.0)
        if not size.max(initial=0.0) > 0:
            return *failed, Status.SINGULAR
        i, j = k + np.array(np.unravel_index(int(np.argmax(size)), size.shape))
        for X in (T, E, L, rows):
            X[[k, i]] = X[[i, k]]
        for X in (T.T, E.T, cols):
            X[[k, j]] = X[[j, k]]
        L[k, k], L[k + 1 :, k] = 1.0, T[k + 1 :, k] / T[k, k]
        update = np.outer(L[k + 1 :, k], T[k, k + 1 :])
        T[k + 1 :, k], T[k + 1 :, k + 1 :] = 0.0, T[k + 1 :, k + 1 :] - update
        E[k + 1 :, k + 1 :] = np.maximum(E[k + 1 :, k + 1 :], np.abs(update))
    U, L11 = T[:rank, :rank], L[:rank]
    p = _triangular(U, _triangular(L11, (s / w)[rows[:rank]], lower=True))
    Z = np.vstack([-_triangular(U, T[:rank, rank:]), np.eye(n - rank)])
    M, r = (M * np.outer(c, c))[np.ix_(cols, cols)], (r * c)[cols]
    x = np.concatenate([p, np.zeros(n - rank)])
    H, g = Z.T @ M @ Z, Z.T @ (r - M @ x)
    try:
        root: Array = np.asarray(np.linalg.cholesky(H), dtype=np.float64)
    except np.linalg.LinAlgError:
        return *failed, Status.SINGULAR
    if (np.diag(root) ** 2 < PIVOT * np.diag(H)).any():
        return *failed, Status.SINGULAR
    x = x + Z @ _triangular(root, _triangular(root, g, lower=True), lower=True, trans=1)
    y = _triangular(L11, _triangular(U, (M @ x - r)[:rank], trans=1), lower=True, trans=1)
    K = _triangular(L11, L[rank:].T, lower=True, trans=1).T * np.outer(w[rows[rank:]], 1 / w[rows[:rank]])
    a = np.empty(n)
    a[cols] = x * c[cols]
    return a, _least(K, y / w[rows[:rank]], rows), Status.OK


def _triangular(T: Array, b: Array, *, lower: bool = False, trans: int = 0) -> Array:
    """T⁻¹b or T⁻ᵀb; empty where either is."""
    return scipy.linalg.solve_triangular(T, b, lower=lower, trans=trans) if T.size and b.size else np.zeros(b.shape)


def pivoted_cholesky(G: Array, rank: int) -> tuple[Array, Indices, Status]:
    """(L, order, status) with G[order][:, order] ≈ L Lᵀ, L (m, rank); each pivot is the largest relative to its diagonal,
    short rows (`ROW_VANISHING`) last."""
    m = len(G)
    order, L = np.arange(m), np.zeros((m, rank))
    diagonal = np.diag(G).copy()
    remaining = diagonal.copy()
    short = ROW_VANISHING * diagonal.max(initial=0.0)
    for k in range(rank):
        size = diagonal[order[k:]]
        independent = remaining[order[k:]] > PIVOT * size
        if not independent.any():
            return L, order, Status.SINGULAR
        best = k + int(np.argmax(np.where(independent, remaining[order[k:]] / (size + short), 0.0)))
        order[[k, best]] = order[[best, k]]
        L[[k, best]] = L[[best, k]]
        L[k, k] = np.sqrt(remaining[order[k]])
        below = slice(k + 1, m)
        L[below, k] = (G[order[below], order[k]] - L[below, :k] @ L[k, :k]) / L[k, k]
        remaining[order[below]] -= L[below, k] ** 2
    return L, order, Status.OK


def _solve_general(M: Array, A: Array, W: Array, r: Array, s: Array) -> tuple[Array, Array, Status]:
    """(x, λ, status) for given reactions W ≠ Aᵀ, by elimination with row exchanges."""
    n, m = M.shape[0], A.shape[0]
    unit = units(M, A)
    K = np.block([[M, -W], [A, np.zeros((m, m))]]) * np.outer(unit, unit)
    K, b = equilibrate(K, np.concatenate([r, s]) * unit)
    size = np.abs(K).max(axis=0, initial=0.0)
    size[size == 0] = 1
    with np.errstate(all="ignore"):
        (factor,) = scipy.linalg.get_lapack_funcs(("getrf",), (K,))
        lu, pivots, _ = factor(K / size)  # a zero pivot gives a status
    if not np.abs(np.diag(lu)).min(initial=1.0) > PIVOT:
        return np.full(n, np.nan), np.full(m, np.nan), Status.SINGULAR
    x = scipy.linalg.lu_solve((lu, pivots), b) * unit / size
    return x[:n], x[n:], Status.OK


def units(M: Array, A: Array) -> Array:
    """Scales u of x and λ, (n + m,), that make u_i K_ij u_j dimensionless: velocities by their inertia (massless ones by the
    mean of the others), rows by the largest of their terms."""
    inertia = np.diag(M)
    massive = inertia > 0
    mean = inertia[massive].mean() if massive.any() else 1.0
    by_inertia = 1 / np.sqrt(np.where(massive, inertia, mean))
    longest = np.abs(A * by_inertia).max(axis=1, initial=0.0)
    return np.concatenate([by_inertia, 1 / np.where(longest > 0, longest, 1.0)])


def equilibrate(K: Array, b: Array) -> tuple[Array, Array]:
    """Rows scaled to a largest entry of 1, so that pivots are comparable."""
    size = np.abs(K).max(axis=1)
    size[size == 0] = 1
    return K / size[:, None], b / size


def broken(A: Array, a0: Array, a: Array, terms: Array | None = None) -> Array:
    """Which rows an acceleration violates, (…, m): |A a + a0| against its terms; batches of A (…, m, n) are allowed.

    terms: the sizes of the terms in A; if all rows are only rounding of them, none is violated.
    """
    size = np.einsum("...ij,...j->...i", np.abs(A), np.abs(a)) + np.abs(a0)
    largest = size.max(axis=-1, initial=0.0, keepdims=True)
    # beside the terms of its own row, an acceleration may miss a row by the rounding of the largest row, and of A itself
    dust = 0.0 if terms is None else 1e-13 * np.einsum("...ij,...j->...i", terms, np.abs(a))
    return np.abs(np.einsum("...ij,...j->...i", A, a) + a0) > ROWS_CONTRADICT * (size + 1e-3 * largest) + dust


def accelerations(
    M: Array, A: Array, size: Array, r: Array, a0: Array, metric: Array | None = None
) -> tuple[Array, Array, RowSpace]:
    """(a, λ of least norm, the rows) of M a = r + Aᵀλ, A a + a0 = 0 with the rank of the rows at this state."""
    space = RowSpace.of(M if metric is None else np.diag(metric), A, size)
    a, lam, _ = eliminate(M, A, r, -a0, space.rank)
    return a, lam, space
