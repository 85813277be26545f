"""Zeros that are easily lost or invented: in rests of a block that sticks, where a sign jumps, where nothing has a value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sympy import Abs, acos, asin, asinh, atan, cos, exp, log, sign, sin, sqrt, tanh
from tests.families.family import family

import appell as ap

x = ap.coordinates("x")


def block(force: Any, limit: float) -> ap.System:
    """A block of 1 kg on a rough table, under a force."""
    return ap.System([x], x.d**2 / 2, 0, {x: force}, [ap.Friction(x.d, limit=limit, name="table")], name="block")


@family(count=12, sample=(0, 7))
def a_section_that_rests_at_zero_is_crossed(seed: int) -> None:
    """Slips to and fro with rests between them: the velocity changes its sign once in each rest, as long as it may be."""
    rng = np.random.default_rng(seed)
    w, share = rng.uniform(0.4, 2.5), rng.uniform(0.8, 0.95)
    first, half = np.arcsin(share) / w, np.pi / w
    system, since = block(3 * sin(w * ap.t), 3 * share), float(half * np.round((0, 50, 700)[seed % 3] / half))  # at rest
    begins = first + half * np.arange(np.ceil((since - first) / half), (since + 120 - first) / half)
    ups = np.round((begins - first) / half) % 2 == 0
    e, asked = (x.d, x.d**3 + 2 * x.d, -x.d)[seed % 3], (0, 1, -1)[seed // 3 % 3]
    way = -1 if seed % 3 == 2 else 1
    wanted = begins[1:][(asked == 0) | (ups[1:] == (asked * way > 0))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        found = ap.poincare(system, e, {x: 0.0}, since + 120, count=1000, direction=asked, since=since)
        some = ap.poincare(system, e, {x: 0.0}, count=9, direction=asked, since=since)
    # it may have left zero anywhere in the rest before the slip: 1 rest for each crossing
    for times, many in ((found.t, wanted), (some.t, wanted[:9])):
        assert len(times) == len(many), (len(times), len(many))
        assert ((times <= many + 1e-6) & (times >= many - half)).all()


@family(count=12, sample=(1, 3))
def no_crossing_where_slips_end(seed: int) -> None:
    """Slips in one direction, with rests between them: the velocity reaches zero again and again, and never passes it."""
    rng = np.random.default_rng(seed)
    w, mean, more = rng.uniform(0.5, 3), rng.uniform(1.3, 2.5), rng.uniform(1.2, 2)
    system = block(mean + more * sin(w * ap.t), float(mean + 0.8 * more))
    since = float((2000, 0, -2100, 20_000)[seed % 4])
    motion = ap.simulate(system, {x: 0.0}, since + 100, since=since)
    assert sum(phase.state == "slip" for phase in motion.phases) >= 7
    e = (x.d, x.d * (2 + x**2 / (1 + x**2)), x.d**3 + x.d)[seed % 3]
    assert len(motion.crossings(e)) == 0, motion.crossings(e)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        found = ap.poincare(system, e, {x: 0.0}, since + 100, count=3, direction=0, since=since)
    assert len(found) == 0, found.t
    keep = {"n": ap.reduce.crossings(e)}
    assert ap.simulate_many(system, {x: [0.0]}, since + 100, since=since, keep=keep)["n"][0] == 0


@family(count=12, sample=(0, 5))
def a_sign_jumps_over_zero(seed: int) -> None:
    """sign(e) is zero at one instant, where it jumps; e itself, and sign(e) |e|, pass through zero there."""
    rng = np.random.default_rng(seed)
    free, speed = ap.System([x], x.d**2 / 2, name="free"), float(rng.uniform(0.3, 2))
    motion = ap.simulate(free, {x: 0.0, x.d: speed}, 4.0)
    for place in rng.uniform(0.5, 3.5, 12) * speed:
        place = float(np.round(place, 1 + seed % 3))
        jumps = sign(x - place), sign(x - place) * (2 + cos(3 * x)), sign(tanh(x - place) / 3)
        assert [len(motion.crossings(e)) for e in jumps] == [0, 0, 0]
        for e in (x - place, sign(x - place) * Abs(x - place), (x - place) ** 3):
            np.testing.assert_allclose(motion.crossings(e), [place / speed], atol=1e-4)


@family(count=12, sample=(0, 3))
def no_crossing_without_a_value(seed: int) -> None:
    """x − c passes through zero where a positive factor has no real value; it counts where the factor has one."""
    rng = np.random.default_rng(seed)
    free, edge = ap.System([x], x.d**2 / 2, name="free"), float(rng.uniform(1.5, 2.5))
    root, turn = sqrt(x - edge), 1 + (edge - x) / 9
    factors = exp(root), 2 + cos(root), 3 + tanh(log(x - edge)), 1 + acos(turn), exp(-asin(turn))
    motion = ap.simulate(free, {x: 0.0, x.d: 1.0}, 5.0)
    for before, after in rng.uniform(0.1, 0.9, (6, 2)) * [edge, 2]:
        factor = factors[seed % 5]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert len(motion.crossings((x - float(before)) * factor)) == 0
            np.testing.assert_allclose(motion.crossings((x - float(edge + after)) * factor), [edge + after], atol=1e-8)


@family(count=15, sample=(0, 1, 2))
def multiple_zeros_are_crossed(seed: int) -> None:
    """f(k (x − c)³) passes through zero at c, however long it is zero up to its rounding; f(k (x − c)⁴) does not."""
    rng = np.random.default_rng(seed)
    free = ap.System([x], x.d**2 / 2, name="free")
    f = (sin, tanh, asinh, atan, lambda u: exp(u) - 1)[seed % 5]
    motion = ap.simulate(free, {x: 0.0, x.d: 1.0}, 4.0, method=("dop853", "taylor", "dop853")[seed % 3])
    for place in map(float, rng.uniform(0.3, 3.7, 8)):
        k = float(10 ** rng.uniform(-3.5, -2.5))
        found = motion.crossings(f(k * (x - place) ** 3))
        assert len(found) == 1 and abs(found[0] - place) < 1e-3, (place, found)
        assert len(motion.crossings(f(k * (x - place) ** 4))) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        found = ap.poincare(free, f((x - place) ** 3 * k), {x: 0.0, x.d: 1.0}, 4.0, count=1)
    assert len(found) == 1 and abs(found.t[0] - place) < 1e-3
