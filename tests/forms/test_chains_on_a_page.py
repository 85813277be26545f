"""Long chains on a page: names for velocities, free accelerations and shared parts instead of an inverted matrix in full."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import pytest
import sympy
from sympy import cos, sin

import appell as ap
from appell import tidy
from appell.forms import FORMS
from appell.forms.engine import display
from appell.forms.engine.derivation import restricted
from appell.forms.engine.display import lines
from appell.forms.engine.evaluation import Tape, arithmetic
from appell.forms.engine.shared_names import named
from appell.forms.engine.symbolic_solve import probe, solve
from appell.forms.engine.work_budget import WorkBudget
from appell.tidy.sums import Sum, multiplied


@cache
def chain(n: int) -> ap.System:
    q = ap.coordinates([f"theta{i + 1}" for i in range(n)])
    m, l, g = ap.parameters("m l g", positive=True)
    T = V = 0
    for k in range(n):
        v = [sum(l * f(q[j]) * q[j].d for j in range(k + 1)) for f in (cos, sin)]
        T, V = T + m * (v[0] ** 2 + v[1] ** 2) / 2, V - m * g * l * sum(cos(q[j]) for j in range(k + 1))
    return ap.System(list(q), T, V, name=f"chain of {n}")


def closed(n: int) -> ap.System:
    """The chain with its end held on a line that turns."""
    free = chain(n)
    l, q = free.parameters[[str(p) for p in free.parameters].index("l")], free.coordinates
    row = sum(l * sin(x - 3 * ap.t / 10) for x in q)
    return ap.System(list(q), free.kinetic, free.potential, constraints=[ap.Constraint(row, name="end")], name="held chain")


@pytest.mark.parametrize("form", ["hamilton", "udwadia_kalaba"])
def test_the_page_of_a_chain_is_as_short_as_lagranges(form):
    shown = len(ap.forms.FORMS[form](chain(4)).text("simplified"))
    assert shown < 1.6 * len(ap.forms.lagrange(chain(4)).text("simplified")) < 1600


def test_relative_velocities_are_written_with_names():
    """Joint rates of a chain make long equations, whose page names what they share, and says the same."""
    system = ap.zoo.n_pendulum(8).system
    q = system.coordinates
    rates = {f"w{i + 1}": x.d - (q[i - 1].d if i else 0) for i, x in enumerate(q)}
    found = ap.forms.kane(system, pseudo=rates)
    page, numbers = lines(found, "simplified"), arithmetic(50)
    assert len(found.text()) < 20_000
    symbols = sorted(set().union(*(e.free_symbols for e in (*found.derived, *found.kinematics))), key=str)
    values = {s: numbers.number(probe(s, i, 1)) for i, s in enumerate(symbols)}
    at = lambda e: Tape([e.lhs - e.rhs])(values, numbers)[0]
    n = len(page) - len(found.derived) - len(found.kinematics)
    for name in page[:n]:
        values[name.lhs] = Tape([name.rhs])(values, numbers)[0]
    for shown, given in zip(page[n:], (*found.derived, *found.kinematics), strict=True):
        assert abs(at(shown) - at(given)) < 1e-40 * (1 + abs(at(given)))


def test_named_velocities_and_accelerations_are_judged(monkeypatch):
    compared = ap.agree(closed(3), forms=["lagrange", "hamilton", "udwadia_kalaba"], states=1)
    assert compared.ok and all(line.applies for line in compared), compared
    uk, mass = (import_module(f"appell.forms.{name}") for name in ("udwadia_kalaba", "engine.kinetic_degrees"))
    whole = mass.row_times
    monkeypatch.setattr(uk, "row_times", lambda M, i, x: whole(M, i, x) * (1 + (i == 2)))
    assert not ap.agree(closed(3), forms=["udwadia_kalaba"], states=1).ok
    state = (0.1, [0.3, -0.4, 0.2], [1.0, 0.5, -0.7], {"m": 1.1, "l": 0.8, "g": 9.81})
    right, same = (ap.forms.FORMS[form](closed(3)).acceleration(*state)[0] for form in ("lagrange", "hamilton"))
    times = mass.Quadratic.times
    monkeypatch.setattr(mass.Quadratic, "times", lambda self, v: [e * (1 + (i == 2)) for i, e in enumerate(times(self, v))])
    wrong = ap.forms.hamilton(closed(3)).acceleration(*state)[0]
    assert abs(right - same).max() < 1e-12 < 1e-2 < abs(right - wrong).max()


def test_hamiltons_function_of_a_chain_of_three_is_that_of_its_momenta():
    equations = ap.forms.hamilton(chain(3))
    assert equations.H.free_symbols >= set(equations.p) and not equations.H.has(*chain(3).velocities)
    assert [str(e.lhs) for e in equations.kinematics] == [str(p) for p in equations.p]


def test_a_long_solution_has_names_for_what_its_parts_share():
    equations = ap.forms.lagrange(chain(4))
    found, shown = equations.solve(), lines(equations, "solved")
    assert len(equations.text("solved")) < 3000 and len(shown) > len(found)
    symbols = (*chain(4).coordinates, *chain(4).velocities, *chain(4).parameters)
    values: dict[Any, Any] = {s: 0.3 + 0.17 * i for i, s in enumerate(symbols)}
    value: Any = lambda e: float(e.xreplace(values))
    plain = {x: value(e) for x, e in found.items()}
    for line in shown:
        values[line.lhs] = value(line.rhs)
    assert all(abs(values[x] - value) < 1e-9 * (1 + abs(value)) for x, value in plain.items())


def test_names_are_not_those_of_the_system():
    a, b, k, x = ap.parameters("a b k x")
    long = a * sin(a) + b * cos(b)
    names, values = named({x: long**2 / (k * long + 1)})
    (c,) = names
    assert str(c) == "c1" and names[c] == long and values[x] == c**2 / (k * c + 1)


def test_what_shares_its_parts_is_gone_through_once():
    """Written out, this has 2⁵⁰ parts; SymPy's `xreplace`, `free_symbols` and `has` would visit all of them."""
    x, y = sympy.symbols("x y")
    tower: Any = x
    for k in range(50):
        tower = sympy.Add(tower * y, sympy.sin(tower), k, evaluate=False)
    assert restricted(restricted(tower, {x: y}), {y: x}) == restricted(tower, {y: x})
    assert tidy.length(tower) > 2**50
    assert solve(sympy.Matrix([[tower]]), sympy.Matrix([tower]), [sympy.Symbol("z")], WorkBudget(0))


