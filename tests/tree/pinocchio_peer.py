"""The same robot in Pinocchio, and states translated to its conventions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from appell.tree import Tree

ROBOTS = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
URDFS = sorted(path.relative_to(ROBOTS).as_posix() for path in ROBOTS.rglob("*.urdf"))

# Files that cannot be compared, and why. Nothing else is left out.
UNREADABLE = {
    "falcon_description/urdf/falcon.urdf": "joint 'top_propeller_joint' names a child link 'Z_propeller' that the file lacks",
    "ur_description/urdf/ur3.urdf": "an empty <robot>: no name, no link",
}


@dataclass
class Peer:
    """A tree and its twin."""

    tree: Tree
    model: pin.Model

    def __post_init__(self):
        self.data = self.model.createData()

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Ours → Pinocchio's: cos and sin for continuous joints."""
        parts = []
        for node in self.tree.nodes:
            own = q[node.iq : node.iq + node.kind.nq]
            parts.append([np.cos(own[0]), np.sin(own[0])] if node.kind.name == "continuous" else own)
        return np.concatenate([*parts, []])

    def state(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return random_state(self.tree, rng)


def random_state(tree: Tree, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q with unit quaternions and angles all around, v, and a third vector for torques or accelerations."""
    parts = []
    for node in tree.nodes:
        q = rng.uniform(-np.pi, np.pi, node.kind.nq)
        if node.kind.name in ("spherical", "floating"):
            q[-4:] = rng.normal(size=4)
            q[-4:] /= np.linalg.norm(q[-4:])
        parts.append(q)
    return np.concatenate([*parts, []]), rng.normal(size=tree.nv), rng.normal(size=tree.nv)


def load(name: str, floating: bool, backend: str = "auto") -> Peer:
    path = str(ROBOTS / name)
    model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
    alone = {"limits": False, "damping": False, "friction": False, "mimic": False}  # Pinocchio's dynamics
    return Peer(Tree.from_urdf(path, floating=floating, backend=backend, **alone), model)


def error(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Largest difference relative to the largest entry (where all are rounding, to 1e-3)."""
    if np.size(theirs) == 0:
        return 0.0
    return float(np.max(np.abs(mine - theirs)) / max(1e-3, np.max(np.abs(theirs))))


def torque_regressor(twin: Any) -> tuple[np.ndarray, int]:
    """Rows of Pinocchio's regressor of the joint torques at many random states, and their rank."""
    rng, rows = np.random.default_rng(5), []
    for _ in range(-(-30 * len(twin.tree.nodes) // twin.tree.nv) + 10):
        q, v, a = twin.state(rng)
        rows.append(pin.computeJointTorqueRegressor(twin.model, twin.data, twin.configuration(q), v, a).copy())
    Y = np.vstack(rows)
    size = np.linalg.norm(Y, axis=0)
    s = np.linalg.svd(Y / np.where(size > 1e-9 * size.max(), size, 1.0), compute_uv=False)
    return Y, int((s > 1e-9 * s[0]).sum())
