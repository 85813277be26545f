"""M⁻¹ of a tree by branch-sparse factors in C loops: derivatives of forward dynamics where straight-line code would be too
long.

Between branches M has zeros, and M = (1 + L)ᵀ D (1 + L) from the tips has them too (Featherstone 2005): row k of L is nonzero
only in the columns of the axes between axis k and the base. The same elimination in the graph is `derivatives.solved`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import build
from appell.backends.once import once
from appell.tree.frames import FrameLayout

Array = NDArray[np.float64]
Indices = NDArray[np.int32]

SOURCE = resources.files("appell.tree").joinpath("branches.c").read_text(encoding="utf-8")
DECLARATION = """
void appell_branches(
    ptrdiff_t states, ptrdiff_t n, const int *up_begin, const int *up_at, const int *down_begin, const int *down_at,
    const double *M, double *tau_q, double *tau_v, double *inverse, double *room);
"""
PANEL = 32  # columns solved together


@dataclass(frozen=True, eq=False)
class Branches:
    """For each axis, the axes between it and the base, `up`, and those behind it, `down`: each as (offsets, indices)."""

    n: int
    up: tuple[Indices, Indices]
    down: tuple[Indices, Indices]

    @staticmethod
    def of(layout: FrameLayout) -> Branches:
        until: list[list[int]] = []  # for each link: the axes from the base to it, its own included
        up: list[list[int]] = []
        for link in layout.links:
            until.append([] if link.node.parent < 0 else list(until[link.node.parent]))
            for k in link.velocities:
                up.append(list(until[-1]))
                until[-1].append(k)
        down = [[i for i, row in enumerate(up) if k in row] for k in range(len(up))]
        return Branches(len(up), _indices(up), _indices(down))

    @property
    def operations(self) -> int:
        """Estimate of the operations in `derivatives.solved`: two matrices of n columns through 1 + L twice, and as many before
        that."""
        return 10 * self.n * len(self.up[1])

    def accelerations(self, tau_q: Array, tau_v: Array, M: Array) -> tuple[Array, Array, Array]:
        """−M⁻¹ tau_q, −M⁻¹ tau_v, M⁻¹, each (…, nv, nv); the first two overwrite their arguments."""
        n, inverse, (run, view, numbers) = self.n, np.empty_like(M), _entry()
        arrays = (M, tau_q, tau_v, inverse, np.empty(n * n + n + 16 + n * PANEL))
        run(M.size // max(1, n * n), n, *self._places, *(view(numbers, array) for array in arrays))
        return tau_q, tau_v, inverse

    @cached_property
    def _places(self) -> tuple[Any, ...]:
        _, view, _ = _entry()
        return tuple(view("int[]", array) for direction in (self.up, self.down) for array in direction)


def _indices(rows: list[list[int]]) -> tuple[Indices, Indices]:
    return np.cumsum([0, *map(len, rows)], dtype=np.int32), np.array([k for row in rows for k in row], dtype=np.int32)


@once
def _entry() -> tuple[Any, Any, Any]:
    """The compiled function, and how to pass arrays to it and as which type; compiled on first use."""
    library = build(SOURCE, DECLARATION)
    return library.lib.appell_branches, library.ffi.from_buffer, library.ffi.typeof("double[]")
