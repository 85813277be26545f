"""Sizes of the states of a plan in any units: coordinates are compared by their inertia, not by their numbers.

A coordinate that hardly moves has no size of its own. Beside others it has the size at which it would carry as much:

    s_i = max_j √m_j s_j / √m_i        m: the diagonal of M, of coordinates that of N⁺ᵀ M N⁺

An angle is thus compared with a length in metres or in nanometres alike. States of first order have no inertia, and no other
size than their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.normal_form import NormalForm
from appell.rows import left_inverse

Array = NDArray[np.float64]

SMALL_BESIDE_OTHERS = 1e-3
"""Smallest size of a state for relative errors, as a fraction of its size by inertia."""


@dataclass(frozen=True, eq=False)
class StateSizes:
    """The data for the sizes of states along a motion.

    least: (nz,) sizes below which states are solver noise; roots: (nz,) square roots of inertias, 0 where there is none.
    """

    nq: int
    least: Array
    roots: Array

    def over(self, tables: Sequence[Array]) -> Array:
        """The size of each coordinate and velocity over some tables of states (k, nz); 1 where all of them vanish."""
        largest = np.max([np.abs(z).max(axis=0) for z in tables], axis=0)
        sizes = np.maximum(largest, SMALL_BESIDE_OTHERS * by_inertia(largest, self.roots, self.nq))
        return np.where(sizes > 0, np.maximum(sizes, self.least), 1.0)


def by_inertia(sizes: Array, roots: Array, nq: int) -> Array:
    """The sizes (nz,) of states by inertia, from the other coordinates, or velocities; those without inertia keep their own."""
    natural = sizes.copy()
    for block in (slice(0, nq), slice(nq, None)):
        s, w = sizes[block], roots[block]
        heavy = w > 0
        natural[block] = np.where(heavy, (w * s)[heavy].max(initial=0.0) / np.where(heavy, w, 1.0), s)
    return natural


def inertia_roots(form: NormalForm, states: Sequence[tuple[float, Array]], p: Array) -> Array:
    """√ of the largest inertia of each coordinate and velocity at some states (t, z), (nz,); 0 where there is none."""
    roots = np.zeros(form.nq + form.nv)
    for t, z in states:
        blocks = form.select("M", "N")(t, z[: form.nq], z[form.nq :], p)
        M, N = blocks["M"], blocks["N"]
        if not (np.isfinite(M).all() and np.isfinite(N).all()):
            continue
        N_plus = left_inverse(N)
        diagonal = np.concatenate([np.einsum("ai,ab,bi->i", N_plus, M, N_plus), np.diag(M)])
        roots = np.maximum(roots, np.sqrt(np.maximum(diagonal, 0.0)))
    return roots


__all__ = ["StateSizes", "by_inertia", "inertia_roots"]
