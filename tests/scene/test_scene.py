"""Scenes in symbols and films in numbers: what is drawn is where the motion says."""

import struct

import numpy as np
import pytest
from sympy import Symbol, cos, sin

import appell as ap
from appell import zoo
from appell.errors import ModelError
from appell.scene import (
    Arrow,
    Box,
    Floor,
    Frame,
    Link,
    MeshFile,
    Point,
    Reaction,
    Scene,
    Sphere,
    Spring,
    Surface,
    Thread,
    Trail,
    Wall,
)  # fmt: skip
from appell.scene.film import film, frame_times
from appell.scene.shapes import Dot, Polyline, Shaft, Solid, Track

MARK = "#ff00ff"
EVERY = {**zoo.ALL, **zoo.ROBOTS}


def run(example, until=None, **options):
    return ap.simulate(example.system, example.start, until or example.until, example.parameters, **options)


@pytest.fixture(scope="module")
def pendulum():
    example = zoo.pendulum()
    return example, run(example, 2.0)


@pytest.mark.parametrize("name", EVERY)
def test_every_system_of_the_zoo_brings_its_scene(name):
    example = EVERY[name]()
    automatic = name == "four_bar_urdf"  # its scene is the skeleton of the robot file
    assert (example.scene is None) == automatic
    scene = Scene.of(example.system)
    shown = film(scene, run(example, 1e-3, backend="vm"), frames=5)
    assert len(shown) == 5 and shown.shapes and np.isfinite([shown.low, shown.high]).all()
    assert not any("scale of its own" in note for note in shown.notes)


def test_places_are_where_the_motion_is(pendulum):
    example, motion = pendulum
    theta, = example.system.coordinates
    shown = film(Scene.of(example.system), motion, fps=50)
    bob = next(s for s in shown.shapes if isinstance(s, Dot) and s.name == "bob")
    there = motion.at(shown.t)
    np.testing.assert_allclose(bob.p[:, :2], np.stack([np.sin(there[theta]), -np.cos(there[theta])], 1), atol=1e-15)
    assert shown.flat and len(shown) == 101 and shown.t[-1] == motion.t[-1]


def test_bodies_frames_and_names_are_places():
    example = zoo.differential_drive()
    tree, motion = example.system.tree, run(example, 1.0)
    scene = Scene(example.system, [Box("platform", [1, 1, 1]), Point(tree.frame("left_wheel").at((0, 0, 0.1)), 0.01)])
    box, point = film(scene, motion, frames=7).shapes
    there = motion.at(np.linspace(0, 1, 7))
    R, p = (np.stack(x) for x in zip(*(tree.placement("platform", q) for q in there.q), strict=True))
    np.testing.assert_allclose(box.p, p, atol=1e-14)
    np.testing.assert_allclose(box.R, R, atol=1e-14)
    R, p = (np.stack(x) for x in zip(*(tree.placement("left_wheel", q) for q in there.q), strict=True))
    np.testing.assert_allclose(point.p, p + 0.1 * R[:, :, 2], atol=1e-14)

    x, y, phi = ap.coordinates("x y phi")
    body = ap.RigidBody(2.0, 0.1, [x, y], phi, name="plate")
    system = ap.System([x, y, phi], bodies=[body])
    motion = ap.simulate(system, {x.d: 1.0, phi.d: 2.0}, 1.0)
    for place in (body, "plate"):
        (solid,) = film(Scene(system, [Box(place, [1, 1])]), motion, frames=3).shapes
        np.testing.assert_allclose(solid.p[:, 0], [0, 0.5, 1], atol=1e-9)
        np.testing.assert_allclose(solid.R[:, 1, 0], np.sin([0, 1, 2]), atol=1e-9)


