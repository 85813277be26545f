"""A bilateral constraint f = 0 of order 0, 1 or 2."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import mpmath
import sympy
from sympy import Expr, Symbol
from sympy.core.relational import Relational

from appell.errors import ConstraintError
from appell.jets import Jet, Prescribed, StateVariable, expression, jets_of
from appell.model.multiplier import Multiplier
from appell.numeric_functions import numeric_function
from appell.reading import shown
from appell.spelling import checked_keywords

LINE_DIGITS, LINES_READ = 50, 5
"""Digits in which a row is evaluated along lines, and number of lines."""

_LEVEL_WORDS = {0: "holonomic", 1: "first order", 2: "second order"}


@checked_keywords()
@dataclass(frozen=True, init=False)
class Constraint:
    """f = 0 with f(t, q), f(t, q, q̇) or f(t, q, q̇, q̈); order and linearity are determined from the residual.

    The force of an ideal constraint is Λ ∂f/∂q, Λ ∂f/∂q̇ or Λ ∂f/∂q̈ by its order: for residuals nonlinear in q̇ this is
    Chetaev's rule, an assumption about how the constraint is realised, not a theorem.

    Parameters
    ----------
    residual: expression, or `sympy.Eq`; zero on the constraint.
    name: used by `motion.reaction("blade")`, errors and plots; the residual's own text by default.
    reaction: direction W of the reaction where it is not ∂f/∂q…: a mapping velocity (or coordinate) → expression in t, q, q̇,
        the generalized force per unit Λ; or one expression for each velocity of the system, in order. Use it for servo
        constraints and other non-ideal ones.
    """

    residual: Expr
    name: str
    reaction: Mapping[Symbol, Expr] | tuple[Expr, ...] | None = field(hash=False)
    order: int
    linear: bool

    def __init__(self, residual: Any, name: str | None = None, *, reaction: Mapping[Symbol, Any] | Sequence[Any] | None = None):
        if isinstance(residual, sympy.Equality):
            residual = residual.lhs - residual.rhs  # type: ignore[operator]
        if residual is True or residual is sympy.true:
            raise ConstraintError(f"constraint {name or ''} is satisfied identically; drop it")
        if isinstance(residual, bool):
            raise ConstraintError(
                f"a constraint{f' {shown(name)}' if name else ''} is {residual}: x == y compares two symbols in Python; write"
                " the difference, x - y, or sympy.Eq(x, y)"
            )
        if isinstance(residual, Relational):
            raise ConstraintError(f"{residual} is an inequality; write ap.Unilateral(f), which means f >= 0")
        f = expression(residual, f"constraint '{name}'" if name else "a constraint")
        name = _text(f) if name is None else str(name)
        order = _order(f, name)
        set_ = object.__setattr__
        set_(self, "residual", f)
        set_(self, "name", name)
        set_(self, "reaction", None if reaction is None else _directions(reaction, name))
        set_(self, "order", order)
        tops = [s for s in jets_of(f) if s.level == order and not isinstance(s, Prescribed)]
        set_(self, "linear", is_linear(f, tops) if order else _degree(f, set(tops), {}) <= 1)

    @property
    def multiplier(self) -> Multiplier:
        """Λ as a symbol for use in forces, in the unit of the row's reaction: `forces={x: -mu*floor.multiplier}`."""
        return Multiplier(self.name)

    def __reduce__(self):
        reaction = dict(self.reaction) if isinstance(self.reaction, Mapping) else self.reaction
        return _rebuilt, (self.residual, self.name, reaction)

    def __str__(self) -> str:
        shape = "" if self.order == 0 else (", linear" if self.linear else ", nonlinear")
        return f"{self.name}: {self.residual} = 0 ({_LEVEL_WORDS[self.order]}{shape})"


def _rebuilt(residual: Expr, name: str, reaction: Any) -> Constraint:
    return Constraint(residual, name, reaction=reaction)


def _text(f: Expr) -> str:
    text = str(f)
    return text if len(text) <= 60 else text[:57] + "..."


