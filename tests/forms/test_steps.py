"""`equations.steps()`: the lines of a derivation add up to its equations, for every form that applies."""

from __future__ import annotations

import random
import subprocess

import pytest
import sympy

import appell as ap
from appell.forms.form_table import FORMS

m, J, g, l, d = ap.parameters("m J g l d", positive=True)
x, y, phi, theta = ap.coordinates("x y phi theta")
sin, cos = sympy.sin, sympy.cos
BLADE = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), "blade")
BODY = ap.RigidBody(m, J, [x, y], phi, name="sleigh")
SLEIGH = ap.System([x, y, phi], bodies=[BODY], forces={phi: -d * phi.d}, constraints=[BLADE])
PENDULUM = ap.System([theta, phi], m * l**2 * (theta.d**2 + sin(theta) ** 2 * phi.d**2) / 2, -m * g * l * cos(theta))
q = ap.quaternion("q")
TOP = ap.System([q], bodies=[ap.RigidBody(m, sympy.diag(J, 2 * J, 3 * J), [0, 0, 0], q)])
BALL = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[ap.Unilateral(y, "floor")])


def named(steps, title):
    return next(step for step in steps if step.title.startswith(title))


def vanishes(expr):
    """Whether an expression is zero at random values of its symbols."""
    rng = random.Random(2)
    for _ in range(3):
        values = {s: sympy.Rational(rng.randint(20, 90), 61) for s in expr.free_symbols}
        if abs(sympy.N(expr.xreplace(values), 30)) > 1e-20:
            return False
    return True


@pytest.mark.parametrize("system", [SLEIGH, PENDULUM, TOP, BALL], ids=["sleigh", "pendulum", "top", "ball"])
def test_every_form_has_steps_in_text_and_latex(system):
    met = 0
    for form in FORMS.values():
        try:
            equations = form(system)
        except ap.FormNotApplicable:
            continue
        steps = equations.steps()
        assert steps[0].title == "What is given" and steps[-1].title == "Equations of motion", form.name
        assert len(steps) >= 3, f"{form.name} shows nothing between them"
        for shown in (str(steps), steps.latex(), steps.markdown(blank=True)):
            assert "LeftSide(" not in shown and "Matrix(" not in shown and "Tuple(" not in shown, form.name
        met += 1
    assert met >= 6


@pytest.mark.parametrize("system", [SLEIGH, PENDULUM], ids=["sleigh", "pendulum"])
def test_steps_of_lagrange_add_up(system):
    equations = ap.forms.lagrange(system)
    titles = ("Their rates", "Derivatives by the coordinates", "Generalized forces")
    rates, by, forces = (named(equations.steps(), title).lines for title in titles)
    no_reactions = dict.fromkeys(equations.multipliers, sympy.Integer(0))
    for rate, slope, force, equation in zip(rates, by, forces, equations.derived, strict=True):
        assert vanishes(rate.right - slope.right - force.right - (equation.lhs - equation.rhs).xreplace(no_reactions))


def test_steps_of_kane_and_appell_add_up():
    steps = ap.forms.kane(SLEIGH).steps()
    active, inertia = named(steps, "Generalized active").lines, named(steps, "Generalized inertia").lines
    for F, F_star, equation in zip(active, inertia, ap.forms.kane(SLEIGH).derived, strict=True):
        assert vanishes(F.right + F_star.right - equation.lhs + equation.rhs)
    steps = ap.forms.appell(PENDULUM).steps()
    S = named(steps, "Energy of the accelerations").lines[0].right
    for line, a in zip(named(steps, "Its derivatives").lines, PENDULUM.accelerations, strict=True):
        assert vanishes(line.right - sympy.diff(S, a))


def test_blank_steps_keep_what_is_given_and_hide_the_rest():
    steps = ap.forms.lagrange(PENDULUM).steps()
    assert "∂T/∂θ̇ = m l² θ̇" in str(steps)
    blank = steps.text(blank=True)
    assert "T = m l²" in blank and "∂T/∂θ̇ = …" in blank and "θ̈" not in blank


def test_zero_stands_on_the_right():
    assert all(e.rhs == 0 for e in ap.forms.kane(TOP).equations)


def test_handouts_with_steps(tmp_path):
    page = ap.handout(PENDULUM, tmp_path / "p.html", forms=["lagrange"], steps="worked").read_text()
    assert "Derivation step by step: Lagrange" in page and "Their rates along the motion" in page
    blank = ap.handout(PENDULUM, tmp_path / "b.html", forms=["lagrange"], steps="blank").read_text()
    assert "Derivation to be completed" in blank and "<h2>Equations of motion" not in blank
    tex = ap.handout(PENDULUM, tmp_path / "p.tex", forms=["lagrange", "kane"], steps="worked").read_text()
    assert r"\paragraph{1. Derivatives by the velocities.}" in tex
    with pytest.raises(ap.ModelError, match="steps='all'"):
        ap.handout(PENDULUM, tmp_path / "x.html", steps="all")
    try:
        done = subprocess.run(["pdflatex", "-interaction=batchmode", "p.tex"], cwd=tmp_path, capture_output=True, timeout=60)
    except FileNotFoundError:
        return  # no LaTeX here
    assert done.returncode == 0
