"""Ctrl-C and threads: every method ends when it is told to, for its own reason, and gives in threads what it gives alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import sympy
from tests.families.family import family

import appell as ap

x, y = ap.coordinates("x y")
k, m = ap.parameters("k m", positive=True)
SPRING = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, name="spring")
ROD = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, 9.81 * m * y, constraints=[ap.Constraint(x**2 + y**2 - k, "rod")])
FLOOR = ap.Unilateral(y, "floor", restitution=0.5)
RUBBING = ap.System(
    [x, y], m * (x.d**2 + y.d**2) / 2, 9.81 * m * y + 50 * k * x**2, {x: 3 * sympy.sin(7 * ap.t)},
    [FLOOR, ap.Friction(x.d, normal=FLOOR, coefficient=0.1, name="sole")], name="rubbing",
)  # fmt: skip
BALL = ap.System([y], m * y.d**2 / 2, 9.81 * m * y, {y: 20 * k * sympy.sin(9 * ap.t)}, [FLOOR], name="ball")
HARD, EASY = {k: 1e14, m: 1.0}, {k: 1.0, m: 1.0}
LATEST = 10.0  # s on a busy machine; a third of a second on a quiet one
LONG: dict[str, Any] = {"until": 1e6, "max_steps": 10**9}
RUNS: tuple[tuple[ap.System, dict[Any, float], dict[Any, float], dict[str, Any]], ...] = (
    (SPRING, {x: 1.0}, HARD, {"method": "cvodes", "until": 1.0, "times": [1.0]}),  # the one that was seen: 24 s more
    (SPRING, {x: 1.0}, HARD, {"method": "idas", "until": 1.0, "times": [1.0]}),
    (SPRING, {x: 1.0}, EASY, {"method": "radau", "max_step": 1e-4, **LONG}),
    (SPRING, {x: 1.0}, EASY, {"method": "radau", "max_step": 1e-4, "backend": "vm", **LONG}),
    (SPRING, {x: 1.0}, EASY, {"method": "conserving", "step": 1e-4, **LONG, "max_steps": 10**11}),
    (SPRING, {x: 1.0}, EASY, {"method": "conserving6", "step": 1e-4, "backend": "vm", **LONG, "max_steps": 10**11}),
    (SPRING, {x: 1.0}, EASY, {"method": "taylor", "max_step": 1e-4, **LONG}),
    (SPRING, {x: 1.0}, EASY, {"method": "dop853", "max_step": 1e-4, **LONG}),
    (ROD, {x: 0.0, y: -1.0, x.d: 1.0}, EASY, {"method": "dopri5", "max_step": 1e-4, **LONG}),
    (RUBBING, {x: 0.3}, EASY, LONG), (RUBBING, {x: 0.3}, EASY, {"backend": "vm", **LONG}),
    (BALL, {y: 1.0}, EASY, LONG), (BALL, {y: 1.0}, EASY, {"method": "radau", "backend": "vm", **LONG}),
    (SPRING, {x: 1.0}, EASY, {"stop": x - 5, **LONG}),
)  # fmt: skip


@family(count=len(RUNS), sample=(10,))
def ctrl_c_ends_a_run_of_any_method(seed: int) -> None:
    """Within the time of one call, as `KeyboardInterrupt`: not with another reason, and not swallowed."""
    if sys.platform == "win32":
        pytest.skip("no signals to send there")
    system, start, values, how = RUNS[seed]
    quick = {key: value for key, value in how.items() if key not in ("until", "times", "max_steps")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        ap.simulate(system, start, 1e-3, EASY, **quick)  # compiled before the clock runs
    sent: list[float] = []
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, lambda: (sent.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT)))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            ap.simulate(system, start, parameters=values, **how)
        assert time.perf_counter() - sent[0] < LATEST
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, usual)


IN_THREADS = """
import sys, warnings
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import appell as ap
warnings.simplefilter("ignore")
method, kind, how = sys.argv[1], sys.argv[2], eval(sys.argv[3])
x, y = ap.coordinates("x y")
k, m = ap.parameters("k m", positive=True)
rod = [ap.Constraint(x**2 + y**2 - 1, "rod")]
spring = lambda: ap.System([x], m*x.d**2/2, k*x**2/2)
swing = lambda: ap.System([x, y], m*(x.d**2 + y.d**2)/2, k*y, constraints=rod)
make, start = (spring, {x: 1.0}) if kind == "spring" else (swing, {x: np.sin(0.5), y: -np.cos(0.5)})
values, system = np.linspace(1.0, 4.0, 16), make()
one = lambda system, value: ap.simulate(system, start, 0.5, {k: value, m: 1.0}, method=method, **how).q[-1]
with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(lambda value: one(system, value), values))
alone = [one(make(), value) for value in values]
assert np.allclose(found, alone, rtol=0, atol=1e-6), "other numbers than alone"
if not how:
    many = [ap.simulate_many(make(), start, 0.5, {k: values, m: 1.0}, method=method, threads=n)["x"].values for n in (4, 1)]
    assert np.array_equal(*many), "four threads and one differ"
"""
STEP = {"step": 0.0125}
METHODS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("cvodes", "spring", {}),  # the one that was seen: the heap was corrupted, and the process died
    ("cvodes", "swing", {}), ("idas", "spring", {}), ("idas", "swing", {}), ("radau", "spring", {}), ("radau", "swing", {}),
    ("conserving", "spring", STEP), ("conserving", "swing", STEP), ("conserving6", "swing", STEP), ("taylor", "spring", {}),
    ("dop853", "swing", {}), ("dopri5", "spring", {}), ("dop853", "swing", {"backend": "vm"}),
    ("radau", "swing", {"backend": "vm"}), ("auto", "swing", {}),
)  # fmt: skip


@family(count=len(METHODS), sample=(12,))
def threads_share_nothing_that_is_not_made_for_them(seed: int) -> None:
    """A method in four threads, in a process of its own: it lives, and the numbers are those of one thread."""
    method, kind, how = METHODS[seed]
    source = str(Path(ap.__file__).parents[1])
    command = [sys.executable, "-c", IN_THREADS, method, kind, repr(how)]
    found = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source})
    assert found.returncode == 0, f"{method}: exit {found.returncode}: {found.stderr[-300:]}"
