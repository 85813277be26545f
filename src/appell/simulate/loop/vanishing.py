"""Rows that vanish with the velocities, ∂f/∂q̇ = 0 at q̇ = 0: whether one motion continues from there, or many do.

The mass of Appell and Hamel, a²(ẋ² + ẏ²) = ż², comes to rest at the top of its rise. Near t* its velocity is
v = (t − t*) w + η, and the accelerations depend on the direction of v only, so that ∂a/∂v = G/(t − t*) and

    η̇ = G η/(t − t*),        η ~ |t − t*|^γ        for the eigenvalues γ of G on A η = 0

With γ = 1 a deviation keeps its direction; with γ < 1 neighbours return. With γ > 1 a whole family of motions leaves the point
along w, and the incoming motion does not determine which of them continues: elliptic cones, masses that are pushed aside.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from appell.rows import in_columns

Array = NDArray[np.float64]

LARGEST_STEADY_GROWTH = 1.05
"""Largest γ for which motions do not part: 1, with a margin for differences and rounding."""

VELOCITY_MOVED = 1e-4
"""Fraction of the speed by which velocities are perturbed for ∂a/∂v."""


def growth(acceleration: Callable[[Array], Array], v: Array, tangent: Array, left: float) -> float:
    """The largest real part of γ: −left ∂a/∂v on the directions `tangent`, (nv, k), at `left` seconds before the rows vanish.

    acceleration: (nv,) of velocities (nv,) at the same place and time.
    """
    move = VELOCITY_MOVED * float(np.linalg.norm(v)) / max(float(np.abs(tangent).max(initial=0.0)), 1e-300)
    if not tangent.size or not move:
        return 0.0
    slopes = [(acceleration(v + move * eta) - acceleration(v - move * eta)) / (2 * move) for eta in tangent.T]
    return float(np.linalg.eigvals(-left * in_columns(tangent, np.array(slopes).T)).real.max())
