"""The systems of the zoo with friction: closed forms, what stays constant, and that each runs with its scene."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Matrix

import appell as ap
from appell import zoo
from appell.scene import Scene
from appell.scene.film import film


def run(example: zoo.Example, until: float | None = None, **options) -> ap.Motion:
    return ap.simulate(example.system, example.start, until or example.until, example.parameters, backend="vm", **options)


@pytest.mark.parametrize("name", zoo.FRICTION)
def test_each_brings_all_values_and_a_scene(name: str) -> None:
    example = zoo.FRICTION[name]()
    assert set(example.parameters) == set(example.system.parameters) and example.reference
    shown = film(Scene.of(example.system), run(example, 1e-3), frames=3)
    assert shown.shapes and np.isfinite([shown.low, shown.high]).all()


def test_stick_and_slip_on_a_belt_piece_by_piece() -> None:
    """Sticks (μ_s − μ) m g 2/(k v) long from the second time on, slides (2/ω)(π − arctan((μ_s − μ) g/(ω v)))."""
    motion = run(zoo.block_on_belt(), 8.0, rtol=1e-11)
    omega = np.sqrt(10.0)
    first, slide, stick = 0.4 * 9.81 / 10 / 0.2, 2 / omega * (np.pi - np.arctan(0.2 * 9.81 / (omega * 0.2))), 0.4 * 9.81 / 2
    found = [(phase.state, phase.end) for phase in motion.phases[:4]]
    assert [state for state, _ in found] == ["stick", "slip", "stick", "slip"]
    assert [end for _, end in found] == pytest.approx(np.cumsum([first, slide, stick, slide]), abs=1e-10)


def test_a_bowling_ball_slides_then_rolls_for_ever() -> None:
    motion = run(zoo.bowling_ball(), rtol=1e-11)
    (slip, roll), (x, _, _) = motion.phases, motion.system.coordinates
    end = 2 * 7 / (7 * 0.12 * 9.81)
    assert slip.end == pytest.approx(end, abs=1e-12) and roll.state == "stick" and roll.end == 3.0
    assert motion.final[x.d] == pytest.approx(5.0, abs=1e-12)
    assert motion.final[x] == pytest.approx(12 * 49 / (49 * 0.12 * 9.81) + 5 * (3 - end), abs=1e-11)
    assert motion.dissipated[-1] == pytest.approx(7 * 49 / 7, abs=1e-10)  # two sevenths of m v0²/2


def test_a_billiard_ball_runs_along_a_parabola_then_a_line() -> None:
    """The slip s0 = (1.5 + 20 r, −60 r) keeps its direction and ends at 2|s0|/(7 μ g), at any tolerance without an error."""
    example = zoo.billiard_ball()
    motion, r = run(example, rtol=1e-11, atol=1e-14), 0.02875
    x, y = example.system.coordinates[:2]
    slip = np.array([1.5 + 20 * r, -60 * r])
    u, end = slip / np.linalg.norm(slip), 2 * np.linalg.norm(slip) / (7 * 0.2 * 9.81)
    after = np.array([1.5, 0]) - 0.2 * 9.81 * end * u
    there = np.array([1.5, 0]) * end - 0.1 * 9.81 * end**2 * u + after * (1.2 - end)
    assert motion.phases[0].end == pytest.approx(end, abs=1e-10)
    assert [motion.final[x], motion.final[y]] == pytest.approx(there, abs=1e-10)
    assert run(example, rtol=1e-9, atol=1e-12).ok


def test_a_wheel_slides_and_locks_when_the_brake_says() -> None:
    motion = run(zoo.locking_wheel())
    (x, _, phi), phases = motion.system.coordinates, {(p.friction, p.state): p for p in motion.phases}
    road = 0.8 * 300 * 9.81
    assert phases["tyre", "slip"].start == pytest.approx((1 + 1.2 / 27) * road / 2500, abs=1e-11)
    assert abs(motion.final[x.d]) < 1e-12 and abs(motion.final[phi.d]) < 1e-12
    assert motion.reaction("tyre")[-1] == pytest.approx(0, abs=1e-9)
    assert motion.dissipated[-1] == pytest.approx(300 * 200 + 0.6 * (20 / 0.3) ** 2, rel=1e-12)


@pytest.mark.parametrize(("angle", "rests"), [(1.02, True), (0.99, False)])
def test_a_ladder_rests_where_statics_say(angle: float, rests: bool) -> None:
    """tan φ = (1 − μν)/(2μ) = 0.94/0.6, φ = 1.0027."""
    motion = run(zoo.ladder(angle=angle), 0.2)
    phi = motion.system.coordinates[2]
    assert ({p.state for p in motion.phases} == {"stick"}) == rests
    assert (motion.final[phi] == pytest.approx(angle, abs=1e-12)) == rests


def test_a_rod_slides_and_leaves_the_floor_at_no_reaction() -> None:
    motion = run(zoo.painleve_rod(), rtol=1e-11)
    slip = motion.phases[0]
    there = motion.at(slip.end)
    _, _, phi = motion.system.coordinates
    angle, rate = float(there[phi][0]), float(there[phi.d][0])
    assert motion.phases[1].state == "off" and 0.5 * rate**2 * np.sin(angle) == pytest.approx(9.81, abs=1e-9)


def test_a_tippe_top_turns_over_and_keeps_jellett() -> None:
    """−L·(a e3 − R e_z) is constant under any friction at the contact; the centre of mass rises above the centre."""
    example = zoo.tippe_top()
    motion = ap.simulate(example.system, example.start, 1.0, example.parameters, rtol=1e-10)
    top, values = example.system.quaternions[0], {str(p): v for p, v in example.parameters.items()}
    L = top.rotation * Matrix([values["A"] * top.rates[0], values["A"] * top.rates[1], values["C"] * top.rates[2]])
    jellett = values["R"] * L[2] - values["a"] * values["C"] * top.rates[2]
    found = motion.run.values(jellett, motion.t, motion.q, motion.v)
    assert np.abs(found / found[0] - 1).max() < 1e-8
    lean = motion.run.values(top.rotation[2, 2], motion.t, motion.q, motion.v)
    assert lean[0] > 0.99 and lean[-1] < 0.6 and np.abs(motion.energy_error).max() < 1e-9


@pytest.mark.parametrize("name", ["woodpecker_toy", "hopping_leg"])
def test_machines_lose_energy_and_keep_their_cones(name: str) -> None:
    example = zoo.FRICTION[name]()
    motion = run(example, 0.09 if name == "woodpecker_toy" else 0.3)
    assert motion.ok and motion.impacts and motion.dissipated[-1] > 0
    if name == "woodpecker_toy":
        assert (np.diff(motion.energy) <= 1e-12).all()
    for fr in example.system.frictions:
        N, force = motion.reaction(fr.normal), motion.reaction(fr)
        mu = 0.3 if name == "woodpecker_toy" else 0.7
        assert (N >= -1e-9).all() and (np.abs(force) <= mu * N + 1e-9 * (1 + N.max())).all()
