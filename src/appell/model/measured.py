"""Measured records: functions of time known at samples, of any length.

    f(t) = c_0 + c_1 (t − t_k) + … + c_d (t − t_k)^d,        t_k <= t < t_k+1,        d = 0, 1 or 3

In a model a record is this polynomial in symbols, c_0 … c_d and t_k, for any number of samples: equations and compiled code do
not contain the numbers. Every time loop stops at each sample and substitutes the numbers of the next piece (`Schedule`), so
that no step evaluates both sides of a kink.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Symbol

from appell.errors import ModelError
from appell.jets import Parameter, t
from appell.model.schedule import RECORD_SLACK, Schedule, over_common_knots
from appell.model.units import SECOND, in_si, is_quantity, unit_of, unit_text
from appell.reading import refuse_large, shown, unmasked

Array = NDArray[np.float64]

HOLDS = {"zero": 0, "linear": 1, "cubic": 3}
"""Between two samples: the value of the first one, the straight line, the cubic spline (not-a-knot). Degrees of the pieces."""
@dataclass(frozen=True, eq=False, repr=False)
class MeasuredRecord:
    """The pieces of a record.

    knots: (k + 1,) times, s. rows: (k, degree + 1) coefficients, the constant first, and for degrees above 0 the time t_k last.
    """

    name: str
    hold: str
    knots: Array
    rows: Array

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(b"|".join([self.hold.encode(), self.knots.tobytes(), self.rows.tobytes()])).hexdigest()

    @property
    def smooth(self) -> int:
        """Number of continuous derivatives; −1 if not even the values are continuous."""
        return {"zero": -1, "linear": 0, "cubic": 2}.get(self.hold, -1)

    @property
    def range(self) -> tuple[float, float]:
        """The first and the last time of the record, s."""
        return float(self.knots[0]), float(self.knots[-1])

    @property
    def description(self) -> str:
        """A text on its samples, for messages."""
        first, last = self.range
        return f"{self.name} is a record of {len(self.rows)} intervals over {first:g} … {last:g} s, hold={self.hold!r}"

    def letter(self, column: int) -> MeasuredLetter:
        return MeasuredLetter(self, column)

    @property
    def expression(self) -> sympy.Expr:
        """The polynomial of a piece in its symbols."""
        degree = HOLDS[self.hold]
        s = t - self.letter(degree + 1) if degree else sympy.S.One
        return sympy.Add(*(self.letter(j) * s**j for j in range(degree + 1)))

    @property
    def samples(self) -> tuple[Array, Array]:
        """(times, values) from which `sampled` makes the same record; with hold="zero" there is one more time than values if
        the last value is not held as long as the one before."""
        values = self.rows[:, 0]
        if self.hold == "zero":
            usual = len(self.knots) > 2 and self.knots[-1] == 2 * self.knots[-2] - self.knots[-3]
            return (self.knots[:-1] if usual else self.knots), values
        last = np.polyval(self.rows[-1, :-1][::-1], self.knots[-1] - self.knots[-2])
        return self.knots, np.append(values, last)

    def __reduce__(self):
        return type(self), (self.name, self.hold, self.knots, self.rows)

    def __repr__(self) -> str:
        return f"<{self.description}>"


class MeasuredLetter(Parameter):
    """A number of the current piece of a record: a coefficient, or the start time of the piece."""

    __slots__ = ("column", "record")
    record: MeasuredRecord
    column: int

    def __new__(cls, record: MeasuredRecord, column: int) -> Any:
        last = record.rows.shape[1] - 1
        suffix = "t" if column == last and last else f"c{column}"
        self = Symbol.__xnew__(cls, f"{record.name}_{record.digest[:8]}_{suffix}", real=True)
        self.record, self.column = record, column
        return self

    def __reduce__(self):
        return type(self), (self.record, self.column)

    def __getnewargs_ex__(self):
        return (self.record, self.column), {}

    def __setstate__(self, state):  # everything is in the arguments of __new__
        pass

    def _eval_subs(self, old: Any, new: Any) -> Any:
        """`record.subs(t, 2.0)` gives the numbers at that time. Other substitutions for t raise: the samples would be
        elsewhere."""
        if old != t or new == t:
            return super()._eval_subs(old, new)
        record = self.record
        if not new.is_number:
            raise ModelError(
                f"the record '{record.name}' is a function of ap.t itself, which {shown(new)} cannot replace: its samples would"
                f" stay where they are. Move them instead: ap.sampled(times + delay, values)"
            )
        row = Schedule(record.knots, record.rows, ()).row(float(new))
        if not np.isfinite(row).all():
            raise ModelError(f"{record.description}; it has no value at t = {float(new):g}")
        return sympy.Float(float(row[self.column]))


def sampled(times: Any, values: Any = None, hold: str = "linear", *, name: str = "record") -> sympy.Expr:
    """A measured record as a function of time: (t_k, y_k) of any length and noise.

        f(t) = y_k                                              hold="zero"
        f(t) = y_k + (y_k+1 − y_k)(t − t_k)/(t_k+1 − t_k)       hold="linear"
        f(t) = the cubic spline through all samples             hold="cubic"

    It is an expression in `ap.t`: a value for a prescribed function, `parameters={f: ap.sampled(t, y)}`, or part of a force or
    potential. Runs stop at every sample, so tolerances and energy balances hold across kinks and jumps; compiled code does
    not contain the samples, and other records run without a compiler. A linear record has no second derivative: to prescribe a
    position use hold="cubic".

    Parameters
    ----------
    times: (n,) s, increasing, or a quantity of pint; or, without values, a `pandas.Series` over its times or an
        `xarray.DataArray` over one dimension, whose attributes `units` are applied ("mm", times in "ms"). With hold="zero" the
        last value is held as long as the one before it, or until a last time that comes without a value, (n + 1,).
    values: (n,), SI, or a quantity. A gap (NaN) raises: leave the sample out, or fill it.
    name: used in messages.
    """
    if not isinstance(hold, str) or hold not in HOLDS:
        raise ModelError(f"hold= is one of {', '.join(map(repr, HOLDS))}, not {shown(hold)}")
    if not (isinstance(name, str) and name.isidentifier()):
        raise ModelError(f"name= must be an identifier, such as 'road', not {shown(name)}")
    if values is None:
        times, values = _series(times, name)
    x, y = (_in_si(data, name, label) for data, label in ((times, "times"), (values, "values")))
    y, x = _column(y, name, "values"), _column(x, name, "times")
    ends = hold == "zero" and len(x) == len(y) + 1
    if len(x) != len(y) and not ends:
        raise ModelError(f"the record '{name}' has {len(x)} times and {len(y)} values")
    if len(x) < 2:
        raise ModelError(f"the record '{name}' has {len(x)} sample{'s' * (len(x) != 1)}; it needs two at least")
    late = np.flatnonzero(np.diff(x) <= 0)
    if len(late):
        k = int(late[0])
        how = "repeats the time of" if x[k + 1] == x[k] else "comes before"
        raise ModelError(
            f"the times of the record '{name}' must increase: sample {k + 1} (t = {x[k + 1]:g}) {how} sample {k} (t = {x[k]:g})"
        )
    with np.errstate(all="ignore"):
        knots, rows = _pieces(x, y, hold)
    steep = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(steep):
        raise ModelError(f"the record '{name}' is too steep for numbers between samples {steep[0]} and {steep[0] + 1}")
    return MeasuredRecord(name, hold, knots, rows).expression


def _series(series: Any, name: str) -> tuple[Any, Any]:
    """(times, values) of a series of pandas or an array of xarray, in SI by their attributes `units`."""
    if hasattr(series, "index") and hasattr(series, "to_numpy") and not hasattr(series, "columns"):
        return series.index.to_numpy(), _scaled(series.to_numpy(), getattr(series, "attrs", {}), name)
    dims = getattr(series, "dims", None)
    if isinstance(dims, tuple) and len(dims) == 1 and dims[0] in getattr(series, "coords", {}):
        axis = series.coords[dims[0]]
        times = _scaled(axis.values, axis.attrs, name)
        units = axis.attrs.get("units", "s")
        if unit_of(units)[1] != SECOND:
            raise ModelError(f"the times of the record '{name}' are in {shown(units)}, which is not a unit of time")
        return times, _scaled(series.values, series.attrs, name)
    raise ModelError(
        f"the record '{name}' takes times and values, a pandas Series over its times, or an xarray DataArray over one"
        f" dimension with its times; not {shown(series)} alone"
    )


def _scaled(values: Any, attrs: Any, name: str) -> Any:
    """Values in SI by the unit in their attributes; "SI" or none means SI."""
    unit = attrs.get("units") if isinstance(attrs, dict) else None
    if unit is None or unit == "SI":
        return values
    if not isinstance(unit, str):
        raise ModelError(f"the unit of the record '{name}' is a text, not {shown(unit)}")
    factor = unit_of(unit)[0]
    return values if factor == 1 else np.asarray(values) * factor


def _in_si(data: Any, name: str, label: str) -> Any:
    """A pint quantity as numbers in SI; times must have the dimension of time."""
    if not is_quantity(data):
        return data
    numbers, unit = in_si(data, f"the {label} of the record '{name}'")
    if label == "times" and unit != SECOND:
        raise ModelError(f"the times of the record '{name}' are in {unit_text(unit)}, which is not a unit of time")
    return numbers


def _pieces(x: Array, y: Array, hold: str) -> tuple[Array, Array]:
    """Knots (k + 1,) and rows of the pieces."""
    if hold == "zero":
        knots = x if len(x) == len(y) + 1 else np.append(x, 2 * x[-1] - x[-2])
        return knots, y[:, None].copy()
    if hold == "linear":
        return x, np.column_stack([y[:-1], np.diff(y) / np.diff(x), x[:-1]])
    from scipy.interpolate import CubicSpline

    return x, np.column_stack([CubicSpline(x, y).c[::-1].T, x[:-1]])


def _column(data: Any, name: str, label: str) -> Array:
    refuse_large(data, f"the {label} of the record '{name}'")
    try:
        data = unmasked(data)
        array = np.array(data, dtype=float) if np.asarray(data).dtype.kind in "fiub" else None
    except Exception:  # conversion of a foreign object may raise anything
        array = None
    if array is None:
        raise ModelError(f"the {label} of the record '{name}' must be real numbers")
    if array.ndim != 1:
        raise ModelError(
            f"the {label} of the record '{name}' must have shape (n,), not {array.shape}; several channels are several records"
        )
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        more = f", and so are {len(bad) - 1} more" if len(bad) > 1 else ""
        gap = "a gap" if np.isnan(array[bad[0]]) else "not finite"
        raise ModelError(
            f"sample {bad[0]} of the record '{name}' is {gap} among its {label}{more}; leave it out, or fill it, before the run"
        )
    return array


def letters_of(symbols: Iterable[Any]) -> list[MeasuredLetter]:
    """The symbols that belong to records."""
    return [s for s in symbols if isinstance(s, MeasuredLetter)]


def records_of(symbols: Iterable[Any]) -> list[MeasuredRecord]:
    """The records whose symbols are among these."""
    letters = letters_of(symbols)
    if not letters:
        return []
    by_key = {letter.record.digest + letter.record.name: letter.record for letter in letters}
    return [by_key[key] for key in sorted(by_key)]


def schedule_of(symbols: tuple[Any, ...]) -> Schedule | None:
    """The schedule of the records among parameters; None where there are none."""
    letters = letters_of(symbols)
    if not letters:
        return None
    tables, columns = [], []
    for record in records_of(letters):
        letters_of_record = [letter for letter in letters if letter.name.startswith(f"{record.name}_{record.digest[:8]}_")]
        tables.append((record.knots, record.rows[:, [letter.column for letter in letters_of_record]]))
        columns += [symbols.index(letter) for letter in letters_of_record]
    return Schedule(*over_common_knots(tables), tuple(columns))


def refuse_outside(records: Iterable[MeasuredRecord], span: tuple[float, float]) -> None:
    """Raises `ModelError` if a run leaves the range of a record."""
    for record in records:
        first, last = record.range
        slack = RECORD_SLACK * (last - first)
        outside = [x for x in span if not first - slack <= x <= last + slack]
        if outside:
            raise ModelError(f"{record.description}; the run needs t = {outside[0]:g}")


__all__ = [
    "HOLDS",
    "MeasuredLetter",
    "MeasuredRecord",
    "letters_of",
    "records_of",
    "refuse_outside",
    "sampled",
    "schedule_of",
]
