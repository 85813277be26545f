"""Motions, runs, equations and functions of trees travel: what arrives does the same."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sympy import cos

import appell as ap
from appell import zoo
from appell.tree import ChainLink

x, y = ap.coordinates("x y")
u, g = ap.parameters("u g")
T = (x.d**2 + y.d**2) / 2


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def rod():
    return ap.simulate(ap.System([x, y], T, g * y, constraints=[x**2 + y**2 - 1]), {x: 1}, 1.0, {g: 9.81}, backend="vm")


def ball():
    floor = ap.Unilateral(y, "floor", restitution=0.5)
    return ap.simulate(ap.System([y], y.d**2 / 2, 10 * y, constraints=[floor]), {y: 1}, 2.0, backend="vm")


def controlled():
    answer = lambda t, q, v: {u: -v[0] - q[0]}
    return ap.simulate(ap.System([x], x.d**2 / 2, forces={x: u}), {x: 1}, 1.0, control=answer, rate=20.0, backend="vm")


def pseudo():
    system = ap.System([x, y], T, constraints=[x.d - y * y.d])
    return ap.simulate(system, {y: 1, x.d: 1, y.d: 1}, 1.0, pseudo={"w": y.d}, backend="vm")


def stiff():
    return ap.simulate(ap.System([x], x.d**2 / 2, cos(x)), {x: 1}, 1.0, method="cvodes", backend="vm")


def sampled():
    system, push = ap.System([x], x.d**2 / 2, forces={x: u}), ap.sampled([0, 0.4, 1], [0, 1, -1])
    return ap.simulate(system, {x: 1}, 1.0, {u: push}, backend="vm")


@pytest.mark.parametrize("make", [rod, ball, controlled, pseudo, stiff, sampled])
def test_motions(make):
    motion = make()
    _ = motion.energy, motion.acceleration, motion.dataset  # what follows from the samples is not in the way
    there = again(motion)
    assert there.status is motion.status and there.message == motion.message and there.notes == motion.notes
    assert (there.q == motion.q).all() and np.array_equal(there.acceleration, motion.acceleration)
    times = np.linspace(0.05, 0.95, 7)
    assert np.abs(there.at(times).q - motion.at(times).q).max() < 1e-12
    assert [str(one) for one in there.impacts] == [str(one) for one in motion.impacts]
    assert again(there).final == motion.final == copy.deepcopy(motion).final


@pytest.mark.parametrize("backend", ["vm", "auto"])
def test_runs(backend):
    run = ap.compile(ap.System([x, y], T, g * y, constraints=[x**2 + y**2 - 1]), {g: 9.81}, backend=backend)
    for one in (run, again(run)):
        a, lam = again(one).acceleration(0.0, np.array([1.0, 0.0]), np.array([0.0, 2.0]))
        assert a == pytest.approx([-4, -9.81]) and lam == pytest.approx([-2])


@pytest.mark.parametrize("form", ["lagrange", "nielsen", "tsenov", "gauss", "appell", "maggi", "hamel"])
def test_equations(form):
    example = zoo.skate()
    derive = getattr(ap.forms, form)
    equations = derive(example.system, example.pseudo) if form in ("maggi", "hamel") else derive(example.system)
    state = (0.1, [0.3, 0.2, 0.5], [0.4, 0.1, 0.7], example.parameters)
    before = equations.acceleration(*state)
    there = again(equations)
    assert there.form == equations.form and there.equations == equations.equations and there.latex() == equations.latex()
    assert np.allclose(there.acceleration(*state)[0], before[0]) and set(there.objects) == set(equations.objects)


def test_functions_of_trees():
    chain = ap.Chain([ChainLink(mass=1.0, c=[0, 0, -0.25], J=[0.1, 0.1, 0.01], r=[0, 0, -0.5], e=[0, 1, 0])] * 2)
    state = ([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    for used in range(2):
        for one in (chain, again(chain)):
            expected = one.forward_dynamics(*map(np.array, state))
            assert np.allclose(again(one.forward_dynamics)(*map(np.array, state)), expected), used
            assert np.allclose(again(one).mass_matrix(np.array(state[0])), one.mass_matrix(np.array(state[0])))


def test_plans():
    system = ap.System([x], x.d**2 / 2, forces={x: u})
    plan = ap.optimize(system, ap.integral(u**2), [u], end={x: 1, x.d: 0}, backend="vm")
    there = again(plan)
    assert there.ok and there.objective == plan.objective == copy.deepcopy(plan).objective
    assert (there.motion.q == plan.motion.q).all() and np.array_equal(there.controls[u], plan.controls[u])
    with pytest.raises(ap.AppellError, match="pickle"):
        there.control_at([0.5])
    assert ap.optimize(system, ap.integral(u**2), [u], end={x: 1, x.d: 0}, guess=there, backend="vm").ok
