"""Places where nothing tells a size: ridges at the origin, and distances without a slope at the middle of a ball.

A ridge or an anchor moves with the coordinates, and so must the motion.
"""

from __future__ import annotations

import warnings

import numpy as np
from sympy import Abs, Piecewise, sqrt
from tests.families.family import family

import appell as ap

x, y = ap.coordinates("x y")
g = ap.parameters("g", positive=True)


@family(count=48, sample=(0, 1, 2, 3))
def ridges(seed: int) -> None:
    """A body slides up a roof, y = a x, and leaves it at the ridge with u: ẍ = −g a/(1 + a²) on the slope, then a parabola.

    The ridge is at the origin in every second member, and some meet it at t = 0."""
    rng = np.random.default_rng(seed)
    a, b, gravity, length = (0.5, 0.5, 10.0, 1.0) if seed == 0 else rng.uniform([0.2, 0.1, 1, 0.3], [1.5, 2, 20, 3])
    at = np.zeros(2) if seed % 2 == 0 else rng.normal(size=2)
    slowing = gravity * a / (1 + a**2)
    first = np.sqrt(2 * slowing * length) * (3.4 / 8**0.5 if seed == 0 else rng.uniform(1.05, 2))
    u = np.sqrt(first**2 - 2 * slowing * length)
    across, up = x - at[0], y - at[1]
    roof = Piecewise((-a * across, across < 0), (b * across, True)) if seed % 4 < 2 or a != b else a * Abs(across)
    roof = a * Abs(across) if seed % 3 == 0 else roof
    b = a if seed % 3 == 0 else b
    flight = 0.8 * 2 * (a + b) * u / gravity
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, constraints=[ap.Unilateral(up + roof, "roof", 0)])
    start = {x: at[0] - length, y: at[1] - a * length, x.d: first, y.d: a * first}
    wanted = at + np.array([u * flight, a * u * flight - gravity * flight**2 / 2])
    climb = (first - u) / slowing
    since = -climb if seed % 8 > 4 else 0.0
    for backend in ("c", "vm"):
        motion = ap.simulate(system, start, since + climb + flight, {g: gravity}, since=since, backend=backend)
        assert motion.ok, (backend, motion.message)
        assert np.allclose([motion.final[x], motion.final[y]], wanted, rtol=0, atol=1e-8 * (length + abs(wanted).max()))


@family(count=24, sample=(0, 1, 2))
def through_the_anchor(seed: int) -> None:
    """A ball on a slack thread flies through the anchor, or starts there: it is stopped one length beyond, and not before.

    Speeds and steps are such that a step ends exactly at the anchor, where the distance 1 − |r| has no slope."""
    rng = np.random.default_rng(seed)
    way = np.array([1, 0]) if seed == 0 else rng.integers(-3, 4, size=2)
    way = way if way.any() else np.array([0, 1])
    speed, length = 2.0 ** rng.integers(-3, 4) * np.linalg.norm(way), float(rng.uniform(0.5, 4))
    before = 0.0 if seed % 3 == 2 else 0.25 * int(rng.integers(1, 4))  # time to the anchor
    v = way * speed / np.linalg.norm(way)
    thread = ap.Unilateral(length - sqrt(x**2 + y**2), "thread", 1)
    floor = [ap.Unilateral(y, "floor", 0)] if way[1] == 0 else []
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y if floor else 0, constraints=[thread, *floor])
    values = {g: 10.0} if floor else {}
    first = before + length / speed
    until, start = first + length / speed, {x: -before * v[0], y: -before * v[1], x.d: v[0], y.d: v[1]}
    if before * speed >= length:
        return
    options = [{}, {"step": 0.25}, {"times": [before, until]}, {"max_step": 0.25}]
    for backend in ("c", "vm"):
        for option in options:
            motion = ap.simulate(system, start, until, values, backend=backend, **option)
            hits = [event.time for event in motion.impacts if event.constraint == "thread"]
            assert motion.ok and len(hits) == 1, (backend, option, hits, motion.message)
            assert np.allclose(hits[0], first, rtol=1e-10)
            assert np.allclose([motion.final[x], motion.final[y]], 0, atol=1e-8 * length)
    many = ap.simulate_many(system, {s: np.array([value, value]) for s, value in start.items()}, until, values)
    assert many.ok and np.allclose(many["x"], 0, atol=1e-8 * length) and np.allclose(many["y"], 0, atol=1e-8 * length)


@family(count=20, sample=(0, 1, 2))
def jumps_at_late_times(seed: int) -> None:
    """A wall jumps past a body, or a wire under its bead, at any time: no impulse moves a body at once; the run stops there.

    Member 0 is 56 years late."""
    rng = np.random.default_rng(seed)
    at = 1.76e9 if seed == 0 else float(rng.choice([-1, 1]) * 10 ** rng.uniform(3, 9.3))
    height, speed = rng.uniform(0.01, 0.5), -rng.uniform(0.1, 2)
    jump = Piecewise((0, ap.t < at), (height, True))
    start = {x: 1.0, y: 1.0, x.d: speed, y.d: speed}
    behind = 1.0 + 0.25 * speed - height / 2  # of the wall, after the jump
    rows = [ap.Unilateral(x - behind - jump, "wall", 0.5)] if seed % 2 == 0 else [ap.Constraint(y - x - jump, name="wire")]
    try:
        system = ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            motion = ap.simulate(system, start, at + 0.25, since=at - 0.25)
    except ap.ModelError as error:  # rows that jump are refused where the time of it is seen at once
        assert "jumps where" in str(error)
        return
    assert motion.status is ap.Status.JUMP and abs(motion.t[-1] - at) <= 2 * np.spacing(abs(at)), motion.message
