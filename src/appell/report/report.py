"""`motion.report`, `equations.report`, `agreement.report`: one self-contained file each, without network access."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

from appell.disk.output_file import write
from appell.errors import AppellError, MissingFile, ModelError
from appell.forms.base import Equations
from appell.motion.record import Record
from appell.reading import path_of
from appell.report import model_page
from appell.report.html import caution, missing, section, table
from appell.report.panels import Panels
from appell.scene import Scene
from appell.scene.film import USUAL_FRAMES, Film, film, frame_times
from appell.show.animate import scene_of
from appell.show.mathml import available
from appell.show.packing import Packer
from appell.show.web import describe, page, three

LOADED = "The system is that of the scene; the motion was loaded from a file."
PORTRAITS_BESIDE = 2
"""Phase portraits that fit below the film."""
REPORT_BYTES = 4_000_000
"""Largest size of a report, bytes: frames are dropped until it fits."""


def report(motion: Record, path: Any, *, scene: Any, forms: Iterable[Any] | None, title: str | None) -> Path:
    """See `Motion.report`."""
    target = page_target(path)
    system = getattr(motion, "system", None)
    heading = str(title) if title is not None else motion.name
    notes: list[str] = []
    chosen = _scene(motion, scene, notes)
    facts = _facts(motion, system if system is not None else getattr(chosen, "system", None), forms, beside=chosen is not None)
    frames: int | None = None
    for _ in range(8):
        animation = None if chosen is None else film(chosen, motion, frames=frames)
        text = _document(motion, animation, heading, facts, [*notes, *_note_on_frames(motion, frames)])
        if len(text.encode("utf-8")) <= REPORT_BYTES or animation is None or len(animation) < 4:
            break
        frames = len(animation) // 2
    if len(text.encode("utf-8")) > REPORT_BYTES:
        notes.append(f"the page is larger than {REPORT_BYTES // 1_000_000} MB even with few frames")
        text = _document(motion, animation, heading, facts, notes)
    return write(target, text)


def page_target(path: Any) -> Path:
    """The path of a page: a name ending in .html in an existing folder."""
    target = path_of(path, "motion.report")
    if target.suffix.lower() not in (".html", ".htm"):
        raise ModelError(f"a report is a page: end '{target.name}' with .html")
    if not target.parent.is_dir():
        raise MissingFile(f"the folder {target.parent} does not exist; make it first")
    return target


def _scene(motion: Record, scene: Any, notes: list[str]) -> Scene | None:
    """The scene, or None with a note where a loaded motion has none."""
    if scene is None and getattr(motion, "system", None) is None:
        notes.append("no animation: the motion was loaded from a file and has no system; give scene=ap.Scene(system, …)")
        return None
    chosen = scene_of(motion, scene)
    frame_times(motion, None, None)  # raises for a motion that cannot be drawn, before anything is derived
    return chosen


def _note_on_frames(motion: Record, frames: int | None) -> list[str]:
    all_frames = min(len(frame_times(motion, None, None)[0]), USUAL_FRAMES) if frames else 0
    return [f"{frames} of {all_frames} frames, so that the page stays below {REPORT_BYTES // 1_000_000} MB"] if frames else []


def _verification(motion: Any) -> str:
    return table([(escape(label), escape(value)) for label, value in motion.verify().rows])


def _facts(motion: Any, system: Any, forms: Iterable[Any] | None, *, beside: bool) -> str:
    """Model, verification, equations, diagnosis, parameters, versions: everything that does not depend on the frames.

    beside: whether the verification of the run is placed below the film.
    """
    parameters = dict(motion.parameters)
    verification = "" if beside else _verification(motion)
    has_system = getattr(motion, "system", None) is not None
    if system is None:
        notice = missing(
            "The motion was loaded from a file, which has values but no equations:"
            " model, equations, agreement of forms and diagnosis are not in this report."
        )
        sections = [section("Model", notice), section("Verification", verification)]
    else:
        derived = model_page.derived_forms(system, forms, getattr(motion, "pseudo", None))
        values = parameters if has_system else {s: parameters[str(s)] for s in system.parameters if str(s) in parameters}
        values = {s: x for s, x in values.items() if s in system.parameters}
        known_values = values if len(values) == len(system.parameters) else {}
        sections = [
            section("Model", "" if has_system else missing(LOADED), model_page.model_html(system, motion)),
            section(
                "Verification", verification, "<h3>Forms</h3>", model_page.agreement_section(system, derived, known_values)
            ),
            section("Equations of motion", model_page.equation_section(derived)),
            section("Diagnosis", model_page.diagnosis_section(system, known_values)),
        ]
    return "\n".join([*sections, section("Parameters", model_page.parameter_table(parameters)), section("Run", _run(motion))])


def _run(motion: Record) -> str:
    tolerances = getattr(motion, "tolerances", {})
    rows = [("method", escape(motion.method)), *((escape(str(k)), escape(str(v))) for k, v in tolerances.items())]
    return table([*rows, *versions()])


def versions() -> list[tuple[str, str]]:
    """Versions of the software used."""
    def version(name: str) -> str:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return "not installed"

    rows = [(name, version(name)) for name in ("appell", "numpy", "scipy", "sympy", "casadi")]
    return [*rows, ("Python", f"{sys.version.split()[0]}, {platform.system()} {platform.machine()}")]


def _document(motion: Record, animation: Film | None, heading: str, facts: str, notes: list[str]) -> str:
    packer = Packer()
    panels = Panels(motion, packer)
    curves, portraits = (panels.curves(), panels.portraits()) if len(motion) else ("", "")
    description = {"film": None if animation is None else describe(animation, packer), "panels": panels.described}
    if animation is not None and not animation.flat and three() is None:
        notes = [*notes, "drawn on a plain canvas: pip install 'appell[show]' brings three.js"]
    if not available():
        notes = [*notes, "formulas are shown as LaTeX: pip install 'appell[show]' brings latex2mathml"]
    notes_html = "".join(missing(note) for note in [*notes, *(animation.notes if animation else ()), *panels.notes])
    doubts = "".join(caution(doubt) for doubt in getattr(motion, "doubts", ()))
    if motion.status.name != "OK":
        doubts += caution(f"The run did not reach its end: {motion.message or motion.status.name}")
    portraits_below = portraits if len(motion.coordinate_names) <= PORTRAITS_BESIDE and animation is not None else ""
    glance = f'<div class="glance">{_verification(motion)}{portraits_below}</div>'
    moving = f'<div class="moving"><div id="film"></div>{glance}</div>' if animation is not None else ""
    body = f"""<main>
