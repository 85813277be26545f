"""The fold against things that know nothing of it: Lagrange's equations by a textbook, and the impact map by matrices.

Tolerances: masses and lengths are of size one and the blocks well conditioned, so identities hold to 1e-11; integrations
run at rtol 1e-12.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import Matrix, Rational, cos, exp, log, sin, sqrt
from tests.reference.events import simulate_events
from tests.reference.lagrange_sympy import Lagrange

from appell import simulate, zoo
from appell.errors import ConstraintError, FormNotApplicable
from appell.forms.fold.fold import Fold, fold
from appell.jets import coordinates, parameters, partial, t
from appell.model import Constraint, System, Unilateral
from appell.normal_form import normal_form

q1, q2, q3 = q = coordinates("q1 q2 q3")
m, k, e = parameters("m k e", positive=True)
VALUES = {m: 1.3, k: 0.7, e: 1.0}

FACES = {
    "coordinate": q1 + Rational(1, 5),
    "shifted": k - 2 * q2,
    "affine": q1 + q2 / 2 - q3 / 3,
    "curved": q1 - sin(q2) / 2 + q3**2 / 4,
    "moving": q3 - sin(2 * t + q1) / 3,
    "solved": exp(q2) - 1 - q1 / 3,
}


@cache
def drawn(name: str) -> System:
    """A system of three coordinates with b ≠ 0, terms linear in the velocities, explicit time and forces."""
    rng = np.random.default_rng(len(name))
    c = [Rational(int(i), 10) for i in rng.integers(1, 6, 12)]
    B = Matrix([[1 + c[0] * cos(q2) / 2, 0, 0], [c[1] * sin(q3 + t), 1, 0], [c[2] * cos(q1), c[3] * sin(q1), 1 + c[4] / 2]])
    w = B.T * Matrix([x.d for x in q])
    T = m * w.dot(w) / 2 + c[5] * sin(q1 + t) * q2.d + c[6] * q3 * q1.d + c[7] * cos(q2) * q1**2
    V = k * (q1**2 + q2**2 + q3**2) / 2 + c[8] * cos(q1 - q2 + t)
    Q = {q1: -c[9] * q1.d + c[10] * q2.d * q3.d, q3: -c[11] * q3.d + sin(t)}
    return System(q, T, V, Q, [Unilateral(FACES[name], "wall", restitution=e)], name="drawn")


@cache
def folded(name: str) -> Fold:
    return fold(drawn(name))


def bare(system: System, *constraints) -> System:
    return system.replace(constraints=constraints)


@cache
def compiled(symbols: tuple, exprs: tuple):
    return sympy.lambdify(symbols, list(exprs), "numpy", cse=True)


def evaluate(values: dict, *exprs) -> np.ndarray:
    """Numbers of expressions at a point."""
    symbols = tuple(sorted(values, key=str))
    return np.array(compiled(symbols, exprs)(*(values[s] for s in symbols)), dtype=float)


def states(system: System, count: int = 3, seed: int = 5):
    """(t, q, v) of size one."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield rng.uniform(0.2, 1), rng.uniform(-0.6, 0.6, system.nq), rng.uniform(-1, 1, system.nv)


def point(system: System, time, z, v) -> dict:
    known = {t: time, **dict(zip(system.coordinates, z, strict=True)), **dict(zip(system.velocities, v, strict=True))}
    return known | {p: VALUES[p] for p in system.parameters}


def entered(F: Fold, known: dict, sigma: int) -> dict:
    """The state in x, ẋ, y, p on a sheet."""
    known = {**known, F.sigma: sigma}
    new = dict(zip(F.entered, evaluate(known, *F.entered.values()), strict=True))
    return {F.sigma: sigma, t: known[t], **{s: known[s] for s in (*F.chart.y, *VALUES) if s in known}, **new}


