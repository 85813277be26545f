"""Coordinates and their derivatives as symbols."""

from __future__ import annotations

import copy
import pickle
import unicodedata

import pytest
import sympy
from sympy import Matrix, cos, latex, pretty, sin

import appell as ap
from appell.errors import ModelError
from appell.jets import (
    Coordinate,
    Parameter,
    Speed,
    coordinates,
    expression,
    jets_of,
    parameters,
    partial,
    speeds,
    t,
    total_derivative,
)

x, y = coordinates("x y")
m = parameters("m", positive=True)


def test_one_name_gives_a_symbol_several_a_tuple():
    assert isinstance(coordinates("x"), Coordinate)
    assert coordinates("x y") == coordinates("x, y") == coordinates(["x", "y"]) == (x, y)
    assert [str(q) for q in coordinates("q1:4")] == ["q1", "q2", "q3"]
    assert isinstance(speeds("u"), Speed) and isinstance(m, Parameter)


def test_derivatives_are_distinct_symbols_with_distinct_names():
    assert len({x, x.d, x.dd, x.d.dd}) == 4 and x.d.d is x.dd
    assert [str(s) for s in (x, x.d, x.dd)] == ["x", "x.d", "x.dd"]
    assert [s.level for s in (x, x.d, x.dd)] == [0, 1, 2]
    assert [s.level for s in (speeds("u"), speeds("u").d)] == [1, 2]
    assert sympy.diff(x.d**2 * x, x.d) == 2 * x * x.d and sympy.diff(x.d, x) == 0


def test_same_name_is_the_same_symbol_but_kinds_differ():
    assert coordinates("x") is x and coordinates("x").d is x.d
    assert speeds("x") != x and parameters("x") != x and sympy.Symbol("x", real=True) != x
    assert len({x, speeds("x"), parameters("x")}) == 3


def test_symbols_are_real_and_parameters_take_assumptions():
    assert x.is_real and x.d.is_real and m.is_positive and parameters("c").is_real
    assert parameters("c").is_positive is None
    assert sympy.sqrt(x.d**2) == sympy.Abs(x.d) and sympy.sqrt(m**2) == m


@pytest.mark.parametrize(
    ("symbol", "in_latex", "unicode"),
    [
        (x.d, r"\dot{x}", "ẋ"),
        (x.dd, r"\ddot{x}", "ẍ"),
        (coordinates("theta").d, r"\dot{\theta}", "θ̇"),
        (coordinates("phi_1").dd, r"\ddot{\phi}_{1}", "φ̈₁"),
        (coordinates("q2").d, r"\dot{q}_{2}", "q̇₂"),
        (speeds("u").d, r"\dot{u}", "u̇"),
    ],
)
def test_printing(symbol, in_latex, unicode):
    assert latex(symbol) == in_latex
    same = lambda text: unicodedata.normalize("NFC", text)
    assert same(pretty(symbol, use_unicode=True)) == same(unicode)
    assert pretty(symbol, use_unicode=False) == str(symbol)


def test_latex_in_expressions():
    assert r"\dot{x}^{2}" in latex(m * x.d**2 / 2)


@pytest.mark.parametrize("symbol", [x, x.d, x.dd, speeds("u"), speeds("u").d, m, m * x.d**2 + sin(x) * t])
def test_pickle_and_copy(symbol):
    for same in (pickle.loads(pickle.dumps(symbol)), copy.deepcopy(symbol), copy.copy(symbol)):
        assert same == symbol and hash(same) == hash(symbol)
    if isinstance(symbol, Coordinate):
        assert pickle.loads(pickle.dumps(symbol)) is symbol


def test_total_derivative_is_along_the_motion():
    f = m * x**2 * y.d + sin(t * x)
    expected = 2 * m * x * x.d * y.d + m * x**2 * y.dd + cos(t * x) * (x + t * x.d)
    assert sympy.expand(total_derivative(f) - expected) == 0
    assert sympy.diff(f, t) == total_derivative(f) and partial(f, t) == x * cos(t * x) and partial(f, x.d) == 0
    assert total_derivative(total_derivative(x)) == x.dd and total_derivative(m) == 0 and total_derivative(3) == 0


def test_total_derivative_of_matrices_and_with_rates():
    assert total_derivative(Matrix([x, y**2])) == Matrix([x.d, 2 * y * y.d])
    u = speeds("u")
    assert total_derivative(x**2 * u, {x: u * cos(y), y: u}) == 2 * x * u**2 * cos(y) + x**2 * u.d


