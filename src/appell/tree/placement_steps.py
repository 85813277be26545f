"""A constant placement as a sequence of as few and as cheap steps as possible.

Two axes z and z' = R z that are not parallel have a common normal x'; along it the placement is that of Denavit and Hartenberg,

    Slide(z, b) Turn(z, β) Slide(x, a) Turn(x, α) Slide(z, d) Turn(z, γ)

with quarter turns written as swaps. The last rotation is returned separately, to be merged with the angle of a hinge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.tree.inertia import Array, Placement
from appell.tree.spatial import Slide, Step, Steps, Swap, Turn

DECIMAL_ROUNDING = 1e-12  # rad, or fraction of the tree's size: smaller angles and lengths are rounding in a file
SKEW = 0.05  # sine of the angle between two axes below which their common normal may be far away
X, Z = 0, 2


@dataclass(frozen=True)
class ElementarySteps:
    """The steps, and the remaining rotation γ about z after them (rad)."""

    steps: Steps
    gamma: float


@dataclass(frozen=True)
class CommonNormal:
    """The common normal of z and z': b along z, a along x', d along z', and the angles β, α, γ."""

    b: float
    beta: float
    a: float
    alpha: float
    d: float
    gamma: float


def slides(r: Array, size: float) -> Steps:
    return tuple(Slide(k, float(r[k])) for k in range(3) if abs(r[k]) > DECIMAL_ROUNDING * size)


def quarter(angle: float) -> int | None:
    """The number of quarter turns in `angle`, if it is a multiple of one."""
    n = angle / (np.pi / 2)
    return round(n) % 4 if abs(n - round(n)) < DECIMAL_ROUNDING else None


def turn(k: int, angle: float) -> Steps:
    """A constant rotation about the axis k."""
    n = quarter(angle)
    if n is None:
        return (Turn(k, float(np.cos(angle)), float(np.sin(angle))),)
    if n == 0:
        return ()
    i, j = (k + 1) % 3, (k + 2) % 3
    R = np.zeros((3, 3))
    c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[n]
    R[k, k], R[i, i], R[j, j], R[i, j], R[j, i] = 1, c, c, -s, s
    return swap(R)


def swap(R: Array) -> Steps:
    """A signed permutation matrix as one step."""
    source = [int(np.argmax(abs(row))) for row in R]
    sign = [float(np.sign(row[m])) for row, m in zip(R, source, strict=True)]
    if source == [0, 1, 2] and min(sign) > 0:
        return ()
    return (Swap((source[0], source[1], source[2]), (sign[0], sign[1], sign[2])),)


def common_normal(X_: Placement) -> CommonNormal | None:
    """See the module docstring; None if the axes are parallel, or so nearly parallel that lengths would lose their accuracy."""
    R, r = X_.R, X_.p
    sine = float(np.hypot(R[0, 2], R[1, 2]))
    if sine < SKEW:
        return None
    beta, alpha, gamma = euler(R)
    x, y = np.array([np.cos(beta), np.sin(beta), 0.0]), np.array([-np.sin(beta), np.cos(beta), 0.0])
    d = float(-(r @ y) / sine)
    return CommonNormal(float(r[2] - d * np.cos(alpha)), beta, float(r @ x), alpha, d, gamma)


def euler(R: Array) -> tuple[float, float, float]:
    """R = Rz(β) Rx(α) Rz(γ)."""
    sine = np.hypot(R[0, 2], R[1, 2])
    return float(np.arctan2(R[0, 2], -R[1, 2])), float(np.arctan2(sine, R[2, 2])), float(np.arctan2(R[2, 0], R[2, 1]))


def elementary_steps(X_: Placement, size: float) -> ElementarySteps:
    """`X_` = steps, then a rotation about z by gamma; `size` (m) is that of the tree."""
    R, r, scale = X_.R, X_.p, size + float(abs(X_.p).max())
    normal = common_normal(X_)
    if np.hypot(R[0, 2], R[1, 2]) < DECIMAL_ROUNDING:
        upright = R[2, 2] > 0
        flip: Steps = () if upright else swap(np.diag([1.0, -1.0, -1.0]))
        gamma = np.arctan2(R[1, 0], R[0, 0]) if upright else np.arctan2(-R[1, 0], R[0, 0])
        return ElementarySteps((*slides(r, scale), *flip), float(gamma))
    if normal is None:
        beta, alpha, gamma = euler(R)
        turns = (*turn(Z, beta), *turn(X, alpha))
        before, after = slides(r, scale), slides(compose(turns).T @ r, scale)
        return ElementarySteps((*before, *turns) if len(before) <= len(after) else (*turns, *after), gamma)
    if quarter(normal.beta) is not None and quarter(normal.alpha) is not None:
        # z ⊥ z' on coordinate axes: translate first, where the predecessor's rates are shared by its other successors
        A = compose((*turn(Z, normal.beta), *turn(X, normal.alpha)))
        return ElementarySteps((*slides(r, scale), *swap(A)), normal.gamma)
    steps: list[Step] = [*slides(np.array([0, 0, normal.b]), scale), *turn(Z, normal.beta)]
    steps += [*slides(np.array([normal.a, 0, 0]), scale), *turn(X, normal.alpha)]
    steps += slides(np.array([0, 0, normal.d]), scale)
    return ElementarySteps(tuple(steps), normal.gamma)


def compose(steps: Steps) -> Array:
    """The rotation matrix of constant rotations and swaps."""
    columns = []
    for unit in np.eye(3):
        x = [float(u) for u in unit]
        for step in reversed(steps):
            x = step.vector_in(x)
        columns.append(x)
    return np.array(columns).T
