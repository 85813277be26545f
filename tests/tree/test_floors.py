"""Wheels, balls and points on floors that move, and wheels that share an axle: closed forms."""

import numpy as np
import pytest
from sympy import sin

import appell as ap
from appell.errors import ModelError
from appell.tree import Inertia, Joint, Tree, contact_point, place, rolling

G = 9.81


def ball(m: float = 1.5, r: float = 0.2) -> Inertia:
    return Inertia.at_centre(m, (0, 0, 0), 0.4 * m * r**2 * np.eye(3))


def test_a_ball_on_a_turntable_circles_with_two_sevenths_of_its_rate():
    """d/dt (v_c) = (2/7) Ω × v_c for a solid ball that rolls on a plane turning with Ω (Earnshaw 1844)."""
    r, Omega = 0.2, 3.0
    table = Inertia.at_centre(10.0, (0, 0, 0), np.diag([1.0, 1.0, 2.0]))
    tree = Tree([Joint("turn", body=table, link="table"), Joint("ball", "floating", body=ball(r=r), link="marble")])
    rows = rolling(tree.frame("marble"), r, axis=None, floor=tree.frame("table"))
    turn = tree.joint("turn")
    x, y = tree.joint("ball")[:2]
    start = {"x": 0.5, "z": r, "turn.d": Omega, "v_base_x": 0.1, "v_base_y": 0.3}
    # the surface at (0.5, 0) moves with (0, 0.5 Ω): (0.1, 0.3) − r ω × n is that
    start |= {"omega_base_y": 0.1 / r, "omega_base_x": (0.5 * Omega - 0.3) / r}
    motion = ap.simulate(tree.system([*rows, turn - Omega * ap.t]), start, until=2.0, times=np.linspace(0, 2, 9))
    w = 2 * Omega / 7
    arm = (0.3 - 0.1j) / w  # from the centre of the circle, v = i w arm = 0.1 + 0.3 i
    assert motion[x] + 1j * motion[y] == pytest.approx(0.5 - arm + arm * np.exp(1j * w * motion.t), abs=1e-7)


def test_a_ball_on_a_belt_gets_two_sevenths_of_its_acceleration():
    r = 0.2
    tree = Tree([Joint("ball", "floating", body=ball(r=r), link="marble")], backend="vm")
    rows = rolling(tree.frame("marble"), r, axis=None, belt=(0.7 * ap.t, sin(ap.t)))
    a, lam = ap.compile(tree.system(rows), backend="vm").acceleration(0.5, [0.1, 0.2, r, 0, 0, 0, 1], np.zeros(6))
    assert a[:3] == pytest.approx([0.2, 2 / 7 * np.cos(0.5), 0], abs=1e-12)
    assert lam[0] == pytest.approx(1.5 * G)


def test_a_point_on_a_floor_that_rises():
    """Λ = m (g + ḧ), and the point follows the floor."""
    tree = Tree([Joint("up", "prismatic", axis=(0, 0, 1), body=ball(2.0), link="foot")], backend="vm")
    rows = contact_point(tree.frame("foot"), (0, 0, -0.1), height=0.3 + 0.05 * sin(4 * ap.t), slips=True)
    start = {"up": 0.4, "up.d": 0.2}
    motion = ap.simulate(tree.system(rows), start, until=1.0, times=[0.0, 0.3, 1.0], backend="vm")
    t = motion.t
    assert motion[tree.joint("up")] == pytest.approx(0.4 + 0.05 * np.sin(4 * t), abs=1e-8)
    assert motion.reaction("foot: height") == pytest.approx(2.0 * (G - 0.8 * np.sin(4 * t)), rel=1e-6)


def test_what_stands_on_a_cart_goes_with_it():
    """A body held at three points of a cart in the same tree: both have the acceleration F/(M + m), tilted floor or not."""
    for tilt in (0.0, 0.3):
        cart = Joint("cart", "prismatic", placement=place(rpy=(0, tilt, 0)), axis=(1, 0, 0), body=ball(4.0), link="deck")
        tree = Tree([cart, Joint("load", "floating", body=ball(1.0), link="box")], gravity=(0, 0, 0), backend="vm")
        box, deck = tree.frame("box"), tree.frame("deck")
        corners = ((0.1, 0, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0))
        rows = [contact_point(box, point, floor=deck, name=f"p{k}", slips=k == 2) for k, point in enumerate(corners)]
        half = tilt / 2
        q = [0.0, 0.3, 0.2, 0.0, 0.0, np.sin(half), 0.0, np.cos(half)]
        q[1:4] = place(rpy=(0, tilt, 0)).R @ np.array([0.3, 0.2, 0.0])
        system = tree.system(rows, forces={"cart": 10.0})
        a, _ = ap.compile(system, backend="vm").acceleration(0.0, np.array(q), np.zeros(7))
        assert a == pytest.approx([2.0, 2.0, 0, 0, 0, 0, 0], abs=1e-9)


