"""Forces that contain multipliers, F(t, q, v, Λ): closing the equations of a form, and solving them at a state.

    E(t, q, v, a) = Q + F(t, q, v, Λ) + W Λ            r(t, q, v, a) = 0

A form with multipliers has Λ among its unknowns; one without gives Λ as a formula, which becomes an equation for the Λ in its
forces. Equations affine in Λ are solved directly; others by Newton's method from several starts, and a state with two solutions
raises.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from appell.errors import STATUS_TEXT, SingularConfiguration, Status
from appell.forms.engine.derivation import gradient
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape
from appell.forms.engine.linear_solve import Undetermined, solve_linear
from appell.model import System
from appell.model.multiplier import Multiplier
from appell.remember import remembered

if TYPE_CHECKING:
    from appell.forms.base import Equations

LAW_STARTS = (1.0, -1.0, 30.0, -30.0, 0.03)
"""Starts of Newton's method, in units of the largest force at Λ = 1."""
LAW_STEPS = 60


def in_forces(system: System) -> tuple[Multiplier, ...]:
    """The multipliers of constraints that the forces contain, in the order of the constraints."""
    occurring = _multipliers(system)
    return tuple(lam for c in system.constraints if (lam := c.multiplier) in occurring) if occurring else ()


def of_faces(system: System) -> tuple[Multiplier, ...]:
    """The multipliers of unilateral constraints that the forces contain."""
    occurring = _multipliers(system)
    return tuple(lam for face in system.unilateral if (lam := face.multiplier) in occurring) if occurring else ()


@remembered
def _multipliers(system: System) -> set[Multiplier]:
    """All multipliers in the forces."""
    return {s for Q in system.forces for s in Q.free_symbols if isinstance(s, Multiplier)}


def nonlinear(system: System) -> bool:
    """Whether some force is not affine in the multipliers."""
    lam = in_forces(system)
    return any(sympy.diff(Q, x, y) != 0 for Q in system.forces for x in lam for y in lam if Q.has(x, y))


def refusal(system: System) -> str | None:
    """Why a form that takes forces as known does not apply."""
    lam = in_forces(system)
    return f"a force contains {lam[0]}, so that it is not known before the reactions; use ap.forms.lagrange" if lam else None


def closed(equations: Equations) -> Equations:
    """The equations with the Λ of their forces among the unknowns; Λ of faces are zero, since the motion is without contact."""
    system = equations.system
    if faces := of_faces(system):
        zero = dict.fromkeys(faces, sympy.Integer(0))
        equations = replace(equations, definitions={**zero, **equations.definitions})
    new = [x for x in in_forces(system) if x not in equations.unknowns]
    if not new:
        return equations
    index = {c.multiplier: i for i, c in enumerate(system.constraints)}
    formulas = list(equations.multipliers)
    rows = tuple(sympy.Eq(x, formulas[index[x]], evaluate=False) for x in new)
    for x in new:
        formulas[index[x]] = x
    unknowns, rows = (*equations.unknowns, *new), (*equations.rows, *rows)
    return replace(equations, unknowns=unknowns, rows=rows, multipliers=tuple(formulas))  # type: ignore[arg-type]


@remembered
def _tape(equations: Equations) -> Tape:
    F = equations.residuals
    return Tape([*F, *(slope for f in F for slope in gradient(f, equations.unknowns))])


def root(equations: Equations, values: dict, numbers: Arithmetic) -> dict:
    """The unknowns at a state, by Newton's method from several starts."""
    names, n, m = [str(s) for s in equations.unknowns], len(equations.unknowns), len(equations.residuals)
    free = [isinstance(s, Multiplier) for s in equations.unknowns]
    tape = _tape(equations)

    def step(x: list[Any], at: dict, arithmetic: Arithmetic) -> list[Any]:
        flat = tape({**at, **dict(zip(equations.unknowns, x, strict=True))}, arithmetic)
        J = [flat[m + i * n : m + (i + 1) * n] for i in range(m)]
        return solve_linear(J, [-f for f in flat[:m]], [not is_free for is_free in free], arithmetic.tolerance, names)

    floats = {s: float(x) for s, x in values.items()}
    solutions: list[list[float]] = []
    for start in LAW_STARTS:
        x = _newton(lambda x: step(x, floats, FLOAT), [start if is_free else 0.0 for is_free in free])
        if x is not None and not any(np.allclose(x, y, rtol=1e-6, atol=1e-9 * (1 + max(map(abs, y)))) for y in solutions):
            solutions.append(x)
    if len(solutions) != 1:
        raise Undetermined(STATUS_TEXT[Status.REACTION])
    point: list[Any] = [numbers.number(v) for v in solutions[0]]
    for _ in range(max(2, numbers.digits.bit_length()) if numbers is not FLOAT else 0):
        point = [a + b for a, b in zip(point, step(point, values, numbers), strict=True)]
    return dict(zip(equations.unknowns, point, strict=True))


def _newton(step: Any, x: list[float]) -> list[float] | None:
    """The limit of the steps; None if they do not converge."""
    try:
        for _ in range(LAW_STEPS):
            moved = step(x)
            x = [a + b for a, b in zip(x, moved, strict=True)]
            if max(map(abs, moved), default=0.0) <= 1e-13 * (1 + max(map(abs, x))):
                return x
    except (SingularConfiguration, Undetermined, ArithmeticError, ValueError, TypeError):
        pass
    return None


__all__ = ["closed", "in_forces", "nonlinear", "of_faces", "refusal", "root"]
