"""A guard: an expression along a motion, whose roots are found by interval bounds. Twin of `finder.c.in`.

g(t, z, p),  ġ = g_t + g_z·ż        z(θ), ż(θ): the polynomial of a step, 0 <= θ <= 1

excluded on [a, b]        the interval of g, or g(c) − sup|ġ| w, lies above what counts as a touch
rises, falls all along    the lower end decides; where that is below zero, one root is bracketed
neither                   the same by a bound on g̈, see `second_order_bound`
otherwise                 the left half first; where [a, b] is a point, or g cannot differ by its noise: its value
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, derivative_along, symbols, zeros
from appell.roots.enclosure import Interval, enclosure
from appell.roots.limits import EPSILON, GUARD_INTERVALS, LEAST_SPLIT, NARROWEST_INTERVAL, SPLIT_SAFETY

Array = NDArray[np.float64]


class StepPolynomial(NamedTuple):
    """A step in powers of θ = (time − t)/h: c (degree + 1, n)."""

    c: Array
    t: float
    h: float

    @staticmethod
    def through(theta: Array, z: Array, t: float, h: float) -> StepPolynomial:
        """The polynomial through the states z, (k, n), at k points of a step."""
        c: Any = np.linalg.solve(np.vander(theta, increasing=True), z)
        return StepPolynomial(c, t, h)

    def at(self, theta: float) -> Array:
        """The state inside the step, (n,)."""
        total = np.zeros_like(self.c[0])
        for row in self.c[::-1]:
            total = total * theta + row
        return total

    def over(self, a: Array, b: Array) -> tuple[Interval, Interval]:
        """Ranges of the entries and of their rates in θ over [a, b], (n, k) each, by powers about the midpoints.

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
            term = d[k] * power
            size, size_d = np.abs(term), np.abs(rate)
            lo += -size if k % 2 else np.minimum(term, 0)
            hi += size if k % 2 else np.maximum(term, 0)
            lo_d += rate if k == 1 else np.minimum(rate, 0) if k % 2 else -size_d
            hi_d += rate if k == 1 else np.maximum(rate, 0) if k % 2 else size_d
        loose, loose_d = 8 * EPSILON * (np.abs(d[0]) + hi - lo) * (w > 0), 8 * EPSILON * (np.abs(lo_d) + np.abs(hi_d))
        return Interval(d[0] + lo - loose, d[0] + hi + loose), Interval(lo_d - loose_d, hi_d + loose_d)

    def second(self) -> StepPolynomial:
        """The second derivative in θ."""
        k = np.arange(len(self.c) - 2)[:, None]
        return StepPolynomial((k + 1) * (k + 2) * self.c[2:] if len(k) else np.zeros_like(self.c[:1]), self.t, self.h)

    def near(self, theta: float) -> tuple[Interval, Interval]:
        """The entries and their rates in θ at a point, (n, 1) each, as intervals that include rounding."""
        powers: Array = np.float64(theta) ** np.arange(len(self.c))
        k = np.arange(1, len(self.c))[:, None]
        loose = 4 * len(self.c) * EPSILON

        def total(c: Array, size: Array) -> Interval:
            value, error = (size @ c)[:, None], loose * (size @ np.abs(c))[:, None]
            return Interval(value - error, value + error)

        return total(self.c, powers), total(k * self.c[1:], powers[:-1])


class RateBounds(NamedTuple):
    """[lo, hi], two numbers."""

    lo: float
    hi: float


class Terms(NamedTuple):
    """The data that decide about a root; see `RootTerms` of `finder.c.in`."""

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

    def decided(self, smooth: bool, rate: RateBounds, w: float) -> bool:
        """Whether end values decide about an interval: the guard is monotonic, or cannot change enough to matter."""
        still = max(abs(rate.lo), abs(rate.hi)) * w <= max(0.5 * self.noise, self.fine)
        return w <= NARROWEST_INTERVAL or (smooth and bool(rate.lo >= 0 or rate.hi <= 0 or still))

    def share(self, a: float, fall: float, bent: float) -> float:
        """Where to split an interval: in the middle; if the guard starts at zero, where its bound by g̈ should suffice.
        That is of fourth order in the width."""
        if a > 0 or self.start is None or not (self.start <= self.touch and bent > -np.inf):
            return 0.5
        return float(np.clip(SPLIT_SAFETY * (fall / -bent) ** 0.25, LEAST_SPLIT, 0.5))


class GuardRoot(NamedTuple):
    """theta: the first root; graze: where the guard touches zero without a root; None for nowhere. lost: the search failed."""

    theta: float | None = None
    graze: float | None = None
    lost: bool = False


def guard_function(name: str, g: Value, t: Value, z: Value, p: Value) -> Fn:
    """(t, z, p, td, zd) → (g, its rate along td, zd)."""
    td, zd = symbols("td", 1), symbols("zd", z.numel())
    rate = derivative_along(g, [t, z], [td, zd])
    ports = {"t": (t, (1,)), "z": (z, (z.numel(),)), "p": (p, (p.numel(),)), "td": (td, (1,)), "zd": (zd, (z.numel(),))}
    return make_fn(name, ports, {"y": (column(g, rate), (2,))})


