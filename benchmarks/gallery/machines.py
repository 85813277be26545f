"""Drones, balls, rockets and other machines of opty's gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Eq, exp, sin

import appell as ap
from benchmarks.gallery.published import problem


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
        car, cost, [f], start, (0.3, 3), {c: 4000, k: 40_000, l: 0.07}, end={x: 10, x.d: 0}, bounds=bounds, subject_to=still,
        unknown=[c, k, l], guess=guess, tolerance=tolerance,
    )  # fmt: skip


@problem(
    "Betts 10.47: rocket with a singular arc", "intermediate/plot_betts_10_47", 18550.87282, "height",
    "the thrust is free, and chatters on the arc; in place of opty's 18664.187 (steps of first order) what SciPy makes of"
    " Betts' law of the arc, whose instants 13.751270 s and 21.987 s it meets", 1e-4,
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
        system, -ap.at(h, "end"), [T], {m: 3}, (20, 60), end={m: 1}, bounds=bounds, guess=guess, tolerance=tolerance
    )


@problem(
    "Betts 10.47 by the law of its arc", "intermediate/plot_betts_10_47", 18550.87282, "height",
    "full thrust, Betts' law of the arc, none: each over a time of its own", 1e-8,
)  # fmt: skip
def rocket_by_law(tolerance: float) -> Any:
    """Three stretches as three rockets side by side."""
    hs, ms, T = ap.coordinates("h1 h2 h3"), ap.states("m1 m2 m3"), ap.parameters("T1 T2 T3", positive=True)
    v, c = [h.d / s for h, s in zip(hs, T, strict=True)], 1580.942579
    drag = [5.4915348492e-5 * w**2 * exp(-h / 23_800) for h, w in zip(hs, v, strict=True)]
    u = c / v[1]
    arc = drag[1] + ms[1] * 32.174 * (1 + (c**2 / (23_800 * 32.174) * (1 + 1 / u) - 1 - 2 * u) / (1 + 4 * u + 2 * u**2))
    rows = list(zip(hs, ms, T, drag, (193.044, arc, 0), strict=True))
    push, rates = {h: s**2 * (f - d) / m for h, m, s, d, f in rows}, {m: -s * f / c for _, m, s, _, f in rows}
    potential = 32.174 * sum(s**2 * h for h, s in zip(hs, T, strict=True))
    rockets = ap.System(hs, sum(h.d**2 for h in hs) / 2, potential, push, rates=rates, name="three stretches")
    join = [Eq(ap.at(x[k], "end"), ap.at(x[k + 1], "start")) for x in (hs, ms) for k in (0, 1)]
    join += [Eq(ap.at(hs[k].d, "end") * T[k + 1], ap.at(hs[k + 1].d, "start") * T[k]) for k in (0, 1)]
    start = {ms[0]: 3} | {s: ap.free for k in (1, 2) for s in (hs[k], ms[k], hs[k].d)}
    t = np.linspace(0, 1, 11)
    guess = {"t": t, hs[0]: 4500 * t**2, hs[1]: 4500 + 6500 * t, hs[2]: 11_000 + 7500 * t * (2 - t), hs[0].d: 9000 * t}
    guess |= {hs[1].d: 6500, hs[2].d: 15_000 * (1 - t), ms[0]: 3 - 1.68 * t, ms[1]: 1.32 - 0.32 * t, ms[2]: 1}
    return ap.optimize(
        rockets, -ap.at(hs[2], "end"), [], start, 1.0, dict(zip(T, (14, 8, 21), strict=True)), end={ms[1]: 1},
        bounds={s: (1, 60) for s in T}, subject_to=join, unknown=T, guess=guess, tolerance=tolerance,
    )  # fmt: skip


@problem(
    "collision", "intermediate/plot_multiphase_collision", 300 * 0.000458573938, "duration", "opty smooths the impact", 1e-5
)
def collision(tolerance: float) -> Any:
    x = ap.coordinates("x")
    F = ap.parameters("F")
    rows = [ap.Unilateral(1 - x, name="wall", restitution=0.8), ap.Friction(x.d, limit=0.6 * 9.81, name="floor")]
    block = ap.System([x], x.d**2 / 2, 0, {x: F}, rows, name="block")
    return ap.optimize(
        block, "time", [F], {}, (0.1, 5), end={x: 0}, bounds={F: (0, 160)}, phases=[("floor+",), "wall", ("floor-",)],
        tolerance=tolerance,
    )  # fmt: skip
