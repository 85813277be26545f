"""Closed loops, rolling wheels and contacts on trees, each against something known otherwise."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell as ap
from appell import zoo
from appell.errors import ModelError
from appell.normal_form import normal_form
from appell.tree import Inertia, Joint, contact_point, loop, place, rolling

BODY = Inertia.at_centre(1.5, (0.2, -0.1, 0.3), [[0.4, 0.05, 0.02], [0.05, 0.5, 0.03], [0.02, 0.03, 0.6]])
AT = place((0.3, -0.2, 0.5), (0.4, -0.3, 0.8))


def free_body() -> ap.Tree:
    return ap.Tree([Joint("free", "floating", body=BODY, link="body")])


def jointed(*kinds) -> ap.Tree:
    """The body behind massless joints of these kinds, (kind, axis), one after the other, at AT."""
    joints: list[Joint] = []
    for n, (kind, axis) in enumerate(kinds):
        last = n == len(kinds) - 1
        body, link = (BODY, "body") if last else (None, None)
        joints.append(Joint(f"j{n}", kind, f"j{n - 1}" if n else None, place() if n else AT, axis, body, link=link))
    return ap.Tree(joints)


PEERS = {
    "revolute": [("revolute", (0, 0, 1))],
    "prismatic": [("prismatic", (0, 0, 1))],
    "spherical": [("spherical", (0, 0, 1))],
    "planar": [("planar", (0, 0, 1))],
    "cylindrical": [("prismatic", (0, 0, 1)), ("revolute", (0, 0, 1))],
    "universal": [("revolute", (0, 0, 1)), ("revolute", (1, 0, 0))],
}


@pytest.mark.parametrize("kind", sorted(PEERS))
def test_a_free_body_in_a_loop_is_the_body_behind_that_joint(kind):
    """Accelerations of the joint, and with them the twist rate of the body, agree; the loop is closed in every state."""
    peer, free = jointed(*PEERS[kind]), free_body()
    ground = free.frame("world").at(AT.p, Rotation.from_matrix(AT.R).as_euler("xyz"), name="ground")
    system = free.system(loop(ground, free.frame("body"), kind, name="joint"))
    run, form = ap.compile(system, backend="vm"), normal_form(system)
    rng = np.random.default_rng(5)
    for _ in range(3):
        q, v = rng.uniform(-1, 1, peer.nq), rng.uniform(-1, 1, peer.nv)
        if kind == "spherical":
            q /= np.linalg.norm(q)
        R, p = peer.placement("body", q)
        twist = peer.jacobian("body", q, reference="local") @ v
        state = np.concatenate([p, Rotation.from_matrix(R).as_quat()])
        out = form.select("f0", "f1")(0.0, state, twist, [])
        assert np.abs(out["f0"]).max() < 1e-12 and np.abs(out["f1"]).max() < 1e-12
        a, _ = run.acceleration(0.0, state, twist)
        assert a == pytest.approx(twist_rate(peer, q, v), abs=1e-10)


def twist_rate(tree: ap.Tree, q, v) -> np.ndarray:
    """(Rᵀp̈ − ω × v, Rᵀω̇) of the body falling behind its joint, on its own axes, from the symbols of its frame."""
    frame, run = tree.frame("body"), ap.compile(tree.system(), backend="vm")
    read = lambda M: np.array([run.values(x.d, [0.0], q[None], v[None])[0] for x in M])
    R, _ = tree.placement("body", q)
    twist = tree.jacobian("body", q, reference="local") @ v
    return np.concatenate([R.T @ read(frame.velocity) - np.cross(twist[3:], twist[:3]), R.T @ read(frame.angular_velocity)])


def test_a_fixed_loop_carries_the_weight():
    free = free_body()
    system = free.system(loop(free.frame("world"), free.frame("body"), "fixed", name="weld"))
    motion = ap.simulate(system, until=0.1)
    assert motion.acceleration == pytest.approx(np.zeros_like(motion.acceleration), abs=1e-12)
    assert motion.reaction("weld: z") == pytest.approx(1.5 * 9.81)
    # moment about x of the weight at y = -0.1: carried by the row z·y
    assert np.abs(motion.reaction("weld: z·y")) == pytest.approx(1.5 * 9.81 * 0.1)


def test_a_distance_is_kept():
    free = free_body()
    l = ap.parameters("l", positive=True)
    system = free.system(loop(free.frame("world"), free.frame("body"), "distance", distance=l, name="thread"))
    motion = ap.simulate(system, start={"x": 1.0, "v_base_y": 1.0}, parameters={l: 1.0}, until=3)
    assert np.linalg.norm(motion["x", "y", "z"], axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(motion.energy_error).max() < 1e-9


def test_four_bar_from_a_robot_file_is_the_four_bar_of_the_zoo():
    robot, classic = zoo.four_bar_urdf(), zoo.four_bar()
    tree, rng = robot.system.tree, np.random.default_rng(2)
    names = [node.name for node in tree.nodes]
    run = ap.compile(robot.system, backend="vm")
    peer = ap.compile(classic.system, classic.parameters, backend="vm")
    start = [classic.start[s] for s in classic.system.coordinates]
    for _ in range(4):
        state = dict(zip(classic.system.coordinates, start + rng.uniform(-0.2, 0.2, 3), strict=True))
        state |= dict(zip(classic.system.velocities, rng.uniform(-3, 3, 3), strict=True))
        whole = ap.consistent(classic.system, state, classic.parameters)
        theta, rate = (np.array([whole[s] for s in x]) for x in (classic.system.coordinates, classic.system.velocities))
        relative = lambda x: {"crank_joint": x[0], "coupler_joint": x[1] - x[0], "rocker_joint": x[2]}
        q, v = ([relative(x)[name] for name in names] for x in (theta, rate))
        a, lam = run.acceleration(0.0, np.array(q), np.array(v))
        b, mu = peer.acceleration(0.0, theta, rate)
        assert a == pytest.approx([relative(b)[name] for name in names], abs=1e-10, rel=1e-10)
        assert np.hypot(*lam) == pytest.approx(np.hypot(*mu), rel=1e-9)  # the same pin force on other axes


def test_the_four_bar_stays_closed_for_100_s():
    example = zoo.four_bar_urdf()
    motion = ap.simulate(example.system, start=example.start, until=100, rtol=1e-11)
    assert motion.ok and motion.drift.position < 1e-10
    assert np.abs(motion.energy_error).max() < 1e-7


def test_a_spatial_hinge_closes_a_plane_four_bar():
    """Three of the five rows say nothing new; accelerations do not mind, their reactions are zero."""
    example = zoo.four_bar_urdf()
    tree = example.system.tree
    hinge = loop(tree.frame("coupler_tip"), tree.frame("rocker_tip"), "revolute", name="hinge")
    motion = ap.simulate(tree.system(hinge), start=example.start, until=5, times=[5], rtol=1e-11)
    other = ap.simulate(example.system, start=example.start, until=5, times=[5], rtol=1e-11)
    assert motion.q == pytest.approx(other.q, abs=1e-8)
    assert set(motion.redundant) == {"hinge: z", "hinge: z·x", "hinge: z·y"}
    assert motion.multipliers[:, 2:] == pytest.approx(np.zeros((1, 3)), abs=1e-12)


def test_the_stewart_platform_stays_closed_for_100_s():
    example = zoo.stewart_platform()
    motion = ap.simulate(example.system, start=example.start, until=100, parameters=example.parameters)
    assert motion.ok and motion.drift.position < 1e-10
    assert np.abs(motion.energy_error).max() < 1e-9
    assert motion["z"].max() - motion["z"].min() > 0.01  # it moves


def test_a_static_stewart_platform_shares_the_weight():
    """Held at rest, the vertical reactions of the balls add up to the platform's weight."""
    example = zoo.stewart_platform()
    system = example.system
    legs = [ap.Constraint(system.tree.joint(f"leg{i}"), f"held {i}") for i in range(1, 7)]
    held = system.replace(constraints=[*system.constraints, *legs])
    motion = ap.simulate(held, start=example.start, until=0.01, parameters=example.parameters)
    lift = sum(motion.reaction(f"ball {i}: z") for i in range(1, 7))
    assert lift == pytest.approx(60.0 * 9.81, abs=1e-6)


