"""The momentum equation of a symmetry, also for systems with nonholonomic constraints.

    J = Σ p_i ξ_i,        p = ∂T/∂v,        ξ(t, q) a direction of motion, in the velocities v

    dJ/dt = Σ ξ_i (∂T/∂q_i + Q_i) + Σ p_i ξ̇_i + Σ_k Λ_k (W_k · ξ)                            for v = q̇

Q includes −∂V/∂q. In quasi-velocities, ∂T/∂q_i is replaced by the terms of Lagrange's equations in quasi-velocities. If ξ is
compatible with the constraints and walls, W_k · ξ = 0, no reaction and no impulse acts on J. If it is also a symmetry of T and
V, only Σ p_i ξ̇_i remains, with ξ̇ the change of the direction relative to the group: J is then not conserved, unless ξ is a
symmetry with constant coefficients (Noether). Bloch, Krishnaprasad, Marsden and Murray, Arch. Rational Mech. Anal. 136 (1996).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Eq, Expr

from appell.errors import ConstraintError, FormNotApplicable, ModelError, SingularConfiguration
from appell.forms.engine.derivation import gradient, restricted, time_derivation
from appell.forms.engine.display import simplified
from appell.forms.engine.evaluation import FLOAT, Tape, magnitude
from appell.forms.engine.pseudo import PseudoVelocities, check_names, velocities_of
from appell.forms.engine.system_terms import directions, generalized_forces, multiplier_symbols
from appell.forms.fold.chart import free_name, names_of
from appell.forms.lagrange import Lagrange, euler_lagrange, euler_lagrange_speeds
from appell.jets import Prescribed, Speed, expression, t
from appell.letters import text
from appell.letters.formula_rows import Statement, aligned
from appell.model import System
from appell.model.described import system_of
from appell.model.friction import refuse_friction
from appell.reading import name_in, shown, table_of, text_of
from appell.spelling import checked_keywords
from appell.verify.case import Case
from appell.verify.conserved import RATE_ROUNDING
from appell.verify.geometry import VectorField

PAGE_EFFORT = 1.0
"""Simplification effort for each of the two formulas."""


@dataclass(frozen=True)
class MomentumEquation:
    """dJ/dt = rate.

    Attributes
    ----------
    system: its name. symmetry: velocity → nonzero component of ξ.
    name: the symbol of the momentum; momentum: J in t, q and the velocities.
    rate: dJ/dt in t, q, velocities (or J and independent velocities, where these were named) and the multipliers of `acting`.
    acting: names of the constraints and walls whose reactions act on J; empty if ξ is compatible with the constraints.
    conserved: whether dJ/dt vanishes at random states on the constraints, and there are no resets.
    resets: names of the resets of the system. The equation holds between them; their maps may change J.
    """

    system: str
    symmetry: Mapping[Any, Expr]
    name: sympy.Symbol
    momentum: Expr
    rate: Expr
    acting: tuple[str, ...]
    conserved: bool
    resets: tuple[str, ...] = ()

    @property
    def equation(self) -> Eq:
        """dJ/dt = rate, as a SymPy equation."""
        return Eq(self.name.d, self.rate, evaluate=False)  # type: ignore[attr-defined]

    @property
    def sentence(self) -> str:
        """A sentence on the change of the momentum."""
        suffix = f" between resets ({', '.join(map(repr, self.resets))})" if self.resets else ""
        if self.acting:
            verdict = f"the reactions of {', '.join(map(repr, self.acting))} act on it, since ξ is not allowed by them"
        else:
            verdict = "it is conserved" if self.rate == 0 else "no reaction acts on it"
        return verdict + suffix

    def __str__(self) -> str:
        lines = [f"{text(self.name)} = {text(self.momentum)}", f"{text(self.equation.lhs)} = {text(self.rate)}"]
        return "\n".join([f"momentum of a direction in {self.system}: {self.sentence}", *(f"  {line}" for line in lines)])

    def latex(self) -> str:
        """J and its equation, in an `aligned` environment."""
        return aligned([Statement(self.name, self.momentum), Statement(self.equation.lhs, self.rate)], "aligned")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


@checked_keywords()
def momentum_equation(
    system: System,
    symmetry: Mapping[Any, Any] | VectorField,
    *,
    independent: Iterable[Any] | None = None,
    name: str | None = None,
) -> MomentumEquation:
    """d/dt of the momentum p · ξ of a direction ξ(t, q): of a symmetry, or of any admissible direction.

    Parameters
    ----------
    symmetry: coordinate (or velocity) → component of ξ, an expression in t, coordinates and parameters; those not named
        are 0. A field of `ap.geometry(system)` is accepted too.
    independent: velocities that, with the momentum itself, determine all others; the rate is then written in the momentum and
        these: ṗ = 2 J_r cos²φ φ̇ ψ̇ − p φ̇ tan φ of a snakeboard with [phi, psi]. Without it, in the velocities of the system.
    name: of the momentum; p by default, if unused.
    """
    system = system_of(system, "ap.momentum_equation").symbolic()
    refuse_friction(system, "ap.momentum_equation")
    if reason := Lagrange().reason_against(system):
        raise FormNotApplicable(f"ap.momentum_equation is derived from Lagrange's equations, but {reason}")
    xi = _components(system, symmetry)
    d_dt, v = time_derivation(system.rates), system.velocities
    p = gradient(system.kinetic, v)
    E = euler_lagrange(system) if system.holonomic_speeds else euler_lagrange_speeds(system)
    at_rest = dict.fromkeys(system.accelerations, sympy.Integer(0))
    terms = [restricted(d_dt(p_i) - E_i, at_rest) + Q for p_i, E_i, Q in zip(p, E, generalized_forces(system), strict=True)]
    rate = sympy.Add(*(x * e + p_i * d_dt(x) for x, e, p_i in zip(xi, terms, p, strict=True)))
    momentum = simplified(sympy.Add(*(x * p_i for x, p_i in zip(xi, p, strict=True))), PAGE_EFFORT)
    vanishes = _at_states(system)
    acting = []
    for label, W, lam in _reactions(system, d_dt):
        if not vanishes(work := sympy.Add(*(w * x for w, x in zip(W, xi, strict=True)))):
            acting.append(label)
            rate += lam * work
    steady, resets = not acting and vanishes(rate), tuple(reset.name for reset in system.resets)
    letter, written = _written(system, momentum, rate, independent, name)
    short = sympy.Integer(0) if steady else simplified(written, PAGE_EFFORT)
    shown_xi = {s: e for s, e in zip(v, xi, strict=True) if e != 0}
    return MomentumEquation(system.name, shown_xi, letter, momentum, short, tuple(acting), steady and not resets, resets)


def _reactions(system: System, d_dt: Any) -> Iterator[tuple[str, Sequence[Expr], Any]]:
    """(name, W, Λ) of constraints and of walls, whose impulses have the same direction W = ∂ḟ/∂v as their reactions."""
    rows = zip(system.constraints, directions(system), multiplier_symbols(system), strict=True)
    yield from ((c.name, W, lam) for c, W, lam in rows)
    yield from ((face.name, gradient(d_dt(face.function), system.velocities), face.multiplier) for face in system.unilateral)


def _components(system: System, symmetry: Any) -> list[Expr]:
    """ξ in the order of the velocities."""
    components = symmetry.components if isinstance(symmetry, VectorField) else table_of(symmetry, "symmetry=")
    xi: list[Expr] = [sympy.Integer(0)] * system.nv
    for key, value in components.items():
        e = expression(value, f"the component of {name_in(key)} in symmetry=")
        allowed = {t, *system.coordinates, *system.parameters}
        foreign = [s for s in e.free_symbols if s not in allowed and not isinstance(s, Prescribed)]
        if foreign:
            reason = "contains velocities" if any(s in system._jets for s in foreign) else "is no symbol of the system"
            raise ModelError(
                f"the component of {name_in(key)} in symmetry= has {shown(foreign[0])}, which {reason}:"
                " a direction of motion is a function of t, coordinates and parameters"
            )
        xi[system.velocity_of(key, "symmetry=")] = e
    if all(e == 0 for e in xi):
        raise ModelError("symmetry= is {coordinate: component} of a direction of motion, and every component is 0")
    return xi


def _at_states(system: System) -> Any:
    """A test whether an expression vanishes at random states on the constraints."""
    case = Case.of(system, {})
    if not case.states:
        raise ConstraintError(f"no state of {system.name} satisfies its constraints: ap.diagnose(system) tells why")
    symbols = (t, *system.positions, *system.velocities)

    def vanishes(expr: Expr) -> bool:
        if expr == 0:
            return True
        tape, evaluated = Tape([expr, magnitude(expr)]), 0
        prescribed = {s: 0.7 + 0.1 * k for k, s in enumerate(sorted(expr.free_symbols, key=str)) if isinstance(s, Prescribed)}
        for time, q, v in case.states:
            values = {**dict(zip(symbols, [time, *q.tolist(), *v.tolist()], strict=True)), **case.values, **prescribed}
            try:
                value, size = tape(values, FLOAT)
            except SingularConfiguration:
                continue
            if abs(value) > RATE_ROUNDING * size:
                return False
            evaluated += 1
        return evaluated > 0

    return vanishes


def _written(system: System, momentum: Expr, rate: Expr, independent: Any, name: str | None) -> tuple[Any, Expr]:
    """The symbol of the momentum, and the rate in terms of it and of the independent velocities, if given."""
    name = free_name(("p", "P", "p_xi", "p_xi_"), names_of(system)) if name is None else text_of(name)
    if independent is None:
        letter = Speed(name)
        check_names(system, [letter])
        return letter, rate
    chosen = velocities_of(system, independent)
    pseudo = PseudoVelocities.of(system, {name: momentum, **{f"{name}_{k}": v for k, v in enumerate(chosen)}})
    if not pseudo.affine:
        raise FormNotApplicable("independent= needs constraints that are affine in the velocities; leave it out")
    back = dict(zip(pseudo.speeds[1:], chosen, strict=True))
    return pseudo.speeds[0], restricted(pseudo.inside(rate), back)


__all__ = ["MomentumEquation", "momentum_equation"]