@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize("sigma", [1, -1])
def test_explicit_equations_are_those_of_lagrange_on_both_sheets(name, sigma):
    """(10): q̈ from ẍ, ẏ, ṗ through the chart equals the textbook's, in free flight."""
    system, F = drawn(name), folded(name)
    assert any(entry != 0 for entry in F.b), "the test wants inertial coupling"
    judge = Lagrange(bare(system))
    rates = F.right_sides
    h = 1e-5
    for time, z, v in states(system):
        known = point(system, time, z, v)
        here = entered(F, known, sigma)
        a, _ = judge(time, z, v, [known[p] for p in judge.parameters])
        slope = dict(zip(rates, evaluate(here, *rates.values()), strict=True))
        velocity = {F.x: here[F.x.d], F.x.d: slope[F.x.dd], t: 1.0}
        velocity |= {y: slope[y.d] for y in F.chart.y} | {p: slope[p.d] for p in F.p}
        moved = [{s: x + side * h * velocity.get(s, 0.0) for s, x in here.items()} for side in (1, -1)]
        ends = [evaluate(there, *F.recover.values()) for there in moved]
        rate = dict(zip(F.recover, (ends[0] - ends[1]) / (2 * h), strict=True))
        assert np.array([rate[x] for x in q]) == pytest.approx(v, abs=1e-8)  # central difference: h² = 1e-10, rounding 1e-11
        assert np.array([rate[x.d] for x in q]) == pytest.approx(a, abs=1e-7)


@pytest.mark.parametrize("name", FACES)
def test_recover_undoes_enter(name):
    system, F = drawn(name), folded(name)
    for time, z, v in states(system):
        for sigma in (1, -1):
            here = entered(F, point(system, time, z, v), sigma)
            back = dict(zip(F.recover, evaluate(here, *F.recover.values()), strict=True))
            assert [back[x] for x in q] == pytest.approx(z, abs=1e-12)
            assert [back[x.d] for x in q] == pytest.approx(v, abs=1e-11)


@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize("sigma", [1, -1])
def test_the_folded_system_is_an_ordinary_one_with_the_same_equations(name, sigma):
    """L(σx, y, σẋ, ẏ) through the normal form, differentiated on the graph, against ẍ of the explicit form."""
    F = folded(name)
    judge = normal_form(F.system).select("M", "h", "Q")
    rng = np.random.default_rng(1)
    x, *y = F.system.coordinates
    for _ in range(3):
        time, z, momenta, x_d = rng.uniform(0.2, 1), rng.uniform(-0.5, 0.5, 3), rng.uniform(-1, 1, 2), rng.uniform(-1, 1)
        z[0] = sigma * abs(z[0])
        here = {t: time, F.sigma: sigma, **VALUES, **dict(zip((x, *y), z, strict=True)), x.d: x_d}
        here |= dict(zip(F.p, momenta, strict=True))
        slope = dict(zip(F.right_sides, evaluate(here, *F.right_sides.values()), strict=True))
        v = [x_d, *(slope[s.d] for s in y)]
        out = judge(time, z, np.array(v), np.array([here[p] for p in F.system.parameters], dtype=float))
        a = np.linalg.solve(out["M"], out["Q"] - out["h"])
        assert slope[x.dd] == pytest.approx(a[0], rel=1e-11, abs=1e-11)


def impact_by_matrices(system: System, known: dict, rest: float) -> tuple[np.ndarray, float, np.ndarray]:
    """v⁺ = v⁻ − (1 + e) M⁻¹n ḟ/(n·M⁻¹n): v⁺, ḟ⁻ and M."""
    v = np.array([known[x] for x in system.velocities])
    f = system.unilateral[0].function
    M = evaluate(known, *sympy.hessian(system.kinetic, list(system.velocities))).reshape(3, 3)
    n = evaluate(known, *(f.diff(x) for x in system.coordinates))
    rate = n @ v + evaluate(known, partial(f, t))[0]
    Mn = np.linalg.solve(M, n)
    return v - (1 + rest) * Mn * rate / (n @ Mn), rate, M


