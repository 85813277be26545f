"""Scenes of trees: the geometry in a robot file, or links between joints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.jets import t
from appell.scene import shapes as draw
from appell.scene.items import Item, Link, Numbers, Parts, Point, Resolve, _pose_parts, _solid
from appell.scene.joint_limits import limit_items
from appell.scene.meshes import is_file, read_mesh, thinned
from appell.scene.shapes import GREY, PALETTE, Array, Mesh, Shape
from appell.scene.solids import AXES, Box, Cylinder, Floor, Sphere, Surface
from appell.tree import LinkShape, Tree
from appell.tree.ground import DrawnTouch, drawn_ground, drawn_touch
from appell.tree.kinematics import poses
from appell.tree.tree_system import TreeSystem


class Visual(Item):
    """A mesh fixed to a frame of a tree at (R, p)."""

    def __init__(self, frame: str, mesh: Mesh, R: Array, p: Array, colour: str):
        for key, value in (("frame", frame), ("mesh", mesh), ("R", R), ("p", p), ("colour", colour)):
            object.__setattr__(self, key, value)

    frame: str
    mesh: Mesh
    R: Array
    p: Array
    colour: str

    @property
    def title(self) -> str:
        return f"the visual of {self.frame}"

    def parts(self, resolve: Resolve) -> Parts:
        return _pose_parts(resolve, self.frame)

    def shapes(self, n: Numbers) -> list[Shape]:
        m = self.mesh
        move = lambda points: points @ self.R.T + self.p
        mesh = Mesh(move(m.vertices), m.triangles, m.edges, tuple(map(move, m.outlines)), tuple(map(move, m.marks)), m.smooth)
        return [_solid(n, mesh, self.colour, 1.0, self.frame)]


class ContactForce(Item):
    """The force of the ground at a contact point, normal force and friction together; `scale` in m per N."""

    def __init__(self, face: str, touch: DrawnTouch, friction: str | None, scale: float | None):
        for key, value in (("face", face), ("touch", touch), ("friction", friction), ("scale", scale)):
            object.__setattr__(self, key, value)

    face: str
    touch: DrawnTouch
    friction: str | None
    scale: float | None

    @property
    def title(self) -> str:
        return f"the force at {self.face}"

    def parts(self, resolve: Resolve) -> Parts:
        entries = {"p": list(self.touch.place.flat()), "e": list(self.touch.normal.flat())}
        return entries | {f"e_{k}": list(direction.flat()) for k, direction in enumerate(self.touch.ways, start=1)}

    def shapes(self, n: Numbers) -> list[Shape]:
        force = n.reaction(self.face)[:, None] * n["e"]
        if self.friction is not None:
            tangential = np.asarray(n.reaction(self.friction), dtype=float).reshape(len(force), -1)
            force = force + sum(tangential[:, k : k + 1] * n[f"e_{k + 1}"] for k in range(tangential.shape[1]))
        longest = np.linalg.norm(force, axis=1).max(initial=0.0)
        drawn = force * (self.scale or 0.25 * n.size / (longest or 1.0))
        return [draw.Shaft(draw.still(n["p"]), draw.still(drawn), FORCE, self.face)]


FORCE = "#7d3c98"
WEIGHT_DRAWN = 0.5
"""Length of the arrow of a contact that carries an equal part of the weight, as a fraction of the robot's reach."""
FEW_FEET = 4
"""Largest number of contacts assumed to share the weight for that length; those of one foot are close together."""


def force_items(system: TreeSystem) -> list[Item]:
    """Arrows for the contact forces of the ground, on one scale."""
    rows = [(row.name, row) for row in system.constraints]
    touches = [(name, touch) for name, source in [*rows, *((face.name, face.source) for face in system.unilateral)]
               if (touch := drawn_touch(source)) is not None]  # fmt: skip
    tree, frictions = system.tree, {friction.name for friction in system.frictions}
    weight = float(sum(node.inertia.m for node in tree.nodes)) * float(np.linalg.norm(np.asarray(tree.gravity, float)))
    scale = WEIGHT_DRAWN * _reach(tree) * min(len(touches), FEW_FEET) / weight if weight > 0 else None
    return [
        ContactForce(name, touch, touch.friction if touch.friction in frictions else None, scale) for name, touch in touches
    ]


