"""Plans: the best of what was found is returned, signs and names of controls are kept, and given numbers stay given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import Eq, cos, exp, sin
from tests.families.family import family

import appell as ap


def _cart() -> tuple[ap.System, Any, Any, Any]:
    x, (u, m) = ap.coordinates("x"), ap.parameters("u m")
    return ap.System([x], m * x.d**2 / 2, 0, {x: u}, name="cart"), x, u, m


@family(sample=(0, 1))
def the_best_attempt_is_returned(seed: int) -> None:
    """Two wells of different depth at the end: rounding of the check by simulation does not choose between them."""
    rng, (cart, x, u, m) = np.random.default_rng(seed), _cart()
    at, tilt = rng.uniform(1.0, 1.5) if seed else 1.3, float(rng.choice([-1, 1]) * rng.uniform(0.2, 0.5)) if seed else 0.4
    goal = 0.002 * ap.integral(u**2) + (ap.at(x, "end") ** 2 - at**2) ** 2 + tilt * ap.at(x, "end")
    options = {"bounds": {u: (-30, 30)}, "attempts": 6, "seed": seed, "tolerance": 1e-5, "backend": "vm"}
    plan = ap.optimize(cart, goal, [u], {x: 0.05}, 1.0, {m: 1}, **options)
    assert plan.ok and plan.objective == min(one.objective for one in plan.attempts if one.ok)
    assert len({round(float(one.objective), 4) for one in plan.attempts if one.ok}) > 1 or plan.objective < 0


@family(sample=(0, 2))
def signs_of_controls_are_kept(seed: int) -> None:
    """A control declared of one sign keeps it as a state: with a bounded rate, and in a row; as with bounds= that say so."""
    rng, sign = np.random.default_rng(seed), -1 if seed % 2 else 1
    kind = ("positive", "negative", "nonnegative", "nonpositive")[(sign < 0) + 2 * (seed % 3 == 0)]
    c, most = ap.parameters("c", **{kind: True}), float(rng.uniform(25, 35)) if seed else 30.0
    if seed % 4 < 2:
        y = ap.coordinates("y")
        lander = ap.System([y], y.d**2 / 2, 9.81 * y, {y: sign * c}, name="lander")
        problem = (lander, ap.integral(sign * c), [c], {y: 10}, (1, 4))
        given = {"end": {y: 0, y.d: 0}, "rates": {c: (-200, 200)}, "tolerance": 1e-4, "backend": "vm"}
        free, held = ((None, most), (0, most)) if sign > 0 else ((-most, None), (-most, 0))
    else:
        x, y = ap.coordinates("x y")
        row = ap.Constraint(x.d * sin(sign * c) - y.d * cos(c), name="tangent")
        bead = ap.System([x, y], (x.d**2 + y.d**2) / 2, -9.81 * y, {}, [row], name="bead")
        goal = ap.at(ap.t, "end") - ap.at(ap.t, "start")
        problem, given = (bead, goal, [c], {}, (0.1, 3)), {"end": {x: 2.5, y: 0.3}, "tolerance": 1e-4, "backend": "vm"}
        free, held = ((None, 3.0), (0, 3.0)) if sign > 0 else ((-3.0, None), (-3.0, 0))
    plan, same = (ap.optimize(*problem, **given, bounds={c: pair}) for pair in (free, held))
    assert plan.ok and same.ok and plan.objective == pytest.approx(same.objective, rel=1e-6)
    assert (sign * plan.controls[c]).min() >= -1e-6


NAMES = ("u_rate", "u_rate_", "u_rate_rate", "other")


@family(sample=(0, 1, 2))
def names_of_rates_are_free(seed: int) -> None:
    """Parameters, states and other controls called as the rate of a control would be: the plan is that under another name."""
    rng, x = np.random.default_rng(seed), ap.coordinates("x")
    u, push = ap.parameters("u"), float(rng.uniform(-3, 3)) if seed else 2.0
    kind, name = seed % 3, NAMES[seed % 2 if seed < 6 else seed % 3]

    def planned(called: str) -> ap.MotionPlan:
        options = {"end": {x: 1, x.d: 0}, "tolerance": 1e-3, "backend": "vm", "rates": {u: (-100, 100)}}
        if kind == 1:  # a state, which grows with the distance
            s = ap.states(called)
            system = ap.System([x], x.d**2 / 2, 0, {x: u - s}, rates={s: push * x}, name="cart")
            return ap.optimize(system, ap.integral(u**2), [u], {s: 0.5}, 1.0, **options)
        w = ap.parameters(called)
        system = ap.System([x], x.d**2 / 2, 0, {x: u + w}, name="cart")
        if kind == 2:
            options["rates"] |= {w: (-100, 100)}
            return ap.optimize(system, ap.integral(u**2 + 3 * w**2), [u, w], {}, 1.0, **options)
        return ap.optimize(system, ap.integral(u**2), [u], {}, 1.0, {w: push}, **options)

    plan, same = planned(name), planned("quite_another")
    assert plan.ok and same.ok and plan.objective == pytest.approx(same.objective, rel=1e-6)
    if kind == 0:
        assert plan.objective == pytest.approx(12 + push**2, rel=1e-6)


@family(sample=(0, 1, 2, 3))
def maxima_are_left(seed: int) -> None:
    """Goals that are highest, or on a saddle, where the first guess is: −x², −x⁴, a hill on the way, a design."""
    rng, (cart, x, u, m) = np.random.default_rng(seed), _cart()
    most, T = (1.0, 1.0) if not seed else (float(rng.uniform(0.5, 3)), float(rng.uniform(0.5, 2)))
    reach = most * T**2 / 2
    if seed % 4 < 2:
        power = 2 if seed % 4 == 0 else 4
        plan = ap.optimize(cart, -(ap.at(x, "end") ** power), [u], {}, T, {m: 1}, bounds={u: (-most, most)}, backend="vm")
        want = -(reach**power)
    elif seed % 4 == 2:
        y, w = ap.coordinates("y"), ap.parameters("w")
        point = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {x: u, y: w}, name="point")
        hill = ap.integral(u**2 + w**2 + 300 * exp(-8 * (x**2 + y**2)))
        options = {"end": {x: 1, y: 0, x.d: 0, y.d: 0}, "backend": "vm", "tolerance": 1e-4}
        T = float(rng.uniform(0.95, 1.5))  # in less time the way straight over the hill is a minimum
        plan = ap.optimize(point, hill, [u, w], {x: -1}, T, **options)
        over = ap.optimize(point, hill, [u, w], {x: -1}, T, **options, subject_to=[Eq(y, 0)])
        want = plan.objective
        assert over.objective > plan.objective + 1e-3 and np.abs(plan.motion[y]).max() > 0.1
    else:
        swing = ap.System([x], x.d**2 / 2, m * x**2 / 2, name="swing")
        plan = ap.optimize(swing, -(ap.at(x, "end") ** 2), start={x: (-most, most)}, until=T, parameters={m: 1}, phases="any")
        want = -((most * np.cos(T)) ** 2)
    assert plan.ok, plan.message
    assert plan.objective == pytest.approx(want, rel=1e-6)


@family(sample=(0, 1))
def next_plans_keep_bounds_between_nodes(seed: int) -> None:
    """`plan.again(judge=True)` on a mesh made for another start: what is ok keeps the bounds, and doubts are its own."""
    rng, (cart, x, u, m) = np.random.default_rng(seed), _cart()
    speed = float(rng.uniform(0.7, 1.5)) if seed else 1.0
    t = np.linspace(0, 1, 4001)
    problem = (cart, ap.integral(u**2), [u])
    plan = ap.optimize(*problem, {x.d: 0.1}, 1.0, {m: 1}, end={x: 0, x.d: -0.1}, bounds={x: (-10, 0.1)}, backend="vm")
    far = plan.again({x.d: speed}, judge=True)
    beyond = far.motion.at(t)[x].max() - 0.1
    said = any("the bound of x is exceeded" in one for one in far.doubts)
    assert said == (beyond > 1e-6 * 10) and not (said and far.ok)  # the tolerance times the size of the bound
    most = float(rng.uniform(5.5, 5.95)) if seed else 5.9
    sharp = ap.optimize(*problem, {}, 1.0, {m: 1}, end={x: 1, x.d: 0}, bounds={u: (-most, most)}, backend="vm")
    near = sharp.again({x: float(rng.uniform(0.4, 0.6))}, judge=True)  # the bound does not matter any more
    assert near.ok and not near.doubts and not sharp.again({x: 0.5}).doubts


@family(sample=(0, 1))
def next_plans_keep_their_impacts(seed: int) -> None:
    """Other restitutions: a face that closes by an impact does not bounce in the next plan, nor the reverse."""
    rng, x = np.random.default_rng(seed), ap.coordinates("x")
    u, e, k, g = ap.parameters("u e k g")
    law = (e, e * k, e + 0 * k)[seed % 3]
    other = float(rng.uniform(0.2, 0.8)) if seed else 0.5
    floor = ap.Unilateral(x, name="floor", restitution=law)
    ball = ap.System([x], x.d**2 / 2, g * x, {x: u * (1 + k * 0)}, [floor], name="ball")
    first, last = (0.0, other) if seed % 2 == 0 else (other, 0.0)
    values = {s: v for s, v in ((e, first), (k, 0.7), (g, 9.81)) if s in ball.parameters}
    options = {"phases": [(), ("floor",)], "end": {x: 0, x.d: 0}, "backend": "vm", "tolerance": 1e-5}
    plan = ap.optimize(ball, ap.integral(u**2), [u], {x: 1.0}, (0.2, 1.0), values, **options)
    assert plan.ok, plan.message
    with pytest.raises(ap.ModelError, match="with these parameters 'floor'"):
        plan.again(parameters={e: last})
    assert plan.again(parameters={g: 9.5}).ok
    if first:
        assert plan.again(parameters={e: other / 2}).objective == pytest.approx(plan.objective, rel=1e-6)


@family(sample=(0, 1))
def conditions_on_parameters(seed: int) -> None:
    """A bound of a given parameter is refused by its name; a relation of unknowns alone is one row, and as good as a value."""
    rng, (cart, x, u, m) = np.random.default_rng(seed), _cart()
    value = float(rng.uniform(0.6, 1.9)) if seed else 1.0
    problem, end = (cart, ap.integral(u**2), [u], {}, 1.0), {x: 1, x.d: 0}
    for wrong in ({"bounds": {m: (2, 3)}}, {"subject_to": [m >= 2]}, {"subject_to": [m <= 5]}, {"bounds": {"m": (0, 9)}}):
        with pytest.raises(ap.ModelError, match="m is given, and nothing can be chosen there; name m in unknown="):
            ap.optimize(*problem, {m: value}, end=end, **wrong)
    relation = (Eq(m, value), m >= value, Eq(m**2, value**2))[seed % 3]
    options = {"unknown": [m], "bounds": {m: (0.5, 2)}, "end": end, "backend": "vm"}
    plan = ap.optimize(*problem, {m: 1.2}, **options, subject_to=[relation])
    assert plan.ok, plan.message
    assert plan.values[m] == pytest.approx(value, rel=1e-6) and plan.objective == pytest.approx(12 * value**2, rel=1e-6)
    assert len(plan.session.model.coupling.rows) == 1 and not plan.session.model.request.path_relations
