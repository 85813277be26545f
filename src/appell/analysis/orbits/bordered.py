"""The defining conditions of a branch point as smooth functions with regular zeros.

    ψ₁ = g,  ψ₂ = wᵀ F_a            (M  φ) (v)   (0)        (Mᵀ  u) (w)   (0)
                                    (uᵀ 0) (g) = (1),       (φᵀ  0) (g) = (1)

M is the Jacobian of F by its unknowns without the parameters, and g vanishes where M is singular; φ and u, its kernels at the
first point, are kept. F + η φ = 0 has one more unknown, η: with it the three conditions are independent, which F, ψ₁ and ψ₂ by
themselves are not. Where a symmetry preserves the branch point, η stays zero along the curve; otherwise the branch point
unfolds as soon as the second parameter changes (W.-J. Beyn and others, in Handbook of Dynamical Systems 2, 2002, chapter 4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.rows import singular

Array = NDArray[np.float64]

DISSOLVED = 1e-6
"""There is no branch point if η is larger than this in units of F."""


class Borders(NamedTuple):
    """φ (rows,) and u (unknowns,)."""

    phi: Array
    u: Array


def borders_of(M: Array) -> Borders:
    """The kernels of a nearly singular matrix (n, n)."""
    U, _, Vt = singular(M)
    return Borders(U[:, -1], Vt[-1])


def branch_point_tests(M: Array, slope: Array, borders: Borders) -> Array:
    """(ψ₁, ψ₂); M (n, n), slope: F_a (n,), both in units of their scales."""
    K = np.block([[M, borders.phi[:, None]], [borders.u[None, :], np.zeros((1, 1))]])
    unit = np.append(np.zeros(len(M)), 1.0)
    g, w = np.linalg.solve(K, unit)[-1], np.linalg.solve(K.T, unit)[:-1]
    return np.array([g, float(w @ slope)])


def refuse_dissolved(eta: float, name: str) -> None:
    """Raises if η shows that the point is not a branch point of F."""
    if abs(eta) > DISSOLVED:
        raise AppellError(f"the branch point dissolves as {name} moves: no symmetry keeps it, and only folds stay")


__all__ = ["Borders", "borders_of", "branch_point_tests", "refuse_dissolved"]
