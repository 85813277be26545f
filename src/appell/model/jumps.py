"""Jumps that a model may not have: in its energies, and in constraints that are differentiated.

    T, V and f(t, q, q̇) = 0 are continuous;    f(t, q) = 0 has a continuous gradient too

`sign`, `Heaviside`, `Abs`, `Max`, `Min`, `floor`, `Piecewise` may occur anywhere in forces. A potential that jumps, a mass that
jumps and a wire with a kink cause impulses, which the equations of motion do not contain: their derivatives off the jump
describe a different, smooth system. The functions have pieces; a segment between two random points on different pieces is
bisected to the point where the piece changes, and the expression is compared on both sides of it. Where it is infinite there,
no motion passes. Jumps of other functions: `model.hidden_jumps`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Symbol

from appell.errors import ModelError
from appell.jets import jets_of, nodes_of, t
from appell.numeric_functions import numeric_function

JUMPING = (sympy.sign, sympy.Heaviside, sympy.floor, sympy.ceiling, sympy.Mod, sympy.frac, sympy.Piecewise)
KINKED = (sympy.Abs, sympy.Max, sympy.Min, *JUMPING)

PAIRS_TRIED, FAR_PAIRS = 60, 48
LAST_DECADE = 9
"""Decade of the largest coordinates at which changes of piece are looked for; a ridge may be at x = 6.4e6."""
VALUES_RESOLVED, SLOPES_RESOLVED = 1e3, 1e5
"""Shortest lengths over which values and slopes are compared, as multiples of the rounding of a point (1e-9 at x = 1e7), which
is then 1e-3 of a change of value and 1e-5 of a slope."""
ONE_SIDE, ROUNDING_OVER_DISTANCE = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6), 10.0
"""Multiples of the shortest length at which values on one side are compared with each other, and the multiple of their
difference that a jump exceeds: if a constant rounding is divided by the distance, both sides differ by 5.3 of it."""
COARSE_SEGMENT = 1e-9
"""Rounding of the points of a segment, as a fraction of it, beyond which nothing is said: such lengths may contain waves."""

Point = list[float]


def refuse_jumps(expr: Expr, where: str, *, smooth: bool = False, time: bool = True) -> None:
    """Raises `ModelError` where the expression jumps; with `smooth` also where its gradient does.

    `time`: also for jumps in time. A potential may jump in time: its force jumps, but no velocity.
    """
    symbols: list[Any] = sorted(expr.free_symbols, key=str)
    value = cache(lambda: number_at(symbols, expr))
    for atom in sorted(nodes_of(expr, *KINKED), key=str):  # x/|x| is sign(x)
        if not atom.free_symbols:
            continue
        for a, b, at in changes_of_piece(symbols, piece_of(symbols, atom), time):
            along = lambda s, a=a, b=b: value()(between(a, b, s))
            rounding = rounding_along(a, b)
            if persists_across(along, at, rounding):
                raise ModelError(
                    f"{where} jumps where {atom} does: that is a blow, which no equation of motion holds; say a wall with"
                    " ap.Unilateral, a force in forces=, or a smooth step such as (1 + tanh(x/w))/2"
                )
            if smooth and _bends(along, at, rounding):
                raise ModelError(
                    f"{where} has a kink where {atom} changes: velocities would have to jump there; give a smooth function"
                )


@lru_cache(maxsize=64)
def dry_friction(forces: tuple[Expr, ...]) -> str:
    """A sentence on a force that jumps with a velocity, `sign(x.d)`; empty if there is none.

    At zero velocity such a force has either direction, and a body stopped by it stays at rest: the steps of a method that
    follows the force across the jump and back shrink to zero.
    """
    atoms = [
        atom for force in forces for atom in nodes_of(force, *JUMPING) if any(s.level > 0 for s in jets_of(atom))
    ]  # fmt: skip
    if not atoms:
        return ""
    atom = min(atoms, key=str)
    return (
        f"a force contains {atom}, which jumps with a velocity: dry friction, whose sticking is a mode of its own and not a"
        f" value of {type(atom).__name__}: ap.Friction says it; tanh(v/w) in place of sign(v), w a small speed, is smooth"
    )


def between(one: Point, other: Point, share: float) -> Point:
    """The point at a fraction of the segment between two points."""
    return [a + share * (b - a) for a, b in zip(one, other, strict=True)]


def rounding_along(one: Point, other: Point) -> float:
    """Rounding of the points of a segment, as a fraction of its length; only coordinates that change along it are rounded."""
    changes = [(abs(b - a), max(abs(a), abs(b))) for a, b in zip(one, other, strict=True) if a != b]
    return math.ulp(max(size for _, size in changes)) / max(length for length, _ in changes) if changes else math.inf


def number_at(symbols: Sequence[Symbol], expr: Any) -> Callable[[Point], float]:
    """Point → the value, infinite where it overflows, NaN where there is none."""
    fn = numeric_function(symbols, expr, "math")

    def value(point: Point) -> float:
        try:
            return float(fn(*point))
        except OverflowError:
            return overflowing(point)
        except (ArithmeticError, TypeError, ValueError):
            return math.nan

    def overflowing(point: Point) -> float:
        """The value by NumPy, whose exp(1e7) is infinite: 1/(1 + exp(1/x)) has limits."""
        with np.errstate(all="ignore"):
            try:
                return float(numeric_function(symbols, expr, "numpy")(*map(np.float64, point)))
            except (ArithmeticError, TypeError, ValueError):
                return math.nan

    return value


def piece_of(symbols: Sequence[Symbol], atom: Any) -> Callable[[Point], float]:
    """A number that is constant on each piece of the function."""
    args: Any = atom.args
    if isinstance(atom, sympy.Piecewise):
        branches = [(sympy.Integer(i), when) for i, (_, when) in enumerate(args)]
        return number_at(symbols, sympy.Piecewise(*branches, evaluate=False))
    if isinstance(atom, sympy.Max | sympy.Min):
        values, best = [number_at(symbols, x) for x in atom.args], max if isinstance(atom, sympy.Max) else min
        return lambda point: best(range(len(values)), key=lambda i: values[i](point))
    if isinstance(atom, sympy.Mod):
        return number_at(symbols, sympy.floor(args[0] / args[1]))
    inner = number_at(symbols, atom.args[0])
    if isinstance(atom, sympy.floor | sympy.ceiling | sympy.frac):
        return lambda point: math.floor(x) if math.isfinite(x := inner(point)) else math.nan
    return lambda point: (x > 0) if math.isfinite(x := inner(point)) else math.nan


def changes_of_piece(
    symbols: Sequence[Symbol], piece: Callable[[Point], float], time: bool
) -> Iterator[tuple[Point, Point, float]]:
    """Segments, and the fraction of each at which the piece changes."""
    rng = random.Random(0)
    # parameters are the same at both ends, since they do not change in a motion
    fixed = [(s.is_positive or not hasattr(s, "level")) and not (time and s == t) for s in symbols]
    for k in range(PAIRS_TRIED + FAR_PAIRS):
        size = 10.0 ** (k % 3 - 0.5)
        a = [rng.uniform(0.3, 1.5) if is_fixed else rng.uniform(-size, size) for is_fixed in fixed]
        b = [x if is_fixed else rng.uniform(-size, size) for x, is_fixed in zip(a, fixed, strict=True)]
        if distant := k >= PAIRS_TRIED and not all(fixed):
            i, reach = rng.choice([i for i, is_fixed in enumerate(fixed) if not is_fixed]), 10.0 ** (2 + k % (LAST_DECADE - 1))
            b = a.copy()  # only one coordinate is far, and the piece changes with it
            a[i], b[i] = rng.uniform(-reach, reach), rng.uniform(-reach, reach)
        at = change_of_piece(lambda s, a=a, b=b: piece(between(a, b, s)))
        if at is not None and distant:  # the pieces are compared over lengths of order 1 there, too
            change, direction = between(a, b, at), [0.0 if is_fixed else rng.uniform(-size, size) for is_fixed in fixed]
            a, b = ([x + sign * d for x, d in zip(change, direction, strict=True)] for sign in (-1, 1))
            at = change_of_piece(lambda s, a=a, b=b: piece(between(a, b, s)))
        if at is not None:
            yield a, b, at


def change_of_piece(piece: Callable[[float], float]) -> float | None:
    """The fraction of a segment at which the piece changes; None if both ends lie on one piece."""
    low, high = 0.0, 1.0
    first, last = piece(low), piece(high)
    if math.isnan(first) or math.isnan(last) or first == last:
        return None
    while high - low > 1e-13:  # of the segment: a few hundred roundings of its ends
        middle = (low + high) / 2
        low, high = (middle, high) if piece(middle) == first else (low, middle)
    return (low + high) / 2


def persists_across(along: Callable[[float], float], at: float, rounding: float) -> bool:
    """Whether the difference across `at` persists when the distance shrinks a thousandfold. rounding: see `rounding_along`.

    `at` is known to 1e-13, or to the rounding: a kink near it also gives a difference that persists, but only a small fraction
    of the slopes.
    """
    if rounding > COARSE_SEGMENT:
        return False
    short = max(1e-10, VALUES_RESOLVED * rounding)
    (left, right), (low, high) = ([along(at + sign * d) for sign in (-1, 1)] for d in (1e3 * short, short))
    slopes, size = abs(low - left) + abs(high - right), abs(left) + abs(right)
    wide, narrow = abs(right - left), abs(high - low)
    rough = max(4 * _roughness(along, at, rounding), ROUNDING_OVER_DISTANCE * _scatter(along, at, short))
    persists = math.isfinite(wide) and narrow > max(wide / 2, 1e-9 * size, 1e-14, 1e-4 * slopes, rough)
    return persists and not _diverges(along, at, rounding)


def _scatter(along: Callable[[float], float], at: float, short: float) -> float:
    """The differences of values among themselves on one side of `at`: the rounding of (exp(x) - 1)/x grows towards x = 0."""
    sides = ([along(at + sign * n * short) for n in ONE_SIDE] for sign in (-1, 1))
    return max(max(side) - min(side) for side in sides)


def _diverges(along: Callable[[float], float], at: float, rounding: float) -> bool:
    """Whether a value grows beyond all bounds near `at`, on either side: log|x| by the same amount for every thousandth of the
    distance, poles by more, what has a limit by less and less."""
    short = max(1e-10, VALUES_RESOLVED * rounding)
    for sign in (-1, 1):
        farthest, middle, nearest = (along(at + sign * d) for d in (min(1e6 * short, 0.1), 1e3 * short, short))
        change = abs(nearest - middle)
        if change > max(abs(middle - farthest) / 2, 1e-6 * abs(middle)):
            return True
    return False


def _bends(along: Callable[[float], float], at: float, rounding: float) -> bool:
    def bend(d: float) -> tuple[float, float]:
        left, right = (along(at - d) - along(at - 2 * d)) / d, (along(at + 2 * d) - along(at + d)) / d
        return abs(right - left), abs(right) + abs(left)

    if rounding > COARSE_SEGMENT:
        return False
    short = max(1e-6, SLOPES_RESOLVED * rounding)
    (wide, _), (narrow, size) = bend(100 * short), bend(short)
    rough = 4 * _roughness(along, at, rounding) / short
    return math.isfinite(wide) and narrow > max(wide / 2, 1e-4 * size, rough) and not _diverges(along, at, rounding)


def _roughness(along: Callable[[float], float], at: float, rounding: float) -> float:
    """Rounding error of the values beside `at`: their second differences over lengths that are too short for a curvature, and
    a hundred roundings of the points times the slope: slopes by several coordinates may cancel."""
    differences, short = [0.0], max(1e-9, 10 * VALUES_RESOLVED * rounding)
    for sign in (-1, 1):
        a, b, c, d = (along(at + sign * n * short) for n in (1, 2, 3, 4))
        differences += [abs(a - 2 * b + c), abs(b - 2 * c + d), 100 * rounding / short * max(abs(b - a), abs(d - c))]
    return max(x for x in differences if math.isfinite(x))


__all__ = [
    "JUMPING",
    "KINKED",
    "Point",
    "between",
    "change_of_piece",
    "changes_of_piece",
    "dry_friction",
    "number_at",
    "persists_across",
    "piece_of",
    "refuse_jumps",
    "rounding_along",
]
