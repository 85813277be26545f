"""Maggi's equations, both groups, and the generalized ones for second-order constraints.

    Σ_i (E_i − Q_i) ∂q̇_i/∂π̇_s = 0,            s = 1..n         Soltakhanov, Shugaylo, Yushkov (3.1)
    Λ_k = Σ_i (E_i − Q_i) ∂q̇_i/∂f_k,          k = 1..m         (4.4)

with E_i = d/dt ∂T/∂q̇_i − ∂T/∂q_i of the free system, and ∂q̈/∂π̈, ∂q̈/∂f in place of ∂q̇/∂π̇, ∂q̇/∂f for constraints and
pseudo-velocities in the accelerations. The Jacobian is that of an implicit function, (∂(π̇, f)/∂q̇)⁻¹: constraints and
pseudo-velocities may be nonlinear in q̇ and no branch is chosen. Λ does not depend on the choice of pseudo-velocities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy

from appell.forms.base import Equations, Form
from appell.forms.engine.constraint_rows import refusal
from appell.forms.engine.matrices import row_times
from appell.forms.engine.pseudo import PseudoVelocities, liberated, needs_coordinates, suggest
from appell.forms.engine.system_terms import equation, generalized_forces
from appell.forms.engine.worked_steps import LeftSide, Line, Stage, force_step, kinematic_step, kinetic_steps
from appell.forms.lagrange import euler_lagrange
from appell.letters import latex, letter
from appell.model import System
from appell.spelling import checked_keywords


class Maggi(Form):
    """Lagrange's expressions projected on the motions admitted by the constraints, and on those that violate one each."""

    name = "maggi"
    source = "Soltakhanov et al. (3.1), (4.4)"
    variants = (("pseudo",),)

    def reason_against(self, system: System, **options: Any) -> str | None:
        return needs_coordinates(system) or refusal(system, "Maggi's form")

    def derive(self, system: System, *, pseudo: Mapping[str, Any] | None = None, **options: Any) -> Equations:
        chosen = PseudoVelocities.of(system, suggest(system) if pseudo is None else pseudo)
        left = [E - Q for E, Q in zip(euler_lagrange(system), generalized_forces(system), strict=True)]
        column = sympy.Matrix(left)
        lam, rows, extra = liberated(chosen, left)
        title = "generalized Maggi" if any(c.order == 2 for c in system.constraints) else "Maggi"
        return Equations(
            route=self,
            system=system,
            provenance=f"{title}: d/dt ∂T/∂q̇ − ∂T/∂q − Q on ∂q̇/∂π̇, Soltakhanov et al. (3.1); Λ by (4.4)",
            equations=tuple(equation(row_times(chosen.h.T, s, column), 0) for s in range(chosen.n)),
            rows=(*(equation(r, 0) for r in chosen.rows.second), *rows),
            unknowns=(*system.accelerations, *extra),
            multipliers=lam,
            kinematics=chosen.kinematics(),
            definitions=chosen.values(),
            solved_block=chosen.solved_block,
            written_in=chosen.written_in,
            objects={"E": tuple(left), "h": chosen.h, "g": chosen.g, "pseudo": chosen},
        )

    def worked(self, equations: Equations) -> Iterator[Stage]:
        system, chosen = equations.system, equations.objects["pseudo"]
        yield from kinetic_steps(system)
        yield force_step(system)
        yield kinematic_step(equations)
        delta = [sympy.Symbol(f"delta_{s.letter}", real=True) for s in chosen.speeds]
        column = sympy.Matrix(delta)
        moved = [row_times(chosen.h, i, column) for i in range(system.nv)]
        label = lambda q: LeftSide(rf"\delta {latex(q)}", f"δ{letter(q)}")
        lines = tuple(Line(label(q), e) for q, e in zip(system.coordinates, moved, strict=True))
        rule = LeftSide(r"\delta q_i = \textstyle\sum_s h_{is}\,\delta\pi_s", "δq_i = Σ h_is δπ_s")
        yield Stage("Virtual displacements", rule, lines)

    def default(self, system: System, option: str) -> Any:
        """Pseudo-velocities for `agree`."""
        return suggest(system)


@checked_keywords()
def maggi(system: System, pseudo: Mapping[str, Any] | None = None) -> Equations:
    """Maggi's equations (3.1) with the reactions (4.4) as formulas; `pseudo` as in `appell`, some q̇ where not given."""
    return Maggi()(system, pseudo=pseudo)
