"""Taylor's method: order, error control, dense output, C against Python, and impacts found on the series."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Eq, Piecewise, Rational, cos, sqrt
from tests.measures import order_of

import appell as ap
from appell.backends import backend_named
from appell.backends.compiler.build import build, reason_against_c
from appell.errors import FormNotApplicable, Status
from appell.graph.taylor_series import expansion, operations
from appell.loop.in_c import CDEF, CLoop, LoopCall
from appell.loop.in_python import PyLoop
from appell.loop.methods.taylor import Taylor
from appell.loop.task import Task
from appell.simulate.loop.prepare import _python_project, _python_rhs, evaluator
from appell.simulate.loop.program import loop_module
from appell.simulate.many import RunBatch

x, y, theta = ap.coordinates("x y theta")
PENDULUM = ap.System([theta], theta.d**2 / 2, -2 * cos(theta), {theta: cos(ap.t) / 10}, name="pendulum")
KEPLER = ap.System([x, y], (x.d**2 + y.d**2) / 2, -1 / sqrt(x**2 + y**2), name="kepler")
ROD = ap.Constraint(x**2 + y**2 - 1, name="rod")
CIRCLE = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[ROD], name="rod")
backends = pytest.mark.parametrize("backend", ["c", "vm"])


@pytest.fixture(autouse=True)
def _compiler(request):
    given = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if given.get("backend", "c") == "c" and (reason := reason_against_c()):
        pytest.skip(reason)


def loop_of(system, order=16, backend="c"):
    """The loop of a system at any order."""
    run = ap.compile(system, backend=backend)
    flow, method = run.flow(), Taylor(order=order)
    if backend == "c":
        library = build(loop_module(flow, method), CDEF, optimise="loop")
        return CLoop(library.lib, library.ffi, flow.nz)
    table = backend_named(backend)
    bound = method.bound(flow, lambda fn: evaluator(fn, table))
    return PyLoop(bound, _python_rhs(flow, table), _python_project(flow, table) if flow.projects else None)


def last(loop, **task):
    *_, leg = loop.run(Task(**task))
    return leg


START = {"t0": 0.0, "z0": [1.0, 0.3, 0.0], "t_end": 4.0}


@pytest.mark.parametrize("order", [4, 7, 10])
def test_order_of_the_step_and_between(order):
    loop = loop_of(PENDULUM, order)
    counts = np.array([16, 24, 36, 50] if order < 10 else [14, 18, 23, 29])
    times = np.array([1.23, 2.71, 3.9])
    exact = last(loop_of(PENDULUM, 20), **START, rtol=1e-15, atol=1e-15, times=times)
    ends, between = [], []
    for count in counts:
        leg = last(loop, **START, fixed_step=4 / count, times=times)
        assert leg.status is Status.OK and leg.statistics.accepted == count
        ends.append(np.max(abs(leg.z - exact.z)))
        between.append(np.max(abs(leg.z_times - exact.z_times)))
    assert min(ends) > 1e-13
    assert order - 0.5 < order_of(4 / counts, ends) < order + 0.8
    assert order - 0.7 < order_of(4 / counts, between) < order + 1.2


@backends
def test_error_follows_the_tolerance(backend):
    loop = loop_of(KEPLER, backend=backend)
    task = {"t0": 0.0, "z0": [1.0, 0.0, 0.0, 1.2], "t_end": 20.0}
    exact = last(loop_of(KEPLER, 20), **task, rtol=1e-15, atol=1e-15).z
    tolerances = np.array([1e-5, 1e-7, 1e-9, 1e-11])
    errors = np.array([np.max(abs(last(loop, **task, rtol=tol, atol=tol).z - exact)) for tol in tolerances])
    assert np.all(errors < 100 * tolerances) and 0.75 < order_of(tolerances, errors) < 1.35


def test_c_agrees_with_its_python_twin():
    task = {**START, "fixed_step": 0.2, "times": np.linspace(0.013, 3.99, 57)}
    c, python = (last(loop_of(PENDULUM, backend=backend), **task) for backend in ("c", "vm"))
    assert c.statistics.accepted == python.statistics.accepted == 20
    assert np.max(abs(c.z_steps - python.z_steps)) < 1e-13 and np.max(abs(c.z_times - python.z_times)) < 1e-13
    adaptive = {**START, "rtol": 1e-9, "atol": 1e-9}
    c, python = (last(loop_of(PENDULUM, backend=backend), **adaptive) for backend in ("c", "vm"))
    assert c.t_steps == pytest.approx(python.t_steps, rel=1e-5)  # sizes to float's digits


def test_called_again_it_goes_on_as_if_it_had_never_stopped():
    loop = loop_of(PENDULUM)
    whole = last(loop, **{**START, "t_end": 40.0}, rtol=1e-10)
    task = Task(**{**START, "t_end": 40.0}, rtol=1e-10)
    parts = LoopCall(loop, task, task.trace())
    while parts.advance(3) is Status.BUFFER_FULL:
        pass
    assert np.array_equal(parts.trace.z_steps, whole.z_steps)


@backends
def test_projection_keeps_the_constraint(backend):
    motion = ap.simulate(CIRCLE, {x: 1.0}, 20.0, method="taylor", backend=backend, rtol=1e-9)
    assert np.max(abs(motion[x] ** 2 + motion[y] ** 2 - 1)) < 1e-13
    assert np.max(abs(motion.energy - motion.energy[0])) < 1e-7
    other = ap.simulate(CIRCLE, {x: 1.0}, 20.0, rtol=1e-12, atol=1e-13, times=[20.0])
    assert motion[x][-1] == pytest.approx(other[x][-1], abs=1e-6)


@backends
def test_time_may_run_backward(backend):
    how = {"method": "taylor", "backend": backend}
    there = ap.simulate(PENDULUM, {theta: 1.0}, 5.0, **how)
    back = ap.simulate(PENDULUM, {theta: there[theta][-1], theta.d: there[theta.d][-1]}, 0.0, since=5.0, **how)
    assert back[theta][-1] == pytest.approx(1.0, abs=1e-7)


def test_a_polynomial_takes_one_step():
    """Free fall is its own series."""
    motion = ap.simulate(ap.System([y], y.d**2 / 2, 9.81 * y, name="fall"), {y: 1.0}, 3.0, method="taylor")
    assert len(motion.t) == 2 and motion[y][-1] == pytest.approx(1 - 9.81 * 4.5, rel=1e-15)


@backends
def test_a_series_that_begins_with_zeros_is_not_trusted(backend):
    """Near t = 0 the force t²⁰ has no coefficient below the 20th; its slope at the end of the step tells."""
    system = ap.System([x], x.d**2 / 2, 0, {x: ap.t**20}, name="late")
    motion = ap.simulate(system, {}, 2.0, method="taylor", backend=backend, rtol=1e-8)
    assert motion[x][-1] == pytest.approx(2.0**22 / 21 / 22, rel=1e-7) and len(motion.t) > 3


@backends
def test_a_blow_up_is_announced(backend):
    """ẍ = 6x², x = 1/(1 − t)² ends at t = 1."""
    system = ap.System([x], x.d**2 / 2, -2 * x**3, name="blow-up")
    with pytest.warns(ap.AppellWarning if hasattr(ap, "AppellWarning") else UserWarning):
        motion = ap.simulate(system, {x: 1.0, x.d: 2.0}, 2.0, method="taylor", backend=backend)
    assert motion.status is not Status.OK and motion.t[-1] == pytest.approx(1.0, abs=1e-3)


def test_refusals_say_what_to_use():
    hole = ap.System([x], x.d**2 / 2, x**2 / 2, {x: Piecewise((0, Eq(x, 0)), (x.d, True))}, name="hole")
    with pytest.raises(FormNotApplicable, match=r"eq.*dop853"):
        ap.simulate(hole, {x: 1.0}, 1.0, method="taylor")
    twice = [ap.Constraint(x - y, "once"), ap.Constraint(2 * x - 2 * y, "twice")]
    bound = ap.System([x, y], (x.d**2 + y.d**2) / 2, x**2, constraints=twice, name="bound")
    with pytest.raises(FormNotApplicable, match=r"written out.*dop853"):
        ap.simulate(bound, {x: 1.0, y: 1.0}, 1.0, method="taylor")
    chain = ap.zoo.n_pendulum(6)
    with pytest.raises(FormNotApplicable, match=r"operations a step.*dop853"):
        ap.simulate(chain.system, chain.start, 1.0, chain.parameters, method="taylor")


def test_the_cost_is_told_from_low_orders():
    example = ap.zoo.n_pendulum(2)
    rhs = ap.compile(example.system, example.parameters).flow().rhs
    assert operations(rhs, 16) == pytest.approx(expansion(rhs, 16).operations, rel=0.05)


# -- impacts -----------------------------------------------------------------------------------------------------------


WALL = ap.Unilateral(x - Rational(1, 2), "wall")
OSCILLATOR = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[WALL], name="oscillator")


@backends
def test_impacts_of_an_oscillator_have_a_closed_form(backend):
    count = 500 if backend == "c" else 20
    how = {"method": "taylor", "backend": backend, "rtol": 1e-13, "atol": 1e-14}
    motion = ap.simulate(OSCILLATOR, {x: 1.0}, count * 2 * np.arccos(0.5), **how)
    times = np.array([impact.time for impact in motion.impacts])
    assert times == pytest.approx(np.arccos(0.5) * (1 + 2 * np.arange(count)), abs=1e-9)
    assert np.max(abs(motion.energy - 0.5)) < 1e-10


def test_a_wall_faster_than_the_motion_is_followed():
    """Free fall is a polynomial, the vibrating table below it is not: its own series bounds the step."""
    table = Rational(2, 100) + cos(25 * ap.t) / 20
    system = ap.System([x], x.d**2 / 2, 9.81 * x, constraints=[ap.Unilateral(x - table, "table", Rational(1, 2))], name="table")
    found = [ap.simulate(system, {x: 0.3}, 4.0, method=method, rtol=1e-12, atol=1e-14) for method in ("taylor", "dop853")]
    times = [np.array([impact.time for impact in motion.impacts if impact.kind == "impact"]) for motion in found]
    assert len(times[0]) == len(times[1]) > 5 and times[0] == pytest.approx(times[1], abs=1e-8)


def test_a_wall_whose_series_begins_with_zeros_is_followed():
    """The wall t²⁰ shows in none of the coefficients at t = 0: it meets x = 1/2 at 2^(−1/20)."""
    wall = ap.Unilateral(x - ap.t**20, "wall")
    motion = ap.simulate(ap.System([x], x.d**2 / 2, 0, constraints=[wall], name="late wall"), {x: 0.5}, 0.99, method="taylor")
    assert [impact.time for impact in motion.impacts][:1] == pytest.approx([0.5 ** (1 / 20)], rel=1e-12)


def test_a_dip_between_samples_is_found():
    """ẍ = 6 constant from x = 1e-6 falling: below the wall for a moment at the start of a step of 1 s."""
    system = ap.System([x], x.d**2 / 2, -3 * x, constraints=[ap.Unilateral(x, "wall", Rational(1, 2))], name="dip")
    motion = ap.simulate(system, {x: 1e-6, x.d: -0.01}, 1.0, method="taylor")
    assert len(motion.impacts) >= 1 and motion.impacts[0].time == pytest.approx((0.01 - np.sqrt(1e-4 - 6e-6)) / 3, rel=1e-9)


def test_chattering_goes_over_into_rest():
    """A ball with e = ½ from 1 m rests after 3 times its first fall."""
    ball = ap.System([y], y.d**2 / 2, 9.81 * y, constraints=[ap.Unilateral(y, "floor", Rational(1, 2))], name="ball")
    motion = ap.simulate(ball, {y: 1.0}, 3.0, method="taylor")
    landing = [impact for impact in motion.impacts if impact.kind == "landing"]
    assert landing[0].time == pytest.approx(3 * np.sqrt(2 / 9.81), abs=1e-8)
    assert motion.reaction("floor")[-1] == pytest.approx(9.81, abs=1e-9)


def test_a_graze_is_counted():
    """x = 1 + cos t touches 0 at t = π."""
    system = ap.System([x], x.d**2 / 2, (x - 1) ** 2 / 2, constraints=[ap.Unilateral(x, "wall")], name="graze")
    motion = ap.simulate(system, {x: 2.0}, 6.0, method="taylor", rtol=1e-13, atol=1e-14)
    assert [impact.kind for impact in motion.impacts] in (["graze"], ["impact"])
    assert motion.impacts[0].time == pytest.approx(np.pi, abs=1e-5) and abs(motion.impacts[0].before) < 1e-6


def test_a_corner_of_orthogonal_walls():
    walls = [ap.Unilateral(x, "left"), ap.Unilateral(y, "floor", Rational(9, 10))]
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=walls, name="corner")
    start = {x: 0.7, y: 1.0, x.d: -1.0}
    one, two = (ap.simulate(system, start, 3.0, method=method, rtol=1e-12, atol=1e-14) for method in ("taylor", "dop853"))
    assert [i.constraint for i in one.impacts] == [i.constraint for i in two.impacts] and len(one.impacts) > 4
    assert [i.time for i in one.impacts] == pytest.approx([i.time for i in two.impacts], abs=1e-10)


def test_ends_of_many_starts_are_those_of_single_runs():
    force, wall = -x.d / 10 + cos(2 * ap.t), ap.Unilateral(x + Rational(3, 10), "wall", Rational(9, 10))
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: force}, [wall], name="driven")
    run, until = ap.compile(system), 20 * np.pi
    starts = np.array([[0.5, 0.2], [0.1, -0.7], [-0.3, 0.0], [0.9, 1.0]])
    for method in ("taylor", "dop853"):
        z, n = starts.copy(), len(starts)
        many = RunBatch(run, rtol=1e-11, atol=1e-13, method=method)
        found = many.advance(np.zeros(n), z, np.tile(run.p, (n, 1)), np.full(n, until), 1)
        for k, (a, b) in enumerate(starts):
            motion = ap.simulate(run, {x: a, x.d: b}, until, rtol=1e-12, atol=1e-14)
            assert z[k] == pytest.approx([motion[x][-1], motion[x.d][-1]], abs=1e-8)
            assert found.status[k] == Status.OK and found.events[k] == len(motion.impacts)


@backends
def test_held_inputs_reach_the_series(backend):
    """ẍ = u with u = 1 for a second, then −1: x(2) = 1, ẋ(2) = 0."""
    u = ap.parameters("u")
    system = ap.System([x], x.d**2 / 2, 0, {x: u}, name="pushed")
    how = {"control": lambda t, q, v: {u: 1.0 if t < 1 else -1.0}, "rate": 1.0, "backend": backend, "method": "taylor"}
    motion = ap.simulate(system, {}, 2.0, **how)
    assert motion[x][-1] == pytest.approx(1.0, abs=1e-12) and motion[x.d][-1] == pytest.approx(0.0, abs=1e-12)
