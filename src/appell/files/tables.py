"""Tables beside a model file: the samples of a prescribed function, two columns of a CSV file with a header line.

    [prescribed]
    F = {table = "push.csv", time = "t", value = "F", hold = "linear", unit = "kN", time_unit = "ms"}

The header may also give units, `t [ms], F [kN]`. With hold = "zero" the last time may have no value.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.files.included import file_below
from appell.files.keys import FUNCTION
from appell.files.source import Keys, Source
from appell.model.units import SECOND, Dimensions, unit_of, unit_text
from appell.reading import shown
from appell.spelling import did_you_mean

Array = NDArray[np.float64]
TABLE_BYTES = 200_000_000
"""Largest size of a table beside a model file, bytes."""
LINE_CHARACTERS = 1_000_000
"""Largest length of one of its lines."""
HEADING = re.compile(r"([^\[\]]*)\[([^\[\]]*)\]\s*")
"""The name of a column and its unit, F [kN]."""


def read_table(source: Source, given: Mapping[str, Any], keys: Keys) -> tuple[Array, Array, Dimensions | None]:
    """Times, s, values in SI, and their dimensions if a unit is given."""
    given = source.keys(given, set(FUNCTION["properties"]), keys)
    for key, value in given.items():
        if not isinstance(value, str):
            raise source.wrong(keys, f"{key}= is a text, not {shown(value)}")
    if "table" not in given:
        raise source.wrong(keys, "table= names a CSV file beside this one")
    path = source.checked(keys, lambda: file_below(source.folder, given["table"], "table"))
    if path.stat().st_size > TABLE_BYTES:
        raise source.wrong(keys, f"{shown(given['table'])} has more than {TABLE_BYTES} bytes")
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            return _columns(source, csv.reader(_short_lines(lines)), given, keys)
    except csv.Error as error:
        raise source.wrong(keys, f"{shown(given['table'])} is no table: {error}") from None
    except OSError as error:
        if isinstance(error, AppellError):
            raise
        raise source.wrong(keys, f"{shown(given['table'])} cannot be read: {error.strerror or error}") from None


def _columns(
    source: Source, rows: Iterator[list[str]], settings: Mapping[str, Any], keys: Keys
) -> tuple[Array, Array, Dimensions | None]:
    """The two columns; the rest of the file is not kept."""
    head = [(m[1].strip(), m[2]) if (m := HEADING.fullmatch(name)) else (name.strip(), None) for name in next(rows, []) or [""]]
    names = [name for name, _ in head]
    for name in (settings[word] for word in ("time", "value") if word in settings):
        if name not in names:
            raise source.wrong(keys, f"the table has no column '{name}'{did_you_mean(name, names)}")
        if names.count(name) > 1:
            raise source.wrong(keys, f"the table has {names.count(name)} columns '{name}'")
    first = lambda other: next((k for k, name in enumerate(names) if name != other), None)  # a column that is not the other
    t = names.index(settings["time"]) if "time" in settings else first(settings.get("value"))
    y = names.index(settings["value"]) if "value" in settings else first(names[t]) if t is not None else None
    if t is None or y is None or t == y:
        raise source.wrong(keys, "times and values are two columns of the table")
    per_time, of_time = _unit(source, head[t][1], settings.get("time_unit"), keys)
    if of_time not in (None, SECOND):
        raise source.wrong(keys, f"the times of the table have {unit_text(of_time)} and should have s")
    factor, unit = _unit(source, head[y][1], settings.get("unit"), keys)
    times, values = _numbers(source, rows, (t, y), keys)
    return per_time * times, factor * values, unit


def _unit(source: Source, in_header: str | None, in_file: str | None, keys: Keys) -> tuple[float, Dimensions | None]:
    """(factor to SI, dimensions) of a column, from the header or from the model file."""
    if in_header is not None and in_file is not None:
        raise source.wrong(keys, f"two units of one column, '{in_header}' in the table and '{in_file}' in this file")
    text = in_header if in_file is None else in_file
    return (1.0, None) if text is None else source.checked(keys, lambda: unit_of(text))


def _numbers(source: Source, rows: Iterator[list[str]], places: tuple[int, int], keys: Keys) -> tuple[Array, Array]:
    times, values, ended = array("d"), array("d"), False
    for number, row in enumerate(rows, start=2):
        if not row:
            continue
        try:
            if ended:
                raise ValueError
            times.append(float(row[places[0]]))
            ended = row[places[1]].strip() == ""  # a last time without a value
            values.extend([] if ended else [float(row[places[1]])])
        except (ValueError, IndexError):
            raise source.wrong(keys, f"line {number} of the table is not two numbers") from None
    if len(values) < 2:
        raise source.wrong(keys, "a table has a line of names and two lines of numbers at least")
    return np.array(times), np.array(values)


def _short_lines(lines: Any) -> Iterator[str]:
    """The lines of a file; raises for a line that is too long."""
    while line := lines.readline(LINE_CHARACTERS):
        if len(line) == LINE_CHARACTERS:
            raise csv.Error(f"a line has more than {LINE_CHARACTERS} characters")
        yield line


__all__ = ["read_table"]
