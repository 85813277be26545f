"""Prescribed functions of time: in every form, in runs on every back end, as expressions, tables and functions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sympy
from sympy import cos, sin
from sympy.physics import mechanics

import appell as ap
from appell.tabulated import Tabulated, from_callable, from_table

x, y, phi = ap.coordinates("x y phi")
f = ap.prescribed("f")
m, l, g, k = ap.parameters("m l g k", positive=True)
u = ap.speeds("u")
ball = ap.quaternion("b")
SYSTEMS = {
    "pivot": ap.System([phi], bodies=[ap.Particle(m, [f + l * sin(phi), -l * cos(phi)])], potential=-m * g * l * cos(phi)),
    "rod": ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[x**2 + y**2 - f**2]),
    "blade": ap.System(
        [x, y, phi], m * (x.d**2 + y.d**2) / 2 + l * phi.d**2 / 2, 0, {phi: f},
        constraints=[x.d * sin(phi) - y.d * cos(phi) - f.d * cos(x)],
    ),
    "speed": ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[x.d**2 + y.d**2 - f**2]),
    "acceleration": ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[x.dd + y * y.dd - f.dd]),
    "moving axes": ap.System([x, phi], m * (x.d + f * phi.d) ** 2 / 2 + l * phi.d**2 / 2 * (2 + f.d**2), k * x**2 * f),
    "speeds": ap.System([x], m * u**2 / 2, k * x**2 / 2, speeds=[u], kinematics={x: 2 * u + f.d}),
    "body": ap.System([ball], bodies=[ap.RigidBody(m, [1, 2, 2.5], [f, f**2, 0], ball)], forces={ball.rates[0]: f}),
    "wall": ap.System([x, y], m * (x.d**2 + y.d**2 + f * x.d * y.d / 4) / 2, 0, constraints=[ap.Unilateral(x - f, "wall")]),
}  # fmt: skip
PIVOT, VALUES = SYSTEMS["pivot"], {m: 1.0, l: 1.0, g: 9.81}
TIMES = np.linspace(0, 2, 81)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_form_agrees_with_the_system_driven_by_some_function(name):
    table = ap.agree(SYSTEMS[name], states=2)
    assert table.ok, str(table)


def test_forms_show_the_function_and_its_derivatives():
    equations = ap.forms.lagrange(PIVOT)
    assert equations.equations[0].lhs.has(f.dd)
    a, _ = equations.acceleration(0.4, [0.3], [0.1], {**VALUES, f: sin(3 * ap.t)})
    np.testing.assert_allclose(a, 9 * np.sin(1.2) * np.cos(0.3) - 9.81 * np.sin(0.3), rtol=1e-12)
    pseudo = ap.forms.appell(PIVOT, pseudo={"w": phi.d + f.d})
    np.testing.assert_allclose(pseudo.acceleration(0.4, [0.3], [0.1], {**VALUES, f: sin(3 * ap.t)})[0], a, rtol=1e-12)


GIVEN = {
    "expression": (sin(3 * ap.t) / 5, 1e-9),
    "table": ((TIMES, np.sin(3 * TIMES) / 5), 3e-7),
    "function": (lambda t: np.sin(3 * t) / 5, 1e-8),
}


@pytest.mark.parametrize("kind", GIVEN)
@pytest.mark.parametrize("options", [{"backend": "c"}, {"backend": "vm"}], ids=["c", "vm"])
def test_runs_are_those_of_the_written_out_system(kind, options):
    value, tolerance = GIVEN[kind]
    written = ap.System([phi], (l * phi.d * (l * phi.d + sympy.Rational(6, 5) * cos(3 * ap.t) * cos(phi))) * m / 2,
                        -m * g * l * cos(phi))  # fmt: skip
    expected = ap.simulate(written, {phi: 0.3}, 2.0, VALUES, rtol=1e-11)
    motion = ap.simulate(PIVOT, {phi: 0.3}, 2.0, {**VALUES, f: value}, **options)
    assert motion.ok and motion[phi][-1] == pytest.approx(expected[phi][-1], abs=tolerance)
    np.testing.assert_allclose(motion[f], np.sin(3 * motion.t) / 5, atol=1e-9)
    np.testing.assert_allclose(motion["f"], motion[f])
    np.testing.assert_allclose(motion[f.dd], -9 / 5 * np.sin(3 * motion.t), atol=2e-4)
    assert np.abs(motion.energy_error).max() < 1e-6  # with the power of the driving in the balance
    stated = [note for note in motion.notes if note.kind == "table"]
    assert bool(stated) == (kind != "expression") and all("error is about" in note for note in stated)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(motion))[f.d], motion[f.d])


def test_taylor_takes_expressions():
    motion = ap.simulate(PIVOT, {phi: 0.3}, 1.0, {**VALUES, f: sin(3 * ap.t) / 5}, method="taylor", backend="vm")
    other = ap.simulate(PIVOT, {phi: 0.3}, 1.0, {**VALUES, f: sin(3 * ap.t) / 5}, rtol=1e-11)
    assert motion[phi][-1] == pytest.approx(other[phi][-1], abs=1e-8)


def test_cases_that_join_smoothly_are_understood():
    """f = (t − 1)² from t = 1 on, said in four ways; δ(t − 1) (t − 1)² is nothing."""
    late = ap.t - 1
    ways = [sympy.Heaviside(late) * late**2, sympy.Max(0, late) ** 2, (late * sympy.Abs(late) + late**2) / 2]
    ways += [sympy.Piecewise((0, ap.t < 1), (late**2, True))]
    ends = [ap.simulate(PIVOT, {phi: 0.3}, 2.0, {**VALUES, f: way}, backend="vm")[phi][-1] for way in ways]
    np.testing.assert_allclose(ends, ends[-1], atol=1e-8)


def test_parameters_inside_the_function():
    a, w = ap.parameters("a w", positive=True)
    one = ap.simulate(PIVOT, {phi: 0.3}, 1.0, {**VALUES, f: a * sin(w * ap.t) + k, a: 0.2, w: 3.0, k: 7.0})
    other = ap.simulate(PIVOT, {phi: 0.3}, 1.0, {**VALUES, "f": sin(3 * ap.t) / 5})
    assert one[phi][-1] == pytest.approx(other[phi][-1], abs=1e-9)


def test_rest_and_linear_motion_with_a_constant():
    system = ap.System([x], m * x.d**2 / 2, k * (x - f) ** 2 / 2)
    values = {m: 2.0, k: 8.0, f: 0.7}
    assert ap.equilibrium(system, {x: 0}, values).start[x] == pytest.approx(0.7)
    np.testing.assert_allclose(np.abs(ap.linearize(system, at={x: 0.7}, parameters=values).eigenvalues), 2.0)


def test_a_model_of_sympy_with_a_given_function():
    q, given = mechanics.dynamicsymbols("q f")
    mass = sympy.symbols("m")
    L = mass * (q.diff() + given.diff()) ** 2 / 2 - mass * q**2 / 2
    system = ap.from_sympy(mechanics.LagrangesMethod(L, [q]))
    assert system.prescribed == (f,)
    motion = ap.simulate(system, {}, 1.0, {"m": 1.0, f: ap.t**2})  # q̈ + q = −2
    np.testing.assert_allclose(motion["q"], -2 * (1 - np.cos(motion.t)), atol=1e-8)


WRONG = [
    ({}, "no value for the prescribed function 'f'"),
    ({f: ([0, 1, 2], [0, 1, 0])}, "needs 2 derivatives of 'f'"),
    ({f: (TIMES / 2, TIMES)}, r"values over 0 … 1 s only.*t = 2"),
    ({f: ([0, 2, 1, 3, 4, 5], [0] * 6)}, "must increase; 2 is followed by 1"),
    ({f: ([0, 1], [0, 1, 2])}, "2 times and 3 values"),
    ({f: ([0.0, np.nan], [0, 1])}, "not finite"),
    ({f: x}, "contains x"),
    ({f: "sin(t)"}, "must be a SymPy expression"),
    ({f: lambda t: abs(t - 1.234)}, "needs 2 derivatives"),
    ({f: lambda t: float(t > 1.234)}, "needs 2 derivatives"),
    ({f: lambda t: abs(t - 1)}, "needs 2 derivatives"),  # a kink where two pieces of the fit meet
    ({f: sympy.Abs(ap.t - 1)}, "first derivative of time given for it jumps"),
    ({f: sympy.Piecewise((0, ap.t < 1), (1, True))}, "the function of time given for it jumps"),
    ({f: lambda t: np.sin(1e5 * t)}, "kinks, jumps or noise"),
    ({f: lambda t: 1 / 0}, "fails at t"),
    ({f: lambda t: np.inf}, "not finite at t"),
    ({f.d: 1}, "follows from that of f"),
    ({f: 1, "f": 1}, "given twice"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_values_that_cannot_serve_are_refused(case):
    given, message = WRONG[case]
    with pytest.raises(ap.ModelError, match=message):
        ap.simulate(PIVOT, {phi: 0.3}, 2.0, {**VALUES, **given})


def test_functions_are_asked_for_within_their_span_only():
    """(last − apart) + apart may exceed last by the rounding of the larger one: here by 1e-22 s."""
    asked: list[float] = []
    from_callable("f", lambda s: asked.append(s) or np.sin(s), (-3.0, 1e-6))
    assert min(asked) >= -3.0 and max(asked) <= 1e-6


def test_outside_the_table_there_is_no_value():
    run = ap.compile(PIVOT, {**VALUES, f: (TIMES, TIMES**2)}, backend="vm")
    np.testing.assert_allclose(run.acceleration(1.0, [0.1], [0.0])[0], -2 * np.cos(0.1) - 9.81 * np.sin(0.1), rtol=1e-9)
    with pytest.raises(ap.SingularConfiguration, match="f is a spline of degree 5 through 81 points over 0 … 2 s"):
        run.acceleration(2.5, [0.1], [0.0])
    with pytest.raises(ap.ModelError, match="over which times"):
        ap.compile(PIVOT, {**VALUES, f: np.sin})


@pytest.mark.parametrize("points", [2, 3, 4, 6, 40, 1000])
def test_splines_pass_through_their_points_and_state_their_error(points):
    t = np.sort(np.random.default_rng(points).uniform(0, 3, points))
    pieces = from_table("f", t, np.cos(2 * t))
    value = lambda at, order=0: np.array([pieces.value(s, order, float) for s in at])
    np.testing.assert_allclose(value(t), np.cos(2 * t), atol=1e-12 if points < 1000 else 1e-8)
    even = np.linspace(0, 3, 31)
    pieces = from_table("f", even, np.cos(2 * even))
    between = np.linspace(0, 3, 313)
    missed = np.abs(value(between) - np.cos(2 * between)).max()
    assert missed <= 20 * pieces.error < 1e-3
    slope = Tabulated(pieces, ap.t, 0).diff(ap.t)
    assert float(slope.xreplace({ap.t: sympy.Float(1.0)}).evalf()) == pytest.approx(-2 * np.sin(2.0), abs=1e-5)


def test_functions_are_fitted_to_rounding():
    pieces = from_callable("f", lambda t: np.exp(np.sin(5 * t)), (0, 4))
    at = np.linspace(0, 4, 777)
    missed = max(abs(pieces.value(s, 0, float) - np.exp(np.sin(5 * s))) for s in at)
    assert missed < 1e-11 and pieces.error < 1e-12
