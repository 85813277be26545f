"""Sizes of displacements and velocities, made comparable by the inertia, whatever their units.

    √M_ii δ_i        alike for angles, nanometres and astronomical units        δq = N δ

The functions take one state, or a batch of states with the batch first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def metric_roots(M: Array) -> Array:
    """√M_ii, (…, nv); the largest, or 1, where there is no inertia."""
    inertia = np.einsum("...ii->...i", M)
    root = np.sqrt(np.where(inertia > 0, inertia, inertia.max(axis=-1, initial=0.0, keepdims=True)))
    return np.where(root > 0, root, 1.0)


def moves_of(N: Array, q: Array) -> Array:
    """Sizes of displacements δ, δq = N δ, that change coordinates by as much as their values, (…, moves)."""
    size = (N**2).sum(axis=-2)
    return np.einsum("...ij,...i->...j", np.abs(N), np.abs(q)) / np.where(size > 0, size, 1.0)


def in_metric(roots: Array, own: Array) -> Array:
    """The largest of several sizes in the metric, converted to the unit of each, (moves,); states of first order, whose root is
    0, are compared only with each other."""
    heavy, most = roots > 0, float((roots * own).max(initial=0.0))
    return np.where(heavy, most / np.where(heavy, roots, 1.0), own[~heavy].max(initial=0.0))


def largest_alike(roots: Array, own: Array) -> Array:
    """The largest of several sizes, converted to the unit of each by the inertia, (…, nv); at most the largest as a number.

    By inertia alone a coordinate of a light body would be as large as the energy of a heavy one makes it; as a number alone
    1 rad would be the size of a nanometre.
    """
    most = (roots * own).max(axis=-1, initial=0.0, keepdims=True)
    return np.minimum(most / roots, own.max(axis=-1, initial=0.0, keepdims=True))


__all__ = ["in_metric", "largest_alike", "metric_roots", "moves_of"]
