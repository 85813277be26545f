"""An integrator from outside: an embedded pair that SciPy lacks, registered by one call, works wherever the built-in ones do.

J. R. Cash, A. H. Karp, ACM Trans. Math. Software 16 (1990) 201–222: order 5 with an embedded method of order 4, six stages,
not first-same-as-last, and no dense output of its own.
"""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos
from tests.measures import order_of

import appell as ap
from appell.backends.compiler.build import reason_against_c
from appell.errors import ModelError
from appell.loop.in_python import PyLoop
from appell.loop.methods.tableaux import TABLEAUX, with_dense_output
from appell.loop.task import Task
from appell.simulate.methods import embedded_pair, register

A = np.zeros((6, 6))
A[1, :1] = 1 / 5
A[2, :2] = 3 / 40, 9 / 40
A[3, :3] = 3 / 10, -9 / 10, 6 / 5
A[4, :4] = -11 / 54, 5 / 2, -70 / 27, 35 / 27
A[5, :5] = 1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096
B = np.array([37 / 378, 0, 250 / 621, 125 / 594, 0, 512 / 1771])
B_HAT = np.array([2825 / 27648, 0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4])
C = np.array([0, 1 / 5, 3 / 10, 3 / 5, 1, 7 / 8])

x, y, theta = ap.coordinates("x y theta")
PENDULUM = ap.System([theta], theta.d**2 / 2, -2 * cos(theta), {theta: cos(ap.t) / 10}, name="pendulum")
ROD = ap.Constraint(x**2 + y**2 - 1, name="rod")
CIRCLE = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[ROD], name="rod")
OSCILLATOR = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[ap.Unilateral(x - 0.5, "wall")], name="oscillator")
backends = pytest.mark.parametrize("backend", ["c", "vm"])


@pytest.fixture(autouse=True)
def cash_karp(request):
    backend = request.node.callspec.params.get("backend") if hasattr(request.node, "callspec") else None
    if backend == "c" and (reason := reason_against_c()):
        pytest.skip(reason)
    yield register(embedded_pair("cash-karp", A, B, B_HAT, C, order=5, error_order=4))
    del TABLEAUX["cash-karp"]


@backends
def test_its_order_is_five_at_the_steps_and_four_between(backend):
    times = np.array([0.37, 1.23, 2.71, 3.9, 4.0])
    options = {"start": {theta: 1.0, theta.d: 0.3}, "until": 4.0, "times": times, "backend": backend}
    exact = ap.simulate(PENDULUM, **options, rtol=1e-13, atol=1e-14)
    counts, ends, between = np.array([20, 28, 40, 56]), [], []
    for count in counts:
        motion = ap.simulate(PENDULUM, **options, method="cash-karp", step=4 / count)
        error = np.abs(motion.q - exact.q)[:, 0]
        ends.append(error[-1])
        between.append(error[:-1].max())
    assert 4.6 < order_of(4 / counts, ends) < 6 and min(ends) > 1e-12
    assert 4.5 < order_of(4 / counts, between) < 6  # z(θ) is of order 4: local error h⁵


@backends
def test_its_error_follows_the_tolerance(backend):
    errors, steps = [], []
    exact = ap.simulate(PENDULUM, {theta: 1.0}, 10.0, rtol=1e-13, atol=1e-14, backend=backend).final[theta]
    for tolerance in (1e-5, 1e-7, 1e-9):
        motion = ap.simulate(PENDULUM, {theta: 1.0}, 10.0, method="cash-karp", rtol=tolerance, atol=tolerance, backend=backend)
        assert motion.ok and motion.method == "cash-karp"
        errors.append(abs(motion.final[theta] - exact))
        steps.append(motion.statistics["steps"])
    assert all(error < 50 * tolerance for error, tolerance in zip(errors, (1e-5, 1e-7, 1e-9), strict=True))
    assert 2.0 < steps[2] / steps[1] < 3.2  # 100^(1/5) = 2.5


