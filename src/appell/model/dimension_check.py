"""Dimension check of a system: inconsistencies are reported where the units of all symbols involved are known.

    [T] = [V] = E = kg m²/s²,     [Q_i] = E/([v_i] s),     [Λ] = E/([f] sᵏ) of a row f of order k,     [λ_T] = E/([slip] s)

A coefficient of friction is λ_T/Λ, a restitution is dimensionless, a rate is its state per second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import sympy

from appell.errors import ModelError
from appell.model.bodies import Particle
from appell.model.multiplier import Multiplier
from appell.model.system import System
from appell.model.units import (
    DIMENSIONLESS,
    ENERGY,
    SECOND,
    Dimensions,
    UnitUnknown,
    derived,
    dimensions_of,
    times,
    unit_of,
    unit_text,
)

KILOGRAM: Dimensions = (("kg", Fraction(1)),)
METRE: Dimensions = (("m", Fraction(1)),)
FORCE_UNIT: Dimensions = (("kg", Fraction(1)), ("m", Fraction(1)), ("s", Fraction(-2)))


def wrong_dimensions(
    system: System, units: Mapping[str, Dimensions], functions: Mapping[Any, Any], write: Callable[[Any], str] = str
) -> list[str]:  # fmt: skip
    """The inconsistencies; `units`: symbol → dimensions, `functions`: prescribed function → its expression.

    `write`: how expressions are shown.
    """
    if system.joint_units is not None:
        return _wrong_joints(system.joint_units, units)
    check = _DimensionCheck(system, units, write)
    check.energies_and_forces()
    check.rows()
    check.frictions()
    check.changes()
    check.bodies()
    for function, value in functions.items():
        if isinstance(value, sympy.Basic):
            check.fits(value, f"the prescribed function {function}", derived(function, units))
    return list(dict.fromkeys(check.inconsistencies))


def _wrong_joints(joints: Mapping[str, str], units: Mapping[str, Dimensions]) -> list[str]:
    """Coordinates of a tree given in other units than those of their joints.

    Masses, lengths, limits and losses of a tree are numbers in SI: energies, forces and rows have no dimensions to check.
    """
    known = {name: unit_of(unit)[1] for name, unit in joints.items() if unit != "1"}
    odd = [(name, unit) for name, unit in units.items() if known.get(name, unit) != unit]
    return [f"{name} is given with {unit_text(unit)}, and is in {joints[name]}" for name, unit in odd]


class _DimensionCheck:
    """The checks of one system, which collect its inconsistencies."""

    def __init__(self, system: System, units: Mapping[str, Dimensions], write: Callable[[Any], str]):
        self.system, self.units, self.write = system, units, write
        self.inconsistencies: list[str] = []

    def known(self, symbol: Any) -> Dimensions | None:
        """The dimensions of a symbol, or of the multiplier of a row."""
        if isinstance(symbol, Multiplier):
            return self._multipliers().get(symbol.label)
        return derived(symbol, self.units)

    def _multipliers(self) -> dict[str, Dimensions]:
        """Multipliers of every row and face whose unit is known."""
        dimensions = {}
        for name, function, order in self._functions():
            try:
                unit = dimensions_of(function, lambda s: derived(s, self.units), name)
            except (UnitUnknown, ModelError):
                continue
            dimensions[name] = _over(ENERGY, times(unit, SECOND, Fraction(order)))
        return dimensions

    def _functions(self) -> list[tuple[str, Any, int]]:
        """Rows and faces: name, function and order."""
        rows = zip(self.system.constraints, self.system.residuals, strict=True)
        return [(r.name, f, r.order) for r, f in rows] + [(f.name, f.function, 0) for f in self.system.unilateral]

    def fits(self, expr: Any, where: str, wanted: Dimensions | None = None) -> Dimensions | None:
        """Dimensions of an expression, which should be `wanted`; None where a symbol has no unit, or where it is
        inconsistent."""
        if expr is None or expr.is_number:  # a plain number is in SI
            return None
        try:
            dimensions = dimensions_of(expr, self.known, where, wanted, self.write)
        except UnitUnknown:
            return None
        except ModelError as error:
            self.inconsistencies.append(str(error))
            return None
        if wanted is not None and dimensions != wanted:
            energy = wanted == ENERGY and where in ("kinetic", "potential")
            should = f", and an energy has {unit_text(wanted)}" if energy else f" and should have {unit_text(wanted)}"
            self.inconsistencies.append(f"{where}: it has {unit_text(dimensions)}{should}")
            return None
        return dimensions

    def energies_and_forces(self) -> None:
        self.fits(self.system.kinetic, "kinetic", ENERGY)
        self.fits(self.system.potential, "potential", ENERGY)
        for velocity, force in zip(self.system.velocities, self.system.forces, strict=True):
            unit = derived(velocity, self.units)
            self.fits(force, f"the force for {velocity}", None if unit is None else _over(ENERGY, times(unit, SECOND)))

    def rows(self) -> None:
        for row, residual in zip(self.system.constraints, self.system.residuals, strict=True):
            self.fits(residual, f"constraint '{row.name}'")
        for face in self.system.unilateral:
            self.fits(face.function, f"wall '{face.name}'")
            self.fits(face.restitution, f"the restitution of wall '{face.name}'", DIMENSIONLESS)

    def frictions(self) -> None:
        forces = self._multipliers()
        for friction in self.system.frictions:
            where = f"friction '{friction.name}'"
            slips = [self.fits(component, f"the slip of {where}") for component in friction.slip]
            slip = next((unit for unit in slips if unit is not None), None)
            if slip is None:
                continue
            for other in slips:
                if other is not None and other != slip:
                    parts = f"one part has {unit_text(slip)}, another {unit_text(other)}"
                    self.inconsistencies.append(f"the slip of {where}: {parts}")
            size = _over(ENERGY, times(slip, SECOND))
            self.fits(friction.limit, f"the limit of {where}", size)
            self.fits(friction.regularise, f"regularise of {where}", slip)
            pressing = friction.normal[0] if isinstance(friction.normal, tuple) else friction.normal
            normal = forces.get(pressing if isinstance(pressing, str) else getattr(pressing, "name", ""))
            if normal is not None:
                self.fits(friction.coefficient, f"the coefficient of {where}", _over(size, normal))
                self.fits(friction.static, f"the static coefficient of {where}", _over(size, normal))

    def changes(self) -> None:
        """Rates of coordinates and states, and resets."""
        for symbol, rate in self.system.rates.items():
            unit = derived(symbol, self.units)
            self.fits(rate, f"the rate of {symbol}", None if unit is None else _over(unit, SECOND))
        for reset in self.system.resets:
            self.fits(reset.guard, f"the guard of reset '{reset.name}'")
            for state, value in reset.map.items():
                self.fits(value, f"reset '{reset.name}', the value of {state}", derived(state, self.units))

    def bodies(self) -> None:
        for body in self.system.bodies:
            self.fits(body.mass, f"the mass of '{body.name}'", KILOGRAM)
            for entry in body.position:
                self.fits(entry, f"the position of '{body.name}'", METRE)
            inertia = () if isinstance(body, Particle) else body.inertia
            for entry in inertia:
                self.fits(entry, f"the inertia of '{body.name}'", times(KILOGRAM, METRE, Fraction(2)))
        for load in self.system.loads:
            for entry in getattr(load, "at", ()):
                self.fits(entry, "the point of a force", METRE)
            expected = times(FORCE_UNIT, METRE) if hasattr(load, "on") else FORCE_UNIT
            for entry in getattr(load, "vector", ()):
                self.fits(entry, "a torque" if hasattr(load, "on") else "a force", expected)


def units_of_multipliers(system: System, units: Mapping[str, Dimensions]) -> dict[str, Dimensions]:
    """Name of a row or face → dimensions of its multiplier Λ, where they are known."""
    return _DimensionCheck(system, units, str)._multipliers()


def _over(a: Dimensions, b: Dimensions) -> Dimensions:
    """a/b."""
    return times(a, b, Fraction(-1))


__all__ = ["units_of_multipliers", "wrong_dimensions"]
