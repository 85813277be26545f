"""Gauss's principle: the minimum, its proof by the secular equation, ties, and rows without solution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Rational, cos, sin
from tests.reference.random_systems import few
from tests.verify.random_systems import build

import appell as ap
from appell.errors import Status
from appell.forms import gauss, lagrange
from appell.forms.engine.evaluation import FLOAT, Tape
from appell.normal_form.least_constraint import solve

seeds = st.integers(0, 10**6)


def quadratic_problem(seed: int):
    """A random M, b, A, a0 and one row ½ a·Sa + g·a + c, definite, semidefinite or indefinite."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    m = int(rng.integers(0, n - 1))
    L = rng.standard_normal((n, n))
    S = rng.standard_normal((n, n))
    S = [S + S.T, S @ S.T, -S @ S.T, np.outer(S[0], S[0])][int(rng.integers(4))]
    M, b, g = L @ L.T + 0.2 * np.eye(n), rng.standard_normal(n), rng.standard_normal(n)
    return M, b, rng.standard_normal((m, n)), rng.standard_normal(m), S, g, float(rng.standard_normal() * 3)


def solved(M, b, A, a0, S, g, c):
    row = lambda a: np.array([a @ S @ a / 2 + g @ a + c])
    return solve(M, b, A, a0, row, lambda a: (S @ a + g)[None], lambda a: S.reshape(1, -1))


def feasible_points(M, b, A, a0, S, g, c, seed, lines=400):
    """Accelerations on random lines of the linear rows where the quadratic row holds."""
    rng = np.random.default_rng(seed + 1)
    particular = -np.linalg.pinv(A) @ a0 if len(A) else np.zeros(len(M))
    kernel = np.linalg.svd(A)[2][len(A) :].T if len(A) else np.eye(len(M))
    points = []
    for _ in range(lines):
        x = particular + kernel @ rng.standard_normal(kernel.shape[1]) * 2
        d = kernel @ rng.standard_normal(kernel.shape[1])
        roots = np.roots([d @ S @ d / 2, d @ S @ x + g @ d, x @ S @ x / 2 + g @ x + c])
        points += [x + tau.real * d for tau in roots if abs(tau.imag) < 1e-12]
    return points


@few(120)
@given(seeds)
def test_one_quadratic_row_no_feasible_acceleration_is_better(seed):
    problem = quadratic_problem(seed)
    M, b, A, a0, S, g, c = problem
    found = solved(*problem)
    points = feasible_points(*problem, seed)
    if found.status == Status.NO_SOLUTION:
        assert not points
        return
    assert found.status == Status.OK and found.proven
    size = 1 + np.abs(found.a).max() ** 2 * (1 + np.abs(S).max())
    stationary = M @ found.a - b - A.T @ found.lam_linear - (S @ found.a + g) * found.lam_nonlinear[0]
    assert np.abs(stationary).max() < 1e-9 * size
    assert np.abs(A @ found.a + a0).max(initial=0) < 1e-10 * size
    assert abs(found.a @ S @ found.a / 2 + g @ found.a + c) < 1e-9 * size
    Z = lambda a: a @ M @ a / 2 - b @ a
    assert all(Z(a) >= Z(found.a) - 1e-9 * (1 + abs(Z(found.a))) for a in points)


def two_masses(F, w=2.0):
    """M = diag(1, 2), |a| = w (theory: the root below the lighter mass; a tie for F_1 = 0, |F_2| < w (m_2 − m_1))."""
    row = (lambda a: np.array([(a @ a - w * w) / 2]), lambda a: a[None], lambda a: np.eye(2)[None])
    return solve(np.diag([1.0, 2.0]), np.array(F), np.zeros((0, 2)), np.zeros(0), *row)


def test_two_masses_take_the_root_below_the_lighter_mass():
    found = two_masses([0.5, -3.0])
    assert found.status == Status.OK and found.proven and found.lam_nonlinear[0] < 1.0
    mu = found.lam_nonlinear[0]
    assert found.a == pytest.approx([0.5 / (1 - mu), -3.0 / (2 - mu)], rel=1e-12)
    assert found.a @ found.a == pytest.approx(4.0, rel=1e-14)


