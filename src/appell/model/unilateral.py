"""Unilateral constraints f(t, q) >= 0: walls, threads and stops.

    Unilateral(f)                  f >= 0                         one face
    Between(lower, f, upper)       lower <= f <= upper            two faces, f − lower >= 0 and upper − f >= 0

An impact reverses the normal velocity, ḟ⁺ = −e ḟ⁻ with the restitution 0 <= e <= 1, and preserves the momenta along the
constraint. A `System` takes both in `constraints=` and lists their faces as `system.unilateral`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sympy
from sympy import Expr, Symbol

from appell.errors import ConstraintError
from appell.jets import Coordinate, Jet, Parameter, Prescribed, StateVariable, expression, jets_of, t
from appell.model.multiplier import Multiplier
from appell.model.outline import Outline
from appell.reading import shown
from appell.spelling import checked_keywords

DISTANCE = Symbol("s", real=True)
"""The symbol s = f(t, q) in the inverse of a chart."""

REFLECTION = "reflection"
"""`chart=` of a constraint without a chart: impacts reflect the momenta in the kinetic metric."""


@dataclass(frozen=True)
class ChartChoice:
    """The coordinate replaced by s = f(t, q), and optionally its expression in s and the others (`DISTANCE`)."""

    coordinate: Coordinate
    inverse: Expr | None = None


@checked_keywords()
@dataclass(frozen=True, init=False)
class Unilateral:
    """f(t, q) >= 0, an ideal constraint that acts on one side only.

    Parameters
    ----------
    function: expression in t, coordinates and parameters, or the inequality `f >= g`; C² with a gradient on f = 0.
    name: used by `motion.impacts`, `motion.reaction("wall")`, errors and plots; the text of f by default.
    restitution: e of ḟ⁺ = −e ḟ⁻, a number in [0, 1] or an expression in parameters.
    chart: the coordinate that s = f(t, q) replaces in `ap.forms.routh`; {coordinate: inverse} where the equation f = s has
        several branches, with the inverse a function of s (`lambda s: acos(s/l)`) or an expression in one further symbol;
        "reflection" for none. Found automatically where possible.
    """

    function: Expr
    name: str
    restitution: Expr
    chart: ChartChoice | str | None = field(hash=False)

    def __init__(self, function: Any, name: str | None = None, restitution: Any = 1, chart: Any = None):
        function = _difference(function, name)
        name = text_of(function) if name is None else str(name)
        _check_function(function, name)
        set_ = object.__setattr__
        set_(self, "function", function)
        set_(self, "name", name)
        set_(self, "restitution", _restitution(restitution, name))
        set_(self, "chart", _chart(chart, function, name))

    @property
    def faces(self) -> tuple[Face, ...]:
        """The one face f >= 0."""
        return (Face(self.function, self.name, self.restitution, self),)

    @property
    def multiplier(self) -> Multiplier:
        """Λ >= 0 as a symbol for forces, in the unit of its reaction; zero in flight."""
        return Multiplier(self.name)

    def __str__(self) -> str:
        return f"{self.name}: {self.function} >= 0 (unilateral, restitution {self.restitution})"


@checked_keywords()
@dataclass(frozen=True, init=False)
class Between:
    """lower <= f(t, q) <= upper: two stops, the faces "name:lower" and "name:upper".

    The bounds are numbers or expressions in t, coordinates and parameters; the other arguments are those of `Unilateral`.
    In the inverse of a chart, s means f.
    """

    lower: Expr
    function: Expr
    upper: Expr
    name: str
    restitution: Expr
    chart: ChartChoice | str | None = field(hash=False)

    def __init__(
        self, lower: Any, function: Any, upper: Any, name: str | None = None, restitution: Any = 1, chart: Any = None
    ):
        where = f"unilateral constraint '{name}'" if name else "a unilateral constraint"
        function = expression(function, where)
        if not jets_of(function) and jets_of(expression(lower, where)):
            raise ConstraintError(f"the order is Between(lower, function, upper), as in Between(0, {text_of(lower)}, 1)")
        name = text_of(function) if name is None else str(name)
        lower, upper = (expression(x, f"a bound of unilateral constraint '{name}'") for x in (lower, upper))
        if (upper - lower).is_positive is False:
            raise ConstraintError(f"unilateral constraint '{name}': lower = {lower} is not below upper = {upper}")
        for f in (function, function - lower, upper - function):
            _check_function(f, name)
        set_ = object.__setattr__
        set_(self, "lower", lower)
        set_(self, "function", function)
        set_(self, "upper", upper)
        set_(self, "name", name)
        set_(self, "restitution", _restitution(restitution, name))
        set_(self, "chart", _chart(chart, function, name))

    @property
    def faces(self) -> tuple[Face, ...]:
        """f − lower >= 0 and upper − f >= 0."""
        return (
            Face(self.function - self.lower, f"{self.name}:lower", self.restitution, self),
            Face(self.upper - self.function, f"{self.name}:upper", self.restitution, self),
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.lower} <= {self.function} <= {self.upper} (restitution {self.restitution})"


@dataclass(frozen=True)
class Face:
    """One face of a unilateral constraint: `function` >= 0, with the object that the user gave as `source`."""

    function: Expr
    name: str
    restitution: Expr
    source: Unilateral | Between

    @property
    def chart(self) -> ChartChoice | str | None:
        """The user's choice of chart."""
        return self.source.chart

    @property
    def multiplier(self) -> Multiplier:
        """Λ of this face as a symbol."""
        return Multiplier(self.name)

    def __str__(self) -> str:
        return f"{self.name}: {self.function} >= 0 (restitution {self.restitution})"


