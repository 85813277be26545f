"""Lagrange's equations with multipliers, and the contract of every form."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import appell as ap
from appell.forms import lagrange
from appell.forms.engine.system_terms import multiplier_symbols
from appell.model.multiplier import Multiplier


def skate():
    return ap.zoo.skate()


def test_deneva_16_is_written_as_in_the_book():
    x, y, phi = ap.coordinates("x y phi")
    equations = lagrange(skate().system)
    blade, *_ = equations.multipliers
    assert isinstance(blade, Multiplier) and blade.label == "blade"
    assert equations.equations[0] == sympy.Eq(2 * x.dd, blade * sin(phi), evaluate=False)
    assert equations.unknowns == (x.dd, y.dd, phi.dd, blade)


def test_the_skate_keeps_its_closed_form():
    """Gantmacher, example 1: π̈ = −g sin φ, φ̈ = 0, and the reaction Λ = −2 (g cos φ + φ̇ π̇)."""
    example, rng = skate(), np.random.default_rng(0)
    g = next(value for p, value in example.parameters.items() if str(p) == "g")
    for angle, speed, turn in rng.uniform(-2, 2, (5, 3)):
        v = [speed * np.cos(angle), speed * np.sin(angle), turn]
        a, lam = lagrange(example.system).acceleration(0.0, [0.1, 0.2, angle], v, example.parameters)
        along = a[0] * np.cos(angle) + a[1] * np.sin(angle)
        assert along == pytest.approx(-g * np.sin(angle), rel=1e-12, abs=1e-12)
        assert lam == pytest.approx([-2 * (g * np.cos(angle) + turn * speed)], rel=1e-12, abs=1e-12)
        assert a[2] == pytest.approx(0, abs=1e-14)


def test_deneva_26_second_order_row_is_its_own_direction():
    x, y = ap.coordinates("x y")
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(3 * x.dd + y.dd - x.d * y, "row")])
    (lam,) = (equations := lagrange(system)).multipliers
    assert [eq.rhs for eq in equations.equations] == [3 * lam, lam]


def test_a_given_reaction_takes_the_place_of_the_gradient():
    x, y = ap.coordinates("x y")
    row = ap.Constraint(x.d - sin(y), "servo", reaction={y: cos(x)})
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2 + x.d * y.d) / 2, constraints=[row])
    (lam,) = (equations := lagrange(system)).multipliers
    assert [eq.rhs for eq in equations.equations] == [0, lam * cos(x)]
    assert ap.agree(system, states=3).within(1e-10)


def test_redundant_rows_give_the_multipliers_of_least_norm():
    x, y = ap.coordinates("x y")
    rows = [ap.Constraint(x.d - y, "one"), ap.Constraint(2 * x.d - 2 * y, "two")]
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=x, constraints=rows)
    a, lam = lagrange(system).acceleration(0.0, [0.0, 0.5], [0.5, 2.0])
    assert a == pytest.approx([2.0, 0.0])
    assert lam == pytest.approx([3 / 5, 6 / 5])  # of all with Λ1 + 2 Λ2 = 3


def test_a_rank_that_drops_at_one_state_raises_with_it():
    x, y = ap.coordinates("x y")
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(x.d**2 + y.d**2 - x, "speed")])
    with pytest.raises(ap.SingularConfiguration) as caught:
        lagrange(system).acceleration(0.25, [0.0, 0.0], [0.0, 0.0])
    assert caught.value.time == 0.25 and caught.value.state is not None
    a, _ = lagrange(system).acceleration(0.25, [0.25, 0.0], [0.3, 0.4])
    assert np.isfinite(a).all()


def test_a_pole_of_a_coefficient_is_singular_not_nan():
    x = ap.coordinates("x")
    system = ap.System([x], kinetic=x.d**2 / 2, potential=1 / x)
    with pytest.raises(ap.SingularConfiguration):
        lagrange(system).acceleration(0.0, [0.0], [1.0])
    root = ap.System([x], kinetic=x.d**2 / 2, potential=sympy.sqrt(x) ** 3)
    with pytest.raises(ap.SingularConfiguration, match="value"):
        lagrange(root).acceleration(0.0, [-1.0], [1.0])


def test_missing_and_unknown_parameters_are_named():
    example = skate()
    equations = lagrange(example.system)
    with pytest.raises(ap.ModelError, match="no value for"):
        equations.acceleration(0.0, [0, 0, 0], [0, 0, 0])
    with pytest.raises(ap.ModelError, match="has no parameter"):
        equations.acceleration(0.0, [0, 0, 0], [0, 0, 0], {**example.parameters, "zz": 1})
    with pytest.raises(ap.ModelError, match="must be a number"):
        equations.acceleration(0.0, [0, 0, 0], [0, 0, 0], {p: sympy.Symbol("k") for p in example.parameters})
    with pytest.raises(ap.ModelError, match="shape"):
        equations.acceleration(0.0, [0, 0], [0, 0, 0], example.parameters)
    by_name = {str(p): value for p, value in example.parameters.items()}
    assert equations.acceleration(0.0, [0, 0, 0], [1, 0, 1], by_name)[0].shape == (3,)


def test_quaternion_rates_give_eulers_equations():
    ball = ap.quaternion("ball")
    (wx, wy, wz), (A, B, C) = ball.rates, (2, 3, 5)
    kinetic = (A * wx**2 + B * wy**2 + C * wz**2) / 2
    system = ap.System([ball], kinetic=kinetic)
    w = np.array([0.3, -0.7, 1.1])
    q = np.array([0.1, 0.5, -0.3, 0.8])
    a, lam = lagrange(system).acceleration(0.0, q / np.linalg.norm(q), w)
    J = np.diag([A, B, C])
    assert a == pytest.approx(np.linalg.solve(J, -np.cross(w, J @ w)), rel=1e-12)
    assert lam.shape == (0,)


def test_speeds_that_hide_a_constraint_are_refused_and_the_remedy_works():
    x, y, phi = ap.coordinates("x y phi")
    u, w = ap.speeds("u w")
    bodies = [ap.RigidBody(2, sympy.Rational(1, 3), [x + cos(phi) / 2, y + sin(phi) / 2], phi)]
    kinematics = {x: u * cos(phi), y: u * sin(phi), phi: w}
    system = ap.System([x, y, phi], bodies=bodies, speeds=[u, w], kinematics=kinematics)
    with pytest.raises(ap.FormNotApplicable, match="gauss"):
        lagrange(system)
    assert ap.agree(system, states=3, forms=["lagrange", "gauss"]).within(1e-10)


def test_names_of_multipliers_are_distinct():
    x, y = ap.coordinates("x y")
    rows = [ap.Constraint(x.d * sin(y) - y.d), ap.Constraint(x.d + y.d * 2)]
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=rows)
    assert [s.label for s in multiplier_symbols(system)] == ["1", "2"]


def test_objects_are_attributes():
    equations = lagrange(skate().system)
    assert len(equations.generalized_forces) == 3
    with pytest.raises(AttributeError, match="S"):
        _ = equations.S
    with pytest.raises(ap.ModelError, match="takes a System"):
        lagrange(3)  # type: ignore[arg-type]
