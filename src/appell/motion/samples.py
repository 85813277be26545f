"""Samples of a motion as a table: one row per sample, one column per quantity.

In the dataset impacts have a dimension of their own, so `dataset.to_dataframe()` would repeat every sample for each impact.
This table has the samples only; `motion.impacts` lists the impacts.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.disk.output_file import write
from appell.errors import BackendUnavailable

if TYPE_CHECKING:
    import pandas as pd


def columns(dataset: Any) -> dict[str, Any]:
    """Name → values (k,), t first: the variables over time alone. Names are words, whatever a file calls them."""
    table = {"t": dataset["t"].values}
    for name, variable in dataset.data_vars.items():
        if variable.dims == ("t",):
            column = re.sub(r"\W+", "_", str(name)) or "value"
            table[column if column not in table else f"{column}_"] = variable.values
    return table


def csv_text(dataset: Any) -> str:
    """The table with a line of names, numbers in full precision, and line endings as in RFC 4180."""
    table = columns(dataset)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table)
    writer.writerows(np.column_stack([np.asarray(x, dtype=float) for x in table.values()]).tolist())
    return text.getvalue()


def write_csv(dataset: Any, path: Any) -> Path:
    """See `Record.to_csv`."""
    return write(path, csv_text(dataset))


def frame(dataset: Any) -> pd.DataFrame:
    """See `Record.to_pandas`."""
    try:
        import pandas as pd
    except ImportError:
        raise BackendUnavailable("to_pandas needs pandas: pip install pandas; to_csv does not") from None
    table = columns(dataset)
    return pd.DataFrame({name: values for name, values in table.items() if name != "t"}, index=pd.Index(table["t"], name="t"))


__all__ = ["csv_text", "frame", "write_csv"]