def test_equal_parts_are_known_by_their_parts():
    """Two towers that were built apart: to compare them part by part would take 2⁵⁰ steps."""
    x, y, a, b = ap.parameters("x y a b")
    towers: list[Any] = [x, x]
    for k in range(50):  # without SymPy's cache, which would give the same object
        products = [sympy.Mul._from_args((t, y), True) for t in towers]
        towers = [sympy.Add._from_args((sympy.Integer(k + 1), t, p), True) for t, p in zip(towers, products, strict=True)]
    apart = towers[0] is not towers[1]
    names, values = named({a: towers[0], b: towers[1]})
    assert (apart, 40 < len(names) <= 50, values[a] is values[b]) == (True, True, True), len(names)


def test_what_is_written_twice_is_one_object():
    x, y = ap.parameters("x y")
    written = [Sum.of(sympy.Mul(x, (x + y) ** 2, evaluate=False)).expression(tidy.rational) for _ in range(2)]
    again = [Sum([(2, {x: 1, Sum([(1, {x: 1}), (3, {y: 1})]): 2})]).expression(tidy.rational) for _ in range(2)]
    assert written[0] == written[1] and again[0] is again[1] and again[0] == 2 * x * (x + 3 * y) ** 2


def test_equations_that_would_fill_a_book_name_what_they_share(monkeypatch):
    system = ap.zoo.four_bar().system
    pseudo = FORMS["appell"].default(system, "pseudo")
    long = ap.forms.appell(system, pseudo=pseudo)
    plain = lines(long, "plain")
    monkeypatch.setattr(display, "ALWAYS_NAMED_CHARACTERS", 1000)
    short = ap.forms.appell(system, pseudo=pseudo)
    shown = lines(short, "plain")
    names = shown[: len(shown) - len(plain)]
    assert names and len(short.text("simplified")) <= len(short.text("plain")) < len(long.text("plain"))
    table: dict[Any, Any] = {}
    for e in names:
        table[e.lhs] = restricted(e.rhs, table)
    assert [restricted(e, table) for e in shown[len(names) :]] == plain


def test_a_power_of_zero_is_one():
    x, y = sympy.symbols("x y")
    assert multiplied((2, {y: 1}), (3, {x: 0})) == (6, {y: 1}) and multiplied((2, {x: 1}), (3, {x: -1})) == (6, {})


def test_a_solution_is_found_again_with_as_few_comparisons(monkeypatch):
    """Parts of the first one, kept in memories, are equal to those of the second but other objects."""
    compared, equal = [0], sympy.Basic.__eq__

    def counted(one: Any, other: Any) -> Any:
        compared[0] += 1
        return equal(one, other)

    monkeypatch.setattr(sympy.Basic, "__eq__", counted)
    found = []
    for _ in range(2):
        before = compared[0]
        found.append((ap.forms.lagrange(chain(9)).text("solved"), compared[0] - before))
    (first, once), (second, again) = found
    assert first == second and again < 2 * once


def test_equal_parts_become_one_object():
    a, b, c = sympy.symbols("a b c")
    share = tidy.Sharing()
    part = lambda: sympy.Add(sympy.Mul(2, a + b, evaluate=False), sympy.Pow(c - b, -2), evaluate=False)
    whole = sympy.Mul(3, part(), evaluate=False)
    one, other = share(part()), share(whole)
    assert other.args[1] is one and other == whole