def test_a_system_without_a_scene_makes_one():
    x, y = ap.coordinates("x y")
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=9.81 * y, constraints=[ap.Unilateral(y, name="floor")])
    scene = Scene(system)
    assert scene.view == "flat" and [type(i) for i in scene.items] == [Trail, Point, Floor]
    m, J, th = *ap.parameters("m J", positive=True), ap.coordinates("theta")
    bar = ap.System([th], bodies=[ap.RigidBody(m, J, [cos(th), sin(th)], th)])
    shown = film(Scene(bar), ap.simulate(bar, {th.d: 1.0}, 1.0, {m: 3.0, J: 1.0}), frames=2)
    line = next(s for s in shown.shapes if isinstance(s, Polyline) and s.cased)
    assert np.linalg.norm(line.points[0, 1] - line.points[0, 0]) == pytest.approx(2.0)  # √(12 J/m)
    u, v = ap.coordinates("u psi")
    odd = ap.System([u, v], kinetic=u.d**2 + (2 + cos(v)) * v.d**2)
    shown = film(Scene(odd), ap.simulate(odd, {u.d: 1.0}, 1.0), frames=2)
    assert any("scale of its own" in note for note in shown.notes)
    names = {type(s).__name__ for s in shown.shapes}
    assert {"Solid", "Dot", "TextLabel"} <= names  # the angle on a dial, the length on a rail


def test_chains_and_trees_make_a_scene_of_links():
    chain = ap.Chain([{"mass": 1, "c": (0.5, 0, 0), "J": (0.01, 0.4, 0.4), "r": (1, 0, 0), "e": (0, 1, 0)}] * 3)
    scene = Scene(chain)
    assert scene.view == "xz" and sum(isinstance(item, Link) for item in scene.items) == 3
    motion = ap.simulate(chain, {chain.joint("joint_1"): 0.3}, 0.5)
    last = [s for s in film(scene, motion, frames=2).shapes if isinstance(s, Polyline)][-1]
    R, p = chain.placement("joint_3", motion.q[0])
    np.testing.assert_allclose(last.points[0, 0, :2], p[[0, 2]], atol=1e-12)
    np.testing.assert_allclose(last.points[0, 1, :2], (p + R[:, 0])[[0, 2]], atol=1e-12)


def test_arrows_threads_springs(pendulum):
    example = zoo.skate()
    x, y, phi = example.system.coordinates
    motion = run(example, 1.0)
    scene = Scene(example.system, [Reaction("blade", [x, y], scale=1.0), Arrow([x, y], [x.d, y.d], 2), Frame([x, y], 0.5, phi)])
    reaction, speed, first, second = film(scene, motion, frames=4).shapes
    there = motion.at(np.linspace(0, 1, 4))
    lam = there.reaction("blade")
    np.testing.assert_allclose(reaction.v[:, 0], lam * np.sin(there[phi]), atol=1e-12)
    np.testing.assert_allclose(speed.v[:, 1], 2 * there[y.d], atol=1e-12)
    np.testing.assert_allclose(first.v[:, 0], 0.5 * np.cos(there[phi]), atol=1e-12)
    assert isinstance(second, Shaft)

    example, motion = pendulum
    threads = [Thread([0, 0], [0, -1], 1.2), Thread([0, 0], [0.6, 0], 0.6)]
    scene = Scene(example.system, [*threads, Spring([0, 0], [2, 0], coils=3)])
    slack, taut, spring = film(scene, motion, frames=2).shapes
    length = lambda line: np.linalg.norm(np.diff(line.points[0], axis=0), axis=1).sum()
    assert slack.points[0, 8, 1] < -0.5 and length(taut) == pytest.approx(0.6)
    assert spring.points[0, 0].tolist() == [0, 0, 0] and spring.points[0, -1].tolist() == [2, 0, 0]


