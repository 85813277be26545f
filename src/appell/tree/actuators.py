"""What drives and stops joints: generalized forces as inputs, which a control or `parameters=` gives; limits as constraints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from appell.errors import ModelError
from appell.jets import parameters
from appell.model.unilateral import Between, Unilateral
from appell.tree.description import Limits
from appell.tree.system import joint_symbols

if TYPE_CHECKING:
    from appell.tree.tree import Tree


def inputs(tree: Tree, joints: tuple[str, ...]) -> dict[Any, Any]:
    """Velocity → parameter, a generalized force for each velocity of the joints, in their order; see `Tree.inputs`."""
    driven = joints or tuple(node.name for node in tree.nodes if not node.kind.free)
    velocities = [v for joint in driven for v in joint_symbols(tree, joint)[1]]
    return {v: parameters(f"tau_{str(v).removesuffix('.d')}") for v in velocities}


def stops(tree: Tree, joints: tuple[str, ...], restitution: Any) -> list[Between | Unilateral]:
    """Constraints from the limits of joints; see `Tree.stops`."""
    found: list[Between | Unilateral] = []
    for name in joints or tuple(tree.limits):
        q, *others = joint_symbols(tree, name)[0]
        limits = tree.limits.get(name, Limits())
        below, above = math.isfinite(limits.lower), math.isfinite(limits.upper)
        if others and (below or above):
            raise ModelError(f"joint '{name}' has {1 + len(others)} coordinates: say by ap.Between which of them is limited")
        if joints and not (below or above):
            raise ModelError(f"joint '{name}' states no limits; ap.Between(lower, tree.joint('{name}'), upper) is a stop")
        if limits.lower >= limits.upper:
            raise ModelError(
                f"joint '{name}' has the limits {limits.lower:g} and {limits.upper:g}, which leave it no way; name the joints"
                " that shall have stops, tree.stops('…'), or hold it by a constraint"
            )
        if below and above:
            found.append(Between(limits.lower, q, limits.upper, name, restitution))
        elif below or above:
            found.append(Unilateral(q - limits.lower if below else limits.upper - q, name, restitution))
    return found


__all__ = ["inputs", "stops"]
