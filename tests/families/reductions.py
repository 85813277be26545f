"""Reductions of ensembles: the same numbers in lanes and one by one, values of the expression, held to the tolerance."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad
from sympy import Abs, Heaviside, Max, Mod, Piecewise, cos, exp, lambdify, log, pi, sin, sqrt, tanh
from tests.families.family import family

import appell as ap
from appell import zoo

x, y, z = ap.coordinates("x y z")
g = ap.parameters("g", positive=True)
WAYS = (
    {"backend": "auto"},
    {"backend": "vm"},
    {"backend": "auto", "method": "taylor"},
    {"backend": "auto", "method": "dopri5"},
)


def paths(seed: int) -> list[dict[str, Any]]:
    """Lanes, and another way."""
    return [WAYS[0], WAYS[1 + seed % 3]]


# e(x) along x = x0 + v t, in which steps are as long as the run
SHARP = [
    lambda s: exp(-400 * s**2), lambda s: 1 / (s**2 + 0.001), lambda s: sin(30 * s), lambda s: tanh(200 * (s - 0.3)),
    lambda s: Abs(s - 0.1) - 0.5, lambda s: sqrt(s**2 + 1e-6), lambda s: log(s**2 + 1e-4), lambda s: Max(s, 0.2, -s / 3),
    lambda s: cos(7 * s) * exp(-((s - 1) ** 2) / 4), lambda s: Piecewise((s**2, s < 0.7), (2 * s - 0.91, True)),
    lambda s: 1 / (1 + exp(-80 * (s - 0.37))) - 0.25, lambda s: s**3 - 3 * s + 2 - 1e-7, lambda s: sin(s) ** 9 - 1e-3,
]  # fmt: skip


@family(count=13, sample=(0,))
def a_sharp_expression_in_free_flight(seed: int) -> None:
    """A flight is one step: peaks, zeros and switches lie inside it, against 400,000 samples and QUADPACK."""
    rng = np.random.default_rng(seed)
    e, starts, end = SHARP[seed](x), -rng.uniform(0.5, 3, 3), float(rng.uniform(4, 8))
    free = ap.System([x], x.d**2 / 2, name="free")
    keep = {"top": ap.reduce.max(e), "low": ap.reduce.min(e), "sum": ap.reduce.integral(e), "mean": ap.reduce.mean(e),
            "zeros": ap.reduce.crossings(e), "up": ap.reduce.crossings(e, 1), "first": ap.reduce.first_crossing(e)}  # fmt: skip
    value = lambdify(x, e, "numpy")
    for way in paths(seed):
        found = ap.simulate_many(free, {x: starts, x.d: 1.0}, end, {}, keep=keep, **way)
        assert set(found["message"].values) == {"finished"}
        for k, s in enumerate(starts):
            at = np.linspace(s, s + end, 400_001)
            values = np.asarray(value(at), float)
            size = np.abs(values).max()
            for name, extreme in (("top", values.max()), ("low", values.min())):
                sign = 1 if name == "top" else -1
                got = float(found[name][k])
                assert -1e-8 * size <= sign * (got - extreme) <= 1e-3 * size, (name, got, extreme)
            points = sorted({s, s + end, *(p for p in (-1, 0, 0.1, 0.2, 0.3, 0.37, 0.7, 1, 2) if s < p < s + end)})
            pieces = [quad(value, a, b, epsabs=1e-12, epsrel=1e-11, limit=500)[0] for a, b in pairwise(points)]
            scale = end * np.abs(values).mean()
            np.testing.assert_allclose(found["sum"][k], sum(pieces), atol=1e-7 * scale)
            np.testing.assert_allclose(found["mean"][k], sum(pieces) / end, atol=1e-7 * scale / end)
            signs = np.sign(values[values != 0])
            changes = np.flatnonzero(np.diff(signs))
            assert found["zeros"][k] == len(changes) and found["up"][k] == (np.diff(signs) > 0).sum()
            if len(changes):
                np.testing.assert_allclose(found["first"][k], at[changes[0] + 1] - s, atol=3 * end / 400_000)


# expressions that are unbounded to one side, or have no value on parts of the way: e(s), k and c of the member
ONE_SIDED = [
    lambda s, k, c: log(Abs(sin(k * s + c))), lambda s, k, c: log(sin(k * s + c)),
    lambda s, k, c: log((s - c) ** 2) + 3 * cos(k * s), lambda s, k, c: log(sin(k * s) + c / 10),
    lambda s, k, c: sqrt(s - c) * cos(k * s), lambda s, k, c: log(Abs(cos(k * s))) + s / 5,
]  # fmt: skip


@family(count=18, sample=(0, 4))
def an_extreme_beside_poles(seed: int) -> None:
    """The extreme of what is unbounded to the other side, or has no value at times, against 2,000,000 samples."""
    rng = np.random.default_rng(seed)
    e, way = ONE_SIDED[seed % 6](x, float(rng.uniform(5, 15)), float(rng.uniform(0.1, 0.9))), 1 if seed % 2 else -1
    starts, end = -rng.uniform(0.5, 2, 3), float(rng.uniform(3.2, 4.5))
    free = ap.System([x], x.d**2 / 2, name="free")
    keep = {"top": ap.reduce.max(e) if way > 0 else ap.reduce.min(-e)}
    value = lambdify(x, e, "numpy")
    for how in paths(seed):
        found = ap.simulate_many(free, {x: starts, x.d: 1.0}, end, {}, keep=keep, **how)
        for k, s in enumerate(starts):
            with np.errstate(all="ignore"):
                values = value(np.linspace(s, s + end, 2_000_001))
            top, got = float(np.nanmax(values)), way * float(found["top"][k])
            assert str(found["message"].values[k]) == "finished" and -1e-8 * (1 + abs(top)) <= got - top <= 1e-8, (got, top)


def held(seed: int) -> tuple[ap.System, dict[Any, Any], dict[Any, float], Any]:
    """A system that comes to hold a wall, with a start, and an expression of its accelerations."""
    e = 0.2 + 0.05 * seed
    kind = seed % 4
    if kind == 0:
        ball = ap.System([y], y.d**2 / 2, g * y, {}, [ap.Unilateral(y, "floor", e)], name="ball")
        return ball, {y: np.array([1.0, 0.0, 0.3]), y.d: np.array([0.0, 0.0, 0.5])}, {g: 9.81}, y.dd
    if kind == 1:
        slope = ap.Unilateral(y - x / 3, "slope", e)
        block = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, {}, [slope], name="block on a slope")
        return block, {x: 0.0, y: np.array([0.1, 0.0, 0.5])}, {g: 9.81}, x.dd + 2 * y.dd
    if kind == 2:
        pushed = ap.System([x], x.d**2 / 2, 0, {x: -1 - sin(ap.t) / 2}, [ap.Unilateral(x, "wall", e)], name="pushed")
        return pushed, {x: np.array([0.2, 0.0, 0.1])}, {}, x.dd**2 - x
    bead = ap.System([x, y], (2 * x.d**2 + y.d**2) / 2 + x.d * y.d / 3, g * y + x**2, {x: -x.d}, [ap.Unilateral(y, "table", e)])
    return bead, {x: 0.5, y: np.array([0.2, 0.0, 0.05])}, {g: 9.81}, x.dd * y.dd + x.dd


@family(count=12, sample=(4,))
def accelerations_are_those_of_the_mode(seed: int) -> None:
    """A wall that is held: in lanes, one by one and along a motion, whose accelerations are integrated by samples."""
    system, start, values, e = held(seed)
    keep = {"last": ap.reduce.final(e), "sum": ap.reduce.integral(e), "top": ap.reduce.max(e), "low": ap.reduce.min(e)}
    runs = [ap.simulate_many(system, start, 4.0, values, keep=keep, rtol=1e-10, **way) for way in (WAYS[0], WAYS[1 + seed % 2])]
    for name in keep:
        size = 1 + np.abs(runs[0][name].values)
        np.testing.assert_allclose(runs[0][name].values / size, runs[1][name].values / size, atol=3e-7)
    one = {s: np.broadcast_to(v, 3)[0] for s, v in start.items()}
    motion = ap.simulate(system, one, 4.0, values, rtol=1e-10)
    edges = np.unique([0.0, 4.0, *(impact.time for impact in motion.impacts), *(time for time, _ in motion.contacts)])
    total = 0.0
    for a, b in pairwise(edges):
        if b - a > 1e-7:
            nodes, weights = np.polynomial.legendre.leggauss(40)
            total += (b - a) / 2 * weights @ motion.at((a + b) / 2 + (b - a) / 2 * nodes)[e]
    np.testing.assert_allclose(runs[0]["sum"][0], total, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(runs[0]["last"][0], motion.at([3.999999])[e][0], rtol=1e-4, atol=1e-4)


@family(count=12, sample=(0,))
def accelerations_of_friction(seed: int) -> None:
    """Stick and slip: the accelerations of the mode, against a motion that is sampled between its changes."""
    rng = np.random.default_rng(seed)
    example = zoo.block_on_belt()
    system, values = example.system, dict(example.parameters)
    q = system.coordinates[0]
    start = {**example.start, q: float(rng.uniform(0, 0.3)), q.d: float(rng.uniform(-0.2, 0.4))} if seed else example.start
    e = (q.dd, q.dd**2 + q, q.dd * q.d)[seed % 3]
    keep = {"sum": ap.reduce.integral(e), "last": ap.reduce.final(e), "top": ap.reduce.max(e), "low": ap.reduce.min(e)}
    found = ap.simulate_many(system, {s: [float(v)] for s, v in start.items()}, 6.0, values, keep=keep)
    motion = ap.simulate(system, start, 6.0, values)
    edges = np.unique([0.0, 6.0, *(time for time, _ in motion.modes)])
    total, most = 0.0, -np.inf
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for a, b in pairwise(edges):
        if b - a > 1e-9:
            sampled = motion.at((a + b) / 2 + (b - a) / 2 * nodes)[e]
            total, most = total + (b - a) / 2 * weights @ sampled, max(most, sampled.max())
    np.testing.assert_allclose(found["sum"][0], total, rtol=1e-5, atol=1e-6)
    assert found["top"][0] >= most - 1e-6 and found["low"][0] <= found["top"][0]


@family(count=12, sample=(0,))
def paths_agree_on_a_jump_over_zero(seed: int) -> None:
    """A velocity that jumps in an impact, and a phase modulo a turn, do not cross zero; in no path."""
    drop, e = 0.4 + 0.3 * seed, 0.3 + 0.05 * seed
    ball = ap.System([y], y.d**2 / 2, g * y, {}, [ap.Unilateral(y, "floor", e)], name="ball")
    end = np.sqrt(2 * drop / 9.81) * (1 + 2 * e + e**2)  # the top of the second flight
    phase = Mod((1 + seed) * ap.t, 2 * pi) - 3
    keep = {"turns": ap.reduce.crossings(y.d), "up": ap.reduce.crossings(y.d, 1), "blows": ap.reduce.impacts(),
            "phase": ap.reduce.crossings(phase), "back": ap.reduce.crossings(phase, -1),
            "first": ap.reduce.first_crossing(y.d, -1)}  # fmt: skip
    for way in paths(seed):
        found = ap.simulate_many(ball, {y: [drop]}, 0.999 * end, {g: 9.81}, keep=keep, **way)
        assert (found["turns"][0], found["up"][0], found["blows"][0]) == (1, 0, 2)
        assert found["back"][0] == 0
        assert found["phase"][0] == np.floor(((1 + seed) * 0.999 * end - 3) / (2 * np.pi)) + 1
        np.testing.assert_allclose(found["first"][0], np.sqrt(2 * drop / 9.81) * (1 + e), rtol=1e-8)


@family(count=12, sample=(0,))
def what_cannot_be_held_says_so(seed: int) -> None:
    """A pole on the way: the run is finished, and its message names the reduction; its neighbours are not doubted."""
    pole = (1 / x, 1 / (x - 0.3), x / (x**2 - 0.04), 1 / sin(x))[seed % 4]
    free = ap.System([x], x.d**2 / 2, name="free")
    keep = {"area": ap.reduce.integral(pole), "way": ap.reduce.integral(x.d), "end": ap.reduce.final(x)}
    start = {x: np.array([-1.0 - 0.07 * seed, 0.5, -0.8]), x.d: np.array([1.0, 0.1, 2.0])}
    for way in paths(seed)[: 1 + (seed > 0)]:
        found = ap.simulate_many(free, start, 2.0, {}, keep=keep, **way)
        said = [str(text) for text in found["message"].values]
        assert "area could not be held" in said[0] and "way" not in said[0].partition("could")[0] and said[1] == "finished"
        np.testing.assert_allclose(found["way"].values, 2.0 * start[x.d], rtol=1e-9)


@family(count=12, sample=(1,))
def motions_of_every_kind(seed: int) -> None:
    """Oscillators, chaos, constraints, quaternions, drives, fixed steps, backwards: in lanes what is found one by one."""
    rng = np.random.default_rng(seed)
    name = ("n_pendulum", "skate", "rolling_disc", "four_bar")[seed % 4]
    example = zoo.ALL[name]()
    system, values = example.system, example.parameters
    near = ap.consistent(system, example.start, parameters=values)
    start = {s: np.array([float(v)]) for s, v in near.items()}
    q, v = system.coordinates[seed % len(system.coordinates)], system.velocities[0]
    expressions = (q**2 + v, sin(3 * q) * v, Heaviside(v) * q, Abs(v), cos(q + 5 * ap.t), v**2 - q)
    e, f = expressions[seed % 6], expressions[(seed + 1) % 6]
    end = float(rng.uniform(1, 3)) * (-1 if seed % 5 == 4 else 1)
    keep = {
        "top": ap.reduce.max(e),
        "low": ap.reduce.min(f),
        "sum": ap.reduce.integral(e),
        "mean": ap.reduce.mean(f),
        "zeros": ap.reduce.crossings(e),
        "first": ap.reduce.first_crossing(f),
        "last": ap.reduce.final(f),
    }
    how = {"step": 2e-3} if seed % 6 == 3 else {"rtol": 1e-10}
    lanes, single = (ap.simulate_many(system, start, end, values, keep=keep, backend=b, **how) for b in ("auto", "vm"))
    assert "lanes" in lanes.attrs["path"] and "one by one" in single.attrs["path"]
    for each in keep:
        a, b = lanes[each].values, single[each].values
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6, err_msg=each)
