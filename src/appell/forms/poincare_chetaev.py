"""Poincaré's equations on a group, and Chetaev's canonical ones.

    d/dt ∂L/∂u_s = Σ_kr c^r_ks u_k ∂L/∂u_r + Σ_r c^r_0s ∂L/∂u_r + X_s L + Q'_s + Σ Λ_k W_ks             Poincaré (1901)
    dp_s/dt = Σ_kr c^r_ks ∂H/∂p_k p_r + … − X_s H + Q'_s + Σ Λ_k W_ks,    p = ∂L/∂u                       Chetaev (1927)

for velocities u along vector fields, q̇ = Σ_s u_s X_s(t, q) + X_0(t, q), whose brackets close:

    [X_k, X_s] = Σ_r c^r_ks X_r,      [X_0, X_s] + ∂X_s/∂t = Σ_r c^r_0s X_r,      [X, Y] = (∂Y/∂q) X − (∂X/∂q) Y.

For body rates of a unit quaternion c^r_ks = ε_rks and these are Euler's equations, J ω̇ + ω × Jω = M. The derivation is that of
Hamilton's principle with δu_s = dη_s/dt + Σ c^s_kr u_k η_r: constraints enter by multipliers only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Matrix

from appell import tidy
from appell.errors import FormNotApplicable
from appell.forms.base import Equations, Form
from appell.forms.engine.added_names import with_stem
from appell.forms.engine.derivation import gradient, partial, restricted, time_derivation
from appell.forms.engine.matrices import Table, inverse, row_times
from appell.forms.engine.pseudo import PseudoVelocities
from appell.forms.engine.system_terms import (
    acceleration_rows,
    directions,
    equation,
    kinematics_of,
    multiplier_symbols,
    nonlinear_rows,
)
from appell.forms.engine.worked_steps import NO_RULE, LeftSide, Line, Stage, kinematic_step, slopes_of
from appell.forms.lagrange import closes, shortened
from appell.jets import t
from appell.model import System
from appell.spelling import checked_keywords


class PoincareChetaev(Form):
    """Equations in velocities on a group: the system's own quasi-velocities, or pseudo-velocities for all of q̇."""

    name = "poincare_chetaev"
    source = "Poincaré (1901); Chetaev (1927)"
    variants = ((), ("pseudo",))

    def reason_against(self, system: System, **options: Any) -> str | None:
        if nonlinear_rows(system):
            return "a constraint is nonlinear in the accelerations; use ap.forms.gauss"
        if options.get("pseudo") is not None and not system.holonomic_speeds:
            return "it has speeds of its own already; leave pseudo= out"
        pseudo = options.get("pseudo")
        if isinstance(pseudo, Mapping) and len(pseudo) != system.nv:
            return f"it takes as many pseudo-velocities as velocities, {system.nv}, not {len(pseudo)}; use ap.forms.hamel"
        if not system.holonomic_speeds and not closes(system):
            return "the brackets of its kinematics do not close: the speeds hide a nonholonomic constraint; use ap.forms.gauss"
        return None

    def worked(self, equations: Equations) -> Iterator[Stage]:
        objects, u = equations.objects, equations.written_in or equations.system.velocities
        yield kinematic_step(equations)
        yield Stage("Lagrange's function", LeftSide("L = T - V", "L = T − V"), (Line(LeftSide("L", "L"), objects["L"]),))
        yield Stage("Its derivatives by the velocities", NO_RULE, slopes_of("L", objects["L"], u[: len(objects["momenta"])]))
        index = lambda k: str(k + 1) if k >= 0 else "0"
        lines = tuple(
            Line(LeftSide(rf"c^{{{index(r)}}}_{{{index(k)}{index(s)}}}", f"c^{index(r)}_{index(k)}{index(s)}"), e)
            for (r, k, s), e in objects["c"].items()
        )
        yield Stage("Structure coefficients of the fields that do not vanish", NO_RULE, lines)

    def derive(self, system: System, *, pseudo: Mapping[str, Any] | None = None, **options: Any) -> Equations:
        chosen = None if pseudo is None else PseudoVelocities.complete(system, pseudo)
        if chosen is not None and not chosen.affine:
            raise FormNotApplicable("Poincaré's equations need pseudo-velocities affine in the velocities; use ap.forms.maggi")
        return _Group(system, chosen).equations(self)

    def default(self, system: System, option: str) -> Any:
        """Velocities for `agree`, scaled with the first coordinate, so that brackets do not vanish."""
        v, stretch = system.velocities, 2 + sympy.sin(system.coordinates[0])
        fields = [s if i == 0 or not system.holonomic_speeds else stretch * s for i, s in enumerate(v)]
        return dict(zip(with_stem(system, "pi", (s.letter for s in v)), fields, strict=True))


@checked_keywords()
def poincare_chetaev(system: System, pseudo: Mapping[str, Any] | None = None) -> Equations:
    """Poincaré's equations in the quasi-velocities of the system, or in `pseudo`-velocities: one for each q̇, affine in q̇.

    Constraints keep their multipliers. Objects: c, (r, k, s) → c^r_ks, k = −1 for c^r_0s; L; momenta (∂L/∂u).
    """
    return PoincareChetaev()(system, pseudo=pseudo)


