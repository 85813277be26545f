"""`ap.periodic_orbit`: published periods, closed forms with impacts, theorems on Floquet multipliers, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipk
from sympy import cos, sin

import appell as ap
from appell import zoo

x = ap.coordinates("x")
mu = ap.parameters("mu", positive=True)
VAN_DER_POL = ap.System([x], x.d**2 / 2, x**2 / 2, {x: mu * (1 - x**2) * x.d}, name="van der Pol")


@pytest.mark.parametrize(("value", "period"), [(1.0, 6.66328686), (5.0, 11.61223067)])
def test_van_der_pol(value, period):
    """Periods of the limit cycle: Strasberg (1973), as cited by Andersen and Geer, SIAM J. Appl. Math. 42 (1982) 678."""
    orbit = ap.periodic_orbit(VAN_DER_POL, guess={x: 2.0}, parameters={mu: value})
    assert orbit.ok and orbit.autonomous and orbit.stable, orbit
    assert orbit.period == pytest.approx(period, abs=2e-8)
    assert np.abs(orbit.multipliers - 1).min() < 1e-7, "the orbit may be started anywhere on itself"
    if value == 1.0:  # else beyond double precision
        t = np.linspace(0, orbit.period, 20001)
        mean = np.trapezoid(value * (1 - orbit.motion.at(t)[x] ** 2), t)
        assert np.log(np.prod(orbit.multipliers).real) == pytest.approx(mean, abs=1e-5)


@pytest.mark.parametrize("segments", [1, 3])
@pytest.mark.parametrize(("zeta", "D", "stroke", "phase"), [(0.45, 0.1, 0.5, 1), (0.6, -0.1, 0.5, -1)])
def test_22_one_impact_a_period(zeta, D, stroke, phase, segments):
    """Astashev's exact motion (22) of the oscillator with a wall; its impacts are elastic: the multipliers have product 1."""
    q = ap.coordinates("q")
    force = {q: phase * stroke * zeta**2 * cos(ap.t)}
    system = ap.System([q], q.d**2 / 2, zeta**2 * q**2 / 2, force, [ap.Unilateral(D - q, "wall")])
    forced = phase * stroke * zeta**2 / (zeta**2 - 1)
    exact = (D + forced) / np.cos(np.pi * zeta) + forced
    orbit = ap.periodic_orbit(system, guess={q: exact + 0.01, q.d: 0.01}, period=2 * np.pi, segments=segments)
    assert orbit.ok, orbit
    assert orbit.start[q] == pytest.approx(exact, abs=1e-8) and orbit.start[q.d] == pytest.approx(0, abs=1e-8)
    assert np.prod(orbit.multipliers) == pytest.approx(1, abs=1e-8)
    assert not orbit.grazing and len(orbit.motion.impacts) == 1


def test_ball_on_a_vibrating_table():
    """One bounce a period at the phase cos φ = g T (1 − e)/(2 (1 + e) c ω); the multipliers have the product e²."""
    z = ap.coordinates("z")
    g, c, e = 9.81, 0.01, 0.7
    T = 0.1
    omega = 2 * np.pi / T
    cosine = g * T * (1 - e) / (2 * (1 + e) * c * omega)
    phi = np.arccos(cosine)
    table = ap.Unilateral(z - c * cos(omega * ap.t - np.pi / 2), "table", restitution=e)
    system = ap.System([z], z.d**2 / 2, g * z, {}, [table])
    top = {z: c * np.sin(phi) + g * T**2 / 8}
    since = phi / omega + T / 2
    for guess in (top, {z: top[z] * 1.001, z.d: 1e-3}):
        orbit = ap.periodic_orbit(system, guess=guess, period=T, since=since)
        assert orbit.ok, orbit
        assert orbit.start[z] == pytest.approx(top[z], abs=1e-9)
        assert orbit.motion.impacts[0].time == pytest.approx(phi / omega + T, abs=1e-9)
        assert np.prod(orbit.multipliers) == pytest.approx(e**2, rel=1e-6)


