"""Blows with friction: closed forms, the process of the impact integrated independently, and energy."""

import warnings

import numpy as np
import pytest
from sympy import Rational, cos, sin, sqrt

import appell as ap

x, y, phi, theta = ap.coordinates("x y phi theta")
G = 9.81


def thrown_ball(mu, e, law):
    floor = ap.Unilateral(y, name="floor", restitution=e)
    rub = ap.Friction(x.d - phi.d / 10, normal=floor, coefficient=mu, law=law, name="rub")
    kinetic = (x.d**2 + y.d**2 + Rational(2, 5) / 100 * phi.d**2) / 2
    return ap.System([x, y, phi], kinetic, constraints=[floor, rub])


@pytest.mark.parametrize("law", ["newton", "poisson", "stronge"])
@pytest.mark.parametrize("mu", [Rational(1, 10), 2])
def test_a_ball_with_spin(mu, law):
    """Normal and slip are not coupled, so that the laws agree: it slides through the blow, or ends it rolling."""
    e, start = Rational(1, 2), {x.d: 3, y: 1, y.d: -2, phi.d: 5}
    motion = ap.simulate(thrown_ball(mu, e, law), start, until=1.0, backend="vm")
    slip, normal = 3 - 0.5, (1 + 0.5) * 2
    along = -min(float(mu) * normal, slip / 3.5)
    assert motion[x.d][-1] == pytest.approx(3 + along, abs=1e-12)
    assert motion[phi.d][-1] == pytest.approx(5 - along * 0.1 / (0.4 / 100), abs=1e-10)
    assert motion[y.d][-1] == pytest.approx(1, abs=1e-12)
    assert motion.impacts[0].impulse == pytest.approx(normal) and np.abs(motion.balance).max() < 1e-10


def rod(mu, e, law):
    """A rod of length 2 whose end hits the floor."""
    floor = ap.Unilateral(y - sin(theta), name="floor", restitution=e)
    rub = ap.Friction(x.d + sin(theta) * theta.d, normal=floor, coefficient=mu, law=law, name="tip")
    return ap.System([x, y, theta], (x.d**2 + y.d**2 + theta.d**2 / 3) / 2, constraints=[floor, rub])


def process(mu, e, law, angle, v, pieces):
    """(v⁺, energy lost) by small pieces of normal impulse (Keller 1986); v = (ẋ, ẏ, θ̇)."""
    M = np.diag([1, 1, 1 / 3])
    J = np.array([[0, 1, -np.cos(angle)], [1, 0, np.sin(angle)]])
    W = np.linalg.solve(M, J.T)
    Gm, rates = J @ W, J @ v
    dP = 10 * abs(rates[0]) / Gm[0, 0] / pieces
    P, work, goal, kind = np.zeros(2), 0.0, None, "compression"
    for _ in range(20 * pieces):
        stick = -Gm[1, 0] / Gm[1, 1]
        near = abs(rates[1]) <= dP * (abs(Gm[1, 0]) + mu * Gm[1, 1])
        lam = stick if near and abs(stick) <= mu else -mu * np.sign(rates[1] if not near else Gm[1, 0])
        new = rates + dP * Gm @ [1, lam]
        work += dP * (rates[0] + new[0]) / 2
        P, rates = P + dP * np.array([1, lam]), new
        if goal is None and rates[0] >= 0:
            goal, kind = ((1 + e) * P[0], "impulse") if law == "poisson" else (work * (1 - e**2), "work")
        if goal is not None and (P[0] >= goal if kind == "impulse" else work >= goal):
            break
    return v + W @ P


@pytest.mark.parametrize("law", ["poisson", "stronge"])
@pytest.mark.parametrize(
    "angle, v, mu", [(0.9, (1.0, -2.0, 0.5), 0.3), (0.6, (-1.0, -2.0, 0.0), 0.5), (1.2, (0.2, -3.0, 1.0), 1.0)]
)
def test_the_process_of_an_impact(law, angle, v, mu):
    """A rod that slides, reverses or sticks during the blow, against small pieces of impulse."""
    system = rod(mu, Rational(7, 10), law)
    start = {theta: angle, y: np.sin(angle), x.d: v[0], y.d: v[1], theta.d: v[2]}
    motion = ap.simulate(system, start, until=1e-9, backend="vm")
    after = motion.v[-1]
    assert after == pytest.approx(process(mu, 0.7, law, angle, np.array(v), 12_000), abs=8e-3)
    assert motion.energy[-1] <= motion.energy[0] and motion.dissipated[-1] >= 0


