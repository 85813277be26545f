"""simulate: times, directions, methods, minimal states, failures that keep what was computed."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sympy import Piecewise, cos, log, sin, sqrt

from appell import zoo
from appell.backends import AppellWarning
from appell.compiled.compiling import compile
from appell.errors import FormNotApplicable, ModelError, Status
from appell.jets import coordinates, parameters, t
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.loop.methods.method_table import methods
from appell.model import Constraint, System
from appell.simulate.simulate import simulate

x, y = coordinates("x y")
m, k, c = parameters("m k c", positive=True)


def run(example, until=None, **options):
    return simulate(example.system, example.start, until or example.until, example.parameters, **options)


# --- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [name for name in methods() if name != "auto"])
def test_requested_times_are_returned_exactly(method):
    times = np.array([0.0, 0.1, 1 / 3, 0.5, 0.5, math.pi / 4, 1.0])
    motion = run(zoo.skate(), 1.0, times=times, method=method, **({"step": 0.001} if method in CONSERVING else {}))
    assert np.array_equal(motion.t, times)
    assert motion["phi"] == pytest.approx(times, abs=1e-5 if method == "conserving2" else 1e-6)  # order 2: h² of some


def test_requested_times_are_on_the_motion_of_the_steps():
    steps = run(zoo.rolling_disc(), 2.0, rtol=1e-10)
    dense = run(zoo.rolling_disc(), 2.0, rtol=1e-10, times=np.linspace(0, 2, 50))
    assert steps.at(dense.t).q == pytest.approx(dense.q, abs=1e-9)
    assert dense.statistics["steps"] == steps.statistics["steps"]  # asking does not change the steps


def test_times_need_not_reach_the_ends():
    motion = run(zoo.pendulum(), 2.0, times=[0.5, 1.0])
    assert motion.t.tolist() == [0.5, 1.0] and motion.ok
    full = run(zoo.pendulum(), 2.0)
    assert motion.q == pytest.approx(full.at([0.5, 1.0]).q, abs=1e-9)
    assert np.abs(motion.energy_error).max() < 1e-9  # measured from the start of the run, not from the first sample


@pytest.mark.parametrize("times", [[0.5, 0.2], [-0.1], [1.1], [np.nan], [[0.1, 0.2]]])
def test_wrong_times_are_refused(times):
    with pytest.raises(ModelError, match="times="):
        run(zoo.pendulum(), 1.0, times=times)


def test_no_time_passes():
    motion = simulate(zoo.skate().system, zoo.skate().start, 0.0, zoo.skate().parameters)
    assert motion.ok and len(motion) == 1 and motion.t.tolist() == [0.0]


@pytest.mark.parametrize("name", ["bouncing_ball", "bowling_ball", "pendulum"])
def test_no_time_passes_and_times_are_returned(name):
    example = zoo.FRICTION[name]() if name in zoo.FRICTION else getattr(zoo, name)()
    motion = simulate(example.system, example.start, 2.0, example.parameters, since=2.0, times=[2.0, 2.0])
    start = simulate(example.system, example.start, 2.0, example.parameters, since=2.0)
    assert motion.ok and motion.t.tolist() == [2.0, 2.0]
    assert (motion.q == start.q[0]).all() and (motion.v == start.v[0]).all()


@pytest.mark.parametrize("method", ["dop853", "dopri5", "cvodes", "idas"])
def test_backwards_returns_to_the_start(method):
    example = zoo.four_bar()
    there = run(example, 0.5, rtol=1e-10)
    back = simulate(
        example.system, there.final, 0.0, example.parameters, since=0.5, rtol=1e-10, method=method, times=[0.5, 0.2, 0.0]
    )
    assert back.ok and back.t.tolist() == [0.5, 0.2, 0.0]
    # 1e-10 per step, a hundred steps each way; BDF keeps a hundred times the tolerance
    assert back.q[-1] == pytest.approx(there.q[0], abs=1e-8 if method.startswith("dop") else 1e-5)
    assert back.v[-1] == pytest.approx(there.v[0], abs=1e-7 if method.startswith("dop") else 1e-4)


def test_since_is_the_time_of_the_start():
    system = System([x], x.d**2 / 2, forces={x: cos(t)})
    motion = simulate(system, {}, 3.0, since=1.0, rtol=1e-11)
    expected = -np.cos(motion.t) + math.cos(1) - math.sin(1) * (motion.t - 1)
    assert motion[x] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": np.inf}, "until"),
        ({"until": "soon"}, "until= must be a number"),
        ({"since": np.nan}, "since"),
        ({"method": "euler"}, "no method 'euler'; choose one of auto, "),
        ({"rtol": -1.0}, "rtol"),
        ({"rtol": 0.0}, "rtol"),
        ({"atol": 0.0}, "atol"),
        ({"max_step": 0.0}, "max_step"),
    ],
)
def test_wrong_options_are_refused(options, message):
    example = zoo.pendulum()
    options = {"until": 1.0, **options}
    with pytest.raises((ModelError, ValueError), match=message):
        simulate(example.system, example.start, parameters=example.parameters, **options)


def test_a_compiled_run_has_its_parameters():
    example = zoo.pendulum()
    ready = compile(example.system, example.parameters)
    assert simulate(ready, example.start, 1.0).ok
    with pytest.raises(ModelError, match="compiled with its parameters"):
        simulate(ready, example.start, 1.0, example.parameters)
    with pytest.raises(ModelError, match="simulate takes a System"):
        simulate("pendulum")


# --- methods ----------------------------------------------------------------------------------------------------------

CHAINED = ["paraboloid", "skate", "rolling_disc", "four_bar", "turning_knife_edge", "orthogonal_acceleration"]


@pytest.mark.parametrize("name", CHAINED)
def test_methods_agree(name):
    """Orders 8, 5 and the BDF formulas, which lose two to four digits over many short intervals."""
    example = zoo.ALL[name]()
    reference = run(example, 1.0, rtol=1e-12, times=[0.5, 1.0])
    size = 1 + np.abs(reference.q).max()
    for method, bound in (("dop853", 1e-8), ("dopri5", 1e-8), ("cvodes", 1e-5), ("idas", 1e-5)):
        motion = run(example, 1.0, rtol=1e-10, times=[0.5, 1.0], method=method)
        assert motion.ok and motion.method == method
        assert np.abs(motion.q - reference.q).max() < bound * size, method
        assert np.abs(motion.multipliers - reference.multipliers).max() < 100 * bound * size, method


def test_auto_is_order_eight_unless_coarse():
    assert run(zoo.pendulum(), 1.0).method == "dop853"
    assert run(zoo.pendulum(), 1.0, rtol=1e-3).method == "dopri5"


def stiff() -> System:
    """Van der Pol's oscillator as a mechanical system."""
    return System([x], x.d**2 / 2, x**2 / 2, {x: k * (1 - x**2) * x.d}, name="Van der Pol")