def test_two_wheels_of_one_axle_may_both_exclude_slipping_across():
    """The second row across says what the first says: the same motion, told as redundant."""
    wheel = Inertia.at_centre(1.0, (0, 0, 0), np.diag([0.02, 0.03, 0.02]))
    joints = [Joint("body", "floating", body=Inertia.at_centre(5.0, (0.05, 0, 0.1), np.diag([0.2, 0.3, 0.4])))]
    joints += [Joint(s, "revolute", "body", place((0, y, 0)), (0, 1, 0), wheel) for s, y in (("left", 0.3), ("right", -0.3))]
    tree = Tree(joints, backend="vm")
    q, v = np.array([0.1, 0.2, 0.15, 0, 0, 0.3, np.sqrt(0.91), 0.4, 0.7]), np.zeros(8)
    v[6:] = 2.0, 3.0
    v[0], v[5] = 0.15 * 2.5, 0.15 * (3.0 - 2.0) / 0.6
    found = []
    for both in (False, True):
        rows = [rolling(tree.frame("left"), 0.15), rolling(tree.frame("right"), 0.15, sideways=both)]
        run = ap.compile(tree.system(rows, forces={"left": 0.3}), backend="vm")
        assert ("across" in " ".join(run.notes)) == both
        found.append(run.acceleration(0.0, q, v)[0])
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_a_cone_on_two_wheels_circles_about_its_apex():
    """Two wheels of radii d tan α on one tilted axle: the instantaneous axis is the line of contact, the apex stands."""
    alpha, w, d = 0.4, 2.0, (0.3, 0.6, 0.45)
    body = Inertia.at_centre(1.0, (0, 0, 0), np.diag([0.03, 0.02, 0.02]))
    tree = Tree([Joint("cone", "floating", body=body, link="axle")], backend="vm")
    frame = tree.frame("axle")
    wheel = lambda x, name: rolling(frame.at((x - d[2], 0, 0)), x * np.tan(alpha), axis="x", name=name)
    small, large = wheel(d[0], "small"), wheel(d[1], "large")
    R = place(rpy=(0, -alpha, 0)).R
    p, omega = R @ [d[2], 0, 0], np.array([w, 0, 0])
    start = dict(zip(("x", "y", "z"), p, strict=True)) | {"base_y": -np.sin(alpha / 2), "base_w": np.cos(alpha / 2)}
    start |= dict(zip((f"v_base_{i}" for i in "xyz"), R.T @ np.cross(omega, p), strict=True))
    start |= dict(zip((f"omega_base_{i}" for i in "xyz"), R.T @ omega, strict=True))
    motion = ap.simulate(tree.system([small, large]), start, until=2.0, times=np.linspace(0, 2, 5), backend="vm")
    x, y, z = (motion[q] for q in tree.joint("cone")[:3])
    angle = -w * np.tan(alpha) * motion.t
    assert np.column_stack([x, y, z]) == pytest.approx(
        np.column_stack([p[0] * np.cos(angle), p[0] * np.sin(angle), np.full(5, p[2])]), abs=1e-7
    )


def test_floors_of_a_wrong_kind_are_named():
    tree = Tree([Joint("b", "floating", body=ball())], backend="vm")
    b = tree.frame("b")
    for message, call in {
        "takes frames in symbols": lambda: rolling(b, 1, floor="world"),  # type: ignore[arg-type]
        "belt= under wheel 'b'": lambda: rolling(b, 1, belt=(1, 2, 3)),
        "belt= under contact 'b'": lambda: contact_point(b, belt=(np.nan, 0)),
        "under contact 'b' is None": lambda: contact_point(b, height=None),
    }.items():
        with pytest.raises(ModelError, match=message):
            call()
