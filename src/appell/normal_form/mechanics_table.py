"""The interface between systems and the normal form.

    q̇ = N v + n0 by `kinematics`,   M, h, T by `inertia`,   Q = `forces` + `pull`,   a without rows by `free`

`Mechanics` is for energies and bodies. A new kind of system is a subclass of `System`, a subclass of `Mechanics`, and a call of
`mechanics.register(Kind, Its)`: the normal form does not refer to any of them by name.
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
        """The map from the system's expressions to the graph; `seeds` are its symbols."""
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
        """a of M a + h = Q without rows, (nv, 1), if available without forming M; `forces` are those of `forces(kin)`."""
        return None

    def massive(self, least: float) -> bool:
        """Whether λ_min of M scaled to a unit diagonal is known to be above `least` without forming M: M is then not
        checked."""
        return False


@singledispatch
def mechanics(system: Any) -> Mechanics:
    """The mechanics of a system, by its class."""
    return Mechanics(system)


__all__ = ["Mechanics", "mechanics"]
