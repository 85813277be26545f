"""Hills, moving ground, spheres, capsules and boxes: closed forms."""

import pickle

import numpy as np
import pytest
from sympy import atan, cos, sin

import appell as ap
from appell.errors import ModelError
from appell.scene.film import film
from appell.scene.shapes import Shaft
from appell.tree import (
    Inertia,
    Joint,
    Tree,
    capsules_touch,
    contact_box,
    contact_capsule,
    contact_point,
    contact_sphere,
    sphere_and_capsule_touch,
    spheres_touch,
)  # fmt: skip

G = 9.81
POINT = Inertia.at_centre(2.0, (0, 0, 0), np.zeros((3, 3)))


def bead() -> Tree:
    """A point in the plane x, z."""
    return Tree([across(), Joint("z", "prismatic", "x", axis=(0, 0, 1), body=POINT)], backend="vm")


def across() -> Joint:
    return Joint("x", "prismatic", axis=(1, 0, 0))


def test_a_bead_on_hills_is_pressed_by_its_weight_and_its_turning():
    """Λ = m (g cos α + κ v²), κ = h''/(1 + h'²)^{3/2}; without friction the energy stays."""
    tree = bead()
    h, slope, bend = (lambda x: 0.3 * np.sin(2 * x)), (lambda x: 0.6 * np.cos(2 * x)), (lambda x: -1.2 * np.sin(2 * x))
    rows = contact_point(tree.frame("z"), ground=lambda x, y: 0.3 * sin(2 * x), slips=True, name="hill")
    system = tree.system(rows)
    start = ap.consistent(system, {"x": -0.5, "z": h(-0.5), "x.d": 1.0}, hold=["x.d"])
    motion = ap.simulate(system, start, until=1.0, backend="vm")
    x, z, u, w = (motion[name] for name in ("x", "z", "x.d", "z.d"))
    steep = np.sqrt(1 + slope(x) ** 2)
    np.testing.assert_allclose(z, h(x), atol=1e-9)
    np.testing.assert_allclose(motion.reaction("hill: height"), 2 * (G / steep + bend(x) / steep**3 * (u**2 + w**2)), rtol=1e-7)
    assert abs(motion.balance).max() < 1e-7


@pytest.mark.parametrize("mu", [0.2, 0.9])
def test_a_block_on_an_incline_slides_or_stays(mu: float):
    """tan α = 0.5: with μ < tan α it slides with g (sin α − μ cos α), else it stays."""
    tree, c = bead(), 1 / np.sqrt(1.25)
    rows = contact_point(tree.frame("z"), ground=lambda x, y: -x / 2, one_sided=True, friction=mu, name="foot")
    motion = ap.simulate(tree.system(rows), {"x": 0.0, "z": 0.0}, until=0.4, backend="vm")
    a = max(0.0, G * (c / 2 - mu * c))
    assert motion["x"][-1] == pytest.approx(0.5 * a * 0.4**2 * c, abs=1e-8)
    assert motion.reaction("foot")[1:-1] == pytest.approx(np.full(len(motion.t) - 2, 2 * G * c), rel=1e-7)


def test_ground_that_rises_and_a_belt_over_hills():
    """A bead that sticks to the ground goes with it: up and down, and along a belt on an incline."""
    tree = bead()
    up = contact_point(tree.frame("z"), ground=lambda x, y: 0.1 * sin(3 * ap.t) + 0 * x, name="p")
    a, _ = ap.compile(tree.system(up), backend="vm").acceleration(0.4, [0.0, 0.1 * np.sin(1.2)], [0.0, 0.3 * np.cos(1.2)])
    assert a == pytest.approx([0, -0.9 * np.sin(1.2)], abs=1e-12)
    along = contact_point(tree.frame("z"), ground=lambda x, y: x / 2, belt=(0.7, 0), name="p")
    start = ap.consistent(tree.system(along), {"x": 0.0})
    assert [start[tree.joint(n).d] for n in ("x", "z")] == pytest.approx([0.7, 0.35])


