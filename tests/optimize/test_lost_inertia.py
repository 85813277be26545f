"""Unknown masses that are best at 0: the search ends in a sentence that names them."""

import pytest
from sympy import cos, sin

import appell as ap

x, y = ap.coordinates("x y")
F, m, n = ap.parameters("F m n")


def cart(guess, **more):
    """F² ∝ m² over a given way in a given time: the best mass is 0."""
    system = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="cart")
    more = {"parameters": {m: guess}, "unknown": [m], **more}
    return ap.optimize(system, ap.integral(F**2), [F], {}, 1.0, end={x: 1, x.d: 0}, **more)


@pytest.mark.parametrize("guess", [1.0, -1.0])
def test_mass_that_only_costs(guess):
    plan = cart(guess)
    assert not plan.ok and len(plan.meshes) == 1
    assert "the search takes m to" in plan.message and "where the mass matrix loses rank; give m bounds=" in plan.message
    assert abs(plan.values[m]) < 1e-5 and str(plan)


def test_bounds():
    """A bound away from 0 is the answer, ∫F² = 12 m²; at a bound at 0 the rank is lost as without it."""
    plan = cart(1.0, bounds={m: (0.1, 1)})
    assert plan.ok and plan.objective == pytest.approx(0.12, rel=1e-9)
    assert "loses rank" in cart(1.0, bounds={m: (0, 1)}).message


def test_only_the_culprit_is_named():
    """The bob only costs; the mass of the cart has a bound."""
    bob = (x.d + cos(y) * y.d / 2) ** 2 + (sin(y) * y.d / 2) ** 2
    system = ap.System([x, y], n * x.d**2 / 2 + m * bob / 2, -9.81 * m * cos(y) / 2, {x: F}, name="crane")
    plan = ap.optimize(
        system, ap.integral(F**2), [F], {}, 2.0, {m: 1.0, n: 1.0}, end={x: 1, y: 3, x.d: 0, y.d: 0}, unknown=[m, n],
        bounds={n: (0.5, 2)},
    )  # fmt: skip
    assert not plan.ok and "takes m to" in plan.message and "n to" not in plan.message


def test_mass_of_a_design():
    stop = ap.Unilateral(x, name="stop", restitution=0.5)
    ball = ap.System([x], m * x.d**2 / 2, 9.81 * m * x, {x: -x.d}, [stop], name="ball")
    plan = ap.optimize(ball, ap.at(m * x.d**2, "end"), start={x: 1}, until=0.3, unknown=[m], parameters={m: 1.0}, phases="any")
    assert not plan.ok and "where the mass matrix loses rank; give m bounds=" in plan.message


def test_mass_that_falls_with_every_mesh():
    """∫F² → 0 as m → 0, by ever steeper motions at the end: each mesh finds a smaller mass."""
    system = ap.System([x], m * x.d**2 / 2, x**2 / 2, {x: F}, name="spring")
    plan = ap.optimize(system, ap.integral(F**2), [F], {}, 2.0, {m: 1.0}, end={x: 1, x.d: 0}, unknown=[m])
    assert not plan.ok and "takes m to" in plan.message and "and on to where the mass matrix loses rank" in plan.message
