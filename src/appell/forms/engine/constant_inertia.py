"""Coefficients that are constant although they do not look constant, and coordinates fixed by holonomic constraints, for
shorter equations.

(c(q) a + …)/d(q) = (A + A₁) a + …        where ∂E/∂a does not change with the state
q = s(t, other coordinates)               from a holonomic row linear in q, substituted into solutions: ρ = R + r on a cylinder
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sympy

from appell import tidy
from appell.errors import SingularConfiguration
from appell.forms.engine.derivation import Replacement, partial
from appell.forms.engine.evaluation import Tape, arithmetic
from appell.forms.engine.special_states import probe
from appell.jets import Jet, t, total_derivative
from appell.model import System

LONG_EQUATION = 200
"""Length of an equation, in characters, from which constant coefficients are looked for."""
CONSTANT_DIGITS = 25


def constant_terms(side: Any, accelerations: Iterable[Any]) -> tuple[Any, Any]:
    """(Σ c a, remainder) of a side of an equation, for coefficients c of accelerations that are in fact constant."""
    constants = {}
    if tidy.characters(side) > LONG_EQUATION:
        for a in accelerations:
            slope = partial(a)(side)
            if slope != 0 and (value := _constant(slope)) is not None:
                constants[a] = value
    if not constants:
        return sympy.Integer(0), side
    return sympy.Add(*(c * a for a, c in constants.items())), Replacement(dict.fromkeys(constants, sympy.Integer(0)))(side)


def _constant(expr: Any) -> Any:
    """The value, in parameters, of an expression that is constant in coordinates and velocities; None if it is not."""
    symbols = sorted((s for s in tidy.parts(expr) if s.is_Symbol), key=str)
    moving = [s for s in symbols if isinstance(s, Jet) or s == t]
    if not moving:
        return None  # unchanged
    tape, numbers, values = Tape([expr]), arithmetic(40), []
    for k in range(4):
        at = {s: numbers.number(probe(s, i, k if s in moving else 0)) for i, s in enumerate(symbols)}
        try:
            values += tape(at, numbers)
        except SingularConfiguration:
            return None
    if any(abs(x - values[0]) > 10.0**-CONSTANT_DIGITS * abs(values[0]) for x in values):
        return None
    for value in (sympy.Integer(0), sympy.pi / 2, sympy.Integer(1)):
        constant = expr.xreplace(dict.fromkeys(moving, value))
        if not constant.has(sympy.nan, sympy.zoo, sympy.oo):
            return sympy.factor_terms(sympy.cancel(constant))
    return None


def fixed_coordinates(system: System) -> dict[Any, Any]:
    """Coordinate or velocity → its value by a holonomic row c q = s, c a constant, s of time and other coordinates."""
    fixed: dict[Any, Any] = {}
    for c, f in zip(system.constraints, system.residuals, strict=True):
        for q in system.coordinates if c.order == 0 else ():
            slope = partial(q)(f)
            moves = any(isinstance(s, Jet) or s == t for s in slope.free_symbols)
            if q.d not in system.velocities or q in fixed or slope == 0 or moves:
                continue
            remainder: Any = f.xreplace({q: sympy.Integer(0)})
            value = sympy.expand(-remainder / slope)
            if not value.free_symbols & {q, *fixed} and not any(q in v.free_symbols for v in fixed.values()):
                fixed |= {q: sympy.factor_terms(value), q.d: total_derivative(value)}
                break
    return fixed


def on_constraints(values: Mapping[Any, Any], fixed: Mapping[Any, Any]) -> dict[Any, Any] | None:
    """Solutions with fixed coordinates substituted; None if there are none."""
    occurring = set().union(*(e.free_symbols for e in values.values())) & set(fixed)
    return {x: e.xreplace({s: fixed[s] for s in occurring}) for x, e in values.items()} if occurring else None
