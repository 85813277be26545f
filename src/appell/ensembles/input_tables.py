"""Sampled inputs of many runs: each run has its own values, held from one sample to the next.

    p_u(t) = U[run, k]        since + k/rate <= t < since + (k + 1)/rate
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.model import System
from appell.model.schedule import RECORD_SLACK, Schedule
from appell.model.values import as_table, checked, finite, reals
from appell.reading import name_in, refuse_large, shown
from appell.simulate.control.control_values import refuse_inputs

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InputTables:
    """knots (steps + 1,), s; values (runs or 1, steps, inputs); columns: indices of the inputs among the parameters.

    records: the schedule of measured records, shared by all runs.
    """

    knots: Array
    values: Array
    columns: tuple[int, ...]
    records: Schedule | None = None

    def of(self, run: int) -> Schedule:
        """The schedule of one run, with its records."""
        return Schedule(self.knots, self.values[run if len(self.values) > 1 else 0], self.columns).combined_with(self.records)

    @cached_property
    def rows(self) -> Array:
        """Values of all runs over the knots of inputs and records, (runs or 1, pieces, columns of `of`)."""
        if self.records is None:
            return self.values
        joined = self.of(0)
        middle = (joined.knots[:-1] + joined.knots[1:]) / 2
        input_rows = self.values[:, np.searchsorted(self.knots, middle) - 1]
        record_rows = joined.rows[:, len(self.columns) :]
        return np.concatenate([input_rows, np.broadcast_to(record_rows, (len(input_rows), *record_rows.shape))], axis=2)


def read_tables(
    inputs: Mapping[Any, Any] | None, rate: Any, since: float, times: tuple[float, float]
) -> tuple[dict[str, Array], Array] | None:
    """Name of an input → its values, (runs or 1, steps), and the knots, (steps + 1,); None without inputs.

    times: the earliest and the latest time of all runs, s.
    """
    if inputs is None:
        if rate is not None:
            raise ModelError(f"rate={shown(rate)} is that of sampled inputs; give inputs={{u: array (runs, steps)}} with it")
        return None
    if not isinstance(inputs, Mapping) or not inputs:
        raise ModelError(f"inputs= maps parameters to arrays (runs, steps), {{u: array}}; it is {shown(inputs)}")
    if rate is None:
        raise ModelError("sampled inputs are held from one sample to the next; give rate= in samples per second")
    if not (rate := finite(rate, "rate=")) > 0:
        raise ModelError(f"rate= must be a positive number of samples per second, not {rate:g}")
    tables = {name_in(key): _table(name_in(key), value) for key, value in inputs.items()}
    if len(tables) < len(inputs):
        raise ModelError("an input is given twice in inputs=, by symbol and by name")
    shapes = ", ".join(f"{name}: {value.shape}" for name, value in tables.items())
    for axis, axis_name in ((1, "steps"), (0, "runs")):
        if len({value.shape[axis] for value in tables.values() if axis or len(value) > 1}) > 1:
            raise ModelError(f"the arrays of inputs= must have one number of {axis_name} ({shapes})")
    knots = since + np.arange(next(iter(tables.values())).shape[1] + 1) / rate
    if times[0] < since:
        raise ModelError("sampled inputs run forwards; until= lies before since=")
    if (last := times[1]) > knots[-1] + RECORD_SLACK * (knots[-1] - since):
        raise ModelError(
            f"inputs= has {len(knots) - 1} steps at rate={rate:g}: values over {since:g} … {knots[-1]:g} s; a run needs"
            f" t = {last:g}"
        )
    return tables, knots


def _table(name: str, value: Any) -> Array:
    """The values of an input, checked, (runs or 1, steps)."""
    refuse_large(value, f"the values of input {name}")
    try:
        array = reals(value)
    except (TypeError, ValueError):
        raise ModelError(f"the values of input '{name}' must be real numbers, not {shown(value)}") from None
    if array.ndim not in (1, 2) or array.size == 0:
        raise ModelError(
            f"the values of input '{name}' have shape {array.shape}; they are (runs, steps), or (steps,) for all runs alike"
        )
    array = np.atleast_2d(array)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise ModelError(f"the value of input '{name}' is not finite in run {bad[0][0]}, step {bad[0][1]}")
    return array


def with_first(model: System, parameters: Any, sampled: dict[str, float]) -> dict[Any, Any]:
    """Parameters of a system together with the first values of its sampled inputs."""
    table = as_table(model.parameters, parameters)
    twice = [name for name in map(name_in, table) if name in sampled]
    if twice:
        raise ModelError(f"parameter '{twice[0]}' is given by parameters= and by inputs=; give it in one place")
    unknown = [name for name in sampled if name not in map(str, model.parameters)]
    if unknown:
        has = ", ".join(map(str, model.parameters)) or "none"
        raise ModelError(f"inputs= gives '{unknown[0]}', which is not a parameter of {model.name}; it has {has}")
    return {**table, **sampled}


def placed_tables(system: System, tables: dict[str, Array], knots: Array, records: Schedule | None) -> InputTables:
    """The tables of a system's inputs, each at the index of its parameter."""
    index_of = {str(s): i for i, s in enumerate(system.parameters)}
    unknown = [name for name in tables if name not in index_of]
    if unknown:
        has = ", ".join(index_of) or "none"
        raise ModelError(f"inputs= gives '{unknown[0]}', which is not a parameter of {system.name}; it has {has}")
    refuse_inputs(system, {system.parameters[index_of[name]] for name in tables}, "inputs= gives")
    for name, values in tables.items():
        for pick in (np.min, np.max, lambda x: x[np.argmin(np.abs(x))], lambda x: x[np.argmax(np.abs(x - np.round(x)))]):
            checked(system.parameters[index_of[name]], float(pick(values.ravel())))
    runs = max(len(values) for values in tables.values())
    stacked = np.stack([np.broadcast_to(values, (runs, values.shape[1])) for values in tables.values()], axis=2)
    return InputTables(knots, np.ascontiguousarray(stacked), tuple(index_of[name] for name in tables), records)


__all__ = ["InputTables", "placed_tables", "read_tables", "with_first"]
