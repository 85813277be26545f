"""Hard discs in a square box, from collision to collision in closed form: straight lines between them.

    two discs     |Δr + Δv τ| = 2 R, the smaller root of a quadratic equation;  Δv_n⁺ = −e Δv_n⁻ along the line of centres
    a wall        x + ẋ τ = R or L − R;  ẋ⁺ = −e ẋ⁻
"""

from __future__ import annotations

import numpy as np


def collide(r, v, *, side, radius, mass, e, until):
    """Positions and velocities, (n, 2), at a time, and the times of all collisions before it."""
    r, v, t, times = np.array(r, float), np.array(v, float), 0.0, []
    while True:
        tau, event = min((_next_wall(r, v, side, radius), _next_pair(r, v, radius)), key=lambda found: found[0])
        if t + tau > until:
            return r + v * (until - t), v, times
        r, t = r + v * tau, t + tau
        times.append(t)
        i, j = event
        if j < 0:
            v[i, -1 - j] *= -e
            continue
        n = (r[i] - r[j]) / np.linalg.norm(r[i] - r[j])
        P = -(1 + e) * ((v[i] - v[j]) @ n) / (1 / mass[i] + 1 / mass[j])
        v[i] += P / mass[i] * n
        v[j] -= P / mass[j] * n


def _next_wall(r, v, side, radius):
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = np.where(v > 0, (side - radius - r) / v, np.where(v < 0, (radius - r) / v, np.inf))
    i, axis = np.unravel_index(np.argmin(tau), tau.shape)
    return max(tau[i, axis], 0.0), (i, -1 - axis)


def _next_pair(r, v, radius):
    i, j = np.triu_indices(len(r), 1)
    dr, dv = r[i] - r[j], v[i] - v[j]
    b, a, c = (dr * dv).sum(1), (dv * dv).sum(1), (dr * dr).sum(1) - 4 * radius**2
    root = b * b - a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = np.where((b < 0) & (root > 0), c / (-b + np.sqrt(root)), np.inf)
    k = int(np.argmin(tau))
    return max(tau[k], 0.0), (i[k], j[k])
