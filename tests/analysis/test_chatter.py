"""Infinitely many impacts that end in contact: derivatives against a closed form, an orbit with them, and what has no limit.

Random systems against differences of sixth order: `tests/families/chatter.py`.
"""

import numpy as np
import pytest
import sympy as sp
from sympy import sin

import appell as ap
from appell.analysis.orbits.chatter import Chatter, NoLimit, at_zero, separate_impacts

x, y = ap.coordinates("x y")
g, c, e, w = ap.parameters("g c e omega", positive=True)
PUSHED = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, {x: -c * y}, [ap.Unilateral(y, "floor", restitution=e)], name="pushed")
TABLE = ap.System([y], y.d**2 / 2, g * y, {}, [ap.Unilateral(y - c * sin(w * ap.t), "table", restitution=e)], name="table")


def closed_form(numbers, until):
    """∂(x, ẋ)/∂(x₀, y₀, ẋ₀, ẏ₀, g, c, e) long after the ball has come to rest: ẍ = −c y, and y is the parabolas of a bouncing
    ball with the speeds u eᵏ, whose areas 2 u³e³ᵏ/(3 g²) and instants are geometric series."""
    X, Y, U, V, G, C, E, s = sp.symbols("X Y U V G C E s", positive=True)
    u = sp.sqrt(V**2 + 2 * G * Y)
    first, fall, area = (V + u) / G, Y + V * s - G * s**2 / 2, 2 * u**3 / (3 * G**2)
    cubes, fourths = E**3 / (1 - E**3), E**4 / (1 - E**4)
    flights = (until - first - 2 * u / G * E / (1 - E)) * cubes - (u / G - 2 * u / G / (1 - E)) * fourths
    place = X + U * until - C * (sp.integrate((until - s) * fall, (s, 0, first)) + area * flights)
    speed = U - C * (sp.integrate(fall, (s, 0, first)) + area * cubes)
    return np.array(
        sp.Matrix([place, speed]).jacobian([X, Y, U, V, G, C, E]).subs(dict(zip((X, Y, U, V, G, C, E), numbers, strict=True))),
        float,
    )


@pytest.mark.parametrize("bounce", [0.6, 0.05])
def test_a_ball_that_comes_to_rest_in_closed_form(bounce):
    numbers = (0.3, 1.0, 0.4, 0.2, 9.81, 2.0, bounce)
    start, values = dict(zip((x, y, x.d, y.d), numbers, strict=False)), dict(zip((g, c, e), numbers[4:], strict=True))
    found = ap.variations(PUSHED, start, 3.0, values, by=[g, c, e], rtol=1e-12, atol=1e-14, backend="vm")
    assert found.ok, found.message
    ours = np.hstack([found.monodromy, found.parameters[-1]])
    assert ours[[0, 2]] == pytest.approx(closed_form(numbers, 3.0), abs=1e-12)
    assert ours[[1, 3]] == pytest.approx(0, abs=1e-12)  # it lies on the floor, whatever the start was


def test_an_orbit_that_comes_to_rest_in_every_period():
    """A table that throws the ball off once a period where c ω² sin ωt = g: nothing of the start is left."""
    values = {c: 1.2 * 9.81 / (2 * np.pi) ** 2, w: 2 * np.pi, e: 0.3, g: 9.81}
    orbit = ap.periodic_orbit(TABLE, guess={y: 0.4}, period=1.0, since=0.3, parameters=values)
    assert orbit.multipliers == pytest.approx([0, 0], abs=1e-12)
    assert orbit.ok and orbit.stable and not orbit.grazing and not separate_impacts(orbit.motion)
    (left,) = [event.time for event in orbit.motion.impacts if event.kind == "leaving"]
    assert left == pytest.approx(np.arcsin(1 / 1.2) / (2 * np.pi) + 1, abs=1e-10)
    assert np.isneginf(ap.lyapunov(TABLE, {y: 0.4}, 3.0, values).exponents).all()


def test_what_has_no_limit_says_so():
    """A coefficient so small that one impact is all that is resolved; differences that do not become smaller."""
    almost = ap.variations(PUSHED, {y: 1.0}, 2.0, {g: 9.81, c: 1.0, e: 1e-9}, backend="vm")
    assert not almost.ok and "too few of them" in almost.message and almost.t[-1] < 1
    jumping = [(0.5**k, np.full((1, 1), (-1.0) ** k)) for k in range(8)]
    with pytest.raises(NoLimit, match="do not converge"):
        Chatter(0, 1.0, (), jumping, 1.0).limit()


def test_the_limit_is_that_of_polynomials():
    value, off = at_zero([(s, np.array([[3 + 2 * s - s**2, np.exp(s)]])) for s in 0.6 ** np.arange(12)])
    assert value == pytest.approx(np.array([[3, 1]]), abs=1e-12) and off < 1e-10
