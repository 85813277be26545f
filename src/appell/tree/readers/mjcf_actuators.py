"""Actuators of an `MjModel` as inputs: F = gain(L, L̇) u + bias(L, L̇) along a joint, a fixed tendon or at a site."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.tree.fittings import Fitting
from appell.tree.readers.file_rotations import rotation, rpy_of
from appell.tree.tendons import Drive, Length, Thruster


def actuators_of(mujoco: Any, model: Any, names: Any, notes: list[str]) -> list[Fitting]:
    """One fitting for each actuator that is not disabled, in the order of MuJoCo's ctrl."""
    actuators: list[Fitting] = []
    for k in range(getattr(model, "nactuator", model.nu)):
        if model.opt.disableactuator & (1 << int(model.actuator_group[k])) and model.actuator_group[k] >= 0:
            notes.append(f"actuator '{names('actuator', k)}' is disabled, and is left out")
            continue
        actuators.append(_actuator(mujoco, model, names, notes, k))
    _within_stated_ranges(mujoco, model, names, actuators)
    return actuators


def _actuator(mujoco: Any, model: Any, names: Any, notes: list[str], k: int) -> Fitting:
    name = names("actuator", k)
    _refuse_unread(model, name, k)
    gain, bias = _law(mujoco, model, name, k)
    kind, kinds = mujoco.mjtDyn(int(model.actuator_dyntype[k])), mujoco.mjtDyn
    if kind != kinds.mjDYN_NONE:
        if kind not in (kinds.mjDYN_INTEGRATOR, kinds.mjDYN_FILTER, kinds.mjDYN_FILTEREXACT):
            raise ModelError(f"the activation of actuator '{name}' ({kind.name}) is not read")
        notes.append(f"actuator '{name}' has an activation, which is its input here: its own dynamics are not read")
        control = tuple(map(float, model.actuator_actrange[k])) if model.actuator_actlimited[k] else (-inf, inf)
    else:
        clamped = model.actuator_ctrllimited[k] and not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
        control = tuple(map(float, model.actuator_ctrlrange[k])) if clamped else (-inf, inf)
    force = tuple(map(float, model.actuator_forcerange[k])) if model.actuator_forcelimited[k] else (-inf, inf)
    limits: dict[str, Any] = {"control": control, "force": force}
    transmission, target = int(model.actuator_trntype[k]), int(model.actuator_trnid[k][0])
    gear = np.asarray(model.actuator_gear[k], float)
    kinds = mujoco.mjtTrn
    if transmission in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT) and model.jnt_type[target] in (2, 3):
        return Drive(name, Length(((names("jnt", target), float(gear[0])),)), gain, bias, **limits)
    if transmission == kinds.mjTRN_TENDON:
        return Drive(name, _tendon(mujoco, model, names, target, float(gear[0]), name), gain, bias, **limits)
    if transmission == kinds.mjTRN_SITE and model.actuator_trnid[k][1] < 0 and not any((*gain[1:], *bias[1:])):
        return Thruster(name, _site(model, names, target), tuple(gear.tolist()), gain[0], bias[0], **limits)
    transmission_name = kinds(transmission).name.removeprefix("mjTRN_").lower()
    raise ModelError(
        f"actuator '{name}' acts through {transmission_name}, which is not read; joints that turn or slide, fixed tendons and"
        " sites without reference are"
    )


def _refuse_unread(model: Any, name: str, k: int) -> None:
    """Raises for a delay, and for several controls or forces of one actuator; older versions of MuJoCo do not have them."""
    value = lambda field, otherwise: float(getattr(model, f"actuator_{field}", {k: otherwise})[k])
    delay, controls, forces = value("delay", 0), value("ctrlnum", 1), value("outnum", 1)
    subject = f"the delay of actuator '{name}', {delay:g} s," if delay else ""
    if controls != 1 or forces != 1:
        subject = f"actuator '{name}' with {controls:g} controls and {forces:g} forces"
    if subject:
        raise ModelError(f"{subject} is not read; take it out of the file, or read the robot with actuators=False")


def _law(mujoco: Any, model: Any, name: str, k: int) -> tuple[Any, Any]:
    """(gain, bias), each (c, c_L, c_v)."""
    gains, biases = mujoco.mjtGain, mujoco.mjtBias
    gain, bias = (tuple(map(float, getattr(model, f"actuator_{part}prm")[k][:3])) for part in ("gain", "bias"))
    if model.actuator_gaintype[k] == gains.mjGAIN_FIXED:
        gain = (gain[0], 0.0, 0.0)
    elif (kind := gains(int(model.actuator_gaintype[k]))) != gains.mjGAIN_AFFINE:
        raise ModelError(f"the gain of actuator '{name}' ({kind.name}) is not read; fixed and affine ones are")
    if model.actuator_biastype[k] == biases.mjBIAS_NONE:
        bias = (0.0, 0.0, 0.0)
    elif (kind := biases(int(model.actuator_biastype[k]))) != biases.mjBIAS_AFFINE:
        raise ModelError(f"the bias of actuator '{name}' ({kind.name}) is not read; none and affine ones are")
    return gain, bias