@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize("rest", [1.0, 0.4, 0.0])
def test_momenta_squared_normal_speed_and_energy_at_an_impact(name, rest):
    """Properties 1 to 3 of the impact: p and (for e = 1) ṡ² and T2 in the chart are continuous; (12) is the matrices' v⁺."""
    system, F = drawn(name), folded(name)
    s_d = F.chart.s.d
    for time, z, v in states(system):
        before = point(system, time, z, v) | {e: rest}
        v_after, rate, _ = impact_by_matrices(system, before, rest)
        after = point(system, time, z, v_after)
        both = (("-", before), ("+", after))
        p = {side: evaluate(known, *(F.entered[x] for x in F.p)) for side, known in both}
        assert p["+"] == pytest.approx(p["-"], abs=1e-12)  # 1
        speed = {side: evaluate(known, F.chart.out_of(s_d))[0] for side, known in both}
        assert speed["+"] == pytest.approx(-rest * speed["-"], abs=1e-12)  # 2
        quadratic = (Matrix(F.velocities).T * F.matrix * Matrix(F.velocities))[0] / 2
        T2 = {side: evaluate(known, F.chart.out_of(quadratic))[0] for side, known in both}
        mu = evaluate(before, F.chart.out_of(F.mu))[0]
        assert T2["+"] - T2["-"] == pytest.approx(-(1 - rest**2) * mu * speed["-"] ** 2 / 2, abs=1e-12)  # 3 for e = 1
        formula = {y: F.chart.out_of(F.impact[y.d]) for y in F.chart.y}  # (12)
        assert evaluate(before, *formula.values()) == pytest.approx([after[y.d] for y in formula], abs=1e-12)
        assert abs(rate) > 1e-3 and np.abs(v_after - v).max() > 1e-3, "an impact that changes nothing tests nothing"


@pytest.mark.parametrize("name", ["affine", "curved", "moving", "solved"])
def test_properties_1_to_3_along_motions(name):
    """p, ṡ² and T2 of the chart at the two samples of every impact of a run, which knows nothing of charts: equal to rounding,
    while ẏ jumps by (12), since b ≠ 0."""
    system, F = drawn(name), folded(name)
    rng = np.random.default_rng(3)
    inside = lambda z: evaluate(point(system, 0.0, z, np.zeros(3)), FACES[name])[0] > 0.1
    z = next(z for z in (rng.uniform(-0.6, 0.6, 3) for _ in range(100)) if inside(z))
    start = dict(zip((*system.coordinates, *system.velocities), (*z, *rng.uniform(-2, 2, 3)), strict=True))
    motion = simulate(system, start, 25.0, {p: VALUES[p] for p in system.parameters}, rtol=1e-11, atol=1e-13)
    first = np.flatnonzero(np.diff(motion.t) == 0)
    assert len(first) == len(motion.impacts) >= 3
    quadratic = (Matrix(F.velocities).T * F.matrix * Matrix(F.velocities))[0] / 2
    continuous = [*(F.entered[p] for p in F.p), F.chart.out_of(F.chart.s.d) ** 2, F.chart.out_of(quadratic)]
    jumps = []
    for k in first:
        before, after = (point(system, motion.t[i], motion.q[i], motion.v[i]) | {F.sigma: 1} for i in (k, k + 1))
        np.testing.assert_allclose(evaluate(after, *continuous), evaluate(before, *continuous), rtol=1e-11, atol=1e-12)
        formula = evaluate(before, *(F.chart.out_of(F.impact[y.d]) for y in F.chart.y))  # (12)
        np.testing.assert_allclose([after[y.d] for y in F.chart.y], formula, atol=1e-11)
        jumps.append(max(abs(after[y.d] - before[y.d]) for y in F.chart.y))
    assert min(jumps) > 1e-3


@pytest.mark.parametrize("name", FACES)
def test_mu_is_the_inverse_of_the_normal_in_the_kinetic_metric(name):
    system, F, f = drawn(name), folded(name), FACES[name]
    for time, z, v in states(system):
        known = point(system, time, z, v)
        _, _, M = impact_by_matrices(system, known, 1.0)
        n = evaluate(known, *(f.diff(x) for x in q))
        assert evaluate(known, F.chart.out_of(F.mu))[0] == pytest.approx(1 / (n @ np.linalg.solve(M, n)), rel=1e-11)


