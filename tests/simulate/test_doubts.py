"""A motion is doubtful where its balance or its residuals are far above what its tolerances explain, and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sympy import cos

import appell as ap
from appell import zoo
from appell.simulate.doubts import doubts_of

x, y, phi = ap.coordinates("x y phi")


def pendulum():
    system = ap.System([phi], kinetic=phi.d**2 / 2, potential=-cos(phi))
    return ap.simulate(system, {phi: 1.0}, 5.0, backend="vm")


def test_a_broken_balance_is_a_doubt():
    motion = pendulum()
    assert motion.ok and motion.doubts == ()
    broken = replace(motion, v=motion.v * np.linspace(1, 1.1, len(motion.t))[:, None])
    (doubt,) = doubts_of(broken, fixed_step=False)
    assert "energy balance is off" in doubt
    assert doubts_of(replace(motion, v=1.01 * motion.v), fixed_step=True) == ()  # a step has no tolerance
    assert not replace(broken, doubts=(doubt,)).ok


def test_a_step_that_jumps_a_singularity_is_a_doubt():
    """Straight into the centre of 1/x², and out again anywhere."""
    fall = ap.System([x], kinetic=x.d**2 / 2, potential=-1 / x)
    with pytest.warns(ap.AppellWarning, match="jumped a singularity"):
        motion = ap.simulate(fall, {x: 1.0}, 3.0, step=0.01, backend="vm")
    assert not motion.ok and "energy balance is off" in motion.doubts[0]


def test_a_broken_constraint_is_a_doubt():
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=y, constraints=[x**2 + y**2 - 1])
    motion = ap.simulate(system, {x: 1.0}, 2.0, backend="vm")
    assert motion.ok
    (doubt,) = doubts_of(replace(motion, q=motion.q * 1.001), fixed_step=True)
    assert "constraints are violated" in doubt


@pytest.mark.parametrize("rtol", [1e-4, 1e-13])
@pytest.mark.parametrize("name", ["four_bar", "rolling_disc", "grioli", "pendulum"])
def test_no_false_alarm(name, rtol):
    example = zoo.ALL[name]()
    motion = ap.simulate(example.system, example.start, 2.0, example.parameters, rtol=rtol, atol=rtol / 1000, backend="vm")
    assert motion.ok


@pytest.mark.parametrize("options", [{"step": 0.3}, {"method": "cvodes"}, {"method": "taylor"}, {"method": "dopri5"}])
def test_no_false_alarm_whatever_the_method(options):
    system = ap.System([phi], kinetic=phi.d**2 / 2, potential=-cos(phi))
    assert ap.simulate(system, {phi: 1.0}, 5.0, backend="vm", **options).ok
