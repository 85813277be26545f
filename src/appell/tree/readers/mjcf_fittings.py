"""Fittings of an `MjModel`, which act on its joints beside the bodies: springs, losses, limits, equalities, tendons, actuators.

Equalities become exact rows; in MuJoCo they are soft (solref and solimp are not read). Limits become stops without rebound.
"""

from __future__ import annotations

from dataclasses import replace
from math import cos, inf, pi
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from appell.errors import ModelError
from appell.tree.fittings import Coupling, Fitting, JointDamping, JointFriction, JointSpring, JointStops
from appell.tree.readers.file_rotations import rotation, rpy_of
from appell.tree.readers.mjcf_actuators import actuators_of, carries_weight, length_of
from appell.tree.tendons import BallLimit, ConstantForce, JoinedFrames, Length, LengthCoupling, Tendon

HINGES = (2, 3)
"""mjtJoint of slides and hinges."""
JOINT_VELOCITIES = (6, 3, 1, 1)
"""The number of velocities of a free joint, a ball, a slide, a hinge: in the order of mjtJoint."""
Named = Tendon | LengthCoupling | JoinedFrames
SOLVED_FLAGS = ("EQUALITY", "FRICTIONLOSS", "LIMIT")
"""Flags of the parts of MuJoCo's constraint solver, which the flag "constraint" disables together."""


def fittings_of(
    mujoco: Any, model: Any, names: Any, notes: list[str], *, limits: bool, damping: bool, friction: bool, equality: bool,
    actuators: bool,
) -> list[Fitting]:  # fmt: skip
    """All fittings; the notes list them."""
    flags = mujoco.mjtDisableBit
    disabled = lambda name: bool(model.opt.disableflags & getattr(flags, f"mjDSBL_{name}", 0))
    enabled = lambda name, wanted=True: wanted and not disabled(name) and not (name in SOLVED_FLAGS and disabled("CONSTRAINT"))
    if not (model.nu and enabled("ACTUATION")):
        _refuse_idle_carriers(model, names)
    # weights are among MuJoCo's passive forces, which act unless both flags disable them
    fittings: list[Fitting] = _weights(model, names) if enabled("SPRING") or enabled("DAMPER") else []
    fittings += _springs(model, names) if enabled("SPRING") else []
    stops = _stops(model, names) if enabled("LIMIT", limits) else []
    viscous = _losses(model, names, "dof_damping", JointDamping) if enabled("DAMPER", damping) else []
    dry = _losses(model, names, "dof_frictionloss", JointFriction) if enabled("FRICTIONLOSS", friction) else []
    acts = {"spring": enabled("SPRING"), "damping": enabled("DAMPER", damping), "friction": enabled("FRICTIONLOSS", friction)}
    tendons = _tendons(mujoco, model, names, notes, limits=enabled("LIMIT", limits), **acts)
    rows = _equalities(mujoco, model, names, notes) if enabled("EQUALITY", equality) else []
    drives = actuators_of(mujoco, model, names, notes) if enabled("ACTUATION", actuators) else []
    for label, option, group in (
        ("limits as stops", "limits", stops), ("damping of joints", "damping", viscous), ("dry friction", "friction", dry),
        ("equalities as exact rows", "equality", rows), ("actuators as parameters, tree.actuators", "actuators", drives),
    ):  # fmt: skip
        notes.extend([f"in motions: {label} ({option}=False leaves them out)"] if group else [])
    return [*fittings, *stops, *viscous, *dry, *_distinct([*tendons, *rows], model, names, [*stops, *dry]), *drives]


def _distinct(fittings: list[Fitting], model: Any, names: Any, others: list[Fitting]) -> list[Fitting]:
    """Tendons and equalities under names that no stop or friction of a joint has, nor another of them: in MJCF a joint, a
    tendon and an equality may be called alike, but the constraints of a system may not."""
    used = {joint for fitting in [*others, *fittings] if not isinstance(fitting, Named) for joint in fitting.joints}
    used |= {names("jnt", j) for j in range(model.njnt) if model.jnt_limited[j]}
    result: list[Fitting] = []
    for fitting in fittings:
        if isinstance(fitting, Named):
            name = fitting.name
            while name in used:
                name += "_"
            used.add(name)
            fitting = replace(fitting, name=name)
        result.append(fitting)
    return result