def test_total_derivative_obeys_leibniz_and_matches_functions_of_time():
    time = sympy.Symbol("t", real=True)
    functions = {x: sympy.sin(3 * time), y: sympy.exp(-time)}
    table = {s.d if k else s: f.diff(time, k) for s, f in functions.items() for k in (0, 1)}
    table |= {s.dd: f.diff(time, 2) for s, f in functions.items()}
    f = x.d * sin(y) * t + y.d**2 / (2 + x)
    assert sympy.simplify(total_derivative(f).xreplace(table) - f.xreplace(table).diff(time)) == 0


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("", "no name given"),
        ("t", r"'t' is time \(ap\.t\)"),
        ("x x", "'x' is given twice"),
        ("2x", "'2x' cannot be the name"),
        ("x.d", r"'x\.d' cannot be the name"),
        ("class", "'class' is a word of the Python language.*'class_'"),
        ("a-b", "'a-b' cannot be the name"),
    ],
)
@pytest.mark.parametrize("make", [coordinates, parameters, speeds])
def test_names_that_cannot_be(make, names, message):
    with pytest.raises(ModelError, match=message):
        make(names)


def test_lambda_is_a_letter():
    """A word of Python, and a Greek letter: solved, printed and evaluated as any other."""
    stiffness, x = parameters("lambda", positive=True), coordinates("x")
    system = ap.System([x], x.d**2 / 2, stiffness * x**2 / 2)
    equations = ap.forms.lagrange(system)
    assert "ẍ = −λ x" in str(equations) and r"\lambda" in equations.latex()
    assert equations.acceleration(0, [1], [0], {"lambda": 2.0})[0] == [-2.0]
    assert ap.simulate(system, {x: 1.0}, 0.1, {"lambda": 2.0}).ok


def test_jets_of_is_sorted():
    assert jets_of(y.d * x + x.dd * m * t) == [x, x.dd, y.d]


@pytest.mark.parametrize("value", ["x**2", Matrix([x]), None, [x], object(), sympy.Eq(x, 1)])
def test_what_is_no_expression_is_refused(value):
    if isinstance(value, Matrix):
        assert total_derivative(value) == Matrix([x.d])
        return
    with pytest.raises(ModelError, match="total_derivative must be"):
        total_derivative(value)


REST = sympy.Function("rest")


@pytest.mark.parametrize(
    "expr",
    [x, x.d, x**2, m * x, x * y, sin(x), x * sin(t), sympy.exp(x) / y, sympy.sqrt(x**2 + y.d**2), sympy.Abs(x), REST(x),
     sympy.Piecewise((x, x > 0), (x * t, True)), sympy.atan2(x, y), sin(cos(x * t)) + m],
)  # fmt: skip
def test_every_way_to_write_d_dt_is_along_the_motion(expr):
    """SymPy by itself holds x for a constant: x.diff(t) = 0, and a damping force -c*x.diff(t) would be lost in silence."""
    expected = total_derivative(expr)
    assert expected != 0
    held = sympy.Derivative(expr, t)
    ways = [expr.diff(t), sympy.diff(expr, t), sympy.Derivative(expr, t, evaluate=True), sympy.diff(expr, (t, 1)), held.doit()]
    assert all(way == expected for way in ways)
    assert expr.diff(t, 2) == expr.diff(t, t) == total_derivative(expected)
    assert Matrix([expr]).diff(t)[0] == Matrix([expr]).jacobian([t])[0] == sympy.Array([expr]).diff(t)[0] == expected
    assert expression(held, "a force") == expected


def test_mixed_derivatives_are_taken_in_the_order_written():
    T = x**2 * x.d**3
    assert sympy.diff(T, x.d, t) == total_derivative(sympy.diff(T, x.d))
    assert sympy.expand(sympy.diff(T, t, x.d) - sympy.diff(total_derivative(T), x.d)) == 0
    assert sympy.expand(sympy.diff(T, t, x.d) - sympy.diff(T, x.d, t)) != 0


def test_other_derivatives_are_those_of_sympy():
    z = sympy.Symbol("z")
    assert sympy.diff(m * t**2, t) == 2 * m * t and sympy.diff(z, t) == 0
    assert sympy.diff(x * y, x) == y and sympy.diff(x, y) == 0
    assert REST(t).diff(t) == sympy.Derivative(REST(t), t) and sympy.integrate(sin(m * t), t) == -cos(m * t) / m
    assert sympy.integrate(x * sympy.exp(x * t), t) == sympy.exp(x * t)  # SymPy's own use of derivatives by t
    assert sympy.simplify(sympy.series(sin(x * t), t, 0, 4).removeO() - (x * t - (x * t) ** 3 / 6)) == 0


def test_a_time_that_is_not_time_is_refused():
    for other in (sympy.Symbol("t"), sympy.Symbol("t", positive=True)):
        with pytest.raises(ModelError, match=r"time is ap\.t"):
            (x**2 * y).diff(other)
    with pytest.raises(ModelError, match="n times"):
        x.diff((t, sympy.Symbol("n", integer=True, positive=True)))