@pytest.mark.parametrize("name", FACES)
def test_the_reaction_is_the_multiplier_of_the_bilateral_constraint(name):
    """(13) at s = 0, ẋ = 0 equals Λ of the constraint f = 0 by the textbook; f's second derivatives enter."""
    system, F = drawn(name), folded(name)
    judge = Lagrange(bare(system, Constraint(FACES[name], name="kept")))
    rng = np.random.default_rng(2)
    for _ in range(3):
        here = {t: rng.uniform(0.2, 1), F.sigma: 1, F.x: 0.0, F.x.d: 0.0, **VALUES}
        here |= {s: rng.uniform(-0.6, 0.6) for s in F.chart.y} | {p: rng.uniform(-1, 1) for p in F.p}
        back = dict(zip(F.recover, evaluate(here, *F.recover.values()), strict=True))
        _, lam = judge(here[t], [back[x] for x in q], [back[x.d] for x in q], [VALUES[p] for p in judge.parameters])
        assert evaluate(here, F.reaction())[0] == pytest.approx(lam[0], rel=1e-10, abs=1e-10)


# -- charts ------------------------------------------------------------------------------------------------------------

x, y = coordinates("x y")
R = parameters("R", positive=True)


def chart_of(f, T=m * (x.d**2 + y.d**2) / 2, **options):
    return fold(System([x, y], T, constraints=[Unilateral(f, "wall", **options)]))


@pytest.mark.parametrize(
    ("f", "coordinate", "inverse"),
    [
        (x - R, x, lambda s: s + R),
        (R - 2 * y, y, lambda s: (R - s) / 2),
        (y - x**2, y, lambda s: s + x**2),
        (x + y**3 - sin(t), x, lambda s: s - y**3 + sin(t)),
        (k * exp(x) - 1, x, lambda s: log((s + 1) / k)),
        (sympy.tan(x) - y, y, lambda s: sympy.tan(x) - s),
    ],
)
def test_charts_that_are_found(f, coordinate, inverse):
    F = chart_of(f)
    assert F.chart.coordinate == coordinate
    assert sympy.simplify(F.chart.inverse - inverse(F.chart.s)) == 0


def test_the_coordinate_of_least_inertia_is_replaced():
    """argmax |f_k|/√M_kk: the lighter one, whichever is written first."""
    light_y = chart_of(x + y, T=(100 * x.d**2 + y.d**2) / 2)
    light_x = chart_of(x + y, T=(x.d**2 + 100 * y.d**2) / 2)
    assert light_y.chart.coordinate == y and light_x.chart.coordinate == x


@pytest.mark.parametrize("f", [x**2 + y**2 - 1, R - sqrt(x**2 + y**2), cos(x) - sin(y) / 2])
def test_several_branches_are_reflected_and_said_so(f):
    F = chart_of(f)
    assert F.chart_found is None and "reflect" in str(F) and "several branches" in F.reason
    with pytest.raises(FormNotApplicable, match="several branches"):
        F.chart  # noqa: B018


def test_a_branch_can_be_given_and_is_checked():
    F = chart_of(R - sqrt(x**2 + y**2), chart={x: lambda s: sqrt((R - s) ** 2 - y**2)})
    assert F.chart.inverse_origin == "given" and F.chart.coordinate == x
    with pytest.raises(ConstraintError, match="is not s"):
        chart_of(R - sqrt(x**2 + y**2), chart={x: lambda s: sqrt((R + s) ** 2 - y**2)})
    with pytest.raises(ConstraintError, match="does not give x uniquely"):
        chart_of(R - sqrt(x**2 + y**2), chart=x)
    assert chart_of(x + y**3, chart=x).chart.coordinate == x


def test_reflection_can_be_asked_for_and_is_used_with_bilateral_constraints():
    assert "was asked for" in chart_of(x, chart="reflection").reason
    held = fold(System([x, y], m * (x.d**2 + y.d**2) / 2, constraints=[Constraint(x - y**3, "rod"), Unilateral(x, "wall")]))
    assert held.chart_found is None and "'rod'" in held.reason


def test_one_of_several_is_named_and_the_others_are_carried_over():
    system = zoo.ball_in_corner().system
    with pytest.raises(FormNotApplicable, match="'wall', 'floor'"):
        fold(system)
    F = fold(system, "wall")
    assert [f.name for f in F.system.unilateral] == ["floor"]
    both = fold(F.system)  # orthogonal in the kinetic metric: both together
    assert both.b == Matrix([0]) and len(both.system.unilateral) == 0


