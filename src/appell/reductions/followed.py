"""Parts of reductions along the course of one run: extremes, integrals, zeros, and values at the ends of steps.

Each returns its accumulated numbers, as `reduce.c.in` does in lanes. A run may be processed leg by leg, each starting from the
numbers of the legs before it. `kinds.ACCUMULATORS` turns them into results, and checks the tolerances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.modes.contact_thresholds import GAP_FLOOR
from appell.modes.events import Kind
from appell.motion.record import LEAST_EXCHANGED
from appell.reductions.course import Course, StepPieces, lowered
from appell.reductions.quadrature import (
    EXTREME_ITERATIONS,
    INTEGRAL_SHARE,
    JUMP_SHARE,
    NARROWEST_PIECE,
    NODES,
    QUADPACK_FACTOR,
    RULE_ROUNDING,
    SAME_EXTREME,
    SECTION_OF_BRACKET,
    SIGN_NOISE,
    ZERO_ITERATIONS,
)

if TYPE_CHECKING:
    from appell.reductions.kinds import ReductionPart

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]


def final(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """e at the end of the run."""
    run, trace, fn = course.run, course.trace, lowered(course.run, part.expression)
    nq, nv, z = run.form.nq, run.form.nv, trace.z[None]
    arrays = {"t": np.array([trace.t]), "q": z[:, :nq], "v": z[:, nq : nq + nv]}
    if run.schedule is not None:
        arrays["p"] = run.p_at(np.array([course.modes.end]))
    if any(port.name == "a" for port in fn.inputs):
        arrays["a"] = course.modes.last(arrays["t"], arrays["q"], arrays["v"])
    return course.values(fn, arrays)


def integral(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """∫ e dt, ∫ |e| dt, and the most that pieces which missed the tolerance may contribute.

    With the flights of bounces that were not followed (`Course.flights_left_out`)."""
    earlier = np.zeros(3) if before is None else before
    if not len(course.begin):
        return earlier
    steps, h = np.arange(len(course.begin)), np.abs(course.length)
    rough = course.sample(part.expression, steps, np.zeros(len(steps)), np.ones(len(steps)))
    so_far = earlier[1] + np.cumsum(np.nan_to_num(rough.size) * h)

    def accurate(pieces: StepPieces) -> Bools:
        span = pieces.width * h[pieces.step]
        unit = INTEGRAL_SHARE * (course.relative * np.maximum(so_far[pieces.step], span * pieces.size) + course.atol)
        with np.errstate(all="ignore"):
            agree = (QUADPACK_FACTOR * span * pieces.rule_difference) ** 3 <= unit**2 * span * pieces.spread
            agree |= pieces.rule_difference <= pieces.rounding
            return ((pieces.rough <= 1) & agree) | (span * (pieces.high - pieces.low) <= unit)

    all_pieces = course.pieces(part.expression, accurate)
    span, unmet = all_pieces.width * course.length[all_pieces.step], ~all_pieces.accurate
    with np.errstate(all="ignore"):
        missed = np.sum(np.abs(span[unmet]) * (all_pieces.high - all_pieces.low)[unmet])
    left_out, uncertain = course.flights_left_out(part.expression)
    return earlier + np.array([span @ all_pieces.mean + left_out, np.abs(span) @ all_pieces.size, missed + uncertain])


def peak(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """The largest (way 1) or smallest (−1) value, and the extreme that pieces which missed the tolerance may have."""
    sign = float(part.way)
    best, doubt = (np.nan, -np.inf) if before is None else (sign * before[0], before[1])
    best = np.fmax(best, sign * final(course, part)[0])
    if not len(course.begin):
        return np.array([sign * best, doubt])
    steps = np.arange(len(course.begin))
    samples = course.sample(part.expression, steps, np.zeros(len(steps)), np.ones(len(steps)))
    best = float(np.fmax(best, np.fmax.reduce(sign * samples.g, axis=None)))
    upper = lambda p: p.high if sign > 0 else -p.low
    unit = course.relative * abs(best) + course.atol
    below = lambda p: (upper(p) <= best + unit) & (upper(p) < np.inf)
    all_pieces = course.pieces(part.expression, lambda p: p.resolved | below(p) | p.level)
    best = float(np.fmax(best, np.fmax.reduce(sign * all_pieces.g, axis=None)))
    candidates = all_pieces.selected(all_pieces.resolved & (upper(all_pieces) > best))
    for j in range(len(NODES)):
        rows = _high(sign * candidates.g, j)
        rows &= sign * candidates.g[:, j] + 2 * _vertex(sign * candidates.g, j)[1] > best
        if rows.any():
            _, heights, exists = _tops(course, part.expression, sign, candidates.selected(rows), j)
            best = max(best, float(np.max(heights[exists], initial=-np.inf)))
    return np.array([sign * best, np.max(upper(all_pieces)[~all_pieces.accurate], initial=doubt)])


def count(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """How often e has passed through zero; its last sign, its largest size, whether zeros may be missing."""
    earlier = np.zeros(4) if before is None else before
    crossings = passes(course, part, earlier[1:])
    return np.array([earlier[0] + len(crossings.step), *crossings.carried])


def first(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """When e first passed through zero, s (NaN: never); its last sign, its largest size, whether zeros may be missing."""
    earlier = np.array([np.nan, 0.0, 0.0, 0.0]) if before is None else before
    crossings = passes(course, part, earlier[1:])
    time = earlier[0] if len(crossings.step) == 0 or not np.isnan(earlier[0]) else crossings.times(course)[0]
    return np.array([time, *crossings.carried])


def impacts(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """Impacts on unilateral constraints."""
    return np.array([(course.trace.events.joined()["kind"] == Kind.IMPACT).sum()], dtype=float)


def energy_error(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """max |H − H(0) − ∫ power dt| at the ends of steps, E; H and V at the start."""
    if not len(course.begin):
        return np.array([0.0, 0.0, np.nan, np.nan]) if before is None else before
    run, (nq, nv) = course.run, (course.run.form.nq, course.run.form.nv)
    z = np.vstack([course.states[:1, 0], course.states[:, -1]])
    t = np.append(course.begin[:1], course.begin + course.length)
    energies = run.evaluate(t, z[:, :nq], z[:, nq : nq + nv], ("H", "T", "V"))
    has_start = before is not None and not np.isnan(before[2])
    error, scale, H0, V0 = before if before is not None and has_start else (0.0, 0.0, energies["H"][0], energies["V"][0])
    work = z[:, -1] if z.shape[1] > nq + nv else np.zeros(len(z))
    scale = max(scale, (np.abs(energies["T"]) + np.abs(energies["V"] - V0) + np.abs(work)).max())
    scale = max(scale, LEAST_EXCHANGED * (np.abs(energies["T"]) + np.abs(energies["V"])).max())
    return np.array([max(error, np.abs(energies["H"] - H0 - work).max()), scale, H0, V0])


# -- extremes -------------------------------------------------------------------------------------------------------------


def _high(g: Array, j: int) -> Bools:
    """Whether node j is at least as high as its neighbours, (m,)."""
    highest = np.ones(len(g), dtype=bool)
    if j > 0:
        highest &= g[:, j] >= g[:, j - 1]
    if j < g.shape[1] - 1:
        highest &= g[:, j] >= g[:, j + 1]
    return highest


def _vertex(g: Array, j: int) -> tuple[Array, Array]:
    """Vertex of the parabola through three nodes around j (or the first or last three), and its height above node j."""
    m = min(max(j, 1), g.shape[1] - 2)
    xa, xb, xc = NODES[m - 1 : m + 2] - NODES[j]
    slope_left, slope_right = (g[:, m] - g[:, m - 1]) / (xb - xa), (g[:, m + 1] - g[:, m]) / (xc - xb)
    bend = (slope_right - slope_left) / (xc - xa)
    slope = slope_left - bend * (xa + xb)
    down = bend < 0
    x = -slope / (2 * np.where(down, bend, -1.0))
    return np.where(down, NODES[j] + x, -1.0), np.where(down, slope * x / 2, 0.0)


def _tops(course: Course, expression: Any, sign: float, pieces: StepPieces, j: int) -> tuple[Array, Array, Bools]:
    """Positions x in the pieces and heights of the maxima of sign·e near node j, and whether there is one, (m,) each."""
    last = len(NODES) - 1
    value = lambda x: sign * course.evaluate(expression, pieces.step, pieces.start + x * pieces.width)
    i, k = max(j - 1, 0), min(j + 1, last)
    g = sign * pieces.g
    x = _vertex(g, j)[0]
    exists = (x > NODES[i]) & (x < NODES[k]) & (x != NODES[j])
    x = np.where(exists, x, (NODES[i] + NODES[k]) / 2)
    height = value(x)
    if j in (0, last):
        exists &= height > g[:, j]
    a, b, c = (np.full(len(x), NODES[n]) for n in (i, j, k))
    ga, gb, gc = g[:, i].copy(), g[:, j].copy(), g[:, k].copy()
    a, b, c, ga, gb, gc = _narrowed(a, b, c, ga, gb, gc, x, height)
    for _ in range(EXTREME_ITERATIONS):
        left, right = (b - a) * (gb - gc), (b - c) * (gb - ga)
        denominator = left - right
        x = b - ((b - a) * left - (b - c) * right) / (2 * np.where(denominator == 0, 1.0, denominator))
        aside = np.where(c - b > b - a, b + SECTION_OF_BRACKET * (c - b), b - SECTION_OF_BRACKET * (b - a))
        x = np.where(~((x > a) & (x < c)) | (np.abs(x - b) < SAME_EXTREME), aside, x)
        a, b, c, ga, gb, gc = _narrowed(a, b, c, ga, gb, gc, x, value(x))
    return b, gb, exists


def _narrowed(a: Array, b: Array, c: Array, ga: Array, gb: Array, gc: Array, x: Array, g: Array) -> tuple[Array, ...]:
    """The bracket of a maximum after one more value."""
    higher, left_of_top = g > gb, x < b
    lower, g_lower = np.where(higher, b, x), np.where(higher, gb, g)
    moves_a = higher ^ left_of_top
    a, ga = np.where(moves_a, lower, a), np.where(moves_a, g_lower, ga)
    c, gc = np.where(moves_a, c, lower), np.where(moves_a, gc, g_lower)
    return a, np.where(higher, x, b), c, ga, np.where(higher, g, gb), gc


# -- zeros ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Passes:
    """Steps and fractions θ of them at which an expression passes through zero, (n,), in the order of time."""

    step: Ints
    theta: Array
    carried: Array  # (3,) the last sign of the expression, its largest size, 1 where zeros may be missing

    def times(self, course: Course) -> Array:
        """Times of the passes, s, (n,)."""
        return course.begin[self.step] + self.theta * course.length[self.step]


def passes(course: Course, part: ReductionPart, before: Array) -> Passes:
    """Where e passes through zero in the direction of the part, without jumping over it. before: `carried` until here."""
    if not len(course.begin):
        return Passes(np.zeros(0, dtype=np.intp), np.zeros(0), before)
    steps = np.arange(len(course.begin))
    samples = course.sample(part.expression, steps, np.zeros(len(steps)), np.ones(len(steps)))
    largest = np.fmax(np.fmax.accumulate(np.abs(samples.g).max(axis=1)), before[1])  # so far
    unknown = lambda p: np.fmax(np.fmax(RULE_ROUNDING * p.terms, SIGN_NOISE * largest[p.step]), GAP_FLOOR * course.atol)
    nothing = lambda p: (p.low > 0) | (p.high < 0) | ((p.low > -unknown(p)) & (p.high < unknown(p)))
    all_pieces = course.pieces(part.expression, lambda p: p.resolved | nothing(p))
    row, x, g = _points(course, part.expression, all_pieces)
    sign = np.where(np.abs(g) > unknown(all_pieces)[row], np.sign(g), 0.0)
    last_known = np.maximum.accumulate(np.where(sign != 0, np.arange(len(g)), 0))
    sign_here = np.where(sign[last_known] == 0, before[0], sign[last_known])  # zeros have the sign before them
    sign_before = np.append(before[0], sign_here[:-1])
    same_piece = np.append(False, row[1:] == row[:-1])
    change = same_piece & (sign != 0) & (sign_before != 0) & (sign != sign_before)
    if part.way:
        change &= sign == part.way
    j = np.flatnonzero(change)
    size = np.fmax(np.nanmax(np.abs(g), initial=0.0), before[1])
    wide = all_pieces.resolved[row[j]] | (all_pieces.width[row[j]] > NARROWEST_PIECE)
    j = j[wide | (np.abs(g[j] - g[j - 1]) <= JUMP_SHARE * size)]
    pieces = all_pieces.selected(row[j])
    zero = _zeros(course, part.expression, pieces, x[j - 1], x[j], g[j - 1], g[j])
    wild = ~all_pieces.accurate & ((all_pieces.width > NARROWEST_PIECE) | ~np.isfinite(all_pieces.high - all_pieces.low))
    carried = np.array([sign_here[-1], largest[-1], max(before[2], float(wild.any()))])
    return Passes(pieces.step, pieces.start + zero * pieces.width, carried)


def _points(course: Course, expression: Any, pieces: StepPieces) -> tuple[Ints, Array, Array]:
    """Nodes of all pieces, and the extremes between them beyond zero: piece, position in it, value; in order."""
    m, n = pieces.g.shape
    rows, positions, values = [np.repeat(np.arange(m), n)], [np.tile(NODES, m)], [pieces.g.ravel()]
    for sign in (1.0, -1.0):
        for j in range(n):
            g = sign * pieces.g
            close = pieces.resolved & (g[:, j] < 0) & _high(g, j) & (g[:, j] + 2 * _vertex(g, j)[1] > 0)
            if close.any():
                x, height, exists = _tops(course, expression, sign, pieces.selected(close), j)
                exists &= height > 0
                rows.append(np.flatnonzero(close)[exists])
                positions.append(x[exists])
                values.append(sign * height[exists])
    row, x, g = np.concatenate(rows), np.concatenate(positions), np.concatenate(values)
    order = np.lexsort((x, row))
    return row[order], x[order], g[order]


def _zeros(course: Course, expression: Any, pieces: StepPieces, a: Array, b: Array, ga: Array, gb: Array) -> Array:
    """Positions in the pieces, (m,), between a and b, at which e vanishes: secants, with every third step a bisection."""
    at_start = (ga == 0) | (np.sign(ga) == np.sign(gb))  # zero at a, up to rounding
    active = ~at_start & (gb != 0)
    for k in range(1, ZERO_ITERATIONS + 1):
        if not active.any():
            break
        with np.errstate(all="ignore"):
            middle, secant = (a + b) / 2, (a * gb - b * ga) / (gb - ga)
        x = np.where((secant > a) & (secant < b), secant, middle) if k % 3 else middle
        g = course.evaluate(expression, pieces.step, pieces.start + x * pieces.width)
        same_sign = (g > 0) == (gb > 0)
        a, ga = np.where(active & ~same_sign, x, a), np.where(active & ~same_sign, g, ga)
        b, gb = np.where(active & same_sign, x, b), np.where(active & same_sign, g, gb)
        active &= (b - a > 1e-15) & (ga != 0) & (gb != 0)
    return np.where((ga == 0) | at_start, a, b)


__all__ = ["Passes", "count", "energy_error", "final", "first", "impacts", "integral", "passes", "peak"]
