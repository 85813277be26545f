"""Times far from zero: a motion in which time itself has no part is the same at every time, to the last digit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, sin
from tests.families.family import family

import appell as ap

x, y, phi = ap.coordinates("x y phi")
k, m = ap.parameters("k m", positive=True)
SPRING = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, name="spring")
BALL = ap.System([y], m * y.d**2 / 2, k * y, constraints=[ap.Unilateral(y, "floor", restitution=0.8)], name="ball")
BRAKED = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, constraints=[ap.Friction(x.d, limit=0.05, name="brake")], name="braked")
ROD = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, k * y, constraints=[ap.Constraint(x**2 + y**2 - 1, "rod")], name="rod")
SHAKEN = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: sympy.sin(3 * ap.t)}, name="shaken")
VALUES = {k: 2.0, m: 1.0}
STARTS: dict[ap.System, dict[str, float]] = {
    SPRING: {"x": 1.0}, BALL: {"y": 1.0}, BRAKED: {"x": 1.0}, ROD: {"x": 1.0, "y": 0.0}, SHAKEN: {"x": 1.0},
}  # fmt: skip
LENGTH = 4.0  # s; until = since + 4 is exact for all of them


def many(system: ap.System, since: float, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        start = {name: np.full(3, value) for name, value in STARTS[system].items()}
        return ap.simulate_many(system, start, since + LENGTH, VALUES, since=since, threads=1, **options)


def single(system: ap.System, since: float, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        return ap.simulate(system, STARTS[system], since + LENGTH, VALUES, since=since, **options)


def ends_of_many(system: ap.System, since: float, **options: Any) -> np.ndarray:
    found = many(system, since, **options)
    assert found.ok, found.message
    return np.array([found[name].values for name in STARTS[system]])


def end_of_single(system: ap.System, since: float, **options: Any) -> np.ndarray:
    motion = single(system, since, **options)
    assert motion.ok and motion.t[0] == since and motion.t[-1] == since + LENGTH
    return np.concatenate([motion.q[-1], motion.v[-1], motion.events["time"] - since])


SINGLE = {"step": 2.0**-6, "dtype": np.float32}
TRIALS: list[tuple[Callable[..., np.ndarray], ap.System, float, dict[str, Any]]] = [
    (ends_of_many, SPRING, 1e8, SINGLE),
    (end_of_single, BALL, 1e9, {}),
    (ends_of_many, BALL, 1e9, {**SINGLE, "step": 2.0**-8}),
    (ends_of_many, SPRING, -3e8, SINGLE),
    (ends_of_many, SPRING, 1e12, {"rtol": 1e-9}),
    (ends_of_many, ROD, 1e7, SINGLE),
    (ends_of_many, BRAKED, 1.7e9, {}),
    (end_of_single, BRAKED, 1.7e9, {"backend": "vm"}),
    (end_of_single, ROD, -1e10, {}),
    (end_of_single, ROD, 1e10, {"method": "idas"}),
    (end_of_single, SPRING, 1e10, {"method": "cvodes"}),
    (end_of_single, SPRING, 1e14, {"method": "taylor"}),
    (end_of_single, BALL, 1e11, {"backend": "vm", "method": "dopri5"}),
    (end_of_single, SPRING, 1e9, {"step": 2.0**-5, "method": "dopri5"}),
]  # fmt: skip


@family(count=len(TRIALS), sample=(0, 1))
def a_motion_is_the_same_at_every_time(seed: int) -> None:
    """States are those of since = 0 to the last digit; times of events to the digits that they have there."""
    trial, system, since, options = TRIALS[seed]
    far, near = trial(system, since, **options), trial(system, 0.0, **options)
    states = near.shape[0] if near.ndim == 2 else 2 * system.nq
    np.testing.assert_array_equal(far[:states], near[:states])
    np.testing.assert_allclose(far[states:], near[states:], atol=4 * np.spacing(abs(since) + LENGTH), rtol=0)


@family(count=12, sample=(1, 2))
def what_is_asked_of_far_times_is_answered_in_them(seed: int) -> None:
    """Crossings, sections, samples, messages and notes have the times of the user, whatever a loop counts."""
    since = (1e8, 1e9, -1e9, 1.7e9)[seed % 4]
    atol = 8 * np.spacing(abs(since))
    first = np.pi / 2 / np.sqrt(2.0)
    if seed % 3 == 0:
        for options in ({"rtol": 1e-9}, {"rtol": 1e-9, "method": "cvodes"}, {"rtol": 1e-9, "backend": "vm"})[: 1 + seed // 3]:
            found = many(SPRING, since, keep={"first": ap.reduce.first_crossing(x), "late": ap.reduce.max(x * ap.t)}, **options)
            np.testing.assert_allclose(found["first"], since + first, atol=atol + 1e-7)
            assert (np.abs(found["late"]) > 0.5 * abs(since)).all()
    elif seed % 3 == 1:
        section = many(SPRING, since, keep=ap.reduce.section(x, count=2, direction=-1), rtol=1e-9)
        times = section.dataset[next(n for n in section.dataset.variables if n in ("t", "time", "point_time"))].values
        np.testing.assert_allclose(times[:, 0], since + first, atol=atol + 1e-8)
        kept = many(SPRING, since, keep=since + np.linspace(0, LENGTH, 5), rtol=1e-9)
        near = many(SPRING, 0.0, keep=np.linspace(0, LENGTH, 5), rtol=1e-9)
        np.testing.assert_allclose(kept["x"], near["x"], atol=1e-12)
    else:
        motion = single(BALL, since, times=since + np.linspace(0, LENGTH, 9))
        near = single(BALL, 0.0, times=np.linspace(0, LENGTH, 9))
        np.testing.assert_array_equal(motion.q, near.q)
        assert ((motion.events["time"] > since) & (motion.events["time"] < since + LENGTH)).all()
        stopped = single(SPRING, since, max_steps=3)
        assert not stopped.ok and since < stopped.t[-1] < since + LENGTH and f"{stopped.t[-1]:.9g}" in stopped.message
        told: list[float] = []
        single(SPRING, since, progress=told.append)
        assert told and all(since <= t <= since + LENGTH for t in told)


@family(count=12, sample=(0,))
def single_precision_has_the_digits_of_its_times_or_is_not_used(seed: int) -> None:
    """A force sin 3t at times for which seven digits are too few: the runs are made in double precision."""
    since, step = (1e8, 1e7, 1e6, 2e7, -1e8, 3e5)[seed % 6], (2.0**-6, 2.0**-8)[seed // 6]
    found = many(SHAKEN, since, step=step, dtype=np.float32)
    exact = many(SHAKEN, since, rtol=1e-10)
    assert "digits" in found.attrs["path"]
    np.testing.assert_allclose(found["x"], exact["x"], atol=1e-6)


@family(count=12, sample=(0, 1))
def prescribed_motions_at_any_time(seed: int) -> None:
    """A carriage and a crank are moved by functions of time that are tables, or Python functions, far from t = 0 only."""
    rng = np.random.default_rng(seed)
    first, lasts = (5.0, 3.0) if seed == 0 else (float(rng.choice([1, -1])) * 10 ** rng.uniform(0.5, 4), rng.uniform(1, 4))
    start, end = (first, first + lasts) if seed % 2 == 0 else (first + lasts, first)
    way, turn, (u, v, w) = ap.prescribed("way"), ap.prescribed("turn"), ap.coordinates("u v w")
    rate, phase = rng.uniform(0.5, 2, 2), rng.uniform(0, 6, 2)
    moved = lambda k: lambda t: 0.2 * np.sin(rate[k] * (t - first) + phase[k])
    times = np.linspace(first, first + lasts, 400)
    given = {way: (times, moved(0)(times)) if seed % 3 else moved(0), turn: moved(1)}
    spring = (u - v) ** 2 / 2 + w**2
    rows = [ap.Constraint(w - sin(u) - way, "crank"), ap.Constraint(v.d - cos(w) * turn, "carriage")]
    system = ap.System([u, v, w], (u.d**2 + 2 * v.d**2 + 3 * w.d**2) / 2, spring, {u: -u.d / 5}, rows, name="moved")
    slope = lambda k, t: 0.2 * rate[k] * np.cos(rate[k] * (t - first) + phase[k])

    def slopes(t, z):
        """From u̇ and v: ẇ = cos u u̇ + ẏ, so (1 + 3 cos²u) ü = … with the reaction eliminated."""
        at, other, speed = z
        place = np.sin(at) + moved(0)(t)
        bend = -np.sin(at) * speed**2 - rate[0] ** 2 * moved(0)(t)
        force = -(at - other) - speed / 5 - np.cos(at) * (3 * bend + 2 * place)
        return [speed, np.cos(place) * moved(1)(t), force / (1 + 3 * np.cos(at) ** 2)]

    begin = {u: 0.3, v: -0.1, u.d: 0.5}
    begin |= {w: np.sin(0.3) + moved(0)(start), w.d: 0.5 * np.cos(0.3) + slope(0, start)}
    begin |= {v.d: np.cos(begin[w]) * moved(1)(start)}
    motion = ap.simulate(system, ap.consistent(system, begin, given, since=start), end, given, since=start)
    exact = solve_ivp(slopes, (start, end), [0.3, -0.1, 0.5], rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose([motion[u][-1], motion[v][-1], motion[u.d][-1]], exact, atol=1e-6)
    assert motion.ok, motion.doubts


@family(count=12, sample=(0, 1))
def times_beyond_the_end_by_rounding(seed: int) -> None:
    """n steps of h s are asked for until the float nearest to n h, which may be less than n times the float h."""
    rng, found = np.random.default_rng(seed), 0
    while found < 3:
        digits, n, since = int(rng.integers(1, 4)), int(rng.integers(2, 100)), int(rng.integers(-3, 4)) * (seed % 2)
        step, way = int(rng.integers(1, 10**digits)), (1, -1)[seed % 4 // 2]
        if seed == found == 0:
            digits, n, step = 1, 3, 1
        until, times = since + way * n * step / 10**digits, since + way * (step / 10**digits) * np.arange(n + 1)
        if abs(until - since) > 20:
            continue
        found += way * (times[-1] - until) > 0
        exact = np.cos(np.sqrt(2) * (times - since))
        motion = ap.simulate(SPRING, {x: 1.0}, until, VALUES, since=since, times=times)
        np.testing.assert_allclose(motion[x], exact, atol=1e-6)
        assert abs(motion.t[-1] - until) <= 4 * np.spacing(max(abs(until), abs(since)))
        for keep in (times, np.tile(times, (2, 1))):
            motions = ap.simulate_many(SPRING, {x: np.ones(2)}, until, VALUES, since=since, keep=keep, threads=1, rtol=1e-9)
            np.testing.assert_allclose(motions[x], [exact, exact], atol=1e-6)
    for late in (LENGTH + 1e-12, LENGTH * 1.01):
        for run, asked in ((single, "times"), (many, "keep")):
            try:
                run(SPRING, 0.0, **{asked: [late]})
            except ap.ModelError as error:
                assert "until = 4" in str(error)
            else:
                raise AssertionError(f"t = {late!r} is beyond the end")
