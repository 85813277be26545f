"""Robots of the package example-robot-data in appell, Pinocchio, MuJoCo and heyoka, all at the same random states.

appell has Pinocchio's conventions, but one angle for a continuous joint, of which Pinocchio keeps cosine and sine.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.graph.fn import Fn
from appell.tree import Tree

Array = NDArray[np.float64]


def _pinocchio() -> Any:
    return importlib.import_module("pinocchio")


@dataclass(frozen=True)
class Robot:
    """A URDF file below the package's folder of robots; the root link floats or is welded to the ground."""

    name: str
    file: str
    floating: bool = False

    @property
    def path(self) -> Path:
        return Path(str(_pinocchio().__file__)).parents[4] / "share" / "example-robot-data" / "robots" / self.file


ROBOTS = (
    Robot("ur5", "ur_description/urdf/ur5_robot.urdf"),
    Robot("panda", "panda_description/urdf/panda.urdf"),
    Robot("anymal", "anymal_b_simple_description/robots/anymal.urdf", floating=True),
    Robot("g1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", floating=True),
    Robot("talos", "talos_data/robots/talos_reduced.urdf", floating=True),
)


@dataclass(frozen=True)
class States:
    """q (count, nq), v and third (count, nv): torques of forward, accelerations of inverse dynamics; q in Pinocchio's way."""

    q: Array
    v: Array
    third: Array
    q_pinocchio: Array

    @staticmethod
    def random(tree: Tree, count: int, seed: int = 0) -> States:
        """Angles all around, unit quaternions, normal velocities."""
        rng = np.random.default_rng(seed)
        ours, theirs = [np.empty((count, 0))], [np.empty((count, 0))]
        for node in tree.nodes:
            q = rng.uniform(-np.pi, np.pi, (count, node.kind.nq))
            if node.kind.name in ("spherical", "floating"):
                q[:, -4:] = rng.normal(size=(count, 4))
                q[:, -4:] /= np.linalg.norm(q[:, -4:], axis=1)[:, None]
            ours.append(q)
            theirs.append(np.hstack([np.cos(q), np.sin(q)]) if node.kind.name == "continuous" else q)
        v, third = rng.normal(size=(2, count, tree.nv))
        return States(np.hstack(ours), v, third, np.hstack(theirs))


class Pinocchio:
    """One model with its data, called from Python state by state, or for a batch on one thread."""

    def __init__(self, robot: Robot):
        pin = _pinocchio()
        path = str(robot.path)
        self.pin = pin
        self.model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if robot.floating else pin.buildModelFromUrdf(path)
        self.data = self.model.createData()

    @cached_property
    def pool(self) -> Any:
        return self.pin.ModelPool(self.model, 1)

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        return self.pin.aba(self.model, self.data, q, v, tau)

    def inverse(self, q: Array, v: Array, a: Array) -> Array:
        return self.pin.rnea(self.model, self.data, q, v, a)

    def mass_matrix(self, q: Array) -> Array:
        """The upper triangle, as `crba` leaves it."""
        return self.pin.crba(self.model, self.data, q)

    def parallel(self, name: str, states: States) -> tuple[Any, Array]:
        """`abaInParallel` or `rneaInParallel` over all states on one thread, and the (nv, count) array it writes."""
        arrays = [np.asfortranarray(x.T) for x in (states.q_pinocchio, states.v, states.third)]
        result = np.zeros_like(arrays[1])
        call = getattr(self.pin, name)
        return (lambda: call(1, self.pool, *arrays, result)), result


@dataclass(frozen=True)
class Heyoka:
    """`cfunc` of the very instructions that appell compiles: inputs (nq + 2 nv, count), outputs (nv, count)."""

    function: Any
    compile_seconds: float

    @staticmethod
    def of(fn: Fn) -> Heyoka:
        import heyoka as hy

        binary = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y}
        unary = {
            "neg": lambda x: -x, "sq": lambda x: x * x, "twice": lambda x: 2.0 * x, "inv": lambda x: 1.0 / x,
            "sin": hy.sin, "cos": hy.cos, "sqrt": hy.sqrt,
        }  # fmt: skip
        choice = {"lt": hy.lt, "not": lambda x: hy.eq(x, 0.0), "if_else_zero": lambda x, y: hy.select(x, y, 0.0)}
        operations = {**binary, **unary, **choice}
        inputs = [[hy.expression(f"{port.name}{k}") for k in range(port.size)] for port in fn.inputs]
        outputs = [[hy.expression(0.0)] * port.size for port in fn.outputs]
        value: dict[int, Any] = {}
        for item in fn.instructions:
            if item.op == "input":
                value[item.out] = inputs[item.port or 0][item.index or 0]
            elif item.op == "const":
                value[item.out] = hy.expression(item.value)
            elif item.op == "output":
                outputs[item.port or 0][item.index or 0] = value[item.args[0]]
            else:
                value[item.out] = operations[item.op](*(value[arg] for arg in item.args))
        hy.set_nthreads(1)
        start = time.perf_counter()
        function = hy.cfunc([y for port in outputs for y in port], vars=[x for port in inputs for x in port])
        return Heyoka(function, time.perf_counter() - start)
