"""Actuators and stops of joints: generalized forces as inputs, set by a control or by `parameters=`; limits as constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from appell.errors import ModelError
from appell.jets import parameters
from appell.model.unilateral import Between, Unilateral
from appell.reading import reals
from appell.tree.description import Limits
from appell.tree.fittings import stop_ranges
from appell.tree.tree_system import joint_symbols

if TYPE_CHECKING:
    from appell.tree.tree import Tree


def inputs(tree: Tree, joints: tuple[str, ...]) -> dict[Any, Any]:
    """Velocity → parameter, a generalized force for each velocity of the joints, in their order; see `Tree.inputs`."""
    driven = joints or tuple(node.name for node in tree.nodes if not node.kind.free)
    velocities = [v for joint in driven for v in joint_symbols(tree, joint)[1]]
    return {v: parameters(f"tau_{str(v).removesuffix('.d')}") for v in velocities}


def efforts(tree: Tree) -> np.ndarray:
    """The largest |τ| for each velocity, (nv,), N or N m; inf where no limit is given."""
    limits = tree.limits
    each = [[limits.get(node.name, Limits()).effort] * node.kind.nv for node in tree.nodes]
    return np.array([effort for one in each for effort in one], dtype=float)


def clipped(tree: Tree, tau: Any) -> Any:
    """See `Tree.clipped`."""
    most = efforts(tree)
    if not isinstance(tau, Mapping):
        array = reals(tau, "tau")
        if array.shape[-1:] != (tree.nv,):
            raise ModelError(f"tau of {tree.name} has the shape ({tree.nv},) or (batch, {tree.nv}), not {array.shape}")
        return np.clip(array, -most, most)
    velocities = [v for joint in tree._symbols for v in joint.velocities]
    place = {key: k for k, v in enumerate(velocities) for key in (v, str(v), str(v).removesuffix(".d"))}
    result = {}
    for key, force in tau.items():
        k = place.get(key, place.get(str(key)))
        if k is None:
            raise ModelError(f"{tree.name} has no velocity {key}; clipped takes {{velocity: force}}, as tree.inputs() gives it")
        result[key] = force if math.isinf(most[k]) else sympy.Max(-most[k], sympy.Min(most[k], force))
    return result


def stops(tree: Tree, joints: tuple[str, ...], restitution: Any) -> list[Between | Unilateral]:
    """Constraints from the limits of joints; see `Tree.stops`."""
    ranges = stop_ranges(tree) if not joints else {name: _stated(tree, name) for name in joints}
    found: list[Between | Unilateral] = []
    for name, (lower, upper) in ranges.items():
        q, *others = joint_symbols(tree, name)[0]
        if others:
            raise ModelError(f"joint '{name}' has {1 + len(others)} coordinates: say by ap.Between which of them is limited")
        if lower >= upper:
            raise ModelError(
                f"joint '{name}' has the limits {lower:g} and {upper:g}, which leave it no way; name the joints"
                " that shall have stops, tree.stops('…'), or hold it by a constraint; limits=False leaves those of a file out"
            )
        if math.isfinite(lower) and math.isfinite(upper):
            found.append(Between(lower, q, upper, name, restitution))
        else:
            found.append(Unilateral(q - lower if math.isfinite(lower) else upper - q, name, restitution))
    return found


def _stated(tree: Tree, name: str) -> tuple[float, float]:
    joint_symbols(tree, name)
    limits = tree.limits.get(name, Limits())
    if not (math.isfinite(limits.lower) or math.isfinite(limits.upper)):
        raise ModelError(f"joint '{name}' states no limits; ap.Between(lower, tree.joint('{name}'), upper) is a stop")
    return limits.lower, limits.upper


__all__ = ["clipped", "efforts", "inputs", "stops"]
