"""Threads: every method in every documented way of running many; what is not made for threads is not shared between them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell.errors import Status
from appell.graph.sundials import make_stiff
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.loop.methods.method_table import methods

pytestmark = pytest.mark.compiler
THREADS = 4
k, m = ap.parameters("k m", positive=True)
STIFFNESSES = np.linspace(1.0, 4.0, 8)


def spring() -> ap.System:
    """A system of its own each time: what belongs to a system is made in the threads, too."""
    x = ap.coordinates("x")
    return ap.System([x], m * x.d**2 / 2, k * x**2 / 2, name="spring")


def pendulum() -> ap.System:
    """In Cartesian coordinates, with a multiplier: small swings have ω² = k/m, a length of 1."""
    x, y = ap.coordinates("x y")
    return ap.System([x, y], m * (x.d**2 + y.d**2) / 2, k * y, constraints=[ap.Constraint(x**2 + y**2 - 1, name="rod")])


def start_of(system: ap.System) -> dict[str, float]:
    return {"x": 1.0} if system.nq == 1 else {"x": np.sin(0.5), "y": -np.cos(0.5)}


@pytest.mark.parametrize(
    ("method", "make"),
    [*((method, spring) for method in methods() if method not in CONSERVING), ("cvodes", pendulum), ("idas", pendulum)],
)
def test_every_method_gives_the_same_in_threads_as_alone(method, make):
    system, alone = make(), make()
    threaded = ap.simulate_many(system, start_of(system), 0.5, {k: STIFFNESSES, m: 1.0}, method=method, threads=THREADS)
    single = ap.simulate_many(alone, start_of(alone), 0.5, {k: STIFFNESSES, m: 1.0}, method=method, threads=1)
    assert threaded.ok and (threaded["x"].values == single["x"].values).all()
    with ThreadPoolExecutor(THREADS) as pool:
        run = lambda value: ap.simulate(system, start_of(system), 0.5, {k: value, m: 1.0}, method=method, times=[0.5])
        motions = list(pool.map(run, STIFFNESSES))
    tolerance = 1e-5 if method == "idas" else 1e-6  # of the stiff methods, whose global error is some hundred rtol
    np.testing.assert_allclose([motion.q[-1, 0] for motion in motions], single["x"].values, atol=tolerance, rtol=0)


@pytest.mark.parametrize("method", CONSERVING)
def test_conserving_methods_give_the_same_in_threads_as_alone(method):
    system = pendulum()
    run = lambda value: ap.simulate(system, start_of(system), 0.5, {k: value, m: 1.0}, method=method, step=0.0125).q[-1]
    with ThreadPoolExecutor(THREADS) as pool:
        threaded = list(pool.map(run, STIFFNESSES))
    assert np.array_equal(threaded, [run(value) for value in STIFFNESSES])


@pytest.mark.parametrize("method", ["cvodes", "idas", "dop853"])
def test_workers_that_are_threads_of_one_process(method, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'appell[distributed]'")
    pytest.importorskip("zarr", reason="zarr is not installed: pip install 'appell[distributed]'")
    system = spring()
    before = list(warnings.filters)
    options = {"n_workers": 1, "threads_per_worker": THREADS, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        found = ap.sweep(
            system, {k: STIFFNESSES}, {"x": 1.0}, 0.5, {m: 1.0}, store=tmp_path / "a", chunk=1, method=method,
            client=client, threads=2,
        )  # fmt: skip
    np.testing.assert_allclose(found["x"], np.cos(0.5 * np.sqrt(STIFFNESSES)), atol=1e-6)
    assert [entry[:3] for entry in warnings.filters] == [entry[:3] for entry in before]


def test_no_two_threads_have_one_integrator():
    system = spring()
    ap.simulate(system, {"x": 1.0}, 0.1, {k: 1.0, m: 1.0}, method="cvodes")
    run = ap.compile(system, {k: 1.0, m: 1.0})
    stiff = make_stiff(run.flow().rhs, "cvodes", 1e-9, 1e-12, 1000)
    start = np.eye(run.flow().nz)[0]
    made, gate = [], threading.Barrier(THREADS)

    def own():
        integrators = make()
        made.append(integrators)
        return integrators

    make = stiff.make
    object.__setattr__(stiff, "make", own)

    def work(_):
        gate.wait()
        return stiff(0.0, 1.0, start, np.zeros(0), run.p).z[0]

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(work, range(THREADS)))
    np.testing.assert_allclose(found, np.cos(1.0), atol=1e-6)
    assert 1 <= len(made) <= THREADS and {id(one) for one in stiff.idle} == {id(one) for one in made}


@pytest.fixture
def heard():
    """Ctrl-C is heard: processes that run tests in parallel ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send there")
@pytest.mark.parametrize("method", ["cvodes", "idas"])
def test_ctrl_c_ends_a_stiff_run_with_its_own_reason(method, heard):
    system = spring()
    hard = {k: 1e14, m: 1.0}  # 1.6 million periods: minutes
    ap.simulate(system, {"x": 1.0}, 0.1, {k: 1.0, m: 1.0}, method=method)
    ap.simulate_many(system, {"x": 1.0}, 0.1, {k: 1.0, m: 1.0}, method=method, keep=[0.1])  # all is loaded before Ctrl-C comes

    def interrupted(action):
        """What an action does, and how long it goes on after Ctrl-C, s."""
        sent = []
        timer = threading.Timer(0.3, lambda: (sent.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT)))
        timer.start()
        try:
            return action()
        finally:
            timer.cancel()
            assert sent, "it was over before Ctrl-C came"

    with pytest.raises(KeyboardInterrupt):
        interrupted(lambda: ap.simulate(system, {"x": 1.0}, 1.0, hard, method=method, times=[1.0]))
    with pytest.warns(ap.AppellWarning, match="0 of 3 runs are done"):
        found = interrupted(lambda: ap.simulate_many(system, {"x": np.ones(3)}, 1.0, hard, method=method, keep=[1.0]))
    assert (found["status"] == Status.CANCELLED).all()


def test_steps_of_many_calls_are_one_budget():
    system = spring()
    with pytest.warns(ap.AppellWarning, match="step budget is spent"):
        motion = ap.simulate(system, {"x": 1.0}, 1.0, {k: 1e10, m: 1.0}, method="cvodes", times=[1.0], max_steps=5000)
    assert motion.status is Status.MAX_STEPS and 5000 <= motion.statistics["steps"] < 10_000
    motion = ap.simulate(system, {"x": 1.0}, 1.0, {k: 1e6, m: 1.0}, method="cvodes", times=[1.0])
    assert motion.status is Status.OK and motion.statistics["steps"] > 10_000  # more than one call makes
    np.testing.assert_allclose(motion.q[-1, 0], np.cos(1e3), atol=1e-4)


def test_the_source_changes_no_filter_of_warnings():
    """`warnings.catch_warnings` is shared by all threads of a process."""
    source = Path(ap.__file__).parent
    assert [p.name for p in source.rglob("*.py") if "catch_warnings()" in p.read_text(encoding="utf-8")] == []