def _weights(model: Any, names: Any) -> list[Fitting]:
    """gravcomp: the fraction of a body's weight that is compensated, in whatever gravity the tree has.

    MuJoCo compensates nothing unless one of the fractions is positive.
    """
    if not (np.asarray(model.body_gravcomp) > 0).any():
        return []
    carried = np.asarray(model.body_gravcomp) * model.body_mass
    force = lambda b: ConstantForce(names("body", b), tuple(model.body_ipos[b].tolist()), carried=float(carried[b]))
    return [force(b) for b in np.flatnonzero(carried) if b]


def _refuse_idle_carriers(model: Any, names: Any) -> None:
    """Raises for actuatorgravcomp without actuators: MuJoCo then drops the compensation at that joint and keeps it
    elsewhere."""
    for j in np.flatnonzero(np.asarray(model.jnt_actgravcomp)):
        if carries_weight(model, int(j)):
            raise ModelError(
                f"joint '{names('jnt', j)}' has actuatorgravcomp, and no actuator acts in this model: remove actuatorgravcomp"
                " from the joint, or gravcomp from the bodies it carries"
            )


def _springs(model: Any, names: Any) -> list[Fitting]:
    rest = lambda j: float(model.qpos_spring[model.jnt_qposadr[j]])
    stiff = [j for j in range(model.njnt) if model.jnt_stiffness[j] and model.jnt_type[j] in HINGES]
    return [JointSpring(names("jnt", j), float(model.jnt_stiffness[j]), rest(j)) for j in stiff]


def _stops(model: Any, names: Any) -> list[Fitting]:
    """Limits as stops at the range less the margin, where MuJoCo holds a joint."""
    limited = [j for j in range(model.njnt) if model.jnt_limited[j]]
    for j in limited:
        low, high, margin = *model.jnt_range[j], model.jnt_margin[j]
        _refuse_wide_margin(f"joint '{names('jnt', j)}'", 0.0 if model.jnt_type[j] == 1 else low + margin, high - margin)
    angle = {j: float(model.jnt_range[j][1] - model.jnt_margin[j]) for j in limited if model.jnt_type[j] == 1}
    ball_limits: list[Fitting] = [
        BallLimit(names("jnt", j), cos(largest / 2) ** 2) for j, largest in angle.items() if largest < pi
    ]
    return [*([JointStops()] if any(model.jnt_type[j] in HINGES for j in limited) else []), *ball_limits]


def _refuse_wide_margin(what: str, lower: float, upper: float) -> None:
    if not lower < upper:
        raise ModelError(
            f"the margin of {what} leaves it no way between its limits; make it smaller, or read with limits=False"
        )


def _losses(model: Any, names: Any, field: str, kind: type[JointDamping] | type[JointFriction]) -> list[Fitting]:
    """Damping or dry friction of the velocities of each joint that has some."""
    fittings: list[Fitting] = []
    for j in range(model.njnt):
        start = int(model.jnt_dofadr[j])
        values = np.asarray(getattr(model, field))[start : start + JOINT_VELOCITIES[int(model.jnt_type[j])]]
        if len(values) == 6 and (np.ptp(values[:3]) or (kind is JointFriction and values[:3].any())):
            quantity, option = ("damping", "damping") if kind is JointDamping else ("frictionloss", "friction")
            raise ModelError(
                f"{quantity} of the translations of free joint '{names('jnt', j)}' acts on the world's axes in MuJoCo, and is"
                f" not read; take it out of the file, or read the robot with {option}=False"
            )
        if values.any():
            fittings.append(kind(names("jnt", j), tuple(values.tolist())))
    return fittings


# -- tendons -----------------------------------------------------------------------------------------------------------


def _tendons(
    mujoco: Any, model: Any, names: Any, notes: list[str], *, limits: bool, spring: bool, damping: bool, friction: bool
) -> list[Fitting]:
    tendons: list[Fitting] = []
    for k in range(model.ntendon):
        low, high = map(float, model.tendon_range[k]) if limits and model.tendon_limited[k] else (-inf, inf)
        low, high = low + float(model.tendon_margin[k]), high - float(model.tendon_margin[k])
        _refuse_wide_margin(f"tendon '{names('tendon', k)}'", low, high)
        a, b = map(float, model.tendon_lengthspring[k])
        properties = {
            "stiffness": float(model.tendon_stiffness[k]) * spring, "damping": float(model.tendon_damping[k]) * damping,
            "friction": float(model.tendon_frictionloss[k]) * friction, "rest": (a, b), "lower": low, "upper": high,
        }  # fmt: skip
        acts = properties["stiffness"] or properties["damping"] or properties["friction"] or low > -inf or high < inf
        length, name = length_of(mujoco, model, names, k), names("tendon", k)
        if length is None and acts:
            raise ModelError(f"<spatial> tendon '{name}' is not read: its forces would be missing. Take it out of the file")
        if length is None:
            notes.append(f"<spatial> tendon '{name}' has no stiffness, damping, friction or limits, and is not used")
        elif acts:
            tendons.append(Tendon(name, length, **properties))
    return tendons


