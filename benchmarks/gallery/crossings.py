"""Particles of opty's gallery that pass gates, boxes, bands and points."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Eq, Matrix, exp, sqrt

import appell as ap
from benchmarks.gallery.published import problem


@problem("particle through a box", "beginner/plot_particle_through_box", 500 * 0.004662866567, "objective", tolerance=1e-5)
def box(tolerance: float) -> Any:
    """Before, in and after the box, each part of the way over its share of the time T, as three particles side by side."""
    xs, ys, T = ap.coordinates("x1 x2 x3"), ap.coordinates("y1 y2 y3"), ap.parameters("T")
    fs, gs, shares = ap.parameters("f1 f2 f3"), ap.parameters("g1 g2 g3"), (0.45, 0.098, 0.452)
    push = {x: (s * T) ** 2 * (f - 4.905) for x, f, s in zip(xs, fs, shares, strict=True)}
    push |= {y: (s * T) ** 2 * (g - 4.905) for y, g, s in zip(ys, gs, shares, strict=True)}
    parts = ap.System([*xs, *ys], sum(q.d**2 for q in (*xs, *ys)) / 2, 0, push, name="three parts")
    join = [Eq(ap.at(q[k], "end"), ap.at(q[k + 1], "start")) for q in (xs, ys) for k in (0, 1)]
    join += [Eq(ap.at(q[k].d, "end") / shares[k], ap.at(q[k + 1].d, "start") / shares[k + 1]) for q in (xs, ys) for k in (0, 1)]
    limits = [f**2 + g**2 <= 625 for f, g in zip(fs, gs, strict=True)]
    start = {s: ap.free for k in (1, 2) for q in (xs, ys) for s in (q[k], q[k].d)}
    end = {xs[2]: 10, ys[2]: 10, xs[2].d: 0, ys[2].d: 0}
    bounds = {xs[1]: (10, 13), ys[1]: (1, 3), T: (0.5, 10)}
    t = np.linspace(0, 1, 11)
    guess = {"t": t, xs[0]: 11 * t, xs[1]: 11 + 0 * t, xs[2]: 11 - t, ys[0]: 2 * t, ys[1]: 2 + 0 * t, ys[2]: 2 + 8 * t}
    return ap.optimize(
        parts, T, [*fs, *gs], start, 1.0, {T: 2.5}, end=end, bounds=bounds, subject_to=join + limits, unknown=[T], guess=guess,
        tolerance=tolerance,
    )  # fmt: skip


@problem(
    "particle through gates", "beginner/plot_particle_through_gates", 500 * 0.009368990101, "objective",
    "opty's smooth gates are narrower by 0.3 m at each post", 1e-5,
)  # fmt: skip
def gates(tolerance: float) -> Any:
    """The gates are passed at quarters of the time: time in units of the duration T."""
    x, y = ap.coordinates("x y")
    f, g, T = ap.parameters("f g T")
    particle = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {x: T**2 * f, y: T**2 * g}, name="particle")
    passed = [Eq(ap.at(y, 0.25), 2), Eq(ap.at(x, 0.5), 5), Eq(ap.at(y, 0.75), 1)]
    passed += [ap.at(x, 0.25) >= 0, ap.at(x, 0.25) <= 2, ap.at(y, 0.5) >= 6, ap.at(y, 0.5) <= 8]
    passed += [ap.at(x, 0.75) >= 7, ap.at(x, 0.75) <= 9]
    t = np.linspace(0, 1, 5)
    guess = {"t": t, x: [2, 1, 5, 8, 2], y: [0, 2, 7, 1, 0]}
    bounds = {f: (-10, 10), g: (-10, 10), x: (0, 15), y: (0, 15), T: (1, 20)}
    return ap.optimize(
        particle, T, [f, g], {x: 2}, 1.0, {T: 5}, end={x: 2, y: 0, x.d: 0, y.d: 0}, bounds=bounds, subject_to=passed,
        unknown=[T], guess=guess, tolerance=tolerance,
    )  # fmt: skip


@problem(
    "particle through gates at open times", "intermediate/plot_particle_through_gates_variable_time", 500 * 0.007569056013,
    "objective", "opty's particle comes near its gates, within 0.5 m; here it passes them", 1e-5,
)  # fmt: skip
def gates_open_times(tolerance: float) -> Any:
    """Four ways from gate to gate, each over a time of its own, as four particles side by side."""
    xs, ys, T = ap.coordinates("x1 x2 x3 x4"), ap.coordinates("y1 y2 y3 y4"), ap.parameters("T1 T2 T3 T4")
    fs, gs = ap.parameters("f1 f2 f3 f4"), ap.parameters("g1 g2 g3 g4")
    push = {q: T[k] ** 2 * F[k] for Q, F in ((xs, fs), (ys, gs)) for k, q in enumerate(Q)}
    ways = ap.System([*xs, *ys], sum(q.d**2 for q in (*xs, *ys)) / 2, 0, push, name="four ways")
    join = [Eq(ap.at(q[k], "end"), ap.at(q[k + 1], "start")) for q in (xs, ys) for k in range(3)]
    join += [Eq(ap.at(q[k].d, "end") * T[k + 1], ap.at(q[k + 1].d, "start") * T[k]) for q in (xs, ys) for k in range(3)]
    start = {xs[0]: 2} | {s: ap.free for q in (xs, ys) for k in range(1, 4) for s in (q[k], q[k].d)}
    end = {xs[0]: (7, 9), ys[0]: 1, xs[1]: 5, ys[1]: (6, 8), xs[2]: (0, 2), ys[2]: 2, xs[3]: 2, ys[3]: 0}
    bounds = {u: (-10, 10) for u in (*fs, *gs)} | {one: (0.2, 5) for one in T} | {q: (0, 15) for q in (*xs, *ys)}
    t, at = np.linspace(0, 1, 11), [(2, 0), (8, 1), (5, 7), (1, 2), (2, 0)]
    guess = {q[k]: at[k][i] + (at[k + 1][i] - at[k][i]) * t for i, q in enumerate((xs, ys)) for k in range(4)}
    return ap.optimize(
        ways, sum(T), [*fs, *gs], start, 1.0, {one: 1 for one in T}, end=end | {xs[3].d: 0, ys[3].d: 0}, bounds=bounds,
        subject_to=join, unknown=T, guess={"t": t} | guess, tolerance=tolerance,
    )  # fmt: skip


@problem(
    "points hit at open times", "intermediate/plot_find_points", 99 * 0.068063362383, "objective",
    "opty weighs its time against missing the points; here they are hit", 1e-5,
)  # fmt: skip
def points(tolerance: float) -> Any:
    """Five ways from point to point, each over a time of its own, as five particles side by side."""
    xs, ys, T = ap.coordinates("x1 x2 x3 x4 x5"), ap.coordinates("y1 y2 y3 y4 y5"), ap.parameters("T1 T2 T3 T4 T5")
    fs, gs = ap.parameters("f1 f2 f3 f4 f5"), ap.parameters("g1 g2 g3 g4 g5")
    push = {q: T[k] ** 2 * F[k] for Q, F in ((xs, fs), (ys, gs)) for k, q in enumerate(Q)}
    ways = ap.System([*xs, *ys], sum(q.d**2 for q in (*xs, *ys)) / 2, 0, push, name="five ways")
    at = [(0, 0), (1, 2), (4, 8), (8, 4), (5, 4), (10, 0)]
    join = [Eq(ap.at(q[k].d, "end") * T[k + 1], ap.at(q[k + 1].d, "start") * T[k]) for q in (xs, ys) for k in range(4)]
    start = {q[k]: at[k][i] for i, q in enumerate((xs, ys)) for k in range(5)}
    start |= {q[k].d: ap.free for q in (xs, ys) for k in range(1, 5)}
    end = {q[k]: at[k + 1][i] for i, q in enumerate((xs, ys)) for k in range(5)} | {xs[4].d: 0, ys[4].d: 0}
    bounds = {u: (-7.5, 7.5) for u in (*fs, *gs)} | {one: (0.2, 5) for one in T}
    return ap.optimize(
        ways, sum(T), [*fs, *gs], start, 1.0, {one: 1.3 for one in T}, end=end, bounds=bounds, subject_to=join, unknown=T,
        tolerance=tolerance,
    )  # fmt: skip


@problem("particle that follows a line", "intermediate/plot_particle_on_line", 100 * 0.005741374674, "duration", tolerance=1e-5)
def line(tolerance: float) -> Any:
    """r along the curve, n across it: the particle stays within |n| <= 1.24 of the line."""
    r, n = ap.coordinates("r n")
    F = ap.parameters("F1 F2")
    curve = 5.7 * (1 - exp(-r))
    X = Matrix([r, curve]) + n * Matrix([-curve.diff(r), 1]) / sqrt(1 + curve.diff(r) ** 2)
    J = X.jacobian([r, n])
    v = J * Matrix([r.d, n.d])
    push = dict(zip((r, n), J.T * (Matrix(F) - v / 10), strict=True))
    particle = ap.System([r, n], v.dot(v) / 2, 9.81 * X[1], push, name="particle")
    bounds = {f: (-175, 175) for f in F} | {r: (0, 10), n: (-1.24, 1.24)}
    return ap.optimize(particle, "time", F, {}, (0.2, 3), end={r: 10, n: 0, r.d: 0, n.d: 0}, bounds=bounds, tolerance=tolerance)
