"""Motions with dry friction that have a closed form: states and switching times to 1e-10, on both back ends."""

import numpy as np
import pytest
from scipy.optimize import brentq
from sympy import Abs, Rational, cos, exp, sin

import appell as ap

G = 9.81
TIGHT = {"rtol": 1e-12, "atol": 1e-13}

x, y, phi = ap.coordinates("x y phi")
mu = ap.parameters("mu", positive=True)


def block(alpha=0.0, coefficient=mu, **options):
    """A block of 2 kg on an incline."""
    floor = ap.Unilateral(y, name="floor", restitution=options.pop("restitution", 0))
    sole = ap.Friction(x.d, normal=floor, coefficient=coefficient, name="sole", **options)
    weight = 2 * G * (y * np.cos(alpha) + x * np.sin(alpha))
    return ap.System([x, y], x.d**2 + y.d**2, weight, constraints=[floor, sole])


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_block_on_an_incline(backend):
    """It slides up, stops at t = v0/(g(sin α + μ cos α)), and stays where μ > tan α; else it slides back."""
    up = G * (np.sin(0.3) + 0.4 * np.cos(0.3))
    motion = ap.simulate(block(0.3), {x.d: 3}, until=5, parameters={mu: 0.4}, backend=backend, **TIGHT)
    assert [p.state for p in motion.phases] == ["slip", "stick"] and motion.ok
    assert motion.phases[0].direction == 1 and abs(motion.phases[0].end - 3 / up) < 1e-12
    assert abs(motion[x][-1] - 4.5 / up) < 1e-12 and motion[x.d][-1] == 0
    assert abs(motion.reaction("sole")[-1] - 2 * G * np.sin(0.3)) < 1e-10
    assert abs(motion.reaction("sole")[0] + 0.4 * 2 * G * np.cos(0.3)) < 1e-10
    assert (motion["sole"] == motion.reaction("sole")).all() and (motion[motion.system.frictions[0]] == motion["sole"]).all()
    assert motion.series("sole").units == "N" and len(motion.plot("sole").axes[0].lines) >= 1
    assert abs(motion.dissipated[-1] - 0.4 * 2 * G * np.cos(0.3) * 4.5 / up) < 1e-10
    assert np.abs(motion.balance).max() < 1e-12

    up, down = G * (np.sin(0.3) + 0.2 * np.cos(0.3)), G * (np.sin(0.3) - 0.2 * np.cos(0.3))
    motion = ap.simulate(block(0.3), {x.d: 3}, until=5, parameters={mu: 0.2}, backend=backend, **TIGHT)
    assert [(p.state, p.direction) for p in motion.phases] == [("slip", 1), ("slip", -1)]
    assert abs(motion[x][-1] - (4.5 / up - down * (5 - 3 / up) ** 2 / 2)) < 1e-10


def test_a_block_at_rest_breaks_away_where_its_load_is_too_large():
    """Pulled by F = t: it sticks until t = μ m g, then ẍ = (t − μ m g)/m."""
    floor = ap.Constraint(y, name="floor")
    sole = ap.Friction(x.d, normal=floor, coefficient=0.25, name="sole")
    system = ap.System([x, y], x.d**2 + y.d**2, 2 * G * y, forces={x: ap.t}, constraints=[floor, sole])
    motion = ap.simulate(system, {}, until=9, **TIGHT)
    start = 0.25 * 2 * G
    assert [p.state for p in motion.phases] == ["stick", "slip"]
    assert abs(motion.phases[0].end - start) < 1e-10
    assert abs(motion[x][-1] - (9 - start) ** 3 / 12) < 1e-10


@pytest.mark.parametrize("unilateral", [True, False])
def test_bowling_ball(unilateral):
    """It slides until t = 2 v0/(7 μ g) and rolls with 5/7 v0 for ever."""
    floor = ap.Unilateral(y, name="lane", restitution=0) if unilateral else ap.Constraint(y, name="lane")
    lane = ap.Friction(x.d - phi.d / 10, normal=floor, coefficient=0.12, name="ball")
    inertia = Rational(2, 5) / 100
    system = ap.System([x, y, phi], (x.d**2 + y.d**2 + inertia * phi.d**2) / 2, G * y, constraints=[floor, lane])
    motion = ap.simulate(system, {x.d: 8}, until=20, **TIGHT)
    end = 2 * 8 / (7 * 0.12 * G)
    assert [p.state for p in motion.phases] == ["slip", "stick"]
    assert abs(motion.phases[0].end - end) < 1e-11
    assert abs(motion[x.d][-1] - 40 / 7) < 1e-11 and abs(motion[phi.d][-1] - 400 / 7) < 1e-10
    assert abs(motion[x][-1] - (8 * end - 0.12 * G * end**2 / 2 + 40 / 7 * (20 - end))) < 1e-10
    assert np.abs(motion.reaction("ball")[motion.t > end + 1e-9]).max() < 1e-10


