"""Ways of opty's gallery through media, around a hole and around pylons, in parts that have times of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import PPoly, UnivariateSpline
from sympy import Eq, Matrix, Piecewise, cos, sin

import appell as ap
from benchmarks.gallery.published import PI, problem


@problem(
    "light through three media", "beginner/plot_light_diffraction", 500 * 0.012447361315, "objective",
    "opty blends the speed limits, which allows less than Snell's 6.2742539 s; here each medium has its own", 1e-4,
)  # fmt: skip
def light(tolerance: float) -> Any:
    """Three media as three particles side by side, each over a time of its own."""
    xs, ys, T = ap.coordinates("x1 x2 x3"), ap.coordinates("y1 y2 y3"), ap.parameters("T1 T2 T3")
    fs, gs = ap.parameters("f1 f2 f3"), ap.parameters("g1 g2 g3")
    push = {q: T[k] ** 2 * F[k] - T[k] * q.d for Q, F in ((xs, fs), (ys, gs)) for k, q in enumerate(Q)}
    ways = ap.System([*xs, *ys], sum(q.d**2 for q in (*xs, *ys)) / 2, 0, push, name="three media")
    join = [Eq(ap.at(ys[k], "end"), ap.at(ys[k + 1], "start")) for k in (0, 1)]
    join += [Eq(ap.at(q[k].d, "end") * T[k + 1], ap.at(q[k + 1].d, "start") * T[k]) for q in (xs, ys) for k in (0, 1)]
    slow = [q.d**2 + w.d**2 <= (c * s) ** 2 for q, w, c, s in zip(xs, ys, (5, 1, 5), T, strict=True)]
    slow += [f**2 + g**2 <= 400**2 for f, g in zip(fs, gs, strict=True)]
    start = {xs[1]: 3, xs[2]: 7, ys[1]: ap.free, ys[2]: ap.free} | {q.d: ap.free for q in (*xs, *ys)}
    t = np.linspace(0, 1, 21)
    guess = {"t": t, xs[0]: 3 * t, xs[1]: 3 + 4 * t, xs[2]: 7 + 3 * t, ys[0]: 3.5 * t, ys[1]: 3.5 + 3 * t, ys[2]: 6.5 + 3.5 * t}
    guess |= {xs[0].d: 3, xs[1].d: 4, xs[2].d: 3} | {y.d: 3 for y in ys}
    bounds = {s: (0.1, 10) for s in T} | {u: (-400, 400) for u in (*fs, *gs)} | {q.d: (0, None) for q in (*xs, *ys)}
    return ap.optimize(
        ways, sum(T), [*fs, *gs], start, 1.0, dict(zip(T, (1, 5, 1), strict=True)),
        end={xs[0]: 3, xs[1]: 7, xs[2]: 10, ys[2]: 10}, bounds=bounds, subject_to=join + slow, unknown=T, guess=guess,
        tolerance=tolerance,
    )  # fmt: skip


@problem(
    "light through three media, without drag", "intermediate/plot_light_diffraction", 500 * 0.012466969684, "objective",
    "opty blends the speed limits, which allows less than Snell's 6.2742539 s", 1e-3,
)  # fmt: skip
def light_without_drag(tolerance: float) -> Any:
    """Ways s and headings h of three particles side by side: the speed limits are linear in them."""
    s, T, w, f = ap.coordinates("s1 s2 s3"), *(ap.parameters(f"{c}1 {c}2 {c}3") for c in "Twf")
    x, y, h = (ap.states(f"{c}1 {c}2 {c}3") for c in "xyh")
    rates = {x[k]: s[k].d * cos(h[k]) for k in range(3)} | {y[k]: s[k].d * sin(h[k]) for k in range(3)}
    rates |= {h[k]: T[k] * w[k] for k in range(3)}
    push = {s[k]: T[k] ** 2 * f[k] for k in range(3)}
    ways = ap.System(s, sum(q.d**2 for q in s) / 2, 0, push, rates=rates, name="three media")
    join = [Eq(ap.at(q[k], "end"), ap.at(q[k + 1], "start")) for q in (y, h) for k in (0, 1)]
    join += [Eq(ap.at(s[k].d, "end") * T[k + 1], ap.at(s[k + 1].d, "start") * T[k]) for k in (0, 1)]
    slow = [s[k].d <= c * T[k] for k, c in enumerate((5, 1, 5))] + [s[k].d * cos(h[k]) >= T[k] / 2 for k in range(3)]
    slow += [f[k] ** 2 * T[k] ** 2 + (w[k] * s[k].d) ** 2 <= (500 * T[k]) ** 2 for k in range(3)]
    start = {x[1]: 3, x[2]: 7, h[0]: np.arctan2(3, 4)} | {q[k]: ap.free for q in (y, h) for k in (1, 2)}
    start |= {q.d: ap.free for q in s}
    t = np.linspace(0, 1, 21)
    guess = {"t": t, x[0]: 3 * t, x[1]: 3 + 4 * t, x[2]: 7 + 3 * t, y[0]: 4 * t, y[1]: 4 + t, y[2]: 5 + 5 * t}
    guess |= {s[0]: 4 * t, s[1]: 5 * t, s[2]: 4 * t, s[0].d: 4, s[1].d: 4.5, s[2].d: 4, h[0]: 0.8, h[1]: 0.3, h[2]: 0.8}
    bounds = {one: (0.1, 10) for one in T} | {u: (-500, 500) for u in (*f, *w)} | {q: (0, PI / 2) for q in h}
    return ap.optimize(
        ways, sum(T), [*f, *w], start, 1.0, dict(zip(T, (1, 5, 1), strict=True)), end={x[0]: 3, x[1]: 7, x[2]: 10, y[2]: 10},
        bounds=bounds, subject_to=join + slow, unknown=T, guess=guess, tolerance=tolerance,
    )  # fmt: skip


def edges(xs: Any) -> list[Any]:
    """opty's edges of a hole, splines of order four through random points: the lower and the upper one."""
    rng, at, found = np.random.RandomState(4), np.linspace(-21, 21, 14), []
    top = np.concatenate([[-100, -100], rng.uniform(5, 10, 10), [-100, -100]])
    bottom = np.concatenate([[100, 100], rng.uniform(-10, -5, 10), [100, 100]])
    for x, heights in zip(xs, (bottom, top), strict=True):
        poly = PPoly.from_spline(UnivariateSpline(at, heights, k=4, s=0)._eval_args)
        some = [k for k in range(len(poly.x) - 1) if poly.x[k + 1] > poly.x[k]]
        pieces = [(sum(c * (x - poly.x[k]) ** (4 - i) for i, c in enumerate(poly.c[:, k])), x < poly.x[k + 1]) for k in some]
        found.append(Piecewise(*pieces[:-1], (pieces[-1][0], True)))
    return found


