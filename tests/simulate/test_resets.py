"""Resets: located as walls are, mapped, followed; what cannot be followed is named."""

import pickle

import numpy as np
import pytest
from sympy import Piecewise

import appell as ap
from appell.model.fingerprint import fingerprint

x, y = ap.coordinates("x y")
g, e, k = ap.parameters("g e k", positive=True)
VALUES = {g: 9.81, e: 0.8}


def ball(*more, potential=g * y):
    bounce = ap.Reset(y, {y.d: -e * y.d}, name="bounce")
    return ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=potential, constraints=[bounce, *more])


BALL = ball()


@pytest.fixture(scope="module")
def motion():
    return ap.simulate(BALL, {y: 1, x.d: 1}, 3.0, VALUES)


def test_a_ball_that_is_mapped_bounces_as_on_a_wall(motion):
    """First touch after √(2/g), then flights of 2 eⁿ √(2/g); the work of each is that of a blow, −(1 − e²) v²/2."""
    first = np.sqrt(2 / 9.81)
    times = first * (1 + 2 * np.cumsum(0.8 ** np.arange(1, 6)))
    assert motion.ok and [event.reset for event in motion.resets] == ["bounce"] * 6
    assert np.allclose([event.time for event in motion.resets], [first, *times], atol=1e-12)
    assert motion.resets[0].work == pytest.approx(-(1 - 0.64) * 9.81, rel=1e-12)
    assert motion.resets[0].after[y.d] == -0.8 * motion.resets[0].before[y.d]
    assert np.abs(motion.energy_error).max() < 1e-13
    inside = np.linspace(0, 3, 9)
    asked = ap.simulate(BALL, {y: 1, x.d: 1}, 3.0, VALUES, times=inside, backend="vm")
    assert np.allclose(asked.q, motion.at(inside).q, atol=1e-11)


AT_ONE_INSTANT = [(0.5 - x, 1 - 2 * x), (0.3 - x, 0.09 - x**2), (0.3 - ap.t, 0.3 - x), (0.3 - x, 0.3 - ap.t)]


@pytest.mark.parametrize(("first", "second"), AT_ONE_INSTANT)
def test_guards_that_fall_at_one_instant_all_trigger(first, second):
    """Both add to the velocity, so that their order does not matter. Where one falls the other is zero, to rounding."""
    maps = [ap.Reset(first, {x.d: x.d + 1}, name="one"), ap.Reset(second, {x.d: x.d + 2}, name="two")]
    motion = ap.simulate(ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=maps), {x.d: 1}, 1.0)
    assert motion.ok and sorted(event.reset for event in motion.resets) == ["one", "two"]
    at = 0.5 if first == 0.5 - x else 0.3
    assert motion.final[x.d] == pytest.approx(4, abs=1e-12) and motion.final[x] == pytest.approx(at + 4 * (1 - at), abs=1e-12)


@pytest.mark.parametrize(("height", "speed"), [(1.0, 1.0), (1.0, 2.0), (0.77, 1.3), (0.3, 1.0)])
@pytest.mark.parametrize("backend", ["c", "vm"])
def test_a_guard_that_jumps_in_an_impact_triggers_once(height, speed, backend):
    """−ẏ falls below zero in the impact at height/speed. A wall is met there to rounding, before the time or after it."""
    rows = [ap.Unilateral(y, "floor", 0.5), ap.Reset(-y.d, {x.d: x.d + 1}, name="hit")]
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=rows)
    motion = ap.simulate(system, {y: height, y.d: -speed}, 2.0, backend=backend)
    assert motion.ok and len(motion.resets) == 1
    assert motion.final[x] == pytest.approx(2 - height / speed, abs=1e-12)


def test_a_motion_with_resets_is_kept_as_it_is(motion, tmp_path):
    again = pickle.loads(pickle.dumps(motion))
    assert again.resets == motion.resets and np.array_equal(again.at([1.7]).q, motion.at([1.7]).q)
    loaded = ap.load(motion.save(tmp_path / "ball.nc"))
    assert loaded.resets == motion.resets
    assert "6 'bounce'" in str(motion.verify())


def test_files_and_digests_know_resets(tmp_path):
    read = ap.read_model(ap.write_model(tmp_path / "ball.toml", BALL, parameters=VALUES)).system
    assert fingerprint(read) == fingerprint(BALL)
    other = BALL.replace(constraints=[ap.Reset(y, {y.d: -y.d}, name="bounce")])
    assert fingerprint(other) != fingerprint(BALL)
    assert pickle.loads(pickle.dumps(BALL)).resets == BALL.resets


def test_many_runs_are_made_one_by_one(motion):
    many = ap.simulate_many(BALL, {y: np.array([1.0, 2.0]), x.d: 1.0}, 3.0, VALUES, rtol=1e-9)
    assert many["y"].values[0] == pytest.approx(motion.final[y], abs=1e-9)


