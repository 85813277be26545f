"""What a motion with impacts tells: values, events, reactions, energy, other times, files, pictures; and what is refused."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from sympy import Mod, cos, sin

import appell as ap
from appell import zoo
from appell.backends import reason_against_c
from appell.errors import ConstraintError, FormNotApplicable, ModelError, Status

matplotlib.use("Agg")
x, y, z = ap.coordinates("x y z")
g, e = ap.parameters("g e", positive=True)
floor = ap.Unilateral(z, "floor", e)
ball = ap.System([z], z.d**2 / 2, g * z, constraints=[floor], name="ball")
HALF = {g: 10.0, e: 0.5}
BACKENDS = ["vm"] if reason_against_c() else ["c", "vm"]
FIRST = np.sqrt(0.2)


def dropped(**options):
    return ap.simulate(ball, {z: 1.0}, 2.0, HALF, rtol=1e-12, atol=1e-14, **options)


# -- what it tells -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_impacts_hold_time_name_rates_and_impulse(backend):
    motion = dropped(backend=backend)
    first, second = motion.impacts[:2]
    assert first.constraint == "floor" and first.kind == "impact"
    assert first.time == pytest.approx(FIRST, abs=1e-13)
    speed = np.sqrt(20)
    assert (first.before, first.after, first.impulse) == pytest.approx((-speed, speed / 2, 1.5 * speed))
    assert second.time == pytest.approx(2 * FIRST) and second.before == pytest.approx(-speed / 2)
    assert motion.impacts[-1].kind == "landing" and motion.impacts[-1].time == pytest.approx(3 * FIRST, abs=1e-9)
    times = [impact.time for impact in motion.impacts]
    assert times == sorted(times)


def test_states_before_and_after_an_impact_are_both_kept():
    motion = dropped()
    k = int(np.flatnonzero(motion.t == motion.impacts[0].time)[0])
    assert motion.t[k] == motion.t[k + 1] and motion[z.d][k] == pytest.approx(-2 * motion[z.d][k + 1])
    assert (np.diff(motion.t) >= 0).all() and motion[z].min() > -1e-14


def test_reaction_is_zero_in_flight_and_the_weight_at_rest():
    motion = dropped()
    lying = motion.t > motion.impacts[-1].time
    assert (motion.reaction(floor)[~lying][:-2] == 0).all()
    np.testing.assert_allclose(motion.reaction("floor")[lying], 10.0)
    assert lying.sum() >= 1
    np.testing.assert_allclose(motion.at([1.8, 1.9])[z.dd], 0.0, atol=1e-12)
    np.testing.assert_allclose(motion.at([0.1, 0.6])[z.dd], -10.0)


def test_a_sample_before_a_plastic_blow_is_still_free():
    motion = ap.simulate(ball, {z: 1.0}, 1.0, {g: 10.0, e: 1e-300})
    k = int(np.flatnonzero(motion.t == motion.impacts[0].time)[0])
    assert motion[z.dd][k] == pytest.approx(-10.0) and motion.reaction(floor)[k] == 0


def test_the_reaction_of_two_stops_has_a_sign():
    stops = ap.Between(-1, x, 1, "stops", 0)
    system = ap.System([x], x.d**2 / 2, forces={x: 3 * cos(ap.t)}, constraints=[stops])
    motion = ap.simulate(system, {}, 6.0, rtol=1e-10)
    at = motion.at([1.5, 4.0])
    np.testing.assert_allclose(at[x], [1, -1], atol=1e-10)
    np.testing.assert_allclose(at.reaction(stops), -3 * np.cos([1.5, 4.0]), atol=1e-9)
    assert {impact.constraint for impact in motion.impacts} == {"stops:lower", "stops:upper"}


def test_energy_falls_by_what_the_impacts_take():
    motion = dropped()
    assert motion.energy[0] == pytest.approx(10.0) and motion.energy[-1] == pytest.approx(0.0, abs=1e-12)
    lost = [(impact.before**2 - impact.after**2) / 2 for impact in motion.impacts]
    assert sum(lost) == pytest.approx(10.0)
    assert np.abs(motion.balance).max() < 1e-12
    assert "impact" in str(motion.verify())


# -- requested and other times -----------------------------------------------------------------------------------------


def height(t):
    """z of the ball at times before it has come to rest."""
    start, v = 0.0, None
    value = np.where(t < FIRST, 1 - 5 * t**2, np.nan)
    start, v = FIRST, np.sqrt(20) / 2
    for _ in range(25):
        tau = t - start
        value = np.where((tau >= 0) & (tau < v / 5), v * tau - 5 * tau**2, value)
        start, v = start + v / 5, v / 2
    return value


@pytest.mark.parametrize("backend", BACKENDS)
def test_times_are_returned_exactly_and_on_the_motion(backend):
    times = np.linspace(0, 1.3, 53)
    motion = dropped(times=times, backend=backend)
    assert np.array_equal(motion.t, times)
    np.testing.assert_allclose(motion[z], height(times), atol=1e-11)
    assert motion.impacts[0].kind == "impact"
    later = dropped(backend=backend).at(times[::-1])
    np.testing.assert_allclose(later[z], height(times[::-1]), atol=1e-11)


@pytest.mark.parametrize("backend", BACKENDS)
def test_at_an_impact_the_state_after_it_is_returned(backend):
    hits = [impact.time for impact in dropped(backend=backend).impacts[:3]]
    asked = dropped(times=[0.0, *hits, 2.0], backend=backend)
    after = np.sqrt(20) / 2 ** np.arange(1, 4)
    np.testing.assert_allclose(asked[z.d][1:4], after, rtol=1e-11)
    np.testing.assert_allclose(dropped(backend=backend).at(hits)[z.d], after, rtol=1e-11)
    start = ap.simulate(ball, {z.d: -2.0}, 0.1, HALF, times=[0.0], backend=backend)
    assert start[z.d] == pytest.approx([1.0])


def test_a_run_continues_where_another_ended():
    whole, part = dropped(), ap.simulate(ball, {z: 1.0}, 0.7, HALF, rtol=1e-12, atol=1e-14)
    rest = ap.simulate(ball, part.final, 2.0, HALF, since=0.7, rtol=1e-12, atol=1e-14)
    joined = [i.time for i in (*part.impacts, *rest.impacts)]
    np.testing.assert_allclose(joined[:8], [i.time for i in whole.impacts][:8], atol=1e-11)


# -- files and pictures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_impacts_and_reactions_are_saved_and_loaded(suffix, tmp_path):
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    motion = dropped()
    loaded = ap.load(motion.save(tmp_path / f"ball{suffix}"))
    assert loaded.impacts == motion.impacts
    assert loaded.contact_names == motion.contact_names == ("floor",)
    np.testing.assert_array_equal(loaded.reaction(floor), motion.reaction(floor))
    np.testing.assert_array_equal(loaded.reaction("floor"), motion.reaction("floor"))
    loaded.plot()
    assert ap.load(ap.simulate(ball, {z: 1.0}, 0.1, HALF).save(tmp_path / "short.nc")).impacts == ()


def test_pictures_do_not_join_what_jumps():
    motion = dropped()
    figure = motion.plot(z.d)
    curve = figure.axes[0].lines[0]
    assert np.isnan(curve.get_ydata()).sum() >= 5  # a gap at each impact that shows
    steps = np.abs(np.diff(np.asarray(curve.get_ydata(), dtype=float)))
    assert np.nanmax(steps) < 0.5  # no line across an impact, which jumps by 6.7
    ticks = figure.axes[0].lines[1]
    assert len(ticks.get_xdata()) == sum(i.kind == "impact" for i in motion.impacts)
    assert len(motion.plot().axes) == 3  # coordinates, reactions, energy error


def test_runs_backwards_share_one_reversed_system(monkeypatch):
    """Each of eight breaks starts the loop again, in each run; what they need is derived before the second break."""
    push = ap.System([x], x.d**2 / 2, forces={x: Mod(ap.t, 1)}, constraints=[ap.Between(-1, x, 1, "walls")], name="push")
    derived = []
    replace = ap.System.replace
    monkeypatch.setattr(ap.System, "replace", lambda *args, **given: derived.append(1) or replace(*args, **given))
    for start in (0.1, 0.2):
        there = ap.simulate(push, {x: start, x.d: 1.0}, 4.5, since=-3.5)
        back = ap.simulate(push, there.final, -3.5, since=4.5)
        assert back.final[x] == pytest.approx(start, abs=1e-8) and len(back.impacts) == len(there.impacts)
    assert len(derived) <= 2


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = {
    "outside": (lambda: ap.simulate(ball, {z: -0.1}, 1.0, HALF), ConstraintError, "violates 'floor'.*-0.1"),
    "restitution": (lambda: ap.Unilateral(z, "w", 1.5), ConstraintError, r"must lie in \[0, 1\]"),
    "restitution value": (lambda: ap.simulate(ball, {z: 1.0}, 1.0, {g: 1, e: 1.5}), ModelError, "restitution.*1.5"),
    "no coordinate": (lambda: ap.Unilateral(sin(ap.t), "w"), ConstraintError, "contains no coordinate"),
    "no gradient": (lambda: ap.System([x], x.d**2, constraints=[ap.Unilateral(x**2)]), ConstraintError, "vanishing gradient"),
    "bounds": (lambda: ap.Between(1, x, 0, "w"), ConstraintError, "not below"),
    "bounds by value": (
        lambda: ap.simulate(ap.System([x], x.d**2, constraints=[ap.Between(g, x, e, "w")]), {x: 1.5}, 1.0, {g: 2.0, e: 1.0}),
        ConstraintError, "the bounds of unilateral constraint 'w' are crossed: upper − lower is -1",
    ),
    "backwards": (lambda: ap.simulate(ball, {z: 1.0}, -1.0, HALF), ConstraintError, "elastic impacts only"),
    "pseudo": (lambda: ap.simulate(ball, {z: 1.0}, 1.0, HALF, pseudo={"u": z.d}), FormNotApplicable, "pseudo="),
    "stiff": (lambda: ap.simulate(ball, {z: 1.0}, 1.0, HALF, method="cvodes"), ModelError, "does not locate impacts"),
    "corner": (lambda: ap.simulate(ball, {z: 1.0}, 1.0, HALF, corner="both"), ModelError, "corner= is one of"),
    "step": (lambda: ap.simulate(ball, {z: 1.0}, 1.0, HALF, step=-1.0), ModelError, "step= must be positive"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_reason(name):
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_step_budget_ends_a_run_with_what_it_had(backend):
    with pytest.warns(UserWarning, match="step budget"):
        motion = ap.simulate(ball, {z: 1.0}, 2.0, HALF, max_steps=5, backend=backend)
    assert motion.status is Status.MAX_STEPS and 0 < motion.t[-1] < 2


def test_every_zoo_example_with_impacts_runs_at_coarse_tolerances():
    for name in ("oscillator_with_wall", "arm_with_joint_stops", "thread_pendulum", "impact_pair", "ball_in_corner"):
        example = getattr(zoo, name)()
        motion = ap.simulate(example.system, example.start, example.until, example.parameters, rtol=1e-4, atol=1e-6)
        assert motion.ok and len(motion.impacts) > 1
