"""Derivatives through infinitely many impacts that end in contact, against differences of sixth order, on random systems."""

from __future__ import annotations

import numpy as np
from sympy import cos, sin
from tests.families.family import family
from tests.families.stick_slip import Case, slopes_along

import appell as ap

x, y, w = ap.coordinates("x y w")
m, k, g, c, a, e = ap.parameters("m k g c a e", positive=True)


def on_a_hill(rng: np.random.Generator) -> Case:
    """Dropped into a valley: the impacts go on while the ball moves along it."""
    face = ap.Unilateral(y - a * cos(x), "hill", restitution=e)
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, {}, [face], name="valley")
    values = {m: 1.3, g: 9.81, a: rng.uniform(0.1, 0.2), e: rng.uniform(0.3, 0.6)}
    start = {x: rng.uniform(2.4, 2.8), y: rng.uniform(0.2, 0.4), x.d: rng.uniform(-0.3, 0.3), y.d: rng.uniform(-0.3, 0.3)}
    return Case(system, start, 3.0, values, [x, y, x.d, y.d])


def on_a_table(rng: np.random.Generator) -> Case:
    """A table that moves slowly, and a spring from the ball to a second mass."""
    face = ap.Unilateral(y - a * sin(2 * ap.t), "table", restitution=e)
    kinetic, potential = (m * y.d**2 + w.d**2) / 2, m * g * y + k * (w - y - 1) ** 2 / 2 + g * w
    system = ap.System([y, w], kinetic, potential, {w: -c * w.d}, [face], name="table")
    values = {
        m: rng.uniform(1, 2),
        g: 9.81,
        k: rng.uniform(15, 25),
        c: 0.4,
        a: rng.uniform(0.02, 0.06),
        e: rng.uniform(0.2, 0.5),
    }
    start = {y: rng.uniform(0.1, 0.2), w: rng.uniform(0.9, 1.0), y.d: rng.uniform(-0.3, 0.3), w.d: rng.uniform(-0.3, 0.3)}
    return Case(system, start, 1.5, values, [y, w, y.d, w.d])


def against_a_stop(rng: np.random.Generator) -> Case:
    """A double pendulum whose first link falls against a stop, and whose second goes on."""
    T = (2 * x.d**2 + w.d**2 + 2 * x.d * w.d * cos(x - w)) / 2
    face = ap.Unilateral(a - x, "stop", restitution=e)
    system = ap.System([x, w], T, -g * (2 * cos(x) + cos(w)) - k * x, {w: -c * w.d}, [face], name="double pendulum")
    values = {k: rng.uniform(18, 24), g: 9.81, c: 0.2, a: rng.uniform(0.3, 0.5), e: rng.uniform(0.2, 0.5)}
    start = {x: rng.uniform(0.0, 0.2), w: rng.uniform(-0.2, 0.2), x.d: rng.uniform(-0.3, 0.3), w.d: rng.uniform(-0.3, 0.3)}
    return Case(system, start, 1.6, values, [x, w, x.d, w.d])


def on_a_wire(rng: np.random.Generator) -> Case:
    """A bead on a wire in Cartesian coordinates, behind a wall that it settles against."""
    rows = [ap.Constraint(y - x**2 / 2 - c * x, "wire"), ap.Unilateral(x - a * w, "wall", restitution=e)]
    system = ap.System([x, y, w], (x.d**2 + m * y.d**2 + w.d**2) / 2, g * y + k * w**2 / 2, {}, rows, name="bead")
    values = {m: 1.2, k: rng.uniform(2, 5), g: 9.81, c: rng.uniform(0.8, 1.2), a: 0.3, e: rng.uniform(0.2, 0.5)}
    place, rate = rng.uniform(0.4, 0.6), rng.uniform(-0.3, 0.3)
    start = {x: place, y: place**2 / 2 + values[c] * place, x.d: rate, y.d: (place + values[c]) * rate, w: 0.1}
    return Case(system, start, 1.5, values, [x, y, w, x.d, y.d, w.d])


KINDS = [on_a_hill, on_a_table, against_a_stop, on_a_wire]


@family(count=24, sample=(0,))
def slopes_through_infinitely_many_impacts(seed: int) -> None:
    """∂z/∂z(0) and ∂z/∂p along a random direction, to 1e-8."""
    rng = np.random.default_rng(seed)
    case = KINDS[seed % len(KINDS)](rng)
    options = {"rtol": 1e-13, "atol": 1e-15, "backend": ("c", "vm")[seed // 20]}
    system = case.system
    found = ap.variations(system, ap.consistent(system, case.start, case.parameters), case.until, case.parameters, **options)
    assert found.ok, found.message
    assert any(event.kind == "landing" for event in found.motion.impacts)
    difference, slope = slopes_along(found, case, rng, 1e-4, options)
    off = np.abs(difference - slope).max() / max(1.0, np.abs(slope).max())
    assert off < 1e-8, off
