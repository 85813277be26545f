"""Closure errors of the loops of a robot at a configuration, in numbers: the rows of `appell.tree.loops` with their Jacobian.

With d = p_b − p_a, axes u of a and w of b, and ω the angular velocity of each frame,

    (d·u)˙ = u·ḋ + (u × d)·ω_a        (u·w)˙ = (w × u)·(ω_b − ω_a)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from appell.tree.loops import LOOPS, WITHOUT_TURN

Array = NDArray[np.float64]
FramePose = tuple[Array, Array, Array]
"""(R, p, J) of `tree.pose`."""
AXES = "xyz"


def turn_between(R: Array, wanted: Array) -> Array:
    """log(R wantedᵀ), (3,), rad, on the world's axes."""
    D = R @ wanted.T
    x, y, z = (D[2, 1] - D[1, 2]) / 2, (D[0, 2] - D[2, 0]) / 2, (D[1, 0] - D[0, 1]) / 2
    sine, cosine = math.sqrt(x * x + y * y + z * z), (D[0, 0] + D[1, 1] + D[2, 2] - 1) / 2
    if sine < 1e-3 and cosine < 0:  # near half a turn: the skew part vanishes, and the axis is taken from the symmetric part
        return Rotation.from_matrix(D).as_rotvec()
    factor = math.atan2(sine, cosine) / sine if sine > 1e-300 else 1.0
    return np.array([factor * x, factor * y, factor * z])


def loop_closure(a: FramePose, b: FramePose, kind: str, size: float) -> tuple[Array, Array]:
    """(e, J) of a loop of one of `LOOPS`, lengths divided by `size`; the rotation error of frames whose axes must agree is
    log(R_b R_aᵀ)."""
    (R_a, p_a, J_a), (R_b, p_b, J_b) = a, b
    d, J, rows = p_b - p_a, J_b - J_a, []
    for row in LOOPS[kind].split():
        if row in AXES:
            k = AXES.index(row)
            rows.append((d[k] / size, J[k] / size))
        elif row.startswith("d"):
            u = R_a[:, AXES.index(row[-1])]
            rows.append((u @ d / size, (u @ J[:3] + np.cross(u, d) @ J_a[3:]) / size))
        elif kind not in WITHOUT_TURN:
            u, w = R_a[:, AXES.index(row[0])], R_b[:, AXES.index(row[-1])]
            rows.append((u @ w, np.cross(w, u) @ J[3:]))
    e, slope = np.array([x for x, _ in rows]), np.array([x for _, x in rows])
    if kind not in WITHOUT_TURN:
        return e, slope
    return np.concatenate([e, turn_between(R_b, R_a)]), np.concatenate([slope, J[3:]])


__all__ = ["loop_closure", "turn_between"]
