"""`consistent` against the nearest points that SciPy finds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import sympy
from sympy import cos, sin

import appell as ap


def chain(n: int, masses: np.ndarray) -> ap.System:
    """n rods of length 1 in a row, in the positions of their ends."""
    points = [ap.coordinates(f"x{i} y{i}") for i in range(n)]
    T = sum(float(m) * (px.d**2 + py.d**2) for m, (px, py) in zip(masses, points, strict=True)) / 2
    ends = [(0, 0), *points]
    rods = [(b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - 1 for a, b in zip(ends, points, strict=False)]
    return ap.System([s for point in points for s in point], T, constraints=rods, name="chain")


def by_scipy(system: ap.System, q0: np.ndarray, M: np.ndarray) -> float:
    """The distance of the point that SLSQP finds from the same start."""
    f = sympy.lambdify(system.coordinates, system.residuals, "numpy", cse=True)
    A = sympy.lambdify(system.coordinates, sympy.Matrix(system.residuals).jacobian(system.coordinates), "numpy", cse=True)
    rows = {"type": "eq", "fun": lambda q: np.array(f(*q)), "jac": lambda q: np.array(A(*q), dtype=float)}
    best = scipy.optimize.minimize(
        lambda q: (q - q0) @ M @ (q - q0) / 2, q0, jac=lambda q: M @ (q - q0), constraints=rows, method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )  # fmt: skip
    assert np.abs(f(*best.x)).max() < 1e-9
    return float(np.sqrt(2 * best.fun))


@pytest.mark.parametrize("n", [1, 2, 6, 12, 16])
@pytest.mark.parametrize("far", [0.05, 1.0])
def test_a_chain_goes_to_the_nearest_place(n, far):
    rng = np.random.default_rng(n)
    masses = np.exp(rng.uniform(-1, 1, n))
    system, M = chain(n, masses), np.diag(np.repeat(masses, 2))
    angles = rng.uniform(-np.pi, np.pi, n)
    straight = np.cumsum(np.stack([np.cos(angles), np.sin(angles)], axis=1), axis=0).ravel()
    q0 = straight + far * rng.uniform(-1, 1, 2 * n)
    found = ap.consistent(system, dict(zip(system.coordinates, q0, strict=True)))
    q = np.array([found[s] for s in system.coordinates])
    f = sympy.lambdify(system.coordinates, system.residuals)(*q)
    assert np.abs(f).max() < 1e-12
    assert np.sqrt((q - q0) @ M @ (q - q0)) <= by_scipy(system, q0, M) * (1 + 1e-6) + 1e-9


def test_velocities_are_nearest_in_the_kinetic_metric():
    """Gauss: v − v₀ = M⁻¹Aᵀλ, exactly, for linear rows."""
    system = chain(4, np.array([1.0, 2.0, 0.5, 3.0]))
    rng = np.random.default_rng(2)
    start = dict(zip((*system.coordinates, *system.velocities), rng.uniform(-2, 2, 16), strict=True))
    found = ap.consistent(system, start)
    place = {s: found[s] for s in system.coordinates}
    A = np.array(sympy.Matrix(system.residuals).jacobian(system.coordinates).subs(place), dtype=float)
    M = np.diag(np.repeat([1.0, 2.0, 0.5, 3.0], 2))
    change = np.array([found[s] - start[s] for s in system.velocities])
    v = np.array([found[s] for s in system.velocities])
    assert np.abs(A @ v).max() < 1e-12
    left = M @ change - A.T @ np.linalg.lstsq(A.T, M @ change, rcond=None)[0]
    assert np.abs(left).max() < 1e-9


def test_points_that_coincide_are_taken_apart():
    """Unnamed values are 0: every rod has length 0 and no direction, so f has no slope there."""
    system = chain(5, np.ones(5))
    found = ap.consistent(system, {})
    ap.simulate(system, found, 0.1, backend="vm")


def test_what_is_held_stays():
    a, b, c = ap.coordinates("a b c")
    T = (a.d**2 + b.d**2 + c.d**2) / 2
    system = ap.System([a, b, c], T, constraints=[cos(a) + 2 * cos(b) - 2 * cos(c) - 1.5, sin(a) + 2 * sin(b) - 2 * sin(c)])
    start = {a: 1.0, b: 0.5, c: 1.5, a.d: 2.0}
    found = ap.consistent(system, start, hold=[a, a.d])
    assert found[a] == 1.0 and found[a.d] == 2.0
    near = ap.consistent(system, start)
    size = lambda s: np.sqrt(sum((s[x] - start[x]) ** 2 for x in (a, b, c)))
    assert size(near) <= size(found) + 1e-12
    again = ap.consistent(system, near)
    assert all(again[s] == pytest.approx(near[s], abs=1e-12) for s in near)


def test_what_cannot_be_reached_is_said():
    a, b = ap.coordinates("a b")
    system = ap.System([a, b], (a.d**2 + b.d**2) / 2, constraints=[a**2 + b**2 - 1])
    with pytest.raises(ap.ConstraintError, match=r"while holding a.*hold fewer"):
        ap.consistent(system, {a: 2}, hold=[a])
    with pytest.raises(ap.ModelError, match="must be finite"):
        ap.consistent(system, {a: float("nan")})
