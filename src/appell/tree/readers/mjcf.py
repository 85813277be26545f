"""MJCF through MuJoCo's own compiler: the joints of an `MjModel`, in MuJoCo's order.

The compiler resolves defaults, includes, frames and inertias of geoms; its result is read, not the XML. A body with several
joints becomes a chain of them. With a = anchor, e = axis (both in the body's frame) and q₀ = ref, hinges and slides map

    x ↦ a + R(e, q − q₀)(x − a)        x ↦ x + (q − q₀) e

so that coordinates are MuJoCo's own. Contacts are not read; describe them with `ap.tree.contact_point` and the like.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.spelling import checked_keywords
from appell.tree.description import WORLD, Joint, Limits
from appell.tree.inertia import HERE, Inertia, Placement
from appell.tree.readers.document import Document
from appell.tree.readers.file_rotations import rotation
from appell.tree.readers.mjcf_fittings import JOINT_VELOCITIES, fittings_of
from appell.tree.readers.mjcf_guard import refuse_unsafe
from appell.tree.readers.mjcf_shapes import shapes_of
from appell.tree.readers.robot import Robot

KINDS = ("floating", "spherical", "prismatic", "revolute")
"""Our kinds in the order of mjtJoint: free, ball, slide, hinge."""


def load_mujoco() -> Any:
    try:
        return importlib.import_module("mujoco")
    except ImportError as error:
        raise ModelError(
            "MJCF files are compiled by MuJoCo, which is not installed: pip install mujoco, or the extra appell[mujoco]"
        ) from error


def is_model(source: Any) -> bool:
    """Whether it is MuJoCo's `MjModel`; works without MuJoCo."""
    return type(source).__name__ == "MjModel" and hasattr(source, "body_parentid")


