"""Exact systems, parameters and states: floats become the rationals of their decimals."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Rational, Symbol

from appell.forms.engine.constrained_states import State
from appell.forms.engine.evaluation import Arithmetic
from appell.jets import Parameter, t
from appell.model import System
from appell.model.values import bound
from appell.reading import symbolic, text_of


def exact(value: Any) -> Any:
    """The value with every float replaced by the rational of its shortest decimal: 9.81 becomes 981/100."""
    if isinstance(value, float | np.floating):
        return Rational(repr(float(value)))
    if isinstance(value, sympy.MatrixBase):
        return value.applyfunc(exact)
    if isinstance(value, Expr):
        return value.xreplace({x: Rational(_decimal(x)) for x in value.atoms(sympy.Float)})
    if isinstance(value, Mapping):
        return {key: exact(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(exact(entry) for entry in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        twin = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(twin, field.name, exact(getattr(value, field.name)))
        return twin
    return value


def _decimal(x: sympy.Float) -> str:
    return repr(float(x)) if x._prec <= 53 else str(x)


def exact_system(system: System) -> System:
    """The system with floats replaced by rationals, in walls, frictions and resets too; the same object if it has none."""
    parts = {
        "kinetic": system.kinetic_given,
        "potential": system.potential_given,
        "forces": dict(system._given["forces"] or {}),
        "constraints": system.said_one_way()["constraints"],
        "bodies": system.bodies,
        "loads": system.loads,
        "rates": None if system._given["rates"] is None else dict(system._given["rates"]),
        "kinematics": None if system._given["kinematics"] is None else dict(system._given["kinematics"]),
    }
    exact_parts = exact(parts)
    return system if _same(parts, exact_parts) else system.replace(**exact_parts)


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, Mapping):
        return all(_same(x[key], y[key]) for key in x)
    if isinstance(x, list | tuple):
        return all(_same(a, b) for a, b in zip(x, y, strict=True))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return all(_same(getattr(x, f.name), getattr(y, f.name)) for f in dataclasses.fields(x))
    return bool(x == y) and not (isinstance(x, float | np.floating))


def exact_parameters(system: System, given: Mapping[Any, Any], seed: int) -> dict[Parameter, Any]:
    """Values by symbol: those given (by symbol or name), and random rationals in (½, 3/2) for the others."""
    by_name = {str(p): p for p in system.parameters}
    bound(system.parameters, given, system.name, optional=system.parameters)
    rng = np.random.default_rng(seed)
    values: dict[Parameter, Any] = {p: Rational(int(rng.integers(51, 150)), 100) for p in system.parameters}
    for p in values:
        if p.is_integer:
            values[p] = Rational(int(rng.integers(1, 4)))
        if p.is_nonpositive:
            values[p] = -values[p]
    for key, value in given.items():
        number = exact(symbolic(value, f"the value of parameter '{key}'"))
        values[by_name[text_of(key)]] = Rational(number if number.is_Rational else exact(float(number)))
    return values


def exact_state(system: System, time: float, q: Any, v: Any, parameters: Mapping[Symbol, Any], numbers: Arithmetic) -> State:
    """A float state, unchanged, in many digits."""
    floats = {t: time, **dict(zip(system.positions, q, strict=True)), **dict(zip(system.velocities, v, strict=True))}
    state = {s: numbers.number(Rational(Fraction(float(x)))) for s, x in floats.items()}
    return state | {p: numbers.number(x) for p, x in parameters.items()}
