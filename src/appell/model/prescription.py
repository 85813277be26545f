"""Values for prescribed functions of time: a system with `ap.prescribed` symbols as an ordinary time-dependent one.

    f → F(t),      f.d → dF/dt,      f.dd → d²F/dt², …

in T, V, forces, kinematics and constraints alike. F is an expression in t and parameters; a table (t, values) and a function of
t become splines (`appell.tabulated`). Every form is derived with the symbols f, f.d, f.dd themselves; the system that is
compiled and run has F substituted, so that every method and back end works, and the power of the driving is that of ∂/∂t.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import sympy
from sympy import Expr

from appell.errors import ModelError
from appell.jets import Parameter, Prescribed, expression, t
from appell.model.constraint import Constraint
from appell.model.jumps import KINKED, refuse_jumps
from appell.model.measured import records_of, refuse_outside
from appell.model.system import System
from appell.model.values import RULES, as_table
from appell.reading import shown, text_of
from appell.remember import remembered
from appell.tabulated import PiecewisePolynomial, Tabulated, from_callable, from_table

HIGHEST_DERIVATIVE = 6
"""Highest derivative of a prescribed function that is ever needed."""

Span = tuple[float, float] | None


S = TypeVar("S")


def settled(system: S, parameters: Any, span: Span = None) -> tuple[S, Any]:
    """(system, parameters) with the values of prescribed functions substituted and removed from the parameters.

    A system without such functions is returned unchanged. span: the times of a run, s, in which a function of t is fitted and a
    table must be defined.
    """
    if not isinstance(system, System):
        return system, parameters
    system, parameters = _with_records(system, parameters)
    if not system.prescribed:
        _check_span(system, span)
        return system, parameters
    values, others = values_of(system, parameters, span)
    missing = [f for f in system.prescribed if f not in values]
    if missing:
        f = missing[0]
        raise ModelError(
            f"no value for the prescribed function '{f}' of {system.name}; give parameters={{{f}: …}}: an expression in ap.t, a"
            " table (times, values), or a function of t"
        )
    substituted = with_values(system, tuple(values.items()))
    _check_span(substituted, span)
    return substituted, others


def _with_records(system: System, parameters: Any) -> tuple[System, Any]:
    """Substitutes measured records for parameters that have them as values, for example an input u."""
    if not isinstance(parameters, Mapping):
        return system, parameters
    records = {key: value for key, value in parameters.items() if isinstance(value, Expr) and records_of(value.free_symbols)}
    symbols = {str(s): s for s in system.parameters}
    table = {symbols[str(key)]: value for key, value in records.items() if str(key) in symbols}
    if not table:
        return system, parameters
    for symbol, value in table.items():
        if any(symbol.assumptions0.get(rule) for rule, _ in RULES):
            raise ModelError(f"parameter '{symbol}' was declared with an assumption, which no record is checked for; drop it")
        foreign = [s for s in value.free_symbols if s != t and not isinstance(s, Parameter)]
        if foreign:
            raise ModelError(f"the value of '{symbol}' contains {foreign[0]}; it is made of records, ap.t and parameters")
    names = set(map(str, table))
    return recorded(system, tuple(table.items())), {key: x for key, x in parameters.items() if str(key) not in names}


@remembered
def recorded(system: System, values: tuple[tuple[Any, Expr], ...]) -> System:
    """The system with records, or expressions of records, in place of parameters, which can still be read by their names."""
    changed = {key: substitute(value, dict(values)) for key, value in system._given.items() if key != "prescription"}
    prescription = substitute(dict(system.prescription), dict(values))  # a plain table, so that the system can be pickled
    return system.replace(**changed, prescription={**prescription, **dict(values)})


def values_of(system: System, parameters: Any, span: Span = None) -> tuple[dict[Prescribed, Expr], dict[Any, Any]]:
    """(prescribed function → expression, the other parameters); by symbol or name."""
    functions = {str(f): f for f in system.prescribed}
    values, others = {}, {}
    for key, value in as_table(system.parameters, parameters).items():
        if isinstance(key, Prescribed) and key.order:
            raise ModelError(f"the value of {key} follows from that of {key.letter}; give parameters={{{key.letter}: …}} alone")
        if text_of(key) not in functions:
            others[key] = value
            continue
        f = functions[text_of(key)]
        if f in values:
            raise ModelError(f"the value of the prescribed function '{f}' is given twice, by symbol and by name")
        values[f] = _expression(system, f, value, span)
    return values, others


def _expression(system: System, f: Prescribed, value: Any, span: Span) -> Expr:
    if _is_table(value):
        pieces = _pieces(f, *value)
    elif callable(value) and not isinstance(value, sympy.Basic):
        if span is None:
            raise ModelError(f"over which times is the function given for '{f}' needed? Give {{{f}: (function, (start, end))}}")
        pieces = from_callable(f.letter, value, span if span[0] != span[1] else (span[0], span[0] + 1))
    else:
        return _smooth(system.in_velocities(_checked(f, value)), f, derivatives_needed(system, f))
    order = derivatives_needed(system, f)
    if order > pieces.smooth:
        raise ModelError(
            f"{system.name} needs {order} derivatives of '{f}', and {pieces.label}, has {max(pieces.smooth, 0)} of them;"
            " give more points, an expression, or a function of t"
        )
    return Tabulated(pieces, t, 0)  # type: ignore[return-value]


def _is_table(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def _pieces(f: Prescribed, data: Any, second: Any) -> PiecewisePolynomial:
    """The piecewise polynomial of (times, values) or (function, (start, end))."""
    if not callable(data) or isinstance(data, sympy.Basic):
        return from_table(f.letter, data, second)
    try:
        first, last = map(float, second)
    except Exception:  # the __float__ or __iter__ of a foreign object may raise anything
        raise ModelError(f"'{f}' is (times, values) or (function, (start, end)), not (…, {shown(second)})") from None
    return from_callable(f.letter, data, (first, last))


def _checked(f: Prescribed, value: Any) -> Expr:
    expr = expression(value, f"the value of the prescribed function '{f}'")
    strange = [s for s in sorted(expr.free_symbols, key=str) if s != t and not isinstance(s, Parameter)]
    if strange:
        raise ModelError(f"the value of the prescribed function '{f}' contains {strange[0]}; it is made of ap.t and parameters")
    if expr.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.I):
        raise ModelError(f"the value of the prescribed function '{f}' is not finite and real: {expr}")
    return expr


def _smooth(value: Expr, f: Prescribed, order: int) -> Expr:
    """The expression; raises unless all derivatives below the highest one needed are continuous.

    Its cases are written as `Piecewise`, whose derivatives contain no δ(t).
    """
    for record in records_of(value.free_symbols):
        if order - 1 > record.smooth:
            defect = ("its values jump", "its slope jumps", "", "its third derivative jumps")[record.smooth + 1]
            raise ModelError(
                f"'{f}' is needed with {order} derivatives, and the record given for it has hold='{record.hold}': {defect} at"
                " every sample, which would be a blow; use hold='cubic', or leave out the noise first"
            )
    if order and value.has(*KINKED):
        value = value.rewrite(sympy.Piecewise)  # type: ignore[assignment]
    for k in range(order):
        derivative = value.diff(t, k)
        dots = f"the {('function', 'first derivative', 'second derivative')[min(k, 2)]} of time"
        refuse_jumps(derivative, f"'{f}' is needed with {order} derivatives, and {dots} given for it")
    return value


def derivatives_needed(system: System, f: Prescribed) -> int:
    """The number of derivatives of f in the equations of motion."""
    uses: list[tuple[Any, int]] = [(system.potential, 0), *((Q, 0) for Q in system.forces)]
    uses += [(rate, 0 if q in system.states else 1) for q, rate in system.rates.items()]
    uses += [(expr, 1) for expr in system._expressions()[:1]]
    uses += [(r, 2 - c.order) for r, c in zip(system.residuals, system.constraints, strict=True)]
    uses += [(face.function, 2) for face in system.unilateral]
    uses += [(e, 0) for reset in system.resets for e in reset.expressions]
    is_f = lambda s: isinstance(s, Prescribed) and s.letter == f.letter
    return max((s.order + order for expr, order in uses for s in expr.free_symbols if is_f(s)), default=0)


def _check_span(system: System, span: Span) -> None:
    """Raises unless every table and record covers the whole span."""
    if span is None:
        return
    refuse_outside(records_of(system.parameters), span)
    for pieces in tables(system):
        first, last = pieces.range
        slack = 1e-9 * (last - first)  # rounding of sums of steps, as for records
        outside = [x for x in span if not first - slack <= x <= last + slack]
        if outside:
            raise ModelError(
                f"{pieces.name} has values over {first:g} … {last:g} s only ({pieces.label}); here t = {outside[0]:g}"
            )


def tables(system: System) -> list[PiecewisePolynomial]:
    """The splines among the values of a system's prescribed functions."""
    if not system.prescription:
        return []
    splines = [node for expr in system.prescription.values() for node in expr.atoms(PiecewisePolynomial)]
    return sorted(set(splines), key=lambda pieces: pieces.name)  # type: ignore[return-value]