# -- reading arguments -------------------------------------------------------------------------------------------------


def text_of(f: Expr) -> str:
    """The text of f, shortened."""
    text = str(f)
    return text if len(text) <= 60 else text[:57] + "..."


def _difference(relation: Any, name: str | None) -> Expr:
    """f of f >= 0, or lhs − rhs of an inequality."""
    where = f"unilateral constraint '{name}'" if name else "a unilateral constraint"
    if isinstance(relation, sympy.GreaterThan):
        return expression(relation.lhs - relation.rhs, where)  # type: ignore[operator]
    if isinstance(relation, sympy.LessThan):
        return expression(relation.rhs - relation.lhs, where)  # type: ignore[operator]
    if isinstance(relation, sympy.StrictGreaterThan | sympy.StrictLessThan):
        raise ConstraintError(f"{where}: {relation} leaves out the contact itself; write it with >= or <=")
    if relation is sympy.true or relation is True:
        raise ConstraintError(f"{where} is satisfied identically; drop it")
    if relation is sympy.false or relation is False:
        raise ConstraintError(f"{where} is never satisfied")
    return expression(relation, where)


def _check_function(f: Expr, name: str) -> None:
    """Raises unless f contains a coordinate, contains only positions, and can vanish."""
    jets = [s for s in jets_of(f) if not isinstance(s, Prescribed | StateVariable)]
    where = f"unilateral constraint '{name}'"
    moving = [s for s in jets if s.level > 0]
    if moving:
        raise ConstraintError(
            f"{where} contains {moving[0]}: f(t, q) >= 0 restricts positions; a bound on velocities is not a mechanical stop"
        )
    if not jets:
        raise ConstraintError(f"{where} contains no coordinate, so it restricts nothing (or everything): {text_of(f)}")
    sign = _sign(_Structure(f))
    if sign > 0:
        raise ConstraintError(f"{where} is never reached: {text_of(f)} is always positive; drop it")
    if sign < 0:
        raise ConstraintError(f"{where} is never satisfied: {text_of(f)} is always negative")


class _Structure:
    """An expression, equal to others of the same structure with the same numbers."""

    def __init__(self, f: Expr):
        outline = Outline.of(f)
        assumptions = tuple(tuple(p.assumptions0.items()) for p in outline.parameters)
        self.f, self.identity = f, (outline.key, outline.numbers, assumptions)

    def __hash__(self) -> int:
        return hash(self.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Structure) and self.identity == other.identity


@lru_cache(maxsize=256)
def _sign(written: _Structure) -> int:
    """1 where f is always positive, -1 where it is always negative, else 0; cached, since SymPy takes milliseconds."""
    return 1 if written.f.is_positive else -1 if written.f.is_negative else 0


def _restitution(value: Any, name: str) -> Expr:
    """A number in [0, 1] or an expression in parameters."""
    where = f"the restitution of unilateral constraint '{name}'"
    e = expression(value, where)
    foreign = sorted((s for s in e.free_symbols if not isinstance(s, Parameter)), key=str)
    if foreign:
        raise ConstraintError(f"{where} contains {foreign[0]}; it is a number in [0, 1] or made of parameters")
    if not e.free_symbols and not (e.is_real and 0 <= e <= 1):
        raise ConstraintError(f"{where} is {value}; it must lie in [0, 1]")
    if e.is_negative:
        raise ConstraintError(f"{where} is negative: {e}")
    return e


def _chart(choice: Any, f: Expr, name: str) -> ChartChoice | str | None:
    """A coordinate, {coordinate: inverse}, "reflection", or None."""
    where = f"chart= of unilateral constraint '{name}'"
    if choice is None or isinstance(choice, ChartChoice) or (isinstance(choice, str) and choice == REFLECTION):
        return choice
    if isinstance(choice, Mapping) and len(choice) == 1:
        ((coordinate, inverse),) = choice.items()
    else:
        coordinate, inverse = choice, None
    if not isinstance(coordinate, Coordinate) or coordinate.order:
        raise ConstraintError(
            f"{where} must be a coordinate, {{coordinate: inverse in s}} or {REFLECTION!r}; it is {shown(choice)}"
        )
    if coordinate not in f.free_symbols:
        raise ConstraintError(f"{where} names {coordinate}, which f does not contain: {text_of(f)}")
    return ChartChoice(coordinate, None if inverse is None else _inverse(inverse, coordinate, where))


def _inverse(formula: Expr | Callable[[Symbol], Any], coordinate: Coordinate, where: str) -> Expr:
    """The inverse in `DISTANCE`; in an expression, the only symbol that is not a coordinate, parameter or time is s."""
    if callable(formula) and not isinstance(formula, Expr):
        inverse = expression(formula(DISTANCE), where)
    else:
        inverse = expression(formula, where)
        names = sorted((s for s in inverse.free_symbols if s != t and not isinstance(s, Jet | Parameter)), key=str)
        if len(names) > 1:
            raise ConstraintError(f"{where}: the inverse has two unknown symbols, {names[0]} and {names[1]}; s is the only one")
        inverse = expression(inverse.xreplace(dict.fromkeys(names, DISTANCE)), where)
    if coordinate in inverse.free_symbols:
        raise ConstraintError(f"{where}: the inverse for {coordinate} contains {coordinate} itself")
    if DISTANCE not in inverse.free_symbols:
        raise ConstraintError(f"{where}: the inverse for {coordinate} does not contain s, the value of f")
    return inverse
