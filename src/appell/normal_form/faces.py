"""Unilateral constraints f(t, q) >= 0 on the graph.

    g = f        ġ = f_q q̇ + f_t        n = ∂ġ/∂v        g̈ = n a + g̈|_{a=0}
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.graph.algebra import Value, jacobian
from appell.model import System
from appell.normal_form.kinematics import Kinematics
from appell.normal_form.rows import scale


@dataclass(frozen=True, eq=False)
class Faces:
    """All faces of a system: functions, rates, normals, free second derivatives and restitutions."""

    g: Value
    g_scale: Value
    g_d: Value
    g_v: Value
    g_dd0: Value
    restitution: Value

    @staticmethod
    def of(system: System, kin: Kinematics) -> Faces:
        g = kin.lower.column(face.function for face in system.unilateral)
        g_d = kin.drift(g)
        e = kin.lower.column(face.restitution for face in system.unilateral)
        return Faces(g, scale(g, kin.q), g_d, jacobian(g_d, kin.v), kin.drift(g_d), e)

    def outputs(self, nv: int) -> dict[str, tuple[Value, tuple[int, ...]]]:
        """As named, shaped outputs."""
        n = self.g.numel()
        columns = {name: (getattr(self, name), (n,)) for name in ("g", "g_scale", "g_d", "g_dd0", "restitution")}
        return {**columns, "g_v": (self.g_v, (n, nv))}