def test_oscillator_comes_to_rest_inside_its_dead_band():
    """m = k = 1, F = 0.3 from x = 2: half swings of π about ±0.3 to 1.4, 0.8, 0.2, where it stays."""
    system = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[ap.Friction(x.d, limit=0.3, name="pad")])
    motion = ap.simulate(system, {x: 2}, until=30, **TIGHT)
    assert [p.direction for p in motion.phases] == [-1, 1, -1, 0]
    assert np.allclose([p.end for p in motion.phases[:3]], np.pi * np.arange(1, 4), atol=1e-11)
    assert abs(motion[x][-1] + 0.2) < 1e-11 and abs(motion.dissipated[-1] - 1.98) < 1e-11
    inside = motion.at([1.0, 4.0])
    assert np.allclose(inside[x], [0.3 + 1.7 * np.cos(1), -0.3 - 1.1 * np.cos(4 - np.pi)], atol=1e-11)


def test_den_hartog():
    """ẍ + x + F sgn ẋ = cos ω t with F = 0.7, ω = 0.6: the response with two stops in each period, piece by piece."""
    F, omega = 0.7, 0.6
    system = ap.System(
        [x], x.d**2 / 2, x**2 / 2, forces={x: cos(Rational(3, 5) * ap.t)}, constraints=[ap.Friction(x.d, limit=F, name="pad")]
    )
    motion = ap.simulate(system, {}, until=40, **TIGHT)
    times, ends = _den_hartog(F, omega, 40.0)
    found = [p.start for p in motion.phases[1:]]
    assert len(found) == len(times) >= 6 and {"stick", "slip"} == {p.state for p in motion.phases}
    assert np.abs(np.array(found) - times).max() < 1e-10
    assert np.abs(motion.at(times)[x] - ends).max() < 1e-10


def _den_hartog(F, omega, until):
    """Times at which stick or slip begins, and x there; from rest at x = 0."""
    gain = 1 / (1 - omega**2)
    t, x0, v0, moving, times, ends = 0.0, 0.0, 0.0, 0, [], []
    if F < 1:
        moving = 1
    while True:
        if moving:
            centre = -F * moving
            A, B = x0 - centre - gain * np.cos(omega * t), v0 + gain * omega * np.sin(omega * t)
            at = lambda s, t=t, A=A, B=B, c=centre: c + gain * np.cos(omega * s) + A * np.cos(s - t) + B * np.sin(s - t)
            rate = lambda s, t=t, A=A, B=B: -gain * omega * np.sin(omega * s) - A * np.sin(s - t) + B * np.cos(s - t)
            end = _first_zero(lambda s, rate=rate, way=moving: rate(s) * way, t + 1e-3, until)
        else:
            at = lambda s, x0=x0: x0
            end = _first_zero(lambda s, x0=x0: F - abs(np.cos(omega * s) - x0), t + 1e-9, until)
        if end is None:
            return np.array(times), np.array(ends)
        t, x0, v0 = end, at(end), 0.0
        load = np.cos(omega * t) - x0
        moving = 0 if moving and abs(load) <= F else int(np.sign(load))
        times.append(t)
        ends.append(x0)


def _first_zero(f, a, b):
    grid = np.linspace(a, b, 20001)
    below = np.flatnonzero(np.array([f(s) for s in grid]) < 0)
    return None if not len(below) else brentq(f, grid[below[0] - 1], grid[below[0]], xtol=1e-15, rtol=1e-15)


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_stick_slip_on_a_belt(backend):
    """Stick for 2 Δ/(k v), slip for 2 (π − atan(Δ ω/(k v)))/ω with Δ = (μ_s − μ) N: a cycle, piece by piece."""
    v, k, m = 0.1, 25.0, 1.0
    floor = ap.Constraint(y, name="belt")
    pad = ap.Friction(x.d - v, normal=floor, coefficient=0.2, static=0.3, name="pad")
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, k * x**2 / 2 + m * G * y, constraints=[floor, pad])
    motion = ap.simulate(system, {x.d: v}, until=6, backend=backend, **TIGHT)
    delta, omega = 0.1 * m * G, np.sqrt(k / m)
    stick, slip = 2 * delta / (k * v), 2 * (np.pi - np.arctan(delta * omega / (k * v))) / omega
    first = 0.3 * m * G / k / v
    phases = motion.phases
    assert [p.state for p in phases[:5]] == ["stick", "slip", "stick", "slip", "stick"]
    starts = first + np.array([0, slip, slip + stick, 2 * slip + stick, 2 * (slip + stick)])
    assert np.abs(np.array([p.start for p in phases[1:6]]) - starts).max() < 1e-10
    assert all(p.direction == -1 for p in phases if p.state == "slip")
    assert motion.ok and np.abs(motion.balance).max() < 1e-9


