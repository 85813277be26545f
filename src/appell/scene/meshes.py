"""Meshes from files: STL (binary and text), OBJ and DAE, read without other libraries and simplified for drawing."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.reading import path_of, shown
from appell.scene.shapes import Array, Mesh
from appell.tree.readers.xml import parse_xml

CELLS = 40
"""Cells along the longest side; in meshes with more than `DRAWN_TRIANGLES` triangles, vertices in the same cell are merged."""
DRAWN_TRIANGLES = 1500
"""Triangles up to which a mesh is drawn as it is; only coincident vertices are merged."""

# bytes of a file: a scan of four million triangles in binary STL has 200 MB, too much to draw
MESH_FILE_BYTES = 64 * 2**20
TRIANGLES = 2_000_000  # in a file: more would need gigabytes of memory for a picture of a few thousand


def read_mesh(path: str | Path) -> Mesh:
    """The triangles in a file, simplified; raises `ModelError` for a file that is missing, too large or unreadable."""
    path = path_of(path, "a mesh")
    if not is_file(path):
        raise ModelError(f"the mesh {str(path)[:200]} is not there")
    status = path.stat()
    if status.st_size > MESH_FILE_BYTES:
        remedy = f"thin it out, some {DRAWN_TRIANGLES} triangles are drawn of it"
        raise ModelError(f"the mesh {path} has over {MESH_FILE_BYTES // 2**20} MB; {remedy}")
    return _read(path, status.st_mtime_ns)


def is_file(path: Path) -> bool:
    """Whether there is a regular file of this name; False for names with null characters or thousands of letters."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int) -> Mesh:
    readers = {".stl": _stl, ".obj": _obj, ".dae": _dae}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise ModelError(f"the mesh {path.name} is of no known kind; {', '.join(readers)} are read")
    try:
        vertices, triangles = readers[suffix](path.read_bytes())
        if not len(triangles) or not abs(vertices).max() < 1e30:  # 1e30 m: squares stay finite
            raise ValueError("it has no triangles, or points that are not finite")
        return thinned(vertices, triangles)
    except Exception as error:  # foreign bytes may raise anything
        raise ModelError(f"the mesh {path} cannot be read: {shown(str(error) or type(error).__name__)}") from None


def _refuse_many(sizes: Iterable[int]) -> None:
    """Raises if there would be too many triangles, before they are created."""
    if sum(sizes) > TRIANGLES:
        raise ValueError(f"it has over {TRIANGLES} triangles")