# -- equalities --------------------------------------------------------------------------------------------------------


def _equalities(mujoco: Any, model: Any, names: Any, notes: list[str]) -> list[Fitting]:
    kinds = {
        int(mujoco.mjtEq.mjEQ_CONNECT): _joined, int(mujoco.mjtEq.mjEQ_WELD): _joined,
        int(mujoco.mjtEq.mjEQ_JOINT): _joint_equality, int(mujoco.mjtEq.mjEQ_TENDON): _tendon_equality,
    }  # fmt: skip
    rows: list[Fitting] = []
    for k in range(model.neq):
        kind, name = int(model.eq_type[k]), names("eq", k)
        if not model.eq_active0[k]:
            notes.append(f"equality '{name}' is not active, and is left out")
        elif kind not in kinds:
            raise ModelError(f"equality '{name}' of the kind {mujoco.mjtEq(kind).name} is not read; take it out of the file")
        else:
            rows.append(kinds[kind](mujoco, model, names, k))
    return rows


def _polynomial(data: Any, y0: float, x0: float) -> tuple[float, ...]:
    """Coefficients in x of y0 + Σ a_k (x − x0)^k, without the zeros at the end."""
    total = np.array([y0])
    for power, a in enumerate(np.asarray(data[:5], float)):
        total = polynomial.polyadd(total, a * polynomial.polypow([-x0, 1.0], power))
    return tuple(map(float, polynomial.polytrim(total))) if len(total) > 1 else (float(total[0]), 0.0)


def _joint_equality(mujoco: Any, model: Any, names: Any, k: int) -> Fitting:
    """y − y₀ = Σ a_k (x − x₀)^k of two joints; y − y₀ = a₀ where there is one."""
    follower, leader = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    q0 = lambda j: float(model.qpos0[model.jnt_qposadr[j]])
    if leader < 0:
        return LengthCoupling(
            names("eq", k), Length(((names("jnt", follower), 1.0),)), (q0(follower) + float(model.eq_data[k][0]),)
        )
    return Coupling(names("jnt", follower), names("jnt", leader), _polynomial(model.eq_data[k], q0(follower), q0(leader)))


def _tendon_equality(mujoco: Any, model: Any, names: Any, k: int) -> Fitting:
    ends = [int(model.eq_obj1id[k]), int(model.eq_obj2id[k])]
    lengths = [length_of(mujoco, model, names, t) if t >= 0 else Length(()) for t in ends]
    first, second = lengths
    if first is None or second is None:
        spatial = names("tendon", ends[0] if first is None else ends[1])
        raise ModelError(f"equality '{names('eq', k)}' holds the <spatial> tendon '{spatial}', which is not read")
    start = lambda t: float(model.tendon_length0[t])
    if ends[1] < 0:
        return LengthCoupling(names("eq", k), first, (start(ends[0]) + float(model.eq_data[k][0]),))
    return LengthCoupling(names("eq", k), first, _polynomial(model.eq_data[k], start(ends[0]), start(ends[1])), second)


def _joined(mujoco: Any, model: Any, names: Any, k: int) -> Fitting:
    """connect: a point of each body. weld: a point of the second, with its position and rotation in the first."""
    ends, data = (int(model.eq_obj1id[k]), int(model.eq_obj2id[k])), np.asarray(model.eq_data[k], float)
    weld = model.eq_type[k] == mujoco.mjtEq.mjEQ_WELD
    if model.eq_objtype[k] == mujoco.mjtObj.mjOBJ_SITE:
        bodies = [int(model.site_bodyid[s]) for s in ends]
        points, turns = ([np.asarray(model.site_pos[s]) for s in ends], [rotation(model.site_quat[s]) for s in ends])
    else:
        bodies, first, second = list(ends), data[3:6] if weld else data[:3], data[:3] if weld else data[3:6]
        points, turns = [first, second], [rotation(data[6:10]) if weld else np.eye(3), np.eye(3)]
    frames = [(names("body", b), tuple(p.tolist()), rpy_of(R)) for b, p, R in zip(bodies, points, turns, strict=True)]
    turns_held = weld and data[10] != 0  # torquescale 0 leaves the rotation free
    return JoinedFrames(names("eq", k), frames[0], frames[1], "fixed" if turns_held else "spherical")


__all__ = ["fittings_of"]