def test_a_ball_rolls_down_an_incline():
    """With enough friction a = 5/7 g sin α; the plane is level and gravity leans."""
    r, alpha = 0.1, 0.3
    ball = Inertia.at_centre(1.0, (0, 0, 0), 0.4 * r**2 * np.eye(3))
    up, roll = Joint("z", "prismatic", "x", axis=(0, 0, 1)), Joint("roll", "revolute", "z", axis=(0, 1, 0), body=ball)
    tree = Tree([across(), up, roll], gravity=(G * np.sin(alpha), 0, -G * np.cos(alpha)), backend="vm")
    rows = contact_sphere(tree.frame("roll"), r, friction=0.5, name="ball")
    motion = ap.simulate(tree.system(rows), {"z": r}, until=0.5, backend="vm")
    assert motion["x"][-1] == pytest.approx(5 / 14 * G * np.sin(alpha) * 0.25, rel=1e-7)
    np.testing.assert_allclose(motion["x"], r * motion["roll"], atol=1e-8)


def test_capsules_and_boxes_are_sets_of_places():
    tree = Tree([Joint("b", "floating", body=Inertia.at_centre(1.0, (0, 0, 0), np.eye(3)))], backend="vm")
    frame = tree.frame("b")
    capsule = contact_capsule(frame, 0.1, 0.6, axis="x", name="c")
    box = contact_box(frame, (0.2, 0.4, 0.6), centre=(0, 0, 0.1), name="box")
    assert [face.name for face in capsule] == ["c: 1", "c: 2"] and len(box) == 8
    start = {"z": 2.0, "base_x": 0.6, "base_w": 0.8}
    motion = ap.simulate(tree.system([*capsule, *box]), start, until=0.1, backend="vm")
    R, p = tree.placement("b", motion.q[0])
    gap = lambda face: float(motion[face.function][0])
    corners = [p + R @ ((2 * np.array(k) - 1) * [0.1, 0.2, 0.3] + [0, 0, 0.1]) for k in np.ndindex(2, 2, 2)]
    assert [gap(face) for face in box] == pytest.approx([corner[2] for corner in corners])
    ends = [(p + side * R @ [0.3, 0, 0])[2] for side in (-1, 1)]
    assert [gap(face) for face in capsule] == pytest.approx([end - 0.1 for end in ends])


def test_spheres_touch_along_the_line_of_their_centres():
    """The slip is the velocity at the touch across that line; two equal balls exchange their velocities."""
    free = lambda name: Joint(name, "floating", body=Inertia.at_centre(1.0, (0, 0, 0), 0.1 * np.eye(3)))
    tree = Tree([free("a"), free("b")], gravity=(0, 0, 0), backend="vm")
    a, b = tree.frame("a"), tree.frame("b")
    rows = spheres_touch(a, 0.2, b, 0.3, friction=0.4, name="touch")
    rng = np.random.default_rng(0)
    state = {s: x for s, x in zip(tree.speeds("a") + tree.speeds("b"), rng.normal(size=12), strict=True)}
    start = {"x_b": 1.0, "y_b": 0.4, "z_b": -0.7, **state}
    motion = ap.simulate(tree.system(rows[:1]), start, until=1e-3, backend="vm")
    n = np.array([1.0, 0.4, -0.7]) / np.linalg.norm([1.0, 0.4, -0.7])
    v = motion.v[0]
    w = v[6:9] - 0.3 * np.cross(v[9:], n) - v[:3] - 0.2 * np.cross(v[3:6], n)
    slip = np.array([motion[part][0] for part in rows[1].slip])  # type: ignore[union-attr]
    assert slip @ slip == pytest.approx(w @ w - (w @ n) ** 2, rel=1e-10)
    line = spheres_touch(a, 0.2, b, 0.3, restitution=1, name="touch")
    hit = ap.simulate(tree.system(line), {"x_b": 1.0, tree.speeds("a")[0]: 2.0}, until=0.5, backend="vm")
    assert hit.v[-1][[0, 6]] == pytest.approx([0, 2], abs=1e-9) and hit.impacts[0].time == pytest.approx(0.25)


