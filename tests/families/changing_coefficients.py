"""Coefficients and limits of friction that bend at a place, also where they touch zero there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from sympy import Abs, Expr, Float, Max, Min, Piecewise, lambdify, sin, sqrt
from tests.families.family import family

import appell as ap

x, y = ap.coordinates("x y")
G = 10.0
"""Weight of the body, whose mass is 1, N."""


def shapes(rng: np.random.Generator) -> list[Expr]:
    """Functions of x that bend, most of them where they are zero."""
    a, b, c = (Float(round(u, 3)) for u in rng.uniform([0.2, 0.6, 0.3], [0.5, 1.4, 0.6]))
    return [
        a * Max(0, x - b),
        a * Abs(x - b),
        a * sqrt((x - b) ** 2),
        a * Abs(sin(3 * x)),
        a * Max(x - b, 2 * (b - x)),
        a * Min(Abs(x - b), c),
        a * (Abs(x - b) + Max(0, x - b - c)),
        a * Abs(x - b) * Abs(x - b - c),
    ]


def rough(law: Expr, by_load: bool) -> ap.System:
    """A body of mass 1 on a floor whose friction changes with the place; by_load: its coefficient, otherwise its limit."""
    floor = ap.Unilateral(y, name="floor", restitution=0)
    given = {"normal": floor, "coefficient": law} if by_load else {"limit": G * law}
    friction = ap.Friction(x.d, **given, name="rub")
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, constraints=[floor, friction])


@family(count=32, sample=(0, 1, 19))
def bends_at_zero(seed: int) -> None:
    """The squared speed falls by 2 g ∫ μ dx, up to the place where it vanishes; there the body stays."""
    rng = np.random.default_rng(seed // 4)
    laws = shapes(rng)
    law, backend = laws[(seed // 2) % len(laws)], ("vm", "c")[seed % 2]
    mu, v0 = lambdify(x, law), rng.uniform(2, 5)
    bends = np.concatenate([np.linspace(0, 12, 481), np.arange(12) * np.pi / 3])
    squared = lambda end: v0**2 - 2 * G * quad(mu, 0.0, end, points=sorted(p for p in bends if 0 < p < end), limit=2000)[0]
    motion = ap.simulate(rough(law, seed % 3 > 0), {x.d: v0}, 3.0, backend=backend)
    assert motion.ok, (law, motion.message, motion.doubts)
    end, speed = float(motion[x][-1]), float(motion[x.d][-1])
    assert abs(squared(end) - speed**2) < 1e-7 * v0**2, law
    if speed == 0:
        assert abs(end - brentq(squared, 0.0, 12.0, xtol=1e-12)) < 1e-6, law
    assert motion[x.d].min() > -1e-9


@family(sample=(0, 1))
def negative_coefficients_end_the_run(seed: int) -> None:
    """A coefficient that becomes negative is not one that bends: the run ends there, and says so."""
    rng = np.random.default_rng(seed)
    b = rng.uniform(0.5, 1.0)
    law = [b - x, (b - x) ** 3, Abs(b - x) - Float(0.1) * b, Piecewise((b - x, x < 2 * b), (1, True))][seed % 4]
    with pytest.warns(ap.AppellWarning):
        motion = ap.simulate(rough(0.1 * law, seed % 2 > 0), {x.d: rng.uniform(3, 6)}, 3.0, backend=("vm", "c")[seed // 4 % 2])
    zero = 0.9 * b if seed % 4 == 2 else b
    assert not motion.ok and "negative" in motion.message, motion.message
    assert zero - 1e-9 <= motion[x][-1] < zero + 3e-3  # 0.1 (b − x)³ is −1e-9 by 0.0022 m behind its zero
