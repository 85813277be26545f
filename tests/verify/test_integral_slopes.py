"""First integrals along a motion and their slopes."""

import numpy as np
import pytest
from sympy import sqrt

import appell as ap
from appell.errors import ModelError

x, y = ap.coordinates("x y")
PLANET = ap.System([x, y], (x.d**2 + y.d**2) / 2, -1 / sqrt(x**2 + y**2))


def test_a_loose_run_drifts_in_energy_and_moment_of_momentum():
    motion = ap.simulate(PLANET, {x: 1.5, y.d: 0.5}, 200.0, rtol=1e-6, backend="vm")
    found = ap.integral_slopes(motion)
    assert [row.name for row in found.rows] == ["energy", "x*y.d - x.d*y"] and not found.ok and "energy" in found.message
    L = motion[x] * motion[y.d] - motion[y] * motion[x.d]
    row = found["x*y.d - x.d*y"]
    assert row.slope == pytest.approx(np.polyfit(motion.t, L, 1)[0], rel=0.05) and row.drifts and not row.enforced
    assert row.wander == pytest.approx(np.abs(L - L[0]).max())
    assert float(found.dataset["change"][1, -1]) == pytest.approx(L[-1] - L[0])


def test_what_oscillates_does_not_drift():
    motion = ap.simulate(PLANET, {x: 1.5, y.d: 0.5}, 200.0, rtol=1e-9, backend="vm", times=np.linspace(0, 200, 4001))
    found = ap.integral_slopes(motion, {"radius": sqrt(x**2 + y**2)})
    assert found["radius"].wander > 0.5 and not found["radius"].drifts and found.ok


def test_too_few_samples_and_unknown_names_are_refused():
    motion = ap.simulate(PLANET, {x: 1.5, y.d: 0.5}, 1.0, backend="vm", times=[0, 1])
    with pytest.raises(ModelError, match="2 samples, too few for a slope"):
        ap.integral_slopes(motion)
    with pytest.raises(ModelError, match="takes a motion"):
        ap.integral_slopes(PLANET)


def test_momenta_of_a_tree_are_found_without_its_kinetic_energy_in_symbols():
    """A cart on a rail with a pendulum: the momentum along the rail."""
    from appell.tree import Inertia, Joint, place

    bar = Inertia.at_centre(1.0, [0.2, 0, 0], np.diag([0.001, 0.02, 0.02]))
    rail = Joint("rail", "prismatic", axis=[1, 0, 0], body=bar)
    cart = [rail, Joint("arm", "revolute", "rail", place([0, 0, 0]), axis=[0, 1, 0], body=bar)]
    system = ap.Tree(cart, gravity=(0, 0, -9.81), name="cart").system()
    start = {system.velocities[0]: 0.4, system.velocities[1]: 1.0}
    for how, enforced in (({"method": "conserving", "step": 0.02}, True), ({"rtol": 1e-6}, False)):
        found = ap.integral_slopes(ap.simulate(system, start, 4.0, backend="vm", times=np.linspace(0, 4, 60), **how))
        assert [row.name for row in found.rows] == ["energy", "p[rail.d]"] and found["p[rail.d]"].enforced is enforced
        assert found["p[rail.d]"].wander < (1e-13 if enforced else 1e-4) and found["p[rail.d]"].start == 0.4 * 2
