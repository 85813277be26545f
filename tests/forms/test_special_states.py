"""Solutions have the poles of their problem and no others: at 0, π/2, π and equal angles they are what the numbers say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy
from sympy import cos, pi, sin
from tests.forms.solutions_at_special_states import compared, systems

import appell as ap
from appell.forms.engine.book_fractions import divided_by_terms
from appell.forms.engine.diagonal_blocks import diagonal_blocks
from appell.forms.engine.evaluation import Tape, arithmetic
from appell.forms.engine.special_states import has_new_poles, lost
from appell.forms.engine.symbolic_solve import solve
from appell.forms.engine.work_budget import WorkBudget
from appell.jets import total_derivative

m, J, I, l, r, g = ap.parameters("m J I l r g", positive=True)


def blade():
    x, y, phi = ap.coordinates("x y phi")
    row = ap.Constraint(y.d * cos(phi) - x.d * sin(phi), "blade")
    return ap.System([x, y, phi], m * (x.d**2 + y.d**2) / 2 + J * phi.d**2 / 2, constraints=[row])


def unicycle():
    x, y, phi, turn = ap.coordinates("x y phi turn")
    rows = [ap.Constraint(x.d - r * turn.d * cos(phi), "along x"), ap.Constraint(y.d - r * turn.d * sin(phi), "along y")]
    return ap.System([x, y, phi, turn], m * (x.d**2 + y.d**2) / 2 + (J * phi.d**2 + I * turn.d**2) / 2, constraints=rows)


def wheel_with_pendulum():
    x, y, turn, theta = ap.coordinates("x y turn theta")
    bob = (x + l * sin(theta), y - l * cos(theta))
    T = I * turn.d**2 / 2 + m * (x.d**2 + y.d**2) / 2 + m * sum(total_derivative(z) ** 2 for z in bob) / 2
    rows = [ap.Constraint(x.d - r * turn.d, "rolls"), ap.Constraint(y - r, "height")]
    return ap.System([x, y, turn, theta], T, m * g * (y + bob[1]), constraints=rows)


def trailer():
    x, y, a, b = ap.coordinates("x y a b")
    X, Y = (total_derivative(z) for z in (x - l * cos(b), y - l * sin(b)))
    T = m * (x.d**2 + y.d**2 + X**2 + Y**2) / 2 + J * (a.d**2 + b.d**2) / 2
    rows = [ap.Constraint(x.d * sin(a) - y.d * cos(a), "front"), ap.Constraint(X * sin(b) - Y * cos(b), "rear")]
    return ap.System([x, y, a, b], T, constraints=rows)


def four_bar():
    p, q, s = ap.coordinates("p q s")
    T = m * l**2 * (p.d**2 + q.d**2 + s.d**2 + p.d * q.d * cos(p - q)) / 2
    rows = [ap.Constraint(l * (cos(p) + 2 * cos(q) - cos(s)) - r, "x"), ap.Constraint(sin(p) + 2 * sin(q) - sin(s), "y")]
    return ap.System([p, q, s], T, constraints=rows)


def states(system, seed):
    """Special and random states; velocities on the rows, so that every form means the same."""
    rng = np.random.default_rng(seed)
    turns = [sympy.Integer(0), pi / 2, pi, sympy.Rational(7, 10)]
    places = [rng.choice(4, system.nq) for _ in range(6)] + [np.full(system.nq, 3), np.zeros(system.nq, int)]
    for place in places:
        q = [turns[k] for k in place]
        yield q, [sympy.Rational(int(rng.integers(-9, 10)), 7) for _ in system.velocities]
    for _ in range(2):
        yield [sympy.Rational(int(k), 10) for k in rng.integers(1, 12, system.nq)], [sympy.Rational(1, 3)] * system.nv


def allowed(system, values):
    """The velocities nearest to those given that satisfy the rows, or None."""
    v = list(system.velocities)
    rows = [total_derivative(f) if c.order == 0 else f for c, f in zip(system.constraints, system.residuals, strict=True)]
    slopes, at_rest = sympy.Matrix(rows).jacobian(v), sympy.Matrix(rows).xreplace(dict.fromkeys(v, sympy.Integer(0)))
    A, b = (part.xreplace(values).evalf(45, chop=True) for part in (slopes, at_rest))
    if np.linalg.matrix_rank(np.array(A, float)) < len(rows):
        return None
    start = sympy.Matrix([values[s] for s in v])
    return dict(zip(v, start - A.T * (A * A.T).LUsolve(A * start + b), strict=True))


@pytest.mark.parametrize("make", [blade, unicycle, wheel_with_pendulum, trailer, four_bar], ids=lambda f: f.__name__)
def test_solutions_at_special_states(make):
    system, numbers, compared = make(), arithmetic(30), 0
    parameters = {p: sympy.Rational(k + 5, 4) for k, p in enumerate(system.parameters)}
    for form in (ap.forms.lagrange, ap.forms.maggi):
        equations = form(system)
        solution = equations.solve(budget=1.0)
        wanted = [a for a in system.accelerations if a in solution]
        tape, coefficients = Tape([solution[a] for a in wanted]), Tape([*equations.coefficients[0], *equations.coefficients[1]])
        for q, v in states(system, 1):
            state = {ap.t: sympy.Integer(0), **parameters, **dict(zip(system.coordinates, q, strict=True))}
            velocities = allowed(system, state | dict(zip(system.velocities, v, strict=True)))
            if velocities is None:
                continue
            state = {s: sympy.N(x, 45) for s, x in (state | velocities).items()}
            try:
                known = equations.solution(state, 30)
            except ap.SingularConfiguration:
                continue
            values = {s: numbers.number(x) for s, x in known.items()}
            if max(map(abs, coefficients(values, numbers))) > 1e20:
                continue  # a pole of the form itself: its velocities are not independent here
            found = tape(values, numbers)
            assert [abs(x - known[a]) < 1e-20 for a, x in zip(wanted, found, strict=True)] == [True] * len(wanted), (form, q)
            compared += 1
    assert compared > 10


def test_a_sleigh_that_starts_along_an_axis():
    """In the pseudo-velocities v and ω: at φ = 0 the acceleration ÿ is v ω, at φ = π/2 ẍ is −v ω."""
    system = blade()
    x, y, phi = system.coordinates
    equations = ap.forms.kane(system, pseudo={"v": x.d * cos(phi) + y.d * sin(phi), "w": phi.d})
    found = equations.solve()
    v, w = (next(s for s in found[y.dd].free_symbols if str(s) == name) for name in "vw")
    assert sympy.simplify(found[y.dd].xreplace({phi: sympy.Integer(0)}) - v * w) == 0
    assert sympy.simplify(found[x.dd].xreplace({phi: pi / 2}) + v * w) == 0


def test_divisors_that_change_their_sign_are_counted():
    assert lost(np.array([1.0, 2.0, 0.5])) == 0
    assert lost(np.array([1.0, 2.0, -0.5])) == 1
    assert lost(np.array([1.0, 0.0, np.nan, 4.0])) == 2


def test_a_shorter_text_with_a_pole_is_known():
    x = ap.coordinates("x")
    assert has_new_poles(cos(x) * x.d, sin(x) * cos(x) * x.d / sin(x) + 0 * x) is False  # SymPy divides by itself
    assert has_new_poles(cos(x), sympy.sin(2 * x) / (2 * sin(x)))
    assert not has_new_poles(1 / x, (1 + x) / x - 1)


@pytest.mark.parametrize(("a", "b"), list(itertools.product([0, 1], repeat=2)))
def test_blocks_are_solved_without_a_division_by_their_entries(a, b):
    """(cos θ, sin θ; −sin θ, cos θ) x = (a, b): every entry vanishes somewhere, the determinant nowhere."""
    theta = ap.coordinates("theta")
    u, w = sympy.symbols("u w")
    K = sympy.Matrix([[cos(theta), sin(theta)], [-sin(theta), cos(theta)]])
    found = solve(K, sympy.Matrix([a, b]) * 1, [u, w], WorkBudget(1.0))
    for angle in (sympy.Integer(0), pi / 2, pi, sympy.Rational(1, 3)):
        exact = K.T.xreplace({theta: angle}) * sympy.Matrix([a, b])
        gaps = [sympy.simplify(found[s].xreplace({theta: angle}) - e) for s, e in zip((u, w), exact, strict=True)]
        assert gaps == [0, 0]


def test_an_entry_that_is_in_no_term_of_the_determinant_is_no_pivot():
    """p a = 1, e a + p c = 2: det K is p². The short e vanishes where cos α = −1 and sin β = 1, at no state that is tried."""
    alpha, beta = ap.coordinates("alpha beta")
    a, c = sympy.symbols("a c")
    p, e = 3 + cos(alpha) * sin(beta) + l**2 * cos(beta) ** 2 + m**2 * sin(alpha) ** 2, 2 + cos(alpha) - sin(beta)
    found = solve(sympy.Matrix([[p, 0], [e, p]]), sympy.Matrix([1, 2]), [a, c], WorkBudget(1.0))
    at = {alpha: pi, beta: pi / 2}
    assert e.xreplace(at) == 0
    assert [found[s].xreplace(at) for s in (a, c)] == [sympy.Rational(1, 2), 1]


def test_a_determinant_that_is_small_at_a_state_is_no_reason_against_its_block():
    """Beside a singular state of the problem the determinant is small, and every pivot may be."""
    values = np.array([3.0, 1e-12, 2.0])
    assert lost(values) == 1
    assert lost(values, values) == 0
    assert lost(np.array([3.0, 0.0, 2.0]), values) == 1
    assert lost(values, np.array([1.0, 1.0, 1.0])) == 1


@pytest.mark.parametrize(
    ("present", "blocks"),
    [
        ([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [((0, 1, 2), (0, 1, 2))]),
        ([[0, 1, 0], [1, 1, 1], [0, 0, 1]], [((0,), (1,)), ((2,), (2,)), ((1,), (0,))]),
        ([[1, 1], [1, 1], [1, 0]], [((0, 1, 2), (0, 1))]),
        ([[1, 1], [0, 0]], [((0, 1), (0, 1))]),
    ],
)
def test_blocks_of_a_triangular_form(present, blocks):
    assert set(diagonal_blocks(np.array(present, dtype=bool))) == set(blocks)


@pytest.mark.parametrize("make", [blade, unicycle])
def test_a_form_has_no_answer_where_its_own_velocities_are_singular_but_for_rounding(make):
    """sin π is 1e-16 in numbers, so that ẋ = ẏ/tan φ is finite there and says nothing: right, or refused."""
    system = make()
    values = dict(zip((m, J, I, l, r, g), (1.3, 0.7, 0.4, 1.1, 0.6, 9.81), strict=True))
    values = {p: values[p] for p in system.parameters}
    named = dict(zip(map(str, system.coordinates), system.velocities, strict=True))
    forms = [ap.forms.kane, ap.forms.hamel, ap.forms.voronets, ap.forms.chaplygin, ap.forms.maggi, ap.forms.udwadia_kalaba]
    pages = [ap.forms.lagrange(system)]
    for names in (["x", "phi"], ["y", "phi"]):
        independent = [named[n] for n in names]
        pages += [form(system, {f"u_{v.letter}": v for v in independent}) for form in forms[:2]]
        pages += [form(system, independent) for form in forms[2:4]] + [ap.forms.appell(system, independent=independent)]
    pages.append(forms[5](system))
    refused = 0
    for phi in (np.pi / 2, np.pi, -np.pi / 2, 2 * np.pi):
        speed = np.array([np.cos(phi), np.sin(phi), 0.0] + [1 / 0.6] * (system.nv - 3)) * 0.8
        speed[2] = 0.3
        at = np.zeros(system.nv)
        at[2] = phi
        want = pages[0].acceleration(0.0, at, speed, values)
        for page in pages[1:]:
            try:
                found = page.acceleration(0.0, at, speed, values)
            except ap.SingularConfiguration as error:
                refused += 1
                assert "do not determine" in str(error) or "not determined" in str(error)
                continue
            np.testing.assert_allclose(found[0], want[0], rtol=0, atol=1e-7, err_msg=page.form)
    assert 0 < refused < 4 * len(pages)


SAMPLE = [("euler_body", "hamilton"), ("rolling_coin", "voronets"), ("turning_knife_edge", "voronets"), ("ladder", "lagrange"),
          ("bouncing_ball", "routh"), ("hoop on a cylinder", "maggi"), ("Watt's governor", "hamilton")]  # fmt: skip


@pytest.mark.parametrize(("name", "form"), SAMPLE)
def test_displayed_solutions(name, form):
    """What `text("solved")` shows against the numeric answer; all systems and forms: make special-states."""
    for found in compared(name, [form], most=12):
        assert found.compared and not found.wrong, found.wrong[:2]


def test_every_system_has_displayed_solutions():
    for name in systems():
        if name not in ap.zoo.LARGE:
            for found in compared(name, ["lagrange", "hamilton", "voronets"], most=15):
                assert not found.wrong, (name, found.form, found.wrong[:2])


def test_a_sum_is_divided_by_what_stands_below_it():
    """(a + b tan θ)/tan θ is ∞/∞ at π/2, where a/tan θ + b has a value."""
    theta = ap.coordinates("theta")
    long = m * cos(theta) / sin(theta) + J
    assert has_new_poles(long, (m + J * sympy.tan(theta)) / sympy.tan(theta))
    assert not has_new_poles(long, divided_by_terms((m + J * sympy.tan(theta)) / sympy.tan(theta)))
    assert has_new_poles(sin(theta), sin(2 * theta) / (2 * cos(theta)))


def test_a_solution_with_a_triangle_wave():
    """Zhuravlev's Π of a motion between two walls stands in the solution, and has values."""
    example = ap.zoo.impact_pair()
    shown = ap.forms.routh(example.system).text("solved")
    assert "Π(ξ)" in shown and "π" in shown and " pi" not in shown
