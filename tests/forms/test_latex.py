"""LaTeX that a TeX engine takes, with sums broken into lines that fit a page."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import sympy

import appell as ap
from appell.forms import FORMS
from appell.letters import MeasuredLatex, latex, text
from appell.letters.formula_rows import filled

ENGINE = shutil.which("pdflatex")
HEAD = r"\documentclass[a4paper]{article}\usepackage{amsmath}\begin{document}"


def every_form(example):
    system = example.system.symbolic()
    for form in FORMS.values():
        own = {"pseudo": example.pseudo} if example.pseudo else {}
        options = {name: own.get(name) or form.default(system, name) for name in form.variants[-1]}
        if form.reason_against(system, **options) is None:
            yield form(system, **options)


def long_arguments() -> ap.System:
    """Roots, sines and moduli of long sums, above and below a line."""
    x, y = ap.coordinates("x y")
    total = sum((k * x**k * y for k in range(2, 14)), x)
    forces = {x: sympy.sqrt(total) * sympy.sin(y + total), y: -sympy.Abs(total) / sympy.sqrt(2 + total**2)}
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, forces=forces)


@pytest.mark.skipif(ENGINE is None, reason="needs a TeX engine (Debian: texlive-latex-base)")
def test_a_tex_engine_takes_every_form(tmp_path):
    examples = [ap.zoo.ALL[name]() for name in ("arm_with_joint_stops", "oscillator_between_stops", "constant_speed", "sleigh")]
    systems = [example.system for example in (*examples, ap.zoo.suslov(), ap.zoo.tippe_top())]
    pages = [rf"\clearpage\noindent {system._repr_latex_()}" for system in (*systems, long_arguments())]
    assert sum(page.count(r"\begin{aligned}") for page in pages) > len(pages)  # what is higher than a page is in blocks
    pages += [equations.latex("plain", environment="align*") for example in examples for equations in every_form(example)]
    (tmp_path / "forms.tex").write_text("\n".join([HEAD, *pages, r"\end{document}"]))
    run = [str(ENGINE), "-interaction=nonstopmode", "-draftmode", "-halt-on-error", "forms.tex"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, [line for line in done.stdout.splitlines() if line.startswith("!")]
    assert not [line for line in done.stdout.splitlines() if line.startswith("Overfull")]


def test_long_sums_go_on_in_the_next_line():
    x, y = ap.coordinates("x y")
    total = x.dd + sum((-1) ** k * k * x**k * y for k in range(2, 12))
    wide, rows = filled(MeasuredLatex.of(total), 100.0)
    assert wide <= 100 and len(rows) > 3 and all(row.startswith(("{} +", "{} -")) for row in rows[1:])
    assert filled(MeasuredLatex.of(x * y), 1.0)[1] == ["x y"] and len(filled(MeasuredLatex.of(total), 1000.0)[1]) == 1
    wide, rows = filled(MeasuredLatex.of(5 * x.d**2 * total**2 / y), 120.0)
    assert wide <= 120 and len(rows) > 3 and rows[0].count(r"\bigl(") == rows[-1].count(r"\bigr)^{2}") == 1
    shown = ap.forms.lagrange(ap.System([x], x.d**2 / 2, sum(k * x**k for k in range(1, 30)))).latex("plain")
    assert shown.count("&=") == 1 and shown.count(r"&\quad {} ") >= 2
    assert shown.count(r"\left(") == shown.count(r"\right)")


def test_numbers_of_names_are_counted():
    m = ap.parameters("m1:13")
    assert text(sum(m)).startswith("m₁ + m₂ + m₃") and text(m[9] * m[1]) == "m₂ m₁₀"
    assert latex(sum(m)).endswith("m_{9} + m_{10} + m_{11} + m_{12}")


def test_cases_are_told_in_words():
    x, k = ap.coordinates("x"), ap.parameters("k")
    assert text(2 * sympy.Piecewise((k * x, x > 0), (2 * k * x, True))) == "2 {k x if x > 0, 2 k x otherwise}"


def test_an_energy_of_bodies_is_shown_in_short():
    shown = ap.zoo.n_pendulum(2).system._repr_latex_()
    assert r"\cos{\left(\theta_{2} - \theta_{1} \right)}" in shown and r"\sin" not in shown


def test_an_environment_that_is_none_is_refused():
    with pytest.raises(ap.ModelError, match="'aligned', 'align\\*'; not 'gather'"):
        ap.forms.lagrange(ap.zoo.pendulum().system).latex(environment="gather")


def test_an_example_tells_its_story():
    story = ap.zoo.sleigh()._repr_markdown_()
    assert "sleigh" in story and "Chaplygin" in story and r"\begin{aligned}" in story


def test_a_solution_is_never_empty():
    ball = ap.zoo.bouncing_ball().system
    assert ap.forms.maggi(ball, {"u": ball.velocities[0]}).text("solved").endswith("z̈ = −g")
