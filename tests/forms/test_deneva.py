"""Deneva (1989), sections 1 and 2: each numbered equation, on one system with nonlinear constraints of both orders."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy
from sympy import Matrix, Rational, cos, sin, sqrt
from tests.forms.judging import close, disagreement, judged, value, zero

from appell.errors import FormNotApplicable
from appell.forms import appell, chaplygin, lagrange, nielsen, tsenov
from appell.forms.engine.system_terms import directions, generalized_forces
from appell.forms.lagrange import euler_lagrange
from appell.jets import coordinates, parameters, partial, t, total_derivative
from appell.model import Constraint, Force, Particle, System

x, y, z = q = coordinates("x y z")
v, a = tuple(s.d for s in q), tuple(s.dd for s in q)
m, k = parameters("m k", positive=True)
VALUES = {m: 1.4, k: 0.6}
R = Matrix([x * cos(y) + t, x * sin(y), z + t * y])
F = Matrix([-k * x, z.d / 2, 1 + sin(t)])
FIRST = x.d**2 + z.d**2 * (1 + x**2) - y.d + t - 3
SECOND = z.d * z.dd + (2 + y.d**2) * x.dd - y.dd + x


@cache
def system(order: int) -> System:
    residual = FIRST if order == 1 else SECOND
    return System(q, bodies=[Particle(m, R)], loads=[Force(F, at=R)], constraints=[Constraint(residual, name="constraint")])


@cache
def states(order: int):
    return tuple(judged(system(order), VALUES))


def left_sides(order: int) -> list:
    return [E - Q for E, Q in zip(euler_lagrange(system(order)), generalized_forces(system(order)), strict=True)]


def allowed(order: int, state) -> tuple[np.ndarray, np.ndarray]:
    """(variations that satisfy (3) or (18), the covector itself)."""
    f = value(list(directions(system(order))[0]), state.values)
    return np.linalg.svd(f[None])[2][1:], f


def test_deneva_1_2_6_7():
    """(1), (2), (6), (7): ṙ = Σ ∂r/∂q q̇ + ∂r/∂t, δṙ = Σ ∂r/∂q δq̇; the constraint is nonlinear in q̇."""
    velocity = system(1).bodies[0].velocity(system(1).rates)
    assert zero(velocity - R.jacobian(q) * Matrix(v) - partial(R, t))
    assert zero(velocity.jacobian(v) - R.jacobian(q))
    assert system(1).constraints[0].order == 1 and not system(1).constraints[0].linear


def test_deneva_3():
    """(3) with ∂f/∂q̇: variations of the velocities keep f to first order; with the printed ∂f/∂q they do not."""
    for state in states(1):
        f_v = value(Matrix([FIRST]).jacobian(v), state.values)[0]
        f_q = value(Matrix([FIRST]).jacobian(q), state.values)[0]
        for d in np.linalg.svd(f_v[None])[2][1:]:
            assert abs(_moved(state, d)) < 1e-8
        assert any(abs(_moved(state, d)) > 1e-7 for d in np.linalg.svd(f_q[None])[2][1:])


def _moved(state, d) -> float:
    """f after the velocities are varied by 1e-5 d."""
    return value(FIRST, {**state.values, **{s: state.values[s] + 1e-5 * e for s, e in zip(v, d, strict=True)}})


def test_deneva_4_5_8():
    """(4), (5), (8): Σ (F − m r̈)·δṙ = 0 and R·δṙ = 0 for the variations (3), sum over j = 1..n; r̈ from the judge."""
    w = total_derivative(total_derivative(R))
    for state in states(1):
        free, f = allowed(1, state)
        slope = value(R.jacobian(q), state.values)
        force = value(F - m * w, state.values)[:, 0]
        assert close(free @ slope.T @ force, np.zeros(2), 1e-9)
        assert abs(f @ slope.T @ force) > 1e-3, "the reaction is not zero, so the statement has content"


def test_deneva_9_10():
    """(9), (10), and the identity before them: Σ m r̈·∂r/∂q = ∂Ṫ/∂q̇ − 2 ∂T/∂q; T = Σ m ṙ²/2 (printed r²)."""
    T = system(1).kinetic
    assert zero(T - m * total_derivative(R).dot(total_derivative(R)) / 2)
    w, T_d = total_derivative(total_derivative(R)), total_derivative(T)
    for s in q:
        assert zero(m * w.dot(R.diff(s)) - (sympy.diff(T_d, s.d) - 2 * sympy.diff(T, s)))
    for state in states(1):
        free, _ = allowed(1, state)
        Q = generalized_forces(system(1))
        row = [-sympy.diff(T_d, s.d) + 2 * sympy.diff(T, s) + f for s, f in zip(q, Q, strict=True)]
        assert close(free @ value(row, state.values), np.zeros(2), 1e-9)  # (10) with its missing "= 0"


def test_deneva_11_12_13():
    """(11)–(13): Q_i = Σ F·∂r/∂q_i, and Q = ∂U/∂q for a force function."""
    for mine, s in zip(generalized_forces(system(1)), q, strict=True):
        assert zero(mine - F.dot(R.diff(s)))
    heavy = System(q, bodies=[Particle(m, R)], potential=k * R[2] ** 2)
    other = System(q, bodies=[Particle(m, R)], loads=[Force([0, 0, -2 * k * R[2]], at=R)])
    for one, two in zip(generalized_forces(heavy), generalized_forces(other), strict=True):
        assert zero(one - two)


@pytest.mark.parametrize(("form", "number"), [(nielsen, 15), (lagrange, 16)])
def test_deneva_14_15_16(form, number):
    """(14)–(16): Nielsen's and Lagrange's forms with multipliers, l + d equations for q̈ and λ."""
    equations = form(system(1))
    assert len(equations.residuals) == 3 + 1
    assert disagreement(equations, VALUES) < 1e-11


def test_deneva_16_identity():
    """∂Ṫ/∂q̇ − 2 ∂T/∂q = d/dt ∂T/∂q̇ − ∂T/∂q (printed − ∂T/∂q̇, which fails)."""
    T = system(1).kinetic
    T_d = total_derivative(T)
    for s in (x, y):
        left = sympy.diff(T_d, s.d) - 2 * sympy.diff(T, s)
        momentum = total_derivative(sympy.diff(T, s.d))
        assert zero(left - (momentum - sympy.diff(T, s)))
        assert not zero(left - (momentum - sympy.diff(T, s.d)))


def test_deneva_17_to_23():
    """(17)–(23): f(t, q, q̇, q̈) = 0, δr̈ = Σ ∂r/∂q δq̈, Σ (F − m r̈)·δr̈ = 0, with r̈ in (23) (printed r)."""
    w = total_derivative(total_derivative(R))
    assert zero(w.jacobian(a) - R.jacobian(q))
    for state in states(2):
        free, f = allowed(2, state)
        slope, force = value(R.jacobian(q), state.values), value(F - m * w, state.values)[:, 0]
        assert close(free @ slope.T @ force, np.zeros(2), 1e-9)
        assert abs(f @ slope.T @ force) > 1e-3
        printed = value(F - m * R, state.values)[:, 0]
        assert not close(free @ slope.T @ printed, np.zeros(2), 1e-3)


def test_deneva_24():
    """(24) and its identity: +Σ m r̈·∂r/∂q = ½ (∂T̈/∂q̈ − 3 ∂T/∂q); with the printed minus sign it fails."""
    T = system(2).kinetic
    T_dd, w = total_derivative(total_derivative(T)), total_derivative(total_derivative(R))
    for s in q:
        right = (sympy.diff(T_dd, s.dd) - 3 * sympy.diff(T, s)) / 2
        assert zero(m * w.dot(R.diff(s)) - right)
        assert not zero(-m * w.dot(R.diff(s)) - right)


@pytest.mark.parametrize(("form", "number"), [(tsenov, 25), (lagrange, 26), (appell, 26)])
def test_deneva_25_26(form, number):
    """(25), (26), and Appell's form after them, for the second-order constraint; (26) with ḟ is (16)."""
    assert disagreement(form(system(2)), VALUES) < 1e-11
    lifted = System(
        q, bodies=[Particle(m, R)], loads=[Force(F, at=R)], constraints=[Constraint(total_derivative(FIRST), name="f")]
    )
    for state in states(1):
        accel, lam = form(lifted).acceleration(*state, VALUES)
        assert close(accel, state.a, 1e-9) and close(lam, state.lam, 1e-9)


