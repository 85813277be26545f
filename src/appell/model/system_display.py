"""The notebook display of a system: T, V, forces, kinematics, constraints, faces, frictions with their slips s, and resets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appell import tidy
from appell.letters import latex
from appell.letters.formula_rows import Statement, displayed
from appell.model.friction import bound_latex
from appell.typeset import latex_text

if TYPE_CHECKING:
    from appell.model.system import System

CLEARER = 0.8
"""A simplified energy is shown if its length is below this fraction of the original."""


def shown(system: System) -> str:
    """The formulas of the system, in blocks that fit a page. T of a tree is a recursion and is left out."""
    formulas = [("T", _energy(system._expressions()[0]))] if "kinetic" in system.__dict__ else []
    formulas += [("V", _energy(system.potential))] if system.potential != 0 else []
    formulas += [(f"Q_{{{latex(v)}}}", Q) for v, Q in zip(system.velocities, system.forces, strict=True) if Q != 0]
    formulas += [(latex(q.d), rate) for q, rate in system.rates.items() if rate != q.d]
    rows = [Statement(name, value) for name, value in formulas]
    rows += [Statement("0", f) for f in system.residuals]
    rows += [Statement("0", face.function, r"\le") for face in system.unilateral]
    for fr in system.frictions:
        name = latex_text(fr.name)
        rows.append(Statement(rf"|\lambda_{{\mathrm{{{name}}}}}|", bound_latex(fr), r"\le"))
        rows += [Statement(rf"s_{{\mathrm{{{name}}}}}", slip) for slip in fr.slip]
    for reset in system.resets:
        rows.append(Statement(rf"g_{{\mathrm{{{latex_text(reset.name)}}}}}", reset.guard))
        rows += [Statement(rf"{latex(s)}^{{+}}", value) for s, value in reset.map.items()]
    return displayed(rows)


def _energy(expr: Any) -> Any:
    """The energy as written, or simplified if that is much shorter: bodies and chains give long sums of squares."""
    short = tidy.factored_out(tidy.collected(expr, unit=True))
    return short if tidy.characters(short) < CLEARER * tidy.characters(expr) else expr
