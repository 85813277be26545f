"""What is kept of long runs: every k-th step, folders, and runs that go on after an interruption."""

from contextlib import suppress

import numpy as np
import pytest
from sympy import cos, pi, sin

import appell as ap
from appell.errors import ModelError
from appell.simulate.loop.kept_folder import KeptFolder

x, y = ap.coordinates("x y")
SWING = ap.System([x], x.d**2 / 2, -cos(x), {x: sin(ap.t) / 10})
ROD = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[x**2 + y**2 - 1])
CASES = {"swing": (SWING, {x: 1.0}), "rod": (ROD, {y: -1.0, x.d: 1.0})}


@pytest.mark.parametrize(("name", "how"), [
    ("swing", {}),
    ("rod", {"rtol": 1e-6, "backend": "vm"}),
    ("swing", {"method": "dop853", "step": 0.1, "backend": "vm"}),
])  # fmt: skip
def test_every_tenth_step_is_a_tenth_of_the_steps_and_the_last(name, how):
    system, start = CASES[name]
    whole, some = (ap.simulate(system, start, 40.0, keep=k, **how) for k in (None, 10))
    assert (some.t[:-1] == whole.t[::10][: len(some.t) - 1]).all() and some.t[-1] == whole.t[-1] == 40
    assert (some.q[-1] == whole.q[-1]).all() and some.ok and some.statistics["steps"] == whole.statistics["steps"]
    assert some.at(33.3)[x] == pytest.approx(whole.at(33.3)[x], abs=1e-4)


class Interrupted(Exception):
    pass


STIFF = ap.System([x], x.d**2 / 2, 5 * x**2, {x: -10_000 * x.d + sin(ap.t)})
LONG = {
    "dop853": (SWING, 400.0, {"method": "dop853"}),
    "radau": (SWING, 60.0, {"method": "radau", "rtol": 1e-10}),
    "conserving": (SWING, 40.0, {"method": "conserving", "step": 0.02}),
    "auto": (STIFF, 400.0, {}),
    "vm": (SWING, 40.0, {"method": "dopri5", "rtol": 1e-8, "backend": "vm"}),
}


@pytest.mark.parametrize("name", LONG)
def test_an_interrupted_run_goes_on_bit_by_bit_as_if_it_had_not_been(name, tmp_path, monkeypatch):
    system, until, how = LONG[name]
    monkeypatch.setattr("appell.simulate.loop.keeping.STEPS_OF_LEG", 100)
    whole = ap.simulate(system, {x: 1.0}, until, keep=(tmp_path / "whole", 3), **how)
    monkeypatch.setattr("appell.simulate.loop.keeping.SECONDS_BETWEEN_WRITINGS", 0.0)
    for share in (0.05, 0.4, 0.7, 2.0):

        def interrupt(t, end=share * until):
            if t > end:
                raise Interrupted

        with suppress(Interrupted):
            later = ap.simulate(system, {x: 1.0}, until, keep=(tmp_path / "parts", 3), progress=interrupt, **how)
    assert whole.statistics["steps"] > 300 and later.notes == whole.notes
    assert (later.t == whole.t).all() and (later.q == whole.q).all() and (later.v == whole.v).all() and later.ok
    again = ap.simulate(system, {x: 1.0}, until, keep=(tmp_path / "parts", 3), **how)
    assert (again.t == later.t).all() and (again.q == later.q).all() and again.notes == later.notes


def test_reductions_of_one_run_are_those_of_the_closed_form_however_often_it_is_interrupted(tmp_path, monkeypatch):
    swings = ap.System([x], x.d**2 / 2, x**2 / 2, name="oscillator")
    keep = {
        "top": ap.reduce.max(x), "integral": ap.reduce.integral(x**2), "mean": ap.reduce.mean(x.d**2),
        "end": ap.reduce.final(x), "zeros": ap.reduce.crossings(x), "first": ap.reduce.first_crossing(x, -1),
        "drift": ap.reduce.energy_error(),
    }  # fmt: skip
    end, since = 310.0, 1e6  # 98.7 half turns, as the clock of a day shows them
    want = {"top": 1.0, "integral": end / 2 + sin(2 * end) / 4, "mean": 0.5 - sin(2 * end) / 4 / end, "end": cos(end)}
    want |= {"zeros": 99, "first": since + float(pi) / 2}
    monkeypatch.setattr("appell.simulate.loop.keeping.STEPS_OF_LEG", 100)
    monkeypatch.setattr("appell.simulate.loop.keeping.SECONDS_BETWEEN_WRITINGS", 0.0)
    run = lambda keep, **how: ap.simulate(swings, {x: 1.0}, since + end, since=since, rtol=1e-11, keep=keep, **how)
    plain = run(keep)
    assert len(plain.t) == 2 and plain.ok and plain.reduced["drift"] < 1e-7
    for name, value in want.items():
        assert plain.reduced[name] == pytest.approx(float(value), abs=1e-6), name
    for share in (0.1, 0.5, 0.9):

        def interrupt(t, stop=since + share * end):
            if t > stop:
                raise Interrupted

        with suppress(Interrupted):
            run((tmp_path, keep, 40), progress=interrupt)
    found, again = run((tmp_path, keep, 40)), run((tmp_path, keep, 40))
    assert found.reduced == again.reduced == plain.reduced and 2 < len(found.t) < plain.statistics["steps"] / 30
    with pytest.raises(ModelError, match="holds the steps of another run"):
        run((tmp_path, {**keep, "top": ap.reduce.max(x**2)}, 40))
    with pytest.raises(ModelError, match="cannot be combined with pseudo="):
        run(keep, pseudo={"w": x.d})
    assert ap.load(plain.save(tmp_path.parent / "swings.nc")).reduced == plain.reduced


