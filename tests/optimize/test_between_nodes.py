"""Bounds between the nodes of a plan, and a plan as the guess of another one."""

import importlib

import numpy as np
import pytest
import sympy

import appell as ap

x = ap.coordinates("x")
F, m = ap.parameters("F m")
block = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="block")


def limited(tolerance: float, **options):
    """Two metres with at most 1 m/s and ±10 m/s²: 2 + 1/10 s."""
    bounds = {F: (-10, 10), x.d: (None, 1)}
    return ap.optimize(
        block,
        "time",
        [F],
        {},
        (0.5, 10),
        {m: 1},
        end={x: 2, x.d: 0},
        bounds=bounds,
        tolerance=tolerance,
        backend="vm",
        **options,
    )


@pytest.mark.parametrize("tolerance", [1e-3, 1e-4])
def test_a_speed_limit_holds_between_nodes(tolerance):
    plan = limited(tolerance)
    assert plan.ok and plan.duration == pytest.approx(2.1, rel=tolerance)
    assert plan.motion is not None and plan.motion.fine(2000)[x.d].max() <= 1 + tolerance
    assert any("the bound of F is exceeded" in one for one in plan.doubts) and "doubt: between nodes" in str(plan)


def test_what_is_exceeded_between_nodes_is_no_plan(monkeypatch):
    search = importlib.import_module("appell.optimize.plan_search")
    monkeypatch.setattr(search, "refined", lambda breaks, *_, **__: breaks)  # meshes that do not become finer
    plan = limited(0.02)
    assert not plan.ok and "between nodes" in plan.message and "x.d" in plan.message


def test_a_plan_as_a_guess_brings_its_mesh_and_its_unknowns():
    options = {"bounds": {m: (0.5, 2)}, "unknown": [m], "backend": "vm", "tolerance": 1e-4}
    ask = lambda end, **more: ap.optimize(
        block, ap.integral(F**2) + 100 * (m - 1.3) ** 2, [F], {}, 1.0, {m: 1}, end={x: end, x.d: 0}, **options, **more
    )
    first = ask(1.0)
    second = ask(1.01, guess=first)
    assert first.ok and second.ok and second.meshes[0].intervals == first.meshes[-1].intervals
    assert second.values[m] == pytest.approx(ask(1.01).values[m], rel=1e-6)


def test_the_first_mesh_follows_a_guess():
    """Twelve periods of a motion need more than eight intervals; a straight line does not. The least effort is known."""
    k = ap.parameters("k")
    spring = ap.System([x], x.d**2 / 2, k * x**2 / 2, {x: F}, name="spring")
    T = 24 * np.pi
    motion = ap.simulate(spring, {x: 1}, T, {k: 1, F: 0}, backend="vm")
    ask = lambda guess: ap.optimize(
        spring, ap.integral(F**2), [F], {x: 1}, T, {k: 1}, end={x: 2, x.d: 0}, guess=guess, tolerance=1e-3, backend="vm"
    )
    plan = ask(motion)
    assert plan.ok and plan.objective == pytest.approx(2 / T, rel=1e-5)  # x(T) − x(0) = ∫ −sin(T − t) F dt, F ∝ sin
    assert 8 < plan.meshes[0].intervals <= 64 and ask({"t": [0, T], x: [1, 2]}).meshes[0].intervals == 8


@pytest.mark.parametrize("guess", [0.8, 94.6])
def test_a_record_of_many_periods_is_fitted_from_afar(guess):
    """After Vyasarayani and others (2011): 25 periods, whose squares have some 25 minima in p."""
    from sympy import cos

    q = ap.coordinates("q")
    p = ap.parameters("p", positive=True)
    pendulum = ap.System([q], q.d**2 / 2, -p * cos(q), name="pendulum")
    t, rng = np.linspace(0, 50, 2000), np.random.default_rng(3)
    record = {"t": t, q: ap.simulate(pendulum, {q: np.pi / 6}, 50.0, {p: 10.0}, times=t)[q] + 0.05 * rng.normal(size=2000)}
    fit = ap.fit(pendulum, record, [p, q, q.d], {q: 0.5}, {p: guess})
    assert fit.ok and abs(fit.values[p] - 10) < 4 * fit.errors[p] < 0.05


def test_a_thin_wall_between_all_points_is_not_stepped_over():
    """Half a metre high, a millimetre thick: straight on, through it, the goal is 48, and 96 over it."""
    y, (X, Y) = ap.coordinates("y"), ap.parameters("X Y")
    point = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: X, y: Y}, name="point")
    wall = y >= 0.5 * sympy.exp(-((1000 * x) ** 2))
    end = {x: 1, y: 0, x.d: 0, y.d: 0}
    plan = ap.optimize(point, ap.integral(X**2 + Y**2), [X, Y], {x: -1}, 1.0, end=end, subject_to=wall)
    along = plan.motion.at(np.linspace(0, 1, 20_001))
    assert (along[y] - 0.5 * np.exp(-((1000 * along[x]) ** 2))).min() > -1e-5 and plan.objective > 90


@pytest.mark.parametrize("ask, said", [
    (lambda plan: plan.control_at([3.0]), "outside of the plan"),
    (lambda plan: plan.control_at("soon"), "made of numbers"),
    (lambda plan: plan.control_at([np.nan]), "must be finite"),
    (lambda plan: plan.control_at([[0.1, 0.2]]), r"not an array of shape \(1, 2\)"),
    (lambda plan: ap.optimize(ROLLER, ap.integral(F**2), [F], {}, 1.0, guess=plan), "none of the states of 'roller'"),
])  # fmt: skip
def test_wrong_questions_to_a_plan(ask, said):
    plan = ap.optimize(block, ap.integral(F**2), [F], {}, 1.0, {m: 1}, end={x: 1}, tolerance=1e-3, backend="vm")
    with pytest.raises(ap.ModelError, match=said):
        ask(plan)


def test_relations_of_a_state_or_the_time_alone():
    """Their expressions are symbols, whose values have no digits to be evaluated."""
    ask = lambda **more: ap.optimize(
        block, ap.integral(F**2), [F], {}, 1.0, {m: 1}, end={x: 1}, tolerance=1e-3, backend="vm", **more
    )
    assert ask(bounds={ap.t: (0, 1)}).ok and ask(subject_to=[x >= 0, x <= 1]).ok and ask(subject_to=[(x > 0) & (x < 2)]).ok


roll = ap.coordinates("roll")
ROLLER = ap.System([roll], roll.d**2 / 2, 0, {roll: F}, name="roller")
