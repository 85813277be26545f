"""What joints carry along a motion, against a twin whose joints all float and are held together by loops."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Matrix

import appell as ap
from appell.errors import ModelError
from appell.model.springs import Spring
from appell.tree import Inertia, Joint, Tree, contact_point, loop, place

UPPER = Inertia.at_centre(2.0, (0.05, 0.02, -0.4), np.diag([0.1, 0.12, 0.03]))
LOWER = Inertia.at_centre(1.0, (0.0, 0.03, -0.3), np.diag([0.05, 0.04, 0.01]))
HIP, KNEE = place((0, 0, 1), (0.2, 0.1, 0)), place((0.1, 0, -0.8), (0, 0.3, 0.5))
ARM = Tree([Joint("hip", axis=(0, 0, 1), placement=HIP, body=UPPER),
            Joint("knee", "revolute", "hip", KNEE, (0, 0, 1), LOWER)], backend="vm")  # fmt: skip
TIP = (0.0, 0.0, -0.6)


def twin() -> tuple[Tree, list]:
    """The same two bodies, each free, hinged by loops to the ground and to each other."""
    free = Tree([Joint("u", "floating", body=UPPER), Joint("l", "floating", body=LOWER)], backend="vm")
    ground = free.frame("world").at((0, 0, 1), (0.2, 0.1, 0), name="ground")
    knee = free.frame("u").at((0.1, 0, -0.8), (0, 0.3, 0.5), name="k")
    return free, [*loop(ground, free.frame("u"), "revolute", name="hip"), *loop(knee, free.frame("l"), "revolute", name="knee")]


def loads(tree: Tree, upper: str, lower: str) -> tuple[list, list]:
    """A spring to the ground, a force that turns with the body, a moment; a rail that the tip slides on without friction."""
    tip, side = tree.frame(lower).at(TIP, name="tip"), tree.frame(upper).at((0.2, 0.1, 0))
    spring = Spring((tree.frame("world").at((0.5, 0.2, 0.3)), side), stiffness=40.0, length=0.3, name="spring")
    thrust = tuple(tip.rotation * Matrix([1.0, 2.0, 0.5]))
    return [ap.Constraint(tip.position[0] - tip.position[2] / 3, name="rail")], [
        spring, (thrust, tuple(tip.velocity)), ((0.1, 0.0, -0.2), tuple(side.angular_velocity))
    ]  # fmt: skip


def in_twin(motion: ap.Motion, row: str, a, b) -> np.ndarray:
    """[force | moment] of a hinge of the twin on b at its origin, on b's axes, from its five multipliers by hand."""
    lam = {part: motion.reaction(f"{row}: {part}") for part in ("x", "y", "z", "z·x", "z·y")}
    R = np.moveaxis(np.array([[motion[b.rotation[i, j]] for j in range(3)] for i in range(3)]), -1, 0)
    z = np.stack([x if hasattr(x, "shape") else np.full(len(motion.t), x) for x in
                  (motion[e] if e.free_symbols else float(e) for e in a.rotation[:, 2])], axis=-1)  # fmt: skip
    force = np.stack([lam["x"], lam["y"], lam["z"]], axis=-1)
    moment = lam["z·x"][:, None] * np.cross(R[:, :, 0], z) + lam["z·y"][:, None] * np.cross(R[:, :, 1], z)
    turned = lambda x: np.einsum("kji,kj->ki", R, x)
    return np.hstack([turned(force), turned(moment)])


def test_wrenches_are_the_reactions_of_a_twin_whose_joints_float():
    rows, forces = loads(ARM, "hip", "knee")
    system = ARM.system(rows, loads=forces)
    start = ap.consistent(system, {"hip": 0.4, "knee": -0.7, "hip.d": 1.0})
    motion = ap.simulate(system, start, until=0.1, backend="vm")
    free, hinges = twin()
    rows, forces = loads(free, "u", "l")
    other = free.system([*hinges, *rows], loads=forces)
    states = {}
    for k, name in enumerate(("hip", "knee")):
        R, p = ARM.placement(name, motion.q[0])
        w = free.configuration({("u", "l")[k]: [*p, *_quaternion(R)]})
        states |= dict(zip(free.joint(("u", "l")[k]), w[free.indices(("u", "l")[k])[0]], strict=True))
        V = ARM.jacobian(name, motion.q[0], reference="local") @ motion.v[0]
        states |= dict(zip(free.speeds(("u", "l")[k]), V, strict=True))
    twin_motion = ap.simulate(other, ap.consistent(other, states), until=0.1, backend="vm")
    u, l = free.frame("u"), free.frame("l")
    ground = free.frame("world").at((0, 0, 1), (0.2, 0.1, 0))
    knee = u.at((0.1, 0, -0.8), (0, 0.3, 0.5))
    at = twin_motion.at(motion.t)
    for name, a, b in (("hip", ground, u), ("knee", knee, l)):
        mine, theirs = motion.wrench(name), in_twin(at, name, a, b)
        assert abs(mine - theirs).max() < 2e-6 * abs(theirs).max()  # two integrations, each to 1e-9 in states
        assert abs(mine[:, 5]).max() < 1e-9 * abs(mine).max()  # nothing drives the hinges


