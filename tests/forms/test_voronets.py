"""Voronets: the reduced T with its correction; without the correction it is wrong."""

from __future__ import annotations

import pytest
import sympy
from sympy import cos, sin
from tests.forms.judging import close, disagreement, judged, value

from appell import zoo
from appell.errors import FormNotApplicable
from appell.forms import chaplygin, voronets
from appell.jets import coordinates, parameters, t, total_derivative
from appell.model import Constraint, System

OTHERS = ("constant_acceleration", "heavy_top_quaternion", "rolling_ball_on_turntable", "grioli", "homogeneous_ball",
          "orthogonal_acceleration")  # fmt: skip
x, y, z = coordinates("x y z")
k = parameters("k", positive=True)


@pytest.mark.parametrize("name", [name for name in zoo.ALL if name not in OTHERS])
def test_agrees_with_the_judge(name):
    example = zoo.ALL[name]()
    assert disagreement(voronets(example.system), example.parameters) < 1e-9


@pytest.mark.parametrize("independent", [[y, z], [x, y]])
def test_rheonomic_and_affine(independent):
    system = System(
        [x, y, z],
        (2 + sin(y * t)) * x.d**2 / 2 + y.d**2 + (1 + x**2) * z.d**2 / 2 + x.d * y.d * cos(z) / 3 + t * y * z.d,
        potential=k * x * y,
        forces={z: -z.d * x.d},
        constraints=[Constraint((1 + y**2) * x.d + (2 + t) * z.d - x * cos(t) * z, name="affine")],
    )
    form, other = voronets(system, independent), chaplygin(system, independent)
    assert disagreement(form, {k: 0.7}) < 1e-9
    for state in judged(system, {k: 0.7}):  # the same equations, not only the same solution
        moved = {**state.values, y.dd: 0.3}
        a = dict(zip(system.accelerations, [moved[s] for s in system.accelerations], strict=True))
        row = form.rows[0].lhs
        free = x.dd if y in independent and z in independent else z.dd
        slope = value(sympy.diff(row, free), moved)
        moved[free] = a[free] - value(row, moved) / slope
        sides = [[value(e.lhs - e.rhs, moved) for e in eq.equations] for eq in (form, other)]
        assert close(*sides, 1e-9) and not close(sides[0], [0, 0], 1e-3)


def test_lagranges_equations_of_the_reduced_kinetic_energy_are_wrong():
    """The snakeboard: without the correction the accelerations of the judge do not satisfy the equations."""
    example = zoo.snakeboard()
    form = voronets(example.system)
    T, F = form.objects["T_reduced"], form.objects["F"]
    rates = {q: F.get(q.d, q.d) for q in example.system.coordinates}
    free = [v for v in example.system.velocities if v not in F]
    worst = 0.0
    for state in judged(example.system, example.parameters):
        for v, e in zip(free, form.equations, strict=True):
            coordinate = next(q for q in example.system.coordinates if q.d == v)
            naive = total_derivative(sympy.diff(T, v), rates) - sympy.diff(T, coordinate)
            assert close(value(e.lhs - e.rhs, state.values), 0.0, 1e-8)
            worst = max(worst, abs(value(naive - e.rhs, state.values)))
    assert worst > 1e-2


def test_refusals():
    with pytest.raises(FormNotApplicable, match="of second order"):
        voronets(zoo.grioli().system)
