"""Linear equations with inputs and outputs, against matrices by hand, closed forms of responses and SciPy's Riccati solver."""

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are
from sympy import cos, sin

import appell as ap
from appell.errors import ModelError

x, y, phi, th = ap.coordinates("x y phi th")
u, w = ap.parameters("u w")
M, m, l, g, c = 1.3, 0.2, 0.5, 9.81, 0.1
TIP = (x + l * sin(th), l * cos(th))
KINETIC = M * x.d**2 / 2 + m / 2 * sum(ap.total_derivative(r) ** 2 for r in TIP)
cart = ap.System([x, th], KINETIC, m * g * TIP[1], {x: u - c * x.d}, name="cart")
A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, -m * g / M, -c / M, 0], [0, (M + m) * g / (M * l), c / (M * l), 0]])
B = np.array([[0], [0], [1 / M], [-1 / (M * l)]])


def test_cart_and_pole():
    """Matrices by hand; the output ẍ has a direct part 1/M; the regulator is SciPy's."""
    space = ap.linearize(cart, at={}, inputs=[u], outputs=[th, x.dd, TIP[0]]).state_space
    assert space.states == (x, th, x.d, th.d) and space.inputs == (u,)
    assert pytest.approx(A, abs=1e-13) == space.A and pytest.approx(B, abs=1e-13) == space.B
    assert pytest.approx(np.array([[0, 1, 0, 0], A[2], [1, l, 0, 0]]), abs=1e-13) == space.C
    assert pytest.approx(np.array([[0], [1 / M], [0]]), abs=1e-13) == space.D
    Q, R = np.diag([1.0, 10, 1, 1]), np.array([[0.1]])
    P = solve_continuous_are(A, B, Q, R)
    found = space.lqr(np.diag(Q), 0.1)
    assert pytest.approx(P, rel=1e-9) == found.P and pytest.approx(10 * B.T @ P, rel=1e-9) == found.K
    assert (found.eigenvalues.real < 0).all() and space.controllable and space.observable
    closed = ap.simulate(cart, {th: 0.1}, 8.0, control=lambda t, q, v: {u: -(found.K @ [*q, *v])[0]}, rate=200.0)
    assert np.abs(closed.q[-1]).max() < 1e-3  # the nonlinear cart comes to rest


def test_frequency_response_of_an_oscillator():
    """G = 1/(k − mω² + icω), of acceleration −ω²G; at its pole an undamped one is refused."""
    k, d = ap.parameters("k d")
    spring = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: u - d * x.d}, name="spring")
    space = ap.linearize(spring, at={}, parameters={k: 4, d: 0.3}, inputs=[u], outputs=[x, x.dd]).state_space
    omega = np.array([0.0, 1.0, np.sqrt(20.0), 100.0])
    G = 1 / (4 - m * omega**2 + 0.3j * omega)
    assert space.frequency_response(omega)[:, :, 0] == pytest.approx(np.array([G, -(omega**2) * G]).T, rel=1e-12)
    assert space.frequency_response(1.0).shape == (2, 1)
    free = ap.linearize(spring, at={}, parameters={k: 4, d: 0}, inputs=[u]).state_space
    with pytest.raises(ModelError, match="eigenvalue at i"):
        free.frequency_response(np.sqrt(20.0))


def test_constraints_are_eliminated():
    """A double pendulum of two particles on rods, as constraints, has the response of the one in angles."""
    x1, y1, x2, y2, a, b = ap.coordinates("x1 y1 x2 y2 a b")
    rods = [x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 4]
    kinetic = (x1.d**2 + y1.d**2) / 2 + m / 2 * (x2.d**2 + y2.d**2)
    loose = ap.System([x1, y1, x2, y2], kinetic, g * (y1 + m * y2), {x1: -u * y1, y1: u * x1}, rods)
    p1 = (sin(a), -cos(a))
    p2 = (p1[0] + 2 * sin(b), p1[1] - 2 * cos(b))
    rate = lambda p: sum(ap.total_derivative(r) ** 2 for r in p)
    angles = ap.System([a, b], rate(p1) / 2 + m / 2 * rate(p2), g * (p1[1] + m * p2[1]), {a: u})
    one = ap.linearize(loose, at={y1: -1, y2: -3}, inputs=[u], outputs=[x1, x2, y2.dd]).state_space
    two = ap.linearize(angles, at={}, inputs=[u], outputs=[p1[0], p2[0], 0 * a]).state_space
    omega = np.array([0.3, 1.0, 10.0])
    assert one.frequency_response(omega) == pytest.approx(two.frequency_response(omega), abs=1e-14)
    assert one.controllable.rank == two.controllable.rank == 4


