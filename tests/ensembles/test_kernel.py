"""The kernel of ensembles: accepted by NVRTC, and, as C++ on the CPU, run by run what the lanes of vectors give."""

import ctypes
from importlib import import_module
from types import SimpleNamespace

import cffi
import numpy as np
import pytest
import sympy
from tests.backends.cuda.cuda_text import on_host, to_ptx

import appell as ap
from appell import zoo
from appell.backends.cuda.device import reason_against
from appell.ensembles.cuda import kernel_text
from appell.ensembles.lane_program import CDEF
from appell.ensembles.lanes import Ensemble, bends_of, stops_of
from appell.ensembles.methods import tableau_named
from appell.ensembles.walls import wall_functions
from appell.errors import BackendUnavailable

room = import_module("appell.ensembles.simulate_many")
x, y = ap.coordinates("x y")


def on_cpu(folder, seen):
    """An `Ensemble` whose loop is the kernel's text, compiled as C++."""

    class OnCpu(Ensemble):
        def load(self, run, order):
            walls = wall_functions(run, self.motion)
            stops = stops_of(self.branches, order)
            bends = bends_of(run, self.motion)
            text = kernel_text(self.motion, tableau_named(order.method), self.watch, walls, order.scalar, stops, bends)
            seen.append(text)
            self.kernel = on_host(text, folder).appell_many_kernel
            ffi = cffi.FFI()
            ffi.cdef(CDEF)
            return SimpleNamespace(ffi=ffi)

        def work(self):
            self.kernel(ctypes.c_void_p(int(self.library.ffi.cast("intptr_t", self.struct))))

    return OnCpu


