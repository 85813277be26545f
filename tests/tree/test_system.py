"""Trees as systems: the same accelerations, motions and reactions as systems written in symbols."""

import pickle

import numpy as np
import pytest
from sympy import Matrix, cos, sin

import appell as ap
from appell import zoo
from appell.errors import FormNotApplicable, ModelError
from appell.normal_form import normal_form
from appell.tree import ChainLink, Inertia, Joint, place

LENGTHS, MASSES, G = (0.7, 0.5, 0.9), (1.2, 0.8, 0.5), 9.81


def plane_chain(**options) -> ap.Chain:
    """Three uniform bars in the x–y plane, hinged about z, weight along −y."""
    links = [
        ChainLink(m, (l / 2, 0, 0), (0.0, m * l**2 / 3, m * l**2 / 3), (l, 0, 0), (0, 0, 1))
        for m, l in zip(MASSES, LENGTHS, strict=True)
    ]
    return ap.Chain(links, gravity=(0, -G, 0), **options)


def plane_chain_in_symbols(**options) -> ap.System:
    """The same bars with T and V written out."""
    q = ap.coordinates("joint_1:4")
    bodies, height, start = [], 0, Matrix([0, 0])
    for n, (m, l) in enumerate(zip(MASSES, LENGTHS, strict=True)):
        angle = sum(q[: n + 1])
        along = Matrix([cos(angle), sin(angle)])
        centre = start + l / 2 * along
        bodies.append(ap.RigidBody(m, m * l**2 / 12, list(centre), angle))
        height += m * centre[1]
        start = start + l * along
    return ap.System(coordinates=q, bodies=bodies, potential=G * height, **options)


def states(nq: int, nv: int, count: int = 5):
    rng = np.random.default_rng(7)
    return [(rng.uniform(-1, 1, nq), rng.uniform(-2, 2, nv)) for _ in range(count)]


def accelerations(system, q, v, parameters=None):
    return ap.compile(system, parameters, backend="vm").acceleration(0.3, q, v)


def test_a_chain_moves_as_the_same_system_with_T_and_V():
    q1, q2, q3 = ap.coordinates("joint_1:4")
    c = ap.parameters("c")
    options = {"forces": {q2: -c * q2.d + sin(ap.t), q3: 0.4 * q1}}
    tree, symbols = plane_chain().system(**options), plane_chain_in_symbols(**options)
    for q, v in states(3, 3):
        a, b = (accelerations(s, q, v, {c: 0.3})[0] for s in (tree, symbols))
        assert a == pytest.approx(b, abs=1e-10, rel=1e-10)


def test_constraints_in_joint_coordinates_have_the_same_reactions():
    q1, q2, q3 = ap.coordinates("joint_1:4")
    rows = [ap.Constraint(q1 + q2**2 - 0.3, "position"), ap.Constraint(q3.d - q1 * q2.d, "velocity")]
    tree, symbols = plane_chain().system(rows), plane_chain_in_symbols(constraints=rows)
    for q, v in states(3, 3):
        for x, y in zip(accelerations(tree, q, v), accelerations(symbols, q, v), strict=True):
            assert x == pytest.approx(y, abs=1e-10, rel=1e-10)


def test_a_potential_of_a_frame_is_a_spring():
    tip = plane_chain().frame("link_3").at((LENGTHS[2], 0, 0))
    k, far = 12.0, tip.position - Matrix([1, 0.5, 0])
    tree = plane_chain().system(potential=k / 2 * far.dot(far))
    run = ap.compile(tree, backend="vm")
    motion = ap.simulate(run, start={"joint_1": 0.3}, until=3)
    assert np.abs(motion.energy_error).max() < 1e-9  # the tolerance of the steps
    for q, v in states(3, 3):
        R, p = plane_chain().placement("link_3", q)
        stretch = p + R @ [LENGTHS[2], 0, 0] - [1, 0.5, 0]
        J = plane_chain().jacobian("link_3", q)
        arm = R @ [LENGTHS[2], 0, 0]
        J_tip = J[:3] - np.cross(arm, J[3:].T).T
        a = plane_chain().forward_dynamics(q, v, -k * J_tip.T @ stretch)
        assert run.acceleration(0.0, q, v)[0] == pytest.approx(a, abs=1e-10)