def thinned(vertices: Array, triangles: NDArray[np.int_]) -> Mesh:
    """Merges coincident vertices (in large meshes those in one cell); drops triangles without area."""
    size = float(np.ptp(vertices, axis=0).max()) or 1.0
    cell = size / CELLS if len(triangles) > DRAWN_TRIANGLES else 1e-6 * size
    key = np.round((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
    _, representatives, cell_of = np.unique(key, axis=0, return_index=True, return_inverse=True)
    cell_of = cell_of.reshape(-1)
    count = np.bincount(cell_of, minlength=len(representatives))
    centre = np.stack([np.bincount(cell_of, vertices[:, i], len(representatives)) for i in range(3)], axis=1) / count[:, None]
    corners = cell_of[triangles]
    a, b, c = corners.T
    corners = corners[(a != b) & (b != c) & (c != a)]
    _, distinct = np.unique(np.sort(corners, axis=1), axis=0, return_index=True)
    return Mesh(centre, corners[np.sort(distinct)])


def _stl(data: bytes) -> tuple[Array, NDArray[np.int_]]:
    count = struct.unpack("<I", data[80:84])[0] if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        records = np.frombuffer(data, dtype=np.dtype([("f", "<f4", 12), ("n", "<u2")]), offset=84)
        vertices = records["f"][:, 3:].reshape(-1, 3).astype(float)
    else:
        lines = data.decode("ascii", "replace").splitlines()
        entries = [line.split()[1:4] for line in lines if line.strip().startswith("vertex")]
        if any(len(entry) != 3 for entry in entries):
            raise ValueError("a vertex has not three numbers")
        vertices = np.array(entries, dtype=float).reshape(-1, 3)
    return vertices, np.arange(len(vertices) // 3 * 3).reshape(-1, 3)


def _obj(data: bytes) -> tuple[Array, NDArray[np.int_]]:
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", "replace").splitlines():
        word = line.split()
        if word[:1] == ["v"]:
            vertices.append([float(x) for x in word[1:4]])
        elif word[:1] == ["f"]:
            corner = [int(x.split("/")[0]) for x in word[1:]]
            corner = [k - 1 if k > 0 else len(vertices) + k for k in corner]
            _refuse_many((len(triangles), len(corner) - 2))
            triangles += [(corner[0], corner[i], corner[i + 1]) for i in range(1, len(corner) - 1)]
    return np.array(vertices, dtype=float).reshape(-1, 3), np.array(triangles, dtype=int).reshape(-1, 3)


def _dae(data: bytes) -> tuple[Array, NDArray[np.int_]]:
    """The geometries that the visual scene instantiates, with their transforms; up axis and unit from the file.

    Parsed like robot files, without a document type and without namespaces: a long one would be repeated for each element.
    """
    root = parse_xml(data, "the file")
    for element in root.iter():
        element.tag = element.tag.rsplit(":", 1)[-1]
    shapes = {g.get("id"): _dae_geometry(g) for g in root.iter("geometry")}
    placed: list[tuple[Array, NDArray[np.int_]]] = []

    def visit(node: Element, parent: Array) -> None:
        transform = parent @ _dae_transform(node)
        for instance in node.findall("instance_geometry"):
            vertices, triangles = shapes[(instance.get("url") or "").lstrip("#")]
            _refuse_many((len(triangles), *(len(t) for _, t in placed)))
            placed.append((vertices @ transform[:3, :3].T + transform[:3, 3], triangles))
        for child in node.findall("node"):
            visit(child, transform)

    up, unit = root.find("asset/up_axis"), root.find("asset/unit")
    upright = np.eye(4)
    if up is not None and (up.text or "").strip() == "Y_UP":
        upright[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    upright[:3] *= float(unit.get("meter", 1.0)) if unit is not None else 1.0
    for scene in root.iter("visual_scene"):
        for node in scene.findall("node"):
            visit(node, upright)
    if not placed:
        raise ValueError("its scene shows no geometry")
    starts = np.cumsum([0, *(len(v) for v, _ in placed)])
    return np.vstack([v for v, _ in placed]), np.vstack([t + s for (_, t), s in zip(placed, starts, strict=False)])


def _dae_transform(node: Element) -> Array:
    total = np.eye(4)
    for element in node:
        if element.tag not in ("matrix", "translate", "scale", "rotate"):
            continue
        numbers = np.array((element.text or "").split(), dtype=float)
        step = np.eye(4)
        if element.tag == "matrix":
            step = numbers.reshape(4, 4)
        elif element.tag == "translate":
            step[:3, 3] = numbers
        elif element.tag == "scale":
            step[:3, :3] = np.diag(numbers)
        else:
            x, y, z = numbers[:3] / np.linalg.norm(numbers[:3])
            K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            angle = np.radians(numbers[3])
            step[:3, :3] += np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
        total = total @ step
    return total


def _dae_geometry(geometry: Element) -> tuple[Array, NDArray[np.int_]]:
    """Points and triangles of one <geometry>; polygons are split into fans."""
    sources = {s.get("id"): s.find("float_array") for s in geometry.iter("source")}
    inputs = {v.get("id"): next(i.get("source") for i in v.findall("input") if i.get("semantic") == "POSITION")
              for v in geometry.iter("vertices")}  # fmt: skip
    array = sources[str(next(iter(inputs.values()))).lstrip("#")]
    assert array is not None
    vertices = np.array((array.text or "").split(), dtype=float).reshape(-1, 3)
    triangles: list[list[int]] = []
    for kind in ("triangles", "polylist", "polygons"):
        for block in geometry.iter(kind):
            entries = block.findall("input")
            stride = 1 + max(int(i.get("offset", 0)) for i in entries)
            offset = next(int(i.get("offset", 0)) for i in entries if i.get("semantic") == "VERTEX")
            for p in block.findall("p"):
                index = np.array((p.text or "").split(), dtype=int).reshape(-1, stride)[:, offset]
                counts = block.find("vcount")
                sizes = [3] * (len(index) // 3) if kind == "triangles" else [len(index)]
                sizes = [int(x) for x in (counts.text or "").split()] if counts is not None else sizes
                start = 0
                _refuse_many((len(triangles), *sizes))
                for size in sizes:
                    face = index[start : start + size]
                    triangles += [[face[0], face[i], face[i + 1]] for i in range(1, size - 1)]
                    start += size
    return vertices, np.array(triangles, dtype=int).reshape(-1, 3)
