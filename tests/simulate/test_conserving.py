"""Conserving methods: their orders, energy and rows over many steps, and what they refuse."""

import numpy as np
import pytest
from sympy import cos

import appell as ap
from appell.errors import FormNotApplicable, ModelError
from appell.simulate.methods.gauss_legendre import CONSERVING

x, y = ap.coordinates("x y")
SWING = ap.System([x], x.d**2 / 2, -cos(x))


@pytest.mark.parametrize("name", CONSERVING)
def test_the_order_is_that_of_gauss(name):
    exact = ap.simulate(SWING, {x: 1.0}, 2.0, rtol=1e-13, atol=1e-14)[x][-1]
    off = [abs(ap.simulate(SWING, {x: 1.0}, 2.0, method=name, step=2.0 / n)[x][-1] - exact) for n in (6, 12)]
    assert np.log2(off[0] / off[1]) == pytest.approx(CONSERVING[name].order, abs=0.7)


def test_a_hundred_thousand_swings_keep_their_energy_through_every_turning_point():
    motion = ap.simulate(SWING, {x: 2.0}, 10_000.0, method="conserving", step=0.1, times=np.linspace(0, 10_000, 801))
    assert motion.ok and np.abs(motion.energy_error).max() < 1e-13 * motion.energy_scale


@pytest.mark.parametrize("name", ["n_pendulum", "four_bar", "rolling_disc"])
def test_energy_and_rows_stay_at_rounding(name):
    example = ap.zoo.ALL[name]()
    motion = ap.simulate(
        example.system, example.start, 10.0, example.parameters, method="conserving", step=0.01, times=np.linspace(0, 10, 51)
    )
    assert motion.ok and np.abs(motion.energy_error).max() < 1e-12 * motion.energy_scale
    assert motion.drift.position < 1e-12 and motion.drift.velocity < 1e-11


def test_both_loops_take_the_same_steps():
    runs = [ap.simulate(SWING, {x: 1.0}, 3.0, method="conserving", step=0.1, backend=b) for b in ("auto", "vm")]
    assert runs[0][x] == pytest.approx(runs[1][x], abs=1e-13)


def test_with_a_force_the_energy_follows_its_work():
    pushed = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -x.d / 10 + cos(ap.t)})
    motion = ap.simulate(pushed, {x: 1.0}, 10.0, method="conserving", step=0.02, backend="vm")
    other = ap.simulate(pushed, {x: 1.0}, 10.0, backend="vm", rtol=1e-10)
    assert motion.work[0] == 0 and np.abs(motion.balance).max() < 1e-12
    assert motion[x][-1] == pytest.approx(other[x][-1], abs=1e-6) and motion.work[-1] == pytest.approx(other.work[-1], abs=1e-6)


def test_what_it_cannot_do_is_refused_by_name():
    with pytest.raises(ModelError, match="takes steps of one size: give step="):
        ap.simulate(SWING, {}, 1.0, method="conserving")
    walled = SWING.replace(constraints=[ap.Unilateral(x, name="stop")])
    with pytest.raises(ModelError, match=r"does not locate impacts and sticking \('stop'\)"):
        ap.simulate(walled, {x: 1.0}, 1.0, method="conserving", step=0.1)
    driven = ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(x.d - y.d - 1, name="belt")])
    with pytest.raises(FormNotApplicable, match=r"homogeneous in the velocities .* 'belt' is none"):
        ap.simulate(driven, {x.d: 1.0}, 1.0, method="conserving", step=0.1)


def test_a_step_that_is_too_long_for_its_iteration_says_so():
    stiff = ap.System([x], x.d**2 / 2, 500 * x**2)
    with pytest.warns(UserWarning, match="stages of a step of this size do not converge"):
        ap.simulate(stiff, {x: 1.0}, 1.0, method="conserving", step=0.5, backend="vm")
