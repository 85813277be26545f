"""The frequency of what drives a system: time in sines and cosines of multiples of one ω."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import sympy
from sympy import Expr, cos, sin

from appell.errors import ModelError
from appell.jets import expression, t
from appell.model import System
from appell.reading import finite, name_in, numeric_function, symbolic
from appell.tree.tree_system import TreeSystem


def base_frequency(parts: Iterable[Any], name: str) -> Expr | None:
    """ω of which all frequencies are multiples; None without time; refused where time stands elsewhere."""
    parts = [symbolic(part, "a part of the system") for part in parts]
    waves = sorted({e for part in parts for e in part.atoms(sin, cos) if e.has(t)}, key=str)
    slopes = [sympy.simplify(sympy.diff(e.args[0], t)) for e in waves]
    outside = [part.xreplace({e: sympy.Dummy() for e in waves}) for part in parts]
    strange = [part for part, rest in zip(parts, outside, strict=True) if rest.has(t)]
    if strange or any(s.has(t) for s in slopes):
        where = strange[0] if strange else next(e for e, s in zip(waves, slopes, strict=True) if s.has(t))
        raise ModelError(f"time must stand in sines and cosines of multiples of one frequency in '{name}', not in {where}")
    if not waves:
        return None
    first = slopes[0]
    ratios = [_rational(sympy.simplify(s / first)) for s in slopes]
    if not all(ratio.is_Rational for ratio in ratios):
        several = ", ".join(map(str, dict.fromkeys(slopes)))
        raise ModelError(f"'{name}' is driven by several frequencies, {several}; one and its multiples are taken")
    unit = sympy.Abs(ratios[0])
    for ratio in ratios[1:]:
        unit = sympy.gcd(unit, sympy.Abs(ratio))
    omega: Any = first * unit
    return -omega if omega.could_extract_minus_sign() else omega


def _rational(ratio: Any) -> Any:
    """A ratio of floats as the small fraction that it is, up to rounding."""
    if not ratio.is_Float:
        return ratio
    near = Fraction(float(ratio)).limit_denominator(1000)
    close = abs(float(near) / float(ratio) - 1) < 1e-12
    return sympy.Rational(near.numerator, near.denominator) if close else ratio


def driving_period(system: System) -> Expr | None:
    """2π/ω of what stands in the system; None where it is autonomous."""
    parts = [*system.forces, system.potential, *system.residuals, *system.rates.values()]
    parts += [face.function for face in system.unilateral]
    parts += [] if isinstance(system, TreeSystem) else [system.kinetic]
    try:
        omega = base_frequency(parts, system.name)
    except ModelError as error:
        raise ModelError(f"{error}; give period=") from None
    return None if omega is None else 2 * sympy.pi / omega


def period_law(system: System, period: Any) -> Any:
    """A function of {parameter name: value} → period, s: of a number, an expression in parameters, or what drives the system.

    None where nothing is given and the system is autonomous.
    """
    law = driving_period(system) if period is None else expression(period, "period=")
    if law is None:
        return None
    symbols = sorted(law.free_symbols, key=str)
    known = {str(p) for p in system.parameters}
    strange = [str(s) for s in symbols if str(s) not in known]
    if strange:
        raise ModelError(f"period= contains {strange[0]}, which is no parameter of '{system.name}'")
    value = numeric_function(symbols, law)

    def of(values: Mapping[str, float]) -> float:
        T = finite(value(*(values[str(s)] for s in symbols)), f"the period {name_in(law)}", infinite=True)
        if not 0 < T < float("inf"):
            raise ModelError(f"the period {law} is {T:g} s: it must be positive")
        return T

    return of


__all__ = ["base_frequency", "driving_period", "period_law"]