@remembered
def with_values(system: System, values: tuple[tuple[Prescribed, Expr], ...]) -> System:
    """The system with expressions in t for its prescribed functions."""
    prescription = {**system.prescription, **dict(values)}
    table = jets(dict(values))
    named = {key: _with_names(value) if key == "constraints" else value for key, value in system._given.items()}
    changed = {key: substitute(value, table) for key, value in named.items()}
    return system.replace(**{**changed, "prescription": prescription})


def _with_names(constraints: Any) -> Any:
    """Bare expressions as constraints, named with f and not with its value."""
    named = lambda c: Constraint(c) if isinstance(c, Expr) else c
    return [named(c) for c in constraints] if isinstance(constraints, list | tuple) else named(constraints)


def jets(values: Mapping[Any, Expr]) -> dict[Any, Expr]:
    """f, f.d, f.dd, … → F, dF/dt, d²F/dt², …; an input u → its record."""
    table: dict[Any, Expr] = {}
    for f, value in values.items():
        if not isinstance(f, Prescribed):
            table[f] = value
            continue
        for k in range(HIGHEST_DERIVATIVE + 1):
            table[Prescribed(f.letter, k)] = value
            value = value.diff(t)
    return table


def substitute(value: Any, table: Mapping[Any, Any]) -> Any:
    """The same object with expressions substituted for symbols everywhere; names are kept."""
    return transformed(value, lambda expr: expr.xreplace(table))