def range_items(system: TreeSystem) -> list[Item]:
    """Ranges of joints with stops."""
    return limit_items(system, _reach(system.tree))


def robot_items(system: TreeSystem) -> tuple[list[Item], tuple[str, ...]]:
    """The geometry of the file where it has some, and links between joints elsewhere; notes name what is missing."""
    tree = system.tree
    notes: list[str] = []
    return list(_visuals(tree, notes)) or skeleton(tree), tuple(notes)


def ground_items(system: TreeSystem) -> tuple[list[Item], tuple[str, ...]]:
    """The surfaces of the contacts and wheels of a tree, each once; notes name those that change with time."""
    sources = [*system.constraints, *dict.fromkeys(face.source for face in system.unilateral)]
    surfaces = list(dict.fromkeys(ground for source in sources if (ground := drawn_ground(source)) is not None))
    items: list[Item] = []
    notes = []
    half_width = 1.5 * _reach(system.tree)
    for ground in surfaces:
        if ground.even:
            origin, normal = ground.position.subs({ground.x: 0, ground.y: 0}), ground.floor.axis("z")
            items.append(Floor(origin.flat(), normal.flat()))
        elif t in ground.z.free_symbols or ground.floor.rotation.free_symbols:
            notes.append("hills that move are not drawn")
        else:
            over = {ground.x: (-half_width, half_width), ground.y: (-half_width, half_width)}
            items.append(Surface(ground.position.flat(), over, colour=GREY))
    return items, tuple(dict.fromkeys(notes))


# -- the geometry that a file states -----------------------------------------------------------------------------------


def _visuals(tree: Tree, notes: list[str]) -> Iterator[Item]:
    links = list(dict.fromkeys(shape.link for shape in tree.shapes))
    collisions = {link: [s for s in tree.shapes if s.link == link and s.collision] for link in links}
    for shape in tree.shapes:
        name = shape.link
        frame = next((f for f in (name, f"link {name}") if f in tree.frames), None)
        if frame is None or shape.collision:
            continue
        drawn, mesh = shape, None
        try:
            mesh = mesh_of(shape, tree.source)
        except ModelError as error:
            drawn, mesh = _drawable_collision(collisions[name], tree.source)
            notes.append(f"link {name}: {error}; {'its collision shape is drawn' if mesh else 'it is not drawn'}")
        if mesh is not None and drawn is not None:
            colour = shape.colour or PALETTE[(links.index(name) * 3 + 6) % len(PALETTE)]
            yield Visual(frame, mesh, drawn.placement.R, drawn.placement.p, colour)


def _drawable_collision(collisions: list[LinkShape], source: Path | None) -> tuple[LinkShape | None, Mesh | None]:
    """The first collision shape that can be drawn."""
    for shape in collisions:
        try:
            return shape, mesh_of(shape, source)
        except ModelError:
            continue
    return None, None


def mesh_of(shape: LinkShape, source: Path | None) -> Mesh:
    """The triangles of a shape; raises `ModelError` with the reason if there are none."""
    if shape.problem:
        raise ModelError(shape.problem)
    if shape.kind not in MESHES:
        raise ModelError(f"the geometry '{shape.kind}' is of no known kind")
    return MESHES[shape.kind](shape, source)


def _file_mesh(shape: LinkShape, source: Path | None) -> Mesh:
    if source is None:
        raise ModelError(f"the mesh {_short(shape.file)} is not looked for: the robot was given as text, in no folder")
    mesh = read_mesh(mesh_path(shape.file, source))
    return Mesh(mesh.vertices * np.array(shape.size), mesh.triangles, mesh.edges)


