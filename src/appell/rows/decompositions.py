"""Ranks, kernels and least squares of small dense matrices, each decided by singular values.

    A = U diag(σ) Vᵀ        rank = #{σ_k > lost σ_1}        ker A = span of the other rows of Vᵀ

Functions of rows (`rank`, `null_space`, `row_basis`) first scale each row to length 1: a row in micrometres counts as much as
one in tonnes. Where equations are solved (`least_squares`), the caller's units define «nearest» and «least», and `lost` is
relative to the largest σ of the given matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import SingularConfiguration
from appell.rows.tolerances import COLUMNS_FULL, GRAM_LOST, GRAM_PLAIN, MASSLESS, RANK_LOST, ROW_EMPTY, ROW_SHARE

Array = NDArray[np.float64]


class NotDecomposed(SingularConfiguration, np.linalg.LinAlgError):
    """Raised if a matrix has no decomposition: entries overflow, or are not numbers."""


@contextmanager
def decomposing(A: Array) -> Iterator[None]:
    """Turns errors of LAPACK into `NotDecomposed`."""
    try:
        yield
    except np.linalg.LinAlgError:
        bad = "are not finite" if not np.isfinite(A).all() else f"reach {np.abs(A).max(initial=0.0):.3g}"
        raise NotDecomposed(
            f"a matrix {A.shape} cannot be decomposed here, some of its entries {bad}; choose units in which masses, lengths"
            " and forces are nearer to 1, or another start"
        ) from None


class Singular(NamedTuple):
    """A = U[:, :k] diag(σ) Vᵀ[:k] with k = min(m, n): U (m, m), sigma (k,), Vt (n, n); U (m, k), Vt (k, n) where economical."""

    U: Array
    sigma: Array
    Vt: Array


def singular(A: Array, *, economical: bool = False) -> Singular:
    """The singular value decomposition of A, (…, m, n)."""
    with decomposing(A):
        return Singular(*np.linalg.svd(A, full_matrices=not economical))


def singular_values(A: Array) -> Array:
    """σ_1 ≥ σ_2 ≥ …, (…, min(m, n))."""
    with decomposing(A):
        return np.asarray(np.linalg.svd(A, compute_uv=False), dtype=np.float64)


def unit_rows(A: Array) -> Array:
    """Each row scaled to length 1; a row that is rounding beside the longest (`ROW_EMPTY`) stays that short."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    longest = length.max(initial=0.0) or 1.0
    return A / np.where(length > ROW_EMPTY * longest, length, longest)


def unit_diagonal(M: Array) -> Array:
    """M_ij / √|M_ii M_jj|, free of the units of a metric; rows with a zero diagonal entry are unchanged."""
    size = np.abs(np.diag(M))
    root = 1 / np.sqrt(np.where(size > 0, size, 1.0))
    return M * np.outer(root, root)


def rank(A: Array, lost: float = RANK_LOST, *, as_given: bool = False) -> int:
    """Number of independent rows of A, (m, n), each scaled to length 1.

    as_given: the rows already have comparable sizes, so that a short one is only rounding.
    """
    return _count(singular_values(A if as_given else unit_rows(A)), lost) if A.size else 0


def null_space(A: Array, lost: float = RANK_LOST, *, as_given: bool = False) -> Array:
    """Z, (n, n − rank), with orthonormal columns and A Z = 0; all directions if A has no rows. as_given: see `rank`."""
    if not A.size:
        return np.eye(A.shape[1])
    svd = singular(A if as_given else unit_rows(A))
    return svd.Vt[_count(svd.sigma, lost) :].T


def rows_of_dependencies(A: Array, rank: int | None = None) -> list[int]:
    """Indices of the rows of A, (m, n), that take part in a combination yᵀA = 0: λ and λ + y push alike. rank: if known."""
    if not A.size:
        return []
    svd = singular(unit_rows(A))
    free = svd.U[:, _count(svd.sigma, RANK_LOST) if rank is None else rank :]
    return np.flatnonzero(np.abs(free).max(axis=1, initial=0.0) > ROW_SHARE).tolist()


def row_basis(A: Array, lost: float = RANK_LOST) -> Array:
    """R, (rank, n), with orthonormal rows that span those of A."""
    if not A.size:
        return np.zeros((0, A.shape[1]))
    svd = singular(unit_rows(A), economical=True)
    return svd.Vt[: _count(svd.sigma, lost)]


def orthogonal_part(V: Array, x: Array) -> Array:
    """The part of x, (n,) or (n, k), orthogonal to the orthonormal columns of V, (n, r)."""
    for _ in range(2):  # Gram–Schmidt twice is orthogonal to rounding (Kahan, Parlett)
        x = x - V @ (V.T @ x)
    return x


def with_direction(V: Array, x: Array, least: float) -> Array | None:
    """V, (n, r), with one more orthonormal column, so that x lies in their span; None if it does already: up to the fraction
    `least` of x."""
    size = float(np.linalg.norm(x))
    if not 0 < size < np.inf:
        return None
    part = orthogonal_part(V, x / size)
    length = float(np.linalg.norm(part))
    return np.column_stack([V, part / length]) if length >= least else None


def range_of_projection(P: Array) -> Array:
    """Orthonormal basis of the range of a projection P, (n, n), whose singular values are 0, or 1 and more."""
    svd = singular(P)
    return svd.U[:, svd.sigma > 0.5]


def least_squares(A: Array, b: Array, lost: float) -> Array:
    """x of least norm with A x nearest to b; combinations below `lost` of the largest σ are ignored."""
    with decomposing(A):
        return np.asarray(np.linalg.lstsq(A, b, rcond=lost)[0], dtype=np.float64)


def in_columns(A: Array, b: Array) -> Array:
    """x with A x nearest to b, where the columns of A are independent by construction (bases, N of q̇ = N v)."""
    return least_squares(A, b, COLUMNS_FULL * max(A.shape))


def left_inverse(A: Array) -> Array:
    """A⁺ with A⁺A = 1, where the columns of A are independent by construction."""
    with decomposing(A):
        return np.asarray(np.linalg.pinv(A, rcond=COLUMNS_FULL * max(A.shape)), dtype=np.float64) if A.size else A.T


def inverse_on_range(G: Array, lost: float = GRAM_LOST) -> Array:
    """A generalized inverse of a symmetric G ≥ 0, (m, m): G⁻ with G G⁻ G = G, of least norm after scaling its diagonal to 1."""
    size = np.diag(G)
    root = np.sqrt(np.where(size > 0, size, 1.0))
    scale = np.outer(root, root)
    with decomposing(G):
        return np.asarray(np.linalg.pinv(G / scale, rcond=lost, hermitian=True), dtype=np.float64) / scale


def regular(M: Array, lost: float = MASSLESS) -> bool:
    """Whether a symmetric M is nonsingular, whatever the units of its rows."""
    return not M.size or _count(singular_values(unit_diagonal(M)), lost) == len(M)


def plainly_independent(G: Array) -> bool:
    """Whether rows with the Gram matrix G = A M⁻¹ Aᵀ are clearly independent."""
    if not (np.diag(G) > 0).all():
        return False
    try:
        L = np.linalg.cholesky(unit_diagonal(G))
    except np.linalg.LinAlgError:
        return False
    return bool(np.diag(L).min(initial=1.0) ** 2 > GRAM_PLAIN)


def _count(sigma: Array, lost: float) -> int:
    """Number of σ above the fraction `lost` of the largest."""
    return int((sigma > lost * sigma.max(initial=0.0)).sum())
