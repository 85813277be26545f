"""Rows that vanish with the velocities, ∂f/∂q̇ = 0 at q̇ = 0: whether one motion goes on from there, or many do.

A mass of Appell and Hamel, a²(ẋ² + ẏ²) = ż², comes to rest at the top of its rise. Near t* its velocity is v = (t − t*) w + η,
and the accelerations depend on the direction of v alone, so that ∂a/∂v = G/(t − t*) and

    η̇ = G η/(t − t*),        η ~ |t − t*|^γ        for the eigenvalues γ of G on A η = 0

γ = 1 is a direction that stays what it is, γ < 1 one to which neighbours return. With γ > 1 a whole family of motions leaves
the point along w, and what came in does not say which of them goes on: elliptic cones, masses that are pushed aside.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from appell.rows import in_columns

Array = NDArray[np.float64]

NEUTRAL = 1.05
"""γ up to which motions do not part: 1, and what differences and rounding make of it."""

MOVE = 1e-4
"""Share of the speed by which velocities are moved for ∂a/∂v."""


def growth(acceleration: Callable[[Array], Array], v: Array, tangent: Array, left: float) -> float:
    """The largest real part of γ: −left ∂a/∂v on the directions `tangent`, (nv, k), at `left` seconds before the rows vanish.

    acceleration: (nv,) of velocities (nv,) at the same place and time.
    """
    move = MOVE * float(np.linalg.norm(v)) / max(float(np.abs(tangent).max(initial=0.0)), 1e-300)
    if not tangent.size or not move:
        return 0.0
    slopes = [(acceleration(v + move * eta) - acceleration(v - move * eta)) / (2 * move) for eta in tangent.T]
    return float(np.linalg.eigvals(-left * in_columns(tangent, np.array(slopes).T)).real.max())
