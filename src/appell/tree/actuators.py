"""Actuators and stops of joints: generalized forces as inputs, set by a control or by `parameters=`; limits as constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ModelError
from appell.jets import parameters
from appell.model.unilateral import Between, Unilateral
from appell.reading import reals
from appell.tree.description import Limits
from appell.tree.fittings import stop_ranges
from appell.tree.symbols.joint_symbols import word_of_name
from appell.tree.tendons import Drive, Thruster, clip_to
from appell.tree.tree_system import joint_symbols

if TYPE_CHECKING:
    from appell.tree.tree import Tree


def inputs(tree: Tree, joints: tuple[str, ...]) -> dict[Any, Any]:
    """Velocity → parameter, a generalized force for each velocity of the joints, in their order; see `Tree.inputs`."""
    driven = joints or tuple(node.name for node in tree.nodes if not node.kind.free)
    velocities = [v for joint in driven for v in joint_symbols(tree, joint)[1]]
    return {v: parameters(f"tau_{str(v).removesuffix('.d')}") for v in velocities}


def actuator_inputs(tree: Tree) -> dict[str, Any]:
    """Name of an actuator → its input, the parameter u_NAME, in the order of the fittings; all distinct.

    Characters not allowed in symbols become underscores. Where that makes two names equal, or a joint or a parameter of the
    tree has the symbol, underscores are added; names that need no change choose first.
    """
    names = list(dict.fromkeys(fitting.name for fitting in tree.fittings if isinstance(fitting, Drive | Thruster)))
    used = {*map(str, tree.parameters), *(name for joint in tree._symbols for name in joint.names)} if names else set[str]()
    symbols: dict[str, str] = {}
    for name in sorted(names, key=lambda name: word_of_name(name) != name):  # stable: otherwise in the order of the fittings
        symbol = f"u_{word_of_name(name)}"
        while symbol in used:
            symbol += "_"
        used.add(symbol)
        symbols[name] = symbol
    return {name: parameters(symbols[name]) for name in names}


def efforts(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest τ for each velocity, (nv,), N or N m; infinite where no limit is given."""
    limits = tree.limits
    pairs = [limits.get(node.name, Limits()).efforts for node in tree.nodes for _ in range(node.kind.nv)]
    least, most = np.array(pairs, dtype=float).reshape(-1, 2).T
    return least, most


def clipped(tree: Tree, tau: Any) -> Any:
    """See `Tree.clipped`."""
    least, most = efforts(tree)
    if not isinstance(tau, Mapping):
        array = reals(tau, "tau")
        if array.shape[-1:] != (tree.nv,):
            raise ModelError(f"tau of {tree.name} has the shape ({tree.nv},) or (batch, {tree.nv}), not {array.shape}")
        return np.clip(array, least, most)
    velocities = [v for joint in tree._symbols for v in joint.velocities]
    index = {key: k for k, v in enumerate(velocities) for key in (v, str(v), str(v).removesuffix(".d"))}
    result = {}
    for key, force in tau.items():
        k = index.get(key, index.get(str(key)))
        if k is None:
            raise ModelError(f"{tree.name} has no velocity {key}; clipped takes {{velocity: force}}, as tree.inputs() gives it")
        result[key] = clip_to(force, (least[k], most[k]))
    return result


def stops(tree: Tree, joints: tuple[str, ...], restitution: Any) -> list[Between | Unilateral]:
    """Constraints from the limits of joints; see `Tree.stops`."""
    ranges = stop_ranges(tree) if not joints else {name: _stated_limits(tree, name) for name in joints}
    constraints: list[Between | Unilateral] = []
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
            constraints.append(Between(lower, q, upper, name, restitution))
        else:
            constraints.append(Unilateral(q - lower if math.isfinite(lower) else upper - q, name, restitution))
    return constraints


def _stated_limits(tree: Tree, name: str) -> tuple[float, float]:
    joint_symbols(tree, name)
    limits = tree.limits.get(name, Limits())
    if not (math.isfinite(limits.lower) or math.isfinite(limits.upper)):
        raise ModelError(f"joint '{name}' states no limits; ap.Between(lower, tree.joint('{name}'), upper) is a stop")
    return limits.lower, limits.upper


__all__ = ["actuator_inputs", "clipped", "efforts", "inputs", "stops"]
