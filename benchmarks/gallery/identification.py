"""Parameters from records: the identifications of opty's gallery, with records of our own noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Heaviside, cos, sin

import appell as ap
from benchmarks.gallery.published import problem


@problem("spring and damper from four records", "intermediate/plot_non_contiguous_parameter_identification", 1.0, "k")
def four_records(tolerance: float) -> Any:
    x = ap.coordinates("x")
    c, k = ap.parameters("c k", positive=True)
    mass = ap.System([x], x.d**2 / 2, k * (x - 1) ** 2 / 2, {x: -c * x.d}, name="mass")
    rng, t, records = np.random.default_rng(123), np.linspace(0, 20, 500), []
    for _ in range(4):
        start = dict(zip((x, x.d), 4 * rng.normal(size=2), strict=True))
        records.append({"t": t, x: ap.simulate(mass, start, 20.0, {c: 0.25, k: 1.0}, times=t)[x] + 2 * rng.normal(size=500)})
    first = [{x: float(one[x][0])} for one in records]
    return ap.fit(mass, records, [c, k, x, x.d], first, {c: 0.1, k: 3.0}, bounds={c: (0.01, 2), k: (0.1, 10)})


@problem(
    "pendulum, a record with many minima", "beginner/plot_vyasarayani", 10.0, "p", "from a random first guess of p in 0 … 100"
)
def many_minima(tolerance: float) -> Any:
    """After Vyasarayani, Uchida, Carvalho and McPhee (2011): 50 s of a pendulum, some 25 periods."""
    q = ap.coordinates("q")
    p = ap.parameters("p", positive=True)
    pendulum = ap.System([q], q.d**2 / 2, -p * cos(q), name="pendulum")
    rng, t = np.random.default_rng(6), np.linspace(0, 50, 5000)
    record = {"t": t, q: ap.simulate(pendulum, {q: np.pi / 6}, 50.0, {p: 10.0}, times=t)[q] + 0.05 * rng.normal(size=5000)}
    return ap.fit(pendulum, record, [p, q, q.d], {q: float(record[q][0])}, {p: 100 * rng.uniform()})


@problem("delay of a drive", "beginner/plot_estimate_time_delay", 1.0, "d")
def delay(tolerance: float) -> Any:
    q = ap.coordinates("q")
    F, w, d = ap.parameters("F w d", positive=True)
    drive = F * sin(w * (ap.t - d)) * Heaviside(ap.t - d)
    pendulum = ap.System([q], q.d**2, -9.81 * cos(q), {q: drive}, name="pendulum")
    rng, t, values = np.random.default_rng(123), np.linspace(0, 7.5, 800), {F: 0.25, w: 2.0, d: 1.0}
    record = {"t": t, q: ap.simulate(pendulum, {}, 7.5, values, times=t)[q] + 0.01 * rng.normal(size=800)}
    return ap.fit(pendulum, record, [F, w, d], {}, {F: 0.3, w: 1.7, d: 0.8}, bounds={F: (0.1, 0.5), w: (1, 3), d: (0.1, 2)})


@problem(
    "standing balance: eight gains", "advanced/plot_park2004", 950.0, "k1",
    "body of 75 kg after Winter in place of opty's, no noise inside the loop",
)  # fmt: skip
def balance(tolerance: float) -> Any:
    """A leg and a torso on a platform that is shaken; ankle and hip torques by feedback of all states."""
    a, h = ap.coordinates("a h")
    k = ap.parameters("k1 k2 k3 k4 k5 k6 k7 k8", positive=True)
    at = sum(0.02 * sin(2 * np.pi * n / 240 * ap.t + n) for n in (7, 11, 16, 25, 38, 61, 103))
    speed = at.diff(ap.t)
    leg = [speed - 0.5 * cos(a) * a.d, -0.5 * sin(a) * a.d]
    hip = [speed - 0.88 * cos(a) * a.d, -0.88 * sin(a) * a.d]
    torso = [hip[0] - 0.32 * cos(a + h) * (a.d + h.d), hip[1] - 0.32 * sin(a + h) * (a.d + h.d)]
    T = 12 * (leg[0] ** 2 + leg[1] ** 2) + 25.5 * (torso[0] ** 2 + torso[1] ** 2) + 0.6 * a.d**2 + 1.6 * (a.d + h.d) ** 2
    V = 9.81 * (24 * 0.5 * cos(a) + 51 * (0.88 * cos(a) + 0.32 * cos(a + h)))
    gains = [sum(g * s for g, s in zip(k[i : i + 4], (a, h, a.d, h.d), strict=True)) for i in (0, 4)]
    person = ap.System([a, h], T, V, {a: -gains[0], h: -gains[1]}, name="person")
    rng, t = np.random.default_rng(1), np.linspace(0, 20, 1000)
    true = dict(zip(k, (950.0, 175.0, 185.0, 50.0, 45.0, 290.0, 60.0, 26.0), strict=True))
    motion = ap.simulate(person, {}, 20.0, true, times=t)
    record = {"t": t} | {s: motion[s] + np.deg2rad(0.25) * rng.normal(size=1000) for s in (a, h, a.d, h.d)}
    return ap.fit(person, record, k, {}, {s: 0.9 * x for s, x in true.items()})
