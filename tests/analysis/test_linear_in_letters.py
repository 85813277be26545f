"""`linearize(…, symbolic=True)`: frequencies of books, and the numbers of the numeric linearization."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import appell as ap
from appell.analysis.linear_in_letters import judged

g, l, m, k, d, Omega, A, B, C = ap.parameters("g l m k d Omega A B C", positive=True)
a, b, theta, phi, x, y = ap.coordinates("a b theta phi x y")
cos, sin, sqrt = sympy.cos, sympy.sin, sympy.sqrt


def same(found, wanted):
    return sympy.simplify(found - wanted) == 0


def test_two_equal_pendulums():
    """ω² = (2 ± √2) g/l, amplitudes 1 : ∓√2 (Landau and Lifshitz, section 23)."""
    T = m * l**2 * (2 * a.d**2 + b.d**2 + 2 * a.d * b.d * cos(a - b)) / 2
    linear = ap.linearize(ap.System([a, b], T, -m * g * l * (2 * cos(a) + cos(b))), at={}, symbolic=True)
    squares = [w**2 for w in linear.frequencies]
    assert same(squares[0], (2 - sqrt(2)) * g / l) and same(squares[1], (2 + sqrt(2)) * g / l)
    assert linear.modes == sympy.Matrix([[1, 1], [sqrt(2), -sqrt(2)]])
    assert linear.G.is_zero_matrix and sympy.diag(2 * m * g * l, m * g * l) == linear.K
    assert r"\omega_{1}^2" in linear.latex()


def test_a_conical_pendulum_at_an_angle_in_letters():
    """About θ₀ with cos θ₀ = g/(lΩ²): ω² = Ω² (1 + 3 cos² θ₀). Ω does not stand in the system."""
    system = ap.System([theta, phi], m * l**2 * (theta.d**2 + sin(theta) ** 2 * phi.d**2) / 2, -m * g * l * cos(theta))
    linear = ap.linearize(system, at={theta: sympy.acos(g / (l * Omega**2)), phi.d: Omega}, symbolic=True)
    assert linear.frequencies[0] == 0 and same(linear.frequencies[1] ** 2, Omega**2 * (1 + 3 * (g / (l * Omega**2)) ** 2))
    with pytest.raises(ap.ModelError, match="shift the phases"):
        _ = linear.modes


def test_rows_and_their_reaction():
    """A damped pendulum in x, y: K = m g/l comes from the tension alone."""
    rod = ap.Constraint(x**2 + y**2 - l**2, "rod")
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, {x: -d * x.d}, [rod])
    linear = ap.linearize(system, at={y: -l}, symbolic=True)
    assert linear.velocities == (x.d,) and same(linear.K[0], m * g / l) and linear.D[0] == d
    assert same(linear.multipliers["rod"], -m * g / (2 * l))
    assert same(linear.eigenvalues[0] * linear.eigenvalues[1], g / l)
    with pytest.raises(ap.ModelError, match="eigenvalues"):
        _ = linear.frequencies


def test_body_rates_and_states_of_first_order():
    """Euler's top about its third axis, and a motor with its current."""
    q = ap.quaternion("q")
    body = ap.System([q], bodies=[ap.RigidBody(1, sympy.diag(A, B, C), [0, 0, 0], q)])
    spin = body.velocities[2]
    roots = ap.linearize(body, at={spin: Omega}, symbolic=True).eigenvalues
    assert any(same(root**2, -(Omega**2) * (C - A) * (C - B) / (A * B)) for root in roots)
    i, kappa = ap.states("i"), ap.parameters("kappa", positive=True)
    motor = ap.System([phi], A * phi.d**2 / 2, 0, {phi: kappa * i}, rates={i: (-k * i - kappa * phi.d) / l})
    linear = ap.linearize(motor, at={}, symbolic=True)
    assert sympy.Matrix([[0, 0, 1], [0, -k / l, -kappa / l], [0, kappa / A, 0]]) == linear.A


def test_numbers_are_put_where_they_are_given():
    system = ap.System([theta], m * l**2 * theta.d**2 / 2, -m * g * l * cos(theta))
    linear = ap.linearize(system, at={"theta": np.pi}, parameters={l: 2.0, "g": 9.81}, symbolic=True)
    assert linear.at[theta] == sympy.pi and linear.K.free_symbols == {m}
    assert float(linear.frequencies[0] ** 2) == pytest.approx(-9.81 / 2)


def test_formulas_that_differ_from_the_numbers_are_refused():
    system = ap.System([theta], m * l**2 * theta.d**2 / 2, -m * g * l * cos(theta))
    linear = ap.linearize(system, at={}, symbolic=True)
    with pytest.raises(ap.AppellError, match="formulas of M"):
        judged(linear, {m: 1.0, l: 1.0, g: 1.0}, {"M": np.array([[1.001]]), "K": np.array([[1.0]])})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": {theta: 1}}, "no rest or steady motion"),
        ({"at": {theta: x}}, "theta in at= is x; it takes"),
        ({"at": {"thta": 0}}, "not a state"),
        ({"at": {}, "inputs": [g]}, "alone"),
        ({"at": {theta: sympy.asin(2 + g)}}, "real for none"),
        ({"at": {}, "parameters": {"G": 1}}, "not a parameter"),
    ],
)
def test_refusals(options, message):
    system = ap.System([theta], m * l**2 * theta.d**2 / 2, -m * g * l * cos(theta))
    with pytest.raises(ap.ModelError, match=message):
        ap.linearize(system, symbolic=True, **options)


def test_coefficients_that_change_with_time_stay_letters():
    system = ap.System([theta], m * l**2 * theta.d**2 / 2, -m * l * (g + d * cos(ap.t)) * cos(theta))
    linear = ap.linearize(system, at={}, symbolic=True)
    assert same(linear.K[0], m * l * (g + d * cos(ap.t)))
    with pytest.raises(ap.ModelError, match="changes with time"):
        _ = linear.eigenvalues
