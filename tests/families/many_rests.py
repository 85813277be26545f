"""All rests of a region, and no others: beside singular potentials, upright and hanging, between walls, in any units."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import brentq, fsolve
from sympy import cos, sin, sqrt
from tests.families.family import family

import appell as ap

RATIOS = (0.01, 3.04e-6, 0.3, 1e-3, 0.0121505, 1e-4, 0.5, 0.05, 2e-5, 0.15, 9.54e-4, 5e-3)
"""Masses of the lighter of two bodies, in parts of both; the second is the Earth's and that of the Moon about the Sun."""
UNITS = ((1.0, 1.0, 1.0), (1.5e11, 5e6, 1e3), (1e-6, 1e-3, 1e-15))
"""Metre, second, kilogram."""


def _same(found: list[Any], expected: list[Any], off: float) -> None:
    found, expected = np.array(found, dtype=float), np.array(expected, dtype=float)
    assert found.shape == expected.shape, (found, expected)
    for one in expected:
        assert np.abs(found - one).max(axis=1).min() < off, (one, found)


@family(sample=(0,))
def lagrange_points(seed: int) -> None:
    """Five rests in the frame that turns with two bodies: three on their line, two at the corners of equal triangles."""
    mu, (L, T, M) = RATIOS[seed], UNITS[seed % 3]
    x, y = ap.coordinates("x y")
    heavy, light = sqrt((x + mu * L) ** 2 + y**2), sqrt((x - (1 - mu) * L) ** 2 + y**2)
    energy = M * ((x.d - y / T) ** 2 + (y.d + x / T) ** 2) / 2
    system = ap.System([x, y], energy, -M * L**3 / T**2 * ((1 - mu) / heavy + mu / light))
    side = (np.pi, 1.5, 3.0)[seed // 4] * L
    rests = ap.equilibria(system, within={x: (-side, side), y: (-side, side)})
    force = lambda at: at - (1 - mu) * (at + mu) / abs(at + mu) ** 3 - mu * (at - 1 + mu) / abs(at - 1 + mu) ** 3
    hill = (mu / 3) ** (1 / 3) / 10
    on_line = [brentq(force, *ends, xtol=1e-15) for ends in ((-mu + 1e-3, 1 - mu - hill), (1 - mu + hill, 2), (-2, -mu - 1e-3))]
    _same([[one[x] / L, one[y] / L] for one in rests],
          [*([at, 0.0] for at in on_line), [0.5 - mu, 0.75**0.5], [0.5 - mu, -(0.75**0.5)]], 1e-8)  # fmt: skip
    for one in rests:
        if abs(one[y]) > 0.1 * L:  # Routh: 27 mu (1 − mu) < 1
            grows = one.at.eigenvalues.real.max() * T
            assert bool(grows > 1e-4) is (27 * mu * (1 - mu) > 1), (mu, grows)


@family(sample=(0, 1))
def upright_and_hanging(seed: int) -> None:
    """2ⁿ rests of a chain of n pendulums; two of pendulums that are coupled by springs, one of them at the corner of all
    intervals."""
    rng, n = np.random.default_rng(seed), 2 + seed % 3
    angles = ap.coordinates(" ".join(f"a{k}" for k in range(n)))
    if seed % 2:
        stiff = rng.uniform(0.08, 0.15)
        V = -sum(map(cos, angles)) + stiff * sum((a - b) ** 2 for a, b in pairwise(angles)) * 4
        system, expected = ap.System(angles, sum(a.d**2 for a in angles) / 2, V), [[0.0] * n, [np.pi] * n]
    else:
        lengths = rng.uniform(0.5, 1.5, n)
        places = [[sum(l * f(a) for l, a in zip(lengths[: k + 1], angles, strict=False)) for f in (sin, cos)] for k in range(n)]
        bodies = [ap.Particle(1, [X, -Y, 0]) for X, Y in places]
        system = ap.System(angles, bodies=bodies, potential=-9.81 * sum(Y for _, Y in places))
        expected = [[np.pi * k for k in row] for row in np.ndindex(*[2] * n)]
    _same([[one[a] for a in angles] for one in ap.equilibria(system)], expected, 1e-7)


@family(sample=(0,))
def bowls_between_walls(seed: int) -> None:
    """A ball on wavy ground between two walls: rests in each bowl and on each crest, and at a wall that the ground descends
    to."""
    rng = np.random.default_rng(seed)
    waves, left, right = rng.uniform(2, 4), -rng.uniform(1.2, 1.9), rng.uniform(1.2, 1.9)
    x, y = ap.coordinates("x y")
    gaps = {"ground": y - cos(waves * x), "left": x - left, "right": right - x}
    walls = [ap.Unilateral(gap, name=name) for name, gap in gaps.items()]
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=walls)
    rests = ap.equilibria(system, within={x: (-2, 2), y: (-2, 2)})
    level = [k * np.pi / waves for k in range(-3, 4) if left < k * np.pi / waves < right]
    slope = lambda at: -waves * np.sin(waves * at)
    corners = [at for at, descends in ((left, slope(left) > 0), (right, slope(right) < 0)) if descends]
    _same([[one[x], one[y]] for one in rests], [[at, np.cos(waves * at)] for at in (*level, *corners)], 1e-7)


@family(sample=(0,))
def rests_beside_anchors(seed: int) -> None:
    """A loaded bob on two or three springs that may pass through their anchors, where their forces change direction at once.

    SciPy finds the same rests from a grid of starts, and from starts close to the anchors.
    """
    rng, (L, T, M) = np.random.default_rng(seed), UNITS[seed % 3]
    count = 2 + seed % 2
    anchors = np.array([[1.0, 0.0], [-1.0, 0.0], [0.2, 1.3]])[:count] + (0 if seed == 0 else rng.uniform(-0.2, 0.2, (count, 2)))
    lengths = np.array([0.459, 1.674]) if seed == 0 else rng.uniform(0.4, 1.6, count)
    x, y = ap.coordinates("x y")
    springs = [(sqrt((x - a * L) ** 2 + (y - b * L) ** 2) - c * L) ** 2 / 2 for (a, b), c in zip(anchors, lengths, strict=True)]
    system = ap.System([x, y], M * (x.d**2 + y.d**2) / 2, M / T**2 * (sum(springs) + 0.2 * L * y))
    rests = ap.equilibria(system, within={x: (-3 * L, 3 * L), y: (-3 * L, 3 * L)})

    def force(z: np.ndarray) -> np.ndarray:
        off = z - anchors
        away = np.hypot(*off.T)
        return ((1 - lengths / away)[:, None] * off).sum(axis=0) + np.array([0, 0.2])

    grid = np.stack(np.meshgrid(*[np.linspace(-2.9, 2.9, 14) + 0.013] * 2), axis=-1).reshape(-1, 2)
    turns = np.exp(2j * np.pi * np.arange(12) / 12)
    near = [a + r * np.array([u.real, u.imag]) for a in anchors for r in (0.3, 0.1, 0.03, 0.01) for u in turns]
    expected: list[np.ndarray] = []
    for start in [*grid, *near]:
        found, _, ok, _ = fsolve(force, start, xtol=1e-13, full_output=True)
        if ok == 1 and np.abs(force(found)).max() < 1e-9 and not any(np.abs(found - one).max() < 1e-5 for one in expected):
            expected.append(found)
    _same([[rest[x] / L, rest[y] / L] for rest in rests], expected, 1e-6)
