"""Driven systems whose periodic orbit is a rest: found from any guess near it, with its multipliers, and left where it doubles.

The multipliers are those of the variational equations of the rest, integrated by SciPy; doubled orbits are closed by SciPy.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from sympy import cos, sin
from tests.families.family import family

import appell as ap

a, b, phi = ap.coordinates("a b phi")
L, off, K, q, c, w = ap.parameters("L off K q c w", positive=True)


@cache
def pair() -> ap.System:
    """Two pendulums on a spring whose stiffness is shaken; a hangs at a = off L."""
    A, B = a / L - off, b / L
    spring = L * K * (A - B) * (1 + q * cos(w * ap.t))
    forces = {a: -L * sin(A) - spring - c * a.d, b: -2 * L * sin(B) + spring - c * b.d}
    return ap.System([a, b], (a.d**2 + b.d**2) / 2, forces=forces, name="pair")


@cache
def swing() -> ap.System:
    return ap.System([phi], phi.d**2 / 2, forces={phi: -(1 + q * cos(w * ap.t)) * sin(phi - off) - c * phi.d}, name="swing")


@family(sample=(0, 3))
def rests_from_any_guess(seed: int) -> None:
    """Newton's method goes to the rest although its gaps shrink no faster than its orbits."""
    rng = np.random.default_rng(seed)
    size, away = 10.0 ** rng.integers(-6, 7) if seed else 1.0, [0.0, 1.3][seed % 2]
    k, omega, guess = rng.uniform(0.1, 0.4), rng.uniform(2, 4), rng.uniform(-0.4, 0.4, 4)
    values = {L: size, off: away + 1e-300, K: k, q: 0.3, c: 0.2, w: omega}
    start = dict(zip((a, b, a.d, b.d), size * (guess + np.array([away, 0, 0, 0])), strict=True))

    def rates(t: float, y: Any) -> Any:
        Y, spring = y.reshape(4, 4), k * (1 + 0.3 * np.cos(omega * t))
        stiffness = np.array([[1 + spring, -spring], [-spring, 2 + spring]])
        return np.vstack([Y[2:], -stiffness @ Y[:2] - 0.2 * Y[2:]]).ravel()

    T = 2 * np.pi / omega
    orbit = ap.periodic_orbit(pair(), guess=start, period=T, parameters=values)
    assert orbit.ok and orbit.message == "closed", orbit.message
    ranges = np.array([orbit.range(a), orbit.range(b)]) / size - [[away], [0.0]]
    assert np.abs(ranges).max() < 1e-9, ranges
    end = solve_ivp(rates, (0, T), np.eye(4).ravel(), rtol=1e-12, atol=1e-13).y[:, -1].reshape(4, 4)
    wanted = np.sort(np.abs(np.linalg.eigvals(end)))
    assert np.allclose(np.sort(np.abs(orbit.multipliers)), wanted, rtol=1e-8), (orbit.multipliers, wanted)


@family(sample=(0, 2))
def swings_that_leave_their_rest(seed: int) -> None:
    """A pendulum on a shaken support begins to swing at half the frequency: from a rest that was found from beside it."""
    rng = np.random.default_rng(seed)
    away, beside, omega, drag = (1.0, 0.3, 2.0, 0.1) if not seed else rng.uniform([0.2, 0.05, 1.9, 0.05], [3, 0.6, 2.1, 0.15])
    values = {off: away, q: 0.02, c: drag, w: omega}
    rest = ap.periodic_orbit(swing(), guess={phi: away + beside}, period=2 * np.pi / omega, parameters=values)
    assert rest.ok and rest.message == "closed", rest.message
    branch = ap.continue_orbit(swing(), q, rest, 1.0)
    assert branch.ok and branch.special[0].kind == "period doubling", str(branch)
    new = branch.switch(0)
    at = {str(p): float(value) for p, value in new.parameters.items()}
    rates = lambda t, z: (z[1], -(1 + at["q"] * np.cos(omega * t)) * np.sin(z[0] - away) - drag * z[1])
    z0 = np.array([new.start[phi], new.start[phi.d]])
    span = np.array([0.0, new.period / 2, new.period]) + float(new.motion.t[0])
    z = solve_ivp(rates, (span[0], span[2]), z0, t_eval=span, rtol=1e-12, atol=1e-13).y
    assert np.abs(z[:, 2] - z0).max() < 1e-7 and np.abs(z[:, 1] - z0).max() > 1e-3, z
