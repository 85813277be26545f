"""Pint quantities in the arguments of a run: converted to SI, with a check of their dimensions.

    ap.simulate(system, {phi: Q_(30, "deg")}, Q_(2, "min"), {m: Q_(2, "kg"), g: Q_(9.81, "m/s^2"), l: Q_(40, "cm")})

The core computes in SI. Known units are passed to the motion, whose datasets, plots and reports show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from appell.errors import ModelError
from appell.jets import Jet
from appell.model.described import system_of
from appell.model.dimension_check import wrong_dimensions
from appell.model.system import System
from appell.model.units import SECOND, Dimensions, in_si, is_quantity, times, unit_text
from appell.reading import name_in, shown


class GivenInSI(NamedTuple):
    """Starts and parameters as numbers in SI, and the dimensions of symbols known from their units."""

    start: Any
    parameters: Any
    units: Mapping[str, Dimensions]


def given_in_si(system: Any, start: Any, parameters: Any) -> GivenInSI:
    """Raises `ModelError` for contradictions: two units of one symbol, or an inconsistent term of the system."""
    tables = {"start=": start, "parameters=": parameters}
    if not any(is_quantity(value) for table in tables.values() if isinstance(table, Mapping) for value in table.values()):
        return GivenInSI(start, parameters, {})
    compiled_system = getattr(system, "system", None)  # a compiled run
    system = compiled_system if isinstance(compiled_system, System) else system_of(system, "a call with units")
    symbols = {str(s): s for s in (*system.positions, *system.velocities, *system.parameters, *system.prescribed)}
    units: dict[str, Dimensions] = {}
    begin, values = (_table_in_si(table, symbols, units, name) for name, table in tables.items())
    wrong = wrong_dimensions(system, units, {})
    if wrong:
        raise ModelError(f"the units that are given do not fit the system: {'; '.join(wrong[:3])}")
    return GivenInSI(begin, values, units)


def _table_in_si(table: Any, symbols: Mapping[str, Any], units: dict[str, Dimensions], name: str) -> Any:
    if not isinstance(table, Mapping):
        return table
    plain = {}
    for key, value in table.items():
        plain[key] = value
        if is_quantity(value):
            text = name_in(key)
            plain[key], unit = in_si(value, f"{name[:-1]} of {text}")
            _record_unit(symbols.get(text), unit, units, text)
    return plain


def _record_unit(symbol: Any, unit: Dimensions, units: dict[str, Dimensions], text: str) -> None:
    """Records the unit of a symbol, also from that of its velocity."""
    letter, dots = (symbol.letter, symbol.order) if isinstance(symbol, Jet) else (text, 0)
    base = times(unit, SECOND, Fraction(dots))
    if units.setdefault(letter, base) != base:
        raise ModelError(f"the unit of {text}, {unit_text(unit)}, does not fit that of {letter}, {unit_text(units[letter])}")


def in_seconds(value: Any, name: str) -> Any:
    """A time, or an array of times, in s; a plain number is already in s."""
    if not is_quantity(value):
        return value
    seconds, unit = in_si(value, name)
    if unit != SECOND:
        raise ModelError(f"{name} is a time: {shown(value)} has {unit_text(unit)} and should have s")
    return seconds


__all__ = ["given_in_si", "in_seconds"]
