"""A control read at a fixed rate: the motion is that of the held inputs, and everything that a motion can do, this one can."""

from __future__ import annotations

from time import sleep

import matplotlib
import numpy as np
import pytest
from sympy import cos, sin

import appell as ap
from appell.errors import ModelError, SimulationError, Status
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.loop.methods.method_table import methods
from appell.loop.methods.stiff import STIFF
from appell.motion.loaded_motion import LoadedMotion

matplotlib.use("Agg")
import matplotlib.pyplot as plt

x, y = ap.coordinates("x y")
u, w, c = ap.parameters("u w c")
MASS, RATE = 2.0, 20.0
T = MASS * (x.d**2 + y.d**2) / 2
rail = ap.Constraint(y, name="rail")
plant = ap.System([x, y], T, MASS * 9.81 * y, {x: u, y: -w}, constraints=[rail], name="plant")
ROUNDING = 1e-12  # states of size 1 after some hundred steps


def law(t, q, v):
    return {u: -18 * q[0] - 4 * v[0], "w": 40 * np.cos(t)}


def exact(times, law=law, start=(1.0, 0.0), rate=RATE):
    """x, ẋ, u, w at each time by x(t_k + s) = x_k + ẋ_k s + u_k s²/(2m), reading by reading."""
    state, found = np.array(start), []
    readings = np.arange(1 + int(max(times) * rate + 1e-9)) / rate
    for k, t in enumerate(readings):
        answer = law(t, np.array([state[0], 0.0]), np.array([state[1], 0.0]))
        force, side = answer[u], answer.get("w", 0.0)
        at = lambda s, state=state, a=force / MASS: np.array([state[0] + state[1] * s + a * s * s / 2, state[1] + a * s])
        end = readings[k + 1] if k + 1 < len(readings) else np.inf
        found += [(i, *at(time - t), force, side) for i, time in enumerate(times) if t <= time < end]
        state = at(1 / rate)
    return np.array([row[1:] for row in sorted(found)])


def controlled(until=3.0, law=law, start=None, system=plant, rate=RATE, **options) -> ap.Motion:
    return ap.simulate(system, {x: 1.0} if start is None else start, until, control=law, rate=rate, **options)


# --- the motion -------------------------------------------------------------------------------------------------------

GRID = np.linspace(0, 2.999, 50)


