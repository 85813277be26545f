"""Generalized forces of joints as inputs: parameters that a control or `parameters=` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appell.jets import parameters
from appell.tree.system import joint_symbols

if TYPE_CHECKING:
    from appell.tree.tree import Tree


def inputs(tree: Tree, joints: tuple[str, ...]) -> dict[Any, Any]:
    """Velocity → parameter, a generalized force for each velocity of the joints, in their order; see `Tree.inputs`."""
    driven = joints or tuple(node.name for node in tree.nodes if not node.kind.free)
    velocities = [v for joint in driven for v in joint_symbols(tree, joint)[1]]
    return {v: parameters(f"tau_{str(v).removesuffix('.d')}") for v in velocities}


__all__ = ["inputs"]
