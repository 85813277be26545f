"""SymPy expressions to the scalar graph, one node for each distinct subexpression.

SymPy compares expressions by structure, so a dictionary from node to graph value shares equal subexpressions over
everything lowered with one `Lowering`. The traversal is a loop, not a recursion, so deep expressions are no problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import factorial
from typing import Any

import casadi as ca
import sympy
from sympy import Basic, Symbol

from appell.errors import ModelError
from appell.tabulated import PiecewisePolynomial, Tabulated

# SymPy function -> graph function of the lowered arguments.
FUNCTIONS: dict[type, Callable[..., ca.SX]] = {
    sympy.sin: ca.sin,
    sympy.cos: ca.cos,
    sympy.tan: ca.tan,
    sympy.cot: lambda x: ca.cos(x) / ca.sin(x),
    sympy.sec: lambda x: 1 / ca.cos(x),
    sympy.csc: lambda x: 1 / ca.sin(x),
    sympy.sinc: lambda x: ca.if_else(x == 0, 1, ca.sin(x) / ca.if_else(x == 0, 1, x)),
    sympy.asin: ca.asin,
    sympy.acos: ca.acos,
    sympy.atan: ca.atan,
    sympy.acot: lambda x: ca.atan(1 / x),
    sympy.atan2: ca.atan2,
    sympy.sinh: ca.sinh,
    sympy.cosh: ca.cosh,
    sympy.tanh: ca.tanh,
    sympy.coth: lambda x: 1 / ca.tanh(x),
    sympy.sech: lambda x: 1 / ca.cosh(x),
    sympy.csch: lambda x: 1 / ca.sinh(x),
    sympy.asinh: ca.asinh,
    sympy.acosh: ca.acosh,
    sympy.atanh: ca.atanh,
    sympy.exp: ca.exp,
    sympy.log: lambda x, *base: ca.log(x) / ca.log(base[0]) if base else ca.log(x),
    sympy.erf: ca.erf,
    sympy.Abs: ca.fabs,
    sympy.sign: ca.sign,
    sympy.floor: ca.floor,
    sympy.ceiling: ca.ceil,
    sympy.Mod: lambda a, b: a - b * ca.floor(a / b),
    sympy.frac: lambda x: x - ca.floor(x),
    sympy.Min: lambda *xs: _fold(ca.fmin, xs),
    sympy.Max: lambda *xs: _fold(ca.fmax, xs),
    sympy.Heaviside: lambda x, half=0.5: ca.if_else(x > 0, 1, ca.if_else(x < 0, 0, half)),
    sympy.Add: lambda *xs: _fold(lambda a, b: a + b, xs),
    sympy.Mul: lambda *xs: _fold(lambda a, b: a * b, xs),
    sympy.StrictLessThan: lambda a, b: a < b,
    sympy.LessThan: lambda a, b: a <= b,
    sympy.StrictGreaterThan: lambda a, b: a > b,
    sympy.GreaterThan: lambda a, b: a >= b,
    sympy.Equality: lambda a, b: a == b,
    sympy.Unequality: lambda a, b: a != b,
    sympy.And: lambda *xs: _fold(ca.logic_and, xs),
    sympy.Or: lambda *xs: _fold(ca.logic_or, xs),
    sympy.Not: ca.logic_not,
    sympy.ITE: ca.if_else,
}


def _fold(operation: Callable[[Any, Any], Any], values: Iterable[Any]) -> Any:
    values = iter(values)
    result = next(values)
    for value in values:
        result = operation(result, value)
    return result


def _product(factors: tuple[Basic, ...], value: Callable[[Basic], ca.SX]) -> ca.SX:
    """a b⁻¹ c⁻² as a/(b c²): one division, and no reciprocals for SymPy's negative powers."""
    above, below = [], []
    for factor in factors:
        if isinstance(factor, sympy.Pow) and factor.exp.is_number and factor.exp.is_negative:
            below.append(_power(value(factor.base), -factor.exp))
        else:
            above.append(value(factor))
    top = _fold(lambda a, b: a * b, above) if above else ca.SX(1)
    return top / _fold(lambda a, b: a * b, below) if below else top


