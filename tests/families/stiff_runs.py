"""Runs of stiff methods: within their tolerance, or doubted; against the matrix exponential."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import expm
from sympy import sign, sin
from tests.families.family import family

import appell as ap

MOUNTS = [(10.0, 1e4, 1.0), (1e3, 1e3, 1.0), (1e4, 1e3, 1e-2), (1e3, 1e4, 1.0), (1e5, 1e6, 1.0), (100.0, 200.0, 1.0)]
"""Stiffness N/m, damping N s/m, mass kg of overdamped mounts."""


@family(sample=(0, 2))
def overdamped_mounts(seed: int) -> None:
    """m ẍ + c ẋ + k x = k sin 3t or 0, struck at the start: an error above 2000 rtol does not come with `ok`."""
    (k, c, m), forced, method = MOUNTS[seed % 6], seed in (0, 3, 4, 7, 11), ("idas", "cvodes")[seed // 6]
    x = ap.coordinates("x")
    system = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: -c * x.d + (k * sin(3 * ap.t) if forced else 0)})
    times, rtol = np.linspace(0, 20, 21), 1e-6
    # (x, ẋ, sin 3t, cos 3t)
    A = np.array([[0, 1, 0, 0], [-k / m, -c / m, forced * k / m, 0], [0, 0, 0, 3], [0, 0, -3, 0]])
    exact = np.array([(expm(A * s) @ [0, 1, 0, 1])[0] for s in times])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, {x.d: 1.0}, 20.0, method=method, rtol=rtol, times=times)
    off = np.abs(motion[x] - exact).max() / np.abs(exact).max()
    assert motion.status == 0 and (off < 2000 * rtol or not motion.ok), (off, motion.doubts)
    if not motion.ok:
        assert "two runs of" in motion.doubts[0]


@family(sample=(0, 7))
def radau_keeps_its_tolerance(seed: int) -> None:
    """Chains of masses with dampers of very different strength, against the matrix exponential, at rtol from 1e-4 to 1e-9."""
    rng = np.random.default_rng(seed)
    n, rtol = 1 + seed % 5, 10.0 ** -(4 + seed % 6)
    q = ap.coordinates([f"q{i}" for i in range(n)])
    q = q if isinstance(q, tuple) else (q,)
    m, k, c = 10.0 ** rng.uniform(-2, 1, n), 10.0 ** rng.uniform(0, 3, n), 10.0 ** rng.uniform(2, 5, n)
    ends = [(q[0], q[0].d), *((q[i] - q[i - 1], q[i].d - q[i - 1].d) for i in range(1, n))]
    force = dict.fromkeys(q, 0)
    for i, (_, speed) in enumerate(ends):
        force[q[i]] -= c[i] * speed
        if i:
            force[q[i - 1]] += c[i] * speed
    system = ap.System(q, sum(a * x.d**2 for a, x in zip(m, q, strict=True)) / 2,
                       sum(a * way**2 for a, (way, _) in zip(k, ends, strict=True)) / 2, force)  # fmt: skip
    B = np.eye(n) - np.eye(n, k=-1)  # extensions
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-(B.T * k) @ B / m[:, None], -(B.T * c) @ B / m[:, None]]])
    start = rng.uniform(-1, 1, 2 * n)
    times = np.linspace(0, 5, 6)
    exact = np.array([(expm(A * s) @ start)[:n] for s in times])
    begin = dict(zip((*q, *(x.d for x in q)), start, strict=True))
    backend = ("auto", "vm")[seed % 4 == 3]
    motion = ap.simulate(system, begin, 5.0, method="radau", rtol=rtol, atol=1e-3 * rtol, times=times, backend=backend)
    off = np.abs(np.array([motion[x] for x in q]).T - exact).max()
    assert motion.ok and off < 100 * rtol and motion.statistics["steps"] < 3000, (off / rtol, motion.statistics, motion.doubts)


def rough_and_stiff(seed: int) -> tuple[ap.System, dict, dict]:
    """A block on a rough floor, pushed by a force that grows, beside a mass on a spring with a very strong damper.

    m ẍ = r t − μ m g sign ẋ, sticks at t₁, breaks away at t₂ = μ_s m g/r;        m_y ÿ + c ẏ + k y = 0, c/m_y ≫ 1/s
    """
    rng = np.random.default_rng(seed)
    x, y = ap.coordinates("x y")
    m, my, k, c = 10.0 ** rng.uniform([-1, -2, 0, 4], [1, 0, 2, 5])
    mu, over = rng.uniform([0.1, 1.05], [0.6, 1.6])
    over = 1.0 if seed % 2 else over
    weight = m * 9.81
    r = mu * weight * rng.uniform(0.5, 1.0)
    rubs = ap.Friction(x.d, limit=mu * weight, name="floor") if seed % 2 else None
    walls = []
    if rubs is None:  # under a normal force that is a reaction
        z = ap.coordinates("z")
        floor = ap.Unilateral(z, name="ground", restitution=0)
        walls, rubs = [floor], ap.Friction(x.d, normal=floor, coefficient=mu, static=over * mu, name="floor")
        q, T, V = [x, y, z], m * (x.d**2 + z.d**2) / 2, weight * z
    else:
        q, T, V = [x, y], m * x.d**2 / 2, 0
    system = ap.System(q, T + my * y.d**2 / 2, V + k * y**2 / 2, {x: r * ap.t, y: -c * y.d}, constraints=[*walls, rubs])
    facts = {"m": m, "mu": mu * weight, "static": over * mu * weight, "r": r, "A": np.array([[0, 1], [-k / my, -c / my]])}
    return system, {x.d: 1.0, y: 1.0}, facts


z, h = ap.coordinates("z h")
s, u = ap.states("s"), ap.parameters("u")
BESIDE: tuple[dict, ...] = (
    {"constraints": [ap.Unilateral(h, name="floor", restitution=0.5)]},
    {"forces": {z: -1}, "constraints": [ap.Friction(z.d, limit=0.5, name="rail")]},
    {"stop": z + 100}, {"forces": {z: u}}, {"forces": {z: sign(sin(5 * ap.t))}}, {"forces": {z: -sign(z)}},
    {"constraints": [ap.Reset(z - h, {z: z + 1}, name="back")]},
)
"""Events of the coordinates z and h, of a body that flies."""


@family(count=2 * len(BESIDE), sample=(0,))
def stiffness_is_said_beside_events(seed: int) -> None:
    """A strong damper, in a coordinate or a state, beside walls, friction, stops, a control, breaks and resets: `auto` says so,
    and `radau` takes few steps; without the damper nothing is said, however many steps there are."""
    more, by_state = dict(BESIDE[seed % len(BESIDE)]), seed % 2
    x = ap.coordinates("x")
    how = {"stop": more.pop("stop")} if "stop" in more else {}
    if u in more.get("forces", {}).values():
        how |= {"control": lambda t, q, v: {u: 1.0}, "rate": 10}
    motions = []
    for damper, method in ((2e4, "auto"), (2e4, "radau"), (1.0, "auto")):
        push = {x: s} if by_state else {x: -damper * x.d + (0 if damper > 1 else sin(9000 * ap.t))}
        beside = {"rates": {s: -damper * (s + x.d) + (0 if damper > 1 else sin(9000 * ap.t))}} if by_state else {}
        system = ap.System([x, z, h], (x.d**2 + z.d**2 + h.d**2) / 2, 5 * x**2 + h, {**push, **more.get("forces", {})},
                           more.get("constraints", []), **beside)  # fmt: skip
        motions.append(ap.simulate(system, {x: 1.0, h: 1.0, z: 0.5}, 2.0, rtol=1e-5, method=method, **how))
    said = [[note for note in one.notes if note.kind == "stiff"] for one in motions]
    assert len(said[0]) == 1 and "method='radau' takes longer ones" in said[0][0] and not said[1] and not said[2], said
    steps = [one.statistics["steps"] for one in motions]
    assert steps[0] > 3000 > 10 * steps[1] and all(one.ok for one in motions), steps


@family(count=16, sample=(1,))
def stiff_and_rough(seed: int) -> None:
    """Radau IIA with friction: times of sticking and breaking away, and both ways, in closed form; few steps."""
    system, start, f = rough_and_stiff(seed)
    x, y = system.coordinates[:2]
    # m v = m v0 + r t²/2 − F t = 0; x = v0 t + r t³/(6 m) − F t²/(2 m)
    roots = np.roots([f["r"] / 2, -f["mu"], f["m"]])
    stops = roots[np.isreal(roots) & (roots.real > 0)].real
    breaks = f["static"] / f["r"]
    until = breaks + 0.3
    motion = ap.simulate(system, start, until, method="radau", rtol=1e-8, backend=("auto", "vm")[seed % 5 == 4])
    way = lambda t: t + f["r"] * t**3 / (6 * f["m"]) - f["mu"] * t**2 / (2 * f["m"])
    if len(stops) and stops.min() < breaks:
        t1 = float(stops.min())
        phases = [(one.state, one.start) for one in motion.phases]
        stuck, slid = ([time for state, time in phases if state == kind] for kind in ("stick", "slip"))
        assert min(abs(s - t1) for s in stuck) < 1e-7 and min(abs(s - breaks) for s in slid) < 1e-7, (phases, t1, breaks)
        s = until - breaks
        end = way(t1) + (f["r"] * (breaks * s**2 / 2 + s**3 / 6) - f["mu"] * s**2 / 2) / f["m"]
    else:
        end = way(until)
    assert motion.ok and abs(motion[x][-1] - end) < 1e-6 * max(1, abs(end)), (motion[x][-1], end, motion.doubts)
    assert abs(motion[y][-1] - (expm(until * f["A"]) @ [1, 0])[0]) < 1e-6 and motion.statistics["steps"] < 1000
