"""Forces whose conditions are made of others: Mod(x, L) < a, x > sign(y), floor(x) + floor(y) even.

Where one condition changes, the function of another jumps, far from its zero: its side follows at once. The forces are constant
in each cell of a grid, so that the motion is known in closed form, parabola by parabola.
"""

from __future__ import annotations

import bisect
import math
import random
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import sympy
from sympy import Expr, Heaviside, Mod, Piecewise, Rational, floor, frac, sign
from tests.families.family import family
from tests.families.switches import PATHS, close

import appell as ap

x, y = ap.coordinates("x y")
t = ap.t
FAR = 12  # beyond all motions


class Pattern(NamedTuple):
    """A condition, and the lines u = const, w = const and t = const between which it does not change."""

    condition: Any
    u: set[Any]
    w: set[Any]
    t: set[Any]


def lines(period: Any, *offsets: Any) -> set[Any]:
    return {offset + period * k for offset in (0, *offsets) for k in range(-math.ceil(FAR / period), math.ceil(FAR / period))}


def pattern(kind: int, u: Any, w: Any, draw: random.Random) -> Pattern:
    """One of nine conditions on two coordinates."""
    period = Rational(draw.randint(1, 3), draw.randint(2, 4))
    a, b = period * Rational(draw.randint(1, 4), 5), Rational(draw.randint(-3, 6), 4)
    strips = lines(period, a)
    return [
        lambda: Pattern(Mod(u, period) < a, strips, set(), set()),
        lambda: Pattern(frac(u / period) > a / period, strips, set(), set()),
        lambda: Pattern(u - period * floor(u / period) >= a, strips, set(), set()),
        lambda: Pattern(u - b + sign(w - a) / 2 > 0, {b + Rational(1, 2), b - Rational(1, 2)}, {a}, set()),
        lambda: Pattern(u > Piecewise((b, w > a), (b + 1, True)), {b, b + 1}, {a}, set()),
        lambda: Pattern(
            Mod(u - Heaviside(w - b) * period / 3, period) < a, strips | lines(period, period / 3, a + period / 3), {b}, set()
        ),
        lambda: Pattern(u > floor(t / a) * a, lines(a), set(), {a * k for k in range(1, 60)}),
        lambda: Pattern(
            Mod(u, period) < a * (1 + Mod(floor(w / period), 3)) / 4,
            lines(period, a / 4, a / 2, 3 * a / 4),
            lines(period),
            set(),
        ),
        lambda: Pattern(Mod(floor(u / period) + floor(w / a), 2) < 1, lines(period), lines(a), set()),
    ][kind % 9]()


class Cells:
    """Constant accelerations between lines of x, y and t."""

    def __init__(self, forces: list[Expr], grid: list[set[Any]]):
        symbols = sympy.symbols("X Y T", real=True)
        named = dict(zip((x, y, t), symbols, strict=True))
        self.forces = [sympy.lambdify(symbols, force.xreplace(named), "math") for force in forces]
        self.grid = [[float(value) for value in sorted({Fraction(str(value)) for value in one})] for one in grid]

    def motion(self, q: list[float], v: list[float], until: float) -> tuple[list[float], list[float]]:
        """Positions and velocities at the end, from cell to cell."""
        now, cell = 0.0, [bisect.bisect(self.grid[i], value) for i, value in enumerate((*q, 0.0))]
        while True:
            a = [float(force(*(self._inside(i, k) for i, k in enumerate(cell)))) for force in self.forces]
            meets = [(self.grid[2][cell[2]] - now, 2, 1)] if cell[2] < len(self.grid[2]) else []
            for i in (0, 1):
                low, high = self._ends(i, cell[i])
                meets += [(s, i, 1) for s in _times(a[i], v[i], q[i] - high, 1)]
                meets += [(s, i, -1) for s in _times(a[i], v[i], q[i] - low, -1)]
            lasts, i, way = min(meets)
            s = min(lasts, until - now)
            q = [q[j] + v[j] * s + a[j] * s**2 / 2 for j in (0, 1)]
            v = [v[j] + a[j] * s for j in (0, 1)]
            if lasts >= until - now:
                return q, v
            now += s
            if i < 2:
                q[i] = self._ends(i, cell[i])[(1 + way) // 2]
            cell[i] += way

    def _ends(self, i: int, k: int) -> tuple[float, float]:
        one = self.grid[i]
        return (one[k - 1] if k else -math.inf), (one[k] if k < len(one) else math.inf)

    def _inside(self, i: int, k: int) -> float:
        low, high = self._ends(i, k)
        return (low + high) / 2 if math.isfinite(low + high) else (high - 0.1 if math.isfinite(high) else low + 0.1)


def _times(a: float, v: float, c: float, way: int) -> list[float]:
    """Times s > 0 at which a s²/2 + v s + c = 0 is passed in a direction."""
    if not math.isfinite(c):
        return []
    if a == 0:
        roots = [-c / v] if v else []
    elif (square := v**2 - 2 * a * c) < 0:
        roots = []
    else:
        w = -(v + math.copysign(math.sqrt(square), v))
        roots = [w / a, *([2 * c / w] if w else [])]
    return [s for s in roots if s > 0 and way * (v + a * s) > 0]


@family(count=27, sample=(0, 8))
def conditions_made_of_others(seed: int) -> None:
    """A body in the plane, pushed by constant forces that change from cell to cell, against its parabolas."""
    draw = random.Random(seed)
    forces, grid = [], [set[Any](), set[Any](), set[Any]()]
    for k in range(2):
        swap = draw.random() < 0.5
        made = pattern(seed + 4 * k, *((y, x) if swap else (x, y)), draw)
        forces.append(Piecewise((Rational(draw.randint(-8, 8), 8), made.condition), (Rational(draw.randint(-8, 8), 8), True)))
        for i, found in zip((1, 0, 2) if swap else (0, 1, 2), made[1:], strict=True):
            grid[i] |= found
    q, v = [draw.uniform(0.01, 0.09), draw.uniform(0.01, 0.09)], [draw.uniform(1, 3), draw.uniform(1, 3)]
    until = draw.uniform(1, 2)
    wanted, rates = Cells(forces, grid).motion(q, v, until)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: forces[0], y: forces[1]})
    start = {x: q[0], y: q[1], x.d: v[0], y.d: v[1]}
    backend, method = PATHS[seed % len(PATHS)]
    motion = ap.simulate(system, start, until, backend=backend, method=method)
    assert motion.ok, motion.message
    for name, value in zip((x, y, x.d, y.d), (*wanted, *rates), strict=True):
        close(motion[name][-1], value, 10.0, str(name))
    if seed % 3 == 0:
        made = ap.simulate_many(system, {name: np.full(2, value) for name, value in start.items()}, until, method=method)
        close(made["x"][1], wanted[0], 10.0, "x of an ensemble")
        close(made["y"][1], wanted[1], 10.0, "y of an ensemble")
