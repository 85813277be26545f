"""Constraints, unit quaternions and energy over long runs.

Positions and velocities are projected to a relative residual of 1e-14; values of size 1e1 to 1e4 in the residual of a
thousand seconds leave 1e-10 as the bound that the issue asks for.
"""

from __future__ import annotations

import numpy as np
import pytest

from appell import zoo
from appell.backends.compiler.build import reason_against_c
from appell.simulate.simulate import simulate

LONG = 1000.0
needs_compiler = pytest.mark.skipif(bool(reason_against_c()), reason="a thousand seconds take minutes without a compiler")


@pytest.fixture(scope="module")
def disc():
    example = zoo.rolling_disc()
    arguments = (example.system, example.start, LONG, example.parameters)
    between = np.sort(np.random.default_rng(0).uniform(0, LONG, 3000))
    return simulate(*arguments, rtol=1e-9), simulate(*arguments, rtol=1e-9, times=between)


@needs_compiler
def test_rolling_disc_keeps_its_constraints_at_steps(disc):
    motion, _ = disc
    assert motion.ok and motion.t[-1] == LONG
    assert motion.drift.position < 1e-10 and motion.drift.velocity < 1e-10


@needs_compiler
def test_rolling_disc_keeps_its_constraints_between_steps(disc):
    steps, between = disc
    assert not np.isin(between.t, steps.t).any()
    assert between.drift.position < 1e-10 and between.drift.velocity < 1e-10
    later = steps.at(np.linspace(0.05, 999.95, 200))  # by the sampler of the motion, not by the run
    assert later.drift.position < 1e-10 and later.drift.velocity < 1e-10


@needs_compiler
def test_coarse_steps_are_projected_between_them_too():
    """At rtol 1e-4 the dense output alone misses the constraints by far more than 1e-10."""
    example = zoo.rolling_disc()
    times = np.sort(np.random.default_rng(1).uniform(0, 50, 500))
    motion = simulate(example.system, example.start, 50.0, example.parameters, rtol=1e-4, atol=1e-6, times=times)
    assert motion.statistics["largest_defect"] > 1e-9  # there is something to mend
    assert motion.drift.position < 1e-10 and motion.drift.velocity < 1e-10


@needs_compiler
def test_residuals_are_those_of_the_constraints_as_written(disc):
    """`drift` against the residuals evaluated from the user's expressions."""
    motion, _ = disc
    z, theta = motion.system.coordinates[2], motion.system.coordinates[4]
    radius = 0.5
    position = motion[z] - radius * np.cos(motion[theta])
    assert np.abs(position).max() == pytest.approx(motion.drift.position, rel=1e-6, abs=1e-15)
    rates = [motion[motion.system.total_derivative(motion.system.residuals[0])]]
    rates += [motion[f] for f in motion.system.residuals[1:]]
    assert np.abs(rates).max() == pytest.approx(motion.drift.velocity, rel=0.5, abs=1e-13)


@needs_compiler
def test_rolling_disc_keeps_its_energy(disc):
    for motion in disc:
        assert np.abs(motion.energy / motion.energy[0] - 1).max() < 1e-8
        assert np.abs(motion.energy_error).max() < 1e-8


@needs_compiler
def test_rolling_disc_in_pseudo_velocities_keeps_its_constraints():
    example = zoo.rolling_disc()
    motion = simulate(example.system, example.start, 100.0, example.parameters, rtol=1e-9, pseudo=example.pseudo)
    assert motion.drift.position < 1e-10 and motion.drift.velocity < 1e-10
    assert np.abs(motion.energy / motion.energy[0] - 1).max() < 1e-8


@needs_compiler
def test_four_bar_stays_closed():
    example = zoo.four_bar()
    motion = simulate(example.system, example.start, 200.0, example.parameters, rtol=1e-9)
    assert motion.ok
    assert motion.drift.position < 1e-10
    assert motion.drift.velocity < 1e-10 * np.abs(motion.v).max() * 10  # lengths of 7 m, rates above 10 rad/s
    assert np.abs(motion.energy_error).max() < 1e-8


@needs_compiler
def test_quaternion_stays_unit():
    example = zoo.heavy_top_quaternion()
    times = np.linspace(0, 200, 777)
    for motion in (
        simulate(example.system, example.start, 200.0, example.parameters, rtol=1e-9),
        simulate(example.system, example.start, 200.0, example.parameters, rtol=1e-9, times=times),
    ):
        assert np.abs(np.linalg.norm(motion.q, axis=1) - 1).max() < 1e-14
        assert np.abs(motion.energy_error).max() < 1e-7  # 200 s of a top at 12 rad/s, no constraint to help
    assert motion.at([0.123, 55.5]).drift.position < 1e-14


def test_python_loop_projects_too():
    example = zoo.rolling_disc()
    between = np.linspace(0, 2, 23)
    motion = simulate(example.system, example.start, 2.0, example.parameters, backend="vm", rtol=1e-6, times=between)
    assert motion.drift.position < 1e-12 and motion.drift.velocity < 1e-12
    assert motion.statistics["largest_defect"] > 1e-14  # there was something to mend


@pytest.mark.parametrize("method", ["cvodes", "idas"])
def test_stiff_methods_project_too(method):
    example = zoo.paraboloid()
    motion = simulate(example.system, example.start, 2.0, example.parameters, method=method, rtol=1e-8)
    assert motion.ok and motion.drift.position < 1e-12 and motion.drift.velocity < 1e-12
