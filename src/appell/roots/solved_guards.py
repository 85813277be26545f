"""Guards on the solution of linear equations, such as reactions, along steps: interval bounds miss no pair of roots.

    K y = b,  K ẏ = ḃ − K̇ y,  g(t, z, p, y)           K, b: functions of (t, z, p), z(θ) the polynomial of a step

    C ≈ K(c)⁻¹,  Q = sup|I − C K|,  |y − y₀| <= (I − Q)⁻¹ |C(b − K y₀)|      where I − Q is an M-matrix: the pivots of its
    elimination without exchanges are positive (Neumaier 1990, ch. 4); else y has no bound on [a, b], which is halved

    excluded        the interval of g, or g(c) ± sup|ġ| w, has one sign, or does not fall below its noise
    rises           ġ >= 0 on [a, b]: it does not fall through zero there
    falls           ġ <= 0 on [a, b]: once at most, between values at a and b
    otherwise       both halves, down to `NARROWEST_SOLVED_INTERVAL` of a step, where the value in the middle decides

Dependent rows (a table on four legs) have non-unique multipliers λ. They are given a small compliance, starting from
multipliers λ* that satisfy the rows and may lie well inside their bounds:

    J a + γ + ε S (λ − λ*) = 0,        S = Σ J²/M,        ε = `ROW_COMPLIANCE`

λ is then unique and equal to λ* at first. As long as it stays within its bounds, there are multipliers that satisfy the rows.
Where it does not, the state is examined more closely.

Twin of `isolate.c.in`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, derivative_along, symbols
from appell.roots.enclosure import Interval, enclosure
from appell.roots.guard import StepPolynomial
from appell.roots.limits import BOUND_WIDENING, GUARD_HALVINGS, NARROWEST_SOLVED_INTERVAL, ROW_COMPLIANCE

Array = NDArray[np.float64]
Truths = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SolvedGuards:
    """`rows`: (t, z, p, td, zd) → `values`, K (n, n) by rows and b (n,), and their `rates`.
    `guards`: (t, z, p, y, td, zd, yd) → `values` (k,) and their `rates`. y: so many `accelerations`, then multipliers."""

    rows: Fn
    guards: Fn
    n: int
    accelerations: int

    @staticmethod
    def of(t: Value, z: Value, p: Value, K: Value, b: Value, y: Value, guards: Value, nv: int) -> SolvedGuards:
        """Guards, (k, 1), that contain the solution as the symbols y, (n, 1), the first nv of them accelerations."""
        n, td, zd, yd = b.numel(), symbols("td", 1), symbols("zd", z.numel()), symbols("yd", y.numel())
        values = column(*(K[i, :].T for i in range(n)), b)
        ports = {"t": (t, (1,)), "z": (z, (z.numel(),)), "p": (p, (p.numel(),))}
        rates = {"td": (td, (1,)), "zd": (zd, (z.numel(),))}
        outputs = lambda value, rate: {"values": (value, (value.numel(),)), "rates": (rate, (value.numel(),))}
        rows = make_fn("guard_rows", {**ports, **rates}, outputs(values, derivative_along(values, [t, z], [td, zd])))
        inputs = {**ports, "y": (y, (n,)), **rates, "yd": (yd, (n,))}
        guard_values = make_fn("guard_values", inputs, outputs(guards, derivative_along(guards, [t, z, y], [td, zd, yd])))
        return SolvedGuards(rows, guard_values, n, nv)

    def over(
        self, step: StepPolynomial, t: Array, h: Array, p: Array, a: Array, b: Array, acts: Sequence[int] | None = None,
        preload: Array | None = None,
    ) -> GuardBounds:  # fmt: skip
        """Over the parts [a, b] of steps of h from t on, (boxes,) each; step.c: (degree + 1, nz, boxes); acts: the unknowns
        that there are, each with its row, the others being zero; preload: λ* of rows that depend on each other, (n, boxes)."""
        z, zd = step.over(a, b)
        times = np.array([t + h * a, t + h * b])
        p_box, td = Interval(p[:, None], p[:, None]), Interval(h[None], h[None])
        boxes = [Interval(times.min(axis=0)[None], times.max(axis=0)[None]), z, p_box]
        values, rates, jumps = enclosure(self.rows, whole=True)(*boxes, td, zd)
        y, yd = self._solution(values, rates, acts, preload)
        g, gd, guard_jumps = enclosure(self.guards, whole=True)(*boxes, y, td, zd, yd)
        return GuardBounds(g, gd, (jumps.hi[0] <= 0) & (guard_jumps.hi[0] <= 0))

    def preload(
        self, step: StepPolynomial, t: Array, h: Array, p: Array, share: Array, acts: Sequence[int] | None = None
    ) -> Array:
        """λ* at the starts of steps, (n, steps): as close to `share`, (n, steps), as dependent rows allow. The residual of the
        rows is reduced by the factor `ROW_COMPLIANCE`, twice."""
        zero, lam = np.zeros(len(t)), share.copy()
        z, zd = step.over(zero, zero)
        times, p_box, td = Interval(t[None], t[None]), Interval(p[:, None], p[:, None]), Interval(h[None], h[None])
        values, rates, _ = enclosure(self.rows, whole=True)(times, z, p_box, td, zd)
        for _ in range(2):
            y, _ = self._solution(values, rates, acts, lam)
            middle = 0.5 * y.lo + 0.5 * y.hi
            lam = np.where(np.isfinite(middle), middle, lam)
        return lam

    def _solution(
        self, values: Interval, rates: Interval, acts: Sequence[int] | None, preload: Array | None
    ) -> tuple[Interval, Interval]:
        """Ranges of y and ẏ, (n, boxes); zero for unknowns that are not among `acts`."""
        if preload is not None:
            values = yielding(values, self.n, self.accelerations, preload)
        if acts is None:
            return solution_over(values, rates, self.n)
        entries = [i * self.n + j for i in acts for j in acts] + [self.n**2 + i for i in acts]
        chosen = lambda x: Interval(x.lo[entries], x.hi[entries])
        ranges = solution_over(chosen(values), chosen(rates), len(acts))
        tables = [np.zeros((self.n, values.lo.shape[1])) for _ in range(4)]
        for x, bounds in zip(tables, (bound for interval in ranges for bound in interval), strict=True):
            x[list(acts)] = bounds
        return Interval(*tables[:2]), Interval(*tables[2:])


class GuardBounds(NamedTuple):
    """Ranges of guards and of their rates in θ, (k, boxes), and whether there are no jumps, (boxes,)."""

    g: Interval
    rate: Interval
    smooth: Truths


def yielding(values: Interval, n: int, nv: int, preload: Array) -> Interval:
    """Ranges of K by rows and b, (n² + n, boxes), with compliant rows preloaded by `preload`; nv: rows of accelerations."""
    lo, hi = values.lo.copy(), values.hi.copy()
    with np.errstate(all="ignore"):
        K = (0.5 * lo[: n * n] + 0.5 * hi[: n * n]).reshape(n, n, -1)
        inertia = np.array([K[j, j] for j in range(nv)])
        response = np.where(inertia > 0, K[nv:, :nv] ** 2 / inertia, 0.0).sum(axis=1)
    for i in range(nv, n):
        soft = ROW_COMPLIANCE * np.where(np.isfinite(response[i - nv]), response[i - nv], 0.0)
        for ends in (lo, hi):
            ends[i * n + i] += soft
            ends[n * n + i] += soft * preload[i]
    return Interval(lo, hi)


def solution_over(values: Interval, rates: Interval, n: int) -> tuple[Interval, Interval]:
    """Ranges of y and ẏ of K y = b, (n, boxes); values, rates: (n² + n, boxes), K by rows and b."""
    boxes = values.lo.shape[1]
    with np.errstate(all="ignore"):
        middle, radius = (values.lo + values.hi) / 2, (values.hi - values.lo) / 2
        split = lambda x: (np.moveaxis(x[: n * n].reshape(n, n, boxes), 2, 0), x[n * n :].T)
        (A, b), (A_off, b_off) = split(middle), split(radius)
        sound: Any = np.isfinite(middle).all(axis=0) & np.isfinite(radius).all(axis=0)
        C, regular = _inverses(np.where(sound[:, None, None], A, np.eye(n)))
        Q = np.abs(np.eye(n) - C @ A) + np.abs(C) @ A_off
        inverse, bounded = _inverses(np.where(sound[:, None, None], np.eye(n) - Q, np.eye(n)))
        bounded &= sound & regular & (inverse >= 0).all(axis=(1, 2))  # I − Q is an M-matrix
        y = _solution_bounds(C, A, A_off, inverse, b, b_off, bounded)
        (K_d, b_d), (K_off, d_off) = split((rates.lo + rates.hi) / 2), split((rates.hi - rates.lo) / 2)
        y_middle, y_radius = (y.lo.T + y.hi.T) / 2, (y.hi.T - y.lo.T) / 2
        right = b_d - _times(K_d, y_middle)
        right_off = d_off + _times(np.abs(K_d), y_radius) + _times(K_off, np.abs(y_middle) + y_radius)
        return y, _solution_bounds(C, A, A_off, inverse, right, right_off, bounded)


def _times(A: Array, x: Array) -> Array:
    return np.einsum("kij,kj->ki", A, x)


def _inverses(A: Array) -> tuple[Array, Truths]:
    """The inverses of matrices (k, n, n), and whether each exists."""
    size = np.abs(A).max(axis=2, initial=0.0)
    scaled = A / np.where(size > 0, size, 1.0)[:, :, None]
    regular = (size > 0).all(axis=1) & (np.abs(np.linalg.det(scaled)) > 0)
    inverse = np.linalg.inv(np.where(regular[:, None, None], scaled, np.eye(A.shape[1])))
    return inverse / np.where(size > 0, size, 1.0)[:, None, :], regular & np.isfinite(inverse).all(axis=(1, 2))


def _solution_bounds(C: Array, A: Array, A_off: Array, inverse: Array, b: Array, b_off: Array, bounded: Truths) -> Interval:
    """y₀ ± (I − Q)⁻¹ |C(b − K y₀)|; the whole line where that is no bound."""
    y = _times(C, b)
    residual = np.abs(_times(C, b - _times(A, y))) + _times(np.abs(C), b_off + _times(A_off, np.abs(y)))
    radius = BOUND_WIDENING * _times(inverse, residual)
    ok = bounded[:, None] & np.isfinite(radius) & np.isfinite(y)
    return Interval(np.where(ok, y - radius, -np.inf).T, np.where(ok, y + radius, np.inf).T)


def isolating_times(
    guards: SolvedGuards, c: Array, t: Array, h: Array, p: Array, zero: Array, noise: Array, acts: Sequence[int] | None = None,
    preload: Array | None = None,
) -> Array:  # fmt: skip
    """Times between which each guard falls through zero at most once, in order.

    c (degree + 1, nz, steps): the steps in powers of θ = (time − t)/h; t, h (steps,).
    zero (k,), noise (k, steps): of the guards; one with an infinite noise is not watched.
    preload (n, steps): of `SolvedGuards.over`."""
    step, a, b = np.arange(len(t)), np.zeros(len(t)), np.ones(len(t))
    examined, times = np.zeros(len(t), dtype=int), [np.zeros(0)]
    while len(step):
        examined += np.bincount(step, minlength=len(t))
        w, polynomials = (b - a) / 2, StepPolynomial(c[:, :, step], 0.0, 1.0)
        load = None if preload is None else preload[:, step]
        throughout = guards.over(polynomials, t[step], h[step], p, a, b, acts, load)
        middle = guards.over(polynomials, t[step], h[step], p, (a + b) / 2, (a + b) / 2, acts, load)
        closed, single = _decided(throughout, middle, w, zero[:, None], noise[:, step])
        closed |= (w <= NARROWEST_SOLVED_INTERVAL) & ~single & (middle.g.lo - zero[:, None] >= -noise[:, step])
        halved = ~(closed | single).all(axis=0) & (w > NARROWEST_SOLVED_INTERVAL) & (examined[step] < GUARD_HALVINGS)
        reported = ~closed.all(axis=0) & ~halved
        times += [t[step[reported]] + h[step[reported]] * x[reported] for x in (a, (a + b) / 2, b)]
        m = ((a + b) / 2)[halved]
        step, a, b = np.tile(step[halved], 2), np.concatenate([a[halved], m]), np.concatenate([m, b[halved]])
    return np.unique(np.concatenate(times))


def _decided(throughout: GuardBounds, middle: GuardBounds, w: Array, zero: Array, noise: Array) -> tuple[Truths, Truths]:
    """Which guards, (k, boxes), do not fall through zero, and which fall throughout."""
    lo, hi, smooth = throughout.g.lo - zero, throughout.g.hi - zero, throughout.smooth[None]
    reach = np.maximum(np.abs(throughout.rate.lo), np.abs(throughout.rate.hi)) * w
    above, below = middle.g.lo - zero - reach > -noise, middle.g.hi - zero + reach < 0
    rises, falls = smooth & (throughout.rate.lo >= 0), smooth & (throughout.rate.hi <= 0)
    return (lo > -noise) | (hi < 0) | (smooth & (above | below)) | rises | np.isinf(noise), falls


__all__ = ["GuardBounds", "SolvedGuards", "isolating_times", "solution_over", "yielding"]
