"""Pseudo-velocities: π̇ = F q̇ + f_0 together with the constraints, and their inverse q̇ = h π̇ + h_0 (Gantmacher (5), (6)).

Pseudo-velocities and constraints together make a square system. At the level of accelerations, where constraints of
every order are linear,

    Φ a + φ_0 = (π̈, 0),        Φ = ∂(π̇, f)/∂q̇,        Φ⁻¹ = (h | g) = ∂q̇/∂(π̇, f),

and h spans the virtual displacements: A h = 0. Where pseudo-velocities and constraints are affine in the velocities,
q̇ = h π̇ + h_0 too, and everything can be written in π̇. For nonlinear ones only the Jacobians h, g are explicit
(implicit functions), and for second-order constraints the pseudo-velocities may be given in q̈.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.errors import FormNotApplicable, ModelError
from appell.forms.engine.added_names import with_stem
from appell.forms.engine.constraint_rows import ConstraintRows, Reactions, independent_rows, liberated_by
from appell.forms.engine.derivation import gradient, restricted, time_derivation
from appell.forms.engine.implied_rows import on_constraints
from appell.forms.engine.matrices import Table, inverse, pivots, row_times, samples
from appell.forms.engine.solved_block import SolvedBlock
from appell.forms.engine.system_terms import equation
from appell.jets import Jet, Prescribed, Speed, expression, jets_of, t
from appell.model import System
from appell.model.constraint import is_linear
from appell.reading import items_of, name_in, text_of
from appell.rows import RANK_LOST, singular, unit_rows


class PseudoAcceleration(Jet):
    """A combination of accelerations that is not the derivative of a pseudo-velocity."""

    __slots__ = ()
    base_level = 2


@dataclass(frozen=True, eq=False)
class PseudoVelocities:
    """n pseudo-velocities that, with k independent constraints, determine all nv velocities.

    Attributes
    ----------
    speeds, accelerations: π̇_s and π̈_s, (n,); for definitions in q̈ the speeds are empty.
    definitions: π̇_s in the velocities, (5), or π̈_s in the accelerations.
    rows: the independent constraints. Phi: ∂(π̇, f)/∂q̇, (nv, nv).
    """

    system: System
    speeds: tuple[Any, ...]
    accelerations: tuple[Any, ...]
    definitions: tuple[Expr, ...]
    rows: ConstraintRows
    Phi: Table

    @staticmethod
    def of(system: System, pseudo: Mapping[str, Any], rows: ConstraintRows | None = None) -> PseudoVelocities:
        """Pseudo-velocities from name → expression in q̇ (or all in q̈), checked to be complete and independent.

        `rows` are the constraints that complete them, all independent ones unless given.
        """
        if not isinstance(pseudo, Mapping):
            raise ModelError('pseudo= maps names to expressions, for example {"pi": x.d*cos(phi) + y.d*sin(phi)}')
        definitions = tuple(_definition(system, name, value) for name, value in pseudo.items())
        levels = {max((s.level for s in jets_of(e)), default=0) for e in definitions}
        if len(levels) > 1:
            raise ModelError("pseudo-velocities are all given in velocities, or all in accelerations; these are mixed")
        kind = PseudoAcceleration if levels == {2} else Speed
        if kind is PseudoAcceleration and not all(is_linear(e, system.accelerations) for e in definitions):
            raise ModelError("pseudo-velocities given in accelerations must be linear in them")
        symbols = tuple(kind(text_of(name)) for name in pseudo)
        check_names(system, symbols)
        speeds = () if kind is PseudoAcceleration else symbols
        return _make(system, speeds, tuple(s.d for s in speeds) or symbols, definitions, rows)

    @staticmethod
    def suggested(system: System) -> PseudoVelocities:
        """Suitable pseudo-velocities: the quasi-velocities of the system if it has some, else some of q̇."""
        chosen = suggest(system)
        velocities = list(chosen.values())
        if all(isinstance(v, Speed) and v in system.velocities for v in velocities):
            return PseudoVelocities.independent(system, velocities)
        return PseudoVelocities.of(system, chosen)

    @staticmethod
    def complete(system: System, pseudo: Mapping[str, Any]) -> PseudoVelocities:
        """Pseudo-velocities as many as the velocities; the constraints are not eliminated."""
        return PseudoVelocities.of(system, pseudo, rows=ConstraintRows(system, ()))

    @staticmethod
    def independent(system: System, independent: Iterable[Any]) -> PseudoVelocities:
        """Some of the velocities themselves as pseudo-velocities (Gantmacher's remark 1)."""
        chosen = velocities_of(system, independent)
        return _make(system, chosen, tuple(v.d for v in chosen), chosen)

    @cached_property
    def affine(self) -> bool:
        """Whether (6) exists: speeds and constraints affine in the velocities."""
        linear = all(is_linear(e, [s for s in jets_of(e) if s.level == 1]) for e in self.definitions)
        return self.rows.affine and linear and len(self.speeds) == len(self.definitions)

    @property
    def written_in(self) -> tuple[Any, ...]:
        """The velocities in which equations are written: π̇ where (6) exists, those of the system otherwise."""
        return self.speeds if self.affine else self.system.velocities

    def require_affine(self, form: str) -> None:
        """Raises for definitions that are not affine in the velocities."""
        if not self.affine:
            raise FormNotApplicable(f"{form} needs pseudo-velocities affine in the velocities; use ap.forms.maggi")

    @cached_property
    def inverse(self) -> Table:
        """Φ⁻¹ = (h | g), (nv, nv)."""
        return inverse(self.Phi)

    @property
    def n(self) -> int:
        """Degrees of freedom."""
        return len(self.definitions)

    @property
    def h(self) -> Table:
        """∂q̇/∂π̇, (nv, n): the virtual displacements δq = h δπ (6')."""
        return self.inverse[:, : self.n]

    @property
    def g(self) -> Table:
        """∂q̇/∂f, (nv, k): displacements that violate one constraint each."""
        return self.inverse[:, self.n :]

    @cached_property
    def h0(self) -> Table:
        """The free terms of (6), (nv, 1)."""
        at_rest = dict.fromkeys(self.system.velocities, sympy.Integer(0))
        free = Matrix([-restricted(e, at_rest) for e in (*self.definitions, *self.rows.first)])
        return sympy.Matrix(self.system.nv, 1, [row_times(self.inverse, i, free) for i in range(self.system.nv)])

    @cached_property
    def velocities(self) -> dict[Symbol, Expr]:
        """v → (h π̇ + h_0)_v, formula (6)."""
        h, speeds = self.h, Matrix(self.speeds) if self.speeds else sympy.zeros(0, 1)
        return {v: row_times(h, i, speeds) + self.h0[i] for i, v in enumerate(self.system.velocities)}

    @cached_property
    def rates(self) -> dict[Symbol, Expr]:
        """coordinate → its rate in t, q, π̇."""
        return {q: restricted(rate, self.velocities) for q, rate in self.system.rates.items()}

    @cached_property
    def lifted(self) -> dict[Symbol, Expr]:
        """a → its value in π̈: d/dt of (6), or Φ⁻¹ ((π̈, 0) − φ_0) in the velocities where (6) does not exist."""
        a = self.system.accelerations
        if self.affine:
            d_dt = time_derivation(self.rates)
            return {a_i: d_dt(e) for a_i, e in zip(a, self.velocities.values(), strict=True)}
        right = [p - f for p, f in zip(self.accelerations, self.free[: self.n], strict=True)]
        right = Matrix(right + [-f for f in self.free[self.n :]])
        return {s: row_times(self.inverse, i, right) for i, s in enumerate(a)}

    @cached_property
    def second(self) -> tuple[Expr, ...]:
        """(π̈, f) in the accelerations, (nv,)."""
        d_dt = time_derivation(self.system.rates)
        pseudo_rates = [d_dt(e) for e in self.definitions] if self.speeds else list(self.definitions)
        return (*pseudo_rates, *self.rows.second)

    @property
    def solved_block(self) -> SolvedBlock:
        """Φ, whose inverse gives h = ∂q̇/∂π̇, Λ and, where π̇ are affine, the velocities in π̇."""
        return SolvedBlock(self.system, self.Phi, "choose others by pseudo=, or use ap.forms.lagrange")

    def inside(self, expr: Expr) -> Expr:
        """An expression with the velocities written in pseudo-velocities, (6)."""
        return restricted(expr, self.velocities)

    def closing(self) -> tuple[Any, ...]:
        """The equations that determine q̈ from π̈: π̈_s = d/dt of (5), and the constraints (19), (20)."""
        rates = [equation(p, e) for p, e in zip(self.accelerations, self.second[: self.n], strict=True) if p != e]
        return (*rates, *(equation(r, 0) for r in self.rows.second))

    def kinematics(self) -> tuple[Any, ...]:
        """(6), where it exists."""
        rates = self.rates if self.affine else self.system.rates
        moved: list[tuple[Any, Expr]] = list(rates.items())
        return tuple(equation(q.d, rate) for q, rate in moved if q.d != rate)

    def values(self) -> dict[Symbol, Expr]:
        """π̇ → its value (5) in the velocities, for those that are not velocities themselves."""
        return {s: e for s, e in zip(self.speeds, self.definitions, strict=False) if s != e}

    @cached_property
    def free(self) -> tuple[Expr, ...]:
        """φ_0: (π̈, f) at zero acceleration, (nv,)."""
        at_rest = dict.fromkeys(self.system.accelerations, sympy.Integer(0))
        return tuple(restricted(e, at_rest) for e in self.second)


def velocities_of(system: System, given: Iterable[Any]) -> tuple[Jet, ...]:
    """The velocities denoted by a list of coordinates, velocities or quasi-velocities."""
    given = [given] if isinstance(given, Symbol) else items_of(given, "independent=")
    chosen = tuple(system.velocities[system.velocity_of(key, "independent=")] for key in given)
    if len(set(chosen)) < len(chosen):
        raise ModelError("independent= names a velocity twice")
    return chosen


def _definition(system: System, name: Any, value: Any) -> Expr:
    where = f"pseudo-velocity '{name_in(name)}'"
    expr = system.in_velocities(expression(value, where))
    for s in sorted(expr.free_symbols, key=str):
        allowed = (*system.coordinates, *system.velocities, *system.accelerations, *system.parameters, t)
        if s not in allowed and not (isinstance(s, Prescribed) and Prescribed(s.letter) in system.prescribed):
            raise ModelError(f"{where} contains {s}, which is not a symbol of '{system.name}'")
    if not any(s.level for s in jets_of(expr)):
        raise ModelError(f"{where} contains no velocity: {expr}")
    return expr


def check_names(system: System, symbols: Sequence[Jet]) -> None:
    """Raises for names of pseudo-velocities that are no identifiers, or already those of symbols of the system."""
    names = {str(s) for s in (*system.positions, *system.velocities, *system.accelerations, *system.parameters, t)}
    for s in symbols:
        if not s.letter.isidentifier():
            raise ModelError(f"'{s.letter}' cannot be the name of a pseudo-velocity; use letters, digits, underscores")
        if s.name in names:
            raise ModelError(f"the name '{s.name}' of a pseudo-velocity is already taken by the system; rename it")


def _make(system: System, speeds, accelerations, definitions, rows: ConstraintRows | None = None) -> PseudoVelocities:
    rows = independent_rows(system) if rows is None else rows
    n, k = len(definitions), len(rows.indices)
    if n + k != system.nv:
        raise FormNotApplicable(
            f"{system.nv} velocities and {k} independent constraints leave {system.nv - k} degrees of freedom, but"
            f" {n} pseudo-velocities (or independent velocities) were given"
        )
    at = system.velocities if speeds or not n else system.accelerations
    top = [slope for e in definitions for slope in gradient(e, at)]
    Phi = Matrix(system.nv, system.nv, [*top, *rows.A])
    names = [f"'{s}'" for s in (speeds or accelerations)]
    names += [f"constraint '{system.constraints[i].name}'" for i in rows.indices]
    dependent = _dependence(Phi, names)
    if dependent:
        raise FormNotApplicable(f"the pseudo-velocities do not span the motion: {dependent}")
    return PseudoVelocities(system, tuple(speeds), tuple(accelerations), tuple(definitions), rows, Phi)


def _dependence(Phi: Table, names: Sequence[str]) -> str | None:
    """None where det Φ ≠ 0 at some random state; else the vanishing combination of rows, as text."""
    null = None
    for m in samples(Phi, count=4):
        U, sizes, _ = singular(unit_rows(m))
        if len(sizes) == 0 or sizes[-1] > RANK_LOST * sizes[0]:
            return None
        null = U[:, -1] if null is None else null
    if null is None:
        return None
    support = [i for i in range(len(names)) if abs(null[i]) > 1e-7]  # others are rounding of a unit vector
    return _combination(Phi, support, names)


def _combination(Phi: Table, support: list[int], names: Sequence[str]) -> str:
    vectors = Phi.extract(support, list(range(Phi.shape[1]))).T.nullspace(simplify=True) if len(support) <= 4 else []
    listed = ", ".join(names[i] for i in support)
    if not vectors:
        return f"{listed} are linearly dependent in the velocities"
    terms = [f"({c})·[{names[i]}]" for c, i in zip(sympy.simplify(vectors[0]), support, strict=True) if c != 0]
    return f"{listed} are linearly dependent: {' + '.join(terms)} contains no velocity"


def suggest(system: System) -> dict[str, Expr]:
    """Velocities suitable as pseudo-velocities, by name."""
    v = best_independent(system)
    return dict(zip(with_stem(system, "pi", (s.letter for s in v)), v, strict=True))


def best_independent(system: System) -> tuple[Jet, ...]:
    """Velocities that leave the constraints solvable for the others, with the largest pivots at random states; at states
    on them where rows are redundant."""
    rows = independent_rows(system)
    k = len(rows.indices)
    implied = k < len(system.constraints)  # rows that depend on others on the constraints alone leave less freedom there
    columns = [m.T for m in (on_constraints(system, rows.A) if implied else []) or samples(rows.A)] if k else []
    dependent = pivots(columns, k) if columns else range(system.nv - k, system.nv)
    return tuple(v for i, v in enumerate(system.velocities) if i not in dependent)


def needs_coordinates(system: System) -> str | None:
    """Why a form in q̇ does not apply: the system has quasi-velocities."""
    if system.holonomic_speeds:
        return None
    return (
        "its velocities are speeds that are not derivatives of coordinates, for which d/dt ∂T/∂q̇ − ∂T/∂q is not the"
        " inertia; use ap.forms.lagrange, or ap.forms.appell where the inertia is given by bodies="
    )


def liberated(pseudo: PseudoVelocities, left: Sequence[Expr]) -> Reactions:
    """(Λ, further rows, further unknowns) from E − Q = Σ Λ_k ∂f_k/∂q̇ on the displacements g (Soltakhanov et al. (4.4))."""
    return liberated_by(pseudo.rows, pseudo.g, left)