def test_friction_through_infinitely_many_impacts():
    """Thrown along the floor, bouncing with e = 1/2: after it has come to rest on it, v = v0 − μ (all normal impulses)/m."""
    motion = ap.simulate(block(restitution=Rational(1, 2)), {x.d: 20, y: 1}, until=10, parameters={mu: 0.2}, **TIGHT)
    fall = np.sqrt(2 / G)
    last = fall * (1 + 2 * 0.5 / (1 - 0.5))
    assert len(motion.impacts) > 15 and motion.ok
    assert abs(motion[x.d][-1] - (20 - 0.2 * G * (10 - last) - 0.2 * G * last)) < 1e-9
    assert abs(motion.phases[-1].start - last) < 1e-5  # the last bounces are lower than what a distance resolves


def test_coefficient_that_falls_with_the_slip_speed():
    """μ(s) = 0.1 + 0.2 exp(−s): v̇ = −μ(v) g, so that 0.1 g t = ln((1 + 2 e^{−v})/(1 + 2 e^{−v0})) + v0 − v."""
    motion = ap.simulate(block(coefficient=lambda s: Rational(1, 10) + exp(-s) / 5), {x.d: 3}, until=4, **TIGHT)
    way = lambda v: v + np.log(1 + 2 * np.exp(-v))
    assert abs(motion.phases[0].end - (way(3) - way(0)) / (0.1 * G)) < 1e-10
    same = ap.simulate(block(coefficient=Rational(1, 10) + exp(-abs(x.d)) / 5), {x.d: 3}, until=4, **TIGHT)
    assert abs(same.phases[0].end - motion.phases[0].end) < 1e-11


def test_order_eight_is_kept_through_switches():
    """Fixed steps, halved: the error of an oscillator after two reversals and a stop, against the closed form."""
    pad = ap.Friction(x.d, limit=Rational(3, 10), name="pad")
    system = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[pad])
    errors = []
    for step in (0.8, 0.4):
        motion = ap.simulate(system, {x: 2}, until=8.0, step=step, method="dop853")
        exact = 0.3 + 0.5 * np.cos(8 - 2 * np.pi)
        errors.append(abs(motion[x][-1] - exact))
    assert np.log2(errors[0] / errors[1]) > 7 and errors[1] < 1e-7


def test_rotating_guide():
    """A bead on a rod that turns at ω: Λ = 2 m ω ṙ, friction 2 μ m ω |ṙ|: r̈ = ω² r − 2 μ ω ṙ, from the closed form."""
    X, Y = ap.coordinates("X Y")
    omega = 2
    c, s = cos(omega * ap.t), sin(omega * ap.t)
    guide = ap.Constraint(-X * s + Y * c, name="guide")
    rub = ap.Friction(X.d * c + Y.d * s, normal=guide, coefficient=Rational(3, 10), name="rub")
    system = ap.System([X, Y], (X.d**2 + Y.d**2) / 2, constraints=[guide, rub])
    motion = ap.simulate(system, {X: 1, Y.d: 2}, until=1.5, **TIGHT)
    root = np.sqrt(0.09 + 1)
    one, two = omega * (-0.3 + root), omega * (-0.3 - root)
    radius = (one * np.exp(two * motion.t) - two * np.exp(one * motion.t)) / (one - two)
    assert np.abs(np.hypot(motion[X], motion[Y]) - radius).max() < 1e-10 * radius.max()


@pytest.mark.parametrize("speed", [0.0, 5.0])
@pytest.mark.parametrize("limited", [False, True])
def test_a_coefficient_that_touches_zero(speed, limited):
    """μ = 0.3 |cos t| is zero, to rounding and of either sign, where the cosine changes its sign.

    At rest nothing moves. A slip of 5 m/s falls by 0.3 g ∫ |cos t| dt, and ends where that is 5; between π/2 and 3π/2 the
    integral is 2 − sin t.
    """
    floor, size = ap.Constraint(y, name="floor"), 0.3 * Abs(cos(ap.t))
    law = {"limit": G * size} if limited else {"normal": floor, "coefficient": size}
    sole = ap.Friction(x.d, name="sole", **law)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, constraints=[floor, sole])
    motion = ap.simulate(system, {x.d: speed}, 6.0, **TIGHT)
    end = np.pi - np.arcsin(2 - speed / (0.3 * G)) if speed else 0.0
    assert motion.ok and motion.phases[-1].state == "stick" and abs(motion.phases[-1].start - end) < 1e-10
