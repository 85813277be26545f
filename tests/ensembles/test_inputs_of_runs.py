"""Sampled inputs of each run, `simulate_many(inputs=…, rate=…)`: against exact propagation, single runs, the kernel's text."""

import itertools
from importlib import import_module

import numpy as np
import pytest
from scipy.linalg import expm
from tests.backends.cuda.cuda_text import to_ptx
from tests.ensembles.test_kernel import on_cpu

import appell as ap
from appell.errors import ModelError

room = import_module("appell.ensembles.simulate_many")
x = ap.coordinates("x")
u, k = ap.parameters("u k")
f = ap.prescribed("f")
spring = ap.System([x], x.d**2 / 2, k * x**2 / 2, {x: u + f})
draw = np.random.default_rng(2)
U = draw.standard_normal((7, 10))
TIMES, ROAD = np.sort(np.append(draw.uniform(0, 1, 9), [0.0, 1.0])), draw.standard_normal(11)


def propagated(values, stiffness):
    """Every run from sample to sample: x, ẋ at t = 1 from rest, under u(t) + road(t)."""
    A = np.zeros((4, 4))
    A[:2, :3], A[2, 3] = [[0, 1, 0], [-stiffness, 0, 1]], 1.0
    knots, z = np.unique(np.append(TIMES, np.arange(11) / 10)), np.array([0.1, 0.0])
    for a, b in itertools.pairwise(knots):
        slope = (np.interp(b, TIMES, ROAD) - np.interp(a, TIMES, ROAD)) / (b - a)
        force = values[int((a + b) / 2 * 10)] + np.interp(a, TIMES, ROAD)
        z = (expm(A * (b - a)) @ np.append(z, [force, slope]))[:2]
    return z


def given(**more):
    return {k: np.linspace(1, 30, 7), f: ap.sampled(TIMES, ROAD), **more}


def test_each_run_has_its_inputs(tmp_path, monkeypatch):
    exact = np.array([propagated(values, stiffness) for values, stiffness in zip(U, np.linspace(1, 30, 7), strict=True)])
    for how, error in (({"rtol": 1e-10}, 1e-9), ({"step": 0.01}, 2e-7)):  # h⁴ω⁵/120 of rk4
        lanes = ap.simulate_many(spring, {x: 0.1}, 1.0, given(), inputs={u: U}, rate=10.0, **how)
        assert lanes.ok and lanes.attrs["path"] == "lanes"
        np.testing.assert_allclose(np.stack([lanes["x"], lanes["x_d"]], axis=1), exact, atol=error)
    one = ap.simulate_many(spring, {x: 0.1}, 1.0, given(), inputs={u: U}, rate=10.0, backend="vm")
    assert "one by one" in one.attrs["path"]
    np.testing.assert_allclose(one["x"], exact[:, 0], atol=1e-10)
    held = ap.sampled(np.arange(10) / 10, U[3], hold="zero")
    motion = ap.simulate(spring, {x: 0.1}, 1.0, {k: np.linspace(1, 30, 7)[3], f: ap.sampled(TIMES, ROAD), u: held})
    assert motion[x][-1] == pytest.approx(exact[3, 0], abs=1e-9)
    seen = []
    monkeypatch.setattr(room, "Ensemble", on_cpu(tmp_path, seen))
    kernel = ap.simulate_many(spring, {x: 0.1}, 1.0, given(), inputs={u: U}, rate=10.0, step=0.01, threads=1)
    np.testing.assert_allclose(kernel["x"], exact[:, 0], atol=2e-7)
    assert b"appell_many_kernel" in to_ptx(seen[0])


def test_one_row_is_for_all_runs():
    runs = ap.simulate_many(spring, {x: [0.1, 0.1]}, 1.0, {k: 4.0, f: 0}, inputs={u: U[0]}, rate=10.0, step=0.01)
    assert runs["x"].values[0] == runs["x"].values[1]


REFUSED = {
    "runs": ({"inputs": {u: U, "k": U[:3]}, "rate": 10.0}, r"one number of runs \(u: \(7, 10\), k: \(3, 10\)\)"),
    "steps": ({"inputs": {u: U, "k": U[:, :3]}, "rate": 10.0}, "one number of steps"),
    "starts": ({"inputs": {u: U}, "rate": 10.0, "start": {x: [1.0, 2.0]}, "parameters": {k: 1.0, f: 0}}, "x: 2, inputs=: 7"),
    "until": ({"inputs": {u: U}, "rate": 20.0}, "values over 0 … 0.5 s; a run needs t = 1"),
    "gap": ({"inputs": {u: np.where(U[2, 1] == U, np.nan, U)}, "rate": 10.0}, "not finite in run 2, step 1"),
    "shape": ({"inputs": {u: 1.0}, "rate": 10.0}, r"shape \(\); they are \(runs, steps\)"),
    "rate": ({"inputs": {u: U}}, "give rate="),
    "no inputs": ({"rate": 10.0}, "give inputs="),
    "unknown": ({"inputs": {u: U, "w": U}, "rate": 10.0}, "'w', which is not a parameter"),
    "twice": ({"inputs": {u: U}, "rate": 10.0, "parameters": given(u=1.0)}, "by parameters= and by inputs="),
    "backwards": ({"inputs": {u: U}, "rate": 10.0, "since": 0.5, "until": 0.0}, "run forwards"),
    "product": ({"inputs": {u: U}, "rate": 10.0, "product": True}, "product=True"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_run_is_refused(case):
    how, why = REFUSED[case]
    with pytest.raises(ModelError, match=why):
        ap.simulate_many(spring, **{"start": {x: 0.1}, "until": 1.0, "parameters": given(), **how})


def test_what_was_compiled_takes_inputs_too():
    run = ap.compile(spring, {k: 4.0, f: ap.sampled(TIMES, ROAD), u: 0.0})
    runs = ap.simulate_many(run, {x: 0.1}, 1.0, inputs={u: U}, rate=10.0, step=0.01)
    assert runs["x"].values == pytest.approx([propagated(values, 4.0)[0] for values in U], abs=2e-7)
