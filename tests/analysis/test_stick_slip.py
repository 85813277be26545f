"""Stick and slip in the laboratory: derivatives, orbits and exponents through their transitions; what has none is named."""

import numpy as np
import pytest
from sympy import cos, sin

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


def test_the_residual_of_a_rest_is_relative_to_the_forces_there():
    """A pendulum on a block that sticks hangs at an angle that is rounding, as is the friction: so is what is left of them."""
    floor = ap.Unilateral(y, name="floor", restitution=0.3)
    rub = ap.Friction(x.d, normal=floor, coefficient=0.5, name="rub")
    speeds = ap.total_derivative(x + sin(w)), ap.total_derivative(y - cos(w))
    kinetic = x.d**2 + y.d**2 + (speeds[0] ** 2 + speeds[1] ** 2) / 2
    carried = ap.System([x, y, w], kinetic, 9.81 * (3 * y - cos(w)), constraints=[floor, rub])
    rest = ap.equilibrium(carried, {w: 0.05})
    assert abs(rest[w]) < 1e-12 and rest.residual < 1e-12 and rest.faces == pytest.approx([29.43])


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


def test_small_motions_are_those_of_the_mode_of_their_state():
    """On a belt with μ(s) = 0.4/(1 + s), at x = 0.5: ẍ + 4 x = 10 μ'(1) ẋ, and sticking is no motion at all."""
    wire = ap.Constraint(y, "wire")
    rub = ap.Friction(x.d - v, normal=wire, coefficient=lambda s: 0.4 / (1 + s), name="rub")
    block = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=2 * x**2 + 10 * y, constraints=[wire, rub])
    slides = ap.linearize(block, at=ap.equilibrium(block, {x: 0.7}, {v: 1.0}))
    assert slides.eigenvalues == pytest.approx([0.5 + 1j * np.sqrt(3.75), 0.5 - 1j * np.sqrt(3.75)])
    held = ap.System([x], kinetic=x.d**2 / 2, potential=2 * x**2, constraints=[ap.Friction(x.d, limit=F, name="rub")])
    assert ap.linearize(held, at={x: 0.1}, parameters={F: 1.0}).eigenvalues == pytest.approx([0])
    with pytest.raises(ap.ModelError, match="bears 1 of at most 1, and neighbours slide"):
        ap.linearize(held, at={x: 0.25}, parameters={F: 1.0})
    with pytest.raises(ap.FormNotApplicable, match=r"ap\.variations"):
        ap.linearize(motion=ap.simulate(held, {x: 1.0}, 0.1, {F: 1.0}, backend="vm"))


def test_rests_of_one_region_are_one_attractor():
    """Friction holds every place with |V'| <= F: with two wells, x³ − x = ±F, these are two regions."""
    law = ap.Friction(x.d, limit=F, name="rub")
    wells = ap.System([x], kinetic=x.d**2 / 2, potential=x**4 / 4 - x**2 / 2, constraints=[law])
    found = ap.basin(wells, {x: [-1.4, -1.02, 1.01, 1.1], x.d: [0.0]}, parameters={F: 0.2}, backend="vm")
    assert found.ok and [one.kind for one in found.attractors] == ["rest", "rest"]
    assert found.labels[:2, 0].tolist() != found.labels[2:, 0].tolist() and len(set(found.labels[2:, 0])) == 1


def test_a_diagram_with_friction_strobes_its_motions():
    """Forced below its limit a body stays where it is; above it, it comes to one orbit."""
    rub = ap.Friction(x.d, limit=F, name="rub")
    forced = ap.System([x], kinetic=x.d**2 / 2, potential=x**2 / 2, forces={x: cos(ap.t / 2)}, constraints=[rub])
    found = ap.bifurcation_diagram(forced, {F: [0.8, 1.5]}, {x: 0.3}, skip=8, keep=2)
    assert found.ok and found.periods.tolist() == [1, 1] and found[x][1] == pytest.approx(0.3)
    assert abs(found[x.d][0]).max() > 0.01 and not found[x.d][1].any()


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