def test_energy_is_never_gained_whatever_the_law():
    """Random blows on a rod: Newton's law refuses where it would gain energy, and says which laws do not."""
    rng, refused = np.random.default_rng(3), 0
    for _ in range(6):
        angle, mu, e = rng.uniform(0.3, 1.4), rng.uniform(0.2, 1.2), rng.uniform(0.5, 1)
        start = {theta: angle, y: np.sin(angle), x.d: rng.normal(), y.d: -3 - rng.random(), theta.d: rng.normal()}
        for law in ("newton", "poisson", "stronge"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                motion = ap.simulate(rod(mu, e, law), start, until=1e-9, backend="vm")
            assert motion.energy[-1] <= motion.energy[0] * (1 + 1e-12)
            if motion.status is not ap.Status.OK:
                assert law == "newton" and "gain" in motion.message and "poisson" in motion.message
                refused += 1
    assert refused < 6


def test_landing_on_a_belt():
    """A block that falls flat on a belt: the blow pulls it along by μ P, then friction does until it goes with the belt."""
    floor = ap.Unilateral(y, name="belt", restitution=0)
    rub = ap.Friction(x.d - 2, normal=floor, coefficient=Rational(1, 5), name="rub")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, constraints=[floor, rub])
    motion = ap.simulate(system, {y: 0.5}, until=3, rtol=1e-12, backend="vm")
    fall = np.sqrt(1 / G)
    speed = 0.2 * G * fall
    assert [p.state for p in motion.phases] == ["off", "slip", "stick"]
    assert [p.start for p in motion.phases[1:]] == pytest.approx([fall, fall + (2 - speed) / (0.2 * G)], abs=1e-10)
    assert motion[x.d][-1] == pytest.approx(2, abs=1e-12) and motion.ok


def test_leaving_a_sphere():
    """A bead on a rough sphere leaves where Λ falls to 0, and friction ends with it."""
    r = sqrt(x**2 + y**2)
    ball = ap.Unilateral(r - 1, name="sphere", restitution=0)
    rub = ap.Friction((x.d * y - y.d * x) / r, normal=ball, coefficient=Rational(1, 20), name="rub")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, constraints=[ball, rub])
    motion = ap.simulate(system, {y: 1, x.d: 1.5}, until=0.6, backend="vm")
    assert [p.state for p in motion.phases] == ["slip", "off"] and motion.ok
    gone = motion.phases[0].end
    near, speed = motion.at([gone - 1e-7]), motion.at([gone])
    assert 0 <= near.reaction(ball)[0] < 1e-4 and abs(near.reaction(rub)[0]) < 1e-5
    assert speed[x.d][0] ** 2 + speed[y.d][0] ** 2 == pytest.approx(G * speed[y][0], abs=1e-8)
    assert motion.impacts[-1].kind == "leaving"


@pytest.mark.parametrize("law", ["newton", "poisson", "stronge"])
def test_two_contacts_in_one_blow(law):
    """A plate falls flat on two feet and sticks. Newton: ω⁺ = 0. Poisson in two phases: N₁ − N₂ = h vₓ/a in compression returns
    as e times that, T_e = −e h² vₓ/(I + h²), ω⁺ = −T_e/h. Stronge's law is one of a single contact."""
    a, h, inertia, e = Rational(1, 2), Rational(1, 5), Rational(3, 10), Rational(1, 2)
    rows = []
    for side in (1, -1):
        floor = ap.Unilateral(y + side * a * sin(theta) - h * cos(theta), name=f"floor {side}", restitution=e)
        slip = ap.total_derivative(x + side * a * cos(theta) + h * sin(theta))
        rows += [floor, ap.Friction(slip, normal=floor, coefficient=Rational(1, 2), law=law, name=f"foot {side}")]
    system = ap.System([x, y, theta], (x.d**2 + y.d**2 + inertia * theta.d**2) / 2, constraints=rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, {y: 1.2, x.d: 0.5, y.d: -2}, until=0.6, backend="vm")
    if law == "stronge":
        assert "a law of one contact" in motion.message
        return
    spin = 0.5 * 0.2 * 0.5 / (0.3 + 0.04) if law == "poisson" else 0.0
    assert motion.final[theta.d] == pytest.approx(spin, abs=1e-10) and motion.final[y.d] == pytest.approx(1, abs=1e-10)
    assert motion.final[x.d] == pytest.approx(-0.2 * spin, abs=1e-10)
    assert np.diff(motion.energy).max() < 1e-10 and np.abs(motion.balance).max() < 1e-10
