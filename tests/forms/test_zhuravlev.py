"""V. F. Zhuravlev, equations of motion of systems with ideal unilateral constraints (1978): equations (1) to (16).

One test a numbered equation. Generic ones use undefined functions a, b, A, U of (t, s, y) for one y, written here from
the paper alone; the others look at what `fold` makes of a system. Where the text we hold prints something false, the test
shows both.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy
from sympy import Abs, DiracDelta, Function, Matrix, Rational, cos, diff, pi, sign, simplify, sin
from tests.reference.lagrange_sympy import Lagrange

from appell import zoo
from appell.forms.fold.fold import Fold, fold
from appell.forms.fold.triangle_wave import Meander, Triangle
from appell.jets import Coordinate, coordinates, parameters, partial, t, total_derivative
from appell.model import Between, Constraint, System, Unilateral

s, x, y = coordinates("s x y")
p = Coordinate("p")
a, b, A, U = (Function(name)(t, s, y) for name in "abAU")
S, Y = (Function(name)(t, s, y) for name in ("S", "Y"))
sigma = sympy.Symbol("sigma", real=True)

L = (a * s.d**2 + 2 * s.d * b * y.d + y.d**2 / A) / 2 + U  # (5)
P = s.d * b + y.d / A  # (6)
R_STAR = (a - b * A * b) * s.d**2 / 2 - p * A * p / 2 + s.d * p * A * b + U  # (7)


def lagrange_operator(function, q):
    return total_derivative(diff(function, q.d)) - diff(function, q)


# -- the generic equations ---------------------------------------------------------------------------------------------


def test_6_momentum():
    assert simplify(diff(L, y.d) - P) == 0
    assert simplify(P.xreplace({y.d: A * (p - s.d * b)}) - p) == 0


def test_7_routh_function():
    routh = (L - P * y.d).xreplace({y.d: A * (p - s.d * b)})
    assert simplify(routh - R_STAR) == 0


def on_x(expr):
    """s = |x|, ṡ = ẋ sgn x: (8)."""
    return expr.xreplace({s.d: x.d * sign(x), s: Abs(x)})


def test_8_9_substitution():
    R0 = (a - b * A * b) * x.d**2 / 2 - p * A * p / 2 + U
    R = on_x(R_STAR)
    written = on_x(R0) + x.d * on_x(p * A * b) * sign(x)
    for side in (Rational(3, 7), -Rational(3, 7)):
        assert simplify((R - written).subs(x, side)) == 0
    assert total_derivative(Abs(x)) == x.d * sign(x)


def deltas(expr):
    """The coefficient of δ(x)."""
    d = sympy.Symbol("d")
    return simplify(sympy.expand(expr).subs(DiracDelta(x), d).coeff(d, 1))


def test_9_generalized_functions_cancel_in_the_function_of_routh():
    term = on_x(x.d * p * A * b * sign(x))
    both = total_derivative(diff(term, x.d)) - diff(term, x)
    assert deltas(both) == 0
    assert deltas(total_derivative(diff(term, x.d))) != 0, "they are there before they cancel"


def test_the_same_substitution_fails_in_the_function_of_lagrange():
    """The equation of y keeps 2 b ẋ² δ(x): ẏ jumps, (12), which no continuous right side can do."""
    assert deltas(lagrange_operator(on_x(L), y)) == simplify(2 * on_x(b) * x.d**2)


def test_the_same_substitution_fails_in_the_function_of_hamilton():
    """With p_x = ∂L/∂ẋ the equation ṗ_x = −∂H/∂x keeps δ(x), since p_x = μ ẋ + sgn x p·Ab jumps by 2 p·Ab."""
    p_x, mu = sympy.Symbol("p_x", real=True), a - b * A * b
    H = on_x((p_x * sigma - p * A * b) ** 2 / (2 * mu) + p * A * p / 2 - U).subs(sigma, sign(x))
    assert deltas(-diff(H, x)) != 0
    routh = R_STAR.xreplace({s.d: sigma * x.d})
    momentum = diff(routh, x.d)
    jump = momentum.subs(sigma, 1) - momentum.subs(sigma, -1)
    assert simplify(jump - 2 * p * A * b) == 0


@pytest.mark.parametrize("function", [L, R_STAR])
def test_the_smooth_substitution_fails_at_the_first_contact(function):
    """s = x²: ẍ has the factor x² in Lagrange's and in Routh's equation, and ẋ = ṡ/(2x) is infinite at an impact."""
    on_square = function.xreplace({s.d: 2 * x * x.d, s: x**2})
    inertia = diff(lagrange_operator(on_square, x), x.dd).subs(y.d, 0)
    assert simplify(inertia.doit().subs(x, 0)) == 0
    assert simplify(inertia / x**2).subs(x, 0) != 0


def ten(side):
    """(10) as printed, on the sheet sgn x = side: ẍ's equation, ẏ and ṗ."""
    rates = {s: sigma * x.d, y: y.d, p: p.d, x.d: x.dd}
    along = lambda e: total_derivative(e, rates)
    d_x = lambda e: sigma * diff(e, s)  # ∂/∂x of a function of |x|
    mu, pAb = a - b * A * b, p * A * b
    R0 = mu * x.d**2 / 2 - p * A * p / 2 + U
    first = along(diff(R0, x.d)) - d_x(R0) - (S - along(pAb) + x.d * d_x(pAb)) * sigma
    y_rate = -diff(R0, p) - x.d * A * b * sigma
    p_rate = diff(R0, y) + x.d * diff(pAb, y) * sigma + Y
    return [e.subs(sigma, side) for e in (first, y_rate, p_rate)]