def test_surfaces_walls_and_views():
    example = zoo.paraboloid()
    motion = run(example, 1.0)
    u, v = Symbol("u"), Symbol("v")
    a = example.system.parameters[0]
    scene = Scene(example.system, [Surface([u, v, (u**2 + v**2) / (2 * a)], {u: (-1, 1), v: (-1, 1)})])
    (surface,) = film(scene, motion, frames=2).shapes
    x, y, z = surface.mesh.vertices.T
    np.testing.assert_allclose(z, (x**2 + y**2) / 2, atol=1e-12)
    x, y, z = example.system.coordinates
    side = film(Scene(example.system, [Point([x, y, z]), Wall([0, 0, 0], [0, 0, 1])], view="xz"), motion, frames=3)
    dot = next(s for s in side.shapes if isinstance(s, Dot))
    np.testing.assert_allclose(dot.p[:, 1], motion.at(side.t)[z], atol=1e-12)
    assert side.flat and any(isinstance(s, Polyline) for s in side.shapes)


def test_a_loaded_motion_is_drawn_with_the_scene_of_its_system(pendulum, tmp_path):
    example, motion = pendulum
    loaded = ap.load(motion.save(tmp_path / "pendulum.nc"))
    shown = film(Scene.of(example.system), loaded, frames=50)
    assert any("straight lines" in note for note in shown.notes)
    track = next(s for s in shown.shapes if isinstance(s, Track))
    exact = film(Scene.of(example.system), motion, frames=50)
    np.testing.assert_allclose(track.p, next(s for s in exact.shapes if isinstance(s, Track)).p, atol=0.05)
    with pytest.raises(ModelError, match="has no system"):
        loaded.animate(tmp_path / "x.html")
    assert loaded.animate(tmp_path / "x.html", scene=Scene.of(example.system)).is_file()


def test_refusals(pendulum, tmp_path):
    example, motion = pendulum
    system = example.system
    theta, = system.coordinates
    other = ap.coordinates("other")
    with pytest.raises(ModelError, match="contains 'other', which pendulum does not have"):
        Scene(system, [Point([other, 0])])
    with pytest.raises(ModelError, match="has no body 'bob'"):
        Scene(system, [Point("bob")])
    with pytest.raises(ModelError, match="two or three expressions"):
        Scene(system, [Point(3)])
    with pytest.raises(ModelError, match="made of items"):
        Scene(system, [theta])
    with pytest.raises(ModelError, match="view is one of"):
        Scene(system, [], view="up")
    with pytest.raises(ModelError, match="give direction="):
        Scene(zoo.sleigh().system, [Reaction("blade", [ap.coordinates("x") + 1, 0])])
    with pytest.raises(ModelError, match=r"the mesh .*there\.stl is not there"):
        Scene(system, [MeshFile([0, 0], tmp_path / "there.stl")])
    with pytest.raises(ModelError, match="fps is a positive number"):
        motion.animate(tmp_path / "x.gif", fps=-1)
    with pytest.raises(ModelError, match="does not say what to write"):
        motion.animate(tmp_path / "x.avi")
    with pytest.raises(FileNotFoundError):
        motion.animate(tmp_path / "nowhere" / "x.html")
    with pytest.raises(ModelError, match="is a folder"):
        (tmp_path / "folder.html").mkdir()
        motion.animate(tmp_path / "folder.html")
    with pytest.raises(ModelError, match=r"scene= takes an ap\.Scene"):
        motion.animate(tmp_path / "x.html", scene=[Point([0, 0])])
    with pytest.raises(ModelError, match="the motion of skate lacks"):
        film(Scene(system, []), run(zoo.skate(), 0.1))
    assert [p.name for p in tmp_path.iterdir()] == ["folder.html"]


class Broken:
    """A record of one pendulum whose values stop being finite."""

    name, coordinate_names, parameters, system = "broken", ("theta",), {"l": 1.0, "m": 1.0, "g": 9.81}, None

    def __init__(self, t, theta):
        self.t, self.theta = np.asarray(t, float), np.asarray(theta, float)

    def __len__(self):
        return len(self.t)

    def __getitem__(self, key):
        return self.theta


