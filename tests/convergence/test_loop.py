"""What a time loop promises beside accuracy: exact times, chunks without a trace, failures that keep what they had."""

from __future__ import annotations

import numpy as np
import pytest
from tests.measures import order_of

from appell.errors import Status
from appell.loop import in_c as c_module
from appell.loop import in_python as python_module
from appell.loop.task import Task

GROWTH = {"t0": 0.0, "z0": [1.0], "t_end": 5.0, "rtol": 1e-10, "atol": 1e-12}
SINE = {"t0": 0.0, "z0": [0.0], "t_end": 5.0, "rtol": 1e-9, "atol": 1e-9}
CIRCLE = {"t0": 0.0, "z0": [1.0, 0.0, 0.0, 0.5], "t_end": 20.0, "p": [9.81], "rtol": 1e-6, "atol": 1e-6}
RELAXATION = {"t0": 0.0, "z0": [1.0], "t_end": 1.0, "rtol": 1e-9, "atol": 1e-9, "first_step": 1.0}
DOUBLE = {"t0": 0.0, "z0": [1.0, 1.2, 0.3, -0.2], "t_end": 10.0, "p": [9.81], "rtol": 1e-9, "atol": 1e-9}


def test_requested_times_are_exact(method, make_loop, last):
    loop = make_loop("growth", method)
    steps = last(loop, **GROWTH)
    assert steps.t == steps.t_steps[-1] == 5.0
    times = np.sort(np.concatenate([steps.t_steps, np.linspace(0, 5, 101), [0.0, 5.0]]))
    trace = last(loop, **GROWTH, times=times)
    assert np.array_equal(trace.t_steps, steps.t_steps)  # asking for times does not change the steps
    assert trace.z_times.shape == (len(times), 1)
    at_steps = np.isin(times, trace.t_steps)
    rows = np.searchsorted(trace.t_steps, times[at_steps])
    assert np.array_equal(trace.z_times[at_steps], trace.z_steps[rows])  # the very same numbers
    assert trace.z_times[:, 0] == pytest.approx(np.exp(np.sin(times)), rel=1e-7)


def test_a_requested_step_end_is_the_step_itself(method, make_loop, last):
    """Not the dense output at θ = 1, which differs in the last bit."""
    loop = make_loop("double pendulum", method)
    times = last(loop, **DOUBLE).t_steps
    trace = last(loop, **DOUBLE, times=times)
    assert np.array_equal(trace.t_steps, times) and np.array_equal(trace.z_times, trace.z_steps)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 13, 16])
def test_states_of_every_size(method, make_loop, last, n):
    """Whole vectors and remainders, newest slope apart and not."""
    times = np.linspace(0, 5, 17)
    task = {"t0": 0.0, "z0": np.ones(n), "t_end": 5.0, "rtol": 1e-9, "atol": 1e-9, "times": times}
    trace = last(make_loop(f"{n} decays", method), **task)
    assert np.max(abs(trace.z_times / np.exp(-0.3 * np.outer(np.sin(times), np.arange(1, n + 1))) - 1)) < 1e-6


def test_a_run_of_no_length_answers(make_loop, last):
    trace = last(make_loop("growth", "dop853"), **{**GROWTH, "t_end": 0.0}, times=[0.0, 0.0])
    assert trace.status is Status.OK and trace.statistics.accepted == 0
    assert np.array_equal(trace.z_times, [[1.0], [1.0]])


def test_backward_integration_returns_to_the_start(method, make_loop, last):
    loop = make_loop("growth", method)
    there = last(loop, **GROWTH)
    times = np.linspace(5, 0, 23)
    back = last(loop, **{**GROWTH, "t0": 5.0, "z0": there.z, "t_end": 0.0}, times=times)
    assert back.status is Status.OK and back.t == 0.0
    assert np.all(np.diff(back.t_steps) < 0)
    assert back.z == pytest.approx([1.0], abs=1e-7)
    assert back.z_times[:, 0] == pytest.approx(np.exp(np.sin(times)), rel=1e-7)


