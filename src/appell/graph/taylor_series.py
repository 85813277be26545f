"""Taylor coefficients along a motion ż = f(t, z, p), to any order, on the graph.

    z(t + τ) = Σ_k c_k τᵏ,        c_0 = z,        c_{k+1} = [f]_k / (k + 1)

[f]_k is the k-th coefficient of f along the motion: each instruction of f has a recurrence for the coefficients of its result,
and all of them advance together, order by order. Structural zeros drop out (t is a polynomial of degree one, a parameter of
degree zero), so that cos ωt costs two products per order and a spring one.

References: R. E. Moore, Interval Analysis, 1966, ch. 11; E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential
Equations I, 2nd ed., I.8; À. Jorba, M. Zou, Experimental Mathematics 14 (2005) 99–117.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi

import casadi as ca
import numpy as np

from appell.errors import FormNotApplicable
from appell.graph.algebra import Value
from appell.graph.fn import Fn, Shaped, make_fn
from appell.graph.instructions import Instruction
from appell.graph.scalar import scalars, stacked
from appell.remember import remembered

Series = list[Value]
Rule = Callable[[int, Series], Value]  # (k, the coefficients below k) → the k-th

# orders from which the cost of higher ones is extrapolated, if they have more operations than this
COST_ORDERS, COUNTED_OPERATIONS = (2, 4, 6), 300
POWERS_AS_PRODUCTS = 16  # integer powers up to here are products: they may vanish, where a^b has no recurrence


def expansion(rhs: Fn, order: int) -> Fn:
    """(t, z, p) → c (order, nz), the coefficients c_1 … c_order, and `margin` of the right-hand side at (t, z)."""
    ports = {port.name: port.size for port in rhs.inputs}
    symbols = {name: ca.SX.sym(name, size) for name, size in ports.items()}
    motion = _SeriesRules(symbols["t"], symbols["z"], symbols["p"])
    slopes = motion.outputs_of(rhs, "zd")
    motion.advance(slopes, order)
    rows = lambda series, first: stacked([s[k] for k in range(first, order + 1) for s in series])
    outputs: dict[str, Shaped] = {"c": (rows(motion.z, 1), (order, len(motion.z)))}
    margin = [port.name for port in rhs.outputs].index("margin")
    outputs["margin"] = (rhs.function(*symbols.values())[margin], ())
    return make_fn("expansion", {port.name: (symbols[port.name], port.shape) for port in rhs.inputs}, outputs)


def operations(rhs: Fn, order: int) -> float:
    """The number of operations of an expansion: counted, or for large ones extrapolated from low orders, a + b p + c p²."""
    if _counted(rhs, COST_ORDERS[-1]) < COUNTED_OPERATIONS:
        return _counted(rhs, order)
    a, b, c = np.linalg.solve(np.vander(COST_ORDERS, 3, increasing=True), [_counted(rhs, p) for p in COST_ORDERS])
    return float(a + b * order + c * order**2)


@remembered
def _counted(rhs: Fn, order: int) -> int:
    return expansion(rhs, order).operations


class _SeriesRules:
    """Series of values along a motion, each with its rule, in order of dependence."""

    def __init__(self, t: Value, z: Value, p: Value):
        self.rules: list[tuple[Series, Rule]] = []
        self.moving: set[int] = set()  # id of series with coefficients beyond the first
        self.slopes: list[Series] = []
        self.literals: dict[int, float] = {}  # values of constants, by id of series
        self.t = self._moves(lambda k, _: t if k == 0 else ca.SX(1 if k == 1 else 0))
        self.z = [self._moves(self._integral(i, z_i)) for i, z_i in enumerate(scalars(z))]
        self.p = [self._constant(p_i) for p_i in scalars(p)]

    def _integral(self, i: int, start: Value) -> Rule:
        return lambda k, _: start if k == 0 else self.slopes[i][k - 1] / k

    def advance(self, slopes: list[Series], order: int) -> None:
        """All series up to `order`, with ż given by `slopes`."""
        self.slopes = slopes
        for k in range(order + 1):
            for series, rule in self.rules:
                series.append(rule(k, series))

    def _moves(self, rule: Rule) -> Series:
        series: Series = []
        self.rules.append((series, rule))
        self.moving.add(id(series))
        return series

    def _constant(self, value: Value) -> Series:
        series: Series = []
        self.rules.append((series, lambda k, _: value if k == 0 else ca.SX(0)))
        return series

    def outputs_of(self, fn: Fn, name: str) -> list[Series]:
        """The series of one output of fn(t, z, p)."""
        output = [port.name for port in fn.outputs].index(name)
        inputs = [[self.t], self.z, self.p]
        values: dict[int, Series] = {}
        results: dict[int, Series] = {}
        for item in _needed(fn.instructions, output):
            if item.op == "output":
                results[item.index or 0] = values[item.args[0]]
            elif item.op == "input":
                values[item.out] = inputs[item.port or 0][item.index or 0]
            elif item.op == "const":
                values[item.out] = self.constant(item.value or 0.0)
            else:
                values[item.out] = self._apply(item.op, [values[arg] for arg in item.args])
        return [results[i] for i in sorted(results)]

    def _apply(self, op: str, args: Sequence[Series]) -> Series:
        if not any(id(arg) in self.moving for arg in args):
            return self._frozen(op, args)
        if op in _RULES:
            rule = _RULES[op]
            return self._moves(lambda k, c: _at_start(op, args) if k == 0 else rule(k, c, *args))
        if op in _MADE_OF:
            return _MADE_OF[op](self, *args)
        if op in ("lt", "le", "eq", "ne") and all(arg is self.t or id(arg) not in self.moving for arg in args):
            return self._frozen(op, args)  # a piece of a table: stepping over its end shows in the error
        if op == "if_else_zero" and id(args[0]) not in self.moving:
            return self._moves(lambda k, _: ca.if_else(args[0][0], args[1][k], 0))
        raise FormNotApplicable(
            f"it contains '{op}', which has no Taylor series where it bends or jumps; use method='dop853' or 'dopri5'"
        )

    def _frozen(self, op: str, args: Sequence[Series]) -> Series:
        """A value that is constant along the motion."""
        series: Series = []
        self.rules.append((series, lambda k, _: _at_start(op, args) if k == 0 else ca.SX(0)))
        return series

    # -- functions made of others -------------------------------------------------------------------------------------

    def driven(self, op: str, a: Series, partner: Series | None = None, factor: float = 1.0) -> Series:
        """c = op(a) with ċ = factor · partner · ȧ (partner: c itself if None)."""

        def rule(k: int, c: Series) -> Value:
            return _at_start(op, [a]) if k == 0 else factor * _weighted(a, c if partner is None else partner, k, k) / k

        return self._moves(rule)

    def pair(self, op: str, a: Series, twin: str, factors: tuple[float, float]) -> Series:
        """c = op(a), s = twin(a) with ċ = f₁ s ȧ, ṡ = f₂ c ȧ."""
        c, s = [], []
        for series, partner, name, factor in ((c, s, op, factors[0]), (s, c, twin, factors[1])):
            self.rules.append((series, _pair_rule(name, a, partner, factor)))
            self.moving.add(id(series))
        return c

    def primitive(self, op: str, a: Series, s: Series, factor: float = 1.0) -> Series:
        """c = op(a) with s ċ = factor · ȧ."""
        return self._moves(
            lambda k, c: _at_start(op, [a]) if k == 0 else (factor * k * a[k] - _weighted(c, s, k, k - 1)) / (k * s[0])
        )

    def angle(self, y: Series, x: Series) -> Series:
        """c = atan2(y, x) with (x² + y²) ċ = x ẏ − y ẋ."""
        r = self.apply("add", self.apply("sq", x), self.apply("sq", y))

        def rule(k: int, c: Series) -> Value:
            if k == 0:
                return _at_start("atan2", [y, x])
            return (_weighted(y, x, k, k) - _weighted(x, y, k, k) - _weighted(c, r, k, k - 1)) / (k * r[0])

        return self._moves(rule)

    def power(self, a: Series, b: Series) -> Series:
        """aᵇ: products for small integers, a recurrence for a constant b, exp(b log a) otherwise."""
        if id(b) in self.moving:
            return self.apply("exp", self.apply("mul", b, self.apply("log", a)))
        n = self.literals.get(id(b), 0.5)
        if n == int(n) and 1 <= abs(n) <= POWERS_AS_PRODUCTS:
            return self._products(a, int(n)) if n > 0 else self.apply("inv", self._products(a, -int(n)))
        return self._moves(lambda k, c: _at_start("pow", [a, b]) if k == 0 else _power_rule(k, c, a, b[0]) / (k * a[0]))

    def _products(self, a: Series, n: int) -> Series:
        """aⁿ by repeated squaring."""
        if n == 1:
            return a
        half = self.apply("sq", self._products(a, n // 2))
        return self.apply("mul", half, a) if n % 2 else half

    def apply(self, op: str, *args: Series) -> Series:
        return self._apply(op, args)

    def constant(self, value: float) -> Series:
        series = self._constant(ca.SX(value))
        self.literals[id(series)] = value
        return series


def _needed(stream: Sequence[Instruction], port: int) -> list[Instruction]:
    """The instructions that one output needs."""
    needed: set[int] = set()
    needed_items = []
    for item in reversed(stream):
        if item.port == port if item.op == "output" else item.out in needed:
            needed.update(item.args)
            needed_items.append(item)
    return needed_items[::-1]


def _at_start(op: str, args: Sequence[Series]) -> Value:
    """The value itself, at τ = 0."""
    code, values = getattr(ca, f"OP_{op.upper()}"), [arg[0] for arg in args]
    return ca.SX.unary(code, *values) if len(values) == 1 else ca.SX.binary(code, *values)


def _sum(terms: Sequence[Value]) -> Value:
    total = ca.SX(0)
    for term in terms:
        total = total + term
    return total


def _product(a: Series, b: Series, k: int, first: int = 0) -> Value:
    """Σ_j a_j b_{k−j}, first <= j <= k − first; the newest coefficients last, because they are computed last."""
    inner = [a[j] * b[k - j] for j in range(max(first, 1), k - max(first, 1) + 1)]
    return _sum(inner + ([a[k] * b[0], a[0] * b[k]] if first == 0 else []))


def _square(a: Series, k: int, first: int = 0) -> Value:
    """Σ_j a_j a_{k−j}, first <= j <= k − first."""
    half = 2 * _sum([a[j] * a[k - j] for j in range((k - 1) // 2, first - 1, -1)])
    return half + a[k // 2] ** 2 if k % 2 == 0 and first <= k // 2 else half


def _weighted(a: Series, b: Series, k: int, last: int) -> Value:
    """Σ_j j a_j b_{k−j}, 1 <= j <= last: k times the k-th coefficient of ∫ b ȧ."""
    return _sum([j * a[j] * b[k - j] for j in range(1, last + 1)])


def _power_rule(k: int, c: Series, a: Series, b: Value) -> Value:
    return _sum([(b * (k - j) - j) * a[k - j] * c[j] for j in range(k)])


def _pair_rule(op: str, a: Series, partner: Series, factor: float) -> Rule:
    return lambda k, _: _at_start(op, [a]) if k == 0 else factor * _weighted(a, partner, k, k) / k


_RULES: Mapping[str, Callable[..., Value]] = {
    "add": lambda k, c, a, b: a[k] + b[k],
    "sub": lambda k, c, a, b: a[k] - b[k],
    "neg": lambda k, c, a: -a[k],
    "twice": lambda k, c, a: 2 * a[k],
    "mul": lambda k, c, a, b: _product(a, b, k),
    "sq": lambda k, c, a: _square(a, k),
    "div": lambda k, c, a, b: (a[k] - _sum([b[j] * c[k - j] for j in range(k, 0, -1)])) / b[0],
    "inv": lambda k, c, a: -_sum([a[j] * c[k - j] for j in range(k, 0, -1)]) / a[0],
    "sqrt": lambda k, c, a: (a[k] - _square(c, k, 1)) / (2 * c[0]),
}
"""op → rule (k, c, arguments) for k >= 1."""

_MADE_OF: Mapping[str, Callable[..., Series]] = {
    "exp": lambda s, a: s.driven("exp", a),
    "expm1": lambda s, a: s.driven("expm1", a, s.apply("exp", a)),
    "log": lambda s, a: s.primitive("log", a, a),
    "log1p": lambda s, a: s.primitive("log1p", a, s.apply("add", s.constant(1), a)),
    "sin": lambda s, a: s.pair("sin", a, "cos", (1, -1)),
    "cos": lambda s, a: s.pair("cos", a, "sin", (-1, 1)),
    "tan": lambda s, a: s.apply("div", s.apply("sin", a), s.apply("cos", a)),
    "sinh": lambda s, a: s.pair("sinh", a, "cosh", (1, 1)),
    "cosh": lambda s, a: s.pair("cosh", a, "sinh", (1, 1)),
    "tanh": lambda s, a: s.apply("div", s.apply("sinh", a), s.apply("cosh", a)),
    "asin": lambda s, a: s.primitive("asin", a, s.apply("sqrt", s.apply("sub", s.constant(1), s.apply("sq", a)))),
    "acos": lambda s, a: s.primitive("acos", a, s.apply("sqrt", s.apply("sub", s.constant(1), s.apply("sq", a))), -1.0),
    "atan": lambda s, a: s.primitive("atan", a, s.apply("add", s.constant(1), s.apply("sq", a))),
    "asinh": lambda s, a: s.primitive("asinh", a, s.apply("sqrt", s.apply("add", s.constant(1), s.apply("sq", a)))),
    "acosh": lambda s, a: s.primitive("acosh", a, s.apply("sqrt", s.apply("sub", s.apply("sq", a), s.constant(1)))),
    "atanh": lambda s, a: s.primitive("atanh", a, s.apply("sub", s.constant(1), s.apply("sq", a))),
    "erf": lambda s, a: s.driven("erf", a, s.apply("exp", s.apply("neg", s.apply("sq", a))), 2 / pi**0.5),
    "atan2": lambda s, y, x: s.angle(y, x),
    "hypot": lambda s, a, b: s.apply("sqrt", s.apply("add", s.apply("sq", a), s.apply("sq", b))),
    "pow": lambda s, a, b: s.power(a, b),
    "constpow": lambda s, a, b: s.power(a, b),
}
