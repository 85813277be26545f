"""Stick and slip in the laboratory: derivatives, orbits and exponents through their transitions; what has none is named."""

import numpy as np
import pytest

import appell as ap

x, y, w = ap.coordinates("x y w")
m, k, g, v, mu, mu_s, F = ap.parameters("m k g v mu mu_s F", positive=True)


@pytest.fixture(scope="module")
def belt():
    example = ap.zoo.block_on_belt()
    a = example.system.coordinates[0]
    return example, ap.periodic_orbit(example.system, guess={a: 0.1}, period_guess=3.0, parameters=example.parameters)


def test_den_hartogs_cycle_of_stick_and_slip(belt):
    """T = 2 (μ_s − μ) m g/(k v) + (2/ω)(π − arctan((μ_s − μ) g/(ω v))), J. P. Den Hartog (1934); every neighbour sticks at the
    same place sooner or later: multipliers 1 and 0."""
    example, orbit = belt
    p = {str(s): value for s, value in example.parameters.items()}
    omega, drop = np.sqrt(p["k"] / p["m"]), (p["mu_s"] - p["mu"]) * p["g"]
    period = 2 * drop * p["m"] / (p["k"] * p["v"]) + 2 / omega * (np.pi - np.arctan(drop / (omega * p["v"])))
    assert orbit.ok and orbit.stable and orbit.period == pytest.approx(period, abs=1e-11)
    assert orbit.multipliers == pytest.approx([1, 0], abs=1e-12)


def test_the_cycle_is_followed_over_the_speed_of_the_belt(belt):
    """The periods of the closed form."""
    example, orbit = belt
    branch = ap.continue_orbit(example.system, "v", orbit, 0.25, step=0.2)
    p = {str(s): value for s, value in example.parameters.items()}
    omega, drop = np.sqrt(p["k"] / p["m"]), (p["mu_s"] - p["mu"]) * p["g"]
    period = lambda u: 2 * drop * p["m"] / (p["k"] * u) + 2 / omega * (np.pi - np.arctan(drop / (omega * u)))
    assert branch.ok and branch.values[-1] == pytest.approx(0.25)
    assert [one.period for one in branch.orbits] == pytest.approx([period(u) for u in branch.values], abs=1e-10)


def test_a_direction_that_sticks_is_lost_for_ever(belt):
    example, orbit = belt
    start, T = {example.system.coordinates[0]: 0.1}, orbit.period
    found = ap.lyapunov(example.system, start, 10 * T, example.parameters, every=T)
    assert found.exponents[0] == pytest.approx(0, abs=0.1) and np.isneginf(found.exponents[1])


def test_a_section_through_stick_and_slip(belt):
    example, orbit = belt
    a = example.system.coordinates[0]
    found = ap.poincare(example.system, a - 0.2, {a: 0.1}, parameters=example.parameters, count=3)
    assert np.diff(found.t) == pytest.approx([orbit.period] * 2, abs=1e-8)


def test_what_has_no_derivative_is_named():
    pair = [ap.Friction(q.d, limit=F, name=name) for q, name in ((x, "left"), (w, "right"))]
    twins = ap.System([x, w], kinetic=(x.d**2 + w.d**2) / 2, constraints=pair)
    found = ap.variations(twins, {x.d: 1, w.d: 1}, 2.0, {F: 1.0}, backend="vm")
    assert not found.ok and "at one instant" in found.message and "'left'" in found.message and "'right'" in found.message

    both = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[ap.Friction([x.d, y.d], limit=F, name="puck")])
    found = ap.variations(both, {x.d: 1, y.d: 0.5}, 3.0, {F: 1.0}, backend="vm")
    assert not found.ok and "'puck' is a slip of several parts" in found.message

    floor = ap.Unilateral(y, "floor", restitution=0.5)
    rough = ap.Friction(x.d, normal=floor, coefficient=mu, name="rub")
    ball = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=g * y, constraints=[floor, rough])
    found = ap.variations(ball, {y: 1, x.d: 1}, 1.0, {g: 9.81, mu: 0.1}, backend="vm")
    assert not found.ok and "a blow on 'floor' beside friction" in found.message