def test_families_of_conservative_orbits():
    """The pendulum next to the guess, swinging and turning: T = 4 K(sin(a/2))/ω0, and T = 2k K(k)/ω0 with k = 2 ω0/θ̇(0)."""
    theta = ap.coordinates("theta")
    pendulum = ap.System([theta], theta.d**2 / 2, -cos(theta))
    swing = ap.periodic_orbit(pendulum, guess={theta: 1.0})
    assert swing.ok and not swing.stable
    energy = swing.start[theta.d] ** 2 / 2 - np.cos(swing.start[theta])
    amplitude = np.arccos(-energy)
    assert swing.period == pytest.approx(4 * ellipk(np.sin(amplitude / 2) ** 2), abs=1e-8)
    turn = ap.periodic_orbit(pendulum, guess={theta.d: 3.0}, modulo={theta: 2 * np.pi})
    assert turn.ok
    energy = turn.start[theta.d] ** 2 / 2 - np.cos(turn.start[theta])
    k2 = 2 / (1 + energy)
    assert turn.period == pytest.approx(2 * np.sqrt(k2) * ellipk(k2), abs=1e-8)
    assert np.prod(swing.multipliers) == pytest.approx(1, abs=1e-6)
    for start in (0.4, 0.8, 1.4, 3.0):  # 1 is a multiplier twice, which is known to the square root of its error only
        assert not ap.periodic_orbit(pendulum, guess={theta: start}).stable


def test_nonholonomic_orbit():
    """A disc that rolls in a circle of constant lean: all comes back but its own turning, on which nothing depends."""
    disc = zoo.rolling_disc()
    q = {str(s): s for s in disc.system.coordinates}
    lean, turn, r = 0.3, 1.2, 0.5
    speeds = lambda spin: {q["psi"].d: turn, q["phi"].d: spin, q["x"].d: r * (spin + turn * np.sin(lean))}
    run = ap.compile(disc.system, disc.parameters)

    def falling(spin):
        """θ̈, which is zero in steady rolling."""
        q0 = np.array([0, 0, r * np.cos(lean), 0, lean, 0])
        v0 = np.array([speeds(spin).get(s.d, 0.0) for s in disc.system.coordinates])
        return run.acceleration(0.0, q0, v0)[0][4]

    guess = {q["theta"]: lean, q["z"]: r * np.cos(lean), **speeds(brentq(falling, -50, 50))}
    options = {"free": [q["phi"]], "modulo": {q["psi"]: 2 * np.pi}, "period_guess": 2 * np.pi / turn * 1.001}
    for start in (guess, {**guess, q["theta"]: lean + 1e-3}):
        orbit = ap.periodic_orbit(disc.system, guess=start, parameters=disc.parameters, **options)
        assert orbit.ok, orbit
        assert len(orbit.multipliers) == 12 - 1 - 3
        theta = orbit.motion[q["theta"]]
        psi_d = orbit.start[q["psi"].d]
        assert orbit.period == pytest.approx(2 * np.pi / abs(psi_d), rel=1e-3) and np.ptp(theta) < 1e-2


@pytest.mark.parametrize("turns", [2, 3])
def test_an_orbit_that_is_passed_several_times_says_so(turns):
    """A curve that closes after T closes after 2 T; a guess of the period decides which one is found."""
    once = ap.periodic_orbit(VAN_DER_POL, guess={x: 2.0}, parameters={mu: 0.5}, backend="vm")
    assert once.message == "closed"
    more = ap.periodic_orbit(VAN_DER_POL, guess={x: 2.0}, parameters={mu: 0.5}, period_guess=turns * 6.4, backend="vm")
    assert more.ok and more.period == pytest.approx(turns * once.period)
    assert f"passed {turns} times in this period: the least one is {once.period:.7g}"[:-1] in more.message


def test_what_cannot_be_found_says_why():
    with pytest.raises(ap.ModelError, match="depends on time"):
        example = zoo.oscillator_with_wall()
        ap.periodic_orbit(example.system, guess=example.start, parameters=example.parameters)
    with pytest.raises(ap.ModelError, match="equilibrium"):
        ap.periodic_orbit(VAN_DER_POL, guess={x: 0.0}, parameters={mu: 1.0})
    with pytest.raises(ap.ModelError, match="does not come back"):
        ap.periodic_orbit(ap.System([x], x.d**2 / 2), guess={x.d: 1.0})
    with pytest.raises(ap.ModelError, match="segments"):
        ap.periodic_orbit(VAN_DER_POL, guess={x: 2.0}, parameters={mu: 1.0}, segments=0)
    with pytest.raises(ap.ModelError, match="modulo"):
        ap.periodic_orbit(VAN_DER_POL, guess={x: 2.0}, parameters={mu: 1.0}, modulo={"y": 1.0})
    with pytest.raises(ap.ModelError, match="period must be positive"):
        ap.periodic_orbit(VAN_DER_POL, guess={x: 2.0}, parameters={mu: 1.0}, period=-1.0)


