"""Lagrange's equations with multipliers (Routh).

    d/dt ∂T/∂q̇_i − ∂T/∂q_i = Q_i + Σ Λ_k ∂f_k/∂q̇_i                      Deneva (16), first order
    d/dt ∂T/∂q̇_i − ∂T/∂q_i = Q_i + Σ Λ_k ∂f_k/∂q̈_i                      Deneva (26), second order; ∂f/∂q for holonomic ones

closed by f̈ = 0, ḟ = 0 or f = 0 by the order of f. For f nonlinear in q̇ the direction ∂f/∂q̇ is Chetaev's rule: an assumption
about how the constraint is realised, not a theorem. Where a constraint has its own `reaction=`, W takes its place.

With quasi-velocities, q̇ = N u + n0 and p = ∂T/∂u, the same equations are

    ṗ − Nᵀ∂T/∂q − Cᵀp = Q + W Λ            C = N⁺(Ṅ − ∂_q(N u + n0) N),

which holds where (I − N N⁺)(Ṅ − ∂_q(N u + n0) N) = 0 (unit quaternions with body rates: ω × Jω); other systems raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
from sympy import Expr

from appell import tidy
from appell.errors import SingularConfiguration
from appell.forms.base import Equations, Form
from appell.forms.engine import expanded
from appell.forms.engine.derivation import gradient, time_derivation
from appell.forms.engine.evaluation import FLOAT, Tape, magnitude
from appell.forms.engine.matrices import inverse
from appell.forms.engine.multipliers import with_multipliers
from appell.forms.engine.worked_steps import LeftSide, Line, Stage, force_step, indexed, kinetic_steps, virtual_step
from appell.model import System
from appell.remember import remembered
from appell.spelling import checked_keywords


class Lagrange(Form):
    name = "lagrange"
    source = "Deneva (16), (26)"

    def reason_against(self, system: System, **options: Any) -> str | None:
        if system.holonomic_speeds or closes(system):
            return None
        return (
            "its speeds hide a nonholonomic constraint, so that T restricted to them loses terms;"
            " with bodies= use ap.forms.gauss or ap.forms.appell, whose accelerations are right for any kinematics"
        )

    def derive(self, system: System, **options: Any) -> Equations:
        origin = "T" if system.holonomic_speeds else "T in the speeds"
        provenance = f"d/dt ∂T/∂q̇ − ∂T/∂q from {origin}, with multipliers; {self.source}"
        E = expanded.inertia(system)
        if E is not None:
            return with_multipliers(self, system, E, provenance, short=True)
        E = euler_lagrange(system) if system.holonomic_speeds else euler_lagrange_speeds(system)
        return with_multipliers(self, system, E, provenance)

    def worked(self, equations: Equations) -> Iterator[Stage]:
        system = equations.system
        yield from kinetic_steps(system)
        if not system.holonomic_speeds:
            N, _, C = twist(system)
            T_q, p = sympy.Matrix(gradient(system.kinetic, system.coordinates)), gradient(system.kinetic, system.velocities)
            terms = N.T * T_q + C.T * sympy.Matrix(p)
            lines = tuple(Line(indexed("G", v), e) for v, e in zip(system.velocities, terms, strict=True))
            rule = LeftSide(r"G = N^T\,\partial T/\partial q + C^T p", "G = Nᵀ ∂T/∂q + Cᵀp")
            yield Stage("Terms of the kinematics", rule, lines)
        yield force_step(system)
        yield virtual_step(system)


@checked_keywords()
def lagrange(system: System) -> Equations:
    """Lagrange's equations with multipliers, E_i = Q_i + ΣΛ ∂f/∂q̇_i (Deneva 16, 26), for constraints of order 0, 1 and 2.

    For f nonlinear in q̇ this is Chetaev's rule, an assumption about the realisation of the constraint.
    """
    return Lagrange()(system)


def euler_lagrange(system: System, kinetic: Expr | None = None) -> list[Expr]:
    """E_i = d/dt ∂T/∂q̇_i − ∂T/∂q_i, (nv,), of the system's T or of a part of it."""
    T, d_dt = system.kinetic if kinetic is None else kinetic, time_derivation(system.rates)
    p, T_q = gradient(T, system.velocities), gradient(T, system.coordinates)
    return [d_dt(p_i) - slope for p_i, slope in zip(p, T_q, strict=True)]


def euler_lagrange_speeds(system: System) -> list[Expr]:
    """ṗ − Nᵀ∂T/∂q − Cᵀp with p = ∂T/∂u, (nv,)."""
    T, d_dt = system.kinetic, time_derivation(system.rates)
    N, _, C = twist(system)
    p, T_q = gradient(T, system.velocities), sympy.Matrix(gradient(T, system.coordinates))
    terms = N.T * T_q + C.T * sympy.Matrix(p)
    return [d_dt(p_i) - term for p_i, term in zip(p, terms, strict=True)]


@remembered
def twist(system: System) -> tuple[sympy.Matrix, sympy.Matrix, sympy.Matrix]:
    """N (nq, nv), D = Ṅ − ∂_q(N u + n0) N (nq, nv), C = N⁺D (nv, nv) with N⁺ = (NᵀN)⁻¹Nᵀ.

    Quaternions make NᵀN a multiple of the identity, which cancels in C.
    """
    rates = [system.rates[q] for q in system.coordinates]
    N, rates_q = (sympy.Matrix([gradient(rate, by) for rate in rates]) for by in (system.velocities, system.coordinates))
    D = time_derivation(system.rates).matrix(N) - rates_q * N
    gram, projected = (matrix.applyfunc(tidy.collected) for matrix in (N.T * N, N.T * D))
    return N, D, (inverse(gram) * projected).applyfunc(shortened)


def shortened(expr: Expr, limit: int = 64) -> Expr:
    """Common factors cancelled in a fraction of at most `limit` terms."""
    return sympy.cancel(expr) if tidy.terms_expanded(expr, limit) <= limit else expr


@remembered
def closes(system: System) -> bool:
    """Whether q̇ = N u + n0 hides no nonholonomic constraint: (I − N N⁺)(Ṅ − ∂_q(N u + n0) N) vanishes, at random states."""
    N, D, C = twist(system)
    residuals = list(D - N * C)
    tape = Tape([*residuals, *map(magnitude, residuals)])
    symbols = sorted(set().union(*(e.free_symbols for e in residuals)), key=str)
    worst = []
    for k in range(4):
        values = {s: 0.2 + ((37 * i + 11 * k) % 53) / 61 for i, s in enumerate(symbols)}
        try:
            results = tape(values, FLOAT)  # residuals, then the sizes of their terms
        except SingularConfiguration:
            continue
        worst.append(all(abs(x) <= 1e-9 * size for x, size in zip(results, results[len(residuals) :], strict=False)))
    return bool(worst) and all(worst)