@pytest.mark.parametrize("trials", [1, 3, 100])
def test_chunks_leave_no_trace(method, in_c, last, monkeypatch, trials):
    loop, task = in_c("double pendulum", method), {**DOUBLE, "times": np.linspace(0, 10, 77)}
    whole = last(loop, **task)
    monkeypatch.setattr(c_module, "FIRST_TRIALS", trials)
    monkeypatch.setattr(c_module, "SECONDS_PER_YIELD", 1e-9)  # never grow
    trace = Task(**task).trace()
    reports = [(found.status, found.t) for found in loop.run(Task(**task), trace)]
    assert len(reports) > 2 and all(status is Status.BUFFER_FULL for status, _ in reports[:-1])
    assert np.all(np.diff([t for _, t in reports]) >= 0)
    for name in ("t_steps", "z_steps", "z_times", "z"):
        assert np.array_equal(getattr(trace, name), getattr(whole, name)), name
    assert trace.statistics == whole.statistics


def test_no_growth_right_after_a_rejection(method, in_c, monkeypatch):
    monkeypatch.setattr(c_module, "FIRST_TRIALS", 1)
    monkeypatch.setattr(c_module, "SECONDS_PER_YIELD", 1e-9)  # a leg a trial
    found = [(trace.t, trace.next_step, trace.status) for trace in in_c("relaxation", method).run(Task(**RELAXATION))]
    tries = list(zip(found, found[1:], found[2:], strict=False))
    after = [(b, c) for a, b, c in tries if b[0] == a[0] and c[0] != b[0] and c[2] is not Status.OK]
    assert len(after) > 0
    assert all(c[1] <= (c[0] - b[0]) * (1 + 1e-9) for b, c in after)


def test_chunks_of_the_python_loop_leave_no_trace(last, make_loop, monkeypatch):
    loop = make_loop("double pendulum", "dop853")
    whole = last(loop, **DOUBLE)
    monkeypatch.setattr(python_module, "SECONDS_PER_YIELD", 0.0)
    monkeypatch.setattr(c_module, "SECONDS_PER_YIELD", 1e-9)
    monkeypatch.setattr(c_module, "FIRST_TRIALS", 7)
    traces = list(loop.run(Task(**DOUBLE)))
    assert len(traces) > 10
    assert np.array_equal(traces[-1].z_steps, whole.z_steps) and traces[-1].statistics == whole.statistics


def test_steps_need_not_be_kept(make_loop, last):
    loop = make_loop("double pendulum", "dop853")
    kept, lean = last(loop, **DOUBLE), last(loop, **DOUBLE, keep_steps=False)
    assert lean.t_steps.shape == (1,) and lean.z_steps.shape == (1, 4)
    assert np.array_equal(kept.z, lean.z) and np.array_equal(kept.z, kept.z_steps[-1])


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        ("singular", Status.SINGULAR),
        ("not a number", Status.NOT_FINITE),
        ("wall in the projection", Status.PROJECTION_FAILED),
    ],
)
def test_a_failure_keeps_what_it_had(method, make_loop, last, problem, status):
    times = np.linspace(0, 5, 51)
    trace = last(make_loop(problem, method), **SINE, times=times)
    assert trace.status is status
    assert 3.2 - 1e-9 < trace.t <= 3.2  # the step shrank until nothing was left
    assert trace.z == pytest.approx([np.sin(trace.t)], abs=1e-7)
    assert trace.t_steps[-1] == trace.t and np.array_equal(trace.z_steps[-1], trace.z)
    assert len(trace.z_times) == np.sum(times <= trace.t) > 30
    assert trace.z_times[:, 0] == pytest.approx(np.sin(times[: len(trace.z_times)]), abs=1e-6)
    assert trace.statistics.accepted == len(trace.t_steps) - 1 and trace.statistics.rejected > 5


def test_a_failing_start_has_only_the_start(make_loop, last):
    trace = last(make_loop("singular", "dop853"), **{**SINE, "t0": 4.0})
    assert trace.status is Status.SINGULAR and trace.t == 4.0 and len(trace.t_steps) == 1 and len(trace.z_times) == 0


def test_a_trial_past_a_wall_is_not_a_failure(method, make_loop, last):
    """ż = −50 z is positive for ever, but long steps overshoot into z < −0.5, where the right-hand side refuses."""
    trace = last(make_loop("relaxation", method), **RELAXATION)
    assert trace.status is Status.OK and trace.statistics.rejected > 0
    assert trace.z == pytest.approx([0.0], abs=1e-8)
    assert trace.z_steps[:, 0] == pytest.approx(np.exp(-50 * trace.t_steps), abs=1e-7)


