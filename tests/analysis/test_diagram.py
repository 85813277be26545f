"""`ap.bifurcation_diagram` and `ap.basin`: against single motions, closed forms and known attractors."""

from __future__ import annotations

from warnings import catch_warnings, simplefilter

import numpy as np
import pytest
from sympy import cos, pi, sin, tanh

import appell as ap
from appell import zoo
from appell.analysis.many import periodic_runs
from appell.analysis.many.basin_measures import boundary_dimension
from appell.simulate.many import RunBatch

x, y = ap.coordinates("x y")
c, F, w, e = ap.parameters("c F omega e", positive=True)
WALL = zoo.oscillator_with_wall()
S = WALL.system.coordinates[0]
WILD = {"h": 0.1, "Omega": 1.0, "epsilon": 2.0, "Delta": 0.0}
WELLS = ap.System([x], x.d**2 / 2, -(x**2) / 2 + x**4 / 4, {x: -c * x.d}, name="two wells")


def test_the_same_states_as_single_motions():
    found = ap.bifurcation_diagram(WALL.system, {"omega": [2.3, 2.7]}, skip=5, keep=4, start={S: -0.5}, parameters=WILD)
    assert found.ok and found[S].shape == (2, 4) and found.dataset.s_d.dims == ("omega", "sample")
    for k, omega in enumerate(found.values):
        times = 2 * np.pi / omega * np.arange(6, 10)
        motion = ap.simulate(WALL.system, {S: -0.5}, times[-1], {**WILD, "omega": omega}, times=times)
        assert found.t[k] == pytest.approx(times)
        assert np.hstack([motion.q, motion.v]) == pytest.approx(found.z[k], abs=1e-6)
    series = ap.bifurcation_diagram(
        WALL.system, {"omega": [2.3, 2.7]}, skip=5, keep=4, start={S: -0.5}, parameters=WILD, method="taylor"
    )
    assert series.z == pytest.approx(found.z, abs=1e-6)
    found.plot(S.d)


def test_landing_goes_by_the_table_of_modes():
    """A ball that bounces to rest on a table that shakes too slowly to throw it up again."""
    table = zoo.bouncing_ball("e")
    z = table.system.coordinates[0]
    found = ap.bifurcation_diagram(
        table.system, {"e": [0.3, 0.5]}, skip=2, keep=3, start=table.start, period=1.0,
        parameters={k: v for k, v in table.parameters.items() if str(k) != "e"},
    )  # fmt: skip
    assert found.ok and np.abs(found[z]).max() < 1e-9 and (found.periods == 1).all()


def test_the_ball_on_a_table_doubles_its_period_where_the_closed_form_says():
    """c_d = hypot(V, 2g(1 + e²)/((1 + e)²ω))/ω with V = gT(1 − e)/(2(1 + e)), as in `test_continuation`: once a period, and on
    its impacts."""
    G, E, T = 9.81, 0.7, 0.1
    omega, V = 2 * np.pi / T, G * T * (1 - E) / (2 * (1 + E))
    doubling = np.hypot(V, 2 * G * (1 + E**2) / ((1 + E) ** 2 * omega)) / omega
    table = ap.Unilateral(x - c * sin(omega * ap.t), "table", restitution=E)
    ball = ap.System([x], x.d**2 / 2, G * x, {}, [table], name="ball on a table")
    phi = np.arccos(V / (0.97 * doubling * omega))
    since = phi / omega + T / 2
    start = {x: 0.97 * doubling * np.sin(phi) + G * T**2 / 8}
    values = doubling * np.array([0.97, 0.99, 1.01, 1.03])
    found = ap.bifurcation_diagram(ball, {c: values}, skip=1200, keep=8, start=start, since=since, follow=True)
    assert found.ok and found.periods.tolist() == [1, 1, 2, 2]
    blows = ap.bifurcation_diagram(
        ball, {c: values[[0, 3]]}, skip=400, keep=8, start=start, since=since, section="table", follow=True
    )
    assert blows.ok and blows.periods.tolist() == [1, 2]


