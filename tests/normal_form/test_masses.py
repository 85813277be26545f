"""Masses of any sizes in one system: accelerations against a solution in 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from sympy import cos, sin

import appell as ap

mpmath.mp.dps = 50


def exactly(M, A, r, s):
    """x of M x = r + Aᵀλ, A x = s in 120 digits."""
    n, m = len(M), len(A)
    with mpmath.workdps(120):
        K, b = mpmath.zeros(n + m), mpmath.zeros(n + m, 1)
        for i, j in np.ndindex(n, n):
            K[i, j] = mpmath.mpf(float(M[i, j]))
        for i, j in np.ndindex(m, n):
            K[n + i, j], K[j, n + i] = mpmath.mpf(float(A[i, j])), -mpmath.mpf(float(A[i, j]))
        for i, value in enumerate((*r, *s)):
            b[i] = mpmath.mpf(float(value))
        x = mpmath.lu_solve(K, b)
        return np.array([float(x[i]) for i in range(n)])


def blocks(run, q, v):
    """M, A, Q − h, −a0 at a state."""
    out = run.form.select("M", "A", "Q", "h", "a0")(0.0, q, v, run.p)
    return out["M"], out["A"], out["Q"] - out["h"], -out["a0"]


def sensitivity(M, A, r, s, rng):
    """How far rounding of the blocks takes x."""
    near = lambda X: X * (1 + 2.2e-16 * rng.standard_normal(np.shape(X)))
    x = exactly(M, A, r, s)
    return x, np.max([np.abs(exactly(M, near(A), near(r), near(s)) - x) for _ in range(2)], axis=0)


def random_system(rng):
    """n particles on a line with masses 1e-30 … 1e30, tied by rows with curvature; forces as weights or as they come."""
    n = int(rng.integers(2, 6))
    m = int(rng.integers(1, n))
    q = [ap.coordinates(f"x{k}") for k in range(n)]
    mass = 10 ** rng.uniform(-30, 30, n) if rng.random() < 0.5 else 10.0 ** rng.choice([-24, 0, 1], n)
    rows = []
    for i in range(m):
        others = [k for k in range(n) if k != i and (rng.random() < 0.7 or k == (i + 1) % n)]
        rows.append(q[i] + sum(rng.uniform(-2, 2) * sin(q[k] * rng.uniform(0.5, 2)) for k in others))
    force = rng.uniform(-2, 2, n) * (mass if rng.random() < 0.3 else 1.0)
    kinetic = sum(float(k) * x.d**2 / 2 for k, x in zip(mass, q, strict=True))
    return ap.System(q, kinetic=kinetic, forces=dict(zip(q, map(float, force), strict=True)), constraints=rows)


@pytest.mark.parametrize("seed", range(24))
def test_accelerations_have_digits_or_are_refused(seed):
    rng = np.random.default_rng(seed)
    system = random_system(rng)
    run = ap.compile(system, backend="vm")
    q, v = rng.uniform(-1, 1, system.nq), rng.uniform(-1, 1, system.nv)
    a, _ = run.acceleration(0.0, q, v)
    exact, off = sensitivity(*blocks(run, q, v), rng)
    assert np.all(np.abs(a - exact) <= 1e-9 * np.abs(exact) + 1e3 * off)


@pytest.mark.parametrize("ratio", [1e-30, 1e-24, 1e-12, 1e-6, 1e8, 1e20])
def test_a_pulley_of_any_mass_between_two_weights(ratio):
    """x and z hang on a rope over a pulley turned by y (radius 1): two rows, parallel in the metric of a light pulley."""
    x, y, z = ap.coordinates("x y z")
    kinetic = (7 * x.d**2 + 7 * ratio * y.d**2 + 5 * z.d**2) / 2
    system = ap.System([x, y, z], kinetic=kinetic, potential=9.81 * (7 * x + 5 * z), constraints=[x - y, z + y])
    motion = ap.simulate(system, until=1.0, backend="auto" if ratio == 1e-24 else "vm")
    exact = -9.81 * 2 / (12 + 7 * ratio)
    assert motion.ok and not motion.redundant
    assert motion[x][-1] == pytest.approx(exact / 2, rel=1e-9)
    assert motion[y][-1] == pytest.approx(exact / 2, rel=1e-9)


@pytest.mark.parametrize("light", [6e-24, 1e-15, 1e-3, 0.0])
def test_a_slider_crank_with_a_light_slider_and_coupler(light):
    """A heavy crank φ (7 kg m²) drives x through a rod of length 2; forces of order 1 act on the light ones."""
    phi, psi, x = ap.coordinates("phi psi x")
    rows = [cos(phi) + 2 * cos(psi) - x, sin(phi) - 2 * sin(psi)]
    kinetic = (7 * phi.d**2 + light * (psi.d**2 + x.d**2)) / 2
    forces = {x: 3.0, psi: -0.5, phi: 1.0}
    system = ap.System([phi, psi, x], kinetic=kinetic, forces=forces, constraints=rows)
    run = ap.compile(system, backend="vm")
    start = ap.consistent(system, {phi: 0.7, psi: np.arcsin(np.sin(0.7) / 2), x: 2.6, phi.d: 1.0}, hold=[phi, phi.d])
    q, v = (np.array([start[s] for s in group]) for group in (system.coordinates, system.velocities))
    exact, off = sensitivity(*blocks(run, q, v), np.random.default_rng(1))
    a, _ = run.acceleration(0.0, q, v)
    assert np.all(np.abs(a - exact) <= 1e-10 * np.abs(exact) + 1e3 * off)
    motion = ap.simulate(system, start, until=1.0)
    bare = ap.simulate(ap.System([phi, psi, x], kinetic=(7 * phi.d**2) / 2, forces=forces, constraints=rows), start, 1.0)
    assert motion.ok and bare.ok
    assert motion[phi][-1] == pytest.approx(bare[phi][-1], abs=1e-7 + light)
