"""Named, shaped outputs; rows with their towers; the choice of a solve policy; Gauss's minimum."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.optimize import minimize_scalar
from sympy import cos, sin

from appell import zoo
from appell.compiled.compiling import compile
from appell.errors import ModelError
from appell.jets import coordinates, parameters, t
from appell.model import Constraint, System
from appell.normal_form import OUTPUTS, normal_form
from appell.normal_form.manifold import find, project, residuals
from appell.normal_form.policy import choose
from appell.rows import CHOLESKY, LU, RANK

x, y, z = coordinates("x y z")
m = parameters("m", positive=True)
T = m * (x.d**2 + y.d**2 * (2 + sin(x)) + z.d**2) / 2

ROWS = [
    Constraint(z * x.dd - y.d**2, name="second"),
    Constraint(x**2 + y - sin(t), name="place"),
    Constraint(x.d * sin(y) + z.d - t * x, name="rate"),
]


def system(**changes) -> System:
    return System([x, y, z], **{"kinetic": T, "potential": m * x * y, "forces": {z: -z.d}, "constraints": ROWS, **changes})


STATE = 0.3, np.array([0.4, -0.2, 0.7]), np.array([1.1, 0.3, -0.5]), np.array([1.7])


def test_every_output_has_its_shape():
    form = normal_form(system())
    shapes = {
        "M": (3, 3), "h": (3,), "Q": (3,), "forces": (3,), "A": (3, 3), "a0": (3,), "W": (3, 3), "N": (3, 3), "n0": (3,),
        "qd": (3,), "f0": (1,), "f0_scale": (1,), "f1": (2,), "f1_scale": (2,), "A0": (1, 3), "A1": (2, 3), "T": (),
        "V": (), "H": (), "r": (0,), "r_a": (0, 3), "r_aa": (0, 9),
    }  # fmt: skip
    for name, shape in shapes.items():
        assert name in OUTPUTS
        assert form.select(name)(*STATE)[name].shape == shape, name
    with pytest.raises(ModelError, match=r"no output \['mass'\]; it has"):
        form.select("mass")


def test_empty_things_keep_their_shape():
    form = normal_form(system(constraints=[]))
    out = form.select("A", "a0", "W", "f0", "f1", "A0", "A1")(*STATE)
    assert {k: v.shape for k, v in out.items()} == {
        "A": (0, 3), "a0": (0,), "W": (3, 0), "f0": (0,), "f1": (0,), "A0": (0, 3), "A1": (0, 3),
    }  # fmt: skip
    a, lam = compile(system(constraints=[]), {m: 1.7}, backend="vm").acceleration(*STATE[:3])
    assert a.shape == (3,) and lam.shape == (0,)


def test_rows_stay_in_the_order_of_the_constraints_with_their_levels():
    form = normal_form(system())
    table = [(row.constraint.name, row.level, row.index) for row in form.rows]
    assert table == [("second", 2, 0), ("place", 0, 1), ("rate", 1, 2)]


def test_towers_are_the_derivatives_of_the_residuals():
    """f, ḟ, f̈ against SymPy's total derivatives, at a random state with random accelerations."""
    sys_ = system()
    a = np.array([0.9, -1.3, 0.2])
    values = dict(zip((*sys_.coordinates, *sys_.velocities, *sys_.accelerations), (*STATE[1], *STATE[2], *a), strict=True))
    values |= {t: STATE[0], m: 1.7}
    number = lambda e: float(e.subs(values))
    out = normal_form(sys_).select("f0", "f1", "A", "a0")(*STATE)
    second, place, rate = sys_.residuals
    d = sys_.total_derivative
    assert out["f0"] == pytest.approx([number(place)], abs=1e-14)
    assert out["f1"] == pytest.approx([number(d(place)), number(rate)], abs=1e-14)
    top = [number(second), number(d(d(place))), number(d(rate))]
    assert out["A"] @ a + out["a0"] == pytest.approx(top, abs=1e-14)


def test_scale_is_the_size_of_the_terms():
    out = normal_form(system()).select("f0_scale")(*STATE)
    assert out["f0_scale"] == pytest.approx([np.sqrt((2 * 0.4**2) ** 2 + 0.2**2 + np.sin(0.3) ** 2)])


def test_normal_form_is_derived_once():
    one = system()
    assert normal_form(one) is normal_form(one) and normal_form(one).select("M") is normal_form(one).select("M")


@pytest.mark.parametrize(
    ("rows", "kind", "redundant", "massless"),
    [
        (ROWS[1:], CHOLESKY, 0, False),
        ([*ROWS[1:], Constraint(3 * ROWS[2].residual, name="again")], RANK, 1, False),
        ([Constraint(x.d - y, name="servo", reaction={x: 1, z: 1})], LU, 0, False),
        ([Constraint(z - x * y, name="follower")], CHOLESKY, 0, True),
    ],
)
def test_policy(rows, kind, redundant, massless):
    kinetic = m * (x.d**2 + y.d**2) / 2 if massless else T
    form = normal_form(system(kinetic=kinetic, constraints=rows))
    policies = choose(form, np.array([1.7]))
    assert policies.acceleration.kind == kind and len(policies.redundant) == redundant
    assert (policies.acceleration.gamma > 0) == massless


