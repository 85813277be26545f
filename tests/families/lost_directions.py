"""Kinetic energies that do not say enough: in velocities that the coordinates do not tell apart, or not of degree two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import Abs, Max, Min, Rational, cos, sin, sqrt
from tests.families.family import family

import appell as ap

x, y, z, psi = ap.coordinates("x y z psi")
g: Any = ap.coordinates("g1 g2 g3")
u, w, om = ap.speeds("u w omega")
p: Any = ap.speeds("p q r")
A, B, C, m = ap.parameters("A B C m", positive=True)
VALUES = {A: 1.0, B: 2.0, C: 3.0, m: 1.5}


@family(sample=(0, 1))
def velocities_without_their_coordinates(seed: int) -> None:
    """Velocities that turn into each other, u̇ = ωw: q̇ = N u of less rank than velocities does not tell how. Member 0 had
    Euler's equations with γ̇ = γ × ω in them, and accelerations that were none; member 1 a plane body without its y."""
    rng = np.random.default_rng(seed)
    a, b = (Rational(int(k), 4) for k in rng.integers(1, 9, 2))
    along, across = u * cos(psi) - w * sin(psi), u * sin(psi) + w * cos(psi)
    plane = m * (u**2 + w**2 + 2 * a * w * om) / 2 + (A + m * a**2) * om**2 / 2
    euler = (A * p[0] ** 2 + B * p[1] ** 2 + C * p[2] ** 2) / 2
    poisson = {s: p[k - 1] * g[k - 2] - p[k - 2] * g[k - 1] for k, s in enumerate(g)}  # γ × ω
    cases: list[tuple[Any, Any, dict[Any, Any]]] = [
        (euler, p, poisson), (plane, [u, w, om], {x: along, psi: om}), (plane, [u, w, om], {y: across, psi: om}),
        (plane, [u, w, om], {psi: om, x: along + b * om}),
        (m * (u**2 + w**2) / 2, [u, w], {x: u * cos(b * ap.t) + w * sin(b * ap.t)}),
        (m * (u**2 + w**2) / 2, [u, w], {x: u * sin(x) + a * w, y: b * u * sin(x) + a * b * w}),
        (plane, [u, w, om], {z: a * along + b * across, psi: om}),
    ]  # fmt: skip
    T, speeds, kinematics = cases[seed % len(cases)]
    with pytest.raises(ap.ModelError, match="fewer directions than there are velocities"):
        ap.System(list(kinematics), T, speeds=speeds, kinematics=kinematics)

    q, v = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)
    whole = ap.System([x, y, psi], plane, speeds=[u, w, om], kinematics={x: along, y: across, psi: om})
    value = float(a)  # of a body with its centre of mass at a along x: u̇ = ωw + aω², ẇ = −ωu − aω̇ by hand
    M = np.array([[1.5, 0, 0], [0, 1.5, 1.5 * value], [0, 1.5 * value, 1 + 1.5 * value**2]])
    h = 1.5 * v[2] * np.array([-v[1] - value * v[2], v[0], value * v[0]])
    found = ap.compile(whole, {s: VALUES[s] for s in (A, m)}).acceleration(0.0, q, v)[0]
    assert np.allclose(found, -np.linalg.solve(M, h), rtol=1e-12, atol=1e-12)
    angle = ap.System([x], m * u**2 / 2 + B * w**2 / 2, -m * x, speeds=[u, w], kinematics={x: u + a * w})  # rolls and slides
    found = ap.compile(angle, {s: VALUES[s] for s in (B, m)}).acceleration(0.0, [0.3], v[:2])[0]
    assert np.allclose(found, [1.0, 0.75 * float(a)], rtol=1e-12)


@family(sample=(0, 1))
def energies_with_kinks(seed: int) -> None:
    """T = m ẋ|ẋ|/2 is of degree two along each ray and no quadratic form; kinks like |ẋ| have no second derivative."""
    rng = np.random.default_rng(seed)
    c = Rational(int(rng.integers(1, 9)), 4)
    T = m * (x.d**2 + y.d**2) / 2
    cases = [
        m * x.d * Abs(x.d) / 2 + y.d**2, T + c * Abs(x.d), T + c * Abs(x.d - c), T + c * x * Abs(x.d + y.d),
        T + Max(x.d, y.d), T + 10**9 * x**2 + c * Abs(y.d), T + Min(x.d, c), T + c * sqrt((x.d - y.d) ** 2),
    ]  # fmt: skip
    with pytest.raises(ap.ModelError, match="degree at most 2"):
        ap.System([x, y], cases[seed % len(cases)])
    smooth = T + c * Abs(x) * x.d**2 + Abs(y.d) ** 2 + Max(x, y) * x.d + sqrt(x.d**4)
    assert ap.System([x, y], smooth).nv == 2
