"""The same robot in MuJoCo, and states and answers translated to its conventions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import appell as ap
from appell.tree import Tree
from appell.tree.groups import conjugate, rotated

SMOOTH = {"limits": False, "friction": False, "equality": False}
"""Without what MuJoCo's solver of constraints does."""


@dataclass
class MuJoCoTwin:
    """A tree and the model it was read from."""

    model: Any

    @cached_property
    def tree(self) -> Tree:
        return Tree.from_mjcf(self.model, backend="vm", **SMOOTH)

    def state(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v of the tree, and accelerations or inputs (nv,)."""
        q = self.tree.random(rng)
        return q, rng.normal(size=self.tree.nv), rng.normal(size=self.tree.nv)

    def data(self, q: np.ndarray, v: np.ndarray, *off: str) -> Any:
        """MuJoCo's state, with the solver of constraints and these parts of the forces off."""
        import mujoco

        model = self.model
        for name in ("CONSTRAINT", "CONTACT", *off):
            model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = self.tree.to_mujoco(q, v)
        return data

    def acceleration(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, *, back: bool = False) -> np.ndarray:
        """v̇ of free bodies: R (v̇ + ω × v) of the world's axes, or back."""
        a = a.copy()
        for node in self.tree.nodes:
            if node.kind.free:
                own, turn = slice(node.iv, node.iv + 3), q[node.iq + 3 : node.iq + 7]
                spin = np.cross(v[node.iv + 3 : node.iv + 6], v[own])
                a[own] = rotated(conjugate(turn), a[own]) - spin if back else rotated(turn, a[own] + spin)
        return a

    def force(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """MuJoCo's generalized forces as those of the tree: of free bodies on the body's axes."""
        return self.tree._linear(q, tau, back=True)

    def inverse_error(self, rng: np.random.Generator) -> float:
        """`inverse_dynamics` against `mj_inverse` without springs, dampers and what carries weights."""
        import mujoco

        q, v, a = self.state(rng)
        flags, carried = int(self.model.opt.disableflags), self.model.body_gravcomp.copy()
        self.model.body_gravcomp[:] = 0
        data = self.data(q, v, "SPRING", "DAMPER")
        data.qacc[:] = self.acceleration(q, v, a)
        mujoco.mj_inverse(self.model, data)
        self.model.opt.disableflags, self.model.body_gravcomp[:] = flags, carried
        return _error(self.tree.inverse_dynamics(q, v, a), self.force(q, data.qfrc_inverse))

    def forward_error(self, rng: np.random.Generator) -> float:
        """v̇ of the system with springs, damping, tendons and random inputs of actuators against `mj_forward`."""
        import mujoco

        q, v, _ = self.state(rng)
        system, u = self.tree.system(), rng.normal(size=len(self.tree.actuators))
        run = ap.compile(system, dict(zip(self.tree.actuators.values(), u, strict=True)), backend="vm", ready=False)
        a = run.acceleration(0.0, q, v)[0]
        flags = int(self.model.opt.disableflags)
        data = self.data(q, v)
        for k in range(len(u)):
            where = int(self.model.actuator_actadr[k]) if self.model.na else -1
            if where >= 0:
                data.act[where] = u[k]
            else:
                data.ctrl[k] = u[k]
        mujoco.mj_forward(self.model, data)
        self.model.opt.disableflags = flags
        return _error(a, self.acceleration(q, v, data.qacc, back=True))


def _error(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Largest difference relative to the largest entry."""
    return float(np.max(np.abs(mine - theirs), initial=0.0) / max(1e-3, np.max(np.abs(theirs), initial=0.0)))
