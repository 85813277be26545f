"""Redundant contacts that cease to be so: a bench on three feet goes over a bump as it does on the two that bear it."""

from __future__ import annotations

import pytest
from sympy import Abs, Max, Piecewise, cos, exp, sin

import appell as ap

x, y, phi = ap.coordinates("x y phi")


def bench(*feet: float) -> ap.System:
    gaps = []
    for k, a in enumerate(feet):
        X, Y = x + a * cos(phi), y + a * sin(phi)
        gaps.append(ap.Unilateral(Y - 2.2e-4 * exp(-(((X - 1.5) / 5.9e-3) ** 2)), f"foot {k}", 0))
    return ap.System([x, y, phi], (x.d**2 + y.d**2 + phi.d**2 / 3) / 2, 10 * y, constraints=gaps)


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_a_bench_slides_over_a_bump(backend):
    """Three feet on the floor are dependent, and over the bump they are not: the one in the middle leaves, and lands again."""
    wanted = ap.simulate(bench(-1.0, 1.1), {x.d: 3.0}, 0.2, backend="c")
    motion = ap.simulate(bench(-1.0, 0.3, 1.1), {x.d: 3.0}, 0.2, backend=backend)
    assert wanted.ok and motion.status is ap.Status.OK and all("crossed by" in doubt for doubt in motion.doubts)
    middle = [one.kind for one in motion.impacts if one.constraint == "foot 1"]
    assert middle == ["landing", "leaving", "impact", "landing"]
    assert [motion.final[s] for s in (x, y, phi, x.d)] == pytest.approx([wanted.final[s] for s in (x, y, phi, x.d)], abs=1e-8)


def test_a_gap_may_be_the_largest_of_several():
    """`Max` of three or more expressions was refused: SymPy's code of its slopes did not end."""
    floor = ap.Unilateral(y - Max(x / 2, -x, x**2 - 3, sin(x) - 2), "floor", 1)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 10 * y, constraints=[floor])
    motion = ap.simulate(system, {x: 1.0, y: 2.5}, 1.0)
    assert motion.ok and motion.impacts[0].time == pytest.approx((2 * 2 / 10) ** 0.5, abs=1e-9)


@pytest.mark.parametrize("roof", [Abs(x) / 2, Piecewise((-x / 2, x < 0), (x / 2, True))])
def test_a_contact_flies_off_a_ridge(roof):
    """It slides up a roof y = −|x|/2 and leaves it at the ridge with u, as ẍ = −4 on the slope; an ensemble does the same."""
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 10 * y, constraints=[ap.Unilateral(y + roof, "roof", 0)])
    start, u = {x: -1.0, y: -0.5, x.d: 3.4, y.d: 1.7}, (3.4**2 - 8) ** 0.5
    flight = 0.8 * u / 5
    until = (3.4 - u) / 4 + flight
    wanted = [u * flight, u / 2 * flight - 5 * flight**2]
    motion = ap.simulate(system, start, until)
    assert motion.ok and [motion.final[x], motion.final[y]] == pytest.approx(wanted, abs=1e-9)
    many = ap.simulate_many(system, {s: [value] * 2 for s, value in start.items()}, until)
    assert many["x"].values == pytest.approx([wanted[0]] * 2, abs=1e-9)
