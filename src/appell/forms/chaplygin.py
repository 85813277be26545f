"""Equations without multipliers in some of the velocities, for constraints of every order (Deneva).

    E_r + Σ_μ E_μ ∂F_μ/∂q̇_r = Q_r + Σ_μ Q_μ ∂F_μ/∂q̇_r,        q̇_μ = F_μ(t, q, q̇_r)                  (32), (27)
    E_r + Σ_μ E_μ ∂F_μ/∂q̈_r = Q_r + Σ_μ Q_μ ∂F_μ/∂q̈_r,        q̈_μ = F_μ(t, q, q̇, q̈_r)               (34), (33)

E_i = d/dt ∂T/∂q̇_i − ∂T/∂q_i of the unconstrained T. F itself is not needed: as an implicit function it has
∂F_μ/∂q̇_r = −(f_{q̇_μ})⁻¹ f_{q̇_r}, on every branch, and the reactions are Λ = (f_{q̇_μ})⁻ᵀ (E_μ − Q_μ). Both fail where det
f_{q̇_μ} = 0; then use other velocities, or `lagrange`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Matrix, Symbol

from appell.errors import FormNotApplicable, ModelError
from appell.forms.base import Equations, Form
from appell.forms.engine.constraint_rows import ConstraintRows, independent_rows, liberated_by, refusal
from appell.forms.engine.derivation import gradient, restricted
from appell.forms.engine.evaluation import magnitude
from appell.forms.engine.matrices import Table, inverse, row_times, samples
from appell.forms.engine.pseudo import best_independent, needs_coordinates, velocities_of
from appell.forms.engine.solved_block import SolvedBlock
from appell.forms.engine.system_terms import equation, generalized_forces, kinematics_of
from appell.forms.engine.worked_steps import NO_RULE, LeftSide, Line, Stage, force_step, kinetic_steps
from appell.forms.lagrange import euler_lagrange
from appell.jets import expression
from appell.letters import latex, letter
from appell.model import System
from appell.reading import name_in, table_of
from appell.rows import rank, unit_rows
from appell.spelling import checked_keywords


class Chaplygin(Form):
    """Deneva's (32) and (34): the dependent velocities are removed by implicit differentiation."""

    name = "chaplygin"
    source = "Deneva (32), (34)"
    variants = (("independent",),)

    def reason_against(self, system: System, **options: Any) -> str | None:
        return needs_coordinates(system) or refusal(system, "Chaplygin's form")

    def derive(
        self,
        system: System,
        *,
        independent: Iterable[Any] | None = None,
        solved: Mapping[Symbol, Any] | None = None,
        **options: Any,
    ) -> Equations:
        split = VelocitySplit.of(system, independent)
        slopes = split.slopes if solved is None else _stated_slopes(system, split, solved)
        E, Q = euler_lagrange(system), generalized_forces(system)
        equations = [
            equation(
                E[r] + sympy.Add(*(E[m] * slopes[i, j] for i, m in enumerate(split.dependent) if slopes[i, j] != 0)),
                Q[r] + sympy.Add(*(Q[m] * slopes[i, j] for i, m in enumerate(split.dependent) if slopes[i, j] != 0)),
            )
            for j, r in enumerate(split.independent)
        ]
        lam, rows, extra = liberated_by(split.rows, split.directions, [e - f for e, f in zip(E, Q, strict=True)])
        F = split.branches() if solved is None else (_stated_formulas(system, solved),)
        return Equations(
            route=self,
            system=system,
            provenance="d/dt ∂T/∂q̇ − ∂T/∂q of the free T with ∂F/∂q̇ by implicit differentiation, Deneva (32), (34)",
            equations=tuple(equations),
            rows=(*(equation(r, 0) for r in split.rows.second), *rows),
            unknowns=(*system.accelerations, *extra),
            multipliers=lam,
            kinematics=_kinematics(split, F),
            solved_block=split.solved_block,
            written_in=split.written_in,
            objects={"slopes": slopes, "F": F, "split": split},
        )

    def worked(self, equations: Equations) -> Iterator[Stage]:
        system, split = equations.system, equations.objects["split"]
        yield from kinetic_steps(system)
        yield force_step(system)
        slopes = equations.objects["slopes"]
        names = [latex(system.velocities[i]) for i in (*split.dependent, *split.independent)]
        plain = [letter(system.velocities[i]) for i in (*split.dependent, *split.independent)]
        count = len(split.dependent)
        label = lambda i, j: LeftSide(rf"\frac{{\partial {names[i]}}}{{\partial {names[j]}}}", f"∂{plain[i]}/∂{plain[j]}")
        pairs = ((i, count + j) for i in range(count) for j in range(len(split.independent)))
        lines = tuple(Line(label(i, j), slopes[i, j - count]) for i, j in pairs)
        yield Stage("Dependent velocities by independent ones, from the constraints", NO_RULE, lines)

    def default(self, system: System, option: str) -> Any:
        """Well-conditioned independent velocities for `agree`."""
        return best_independent(system)


