"""Properties of joints in a file as fittings that act in motions; the same for every kind of file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from appell.errors import ModelError
from appell.tree.description import Joint, Limits
from appell.tree.fittings import Coupling, Fitting, JointDamping, JointSpring, JointStops, gathered_friction
from appell.tree.joints import JOINTS


@dataclass(frozen=True, eq=False)
class StatedJoint:
    """A joint with its properties in a file: damping, N m s/rad, dry friction, N m, leader, spring, N m/rad."""

    joint: Joint
    damping: float = 0.0
    friction: float = 0.0
    mimic: Coupling | None = None
    stiffness: float = 0.0
    rest: float = 0.0


def joint_fittings(
    rows: Sequence[StatedJoint], *, limits: bool, damping: bool, friction: bool, mimic: bool, notes: list[str]
) -> list[Fitting]:
    """The fittings that act in motions; notes list them by kind, with the option that leaves them out."""
    couplings = _couplings(rows, notes) if mimic else []
    viscous = [JointDamping(row.joint.name, (row.damping,)) for row in rows if row.damping] if damping else []
    dry = gathered_friction({row.joint.name: row.friction for row in rows if row.friction and friction}, couplings)
    stopped = [row.joint.name for row in rows if limits and _has_stops(row.joint.limits, row.joint.name, notes)]
    listed = lambda names: ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    for names, text, option in (
        (stopped, "the limits of {} are stops", "limits"), ([damper.joint for damper in viscous], "damping of {}", "damping"),
        ([brake.joint for brake in dry], "dry friction of {}", "friction"),
        ([coupling.name for coupling in couplings], "{}", "mimic"),
    ):  # fmt: skip
        notes.extend([f"in motions: {text.format(listed(names))} ({option}=False leaves it out)"] if names else [])
    for row in rows:
        if (row.friction and not friction) or (row.mimic and not mimic):
            ignored = "dry friction" if row.friction and not friction else "<mimic>"
            notes.append(f"joint '{row.joint.name}': {ignored} is not applied")
    springs = [JointSpring(row.joint.name, row.stiffness, row.rest) for row in rows if row.stiffness]
    return [*([JointStops()] if stopped else []), *viscous, *dry, *springs, *couplings]


def _has_stops(limits: Limits | None, name: str, notes: list[str]) -> bool:
    """Whether limits become stops."""
    if limits is None or (math.isinf(limits.lower) and math.isinf(limits.upper)):
        return False
    if limits.lower > limits.upper:
        raise ModelError(
            f"joint '{name}': <limit lower='{limits.lower:g}' upper='{limits.upper:g}'> leaves it no way; correct the file, or"
            " read it with limits=False"
        )
    if limits.lower == limits.upper:  # both are 0 by default, and exporters write that
        notes.append(
            f"joint '{name}': lower and upper limit are both {limits.lower:g}, which is taken for no limits;"
            f" tree.lock({{'{name}': {limits.lower:g}}}) holds it there"
        )
    return limits.lower < limits.upper


def _couplings(rows: Sequence[StatedJoint], notes: list[str]) -> list[Coupling]:
    """The `<mimic>` couplings of joints with one coordinate; a missing leader gives a note, a cycle raises."""
    joints = {row.joint.name: JOINTS[row.joint.kind] for row in rows}
    follows: dict[str, Coupling] = {}
    for coupling in (row.mimic for row in rows if row.mimic is not None and joints[row.joint.name].nq):
        name, leader = coupling.joints
        if leader not in joints or joints[name].nq != 1 or joints[leader].nq > 1:
            reason = "is no joint of the file" if leader not in joints else "or the joint itself has several coordinates"
            notes.append(
                f"joint '{name}': <mimic joint='{leader}'> is not applied, '{leader}' {reason}; the joint is independent"
            )
        else:
            follows[name] = coupling if joints[leader].nq else replace(coupling, fixed=((leader, 0.0),))
    for name in follows:
        chain, current = [name], follows[name].of
        while current in follows and current not in chain:
            chain.append(current)
            current = follows[current].of
        if current in chain:
            raise ModelError(f"by their <mimic> the joints {', '.join(map(repr, chain))} follow each other in a circle")
    return list(follows.values())


__all__ = ["StatedJoint", "joint_fittings"]
