"""Equations for people: letters, styles, and time."""

from __future__ import annotations

import time
import unicodedata

import pytest
import sympy
from sympy import cos, sin

import appell as ap
from appell.forms import gauss, lagrange, tsenov
from appell.forms.engine import display
from appell.forms.engine.display import lines, simplified
from appell.forms.engine.evaluation import Tape, arithmetic

EXACT = arithmetic(40)


def value(*expressions):
    symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
    point = {s: EXACT.number(sympy.Rational(3 + 5 * i, 29)) for i, s in enumerate(symbols)}
    return Tape(expressions)(point, EXACT)


def test_the_skate_reads_like_the_book():
    text = unicodedata.normalize("NFC", str(lagrange(ap.zoo.skate().system)))
    assert unicodedata.normalize("NFC", "  2 ẍ = Λ_blade sin(φ)\n") in text
    assert unicodedata.normalize("NFC", "  l² φ̈/2 = 0") in text
    assert "Deneva (16)" in text
    latex = lagrange(ap.zoo.skate().system).latex()
    assert r"2 \ddot{x} &= \Lambda_{\mathrm{blade}} \sin{\left(\phi \right)}" in latex
    assert latex.startswith(r"\begin{aligned}") and latex.count("&=") == 4


def test_subscripts_are_letters_of_one_size():
    """Unicode has no subscript θ: SymPy spells it out in small letters."""
    text = ap.forms.routh(ap.zoo.thread_pendulum().system).text()
    assert "p_θ" in text and unicodedata.normalize("NFC", "ṗ_θ") in text and "ₜ" not in text
    text = lagrange(ap.zoo.heavy_top_quaternion().system).text("simplified")
    assert "ω_top_x" in text and "ω_top_y" in text and "top_x" in text


def test_quaternions_read_like_euler():
    """|q| = 1 leaves A ω̇_x + (C − B) ω_y ω_z on the left, without the quaternion."""
    for shown in lines(lagrange(ap.zoo.heavy_top_quaternion().system), "simplified")[:3]:
        assert not any(str(s).startswith("top_") for s in shown.lhs.free_symbols) and sympy.count_ops(shown.lhs) < 10


def test_chains_read_like_the_book():
    first = tsenov(ap.zoo.n_pendulum(8).system).text("plain").splitlines()[1]
    assert unicodedata.normalize("NFC", "l₂ θ̈₂ (m₂ + m₃ + m₄ + m₅ + m₆ + m₇ + m₈) cos(") in first


def test_notebooks_show_mathematics():
    shown = lagrange(ap.zoo.skate().system)._repr_latex_()
    assert shown.startswith("$") and shown.endswith("$") and r"\ddot{\phi}" in shown


@pytest.mark.parametrize("form", [lagrange, tsenov, gauss])
@pytest.mark.parametrize("name", ["grioli", "rolling_disc", "snakeboard"])
def test_simplified_equations_are_equal_and_not_longer(form, name, monkeypatch):
    monkeypatch.setattr(display, "BUDGET", 0.8)
    equations = form(ap.zoo.ALL[name]().system)
    for plain, short in zip(lines(equations, "plain"), lines(equations, "simplified"), strict=True):
        difference = value(plain.lhs - short.lhs + sympy.Symbol("z") * (plain.rhs - short.rhs))[0]
        assert abs(difference) < 1e-30
        assert sympy.count_ops(short) <= sympy.count_ops(plain)


@pytest.mark.parametrize("name", ["skate", "sleigh", "orthogonal_acceleration", "rolling_coin", "four_bar"])
def test_the_solution_satisfies_the_equations(name):
    equations = lagrange(ap.zoo.ALL[name]().system)
    found = equations.solve(budget=1.0)
    assert set(found) == set(equations.unknowns)
    left = [f.xreplace(found) for f in equations.residuals]
    assert not any(set(equations.unknowns) & f.free_symbols for f in left)
    assert max(abs(x) for x in value(*left)) < 1e-28
    unsimplified = equations.solve(simplify=False)
    gaps = value(*(found[x] - unsimplified[x] for x in found))
    assert max(abs(x) for x in gaps) < 1e-28


def test_six_coordinates_print_in_seconds():
    begin = time.process_time()
    equations = lagrange(ap.zoo.rolling_disc().system)
    for style in ("plain", "simplified", "solved"):
        assert len(equations.text(style)) > 100 and len(equations.latex(style)) > 100
    equations = tsenov(ap.zoo.n_pendulum(6).system)
    equations.text("simplified")
    assert time.process_time() - begin < 30  # about 8 s on an idle core


