"""Motions of one degree of freedom with Coulomb friction, event by event with SciPy: slide, stop, stick, break away.

A reference for the tests: it shares nothing with the library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq


@dataclass(frozen=True)
class OneWay:
    """`slide(t, s, v, way)`: acceleration while it slides along `way` = ±1. `hold(t, s)`: bound less the force at rest, where
    it sticks while that is positive. `pull(t, s)`: the force that moves it where it breaks away."""

    slide: Callable[[float, float, float, int], float]
    hold: Callable[[float, float], float]
    pull: Callable[[float, float], float]

    def run(self, s: float, v: float, until: float, rtol: float = 1e-12) -> tuple[float, float, list[tuple[float, str]]]:
        """s, v at the end, and what happened: (time, "stop" | "break" | "turn")."""
        t, events = 0.0, []
        way = int(np.sign(v)) or self._start(t, s)
        while t < until:
            if way == 0:
                t = self._breaks(t, s, until)
                if t < until:
                    way = int(np.sign(self.pull(t, s)))
                    events.append((t, "break"))
                continue
            stop = lambda _, y, way=way: way * y[1]
            stop.terminal, stop.direction = True, -1  # type: ignore[attr-defined]
            size = max(abs(v), 1e-3 * abs(self.slide(t, s, v, way)) * (until - t), 1e-30)
            atol = [1e-14 * size * until, 1e-14 * size]
            found = solve_ivp(lambda x, y, way=way: [y[1], self.slide(x, y[0], y[1], way)], (t, until), [s, v], "DOP853",
                              rtol=rtol, atol=atol, events=stop)  # fmt: skip
            t, s, v = float(found.t[-1]), float(found.y[0, -1]), float(found.y[1, -1])
            if found.status == 1:
                v, way = 0.0, self._start(t, s)
                events.append((t, "turn" if way else "stop"))
        return s, v, events

    def _start(self, t: float, s: float) -> int:
        return 0 if self.hold(t, s) > 0 else int(np.sign(self.pull(t, s)))

    def _breaks(self, t: float, s: float, until: float) -> float:
        grid = np.linspace(t, until, 4001)
        values = np.array([self.hold(x, s) for x in grid])
        late = np.flatnonzero(values[1:] < 0)
        if not len(late):
            return until
        k = int(late[0])
        return float(brentq(lambda x: self.hold(x, s), grid[k], grid[k + 1], xtol=1e-15)) if values[k] > 0 else float(grid[k])


__all__ = ["OneWay"]
