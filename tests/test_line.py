"""One line of text: what SymPy's printer writes for symbols in the order of the books, in less time."""

from __future__ import annotations

import random

import pytest
import sympy

import appell as ap
from appell.letters import _as_letter, _by_sympy
from appell.line import LineWriter

x, y, phi = ap.coordinates("x y phi")
m, g, l, a = ap.parameters("m g l a", positive=True)
ATOMS = [x, y, phi, x.d, phi.dd, m, g, l, a]


def expression(pick: random.Random, depth: int) -> sympy.Expr:
    if not depth:
        return pick.choice(ATOMS)
    inside = lambda: expression(pick, depth - pick.randint(1, depth))
    kind = pick.randrange(6)
    if kind == 0:
        return pick.choice([sympy.sin, sympy.cos, sympy.tan, sympy.Abs, sympy.sign])(inside() - pick.randint(1, 2) * inside())
    if kind == 1:
        return inside() ** pick.choice([-2, -1, 2, 3])
    if kind < 4:
        return inside() * inside() * sympy.Rational(pick.randint(-3, 3) or 1, pick.randint(1, 3))
    return inside() - inside() * pick.randint(-2, 2) + pick.choice([0, 0, 1, -2])


def own(expr: sympy.Expr) -> str | None:
    return LineWriter(_as_letter).written(expr)


def test_a_line_is_what_sympy_prints():
    pick, written = random.Random(3), 0
    for _ in range(60):
        expr = expression(pick, 6)
        if expr.has(sympy.nan, sympy.zoo):
            continue
        line = own(expr)
        written += line is not None
        assert line in (None, _by_sympy(expr, ())), expr
    assert written > 30


@pytest.mark.parametrize("unusual", [sympy.sqrt(x), sympy.exp(x), 2**x, 1.5 * x, sympy.pi * x, sympy.Max(x, y)])
def test_what_is_unusual_is_left_to_sympy(unusual):
    assert own(unusual + 1) is None
