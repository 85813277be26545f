"""The size of the terms that are added up in a value.

A value of 1e-17 may be a small number, or what rounding leaves of 1 − 1. The size of its terms tells which:

    size(x) = |x|        size(a ± b) = √(size(a)² + size(b)²)        size(a b) = size(a) size(b)
    size(f(x)) = max(|f|, |f′| size(x));        sin and cos: max(|f|, 0.03 min(1, |f′| size(x)))

so that a sum is rounding where |value| is about 1e-16 of its size. Squares are added because they stay bounded where rotations
are multiplied: the squares of an orthogonal matrix have rows that add up to 1 (and to little more with the 0.03, which is there
to see that cos(π/2) = 6e-17 is rounding).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca

from appell.graph.instructions import Instruction, instructions_of

Sized = tuple[ca.SX, ca.SX]  # a value and its size


def sizes(values: Sequence[ca.SX], inputs: Sequence[ca.SX]) -> list[ca.SX]:
    """The sizes of the terms in `values`, of the same shapes, zeros where an entry is zero by structure.

    Each value is a dense column or matrix in `inputs`, columns of symbols.
    """
    flat = [ca.densify(ca.reshape(value, value.numel(), 1)) for value in values]
    stream = instructions_of(ca.Function("values", list(inputs), ca.cse(flat) if flat else []))
    known: dict[int, Sized] = {}
    results = [ca.SX(*column.shape) for column in flat]
    for item in stream:
        if item.op == "output":
            assert item.port is not None and item.index is not None
            size = known[item.args[0]][1]
            if not size.is_zero():
                results[item.port][item.index] = size
        else:
            known[item.out] = _sized(item, inputs, [known[i] for i in item.args])
    return [ca.reshape(size, *value.shape) for size, value in zip(results, values, strict=True)]


def _sized(item: Instruction, inputs: Sequence[ca.SX], given: list[Sized]) -> Sized:
    if item.op == "const":
        number = item.value or 0.0
        return ca.SX(number), ca.SX(abs(number))
    if item.op == "input":
        assert item.port is not None and item.index is not None
        x = inputs[item.port][item.index]
        return x, ca.fabs(x)
    value = VALUES[item.op](*(x for x, _ in given))
    rule = RULES.get(item.op)
    return value, ca.fabs(value) if rule is None else rule(value, *given)


def _bounded(value: ca.SX, x: Sized, slope: ca.SX) -> ca.SX:
    return ca.fmax(ca.fabs(value), 0.03 * ca.fmin(1, ca.fabs(slope) * x[1]))


def _by_slope(slope: Callable[[ca.SX, ca.SX], ca.SX]) -> Callable[..., ca.SX]:
    """max(|f|, |f′| size(x)), f′ as a function of f and x."""
    return lambda value, x: ca.fmax(ca.fabs(value), ca.fabs(slope(value, x[0])) * x[1])


def _sum(value: ca.SX, a: Sized, b: Sized) -> ca.SX:
    return b[1] if a[1].is_zero() else a[1] if b[1].is_zero() else ca.sqrt(a[1] * a[1] + b[1] * b[1])


def _power(value: ca.SX, a: Sized, b: Sized) -> ca.SX:
    return ca.fmax(ca.fabs(value), ca.fabs(b[0] * a[0] ** (b[0] - 1)) * a[1])


RULES: dict[str, Callable[..., ca.SX]] = {
    "add": _sum,
    "sub": _sum,
    "mul": lambda value, a, b: a[1] * b[1],
    "div": lambda value, a, b: a[1] / ca.fabs(b[0]) * ca.fmax(1, b[1] / ca.fabs(b[0])),
    "neg": lambda value, a: a[1],
    "fabs": lambda value, a: a[1],
    "twice": lambda value, a: 2 * a[1],
    "sq": lambda value, a: a[1] * a[1],
    "inv": lambda value, a: ca.fmax(1, a[1] / ca.fabs(a[0])) / ca.fabs(a[0]),
    "sqrt": _by_slope(lambda f, x: 0.5 / f),
    "exp": _by_slope(lambda f, x: f),
    "log": _by_slope(lambda f, x: 1 / x),
    "sin": lambda value, x: _bounded(value, x, ca.cos(x[0])),
    "cos": lambda value, x: _bounded(value, x, ca.sin(x[0])),
    "tan": _by_slope(lambda f, x: 1 + f * f),
    "tanh": _by_slope(lambda f, x: 1 - f * f),
    "sinh": _by_slope(lambda f, x: ca.sqrt(1 + f * f)),
    "pow": _power,
    "constpow": _power,
    "hypot": lambda value, a, b: ca.sqrt(a[1] * a[1] + b[1] * b[1]),
    "fmin": lambda value, a, b: ca.fmax(a[1], b[1]),
    "fmax": lambda value, a, b: ca.fmax(a[1], b[1]),
    "if_else_zero": lambda value, a, b: ca.if_else(a[0], b[1], 0),
}
"""Size of a result by (its value, (argument, size), …); an operation that is not here has the size of its value."""

VALUES: dict[str, Callable[..., ca.SX]] = {
    **{name: getattr(ca, name) for name in ("sqrt", "fabs", "sign", "floor", "ceil", "exp", "log", "expm1", "log1p", "erf")},
    **{name: getattr(ca, name) for name in ("erfinv", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
    **{name: getattr(ca, name) for name in ("asinh", "acosh", "atanh", "atan2", "hypot", "fmin", "fmax", "fmod")},
    **{name: getattr(ca, name) for name in ("remainder", "copysign")},
    "neg": lambda a: -a,
    "sq": lambda a: a * a,
    "twice": lambda a: 2 * a,
    "inv": lambda a: 1 / a,
    "not": ca.logic_not,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "constpow": lambda a, b: a**b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": ca.logic_and,
    "or": ca.logic_or,
    "if_else_zero": lambda a, b: ca.if_else(a, b, 0),
}
"""The operations of `instructions.ARITY` on the graph."""