def test_hysteresis_by_following():
    """Up and down through the resonance of a Duffing oscillator: two branches where both exist."""
    duffing = ap.System([x], x.d**2 / 2, x**2 / 2 + x**4 / 4, {x: F * cos(w * ap.t) - c * x.d}, name="Duffing")
    values = np.linspace(1.2, 2.2, 11)
    up, down = (
        ap.bifurcation_diagram(duffing, {w: v}, skip=60, keep=2, parameters={F: 0.5, c: 0.1}, follow=True)
        for v in (values, values[::-1])
    )
    gap = np.abs(up[x][:, -1] - down[x][::-1, -1])
    assert gap[0] < 1e-3 and gap.max() > 0.5


def test_following_over_a_wall_that_moves():
    """The end of one value may lie behind the wall of the next, which then begins at the start that was given, and says so."""
    impact = ap.System([x], x.d**2 / 2, x**2 / 2, {x: cos(2 * ap.t) - x.d / 5}, [ap.Unilateral(x + c, "wall", restitution=0.5)])
    found = ap.bifurcation_diagram(impact, {c: [5.0, 0.01]}, skip=9, keep=1, start={x: 0.0}, follow=True)
    assert found[x][0, 0] < -0.1 and found.ok and "the first c = 0.01, begin at start=" in found.message
    alone = ap.bifurcation_diagram(impact, {c: [0.01]}, skip=9, keep=1, start={x: 0.0})
    assert found.z[1] == pytest.approx(alone.z[0], abs=1e-9)


def test_basins_of_two_wells():
    """Both rests are found, the map is odd, and each start goes where its own motion goes."""
    grid = {x: np.linspace(-1.9, 1.9, 12), x.d: np.linspace(-1.5, 1.5, 10)}
    found = ap.basin(WELLS, grid, parameters={c: 0.25})
    assert found.ok and found.labels.shape == (12, 10) and len(found.attractors) == 2
    assert sorted(float(a.points[0, 0]) for a in found.attractors) == pytest.approx([-1, 1], abs=1e-8)
    assert (found.labels == 1 - found.labels[::-1, ::-1]).all()
    for i, j in ((0, 3), (7, 2), (11, 9)):
        start = {x: grid[x][i], x.d: grid[x.d][j]}
        motion = ap.simulate(WELLS, start, 100.0, {c: 0.25})
        assert motion[x][-1] == pytest.approx(found.attractors[found.labels[i, j]].points[0, 0], abs=1e-3)
    assert found.dataset.label.dims == ("x", "x_d")
    assert found.stability == pytest.approx(np.array([[0.5, np.sqrt(0.25 / 120)]] * 2))
    with pytest.raises(ap.ModelError, match="needs 33 × 33 starts"):
        found.boundary_dimension()
    found.plot()


@pytest.mark.parametrize("most", [300, 1000])
def test_a_rest_at_zero_is_one(most):
    """All that late states say of their size is how long they ran; beside a rest at 3 the numbers are larger."""
    for middle in (0.0, 3.0):
        spring = ap.System([x], x.d**2 / 2, (x - middle) ** 2 / 2, {x: -0.2 * x.d})
        found = ap.basin(spring, {x: [middle - 0.5, middle + 0.2, middle + 1.2], x.d: [0.0, 0.1]}, most=most)
        (one,) = found.attractors
        assert found.ok and (found.labels == 0).all() and one.kind == "rest" and abs(one.points[0, 0] - middle) < 1e-9


def test_slow_transients_stay_undecided():
    """With the damping 0.001 nothing has ended after 100 periods; nothing of it is an attractor."""
    found = ap.basin(WELLS, {x: np.linspace(-1.5, 1.5, 6), x.d: np.linspace(-0.3, 0.3, 4)}, parameters={c: 0.001}, most=100)
    assert not found.ok and not found.attractors and (found.labels == -1).all() and "on the way" in found.message


