"""Plans in which states of first order stay at zero because the terms of their rates cancel (Zermelo's boat that heads up a
current to go straight across): times are those of the closed form, in any units, and the first meshes do."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin
from tests.families.family import family

import appell as ap

SIZES = ((1.0, 1.0), (1e-9, 1e-6), (1e6, 1e3))
"""A metre and a second in units of the models."""


@family(count=24, sample=(0, 7))
def boats_in_a_current(seed: int) -> None:
    """ẋ = w cos θ + a, ẏ = w sin θ + b from (0, 0) to (d, 0): the shortest time has |(d − a T, b T)| = w T, and y = 0."""
    rng, (L, T) = np.random.default_rng(seed), SIZES[seed % 3]
    a, b, d = rng.uniform([-0.5, -0.5, 1.0], [0.5, 0.5, 2.0])
    ahead = a + np.sqrt(1 - b**2)  # the speed that is left along x
    z, x, y = ap.coordinates("z"), *ap.states("x y")
    theta, w = ap.parameters("theta w")
    rates = {x: w * cos(theta) + a * L / T, y: w * sin(theta) + b * L / T}
    boat = ap.System([z], z.d**2 / 2, z**2 / T**2 / 2, rates=rates, name="boat")
    guess = {"t": [0, T], x: [0, d * L], y: [0, 1e-17 * L], theta: [0, 0]} if seed % 2 else None
    plan = ap.optimize(
        boat, "time", [theta], {z: L}, (0.2 * T, 20 * T), {w: L / T}, end={x: d * L, y: 0}, bounds={theta: (-1.5, 1.5)},
        guess=guess, backend="vm",
    )  # fmt: skip
    assert plan.ok, plan.message
    assert plan.objective == pytest.approx(d / ahead * T, rel=1e-9)
    assert np.abs(plan.motion[y]).max() < 1e-6 * L
    assert len(plan.meshes) <= 4