def test_blow_up_ends_with_a_tiny_step(method, make_loop, last):
    """ż = z², z(0) = 1: z = 1/(1 − t) leaves every bound at t = 1."""
    trace = last(make_loop("blow-up", method), t0=0.0, z0=[1.0], t_end=2.0, rtol=1e-9, atol=1e-9)
    assert trace.status in (Status.STEP_TOO_SMALL, Status.NOT_FINITE)
    assert trace.t == pytest.approx(1.0, abs=1e-6)
    assert np.all(np.isfinite(trace.z_steps))


def test_fixed_steps_do_not_shrink(make_loop, last):
    trace = last(make_loop("not a number", "dop853"), **SINE, fixed_step=0.25)
    assert trace.status is Status.NOT_FINITE and trace.t == 3.0
    assert np.array_equal(trace.t_steps, np.arange(13) * 0.25)


def test_the_step_budget_is_kept(make_loop, last):
    trace = last(make_loop("double pendulum", "dop853"), **DOUBLE, max_steps=17)
    assert trace.status is Status.MAX_STEPS and trace.statistics.accepted == 17 and len(trace.t_steps) == 18


def test_the_largest_step_is_kept(make_loop, last):
    trace = last(make_loop("growth", "dop853"), **GROWTH, max_step=0.01)
    assert np.max(np.diff(trace.t_steps)) <= 0.01 * (1 + 2e-6) and trace.statistics.accepted >= 500


def circle_residual(z: np.ndarray) -> float:
    return float(max(np.max(abs(np.sum(z[:, :2] ** 2, 1) - 1)), np.max(abs(np.sum(z[:, :2] * z[:, 2:], 1)))))


def test_projection_keeps_the_constraint(method, make_loop, last):
    times = np.linspace(0, 20, 333)
    trace = last(make_loop("circle", method), **CIRCLE, times=times)
    drifting = last(make_loop("circle", method, projected=False), **CIRCLE, times=times)
    assert trace.status is Status.OK
    assert circle_residual(trace.z_steps) < 1e-12 and circle_residual(trace.z_times) < 1e-12
    assert circle_residual(drifting.z_steps) > 1e-8  # there was something to project
    assert 1e-9 < trace.statistics.largest_defect < 1e-3
    energy = 0.5 * np.sum(trace.z_times[:, 2:] ** 2, 1) + 9.81 * trace.z_times[:, 1]
    assert energy == pytest.approx(energy[0], abs=1e-3)


def test_projection_does_not_spoil_the_order(method, in_c, last):
    loop, order = in_c("circle", method), {"dop853": 8, "dopri5": 5}[method]
    task = {**CIRCLE, "t_end": 2.0}
    exact = last(loop, **task, fixed_step=2 / 4000).z
    counts = np.array([40, 56, 80, 112]) if method == "dop853" else np.array([100, 140, 200, 280])
    errors = [np.max(abs(last(loop, **task, fixed_step=2 / n).z - exact)) for n in counts]
    assert order - 0.5 < -order_of(counts, errors) < order + 1


def test_the_slope_belongs_to_the_projected_state(method, make_loop, last):
    """z̈ = 1 with ż put to 0 after each step: every step moves by h²/2, or by more with a slope from before."""
    trace = last(make_loop("brake", method), t0=0.0, z0=[0.0, 0.0], t_end=2.0, fixed_step=0.25)
    assert trace.z == pytest.approx([8 * 0.25**2 / 2, 0.0], abs=1e-14)
    assert trace.statistics.largest_defect == pytest.approx(0.25, abs=1e-14)


def test_projected_dop853_costs_no_extra_evaluation(in_c, last):
    statistics = last(in_c("circle", "dop853"), **CIRCLE).statistics
    assert statistics.evaluations == 2 + 12 * statistics.accepted + 11 * statistics.rejected


def test_a_loop_refuses_a_wrong_question():
    good = {"t0": 0.0, "z0": [1.0], "t_end": 1.0}
    for bad in (
        {"times": [0.5, 0.2]},
        {"times": [2.0]},
        {"rtol": 0.0},
        {"atol": 0.0},
        {"fixed_step": -1.0},
        {"t_end": np.inf},
    ):
        with pytest.raises(ValueError):
            Task(**{**good, **bad})


def test_a_loop_refuses_a_state_of_another_size(in_c):
    with pytest.raises(ValueError, match="compiled for"):
        list(in_c("growth", "dop853").run(Task(t0=0.0, z0=[1.0, 2.0], t_end=1.0)))
