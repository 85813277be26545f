"""The same robot in MuJoCo: bodies and joints of the URDF alone, no shapes, contacts, limits, damping or armature."""

from __future__ import annotations

import importlib
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

from appell.tree import Tree
from benchmarks.robots import Array, Robot, States

GROUND = "ground_of_the_floating_base"


class MuJoCo:
    """`mj_forward` state by state from Python; it computes positions, M and its factors, the bias and the accelerations."""

    def __init__(self, robot: Robot, tree: Tree, states: States):
        mujoco: Any = importlib.import_module("mujoco")
        self.mujoco, self.tree, self.states = mujoco, tree, states
        self.model = mujoco.MjModel.from_xml_string(_bones(robot))
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.model.opt.gravity[:] = tree.gravity
        for name in ("dof_damping", "dof_armature", "dof_frictionloss", "jnt_stiffness"):
            getattr(self.model, name)[:] = 0.0
        if self.model.nv != tree.nv:
            raise ValueError(f"MuJoCo reads {self.model.nv} degrees of freedom, not {tree.nv}")
        self.data = mujoco.MjData(self.model)
        self.q, self.v, self.tau = self._arguments()

    def run(self, count: int) -> Array:
        """Accelerations at the first `count` states, (count, nv), in MuJoCo's order and frames."""
        data, forward, model = self.data, self.mujoco.mj_forward, self.model
        answers = np.empty((count, model.nv))
        for k in range(count):
            data.qpos[:], data.qvel[:], data.qfrc_applied[:] = self.q[k], self.v[k], self.tau[k]
            forward(model, data)
            answers[k] = data.qacc
        return answers

    def in_our_order(self, a: Array) -> Array:
        """(count, nv) of `run` in appell's order; of a floating base R ᵀ p̈ − ω × v in place of p̈."""
        ours = np.empty_like(a)
        for node, _, dof in self._joints():
            ours[:, node.iv : node.iv + node.kind.nv] = a[:, dof : dof + node.kind.nv]
            if node.kind.name == "floating":
                v = self.states.v[: len(a), node.iv : node.iv + 6]
                p_dd = np.einsum("kji,kj->ki", _rotations(self.states.q[: len(a), node.iq + 3 :]), a[:, dof : dof + 3])
                ours[:, node.iv : node.iv + 3] = p_dd - np.cross(v[:, 3:], v[:, :3])
        return ours

    def _arguments(self) -> tuple[Array, Array, Array]:
        """MuJoCo's free joint: (w, x, y, z), and the velocity and force of its origin on the world's axes."""
        states, count = self.states, len(self.states.q)
        q, v, tau = (np.empty((count, n)) for n in (self.model.nq, self.model.nv, self.model.nv))
        for node, at, dof in self._joints():
            own, rows = states.q[:, node.iq : node.iq + node.kind.nq], slice(node.iv, node.iv + node.kind.nv)
            q[:, at : at + node.kind.nq] = own
            v[:, dof : dof + node.kind.nv], tau[:, dof : dof + node.kind.nv] = states.v[:, rows], states.third[:, rows]
            if node.kind.name == "floating":
                R = _rotations(own[:, 3:])
                q[:, at + 3 : at + 7] = own[:, [6, 3, 4, 5]]
                for target, source in ((v, states.v), (tau, states.third)):
                    target[:, dof : dof + 3] = np.einsum("kij,kj->ki", R, source[:, node.iv : node.iv + 3])
        return q, v, tau

    def _joints(self) -> list[tuple[Any, int, int]]:
        """(node, where its coordinates begin, where its velocities begin)."""
        found = []
        for node in self.tree.nodes:
            joint = self.model.joint(GROUND if node.kind.name == "floating" else node.name)
            found.append((node, int(joint.qposadr[0]), int(joint.dofadr[0])))
        return found


def _bones(robot: Robot) -> str:
    """The URDF with links, their inertias and joints only, its root on a floating joint where the robot floats."""
    root = ET.parse(robot.path).getroot()
    for child in list(root):
        if child.tag not in ("link", "joint"):
            root.remove(child)
        for part in [part for part in child if part.tag in ("visual", "collision", "mimic", "safety_controller", "limit")]:
            child.remove(part)
    for joint in root.iter("joint"):
        if joint.get("type") == "revolute":
            joint.set("type", "continuous")  # without limits
    if robot.floating:
        children = {joint.find("child").get("link") for joint in root.iter("joint")}  # type: ignore[union-attr]
        base = next(name for link in root.iter("link") if (name := link.get("name")) not in children)
        ET.SubElement(root, "link", name=GROUND)
        joint = ET.SubElement(root, "joint", name=GROUND, type="floating")
        ET.SubElement(joint, "parent", link=GROUND)
        ET.SubElement(joint, "child", link=base or "")
    return ET.tostring(root, encoding="unicode")


def _rotations(quaternions: Array) -> Array:
    """R (count, 3, 3), body → world, of unit quaternions (x, y, z, w)."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(quaternions[:, :4]).as_matrix()