def test_motions_that_are_short_or_not_finite():
    scene = Scene.of(zoo.pendulum().system)
    t = np.linspace(0, 1, 11)
    shown = film(scene, Broken(t, np.where(t > 0.55, np.nan, t)), frames=11)
    assert 5 <= len(shown) <= 7 and any("not finite from t" in note for note in shown.notes)
    with pytest.raises(ModelError, match="not finite from the beginning"):
        film(scene, Broken(t, np.nan * t), frames=11)
    with pytest.raises(ModelError, match="no samples"):
        film(scene, Broken([], []))
    still = film(scene, Broken([2.0], [0.3]))
    assert len(still) == 1 and any("one instant" in note for note in still.notes)
    times, note = frame_times(Broken([0, 1000], [0, 0]), None, None)
    assert len(times) == 1200 and "1200 frames" in note[0]


def tetrahedron() -> np.ndarray:
    a, b, c, d = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    return np.array([[a, c, b], [a, b, d], [a, d, c], [b, c, d]])


def test_meshes_are_read(tmp_path):
    faces = tetrahedron()
    record = b"".join(struct.pack("<12fH", 0, 0, 0, *face.ravel(), 0) for face in faces)
    (tmp_path / "binary.stl").write_bytes(bytes(80) + struct.pack("<I", 4) + record)
    corners = ["".join(f"vertex {x} {y} {z}\n" for x, y, z in face) for face in faces]
    loops = "".join(f"facet normal 0 0 0\nouter loop\n{three}endloop\nendfacet\n" for three in corners)
    (tmp_path / "text.stl").write_text(f"solid s\n{loops}endsolid s\n")
    points = "".join(f"v {x} {y} {z}\n" for x, y, z in faces.reshape(-1, 3))
    (tmp_path / "faces.obj").write_text(points + "".join(f"f {3 * k + 1}//1 {3 * k + 2}//1 {3 * k + 3}//1\n" for k in range(4)))
    numbers = " ".join(map(str, faces.ravel()))
    index = " ".join(map(str, range(12)))
    (tmp_path / "scene.dae").write_text(
        '<COLLADA xmlns="http://www.collada.org/2005"><asset><unit meter="0.5"/><up_axis>Z_UP</up_axis></asset>'
        f'<library_geometries><geometry id="g"><mesh><source id="p"><float_array count="36">{numbers}</float_array></source>'
        '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        f'<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>{index}</p></triangles></mesh></geometry>'
        '</library_geometries><library_visual_scenes><visual_scene id="s"><node><translate>1 0 0</translate>'
        '<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes></COLLADA>'
    )
    from appell.scene.meshes import read_mesh

    for name in ("binary.stl", "text.stl", "faces.obj", "scene.dae"):
        mesh = read_mesh(tmp_path / name)
        scale, shift = (0.5, [0.5, 0, 0]) if name.endswith("dae") else (1.0, [0, 0, 0])
        assert mesh.vertices.shape == (4, 3) and len(mesh.triangles) == 4
        assert {tuple(v) for v in mesh.vertices} == {tuple(scale * p + shift) for p in faces.reshape(-1, 3)}
    (tmp_path / "bad.stl").write_text("solid nothing")
    (tmp_path / "bad.dae").write_text("<COLLADA")
    for name in ("bad.stl", "bad.dae"):
        with pytest.raises(ModelError, match=r"bad\.\w+ (cannot be read|has no triangles)"):
            read_mesh(tmp_path / name)


