"""Voronets' equations: the reduced kinetic energy with the correction for its missing momenta.

    d/dt T~_{q̇_r} − T~_{q_r} − Σ_μ T~_{q_μ} B_μr
        − Σ_μ T_{q̇_μ} [ d/dt B_μr − F_{μ,q_r} − Σ_ν F_{μ,q_ν} B_νr ]  =  Q_r + Σ_μ Q_μ B_μr

for q̇_μ = F_μ(t, q, q̇_r), B_μr = ∂F_μ/∂q̇_r, with T~ = T and T_{q̇_μ} both written in the independent velocities. Constraints
affine in q̇ are solved, F_μ = Σ_r B_μr q̇_r + b_μ. For nonlinear ones F is an implicit function, on the branch of the motion:

    B = −(f_{q̇_μ})⁻¹ f_{q̇_r},                        F_{μ,q} = −(f_{q̇_μ})⁻¹ f_q,
    T~_{q̇_r} = T_{q̇_r} + Σ_μ T_{q̇_μ} B_μr,           T~_q = T_q + Σ_μ T_{q̇_μ} F_{μ,q}.

Lagrange's equations of T~ alone (no bracket) are wrong. Where T, B and Q do not contain q_μ the sum over
T~_{q_μ} vanishes and these are Chaplygin's equations of 1897.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.forms.base import Equations, Form
from appell.forms.chaplygin import VelocitySplit
from appell.forms.engine.constraint_rows import liberated_by, refusal
from appell.forms.engine.derivation import gradient, partial, restricted, time_derivation
from appell.forms.engine.matrices import row_times
from appell.forms.engine.pseudo import best_independent, needs_coordinates
from appell.forms.engine.system_terms import equation, generalized_forces, kinematics_of, state_rates
from appell.forms.engine.worked_steps import NO_RULE, LeftSide, Line, Stage, force_step, kinematic_step, slopes_of
from appell.model import System
from appell.spelling import checked_keywords


class Voronets(Form):
    """T~(t, q, q̇_r) and its correction, for holonomic constraints and first-order ones, linear or not."""

    name = "voronets"
    source = "Voronets (1901); Neimark and Fufaev"
    variants = (("independent",),)

    def reason_against(self, system: System, **options: Any) -> str | None:
        second = [c.name for c in system.constraints if c.order == 2]
        if second:
            return f"constraint '{second[0]}' is of second order, and Voronets solves for velocities; use ap.forms.chaplygin"
        return needs_coordinates(system) or refusal(system, "Voronets' form")

    def derive(self, system: System, *, independent: Iterable[Any] | None = None, **options: Any) -> Equations:
        split = VelocitySplit.of(system, independent)
        reduced = _ReducedEnergy(system, split) if split.rows.affine else _Implicit(system, split)
        left = [reduced.inertia(j) for j in range(len(split.independent))]
        lam, rows, extra = liberated_by(split.rows, split.directions, reduced.liberated())
        return Equations(
            route=self,
            system=system,
            provenance="reduced T with the correction of Voronets (Neimark and Fufaev)",
            equations=tuple(equation(e, reduced.force(j)) for j, e in enumerate(left)),
            rows=(*(equation(r, 0) for r in split.rows.second), *rows),
            unknowns=(*system.accelerations, *extra),
            multipliers=lam,
            kinematics=reduced.kinematics(),
            solved_block=split.solved_block,
            written_in=split.written_in,
            objects={"T_reduced": reduced.T, "F": reduced.F, "slopes": split.slopes},
        )

    def worked(self, equations: Equations) -> Iterator[Stage]:
        T = equations.objects["T_reduced"]
        yield kinematic_step(equations)
        if isinstance(T, Expr):
            yield Stage("T in the independent velocities", NO_RULE, (Line(LeftSide(r"\tilde T", "T~"), T),))
            free = [v for v in equations.written_in or () if T.has(v)]
            yield Stage("Its derivatives", NO_RULE, slopes_of(r"\tilde T", T, free, "T~"))
        dependent = [v for v in equations.system.velocities if v not in (equations.written_in or ())]
        title = "Momenta of the dependent velocities, from the whole T"
        yield Stage(title, NO_RULE, slopes_of("T", equations.system.kinetic, dependent))
        yield force_step(equations.system)

    def default(self, system: System, option: str) -> Any:
        """Well-conditioned independent velocities for `agree`."""
        return best_independent(system)


@checked_keywords()
def voronets(system: System, independent: Iterable[Any] | None = None) -> Equations:
    """Voronets' equations in the independent velocities; `independent` lists coordinates or velocities."""
    return Voronets()(system, independent=independent)


