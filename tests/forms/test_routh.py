"""Zhuravlev's equations (10) as a form: what it shows, whom it agrees with, whom it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import Abs, Rational, cos, sign, sin

import appell.forms as forms
from appell import zoo
from appell.errors import FormNotApplicable
from appell.forms.fold.triangle_wave import Meander, Triangle
from appell.jets import coordinates, parameters, t
from appell.model import Between, Constraint, System, Unilateral

x, theta = coordinates("x theta")
M, m, l, g, k, e = parameters("M m l g k e", positive=True)


def cart(*constraints) -> System:
    """A cart with a pendulum: b ≠ 0; with terms linear in the velocities, explicit time and forces."""
    T = M * x.d**2 / 2 + m * ((x.d + l * cos(theta) * theta.d) ** 2 + l**2 * sin(theta) ** 2 * theta.d**2) / 2
    return System(
        [x, theta], T + x * cos(t + theta) * theta.d, m * g * l * (1 - cos(theta)) + k * x**2 / 2,
        {x: -x.d * theta.d, theta: -x.d + sin(t)}, constraints, name="cart",
    )  # fmt: skip


CONSTRAINTS = {
    "elastic": Unilateral(x, "wall"),
    "shifted": Unilateral(2 - x, "wall"),
    "moving": Unilateral(x - theta**3 + 2 * sin(t), "wall"),
    "angle": Unilateral(theta + k, "wall"),  # b and A depend on s
    "Ivanov": Unilateral(x, "wall", e),
    "angle, Ivanov": Unilateral(theta + k, "wall", e),
    "Ivanov, a number": Unilateral(x - theta**3 + 2 * sin(t), "wall", Rational(1, 2)),
    "plastic": Unilateral(x, "wall", 0),
    "stops": Between(-1, x, 1, "stops"),
    "moving stops": Between(-1 - k, x + theta + sin(t), 1, "stops"),
    "stops, Ivanov": Between(-1, x, 1, "stops", e),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_accelerations_inside_are_those_of_lagrange_without_the_constraint(name):
    system = cart(CONSTRAINTS[name])
    routh, lagrange = forms.routh(system), forms.lagrange(system.replace(constraints=()))
    rng = np.random.default_rng(1)
    values = {p: rng.uniform(0.5, 1) for p in system.parameters}
    for _ in range(4):
        q, v = rng.uniform(0.1, 0.4, 2), rng.uniform(-1, 1, 2)
        a, lam = routh.acceleration(0.3, q, v, values)
        b, _ = lagrange.acceleration(0.3, q, v, {p: values[p] for p in lagrange.system.parameters})
        assert a == pytest.approx(b, rel=1e-11, abs=1e-11) and lam.shape == (0,)


def test_a_state_on_the_wall_has_its_acceleration():
    """|x| and sgn x would give sgn 0 = 0 there."""
    system = cart(Unilateral(x, "wall"))
    values = dict.fromkeys(system.parameters, 1.0)
    a, _ = forms.routh(system).acceleration(0.3, [0.0, 0.4], [0.0, 0.7], values)
    b, _ = forms.lagrange(system.replace(constraints=())).acceleration(0.3, [0.0, 0.4], [0.0, 0.7], values)
    assert a == pytest.approx(b, abs=1e-12) and abs(a[0]) > 0.1


def test_what_it_shows_for_the_thread_pendulum():
    """The paper's a, b, A⁻¹, R0 and (14), in its notation."""
    system = zoo.thread_pendulum().system
    r, y = system.coordinates
    R, g_, m_ = system.parameters
    E = forms.routh(system)
    X, p = E.fold.x, E.fold.p[0]
    size = R - Abs(X)
    assert E.a == m_ and E.b == sympy.Matrix([0]) and sympy.simplify(E.A_inverse[0] - m_ * size**2) == 0
    assert sympy.simplify(E.R0 - (m_ * X.d**2 / 2 - p**2 / (2 * m_ * size**2) + m_ * g_ * size * cos(y))) == 0
    G = p**2 / m_ / size**3 + m_ * g_ * cos(y)
    first, second, third = E.equations
    assert sympy.simplify(first.lhs - first.rhs - (m_ * X.dd + G * sign(X))) == 0
    assert second.lhs == y.d and sympy.simplify(second.rhs - p / m_ / size**2) == 0
    assert third.lhs == p.d and sympy.simplify(third.rhs + m_ * g_ * size * sin(y)) == 0
    assert sympy.simplify(E.N["thread"] - (p**2 / m_ / R**3 + m_ * g_ * cos(y))) == 0
    assert "Zhuravlev (10)" in E.provenance and E.chart.coordinate == r
    assert r"\operatorname{sign}" in E.latex() and "R_{0}" in E.latex()


