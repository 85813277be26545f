"""The values of frame symbols on the graph:

p(q), R(q) by the recursion;   ṗ = J_v v,   ω = J_ω v with the Jacobian of the frame;   dots by d/dt = q̇·∂_q + a·∂_v
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sympy import Symbol

from appell.errors import ModelError
from appell.graph import Lowering
from appell.graph.algebra import Value, column, derivative_along, zeros
from appell.graph.scalar import scalars, stacked
from appell.tree import kinematics
from appell.tree.frames import FrameLayout
from appell.tree.symbols.frame_symbols import AXES, FrameJet, FrameRate

if TYPE_CHECKING:
    from appell.tree.tree_system import TreeSystem


class TreeLowering(Lowering):
    """`Lowering` with the frames of a tree. q, v, a: the graph's inputs, (nq, 1), (nv, 1), (nv, 1)."""

    def __init__(self, symbols: Mapping[Symbol, Value], system: TreeSystem, q: Value, v: Value, a: Value):
        super().__init__(symbols)
        self._system, self._q, self._v, self._a = system, q, v, a
        self._poses: dict[str, kinematics.Pose] = {}
        self._twists: dict[str, Value] = {}

    def _lower(self, node: Any) -> Any:
        return self._frame_value(node) if isinstance(node, FrameJet) else super()._lower(node)

    def _frame_value(self, jet: FrameJet) -> Value:
        if jet.level > 2:
            raise ModelError(f"{jet} is a derivative of order {jet.level}; frames are differentiated twice at most")
        moves = jet.base_level == 0 and jet.entry in AXES and jet.order > 0  # ṗ is available
        value, order = (
            (self._twist(jet.frame)[AXES.index(jet.entry)], jet.order - 1) if moves else (self._entry(jet), jet.order)
        )
        for _ in range(order):
            value = derivative_along(value, [self._q, self._v], [self._rate, self._a])
        return value

    def _entry(self, jet: FrameJet) -> Value:
        """The value of a frame entry, without derivatives."""
        if isinstance(jet, FrameRate):
            return self._twist(jet.frame)[3 + AXES.index(jet.entry[-1])]
        pose = self._pose(jet.frame)
        if jet.entry in AXES:
            return stacked([pose.p[AXES.index(jet.entry)]])
        i, j = (AXES.index(letter) for letter in jet.entry[-2:])
        return stacked([pose.R[i][j]])

    def _where(self, name: str) -> tuple[FrameLayout, int, Any, list[Value]]:
        tree = self._system.tree
        if name not in tree.frames:
            raise ModelError(f"{self._system.name} has no frame '{name}': the symbol belongs to another tree")
        frame = tree.frames[name]
        return tree.layout, frame.node, frame.placement, scalars(self._q)

    def _pose(self, name: str) -> kinematics.Pose:
        if name not in self._poses:
            self._poses[name] = kinematics.frame_pose(*self._where(name))
        return self._poses[name]

    def _twist(self, name: str) -> Value:
        """[ṗ | ω], (6, 1)."""
        if name not in self._twists:
            J = kinematics.frame_jacobian(*self._where(name), "aligned")
            v = scalars(self._v)
            self._twists[name] = stacked([kinematics.dot(row, v) for row in J])
        return self._twists[name]

    @property
    def _rate(self) -> Value:
        system = self._system
        qd = self.column([system.rates[q] for q in system.coordinates])
        return column(qd, zeros(len(system.states)))  # frames do not depend on states
