"""Constraints as rows of a form that eliminates the reactions, and the reactions brought back.

    f1(t, q, q̇) = 0        A a + a0 = 0,   A = ∂f1/∂q̇         Λ_k = (E − Q)·g_k        A_j·g_k = δ_jk

f1 is ḟ of a holonomic constraint, f of one of first order; A and a0 belong to constraints of every order. A form without
multipliers needs independent rows; displacements g_k that violate one row each give its multiplier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.forms.engine.derivation import gradient, restricted, time_derivation
from appell.forms.engine.implied_rows import independent_on_constraints
from appell.forms.engine.matrices import Table, pivots, row_times, samples
from appell.forms.engine.system_terms import equation, multiplier_symbols
from appell.model import System
from appell.remember import remembered


@dataclass(frozen=True, eq=False)
class ConstraintRows:
    """Constraints at the level of velocities, f1 = 0 (orders 0 and 1), and of accelerations, A a + a0 = 0 (all)."""

    system: System
    indices: tuple[int, ...]

    @cached_property
    def first(self) -> tuple[Expr, ...]:
        """ḟ for order 0, f for order 1; f itself, in the accelerations, for order 2."""
        f, d_dt = self.system.residuals, time_derivation(self.system.rates)
        return tuple(d_dt(f[i]) if self.system.constraints[i].order == 0 else f[i] for i in self.indices)

    def at(self, i: int) -> tuple[Symbol, ...]:
        """The symbols that row i is differentiated by: velocities, or accelerations for order 2."""
        second = self.system.constraints[self.indices[i]].order == 2
        return self.system.accelerations if second else self.system.velocities

    @cached_property
    def A(self) -> Table:
        """∂ḟ/∂q̇, ∂f/∂q̇, ∂f/∂q̈ by the order of the constraint, (k, nv)."""
        entries = [gradient(f, self.at(i)) for i, f in enumerate(self.first)]
        return Matrix(len(entries), self.system.nv, [e for row in entries for e in row])

    @cached_property
    def second(self) -> tuple[Expr, ...]:
        """A a + a0 in the accelerations: f̈, ḟ, f."""
        d_dt, a = time_derivation(self.system.rates), self.system.accelerations
        return tuple(f if self.at(i) == a else d_dt(f) for i, f in enumerate(self.first))

    @property
    def affine(self) -> bool:
        """Whether every row is of order 0 or 1 and affine in the velocities."""
        chosen = [self.system.constraints[i] for i in self.indices]
        return all(c.order == 0 or (c.order == 1 and c.linear) for c in chosen)


def refusal(system: System, form: str) -> str | None:
    """Why a form without multipliers cannot be written: a given reaction direction, or rows nonlinear in q̈."""
    for c, W in zip(system.constraints, system.reactions, strict=True):
        if W is not None:
            return (
                f"constraint '{c.name}' has a reaction direction of its own, so {form} cannot drop the reaction by"
                " virtual displacements; use ap.forms.lagrange"
            )
        if c.order == 2 and not c.linear:
            return f"constraint '{c.name}' is nonlinear in the accelerations; use ap.forms.gauss"
    return None


@remembered
def independent_rows(system: System) -> ConstraintRows:
    """The constraints without redundant rows, found at random states and at states on the constraints."""
    rows = ConstraintRows(system, tuple(range(len(system.constraints))))
    if len(rows.indices) < 2:
        return rows
    at_rest = dict.fromkeys(system.accelerations, sympy.Integer(0))
    a0 = [restricted(f, at_rest) for f in rows.second]
    keep = independent_on_constraints(system, rows.A, a0, pivots, pivots(samples(rows.A), len(rows.indices)))
    return rows if len(keep) == len(rows.indices) else ConstraintRows(system, tuple(sorted(keep)))


def needs_affine(system: System, why: str) -> str | None:
    """The message for a constraint that is not affine in the velocities, with `why` a form needs that; None if all are."""
    for c in system.constraints:
        if c.order == 2 or (c.order == 1 and not c.linear):
            kind = "of second order" if c.order == 2 else "nonlinear in the velocities"
            return f"constraint '{c.name}' is {kind}, and {why}"
    return None


Reactions = tuple[tuple[Expr, ...], tuple[Any, ...], tuple[Symbol, ...]]
"""Λ of the rows, further rows, and further unknowns of them."""


def liberated_by(rows: ConstraintRows, g: Table, left: Sequence[Expr]) -> Reactions:
    """Λ_k = Σ_i left_i g_ik for displacements g, (nv, k), that violate one constraint each."""
    column = Matrix(list(left))
    return liberated_from(rows, g, [row_times(g.T, k, column) for k in range(len(rows.indices))])


def liberated_from(rows: ConstraintRows, g: Table, values: Sequence[Expr]) -> Reactions:
    """Λ_k = values_k. With redundant constraints Λ become unknowns, and Σ_j Λ_j A_j·g_k = values_k further rows."""
    system = rows.system
    if len(rows.indices) == len(system.constraints):
        return tuple(values), (), ()
    lam = multiplier_symbols(system)
    A = ConstraintRows(system, tuple(range(len(lam)))).A
    sums = [sympy.Add(*(lam[j] * row_times(A, j, g[:, k]) for j in range(len(lam)))) for k in range(len(values))]
    return lam, tuple(equation(s, value) for s, value in zip(sums, values, strict=True)), lam
