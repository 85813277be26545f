"""Lagrange's equations with multipliers (Routh).

    d/dt ∂T/∂q̇_i − ∂T/∂q_i = Q_i + Σ Λ_k ∂f_k/∂q̇_i                      Deneva (16), first order
    d/dt ∂T/∂q̇_i − ∂T/∂q_i = Q_i + Σ Λ_k ∂f_k/∂q̈_i                      Deneva (26), second order; ∂f/∂q for holonomic ones

closed by f̈ = 0, ḟ = 0 or f = 0 by the order of f. For f nonlinear in q̇ the direction ∂f/∂q̇ is Chetaev's rule: an assumption
about how the constraint is realised, not a theorem. Where a constraint was given its own `reaction=`, W takes its place.

With speeds, q̇ = N u + n0 and p = ∂T/∂u, the same equations are

    ṗ − Nᵀ∂T/∂q − Cᵀp = Q + W Λ            C = N⁺(Ṅ − ∂_q(N u + n0) N),

which holds where (I − N N⁺)(Ṅ − ∂_q(N u + n0) N) = 0 (unit quaternions with body rates: ω × Jω); a system elsewhere is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Expr

from appell.errors import SingularConfiguration
from appell.forms.base import (
    Equations,
    Form,
    acceleration_rows,
    directions,
    equation,
    generalized_forces,
    kinematics_of,
    multiplier_symbols,
    nonlinear_rows,
)
from appell.forms.numbers import FLOAT, Tape
from appell.jets import t
from appell.model import System


class Lagrange(Form):
    name = "lagrange"
    source = "Deneva (16), (26)"

    def accepts(self, system: System, **options: Any) -> str | None:
        if system.holonomic_speeds or _closes(system):
            return None
        return (
            "its speeds hide a nonholonomic constraint, so that T restricted to them loses terms;"
            " with bodies= use ap.forms.gauss or ap.forms.appell, whose accelerations are right for any kinematics"
        )

    def derive(self, system: System, **options: Any) -> Equations:
        E = euler_lagrange(system) if system.holonomic_speeds else euler_lagrange_speeds(system)
        what = "T" if system.holonomic_speeds else "T in the speeds"
        return with_multipliers(self, system, E, f"d/dt ∂T/∂q̇ − ∂T/∂q from {what}, with multipliers; {self.source}")


def lagrange(system: System) -> Equations:
    """Lagrange's equations with multipliers, E_i = Q_i + ΣΛ ∂f/∂q̇_i (Deneva 16, 26), for constraints of order 0, 1 and 2.

    For f nonlinear in q̇ this is Chetaev's rule, an assumption about the realisation of the constraint.
    """
    return Lagrange()(system)


def euler_lagrange(system: System) -> list[Expr]:
    """E_i = d/dt ∂T/∂q̇_i − ∂T/∂q_i, (nv,)."""
    T = system.kinetic
    return [
        system.total_derivative(sympy.diff(T, v)) - sympy.diff(T, q)
        for q, v in zip(system.coordinates, system.velocities, strict=True)
    ]


def euler_lagrange_speeds(system: System) -> list[Expr]:
    """ṗ − Nᵀ∂T/∂q − Cᵀp with p = ∂T/∂u, (nv,)."""
    T, N, D = system.kinetic, *_twist(system)
    p = sympy.Matrix([sympy.diff(T, u) for u in system.velocities])
    T_q = sympy.Matrix([sympy.diff(T, q) for q in system.coordinates])
    C_p = D.T * _pseudo_inverse(N).T * p
    p_d = system.total_derivative(p)
    return list(p_d - N.T * T_q - C_p)


def _twist(system: System) -> tuple[sympy.Matrix, sympy.Matrix]:
    """N and Ṅ − ∂_q(N u + n0) N, both (nq, nv)."""
    rates = sympy.Matrix(list(system.rates.values()))
    N = rates.jacobian(sympy.Matrix(system.velocities))
    return N, system.total_derivative(N) - rates.jacobian(sympy.Matrix(system.coordinates)) * N


def _pseudo_inverse(N: sympy.Matrix) -> sympy.Matrix:
    """N⁺ = (NᵀN)⁻¹Nᵀ. Quaternions make NᵀN diagonal, so that this stays short."""
    gram = (N.T * N).applyfunc(lambda x: sympy.factor_terms(sympy.expand(x)))
    return gram.inv(method="ADJ") * N.T


def _closes(system: System) -> bool:
    """Whether (I − N N⁺)(Ṅ − ∂_q(N u + n0) N) vanishes, at two random states."""
    N, D = _twist(system)
    tape = Tape([*(D - N * (_pseudo_inverse(N) * D))])
    symbols = [t, *system.coordinates, *system.velocities, *system.parameters]
    worst = []
    for k in range(4):
        values = {s: 0.2 + ((37 * i + 11 * k) % 53) / 61 for i, s in enumerate(symbols)}
        try:
            worst.append(max((abs(x) for x in tape(values, FLOAT)), default=0.0))
        except SingularConfiguration:
            continue
    return bool(worst) and max(worst) < 1e-9


def with_multipliers(
    form: Form, system: System, E: Sequence[Expr], provenance: str, objects: dict[str, Any] | None = None
) -> Equations:
    """E_i = Q_i + Σ Λ_k W_ki, closed by the constraints at the level of accelerations."""
    Q, W, lam = generalized_forces(system), directions(system), multiplier_symbols(system)
    forces = [
        Q_i + sympy.Add(*(lam_k * W_k[i] for lam_k, W_k in zip(lam, W, strict=True))) for i, Q_i in enumerate(Q)
    ]
    criterion = None
    if nonlinear_rows(system):
        zero = {a: sympy.Integer(0) for a in system.accelerations}
        criterion = sympy.Add(
            *(a * ((E_i + E_i.xreplace(zero)) / 2 - Q_i) for a, E_i, Q_i in zip(system.accelerations, E, Q, strict=True))
        )
        provenance += "; of its several roots the one of least Z, sought by Newton from many starts (not proven)"
    return Equations(
        route=form,
        system=system,
        provenance=provenance,
        equations=tuple(equation(E_i, Q_i) for E_i, Q_i in zip(E, forces, strict=True)),
        unknowns=(*system.accelerations, *lam),
        multipliers=lam,
        rows=tuple(equation(r, 0) for r in acceleration_rows(system)),
        kinematics=kinematics_of(system),
        objects={"generalized_forces": tuple(Q), **(objects or {})},
        criterion=criterion,
    )
