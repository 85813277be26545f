"""The size of the terms in a value: its error from rounding of every input and constant, in units of ε.

A value of 1e-17 may be a small number, or the rounding left by 1 − 1. The size of its terms tells which. It is the running
bound of the error of the evaluation, in units of ε, with independent errors added in squares:

    size(x) = |x|            size(a ± b)² = size(a)² + size(b)²        size(a b)² = a² size(b)² + b² size(a)²
    size(f(x)) = max(|f|, |f′| size(x))

so that a value is rounding where it is about 1e-16 of its size. x − 300 near 300 has the size 300, as x itself is known to
ε·300; (x − 300)² has 2·|x − 300|·300, not 300². Squares are added because they stay bounded in products of rotations, where
absolute values would grow by √2 each time. The recursion uses size², which needs no root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca

from appell.graph.instructions import Instruction, instructions_of

Sized = tuple[ca.SX, ca.SX]  # a value and the square of its size


def sizes(values: Sequence[ca.SX], inputs: Sequence[ca.SX]) -> list[ca.SX]:
    """The sizes of the terms in `values`, of the same shapes, with zeros for structural zeros.

    Each value is a column or matrix in `inputs`, columns of symbols. Structural zeros are skipped, since rows of many links are
    sparse.
    """
    thin = [ca.sparsify(value) for value in values]
    stream = instructions_of(ca.Function("values", list(inputs), ca.cse([value.nz[:] for value in thin]) if thin else []))
    sized: dict[int, Sized] = {}
    results = [ca.SX.zeros(value.nnz()) for value in thin]
    for item in stream:
        if item.op == "output":
            assert item.port is not None and item.index is not None
            results[item.port][item.index] = ca.sqrt(sized[item.args[0]][1])
        else:
            sized[item.out] = _sized(item, inputs, [sized[i] for i in item.args])
    return [ca.sparsify(ca.SX(value.sparsity(), size)) for size, value in zip(results, thin, strict=True)]


def _sized(item: Instruction, inputs: Sequence[ca.SX], arguments: list[Sized]) -> Sized:
    if item.op == "const":
        number = item.value or 0.0
        return ca.SX(number), ca.SX(number * number)
    if item.op == "input":
        assert item.port is not None and item.index is not None
        x = inputs[item.port][item.index]
        return x, x * x
    value = VALUES[item.op](*(x for x, _ in arguments))
    rule = RULES.get(item.op)
    return value, value * value if rule is None else rule(value, *arguments)


def _by_slope(slope: Callable[[ca.SX, ca.SX], ca.SX]) -> Callable[..., ca.SX]:
    """max(f², f′² size(x)²), f′ as a function of f and x."""
    return lambda f, x: ca.fmax(f * f, slope(f, x[0]) ** 2 * x[1])


def _power(value: ca.SX, a: Sized, b: Sized) -> ca.SX:
    return ca.fmax(value * value, (b[0] * a[0] ** (b[0] - 1)) ** 2 * a[1])


RULES: dict[str, Callable[..., ca.SX]] = {
    "add": lambda value, a, b: a[1] + b[1],
    "sub": lambda value, a, b: a[1] + b[1],
    "mul": lambda value, a, b: a[0] * a[0] * b[1] + b[0] * b[0] * a[1],
    "div": lambda value, a, b: (a[1] + value * value * b[1]) / (b[0] * b[0]),
    "neg": lambda value, a: a[1],
    "fabs": lambda value, a: a[1],
    "twice": lambda value, a: 4 * a[1],
    "sq": lambda value, a: 4 * a[0] * a[0] * a[1],
    "inv": lambda value, a: value**4 * a[1],
    "sqrt": _by_slope(lambda f, x: 0.5 / f),
    "exp": _by_slope(lambda f, x: f),
    "log": _by_slope(lambda f, x: 1 / x),
    "sin": _by_slope(lambda f, x: ca.cos(x)),
    "cos": _by_slope(lambda f, x: ca.sin(x)),
    "tan": _by_slope(lambda f, x: 1 + f * f),
    "asin": _by_slope(lambda f, x: 1 / ca.sqrt(1 - x * x)),
    "acos": _by_slope(lambda f, x: 1 / ca.sqrt(1 - x * x)),
    "atan": _by_slope(lambda f, x: 1 / (1 + x * x)),
    "sinh": _by_slope(lambda f, x: ca.cosh(x)),
    "cosh": _by_slope(lambda f, x: ca.sinh(x)),
    "tanh": _by_slope(lambda f, x: 1 - f * f),
    "atan2": lambda f, y, x: ca.fmax(f * f, (x[0] * x[0] * y[1] + y[0] * y[0] * x[1]) / (x[0] * x[0] + y[0] * y[0]) ** 2),
    "pow": _power,
    "constpow": _power,
    "hypot": lambda f, a, b: ca.fmax(f * f, (a[0] * a[0] * a[1] + b[0] * b[0] * b[1]) / (f * f)),
    "fmin": lambda value, a, b: ca.if_else(a[0] < b[0], a[1], b[1]),
    "fmax": lambda value, a, b: ca.if_else(a[0] > b[0], a[1], b[1]),
    "if_else_zero": lambda value, a, b: ca.if_else(a[0], b[1], 0),
}
"""Square of the size of a result by (its value, (argument, size²), …); for others the size is that of the value."""

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