def test_differential_drive_follows_its_kinematics():
    """From ω_l(t), ω_r(t) the path follows; with the torques off and the centre on the axle it is a circle."""
    example = zoo.differential_drive()
    tree = example.system.tree
    left, right = tree.joint("left"), tree.joint("right")
    motion = ap.simulate(example.system, start=example.start, until=10, parameters=example.parameters, rtol=1e-11)
    radius, half = 0.1, 0.25
    psi = radius / (2 * half) * (motion[right] - motion[left])
    assert motion["heading"] == pytest.approx(psi, abs=1e-9)
    ahead = motion["x_heading"] * 0 + radius / 2 * (motion[left.d] + motion[right.d])
    x, y = (ap.coordinates(f"{i}_heading") for i in "xy")
    assert motion[x.d] == pytest.approx(ahead * np.cos(psi), abs=1e-9)
    assert motion[y.d] == pytest.approx(ahead * np.sin(psi), abs=1e-9)
    assert np.abs(motion.energy_error).max() < 1e-10


def test_differential_drive_without_torques_runs_in_a_circle():
    body = Inertia.at_centre(10.0, (0, 0, 0), np.diag([0.2, 0.3, 0.4]))
    example = zoo.differential_drive()
    joints = [Joint("heading", "planar", placement=place((0, 0, 0.1)), body=body), *example.system.tree.joints[1:]]
    tree = ap.Tree(joints)
    left, right = tree.frame("left_wheel"), tree.frame("right_wheel")
    rows = [rolling(left, 0.1, height=None), rolling(right, 0.1, height=None, sideways=False)]
    motion = ap.simulate(tree.system(rows), start=example.start, until=20, rtol=1e-11)
    speed, turning = 0.4, 0.4  # r/2 (3 + 5) m/s, r/(2b) (5 − 3) rad/s
    R = speed / turning
    assert motion["x_heading"] == pytest.approx(R * np.sin(turning * motion.t), abs=1e-8)
    assert motion["y_heading"] == pytest.approx(R * (1 - np.cos(turning * motion.t)), abs=1e-8)
    # the wheels carry m v²/R across: body and both wheels
    assert np.abs(motion.reaction("left_wheel: across")) == pytest.approx((10 + 1.6) * speed**2 / R, rel=1e-8)


