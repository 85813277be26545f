"""Small motions of systems on walls, against the matrices of the textbook.

    M q̈ + (K − Σ Λ_j H_j) q = Cᵀ δΛ + b u,    C q = 0        faces  g_j = C_j q + qᵀ H_j q/2 >= 0,  Λ_j > 0

Each model is written with the units of length, time and mass as factors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg
from tests.families.family import family
from tests.families.units_of_small_motions import UNITS

import appell as ap

u = ap.parameters("u")


class OnWalls(NamedTuple):
    """A random system that presses on all its faces at q = 0, and its matrices in units of 1."""

    system: ap.System
    M: np.ndarray
    K: np.ndarray
    C: np.ndarray
    b: np.ndarray


def on_walls(seed: int, units: tuple[float, float, float], loads: float = 1.0) -> OnWalls:
    rng, (L, T, m) = np.random.default_rng(seed), units
    n = 2 if seed == 0 else int(rng.integers(2, 5))
    faces = 1 if n == 2 else int(rng.integers(1, n))
    M, K = (A @ A.T + n * np.eye(n) for A in rng.normal(size=(2, n, n)))
    C, H = rng.normal(size=(faces, n)), rng.normal(size=(faces, n, n))
    H, pushes, b = H + H.transpose(0, 2, 1), loads * rng.uniform(0.5, 2.0, faces), rng.normal(size=n)
    q = ap.coordinates(" ".join(f"q{i}" for i in range(n)))
    value, rate = np.array([s / L for s in q]), np.array([s.d * T / L for s in q])
    gaps = [C[j] @ value + value @ H[j] @ value / 2 for j in range(faces)]
    energy = m * L**2 / T**2
    walls: list[Any] = [ap.Unilateral(g, name=f"wall {j}", restitution=0) for j, g in enumerate(gaps)]
    forces = {s: float(b[i]) * u * m * L / T**2 for i, s in enumerate(q)}
    potential = energy * (value @ K @ value / 2 + (pushes @ C) @ value)
    system = ap.System(q, energy * (rate @ M @ rate) / 2, potential, forces, walls)
    return OnWalls(system, M, K - np.einsum("j,jab->ab", pushes, H), C, b)


@family(sample=(0, 4))
def eigenvalues_on_walls(seed: int) -> None:
    """Those of ap.linearize, at the state and at the equilibrium, are those on the kernel of the normals."""
    L, T, m = UNITS[seed % 6]
    system, M, K, C, _ = on_walls(seed, (L, T, m))
    Z = scipy.linalg.null_space(C)
    squares = scipy.linalg.eigh(Z.T @ K @ Z, Z.T @ M @ Z, eigvals_only=True)
    roots = np.sqrt(-squares.astype(complex))
    for at in ({}, ap.equilibrium(system, {}, {u: 0.0})):
        linear = ap.linearize(system, at=at, parameters={u: 0.0})
        found = linear.eigenvalues * T
        assert len(found) == 2 * len(squares), (found, squares)
        for value in (*roots, *-roots):
            assert np.abs(found - value).min() < 1e-6 * (1 + abs(value)), (found, roots)


@family(sample=(0, 4))
def reactions_as_outputs(seed: int) -> None:
    """The transfer functions from a force to coordinates and reactions, of walls and of the same as constraints."""
    L, T, m = UNITS[seed % 6]
    system, M, K, C, b = on_walls(seed, (L, T, m))
    s, (k, n) = complex(0.3, 1.7), C.shape
    whole = np.block([[s**2 * M + K, -C.T], [C, np.zeros((k, k))]])
    q, reactions = np.split(np.linalg.solve(whole, np.concatenate([b, np.zeros(k)])), [n])
    walls = [face.source for face in system.unilateral]
    rows: list[Any] = [ap.Constraint(wall.function, wall.name) for wall in walls]
    for model, faces in ((system, walls), (system.replace(constraints=rows), rows)):
        outputs = [*system.coordinates, *(one.multiplier for one in faces)]
        space = ap.linearize(model, at={}, parameters={u: 0.0}, inputs=[u], outputs=outputs).state_space
        found = space.C @ np.linalg.solve(s / T * np.eye(len(space.A)) - space.A, space.B) + space.D
        expected = np.concatenate([q * L, reactions * m * L**2 / T**2])
        assert np.allclose(found[:, 0], expected, rtol=1e-7, atol=1e-9 * np.abs(reactions).max() * m * L**2 / T**2)


@family(sample=(0, 4))
def walls_without_a_load(seed: int) -> None:
    """Where a wall is touched without a load, or met along a motion, there are no linear equations: a sentence names it."""
    units = UNITS[seed % 6]
    system, *_ = on_walls(seed, units, loads=0.0)
    with pytest.raises(ap.ModelError, match=r"'wall \d' is touched without a load"):
        ap.linearize(system, at={}, parameters={u: 0.0})
    rest = ap.equilibrium(system, {}, {u: 0.0})
    assert rest.stability == "unknown" and "touched without a load" in rest.reason, rest
    pressed, *_ = on_walls(seed, (1.0, 1.0, 1.0))
    motion = ap.simulate(pressed, {}, 0.1, {u: 0.0})
    with pytest.raises(ap.FormNotApplicable, match=r"meets 'wall \d'"):
        ap.linearize(motion=motion)


@family(sample=(0, 2))
def rests_off_by_little(seed: int) -> None:
    """A spring released at a billionth of its own length is no rest, whatever that length is; rounding of one is."""
    x, y = ap.coordinates("x y")
    rng, (L, T, m) = np.random.default_rng(seed), UNITS[(seed + 2) % 6]
    L, k = (1e-3 if seed == 0 else 1.0) * L, rng.uniform(1.0, 3.0)
    potential = m / T**2 * (k * (x - L) ** 2 / 2 + y**2 / 2 + y**4 / (4 * L**2) + x * y**2 / (3 * L))
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, potential)
    expected = 1j * np.sqrt([k, 1 + 2 / 3])
    for at in ({x: L}, {x: L * (1 + 2e-16)}, {x: L, y: 1e-17 * L}):
        found = ap.linearize(system, at=at).eigenvalues * T
        assert all(np.abs(found - one).min() < 1e-9 for one in expected), (found, expected)
    share = 10 ** rng.uniform(-7, -2)
    for at in ({x: L * (1 + share)}, {x: L, y: share * L}, {}):
        with pytest.raises(ap.ModelError, match="no rest or steady motion"):
            ap.linearize(system, at=at)
