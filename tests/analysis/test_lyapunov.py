"""`ap.lyapunov`: sums that theorems give, exponents of linear systems, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin

import appell as ap
from appell import zoo

x, y = ap.coordinates("x y")
h, k = ap.parameters("h k", positive=True)


def test_linear_system():
    """ẍ = −h ẋ + k x: the roots of λ² + hλ − k = 0."""
    system = ap.System([x], x.d**2 / 2, -k * x**2 / 2, {x: -h * x.d})
    found = ap.lyapunov(system, {x: 1e-12}, 20.0, {h: 0.3, k: 1.0}, every=0.5, skip=10.0, rtol=1e-11, atol=1e-14)
    roots = np.sort(np.roots([1, 0.3, -1.0]))[::-1]
    assert found.ok and found.exponents == pytest.approx(roots, abs=1e-6)


def test_fast_decay_beside_slow():
    """ẍ = −c ẋ − x: e^{−ct} is rounding in one interval of 1 s; also with a friction that is smooth, and loses no direction."""
    for damping, by_friction in ((100.0, 0.0), (0.1, 30.0)):
        friction = [ap.Friction(x.d, limit=by_friction * 0.1, regularise=0.1)] if by_friction else []
        system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -damping * x.d}, friction)
        found = ap.lyapunov(system, {x: 0.0}, 8.0, every=1.0)
        slow, fast = np.sort(np.roots([1, damping + by_friction, 1]))[::-1]
        assert found.ok and found.exponents == pytest.approx([slow, fast], abs=0.5 / 8)
        assert found.exponents.sum() == pytest.approx(slow + fast, rel=1e-4)
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -20_000 * x.d})
    found = ap.lyapunov(system, {x: 0.0}, 2.0, every=1.0, method="radau")
    assert not found.ok


def test_growth_like_time_is_not_chaos():
    """A ball to and fro between two walls, ∂x/∂v₀ = t: both exponents are 0, and log(t)/t is above 0 by seven of its errors."""
    box = ap.System([x], x.d**2 / 2, 0, {}, [ap.Between(-1, x, 1, restitution=1.0)])
    found = ap.lyapunov(box, {x: 0.3, x.d: 1.0}, 50.0)
    assert found.exponents[0] > 5 * found.error[0] > 0 and not found.chaotic
    duffing = ap.System([x], x.d**2 / 2, x**4 / 4 - x**2 / 2, {x: 0.3 * cos(ap.t) - 0.25 * x.d})
    assert ap.lyapunov(duffing, {x: 0.5}, 1000.0, skip=100.0).chaotic


def test_sum_with_damping_and_elastic_impacts():
    """−h, whatever the impacts do."""
    example = zoo.oscillator_with_wall()
    found = ap.lyapunov(example.system, example.start, 40.0, example.parameters)
    assert found.exponents.sum() == pytest.approx(-0.05, abs=1e-7)
    assert not found.chaotic and found.dataset.exponent.size == 2
    found.plot()


def test_sum_with_restitution():
    """2 log e for each impact."""
    e = 0.9
    stops = ap.Between(-1, x, 1, name="stops", restitution=e)
    found = ap.lyapunov(ap.System([x], x.d**2 / 2, 0, {}, [stops]), {x: 0.1, x.d: 10.0}, 3.05, every=0.3)
    motion = ap.simulate(ap.System([x], x.d**2 / 2, 0, {}, [stops]), {x: 0.1, x.d: 10.0}, 3.05)
    assert found.exponents.sum() == pytest.approx(2 * np.log(e) * len(motion.impacts) / 3.05, rel=1e-9)


def test_constraints_take_directions_away():
    """A disc in 6 coordinates with 1 + 2 constraints: 8 directions."""
    disc = zoo.rolling_disc()
    found = ap.lyapunov(disc.system, disc.start, 3.0, disc.parameters)
    assert len(found.exponents) == 8 and found.ok


def test_directions_that_the_motion_leaves_invariant():
    """Chaplygin's sleigh straight ahead: −m a v/(I + m a²) = −0.5727, the others 0; each axis alone would stay where it is."""
    phi = ap.coordinates("phi")
    kinetic = 0.65 * ((x.d - 0.4 * phi.d * sin(phi)) ** 2 + (y.d + 0.4 * phi.d * cos(phi)) ** 2) + 0.35 * phi.d**2
    sleigh = ap.System([x, y, phi], kinetic, 0, constraints=[ap.Constraint(-x.d * sin(phi) + y.d * cos(phi))])
    found = ap.lyapunov(sleigh, {x.d: 1.0}, 300.0).exponents
    assert found[-1] == pytest.approx(-1.3 * 0.4 / (0.7 + 1.3 * 0.16), abs=0.02) and np.abs(found[:-1]).max() < 0.04
    assert found.sum() == pytest.approx(-1.3 * 0.4 / (0.7 + 1.3 * 0.16), rel=1e-9)


def test_an_early_end_keeps_what_it_has():
    ball = zoo.bouncing_ball("e")
    values = {str(s): value for s, value in ball.parameters.items()} | {"e": 1e-9}  # too small for a limit of impacts
    found = ap.lyapunov(ball.system, ball.start, 5.0, values, every=0.2)
    assert not found.ok and "infinitely many" in found.message and 0 < len(found.t) < 10
    with pytest.raises(ap.ModelError, match="every"):
        ap.lyapunov(ball.system, ball.start, 5.0, ball.parameters, every=0.0)
