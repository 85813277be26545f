"""Locked joints: welded at a given configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ModelError
from appell.tree.description import Joint, unit_axis
from appell.tree.fittings import JointStops
from appell.tree.frames import basis
from appell.tree.inertia import Placement
from appell.tree.joints import JOINTS
from appell.tree.subspace import word_of

if TYPE_CHECKING:
    from appell.tree.tree import Tree


ROUNDED_VALUE = 1e-9
"""rad or m: a value typed by hand may be beyond a limit by as much."""


def locked(tree: Tree, values: Mapping[str, Any]) -> list[Joint]:
    """The joints of a tree, with the named ones replaced by fixed joints at the placement of their values."""
    q = tree.configuration(values)
    _refuse_outside(tree, values, q)
    return [_fixed(joint, q[tree.indices(joint.name)[0]]) if joint.name in values else joint for joint in tree.joints]


def _refuse_outside(tree: Tree, values: Mapping[str, Any], q: np.ndarray) -> None:
    """Raises for joints locked outside their limits, if these act in this tree."""
    for fitting in tree.fittings:
        beyond = fitting.excess(tree) if set(fitting.joints) <= set(values) else None
        if beyond is not None and (excess := float(beyond(q)[0].max())) > ROUNDED_VALUE:
            names = ", ".join(map(repr, fitting.joints))
            raise ModelError(
                f"locked so, {names} would be beyond their limits by {excess:.3g}; a tree that was read with limits=False has"
                " none"
            )
    if not any(isinstance(fitting, JointStops) for fitting in tree.fittings):
        return
    for name, (lower, upper) in tree.ranges.items():
        position = float(q[tree.indices(name)[0]][0])
        if name in values and not lower <= position <= upper:
            raise ModelError(
                f"joint '{name}' is locked at {position:g}, outside its limits {lower:g} … {upper:g}; a tree that was read with"
                " limits=False has none"
            )


def _fixed(joint: Joint, value: np.ndarray) -> Joint:
    kind = JOINTS[joint.kind]
    R, p = (np.asarray(entries, dtype=float) for entries in word_of(kind.steps([float(x) for x in value])))
    B = basis(unit_axis(joint.axis, f"joint '{joint.name}'")) if kind.axial else np.eye(3)
    pose = Placement(B @ R @ B.T, B @ p)
    return replace(joint, kind="fixed", placement=joint.placement @ pose, limits=None, armature=0.0, damping=0.0)


__all__ = ["locked"]
