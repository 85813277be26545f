"""Symbols for the coordinates and velocities of a tree, joint by joint, in the order of q and v.

    hinge, slide      name                                name.d
    spherical         name_x name_y name_z name_w         omega_name_x …                       body rates
    planar            x_name y_name name                  v_name_x v_name_y name.d             body velocities
    floating          x y z base_x base_y base_z base_w   v_base_x … omega_base_x …            body velocities

The floating joint of a tree with one of them is the `base`; several keep their own names, x_name y_name z_name ….
Characters that no symbol has become underscores.

Hinges and slides keep their names. Where one is called as a coordinate or velocity of another joint would be, that joint
yields: the base is at x_base y_base z_base, and if that is not enough, `base` or the name gets an underscore at its end.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
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

    @property
    def names(self) -> list[str]:
        return [str(symbol) for symbol in (*self.coordinates, *self.velocities)]


def symbols_of(nodes: Sequence[Node]) -> tuple[JointSymbols, ...]:
    """The symbols of every joint, all different; joints of fewer coordinates choose first."""
    alone = sum(node.kind.name == "floating" for node in nodes) == 1
    made: dict[str, JointSymbols] = {}
    owner: dict[str, Node] = {}
    for node in sorted(nodes, key=lambda node: node.kind.nq):
        make, word = MAKERS[node.kind.name], _word(node.name)
        if make is _free and (alone or word == "base"):
            make, word = _base, "base"
        made[node.name] = _untaken(node, make, word, owner)
        owner |= dict.fromkeys(made[node.name].names, node)
    return tuple(made[node.name] for node in nodes)


def _untaken(node: Node, make: Maker, word: str, owner: Mapping[str, Node]) -> JointSymbols:
    """The symbols that `make` gives the joint if nobody owns one of them, else the next choice; equal names are refused."""
    joint = make(word)
    taken = [name for name in joint.names if name in owner]
    if not taken:
        return joint
    other = owner[taken[0]]
    if node.kind.nq == 1 or _word(other.name) == _word(node.name):
        raise ModelError(f"joints '{other.name}' and '{node.name}' both want the symbol '{taken[0]}'; rename one of them")
    return _untaken(node, _free, word, owner) if make is _base else _untaken(node, make, f"{word}_", owner)


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
    return _placed(word, [f"x_{word}", f"y_{word}", f"z_{word}"])


def _base(word: str) -> JointSymbols:
    return _placed(word, ["x", "y", "z"])


def _placed(word: str, names: Sequence[str]) -> JointSymbols:
    ball, place = Quaternion(word), tuple(map(Coordinate, names))
    linear = tuple(Speed(f"v_{word}_{i}") for i in "xyz")
    moved = ball.rotation * Matrix(linear)
    rates = {**dict(zip(place, list(moved), strict=True)), **ball.kinematics}
    return JointSymbols((*place, *ball.coordinates), (*linear, *ball.rates), rates, (ball,))


Maker = Callable[[str], JointSymbols]

MAKERS: dict[str, Maker] = {
    "revolute": _one,
    "continuous": _one,
    "prismatic": _one,
    "spherical": _ball,
    "planar": _plane,
    "floating": _free,
}
