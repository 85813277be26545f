"""`ap.rolling(body, friction=)`: plain bodies that roll while they stick and may slide; slips that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin

import appell as ap

x, y, z, psi, theta, phi = ap.coordinates("x y z psi theta phi")
m, r, g, A, C, J = ap.parameters("m r g A C J", positive=True)


def test_a_rough_coin_moves_as_one_that_rolls():
    """μ = 5 holds whatever a coin that wobbles asks for: the motion is that of the rows, and so are the reactions."""
    coin = ap.RigidBody(m, [A, A, C], [x, y, z], [psi, theta, phi], name="coin")
    values = {m: 1.0, r: 0.1, g: 9.81, A: 0.0025, C: 0.005}
    system = lambda rows: ap.System([x, y, z, psi, theta, phi], potential=m * g * z, bodies=[coin], constraints=rows)
    rolls, rough = system(ap.rolling(coin, r)), system(ap.rolling(coin, r, friction=5))
    start = {theta: 1.2, psi.d: 0.5, phi.d: 12.0, z: 0.1 * np.sin(1.2)}
    state = ap.consistent(rolls, start, values, hold=[s for s in start if s != z])
    times = np.linspace(0, 0.6, 13)
    known, found = (ap.simulate(one, state, 0.6, values, times=times, rtol=1e-10) for one in (rolls, rough))
    assert found.ok and {p.state for p in found.phases} == {"stick"}
    np.testing.assert_allclose(found.q, known.q, atol=1e-8)
    np.testing.assert_allclose(found.reaction("coin: height"), known.reaction("coin: height"), rtol=1e-6)
    pair = np.stack([known.reaction(f"coin: {row}") for row in ("along", "across")], axis=1)
    np.testing.assert_allclose(found.reaction("coin: friction"), pair, atol=1e-6)


@pytest.mark.parametrize("backend", ["auto", "vm"])
def test_a_ball_thrown_without_spin_rolls_in_the_end(backend):
    """v = 5 v0/7 from t = 2 v0/(7 μ g) on."""
    ball = ap.RigidBody(m, [J, J, J], [x, y, z], ap.quaternion("b"), name="ball")
    rows = ap.rolling(ball, r, axis=None, friction=0.2)
    system = ap.System([x, y, z, *ball.orientation.coordinates], potential=m * g * z, bodies=[ball], constraints=rows)
    values = {m: 2.0, r: 0.1, g: 9.81, J: 0.4 * 2.0 * 0.01}
    speed = np.array([1.2, -0.5])
    motion = ap.simulate(system, {z: 0.1, x.d: speed[0], y.d: speed[1]}, 0.5, values, backend=backend)
    stick = next(p for p in motion.phases if p.state == "stick")
    stops = 2 * np.linalg.norm(speed) / (7 * 0.2 * 9.81)
    assert stick.start == pytest.approx(stops, rel=1e-7)  # a step may end beyond the stop of a pair by its own error
    np.testing.assert_allclose([motion[x.d][-1], motion[y.d][-1]], 5 * speed / 7, rtol=1e-9)


def test_a_disc_on_a_slope_rolls_or_slides():
    """It rolls where μ >= tan α/3 and else has g (sin α − μ cos α)."""
    for mu, a in ((0.2, 2 / 3 * sin(0.4)), (0.1, sin(0.4) - 0.1 * cos(0.4))):
        disc = ap.RigidBody(m, m * r**2 / 2, [x, y], phi, name="disc")
        V = m * g * (y * cos(0.4) - x * sin(0.4))
        system = ap.System([x, y, phi], potential=V, bodies=[disc], constraints=ap.rolling(disc, r, friction=mu, static=mu))
        motion = ap.simulate(system, {y: 0.1}, 1.0, {m: 2.0, r: 0.1, g: 9.81}, backend="vm")
        assert motion[x.d][-1] == pytest.approx(9.81 * float(a), rel=1e-9)


def test_what_cannot_slide_is_refused():
    disc = ap.RigidBody(m, m * r**2 / 2, [x, y], phi, name="disc")
    with pytest.raises(ap.ModelError, match="needs its height"):
        ap.rolling(disc, r, height=None, friction=0.2)
    with pytest.raises(ap.ModelError, match="give both"):
        ap.rolling(disc, r, static=0.2)
    ball = ap.RigidBody(m, [J, J, J], [x, y, z], ap.quaternion("b"), name="ball")
    with pytest.raises(ap.ModelError, match="give both"):
        ap.rolling(ball, r, axis=None, on=lambda x, y, z: z, static=0.2)


def test_a_slip_along_its_own_normal_is_refused():
    """Any multiple of the rate of a constraint, the rate of a face; an oblique face of one coordinate is none of them."""
    T = (x.d**2 + y.d**2) / 2
    wire, bowl = ap.Constraint(y - x**2, name="wire"), ap.Unilateral(y - x**2, name="bowl")
    for normal, slip in ((wire, 3 * (y.d - 2 * x * x.d)), (wire, cos(x) * (y.d - 2 * x * x.d)), (bowl, 2 * x * x.d - y.d)):
        rub = ap.Friction(slip, normal=normal, coefficient=0.1, name="rub")
        with pytest.raises(ap.ModelError, match=r"along its own normal '(wire|bowl)'"):
            ap.System([x, y], T, g * y, constraints=[normal, rub])
    tangent = ap.Friction(x.d + 2 * x * y.d, normal=wire, coefficient=0.1, name="rub")
    ap.System([x, y], T, g * y, constraints=[wire, tangent])
    oblique = ap.Unilateral(0.8 * x, name="oblique")
    ap.System([x], x.d**2 / 2, 0, constraints=[oblique, ap.Friction(0.6 * x.d, normal=oblique, coefficient=0.1, name="rub")])
