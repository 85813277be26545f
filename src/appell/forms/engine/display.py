"""Display of equations: LaTeX, Unicode text, notebooks.

Three styles: "plain" shows the equations as they were derived; "simplified", the default, collects them by velocities,
accelerations and multipliers, uses |q| = 1 of unit quaternions, and simplifies each term on its own; "solved" gives the
accelerations and reactions, with names for shared parts where these are long. Long expressions are never expanded, and
simplification stops when its budget of operations is spent: the equations of six coordinates print in seconds, with the same
text in every run. Rows that only close the equations (π̈ = d/dt of (5), f̈ = 0 besides q̇ = h π̇ + h_0) are shown with
`closing=True`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy
from sympy import Eq, Expr

from appell import tidy
from appell.errors import ModelError
from appell.forms.engine.absolute import SignsAbsorbed, has_signs
from appell.forms.engine.added_names import require_distinct
from appell.forms.engine.book_fractions import divided_by_terms, like_terms_joined, upright
from appell.forms.engine.constant_inertia import constant_terms, fixed_coordinates, on_constraints
from appell.forms.engine.foreign_functions import is_rational, simplified_by_sympy
from appell.forms.engine.mass_rows import LONG_ROW, with_masses
from appell.forms.engine.shared_names import named
from appell.forms.engine.special_states import has_new_poles
from appell.forms.engine.work_budget import (
    COLLECT,
    WORK_OF_ATTEMPT,
    WORK_OF_FACTORING,
    WORK_OF_PRODUCTS,
    WORK_OF_REGROUPING,
    WORK_OF_TIDYING_INSIDE,
    WorkBudget,
)
from appell.jets import QuaternionComponent
from appell.letters import text as _text
from appell.letters.formula_rows import Statement, aligned, displayed
from appell.reading import shown
from appell.remember import remembered

if TYPE_CHECKING:
    from appell.forms.base import Equations
    from appell.model import System

STYLES = ("plain", "simplified", "solved")
OBJECT_SYMBOLS = 12
"""Number of symbols from which S, γ and other objects of a form are simplified on access."""
INSIDE_OUT_SUBEXPRESSIONS = 60
"""Number of distinct subexpressions from which an expression is simplified from the inside before it is expanded."""
INSIDE_OUT_TERMS = 400
"""Number of expanded terms from which this is done; always with a sum in a denominator."""
NESTED_CONSIDERED = 2
"""An expression is tried in nested form up to this multiple of its expanded length."""
EXPANSION_CONSIDERED = 1.5
"""The expanded form is considered up to this multiple of the best length."""
MOST_EXPANDED_TERMS = 3_000
"""Largest number of terms of an expression that is expanded for display."""
CANCELLED_CHARACTERS = 400
"""Length of an equation, in characters, up to which common terms of both sides are looked for."""
LONG_DERIVED_EQUATION = 1_500
"""Length of a derived equation, in characters, from which its mass is looked for before it is simplified."""
USUAL_ANGLES = 4
"""Number of angles up to which expansion has its usual cost."""
SOLUTION_CHARACTERS = 5_000
"""Length, in characters, from which a solution is shown with names for shared parts."""
NAMED_IF_HALF_AS_LONG = 60_000
"""Length, in characters, from which equations are shown so too, if that makes them half as long."""
ALWAYS_NAMED_CHARACTERS = 300_000
"""Length, in characters, from which equations always are: written out, a closed chain of 12 links would fill a hundred
million."""
BUDGET = 3.0
"""Effort (about seconds, counted in operations) for the equations of motion in one display; everything else gets a third."""


class Memory:
    """A cache of parsed and factored expressions that share parts.

    `signs`: whether a sum takes the sign that it has in another expression, 1/(b − a) for both. `regroups`: whether results are
    shown directly, so that regrouping their terms is worthwhile.
    """

    def __init__(self, signs: bool = True, regroups: bool = True) -> None:
        self.regroups = regroups
        self._read: dict[Any, Any] = {}
        self._inner: dict[tidy.Sum, tidy.Sum] = {}
        self._factoring = tidy.Factoring() if signs else None

    def read(self, expr: Any, parts: set[Any]) -> tuple[tidy.Sum, Any]:
        """The same as `tidy.read`, cached except for expressions with floats."""
        return tidy.read(expr, None if any(e.is_Float for e in parts) else self._read)

    def inside_out(self, whole: tidy.Sum, floats: bool) -> tidy.Sum:
        """The same as `tidy.inside_out`, cached except with floats."""
        return tidy.inside_out(whole, floats, None if floats else self._inner)

    def factoring(self, floats: bool) -> tidy.Factoring:
        """The common factoring of exact expressions, or a new one."""
        return tidy.Factoring(exact=not floats) if floats or self._factoring is None else self._factoring


def simplified(expr: Expr, effort: float | WorkBudget, collected: bool = False, memory: Memory | None = None) -> Expr:
    """An equal expression that is not longer: small terms simplified one by one until the effort is spent.

    The effort is counted in operations, so that the result is the same in every run. `collected`: the expression comes from
    `tidy.collected`, so that expanding again helps only for unit quaternions.
    """
    return _simplified(expr, WorkBudget.of(effort), collected, tidy.parts(expr), memory or Memory())


def shortest_solution(values: Mapping[Any, Any], system: System, effort: WorkBudget) -> dict[Any, Any]:
    """Each value simplified, with or without substituting coordinates fixed by holonomic rows, whichever is shorter."""
    reduced = on_constraints(values, fixed_coordinates(system))
    if reduced is None:
        return simplified_values(values, effort)
    variants = [simplified_values(values, effort.share(2)), simplified_values(reduced, effort)]
    return min(variants, key=lambda variant: sum(map(tidy.characters, variant.values())))


def simplified_values(values: Mapping[Any, Any], effort: WorkBudget) -> dict[Any, Any]:
    """Each value simplified with a part of the effort; shared parts are parsed once."""
    memory, count = Memory(), len(values)

    def short(i: int, value: Any) -> Any:
        result = simplified(value, effort.share(count - i), memory=memory)
        if result is value or not has_new_poles(value, result):
            return result
        split = divided_by_terms(result)
        return value if has_new_poles(value, split) else split

    return {x: short(i, value) for i, (x, value) in enumerate(values.items())}


def _simplified(expr: Expr, effort: WorkBudget, collected: bool, parts: set[Any], memory: Memory) -> Expr:
    """`simplified`, with the different subexpressions of the expression as `parts`."""
    size = len(parts)
    if not effort.spend(size) or tidy.is_product(expr):
        return expr
    term_cost = COLLECT * max(1, _angles(parts) // USUAL_ANGLES) ** 2  # every pair of angles is examined
    limit = min(MOST_EXPANDED_TERMS, effort.remaining // term_cost)
    unchanged, number = memory.read(expr, parts)
    floats = number is not tidy.rational
    short, term_count = unchanged, tidy.count(unchanged, limit)
    grows = term_count > INSIDE_OUT_TERMS or _has_denominators(parts)
    if size > INSIDE_OUT_SUBEXPRESSIONS and grows and effort.spend(WORK_OF_TIDYING_INSIDE * size):
        short = memory.inside_out(unchanged, floats)
        term_count = tidy.count(short, limit)
    has_quaternions = any(isinstance(e, QuaternionComponent) for e in parts)
    is_shortest = collected and short is unchanged and term_count <= tidy.EXPANDED_TERM_LIMIT and not has_quaternions
    if not is_shortest and term_count <= limit and effort.spend(term_cost * term_count + WORK_OF_ATTEMPT):
        short = tidy.shorter(short, limit, True, floats)
    forms = [unchanged, short]
    if effort.spend(WORK_OF_FACTORING * size):
        factoring = memory.factoring(floats)
        if short is not unchanged and unchanged.size <= NESTED_CONSIDERED * short.size:
            forms.append(factoring.of(unchanged))
        if short.size <= EXPANSION_CONSIDERED * min(form.size for form in forms):
            forms.append(factoring.of(short))
    best = min(forms, key=lambda form: form.size).expression(number)
    if not is_rational(parts):
        terms: list[Any] = [simplified_by_sympy(term, effort) for term in sympy.Add.make_args(best)]
        best = min(best, simplified_by_sympy(sympy.Add(*terms), effort), key=tidy.characters)
    best = _with_products(like_terms_joined(best), effort)
    return upright(_regrouped(best, effort) if memory.regroups else best)


def _with_products(expr: Any, effort: WorkBudget) -> Any:
    """Sums of sines and cosines as products where that is shorter: cos⁴ − cos 2θ is sin⁴."""
    if not expr.has(sympy.sin, sympy.cos) or not effort.spend(WORK_OF_PRODUCTS * tidy.length(expr)):
        return expr
    return min(expr, tidy.with_wave_products(expr), key=tidy.characters)


def _regrouped(expr: Any, effort: WorkBudget) -> Any:
    return tidy.regrouped(expr) if effort.spend(WORK_OF_REGROUPING * tidy.length(expr)) else expr


def _angles(parts: set[Any]) -> int:
    """Different arguments of sines and cosines."""
    return len({e.args[0] for e in parts if isinstance(e, sympy.sin | sympy.cos)})


def _has_denominators(parts: set[Any]) -> bool:
    """Whether a denominator contains a sum, or a trigonometric function of one."""
    bases = [e.base for e in parts if e.is_Pow and e.exp.is_Integer and e.exp < 0]
    return any(x.is_Add or (x.args and not x.args[0].is_Symbol) for x in bases)


def lines(equations: Equations, style: str, closing: bool = False) -> list[Eq]:
    """The equations to show, in order: of motion, constraints, kinematics; or the solution. Cached by style."""
    if style not in STYLES:
        raise ModelError(f"style is one of {', '.join(STYLES)}; not {shown(style)}")
    require_distinct(equations)
    rows = _find_lines(equations, style, closing)
    return list(map(SignsAbsorbed().equation, rows)) if has_signs(equations.system) else rows


def _characters(rows: list[Eq]) -> int:
    return sum(tidy.characters(side) for e in rows for side in (e.lhs, e.rhs))


def _with_names(rows: list[Eq], equations: Equations) -> list[Eq]:
    """The lines to show, preceded by names for shared parts."""
    sides: dict[Any, Any] = {sympy.Dummy(): side for e in rows for side in (e.lhs, e.rhs)}
    names, short = named(sides, (*equations.unknowns, *equations.definitions, *equations.system.parameters))
    values = list(short.values())
    pairs = [*names.items(), *zip(values[::2], values[1::2], strict=True)]
    return [Eq(lhs, rhs, evaluate=False) for lhs, rhs in pairs]  # type: ignore[misc]


@remembered
def _find_lines(equations: Equations, style: str, closing: bool) -> list[Eq]:
    equal = lambda lhs, rhs: Eq(lhs, rhs, evaluate=False)
    if style == "solved":
        return [equal(symbol, value) for symbol, value in _solution(equations, closing).items()]  # type: ignore[misc]
    further = [row for row in equations.rows if closing or not _closes(equations, row)]
    rows = [*equations.derived, *further, *equations.kinematics]
    if style == "plain":
        return _with_names(rows, equations) if _characters(rows) > ALWAYS_NAMED_CHARACTERS else rows
    if _characters(rows) > ALWAYS_NAMED_CHARACTERS:
        return _simplified_lines(_with_names(rows, equations), 0, BUDGET)  # named parts are short and quickly simplified
    collected = len(further) if equations.collected else 0
    result = [*motion_lines(equations), *_simplified_lines([*further, *equations.kinematics], collected, BUDGET / 3)]
    if (size := _characters(result)) > NAMED_IF_HALF_AS_LONG:
        short = _with_names(rows, equations)
        if 2 * _characters(short) < size:
            return _simplified_lines(short, 0, BUDGET)
    return result


def motion_lines(equations: Equations) -> list[Eq]:
    """The equations of motion, long ones with one acceleration as M u̇ + ½ Ṁ u = F where that is shorter, M after them."""
    longest = [k for k, e in enumerate(equations.derived) if _characters([e]) > LONG_DERIVED_EQUATION]
    masses = with_masses(equations, longest) if longest and not equations.shortest else {}
    if masses and len(masses) == len(longest):  # avoids useless simplification
        others = [e for k, e in enumerate(equations.derived) if k not in masses]
        simplified_others = iter(_upright_lines(_with_constants(others, equations)))
        rows = [e if k in masses else next(simplified_others) for k, e in enumerate(equations.derived)]
    else:
        rows = list(of_motion(equations))
        long = [k for k, e in enumerate(rows) if _characters([e]) > LONG_ROW]
        masses = with_masses(equations, long) if long else {}
    pairs = _simplified_lines([line for pair in masses.values() for line in pair], 0, BUDGET)
    mass_rows: list[Eq] = []
    for k, row, mass in zip(masses, pairs[::2], pairs[1::2], strict=True):
        if _characters([row, mass]) < _characters([rows[k]]):
            rows[k] = row
            mass_rows.append(mass)
    return [*rows, *mass_rows]


def _solution(equations: Equations, closing: bool) -> dict[Any, Any]:
    """Unknown → value, simplified; long ones preceded by names for shared parts; for very long ones the named parts are
    simplified one by one."""
    without_closing = lambda values: {x: value for x, value in values.items() if closing or not _is_closing(equations, x)}
    effort = WorkBudget(BUDGET)
    explicit = equations.explicit(effort.share(2))
    solution = without_closing(explicit)
    if sum(map(tidy.characters, solution.values())) <= ALWAYS_NAMED_CHARACTERS:
        solution = without_closing(shortest_solution(explicit, equations.system, effort))
        if sum(map(tidy.characters, solution.values())) <= SOLUTION_CHARACTERS:
            return solution
        names, short = named(solution, equations.unknowns)
        return {**names, **short}
    names, short = named(solution, equations.unknowns)
    lines = [Eq(x, value, evaluate=False) for x, value in {**names, **short}.items()]
    return {e.lhs: e.rhs for e in _simplified_lines(lines, 0, BUDGET / 2)}  # type: ignore[arg-type]


@remembered
def of_motion(equations: Equations) -> tuple[Eq, ...]:
    """Only the equations of motion, simplified: the first part of `lines`."""
    if equations.shortest:
        return tuple(map(_cancelled, _regrouped_lines(equations.derived)))
    rows = _upright_lines(_with_constants(equations.derived, equations))
    return tuple(map(SignsAbsorbed().equation, rows) if has_signs(equations.system) else rows)


@remembered
def shown_object(equations: Equations, name: str) -> Any:
    """An object of a form on access: long expressions, also in tables, are simplified; others are as derived."""
    effort, memory = WorkBudget(BUDGET), Memory(signs=False)

    def short(x: Any) -> Any:
        if isinstance(x, sympy.MatrixBase):
            return x.applyfunc(short)
        if type(x) is dict:
            return {key: short(value) for key, value in x.items()}
        if not isinstance(x, Expr) or tidy.length(x) <= OBJECT_SYMBOLS:
            return x
        return min(x, simplified(x, effort, memory=memory), key=tidy.characters)

    return short(equations.objects[name])


def _regrouped_lines(derived: Sequence[Eq]) -> list[Any]:
    """Lines with their terms regrouped where that is shorter."""
    effort = WorkBudget(BUDGET)
    return [Eq(_regrouped(e.lhs, effort), _regrouped(e.rhs, effort), evaluate=False) for e in derived]


def _with_constants(derived: Sequence[Eq], equations: Equations) -> list[Eq]:
    """Lines simplified; constant coefficients of accelerations are separated where that is shorter: (A + A₁) β̈ + …"""
    collected = len(derived) if equations.collected else 0
    unseparated = [_cancelled(e) for e in _simplified_lines(derived, collected, BUDGET)]
    sides = [constant_terms(side, equations.unknowns) for e in derived for side in (e.lhs, e.rhs)]
    if all(constant == 0 for constant, _ in sides):
        return unseparated
    pairs = zip(sides[::2], sides[1::2], strict=True)
    rest: list[Any] = _simplified_lines([Eq(left, right, evaluate=False) for (_, left), (_, right) in pairs], collected, BUDGET)  # type: ignore[misc]
    constant = iter([constant for constant, _ in sides])
    separated: Any = [Eq(sympy.Add(next(constant), e.lhs), sympy.Add(next(constant), e.rhs), evaluate=False) for e in rest]
    return [min(pair, key=lambda e: _characters([e])) for pair in zip(unseparated, separated, strict=True)]


def _cancelled(e: Any) -> Any:
    """Cancels common terms of both sides, if that is shorter by a quarter: centrifugal terms of T and V."""
    if e.lhs == 0 or e.rhs == 0 or (size := _characters([e])) > CANCELLED_CHARACTERS:
        return e
    terms = [set(sympy.Add.make_args(sympy.expand(side))) for side in (e.lhs, e.rhs)]
    if terms[0].isdisjoint(terms[1]):
        return e
    left, right = (sympy.Add(*(side - opposite)) for side, opposite in (terms, terms[::-1]))
    (short,) = _simplified_lines([Eq(left, right, evaluate=False)], 0, 0.3)  # type: ignore[list-item]
    return short if 4 * _characters([short]) < 3 * size else e


def _upright_lines(rows: Sequence[Eq]) -> list[Any]:
    """Lines with a zero side have it on the right."""
    return [Eq(e.rhs, e.lhs, evaluate=False) if e.lhs == 0 else e for e in rows]


class Displayed:
    """A descriptor: equations of motion are set as derived and read as displayed."""

    def __get__(self, instance: Any, owner: type | None = None) -> tuple[Eq, ...]:
        if instance is None:
            raise AttributeError("equations")  # a field without a default
        return of_motion(instance)

    def __set__(self, instance: Any, value: tuple[Eq, ...]) -> None:
        instance.__dict__["derived"] = tuple(value)


def _simplified_lines(rows: Sequence[Eq], collected: int, budget: float) -> list[Eq]:
    """Both sides simplified, the first `collected` lines being collected; short lines leave their effort to the longer ones."""
    effort, memory, sides = WorkBudget(budget), Memory(signs=False), [side for e in rows for side in (e.lhs, e.rhs)]
    parts = [tidy.parts(side) for side in sides]
    for finished, i in enumerate(sorted(range(len(sides)), key=lambda i: len(parts[i]))):
        share = effort.share(len(sides) - finished)
        sides[i] = _simplified(sides[i], share, i < 2 * collected, parts[i], memory)  # type: ignore[arg-type]
        effort.remaining += share.remaining
    return [Eq(lhs, rhs, evaluate=False) for lhs, rhs in zip(sides[::2], sides[1::2], strict=True)]  # type: ignore[misc]


def _closes(equations: Equations, row: Eq) -> bool:
    """Whether a row is implied by the kinematics: π̈ as a derivative, or f̈ = 0 besides q̇ = h π̇ + h_0."""
    if row in equations.objects.get("implied", ()):
        return True
    pseudo = equations.objects.get("pseudo")
    if pseudo is None or not pseudo.affine:
        return False
    return row.lhs in pseudo.accelerations or (row.rhs == 0 and row.lhs in pseudo.rows.second)


def _is_closing(equations: Equations, unknown: object) -> bool:
    """Whether an acceleration follows from pseudo-accelerations by the kinematics, or is a name for a part of one."""
    if unknown in equations.objects.get("names", ()):
        return True
    pseudo = equations.objects.get("pseudo")
    if pseudo is None or not pseudo.affine:
        return False
    solved = set(equations.unknowns) >= set(pseudo.accelerations)  # Maggi's equations are solved for q̈ themselves
    return solved and unknown in equations.system.accelerations and unknown not in pseudo.accelerations


def latex(equations: Equations, style: str = "simplified", closing: bool = False, environment: str = "aligned") -> str:
    """An `aligned` environment, one equation per line; sums wider than the page continue on the next line."""
    return aligned([Statement(e.lhs, e.rhs) for e in lines(equations, style, closing)], environment)


def text(equations: Equations, style: str = "simplified", closing: bool = False) -> str:
    """One equation per line in Unicode, after a heading with the provenance."""
    heading = f"{equations.form} equations of {equations.system.name}, {equations.provenance}"
    return "\n".join([heading, *(f"  {_text(e.lhs)} = {_text(e.rhs)}" for e in lines(equations, style, closing))])


def notebook(equations: Equations) -> str:
    """The notebook display: simplified equations as displayed formulas."""
    return displayed([Statement(e.lhs, e.rhs) for e in lines(equations, "simplified")])