def test_stiff_problem_wants_cvodes():
    """μ = 1000 on the slow branch: x ln-like, ẋ ≈ x/(μ(1 − x²)); the explicit pair is held to h ≈ 1/μ."""
    start, values = {x: 2.0, x.d: -2 / (3 * 1000.0)}, {k: 1000.0}
    explicit = simulate(stiff(), start, 300.0, values, method="dopri5", rtol=1e-6, atol=1e-9, times=[300.0])
    implicit = simulate(stiff(), start, 300.0, values, method="cvodes", rtol=1e-6, atol=1e-9, times=[300.0])
    assert implicit[x] == pytest.approx(explicit[x], rel=1e-4)
    assert explicit.statistics["evaluations"] > 100_000
    assert 0 < implicit.statistics["evaluations"] < explicit.statistics["evaluations"] / 100


def test_step_limits():
    motion = run(zoo.pendulum(), 1.0, max_step=0.01)
    assert np.diff(motion.t).max() <= 0.01 * (1 + 1e-6)
    with pytest.warns(AppellWarning, match="max_steps"):
        short = run(zoo.pendulum(), 10.0, max_steps=5)
    assert short.status is Status.MAX_STEPS and len(short) == 6 and 0 < short.t[-1] < 10


# --- pseudo-velocities ------------------------------------------------------------------------------------------------

WITH_PSEUDO = [name for name, make in sorted(zoo.ALL.items()) if make().pseudo is not None]


