"""K x = b in symbols: elimination that never expands, with pivots and zeros recognised by their value at random points."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Expr, Symbol

from appell.errors import FormNotApplicable, SingularConfiguration
from appell.forms.display import simplified
from appell.forms.numbers import Tape, arithmetic

POINTS = 2


def solve(K: sympy.Matrix, b: sympy.Matrix, unknowns: Sequence[Symbol], budget: float) -> dict[Symbol, Expr]:
    """x by Gauss–Jordan elimination; pivots are the shortest entries that are not zero. `budget` in s of simplification."""
    n = len(unknowns)
    rows: list[list[Any]] = [[*K.row(i), b[i]] for i in range(K.rows)]
    is_zero, stop = _ZeroTest(K, b), time.monotonic() + budget
    left = list(range(n))
    done: list[tuple[int, list[Any]]] = []
    while left:
        rows = [row for row in rows if any(row[j] != 0 for j in left)]
        choices = [(sympy.count_ops(row[j]), i, j) for i, row in enumerate(rows) for j in left if row[j] != 0]
        if not choices:
            names = ", ".join(str(unknowns[j]) for j in left)
            raise FormNotApplicable(f"no explicit solution: redundant constraint rows leave {names} open; use .acceleration")
        _, i, j = min(choices)
        pivot_row = rows.pop(i)
        pivot_row = [_tidy(x / pivot_row[j], is_zero, stop) if x != 0 else x for x in pivot_row]
        left.remove(j)
        rows = [_minus(row, row[j], pivot_row, is_zero, stop) for row in rows]
        done = [(k, _minus(row, row[j], pivot_row, is_zero, stop)) for k, row in done]
        done.append((j, pivot_row))
    return {unknowns[j]: row[n] for j, row in sorted(done, key=lambda item: item[0])}


def _minus(row: list[Any], factor: Any, pivot_row: list[Any], is_zero: _ZeroTest, stop: float) -> list[Any]:
    if factor == 0:
        return row
    return [x - factor * y if y == 0 else _tidy(x - factor * y, is_zero, stop) for x, y in zip(row, pivot_row, strict=True)]


def _tidy(expr: Expr, is_zero: _ZeroTest, stop: float) -> Expr:
    if is_zero(expr):
        return sympy.Integer(0)
    return simplified(expr, max(0.0, min(0.2, stop - time.monotonic())))


class _ZeroTest:
    """Whether an expression vanishes at random points to 30 digits: a zero is recognised without expanding."""

    def __init__(self, K: sympy.Matrix, b: sympy.Matrix):
        symbols = sorted(K.free_symbols | b.free_symbols, key=str)
        self.numbers = arithmetic(40)
        self.points = [
            {s: self.numbers.number(sympy.Rational(3 + (7 * i + 13 * k) % 29, 31 + 2 * k)) for i, s in enumerate(symbols)}
            for k in range(POINTS)
        ]

    def __call__(self, expr: Expr) -> bool:
        if expr.is_number:
            return bool(expr == 0)
        tape = Tape([expr])
        try:
            return all(abs(tape(point, self.numbers)[0]) < 1e-30 for point in self.points)
        except SingularConfiguration:
            return False
