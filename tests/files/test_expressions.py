"""Expressions of model files: what they mean, that they come back, and what is refused, with its place."""

from __future__ import annotations

import contextlib
import random
import time

import pytest
import sympy
from sympy import Abs, Max, Piecewise, Rational, atan2, cos, exp, pi, sin, sqrt

import appell as ap
from appell.errors import NotationError
from appell.files.printed import write_expression
from appell.files.written import read_expression

x, y, phi = ap.coordinates("x y phi")
m, g, k = ap.parameters("m g k", positive=True)
NAMES = {"x": x, "y": y, "phi": phi, "m": m, "g": g, "k": k}


def read(text):
    return read_expression(text, NAMES)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("m*(x'^2 + y'^2)/2", m * (x.d**2 + y.d**2) / 2),
        ("x''", x.dd),
        ("dot(x) + ddot(y)", x.d + y.dd),
        ("-x^2", -(x**2)),
        ("2^-x", 2**-x),
        ("x**2**3", x**8),
        ("-(x - y)*cos(phi)", sympy.Mul(-1, x - y, cos(phi))),
        ("x - -y", x + y),
        ("1/2*x", x / 2),
        ("0.1*x", 0.1 * x),
        ("max(x - 1, 0)", Max(x - 1, 0)),
        ("abs(x)*sqrt(k/m)", Abs(x) * sqrt(k / m)),
        ("atan2(y, x)", atan2(y, x)),
        ("k·x − m", k * x - m),
        ("t*pi", ap.t * pi),
        ("piecewise(1, t < 1 and (x > 2 or not y > 0), 3)",
         Piecewise((1, (ap.t < 1) & ((x > 2) | (y <= 0))), (3, True))),
        ("`x`'", x.d),
    ],
)  # fmt: skip
def test_ordinary_notation(text, meaning):
    assert read(text) == meaning


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("m*fi", 3, "unknown name 'fi'; did you mean 'phi'?"),
        ("m*xx'", 3, "unknown name 'xx'; did you mean 'x'?"),
        ("x +", 4, "ends too early"),
        ("(x", 3, "ends too early"),
        ("sin x", 5, "'x' does not belong here"),
        ("x'''", 4, "does not belong here"),
        ("m'", 1, "m has no time derivative"),
        ("sin(x, y)", 1, "sin takes one argument, not 2"),
        ("sine(x)", 1, "unknown function 'sine'; did you mean 'sin'?"),
        ("sin + 1", 1, "sin is a function; write sin(…)"),
        ("x = y", 3, "the character '=' has no meaning here"),
        ("9^9^9", 1, "a power of 3.874e+08"),
        ("x^2000", 1, "a power of 2000"),
        ("exp(1e300)", 1, "exp of this number is too large"),
        ("1e999", 1, "beyond what a float64 can hold"),
        ("1e-400", 1, "smaller than a float64 can hold"),
        ("1/0", 1, "a division by zero"),
        ("sqrt(-1)", 1, "not a real number"),
        ("log(0)", 1, "no finite value"),
        ("x < 1", 1, "a condition is given where an expression is expected"),
        ("x*(y < 1)", 1, "a condition is given where a number is expected"),
        ("not x", 1, "a number stands where a condition is wanted"),
        ("piecewise(1, x)", 1, "piecewise is written"),
        ("multiplier(floor)", 1, "in forces and limits of friction only"),
        ("__import__('os')", 12, "does not belong here"),
        ("x.d", 2, "the character '.' has no meaning here"),
        ("", 1, "an empty expression"),
        ("x + \n  zz", 3, "unknown name 'zz'"),
    ],
)
def test_what_is_not_understood_is_named_with_its_place(text, column, said):
    with pytest.raises(NotationError) as caught:
        read(text)
    assert said in str(caught.value) and caught.value.column == column


@pytest.mark.parametrize(
    "text",
    ["(" * 5000 + "x" + ")" * 5000, "9" * 10_000, "-" * 100_000 + "x", "x" * 600_000, "2^" * 2000 + "2", "x^" * 500 + "x",
     "sin(" * 119 + "x" + ")" * 119 + "^^", "(((((((9^9)^9)^9)^9)^9)^9)^9)", "10^1000*10^1000*10^1000",
     "piecewise(1, x/x < pi^1e-300, 2)", "erf(sech((-(pi))^(999999999 + m)))",
     "piecewise(1, piecewise(sec(1), t*1e300 < sec(1) and not t*1e300 > 1, t*1e300) > x, 2)"],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_bombs_are_refused_at_once(text):
    begin = time.process_time()
    with contextlib.suppress(ap.AppellError):
        read(text)
    assert time.process_time() - begin < 2.0


def some_expression(draw, depth):
    """A random expression of mechanics."""
    if depth == 0:
        return draw.choice([x, y, phi, x.d, phi.d, m, g, ap.t, sympy.Integer(3), Rational(-2, 7), sympy.Float(0.1), pi])
    a, b = some_expression(draw, depth - 1), some_expression(draw, depth - 1)
    kinds = [a + b, a * b, a - b, a**2, sin(a), cos(a - b), exp(a), sqrt(Abs(a) + 1), Max(a, b), a / (b**2 + 1)]
    return kinds[draw.randrange(len(kinds))]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_written_is_read_again(seed):
    draw = random.Random(seed)
    for _ in range(60):
        e = some_expression(draw, draw.choice([1, 2, 3]))
        if e.has(sympy.zoo, sympy.nan, sympy.oo):
            continue
        again = read(write_expression(e))
        assert again == e or sympy.srepr(read(write_expression(again))) == sympy.srepr(again)


def test_functions_without_a_name_are_refused():
    with pytest.raises(ap.ModelError, match="besselj cannot be written"):
        write_expression(sympy.besselj(0, x))
