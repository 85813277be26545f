"""Controllers on trees: expressions, and callables sampled at a fixed rate."""

import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

import appell as ap
from appell import zoo
from appell.errors import ModelError
from appell.tree import Inertia, Joint, place


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
    motion = ap.simulate(system, {s: 1.0}, 3.0, control=law, rate=rate, times=np.arange(61) / rate, rtol=1e-11)
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
    motion = ap.simulate(system, until=5.0, control=lambda t, q, v: {"u": 2.0}, rate=10)
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
    motion = ap.simulate(example.system, until=10.0, control=law, rate=50.0)
    assert motion.v[-1, [left, right]] == pytest.approx([4.0, 6.0], abs=0.2)
    assert motion.residual.max() < 1e-10 and np.abs(motion.energy_error).max() < 1e-9
    assert motion.statistics["readings"] == 500


# --- generalized forces as inputs ----------------------------------------------------------------------------------------

LENGTHS, MASSES, SIZE = (0.4, 0.3), (2.0, 1.5), 0.02  # m, kg, kg m² about the centres, which are half way


def arm() -> ap.Tree:
    """Two links that hang in the plane y = 0, hinged about −y: q = 0 straight down, rising angles towards +x."""
    bodies = [Inertia.at_centre(m, (0, 0, -l / 2), SIZE * np.eye(3)) for m, l in zip(MASSES, LENGTHS, strict=True)]
    return ap.Tree(
        [
            Joint("shoulder", "revolute", axis=(0, -1, 0), body=bodies[0]),
            Joint("elbow", "revolute", "shoulder", place((0, 0, -LENGTHS[0])), (0, -1, 0), bodies[1]),
        ],
        name="arm",
    )


def arm_acceleration(q, v, tau):
    """The two-link arm of every textbook."""
    (l1, l2), (m1, m2), g = LENGTHS, MASSES, 9.81
    b, s = m2 * l1 * l2 / 2 * np.cos(q[1]), m2 * l1 * l2 / 2 * np.sin(q[1])
    inner = SIZE + m2 * l2**2 / 4
    M = np.array([[SIZE + m1 * l1**2 / 4 + m2 * l1**2 + inner + 2 * b, inner + b], [inner + b, inner]])
    coriolis = np.array([-s * v[1] * (2 * v[0] + v[1]), s * v[0] ** 2])
    below = m2 * g * l2 / 2 * np.sin(q[0] + q[1])
    weight = np.array([(m1 / 2 + m2) * g * l1 * np.sin(q[0]) + below, below])
    return np.linalg.solve(M, tau - coriolis - weight)


def test_a_servo_on_every_joint_against_scipy():
    """Proportional and derivative feedback at 1 kHz, against textbook equations integrated from reading to reading."""
    tree, target = arm(), np.array([0.8, -0.5])
    tau = tree.inputs()
    assert list(map(str, tau.values())) == ["tau_shoulder", "tau_elbow"]
    torque = lambda q, v: 60 * (target - q) - 8 * v
    law = lambda t, q, v: dict(zip(tau.values(), torque(q, v), strict=True))
    times = np.array([0.05, 0.1234, 0.2])
    motion = ap.simulate(tree.system(forces=tau), until=0.2, control=law, rate=1000, times=times, rtol=1e-11)
    z, exact = np.zeros(4), []
    for k in range(200):
        held, inside = torque(z[:2], z[2:]), times[(times > k / 1000) & (times <= (k + 1) / 1000)]
        rhs = lambda t, z, u=held: np.concatenate([z[2:], arm_acceleration(z[:2], z[2:], u)])
        ends = np.unique([*inside, (k + 1) / 1000])
        found = solve_ivp(rhs, (k / 1000, (k + 1) / 1000), z, "DOP853", ends, rtol=1e-12, atol=1e-14)
        z = found.y[:, -1]
        exact += [found.y[:, np.argmin(np.abs(found.t - t))] for t in inside]
    assert np.hstack([motion.q, motion.v]) == pytest.approx(np.array(exact), abs=1e-8)
    assert motion.readings["tau_elbow"][-1] == motion["tau_elbow"][-1]
    assert np.abs(motion.energy_error).max() < 1e-9


def test_inputs_of_named_joints_and_of_a_floating_base():
    body = Inertia.at_centre(1.0, (0, 0, 0), np.diag([0.1, 0.2, 0.3]))
    joints = [Joint("free", "floating", body=body), Joint("arm", "revolute", "free", body=body, axis=(0, 1, 0))]
    joints += [Joint("ball", "spherical", "arm", body=body)]
    tree = ap.Tree(joints, gravity=(0, 0, 0))
    named = lambda inputs: [str(p) for p in inputs.values()]
    balls = ["tau_omega_ball_x", "tau_omega_ball_y", "tau_omega_ball_z"]
    assert named(tree.inputs()) == ["tau_arm", *balls] and named(tree.inputs("ball")) == balls
    assert list(tree.inputs("free", "arm")) == [*tree.speeds("free"), *tree.speeds("arm")]
    with pytest.raises(ModelError, match="no movable joint 'leg'"):
        tree.inputs("leg")


@pytest.mark.parametrize("options", [{}, {"times": np.linspace(0, 5, 23)}], ids=["steps", "times"])
def test_a_floating_base_under_sampled_control_stays_unit(options):
    """A tumbling body is brought to rest by torques on its own axes: dω/dt = −ω/τ for a ball, quaternions unit throughout."""
    tree = ap.Tree([Joint("body", "floating", body=Inertia.at_centre(2.0, (0, 0, 0), 0.5 * np.eye(3)))], gravity=(0, 0, 0))
    tau = tree.inputs("body")
    law = lambda t, q, v: dict(zip(tau.values(), -0.5 * v, strict=True))
    rates = tree.speeds("body")[3:]
    start = dict(zip(rates, (3.0, -2.0, 5.0), strict=True))
    motion = ap.simulate(tree.system(forces=tau), start, 5.0, control=law, rate=100, **options)
    for some in (motion, motion.at(np.linspace(0, 5, 57))):
        quaternion = some.q[:, 3:7]
        assert np.abs(np.linalg.norm(quaternion, axis=1) - 1).max() < 1e-14 and some.drift.position < 1e-14
    for rate in rates:
        torque = motion.readings[tau[rate]]
        assert torque[1:] == pytest.approx(0.99 * torque[:-1], rel=1e-9)  # ω ← ω (1 − 1/rate) from reading to reading