def test_motions_that_end_at_zero_are_one_point_of_a_diagram():
    hill = ap.System([x], x.d**2 / 2, (1 + F * cos(2 * ap.t)) * x**2 / 2 + x**4 / 4, {x: -0.2 * x.d})
    found = ap.bifurcation_diagram(hill, {F: [0.05, 0.15]}, {x: 1.0})
    assert np.ptp(found.z) > 0 and (found.periods == 1).all()


def test_dimensions_of_known_boundaries():
    """A circle 1, Cantor's middle thirds times a line 1 + ln 2/ln 3, what has no order 2, within three standard errors."""
    place = np.linspace(-1, 1, 257)
    circle = boundary_dimension((place[:, None] ** 2 + place**2 < 0.5).astype(int))
    assert abs(circle.dimension - 1) < 3 * circle.error < 0.05
    thirds, label = np.linspace(0, 1, 2188, endpoint=False) + 1e-9, np.zeros(2188, dtype=int)
    for depth in range(7):
        thirds = 3 * thirds
        label = np.where((thirds.astype(int) % 3 == 1) & (label == 0), depth % 2 + 1, label)
    cantor = boundary_dimension(np.repeat(label[:, None], 400, axis=1))
    assert abs(cantor.dimension - 1 - np.log(2) / np.log(3)) < 3 * cantor.error < 0.1
    noise = np.random.default_rng(0).integers(0, 2, (200, 200))
    assert boundary_dimension(noise).dimension == pytest.approx(2, abs=0.05)
    with pytest.raises(ap.ModelError, match="one attractor"):
        boundary_dimension(np.where(noise == 0, -1, 3))


def test_basins_behind_a_wall_and_of_a_conservative_system():
    impact = ap.System([x], x.d**2 / 2, x**2 / 2, {x: F * cos(w * ap.t) - c * x.d}, [ap.Unilateral(x, "wall", restitution=e)])
    values = {c: 0.05, F: 1.0, w: 2.0, e: 0.8}
    found = ap.basin(impact, {x: np.linspace(-0.5, 1.5, 5), x.d: [-1.0, 1.0]}, parameters=values)
    assert found.ok and (found.labels[0] == -2).all() and (found.labels[1:] == 0).all()
    (one,) = found.attractors
    assert one.orbit.stable and one.period == pytest.approx(np.pi) and "no motion" in found.message
    free = ap.System([x], x.d**2 / 2, x**4 / 4, {x: F * cos(w * ap.t)}, name="conservative")
    sea = ap.basin(free, {x: [0.5, 1.0], x.d: [0.0, 0.4]}, parameters={F: 0.2, w: 1.0}, most=48)
    assert not sea.ok and (sea.labels == -1).all() and not sea.attractors and "undecided" in sea.message


def test_a_limit_cycle():
    """Van der Pol's at mu = 1 has the period 6.66328686 (`test_orbits`); the rest inside it repels."""
    cycle = ap.System([x], x.d**2 / 2, x**2 / 2, {x: (1 - x**2) * x.d}, name="van der Pol")
    found = ap.basin(cycle, {x: [-1.0, 0.2, 3.0], x.d: [0.0, 1.0]}, most=48)
    (one,) = found.attractors
    assert found.ok and (found.labels == 0).all() and one.kind == "limit cycle"
    assert one.period == pytest.approx(6.66328686, abs=1e-6)
    found.plot()


def test_an_interruption_keeps_what_is_done(monkeypatch):
    calls = []
    advance = RunBatch.advance

    def stops(self, *args, **options):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return advance(self, *args, **options)

    monkeypatch.setattr(RunBatch, "advance", stops)
    found = ap.bifurcation_diagram(WALL.system, {"omega": [2.3, 2.4, 2.5]}, skip=1, keep=2, follow=True, parameters=WILD)
    assert not found.ok and "interrupted after 2 of 3" in found.message
    assert np.isfinite(found.z[:2]).all() and np.isnan(found.z[2]).all()


