"""One controller of steps: the loop in C, the loop in lanes and the loop in Python take the same steps."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, exp

import appell as ap
from appell.backends.compiler.build import reason_against_c
from appell.ensembles.lanes import Ensemble

x, y, a = ap.coordinates("x y a")
k, m, length = ap.parameters("k m length")
T = (x.d**2 + y.d**2) / 2 + m * a.d**2 / 2 + m * x.d * a.d * cos(a) / 3
V = 9.81 * y + k * (a - x) ** 2 / 2 - m * cos(a)
rod = ap.Constraint(x**2 + y**2 - length**2, name="rod")
pendulum = ap.System([x, y, a], T, V, constraints=[rod], name="pendulum and a wheel")


def drawn(runs):
    """(starts, parameters) on the rod, at random."""
    rng = np.random.default_rng(0)
    values = {k: rng.uniform(1, 30, runs), m: rng.uniform(0.3, 2, runs), length: rng.uniform(0.5, 2, runs)}
    angle, speed = rng.uniform(-1, 1, runs), rng.normal(size=runs)
    start = {x: values[length] * np.sin(angle), y: -values[length] * np.cos(angle), a: rng.normal(size=runs)}
    return start | {x.d: speed * np.cos(angle), y.d: speed * np.sin(angle), a.d: rng.normal(size=runs)}, values


@pytest.mark.skipif(reason_against_c() is not None, reason="no C compiler")
@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_c_lanes_and_python_take_the_same_steps(monkeypatch, method):
    """Error norm, sizes of the first and of the next steps and projections are the same decisions in three texts."""
    made, work, runs = [], Ensemble.work, 8
    monkeypatch.setattr(Ensemble, "counts", True)
    monkeypatch.setattr(Ensemble, "work", lambda self: made.append(self) or work(self))
    starts, values = drawn(runs)
    ap.simulate_many(pendulum, starts, 1.0, values, method=method, rtol=1e-8)
    of = lambda table, i: {symbol: float(numbers[i]) for symbol, numbers in table.items()}
    for i in range(runs):
        for backend in ("c", "vm") if i == 0 else ("c",):
            motion = ap.simulate(pendulum, of(starts, i), 1.0, of(values, i), method=method, rtol=1e-8, backend=backend)
            assert motion.statistics["steps"] == made[0].steps[i], (i, backend)
            np.testing.assert_allclose(motion.q[-1], made[0].z[i, :3], atol=1e-12)


@pytest.mark.skipif(reason_against_c() is not None, reason="no C compiler")
def test_refused_steps_are_the_same(monkeypatch):
    """Over flat ground steps grow; at a narrow hill some of them are refused, and taken again as long as their error says."""
    made, work = [], Ensemble.work
    monkeypatch.setattr(Ensemble, "counts", True)
    monkeypatch.setattr(Ensemble, "work", lambda self: made.append(self) or work(self))
    system, speeds = ap.System([x], x.d**2 / 2, exp(-400 * x**2) / 2), np.linspace(1.05, 2, 5)
    ap.simulate_many(system, {x: -1.0, x.d: speeds}, 2.0, method="dop853", rtol=1e-6)
    for i, speed in enumerate(speeds):
        for backend in ("c", "vm") if i == 0 else ("c",):
            motion = ap.simulate(system, {x: -1.0, x.d: float(speed)}, 2.0, method="dop853", rtol=1e-6, backend=backend)
            told = [motion.statistics[name] for name in ("steps", "rejected")]
            assert told == [made[0].steps[i], made[0].rejected[i]] and told[1] > 0, (i, backend)
            np.testing.assert_allclose(motion.q[-1], made[0].z[i, :1], atol=1e-5)
