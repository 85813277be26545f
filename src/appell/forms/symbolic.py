"""K x = b in symbols: elimination that never expands, every entry carried along with its values at random points.

A zero is recognised by its values, to 25 digits of the terms that it was made of; nothing is expanded or simplified for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, Symbol
from sympy.core.cache import clear_cache

from appell import tidy
from appell.errors import FormNotApplicable, SingularConfiguration
from appell.forms.display import Memory, simplified
from appell.forms.effort import Effort
from appell.forms.numbers import Tape, arithmetic, magnitude

POINTS = 3
ZERO_DIGITS = 25
LONG = 400
"""Symbols past which an entry is left as it stands until the end."""


@dataclass(frozen=True)
class Entry:
    """An expression, its values at the points, and about how long it is. Zero has no values."""

    expr: Any
    values: tuple[Any, ...]
    size: int

    @property
    def zero(self) -> bool:
        return not self.values


NOTHING = Entry(sympy.Integer(0), (), 0)


class Shortening:
    """Entries written shorter while the effort lasts; what they share is read once."""

    def __init__(self, effort: Effort):
        self._effort, self._memory, self._share = effort, Memory(signs=False), tidy.Sharing()
        self._long = False

    def __call__(self, entry: Entry) -> Entry:
        if entry.size > LONG:
            self._forget()
            return Entry(self._share(entry.expr), entry.values, entry.size)
        short = self._share(simplified(entry.expr, self._effort, memory=self._memory))
        return Entry(short, entry.values, tidy.length(short))

    def _forget(self) -> None:
        """Clears SymPy's memory when entries grow long: one that it made for another solution would be compared in full."""
        if not self._long:
            self._long = True
            clear_cache()


def solve(K: sympy.Matrix, b: sympy.Matrix, unknowns: Sequence[Symbol], effort: Effort) -> dict[Symbol, Expr]:
    """x by Gauss–Jordan elimination; pivots are the shortest entries that are not zero."""
    n = len(unknowns)
    rows, short = _entries(K, b), Shortening(effort)
    left = list(range(n))
    done: list[tuple[int, list[Entry]]] = []
    while left:
        rows = [row for row in rows if any(not row[j].zero for j in left)]
        choices = [(not all(row[j].values), row[j].size, i, j) for i, row in enumerate(rows) for j in left if not row[j].zero]
        if not choices:
            names = ", ".join(str(unknowns[j]) for j in left)
            raise FormNotApplicable(f"no explicit solution: redundant constraint rows leave {names} open; use .acceleration")
        vanishing, _, i, j = min(choices)
        if vanishing:
            raise FormNotApplicable(f"no explicit solution: {rows[i][j].expr} may vanish, and is divided by; use .acceleration")
        pivot_row = rows.pop(i)
        pivot_row = [_over(x, pivot_row[j], short) for x in pivot_row]
        left.remove(j)
        rows = [_minus(row, row[j], pivot_row, short) for row in rows]
        done = [(k, _minus(row, row[j], pivot_row, short)) for k, row in done]
        done.append((j, pivot_row))
    return {unknowns[j]: row[n].expr for j, row in sorted(done, key=lambda item: item[0])}


STEPWISE = (
    sympy.Heaviside, sympy.sign, sympy.Max, sympy.Min, sympy.Abs, sympy.floor, sympy.ceiling, sympy.Piecewise
)  # fmt: skip
"""Functions that may vanish at every probe and nowhere else."""


def probe(symbol: Any, i: int, k: int) -> Any:
    """The value of the i-th symbol at the k-th point, from 0.1 to 12: of either sign unless it is said to be positive.

    No two are equal, nor opposite, so that nothing vanishes there which does not vanish everywhere.
    """
    size = sympy.Rational(3 + (7 * i + 13 * k) % 29, 31 + 2 * k) * (1, 3, 13)[(i + 2 * k) % 3]
    size += sympy.Rational(i + 1, 1009 + 10 * k)
    return size if symbol.is_nonnegative or (3 * i + k) % 2 else -size


def _entries(K: sympy.Matrix, b: sympy.Matrix) -> list[list[Entry]]:
    """The rows of (K | b) with their values at points where they have some."""
    share = tidy.Sharing()
    flat: list[Any] = [share(e) for i in range(K.rows) for e in (*K.row(i), b[i])]
    symbols = sorted((e for e in tidy.parts(sympy.Tuple(*flat)) if e.is_Symbol), key=str)
    tape, numbers, found = Tape([*flat, *map(magnitude, flat)]), arithmetic(40), []
    for k in range(20):
        at = {s: numbers.number(probe(s, i, k)) for i, s in enumerate(symbols)}
        try:
            found.append(tape(at, numbers))
        except SingularConfiguration:
            continue
        if len(found) == POINTS:
            break
    if not found:
        raise FormNotApplicable("no explicit solution: the equations have no value at 20 random points; use .acceleration")
    values = list(zip(*found, strict=True))
    entries = [
        NOTHING if e == 0 or (not _has_steps(e) and _cancels(v, sizes)) else Entry(e, v, tidy.length(e))
        for e, v, sizes in zip(flat, values[: len(flat)], values[len(flat) :], strict=True)
    ]
    width = K.cols + 1
    return [entries[i : i + width] for i in range(0, len(entries), width)]


@tidy.of_object
def _has_steps(e: Any) -> bool:
    return isinstance(e, STEPWISE) or any(map(_has_steps, e.args))


def _cancels(values: Sequence[Any], sizes: Sequence[Any]) -> bool:
    """Whether nothing is left of the terms at any point."""
    return all(abs(x) <= 10.0**-35 * size for x, size in zip(values, sizes, strict=True))


def _over(x: Entry, pivot: Entry, short: Shortening) -> Entry:
    if x.zero:
        return x
    if x is pivot:
        return Entry(sympy.Integer(1), tuple(v / v for v in x.values), 1)
    values = tuple(v / p for v, p in zip(x.values, pivot.values, strict=True))
    return short(Entry(x.expr / pivot.expr, values, x.size + pivot.size))


def _minus(row: list[Entry], factor: Entry, pivot_row: list[Entry], short: Shortening) -> list[Entry]:
    if factor.zero:
        return row
    return [_difference(x, factor, y, short) for x, y in zip(row, pivot_row, strict=True)]


def _difference(x: Entry, factor: Entry, y: Entry, short: Shortening) -> Entry:
    if y.zero:
        return x
    products = [f * v for f, v in zip(factor.values, y.values, strict=True)]
    before = x.values or [0] * len(products)
    values = tuple(v - p for v, p in zip(before, products, strict=True))
    terms = zip(before, products, values, strict=True)
    if all(abs(v) <= 10.0**-ZERO_DIGITS * (abs(b) + abs(p)) for b, p, v in terms):
        return NOTHING
    return short(Entry(x.expr - factor.expr * y.expr, values, x.size + factor.size + y.size))
