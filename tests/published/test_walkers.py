"""Walkers: published fixed points and multipliers, and the closed form of the rimless wheel."""

import numpy as np
import pytest

import appell as ap
from appell import zoo


@pytest.fixture(scope="module")
def steps():
    example = zoo.simplest_walker()
    return example, ap.periodic_orbit(example.system, guess=example.start, parameters=example.parameters)


def test_the_simplest_walker_takes_long_steps(steps):
    """γ = 0.009: θ⁺ = 0.200310900544287, θ̇⁺ = −0.199832473004977 (Bhounsule, Dyn. Contin. Discrete Impuls. Syst. B 21 (2014)
    137), stable (Garcia et al. 1998); a multiplier of 1, and one of 0, since heelstrike forgets the swing leg."""
    example, orbit = steps
    theta = example.system.coordinates[0]
    after = orbit.motion.resets[0].after
    assert orbit.ok and orbit.stable
    assert after[theta] == pytest.approx(0.200310900544287, abs=1e-9)
    assert after[theta.d] == pytest.approx(-0.199832473004977, abs=1e-9)
    assert np.abs(orbit.multipliers) == pytest.approx([1, 0.589113, 0.589113, 0], abs=2e-6)


def test_the_short_steps_of_the_simplest_walker_are_not_stable(steps):
    """θ⁺ = 0.193937369810184, θ̇⁺ = −0.203866927442010, multipliers 4.0 and 0.46."""
    example, _ = steps
    theta, phi = example.system.coordinates
    angle, speed = 0.1939, -0.2039
    guess = {theta: angle, phi: 2 * angle, theta.d: speed, phi.d: speed * (1 - np.cos(2 * angle))}
    orbit = ap.periodic_orbit(example.system, guess=guess, parameters=example.parameters)
    after = orbit.motion.resets[0].after
    assert after[theta] == pytest.approx(0.193937369810184, abs=1e-9)
    assert after[theta.d] == pytest.approx(-0.203866927442010, abs=1e-9)
    assert np.abs(orbit.multipliers) == pytest.approx([4.00386, 1, 0.45959, 0], abs=1e-5)


def test_long_steps_double_their_period_near_the_published_slope(steps):
    """«stable when 0 < γ < 0.015» (Garcia et al. 1998), 0.0151 to more digits."""
    example, orbit = steps
    branch = ap.continue_orbit(example.system, "gamma", orbit, 0.017)
    (doubling,) = branch.special
    assert branch.ok and doubling.kind == "period doubling" and doubling.residual < 1e-9
    assert doubling.value == pytest.approx(0.0151, abs=5e-5)


def test_the_compass_gait_on_three_degrees():
    """σ = 0.2187, ν = −0.3234, σ̇ = −1.0918, ν̇ = −0.3772 (Goswami et al. 1998), stable."""
    example = zoo.compass_gait()
    orbit = ap.periodic_orbit(example.system, guess=example.start, parameters=example.parameters)
    assert orbit.ok and orbit.stable
    assert list(orbit.motion.resets[0].after.values()) == pytest.approx([0.2187, -0.3234, -1.0918, -0.3772], abs=6e-5)


@pytest.mark.parametrize(("spokes", "near"), [(6, 1.5), (8, 1.5), (12, 2.2)])
def test_the_rimless_wheel_has_the_orbit_of_its_closed_form(spokes, near):
    """θ̇⁺² = η² 4 m g l sin α sin γ/((1 − η²)(J + m l²)), multiplier η² (McGeer 1990; Coleman 2009)."""
    example = zoo.rimless_wheel(spokes)
    gamma = example.system.parameters[[str(s) for s in example.system.parameters].index("gamma")]
    values = {**example.parameters, gamma: 0.2}
    orbit = ap.periodic_orbit(example.system, guess={"theta": 0.0, "theta.d": near}, parameters=values)
    a = np.pi / spokes
    eta = (0.5 + np.cos(2 * a)) / 1.5
    (rate,) = example.system.velocities
    speed = np.sqrt(eta**2 * 4 * 9.81 * np.sin(a) * np.sin(0.2) / 1.5 / (1 - eta**2))
    assert orbit.motion.resets[0].after[rate] == pytest.approx(speed, rel=1e-10)
    assert orbit.multipliers == pytest.approx([1, eta**2], abs=1e-9)
