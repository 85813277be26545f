"""The common terms of a system: forces, rows, directions of the reactions, multipliers, kinematics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy
from sympy import Eq, Expr

from appell.forms.engine import multiplier_forces
from appell.forms.engine.added_names import row_labels
from appell.forms.engine.derivation import gradient, partial, restricted, time_derivation
from appell.model import Constraint, System
from appell.model.multiplier import Multiplier
from appell.reading import symbolic
from appell.remember import remembered


def equation(lhs: Any, rhs: Any) -> Eq:
    """lhs = rhs as written: never evaluated to True."""
    return Eq(symbolic(lhs, "a left side"), symbolic(rhs, "a right side"), evaluate=False)  # type: ignore[return-value]


def multiplier_symbols(system: System) -> tuple[Multiplier, ...]:
    """One Λ per constraint, in the order of `system.constraints`; the symbol used in the forces, if there is one."""
    names = [c.name for c in system.constraints]
    tails = [name.rpartition(": ")[2] for name in names]  # "along" of "wheel: along", if unique
    names = [tail if tails.count(tail) == 1 and tail not in names else name for tail, name in zip(tails, names, strict=True)]
    plain = [name.replace(" ", "").replace("_", "").isalnum() and len(name) <= 24 for name in names]
    labels = [name if ok else str(i + 1) for i, (name, ok) in enumerate(zip(names, plain, strict=True))]
    if len(set(labels)) < len(labels):
        labels = [str(i + 1) for i in range(len(labels))]
    labels = row_labels(system, labels)
    used = multiplier_forces.in_forces(system)
    if not used:
        return tuple(map(Multiplier, labels))
    multipliers = [c.multiplier for c in system.constraints]
    return tuple(lam if lam in used else Multiplier(label) for lam, label in zip(multipliers, labels, strict=True))


@remembered
def generalized_forces(system: System) -> tuple[Expr, ...]:
    """Q_i = forces_i − Σ_j ∂V/∂q_j ∂q̇_j/∂v_i, (nv,)."""
    V_q = dict(zip(system.coordinates, gradient(system.potential, system.coordinates), strict=True))
    rates = [(slope, system.rates[q]) for q, slope in V_q.items() if slope != 0]
    return tuple(
        Q - sympy.Add(*(slope * partial(v)(rate) for slope, rate in rates))
        for Q, v in zip(system.forces, system.velocities, strict=True)
    )


@remembered
def tower(system: System, row: int) -> tuple[Expr, ...]:
    """(f, ḟ, f̈), (f, ḟ) or (f,): a constraint and its derivatives along the motion up to the accelerations."""
    levels, d_dt = [system.residuals[row]], time_derivation(system.rates)
    for _ in range(system.constraints[row].order, 2):
        levels.append(d_dt(levels[-1]))
    return tuple(levels)


def acceleration_rows(system: System) -> tuple[Expr, ...]:
    """r(t, q, v, a), one per constraint: f̈ of a holonomic one, ḟ of one of first order, f of one of second order."""
    return tuple(tower(system, i)[-1] for i in range(len(system.constraints)))


@remembered
def directions(system: System) -> tuple[tuple[Expr, ...], ...]:
    """W_k = ∂ḟ/∂v (order 0, equal to ∂f/∂q for v = q̇), ∂f/∂v (order 1), ∂f/∂a (order 2), or the given reaction; (rows, nv)."""

    def ideal(i: int, c: Constraint) -> tuple[Expr, ...]:
        if c.order == 2:
            return tuple(gradient(system.residuals[i], system.accelerations))
        return tuple(gradient(tower(system, i)[1 - c.order], system.velocities))

    return tuple(stated or ideal(i, c) for i, (c, stated) in enumerate(zip(system.constraints, system.reactions, strict=True)))


def nonlinear_rows(system: System) -> tuple[int, ...]:
    """The constraints that are nonlinear in the accelerations."""
    return tuple(i for i, c in enumerate(system.constraints) if c.order == 2 and not c.linear)


def reason_against_states_in_rows(system: System, why: str) -> str | None:
    """The message for a constraint that contains a state of first order, with `why` a form does not allow that; None if there
    is none."""
    for c, f in zip(system.constraints, system.residuals, strict=True):
        states = sorted(map(str, f.free_symbols & set(system.states)))
        if states:
            return f"constraint '{c.name}' contains {states[0]}, a state of first order, and {why}; use ap.forms.lagrange"
    return None


def state_rates(system: System, velocities: Mapping[Any, Expr]) -> dict[Any, Expr]:
    """State of first order → its rate, with these values for the velocities."""
    return {s: restricted(system.rates[s], velocities) for s in system.states}


def kinematics_of(system: System) -> tuple[Eq, ...]:
    """q̇ = N v + n0 for coordinates whose rates are not velocities, and ṡ of states of first order; empty if v = q̇."""
    return tuple(equation(q.d, rate) for q, rate in system.rates.items() if rate != q.d)