def test_loads_on_frames_are_the_transposed_jacobian():
    tree = spatial_tree(backend="vm")
    frame, g = tree.frame("arm"), ap.parameters("g")
    force, torque = [1.0, g, -0.5 * frame.velocity[2]], [0.3, -0.2, ap.t]
    loads = [(force, frame.at((0.1, 0.2, 0.3)).velocity), (torque, frame.angular_velocity)]
    run = ap.compile(tree.system(loads=loads), {g: 2.0}, backend="vm")
    for q, v in spatial_states(tree):
        J, (R, _) = tree.jacobian("arm", q), tree.placement("arm", q)
        F, tau = np.array([1.0, 2.0, -0.5 * (J @ v)[2]]), np.array([0.3, -0.2, 0.7])
        Q = J[:3].T @ F + J[3:].T @ (tau + np.cross(R @ [0.1, 0.2, 0.3], F))
        assert run.acceleration(0.7, q, v)[0] == pytest.approx(tree.forward_dynamics(q, v, Q), abs=1e-10)
    with pytest.raises(ModelError, match="is no velocity"):
        tree.system(loads=[(force, frame.position)])


def spatial_tree(**options) -> ap.Tree:
    """A floating body, a ball joint, a hinge, a slide and a plane joint; damped, with rotors; no symmetry."""
    body = lambda k: Inertia.at_centre(1.0 + k, (0.1, -0.2 * k, 0.3), np.diag([0.5, 0.4 + 0.1 * k, 0.6]))
    return ap.Tree(
        [
            Joint("root", "floating", body=body(0)),
            Joint("ball", "spherical", "root", place((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)), body=body(1), damping=0.2),
            Joint("arm", "revolute", "ball", place((0.4, 0, 0.1)), (1, 2, 3), body(2), 0.3, 0.1),
            Joint("slide", "prismatic", "root", place((0, 0.5, 0)), (0, 1, 1), body(1), 0.2),
            Joint("table", "planar", "slide", place((0, 0, 0.4), (1, 0, 0)), (0, 1, 0), body(0), damping=0.4),
        ],
        **options,
    )


def spatial_states(tree: ap.Tree, count: int = 5):
    """Random states with unit quaternions."""
    for q, v in states(tree.nq, tree.nv, count):
        for first in (3, 7):
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        yield q, v


def test_without_rows_it_is_forward_dynamics():
    tree = spatial_tree(backend="vm")
    system, tau = tree.system(), np.zeros(tree.nv)
    run, form = ap.compile(system, backend="vm"), normal_form(system)
    for q, v in spatial_states(tree):
        a = tree.forward_dynamics(q, v, tau)
        assert run.acceleration(0.0, q, v)[0] == pytest.approx(a, abs=1e-10)
        out = form.select("M", "h", "Q", "qd", "T", "V")(0.0, q, v, [])
        assert out["M"] == pytest.approx(tree.mass_matrix(q), abs=1e-12)
        assert out["h"] - out["Q"] == pytest.approx(tree.bias(q, v), abs=1e-11)
        assert out["qd"] == pytest.approx(tree.rate(q, v), abs=1e-13)
        assert out["T"] + out["V"] == pytest.approx(tree.energy(q, v), abs=1e-11)


def test_h_is_inertia_only_and_weight_is_minus_the_gradient_of_V():
    """−NᵀV_q by finite differences along q̇ = N v."""
    tree = spatial_tree(backend="vm")
    form = normal_form(tree.system())
    for q, v in spatial_states(tree, 2):
        at = lambda name, q, v: form.select(name)(0.0, q, v, [])[name]
        assert at("h", q, 0 * v) == pytest.approx(np.zeros(tree.nv), abs=1e-12)
        dq, eps = at("qd", q, v), 1e-6
        slope = (at("V", q + eps * dq, v) - at("V", q - eps * dq, v)) / (2 * eps)
        weight = at("Q", q, 0 * v)
        assert slope == pytest.approx(-weight @ v, abs=1e-7)  # central differences, error eps² and 1e-16/eps


def test_a_floating_body_is_the_rigid_body_with_a_quaternion():
    J, m = [0.3, 0.5, 0.7], 2.0
    tree = ap.Tree([Joint("root", "floating", body=Inertia.at_centre(m, (0, 0, 0), np.diag(J)))])
    ball = ap.quaternion("base")
    place_ = ap.coordinates("x y z")
    body = ap.RigidBody(m, J, list(place_), ball)
    symbols = ap.System(coordinates=[*place_, ball], bodies=[body], potential=m * G * place_[2])
    omega = {f"omega_base_{i}": w for i, w in zip("xyz", (1.0, 0.2, 3.0), strict=True)}
    times = np.linspace(0, 5, 11)
    one = ap.simulate(tree.system(), start={"v_base_x": 1.0, **omega}, until=5, times=times, rtol=1e-12)
    two = ap.simulate(symbols, start={"x.d": 1.0, **omega}, until=5, times=times, rtol=1e-12)
    for name in ("x", "y", "z", "base_x", "base_y", "base_z", "base_w"):
        assert one[name] == pytest.approx(two[name], abs=1e-9)
    assert one.drift.position < 1e-14  # the quaternion stays unit
    assert np.abs(one.energy_error).max() < 1e-11


