"""Kane's equations: generalized active and inertia forces on partial velocities.

    F_r + F*_r = 0,     F_r = Σ Q_i ∂v_i/∂u_r,     F*_r = −Σ_B [ m a·∂v/∂u_r + (J α + ω × Jω)·∂ω/∂u_r ]

over the bodies B, with v and a of the centre of mass and ω, α on the body axes (Kane and Levinson 1985, §4.11, §6.1).
The generalized speeds u are pseudo-velocities; velocities are written in them before they are differentiated. Where T is given
without bodies, its part of F* is −Σ_i (d/dt ∂T/∂q̇_i − ∂T/∂q_i) ∂q̇_i/∂u_r: accelerations of points are then not known.
Reactions do no work on partial velocities; they are brought into evidence by speeds that violate one constraint each (§4.9).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy
from sympy import Expr, Symbol

from appell.forms.base import Equations, Form
from appell.forms.engine.constraint_rows import refusal
from appell.forms.engine.derivation import gradient, restricted, time_derivation
from appell.forms.engine.matrices import cross, product, row_times
from appell.forms.engine.pseudo import PseudoVelocities, liberated, suggest
from appell.forms.engine.system_terms import equation, generalized_forces
from appell.forms.engine.worked_steps import (
    NO_RULE,
    Line,
    Stage,
    force_step,
    indexed,
    kinematic_step,
    partial_velocity_step,
    velocity_step,
)
from appell.forms.lagrange import euler_lagrange
from appell.model import RigidBody, System
from appell.spelling import checked_keywords


class Kane(Form):
    """F_r + F*_r = 0 in generalized speeds, for bodies with any kinematics, and for T in q̇."""

    name = "kane"
    source = "Kane and Levinson (1985), §4.11, §6.1"
    variants = (("pseudo",),)

    def reason_against(self, system: System, **options: Any) -> str | None:
        if system.kinetic_given != 0 and not system.holonomic_speeds:
            return (
                "its kinetic energy is given in speeds that are not derivatives of coordinates, and names no point whose"
                " acceleration could be taken; describe the masses by bodies=, or use ap.forms.lagrange"
            )
        return refusal(system, "Kane's form")

    def derive(self, system: System, *, pseudo: Mapping[str, Any] | None = None, **options: Any) -> Equations:
        chosen = PseudoVelocities.suggested(system) if pseudo is None else PseudoVelocities.of(system, pseudo)
        Q, rest = generalized_forces(system), _lagrangian_part(system)
        full = [F + E for F, E in zip(inertia_forces(system, system.rates, system.velocities), rest, strict=True)]
        projected, table = _projected(system, chosen, full, rest)
        column = sympy.Matrix([restricted(x, table) for x in Q])
        active = [row_times(chosen.h.T, r, column) for r in range(chosen.n)]
        lam, rows, extra = liberated(chosen, [E - F for E, F in zip(full, Q, strict=True)])
        new = [a for a in chosen.accelerations if a not in system.accelerations]
        return Equations(
            route=self,
            system=system,
            provenance=f"partial velocities{_origin(system)}; F_r + F*_r = 0, {self.source}",
            equations=tuple(equation(F, inertia) for F, inertia in zip(active, projected, strict=True)),
            rows=(*chosen.closing(), *rows),
            unknowns=(*system.accelerations, *new, *extra),
            multipliers=lam,
            kinematics=chosen.kinematics(),
            definitions=chosen.values(),
            solved_block=chosen.solved_block,
            written_in=chosen.written_in,
            objects={"active": tuple(active), "inertia": tuple(-x for x in projected), "pseudo": chosen},
        )

    def worked(self, equations: Equations) -> Iterator[Stage]:
        system, chosen = equations.system, equations.objects["pseudo"]
        yield kinematic_step(equations)
        if chosen.affine:
            table = {**chosen.lifted, **chosen.velocities}
            moved = [(body, chosen.rates, table) for body in system.bodies]
            yield velocity_step(moved)
            yield partial_velocity_step(moved, chosen.speeds)
        yield force_step(system)
        for name, key in (("F", "active"), ("F^*", "inertia")):
            values = zip(chosen.speeds, equations.objects[key], strict=True)
            lines = tuple(Line(indexed(name, u, name.replace("^", "")), e) for u, e in values)
            yield Stage(f"Generalized {key} forces", NO_RULE, lines)

    def default(self, system: System, option: str) -> Any:
        """Generalized speeds for `agree`."""
        return suggest(system)


@checked_keywords()
def kane(system: System, pseudo: Mapping[str, Any] | None = None) -> Equations:
    """Kane's equations F_r + F*_r = 0; `pseudo` are the generalized speeds, as in `appell`, some q̇ where not given.

    Objects: active (F_r), inertia (F*_r).
    """
    return Kane()(system, pseudo=pseudo)


def inertia_forces(
    system: System, rates: Mapping[Any, Expr], speeds: Sequence[Symbol], table: Mapping[Any, Expr] | None = None
) -> list[Expr]:
    """−F*_r = Σ_B (m v)˙·∂v/∂u_r + (J α + J̇ω + ω × Jω)·∂ω/∂u_r, with velocities taken along `rates` in the speeds u.

    `table` writes velocities that are not rates (those of quaternions) in the speeds.
    """
    d_dt, total = time_derivation(rates), [sympy.Integer(0)] * len(speeds)
    in_speeds = lambda vector: vector.applyfunc(lambda e: restricted(e, table or {}))
    for body in system.bodies:
        v: Any = in_speeds(body.velocity(rates))
        pairs: list[tuple[Any, Any]] = [(v, d_dt.matrix(v) * body.mass + v * d_dt(body.mass))]
        if isinstance(body, RigidBody):
            omega, J = in_speeds(body.turning(rates)), body.inertia
            torque = product(J, d_dt.matrix(omega)) + cross(omega, product(J, omega)) + product(d_dt.matrix(J), omega)
            pairs.append((omega, torque))
        for velocity, force in pairs:
            slopes = [gradient(entry, speeds) for entry in velocity]
            total = [
                F + sympy.Add(*(force[i] * slope[r] for i, slope in enumerate(slopes) if slope[r] != 0))
                for r, F in enumerate(total)
            ]
    return [system.in_velocities(F) for F in total]


def _lagrangian_part(system: System) -> list[Expr]:
    """d/dt ∂T/∂q̇ − ∂T/∂q of the part of T without bodies, (nv,)."""
    if system.kinetic_given == 0:
        return [sympy.Integer(0)] * system.nv
    return euler_lagrange(system, system.kinetic_given)


def _projected(system: System, pseudo: PseudoVelocities, full: list[Expr], rest: list[Expr]) -> tuple[list[Expr], Any]:
    """−F*_r, and the table that writes velocities and accelerations in the generalized speeds."""
    if not pseudo.affine:  # ∂v/∂u_r through the implicit function: Σ_i ∂v/∂q̇_i h_ir
        column = sympy.Matrix(full)
        return [restricted(row_times(pseudo.h.T, r, column), pseudo.lifted) for r in range(pseudo.n)], pseudo.lifted
    table = {**pseudo.lifted, **pseudo.velocities}
    bodies = inertia_forces(system, pseudo.rates, pseudo.speeds, pseudo.velocities)
    column = sympy.Matrix([restricted(E, table) for E in rest])
    return [F + row_times(pseudo.h.T, r, column) for r, F in enumerate(bodies)], table


def _origin(system: System) -> str:
    if not system.bodies:
        return " ∂q̇/∂u, accelerations through T since no bodies are given"
    return " of the bodies" + (" (and of the part of T given apart)" if system.kinetic_given != 0 else "")
