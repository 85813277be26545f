"""Checks of the values that a control returns: inputs (parameters of the system), the same ones at every reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError, FormNotApplicable, ModelError, SimulationError
from appell.model import System
from appell.model.values import RULES, checked
from appell.reading import finite, shown, text_of

Array = NDArray[np.float64]
Control = Callable[[float, Array, Array], Mapping[Any, float]]


class Reader:
    """A control whose return values are checked.

    Parameters
    ----------
    control: (t, q (nq,), v (nv,)) → {input: value}: parameters of the system, by symbol or name; the same ones each time.
    rate: readings per second, Hz.
    """

    def __init__(self, system: System, control: Any, rate: Any):
        if control is None:
            raise ModelError(f"rate={shown(rate)} is the rate of a control; give control=(t, q, v) → {{input: value}} with it")
        if not callable(control) or hasattr(control, "free_symbols"):
            raise ModelError(f"control= must be a function of (t, q, v), not {type(control).__name__}")
        if rate is None:
            raise ModelError("a control is read at a fixed rate; give rate= in readings per second")
        try:
            positive = finite(rate, "rate=") > 0
        except ModelError:
            positive = False
        if not positive:
            raise ModelError(f"rate= must be a positive number of readings per second, not {shown(rate)}")
        self.system, self.control, self.rate = system, control, float(rate)
        self.places: dict[Any, int] = {key: i for i, s in enumerate(system.parameters) for key in (s, str(s))}
        self.assumed = {i for i, s in enumerate(system.parameters) if any(s.assumptions0.get(rule) for rule, _ in RULES)}
        self.columns: tuple[int, ...] = ()  # of the inputs, known after the first call
        self.usual_keys: tuple[Any, ...] | None = None  # the keys of a valid result
        self.order: list[int] = []  # positions of the inputs among them
        self.rules: list[tuple[int, Callable[[float], bool]]] = []  # conditions that an input must satisfy

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The parameters that the control sets."""
        return tuple(self.system.parameters[i] for i in self.columns)

    def first_values(self, t: float, q: Array, v: Array) -> dict[Any, float]:
        """The values at the start, which determine the inputs: parameter → value."""
        try:
            returned = self.control(t, q, v)
        except AppellError:
            raise
        except Exception as failure:  # any error of the user's function
            reason = f"the control raised {type(failure).__name__}: {failure}"
            raise SimulationError(f"stopped at the start, t = {t:g}: {reason}") from failure
        answer = self._checked(returned, t)
        self.columns = tuple(sorted(answer))
        assumptions = [(k, s.assumptions0) for k, s in enumerate(self.inputs)]
        self.rules = [(k, holds) for k, assumed in assumptions for rule, holds in RULES if assumed.get(rule)]
        refuse_inputs(self.system, set(self.inputs))
        return {self.system.parameters[i]: answer[i] for i in self.columns}

    def values_at(self, t: float, q: Array, v: Array) -> list[float]:
        """The values of the inputs, in the order of `inputs`."""
        answer = self.control(t, q, v)
        quick = self._usual_values(answer) if type(answer) is dict and tuple(answer) == self.usual_keys else None
        return self._ordered(answer, t) if quick is None else quick

    def _usual_values(self, answer: dict[Any, Any]) -> list[float] | None:
        """The values of a result with the usual keys, if they are valid."""
        try:
            values = [float(value) for value in answer.values()]
        except (TypeError, ValueError):
            return None
        values = [values[k] for k in self.order]
        if not isfinite(sum(values)):
            return None
        return values if not self.rules or all(holds(values[k]) for k, holds in self.rules) else None

    def _ordered(self, answer: Any, t: float) -> list[float]:
        """The values of a result in the order of `inputs`; refused if it has other inputs than the first one."""
        values = self._checked(answer, t)
        if len(values) != len(self.columns) or any(i not in values for i in self.columns):
            now, initial = (
                ", ".join(str(self.system.parameters[i]) for i in sorted(indices)) for indices in (values, self.columns)
            )
            raise ModelError(f"the control gives {now or 'nothing'} at t = {t:g}, but gave {initial or 'nothing'} at the start")
        self.usual_keys, self.order = tuple(answer), [list(values).index(i) for i in self.columns]
        return [values[i] for i in self.columns]

    def _checked(self, answer: Any, t: float) -> dict[int, float]:
        """Index → value of each input that the control returned."""
        if not isinstance(answer, Mapping):
            raise ModelError(f"the control returned {type(answer).__name__} at t = {t:g}; it must map inputs to values")
        values = {}
        for key, value in answer.items():
            index = self._index_of(key)
            if index in values:
                raise ModelError(f"the control gives '{text_of(key)}' twice at t = {t:g}, by symbol and by name")
            values[index] = self._number(index, value, t)
        return values

    def _index_of(self, key: Any) -> int:
        """The index of a parameter by symbol or name."""
        index = self.places.get(key)
        index = self.places.get(text_of(key)) if index is None else index
        if index is None:
            has = ", ".join(map(str, self.system.parameters)) or "none"
            text = f"the control gives '{text_of(key)}', which is not a parameter of"
            raise ModelError(f"{text} {self.system.name}; it has {has}")
        return index

    def _number(self, index: int, value: Any, t: float) -> float:
        """A finite value of a parameter that satisfies its assumptions."""
        symbol = self.system.parameters[index]
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ModelError(f"the control returned {symbol} = {shown(value)} at t = {t:g}: not a number") from None
        if not isfinite(number):
            raise ModelError(f"the control returned {symbol} = {number} at t = {t:g}: not finite")
        return checked(symbol, number) if index in self.assumed else number


def refuse_inputs(system: System, inputs: set[Any], who: str = "the control gives") -> None:
    """Refuses inputs where the state would have to jump with them."""
    expressions = [(f"constraint '{c.name}'", c.residual) for c in system.constraints if c.order < 2]
    expressions += [(f"'{face.name}'", x) for face in system.unilateral for x in (face.function, face.restitution)]
    expressions += [(f"reset '{reset.name}'", x) for reset in system.resets for x in reset.expressions]
    expressions += [(f"the rate of {q}", rate) for q, rate in system.rates.items() if q not in system.states]
    with suppress(FormNotApplicable):  # of a tree, whose inertia is in numbers
        expressions.append(("the kinetic energy", system.kinetic))
    for place, expr in expressions:
        names = sorted(map(str, expr.free_symbols & inputs))
        if names:
            raise ModelError(
                f"{who} '{names[0]}', which stands in {place} of {system.name}: the state would jump with it at"
                " every sample. Inputs stand in forces, potentials and constraints on accelerations"
            )


__all__ = ["Control", "Reader", "refuse_inputs"]
