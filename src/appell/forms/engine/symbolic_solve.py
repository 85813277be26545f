"""Symbolic solution of K x = b by elimination without expansion; every entry carries its values at random points.

A zero is recognized by its values, to 25 digits of its terms, without expanding or simplifying.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr, Symbol
from sympy.core.cache import clear_cache

from appell import tidy
from appell.errors import FormNotApplicable, SingularConfiguration
from appell.forms.engine.diagonal_blocks import Block, diagonal_blocks
from appell.forms.engine.display import Memory, simplified
from appell.forms.engine.evaluation import Tape, arithmetic, magnitude
from appell.forms.engine.special_states import lost, probe, regular_states, tried_states, values_at
from appell.forms.engine.work_budget import WorkBudget

SOLVE_POINTS = 3
ZERO_DIGITS = 25
ENTRY_SYMBOLS = 400
"""Number of symbols from which an entry is not simplified until the end."""
LARGEST_BLOCK = 3
"""Largest pivot block: a determinant of four rows is long."""
DIFFERENCE_NOISE = 1e-12
"""A difference at a special state is zero below this fraction of its terms: rounding of a few hundred operations."""
PIVOT_BLOCKS = 3_000
"""Largest number of blocks examined for one pivot."""


@dataclass(frozen=True, eq=False)
class SampledEntry:
    """An expression, its values at the points and at the tried states, and its approximate length. Zero has no values."""

    expr: Any
    values: tuple[Any, ...]
    special: NDArray[np.float64]
    size: int

    @property
    def zero(self) -> bool:
        return not self.values


Row = list[SampledEntry]


class Shortening:
    """Simplifies entries while the effort lasts; shared parts are parsed once."""

    def __init__(self, effort: WorkBudget):
        self._effort, self._memory, self._share = effort, Memory(signs=False, regroups=False), tidy.Sharing()
        self._long = False

    def __call__(self, entry: SampledEntry) -> SampledEntry:
        if entry.size > ENTRY_SYMBOLS:
            self._forget()
            return replace(entry, expr=self._share(entry.expr))
        short = self._share(simplified(entry.expr, self._effort, memory=self._memory))
        return replace(entry, expr=short, size=tidy.length(short))

    def _forget(self) -> None:
        """Clears SymPy's cache when entries grow long: cached entries of another solution would be compared in full."""
        if not self._long:
            self._long = True
            clear_cache()


def solve(K: sympy.Matrix, b: sympy.Matrix, unknowns: Sequence[Symbol], effort: WorkBudget) -> dict[Symbol, Expr]:
    """x by Gauss–Jordan elimination; pivots are the shortest entries that are nonzero, also at special states.

    Where every entry vanishes at some state at which the problem has a solution (cos θ and sin θ of a row), the pivot is a
    block of several rows and columns whose determinant does not vanish: the solution then has only the poles of the determinant
    of K. Entries that are in no term of that determinant are not used as pivots.
    """
    n, algebra = len(unknowns), Elimination(Shortening(effort))
    rows = _entries(K, b)
    remaining = list(range(n))
    solved: list[tuple[int, Row]] = []
    while remaining:
        rows = [row for row in rows if any(not row[j].zero for j in remaining)]
        pivot_rows, columns = _pivot(rows, remaining, unknowns)
        block = algebra.normalised([rows[i] for i in pivot_rows], columns)
        rows = [row for i, row in enumerate(rows) if i not in pivot_rows]
        remaining = [j for j in remaining if j not in columns]
        for j, pivot_row in zip(columns, block, strict=True):
            rows = [algebra.minus(row, row[j], pivot_row) for row in rows]
            solved = [(k, algebra.minus(row, row[j], pivot_row)) for k, row in solved]
        solved += zip(columns, block, strict=True)
    return {unknowns[j]: row[n].expr for j, row in sorted(solved, key=lambda item: item[0])}


def _pivot(rows: list[Row], columns_left: list[int], unknowns: Sequence[Symbol]) -> Block:
    """Rows and columns of the next pivot: a single entry if one vanishes nowhere, else a small block."""
    if all(row[j].zero for row in rows for j in columns_left):
        undetermined = ", ".join(str(unknowns[j]) for j in columns_left)
        raise FormNotApplicable(f"no explicit solution: redundant constraint rows leave {undetermined} open; use .acceleration")
    blocks = diagonal_blocks(np.array([[not row[j].zero for j in columns_left] for row in rows]))
    candidates = [DiagonalBlock(rows, chosen, tuple(columns_left[k] for k in columns)) for chosen, columns in blocks]
    rank, block = min(
        ((block.rank(i, j), block) for block in candidates for i in block.rows for j in block.columns if not rows[i][j].zero),
        key=lambda ranked: ranked[0],
    )
    undefined, vanishing, _, (i, j) = rank
    if undefined:
        raise FormNotApplicable(f"no explicit solution: {rows[i][j].expr} may vanish, and is divided by; use .acceleration")
    return ((i,), (j,)) if not vanishing else block.block(vanishing) or ((i,), (j,))