def test_a_period_that_the_forcing_has_not():
    """z(T) = z(0) can be solved for any T; only where the forcing comes back, too, is that a periodic orbit."""
    wall = ap.Unilateral(x + 2 + sin(3 * ap.t) / 10, "moving wall")
    shaken = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -x.d / 5}, [wall])
    parametric = ap.System([x], x.d**2 / 2, x**2 / 2 * (1 + mu * cos(3 * ap.t)), {x: -x.d / 5})
    for system, values in ((shaken, {}), (parametric, {mu: 0.1})):
        with pytest.raises(ap.ModelError, match="does not repeat itself after 2 s"):
            ap.periodic_orbit(system, guess={x: 0.0}, period=2.0, parameters=values)
        assert ap.periodic_orbit(system, guess={x: 0.1}, period=4 * np.pi / 3, parameters=values).ok


def test_grazing_is_named():
    """A swing that just reaches the wall."""
    q = ap.coordinates("q")
    system = ap.System([q], q.d**2 / 2, q**2 / 2, {}, [ap.Unilateral(1 - q, "wall")])
    orbit = ap.periodic_orbit(system, guess={q: -(1 - 1e-9)}, period=2 * np.pi)
    assert orbit.grazing == ("wall",)
    assert not ap.periodic_orbit(system, guess={q: -0.5}, period=2 * np.pi).grazing


def test_a_branch_goes_over_to_several_shots_where_one_loses_digits():
    """ẍ − x = cos ωt: x = −cos ωt/(1 + ω²), with the multipliers e^{±2π/ω}, up to 3e9 here."""
    y, w = ap.coordinates("y"), ap.parameters("w", positive=True)
    system = ap.System([y], y.d**2 / 2, -(y**2) / 2, {y: cos(w * ap.t)}, name="unstable")
    orbit = ap.periodic_orbit(system, guess={y: -0.5}, period=2 * np.pi, parameters={w: 1.0})
    branch = ap.continue_orbit(system, w, orbit, 0.288, step=0.3, max_step=0.3)
    assert branch.ok, branch.message
    last = branch.orbits[-1]
    assert last.range(y) == pytest.approx((-1 / (1 + 0.288**2), 1 / (1 + 0.288**2)), abs=1e-10)
    growth = np.exp(2 * np.pi / branch.values[-1])
    assert last.multipliers == pytest.approx([growth, 1 / growth], rel=1e-9)
    assert last.motion.t[-1] == pytest.approx(2 * np.pi / 0.288)


def test_what_is_no_turn_is_refused():
    """modulo= a length after which a pendulum is not the same, and free= a coordinate on which forces depend."""
    phi, way, k = *ap.coordinates("phi way"), ap.parameters("k", positive=True)
    pendulum = ap.System([phi], phi.d**2 / 2, -cos(k * phi), {phi: 1.2 - 0.2 * phi.d}, name="pendulum")
    asked = {"guess": {phi.d: 5.5}, "period_guess": 1.0, "parameters": {k: 1.0}}
    with pytest.raises(ap.ModelError, match="modulo= says that phi and phi \\+ 1 are the same state"):
        ap.periodic_orbit(pendulum, modulo={phi: 1.0}, **asked)
    orbit = ap.periodic_orbit(pendulum, modulo={phi: 2 * np.pi}, **asked)
    assert orbit.ok
    lost = ap.continue_orbit(pendulum, k, orbit, 1.2, modulo={phi: 2 * np.pi})
    assert not lost.ok and "modulo=" in lost.message
    wheel = ap.System(
        [way, phi], (way.d**2 + phi.d**2) / 2, -cos(phi), {phi: 1.2 - 0.2 * phi.d},
        constraints=[ap.Constraint(way - 0.3 * phi, name="rolling")], name="wheel",
    )  # fmt: skip
    start = {"guess": {phi.d: 5.5, way.d: 0.3 * 5.5}, "period_guess": 1.0}
    with pytest.raises(ap.ModelError, match="the constraints differ"):
        ap.periodic_orbit(wheel, modulo={phi: 2 * np.pi}, **start)
    assert ap.periodic_orbit(wheel, modulo={phi: 2 * np.pi, way: 0.6 * np.pi}, **start).ok  # they turn together
    assert ap.periodic_orbit(wheel, modulo={phi: 2 * np.pi}, free=[way], **start).ok
    with pytest.raises(ap.ModelError, match="free= names phi"):
        ap.periodic_orbit(wheel, free=[phi, way], **start)


