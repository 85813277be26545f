"""Infinitely many impacts beside friction: when they end, what slip is left, and that nothing is dropped on the way.

    a disc dropped from h on a plane, e < 1:    t_∞ = t_1 (1 + 2e/(1 − e)),    Σ P = m v_1 (1 + e)/(1 − e),    v_1 = g_n t_1
    slip, while it does not stop:               ṡ = g_t in flight,    Δs = −μ (Σ P/m)(1 + m r²/I)
    afterwards:                                 ṡ = g_t − μ g_n (1 + m r²/I) until it rolls
"""

from __future__ import annotations

import warnings

import numpy as np
from sympy import cos, sin, sqrt
from tests.families.family import family
from tests.friction.random_systems import draw_body, run

import appell as ap


def tossed(seed: int) -> tuple[ap.Motion, float, float, float]:
    """A motion, and t_∞, the slip then and the time at which it rolls in closed form."""
    rng = np.random.default_rng(seed)
    h, e, mu, normal = rng.uniform(0.2, 2), rng.uniform(0.1, 0.8), rng.uniform(0.02, 0.1), rng.uniform(2, 12)
    along, turns = (0.0, 0.0) if seed == 0 else (rng.uniform(-0.1, 0.1), rng.uniform(0, 2.5))
    h, e, mu, normal = (1.0, 0.5, 0.1, 9.81) if seed == 0 else (h, e, mu, normal)
    length = 10.0 ** (3 * (seed % 3 - 1)) if seed % 4 == 3 else 1.0
    h, normal, along = h * length, normal * length, along * length
    first = np.sqrt(2 * h / normal)
    ends = first * (1 + 2 * e / (1 - e))
    slip = lambda s0: s0 + along * ends - mu * (1 + turns) * normal * first * (1 + e) / (1 - e)
    s0 = -slip(0.0) + float(rng.uniform(0.1, 1)) * length
    rolls = ends + slip(s0) / (mu * normal * (1 + turns) - along)
    x, y, way = ap.coordinates("x y way")  # way: r φ
    floor = ap.Unilateral(y, "floor", restitution=e)
    inertia = 1 / turns if turns else 1.0
    s = x.d - way.d if turns else x.d
    system = ap.System(
        [x, y, way], (x.d**2 + y.d**2 + inertia * way.d**2) / 2, normal * y - along * x,
        constraints=[floor, ap.Friction(s, normal=floor, coefficient=mu, name="rub")],
    )  # fmt: skip
    options = {"rtol": 10.0 ** -(6 + 2 * (seed % 4)), "atol": 1e-12 * length, "backend": ("auto", "vm")[seed // 3 % 2]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, {y: h, x.d: s0}, ends + 1.3 * (rolls - ends), **options)
    return motion, ends, slip(s0), rolls


@family(count=16, sample=(0,))
def landing_is_exact(seed: int) -> None:
    """The landing was early by what was left of the bouncing, 1e-7 s, whatever the tolerances."""
    motion, ends, slip, rolls = tossed(seed)
    assert motion.ok, (motion.message, motion.doubts)
    landing = next(i for i in motion.impacts if i.kind == "landing")
    assert abs(landing.time - ends) <= 1e-13 * ends
    there = motion.at([landing.time])
    size = abs(motion.v).max()
    friction = motion.system.frictions[0]
    assert abs(there[friction.slip[0]][0] - slip) <= 1e-12 * size
    stick = next(p for p in motion.phases if p.state == "stick")
    assert abs(stick.start - rolls) <= 1e-12 * rolls
    assert np.abs(motion.energy_error).max() <= 1e-11


@family(count=30, sample=(18,))
def rocking_loses_nothing(seed: int) -> None:
    """Bodies that rock onto two corners: rates that count as none are taken by impulses, whose work is in the balance."""
    motion = run(2 * seed + 1, until=1.5, draw=draw_body, rtol=1e-11, backend=("auto", "vm")[seed % 8 == 7])
    assert motion.status is ap.Status.OK and motion.doubts == (), (motion.message, motion.doubts)
    assert np.abs(motion.energy_error).max() <= 1e-10



@family(sample=(0,))
def rods_rock_to_rest(seed: int) -> None:
    """Two heavy ends on a light rod strike a hill in turn at one instant, more than forty times, and rest on it."""
    rng = np.random.default_rng(seed)
    mass, length, mu, e, slope, bend = rng.uniform([0.5, 0.3, 0.3, 0.25, -0.25, 0.0], [2, 0.6, 0.8, 0.4, 0.25, 0.05])
    inertia = mass * length**2 / rng.uniform(15, 60)
    x, z, turn = ap.coordinates("x z turn")
    rows: list[ap.Unilateral | ap.Friction] = []
    for name, arm in (("front", length), ("back", -length)):
        px, pz = x + arm * cos(turn), z - arm * sin(turn)
        rise = slope + 3 * bend * cos(3 * px)
        end = ap.Unilateral(pz - slope * px - bend * sin(3 * px), name, restitution=e)
        slip, size = ap.total_derivative(px) + rise * ap.total_derivative(pz), sqrt(1 + rise**2)
        rows += [end, ap.Friction(slip / size, normal=end, coefficient=mu * size, name=f"{name} rubs")]
    kinetic = (mass * (x.d**2 + z.d**2) + inertia * turn.d**2) / 2
    system = ap.System([x, z, turn], kinetic, 9.81 * mass * z, constraints=rows)
    start = {x: rng.uniform(-0.3, 0.3), z: 0.7, turn: rng.uniform(-0.5, 0.5), x.d: rng.uniform(-1, 1)}
    motion = ap.simulate(system, start, 2.5, backend=("auto", "vm")[seed % 4 == 3])
    assert motion.ok, (motion.message, motion.doubts)
    assert np.abs(motion.v[-1]).max() <= 1e-9 and np.diff(motion.energy).max() <= 1e-9 * motion.energy[0]
    assert len({i.time for i in motion.impacts}) < len(motion.impacts)
