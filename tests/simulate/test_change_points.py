"""Instants at which rows lose rank: passed where the motion is determined, said, and followed to the right branch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import Max, cos, sin

import appell as ap

UNTIL = 4.0


def parallelograms(n: int, off: float = 0.0):
    """n parallelograms side by side: cranks a_i, couplers c_i; the first coupler is longer by `off`."""
    cranks = ap.coordinates(" ".join(f"a{i}" for i in range(n + 1)))
    couplers = [ap.coordinates(f"c{i}") for i in range(n)]
    rows = []
    for i, (a, c, b) in enumerate(zip(cranks, couplers, cranks[1:], strict=False)):
        length = 1 + off * (i == 0)
        rows += [cos(a) + length * cos(c) - 1 - cos(b), sin(a) + length * sin(c) - sin(b)]
    kinetic = sum(x.d**2 for x in (*cranks, *couplers)) / 2
    system = ap.System([*cranks, *couplers], kinetic=kinetic, potential=10 * sum(map(sin, cranks)), constraints=rows)
    return system, cranks, couplers


def swing(t):
    """All cranks are parallel: (n + 1) ä = −10 (n + 1) cos a, from π/2 with −1."""
    rates = lambda t, z: [z[1], -10 * np.cos(z[0])]
    return solve_ivp(rates, (0, UNTIL), [np.pi / 2, -1], rtol=1e-13, atol=1e-13, t_eval=np.atleast_1d(t)).y[0]


def upright(cranks):
    return {a: np.pi / 2 for a in cranks} | {a.d: -1.0 for a in cranks}


@pytest.mark.parametrize("backend", ["auto", "vm"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-9, 1e-13])
def test_a_parallelogram_passes_its_flat_position(rtol, backend):
    system, (a, b), (c,) = parallelograms(1)
    motion = ap.simulate(system, upright((a, b)), UNTIL, rtol=rtol, atol=rtol / 100, backend=backend)
    assert motion.ok and motion[a][-1] == pytest.approx(swing(UNTIL)[0], abs=max(1000 * rtol, 1e-10))
    assert np.abs(motion[c]).max() < max(1000 * rtol, 1e-9)
    kinds = [note.kind for note in motion.notes]
    assert kinds.count("change point") == 4 and all(note.constraints for note in motion.notes)


def test_parallelograms_side_by_side_pass_together():
    system, cranks, _ = parallelograms(4)
    motion = ap.simulate(system, upright(cranks), UNTIL, rtol=1e-8, atol=1e-10)
    assert motion.ok and motion[cranks[-1]][-1] == pytest.approx(swing(UNTIL)[0], abs=1e-5)


def test_each_change_point_is_told_while_another_linkage_misses_its_own():
    """A nearly closed gap beside it makes σ small before and behind the point: the dip is narrow then."""
    rows, q, off = [], ap.coordinates("a b c d e f"), ap.parameters("off")
    for (a, b, c), length in ((q[:3], 1 + off), (q[3:], 1)):
        rows += [cos(a) + length * cos(c) - 1 - cos(b), sin(a) + length * sin(c) - sin(b)]
    a, b, _, d, e, _ = q
    kinetic, potential = sum(x.d**2 for x in q) / 2, 10 * sum(map(sin, (a, b, d, e)))
    system = ap.System(q, kinetic, potential, constraints=rows)
    start = {a: 0.8, b: 0.8, a.d: -1.0, b.d: -1.0, **upright((d, e))}
    for gap, rtol in ((1e-5, 1e-4), (1e-6, 1e-5)):
        begin = ap.consistent(system, start, parameters={off: gap}, hold=[a, a.d, d, d.d])
        motion = ap.simulate(system, begin, UNTIL, {off: gap}, rtol=rtol, atol=rtol / 100)
        assert motion.ok and motion[d][-1] == pytest.approx(swing(UNTIL)[0], abs=100 * rtol)
        assert [note.kind for note in motion.notes].count("change point") == 4


def test_requested_times_and_the_end_may_lie_on_the_point():
    system, (a, b), _ = parallelograms(1)
    whole = ap.simulate(system, upright((a, b)), UNTIL)
    point = whole.notes[0].time
    times = np.sort(np.append(np.linspace(0, UNTIL, 21), point))
    assert ap.simulate(system, upright((a, b)), UNTIL, times=times)[a] == pytest.approx(swing(times), abs=1e-6)
    assert whole.at([0.5, point, 1.0])[a] == pytest.approx(swing([0.5, point, 1.0]), abs=1e-6)
    assert ap.simulate(system, upright((a, b)), point)[a][-1] == pytest.approx(swing(point)[0], abs=1e-6)
    back = ap.simulate(system, whole.final, 0.0, since=UNTIL)
    assert back.ok and back[a][-1] == pytest.approx(np.pi / 2, abs=1e-6)


@pytest.mark.parametrize("off", [1e-3, 1e-6, 1e-9, -1e-3, -1e-6])
def test_a_near_miss_takes_the_branch_that_the_lengths_give(off):
    """The crank a turns back or b does; which one does not depend on the tolerance."""
    system, (a, b), (c,) = parallelograms(1, off)
    start = ap.consistent(system, upright((a, b)), hold=[a, a.d])
    ends = [ap.simulate(system, start, 1.5, rtol=rtol, atol=rtol / 100) for rtol in (1e-6, 1e-10)]
    assert all(motion.status == 0 for motion in ends)
    assert ends[0].q[-1] == pytest.approx(ends[1].q[-1], abs=2e-3)
    assert np.abs(ends[1][c]).max() > 0.1  # not the parallelogram


def test_a_gap_within_rounding_stops_with_a_sentence():
    system, (a, b), _ = parallelograms(1, 1e-12)
    start = ap.consistent(system, upright((a, b)), hold=[a, a.d])
    with pytest.warns(UserWarning, match="singular configuration"):
        motion = ap.simulate(system, start, 2.0)
    assert not motion.ok and motion.notes[-1].kind == "singular"


@pytest.mark.parametrize("rtol", [1e-5, 1e-10])
def test_a_lemniscate_is_run_through_its_node(rtol):
    """(x² + y²)² = x² − y²: the gradient of the only row vanishes at the node, where two branches cross."""
    x, y = ap.coordinates("x y")
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[(x**2 + y**2) ** 2 - x**2 + y**2])
    start = ap.consistent(system, {x: 0.9, y: 0.3, x.d: -1.0, y.d: 0.2}, hold=[x])
    motion = ap.simulate(system, start, 12.0, rtol=rtol, atol=rtol / 100)
    speed = np.hypot(motion[x.d], motion[y.d])
    assert motion.ok and np.ptp(speed) < 100 * rtol
    assert motion[x].min() < -0.9  # the other lobe
    crossings = [note for note in motion.notes if note.kind == "change point"]
    assert len(crossings) >= 3
    for note in crossings:  # straight on: the velocity keeps its direction
        before, after = motion.at([note.time - 0.02, note.time + 0.02]).v
        assert before @ after > 0.99 * np.linalg.norm(before) * np.linalg.norm(after)


def watched_by_nobody(option: str):
    """The parallelogram with something that keeps the guard of rank off, and the run of it."""
    a, b, c = ap.coordinates("a b c")
    u = ap.parameters("u")
    rows = [cos(a) + cos(c) - 1 - cos(b), sin(a) + sin(c) - sin(b)]
    walls, forces = [ap.Unilateral(c + 50)] * (option == "wall"), {a: u} if option == "control" else None
    kinetic = (a.d**2 + b.d**2 + c.d**2) / 2
    system = ap.System([a, b, c], kinetic=kinetic, potential=10 * (sin(a) + sin(b)), forces=forces, constraints=[*rows, *walls])
    options = {
        "fixed steps": {"step": 0.03, "backend": "vm"}, "pseudo": {"pseudo": {"w": a.d}, "backend": "vm"},
        "cvodes": {"method": "cvodes", "backend": "vm"}, "wall": {},
        "control": {"control": lambda t, q, v: {u: 0.0}, "rate": 20.0},
        "times": {"step": 0.03, "times": [1.0, 4.0], "backend": "vm"},
    }[option]  # fmt: skip
    return system, a, {a: np.pi / 2, b: np.pi / 2, a.d: -1.0, b.d: -1.0}, options


@pytest.mark.parametrize("option", ["fixed steps", "times", "pseudo", "cvodes"])
def test_a_change_point_that_nobody_watched_is_told_afterwards(option):
    """Passed smoothly: a note. Taken to another branch: a doubt. Never silently wrong."""
    system, a, start, options = watched_by_nobody(option)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, start, UNTIL, rtol=1e-7, atol=1e-9, max_steps=20_000, **options)
    if motion.ok:
        assert motion[a][-1] == pytest.approx(swing(UNTIL)[0], abs=1e-3)
        assert [note.kind for note in motion.notes].count("change point") >= 2
    else:
        assert motion.doubts or motion.status


@pytest.mark.parametrize("backend", ["auto", "vm"])
@pytest.mark.parametrize("option", ["wall", "control"])
def test_a_change_point_is_passed_with_walls_and_under_a_control(option, backend):
    system, a, start, options = watched_by_nobody(option)
    for rtol in (1e-5, 1e-11) if backend == "auto" else (1e-8,):
        motion = ap.simulate(system, start, UNTIL, rtol=rtol, atol=rtol / 100, backend=backend, **options)
        assert motion.ok and motion[a][-1] == pytest.approx(swing(UNTIL)[0], abs=max(100 * rtol, 1e-9))
        assert [note.kind for note in motion.notes] == ["change point"] * 4


def test_runs_of_an_ensemble_pass_change_points_with_walls():
    """One by one, as every run with stop= is, and as those that lanes hand over: the guard of `simulate`."""
    system, a, start, _ = watched_by_nobody("wall")
    runs = {symbol: np.full(2, value) for symbol, value in start.items()}
    motions = ap.simulate_many(system, runs, UNTIL, rtol=1e-11, atol=1e-13, stop=a - 100)
    assert motions.ok and np.abs(motions[str(a)].values - swing(UNTIL)[0]).max() < 1e-9


@pytest.mark.parametrize(
    ("wall", "restitution", "controlled"), [(-3.63, 0.5, False), (-1.92, 0.8, True), (-3.1416, 1.0, False)]
)
def test_impacts_between_and_at_change_points(wall, restitution, controlled):
    """Two parallelograms whose first crank hits a wall, before, behind and within rounding of a flat position: one angle."""
    cranks, couplers, x = ap.coordinates("a b d"), ap.coordinates("c e"), ap.coordinates("x")
    u, rows = ap.parameters("u"), []
    for a, c, b in zip(cranks, couplers, cranks[1:], strict=False):
        rows += [cos(a) + cos(c) - 1 - cos(b), sin(a) + sin(c) - sin(b)]
    kinetic, potential = sum(q.d**2 for q in (*cranks, *couplers)) / 2, 8 * sum(map(sin, cranks))
    face = lambda q: ap.Unilateral(q - wall, restitution=restitution)
    pushed = lambda q: {q: u} if controlled else None
    first = cranks[0]
    system = ap.System(
        [*cranks, *couplers], kinetic=kinetic, potential=potential, forces=pushed(first), constraints=[*rows, face(first)]
    )
    minimal = ap.System([x], kinetic=1.5 * x.d**2, potential=24 * sin(x), forces=pushed(x), constraints=[face(x)])
    options = {"control": lambda t, q, v: {u: np.sin(3 * t) - 0.3 * v[0]}, "rate": 20.0} if controlled else {}
    exact = ap.simulate(minimal, {x: np.pi / 2, x.d: -2.0}, 2.5, rtol=1e-12, atol=1e-13, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, upright(cranks) | {a.d: -2.0 for a in cranks}, 2.5, rtol=1e-8, atol=1e-10, **options)
    assert len(exact.impacts) and (motion.ok or wall == -3.1416)
    if motion.ok:
        assert motion[cranks[-1]][-1] == pytest.approx(exact[x][-1], abs=1e-6)
        assert "change point" in [note.kind for note in motion.notes]


@pytest.mark.parametrize("name", ["four_bar", "rolling_disc", "paraboloid"])
def test_regular_motions_in_fixed_steps_are_not_doubted(name):
    example = ap.zoo.ALL[name]()
    for step in (example.until / 200, example.until / 60):
        motion = ap.simulate(example.system, example.start, example.until, example.parameters, step=step, backend="vm")
        assert motion.ok and not [note for note in motion.notes if note.kind == "change point"]


def test_rows_that_are_redundant_no_longer_are_told():
    """y = 0 twice as long as x < 1, a parabola from there on: the second row is dependent at the start only."""
    x, y = ap.coordinates("x y")
    rows = [y - x * 0, y - Max(x - 1, 0) ** 3]
    system = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=rows)
    with pytest.warns(UserWarning, match="redundant at the start are not any more"):
        motion = ap.simulate(system, {x.d: 1.0}, 2.0, backend="vm", step=0.05)
    assert not motion.ok


@pytest.mark.parametrize("options", [{}, {"method": "radau"}, {"method": "dopri5"}, {"step": 1e-3}])
def test_a_row_on_accelerations_passes_its_rest_beside_a_friction_that_sticks(options):
    """ẍẏ = ÿẋ: along (2, 1) with s̈ = −6/√5, through the rest at t = 5/12, while the load xz = 0 of z stays below its friction.

    A deviation of the velocity keeps its direction, γ = 1; whether z would slip with another velocity is beside the point.
    """
    x, y, z = ap.coordinates("x y z")
    rows = [ap.Constraint(x.dd * y.d - y.dd * x.d, name="straight"), ap.Friction(z.d, limit=0.5)]
    system = ap.System([x, y, z], kinetic=(x.d**2 + y.d**2 + z.d**2) / 2, potential=3 * x + x * z, constraints=rows)
    motion = ap.simulate(system, {x.d: 1.0, y.d: 0.5}, 0.8, **options)
    assert motion.ok and [note.kind for note in motion.notes] == ["change point"], (motion.doubts, motion.notes)
    x_end = 0.8 - 6 / 5 * 0.8**2
    np.testing.assert_allclose(motion.q[-1], [x_end, x_end / 2, 0.0], atol=1e-7)


def test_motions_that_part_are_doubted_beside_a_friction_that_sticks():
    """The elliptic cone with γ > 1 of `families/change_points`, and a block at rest that has no part in it."""
    x, y, z, w = ap.coordinates("x y z w")
    rows = [ap.Constraint((x.d**2 + 4 * y.d**2) / 4 - z.d**2, "wheel"), ap.Friction(w.d, limit=0.5)]
    kinetic = (x.d**2 + y.d**2 + z.d**2 + w.d**2) / 2
    system = ap.System([x, y, z, w], kinetic=kinetic, potential=9.81 * z, constraints=rows)
    start = {x.d: np.cos(0.7), y.d: np.sin(0.7), z.d: np.hypot(np.cos(0.7), 2 * np.sin(0.7)) / 2}
    with pytest.warns(UserWarning, match="many motions leave this point"):
        motion = ap.simulate(system, start, 2.0, step=0.01)
    assert "part as |t − t*|^" in motion.doubts[0] and not motion.ok
    assert 1.05 < float(motion.doubts[0].split("^")[1].split(")")[0]) < 20
