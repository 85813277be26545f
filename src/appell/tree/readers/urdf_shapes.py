"""Shapes of the links of a URDF file: `<visual>`, or `<collision>` where a link has none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

import numpy as np

from appell.errors import ModelError
from appell.reading import shown
from appell.tree.inertia import Placement, from_rpy
from appell.tree.readers.file_rotations import stated_quaternion
from appell.tree.readers.robot import LinkShape

SIZES = {"box": {"size": "0.1 0.1 0.1"}, "sphere": {"radius": "0.05"}, "cylinder": {"radius": "0.05", "length": "0.1"},
         "capsule": {"radius": "0.05", "length": "0.1"}, "mesh": {"scale": "1 1 1"}}  # fmt: skip
"""Geometry → its attributes, with defaults to draw where they are missing."""


def link_shapes(robot: Element) -> Iterator[LinkShape]:
    """The shapes of every link; invalid numbers are reported as a problem of the shape and do not stop the reader."""
    colours = {m.get("name"): c for m in robot.findall("material") if (c := _colour(m))}
    for link in robot.findall("link"):
        name, collisions = link.get("name", ""), link.findall("collision")
        for element in link.findall("visual") or collisions:
            material = element.find("material")
            colour = None if material is None else _colour(material) or colours.get(material.get("name"))
            shape = _shape(name, element)
            if shape is not None:
                yield replace(shape, colour=colour)
        if link.findall("visual"):
            shapes = (_shape(name, element) for element in collisions)
            yield from (replace(shape, collision=True) for shape in shapes if shape is not None)


def _shape(link: str, element: Element) -> LinkShape | None:
    geometry = element.find("geometry")
    if geometry is None or not len(geometry):
        return None
    shape = geometry[0]
    if shape.tag not in SIZES:
        return LinkShape(link, shape.tag, problem=f"the geometry <{shape.tag}> is of no known kind")
    try:
        size = np.concatenate([_floats(shape, key, default) for key, default in SIZES[shape.tag].items()])
        placement = _origin(element.find("origin"))
    except ModelError as error:
        return LinkShape(link, shape.tag, problem=str(error))
    return LinkShape(link, shape.tag, tuple(size.tolist()), placement, file=shape.get("filename", ""))


def _floats(element: Element, key: str, default: str) -> np.ndarray:
    """The numbers of an attribute, as many as the default has; else `ModelError`."""
    text = element.get(key) or default
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if len(values) != len(default.split()) or not (abs(values) < 1e30).all():  # 1e30 m: squares stay finite
        raise ModelError(f"<{element.tag} {key}={shown(text)}> must be {len(default.split())} finite numbers")
    return values


def _origin(origin: Element | None) -> Placement:
    if origin is None:
        return Placement(np.eye(3), np.zeros(3))
    if origin.get("quat_xyzw") is not None:
        R = stated_quaternion(origin, _floats(origin, "quat_xyzw", "0 0 0 1").tolist())
        return Placement(R, _floats(origin, "xyz", "0 0 0"))
    R = np.asarray(from_rpy(_floats(origin, "rpy", "0 0 0").tolist()), dtype=float)
    return Placement(R, _floats(origin, "xyz", "0 0 0"))


def _colour(material: Element) -> str | None:
    """#rrggbb of <color rgba=…>; None where it is missing or invalid."""
    colour = material.find("color")
    if colour is None:
        return None
    try:
        return hex_colour(_floats(colour, "rgba", "0.5 0.5 0.5 1")[:3])
    except ModelError:
        return None


def hex_colour(rgb: np.ndarray) -> str:
    """#rrggbb of three numbers from 0 to 1."""
    r, g, b = (round(255 * min(max(float(x), 0.0), 1.0)) for x in rgb[:3])
    return f"#{r:02x}{g:02x}{b:02x}"


__all__ = ["hex_colour", "link_shapes"]
