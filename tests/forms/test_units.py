"""What the forms and their judge say does not depend on units, on how numbers are typed, or on bad input being let through."""

from __future__ import annotations

import contextlib
import math

import mpmath
import numpy as np
import pytest
from sympy import Float, Symbol, cos, erf, sin

import appell as ap
from appell.forms.engine.evaluation import FLOAT, Tape, arithmetic
from appell.forms.engine.linear_solve import Undetermined, solve_with_nullity

x, y = ap.coordinates("x y")
m, l, g, k = ap.parameters("m l g k", positive=True)
ROD = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[ap.Constraint(x**2 + y**2 - l**2, "rod")])
VALUES = {m: 1.0, g: 9.8, l: 1.0}
STATE = (0.0, [0.6, 0.8], [0.8, -0.6])


@pytest.mark.parametrize("numbers", [(3, 7, 10), (6e24, 1, 1), (7, 6e-6, 3), (10**20, 1, 10**-3)])
def test_whole_numbers_are_no_false_alarm(numbers):
    a, b, c = numbers
    T = (a * x.d**2 + b * y.d**2 + x.d * y.d * min(a, b)) / 2
    for rows in ([], [x.d * sin(y) - y.d]):
        table = ap.agree(ap.System([x, y], T, c * y, constraints=rows), states=2)
        assert table.ok, str(table)


@pytest.mark.parametrize("mass", [1e-27, 1e-11, 1.0, 1e24])
@pytest.mark.parametrize("form", ["lagrange", "gauss", "appell", "maggi", "chaplygin", "hamel"])
def test_the_rod_pendulum_of_any_mass(mass, form):
    a, lam = getattr(ap.forms, form)(ROD).acceleration(*STATE, {**VALUES, m: mass})
    np.testing.assert_allclose(a, [4.104, -4.328], rtol=1e-12)
    np.testing.assert_allclose(lam, [3.42 * mass], rtol=1e-12)


@pytest.mark.parametrize("mass", [1e-27, 1e24])
def test_agree_weighs_forces_by_their_own_size(mass):
    assert ap.agree(ROD, states=2, parameters={**VALUES, m: mass}).ok


@pytest.mark.parametrize("scale", [(0, 0, 0), (-90, 3, -40), (60, -60, 10), (200, 0, 300)])
def test_rank_does_not_depend_on_units(scale):
    """(M, −Aᵀ; A, 0) with one row given twice: nullity one and the same accelerations in any units of rows and columns."""
    rng = np.random.default_rng(0)
    M, A = np.diag([1.0, 2.0, 3.0]), rng.standard_normal((1, 3))
    A = np.vstack([A, 2 * A])
    K = np.block([[M, -A.T], [A, np.zeros((2, 2))]])
    b = K @ np.arange(1.0, 6.0)
    r = np.array([scale[0]] * 3 + [scale[1]] * 2)
    K, b = np.ldexp(np.ldexp(K, r[:, None]), [0, 0, 0, scale[2], scale[2]]), np.ldexp(b, r)
    found, nullity = solve_with_nullity(K.tolist(), b.tolist(), [True] * 3 + [False] * 2, FLOAT.tolerance, list("abcde"))
    assert nullity == 1
    np.testing.assert_allclose(found[:3], [1, 2, 3], rtol=1e-12)


def test_rows_that_contradict_each_other_are_said_in_any_units():
    for size in (1.0, 1e-20, 1e20):
        K, b = [[size, 0.0], [size, 0.0], [0.0, 1.0]], [size, 2 * size, 1.0]
        with pytest.raises(Undetermined, match="contradict"):
            solve_with_nullity(K, b, [True, True], FLOAT.tolerance, ["x", "y"])


def test_rare_functions_have_all_their_digits():
    numbers = arithmetic(50)
    (value,) = Tape([erf(x)])({x: numbers.number(1) / 3}, numbers)
    with mpmath.workdps(60):
        assert abs(value - mpmath.erf(mpmath.mpf(1) / 3)) < mpmath.mpf(10) ** -50


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["a", "1.0", None, math.nan, math.inf, 1j, -1.0, 0.0])
def test_values_of_parameters_are_checked(bad):
    with pytest.raises(ap.ModelError, match="'m'"):
        ap.forms.lagrange(ROD).acceleration(*STATE, {**VALUES, m: bad})
    with pytest.raises(ap.ModelError, match="'m'"):
        ap.agree(ROD, parameters={m: bad})


@pytest.mark.parametrize("bad", ["a", "1.0", None, math.nan, math.inf, 1j])
def test_values_of_states_are_checked(bad):
    equations = ap.forms.lagrange(ROD)
    for state in ((bad, [0.6, 0.8], [0.0, 0.0]), (0.0, [0.6, bad], [0.0, 0.0]), (0.0, [0.6, 0.8], [bad, 0.0])):
        with pytest.raises(ap.ModelError, match=r"must be (finite|a number|a real number)|finite number"):
            equations.acceleration(*state, VALUES)


@pytest.mark.parametrize("stranger", [Symbol("stranger"), k])
def test_unknown_symbols_in_pseudo_velocities(stranger):
    for form in ("appell", "maggi", "hamel"):
        with pytest.raises(ap.ModelError, match="not a symbol of"):
            getattr(ap.forms, form)(ROD, pseudo={"p": stranger * x.d})


def test_a_reaction_that_cannot_keep_its_row():
    with pytest.raises(ap.ConstraintError, match="cannot keep it"):
        ap.System([x, y], m * (x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(x.d, "held", reaction={y: 1})])
    ap.System([x, y], m * (x.d**2 + x.d * y.d + y.d**2) / 2, constraints=[ap.Constraint(x.d, "held", reaction={y: 1})])


def test_nothing_is_printed_by_linear_algebra(capfd):
    example = ap.zoo.constant_acceleration()
    with contextlib.suppress(ap.AppellError):
        ap.forms.lagrange(example.system).acceleration(0, [1e200] * example.system.nq, [1e200] * example.system.nv,
                                                       example.parameters)  # fmt: skip
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("scale", [Float("1e-30"), Float("1e30")])
def test_small_masses_and_rows_are_not_taken_for_nothing(scale):
    """T, V and the row in units of 1e∓30: only φ is ignorable, and every split is found."""
    phi = ap.coordinates("phi")
    row = ap.Constraint(scale * (x.d * sin(phi) - y.d * cos(phi)), "blade")
    blade = ap.System([x, y, phi], scale * (x.d**2 + y.d**2 + 3 * phi.d**2) / 2, constraints=[row])
    table = ap.agree(blade, states=2)
    assert table.ok, str(table)
    assert table["jourdain (independent)"].applies and ap.forms.routhian(blade).cyclic == (phi,)
    spring = ap.System([x, y], scale * (x.d**2 + y.d**2) / 2, scale * x**2)
    assert ap.forms.routhian(spring).cyclic == (y,)
    assert float(ap.forms.lagrange(spring).solve()[x.dd].xreplace({x: 1})) == pytest.approx(-2)


def test_massless_coordinates_are_no_false_alarm():
    """The reaction on a coordinate without mass is zero, and what rounding leaves of it is measured by the other forces."""
    phi = ap.coordinates("phi")
    row = x.d * sin(phi) - y.d * cos(phi) - phi.d * l
    table = ap.agree(ap.System([x, y, phi], m * (x.d**2 + y.d**2) / 2, constraints=[row]), states=2)
    assert table.ok, str(table)
