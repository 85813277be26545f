"""Interval arithmetic in NumPy over the instruction stream: twin of `interval.c.in` and `functions.c.in`, for many boxes.

    enclosure(fn)(x_lo, x_hi, …) → intervals of the outputs, and whether the first of them may jump

Every value of the function over a box lies in its interval; an unbounded value has the whole line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, erfinv

from appell.graph.fn import Fn
from appell.graph.instructions import Instruction
from appell.remember import remembered
from appell.roots.limits import EPSILON, FUNCTION_ULPS, LARGEST_WHOLE_POWER, LESS_THAN_A_TURN, PERIOD_UNRESOLVED
from appell.roots.stream import RangedFunction, ranged

Array = NDArray[np.float64]


class Interval(NamedTuple):
    """[lo, hi], arrays of one shape."""

    lo: Array
    hi: Array


def _widened(lo: Any, hi: Any, ulps: float = EPSILON) -> Interval:
    """[lo, hi], widened by the rounding of its ends."""
    return Interval(lo - ulps * np.abs(lo), hi + ulps * np.abs(hi))


def _unless(unbounded: Any, x: Interval) -> Interval:
    """x, or the whole line where it is unbounded."""
    return Interval(np.where(unbounded, -np.inf, x.lo), np.where(unbounded, np.inf, x.hi))


def _corners(*values: Array) -> Interval:
    """The hull of the values at the corners of a box; the whole line where one of them is not a number."""
    total = sum(values)
    lowest, highest = np.minimum.reduce(values), np.maximum.reduce(values)
    return _unless(np.isnan(total), _widened(lowest, highest, FUNCTION_ULPS))


def _mul(x: Interval, y: Interval) -> Interval:
    products = (x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi)
    return _unless(np.isnan(sum(products)), _widened(np.minimum.reduce(products), np.maximum.reduce(products)))


def _inv(x: Interval) -> Interval:
    return _unless(~((x.lo > 0) | (x.hi < 0)), _widened(1 / x.hi, 1 / x.lo))


def _fabs(x: Interval) -> Interval:
    a, b = np.abs(x.lo), np.abs(x.hi)
    return Interval(np.where((x.lo > 0) | (x.hi < 0), np.minimum(a, b), 0.0), np.maximum(a, b))


def _sq(x: Interval) -> Interval:
    a = _fabs(x)
    return _widened(a.lo * a.lo, a.hi * a.hi)


def _neg(x: Interval) -> Interval:
    return Interval(-x.hi, -x.lo)


def _truth(surely: Any, never: Any) -> Interval:
    """A condition: 1 where it surely holds, 0 where it never does, [0, 1] where it is undecided."""
    return Interval(np.where(surely, 1.0, 0.0), np.where(never, 0.0, 1.0))


def _flip(x: Interval) -> Interval:
    """The negation of a condition."""
    return Interval(1 - x.hi, 1 - x.lo)


def _eq(x: Interval, y: Interval) -> Interval:
    return _truth((x.lo == x.hi) & (y.lo == y.hi) & (x.lo == y.lo), (x.hi < y.lo) | (y.hi < x.lo))


def _not(x: Interval) -> Interval:
    return _truth((x.lo == 0) & (x.hi == 0), (x.lo > 0) | (x.hi < 0))


def _choose(c: Interval, x: Interval, y: Interval) -> Interval:
    """x where the condition c holds, y where it does not, their hull where it is undecided."""
    holds = _flip(_not(c))
    true, false = holds.lo > 0, holds.hi == 0
    lo, hi = np.minimum(x.lo, y.lo), np.maximum(x.hi, y.hi)
    hull = _unless(np.isnan(lo + hi), Interval(lo, hi))
    return Interval(np.where(true, x.lo, np.where(false, y.lo, hull.lo)), np.where(true, x.hi, np.where(false, y.hi, hull.hi)))


def _wave(f: Callable[[Array], Array], slope: Callable[[Array], Array]) -> Callable[[Interval], Interval]:
    """sin(m + d) within |cos m| w + w²/2 of sin m for |d| <= w; the same of cos."""

    def over(x: Interval) -> Interval:
        m = 0.5 * x.lo + 0.5 * x.hi
        w = np.maximum(m - x.lo, x.hi - m)
        resolved = np.abs(m) < PERIOD_UNRESOLVED
        m = np.where(resolved, m, 0.0)
        r = (np.abs(slope(m)) + 0.5 * w) * w * (1 + FUNCTION_ULPS) + FUNCTION_ULPS
        lo, hi = np.maximum(f(m) - r, -1.0), np.minimum(f(m) + r, 1.0)
        return Interval(np.where(resolved, lo, -1.0), np.where(resolved, hi, 1.0))

    return over


def _rises(f: Callable[[Array], Array], least: float = -np.inf, most: float = np.inf) -> Callable[[Interval], Interval]:
    """A rising function: its values at both ends of the interval, cut to its domain."""

    def over(x: Interval) -> Interval:
        lo, hi = f(np.maximum(x.lo, least)), f(np.minimum(x.hi, most))
        return _unless(~(lo <= hi), _widened(lo, hi, FUNCTION_ULPS))

    return over


def _tan(x: Interval) -> Interval:
    """tan between two poles; the whole line where there may be one."""
    pole = np.floor(x.lo / np.pi + 0.5) != np.floor(x.hi / np.pi + 0.5)
    pole |= ~(np.maximum(np.abs(x.lo), np.abs(x.hi)) < PERIOD_UNRESOLVED) | (np.tan(x.lo) > np.tan(x.hi))
    return _unless(pole, _widened(np.tan(x.lo), np.tan(x.hi), FUNCTION_ULPS))


def _pow(x: Interval, y: Interval) -> Interval:
    """x^y at the corners; an even power also through zero."""
    integer = (y.lo == y.hi) & (y.lo == np.floor(y.lo)) & (np.abs(y.lo) < LARGEST_WHOLE_POWER)
    even, a = integer & (np.mod(y.lo, 2) == 0), _fabs(x)
    positive = (x.lo > 0) | ((x.lo == 0) & (y.lo > 0))
    lo, hi = np.where(even & ~positive, a.lo, x.lo), np.where(even & ~positive, a.hi, x.hi)
    corners = _corners(lo**y.lo, lo**y.hi, hi**y.lo, hi**y.hi)
    return _unless(~positive & (~integer | ((y.lo < 0) & (x.hi >= 0))), corners)


def _atan2(y: Interval, x: Interval) -> Interval:
    corners = _corners(*(np.arctan2(b, a) for b in y for a in x))
    off_cut = (x.lo > 0) | (y.lo > 0) | (y.hi < 0)
    return Interval(np.where(off_cut, corners.lo, -3.1415926535897936), np.where(off_cut, corners.hi, 3.1415926535897936))


def _fmod(x: Interval, y: Interval) -> Interval:
    """The remainder with the sign of x: exact on one branch, otherwise the range of the remainder."""
    m = np.maximum(np.abs(y.lo), np.abs(y.hi))
    one_branch = (y.lo == y.hi) & ((x.lo >= 0) | (x.hi <= 0)) & (np.trunc(x.lo / m) == np.trunc(x.hi / m))
    inner = _widened(np.fmod(x.lo, m), np.fmod(x.hi, m), FUNCTION_ULPS)
    low, high = np.where(x.lo >= 0, 0.0, -m), np.where(x.hi <= 0, 0.0, m)
    return Interval(np.where(one_branch, inner.lo, low), np.where(one_branch, inner.hi, high))


def _remainder(x: Interval, y: Interval) -> Interval:
    """The remainder nearest to zero: exact on one branch, otherwise the range of the remainder."""
    m = np.maximum(np.abs(y.lo), np.abs(y.hi))
    lo, hi = x.lo - m * np.rint(x.lo / m), x.hi - m * np.rint(x.hi / m)
    one_branch = (y.lo == y.hi) & (np.rint(x.lo / m) == np.rint(x.hi / m)) & (lo <= hi)
    inner = _widened(lo, hi, FUNCTION_ULPS)
    return Interval(np.where(one_branch, inner.lo, -m / 2), np.where(one_branch, inner.hi, m / 2))


def _copysign(x: Interval, y: Interval) -> Interval:
    a = _fabs(x)
    return Interval(np.where(y.lo > 0, a.lo, -a.hi), np.where(y.hi < 0, -a.lo, a.hi))


def _sign(x: Interval) -> Interval:
    return Interval(np.sign(x.lo), np.sign(x.hi))


def _point(x: Any) -> Interval:
    return Interval(x, x)


ZERO = _point(np.float64(0.0))

OPERATIONS: dict[str, Callable[..., Interval]] = {
    "add": lambda x, y: _widened(x.lo + y.lo, x.hi + y.hi),
    "sub": lambda x, y: _widened(x.lo - y.hi, x.hi - y.lo),
    "mul": _mul,
    "div": lambda x, y: _mul(x, _inv(y)),
    "neg": _neg,
    "sq": _sq,
    "twice": lambda x: Interval(2 * x.lo, 2 * x.hi),
    "inv": _inv,
    "fabs": _fabs,
    "sign": _sign,
    "sqrt": lambda x: _unless(~(x.hi >= 0), _widened(np.sqrt(np.maximum(x.lo, 0.0)), np.sqrt(x.hi))),
    "fmin": lambda x, y: Interval(np.minimum(x.lo, y.lo), np.minimum(x.hi, y.hi)),
    "fmax": lambda x, y: Interval(np.maximum(x.lo, y.lo), np.maximum(x.hi, y.hi)),
    "lt": lambda x, y: _truth(x.hi < y.lo, x.lo >= y.hi),
    "le": lambda x, y: _truth(x.hi <= y.lo, x.lo > y.hi),
    "eq": _eq,
    "ne": lambda x, y: _flip(_eq(x, y)),
    "not": _not,
    "and": lambda x, y: OPERATIONS["fmin"](_flip(_not(x)), _flip(_not(y))),
    "or": lambda x, y: OPERATIONS["fmax"](_flip(_not(x)), _flip(_not(y))),
    "choose": _choose,
    "if_else_zero": lambda c, x: _choose(c, x, ZERO),
    "copysign": _copysign,
    "sin": _wave(np.sin, np.cos),
    "cos": _wave(np.cos, np.sin),
    "tan": _tan,
    "exp": _rises(np.exp),
    "log": _rises(np.log, 0.0),
    "expm1": _rises(np.expm1),
    "log1p": _rises(np.log1p, -1.0),
    "asin": _rises(np.arcsin, -1.0, 1.0),
    "acos": lambda x: _neg(_rises(lambda a: -np.arccos(a), -1.0, 1.0)(x)),
    "atan": _rises(np.arctan),
    "sinh": _rises(np.sinh),
    "cosh": lambda x: _rises(np.cosh)(_fabs(x)),
    "tanh": _rises(np.tanh),
    "asinh": _rises(np.arcsinh),
    "acosh": _rises(np.arccosh, 1.0),
    "atanh": _rises(np.arctanh, -1.0, 1.0),
    "erf": _rises(erf),
    "erfinv": _rises(erfinv, -1.0, 1.0),
    "floor": lambda x: Interval(np.floor(x.lo), np.floor(x.hi)),
    "ceil": lambda x: Interval(np.ceil(x.lo), np.ceil(x.hi)),
    "hypot": lambda x, y: OPERATIONS["sqrt"](OPERATIONS["add"](_sq(x), _sq(y))),
    "pow": _pow,
    "constpow": _pow,
    "atan2": _atan2,
    "fmod": _fmod,
    "remainder": _remainder,
    "jumps": lambda x: _point(np.where(x.lo == x.hi, 0.0, 1.0)),
    "broken": lambda x: _point(np.ones_like(x.lo)),
    "cut": lambda x: _point(np.where(x.hi - x.lo < LESS_THAN_A_TURN, 0.0, 1.0)),
}
"""Interval versions of the operations of an instruction stream, and of those that `stream.ranged` adds."""


@dataclass(frozen=True, eq=False)
class Layer:
    """Independent instructions of one operation: indices of their results (k,) and of their arguments."""

    op: str
    out: NDArray[np.intp]
    args: tuple[NDArray[np.intp], ...]


def layers_of(function: RangedFunction) -> list[Layer]:
    """The operations of a function, grouped by distance from the inputs and by kind, in order."""
    depth: dict[int, int] = {}
    groups: dict[tuple[int, str], list[Instruction]] = {}
    for item in function.instructions:
        if item.op == "output":
            continue
        depth[item.out] = 1 + max((depth[arg] for arg in item.args), default=0)
        if item.op not in ("input", "const"):
            groups.setdefault((depth[item.out], item.op), []).append(item)
    numbers = lambda values: np.array(list(values), dtype=np.intp)
    return [
        Layer(op, numbers(x.out for x in items), tuple(map(numbers, zip(*(x.args for x in items), strict=True))))
        for (_, op), items in sorted(groups.items(), key=lambda pair: pair[0])
    ]


@dataclass(frozen=True, eq=False)
class Enclosure:
    """A function over boxes: each input an `Interval` of shape (size, …boxes); outputs likewise, `jumps` (1, …) last.

    Values are rows of a table, and a layer of instructions is one operation on arrays: a robot has thousands of instructions in
    some hundred layers."""

    function: RangedFunction

    @cached_property
    def layers(self) -> list[Layer]:
        return layers_of(self.function)

    @cached_property
    def table(self) -> tuple[int, list[Instruction], list[Instruction], list[NDArray[np.intp]]]:
        """The number of values, the inputs and constants among them, and the indices of the outputs."""
        items = self.function.instructions
        rows = [np.zeros(port.size, dtype=np.intp) for port in self.function.outputs]
        for item in items:
            if item.op == "output":
                rows[item.port or 0][item.index or 0] = item.args[0]
        all_of = lambda op: [item for item in items if item.op == op]
        return 1 + max((item.out for item in items), default=0), all_of("input"), all_of("const"), rows

    def __call__(self, *inputs: Interval) -> list[Interval]:
        shape = np.broadcast_shapes(*(np.shape(box.lo)[1:] for box in inputs))
        count, input_items, constants, rows = self.table
        lo, hi = np.empty((2, count, *shape))
        for item in input_items:
            box = inputs[item.port or 0]
            lo[item.out], hi[item.out] = box.lo[item.index], box.hi[item.index]
        for item in constants:
            lo[item.out] = hi[item.out] = item.value or 0.0
        with np.errstate(all="ignore"):
            for layer in self.layers:
                lo[layer.out], hi[layer.out] = OPERATIONS[layer.op](*(Interval(lo[arg], hi[arg]) for arg in layer.args))
        return [Interval(lo[row], hi[row]) for row in rows]


@remembered
def enclosure(fn: Fn, *, whole: bool = False) -> Enclosure:
    """The function over intervals; see `ranged` for `whole`."""
    return Enclosure(ranged(fn, f"{fn.name}_range", whole=whole))


__all__ = ["Enclosure", "Interval", "Layer", "enclosure", "layers_of"]