def test_rank_is_that_of_the_manifold_not_of_its_surroundings():
    """Rows that are parallel only where both hold: x = 0 and x + x² y = 0 have equal gradients at x = 0."""
    form = normal_form(system(constraints=[Constraint(x, name="a"), Constraint(x + x**2 * y, name="b")]))
    assert len(choose(form, np.array([1.7])).redundant) == 1


@pytest.mark.parametrize("name", [n for n in sorted(zoo.ALL) if zoo.ALL[n]().system.constraints])
def test_states_of_the_manifold_are_found(name):
    example = zoo.ALL[name]()
    form = normal_form(example.system)
    p = np.array([example.parameters[s] for s in example.system.parameters])
    states = find(form, p, seed=1)
    assert len(states) == 3
    assert all(residuals(form, *state, p).relative < 1e-11 for state in states)


def test_projection_is_idempotent_and_least():
    """A second projection moves nothing; the first moves in the M-orthogonal complement of the kernel of A."""
    form, p = normal_form(system(constraints=ROWS[1:])), np.array([1.7])
    q, v = project(form, *STATE)
    again = project(form, STATE[0], q, v, p)
    assert again[0] == pytest.approx(q, abs=1e-14) and again[1] == pytest.approx(v, abs=1e-14)
    off = v + np.array([0.3, -0.2, 0.4])
    _, back = project(form, STATE[0], q, off, p)
    out = form.select("M", "A1")(STATE[0], q, v, p)
    Z = np.linalg.svd(out["A1"])[2][2:].T
    assert Z.T @ out["M"] @ (back - off) == pytest.approx(np.zeros(1), abs=1e-8)  # M is regularised by 1e-9
    assert residuals(form, STATE[0], q, back, p).relative < 1e-14


# --- rows nonlinear in the accelerations ------------------------------------------------------------------------------


@pytest.mark.parametrize("y0", [-2.0, -0.4, 0.1, 0.5, 1.0, 3.0])
def test_gauss_takes_the_global_minimum(y0):
    """½ Σ m (a − F/m)² on the circle |a| = w, by a search over the angle."""
    example = zoo.constant_acceleration()
    run = compile(example.system, example.parameters, backend="vm")
    m1, m2, k, w, F = 1.0, 2.0, 3.0, 2.0, 0.5
    a, lam = run.acceleration(0.0, [0.0, y0], [0.0, 0.0])
    force = np.array([F, -k * y0])

    def compulsion(angle):
        b = w * np.array([np.cos(angle), np.sin(angle)])
        return 0.5 * (m1 * (b[0] - force[0] / m1) ** 2 + m2 * (b[1] - force[1] / m2) ** 2)

    grid = np.linspace(-np.pi, np.pi, 721)
    best = grid[np.argmin([compulsion(s) for s in grid])]
    best = minimize_scalar(compulsion, bounds=(best - 0.02, best + 0.02), method="bounded", options={"xatol": 1e-12}).x
    assert a == pytest.approx(w * np.array([np.cos(best), np.sin(best)]), abs=1e-6)  # a minimum is flat: √1e-13
    assert np.hypot(*a) == pytest.approx(w, rel=1e-12)
    assert np.diag([m1, m2]) @ a - force == pytest.approx(lam[0] * a, abs=1e-9) and lam[0] < m1


def test_linear_second_order_row_is_gauss_projection():
    """The least compulsion on A a = 0 by the projector in the M-metric."""
    row = Constraint(x * y.dd + z.dd, name="row")
    run = compile(system(constraints=[row]), {m: 1.7}, backend="vm")
    a, lam = run.acceleration(*STATE[:3])
    out = run.form.select("M", "h", "Q")(*STATE)
    M, free = out["M"], np.linalg.solve(out["M"], out["Q"] - out["h"])
    A = np.array([[0.0, 0.4, 1.0]])
    expected = free - np.linalg.solve(M, A.T) @ np.linalg.solve(A @ np.linalg.solve(M, A.T), A @ free)
    assert a == pytest.approx(expected, abs=1e-12)
    assert A.T @ lam == pytest.approx(M @ a - out["Q"] + out["h"], abs=1e-12)


def test_lowered_functions():
    """Functions that a person may use have the values of SymPy's own."""
    s = system(constraints=[])
    names = [sympy.tan(x), sympy.atan2(y, x), sympy.exp(-x), sympy.log(2 + x), sympy.sqrt(2 + y), sympy.Abs(y),
             sympy.tanh(z), sympy.Max(x, y, z), sympy.Piecewise((x, x > 1), (y, True)), x ** sympy.Rational(-3, 2),
             (2 + y) ** sympy.Rational(1, 3), sympy.Mod(y, 1), sympy.sign(y), 2**x, cos(x) ** -2, sympy.sinc(z)]  # fmt: skip
    values = dict(zip((x, y, z), STATE[1], strict=True))
    for expression in names:
        got = normal_form(s).lowered(expression)(*STATE)["value"]
        assert float(got) == pytest.approx(float(expression.subs(values)), rel=1e-14), expression
