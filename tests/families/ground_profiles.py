"""Points that fall on uneven ground: profiles that repeat themselves, and curved ones after a flight without other forces.

The references know the parabola of a flight, the law of the impact on a facet, and the equation of a bead on y = f(x):
ẍ = −f′ (g + f″ ẋ²)/(1 + f′²), with a reaction as long as g + f″ ẋ² > 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from sympy import Abs, Mod, Rational, cosh, floor, frac, sin, sqrt
from tests.families.family import family

import appell as ap

x, y = ap.coordinates("x y")
a, g, e = ap.parameters("a g e", positive=True)
s = ap.states("s")
HEIGHT = Rational(2, 5)
SAWTEETH = (
    HEIGHT * Abs(Mod(x, a) - a / 2), HEIGHT * Abs(x - a * floor(x / a) - a / 2), HEIGHT * a * Abs(frac(x / a) - Rational(1, 2)),
    HEIGHT * sympy.Max(Mod(x, a) - a / 2, a / 2 - Mod(x, a)), HEIGHT * sqrt((Mod(x, a) - a / 2) ** 2),
    HEIGHT * Abs(Mod(x + s, a) - a / 2),
)  # fmt: skip
"""One sawtooth: 2/5 |x mod a − a/2|; on the last one s stays 0."""
PATHS: tuple[dict[str, Any], ...] = ({}, {"method": "taylor"}, {"backend": "vm"}, {"step": 0.05, "method": "dop853"})
UNTIL, MOST = 2.0, 20


def _bounces(p: np.ndarray, z: np.ndarray) -> np.ndarray | None:
    """(x, y, ẋ, ẏ) after UNTIL on a sawtooth; None if an impact is near an edge, or slow, or one of too many."""
    period, weight, restitution = p
    h, left, z = float(HEIGHT), UNTIL, z.copy()
    pull = np.array([0.0, -weight])
    for n in range(MOST):
        at = lambda time, z=z: z[:2] + time * z[2:] + time**2 / 2 * pull
        gap = lambda time, at=at: at(time)[1] - h * abs(at(time)[0] % period - period / 2)
        times = np.linspace(0, left, 20_001)
        places = z[:2, None] + times * z[2:, None] + times**2 / 2 * pull[:, None]
        gaps = places[1] - h * np.abs(places[0] % period - period / 2)
        begin = int(np.argmax(gaps > 1e-9)) if n else 0
        below = np.flatnonzero(gaps[begin:] < 0)
        if not len(below):
            return np.concatenate([at(left), z[2:] + left * pull]) if gaps[begin:].min() > 1e-6 or not n else None
        hit = float(brentq(gap, times[begin + below[0] - 1], times[begin + below[0]], xtol=1e-15))  # pyright: ignore[reportArgumentType]
        place, v = at(hit), z[2:] + hit * pull
        phase = place[0] % period - period / 2
        normal = np.array([-h * np.sign(phase), 1.0])
        if min(abs(phase), period / 2 - abs(phase)) < 1e-3 * period or normal @ v > -1e-2:
            return None
        z = np.concatenate([place, v - (1 + restitution) * (normal @ v) / (normal @ normal) * normal])
        left -= hit
    return None


@family(count=12, sample=(0, 5))
def ground_that_repeats_itself(seed: int) -> None:
    """Four flights over a sawtooth that is written with Mod, floor or frac: the facets that are met, and where, in an ensemble
    and alone."""
    rng, profile = np.random.default_rng(seed), SAWTEETH[seed % len(SAWTEETH)]
    rates = {s: 0 * s} if profile.has(s) else {}
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, {}, [ap.Unilateral(y - profile, "ground", e)], rates=rates)
    chosen: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    while len(chosen) < 4:
        p = np.array([rng.uniform(0.5, 2), rng.uniform(1, 9), rng.choice([0.8, 0.9, 1.0])])
        z = np.array([rng.uniform(-1, 1), rng.uniform(1, 2), rng.normal(), rng.normal()])
        end = _bounces(p, z)
        if end is not None:
            chosen.append((p, z, end))
    p, z, end = (np.array(each) for each in zip(*chosen, strict=True))
    options = PATHS[seed // len(SAWTEETH) % 2]
    start = dict(zip((x, y, x.d, y.d), z.T, strict=True))
    values = dict(zip((a, g, e), p.T, strict=True))
    found = ap.simulate_many(system, start, UNTIL, values, **options)
    assert (found["status"].values == 0).all(), found.message
    got = np.stack([found[name].values for name in ("x", "y", "x_d", "y_d")], axis=1)
    np.testing.assert_allclose(got, end, atol=1e-6)
    one = lambda given: {symbol: float(value[0]) for symbol, value in given.items()}
    motion = ap.simulate(system, one(start), UNTIL, one(values), **PATHS[2 + seed % 2])
    assert motion.ok, motion.message
    np.testing.assert_allclose([motion.final[symbol] for symbol in start], end[0], atol=1e-6)


CURVES = (
    sin(x) / 4, x**2 / 8, cosh(x) - 1, -sqrt(9 - x**2), sin(x) ** 2 / 3, x**2 / (4 + x**2), sympy.exp(-x) + x / 5,
    sympy.Piecewise((x**2 / 6, x < 0), (x**2 / 3, True)), (Mod(x + 10, 20) - 10) ** 2 / 30, sympy.log(1 + x**2), sqrt(1 + x**2),
    sin(x) / 5 + x**2 / 9,
)  # fmt: skip


@family(count=len(CURVES), sample=(0, 8))
def a_straight_flight_lands_on_a_curve(seed: int) -> None:
    """The series of a flight in constant gravity ends, so that Taylor's method takes steps without end: the bead that lands on
    a curve slides as SciPy says, by all methods."""
    rng, f = np.random.default_rng(seed), CURVES[seed]
    smooth: Any = f.subs(Mod(x + 10, 20), x + 10)  # the same between −10 and 10
    value, slope, bend = (sympy.lambdify(x, each, "numpy") for each in (smooth, smooth.diff(x), smooth.diff(x, 2)))
    weight, begin, speed = 9.81, float(rng.uniform(-0.5, 0.5)), float(rng.uniform(-1, 1))
    fall = float(rng.uniform(0.1, 0.5))
    hit = begin + speed * fall
    height = float(value(hit)) + weight * fall**2 / 2
    normal = np.array([-float(slope(hit)), 1.0])
    v = np.array([speed, -weight * fall])
    v = v - (normal @ v) / (normal @ normal) * normal
    pressed = lambda q, u: weight + bend(q) * u**2
    pull = lambda t, z: [z[1], -slope(z[0]) * pressed(*z) / (1 + slope(z[0]) ** 2)]
    path = solve_ivp(pull, (fall, fall + 0.5), [hit, v[0]], "DOP853", rtol=1e-12, atol=1e-13, max_step=0.01)
    assert min(pressed(*z) for z in path.y.T) > 0
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, weight * y, constraints=[ap.Unilateral(y - f, "curve", 0)])
    ways: list[dict[str, Any]] = [{"method": "taylor"}, {}, {"method": "taylor", "backend": "vm"}]
    for options in ways[: 3 if seed % 4 == 0 else 2]:
        motion = ap.simulate(system, {x: begin, y: height, x.d: speed}, fall + 0.5, **options)
        assert motion.ok, (options, motion.message)
        np.testing.assert_allclose([motion.final[x], motion.final[x.d]], path.y[:, -1], atol=1e-7)
        assert [event.kind for event in motion.impacts] == ["impact", "landing"]
