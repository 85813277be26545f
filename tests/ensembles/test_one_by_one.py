"""Runs of an ensemble that are made one by one are those of `simulate`: the same steps, and the same reasons to doubt them."""

import numpy as np
import pytest
from sympy import cos

import appell as ap

x, y = ap.coordinates("x y")
m, c = ap.parameters("m c", positive=True)

@pytest.mark.parametrize("mass", [1e-12, 1.0, 1e6, 1e12])
def test_heavy_bodies_take_the_steps_of_simulate(mass):
    """A Coriolis force does no work in sum; rounding in its power must not shorten the steps, whatever the mass."""
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * (x**2 + y**2) / 2, {x: c * m * y.d, y: -c * m * x.d})
    start, values = {x: 1.0, y.d: 1.0}, {m: mass, c: 2.0}
    motion = ap.simulate(system, start, 10.0, values)
    runs = ap.simulate_many(system, {**start, x: [1.0, 1.0]}, 10.0, values, method="dop853", stop=x - 100, max_steps=1000)
    assert runs.ok and runs.attrs["path"].startswith("one by one")
    assert (runs["x"].values == motion[x][-1]).all()

def test_a_stiff_method_is_confirmed_by_a_second_run():
    """A fast oscillation with "cvodes": `simulate` doubts it, and so does the ensemble."""
    fast = ap.System([x], x.d**2 / 2, 1e6 * x**2 / 2)
    with pytest.warns(UserWarning, match="two runs of cvodes"):
        motion = ap.simulate(fast, {x: 1.0}, 1.0, method="cvodes", times=[1.0])
    assert not motion.ok
    runs = ap.simulate_many(fast, {x: [1.0, 2.0]}, 1.0, method="cvodes", keep=[1.0])
    assert not runs.ok and "2 of them doubtful" in runs.message
    assert all("two runs of cvodes" in str(text) for text in runs["message"].values)
    assert (runs["status"].values == ap.Status.OK).all()


def test_a_conserving_method_with_steps_too_long_is_doubted():
    """Energy is conserved whatever the step; its two halves tell."""
    pendulum = ap.System([x], x.d**2 / 2, -cos(x))
    options = {"method": "conserving", "step": 1.7}
    with pytest.warns(UserWarning, match="two halves"):
        assert not ap.simulate(pendulum, {x: 2.0}, 20.0, **options).ok
    runs = ap.simulate_many(pendulum, {x: [2.0, 1e-9]}, 20.0, **options)
    assert not runs.ok and "two halves" in str(runs["message"].values[0])


def test_a_run_with_friction_is_verified_as_simulate_verifies_it():
    """A block on a belt: nothing to doubt, and the states of single motions to the last bit."""
    belt = ap.System([x], x.d**2 / 2, 2 * x**2, constraints=[ap.Friction(x.d - 0.3, limit=0.5, name="belt")])
    runs = ap.simulate_many(belt, {x: np.linspace(0, 1, 5)}, 10.0)
    assert runs.ok and runs.message == "5 of 5 runs reached their end"
    for k, first in enumerate(np.linspace(0, 1, 5)):
        assert runs["x"].values[k] == ap.simulate(belt, {x: first}, 10.0, method="dop853")[x][-1]

def test_an_ensemble_with_a_doubtful_run_is_not_ok():
    """Steps far too long for Kepler's problem: the run ends anywhere, and its energy tells."""
    kepler = ap.System([x, y], (x.d**2 + y.d**2) / 2, -1 / (x**2 + y**2) ** 0.5)
    with pytest.warns(UserWarning, match="did not keep their energy"):
        runs = ap.simulate_many(kepler, {x: [1.0, 1.0], y.d: [1.0, 0.02]}, 3.0, step=0.05)
    assert not runs.ok and runs.message.startswith("2 of 2 runs reached their end (1 of them doubtful)")


def test_fixed_steps_one_by_one_name_their_method():
    """rk4 has lanes only: a run by itself takes the same steps by dop853, and the attributes say so."""
    x = ap.coordinates("x")
    spring = ap.System([x], x.d**2 / 2, 2 * x**2)
    lanes = ap.simulate_many(spring, {x: [1.0, 1.5]}, 5.0, step=0.3, method="rk4")
    alone = ap.simulate_many(spring, {x: [1.0, 1.5]}, 5.0, step=0.3, method="rk4", stop=x - 2)
    single = ap.simulate(spring, {x: 1.0}, 5.0, step=0.3, method="dop853")
    assert (lanes.attrs["method"], alone.attrs["method"]) == ("rk4", "dop853")
    assert float(alone["x"][0]) == pytest.approx(single.final[x], rel=1e-12)
    assert ap.simulate_many(spring, {x: [1.0]}, 5.0, step=0.3, method="dopri5", stop=x - 2).attrs["method"] == "dopri5"
