"""Symbols that a form adds are written as no symbol of the system is; two symbols that look alike are not displayed."""

from __future__ import annotations

import pytest

import appell as ap

x, y = ap.coordinates("x y")
m, k = ap.parameters("m k", positive=True)


def held(c, name="r"):
    """A point with a parameter that stands in its constraint, too."""
    return ap.System([x, y], m * (x.d**2 + y.d**2) / 2, c * x * y, constraints=[ap.Constraint(x.d - c * y, name)])


@pytest.mark.parametrize(("parameter", "name", "label"), [("Lambda_r", "r", "1"), ("Lambda_1", "(r)", "row1"), ("k", "r", "r")])
def test_a_multiplier_is_not_written_as_a_parameter_is(parameter, name, label):
    system = held(ap.parameters(parameter), name)
    page = ap.forms.lagrange(system)
    assert str(page.unknowns[-1]) == f"Lambda_{label}" and f"Λ_{label}" in page.text()
    assert ap.agree(system).ok


@pytest.mark.parametrize("form", [ap.forms.hamilton, ap.forms.maggi, ap.forms.udwadia_kalaba])
def test_momenta_and_pseudo_velocities_leave_the_letters_of_the_system(form):
    p_x, pi_x = ap.coordinates("p_x pi_x")
    system = ap.System([x, p_x, pi_x], m * (x.d**2 + p_x.d**2 + pi_x.d**2) / 2, k * x * p_x * pi_x)
    found = form(system)
    mine = {str(s) for s in (*system.positions, *system.velocities)}
    assert found.text() and not mine & {str(s) for s in (*found.definitions, *found.unknowns)}
    assert ap.agree(system).ok


def test_two_symbols_that_are_written_alike_are_not_displayed():
    x1, x_1 = ap.coordinates("x1 x_1")
    system = ap.System([x1, x_1], m * (x1.d**2 + x_1.d**2) / 2, k * x1 * x_1)
    equations = ap.forms.lagrange(system)
    for shown in (equations.text, equations.latex, equations.steps, lambda: equations.text("solved")):
        with pytest.raises(ap.ModelError, match="'x1' and 'x_1' are different symbols, and both are written x₁; rename one"):
            shown()
    assert ap.agree(system).ok  # numbers are as they are