def test_names_of_the_user_are_not_taken():
    s, sigma_, xi = coordinates("s sigma xi")
    F = fold(System([x, s, xi, sigma_], (x.d**2 + s.d**2 + xi.d**2 + sigma_.d**2) / 2, constraints=[Unilateral(s, "w")]))
    taken = {"x", "s", "sigma", "xi"}
    assert not {F.x.letter, F.chart.s.letter, str(F.sigma)} & taken
    assert F.system.unilateral == ()


# -- motions -----------------------------------------------------------------------------------------------------------


def integrate(F: Fold, start: dict, parameters: dict, until: float, e: float = 1.0) -> np.ndarray:
    """(q, q̇) at the end from the explicit equations: σ flips at each wall, ẋ⁺ = e ẋ⁻, nothing else changes."""
    system, n = F.origin, F.origin.nq
    state = [F.x, F.x.d, *F.chart.y, *F.p]
    bind = lambda exprs: [expr.xreplace(dict(parameters)) for expr in exprs]
    rates = bind([F.right_sides[F.x.dd], *(F.right_sides[s.d] for s in (*F.chart.y, *F.p))])
    right = sympy.lambdify([t, state, F.sigma], [F.x.d, *rates], "numpy", cse=True)
    back = sympy.lambdify([t, state, F.sigma], bind([F.recover[s] for s in (*system.coordinates, *system.velocities)]))
    enter = sympy.lambdify([t, *system.coordinates, *system.velocities, F.sigma], bind(F.entered.values()))
    z0 = [float(start.get(s, 0.0)) for s in (*system.coordinates, *system.velocities)]
    x0, x_d, *p = enter(0.0, *z0, 1)
    z = np.array([x0, x_d, *(z0[system.coordinates.index(y)] for y in F.chart.y), *p], dtype=float)
    time, sigma = 0.0, 1
    while time < until:
        # the nearest walls of this sheet; a start on one of them leaves it
        walls = [0.0] if not F.two_sided else ([-np.pi / 2, np.pi / 2] if sigma == 1 else [np.pi / 2, 3 * np.pi / 2])
        events = [lambda t, z, sheet, w=w: z[0] - w for w in walls]
        for event, w in zip(events, walls, strict=True):
            event.terminal = True
            event.direction = -sigma if not F.two_sided else (-1 if w == walls[0] else 1)
        options = {"rtol": 1e-12, "atol": 1e-13, "events": events, "max_step": 0.05, "args": (sigma,)}
        sol = solve_ivp(right, (time, until), z, "DOP853", **options)
        time, z = sol.t[-1], sol.y[:, -1].copy()
        if sol.status == 1:
            hit = next(i for i, found in enumerate(sol.t_events) if len(found))
            z = sol.y_events[hit][-1].copy()
            z[0], z[1], sigma = walls[hit], e * z[1], -sigma
            if F.two_sided and sigma == -1 and walls[hit] < 0:
                z[0] += 2 * np.pi
            if F.two_sided and sigma == 1 and walls[hit] > np.pi:
                z[0] -= 2 * np.pi
    return np.array(back(time, z, sigma), dtype=float)[: 2 * n]


MOVING = ["thread_pendulum", "oscillator_with_wall", "arm_with_joint_stops", "impact_pair", "oscillator_between_stops"]


@pytest.mark.parametrize("name", MOVING)
def test_motions_of_the_zoo_against_events(name):
    """Positions and velocities after several impacts; both integrations at 1e-12, errors grow by at most 1e3 on the way."""
    example = zoo.ALL[name]()
    F = fold(example.system)
    until = min(example.until, 20.0)
    reference = simulate_events(example.system, example.start, until, example.parameters, rtol=1e-12, atol=1e-13)
    assert len(reference.times) >= 3
    end = integrate(F, example.start, example.parameters, until, float(F.restitution))
    assert end == pytest.approx(reference.end, abs=1e-8)
