"""A step of the plain loop whose inside cannot be put back onto the rows: the run says so, with its time."""

from __future__ import annotations

from sympy import cos, exp, sin

import appell as ap


def test_a_bench_that_slides_onto_a_bump_stops_with_its_reason():
    """Three feet that stand on the floor are dependent; none of them can go over a bump while the others stay."""
    x, y, phi = ap.coordinates("x y phi")
    feet = []
    for k, a in enumerate((-1.0, 0.3, 1.1)):
        X, Y = x + a * cos(phi), y + a * sin(phi)
        feet.append(ap.Unilateral(Y - 2.2e-4 * exp(-(((X - 1.5) / 5.9e-3) ** 2)), f"foot {k}"))
    bench = ap.System([x, y, phi], (x.d**2 + y.d**2 + phi.d**2 / 3) / 2, 10 * y, constraints=feet)
    motion = ap.simulate(bench, {x.d: 3.0}, 0.2, backend="vm")
    assert motion.status is ap.Status.PROJECTION_FAILED and not motion.ok  # it raised ValueError
    assert 0.12 < motion.t[-1] < 0.14
