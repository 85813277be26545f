"""Jourdain's principle: the virtual power of inertia and given forces vanishes.

    Σ (m r̈ − F)·δṙ = 0          for all δṙ with  Σ_i ∂f_k/∂q̇_i δq̇_i = 0,  δr = 0, δt = 0           Deneva (3), (4)

In coordinates, δṙ = Σ ∂ṙ/∂q̇_i δq̇_i, it is Σ_i P_i δq̇_i = 0 with

    P_i = ∂Ṫ/∂q̇_i − 2 ∂T/∂q_i − Q_i                                                              (8)–(10), from T
    P_i = Σ_B m r̈·∂ṙ/∂q̇_i + (J ω̇ + ω × Jω)·∂ω/∂q̇_i − Q_i                                        (4) itself, from bodies

The dependent δq̇_μ are eliminated by the varied constraints, which are linear even for nonlinear f, and the coefficient of each
independent δq̇_r vanishes. Velocities are varied here, not positions: the principle is for constraints of order 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sympy
from sympy import Expr, Symbol

from appell.forms.base import Equations, Form
from appell.forms.chaplygin import VelocitySplit
from appell.forms.engine.constraint_rows import liberated_by, refusal
from appell.forms.engine.derivation import gradient, time_derivation
from appell.forms.engine.pseudo import best_independent
from appell.forms.engine.system_terms import equation, generalized_forces
from appell.forms.engine.worked_steps import LeftSide, Line, Stage, force_step
from appell.forms.kane import inertia_forces
from appell.model import System
from appell.spelling import checked_keywords


class Jourdain(Form):
    """Virtual power, with dependent variations of the velocities eliminated by the varied constraints."""

    name = "jourdain"
    source = "Jourdain (1909); Deneva (3)–(10)"
    variants = (("independent",),)

    def reason_against(self, system: System, **options: Any) -> str | None:
        second = [c.name for c in system.constraints if c.order == 2]
        if second:
            return f"constraint '{second[0]}' is of second order, and velocities are varied here; use ap.forms.gauss"
        if system.kinetic_given != 0 and not system.holonomic_speeds:
            return "its kinetic energy is given in speeds of its own; describe the masses by bodies=, or use ap.forms.lagrange"
        return refusal(system, "Jourdain's principle")

    def derive(self, system: System, *, independent: Iterable[Any] | None = None, **options: Any) -> Equations:
        split = VelocitySplit.of(system, independent)
        power = virtual_power(system)
        left = [
            power[r] + sympy.Add(*(power[m] * split.slopes[i, j] for i, m in enumerate(split.dependent)))
            for j, r in enumerate(split.independent)
        ]
        lam, rows, extra = liberated_by(split.rows, split.directions, power)
        delta = variations(system)
        origin = "Σ (m r̈ − F)·δṙ of the bodies" if _by_bodies(system) else "(∂Ṫ/∂q̇ − 2 ∂T/∂q − Q)·δq̇ from Ṫ"
        return Equations(
            route=self,
            system=system,
            provenance=f"virtual power {origin}, δq̇ on the varied constraints; {self.source}",
            equations=tuple(equation(e, 0) for e in left),
            rows=(*(equation(r, 0) for r in split.rows.second), *rows),
            unknowns=(*system.accelerations, *extra),
            multipliers=lam,
            kinematics=tuple(equation(q.d, rate) for q, rate in system.rates.items() if rate != q.d),
            solved_block=split.solved_block,
            objects={
                "power": sympy.Add(*(P * d for P, d in zip(power, delta, strict=True))),
                "varied": tuple(sympy.Add(*(a * d for a, d in zip(split.rows.A.row(k), delta, strict=True)))
                                for k in range(len(split.rows.indices))),
                "variations": delta,
            },
        )  # fmt: skip

    def worked(self, equations: Equations) -> Iterator[Stage]:
        yield force_step(equations.system)
        power = Line(LeftSide(r"\delta P", "δP"), equations.objects["power"])
        yield Stage("Virtual power of inertia and forces", LeftSide(r"\sum_i P_i\,\delta\dot q_i", "Σ P_i δq̇_i"), (power,))
        varied = tuple(Line(e, sympy.Integer(0)) for e in equations.objects["varied"])
        rule = LeftSide(r"\sum_i \partial f/\partial\dot q_i\,\delta\dot q_i = 0", "Σ ∂f/∂q̇_i δq̇_i = 0")
        yield Stage("Varied constraints", rule, varied)

    def default(self, system: System, option: str) -> Any:
        """Well-conditioned independent velocities for `agree`."""
        return best_independent(system)


@checked_keywords()
def jourdain(system: System, independent: Iterable[Any] | None = None) -> Equations:
    """Jourdain's principle in the independent velocities; `independent` lists coordinates, velocities or speeds.

    Objects: power (Σ P_i δq̇_i), varied (the varied constraints), variations (the symbols δq̇).
    """
    return Jourdain()(system, independent=independent)


def variations(system: System) -> tuple[Symbol, ...]:
    """The symbols δq̇, (nv,)."""
    return tuple(Symbol(f"delta_{v.letter}{'d' * v.order}", real=True) for v in system.velocities)


def virtual_power(system: System) -> list[Expr]:
    """P_i, the coefficient of δq̇_i, (nv,)."""
    Q = generalized_forces(system)
    if _by_bodies(system):
        return [E - F for E, F in zip(inertia_forces(system, system.rates, system.velocities), Q, strict=True)]
    T_d = time_derivation(system.rates)(system.kinetic)
    slopes = zip(gradient(T_d, system.velocities), gradient(system.kinetic, system.coordinates), Q, strict=True)
    return [T_d_v - 2 * T_q - F for T_d_v, T_q, F in slopes]


def _by_bodies(system: System) -> bool:
    return bool(system.bodies) and system.kinetic_given == 0