def test_a_robot_file_shows_its_geometry_and_names_what_is_missing(tmp_path):
    (tmp_path / "robot.urdf").write_text(
        '<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"'
        ' ixy="0" ixz="0" iyz="0"/></inertial>'
        '<visual><origin xyz="0.5 0 0"/><geometry><box size="1 0.1 0.1"/></geometry></visual>'
        '<visual><geometry><mesh filename="package://r/no.stl"/></geometry></visual></link>'
        '<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>'
    )
    tree = ap.Tree.from_urdf(tmp_path / "robot.urdf")
    scene = Scene(tree)
    assert len(scene.items) == 1 and "link arm: the mesh package://r/no.stl is not there" in scene.notes[0]
    (solid,) = film(scene, ap.simulate(tree, {tree.joint("j"): 0.3}, 0.1), frames=2).shapes
    assert isinstance(solid, Solid) and solid.mesh.vertices[:, 0].max() == pytest.approx(1.0)
    c, s = np.cos(0.3), np.sin(0.3)
    np.testing.assert_allclose(solid.R[0], [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-12)


def test_moving_pictures(pendulum, tmp_path):
    from PIL import Image

    _, motion = pendulum
    path = motion.animate(tmp_path / "p.gif", fps=5)
    with Image.open(path) as picture:
        assert picture.n_frames == 11 and picture.info["duration"] == 200
    with Image.open(motion.animate(tmp_path / "p.webp", fps=5)) as picture:
        assert picture.n_frames == 11
    pytest.importorskip("imageio_ffmpeg")
    assert motion.animate(tmp_path / "p.mp4", fps=5).read_bytes()[4:8] == b"ftyp"


@pytest.mark.parametrize("name", ["pendulum", "rolling_disc", "stewart_platform"])
def test_pixels_of_a_frame_are_where_the_motion_says(name):
    """A mark of a colour of its own, found again in the picture."""
    from appell.show.painter import Painter

    example = EVERY[name]()
    motion, system = run(example, 1.0), example.system
    items = {
        "pendulum": lambda: [Point([0, 0]), Point([sin(system.coordinates[0]), -cos(system.coordinates[0])], colour=MARK)],
        "rolling_disc": lambda: [Floor([0, 0, 0], [0, 0, 1]), Point(system.coordinates[:3], 0.05, colour=MARK)],
        "stewart_platform": lambda: [Point("world", 0.02), Point("platform", 0.05, colour=MARK)],
    }[name]()
    shown = film(Scene(system, items), motion, frames=9)
    painter, k = Painter(shown, 640, 480, trail=False), 5
    rgb = painter.frame(k).astype(int)
    rows, columns = np.nonzero((rgb[..., 0] > 2 * rgb[..., 1] + 40) & (rgb[..., 2] > 2 * rgb[..., 1] + 40))
    there = motion.at(shown.t)
    expected = {
        "pendulum": lambda: [np.sin(there.q[k, 0]), -np.cos(there.q[k, 0]), 0],
        "rolling_disc": lambda: there.q[k, :3],
        "stewart_platform": lambda: system.tree.placement("platform", there.q[k])[1],
    }[name]()
    at = painter.pixels(np.array(expected, dtype=float))[0]
    assert len(rows) > 20
    assert np.hypot(columns.mean() + 0.5 - at[0], rows.mean() + 0.5 - at[1]) < 1.5


def test_ensembles_are_motions_and_films_lie_over_each_other():
    """Each run is drawn where the dataset says; runs that failed at once are told of."""
    from appell.scene.runs import FAINT, runs, together

    theta = ap.coordinates("theta")
    length = ap.parameters("l", positive=True)
    system = ap.System([theta], length**2 * theta.d**2 / 2, -9.81 * length * cos(theta), name="swing")
    tip = [length * sin(theta), 0, -length * cos(theta)]
    scene = Scene(system, [Sphere(tip, 0.1), Point([0, 0, 0], 0.05)])
    lengths, times = np.array([0.5, 1.0, 2.0]), np.linspace(0, 1, 11)
    many = ap.simulate_many(system, {theta: 1.0}, parameters={length: lengths}, until=1.0, keep=times, backend="vm").dataset
    found = runs(many)
    assert len(found) == 3 and [run.parameters["l"] for run in found] == lengths.tolist()
    shown = together(scene, found, frames=11)
    balls = [s for s in shown.shapes if isinstance(s, Solid) and len(s.p) > 1]
    assert [ball.opacity for ball in balls] == [1.0, FAINT, FAINT] and len({id(ball.mesh) for ball in balls}) == 1
    for ball, l, angle in zip(balls, lengths, many.theta.values, strict=True):
        assert ball.p == pytest.approx(np.stack([l * np.sin(angle), 0 * angle, -l * np.cos(angle)], axis=1), abs=1e-12)
    assert len(shown.shapes) == 4  # what does not move is drawn once

    broken = many.copy(deep=True)
    broken.theta[1] = np.nan
    shown = together(scene, runs(broken), frames=11)
    assert any("not finite" in note for note in shown.notes) and len(shown.shapes) == 3
    with pytest.raises(ap.ModelError, match="no states over time"):
        runs(many.isel(t=-1).drop_vars("t"))
    for wrong in (3, [], [1]):
        with pytest.raises(ap.ModelError, match="can be played"):
            runs(wrong)


def test_what_flies_off_does_not_make_the_rest_a_speck():
    """Five points near each other and one that leaves: the picture is made for the five, and says so."""
    x = ap.coordinates("x")
    system = ap.System([x], x.d**2 / 2)
    near = [Point([k, 0], name=f"near {k}") for k in range(5)]
    scene = Scene(system, [*near, Point([x, 1], name="stone")])
    motion = ap.simulate(system, {x.d: 500.0}, 1.0, backend="vm")
    gone = film(scene, motion)
    assert gone.high[0] - gone.low[0] < 6 and any("stone leaves the picture" in note for note in gone.notes)
    slow = film(scene, ap.simulate(system, {x.d: 12.0}, 1.0, backend="vm"))
    assert slow.high[0] == pytest.approx(12, abs=0.5) and not slow.notes


def test_limits_of_joints_are_drawn_and_red_at_the_stop():
    """A hinge falls onto its stop at 0.5 rad: the arc ends there, stands with the ground, and is red from then on."""
    bar = ap.tree.Inertia.at_centre(1.0, [0.2, 0, 0], 0.01 * np.eye(3))
    tree = ap.Tree(
        [
            ap.tree.Joint("column", "prismatic", axis=(0, 0, 1), body=ap.tree.Inertia.at_centre(1.0, [0, 0, 0], np.eye(3))),
            ap.tree.Joint("arm", "revolute", axis=(0, 1, 0), parent="column", body=bar, limits=ap.tree.Limits(-1.0, 0.5)),
        ],
        name="crane",
    )
    lift, arm = tree.joint("column"), tree.joint("arm")
    system = tree.system([*tree.stops(), ap.Constraint(lift - 0.1 * ap.t)])
    motion = ap.simulate(system, {lift: 0, lift.d: 0.1, arm: 0.2}, until=1.0, backend="vm")
    shown = film(Scene(system), motion, frames=41)
    grey = next(s for s in shown.shapes if isinstance(s, Polyline) and s.points.shape[1] > 10 and s.colour == "grey")
    red = next(s for s in shown.shapes if isinstance(s, Polyline) and s.name == "arm at its stop" and s.points.shape[1] > 10)
    ends = np.array([[np.cos(a), 0.0, -np.sin(a)] for a in (-1.0, 0.5)])  # about y, z of the world is up
    turn = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # the picture is the plane xz
    centre = np.stack([0 * shown.t, 0 * shown.t, 0.1 * shown.t], axis=1)
    drawn = (grey.points[:, [0, -1]] @ turn) - centre[:, None]
    radius = np.linalg.norm(drawn[0, 0])
    assert np.allclose(drawn / radius, ends, atol=1e-9)
    there = np.abs(motion.at(shown.t)[arm] - 0.5) < 1e-9
    assert there.any() and not there.all()
    assert np.array_equal(np.ptp(red.points, axis=1).max(axis=-1) > 0, there)
