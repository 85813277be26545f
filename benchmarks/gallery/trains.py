"""Tractors of opty's gallery that park their trailers, backwards, in a bay.

A train that is pushed is unstable: an error grows by exp(way / bar), and no simulation of 30 m follows. Without friction the
time may run backwards, so that the train is drawn out of the bay; forces and duration are the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sympy import Eq, Matrix, cos, sin, sqrt, tan, tanh

import appell as ap
from benchmarks.gallery.published import PI, problem

HALF_WIDTH = 1.75
"""Of the bay, m."""


def train(lengths: tuple[float, ...]) -> Any:
    """x, y of the tractor's centre, a the headings of the vehicles, d those of their front axles; `marks` are on the ground."""
    (x, y), (F, T) = ap.coordinates("x y"), ap.parameters("F T")
    a, d = ([ap.coordinates(f"{c}{i}") for i in range(len(lengths))] for c in "ad")
    q, along, push = [x, y, *a, *d], lambda s: Matrix([cos(s), sin(s)]), d[0].d * T
    back, energy, rows, marks = Matrix([x, y]) + lengths[0] / 2 * along(a[0]), 0, [], []
    for i, length in enumerate(lengths):
        front = back - 0.75 * along(d[i]) if i else back
        middle, back = front - length / 2 * along(a[i]), front - length * along(a[i])
        v = [p.jacobian(q) * Matrix([s.d for s in q]) for p in (front, middle, back)]
        for k, s, name in ((0, d[i], "front"), (2, a[i], "rear")):
            rows.append(ap.Constraint(v[k].dot(along(s + PI / 2)), name=f"{name} {i}"))
        energy += sum(m * w.dot(w) / 2 for m, w in zip((0.5, 1, 0.5), v, strict=True))
        energy += (length**2 / 24 + 0.140625) * a[i].d ** 2 + 0.140625 * d[i].d ** 2
        push, marks = push if i else push + v[2].dot(along(a[0])) * F, [*marks, (front, d[i]), (middle, None), (back, a[i])]
    system = ap.System(q, energy, 0, {s: push.diff(s.d) for s in q}, rows, name="train")
    return system, (x, y), a, d, (F, T), marks


def drawn_train(lengths: tuple[float, ...]) -> Any:
    """The same train without rows, for a smaller program.

    The rows leave two velocities: u of the tractor's rear axle, and that of its front axle's heading. All else moves with u, so
    T = μ(q) u²/2 + J ḋ₀²/2 and μ u̇ + μ̇ u/2 = F, or σ̈ = F/√μ with σ̇ = √μ u. In the loop u = 1: the front of a vehicle has
    the speeds p along its axle's heading, s along the vehicle and c across it; bar and turn are the rates of the headings.
    """
    (sigma, d0), (F, T), (x, y) = ap.coordinates("sigma d0"), ap.parameters("F T"), ap.states("x y")
    a, d = ([ap.states(f"{c}{i}") for i in range(k, len(lengths))] for c, k in (("a", 0), ("d", 1)))
    d, along, s, c, bar, mass, marks = [d0, *d], lambda r: Matrix([cos(r), sin(r)]), 1, tan(d0 - a[0]), 0, 0, []
    back, v = Matrix([x, y]) + lengths[0] / 2 * along(a[0]), along(a[0]) + c / 2 * along(a[0] + PI / 2)
    rates = {x: v[0], y: v[1]}
    for i, length in enumerate(lengths):
        front = back - 0.75 * along(d[i]) if i else back
        if i:
            p, bar = s * cos(a[i - 1] - d[i]), s * sin(a[i - 1] - d[i]) / 0.75
            s, c, rates[d[i]] = p * cos(d[i] - a[i]), p * sin(d[i] - a[i]), bar
        turn, middle, back = c / length, front - length / 2 * along(a[i]), front - length * along(a[i])
        mass += 2 * s**2 + 0.75 * c**2 + (length**2 / 12 + 0.28125) * turn**2 + 0.28125 * bar**2
        rates[a[i]], marks = turn, [*marks, (front, d[i]), (middle, None), (back, a[i])]
    rates, forces = {r: rate * sigma.d / sqrt(mass) for r, rate in rates.items()}, {sigma: F / sqrt(mass), d0: T}
    system = ap.System([sigma, d0], sigma.d**2 / 2 + 0.140625 * d0.d**2, 0, forces, rates=rates, name="drawn train")
    return system, (x, y), a, d, (F, T), marks