def test_a_body_that_spins():
    """Its velocities change by rounding only, and its quaternion comes back with the other sign after a turn."""
    q = ap.quaternion("q")
    w = q.rates
    body = ap.System([q], (w[0] ** 2 + w[1] ** 2 + 2 * w[2] ** 2) / 2, name="body")
    orbit = ap.periodic_orbit(body, guess={w[2]: 1.0}, period_guess=2 * np.pi)
    assert orbit.ok and orbit.period == pytest.approx(2 * np.pi, rel=1e-9)
    assert np.abs(orbit.multipliers - 1).max() < 1e-6
    assert (orbit.scale > 1e-3).all() and (orbit.scale <= 2.001).all()


def test_variations_take_a_limited_number_of_steps(monkeypatch):
    """As many as the motion took, times a factor, and then they say so."""
    monkeypatch.setattr("appell.analysis.orbits.fundamental_matrix.STEPS_OF_VARIATIONS", 0)
    monkeypatch.setattr("appell.analysis.orbits.fundamental_matrix.LEAST_STEPS_OF_VARIATIONS", 3)
    motion = ap.simulate(VAN_DER_POL, {x: 2.0}, 10.0, {mu: 1.0})
    found = ap.variations(motion, by=[])
    assert not found.ok and "the variations end" in found.message


def test_a_driven_pendulum_at_rest_is_found_from_beside_it():
    """Its multipliers are inside the circle with |μ|² = exp(−cT), whatever the guess."""
    phi, (q, c, w) = ap.coordinates("phi"), ap.parameters("q c omega")
    swing = ap.System([phi], phi.d**2 / 2, forces={phi: -(2 + q * cos(w * ap.t)) * sin(phi - 1) - c * phi.d})
    for away in (0.01, 0.3, 0.6):
        values, T = {q: 0.3, c: 0.1, w: 3.0}, 2 * np.pi / 3
        orbit = ap.periodic_orbit(swing, guess={phi: 1 + away}, period=T, parameters=values)
        assert orbit.ok and orbit.message == "closed" and orbit.range(phi) == pytest.approx((1, 1), abs=1e-12)
        assert np.abs(orbit.multipliers) ** 2 == pytest.approx(np.exp(-0.1 * T), rel=1e-9)
        assert orbit.scale.min() > 1e-3  # not its rounding


@pytest.mark.parametrize("options", [{}, {"segments": 3}, {"symmetry": {x: -x}}])
def test_a_rest_is_no_orbit_of_a_period_that_is_sought(options):
    """Every time is a period of a rest. With `period=` it is asked for, and has the multipliers exp(λT)."""
    values = {mu: 1.0}
    assert not ap.periodic_orbit(VAN_DER_POL, guess={x: 1e-3}, period_guess=6.0, parameters=values, **options).ok
    rest = ap.periodic_orbit(VAN_DER_POL, guess={x: 0.0}, period_guess=6.0, parameters=values, **options)
    assert not rest.ok and "ap.equilibrium" in rest.message, rest.message
    with pytest.raises(ap.ModelError, match="not closed: the state does not move"):
        ap.continue_orbit(VAN_DER_POL, mu, rest, 2.0)
    asked = ap.periodic_orbit(VAN_DER_POL, guess={x: 0.0}, period=6.0, parameters=values, **options)
    wanted = np.exp(6 * np.roots([1, -1, 1]))
    assert asked.ok and np.allclose(np.sort_complex(asked.multipliers), np.sort_complex(wanted), rtol=1e-8)
    orbit = ap.periodic_orbit(VAN_DER_POL, guess={x: 2.0}, period_guess=6.0, parameters=values, **options)
    assert orbit.ok and orbit.period == pytest.approx(6.66328686, abs=2e-8)


def test_a_block_that_slides_on_a_belt_without_moving_has_no_period():
    friction = ap.Friction(x.d - 1, limit=0.5, name="belt")
    block = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[friction])
    rest = ap.periodic_orbit(block, guess={x: 0.5}, period_guess=6.0)
    assert not rest.ok and "ap.equilibrium" in rest.message, rest.message
    orbit = ap.periodic_orbit(block, guess={x: 0.8}, period_guess=6.0)
    assert orbit.ok and orbit.period == pytest.approx(2 * np.pi, rel=1e-9)


def test_what_turns_steadily_is_no_rest():
    turning = ap.System([x], x.d**2 / 2, 0, {x: 1 - x.d})
    for options in ({"modulo": {x: 2 * np.pi}}, {"free": [x]}):
        assert ap.periodic_orbit(turning, guess={x.d: 1.0}, period_guess=6.0, **options).ok
