"""Nielsen's equations.

    ∂Ṫ/∂q̇_i − 2 ∂T/∂q_i = Q_i + Σ Λ_k ∂f_k/∂q̇_i                            Deneva (15)

Ṫ is differentiated literally along the motion, Ṫ(t, q, q̇, q̈) = ∂T/∂t + Σ ∂T/∂q q̇ + ∂T/∂q̇ q̈; nothing is taken from
Lagrange's form. The identity holds for any T(t, q, q̇), explicit time included.
"""

from __future__ import annotations

from typing import Any

import sympy

from appell.forms.base import Equations, Form
from appell.forms.lagrange import with_multipliers
from appell.model import System


class Nielsen(Form):
    name = "nielsen"
    source = "Deneva (15)"

    def accepts(self, system: System, **options: Any) -> str | None:
        return needs_velocities(system)

    def derive(self, system: System, **options: Any) -> Equations:
        T = system.kinetic
        T_d = system.total_derivative(T)
        E = [
            sympy.diff(T_d, v) - 2 * sympy.diff(T, q)
            for q, v in zip(system.coordinates, system.velocities, strict=True)
        ]
        return with_multipliers(self, system, E, f"∂Ṫ/∂q̇ − 2 ∂T/∂q from Ṫ, with multipliers; {self.source}", {"T_d": T_d})


def nielsen(system: System) -> Equations:
    """Nielsen's equations ∂Ṫ/∂q̇_i − 2 ∂T/∂q_i = Q_i + ΣΛ ∂f/∂q̇_i (Deneva 15). `.T_d` is Ṫ."""
    return Nielsen()(system)


def needs_velocities(system: System) -> str | None:
    """The reason why a form written in q̇ does not take speeds."""
    if system.holonomic_speeds:
        return None
    return "it is written in q̇, and this system has speeds of its own; use ap.forms.lagrange, or ap.forms.gauss with bodies="
