"""Small motions, diagnoses, and the nearest state on constraints, of one model written for resonators and for planets.

Each model is written with the units of length, time and mass as factors. Rates times the unit of time, and angles, must not
depend on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import cos, sin
from tests.families.family import family

import appell as ap

UNITS = ((1.0, 1e-6, 1.0), (1.0, 1e6, 1.0), (1e-6, 1e-7, 1e-12), (1.5e11, 3e7, 2e30), (1e6, 1.0, 1.0), (3e-9, 2e-4, 1e-17))
"""Metre, second, kilogram."""


def _damped_cart(L: float, T: float, M: float) -> tuple[ap.System, dict[Any, float]]:
    x, a = ap.coordinates("x a")
    energy = M * (2 * x.d**2 + L**2 * a.d**2 + 2 * L * x.d * a.d * cos(a)) / 2
    potential = M * L**2 / T**2 * (1 - cos(a)) + M / T**2 * x**2 / 2
    return ap.System([x, a], energy, potential, {x: -0.2 * M / T * x.d}), {}


def _turning_pendulum(L: float, T: float, M: float) -> tuple[ap.System, dict[Any, float]]:
    th, ph = ap.coordinates("th ph")
    energy, potential = M * L**2 * (th.d**2 + sin(th) ** 2 * ph.d**2) / 2, -M * L**2 / T**2 * cos(th)
    return ap.System([th, ph], energy, potential), {th: float(np.arccos(1 / 1.5**2)), ph.d: 1.5 / T}


def _circular_orbit(L: float, T: float, M: float) -> tuple[ap.System, dict[Any, float]]:
    r, f = ap.coordinates("r f")
    return ap.System([r, f], M * (r.d**2 + r**2 * f.d**2) / 2, -M * L**3 / T**2 / r), {r: L, f.d: 1 / T}


def _with_a_state(L: float, T: float, M: float) -> tuple[ap.System, dict[Any, float]]:
    x, (w,) = ap.coordinates("x"), [ap.states("w")]
    return ap.System([x], M * x.d**2 / 2, M / T**2 * x**2 / 2, {x: w}, rates={w: -2 * (w + M / T**2 * x / 2) / T}), {}


MODELS = {
    _damped_cart: np.roots([1.0, 0.2, 3.0, 0.2, 1.0]),  # s² (2 s² + 0.2 s + 1) + 2 s² + 0.2 s + 1 − s⁴
    _turning_pendulum: 1j * np.sqrt(1.5**2 * (1 + 3 / 1.5**4)) * np.array([1, -1]),
    _circular_orbit: np.array([1j, -1j]),
    _with_a_state: np.roots([1.0, 2.0, 1.0, 3.0]),
}
"""Model → eigenvalues times T that are not zero."""


@family(count=24, sample=(0, 6))
def eigenvalues_in_any_units(seed: int) -> None:
    """The eigenvalues of rests and steady motions, times the unit of time, are those of the characteristic polynomial."""
    (L, T, M), build = UNITS[seed % 6], list(MODELS)[seed // 6]
    system, at = build(L, T, M)
    found = ap.linearize(system, at=at).eigenvalues * T
    found = found[np.abs(found) > 1e-6]
    expected = MODELS[build]
    assert len(found) == len(expected), (found, expected)
    for value in expected:
        assert np.abs(found - value).min() < 1e-9, (found, expected)


@family(sample=(3, 5))
def nearest_states_in_any_units(seed: int) -> None:
    """The state of a four-bar linkage nearest to a given one, by inertia, is the same in all units."""
    rng = np.random.default_rng(seed)
    start, rates = np.array([1.0, 0.5, 1.5]) + rng.uniform(-0.1, 0.1, 3), rng.uniform(-1, 1, 3)
    a, b, c = angles = ap.coordinates("a b c")

    def nearest(L: float, T: float, M: float) -> np.ndarray:
        rows = [L * (cos(a) + 2 * cos(b) - 1.5 * cos(c) - 2), L * (sin(a) + 2 * sin(b) - 1.5 * sin(c))]
        system = ap.System(angles, M * L**2 * (a.d**2 + 2 * b.d**2 + 3 * c.d**2) / 2, constraints=rows)
        given = {s: float(x) for s, x in zip(angles, start, strict=True)}
        given |= {s.d: float(x) / T for s, x in zip(angles, rates, strict=True)}
        found = ap.consistent(system, given)
        return np.array([*(found[s] for s in angles), *(found[s.d] * T for s in angles)])

    assert np.allclose(nearest(*UNITS[seed % 6]), nearest(1.0, 1.0, 1.0), rtol=0, atol=1e-7)


@family(sample=(2, 7))
def diagnoses_in_any_units(seed: int) -> None:
    """Degrees of freedom, losses of rank, and whether a start is on its rows, for rods of any length."""
    (L, T, M), rods = UNITS[seed % 6], 1 + seed // 6
    x, y = ap.coordinates("x y")
    u, w = ap.coordinates("u w")
    bodies, rows, start = [x, y], [x**2 + y**2 - L**2], {x: 0.6 * L, y: -0.8 * L}
    if rods == 2:
        bodies, rows = [x, y, u, w], [*rows, (x - u) ** 2 + (y - w) ** 2 - (0.7 * L) ** 2]
        start |= {u: 0.6 * L, w: -1.5 * L}
    system = ap.System(bodies, M * sum(s.d**2 for s in bodies) / 2, M * L / T**2 * sum(bodies[1::2]), constraints=rows)
    texts = [str(one) for one in ap.diagnose(system, start).findings]
    assert any(text.startswith(f"{rods} degree") for text in texts), texts
    assert not any("lose rank" in text or "no slope" in text for text in texts), texts
    assert "the start satisfies every constraint" in texts
    off = [str(one) for one in ap.diagnose(system, start | {y: -0.801 * L}).findings]
    assert any("is not on constraint" in text for text in off), off


@family(sample=(2, 5))
def starts_in_any_units(seed: int) -> None:
    """A rod beside a wheel, over a floor: starts off the rod, and behind the floor, are refused; rounding is not."""
    (L, T, M), rng = UNITS[seed % 6], np.random.default_rng(seed)
    x, y, a = ap.coordinates("x y a")
    energy = M * (x.d**2 + y.d**2 + L**2 * a.d**2) / 2
    rod, floor = x**2 + y**2 - L**2, ap.Unilateral(y + L * sin(a) if seed % 2 else y, name="floor")
    system = ap.System([x, y, a], energy, M * L / T**2 * y, constraints=[rod])
    walled = ap.System([x, y, a], energy, M * L / T**2 * y, constraints=[floor])
    angle, share = rng.uniform(0.3, 1.2), 10 ** rng.uniform(-7, -1)
    c, s = L * np.cos(angle), L * np.sin(angle)
    on = {x: c, y: s, a: 1.0, x.d: -s / T, y.d: c / T, a.d: 1 / T}
    above, atol = {x: L, y: 0.0, y.d: L / T}, 1e-12 * min(L, 1.0)
    for model, good, bad in (
        (system, on, [on | {x: on[x] * (1 + share)}, on | {x.d: on[x.d] * (1 + share)}]),
        (walled, above, [above | {y: -share * L}, above | {y: -share * L, x: 0.0, y.d: 0.0}]),
    ):
        for start in (good, good | {y: good[y] - 1e-15 * L}):
            motion = ap.simulate(model, start, 0.1 * T, atol=atol)
            assert motion.ok, (motion.message, motion.doubts)
            assert (ap.simulate_many(model, start, 0.1 * T, atol=atol, rtol=1e-9)["status"] == 0).all()
        for start in bad:
            with pytest.raises(ap.ConstraintError, match=r"not on constraint|violates 'floor'"):
                ap.simulate(model, start, 0.1 * T, atol=atol)
            with pytest.raises(ap.ConstraintError, match=r"not on constraint|violates 'floor'"):
                ap.simulate_many(model, start, 0.1 * T, atol=atol, rtol=1e-9)
            assert "the start satisfies every constraint" not in map(str, ap.diagnose(model, start).findings)