<header><h1>{escape(heading)}</h1>
<p class="under">{escape(motion.name)}; {escape(_span(motion))}; written by appell</p></header>
{doubts}<div class="looking">{moving}<div class="curves">{curves}</div></div>
{notes_html}
{section("Phase portraits", "" if portraits_below else portraits)}
{facts}
</main>"""
    return page(heading, body, description, packer, in_space=animation is not None and not animation.flat)


def _span(motion: Record) -> str:
    return f"t = {motion.t[0]:g} … {motion.t[-1]:g} s, {len(motion)} samples" if len(motion) else "no samples"


# -- equations and agreement -------------------------------------------------------------------------------------------


def equations_report(equations: Equations, path: Any, *, title: str | None = None) -> Path:
    """The model and one form of its equations, plain, simplified and solved, as a page."""
    target, system = page_target(path), equations.system
    styles = []
    for style in ("plain", "simplified", "solved"):
        try:
            styles.append(section(f"Equations, {style}", model_page.equation_text(equations, style)))
        except AppellError as error:
            styles.append(section(f"Equations, {style}", missing(str(error))))
    heading = title or f"{equations.form}: {system.name}"
    sections = [section("Model", model_page.model_html(system)), *styles, section("Versions", table(versions()))]
    return write(target, page_of(heading, sections))


def agreement_report(agreement: Any, path: Any, *, title: str | None = None) -> Path:
    """The table of `ap.agree` as a page."""
    target = page_target(path)
    verdict = "All forms that apply agree" if agreement.ok else "The forms do not agree"
    summary = f"<p>{verdict}; largest disagreement {agreement.worst:.1e} at {agreement.states} states.</p>"
    table_of_forms = model_page.agreement_table(agreement)
    sections = [section("Agreement of forms", summary, table_of_forms), section("Versions", table(versions()))]
    return write(target, page_of(title or f"Forms of {agreement.system}", sections))


def page_of(heading: str, parts: Iterable[str]) -> str:
    """A page of sections under one heading, without a film."""
    body = f"<main><header><h1>{escape(heading)}</h1></header>\n{''.join(parts)}</main>"
    return page(heading, body, {"film": None, "panels": []}, Packer(), in_space=False)


__all__ = ["agreement_report", "equations_report", "report"]
