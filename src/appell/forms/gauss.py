"""Gauss's principle of least constraint.

    Z = ½ Σ m (w − F/m)² → min over the accelerations admitted by the constraints

Terms of Z free of accelerations do not affect its minimum and are dropped. From the bodies (Appell's S, valid for any
kinematics)

    Z = S − Q·a,            S = Σ ½ m r̈·r̈ + ½ ω̇·Jω̇ + ω̇·(ω × Jω)

and from T = ½ g_ab q̇^a q̇^b (a, b = 0 … n, q^0 = t; Soltakhanov et al. 1.2, Christoffel symbols of the first kind)

    Z = ½ g_ij q̈^i q̈^j + q̈^i (Γ_{i,ab} q̇^a q̇^b − Q_i)            Γ_{i,ab} = ½ (∂_a g_ib + ∂_b g_ia − ∂_i g_ab),

which is ½ (q̈ − q̈_free)·M(q̈ − q̈_free) without its constant. Stationarity with side conditions r_k = 0 is

    ∂Z/∂q̈_i = Σ Λ_k ∂r_k/∂q̈_i.

With rows nonlinear in q̈ there are several stationary points, and the global minimum is the motion: one row quadratic in q̈ is
solved by its secular equation, with proof (`secular`); others by Newton's method from many starts, without proof
(`stationary`). If the minimum is not unique, an error shows both accelerations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import sympy
from sympy import Expr

from appell.forms.base import Equations, Form, Values
from appell.forms.engine import multiplier_forces
from appell.forms.engine.derivation import gradient, partial
from appell.forms.engine.evaluation import Arithmetic
from appell.forms.engine.multipliers import with_multipliers, work
from appell.forms.engine.secular import Secular, is_quadratic
from appell.forms.engine.system_terms import acceleration_rows, generalized_forces, nonlinear_rows
from appell.forms.engine.worked_steps import NO_RULE, LeftSide, Line, Stage, force_step, slopes_of, virtual_step
from appell.jets import t
from appell.model import System
from appell.spelling import checked_keywords
from appell.tidy import collected


class Gauss(Form):
    name = "gauss"
    source = "Gauss; Deneva (17)–(26), Soltakhanov et al. (1.2)"

    def reason_against(self, system: System, **options: Any) -> str | None:
        if not system.holonomic_speeds and not _all_bodies(system):
            return "it has speeds of its own and T is not made of bodies; use ap.forms.lagrange, or give bodies="
        stated = [c.name for c in system.constraints if c.reaction is not None]
        if stated:
            return f"constraint '{stated[0]}' is not ideal (reaction= is given), so there is no minimum; use ap.forms.lagrange"
        return multiplier_forces.refusal(system)

    def derive(self, system: System, **options: Any) -> Equations:
        inertia, origin = acceleration_energy(system)
        Z = inertia - work(generalized_forces(system), system.accelerations)
        E = gradient(inertia, system.accelerations)
        equations = with_multipliers(self, system, E, f"the minimum of Z from {origin}; {self.source}", {"Z": Z})
        free, rows = list(nonlinear_rows(system)), acceleration_rows(system)
        if len(free) == 0:
            return equations
        equations = replace(equations, criterion=Z)
        if len(free) > 1 or not is_quadratic(rows[free[0]], system.accelerations):
            return equations
        minimum = f"the global minimum of Z from {origin}, by the secular equation of its quadratic row (proven); {self.source}"
        objects = {**equations.objects, "secular": Secular.of(equations, rows, free[0])}
        return replace(equations, provenance=minimum, objects=objects)

    def worked(self, equations: Equations) -> Iterator[Stage]:
        system, Z = equations.system, equations.objects["Z"]
        yield force_step(system)
        yield Stage("The constraint, without terms free of accelerations", NO_RULE, (Line(LeftSide("Z", "Z"), Z),))
        yield Stage("Its derivatives by the accelerations", NO_RULE, slopes_of("Z", Z, system.accelerations))
        if not nonlinear_rows(system):
            yield virtual_step(system)

    def solve_at(self, equations: Equations, values: Values, numbers: Arithmetic) -> Values:
        if "secular" not in equations.objects:
            return super().solve_at(equations, values, numbers)
        a, lam = equations.objects["secular"].solve(values, numbers)
        return dict(zip(equations.unknowns, [*a, *lam], strict=True))


@checked_keywords()
def gauss(system: System) -> Equations:
    """Gauss's principle: Z is minimal over the accelerations admitted by the constraints. `.Z` is Gauss's constraint."""
    return Gauss()(system)


def _all_bodies(system: System) -> bool:
    return bool(system.bodies) and system.kinetic_given == 0


def acceleration_energy(system: System) -> tuple[Expr, str]:
    """The q̈-terms of S, and a text on their origin."""
    if _all_bodies(system):
        S = sympy.Add(*(body.appell(system.rates) for body in system.bodies))
        return system.in_velocities(S), "the accelerations of the bodies"
    return _christoffel(system), "T and the Christoffel symbols of its metric"


def _christoffel(system: System) -> Expr:
    """½ g_ij q̈^i q̈^j + Γ_{i,ab} q̇^a q̇^b q̈^i with q^0 = t, q̇^0 = 1."""
    x, v, a = (t, *system.coordinates), (sympy.Integer(1), *system.velocities), system.accelerations
    g, d, indices = extended_metric(system), [partial(s) for s in x], range(len(x))
    slope = _symmetric(len(x), lambda i, j: [d_k(g[i][j]) for d_k in d])
    terms = [g[i][j] * a[i - 1] * a[j - 1] / 2 for i in indices[1:] for j in indices[1:]]
    for i in indices[1:]:
        gamma = _symmetric(len(x), lambda b, c, i=i: (slope[i][c][b] + slope[i][b][c] - slope[b][c][i]) / 2)
        terms.append(a[i - 1] * sympy.Add(*(gamma[b][c] * v[b] * v[c] for b in indices for c in indices)))
    return sympy.Add(*terms)


def extended_metric(system: System) -> list[list[Expr]]:
    """g_ab, (n + 1, n + 1): T2 = ½ g_ij q̇q̇, T1 = g_0i q̇, T0 = ½ g_00."""
    at_rest = dict.fromkeys(system.velocities, sympy.Integer(0))
    d = [partial(s) for s in system.velocities]
    T: Any = system.kinetic
    p: list[Any] = [d_i(T) for d_i in d]
    short = lambda e: collected(e.xreplace(at_rest))

    def entry(a: int, b: int) -> Expr:
        if a == 0:
            return short(2 * T if b == 0 else p[b - 1])
        return short(d[b - 1](p[a - 1]))

    return _symmetric(len(d) + 1, entry)


def _symmetric(n: int, entry: Callable[[int, int], Any]) -> list[list[Any]]:
    """A table with entry(i, j) = entry(j, i), each computed once for i <= j."""
    upper = {(i, j): entry(i, j) for i in range(n) for j in range(i, n)}
    return [[upper[min(i, j), max(i, j)] for j in range(n)] for i in range(n)]