def _triangles(shape: LinkShape, source: Path | None) -> Mesh:
    if shape.vertices is None or shape.triangles is None:
        raise ModelError("a shape of triangles has none")
    return thinned(shape.vertices, shape.triangles)


def _capsule(shape: LinkShape, source: Path | None) -> Mesh:
    """A ball whose halves are pulled apart."""
    radius, length = shape.size
    ball = draw.sphere(radius)
    vertices = ball.vertices + np.where(ball.vertices[:, 2:] >= 0, 0.5, -0.5) * [0.0, 0.0, length]
    return Mesh(vertices, ball.triangles, smooth=True)


def _ellipsoid(shape: LinkShape, source: Path | None) -> Mesh:
    ball = draw.sphere(1.0)
    stretched = lambda points: points * np.array(shape.size)
    return Mesh(stretched(ball.vertices), ball.triangles, ball.edges, tuple(map(stretched, ball.outlines)), (), ball.smooth)


MESHES: dict[str, Callable[[LinkShape, Path | None], Mesh]] = {
    "box": lambda shape, source: draw.box(np.array(shape.size)),
    "sphere": lambda shape, source: draw.sphere(shape.size[0], marks=True),
    "cylinder": lambda shape, source: draw.cylinder(shape.size[0], shape.size[1], spokes=1),
    "capsule": _capsule,
    "ellipsoid": _ellipsoid,
    "mesh": _file_mesh,
    "triangles": _triangles,
}
"""Kind of shape → its triangles."""


def mesh_path(name: str, urdf: Path) -> Path:
    """The file meant by `package://`, `file://` or a relative name, as seen from the folder of the robot file.

    A robot file may name meshes in its own folder, in its package (the nearest folder above with a package.xml), in packages
    beside it, and in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH. A name that leads elsewhere, by ../ or by links, raises.
    """
    scheme, _, relative = name.partition("://")
    if scheme in ("package", "model") and relative:
        candidates = _in_packages(relative, urdf)
    else:
        candidates = [urdf.parent / (relative if scheme == "file" else name)]
    path = next((path for path in candidates if is_file(path)), None)
    if path is None:
        raise ModelError(f"the mesh {_short(name)} is not there (looked from {urdf.parent} upwards and in ROS_PACKAGE_PATH)")
    resolved = path.resolve()
    if not any(resolved.is_relative_to(home) for home in _allowed_folders(urdf)):
        raise ModelError(
            f"the mesh {_short(name)} is not read: it is outside the folder {urdf.parent} and the robot's package (the nearest"
            " folder above with a package.xml); put it there, or name its folder in ROS_PACKAGE_PATH"
        )
    return resolved


def _short(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]} …"


def _in_packages(name: str, urdf: Path) -> list[Path]:
    """Possible paths of package://NAME/…: in a folder NAME above the robot file, beside its package, or in ROS's folders."""
    package, _, inside = name.lstrip("/").partition("/")
    ancestors = urdf.resolve().parents
    candidates = [base / package / inside for base in ancestors] + [base / inside for base in ancestors if base.name == package]
    candidates += [base / "share" / package / inside for base in ancestors]
    return candidates + [root / sub / package / inside for root in _ros_folders() for sub in ("", "share")]


def _allowed_folders(urdf: Path) -> list[Path]:
    """Folders whose files a robot file may name: its own, its package, packages beside it, and ROS's."""
    folder = urdf.resolve().parent
    packages = [base for base in (folder, *folder.parents) if (base / "package.xml").is_file()]
    if packages:
        neighbours = [base for base in packages[0].parent.iterdir() if (base / "package.xml").is_file()]
        return [folder, packages[0], *(base.resolve() for base in neighbours), *_ros_folders()]
    return [folder, *_ros_folders()]