def test_another_run_is_not_mixed_in(tmp_path):
    ap.simulate(SWING, {x: 1.0}, 1.0, keep=tmp_path / "run", backend="vm")
    for change in ({"until": 2.0}, {"rtol": 1e-6}, {"keep": (tmp_path / "run", 2)}):
        asked = {"start": {x: 1.0}, "until": 1.0, "keep": tmp_path / "run", "backend": "vm", **change}
        with pytest.raises(ModelError, match="holds the steps of another run"):
            ap.simulate(SWING, **asked)
    with pytest.raises(ModelError, match="holds the steps of another run"):
        ap.simulate(SWING.replace(forces={x: sin(ap.t) / 11}), {x: 1.0}, 1.0, keep=tmp_path / "run", backend="vm")


def test_what_cannot_be_meant_is_refused(tmp_path):
    for keep in (0, True, 1.5, (3, 3, 3), {"a": 1}, {}, (), ap.reduce.max(x), ({"a": ap.reduce.max(x)}, 3, 5)):
        with pytest.raises(ModelError, match="keep="):
            ap.simulate(SWING, {}, 1.0, keep=keep, backend="vm")
    with pytest.raises(ModelError, match="give one of them"):
        ap.simulate(SWING, {}, 1.0, keep=2, times=[0.5], backend="vm")
    u = ap.parameters("u")
    with pytest.raises(ModelError, match="cannot be combined with control="):
        ap.simulate(SWING.replace(forces={x: u}), {}, 1.0, keep=2, control=lambda t, q, v: {u: 0}, rate=1, backend="vm")
    with pytest.raises(ModelError, match="'cvodes', whose steps are not stored"):
        ap.simulate(SWING, {}, 1.0, keep=2, method="cvodes")
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ModelError, match="with other contents"):
        KeptFolder(tmp_path, "", 1, 3)


@pytest.mark.parametrize("backend", ["c", "vm"])
@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize(("since", "off"), [(0.0, 1e-11), (1e6, 1e-7)])
def test_an_integral_contains_the_last_flights_of_bounces(backend, friction, since, off):
    """∫ ÿ dt = −Σ (1 + e) eᵏ v = −(1 + e) v/(1 − e) of a ball that bounces until it rests: nothing else changes its velocity.

    The flights that are too short to be followed contribute 2.6e-7 m/s, and 1e-6 at t = 1e6 s, where times have nine digits
    less. off: rounding of the times of the last flights that are followed, times g.
    """
    x, y = ap.coordinates("x y")
    floor = ap.Unilateral(y, name="floor", restitution=0.5)
    rows = [floor, *([ap.Friction(x.d, normal=floor, coefficient=0.3)] if friction else [])]
    ball = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, forces={x: sin(ap.t)}, constraints=rows)
    keep = {"change": ap.reduce.integral(y.dd), "mean": ap.reduce.mean(y.dd)}
    motion = ap.simulate(ball, {y: 1.0, x.d: 2.0}, since + 3.0, since=since, backend=backend, keep=keep)
    change = -3 * np.sqrt(2 * 9.81)
    assert motion.ok and abs(motion.reduced["change"] - change) < off and abs(motion.reduced["mean"] - change / 3) < off
    in_steps = ap.simulate(ball, {y: 1.0, x.d: 2.0}, since + 3.0, since=since, backend=backend, keep=(1, keep))
    assert abs(in_steps.reduced["change"] - change) < off


def test_an_integral_contains_the_last_flights_of_two_balls():
    """Each lands while the other still flies, or rests."""
    x, y = ap.coordinates("x y")
    floors = [ap.Unilateral(q, restitution=0.5) for q in (x, y)]
    balls = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * (x + y), constraints=floors)
    keep = {"first": ap.reduce.integral(x.dd), "second": ap.reduce.integral(y.dd)}
    motion = ap.simulate(balls, {x: 1.0, y: 0.3}, 3.0, keep=keep)
    expected = [-3 * np.sqrt(2 * 9.81 * height) for height in (1.0, 0.3)]
    assert motion.ok and [motion.reduced["first"], motion.reduced["second"]] == pytest.approx(expected, abs=1e-11)


def test_an_integral_of_a_landing_without_bounces():
    """e = 0: one impact, no flight after it; ∫ ÿ dt = −v."""
    y = ap.coordinates("y")
    ball = ap.System([y], y.d**2 / 2, 9.81 * y, constraints=[ap.Unilateral(y, restitution=0)])
    motion = ap.simulate(ball, {y: 1.0}, 3.0, keep={"change": ap.reduce.integral(y.dd)})
    assert abs(motion.reduced["change"] + np.sqrt(2 * 9.81)) < 1e-12