def test_what_cannot_be_meant_is_refused():
    tree = bead()
    f = tree.frame("z")
    for message, call in {
        "ground= under contact 'z' is a function of x and y": lambda: contact_point(f, ground=0.3),
        "height= and ground= under": lambda: contact_point(f, ground=lambda x, y: x, height=1),
        "contains x; it is a function of x, y": lambda: contact_point(f, ground=lambda x, y: tree.joint("x") + y),
        "radius of sphere 'z' is -1": lambda: contact_sphere(f, -1),
        "axis of capsule 'z' has length 0": lambda: contact_capsule(f, 1, 1, axis=(0, 0, 0)),
        "three positive sides": lambda: contact_box(f, (1, 1)),
        "one_sided= is not an option": lambda: contact_box(f, (1, 1, 1), one_sided=True),
        "centre= is not an option": lambda: contact_capsule(f, 1, 1, centre=(0, 0, 1)),
        "takes frames in symbols": lambda: spheres_touch("a", 1, f, 1),  # type: ignore[arg-type]
    }.items():
        with pytest.raises(ModelError, match=message):
            call()
    assert len(contact_point(f, ground=lambda x, y: atan(x) + cos(y))) == 3


def test_the_ground_is_drawn_and_travels():
    """A plane as a floor under the robot, hills as a surface, each once however many points stand on it."""
    tree = Tree([Joint("b", "floating", body=Inertia.at_centre(1.0, (0, 0, 0), np.eye(3)))], backend="vm")
    frame = tree.frame("b")
    even = tree.system(contact_box(frame, (0.2, 0.4, 0.6), height=-0.3))
    hills = tree.system([*contact_point(frame, ground=lambda x, y: 0.1 * sin(x), one_sided=True)])
    moving = tree.system(contact_point(frame, ground=lambda x, y: 0.1 * sin(x + ap.t), one_sided=True))
    floors = [item for item in ap.Scene(even).items if isinstance(item, ap.scene.Floor)]
    assert len(floors) == 1 and [float(x) for x in floors[0].at] == [0, 0, -0.3]
    assert sum(isinstance(item, ap.scene.Surface) for item in ap.Scene(hills).items) == 1
    assert ap.Scene(moving).notes == ("hills that move are not drawn",)
    assert pickle.loads(pickle.dumps(hills)).unilateral == hills.unilateral


def ball_and_bar() -> Tree:
    body = lambda m: Inertia.at_centre(m, (0, 0, 0), m * np.diag([0.02, 0.03, 0.01]))
    bodies = [Joint("a", "floating", body=body(2.0)), Joint("b", "floating", body=body(1.0))]
    return Tree(bodies, gravity=(0, 0, 0), backend="vm")


def test_a_ball_and_a_bar_touch_at_the_nearest_point_and_keep_momentum():
    """The gap against a search along the axis, at the side and beyond the ends; a blow with e = 1 loses neither momentum nor
    energy."""
    tree, e = ball_and_bar(), np.array([0.6, 0, 0.8])
    ball, bar = tree.frame("a"), tree.frame("b")
    (face,) = sphere_and_capsule_touch(ball, 0.1, bar, 0.2, 0.6, axis=e, restitution=1, name="touch")
    system = tree.system([face])
    run, ends = ap.compile(system, backend="vm"), set()
    for q in tree.random(3, 20):
        q[:3] = np.random.default_rng(int(1e6 * abs(q[3]))).normal(size=3)
        (_, c), (R, b) = tree.placement("a", q), tree.placement("b", q)
        s = np.linspace(-0.3, 0.3, 2001)
        apart = np.linalg.norm(c - b - s[:, None] * (R @ e), axis=1)
        ends.add(int(apart.argmin()) in (0, 2000))
        assert float(run.values(face.function, 0.0, q, np.zeros(12))) == pytest.approx(apart.min() - 0.3, abs=1e-6)
    assert ends == {True, False}
    places = {"a_w": 1.0, "b_w": 1.0, tree.joint("b")[0]: 0.5, tree.joint("b")[2]: 0.1}
    motion = ap.simulate(system, places | {tree.speeds("b")[0]: -1.0, tree.speeds("b")[4]: 0.7}, until=0.6, backend="vm")
    T, c = tree.kinetic_energy(motion.q, motion.v), tree.momentum(motion.q, motion.v)
    assert motion.impacts and abs(T - T[0]).max() < 1e-9 and abs(c - c[0]).max() < 1e-9


