"""Interval bounds of a function over boxes of its inputs, as a graph, and a measure of its roughness inside them.

    x_i ∈ [x_i⁻, x_i⁺]   ⇒   f(x) ∈ [f⁻, f⁺]            r = max over its operations of (range of the argument)/(its scale)

The range is that of interval arithmetic: it contains every value, and is often wider. r says whether samples can be trusted.
An operation that is not a polynomial has its own scale: 3 rad for a sine, a factor of 4 in u for 1/u, the switching point for
|u| and comparisons. Where the argument of every operation stays within its scale, r ≤ 1, the function is analytic in a
neighbourhood as wide as the box, and a dozen samples determine it; r = ∞ where something switches, or may be singular,
inside. Where r ≤ 1 no narrow peak can hide between samples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import casadi as ca

from appell.graph.algebra import Value, symbols
from appell.graph.fn import Fn, make_fn
from appell.graph.instructions import Instruction
from appell.remember import remembered

ARC = 3.0
"""Range of the argument of a sine, rad, for which a dozen samples suffice (about half a period)."""
SINGULAR_RATIO = 4.0
"""Ratio of largest to smallest |u| in 1/u, √u, log u: the singularity is then at least a third of the range away."""
SPAN = 4.0
"""Range of the argument of an exponential function: its values differ by a factor of e⁴."""
LOW_DEGREE = 12
"""Exponent up to which a power is a polynomial of low degree."""

INF = ca.SX(float("inf"))
RANGE_PARTS = ("lo", "hi", "rough")
WITH_SIZES = (*RANGE_PARTS, "size")


class Range(NamedTuple):
    """lo ≤ value ≤ hi, r of the value, and the size of the terms of a sum; for a constant, lo is hi."""

    lo: Value
    hi: Value
    rough: Value
    terms: Value | None = None

    @property
    def size(self) -> Value:
        """The size of the terms, or of the value itself if it is not a sum: the scale for rounding and for tolerances of
        states."""
        return self.most if self.terms is None else self.terms

    @property
    def fixed(self) -> bool:
        return self.lo is self.hi

    @property
    def width(self) -> Value:
        return self.hi - self.lo

    @property
    def straddles(self) -> Value:
        """Whether 0 is inside."""
        return ca.logic_and(self.lo <= 0, self.hi >= 0)

    @property
    def least(self) -> Value:
        """The smallest |value|."""
        return ca.fmax(ca.fmax(self.lo, -self.hi), 0)

    @property
    def most(self) -> Value:
        """The largest |value|."""
        return ca.fmax(ca.fabs(self.lo), ca.fabs(self.hi))


@remembered
def ranges(fn: Fn, points: Collection[str] = (), found: tuple[str, ...] = RANGE_PARTS) -> Fn:
    """(x_1⁻, x_1⁺, …) → what is `found`, each as long as the one output of `fn`; inputs named in `points` are constant.

    found: of "lo", "hi", "rough" and "size", the sizes of the terms.
    """
    (out,) = fn.outputs
    inputs, boxes = {}, []
    for port in fn.inputs:
        names = [port.name] if port.name in points else [f"{port.name}_lo", f"{port.name}_hi"]
        bounds = [symbols(name, port.size) for name in names]
        inputs.update({name: (value, port.shape) for name, value in zip(names, bounds, strict=True)})
        boxes.append((bounds[0], bounds[-1]))
    stream = {item.out: item for item in fn.instructions if item.op != "output"}
    range_of: dict[int, Range] = {}
    outputs: list[Range] = [Range(ca.SX(0), ca.SX(0), ca.SX(0))] * out.size
    for item in fn.instructions:
        if item.op == "output":
            outputs[item.index or 0] = range_of[item.args[0]]
        else:
            choice = _choice(item, stream)
            range_of[item.out] = _chosen(*(range_of[arg] for arg in choice)) if choice else _range(item, boxes, range_of)
    values = {name: ca.vertcat(*(getattr(r, name) for r in outputs)) for name in found}
    return make_fn("ranges", inputs, {name: (value, (out.size,)) for name, value in values.items()})


def _range(item: Instruction, boxes: list[tuple[Value, Value]], range_of: dict[int, Range]) -> Range:
    if item.op == "const":
        assert item.value is not None
        value = ca.SX(item.value)
        return Range(value, value, ca.SX(0))
    if item.op == "input":
        lo, hi = boxes[item.port or 0]
        k = item.index or 0
        value = lo[k]
        return Range(value, value if lo is hi else hi[k], ca.SX(0))
    args = [range_of[arg] for arg in item.args]
    if all(arg.fixed for arg in args):
        value = _value(item.op, *(arg.lo for arg in args))
        return Range(value, value, ca.SX(0))
    op = "sq" if item.op == "mul" and item.args[0] == item.args[1] else item.op
    return RULES[op](*args)


def _choice(item: Instruction, stream: dict[int, Instruction]) -> tuple[int, ...]:
    """(c, a, b) of (a if c, else 0) + (b if not c, else 0), which is «a if c, else b» on a graph."""
    if item.op != "add" or not all(stream[arg].op == "if_else_zero" for arg in item.args):
        return ()
    (c, a), (d, b) = (stream[arg].args for arg in item.args)
    if stream[d].op == "not" and stream[d].args == (c,):
        return c, a, b
    return (d, b, a) if stream[c].op == "not" and stream[c].args == (d,) else ()


def _chosen(c: Range, a: Range, b: Range) -> Range:
    surely, possibly = _truth(c)
    pick = lambda x, y, undecided: ca.if_else(surely, x, ca.if_else(possibly, undecided, y))
    lo, hi = pick(a.lo, b.lo, ca.fmin(a.lo, b.lo)), pick(a.hi, b.hi, ca.fmax(a.hi, b.hi))
    return Range(lo, hi, pick(a.rough, b.rough, INF))


def _value(op: str, *x: Value) -> Value:
    """One operation on graph values."""
    plain: dict[str, Callable[..., Value]] = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "neg": lambda a: -a, "sq": lambda a: a * a, "twice": lambda a: 2 * a, "inv": lambda a: 1 / a, "pow": ca.power,
        "constpow": ca.power, "atan2": ca.atan2, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "and": ca.logic_and, "or": ca.logic_or, "not": ca.logic_not,
        "if_else_zero": lambda c, a: ca.if_else(c, a, 0),
    }  # fmt: skip
    return plain[op](*x) if op in plain else getattr(ca, op)(*x)


# -- rules: sums, products ------------------------------------------------------------------------------------------------


def _worst(*args: Range) -> Value:
    worst = args[0].rough
    for arg in args[1:]:
        worst = ca.fmax(worst, arg.rough)
    return worst


def _hull(values: list[Value]) -> tuple[Value, Value]:
    lo = hi = values[0]
    for value in values[1:]:
        lo, hi = ca.fmin(lo, value), ca.fmax(hi, value)
    return lo, hi


def _corners(op: Callable[..., Value], a: Range, b: Range) -> tuple[Value, Value]:
    """The hull of an operation over the corners of a box."""
    values = [[x.lo] if x.fixed else [x.lo, x.hi] for x in (a, b)]
    return _hull([op(x, y) for x in values[0] for y in values[1]])


def _product(a: Range, b: Range) -> Range:
    return Range(*_corners(lambda x, y: x * y, a, b), _worst(a, b), a.size * b.size)


def _square(a: Range) -> Range:
    return Range(a.least**2, a.most**2, a.rough)


def _inverse(a: Range) -> Range:
    lo, hi = (ca.if_else(a.straddles, end, value) for end, value in ((-INF, 1 / a.hi), (INF, 1 / a.lo)))
    return Range(lo, hi, ca.fmax(a.rough, _distant(a.least, a.width)))


def _quotient(a: Range, b: Range) -> Range:
    if b.fixed:
        return Range(*_hull([a.lo / b.lo, a.hi / b.lo]), a.rough)
    return _product(a, _inverse(b))


def _distant(distance: Value, width: Value) -> Value:
    """The roughness of a function with a singularity at this distance from a range of this width."""
    return ca.if_else(distance > 0, width / ((SINGULAR_RATIO - 1) * distance), INF)


# -- rules: functions of one argument -------------------------------------------------------------------------------------


def _rising(op: str, rough: Callable[[Range], Value], least: float = -float("inf"), most: float = float("inf")) -> Callable:
    """An increasing function on its domain."""

    def rule(a: Range) -> Range:
        limited = (ca.fmin(ca.fmax(x, least), most) for x in (a.lo, a.hi))
        lo, hi = (_value(op, x) for x in limited)
        return Range(lo, hi, ca.fmax(a.rough, rough(a)))

    return rule


def _falling(op: str, rough: Callable[[Range], Value], least: float, most: float) -> Callable:
    rises = _rising(op, rough, least, most)
    return lambda a: (lambda r: Range(r.hi, r.lo, r.rough))(rises(a))


def _wave(op: str) -> Callable[[Range], Range]:
    """sin, cos: their derivatives are at most 1 in size."""

    def rule(a: Range) -> Range:
        middle, half = _value(op, (a.lo + a.hi) / 2), a.width / 2
        return Range(ca.fmax(middle - half, -1), ca.fmin(middle + half, 1), ca.fmax(a.rough, a.width / ARC))

    return rule


def _tan(a: Range) -> Range:
    clearance = ca.fabs(ca.cos((a.lo + a.hi) / 2)) - a.width / 2  # > 0: no pole inside
    lo, hi = (ca.if_else(clearance > 0, ca.tan(x), end) for x, end in ((a.lo, -INF), (a.hi, INF)))
    return Range(lo, hi, ca.fmax(a.rough, ca.fmax(a.width, _distant(clearance, a.width))))


def _even(op: str, span: float) -> Callable[[Range], Range]:
    return lambda a: Range(_value(op, a.least), _value(op, a.most), ca.fmax(a.rough, a.width / span))


def _fabs(a: Range) -> Range:
    return Range(a.least, a.most, ca.fmax(a.rough, _switch(a.straddles)))


def _switch(undecided: Value) -> Value:
    return ca.if_else(undecided, INF, 0)


def _stair(op: str) -> Callable[[Range], Range]:
    """A piecewise constant function."""

    def rule(a: Range) -> Range:
        lo, hi = _value(op, a.lo), _value(op, a.hi)
        return Range(lo, hi, _switch(lo != hi))

    return rule


# -- rules: functions of two arguments ------------------------------------------------------------------------------------


def _power(a: Range, b: Range) -> Range:
    if not b.fixed:  # a^b = exp(b log a)
        lo, hi = _corners(ca.power, a._replace(lo=ca.fmax(a.lo, 0), hi=ca.fmax(a.hi, 0)), b)
        steep = ca.fmax(ca.fabs(ca.log(ca.fmax(a.lo, 0))), ca.fabs(ca.log(ca.fmax(a.hi, 0))))
        return Range(lo, hi, ca.fmax(_worst(a, b), ca.fmax(_distant(a.lo, a.width), b.width * steep / SPAN)))
    n = b.lo
    integer = n == ca.floor(n)
    polynomial = ca.logic_and(integer, n >= 0)
    bases = (ca.if_else(integer, x, ca.fmax(x, 0)) for x in (a.lo, a.hi))  # noninteger powers need a >= 0
    lo, hi = _hull([ca.power(x, n) for x in bases])
    lo = ca.if_else(ca.logic_and(polynomial, a.straddles), ca.fmin(lo, 0), lo)  # an even power is smallest at 0
    pole = ca.logic_and(n < 0, a.straddles)
    lo, hi = ca.if_else(pole, -INF, lo), ca.if_else(pole, INF, hi)
    roughness = ca.if_else(integer, _distant(a.least, a.width), _distant(a.lo, a.width))
    low = ca.logic_and(polynomial, n <= LOW_DEGREE)
    return Range(lo, hi, ca.fmax(a.rough, ca.if_else(low, 0, roughness * ca.fmax(1, ca.fabs(n) / LOW_DEGREE))))


def _atan2(y: Range, x: Range) -> Range:
    clear = ca.logic_or(ca.logic_not(y.straddles), x.lo > 0)  # clear of the branch cut and of the origin
    lo, hi = _corners(ca.atan2, y, x)
    roughness = _distant(ca.fmax(x.least, y.least), ca.fmax(x.width, y.width))
    rough = ca.fmax(_worst(y, x), ca.if_else(clear, roughness, INF))
    return Range(ca.if_else(clear, lo, -ca.pi), ca.if_else(clear, hi, ca.pi), rough)


def _hypot(x: Range, y: Range) -> Range:
    roughness = _distant(ca.fmax(x.least, y.least), ca.fmax(x.width, y.width))
    return Range(ca.hypot(x.least, y.least), ca.hypot(x.most, y.most), ca.fmax(_worst(x, y), roughness))


def _lesser(op: str) -> Callable[[Range, Range], Range]:
    def rule(a: Range, b: Range) -> Range:
        a_always, b_always = (a.hi <= b.lo, b.hi <= a.lo) if op == "fmin" else (a.lo >= b.hi, b.lo >= a.hi)
        rough = ca.if_else(a_always, a.rough, ca.if_else(b_always, b.rough, INF))
        return Range(_value(op, a.lo, b.lo), _value(op, a.hi, b.hi), rough)

    return rule


def _modulo(op: str, half: float) -> Callable[[Range, Range], Range]:
    def rule(a: Range, b: Range) -> Range:
        turns = [ca.floor(ca.fabs(x / b.lo) + half) * ca.sign(x / b.lo) for x in (a.lo, a.hi)]
        inside = ca.logic_and(turns[0] == turns[1], bool(b.fixed))
        lo, hi = _hull([_value(op, a.lo, b.lo), _value(op, a.hi, b.lo)])
        lo, hi = ca.if_else(inside, lo, -b.most), ca.if_else(inside, hi, b.most)
        return Range(lo, hi, ca.fmax(_worst(a, b), _switch(ca.logic_not(inside))))

    return rule


def _copysign(a: Range, b: Range) -> Range:
    size, sign_open = _fabs(a), b.straddles
    lo = ca.if_else(sign_open, -size.hi, ca.if_else(b.lo > 0, size.lo, -size.hi))
    hi = ca.if_else(sign_open, size.hi, ca.if_else(b.lo > 0, size.hi, -size.lo))
    return Range(lo, hi, ca.fmax(size.rough, _switch(sign_open)))


# -- rules: truth ---------------------------------------------------------------------------------------------------------


def _decided(surely: Value, possibly: Value) -> Range:
    """The range of a truth value: 0, 1, or both."""
    return Range(surely, possibly, _switch(surely != possibly))


def _truth(a: Range) -> tuple[Value, Value]:
    """Whether a is certainly, and whether possibly, nonzero."""
    return ca.logic_not(a.straddles), ca.logic_or(a.lo != 0, a.hi != 0)


def _and(a: Range, b: Range) -> Range:
    return _decided(*(ca.logic_and(x, y) for x, y in zip(_truth(a), _truth(b), strict=True)))


def _or(a: Range, b: Range) -> Range:
    return _decided(*(ca.logic_or(x, y) for x, y in zip(_truth(a), _truth(b), strict=True)))


def _not(a: Range) -> Range:
    surely, possibly = _truth(a)
    return _decided(ca.logic_not(possibly), ca.logic_not(surely))


def _meet(a: Range, b: Range) -> Value:
    return ca.logic_and(a.lo <= b.hi, b.lo <= a.hi)


def _if_else_zero(c: Range, a: Range) -> Range:
    surely, possibly = _truth(c)
    lo = ca.if_else(surely, a.lo, ca.if_else(possibly, ca.fmin(a.lo, 0), 0))
    hi = ca.if_else(surely, a.hi, ca.if_else(possibly, ca.fmax(a.hi, 0), 0))
    return Range(lo, hi, ca.if_else(surely, a.rough, ca.if_else(possibly, INF, 0)))


_over = lambda span: lambda a: a.width / span
_above = lambda least: lambda a: _distant(a.lo - least, a.width)
_within_one = lambda a: _distant(1 - a.most, a.width)
_beside_i = lambda a: a.width / ((SINGULAR_RATIO - 1) * ca.fmax(1, a.least))

RULES: dict[str, Callable[..., Range]] = {
    "add": lambda a, b: Range(a.lo + b.lo, a.hi + b.hi, _worst(a, b), a.size + b.size),
    "sub": lambda a, b: Range(a.lo - b.hi, a.hi - b.lo, _worst(a, b), a.size + b.size),
    "neg": lambda a: Range(-a.hi, -a.lo, a.rough, a.size),
    "twice": lambda a: Range(2 * a.lo, 2 * a.hi, a.rough, 2 * a.size),
    "mul": _product, "sq": _square, "div": _quotient, "inv": _inverse, "pow": _power, "constpow": _power,
    "sqrt": _rising("sqrt", _above(0), 0), "log": _rising("log", _above(0), 0), "log1p": _rising("log1p", _above(-1), -1),
    "exp": _rising("exp", _over(SPAN)), "expm1": _rising("expm1", _over(SPAN)), "sinh": _rising("sinh", _over(SPAN)),
    "cosh": _even("cosh", SPAN), "tanh": _rising("tanh", _beside_i), "erf": _rising("erf", _over(ARC)),
    "sin": _wave("sin"), "cos": _wave("cos"), "tan": _tan, "asin": _rising("asin", _within_one, -1, 1),
    "acos": _falling("acos", _within_one, -1, 1), "atan": _rising("atan", _beside_i), "asinh": _rising("asinh", _beside_i),
    "acosh": _rising("acosh", _above(1), 1), "atanh": _rising("atanh", _within_one, -1, 1),
    "erfinv": _rising("erfinv", _within_one, -1, 1), "atan2": _atan2, "hypot": _hypot, "fabs": _fabs,
    "sign": _stair("sign"), "floor": _stair("floor"), "ceil": _stair("ceil"), "fmin": _lesser("fmin"),
    "fmax": _lesser("fmax"), "fmod": _modulo("fmod", 0.0), "remainder": _modulo("remainder", 0.5), "copysign": _copysign,
    "lt": lambda a, b: _decided(a.hi < b.lo, a.lo < b.hi), "le": lambda a, b: _decided(a.hi <= b.lo, a.lo <= b.hi),
    "eq": lambda a, b: _decided(ca.SX(0), _meet(a, b)), "ne": lambda a, b: _decided(ca.logic_not(_meet(a, b)), ca.SX(1)),
    "and": _and, "or": _or, "not": _not, "if_else_zero": _if_else_zero,
}  # fmt: skip
"""Operation → its range over ranges of its arguments, at least one of which varies."""


__all__ = ["WITH_SIZES", "ranges"]
