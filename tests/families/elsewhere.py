"""The same system somewhere else: walls and functions that are moved along an axis decide as they do at the origin."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Abs, Heaviside, Max, Min, Mod, Piecewise, cos, sign, sin
from tests.families.family import family

import appell as ap

x, y, phi = ap.coordinates("x y phi")
G = 10.0


def _place(rng: np.random.Generator) -> float:
    """Far from the origin, on either side of it."""
    return round(float(rng.choice([-1, 1]) * 10 ** rng.uniform(1.6, 3.2)), 3)


@family()
def ridges_far_from_the_origin(seed: int) -> None:
    """A bead slides up a roof and leaves it at the ridge; member 0: |x − 123|/2. In closed form.

    On the slope y = k x its acceleration is −g k/(1 + k²); at the ridge it goes on with its velocity, u and k u, until the
    parabola meets the other slope, y = −c x: x = 2 (k + c) u²/g.
    """
    rng = np.random.default_rng(seed)
    k, c = (0.5, 0.5) if seed == 0 else rng.uniform(0.2, 0.8, 2)
    place = 123.0 if seed == 0 else _place(rng)
    X = x - place
    roof = [Max(-k * X, c * X), Piecewise((-k * X, x < place), (c * X, True)), -Min(k * X, -c * X)][seed % 3]
    roof = Abs(X) / 2 if seed == 0 else roof
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, constraints=[ap.Unilateral(y + roof, "roof", 0)])
    slow, u0 = G * k / (1 + k**2), 3.4
    u = np.sqrt(u0**2 - 2 * slow)
    flight = 2 * (k + c) * u / G
    until = (u0 - u) / slow + 0.7 * flight
    motion = ap.simulate(system, {x: place - 1, y: -k, x.d: u0, y.d: k * u0}, until)
    wanted = [place + 0.7 * flight * u, k * 0.7 * flight * u - G / 2 * (0.7 * flight) ** 2]
    assert motion.ok, motion.doubts
    assert [motion.final[x], motion.final[y]] == pytest.approx(wanted, rel=0, abs=1e-8)
    assert [one.kind for one in motion.impacts] == ["landing", "leaving"]


@family()
def jumps_far_from_the_origin(seed: int) -> None:
    """Energies that jump and wires with kinks are refused wherever they do; smooth pieces are not. Member 0: at x = 50."""
    rng = np.random.default_rng(seed)
    place = 50 if seed == 0 else _place(rng)
    h, k = rng.uniform(0.2, 3.0, 2)
    step = [Piecewise((0, x < place), (h, True)), h * Heaviside(x - place), h * sign(x - place)][seed % 3]
    bent = [Abs(x - place), Max(x, place), Piecewise((0, x < place), (k * (x - place), True))][seed % 3]
    plane = lambda **more: ap.System([x, y], **{"kinetic": (x.d**2 + y.d**2) / 2, **more})
    with pytest.raises(ap.ModelError, match="the potential jumps"):
        plane(potential=step)
    with pytest.raises(ap.ModelError, match=r"has a kink|jumps where"):
        plane(constraints=[ap.Constraint(y - bent)])
    motion = ap.simulate(plane(potential=k * bent), {x: place - 1, x.d: 10.0}, 0.3)  # a force that jumps
    assert motion.ok
    smooth = Piecewise((0, x < place), (k * (x - place) ** 2, True))
    motion = ap.simulate(plane(constraints=[ap.Constraint(y - smooth)]), {x: place - 1, x.d: 4.0}, 0.5)
    assert motion.ok and motion.final[y] == pytest.approx(k * (motion.final[x] - place) ** 2, abs=1e-9)


@family()
def continuous_profiles_without_end(seed: int) -> None:
    """Periodic energies with kinks are taken: far from the origin the rounding of x is no jump. Member 0: |sin x|.

    A bead slides along the slope of a saw or of |sin|, from one side of a kink to the other, with H = T + V.
    """
    rng = np.random.default_rng(seed)
    f, place = (1.0, 0.0) if seed == 0 else (10 ** rng.uniform(-1, 1.5), float(rng.uniform(-2, 2)))
    X = f * x + place
    wave = [Abs(sin(X)), Abs(Mod(X, 2) - 1), Max(cos(X), sin(2 * X)), Min(sin(X), cos(3 * X) + 1)][seed % 4]
    motion = ap.simulate(ap.System([x], x.d**2 / 2, wave), {x.d: 5.0}, 2 / f, rtol=1e-10)
    assert motion.ok, motion.doubts
    v, height = motion[x.d], motion[wave]
    assert np.abs(v**2 / 2 + height - v[0] ** 2 / 2 - height[0]).max() < 1e-7


@family()
def falls_flat_anywhere(seed: int) -> None:
    """A box that falls flat with e = 0 stops: impacts in turn are projections, and their limit is rest.

    So it is if an impact under one edge lowers the other one, J < m a². Member 0: the floor at y = 7.3.
    """
    rng = np.random.default_rng(seed)
    a, b, J = (0.5, 0.3, 1 / 9) if seed == 0 else (*rng.uniform(0.2, 1.0, 2), 0.0)
    J = J or a**2 * rng.uniform(0.1, 0.95)
    floor = 7.3 if seed == 0 else float(rng.choice([-1, 1]) * 10 ** rng.uniform(0, 2.5))
    edges = [ap.Unilateral(y - floor + i * a * sin(phi) - b * cos(phi), f"edge {i}", 0) for i in (-1, 1)]
    system = ap.System([y, phi], (y.d**2 + J * phi.d**2) / 2, G * y, constraints=edges)
    drop = 0.7 if seed == 0 else rng.uniform(0.3, 3.0)
    fall = np.sqrt(2 * drop / G)
    motion = ap.simulate(system, {y: floor + b + drop}, 2 * fall)
    assert motion.ok
    assert [motion.final[y] - floor, motion.final[phi]] == pytest.approx([b, 0], abs=1e-10)
    assert np.abs(motion.v[-1]).max() < 1e-10
    assert motion.impacts[0].time == pytest.approx(fall, abs=1e-9) and {one.kind for one in motion.impacts[-2:]} == {"landing"}
