"""Coupled rows and unknowns: the block triangular form of a matrix (Dulmage and Mendelsohn).

    K = ( K₁₁          )        det K = det K₁₁ det K₂₂ …
        ( K₂₁  K₂₂     )
        ( …    …     ⋱ )

An entry outside the blocks is in no term of the determinant. As a pivot it would introduce a pole that the problem does not
have: with M a = F and A (a + c) = b, a row of A is not an equation for a.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from sympy.utilities.iterables import strongly_connected_components

Block = tuple[tuple[int, ...], tuple[int, ...]]
"""Rows and columns."""


def row_blocks(present: NDArray[np.bool_], match: Sequence[int]) -> list[list[int]]:
    """Rows of the diagonal blocks of a square matrix, each block after those it depends on; match: the column of each row."""
    n = len(present)
    edges = [(i, k) for i in range(n) for k in range(n) if i != k and present[i, match[k]]]
    return strongly_connected_components((list(range(n)), edges))


def diagonal_blocks(present: NDArray[np.bool_]) -> list[Block]:
    """The diagonal blocks; a single block where the matrix is not square or structurally singular."""
    m, n = present.shape
    match = maximum_bipartite_matching(csr_matrix(present), perm_type="column").tolist() if m == n else [-1]
    if min(match, default=0) < 0:
        return [(tuple(range(m)), tuple(range(n)))]
    blocks = row_blocks(present, match)
    return [(tuple(sorted(rows)), tuple(sorted(match[i] for i in rows))) for rows in blocks]


__all__ = ["Block", "diagonal_blocks", "row_blocks"]
