"""`ap.variations` against differences of simulated motions (extrapolated to order 4), and against theorems."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin
from tests.measures import extrapolated_slope

import appell as ap
from appell import zoo

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
x, y = ap.coordinates("x y")
g, a = ap.parameters("g a", positive=True)


def end(system, state, until, parameters, free):
    start = dict(zip((*system.coordinates, *system.velocities), map(float, state), strict=True))
    start = start if free else ap.consistent(system, start, parameters)
    motion = ap.simulate(system, start, until, parameters, times=[until], rtol=1e-13, atol=1e-15)
    return np.concatenate([motion.q[-1], motion.v[-1]])


def compare(system, start, until, parameters, tolerance=1e-8, by=None):
    """Φ along the tangent directions of the start, and Ψ, at the end."""
    found = ap.variations(system, start, until, parameters, by=by, **TIGHT)
    assert found.ok, found.message
    z = np.array([float(start.get(s, 0)) for s in (*system.coordinates, *system.velocities)])
    named = {str(k): v for k, v in parameters.items()}
    free = not system.constraints and not system.quaternions
    P = found.state[0]
    assert pytest.approx(P, abs=1e-12) == P @ P
    Phi = np.array([extrapolated_slope(lambda h, d=d: end(system, z + h * d, until, named, free), 2e-4) for d in P.T]).T
    scale = max(1.0, np.abs(Phi).max())
    assert np.abs(found.monodromy - Phi).max() < tolerance * scale
    if free:
        for j, name in enumerate(found.parameter_names):
            step = lambda h, name=name: end(system, z, until, {**named, name: named[name] + h}, True)
            column = extrapolated_slope(step, 1e-4 * max(abs(named[name]), 1))
            assert np.abs(found.parameters[-1][:, j] - column).max() < tolerance * max(1.0, np.abs(column).max()), name
    return found


@pytest.mark.parametrize("name", ["rolling_disc", "snakeboard", "four_bar", "heavy_top_quaternion", "sleigh"])
def test_constraints_and_quaternions(name):
    example = getattr(zoo, name)()
    compare(example.system, example.start, 1.0, example.parameters)


def test_impacts_with_parameters():
    example = zoo.oscillator_with_wall()
    found = compare(example.system, example.start, 7.0, example.parameters)
    assert len(found.motion.impacts) == 2
    compare(zoo.bouncing_ball("e").system, zoo.bouncing_ball("e").start, 1.2, zoo.bouncing_ball("e").parameters)


def test_a_moving_wall():
    example = zoo.block_on_vibrating_table()
    found = compare(example.system, {**example.start}, 0.2, example.parameters)
    assert len(found.motion.impacts) >= 1


def test_coupled_impacts():
    example = zoo.arm_with_joint_stops()
    found = compare(example.system, example.start, 1.0, example.parameters)
    assert any(i.kind == "impact" for i in found.motion.impacts)


def test_contact_and_release():
    """A taut thread goes slack and hits again."""
    example = zoo.thread_pendulum(slack=False)
    found = compare(example.system, example.start, 1.6, example.parameters, by=[])
    assert [i.kind for i in found.motion.impacts] == ["landing", "leaving", "impact", "impact"]
    assert found.parameters.shape[2] == 0


HILL = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, {}, [ap.Unilateral(y - a * cos(x), "hill", restitution=0)])


def test_through_a_landing():
    """Falling on a hill without restitution: rank is lost at the landing, and all of it is along the hill afterwards."""
    found = compare(HILL, {x: -2.0, y: 0.8, x.d: 2.5}, 1.2, {g: 9.81, a: 0.5})
    assert found.motion.contacts[-1][1] == (0,)
    assert np.linalg.matrix_rank(found.monodromy, tol=1e-8) == 2


def test_evaluator_and_compiled_loop_agree():
    example = zoo.oscillator_with_wall()
    one, two = (
        ap.variations(example.system, example.start, 7.0, example.parameters, backend=b, **TIGHT) for b in ("c", "vm")
    )  # fmt: skip
    assert one.monodromy == pytest.approx(two.monodromy, abs=1e-9)


def test_liouville_through_impacts():
    """det Φ = exp(−h t) of a damped oscillator with elastic impacts, and e² for each impact with restitution e."""
    example = zoo.oscillator_with_wall()
    found = ap.variations(example.system, example.start, 30.0, example.parameters, by=[], **TIGHT)
    h = next(v for k, v in example.parameters.items() if str(k) == "h")
    assert np.linalg.det(found.state) == pytest.approx(np.exp(-h * found.t), rel=1e-7)
    ball = zoo.bouncing_ball("e")
    bounced = ap.variations(ball.system, ball.start, 1.5, ball.parameters, by=[], **TIGHT)
    assert np.linalg.det(bounced.monodromy) == pytest.approx(0.8 ** (2 * len(bounced.motion.impacts)), rel=1e-9)


def test_samples_before_and_after_an_impact():
    """At an impact both sides stand one behind the other; the velocity's derivative turns round."""
    ball = zoo.bouncing_ball()
    motion = ap.simulate(ball.system, ball.start, 1.0, ball.parameters)
    found = ap.variations(motion)
    assert len(found.t) == len(motion.t)
    first = motion.impacts[0].time
    before, after = np.flatnonzero(found.t == first)[[0, -1]]
    assert found.state[before, 0, 0] == pytest.approx(1, abs=1e-9)
    assert found.state[after, 0, 0] == pytest.approx(-1, abs=1e-9)
    assert found.dataset.state.dims == ("t", "of", "by")
    found.plot()


def test_where_a_derivative_does_not_exist():
    corner = zoo.ball_in_corner()
    together = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {}, [ap.Unilateral(x, "wall"), ap.Unilateral(y, "floor")])
    both = ap.variations(together, {x: 1, y: 1, x.d: -1, y.d: -1}, 2.0)
    assert not both.ok and "several blows" in both.message
    assert corner.system.unilateral


def test_wrong_requests():
    ball = zoo.bouncing_ball()
    motion = ap.simulate(ball.system, ball.start, 0.4, ball.parameters)
    with pytest.raises(ap.ModelError, match="no parameter"):
        ap.variations(motion, by=["mass"])
    with pytest.raises(ap.ModelError, match="has its start"):
        ap.variations(motion, {x: 1})
    with pytest.raises(ap.ModelError, match="within the run"):
        ap.variations(motion, times=[0.5])
    force = ap.System([x], x.d**2 / 2, 0, {x: a * sin(ap.t)})
    steered = ap.simulate(force, {x: 1}, 0.1, control=lambda t, q, v: {a: 1.0}, rate=100.0)
    with pytest.raises(ap.ModelError, match="sampled control"):
        ap.variations(steered)


def test_heavy_bodies_have_the_derivatives_of_light_ones():
    """A motion at given times is computed again with its tolerance of states, not with that of its work."""
    y = ap.coordinates("y")
    g, m = ap.parameters("g m", positive=True)
    ball = ap.System([y], m * y.d**2 / 2, m * g * y, constraints=[ap.Unilateral(y, name="floor", restitution=0.7)])
    found = []
    for mass in (1.0, 2e30):
        motion = ap.simulate(ball, {y: 1.0}, 0.9, {m: mass, g: 9.0}, times=np.linspace(0, 0.9, 4), backend="vm")
        found.append(ap.variations(motion, by=[g], times=motion.t))
    np.testing.assert_allclose(found[1].state, found[0].state, rtol=1e-9)
    np.testing.assert_allclose(found[1].parameters, found[0].parameters, rtol=1e-9, atol=1e-12)
