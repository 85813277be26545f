"""A method by series from outside: Taylor's of order 8, registered by one call, works wherever the built-in one does."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos
from tests.measures import order_of

import appell as ap
from appell.backends.compiler.build import reason_against_c
from appell.errors import ModelError
from appell.loop.methods.taylor import SERIES
from appell.simulate.methods import Taylor, register

x, theta = ap.coordinates("x theta")
PENDULUM = ap.System([theta], theta.d**2 / 2, -2 * cos(theta), {theta: cos(ap.t) / 10}, name="pendulum")
WALL = ap.Unilateral(x - 0.5, "wall")
BOUNCING = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[WALL], name="bouncing oscillator")
backends = pytest.mark.parametrize("backend", ["c", "vm"])


@pytest.fixture(autouse=True)
def row(request):
    backend = request.node.callspec.params.get("backend") if hasattr(request.node, "callspec") else None
    if backend == "c" and (reason := reason_against_c()):
        pytest.skip(reason)
    yield register(Taylor(order=8, linear_order=None, name="taylor-8"))
    del SERIES["taylor-8"]


@backends
def test_its_order_is_eight(backend):
    start, until = {theta: 1.0, theta.d: 0.3}, 4.0
    counts = np.array([12, 16, 22, 30])
    times = np.linspace(0.5, until, 8)  # the largest error of several times: at one alone it may change its sign
    run = lambda **options: ap.simulate(PENDULUM, start, until, backend=backend, times=times, **options).q
    exact = run(rtol=1e-13, atol=1e-14)
    errors = [np.abs(run(method="taylor-8", step=until / n) - exact).max() for n in counts]
    assert 7.5 < order_of(until / counts, errors) < 9.2


@backends
def test_walls_are_met_where_others_meet_them(backend):
    ends = [
        ap.simulate(BOUNCING, {x: 2.0}, 10.0, backend=backend, method=method, rtol=1e-11, atol=1e-12).q[-1, 0]
        for method in ("taylor-8", "taylor", "dop853")
    ]
    assert np.ptp(ends) < 1e-8


def test_a_name_that_is_taken_and_what_is_no_method_are_refused():
    for taken in ("taylor", "dop853", "cvodes", "auto"):
        with pytest.raises(ModelError, match="already"):
            register(Taylor(name=taken))
    with pytest.raises(ModelError, match=r"register takes an embedded_pair\(…\) or a Taylor\(…\)"):
        register("taylor-9")


@pytest.mark.parametrize("order", [4, 5])
def test_a_short_series_sees_walls_in_ensembles(order):
    """Its bound beside walls has as many terms as the series."""
    x, w = ap.coordinates("x"), ap.parameters("w", positive=True)
    system = ap.System([x], x.d**2 / 2, w * x**2 / 2, constraints=[ap.Unilateral(x + 0.5, "wall", 0.7)])
    name = register(Taylor(order=order, linear_order=None, name=f"taylor-{order}")).name
    try:
        ends = [ap.simulate_many(system, {x: 1.0}, 10.0, {w: [1.0, 2.0, 4.0]}, rtol=1e-8, method=m) for m in (name, "dop853")]
    finally:
        del SERIES[name]
    assert all(one.ok for one in ends)
    np.testing.assert_allclose(ends[0]["x"], ends[1]["x"], atol=1e-6)
