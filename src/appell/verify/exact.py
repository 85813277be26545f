"""Exact systems and exact states: floats become the rationals they were written as, states satisfy constraints to 50 digits."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Rational, Symbol

from appell.errors import ModelError, SingularConfiguration
from appell.forms.base import tower
from appell.forms.linear import Undetermined, solve_linear
from appell.forms.numbers import Arithmetic, Tape
from appell.jets import Parameter, t
from appell.model import System

State = dict[Symbol, Any]

DEPENDENT = 1e-10
"""A pivot below this counts as a dependent row: redundant rows are left out of Newton's steps, and follow."""


def exact(value: Any) -> Any:
    """The same thing with every float as the rational of its shortest decimal: 9.81 becomes 981/100."""
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
    """The system with floats turned into rationals; itself where it has none."""
    given = {
        "kinetic": system.kinetic_given,
        "potential": system.potential,
        "forces": dict(system._given["forces"] or {}),
        "constraints": system.constraints,
        "bodies": system.bodies,
        "loads": system.loads,
        "kinematics": None if system._given["kinematics"] is None else dict(system._given["kinematics"]),
    }
    turned = exact(given)
    return system if _same(given, turned) else system.replace(**turned)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping):
        return all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return all(_same(a, b) for a, b in zip(one, other, strict=True))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        return all(_same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
    return bool(one == other) and not (isinstance(one, float | np.floating))


def exact_parameters(system: System, given: Mapping[Any, Any], seed: int) -> dict[Parameter, Rational]:
    """Values by symbol: those given (by symbol or name), and random rationals in (½, 3/2) for the others."""
    by_name = {str(p): p for p in system.parameters}
    unknown = [str(key) for key in given if str(key) not in by_name]
    if unknown:
        raise ModelError(f"{unknown[0]} is not a parameter of '{system.name}'; it has: {', '.join(by_name) or 'none'}")
    rng = np.random.default_rng(seed)
    values = {p: Rational(int(rng.integers(51, 150)), 100) for p in system.parameters}
    for p in values:
        if p.is_integer:
            values[p] = Rational(int(rng.integers(1, 4)))
        if p.is_nonpositive:
            values[p] = -values[p]
    values.update({by_name[str(key)]: Rational(exact(sympy.sympify(value))) for key, value in given.items()})
    return values


class Polish:
    """Newton's method in many digits: positions onto the holonomic constraints, then velocities onto all of order 0 and 1."""

    def __init__(self, system: System, numbers: Arithmetic):
        self.system, self.numbers = system, numbers
        positions = [f for f, c in zip(system.residuals, system.constraints, strict=True) if c.order == 0]
        for ball in system.quaternions:
            positions.append(sympy.Add(*(x**2 for x in ball.coordinates)) - 1)
        chosen = [(i, c.order) for i, c in enumerate(system.constraints) if c.order < 2]
        velocities = [tower(system, i)[1 - order] for i, order in chosen]
        self._levels = [
            (symbols, len(f), Tape([*f, *(sympy.diff(e, s) for e in f for s in symbols)]))
            for f, symbols in ((positions, system.coordinates), (velocities, system.velocities))
        ]

    def __call__(self, time: float, q: Any, v: Any, parameters: Mapping[Symbol, Any]) -> State | None:
        """The exact state near (q, v); None where Newton does not arrive."""
        given = {t: time, **dict(zip(self.system.coordinates, q, strict=True))}
        given |= dict(zip(self.system.velocities, v, strict=True))
        state = {s: self.numbers.number(Rational(Fraction(float(x)))) for s, x in given.items()}
        state |= {p: self.numbers.number(x) for p, x in parameters.items()}
        try:
            return state if all(self._newton(state, *level) for level in self._levels) else None
        except (Undetermined, SingularConfiguration):
            return None

    def _newton(self, state: State, symbols: tuple[Symbol, ...], count: int, tape: Tape) -> bool:
        n = len(symbols)
        for _ in range(12):
            flat = tape(state, self.numbers)
            f, J = flat[:count], [flat[count + i * n : count + (i + 1) * n] for i in range(count)]
            if max((abs(x) for x in f), default=0) < 10.0 ** -(self.numbers.digits + 3):
                return True
            step = solve_linear(J, [-x for x in f], [False] * n, DEPENDENT, [""] * n)
            for s, d in zip(symbols, step, strict=True):
                state[s] += d
        return False