@pytest.mark.parametrize("side", [1, -1])
def test_10_equations_of_motion_are_those_of_lagrange(side):
    """For generic a, b, A, U(t, s, y) and forces: (10) with p, ẏ, ẍ put in is Lagrange's pair, for both signs of x."""
    first, y_rate, p_rate = ten(side)
    to_x = {s.d: side * x.d, s.dd: side * x.dd}
    momentum = P.xreplace(to_x)
    assert simplify(y_rate.subs(p, momentum) - y.d) == 0
    momentum_rate = total_derivative(P).xreplace(to_x)
    by_lagrange = [lagrange_operator(L, s) - S, lagrange_operator(L, y) - Y]
    second = (momentum_rate - p_rate.subs(p, momentum)) - by_lagrange[1].xreplace(to_x)
    assert simplify(second) == 0
    rest = first.subs(p.d, momentum_rate).subs(p, momentum) - side * by_lagrange[0].xreplace(to_x)
    assert simplify(rest) == 0


def test_11_12_properties_of_an_impact():
    """p and ṡ² continuous give (12); (12) in (11) gives T⁺ = T⁻. Printed with ẏ·Aẏ in the last bracket: false."""
    T = L - U
    after = {s.d: -s.d, y.d: y.d + 2 * s.d * A * b}
    assert simplify(P.xreplace(after) - P) == 0
    assert simplify(T.xreplace(after) - T) == 0
    printed = (a * s.d**2 + 2 * s.d * b * y.d + y.d * A * y.d) / 2
    assert simplify(T.xreplace(after) - printed) != 0


def test_13_reaction_is_the_multiplier():
    """On s = ṡ = 0 the left side of (13), with the rates of (10), is Λ of the constraint s = 0."""
    rates = {y: A * p, p: diff(-p * A * p / 2 + U, y) + Y}
    pAb_rate = partial(p * A * b, t) + diff(p * A * b, y) * rates[y] + A * b * rates[p]
    N = pAb_rate + diff(p * A * p, s) / 2 - S - diff(U, s)
    y_dd = sympy.Symbol("y_dd")
    kept = {s.d: 0, s.dd: 0, y.dd: y_dd}
    along_y = sympy.solve((lagrange_operator(L, y) - Y).subs(kept), y_dd)[0]
    multiplier = (lagrange_operator(L, s) - S).subs(kept).subs(y_dd, along_y)
    assert simplify(N.subs(p, (y.d / A)) - multiplier) == 0


