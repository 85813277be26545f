"""Automatic scenes: from joints, from bodies, or from Cartesian coordinates; otherwise each coordinate on a scale."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Expr, Integer, Max, sqrt

from appell.model import System
from appell.model.attitudes import PlaneAngle
from appell.model.bodies import Particle, RigidBody
from appell.scene.items import Curve, Item, Label, Link, Point, Trail
from appell.scene.shapes import GREY, PALETTE
from appell.scene.solids import Box, Disc, Floor, Wall
from appell.scene.tree_scenes import force_items, ground_items, plane_of, range_items, robot_items
from appell.tree.tree_system import TreeSystem

ANGLES = ("theta", "phi", "psi", "alpha", "beta", "gamma", "vartheta", "varphi")


def automatic(system: System, view: str | None) -> tuple[list[Item], str | None, tuple[str, ...]]:
    """(items, view, notes) for a system without its own scene."""
    if isinstance(system, TreeSystem) and not system.tree.parameters:
        (items, notes), (ground, ground_notes) = robot_items(system), ground_items(system)
        view = view or plane_of(system.tree) or "space"
        return [*ground, *items, *range_items(system), *force_items(system)], view, (*notes, *ground_notes)
    if system.bodies:
        return [*body_items(system), *_walls(system, _picture_place(_cartesian(system)))], view, ()
    cartesian = _cartesian(system)
    if cartesian:
        place = _picture_place(cartesian)
        return [*_point(system, place), *_walls(system, place)], view, ()
    note = "every coordinate is drawn on a scale of its own: give scene= to see the mechanism"
    return scales(system), view or "flat", (note,)


def body_items(system: System) -> list[Item]:
    """Particles as points, plane bodies as bars and spatial bodies as boxes with the same moments of inertia."""
    items: list[Item] = []
    for k, body in enumerate(system.bodies):
        colour = PALETTE[k % len(PALETTE)]
        if isinstance(body, Particle):
            items.append(Point(body, colour=colour, name=body.name))
        elif isinstance(body.orientation, PlaneAngle):
            items += _bar(body, colour)
        else:
            items.append(Box(body, _equal_box(body), colour=colour, name=body.name))
        if len(system.bodies) <= 4 and any(x.free_symbols & set(system.coordinates) for x in body.position.flat()):
            items.append(Trail(body, colour=colour))
    return items


def _bar(body: RigidBody, colour: str) -> list[Item]:
    """A uniform bar along the body's x axis with the same mass and moment of inertia, of length √(12 J/m)."""
    half_length = sqrt(12 * body.inertia[2, 2] / body.mass) / 2
    direction = body.orientation.rotation.col(0)
    ends = [[body.position[i] + sign * half_length * direction[i] for i in range(3)] for sign in (-1, 1)]
    return [Link(*ends, colour=colour, name=body.name), Point(body, hinge=True)]


def _equal_box(body: RigidBody) -> list[Expr] | None:
    """Edges of the uniform box with the same mass and principal moments: a² = 6 (J_y + J_z − J_x)/m; None without moments."""
    J: list[Any] = [body.inertia[i, i] for i in range(3)]
    if not any(J) or body.mass == 0:
        return None
    total = sum(J, Integer(0))
    thinnest = sqrt(6 * total / body.mass) / 12
    return [Max(sqrt(Max(6 * (total - 2 * j) / body.mass, 0)), thinnest) for j in J]


def _cartesian(system: System) -> list[Any]:
    """The coordinates named x, y, z, in this order, if there is more than one; a single one is a point on a line."""
    by_name = {str(q): q for q in system.coordinates}
    coordinates = [by_name[name] for name in "xyz" if name in by_name]
    return coordinates if len(coordinates) > 1 or len(system.coordinates) == 1 else []


def _picture_place(cartesian: list[Any]) -> list[Any]:
    """x to the right and y or z upwards in a plane; x, y, z in space."""
    by_name = {str(q): q for q in cartesian}
    if set(by_name) >= {"y", "z"}:
        return [by_name.get(name, Integer(0)) for name in "xyz"]
    return [by_name.get("x", Integer(0)), by_name.get("y", by_name.get("z", Integer(0)))]


def _point(system: System, place: list[Any]) -> list[Item]:
    angle = [q for q in system.coordinates if q not in place and is_angle(system, q)]
    if len(place) == 2 and len(angle) == 1:
        return [Trail(place), Box(place, turned=angle[0], name=system.name)]
    return [Trail(place), Point(place, name=system.name)]


def _walls(system: System, place: list[Any]) -> list[Item]:
    """Faces that are linear in the components of the place only, as walls with their free side."""
    components = [a for a in place if a in system.coordinates]
    items: list[Item] = []
    for face in system.unilateral:
        f = face.function
        gradient = [sympy.diff(f, a) if a in components else Integer(0) for a in place]
        moving = set(system.coordinates)
        if not any(gradient) or any(g.free_symbols & moving for g in gradient) or (f.free_symbols & moving) - set(components):
            continue
        square: Any = sum((g**2 for g in gradient), Integer(0))
        constant: Any = f.xreplace(dict.fromkeys(components, Integer(0)))
        foot = [-constant * g / square for g in gradient]
        items.append((Wall if gradient[0] else Floor)(foot, gradient, name=face.name))
    return items


def is_angle(system: System, q: Any) -> bool:
    """Whether a coordinate occurs only inside sines and cosines; one that does not occur at all is judged by its name."""
    exprs = [system.kinetic, system.potential, *system.residuals, *(face.function for face in system.unilateral)]
    inside = [e for expr in exprs for e in expr.atoms(sympy.sin, sympy.cos, sympy.tan)]
    hidden = {e: sympy.Dummy() for e in inside}
    if any(q in e.xreplace(hidden).free_symbols for e in exprs):
        return False
    return any(q in e.free_symbols for e in inside) or str(q).rstrip("0123456789_") in ANGLES


def scales(system: System) -> list[Item]:
    """Each coordinate on its own scale, stacked: angles as hands of a dial, others as beads on a rail."""
    items: list[Item] = []
    for k, q in enumerate(system.coordinates):
        y, colour = Integer(-k), PALETTE[k % len(PALETTE)]
        items.append(Label([-2.2, y], str(q)))
        if is_angle(system, q):
            items += [Disc([0, y], sympy.Rational(2, 5), turned=q, colour=colour, name=str(q))]
            continue
        bead = 2 * sympy.atan(q) / sympy.pi * sympy.Rational(8, 5)  # the whole line on a finite rail
        items += [Curve([-1.6, y], [1.6, y], colour=GREY), Curve([0, y - 0.12], [0, y + 0.12], colour=GREY)]
        items.append(Point([bead, y], colour=colour, name=str(q)))
    return items


__all__ = ["automatic", "is_angle", "scales"]