@pytest.mark.parametrize("name", WITH_PSEUDO)
def test_pseudo_velocities_give_the_same_motion(name):
    example = zoo.ALL[name]()
    times = np.linspace(0, 1.5, 7)
    full = run(example, 1.5, rtol=1e-11, times=times)
    minimal = run(example, 1.5, rtol=1e-11, times=times, pseudo=example.pseudo)
    size = 1 + np.abs(full.v).max()
    assert minimal.ok
    assert np.abs(full.q - minimal.q).max() < 1e-8 * size and np.abs(full.v - minimal.v).max() < 1e-7 * size
    assert minimal.drift.velocity < 1e-10 * size and minimal.drift.position < 1e-10
    assert np.abs(minimal.energy_error).max() < 1e-8
    for key, expression in example.pseudo.items():
        assert minimal[key] == pytest.approx(minimal[expression], abs=1e-12)


def test_minimal_state_needs_as_many_as_there_are_freedoms():
    example = zoo.skate()
    phi = example.system.coordinates[2]
    with pytest.raises(ModelError, match=r"give 2 pseudo-velocities"):
        run(example, 1.0, pseudo={"omega": phi.d})
    with pytest.raises(FormNotApplicable, match="linear in the velocities"):
        run(zoo.constant_speed(), 1.0, pseudo={"u": x.d, "v": y.d})


def test_dependent_pseudo_velocities_do_not_pass_silently():
    example = zoo.skate()
    x_, y_, phi = example.system.coordinates
    slip = x_.d * sin(phi) - y_.d * cos(phi)
    with pytest.raises(FormNotApplicable, match=r"'slip', constraint '.*' are linearly dependent at"):
        run(example, 1.0, pseudo={"slip": slip, "omega": phi.d})


@pytest.mark.parametrize("second", [x.d, x.d * (1 + y), y * y.d])
def test_pseudo_velocities_that_are_dependent_at_the_start(second):
    system = System([x, y], (x.d**2 + y.d**2) / 2, x**2 / 2 + y)
    with pytest.raises(FormNotApplicable, match=r"'r' (are linearly dependent|contains no velocity) at the start"):
        simulate(system, {x: 1, x.d: 0.5}, 1.0, pseudo={"p": x.d, "r": second})
    fine = simulate(system, {x: 1, x.d: 0.5}, 1.0, pseudo={"p": x.d, "r": 1e-3 * y.d + x * x.d})
    assert fine.ok and fine.final[y] == pytest.approx(-0.5)


