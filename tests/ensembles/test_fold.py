"""Numbers of parameters compiled in: the same equations to rounding, never longer, and nothing else changes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sympy import cos, sin

import appell as ap
from appell import zoo
from appell.errors import ModelError, Status

x, y = ap.coordinates("x y")
k, m, c = ap.parameters("k m c")
COUPLED = ap.System(
    [x, y], m * x.d**2 / 2 + y.d**2 / 2 + m * cos(x - y) * x.d * y.d / 3, k * x**2 * y + sin(x) * y**m, {x: -c * x.d},
    name="coupled",
)  # fmt: skip
SAMPLE = ["n_pendulum", "skate", "rolling_disc", "heavy_top_quaternion", "four_bar", "turning_knife_edge", "thread_pendulum"]


@pytest.mark.parametrize("name", SAMPLE)
def test_the_same_equations_and_not_longer(name):
    example = zoo.ALL[name]()
    plain, folded = (ap.compile(example.system, example.parameters, backend="vm", fold=f) for f in (False, True))
    long, short = plain.flow(), folded.flow()
    assert short.rhs.operations <= long.rhs.operations and short.nz == long.nz
    assert name == "heavy_top_quaternion" or short.rhs.operations < long.rhs.operations
    rng = np.random.default_rng(1)
    start = ap.consistent(example.system, example.start, parameters=example.parameters)
    z = np.array([start[s] for s in (*example.system.coordinates, *example.system.velocities)])
    for _ in range(5):
        state = np.concatenate([z + rng.normal(size=len(z)) / 10, np.zeros(long.nz - len(z))])
        one, two = (f.rhs(0.3, state, plain.p)["zd"] for f in (long, short))
        np.testing.assert_allclose(one, two, rtol=1e-13, atol=1e-13 * np.abs(one).max())


def test_powers_products_ones_and_zeros_are_gone():
    values = {m: 1.0, k: 0.0, c: 2.0}
    run = ap.compile(COUPLED, values, backend="vm", fold=True)
    names = {item.index for item in run.flow().rhs.instructions if item.op == "input" and item.port == 2}
    assert not names and not any(item.op == "pow" for item in run.flow().rhs.instructions)
    undamped = ap.compile(COUPLED, {m: 1.0, k: 0.0, c: 0.0}, backend="vm", fold=True)
    assert undamped.flow().has_work  # whether forces do work is a matter of the model, not of its numbers
    q, v = [0.3, 0.4], [0.5, -0.6]
    plain = ap.compile(COUPLED, values, backend="vm")
    np.testing.assert_allclose(run.acceleration(0.0, q, v)[0], plain.acceleration(0.0, q, v)[0], rtol=1e-14)


def test_other_values_and_derivatives_are_not_those_of_the_numbers():
    values = {m: 1.0, k: 0.0, c: 0.0}
    folded, plain = (ap.compile(COUPLED, values, fold=f) for f in (True, False))
    at = (0.0, np.array([0.3, 0.4]), np.array([0.5, -0.6]))
    np.testing.assert_allclose(folded.jacobian(*at).a_p, plain.jacobian(*at).a_p, rtol=1e-12)
    assert np.abs(folded.jacobian(*at).a_p).min() > 0
    p = np.array([0.2, 0.7, 1.5])
    np.testing.assert_allclose(folded.with_parameters(p).acceleration(*at)[0], plain.with_parameters(p).acceleration(*at)[0])
    again = pickle.loads(pickle.dumps(folded))
    np.testing.assert_array_equal(again.acceleration(*at)[0], folded.acceleration(*at)[0])


@pytest.mark.compiler
def test_swept_parameters_stay_parameters():
    starts = {x: 0.3, y: np.array([0.2, 0.4, 0.5])}
    values = {m: 2.0, k: np.array([0.5, 1.0, 1.5]), c: 0.1}
    many, plain = (ap.simulate_many(COUPLED, starts, 2.0, values, fold=f).dataset for f in (True, False))
    assert (many.status == Status.OK).all() and many.attrs["folded"] == "c, m" and "folded" not in plain.attrs
    np.testing.assert_allclose(many.x, plain.x, atol=1e-7)
    one = ap.simulate(COUPLED, {x: 0.3, y: 0.4}, 2.0, {m: 2.0, k: 1.0, c: 0.1}, fold=True)
    np.testing.assert_allclose(many.x[1], one[x][-1], atol=1e-7)
    assert np.abs(one.energy_error).max() < 1e-8


@pytest.mark.compiler
def test_walls_and_inputs_of_a_control():
    wall = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: c}, [ap.Unilateral(x + 0.2, "wall", restitution=0.8)], name="wall")
    values = {m: 2.0, k: 3.0, c: 0.5}
    one, other = (ap.simulate_many(wall, {x: np.linspace(0.5, 1, 5)}, 9.0, values, fold=f).dataset for f in (True, False))
    np.testing.assert_allclose(one.x, other.x, atol=1e-7)
    pull = lambda t, q, v: {c: -float(v[0])}
    given = {m: 2.0, k: 3.0}
    one, other = (ap.simulate(wall, {x: 1.0}, 5.0, given, control=pull, rate=20.0, fold=f) for f in (True, False))
    np.testing.assert_allclose(one[x][-1], other[x][-1], atol=1e-8)
    run = ap.compile(wall, values, fold=True)
    again = ap.simulate(run, {x: 1.0}, 5.0, control=pull, rate=20.0)
    np.testing.assert_allclose(again[x][-1], other[x][-1], atol=1e-8)


def test_what_is_refused():
    run = ap.compile(COUPLED, {m: 1.0, k: 0.0, c: 0.0}, backend="vm")
    for call in (ap.simulate, ap.simulate_many):
        with pytest.raises(ModelError, match=r"fold= belongs to ap\.compile"):
            call(run, {x: 1.0}, until=1.0, fold=True)
    with pytest.raises(ModelError, match="fold= is True or False"):
        ap.compile(COUPLED, {m: 1.0, k: 0.0, c: 0.0}, fold="all")
