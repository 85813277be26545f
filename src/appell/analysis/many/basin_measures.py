"""Measures of basins: their sizes, and the dimension of their boundary.

    S = n_k/n,   δS = √(S (1 − S)/n)
    N(s) ~ s^(−D)

S is the fraction of all starts that end at an attractor (P. J. Menck, J. Heitzig, N. Marwan and J. Kurths, Nature Physics 9
(2013) 89); the error is that of n random starts. N(s) counts the boxes of s × s cells whose starts end at several
attractors; D is the slope of log N over log s (C. Grebogi, S. McDonald, E. Ott and J. Yorke, Phys. Lett. A 99 (1983) 415).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError

Array = NDArray[np.float64]

FEWEST_SIZES = 3
"""Smallest number of box sizes for a slope."""
BOXES_ALONG = 8
"""Smallest number of boxes along the shorter side of the plane: larger boxes are all on the boundary."""


class BoundaryDimension(NamedTuple):
    """D with the standard error of the slope; the sizes of the boxes in grid cells, and the numbers of boxes on the
    boundary."""

    dimension: float
    error: float
    sizes: NDArray[np.int_]
    counts: NDArray[np.int_]


def shares(labels: NDArray[np.int_], attractors: int) -> Array:
    """(attractors, 2): S and δS of each, among the starts that move."""
    n = max(int((labels != -2).sum()), 1)
    S = np.array([(labels == k).sum() / n for k in range(attractors)])
    return np.column_stack([S, np.sqrt(S * (1 - S) / n)])


def boundary_dimension(labels: NDArray[np.int_]) -> BoundaryDimension:
    """The dimension of the boundary between all basins of a plane, labels (n, m); undecided starts do not count."""
    cells = min(labels.shape) - 1
    sizes = [2**k for k in range(32) if 2**k * BOXES_ALONG <= cells]
    if len(sizes) < FEWEST_SIZES:
        least = 2 ** (FEWEST_SIZES - 1) * BOXES_ALONG + 1
        raise ModelError(
            f"the dimension of a boundary needs {least} × {least} starts at least, not {labels.shape[0]} × {labels.shape[1]}"
        )
    counts = [_on_boundary(labels, size) for size in sizes]
    if not counts[-1]:
        raise ModelError("all starts that were decided go to one attractor: there is no boundary between basins")
    x, y = np.log(sizes), np.log(np.maximum(counts, 1))
    (slope, level), weights = np.polyfit(x, y, 1), x - x.mean()
    residual = y - slope * x - level
    error = float(np.sqrt((residual @ residual) / max(len(x) - 2, 1) / (weights @ weights)))
    return BoundaryDimension(-float(slope), error, np.array(sizes), np.array(counts))


def _on_boundary(labels: NDArray[np.int_], size: int) -> int:
    """Boxes of size × size cells, neighbours sharing their edges, with starts of several attractors."""
    n, m = ((k - 1) // size for k in labels.shape)
    count = 0
    for i in range(n):
        strip = labels[i * size : (i + 1) * size + 1]
        columns = np.stack([strip[:, j : j + m * size : size][:, :m] for j in range(size + 1)], axis=-1)
        boxes = columns.transpose(1, 0, 2).reshape(m, -1)
        low = np.where(boxes < 0, np.iinfo(boxes.dtype).max, boxes).min(axis=1)
        count += int((low < boxes.max(axis=1)).sum())
    return count


__all__ = ["BoundaryDimension", "boundary_dimension", "shares"]
