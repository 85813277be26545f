"""Checked arguments for evaluating a form: parameters, prescribed functions, state vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sympy import Symbol

from appell import reading
from appell.errors import ModelError
from appell.forms.engine.evaluation import FLOAT, Tape
from appell.jets import t as time
from appell.model import System
from appell.model.measured import letters_of, schedule_of
from appell.model.prescription import moments, values_of
from appell.model.values import bound

Values = dict[Symbol, Any]


def parameter_values(system: System, given: Mapping[Any, Any] | None) -> dict[Any, float]:
    """The parameters of a system by symbol, from a mapping of symbols or names; each consistent with its assumptions."""
    if not system.prescribed:
        return bound(system.parameters, given, f"'{system.name}'")
    values, parameters = values_of(system, given, (0.0, 1.0))
    symbols = {s for expr in values.values() for s in expr.free_symbols if s != time}
    return bound(sorted({*system.parameters, *symbols}, key=str), parameters, f"'{system.name}'")


def prescribed_values(system: System, given: Mapping[Any, Any] | None, values: Values) -> Values:
    """f, f.d, … of prescribed functions at the time in `values`, which also contains the parameters in their expressions."""
    if not system.prescribed:
        return {}
    instant = values[time]
    functions = values_of(system, given, (instant - 0.5, instant + 0.5))[0]
    missing = [f for f in system.prescribed if f not in functions]
    if missing:
        raise ModelError(f"no value for the prescribed function '{missing[0]}'; give parameters={{{missing[0]}: …}}")
    symbols, formulas = moments(functions)
    return dict(zip(symbols, Tape(formulas)(values, FLOAT), strict=True))


def recorded_values(values: Values) -> Values:
    """The values of measured records at the time in `values`."""
    letters = tuple(letters_of(values))
    schedule = schedule_of(letters)
    if schedule is None:
        return {}
    return dict(zip(letters, schedule.put(np.zeros(len(letters)), values[time]).tolist(), strict=True))


def finite(name: str, value: Any) -> float:
    """A finite number of a state; raises otherwise."""
    return reading.finite(value, name)


def vector(name: str, symbols: Sequence[Symbol], given: ArrayLike) -> Values:
    """A vector of the state by symbol: of the right shape, of finite numbers."""
    array = reading.as_array(given, name)
    if array.shape != (len(symbols),):
        raise ModelError(f"{name} has shape {array.shape}, and must be ({len(symbols)},): {', '.join(map(str, symbols))}")
    return {s: finite(f"{name}: {s}", x) for s, x in zip(symbols, array.tolist(), strict=True)}
