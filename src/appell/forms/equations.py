"""Equations of motion as a form derives them: their solution, accelerations, reactions and display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray
from sympy import Eq, Expr, Symbol

from appell import tidy
from appell.delegates import delegate
from appell.errors import FormNotApplicable, ModelError, SingularConfiguration
from appell.forms.engine import display, multiplier_forces, symbolic_solve
from appell.forms.engine.constrained_states import usual_nullity
from appell.forms.engine.derivation import Replacement, gradient, partial
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape, arithmetic, state_in
from appell.forms.engine.linear_solve import Undetermined, solve_with_nullity
from appell.forms.engine.numeric_arguments import Values, finite, parameter_values, prescribed_values, recorded_values, vector
from appell.forms.engine.solved_block import SolvedBlock
from appell.forms.engine.system_terms import acceleration_rows, multiplier_symbols, nonlinear_rows
from appell.forms.engine.work_budget import WorkBudget
from appell.forms.engine.worked_steps import WorkedSteps, all_steps
from appell.jets import t as time
from appell.model import System
from appell.model.multiplier import Multiplier
from appell.remember import Later, Lazy
from appell.spelling import checked_keywords, did_you_mean

if TYPE_CHECKING:
    from appell.forms.base import Form

SOLUTION_SYMBOLS = 20_000
"""Number of symbols from which solutions are substituted into formulas without simplification."""


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations of motion in one classical form.

    Attributes
    ----------
    form: its name; system: what it was derived from.
    provenance: a sentence on what it was derived from, and by which equation of which source.
    equations: the equations of motion as they are displayed, simplified; derived: the same as derived by the form's own route,
    which are evaluated, solved and verified. `Equations(equations=…)` and `replace(…, equations=…)` take the latter.
    kinematics: the rates of the coordinates, where q̇ are not the velocities themselves (q̇ = N v + n0, q̇ = h π̇ + h0).
    rows: the further equations that close the system: the constraints at the level of accelerations, q̈ in
    pseudo-accelerations, equations for Λ.
    unknowns: what `equations` and `rows` determine together, linearly unless a row is nonlinear in the accelerations:
        all of `system.accelerations`, then pseudo-accelerations and multipliers.
    multipliers: Λ of each constraint, in the order of `system.constraints`: a symbol among the unknowns, or a formula in
        t, q, v, the unknowns and `definitions`.
    definitions: further symbols in the equations (pseudo-velocities), each with its value in t, q, v and
        the definitions before it.
    objects: characteristic functions of the form, by name (S, Z, …); also available as attributes.
    criterion: with rows nonlinear in the accelerations the equations have several roots; the motion is the one that
    minimises this: Z of Gauss in t, q, v and the unknowns, up to terms free of accelerations (½ a·Ma + a·(h − Q)).
    written_in: the velocities or momenta that the equations are written in, `system.velocities` and `definitions` unless given:
        given these, `kinematics` has to determine the rate of every other coordinate.
    collected: whether `equations` and `rows` were collected by `tidy` when they were derived.
    solved_block: the matrix inverted to express all velocities in the form's own; None if there is none.
    shortest: whether `equations` are already in the shortest known form.
    """

    route: Form
    system: System
    provenance: str
    equations: display.Displayed = display.Displayed()  # type: ignore[misc]  # noqa: RUF009 (a descriptor without a default)
    unknowns: tuple[Symbol, ...]  # type: ignore[misc]
    multipliers: tuple[Expr, ...]  # type: ignore[misc]
    rows: Lazy[tuple[Eq, ...]] = Lazy(Later(tuple))  # noqa: RUF009 (a descriptor)
    kinematics: tuple[Eq, ...] = ()
    definitions: Mapping[Symbol, Expr] = field(default_factory=lambda: MappingProxyType({}))
    objects: Lazy[Mapping[str, Any]] = Lazy(Later(dict))  # noqa: RUF009
    criterion: Lazy[Expr | None] = Lazy(None)  # noqa: RUF009
    written_in: tuple[Symbol, ...] | None = None
    collected: bool = False
    shortest: bool = False
    solved_block: SolvedBlock | None = None

    def __post_init__(self):
        missing = [a for a in self.system.accelerations if a not in self.unknowns]
        if missing:
            raise ModelError(f"{self.form}: the acceleration {missing[0]} is not among the unknowns")
        if len(self.multipliers) != len(self.system.constraints):
            raise ModelError(f"{self.form}: {len(self.multipliers)} multipliers for {len(self.system.constraints)} constraints")

    def __getstate__(self) -> dict[str, Any]:
        """The derived equations, without results computed from them."""
        plain = lambda x: dict(x) if isinstance(x, MappingProxyType) else x
        names = ["derived" if f.name == "equations" else f.name for f in fields(self)]
        return {name: plain(getattr(self, name)) for name in names}

    @property
    def form(self) -> str:
        """The name of the form."""
        return self.route.name

    def __getattr__(self, name: str) -> Any:
        objects = self.objects if "objects" in self.__dict__ else {}
        if name in objects:
            return display.shown_object(self, name)
        if name.startswith("_") or "route" not in self.__dict__:
            raise AttributeError(name)
        public = [*objects, *(attribute for attribute in dir(self) if not attribute.startswith("_"))]
        hint = did_you_mean(name, public) or f"; of its own it has {', '.join(sorted(objects)) or 'nothing'}"
        raise AttributeError(f"{self.form} equations have no '{name}'{hint}")

    # -- in symbols --------------------------------------------------------------------------------------------------

    @cached_property
    def residuals(self) -> tuple[Expr, ...]:
        """lhs − rhs of `equations` and `rows`, in that order."""
        sides: list[tuple[Any, Any]] = [(e.lhs, e.rhs) for e in (*self.derived, *self.rows)]
        return tuple(lhs - rhs for lhs, rhs in sides)

    @cached_property
    def nonlinear_law(self) -> bool:
        """Whether forces contain multipliers and are not affine in them."""
        return multiplier_forces.nonlinear(self.system)

    @cached_property
    def coefficients(self) -> tuple[sympy.Matrix, sympy.Matrix]:
        """(K, b) of K x = b with x the unknowns: K = ∂F/∂x, b = −F at x = 0. Nothing is expanded."""
        at_zero = Replacement(dict.fromkeys(self.unknowns, sympy.Integer(0)))
        F: Sequence[Any] = self.residuals
        slopes = [partial(x) for x in self.unknowns]
        K = [at_zero(d(f)) for f in F for d in slopes]
        at_rest: list[Any] = [at_zero(f) for f in F]
        return sympy.Matrix(len(F), len(self.unknowns), K), sympy.Matrix([-f for f in at_rest])

    @checked_keywords()
    def solve(self, *, simplify: bool = True, budget: float = display.BUDGET) -> dict[Symbol, Expr]:
        """Unknown → explicit expression in t, q, v: accelerations, pseudo-accelerations and Λ.

        With pseudo-velocities affine in q̇ everything is written in them; coordinates that a holonomic constraint fixes are
        replaced by their values (ρ = R + r) where that is shorter. `budget` is the effort for simplifications, about
        seconds but counted in operations, so that the same expressions come out in every run; the rest stays unsimplified.
        Redundant rows and rows nonlinear in the accelerations have no explicit solution and raise `FormNotApplicable`.
        """
        effort = WorkBudget(budget if simplify else 0.0)
        solution = self.explicit(effort.share(2))
        return display.shortest_solution(solution, self.system, effort) if simplify else solution

    def explicit(self, effort: WorkBudget) -> dict[Symbol, Any]:
        """Unknown → expression from the elimination; equal subexpressions are shared objects."""
        if self.nonlinear_law:
            raise FormNotApplicable("a force is nonlinear in the reactions; .acceleration(t, q, v) finds them")
        if nonlinear_rows(self.system):
            raise FormNotApplicable("the accelerations enter nonlinearly; .acceleration(t, q, v) finds Gauss's minimum")
        K, b = self.coefficients
        pseudo = self.objects.get("pseudo")
        in_pseudo = pseudo.inside if pseudo is not None and pseudo.affine else lambda e: e
        K, b = K.applyfunc(in_pseudo), b.applyfunc(in_pseudo)
        solution: dict[Symbol, Any] = dict(symbolic_solve.solve(K, b, self.unknowns, effort))
        insert = Replacement(solution, evaluate=sum(map(tidy.length, solution.values())) <= SOLUTION_SYMBOLS)
        for symbol, formula in zip(multiplier_symbols(self.system), self.multipliers, strict=True):
            if symbol not in solution:
                solution[symbol] = insert(in_pseudo(formula))
        shared = tidy.Sharing()
        return {x: shared(value) for x, value in solution.items()}

    # -- in numbers --------------------------------------------------------------------------------------------------

    def acceleration(
        self, t: float, q: ArrayLike, v: ArrayLike, parameters: Mapping[Any, float] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(a, lam), shapes (nv,) and (rows,), from the form's own equations in float64.

        t in s, q (nq,), v (nv,); parameters by symbol or name. `SingularConfiguration` where a is not determined.
        """
        values = {time: finite("t", t), **vector("q", self.system.positions, q)}
        values |= vector("v", self.system.velocities, v)
        values |= parameter_values(self.system, parameters)
        values |= recorded_values(values)
        values |= prescribed_values(self.system, parameters, values)
        a, lam = self._evaluate(values, FLOAT)
        return np.array(a, dtype=np.float64), np.array(lam, dtype=np.float64)

    def evaluate(self, state: Mapping[Symbol, Any], precision: int = 50) -> tuple[list[Any], list[Any]]:
        """(a, lam) in `precision` digits. `state` gives t, q, v and the parameters as exact or multiprecision numbers.

        The state has to satisfy redundant constraints to half of the digits for their redundancy to be detected.
        """
        numbers = arithmetic(precision)
        return self._evaluate(state_in(numbers, state), numbers)

    def solution(self, state: Mapping[Symbol, Any], precision: int = 50) -> Values:
        """The state with the values of `definitions` and of all unknowns, in `precision` digits."""
        numbers = arithmetic(precision)
        return self._solution(state_in(numbers, state), numbers)

    def read(self, solution: Values, precision: int = 50) -> tuple[list[Any], list[Any]]:
        """(a, lam) of a `solution` of the same precision."""
        return self._read(solution, arithmetic(precision))

    def _evaluate(self, values: Values, numbers: Arithmetic) -> tuple[list[Any], list[Any]]:
        return self._read(self._solution(values, numbers), numbers)

    def _read(self, values: Values, numbers: Arithmetic) -> tuple[list[Any], list[Any]]:
        return [values[a] for a in self.system.accelerations], self.route.recover(self, self._multiplier_tape, values, numbers)

    def _solution(self, values: Values, numbers: Arithmetic) -> Values:
        values = self._defined(values, numbers)
        try:
            if numbers is FLOAT:
                self._require_regular(values)
            return values | self.route.solve_at(self, values, numbers)
        except Undetermined as error:
            state = {str(s): float(x) for s, x in values.items() if s == time or s in self.system._jets}
            raise SingularConfiguration(f"{self.form}: {error}", time=state.get("t"), state=state) from None

    def _require_regular(self, values: Values) -> None:
        """Raises at a state where only rounding keeps the rows, or the form's own velocities, from losing rank."""
        lost = self._row_block.lost(values) if self._row_block is not None else 0
        if lost and lost > self._usual_nullity(values):
            raise Undetermined("the constraint rows lose rank here, so the motion is not determined")
        if self.solved_block is not None and not lost:
            self.solved_block.require_regular(values)

    @cached_property
    def _row_block(self) -> SolvedBlock | None:
        """∂r/∂a of the constraints, where it is free of accelerations."""
        rows, a = acceleration_rows(self.system), self.system.accelerations
        if not rows or nonlinear_rows(self.system):
            return None
        return SolvedBlock(self.system, sympy.Matrix(len(rows), len(a), [slope for r in rows for slope in gradient(r, a)]))

    def _solve_linear(self, values: Values, numbers: Arithmetic) -> Values:
        """x of K x = b at a state; where Λ is not unique (redundant rows), the one of least norm."""
        x, nullity = self._solve_with_nullity(values, numbers)
        if nullity and nullity > self._usual_nullity(values):
            raise Undetermined("the constraint rows lose rank here, so the motion is not determined")
        return dict(zip(self.unknowns, x, strict=True))

    def _solve_with_nullity(self, values: Values, numbers: Arithmetic) -> tuple[list[Any], int]:
        n = len(self.unknowns)
        flat = self._tape(values, numbers)
        m = len(flat) // (n + 1)
        K, b = [flat[i * n : (i + 1) * n] for i in range(m)], flat[m * n :]
        unique = [x not in self._free for x in self.unknowns]
        return solve_with_nullity(K, b, unique, numbers.tolerance, [str(s) for s in self.unknowns])

    def _usual_nullity(self, values: Values) -> int:
        """The number of Λ left undetermined by redundant constraints at other states with the same parameters."""
        key = tuple(float(values[p]) for p in self.system.parameters)
        if key not in self._nullities:
            at = {s: x for s, x in values.items() if s not in self.definitions}
            self._nullities[key] = usual_nullity(self.system, at, self._nullity_at)
        return self._nullities[key]

    def _nullity_at(self, state: Values, numbers: Arithmetic) -> int:
        return self._solve_with_nullity(self._defined(state, numbers), numbers)[1]

    def _defined(self, values: Values, numbers: Arithmetic) -> Values:
        """The state with the values of `definitions`."""
        values = dict(values)
        for symbol, tape in self._definition_tapes:
            values[symbol] = tape(values, numbers)[0]
        return values

    @cached_property
    def _nullities(self) -> dict[tuple[float, ...], int]:
        return {}

    @cached_property
    def _free(self) -> frozenset[Symbol]:
        return frozenset(x for x in self.unknowns if isinstance(x, Multiplier))

    @cached_property
    def _tape(self) -> Tape:
        K, b = self.coefficients
        return Tape([*K, *b])

    @cached_property
    def _definition_tapes(self) -> list[tuple[Symbol, Tape]]:
        return [(s, Tape([value])) for s, value in self.definitions.items()]

    @cached_property
    def _multiplier_tape(self) -> Tape:
        return Tape(self.multipliers)

    # -- display -------------------------------------------------------------------------------------------------------

    @checked_keywords()
    def latex(self, style: str = "simplified", *, closing: bool = False, environment: str = "aligned") -> str:
        """LaTeX; style is "simplified", "plain" (as derived) or "solved". `closing` shows rows that the kinematics imply.

        The environment "aligned" is used inside math mode and does not break; "align*" is a display of its own and may break
        across pages.
        """
        return display.latex(self, style, closing, environment)

    @checked_keywords()
    def text(self, style: str = "simplified", *, closing: bool = False) -> str:
        """Unicode text; style is "simplified", "plain" (as derived) or "solved". `closing` as in `latex`."""
        return display.text(self, style, closing)

    def steps(self) -> WorkedSteps:
        """The derivation step by step, as in the form's source: `print`, notebooks, `.text()`, `.latex()`, `.markdown()`."""
        return all_steps(self, self.route.worked(self))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Equations {self.form} of {self.system.name}: {len(self.derived)} in {len(self.unknowns)} unknowns>"

    @checked_keywords()
    def report(self, path: Any, *, title: str | None = None) -> Any:
        """Writes the model and these equations, plain, simplified and solved, to one page (.html), and returns its path."""
        return delegate("Equations.report")(self, path, title=title)

    def _repr_latex_(self) -> str:
        return display.notebook(self)
