"""Faces in any unit: whether a gradient vanishes on f = 0 does not depend on how long a metre is."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Max, cos, exp, sin, sqrt
from tests.families.family import family

import appell as ap

SIZES = (1e-7, 1e-12, 1e-4, 1e-2, 1.0, 1e3, 1e6, 1e9, 1e-9, 1e-6, 1e5, 1e12)


@family(count=12, sample=(0, 1))
def gradient_that_does_not_vanish(seed: int) -> None:
    """Walls with a simple zero at a size, and the same with a double one, which is refused at every size."""
    size = SIZES[seed]
    x, y, a = ap.coordinates("x y a")
    good = [
        size**2 - x**2 - y**2,
        x**2 + y**2 - size**2,
        sqrt(x**2 + y**2) - size,
        size * cos(a) - x,
        x - size * sin(3 * y / size),
        (x - 5 * size) ** 2 - (size / 100) ** 2,
        Max(x - size, y - 2 * size),
        y / size - exp(-((x / size) ** 2)),
    ]
    for f in good:
        ap.System(coordinates=[x, y, a], kinetic=x.d**2 + y.d**2 + a.d**2, constraints=[ap.Unilateral(f, name="wall")])
    for f in ((x / size) ** 2, (x - 3 * size) ** 2, (x + y) ** 4 / size**3, x**2 + y**2):
        with pytest.raises(ap.ConstraintError, match=r"vanishing gradient"):
            ap.System(coordinates=[x, y, a], kinetic=x.d**2 + y.d**2 + a.d**2, constraints=[ap.Unilateral(f, name="wall")])
    with pytest.raises(ap.ConstraintError, match=r"never reached"):
        ap.System(coordinates=[x, y], kinetic=x.d**2 + y.d**2, constraints=[ap.Unilateral(x**2 + size**2, name="wall")])
    if seed == 0:
        _falls_on_a_grain(x, y)


def _falls_on_a_grain(x, y) -> None:
    """A ball of dust that falls onto a grain of 0.1 µm: it bounces on top of it."""
    r = 1e-7
    system = ap.System(coordinates=[x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=9.81 * y,
                       constraints=[ap.Unilateral(x**2 + y**2 - r**2, name="grain", restitution=1)])  # fmt: skip
    motion = ap.simulate(system, {y: 3 * r}, 1e-3, rtol=1e-9, atol=1e-18)
    fall = np.sqrt(2 * 2 * r / 9.81)
    assert motion.impacts and abs(motion.impacts[0].time - fall) < 1e-8 * fall
