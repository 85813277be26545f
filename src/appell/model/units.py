"""Numbers with units, "9.81 m/s^2", converted to SI by pint; and the dimensions of expressions.

    kg → {kg: 1},     N → {kg: 1, m: 1, s: −2},     rad → {}

All terms of a sum have the same dimensions, and functions take dimensionless arguments. A symbol of unknown unit is compatible
with everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy
from sympy.core.relational import Relational

from appell.errors import ModelError
from appell.jets import Jet
from appell.reading import out_of_range, shown
from appell.spelling import did_you_mean

Dimensions = tuple[tuple[str, Fraction], ...]
DIMENSIONLESS: Dimensions = ()
SECOND: Dimensions = (("s", Fraction(1)),)
ENERGY: Dimensions = (("kg", Fraction(1)), ("m", Fraction(2)), ("s", Fraction(-2)))
IN_MECHANICS = (
    "newton_metre = newton * metre = Nm", "newton_metre_second = newton * metre * second = Nms",
    "pascal_second = pascal * second = Pas",
)  # fmt: skip
"""Units as they are written in mechanics: pint reads Nm as km/g, a number of yarns, Nms and Pas as plurals."""
RADIANS = re.compile(r"\brads\b")
"""In pint these are a dose of radiation."""
QUANTITY = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([^\d\s].{0,60})?\s*", re.DOTALL)
UNIT = re.compile(r"[\w\s*/^().·°%µ-]+")


@cache
def _registry() -> Any:
    import pint

    registry = pint.UnitRegistry(autoconvert_offset_to_baseunit=True, on_redefinition="ignore")
    for line in IN_MECHANICS:
        registry.define(line)
    return registry


def unit_of(text: str) -> tuple[float, Dimensions]:
    """(factor to SI, dimensions) of a unit such as N/mm; angles have none, a degree is π/180."""
    if not UNIT.fullmatch(text) or len(text) > 60 or "**" in text.replace(" ", "") or re.search(r"\^\s*-?\d{3}", text):
        raise ModelError(f"{shown(text[:60])} is not a unit")
    try:
        unit = _registry().parse_units(RADIANS.sub("rad", text).replace("·", "*").replace("^", "**"))
        zero, one = (_registry().Quantity(x, unit).to_base_units() for x in (0.0, 1.0))
        factor, dimensions = float(one.magnitude), one.units
    except Exception as error:  # pint and its parser raise various types
        is_undefined = type(error).__name__ == "UndefinedUnitError"
        hint = did_you_mean(text.strip(), ["m", "kg", "s", "N", "rad", "deg", "Hz", "Pa", "J", "W"]) if is_undefined else ""
        raise ModelError(f"{shown(text.strip()[:60])} is not a unit{hint}") from None
    if zero.magnitude != 0:
        raise ModelError(f"{shown(text.strip())} does not begin at zero; write kelvins, K")
    powers = dimensions._units.items()
    return factor, _sorted({UNIT_SYMBOLS.get(str(name), str(name)): Fraction(p).limit_denominator(99) for name, p in powers})


def _sorted(powers: Mapping[str, Fraction]) -> Dimensions:
    return tuple(sorted((name, p) for name, p in powers.items() if p and name != "radian"))


def quantity(text: str) -> tuple[float, Dimensions | None]:
    """(value in SI, dimensions, None where no unit is written) of "250 N/mm", "3 deg", "-0.5"."""
    match = QUANTITY.fullmatch(text)
    if match is None:
        raise ModelError(f"{shown(text[:60])} is not a number with a unit, as in '9.81 m/s^2'")
    value, dimensions = float(match[1]), None
    if match[2] and match[2].strip():
        factor, dimensions = unit_of(match[2].strip())
        value *= factor
    if reason := out_of_range(match[1], value):
        raise ModelError(f"{shown(text[:60])} {reason}")
    return value, dimensions


def unit_text(dimensions: Dimensions) -> str:
    """The dimensions as text: kg·m²/s²."""
    if not dimensions:
        return "no unit"
    power = lambda p: "" if p == 1 else "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(p)) if p.denominator == 1 else f"^({p})"
    numerator = "·".join(f"{name}{power(p)}" for name, p in dimensions if p > 0)
    denominator = "·".join(f"{name}{power(-p)}" for name, p in dimensions if p < 0)
    return f"{numerator or '1'}/{denominator}" if denominator else numerator


def times(a: Dimensions, b: Dimensions, power: Fraction = Fraction(1)) -> Dimensions:
    """a bᵖ."""
    powers = dict(a)
    for name, p in b:
        powers[name] = powers.get(name, Fraction(0)) + p * power
    return _sorted(powers)


class UnitUnknown(Exception):
    """A symbol has no unit, so that the dimensions are not known."""


def dimensions_of(
    expr: Any, known: Callable[[Any], Dimensions | None], where: str, wanted: Dimensions | None = None,
    write: Callable[[Any], str] = str,
) -> Dimensions:  # fmt: skip
    """The dimensions of an expression; raises `ModelError` for inconsistent terms, `UnitUnknown` where a symbol has no unit.

    `wanted`: the expected dimensions, to name the wrong one of two inconsistent terms; `write`: how terms are shown.
    """
    if expr.is_number:
        return DIMENSIONLESS
    if expr.is_Symbol:
        dimensions = known(expr)
        if dimensions is None:
            raise UnitUnknown
        return dimensions
    inner = lambda e: dimensions_of(e, known, where, None, write)
    if expr.is_Mul:
        result = DIMENSIONLESS
        for factor in expr.args:
            result = times(result, inner(factor))
        return result
    if expr.is_Pow:
        if not expr.exp.is_Rational:
            _refuse_unit(expr.exp, inner(expr.exp), where, "a power", write)
            if not expr.base.is_number:
                _refuse_unit(expr.base, inner(expr.base), where, "the base of a power that is no number", write)
            return DIMENSIONLESS
        return times(DIMENSIONLESS, inner(expr.base), Fraction(int(expr.exp.p), int(expr.exp.q)))
    if expr.is_Add or isinstance(expr, sympy.Max | sympy.Min | sympy.Mod | sympy.atan2):
        if not isinstance(expr, sympy.atan2):
            return _terms(expr, inner, where, write, wanted)
        _or_unknown(lambda: _terms(expr, inner, where, write))
        return DIMENSIONLESS
    if expr.is_Piecewise:
        for relation in set().union(*(when.atoms(Relational) for _, when in expr.args)):
            _or_unknown(lambda r=relation: _terms(r, inner, where, write))
        return _terms(sympy.Tuple(*(value for value, _ in expr.args)), inner, where, write)
    if isinstance(expr, sympy.Abs | sympy.floor | sympy.ceiling):
        return inner(expr.args[0])
    if isinstance(expr, sympy.sign | sympy.Heaviside):
        _or_unknown(lambda: inner(expr.args[0]))
        return DIMENSIONLESS
    for argument in expr.args:
        dimensions = _or_unknown(lambda e=argument: inner(e))
        if dimensions is not None:
            _refuse_unit(argument, dimensions, where, f"the argument of {expr.func.__name__}", write)
    return DIMENSIONLESS


def _terms(
    expr: Any, inner: Callable[[Any], Dimensions], where: str, write: Callable[[Any], str], wanted: Dimensions | None = None
) -> Dimensions:  # fmt: skip
    """The common dimensions of terms; numbers are compatible only with angles, zero and terms of unknown unit with
    everything."""
    terms = [term for term in expr.args if term != 0]
    dimensioned = [(term, unit) for term in terms if (unit := _or_unknown(lambda e=term: inner(e))) is not None]
    if not dimensioned and terms:
        raise UnitUnknown
    if not dimensioned:
        return DIMENSIONLESS
    every = [dimensions for _, dimensions in dimensioned]
    usual = wanted if wanted in every else max(every, key=every.count)
    for term, dimensions in dimensioned:
        if dimensions != usual:
            raise ModelError(f"{where}: {write(term)} has {unit_text(dimensions)}, the other terms {unit_text(usual)}")
    return usual


def _or_unknown(act: Callable[[], Dimensions]) -> Dimensions | None:
    """The result, or None where a unit is not known."""
    try:
        return act()
    except UnitUnknown:
        return None


def _refuse_unit(expr: Any, dimensions: Dimensions, where: str, description: str, write: Callable[[Any], str]) -> None:
    """Raises unless an expression is dimensionless."""
    if dimensions != DIMENSIONLESS:
        units = f"has {unit_text(dimensions)} and should have {unit_text(DIMENSIONLESS)}"
        raise ModelError(f"{where}: {write(expr)}, {description}, {units}")


WITHOUT_UNIT = frozenset({float, int, type(None), np.float64, np.ndarray})
"""Types whose values never have a unit."""


def is_quantity(value: Any) -> bool:
    """Whether it is a pint quantity, scalar or array, of any registry."""
    if type(value) in WITHOUT_UNIT:
        return False
    return all(hasattr(value, attribute) for attribute in ("to", "magnitude", "dimensionality", "units"))


def in_si(value: Any, where: str) -> tuple[Any, Dimensions]:
    """(number or array in SI, dimensions) of a quantity of pint."""
    try:
        powers = {UNIT_OF_DIMENSION[name]: Fraction(p).limit_denominator(99) for name, p in dict(value.dimensionality).items()}
        unit = "*".join(f"{UNIT_NAMES[name]}**({p})" for name, p in powers.items() if p) or "radian"
        number = value.to(unit).magnitude
    except Exception:  # other dimensions, or an object that only looks like a quantity
        raise ModelError(f"{where}: {shown(value)} cannot be converted to SI units") from None
    return number, _sorted(powers)


UNIT_OF_DIMENSION = {
    "[mass]": "kg", "[length]": "m", "[time]": "s", "[current]": "A", "[temperature]": "K", "[substance]": "mol",
    "[luminosity]": "cd",
}  # fmt: skip
"""Pint dimension → its unit."""
UNIT_NAMES = {"kg": "kilogram", "m": "meter", "s": "second", "A": "ampere", "K": "kelvin", "mol": "mole", "cd": "candela"}
UNIT_SYMBOLS = {long: short for short, long in UNIT_NAMES.items()}


def derived(symbol: Any, units: Mapping[str, Dimensions]) -> Dimensions | None:
    """The dimensions of a symbol: by name, with each dot dividing by a second."""
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
    "in_si",
    "is_quantity",
    "quantity",
    "times",
    "unit_of",
    "unit_text",
]  # fmt: skip