class _Group:
    """The fields X and their brackets, L in the velocities u."""

    def __init__(self, system: System, pseudo: PseudoVelocities | None):
        self.system, self.pseudo = system, pseudo
        self.u = system.velocities if pseudo is None else pseudo.speeds
        self.rates = dict(system.rates) if pseudo is None else pseudo.rates
        self.in_u = (lambda e: e) if pseudo is None else (lambda e: restricted(e, {**pseudo.lifted, **pseudo.velocities}))
        self.L = tidy.collected(self.in_u(system.kinetic)) - system.potential
        zero_velocities = dict.fromkeys(self.u, sympy.Integer(0))
        q, rates = system.coordinates, [self.rates[q] for q in system.coordinates]
        self.X: Any = Matrix([[restricted(e, zero_velocities) for e in gradient(rate, self.u)] for rate in rates])
        self.X0: Any = Matrix([restricted(rate, zero_velocities) for rate in rates])
        self.slopes = [[gradient(self.X[i, s], q) for i in range(len(q))] for s in range(len(self.u))]
        self.slopes0 = [gradient(self.X0[i], q) for i in range(len(q))]

    @cached_property
    def inverse(self) -> Table:
        """X⁺ with X⁺X = 1: (XᵀX)⁻¹Xᵀ, the inverse itself where X is square."""
        if self.X.shape[0] == self.X.shape[1]:
            return inverse(self.X) if self.pseudo is None else self.pseudo.Phi
        gram = (self.X.T * self.X).applyfunc(tidy.collected)
        return inverse(gram) * self.X.T

    @cached_property
    def c(self) -> dict[tuple[int, int, int], Expr]:
        """(r, k, s) → c^r_ks, the nonzero ones; k = −1 for [X_0, X_s] + ∂X_s/∂t."""
        n, brackets = len(self.u), {}
        d_t = partial(t)
        for s in range(n):
            explicit = [d_t(self.X[i, s]) for i in range(self.X.shape[0])]
            columns = {k: self._bracket(list(self.X[:, k]), self.slopes[k], s) for k in range(n) if k != s}
            columns[-1] = [a + b for a, b in zip(self._bracket(list(self.X0), self.slopes0, s), explicit, strict=True)]
            for k, column in columns.items():
                if any(e != 0 for e in column):
                    values = [shortened(row_times(self.inverse, r, Matrix(column))) for r in range(n)]
                    brackets.update({(r, k, s): e for r, e in enumerate(values) if e != 0})
        return brackets

    def _bracket(self, Y: list[Any], Y_q: list[list[Any]], s: int) -> list[Expr]:
        """[Y, X_s] = (∂X_s/∂q) Y − (∂Y/∂q) X_s."""
        dot = lambda a, b: sympy.Add(*(x * y for x, y in zip(a, b, strict=True) if x != 0 and y != 0))
        X_s = list(self.X[:, s])
        return [dot(self.slopes[s][i], Y) - dot(Y_q[i], X_s) for i in range(len(Y))]

    def equations(self, form: Form) -> Equations:
        system, u, lam = self.system, self.u, multiplier_symbols(self.system)
        p, d_dt = gradient(self.L, u), time_derivation(self.rates)
        forces, W = self._down(system.forces), [self._down(row) for row in directions(system)]
        L_q = Matrix(gradient(self.L, system.coordinates))
        w = {-1: sympy.Integer(1), **dict(enumerate(u))}
        short = tidy.collected if self.pseudo is None else lambda e: e  # with pseudo-velocities the sums are long
        rows = []
        for s in range(len(u)):
            turning = sympy.Add(*(e * w[k] * p[r] for (r, k, index), e in self.c.items() if index == s))
            work = forces[s] + sympy.Add(*(x * row[s] for x, row in zip(lam, W, strict=True)))
            rows.append(equation(short(d_dt(p[s])), short(turning + row_times(self.X.T, s, L_q) + work)))
        closing = () if self.pseudo is None else self.pseudo.closing()
        new = () if self.pseudo is None else [a for a in self.pseudo.accelerations if a not in system.accelerations]
        return Equations(
            route=form,
            system=system,
            provenance=f"L on the fields of the velocities with their brackets c^r_ks; {form.source}",
            equations=tuple(rows),
            rows=(*closing, *(equation(tidy.collected(r), 0) for r in acceleration_rows(system))),
            unknowns=(*system.accelerations, *new, *lam),
            multipliers=lam,
            kinematics=kinematics_of(system) if self.pseudo is None else self.pseudo.kinematics(),
            definitions={} if self.pseudo is None else self.pseudo.values(),
            written_in=None if self.pseudo is None else self.pseudo.written_in,
            objects={"c": self.c, "L": self.L, "momenta": tuple(p)},
            collected=self.pseudo is None,
        )

    def _down(self, forces: Any) -> list[Expr]:
        """Forces along q̇ as forces along u: Σ_i ∂q̇_i/∂u_s Q_i for pseudo-velocities."""
        if self.pseudo is None:
            return list(forces)
        column, h = Matrix([self.in_u(Q) for Q in forces]), self.pseudo.h.T
        return [row_times(h, s, column) for s in range(len(self.u))]
