"""Bodies at rest on a wall without a load that begin to be pressed: they stay until the load has gone, without impacts.

Distance, rate and acceleration are zero at first, so the load shows only in what a first step sinks. The closed form: pressed
by F sin ω(t − t₀), the body leaves at t₀ + π/ω and is at F/(m ω²) (s − sin s) after the angle s since then.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sympy import Piecewise, sin
from tests.families.family import family

import appell as ap

x, y = ap.coordinates("x y")
F, m, w, T0, e = ap.parameters("F m w T0 e", nonnegative=True)
t = ap.t
MOST_STEPS = 3000
"""A run that bounces from the wall takes hundreds of thousands."""
LEAST_BLOW = 1e-10
"""Fraction of the speed of the motion below which a blow may be rounding."""


def pushed() -> ap.System:
    """Loaded from the start t0."""
    return ap.System([x], m * x.d**2 / 2, 0, {x: -F * sin(w * (t - T0))}, [ap.Unilateral(x, "wall", restitution=e)])


def unloaded() -> ap.System:
    """Another load ends at t0, where this one begins."""
    load = Piecewise((-2 * F, t < T0), (-F * sin(w * (t - T0)), True))
    return ap.System([x], m * x.d**2 / 2, 0, {x: load}, [ap.Unilateral(x, "wall", restitution=e)])


def drawn() -> ap.System:
    """The load is that of a spring to a body of the mass F/(w v), v = 1, that moves behind the wall and comes back."""
    other = F / w
    spring = other * w**2 * (x - y) ** 2 / 2
    return ap.System([x, y], (m * x.d**2 + other * y.d**2) / 2, spring, constraints=[ap.Unilateral(x, "wall", restitution=e)])


def blows(motion: ap.Motion, speed: float) -> int:
    """Impacts that are no rounding."""
    return sum(one.kind == "impact" and abs(one.before) > LEAST_BLOW * speed for one in motion.impacts)


@family(count=24, sample=(0, 1, 2))
def loads_that_grow_from_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind, backend = (pushed, unloaded, drawn)[seed % 3], ("c", "vm")[seed // 3 % 2]
    values: dict[Any, float] = {F: 1.0, m: 1.0, w: 1.0, T0: 0.0, e: 1.0}
    if seed:
        size, rate = 10 ** rng.uniform(-1, 1), rng.uniform(0.5, 2)
        values |= {F: size, m: 10 ** rng.uniform(-0.5, 0.5), w: rate, e: float(rng.choice([1.0, 0.9, 0.5]))}
    begin = 1.0 if kind is unloaded else 0.0
    values[T0] = begin
    half = np.pi / values[w]
    start = {y.d: -1.0} if kind is drawn else {}
    system = kind()
    used = {key: value for key, value in values.items() if key in system.parameters}
    held = ap.simulate(system, start, begin + 0.9 * half, used, backend=backend, max_steps=MOST_STEPS)
    assert held.ok, (held.message, held.doubts)
    scale = values[F] / values[m] / values[w] ** 2
    assert abs(held[x]).max() < 1e-11 * scale
    assert blows(held, scale * values[w]) == 0, held.impacts[:4]
    if kind is drawn:
        assert held[y][-1] == pytest.approx(-np.sin(0.9 * np.pi) / values[w], rel=1e-7)
        return
    gone = ap.simulate(system, start, begin + 1.5 * half, used, backend=backend, max_steps=MOST_STEPS)
    assert gone.ok, (gone.message, gone.doubts)
    leaving = [one.time for one in gone.impacts if one.kind == "leaving"]
    assert leaving[-1] == pytest.approx(begin + half, abs=1e-7 * half)
    assert gone[x][-1] == pytest.approx(scale * (np.pi / 2 - 1), rel=1e-6)
    if kind is pushed:
        many = ap.simulate_many(
            system, {x: np.zeros(2)}, begin + 1.5 * half, used, keep={"at": ap.reduce.final(x)}, max_steps=MOST_STEPS
        )  # fmt: skip
        assert many.ok, many.message
        assert np.allclose(many["at"], scale * (np.pi / 2 - 1), rtol=1e-6, atol=0)


def accelerations(M: np.ndarray, n: np.ndarray, F: np.ndarray) -> np.ndarray:
    """a of M a = F + nᵀ Λ, 0 <= Λ ⟂ n a >= 0, by trying all sets of faces."""
    K, k = np.linalg.inv(M), len(n)
    for chosen in product([False, True], repeat=k):
        on, lam = np.array(chosen), np.zeros(k)
        lam[on] = np.linalg.solve((n @ K @ n.T)[np.ix_(on, on)], -(n @ K @ F)[on])
        a = K @ (F + n.T @ lam)
        if (lam >= 0).all() and (n @ a >= -1e-12 * np.abs(n @ K @ F).max()).all():
            return a
    raise AssertionError("a complementarity problem with a positive definite matrix has a solution")


@family(count=48, sample=(0, 1, 2, 3))
def several_faces_without_a_load(seed: int) -> None:
    """At rest on several coupled faces, under forces F t: the faces that press are the same at all times, and q = a t³/6."""
    rng = np.random.default_rng([31, seed])
    size, backend = int(rng.integers(2, 5)), ("c", "vm")[seed % 2]
    q = ap.coordinates(" ".join(f"q{i}" for i in range(size)))
    B = rng.normal(size=(size, size))
    M, n, force = B @ B.T + np.eye(size), rng.normal(size=(size, size)), rng.normal(size=size)
    if seed < 2:  # the block on two feet that was seen
        M, n, force = np.diag([1.0, 1 / 3]), np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([-1.0, 0.0])
        q = q[:2]
    count = len(q) if seed < 2 else int(rng.integers(2, size + 1))
    back = float(rng.choice([1.0, 0.9, 0.5, 0.0]))
    faces = [ap.Unilateral(sum(c * s for c, s in zip(row, q, strict=True)), f"face {i}", restitution=back)
             for i, row in enumerate(n[:count])]  # fmt: skip
    v = np.array([s.d for s in q])
    system = ap.System([*q], v @ M @ v / 2, forces={s: c * t for s, c in zip(q, force, strict=True)}, constraints=faces)
    wanted = accelerations(M, n[:count], force)
    motion = ap.simulate(system, {}, 2.0, backend=backend, max_steps=MOST_STEPS)
    assert motion.ok, (motion.message, motion.doubts)
    scale = np.abs(np.linalg.solve(M, force)).max()
    assert np.abs(np.array([motion[s][-1] for s in q]) - wanted * 2.0**3 / 6).max() < 1e-8 * scale
    assert blows(motion, scale) == 0, motion.impacts[:4]