def test_deneva_25_identity():
    """½ ∂T̈/∂q̈ − (3/2) ∂T/∂q = d/dt ∂T/∂q̇ − ∂T/∂q (printed with (3/2) ∂T/∂q̇, which fails)."""
    T = system(2).kinetic
    T_dd = total_derivative(total_derivative(T))
    half = Rational(1, 2)
    for s in (x, y):
        E = total_derivative(sympy.diff(T, s.d)) - sympy.diff(T, s)
        assert zero(half * sympy.diff(T_dd, s.dd) - 3 * half * sympy.diff(T, s) - E)
        assert not zero(half * sympy.diff(T_dd, s.dd) - 3 * half * sympy.diff(T, s.d) - E)


def test_deneva_27_29_35():
    """(27), (29), (35): q̇_μ = F_μ; δq̇_μ = Σ ∂F_μ/∂q̇_r δq̇_r, the slopes of the implicit function."""
    form = chaplygin(system(1), independent=[x, z])
    (F_y,) = form.objects["F"]
    assert zero(F_y[y.d] - (x.d**2 + z.d**2 * (1 + x**2) + t - 3))
    assert zero(form.objects["slopes"] - Matrix([[sympy.diff(F_y[y.d], x.d), sympy.diff(F_y[y.d], z.d)]]))
    assert [str(e.lhs) for e in form.kinematics] == ["y.d"]


