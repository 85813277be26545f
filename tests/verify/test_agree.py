"""Independent derivations agree on random systems, and what is wrong does not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, assume, given, settings
from sympy import cos, sin
from tests.verify.random_systems import random_systems

import appell as ap
from appell.forms import FORMS
from appell.forms.base import Equations
from appell.forms.engine.system_terms import equation
from appell.forms.lagrange import Lagrange
from appell.verify import agree
from appell.verify.agreement import Agreement, AgreementLine
from appell.verify.exact import exact, exact_system

MULTIPLIER_FORMS = ("lagrange", "nielsen", "tsenov", "gauss")
QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))


@given(random_systems())
@settings(QUICK, max_examples=6)
def test_forms_with_multipliers_agree_on_random_systems(system):
    try:
        table = agree(system, states=2, forms=MULTIPLIER_FORMS)
    except ap.AppellError as error:
        assume("no state" not in str(error))
        raise
    assert all(line.applies for line in table), str(table)
    assert table.within(1e-10), str(table)  # best conditioned states: float64 keeps ten digits of the judge


@pytest.mark.parametrize("name", sorted(set(ap.zoo.ALL) - {"constant_acceleration"}))
def test_forms_with_multipliers_agree_on_the_zoo(name):
    table = agree(ap.zoo.ALL[name]().system, states=2, forms=MULTIPLIER_FORMS)
    assert table.within(1e-10), str(table)
    assert table["lagrange"].applies


def test_every_registered_form_is_listed():
    table = agree(ap.zoo.skate().system, states=1)
    listed = {line.form.split(" ")[0] for line in table}
    assert listed == set(FORMS)
    assert sum(line.applies for line in table) >= 4


def test_rows_nonlinear_in_the_accelerations_agree():
    example = ap.zoo.constant_acceleration()
    table = agree(example.system, states=2, parameters=example.parameters, forms=("lagrange", "gauss"))
    assert table.within(1e-10), str(table)
    assert "proven" in table["gauss"].provenance and "not proven" in table["lagrange"].provenance


# -- mutants -------------------------------------------------------------------------------------------------------------


class Mutant(Lagrange):
    """Lagrange's form with one thing wrong."""

    name = "mutant"

    def __init__(self, change):
        self.change = change

    def derive(self, system, **options) -> Equations:
        return self.change(super().derive(system))


def flipped_reaction(e: Equations) -> Equations:
    minus = {lam: -lam for lam in e.multipliers[:1]}
    return replace(e, equations=tuple(equation(eq.lhs, eq.rhs.xreplace(minus)) for eq in e.equations))


def row_without_velocities(e: Equations) -> Equations:
    rest = {v: 0 for v in e.system.velocities}
    return replace(e, rows=tuple(equation(eq.lhs.xreplace(rest), 0) for eq in e.rows))


def no_potential(e: Equations) -> Equations:
    V_q = [sympy.diff(e.system.potential, q) for q in e.system.coordinates]
    return replace(e, equations=tuple(equation(eq.lhs, eq.rhs + x) for eq, x in zip(e.equations, V_q, strict=True)))


def test_the_mutant_without_a_change_is_healthy():
    assert agree(ap.zoo.skate().system, states=2, forms=["lagrange", "nielsen", Mutant(lambda e: e)]).ok


@pytest.mark.parametrize("change", [flipped_reaction, row_without_velocities, no_potential])
def test_a_mutant_is_caught_and_named(change):
    table = agree(ap.zoo.skate().system, states=2, forms=["lagrange", "nielsen", Mutant(change), "gauss"])
    assert not table.within(1e-3)
    assert table["mutant"].worst > 1e-3
    assert table["lagrange"].worst < 1e-10 and table["gauss"].worst < 1e-10


def test_a_wrong_judge_is_caught():
    """All forms right and the normal form of another system: 50 digits agree, float64 does not."""
    system = ap.zoo.skate().system

    class Elsewhere(Lagrange):
        name = "elsewhere"

        def derive(self, system, **options):
            return replace(super().derive(system.replace(potential=0)), system=system)

    table = agree(system, states=2, forms=[Elsewhere()])
    assert math.isnan(table["elsewhere"].a) and not table.within(1e-3)