def test_frames_are_read_from_a_motion():
    tree = spatial_tree()
    motion = ap.simulate(tree.system(), start={"arm.d": 1.0, "omega_ball_x": 0.5}, until=0.5)
    frame, (q, v) = tree.frame("table"), (motion.q[-1], motion.v[-1])
    R, p = tree.placement("table", q)
    twist = tree.jacobian("table", q) @ v
    read = lambda M: np.array([motion[x][-1] for x in M]).reshape(M.shape)
    assert read(frame.position).ravel() == pytest.approx(p, abs=1e-13)
    assert read(frame.rotation) == pytest.approx(R, abs=1e-13)
    assert np.concatenate([read(frame.velocity), read(frame.angular_velocity)]).ravel() == pytest.approx(twist, abs=1e-12)
    spin = np.cross(twist[3:], R.T).T  # Ṙ = [ω×] R
    assert np.array([[motion[x.d][-1] for x in row] for row in frame.rotation.tolist()]) == pytest.approx(spin, abs=1e-12)


def test_acceleration_of_a_frame_is_the_derivative_of_its_velocity():
    tree = spatial_tree()
    motion = ap.simulate(tree.system(), start={"arm.d": 1.0, "omega_ball_x": 0.5}, until=0.5, rtol=1e-12)
    x, omega, eps = tree.frame("arm").position[0], tree.frame("arm").angular_velocity[1], 1e-4
    near = motion.at([0.3 - eps, 0.3, 0.3 + eps])
    for velocity in (x.d, omega):
        slope = (near[velocity][2] - near[velocity][0]) / (2 * eps)
        assert near[velocity.d][1] == pytest.approx(slope, abs=1e-6)


def test_damping_takes_the_energy_that_the_balance_says():
    motion = ap.simulate(spatial_tree(gravity=(0, 0, 0)).system(), start={"arm.d": 2.0, "omega_ball_y": 1.0}, until=2)
    assert np.abs(motion.energy_error).max() < 1e-9
    assert motion.energy[-1] < motion.energy[0]


def test_joint_stops_reflect():
    pendulum = ap.Tree([Joint("swing", "revolute", axis=(0, 1, 0), body=Inertia.at_centre(1, (0, 0, -1), np.zeros((3, 3))))])
    phi = pendulum.joint("swing")
    system = pendulum.system([ap.Between(-0.5, phi, 0.5, "stop")])
    motion = ap.simulate(system, start={phi.d: 2.0}, until=3)
    assert np.abs(motion[phi]).max() < 0.5 + 1e-9
    assert len(motion.impacts) > 3
    assert np.abs(motion.energy_error).max() < 1e-9  # elastic


def test_replace_and_pickle():
    system = plane_chain().system(name="three bars")
    again = pickle.loads(pickle.dumps(system.replace(forces={ap.coordinates("joint_1"): 1})))
    q, v = states(3, 3, 1)[0]
    expected = plane_chain().forward_dynamics(q, v, [1.0, 0, 0])
    assert accelerations(again, q, v)[0] == pytest.approx(expected, abs=1e-11)


def test_errors_say_what_to_do():
    tree = plane_chain()
    with pytest.raises(FormNotApplicable, match=r"is a tree.*symbolic\(\)"):
        _ = tree.system().kinetic
    with pytest.raises(ModelError, match="no frame 'elbow'"):
        tree.frame("elbow")
    with pytest.raises(ModelError, match="no frame 'table'"):
        tree.system([spatial_tree().frame("table").position[0]])
    with pytest.raises(ModelError, match="no movable joint"):
        tree.joint("elbow")
    with pytest.raises(ModelError, match="missing from coordinates="):
        tree.system([ap.coordinates("other")])
    with pytest.raises(ModelError, match="highest derivative"):
        tree.system(forces={tree.joint("joint_1"): tree.frame("link_2").velocity[0].d})
    twins = [Joint(name, "revolute", body=Inertia.at_centre(1, (1, 0, 0), np.eye(3))) for name in ("a-b", "a_b")]
    with pytest.raises(ModelError, match="both want the symbol"):
        ap.Tree(twins).system()


def test_every_robot_of_the_zoo_runs():
    for make in zoo.ROBOTS.values():
        example = make()
        motion = ap.simulate(example.system, start=example.start, until=0.5, parameters=example.parameters)
        assert motion.ok and np.abs(motion.energy_error).max() < 1e-8 and motion.residual.max() < 1e-10
