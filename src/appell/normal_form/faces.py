"""Unilateral constraints f(t, q) >= 0 on the graph.

    g = f        ġ = f_q q̇ + f_t        n = ∂ġ/∂v        g̈ = n a + g̈|_{a=0}
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Add

from appell.graph.algebra import Value, column, jacobian, pattern, zeros
from appell.model import System
from appell.normal_form.kinematic_map import Kinematics


@dataclass(frozen=True, eq=False)
class Faces:
    """All faces of a system: functions, rates, normals, second derivatives at a = 0 and restitutions."""

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
        return Faces(g, _size(system, kin, g), g_d, jacobian(g_d, kin.v), kin.drift(g_d), e)

    def outputs(self, nv: int) -> dict[str, tuple[Value, tuple[int, ...]]]:
        """The quantities of the faces as named, shaped outputs."""
        n = self.g.numel()
        columns = {name: (getattr(self, name), (n,)) for name in ("g", "g_scale", "g_d", "g_dd0", "restitution")}
        return {**columns, "g_v": (self.g_v, (n, nv))}


def _size(system: System, kin: Kinematics, g: Value) -> Value:
    """Σ|terms of g| + Σ|∂g/∂q·q| + |∂g/∂t·t|: the terms that cancel where g is zero."""
    terms = lambda f: sum((abs(kin.lower(term)) for term in Add.make_args(f)), Value(0))
    z = column(kin.t, kin.q)
    slopes = jacobian(g, z)
    sizes = [terms(face.function) for face in system.unilateral]
    for i, j in pattern(slopes):
        sizes[i] += abs(slopes[i, j] * z[j])
    return column(*sizes) if sizes else zeros(0)
