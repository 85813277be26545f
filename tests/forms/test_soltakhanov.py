"""Soltakhanov, Shugaylo, Yushkov (2018), vector form of the differential principles: each numbered equation.

One system with T = T2 + T1 + T0 and three kinds of constraints on it: holonomic (1.5), first order nonlinear in q̇ (1.4),
second order (1.3).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy
from sympy import Matrix, cos, sin
from tests.forms.judging import close, disagreement, judged, value

from appell.forms import lagrange, maggi
from appell.forms.engine.system_terms import acceleration_rows, directions, generalized_forces
from appell.forms.lagrange import euler_lagrange
from appell.jets import coordinates, parameters, partial, t
from appell.model import Constraint, System

x, y, z = q = coordinates("x y z")
v, a = tuple(s.d for s in q), tuple(s.dd for s in q)
k = parameters("k", positive=True)
VALUES = {k: 0.8}
T2 = (2 + sin(y)) * x.d**2 / 2 + y.d**2 / 2 + (1 + x**2) * z.d**2 / 2 + x.d * y.d * cos(z) / 3
T = T2 + t * y * z.d + x * x.d / 2 + t * x**2
RESIDUALS = {
    0: z - x * y / 2 - sin(t) / 3,
    1: x.d**2 + y.d * (1 + z**2) - z.d + t - 1,
    2: (2 + x) * x.dd + y * z.dd + y.d**2 - k,
}
PSEUDO = {
    0: [{"u": x.d + y.d, "w": y.d - t * x}, {"u": x.d, "w": z.d + x * y.d}],
    1: [{"u": x.d, "w": z.d + x * y.d}, {"u": x.d + x.d**3 / 3, "w": z.d + y.d}],  # the last one is nonlinear in q̇
    2: [{"u": x.d, "w": y.d}, {"u": z.dd + x.d * x.dd, "w": y.dd + t}],  # and this one is given in q̈
}


@cache
def system(order: int | None = None) -> System:
    constraints = [] if order is None else [Constraint(RESIDUALS[order], name="constraint")]
    return System(q, T, potential=k * (x**2 + y * z), forces={y: -y.d}, constraints=constraints)


@cache
def states(order: int):
    return tuple(judged(system(order), VALUES))


def left_sides(order: int) -> list:
    """M W_σ − Q_σ."""
    return [E - Q for E, Q in zip(euler_lagrange(system(order)), generalized_forces(system(order)), strict=True)]


def metric() -> list[list]:
    """g_ab, a, b = 0..s, with M = 1."""
    rest = dict.fromkeys(v, sympy.Integer(0))
    T1 = [sympy.diff(T, s).subs(rest) for s in v]
    return [[2 * T.subs(rest), *T1], *([T1[i], *(sympy.diff(T, r, s) for s in v)] for i, r in enumerate(v))]


def test_soltakhanov_1_1():
    """(1.1): T = ½ g_στ q̇^σ q̇^τ + g_0σ q̇^σ + ½ g_00; with g_ασ summed over α = 0..s, as printed, it fails."""
    g, u = metric(), (1, *v)
    assert sympy.expand(T - sum(g[i][j] * u[i] * u[j] for i in range(4) for j in range(4)) / 2) == 0
    T2 = sum(g[i][j] * u[i] * u[j] for i in range(1, 4) for j in range(1, 4)) / 2
    assert sympy.expand(T - T2 - sum(g[0][j] * u[j] for j in range(1, 4)) - g[0][0] / 2) == 0
    printed = T2 + sum(g[i][j] * u[j] for i in range(4) for j in range(1, 4)) + g[0][0] / 2
    assert sympy.expand(T - printed) != 0


def test_soltakhanov_1_2():
    """(1.2): M W_σ = d/dt ∂T/∂q̇^σ − ∂T/∂q^σ = g_στ q̈^τ + Γ_{σ,αβ} q̇^α q̇^β with α, β = 0..s."""
    g, u, at = metric(), (1, *v), (t, *q)
    slope = lambda i, j, n: partial(sympy.sympify(g[i][j]), at[n])
    for s, E in enumerate(euler_lagrange(system()), start=1):
        gamma = sum((slope(s, i, j) + slope(s, j, i) - slope(i, j, s)) / 2 * u[i] * u[j] for i in range(4) for j in range(4))
        assert sympy.expand(E - sum(g[s][j] * a[j - 1] for j in range(1, 4)) - gamma) == 0
    assert disagreement(lagrange(system()), VALUES) < 1e-12


@pytest.mark.parametrize("order", [0, 1, 2])
def test_soltakhanov_1_3_1_4_1_5(order):
    """(1.3)–(1.5): after 2 − order differentiations a_σ q̈^σ + a_0 = 0, with a_σ = ∂f/∂q, ∂f/∂q̇, ∂f/∂q̈."""
    row = acceleration_rows(system(order))[0]
    top = {0: q, 1: v, 2: a}[order]
    for s, acceleration in zip(top, a, strict=True):
        assert sympy.expand(sympy.diff(row, acceleration) - sympy.diff(RESIDUALS[order], s)) == 0
    for state in states(order):
        assert close(value(row, state.values), 0.0)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_soltakhanov_1_6_1_7_1_8(order):
    """(1.6)–(1.8): M W = Y + R with R = Λ ε, ε_σ = ∂f/∂q^σ, ∂f/∂q̇^σ or ∂f/∂q̈^σ (printed e^τ), and W·ε = χ(t, q, q̇)."""
    for state in states(order):
        reaction = value(left_sides(order), state.values)
        eps = value(list(directions(system(order))[0]), state.values)
        assert close(reaction, state.lam[0] * eps, 1e-9) and np.abs(reaction).max() > 1e-3
        # W·ε = χ: contravariant ε is g⁻¹ε, and the rest of the row does not contain the accelerations
        g = value(Matrix(metric())[1:, 1:], state.values)
        W = value(euler_lagrange(system(order)), state.values)
        other = {**state.values, **dict(zip(a, state.a + np.array([1.0, 2.0, 0.0]), strict=True))}
        row = acceleration_rows(system(order))[0]
        drift = value(euler_lagrange(system(order)), other) - W
        assert close(np.linalg.solve(g, drift) @ eps, value(row, other) - value(row, state.values), 1e-9)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_soltakhanov_1_9_1_10_1_11(order):
    """(1.9)–(1.11): R = R^K + R_L. A given R_L in the tangent subspace moves the system, leaves Λ and the constraint alone."""
    chosen = maggi(system(order), PSEUDO[order][0])
    for state in states(order):
        h = value(chosen.objects["h"], state.values)
        g = value(Matrix(metric())[1:, 1:], state.values)
        R_L = g @ h @ np.array([0.4, -0.3])  # covariant components of a vector along the h
        driven = system(order).replace(forces={s: f for s, f in zip(q, R_L + np.array([0, -state.v[1], 0]), strict=True)})
        form = lagrange(driven)
        accel, lam = form.acceleration(*state, VALUES)
        assert close(lam, state.lam, 1e-8)
        assert not close(accel, state.a, 1e-3)
        numbers = {**state.values, **dict(zip(a, accel, strict=True))}
        assert close(value(acceleration_rows(driven)[0], numbers), 0.0)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("choice", [0, 1])
def test_soltakhanov_2_1_to_2_5(order, choice):
    """(2.1)–(2.5): δx = ∂x/∂x_* δx_* satisfies ∂f/∂x δx = 0 (2.2), with x = q, q̇, q̈; ε_λ = ∂x^σ/∂x_*^λ e_σ (printed e_λ)."""
    chosen = maggi(system(order), PSEUDO[order][choice])
    pseudo = chosen.objects["pseudo"]
    for state in states(order):
        h, g = value(chosen.objects["h"], state.values), value(chosen.objects["g"], state.values)
        f_x = value(list(directions(system(order))[0]), state.values)
        assert close(f_x @ h, np.zeros(2))
        assert close(value(pseudo.Phi, state.values) @ np.hstack([h, g]), np.eye(3))
        assert np.linalg.matrix_rank(h) == 2


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("choice", [0, 1])
def test_soltakhanov_3_1(order, choice):
    """(3.1): Lagrange, Maggi and generalized Maggi: (M W_σ − Q_σ) ∂x^σ/∂x_*^λ = 0, nonlinear constraints included."""
    chosen = maggi(system(order), PSEUDO[order][choice])
    assert len(chosen.equations) == 2
    assert disagreement(chosen, VALUES) < 1e-11
    for state in states(order):
        h = value(chosen.objects["h"], state.values)
        assert close(value(left_sides(order), state.values) @ h, np.zeros(2), 1e-9)
        assert close([value(e.lhs, state.values) for e in chosen.equations], value(left_sides(order), state.values) @ h)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_soltakhanov_3_2_3_3_3_4(order):
    """(3.2)–(3.4): multipliers, and (M W − Y)·δx = 0 for every δx with ∂f/∂x δx = 0, but for no other δx."""
    assert disagreement(lagrange(system(order)), VALUES) < 1e-11
    for state in states(order):
        reaction = value(left_sides(order), state.values)
        f_x = value(list(directions(system(order))[0]), state.values)
        free = np.linalg.svd(f_x[None])[2][1:]
        assert close(free @ reaction, np.zeros(2), 1e-9)
        assert abs(f_x @ reaction) > 1e-3


@pytest.mark.parametrize("order", [0, 1, 2])
def test_soltakhanov_4_1_4_2(order):
    """(4.1), (4.2): with R kept, (M W − Y − R)·δx = 0 for all s variations, by liberation."""
    for state in states(order):
        R = state.lam[0] * value(list(directions(system(order))[0]), state.values)
        assert close(value(left_sides(order), state.values) - R, np.zeros(3), 1e-9)


def test_soltakhanov_4_3():
    """(4.3), with δx (printed δy): at rest Y + Λ ∇f = 0. A particle on the bottom of a bowl pressed by its weight."""
    m, g = parameters("m g", positive=True)
    bowl = System([x, y, z], m * (x.d**2 + y.d**2 + z.d**2) / 2, m * g * z, constraints=[z - x**2 - y**2])
    form = maggi(bowl, {"u": x.d, "w": y.d})
    accel, lam = form.acceleration(0, [0, 0, 0], [0, 0, 0], {m: 2.0, g: 9.81})
    assert close(accel, [0, 0, 0]) and close(lam, [2 * 9.81])
    off, _ = form.acceleration(0, [0.1, 0, 0.01], [0, 0, 0], {m: 2.0, g: 9.81})
    assert abs(off[0]) > 0.1


@pytest.mark.parametrize("order", [0, 1, 2])
def test_soltakhanov_4_4(order):
    """(4.4): Λ = (M W − Q)·∂x/∂x_*^{l+κ}, an explicit formula, whatever the complementary forms; third line with ∂q̈/∂x_*."""
    forms = [maggi(system(order), choice) for choice in PSEUDO[order]]
    for state in states(order):
        formulas = [value(form.multipliers[0], state.values) for form in forms]
        assert close(formulas, [state.lam[0]] * 2, 1e-9)
        g = [value(form.objects["g"], state.values) for form in forms]
        assert not close(*g, 1e-3), "the displacements differ, Λ does not"
    if order == 2:  # ∂q̇/∂x_* of the printed third line does not exist: f contains no q̇-derivative of its leading part
        printed = Matrix([RESIDUALS[2]]).jacobian(v)
        leading = Matrix([RESIDUALS[2]]).jacobian(a)
        assert printed != leading
