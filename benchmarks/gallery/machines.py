"""Drones, balls, rockets and other machines of opty's gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Eq, Matrix, cos, exp, sin, sqrt, tanh

import appell as ap
from benchmarks.gallery.published import PI, problem


@problem("drone", "intermediate/plot_drone", tolerance=1e-4)
def drone(tolerance: float) -> Any:
    x, y, z = ap.coordinates("x y z")
    body, F = ap.quaternion("b"), ap.parameters("F1 F2 F3 F4")
    up, rates = body.rotation * Matrix([0, 0, 1]), body.rates
    inertia = (2 / 12 * 0.26, 2 / 12 * 1.01, 2 / 12 * 1.25)
    T = x.d**2 + y.d**2 + z.d**2 + sum(J * w**2 for J, w in zip(inertia, rates, strict=True)) / 2
    push = {q: u * sum(F) - 0.06 * q.d for q, u in zip((x, y, z), up, strict=True)}
    push |= {rates[0]: (F[0] + F[1] - F[2] - F[3]) / 4, rates[1]: (-F[0] + F[1] - F[2] + F[3]) / 2}
    system = ap.System([x, y, z, body], T, 19.62 * z, push, name="drone")
    q = body.coordinates
    half = [Eq(ap.at(q[0], 5.0), ap.at(q[1], 5.0)), Eq(ap.at(q[2], 5.0), 0), Eq(ap.at(q[3], 5.0), 0)]
    end = {x: 10, y: 10, z: 10, q[0]: 1, q[1]: 0, q[2]: 0, q[3]: 0} | {v: 0 for v in (x.d, y.d, z.d, *rates)}
    t = np.linspace(0, 10, 41)
    tilt = np.interp(t, [0, 5, 10], [0, PI / 4, 0])
    guess = {"t": t, q[0]: np.cos(tilt), q[1]: np.sin(tilt)} | {u: t for u in (x, y, z)} | {f: 5.0 for f in F}
    return ap.optimize(
        system, ap.integral(sum(f**2 for f in F)), F, {}, end, 10.0, bounds={f: (-100, 100) for f in F}, subject_to=half,
        guess=guess, tolerance=tolerance,
    )  # fmt: skip


@problem("quarter car on a bumpy road", "beginner/plot_wheel_on_bumpy_road", 300 * 0.002441000472, "duration", tolerance=1e-4)
def quarter_car(tolerance: float) -> Any:
    x, z, w = ap.coordinates("x z w")
    f, c, k, l = ap.parameters("f c k l")
    wave = lambda n: sin(0.75 * n * x) ** 2
    road = 0.135 * (0.56 * wave(1) + 0.1 * wave(2) + 0.1 * wave(3) + 0.025 * wave(7) + 0.025 * wave(9))
    strut = k * (1 - z + road) - c * (z.d - road.diff(x) * x.d)
    tyre = 250_000 * (l - w + road)
    push = {x: f, z: strut, w: tyre - strut}
    T = 177.5 * x.d**2 + 175 * z.d**2 + 2.5 * w.d**2
    car = ap.System([x, z, w], T, 9.81 * (350 * z + 5 * w), push, name="quarter car")
    cost = ap.integral(z.dd**2) / 1e6 + 10 / 3 * ap.at(ap.t, "end")  # in millions
    bounds = {x: (0, 10), w: (0, 2), x.d: (0, None), c: (0, 1e5), k: (15_000, 500_000), f: (-50_000, 50_000), l: (0, 1)}
    bounds |= {w - road: (0, 0.1), z - road: (0.85, 1)}
    start = {z: ap.free, w: ap.free, z.d: ap.free, w.d: ap.free}
    t = np.linspace(0, 0.8, 81)
    s = 10 * (t / 0.8) ** 2 * (3 - 2 * t / 0.8)
    guess = {"t": t, x: s, z: 0.92 + 0 * t, w: 0.06 + 0 * t, x.d: np.gradient(s, t)}
    still = [Eq(ap.at(strut, "start"), 350 * 9.81)]  # no acceleration of the body
    return ap.optimize(
        car, cost, [f], start, {x: 10, x.d: 0}, (0.3, 3), {c: 4000, k: 40_000, l: 0.07}, bounds=bounds, subject_to=still,
        unknown=[c, k, l], guess=guess, tolerance=tolerance,
    )  # fmt: skip


@problem(
    "Betts 10.47: rocket with a singular arc", "intermediate/plot_betts_10_47", 18664.187, "height",
    "Betts prescribes the law of the singular arc in a phase of its own; here the thrust is free", 1e-4,
)  # fmt: skip
def rocket(tolerance: float) -> Any:
    h, m = ap.coordinates("h"), ap.states("m")
    T = ap.parameters("T")
    drag = 5.4915348492e-5 * h.d**2 * exp(-h / 23_800)
    system = ap.System([h], h.d**2 / 2, 32.174 * h, {h: (T - drag) / m}, rates={m: -T / 1580.942579}, name="rocket")
    t = np.linspace(0, 42, 43)
    guess = {"t": t, h: 18_000 * (t / 42) * (2 - t / 42), h.d: 860 * (1 - t / 42), m: np.maximum(3 - t / 11, 1)}
    bounds = {T: (0, 193.044), m: (1, 3)}
    return ap.optimize(
        system, -ap.at(h, "end"), [T], {m: 3}, {m: 1}, (20, 60), bounds=bounds, guess=guess, tolerance=tolerance
    )


@problem(
    "collision", "intermediate/plot_multiphase_collision", 300 * 0.000458573938, "duration", "opty smooths the impact", 1e-5
)
def collision(tolerance: float) -> Any:
    x = ap.coordinates("x")
    F = ap.parameters("F")
    rows = [ap.Unilateral(1 - x, name="wall", restitution=0.8), ap.Friction(x.d, limit=0.6 * 9.81, name="floor")]
    block = ap.System([x], x.d**2 / 2, 0, {x: F}, rows, name="block")
    return ap.optimize(
        block, "time", [F], {}, {x: 0}, (0.1, 5), bounds={F: (0, 160)}, phases=[("floor+",), "wall", ("floor-",)],
        tolerance=tolerance,
    )  # fmt: skip


@problem(
    "ball on a spinning disc", "advanced/plot_ball_rolling_on_spinning_disc", 249 * 0.016244599294, "duration",
    "opty rolls by Euler angles, x = r q₂, and disc time runs apart", 1e-4,
)  # fmt: skip
def ball(tolerance: float) -> Any:
    """x, y on the disc; ω of the ball on the axes of the disc; an observer of 1 kg on the ball."""
    (x, y), body, T = ap.coordinates("x y"), ap.quaternion("b", axes="space"), ap.parameters("T1 T2 T3")
    spin = 10 * (1 - exp(-ap.t / 2))
    w, eye = Matrix(body.rates), body.rotation * Matrix([1, 0, 0])
    centre = Matrix([x.d - spin * y, y.d + spin * x, 0])  # in space, on axes that turn with the disc
    about = w + Matrix([0, 0, spin])  # ω in space
    rows = [ap.Constraint(x.d - w[1], name="roll x"), ap.Constraint(y.d + w[0], name="roll y")]
    seen = centre + about.cross(eye)
    energy = 2.5 * centre.dot(centre) + about.dot(about) + seen.dot(seen) / 2
    torque = body.rotation * Matrix(T)
    forces = dict(zip(body.rates, torque, strict=True))
    system = ap.System([x, y, body], energy, 9.81 * eye[2], forces, rows, name="ball")
    cost = ap.integral(sum(one**2 for one in T)) + 2.5e5 / 249 * ap.at(ap.t, "end")
    bounds = {one: (-10, 10) for one in T}
    return ap.optimize(
        system, cost, T, {x: 7, y: 7}, {x: 0, y: 0, x.d: 0, y.d: 0}, (1, 12), bounds=bounds, tolerance=tolerance
    )


@problem("disc that pushes a disc", "beginner/plot_disc_pushing_disc", tolerance=1e-3)
def discs(tolerance: float) -> Any:
    x, y, q = ap.coordinates("x1 x2"), ap.coordinates("y1 y2"), ap.coordinates("q1 q2")
    F, m, r = ap.parameters("F1 F2"), (1.56, 1.0), (1.25, 1.0)
    v = [Matrix([x[i].d, y[i].d]) for i in (0, 1)]
    rim = [v[i] - r[i] * q[i].d * Matrix([cos(q[i]), sin(q[i])]) for i in (0, 1)]
    T = sum(m[i] * v[i].dot(v[i]) / 2 + m[i] * r[i] ** 2 * q[i].d ** 2 / 4 + rim[i].dot(rim[i]) / 2 for i in (0, 1))
    apart = Matrix([x[1] - x[0], y[1] - y[0]])
    n, gap = apart / sqrt(apart.dot(apart)), sqrt(apart.dot(apart)) - 2.25
    t = Matrix([n[1], -n[0]])
    slip = (v[0] - v[1]).dot(t) - r[0] * q[0].d - r[1] * q[1].d  # of the points of contact
    on = [(1000 * gap * (1 - tanh(50 * gap)) / 2) * n - slip / 4 * t, None]
    rub = [-0.25 * 9.81 * m[i] * v[i].applyfunc(lambda u: tanh(50 * u)) for i in (0, 1)]
    push = dict(zip((x[0], y[0]), on[0] + rub[0] + Matrix(F), strict=True))
    push |= dict(zip((x[1], y[1]), -on[0] + rub[1], strict=True)) | {q[i]: slip / 4 * r[i] for i in (0, 1)}
    system = ap.System([*x, *y, *q], T, 0, push, name="discs")
    s = np.linspace(0, 3, 61)
    guess = {"t": s, x[0]: np.interp(s, [0, 1.2, 3], [8.75, 4.2, 9]), y[0]: np.interp(s, [0, 1.2, 3], [0, 3.2, 8.4])}
    guess |= {x[1]: np.interp(s, [1.2, 3], [5, 10]), y[1]: np.interp(s, [1.2, 3], [5, 10])}
    guess |= {one.d: np.gradient(guess[one], s) for one in (*x, *y)}
    return ap.optimize(
        system, ap.integral(F[0] ** 2 + F[1] ** 2), F, {x[0]: 8.75, x[1]: 5, y[1]: 5}, {x[1]: 10, y[1]: 10}, 3.0,
        subject_to=[F[0] ** 2 + F[1] ** 2 <= 625], guess=guess, tolerance=tolerance,
    )  # fmt: skip