class DiagonalBlock:
    """A diagonal block of the remaining K: its entries, and its determinant at the tried states."""

    def __init__(self, table: list[Row], rows: tuple[int, ...], columns: tuple[int, ...]):
        self.table, self.rows, self.columns = table, rows, columns
        self._determinant = self._at(rows, columns) if len(rows) == len(columns) else None

    def rank(self, i: int, j: int) -> tuple[bool, int, int, tuple[int, int]]:
        """Sort key of an entry as a pivot, worst criteria first; ties are broken by position."""
        entry = self.table[i][j]
        return not all(entry.values), lost(entry.special, self._determinant), entry.size, (i, j)

    def block(self, limit: int) -> Block | None:
        """The smallest and shortest block whose determinant vanishes at no state, or at fewer than `limit`."""
        best: tuple[Any, ...] | None = None
        for count, (rows, columns) in enumerate(self._blocks()):
            if count > PIVOT_BLOCKS or (best is not None and best[0] == 0 and len(rows) > len(best[2])):
                break
            vanishing = lost(self._at(rows, columns), self._determinant)
            candidate = (vanishing, sum(self.table[i][j].size for i in rows for j in columns), rows, columns)
            if vanishing < limit and (best is None or candidate < best):
                best = candidate
        return None if best is None else best[2:]

    def _at(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> NDArray[np.float64]:
        """(states,) the determinant of some rows and columns."""
        with np.errstate(all="ignore"):
            return np.linalg.det(np.array([[self.table[i][j].special for j in columns] for i in rows]).transpose(2, 0, 1))

    def _blocks(self) -> Iterator[Block]:
        for size in range(2, min(LARGEST_BLOCK, len(self.columns), len(self.rows)) + 1):
            for chosen in combinations(self.rows, size):
                for columns in combinations(self.columns, size):
                    yield chosen, columns


FUNCTIONS_WITH_STEPS = (
    sympy.Heaviside, sympy.sign, sympy.Max, sympy.Min, sympy.Abs, sympy.floor, sympy.ceiling, sympy.Piecewise
)  # fmt: skip
"""Functions that may vanish at every probe without being zero."""


def _entries(K: sympy.Matrix, b: sympy.Matrix) -> list[Row]:
    """The rows of (K | b) with their values at points where they are defined, and at the tried states where K is regular."""
    shared = tidy.Sharing()
    flat: list[Any] = [shared(e) for i in range(K.rows) for e in (*K.row(i), b[i])]
    symbols = sorted((e for e in tidy.parts(sympy.Tuple(*flat)) if e.is_Symbol), key=str)
    tape, numbers, samples = Tape([*flat, *map(magnitude, flat)]), arithmetic(40), []
    for k in range(20):
        point = {s: numbers.number(probe(s, i, k)) for i, s in enumerate(symbols)}
        try:
            samples.append(tape(point, numbers))
        except SingularConfiguration:
            continue
        if len(samples) == SOLVE_POINTS:
            break
    if not samples:
        raise FormNotApplicable("no explicit solution: the equations have no value at 20 random points; use .acceleration")
    values = list(zip(*samples, strict=True))
    width = K.cols + 1
    special = _at_tried_states(flat, K.rows, width)
    entries = [
        _zero(point) if e == 0 or (not _has_steps(e) and _cancels(v, sizes)) else SampledEntry(e, v, point, tidy.length(e))
        for e, v, sizes, point in zip(flat, values[: len(flat)], values[len(flat) :], special.T, strict=True)
    ]
    return [entries[i : i + width] for i in range(0, len(entries), width)]


def _at_tried_states(flat: list[Any], rows: int, width: int) -> NDArray[np.float64]:
    """(states, entries) of K and b, row by row, where K x = b has a unique solution."""
    values = values_at(Tape(flat), tried_states(flat))
    table = values.reshape(len(values), rows, width)
    return values[regular_states(table[:, :, :-1], table[:, :, -1])]


def _zero(like: NDArray[np.float64]) -> SampledEntry:
    return SampledEntry(sympy.Integer(0), (), np.zeros_like(like), 0)


@tidy.of_object
def _has_steps(e: Any) -> bool:
    return isinstance(e, FUNCTIONS_WITH_STEPS) or any(map(_has_steps, e.args))


def _cancels(values: Sequence[Any], sizes: Sequence[Any]) -> bool:
    """Whether the terms cancel at every point."""
    return all(abs(x) <= 10.0**-35 * size for x, size in zip(values, sizes, strict=True))


@dataclass(frozen=True, eq=False)
class Elimination:
    """Division and subtraction of rows of entries, with simplified results."""

    short: Shortening

    def normalised(self, block: list[Row], columns: tuple[int, ...]) -> list[Row]:
        """The rows of a block combined so that its columns become those of the identity: adj(P)/det(P) times them."""
        if len(block) == 1:
            (row,), (j,) = block, columns
            return [[self.over(x, row[j]) for x in row]]
        P = [[row[j] for j in columns] for row in block]
        size = len(P)
        cofactor = [[self._cofactor(P, i, j) for j in range(size)] for i in range(size)]
        determinant = self._total([self.times(P[0][j], cofactor[0][j]) for j in range(size)])
        identity = lambda k, j: SampledEntry(sympy.Integer(k == j), determinant.values, np.ones_like(determinant.special), 1)
        normalised = []
        for k in range(size):
            numerators = [
                self._total([self.times(cofactor[i][k], row[j]) for i, row in enumerate(block)]) for j in range(len(block[0]))
            ]
            row = [self.over(x, determinant) for x in numerators]
            for position, j in enumerate(columns):
                row[j] = identity(k, position) if k == position else _zero(determinant.special)
            normalised.append(row)
        return normalised

    def _cofactor(self, P: list[Row], i: int, j: int) -> SampledEntry:
        minor = [[x for b, x in enumerate(row) if b != j] for a, row in enumerate(P) if a != i]
        value = self._determinant(minor)
        return value if (i + j) % 2 == 0 else self.difference(_zero(value.special), value)

    def _determinant(self, P: list[Row]) -> SampledEntry:
        if len(P) == 1:
            return P[0][0]
        return self._total([self.times(P[0][j], self._cofactor(P, 0, j)) for j in range(len(P))])

    def _total(self, terms: list[SampledEntry]) -> SampledEntry:
        total = terms[0]
        for term in terms[1:]:
            total = self.difference(total, term, sign=1)
        return total

    def times(self, x: SampledEntry, y: SampledEntry) -> SampledEntry:
        """x y."""
        if x.zero or y.zero:
            return _zero(x.special)
        values = tuple(a * b for a, b in zip(x.values, y.values, strict=True))
        with np.errstate(all="ignore"):
            special = x.special * y.special
        return SampledEntry(x.expr * y.expr, values, special, x.size + y.size)

    def over(self, x: SampledEntry, pivot: SampledEntry) -> SampledEntry:
        """x/pivot."""
        if x.zero:
            return x
        if x is pivot:
            return SampledEntry(sympy.Integer(1), tuple(v / v for v in x.values), np.ones_like(x.special), 1)
        values = tuple(v / p for v, p in zip(x.values, pivot.values, strict=True))
        with np.errstate(all="ignore"):
            special = x.special / pivot.special
        return self.short(SampledEntry(x.expr / pivot.expr, values, special, x.size + pivot.size))

    def minus(self, row: Row, factor: SampledEntry, pivot_row: Row) -> Row:
        """row − factor × pivot_row."""
        if factor.zero:
            return row
        return [x if y.zero else self.difference(x, self.times(factor, y)) for x, y in zip(row, pivot_row, strict=True)]

    def difference(self, x: SampledEntry, y: SampledEntry, sign: int = -1) -> SampledEntry:
        """x − y, or x + y with `sign` 1; zero where the values cancel."""
        if y.zero:
            return x
        minuend = x.values or [0] * len(y.values)
        values = tuple(v + sign * p for v, p in zip(minuend, y.values, strict=True))
        terms = zip(minuend, y.values, values, strict=True)
        if all(abs(v) <= 10.0**-ZERO_DIGITS * (abs(a) + abs(p)) for a, p, v in terms):
            return _zero(y.special)
        with np.errstate(all="ignore"):
            special = x.special + sign * y.special
            special = np.where(np.abs(special) <= DIFFERENCE_NOISE * (np.abs(x.special) + np.abs(y.special)), 0.0, special)
        return self.short(SampledEntry(x.expr + sign * y.expr, values, special, x.size + y.size))
