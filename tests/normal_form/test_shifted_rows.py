"""Ranks and motions do not depend on where the origin is, nor on units: rounding of a row is ε times what its terms are."""

from __future__ import annotations

import itertools

import casadi as ca
import mpmath
import numpy as np
import pytest
from sympy import cos, sin, sqrt

import appell as ap
from appell.errors import SingularConfiguration
from appell.graph import make_fn
from appell.graph.algebra import symbols
from appell.graph.sizes import sizes

x, y, u, w = ap.coordinates("x y u w")

SHIFTS = (0.0, 1.0, 300.0, 1e4, 1e6)
SCALES = (1e-9, 1e-3, 1.0, 1e9)
CASES = [*itertools.product(SHIFTS, (1.0,)), *itertools.product((300.0, 1e6), SCALES)]


def bowl(shift: float, scale: float, rows: int = 1):
    """A bead in a circular bowl of radius `scale` about (shift, shift), as a graph and as a circle; its way in 0.4 s."""
    dx, dy = (x - shift * scale) / scale, (y - shift * scale) / scale
    both = [dy + sqrt(1 - dx**2), dx**2 + dy**2 - 1][:rows]
    place = {x: (shift + 0.3) * scale, y: (shift - np.sqrt(1 - 0.09)) * scale}
    system = ap.System(
        [x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=10 * scale * y, constraints=both, sample=place
    )  # fmt: skip
    motion = ap.simulate(system, place, until=0.4, rtol=1e-8, atol=1e-11 * scale, backend="vm")
    return motion, (motion[x][-1] / scale) - shift


@pytest.fixture(scope="module")
def way():
    return bowl(0.0, 1.0)[1]


@pytest.mark.parametrize(("shift", "scale"), CASES)
def test_a_bowl_anywhere_in_any_units(shift, scale, way):
    motion, end = bowl(shift, scale)
    assert motion.ok and not motion.redundant, motion.message
    assert end == pytest.approx(way, abs=1e-7 + 1e-13 * shift)


@pytest.mark.parametrize("shift", [300.0, 1e6])
def test_redundant_rows_anywhere(shift, way):
    motion, end = bowl(shift, 1.0, rows=2)
    assert motion.ok and len(motion.redundant) == 1
    assert end == pytest.approx(way, abs=1e-7 + 1e-12 * shift)


def four_bar(shift: float, scale: float):
    """Two cranks on pivots at (shift, 0) and (shift + 2, 0), tips (x, y) and (u, w) at a distance of 2: all in tips."""
    X, Y, U, W = (q / scale for q in (x, y, u, w))
    rows = [(X - shift) ** 2 + Y**2 - 1, (U - shift - 2) ** 2 + W**2 - 2.25, (X - U) ** 2 + (Y - W) ** 2 - 4]
    kinetic = (x.d**2 + y.d**2 + 2 * (u.d**2 + w.d**2)) / 2
    start = {x: (shift + 0.6) * scale, y: 0.8 * scale, u: (shift + 2.3) * scale, w: 1.4 * scale}
    system = ap.System([x, y, u, w], kinetic=kinetic, potential=scale * (10 * y + 20 * w), constraints=rows, sample=start)
    return system, ap.consistent(system, start, hold=[x])


def test_a_four_bar_anywhere_in_any_units():
    ends = {}
    for shift, scale in [(0.0, 1.0), (300.0, 1.0), (1e6, 1.0), (1e3, 1e-9), (1e3, 1e9)]:
        system, start = four_bar(shift, scale)
        motion = ap.simulate(system, start, until=0.3, atol=1e-12 * scale, backend="vm")
        assert motion.ok, (shift, scale, motion.message)
        ends[shift, scale] = motion[w][-1] / scale
    for (shift, _), end in ends.items():
        assert end == pytest.approx(ends[0.0, 1.0], abs=1e-8 + 1e-12 * shift)


def test_a_row_without_digits_is_refused():
    """At a distance of 1e13 radii nothing is left of the circle."""
    with pytest.raises((SingularConfiguration, ap.errors.AppellError)):
        bowl(1e13, 1.0)


RANDOM = [
    lambda z: (z[0] - 300) ** 2 - z[1] * (z[0] - 300),
    lambda z: ca.cos(z[0]) * ca.sin(z[1]) - ca.sin(z[0] + 1e3) * z[2],
    lambda z: ca.sqrt(1 + (z[0] - z[1]) ** 2) - ca.sqrt(1 + (z[0] - 5) ** 2),
    lambda z: (z[0] * z[1] - z[2]) / (z[1] - 2) - z[0],
    lambda z: ca.exp(z[0] - 300) - 1 / (z[1] * z[2]),
    lambda z: ca.atan2(z[0] - 299, z[1]) - ca.atan(z[2]) + ca.hypot(z[0] - 300, z[2]),
]


@pytest.mark.parametrize("make", RANDOM)
def test_rounding_of_an_evaluation_is_its_size_in_units_of_the_machine(make):
    """|value in doubles − value in 50 digits| at inputs off by half a spacing: up to a few ε size."""
    z = symbols("z", 3)
    value = make(z)
    fn = make_fn("sized", {"z": (z, (3,))}, {"value": (value, ()), "size": (sizes([value], [z])[0], ())})
    rng, worst = np.random.default_rng(1), []
    for _ in range(40):
        at = np.array([300.0, 1.0, 1.0]) + rng.uniform(-0.5, 0.5, 3)
        out = fn(at)
        with mpmath.workdps(50):
            off = [mpmath.mpf(float(r)) * mpmath.mpf(2) ** -53 for r in rng.uniform(-1, 1, 3)]
            moved = [mpmath.mpf(float(a)) * (1 + r) for a, r in zip(at, off, strict=True)]
            exact = _in_digits(make, moved)
            worst.append(abs(float(mpmath.mpf(float(out["value"])) - exact)) / (2.2e-16 * float(out["size"])))
    assert 0.05 < max(worst) < 3


def _in_digits(make, z):
    """The same expression by mpmath."""
    names = ("cos", "sin", "sqrt", "exp", "atan2", "atan", "hypot")
    saved = {name: getattr(ca, name) for name in names}
    try:
        for name in names:
            setattr(ca, name, getattr(mpmath, name))
        return make(z)
    finally:
        for name, function in saved.items():
            setattr(ca, name, function)


def test_angles_after_many_turns():
    """A crank that has turned 1e5 times: cos of it is known to 1e-10, and its rows are two as before."""
    a, b, c = ap.coordinates("a b c")
    rows = [cos(a) + 2 * cos(b) - 2 - 1.5 * cos(c), sin(a) + 2 * sin(b) - 1.5 * sin(c)]
    system = ap.System([a, b, c], kinetic=(a.d**2 + b.d**2 + c.d**2) / 2, potential=sin(a), constraints=rows)
    ends = []
    for turns in (0, 10**5):
        start = ap.consistent(system, {a: 1.0 + 2 * np.pi * turns, b: 0.5, c: 1.5, a.d: 1.0}, hold=[a, a.d])
        motion = ap.simulate(system, start, until=0.5, backend="vm")
        assert motion.ok and not motion.redundant
        ends.append(motion[c][-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)
