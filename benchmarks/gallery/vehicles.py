"""Cars, boats and bicycles of opty's gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Eq, Matrix, cos, exp, sin, tan, tanh

import appell as ap
from benchmarks.gallery.published import PI, problem


def car(smooth: bool = False) -> Any:
    """opty's car: x, y of its front, a its angle, d that of the front wheels; wheels do not slip sideways.

    smooth: the second derivative of the driving force is the control.
    """
    x, y, a, d = ap.coordinates("x y a d")
    (F, rate), (T, w) = ap.states("F G") if smooth else ap.parameters("F G"), ap.parameters("T w")
    along, across = Matrix([-sin(a), cos(a)]), Matrix([cos(a), sin(a)])
    front, turn = Matrix([x.d, y.d]), -a.d * across  # of a point 1 m ahead
    middle, back = front - 1.5 * turn, front - 3 * turn
    rows = [ap.Constraint(back.dot(across), name="rear"), ap.Constraint(x.d * cos(a + d) + y.d * sin(a + d), name="front")]
    energy = middle.dot(middle) / 2 + (front.dot(front) + back.dot(back)) / 4 + 0.75 * a.d**2 + (a.d + d.d) ** 2 / 4
    push = Matrix([back.dot(along) * F - middle.dot(middle) / 4]).jacobian([x.d, y.d, a.d])
    forces = {x: push[0], y: push[1], a: push[2] + T, d: T}
    rates = {F: rate, rate: w} if smooth else None
    system = ap.System([x, y, a, d], energy, 0, forces, rows, rates=rates, name="car")
    return system, (x, y, a, d), (F, T, w), along, across


def sideways(q: Any, across: Any) -> tuple[Any, Any]:
    """Accelerations of front and rear across the body."""
    x, y, a, _ = q
    front = (Matrix([x.dd, y.dd])).dot(across)
    return front, front + 3 * a.dd  # −3 d²/dt² (−sin a, cos a) · (cos a, sin a) = 3 ä


@problem("car into a garage", "advanced/plot_car_in_garage", tolerance=1e-4, model=car)
def garage(tolerance: float) -> Any:
    system, q, (F, T, _), along, _ = car()
    x, y, a, d = q
    trough = lambda s: 1 / (1 + exp(50 * (s + 0.75))) + 1 / (1 + exp(-50 * (s - 0.75)))
    points = [(x - k * along[0], y - k * along[1]) for k in range(4)]
    clear = [py - 5 * trough(px) >= 0 for px, py in points]
    bounds = {F: (-25, 25), T: (-25, 25), d: (-PI / 4, PI / 4), x: (-10, 10), y: (0, 25)}
    t = np.linspace(0, 5, 51)
    guess = {"t": t, x: np.interp(t, [0, 2.5, 5], [7.5, -1, 0]), y: np.interp(t, [0, 2.5, 5], [5.5, 9, 3.5])}
    guess |= {a: np.interp(t, [0, 2.5, 5], [PI / 2, 0.6, 0]), d: 0.3}
    low = -ap.at(3 * along[1], "end") + ap.at(y, "end")  # backwards into it: the rear is the lower end
    return ap.optimize(
        system, ap.integral(F**2 + T**2), [F, T], {x: 7.5, y: 5.5, a: PI / 2, d: 0.5}, 5.0, end={x: 0, x.d: 0, y.d: 0},
        bounds=bounds, subject_to=[*clear, Eq(low, 0.5)], guess=guess, tolerance=tolerance,
    )  # fmt: skip


@problem(
    "car on a race course", "intermediate/plot_car_on_racecourse_smooth", 600 * 0.010216283046, "duration", tolerance=1e-4,
    model=car,
)  # fmt: skip
def race(tolerance: float) -> Any:
    """The driving force is smooth: its second derivative is bounded."""
    system, q, (F, T, w), along, across = car(smooth=True)
    x, y, a, d = q
    street = lambda s: 3.5 * sin(s / 2) + 4
    points = [(x - k * along[0], y - k * along[1]) for k in range(4)]
    on = [py - street(px) >= 0 for px, py in points] + [street(px) + 3.5 - py >= 0 for px, py in points]
    bounds = {F: (-20, 20), w: (-150, 150), T: (-20, 20), d: (-PI / 4, PI / 4), x: (-15, 15), y: (0, 25), along[0]: (0, None)}
    bounds |= {one: (-15, 15) for one in sideways(q, across)}
    t = np.linspace(0, 7, 71)
    s = -10 + 20 * (t / 7) ** 2 * (3 - 2 * t / 7)
    middle, slope = 3.5 * np.sin(s / 2) + 5.75, np.arctan(1.75 * np.cos(s / 2))
    guess = {"t": t, x: s, y: middle, a: slope - PI / 2, x.d: np.gradient(s, t), y.d: np.gradient(middle, t)}
    start = {x: -10, y: ap.free, a: ap.free, d: ap.free}
    return ap.optimize(
        system, "time", [w, T], start, (2, 30), end={x: 10, x.d: 0, y.d: 0}, bounds=bounds, subject_to=on, guess=guess,
        tolerance=tolerance,
    )  # fmt: skip


@problem("parallel parking", "intermediate/plot_parallel_park", tolerance=1e-5)
def parking(tolerance: float) -> Any:
    x, y, a, d = ap.coordinates("x y a d")
    F, T = ap.parameters("F T")
    fx, fy, I = x.d - 1.5 * sin(a) * a.d, y.d + 1.5 * cos(a) * a.d, 1300.0
    rear = ap.Constraint((y.d - 1.5 * cos(a) * a.d) * cos(a) - (x.d + 1.5 * sin(a) * a.d) * sin(a), name="rear")
    front = ap.Constraint(fy * cos(a + d) - fx * sin(a + d), name="front")
    energy = 600 * (x.d**2 + y.d**2) + I * a.d**2 / 2 + 100 * (fx**2 + fy**2) + I / 64 * (a.d + d.d) ** 2
    system = ap.System([x, y, a, d], energy, 0, {x: F * cos(a), y: F * sin(a), d: T}, [rear, front], name="car")
    end, t = {x: 0, y: 2, a: 0, d: 0, x.d: 0, y.d: 0, a.d: 0, d.d: 0}, np.linspace(0, 30, 61)
    bounds, guess = {d: (-PI / 4, PI / 4), T: (-50, 50), F: (-300, 300)}, {"t": t, x: np.minimum(t, 30 - t) / 5, y: t / 15}
    return ap.optimize(
        system, ap.integral(F**2 + T**2), [F, T], {}, 30.0, end=end, bounds=bounds, guess=guess, tolerance=tolerance
    )


@problem("bicycle countersteering", "intermediate/plot_countersteer", tolerance=1e-5)
def countersteer(tolerance: float) -> Any:
    theta, (x, y, psi, delta) = ap.coordinates("theta"), ap.states("x y psi delta")
    w, turn = ap.parameters("w"), 5 * tan(delta)
    lean = (2.8 - 11 - 87) * turn**2 * sin(theta) * cos(theta) + 87 * cos(theta) * (2.5 / cos(delta) ** 2 * w + turn)
    rates = {x: 5 * cos(psi), y: 5 * sin(psi), psi: turn, delta: w}
    bike = ap.System([theta], 96.2 * theta.d**2 / 2, 87 * 9.81 * cos(theta), {theta: -lean}, rates=rates, name="bicycle")
    bounds = {theta: (-PI / 2, PI / 2), delta: (-1.55, 1.55), w: (-200 * PI / 180, 200 * PI / 180)}
    bounds |= {theta.d: (-100 * PI / 180, 100 * PI / 180), psi: (-2 * PI, 2 * PI)}
    end = {theta: 0, theta.d: 0, psi: PI / 2, delta: 0}
    return ap.optimize(bike, "time", [w], {}, (0.3, 10), end=end, bounds=bounds, tolerance=tolerance)


def boat(length: Any, width: Any) -> Any:
    """A steamboat with two water wheels; drag of second order, its sign smoothed by tanh."""
    q = a, x, y, left, right = ap.coordinates("a x y l r")
    T = ap.parameters("T1 T2")
    ahead, aside = -x.d * sin(a) + y.d * cos(a), x.d * cos(a) + y.d * sin(a)
    drag = lambda v, c: -0.75 * c * v**2 * tanh(20 * v)
    arm = 1.1 * width
    speeds = [ahead - arm * a.d, ahead + arm * a.d]  # of the hubs
    paddle = [drag(v + s.d, 1) for v, s in zip(speeds, (left, right), strict=True)]
    turn = -0.75 * a.d**2 * (length**4 + width**4) / 32 * tanh(20 * a.d)
    along = drag(ahead, width) + sum(paddle)
    forces = {x: -sin(a) * along + cos(a) * drag(aside, length), y: cos(a) * along + sin(a) * drag(aside, length)}
    forces |= {a: turn + arm * (paddle[1] - paddle[0]), left: T[0] + paddle[0], right: T[1] + paddle[1]}
    hull = 5 * (x.d**2 + y.d**2) + 10 * (length**2 + width**2) / 24 * a.d**2 + a.d**2 / 4
    wheels = x.d**2 + y.d**2 + arm**2 * a.d**2 + (left.d**2 + right.d**2) / 4
    return ap.System(q, hull + wheels, 0, forces, name="steamboat"), q, T


def _crossing(system: Any, q: Any, T: Any, tolerance: float, **more: Any) -> Any:
    a, x, y, *_ = q
    cost = ap.integral(T[0] ** 2 + T[1] ** 2) + 4e4 * ap.at(ap.t, "end")
    bounds = {one: (-25, 25) for one in T} | more.pop("bounds", {})
    end = {a: -PI / 2, x: 10, y: 10, a.d: 0, x.d: 0, y.d: 0}
    return ap.optimize(system, cost, T, {a: -PI / 2}, (2, 20), end=end, bounds=bounds, tolerance=tolerance, **more)


@problem("Mississippi steamboat", "intermediate/plot_mississippi_steamboat", tolerance=1e-4, model=boat)
def steamboat(tolerance: float) -> Any:
    return _crossing(*boat(5.0, 1.0), tolerance)


@problem(
    "Mississippi steamboat, its shape", "intermediate/plot_mississippi_steamboat_shape", 250 * 0.0203318615, "duration",
    tolerance=1e-4, model=boat,
)  # fmt: skip
def steamboat_shape(tolerance: float) -> Any:
    length = ap.parameters("c", positive=True)
    return _crossing(*boat(length, 5 / length), tolerance, parameters={length: 2.5}, unknown=[length], bounds={length: (1, 20)})
