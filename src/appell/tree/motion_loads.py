"""Joint loads along a motion, including everything that acts on the bodies behind a joint.

The wrench in a joint is the force that moves the bodies behind it, minus what acts on them from elsewhere: constraints,
contacts, frictions, loads and potentials written in frames. For an expression e in frames with the force Λ, a frame receives

    force  Λ ∂e/∂p        moment  Λ Σ_j R_j × ∂e/∂R_j        (δp and δR = [δθ×] R of the frame; R_j the columns of R)

and with ṗ, ω, Ṙ (p̈, ω̇) in place of p, R where e is in velocities (accelerations). Forces written in joint coordinates and
velocities act inside the joints and are part of the joint loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sympy import Expr, Integer, Matrix, diff, zeros

from appell.errors import ModelError
from appell.jets import jets_of
from appell.reading import name_in, one_of
from appell.spelling import did_you_mean
from appell.tree.symbols.frame_symbols import AXES, FrameJet, FrameRate, FrameSymbols

if TYPE_CHECKING:
    from appell.tree.tree_system import TreeSystem

Array = NDArray[np.float64]
CHOICES = ("joint", "parent", "world")


def wrench_along(system: TreeSystem, motion: Any, joint: str, axes: str) -> Array:
    """(k, 6): [force | moment] that a joint transmits to its successor; see `Motion.wrench`."""
    one_of(axes, CHOICES, "axes=")
    tree = system.tree
    names = [node.name for node in tree.nodes]
    joint = name_in(joint)
    if joint not in names:
        welded = [candidate.name for candidate in tree.joints if candidate.name == joint]
        reason = "is fixed: the bodies on both sides are one here" if welded else f"is unknown{did_you_mean(joint, names)}"
        raise ModelError(f"joint '{joint}' of {tree.name} {reason}; joints that move: {', '.join(names[:12])}")
    q, v, a = motion.q[:, : tree.nq], motion.v[:, : tree.nv], motion.acceleration[:, : tree.nv]
    k = names.index(joint)
    wrench = tree.wrenches(q, v, a, external=acting(system, motion) or None)[:, k]
    if axes == "joint":
        return wrench
    turn = lambda node: tree.placement(tree.joint_frame(node.name), q)[0]
    R = turn(tree.nodes[k])
    if axes == "parent":
        node = tree.nodes[k]
        home = turn(tree.nodes[node.parent]) if node.parent >= 0 else np.eye(3)
        R = np.swapaxes(home, -1, -2) @ R if node.parent >= 0 else R
    turned = lambda x: (R @ x[..., None])[..., 0]
    return np.concatenate([turned(wrench[:, :3]), turned(wrench[:, 3:])], axis=-1)


def acting(system: TreeSystem, motion: Any) -> dict[str, Array]:
    """Frame → wrench (k, 6) that acts on it, on the world's axes at its origin, from everything that is written in frames."""
    total: dict[str, Array] = {}
    for weight, by_frame in _sources(system, motion):
        for frame, wrench in by_frame.items():
            values = np.stack([_values_along(motion, x) for x in wrench], axis=-1)
            total[frame] = total.get(frame, 0.0) + np.asarray(weight)[:, None] * values
    return total


def _values_along(motion: Any, x: Expr) -> Array:
    return np.full(len(motion.t), float(x)) if x.is_number else motion[x]  # type: ignore[arg-type]


def _sources(system: TreeSystem, motion: Any) -> Iterator[tuple[Array, dict[str, list[Expr]]]]:
    """(force along the motion, frame wrenches of a unit of it) for rows, faces, frictions, loads and the potential."""
    ones = np.ones(len(motion.t))
    for c, residual, W in zip(system.constraints, system.residuals, system.reactions, strict=True):
        if W is None and (by_frame := frame_wrenches(residual, c.order)):
            yield motion.reaction(c), by_frame
    for face in system.unilateral:
        if by_frame := frame_wrenches(face.function, 0):
            yield motion.reaction(face.name), by_frame
    for fr in system.frictions:
        forces = np.asarray(motion.reaction(fr.name)).reshape(len(motion.t), -1)
        for k, slip in enumerate(fr.slip):
            if by_frame := frame_wrenches(slip, 1):
                yield forces[:, k], by_frame
    if by_frame := frame_wrenches(-system.potential, 0):
        yield ones, by_frame
    for F, u in system.frame_loads:
        for force, speed in zip(F, u, strict=True):
            if by_frame := frame_wrenches(speed, 1):
                yield ones, {frame: [force * x for x in wrench] for frame, wrench in by_frame.items()}


def frame_wrenches(e: Expr, level: int) -> dict[str, list[Expr]]:
    """Frame → [force | moment] (six expressions on the world's axes, at its origin) of a unit force along e."""
    jets = [jet for jet in jets_of(e) if isinstance(jet, FrameJet) and jet.level == level]
    return {frame: _wrench(e, frame, level, entries) for frame, entries in _by_frame(jets).items()}


def _by_frame(jets: Iterable[FrameJet]) -> dict[str, list[FrameJet]]:
    grouped: dict[str, list[FrameJet]] = {}
    for jet in sorted(jets, key=str):
        grouped.setdefault(jet.frame, []).append(jet)
    return grouped


def _wrench(e: Expr, frame: str, level: int, jets: Iterable[FrameJet]) -> list[Expr]:
    force, moment, slopes = zeros(3, 1), zeros(3, 1), zeros(3, 3)
    for jet in jets:
        slope = diff(e, jet)
        if isinstance(jet, FrameRate):
            moment[AXES.index(jet.entry[-1])] += slope
        elif jet.entry in AXES:
            force[AXES.index(jet.entry)] += slope
        else:
            i, j = (AXES.index(letter) for letter in jet.entry[-2:])
            slopes[i, j] += slope
    R = FrameSymbols.of(frame).rotation
    for j in range(3):
        if any(slopes[:, j]):
            moment += Matrix(R[:, j]).cross(Matrix(slopes[:, j]))
    return [x if isinstance(x, Expr) else Integer(0) for x in (*force.flat(), *moment.flat())]


__all__ = ["acting", "frame_wrenches", "wrench_along"]