def second_function(name: str, g: Value, t: Value, z: Value, p: Value) -> Fn:
    """(t, z, p, td, zd, zdd) → (g, its rate, its second derivative), along a motion with ẗ = 0."""
    td, zd, zdd = symbols("td", 1), symbols("zd", z.numel()), symbols("zdd", z.numel())
    rate = derivative_along(g, [t, z], [td, zd])
    second = derivative_along(rate, [t, z, td, zd], [td, zd, zeros(1), zdd])
    scalar, n = (1,), (z.numel(),)
    ports = {"t": (t, scalar), "z": (z, n), "p": (p, (p.numel(),)), "td": (td, scalar), "zd": (zd, n), "zdd": (zdd, n)}
    return make_fn(name, ports, {"y": (column(g, rate, second), (3,))})


class GuardInterval(NamedTuple):
    """An interval under examination: its ends and middle, half its width, the guard in the middle, and its possible fall."""

    a: float
    b: float
    gc: float
    fall: float

    @property
    def c(self) -> float:
        return (self.a + self.b) / 2

    @property
    def w(self) -> float:
        return (self.b - self.a) / 2


@dataclass(frozen=True, eq=False)
class GuardAlong:
    """A guard along a step; `fn` of `guard_function`, `second` of `second_function`, p (np,)."""

    fn: Fn
    second: Fn
    step: StepPolynomial
    p: Array

    def over(self, a: Array, b: Array) -> tuple[Interval, Interval, NDArray[np.bool_]]:
        """Ranges of g and of its rate in θ over [a, b], (k,) each, and whether it may jump there."""
        z, zd = self.step.over(a, b)
        times = self.step.t + self.step.h * np.array([a, b])
        p = np.repeat(self.p[:, None], len(a), axis=1)
        td = np.full((1, len(a)), self.step.h)
        boxes = [Interval(times.min(axis=0)[None], times.max(axis=0)[None]), z, Interval(p, p), Interval(td, td), zd]
        y, jumps = enclosure(self.fn)(*boxes)
        return Interval(y.lo[0], y.hi[0]), Interval(y.lo[1], y.hi[1]), ~(jumps.hi[0] <= 0)

    def value(self, theta: float) -> float:
        """g inside the step."""
        z = self.step.at(theta)
        y = self.fn([self.step.t + theta * self.step.h], z, self.p, [0.0], np.zeros_like(z))["y"]
        return float(y[0])

    def second_order_bound(self, g: Terms, look: GuardInterval, rate: RateBounds) -> tuple[float, RateBounds]:
        """A lower bound of g − zero over an interval by its second derivative, and its rate narrowed: twin of `root_bent`.

        With c in the middle, half the width w, k = inf g̈ and θ = a + x = c + d:

            ġ(θ) = ġ(c) + g̈(·) d = ġ(a) + g̈(·) x        g(θ) >= g(c) + ġ(c) d + k d²/2,  g(a) + ġ(a) x + k x²/2
        """
        w = look.w * (1 + 4 * EPSILON) + EPSILON * look.b
        second, smooth = self._second_over(look.a, look.b)
        change = w * max(abs(second.lo), abs(second.hi))
        if not (smooth and change < np.inf):
            return -np.inf, rate
        middle, left, k = self._rate_near(look.c), self._rate_near(look.a), second.lo
        lo = max(rate.lo, middle.lo - change, left.lo + 2 * w * min(k, 0.0))
        hi = min(rate.hi, middle.hi + change, left.hi + 2 * w * max(second.hi, 0.0))
        about = min(_least_of_parabola(look.gc, middle.lo, k, w), _least_of_parabola(look.gc, -middle.hi, k, w))
        return max(about, _least_of_parabola(self._level(g, look.a), left.lo, k, 2 * w)), RateBounds(*_outwards(lo, hi))

    def _second_over(self, a: float, b: float) -> tuple[RateBounds, bool]:
        """g̈ over [a, b], and whether g, ġ and it do not jump."""
        begin, end = np.array([a]), np.array([b])
        second = self.step.second()
        (z, zd), (zdd, _) = self.step.over(begin, end), second.over(begin, end)
        rounding = 4 * (len(second.c) + 2) * EPSILON * (b ** np.arange(len(second.c)) @ np.abs(second.c))[:, None]
        times = self.step.t + self.step.h * np.array([a, b])
        time = Interval(*(np.array([[x]]) for x in _outwards(times.min(), times.max())))
        p, td = self.p[:, None], np.full((1, 1), self.step.h)
        y, jumps = enclosure(self.second, whole=True)(
            time, z, Interval(p, p), Interval(td, td), zd, Interval(zdd.lo - rounding, zdd.hi + rounding)
        )
        return RateBounds(float(y.lo[2, 0]), float(y.hi[2, 0])), bool(jumps.hi[0, 0] <= 0)

    def _rate_near(self, theta: float) -> RateBounds:
        """ġ at a point, as an interval that includes rounding."""
        z, zd = self.step.near(theta)
        time = self.step.t + theta * self.step.h
        time_box = Interval(*(np.array([[x]]) for x in _outwards(time, time)))
        p, td = self.p[:, None], np.full((1, 1), self.step.h)
        y, _ = enclosure(self.fn)(time_box, z, Interval(p, p), Interval(td, td), zd)
        return RateBounds(float(y.lo[1, 0]), float(y.hi[1, 0]))

    def first_root(self, g: Terms) -> GuardRoot:
        """The first root at which the guard falls: twin of `root_first`."""
        stack, lowest, graze, up, risen, examined = [(0.0, 1.0)], np.inf, None, -1.0, g.risen, 0
        while stack:
            a, b = stack.pop()
            c, w, examined = (a + b) / 2, (b - a) / 2, examined + 1
            if examined > g.looks:
                return GuardRoot(lost=True)
            boxes, rates, jumps = self.over(np.array([a]), np.array([b]))
            rate, smooth = RateBounds(float(rates.lo[0]), float(rates.hi[0])), not jumps[0]
            low = float(boxes.lo[0]) - g.zero
            if low > g.touch:
                risen, up = True, b
                continue
            interval = GuardInterval(a, b, self._level(g, c), g.touch if g.leaves and not risen else g.noise)
            gc, fall, bent = interval.gc, interval.fall, -np.inf
            if np.isnan(gc):
                return GuardRoot(theta=np.nan)
            low = max(low, gc - w * max(abs(rate.lo), abs(rate.hi))) if smooth else low
            touched = low >= -fall  # a touch at most
            if not touched and smooth and not g.decided(smooth, rate, w):
                bent, rate = self.second_order_bound(g, interval, rate)
                touched = bent >= -fall and min(gc, np.inf if g.start is None else g.start) <= g.touch
            if max(low, bent) > g.touch:
                risen, up = True, b
                continue
            if touched:
                lowest, graze = (gc, c) if gc < lowest else (lowest, graze)
                risen, up = (True, c) if gc > (g.touch if g.leaves else g.noise) else (risen, up)
                continue
            if not g.decided(smooth, rate, w):
                split = a + (b - a) * g.share(a, fall, bent)
                stack += [(split, b), (a, split)]
                continue
            rises, falls = smooth and rate.lo >= 0, smooth and rate.hi <= 0
            ga, gb = self._level(g, a), self._level(g, b)
            point, low = (a, ga) if rises else (b, gb) if falls or gb < gc else (c, gc)
            if not low >= -fall:
                up = a if ga > g.noise else up
                return GuardRoot(theta=self._root(g, a, point, up, risen))
            if low < lowest:
                lowest, graze = low, point
            for value, theta in ((ga, a), (gb, b)):
                if value > g.noise:
                    risen, up = risen or value > (g.touch if g.leaves else g.noise), theta
        return GuardRoot(graze=graze if lowest <= g.touch else None)

    def _level(self, g: Terms, theta: float) -> float:
        """The guard at a point, minus the level that counts as zero."""
        stored = g.start if theta == 0 else g.end if theta == 1 else None
        return self.value(theta) - g.zero if stored is None else stored

    def _root(self, g: Terms, a: float, below: float, up: float, risen: bool) -> float:
        """The root before `below`, where the guard is negative; up: where it last exceeded its noise, −1 for nowhere."""
        if up < 0 and g.rate is not None and g.rate > 0:  # falls again before it exceeded its noise: divide by θ
            return bracketed(lambda x: self._level(g, x) / x if x > 0 else float(g.rate or 0.0), 0.0, below)
        if up >= 0 and below > up:
            return bracketed(lambda x: self._level(g, x), up, below)
        return a if risen else 0.0


def _outwards(lo: float, hi: float) -> tuple[float, float]:
    """lo and hi, moved apart by their rounding."""
    return lo - EPSILON * abs(lo), hi + EPSILON * abs(hi)


def _least_of_parabola(value: float, slope: float, bend: float, reach: float) -> float:
    """The minimum of value + slope x + bend x²/2 over 0 <= x <= reach, minus its own rounding error."""
    end = value + reach * (slope + 0.5 * bend * reach)
    vertex = value - 0.5 * slope**2 / bend if bend > 0 and 0 < -slope < reach * bend else value
    return min(value, end, vertex) - 8 * EPSILON * (abs(value) + reach * (abs(slope) + reach * abs(bend)))


def bracketed(f: Callable[[float], float], low: float, high: float) -> float:
    """The root between low, where f > 0, and high, where f < 0: the Illinois method, with every fourth step a bisection."""
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


__all__ = ["GuardAlong", "GuardRoot", "StepPolynomial", "Terms", "bracketed", "guard_function", "second_function"]
