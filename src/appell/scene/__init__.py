"""Scenes: what to draw of a system, in symbols, and films of it, in numbers. Rendering is in `appell.show`."""

from appell.scene.items import Arrow, Curve, Frame, Item, Label, Link, Point, Reaction, Spring, Thread, Trail
from appell.scene.scene import Scene
from appell.scene.solids import Box, Cylinder, Disc, Ellipsoid, Floor, MeshFile, Sphere, Surface, Wall, Wheel

__all__ = [
    "Arrow", "Box", "Curve", "Cylinder", "Disc", "Ellipsoid", "Floor", "Frame", "Item", "Label", "Link", "MeshFile", "Point",
    "Reaction", "Scene", "Sphere", "Spring", "Surface", "Thread", "Trail", "Wall", "Wheel",
]  # fmt: skip
