"""External data to plot beside a motion, measured or from another program, under the names of its quantities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.motion.record import Record, Series, unknown_name
from appell.reading import reals, shown

NAMES_OF_TIMES = ("t", "time")
"""Names of an index of a `pandas.DataFrame` that holds times, s."""


class ForeignData(Record):
    """Columns over time: {"t": (k,), "x": (k,), …}, a `pandas.DataFrame` over t, or an `xarray.Dataset` with t.

    Names are those of the motion beside it ("x", "x.d", also "x_d" as in datasets); quantities it does not have are not drawn.
    Gaps (NaN) stay gaps.
    """

    def __init__(self, label: str, data: Any, beside: Record):
        self.name, self.motion = label, beside
        columns = _columns(label, data)
        self.t = columns.pop("t")
        order = np.argsort(self.t, kind="stable")
        self.t = self.t[order]
        self._values = {key: values[order] for key, values in columns.items()}

    @property
    def colour_numbers(self) -> Mapping[str, int]:
        """Colour numbers of the motion beside it."""
        return self.motion.colour_numbers

    def has(self, key: Any) -> bool:
        """Whether there is a column of this name."""
        return self._stored_name(key) is not None

    def _stored_name(self, key: Any) -> str | None:
        name = str(getattr(key, "name", key))
        return next((candidate for candidate in (name, name.replace(".", "_")) if candidate in self._values), None)

    def series(self, key: Any) -> Series:
        """See `Record.series`."""
        stored_name = self._stored_name(key)
        if stored_name is None:
            raise ModelError(unknown_name(str(key), f"'{self.name}'", self._values))
        series = self.motion.series(key)
        return Series(series.name, series.latex, series.units, series.meaning, self._values[stored_name])


def columns_of(data: Any) -> Any:
    """Name → values of an xarray `Dataset` (variables over t alone) or a pandas `DataFrame` (with times in a column t or as
    the index, without "t" where neither holds times); anything else unchanged."""
    if hasattr(data, "data_vars"):
        return {str(name): variable.values for name, variable in data.variables.items() if variable.dims == ("t",)}
    if hasattr(data, "columns") and hasattr(data, "index"):
        table = {name: data[name].to_numpy() for name in data.columns}
        has_times = any(str(name) == "t" for name in table)  # the symbol of time counts, too
        return table if has_times or not _is_time(data.index) else {"t": data.index.to_numpy(), **table}
    return data


def without_times(data: Any) -> str:
    """A sentence on a table without times: the column that is needed, and why the index of a `DataFrame` is not it."""
    text = "has no times: a column 't' (s) is needed beside the measured quantities"
    if not hasattr(data, "columns") or not hasattr(data, "index"):
        return text
    name = data.index.name
    index = "without a name numbers its rows" if name is None else f"is called '{name}'"
    return f"{text}; its index {index}, and an index is taken for times if it is called 't' or 'time', or is made of fractions"


def _is_time(index: Any) -> bool:
    """Whether an index holds times: by its name, or without one if it is not made of whole numbers, which number rows."""
    return str(index.name) in NAMES_OF_TIMES if index.name is not None else getattr(index.dtype, "kind", "O") not in "iub"


def _columns(label: str, data: Any) -> dict[str, Any]:
    """The columns of a table as name → values (k,), t among them."""
    table = columns_of(data)
    if table is not data and "t" not in map(str, table):
        raise ModelError(f"'{label}' {without_times(data)}")
    if not isinstance(table, Mapping) or "t" not in map(str, table):
        raise ModelError(
            f"compare= takes motions, or {{label: motion}}, or data {{label: {{'t': times, 'x': values}}}}; not {shown(data)}"
        )
    columns = {str(name): reals(values, f"'{name}' of '{label}'") for name, values in table.items()}
    count = columns["t"].shape
    wrong = [name for name, values in columns.items() if values.ndim != 1 or values.shape != count]
    if wrong or not np.isfinite(columns["t"]).all():
        raise ModelError(f"'{(wrong or ['t'])[0]}' of '{label}' must be numbers of shape {count}, one for each finite time")
    return columns


__all__ = ["ForeignData", "columns_of", "without_times"]