@checked_keywords()
def chaplygin(
    system: System, independent: Iterable[Any] | None = None, *, solved: Mapping[Symbol, Any] | None = None
) -> Equations:
    """Equations (32), (34) in the independent velocities; `independent` lists coordinates or velocities.

    solved: dependent velocity (or acceleration) → its formula, where the user has one; it is checked against the
    constraints, replaces the implicit derivatives, and is shown as the kinematics.
    """
    return Chaplygin()(system, independent=independent, solved=solved)


class VelocitySplit:
    """Independent and dependent velocities, and the constraints solved for the latter."""

    def __init__(self, system: System, rows: ConstraintRows, independent: Sequence[int], dependent: Sequence[int]):
        self.system, self.rows = system, rows
        self.independent, self.dependent = tuple(independent), tuple(dependent)
        everything = list(range(len(rows.indices)))
        A = rows.A
        self.A_mu = A.extract(everything, list(dependent)) if everything else sympy.zeros(0, 0)
        self.inverse = inverse(self.A_mu) if everything else sympy.zeros(0, 0)
        A_r = A.extract(everything, list(independent)) if everything else sympy.zeros(0, len(self.independent))
        columns = [[row_times(self.inverse, i, A_r[:, j]) for j in range(A_r.shape[1])] for i in everything]
        self.slopes = Matrix(len(everything), A_r.shape[1], [-x for row in columns for x in row])
        """∂F_μ/∂q̇_r, (k, n)."""

    @property
    def directions(self) -> Table:
        """(nv, k): displacements of only the dependent velocities that violate one constraint each."""
        displacements = sympy.zeros(self.system.nv, len(self.dependent))
        for i, m in enumerate(self.dependent):
            for k in range(len(self.dependent)):
                displacements[m, k] = self.inverse[i, k]
        return displacements

    @property
    def written_in(self) -> tuple[Symbol, ...] | None:
        """q̇_r, in which the others are functions F; None where rows of second order leave all velocities free."""
        if any(self.rows.at(i) == self.system.accelerations for i in range(len(self.rows.indices))):
            return None
        return tuple(self.system.velocities[r] for r in self.independent)

    @property
    def solved_block(self) -> SolvedBlock:
        """∂f/∂q̇_μ, whose inverse gives dependent velocities in terms of independent ones."""
        return SolvedBlock(self.system, self.A_mu, "choose others by independent=, or use ap.forms.lagrange")

    def branches(self) -> tuple[dict[Symbol, Expr], ...]:
        """The solved forms (27) or (33), one dict for each branch: affine rows, or one row quadratic in one velocity; else
        ()."""
        levels = {self.rows.at(i) for i in range(len(self.dependent))}
        if len(levels) != 1:
            return ()
        (at,) = levels
        unknown = [at[m] for m in self.dependent]
        zero = dict.fromkeys(unknown, sympy.Integer(0))
        if not self.A_mu.free_symbols & set(unknown):
            free = Matrix([-restricted(f, zero) for f in self.rows.first])
            return ({s: row_times(self.inverse, i, free) for i, s in enumerate(unknown)},)
        if len(unknown) > 1:
            return ()
        (f,), (s,) = self.rows.first, unknown
        try:
            a, b, c = sympy.Poly(f, s).all_coeffs()
        except (ValueError, sympy.PolynomialError):
            return ()
        root = sympy.sqrt(sympy.factor_terms(b**2 - 4 * a * c))
        return tuple({s: (-b + sign * root) / (2 * a)} for sign in (1, -1))

    @staticmethod
    def of(system: System, independent: Iterable[Any] | None) -> VelocitySplit:
        """The split; raises, with a choice that works, where the constraints cannot be solved."""
        rows = independent_rows(system)
        k = len(rows.indices)
        chosen = best_independent(system) if independent is None else velocities_of(system, independent)
        free = [system.velocities.index(v) for v in chosen]
        if len(free) != system.nv - k:
            raise FormNotApplicable(
                f"{system.nv} velocities and {k} independent constraints leave {system.nv - k} independent velocities,"
                f" but {len(free)} were named; {_working_choice(system)}"
            )
        dependent = [i for i in range(system.nv) if i not in free]
        A_mu = rows.A.extract(list(range(k)), dependent) if k else sympy.zeros(0, 0)
        if k and all(_singular(m) for m in samples(A_mu)):
            names = ", ".join(str(system.velocities[i]) for i in dependent)
            raise FormNotApplicable(f"the constraints cannot be solved for {names}; {_working_choice(system)}")
        return VelocitySplit(system, rows, free, dependent)