def test_lanes_and_one_after_another_agree(monkeypatch):
    """The same states, whichever way; an end by the caller keeps what is done."""
    over, options = {"omega": np.linspace(2.3, 2.7, 40)}, {"start": {S: -0.5}, "parameters": WILD, "method": "dop853"}
    alone = ap.bifurcation_diagram(WALL.system, over, skip=3, keep=4, **options)
    monkeypatch.setattr(periodic_runs, "PERIODS_WORTH_LANES", 1)
    lanes = ap.bifurcation_diagram(WALL.system, over, skip=3, keep=4, **options)
    assert lanes.ok and lanes.t == pytest.approx(alone.t) and lanes.z == pytest.approx(alone.z, abs=1e-6)
    assert (lanes.z != alone.z).any()
    monkeypatch.setattr(periodic_runs, "RUNS_AT_A_TIME", 16)

    def stops(done: float) -> None:
        if done >= 32:
            raise KeyboardInterrupt

    part = ap.bifurcation_diagram(WALL.system, over, skip=3, keep=4, progress=stops, **options)
    assert "interrupted after 32 of 40" in part.message and (part.z[:32] == lanes.z[:32]).all() and np.isnan(part.z[32:]).all()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ap.bifurcation_diagram(WELLS, {c: [0.1]}), "autonomous: give section="),
        (lambda: ap.bifurcation_diagram(WELLS, {"d": [0.1]}), "no parameter of"),
        (lambda: ap.bifurcation_diagram(WALL.system, {"omega": [1.0]}, parameters={**WILD, "omega": 1}), "give it once"),
        (lambda: ap.bifurcation_diagram(WALL.system, {"omega": [1.0]}, parameters=WILD, keep=0), "whole number"),
        (lambda: ap.bifurcation_diagram(WALL.system, {"omega": [-1.0]}, parameters=WILD), "omega"),
        (lambda: ap.bifurcation_diagram(WALL.system, {"h": [1.0], "omega": [1.0]}), "takes one entry"),
        (lambda: ap.bifurcation_diagram(WALL.system, {"omega": [1.0]}, parameters=WILD, scheme=1), "no option of many runs"),
        (lambda: ap.basin(WELLS, {x: [0.0]}, parameters={c: 1}), "takes 2 entries"),
        (lambda: ap.basin(WALL.system, {S: [-1.0], S.d: [0.0]}, parameters={**WILD, "omega": 2}, period=3), "does not repeat"),
        (lambda: ap.basin(WELLS, {x: [0.0], y: [1.0]}, parameters={c: 1}), "neither a coordinate nor a velocity"),
        (lambda: ap.basin(WELLS, {x: [0.0], x.d: [1.0]}, start={x: 0}, parameters={c: 1}), "give it once"),
        (lambda: ap.basin(WELLS, {x: [0.0], x.d: [1.0]}, parameters={c: 1}, period=2 * pi / w), "no parameter of"),
    ],
)  # fmt: skip
def test_wrong_requests(call, says):
    with pytest.raises(ap.AppellError, match=says):
        call()


def test_many_runs_are_each_their_own():
    """Rows of starts and parameters do not see each other."""
    run = ap.compile(WALL.system, {**WILD, "omega": 2.7})
    rng = np.random.default_rng(0)
    n = 7
    t, z, p = rng.uniform(0, 1, n), np.stack([-rng.uniform(0, 1, n), rng.uniform(-1, 1, n)], axis=1), np.tile(run.p, (n, 1))
    p[:, 0] *= rng.uniform(0.5, 1.5, n)
    period = rng.uniform(1, 3, n)
    many = RunBatch(run, rtol=1e-10, atol=1e-12)
    together = many.advance(t.copy(), z.copy(), p, period, 3, 2)
    for k in range(n):
        alone = many.advance(t[k : k + 1].copy(), z[k : k + 1].copy(), p[k : k + 1], period[k : k + 1], 3, 2)
        assert (alone.states[0] == together.states[k]).all() and alone.events[0] == together.events[k]


