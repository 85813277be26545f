"""Exact scalars: floats become the numbers that were meant, and no rewriting changes a value."""

import numpy as np
import pytest
import sympy
from sympy import Rational, cos, pi, sin, sqrt

import appell as ap
from appell.tree.symbols.exact_scalars import Algebra, Exact, Writing, exact_angle, exact_number, rational_turn, tidy

a, b, x = ap.coordinates("a b x")


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (1.2 * 0.7**2 / 3, Rational(49, 250)),
        (0.1 + 0.2, Rational(3, 10)),
        (1 / 3, Rational(1, 3)),
        (-9.81, Rational(-981, 100)),
        (0.0, 0),
        (1.23456789e-7, Rational("1.23456789e-7")),
        (123456.7890625, Rational("123456.7890625")),
    ],
)
def test_numbers_that_were_meant(value, meant):
    assert exact_number(value) == meant


def test_differences_are_rounded_by_what_was_subtracted():
    assert exact_number((0.2 + 0.3 + 0.4) / 2 - 0.4, scale=0.4) == Rational(1, 20)
    assert exact_number(0.3 - 0.1 - 0.2, scale=0.3) == 0


def test_angles_are_fractions_of_pi():
    assert [exact_angle(y) for y in (np.pi / 6, -3 * np.pi / 4, 0.3)] == [pi / 6, -3 * pi / 4, Rational(3, 10)]
    assert exact_angle(1.5708) == Rational("1.5708")  # the digits of a file are kept


@pytest.mark.parametrize("angle", [0.3, -2.9, 3.1, 1e-5, 1.0])
def test_rational_turns_are_turns(angle):
    c, s = rational_turn(angle)
    assert c**2 + s**2 == 1
    assert (float(c), float(s)) == pytest.approx((np.cos(angle), np.sin(angle)), abs=3e-16)


def random_polynomial(algebra: Algebra, rng: np.random.Generator) -> Exact:
    total = algebra.number(0)
    for _ in range(6):
        term = algebra.number(int(rng.integers(-4, 5)))
        for g in rng.choice(len(algebra.generators), 4):
            term = term * algebra.generator(algebra.generators[g])
        total = total + term
    return total


@pytest.mark.parametrize("seed", range(4))
def test_every_way_of_writing_has_the_same_value(seed):
    """Products, sums of angles, cos² for sin²: equal at random angles; a unit quaternion satisfies its relation."""
    ball = ap.quaternion("ball")
    algebra = Algebra((cos(a), sin(a), cos(b), sin(b), x, *ball.coordinates))
    rng = np.random.default_rng(seed)
    p = random_polynomial(algebra, rng)
    unit = rng.normal(size=4)
    values = dict(zip((a, b, x, *ball.coordinates), [*rng.normal(size=3), *(unit / np.linalg.norm(unit))], strict=True))
    product = p * p
    plain: sympy.Expr = p.poly.plain()
    expected = float(plain.xreplace({s: sympy.Float(y) for s, y in values.items()}).evalf()) ** 2
    for flips in ((), algebra.circles[:1], algebra.circles):
        for folded in (False, True):
            written = product.expression({}, Writing(flips, folded)).xreplace({s: sympy.Float(y) for s, y in values.items()})
            assert float(written.evalf()) == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_tidy_reaches_into_roots_and_quotients():
    circle = 1.0 * sin(a) ** 2 + cos(a) ** 2
    assert tidy(x * sqrt(circle) / (circle + 1)) == x / 2
    assert tidy(sin(a) * cos(b) + cos(a) * sin(b)) == sin(a + b)
    assert tidy(1e-17 * x + b - 0.5, dust=1e-15) == b - Rational(1, 2)
    bent = sympy.Piecewise((x * circle, x * circle > 0), (sympy.Max(0, b * circle), True))
    assert tidy(bent) == sympy.Piecewise((x, x > 0), (sympy.Max(0, b), True))
    w = ap.quaternion("ball").coordinates
    assert tidy(sympy.Add(*(y**2 for y in w)) - 1) == 0
