"""Problems of books beside the zoo: as short as the book, judged with it, every form agreeing, and planted errors named."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from benchmarks.page_problems import PROBLEMS
from benchmarks.problems import book_characters, characters, judged, own_lines
from sympy import Matrix, cos, sin
from tests.forms.planted_errors import ERRORS, driven, refused, spoils, variants

import appell as ap
from appell.forms import FORMS
from appell.forms.engine.display import lines
from appell.letters import text
from appell.tidy import as_wave_product, with_wave_products

LONGEST = 1.5
"""Times the characters of the book."""
BOOKS = [name for name, make in PROBLEMS.items() if make().book]


@pytest.mark.parametrize("name", BOOKS)
def test_a_page_is_as_short_as_its_book(name):
    problem = PROBLEMS[name]()
    assert judged(problem) < 1e-25
    assert characters(own_lines(problem)) <= LONGEST * book_characters(problem)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_form_agrees(name):
    problem = PROBLEMS[name]()
    found = ap.agree(problem.system, states=3, parameters=driven(problem.system), **problem.options)
    assert found.ok, str(found)


@pytest.mark.parametrize("name", PROBLEMS)
def test_planted_errors_are_named(name):
    """Two errors in one form of each problem, others in turn; all errors in all forms: make planted-errors."""
    forms = list(variants(name))
    place = list(PROBLEMS).index(name)
    for error in ("first equation missing", list(ERRORS)[1 + place % (len(ERRORS) - 1)]):
        form, names = next((one for one in forms[place % len(forms) :] + forms if spoils(name, *one, error)), (None, ()))
        if form is not None:
            assert refused(name, form, names, error), (form.name, error)


def test_no_equation_at_all_is_refused():
    """One coordinate, and its equation is left out."""
    assert refused("pendulum drawn in", FORMS["lagrange"], (), "first equation missing")


def test_a_chain_of_trailers_has_a_mass():
    equations = PROBLEMS["trailers 2"]().derive()
    shown = equations.text()
    assert "M v̇ + v Ṁ/2 = 0" in shown and "θ̇₂ = −v sin(θ₂ − θ₁) cos(θ₁ − θ₀)/l" in shown
    assert len(equations.equations) == 2  # named on the page only


def test_coefficients_that_are_constants():
    """A gyroscope in gimbals: 362 characters times β̈ that are A + A₁."""
    first = PROBLEMS["gimbals of bodies"]().derive().equations[0]
    assert text(first.lhs).startswith("β̈ (A + A₁) + ")


def test_a_row_that_fixes_a_coordinate_is_used():
    problem = PROBLEMS["hoop on a cylinder"]()
    theta = problem.system.coordinates[1]
    R, r, g = (next(s for s in problem.system.parameters if str(s) == name) for name in "Rrg")
    assert sympy.simplify(problem.derive().solve()[theta.dd] - g * sin(theta) / (2 * (R + r))) == 0


def test_solutions_of_the_roller_racer_have_no_pole_that_depends_on_its_direction():
    """det K changes its sign with sin φ, where independent velocities end; no divisor may vanish with the direction θ."""
    problem = PROBLEMS["roller racer"]()
    theta, phi = problem.system.coordinates[2:]
    values = {p: 0.5 + 0.3 * k for k, p in enumerate(problem.system.parameters)}
    names: dict = {}
    for e in lines(problem.derive(), "solved"):
        names[e.lhs] = e.rhs
        for power in e.rhs.atoms(sympy.Pow):
            if power.exp.is_negative and power.base.has(theta, *(s for s in names if "k" in str(s))):
                opened = power.base
                while opened.free_symbols & set(names):
                    opened = opened.xreplace(names)
                f = sympy.lambdify(theta, opened.xreplace({**values, phi: 0.9}), "numpy")
                if opened.free_symbols <= {theta, phi, *values}:
                    signs = np.sign(f(np.linspace(0, 2 * np.pi, 50)) * np.ones(50))
                    assert abs(signs.sum()) == 50, power.base


a, b, c = ap.coordinates("a b c")
m, J = ap.parameters("m J", positive=True)
PRODUCTS = [
    (sin(a) * cos(c) + sin(b) * cos(b) * cos(a + c) - sin(a + c) * cos(b) ** 2, sin(b - c) * cos(a - b)),
    (cos(a) ** 4 - cos(2 * a), sin(a) ** 4),
    (m * sin(a) * cos(b) - m * cos(a) * sin(b), m * sin(a - b)),
    (m * cos(a) * cos(b) + J * sin(a) * sin(b), m * cos(a) * cos(b) + J * sin(a) * sin(b)),
    (m * sin(a) ** 2 + m * cos(a) ** 2, m),
]


@pytest.mark.parametrize(("long", "short"), PRODUCTS)
def test_sums_of_waves_are_products(long, short):
    assert as_wave_product(long) == short


def test_products_of_waves_are_equal_to_their_sums():
    rng = np.random.default_rng(2)
    angles, at = [a, b, c, a - b, b - c, a + b, 2 * a], {a: 0.37, b: 1.13, c: -0.71, m: 1.3, J: 0.4}
    for _ in range(40):
        waves = [(sin, cos)[rng.integers(2)](angles[rng.integers(7)]) for _ in range(rng.integers(1, 4))]
        long = sympy.expand(sympy.expand_trig(sympy.Mul(*waves) * (m + J)) + rng.integers(2) * m * cos(a) * sin(b))
        assert float(abs(sympy.N((with_wave_products(long) - long).xreplace(at)))) < 1e-12


# -- rates of a quaternion on other axes ----------------------------------------------------------------------------------


def ball_on_axes(**options):
    r, g = ap.parameters("r g", positive=True)
    phi, z = ap.coordinates("phi z")
    n, e = Matrix([cos(phi), sin(phi), 0]), Matrix([-sin(phi), cos(phi), 0])
    axes = {"axes": [n, e, [0, 0, 1]]} if options.pop("moving", False) else {}
    q = ap.quaternion("q", **axes, **options)
    body = ap.RigidBody(m, [J, J, J], [2 * r * cos(phi), 2 * r * sin(phi), z], q)
    v = body.point_velocity(list(r * n), frame="space")
    rows = [ap.Constraint(v.dot(e), "around"), ap.Constraint(v[2], "along")]
    return ap.System([phi, z, q], potential=m * g * z, bodies=[body], constraints=rows), body


@pytest.mark.parametrize("options", [{}, {"axes": "space"}, {"moving": True}])
def test_axes_of_rates_change_nothing_but_the_page(options):
    """The ball in a cylinder: z̈ and φ̈ at one state, whatever axes its angular velocity is given on."""
    system, body = ball_on_axes(**options)
    phi, z = system.coordinates[:2]
    p = {"m": 1.1, "J": 0.03, "r": 0.2, "g": 9.81}
    spin = [0.7, 0.2, -2 * 1.5]  # on inertial axes, with φ = 0 and the quaternion at rest
    rates = dict(zip(body.orientation.rates, spin, strict=True))
    start = {phi: 0.0, z: 0.1, phi.d: 1.5, z.d: 0.2 * 0.2, **rates}
    run = ap.compile(system, p, backend="vm")
    names = {str(s): float(x) for s, x in start.items()}
    q = [names.get(str(s), 1.0 if str(s) == "q_w" else 0.0) for s in system.positions]
    v = [names[str(s)] for s in system.velocities]
    acceleration = run.acceleration(0.0, np.array(q), np.array(v))[0]
    found = dict(zip(map(str, system.velocities), acceleration, strict=True))
    k = 0.03 / (0.03 + 1.1 * 0.2**2)
    assert found["phi.d"] == pytest.approx(0.0, abs=1e-12)
    assert found["z.d"] == pytest.approx(-(1 - k) * 9.81 - k * 0.2 * 0.7 * 1.5)


def test_a_ball_in_a_cylinder_is_three_lines():
    system, _ = ball_on_axes(moving=True, rates="omega_n omega_e omega_z")
    shown = ap.forms.hamel(system).equations
    assert len(shown) == 3 and sum(len(text(e.lhs)) for e in shown) < 120


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axes": "spaces"}, "are 'body', 'space' or three"),
        ({"axes": [[1, 0, 0], [0, 1, 0]]}, "three unit vectors"),
        ({"axes": [[1, 0, 0], [0, 1, 0], [0, 1, 1]]}, "at right angles"),
        ({"rates": "p q"}, "three different names"),
    ],
)
def test_axes_that_are_none_are_refused(options, message):
    with pytest.raises(ap.ModelError, match=message):
        ap.quaternion("q", **options)


def test_a_body_has_the_axes_of_its_coordinates():
    q = ap.quaternion("q", axes="space")
    with pytest.raises(ap.ModelError, match="other axes"):
        ap.System([ap.quaternion("q")], bodies=[ap.RigidBody(m, [J, J, J], [0, 0, 0], q)])


def test_a_body_of_different_moments_has_any_axes():
    A, B, C = ap.parameters("A B C", positive=True)
    q = ap.quaternion("q", axes="space")
    body = ap.System([q], bodies=[ap.RigidBody(m, [A, B, C], [0, 0, 0], q)])
    assert ap.agree(body, states=2, forms=["lagrange", "kane"]).ok


def test_factors_i_of_waves_leave_no_trace_on_a_page():
    """Maggi's equations of three trailers: a product of a sum of sines, which is i times a real sum of exponentials."""
    problem = PROBLEMS["trailers 3"]()
    found = FORMS["maggi"].derive(problem.system.symbolic(), pseudo=problem.options["pseudo"])
    assert not any(line.has(sympy.I) for line in found.equations)