def test_a_rest_of_a_nonholonomic_system_is_refused():
    """The sleigh cannot be pushed sideways: the mode is named; a car that moves can be steered."""
    blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
    push = {x: u * cos(phi), y: u * sin(phi), phi: w}
    sleigh = ap.System([x, y, phi], x.d**2 + y.d**2 + phi.d**2, 0, push, [blade], name="sleigh")
    space = ap.linearize(sleigh, at={}, inputs=[u, w]).state_space
    assert space.controllable.rank == 4 and not space.controllable.ok
    assert space.controllable.modes == pytest.approx([0]) and space.controllable.names == ("y",)
    with pytest.raises(ModelError, match=r"sleigh cannot be stabilised: no input reaches the mode λ = 0/s \(y\)"):
        space.lqr(np.ones(5), 1.0)
    moving = ap.linearize(sleigh, at={x.d: 1.0}, inputs=[u, w]).state_space
    assert moving.controllable.ok and (moving.lqr(np.ones(5), 1.0).eigenvalues.real < 0).all()


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e5])
def test_twins_move_together(unit):
    """Two equal oscillators under one force, in any unit of length: their difference is neither reached nor, alone, damped."""
    a, b, d = ap.coordinates("a b")[0], ap.coordinates("a b")[1], ap.parameters("d")
    scale = 1 / unit**2
    force = {a: u / unit - d * scale * a.d, b: u / unit - d * scale * b.d}
    twins = ap.System([a, b], scale * (a.d**2 + b.d**2) / 2, scale * (a**2 + b**2) / 2, force, name="twins")
    space = ap.linearize(twins, at={}, parameters={d: 0}, inputs=[u], outputs=[a - b]).state_space
    assert (space.controllable.rank, space.observable.rank) == (2, 2)
    assert sorted(space.controllable.modes.imag) == pytest.approx([-1, 1])
    moved = space.controllable.directions @ space.B
    assert np.abs(moved).max() <= 1e-12 * np.abs(space.controllable.directions).max() * np.abs(space.B).max()
    with pytest.raises(ModelError, match=r"λ = \(0 ± 1i\)/s \(a, b"):
        space.lqr(np.ones(4), 1.0)
    damped = ap.linearize(twins, at={}, parameters={d: 0.1}, inputs=[u]).state_space  # what decays by itself may stay unreached
    assert (damped.lqr(np.ones(4), 1.0).eigenvalues.real < 0).all()


def test_a_mode_without_cost_is_refused():
    space = ap.linearize(cart, at={}, inputs=[u]).state_space
    with pytest.raises(ModelError, match=r"Q gives no cost to the mode λ = 0/s \(x\)"):
        space.lqr([0, 1, 1, 1], 1.0)


def test_a_motor_has_a_state_of_first_order():
    """L İ = V − R I − k ω, J ω̇ = k I − c ω: the response in closed form."""
    i, V = ap.states("i"), ap.parameters("V")
    motor = ap.System([phi], phi.d**2 / 2, 0, {phi: 0.5 * i - 0.1 * phi.d}, rates={i: (V - 2 * i - 0.5 * phi.d) / 0.1})
    space = ap.linearize(motor, at={}, inputs=[V], outputs=[phi, i]).state_space
    s = 2.0j
    speed = 0.5 / ((0.1 * s + 2) * (s + 0.1) + 0.25)
    assert space.frequency_response(2.0)[:, 0] == pytest.approx([speed / s, speed * (s + 0.1) / 0.5], rel=1e-12)


def test_along_a_motion_the_matrices_have_times():
    motion = ap.simulate(cart, {th: 0.3}, 0.2, {u: 1.0}, times=[0.0, 0.1, 0.2])
    space = ap.linearize(motion=motion, inputs=[u], outputs=[th]).state_space
    assert space.A.shape == (3, 4, 4) and space.B.shape == (3, 4, 1) and space.C.shape == (3, 1, 4)
    with pytest.raises(ModelError, match="changes with time"):
        space.lqr(np.ones(4), 1.0)


def test_what_is_no_input_is_refused():
    linear = ap.linearize(cart, at={}, parameters={u: 0})
    with pytest.raises(ModelError, match=r"give ap\.linearize"):
        _ = linear.state_space
    for inputs, why in (([w], "'w', which is not a parameter"), ([u, "u"], "'u' twice"), (u, "is a list")):
        with pytest.raises(ModelError, match=why):
            ap.linearize(cart, at={}, inputs=inputs)
    space = ap.linearize(cart, at={}, inputs=[u]).state_space
    for Q, R, why in ((np.ones(3), 1, "Q is one number"), (np.ones(4), -1, "R must be"), (-1, 1, "Q must be positive")):
        with pytest.raises(ModelError, match=why):
            space.lqr(Q, R)