def _quaternion(R: np.ndarray) -> np.ndarray:
    w = np.sqrt(1 + np.trace(R)) / 2
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 4 * w * w]) / (4 * w)


def test_contacts_are_taken_into_account():
    """A leg of one slide on the ground: at rest the slide carries the weight above it or nothing, by where the contact is."""
    head = Inertia.at_centre(3.0, (0, 0, 0), np.eye(3) * 0.1)
    foot = Inertia.at_centre(1.0, (0, 0, 0), np.eye(3) * 0.01)
    up = {"kind": "prismatic", "axis": (0, 0, 1)}
    tree = Tree([Joint("body", body=head, **up), Joint("leg", parent="body", body=foot, **up)], backend="vm")
    touch = contact_point(tree.frame("leg"), one_sided=True, name="foot")
    k, leg = 500.0, tree.joint("leg")
    system = tree.system([*touch], forces={leg: -k * (leg + 0.5) - 60.0 * leg.d})
    motion = ap.simulate(system, {"body": 0.6, "leg": -0.5}, until=0.6, backend="vm")
    force = -k * (motion["leg"] + 0.5) - 60.0 * motion["leg.d"]
    assert motion.reaction("foot").max() > 10 and motion.reaction("foot").min() == 0
    assert abs(motion.wrench("leg", axes="world")[:, 2] - force).max() < 1e-9 * abs(force).max()
    assert abs(motion.wrench("body", axes="parent")).max() < 1e-9 * abs(force).max()  # nothing drives it


def test_friction_is_taken_into_account():
    """A stick dragged over the floor: its hinge is free, so the moment about it vanishes while the tip slides and sticks."""
    tree = Tree([Joint("cart", "prismatic", axis=(1, 0, 0), body=UPPER),
                 Joint("stick", "revolute", "cart", place((0, 0, 0.5)), (0, 1, 0), LOWER)], backend="vm")  # fmt: skip
    touch = contact_point(tree.frame("stick"), TIP, friction=0.4, name="tip")
    system = tree.system([*touch])
    start = ap.consistent(system, {"stick": 0.55, "cart.d": 0.3}, hold=["cart.d"])
    motion = ap.simulate(system, start, until=0.2, backend="vm")
    assert abs(motion.reaction("tip: friction")).max() > 0.1
    assert abs(motion.wrench("stick")[:, 4]).max() < 1e-9 * abs(motion.wrench("stick")).max()
    assert abs(motion.wrench("cart", axes="world")[:, 0]).max() < 1e-9 * abs(motion.wrench("cart")).max()


def test_axes_and_names():
    motion = ap.simulate(ARM, {"hip": 0.3}, until=0.1, backend="vm")
    own, parent, world = (motion.wrench("knee", axes=axes) for axes in ("joint", "parent", "world"))
    R, R0 = ARM.placement("knee", motion.q)[0], ARM.placement("hip", motion.q)[0]
    np.testing.assert_allclose(np.einsum("kij,kj->ki", R, own[:, :3]), world[:, :3], atol=1e-12)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", R0, parent[:, 3:]), world[:, 3:], atol=1e-12)
    with pytest.raises(ModelError, match=r"joint 'kne' .* is unknown; did you mean 'knee'\?"):
        motion.wrench("kne")
    with pytest.raises(ModelError, match="axes="):
        motion.wrench("knee", axes="body")
    example = ap.zoo.pendulum()
    with pytest.raises(ModelError, match="is not a tree"):
        ap.simulate(example.system, example.start, 0.1, example.parameters, backend="vm").wrench("phi")


def test_a_joint_whose_name_a_link_elsewhere_has():
    """The body of the hip is called "knee": its joint's frame is "joint knee" then, and loads and pictures are the same."""
    second = Joint("knee", "revolute", "hip", KNEE, (0, 0, 1), LOWER, link="foot", limits=ap.tree.Limits(-1, 1))
    named = Tree([Joint("hip", axis=(0, 0, 1), placement=HIP, body=UPPER, link="knee"), second], backend="vm")
    q, v, a, w = np.array([0.3, -0.5]), np.array([1.0, 2.0]), np.array([0.4, -0.2]), [1, 2, 3, 0.4, 0.5, 0.6]
    given = named.wrenches(q, v, a, external={"foot": w})
    assert np.array_equal(given, ARM.wrenches(q, v, a, external={"knee": w}))
    runs = [ap.simulate(tree.system(), {"hip": 0.3}, until=0.1, backend="vm") for tree in (named, ARM)]
    for axes in ("joint", "parent", "world"):
        assert np.array_equal(*(motion.wrench("knee", axes=axes) for motion in runs))
    assert ap.Scene(named.system(named.stops())).items