CASES = {
    "pendulum, fixed": ("n_pendulum", {"step": 2e-3}, {}),
    "pendulum, adaptive": ("n_pendulum", {"rtol": 1e-8}, {"keep": [0.1, 0.2, 0.3]}),
    "constraints": ("skate", {"rtol": 1e-9}, {}),
    "quaternion": ("rolling_disc", {"rtol": 1e-8}, {}),
    "single precision": ("n_pendulum", {"step": 1e-3, "dtype": np.float32}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_kernel_makes_the_runs_of_the_lanes(case, tmp_path, monkeypatch):
    name, how, more = CASES[case]
    example = zoo.ALL[name]()
    speed = example.system.velocities[0]
    near = ({**example.start, speed: float(example.start.get(speed, 0.0)) + d} for d in np.linspace(0, 0.3, 5))
    near = [ap.consistent(example.system, start, parameters=example.parameters) for start in near]
    starts = {key: np.array([start[key] for start in near]) for key in near[0]}
    arguments = (example.system, starts, 0.4, example.parameters)
    lanes = ap.simulate_many(*arguments, **how, **more).dataset
    seen = []
    monkeypatch.setattr(room, "Ensemble", on_cpu(tmp_path, seen))
    kernel = ap.simulate_many(*arguments, threads=1, **how, **more).dataset
    assert seen and (kernel.status.values == lanes.status.values).all() and (lanes.status == 0).sum() >= 3
    tolerance = 1e-5 if "dtype" in how else 1e-9
    for variable in lanes.data_vars:
        if lanes[variable].dtype.kind == "f":
            np.testing.assert_allclose(kernel[variable].values, lanes[variable].values, rtol=tolerance, atol=tolerance)
    assert b"appell_many_kernel" in to_ptx(seen[0])


def test_states_of_first_order(tmp_path, monkeypatch):
    """A motor's current: kernel, lanes and single runs are one."""
    i = ap.states("i")
    motor = ap.System([x], x.d**2 / 200, forces={x: i / 2 - x.d / 50}, rates={i: (6 - 2 * i - x.d / 2) * 20})
    currents = np.linspace(0, 3, 5)
    arguments = (motor, {x.d: 1.0, i: currents}, 0.4)
    lanes = ap.simulate_many(*arguments, rtol=1e-9).dataset
    seen = []
    monkeypatch.setattr(room, "Ensemble", on_cpu(tmp_path, seen))
    kernel = ap.simulate_many(*arguments, threads=1, rtol=1e-9).dataset
    single = [ap.simulate(motor, {x.d: 1.0, i: start}, 0.4, rtol=1e-11, backend="vm") for start in currents]
    for name, key in (("x", x), ("i", i), ("x_d", x.d)):
        np.testing.assert_allclose(kernel[name].values, lanes[name].values, rtol=1e-9)
        np.testing.assert_allclose(lanes[name].values, [motion[key][-1] for motion in single], rtol=1e-7)
    assert b"appell_many_kernel" in to_ptx(seen[0])


@pytest.mark.parametrize("how", [{"rtol": 1e-9}, {"step": 0.3}], ids=["adaptive", "fixed"])
@pytest.mark.parametrize("wall", [False, True], ids=["free", "wall"])
def test_breaks(how, wall, tmp_path, monkeypatch):
    """Each run has pulses at times of its own: v = F Δt after them, and the wall is far away."""
    begins, size = ap.parameters("begins size", positive=True)
    push = sympy.Piecewise((size, sympy.Mod(ap.t - begins, 10) < sympy.Rational(1, 100)), (0, True))
    walls = [ap.Unilateral(x + 1, "wall", 0.9)] if wall else []
    system = ap.System([x], x.d**2 / 2, 0, {x: push}, walls)
    begin, strength = np.linspace(1, 9, 5), np.linspace(1, 100, 5)
    arguments = (system, {x: np.zeros(5)}, 25.0, {begins: begin, size: strength})
    seen = []
    monkeypatch.setattr(room, "Ensemble", on_cpu(tmp_path, seen))
    kernel = ap.simulate_many(*arguments, threads=1, **how).dataset
    pushes = np.array([sum(b + 10 * k < 25 for k in range(3)) for b in begin])
    assert seen and (kernel.status == 0).all() and kernel.attrs["path"] == "lanes"
    np.testing.assert_allclose(kernel.x_d.values, strength * pushes / 100, rtol=1e-11)
    assert b"appell_many_kernel" in to_ptx(seen[0])


@pytest.mark.parametrize("how", [{"rtol": 1e-9}, {"step": np.pi / 64}], ids=["adaptive", "fixed"])
def test_walls(how, tmp_path, monkeypatch):
    force = {x: -x.d / 10 + sympy.cos(2 * ap.t)}
    system = ap.System([x], x.d**2 / 2, x**2 / 2, force, [ap.Unilateral(x + 0.3, "wall", 0.9)])
    arguments = (system, {x: np.linspace(-0.2, 1, 7), x.d: 0.3}, 2 * np.pi)
    lanes, seen = ap.simulate_many(*arguments, **how).dataset, []
    monkeypatch.setattr(room, "Ensemble", on_cpu(tmp_path, seen))
    kernel = ap.simulate_many(*arguments, threads=1, **how).dataset
    assert seen and lanes.attrs["path"] == "lanes" and (kernel.status == 0).all()
    np.testing.assert_allclose(kernel.x.values, lanes.x.values, atol=1e-10)
    assert (kernel.x > -0.3).all() and b"appell_many_kernel" in to_ptx(seen[0])


def test_landings_end_in_single_precision():
    """Late times have few digits: a landing that cannot be met more exactly is met."""
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -x.d / 10 + sympy.cos(2 * ap.t)}, [ap.Unilateral(x + 0.3, "wall", 0.9)])
    starts = {x: np.linspace(0.2, 1, 16)}
    one, other = (ap.simulate_many(system, starts, 30.0, step=np.pi / 64, since=s, dtype=np.float32).dataset for s in (0.0, 0))
    assert (one.status == 0).all() and (one.x == other.x).all() and (one.x >= -0.301).all()


def test_reductions_and_sections(tmp_path, monkeypatch):
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, x**2 / 2 + y**2 + x**2 * y / 3)
    starts = {x: 0.3, x.d: np.linspace(0.1, 0.4, 6), y: 0.1}
    keeps = {"top": ap.reduce.max(x), "mean": ap.reduce.mean(y**2), "first": ap.reduce.first_crossing(x)}
    for keep in (keeps, ap.reduce.section(y, count=4)):
        lanes = ap.simulate_many(system, starts, until=20.0, rtol=1e-9, keep=keep).dataset
        seen = []
        with monkeypatch.context() as patch:
            patch.setattr(room, "Ensemble", on_cpu(tmp_path, seen))
            kernel = ap.simulate_many(system, starts, until=20.0, rtol=1e-9, keep=keep, threads=1).dataset
        assert seen
        for variable in lanes.data_vars:
            if lanes[variable].dtype.kind == "f":
                np.testing.assert_allclose(kernel[variable].values, lanes[variable].values, rtol=1e-6, atol=1e-8)


@pytest.mark.skipif(reason_against() is None, reason="there is a GPU")
def test_without_a_gpu_the_reason_is_said():
    with pytest.raises(BackendUnavailable, match=r"cuda.*(CuPy|GPU)"):
        ap.simulate_many(ap.System([x], x.d**2 / 2, x**2 / 2), {x: np.ones(3)}, until=1.0, step=0.1, backend="cuda")
