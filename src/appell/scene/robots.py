"""Scenes of trees: the visual geometry of a URDF file, or links between joints."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from appell.errors import ModelError
from appell.reading import shown
from appell.scene import shapes as draw
from appell.scene.items import Item, Link, Numbers, Parts, Point, Resolve, _placed, _solid
from appell.scene.meshes import is_file, read_mesh
from appell.scene.shapes import PALETTE, Array, Mesh, Shape
from appell.scene.solids import AXES, Box, Cylinder, Sphere
from appell.tree import Tree
from appell.tree.inertia import from_rpy
from appell.tree.system import TreeSystem
from appell.tree.xml import read_xml


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
        return _placed(resolve, self.frame)

    def shapes(self, n: Numbers) -> list[Shape]:
        m = self.mesh
        move = lambda points: points @ self.R.T + self.p
        mesh = Mesh(move(m.vertices), m.triangles, m.edges, tuple(map(move, m.outlines)), tuple(map(move, m.marks)), m.smooth)
        return [_solid(n, mesh, self.colour, 1.0, self.frame)]


def robot_items(system: TreeSystem) -> tuple[list[Item], tuple[str, ...]]:
    """The geometry of the file where it has some, and links between joints elsewhere; notes name what is missing."""
    tree = system.tree
    notes: list[str] = []
    items = list(_visuals(tree, notes)) if tree.source is not None else []
    return items or skeleton(tree), tuple(notes)


# -- the visual geometry of a file -------------------------------------------------------------------------------------


def _visuals(tree: Tree, notes: list[str]) -> Iterator[Item]:
    path = Path(tree.source or "")
    if not path.is_file():
        notes.append(f"the robot file {path.name} is no longer there: links are drawn between joints")
        return
    robot = read_xml(path)
    colours = {m.get("name"): c for m in robot.findall("material") if (c := _colour(m))}
    for k, link in enumerate(robot.findall("link")):
        name = link.get("name", "")
        frame = next((f for f in (name, f"link {name}") if f in tree.frames), None)
        if frame is None:
            continue
        shown = link.findall("visual") or link.findall("collision")
        for visual in shown:
            R, p = np.eye(3), np.zeros(3)
            try:
                mesh = _geometry(visual.find("geometry"), path)
                R, p = _origin(visual.find("origin"))
            except ModelError as error:
                mesh = _instead(link, path)
                what = "its collision shape is drawn" if mesh else "it is not drawn"
                notes.append(f"link {name}: {error}; {what}")
            if mesh is None:
                continue
            material = visual.find("material")
            named = None if material is None else _colour(material) or colours.get(material.get("name"))
            yield Visual(frame, mesh, R, p, named or PALETTE[(k * 3 + 6) % len(PALETTE)])


def _instead(link: Element, path: Path) -> Mesh | None:
    for collision in link.findall("collision"):
        try:
            return _geometry(collision.find("geometry"), path)
        except ModelError:
            continue
    return None


def _floats(element: Element, key: str, default: str) -> Array:
    """The numbers of an attribute, as many as the default has; `ModelError` where they are not."""
    text = element.get(key) or default
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if len(values) != len(default.split()) or not (abs(values) < 1e30).all():  # squares of lengths in m are finite
        raise ModelError(f"<{element.tag} {key}={shown(text)}> must be {len(default.split())} finite numbers")
    return values


def _origin(origin: Element | None) -> tuple[Array, Array]:
    if origin is None:
        return np.eye(3), np.zeros(3)
    return np.asarray(from_rpy(_floats(origin, "rpy", "0 0 0").tolist()), dtype=float), _floats(origin, "xyz", "0 0 0")


def _colour(material: Element) -> str | None:
    """#rrggbb of <color rgba=…>; None where it is missing or no colour."""
    colour = material.find("color")
    if colour is None:
        return None
    try:
        r, g, b = (round(255 * min(max(x, 0.0), 1.0)) for x in _floats(colour, "rgba", "0.5 0.5 0.5 1")[:3])
    except ModelError:
        return None
    return f"#{r:02x}{g:02x}{b:02x}"


def _geometry(geometry: Element | None, path: Path) -> Mesh | None:
    shape = geometry[0] if geometry is not None and len(geometry) else None
    if shape is None:
        return None
    if shape.tag == "box":
        return draw.box(_floats(shape, "size", "0.1 0.1 0.1"))
    if shape.tag == "sphere":
        return draw.sphere(float(_floats(shape, "radius", "0.05")[0]), marks=True)
    if shape.tag == "cylinder":
        radius, length = _floats(shape, "radius", "0.05"), _floats(shape, "length", "0.1")
        return draw.cylinder(float(radius[0]), float(length[0]), spokes=1)
    if shape.tag == "mesh":
        mesh = read_mesh(mesh_path(shape.get("filename", ""), path))
        return Mesh(mesh.vertices * _floats(shape, "scale", "1 1 1"), mesh.triangles, mesh.edges)
    raise ModelError(f"the geometry <{shape.tag}> is of no known kind")