@problem(
    "particle around a hole", "beginner/plot_particle_avoid_hole", 1500 * 0.128026626746, "T1 + T2",
    "the times below and above the hole; opty blends the two edges where they meet", 1e-4,
)  # fmt: skip
def hole(tolerance: float) -> Any:
    """Below the hole and above it, as two particles side by side, each over a time of its own."""
    xs, ys, T = ap.coordinates("x1 x2"), ap.coordinates("y1 y2"), ap.parameters("T1 T2")
    fs, gs = ap.parameters("f1 f2"), ap.parameters("g1 g2")
    push = {q: T[k] ** 2 * F[k] - 0.01 * ys[k] ** 2 * T[k] * q.d for Q, F in ((xs, fs), (ys, gs)) for k, q in enumerate(Q)}
    ways = ap.System([*xs, *ys], sum(q.d**2 for q in (*xs, *ys)) / 2, 0, push, name="two ways")
    bottom, top = edges(xs)
    join = [Eq(ap.at(xs[0], "end"), ap.at(xs[1], "start"))]
    join += [Eq(ap.at(q[0].d, "end") * T[1], ap.at(q[1].d, "start") * T[0]) for q in (xs, ys)]
    start = {ys[0]: -11, ys[1]: 0} | {s: ap.free for s in (xs[1], xs[1].d, ys[1].d)}
    bounds = {q: (-20, 20) for q in (*xs, *ys)} | {u: (-50, 50) for u in (*fs, *gs)} | {s: (1, 200) for s in T}
    t, at = np.linspace(0, 1, 21), lambda times, values: np.interp(np.linspace(0, 1, 21), times, values)
    guess = {"t": t, xs[0]: -18.5 * t, ys[0]: at([0, 0.7, 1], [-11, -12, 0])}
    guess |= {xs[1]: at([0, 0.3, 1], [-18.5, -17, 10]), ys[1]: at([0, 0.3, 1], [0, 12, 15])}
    cost = ap.integral(sum(s * (f**2 + g**2) for s, f, g in zip(T, fs, gs, strict=True))) + (T[0] + T[1]) / 3
    return ap.optimize(
        ways, cost, [*fs, *gs], start, 1.0, {s: 50 for s in T}, end={ys[0]: 0, xs[1]: 10, ys[1]: 15, xs[1].d: 0, ys[1].d: 0},
        bounds=bounds, subject_to=[bottom - ys[0] >= 1, ys[1] - top >= 1, *join], unknown=T, guess=guess, tolerance=tolerance,
    )  # fmt: skip


