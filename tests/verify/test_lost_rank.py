"""States where rank is lost, found though the way to them is slow, and none claimed where rank is only nearly lost.

Two rows, u̇ − ṡ = 0 and u̇ − ṡ + Σ g_k(q) v_k = 0, lose rank where all g_k vanish. The g are those of problems with which
least squares is tested (Moré, Garbow and Hillstrom, ACM TOMS 7 (1981) 17–41): curved valleys, corners, zeros of high order.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import Rational, atan2, cos, pi, sin, sqrt

import appell as ap
from appell.verify import ranks
from appell.verify.case import Case

x, y, z, u, w, s = ap.coordinates("x y z u w s")


def found(*g):
    """Functions of the state that vanish where rank is lost, at the states that the search finds."""
    one = u.d - s.d
    two = one + sum(k * c.d for k, c in zip(g, (x, y, z, w), strict=False))
    rows = [ap.Constraint(one, "one"), ap.Constraint(two, "two")]
    case = Case.of(ap.System([x, y, z, u, w, s], sum(c.d**2 for c in (x, y, z, u, w, s)) / 2, constraints=rows), {}, None, 0)
    kept, _ = ranks.independent(ranks.values(case.form, case.p, case.states, "A"))
    value = sympy.lambdify([x, y, z, u, w, s], g)
    return [value(*state[1]) for state, _ in ranks.rank_losses(case.form, case.p, case.states, kept)]


@pytest.mark.parametrize(
    "g",
    [
        pytest.param((x**8, y**8), id="eighth power"),
        pytest.param((1 - x, 1000 * (y - x**2)), id="Rosenbrock"),
        pytest.param((x + 10 * y, sqrt(5) * (z - w), (y - 2 * z) ** 2, sqrt(10) * (x - w) ** 2), id="Powell"),
        pytest.param((10 * (z - 5 * atan2(y, x) / pi), 10 * (sqrt(x**2 + y**2) - 1), z), id="helical valley"),
        pytest.param((10 * (y - x**2), 1 - x, 3 * sqrt(10) * (w - z**2), 1 - z), id="Wood"),
        pytest.param(tuple(c - x * (1 - y**k) for k, c in enumerate((1.5, 2.25, 2.625), 1)), id="Beale"),
        pytest.param((sin(x) - y, cos(y) - x, x - z), id="sines"),
        pytest.param((x - 7, (y - 5) ** 2), id="far corner"),
    ],
)
def test_a_slow_approach_ends_where_rank_is_lost(g):
    states = found(*g)
    assert states and np.abs(states).max() < 1e-8


@pytest.mark.parametrize("g", [(x**2 + y**2 + Rational(1, 10**6),), (x, 1 + y**2), (x, (x - 1) * y + Rational(1, 10**5))])
def test_rank_that_is_only_nearly_lost_is_not_lost(g):
    """The third loses it at x = 0 and y = 1e-5, off the zeros to which small numbers are rounded."""
    assert np.abs(found(*g) or [[0.0]]).max() < 1e-8
