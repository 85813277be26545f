"""The event-driven reference of the tests, and the examples it runs, against closed forms."""

import numpy as np
import pytest
from tests.reference.events import simulate_events

from appell import zoo
from appell.jets import t

EXAMPLES = [name for name, make in zoo.ALL.items() if make().system.unilateral]


def run(example, until=None, **options):
    return simulate_events(example.system, example.start, until or example.until, example.parameters, **options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_start_inside_and_meet_their_constraint(name):
    example = zoo.ALL[name]()
    start = {s: example.start.get(s, 0.0) for s in example.system.coordinates}
    for face in example.system.unilateral:
        assert float(face.function.subs({t: 0, **start, **example.parameters})) >= 0
    assert run(example, min(example.until, 10.0)).impacts


def test_all_ten_of_the_zoo_are_there():
    assert len(EXAMPLES) >= 10


def test_elastic_ball_meets_the_floor_at_odd_multiples():
    times = run(zoo.bouncing_ball(), 20.0).times
    fall = np.sqrt(2 / 9.81)
    assert times == pytest.approx(fall * (2 * np.arange(len(times)) + 1), abs=1e-10) and len(times) == 22


def test_chatter_ends_in_rest_at_the_sum_of_the_flights():
    """√(2h/g) (1 + e)/(1 − e); the bounces below 1e-7 m/s are cut off, which leaves 1e-7 s."""
    record = run(zoo.bouncing_ball("e"))
    assert record.impacts[-1].kind == "landing"
    assert record.impacts[-1].time == pytest.approx(np.sqrt(2 / 9.81) * 1.8 / 0.2, abs=2e-7)
    assert record.end == pytest.approx([0, 0], abs=1e-9)


def test_taut_thread_goes_slack_where_the_tension_ends():
    """ẏ² R + g cos y = 0 with the speed √(4gR) at the bottom: cos y = −2/3."""
    record = run(zoo.thread_pendulum(slack=False))
    assert [i.kind for i in record.impacts[:3]] == ["landing", "leaving", "impact"]
    assert np.cos(record(record.impacts[1].time)[1]) == pytest.approx(-2 / 3, abs=1e-10)


def test_table_throws_the_block_off_at_g():
    """Contact ends where c ω² sin ωt = g."""
    example = zoo.block_on_vibrating_table()
    values = {str(s): x for s, x in example.parameters.items()}
    leaving = [i.time for i in run(example, 1.0).impacts if i.kind == "leaving"]
    assert leaving
    assert values["c"] * values["omega"] ** 2 * np.sin(values["omega"] * np.array(leaving)) == pytest.approx(9.81, abs=1e-6)


def test_energy_of_a_conservative_motion():
    example = zoo.double_pendulum_with_wall()
    record = run(example, rtol=1e-12, atol=1e-13)
    s = example.system
    H = (s.kinetic + s.potential).subs(example.parameters)
    energy = [float(H.subs(dict(zip((*s.coordinates, *s.velocities), z, strict=True)))) for _, z, _ in record.pieces]
    assert energy == pytest.approx([energy[0]] * len(energy), rel=1e-10) and len(record.times) >= 3