def _ros_folders() -> list[Path]:
    variables = [os.environ.get(key, "") for key in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")]
    return [Path(folder).resolve() for value in variables for folder in value.split(os.pathsep) if folder]


# -- a tree without geometry -------------------------------------------------------------------------------------------


def skeleton(tree: Tree) -> list[Item]:
    """Links from each joint to those on its body, or to its centre of mass; hinges as short cylinders, slides as boxes."""
    reach = _reach(tree)
    items: list[Item] = []
    for n, node in enumerate(tree.nodes):
        colour = PALETTE[n % len(PALETTE)]
        frame = tree.frame(tree.joint_frame(node.name))
        behind = [child for child in tree.nodes if child.parent == n]
        ends = [frame.at(child.placement.p.tolist()) for child in behind if np.linalg.norm(child.placement.p) > 1e-9 * reach]
        centre = np.asarray(node.inertia.h, float) / node.inertia.m if node.inertia.m else np.zeros(3)
        if not ends and np.linalg.norm(centre) > 0.02 * reach:
            ends = [frame.at((2 * centre if not behind else centre).tolist())]
        items += [Link(frame, end, colour=colour, name=node.name) for end in ends]
        items += _joint_mark(node, frame, reach)
        if not ends and node.inertia.m:
            body = Sphere(frame, 0.03 * reach, colour=colour) if behind else Box(frame, [0.12 * reach] * 3, colour=colour)
            items.append(body)
    return items


def _reach(tree: Tree) -> float:
    """The reach of the robot, m: the distance of the farthest joint along placements."""
    lengths = [0.0] * len(tree.nodes)
    for n, node in enumerate(tree.nodes):
        inward = 0.0 if node.parent < 0 else lengths[node.parent]
        lengths[n] = inward + float(np.linalg.norm(np.asarray(node.placement.p, float)))
        if node.inertia.m:
            lengths[n] = max(lengths[n], inward + float(np.linalg.norm(node.inertia.h)) / float(node.inertia.m))
    return max(lengths, default=0.0) or 1.0


def _joint_mark(node: Any, frame: Any, reach: float) -> list[Item]:
    axis = np.asarray(node.axis, dtype=float)
    main = next((name for name, e in zip("xyz", np.eye(3), strict=True) if np.allclose(np.abs(axis), e)), None)
    if node.kind.hinge and main:
        return [Cylinder(frame, 0.022 * reach, 0.07 * reach, axis=main, colour="#5b6470", name=node.name)]
    if node.kind.hinge:
        return [Point(frame, 0.025 * reach, colour="#5b6470", name=node.name)]
    if node.kind.name == "prismatic":
        return [Box(frame, [0.05 * reach] * 3, colour="#5b6470", name=node.name)]
    return []


def plane_of(tree: Tree) -> str | None:
    """The view in which a plane mechanism is flat: all hinges are parallel to one axis of the world, all slides perpendicular
    to it."""
    q = np.concatenate([node.kind.generic_coordinates(k) for k, node in enumerate(tree.nodes)]) if tree.nodes else np.zeros(0)
    at_pose = poses(tree.layout, list(q))
    directions: list[tuple[bool, Array]] = []
    for node, pose, link in zip(tree.nodes, at_pose, tree.layout.links, strict=True):
        if node.kind.name not in ("revolute", "continuous", "prismatic", "planar"):
            return None
        R = np.array(pose.at(link.frame.inverse).R, dtype=float)
        directions.append((node.kind.name != "prismatic", R @ np.asarray(node.axis, float)))
    for view, normal in (("flat", np.eye(3)[2]), ("xz", np.eye(3)[1]), ("yz", np.eye(3)[0])):
        if all(abs(abs(d @ normal) - turns) < 1e-9 for turns, d in directions):
            return view
    return None


__all__ = [
    "AXES", "ContactForce", "force_items", "ground_items", "mesh_path", "plane_of", "range_items", "robot_items", "skeleton",
]  # fmt: skip
