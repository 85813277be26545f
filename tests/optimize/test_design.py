"""Designs through impacts that nobody names: closed forms and searches that use no derivatives."""

import numpy as np
import pytest
from scipy.optimize import minimize

import appell as ap


def stop():
    """A damped oscillator with a stop."""
    x = ap.coordinates("x")
    k, c, e = ap.parameters("k c e", positive=True)
    d = ap.parameters("d")
    wall = ap.Unilateral(d - x, name="stop", restitution=e)
    return ap.System([x], x.d**2 / 2, k * x**2 / 2, {x: -c * x.d}, [wall], name="oscillator"), x, (k, c, e, d)


def test_a_stop_is_placed_where_most_energy_is_lost():
    system, x, (k, c, e, d) = stop()
    energy, start = x.d**2 / 2 + k * x**2 / 2, {x.d: 1.0}
    known = {c: 0.05, e: 0.5, k: 1.0, d: 0.3}
    plan = ap.optimize(
        system, ap.at(energy, "end"), start=start, until=5.0, parameters=known, unknown=[d, k],
        bounds={d: (0.05, 0.9), k: (0.5, 3)}, phases="any",
    )  # fmt: skip

    def left(z):
        motion = ap.simulate(system, start, 5.0, {**known, d: z[0], k: z[1]})
        return float(motion[energy][-1]) if not isinstance(motion[energy], float) else motion[energy]

    other = minimize(left, [plan.values[d], plan.values[k]], method="Nelder-Mead", bounds=[(0.05, 0.9), (0.5, 3)])
    assert plan.ok and len(plan.motion.impacts) > 1 and plan.error < 1e-9 and "differences" not in plan.message
    assert plan.objective == pytest.approx(other.fun, rel=1e-7) and plan.values[k] == pytest.approx(other.x[1], rel=1e-3)


def test_an_integral_and_an_end():
    """A bouncing ball is dropped from where it comes to 0.4 m after 2 s: the heights in closed form; ∫ y dt by quadrature."""
    y = ap.coordinates("y")
    g, e = ap.parameters("g e", positive=True)
    ball = ap.System([y], y.d**2 / 2, g * y, constraints=[ap.Unilateral(y, name="floor", restitution=e)], name="ball")
    plan = ap.optimize(
        ball, ap.integral(y), start={y: (1.35, 1.7)}, end={y: 0.4}, until=2.0, parameters={g: 9.81, e: 0.8}, phases="any"
    )  # fmt: skip
    height = float(plan.motion[y][0])
    t, h, v, area = 0.0, height, 0.0, 0.0
    while True:
        T = (v + np.sqrt(v**2 + 2 * 9.81 * h)) / 9.81
        s = min(T, 2.0 - t)
        area += h * s + v * s**2 / 2 - 9.81 * s**3 / 6
        if t + T > 2.0:
            break
        t, h, v = t + T, 0.0, 0.8 * (9.81 * T - v)
    assert plan.ok and h + v * s - 9.81 * s**2 / 2 == pytest.approx(0.4, abs=1e-6)
    assert plan.objective == pytest.approx(area, rel=1e-8)


def test_what_a_design_cannot_do_is_said():
    system, x, (k, c, e, d) = stop()
    given = {"minimize": ap.at(x, "end") ** 2, "start": {x.d: 1}, "parameters": {c: 0.1, e: 0.5, k: 1, d: 0.3}, "phases": "any"}
    for more, words in (
        ({"controls": [k], "parameters": {c: 0.1, e: 0.5, d: 0.3}, "unknown": [d]}, "name the phases"),
        ({"until": (1, 2), "unknown": [d]}, "fixed end"),
        ({"bounds": {x: (0, 1)}, "unknown": [d]}, "not 'x'"),
        ({"minimize": ap.integral(x.dd**2), "unknown": [d]}, "coordinates and velocities"),
        ({}, "nothing can be chosen"),
    ):
        with pytest.raises(ap.ModelError, match=words):
            ap.optimize(system, **({"until": 2.0} | given | more))
    out = ap.optimize(system, **given, until=2.0, unknown=[d], end={x: 7})
    assert not out.ok and "x at the end comes to" in out.message and out.motion is not None
    with pytest.raises(ap.ModelError, match="no mesh"):
        out.again()


def swing():
    x, k = ap.coordinates("x"), ap.parameters("k", positive=True)
    return ap.System([x], x.d**2 / 2, k * x**2 / 2, name="swing"), x, k


@pytest.mark.parametrize("power", [2, 4])
def test_a_design_leaves_a_maximum(power):
    """x(1) = x(0) cos 1: the middle of the interval of x(0) is the worst start."""
    system, x, k = swing()
    goal = -(ap.at(x, "end") ** power)
    plan = ap.optimize(system, goal, start={x: (-1, 1)}, until=1.0, parameters={k: 1}, phases="any")
    assert plan.ok and plan.objective == pytest.approx(-(np.cos(1) ** power), rel=1e-6)


def test_a_design_with_a_condition_leaves_a_saddle():
    x, y = ap.coordinates("x y")
    pair = ap.System([x, y], (x.d**2 + y.d**2) / 2, (x**2 + y**2) / 2, name="pair")
    start, goal = {x: (-1, 1), y: (-1, 1)}, -(ap.at(x, "end") ** 2)
    plan = ap.optimize(pair, goal, start=start, end={y: 0.3}, until=1.0, phases="any")
    assert plan.ok and plan.objective == pytest.approx(-(np.cos(1) ** 2), rel=1e-6)


def test_guess_and_progress_of_a_design():
    system, x, k = swing()
    seen: list[float] = []
    given = {"start": {x: 1}, "until": 1.0, "parameters": {k: 0.6}, "unknown": [k], "bounds": {k: (0.5, 200)}, "phases": "any"}
    plan = ap.optimize(system, ap.at(x, "end"), progress=lambda _, objective: seen.append(objective), **given)
    assert plan.ok and plan.values[k] == pytest.approx(np.pi**2, rel=1e-4) and seen[-1] == pytest.approx(-1)
    known = ap.optimize(system, (k - 88) ** 2 + 0 * ap.at(x, "end"), **given)
    other = ap.optimize(system, ap.at(x, "end"), guess=known, **given)  # another period: √k = 3 π
    assert other.ok and other.values[k] == pytest.approx(9 * np.pi**2, rel=1e-4)
    with pytest.raises(ap.ModelError, match="guess= is a motion, or a plan with a motion"):
        ap.optimize(system, ap.at(x, "end"), guess=5, **given)
    with pytest.raises(ZeroDivisionError):
        ap.optimize(system, ap.at(x, "end"), progress=lambda *_: 1 / 0, **given)
