"""Bifurcations of sliding on branches, where closed forms put them.

    m ẍ + k x + F sgn ẋ = P cos ωt            J. P. Den Hartog, Trans. ASME 53 (1931), APM-53-9

In units of m, k and P, and with V = 1/(1 − ω²), U = sin(π/ω)/(ω (1 + cos(π/ω))), the motion without stops turns at
x₀ = √(V² − U² F²), at a phase with cos φ = x₀/V. It stops there as soon as cos φ − x₀ > −F, that is above F = |V|/√(ω⁻⁴ + U²).
"""

from __future__ import annotations

import numpy as np
from sympy import cos
from tests.families.family import family

import appell as ap

x = ap.coordinates("x")
m, k, P, F, omega = ap.parameters("m k P F omega", positive=True)
RATIOS = (0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 1.1, 1.2, 1.3, 1.4, 0.65)


def stopping(ratio: float) -> float:
    V, beta = 1 / (1 - ratio**2), np.pi / ratio
    U = np.sin(beta) / (ratio * (1 + np.cos(beta)))
    return abs(V) / np.hypot(1 / ratio**2, U)


@family(sample=(0,))
def sticking_is_lost_where_den_hartog_puts_it(seed: int) -> None:
    """The branch over F from stops to none: one point, to 1e-6 of its value."""
    rng = np.random.default_rng(seed)
    ratio, mass, stiffness, push = RATIOS[seed], *((1, 1, 1) if seed == 0 else rng.uniform(0.3, 4, 3))
    system = ap.System(
        [x], kinetic=m * x.d**2 / 2, potential=k * x**2 / 2, forces={x: P * cos(omega * ap.t)},
        constraints=[ap.Friction(x.d, limit=F, name="rub")],
    )  # fmt: skip
    w, critical = ratio * np.sqrt(stiffness / mass), push * stopping(ratio)
    values = {m: mass, k: stiffness, P: push, omega: w, F: 1.06 * critical}
    T = 2 * np.pi / w
    settled = ap.simulate(system, {x: critical / stiffness}, 30 * T, values).final
    first = ap.periodic_orbit(system, guess=settled, period=T, parameters=values)
    assert first.ok and "stick" in {phase.state for phase in first.motion.phases}
    branch = ap.continue_orbit(system, F, first, 0.94 * critical, step=0.1)
    assert branch.ok, branch.message
    (point,) = [one for one in branch.special if one.kind == "loss of sticking"]
    assert point.refined and abs(point.value / critical - 1) < 1e-6