def test_infinitely_many_resets_are_named():
    with pytest.warns(ap.AppellWarning, match="triggers again at once"):
        ended = ap.simulate(BALL, {y: 1}, 20.0, VALUES)
    assert ended.status is ap.Status.JUMP and "'bounce'" in ended.message
    assert ended.t[-1] == pytest.approx(np.sqrt(2 / 9.81) * 1.8 / 0.2, abs=1e-3)


def test_a_map_of_one_may_trigger_another():
    """The racket throws the ball over the height at which the other one catches it: both at one instant, then without end."""
    up = ap.Reset(y, {y: y + 2, y.d: 1}, name="racket")
    down = ap.Reset(1 - y, {y: y - 1.5, y.d: 0}, name="catch")
    system = ap.System([y], kinetic=y.d**2 / 2, potential=g * y, constraints=[up, down])
    found = ap.simulate(system, {y: 0.5}, 0.4, {g: 9.81}, backend="vm")
    assert [event.reset for event in found.resets] == ["racket", "catch"]
    assert found.resets[0].time == found.resets[1].time and found.resets[1].after[y] == pytest.approx(0.5)
    lower = ap.Reset(1 - y, {y: y - 3}, name="catch")
    system = system.replace(constraints=[ap.Reset(y, {y: y + 3}, name="racket"), lower])
    with pytest.warns(ap.AppellWarning, match="trigger each other without end"):
        ap.simulate(system, {y: 0.5}, 1.0, {g: 9.81}, backend="vm")


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (ap.Constraint(x**2 + y**2 - 1, "rod"), "leads off the constraints.*'rod'"),
        (ap.Unilateral(x + 2, "wall"), "leads off the constraints.*'wall'"),
    ],
)
def test_rows_and_walls_hold_after_the_map(row, sentence):
    jump = ap.Reset(x + 0.5, {x: x - 3}, name="jump")
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[row, jump])
    start = {x: 0, y: -1, x.d: -1}
    with pytest.warns(ap.AppellWarning, match=sentence):
        ended = ap.simulate(system, start, 2.0, backend="vm")
    assert ended.status is ap.Status.JUMP and "reset 'jump'" in ended.message


def test_a_guard_that_jumps_in_an_impact_is_met():
    """ẋ jumps over zero at the wall."""
    turned = ap.Reset(-x.d, {y.d: y.d + 1}, name="turned")
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[ap.Unilateral(x, "wall"), turned])
    found = ap.simulate(system, {x: 1, x.d: -1}, 2.0, backend="vm")
    assert [event.time for event in found.resets] == pytest.approx([1.0]) and found.final[y] == pytest.approx(1.0)


def test_a_force_with_cases_and_a_reset():
    system = ball(potential=0).replace(forces={y: Piecewise((-g, x < 1), (-2 * g, True))})
    found = ap.simulate(system, {y: 1, x.d: 1}, 2.0, VALUES, backend="vm")
    beside = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, forces={y: Piecewise((-g, x < 1), (-2 * g, True))},
                       constraints=[ap.Unilateral(y, "floor", restitution=e)])  # fmt: skip
    wall = ap.simulate(beside, {y: 1, x.d: 1}, 2.0, VALUES, backend="vm")
    assert found.final[y] == pytest.approx(wall.final[y], abs=1e-10)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ap.simulate(BALL, {y: 1}, -1.0, VALUES), "time must run forward"),
        (lambda: ap.simulate(BALL, {y: 1}, 1.0, VALUES, method="cvodes"), "does not locate resets"),
        (lambda: ap.simulate(BALL, {y: 1}, 1.0, VALUES, pseudo={"u": y.d, "w": x.d}), "cannot be combined with resets"),
        (lambda: ap.Reset(y < 0, {y: 0}), "falls through zero"),
        (lambda: ap.Reset(y, {}), "maps states"),
        (lambda: ball(ap.Reset(k, {y: 0}, name="never")), "does not change along a motion"),
        (lambda: ball(ap.Reset(x, {"z": 0}, name="other")), "maps z, which is not a state"),
        (lambda: ball(ap.Reset(x, {y: 0}, name="bounce")), "two constraints are called 'bounce'"),
        (lambda: ball(ap.Reset(y.dd, {y: 0}, name="high")), "highest derivative"),
        (lambda: ap.averaged(BALL, small=[g]), "does not follow resets"),
    ],
)  # fmt: skip
def test_what_is_not_followed_is_refused_by_name(call, sentence):
    with pytest.raises(ap.AppellError, match=sentence):
        call()


def test_forms_hold_between_resets():
    assert "between resets ('bounce')" in ap.forms.lagrange(BALL).provenance
    assert "between resets ('bounce')" in ap.agree(BALL, forms="lagrange").message
    assert any(finding.kind == "reset" for finding in ap.diagnose(BALL).findings)