def test_two_stops_are_written_with_the_triangle_wave():
    E = forms.routh(zoo.oscillator_between_stops().system)
    assert E.equations[0].has(Triangle) and E.equations[0].has(Meander)


def test_restitution_is_written_with_the_velocity_of_ivanov():
    E = forms.routh(zoo.bouncing_ball("e").system)
    u = E.unknowns[-1]
    assert str(u) == "u.d" and any(eq.lhs == E.fold.x.d for eq in E.kinematics)


@pytest.mark.parametrize("two_sided", [False, True])
def test_ivanovs_equations_run_through_impacts_without_resets(two_sided):
    """ṡ⁺ = −e ṡ⁻ comes out of ẋ = u w alone: the sign of x, the sheet and sgn u are the only modes, and u is continuous.

    Free flight between the walls 0 (and 1): the impact speeds are e^k, the times the partial sums of the flights.
    """
    rest = Rational(3, 5)
    constraint = Between(0, x, 1, "stops", rest) if two_sided else Unilateral(x, "wall", rest)
    pull = 0 if two_sided else g
    system = System([x], x.d**2 / 2, pull * x, constraints=[constraint], name="flight")
    E = forms.routh(system)
    F = E.fold
    u = next(s for s in E.definitions if str(s) == "u")
    w = next(eq for eq in E.kinematics if eq.lhs == F.x.d).rhs
    equation = E.equations[0].lhs - E.equations[0].rhs
    u_d = -equation.xreplace({u.d: sympy.Integer(0)}) / equation.diff(u.d)
    exprs = [e_.rewrite(sympy.asin).rewrite(sign).doit() if two_sided else e_ for e_ in (w, u_d)]
    right = sympy.lambdify([F.x, u], [e_.subs(g, 1) for e_ in exprs], "numpy")
    z = np.array([-0.5, 4.0]) if two_sided else np.array([0.5, 0.0])
    # steps short against the flights and no event anywhere: each jump of the right side costs O(step)
    sol = solve_ivp(lambda t_, z_: right(*z_), (0, 3.5), z, rtol=1e-8, atol=1e-10, max_step=1e-3)
    s = (np.arcsin(np.sin(sol.y[0])) / np.pi + 0.5) if two_sided else np.abs(sol.y[0])
    if two_sided:
        v = 4.0 * (1 + 0.25 * 2 / np.pi * -0.5) / np.pi  # ẋ = u w with k = 1/4, σs = −0.5; s' = ẋ/π
        gap, first = 1.0, (np.pi / 2 + 0.5) / np.pi / v
        times = np.cumsum([first, gap / (0.6 * v), gap / (0.36 * v)])
    else:
        fall = np.sqrt(2 * 0.5)
        times = np.cumsum([fall, 2 * 0.6 * fall, 2 * 0.36 * fall])
    for k_, end in enumerate(times[times < 3.4]):
        near = np.interp(end, sol.t, s)
        wall = (k_ + 1) % 2 if two_sided else 0.0
        assert near == pytest.approx(wall, abs=3e-3)
    assert (times < 3.4).sum() >= 2


@pytest.mark.parametrize(
    ("system", "words"),
    [
        (zoo.pendulum().system, "no unilateral constraint.*ap.forms.lagrange"),
        (zoo.ball_in_corner().system, "face= one of 'wall', 'floor'"),
        (zoo.bead_in_circle().system, "several branches.*ap.forms.lagrange"),
        (cart(Constraint(x - sin(theta), "rod"), Unilateral(x, "wall")), "'rod' takes part"),
    ],
)
def test_refusals_say_why_and_what_else(system, words):
    with pytest.raises(FormNotApplicable, match=words):
        forms.routh(system)


def test_one_of_several_is_named():
    E = forms.routh(zoo.ball_in_corner().system, face="floor")
    assert str(E.chart.coordinate) == "y"
    with pytest.raises(FormNotApplicable, match="'roof' is not a unilateral constraint"):
        forms.routh(zoo.ball_in_corner().system, face="roof")