class _ReducedEnergy:
    """T~, F, and the velocities as functions of the independent ones."""

    def __init__(self, system: System, split: VelocitySplit):
        self.system, self.split = system, split
        self.F: dict[Symbol, Expr] = split.branches()[0] if split.dependent else {}
        self.rates: dict[Symbol, Expr] = {q: restricted(q.d, self.F) for q in system.coordinates}
        self.rates |= state_rates(system, self.F)
        self.T = restricted(system.kinetic, self.F)
        self.momenta = [restricted(partial(system.velocities[m])(system.kinetic), self.F) for m in split.dependent]
        self.rate = time_derivation(self.rates)
        """d/dt along the constrained motion, q̇_μ = F_μ."""
        self.slope = {q: partial(q) for q in system.coordinates}
        self.Q = [restricted(Q, self.F) for Q in generalized_forces(system)]

    def kinematics(self) -> tuple[Any, ...]:
        """q̇_μ = F_μ, and the rates of states."""
        rates = {s.d: self.rates[s] for s in self.system.states}
        return tuple(equation(s, f) for s, f in {**self.F, **rates}.items())

    def shift(self, expr: Expr, j: int) -> Expr:
        """∂/∂q_r + Σ_μ B_μr ∂/∂q_μ: the derivative along the r-th virtual displacement."""
        q, B = self.system.coordinates, self.split.slopes
        own = self.slope[q[self.split.independent[j]]](expr)
        return own + sympy.Add(*(self.slope[q[m]](expr) * B[i, j] for i, m in enumerate(self.split.dependent) if B[i, j] != 0))

    def inertia(self, j: int) -> Expr:
        """The left side of the r-th equation."""
        v = self.system.velocities[self.split.independent[j]]
        left = self.rate(partial(v)(self.T)) - self.shift(self.T, j)
        F, B = list(self.F.values()), self.split.slopes
        brackets = [self.rate(B[i, j]) - self.shift(F[i], j) for i in range(len(F))]
        return left - sympy.Add(*(p * b for p, b in zip(self.momenta, brackets, strict=True)))

    def force(self, j: int) -> Expr:
        """Q_r + Σ_μ Q_μ B_μr."""
        terms = [self.Q[m] * self.split.slopes[i, j] for i, m in enumerate(self.split.dependent)]
        return self.Q[self.split.independent[j]] + sympy.Add(*terms)

    def liberated(self) -> list[Expr]:
        """E_i − Q_i on the constrained motion, for the reactions: only the dependent ones are needed."""
        residuals: list[Expr] = [sympy.Integer(0)] * self.system.nv
        for p, m in zip(self.momenta, self.split.dependent, strict=True):
            slope = restricted(self.slope[self.system.coordinates[m]](self.system.kinetic), self.F)
            residuals[m] = self.rate(p) - slope - self.Q[m]
        return residuals


class _Implicit(_ReducedEnergy):
    """The same with F an implicit function: q̇_μ stay in the expressions, and ∂F, ∂T~ are found without a branch."""

    def __init__(self, system: System, split: VelocitySplit):
        self.system, self.split = system, split
        self.F, self.T = {}, system.kinetic  # T~ is T on the constraints, without a separate formula
        self.rate = time_derivation(system.rates)
        self.Q = list(generalized_forces(system))
        v, q = system.velocities, system.coordinates
        self.p = gradient(system.kinetic, v)
        self.momenta = [self.p[m] for m in split.dependent]
        self.slope = {x: partial(x) for x in q}
        f_q = Matrix([gradient(f, q) for f in split.rows.first])
        k = len(split.dependent)
        entries = [-row_times(split.inverse, i, f_q[:, j]) for i in range(k) for j in range(len(q))]
        self.F_q = Matrix(k, len(q), entries)

    def kinematics(self) -> tuple[Any, ...]:
        return (*(equation(f, 0) for f in self.split.rows.first), *kinematics_of(self.system))

    def along_displacement(self, row: Any, j: int) -> Expr:
        """row_r + Σ_μ row_μ B_μr for a row of slopes by q."""
        split = self.split
        return row[split.independent[j]] + sympy.Add(
            *(row[m] * split.slopes[i, j] for i, m in enumerate(split.dependent) if split.slopes[i, j] != 0)
        )

    def inertia(self, j: int) -> Expr:
        split, T_q = self.split, gradient(self.system.kinetic, self.system.coordinates)
        slopes = lambda i: list(self.F_q.row(i))
        T_reduced_q = [
            slope + sympy.Add(*(P * self.F_q[i, n] for i, P in enumerate(self.momenta))) for n, slope in enumerate(T_q)
        ]
        T_reduced_r = self.along_displacement(self.p, j)
        brackets = [self.rate(split.slopes[i, j]) - self.along_displacement(slopes(i), j) for i in range(len(split.dependent))]
        left = self.rate(T_reduced_r) - self.along_displacement(T_reduced_q, j)
        return left - sympy.Add(*(P * b for P, b in zip(self.momenta, brackets, strict=True)))
