"""Equations for people: LaTeX, Unicode text, notebooks.

Three styles: "plain" shows the equations as they were derived; "simplified" collects them by velocities, accelerations and
multipliers, uses |q| = 1 of unit quaternions, and simplifies each term on its own; "solved" gives the accelerations and
reactions. Nothing long is ever expanded, and simplification stops when its time is spent, so that the equations of six
coordinates print in seconds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import sympy
from sympy import Eq, Expr
from sympy.printing.pretty.stringpict import prettyForm

from appell.errors import ModelError
from appell.forms import tidy
from appell.letters import latex as _latex
from appell.letters import text as _text
from appell.remember import remembered

if TYPE_CHECKING:
    from appell.forms.base import Equations

STYLES = ("plain", "simplified", "solved")
SMALL = 40
"""Operations up to which `simplify` is quick."""
TERMS = 10_000
"""Terms that are multiplied out in a second."""
BUDGET = 4.0
"""Seconds for all simplifications of one display."""


def latex_text(text: str) -> str:
    """Plain text inside LaTeX: special characters escaped."""
    return "".join("\\" + c if c in "_#$%&{}" else " " if c in "\\^~" else c for c in text)


def pretty_text(text: str) -> prettyForm:
    """Text as a symbol of Unicode output."""
    return prettyForm(text)


def simplified(expr: Expr, budget: float) -> Expr:
    """An equal expression that is not longer: small terms simplified one by one until `budget` seconds are spent."""
    stop = time.process_time() + budget
    short = tidy.collected(expr, limit=int(TERMS * budget), unit=True)
    terms = [_shorter(term) if time.process_time() < stop else term for term in sympy.Add.make_args(short)]
    total = sympy.Add(*terms)
    if len(terms) > 1 and time.process_time() < stop:
        total = _shorter(total)
    return total if sympy.count_ops(total) <= sympy.count_ops(expr) else expr


def _shorter(expr: Expr) -> Expr:
    """The shorter of an expression and what `simplify` makes of it; past `SMALL`, of its common factors taken out."""
    size = sympy.count_ops(expr)
    other = sympy.simplify(expr) if size <= SMALL else sympy.factor_terms(expr)
    return other if sympy.count_ops(other) < size else expr  # type: ignore[return-value]


def lines(equations: Equations, style: str) -> list[Eq]:
    """The equations to show, in order: of motion, constraints, kinematics; or the solution. Found once for each style."""
    if style not in STYLES:
        raise ModelError(f"style is one of {', '.join(STYLES)}; not {style!r}")
    return _find_lines(equations, style)


@remembered
def _find_lines(equations: Equations, style: str) -> list[Eq]:
    equal = lambda lhs, rhs: Eq(lhs, rhs, evaluate=False)
    if style == "solved":
        return [equal(symbol, value) for symbol, value in equations.solve(budget=BUDGET).items()]  # type: ignore[misc]
    shown = [*equations.equations, *equations.rows, *equations.kinematics]
    if style == "plain":
        return shown
    share = BUDGET / max(1, 2 * len(shown))
    return [equal(simplified(e.lhs, share), simplified(e.rhs, share)) for e in shown]  # type: ignore[misc]


def latex(equations: Equations, style: str = "plain") -> str:
    """An `aligned` environment, one equation a line."""
    body = " \\\\\n".join(f"{_latex(e.lhs)} &= {_latex(e.rhs)}" for e in lines(equations, style))
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def text(equations: Equations, style: str = "plain") -> str:
    """One equation a line in Unicode, after a heading with the provenance."""
    heading = f"{equations.form} equations of {equations.system.name}, {equations.provenance}"
    return "\n".join([heading, *(f"  {_text(e.lhs)} = {_text(e.rhs)}" for e in lines(equations, style))])


def notebook(equations: Equations) -> str:
    """What a notebook shows: simplified equations as display mathematics."""
    return f"$\\displaystyle {latex(equations, 'simplified')}$"
