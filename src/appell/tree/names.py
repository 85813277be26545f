"""Symbols for the coordinates and velocities of a tree, joint by joint, in the order of q and v.

    hinge, slide      name                                name.d
    spherical         name_x name_y name_z name_w         omega_name_x …                       body rates
    planar            x_name y_name name                  v_name_x v_name_y name.d             body velocities
    floating          x y z base_x base_y base_z base_w   v_base_x … omega_base_x …            body velocities

The floating joint of a tree with one of them is the `base`; several keep their own names, x_name y_name z_name ….
Characters that no symbol has become underscores.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sympy import Expr, Matrix, Symbol, cos, sin

from appell.errors import ModelError
from appell.jets import Coordinate, Jet, Speed
from appell.model.bodies import Quaternion
from appell.tree.frames import Node


@dataclass(frozen=True)
class JointSymbols:
    """Coordinates, velocities, rates q̇ = N v and the quaternion, if any, of one joint."""

    coordinates: tuple[Coordinate, ...]
    velocities: tuple[Jet, ...]
    rates: dict[Symbol, Expr]
    quaternions: tuple[Quaternion, ...] = ()


def symbols_of(nodes: Sequence[Node]) -> tuple[JointSymbols, ...]:
    """The symbols of every joint, all different."""
    bases = sum(node.kind.name == "floating" for node in nodes)
    made = []
    for node in nodes:
        word = "base" if node.kind.name == "floating" and bases == 1 else _word(node.name)
        made.append(MAKERS[node.kind.name](word))
    seen: dict[str, str] = {}
    for node, joint in zip(nodes, made, strict=True):
        for symbol in (*joint.coordinates, *joint.velocities):
            if str(symbol) in seen:
                raise ModelError(
                    f"joints '{seen[str(symbol)]}' and '{node.name}' both want the symbol '{symbol}'; rename one of them"
                )
            seen[str(symbol)] = node.name
    return tuple(made)


def _word(name: str) -> str:
    word = re.sub(r"\W", "_", name)
    return f"{word}_" if keyword.iskeyword(word) or word == "t" else f"_{word}" if word[0].isdigit() else word


def _one(word: str) -> JointSymbols:
    q = Coordinate(word)
    return JointSymbols((q,), (q.d,), {q: q.d})


def _ball(word: str) -> JointSymbols:
    ball = Quaternion(word)
    return JointSymbols(ball.coordinates, ball.rates, ball.kinematics, (ball,))


def _plane(word: str) -> JointSymbols:
    x, y, phi = Coordinate(f"x_{word}"), Coordinate(f"y_{word}"), Coordinate(word)
    u, v = Speed(f"v_{word}_x"), Speed(f"v_{word}_y")
    rates = {x: u * cos(phi) - v * sin(phi), y: u * sin(phi) + v * cos(phi), phi: phi.d}
    return JointSymbols((x, y, phi), (u, v, phi.d), rates)


def _free(word: str) -> JointSymbols:
    ball = Quaternion(word)
    place = tuple(Coordinate(i if word == "base" else f"{i}_{word}") for i in "xyz")
    linear = tuple(Speed(f"v_{word}_{i}") for i in "xyz")
    moved = ball.rotation * Matrix(linear)
    rates = {**dict(zip(place, list(moved), strict=True)), **ball.kinematics}
    return JointSymbols((*place, *ball.coordinates), (*linear, *ball.rates), rates, (ball,))


MAKERS: dict[str, Callable[[str], JointSymbols]] = {
    "revolute": _one,
    "continuous": _one,
    "prismatic": _one,
    "spherical": _ball,
    "planar": _plane,
    "floating": _free,
}