@pytest.mark.parametrize("small", [0.0, 1e-17, -1e-17])
def test_a_tie_is_reported_with_both(small):
    found = two_masses([small, -1.0])
    assert found.status == Status.TIE and found.other is not None
    assert np.abs(found.a) == pytest.approx([np.sqrt(3), 1.0]) and found.other[0] == pytest.approx(-found.a[0])


def test_no_tie_where_the_heavier_force_is_large_or_the_lighter_not_zero():
    assert two_masses([0.0, -5.0]).status == Status.OK
    near = two_masses([1e-4, -1.0])
    assert near.status == Status.OK and near.a[0] > 0
    assert two_masses([-1e-4, -1.0]).a[0] < 0  # the acceleration jumps as F_1 passes 0


def test_a_row_that_nothing_satisfies():
    row = (lambda a: np.array([a @ a + 1.0]), lambda a: 2 * a[None], lambda a: 2 * np.eye(2)[None])
    found = solve(np.eye(2), np.ones(2), np.zeros((0, 2)), np.zeros(0), *row)
    assert found.status == Status.NO_SOLUTION and np.isnan(found.a).all()


def test_redundant_contradictory_and_massless():
    row = (lambda a: np.array([a @ a - 4.0]), lambda a: 2 * a[None], lambda a: 2 * np.eye(3)[None])
    A = np.array([[1.0, 1, 0], [2, 2, 0]])
    M, b = np.diag([1.0, 2, 3]), np.array([1.0, 0.5, -0.3])
    once = solve(M, b, A[:1], np.array([0.1]), *row)
    twice = solve(M, b, A, np.array([0.1, 0.2]), *row)
    assert twice.a == pytest.approx(once.a, rel=1e-11)
    assert twice.lam_linear == pytest.approx(once.lam_linear[0] / 5 * np.array([1, 2]), rel=1e-9)
    assert solve(M, b, A, np.array([0.1, 0.5]), *row).status == Status.CONTRADICTORY
    assert solve(np.diag([1.0, 2, 0]), b, A[:1], np.array([0.1]), *row).status == Status.SINGULAR
    massless = solve(np.diag([1.0, 0, 3]), b, A[:1], np.array([0.1]), *row)  # A holds the massless one
    assert massless.status == Status.OK
    assert solve(M * np.nan, b, A, np.zeros(2), *row).status == Status.NOT_FINITE


def test_other_rows_are_sought_from_many_starts_and_not_proven():
    r = lambda a: np.array([a[0] ** 4 + a[1] ** 4 + a[2] ** 2 - 3.0, a[0] * a[1] - 0.5])
    r_a = lambda a: np.array([[4 * a[0] ** 3, 4 * a[1] ** 3, 2 * a[2]], [a[1], a[0], 0.0]])

    def r_aa(a):
        return np.array([np.diag([12 * a[0] ** 2, 12 * a[1] ** 2, 2.0]), [[0.0, 1, 0], [1, 0, 0], [0, 0, 0]]])

    M, b = np.diag([1.0, 2, 3]), np.array([1.0, 0.4, 0.7])
    found = solve(M, b, np.zeros((0, 3)), np.zeros(0), r, r_a, r_aa)
    assert found.status == Status.OK and not found.proven
    assert np.abs(r(found.a)).max() < 1e-10
    assert np.abs(M @ found.a - b - r_a(found.a).T @ found.lam_nonlinear).max() < 1e-9
    Z = lambda a: a @ M @ a / 2 - b @ a
    x = np.concatenate([-np.geomspace(0.2, 1.3, 4000), np.geomspace(0.2, 1.3, 4000)])
    rest = 3.0 - x**4 - (0.5 / x) ** 4
    curve = [np.array([s, 0.5 / s, sign * np.sqrt(z)]) for s, z in zip(x, rest, strict=True) if z > 0 for sign in (1, -1)]
    assert min(map(Z, curve)) >= Z(found.a) - 1e-12


# -- the form ------------------------------------------------------------------------------------------------------------


