"""Worked steps: the derivation from the energies of a system to its equations, as in a textbook.

`equations.steps()` begins with the given data, goes through the steps of the form (`Form.worked`), and ends with the equations.
Each step has a title, its rule and one line for each coordinate, velocity or body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy
from sympy import Expr, Symbol

from appell.forms.engine import display
from appell.forms.engine.derivation import partial, restricted, time_derivation
from appell.forms.engine.system_terms import directions, generalized_forces, kinematics_of
from appell.forms.engine.work_budget import WorkBudget
from appell.letters import latex, letter, text
from appell.letters.formula_rows import Statement, aligned
from appell.model import RigidBody, System
from appell.reading import truth
from appell.typeset import latex_text

if TYPE_CHECKING:
    from appell.forms.base import Equations

STEP_BUDGET = 1.0
"""Effort (about seconds, counted in operations) for the simplification of all lines of one step."""


@dataclass(frozen=True)
class LeftSide:
    """A left side that is not an expression: ∂T/∂θ̇."""

    latex: str
    text: str


NO_RULE = LeftSide("", "")
"""For steps that need no rule beyond their title."""


@dataclass(frozen=True)
class Line:
    """left = right; left is a `LeftSide` or an expression, right an expression, several in brackets (a vector), or a matrix."""

    left: Any
    right: Any


@dataclass(frozen=True)
class Stage:
    """One step of a derivation: its title, the rule in LaTeX and in Unicode, and its lines."""

    title: str
    rule: LeftSide
    lines: tuple[Line, ...]


class WorkedSteps(Sequence[Stage]):
    """The steps of a derivation, for `print`, notebooks, LaTeX and handouts."""

    def __init__(self, equations: Equations, steps: Iterable[Stage]):
        self.equations = equations
        self._steps = tuple(step for step in steps if step.lines)

    def __getitem__(self, index: Any) -> Any:
        return self._steps[index]

    def __len__(self) -> int:
        return len(self._steps)

    def rows(self, step: Stage, *, blank: bool = False) -> list[str]:
        """Each line of a step as an `aligned` environment; `blank` leaves its right side out."""
        return [aligned([statement]) for statement in _statements(step, blank)]

    def text(self, *, blank: bool = False) -> str:
        """Unicode text; `blank` leaves the right sides out, for an exercise."""
        blank, lines = truth(blank, "blank="), []
        for number, step in enumerate(self, 1):
            lines.append(f"{number}. {step.title}" + (f": {step.rule.text}" if step.rule.text else ""))
            lines += [f"  {_line_text(line, blank and number > 1)}" for line in step.lines]
        return "\n".join(lines)

    def latex(self, *, blank: bool = False) -> str:
        """LaTeX for a document: a paragraph and an `align*` for each step; `blank` leaves the right sides out."""
        blank, paragraphs = truth(blank, "blank="), []
        for number, step in enumerate(self, 1):
            rule = f" ${step.rule.latex}$" if step.rule.latex else ""
            body = aligned(_statements(step, blank and number > 1), "align*")
            paragraphs.append(f"\\paragraph{{{number}. {latex_text(step.title)}.}}{rule}\n{body}")
        return "\n\n".join(paragraphs)

    def markdown(self, *, blank: bool = False) -> str:
        """Markdown with display mathematics; `blank` leaves the right sides out."""
        blank, paragraphs = truth(blank, "blank="), []
        for number, step in enumerate(self, 1):
            rule = f": ${step.rule.latex}$" if step.rule.latex else ""
            paragraphs.append(f"**{number}. {step.title}**{rule}\n\n$$\n{aligned(_statements(step, blank and number > 1))}\n$$")
        return "\n\n".join(paragraphs)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Steps to the {self.equations.form} equations of {self.equations.system.name}: {len(self)} steps>"

    def _repr_markdown_(self) -> str:
        return self.markdown()


def _is_answer(line: Line) -> bool:
    """Whether the left side already gives the answer away."""
    return not isinstance(line.left, LeftSide | Symbol)


def _statements(step: Stage, blank: bool) -> list[Statement]:
    hidden = lambda line: r"\ldots" if blank and _is_answer(line) else line.left
    left = lambda line: line.left.latex if isinstance(line.left, LeftSide) else hidden(line)
    right = lambda line: line.right if isinstance(line.right, Expr) else latex(line.right)
    return [Statement(left(line), r"\ldots" if blank else right(line)) for line in step.lines]


def _line_text(line: Line, blank: bool) -> str:
    left = line.left.text if isinstance(line.left, LeftSide) else "…" if blank and _is_answer(line) else text(line.left)
    return f"{left} = {'…' if blank else _right_text(line)}"


def _right_text(line: Line) -> str:
    if isinstance(line.right, sympy.MatrixBase):
        rows = (", ".join(text(e) for e in line.right.row(i)) for i in range(line.right.rows))
        return f"[{'; '.join(rows)}]"
    if isinstance(line.right, sympy.Tuple):
        return f"({', '.join(map(text, line.right))})"
    return text(line.right)


def _simplified(step: Stage) -> Stage:
    """Every right side simplified with its part of the effort; equations are kept as displayed elsewhere."""
    effort = WorkBudget(STEP_BUDGET)

    def short(expr: Any, remaining: int) -> Any:
        if isinstance(expr, sympy.Tuple):
            return sympy.Tuple(*(short(e, remaining * len(expr)) for e in expr))
        if isinstance(expr, sympy.MatrixBase):
            return expr.applyfunc(lambda e: short(e, remaining * len(expr)))
        return display.simplified(expr, effort.share(remaining)) if isinstance(expr, Expr) else expr

    count = len(step.lines)
    return Stage(step.title, step.rule, tuple(Line(x.left, short(x.right, count - i)) for i, x in enumerate(step.lines)))


# -- steps common to forms ----------------------------------------------------------------------------------------------


def slope(of: str, by: Any, of_text: str | None = None) -> LeftSide:
    """∂of/∂by as a label; `of` in LaTeX."""
    return LeftSide(rf"\frac{{\partial {of}}}{{\partial {latex(by)}}}", f"∂{of_text or of}/∂{letter(by)}")


def rate(of: LeftSide) -> LeftSide:
    """d/dt of a label."""
    return LeftSide(rf"\frac{{d}}{{dt}}{of.latex}", f"d/dt {of.text}")


def indexed(letter_: str, symbol: Any, letter_text: str | None = None) -> LeftSide:
    """letter_symbol: Q_θ."""
    return LeftSide(rf"{letter_}_{{{latex(symbol)}}}", f"{letter_text or letter_}_{letter(symbol)}")


def slopes_of(of: str, value: Expr, by: Sequence[Any], of_text: str | None = None) -> tuple[Line, ...]:
    """∂of/∂s = … for each symbol."""
    return tuple(Line(slope(of, s, of_text), partial(s)(value)) for s in by)


def given_step(system: System) -> Stage:
    """T, V, forces without a potential, kinematics and constraints."""
    T, V = LeftSide("T", "T"), LeftSide("V", "V")
    lines = [Line(T, system.kinetic)]
    lines += [Line(V, system.potential)] if system.potential != 0 else []
    forces = zip(system.velocities, system.forces, strict=True)
    lines += [Line(indexed("Q'", _coordinate(system, v)), Q) for v, Q in forces if Q != 0]
    lines += [Line(e.lhs, e.rhs) for e in kinematics_of(system)]
    lines += [Line(f, sympy.Integer(0)) for f in system.residuals]
    return Stage("What is given", NO_RULE, tuple(lines))


def _coordinate(system: System, v: Any) -> Any:
    """The coordinate of a velocity, or the quasi-velocity itself."""
    return next((q for q in system.coordinates if q.d == v), v)


def kinetic_steps(system: System) -> Iterator[Stage]:
    """∂T/∂q̇, its rate along the motion, and ∂T/∂q; for quasi-velocities, q̇ = N u + n0, ∂T/∂u in place of the first."""
    T, d_dt = system.kinetic, time_derivation(system.rates)
    momenta = slopes_of("T", T, system.velocities)
    yield Stage("Derivatives by the velocities", LeftSide(r"\partial T/\partial\dot q_i", "∂T/∂q̇_i"), momenta)
    rates = tuple(Line(rate(line.left), d_dt(line.right)) for line in momenta if isinstance(line.left, LeftSide))
    yield Stage("Their rates along the motion", LeftSide(r"\frac{d}{dt}\partial T/\partial\dot q_i", "d/dt ∂T/∂q̇_i"), rates)
    by = slopes_of("T", T, system.coordinates)
    yield Stage("Derivatives by the coordinates", LeftSide(r"\partial T/\partial q_i", "∂T/∂q_i"), by)


def rate_steps(system: System, name: LeftSide, value: Expr, by: Sequence[Any]) -> Iterator[Stage]:
    """A rate of T along the motion, its derivatives, ∂T/∂q, forces and virtual displacements, for Nielsen's and Tsenov's
    equations."""
    yield Stage("The rate of T along the motion", NO_RULE, (Line(name, value),))
    yield derivative_step("Its derivatives", name.latex, value, by, name.text)
    yield derivative_step("Derivatives of T by the coordinates", "T", system.kinetic, system.coordinates)
    yield force_step(system)
    yield virtual_step(system)


def force_step(system: System) -> Stage:
    """Q of each coordinate or quasi-velocity, including those of the potential."""
    forces = zip(system.velocities, generalized_forces(system), strict=True)
    lines = tuple(Line(indexed("Q", _coordinate(system, v)), Q) for v, Q in forces)
    return Stage("Generalized forces", LeftSide(r"Q_i = Q'_i - \partial V/\partial q_i", "Q_i = Q'_i − ∂V/∂q_i"), lines)


def virtual_step(system: System) -> Stage:
    """Σ W_ki δq_i = 0: the displacements on which reactions do no work."""
    delta = [Symbol(f"delta_{_coordinate(system, v).letter}", real=True) for v in system.velocities]
    sums = [sympy.Add(*(w * d for w, d in zip(row, delta, strict=True))) for row in directions(system)]
    rule = LeftSide(r"\textstyle\sum_i W_{ki}\,\delta q_i = 0", "Σ W_ki δq_i = 0")
    return Stage("Virtual displacements that the constraints allow", rule, tuple(Line(e, sympy.Integer(0)) for e in sums))


def kinematic_step(equations: Equations) -> Stage:
    """Pseudo-velocities, or independent velocities, and all others in them."""
    chosen = [Line(s, value) for s, value in equations.definitions.items()]
    dependent = [Line(e.lhs, e.rhs) for e in equations.kinematics if isinstance(e.lhs, Expr) and isinstance(e.rhs, Expr)]
    rule = LeftSide(r"\dot q_i = \textstyle\sum_s h_{is}\,w_s + h_{i0}", "q̇_i = Σ h_is w_s + h_i0")
    return Stage("Velocities in the chosen ones", rule, (*chosen, *dependent))


def _components(vector: Any, table: Mapping[Any, Expr] | None = None) -> sympy.Tuple:
    return sympy.Tuple(*(restricted(e, table or {}) for e in vector))


def _of_body(symbol: str, body: Any, by: Any = None) -> LeftSide:
    """v_disc, or ∂v_disc/∂u."""
    name = rf"{symbol}_{{\text{{{latex_text(body.name)}}}}}"
    plain = f"{LETTERS_OF_BODIES[symbol]}_{body.name}"
    if by is None:
        return LeftSide(name, plain)
    return LeftSide(rf"\frac{{\partial {name}}}{{\partial {latex(by)}}}", f"∂{plain}/∂{letter(by)}")


LETTERS_OF_BODIES = {"v": "v", r"\omega": "ω", r"\ddot r": "r̈", r"\dot\omega": "ω̇"}
"""LaTeX → Unicode of the quantities of bodies."""


def _velocities(moved: Sequence[tuple[Any, Any, Any]]) -> Iterator[tuple[str, Any, sympy.Tuple]]:
    """("v" or ω, body, components) of centres of mass, and ω of rotating bodies on their own axes."""
    for body, rates, table in moved:
        yield "v", body, _components(body.velocity(rates), table)
        if isinstance(body, RigidBody):
            yield r"\omega", body, _components(body.omega(rates), table)


def velocity_step(moved: Sequence[tuple[Any, Any, Any]]) -> Stage:
    """v of centres of mass and ω of bodies, written in the chosen velocities: (body, rates, table) for each."""
    lines = tuple(Line(_of_body(symbol, body), value) for symbol, body, value in _velocities(moved))
    return Stage("Velocities of centres of mass, angular velocities on body axes", NO_RULE, lines)


def partial_velocity_step(moved: Sequence[tuple[Any, Any, Any]], speeds: Sequence[Any]) -> Stage:
    """∂v/∂u and ∂ω/∂u."""
    lines = tuple(
        Line(_of_body(symbol, body, u), sympy.Tuple(*(partial(u)(e) for e in value)))
        for symbol, body, value in _velocities(moved) for u in speeds
    )  # fmt: skip
    return Stage("Partial velocities", NO_RULE, lines)


def acceleration_step(moved: Sequence[tuple[Any, Any]]) -> Stage:
    """r̈ of centres of mass and ω̇ of bodies along the rates: (body, rates) for each."""
    lines = []
    for body, rates in moved:
        d_dt = time_derivation(rates)
        lines.append(Line(_of_body(r"\ddot r", body), sympy.Tuple(*d_dt.matrix(body.velocity(rates)))))
        if isinstance(body, RigidBody):
            lines.append(Line(_of_body(r"\dot\omega", body), sympy.Tuple(*d_dt.matrix(body.omega(rates)))))
    return Stage("Accelerations of centres of mass and of rotations", NO_RULE, tuple(lines))


def derivative_step(title: str, of: str, value: Expr, by: Sequence[Any], of_text: str | None = None) -> Stage:
    """∂of/∂s for some symbols."""
    return Stage(title, NO_RULE, slopes_of(of, value, by, of_text))


def last_step(equations: Equations) -> Stage:
    """The equations as they are displayed."""
    shown = display.lines(equations, "simplified")
    return Stage("Equations of motion", NO_RULE, tuple(Line(e.lhs, e.rhs) for e in shown))  # type: ignore[arg-type]


def all_steps(equations: Equations, worked: Iterable[Stage]) -> WorkedSteps:
    """The given data, the form's own steps, simplified, and the equations."""
    return WorkedSteps(equations, [*map(_simplified, [given_step(equations.system), *worked]), last_step(equations)])