# -- the same on what `fold` makes of a system -------------------------------------------------------------------------

m, k, c = parameters("m k c", positive=True)


@cache
def example() -> Fold:
    """A plane pendulum on a cart with a moving wall: b ≠ 0, explicit time, a term linear in the velocities, forces."""
    T = (x.d**2 + m * ((x.d + cos(y) * y.d) ** 2 + sin(y) ** 2 * y.d**2)) / 2 + c * sin(y) * x.d
    wall = Unilateral(x - c * cos(t) + sin(y) / 3, "wall")
    return fold(System([x, y], T, k * x**2 / 2 - m * cos(y), {x: -k * x.d, y: sin(t) * x.d}, [wall], name="cart"))


def numbers(expr, seed: int = 0) -> float:
    """A value at a random point; the same for equal expressions."""
    free = sorted(expr.free_symbols, key=str)
    rng = np.random.default_rng(seed)
    table = {str(v): Rational(int(rng.integers(100, 900)), 1000) for v in sorted(map(str, NAMES))}
    return float(expr.subs({v: table[str(v)] for v in free}))


F0 = example()
NAMES = {t, m, k, c, x, y, x.d, y.d, F0.x, F0.x.d, F0.chart.s, F0.chart.s.d, F0.sigma, *F0.p}


def same(left, right) -> bool:
    return all(numbers(sympy.sympify(left), i) == pytest.approx(numbers(sympy.sympify(right), i), abs=1e-12) for i in range(3))


def test_1_2_the_constraint_becomes_a_coordinate():
    F = example()
    assert F.chart.definition == F.source.function
    assert same(F.chart.into(F.source.function), F.chart.s)
    assert same(F.chart.out_of(F.kinetic), F.origin.kinetic)


def test_3_4_5_blocks_of_the_kinetic_energy():
    """L = quadratic + U + g·v: what is linear in the velocities is left out of (3) and found again in the forces."""
    F = example()
    s_, v = F.chart.s, F.velocities
    quadratic = (F.a * v[0] ** 2 + 2 * v[0] * F.b[0] * v[1] + v[1] ** 2 / F.A[0]) / 2
    assert F.matrix == F.matrix.T and F.matrix[0, 0] == F.a
    linear = F.kinetic - F.chart.into(F.origin.potential) - quadratic - F.U
    pure = sum(diff(linear, u).subs(dict.fromkeys(v, 0)) * u for u in v)
    assert same(linear, pure) and not same(pure, 0)
    potential_free = [sympy.expand(lagrange_operator(pure, q)) for q in (s_, F.chart.y[0])]
    given = F.given_forces
    for force, plain, operator in zip(F.forces, given, potential_free, strict=True):
        assert same(force, plain - operator)


def test_6_7_9_of_a_system():
    F = example()
    p_ = F.p[0]
    assert same(F.entered[p_].subs(F.sigma, 1), F.chart.out_of(F.b[0] * F.chart.s.d + F.chart.y[0].d / F.A[0]))
    assert same(F.R0, F.mu * F.x.d**2 / 2 - F.A[0] * p_**2 / 2 + F.U)
    assert same(F.mu, F.a - F.A[0] * F.b[0] ** 2)
    assert same(F.R, F.R0 + F.x.d * p_ * F.A[0] * F.b[0] * F.sigma)
    assert F.written(F.R).has(Abs(F.x)) and F.written(F.R).has(sign(F.x))


def test_9_force_by_the_balance_of_power():
    """X ẋ = S ṡ, so X = S sgn x."""
    F = example()
    X = F.system.forces[0]
    assert same((X * F.x.d).subs(F.sigma, 1), F.on_sheet(F.given_forces[0] * F.chart.s.d).subs(F.sigma, 1))
    assert same((X * F.x.d).subs(F.sigma, -1), F.on_sheet(F.given_forces[0] * F.chart.s.d).subs(F.sigma, -1))


