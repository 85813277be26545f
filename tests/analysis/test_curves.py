"""`ap.continue_curve`: curves of special orbits in two parameters where closed forms put them."""

import numpy as np
import pytest
from sympy import sin

import appell as ap

z = ap.coordinates("z")
c, e = ap.parameters("c e", positive=True)
G, PERIOD, E = 9.81, 0.1, 0.7
OMEGA = 2 * np.pi / PERIOD


def speed(e):
    return G * PERIOD * (1 - e) / (2 * (1 + e))


def folds(e):
    """One bounce a period on a table c sin ωt: c ω = V, see test_continuation."""
    return speed(e) / OMEGA


def doublings(e):
    return np.hypot(speed(e), 2 * G * (1 + e**2) / ((1 + e) ** 2 * OMEGA)) / OMEGA


@pytest.fixture(scope="module")
def ball():
    table = ap.Unilateral(z - c * sin(OMEGA * ap.t), "table", restitution=e)
    system = ap.System([z], z.d**2 / 2, G * z, {}, [table], name="ball on a table")
    value = (folds(E) + doublings(E)) / 2
    phi = np.arccos(speed(E) / (value * OMEGA))
    guess, since = {z: value * np.sin(phi) + G * PERIOD**2 / 8}, phi / OMEGA + PERIOD / 2
    return system, ap.periodic_orbit(system, guess=guess, period=PERIOD, since=since, parameters={c: value, e: E})


def test_period_doublings_of_the_bouncing_ball_over_its_restitution(ball):
    """c ω² = √(V²ω² + (2g(1 + e²)/(1 + e)²)²)."""
    system, orbit = ball
    branch = ap.continue_orbit(system, c, orbit, 1.1 * doublings(E), period=PERIOD)
    curve = ap.continue_curve(branch.special[0], (c, e), 0.66, period=PERIOD)
    assert curve.ok and curve.values[-1, 1] == pytest.approx(0.66, abs=1e-9)
    assert curve.values[:, 0] == pytest.approx(doublings(curve.values[:, 1]), rel=1e-8)
    assert {"c", "e", "residual"} <= set(curve.dataset) and curve.residuals.max() < 1e-7


def test_folds_of_the_bouncing_ball_over_its_restitution(ball):
    system, orbit = ball
    branch = ap.continue_orbit(system, c, orbit, 0.9 * folds(E), period=PERIOD, back=1.05 * orbit.parameters[c], step=0.05)
    curve = ap.continue_curve(branch.special[0], ("c", "e"), 0.45, period=PERIOD)
    assert curve.ok and curve.kind == "fold"
    assert curve.values[:, 0] == pytest.approx(folds(curve.values[:, 1]), rel=1e-8)
    figure = curve.plot()
    assert curve.plot(figure.axes[0]) is figure


def test_what_cannot_be_followed_is_refused(ball):
    _, orbit = ball
    with pytest.raises(ap.ModelError, match="begins at a special orbit"):
        ap.continue_curve(orbit, (c, e), 0.5)