def disc(m: float, r: float) -> ap.Tree:
    """A thin uniform disc with its axis along y."""
    body = Inertia.at_centre(m, (0, 0, 0), m * r**2 / 4 * np.diag([1, 2, 1]))
    return ap.Tree([Joint("free", "floating", body=body, link="disc")])


def test_a_thin_wheel_upright_rolls_along_a_line():
    m, r = 2.0, 0.3
    tree = disc(m, r)
    system = tree.system(rolling(tree.frame("disc"), r))
    motion = ap.simulate(system, start={"z": r, "v_base_x": 0.6, "omega_base_y": 2.0}, until=2, rtol=1e-11)
    assert motion["x"] == pytest.approx(0.6 * motion.t, abs=1e-9)
    assert motion.reaction("disc: height") == pytest.approx(m * 9.81)


def test_a_thin_wheel_is_the_rolling_disc():
    """Leaning and turning as `zoo.rolling_disc`, which has Euler angles: one path, one set of reactions."""
    example, (r, lean, turn, spin) = zoo.rolling_disc(), (0.5, 0.2, 0.5, 8.0)
    tree, times = disc(1.0, r), np.linspace(0, 5, 21)
    start = {
        "z": r * np.cos(lean), "base_x": np.sin(lean / 2), "base_w": np.cos(lean / 2),
        "v_base_x": r * (spin + turn * np.sin(lean)),
        "omega_base_y": spin + turn * np.sin(lean), "omega_base_z": turn * np.cos(lean),
    }  # fmt: skip
    system = tree.system(rolling(tree.frame("disc"), r))
    motion = ap.simulate(system, start=start, until=5, times=times, rtol=1e-11)
    other = ap.simulate(example.system, example.start, 5, example.parameters, times=times, rtol=1e-11)
    assert motion["x", "y", "z"] == pytest.approx(other["x", "y", "z"], abs=1e-7)
    for mine, theirs in (("height", "height"), ("along", "rolling"), ("across", "side")):
        assert motion.reaction(f"disc: {mine}") == pytest.approx(other.reaction(theirs), abs=1e-6)
    assert np.abs(motion.energy_error).max() < 1e-9 and motion.residual.max() < 1e-10