def _singular(m: np.ndarray) -> bool:
    """Whether a matrix is singular, independent of the units of its rows and columns."""
    return rank(unit_rows(m).T) < len(m)


def _working_choice(system: System) -> str:
    return f"independent=[{', '.join(map(str, best_independent(system)))}] works"


def _kinematics(split: VelocitySplit, branches: Sequence[Mapping[Symbol, Expr]]) -> tuple[Any, ...]:
    """q̇_μ = F_μ where F has one branch, the constraints themselves otherwise; then the rates of states of first order."""
    rates = kinematics_of(split.system)
    if len(branches) == 1:
        return (*(equation(s, f) for s, f in branches[0].items()), *rates)
    return (*(equation(f, 0) for f in split.rows.first), *rates)


def _stated_formulas(system: System, solved: Mapping[Symbol, Any]) -> dict[Symbol, Expr]:
    formulas = table_of(solved, "solved=").items()
    return {key: system.in_velocities(expression(value, f"solved[{name_in(key)}]")) for key, value in formulas}


def _stated_slopes(system: System, split: VelocitySplit, solved: Mapping[Symbol, Any]) -> Matrix:
    """∂F_μ/∂q̇_r of the user's F, after a check that F satisfies the constraints at random states."""
    F = _stated_formulas(system, solved)
    level: dict[Any, Any] = {v: v for v in system.velocities}
    level |= {a: v for a, v in zip(system.accelerations, system.velocities, strict=True)}
    formula = {level.get(key, key): (key, value) for key, value in F.items()}
    missing = [system.velocities[m] for m in split.dependent if system.velocities[m] not in formula]
    if missing or len(formula) != len(split.dependent):
        dependent = ", ".join(str(system.velocities[m]) for m in split.dependent)
        raise ModelError(f"solved= must give exactly the dependent velocities (or their accelerations): {dependent}")
    residuals = [f.xreplace(F) for f in split.rows.first] if F else []
    misfit = Matrix(len(residuals), 2, [x for f in residuals for x in (f, magnitude(f))])
    if any((np.abs(m[:, 0]) > 1e-8 * m[:, 1]).any() for m in samples(misfit)):  # rounding, relative to the terms
        raise ModelError("solved= does not satisfy the constraints: substituted into them it leaves a residual")
    entries = []
    for m in split.dependent:
        key, value = formula[system.velocities[m]]
        at = system.accelerations if key in system.accelerations else system.velocities
        entries += gradient(value, [at[r] for r in split.independent])
    return Matrix(len(split.dependent), len(split.independent), entries)