def test_deneva_28_30_31():
    """(28), (30), (31): Σ (−E + Q) δq̇ = 0 split into independent and dependent variations (δq̇_μ, printed δq_μ)."""
    slopes = chaplygin(system(1), independent=[x, z]).objects["slopes"]
    for state in states(1):
        E = value(left_sides(1), state.values)
        B = value(slopes, state.values)[0]
        assert close([E[0] + E[1] * B[0], E[2] + E[1] * B[1]], [0, 0], 1e-9)


@pytest.mark.parametrize("independent", [[x, z], [x, y], [y.d, z.d]])
def test_deneva_32(independent):
    """(32): no multipliers, any choice of independent velocities, on every branch; λ is recovered."""
    form = chaplygin(system(1), independent=independent)
    assert len(form.equations) == 2 and set(form.unknowns) == set(a)
    assert disagreement(form, VALUES) < 1e-10


def test_deneva_32_needs_the_free_kinetic_energy():
    """(32) takes the partials of the unconstrained T first; Lagrange's equations of the reduced T~ are wrong."""
    form = chaplygin(system(1), independent=[x, z])
    (solved,) = form.objects["F"]
    reduced = system(1).kinetic.subs(solved)
    rates = {y: solved[y.d]}
    for state in states(1):
        naive = [total_derivative(sympy.diff(reduced, s.d), rates) - sympy.diff(reduced, s) for s in (x, z)]
        right = [e.rhs for e in form.equations]
        assert close([value(e.lhs - e.rhs, state.values) for e in form.equations], [0, 0], 1e-9)
        assert not close(value([n - r for n, r in zip(naive, right, strict=True)], state.values), [0, 0], 1e-2)


@pytest.mark.parametrize("independent", [[x, z], [y, z], [x, y]])
def test_deneva_33_34(independent):
    """(33), (34): the same for a second-order constraint, q̈_μ = F_μ(t, q, q̇, q̈_r)."""
    form = chaplygin(system(2), independent=independent)
    assert disagreement(form, VALUES) < 1e-10
    (solved,) = form.objects["F"]
    (dependent,) = solved
    for state in states(2):
        assert close(value(solved[dependent], state.values), state.values[dependent], 1e-9)


def test_deneva_27_branches():
    """Where f is quadratic in q̇_μ both branches of (27) are shown, and a branch of the user's is checked."""
    form = chaplygin(system(1), independent=[y, z])
    plus, minus = form.objects["F"]
    for state in states(1):
        roots = [value(branch[x.d], state.values) for branch in (plus, minus)]
        assert min(abs(root - state.values[x.d]) for root in roots) < 1e-10
    root = sqrt(y.d - t + 3 - z.d**2 * (1 + x**2))
    for sign in (1, -1):
        given = chaplygin(system(1), independent=[y, z], solved={x.d: sign * root})
        on_branch = [s for s in judged(system(1), VALUES, count=6) if sign * s.values[x.d] > 0]
        for state in on_branch:
            accel, lam = given.acceleration(*state, VALUES)
            assert close(accel, state.a, 1e-9) and close(lam, state.lam, 1e-9)
    with pytest.raises(ValueError, match="does not satisfy the constraints"):
        chaplygin(system(1), independent=[y, z], solved={x.d: 2 * root})


def test_deneva_32_refusals():
    """A choice that cannot be solved for names one that works; so does a wrong number of velocities."""
    blade = System(q, (x.d**2 + y.d**2 + z.d**2) / 2, constraints=[Constraint(x.d * sin(z) - y.d * cos(z), name="blade")])
    with pytest.raises(FormNotApplicable, match=r"cannot be solved for z\.d; independent=\[.*z\.d\] works"):
        chaplygin(blade, independent=[x, y])
    with pytest.raises(FormNotApplicable, match="leave 2 independent velocities, but 1 were named"):
        chaplygin(blade, independent=[x])
