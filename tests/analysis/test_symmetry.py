"""`symmetry=`: orbits that a map of the state brings onto themselves, and where they lose that."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from sympy import cos, sin

import appell as ap

x = ap.coordinates("x")
A, F, w, c = ap.parameters("A F w c", positive=True)
E, GAP = 0.5, 1.0


def phase(amplitude):
    """A ball in a box that moves as A sin t, hit once by each side: GAP + 2 A sin φ = π V, V (1 − e) = −(1 + e) A cos φ
    (S. F. Masri and T. K. Caughey, J. Appl. Mech. 33 (1966) 586)."""
    r = np.pi * (1 + E) / (1 - E)
    return np.arctan2(2, r) + np.arccos(-GAP / (amplitude * np.hypot(2, r)))


def half(amplitude):
    """The derivative of (time, speed) from one side to the other, mirrored."""
    t0 = phase(amplitude)
    V = -(1 + E) / (1 - E) * amplitude * np.cos(t0)
    here, there = amplitude * np.cos(t0) + V, -amplitude * np.cos(t0) + V
    dt = np.array([here, np.pi]) / there
    du = (1 + E) * amplitude * np.sin(t0) * dt - np.array([0, E])
    return np.array([dt, -du])


@pytest.fixture(scope="module")
def pair():
    sides = [ap.Unilateral(GAP / 2 + A * sin(ap.t) - x, "right", E), ap.Unilateral(x + GAP / 2 - A * sin(ap.t), "left", E)]
    return ap.System([x], x.d**2 / 2, 0, {}, sides, name="impact pair")


def orbit_of(pair, amplitude, **options):
    t0 = phase(amplitude)
    V = -(1 + E) / (1 - E) * amplitude * np.cos(t0)
    guess = {x: amplitude * np.sin(t0) + GAP / 2 - V * np.pi / 2, x.d: -V}
    return ap.periodic_orbit(pair, guess=guess, since=t0 + np.pi / 2, period=2 * np.pi, parameters={A: amplitude}, **options)


def test_an_impact_pair_and_where_its_symmetry_breaks(pair):
    symmetric = orbit_of(pair, 0.35, symmetry={x: -x})
    assert symmetric.ok and symmetric.symmetry and symmetric.symmetry.order == 2
    expected = np.sort_complex(np.linalg.eigvals(half(0.35)))
    assert np.sort_complex(symmetric.returning) == pytest.approx(expected, abs=1e-9)
    assert np.sort_complex(symmetric.returning**2) == pytest.approx(np.sort_complex(symmetric.multipliers), abs=1e-9)
    breaks = brentq(lambda amplitude: np.linalg.det(half(amplitude) + np.eye(2)), 0.35, 0.4, xtol=1e-15)
    (point,) = ap.continue_orbit(pair, A, symmetric, 0.4).special
    assert point.kind == "branch point" and point.refined and point.value == pytest.approx(breaks, abs=1e-10)


def test_what_is_no_symmetry_is_refused(pair):
    wrong = ({x: 1 - x}, "does not have"), ({x: x}, "identity"), ({x: x**2}, "linear"), ({"y": x}, "neither"), ({}, "empty")
    for said, why in wrong:
        with pytest.raises(ap.ModelError, match=why):
            orbit_of(pair, 0.35, symmetry=said)


def test_where_a_driven_pendulum_begins_to_swing_to_one_side_more_than_to_the_other():
    pendulum = ap.System([x], x.d**2 / 2, -cos(x), {x: F * cos(w * ap.t) - c * x.d}, name="pendulum")
    values = {F: 0.985, w: 0.66, c: 0.5}
    even = ap.periodic_orbit(pendulum, guess={x: 2.0}, period=2 * np.pi / 0.66, parameters=values, symmetry={x: -x})
    branch = ap.continue_orbit(pendulum, F, even, 1.0)
    (point,) = branch.special
    odd = branch.switch(0)
    assert odd.symmetry is None and odd.stable and abs(sum(odd.range(x))) > 0.01
    curve = ap.continue_curve(point, (F, c), 0.52, max_step=0.5)
    assert curve.ok and curve.residuals.max() < 1e-9
    again = ap.periodic_orbit(pendulum, guess=curve.orbits[-1].start, period=2 * np.pi / 0.66,
                              parameters={F: curve.values[-1, 0], w: 0.66, c: 0.52})  # fmt: skip
    assert np.abs(again.multipliers - 1).min() < 1e-6
