"""Measured motions: one or several tables of times and values, each with its own start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.jets import Jet
from appell.jets import t as time
from appell.model import System
from appell.motion.foreign_data import columns_of, without_times
from appell.reading import finite, items_of, name_in, reals, shown, symbolic, table_of
from appell.spelling import did_you_mean

Array = NDArray[np.float64]

FEWEST = 2
"""The fewest samples of a measured quantity."""


@dataclass(frozen=True, eq=False)
class Channel:
    """A quantity that was measured: its name, its expression in t, q, q̇ (or accelerations), values (k,) in SI, NaN in gaps."""

    name: str
    key: Any
    expression: Any
    values: Array

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether each sample is present, (k,)."""
        return np.isfinite(self.values)

    def until(self, count: int) -> Channel:
        """Its first samples."""
        return replace(self, values=self.values[:count])

    @property
    def spread(self) -> float:
        """The standard deviation of its values, or the size of the values where they are constant."""
        values = self.values[self.present]
        deviation = float(np.std(values))
        return deviation or float(np.max(np.abs(values))) or 1.0


@dataclass(frozen=True, eq=False)
class Experiment:
    """One record: increasing times (k,), s, the measured channels, and the known start values and parameters.

    fitted: the number of samples that are fitted, from the first; the rest are held out.
    empty: the number of times of the record after its last value, which are not in `times`.
    """

    label: str
    times: Array
    channels: tuple[Channel, ...]
    start: Mapping[Any, Any]
    parameters: Mapping[Any, Any]
    fitted: int
    empty: int = 0


def read_experiments(
    system: System, data: Any, start: Any, parameters: Any, since: float, held_out: float
) -> tuple[Experiment, ...]:
    """The experiments of a call of `ap.fit`: one table, or a list of them with one start or one start each."""
    several = isinstance(data, Sequence) and not isinstance(data, str | bytes) and not hasattr(data, "columns")
    tables = items_of(data, "the data") if several else [data]
    if not tables:
        raise ModelError("ap.fit needs data: {'t': times, x: values}, a DataFrame, a Dataset, or a list of these")
    starts = _one_per_experiment(start, len(tables), "start=")
    parameter_tables = _one_per_experiment(parameters, len(tables), "parameters=")
    share = finite(held_out, "held_out=")
    if not 0 <= share < 1:
        raise ModelError(f"held_out= is the share of each record that is not fitted, 0 <= held_out < 1, not {shown(held_out)}")
    experiments = []
    for i, (table, begin, values) in enumerate(zip(tables, starts, parameter_tables, strict=True)):
        label = f"experiment {i + 1}" if several else "the data"
        times, channels = _read(system, table, label)
        if times[0] < since:
            raise ModelError(
                f"{label} begins at t = {times[0]:g} s, before the start of the motion at since = {since:g} s; give since="
            )
        empty = _empty_end(channels)  # no motion is computed after the last value
        times, channels = times[: len(times) - empty], tuple(channel.until(len(times) - empty) for channel in channels)
        fitted = len(times) - int(share * len(times))
        for channel in channels:
            if channel.present[:fitted].sum() < FEWEST:
                raise ModelError(f"'{channel.name}' of {label} has fewer than {FEWEST} values that are fitted")
        experiments.append(Experiment(label, times, channels, begin, values, fitted, empty))
    return tuple(experiments)


def _empty_end(channels: tuple[Channel, ...]) -> int:
    """The number of samples at the end at which nothing was measured."""
    return min(int(np.argmax(channel.present[::-1])) for channel in channels)


def _one_per_experiment(tables: Any, count: int, keyword: str) -> list[Mapping[Any, Any]]:
    """One mapping for each experiment: one for all, or a list of the same length."""
    if isinstance(tables, Sequence) and not isinstance(tables, str | bytes):
        if len(tables) != count:
            raise ModelError(
                f"{keyword} lists {len(tables)} mappings for {count} experiments; give one for all, or one for each"
            )
        return [table_of(table, keyword) for table in tables]
    return [table_of({} if tables is None else tables, keyword)] * count


def _read(system: System, data: Any, label: str) -> tuple[Array, tuple[Channel, ...]]:
    raw = columns_of(data)
    if not isinstance(raw, Mapping):
        raise ModelError(f"{label} is {{'t': times, x: values}}, a DataFrame or a Dataset, not {shown(data)}")
    columns = dict(raw)
    time_keys = [key for key in columns if key == "t" or key is time]
    if not time_keys:
        raise ModelError(f"{label} {without_times(data)}")
    if len(time_keys) > 1:
        raise ModelError(f"{label} has its times twice, under the name 't' and under the symbol t; leave one of them out")
    times = reals(columns.pop(time_keys[0]), f"'t' of {label}")
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all():
        raise ModelError(f"'t' of {label} must be a list of finite times, s")
    if not columns:
        raise ModelError(f"{label} has times and nothing measured at them")
    order = np.argsort(times, kind="stable")
    if (np.diff(times[order]) == 0).any():
        repeated = times[order][1:][np.diff(times[order]) == 0][0]
        raise ModelError(f"{label} has two samples at t = {repeated:g} s; take their mean, or make them two experiments")
    channels, spellings = [], {}
    for key, raw in columns.items():
        expr = quantity_of(system, key, label)
        name = quantity_name(system, key, expr)
        values = reals(raw, f"'{name}' of {label}")
        if values.shape != times.shape:
            raise ModelError(f"'{name}' of {label} has the shape {values.shape}, its times {times.shape}")
        if np.isinf(values).any():
            raise ModelError(f"'{name}' of {label} is infinite at t = {times[np.isinf(values)][0]:g} s; gaps are NaN")
        if not np.isfinite(values).any():
            raise ModelError(f"'{name}' of {label} has no values, only gaps")
        if expr in spellings:
            raise ModelError(
                f"{label} has '{name}' twice, under {shown(spellings[expr])} and {shown(key)}; leave out one of them, or make"
                " two experiments of them"
            )
        spellings[expr] = key
        channels.append(Channel(name, expr if isinstance(key, str) else key, expr, values[order]))
    return times[order], tuple(channels)


def quantity_name(system: System, key: Any, expression: Any) -> str:
    """The name of a measured quantity, the same for all its spellings: that of its symbol, or the text of the expression."""
    states = {*system.positions, *system.velocities, *system.accelerations}
    return str(expression) if expression in states else str(key)


def quantity_of(system: System, key: Any, label: str) -> Any:
    """The expression that a column measures: a symbol, its name ("x", "x.d" or "x_d"), or any expression of them."""
    symbols = (*system.positions, *system.velocities, *system.accelerations)
    known: dict[str, Any] = {str(symbol).replace(".", "_"): symbol for symbol in symbols}
    known |= {str(symbol): symbol for symbol in symbols}  # a coordinate that is called x_d comes before the velocity of x
    if isinstance(key, str):
        if key not in known:
            hint = did_you_mean(key, known)
            raise ModelError(f"{label} measures '{name_in(key)}', which '{system.name}' does not have{hint}")
        return known[key]
    expr = system.in_velocities(symbolic(key, f"a quantity of {label}"))
    if not expr.free_symbols:
        raise ModelError(f"{label} measures {name_in(key)}, which is a number")
    state = {*system.positions, *system.velocities, *system.accelerations}
    for symbol in sorted(expr.free_symbols, key=str):
        if symbol not in state and symbol not in system.parameters and symbol != time:
            kind = "" if isinstance(symbol, Jet) else " neither a parameter nor"
            raise ModelError(f"{label} measures {name_in(key)}: {symbol} is{kind or ' not'} a coordinate of '{system.name}'")
    return expr
