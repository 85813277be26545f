"""Lagrange's expressions from sums that are multiplied out, where T, V and the constraints allow it.

    E_i = d/dt ∂T/∂q̇_i − ∂T/∂q_i            Q_i + Σ Λ_k W_ki,     Q_i = F_i − ∂V/∂q_i

Each is differentiated as a table of powers and written once, in the shortest way that is known. Long energies, floats,
functions other than sines and cosines, and speeds that are not q̇ are left to `derivation`, which expands nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sympy import Expr, Symbol

from appell.jets import Jet, t
from appell.model import System
from appell.remember import remembered
from appell.tidy import SMALL, rational
from appell.tidy.calculus import Calculus, NotExpanded, times, total


def inertia(system: System) -> list[Expr] | None:
    """d/dt ∂T/∂q̇_i − ∂T/∂q_i, (nv,); None where T is left to `derivation`."""
    return _written(_inertia, system)


def forces(system: System, multipliers: Sequence[Symbol]) -> list[Expr] | None:
    """Q_i + Σ Λ_k W_ki, (nv,); None where V or a constraint is left to `derivation`."""
    return _written(_forces, system, multipliers)


def _written(make: Callable[..., list[Any]], system: System, *rest: Any) -> list[Expr] | None:
    if not system.holonomic_speeds:
        return None
    try:
        found = make(system, *rest)
    except NotExpanded:
        return None
    calculus = _calculus(system)
    return [calculus.short(p, SMALL).expression(rational) for p in found]


@remembered
def _calculus(system: System) -> Calculus:
    return Calculus()


def _inertia(system: System) -> list[Any]:
    calculus = _calculus(system)
    T = calculus.read(system.kinetic)
    d_dt = calculus.derivation(_rate)
    momenta = [calculus.partial(v)(T) for v in system.velocities]
    slopes = [calculus.partial(q)(T) for q in system.coordinates]
    return [total(d_dt(p), times(slope, 0, -1)) for p, slope in zip(momenta, slopes, strict=True)]


def _rate(s: Symbol) -> Any:
    return 1 if s == t else s.d if isinstance(s, Jet) else None


def _forces(system: System, multipliers: Sequence[Symbol]) -> list[Any]:
    calculus = _calculus(system)
    V = calculus.read(system.potential)
    slopes = [times(calculus.partial(q)(V), 0, -1) for q in system.coordinates]
    parts = [[calculus.read(F), slope] for F, slope in zip(system.forces, slopes, strict=True)]
    symbols = (system.coordinates, system.velocities, system.accelerations)
    for lam, f, c, given in zip(multipliers, system.residuals, system.constraints, system.reactions, strict=True):
        row = {} if given else calculus.read(f)
        W = [calculus.read(w) for w in given] if given else [calculus.partial(s)(row) for s in symbols[c.order]]
        for part, slope in zip(parts, W, strict=True):
            part.append(times(slope, calculus.expansion.place(lam)))
    return [total(*part) for part in parts]
