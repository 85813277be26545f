"""Gantmacher, Lectures in Analytical Mechanics, §10: each numbered equation on the library's own objects.

The system of the general equations is rheonomic with affine constraints: two particles whose positions depend on time,
a constraint l·ṙ + D = 0 and pseudo-velocities with time-dependent coefficients.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy
from sympy import Matrix, Rational, cos, sin
from tests.forms.judging import close, disagreement, integrate, judged, value, with_pseudo, zero

from appell import zoo
from appell.errors import FormNotApplicable
from appell.forms import appell, lagrange, maggi
from appell.forms.appell import acceleration_energy
from appell.forms.engine.derivation import gradient
from appell.forms.engine.pseudo import PseudoVelocities
from appell.jets import coordinates, parameters, partial, t, total_derivative
from appell.model import Constraint, Force, Particle, System

x, y, z = coordinates("x y z")
m1, m2, k = parameters("m1 m2 k", positive=True)
VALUES = {m1: 1.3, m2: 0.7, k: 0.9}
R1 = Matrix([x + sin(t) * y, y * cos(z), z])
R2 = Matrix([x * z / 2 + t, y, x])
F1, F2 = Matrix([-k * x, y.d / 3, 1]), Matrix([0, sin(z), -k * y])
L1, L2, D = Matrix([1, x, t]), Matrix([0, 0, 2]), cos(t) * y - 1
PSEUDO = {"u": x.d * (2 + sin(t)) + z.d * y, "w": y.d - x * z.d}


@cache
def system() -> System:
    bodies = [Particle(m1, R1, name="first"), Particle(m2, R2, name="second")]
    velocity = [total_derivative(r) for r in (R1, R2)]
    return System(
        coordinates=[x, y, z],
        bodies=bodies,
        loads=[Force(F1, at=R1), Force(F2, at=R2)],
        constraints=[Constraint(L1.dot(velocity[0]) + L2.dot(velocity[1]) + D, name="rolling")],
    )


@cache
def equations():
    return appell(system(), pseudo=PSEUDO)


@cache
def states():
    return tuple(judged(system(), VALUES))


def pseudo() -> PseudoVelocities:
    return equations().objects["pseudo"]


def velocities_in_pseudo():
    """ṙ of both particles in π̇, (10)."""
    return [total_derivative(r, pseudo().rates) for r in (R1, R2)]


def slopes_h():
    """e_νs = Σ_i ∂r_ν/∂q_i h_is."""
    return [r.jacobian([x, y, z]) * pseudo().h for r in (R1, R2)]


def test_gantmacher_1_2():
    """(1), (2), (2'): ṙ = Σ ∂r/∂q q̇ + ∂r/∂t, and δr = Σ ∂r/∂q δq without ∂r/∂t."""
    for body, r in zip(system().bodies, (R1, R2), strict=True):
        velocity = body.velocity(system().rates)
        assert zero(velocity - r.jacobian([x, y, z]) * Matrix([x.d, y.d, z.d]) - partial(r, t))
        assert zero(velocity.jacobian([x.d, y.d, z.d]) - r.jacobian([x, y, z]))
        assert not zero(partial(r, t)), "a rheonomic case, else (2) and (2') would be the same"


def test_gantmacher_3_4():
    """(3), (4): Σ l·ṙ + D = 0 becomes Σ A_i q̇_i + A_0 = 0 with A_i = Σ l·∂r/∂q_i (l is a vector, printed I)."""
    rows = pseudo().rows
    A = L1.T * R1.jacobian([x, y, z]) + L2.T * R2.jacobian([x, y, z])
    assert zero(rows.A - A)
    A_0 = rows.first[0].xreplace({x.d: 0, y.d: 0, z.d: 0})
    assert zero(A_0 - (L1.dot(partial(R1, t)) + L2.dot(partial(R2, t)) + D))


def test_gantmacher_5():
    """(5): π̇ = Σ f q̇ with n = m − g forms; together with (4) they must be independent, and the error names the culprit."""
    assert pseudo().n == 3 - 1
    assert all(abs(np.linalg.det(value(pseudo().Phi, s.values))) > 1e-3 for s in states())
    with pytest.raises(FormNotApplicable, match=r"'u'.*'w'.*linearly dependent"):
        appell(system(), pseudo={"u": x.d + y.d, "w": 3 * x.d + 3 * y.d})
    with pytest.raises(FormNotApplicable, match="2 degrees of freedom, but 1"):
        appell(system(), pseudo={"u": x.d})


def test_gantmacher_6():
    """(6): q̇ = h π̇ + h_0 solves (4) and (5) for every π̇."""
    rows = {v: e for v, e in pseudo().velocities.items()}
    for state in states():
        numbers = {**state.values, **dict(zip(pseudo().speeds, (0.37, -1.2), strict=True))}
        at = {v: value(e, numbers) for v, e in rows.items()}
        moved = {**numbers, **at}
        assert close(value(list(pseudo().definitions), moved), [0.37, -1.2])
        assert close(value(pseudo().rows.first[0], moved), 0.0)
    assert not zero(pseudo().h0[0]), "free terms are there"
    assert [e.lhs for e in equations().kinematics] == [x.d, y.d, z.d]


def test_gantmacher_4_5_6_virtual():
    """(4'), (5'), (6'): A δq = 0, δπ = f δq, δq = h δπ, for i = 1..m (printed n) and without h_0."""
    h, Phi = pseudo().h, pseudo().Phi
    for state in states():
        assert close(value(Phi, state.values) @ value(h, state.values), np.eye(3, 2))
        with_h0 = value(h, state.values) + value(pseudo().h0, state.values)
        assert not close(value(pseudo().rows.A, state.values) @ with_h0, np.zeros((1, 2)), 1e-3)


def test_gantmacher_7_8_9():
    """(7)–(9): δA = Σ Q δq = Σ Π δπ with Π_s = Σ_i h_is Q_i = Σ_ν F_ν·e_νs."""
    for state in states():
        numbers = with_pseudo(equations(), state.values)
        Q = sum((value(r.jacobian([x, y, z]).T * F, numbers) for r, F in ((R1, F1), (R2, F2))))
        Pi = value(list(equations().generalized_forces), numbers)
        assert close(value(pseudo().h.T, numbers) @ Q[:, 0], Pi)
        assert close(sum(value(e.T * F, numbers) for e, F in zip(slopes_h(), (F1, F2), strict=True))[:, 0], Pi)


def test_gantmacher_10_11_12():
    """(10)–(12): ṙ = Σ e_s π̇_s + e_0, and the same e_s multiply δπ_s and π̈_s."""
    for velocity, e in zip(velocities_in_pseudo(), slopes_h(), strict=True):
        w = total_derivative(velocity, pseudo().rates)
        for state in states():
            numbers = with_pseudo(equations(), state.values)
            assert close(value(velocity.jacobian(pseudo().speeds), numbers), value(e, numbers))
            assert close(value(w.jacobian(pseudo().accelerations), numbers), value(e, numbers))


def test_gantmacher_13_14_15():
    """(13)–(15): Σ m r̈·e_s = Π_s on the motion that the normal form gives, and not on another one."""
    w = [total_derivative(total_derivative(r)) for r in (R1, R2)]
    for state in states():
        numbers = with_pseudo(equations(), state.values)
        inertia = lambda n: sum(
            value(mass, n) * value(e.T * a, n)[:, 0] for mass, e, a in zip((m1, m2), slopes_h(), w, strict=True)
        )
        Pi = value(list(equations().generalized_forces), numbers)
        assert close(inertia(numbers), Pi, 1e-9)
        assert not close(inertia({**numbers, x.dd: numbers[x.dd] + 0.1}), Pi, 1e-3)


def test_gantmacher_16_17():
    """(16), (17): S = ½ Σ m r̈² in π̇ and π̈; ∂r̈/∂π̈ = e, so ∂S/∂π̈_s = Σ m r̈·e_s. `.S` has no terms free of π̈."""
    S = equations().S
    assert S.xreplace(dict.fromkeys(pseudo().accelerations, sympy.Integer(0))) == 0
    w = [total_derivative(v, pseudo().rates) for v in velocities_in_pseudo()]
    for state in states():
        numbers = with_pseudo(equations(), state.values)
        left = value(gradient(S, pseudo().accelerations), numbers)
        terms = zip((m1, m2), slopes_h(), w, strict=True)
        right = sum(value(mass, numbers) * value(e.T * acceleration, numbers)[:, 0] for mass, e, acceleration in terms)
        assert close(left, right)


def test_gantmacher_18():
    """(18): Appell's equations give the accelerations and the reaction of the normal form; ∂S/∂π̈_s = Σ h_is E_i (Maggi)."""
    assert disagreement(equations(), VALUES) < 1e-11
    projected = maggi(system(), PSEUDO)
    for state in states():
        numbers = with_pseudo(equations(), {**state.values, x.dd: 0.3, y.dd: -0.2, z.dd: 1.1})
        # off the motion: the two sides of each form differ by the same amount, once a satisfies d/dt (4)
        a = value(Matrix([pseudo().lifted[s] for s in system().accelerations]), numbers)[:, 0]
        numbers |= dict(zip(system().accelerations, a, strict=True))
        ours = [value(e.lhs - e.rhs, numbers) for e in equations().equations]
        theirs = [value(e.lhs - e.rhs, numbers) for e in projected.equations]
        assert close(ours, theirs, 1e-9) and not close(ours, [0, 0], 1e-3)


def test_gantmacher_19_20():
    """(19), (20): n equations of Appell, g constraints and n definitions of π̇ close the system: n + n + g = n + m rows."""
    assert len(equations().equations) == 2 and len(equations().rows) == 2 + 1
    assert len(equations().unknowns) == 3 + 2
    assert set(equations().definitions) == set(pseudo().speeds)


def test_gantmacher_21_22():
    """(21), (22): the coefficients of π̈ are u_ρs = Σ m e_ρ·e_s, symmetric, in t and q only (Π_ρ printed Π_p)."""
    u = Matrix([gradient(slope, pseudo().accelerations) for slope in gradient(equations().S, pseudo().accelerations)])
    assert not u.free_symbols & {*pseudo().speeds, *pseudo().accelerations}
    for state in states():
        gram = sum(value(mass * e.T * e, state.values) for mass, e in zip((m1, m2), slopes_h(), strict=True))
        assert close(value(u, state.values), gram)


def test_gantmacher_23():
    """(23): det u ≠ 0 in general; it vanishes where ∂r/∂q h loses rank, here two particles with ∂r/∂x = 0 at x = 0."""
    u = lambda eq: Matrix(1, 1, [sympy.diff(eq.S, *2 * eq.objects["pseudo"].accelerations)])
    cubic = appell(System([x], bodies=[Particle(m1, [x**3])]), pseudo={"u": x.d})
    assert u(cubic)[0].xreplace({x: sympy.Integer(0)}) == 0
    assert u(cubic)[0].xreplace({x: sympy.Integer(1)}) != 0


def test_gantmacher_24():
    """(24): π̈ = H(t, q, π̇) explicitly."""
    solved = equations().solve(simplify=False)
    for state in states():
        numbers = with_pseudo(equations(), state.values)
        for s in pseudo().accelerations:
            assert close(value(solved[s], numbers), numbers[s], 1e-9)
            assert not solved[s].free_symbols & set(equations().unknowns)


def test_gantmacher_25_26():
    """(25), (26): some q̇ as pseudo-velocities, ∂S/∂q̈_s = Q*_s."""
    form = appell(system(), independent=[x, z.d])
    assert disagreement(form, VALUES) < 1e-11
    assert set(form.unknowns) == {x.dd, y.dd, z.dd}
    B = pseudo_of(form).h
    for state in states():
        Q = sum((value(r.jacobian([x, y, z]).T * F, state.values) for r, F in ((R1, F1), (R2, F2))))
        assert close(value(list(form.generalized_forces), state.values), value(B.T, state.values) @ Q[:, 0])


def pseudo_of(form) -> PseudoVelocities:
    return form.objects["pseudo"]


def test_gantmacher_remark_2():
    """Remark 2 and its footnote: on a holonomic system (26) are Lagrange's equations, and pseudo-velocities give others."""
    example = zoo.holonomic_pseudo()
    plain, other = appell(example.system, independent=example.system.coordinates), appell(example.system, example.pseudo)
    free = lagrange(example.system)
    for mine, theirs in zip(plain.equations, free.equations, strict=True):
        assert zero(mine.lhs - mine.rhs - theirs.lhs + theirs.rhs)
    assert disagreement(other, example.parameters) < 1e-12
    w = other.objects["pseudo"].speeds
    turning = [e for e in other.equations if (e.lhs - e.rhs).free_symbols & set(w)]
    assert turning, "the pseudo-velocity form has terms in π̇ where Lagrange's has none"


def skate_with_masses() -> System:
    x, y, phi = coordinates("x y phi")
    l, g = parameters("l g", positive=True)
    ends = [Matrix([x + s * l / 2 * cos(phi), y + s * l / 2 * sin(phi)]) for s in (-1, 1)]
    return System(
        [x, y, phi],
        bodies=[Particle(1, r) for r in ends],
        potential=g * (ends[0][1] + ends[1][1]),
        constraints=[Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")],
    )


def test_gantmacher_example_1_energy_of_accelerations():
    """U = ẍ² + ÿ² + (l²/4)(φ̈² + φ̇⁴); printed with ẋ², ẏ² it fails. In π̇: U = π̈² + (l²/4) φ̈² + …"""
    system = skate_with_masses()
    x, y, phi = system.coordinates
    l, g = parameters("l g", positive=True)
    S = acceleration_energy(system)
    assert zero(S - (x.dd**2 + y.dd**2 + l**2 / 4 * (phi.dd**2 + phi.d**4)))
    assert not zero(S - (x.d**2 + y.d**2 + l**2 / 4 * (phi.dd**2 + phi.d**4)))
    form = appell(system, pseudo={"pi": x.d * cos(phi) + y.d * sin(phi), "omega": phi.d})
    pi, omega = form.objects["pseudo"].speeds
    assert zero(form.S - (pi.d**2 + l**2 / 4 * omega.d**2))
    assert zero(form.generalized_forces[0] + 2 * g * sin(phi)) and form.generalized_forces[1] == 0
    solved = form.solve()
    assert zero(solved[pi.d] + g * sin(phi)) and solved[omega.d] == 0


def closed_skate(time, alpha, beta, gamma, delta, eps, g, sign=-1.0):
    phi = alpha * time + beta
    bracket = gamma / alpha + g * np.cos(phi) / (2 * alpha**2)
    x = g * phi / (2 * alpha**2) + bracket * np.sin(phi) + delta
    return x, sign * bracket * np.cos(phi) + eps, phi


@pytest.mark.parametrize("form", [appell, maggi])
def test_gantmacher_example_1_motion(form):
    """The closed form with a minus sign in y, and Λ = −2 (2 g cos φ + α γ), to 1e-9; with the plus sign it fails."""
    example = zoo.skate()
    x, y, phi = example.system.coordinates
    g = 9.81
    alpha, beta, pi0 = 1.3, 0.4, 0.8
    gamma = pi0 - g / alpha * np.cos(beta)
    x0, y0, _ = closed_skate(0.0, alpha, beta, gamma, 0.0, 0.0, g)
    start = {phi: beta, x.d: pi0 * np.cos(beta), y.d: pi0 * np.sin(beta), phi.d: alpha}
    times = np.linspace(0, 5, 11)
    q, _, lam = integrate(form(example.system, pseudo=example.pseudo), start, example.parameters, times)
    xs, ys, phis = closed_skate(times, alpha, beta, gamma, -x0, -y0, g)
    assert close(q, np.array([xs, ys, phis]).T, 1e-9)
    assert close(lam[:, 0], -2 * (2 * g * np.cos(phis) + alpha * gamma), 1e-8)
    wrong = closed_skate(times, alpha, beta, gamma, -x0, y0, g, sign=1.0)[1]
    assert not close(q[:, 1], wrong, 1e-2)


def test_gantmacher_27():
    """(27) and example 2: 2U = ∫w² dm (printed ω²) gives Euler's equations; G = (A p, B q, C r), not (A ṗ, B q̇, C ṙ)."""
    example = zoo.euler_body()
    form = appell(example.system, pseudo=example.pseudo)
    p, q, r = form.objects["pseudo"].speeds
    A, B, C = parameters("A B C", positive=True)
    L = parameters("L_xi L_eta L_zeta")
    turning = ((C - B) * q * r, (A - C) * r * p, (B - A) * p * q)
    S = Rational(1, 2) * (A * p.d**2 + B * q.d**2 + C * r.d**2) + p.d * turning[0] + q.d * turning[1] + r.d * turning[2]
    assert zero(form.S - S)
    euler = [A * p.d + turning[0] - L[0], B * q.d + turning[1] - L[1], C * r.d + turning[2] - L[2]]
    for e, expected in zip(form.equations, euler, strict=True):
        assert zero(e.lhs - e.rhs - expected)
    printed = Matrix([p.d, q.d, r.d]).dot(Matrix([p, q, r]).cross(Matrix([A * p.d, B * q.d, C * r.d])))
    assert not zero(sympy.diff(S - printed, p.d) - sympy.diff(S - S.subs(p.d, 0), p.d))


def test_gantmacher_27_dropped_terms():
    """The terms dropped from S for a body with a fixed point are ½ ∫(ω × v)² dm = ω² T: six particles on its axes show it."""
    example = zoo.euler_body()
    psi, theta, phi = example.system.coordinates
    body = example.system.bodies[0]
    R, w = body.orientation.rotation, body.omega(example.system.rates)
    arms = [sympy.Integer(1), sympy.Integer(2), Rational(1, 2)]
    axes = [sympy.eye(3)[:, i] * s * arm for i, arm in enumerate(arms) for s in (1, -1)]
    full = sum(Particle(1, R * axis).appell(example.system.rates) for axis in axes)
    T = sum(Particle(1, R * axis).kinetic(example.system.rates) for axis in axes)
    still = {s: sympy.Integer(0) for s in (psi.dd, theta.dd, phi.dd)}
    values = {psi: 0.3, theta: 0.8, phi: -0.5, psi.d: 0.4, theta.d: -0.7, phi.d: 1.1}
    w_d = total_derivative(w)
    # choose q̈ with ω̇ = 0, so that only the dropped terms remain
    a = np.linalg.solve(value(w_d.jacobian(list(still)), values), -value(w_d.subs(still), values)[:, 0])
    values |= dict(zip(still, a, strict=True))
    assert close(value(full, values), value(w.dot(w), values) * value(T, values))
