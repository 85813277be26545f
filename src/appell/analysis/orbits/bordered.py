"""What makes a point of a branch a branch point, as smooth functions that have plain zeros.

    ψ₁ = g,  ψ₂ = wᵀ F_a            (M  φ) (v)   (0)        (Mᵀ  u) (w)   (0)
                                    (uᵀ 0) (g) = (1),       (φᵀ  0) (g) = (1)

M is the Jacobian of F by its unknowns without the parameters, and g vanishes where M is singular; φ and u, its kernels at the
first point, are kept. F + η φ = 0 has one more unknown, η: with it the three conditions are independent, which F, ψ₁ and ψ₂
alone are not. Where a symmetry keeps the branch point one, η stays zero along the curve; else the branch point dissolves into
folds as soon as the second parameter moves (W.-J. Beyn and others, in Handbook of Dynamical Systems 2, 2002, chapter 4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.rows import singular

Array = NDArray[np.float64]

DISSOLVED = 1e-6
"""Share of the units of F above which η says that there is no branch point."""


class Borders(NamedTuple):
    """φ (rows,) and u (unknowns,)."""

    phi: Array
    u: Array


def borders_of(M: Array) -> Borders:
    """The kernels of a matrix (n, n) that is nearly singular."""
    U, _, Vt = singular(M)
    return Borders(U[:, -1], Vt[-1])


def branch_point_tests(M: Array, slope: Array, borders: Borders) -> Array:
    """(ψ₁, ψ₂); M (n, n), slope: F_a (n,), both in units of their scales."""
    K = np.block([[M, borders.phi[:, None]], [borders.u[None, :], np.zeros((1, 1))]])
    end = np.append(np.zeros(len(M)), 1.0)
    g, w = np.linalg.solve(K, end)[-1], np.linalg.solve(K.T, end)[:-1]
    return np.array([g, float(w @ slope)])


def refuse_dissolved(eta: float, name: str) -> None:
    """A point with another F is no branch point."""
    if abs(eta) > DISSOLVED:
        raise AppellError(f"the branch point dissolves as {name} moves: no symmetry keeps it, and only folds stay")


__all__ = ["Borders", "borders_of", "branch_point_tests", "refuse_dissolved"]