def length_of(mujoco: Any, model: Any, names: Any, tendon: int) -> Length | None:
    """Σ coef q of a fixed tendon; None for a spatial one."""
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    terms = range(start, start + count)
    if any(model.wrap_type[k] != mujoco.mjtWrap.mjWRAP_JOINT for k in terms):
        return None
    return Length(tuple((names("jnt", model.wrap_objid[k]), float(model.wrap_prm[k])) for k in terms))


def _tendon(mujoco: Any, model: Any, names: Any, tendon: int, gear: float, name: str) -> Length:
    length = length_of(mujoco, model, names, tendon)
    if length is None:
        raise ModelError(f"actuator '{name}' pulls the <spatial> tendon '{names('tendon', tendon)}', which is not read")
    return Length(tuple((joint, gear * c) for joint, c in length.terms))


def _site(model: Any, names: Any, site: int) -> tuple[str, tuple[float, ...], tuple[float, ...]]:
    body, point = names("body", model.site_bodyid[site]), tuple(model.site_pos[site].tolist())
    return body, point, rpy_of(rotation(model.site_quat[site]))


def _within_stated_ranges(mujoco: Any, model: Any, names: Any, actuators: list[Fitting]) -> None:
    """actuatorfrcrange of joints and tendons limits the sum of their actuators; a single actuator takes it as its own range."""
    for j in np.flatnonzero(np.asarray(model.jnt_actfrclimited)):
        joint, subject = names("jnt", j), f"joint '{names('jnt', j)}'"
        if model.jnt_actgravcomp[j] and carries_weight(model, int(j)):
            raise ModelError(f"actuatorfrcrange of {subject}, whose actuators carry weights too, is not read")
        indices = [i for i, actuator in enumerate(actuators) if _drives(model, names, actuator, joint, int(j))]
        _keep_within(actuators, indices, subject, tuple(map(float, model.jnt_actfrcrange[j])))
    for k in np.flatnonzero(np.asarray(model.tendon_actfrclimited)):
        pulls = lambda i, k=k: model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_TENDON and model.actuator_trnid[i][0] == k
        acting = {names("actuator", i) for i in range(len(model.actuator_trntype)) if pulls(i)}
        indices = [i for i, actuator in enumerate(actuators) if isinstance(actuator, Drive) and actuator.name in acting]
        _keep_within(actuators, indices, f"tendon '{names('tendon', k)}'", tuple(map(float, model.tendon_actfrcrange[k])))


def _keep_within(actuators: list[Fitting], indices: list[int], subject: str, limits: tuple[float, ...]) -> None:
    """Sets the range of the only actuator, `indices`, of a joint, whose gear is included, or of a tendon, whose gear is not."""
    if not indices:
        return
    actuator = actuators[indices[0]]
    joint = subject.startswith("joint")
    if len(indices) > 1 or not isinstance(actuator, Drive) or (joint and len(actuator.length.terms) != 1):
        raise ModelError(f"actuatorfrcrange of {subject}, on which several actuators, a tendon or a site act, is not read")
    gear = actuator.length.terms[0][1] if joint else 1.0
    lower, upper = sorted(x / gear for x in limits) if gear else (-inf, inf)
    actuators[indices[0]] = replace(actuator, force=(max(actuator.force[0], lower), min(actuator.force[1], upper)))


def _drives(model: Any, names: Any, fitting: Fitting, joint: str, j: int) -> bool:
    """Whether an actuator contributes to the force of a joint: along it, or at a site of a body behind it."""
    if isinstance(fitting, Drive):
        return joint in fitting.joints
    if not isinstance(fitting, Thruster):
        return False
    return int(model.jnt_bodyid[j]) in _ancestors(model, fitting.frame[0], names)


def _ancestors(model: Any, name: str, names: Any) -> set[int]:
    """Indices of a body and its ancestors."""
    body, ancestors = next(b for b in range(model.nbody) if names("body", b) == name), set[int]()
    while body not in ancestors:
        ancestors.add(body)
        body = int(model.body_parentid[body])
    return ancestors


def carries_weight(model: Any, j: int) -> bool:
    """Whether a body behind joint j has gravcomp."""
    behind = {int(model.jnt_bodyid[j])}
    for b in range(1, model.nbody):  # parents come first
        if int(model.body_parentid[b]) in behind:
            behind.add(b)
    return bool(np.asarray(model.body_gravcomp)[sorted(behind)].any())


__all__ = ["actuators_of", "carries_weight", "length_of"]
