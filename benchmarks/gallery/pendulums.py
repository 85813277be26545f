"""Pendulums of opty's gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Eq, cos, sin

import appell as ap
from benchmarks.gallery.published import PI, problem


@problem("pendulum swing-up, fixed duration", "beginner/plot_pendulum_swing_up_fixed_duration")
def swing_up(tolerance: float) -> Any:
    q = ap.coordinates("q")
    T = ap.parameters("T")
    pendulum = ap.System([q], q.d**2 / 2, -9.81 * cos(q), {q: T}, name="pendulum")
    return ap.optimize(
        pendulum, ap.integral(T**2), [T], {}, 10.0, end={q: PI, q.d: 0}, bounds={T: (-2, 2)}, attempts=4, tolerance=tolerance
    )


@problem(
    "pendulum swing-up, variable duration", "beginner/plot_pendulum_swing_up_variable_duration",
    remark="the longer, the cheaper: it ends at its bound of 8 s; opty stops at 6.55 s",
)  # fmt: skip
def swing_up_free(tolerance: float) -> Any:
    q = ap.coordinates("q")
    T = ap.parameters("T")
    pendulum = ap.System([q], q.d**2 / 2, -9.81 * cos(q), {q: T}, name="pendulum")
    t = np.linspace(0, 6.5, 66)
    guess = {"t": t, q: PI / 13 * t * np.sin(3 * t), T: 2 * np.cos(3 * t)}
    return ap.optimize(
        pendulum, ap.integral(T**2), [T], {}, (1, 8), end={q: PI, q.d: 0}, bounds={T: (-2, 2)}, guess=guess, tolerance=tolerance
    )


@problem(
    "pendulum with explicit times", "beginner/plot_pendulum_explicit_time", 300 * 0.021105626486, "duration",
    "the share s = sin(ω t) of the torque t F is chosen in place of ω", 1e-5,
)  # fmt: skip
def explicit_time(tolerance: float) -> Any:
    q = ap.coordinates("q")
    s = ap.parameters("s")
    pendulum = ap.System([q], q.d**2, -9.81 * cos(q), {q: ap.t * s - q.d / 10}, name="pendulum")
    rest, end = [Eq(ap.at(q.dd, "end"), 0)], {q: PI, q.d: 0}
    return ap.optimize(pendulum, "time", [s], {}, (1, 20), end=end, bounds={s: (-1, 1)}, subject_to=rest, tolerance=tolerance)


@problem("Betts 10.103, a pendulum in x and y", "beginner/plot_betts_10_103_104", 12.8738850)
def betts_pendulum(tolerance: float) -> Any:
    x, y = ap.coordinates("x y")
    u = ap.parameters("u")
    rod = ap.Constraint(x**2 + y**2 - 1, name="rod")
    pendulum = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, {x: u * y, y: -u * x}, [rod], name="pendulum")
    end = {x: 0, x.d: 0, y: (None, 0)}
    return ap.optimize(pendulum, ap.integral(u**2), [u], {x: 1}, 3.0, end=end, tolerance=tolerance)


@problem(
    "double pendulum on a cart", "intermediate/plot_two_link_pendulum_on_a_cart", 299 * 0.009780433904, "duration",
    tolerance=1e-5,
)  # fmt: skip
def double_pendulum(tolerance: float) -> Any:
    x, a, b = ap.coordinates("x a b")
    F = ap.parameters("F")
    first = (x.d - 2 * sin(a) * a.d) ** 2 + 4 * cos(a) ** 2 * a.d**2
    second = (x.d - 2 * sin(a) * a.d - 2 * sin(b) * b.d) ** 2 + (2 * cos(a) * a.d + 2 * cos(b) * b.d) ** 2
    T = (x.d**2 + first + second) / 2 + a.d**2 + b.d**2
    cart = ap.System([x, a, b], T, 9.81 * (4 * sin(a) + 2 * sin(b)), {x: F}, name="double pendulum")
    end, bounds = {a: PI / 2, b: PI / 2, x.d: 0, a.d: 0, b.d: 0}, {F: (-50, 50), x: (-5, 5)}
    rest = [Eq(ap.at(x.dd, "end"), 0)]  # the others follow
    return ap.optimize(
        cart, "time", [F], {a: -PI / 2, b: -PI / 2}, (1, 12), end=end, bounds=bounds, subject_to=rest, tolerance=tolerance
    )


@problem("crane that moves a load", "intermediate/plot_crane_moving_a_load", 149 * 0.039559487422, "duration", tolerance=1e-5)
def crane(tolerance: float) -> Any:
    x, q = ap.coordinates("x q")
    F = ap.parameters("F")
    T = x.d**2 / 2 + 5 * ((x.d + 5 * cos(q) * q.d) ** 2 + 25 * sin(q) ** 2 * q.d**2)
    system = ap.System([x, q], T, -490.5 * cos(q), {x: F}, name="crane")
    bounds, rest = {F: (-20, 20), x: (0, 15), x + 5 * sin(q): (0, 15)}, [Eq(ap.at(x.dd, "end"), 0)]
    end = {x: 15, q: 0, x.d: 0, q.d: 0}
    return ap.optimize(system, "time", [F], {}, (2, 60), end=end, bounds=bounds, subject_to=rest, tolerance=tolerance)
