"""Functions with jumps and kinks: understood where a force may jump, refused where a blow would be lost."""

from __future__ import annotations

import pytest
from sympy import Abs, Heaviside, Max, Min, Piecewise, atan, atan2, floor, frac, sign, sin

import appell as ap

x, y = ap.coordinates("x y")
m, k = ap.parameters("m k", positive=True)
T = m * (x.d**2 + 2 * y.d**2) / 2

UNDERSTOOD = {
    "dry friction": dict(forces={x: -k * sign(x.d)}),
    "drag": dict(forces={x: -k * Abs(x.d) * x.d}),
    "one-sided spring": dict(potential=k * Heaviside(x) * x**2 / 2),
    "one-sided spring by Max": dict(potential=k * Max(x, 0) ** 2 / 2),
    "hinge of a roof": dict(potential=k * Abs(x - y)),
    "roof in two cases": dict(potential=k * Piecewise((x - 1, x >= 1), (1 - x, True))),
    "two springs": dict(potential=k * Piecewise((x**2 / 2, x > 0), (x**2, True))),
    "angle": dict(potential=k * atan2(y, x) ** 2),
    "least of three": dict(potential=k * Min(x, y, 0) ** 2),
    "steps": dict(forces={x: floor(y)}),
    "a load put on": dict(potential=-k * x * Heaviside(ap.t - 1)),
    "bent gear": dict(constraints=[x.d * Piecewise((y, y > 0), (2 * y, True)) - y.d]),
    "smooth wire": dict(constraints=[y - x * Abs(x)]),
    "waves with kinks": dict(potential=k * Abs(sin(x)) + Max(sin(30 * y), 0)),
    "smooth wire far away": dict(constraints=[y - Max(0, x - 640) ** 2]),
    "accelerations may jump": dict(constraints=[x.dd - sign(y)]),
    "mass with a kink": dict(kinetic=m * (x.d**2 + (1 + Abs(x)) * y.d**2) / 2),
    "nonlinear row": dict(constraints=[Max(x.d, 0) + y.d]),
}


@pytest.mark.parametrize("what", UNDERSTOOD)
def test_every_form_understands_the_derivatives(what):
    table = ap.agree(ap.System([x, y], **{"kinetic": T, **UNDERSTOOD[what]}), states=2)
    assert table.ok, str(table)


REFUSED = {
    "mass that jumps with time": dict(kinetic=T * (2 + Heaviside(ap.t - 1))),
    "wire that jerks": dict(constraints=[y - x * Abs(ap.t - 1)]),
    "step": dict(potential=k * Heaviside(x)),
    "step times something": dict(potential=k * y * sign(x - 1)),
    "pieces that do not meet": dict(potential=Piecewise((x**2, x < 1), (0, True))),
    "stairs": dict(potential=floor(x)),
    "sawtooth": dict(potential=k * frac(x)),
    "sawtooth of mass": dict(kinetic=m * (x.d**2 + (1 + frac(x)) * y.d**2)),
    "sawtooth of a wire": dict(constraints=[y - frac(x)]),
    "mass that jumps": dict(kinetic=m * (x.d**2 + (1 + Heaviside(x)) * y.d**2)),
    "wire with a corner": dict(constraints=[y - Abs(x)]),
    "wire of two lines": dict(constraints=[y - Max(x, 2 * x - 1)]),
    "gear that jumps": dict(constraints=[x.d * sign(y) - y.d]),
    "step far away": dict(potential=k * Heaviside(x - 640)),
    "wire with a corner far away": dict(constraints=[y - Abs(x + 6.4e6)]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_blows_are_refused_where_they_stand(what):
    with pytest.raises(ap.ModelError, match=r"jumps where|has a kink where"):
        ap.System([x, y], **{"kinetic": T, **REFUSED[what]})


def test_a_force_on_one_side_is_not_lost_in_the_solution():
    """It vanishes wherever x > 0, and nowhere else."""
    solved = ap.forms.lagrange(ap.System([x], m * x.d**2 / 2, forces={x: k * Heaviside(-x)})).solve()
    assert solved[x.dd].has(Heaviside)


def test_a_jump_may_depend_on_an_input_of_a_control():
    """V = atan(u/(x − 2)) jumps by π at x = 2, for every u > 0 that the control holds."""
    system = ap.System([x], x.d**2 / 2, atan(k / (x - 2)))
    with pytest.warns(ap.AppellWarning):
        passes = ap.simulate(system, {x: 1, x.d: 3}, 1.0, control=lambda t, q, v: {k: 2 + t}, rate=10)
    stays = ap.simulate(system, {x: 1, x.d: -3}, 1.0, control=lambda t, q, v: {k: 2 + t}, rate=10)
    assert any("the potential jumps where" in doubt for doubt in passes.doubts) and stays.ok
