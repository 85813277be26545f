"""`ap.continue_orbit`: folds, period doublings and grazing where closed forms put them; curves of the literature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, sin

import appell as ap

x, z = ap.coordinates("x z")
F, omega, h, mu, c = ap.parameters("F omega h mu c", positive=True)

G, E, PERIOD = 9.81, 0.7, 0.1
OMEGA = 2 * np.pi / PERIOD
V = G * PERIOD * (1 - E) / (2 * (1 + E))
FOLD = V / OMEGA
DOUBLING = np.hypot(V, 2 * G * (1 + E**2) / ((1 + E) ** 2 * OMEGA)) / OMEGA


@pytest.fixture(scope="module")
def ball():
    """One bounce a period on a table c sin ωt: V = c ω cos φ = g T (1 − e)/(2(1 + e)); the trace of the map is
    1 + e² − (1 + e)² c ω² sin φ/g, its determinant e²: it folds at sin φ = 0, doubles at c ω² sin φ = 2g(1 + e²)/(1 + e)²."""
    table = ap.Unilateral(z - c * sin(OMEGA * ap.t), "table", restitution=E)
    system = ap.System([z], z.d**2 / 2, G * z, {}, [table], name="ball on a table")
    value = (FOLD + DOUBLING) / 2
    phi = np.arccos(V / (value * OMEGA))
    guess = {z: value * np.sin(phi) + G * PERIOD**2 / 8}
    since = phi / OMEGA + PERIOD / 2
    return system, ap.periodic_orbit(system, guess=guess, period=PERIOD, since=since, parameters={c: value})


def test_period_doubling_and_the_new_branch(ball):
    system, orbit = ball
    branch = ap.continue_orbit(system, c, orbit, 1.2 * DOUBLING)
    assert branch.ok and [s.kind for s in branch.special] == ["period doubling"]
    assert branch.special[0].value == pytest.approx(DOUBLING, rel=1e-8)
    assert (branch.stable == (branch.values < DOUBLING)).all()
    doubled = branch.switch(0)
    assert doubled.ok and doubled.stable and doubled.period == pytest.approx(2 * PERIOD)
    with pytest.raises(ap.ModelError, match="special orbits"):
        branch.switch(3)


def test_a_period_doubling_over_the_frequency_of_the_forcing():
    """The table of `ball` at another frequency: c ω² = √((πg(1 − e)/(1 + e))² + (2g(1 + e²)/(1 + e)²)²); T moves with ω."""
    c, w, size = *ap.parameters("c w", positive=True), 0.0021
    table = ap.Unilateral(z - c * sin(w * ap.t), "table", restitution=E)
    system, start = ap.System([z], z.d**2 / 2, G * z, {}, [table]), 2 * np.pi / PERIOD
    phi = np.arccos(G * PERIOD * (1 - E) / (2 * (1 + E)) / (size * start))
    guess, since = {z: size * np.sin(phi) + G * PERIOD**2 / 8}, phi / start + PERIOD / 2
    first = ap.periodic_orbit(system, guess=guess, period=PERIOD, since=since, parameters={c: size, w: start})
    branch = ap.continue_orbit(system, w, first, 80.0)
    (point,) = branch.special
    closed = np.sqrt(np.hypot(np.pi * G * (1 - E) / (1 + E), 2 * G * (1 + E**2) / (1 + E) ** 2) / size)
    assert point.kind == "period doubling" and point.value == pytest.approx(closed, rel=1e-9)
    twice = branch.switch(0)
    assert twice.ok and twice.period == pytest.approx(4 * np.pi / twice.parameters[w])


def test_a_symmetric_orbit_and_those_that_break_the_symmetry():
    """A driven pendulum swings evenly to both sides up to F ≈ 0.992, and behind that to one side more than to the other."""
    x, (F, w, c) = ap.coordinates("x"), ap.parameters("F w c", positive=True)
    pendulum = ap.System([x], x.d**2 / 2, -cos(x), {x: F * cos(w * ap.t) - c * x.d}, name="pendulum")
    even = ap.periodic_orbit(pendulum, guess={x: 2.0}, period=2 * np.pi / 0.66, parameters={F: 0.96, w: 0.66, c: 0.5})
    branch = ap.continue_orbit(pendulum, F, even, 1.02)
    (point,) = branch.special
    assert point.kind == "branch point" and point.refined and not branch.stable[-1]
    odd = branch.switch(0)
    low, high = odd.range(x)
    assert odd.ok and odd.stable and odd.parameters[F] > point.value and abs(low + high) > 0.01
    assert abs(sum(even.range(x))) < 1e-8


def test_fold(ball):
    """The branch turns round at the fold and comes back unstable."""
    system, orbit = ball
    branch = ap.continue_orbit(system, "c", orbit, 0.9 * FOLD, back=1.05 * (FOLD + DOUBLING) / 2, step=0.05)
    assert branch.ok and "came back" in branch.message
    assert [s.kind for s in branch.special] == ["fold"]
    assert branch.special[0].value == pytest.approx(FOLD, rel=1e-9)
    assert branch.stable[0] and not branch.stable[-1]
    with pytest.raises(ap.ModelError, match="period doubling"):
        branch.switch(0)
    assert {"c", "period", "stable", "z_max"} <= set(branch.dataset)
    branch.plot()


def test_grazing():
    """A linear oscillator reaches the wall where its amplitude is its distance: F = √((1 − ω²)² + h²ω²)."""
    wall = ap.Unilateral(1 - x, "wall", restitution=0.8)
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: F * cos(omega * ap.t) - h * x.d}, [wall])
    w, damping = 0.7, 0.1
    critical = np.hypot(1 - w**2, damping * w)
    phase = np.arctan2(damping * w, 1 - w**2)
    start = {x: 0.8 * np.cos(phase), x.d: 0.8 * w * np.sin(phase)}
    values = {F: 0.8 * critical, omega: w, h: damping}
    orbit = ap.periodic_orbit(system, guess=start, period=2 * np.pi / w, parameters=values)
    branch = ap.continue_orbit(system, F, orbit, 1.5 * critical, step=0.1)
    assert not branch.ok and "the orbit begins to graze 'wall'" in branch.message and len(branch.orbits) > 2
    assert [s.kind for s in branch.special] == ["grazing"]
    assert branch.special[0].value == pytest.approx(critical, rel=1e-9)
    assert branch.special[0].refined and branch.special[0].residual < 1e-9


def test_duffing():
    """ẍ + 0.1 ẋ + x + x³ = 0.5 cos ωt: the resonance leans over; its top is near ω⁴ − ω² = (3/4)(F/h)² (harmonic balance)."""
    system = ap.System([x], x.d**2 / 2, x**2 / 2 + x**4 / 4, {x: F * cos(omega * ap.t) - h * x.d})
    values = {F: 0.5, omega: 1.2, h: 0.1}
    orbit = ap.periodic_orbit(system, guess={x: 1.2}, period=2 * np.pi / 1.2, parameters=values)
    branch = ap.continue_orbit(system, omega, orbit, 2.5, back=1.0, step=0.05)  # with the period of the forcing
    assert np.array([one.period for one in branch.orbits]) == pytest.approx(2 * np.pi / branch.values)
    assert branch.ok and [s.kind for s in branch.special] == ["fold", "fold"]
    top = np.sqrt(np.roots([1, -1, -0.75 * 25]).max())
    assert branch.special[0].value == pytest.approx(top, rel=0.01)
    for special in branch.special:
        assert np.abs(special.orbit.multipliers - 1).min() < 1e-4
    between = (branch.values > branch.special[1].value + 1e-3) & (branch.values < branch.special[0].value - 1e-3)
    assert not branch.stable[between].all() and branch.stable[between].any()


def test_van_der_pol():
    """The period along the branch: 11.61223067 at μ = 5 (Strasberg, as in `test_orbits`)."""
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: mu * (1 - x**2) * x.d})
    orbit = ap.periodic_orbit(system, guess={x: 2.0}, parameters={mu: 3.5})
    branch = ap.continue_orbit(system, mu, orbit, 5.0, step=0.1)
    assert branch.ok and not branch.special
    assert branch.orbits[-1].period == pytest.approx(11.61223067, abs=2e-8)


def test_wrong_requests(ball):
    system, orbit = ball
    with pytest.raises(ap.ModelError, match="no parameter"):
        ap.continue_orbit(system, "d", orbit, 1.0)
    with pytest.raises(ap.ModelError, match="where the branch begins"):
        ap.continue_orbit(system, c, orbit, float(orbit.parameters[c]))
    with pytest.raises(ap.ModelError, match="returns, not"):
        ap.continue_orbit(system, c, {z: 1.0}, 1.0)
    with pytest.raises(ap.ModelError, match="period="):
        ap.continue_orbit(system, c, orbit, 1.0, period="print('run')")
    with pytest.raises(ap.ModelError, match="no multiple"):
        ap.continue_orbit(system, c, orbit, 1.0, period=0.07)


def test_neimark_sacker():
    """An isotropic van der Pol oscillator in the plane under a force that turns: z = u e^{iωt} is at rest in the frame of the
    force, (1 − ω² − iωμ(1 − |u|²)) u = F, and the orbit loses stability where the eigenvalues of small motions there,
    ü + (2iω − μ(1 − |u|²)) u̇ + …, pass the imaginary axis: found here by bisection on a matrix of four rows."""
    y = ap.coordinates("y")
    w, strength = 0.6, 0.4
    r = x**2 + y**2
    forces = {x: mu * (1 - r) * x.d + F * cos(omega * ap.t), y: mu * (1 - r) * y.d + F * sin(omega * ap.t)}
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, r / 2, forces, name="plane van der Pol")

    def state(force):
        R2 = np.roots([strength**2 * w**2, -2 * strength**2 * w**2, (1 - w**2) ** 2 + strength**2 * w**2, -(force**2)])
        R2 = float(max(R2[np.abs(R2.imag) < 1e-9].real))
        return force / (1 - w**2 - 1j * w * strength * (1 - R2)), R2

    def growth(force):
        u, R2 = state(force)
        real = lambda z: np.array([[z.real, -z.imag], [z.imag, z.real]])
        back = -2 * strength * 1j * w * u  # times Re(ū δu): from −μ·2Re(ū δu)·iωu
        K = real(1 - w**2 - 1j * w * strength * (1 - R2)) - np.outer([back.real, back.imag], [u.real, u.imag])
        D = real(2j * w - strength * (1 - R2))
        return np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-K, -D]])).real.max()

    low, high = 0.8, 1.3
    assert growth(low) > 0 > growth(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if growth(middle) > 0 else (low, middle)
    u, _ = state(1.3)
    start = {x: u.real, y: u.imag, x.d: (1j * w * u).real, y.d: (1j * w * u).imag}
    orbit = ap.periodic_orbit(system, guess=start, period=2 * np.pi / w, parameters={F: 1.3, omega: w, mu: strength})
    assert orbit.stable
    branch = ap.continue_orbit(system, F, orbit, 0.9, step=0.2)
    assert [s.kind for s in branch.special] == ["Neimark–Sacker"]
    assert branch.special[0].value == pytest.approx(low, rel=1e-7)


def test_multipliers_that_pass_in_one_step():
    """Two equal parametric oscillators double their period at once, at the value of one of them; a little apart, twice."""
    y, p = ap.coordinates("y"), ap.parameters("p")

    def branch(*drags):
        places = [x, y][: len(drags)]
        V = sum((1 + p * cos(2 * ap.t)) * one**2 / 2 + one**4 / 4 for one in places)
        forces = {one: -drag * one.d + 0.01 * cos(2 * ap.t) for one, drag in zip(places, drags, strict=True)}
        system = ap.System(places, sum(one.d**2 for one in places) / 2, V, forces)
        orbit = ap.periodic_orbit(system, guess={}, period=np.pi, parameters={p: 0.1})
        return ap.continue_orbit(system, p, orbit, 0.4).special

    (alone,), (both,) = branch(0.1), branch(0.1, 0.1)
    assert (both.kind, both.multiplicity, alone.multiplicity) == ("period doubling", 2, 1)
    assert both.value == pytest.approx(alone.value, abs=1e-9) and both.refined
    near = branch(0.1, 0.1002)
    assert [(s.kind, s.multiplicity) for s in near] == [("period doubling", 1)] * 2
    assert near[0].value == pytest.approx(alone.value, abs=1e-9) and 0 < near[1].value - near[0].value < 1e-3


def test_a_branch_takes_the_turns_of_its_first_orbit():
    """A pendulum that runs round under a torque: each orbit of the branch against SciPy over one turn. An orbit that closes
    without a coordinate begins no branch."""
    phi, psi = ap.coordinates("phi psi")
    torque, drag, omega = ap.parameters("torque drag Omega", positive=True)
    runner = ap.System([phi], phi.d**2 / 2, -cos(phi), {phi: torque - drag * phi.d}, name="runner")
    values = {torque: 0.9, drag: 0.3}
    first = ap.periodic_orbit(runner, guess={phi.d: 2.5}, period_guess=2.5, parameters=values, modulo={phi: 2 * np.pi})
    branch = ap.continue_orbit(runner, torque, first, 0.7)
    assert branch.ok and branch.message == "complete", str(branch)
    last = branch.orbits[-1]
    rates = lambda t, z: [z[1], 0.7 - 0.3 * z[1] - np.sin(z[0])]
    start = [last.start[phi], last.start[phi.d]]
    end = solve_ivp(rates, (0, last.period), start, rtol=1e-12, atol=1e-13).y[:, -1]
    assert np.abs(end - start - [2 * np.pi, 0]).max() < 1e-9, end
    forces = {phi: cos(omega * ap.t) - phi - phi.d, psi: phi.d - psi.d + drag}
    drifting = ap.System([phi, psi], (phi.d**2 + psi.d**2) / 2, 0, forces, name="drifting")
    how = {"period": 2 * np.pi, "parameters": {drag: 0.3, omega: 1.0}}
    orbit = ap.periodic_orbit(drifting, guess={}, free=[psi], **how)
    assert orbit.ok
    with pytest.raises(ap.ModelError, match="without psi"):
        ap.continue_orbit(drifting, omega, orbit, 1.2)
