"""A thousandth more of one term in what a form shows, and `agree` names the form."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import pytest
import sympy
from sympy import cos, sin

import appell as ap
from appell.forms import FORMS
from appell.forms.base import Equations, Form
from appell.forms.engine.system_terms import equation
from appell.verify.agree import agree

x, y, phi, theta, psi = ap.coordinates("x y phi theta psi")
m, l, g, k, A, C = ap.parameters("m l g k A C", positive=True)
b = ap.quaternion("b")
SYSTEMS = {
    "trolley": ap.System(
        [x, y, phi, theta],
        m * (x.d**2 + y.d**2) / 2 + A * phi.d**2 / 2 + C * (theta.d + phi.d) ** 2 / 2 + m * l * x.d * phi.d * cos(phi) / 7,
        k * theta**2 / 2,
        {x: -k * x.d},
        constraints=[x.d * sin(phi) - y.d * cos(phi) + l * theta.d * cos(theta)],
    ),
    "pursuit": ap.System(
        [x, y, theta], m * (x.d**2 + y.d**2 + theta.d**2) / 2, m * g * y, constraints=[theta.d**2 - k * (x.d**2 + 2 * y.d**2)]
    ),
    "body": ap.System([b], bodies=[ap.RigidBody(m, [A, A + C / 2, C], [0, 0, 0], b)], constraints=[b.rates[0] + b.rates[1]]),
    "top": ap.System(
        [psi, theta, phi],
        (A * (theta.d**2 + psi.d**2 * sin(theta) ** 2) + C * (phi.d + psi.d * cos(theta)) ** 2) / 2,
        m * g * l * cos(theta),
    ),
}
CASES = [
    *(("trolley", form) for form in ("udwadia_kalaba", "kane", "maggi", "hamel", "poincare_chetaev", "hamilton")),
    *(("pursuit", form) for form in ("gauss", "appell", "jourdain", "chaplygin", "voronets")),
    *(("body", form) for form in ("kane", "hamel", "poincare_chetaev")),
    *(("top", form) for form in ("routhian", "nielsen", "tsenov")),
]


class Mutant(Form):
    """A form with the k-th term of its i-th equation a thousandth too large; what it finds its values by stays its own."""

    def __init__(self, form: Form, i: int, k: int):
        self.form, self.i, self.k, self.name, self.variants = form, i, k, "mutant", form.variants[:1]

    def reason_against(self, system, **options):
        return self.form.reason_against(system, **options)

    def default(self, system, option):
        return self.form.default(system, option)

    def derive(self, system, **options) -> Equations:
        good = self.form.derive(system, **options)
        terms = terms_of(good.equations[self.i])
        terms[self.k] *= sympy.Rational(1001, 1000)
        wrong = equation(sympy.Add(*terms, evaluate=False), 0)
        return replace(good, equations=tuple(wrong if i == self.i else e for i, e in enumerate(good.equations)))


def terms_of(e: sympy.Eq) -> list:
    """lhs − rhs as a list of terms."""
    lhs, rhs = cast("sympy.Expr", e.lhs), cast("sympy.Expr", e.rhs)
    every = [*sympy.Add.make_args(lhs), *(-term for term in sympy.Add.make_args(rhs))]
    return [term for term in every if term != 0]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_thousandth_of_a_term_is_caught(name, form):
    system, route = SYSTEMS[name], FORMS[form]
    options = {option: route.default(system, option) for option in route.variants[0]}
    counts = [len(terms_of(e)) for e in route(system, **options).equations]
    longest = max(range(len(counts)), key=counts.__getitem__)
    assert counts[longest] > 1  # one term alone may be multiplied by anything
    table = agree(system, states=1, forms=["lagrange", Mutant(route, longest, 0)])
    judged = [max(line.judge_a, line.judge_force, -1 if math.isnan(line.shown) else line.shown) for line in table]
    assert judged[0] < 1e-9 and judged[1] > 1e-6 and not table.ok


class Slip(Mutant):
    """A form with one of its kinematics, q̇ = ∂H/∂p or q̇ = h π̇, a thousandth too large."""

    def derive(self, system, **options) -> Equations:
        good = self.form.derive(system, **options)
        lhs, rhs = good.kinematics[self.i].args
        wrong = equation(lhs, rhs * sympy.Rational(1001, 1000))  # type: ignore[operator]
        return replace(good, kinematics=tuple(wrong if i == self.i else e for i, e in enumerate(good.kinematics)))


@pytest.mark.parametrize(("name", "form"), [("top", "hamilton"), ("trolley", "maggi"), ("trolley", "hamel"), ("body", "kane")])
def test_kinematics_are_judged(name, form):
    slip = Slip(FORMS[form], 0, 0)
    assert agree(SYSTEMS[name], states=1, forms=[form]).ok and not agree(SYSTEMS[name], states=1, forms=[slip]).ok
