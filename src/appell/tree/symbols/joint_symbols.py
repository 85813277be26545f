"""Symbols for the coordinates and velocities of a tree, joint by joint, in the order of q and v.

    hinge, slide      name                                name.d
    spherical         name_x name_y name_z name_w         omega_name_x …                       body rates
    planar            x_name y_name name                  v_name_x v_name_y name.d             body velocities
    floating          x y z base_x base_y base_z base_w   v_base_x … omega_base_x …            body velocities

These are the `Names` of the table of joints; q̇ = N v is its `rate` in these symbols.

The floating joint of a tree with one of them is the `base`; several keep their own names, x_name y_name z_name ….
Characters not allowed in symbols become underscores.

Hinges and slides keep their names. If such a name is also that of a coordinate or velocity of another joint, the other joint is
renamed: the base has x_base y_base z_base, and if that is still ambiguous, `base` or the name gets a trailing underscore.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sympy import Expr, Symbol

from appell.errors import ModelError
from appell.jets import Coordinate, Jet, Speed
from appell.model.attitudes import Quaternion
from appell.reading import symbolic
from appell.tree.frames import Node
from appell.tree.joints import JointKind
from appell.tree.symbols.exact_scalars import without_floats


@dataclass(frozen=True)
class JointSymbols:
    """Coordinates, velocities, rates q̇ = N v and the quaternion, if any, of one joint."""

    coordinates: tuple[Coordinate, ...]
    velocities: tuple[Jet, ...]
    rates: dict[Symbol, Expr]
    quaternions: tuple[Quaternion, ...] = ()

    @staticmethod
    def of(kind: JointKind, word: str, alone: bool = False) -> JointSymbols:
        """The symbols of a joint of this kind and name; `alone`: it is the base."""
        called = kind.names_or_default
        scalars = [Coordinate(name.format(word)) for name in (called.alone if alone else called.coordinates)]
        balls = (Quaternion(word),) if called.quaternion else ()
        coordinates = (*scalars, *(x for ball in balls for x in ball.coordinates))
        speeds = [Speed(name.format(word)) if name else scalars[k].d for k, name in enumerate(called.velocities)]
        velocities = (*speeds, *(rate for ball in balls for rate in ball.rates))
        values = (without_floats(symbolic(x, "a rate of a joint")) for x in kind.rate(coordinates, velocities))
        rates: dict[Symbol, Expr] = dict(zip(coordinates, values, strict=True))
        for ball in balls:
            rates |= ball.kinematics
        return JointSymbols(coordinates, velocities, rates, balls)

    @property
    def names(self) -> list[str]:
        return [str(symbol) for symbol in (*self.coordinates, *self.velocities)]


def symbols_of(nodes: Sequence[Node]) -> tuple[JointSymbols, ...]:
    """The symbols of every joint, all distinct; joints with fewer coordinates choose first."""
    kinds = [node.kind.name for node in nodes]
    symbols: dict[str, JointSymbols] = {}
    owner: dict[str, Node] = {}
    for node in sorted(nodes, key=lambda node: node.kind.nq):
        word = word_of_name(node.name)
        base = bool(node.kind.names_or_default.alone) and (kinds.count(node.kind.name) == 1 or word == "base")
        symbols[node.name] = _untaken(node, "base" if base else word, base, owner)
        owner |= dict.fromkeys(symbols[node.name].names, node)
    return tuple(symbols[node.name] for node in nodes)


def _untaken(node: Node, word: str, base: bool, owner: Mapping[str, Node]) -> JointSymbols:
    """The symbols of the joint if none is taken, else the next choice; equal joint names raise."""
    joint = JointSymbols.of(node.kind, word, base)
    taken = [name for name in joint.names if name in owner]
    repeated = len(set(joint.names)) < len(joint.names)  # the z of floating joint "z", and the z of its quaternion: z_z
    if not taken and not repeated:
        return joint
    other = owner[taken[0]] if taken else node
    if taken and (node.kind.nq == 1 or word_of_name(other.name) == word_of_name(node.name)):
        raise ModelError(f"joints '{other.name}' and '{node.name}' both want the symbol '{taken[0]}'; rename one of them")
    return _untaken(node, word, False, owner) if base else _untaken(node, f"{word}_", False, owner)


def word_of_name(name: str) -> str:
    """A name made valid for a symbol: other characters become underscores."""
    word = re.sub(r"\W", "_", name)
    return f"{word}_" if keyword.iskeyword(word) or word == "t" else f"_{word}" if word[0].isdigit() else word
