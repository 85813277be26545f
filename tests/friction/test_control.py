"""Friction under a control, at asked times, and by other methods."""

import numpy as np
import pytest
from sympy import Rational

import appell as ap

x = ap.coordinates("x")
F = ap.parameters("F")


def pushed():
    """A body of 1 kg with dry friction of 1/2 N, pushed by F."""
    pad = ap.Friction(x.d, limit=Rational(1, 2), name="pad")
    return ap.System([x], x.d**2 / 2, forces={x: F}, constraints=[pad])


def test_a_control_that_pushes_and_lets_go():
    """F = 1 N for 1 s, then none: it slides with a = 1/2, then −1/2, and stays at x = 1/2 from t = 2 on."""
    control = lambda t, q, v: {F: 1.0 if t < 1 - 1e-9 else 0.0}
    motion = ap.simulate(pushed(), {}, until=3, control=control, rate=10.0, rtol=1e-11)
    assert motion.ok and [p.state for p in motion.phases] == ["slip", "stick"]
    assert motion.phases[1].start == pytest.approx(2, abs=1e-10) and motion[x][-1] == pytest.approx(0.5, abs=1e-10)
    assert motion.dissipated[-1] == pytest.approx(0.25, abs=1e-10)
    assert motion.reaction("pad")[[0, -1]] == pytest.approx([-0.5, 0], abs=1e-10)
    assert motion.at([0.55, 1.55])[x.d] == pytest.approx([0.275, 0.225], abs=1e-9)


def test_asked_times_and_the_other_pair():
    start, times = {x.d: 1}, np.array([0.0, 0.5, 1.999999, 2.0, 3.0])
    for method in ("dop853", "dopri5"):
        motion = ap.simulate(pushed(), start, until=3, parameters={F: 0}, times=times, method=method)
        assert motion[x.d] == pytest.approx(np.maximum(1 - times / 2, 0), abs=1e-8)
        assert motion.at([2.5, 0.25])[x.d] == pytest.approx([0, 0.875], abs=1e-8)


def test_a_regularised_law_for_stiff_methods():
    pad = ap.Friction(x.d, limit=Rational(1, 2), regularise=Rational(1, 10000), name="pad")
    smooth = pushed().replace(constraints=[pad])
    with pytest.raises(ap.ModelError, match="in_mode"):
        ap.simulate(smooth, {x.d: 1}, until=3, parameters={F: 0.2}, method="cvodes")
    motion = ap.simulate(smooth.in_mode({"pad": "slip"}), {x.d: 1}, until=5, parameters={F: 0.2}, method="cvodes", rtol=1e-8)
    exact = ap.simulate(pushed(), {x.d: 1}, until=5, parameters={F: 0.2})
    assert abs(motion[x][-1] - exact[x][-1]) < 1e-3 and abs(motion[x.d][-1]) < 1e-3


def test_time_runs_forward():
    with pytest.raises(ap.ConstraintError, match="forward"):
        ap.simulate(pushed(), {}, until=-1, parameters={F: 0})
