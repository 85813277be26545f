"""An equation that is left out of a form is seen by `agree`, whatever the form finds its values by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy
from sympy import cos, sin, sqrt
from tests.families.family import family

import appell as ap
from appell.forms import FORMS
from appell.forms.base import Form

PARTS = ("equations", "rows", "kinematics")


def without(form: Form, variant: tuple[str, ...], part: str, left_out: int) -> Form:
    """A form that leaves one equation out; what it finds its values by stays its own."""

    kind: Any = type(form)

    class Without(kind):
        name = "without"
        variants = (variant,)

        def derive(self, system: Any, **options: Any) -> Any:
            good = form.derive(system, **options)
            old = good.derived if part == "equations" else getattr(good, part)
            return replace(good, route=self, **{part: tuple(e for i, e in enumerate(old) if i != left_out)})

    return Without()


def systems() -> list[ap.System]:
    """Systems of every kind that some form treats in a way of its own."""
    x, y, z, phi, psi, theta = ap.coordinates("x y z phi psi theta")
    m, k, g, f = *ap.parameters("m k g", positive=True), ap.prescribed("f")
    plane, body, b = m * (x.d**2 + y.d**2) / 2, k * phi.d**2 / 2, ap.quaternion("b")
    blade = x.d * sin(phi) - y.d * cos(phi)
    u, w = ap.speeds("u w")
    return [
        ap.System([x, y, phi], plane + body, m * g * y / 3, constraints=[blade]),
        ap.System([x, y], plane, m * g * y, constraints=[x**2 + y**2 - 2]),
        ap.System([x, y, z], plane + m * z.d**2 / 2, constraints=[z.d**2 - k * (x.d**2 + 2 * y.d**2)]),
        ap.System([b], bodies=[ap.RigidBody(m, [k, k + g / 2, g], [0, 0, 0], b)], constraints=[b.rates[0] + b.rates[1]]),
        ap.System([psi, theta], m * (theta.d**2 + psi.d**2 * sin(theta) ** 2) / 2, m * g * cos(theta)),
        ap.System([x, y], plane + cos(y) * m * x.d * y.d / 3, g * x + x * y**2, constraints=[ap.Unilateral(x)]),
        ap.System([x, y], plane, g * y + k * x**2, constraints=[x.dd**2 + y.dd**2 - 4]),
        ap.System([x, y], plane, g * y, constraints=[y - f - x**2 / 3, 2 * y - 2 * f - 2 * x**2 / 3]),
        ap.System([x, y], kinetic=m * (u**2 + w**2) / 2, forces={u: -k * u}, speeds=[u, w],
                  kinematics={x: u * cos(y) + w, y: w - u}),
        ap.System([x, y], plane, g * y, constraints=[y.dd - k * x.dd + sin(x)]),
        ap.System([x, y, phi], plane + body, constraints=[blade, phi.d - k * ap.t * x.d]),
        ap.System([x, y, z], plane + m * z.d**2 / 2, k * z**2, constraints=[sqrt(x**2 + y**2 + 1) - 2 + z, z.d - x * y.d]),
        ap.System([x, y], plane + m * x.d * y.d * cos(x - y) / 2, forces={x: -k * x.d * sympy.Abs(x.d)}),
    ]  # fmt: skip


@family(count=13, sample=(0, 8))
def missing_equations(seed: int) -> None:
    """Each equation, row and kinematic equation of each form, left out; Routh's lines that name letters are no equations."""
    system = systems()[seed]
    planted = 0
    for form in FORMS.values():
        for variant in form.variants:
            try:
                options = {name: form.default(system, name) for name in variant}
                if form.reason_against(system, **options) is not None:
                    continue
                good = form.derived(system, **options)
            except ap.FormNotApplicable:
                continue
            whole = ap.agree(system, states=1, forms=[without(form, variant, "equations", -1)])
            assert whole.ok, (form.name, variant, str(whole))
            counts = {part: len(good.derived if part == "equations" else getattr(good, part)) for part in PARTS}
            redundant = len(system.constraints) > 1 and seed == 7  # either of two rows may go
            second = any(c.order == 2 for c in system.constraints)  # Chaplygin's ÿ = F says what a row says
            for part in PARTS[: 2 if form.name == "routh" else 3]:
                for i in range(counts[part]):
                    table = ap.agree(system, states=1, forms=[without(form, variant, part, i)])
                    planted += 1
                    spare = (redundant and part == "rows") or (second and part == "kinematics")
                    assert spare or (not table.ok and table.worst > 1e-9), (form.name, variant, part, i, str(table))
    assert planted >= 10
