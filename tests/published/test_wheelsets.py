"""Wheelsets on rails: Klingel's wave, its large amplitudes, and profiles that have real values in a few centimetres alone.

Klingel 1883: a set of two cones (conicity γ, radius r0, contacts 2 s apart) rolls on a wave of the length 2π √(r0 s/γ).
Wickens, Fundamentals of Rail Vehicle Dynamics (2003): circular profiles have the conicity
γ0 R/(R − R') · (s + R'γ0)/(s − r0 γ0).
"""

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.special import ellipe, ellipk
from sympy import cos, sin, sqrt

import appell as ap

x, y, psi, phi = ap.coordinates("x y psi phi")
r0, s, gamma = ap.parameters("r0 s gamma", positive=True)
CONES = {r0: 0.46, s: 0.75, gamma: 0.05}


def conical_set() -> ap.System:
    """Both wheels roll: ẋ cos ψ + ẏ sin ψ ∓ s ψ̇ = (r0 ± γ y) φ̇, −ẋ sin ψ + ẏ cos ψ = 0; a wave without end in y and ψ."""
    along = x.d * cos(psi) + y.d * sin(psi)
    rows = [along - s * psi.d - (r0 + gamma * y) * phi.d, along + s * psi.d - (r0 - gamma * y) * phi.d]
    T = (1200 * (x.d**2 + y.d**2) + 700 * psi.d**2 + 90 * phi.d**2) / 2
    return ap.System([x, y, psi, phi], T, constraints=[*rows, y.d * cos(psi) - x.d * sin(psi)], name="conical wheelset")


@pytest.fixture(scope="module")
def cones() -> ap.System:
    return conical_set()


@pytest.mark.parametrize("turn", [1e-4, 1.1])
def test_the_centre_of_a_conical_wheelset_follows_an_elastica(cones: ap.System, turn: float):
    """d²ψ/dσ² = −k sin ψ over the arc σ = r0 φ with k = γ/(r0 s): a wave is 4 K/√k long and advances by 4 (2E − K)/√k, which
    is Klingel's 2π √(r0 s/γ) where it is flat."""
    k, m = 0.05 / (0.46 * 0.75), np.sin(turn / 2) ** 2
    start = {psi: turn, phi.d: 10.0, x.d: 4.6 * np.cos(turn), y.d: 4.6 * np.sin(turn)}
    turned = lambda motion: motion.crossings(y)  # every half wave
    motion = ap.simulate(cones, start, 8.0, CONES, backend="vm")
    whole = motion.at([turned(motion)[1 if turned(motion)[0] > 1e-6 else 2]])
    assert 0.46 * whole[phi][0] == pytest.approx(4 * ellipk(m) / np.sqrt(k), rel=1e-7)
    assert whole[x][0] == pytest.approx(4 * (2 * ellipe(m) - ellipk(m)) / np.sqrt(k), rel=1e-7)
    if turn < 1e-3:
        assert whole[x][0] == pytest.approx(2 * np.pi * np.sqrt(0.46 * 0.75 / 0.05), rel=1e-7)


# -- circular profiles: roots of negative numbers but for eight centimetres ------------------------------------------------

R, RAIL, CONE, HALF, RADIUS = 0.1, 0.08, 0.05, 0.75, 0.46
z, theta = ap.coordinates("z theta")
places = ap.coordinates("a1 b1 a2 b2")  # of the contacts, on rails and on wheels, across the track
MASS, INERTIA, G = 1200.0, 700.0, 9.81


def profiled_set() -> ap.System:
    """A set whose treads are arcs of R on railheads of R': points and tangents of both contacts coincide."""
    rows = []
    for side, a, b in ((1, *places[:2]), (-1, *places[2:])):
        rail = sqrt(RAIL**2 - (a - side * (HALF + RAIL * np.sin(CONE))) ** 2) - RAIL * np.cos(CONE)
        wheel = sqrt(R**2 - (b - side * (HALF + R * np.sin(CONE))) ** 2) - RADIUS - R * np.cos(CONE)
        rise, slope = rail.diff(a), wheel.diff(b)
        rows += [y + b * cos(theta) - wheel * sin(theta) - a, z + RADIUS + b * sin(theta) + wheel * cos(theta) - rail]
        rows += [rise * (cos(theta) - slope * sin(theta)) - sin(theta) - slope * cos(theta)]
    T = (MASS * (y.d**2 + z.d**2) + INERTIA * theta.d**2) / 2
    return ap.System([y, z, theta, *places], T, MASS * G * z, constraints=rows, name="profiled wheelset")


MIDDLE = {places[0]: HALF, places[1]: HALF, places[2]: -HALF, places[3]: -HALF}


def four_bar(lateral: float) -> np.ndarray:
    """(z, θ) of the same set without any root: the centres of tread and rail stay R − R' apart."""
    turned = lambda v, angle: np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ v

    def apart(unknown: np.ndarray) -> list[float]:
        out = []
        for side in (1, -1):
            tread = np.array([side * (HALF + R * np.sin(CONE)), -RADIUS - R * np.cos(CONE)])
            rail = np.array([side * (HALF + RAIL * np.sin(CONE)), -RAIL * np.cos(CONE)])
            centre = np.array([lateral, unknown[0] + RADIUS]) + turned(tread, unknown[1])
            out.append(float(np.hypot(*(centre - rail))) - (R - RAIL))
        return out

    return np.asarray(fsolve(apart, [0.0, 0.0], xtol=1e-12))


def swaying() -> float:
    """ω² = m g z''/(m + I θ'²) in the middle, by differences."""
    h = 1e-4
    up, down = four_bar(h), four_bar(-h)
    return MASS * G * (up[0] + down[0]) / h**2 / (MASS + INERTIA * ((up[1] - down[1]) / (2 * h)) ** 2)


@pytest.fixture(scope="module")
def profiles() -> ap.System:
    return profiled_set()


def test_a_set_with_circular_profiles_is_judged_where_it_is(profiles: ap.System):
    """No random state has a value; rest, small motions and a run begin at the one that is given."""
    with pytest.raises(ap.ModelError, match="sample="):
        ap.compile(profiles, backend="vm")
    rest = ap.equilibrium(profiles, MIDDLE)
    assert np.abs(rest.q[:3]).max() < 1e-9
    assert np.abs(rest.reaction(profiles.constraints[1].name)) == pytest.approx(MASS * G / 2, rel=1e-9)
    linear = ap.linearize(profiles, at=rest.start)
    assert np.sort(linear.eigenvalues.imag)[-1] == pytest.approx(np.sqrt(swaying()), rel=1e-5)
    with pytest.raises(ap.ModelError, match="sample="):
        ap.equilibrium(profiles, {})


def test_the_conicity_of_circular_profiles_is_that_of_wickens(profiles: ap.System):
    """Half the difference of the rolling radii over the displacement; z and θ against the four-bar of the centres."""
    aside = 1e-3
    state = ap.consistent(profiles, {**MIDDLE, y: aside}, hold=[y])
    assert [state[z], state[theta]] == pytest.approx(four_bar(aside), abs=1e-9)
    radius = lambda b: RADIUS + R * np.cos(CONE) - np.sqrt(R**2 - (abs(b) - HALF - R * np.sin(CONE)) ** 2)
    conicity = (radius(state[places[1]]) - radius(state[places[3]])) / (2 * aside)
    assert abs(conicity) == pytest.approx(CONE * R / (R - RAIL) * (HALF + RAIL * CONE) / (HALF - RADIUS * CONE), rel=2e-2)
