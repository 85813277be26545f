"""States of first order beside mechanics: linear systems against the matrix exponential, walls that they move."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm, null_space
from sympy import Abs, Matrix, Max, Min, exp, sin
from tests.families.family import family

import appell as ap

METHODS = ("dop853", "dopri5", "taylor", "dop853", "idas", "cvodes")


@family(sample=(0, 5))
def linear_systems(seed: int) -> None:
    """M q̈ + D q̇ + K q = F s, ṡ = G q + H q̇ + R s, with a row b·q = 0 where there are three coordinates or more."""
    rng = np.random.default_rng(seed)
    n, k = 1 + seed % 4, 1 + seed // 3
    q, s = ap.coordinates([f"q{i}" for i in range(n)] if n > 1 else "q0"), ap.states([f"s{i}" for i in range(k)])
    q, s = (x if isinstance(x, tuple) else (x,) for x in (q, s))
    X = rng.uniform(-1, 1, (n, n))
    M, K, D = np.eye(n) + X @ X.T / n, (1 + seed) * np.eye(n) + X.T @ X, 0.3 * rng.uniform(0, 1, (n, n))
    F, G, H = rng.uniform(-1, 1, (n, k)), rng.uniform(-1, 1, (k, n)), rng.uniform(-1, 1, (k, n))
    R = rng.uniform(-0.5, 0.5, (k, k)) - np.eye(k) * (2 if seed % 2 else 1)
    qv, vv, sv = Matrix(q), Matrix([x.d for x in q]), Matrix(s)
    b = np.array([[1.0, 2.0, -1.0, 0.5][:n]]) if n >= 3 else np.zeros((0, n))
    system = ap.System(
        q, (vv.T * Matrix(M) * vv)[0] / 2, (qv.T * Matrix(K) * qv)[0] / 2,
        dict(zip(q, Matrix(F) * sv - Matrix(D) * vv, strict=True)),
        [(Matrix(b) * qv)[0]] if len(b) else [],
        rates=dict(zip(s, Matrix(G) * qv + Matrix(H) * vv + Matrix(R) * sv, strict=True)),
    )  # fmt: skip
    B = null_space(b) if len(b) else np.eye(n)  # q = B y
    m = B.T @ M @ B
    y = B.shape[1]
    A = np.block([
        [np.zeros((y, y)), np.zeros((y, k)), np.eye(y)],
        [G @ B, R, H @ B],
        [np.linalg.solve(m, -B.T @ K @ B), np.linalg.solve(m, B.T @ F), np.linalg.solve(m, -B.T @ D @ B)],
    ])  # fmt: skip
    start = rng.uniform(-1, 1, 2 * y + k)
    whole = lambda z: np.concatenate([B @ z[:y], z[y : y + k], B @ z[y + k :]])
    exact = whole(expm(2.0 * A) @ start)
    symbols = (*system.positions, *system.velocities)
    begin = dict(zip(symbols, whole(start), strict=True))
    method = METHODS[seed % 6]
    motion = ap.simulate(system, begin, 2.0, method=method, backend=("auto", "vm")[seed % 5 == 1 and method != "taylor"])
    off = np.abs([motion[x][-1] for x in symbols] - exact).max()
    assert motion.ok and off < (1e-6 if method in ("idas", "cvodes") else 1e-8), (off, motion.doubts)
    runs = seed % 5 and ap.simulate_many(system, {x: [value] * 3 for x, value in begin.items()}, 2.0, rtol=1e-10)
    assert not runs or np.abs(np.array([runs[str(x).replace(".", "_")][1] for x in symbols]) - exact).max() < 1e-8
    found = ap.linearize(system, at={}).eigenvalues
    assert np.abs(found[:, None] - np.linalg.eigvals(A)).min(axis=0).max() < 1e-8 and len(found) == len(A)


@family(sample=(0,))
def walls_that_states_move(seed: int) -> None:
    """A ball over a floor that creeps to its height, ṡ = (h − s)/τ, bounces as over one that is said to move so in time."""
    rng = np.random.default_rng(100 + seed)
    h, tau, e = rng.uniform(-0.5, 0.8), 10.0 ** rng.uniform(-1, 1), (1.0, 0.7, 0.0, 0.9)[seed % 4]
    x, y, s = *ap.coordinates("x y"), ap.states("s")
    slope = (0.0, 0.3)[seed % 2]
    common = {"coordinates": [x, y], "kinetic": (x.d**2 + y.d**2) / 2, "potential": 9.81 * y}
    beside = {"rates": {s: (h - s) / tau}}
    floor = lambda height: ap.Unilateral(y - slope * x - height, name="floor", restitution=e)
    by_state = ap.System(**common, constraints=[floor(s)], **beside)
    in_time = ap.System(**common, constraints=[floor(h * (1 - exp(-ap.t / tau)))])
    start, until = {y: 1.0 + rng.uniform(0, 1), x.d: rng.uniform(-1, 1)}, 1.5
    backend = ("auto", "vm")[seed % 3 == 2]
    one, other = (ap.simulate(system, start, until, backend=backend) for system in (by_state, in_time))
    assert one.ok and len(one.impacts) == len(other.impacts) > 0, (one.doubts, len(one.impacts))
    assert np.abs(one[s][-1] - h * (1 - np.exp(-until / tau))) < 1e-9
    assert max(abs(one[z][-1] - other[z][-1]) for z in (x, y, x.d, y.d)) < 1e-6
    if seed % 3 == 0:  # lanes are many seconds of gcc
        return
    many = ap.simulate_many(by_state, {key: [value] * 2 for key, value in start.items()}, until, rtol=1e-9)
    assert many.ok and abs(many["y"][0] - one[y][-1]) < 1e-6


def machine(kind: int) -> tuple[ap.System, dict, float]:
    """A motor with backlash, a controller that winds up, a Maxwell chain under a load, LuGre's bristle on a moving floor."""
    x, y = ap.coordinates("x y")
    i, s, r = ap.states("i s r")
    if kind == 0:
        gear = ap.Between(-0.05, x - y, 0.05, restitution=0.3, name="gear")
        motor = ap.System([x, y], (0.01 * x.d**2 + 0.03 * y.d**2) / 2, forces={x: 0.3 * i, y: -0.05 * y.d}, constraints=[gear],
                          rates={i: (12 - 1.5 * i - 0.3 * x.d) / 0.02})  # fmt: skip
        return motor, {i: 0.0}, 0.2
    if kind == 1:
        push = Max(-1, Min(1, 4 * (1 - x) - 2 * x.d + 3 * s))
        return ap.System([x], x.d**2 / 2, forces={x: push}, rates={s: 1 - x}), {x: -4.0}, 8.0
    if kind == 2:
        rates = {s: (x - s) / 0.1, r: (x - r) / 2}
        return ap.System([x], x.d**2 / 2, 9.81 * x, {x: -20 * (x - s) - 50 * (x - r)}, rates=rates), {x: 0.0}, 5.0
    rate = x.d - sin(ap.t) - 10 * Abs(x.d - sin(ap.t)) * s
    return ap.System([x], x.d**2 / 2, x**2 / 2, {x: -5 * s - rate / 2}, rates={s: rate}), {x: 0.2}, 6.0


@family(sample=(2,))
def machines_in_lanes(seed: int) -> None:
    """Motions with states in lanes are the single ones, each with its own start: the four machines, three starts of each."""
    system, start, until = machine(seed % 4)
    (symbol, value), rng = next(iter(start.items())), np.random.default_rng(seed)
    starts = value + rng.uniform(-0.5, 0.5, 5)
    many = ap.simulate_many(system, {symbol: starts}, until, rtol=1e-10)
    assert many.ok
    for k, one in enumerate(starts):
        single = ap.simulate(system, {symbol: one}, until, rtol=1e-10)
        for z in (*system.positions, *system.velocities):
            off = abs(float(many[str(z).replace(".", "_")][k]) - single[z][-1])
            assert single.ok and off < 1e-6 * (1 + np.abs(single[z]).max()), (z, off)
