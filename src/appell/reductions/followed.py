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
    known = {"t": np.array([trace.t]), "q": z[:, :nq], "v": z[:, nq : nq + nv]}
    if run.schedule is not None:
        known["p"] = run.p_at(np.array([course.modes.end]))
    if any(port.name == "a" for port in fn.inputs):
        known["a"] = course.modes.last(known["t"], known["q"], known["v"])
    return course.values(fn, known)


def integral(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """∫ e dt, ∫ |e| dt, and the most that pieces which missed the tolerance may contribute."""
    past = np.zeros(3) if before is None else before
    if not len(course.begin):
        return past
    steps, h = np.arange(len(course.begin)), np.abs(course.length)
    rough = course.sample(part.expression, steps, np.zeros(len(steps)), np.ones(len(steps)))
    so_far = past[1] + np.cumsum(np.nan_to_num(rough.size) * h)

    def held(pieces: StepPieces) -> Bools:
        span = pieces.width * h[pieces.step]
        unit = INTEGRAL_SHARE * (course.relative * np.maximum(so_far[pieces.step], span * pieces.size) + course.atol)
        with np.errstate(all="ignore"):
            told = (QUADPACK_FACTOR * span * pieces.apart) ** 3 <= unit**2 * span * pieces.spread
            told |= pieces.apart <= pieces.rounding
            return ((pieces.rough <= 1) & told) | (span * (pieces.high - pieces.low) <= unit)

    found = course.pieces(part.expression, held)
    span, open_ = found.width * course.length[found.step], ~found.held
    with np.errstate(all="ignore"):
        missed = np.sum(np.abs(span[open_]) * (found.high - found.low)[open_])
    return past + np.array([span @ found.mean, np.abs(span) @ found.size, missed])


def peak(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """The largest (way 1) or smallest (−1) value, and the extreme that pieces which missed the tolerance may have."""
    sign = float(part.way)
    best, doubt = (np.nan, -np.inf) if before is None else (sign * before[0], before[1])
    best = np.fmax(best, sign * final(course, part)[0])
    if not len(course.begin):
        return np.array([sign * best, doubt])
    steps = np.arange(len(course.begin))
    looked = course.sample(part.expression, steps, np.zeros(len(steps)), np.ones(len(steps)))
    best = float(np.fmax(best, np.fmax.reduce(sign * looked.g, axis=None)))
    most = lambda pieces: pieces.high if sign > 0 else -pieces.low
    unit = course.relative * abs(best) + course.atol
    below = lambda p: (most(p) <= best + unit) & (most(p) < np.inf)
    found = course.pieces(part.expression, lambda p: p.clear | below(p) | p.level)
    best = float(np.fmax(best, np.fmax.reduce(sign * found.g, axis=None)))
    open_ = found.some(found.clear & (most(found) > best))
    for j in range(len(NODES)):
        rows = _high(sign * open_.g, j)
        rows &= sign * open_.g[:, j] + 2 * _vertex(sign * open_.g, j)[1] > best
        if rows.any():
            _, heights, there = _tops(course, part.expression, sign, open_.some(rows), j)
            best = max(best, float(np.max(heights[there], initial=-np.inf)))
    return np.array([sign * best, np.max(most(found)[~found.held], initial=doubt)])


def count(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """How often e has passed through zero; its last sign, its largest size, whether zeros may be missing."""
    past = np.zeros(4) if before is None else before
    found = passes(course, part, past[1:])
    return np.array([past[0] + len(found.step), *found.carried])


def first(course: Course, part: ReductionPart, before: Array | None = None) -> Array:
    """When e first passed through zero, s (NaN: never); its last sign, its largest size, whether zeros may be missing."""
    past = np.array([np.nan, 0.0, 0.0, 0.0]) if before is None else before
    found = passes(course, part, past[1:])
    there = past[0] if len(found.step) == 0 or not np.isnan(past[0]) else found.times(course)[0]
    return np.array([there, *found.carried])


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
    out = run.evaluate(t, z[:, :nq], z[:, nq : nq + nv], ("H", "T", "V"))
    known = before is not None and not np.isnan(before[2])
    error, scale, H0, V0 = before if before is not None and known else (0.0, 0.0, out["H"][0], out["V"][0])
    work = z[:, -1] if z.shape[1] > nq + nv else np.zeros(len(z))
    scale = max(scale, (np.abs(out["T"]) + np.abs(out["V"] - V0) + np.abs(work)).max())
    scale = max(scale, LEAST_EXCHANGED * (np.abs(out["T"]) + np.abs(out["V"])).max())
    return np.array([max(error, np.abs(out["H"] - H0 - work).max()), scale, H0, V0])


# -- extremes -------------------------------------------------------------------------------------------------------------


def _high(g: Array, j: int) -> Bools:
    """Whether node j is at least as high as its neighbours, (m,)."""
    high = np.ones(len(g), dtype=bool)
    if j > 0:
        high &= g[:, j] >= g[:, j - 1]
    if j < g.shape[1] - 1:
        high &= g[:, j] >= g[:, j + 1]
    return high


def _vertex(g: Array, j: int) -> tuple[Array, Array]:
    """Vertex of the parabola through three nodes around j (or the first or last three), and its height above node j."""
    m = min(max(j, 1), g.shape[1] - 2)
    xa, xb, xc = NODES[m - 1 : m + 2] - NODES[j]
    first, second = (g[:, m] - g[:, m - 1]) / (xb - xa), (g[:, m + 1] - g[:, m]) / (xc - xb)
    bend = (second - first) / (xc - xa)
    slope = first - bend * (xa + xb)
    down = bend < 0
    x = -slope / (2 * np.where(down, bend, -1.0))
    return np.where(down, NODES[j] + x, -1.0), np.where(down, slope * x / 2, 0.0)


def _tops(course: Course, expression: Any, sign: float, pieces: StepPieces, j: int) -> tuple[Array, Array, Bools]:
    """Positions x in the pieces and heights of the maxima of sign·e near node j, and whether there is one, (m,) each."""
    last = len(NODES) - 1
    value = lambda x: sign * course.look(expression, pieces.step, pieces.start + x * pieces.width)
    i, k = max(j - 1, 0), min(j + 1, last)
    g = sign * pieces.g
    x = _vertex(g, j)[0]
    there = (x > NODES[i]) & (x < NODES[k]) & (x != NODES[j])
    x = np.where(there, x, (NODES[i] + NODES[k]) / 2)
    new = value(x)
    if j in (0, last):
        there &= new > g[:, j]
    a, b, c = (np.full(len(x), NODES[n]) for n in (i, j, k))
    ga, gb, gc = g[:, i].copy(), g[:, j].copy(), g[:, k].copy()
    a, b, c, ga, gb, gc = _narrowed(a, b, c, ga, gb, gc, x, new)
    for _ in range(EXTREME_ITERATIONS):
        left, right = (b - a) * (gb - gc), (b - c) * (gb - ga)
        whole = left - right
        x = b - ((b - a) * left - (b - c) * right) / (2 * np.where(whole == 0, 1.0, whole))
        aside = np.where(c - b > b - a, b + SECTION_OF_BRACKET * (c - b), b - SECTION_OF_BRACKET * (b - a))
        x = np.where(~((x > a) & (x < c)) | (np.abs(x - b) < SAME_EXTREME), aside, x)
        a, b, c, ga, gb, gc = _narrowed(a, b, c, ga, gb, gc, x, value(x))
    return b, gb, there


def _narrowed(a: Array, b: Array, c: Array, ga: Array, gb: Array, gc: Array, x: Array, g: Array) -> tuple[Array, ...]:
    """The bracket of a maximum after one more value."""
    higher, before = g > gb, x < b
    low, g_low = np.where(higher, b, x), np.where(higher, gb, g)
    left = higher ^ before
    a, ga = np.where(left, low, a), np.where(left, g_low, ga)
    c, gc = np.where(left, c, low), np.where(left, gc, g_low)
    return a, np.where(higher, x, b), c, ga, np.where(higher, g, gb), gc


# -- zeros ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Passes:
    """Steps and fractions θ of them at which an expression passes through zero, (n,), in the order of time."""

    step: Ints
    theta: Array
    carried: Array  # (3,) the last sign of the expression, its largest size, 1 where zeros may be missing

    def times(self, course: Course) -> Array:
        return course.begin[self.step] + self.theta * course.length[self.step]


def passes(course: Course, part: ReductionPart, before: Array) -> Passes:
    """Where e passes through zero in the direction of the part, without jumping over it. before: `carried` until here."""
    if not len(course.begin):
        return Passes(np.zeros(0, dtype=np.intp), np.zeros(0), before)
    steps = np.arange(len(course.begin))
    looked = course.sample(part.expression, steps, np.zeros(len(steps)), np.ones(len(steps)))
    largest = np.fmax(np.fmax.accumulate(np.abs(looked.g).max(axis=1)), before[1])  # so far
    unknown = lambda p: np.fmax(np.fmax(RULE_ROUNDING * p.terms, SIGN_NOISE * largest[p.step]), GAP_FLOOR * course.atol)
    nothing = lambda p: (p.low > 0) | (p.high < 0) | ((p.low > -unknown(p)) & (p.high < unknown(p)))
    found = course.pieces(part.expression, lambda p: p.clear | nothing(p))
    row, x, g = _points(course, part.expression, found)
    sign = np.where(np.abs(g) > unknown(found)[row], np.sign(g), 0.0)
    known = np.maximum.accumulate(np.where(sign != 0, np.arange(len(g)), 0))
    last = np.where(sign[known] == 0, before[0], sign[known])  # zeros have the sign before them
    then = np.append(before[0], last[:-1])
    inside = np.append(False, row[1:] == row[:-1])
    change = inside & (sign != 0) & (then != 0) & (sign != then)
    if part.way:
        change &= sign == part.way
    j = np.flatnonzero(change)
    size = np.fmax(np.nanmax(np.abs(g), initial=0.0), before[1])
    wide = found.clear[row[j]] | (found.width[row[j]] > NARROWEST_PIECE)
    j = j[wide | (np.abs(g[j] - g[j - 1]) <= JUMP_SHARE * size)]
    pieces = found.some(row[j])
    zero = _zeros(course, part.expression, pieces, x[j - 1], x[j], g[j - 1], g[j])
    wild = ~found.held & ((found.width > NARROWEST_PIECE) | ~np.isfinite(found.high - found.low))
    carried = np.array([last[-1], largest[-1], max(before[2], float(wild.any()))])
    return Passes(pieces.step, pieces.start + zero * pieces.width, carried)


def _points(course: Course, expression: Any, pieces: StepPieces) -> tuple[Ints, Array, Array]:
    """Nodes of all pieces, and the extremes between them beyond zero: piece, position in it, value; in order."""
    m, n = pieces.g.shape
    rows, places, values = [np.repeat(np.arange(m), n)], [np.tile(NODES, m)], [pieces.g.ravel()]
    for sign in (1.0, -1.0):
        for j in range(n):
            g = sign * pieces.g
            near = pieces.clear & (g[:, j] < 0) & _high(g, j) & (g[:, j] + 2 * _vertex(g, j)[1] > 0)
            if near.any():
                x, height, there = _tops(course, expression, sign, pieces.some(near), j)
                there &= height > 0
                rows.append(np.flatnonzero(near)[there])
                places.append(x[there])
                values.append(sign * height[there])
    row, x, g = np.concatenate(rows), np.concatenate(places), np.concatenate(values)
    order = np.lexsort((x, row))
    return row[order], x[order], g[order]


def _zeros(course: Course, expression: Any, pieces: StepPieces, a: Array, b: Array, ga: Array, gb: Array) -> Array:
    """Positions in the pieces, (m,), between a and b, at which e vanishes: secants, with every third step a bisection."""
    before = (ga == 0) | (np.sign(ga) == np.sign(gb))  # zero at a, up to rounding
    open_ = ~before & (gb != 0)
    for k in range(1, ZERO_ITERATIONS + 1):
        if not open_.any():
            break
        with np.errstate(all="ignore"):
            middle, secant = (a + b) / 2, (a * gb - b * ga) / (gb - ga)
        x = np.where((secant > a) & (secant < b), secant, middle) if k % 3 else middle
        g = course.look(expression, pieces.step, pieces.start + x * pieces.width)
        same = (g > 0) == (gb > 0)
        a, ga = np.where(open_ & ~same, x, a), np.where(open_ & ~same, g, ga)
        b, gb = np.where(open_ & same, x, b), np.where(open_ & same, g, gb)
        open_ &= (b - a > 1e-15) & (ga != 0) & (gb != 0)
    return np.where((ga == 0) | before, a, b)


__all__ = ["Passes", "count", "energy_error", "final", "first", "impacts", "integral", "passes", "peak"]
