"""Breaks: times in a model at which something jumps or has a kink.

    Piecewise((F, t < t1), (0, True))    Heaviside(t − t1)    floor(t/T)    Mod(t, T)    |t − t1|    max, min    sign(sin(ω t))

Between two breaks each of these is one smooth branch. Every time loop stops at a break and continues with the branches after
it. So that no step evaluates a branch of the other side, the system that is run (`branched`) selects them at a time τ inside
the interval between two breaks, an additional parameter:

    t < t1  →  τ < t1        floor(t/T)  →  floor(τ/T)        |t − t1|  →  (t − t1) sign(τ − t1)

A break is where a phase u = a t + b reaches zero or, where it is periodic, any integer; a and b contain parameters and
branches, so that pulse times may differ between runs, and pulses may be nested. Knots of tables are breaks too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import sympy
from sympy import Expr
from sympy.core.relational import Relational

from appell.jets import Parameter, nodes_of, t
from appell.model.jumps import KINKED
from appell.model.measured import letters_of
from appell.model.prescription import transformed
from appell.model.system import System
from appell.remember import remembered
from appell.tabulated import PiecewisePolynomial, Tabulated

BRANCH_TIME = Parameter("time of branches", real=True)
"""τ, a time between the last break and the next one, at which branches are selected."""
GOLDEN_SECTION = 0.3819660112501051
"""Position of τ in an interval, as a fraction: the golden section, where symmetry puts no exceptional point, unlike the middle,
for example of floor(3 sin t)."""
NO_BREAK_TIME = 1e30
"""A time, s, that means none; representable in single precision."""
FIRST_TIME = 1e-35
"""A time, s, after t = 0, at which the branch after 0 is selected; representable in single precision."""
BREAK_ROUNDINGS = 16
"""A break within this many roundings of its terms from t is at t itself."""

NO_KNOT = 1e-13
"""A knot of a table is not a break if the polynomials on both sides agree to this fraction of the largest value."""

_SWITCHES = (*KINKED, Relational, Tabulated)
_INVERSES: dict[Any, Any] = {sympy.exp: sympy.log, sympy.log: sympy.exp, sympy.tanh: sympy.atanh, sympy.atan: sympy.tan,
                             sympy.sinh: sympy.asinh, sympy.asinh: sympy.sinh, sympy.erf: sympy.erfinv}  # fmt: skip


@dataclass(frozen=True)
class BreakPhase:
    """u = a t + b: a break where it is zero; if `at_integers`, at every integer."""

    value: Expr
    at_integers: bool = False


@dataclass(frozen=True)
class Breaks:
    """The breaks of a system: phases, whose own branches are selected at `BRANCH_TIME`, and knots of tables, s.

    `located`: functions of time and parameters whose zeros are breaks without a formula, sin t + sin √2 t; when the
    parameters are known, they are found by bounds (`appell.compiled.branching`). `records`: whether there are samples of
    measured records among the breaks; their times are data of a run (`appell.model.measured.Schedule`).
    """

    phases: tuple[BreakPhase, ...] = ()
    knots: tuple[float, ...] = ()
    located: tuple[Any, ...] = ()
    records: bool = False

    def __bool__(self) -> bool:
        return bool(self.phases or self.knots or self.located or self.records)

    def following(self, direction: int, eps: float) -> tuple[Expr, dict[Any, Any]]:
        """The first break after t, or before it where direction is −1, in t and auxiliary symbols; symbol → expression in t,
        parameters and earlier symbols. ±`NO_BREAK_TIME` where there is none; eps: machine epsilon of the computation.
        """
        letters: dict[Any, Any] = {}
        slack = self._slack(eps, letters)
        lines = [_line(phase, t + direction * slack, letters) for phase in self.phases]
        lines += [_Line(sympy.Integer(1), sympy.Float(-knot), False) for knot in self.knots]
        times = [direction * line.next_zero(direction, slack) for line in lines]
        return direction * sympy.Min(*times, sympy.Float(NO_BREAK_TIME), evaluate=False), letters

    def _slack(self, eps: float, letters: dict[Any, Any]) -> Expr:
        """The distance within which a break is at t, s."""
        sizes: list[Any] = [sympy.Float(max(map(abs, self.knots), default=0.0))]
        for phase in self.phases:
            a, b, _ = _line(phase, t, letters)
            size = _letter(letters, sum((sympy.Abs(term) for term in sympy.Add.make_args(letters[b])), sympy.Integer(0)))
            ratio = _letter(letters, size / sympy.Abs(a))
            # not where a is zero, or a branch is undefined
            sizes.append(sympy.Piecewise((ratio, ratio < NO_BREAK_TIME), (0, True)))
        largest = sympy.Abs(t) + sympy.Max(*sizes, evaluate=False)
        slack = BREAK_ROUNDINGS * sympy.Float(eps) * largest + sympy.Float(FIRST_TIME)
        return _letter(letters, slack)


class _Line(NamedTuple):
    """a t + b with its branches selected."""

    a: Any
    b: Any
    at_integers: bool

    def next_zero(self, direction: int, slack: Any) -> Any:
        """The first time, further than `slack` from t, at which it is zero or an integer; ±`NO_BREAK_TIME` if there is none."""
        a, b, never = self.a, self.b, sympy.Float(direction * NO_BREAK_TIME)
        if not self.at_integers:
            return sympy.Piecewise((-b / a, direction * (-b / a - t) > slack), (never, True))
        u, slack_in_u = a * t + b, sympy.Abs(a) * slack
        rises, falls = (sympy.floor(u + slack_in_u) + 1 - b) / a, (sympy.ceiling(u - slack_in_u) - 1 - b) / a
        next_zero = sympy.Piecewise((rises, direction * a > 0), (falls, direction * a < 0), (never, True))
        # not where a branch is undefined
        return sympy.Piecewise((next_zero, sympy.Abs(next_zero) < NO_BREAK_TIME), (never, True))


def _line(phase: BreakPhase, time: Any, letters: dict[Any, Any]) -> _Line:
    """The line with its branches selected at a time; a and b are symbols, so that SymPy does not divide by a branch in which a
    is zero."""
    a, b = phase.value.diff(t), phase.value.xreplace({t: sympy.Integer(0)})
    a, b = (_letter(letters, coefficient.xreplace({BRANCH_TIME: time})) for coefficient in (a, b))
    return _Line(a, b, phase.at_integers)


def _letter(letters: dict[Any, Any], expr: Any) -> Any:
    letter = sympy.Dummy(real=True)
    letters[letter] = expr
    return letter


@remembered
def breaks_of(system: System) -> Breaks:
    """The breaks of a system whose prescribed functions have their values."""
    return replace(_read(system)[1], records=bool(letters_of(system.parameters)))


@remembered
def branched(system: System) -> System:
    """The system with its branches selected at `BRANCH_TIME`, an additional parameter."""
    return system.replace(**_read(system)[0])


@remembered
def _read(system: System) -> tuple[dict[str, Any], Breaks]:
    """The arguments of the branched system, and the breaks."""
    reader = _BreakReader()
    arguments = {key: value for key, value in system._given.items() if key != "prescription"}
    selected = transformed(arguments, reader)
    return {**selected, "prescription": system.prescription}, reader.breaks


class _BreakReader:
    """expression → the same with its branches selected at `BRANCH_TIME`; the breaks found are collected."""

    def __init__(self):
        self.phases: dict[BreakPhase, None] = {}
        self.knots: set[float] = set()
        self.located: dict[Any, None] = {}
        self.on_branch: dict[Any, Any] = {}

    @property
    def breaks(self) -> Breaks:
        return Breaks(tuple(self.phases), tuple(sorted(self.knots)), tuple(self.located))

    def __call__(self, expr: Any) -> Any:
        if t not in expr.free_symbols or not any(t in node.free_symbols for node in nodes_of(expr, *_SWITCHES)):
            return expr
        if expr not in self.on_branch:
            self.on_branch[expr] = self._written(expr)
        return self.on_branch[expr]

    def _written(self, expr: Any) -> Any:
        if isinstance(expr, Tabulated):
            self._table(expr)
            return expr
        if isinstance(expr, sympy.Mod):
            operands: Any = expr.args
            return self(operands[0]) - self(operands[1]) * self(sympy.floor(operands[0] / operands[1], evaluate=False))
        if isinstance(expr, sympy.frac):
            return self(expr.args[0]) - self(sympy.floor(expr.args[0], evaluate=False))
        args = [self(arg) for arg in expr.args]
        if not isinstance(expr, _SWITCHES) or isinstance(expr, sympy.Piecewise) or not _of_time(expr):
            return expr.func(*args)
        phases = _phases(expr, args)
        if phases is None:
            self.located.update(dict.fromkeys(_guards(expr)))
        else:
            self.phases.update(dict.fromkeys(phases))
        return _on_branch(expr, args)

    def _table(self, table: Any) -> None:
        pieces, x, _ = table.args
        if x == t:
            self.knots.update(kinks(pieces))


def kinks(pieces: PiecewisePolynomial) -> list[float]:
    """The knots of a table at which the polynomial really changes, s."""
    knots, size = [float(pieces.breaks[0])], max(1e-300, abs(pieces.coefficients).sum(axis=0).max())
    for k, knot in enumerate(pieces.breaks[1:-1].tolist(), start=1):
        beyond = knot + (pieces.breaks[k + 1] - knot) / 2
        left, right = ((beyond - pieces.centres[j]) / pieces.widths[j] for j in (k - 1, k))
        powers = range(len(pieces.coefficients))
        change = sum(pieces.coefficients[j, k] * right**j - pieces.coefficients[j, k - 1] * left**j for j in powers)
        if abs(change) > NO_KNOT * size:
            knots.append(knot)
    return [*knots, float(pieces.breaks[-1])]


def _of_time(expr: Any) -> bool:
    """Whether it contains only time and parameters."""
    return all(s == t or isinstance(s, Parameter) for s in expr.free_symbols)


def _on_branch(expr: Any, args: list[Any]) -> Any:
    """A function of time on its branch at `BRANCH_TIME`; args: its arguments on theirs."""
    if isinstance(expr, sympy.Abs):
        return args[0] * sympy.sign(expr.args[0].xreplace({t: BRANCH_TIME}))
    if not isinstance(expr, sympy.Max | sympy.Min):
        return expr.xreplace({t: BRANCH_TIME})
    dominates = sympy.Ge if isinstance(expr, sympy.Max) else sympy.Le
    values = [arg.xreplace({t: BRANCH_TIME}) for arg in expr.args]
    best = [sympy.And(*(dominates(value, rival) for rival in values if rival is not value)) for value in values]
    return sympy.Piecewise(*zip(args[:-1], best[:-1], strict=True), (args[-1], True))


def _phases(expr: Any, args: list[Any]) -> list[BreakPhase] | None:
    """The phases at which a function of time changes its branch; None if there is no formula."""
    if isinstance(expr, sympy.floor | sympy.ceiling):
        return ([BreakPhase(args[0], True)] if _affine(args[0]) else None) if t in args[0].free_symbols else []
    if isinstance(expr, sympy.Max | sympy.Min):
        pairs = [_zeros(a - b) for a, b in combinations(args, 2)]
    elif isinstance(expr, Relational):
        pairs = [_zeros(args[0] - args[1])]
    else:
        pairs = [_zeros(args[0])]
    return _all_phases(pairs)


def _guards(expr: Any) -> list[Any]:
    """Functions that vanish where a function of time changes its branch."""
    if isinstance(expr, sympy.floor | sympy.ceiling):
        return [sympy.sin(sympy.pi * expr.args[0])]
    if isinstance(expr, sympy.Max | sympy.Min):
        return [a - b for a, b in combinations(expr.args, 2)]  # type: ignore[operator]
    return [expr.args[0] - expr.args[1]] if isinstance(expr, Relational) else [expr.args[0]]  # type: ignore[operator]


def _affine(expr: Any) -> bool:
    return t not in expr.diff(t).free_symbols


def _zeros(expr: Any) -> list[BreakPhase] | None:
    """The times at which an expression in t, smooth between its branches, may change sign."""
    if t not in expr.free_symbols:
        return []
    if isinstance(expr, sympy.Mul) or (isinstance(expr, sympy.Pow) and expr.exp.is_number):  # zeros and poles of its factors
        return _all_phases(_zeros(factor.as_base_exp()[0]) for factor in sympy.Mul.make_args(expr))
    if _affine(expr):
        return [BreakPhase(expr)]
    if expr.is_polynomial(t) and len(coefficients := sympy.Poly(expr, t).all_coeffs()) == 3:
        a, b, c = coefficients
        root = sympy.sqrt(b**2 - 4 * a * c)
        return _real_phases([BreakPhase(t - (-b + sign * root) / (2 * a)) for sign in (-1, 1)])
    c, moving = expr.as_independent(t, as_Add=True)
    k, function = moving.as_independent(t, as_Add=False)
    return _inverted(function, -c / k)


def _inverted(function: Any, y: Any) -> list[BreakPhase] | None:
    """The times at which a function of one argument in t is y."""
    if _affine(function):
        return _real_phases([BreakPhase(function - y)])
    x: Any = function.args[0] if function.args else None
    if isinstance(function, sympy.sin | sympy.cos) and _affine(x):
        if y == 0:
            return [BreakPhase(x / sympy.pi + (sympy.Rational(1, 2) if isinstance(function, sympy.cos) else 0), True)]
        angle = sympy.asin(y) if isinstance(function, sympy.sin) else sympy.acos(y)
        angles = (angle, (sympy.pi if isinstance(function, sympy.sin) else 0) - angle)
        return _real_phases([BreakPhase((x - angle) / (2 * sympy.pi), True) for angle in angles])
    if isinstance(function, sympy.tan) and _affine(x):
        angles = (sympy.atan(y), sympy.pi / 2)  # of zeros and of poles
        return _real_phases([BreakPhase((x - angle) / sympy.pi, True) for angle in angles])
    if isinstance(function, sympy.Pow) and function.exp.is_Rational and function.exp > 0:
        n: Any = function.exp
        size = sympy.Abs(y) ** (1 / n)
        signs = (1, -1) if n.p % 2 == 0 and n.q == 1 else (sympy.sign(y),)
        return _all_phases(_inverted(function.base, sign * size) for sign in signs)
    if type(function) in _INVERSES:
        return _inverted(x, _INVERSES[type(function)](y))
    return None


def _all_phases(groups: Any) -> list[BreakPhase] | None:
    groups = list(groups)
    return None if any(group is None for group in groups) else [phase for group in groups for phase in group]


def _real_phases(phases: list[BreakPhase]) -> list[BreakPhase]:
    """The phases with real solutions only: sin x = 2 has none."""
    return [phase for phase in phases if not phase.value.has(sympy.I, sympy.nan, sympy.zoo, sympy.oo)]


__all__ = ["BRANCH_TIME", "GOLDEN_SECTION", "NO_BREAK_TIME", "BreakPhase", "Breaks", "branched", "breaks_of", "kinks"]
