"""Shapes of the geoms of an `MjModel`."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.tree.inertia import Placement
from appell.tree.readers.file_rotations import rotation
from appell.tree.readers.robot import LinkShape
from appell.tree.readers.urdf_shapes import hex_colour

VISIBLE = 3
"""Geoms in groups below this number are drawn, as in MuJoCo's viewer."""


def shapes_of(mujoco: Any, model: Any, names: Any) -> list[LinkShape]:
    """Spheres, capsules, cylinders, boxes, ellipsoids and meshes; planes, which have no size, are skipped."""
    kinds, shapes = mujoco.mjtGeom, []
    sizes = {
        int(kinds.mjGEOM_SPHERE): ("sphere", lambda s: (s[0],)),
        int(kinds.mjGEOM_CAPSULE): ("capsule", lambda s: (s[0], 2 * s[1])),
        int(kinds.mjGEOM_CYLINDER): ("cylinder", lambda s: (s[0], 2 * s[1])),
        int(kinds.mjGEOM_BOX): ("box", lambda s: tuple(2 * s)), int(kinds.mjGEOM_ELLIPSOID): ("ellipsoid", tuple),
        int(kinds.mjGEOM_MESH): ("triangles", lambda s: ()),
    }  # fmt: skip
    for g in range(model.ngeom):
        kind = int(model.geom_type[g])
        if kind not in sizes or model.geom_group[g] >= VISIBLE:
            continue
        kind_name, size = sizes[kind]
        placement = Placement(rotation(model.geom_quat[g]), np.array(model.geom_pos[g]))
        rgba = model.mat_rgba[model.geom_matid[g]] if model.geom_matid[g] >= 0 else model.geom_rgba[g]
        mesh = _mesh(model, int(model.geom_dataid[g])) if kind_name == "triangles" else {}
        numbers = tuple(map(float, size(np.asarray(model.geom_size[g], float))))
        shapes.append(LinkShape(names("body", model.geom_bodyid[g]), kind_name, numbers, placement, hex_colour(rgba), **mesh))
    return shapes


def _mesh(model: Any, k: int) -> dict[str, Any]:
    vertices, faces = int(model.mesh_vertadr[k]), int(model.mesh_faceadr[k])
    return {
        "vertices": np.array(model.mesh_vert[vertices : vertices + int(model.mesh_vertnum[k])], dtype=float),
        "triangles": np.array(model.mesh_face[faces : faces + int(model.mesh_facenum[k])], dtype=int),
    }


__all__ = ["shapes_of"]
