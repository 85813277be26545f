"""Particles and blocks of opty's gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Rational, cos, exp, sin, sqrt

import appell as ap
from benchmarks.gallery.published import PI, problem


@problem("brachistochrone", "beginner/plot_brachistochrone", 200 * 0.008953119126, "duration")
def brachistochrone(tolerance: float) -> Any:
    x, y = ap.coordinates("x y")
    b = ap.parameters("b")
    tangent = ap.Constraint(x.d * sin(b) - y.d * cos(b), name="tangent")
    bead = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[tangent], name="bead")
    return ap.optimize(bead, "time", [b], {}, (0.5, 5), end={x: 10, y: -6}, tolerance=tolerance)


@problem("brachistochrone above a line", "beginner/plot_brachi_shift", 200 * 0.009014668650, "duration")
def brachistochrone_above_a_line(tolerance: float) -> Any:
    x, y = ap.coordinates("x y")
    b = ap.parameters("b")
    tangent = ap.Constraint(x.d * sin(b) - y.d * cos(b), name="tangent")
    bead = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[tangent], name="bead")
    above = [y + 0.9 * x + 0.75 >= 0]
    return ap.optimize(
        bead, "time", [b], {}, (0.5, 5), end={x: 10, y: -6}, subject_to=above,
        tolerance=tolerance,
    )  # fmt: skip


@problem("path constraint: a particle on a cylinder", "beginner/plot_path_constraints")
def cylinder(tolerance: float) -> Any:
    """The forces hold the particle on the cylinder, not a wall: its reaction is bounded by 0."""
    x, y, z = ap.coordinates("x y z")
    F = ap.parameters("F1 F2 F3")
    wall = ap.Constraint(x**2 + y**2 - 1, name="wall")
    forces = dict(zip((x, y, z), F, strict=True))
    particle = ap.System([x, y, z], (x.d**2 + y.d**2 + z.d**2) / 2, 0, forces, [wall], name="particle")
    end = {x: 0, y: 1, z: 4, x.d: 0, y.d: 0, z.d: 0}
    effort = ap.integral(sum(f**2 for f in F))
    return ap.optimize(particle, effort, F, {y: -1}, 10.0, end=end, bounds={wall: (0, 0)}, tolerance=tolerance)


def hill() -> Any:
    """A block on a road over a hill."""
    x = ap.coordinates("x")
    F = ap.parameters("F")
    road = Rational(3, 2) * x**2 * exp(2.5 - x)
    stretch = sqrt(1 + road.diff(x) ** 2)
    return ap.System([x], stretch**2 * x.d**2 / 2, 9.81 * road, {x: F * stretch}, name="block"), x, F


@problem("block over a hill, least time", "beginner/plot_sliding_block", tolerance=1e-5, model=hill)
def hill_time(tolerance: float) -> Any:
    block, x, F = hill()
    bounds = {F: (-10, 15), x: (0, 10), x.d: (0, 100)}
    return ap.optimize(block, "time", [F], {}, (0.5, 20), end={x: 10, x.d: 0}, bounds=bounds, tolerance=tolerance)


@problem("block over a hill, least effort", "beginner/plot_sliding_block", model=hill)
def hill_effort(tolerance: float) -> Any:
    block, x, F = hill()
    bounds = {F: (-10, 15), x: (0, 10), x.d: (0, 100)}
    return ap.optimize(block, ap.integral(F**2), [F], {}, 6.0, end={x: 10, x.d: 0}, bounds=bounds, tolerance=tolerance)


@problem(
    "Coulomb friction: there and back", "beginner/plot_friction_slack",
    2 * (1 / 394.114 + 1 / 405.886) * np.sqrt(20 / (1 / 394.114 + 1 / 405.886)), "objective",
    "closed form; opty smooths or relaxes the friction, and prints h", 1e-8,
)  # fmt: skip
def there_and_back(tolerance: float) -> Any:
    """Both ways at once: one block goes, another comes back."""
    x, y = ap.coordinates("x y")
    F, G = ap.parameters("F G")
    rubs = [ap.Friction(x.d, limit=0.6 * 9.81, name="going"), ap.Friction(y.d, limit=0.6 * 9.81, name="coming")]
    blocks = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {x: F, y: G}, rubs, name="blocks")
    bounds, end = {F: (-400, 400), G: (-400, 400)}, {x: 10, y: 0, x.d: 0, y.d: 0}
    return ap.optimize(
        blocks, 2 * ap.at(ap.t, "end"), [F, G], {y: 10}, (0.05, 2), end=end, bounds=bounds, phases=[("going+", "coming-")],
        tolerance=tolerance,
    )  # fmt: skip


@problem("hilly race", "beginner/plot_hilly_race", remark="from 0.1 m/s, where p/v has a value", tolerance=1e-5)
def hilly_race(tolerance: float) -> Any:
    s = ap.coordinates("s")
    x, e = ap.states("x e")
    p = ap.parameters("p")
    slope = 50 * 2 * PI / 500 * cos(2 * PI / 500 * x)
    level = 1 / sqrt(1 + slope**2)
    drive = p / s.d - 981 * slope * level - s.d**2 / 3
    race = ap.System([s], 50 * s.d**2, 0, {s: drive}, rates={x: s.d * level, e: p}, name="race")
    t = np.linspace(0, 100, 101)
    guess = {"t": t, s: 10 * t, x: 9.5 * t, e: 1200 * t, s.d: 10.0 + 0 * t, p: 500.0}
    bounds = {p: (0, 1000), s.d: (0.1, 1000), e: (0, 120_000)}
    return ap.optimize(race, "time", [p], {s.d: 0.1}, (20, 400), end={s: 1000}, bounds=bounds, guess=guess, tolerance=tolerance)


@problem("particle on a surface", "beginner/plot_num_traj_two_variables", remark="opty's table of it holds on x = y alone")
def surface(tolerance: float) -> Any:
    x, y = ap.coordinates("x y")
    F = ap.parameters("F1 F2 F3")
    z = 4 * sin(2 * PI / 17 * x) * sin(2 * PI / 25 * y)
    rise = z.diff(x) * x.d + z.diff(y) * y.d
    push = {q: F[k] + (F[2] - rise / 10) * z.diff(q) - q.d / 10 for k, q in enumerate((x, y))}
    particle = ap.System([x, y], (x.d**2 + y.d**2 + rise**2) / 2, 9.81 * z, push, name="particle")
    cost = ap.integral(sum(f**2 for f in F)) + 4.5 * ap.at(ap.t, "end")
    end = {x: 9, y: 9, x.d: 0, y.d: 0}
    return ap.optimize(
        particle, cost, F, {x: -9, y: -9}, (1, 100), end=end, bounds={f: (-20, 20) for f in F}, tolerance=tolerance
    )
