"""Walls in lanes: closed forms, the same impacts as `simulate`, and what is handed over to it."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin

import appell as ap
from appell.errors import Status

pytestmark = pytest.mark.compiler
x, y = ap.coordinates("x y")
OSCILLATOR = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[ap.Unilateral(x - 0.5, "wall")], name="oscillator")


def compared(system, starts, until, rtol=1e-9):
    """Largest difference of final states from `simulate`, and whether the numbers of impacts are the same."""
    symbols = (*system.coordinates, *system.velocities)
    keep = {"blows": ap.reduce.impacts(), **{f"end {s}": ap.reduce.final(s) for s in symbols}}
    found = ap.simulate_many(system, starts, until, {}, rtol=rtol, keep=keep).dataset
    worst, same = 0.0, True
    for k in range(found.sizes["run"]):
        motion = ap.simulate(system, {s: v[k] for s, v in starts.items()}, until, {}, rtol=rtol)
        end = np.concatenate([motion.q[-1], motion.v[-1]])
        mine = np.array([v.values[k] for v in found.data_vars.values() if v.attrs.get("reduction") == "final"])
        worst = max(worst, float(np.abs(end - mine).max()))
        same &= int(found.blows[k]) == sum(impact.kind == "impact" for impact in motion.impacts)
    return found, worst, same


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_an_elastic_wall_has_its_closed_form(method):
    start, until = np.linspace(0.8, 2.0, 21), 30.0
    flight = 2 * np.arccos(0.5 / start)
    blows = np.floor(until / flight + 0.5)
    keep = {
        "blows": ap.reduce.impacts(), "end": ap.reduce.final(x), "speed": ap.reduce.max(x.d), "low": ap.reduce.min(x),
        "energy": ap.reduce.energy_error(),
    }  # fmt: skip
    found = ap.simulate_many(OSCILLATOR, {x: start}, until, {}, keep=keep, method=method).dataset
    assert found.attrs["path"] == "lanes" and (found.status == Status.OK).all()
    np.testing.assert_array_equal(found.blows, blows)
    np.testing.assert_allclose(found.end, start * np.cos(until - blows * flight), atol=1e-8)
    np.testing.assert_allclose(found.low, 0.5, atol=1e-9)
    np.testing.assert_allclose(found.speed, np.sqrt(start**2 - 0.25), rtol=1e-8)  # just after a blow
    assert found.energy.max() < 1e-8


def test_states_and_expressions_between_impacts():
    system = OSCILLATOR.replace(constraints=[ap.Unilateral(x - 0.5, "wall", restitution=0.9)])
    times = np.linspace(0, 6, 41)
    starts = {x: np.array([1.3, 1.0])}
    found = ap.simulate_many(system, starts, 6.0, {}, keep=times).dataset
    for i in range(2):
        motion = ap.simulate(system, {x: starts[x][i]}, 6.0, {}, times=times)
        np.testing.assert_allclose(found.x[i], motion[x], atol=1e-9)
        np.testing.assert_allclose(found.x_d[i], motion[x.d], atol=1e-9)
    keep = {"low": ap.reduce.min(x.d), "top": ap.reduce.max(x.d), "square": ap.reduce.mean(x**2)}
    keep |= {"passes": ap.reduce.crossings(x - 0.7)}
    lanes = ap.simulate_many(system, starts, 6.0, {}, keep=keep).dataset
    single = ap.simulate_many(system, starts, 6.0, {}, keep=keep, backend="vm").dataset
    np.testing.assert_allclose(lanes.low, -np.sqrt(starts[x] ** 2 - 0.25), rtol=1e-9)  # just before the first blow
    np.testing.assert_allclose(lanes.top, 0.9 * np.sqrt(starts[x] ** 2 - 0.25), rtol=1e-9)
    np.testing.assert_allclose(lanes.square, single.square, rtol=1e-9)
    np.testing.assert_array_equal(lanes.passes, single.passes)


def test_starts_on_the_wall():
    speeds = np.array([0.1, 0.5, 2.0])
    found, worst, same = compared(OSCILLATOR, {x: np.full(3, 0.5), x.d: speeds}, 10.0)
    assert worst < 1e-8 and same and found.attrs["path"] == "lanes"


def test_stops_and_a_table_that_vibrates_faster_than_the_body():
    stops = ap.System(
        [x, y], (x.d**2 + y.d**2) / 2, x**2 / 2 + 9.81 * y, forces={x: 3 * cos(2 * ap.t) - x.d / 10},
        constraints=[ap.Between(-1, x, 1, restitution=0.9), ap.Unilateral(y - sin(60 * ap.t) / 100, "table", restitution=0.8)],
    )  # fmt: skip
    starts = {x: np.linspace(-0.9, 0.9, 5), y: np.linspace(0.1, 0.4, 5)}
    found, worst, same = compared(stops, starts, 0.8)
    assert worst < 1e-7 and same and (found.status == Status.OK).all() and "lanes" in found.attrs["path"]


def test_walls_that_move_are_met_where_they_are():
    """Free flight between walls that swing: the path is straight, the distance is not."""
    pair = ap.System([x], x.d**2 / 2, constraints=[ap.Between(-1, x - sin(3 * ap.t) / 3, 1, restitution=0.8)], name="pair")
    starts = np.linspace(-0.6, 0.8, 9)
    found = ap.simulate_many(pair, {x: starts, x.d: 0.7}, 4.0, {}, rtol=1e-8).dataset
    ends = [ap.simulate(pair, {x: start, x.d: 0.7}, 4.0, {}, rtol=1e-11)[x][-1] for start in starts]
    assert found.attrs["path"] == "lanes"
    np.testing.assert_allclose(found.x, ends, atol=1e-7)


RESTING = {
    "ball": ap.System([y], y.d**2 / 2, 9.81 * y, constraints=[ap.Unilateral(y, "floor", restitution=0.5)]),
    "table": ap.System([y], y.d**2 / 2, 9.81 * y, constraints=[ap.Unilateral(y - sin(8 * ap.t) / 5, "table", restitution=0.3)]),
    "plastic": ap.System([y], y.d**2 / 2, 9.81 * y, constraints=[ap.Unilateral(y - sin(8 * ap.t) / 5, "table", restitution=0)]),
    "bowl": ap.System(
        [x, y], (x.d**2 + y.d**2) / 2, 9.81 * y + x**2 / 2 + x * y / 3, forces={x: -x.d / 10},
        constraints=[ap.Unilateral(y - x**2 / 4, "bowl", restitution=0.4)],
    ),
    "links": ap.System(
        [x, y], (2 * x.d**2 + y.d**2 + 2 * x.d * y.d * cos(x - y)) / 2, -9.81 * (2 * cos(x) + cos(y)),
        forces={x: -x.d / 2, y: -y.d / 2}, constraints=[ap.Unilateral(sin(x) + sin(y) + 0.3, "wall", restitution=0.4)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RESTING)
def test_rest_and_release(name):
    """Bouncing that comes to rest, contact, and lifting off again, as in `simulate`: the tables lift the body every period."""
    system = RESTING[name]
    starts = {y: np.linspace(0.4, 1.2, 4)} | ({x: np.linspace(0.3, 1.0, 4)} if len(system.coordinates) > 1 else {})
    found, worst, same = compared(system, starts, 4.0)
    assert worst < 1e-7 and same and found.attrs["path"] == "lanes" and (found.status == Status.OK).all()


def test_reactions_do_the_work_of_a_moving_table():
    starts, system = {y: np.array([0.4, 1.0])}, RESTING["table"]
    keep = {"error": ap.reduce.energy_error(), "low": ap.reduce.min(y), "square": ap.reduce.mean(y**2)}
    lanes, single = (ap.simulate_many(system, starts, 4.0, {}, keep=keep, backend=b).dataset for b in ("auto", "vm"))
    assert lanes.attrs["path"] == "lanes" and lanes.error.max() < 1e-9
    np.testing.assert_allclose(lanes.low, single.low, atol=1e-8)
    np.testing.assert_allclose(lanes.square, single.square, rtol=1e-8)
    times = np.linspace(0, 4, 31)
    found = ap.simulate_many(system, starts, 4.0, {}, keep=times).dataset
    motion = ap.simulate(system, {y: 0.4}, 4.0, {}, times=times)
    np.testing.assert_allclose(found.y[0], motion[y], atol=1e-8)
    np.testing.assert_allclose(found.y_d[0], motion[y.d], atol=1e-7)


def test_starts_at_rest_on_a_wall():
    found, worst, same = compared(RESTING["table"], {y: np.zeros(2), y.d: np.full(2, 1.6)}, 1.0)
    assert worst < 1e-8 and same and found.attrs["path"] == "lanes"
    found, worst, same = compared(RESTING["ball"], {y: np.zeros(2)}, 1.0)
    assert worst < 1e-12 and same and found.attrs["path"] == "lanes"


def test_corners_are_handed_over():
    wedge = ap.System(
        [x, y], (x.d**2 + y.d**2) / 2, 9.81 * y,
        constraints=[ap.Unilateral(y - x, "right", restitution=0.5), ap.Unilateral(y + x, "left", restitution=0.5)],
    )  # fmt: skip
    found, worst, same = compared(wedge, {x: np.array([0.0, 0.3]), y: np.array([1.0, 0.4])}, 3.0)
    assert worst < 1e-9 and same and found.attrs["path"] == "lanes, and 2 runs one by one"
    assert (found.status == Status.OK).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_impacts_at_the_ends_of_steps(dtype):
    """A driven oscillator whose impacts come every 64 steps: each step that should cross the wall ends on it, to rounding."""
    driven = ap.System(
        [x], x.d**2 / 2, x**2 / 2, {x: -x.d / 10 + cos(2 * ap.t)}, [ap.Unilateral(x + 0.3, "wall", 0.9)], name="driven"
    )
    starts = {x: np.linspace(-0.2, 1, 24), x.d: np.linspace(-1, 1, 24)}
    found = ap.simulate_many(driven, starts, 150 * np.pi, {}, step=np.pi / 64, dtype=dtype, method="rk4").dataset
    assert (found.status == Status.OK).all() and found.attrs["path"] == "lanes"
    end = ap.simulate(driven, {x: 0.5}, 150 * np.pi, {})  # all of them are drawn to one motion
    assert np.abs(found.x.values - end[x][-1]).max() < (1e-5 if dtype is np.float64 else 1e-4)  # of order 4


def test_no_lane_tries_for_ever():
    """A start of a basin whose lane came no further: trials without a step end, and the run is made one by one."""
    example = ap.zoo.oscillator_with_wall()
    values = {"Delta": -0.3, "Omega": 1.0, "epsilon": 2.0, "h": 0.1, "omega": 3.5}
    symbols = (*example.system.coordinates, *example.system.velocities)
    start = dict(zip(symbols, (-1.0847847847847847, 1.125125125125125), strict=True))
    many = ap.simulate_many(
        example.system, {s: [v] for s, v in start.items()}, 24 * np.pi / 1.75, values, rtol=1e-8, atol=1e-10, method="taylor"
    ).dataset
    one = ap.simulate(example.system, start, 24 * np.pi / 1.75, values, rtol=1e-8, atol=1e-10, method="taylor")
    assert (many.status == Status.OK).all()
    # 65 impacts carry 1e-8 to 1e-4: both methods are so far from the motion at rtol = 1e-12
    assert np.abs(many[str(example.system.coordinates[0])].values[0] - one.q[-1, 0]) < 5e-4


TABLE = ap.System([x], x.d**2 / 2, 9.81 * x, constraints=[ap.Unilateral(x - 0.35 * sin(5 * ap.t), "table", 0.75)], name="ball")
BOWL = ap.System(
    [x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, {x: -x}, [ap.Unilateral(y - x**2 / 2, "bowl", 0.4)], name="ball in a bowl"
)


@pytest.mark.parametrize("how", [{"step": 0.01}, {"rtol": 1e-8}], ids=["fixed", "adaptive"])
@pytest.mark.parametrize("system", [TABLE, BOWL], ids=["table", "bowl"])
def test_a_run_does_not_know_its_neighbours(system, how):
    """To the last bit, in whatever order runs of different lengths take their lanes: also after one that ended in contact."""
    rng = np.random.default_rng(5)
    n, order = 200, rng.permutation(200)
    above = rng.uniform(0.4, 1.2, n)
    starts = np.stack([above, *([above] if system is BOWL else []), *rng.uniform(-1, 1, (system.nv, n))], axis=1)
    ends = rng.uniform(2.0, 4.0, n)
    found = ap.simulate_many(system, starts, until=ends, threads=2, **how).dataset
    again = ap.simulate_many(system, starts[order], until=ends[order], threads=1, **how).dataset
    assert found.attrs["path"] == again.attrs["path"] == "lanes"
    for name in ("x", "x_d"):
        assert np.array_equal(found[name].values[order], again[name].values)


def test_floats_on_a_table_that_shakes_the_body_off():
    """Where a body leaves with hardly any rate, a distance that is rounding does not tell when it was there: no leap."""
    example, rng = ap.zoo.block_on_vibrating_table(), np.random.default_rng(0)
    n = 400
    starts = np.stack([rng.uniform(0.03, 0.1, n), rng.uniform(-0.3, 0.3, n)], axis=1)
    values = {symbol: value * rng.uniform(0.9, 1.1, n) for symbol, value in example.parameters.items()}
    double, single = (
        ap.simulate_many(example.system, starts, 2.0, values, step=0.004, dtype=kind).dataset
        for kind in (np.float64, np.float32)
    )
    assert np.abs(double.z.values - single.z.values).max() < 1e-3
