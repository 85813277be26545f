"""Appell's equations, from the energy of the accelerations.

    ∂S/∂π̈_s = Π_s,        Π_s = Σ_i h_is Q_i                      Gantmacher §10 (18), (9): pseudo-velocities
    ∂S/∂q̈_s = Q*_s                                                (26): some q̇ as independent velocities
    ∂S/∂q̈_i = Q_i + Σ_k Λ_k ∂f_k/∂q̈_i                             Deneva after (26): all q̇, with multipliers

S = ½ Σ m r̈² is built from the accelerations of the bodies (Golubev 1.4); where only T is given, from its second
derivative, S = ½ T̈ − (3/2) Σ ∂T/∂q_i q̈_i (Tsenov's identity says that ∂S/∂q̈ is then d/dt ∂T/∂q̇ − ∂T/∂q). Terms free
of accelerations drop out of the equations and are dropped from `.S`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sympy
from sympy import Expr

from appell.errors import FormNotApplicable
from appell.forms.base import Equations, Form
from appell.forms.engine.constraint_rows import refusal
from appell.forms.engine.derivation import gradient, partial, restricted, time_derivation
from appell.forms.engine.matrices import row_times
from appell.forms.engine.multipliers import with_multipliers, without_free_terms
from appell.forms.engine.pseudo import PseudoVelocities, liberated, suggest
from appell.forms.engine.system_terms import equation, generalized_forces
from appell.forms.engine.worked_steps import (
    NO_RULE,
    LeftSide,
    Line,
    Stage,
    acceleration_step,
    force_step,
    indexed,
    kinematic_step,
    slopes_of,
    virtual_step,
)
from appell.model import System
from appell.spelling import checked_keywords


class Appell(Form):
    """∂S/∂π̈_s = Π_s: pseudo-velocities linear in q̇ (in q̈ for second-order constraints), or some q̇, or multipliers."""

    name = "appell"
    source = "Gantmacher §10 (18), (26)"
    variants = ((), ("pseudo",), ("independent",))

    def reason_against(self, system: System, **options: Any) -> str | None:
        if system.kinetic_given != 0 and not system.holonomic_speeds:
            return (
                "its kinetic energy is given in speeds that are not derivatives of coordinates, and holds no accelerations;"
                " describe the masses by bodies=, from which S is built"
            )
        if options.get("pseudo") is None and options.get("independent") is None:
            return None
        return refusal(system, "Appell's form with pseudo-velocities")

    def derive(
        self,
        system: System,
        *,
        pseudo: Mapping[str, Any] | None = None,
        independent: Iterable[Any] | None = None,
        **options: Any,
    ) -> Equations:
        if pseudo is not None and independent is not None:
            raise FormNotApplicable("give pseudo= for Appell's equations (18), or independent= for (26), not both")
        if pseudo is not None:
            return _reduced(self, system, PseudoVelocities.of(system, pseudo), "(18)")
        if independent is not None:
            return _reduced(self, system, PseudoVelocities.independent(system, independent), "(26)")
        slopes = gradient(acceleration_energy(system), system.accelerations)
        S = without_free_terms(slopes, system.accelerations)
        return with_multipliers(self, system, slopes, f"{_origin(system)}; ∂S/∂q̈ = Q + Λ ∂f/∂q̈, Deneva after (26)", {"S": S})

    def worked(self, equations: Equations) -> Iterator[Stage]:
        system, S, chosen = equations.system, equations.objects["S"], equations.objects.get("pseudo")
        if chosen is not None:
            yield kinematic_step(equations)
        rates = chosen.rates if chosen is not None and chosen.affine else system.rates
        yield acceleration_step([(body, rates) for body in system.bodies])
        yield Stage("Energy of the accelerations, without terms free of them", NO_RULE, (Line(LeftSide("S", "S"), S),))
        accelerations = system.accelerations if chosen is None else chosen.accelerations
        yield Stage("Its derivatives", NO_RULE, slopes_of("S", S, accelerations))
        yield force_step(system)
        if chosen is None:
            yield virtual_step(system)
            return
        rule = LeftSide(r"\Pi_s = \textstyle\sum_i h_{is} Q_i", "Π_s = Σ h_is Q_i")
        values = zip(chosen.speeds, equations.objects["generalized_forces"], strict=True)
        yield Stage("Forces of the chosen velocities", rule, tuple(Line(indexed(r"\Pi", s, "Π"), e) for s, e in values))

    def default(self, system: System, option: str) -> Any:
        """The value of an option for `agree`: well-conditioned velocities."""
        chosen = suggest(system)
        return chosen if option == "pseudo" else list(chosen.values())


@checked_keywords()
def appell(system: System, pseudo: Mapping[str, Any] | None = None, independent: Iterable[Any] | None = None) -> Equations:
    """Appell's equations of a system: (18) with `pseudo`, (26) with `independent`, with multipliers with neither.

    pseudo: name → expression linear in q̇ (free terms and time-dependent coefficients included), or in q̈; as many as
    there are degrees of freedom. independent: coordinates or velocities. Objects: S, generalized_forces.
    """
    return Appell()(system, pseudo=pseudo, independent=independent)


# -- the energy of the accelerations -----------------------------------------------------------------------------------


def from_kinetic(T: Expr, rates: Mapping[Any, Expr]) -> Expr:
    """½ T̈ − (3/2) Σ ∂T/∂q_i q̈_i without the terms in d³q/dt³, which ∂/∂q̈ does not see."""
    if T == 0:
        return sympy.Integer(0)
    no_jerk = dict.fromkeys([q.dd for q in rates], sympy.Integer(0))
    T_dd = time_derivation({**rates, **no_jerk})(time_derivation(rates)(T))
    return T_dd / 2 - sympy.Rational(3, 2) * sympy.Add(*(partial(q)(T) * q.dd for q in rates))


def acceleration_energy(system: System) -> Expr:
    """S(t, q, v, a) of the free system: bodies from their accelerations, the rest of T by its second derivative."""
    bodies = [body.appell(system.rates) for body in system.bodies]
    return system.in_velocities(sympy.Add(*bodies, from_kinetic(system.kinetic_given, system.rates)))


def _in_pseudo(system: System, pseudo: PseudoVelocities) -> Expr:
    """(16): S(t, q, π̇, π̈), with ṙ = Σ e_s π̇_s + e_0 (10) differentiated along the motion (12)."""
    if not pseudo.affine or not system.holonomic_speeds:
        S = acceleration_energy(system)
        return _restrict(S, pseudo)
    bodies = [body.appell(pseudo.rates) for body in system.bodies]
    return sympy.Add(*bodies, _restrict(from_kinetic(system.kinetic_given, system.rates), pseudo))


def _restrict(expr: Expr, pseudo: PseudoVelocities) -> Expr:
    """The expression with q̈ and, where (6) exists, q̇ written in pseudo-velocities."""
    table = {**pseudo.lifted, **pseudo.velocities} if pseudo.affine else pseudo.lifted
    return restricted(expr, table)


# -- with pseudo-velocities --------------------------------------------------------------------------------------------


def _reduced(form: Appell, system: System, pseudo: PseudoVelocities, number: str) -> Equations:
    S = _in_pseudo(system, pseudo)
    slopes = gradient(S, pseudo.accelerations)  # (17)
    Q = generalized_forces(system)
    Q_pi = sympy.Matrix(system.nv, 1, [_restrict(x, pseudo) for x in Q])
    Pi = tuple(row_times(pseudo.h.T, s, Q_pi) for s in range(pseudo.n))  # (9)
    new = () if set(pseudo.accelerations) <= set(system.accelerations) else pseudo.accelerations
    S_a = gradient(acceleration_energy(system) if system.constraints else sympy.Integer(0), system.accelerations)
    lam, rows, extra = liberated(pseudo, [left - q for left, q in zip(S_a, Q, strict=True)])
    return Equations(
        route=form,
        system=system,
        provenance=f"{_origin(system)}; ∂S/∂π̈ = Π, Gantmacher §10 {number}",
        equations=tuple(equation(left, right) for left, right in zip(slopes, Pi, strict=True)),
        rows=(*pseudo.closing(), *rows),
        unknowns=(*system.accelerations, *new, *extra),
        multipliers=lam,
        kinematics=pseudo.kinematics(),
        definitions=pseudo.values(),
        solved_block=pseudo.solved_block,
        written_in=pseudo.written_in,
        objects={
            "S": without_free_terms(slopes, pseudo.accelerations),
            "generalized_forces": Pi,
            "h": pseudo.h,
            "pseudo": pseudo,
        },
    )


def _origin(system: System) -> str:
    if not system.bodies:
        return "S = ½T̈ − (3/2)∂T/∂q·q̈ from T (Tsenov's route, since no bodies are given)"
    mixed = " and, for the part of T given apart, ½T̈ − (3/2)∂T/∂q·q̈" if system.kinetic_given != 0 else ""
    return f"S from the accelerations of the bodies (Golubev 1.4){mixed}"