def three_cars() -> Any:
    """opty's car on three ways side by side, each over a time of its own: x, y of the front, a of the body, d of the wheels."""
    T, F, M = (ap.parameters(f"{c}1 {c}2 {c}3") for c in "TFM")
    q, energy, push, rows = [ap.coordinates(f"x{i} y{i} a{i} d{i}") for i in (1, 2, 3)], 0, {}, []
    for i, ((x, y, a, d), f, m, s) in enumerate(zip(q, F, M, T, strict=True)):
        across, front = Matrix([cos(a), sin(a)]), Matrix([x.d, y.d])
        back, middle = front + 3 * a.d * across, front + 1.5 * a.d * across
        rows.append(ap.Constraint(back.dot(across), name=f"rear {i}"))
        rows.append(ap.Constraint(x.d * cos(a + d) + y.d * sin(a + d), name=f"front {i}"))
        energy += middle.dot(middle) / 2 + (front.dot(front) + back.dot(back)) / 4 + 0.75 * a.d**2 + (a.d + d.d) ** 2 / 4
        drive = back.dot(Matrix([-sin(a), cos(a)])) * f * s**2 - middle.dot(middle) / 4 * s
        push |= {x: drive.diff(x.d), y: drive.diff(y.d), a: drive.diff(a.d) + m * s**2, d: m * s**2}
    return ap.System([s for one in q for s in one], energy, 0, push, rows, name="three cars"), q, T, F, M


def _curves(q: Any) -> dict[Any, Any]:
    """A guess: three cubic curves that join smoothly, and the headings along them."""
    t = np.linspace(0, 1, 31)
    ways = (0, 0, 0, 8, 6, 14, 10, 15), (10, 15, 18, 18, 4, 24, -5, 10), (-5, 10, -8, 4, -8, -3, 0, 0)
    basis = np.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], axis=1)
    points = [basis @ np.reshape(way, (4, 2)) for way in ways]
    speeds = [np.gradient(p, t, axis=0) for p in points]
    headings = np.unwrap(np.concatenate([np.arctan2(-v[:, 0], v[:, 1]) for v in speeds])).reshape(3, -1)
    found: dict[Any, Any] = {"t": t}
    for (x, y, a, _), p, v, h in zip(q, points, speeds, headings, strict=True):
        found |= {x: p[:, 0], y: p[:, 1], a: h, x.d: v[:, 0], y.d: v[:, 1], a.d: np.gradient(h, t)}
    return found


@problem(
    "car around two pylons", "advanced/plot_car_around_pylons", None, "objective",
    "opty stores h = 0.03 s to two digits, 10 s to 14 s, and stays within 0.5 m of the pylons for 0.2 s; here they are passed",
    1e-3, model=three_cars,
)  # fmt: skip
def pylons(tolerance: float) -> Any:
    cars, q, T, F, M = three_cars()
    at = [(0, 0), (10, 15), (-5, 10), (0, 0)]
    join = [Eq(ap.at(q[k][j], "end"), ap.at(q[k + 1][j], "start")) for k in (0, 1) for j in (2, 3)]
    join += [Eq(ap.at(q[k][j].d, "end") * T[k + 1], ap.at(q[k + 1][j].d, "start") * T[k]) for k in (0, 1) for j in (0, 3)]
    start = {q[k][j]: at[k][j] for k in range(3) for j in (0, 1)} | {q[0][3]: ap.free}
    start |= {s: ap.free for k in (1, 2) for s in (q[k][2], q[k][3], *(w.d for w in q[k]))}
    end = {q[k][j]: at[k + 1][j] for k in range(3) for j in (0, 1)} | {q[2][0].d: 0, q[2][1].d: 0}
    bounds = {u: (-20, 20) for u in (*F, *M)} | {s: (0.5, 20) for s in T} | {one[3]: (-PI / 4, PI / 4) for one in q}
    grip = []
    for (x, y, a, _), s in zip(q, T, strict=True):
        front = x.dd * cos(a) + y.dd * sin(a)
        grip += [g <= 5 * s**2 for g in (front, -front, front + 3 * a.dd, -front - 3 * a.dd)]
        grip += [-x.d * sin(a) + y.d * cos(a) >= 0]
    return ap.optimize(
        cars, sum(T), [*F, *M], start, 1.0, dict(zip(T, (4, 5, 4), strict=True)), end=end, bounds=bounds,
        subject_to=join + grip, unknown=T, guess=_curves(q), tolerance=tolerance,
    )  # fmt: skip