def test_13_of_a_system_and_the_solution_that_stays_for_ever():
    """x ≡ 0 solves (10) with sgn 0 = 0 whatever the sign of N; with σ = ±1 and N < 0 the motion leaves, either way."""
    F = fold(zoo.thread_pendulum().system)
    y_, p_ = F.chart.y[0], F.p[0]
    R, g, m_ = F.origin.parameters
    pulled = {F.x: 0, F.x.d: 0, y_: 3, p_: Rational(1, 2), R: 1, g: 9, m_: 1}  # near the top and slow
    N, x_dd = F.reaction(), F.right_sides[F.x.dd]
    assert N.subs(pulled) < 0
    assert x_dd.subs({**pulled, F.sigma: 0}) == 0
    assert x_dd.subs({**pulled, F.sigma: 1}).evalf() > 0 and x_dd.subs({**pulled, F.sigma: -1}).evalf() < 0
    pressed = {**pulled, y_: 0}
    assert N.subs(pressed) > 0 and x_dd.subs({**pressed, F.sigma: 1}) < 0


def test_14_pendulum_on_a_thread():
    F = fold(zoo.thread_pendulum().system)
    y_, p_ = F.chart.y[0], F.p[0]
    R, g, m_ = F.origin.parameters
    size = R - F.sigma * F.x
    G = p_**2 / m_ / size**3 + m_ * g * cos(y_)
    assert simplify(F.right_sides[F.x.dd] + G * F.sigma / m_) == 0
    assert simplify(F.right_sides[y_.d] - p_ / m_ / size**2) == 0
    assert simplify(F.right_sides[p_.d] + m_ * g * size * sin(y_)) == 0
    assert simplify(F.reaction() - G.subs(F.x, 0)) == 0  # the tension


def integral_of_triangle(phi):
    """∫₀^φ Π, by its period."""
    phi = np.mod(phi + np.pi / 2, 2 * np.pi) - np.pi / 2
    return np.where(phi <= np.pi / 2, phi**2 / 2, np.pi**2 / 4 - (phi - np.pi) ** 2 / 2)


def test_after_14_the_falling_solution():
    """x = a [∫₀^φ Π − π²/8], φ = √(g/a) t + θ, solves ẍ + g sgn x = 0. Printed: a ∫₀^φ Π − π²/8, right for a = 1 only."""
    g, amplitude, theta = 9.81, 0.37, 0.4
    time = np.linspace(0, 5, 4001)
    phi = np.sqrt(g / amplitude) * time + theta
    x_dd = g * np.sign(np.cos(phi))
    right = amplitude * (integral_of_triangle(phi) - np.pi**2 / 8)
    printed = amplitude * integral_of_triangle(phi) - np.pi**2 / 8
    away = np.abs(right) > 1e-6
    assert (x_dd + g * np.sign(right))[away] == pytest.approx(0)
    assert np.abs(x_dd + g * np.sign(printed)).max() > g
    # the same as the ball that falls from h and bounces: first contact √(2h/g), then every 2√(2h/g)
    h = amplitude * np.pi**2 / 8
    fall = np.sqrt(2 * h / g)
    since_bounce = np.mod(time + fall, 2 * fall) - fall
    ball = h - g * since_bounce**2 / 2
    from_rest = amplitude * (integral_of_triangle(np.sqrt(g / amplitude) * time + np.pi) - np.pi**2 / 8)
    assert np.abs(from_rest) == pytest.approx(ball, abs=1e-12)


def test_15_16_oscillator_with_a_wall():
    F = fold(zoo.oscillator_with_wall().system)
    Delta, Omega, epsilon, h, omega = F.origin.parameters
    assert F.chart.definition == Delta - F.origin.coordinates[0]  # (15)
    expected = -h * F.x.d - Omega**2 * F.x + Omega**2 * Delta * F.sigma - epsilon * F.sigma * sin(omega * t)
    for side in (1, -1):
        assert sympy.expand((F.right_sides[F.x.dd] - expected).subs(F.sigma, side)) == 0


