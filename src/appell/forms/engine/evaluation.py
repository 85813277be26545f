"""Direct evaluation of SymPy expressions, in float64 or in any precision.

A `Tape` lists every distinct subexpression once, in an order in which each needs only earlier ones. Running it costs
one arithmetic operation per entry: nothing is expanded, simplified or compiled.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import mpmath
import sympy
from sympy import Expr, Symbol

from appell.errors import ModelError, SingularConfiguration
from appell.numeric_functions import numeric_function
from appell.reading import finite, name_in, shown, symbolic, table_of, whole
from appell.tabulated import Tabulated
from appell.tidy import of_object

DIGITS_ALLOWED = 10_000
"""Largest number of digits accepted: each operation then takes a millisecond."""


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """A type of number: its constructor, its functions by SymPy's name, and the threshold of a zero pivot."""

    digits: int
    number: Callable[[Any], Any]
    functions: Mapping[str, Callable[..., Any]]
    tolerance: float
    context: Any = None

    def eigenvectors(self, S: list[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
        """Eigenvalues (n,) and the matrix of eigenvectors, columns, of a symmetric matrix."""
        values, vectors = self.context.eigsy(self.context.matrix(S))
        return list(values), vectors.tolist()

    @cached_property
    def power(self) -> Callable[[Any, Any], Any]:
        return self.functions["Pow"]


def _sign(x: Any) -> int:
    return (x > 0) - (x < 0)


_ANY_DIGITS: dict[str, Callable[..., Any]] = {
    "sign": _sign,
    "Min": min,
    "Max": max,
    "Heaviside": lambda x, half=0.5: 1 if x > 0 else 0 if x < 0 else half,
    "DiracDelta": lambda x, order=0: 0 if x else math.inf,  # the derivative of sign, off its jump
}
_NAMES = "sin cos tan cot sec csc asin acos atan atan2 sinh cosh tanh coth asinh acosh atanh exp log floor".split()


def _float_functions() -> dict[str, Callable[..., Any]]:
    table = {name: getattr(math, name) for name in _NAMES if hasattr(math, name)}
    table |= {
        "cot": lambda x: 1 / math.tan(x), "sec": lambda x: 1 / math.cos(x), "csc": lambda x: 1 / math.sin(x),
        "coth": lambda x: 1 / math.tanh(x), "Abs": abs, "ceiling": math.ceil, "Pow": math.pow, "sqrt": math.sqrt,
    }  # fmt: skip
    return {**_ANY_DIGITS, **table, **_folded(table)}


def _folded(table: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Π and M of motions between two walls."""
    return {"Triangle": lambda x: table["asin"](table["sin"](x)), "Meander": lambda x: _sign(table["cos"](x))}


FLOAT = Arithmetic(15, float, _float_functions(), 1e-10)
"""float64. A pivot below 1e-10 of its row and column counts as zero: redundant rows of a state rounded to 1e-16."""


def arithmetic(digits: int) -> Arithmetic:
    """Multiprecision numbers of `digits` decimal digits, with ten guard digits. The global precision is not changed."""
    return _arithmetic(whole(digits, "the number of digits", 1, DIGITS_ALLOWED))


def state_in(numbers: Arithmetic, state: Any) -> dict[Any, Any]:
    """Values by symbol, as these numbers; text and other non-real values raise with their name."""
    values = {}
    for symbol, value in table_of(state, "the state").items():
        if not isinstance(value, Expr | mpmath.mpf | Fraction):
            finite(value, f"the value of {name_in(symbol)}")
        try:
            values[symbol] = numbers.number(value)
        except Exception:  # SymPy and mpmath raise various types
            raise ModelError(f"the value of {name_in(symbol)} must be a number, not {shown(value)}") from None
    return values


@cache
def _arithmetic(digits: int) -> Arithmetic:
    context = mpmath.MPContext()
    context.dps = digits + 10

    def number(x: Any) -> Any:
        if isinstance(x, sympy.Rational):
            return context.mpf(int(x.p)) / int(x.q)
        if isinstance(x, Expr):
            return context.mpf(sympy.Float(x, digits + 12)._mpf_)
        return context.convert(x)

    table = {name: getattr(context, name) for name in _NAMES if hasattr(context, name)}
    table |= {"Abs": abs, "ceiling": context.ceil, "Pow": context.power, "sqrt": context.sqrt}
    return Arithmetic(digits, number, {**_ANY_DIGITS, **table, **_folded(table)}, 10.0 ** (-digits // 2), context)


@of_object
def magnitude(expr: Any) -> Any:
    """The same expression with every term of every sum at its absolute value: the measure of cancellation."""
    if expr.is_Add or expr.is_Mul:
        return expr.func(*map(magnitude, expr.args))
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return magnitude(expr.base) ** expr.exp
    return sympy.Abs(expr, evaluate=False)


@dataclass(frozen=True)
class _Entry:
    """One operation: its kind, the entries it reads, and a constant, symbol or function."""

    kind: str
    args: tuple[int, ...]
    payload: Any = None


class Tape:
    """Expressions as a list of operations. `tape(values, numbers)` gives their values, in order."""

    def __init__(self, expressions: Iterable[Any]):
        self._entries: list[_Entry] = []
        self._index: dict[Any, int] = {}
        self._outputs = [self._index_of(e if isinstance(e, sympy.Basic) else symbolic(e, "an expression")) for e in expressions]

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def is_plain(self) -> bool:
        """Whether it contains only arithmetic and known functions, without cases, tables and nodes left to SymPy."""
        return not any(entry.kind in ("cases", "table", "opaque") for entry in self._entries)

    def _index_of(self, expr: Any) -> int:
        """The entry of an expression, after those of its arguments; an explicit stack, since expressions are deep."""
        stack = [expr]
        while stack:
            node = stack[-1]
            if node in self._index:
                stack.pop()
                continue
            needs = self._needs(node)
            waiting = [child for child in needs if child not in self._index]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            self._index[node] = len(self._entries)
            self._entries.append(_entry(node, tuple(self._index[child] for child in needs)))
        return self._index[expr]

    @staticmethod
    def _needs(node: Any) -> tuple[Any, ...]:
        if node.is_Symbol or (node.is_number and not node.args) or node.is_Piecewise:
            return ()
        if node.is_Pow and node.exp.is_Rational:
            return (node.base,)
        if isinstance(node, Tabulated):
            return (node.args[1],)
        if node.is_Add or node.is_Mul or node.is_Pow or type(node).__name__ in _NUMERIC_FUNCTIONS:
            return node.args
        return tuple(sorted(node.free_symbols, key=str))  # rare nodes: left to SymPy as a whole

    def __call__(self, values: Mapping[Symbol, Any], numbers: Arithmetic) -> list[Any]:
        computed: list[Any] = []
        try:
            for entry in self._entries:
                computed.append(_EVALUATIONS[entry.kind](entry, [computed[i] for i in entry.args], values, numbers))
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise SingularConfiguration(f"an expression has no value at this state ({error})") from None
        return [_output(computed[i], numbers) for i in self._outputs]


_NUMERIC_FUNCTIONS = {*_NAMES, *_ANY_DIGITS, "Abs", "ceiling", "Triangle", "Meander"}


def _entry(node: Any, args: tuple[int, ...]) -> _Entry:
    if node.is_Symbol:
        return _Entry("symbol", (), node)
    if node.is_number and not args and not node.args:
        return _Entry("number", (), node)
    if node.is_Piecewise:
        return _Entry("cases", (), [(Tape([value]), _condition(when)) for value, when in node.args])
    if isinstance(node, Tabulated):
        return _Entry("table", args, (node.args[0], int(node.args[2])))  # type: ignore[arg-type]
    if node.is_Add:
        return _Entry("add", args)
    if node.is_Mul:
        return _Entry("mul", args)
    if node.is_Pow and node.exp.is_Integer:
        return _Entry("integer power", args, int(node.exp))
    if node.is_Pow and node.exp.is_Rational and node.exp.q == 2:
        return _Entry("half power", args, int(node.exp.p))
    if node.is_Pow and node.exp.is_Rational:
        return _Entry("rational power", args, node.exp)
    if node.is_Pow:
        return _Entry("function", args, "Pow")
    if type(node).__name__ in _NUMERIC_FUNCTIONS:
        return _Entry("function", args, type(node).__name__)
    return _Entry("opaque", args, (tuple(sorted(node.free_symbols, key=str)), node))


def _symbol(entry: _Entry, args: list[Any], values: Mapping[Symbol, Any], numbers: Arithmetic) -> Any:
    if entry.payload not in values:
        raise ModelError(f"no value for '{entry.payload}'")
    return values[entry.payload]


def _number(entry: _Entry, args: list[Any], values: Mapping[Symbol, Any], numbers: Arithmetic) -> Any:
    node = entry.payload
    return int(node) if node.is_Integer else numbers.number(node)


def _product(entry: _Entry, args: list[Any], values: Mapping[Symbol, Any], numbers: Arithmetic) -> Any:
    result = args[0]
    for factor in args[1:]:
        result = result * factor
    return result


def _opaque(entry: _Entry, args: list[Any], values: Mapping[Symbol, Any], numbers: Arithmetic) -> Any:
    symbols, node = entry.payload
    if numbers is FLOAT:
        return float(_lambdified(symbols, node)(*args))
    digits = numbers.digits + 12
    exact = {s: sympy.Float(numbers.number(x), digits) for s, x in zip(symbols, args, strict=True)}
    return numbers.number(sympy.Float(node.xreplace(exact).evalf(digits), digits))


@lru_cache(maxsize=256)
def _lambdified(symbols: tuple[Symbol, ...], node: Any) -> Callable[..., Any]:
    return numeric_function(symbols, node, ["math", "scipy"])


def _cases(entry: _Entry, args: list[Any], values: Mapping[Symbol, Any], numbers: Arithmetic) -> Any:
    """The first branch whose condition holds; the others are not evaluated, since they may be undefined here."""
    for tape, holds in entry.payload:
        if holds(values, numbers):
            return tape(values, numbers)[0]
    raise SingularConfiguration("none of the cases of a Piecewise expression applies at this state")


def _table(entry: _Entry, args: list[Any], values: Mapping[Symbol, Any], numbers: Arithmetic) -> Any:
    pieces, order = entry.payload
    value = pieces.value(args[0], order, numbers.number)
    if value is None:
        raise SingularConfiguration(f"{pieces.description}: there is no value at t = {float(args[0]):g}")
    return value


_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def _condition(when: Any) -> Callable[[Mapping[Symbol, Any], Arithmetic], bool]:
    """A condition of a Piecewise as a function of the values."""
    if when in (sympy.true, sympy.false):
        return lambda values, numbers: bool(when)
    if when.is_Relational:
        sides, relation = Tape([when.lhs, when.rhs]), _RELATIONS[when.rel_op]
        return lambda values, numbers: relation(*sides(values, numbers))
    conditions = [_condition(condition) for condition in when.args]
    if isinstance(when, sympy.Not):
        return lambda values, numbers: not conditions[0](values, numbers)
    if isinstance(when, sympy.ITE):
        return lambda values, numbers: conditions[1 if conditions[0](values, numbers) else 2](values, numbers)
    every = {sympy.And: all, sympy.Or: any}.get(when.func)
    if every is None:
        raise ModelError(f"the condition {when} of a Piecewise expression is not understood; write it with <, >, & and |")
    return lambda values, numbers: every(condition(values, numbers) for condition in conditions)


def _integer_power(entry: _Entry, args: list[Any], values: Mapping[Symbol, Any], numbers: Arithmetic) -> Any:
    return args[0] ** entry.payload if entry.payload > 0 else 1 / (numbers.number(args[0]) ** -entry.payload)


_EVALUATIONS: dict[str, Callable[[_Entry, list[Any], Mapping[Symbol, Any], Arithmetic], Any]] = {
    "symbol": _symbol,
    "number": _number,
    "add": lambda entry, args, values, numbers: sum(args[1:], args[0]),
    "mul": _product,
    "integer power": _integer_power,
    "half power": lambda entry, args, values, numbers: numbers.functions["sqrt"](args[0]) ** entry.payload,
    "rational power": lambda entry, args, values, numbers: numbers.power(args[0], numbers.number(entry.payload)),
    "function": lambda entry, args, values, numbers: numbers.functions[entry.payload](*args),
    "opaque": _opaque,
    "cases": _cases,
    "table": _table,
}


def _output(x: Any, numbers: Arithmetic) -> Any:
    """A real number of the arithmetic; also for integers, whose quotients would otherwise have only 15 digits."""
    if isinstance(x, complex | mpmath.mpc) or hasattr(x, "_mpc_"):
        raise SingularConfiguration(
            "an expression has a complex value at this state (a root or logarithm of a negative number): another branch"
        )
    return numbers.number(x) if isinstance(x, int | float) else x
