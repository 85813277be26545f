"""Velocities of three parts under an isotropic dry friction, with SciPy: they slide, stop, stick and break away.

    M v̇ = f(t, q, v) − L(t, v) v/|v|,   q̇ = v              it sticks while |f| < L at v = 0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

Array = np.ndarray

FAST = 0.01
"""m/s, from which an explicit method is quick."""


@dataclass(frozen=True)
class InSpace:
    """inertia: (3,) diagonal M; force(t, q, v): f; bound(t, v): L while it slides, `rest(t)` while it sticks."""

    inertia: Array
    force: Callable[[float, Array, Array], Array]
    bound: Callable[[float, Array], float]
    rest: Callable[[float], float]

    def run(self, q: Array, v: Array, until: float) -> tuple[Array, Array, list[float]]:
        """q, v at the end, and the times of stops and departures."""
        t, events, zero = 0.0, [], np.zeros(3)
        moving = bool(np.linalg.norm(v) > 0) or np.linalg.norm(self.force(0.0, q, zero)) > self.rest(0.0)
        while t < until:
            if not moving:
                t = self._departs(t, q, until)
                if t >= until:
                    break
                events.append(t)
                v = zero
            t, q, v, stopped = self._slide(t, q, v, until)
            if stopped:
                events.append(t)
                v, moving = zero, bool(np.linalg.norm(self.force(t, q, zero)) > self.rest(t))
        return q, v, events

    def _slide(self, t: float, q: Array, v: Array, until: float) -> tuple[float, Array, Array, bool]:
        def rates(x: float, y: Array) -> Array:
            size = np.linalg.norm(y[3:])
            f = self.force(x, y[:3], y[3:])
            u = y[3:] / size if size > 0 else f / np.linalg.norm(f)
            return np.concatenate([y[3:], (f - self.bound(x, y[3:]) * u) / self.inertia])

        if np.linalg.norm(v) == 0:  # it departs: stiff while it is slow
            f = self.force(t, q, v)
            fast = lambda x, y: np.linalg.norm(y[3:]) - FAST
            fast.terminal = True  # type: ignore[attr-defined]
            begun = solve_ivp(rates, (t, until), np.concatenate([q, 1e-10 * f / np.linalg.norm(f)]), "Radau", rtol=1e-10,
                              atol=1e-13, events=fast)  # fmt: skip
            t, q, v = float(begun.t[-1]), begun.y[:3, -1], begun.y[3:, -1]
            if begun.status != 1:
                return t, q, v, False
        size = max(float(np.linalg.norm(v)), 1e-9)
        slow = lambda x, y: np.linalg.norm(y[3:]) - 1e-7 * size
        slow.terminal, slow.direction = True, -1  # type: ignore[attr-defined]
        found = solve_ivp(rates, (t, until), np.concatenate([q, v]), "DOP853", rtol=1e-12, atol=1e-15, events=slow)
        t, y = float(found.t[-1]), found.y[:, -1]
        if found.status != 1:
            return t, y[:3], y[3:], False
        rate = rates(t, y)[3:]  # the rest of the way along a line: |v|²/(−v·v̇)
        left = float(-(y[3:] @ y[3:]) / (y[3:] @ rate))
        return t + left, y[:3] + y[3:] * left / 2, np.zeros(3), True

    def _departs(self, t: float, q: Array, until: float) -> float:
        slack = lambda x: self.rest(x) - float(np.linalg.norm(self.force(x, q, np.zeros(3))))
        grid = np.linspace(t, until, 2001)
        below = [k for k in range(1, len(grid)) if slack(grid[k]) < 0]
        return float(brentq(slack, grid[below[0] - 1], grid[below[0]], xtol=1e-14)) if below else until


__all__ = ["InSpace"]