def test_doubtful_motions_are_not_ok():
    """A forced oscillator jumps in its steps over a step of its potential, which it has not the energy to climb."""
    steep = ap.System([x], x.d**2 / 2, x**2 / 2 + tanh(1e9 * (x - 0.2)) / 2, {x: -0.3 * x.d + 0.3 * cos(w * ap.t)})
    looks = (
        lambda: ap.bifurcation_diagram(steep, {w: [0.9, 1.0]}, skip=20, keep=4),
        lambda: ap.bifurcation_diagram(steep, {w: [0.9, 1.0]}, skip=20, keep=4, section=x.d),
        lambda: ap.frequency_response(steep, x, {w: [0.9, 1.0]}, skip=100),
        lambda: ap.poincare(steep, x.d, {}, parameters={w: 1.0}, count=20),
    )
    for look in looks:
        with catch_warnings():
            simplefilter("ignore")
            found = look()
        assert not found.ok and "energy" in found.message, found


def test_values_without_a_start_are_marked_on_a_section():
    ball = ap.System([x], x.d**2 / 2, x**2 / 2, {}, [ap.Unilateral(x - c, "wall")], name="ball")
    found = ap.bifurcation_diagram(ball, {c: [0.5, 0.1, 0.3]}, {x: 0.2, x.d: 1.0}, section=x.d, direction=-1, skip=1, keep=2)
    assert not found.ok and "2 of 3 values" in found.message and "the first at c = 0.5: the start violates" in found.message
    assert np.isfinite(found[x]).all(axis=1).tolist() == [False, True, False]
    with pytest.raises(ap.ModelError, match="wal"):
        ap.bifurcation_diagram(ball, {c: [0.1, 0.3]}, {x: 0.2, x.d: 1.0}, section="wal")


def test_doubts_are_looked_for_by_the_method_of_the_runs(monkeypatch):
    """An explicit method would take millions of steps for the stiff damper of a system that is repeated by radau."""
    asked, simulated = [], periodic_runs.simulated
    noting = lambda *given, **how: asked.append(how["method"]) or simulated(*given, **how)
    monkeypatch.setattr(periodic_runs, "simulated", noting)
    steep = ap.System([x], x.d**2 / 2, x**2 / 2 + tanh(x) / 9, {x: -1e4 * x.d + cos(w * ap.t)}, name="stiff")
    assert ap.bifurcation_diagram(steep, {w: [1.0, 1.1]}, {x: 0.1}, skip=2, keep=2, method="radau").ok
    assert asked and set(asked) == {"radau"}


def test_motions_repeat_on_a_section_where_a_coordinate_is_zero():
    """Van der Pol's cycle and Rössler's (periods 1 and 2 of the published cascade): what the section holds at zero is its
    rounding, and no change."""
    mu, c5 = ap.parameters("mu c5", positive=True)
    s1, s2, s3 = ap.states("s1 s2 s3")
    cycle = ap.System([x], x.d**2 / 2, x**2 / 2, {x: mu * (1 - x**2) * x.d})
    for section in (x, x.d, x - x.d):
        found = ap.bifurcation_diagram(cycle, {mu: [0.1, 1.0, 4.0]}, {x: 1.0}, section=section, skip=100, keep=4)
        assert found.ok and found.atol > 0 and (found.periods == 1).all(), found.periods
    rates = {s1: -s2 - s3, s2: s1 + s2 / 5, s3: 0.2 + s3 * (s1 - c5)}
    roessler = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -x.d}, rates=rates)
    start = {s1: -3.5, s3: 0.03}
    found = ap.bifurcation_diagram(roessler, {c5: [2.5, 3.5, 5.7]}, start, section=s2, skip=150, keep=8)
    assert found.ok and found.periods.tolist() == [1, 2, 0], found.periods
