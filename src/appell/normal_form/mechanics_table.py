"""The one door into the normal form: what it asks of a system, however that was said.

    q̇ = N v + n0 by `kinematics`,   M, h, T by `inertia`,   Q = `forces` + `pull`,   a without rows by `free`

`Mechanics` answers for energies and bodies. Another kind of system is a subclass of `System`, a subclass of `Mechanics`, and
`mechanics.register(Kind, Its)` beside them: the normal form knows none of them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from sympy import Symbol

from appell.graph import Lowering
from appell.graph.algebra import Value
from appell.normal_form.inertia_terms import InertiaTerms, inertia_of
from appell.normal_form.kinematic_map import Kinematics


@dataclass(frozen=True, eq=False)
class Mechanics:
    """The mechanics of one system on the graph; `kin` are its symbols there."""

    system: Any

    def kinematics(self) -> Kinematics:
        """Fresh symbols t, q, v, a, p, and q̇."""
        return Kinematics.of(self.system, self.lowering)

    def lowering(self, seeds: Mapping[Symbol, Value], q: Value, v: Value, a: Value) -> Lowering:
        """What takes the system's expressions to the graph, its symbols being `seeds`."""
        return Lowering(seeds)

    def inertia(self, kin: Kinematics) -> InertiaTerms:
        """M, h and T."""
        return inertia_of(self.system, kin)

    def forces(self, kin: Kinematics) -> Value:
        """Generalized forces without the potential, (nv, 1)."""
        return kin.lower.column(self.system.forces)

    def potential(self, kin: Kinematics) -> Value:
        """V."""
        return kin.lower(self.system.potential)

    def pull(self, kin: Kinematics) -> Value:
        """The forces of the potential, −NᵀV_q, (nv, 1)."""
        return -(kin.N.T @ kin.slope(self.potential(kin)))

    def free(self, kin: Kinematics, forces: Value) -> Value | None:
        """a of M a + h = Q without rows, (nv, 1), where that is had without M; `forces` are those of `forces(kin)`."""
        return None

    def massive(self, least: float) -> bool:
        """Whether it is known without M that λ_min of M scaled to a unit diagonal is above `least`: M is then not judged."""
        return False


@singledispatch
def mechanics(system: Any) -> Mechanics:
    """The mechanics of a system, by its class."""
    return Mechanics(system)


__all__ = ["Mechanics", "mechanics"]
