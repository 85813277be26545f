"""The page: the same text in every run, names as names, nothing that closes only, the solution in pseudo-velocities."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace

import matplotlib.mathtext
import pytest
import sympy
from sympy import sqrt

import appell as ap
from appell import typeset
from appell.forms.engine.display import lines, simplified
from appell.forms.engine.work_budget import WorkBudget
from appell.letters import latex, text

PRINT = """
import appell as ap
for name in ("sleigh", "rolling_disc"):
    example = ap.zoo.ALL[name]()
    for style in ("plain", "simplified"):
        print(ap.forms.hamel(example.system, example.pseudo).text(style), ap.forms.lagrange(example.system).latex(style))
print(ap.forms.appell(ap.zoo.sleigh().system, ap.zoo.sleigh().pseudo).text("solved"))
"""


def test_the_same_text_in_every_run():
    run = lambda seed: (
        subprocess.run(
            [sys.executable, "-c", PRINT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    first = run("1")
    assert "ω̇" in first and first == run("77")


def test_work_is_counted():
    effort = WorkBudget(0.001)
    x, y = ap.coordinates("x y")
    long = sympy.Add(*(sympy.sin(k * x) ** 2 * (x + k * y) for k in range(60)))
    assert simplified(long, effort) == long  # nothing is begun that cannot be paid
    assert effort.remaining >= 0 and not WorkBudget(0.0).spend(1)


def test_the_sleigh_as_a_book_has_it():
    sleigh = ap.zoo.sleigh()
    form = ap.forms.appell(sleigh.system, sleigh.pseudo)
    shown = form.text("solved")
    assert "Λ_blade = −J m ω u/(J + m a²)" in shown and "ẋ" not in shown
    assert "ω̇ = φ̈" not in form.text() and "φ̈" in form.text(closing=True)
    m, a, J = (next(s for s in sleigh.system.parameters if str(s) == name) for name in "maJ")
    u, w = form.objects["pseudo"].speeds
    solved = form.solve()
    assert sympy.simplify(solved[w.d] + m * a * u * w / (J + m * a**2)) == 0


@pytest.mark.parametrize("form", ["lagrange", "appell", "kane", "hamel"])
def test_equations_are_what_is_displayed(form):
    top = ap.zoo.heavy_top()
    found = getattr(ap.forms, form)(top.system, **({} if form == "lagrange" else {"pseudo": top.pseudo}))
    written = [f"  {text(e.lhs)} = {text(e.rhs)}" for e in found.equations]
    assert found.text().splitlines()[1 : 1 + len(written)] == written and str(found) == found.text() == found.text("simplified")
    assert found._repr_latex_() == f"$\\displaystyle {found.latex()}$"
    assert sum(map(len, written)) < 1000 and len(found.text("plain")) >= len(found.text())
    again = replace(found, equations=found.derived[1:])
    assert again.derived == found.derived[1:] and again.equations == found.equations[1:]
    assert pickle.loads(pickle.dumps(found)).derived == found.derived


def test_three_bodies_are_shown_at_once():
    """Roots of distances are not multiplied out: an allowance of operations that once took minutes."""
    names = ap.coordinates("x1 y1 x2 y2 x3 y3")
    at = [names[:2], names[2:4], names[4:]]
    mass = ap.parameters("m1:4", positive=True)
    G = ap.parameters("G", positive=True)
    T = sympy.Add(*(m * (x.d**2 + y.d**2) / 2 for m, (x, y) in zip(mass, at, strict=True)))
    distance = lambda i, j: sqrt((at[i][0] - at[j][0]) ** 2 + (at[i][1] - at[j][1]) ** 2)
    V = -sympy.Add(*(G * mass[i] * mass[j] / distance(i, j) for i, j in ((0, 1), (1, 2), (0, 2))))
    form = ap.forms.lagrange(ap.System(names, T, V, name="three bodies"))
    assert len(form.text("simplified")) < 1600
    assert len(form.solve()) == 6


NAMES = {
    "phi": ("φ", r"\phi"), "q1": ("q₁", "q_{1}"), "q_12": ("q₁₂", "q_{12}"),
    "eta_top_w": ("η_top_w", r"\eta_{\mathrm{top\,w}}"), "mass": ("mass", r"\mathit{mass}"),
    "xdot": ("xdot", r"\mathit{xdot}"), "p_theta": ("p_θ", r"p_{\theta}"),
    "lamda": ("λ", r"\lambda"), "m_B": ("m_B", "m_{B}"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert (typeset.text(name), typeset.latex(name)) == NAMES[name]
    assert latex(ap.parameters(name)) == NAMES[name][1] and text(ap.parameters(name)) == NAMES[name][0]


def test_x_and_xdot_differ():
    x, xdot, ball = ap.coordinates("x xdot ball_x")
    assert len({latex(s) for s in (x, x.d, x.dd, xdot, xdot.d)}) == 5
    assert len({text(s) for s in (x, x.d, x.dd, xdot, xdot.d)}) == 5
    assert text(ball.d) == "ball_x˙" and latex(x.dd) == r"\ddot{x}"


def test_a_constraint_keeps_the_space_of_its_name():
    x, y = ap.coordinates("x y")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(x.d - y * y.d, "roll x")])
    form = ap.forms.lagrange(system)
    assert "Λ_roll x" in form.text() and r"\Lambda_{\mathrm{roll\ x}}" in form.latex()


@pytest.mark.parametrize("name", ["skate", "heavy_top_quaternion", "turning_knife_edge", "constant_acceleration"])
def test_latex_is_read_by_a_parser(name):
    """Each side of each equation of every form that applies, by matplotlib's own TeX grammar."""
    parser, system = matplotlib.mathtext.MathTextParser("path"), ap.zoo.ALL[name]().system
    for form in ap.forms.FORMS.values():
        if form.reason_against(system) is None:
            equations = form(system)
            for e in lines(equations, "plain"):
                for side in (e.lhs, e.rhs):
                    parser.parse(f"${latex(side)}$")


def test_a_system_shows_what_was_said():
    shown = ap.zoo.skate().system._repr_latex_()
    assert shown.startswith("$") and "T &= " in shown and "V &= " in shown and r"0 &= " in shown
    x = ap.coordinates("x")
    wall = ap.System([x], x.d**2 / 2, forces={x: -x.d}, constraints=[ap.Unilateral(x, name="wall")])
    assert r"0 &\le x" in wall._repr_latex_() and r"Q_{\dot{x}} &= - \dot{x}" in wall._repr_latex_()
    assert ap.zoo.stewart_platform().system._repr_latex_().startswith("$")