def test_a_ball_rolls_down_with_five_sevenths_of_the_weight_along():
    m, r, slope = 1.3, 0.2, 0.1
    ball = Inertia.at_centre(m, (0, 0, 0), 0.4 * m * r**2 * np.eye(3))
    gravity = (9.81 * np.sin(slope), 0, -9.81 * np.cos(slope))
    tree = ap.Tree([Joint("free", "floating", body=ball, link="ball")], gravity=gravity)
    motion = ap.simulate(tree.system(rolling(tree.frame("ball"), r, axis=None)), start={"z": r}, until=2, rtol=1e-11)
    assert motion["x"] == pytest.approx(5 / 14 * 9.81 * np.sin(slope) * motion.t**2, abs=1e-9)


def test_the_wheeled_leg_rolls():
    example = zoo.wheeled_leg()
    motion = ap.simulate(example.system, start=example.start, until=4, parameters=example.parameters)
    wheel = example.system.tree.frame("wheel")
    assert motion[wheel.velocity[0]] == pytest.approx(0.08 * motion[wheel.angular_velocity[1]], abs=1e-10)
    assert motion[wheel.position[2]] == pytest.approx(np.full(len(motion), 0.08), abs=1e-10)
    assert np.abs(motion.energy_error).max() < 1e-9


def test_contact_points_hold_and_slide():
    body = Inertia.at_centre(2.0, (0, 0, 0), np.diag([0.1, 0.2, 0.3]))
    tree = ap.Tree([Joint("free", "floating", body=body, link="body")])
    feet = [(1, 0, -1), (-1, 1, -1), (-1, -1, -1)]
    frame, start = tree.frame("body"), {"z": 1.0}
    slide = [contact_point(frame, foot, slips=True, name=f"foot {i}") for i, foot in enumerate(feet)]
    motion = ap.simulate(tree.system(slide), start={**start, "v_base_x": 1.0}, until=1)
    assert motion["x"] == pytest.approx(motion.t, abs=1e-10)
    assert sum(motion.reaction(f"foot {i}: height") for i in range(3)) == pytest.approx(2.0 * 9.81)
    held = [contact_point(frame, feet[0], name="toe")]
    system = tree.system(held)
    motion = ap.simulate(system, start={**start}, until=0.5)
    toe = frame.at(feet[0])
    assert motion[toe.position[0]] == pytest.approx(np.ones(len(motion)), abs=1e-10)
    assert np.abs(motion.energy_error).max() < 1e-9


def test_a_one_sided_contact_bounces():
    body = Inertia.at_centre(1.0, (0, 0, 0), np.eye(3))
    tree = ap.Tree([Joint("free", "floating", body=body, link="body")])
    system = tree.system(contact_point(tree.frame("body"), one_sided=True, restitution=1, name="floor"))
    motion = ap.simulate(system, start={"z": 1.0}, until=2.0)
    fall = np.sqrt(2 / 9.81)
    assert [impact.time for impact in motion.impacts] == pytest.approx([fall, 3 * fall], abs=1e-8)


@pytest.mark.parametrize("kinds", ["revolute revolute", "spherical spherical", "revolute cylindrical"])
def test_a_door_on_two_hinges(kinds):
    """More rows than are needed, dependent on each other: the motion is that of one hinge."""
    body = Inertia.at_centre(3.0, (0.4, 0, 0.1), np.diag([0.3, 0.4, 0.5]))
    gravity = (0, 1.0, -9.81)
    free = ap.Tree([Joint("free", "floating", body=body, link="door")], gravity=gravity)
    wall, door = free.frame("world"), free.frame("door")
    rows = [loop(wall.at((0, 0, z)), door.at((0, 0, z)), kind) for z, kind in zip((0.3, 1.5), kinds.split(), strict=True)]
    named = [ap.Constraint(c.residual, f"{k} {c.name}") for k, some in enumerate(rows) for c in some]
    motion = ap.simulate(free.system(named), start={"omega_base_z": 1.0}, until=3)
    hinge = ap.simulate(ap.Tree([Joint("hinge", body=body)], gravity=gravity).system(), start={"hinge.d": 1.0}, until=3)
    angle = 2 * np.arctan2(motion["base_z"][-1], motion["base_w"][-1])
    assert np.cos(angle - hinge["hinge"][-1]) == pytest.approx(1, abs=1e-14)
    assert motion.redundant and motion.drift.position < 1e-12


