"""The model as stated, its equations, its diagnosis and the agreement of forms, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from sympy import Symbol

from appell.errors import AppellError, FormNotApplicable, ModelError
from appell.forms import FORMS
from appell.forms.base import Equations
from appell.jets import t
from appell.letters import latex
from appell.model import Friction, System
from appell.model.friction import bound_latex
from appell.model.measured import letters_of
from appell.reading import items_of, name_in
from appell.report.html import equation_block, formula, inline, missing, split_lines, table, without_style
from appell.spelling import did_you_mean
from appell.tree.tree_system import TreeSystem
from appell.typeset import latex_text
from appell.verify import agree, diagnose

WRITTEN_VELOCITIES = 4
"""Number of velocities up to which the energies and equations of a robot are shown."""


COLUMNS = (
    '<p class="missing">a, W Λ: largest relative difference of accelerations and of constraint forces between a form and the'
    " others, in 50 digits. a, W Λ, judge: the same between the form and the numeric normal form, in float64. states: random"
    " states at which they were compared.</p>"
)
"""Explanations of the columns in the table of forms."""


def model_html(system: System, motion: Any = None) -> str:
    """Coordinates, energies, forces and constraints; for a motion also the prescribed functions of time."""
    blocks = [_symbols(system), _energies(system), _forces(system), _rates(system), _laws(system, motion), _constraints(system)]
    return "\n".join(block for block in blocks if block)


def _symbols(system: System) -> str:
    letters = ", ".join(inline(q) for q in system.coordinates)
    text = f"<p>{escape(system.name)}: coordinates {letters}"
    speeds = [v for v in system.velocities if v not in {q.d for q in system.coordinates}]
    text += f"; speeds {', '.join(inline(v) for v in speeds)}" if speeds else ""
    return text + (f"; states of first order {', '.join(map(inline, system.states))}" if system.states else "") + ".</p>"


def _rates(system: System) -> str:
    """The rates of states of first order."""
    return equation_block([f"{latex(s.d)} &= {latex(system.rates[s])}" for s in system.states]) if system.states else ""


def _energies(system: System) -> str:
    if isinstance(system, TreeSystem):
        joints = len(system.tree.nodes)
        return f"<p>A tree of rigid bodies with {joints} movable joints; its energies are evaluated by recursion.</p>"
    lines = [f"T &= {latex(system.kinetic)}"]
    if system.potential != 0:
        lines.append(f"V &= {latex(system.potential)}")
    return equation_block(lines)


def _forces(system: System) -> str:
    lines = [f"{left} &= {latex(Q)}" for left, Q in force_rows(system)]
    return f"<h3>Forces</h3>{equation_block(lines)}" if lines else ""


def force_rows(system: System) -> list[tuple[str, Any]]:
    """(LaTeX of the generalized force, expression) of each force that is not zero."""
    return [(f"Q_{{{latex(v)}}}", Q) for v, Q in zip(system.velocities, system.forces, strict=True) if Q != 0]


WRITTEN_LAW = 60
"""Operations up to which a prescribed function of time is shown; tables are splines of many pieces."""


def laws(system: System, motion: Any = None) -> list[tuple[str, Any]]:
    """(LaTeX, expression, or None for a table or a record) of the given functions of time of a system or its motion."""
    prescription = getattr(getattr(motion, "system", None), "prescription", None) or system.prescription
    written = lambda law: law.count_ops() <= WRITTEN_LAW and not letters_of(law.free_symbols)
    return [(latex(f), law if written(law) else None) for f, law in prescription.items()]


def _laws(system: System, motion: Any) -> str:
    prescribed = laws(system, motion)
    table_of_values = r"\text{given by a table}"
    lines = [f"{f} &= {table_of_values if law is None else latex(law)}" for f, law in prescribed]
    return f"<h3>Given functions of time</h3>{equation_block(lines)}" if lines else ""


def start_values(motion: Any) -> list[tuple[str, float]]:
    """(LaTeX, value) of the coordinates and velocities at the start of a motion."""
    names = (*motion.coordinate_names, *motion.velocity_names) if len(motion) else ()
    return [(series.latex, float(series.values[0])) for series in map(motion.series, names)]


def start_table(motion: Any) -> str:
    """The start state of a motion."""
    return table([(inline(letter), f"{value:.6g}") for letter, value in start_values(motion)])


def _constraints(system: System) -> str:
    orders = ("holonomic", "first order", "second order")
    rows = []
    for c, f in zip(system.constraints, system.residuals, strict=True):
        kind = orders[c.order] + ("" if c.order == 0 else ", linear" if c.linear else ", nonlinear")
        rows.append(("" if c.name == str(f) else escape(c.name), formula(f"{latex(f)} = 0"), kind))
    for face in system.unilateral:
        kind = f"unilateral, restitution {inline(face.restitution)}"
        rows.append((escape(face.name), formula(rf"{latex(face.function)} \geq 0"), kind))
    for fr in system.frictions:
        against = ", ".join(inline(slip) for slip in fr.slip)
        rows.append((escape(fr.name), formula(friction_latex(fr)), f"dry friction against the slip {against}"))
    for reset in system.resets:
        mapped = r",\; ".join(rf"{latex(s)} \mapsto {latex(value)}" for s, value in reset.map.items())
        rows.append((escape(reset.name), formula(mapped), f"reset where {inline(reset.guard)} falls through 0"))
    return f"<h3>Constraints</h3>{table(rows)}" if rows else ""


def friction_latex(friction: Friction) -> str:
    """|λ| ≤ its bound, in LaTeX."""
    return rf"|\lambda_{{\mathrm{{{latex_text(friction.name)}}}}}| \leq {bound_latex(friction)}"


# -- equations ---------------------------------------------------------------------------------------------------------


def derived_forms(system: System, forms: Iterable[Any] | None, pseudo: Mapping[str, Any] | None) -> list[Equations | str]:
    """The equations in the chosen forms, or a sentence on why a form is not available.

    A form is its name, or `Equations` already derived. By default Lagrange's, and Appell's with velocity constraints.
    """
    if isinstance(system, TreeSystem) and system.nv > WRITTEN_VELOCITIES and forms is None:
        return [f"the equations of {system.nv} velocities are too long to be read; give forms=[…] to derive them all the same"]
    chosen = items_of(forms, "forms=") if forms is not None else _default_forms(system)
    return [form if isinstance(form, Equations) else _derive(system, name_in(form), pseudo) for form in chosen]


def _default_forms(system: System) -> list[str]:
    return ["lagrange", "appell"] if any(c.order > 0 for c in system.constraints) else ["lagrange"]


def _derive(system: System, name: str, pseudo: Mapping[str, Any] | None) -> Equations | str:
    form = FORMS.get(name)
    if form is None:
        raise ModelError(f"there is no form '{name}'{did_you_mean(name, FORMS)}; there are {', '.join(FORMS)}")
    try:
        symbolic = system.symbolic()
        options: dict[str, Any] = {}
        if ("pseudo",) in form.variants:
            fits = bool(pseudo) and form.reason_against(symbolic, pseudo=pseudo) is None
            options["pseudo"] = pseudo if fits else form.default(symbolic, "pseudo")
        elif ("independent",) in form.variants and () not in form.variants:
            options["independent"] = form.default(symbolic, "independent")
        return form(system, **options)
    except FormNotApplicable as error:
        return str(error)
    except AppellError as error:
        return f"{name}: {error}"


def equation_text(equations: Equations, style: str = "simplified") -> str:
    """The equations of a form as formulas, with their source."""
    try:
        lines = split_lines(equations.latex(style))
    except FormNotApplicable as error:
        return missing(str(error))
    definitions = "".join(f"<p>with {inline(s)} = {inline(value)}</p>" for s, value in equations.definitions.items())
    return f"<h3>{escape(equations.form)}</h3><p>{escape(equations.provenance)}.</p>{equation_block(lines)}{definitions}"


def equation_section(found: Iterable[Equations | str]) -> str:
    """All forms, one after the other."""
    return "\n".join(missing(equations) if isinstance(equations, str) else equation_text(equations) for equations in found)


def agreement_section(system: System, found: Iterable[Equations | str], parameters: Mapping[Any, Any] | None) -> str:
    """The agreement of the chosen forms with each other in 50 digits and with the normal form in float64."""
    names = [equations.form for equations in found if isinstance(equations, Equations)]
    if not names:
        return missing("no form was derived, so there is nothing to compare")
    try:
        result = agree(system, states=3, parameters=dict(parameters or {}), forms=list(dict.fromkeys(names)))
    except AppellError as error:
        return missing(f"the forms could not be compared: {error}")
    verdict = "The forms agree" if result.ok else "The forms do NOT agree"
    css = "" if result.ok else ' class="doubt"'
    return f"<p{css}>{verdict}: largest disagreement {result.worst:.1e} at {result.states} states.</p>{agreement_table(result)}"


def agreement_table(result: Any) -> str:
    """The table of `ap.agree`, from its notebook display, with explanations of its columns."""
    return without_style(result._repr_html_()) + COLUMNS


def diagnosis_section(system: System, parameters: Mapping[Any, Any] | None) -> str:
    """The diagnosis of the constraints of the system."""
    if isinstance(system, TreeSystem) and system.nv > WRITTEN_VELOCITIES:
        return missing(f"no diagnosis of a tree with {system.nv} velocities: ap.diagnose writes its energies in symbols")
    try:
        diagnosis = diagnose(system.symbolic(), parameters=dict(parameters or {}))
    except AppellError as error:
        return missing(f"there is no diagnosis: {error}")
    return without_style(diagnosis._repr_html_())


def parameter_table(parameters: Mapping[Any, float]) -> str:
    """Parameters with their values."""
    def letter(p: Any) -> Any:
        return Symbol(p) if isinstance(p, str) else p

    return table([(inline(letter(p)), f"{value:.10g}") for p, value in parameters.items()]) if parameters else ""


__all__ = ["agreement_section", "derived_forms", "diagnosis_section", "equation_section", "model_html", "parameter_table", "t"]
