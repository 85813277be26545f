"""What ap.Friction takes, what it refuses, and what a system with friction does not answer."""

import pickle

import numpy as np
import pytest
from sympy import sin

import appell as ap

x, y, phi = ap.coordinates("x y phi")
m, g = ap.parameters("m g", positive=True)
floor = ap.Unilateral(y, name="floor", restitution=0)


def system(*frictions, constraints=(floor,)):
    return ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[*constraints, *frictions])


def test_a_friction_is_part_of_its_system():
    mu = ap.parameters("mu", positive=True)
    rub = ap.Friction(x.d - 2, normal=floor, coefficient=mu, static=2 * mu, name="sole")
    made = system(rub)
    assert made.frictions[0].name == "sole" and made.normals == (("face", 0),) and mu in made.parameters
    assert pickle.loads(pickle.dumps(made)).frictions == made.frictions
    assert system(ap.Friction(x.d, normal="floor", coefficient=1)).normals == (("face", 0),)
    row = ap.Constraint(y, name="rail")
    assert system(ap.Friction(x.d, normal=row, coefficient=1), constraints=[row]).normals == (("constraint", 0),)
    assert "can slide" in str(ap.diagnose(made))


@pytest.mark.parametrize(
    "slip, options, text",
    [
        (x.d, {}, "needs normal="),
        (x.d, {"normal": floor}, "needs normal="),
        (x.d, {"limit": 1, "normal": floor}, "limit= and normal="),
        (x.d, {"limit": -1}, "negative"),
        (x.d, {"limit": float("nan")}, "finite"),
        (x.d, {"limit": "1"}, "SymPy expression or a number"),
        ("x.d", {"limit": 1}, "SymPy expression or a number"),
        (x.d**2, {"limit": 1}, "not linear"),
        (sin(x), {"limit": 1}, "no velocity"),
        (x.dd, {"limit": 1}, "linear in the velocities"),
        ((x.d, y.d, phi.d, x.d + y.d), {"limit": 1}, "three in space"),
        ((x.d, x.d), {"limit": 1}, "right angles"),
        ((x.d, y.d, x.d), {"limit": 1}, "right angles"),
        (x.d, {"normal": [], "coefficient": 0.3}, "empty list"),
        (x.d, {"normal": [ap.Constraint(y), floor], "coefficient": 0.3}, "one-sided"),
        (x.d, {"normal": [ap.Constraint(y), 3], "coefficient": 0.3}, "lists constraints"),
        (x.d, {"normal": floor, "coefficient": 0.3, "static": 0.2}, "below the coefficient"),
        (x.d, {"normal": floor, "coefficient": 0.3, "law": "hooke"}, "newton"),
        (x.d, {"normal": y, "coefficient": 0.3}, "Constraint or a Unilateral"),
        (x.d, {"normal": ap.Between(0, x, 1), "coefficient": 0.3}, "two faces"),
        (x.d, {"limit": 1, "regularise": -1}, "above zero"),
        (x.d, {"limit": x.dd}, "acceleration"),
    ],
)
def test_what_cannot_be_meant_is_refused(slip, options, text):
    with pytest.raises(ap.ModelError, match=text):
        ap.Friction(slip, **options)


def test_a_normal_must_belong_to_the_system():
    other = ap.Unilateral(x, name="wall")
    with pytest.raises(ap.ModelError, match="not a constraint of"):
        system(ap.Friction(x.d, normal=other, coefficient=1))
    with pytest.raises(ap.ModelError, match="called 'floor'"):
        system(ap.Friction(x.d, normal=floor, coefficient=1, name="floor"))
    with pytest.raises(ap.ModelError, match="phi is missing"):
        system(ap.Friction(phi.d, normal=floor, coefficient=1))


@pytest.mark.parametrize("ask", [ap.forms.lagrange, ap.principle, ap.equilibria])
def test_nothing_forgets_friction_in_silence(ask):
    with pytest.raises(ap.FormNotApplicable, match="friction"):
        ask(system(ap.Friction(x.d, limit=1, name="pad")))


def test_coefficients_are_judged_with_their_values():
    mu, static = ap.parameters("mu static")
    rub = ap.Friction(x.d, normal=floor, coefficient=mu, static=static, name="sole")
    made = system(rub)
    for values, text in (({mu: -1, static: 1}, "negative"), ({mu: 1, static: 0.5}, "below that of sliding")):
        with pytest.warns(ap.AppellWarning, match=text):
            motion = ap.simulate(made, {}, until=1, parameters={m: 1, g: 1, **values})
        assert motion.status is ap.Status.FRICTION and text in motion.message


def test_accelerations_of_a_run_know_the_mode():
    run = ap.compile(system(ap.Friction(x.d, normal=floor, coefficient=0.5, name="sole")), {m: 2, g: 10})
    a, _ = run.acceleration(0.0, [[0, 0], [0, 0], [0, 1]], [[1, 0], [0, 0], [1, 0]])
    assert np.allclose(a, [[-5, 0], [0, 0], [0, -10]], atol=1e-12)