OPTIONS = [*({"method": name} for name in methods() if name not in (*STIFF, *CONSERVING)), {"backend": "vm"}, {"step": 0.03}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_state_is_that_of_held_inputs(options):
    """With requested times, and between the steps; the inputs are constant between readings, so the steps are exact."""
    expected = exact(GRID)
    for motion in (controlled(times=GRID, **options), controlled(**options).at(GRID)):
        assert motion[x, x.d] == pytest.approx(expected[:, :2], abs=ROUNDING)
        assert motion[u, w] == pytest.approx(expected[:, 2:], abs=1e-11)


@pytest.mark.parametrize("method", STIFF)
def test_stiff_methods_start_anew_at_each_reading(method):
    motion = controlled(until=1.0, method=method, rtol=1e-9, times=[0.11, 0.5, 1.0])
    assert motion[x, x.d] == pytest.approx(exact(motion.t)[:, :2], abs=1e-7)
    assert len(controlled(until=1.0, method=method)) == 2 * 20  # both sides of each reading


def test_the_control_is_asked_once_at_each_reading_in_order():
    asked = []

    def note(t, q, v):
        asked.append((t, *q, *v))
        q[:], v[:] = np.nan, np.nan  # its own copies
        return {u: 0.0, w: 0.0}

    motion = controlled(until=2.05, law=note, start={x: 1.0, x.d: 0.5}, since=1.0, rate=10)
    t = 1 + np.arange(11) / 10
    assert np.array(asked) == pytest.approx(np.stack([t, 1 + 0.5 * (t - 1), 0 * t, 0.5 + 0 * t, 0 * t], axis=1), abs=ROUNDING)
    assert motion.readings.t == pytest.approx(t) and motion.statistics["readings"] == 11 and motion.ok
    assert controlled(until=0.3, law=note, rate=10).statistics["readings"] == 3  # 0.3·10 is 3, whatever it rounds to
    assert len(controlled(until=0.0, law=note)) == 1


def test_a_compiled_run_takes_a_control_of_some_of_its_parameters():
    run = ap.compile(plant, {u: 7.0, w: 5.0})
    motion = controlled(law=lambda t, q, v: {u: law(t, q, v)[u]}, system=run, times=GRID)
    assert motion[x] == pytest.approx(exact(GRID)[:, 0], abs=ROUNDING)
    assert motion.reaction(rail) == pytest.approx(np.full(50, MASS * 9.81 + 5.0)) and motion.parameters == {w: 5.0}


def test_pseudo_velocities_and_a_control():
    phi, z = ap.coordinates("phi z")
    sleigh = ap.System(
        [x, z, phi], x.d**2 + z.d**2 + phi.d**2 / 2, 0, {phi: u, x: cos(phi), z: sin(phi)},
        constraints=[ap.Constraint(x.d * sin(phi) - z.d * cos(phi), name="blade")],
    )  # fmt: skip
    steer = lambda t, q, v: {u: np.cos(t) - v[2]}
    pseudo = {"pi": x.d * cos(phi) + z.d * sin(phi), "omega": phi.d}
    run = lambda pseudo: ap.simulate(sleigh, {x.d: 1.0}, 3.0, control=steer, rate=50, pseudo=pseudo, rtol=1e-11)
    plain, minimal, t = run(None), run(pseudo), np.linspace(0, 3, 7)
    assert minimal.at(t).q == pytest.approx(plain.at(t).q, abs=1e-9)
    assert minimal.at(t).v == pytest.approx(plain.at(t).v, abs=1e-9)
    assert minimal["omega"] == pytest.approx(minimal[phi.d]) and np.abs(minimal.energy_error).max() < 1e-9


def test_limits_and_progress():
    seen = []
    motion = controlled(law=lambda t, q, v: sleep(1e-3) or law(t, q, v), until=8.0, progress=seen.append)
    assert motion.ok and seen == sorted(seen) and seen[-1] == 8.0 and len(seen) > 2
    with pytest.warns(ap.AppellWarning, match="step budget"):
        stopped = controlled(max_steps=25)
    assert stopped.status is Status.MAX_STEPS and stopped.statistics["steps"] == 25
    assert stopped.at(stopped.t[-1])[x] == pytest.approx(exact([stopped.t[-1]])[:, 0], abs=ROUNDING)
    assert np.diff(controlled(max_step=0.01).t).max() < 0.01 + 1e-9


# --- everything that a motion says --------------------------------------------------------------------------------------

SAMPLES = {"steps": {}, "times": {"times": GRID}}


@pytest.fixture(params=SAMPLES)
def motion(request):
    return controlled(**SAMPLES[request.param])


def after(motion):
    """Samples that are not the first of two at one time, nor the end: there the inputs are those of the reading before."""
    return np.append(np.diff(motion.t) > 0, motion.t[-1] < 3.0)


def test_names_and_parameters(motion):
    assert motion.input_names == ("u", "w") and motion.parameters == {} and motion.system is plant and motion.name == "plant"
    assert motion.coordinate_names == ("x", "y") and motion.reaction_names == ("rail",) and motion.contact_names == ()
    assert motion.impacts == () and motion.contacts == () and motion.redundant == ()
    assert motion.symbol("u") == u and motion.symbol("x.d") == x.d
    assert motion.readings["u"][0] == -18.0 and repr(motion.readings) == "<60 readings of u, w>"
    with pytest.raises(ModelError, match="gives no 'z'; it gives u, w"):
        motion.readings["z"]
    with pytest.raises(ModelError, match="plant has no 'z'"):
        motion["z"]


def test_values_are_under_the_inputs_that_hold(motion):
    here = after(motion)
    expected = exact(motion.t)
    assert motion["u"][here] == pytest.approx(expected[here, 2], abs=1e-11)
    assert motion[u / 2 + x][here] == pytest.approx(expected[here, 2] / 2 + expected[here, 0], abs=1e-11)
    assert motion[x.dd] == pytest.approx(motion[u] / MASS, abs=ROUNDING)
    assert motion.acceleration[:, 0] == pytest.approx(motion[u] / MASS, abs=ROUNDING)
    assert motion.qd == pytest.approx(motion.v)
    assert motion.reaction(rail) == pytest.approx(MASS * 9.81 + motion[w], abs=1e-11)
    assert motion.multipliers[:, 0] == pytest.approx(motion.reaction("rail"))
    series = motion.series("u")
    assert series.meaning == "input u" and series.latex == "u" and np.array_equal(series.values, motion[u])


def test_inputs_jump_between_two_samples_at_a_reading():
    motion = controlled(until=0.2)
    first = np.flatnonzero(np.diff(motion.t) == 0)
    assert motion.t[first] == pytest.approx([0.05, 0.1, 0.15])
    assert motion[u][first + 1] == pytest.approx(-18 * motion[x][first] - 4 * motion[x.d][first], abs=ROUNDING)
    assert motion[u][first] == pytest.approx(motion.readings.values[:3, 0])


def test_energy_balance_and_constraints(motion):
    assert motion.energy == pytest.approx(MASS * (motion.v**2).sum(axis=1) / 2, abs=ROUNDING)
    assert np.abs(motion.balance).max() < 1e-10 and np.abs(motion.energy_error).max() < 1e-10
    assert motion.work == pytest.approx(motion.energy, abs=1e-10)  # it starts at rest
    assert motion.energy_scale == pytest.approx((motion.energy + np.abs(motion.work)).max(), rel=1e-6)
    assert motion.residual.max() < ROUNDING and motion.drift.position < ROUNDING and motion.drift.velocity < ROUNDING
    later = controlled(times=[1.0, 2.0])  # the balance starts where the run did, not with the first sample
    assert np.abs(later.balance).max() < 1e-10 and np.abs(later.work).min() > 1e-3


def test_other_times_in_any_order(motion):
    times = np.array([2.71, 0.0, 0.05, 2.71, 0.0499, 1.0])
    there, expected = motion.at(times), exact(times)
    assert there[x, x.d] == pytest.approx(expected[:, :2], abs=ROUNDING)
    assert there[u, w] == pytest.approx(expected[:, 2:], abs=1e-11)
    assert there.reaction(rail) == pytest.approx(MASS * 9.81 + expected[:, 3], abs=1e-11)
    assert np.abs(there.balance).max() < 1e-10 and there.at(1.3)[x] == pytest.approx(motion.at(1.3)[x])
    fine = motion.fine(200)
    assert len(fine) >= 200 and fine[x] == pytest.approx(exact(fine.t)[:, 0], abs=ROUNDING)
    with pytest.raises(ModelError, match="outside the run from 0 to 3 s"):
        motion.at(3.1)


def test_a_reaction_changes_sign_at_a_reading(motion):
    """Λ = m g + 40 cos t_k: positive until the reading after t = arccos(−m g/40)."""
    changes = np.ceil(np.arccos(-MASS * 9.81 / 40) * RATE) / RATE
    assert motion.release(rail) == pytest.approx([changes], abs=1e-9)


def test_the_end_goes_on_as_if_it_had_not_stopped(motion):
    half = controlled(until=1.5)
    rest = ap.simulate(plant, half.final, 3.0, since=1.5, control=law, rate=RATE)
    assert list(rest.final.values()) == pytest.approx(list(controlled().final.values()), abs=1e-11)
    assert list(motion.final.values()) == pytest.approx([*motion.q[-1], *motion.v[-1]])


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_files(motion, tmp_path, suffix):
    if suffix == "zarr":
        pytest.importorskip("zarr")
    assert motion.dataset["u"].attrs["role"] == "input" and motion.dataset["w"].attrs["long_name"] == "input w"
    loaded = ap.load(motion.save(tmp_path / f"plant.{suffix}"))
    for key in (u, "w", x, x.d, x.dd):
        np.testing.assert_array_equal(loaded[key], motion[key])
    np.testing.assert_array_equal(loaded.reaction(rail), motion.reaction(rail))
    assert loaded.input_names == motion.input_names and loaded.parameters == {} and str(loaded) == str(motion)


def test_verification_and_pictures(motion):
    assert "60 readings, inputs u, w" in str(motion.verify()) and "plant" in repr(motion) and "readings" in motion._repr_html_()
    panels = motion.plot().axes
    assert [panel.get_ylabel() for panel in panels[:2]] == ["coordinates (SI)", "inputs (SI)"]
    stairs = panels[1].lines[0]
    assert stairs.get_drawstyle() == "steps-post" and len(stairs.get_xdata()) >= len(motion)
    assert len(LoadedMotion(motion.dataset).plot("inputs", [u, x]).axes) == 2 and len(motion.plot_path(x, u).axes) == 1
    assert plt.get_fignums(), "plt.show() shows them"
    plt.close("all")


# --- potentials -------------------------------------------------------------------------------------------------------


def test_a_jump_inside_the_potential_does_work():
    """V = c x²/2 with c from the control: each reading does the work Δc x²/2, without which the balance would not close."""
    spring = ap.System([x], x.d**2 / 2, c * x**2 / 2, name="spring")
    stiffness = lambda t, q, v: {c: 5.0 + 3.0 * np.sin(7 * t)}
    for options in ({}, {"times": GRID}):
        motion = ap.simulate(spring, {x: 1.0}, 3.0, control=stiffness, rate=10, rtol=1e-11, **options)
        assert np.abs(motion.energy_error).max() < 1e-10 and np.ptp(motion.energy) > 1
        assert motion.ok and not motion.doubts
        assert np.abs(motion.at([0.05, 1.234, 2.9]).balance).max() < 1e-9
    jumps = motion.readings
    assert jumps.work == pytest.approx(np.cumsum(np.diff(jumps.values[:, 0], prepend=5.0) * jumps.z[:, 0] ** 2 / 2))


# --- failures -------------------------------------------------------------------------------------------------------------

BAD = {
    "raises": (lambda t: {u: 1 / 0}, "the control raised ZeroDivisionError: division by zero"),
    "names": (lambda t: {u: 0.0}, "gives u at t = 1, but gave u, w at the start"),
    "more": (lambda t: {u: 0.0, w: 0.0, "z": 1.0}, "gives 'z', which is not a parameter of plant; it has u, w"),
    "twice": (lambda t: {u: 0.0, "u": 0.0, w: 0.0}, "gives 'u' twice"),
    "nan": (lambda t: {u: np.nan, w: 0.0}, "u = nan at t = 1: not finite"),
    "text": (lambda t: {u: "much", w: 0.0}, "u = 'much' at t = 1: not a number"),
    "nothing": (lambda t: None, "returned NoneType at t = 1; it must map inputs to values"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("options", SAMPLES.values(), ids=SAMPLES)
def test_a_control_that_fails_keeps_the_motion_until_then(bad, options):
    answer, message = BAD[bad]
    failing = lambda t, q, v: answer(t) if t > 0.99 else law(t, q, v)
    with pytest.raises(SimulationError, match=f"stopped at t = 1, before 3: .*{message}") as error:
        controlled(law=failing, **options)
    motion = error.value.motion
    assert motion.status is Status.CONTROL and not motion.ok and motion.t[-1] == 1.0 and motion.message == str(error.value)
    assert motion.at(0.77)[x] == pytest.approx(exact([0.77])[:, 0], abs=ROUNDING)
    assert error.value.__cause__ is not None and "CONTROL" in repr(motion)
    with pytest.raises(ModelError if bad in ("nan", "text", "twice", "more", "nothing") else (ModelError, SimulationError)):
        controlled(law=lambda t, q, v: answer(t))  # at the start nothing is lost yet


def test_a_singular_configuration_under_control_keeps_the_motion():
    fall = ap.System([x], x.d**2 / 2, 0, {x: u / (x - 1)}, name="pole")
    with pytest.warns(ap.AppellWarning, match="stopped at t"):
        motion = ap.simulate(fall, {x: 0.0}, 5.0, control=lambda t, q, v: {u: -1.0}, rate=10)
    assert not motion.ok and 0.5 < motion.t[-1] < 5 and motion["u"][-1] == -1.0


def test_interruptions_pass_through():
    def stop(t, q, v):
        if t > 0.5:
            raise KeyboardInterrupt
        return law(t, q, v)

    with pytest.raises(KeyboardInterrupt):
        controlled(law=stop)


REFUSED = {
    "no rate": ({"control": law}, "give rate= in readings per second"),
    "no control": ({"rate": 10.0}, "rate=10.0 is the rate of a control"),
    "no function": ({"control": {u: 1.0}, "rate": 10.0}, r"function of \(t, q, v\), not dict"),
    "zero": ({"control": law, "rate": 0}, "rate= must be a positive number"),
    "infinite": ({"control": law, "rate": np.inf}, "rate= must be a positive number"),
    "word": ({"control": law, "rate": "fast"}, "rate= must be a positive number"),
    "backwards": ({"control": law, "rate": 10.0, "since": 5.0}, "a control runs forwards"),
    "both": ({"control": law, "rate": 10.0, "parameters": {"u": 1.0}}, "'u' is given by parameters= and by the control"),
    "missing": ({"control": lambda t, q, v: {u: 1.0}, "rate": 10.0}, "no value for the parameter w"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_options_are_refused(case):
    options, message = REFUSED[case]
    with pytest.raises(ModelError, match=message):
        ap.simulate(plant, {x: 1.0}, 3.0, **options)


JUMPING = {
    "the kinetic energy": ap.System([x], (2 + c) * x.d**2),
    "constraint 'rod'": ap.System([x, y], T, constraints=[ap.Constraint(x**2 + y**2 - 1 - c, name="rod")]),
    "constraint 'belt'": ap.System([x, y], T, constraints=[ap.Constraint(x.d - c, name="belt")]),
    "'wall'": ap.System([x], x.d**2, constraints=[ap.Unilateral(x - c + 2, name="wall")]),
}


@pytest.mark.parametrize("where", JUMPING)
def test_inputs_with_which_the_state_would_jump_are_refused(where):
    with pytest.raises(ModelError, match=f"gives 'c', which stands in {where} of .*the state would jump"):
        ap.simulate(JUMPING[where], {x: 1.0}, control=lambda t, q, v: {c: 0.0}, rate=10)


def test_a_control_without_inputs_only_looks_on():
    fall, seen = ap.System([x], x.d**2 / 2, 9.81 * x), []
    motion = ap.simulate(fall, until=1.0, control=lambda t, q, v: seen.append(q[0]) or {}, rate=10)
    assert seen == pytest.approx(-9.81 * (np.arange(10) / 10) ** 2 / 2) and motion.readings.values.shape == (10, 0)
    assert motion.input_names == () and np.abs(motion.energy_error).max() < 1e-12


def test_a_servo_constraint_on_accelerations_takes_an_input():
    servo = ap.System([x, y], T, constraints=[ap.Constraint(x.dd - c, name="servo")])
    motion = ap.simulate(servo, until=1.0, control=lambda t, q, v: {c: t}, rate=4)
    assert motion.reaction("servo") == pytest.approx(MASS * motion[c]) and motion[x.d][-1] == pytest.approx(0.375)


def test_assumptions_on_inputs_hold_at_every_reading():
    p = ap.parameters("p", positive=True)
    pushed = ap.System([x], x.d**2, 0, {x: p})
    with pytest.raises(SimulationError, match="parameter 'p' was declared positive, but its value is -1"):
        ap.simulate(pushed, control=lambda t, q, v: {p: 1.0 if t < 0.5 else -1.0}, rate=10)


def test_a_control_that_raises_at_its_first_reading_is_named():
    x, u = ap.coordinates("x"), ap.parameters("u")
    with pytest.raises(ap.SimulationError, match=r"at the start.*ZeroDivisionError"):
        ap.simulate(ap.System([x], x.d**2 / 2, 0, {x: u}), {}, 1.0, control=lambda t, q, v: {u: 1 / 0}, rate=10)
