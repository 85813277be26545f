"""Shapes of the links of an SDF model: `<visual>`, or `<collision>` where a link has none."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

import numpy as np

from appell.errors import ModelError
from appell.tree.readers.robot import LinkShape
from appell.tree.readers.sdf_poses import Poses, numbers, only, value
from appell.tree.readers.urdf_shapes import hex_colour

SIZES = {"box": (("size", 3),), "sphere": (("radius", 1),), "cylinder": (("radius", 1), ("length", 1)),
         "capsule": (("radius", 1), ("length", 1)), "ellipsoid": (("radii", 3),)}  # fmt: skip
"""Geometry → its elements, and their numbers of values."""


def link_shapes(model: Element, poses: Poses) -> Iterator[LinkShape]:
    for link in model.findall("link"):
        for element in link.findall("visual") or link.findall("collision"):
            geometry = element.find("geometry")
            shape = geometry[0] if geometry is not None and len(geometry) else None
            if shape is not None and shape.tag not in ("plane", "empty"):
                yield _shape(link.get("name") or "", element, shape)


def _shape(link: str, element: Element, shape: Element) -> LinkShape:
    where = f"a shape of link '{link}'"
    try:
        pose = Poses.local_pose(only(element, "pose", where), where)
        if shape.tag == "mesh":
            scale = only(shape, "scale", where)
            size = (1.0, 1.0, 1.0) if scale is None else numbers(scale, 3, where)
            return LinkShape(link, "mesh", size, pose, _colour(element), value(shape, "uri", where, ""))
        if shape.tag not in SIZES:
            return LinkShape(link, shape.tag, problem=f"the geometry <{shape.tag}> is of no known kind")
        parts = [only(shape, tag, where) for tag, _ in SIZES[shape.tag]]
        if any(part is None for part in parts):
            raise ModelError(f"<{shape.tag}> has no <{SIZES[shape.tag][parts.index(None)][0]}>")
        sized = [numbers(part, n, where) for part, (_, n) in zip(parts, SIZES[shape.tag], strict=True) if part is not None]
        return LinkShape(link, shape.tag, tuple(x for values in sized for x in values), pose, _colour(element))
    except ModelError as error:
        return LinkShape(link, shape.tag, problem=str(error))


def _colour(element: Element) -> str | None:
    material = element.find("material")
    stated = None if material is None else material.find("diffuse")
    try:
        return None if stated is None else hex_colour(np.array(numbers(stated, 4, "<diffuse>")))
    except ModelError:
        return None


__all__ = ["link_shapes"]
