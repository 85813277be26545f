"""Routh's equations: ignorable coordinates eliminated by their momenta, which are constants.

    R(t, q_j, q̇_j, c) = T − V − Σ_α c_α q̇_α,          ∂T/∂q̇_α = c_α solved for q̇_α                (Routh 1877; Lanczos V.4)
    d/dt ∂R/∂q̇_j − ∂R/∂q_j = Q'_j + Σ Λ_k W_kj,       ċ_α = 0,      q̇_α = −∂R/∂c_α

A coordinate is ignorable where neither T nor V contains it and no other force and no constraint acts along it. Q' are the
forces without a potential. The first line is a system in only the other coordinates; kinetic energy of q_α becomes potential,
and a term linear in q̇_j may appear (gyroscopic forces).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.errors import FormNotApplicable, SingularConfiguration
from appell.forms.base import Equations, Form
from appell.forms.engine.derivation import gradient, partial, restricted, time_derivation
from appell.forms.engine.evaluation import Tape, arithmetic, magnitude
from appell.forms.engine.kinetic_degrees import Quadratic
from appell.forms.engine.matrices import row_times
from appell.forms.engine.pseudo import needs_coordinates
from appell.forms.engine.special_states import probe
from appell.forms.engine.symbolic_solve import FUNCTIONS_WITH_STEPS
from appell.forms.engine.system_terms import (
    acceleration_rows,
    directions,
    equation,
    multiplier_symbols,
    nonlinear_rows,
    state_rates,
)
from appell.forms.engine.worked_steps import NO_RULE, LeftSide, Line, Stage, slopes_of
from appell.forms.hamilton import momentum_symbols
from appell.model import System
from appell.reading import items_of
from appell.spelling import checked_keywords
from appell.tidy import collected


class Routhian(Form):
    """R in the other coordinates, with the cyclic momenta as constants."""

    name = "routhian"
    source = "Routh (1877); Lanczos, The variational principles of mechanics, V.4"

    def reason_against(self, system: System, *, cyclic: Iterable[Any] | None = None, **options: Any) -> str | None:
        if needs_coordinates(system):
            return needs_coordinates(system)
        if nonlinear_rows(system):
            return "a constraint is nonlinear in the accelerations; use ap.forms.gauss"
        if cyclic is None and not ignorable(system):
            return "it has no ignorable coordinate: each stands in T or V, or is acted upon; use ap.forms.lagrange"
        return None

    def derive(self, system: System, *, cyclic: Iterable[Any] | None = None, **options: Any) -> Equations:
        candidates = ignorable(system)
        chosen = candidates if cyclic is None else _named(system, cyclic, candidates)
        reduced = _Elimination(system, chosen)
        return reduced.equations(self)
    def worked(self, equations: Equations) -> Iterator[Stage]:
        R, momenta = equations.objects["R"], equations.objects["momenta"]
        constants = tuple(Line(c, value) for c, value in momenta.items())
        yield Stage("Constant momenta of the ignorable coordinates", NO_RULE, constants)
        turning = tuple(Line(e.lhs, e.rhs) for e in equations.kinematics)  # type: ignore[arg-type]
        rule = LeftSide(r"\dot q_\alpha = -\partial R/\partial c_\alpha", "q̇ = −∂R/∂c")
        yield Stage("Their velocities by the constants", rule, turning)
        rule = LeftSide(r"R = T - V - \textstyle\sum_\alpha c_\alpha \dot q_\alpha", "R = T − V − Σ c q̇")
        yield Stage("Routh's function", rule, (Line(LeftSide("R", "R"), R),))
        others = [q for q in equations.system.coordinates if q not in equations.objects["cyclic"]]
        yield Stage("Its derivatives by the velocities", NO_RULE, slopes_of("R", R, [q.d for q in others]))
        yield Stage("Its derivatives by the coordinates", NO_RULE, slopes_of("R", R, others))



@checked_keywords()
def routhian(system: System, cyclic: Iterable[Any] | None = None) -> Equations:
    """Routh's equations without ignorable coordinates; `cyclic` lists them, by default all that are found.

    Objects: R (Routh's function), cyclic, momenta (c_α → ∂T/∂q̇_α).
    """
    return Routhian()(system, cyclic=cyclic)


def ignorable(system: System) -> tuple[int, ...]:
    """The indices of the ignorable coordinates: absent from T, V, forces and constraints, with regular inertia."""
    W = directions(system)
    cyclic = []
    for i, q in enumerate(system.coordinates):
        slopes = [partial(q)(system.kinetic), partial(q)(system.potential), system.forces[i], *(row[i] for row in W)]
        if partial(q.d)(system.kinetic) != 0 and all(_vanishes(e) for e in slopes):
            cyclic.append(i)
    while cyclic and not Quadratic.of(system.kinetic, tuple(system.velocities[i] for i in cyclic)).regular():
        cyclic.pop()
    return tuple(cyclic)


def _vanishes(expr: Expr) -> bool:
    """Whether an expression is zero to 30 digits of its terms at three points; expressions with step functions only if
    identically zero."""
    if expr.is_number or expr.has(*FUNCTIONS_WITH_STEPS):
        return bool(expr == 0)
    numbers, tape = arithmetic(40), Tape([expr, magnitude(expr)])
    symbols: list[Any] = sorted(expr.free_symbols, key=str)
    compared = 0
    for k in range(12):
        point = {s: numbers.number(probe(s, i, k)) for i, s in enumerate(symbols)}
        try:
            value, size = tape(point, numbers)
            if abs(value) > 1e-30 * size:
                return False
            compared += 1
        except SingularConfiguration:
            continue
        if compared == 3:
            return True
    return False


def _named(system: System, cyclic: Iterable[Any], candidates: tuple[int, ...]) -> tuple[int, ...]:
    keys = [cyclic] if isinstance(cyclic, Symbol) else items_of(cyclic, "cyclic=")
    chosen = tuple(sorted({system.velocity_of(key, "cyclic=") for key in keys}))
    wrong = [str(system.coordinates[i]) for i in chosen if i not in candidates]
    if wrong or not chosen:
        names = ", ".join(str(system.coordinates[i]) for i in candidates) or "none is"
        raise FormNotApplicable(f"{', '.join(wrong) or 'no coordinate'} is not ignorable; {names} ignorable in '{system.name}'")
    return chosen


class _Elimination:
    """q̇_α = M_αα⁻¹ (c − b_α − M_αj q̇_j), and R."""

    def __init__(self, system: System, cyclic: tuple[int, ...]):
        self.system, self.cyclic = system, cyclic
        self.remaining = tuple(i for i in range(system.nv) if i not in cyclic)
        velocities = tuple(system.velocities[i] for i in cyclic)
        self.c = momentum_symbols(system, [system.coordinates[i].letter for i in cyclic])
        quadratic = Quadratic.of(system.kinetic, velocities)
        inverse, right = quadratic.inverse(), Matrix([c - b for c, b in zip(self.c, quadratic.b, strict=True)])
        self.velocities: dict[Symbol, Expr] = {v: collected(row_times(inverse, i, right)) for i, v in enumerate(velocities)}
        L = restricted(system.kinetic, self.velocities) - system.potential
        self.R = L - sympy.Add(*(c * w for c, w in zip(self.c, self.velocities.values(), strict=True)))

    @cached_property
    def rates(self) -> dict[Any, Expr]:
        """q̇ with those of the ignorable coordinates by q̇_α = −∂R/∂c_α, and ċ = 0."""
        rates: dict[Any, Expr] = dict(self.system.rates)
        rates.update({self.system.coordinates[i]: -partial(c)(self.R) for i, c in zip(self.cyclic, self.c, strict=True)})
        rates.update(state_rates(self.system, self.velocities))
        return {**rates, **dict.fromkeys(self.c, sympy.Integer(0))}

    def equations(self, form: Form) -> Equations:
        system, d_dt, lam = self.system, time_derivation(self.rates), multiplier_symbols(self.system)
        W, slope = directions(system), {q: partial(q) for q in system.coordinates}
        reduced = lambda e: restricted(e, self.velocities)
        rows = []
        for j in self.remaining:
            q, v = system.coordinates[j], system.velocities[j]
            right = reduced(system.forces[j]) + sympy.Add(*(x * reduced(W_k[j]) for x, W_k in zip(lam, W, strict=True)))
            rows.append(equation(collected(d_dt(partial(v)(self.R)) - slope[q](self.R)), collected(right)))
        cyclic_rows = [equation(system.accelerations[i], d_dt(self.rates[system.coordinates[i]])) for i in self.cyclic]
        values = gradient(system.kinetic, [system.velocities[i] for i in self.cyclic])
        chosen = tuple(system.coordinates[i] for i in self.cyclic)
        names = ", ".join(map(str, chosen))
        return Equations(
            route=form,
            system=system,
            provenance=f"Routh's function without {names}, whose momenta are constants; {form.source}",
            equations=tuple(rows),
            rows=(*cyclic_rows, *(equation(reduced(r), 0) for r in acceleration_rows(system))),
            unknowns=(*system.accelerations, *lam),
            multipliers=lam,
            kinematics=tuple(equation(q.d, self.rates[q]) for q in (*chosen, *system.states)),
            definitions=dict(zip(self.c, values, strict=True)),
            written_in=(*(system.velocities[j] for j in self.remaining), *self.c),
            objects={
                "R": self.R,
                "cyclic": chosen,
                "momenta": dict(zip(self.c, values, strict=True)),
                "implied": tuple(cyclic_rows),
            },
        )
