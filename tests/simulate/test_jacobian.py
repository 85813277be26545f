"""Derivatives of accelerations: against differences of the same accelerations in extrapolated steps."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell import zoo
from appell.errors import FormNotApplicable, ModelError

x, y = ap.coordinates("x y")
k, m = ap.parameters("k m", positive=True)


def differences(f, z: np.ndarray) -> np.ndarray:
    """∂f/∂z by central differences of order 8, (nf, nz)."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    columns = []
    for i in range(len(z)):
        h = 0.02 * np.eye(len(z))[i]
        columns.append(sum(w * (f(z + n * h) - f(z - n * h)) for n, w in weights.items()) / 0.02)
    return np.array(columns).T


@pytest.mark.parametrize("name", ["n_pendulum", "rolling_disc", "heavy_top_quaternion", "four_bar", "differential_drive"])
def test_against_differences(name):
    example = (zoo.ALL.get(name) or zoo.ROBOTS[name])()
    run = ap.compile(example.system, example.parameters, backend="vm")
    motion = ap.simulate(example.system, example.start, 0.3, example.parameters, backend="vm")
    t, q, v = 0.3, motion.q[-1], motion.v[-1]
    found = run.jacobian(t, q, v)
    np.testing.assert_allclose(found.a_q, differences(lambda z: run.acceleration(t, z, v)[0], q), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.a_v, differences(lambda z: run.acceleration(t, q, z)[0], v), rtol=1e-7, atol=1e-7)
    at = lambda p: run.with_parameters(p).acceleration(t, q, v)[0]
    by_p = differences(at, run.p) if len(run.p) else np.zeros((len(v), 0))
    np.testing.assert_allclose(found.a_p, by_p, rtol=1e-6, atol=1e-6)
    both = run.jacobian(t, np.array([q, q]), np.array([v, v]))
    np.testing.assert_array_equal(both.a_q[1], found.a_q)
    assert both.a_v.shape == (2, len(v), len(v))


def test_in_closed_form_and_refusals():
    spring = ap.System([x], m * x.d**2 / 2, k * x**4 / 4)
    run = ap.compile(spring, {k: 2.0, m: 3.0}, backend="vm")
    found = run.jacobian(0.0, [2.0], [1.0])
    np.testing.assert_allclose(found.a_q, [[-3 * 2 * 4 / 3]])
    order = [str(s) for s in spring.parameters]
    np.testing.assert_allclose(found.a_p[0, order.index("k")], -8 / 3)
    np.testing.assert_allclose(found.a_p[0, order.index("m")], 2 * 8 / 9)
    with pytest.raises(ModelError, match="'q' has shape"):
        run.jacobian(0.0, [2.0, 1.0], [1.0])
    rows = [ap.Constraint(x - y, name="a"), ap.Constraint(2 * x - 2 * y, name="b")]
    twice = ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=rows)
    with pytest.raises(FormNotApplicable, match="redundant"):
        ap.compile(twice, {}, backend="vm").jacobian(0.0, [0.0, 0.0], [0.0, 0.0])