# -- the table -----------------------------------------------------------------------------------------------------------


def test_floats_become_the_rationals_they_were_written_as():
    x = ap.coordinates("x")
    system = ap.System([x], kinetic=0.1 * x.d**2, potential=9.81 * x, bodies=[ap.Particle(2.5, [0.3 * x])])
    turned = exact_system(system)
    assert not any(e.atoms(sympy.Float) for e in (turned.kinetic, turned.potential))
    assert turned.potential == sympy.Rational(981, 100) * x
    assert exact(0.1) == sympy.Rational(1, 10)
    assert agree(system, states=2, forms=MULTIPLIER_FORMS).within(1e-10)


@pytest.mark.parametrize("mass", [0.3, sympy.Rational(3, 10)])
@pytest.mark.parametrize("stop", [lambda x: ap.Between(-1.047, x, 0.698, "w", 0.3), lambda x: ap.Unilateral(x - 0.698, "w", 0)])
def test_walls_with_floats_are_exact_too(mass, stop):
    """Floats elsewhere do not drop the walls from the comparison, and those of the walls are no disagreement."""
    x, y = ap.coordinates("x y")
    system = ap.System([x, y], x.d**2 / 2 + mass * y.d**2 + x.d * y.d * sympy.cos(y) / 4, x**2, constraints=stop(x))
    agreement = agree(system, forms=["lagrange", "routh"])
    assert agreement.ok and [line.states for line in agreement.lines] == [5, 5]


def test_a_form_that_does_not_apply_gives_its_reason():
    table = agree(ap.zoo.heavy_top_quaternion().system, states=2, forms=["lagrange", "nielsen"])
    assert not table["nielsen"].applies and "ap.forms.lagrange" in table["nielsen"].reason
    assert table.within(1e-10)
    text = str(table)
    assert "does not apply" in text and "nielsen" in text
    assert "<table>" in table._repr_html_()


def test_no_form_is_not_agreement():
    table = agree(ap.zoo.heavy_top_quaternion().system, states=1, forms=["nielsen"])
    assert not table.ok and table.worst == math.inf and "nothing was compared" in table.message


def test_worst_is_small_only_where_the_forms_agree():
    """A value at no state, a figure that is missing, and 1e-12 where 50 digits were compared are no agreement."""
    fine = AgreementLine("lagrange", judge_a=1e-14, judge_force=1e-14, a=1e-48, force=1e-48, states=3)
    planted: list[dict[str, Any]] = [{"states": 0}, {"judge_a": math.nan}, {"judge_force": math.nan}, {"a": 1e-12}]
    for line in (replace(fine, **change) for change in planted):
        table = Agreement("planted", 3, (fine, line))
        assert not table.ok and table.worst > 1e-9 and "do not agree: lagrange" in table.message
    table = Agreement("planted", 3, (fine,))
    assert table.ok is True and table.within(2e-14) and not table.within(1e-15) and table.worst == 1e-14


def test_both_cases_of_a_function_are_met():
    """At two random states x and ẋ may have one sign; a form that mixes them up is caught."""
    x, y = ap.coordinates("x y")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={y: -sympy.Heaviside(x) * y.d})
    assert agree(system, states=1, forms=["lagrange"])["lagrange"].states >= 8


def test_what_is_unknown_is_named():
    system = ap.zoo.skate().system
    with pytest.raises(ap.ModelError, match="no form 'newton'"):
        agree(system, forms=["newton"])
    with pytest.raises(ap.ModelError, match="no parameter 'zz'"):
        agree(system, parameters={"zz": 1})
    wrong_numbers: list[dict[str, Any]] = [{"states": 0}, {"states": 1.5}, {"seed": "a"}]
    for wrong in wrong_numbers:
        with pytest.raises(ap.ModelError, match="is a whole number of at least"):
            agree(system, **wrong)
    for wrong in (3, []):
        with pytest.raises(ap.ModelError, match="forms= of"):
            agree(system, forms=wrong)
    budgets: list[Any] = ["a", float("nan"), -1]
    for budget in budgets:
        with pytest.raises(ap.ModelError, match="an effort is a number"):
            ap.forms.lagrange(system).solve(budget=budget)
    assert [line.form for line in agree(system, states=1, forms="lagrange")] == ["lagrange"]