def _above(marks: Any, depth: float, steep: float) -> list[Any]:
    """Wheels and centres stay above the ground, which has a bay of that depth; its walls become steep."""
    wheels = [p + side * Matrix([-sin(s), cos(s)]) for p, s in marks if s is not None for side in (0.75, -0.75)]
    edge = lambda x: tanh(steep * (x + HALF_WIDTH)) - tanh(steep * (x - HALF_WIDTH))
    return [p[1] + depth / 2 * edge(p[0]) >= 0 for p in (*wheels, *(p for p, s in marks if s is None))]


def _inside(marks: Any, a: Any, d: Any, depth: float) -> list[Any]:
    """The last axle is half a metre from the end of the bay, near its middle; the train is nearly straight."""
    found, back = [], marks[-1][0]
    limits = {back[0]: 0.25} | {s - r: PI / 60 for r, s in pairwise(a)}
    limits |= {s - r: PI / 3 / np.sqrt(30) for s, r in zip(d[1:], a[1:], strict=True)}
    for expr, most in limits.items():
        found += [ap.at(expr, "start") <= most, ap.at(expr, "start") >= -most]
    return [*found, Eq(ap.at(back[1], "start"), 0.5 - depth)]


def _parked(
    model: Any, lengths: tuple[float, ...], depth: float, most: float, heights: tuple[float, float], steps: Any, sketch: Any
) -> Any:
    """steps: the steepness of the walls and the tolerance of each search, which starts from the plan before; sketch: more of
    the first guess, at its times."""
    system, (x, y), a, d, (F, T), marks = model(lengths)
    y0, high = heights
    q, last = [x, y, *a, *d], 0.5 - depth + lengths[0] / 2 + sum(lengths[1:]) + 0.75 * (len(lengths) - 1)
    bounds: dict[Any, Any] = {F: (-most, most), T: (-most, most), y: (-4, high), d[0] - a[0]: (-PI / 4, PI / 4)}
    bounds |= {s - r: (-PI / 2, PI / 2) for r, s in pairwise(a)}
    bounds |= {s - r: (-PI / 3, PI / 3) for s, r in zip(d[1:], a[1:], strict=True)}
    end = {x: 25, y: y0} | {s: PI / 2 for s in (*a, *d)} | {v: 0 for v in system.velocities}
    share, plan = np.linspace(0, 1, 41), None
    guess = {"t": 4 * share, x: 25 * np.clip((share - 0.4) / 0.6, 0, 1), y: last + (y0 - last) * np.clip(2 * share, 0, 1)}
    guess |= {s: PI / 2 for s in (*a, *d)} | sketch
    for steep, tolerance in steps:
        plan = ap.optimize(
            system, "time", [F, T], {s: ap.free for s in q}, (1, 6), end=end, bounds=bounds, guess=plan or guess,
            subject_to=_above(marks, depth, steep) + _inside(marks, a, d, depth), tolerance=tolerance,
        )  # fmt: skip
    return plan


REMARK = (
    "drawn out of the bay in place of pushed into it, which is unstable; what opty bounds over its last 30 nodes is bounded"
    " where the train is parked; opty's time is the longest it allows"
)


@problem(
    "tractor with two trailers, parked", "beginner/plot_tractor_trailer", 750 * 0.004999982754, "duration", REMARK, 1e-2,
    model=train,
)  # fmt: skip
def two_trailers(tolerance: float) -> Any:
    return _parked(train, (1.0, 2.0, 3.0), 8.0, 100.0, (20.0, 25.0), ((2, 0.9), (15, tolerance)), {})


@problem(
    "tractor with three trailers, parked", "beginner/plot_tractor_three_trailer", 350 * 0.007997976168, "duration",
    f"{REMARK}; written without rows, in the two velocities that they leave", 1e-2, model=drawn_train,
)  # fmt: skip
def three_trailers(tolerance: float) -> Any:
    steps = (*((steep, 0.5) for steep in (2, 4, 8, 15)), (15, tolerance))
    sketch = {"sigma": np.linspace(0, 50, 41), "sigma.d": 12.5}  # which tell the size of σ
    return _parked(drawn_train, (1.0, 2.0, 3.0, 4.0), 12.0, 500.0, (25.0, 50.0), steps, sketch)