@backends
def test_constraints_walls_times_and_controls(backend):
    rod = ap.simulate(CIRCLE, {x: 1.0}, 2.0, method="cash-karp", backend=backend)
    assert rod.ok and np.abs(rod[x] ** 2 + rod[y] ** 2 - 1).max() < 1e-13 and np.abs(rod.energy_error).max() < 1e-7
    period, times = 2 * np.arccos(0.5), np.linspace(0, 5, 41)
    wall = ap.simulate(OSCILLATOR, {x: 1.0}, 5.0, method="cash-karp", rtol=1e-10, atol=1e-12, times=times, backend=backend)
    assert wall.ok and [impact.time for impact in wall.impacts] == pytest.approx([period / 2, 3 * period / 2], abs=1e-8)
    assert wall[x] == pytest.approx(np.cos((times + period / 2) % period - period / 2), abs=1e-8)
    assert wall.at(0.777)[x] == pytest.approx([np.cos(0.777)], abs=1e-8)


def test_both_back_ends_make_the_same_steps():
    if reason := reason_against_c():
        pytest.skip(reason)
    options = {"method": "cash-karp", "rtol": 1e-6, "atol": 1e-6}
    c, vm = (ap.simulate(PENDULUM, {theta: 1.0}, 5.0, **options, backend=b) for b in ("c", "vm"))
    assert len(c) == len(vm) > 20 and c.t == pytest.approx(vm.t, abs=1e-5)  # sizes from errors near rounding
    for what in ("steps", "rejected", "evaluations"):
        assert c.statistics[what] == vm.statistics[what]


def test_a_control_reads_it_too():
    u = ap.parameters("u")
    system = ap.System([x], x.d**2 / 2, 0, {x: u})
    options = {"control": lambda t, q, v: {u: 1.0}, "rate": 10.0, "method": "cash-karp"}
    assert ap.simulate(system, {}, 1.0, **options).final[x] == pytest.approx(0.5, abs=1e-12)


def test_first_same_as_last_is_recognised():
    """Dormand and Prince's pair given with all of its seven stages is the one in the table, but for its dense output."""
    known = TABLEAUX["dopri5"]
    full = np.zeros((7, 7))
    full[:6, :6], full[6, :6] = known.A, known.B
    given_B = np.append(known.B, 0.0)
    given = embedded_pair("given", full, given_B, given_B - known.E[0], np.append(known.C, 1.0), order=5, error_order=4)
    assert given.stages == 6 and given.end_slope_in_error
    for name in ("A", "B", "C", "E"):
        np.testing.assert_allclose(getattr(given, name), getattr(known, name), atol=1e-16)


@pytest.mark.parametrize("order", [3, 4, 5, 6, 7])
def test_dense_output_of_any_order_is_made_of_slopes(order):
    """On the pair of order 8: the local error between the ends of one step falls with h^(order + 1)."""
    pair = with_dense_output(TABLEAUX["dop853"], order)
    assert pair.dense_order == order and len(pair.D) == order - 3
    loop, sizes, errors = PyLoop(pair, lambda t, z, p: [z[1], -np.sin(z[0])]), np.array([0.3, 0.2, 0.14]), []
    for h in sizes:
        task = {"t0": 0.0, "z0": [1.0, 0.5], "t_end": h, "times": h * np.array([0.2, 0.5, 0.9])}
        *_, one = loop.run(Task(**task, fixed_step=h))
        *_, exact = loop.run(Task(**task, fixed_step=h / 8))
        errors.append(np.abs(one.z_times - exact.z_times).max())
    assert order + 0.5 < order_of(sizes, errors) < order + 1.5 and errors[0] < 1e-4 * 0.2 ** (order - 3)


def test_what_is_no_pair_is_refused():
    with pytest.raises(ModelError, match="already"):
        register(embedded_pair("dop853", A, B, B_HAT, C, order=5, error_order=4))
    with pytest.raises(ModelError, match="already"):
        register(embedded_pair("taylor", A, B, B_HAT, C, order=5, error_order=4))
    with pytest.raises(ModelError, match="no explicit pair"):
        embedded_pair("wrong", A, 1.1 * B, B_HAT, C, order=5, error_order=4)
    with pytest.raises(ModelError, match="they are"):
        embedded_pair("wrong", A, B, B_HAT, C[:5], order=5, error_order=4)
    with pytest.raises(ModelError, match="choose one of auto, dop853, dopri5, dopri8, cash-karp"):
        ap.simulate(PENDULUM, {}, 1.0, method="rk4")
