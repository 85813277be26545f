"""A classical form from outside the package: one class, one call."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import appell as ap
from appell.forms import FORMS, Form
from appell.forms.engine.multipliers import with_multipliers


class Momenta(Form):
    """ṗ_i − ∂T/∂q_i = Q_i + Σ Λ ∂f/∂q̇_i with p = ∂T/∂q̇: ṗ as the total derivative of a function of t, q, q̇."""

    name = "momenta"
    source = "this test"

    def reason_against(self, system, **options):
        return None if system.holonomic_speeds else "its speeds are no time derivatives; use ap.forms.appell"

    def derive(self, system, **options):
        T = system.kinetic
        p = [sympy.diff(T, v) for v in system.velocities]
        E = [ap.total_derivative(p_i) - sympy.diff(T, q) for p_i, q in zip(p, system.coordinates, strict=True)]
        return with_multipliers(self, system, E, "ṗ − ∂T/∂q from p = ∂T/∂q̇", {"p": tuple(p)})


@pytest.fixture(autouse=True)
def row():
    yield ap.forms.register(Momenta())
    del FORMS["momenta"]


def test_it_is_called_by_its_name(row):
    assert ap.forms.momenta is row and "ṗ" in ap.forms.momenta(ap.zoo.skate().system).provenance


def test_what_is_no_form_is_refused():
    class Nameless(Momenta):
        name = ""

    class Spaced(Momenta):
        name = "two words"

    wrong_ones = {"an instance": Momenta, "already": Momenta(), "no name": Nameless(), "plain name": Spaced()}
    for complaint, wrong in wrong_ones.items():
        with pytest.raises(ap.ModelError, match=complaint):
            ap.forms.register(wrong)
    with pytest.raises(AttributeError, match="has lagrange"):
        _ = ap.forms.newton


@pytest.mark.parametrize("name", ["skate", "sliding_rod"])
def test_agree_finds_it_and_it_agrees(name):
    example = getattr(ap.zoo, name)()
    table = ap.agree(example.system, forms=["momenta", "lagrange", "nielsen"])
    assert table.ok and table["momenta"].applies and table["momenta"].states


def test_all_forms_together_list_it():
    assert "momenta" in [line.form for line in ap.agree(ap.zoo.skate().system, states=1)]


def test_what_equations_give(row):
    example = ap.zoo.skate()
    equations = Momenta()(example.system)
    assert len(equations.equations) == len(equations.p) == 3 and r"\Lambda" in equations.latex()
    q, v = np.array([0.1, 0.2, 0.3]), np.array([np.cos(0.3), np.sin(0.3), 0.7])
    found = equations.acceleration(0.0, q, v, example.parameters)
    for a, b in zip(found, ap.compile(example.system, example.parameters).acceleration(0.0, q, v), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_form_that_is_wrong_is_found_out(monkeypatch):
    class Forgetful(Momenta):
        """∂T/∂q is forgotten."""

        def derive(self, system, **options):
            E = [ap.total_derivative(sympy.diff(system.kinetic, v)) for v in system.velocities]
            return with_multipliers(self, system, E, "ṗ alone")

    r, phi = ap.coordinates("r phi")
    system = ap.System([r, phi], (r.d**2 + r**2 * phi.d**2) / 2, r**2)
    names = ["momenta", "lagrange", "nielsen"]
    assert ap.agree(system, forms=names).ok
    monkeypatch.setitem(FORMS, "momenta", Forgetful())
    table = ap.agree(system, forms=names)
    assert not table.ok and table["momenta"].judge_a > 1e-3 and table["nielsen"].judge_a < 1e-9
