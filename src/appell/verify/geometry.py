"""Admissible motions as symbolic vector fields, their brackets, and the growth of their span.

    A(q) v = 0    ⇔    q̇ = Σ_i u_i X_i(q),        D_1 = span{X_i},    D_{s+1} = D_s + [X_i, D_s]

    growth vector (dim D_1, dim D_2, …): (2, 3) of a sleigh, (2, 3, 4) of a car, (2, 3, 5) of a ball on a plane

[X, Y] = (∂Y/∂q) X − (∂X/∂q) Y. Where dim D_∞ is the number of coordinates, any two configurations can be joined by admissible
motions (Rashevskii 1938, Chow 1939). The growth is that at almost every configuration; `at=` gives it at one, where it may be
slower (trailers at right angles: Jean 1996). Fields are derived in SymPy, the growth at a point on the graph.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Matrix

from appell import letters
from appell.errors import ConstraintError, FormNotApplicable, ModelError
from appell.forms.engine.derivation import gradient, restricted
from appell.forms.engine.display import simplified
from appell.forms.engine.pseudo import PseudoVelocities
from appell.jets import Prescribed, t
from appell.model import System
from appell.model.described import system_of
from appell.normal_form.manifold import residuals
from appell.reading import table_of
from appell.simulate.start import START_RESIDUAL, read
from appell.spelling import checked_keywords
from appell.verify.case import Case
from appell.verify.frobenius import GrowingSpan, State, affine_rows, flag, growth_at, nearby_states
from appell.verify.suggestion import best_pseudo

COMPONENT_EFFORT = 20_000.0
"""Operations spent on the simplification of a component."""
THIN_SPACE = r"\,"
LONGEST_FIELD = 4_000
"""Brackets of fields with more operations are not written out."""


@dataclass(frozen=True)
class VectorField:
    """X = Σ X_q ∂_q: its name, and coordinate → nonzero component."""

    name: str
    components: Mapping[Any, Expr]

    def __getitem__(self, coordinate: Any) -> Expr:
        """The component of a coordinate, by the symbol or its name."""
        by_name = {str(q): e for q, e in self.components.items()}
        return by_name.get(str(coordinate), sympy.Integer(0))

    def __str__(self) -> str:
        return f"{self.name} = {self._sum(letters.text, lambda q: f'∂_{letters.text(q)}', '·')}"

    def latex(self) -> str:
        direction = lambda q: rf"\partial_{{{letters.latex(q)}}}"
        name = re.sub(r"X(\d+)", r"X_{\1}", self.name)
        return f"{name} = {self._sum(letters.latex, direction, THIN_SPACE)}"

    def _sum(self, written: Any, direction: Any, times: str) -> str:
        terms: list[str] = []
        for q, e in self.components.items():
            text = written(e)
            negative = text.startswith(("−", "-")) and not isinstance(e, sympy.Add)
            factor = "" if abs(e) == 1 else text[1:].lstrip() if negative else f"({text})" if isinstance(e, sympy.Add) else text
            sign = ("−" if times == "·" else "-") if negative else "+"
            body = f"{factor}{times if factor else ''}{direction(q)}"
            terms.append(f" {sign} {body}" if terms else f"{sign if negative else ''}{body}")
        return "".join(terms) or "0"


@dataclass(frozen=True)
class AllowedMotions:
    """The result of `ap.geometry`. Prints as text, and in notebooks as formulas.

    velocities: u_i → its definition in the velocities of the system.
    fields: X_i, one for each u_i. brackets: those that extend the span, in order.
    growth: (dim D_1, dim D_2, …) at almost every configuration; growth_there: at the given one. If it ends below `reached`,
    longer brackets were not computed, and may or may not span more.
    dimension: of the configurations without constraints.
    left_out: number of fields too long for their brackets to be written out. The growth does not depend on them.
    """

    system: str
    coordinates: tuple[Any, ...]
    dimension: int
    velocities: Mapping[Any, Expr]
    fields: tuple[VectorField, ...]
    brackets: tuple[VectorField, ...]
    growth: tuple[int, ...]
    growth_there: tuple[int, ...] | None = None
    left_out: int = 0

    @property
    def reached(self) -> int:
        """Dimension of the configurations reachable from a start by admissible motions."""
        return self.growth[-1]

    @property
    def integrals(self) -> int:
        """The number of independent functions of the coordinates that are constant in every admissible motion."""
        return self.dimension - self.reached

    @property
    def sentence(self) -> str:
        """The growth as a sentence."""
        n, m = self.dimension, self.integrals
        constants = f"{m} function{'s' * (m > 1)} stay{'s' * (m == 1)} constant"
        if len(self.growth) == 1 and m:
            verdict = f"the fields are in involution: the constraints are holonomic, and {constants}"
        elif m:
            verdict = f"{self.reached} of {n} dimensions are reached: {constants}"
        else:
            verdict = f"all {n} dimensions are reached by allowed motions"
        if self.left_out:
            verdict += f" (brackets of {self.left_out} fields are too long to be written)"
        return f"growth {_vector(self.growth)}: {verdict}{self._sentence_there}"

    @property
    def _sentence_there(self) -> str:
        growth = self.growth_there
        if growth is None:
            return ""
        cut = f", as far as brackets of {len(growth)} fields tell" if growth[-1] < self.reached else ""
        return f"; growth {_vector(growth)} at the given configuration{cut}"

    def __str__(self) -> str:
        definitions = [f"  {u} = {letters.text(e)}" for u, e in self.velocities.items() if u != e]
        fields = [f"  {field}" for field in (*self.fields, *self.brackets)]
        return "\n".join([f"allowed motions of {self.system}", *definitions, *fields, f"  {self.sentence}"])

    def latex(self) -> str:
        """The fields and brackets as lines of LaTeX, aligned at the equals sign."""
        lines = [field.latex().replace(" = ", " &= ", 1) for field in (*self.fields, *self.brackets)]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_markdown_(self) -> str:
        return f"allowed motions of {html.escape(self.system)}\n\n$$\n{self.latex()}\n$$\n\n{self.sentence}"


def _vector(growth: Sequence[int]) -> str:
    return f"({', '.join(map(str, growth))})"


@checked_keywords()
def geometry(
    system: System,
    pseudo: Mapping[str, Any] | None = None,
    *,
    at: Mapping[Any, Any] | None = None,
    parameters: Mapping[Any, Any] | None = None,
) -> AllowedMotions:
    """The motions admitted by holonomic and linear velocity constraints, as vector fields with their brackets and growth.

    pseudo: name → expression in the velocities, one for each degree of freedom, as in `ap.forms.maggi`: the velocities u of
        q̇ = Σ u_i X_i, the inputs of a kinematic car, for instance. By default some of the velocities themselves.
    at: a configuration, symbol → value, at which the growth is computed too; those not named are 0. Within about 1e-5 of a
        singular configuration it counts as singular; one where the constraints lose rank raises.
    parameters: by symbol or name; those not given are random, so that the growth is generic.
    """
    system = system_of(system, "ap.geometry").symbolic()
    _refuse_others(system)
    case = Case.of(system, table_of(parameters, "parameters="))
    if not case.states:
        raise ConstraintError(f"no state of {system.name} satisfies its constraints: ap.diagnose(system) tells why")
    chosen = _velocities(case, pseudo)
    if not chosen.speeds:
        raise FormNotApplicable(f"the constraints of {system.name} leave no motion: there are no fields")
    fields = _fields(system, chosen)
    dimension = flag(system, (), case.states[:3], case.p).unconstrained_dimension - 1  # a unit quaternion counts for three
    brackets, growth, left_out = _widened(case, fields, dimension)
    if left_out:  # then the growth comes from the graph, whose first field is d/dt
        growth = tuple(rank - 1 for rank in flag(system, affine_rows(system), case.states[:3], case.p).ranks)
    there = None if at is None else _growth_there(case, _state(case, at), len(fields), growth[-1])
    definitions = dict(zip(chosen.speeds, chosen.definitions, strict=True))
    shown = tuple(map(_shown, fields)), tuple(map(_shown, brackets))
    return AllowedMotions(system.name, tuple(system.coordinates), dimension, definitions, *shown, growth, there, left_out)


def _velocities(case: Case, pseudo: Mapping[str, Any] | None) -> PseudoVelocities:
    """The given velocities, or those that `ap.diagnose` suggests."""
    system = case.system
    if pseudo is None:
        suggested = best_pseudo(case) if system.constraints and system.holonomic_speeds else None
        return PseudoVelocities.suggested(system) if suggested is None else PseudoVelocities.of(system, suggested[1])
    chosen = PseudoVelocities.of(system, pseudo)
    if not chosen.affine or any(e != 0 for e in chosen.h0):
        raise ModelError("pseudo= of ap.geometry takes expressions that are linear in the velocities, without a free term")
    return chosen


def _refuse_others(system: System) -> None:
    """Raises for constraints that are not Pfaffian, contain time or have a free term."""
    pfaffian = affine_rows(system)
    zero_velocities = dict.fromkeys(system.velocities, sympy.Integer(0))
    for i, (c, f) in enumerate(zip(system.constraints, system.residuals, strict=True)):
        if i not in pfaffian:
            why = "is not linear in the velocities alone"
        elif _timed(f):
            why = "depends on time"
        elif c.order == 1 and restricted(f, zero_velocities) != 0:
            why = "has a term without velocities"
        else:
            continue
        raise FormNotApplicable(
            f"constraint '{c.name}' {why}: the motions that it allows are no span of vector fields; ap.diagnose(system) tells"
            " what they reach"
        )


    for q, rate in system.rates.items():
        if _timed(rate) or restricted(rate, zero_velocities) != 0:
            why = "depends on time or has a term without speeds"
            raise FormNotApplicable(f"the rate of {q} {why}: motions are no span of vector fields; use ap.diagnose(system)")


def _timed(e: Expr) -> bool:
    return any(s == t or isinstance(s, Prescribed) for s in e.free_symbols)


@dataclass(frozen=True, eq=False)
class _LetterField:
    """A symbolic field, (n,), and the two terms whose difference it is, whose size sets the level of rounding."""

    name: str
    q: tuple[Any, ...]
    value: tuple[Expr, ...]
    minuend: tuple[Expr, ...]
    subtrahend: tuple[Expr, ...]


def _fields(system: System, chosen: PseudoVelocities) -> list[_LetterField]:
    """∂q̇/∂u_i, simplified."""
    q, rates = tuple(system.coordinates), chosen.rates
    slopes = [gradient(rates[x], chosen.speeds) for x in q]
    fields = []
    for i in range(len(chosen.speeds)):
        value = tuple(_short(row[i]) for row in slopes)
        fields.append(_LetterField(f"X{i + 1}", q, value, value, value))
    return fields


def _short(e: Any) -> Any:
    return simplified(e, COMPONENT_EFFORT)


def _bracket(X: _LetterField, Y: _LetterField) -> _LetterField:
    """[X, Y] = (∂Y/∂q) X − (∂X/∂q) Y."""
    dot = lambda row, column: sympy.Add(*(a * b for a, b in zip(row, column, strict=True)))
    minuend = tuple(dot(gradient(y, X.q), X.value) for y in Y.value)
    subtrahend = tuple(dot(gradient(x, X.q), Y.value) for x in X.value)
    value = tuple(_short(a - b) for a, b in zip(minuend, subtrahend, strict=True))
    return _LetterField(f"[{X.name}, {Y.name}]", X.q, value, minuend, subtrahend)


def _widened(case: Case, fields: list[_LetterField], dimension: int) -> tuple[list[_LetterField], tuple[int, ...], int]:
    """The brackets that leave the span of the fields before them, the growth, and the number of fields that were too long."""
    states = case.states[:3]
    points = [GrowingSpan() for _ in states]
    newest = [field for field in fields if _leaves(case, field, states, points)]
    growth, brackets, left_out = [_dimension(points)], list[_LetterField](), 0
    while newest and growth[-1] < dimension:
        short = [field for field in newest if sum(map(sympy.count_ops, field.value)) <= LONGEST_FIELD]
        left_out += len(newest) - len(short)
        pairs = [(X, Y) for Y in short for X in fields if X.name != Y.name]
        if len(growth) == 1:  # [X, Y] = −[Y, X]
            pairs = [(X, Y) for X, Y in pairs if fields.index(X) < fields.index(Y)]
        newest = [field for X, Y in pairs if _leaves(case, field := _bracket(X, Y), states, points)]
        brackets += newest
        growth += [_dimension(points)] if newest else []
    return brackets, tuple(growth), left_out


def _dimension(points: Sequence[GrowingSpan]) -> int:
    return max(len(point.vectors) for point in points)


def _leaves(case: Case, field: _LetterField, states: Sequence[State], points: Sequence[GrowingSpan]) -> bool:
    """Whether a field leaves the current span at some state."""
    if all(e == 0 for e in field.value):
        return False
    fn = case.form.lowered_table(Matrix([field.value, field.minuend, field.subtrahend]).T)
    nearby = lambda time, q, v: lambda: (fn(time, q_near, v, case.p)["value"] for (q_near,) in nearby_states(q))
    outside = []
    for state, point in zip(states, points, strict=True):
        value = fn(*state, case.p)["value"]
        outside.append(bool(np.isfinite(value).all()) and point.add(value, nearby(*state)))
    return any(outside)


def _state(case: Case, at: Mapping[Any, Any]) -> State:
    """The configuration, on the constraints."""
    q, v = read(case.system, at)
    residual = residuals(case.form, 0.0, q, v, case.p)
    if not residual.relative < START_RESIDUAL:
        raise ConstraintError(f"at= is not on the constraints of {case.system.name}: ap.consistent(system, …) mends it")
    return 0.0, np.asarray(q), np.asarray(v)


def _growth_there(case: Case, state: State, fields: int, reached: int) -> tuple[int, ...]:
    """The growth at a configuration where the fields are independent."""
    growth = growth_at(case.system, affine_rows(case.system), state, case.p, reached)
    if growth[0] > fields:
        raise ConstraintError(
            f"the constraints of {case.system.name} lose rank at the configuration of at=: they allow {growth[0]} directions"
            f" there, {fields} elsewhere, and brackets have no meaning"
        )
    return growth


def _shown(field: _LetterField) -> VectorField:
    return VectorField(field.name, {q: e for q, e in zip(field.q, field.value, strict=True) if e != 0})


__all__ = ["AllowedMotions", "VectorField", "geometry"]
