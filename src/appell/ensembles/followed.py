"""Parts of reductions along the course of one run: extremes, integrals, zeros, and what is looked at at the ends of steps.

Each gives its value, and whether that is held to the tolerances of the run. `reduce.c.in` does the same in lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.ensembles.course import Course, StepPieces, lowered
from appell.ensembles.quadrature import JUMP_SHARE, NARROWEST_PIECE, NODES, PARABOLAS, RULE_ROUNDING, SAME_EXTREME, SIGN_NOISE
from appell.modes.contact_thresholds import FLOOR
from appell.modes.events import Kind

if TYPE_CHECKING:
    from appell.ensembles.kinds import ReductionPart

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]


def final(course: Course, part: ReductionPart) -> tuple[float, bool]:
    """Where the run ended."""
    run, trace, fn = course.run, course.trace, lowered(course.run, part.expression)
    nq, nv, z = run.form.nq, run.form.nv, trace.z[None]
    known = {"t": np.array([trace.t]), "q": z[:, :nq], "v": z[:, nq : nq + nv]}
    if run.schedule is not None:
        known["p"] = run.p_at(np.array([course.modes.end]))
    if any(port.name == "a" for port in fn.inputs):
        known["a"] = course.modes.last(known["t"], known["q"], known["v"])
    return float(course.values(fn, known)[0]), True


def integral(course: Course, part: ReductionPart) -> tuple[float, bool]:
    """∫ e dt."""
    if not len(course.begin):
        return 0.0, True
    steps, h = np.arange(len(course.begin)), np.abs(course.length)
    rough = course.sample(part.expression, steps, np.zeros(len(steps)), np.ones(len(steps)))
    so_far = np.cumsum(np.nan_to_num(rough.size) * h)
    rtol = course.rtol + 100 * np.finfo(float).eps

    def held(pieces: StepPieces) -> Bools:
        span = pieces.width * h[pieces.step]
        unit = 0.1 * (rtol * np.maximum(so_far[pieces.step], span * pieces.size) + course.atol)
        with np.errstate(all="ignore"):
            told = (200 * span * pieces.apart) ** 3 <= unit**2 * span * pieces.spread
            told |= pieces.apart <= pieces.rounding
            return ((pieces.rough <= 1) & told) | (span * (pieces.high - pieces.low) <= unit)

    found = course.pieces(part.expression, held)
    span, open_ = found.width * course.length[found.step], ~found.held
    with np.errstate(all="ignore"):
        missed = np.sum(np.abs(span[open_]) * (found.high - found.low)[open_])
    return float(span @ found.mean), bool(missed <= rtol * (np.abs(span) @ found.size) + course.atol)


def peak(course: Course, part: ReductionPart) -> tuple[float, bool]:
    """The largest (way 1) or least (−1) value."""
    sign = float(part.way)
    if not len(course.begin):
        return final(course, part)
    steps = np.arange(len(course.begin))
    looked = course.sample(part.expression, steps, np.zeros(len(steps)), np.ones(len(steps)))
    last = final(course, part)[0]
    best = max(float(np.nanmax(sign * looked.g)), sign * last) if np.isfinite(looked.g).any() else sign * last
    rtol = course.rtol + 100 * np.finfo(float).eps
    most = lambda pieces: pieces.high if sign > 0 else -pieces.low
    unit = lambda p: rtol * abs(best) + course.atol + RULE_ROUNDING * p.terms
    found = course.pieces(part.expression, lambda p: p.clear | (most(p) <= best + unit(p)))
    best = max(best, float(np.nanmax(sign * found.g)))
    open_ = found.some(found.clear & (most(found) > best))
    for j in range(len(NODES)):
        rows = _high(sign * open_.g, j)
        rows &= sign * open_.g[:, j] + 2 * _vertex(sign * open_.g, j)[1] > best
        if rows.any():
            _, heights, there = _tops(course, part.expression, sign, open_.some(rows), j)
            best = max(best, float(np.max(heights[there], initial=-np.inf)))
    return sign * best, bool(np.all(most(found)[~found.held] <= best + rtol * abs(best) + course.atol))


def count(course: Course, part: ReductionPart) -> tuple[float, bool]:
    """How often e passes through zero."""
    found = passes(course, part)
    return float(len(found.step)), found.held


def first(course: Course, part: ReductionPart) -> tuple[float, bool]:
    """When e first passes through zero, s; NaN: never."""
    found = passes(course, part)
    return (float(found.times(course)[0]) if len(found.step) else np.nan), found.held


def impacts(course: Course, part: ReductionPart) -> tuple[float, bool]:
    """Impacts on unilateral constraints."""
    return float((course.trace.events.joined()["kind"] == Kind.IMPACT).sum()), True


def energy_error(course: Course, part: ReductionPart) -> tuple[float, bool]:
    """max |H − H(0) − ∫ power dt| / E at the ends of steps."""
    if not len(course.begin):
        return 0.0, True
    run, (nq, nv) = course.run, (course.run.form.nq, course.run.form.nv)
    z = np.vstack([course.states[:1, 0], course.states[:, -1]])
    t = np.append(course.begin[:1], course.begin + course.length)
    out = run.evaluate(t, z[:, :nq], z[:, nq : nq + nv], ("H", "T", "V"))
    work = z[:, -1] if z.shape[1] > nq + nv else np.zeros(len(z))
    scale = (np.abs(out["T"]) + np.abs(out["V"] - out["V"][0]) + np.abs(work)).max()
    scale = max(scale, 1e-6 * (np.abs(out["T"]) + np.abs(out["V"])).max())
    return float(np.abs(out["H"] - out["H"][0] - work).max() / (scale or 1.0)), True


# -- extremes -------------------------------------------------------------------------------------------------------------


def _high(g: Array, j: int) -> Bools:
    """Where node j is as high as its neighbours, (m,)."""
    high = np.ones(len(g), dtype=bool)
    if j > 0:
        high &= g[:, j] >= g[:, j - 1]
    if j < g.shape[1] - 1:
        high &= g[:, j] >= g[:, j + 1]
    return high


def _vertex(g: Array, j: int) -> tuple[Array, Array]:
    """Where the parabola through three nodes around j (or the first, the last three) has its top, and how far above node j."""
    m = min(max(j, 1), g.shape[1] - 2)
    xa, xb, xc = NODES[m - 1 : m + 2] - NODES[j]
    first, second = (g[:, m] - g[:, m - 1]) / (xb - xa), (g[:, m + 1] - g[:, m]) / (xc - xb)
    bend = (second - first) / (xc - xa)
    slope = first - bend * (xa + xb)
    down = bend < 0
    x = -slope / (2 * np.where(down, bend, -1.0))
    return np.where(down, NODES[j] + x, -1.0), np.where(down, slope * x / 2, 0.0)


def _tops(course: Course, expression: Any, sign: float, pieces: StepPieces, j: int) -> tuple[Array, Array, Bools]:
    """Places x in the pieces and heights of tops of sign·e near node j, and whether there is one, (m,) each."""
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
    for _ in range(PARABOLAS):
        left, right = (b - a) * (gb - gc), (b - c) * (gb - ga)
        whole = left - right
        x = b - ((b - a) * left - (b - c) * right) / (2 * np.where(whole == 0, 1.0, whole))
        aside = np.where(c - b > b - a, b + 0.382 * (c - b), b - 0.382 * (b - a))
        x = np.where(~((x > a) & (x < c)) | (np.abs(x - b) < SAME_EXTREME), aside, x)
        a, b, c, ga, gb, gc = _narrowed(a, b, c, ga, gb, gc, x, value(x))
    return b, gb, there


def _narrowed(a: Array, b: Array, c: Array, ga: Array, gb: Array, gc: Array, x: Array, g: Array) -> tuple[Array, ...]:
    """The bracket of a top after one more value."""
    higher, before = g > gb, x < b
    low, g_low = np.where(higher, b, x), np.where(higher, gb, g)
    left = higher ^ before
    a, ga = np.where(left, low, a), np.where(left, g_low, ga)
    c, gc = np.where(left, c, low), np.where(left, gc, g_low)
    return a, np.where(higher, x, b), c, ga, np.where(higher, g, gb), gc


# -- zeros ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Passes:
    """Steps and shares θ of them at which an expression passes through zero, (n,), in the order of time."""

    step: Ints
    theta: Array
    held: bool

    def times(self, course: Course) -> Array:
        return course.begin[self.step] + self.theta * course.length[self.step]


def passes(course: Course, part: ReductionPart) -> Passes:
    """Where e passes through zero in the direction of the part: not where it jumps over it."""
    if not len(course.begin):
        return Passes(np.zeros(0, dtype=np.intp), np.zeros(0), True)
    steps = np.arange(len(course.begin))
    looked = course.sample(part.expression, steps, np.zeros(len(steps)), np.ones(len(steps)))
    largest = np.fmax.accumulate(np.abs(looked.g).max(axis=1))  # so far
    unknown = lambda p: np.fmax(np.fmax(RULE_ROUNDING * p.terms, SIGN_NOISE * largest[p.step]), FLOOR * course.atol)
    nothing = lambda p: (p.low > 0) | (p.high < 0) | ((p.low > -unknown(p)) & (p.high < unknown(p)))
    found = course.pieces(part.expression, lambda p: p.clear | nothing(p))
    row, x, g = _points(course, part.expression, found)
    sign = np.where(np.abs(g) > unknown(found)[row], np.sign(g), 0.0)
    known = np.maximum.accumulate(np.where(sign != 0, np.arange(len(g)), 0))
    before = sign[known[np.maximum(np.arange(len(g)) - 1, 0)]]  # zeros have the sign before them
    inside = np.append(False, row[1:] == row[:-1])
    change = inside & (sign != 0) & (before != 0) & (sign != before)
    if part.way:
        change &= sign == part.way
    j = np.flatnonzero(change)
    size = np.nanmax(np.abs(g), initial=0.0)
    wide = found.clear[row[j]] | (found.width[row[j]] > NARROWEST_PIECE)
    j = j[wide | (np.abs(g[j] - g[j - 1]) <= JUMP_SHARE * size)]
    pieces = found.some(row[j])
    zero = _zeros(course, part.expression, pieces, x[j - 1], x[j], g[j - 1], g[j])
    wild = ~found.held & ((found.width > NARROWEST_PIECE) | ~np.isfinite(found.high - found.low))
    return Passes(pieces.step, pieces.start + zero * pieces.width, not wild.any())


def _points(course: Course, expression: Any, pieces: StepPieces) -> tuple[Ints, Array, Array]:
    """Nodes of all pieces with the extremes between them that lie beyond zero: piece, place in it, value; in order."""
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
    """Places in the pieces, (m,), between a and b, at which e vanishes: secants, every third time the middle."""
    before = (ga == 0) | (np.sign(ga) == np.sign(gb))  # it has vanished at a, up to its last digits
    open_ = ~before & (gb != 0)
    for k in range(1, 81):
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
