"""Lagrange's expressions from expanded sums, where T, V and the constraints allow it.

    E_i = d/dt ∂T/∂q̇_i − ∂T/∂q_i            Q_i + Σ Λ_k W_ki,     Q_i = F_i − ∂V/∂q_i

Each is differentiated as a table of powers and written once, in the shortest known form. Long energies, floats,
functions other than sines and cosines, and speeds that are not q̇ are left to `derivation`, which expands nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sympy import Expr, Symbol

from appell.jets import Jet, t
from appell.model import System
from appell.remember import remembered
from appell.tidy import EXPANDED_TERM_LIMIT, rational
from appell.tidy.calculus import Calculus, NotExpanded, over, times, total, without_denominators


def inertia(system: System) -> list[Expr] | None:
    """d/dt ∂T/∂q̇_i − ∂T/∂q_i, (nv,); None where T is left to `derivation`."""
    return _expressions(_inertia, system)


def forces(system: System, multipliers: Sequence[Symbol]) -> list[Expr] | None:
    """Q_i + Σ Λ_k W_ki, (nv,); None where V or a constraint is left to `derivation`."""
    return _expressions(_forces, system, multipliers)


def are_shortest(system: System) -> bool:
    """Whether only sines and cosines occur, so that `display` has no shorter form."""
    return _calculus(system).is_plain() and not system.quaternions


def _expressions(make: Callable[..., list[Any]], system: System, *arguments: Any) -> list[Expr] | None:
    if not system.holonomic_speeds:
        return None
    try:
        polynomials = make(system, *arguments)
    except NotExpanded:
        return None
    calculus = _calculus(system)
    return [calculus.short(p, EXPANDED_TERM_LIMIT).expression(rational) for p in polynomials]


@remembered
def _calculus(system: System) -> Calculus:
    return Calculus()


def _inertia(system: System) -> list[Any]:
    calculus = _calculus(system)
    T, n = without_denominators(calculus.read(system.kinetic))
    d_dt = calculus.derivation(_rate)
    slopes = calculus.gradient(T, (*system.velocities, *system.coordinates))
    pairs = zip(slopes[: system.nv], slopes[system.nv :], strict=True)
    return [over(total(d_dt(p), times(T_q, 0, -1)), n) for p, T_q in pairs]


def _rate(s: Symbol) -> Any:
    return 1 if s == t else s.d if isinstance(s, Jet) else None


def _forces(system: System, multipliers: Sequence[Symbol]) -> list[Any]:
    calculus = _calculus(system)
    V_q = calculus.gradient(calculus.read(system.potential), system.coordinates)
    sums = [[calculus.read(F), times(slope, 0, -1)] for F, slope in zip(system.forces, V_q, strict=True)]
    symbols = (system.coordinates, system.velocities, system.accelerations)
    for lam, f, c, direction in zip(multipliers, system.residuals, system.constraints, system.reactions, strict=True):
        W = [calculus.read(w) for w in direction] if direction else calculus.gradient(calculus.read(f), symbols[c.order])
        for sum_, slope in zip(sums, W, strict=True):
            sum_.append(times(slope, calculus.expansion.monomial_of(lam)))
    return [total(*sum_) for sum_ in sums]