@pytest.mark.parametrize("light", [1e-24, 1.0, 1e24])
def test_pseudo_velocities_of_light_bodies_are_not_dependent(light):
    """A wheel of radius √light, whose rim has the pseudo-velocity; or a body beside one that is much heavier."""
    r = light**0.5 if light < 1 else 1.0
    system = System([x, y], (x.d**2 + light * y.d**2) / 2, x**2 / 2)
    motion = simulate(system, {x: 1, y.d: 1}, 1.0, pseudo={"p": x.d, "rim": x.d + r * y.d})
    assert motion.ok and motion.final[x] == pytest.approx(math.cos(1.0), abs=1e-8)


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["auto", "vm"])
def test_singular_configuration_keeps_the_motion_up_to_there(backend):
    """A toggle: two rods in line, where the rows lose rank with the crank still moving."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motion = simulate(toggle(), toggle_start(), 5.0, backend=backend, rtol=1e-9)
        motion.reaction("loop x")
    stops = [w for w in caught if issubclass(w.category, AppellWarning) and "stopped at" in str(w.message)]
    assert len(stops) == 1
    assert motion.status in (Status.SINGULAR, Status.STEP_TOO_SMALL, Status.PROJECTION_FAILED)
    assert not motion.ok and len(motion) > 5 and motion.t[-1] == pytest.approx(2 - 2 * math.cos(1.0), abs=1e-6)
    assert motion.statistics["steps"] < 500  # a share of the way that is left each, not the noise of accelerations
    assert "stopped at t =" in motion.message and np.isfinite(motion.q).all() and np.isfinite(motion.v).all()
    assert motion.drift.position < 1e-9


def toggle() -> System:
    """A parallelogram of unit rods with the crank driven flat by a torque: at θ = 0 the rows are parallel."""
    a, b, s = coordinates("a b s")
    rows = [Constraint(cos(a) + cos(b) - s, name="loop x"), Constraint(sin(a) + sin(b), name="loop y")]
    gate = Constraint(s.d - 1, name="slider")
    return System([a, b, s], (a.d**2 + b.d**2 + s.d**2) / 2, constraints=[*rows, gate])


def toggle_start() -> dict:
    a, b, s = coordinates("a b s")
    rate = -1 / (2 * math.sin(1.0))
    return {a: 1.0, b: -1.0, s: 2 * math.cos(1.0), s.d: 1.0, a.d: rate, b.d: -rate}


@pytest.mark.parametrize("backend", ["auto", "vm"])
@pytest.mark.parametrize("times", [None, np.linspace(0, 5, 11)])
def test_nan_never_comes_back_silently(backend, times):
    """A force that ceases to exist: √(1 − t) and log(1 − x)."""
    for force in (sqrt(1 - t), log(1 - x)):
        system = System([x], x.d**2 / 2, forces={x: force})
        with pytest.warns(AppellWarning, match="stopped at t = "):
            motion = simulate(system, {x.d: 2.0}, 5.0, backend=backend, times=times)
        assert motion.status in (Status.NOT_FINITE, Status.STEP_TOO_SMALL)
        assert np.isfinite(motion.q).all() and np.isfinite(motion.v).all() and np.isfinite(motion.energy).all()
        assert 0.5 < motion.t[-1] <= 1.0
        if times is not None:
            assert np.array_equal(motion.t[:-1], times[: len(motion) - 1])


def test_blow_up_stops_before_infinity():
    system = System([x], x.d**2 / 2, forces={x: 6 * x**2})  # x = 1/(1 − t)² blows up at t = 1
    with pytest.warns(AppellWarning, match="stopped at t = "):
        motion = simulate(system, {x: 1.0, x.d: 2.0}, 2.0)
    assert not motion.ok and np.isfinite(motion.q).all()
    assert motion.t[-1] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("method", ["cvodes", "idas"])
def test_stiff_methods_keep_what_they_have(method, capfd):
    system = System([x], x.d**2 / 2, forces={x: sqrt(1 - t)})
    with pytest.warns(AppellWarning, match="stopped at t = "):
        motion = simulate(system, {x.d: 1.0}, 2.0, method=method)
    assert not motion.ok and 0.5 < motion.t[-1] <= 1.0 and np.isfinite(motion.q).all()


def test_switching_force_is_integrated():
    force = Piecewise((1, t < 1), (-1, True))
    motion = simulate(System([x], x.d**2 / 2, forces={x: force}), {}, 2.0, rtol=1e-9, times=[1.0, 2.0])
    assert motion[x] == pytest.approx([0.5, 1.0], abs=1e-6)  # the step control finds the jump


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dop853", "cvodes"])
def test_progress_is_told(method):
    seen: list[float] = []
    run(zoo.rolling_disc(), 200.0, progress=seen.append, method=method, rtol=1e-6)
    assert seen and seen[-1] == 200.0 and seen == sorted(seen)


def test_progress_bar_and_silence(capfd):
    run(zoo.pendulum(), 1.0)
    assert capfd.readouterr() == ("", "")
    run(zoo.pendulum(), 1.0, progress=True)
    assert "simulating" in "".join(capfd.readouterr())


def test_exception_in_progress_ends_the_run():
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(zoo.rolling_disc(), 1e5, progress=stop)


# --- continuing -------------------------------------------------------------------------------------------------------


def test_final_state_goes_on():
    example = zoo.turning_knife_edge()
    whole = run(example, 4.0, rtol=1e-11, times=[4.0])
    half = run(example, 2.0, rtol=1e-11)
    rest = simulate(example.system, half.final, 4.0, example.parameters, since=2.0, rtol=1e-11, times=[4.0])
    assert rest.q == pytest.approx(whole.q, abs=1e-8) and rest.statistics["start_moved"] < 1e-12


def test_runs_do_not_disturb_each_other():
    one, other = run(zoo.skate(), 1.0), run(zoo.skate(), 1.0)
    assert np.array_equal(one.q, other.q) and np.array_equal(one.t, other.t)


def test_a_warning_points_at_the_line_of_the_user():
    """ẍ = 6x² blows up at t = 1."""
    x = coordinates("x")
    with pytest.warns(AppellWarning, match="stopped at t = 1") as heard:
        simulate(System([x], x.d**2 / 2, -2 * x**3, name="blow-up"), {x: 1.0, x.d: 2.0}, 2.0)
    assert heard[0].filename == __file__