def mesh_path(name: str, urdf: Path) -> Path:
    """The file that `package://`, `file://` or a relative name means, seen from the folder of the robot file.

    A robot file names meshes in its own folder, in its package (the nearest folder above with a package.xml) and those beside
    it, and in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH. A name that leads elsewhere, by ../ or by links, is refused.
    """
    scheme, _, rest = name.partition("://")
    if scheme in ("package", "model") and rest:
        tries = _in_packages(rest, urdf)
    else:
        tries = [urdf.parent / (rest if scheme == "file" else name)]
    found = next((path for path in tries if is_file(path)), None)
    if found is None:
        raise ModelError(f"the mesh {_short(name)} is not there (looked from {urdf.parent} upwards and in ROS_PACKAGE_PATH)")
    real = found.resolve()
    if not any(real.is_relative_to(home) for home in _homes(urdf)):
        raise ModelError(
            f"the mesh {_short(name)} is not read: it is outside the folder {urdf.parent} and the robot's package (the nearest"
            " folder above with a package.xml); put it there, or name its folder in ROS_PACKAGE_PATH"
        )
    return real


def _short(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]} …"


def _in_packages(rest: str, urdf: Path) -> list[Path]:
    """Where package://NAME/… may be: in a folder above the robot called NAME, beside its package, or in ROS's folders."""
    package, _, inside = rest.lstrip("/").partition("/")
    above = urdf.resolve().parents
    tries = [base / package / inside for base in above] + [base / inside for base in above if base.name == package]
    tries += [base / "share" / package / inside for base in above]
    return tries + [root / sub / package / inside for root in _ros_folders() for sub in ("", "share")]


def _homes(urdf: Path) -> list[Path]:
    """Folders whose files a robot file may name: its own, its package, packages beside it, and ROS's."""
    own = urdf.resolve().parent
    packages = [base for base in (own, *own.parents) if (base / "package.xml").is_file()]
    if packages:
        beside = [other for other in packages[0].parent.iterdir() if (other / "package.xml").is_file()]
        return [own, packages[0], *(other.resolve() for other in beside), *_ros_folders()]
    return [own, *_ros_folders()]


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
        here = tree.frame(node.name)
        behind = [child for child in tree.nodes if child.parent == n]
        ends = [here.at(child.placement.p.tolist()) for child in behind if np.linalg.norm(child.placement.p) > 1e-9 * reach]
        centre = np.asarray(node.inertia.h, float) / node.inertia.m if node.inertia.m else np.zeros(3)
        if not ends and np.linalg.norm(centre) > 0.02 * reach:
            ends = [here.at((2 * centre if not behind else centre).tolist())]
        items += [Link(here, end, colour=colour, name=node.name) for end in ends]
        items += _joint_mark(node, here, reach)
        if not ends and node.inertia.m:
            body = Sphere(here, 0.03 * reach, colour=colour) if behind else Box(here, [0.12 * reach] * 3, colour=colour)
            items.append(body)
    return items


def _reach(tree: Tree) -> float:
    """A length of the robot, m: the farthest joint by placements."""
    lengths = [0.0] * len(tree.nodes)
    for n, node in enumerate(tree.nodes):
        inner = 0.0 if node.parent < 0 else lengths[node.parent]
        lengths[n] = inner + float(np.linalg.norm(np.asarray(node.placement.p, float)))
        if node.inertia.m:
            lengths[n] = max(lengths[n], inner + float(np.linalg.norm(node.inertia.h)) / float(node.inertia.m))
    return max(lengths, default=0.0) or 1.0


def _joint_mark(node: Any, here: Any, reach: float) -> list[Item]:
    axis = np.asarray(node.axis, dtype=float)
    main = next((name for name, e in zip("xyz", np.eye(3), strict=True) if np.allclose(np.abs(axis), e)), None)
    if node.kind.hinge and main:
        return [Cylinder(here, 0.022 * reach, 0.07 * reach, axis=main, colour="#5b6470", name=node.name)]
    if node.kind.hinge:
        return [Point(here, 0.025 * reach, colour="#5b6470", name=node.name)]
    if node.kind.name == "prismatic":
        return [Box(here, [0.05 * reach] * 3, colour="#5b6470", name=node.name)]
    return []


def plane_of(tree: Tree) -> str | None:
    """The view in which a plane mechanism is flat: all hinges turn about one axis of the world, all slides are across it."""
    from appell.tree.kinematics import poses

    q = np.concatenate([node.kind.somewhere(k) for k, node in enumerate(tree.nodes)]) if tree.nodes else np.zeros(0)
    found = poses(tree.layout, list(q))
    directions: list[tuple[bool, Array]] = []
    for node, pose, link in zip(tree.nodes, found, tree.layout.links, strict=True):
        if node.kind.name not in ("revolute", "continuous", "prismatic", "planar"):
            return None
        R = np.array(pose.at(link.frame.inverse).R, dtype=float)
        directions.append((node.kind.name != "prismatic", R @ np.asarray(node.axis, float)))
    for view, normal in (("flat", np.eye(3)[2]), ("xz", np.eye(3)[1]), ("yz", np.eye(3)[0])):
        if all(abs(abs(d @ normal) - turns) < 1e-9 for turns, d in directions):
            return view
    return None


__all__ = ["AXES", "mesh_path", "plane_of", "robot_items", "skeleton"]