@few(12)
@given(seeds, st.sampled_from([(), ("linear",), ("second order",), ("nonlinear",)]))
def test_z_is_least_at_the_motion(seed, kinds):
    """Any other acceleration that the rows allow has a larger Z."""
    try:
        system = build(seed, 3, kinds)
    except ap.ModelError:
        return
    equations = gauss(system)
    q, v = np.array([0.3, -0.2, 0.6]), np.array([0.2, 0.5, -0.4])
    a, _ = equations.acceleration(0.4, q, v)
    values = {ap.t: 0.4, **dict(zip(system.coordinates, q, strict=True)), **dict(zip(system.velocities, v, strict=True))}
    tape, slopes = Tape([equations.Z]), Tape([r.lhs.diff(x) for r in equations.rows for x in system.accelerations])
    Z = lambda a: tape({**values, **dict(zip(system.accelerations, a, strict=True))}, FLOAT)[0]
    rows = np.array(slopes(values, FLOAT), dtype=float).reshape(-1, 3)
    kernel = np.linalg.svd(rows)[2][len(rows) :].T
    for d in np.random.default_rng(seed).standard_normal((6, kernel.shape[1])):
        assert Z(a + 0.1 * kernel @ d) > Z(a)


def test_both_routes_to_z_agree():
    """By the bodies and by the Christoffel symbols of T."""
    x, y, phi = ap.coordinates("x y phi")
    body = ap.RigidBody(2, Rational(1, 3), [x + cos(phi) + ap.t**2, y + sin(phi)], phi)
    by_bodies = ap.System([x, y, phi], bodies=[body], constraints=[ap.Constraint(x.d * sin(phi) - y.d * cos(phi), "blade")])
    by_kinetic = by_bodies.replace(bodies=[], kinetic=by_bodies.kinetic)
    one, other = gauss(by_bodies), gauss(by_kinetic)
    assert "bodies" in one.provenance and "Christoffel" in other.provenance
    state = 0.3, [0.1, 0.2, 0.5], [0.3, 0.3 * np.tan(0.5), 0.7]
    for mine, theirs in zip(one.acceleration(*state), other.acceleration(*state), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-12)


def test_constant_acceleration_by_the_secular_equation_and_by_newton():
    example = ap.zoo.constant_acceleration()
    state = 0.0, [0.3, 0.8], [0.1, 0.2]
    a, lam = gauss(example.system).acceleration(*state, example.parameters)
    b, mu = lagrange(example.system).acceleration(*state, example.parameters)
    assert a == pytest.approx(b, rel=1e-11) and lam == pytest.approx(mu, rel=1e-11)
    assert a @ a == pytest.approx(4.0, rel=1e-13) and lam[0] < 1.0


@pytest.mark.parametrize("form", [gauss, lagrange])
def test_a_tie_raises_and_shows_both(form):
    example = ap.zoo.constant_acceleration()
    calm = {p: (0.0 if str(p) == "F" else value) for p, value in example.parameters.items()}
    with pytest.raises(ap.SingularConfiguration, match=r"not unique.*x\.dd = -?1\.3.* and .*x\.dd = -?1\.3"):
        form(example.system).acceleration(0.0, [0.0, 0.5], [0.0, 0.0], calm)


def test_a_quadratic_row_beside_linear_ones():
    x, y, z = ap.coordinates("x y z")
    rows = [ap.Constraint(x.dd**2 + y.dd**2 + z.dd**2 - 4, "size"), ap.Constraint(x.d + z * y.d, "roll")]
    kinetic = (x.d**2 + 2 * y.d**2 + 3 * z.d**2) / 2
    system = ap.System([x, y, z], kinetic=kinetic, potential=x - 2 * z + y**2, constraints=rows)
    table = ap.agree(system, states=2, forms=["lagrange", "gauss"])
    assert table.within(1e-9), str(table)


def test_no_acceleration_at_all_raises():
    x, y = ap.coordinates("x y")
    row = ap.Constraint(x.dd**2 + y.dd**2 + x, "impossible for x > 0")
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=y, constraints=[row])
    with pytest.raises(ap.SingularConfiguration, match="no acceleration satisfies"):
        gauss(system).acceleration(0.0, [1.0, 0.0], [0.0, 0.0])


def test_what_gauss_refuses_and_why():
    with pytest.raises(ap.FormNotApplicable, match=r"ap\.forms\.lagrange"):
        gauss(ap.zoo.heavy_top_quaternion().system)
    x, y = ap.coordinates("x y")
    servo = ap.Constraint(x.d - y, "servo", reaction={x: 1, y: 1})
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[servo])
    with pytest.raises(ap.FormNotApplicable, match="not ideal"):
        gauss(system)
