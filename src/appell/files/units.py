"""Numbers with units, "9.81 m/s^2", turned into SI by pint; and the dimensions of expressions.

    kg → {kg: 1},     N → {kg: 1, m: 1, s: −2},     rad → {}

Every term of a sum has the dimensions of the others, and functions take numbers without any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import sympy
from sympy.core.relational import Relational

from appell.errors import ModelError
from appell.files.printed import write_expression
from appell.jets import Jet
from appell.reading import shown
from appell.spelling import did_you_mean

Dimensions = tuple[tuple[str, Fraction], ...]
DIMENSIONLESS: Dimensions = ()
SECOND: Dimensions = (("s", Fraction(1)),)
ENERGY: Dimensions = (("kg", Fraction(1)), ("m", Fraction(2)), ("s", Fraction(-2)))
QUANTITY = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([^\d\s].{0,60})?\s*", re.DOTALL)
UNIT = re.compile(r"[\w\s*/^().·°%µ-]+")


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def unit_of(text: str) -> tuple[float, Dimensions]:
    """(factor to SI, dimensions) of a unit such as N/mm; angles have none, a degree is π/180."""
    if not UNIT.fullmatch(text) or len(text) > 60 or "**" in text.replace(" ", "") or re.search(r"\^\s*-?\d{3}", text):
        raise ModelError(f"{shown(text[:60])} is no unit")
    try:
        unit = _registry().parse_units(text.replace("·", "*").replace("^", "**"))
        zero, found = (_registry().Quantity(x, unit).to_base_units() for x in (0.0, 1.0))
        factor, dimensions = float(found.magnitude), found.units
    except Exception as error:  # pint, and what it reads with, raise many kinds
        known = type(error).__name__ == "UndefinedUnitError"
        hint = did_you_mean(text.strip(), ["m", "kg", "s", "N", "rad", "deg", "Hz", "Pa", "J", "W"]) if known else ""
        raise ModelError(f"{shown(text.strip()[:60])} is no unit{hint}") from None
    if zero.magnitude != 0:
        raise ModelError(f"{shown(text.strip())} does not begin at zero; write kelvins, K")
    powers = dimensions._units.items()
    return factor, _sorted({_SHORT.get(str(name), str(name)): Fraction(p).limit_denominator(99) for name, p in powers})


_SHORT = {"meter": "m", "kilogram": "kg", "second": "s", "ampere": "A", "kelvin": "K", "mole": "mol", "candela": "cd"}


def _sorted(powers: Mapping[str, Fraction]) -> Dimensions:
    return tuple(sorted((name, p) for name, p in powers.items() if p and name != "radian"))


def quantity(text: str) -> tuple[float, Dimensions | None]:
    """(value in SI, dimensions, None where no unit is written) of "250 N/mm", "3 deg", "-0.5"."""
    match = QUANTITY.fullmatch(text)
    if match is None:
        raise ModelError(f"{shown(text[:60])} is no number with a unit, as in '9.81 m/s^2'")
    value, dimensions = float(match[1]), None
    if match[2] and match[2].strip():
        factor, dimensions = unit_of(match[2].strip())
        value *= factor
    if math.isinf(value):
        raise ModelError(f"{shown(text[:60])} is beyond what a float64 can hold, 1.8e308")
    return value, dimensions


def said(dimensions: Dimensions) -> str:
    """kg·m²/s² for people."""
    if not dimensions:
        return "no unit"
    power = lambda p: "" if p == 1 else "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(p)) if p.denominator == 1 else f"^({p})"
    above = "·".join(f"{name}{power(p)}" for name, p in dimensions if p > 0)
    below = "·".join(f"{name}{power(-p)}" for name, p in dimensions if p < 0)
    return f"{above or '1'}/{below}" if below else above


def times(a: Dimensions, b: Dimensions, power: Fraction = Fraction(1)) -> Dimensions:
    """a bᵖ."""
    powers = dict(a)
    for name, p in b:
        powers[name] = powers.get(name, Fraction(0)) + p * power
    return _sorted(powers)


class UnitUnknown(Exception):
    """A symbol has no unit, so that nothing is said."""


def dimensions_of(
    expr: Any, known: Callable[[Any], Dimensions | None], where: str, wanted: Dimensions | None = None
) -> Dimensions:
    """Of an expression; `ModelError` names terms that do not fit, `UnitUnknown` is raised where a symbol has no unit.

    `wanted`: what it should be, so that of two terms that differ the right one is named.
    """
    if expr.is_number:
        return DIMENSIONLESS
    if expr.is_Symbol:
        found = known(expr)
        if found is None:
            raise UnitUnknown
        return found
    inner = lambda e: dimensions_of(e, known, where)
    if expr.is_Mul:
        result = DIMENSIONLESS
        for factor in expr.args:
            result = times(result, inner(factor))
        return result
    if expr.is_Pow:
        if not expr.exp.is_Rational:
            _same(expr.exp, inner(expr.exp), DIMENSIONLESS, where, "a power")
            if not expr.base.is_number:
                _same(expr.base, inner(expr.base), DIMENSIONLESS, where, "the base of a power that is no number")
            return DIMENSIONLESS
        return times(DIMENSIONLESS, inner(expr.base), Fraction(int(expr.exp.p), int(expr.exp.q)))
    if expr.is_Add or isinstance(expr, sympy.Max | sympy.Min | sympy.Mod | sympy.atan2):
        found = _terms(expr, inner, where, wanted)
        return DIMENSIONLESS if isinstance(expr, sympy.atan2) else found
    if expr.is_Piecewise:
        for relation in set().union(*(when.atoms(Relational) for _, when in expr.args)):
            _terms(relation, inner, where)
        return _terms(sympy.Tuple(*(value for value, _ in expr.args)), inner, where)
    if isinstance(expr, sympy.Abs | sympy.floor | sympy.ceiling):
        return inner(expr.args[0])
    if isinstance(expr, sympy.sign | sympy.Heaviside):
        inner(expr.args[0])
        return DIMENSIONLESS
    for argument in expr.args:
        _same(argument, inner(argument), DIMENSIONLESS, where, f"the argument of {expr.func.__name__}")
    return DIMENSIONLESS


def _terms(expr: Any, inner: Callable[[Any], Dimensions], where: str, wanted: Dimensions | None = None) -> Dimensions:
    """Of terms that must agree; numbers agree with angles alone, zero with everything."""
    found = [(term, inner(term)) for term in expr.args if term != 0]
    if not found:
        return DIMENSIONLESS
    every = [dimensions for _, dimensions in found]
    usual = wanted if wanted in every else max(every, key=every.count)
    for term, dimensions in found:
        if dimensions != usual:
            raise ModelError(f"{where}: {write_expression(term)} has {said(dimensions)}, the other terms {said(usual)}")
    return usual


def _same(expr: Any, found: Dimensions, wanted: Dimensions, where: str, what: str) -> None:
    if found != wanted:
        raise ModelError(f"{where}: {write_expression(expr)}, {what}, has {said(found)} and should have {said(wanted)}")


def derived(symbol: Any, units: Mapping[str, Dimensions]) -> Dimensions | None:
    """Of a symbol: letters by name, each dot divides by a second."""
    if str(symbol) == "t":
        return SECOND
    name = symbol.letter if isinstance(symbol, Jet) else symbol.name
    base = units.get(name)
    dots = symbol.order if isinstance(symbol, Jet) else 0
    return None if base is None else times(base, SECOND, Fraction(-dots))


__all__ = [
    "DIMENSIONLESS",
    "ENERGY",
    "SECOND",
    "Dimensions",
    "UnitUnknown",
    "derived",
    "dimensions_of",
    "quantity",
    "said",
    "times",
    "unit_of",
]  # fmt: skip
