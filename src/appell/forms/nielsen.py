"""Nielsen's equations.

    ∂Ṫ/∂q̇_i − 2 ∂T/∂q_i = Q_i + Σ Λ_k ∂f_k/∂q̇_i                            Deneva (15)

Ṫ is differentiated literally along the motion, Ṫ(t, q, q̇, q̈) = ∂T/∂t + Σ ∂T/∂q q̇ + ∂T/∂q̇ q̈; nothing is taken from
Lagrange's form. The identity holds for any T(t, q, q̇), explicit time included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from appell.forms.base import Equations, Form
from appell.forms.engine.derivation import gradient, time_derivation
from appell.forms.engine.multipliers import with_multipliers
from appell.forms.engine.pseudo import needs_coordinates
from appell.forms.engine.worked_steps import LeftSide, Stage, rate_steps
from appell.model import System


class Nielsen(Form):
    name = "nielsen"
    source = "Deneva (15)"

    def reason_against(self, system: System, **options: Any) -> str | None:
        return needs_coordinates(system)

    def derive(self, system: System, **options: Any) -> Equations:
        T = system.kinetic
        T_d = time_derivation(system.rates)(T)
        slopes = zip(gradient(T_d, system.velocities), gradient(T, system.coordinates), strict=True)
        E = [T_d_v - 2 * T_q for T_d_v, T_q in slopes]
        return with_multipliers(self, system, E, f"∂Ṫ/∂q̇ − 2 ∂T/∂q from Ṫ, with multipliers; {self.source}", {"T_d": T_d})

    def worked(self, equations: Equations) -> Iterator[Stage]:
        system = equations.system
        return rate_steps(system, LeftSide(r"\dot T", "Ṫ"), equations.objects["T_d"], system.velocities)


def nielsen(system: System) -> Equations:
    """Nielsen's equations ∂Ṫ/∂q̇_i − 2 ∂T/∂q_i = Q_i + ΣΛ ∂f/∂q̇_i (Deneva 15). `.T_d` is Ṫ."""
    return Nielsen()(system)
