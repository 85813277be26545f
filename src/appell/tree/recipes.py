"""A digest of everything that determines the code of a tree function."""

from __future__ import annotations

from collections.abc import Sequence

from appell.backends import generator
from appell.backends.compiler.cache import digest
from appell.tree.description import Frame
from appell.tree.frames import Node
from appell.tree.inertia import Placement
from appell.tree.joints import TABLE

GENERATORS = ("appell.tree", "appell.graph", "appell.backends")


def recipe_key(nodes: Sequence[Node], gravity: tuple[float, float, float], *question: str, frame: Frame | None = None) -> str:
    """Digest of all numbers of a tree, bit by bit, of a question, and of the source files that generate its graph and C code.

    "" where a joint kind is defined outside these files, since its code is unknown, or where a number is a symbol.
    """
    if any(node.kind not in TABLE for node in nodes):
        return ""
    try:
        numbers = [repr(gravity), *(_node(node) for node in nodes)]
        frame_numbers = [] if frame is None else [str(frame.node), _numbers(frame.placement)]
    except TypeError:
        return ""
    return digest(generator(*GENERATORS), *question, *frame_numbers, *numbers)


def _node(node: Node) -> str:
    body = node.inertia
    numbers = (*node.axis, body.m, *body.h, *body.P.flat, *node.armature, *node.damping)
    return f"{node.kind.name} {node.parent} {_numbers(node.placement)} {' '.join(float(x).hex() for x in numbers)}"


def _numbers(placement: Placement) -> str:
    return " ".join(float(x).hex() for x in (*placement.R.flat, *placement.p))
