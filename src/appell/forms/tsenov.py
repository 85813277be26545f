"""Tsenov's equations of the second kind.

    ½ (∂T̈/∂q̈_i − 3 ∂T/∂q_i) = Q_i + Σ Λ_k ∂f_k/∂q̈_i                       Deneva (25)

T̈ is differentiated literally, twice along the motion, up to the third derivatives of q (which drop out of ∂T̈/∂q̈); nothing
is taken from Lagrange's or Nielsen's form. The identity holds for any T(t, q, q̇).
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


class Tsenov(Form):
    name = "tsenov"
    source = "Deneva (25)"

    def reason_against(self, system: System, **options: Any) -> str | None:
        return needs_coordinates(system)

    def derive(self, system: System, **options: Any) -> Equations:
        T, d_dt = system.kinetic, time_derivation(system.rates)
        T_dd = d_dt(d_dt(T))
        slopes = zip(gradient(T_dd, system.accelerations), gradient(T, system.coordinates), strict=True)
        E = [(T_dd_a - 3 * T_q) / 2 for T_dd_a, T_q in slopes]
        where = f"½(∂T̈/∂q̈ − 3 ∂T/∂q) from T̈, with multipliers; {self.source}"
        return with_multipliers(self, system, E, where, {"T_dd": T_dd})

    def worked(self, equations: Equations) -> Iterator[Stage]:
        system = equations.system
        return rate_steps(system, LeftSide(r"\ddot T", "T̈"), equations.objects["T_dd"], system.accelerations)


def tsenov(system: System) -> Equations:
    """Tsenov's equations ½(∂T̈/∂q̈_i − 3 ∂T/∂q_i) = Q_i + ΣΛ ∂f/∂q̈_i (Deneva 25). `.T_dd` is T̈."""
    return Tsenov()(system)