def test_a_massless_joint_is_driven_by_its_constraint():
    """A link without inertia has an acceleration only where a constraint gives it one."""
    bar = Inertia.at_centre(1.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.01]))
    tree = ap.Tree([Joint("swing", "revolute", axis=(0, 1, 0), body=bar), Joint("idle", "revolute", "swing", axis=(1, 0, 0))])
    with pytest.raises(ModelError, match="idle"):
        tree.system()
    swing, idle = tree.joint("swing"), tree.joint("idle")
    motion = ap.simulate(tree.system([ap.Constraint(idle - swing, "gear")]), start={swing: 0.5, idle: 0.5}, until=2)
    alone = ap.simulate(ap.Tree(tree.joints[:1]).system(), start={swing: 0.5}, until=2)
    assert motion[swing][-1] == pytest.approx(alone[swing][-1], abs=1e-8)


def test_errors_of_loops():
    free = free_body()
    with pytest.raises(ModelError, match="no loop of kind 'screw'"):
        loop(free.frame("world"), free.frame("body"), "screw")
    with pytest.raises(ModelError, match="needs l"):
        loop(free.frame("world"), free.frame("body"), "distance")
    with pytest.raises(ModelError, match="write 'x', 'y', 'z'"):
        free.frame("body").axis("w")


def test_loops_are_closed_at_requested_times_however_often_the_crank_has_turned():
    """After 160 turns the angles are a thousand radians; the gap, by the placements of the two tips, is far below 1e-10 m."""
    example = zoo.ROBOTS["four_bar_urdf"]()
    motion = ap.simulate(example.system, example.start, 100.0, times=np.linspace(0, 100, 20_011))
    q = np.array([motion[angle] for angle in example.system.coordinates]).T
    tree = example.system.tree
    assert np.abs(q).max() > 500
    assert np.abs(tree.placement("coupler_tip", q)[1] - tree.placement("rocker_tip", q)[1]).max() < 3e-11


def test_an_overconstrained_linkage_passes_where_some_of_its_rows_vanish():
    """Bennett's linkage: four skew hinges in a ring, of the five rows of the last one two are independent.

    a/sin α = b/sin β makes it move, θ₃ = −θ₁, tan(θ₁/2) tan(θ₂/2) = sin((α + β)/2)/sin((β − α)/2). Stretched, at θ₁ = 0, the
    row x of the loop has no gradient, while the rank of all five stays 2.
    """
    alpha, beta, a = 0.7, 1.2, 1.0
    b, ratio = a * np.sin(beta) / np.sin(alpha), np.sin((alpha + beta) / 2) / np.sin((beta - alpha) / 2)
    bar = lambda length: Inertia.at_centre(1, (length / 2, 0, 0), np.diag([0.01, 0.1, 0.1]))
    tree = ap.Tree(
        [
            Joint("j1", body=bar(a)),
            Joint("j2", "revolute", "j1", place((a, 0, 0), (alpha, 0, 0)), body=bar(b)),
            Joint("j3", "revolute", "j2", place((b, 0, 0), (beta, 0, 0)), body=bar(a)),
        ],
        gravity=(0, -3, -9.81),
    )
    ground = tree.frame("world").at((-b, 0, 0), (-beta, 0, 0))
    system = tree.system(loop(ground, tree.frame("j3").at((a, 0, 0), (alpha, 0, 0)), "revolute", name="ring"))
    angles = [tree.joint(f"j{n}") for n in (1, 2, 3)]
    start = dict(zip(angles, (0.5, 2 * np.arctan(ratio / np.tan(0.25)), -0.5), strict=True))
    motion = ap.simulate(system, start, until=3.0)
    first, second, third = (motion[angle] for angle in angles)
    assert motion.ok and first.min() < -0.5
    assert motion.drift.position < 1e-10 and np.ptp(motion.energy) < 1e-6
    assert np.abs(first + third).max() < 1e-9
    assert np.abs(np.sin(first / 2) * np.sin(second / 2) - ratio * np.cos(first / 2) * np.cos(second / 2)).max() < 1e-9
