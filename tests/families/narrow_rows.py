"""Rows that have real values in a small part of the states are judged where the run starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Abs, acos, asin, log, sqrt
from tests.families.family import family

import appell as ap

x, y, s, w = ap.coordinates("x y s w")
r, c = ap.parameters("r c", positive=True)


def cases() -> list[tuple[list[Any], list[Any], dict[Any, float], dict[Any, float]]]:
    """(coordinates, rows, start, parameters): circular profiles, wheel and rail, arcs and logarithms far out."""
    rail = lambda z: sqrt(0.013**2 - (z - 0.7452) ** 2) - 0.013  # a railhead of 13 mm, half a gauge of 1.4904 m from the middle
    wheel = lambda z: 0.46 + 0.5 - sqrt(0.5**2 - z**2)  # a concave tread of 0.5 m on a wheel of 0.46 m
    slope = lambda f, z: f.diff(z)
    touch = [y + wheel(w) - rail(s) - 0.46, x + w - s, slope(wheel(w), w) - slope(rail(s), s)]  # contact with a common tangent
    begin = {s: 0.7452, w: 0.0, x: 0.7452, y: 0.0, x.d: 0.0}
    return [
        ([x, y, s, w], touch, begin, {}),
        ([x, y], [y - sqrt(1e-4 - (x - 3) ** 2)], {x: 3.0, y: 1e-2}, {}),
        ([x, y], [y + sqrt(r**2 - (x - c) ** 2)], {x: 40.0, y: -2e-3}, {r: 2e-3, c: 40.0}),
        ([x, y], [y - acos((x - 50) / 1e-3)], {x: 50.0, y: np.pi / 2}, {}),
        ([x, y], [y - log(1e-6 - (x - 20) ** 2)], {x: 20.0, y: np.log(1e-6)}, {}),
        ([x, y], [x.d - y.d * sqrt(1e-6 - (y + 7) ** 2)], {y: -7.0, y.d: 1e-4, x.d: 1e-7}, {}),
        ([x, y], [y - asin((x - 12) / r)], {x: 12.0}, {r: 1e-3}),
        ([x, y], [y + sqrt(1 - (x + 60) ** 2)], {x: -60.0, y: -1.0, x.d: 0.1}, {}),
        ([x, y], [y - (1e-4 - (x - c) ** 2) ** 1.5], {x: 15.0, y: 1e-6}, {c: 15.0}),
        ([x, y, s], [y - sqrt(1e-4 - (x - 30) ** 2), s - sqrt(1e-4 - (x - 30) ** 2)], {x: 30.0, y: 1e-2, s: 1e-2}, {}),
        ([x, y], [y - Abs(x - 25) ** 3 + sqrt(1e-4 - (x - 25) ** 2)], {x: 25.0, y: -1e-2}, {}),
        ([x, y], [y - sqrt(x - 900) * sqrt(900 + r - x)], {x: 900.0 + 5e-4, y: 5e-4}, {r: 1e-3}),
    ]  # fmt: skip


@family(sample=(0, 2, 4))
def judged_at_the_start(seed: int) -> None:
    """Said without `sample=`, brought onto the rows, run for a moment; without a start the error names the remedy."""
    q, rows, start, values = cases()[seed]
    kinetic = sum(z.d**2 for z in q) / 2
    system = ap.System(q, kinetic, 9.81 * y if seed % 2 == 0 else 0, constraints=rows)
    begin = ap.consistent(system, start, values)
    motion = ap.simulate(system, begin, 1e-4, values, backend=("auto", "vm")[seed % 2])
    assert motion.status == 0 and motion.drift.position < 1e-9, motion.message
    assert np.abs(motion.energy_error).max() < 1e-6
    if not values and seed:  # random states may hit 13 mm
        try:
            ap.compile(system)
        except ap.ModelError as error:
            assert "sample=" in str(error)
        else:
            raise AssertionError("compiled where there are no values")


@family(sample=(7,))
def analysed_near_a_state(seed: int) -> None:
    """What begins at a state judges there: small motions, sections, orbits' guesses; rests where there is one."""
    q, rows, start, values = cases()[seed]
    system = ap.System(q, sum(z.d**2 for z in q) / 2, constraints=rows)  # without forces every place is a rest
    kinked = rows[0].has(Abs)
    aside = {x: start[x] + 1e-3} if kinked else {}  # small motions have no linear equations at a kink
    begin = ap.consistent(system, {**start, **aside, **{z.d: 0.0 for z in q}}, values)
    linear = ap.linearize(system, at=begin, parameters=values)
    assert np.abs(linear.eigenvalues).max(initial=0.0) < 1e-6 and len(linear.velocities) == len(q) - len(rows)
    rest = ap.equilibrium(system, begin, values)
    assert np.abs(rest.q - [begin[z] for z in q]).max() < 1e-9
    moved = ap.consistent(system, {**begin, q[0].d: 1e-6}, values, hold=[q[0].d])
    found = ap.poincare(system, q[0] - begin[q[0]] - 1e-9, moved, 0.01, values, count=1, backend="vm")
    assert len(found) == 1 and abs(found.t[0] * moved[q[0].d] / 1e-9 - 1) < 1e-2
