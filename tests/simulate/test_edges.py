"""What a run says at its edges: other times, tolerances, starts that are not finite, controls that run away, stiff methods."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sympy import cos

import appell as ap
from appell.errors import ModelError, SimulationError

x, y, theta = ap.coordinates("x y theta")
u = ap.parameters("u")
PENDULUM = ap.System([theta], theta.d**2 / 2, -9.81 * cos(theta), name="pendulum")
ROD = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[x**2 + y**2 - 1], name="rod")


def test_a_time_outside_is_told_apart_from_the_end():
    motion = ap.simulate(PENDULUM, {theta: 1.0}, 1.0, backend="vm")
    with pytest.raises(ModelError, match=r"t = 1\.0000001\d* is outside the run from 0 to 1 s"):
        motion.at(1.0000001)


@pytest.mark.parametrize(
    "option", [{"rtol": -1e-6}, {"rtol": 0}, {"atol": 0.0}, {"max_step": -1}, {"atol": "small"}, {"rtol": np.nan}]
)
def test_tolerances_are_positive(option):
    with pytest.raises(ModelError, match=f"{next(iter(option))}= must be"):
        ap.simulate(PENDULUM, {}, 1.0, backend="vm", **option)


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_a_start_without_energy_warns_once_in_its_own_words(backend):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.warns(ap.AppellWarning, match="not finite"):
            motion = ap.simulate(ap.System([x], x.d**2 / 2, 1 / x), {}, 1.0, backend=backend)
        assert not motion.ok and np.isnan(motion.energy_error).all() and "nan" in str(motion.verify())


@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-9])
def test_idas_keeps_on_and_prints_nothing(rtol, capfd):
    motion = ap.simulate(ROD, {x: 1.0}, 5.0, method="idas", rtol=rtol, atol=rtol / 1000)
    exact = ap.simulate(ROD, {x: 1.0}, 5.0, rtol=1e-12)
    assert motion.ok and abs(motion.final[x] - exact.final[x]) < 1e3 * rtol
    assert capfd.readouterr() == ("", "")


def test_idas_refuses_redundant_rows(capfd):
    twice = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[x**2 + y**2 - 1, 2 * x**2 + 2 * y**2 - 2])
    with pytest.raises(ModelError, match=r"redundant ones .* not unique; drop those, or use method='dop853'"):
        ap.simulate(twice, {x: 1.0}, 1.0, method="idas")
    assert capfd.readouterr() == ("", "")


def test_a_remedy_is_one_that_can_be_taken():
    stuck = {"max_steps": 10, "backend": "vm"}
    with pytest.warns(ap.AppellWarning, match="if the system is stiff, use method='radau'"):
        ap.simulate(PENDULUM, {theta: 1.0}, 10.0, **stuck)
    walled = ap.System([x], x.d**2 / 2, x**4, constraints=[ap.Unilateral(x, "floor")])
    with pytest.warns(ap.AppellWarning) as found:
        ap.simulate(walled, {x: 1.0}, 10.0, **stuck)
    assert "max_steps" in str(found[0].message) and "method='radau'" in str(found[0].message)  # which has walls, too


def test_a_control_that_runs_away_is_stopped():
    """Twice too large a gain for the rate: each reading doubles the speed and turns it round."""
    system = ap.System([theta, y], theta.d**2 / 2 + (2 + cos(theta)) * y.d**2 / 2, 0, {theta: u})
    with pytest.raises(SimulationError, match="runs away under its control") as error:
        ap.simulate(system, {theta.d: 1.0, y.d: 1.0}, 60.0, control=lambda t, q, v: {u: -v[0] * 60}, rate=20.0)
    motion = error.value.motion
    assert 1e3 < np.abs(motion[theta.d]).max() < 1e6 and len(motion) < 100_000


def test_many_steps_between_readings_are_no_sign_by_themselves():
    """A fast oscillator read once in a while, at rest before: neither steps nor speed grow without bound."""
    fast = ap.System([x], x.d**2 / 2, 5000 * x**2, {x: u})
    motion = ap.simulate(fast, {}, 8.0, control=lambda t, q, v: {u: 1.0 if t > 3.5 else 0.0}, rate=1.0, rtol=1e-10)
    assert motion.ok and len(motion.readings) == 8


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_loaded_motion_has_other_times(tmp_path, suffix):
    motion = ap.simulate(PENDULUM, {theta: 1.0}, 3.0, max_step=0.05, backend="vm")
    loaded = ap.load(motion.save(tmp_path / f"motion{suffix}"))
    times = [0.123, 2.9, 1.5, 3.0, 0.0]
    there, exact = loaded.at(times), motion.at(times)
    assert there[theta] == pytest.approx(exact[theta], abs=1e-9) and there[theta.d] == pytest.approx(exact[theta.d], abs=1e-5)
    assert there.notes[-1].kind == "interpolated" and there.energy == pytest.approx(exact.energy, abs=1e-3)
    at_samples = loaded.at(motion.t)
    assert np.array_equal(at_samples[theta], motion[theta]) and np.array_equal(at_samples.t, motion.t)
    with pytest.raises(ModelError, match=r"3\.1\d* is outside the samples from 0 to 3 s"):
        loaded.at(3.1)


def test_a_loaded_motion_does_not_pass_an_impact_between_samples(tmp_path):
    """With `keep=` or `times=` the file has no sample at an impact; its steps have two, and between them it is exact."""
    height = ap.coordinates("y")
    floor = ap.Unilateral(height, "floor", restitution=0.5)
    ball = ap.System([height], height.d**2 / 2, 9.81 * height, constraints=[floor])
    few = ap.simulate(ball, {height: 1.0}, 3.0, times=[0.0, 0.1, 1.0, 3.0], backend="vm")
    loaded = ap.load(few.save(tmp_path / "few.nc"))
    with pytest.raises(ModelError, match=r"impact or a reset at t = 0\.4515\d* between the samples at 0\.1 and 1 s"):
        loaded.at(0.4)
    assert loaded.at(0.05)[height][0] == pytest.approx(1 - 9.81 * 0.05**2 / 2, abs=1e-14)
    motion = ap.simulate(ball, {height: 1.0}, 3.0, backend="vm")
    times = np.linspace(0, 3, 200)
    every = ap.load(motion.save(tmp_path / "every.nc")).at(times)
    assert every.ok and every[height] == pytest.approx(motion.at(times)[height], abs=1e-12)


def test_samples_of_a_file_that_are_too_far_apart_are_doubted(tmp_path):
    """cos t through its values, rates and accelerations every 5 s is wrong by 0.24; every 0.3 s by 1e-9."""
    swing = ap.System([x], x.d**2 / 2, x**2 / 2)
    motion = ap.simulate(swing, {x: 1.0}, 50.0, times=np.linspace(0, 50, 11), backend="vm")
    with pytest.warns(ap.AppellWarning, match="too far apart"):
        assert not ap.load(motion.save(tmp_path / "far.nc")).at(np.linspace(0, 50, 99)).ok
    motion = ap.simulate(swing, {x: 1.0}, 50.0, times=np.linspace(0, 50, 161), backend="vm")
    assert ap.load(motion.save(tmp_path / "near.nc")).at(np.linspace(0, 50, 99)).ok
