"""`ap.handout`: a sheet for teaching, as a page or as LaTeX that compiles with any distribution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from appell.disk.output_file import write
from appell.errors import MissingFile, ModelError
from appell.forms.base import Equations
from appell.letters import MeasuredLatex, latex
from appell.letters.formula_rows import filled
from appell.model import System
from appell.model.described import system_of
from appell.reading import one_of, path_of, shown
from appell.report import model_page, tex
from appell.report.html import folded, formula, inline, missing, section, split_lines
from appell.report.panels import Panels
from appell.scene.film import film
from appell.show.animate import scene_of
from appell.show.packing import Packer
from appell.show.web import describe, page
from appell.spelling import checked_keywords
from appell.tree.tree_system import TreeSystem

STEPS = ("worked", "blank")
"""Ways to show derivations in a handout: in full, or as exercises."""


@checked_keywords()
def handout(
    system: Any,
    path: Any = None,
    *,
    forms: Iterable[Any] = ("lagrange",),
    motion: Any = None,
    scene: Any = None,
    title: str | None = None,
    steps: str | None = None,
) -> Path:
    """Writes a problem sheet: the model, its equations in the chosen forms and, with a motion, animation and curves.

    Parameters
    ----------
    system: the system (or tree).
    path: ends with .html for a page or .tex for LaTeX (pdflatex, lualatex; a PDF of the curves is written beside it).
        By default the name of the system with .html, in the working folder.
    forms: names of forms, or `Equations`.
    motion: a motion of the system.
    scene: what to draw of it; by default the scene of the system.
    title: by default the name of the system.
    steps: "worked" adds the derivation of each form step by step; "blank" the same with the right sides left out and without
        the equations, as an exercise.
    """
    system = system_of(system, "ap.handout")
    target = path_of(path if path is not None else f"{_file_name(system.name)}.html", "ap.handout")
    if target.suffix not in (".html", ".tex"):
        raise ModelError(f"a handout is a page or LaTeX: end '{target.name}' with .html or .tex")
    if not target.parent.is_dir():
        raise MissingFile(f"the folder {target.parent} does not exist; make it first")
    if steps is not None:
        one_of(steps, STEPS, f"steps={shown(steps)}")
    derived = model_page.derived_forms(system, [forms] if isinstance(forms, str) else forms, getattr(motion, "pseudo", None))
    heading = title or system.name
    if target.suffix == ".html":
        return write(target, _html(system, derived, motion, scene, heading, steps))
    return _tex(system, derived, motion, heading, target, steps)


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name) or "system"


def _html(
    system: System, derived: list[Equations | str], motion: Any, scene: Any, heading: str, steps: str | None = None
) -> str:
    packer, curves, animation, panels = Packer(), "", None, None
    if motion is not None:
        animation = film(scene_of(motion, scene), motion)
        panels = Panels(motion, packer)
        curves = panels.curves()
    description = {
        "film": None if animation is None else describe(animation, packer), "panels": panels.described if panels else [],
    }  # fmt: skip
    figure = (
        f'<div class="looking"><div class="moving"><div id="film"></div></div><div>{curves}</div></div>' if animation else ""
    )
    notes = "".join(missing(note) for note in (animation.notes if animation else ()))
    values = ""
    if motion is not None:
        values = section("Parameters", model_page.parameter_table(dict(motion.parameters)))
        values += section("Start", model_page.start_table(motion))
    equations = "" if steps is not None else section("Equations of motion", model_page.equation_section(derived))
    derivations = "".join(_derivation(form, steps) for form in derived if steps is not None and isinstance(form, Equations))
    model, motion_html = section("Model", model_page.model_html(system, motion)), f"{figure}{notes}"
    sections = [motion_html, model, equations] if steps is None else [model, derivations, section("Motion", motion_html)]
    sections.append(values)
    body = f"<main><header><h1>{escape(heading)}</h1></header>{''.join(sections)}</main>"
    return page(heading, body, description, packer, in_space=animation is not None and not animation.flat)


def _derivation(equations: Equations, steps: str | None) -> str:
    """The steps to one form, as a section."""
    sections = []
    for number, step, rows in _steps(equations, steps == "blank"):
        rule = f" {inline(step.rule.latex)}" if step.rule.latex else ""
        lines = [line for row in rows for line in split_lines(row)]
        formulas = "".join(formula(line.replace("&", "")) for line in lines)
        room = "steps room" if steps == "blank" else "steps"
        sections.append(f'<h3>{number}. {escape(step.title)}{rule}</h3><div class="{room}">{folded(formulas, lines)}</div>')
    title = "Derivation to be completed" if steps == "blank" else "Derivation step by step"
    return section(f"{title}: {equations.form.replace('_', ' ').capitalize()}", *sections)


def _steps(equations: Equations, blank: bool) -> Iterator[tuple[int, Any, Any]]:
    """(number, step, its rows) after the given data, which are in the section «Model»."""
    derivation = equations.steps()
    for number, step in enumerate(derivation):
        if number:
            yield number, step, derivation.rows(step, blank=blank)


# -- LaTeX -------------------------------------------------------------------------------------------------------------


def _tex(
    system: System, derived: list[Equations | str], motion: Any, heading: str, target: Path, steps: str | None = None
) -> Path:
    blocks = [r"\section*{Model}", _model_latex(system, motion)]
    for form in dict.fromkeys(derived):
        if isinstance(form, str):
            blocks.append(rf"\par\noindent\textit{{{tex.prose_as_latex(form)}}}")
            continue
        provenance = tex.prose_as_latex(form.provenance)
        title = tex.prose_as_latex(form.form.replace("_", " ").capitalize())
        blocks += [rf"\section*{{{title}}}", f"{provenance[:1].upper()}{provenance[1:]}."]
        if steps is None:
            blocks.append(tex.equations(split_lines(form.latex("simplified"))))
        if steps is not None:
            blocks.append(_derivation_latex(form, steps == "blank"))
    if motion is not None:
        picture = target.with_suffix(".pdf").with_name(f"{target.stem}-motion.pdf")
        write(picture, _pdf(motion))
        drawn = rf"\begin{{center}}\includegraphics[width=\linewidth]{{\detokenize{{{picture.name}}}}}\end{{center}}"
        blocks += [r"\section*{Motion}", drawn]
        values = ", ".join(f"${latex(p)} = {value:.6g}$" for p, value in motion.parameters.items() if not isinstance(p, str))
        blocks.append(f"Parameters (SI): {values}." if values else "")
        begin = ", ".join(f"${letter} = {value:.6g}$" for letter, value in model_page.start_values(motion))
        blocks.append(f"Start (SI): {begin}." if begin else "")
    body = "\n\n".join(block for block in blocks if block)
    space = "16pt" if steps == "blank" else "5pt"  # room to write, or for fractions
    document = _PREAMBLE.replace("@SPACE@", space).replace("@TITLE@", tex.prose_as_latex(heading))
    return write(target, document.replace("@BODY@", body))


def _derivation_latex(equations: Equations, blank: bool) -> str:
    """The steps to one form in LaTeX."""
    blocks = []
    for number, step, rows in _steps(equations, blank):
        rule = f" ${step.rule.latex}$" if step.rule.latex else ""
        lines = [line for row in rows for line in split_lines(row)]
        blocks.append(rf"\paragraph{{{number}. {tex.prose_as_latex(step.title)}.}}{rule}" + "\n" + tex.equations(lines))
    return "\n\n".join(blocks)


def _model_latex(system: System, motion: Any = None) -> str:
    if isinstance(system, TreeSystem):
        return f"A tree of rigid bodies with {len(system.tree.nodes)} movable joints."
    rows: list[tuple[str, str, Any, str]] = [("T", "=", system.kinetic, "")]
    rows += [("V", "=", system.potential, "")] if system.potential != 0 else []
    rows += [(left, "=", Q, "") for left, Q in model_page.force_rows(system)]
    rows += [(latex(s.d), "=", system.rates[s], "") for s in system.states]
    laws = model_page.laws(system, motion)
    rows += [(f, "=", law, "") for f, law in laws if law is not None]
    label = lambda name: rf"\text{{{tex.prose_as_latex(name)}:}}\quad"
    constraints = zip(system.constraints, system.residuals, strict=True)
    rows += [(label(c.name), "", f, "= 0") for c, f in constraints]
    rows += [(label(face.name), "", face.function, r"\geq 0") for face in system.unilateral]
    lines = []
    for left, sign, expression, end in rows:
        _, (first_line, *continuations) = filled(MeasuredLatex.of(expression), 0.75 * tex.LINE_WIDTH)
        lines += [f"{left} &{sign} {first_line}", *(rf"&\quad {line}" for line in continuations)]
        lines[-1] += f" {end}" if end else ""
    lines += [rf"{f} & \text{{ is given by a table}}" for f, law in laws if law is None]
    for fr in system.frictions:
        slips = ", ".join(latex(slip) for slip in fr.slip)
        lines.append(rf"{label(fr.name)} & {model_page.friction_latex(fr)} \quad \text{{against }} {slips}")
    for reset in system.resets:
        mapped = r",\; ".join(rf"{latex(s)} \mapsto {latex(value)}" for s, value in reset.map.items())
        lines.append(rf"{label(reset.name)} & {mapped} \quad \text{{where }} {latex(reset.guard)} \text{{ falls through }} 0")
    return tex.equations(lines)


def _pdf(motion: Any) -> bytes:
    from matplotlib import pyplot

    memory = BytesIO()
    figure = motion.plot()
    figure.savefig(memory, format="pdf")
    pyplot.close(figure)
    return memory.getvalue()


_PREAMBLE = (
    r"""\documentclass[11pt,a4paper]{article}
\usepackage[margin=25mm]{geometry}
\usepackage{iftex}
\ifPDFTeX\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\fi
\usepackage{amsmath,amssymb,graphicx}
"""
    + tex.FIT
    + r"""
\allowdisplaybreaks
\setlength{\jot}{@SPACE@}
\title{\vspace{-3em}@TITLE@\vspace{-2em}}
\date{}
\begin{document}
\maketitle

@BODY@

\end{document}
"""
)

__all__ = ["handout"]