# -- two sides ---------------------------------------------------------------------------------------------------------


def test_triangle_and_meander():
    z = sympy.Symbol("z", real=True)
    assert diff(Triangle(z), z) == Meander(z) and diff(Meander(z), z) == 0
    grid = np.linspace(-7, 7, 57)
    steps = [sympy.integrate(sign(cos(z)), (z, 0, pi)), Triangle(pi / 2), Triangle(pi), Meander(pi), Meander(2)]
    assert steps[1:] == [pi / 2, 0, -1, -1] and steps[0] == 0
    values = np.array([float(Triangle(sympy.Float(g))) for g in grid])
    assert values == pytest.approx(np.arcsin(np.sin(grid)), abs=1e-14)
    assert Triangle(z).rewrite(sympy.asin) == sympy.asin(sin(z)) and Meander(z).rewrite(sign) == sign(cos(z))


@cache
def stops() -> Fold:
    T = (x.d**2 + m * ((x.d + cos(y) * y.d) ** 2 + sin(y) ** 2 * y.d**2)) / 2
    return fold(System([x, y], T, k * x**2 / 2 - m * cos(y), {x: -k * x.d}, [Between(-1, x + y / 5, k, "stops")], name="cart"))


@pytest.mark.parametrize("side", [1, -1])
def test_two_sided_10_with_the_triangle_wave(side):
    """s = Π(x): the folded system through Lagrange's textbook against the explicit (10), on both sheets."""
    F = stops()
    judge = Lagrange(F.system)
    here = {t: 0.3, F.sigma: side, m: 0.8, k: 1.4, F.x: 0.6 if side == 1 else 2.3, F.x.d: 0.7, F.chart.y[0]: 0.4, F.p[0]: -0.3}
    slope = {u: float(e.subs(here)) for u, e in F.right_sides.items()}
    z, v = [here[F.x], here[F.chart.y[0]]], [here[F.x.d], slope[F.chart.y[0].d]]
    acceleration, _ = judge(0.3, z, v, [here[q] for q in judge.parameters])
    assert slope[F.x.dd] == pytest.approx(acceleration[0], rel=1e-11)
    inside = {q: float(F.recover[q].subs(here)) for q in F.origin.coordinates}
    f = float(F.source.function.subs(inside))
    assert -1 < f < 1.4
    assert f == pytest.approx(0.2 + 2.4 / np.pi * np.arcsin(np.sin(here[F.x])))


@pytest.mark.parametrize("face", ["lower", "upper"])
def test_two_sided_13_reverses_at_the_upper_stop(face):
    """N is Λ of the face f >= 0 that is kept, positive while it presses; (13) read literally at s = π/2 has the other sign."""
    F = stops()
    kept = F.origin.unilateral[F.origin.face(f"stops:{face}")]
    judge = Lagrange(F.origin.replace(constraints=[Constraint(kept.function, name="kept")]))
    wall = -pi / 2 if face == "lower" else pi / 2
    here = {t: 0.3, F.sigma: 1, m: Rational(4, 5), k: Rational(7, 5), F.x: wall, F.x.d: 0, F.chart.y[0]: Rational(2, 5)}
    here[F.p[0]] = Rational(-3, 10)
    q, v = ([float(F.recover[u].subs(here)) for u in group] for group in (F.origin.coordinates, F.origin.velocities))
    _, lam = judge(0.3, q, v, [float(here[u]) for u in judge.parameters])
    N = float(F.reaction(kept).subs(here))
    assert pytest.approx(lam[0], rel=1e-10) == N
    literal = float(-F.right_sides[F.x.dd].subs(here) * F.on_sheet(F.mu).subs(here)) * np.pi / 2.4
    assert literal == pytest.approx(N if face == "lower" else -N, rel=1e-10)


def test_matrix_blocks_of_the_arm_couple():
    F = fold(zoo.arm_with_joint_stops().system)
    assert F.b != Matrix([0]) and F.two_sided