def _power(base: ca.SX, exponent: Any) -> ca.SX:
    """x^n by squaring for integers, roots for half-integers, else CasADi's constant power."""
    if exponent.is_Integer:
        n = abs(int(exponent))
        result = _whole_power(base, n)
        return result if exponent >= 0 else 1 / result
    if exponent.is_Rational and exponent.q == 2:
        n = abs(int(exponent.p))
        root = ca.sqrt(base)
        result = root if n == 1 else _whole_power(base, n // 2) * root
        return result if exponent > 0 else 1 / result
    return base ** float(exponent)


def _flat_at_zero(power: Any) -> bool:
    """Whether it is x^(3/2), x^(5/2) … of an x that may vanish. The slope of x √x, √x + x/(2 √x), has no value there."""
    return bool(power.exp.is_Rational and power.exp.q == 2 and power.exp > 1 and not power.base.is_positive)


def _whole_power(base: ca.SX, n: int) -> ca.SX:
    result, square = ca.SX(1), base
    while n:
        if n & 1:
            result = square if result.is_one() else result * square
        n >>= 1
        if n:
            square = square * square
    return result


class Lowering:
    """A memo from SymPy nodes to graph values; `symbols` seeds it. Call it on any number of expressions."""

    def __init__(self, symbols: Mapping[Symbol, ca.SX]):
        self._value: dict[Any, Any] = dict(symbols)
        self._chosen: dict[tuple[Any, Any], tuple[ca.SX, list[ca.SX], ca.SX, ca.SX]] = {}

    def bind(self, symbols: Mapping[Symbol, ca.SX]) -> None:
        """Adds symbols with their values."""
        self._value.update(symbols)

    def __call__(self, expr: Any) -> ca.SX:
        """The graph value of one expression."""
        stack = [expr]
        while stack:
            node = stack[-1]
            if node in self._value:
                stack.pop()
                continue
            waiting = [child for child in self._children(node) if child not in self._value]
            if waiting:
                stack.extend(waiting)
            else:
                self._value[node] = self._lower(stack.pop())
        return ca.SX(self._value[expr])

    def column(self, exprs: Iterable[Any]) -> ca.SX:
        """The graph values of several expressions as a dense column; no expressions give shape (0, 1)."""
        values = [self(e) for e in exprs]
        return ca.vertcat(*values) if values else ca.SX.zeros(0, 1)

    @staticmethod
    def _children(node: Basic) -> list[Basic]:
        if isinstance(node, sympy.Piecewise):
            return [child for branch in node.args for child in branch.args]
        if isinstance(node, Tabulated):
            return [node.args[1]]
        if isinstance(node, sympy.Mul):  # negative powers are lowered through their bases
            return [a.base if isinstance(a, sympy.Pow) and a.exp.is_number and a.exp.is_negative else a for a in node.args]
        if isinstance(node, sympy.Pow) and node.exp.is_number:
            return [node.base]
        return list(node.args)

    def _lower(self, node: Any) -> Any:
        value = self._value.__getitem__
        if node.is_Number or isinstance(node, sympy.NumberSymbol):
            return ca.SX(float(node))
        if node in (sympy.true, sympy.false):
            return ca.SX(1.0 if node == sympy.true else 0.0)
        if isinstance(node, sympy.Mul):
            return _product(node.args, value)
        if isinstance(node, sympy.Pow):
            if not node.exp.is_number:
                return value(node.base) ** value(node.exp)
            return value(node.base) ** float(node.exp) if _flat_at_zero(node) else _power(value(node.base), node.exp)
        if isinstance(node, sympy.Piecewise):
            result: Any = ca.SX.nan(1)
            for branch in reversed(node.args):
                result = ca.if_else(value(branch.args[1]), value(branch.args[0]), result)
            return result
        if isinstance(node, Tabulated):
            args: Any = node.args
            return self._tabulated(*args)
        function = FUNCTIONS.get(node.func)
        if function is None:
            unknown = f"the symbol '{node}'" if isinstance(node, Symbol) else f"the function '{node.func.__name__}'"
            raise ModelError(
                f"{unknown} in {str(node)[:80]} has no numeric meaning here; known functions: "
                + ", ".join(sorted(f.__name__ for f in FUNCTIONS if f.__name__[0].islower()))
            )
        return function(*(value(child) for child in node.args))

    def _tabulated(self, pieces: PiecewisePolynomial, at: Any, order: Any) -> ca.SX:
        """Σ c_j j!/(j − m)! s^(j − m)/width^m of the piece that contains x, selected once for all orders m."""
        if (pieces, at) not in self._chosen:
            self._chosen[pieces, at] = _chosen(pieces, self._value[at])
        s, coefficients, rate, inside = self._chosen[pieces, at]
        m, total = int(order), ca.SX(0)
        for j in reversed(range(m, len(coefficients))):
            total = total * s + coefficients[j] * (factorial(j) // factorial(j - m))
        return ca.if_else(inside, total * _whole_power(rate, m), ca.SX.nan(1))


def _chosen(pieces: PiecewisePolynomial, x: ca.SX) -> tuple[ca.SX, list[ca.SX], ca.SX, ca.SX]:
    """(s, coefficients, 1/width, whether x is in the range) of the piece that contains x, as sums over all pieces in which only
    one term is nonzero."""
    begin, end = pieces.range
    slack = 1e-9 * (end - begin)
    behind_break = [x >= float(b) for b in pieces.breaks[1:-1]]
    weights = [a - b for a, b in zip([ca.SX(1), *behind_break], [*behind_break, ca.SX(0)], strict=True)]
    pick = lambda values: _fold(lambda a, b: a + b, [w * float(v) for w, v in zip(weights, values, strict=True)])
    rate = pick(1 / pieces.widths)
    inside = ca.logic_and(x >= begin - slack, x <= end + slack)
    return (x - pick(pieces.centres)) * rate, [pick(row) for row in pieces.coefficients], rate, inside
