"""`motion.release` finds every change of sign of a reaction, however slowly the states move."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin

import appell as ap
from appell.motion.crossings import crossings

x, y = ap.coordinates("x y")


def pressed(force) -> ap.Motion:
    """A bead that glides along y = 0, pressed by a force that its motion does not feel."""
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={y: force}, constraints=[ap.Constraint(y, "rail")])
    return ap.simulate(system, {x.d: 1}, 2.0, backend="vm")


@pytest.mark.parametrize("omega", [7, 50, 333])
def test_as_many_as_the_sine_has(omega):
    found = pressed(-sin(omega * ap.t)).release("rail")
    exact = np.pi * np.arange(1, int(2 * omega / np.pi) + 1) / omega
    assert len(found) == len(exact) and np.abs(found - exact).max(initial=0.0) < 1e-9


def test_fast_and_slow_together():
    force = cos(3 * ap.t) + cos(200 * ap.t) / 2 - x / 4
    found = pressed(-force).release("rail")
    t = np.linspace(0, 2, 400_001)
    exact = np.cos(3 * t) + np.cos(200 * t) / 2 - t / 4
    assert len(found) == np.count_nonzero(np.diff(np.sign(exact)))


@pytest.mark.parametrize("depth", [1e-2, 1e-4, 1e-6])
def test_a_narrow_dip_has_two(depth):
    for sign, count in ((1, 2), (-1, 0)):
        force = -((ap.t - 1.01) ** 2 - sign * depth)
        found = pressed(force).release("rail")
        assert len(found) == count and np.allclose(np.abs(found - 1.01), np.sqrt(depth), rtol=1e-6)


def test_a_pendulum_pulls_and_pushes():
    """On a circle with v² = 2g(h − z): Λ changes its sign where 3 cos φ = cos φ₀·2 …, against the samples of a fine motion."""
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 10 * y, constraints=[ap.Constraint(x**2 + y**2 - 1, "rod")])
    motion = ap.simulate(system, {y: -1, x.d: 5.5}, 6.0, backend="vm")
    found = motion.release("rod")
    fine = motion.at(np.linspace(0, 6, 20_001)).reaction("rod")
    assert len(found) == np.count_nonzero(np.diff(np.sign(fine))) > 4
    assert np.abs(motion.at(found).reaction("rod")).max() < 1e-8
    back = ap.simulate(system, motion.final, 0.0, since=6.0, backend="vm")
    assert np.allclose(back.release("rod")[::-1], found, atol=1e-6)


def test_a_jump_over_zero_is_found_once():
    jump = lambda t: np.where(t < 0.7371, 1.0, -2.0)
    assert crossings(jump, np.array([0.0, 1.0])) == pytest.approx([0.7371], abs=1e-9)
    assert len(crossings(lambda t: np.zeros_like(t), np.array([0.0, 1.0]))) == 0
