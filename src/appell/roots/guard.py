"""A guard: an expression along a motion, whose roots are sought by a bound. Twin of `finder.c.in`.

    g(t, z, p),  ġ = g_t + g_z·ż        z(θ), ż(θ): the polynomial of a step, 0 <= θ <= 1

    excluded on [a, b]        the interval of g, or g(c) − sup|ġ| w, lies above what counts as a touch
    rises, falls all along    the lower end decides; where that is below zero, one root is bracketed
    otherwise                 the left half first; where [a, b] is a point, or g cannot differ by its noise: its value
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, derivative_along, symbols
from appell.roots.enclosure import Interval, enclosure
from appell.roots.limits import EPSILON, GUARD_INTERVALS, NARROWEST_INTERVAL

Array = NDArray[np.float64]


class StepPolynomial(NamedTuple):
    """A step in powers of θ = (time − t)/h: c (degree + 1, n)."""

    c: Array
    t: float
    h: float

    @staticmethod
    def through(theta: Array, z: Array, t: float, h: float) -> StepPolynomial:
        """Through the states z, (k, n), at k points of a step."""
        c: Any = np.linalg.solve(np.vander(theta, increasing=True), z)
        return StepPolynomial(c, t, h)

    def at(self, theta: float) -> Array:
        """The state inside the step, (n,)."""
        total = np.zeros_like(self.c[0])
        for row in self.c[::-1]:
            total = total * theta + row
        return total

    def over(self, a: Array, b: Array) -> tuple[Interval, Interval]:
        """Intervals of the numbers and of their rates in θ over [a, b], (n, k) each: powers about the middles.

        With c (degree + 1, n, k) each interval belongs to a polynomial of its own."""
        m, w, degree = 0.5 * (a + b), 0.5 * (b - a), len(self.c) - 1
        d = np.repeat(self.c[:, :, None], len(m), axis=2) if self.c.ndim == 2 else self.c.copy()
        for j in range(degree):
            for k in range(degree - 1, j - 1, -1):
                d[k] += m * d[k + 1]
        lo, hi, lo_d, hi_d = (np.zeros_like(d[0]) for _ in range(4))
        power = np.ones_like(m)
        for k in range(1, degree + 1):
            rate = k * d[k] * power
            power = power * w
            part = d[k] * power
            size, size_d = np.abs(part), np.abs(rate)
            lo += -size if k % 2 else np.minimum(part, 0)
            hi += size if k % 2 else np.maximum(part, 0)
            lo_d += rate if k == 1 else np.minimum(rate, 0) if k % 2 else -size_d
            hi_d += rate if k == 1 else np.maximum(rate, 0) if k % 2 else size_d
        loose, loose_d = 8 * EPSILON * (np.abs(d[0]) + hi - lo) * (w > 0), 8 * EPSILON * (np.abs(lo_d) + np.abs(hi_d))
        return Interval(d[0] + lo - loose, d[0] + hi + loose), Interval(lo_d - loose_d, hi_d + loose_d)


class Terms(NamedTuple):
    """What decides about a root; see `RootTerms` of `finder.c.in`."""

    zero: float
    noise: float
    touch: float
    risen: bool = True
    leaves: bool = False
    looks: int = GUARD_INTERVALS
    start: float | None = None
    end: float | None = None
    rate: float | None = None
    fine: float = 0.0


class GuardRoot(NamedTuple):
    """`theta` of the first root and `graze` where the guard is touched without one; None for nowhere. lost: gave up looking."""

    theta: float | None = None
    graze: float | None = None
    lost: bool = False


def guard_function(name: str, g: Value, t: Value, z: Value, p: Value) -> Fn:
    """(t, z, p, td, zd) → (g, its rate along td, zd)."""
    td, zd = symbols("td", 1), symbols("zd", z.numel())
    rate = derivative_along(g, [t, z], [td, zd])
    ports = {"t": (t, (1,)), "z": (z, (z.numel(),)), "p": (p, (p.numel(),)), "td": (td, (1,)), "zd": (zd, (z.numel(),))}
    return make_fn(name, ports, {"y": (column(g, rate), (2,))})


@dataclass(frozen=True, eq=False)
class GuardAlong:
    """A guard along a step; `fn` of `guard_function`, p (np,)."""

    fn: Fn
    step: StepPolynomial
    p: Array

    def over(self, a: Array, b: Array) -> tuple[Interval, Interval, NDArray[np.bool_]]:
        """Intervals of g and of its rate in θ over [a, b], (k,) each, and whether it may jump there."""
        z, zd = self.step.over(a, b)
        times = self.step.t + self.step.h * np.array([a, b])
        p = np.repeat(self.p[:, None], len(a), axis=1)
        td = np.full((1, len(a)), self.step.h)
        given = [Interval(times.min(axis=0)[None], times.max(axis=0)[None]), z, Interval(p, p), Interval(td, td), zd]
        y, jumps = enclosure(self.fn)(*given)
        return Interval(y.lo[0], y.hi[0]), Interval(y.lo[1], y.hi[1]), ~(jumps.hi[0] <= 0)

    def value(self, theta: float) -> float:
        """g inside the step."""
        z = self.step.at(theta)
        y = self.fn([self.step.t + theta * self.step.h], z, self.p, [0.0], np.zeros_like(z))["y"]
        return float(y[0])

    def first_root(self, g: Terms) -> GuardRoot:
        """The first root with the guard falling: twin of `root_first`."""
        stack, least, graze, up, risen, looks = [(0.0, 1.0)], np.inf, None, -1.0, g.risen, 0
        while stack:
            a, b = stack.pop()
            c, w, looks = (a + b) / 2, (b - a) / 2, looks + 1
            if looks > g.looks:
                return GuardRoot(lost=True)
            boxes, rates, jumps = self.over(np.array([a]), np.array([b]))
            smooth, slope = not jumps[0], float(np.maximum(abs(rates.lo[0]), abs(rates.hi[0])))
            fall = g.touch if g.leaves and not risen else g.noise
            if boxes.lo[0] - g.zero > g.touch:
                risen, up = True, b
                continue
            gc = self._level(g, c)
            if np.isnan(gc):
                return GuardRoot(theta=np.nan)
            if smooth and gc - slope * w > g.touch:
                risen, up = True, b
                continue
            if boxes.lo[0] - g.zero >= -fall or (smooth and gc - slope * w >= -fall):  # a touch at most
                least, graze = (gc, c) if gc < least else (least, graze)
                risen, up = (True, c) if gc > (g.touch if g.leaves else g.noise) else (risen, up)
                continue
            rises, falls = smooth and rates.lo[0] >= 0, smooth and rates.hi[0] <= 0
            if not (rises or falls or w <= NARROWEST_INTERVAL or (smooth and slope * w <= max(0.5 * g.noise, g.fine))):
                stack += [(c, b), (a, c)]
                continue
            ga, gb = self._level(g, a), self._level(g, b)
            at, low = (a, ga) if rises else (b, gb) if falls or gb < gc else (c, gc)
            if not low >= -fall:
                up = a if ga > g.noise else up
                return GuardRoot(theta=self._root(g, a, at, up, risen))
            if low < least:
                least, graze = low, at
            for value, place in ((ga, a), (gb, b)):
                if value > g.noise:
                    risen, up = risen or value > (g.touch if g.leaves else g.noise), place
        return GuardRoot(graze=graze if least <= g.touch else None)

    def _level(self, g: Terms, theta: float) -> float:
        """The guard at a point, less what counts as zero."""
        known = g.start if theta == 0 else g.end if theta == 1 else None
        return self.value(theta) - g.zero if known is None else known

    def _root(self, g: Terms, a: float, at: float, up: float, risen: bool) -> float:
        if up < 0 and g.rate is not None and g.rate > 0:  # back before it was seen above its noise: by the quotient
            return bracketed(lambda x: self._level(g, x) / x if x > 0 else float(g.rate or 0.0), 0.0, at)
        if up >= 0 and at > up:
            return bracketed(lambda x: self._level(g, x), up, at)
        return a if risen else 0.0


def bracketed(f: Callable[[float], float], low: float, high: float) -> float:
    """Between low, where f is above zero, and high, where it is below: Illinois' rule, every fourth time the middle."""
    a, b, fa, fb, k = low, high, f(low), f(high), 0
    while k < 200 and b - a > 1e-15 * b and fb != 0:
        x = (a + b) / 2 if k % 4 == 3 else (a * fb - b * fa) / (fb - fa)
        x = x if a < x < b else (a + b) / 2
        if not a < x < b:
            break
        y, half = f(x), 1.0 if k % 4 == 3 else 0.5
        a, fa, b, fb = (x, y, b, fb * half) if y > 0 else (a, fa * half, x, y)
        k += 1
    return b


__all__ = ["GuardAlong", "GuardRoot", "StepPolynomial", "Terms", "bracketed", "guard_function"]