def _order(f: Expr, name: str) -> int:
    """The highest derivative level in f; raises if f cannot be a constraint."""
    jets = [s for s in jets_of(f) if not isinstance(s, Prescribed)]
    if f.is_zero:
        raise ConstraintError(f"constraint '{name}' is satisfied identically; drop it")
    if all(isinstance(s, StateVariable) for s in jets):
        raise ConstraintError(f"constraint '{name}' contains no coordinate, so it restricts nothing (or everything)")
    if f.is_zero is False:
        raise ConstraintError(f"constraint '{name}' is contradictory: {_text(f)} is never zero")
    order = max(s.level for s in jets)
    if order > 2:
        top = next(s for s in jets if s.level == order)
        raise ConstraintError(f"constraint '{name}' contains {top}: constraints of order 0, 1 and 2 are understood")
    return order


def _directions(reaction: Any, name: str) -> Mapping[Symbol, Expr] | tuple[Expr, ...]:
    where = f"reaction of constraint '{name}'"
    if isinstance(reaction, Sequence | sympy.MatrixBase) and not isinstance(reaction, str):
        return tuple(expression(w, where) for w in reaction)
    if not isinstance(reaction, Mapping):
        raise ConstraintError(
            f"reaction= of constraint '{name}' must map velocities to expressions, for example {{x.d: 1}}, or list one for each"
            " velocity of the system"
        )
    return MappingProxyType({key: expression(w, where) for key, w in reaction.items()})


def is_linear(f: Expr, jets: Sequence[Jet]) -> bool:
    """Whether f is of degree at most one in the jets: by its structure, or along random lines in them.

    On a line the second difference f(−1) − 2 f(0) + f(1) of an affine f is zero: computed in 50 digits, so that a term of 1e-12
    is visible. Nothing is expanded or differentiated, so that a row with a thousand operations costs milliseconds.
    """
    if _degree(f, set(jets), {}) <= 1:
        return True
    affine = list(_straight(f, list(jets)))
    return bool(affine) and all(affine)


def _straight(f: Expr, jets: list[Jet]) -> Iterator[bool]:
    """Whether f is affine along each of several lines in the jets, with other symbols fixed; complex values are fine."""
    fixed_symbols = sorted(f.free_symbols - set(jets), key=str)
    value = numeric_function([*jets, *fixed_symbols], f, "mpmath", cse=True)
    draw = random.Random(7)
    numbers = lambda count: [mpmath.mpf(draw.randint(-3 * 10**6, 3 * 10**6)) / 1000003 for _ in range(count)]
    with mpmath.workdps(LINE_DIGITS):
        for _ in range(LINES_READ):
            origin, direction, fixed = numbers(len(jets)), numbers(len(jets)), numbers(len(fixed_symbols))
            try:
                f0, f1, f2 = (value(*(x + s * d for x, d in zip(origin, direction, strict=True)), *fixed) for s in (-1, 0, 1))
                bend, size = abs(f0 - 2 * f1 + f2), abs(f0) + abs(f1) + abs(f2)
            except (ZeroDivisionError, ValueError, OverflowError):
                continue
            except (TypeError, NameError, NotImplementedError):  # a function without numeric values
                yield False
                return
            yield bool(bend <= size * mpmath.mpf(10) ** (10 - LINE_DIGITS))


def _degree(f: Any, jets: set[Any], degrees: dict[Any, float]) -> float:
    """A bound on the degree of f in the jets from sums, products and integer powers; infinite inside other functions."""
    if f in degrees:
        return degrees[f]
    if f in jets:
        degree: float = 1
    elif f.is_Add:
        degree = max(_degree(arg, jets, degrees) for arg in f.args)
    elif f.is_Mul:
        degree = sum(_degree(arg, jets, degrees) for arg in f.args)
    elif f.is_Pow and f.exp.is_Integer and f.exp > 0:
        degree = _degree(f.base, jets, degrees) * int(f.exp)
    else:
        degree = float("inf") if f.free_symbols & jets else 0
    degrees[f] = degree
    return degree
