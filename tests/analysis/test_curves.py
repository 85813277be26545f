"""`ap.continue_curve`: curves of special orbits in two parameters where closed forms put them."""

import numpy as np
import pytest
from scipy.linalg import expm
from sympy import cos, sin

import appell as ap

z = ap.coordinates("z")
c, e = ap.parameters("c e", positive=True)
x, charge = ap.coordinates("x"), ap.states("charge")
a, b, k, d, F, w = ap.parameters("a b k d F w")
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


def kicked(*rows, **parts):
    """An oscillator on which something acts once a period of 2π."""
    return ap.System([x], kinetic=x.d**2 / 2, forces={x: -c * x.d + cos(ap.t)}, constraints=[*rows], **parts)


def test_neimark_sacker_points_of_a_kicked_oscillator_and_their_resonances():
    """ẋ → (1 + e) ẋ once a period: det P = (1 + e) e^{−2πc} is 1, and cos θ is half the trace of K e^{2πA}."""
    system = kicked(ap.Reset(sin(ap.t), {x.d: (1 + e) * x.d}, name="kick"), potential=k * x**2 / 2)
    T, damping = 2 * np.pi, 0.1
    orbit = ap.periodic_orbit(
        system, guess={x: 0.3}, period=T, since=np.pi / 2, parameters={k: 0.04, c: damping, e: 0.8}
    )
    (special,) = ap.continue_orbit(system, e, orbit, 0.95, period=T).special
    critical = np.exp(damping * T) - 1
    assert special.kind == "Neimark–Sacker" and special.value == pytest.approx(critical, abs=1e-10)
    curve = ap.continue_curve(special, (e, k), 0.5, period=T)
    assert curve.ok and "ends in a 1:2 resonance" in curve.message
    assert curve.values[:, 0] == pytest.approx(np.full(len(curve.values), critical), abs=1e-8)
    assert [one.kind for one in curve.crossings] == ["1:4 resonance", "1:3 resonance", "1:2 resonance"]
    for one, cosine in zip(curve.crossings, (0.0, -0.5, -1.0), strict=True):
        A = np.array([[0.0, 1.0], [-one.values[1], -damping]])
        assert np.trace(np.diag([1.0, 1 + critical]) @ expm(A * T)) / 2 == pytest.approx(cosine, abs=1e-8)
    along = ap.continue_curve(special, (e, c), 0.105, period=T)
    assert along.values[:, 0] == pytest.approx(np.exp(along.values[:, 1] * T) - 1, abs=1e-8)


def test_the_cusp_of_a_cubic_map():
    """charge → charge + a + b charge − charge³ once a period: folds on 27 a² = 4 b³, a cusp at the origin."""
    law = charge + a + b * charge - charge**3
    system = kicked(ap.Reset(sin(ap.t), {charge: law}, name="kick"), potential=x**2, rates={charge: cos(ap.t) / 2})
    T = 2 * np.pi
    at, near = 0.15, 0.17  # the fold, and where the branch begins
    values = {b: 3 * at**2, a: near**3 - 3 * at**2 * near, c: 0.5}
    orbit = ap.periodic_orbit(system, guess={charge: near + 0.5, x: 1.0}, period=T, since=np.pi / 2, parameters=values)
    branch = ap.continue_orbit(system, a, orbit, -0.01, period=T, back=0.01)
    special = next(one for one in branch.special if one.kind == "fold")
    assert abs(special.value) == pytest.approx(2 * at**3, abs=1e-9)
    curve = ap.continue_curve(special, (a, b), -0.02, period=T, most=20)
    assert 27 * curve.values[:, 0] ** 2 == pytest.approx(4 * curve.values[:, 1] ** 3, abs=1e-9)
    (cusp,) = [one for one in curve.crossings if one.kind == "cusp"]
    assert cusp.values == pytest.approx([0, 0], abs=1e-6)


def test_grazing_orbits_of_a_linear_oscillator_beside_a_stop():
    """The amplitude F/|k − ω² + i c ω| is the distance of the stop, over the frequency and over the distance."""
    stop = ap.Unilateral(d - x, "stop", restitution=e)
    system = ap.System([x], kinetic=x.d**2 / 2, potential=x**2, forces={x: -c * x.d + F * cos(w * ap.t)}, constraints=[stop])
    values = {c: 0.2, F: 1.0, w: 1.0, d: 1.2, e: 0.8}
    orbit = ap.periodic_orbit(system, guess={x: 1.0}, period=2 * np.pi, parameters=values)
    special = next(one for one in ap.continue_orbit(system, F, orbit, 1.5).special if one.kind == "grazing")
    stiff = lambda w: np.hypot(2 - w**2, 0.2 * w)
    assert special.value == pytest.approx(1.2 * stiff(1.0), rel=1e-9)
    over = ap.continue_curve(special, (F, w), 1.3)
    assert over.ok and over.values[:, 0] == pytest.approx(1.2 * stiff(over.values[:, 1]), rel=1e-8)
    beside = ap.continue_curve(special, (F, d), 0.9)
    assert beside.values[:, 0] == pytest.approx(beside.values[:, 1] * stiff(1.0), rel=1e-8)
    assert len(beside.plot(over.plot().axes[0]).axes[0].lines) >= 2


def test_what_cannot_be_followed_is_refused(ball):
    _, orbit = ball
    with pytest.raises(ap.ModelError, match="begins at a special orbit"):
        ap.continue_curve(orbit, (c, e), 0.5)