def test_capsules_touch_where_their_axes_are_nearest():
    """The gap of random, parallel and crossing capsules by the least of the distances of ends and of the crossing; a bar that
    falls across another one comes back to its height."""
    bar = Inertia.at_centre(1.0, (0, 0, 0), np.diag([0.02, 0.02, 0.001]))
    moves = [Joint(name, "prismatic", parent, axis=axis) for name, parent, axis in
             (("x", None, (1, 0, 0)), ("y", "x", (0, 1, 0)), ("z", "y", (0, 0, 1)))]  # fmt: skip
    turns = [Joint("yaw", "revolute", "z", axis=(0, 0, 1)), Joint("pitch", "revolute", "yaw", axis=(0, 1, 0), body=bar)]
    tree = Tree([*moves, *turns], backend="vm")
    rows = capsules_touch(tree.frame("pitch"), 0.1, 1.0, tree.frame("world"), 0.2, 0.6, axis_a="x", axis_b="x", restitution=1)
    system = tree.system(rows)
    form = ap.compile(system, backend="vm", ready=False).form
    rng = np.random.default_rng(5)
    for k in range(60):
        q = rng.normal(size=5) * [0.6, 0.6, 0.5, 1.5, 1.0] * [1, 1, 1, k % 3 > 0, k % 3 > 0]  # every third one is parallel
        R, p = tree.placement("pitch", q)
        u, v = R[:, 0], np.array([1.0, 0, 0])
        near = lambda s, t, u=u, v=v, p=p: np.linalg.norm(t * v - p - s * u)
        on = lambda x, half: float(np.clip(x, -half, half))
        found = [near(on((t * v - p) @ u, 0.5), t) for t in (-0.3, 0.3)]
        found += [near(s, on((p + s * u) @ v, 0.3)) for s in (-0.5, 0.5)]
        if k % 3:
            s, t = np.linalg.lstsq(np.array([u, -v]).T, -p, rcond=None)[0]
            found += [near(s, t)] if abs(s) <= 0.5 and abs(t) <= 0.3 else []
        gap = float(np.ravel(form.select("g")(0.0, q, np.zeros(5), np.zeros(0))["g"])[0])
        assert gap == pytest.approx(min(found) - 0.3, abs=1e-9)
    height = 0.5
    motion = ap.simulate(system, {"z": height, "yaw": np.pi / 2}, until=1.5 * 2 * np.sqrt(2 * 0.2 / G), backend="vm")
    assert [event.kind for event in motion.impacts] == ["impact"] * 2 and motion["z"].min() == pytest.approx(0.3, abs=1e-9)
    assert motion.impacts[0].time == pytest.approx(np.sqrt(2 * 0.2 / G), abs=1e-9) and abs(motion.balance).max() < 1e-8


def test_the_arrow_at_a_block_that_stays_on_an_incline_is_its_weight():
    """Normal force and friction together are −m g, whatever the slope; its length is that of the whole weight."""
    tree = bead()
    rows = contact_point(tree.frame("z"), ground=lambda x, y: -x / 2, one_sided=True, friction=0.9, name="foot")
    motion = ap.simulate(tree.system(rows), {"x": 0.0, "z": 0.0}, until=0.2, backend="vm")
    shown = film(ap.Scene(motion.system), motion, frames=5)
    (arrow,) = [shape for shape in shown.shapes if isinstance(shape, Shaft)]
    turned = arrow.v[-1, :2] if shown.flat else arrow.v[-1, ::2]  # in the plane x, z
    np.testing.assert_allclose(turned, [0.0, 0.5], atol=1e-6)  # half the reach, which is 1 m of a tree without lengths