def test_redundant_rows_agree_in_the_forces():
    x, y = ap.coordinates("x y")
    rows = [ap.Constraint(x - y**2, "a"), ap.Constraint(2 * x - 2 * y**2, "b"), ap.Constraint(x.d - 2 * y * y.d, "c")]
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=x, constraints=rows)
    assert agree(system, states=3, forms=MULTIPLIER_FORMS).within(1e-10)


def platform(rods: int) -> ap.System:
    """A platform on parallel rods: it does not turn, and two rows are independent beside any number of rods."""
    x, y, z, theta = ap.coordinates("x y z theta")
    places = [(0.3, -0.5, 0.1), (-0.7, 0.2, -0.4), (0.6, 0.9, 0.5), (-0.2, -0.8, 0.3), (1.0, -0.1, -0.6)][:rods]
    turned = [(x + b * (cos(theta) - 1) - c * sin(theta), y + b * sin(theta) + c * (cos(theta) - 1)) for b, c, _ in places]
    rows = [ap.Constraint(X**2 + Y**2 + z**2 - 1, f"rod {k}") for k, (X, Y) in enumerate(turned)]
    return ap.System([x, y, z, theta], (x.d**2 + y.d**2 + z.d**2 + theta.d**2) / 2, z, constraints=rows)


def coupler(near: float | None, r: Any = 1) -> ap.System:
    """Three parallel cranks on a coupler, which does not turn: five of six rows are independent."""
    x, y, phi, *a = ap.coordinates("x y phi a b c")
    rows = [x + r * (k * cos(phi) - k - cos(s)) for k, s in enumerate(a)] + [
        y + r * (k * sin(phi) - sin(s)) for k, s in enumerate(a)
    ]
    T = (x.d**2 + y.d**2 + r**2 * (phi.d**2 + sum(s.d**2 for s in a))) / 2
    at = lambda angle: {**dict.fromkeys(a, angle), x: r * math.cos(angle), y: r * math.sin(angle)}
    sample = None if near is None else at(near)
    return ap.System([x, y, phi, *a], T, y, constraints=rows, sample=sample)


@pytest.mark.parametrize(
    "make",
    [
        lambda: platform(3),
        lambda: platform(4),
        lambda: coupler(0.7),
        lambda: coupler(None),
        lambda: coupler(0.7, sympy.Rational(1, 1000)),
    ],
)
def test_rows_that_are_redundant_where_newtons_method_goes_astray(make: Any):
    """Rows dependent on the constraints alone pull Newton's method to where branches cross; all forms agree on one branch."""
    system = make()
    forms = ["lagrange", "udwadia_kalaba", "kane", "maggi", "chaplygin"]
    agreement = agree(system, forms=forms, states=2)
    assert agreement.ok and all(line.states == 2 for line in agreement.lines if line.applies), str(agreement)
    q = system.coordinates
    wrong = system.replace(forces={q[0]: sympy.Rational(1, 10**6) * q[1]})
    planted = type("Planted", (type(FORMS["maggi"]),), {"derive": lambda self, _, **o: ap.forms.maggi(wrong, **o)})()
    assert not agree(system, forms=["lagrange", planted], states=2).ok


def test_a_platform_on_rods_has_the_accelerations_of_a_pendulum():
    """|d| = 1 and no turn: a = -(g - (g·d) d) - v² d with V = z."""
    d, v = np.array([0.6, 0.0, 0.8]), np.array([0.4, 0.5, -0.3])
    a, _ = ap.forms.lagrange(platform(5)).acceleration(0.0, [*d, 0.0], [*v, 0.0])
    expected = np.array([0, 0, -1.0]) + (d[2] - v @ v) * d
    assert np.abs(a - [*expected, 0.0]).max() < 1e-12
