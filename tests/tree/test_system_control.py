"""Controllers on trees: expressions, and callables sampled at a fixed rate."""

import numpy as np
import pytest
import scipy.linalg

import appell as ap
from appell import zoo
from appell.errors import ModelError
from appell.simulate.sampled import simulate_sampled
from appell.tree import Inertia, Joint


def slider(**options) -> ap.Tree:
    """A mass of 2 kg on a rail."""
    return ap.Tree([Joint("s", "prismatic", axis=(1, 0, 0), body=Inertia.at_centre(2.0, (0, 0, 0), np.eye(3)))], **options)


def test_feedback_as_an_expression():
    """m s̈ = −k s − c ṡ has the damped oscillation."""
    tree = slider()
    s = tree.joint("s")
    motion = ap.simulate(tree.system(forces={s: -18 * s - 4 * s.d}), start={s: 1.0}, until=4, rtol=1e-11)
    w = np.sqrt(8.0)
    exact = np.exp(-motion.t) * (np.cos(w * motion.t) + np.sin(w * motion.t) / w)
    assert motion[s] == pytest.approx(exact, abs=1e-9)


def test_a_sampled_controller_is_the_zero_order_hold():
    """Against the exact discrete system x ← e^{A/rate} x + … u of the mass on a rail."""
    tree, rate = slider(), 20.0
    s, u = tree.joint("s"), ap.parameters("u")
    law = lambda t, q, v: {u: -18 * q[0] - 4 * v[0]}
    system = tree.system(forces={s: u})
    motion = simulate_sampled(system, law, rate, {s: 1.0}, 3.0, times=np.arange(61) / rate, rtol=1e-11)
    F = scipy.linalg.expm(np.array([[0, 1, 0], [0, 0, 0.5], [0, 0, 0]]) / rate)
    x, exact = np.array([1.0, 0.0]), [1.0]
    for _ in range(60):
        x = F[:2, :2] @ x + F[:2, 2] * (-18 * x[0] - 4 * x[1])
        exact.append(x[0])
    assert motion[s] == pytest.approx(np.array(exact), abs=1e-9)
    assert np.abs(motion.energy_error).max() < 1e-10
    held = motion[u]
    assert held[:-1] == pytest.approx(-18 * motion[s][:-1] - 4 * motion[s.d][:-1], abs=1e-9)
    assert motion.acceleration[:, 0] == pytest.approx(held / 2, abs=1e-12)


def test_a_sampled_controller_between_stops():
    tree = slider()
    s, u = tree.joint("s"), ap.parameters("u")
    system = tree.system([ap.Between(-1, s, 1, "stop", restitution=0.5)], forces={s: u})
    motion = simulate_sampled(system, lambda t, q, v: {"u": 2.0}, 10.0, until=5.0)
    assert motion.ok and len(motion.impacts) >= 2
    assert np.abs(motion[s]).max() < 1 + 1e-9
    assert motion.impacts[0].time == pytest.approx(np.sqrt(2.0), abs=1e-9)
    assert motion.reaction("stop")[-1] == pytest.approx(-2.0, abs=1e-9)  # it leans on the upper stop


def test_a_robot_with_rolling_wheels_under_sampled_control():
    """The platform is brought to a speed and a turning rate by a proportional law on its wheels."""
    example = zoo.differential_drive()
    velocity = example.system.velocities.index
    left, right = (velocity(example.system.tree.joint(side).d) for side in ("left", "right"))
    law = lambda t, q, v: {"tau_l": 2 * (4.0 - v[left]), "tau_r": 2 * (6.0 - v[right])}
    motion = simulate_sampled(example.system, law, 50.0, until=10.0)
    assert motion.v[-1, [left, right]] == pytest.approx([4.0, 6.0], abs=0.2)
    assert motion.residual.max() < 1e-10 and np.abs(motion.energy_error).max() < 1e-9
    assert motion.statistics["readings"] == 500


def test_what_a_control_may_not_answer():
    tree = slider()
    u, k = ap.parameters("u k")
    system = tree.system(forces={tree.joint("s"): u - k * tree.joint("s")})
    with pytest.raises(ModelError, match="not a parameter"):
        simulate_sampled(system, lambda t, q, v: {"w": 1.0}, 10.0)
    with pytest.raises(ModelError, match="must map inputs"):
        simulate_sampled(system, lambda t, q, v: 1.0, 10.0)
    with pytest.raises(ModelError, match="not finite"):
        simulate_sampled(system, lambda t, q, v: {"u": np.nan}, 10.0)
    with pytest.raises(ModelError, match="no value for the parameter k"):
        simulate_sampled(system, lambda t, q, v: {"u": 1.0}, 10.0)
    with pytest.raises(ModelError, match="by the control; leave it"):
        simulate_sampled(system, lambda t, q, v: {"u": 1.0, "k": 1.0}, 10.0, parameters={k: 1.0})
    with pytest.raises(ModelError, match="rate="):
        simulate_sampled(system, lambda t, q, v: {"u": 1.0}, 0.0, parameters={k: 1.0})
