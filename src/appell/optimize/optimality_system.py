"""The optimality system of a plan on its mesh, and whether a stationary point is a minimum.

    L = J + λᵀg,        H = ∂²L/∂y²,        A = ∂g/∂y        of the free variables y and the rows that hold as equations

At a minimum dᵀH d >= 0 for all d with A d = 0. A maximum or a saddle is stationary as well, and a search that begins on a
symmetry may end there. A direction with dᵀH d < σ dᵀd exists if Z(Zᵀ(H − σ)Z)⁻¹Zᵀ, Z a basis of the null space of A, has a
negative eigenvalue; this matrix is a block of the inverse of

    (H − σ   Aᵀ)
    (A       0 )
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.sparse import bmat, csc_matrix, identity
from scipy.sparse.linalg import splu

from appell.optimize.on_mesh import MeshSolution
from appell.rows import orthogonal_part

Array = NDArray[np.float64]
Places = NDArray[np.intp]

HELD_BOUND = 1e-6
"""A variable or row within this fraction of its size from a bound is at the bound."""
DOWNWARD = 1e-6
"""A curvature below minus this fraction of the largest entry of H is negative: multipliers are known to about 1e-8."""
DEPENDENT_ROWS = 1e-10
"""Part of a unit matrix in place of the zero block: rows that hold may depend on each other."""
LANCZOS_STEPS = 60
"""Steps towards the lowest eigenvalue. Every direction that is found proves itself; none found is no proof of a minimum."""


@dataclass(frozen=True, eq=False)
class OptimalitySystem:
    """y (n,), λ (m,), A (m, n) and H (n, n) of the scaled program; indices of free variables and of rows that are equations."""

    y: Array
    lam: Array
    A: csc_matrix
    H: csc_matrix
    free: Places
    active_rows: Places


def optimality_system(solution: MeshSolution, bounds: tuple[Array, Array]) -> OptimalitySystem:
    """The system at a solution; bounds: of x."""
    program, S = solution.program, solution.program.scales
    y = solution.output.x / S
    low, high = (limit / S for limit in bounds)
    row_low, row_high = (limit * program.row_scales for limit in solution.transcription.row_bounds())
    g = program.residuals(solution.output.x, solution.numbers) * program.row_scales
    lam = solution.output.rows / program.row_scales * program.cost_scale
    free = ~((y - low < HELD_BOUND) | (high - y < HELD_BOUND))
    active = (row_low == row_high) | (g - row_low < HELD_BOUND) | (row_high - g < HELD_BOUND)
    upper = _sparse(program.curvature(y, solution.numbers, 1.0, lam))
    H = upper + upper.T - csc_matrix((upper.diagonal(), (range(program.n), range(program.n))), shape=upper.shape)
    A = _sparse(program.jacobian(y, solution.numbers)[1])
    return OptimalitySystem(y, lam, A, csc_matrix(H), np.flatnonzero(free), np.flatnonzero(active))


def downward(solution: MeshSolution, bounds: tuple[Array, Array]) -> Array | None:
    """A direction in x (n,), its largest entry one size, in which the goal bends downwards; None at a minimum."""
    system = optimality_system(solution, bounds)
    n, m = len(system.free), len(system.active_rows)
    H, A = system.H[system.free][:, system.free], system.A[system.active_rows][:, system.free]
    largest = float(np.abs(H.data).max(initial=0.0))
    if n < 3 or not largest > 0 or not np.isfinite(largest) or not np.isfinite(A.data).all():
        return None
    K = bmat([[H + DOWNWARD * largest * identity(n), A.T], [A, -DEPENDENT_ROWS * identity(m)]])
    try:
        solve = splu(csc_matrix(K)).solve
    except RuntimeError:
        return None
    d = _lowest(lambda v: solve(np.append(v, np.zeros(m)))[:n], n)
    if not d @ (H @ d) < -DOWNWARD * largest * float(d @ d):
        return None
    direction = np.zeros(len(system.y))
    direction[system.free] = d / np.abs(d).max()
    return direction * solution.program.scales


def _lowest(product: Callable[[Array], Array], n: int) -> Array:
    """About the eigenvector of the lowest eigenvalue of a symmetric matrix, by Lanczos' method from a random vector."""
    v = product(np.random.default_rng(0).normal(size=n))
    Q, diagonal, off_diagonal = [v / np.linalg.norm(v)], [], []
    for _ in range(min(LANCZOS_STEPS, n)):
        v = product(Q[-1])
        diagonal.append(float(v @ Q[-1]))
        v = orthogonal_part(np.array(Q).T, v)
        length = float(np.linalg.norm(v))
        if not length > 1e-12 * abs(diagonal[0]):  # only rounding is left: the Krylov space is complete
            break
        off_diagonal.append(length)
        Q.append(v / length)
    k = len(diagonal)
    _, vectors = eigh_tridiagonal(diagonal, off_diagonal[: k - 1])
    return np.array(Q[:k]).T @ vectors[:, 0]


def _sparse(matrix: Any) -> csc_matrix:
    rows, columns = matrix.sparsity().get_triplet()
    return csc_matrix((np.array(matrix.nz[:]).ravel(), (rows, columns)), shape=matrix.shape)


__all__ = ["OptimalitySystem", "downward", "optimality_system"]
