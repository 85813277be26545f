"""The identities behind Nielsen's and Tsenov's equations, and that they are not the same expression in disguise."""

from __future__ import annotations

import random

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.random_systems import few
from tests.verify.random_systems import build

import appell as ap
from appell.forms import lagrange, nielsen, tsenov
from appell.forms.engine.evaluation import Tape, arithmetic
from appell.forms.lagrange import euler_lagrange

EXACT = arithmetic(40)


def values_at_random(expressions, seed=0):
    """The values of expressions at one random rational point."""
    rng = random.Random(seed)
    symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
    point = {s: EXACT.number(sympy.Rational(rng.randint(5, 60), 37)) for s in symbols}
    return Tape(expressions)(point, EXACT)


@few(9)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_deneva_15_nielsens_identity(seed, n):
    system = build(seed, n, ())
    E = euler_lagrange(system)
    written = [eq.lhs for eq in nielsen(system).equations]
    assert max(abs(x) for x in values_at_random([a - b for a, b in zip(E, written, strict=True)], seed)) < 1e-30


@few(9)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_deneva_25_tsenovs_identity(seed, n):
    system = build(seed, n, ())
    E = euler_lagrange(system)
    written = [eq.lhs for eq in tsenov(system).equations]
    assert max(abs(x) for x in values_at_random([a - b for a, b in zip(E, written, strict=True)], seed)) < 1e-30


@pytest.mark.parametrize("order", [1, 2, 3])
def test_general_law_of_the_derivatives_of_the_kinetic_energy(order):
    """∂T⁽ⁿ⁾/∂q⁽ⁿ⁾ = ∂T/∂q + n d/dt ∂T/∂q̇ (after Deneva (25)); n = 1 and 2 are Nielsen's and Tsenov's."""
    system = build(7, 2, ())
    T, q = system.kinetic, system.coordinates[0]
    T_n, q_n = T, q
    for _ in range(order):
        T_n, q_n = ap.total_derivative(T_n), q_n.d
    law = sympy.diff(T, q) + order * ap.total_derivative(sympy.diff(T, q.d))
    wrong = sympy.diff(T, q) + (order + 1) * ap.total_derivative(sympy.diff(T, q.d))
    assert abs(values_at_random([sympy.diff(T_n, q_n) - law])[0]) < 1e-28
    assert abs(values_at_random([sympy.diff(T_n, q_n) - wrong])[0]) > 1e-3


def test_misprinted_identities_fail():
    """With ∂T/∂q̇ in place of ∂T/∂q, as the identity after Deneva (25) is printed."""
    system = build(11, 2, ())
    T, q = system.kinetic, system.coordinates[0]
    T_d = ap.total_derivative(T)
    T_dd = ap.total_derivative(T_d)
    E = euler_lagrange(system)[0]
    printed_15 = sympy.diff(T_d, q.d) - 2 * sympy.diff(T, q.d)
    printed_25 = (sympy.diff(T_dd, q.dd) - 3 * sympy.diff(T, q.d)) / 2
    assert all(abs(x) > 1e-3 for x in values_at_random([E - printed_15, E - printed_25]))


def test_the_three_derivatives_are_taken_literally():
    system = build(3, 2, ("linear",))
    T_d = ap.total_derivative(system.kinetic)
    gaps = [nielsen(system).T_d - T_d, tsenov(system).T_dd - ap.total_derivative(T_d)]
    assert max(abs(x) for x in values_at_random(gaps)) < 1e-30
    assert any(s.level == 3 for s in tsenov(system).T_dd.free_symbols if hasattr(s, "level"))
    assert not any(s.level > 2 for eq in tsenov(system).equations for s in eq.lhs.free_symbols if hasattr(s, "level"))
    assert "Ṫ" in nielsen(system).provenance and "T̈" in tsenov(system).provenance


@pytest.mark.parametrize("form", [nielsen, tsenov])
def test_speeds_are_refused_with_the_form_that_takes_them(form):
    with pytest.raises(ap.FormNotApplicable, match=r"ap\.forms\.lagrange"):
        form(ap.zoo.heavy_top_quaternion().system)


def test_accelerations_in_float64_agree():
    system = build(5, 3, ("nonlinear",))
    state = 0.3, [0.2, -0.4, 0.5], [0.3, 0.7, -0.2]
    one, other, third = (form(system).acceleration(*state) for form in (lagrange, nielsen, tsenov))
    assert other[0] == pytest.approx(one[0], rel=1e-10) and third[0] == pytest.approx(one[0], rel=1e-10)
    assert other[1] == pytest.approx(one[1], rel=1e-10) and third[1] == pytest.approx(one[1], rel=1e-10)