def test_simplification_spends_its_budget_and_no_more():
    x, y = ap.coordinates("x y")
    long = sympy.Add(*(sin(k * x) ** 2 * y.d + cos(k * x) ** 2 * y.d for k in range(1, 40)))
    assert simplified(long, 0.0) == long
    begin = time.process_time()
    simplified(long, 0.3)
    assert time.process_time() - begin < 5
    assert simplified(sin(x) ** 2 + cos(x) ** 2, 5.0) == 1


def test_an_unknown_style_is_named():
    with pytest.raises(ap.ModelError, match="plain, simplified, solved"):
        lagrange(ap.zoo.skate().system).text("pretty")


def test_what_has_no_explicit_solution_says_so():
    x, y = ap.coordinates("x y")
    rows = [ap.Constraint(x.d - y, "one"), ap.Constraint(2 * x.d - 2 * y, "two")]
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=rows)
    with pytest.raises(ap.FormNotApplicable, match="redundant"):
        lagrange(system).solve()
    with pytest.raises(ap.FormNotApplicable, match="nonlinearly"):
        lagrange(ap.zoo.constant_acceleration().system).solve()


def test_odd_names_survive_latex():
    x, y = ap.coordinates("x y")
    row = ap.Constraint(x.d - y, "left_rim 50")
    latex = lagrange(ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[row])).latex()
    assert r"\Lambda_{\mathrm{left\_rim\ 50}}" in latex


def test_long_names_and_numbers_have_a_row_of_their_own():
    """Nothing breaks inside them."""
    x, k = ap.coordinates("x"), ap.parameters("k_" + "stiffness" * 12)
    for potential in (k * x**2 / 2, sympy.sqrt(k) * x, (10**70 + 7) * x / 3, k * (10**70 + 7) * sin(x) / 3):
        assert r"\ddot{x}" in lagrange(ap.System([x], x.d**2 / 2, potential)).latex()


def test_the_root_of_an_absolute_value_keeps_its_sign():
    """Flow through an orifice: y/√|y| would have no value at rest."""
    x, c = ap.coordinates("x"), ap.parameters("c", positive=True)
    system = ap.System([x], x.d**2 / 2, forces={x: -c * sympy.sign(x.d) * sympy.sqrt(sympy.Abs(x.d))})
    right = lagrange(system).equations[0].rhs
    assert right.subs(x.d, 0) == 0 and right.subs(x.d, -4) == 2 * c


@pytest.mark.parametrize("style", ["plain", "simplified", "solved"])
def test_what_multiplies_its_sign_is_an_absolute_value(style):
    x, y = ap.coordinates("x y")
    m, k, c, w = ap.parameters("m k c w", positive=True)
    drag = {x: -c * (x.d - w) * sympy.sign(x.d - w), y: -c * y.d * sympy.sign(y.d) - k * y * sympy.Abs(y) ** 2 * sympy.sign(y)}
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, k * sympy.Abs(x) ** 3 / 3, forces=drag)
    shown = ap.forms.lagrange(system)
    assert "sign" not in shown.text(style) and "x |x|" in shown.text(style) and "|ẋ − w|" in shown.text(style)
    for shorter, own in zip(lines(shown, style), display._find_lines(shown, style, False), strict=True):
        for at in ({x: -2, y: 3, x.d: 1, y.d: -5, w: 4}, {x: 2, y: -3, x.d: 7, y.d: 5, w: 4}):
            both = [(e.lhs - e.rhs).subs(at) for e in (shorter, own)]
            assert sympy.expand(both[0] - both[1]) == 0


def test_names_of_momenta_and_of_reactions_of_wheels():
    a, b = ap.coordinates("theta_1 theta_2")
    chain = ap.forms.hamilton(ap.System([a, b], (a.d**2 + b.d**2) / 2, -sympy.cos(a) - sympy.cos(b)))
    assert "ṗ_θ₁ = " in str(chain) and r"\dot{p}_{\theta_{1}}" in chain.latex()
    x, y, q = *ap.coordinates("x y"), ap.quaternion("q")
    wheel = ap.RigidBody(1, sympy.diag(1, 1, 2), [x, y, 1], q, name="wheel")
    rolls = ap.System([x, y, q], bodies=[wheel], constraints=ap.rolling(wheel, 1, up=[0, 0, 1]))
    assert [str(lam) for lam in ap.forms.lagrange(rolls).multipliers] == ["Lambda_height", "Lambda_along", "Lambda_across"]