def transformed(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same object with every expression in it transformed; names are kept."""
    if isinstance(value, sympy.MatrixBase):
        return value.applyfunc(change)
    if isinstance(value, sympy.Basic):
        return change(value)
    if isinstance(value, Mapping):
        return {key: transformed(entry, change) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(transformed(entry, change) for entry in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        twin = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(twin, field.name, transformed(getattr(value, field.name), change))
        return twin
    return value


def driven(system: System, parameters: Any, span: Span = None) -> tuple[System, Any]:
    """`settled`, with a generic function of time for each prescribed one without a value: for statements that hold for any
    function.

    With a span of times these functions keep their names, `stand_in`; without it they are expressions with parameters.
    """
    if not system.prescribed:
        return system, parameters
    values, others = values_of(system, parameters, span)
    stand_in_for = _generic_function if span is None else lambda f: stand_in(f, span)
    return with_values(system, tuple((f, values[f] if f in values else stand_in_for(f)) for f in system.prescribed)), others


def stand_in(f: Prescribed, span: tuple[float, float], order: int = 0) -> Any:
    """A generic smooth function of time over a span, determined by the name of a prescribed one, or a derivative of it."""
    return Tabulated(_wave(f.letter, span), t, order)


@lru_cache(maxsize=32)
def _wave(name: str, span: tuple[float, float]) -> PiecewisePolynomial:
    shift = sum(map(ord, name)) % 7  # different names give different functions
    return from_callable(name, lambda s: 0.9 + 0.3 * math.sin(1.3 * s + shift) + 0.1 * math.cos(2.9 * s), span)


def generic(system: System) -> System:
    """The system with a generic function of time for each prescribed one: at a random time its derivatives are random
    numbers."""
    return with_values(system, tuple((f, _generic_function(f)) for f in system.prescribed)) if system.prescribed else system


def _generic_function(f: Prescribed) -> Expr:
    a, b, c = (Parameter(f"{f.letter}__{i}", real=True) for i in "012")
    return a + b * sympy.sin(t) / 4 + c * sympy.cos(2 * t) / 8


def moments(values: Mapping[Any, Expr]) -> tuple[list[Any], list[Expr]]:
    """The symbols f, f.d, … of prescribed functions, and their expressions in t and parameters."""
    table = jets(values)
    return list(table), list(table.values())