@checked_keywords()
def read_mjcf(
    document: Document, *, limits: bool = True, damping: bool = True, friction: bool = True, equality: bool = True,
    actuators: bool = True,
) -> Robot:  # fmt: skip
    """The robot that MuJoCo compiles from the file, or the `MjModel` itself; options as those of `Tree.from_mjcf`."""
    mujoco, model = load_mujoco(), document.native
    if model is None:
        model = _compiled(mujoco, document)
    names = ElementNames(model)
    _refuse(mujoco, model, names)
    notes: list[str] = []
    joints = _joints(model, names, notes)
    options = {"limits": limits, "damping": damping, "friction": friction, "equality": equality, "actuators": actuators}
    fittings = fittings_of(mujoco, model, names, notes, **options)
    if model.npair or (model.ngeom and (model.geom_contype.any() or model.geom_conaffinity.any())):
        notes.append("contacts of geoms are not read; ap.tree.contact_point and its kin say what touches what")
    if model.opt.enableflags & getattr(mujoco.mjtEnableBit, "mjENBL_SLEEP", 0):
        notes.append("<flag sleep> is not read: bodies that MuJoCo lets sleep move here, also those that start asleep")
    weightless = bool(model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    x, y, z = (0.0, 0.0, 0.0) if weightless else map(float, model.opt.gravity)
    name = model.names[: model.names.index(b"\0")].decode("utf-8", "replace") or "robot"
    return Robot(name, joints, notes, shapes_of(mujoco, model, names), (x, y, z), fittings)


def _compiled(mujoco: Any, document: Document) -> Any:
    refuse_unsafe(document)
    try:
        if document.path is not None:
            return mujoco.MjModel.from_xml_path(str(document.path))
        return mujoco.MjModel.from_xml_string(document.data.decode("utf-8", "replace"))
    except (ValueError, TypeError, RuntimeError) as error:
        raise ModelError(f"{document.where}: MuJoCo does not compile it: {str(error).strip()[:500]}") from error


class ElementNames:
    """Names of bodies, joints, sites … of a model; unnamed ones are called by their kind and number."""

    def __init__(self, model: Any):
        self.model = model
        self._taken: dict[str, dict[int, str]] = {}
        counts = {"body": model.nbody, "jnt": model.njnt, "site": model.nsite, "tendon": model.ntendon}
        counts |= {"eq": model.neq, "actuator": getattr(model, "nactuator", model.nu), "mesh": model.nmesh}
        labels = {"jnt": "joint", "eq": "equality"}
        for kind, count in counts.items():
            stated = [self._stated(kind, k) for k in range(count)]
            used, table = {name for name in stated if name}, {}
            for k, name in enumerate(stated):
                unique = name or f"{labels.get(kind, kind)}_{k}"
                while not name and unique in used:
                    unique += "_"
                table[k] = unique
            self._taken[kind] = table

    def _stated(self, kind: str, k: int) -> str:
        start = int(getattr(self.model, f"name_{kind}adr")[k])
        return self.model.names[start : self.model.names.index(b"\0", start)].decode("utf-8", "replace")

    def __call__(self, kind: str, k: int) -> str:
        return self._taken[kind][int(k)]


def _refuse(mujoco: Any, model: Any, names: ElementNames) -> None:
    """Raises `ModelError` that names the first element whose forces would be missing."""
    field = lambda name: np.asarray(getattr(model, name, np.zeros(0)))
    flags = model.opt.disableflags
    checks: list[tuple[Any, Callable[[int], str]]] = [
        (np.ones(model.nflex), lambda k: f"<flex> {k}"),
        (field("body_plugin") >= 0, lambda k: f"<plugin> of body '{names('body', k)}'"),
        (field("actuator_plugin") >= 0, lambda k: f"<plugin> of actuator '{names('actuator', k)}'"),
        (field("jnt_springyield") > 0, lambda k: f"springyield of joint '{names('jnt', k)}'"),
        (field("tendon_springyield") > 0, lambda k: f"springyield of tendon '{names('tendon', k)}'"),
        (_any_in_row(field("jnt_stiffnesspoly")), lambda k: f"a polynomial stiffness of joint '{names('jnt', k)}'"),
        (_any_in_row(field("dof_dampingpoly")), lambda k: f"a polynomial damping of joint '{_joint_of(model, names, k)}'"),
        (_any_in_row(field("tendon_stiffnesspoly")), lambda k: f"a polynomial stiffness of tendon '{names('tendon', k)}'"),
        (_any_in_row(field("tendon_dampingpoly")), lambda k: f"a polynomial damping of tendon '{names('tendon', k)}'"),
        (field("tendon_armature"), lambda k: f"the armature of tendon '{names('tendon', k)}'"),
        (field("actuator_armature"), lambda k: f"the armature of actuator '{names('actuator', k)}'"),
        (field("actuator_damping"), lambda k: f"the damping of actuator '{names('actuator', k)}'"),
        (_any_in_row(field("actuator_dampingpoly")), lambda k: f"a polynomial damping of actuator '{names('actuator', k)}'"),
        ([model.opt.density, model.opt.viscosity], lambda k: f"<option {('density', 'viscosity')[k]}>, a fluid"),
        (_uneven_armature(model), lambda k: f"the armature of {('free', 'ball')[model.jnt_type[k]]} joint '{names('jnt', k)}'"),
        (_turning_springs(mujoco, model) if not flags & mujoco.mjtDisableBit.mjDSBL_SPRING else [],
         lambda k: f"the stiffness of ball or free joint '{names('jnt', k)}'"),
    ]  # fmt: skip
    for present, describe in checks:
        offending = np.flatnonzero(np.asarray(present))
        if len(offending):
            raise ModelError(
                f"{describe(int(offending[0]))} is not read: its forces would be missing. Take it out of the file, or set it"
                " to 0 in the MjModel and give that"
            )


def _any_in_row(table: np.ndarray) -> list[bool]:
    return [bool(row.any()) for row in table]


def _joint_of(model: Any, names: ElementNames, dof: int) -> str:
    return names("jnt", model.dof_jntid[dof])


def _uneven_armature(model: Any) -> list[bool]:
    """Whether each joint has an armature that is not one number for all velocities on body axes: free ones (in MuJoCo that of
    translations is on the world's axes, with different forces), and ball joints with different numbers in an `MjModel`."""
    places = zip(map(int, model.jnt_dofadr), map(int, model.jnt_type), strict=True)
    armatures = [(kind, model.dof_armature[first : first + JOINT_VELOCITIES[kind]]) for first, kind in places]
    return [bool(values.any() if kind == 0 else np.ptp(values)) for kind, values in armatures]


def _turning_springs(mujoco: Any, model: Any) -> list[bool]:
    return [bool(model.jnt_type[j] < 2 and model.jnt_stiffness[j]) for j in range(model.njnt)]


def _joints(model: Any, names: ElementNames, notes: list[str]) -> list[Joint]:
    """The world; then for each body its joints, with the body on the last one, and its frame; finally sites as frames."""
    used = {names("jnt", j) for j in range(model.njnt)}

    def fresh(name: str) -> str:
        while name in used:
            name += "_"
        used.add(name)
        return name

    ground = fresh(WORLD)
    joints = [Joint(ground, "fixed", link=WORLD if ground != WORLD else None)]
    carrier = {0: ground}  # body → the joint that carries its frame
    for b in range(1, model.nbody):
        placement, parent = Placement(rotation(model.body_quat[b]), model.body_pos[b]), carrier[int(model.body_parentid[b])]
        first, count = int(model.body_jntadr[b]), int(model.body_jntnum[b])
        anchor = np.zeros(3)
        for j in range(first, first + count):
            joint, anchor, placement = _joint(model, names, j, parent, placement, anchor)
            joints.append(joint)
            parent, placement = joint.name, HERE
        body = _body(model, b)
        if count and not anchor.any() and joints[-1].name == parent:
            joints[-1] = replace(joints[-1], body=body, link=names("body", b))
            carrier[b] = parent
            continue
        offset = Placement(np.eye(3), -anchor) if count else placement
        carrier[b] = fresh(f"body {names('body', b)}")
        joints.append(Joint(carrier[b], "fixed", parent, offset, body=body, link=names("body", b)))
        if int(model.body_mocapid[b]) >= 0:
            notes.append(f"body '{names('body', b)}' is a mocap body: it stands where the file puts it")
    links = {joint.link for joint in joints} | used
    for s in range(model.nsite):
        pose = Placement(rotation(model.site_quat[s]), model.site_pos[s])
        name = names("site", s)
        joints.append(Joint(fresh(f"site {name}"), "fixed", carrier[int(model.site_bodyid[s])], pose,
                          link=name if name not in links else None))  # fmt: skip
    return joints


def _joint(
    model: Any, names: ElementNames, j: int, parent: str, placement: Placement, anchor: np.ndarray
) -> tuple[Joint, np.ndarray, Placement]:
    """Joint j of a body whose frame is at `placement` in that of `parent`, whose own anchor in the body's frame is `anchor`."""
    kind, dof = KINDS[int(model.jnt_type[j])], int(model.jnt_dofadr[j])
    armature = float(model.dof_armature[dof])
    if kind == "floating":
        return Joint(names("jnt", j), kind, parent, HERE, armature=armature), np.zeros(3), HERE
    own_anchor, axis, turn, shift = np.array(model.jnt_pos[j]), np.array(model.jnt_axis[j]), np.eye(3), np.zeros(3)
    ref = float(model.qpos0[model.jnt_qposadr[j]]) if kind != "spherical" else 0.0
    if kind == "revolute" and ref:
        turn = rotation([np.cos(ref / 2), *(-np.sin(ref / 2) * axis)])
    elif kind == "prismatic" and ref:
        shift = -ref * axis
    # placement is that of the body's frame, which is at −anchor in the frame of the previous joint
    pose = placement @ Placement(turn, own_anchor - anchor + shift)
    limits = _limits(model, j) if kind in ("revolute", "prismatic") else None
    return Joint(names("jnt", j), kind, parent, pose, tuple(axis.tolist()), armature=armature, limits=limits), own_anchor, HERE


def _limits(model: Any, j: int) -> Limits | None:
    """Limits of a hinge or slide. MuJoCo holds a joint at its range less the margin, where the force of the limit is zero."""
    values: dict[str, float] = {}
    if model.jnt_limited[j]:
        margin = float(model.jnt_margin[j])
        values |= {"lower": float(model.jnt_range[j][0]) + margin, "upper": float(model.jnt_range[j][1]) - margin}
    if model.jnt_actfrclimited[j]:
        least, most = map(float, model.jnt_actfrcrange[j])
        values |= {"effort": most} if least == -most else {"effort": most, "least_effort": least}
    return Limits(**values) if values else None


def _body(model: Any, b: int) -> Inertia:
    R, mass = rotation(model.body_iquat[b]), float(model.body_mass[b])
    J = R @ np.diag(model.body_inertia[b]) @ R.T
    return Inertia.at_centre(mass, np.array(model.body_ipos[b]), (J + J.T) / 2, f"body {b}", as_stated=True)


__all__ = ["ElementNames", "is_model", "load_mujoco", "read_mjcf"]
